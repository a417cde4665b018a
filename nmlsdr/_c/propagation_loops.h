/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops of one conjugate gradient sweep over a block of rows.
 *
 * A template: propagation.h includes it once per width and level, with
 *   WIDTH      columns of a batch           LEVEL  name of the level
 *   NM_TARGET  attribute of its functions   AVX2   1: with its instructions
 *
 * Vectors and not arrays of sums: gcc keeps the latter in memory, and the round trip of every
 * addition through the store buffer made the gather three times slower (measured).
 */

#if NMLSDR_VECTORS
#define G (AVX2 && WIDTH > 4 ? 8 : 4) /* floats per vector */
#define H (AVX2 ? 4 : 2)              /* doubles per vector */
#else
#define G 1
#define H 1
#endif
#define NV (WIDTH / G)
#define NW (WIDTH / H)
#define NM_LEVEL(f) NM_JOIN(f, WIDTH, LEVEL)
#define V NM_LEVEL(vec)
#define W NM_LEVEL(wide)
#define BITS NM_LEVEL(bits)

#if NMLSDR_VECTORS
typedef float V __attribute__((vector_size(4 * G), aligned(4), may_alias));
typedef int32_t BITS __attribute__((vector_size(4 * G), aligned(4), may_alias));
typedef uint32_t NM_LEVEL(word) __attribute__((vector_size(4 * G), aligned(4), may_alias));
typedef double W __attribute__((vector_size(8 * H), aligned(8), may_alias));
#define ROUNDED(v) ((V)(((NM_LEVEL(word))(v) + 0x7fffu + (((NM_LEVEL(word))(v) >> 16) & 1u)) & 0xffff0000u))
#define MAGNITUDE(v) ((V)((BITS)(v) & 0x7fffffff))
#define CHOOSE(flags, u, v) ((V)((-(flags) & (BITS)(u)) | (~-(flags) & (BITS)(v))))
#define LARGER(u, v) ((V)((((u) > (v)) & (BITS)(u)) | (~((u) > (v)) & (BITS)(v))))
#if AVX2 /* gcc takes the conversions of its own vectors apart, into halves and through memory */
#define VWIDEN(from) ((W)_mm256_cvtps_pd(_mm_loadu_ps(from)))
#if WIDTH > 4
#define EXPAND(from) ((V)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(from))), 16))
#define SHORTEN(v, to) \
    _mm_storeu_si128((__m128i *)(to), _mm_packus_epi32(_mm256_castsi256_si128(_mm256_srli_epi32((__m256i)(v), 16)), \
                                                       _mm256_extracti128_si256(_mm256_srli_epi32((__m256i)(v), 16), 1)))
#else
#define EXPAND(from) ((V)_mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)(from))), 16))
#define SHORTEN(v, to) _mm_storel_epi64((__m128i *)(to), _mm_packus_epi32(_mm_srli_epi32((__m128i)(v), 16), _mm_setzero_si128()))
#endif
#else
typedef float NM_LEVEL(half) __attribute__((vector_size(4 * H), aligned(4), may_alias));
typedef uint16_t NM_LEVEL(upper) __attribute__((vector_size(2 * G), aligned(2), may_alias));
#define VWIDEN(from) __builtin_convertvector(*(const NM_LEVEL(half) *)(from), W)
#define EXPAND(from) ((V)(__builtin_convertvector(*(const NM_LEVEL(upper) *)(from), NM_LEVEL(word)) << 16))
#define SHORTEN(v, to) (*(NM_LEVEL(upper) *)(to) = __builtin_convertvector((NM_LEVEL(word))(v) >> 16, NM_LEVEL(upper)))
#endif
#else
typedef float V;
typedef int32_t BITS;
typedef double W;
#define ROUNDED(v) nmlsdr_expand(nmlsdr_upper(v))
#define MAGNITUDE(v) fabsf(v)
#define CHOOSE(flags, u, v) ((flags) ? (u) : (v))
#define LARGER(u, v) ((u) > (v) ? (u) : (v))
#define VWIDEN(from) ((double)*(from))
#define EXPAND(from) nmlsdr_expand(*(from))
#define SHORTEN(v, to) (*(to) = nmlsdr_upper(v))
#endif

