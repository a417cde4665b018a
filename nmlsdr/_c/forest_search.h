/* The best split of a node of a tree.
 *
 * A template: forest.h includes it once per level, with
 *   LANES  features that are compared at once     LEVEL  name of the level
 *   NM_TARGET  attribute of its functions
 *
 * With one threshold for each feature, a lane is a feature: the sums over the rows that go to the left are products of a mask
 * with pairs of 16-bit numbers, two rows in one instruction.  With several thresholds, rows are counted in bins between the
 * thresholds, and the sums of the bins added up.  (A lane for each threshold, with the masks of the first way, was measured
 * 2 to 4 times slower.)
 */
#define V NM_LEVEL(floats)
#define VI NM_LEVEL(integers)
#define VD NM_LEVEL(doubles)
#define VL NM_LEVEL(labels)
#define HALVES (LANES > 1 ? 2 : 1)

/* VLE: -1 where x <= y, else 0.  PAIR: the lower half of one, the upper half of the other.  ADD_PAIRS: sum + the products of the
 * halves of mask and of two numbers from 0.  WIDE: half h of integers, as float64. */
#if LANES == 1
typedef float V;
typedef int32_t VI, VL;
typedef double VD;
#define VLE(x, y) (-(int32_t)((x) <= (y)))
#define VMIN(x, y) ((x) < (y) ? (x) : (y))
#define VMAX(x, y) ((x) > (y) ? (x) : (y))
#define PAIR(x, y) (((x) & 0xffff) | ((y) & (int32_t)0xffff0000))
#define ADD_PAIRS(sum, mask, z) ((sum) - ((mask) & (z) & 0xffff) - (((mask) & (z)) >> 16))
#define WIDE(s, h) ((double)(s))
#else
typedef float V __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t VI __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t VL __attribute__((vector_size(32), aligned(4), may_alias));
typedef double VD __attribute__((vector_size(4 * LANES), aligned(8), may_alias));
#endif
#if LANES == 8
#define VLE(x, y) ((VI)_mm256_cmp_ps((__m256)(x), (__m256)(y), _CMP_LE_OQ))
#define VMIN(x, y) ((V)_mm256_min_ps((__m256)(x), (__m256)(y)))
#define VMAX(x, y) ((V)_mm256_max_ps((__m256)(x), (__m256)(y)))
#define PAIR(x, y) ((VI)_mm256_blend_epi16((__m256i)(x), (__m256i)(y), 0xaa))
#define ADD_PAIRS(sum, mask, z) ((sum) + (VI)_mm256_madd_epi16((__m256i)(mask), _mm256_set1_epi32(z)))
#define WIDE(s, h) \
    ((VD)_mm256_cvtepi32_pd((h) ? _mm256_extracti128_si256((__m256i)(s), 1) : _mm256_castsi256_si128((__m256i)(s))))
#elif LANES == 16
#define VLE(x, y) ((VI)_mm512_movm_epi32(_mm512_cmp_ps_mask((__m512)(x), (__m512)(y), _CMP_LE_OQ)))
#define VMIN(x, y) ((V)_mm512_min_ps((__m512)(x), (__m512)(y)))
#define VMAX(x, y) ((V)_mm512_max_ps((__m512)(x), (__m512)(y)))
#define PAIR(x, y) ((VI)_mm512_mask_blend_epi16(0xaaaaaaaa, (__m512i)(x), (__m512i)(y)))
#define ADD_PAIRS(sum, mask, z) ((sum) + (VI)_mm512_madd_epi16((__m512i)(mask), _mm512_set1_epi32(z)))
#define WIDE(s, h) \
    ((VD)_mm512_cvtepi32_pd((h) ? _mm512_extracti64x4_epi64((__m512i)(s), 1) : _mm512_castsi512_si256((__m512i)(s))))
#endif
#define AT(type, p) (*(type *)(p))


