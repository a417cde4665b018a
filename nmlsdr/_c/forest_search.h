/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The best split of a node of a tree.
 *
 * A template: forest.h includes it once per level, with
 *   LANES  features that are compared at once     NM_LEVEL(f)  name of a function
 *   NM_TARGET  attribute of its functions
 *
 * With one threshold for each feature, a lane is a feature, and the sums over the rows on the left are masked additions, of two
 * rows in one instruction where their numbers have 16 bits (1.1 times as fast from 1000 rows on).  With several, the rows above
 * each are added up.  (A lane for each of several thresholds was measured 2 to 4 times slower, AVX-512 1 to 1.2 times as fast as
 * AVX2.)
 *
 * Scores are compared in float32 first; only those that may be the best one by the bound of rounding are computed exactly.
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
#define VABOVE(x, y) ((VB) - ((x) > (y)))
#define VMIN(x, y) ((x) >= (y) ? (y) : (x))
#define VFLOAT(x) ((float)(x))
#define VCHOOSE(where, x, y) ((where) ? (x) : (y))
#define VANY(x) (x)
#else
typedef float V __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t VI __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int8_t VB __attribute__((vector_size(4 * LANES), aligned(1), may_alias));
#define VGE(x, y) ((VI)((x) >= (y)))
#define VABOVE(x, y) ((VB)((x) > (y)))
#define VFLOAT(x) __builtin_convertvector(x, V)
#define VCHOOSE(where, x, y) ((V)(((where) & (VI)(x)) | (~(where) & (VI)(y))))
#if LANES == 8
#define VANY(x) _mm256_movemask_epi8((__m256i)(x))
#define VMIN(x, y) ((V)_mm256_min_ps((__m256)(x), (__m256)(y)))
#else
#define VANY(x) ((x)[0] | (x)[1] | (x)[2] | (x)[3])
#define VMIN(x, y) VCHOOSE(VGE(x, y), y, x)
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

#if LANES == 8
/* The numbers of two rows in one, 16 bits each, in their place; an odd row goes with zeros. */
NM_TARGET static void NM_LEVEL(pair_up)(const nmlsdr_growing *g)
{
    const ptrdiff_t width = g->f->n_padded, n = g->n;
    int32_t *z = g->z;
    for (ptrdiff_t c = 0; c < width; c += LANES) {
        AT(VI, z + n * width + c) = (VI){0};
        for (ptrdiff_t i = 0; i < n; i += 2) {
            const VI one = AT(const VI, z + i * width + c), two = AT(const VI, z + (i + 1) * width + c);
            AT(VI, z + i / 2 * width + c) = (one & 0xffff) | (two << 16);
        }
    }
}
#endif

/* m sums from number c on over the rows on the left, of each column of a window (n, LANES). */
static inline NM_TARGET NM_INLINE void NM_LEVEL(add_left)(const nmlsdr_growing *g, const float *at, ptrdiff_t c, const int m,
                                                          const int paired)
{
    const V threshold = AT(const V, at);
    VI sum[8] = {(VI){0}};
#if LANES == 8
    for (ptrdiff_t i = 0; i < g->n && paired; i += 2) {
        const VI one = VGE(threshold, AT(const V, g->window + LANES * i));
        const VI two = VGE(threshold, AT(const V, g->window + LANES * (i + 1)));
        const __m256i both = _mm256_blend_epi16((__m256i)one, (__m256i)two, 0xaa);
        const int32_t *z = g->z + i / 2 * g->f->n_padded + c;
        UNROLL for (int k = 0; k < m; k++)
            sum[k] -= (VI)_mm256_madd_epi16(both, _mm256_set1_epi32(z[k]));
    }
#endif
    for (ptrdiff_t i = 0; i < g->n && !paired; i++) {
        const VI goes = VGE(threshold, AT(const V, g->window + LANES * i));
        const int32_t *z = g->z + i * g->f->n_padded + c;
        UNROLL for (int k = 0; k < m; k++)
            sum[k] += goes & z[k];
    }
    UNROLL for (int k = 0; k < m; k++)
        AT(VI, g->sums + LANES * (c + k)) = sum[k];
}

/* |S_L|^2 / w_L + |S_R|^2 / w_R, exactly, from sums over the rows on one side that lie `stride` apart. */
static inline NM_TARGET NM_INLINE double NM_LEVEL(score)(const nmlsdr_growing *g, const int32_t *sums, ptrdiff_t stride)
{
    int64_t squares = 0, products = 0;
    for (ptrdiff_t c = 2; c < g->f->n_sums; c++) {
        const int64_t sum = sums[stride * c];
        squares += sum * sum;
        products += sum * g->total[c];
    }
    return (double)squares / sums[stride] + (double)(g->squared - 2 * products + squares) / (g->total[1] - sums[stride]);
}

