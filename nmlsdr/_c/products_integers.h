/* One pair of packed row blocks of integers: products, and the test that lets candidates through.
 *
 * A part of the template products_tile.h, which says what NM_LEVEL, G, V and HITS are; levels where integers are faster
 * than floats include it for 16-bit integers and, with NM_BYTES 1, for 8-bit ones.  Of integers there are
 *   VI, VI_LOAD, VI_SET1, VI_FLOAT   a vector of G words of 32 bits, and its conversion to floats
 *   VI_MADD, VI_MADD_FROM            c += y x, where each word of y and x is a pair of 16-bit integers: one
 *                                    instruction makes twice as many products as one on floats; the second
 *                                    reads x from memory
 * and at levels that have 8-bit ones
 *   VI_DOT, VI_FLIP, VI_SUM          c += y x, where each word of y is four bytes without sign and each of x
 *                                    four with sign; the sign bit of each byte changed, which adds 128 to
 *                                    it; the sum of the words of two vectors
 *
 * 16 bits.  A row z = (x - centre) scale is rounded to integers q.  The scale is the largest with |q_i|
 * |q_j| < 2^31, so that every sum of products, in any order and also of a part of the features, fits 32
 * bits (Cauchy and Schwarz): the products are exact.  What the test compares is then
 *   s_ij = <q_i, q_j> - h_i - h_j >= -|q_i - q_j|^2 / 2
 * up to the rounding of three float operations, which h contains as for floats.  Each feature of q differs
 * from that of z by 1/2 at most, so |q_i - q_j| and |z_i - z_j| differ by `slack` = sqrt(d) at most
 * (triangle inequality).  The thresholds contain it (nmlsdr_threshold): no pair is lost, a few more are
 * compared by canonical distances.
 *
 * 8 bits.  q is rounded once more, to p = ratio q, |p| <= 127 for each feature, and r = max |q_i - p_i /
 * ratio| is measured (products_scale.h).  By the triangle inequality |p_i - p_j| <= ratio (|q_i - q_j| + 2
 * r), so all pairs that could reach a threshold t of 16 bits reach
 *   coarse_t = -(ratio (sqrt(-2 t) + 2 r))^2 / 2
 * by the products of p, of which one instruction makes four times as many as of floats.  Of the few pairs
 * that pass, the products of 16 bits are made one by one, and go on as they do without 8 bits.  One side
 * of a product has no sign: it is p + 128, and the sums start at -128 sum(p_j).  They are exact modulo
 * 2^32, and in the end below 2^31 (d <= 2^16).
 *
 * A tile is 4 rows by 3 vectors as with floats.  With 16 bits, two of the columns are read from memory by
 * the product itself:
 * 12 sums, a column, a row's value and a product fit 16 registers, and a Zen 3, which takes four vector
 * operations a cycle, has two fewer to do than if all three were loaded first (77 instead of 73 products a
 * nanosecond, floats 48).
 */

#define NM_ROW_OF(r) ((const int32_t *)p->za + (r) / G * G * d + k0 * G + (r) % G)
#define NM_ROWS(DO) DO(0) DO(1) DO(2) DO(3)
#define NM_SUM(r, m) (*(VI *)(partial + (r) * NR + (m) * G))
#if NM_BYTES
#define NM_NAME(x) NM_LEVEL(x##8)
#define NM_H(side) p->coarse_h##side
#define NM_T(side) p->coarse_t##side
#define NM_START(m) VI_LOAD(p->start + j + (m) * G)
#define NM_VALUE(at) VI_FLIP(VI_SET1(*(at)))
#define NM_STEP(r) VI_DOT(c##r##0, y, x); VI_DOT(c##r##1, y, x1); VI_DOT(c##r##2, y, x2);

