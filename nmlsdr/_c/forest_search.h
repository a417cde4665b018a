/* The best split of a node of a tree.
 *
 * A template: forest.h includes it once per level, with
 *   LANES  features that are compared at once     NM_LEVEL(f)  name of a function
 *   NM_TARGET  attribute of its functions
 *
 * With one threshold for each feature, a lane is a feature, and the sums over the rows on the left are masked additions.
 * (AVX-512 was measured 1 to 1.2 times as fast as AVX2.  Products of the mask with pairs of 16-bit numbers, two rows in one
 * instruction, were 1.1 to 1.5 times as fast with AVX2; they took 40 lines and a limit of 31 draws of a row.)  With several, the
 * rows above each are added up.  (A lane for each of several thresholds was measured 2 to 4 times slower.)
 *
 * Of rows that store few values, such as texts, only these are added up; the others, 0, are what is missing from the total.  A
 * forest for 3000 texts of 80 words of 50 000 took .17 times as long as with dense copies, one for 1000 texts .3 times.
 */
#define V NM_LEVEL(floats)
#define VI NM_LEVEL(integers)
#define VB NM_LEVEL(bytes)
#define AT(type, p) (*(type *)(p))
#if LANES == 1
typedef float V;
typedef int32_t VI;
typedef int8_t VB;
#define VGE(x, y) (-(int32_t)((x) >= (y))) /* -1 where x >= y, else 0 */
#define VABOVE(x, y) ((VB)-((x) > (y)))
#define VMIN(x, y) ((x) >= (y) ? (y) : (x))
#else
typedef float V __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t VI __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int8_t VB __attribute__((vector_size(4 * LANES), aligned(1), may_alias));
#define VGE(x, y) ((VI)((x) >= (y)))
#define VABOVE(x, y) ((VB)((x) > (y)))
#if LANES == 8
#define VMIN(x, y) ((V)_mm256_min_ps((__m256)(x), (__m256)(y)))
#else
#define VMIN(x, y) ((V)((VGE(x, y) & (VI)(y)) | (~VGE(x, y) & (VI)(x))))
#endif
#endif

/* Copy the numbers of the rows of a node, and add them up. */
NM_TARGET static void NM_LEVEL(add_up)(const nmlsdr_growing *g)
{
    const ptrdiff_t width = g->f->n_padded, n = g->n; /* copies: a store might change what g points to */
    const int32_t *rows = g->rows, *Z = g->Z;
    int32_t *copy = g->z;
    for (ptrdiff_t c = 0; c < width; c += LANES) {
        VI sum = {0};
        for (ptrdiff_t i = 0; i < n; i++) {
            const VI z = AT(const VI, Z + rows[i] * width + c);
            AT(VI, copy + i * width + c) = z;
            sum += z;
        }
        AT(VI, g->total + c) = sum;
    }
}

/* m sums from number c on over the rows on the left, of each column of a window (n, LANES). */
static inline NM_TARGET NM_INLINE void NM_LEVEL(add_left)(const nmlsdr_growing *g, const float *at, ptrdiff_t c, const int m)
{
    VI sum[8] = {(VI){0}};
    for (ptrdiff_t i = 0; i < g->n; i++) {
        const VI goes = VGE(AT(const V, at), AT(const V, g->window + LANES * i));
        const int32_t *z = g->z + i * g->f->n_padded + c;
        UNROLL for (int k = 0; k < m; k++) sum[k] += goes & z[k];
    }
    UNROLL for (int k = 0; k < m; k++) AT(VI, g->sums + LANES * (c + k)) = sum[k];
}

/* Compare the columns of a window that have one threshold each; -1 in place of a column: none. */
NM_TARGET static void NM_LEVEL(compare_columns)(
    const nmlsdr_growing *g, const int32_t *column, const float *at, nmlsdr_split *best)
{
    const int32_t *sums = g->sums; /* (n_sums, LANES) over the rows on the left */
    for (ptrdiff_t c = 0, n = g->f->n_sums; c < n; c += 8) {
        if (n - c > 6) NM_LEVEL(add_left)(g, at, c, 8);
        else if (n - c > 4) NM_LEVEL(add_left)(g, at, c, 6);
        else NM_LEVEL(add_left)(g, at, c, 4);
    }
    int64_t squares[LANES] = {0}, products[LANES] = {0};
    for (ptrdiff_t c = 2; c < g->f->n_sums; c++)
        for (int j = 0; j < LANES; j++) {
            const int64_t sum = sums[LANES * c + j];
            squares[j] += sum * sum;
            products[j] += sum * g->total[c];
        }
    for (int j = 0; j < LANES; j++) {
        if (column[j] < 0 || !nmlsdr_allows(g, sums[j])) continue;
        const double score = nmlsdr_score(g, sums[LANES + j], squares[j], products[j]);
        if (score > best->score) *best = (nmlsdr_split){score, column[j], at[j]};
    }
}