/* Sums of K columns over the rows whose value does not exceed the threshold of the lane; negative. */
NM_TARGET static inline NM_INLINE void NM_LEVEL(sums)(
    const float *x, const int32_t *pairs, ptrdiff_t n, V at, const int K, VI *sum)
{
    UNROLL for (int k = 0; k < K; k++) sum[k] = (VI){0};
    for (ptrdiff_t i = 0; i < n; i += 2, pairs += K) {
        const VI one = VLE(AT(const V, x + LANES * i), at), two = VLE(AT(const V, x + LANES * (i + 1)), at);
        const VI mask = PAIR(one, two);
        UNROLL for (int k = 0; k < K; k++) sum[k] = ADD_PAIRS(sum[k], mask, pairs[k]);
    }
}

/* Compare `m` features, at most LANES, that have one threshold each. */
NM_TARGET static void NM_LEVEL(compare)(const nmlsdr_grower *g, const int32_t *column, ptrdiff_t m, V at, nmlsdr_split *best)
{
    const ptrdiff_t n = g->n;
    float *x = g->x;
    VI sum[8], n_left = (VI){0}, draws = (VI){0};
    VD squares[HALVES], products[HALVES];

    if (column[m - 1] == column[0] + m - 1)
        for (ptrdiff_t i = 0; i < n; i++)
            AT(V, x + LANES * i) = AT(const V, g->X + g->rows[i] * g->width + column[0]);
    else
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j < m; j++) x[LANES * i + j] = g->X[g->rows[i] * g->width + column[j]];

    for (int h = 0; h < HALVES; h++) squares[h] = products[h] = (VD){0};
    for (ptrdiff_t c = 0; c < g->n_sums; c += 8) {
        const int32_t *pairs = g->pairs + c * ((n + 1) / 2);
        const int K = c + 8 <= g->n_sums ? 8 : 4;
        if (K == 8) NM_LEVEL(sums)(x, pairs, n, at, 8, sum);
        else NM_LEVEL(sums)(x, pairs, n, at, 4, sum);
        if (c == 0) {
            n_left = -sum[0];
            draws = -sum[1];
        }
        for (int k = c ? 0 : 2; k < K; k++)
            for (int h = 0; h < HALVES; h++) {
                const VD s = WIDE(sum[k], h);
                squares[h] += s * s;
                products[h] -= g->labels[c + k] * s;
            }
    }

    double score[LANES];
    int32_t rows[LANES];
    memcpy(rows, &n_left, sizeof rows);
    for (int h = 0; h < HALVES; h++) { /* |S_L|^2 / w_L + |S_R|^2 / w_R; where a side has no rows, anything */
        const VD left = WIDE(draws, h);
        AT(VD, score + LANES / HALVES * h) =
            squares[h] / left + (g->squared - 2.0 * products[h] + squares[h]) / (g->total[1] - left);
    }
    for (ptrdiff_t j = 0; j < m; j++)
        if (score[j] > best->score && rows[j] >= g->leaf && n - rows[j] >= g->leaf) {
            best->score = score[j];
            best->column = column[j];
            memcpy(&best->threshold, (float *)&at + j, sizeof(float));
        }
}

