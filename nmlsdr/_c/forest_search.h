/* The best split of a node of a tree.
 *
 * A template: forest.h includes it once per level, with
 *   LANES  features that are compared at once     LEVEL  name of the level
 *   NM_TARGET  attribute of its functions
 *
 * With one threshold for each feature, a lane is a feature, and the sums over the rows on the left are masked additions.
 * (Products of the mask with pairs of 16-bit numbers, two rows in one instruction, were measured as fast with AVX-512, 1.1 to
 * 1.5 times as fast with AVX2, and .8 to 1 times with the portable level; they took 40 lines and a limit of 31 draws of a row.)
 *
 * With several thresholds, rows are counted in bins between the thresholds, and the sums of the bins added up.  (A lane for each
 * threshold was measured 2 to 4 times slower.)
 */
#define NM_LEVEL(f) NM_JOIN_LEVEL(f, LEVEL)
#define V NM_LEVEL(floats)
#define VI NM_LEVEL(integers)
#define VH NM_LEVEL(half)
#define VD NM_LEVEL(doubles)
#define G (LANES > 1 ? LANES / 2 : 1) /* doubles of a vector */
#define AT(type, p) (*(type *)(p))

/* VGE: -1 where x >= y, else 0.  ADD_WHERE: sum, plus the number z where x >= y. */
#if LANES == 1
typedef float V;
typedef int32_t VI, VH;
typedef double VD;
#define VWIDEN(p) ((double)*(p))
#define VGE(x, y) (-(int32_t)((x) >= (y)))
#define VMIN(x, y) ((x) >= (y) ? (y) : (x))
#define VMAX(x, y) ((x) >= (y) ? (x) : (y))
#else
typedef float V __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t VI __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t VH __attribute__((vector_size(2 * LANES), aligned(4), may_alias));
typedef double VD __attribute__((vector_size(4 * LANES), aligned(8), may_alias));
#define VWIDEN(p) __builtin_convertvector(*(const VH *)(p), VD)
#define VGE(x, y) ((VI)((x) >= (y)))
#endif
#if LANES == 4
#define VMIN(x, y) ((V)((VGE(x, y) & (VI)(y)) | (~VGE(x, y) & (VI)(x))))
#define VMAX(x, y) ((V)((VGE(x, y) & (VI)(x)) | (~VGE(x, y) & (VI)(y))))
#elif LANES == 8
#define VMIN(x, y) ((V)_mm256_min_ps((__m256)(x), (__m256)(y)))
#define VMAX(x, y) ((V)_mm256_max_ps((__m256)(x), (__m256)(y)))
#elif LANES == 16
#define VMIN(x, y) ((V)_mm512_min_ps((__m512)(x), (__m512)(y)))
#define VMAX(x, y) ((V)_mm512_max_ps((__m512)(x), (__m512)(y)))
#define ADD_WHERE(sum, x, y, z) \
    ((VI)_mm512_mask_add_epi32((__m512i)(sum), _mm512_cmp_ps_mask((__m512)(x), (__m512)(y), _CMP_GE_OQ), (__m512i)(sum), \
                               _mm512_set1_epi32(z)))
#endif
#ifndef ADD_WHERE
#define ADD_WHERE(sum, x, y, z) ((sum) + (VGE(x, y) & (z)))
#endif