/* The squares of sums, and their products with the total; not of the rows and draws. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(square)(
    const int32_t *sum, const int32_t *total, ptrdiff_t n, int64_t *squares, int64_t *products)
{
#if LANES == 8
    __m256i counted = _mm256_setr_epi32(0, 0, -1, -1, -1, -1, -1, -1), s2 = _mm256_setzero_si256(), st = s2;
    for (ptrdiff_t c = 0; c < n; c += 8) {
        const __m256i s = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(sum + c)), counted);
        const __m256i t = _mm256_loadu_si256((const __m256i *)(total + c));
        const __m256i odd = _mm256_srli_epi64(s, 32), other = _mm256_srli_epi64(t, 32);
        s2 = _mm256_add_epi64(s2, _mm256_add_epi64(_mm256_mul_epi32(s, s), _mm256_mul_epi32(odd, odd)));
        st = _mm256_add_epi64(st, _mm256_add_epi64(_mm256_mul_epi32(s, t), _mm256_mul_epi32(odd, other)));
        counted = _mm256_set1_epi32(-1);
    }
    int64_t both[4];
    _mm256_storeu_si256((__m256i *)both, _mm256_add_epi64(_mm256_unpacklo_epi64(s2, st), _mm256_unpackhi_epi64(s2, st)));
    *squares = both[0] + both[2];
    *products = both[1] + both[3];
#else
    *squares = *products = 0;
    for (ptrdiff_t c = 2; c < n; c++) {
        *squares += (int64_t)sum[c] * sum[c];
        *products += (int64_t)sum[c] * total[c];
    }
#endif
}

/* The bin of each row: the number of K thresholds below its value x. */
static inline NM_TARGET void NM_LEVEL(count_values)(const nmlsdr_growing *g, const float *at, ptrdiff_t K, uint8_t *bin)
{
    const float *x = g->x;
    const ptrdiff_t n = g->n;
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        VI count = (VI){0} + (int32_t)K;
        for (ptrdiff_t k = 0; k < K; k++) count += VGE(at[k] - (V){0}, AT(const V, x + i));
#if LANES == 8 /* the first byte of each number */
        const __m256i first = _mm256_shuffle_epi8((__m256i)count, _mm256_set1_epi32(0x0c080400));
        const __m128i low = _mm256_castsi256_si128(first), high = _mm256_extracti128_si256(first, 1);
        _mm_storel_epi64((__m128i *)(bin + i), _mm_unpacklo_epi32(low, high));
#else
        for (int j = 0; j < LANES; j++) bin[i + j] = (uint8_t)((const int32_t *)&count)[j];
#endif
    }
}

/* The same by codes. */
static inline NM_TARGET void NM_LEVEL(count_codes)(const nmlsdr_growing *g, const float *values, ptrdiff_t K, uint8_t *bin)
{
    int8_t at[NMLSDR_THRESHOLDS];
    for (ptrdiff_t k = 0; k < K; k++) at[k] = (int8_t)values[k];
    for (ptrdiff_t i = 0; i < g->n; i += (ptrdiff_t)sizeof(VB)) {
        const VB code = AT(const VB, g->code + i);
        VB count = {0};
        for (ptrdiff_t k = 0; k < K; k++) count -= VABOVE(code, at[k]);
        AT(VB, bin + i) = count;
    }
}

/* Add each row to its bin of each of m features. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(add_rows)(
    const nmlsdr_growing *g, const int m, const ptrdiff_t width, ptrdiff_t size)
{
    const uint8_t *bin = g->bin;
    const int32_t *z = g->z;
    const ptrdiff_t n = g->n, capacity = g->capacity;
    int32_t *bins = g->sums;
    for (ptrdiff_t i = 0; i < n; i++) {
        int32_t *to[NMLSDR_AT_ONCE];
        for (int j = 0; j < m; j++) to[j] = bins + j * size + bin[j * capacity + i] * width;
        for (ptrdiff_t c = 0; c < width; c += LANES) {
            const VI row = AT(const VI, z + i * width + c);
            for (int j = 0; j < m; j++) AT(VI, to[j] + c) += row;
        }
    }
}

/* Compare K thresholds of a feature, from the largest on; of equally good ones the smallest counts. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(compare_bins)(const nmlsdr_growing *g, int32_t *bins, int32_t column,
                                                              const float *at, ptrdiff_t K, const ptrdiff_t width,
                                                              nmlsdr_split *best)
{
    const int32_t n = (int32_t)g->n, leaf = (int32_t)g->f->leaf;
    int32_t found = 0;
    double highest = best->score;
    for (ptrdiff_t k = K; k > 0; k--) { /* bin k becomes the sums of the rows on the right */
        int32_t *sum = bins + k * width;
        const int32_t more = sum[0];
        for (ptrdiff_t c = 0; k < K && c < width; c += LANES) AT(VI, sum + c) += AT(const VI, sum + width + c);
        if (n - sum[0] < leaf) break;
        if (!more || sum[0] < leaf) continue;
        int64_t squares, products;
        NM_LEVEL(square)(sum, g->total, width, &squares, &products);
        if (!nmlsdr_may_reach(g, highest, sum[1], squares, products)) continue;
        const double score = nmlsdr_score(g, sum[1], squares, products);
        if (score > best->score && score >= highest) {
            highest = score;
            found = (int32_t)k;
        }
    }
    if (!found) return;
    *best = (nmlsdr_split){highest, column, at[0]};
    for (ptrdiff_t k = 0; k < K; k++) { /* the found-th of the thresholds */
        int32_t smaller = 0, equal = 0;
        for (ptrdiff_t m = 0; m < K; m++) {
            smaller += at[m] < at[k];
            equal += at[m] == at[k];
        }
        if (smaller < found && found <= smaller + equal) best->threshold = at[k];
    }
}

