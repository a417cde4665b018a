/* Loops of one conjugate gradient sweep over a block of rows.
 *
 * A template: propagation.h includes it once per width and instruction set, with
 *   WIDTH   columns of a batch            LANES   floats per vector (1: no vectors)
 *   HALF    doubles per vector            AVX2    1: with its instructions
 *   TARGET  function attribute            NAME(f) the name of this copy of f
 *
 * Vectors and not arrays of sums: gcc keeps the latter in memory, and the round trip of every
 * addition through the store buffer made the gather three times slower (measured).
 */

#define NV (WIDTH / LANES)
#define NW (WIDTH / HALF)
/* NM_INLINE: so that the constant argument `per_entry` costs nothing. */
#if LANES > 1
typedef float NAME(vec) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t NAME(bits) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float NAME(half) __attribute__((vector_size(4 * HALF), aligned(4), may_alias));
typedef double NAME(wide) __attribute__((vector_size(8 * HALF), aligned(8), may_alias));
typedef uint32_t NAME(word) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint16_t NAME(upper) __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
#if AVX2 /* gcc takes the conversions of its own vectors apart, into halves and through memory */
#define WIDEN(address) ((NAME(wide))_mm256_cvtps_pd(_mm_loadu_ps(address)))
#if LANES == 8
#define EXPAND(address) \
    ((NAME(vec))_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(address))), 16))
#define SHORTEN(v, address) \
    _mm_storeu_si128((__m128i *)(address), \
                     _mm_packus_epi32(_mm256_castsi256_si128(_mm256_srli_epi32((__m256i)(v), 16)), \
                                      _mm256_extracti128_si256(_mm256_srli_epi32((__m256i)(v), 16), 1)))
#else
#define EXPAND(address) ((NAME(vec))_mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)(address))), 16))
#define SHORTEN(v, address) \
    _mm_storel_epi64((__m128i *)(address), _mm_packus_epi32(_mm_srli_epi32((__m128i)(v), 16), _mm_setzero_si128()))
#endif
#else
#define WIDEN(address) __builtin_convertvector(*(const NAME(half) *)(address), NAME(wide))
#define EXPAND(address) ((NAME(vec))(__builtin_convertvector(*(const NAME(upper) *)(address), NAME(word)) << 16))
#define SHORTEN(v, address) (*(NAME(upper) *)(address) = __builtin_convertvector((NAME(word))(v) >> 16, NAME(upper)))
#endif
#define ROUNDED(v) ((NAME(vec))(((NAME(word))(v) + 0x7fffu + (((NAME(word))(v) >> 16) & 1u)) & 0xffff0000u))
#define MAGNITUDE(v) ((NAME(vec))((NAME(bits))(v) & 0x7fffffff))
#define CHOOSE(flags, u, v) ((NAME(vec))((-(flags) & (NAME(bits))(u)) | (~-(flags) & (NAME(bits))(v))))
#define LARGER(u, v) ((NAME(vec))((((u) > (v)) & (NAME(bits))(u)) | (~((u) > (v)) & (NAME(bits))(v))))
#else
typedef float NAME(vec);
typedef int32_t NAME(bits);
typedef double NAME(wide);
#define WIDEN(address) ((double)*(address))
#define EXPAND(address) nmlsdr_expand(*(address))
#define ROUNDED(v) nmlsdr_expand(nmlsdr_upper(v))
#define SHORTEN(v, address) (*(address) = nmlsdr_upper(v))
#define CHOOSE(flags, u, v) ((flags) ? (u) : (v))
#define MAGNITUDE(v) fabsf(v)
#define LARGER(u, v) ((u) > (v) ? (u) : (v))
#endif

/* z = h [(B + gain sum_j v_ij F_j) - F] in float64, rounded once; dot = sum m z^2; peak = max |z / h|.
 * Where take is 0, z stays.  With restart, p = z in its 16 bits; along = sum m p z.  values == NULL: v_ij = h_j.
 * Alpha per entry: gains and weights replace gain and m, and an entry of gain 0 is eliminated. */