/* The factors of row i for H columns from c on. */
NM_TARGET static inline NM_INLINE W NM_LEVEL(factor)(int per_entry, const double *factors, ptrdiff_t i, int c)
{
    if (per_entry) return *(const W *)(factors + i * WIDTH + c);
    return factors[i] - (W){0};
}

/* z = h [(B + gain sum_j v_ij F_j) - F] in float64, rounded once; dot = sum m z^2; peak = max |z / h|.
 * Where take is 0, z stays.  With restart, p = z in its 16 bits; along = sum m p z. */
NM_TARGET static void NM_LEVEL(residual)(const nmlsdr_batch *batch, const nmlsdr_columns *columns, ptrdiff_t b)
{
    const nmlsdr_batch s = *batch; /* a copy: stores through vectors may alias the fields of the original */
    const ptrdiff_t lo = b * s.block, hi = lo + s.block < s.n ? lo + s.block : s.n;
    const int64_t n_stored = s.indptr[s.n];
    const int32_t *take = columns->take;
    const int restart = columns->restart;
    double *dot = columns->dot + b * WIDTH, *peak = columns->peak + b * WIDTH;
    double d[WIDTH] = {0}, top[WIDTH] = {0}, rest[WIDTH];
    W with_p[NW];
    UNROLL for (int v = 0; v < NW; v++)
        with_p[v] = (W){0};

    for (ptrdiff_t i = lo; i < hi; i++) {
        const W *Fi = (const W *)(s.F + i * WIDTH), *Bi = (const W *)(s.B + i * WIDTH);
        float *zi = s.z + i * WIDTH, direction[WIDTH];
        uint16_t *pi = s.p + i * WIDTH;
        W sum[NW];

        if (!s.per_entry && s.gain[i] == 0.0) {
            for (int c = 0; c < WIDTH; c++) {
                zi[c] = 0.0f;
                pi[c] = 0;
            }
            continue;
        }

        UNROLL for (int v = 0; v < NW; v++)
            sum[v] = (W){0};
        for (int64_t t = s.indptr[i]; t < s.indptr[i + 1]; t++) {
            const W *row = (const W *)(s.F + (ptrdiff_t)s.indices[t] * WIDTH);
            const double value = s.values == NULL ? s.h[s.indices[t]] : s.values[t];
            if (t + AHEAD < n_stored) {
                const double *next = s.F + (ptrdiff_t)s.indices[t + AHEAD] * WIDTH;
                UNROLL for (int c = 0; c < WIDTH; c += 8)
                    NMLSDR_PREFETCH_NEAR(next + c);
            }
            UNROLL for (int v = 0; v < NW; v++)
                sum[v] += value * row[v];
        }

        UNROLL for (int v = 0; v < NW; v++)
            ((W *)rest)[v] = (Bi[v] + NM_LEVEL(factor)(s.per_entry, s.gain, i, v * H) * sum[v]) - Fi[v];
        if (s.per_entry)
            for (int c = 0; c < WIDTH; c++) rest[c] = s.gain[i * WIDTH + c] == 0.0 ? 0.0 : rest[c];

        for (int c = 0; c < WIDTH; c++) {
            const float scaled = (float)(s.h[i] * rest[c]);
            const double size = fabs(rest[c]);
            zi[c] = take[c] ? scaled : zi[c];
            d[c] += (s.m[s.per_entry ? i * WIDTH + c : i] * scaled) * scaled;
            top[c] = size > top[c] ? size : top[c];
        }

        UNROLL for (int v = 0; v < NV; v++) {
            const V kept = EXPAND(pi + v * G), fresh = ((const V *)zi)[v];
            const BITS taken = ((const BITS *)take)[v];
            const V next = restart ? CHOOSE(taken, ROUNDED(fresh), kept) : kept;
            ((V *)direction)[v] = next;
            SHORTEN(next, pi + v * G);
        }
        UNROLL for (int v = 0; v < NW; v++)
            with_p[v] += (NM_LEVEL(factor)(s.per_entry, s.m, i, v * H) * VWIDEN(direction + v * H)) * VWIDEN(zi + v * H);
    }

    for (int c = 0; c < WIDTH; c++) {
        dot[c] = d[c];
        peak[c] = top[c];
    }
    for (int v = 0; v < NW; v++) ((W *)(columns->along + b * WIDTH))[v] = with_p[v];
}

