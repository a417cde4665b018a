/* The best split of a node of a tree.
 *
 * A template: forest.h includes it once per level, with
 *   LANES  features that are compared at once     NM_LEVEL(f)  name of a function
 *   NM_TARGET  attribute of its functions
 *
 * With one threshold for each feature of dense rows, a lane is a feature, and the sums over the rows on the left are masked
 * additions.  (AVX-512 was measured 1 to 1.2 times as fast as AVX2.  Products of the mask with pairs of 16-bit numbers, two rows
 * in one instruction, were 1.1 to 1.5 times as fast with AVX2; they took 40 lines and a limit of 31 draws of a row.)
 *
 * Otherwise the rows above each threshold are added up: most rows of a text have the smallest value, 0.  Packing the columns of
 * a text into lanes took 1.2 times as long.  (A lane for each of several thresholds was measured 2 to 4 times slower.)
 */
#define V NM_LEVEL(floats)
#define VI NM_LEVEL(integers)
#define AT(type, p) (*(type *)(p))
#if LANES == 1
typedef float V;
typedef int32_t VI;
#define VGE(x, y) (-(int32_t)((x) >= (y))) /* -1 where x >= y, else 0 */
#define VMIN(x, y) ((x) >= (y) ? (y) : (x))
#else
typedef float V __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t VI __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define VGE(x, y) ((VI)((x) >= (y)))
#if LANES == 8
#define VMIN(x, y) ((V)_mm256_min_ps((__m256)(x), (__m256)(y)))
#else
#define VMIN(x, y) ((V)((VGE(x, y) & (VI)(y)) | (~VGE(x, y) & (VI)(x))))
#endif
#endif

/* Compare the columns of a window (n, LANES) that have one threshold each; -1 in place of a column: none. */
NM_TARGET static void NM_LEVEL(compare_columns)(
    const nmlsdr_growing *g, const int32_t *column, const float *at, nmlsdr_split *best)
{
    int32_t *sums = g->sums; /* (n_sums, LANES) over the rows on the left */
    for (ptrdiff_t c = 0; c < g->f->n_sums; c += 4) {
        VI sum[4] = {(VI){0}};
        for (ptrdiff_t i = 0; i < g->n; i++) {
            const VI goes = VGE(AT(const V, at), AT(const V, g->window + LANES * i));
            const int32_t *z = g->Z + g->rows[i] * g->f->n_padded + c;
            UNROLL for (int k = 0; k < 4; k++) sum[k] += goes & z[k];
        }
        memcpy(sums + LANES * c, sum, sizeof sum);
    }
    int64_t squares[LANES] = {0}, products[LANES] = {0};
    for (ptrdiff_t c = 2; c < g->f->n_sums; c++)
        for (int j = 0; j < LANES; j++) {
            const int64_t sum = sums[LANES * c + j];
            squares[j] += sum * sum;
            products[j] += sum * g->total[c];
        }
    for (int j = 0; j < LANES; j++) {
        const double score = column[j] < 0 ? -1.0 : nmlsdr_score(g, sums[j], sums[LANES + j], squares[j], products[j]);
        if (score > best->score) *best = (nmlsdr_split){score, column[j], at[j]};
    }
}

