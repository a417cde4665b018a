/* Loops of one conjugate gradient sweep over a block of rows.
 *
 * A template: propagation.h includes it once per width and instruction set, with
 *   WIDTH   columns of a batch            LANES   floats per vector (1: no vectors)
 *   TARGET  function attribute            NAME(f) the name of this copy of f
 *
 * Vectors and not arrays of sums: gcc keeps the latter in memory, and the round trip of every
 * addition through the store buffer made the gather three times slower (measured).
 */

#define NV (WIDTH / LANES)
/* NM_INLINE: so that the constant argument `per_entry` costs nothing. */
#if LANES > 1
#define HALF (LANES / 2) /* doubles per vector of the same size: wider ones would be taken apart in memory */
typedef float NAME(vec) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t NAME(bits) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float NAME(half) __attribute__((vector_size(4 * HALF), aligned(4), may_alias));
typedef double NAME(wide) __attribute__((vector_size(8 * HALF), aligned(8), may_alias));
#define WIDEN(address) __builtin_convertvector(*(const NAME(half) *)(address), NAME(wide))
#define MAGNITUDE(v) ((NAME(vec))((NAME(bits))(v) & 0x7fffffff))
#define LARGER(u, v) ((NAME(vec))((((u) > (v)) & (NAME(bits))(u)) | (~((u) > (v)) & (NAME(bits))(v))))
#else
#define HALF 1
typedef float NAME(vec);
typedef double NAME(wide);
#define WIDEN(address) ((double)*(address))
#define MAGNITUDE(v) fabsf(v)
#define LARGER(u, v) ((u) > (v) ? (u) : (v))
#endif
#define NW (WIDTH / HALF)

/* z = h [(B + gain sum_j v_ij F_j) - F] in float64, rounded once; dot = sum m z^2; peak = max |z / h|.
 * Where take is 0, z stays.  With restart, p = z; else along = sum m p z.  values == NULL: v_ij = h_j.
 * Alpha per entry: gains and weights replace gain and m, and an entry of gain 0 is eliminated. */
TARGET static inline NM_INLINE void NAME(any_residual)(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values, int64_t n_stored,
    const double *gain, const double *h, const double *m, const double *gains, const float *weights,
    const double *B, const double *F, const int32_t *take, int restart, float *z, float *p,
    double *dot, double *along, double *peak, const int per_entry)
{
    double d[WIDTH] = {0}, top[WIDTH] = {0}, rest[WIDTH];
    NAME(wide) with_p[NW];
    UNROLL for (int v = 0; v < NW; v++) with_p[v] = (NAME(wide)){0};
    for (ptrdiff_t i = lo; i < hi; i++) {
        float *zi = z + i * WIDTH, *pi = p + i * WIDTH;
        const float *wi = weights + (per_entry ? i * WIDTH : 0);
        const NAME(wide) *Fi = (const NAME(wide) *)(F + i * WIDTH), *Bi = (const NAME(wide) *)(B + i * WIDTH);
        NAME(wide) sum[NW];
        if (gain[i] == 0.0) {
            for (int c = 0; c < WIDTH; c++) zi[c] = pi[c] = 0.0f;
            continue;
        }
        UNROLL for (int v = 0; v < NW; v++) sum[v] = (NAME(wide)){0};
        for (int64_t t = indptr[i]; t < indptr[i + 1]; t++) {
            const NAME(wide) *row = (const NAME(wide) *)(F + (ptrdiff_t)indices[t] * WIDTH);
            const double w = values == NULL ? h[indices[t]] : values[t];
            if (t + AHEAD < n_stored) {
                const double *next = F + (ptrdiff_t)indices[t + AHEAD] * WIDTH;
                PREFETCH(next);
                if (WIDTH > 8) PREFETCH(next + 8);
            }
            UNROLL for (int v = 0; v < NW; v++) sum[v] += w * row[v];
        }
        if (per_entry) {
            const double *gi = gains + i * WIDTH;
            UNROLL for (int v = 0; v < NW; v++)
                ((NAME(wide) *)rest)[v] = (Bi[v] + ((const NAME(wide) *)gi)[v] * sum[v]) - Fi[v];
            for (int c = 0; c < WIDTH; c++) rest[c] = gi[c] == 0.0 ? 0.0 : rest[c];
        } else {
            UNROLL for (int v = 0; v < NW; v++) ((NAME(wide) *)rest)[v] = (Bi[v] + gain[i] * sum[v]) - Fi[v];
        }
        for (int c = 0; c < WIDTH; c++) {
            const float scaled = (float)(h[i] * rest[c]);
            const double size = fabs(rest[c]);
            zi[c] = take[c] ? scaled : zi[c];
            d[c] += ((per_entry ? wi[c] : m[i]) * scaled) * scaled;
            top[c] = size > top[c] ? size : top[c];
        }
        if (restart) {
            for (int c = 0; c < WIDTH; c++) pi[c] = take[c] ? zi[c] : pi[c];
        } else {
            UNROLL for (int v = 0; v < NW; v++) {
                const NAME(wide) p_wide = WIDEN(pi + v * HALF), z_wide = WIDEN(zi + v * HALF);
                with_p[v] += (per_entry ? WIDEN(wi + v * HALF) * p_wide : m[i] * p_wide) * z_wide;
            }
        }
    }
    for (int c = 0; c < WIDTH; c++) {
        dot[c] = d[c];
        peak[c] = top[c];
    }
    for (int v = 0; v < NW; v++) ((NAME(wide) *)along)[v] = with_p[v];
}