/* Compare m features, whose rows are counted. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(compare_some)(const nmlsdr_growing *g, const int m, const int32_t *column,
                                                              const float *at, ptrdiff_t K, const ptrdiff_t width,
                                                              nmlsdr_split *best)
{
    const ptrdiff_t size = (K + 1) * width;
    memset(g->sums, 0, (size_t)(m * size) * sizeof *g->sums);
    NM_LEVEL(add_rows)(g, m, width, size);
    for (int j = 0; j < m; j++)
        NM_LEVEL(compare_bins)(g, g->sums + j * size, column[j], at + j * NMLSDR_THRESHOLDS, K, width, best);
}

/* Compare m features with K thresholds each, that are counted. */
NM_TARGET static void NM_LEVEL(compare_thresholds)(
    const nmlsdr_growing *g, int m, const int32_t *column, const float *at, ptrdiff_t K, nmlsdr_split *best)
{
    const ptrdiff_t width = g->f->n_padded;
    const int all = m == NMLSDR_AT_ONCE;
    if (all && width == 8) NM_LEVEL(compare_some)(g, NMLSDR_AT_ONCE, column, at, K, 8, best);
    else if (all && width == 16) NM_LEVEL(compare_some)(g, NMLSDR_AT_ONCE, column, at, K, 16, best);
    else if (all && width == 32) NM_LEVEL(compare_some)(g, NMLSDR_AT_ONCE, column, at, K, 32, best);
    else if (width == 8) NM_LEVEL(compare_some)(g, m, column, at, K, 8, best);
    else NM_LEVEL(compare_some)(g, m, column, at, K, width, best);
}

/* Compare K thresholds of a column that is kept alone, of which the first `stored` of g->right have a value of their own. */
NM_TARGET static void NM_LEVEL(compare_stored)(
    const nmlsdr_growing *g, ptrdiff_t stored, int32_t column, const float *at, ptrdiff_t K, nmlsdr_split *best)
{
    const ptrdiff_t width = g->f->n_padded;
    int32_t *bins = g->sums, zero = 0;
    memset(bins, 0, (size_t)((K + 1) * width) * sizeof *bins);
    for (ptrdiff_t a = 0; a < stored; a++) {
        const int32_t *z = g->z + g->right[a] * width;
        int32_t bin = 0, *to;
        for (ptrdiff_t k = 0; k < K; k++) bin += at[k] < g->window[a];
        to = bins + bin * width;
        for (ptrdiff_t c = 0; c < width; c += LANES) AT(VI, to + c) += AT(const VI, z + c);
    }
    for (ptrdiff_t k = 0; k < K; k++) zero += at[k] < 0.0f;
    for (ptrdiff_t c = 0; zero && c < width; c++) { /* what is not stored: the rest */
        int32_t rest = g->total[c];
        for (ptrdiff_t k = 0; k <= K; k++) rest -= bins[k * width + c];
        bins[zero * width + c] += rest;
    }
    NM_LEVEL(compare_bins)(g, bins, column, at, K, width, best);
}

/* The columns from number p on in a window, as many as there are lanes, and their least and largest values. */
static inline NM_TARGET void NM_LEVEL(fill_window)(const nmlsdr_growing *g, ptrdiff_t p, float *least, float *most)
{
    const float *X = g->X + p;
    const int32_t *rows = g->rows;
    const ptrdiff_t width = g->width, n = g->n;
    float *window = g->window;
    V low = AT(const V, X + rows[0] * width), negative = -low;
    for (ptrdiff_t i = 0; i < n; i++) {
        const V one = AT(const V, X + rows[i] * width);
        AT(V, window + LANES * i) = one;
        low = VMIN(one, low);
        negative = VMIN(-one, negative);
    }
    AT(V, least) = low;
    AT(V, most) = -negative;
}