/* Compare columns (n, LANES) that have one threshold each; -1 in place of a column: none. */
NM_TARGET static void NM_LEVEL(compare)(
    const nmlsdr_grower *g, const float *values, const int32_t *column, const float *at, nmlsdr_split *best)
{
    const V limit = AT(const V, at);
    int32_t *sums = g->bins; /* (n_sums, LANES) over the rows on the left */
    double score[LANES];
    for (ptrdiff_t c = 0; c < g->n_sums; c += 4) {
        VI sum[4];
        UNROLL for (int k = 0; k < 4; k++) sum[k] = (VI){0};
        for (ptrdiff_t i = 0; i < g->n; i++) {
            const V x = AT(const V, values + LANES * i);
            const int32_t *z = g->Z + g->rows[i] * g->n_padded + c;
            UNROLL for (int k = 0; k < 4; k++) sum[k] = ADD_WHERE(sum[k], limit, x, z[k]);
        }
        UNROLL for (int k = 0; k < 4; k++) AT(VI, sums + LANES * (c + k)) = sum[k];
    }
    for (int h = 0; h < LANES / G; h++) {
        VD squares = (VD){0}, products = (VD){0};
        for (ptrdiff_t c = 2; c < g->n_sums; c++) {
            const VD s = VWIDEN(sums + LANES * c + h * G);
            squares += s * s;
            products += g->labels[c] * s;
        }
        const VD left = VWIDEN(sums + LANES + h * G);
        AT(VD, score + h * G) = NMLSDR_SCORE(g, squares, products, left);
    }
    for (int j = 0; j < LANES; j++)
        if (column[j] >= 0 && score[j] > best->score && sums[j] >= g->leaf && g->n - sums[j] >= g->leaf)
            *best = (nmlsdr_split){score[j], column[j], at[j]};
}

/* Compare the columns that were packed, and forget them. */
NM_TARGET static void NM_LEVEL(compare_packed)(
    const nmlsdr_grower *g, int32_t *column, const float *at, ptrdiff_t *n_packed, nmlsdr_split *best)
{
    if (*n_packed) NM_LEVEL(compare)(g, g->packed, column, at, best);
    *n_packed = 0;
    memset(column, 255, LANES * sizeof *column);
}

/* Compare the thresholds of one feature: values of the node's rows, all of them in a small node. */
NM_TARGET static void NM_LEVEL(compare_several)(
    const nmlsdr_grower *g, int32_t column, const float *values, uint32_t random, nmlsdr_split *best)
{
    const ptrdiff_t n = g->n, width = g->n_padded;
    const ptrdiff_t K = n < NMLSDR_THRESHOLDS ? n : NMLSDR_THRESHOLDS;
    float *x = g->values, cut[NMLSDR_THRESHOLDS];
    int32_t *bin = g->bin, *bins = g->bins, found = 0;

    for (ptrdiff_t i = 0; i < n; i++) x[i] = values[LANES * i];
    for (ptrdiff_t k = 0; k < K; k++)
        cut[k] = x[n == K ? k : (k * n + nmlsdr_number_below((uint64_t)random << 32, n)) / K];
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        VI count = (VI){0};
        for (ptrdiff_t k = 0; k < K; k++) count -= VGE(cut[k] - (V){0}, AT(const V, x + i));
        AT(VI, bin + i) = count;
    }

    memset(bins, 0, (size_t)((K + 1) * width) * sizeof *bins);
    for (ptrdiff_t i = 0; i < n; i++) {
        int32_t *to = bins + bin[i] * width;
        const int32_t *z = g->Z + g->rows[i] * width;
        for (ptrdiff_t c = 0; c < width; c += G) AT(VH, to + c) += AT(const VH, z + c);
    }

    for (ptrdiff_t k = K; k > 0; k--) { /* bin k becomes the sums of the rows on the left */
        int32_t *sum = bins + k * width;
        const int32_t more = sum[0];
        for (ptrdiff_t c = 0; k < K && c < width; c += G) AT(VH, sum + c) += AT(const VH, sum + width + c);
        if (!more || sum[0] < g->leaf || n - sum[0] < g->leaf) continue;
        const double rows = sum[0], draws = sum[1]; /* no labels: their squares are taken off */
        double squares[4] = {-rows * rows, -draws * draws}, products[4] = {0};
        for (ptrdiff_t c = 0; c < g->n_sums; c += 4)
            for (int j = 0; j < 4; j++) {
                const double s = sum[c + j];
                squares[j] += s * s;
                products[j] += g->labels[c + j] * s;
            }
        const double score = NMLSDR_SCORE(g, (squares[0] + squares[1]) + (squares[2] + squares[3]),
                                          (products[0] + products[1]) + (products[2] + products[3]), draws);
        if (score > best->score) {
            best->score = score;
            found = (int32_t)k;
        }
    }
    if (!found) return;
    float below = -INFINITY, above = INFINITY; /* the values around the threshold */
    for (ptrdiff_t i = 0; i < n; i++) {
        if (bin[i] >= found) below = x[i] > below ? x[i] : below;
        else above = x[i] < above ? x[i] : above;
    }
    const float middle = below * 0.5f + above * 0.5f;
    best->column = column;
    best->threshold = below < middle && middle < above ? middle : below;
}