TARGET static void NAME(residual)(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values, int64_t n_stored,
    const double *gain, const double *h, const double *m, const double *gains, const float *weights,
    const double *B, const double *F, const int32_t *take, int restart, float *z, float *p,
    double *dot, double *along, double *peak)
{
    if (gains != NULL)
        NAME(any_residual)(lo, hi, indptr, indices, values, n_stored, gain, h, m, gains, weights, B, F, take, restart,
                           z, p, dot, along, peak, 1);
    else
        NAME(any_residual)(lo, hi, indptr, indices, values, n_stored, gain, h, m, gains, weights, B, F, take, restart,
                           z, p, dot, along, peak, 0);
}

/* F += x / h and x = 0 where take is 1, on rows that are not eliminated; clipped to [0, 1] on demand */
TARGET static void NAME(flush)(
    ptrdiff_t lo, ptrdiff_t hi, const double *gain, const double *h, const int32_t *take, int clip, float *x, double *F)
{
    for (ptrdiff_t i = lo; i < hi; i++) {
        if (gain[i] == 0.0) continue;
        for (int c = 0; c < WIDTH; c++) {
            const double sum = F[i * WIDTH + c] + x[i * WIDTH + c] / h[i];
            const double above = sum < 0.0 ? 0.0 : sum, within = above > 1.0 ? 1.0 : above;
            F[i * WIDTH + c] = take[c] ? (clip ? within : sum) : F[i * WIDTH + c];
            x[i * WIDTH + c] = take[c] ? 0.0f : x[i * WIDTH + c];
        }
    }
}

/* y = p - k V p; dot = sum m p y.  Alpha per entry: ks and weights replace k and m where k is not 0. */
TARGET static inline NM_INLINE void NAME(any_apply)(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const float *values, int64_t n_stored,
    const float *k, const double *m, const float *ks, const float *weights, const float *p, float *y, double *dot,
    const int per_entry)
{
    NAME(wide) d[NW];
    UNROLL for (int v = 0; v < NW; v++) d[v] = (NAME(wide)){0};
    for (ptrdiff_t i = lo; i < hi; i++) {
        const NAME(vec) *pi = (const NAME(vec) *)(p + i * WIDTH);
        NAME(vec) *yi = (NAME(vec) *)(y + i * WIDTH);
        NAME(vec) sum[NV];
        UNROLL for (int v = 0; v < NV; v++) sum[v] = (NAME(vec)){0};
        if (k[i] == 0.0f) {
            UNROLL for (int v = 0; v < NV; v++) yi[v] = sum[v];
            continue;
        }
        for (int64_t t = indptr[i]; t < indptr[i + 1]; t++) {
            const NAME(vec) *row = (const NAME(vec) *)(p + (ptrdiff_t)indices[t] * WIDTH);
            if (t + AHEAD < n_stored) PREFETCH(p + (ptrdiff_t)indices[t + AHEAD] * WIDTH);
            if (values == NULL) {
                UNROLL for (int v = 0; v < NV; v++) sum[v] += row[v];
            } else {
                UNROLL for (int v = 0; v < NV; v++) sum[v] += values[t] * row[v];
            }
        }
        if (per_entry) {
            const NAME(vec) *ki = (const NAME(vec) *)(ks + i * WIDTH);
            UNROLL for (int v = 0; v < NV; v++) yi[v] = pi[v] - ki[v] * sum[v];
        } else {
            UNROLL for (int v = 0; v < NV; v++) yi[v] = pi[v] - k[i] * sum[v];
        }
        UNROLL for (int v = 0; v < NW; v++) {
            const ptrdiff_t at = i * WIDTH + v * HALF;
            const NAME(wide) weighted = per_entry ? WIDEN(weights + at) * WIDEN(p + at) : m[i] * WIDEN(p + at);
            d[v] += weighted * WIDEN(y + at);
        }
    }
    for (int v = 0; v < NW; v++) ((NAME(wide) *)dot)[v] = d[v];
}