/* Let those pairs of row i through whose products of 16 bits reach the row's threshold or their column's. */
static NM_TARGET void NM_LEVEL(check_passing)(const nmlsdr_pair *p, ptrdiff_t i, ptrdiff_t j,
    unsigned long long passed)
{
    const ptrdiff_t words = p->checked;
    const int32_t *a = p->rows_a + i * words;
    unsigned long long left = 0;
    float score[3 * G];

    for (; passed; passed &= passed - 1, p->a.scratch->checked++) {
        const int c = nmlsdr_lowest_bit(passed);
        const int32_t *b = p->rows_b + (j + c) * words;
        VI even = {0}, odd = {0};

        for (ptrdiff_t w = 0; w < words; w += 2 * G) {
            VI_MADD(even, VI_LOAD(a + w), VI_LOAD(b + w));
            VI_MADD(odd, VI_LOAD(a + w + G), VI_LOAD(b + w + G));
        }

        score[c] = (float)VI_SUM(even, odd) - p->hb[j + c] - p->ha[i];
        const float t = p->ta[i] < p->tb[j + c] ? p->ta[i] : p->tb[j + c];
        left |= (unsigned long long)(score[c] >= t) << c;
    }

    if (left) nmlsdr_push_row(p, i, j, left, score);
}
#else
#define NM_NAME(x) NM_LEVEL(x##16)
#define NM_H(side) p->h##side
#define NM_T(side) p->t##side
#define NM_START(m) ((VI){0})
#define NM_VALUE(at) VI_SET1(*(at))
#define NM_STEP(r) \
    VI_MADD(c##r##0, y, x); VI_MADD_FROM(c##r##1, y, b1 + k * G); VI_MADD_FROM(c##r##2, y, b2 + k * G);
#endif
#define NM_SCORE(r, m) (VI_FLOAT(c##r##m) - VLOAD(NM_H(b) + j + m * G) - VSET1(NM_H(a)[i + r]))

static NM_TARGET void NM_NAME(int)(const nmlsdr_pair *p)
{
    enum { NR = 3 * G };
    const ptrdiff_t d = p->d;
    const char *prefetch = p->prefetch;

    for (ptrdiff_t k0 = 0; k0 < d; k0 += p->pass) {
        const ptrdiff_t kc = d - k0 < p->pass ? d - k0 : p->pass;
        const int first = k0 == 0, last = k0 + kc == d;
        int32_t *partial = (int32_t *)p->partial;
        const unsigned char *tile = p->tiles - 1;

        for (ptrdiff_t j = 0; j < p->nb; j += NR) {
            const int32_t *b0 = (const int32_t *)p->zb + j * d + k0 * G, *b1 = b0 + G * d, *b2 = b1 + G * d;
            for (ptrdiff_t i = 0; i < p->na; i += 4, partial += 4 * NR) {
                if (!*++tile) continue; /* its leading coordinates are too far apart (products_packed.h) */
                const int32_t *a0 = NM_ROW_OF(i), *a1 = NM_ROW_OF(i + 1), *a2 = NM_ROW_OF(i + 2),
                    *a3 = NM_ROW_OF(i + 3);
                for (ptrdiff_t line = 0; line < p->lines; line++, prefetch += 64) NMLSDR_PREFETCH(prefetch);
#define NM_DO(r) VI c##r##0 = NM_START(0), c##r##1 = NM_START(1), c##r##2 = NM_START(2);
                NM_ROWS(NM_DO)
#undef NM_DO
#define NM_DO(r) c##r##0 = NM_SUM(r, 0); c##r##1 = NM_SUM(r, 1); c##r##2 = NM_SUM(r, 2);
                if (!first) { NM_ROWS(NM_DO) }
#undef NM_DO
                for (ptrdiff_t k = 0; k < kc; k++) {
                    const VI x = VI_LOAD(b0 + k * G);
#if NM_BYTES
                    const VI x1 = VI_LOAD(b1 + k * G), x2 = VI_LOAD(b2 + k * G);
#endif
                    VI y;
#define NM_DO(r) y = NM_VALUE(a##r + k * G); NM_STEP(r)
                    NM_ROWS(NM_DO)
#undef NM_DO
                }

                if (!last) {
#define NM_DO(r) NM_SUM(r, 0) = c##r##0; NM_SUM(r, 1) = c##r##1; NM_SUM(r, 2) = c##r##2;
                    NM_ROWS(NM_DO)
#undef NM_DO
                    continue;
                }

                const V t0 = VLOAD(NM_T(b) + j), t1 = VLOAD(NM_T(b) + j + G), t2 = VLOAD(NM_T(b) + j + 2 * G);
                HITS hits = HITS_NONE;
#define NM_DO(r) { \
    const V t = VSET1(NM_T(a)[i + r]); \
    hits = HITS_OR(hits, VGE(NM_SCORE(r, 0), VMIN(t, t0))); \
    hits = HITS_OR(hits, VGE(NM_SCORE(r, 1), VMIN(t, t1))); \
    hits = HITS_OR(hits, VGE(NM_SCORE(r, 2), VMIN(t, t2))); }
                NM_ROWS(NM_DO)
#undef NM_DO
                if (!HITS_ANY(hits)) continue;
#if NM_BYTES
#define NM_DO(r) { \
    const V t = VSET1(NM_T(a)[i + r]); \
    const unsigned long long passed = (unsigned long long)VMASK(VGE(NM_SCORE(r, 0), VMIN(t, t0))) \
        | (unsigned long long)VMASK(VGE(NM_SCORE(r, 1), VMIN(t, t1))) << G \
        | (unsigned long long)VMASK(VGE(NM_SCORE(r, 2), VMIN(t, t2))) << 2 * G; \
    if (passed) NM_LEVEL(check_passing)(p, i + r, j, passed); }
                NM_ROWS(NM_DO)
#undef NM_DO
#else
                NM_ALIGNED float s[4 * NR];
#define NM_DO(r) { \
    float *to = s + r * NR; \
    VSTORE(to, NM_SCORE(r, 0)); VSTORE(to + G, NM_SCORE(r, 1)); VSTORE(to + 2 * G, NM_SCORE(r, 2)); }
                NM_ROWS(NM_DO)
#undef NM_DO
                for (int r = 0; r < 4; r++) NM_LEVEL(push_passing)(p, i + r, j, s + r * NR);
#endif
            }
        }
    }
}

#undef NM_ROW_OF
#undef NM_ROWS
#undef NM_SUM
#undef NM_SCORE
#undef NM_NAME
#undef NM_H
#undef NM_T
#undef NM_START
#undef NM_VALUE
#undef NM_STEP