/* The best of the features of a node, the first of equal ones: columns from a random one on, at most twice as many as are tried,
 * of which constant ones do not count; more only if none of them leaves enough rows on both sides. */
NM_TARGET static nmlsdr_split NM_LEVEL(search)(const nmlsdr_grower *g, ptrdiff_t tried, int several)
{
    nmlsdr_split best = {-1.0, -1, 0.0f};
    const ptrdiff_t D = g->n_columns, n = g->n, width = g->width;
    const int32_t *rows = g->rows;
    float *window = g->x, *packed = g->packed, packed_at[LANES] = {0};
    int32_t packed_column[LANES];
    ptrdiff_t p = nmlsdr_number_below(g->key, D), looked = 0, found = 0, n_packed = 0;

    memset(packed_column, 255, sizeof packed_column);
    while (looked < D && best.column < 0) {
        const ptrdiff_t end = looked + 2 * tried, before = found;
        while (found < before + tried && looked < D && (looked < end || found == before)) {
            const float *X = g->X + p;
            V low = AT(const V, X + rows[0] * width), high = low;
            for (ptrdiff_t i = 0; i < n; i++) {
                const V x = AT(const V, X + rows[i] * width);
                AT(V, window + LANES * i) = x;
                low = VMIN(x, low);
                high = VMAX(x, high);
            }
            float least[LANES], most[LANES], at[LANES] = {0};
            int32_t column[LANES], j = 0;
            memcpy(least, &low, sizeof low);
            memcpy(most, &high, sizeof high);
            memset(column, 255, sizeof column);
            for (; j < LANES && found < before + tried && looked < D && (looked < end || found == before); j++, looked++) {
                if (!(least[j] < most[j])) continue;
                const uint32_t random = nmlsdr_hash((uint32_t)g->key + (uint32_t)found++);
                column[j] = (int32_t)((p + j) % D);
                if (several) NM_LEVEL(compare_several)(g, column[j], window + j, random, &best);
                at[j] = least[j] + (most[j] - least[j]) * ((float)(int32_t)(random >> 8) * 0x1p-24f);
                if (!(at[j] < most[j])) at[j] = least[j];
            }
            p = (p + j) % D;
            if (several) continue;
            ptrdiff_t new = 0; /* few columns of a text vary: those of several windows are compared at once */
            for (int k = 0; k < j; k++) new += column[k] >= 0;
            const int full = 2 * new > LANES;
            if (full || n_packed + new > LANES)
                NM_LEVEL(compare_packed)(g, packed_column, packed_at, &n_packed, &best);
            if (full) NM_LEVEL(compare)(g, window, column, at, &best);
            for (int k = 0; !full && k < j; k++) {
                if (column[k] < 0) continue;
                for (ptrdiff_t i = 0; i < n; i++) packed[LANES * i + n_packed] = window[LANES * i + k];
                packed_at[n_packed] = at[k];
                packed_column[n_packed++] = column[k];
            }
        }
        NM_LEVEL(compare_packed)(g, packed_column, packed_at, &n_packed, &best);
    }
    return best;
}

#include "simd_clear.h"
#undef LANES
#undef LEVEL
#undef VH
#undef VD
#undef VMAX
#undef AT
#undef ADD_WHERE