/* F += x / h and x = 0 where take is 1; clipped to [0, 1] on demand */
NM_TARGET static void NM_LEVEL(flush)(const nmlsdr_batch *batch, const nmlsdr_columns *columns, ptrdiff_t b)
{
    const nmlsdr_batch s = *batch; /* a copy: stores through vectors may alias the fields of the original */
    const ptrdiff_t lo = b * s.block, hi = lo + s.block < s.n ? lo + s.block : s.n;
    const int32_t *take = columns->take;
    const int clip = columns->clip;

    for (ptrdiff_t i = lo; i < hi; i++) {
        double *Fi = s.F + i * WIDTH;
        float *xi = s.x + i * WIDTH;

        for (int c = 0; c < WIDTH; c++) {
            const double sum = Fi[c] + xi[c] / s.h[i];
            const double above = sum < 0.0 ? 0.0 : sum, within = above > 1.0 ? 1.0 : above;
            Fi[c] = take[c] ? (clip ? within : sum) : Fi[c];
            xi[c] = take[c] ? 0.0f : xi[c];
        }
    }
}

/* y = p - k V p; dot = sum m p y */
NM_TARGET static void NM_LEVEL(apply)(const nmlsdr_batch *batch, const nmlsdr_columns *columns, ptrdiff_t b)
{
    const nmlsdr_batch s = *batch; /* a copy: stores through vectors may alias the fields of the original */
    const ptrdiff_t lo = b * s.block, hi = lo + s.block < s.n ? lo + s.block : s.n;
    const int64_t n_stored = s.indptr[s.n];
    W d[NW];
    UNROLL for (int v = 0; v < NW; v++)
        d[v] = (W){0};

    for (ptrdiff_t i = lo; i < hi; i++) {
        const uint16_t *p = s.p;
        float direction[WIDTH], *yi = s.y + i * WIDTH;
        V sum[NV];
        UNROLL for (int v = 0; v < NV; v++)
            sum[v] = (V){0};

        if (!s.per_entry && s.m[i] == 0.0) {
            UNROLL for (int v = 0; v < NV; v++)
                ((V *)yi)[v] = sum[v];
            continue;
        }

        for (int64_t t = s.indptr[i]; t < s.indptr[i + 1]; t++) {
            const uint16_t *row = p + (ptrdiff_t)s.indices[t] * WIDTH;
            if (t + AHEAD < n_stored) NMLSDR_PREFETCH_NEAR(p + (ptrdiff_t)s.indices[t + AHEAD] * WIDTH);
            if (s.sweep_values == NULL) {
                UNROLL for (int v = 0; v < NV; v++)
                    sum[v] += EXPAND(row + v * G);
            } else {
                UNROLL for (int v = 0; v < NV; v++)
                    sum[v] += s.sweep_values[t] * EXPAND(row + v * G);
            }
        }

        UNROLL for (int v = 0; v < NV; v++) {
            const V own = EXPAND(p + i * WIDTH + v * G);
            ((V *)direction)[v] = own;
            if (s.per_entry) ((V *)yi)[v] = own - *(const V *)(s.k + i * WIDTH + v * G) * sum[v];
            else ((V *)yi)[v] = own - s.k[i] * sum[v];
        }
        UNROLL for (int v = 0; v < NW; v++)
            d[v] += (NM_LEVEL(factor)(s.per_entry, s.m, i, v * H) * VWIDEN(direction + v * H)) * VWIDEN(yi + v * H);
    }

    for (int v = 0; v < NW; v++) ((W *)(columns->dot + b * WIDTH))[v] = d[v];
}