/* Which scores may be the best one, of splits that leave the rows of a leaf on both sides. */
static inline NM_TARGET NM_INLINE VI NM_LEVEL(may_be)(const nmlsdr_growing *g, VI rows, V score, double best)
{
    const int32_t least = (int32_t)g->f->leaf, most = (int32_t)(g->n - g->f->leaf);
    return VGE(score, (V){0} + nmlsdr_nearly(g, best)) & VGE(rows, (VI){0} + least) & VGE((VI){0} + most, rows);
}

/* Compare the columns of a window that have one threshold each; -1 in place of a column: none. */
NM_TARGET static void NM_LEVEL(compare_columns)(const nmlsdr_growing *g, const int32_t *column, const float *at, int paired,
                                                nmlsdr_split *best)
{
    const int32_t *sums = g->sums; /* (n_sums, LANES) over the rows on the left */
    for (ptrdiff_t c = 0, n = g->f->n_sums; c < n; c += 8) {
        if (n - c > 6) NM_LEVEL(add_left)(g, at, c, 8, paired);
        else if (n - c > 4) NM_LEVEL(add_left)(g, at, c, 6, paired);
        else NM_LEVEL(add_left)(g, at, c, 4, paired);
    }
    V left = {0}, right = {0};
    for (ptrdiff_t c = 2; c < g->f->n_sums; c++) {
        const VI sum = AT(const VI, sums + LANES * c);
        const V on_left = VFLOAT(sum), on_right = VFLOAT(g->total[c] - sum);
        left += on_left * on_left;
        right += on_right * on_right;
    }
    const VI rows = AT(const VI, sums), draws = AT(const VI, sums + LANES);
    const V score = left / VFLOAT(draws) + right / VFLOAT(g->total[1] - draws);
    const VI some = NM_LEVEL(may_be)(g, rows, score, best->score) & VGE(AT(const VI, column), (VI){0});
    if (!VANY(some)) return;
    float nearly[LANES], limit = 0.0f;
    AT(V, nearly) = VCHOOSE(some, score, -1.0f - (V){0});
    for (int j = 0; j < LANES; j++) limit = nearly[j] > limit ? nearly[j] : limit;
    limit = nmlsdr_nearly(g, limit);
    for (int j = 0; j < LANES; j++) {
        if (nearly[j] < limit) continue;
        const double exact = NM_LEVEL(score)(g, sums + j, LANES);
        if (exact > best->score) *best = (nmlsdr_split){exact, column[j], 1, {at[j]}, 0};
    }
}

/* The bin of each row: the number of K thresholds below its value x. */
static inline NM_TARGET void NM_LEVEL(count_values)(const float *x, ptrdiff_t n, const float *at, ptrdiff_t K, uint8_t *bin)
{
    for (ptrdiff_t i = 0; i < n; i += 2 * LANES) {
        const V one = AT(const V, x + i), two = AT(const V, x + i + LANES);
        VI count[2] = {(VI){0} + (int32_t)K, (VI){0} + (int32_t)K};
        for (ptrdiff_t k = 0; k < K; k++) {
            count[0] += VGE(at[k] - (V){0}, one);
            count[1] += VGE(at[k] - (V){0}, two);
        }
#if LANES == 8 /* to bytes */
        const __m256i both = _mm256_packs_epi32((__m256i)count[0], (__m256i)count[1]), bytes = _mm256_packus_epi16(both, both);
        const __m256i ordered = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5));
        _mm_storeu_si128((__m128i *)(bin + i), _mm256_castsi256_si128(ordered));
#else
        for (int j = 0; j < 2 * LANES; j++) bin[i + j] = (uint8_t)((const int32_t *)count)[j];
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
static inline NM_TARGET NM_INLINE void NM_LEVEL(add_rows)(const nmlsdr_growing *g, const int m, const ptrdiff_t width,
                                                          ptrdiff_t size)
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