TARGET static void NAME(apply)(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const float *values, int64_t n_stored,
    const float *k, const double *m, const float *ks, const float *weights, const float *p, float *y, double *dot)
{
    if (ks != NULL)
        NAME(any_apply)(lo, hi, indptr, indices, values, n_stored, k, m, ks, weights, p, y, dot, 1);
    else
        NAME(any_apply)(lo, hi, indptr, indices, values, n_stored, k, m, ks, weights, p, y, dot, 0);
}

/* z -= a y; dot = sum m z^2, or with weights for m; peak = max |e z| */
TARGET static inline NM_INLINE void NAME(any_reduce)(
    ptrdiff_t lo, ptrdiff_t hi, const double *m, const float *weights, const float *e, const float *a, const float *y,
    float *z, double *dot, float *peak, const int per_entry)
{
    NAME(wide) d[NW];
    NAME(vec) top[NV];
    UNROLL for (int v = 0; v < NW; v++) d[v] = (NAME(wide)){0};
    UNROLL for (int v = 0; v < NV; v++) top[v] = (NAME(vec)){0};
    for (ptrdiff_t i = lo; i < hi; i++) {
        NAME(vec) *zi = (NAME(vec) *)(z + i * WIDTH);
        const NAME(vec) *yi = (const NAME(vec) *)(y + i * WIDTH);
        UNROLL for (int v = 0; v < NV; v++) {
            const NAME(vec) rest = zi[v] - ((const NAME(vec) *)a)[v] * yi[v], size = MAGNITUDE(e[i] * rest);
            zi[v] = rest;
            top[v] = LARGER(size, top[v]);
        }
        UNROLL for (int v = 0; v < NW; v++) {
            const NAME(wide) rest = WIDEN(z + i * WIDTH + v * HALF);
            d[v] += (per_entry ? WIDEN(weights + i * WIDTH + v * HALF) * rest : m[i] * rest) * rest;
        }
    }
    for (int v = 0; v < NW; v++) ((NAME(wide) *)dot)[v] = d[v];
    for (int v = 0; v < NV; v++) ((NAME(vec) *)peak)[v] = top[v];
}

TARGET static void NAME(reduce)(
    ptrdiff_t lo, ptrdiff_t hi, const double *m, const float *weights, const float *e, const float *a, const float *y,
    float *z, double *dot, float *peak)
{
    if (weights != NULL)
        NAME(any_reduce)(lo, hi, m, weights, e, a, y, z, dot, peak, 1);
    else
        NAME(any_reduce)(lo, hi, m, weights, e, a, y, z, dot, peak, 0);
}

/* x += a p; p = z + b p */
TARGET static void NAME(advance)(
    ptrdiff_t lo, ptrdiff_t hi, const float *a, const float *b, const float *z, float *x, float *p)
{
    for (ptrdiff_t i = lo; i < hi; i++) {
        NAME(vec) *xi = (NAME(vec) *)(x + i * WIDTH), *pi = (NAME(vec) *)(p + i * WIDTH);
        const NAME(vec) *zi = (const NAME(vec) *)(z + i * WIDTH);
        UNROLL for (int v = 0; v < NV; v++) {
            const NAME(vec) old = pi[v];
            xi[v] = xi[v] + ((const NAME(vec) *)a)[v] * old;
            pi[v] = zi[v] + ((const NAME(vec) *)b)[v] * old;
        }
    }
}

#undef NV
#undef NW
#undef HALF
#undef WIDEN
#undef MAGNITUDE
#undef LARGER
