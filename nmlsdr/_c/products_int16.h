/* One pair of packed row blocks of 16-bit integers: products, and the test that lets candidates through.
 *
 * A part of the template products_tile.h, which says what NM_LEVEL, G, V and HITS are.  Of integers there are
 *   VI, VI_LOAD, VI_SET1, VI_FLOAT   a vector of G words of 32 bits, and its conversion to floats
 *   VI_MADD, VI_MADD_FROM            c += y x, where each word of y and x is a pair of 16-bit integers: one instruction
 *                                    makes twice as many products as one on floats; the second reads x from memory
 *
 * A row z = (x - centre) scale is rounded to integers q.  The scale is the largest with |q_i| |q_j| < 2^31, so that every sum
 * of products, in any order and also of a part of the features, fits 32 bits (Cauchy and Schwarz): the products are exact.
 * What the test compares is then
 *   s_ij = <q_i, q_j> - h_i - h_j >= -|q_i - q_j|^2 / 2
 * up to the rounding of three float operations, which h contains as for floats.  Each feature of q differs from that of z by
 * 1/2 at most, so |q_i - q_j| and |z_i - z_j| differ by `slack` = sqrt(d) at most (triangle inequality).  The thresholds
 * contain it (nmlsdr_threshold): no pair is lost, a few more are compared by canonical distances.
 *
 * A tile is 4 rows by 3 vectors as with floats.  Two of the columns are read from memory by the product itself: 12 sums, a
 * column, a row's value and a product fit 16 registers, and a Zen 3, which takes four vector operations a cycle, has two fewer
 * to do than if all three were loaded first (77 instead of 73 products a nanosecond, floats 48).
 */

#define NM_ROW_OF(r) ((const int32_t *)p->za + (r) / G * G * d + k0 * G + (r) % G)
#define NM_ROWS(DO) DO(0) DO(1) DO(2) DO(3)
#define NM_SUM(r, m) (*(VI *)(partial + (r) * NR + (m) * G))
#define NM_SCORE(r, m) (VI_FLOAT(c##r##m) - VLOAD(p->hb + j + m * G) - VSET1(p->ha[i + r]))

static NM_TARGET void NM_LEVEL(int16)(const nmlsdr_pair *p)
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
                const int32_t *a0 = NM_ROW_OF(i), *a1 = NM_ROW_OF(i + 1), *a2 = NM_ROW_OF(i + 2), *a3 = NM_ROW_OF(i + 3);
                for (ptrdiff_t line = 0; line < p->lines; line++, prefetch += 64) NMLSDR_PREFETCH(prefetch);
#define NM_DO(r) VI c##r##0 = {0}, c##r##1 = {0}, c##r##2 = {0};
                NM_ROWS(NM_DO)
#undef NM_DO
#define NM_DO(r) c##r##0 = NM_SUM(r, 0); c##r##1 = NM_SUM(r, 1); c##r##2 = NM_SUM(r, 2);
                if (!first) { NM_ROWS(NM_DO) }
#undef NM_DO
                for (ptrdiff_t k = 0; k < kc; k++) {
                    const VI x = VI_LOAD(b0 + k * G);
                    VI y;
#define NM_DO(r) \
    y = VI_SET1(a##r[k * G]); \
    VI_MADD(c##r##0, y, x); VI_MADD_FROM(c##r##1, y, b1 + k * G); VI_MADD_FROM(c##r##2, y, b2 + k * G);
                    NM_ROWS(NM_DO)
#undef NM_DO
                }
                if (!last) {
#define NM_DO(r) NM_SUM(r, 0) = c##r##0; NM_SUM(r, 1) = c##r##1; NM_SUM(r, 2) = c##r##2;
                    NM_ROWS(NM_DO)
#undef NM_DO
                    continue;
                }
                const V t0 = VLOAD(p->tb + j), t1 = VLOAD(p->tb + j + G), t2 = VLOAD(p->tb + j + 2 * G);
                HITS hits = HITS_NONE;
#define NM_DO(r) { \
    const V t = VSET1(p->ta[i + r]); \
    hits = HITS_OR(hits, VGE(NM_SCORE(r, 0), VMIN(t, t0))); \
    hits = HITS_OR(hits, VGE(NM_SCORE(r, 1), VMIN(t, t1))); \
    hits = HITS_OR(hits, VGE(NM_SCORE(r, 2), VMIN(t, t2))); }
                NM_ROWS(NM_DO)
#undef NM_DO
                if (!HITS_ANY(hits)) continue;
                NM_ALIGNED float s[4 * NR];
#define NM_DO(r) { \
    float *to = s + r * NR; \
    VSTORE(to, NM_SCORE(r, 0)); VSTORE(to + G, NM_SCORE(r, 1)); VSTORE(to + 2 * G, NM_SCORE(r, 2)); }
                NM_ROWS(NM_DO)
#undef NM_DO
                for (int r = 0; r < 4; r++) NM_LEVEL(push_passing)(p, i + r, j, s + r * NR);
            }
        }
    }
}

#undef NM_ROW_OF
#undef NM_ROWS
#undef NM_SUM
#undef NM_SCORE