/* The sum of each of eight times LANES numbers. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(fold)(const float *numbers, float *sums)
{
#if LANES == 8
    __m256 x[8];
    UNROLL for (int i = 0; i < 8; i++)
        x[i] = _mm256_loadu_ps(numbers + 8 * i);
    UNROLL for (int i = 0; i < 4; i++)
        x[i] = _mm256_hadd_ps(x[2 * i], x[2 * i + 1]);
    x[0] = _mm256_hadd_ps(x[0], x[1]);
    x[1] = _mm256_hadd_ps(x[2], x[3]);
    x[0] = _mm256_add_ps(_mm256_permute2f128_ps(x[0], x[1], 32), _mm256_permute2f128_ps(x[0], x[1], 49));
    _mm256_storeu_ps(sums, x[0]);
#else
    for (int i = 0; i < 8; i++) {
        sums[i] = 0;
        for (int j = 0; j < LANES; j++) sums[i] += numbers[LANES * i + j];
    }
#endif
}

/* Compare the K thresholds of a feature; bins beyond K are empty.  Of equally good ones the smallest counts. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(compare_bins)(const nmlsdr_growing *g, int32_t *bins, int32_t column,
                                                              const float *at, ptrdiff_t K, const ptrdiff_t width,
                                                              nmlsdr_split *best)
{
    static const int32_t counted[16] = {0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}; /* not rows and draws */
    const ptrdiff_t all = (K + 7) / 8 * 8, last = K == 1 ? 1 : all; /* one threshold is common where columns are kept alone */
    float left[LANES * NMLSDR_THRESHOLDS], right[LANES * NMLSDR_THRESHOLDS]; /* squares, to be folded */
    float nearly[NMLSDR_THRESHOLDS], others[NMLSDR_THRESHOLDS], limit = 0.0f;
    int32_t rows[NMLSDR_THRESHOLDS], draws[NMLSDR_THRESHOLDS], found = 0;
    VI some = {0};
    for (ptrdiff_t c = 0; c < width; c += LANES) {
        const VI is = AT(const VI, counted + (c < 8 ? c : 8)), total = AT(const VI, g->total + c);
        VI sum = {0};
        for (ptrdiff_t k = last - 1; k >= 0; k--) { /* bin k + 1 becomes the sums of the rows above k + 1 thresholds */
            VI *bin = &AT(VI, bins + (k + 1) * width + c);
            V *l = &AT(V, left + LANES * k), *r = &AT(V, right + LANES * k);
            *bin = sum += *bin;
            const V one = VFLOAT(sum & is), other = VFLOAT((total - sum) & is);
            *l = c ? *l + one * one : one * one;
            *r = c ? *r + other * other : other * other;
        }
    }
    for (ptrdiff_t k = 0; k < all; k++) {
        rows[k] = k < last ? bins[(k + 1) * width] : 0;
        draws[k] = k < last ? bins[(k + 1) * width + 1] : 0;
    }
    for (ptrdiff_t k = 0; k < all; k += 8) {
        NM_LEVEL(fold)(left + LANES * k, nearly + k);
        NM_LEVEL(fold)(right + LANES * k, others + k);
    }
    for (ptrdiff_t k = 0; k < all; k += LANES) {
        const VI w = AT(const VI, draws + k);
        const V score = AT(const V, nearly + k) / VFLOAT(w) + AT(const V, others + k) / VFLOAT(g->total[1] - w);
        const VI is = NM_LEVEL(may_be)(g, AT(const VI, rows + k), score, best->score);
        AT(V, nearly + k) = VCHOOSE(is, score, -1.0f - (V){0});
        some |= is;
    }
    if (!VANY(some)) return;
    for (ptrdiff_t k = 0; k < all; k++) limit = nearly[k] > limit ? nearly[k] : limit;
    limit = nmlsdr_nearly(g, limit);
    double highest = best->score;
    for (ptrdiff_t k = all; k > 0; k--) {
        if (nearly[k - 1] < limit) continue;
        const double score = NM_LEVEL(score)(g, bins + k * width, 1);
        if (score > best->score && score >= highest) {
            highest = score;
            found = (int32_t)k;
        }
    }
    if (!found) return;
    *best = (nmlsdr_split){highest, column, found, {0}, 0};
    for (ptrdiff_t k = 0; k < K; k++) best->thresholds[k] = at[k];
}