/* The best of the features of a node, the first of equal ones: columns from a random one on, at most twice as many as are tried,
 * of which constant ones do not count; more only if none of them leaves enough rows on both sides. */
static inline NM_TARGET NM_INLINE nmlsdr_split NM_LEVEL(search_either)(const nmlsdr_growing *g, uint64_t key, const int codes)
{
    nmlsdr_split best = {-1.0, -1, 0.0f};
    const ptrdiff_t D = g->n_columns, n = g->n, tried = g->kind[0];
    const int32_t *rows = g->rows, several = g->kind[1], lanes = g->X ? LANES : 1;
    const ptrdiff_t K = !several ? 1 : n < NMLSDR_THRESHOLDS ? n : NMLSDR_THRESHOLDS;
    int8_t *code = g->code;
    float *x = g->x, waiting_at[NMLSDR_AT_ONCE * NMLSDR_THRESHOLDS];
    int32_t waiting[NMLSDR_AT_ONCE], m = 0;
    ptrdiff_t p = nmlsdr_number_below(key, D), looked = 0, found = 0, stored = 0;

    while (looked < D && best.column < 0) {
        const ptrdiff_t end = looked + 2 * tried, before = found;
        while (found < before + tried && looked < D && (looked < end || found == before)) {
            float least[LANES] = {0}, most[LANES] = {0}, at[LANES] = {0};
            uint32_t random[LANES];
            int32_t column[LANES], j = 0, vary = 0;
            if (codes) {
                const int8_t *values = g->f->codes + g->columns[p] * g->f->n;
                for (ptrdiff_t i = 0; i < n; i++) code[i] = values[rows[i]];
                most[0] = memcmp(code, code + 1, (size_t)(n - 1)) != 0;
            } else if (g->X) NM_LEVEL(fill_window)(g, p, least, most);
            else stored = nmlsdr_values_of(g, p, least, most);
            memset(column, 255, sizeof column);
            for (; j < lanes && found < before + tried && looked < D && (looked < end || found == before); j++, looked++) {
                if (!(least[j] < most[j])) continue;
                random[j] = nmlsdr_hash((uint32_t)key + (uint32_t)found++);
                column[j] = (int32_t)((p + j) % D);
                at[j] = least[j] + (most[j] - least[j]) * ((float)(int32_t)(random[j] >> 8) * 0x1p-24f);
                if (!(at[j] < most[j])) at[j] = least[j];
                vary++;
            }
            p = (p + j) % D;
            const int at_once = g->X && !several && 2 * vary > LANES;
            if (at_once) NM_LEVEL(compare_columns)(g, column, at, &best);
            for (int k = 0; k < j && !at_once; k++) {
                if (column[k] < 0) continue;
                float *some = waiting_at + m * NMLSDR_THRESHOLDS;
                some[0] = at[k];
                for (ptrdiff_t i = 0; g->X && i < n; i++) x[i] = g->window[LANES * i + k];
                for (ptrdiff_t a = 0; several && a < K; a++) {
                    const uint64_t drawn = (uint64_t)random[k] << 32;
                    const ptrdiff_t i = n == K ? a : (a * n + nmlsdr_number_below(drawn, n)) / NMLSDR_THRESHOLDS;
                    some[a] = codes ? (float)code[i] : x[i];
                }
                if (!codes && !g->X) {
                    NM_LEVEL(compare_stored)(g, stored, column[k], some, K, &best);
                    continue;
                }
                if (codes) NM_LEVEL(count_codes)(g, some, K, g->bin + m * g->capacity);
                else NM_LEVEL(count_values)(g, some, K, g->bin + m * g->capacity);
                waiting[m++] = column[k];
                if (m < NMLSDR_AT_ONCE && several) continue;
                NM_LEVEL(compare_thresholds)(g, m, waiting, waiting_at, K, &best);
                m = 0;
            }
        }
        NM_LEVEL(compare_thresholds)(g, m, waiting, waiting_at, K, &best);
        m = 0;
    }
    return best;
}

NM_TARGET static nmlsdr_split NM_LEVEL(search)(const nmlsdr_growing *g, uint64_t key)
{
    return NM_LEVEL(search_either)(g, key, 0);
}

NM_TARGET static nmlsdr_split NM_LEVEL(search_codes)(const nmlsdr_growing *g, uint64_t key)
{
    return NM_LEVEL(search_either)(g, key, 1);
}

#include "simd_clear.h"
#undef LANES
#undef VB
#undef VABOVE
#undef AT
