/* The loops of link.h for one SIMD level.  Their inner loops run over lanes and have no branches, so that they become vectors. */
#define LANES NMLSDR_LINK_LANES

/* exp(x) for x in [-87, 0], right to 1e-7. */
NM_TARGET static inline float NM_LEVEL(expf)(float x)
{
    const float shift = 12582912.0f; /* 3 x 2^22: adding it rounds to an integer, which the lowest bits then hold */
    const float shifted = x * 1.44269504f + shift, k = shifted - shift;
    const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    float y = 1.0f / 5040.0f;
    uint32_t bits, power;
    y = y * r + 1.0f / 720.0f;
    y = y * r + 1.0f / 120.0f;
    y = y * r + 1.0f / 24.0f;
    y = y * r + 1.0f / 6.0f;
    y = y * r + 0.5f;
    y = y * r + 1.0f;
    y = y * r + 1.0f;
    memcpy(&bits, &y, sizeof bits);
    memcpy(&power, &shifted, sizeof power);
    bits += power << 23;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* exp(x) for x in [-708, 0]: 2^k times a polynomial of the rest, |rest| <= log(2) / 2. */
NM_TARGET static inline double NM_LEVEL(exp)(double x)
{
    const double shift = 6755399441055744.0; /* 3 x 2^51: adding it rounds to an integer, which the lowest bits then hold */
    const double shifted = x * 1.4426950408889634074 + shift, k = shifted - shift;
    const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double y = 1.0 / 479001600.0;
    uint64_t bits, power;
    y = y * r + 1.0 / 39916800.0;
    y = y * r + 1.0 / 3628800.0;
    y = y * r + 1.0 / 362880.0;
    y = y * r + 1.0 / 40320.0;
    y = y * r + 1.0 / 5040.0;
    y = y * r + 1.0 / 720.0;
    y = y * r + 1.0 / 120.0;
    y = y * r + 1.0 / 24.0;
    y = y * r + 1.0 / 6.0;
    y = y * r + 0.5;
    y = y * r + 1.0;
    y = y * r + 1.0;
    memcpy(&bits, &y, sizeof bits);
    memcpy(&power, &shifted, sizeof power);
    bits += power << 52;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* asinh(z) = sign(z) log(|z| + sqrt(z^2 + 1)), for |z| up to 1e150. */
NM_TARGET static inline double NM_LEVEL(asinh)(double z)
{
    const double size = fabs(z), x = size + sqrt(size * size + 1.0);
    uint64_t bits, top;
    double m, k;
    memcpy(&bits, &x, sizeof bits);
    top = (bits >> 52) | 0x4330000000000000u; /* 2^52 plus the exponent */
    memcpy(&k, &top, sizeof k);
    k -= 4503599627370496.0 + 1023.0;
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&m, &bits, sizeof m); /* 1 to 2 */
    const double half = m > 1.4142135623730951 ? 0.5 : 1.0;
    m *= half;
    k += 2.0 - 2.0 * half;
    const double s = (m - 1.0) / (m + 1.0), t = s * s;
    double y = 1.0 / 21.0;
    y = y * t + 1.0 / 19.0;
    y = y * t + 1.0 / 17.0;
    y = y * t + 1.0 / 15.0;
    y = y * t + 1.0 / 13.0;
    y = y * t + 1.0 / 11.0;
    y = y * t + 1.0 / 9.0;
    y = y * t + 1.0 / 7.0;
    y = y * t + 1.0 / 5.0;
    y = y * t + 1.0 / 3.0;
    y = k * 6.93147180559945286227e-01 + (2.0 * s + 2.0 * s * t * y);
    return (z < 0.0 ? -1.0 : 1.0) * y;
}

/* z, of a size whose square is a number */
NM_TARGET static inline double NM_LEVEL(clipped)(double z)
{
    return z > 1e150 ? 1e150 : z < -1e150 ? -1e150 : z;
}

/* exp(-|f|) */
NM_TARGET static inline double NM_LEVEL(odds)(double f)
{
    const double x = -fabs(f);
    return NM_LEVEL(exp)(x > -708.0 ? x : -708.0);
}

/* Scores minus means, labels and 1 for each known entry of a row; 0 where unknown and in lanes without a label. */
NM_TARGET static inline void NM_LEVEL(read)(const nmlsdr_link_data *d, ptrdiff_t at, ptrdiff_t n_lanes, const double *mean,
                                            double *gap, double *y, double *known)
{
    if (n_lanes == LANES && !d->known) {
        for (int v = 0; v < LANES; v++) {
            gap[v] = d->scores[at + v] - mean[v];
            y[v] = d->labels[at + v];
            known[v] = 1.0;
        }
        return;
    }
    for (int v = 0; v < LANES; v++) {
        const int is_known = v < n_lanes && (!d->known || d->known[at + v]);
        gap[v] = is_known ? d->scores[at + v] - mean[v] : 0.0;
        y[v] = is_known ? d->labels[at + v] : 0.0;
        known[v] = is_known;
    }
}

NM_TARGET static void NM_LEVEL(features)(const nmlsdr_link_data *d, ptrdiff_t first, double *facts, float *z, float *bent)
{
    const ptrdiff_t n_lanes = d->n_labels - first < LANES ? d->n_labels - first : LANES;
    double count[LANES] = {0}, total[LANES] = {0}, squares[LANES] = {0}, least[LANES], most[LANES], mean[LANES] = {0};
    double with_z[LANES] = {0}, with_bent[LANES] = {0}, scale[LANES], gap[LANES], y[LANES], known[LANES];

    for (int v = 0; v < LANES; v++) {
        least[v] = INFINITY;
        most[v] = -INFINITY;
    }
    for (ptrdiff_t i = 0; i < d->n_rows; i++) {
        NM_LEVEL(read)(d, d->rows[i] * d->n_labels + first, n_lanes, mean, gap, y, known);
        for (int v = 0; v < LANES; v++) {
            const double low = known[v] > 0.0 ? y[v] : INFINITY, high = known[v] > 0.0 ? y[v] : -INFINITY;
            count[v] += known[v];
            total[v] += y[v];
            least[v] = low < least[v] ? low : least[v];
            most[v] = high > most[v] ? high : most[v];
        }
    }
    for (int v = 0; v < LANES; v++) mean[v] = count[v] > 0.0 ? total[v] / count[v] : 0.0;

    for (ptrdiff_t i = 0; i < d->n_rows; i++) {
        NM_LEVEL(read)(d, d->rows[i] * d->n_labels + first, n_lanes, mean, gap, y, known);
        for (int v = 0; v < LANES; v++) squares[v] += gap[v] * gap[v];
    }
    for (int v = 0; v < LANES; v++) {
        scale[v] = count[v] > 0.0 ? sqrt(squares[v] / count[v]) : 0.0;
        scale[v] = scale[v] == 0.0 ? 1.0 : scale[v];
    }

    for (ptrdiff_t i = 0; i < d->n_rows; i++) {
        float *zi = z + i * LANES, *si = bent + i * LANES;
        NM_LEVEL(read)(d, d->rows[i] * d->n_labels + first, n_lanes, mean, gap, y, known);
        for (int v = 0; v < LANES; v++) {
            const double exact = gap[v] / scale[v];
            zi[v] = (float)exact;
            si[v] = (float)NM_LEVEL(asinh)(exact);
            with_z[v] += y[v] * zi[v];
            with_bent[v] += y[v] * si[v];
        }
    }

    double *const parts[NMLSDR_LINK_FACTS] = {count, mean, scale, least, most, total, with_z, with_bent};
    for (int k = 0; k < NMLSDR_LINK_FACTS; k++) memcpy(facts + k * LANES, parts[k], sizeof count);
}

NM_TARGET static void NM_LEVEL(sums)(const float *z, const float *bent, ptrdiff_t n, const double *a, const double *c,
                                     const double *b, double *sums)
{
    enum { ROWS = 8 }; /* whose terms are added in float */
    double total[NMLSDR_LINK_SUMS][LANES] = {{0}};
    float slope[LANES], bend[LANES], offset[LANES];
    for (int v = 0; v < LANES; v++) {
        slope[v] = (float)a[v];
        bend[v] = (float)c[v];
        offset[v] = (float)b[v];
    }
    for (ptrdiff_t first = 0; first < n; first += ROWS) {
        const ptrdiff_t end = first + ROWS < n ? first + ROWS : n;
        float part[NMLSDR_LINK_SUMS][LANES] = {{0}};
        for (ptrdiff_t i = first; i < end; i++)
            for (int v = 0; v < LANES; v++) {
                const float x = z[i * LANES + v], s = bent[i * LANES + v];
                const float f = slope[v] * x + bend[v] * s + offset[v], least = -fabsf(f);
                const float e = NM_LEVEL(expf)(least > -87.0f ? least : -87.0f), q = 1.0f / (1.0f + e);
                const float p = (f < 0.0f ? e : 1.0f) * q, h = e * q * q, hx = h * x, hs = h * s;
                part[0][v] += p;
                part[1][v] += h;
                part[2][v] += p * x;
                part[3][v] += p * s;
                part[4][v] += hx;
                part[5][v] += hs;
                part[6][v] += hx * x;
                part[7][v] += hx * s;
                part[8][v] += hs * s;
            }
        for (int k = 0; k < NMLSDR_LINK_SUMS; k++)
            for (int v = 0; v < LANES; v++) total[k][v] += part[k][v];
    }
    memcpy(sums, total, sizeof total);
}

NM_TARGET static void NM_LEVEL(apply)(const double *scores, ptrdiff_t n, const double *numbers, double *p)
{
    const double *a = numbers, *c = a + n, *b = c + n, *mean = b + n, *scale = mean + n;
    for (ptrdiff_t v = 0; v < n; v++) {
        const double z = NM_LEVEL(clipped)((scores[v] - mean[v]) / scale[v]);
        const double f = a[v] * z + c[v] * NM_LEVEL(asinh)(z) + b[v];
        const double e = NM_LEVEL(odds)(f), q = 1.0 / (1.0 + e);
        p[v] = (f < 0.0 ? e : 1.0) * q;
    }
}

#undef LANES
#undef NM_TARGET
#undef NM_LEVEL