/* z -= step y; dot = sum m z^2; peak = max |z / h| */
NM_TARGET static void NM_LEVEL(reduce)(const nmlsdr_batch *batch, const nmlsdr_columns *columns, ptrdiff_t b)
{
    const nmlsdr_batch s = *batch; /* a copy: stores through vectors may alias the fields of the original */
    const ptrdiff_t lo = b * s.block, hi = lo + s.block < s.n ? lo + s.block : s.n;
    const V *step = (const V *)columns->step;
    W d[NW];
    V top[NV];
    UNROLL for (int v = 0; v < NW; v++)
        d[v] = (W){0};
    UNROLL for (int v = 0; v < NV; v++)
        top[v] = (V){0};

    for (ptrdiff_t i = lo; i < hi; i++) {
        float *zi = s.z + i * WIDTH;
        const V *yi = (const V *)(s.y + i * WIDTH);

        UNROLL for (int v = 0; v < NV; v++) {
            const V rest = ((V *)zi)[v] - step[v] * yi[v], size = MAGNITUDE(s.inverse_h[i] * rest);
            ((V *)zi)[v] = rest;
            top[v] = LARGER(size, top[v]);
        }
        UNROLL for (int v = 0; v < NW; v++) {
            const W rest = VWIDEN(zi + v * H);
            d[v] += (NM_LEVEL(factor)(s.per_entry, s.m, i, v * H) * rest) * rest;
        }
    }

    for (int v = 0; v < NW; v++) ((W *)(columns->dot + b * WIDTH))[v] = d[v];
    for (int v = 0; v < NV; v++) ((V *)(columns->top + b * WIDTH))[v] = top[v];
}

/* x += step p; p = z + turn p, rounded to its 16 bits; along = sum m p z */
NM_TARGET static void NM_LEVEL(advance)(const nmlsdr_batch *batch, const nmlsdr_columns *columns, ptrdiff_t b)
{
    const nmlsdr_batch s = *batch; /* a copy: stores through vectors may alias the fields of the original */
    const ptrdiff_t lo = b * s.block, hi = lo + s.block < s.n ? lo + s.block : s.n;
    const V *step = (const V *)columns->step, *turn = (const V *)columns->turn;
    W with_p[NW];
    UNROLL for (int v = 0; v < NW; v++)
        with_p[v] = (W){0};

    for (ptrdiff_t i = lo; i < hi; i++) {
        const float *zi = s.z + i * WIDTH;
        V *xi = (V *)(s.x + i * WIDTH);
        uint16_t *pi = s.p + i * WIDTH;
        float direction[WIDTH];

        UNROLL for (int v = 0; v < NV; v++) {
            const V old = EXPAND(pi + v * G);
            const V next = ROUNDED(((const V *)zi)[v] + turn[v] * old);
            xi[v] = xi[v] + step[v] * old;
            ((V *)direction)[v] = next;
            SHORTEN(next, pi + v * G);
        }
        UNROLL for (int v = 0; v < NW; v++)
            with_p[v] += (NM_LEVEL(factor)(s.per_entry, s.m, i, v * H) * VWIDEN(direction + v * H)) * VWIDEN(zi + v * H);
    }

    for (int v = 0; v < NW; v++) ((W *)(columns->along + b * WIDTH))[v] = with_p[v];
}

static const nmlsdr_loops NM_LEVEL(loops) = {
    NM_LEVEL(residual), NM_LEVEL(flush), NM_LEVEL(apply), NM_LEVEL(reduce), NM_LEVEL(advance),
};

#undef WIDTH
#undef H
#undef NV
#undef NW
#undef W
#undef BITS
#undef ROUNDED
#undef MAGNITUDE
#undef CHOOSE
#undef LARGER
#undef EXPAND
#undef SHORTEN
#undef G
#undef V
#undef VWIDEN
#undef NM_LEVEL