/* Compare m features, whose rows are counted. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(compare_some)(const nmlsdr_growing *g, const int m, const int32_t *column,
                                                              const float *at, ptrdiff_t K, const ptrdiff_t width,
                                                              nmlsdr_split *best)
{
    const ptrdiff_t size = ((K + 7) / 8 * 8 + 1) * width;
    memset(g->sums, 0, (size_t)(m * size) * sizeof *g->sums);
    NM_LEVEL(add_rows)(g, m, width, size);
    for (int j = 0; j < m; j++)
        NM_LEVEL(compare_bins)(g, g->sums + j * size, column[j], at + j * NMLSDR_THRESHOLDS, K, width, best);
}

/* Compare m features with K thresholds each, that are counted. */
NM_TARGET static void NM_LEVEL(compare_thresholds)(const nmlsdr_growing *g, int m, const int32_t *column, const float *at,
                                                   ptrdiff_t K, nmlsdr_split *best)
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
NM_TARGET static void NM_LEVEL(compare_stored)(const nmlsdr_growing *g, ptrdiff_t stored, int32_t column, const float *at,
                                               ptrdiff_t K, nmlsdr_split *best)
{
    const ptrdiff_t width = g->f->n_padded;
    int32_t *bins = g->sums, zero = 0;
    memset(bins, 0, (size_t)((K == 1 ? 2 : NMLSDR_THRESHOLDS + 1) * width) * sizeof *bins);
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
    for (ptrdiff_t i = 0; i < n; i += 2) { /* two rows at once, the last perhaps twice: fewer wait for one another */
        const V one = AT(const V, X + rows[i] * width), two = AT(const V, X + rows[i + 1 < n ? i + 1 : i] * width);
        AT(V, window + LANES * i) = one;
        AT(V, window + LANES * (i + 1)) = two;
        low = VMIN(VMIN(one, two), low);
        negative = VMIN(VMIN(-one, -two), negative);
    }
    AT(V, least) = low;
    AT(V, most) = -negative;
}

/* The best of the features of a node, the first of equal ones: columns from a random one on, at most twice as many as are tried,
 * of which constant ones do not count; more only if none of them leaves enough rows on both sides. */
static inline NM_TARGET NM_INLINE nmlsdr_split NM_LEVEL(search_either)(const nmlsdr_growing *g, uint64_t key, const int codes)
{
    nmlsdr_split best = {-1.0, -1, 0, {0}, 0};
    const ptrdiff_t D = g->n_columns, n = g->n, tried = g->kind[0];
    const int32_t *rows = g->rows, several = g->kind[1], lanes = g->X ? LANES : 1;
    const ptrdiff_t K = !several ? 1 : n < NMLSDR_THRESHOLDS ? n : NMLSDR_THRESHOLDS;
    int8_t *code = g->code;
    float *x = g->x, waiting_at[NMLSDR_AT_ONCE * NMLSDR_THRESHOLDS];
    int32_t waiting[NMLSDR_AT_ONCE], m = 0;
    ptrdiff_t p = nmlsdr_number_below(key, D), looked = 0, found = 0, stored = 0;

    const int paired = LANES == 8 && !several && g->X && g->bits < 0x8000;
#if LANES == 8
    if (paired) NM_LEVEL(pair_up)(g);
#endif
    while (looked < D && best.column < 0) {
        const ptrdiff_t end = looked + 2 * tried, before = found;
        while (found < before + tried && looked < D && (looked < end || found == before)) {
            float least[LANES] = {0}, most[LANES] = {0}, at[LANES] = {0};
            uint32_t random[LANES];
            int32_t column[LANES], j = 0;
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
                column[j] = (int32_t)(p + j < D ? p + j : p + j - D);
                at[j] = least[j] + (most[j] - least[j]) * ((float)(int32_t)(random[j] >> 8) * 0x1p-24f);
                if (!(at[j] < most[j])) at[j] = least[j];
            }
            p = p + j < D ? p + j : p + j - D;
            if (g->X && !several) {
                NM_LEVEL(compare_columns)(g, column, at, paired, &best);
                continue;
            }
            for (int k = 0; k < j; k++) {
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
                else NM_LEVEL(count_values)(x, n, some, K, g->bin + m * g->capacity);
                waiting[m++] = column[k];
                if (m < NMLSDR_AT_ONCE) continue;
                NM_LEVEL(compare_thresholds)(g, m, waiting, waiting_at, K, &best);
                m = 0;
            }
        }
        NM_LEVEL(compare_thresholds)(g, m, waiting, waiting_at, K, &best);
        m = 0;
    }
    uint8_t below[2 * NMLSDR_THRESHOLDS]; /* the others, of each threshold */
    NM_LEVEL(count_values)(best.thresholds, K, best.thresholds, K, below);
    best.threshold = -INFINITY;
    for (ptrdiff_t k = 0; k < K; k++)
        if (below[k] < best.place && best.thresholds[k] > best.threshold) best.threshold = best.thresholds[k];
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
#undef VFLOAT
#undef VANY
#undef VCHOOSE
#undef AT