/* The squares of sums, and their products with the total; not of the rows and draws. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(square)(
    const int32_t *sum, const int32_t *total, ptrdiff_t n, int64_t *squares, int64_t *products)
{
    int64_t square = -(int64_t)sum[0] * sum[0] - (int64_t)sum[1] * sum[1];
    int64_t product = -(int64_t)sum[0] * total[0] - (int64_t)sum[1] * total[1];
    ptrdiff_t c = 0;
#if LANES == 8
    __m256i s2 = _mm256_setzero_si256(), st = s2;
    for (; c < n; c += 8) {
        const __m256i s = _mm256_loadu_si256((const __m256i *)(sum + c)), odd = _mm256_srli_epi64(s, 32);
        const __m256i t = _mm256_loadu_si256((const __m256i *)(total + c)), other = _mm256_srli_epi64(t, 32);
        s2 = _mm256_add_epi64(s2, _mm256_add_epi64(_mm256_mul_epi32(s, s), _mm256_mul_epi32(odd, odd)));
        st = _mm256_add_epi64(st, _mm256_add_epi64(_mm256_mul_epi32(s, t), _mm256_mul_epi32(odd, other)));
    }
    int64_t four[4];
    _mm256_storeu_si256((__m256i *)four, s2);
    square += four[0] + four[1] + four[2] + four[3];
    _mm256_storeu_si256((__m256i *)four, st);
    product += four[0] + four[1] + four[2] + four[3];
#endif
    for (; c < n; c++) {
        square += (int64_t)sum[c] * sum[c];
        product += (int64_t)sum[c] * total[c];
    }
    *squares = square;
    *products = product;
}

/* The number of K thresholds below each of the values x. */
NM_TARGET static void NM_LEVEL(count_thresholds)(const nmlsdr_growing *g, const float *at, ptrdiff_t K)
{
    for (ptrdiff_t i = 0; i < g->n; i += LANES) {
        VI count = (VI){0} + (int32_t)K;
        for (ptrdiff_t k = 0; k < K; k++) count += VGE(at[k] - (V){0}, AT(const V, g->x + i));
        AT(VI, g->bin + i) = count;
    }
}