/* Compare the thresholds of one feature: values of the node's rows, all of them in a small node. */
NM_TARGET static void NM_LEVEL(compare_several)(const nmlsdr_grower *g, int32_t column, uint32_t random, nmlsdr_split *best)
{
    const ptrdiff_t n = g->n, n_sums = g->n_sums, width = g->n_padded;
    const ptrdiff_t K = n < NMLSDR_THRESHOLDS ? n : NMLSDR_THRESHOLDS;
    float *x = g->x, cut[NMLSDR_THRESHOLDS];
    int32_t *bin = g->bin, *bins = g->bins, found = 0;

    for (ptrdiff_t i = 0; i < n; i++) x[i] = g->X[g->rows[i] * g->width + column];
    for (ptrdiff_t i = n; i % LANES; i++) x[i] = 0.0f;
    for (ptrdiff_t k = 0; k < K; k++)
        cut[k] = x[n == K ? k : (k * n + nmlsdr_number_below((uint64_t)random << 32, n)) / K];
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const V values = AT(const V, x + i);
        VI count = (VI){0};
        for (ptrdiff_t k = 0; k < K; k++) count -= VLE(values, cut[k] - (V){0});
        AT(VI, bin + i) = count;
    }

    enum { G = sizeof(VL) / 4 };
    memset(bins, 0, (size_t)((K + 1) * width) * sizeof *bins);
    for (ptrdiff_t i = 0; i < n; i++) {
        int32_t *to = bins + bin[i] * width;
        const int32_t *z = g->Z + g->rows[i] * width;
        for (ptrdiff_t c = 0; c < n_sums; c += G) AT(VL, to + c) += AT(const VL, z + c);
    }

    for (ptrdiff_t k = K; k > 0; k--) { /* bin k becomes the sums of the rows on the left */
        int32_t *sum = bins + k * width;
        const int32_t more = sum[0];
        if (k < K)
            for (ptrdiff_t c = 0; c < n_sums; c += G) AT(VL, sum + c) += AT(const VL, sum + width + c);
        if (n - sum[0] < g->leaf) break;
        if (!more || sum[0] < g->leaf) continue;
        double squares[4] = {0}, products[4] = {0};
        for (ptrdiff_t c = 0; c < n_sums; c += 4)
            for (int j = 0; j < 4; j++) {
                const double s = sum[c + j];
                squares[j] += s * s;
                products[j] += g->labels[c + j] * s;
            }
        const double rows = sum[0], left = sum[1];
        const double on_left = (squares[0] + squares[1]) + (squares[2] + squares[3]) - rows * rows - left * left;
        const double both = (products[0] + products[1]) + (products[2] + products[3]);
        const double score = on_left / left + (g->squared - 2.0 * both + on_left) / (g->total[1] - left);
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
NM_TARGET static nmlsdr_split NM_LEVEL(search)(const nmlsdr_grower *g, const nmlsdr_kind *kind)
{
    nmlsdr_split best = {-1.0, -1, 0.0f};
    const ptrdiff_t D = g->n_columns;
    const uint32_t salt = (uint32_t)g->key;
    ptrdiff_t p = nmlsdr_number_below(g->key, D), looked = 0;
    uint32_t number = 0;

    while (looked < D && best.column < 0) {
        const ptrdiff_t end = looked + 2 * (ptrdiff_t)kind->tried;
        ptrdiff_t m = 0;
        while (m < kind->tried && looked < D && (looked < end || m == 0)) {
            V low = AT(const V, g->X + g->rows[0] * g->width + p), high = low;
            for (ptrdiff_t i = 1; i < g->n; i++) {
                const V x = AT(const V, g->X + g->rows[i] * g->width + p);
                low = VMIN(x, low);
                high = VMAX(x, high);
            }
            float least[LANES], most[LANES];
            memcpy(least, &low, sizeof low);
            memcpy(most, &high, sizeof high);
            ptrdiff_t j = 0;
            for (; j < LANES && m < kind->tried && looked < D && (looked < end || m == 0); j++, looked++)
                if (least[j] < most[j]) {
                    g->candidates[m] = (int32_t)((p + j) % D);
                    g->low[m] = least[j];
                    g->high[m++] = most[j];
                }
            p = (p + j) % D;
        }

        if (kind->several)
            for (ptrdiff_t i = 0; i < m; i++)
                NM_LEVEL(compare_several)(g, g->candidates[i], nmlsdr_hash(salt + number + (uint32_t)i), &best);
        else {
            for (ptrdiff_t i = 0; i < m; i++) {
                const float share = (float)(int32_t)(nmlsdr_hash(salt + number + (uint32_t)i) >> 8) * 0x1p-24f;
                const float at = g->low[i] + (g->high[i] - g->low[i]) * share;
                g->at[i] = at < g->high[i] ? at : g->low[i];
            }
            for (ptrdiff_t i = 0; i < m; i += LANES)
                NM_LEVEL(compare)(g, g->candidates + i, m - i < LANES ? m - i : LANES, AT(const V, g->at + i), &best);
        }
        number += (uint32_t)m;
    }
    return best;
}

#undef LANES
#undef LEVEL
#undef NM_TARGET
#undef V
#undef VI
#undef VD
#undef VL
#undef HALVES
#undef VLE
#undef VMIN
#undef VMAX
#undef PAIR
#undef ADD_PAIRS
#undef WIDE
#undef AT