TARGET static inline NM_INLINE void NAME(any_residual)(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values, int64_t n_stored,
    const double *gain, const double *h, const double *m, const double *gains, const float *weights,
    const double *B, const double *F, const int32_t *take, int restart, float *z, uint16_t *p,
    double *dot, double *along, double *peak, const int per_entry)
{
    double d[WIDTH] = {0}, top[WIDTH] = {0}, rest[WIDTH];
    NAME(wide) with_p[NW];
    UNROLL for (int v = 0; v < NW; v++) with_p[v] = (NAME(wide)){0};
    for (ptrdiff_t i = lo; i < hi; i++) {
        float *zi = z + i * WIDTH, direction[WIDTH];
        uint16_t *pi = p + i * WIDTH;
        const float *wi = weights + (per_entry ? i * WIDTH : 0);
        const NAME(wide) *Fi = (const NAME(wide) *)(F + i * WIDTH), *Bi = (const NAME(wide) *)(B + i * WIDTH);
        NAME(wide) sum[NW];
        if (gain[i] == 0.0) {
            for (int c = 0; c < WIDTH; c++) {
                zi[c] = 0.0f;
                pi[c] = 0;
            }
            continue;
        }
        UNROLL for (int v = 0; v < NW; v++) sum[v] = (NAME(wide)){0};
        for (int64_t t = indptr[i]; t < indptr[i + 1]; t++) {
            const NAME(wide) *row = (const NAME(wide) *)(F + (ptrdiff_t)indices[t] * WIDTH);
            const double w = values == NULL ? h[indices[t]] : values[t];
            if (t + AHEAD < n_stored) {
                const double *next = F + (ptrdiff_t)indices[t + AHEAD] * WIDTH;
                UNROLL for (int c = 0; c < WIDTH; c += 8) PREFETCH(next + c);
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
        UNROLL for (int v = 0; v < NV; v++) {
            const NAME(vec) kept = EXPAND(pi + v * LANES), fresh = ((const NAME(vec) *)zi)[v];
            const NAME(bits) taken = ((const NAME(bits) *)take)[v];
            const NAME(vec) next = restart ? CHOOSE(taken, ROUNDED(fresh), kept) : kept;
            ((NAME(vec) *)direction)[v] = next;
            SHORTEN(next, pi + v * LANES);
        }
        UNROLL for (int v = 0; v < NW; v++) {
            const NAME(wide) p_wide = WIDEN(direction + v * HALF), z_wide = WIDEN(zi + v * HALF);
            with_p[v] += (per_entry ? WIDEN(wi + v * HALF) * p_wide : m[i] * p_wide) * z_wide;
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
    const double *B, const double *F, const int32_t *take, int restart, float *z, uint16_t *p,
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
    const float *k, const double *m, const float *ks, const float *weights, const uint16_t *p, float *y,
    double *dot, const int per_entry)
{
    NAME(wide) d[NW];
    UNROLL for (int v = 0; v < NW; v++) d[v] = (NAME(wide)){0};
    for (ptrdiff_t i = lo; i < hi; i++) {
        float direction[WIDTH];
        NAME(vec) *pi = (NAME(vec) *)direction, *yi = (NAME(vec) *)(y + i * WIDTH);
        NAME(vec) sum[NV];
        UNROLL for (int v = 0; v < NV; v++) sum[v] = (NAME(vec)){0};
        if (k[i] == 0.0f) {
            UNROLL for (int v = 0; v < NV; v++) yi[v] = sum[v];
            continue;
        }
        for (int64_t t = indptr[i]; t < indptr[i + 1]; t++) {
            const uint16_t *row = p + (ptrdiff_t)indices[t] * WIDTH;
            if (t + AHEAD < n_stored) PREFETCH(p + (ptrdiff_t)indices[t + AHEAD] * WIDTH);
            if (values == NULL) {
                UNROLL for (int v = 0; v < NV; v++) sum[v] += EXPAND(row + v * LANES);
            } else {
                UNROLL for (int v = 0; v < NV; v++) sum[v] += values[t] * EXPAND(row + v * LANES);
            }
        }
        UNROLL for (int v = 0; v < NV; v++) pi[v] = EXPAND(p + i * WIDTH + v * LANES);
        if (per_entry) {
            const NAME(vec) *ki = (const NAME(vec) *)(ks + i * WIDTH);
            UNROLL for (int v = 0; v < NV; v++) yi[v] = pi[v] - ki[v] * sum[v];
        } else {
            UNROLL for (int v = 0; v < NV; v++) yi[v] = pi[v] - k[i] * sum[v];
        }
        UNROLL for (int v = 0; v < NW; v++) {
            const ptrdiff_t at = i * WIDTH + v * HALF;
            const NAME(wide) p_wide = WIDEN(direction + v * HALF);
            d[v] += (per_entry ? WIDEN(weights + at) * p_wide : m[i] * p_wide) * WIDEN(y + at);
        }
    }
    for (int v = 0; v < NW; v++) ((NAME(wide) *)dot)[v] = d[v];
}

TARGET static void NAME(apply)(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const float *values, int64_t n_stored,
    const float *k, const double *m, const float *ks, const float *weights, const uint16_t *p, float *y,
    double *dot)
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

/* x += a p; p = z + b p, rounded to its 16 bits; along = sum m p z, or with weights for m */
TARGET static inline NM_INLINE void NAME(any_advance)(
    ptrdiff_t lo, ptrdiff_t hi, const double *m, const float *weights, const float *a, const float *b, const float *z,
    float *x, uint16_t *p, double *along, const int per_entry)
{
    NAME(wide) with_p[NW];
    UNROLL for (int v = 0; v < NW; v++) with_p[v] = (NAME(wide)){0};
    for (ptrdiff_t i = lo; i < hi; i++) {
        NAME(vec) *xi = (NAME(vec) *)(x + i * WIDTH);
        const NAME(vec) *zi = (const NAME(vec) *)(z + i * WIDTH);
        uint16_t *pi = p + i * WIDTH;
        float direction[WIDTH];
        UNROLL for (int v = 0; v < NV; v++) {
            const NAME(vec) old = EXPAND(pi + v * LANES);
            const NAME(vec) next = zi[v] + ((const NAME(vec) *)b)[v] * old, rounded = ROUNDED(next);
            xi[v] = xi[v] + ((const NAME(vec) *)a)[v] * old;
            ((NAME(vec) *)direction)[v] = rounded;
            SHORTEN(rounded, pi + v * LANES);
        }
        UNROLL for (int v = 0; v < NW; v++) {
            const ptrdiff_t at = i * WIDTH + v * HALF;
            const NAME(wide) p_wide = WIDEN(direction + v * HALF);
            with_p[v] += (per_entry ? WIDEN(weights + at) * p_wide : m[i] * p_wide) * WIDEN(z + at);
        }
    }
    for (int v = 0; v < NW; v++) ((NAME(wide) *)along)[v] = with_p[v];
}

TARGET static void NAME(advance)(
    ptrdiff_t lo, ptrdiff_t hi, const double *m, const float *weights, const float *a, const float *b, const float *z,
    float *x, uint16_t *p, double *along)
{
    if (weights != NULL)
        NAME(any_advance)(lo, hi, m, weights, a, b, z, x, p, along, 1);
    else
        NAME(any_advance)(lo, hi, m, weights, a, b, z, x, p, along, 0);
}

#undef NV
#undef NW
#undef WIDEN
#undef MAGNITUDE
#undef LARGER
#undef EXPAND
#undef ROUNDED
#undef SHORTEN
#undef CHOOSE