/* Add each row to its bin; bin 0 is not needed, where most rows of a text lie. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(add_rows)(const nmlsdr_growing *g, int32_t *bins, const ptrdiff_t width)
{
    for (ptrdiff_t i = 0; i < g->n; i++) {
        if (!g->bin[i]) continue;
        int32_t *to = bins + g->bin[i] * width;
        const int32_t *z = g->Z + g->rows[i] * width;
        for (ptrdiff_t c = 0; c < width; c += LANES) AT(VI, to + c) += AT(const VI, z + c);
    }
}

/* Compare K thresholds of a feature, its values x, from the largest on; of equally good ones the smallest counts. */
NM_TARGET static void NM_LEVEL(compare_thresholds)(
    const nmlsdr_growing *g, int32_t column, const float *at, ptrdiff_t K, nmlsdr_split *best)
{
    const ptrdiff_t width = g->f->n_padded;
    int32_t *bins = g->sums, found = 0;
    double highest = best->score;

    NM_LEVEL(count_thresholds)(g, at, K);
    memset(bins, 0, (size_t)((K + 1) * width) * sizeof *bins);
    if (width == 8) NM_LEVEL(add_rows)(g, bins, 8);
    else if (width == 16) NM_LEVEL(add_rows)(g, bins, 16);
    else NM_LEVEL(add_rows)(g, bins, width);
    for (ptrdiff_t k = K; k > 0; k--) { /* bin k becomes the sums of the rows on the right */
        int32_t *sum = bins + k * width;
        const int32_t more = sum[0];
        for (ptrdiff_t c = 0; k < K && c < width; c += LANES) AT(VI, sum + c) += AT(const VI, sum + width + c);
        if (!more) continue;
        int64_t squares, products;
        NM_LEVEL(square)(sum, g->total, width, &squares, &products);
        const double score = nmlsdr_score(g, sum[0], sum[1], squares, products);
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

/* The best of the features of a node, the first of equal ones: columns from a random one on, at most twice as many as are tried,
 * of which constant ones do not count; more only if none of them leaves enough rows on both sides. */
NM_TARGET static nmlsdr_split NM_LEVEL(search)(const nmlsdr_growing *g, uint64_t key)
{
    nmlsdr_split best = {-1.0, -1, 0.0f};
    const ptrdiff_t D = g->n_columns, n = g->n, width = g->width, tried = g->kind[0];
    const int32_t *rows = g->rows, several = g->kind[1];
    const ptrdiff_t K = !several ? 1 : n < NMLSDR_THRESHOLDS ? n : NMLSDR_THRESHOLDS;
    float *window = g->window, *x = g->x;
    ptrdiff_t p = nmlsdr_number_below(key, D), looked = 0, found = 0;

    while (looked < D && best.column < 0) {
        const ptrdiff_t end = looked + 2 * tried, before = found;
        while (found < before + tried && looked < D && (looked < end || found == before)) {
            const float *X = g->X + p;
            V low = AT(const V, X + rows[0] * width), negative = -low;
            for (ptrdiff_t i = 0; i < n; i++) {
                const V one = AT(const V, X + rows[i] * width);
                AT(V, window + LANES * i) = one;
                low = VMIN(one, low);
                negative = VMIN(-one, negative);
            }
            float least[LANES], most[LANES], at[LANES] = {0};
            uint32_t random[LANES];
            int32_t column[LANES], j = 0, vary = 0;
            AT(V, least) = low;
            AT(V, most) = -negative;
            memset(column, 255, sizeof column);
            for (; j < LANES && found < before + tried && looked < D && (looked < end || found == before); j++, looked++) {
                if (!(least[j] < most[j])) continue;
                random[j] = nmlsdr_hash((uint32_t)key + (uint32_t)found++);
                column[j] = (int32_t)((p + j) % D);
                at[j] = least[j] + (most[j] - least[j]) * ((float)(int32_t)(random[j] >> 8) * 0x1p-24f);
                if (!(at[j] < most[j])) at[j] = least[j];
                vary++;
            }
            p = (p + j) % D;
            const int at_once = !several && !g->f->indices && 2 * vary > LANES;
            if (at_once) NM_LEVEL(compare_columns)(g, column, at, &best);
            for (int k = 0; k < j && !at_once; k++) {
                if (column[k] < 0) continue;
                float some[NMLSDR_THRESHOLDS] = {at[k]};
                for (ptrdiff_t i = 0; i < n; i++) x[i] = window[LANES * i + k];
                for (ptrdiff_t m = 0; several && m < K; m++)
                    some[m] = x[n == K ? m : (m * n + nmlsdr_number_below((uint64_t)random[k] << 32, n)) / K];
                NM_LEVEL(compare_thresholds)(g, column[k], some, K, &best);
            }
        }
    }
    return best;
}

/* The same for columns of codes, with several thresholds of each. */
NM_TARGET static nmlsdr_split NM_LEVEL(search_codes)(const nmlsdr_growing *g, uint64_t key)
{
    nmlsdr_split best = {-1.0, -1, 0.0f};
    const ptrdiff_t D = g->n_columns, n = g->n, tried = g->kind[0], K = n < NMLSDR_THRESHOLDS ? n : NMLSDR_THRESHOLDS;
    ptrdiff_t p = nmlsdr_number_below(key, D), looked = 0, found = 0;

    while (looked < D && best.column < 0) {
        const ptrdiff_t end = looked + 2 * tried, before = found;
        for (; found < before + tried && looked < D && (looked < end || found == before); looked++, p = (p + 1) % D) {
            const uint8_t *codes = g->f->codes + g->columns[p] * g->f->n, first = codes[g->rows[0]];
            float some[NMLSDR_THRESHOLDS];
            int vary = 0;
            for (ptrdiff_t i = 0; i < n; i++) {
                const uint8_t code = codes[g->rows[i]];
                g->x[i] = code;
                vary |= code ^ first;
            }
            if (!vary) continue;
            const uint64_t random = (uint64_t)nmlsdr_hash((uint32_t)key + (uint32_t)found++) << 32;
            for (ptrdiff_t m = 0; m < K; m++) some[m] = g->x[n == K ? m : (m * n + nmlsdr_number_below(random, n)) / K];
            NM_LEVEL(compare_thresholds)(g, (int32_t)p, some, K, &best);
        }
    }
    return best;
}

#include "simd_clear.h"
#undef LANES
#undef AT
