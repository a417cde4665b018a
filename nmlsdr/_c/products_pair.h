/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One pair of packed row blocks: all products, and the test that lets candidates through.
 *
 * A part of the template products_tile.h, which includes it with NM_INTEGERS 0 for floats and, at levels where integers are
 * faster, 1 for integers of 16 bits.  Of integers there are
 *   VI                       a vector of G words of 32 bits
 *   VI_MADD, VI_MADD_FROM    c += y x, where each word of y and x is a pair of 16-bit integers: one instruction
 *                            makes twice as many products as one on floats; the second reads x from memory
 *
 * A tile is 4 rows by 3 vectors: 12 accumulators hide the latency of two fused units with 3 loads and 4
 * broadcasts per 12 products.  Floats start at -h_j, so that after subtracting h_i the tile holds the score
 *   s_ij = <z_i, z_j> - h_i - h_j >= -d_ij^2 / 2      (docs/neighbours.md: h carries the error bound)
 * and a pair is of interest if s_ij >= min(t_i, t_j), the thresholds of the row and of the column.
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
 * Products of 8-bit integers before them, of which AVX-512 VNNI makes four times as many as of floats, were removed.  On a
 * Sapphire Rapids, one thread, k = 10, Gaussian, in clusters, near a surface and counts, the time with them over the time
 * without was 1.00 to 1.11 at 5000 x 300, .96 to 1.13 at 20 000 x 100, .83 to .98 at 20 000 x 300, 1.01 to 1.19 at 50 000 x 50, .87 to
 * 1.04 at 50 000 x 100, .75 to .89 at 50 000 x 300.
 *
 * With 16 bits, two of the three columns of a tile are read from memory by the product itself:
 * 12 sums, a column, a row's value and a product fit 16 registers, and a Zen 3, which takes four vector
 * operations a cycle, has two fewer to do than if all three were loaded first (77 instead of 73 products a
 * nanosecond, floats 48).
 */

/* Macros that mean the same for both are defined again and not forgotten. */
#define NM_ROW_OF(r) ((const NM_WORD *)p->za + (r) / G * G * d + k0 * G + (r) % G)
#define NM_ROWS(DO) DO(0) DO(1) DO(2) DO(3)
#define NM_SUM(r, m) (*(NM_V *)(partial + (r) * NR + (m) * G))
#if !NM_INTEGERS
#define NM_NAME NM_LEVEL(products)
#define NM_WORD float
#define NM_V V
#define NM_COLUMNS x = b0[k], x1 = b1[k], x2 = b2[k]
#define NM_START(m) ((V)(VZERO - VLOAD(p->hb + j + (m) * G)))
#define NM_STEP(r) \
    c##r##0 = VFMA(y, x, c##r##0); \
    c##r##1 = VFMA(y, x1, c##r##1); \
    c##r##2 = VFMA(y, x2, c##r##2);
#define NM_SCORE(r, m) (c##r##m - VSET1(p->ha[i + r]))
#else
#define NM_NAME NM_LEVEL(int16)
#define NM_WORD int32_t
#define NM_V VI
#define NM_COLUMNS x = b0[k]
#define NM_SCORE(r, m) (__builtin_convertvector(c##r##m, V) - VLOAD(p->hb + j + m * G) - VSET1(p->ha[i + r]))
#define NM_START(m) ((VI){0})
#define NM_STEP(r) \
    VI_MADD(c##r##0, y, x); \
    VI_MADD_FROM(c##r##1, y, b1 + k); \
    VI_MADD_FROM(c##r##2, y, b2 + k);
#endif

static NM_TARGET void NM_NAME(const nmlsdr_pair *p)
{
    enum { NR = 3 * G };
    const ptrdiff_t d = p->d;

    for (ptrdiff_t k0 = 0; k0 < d; k0 += p->pass) {
        const ptrdiff_t kc = d - k0 < p->pass ? d - k0 : p->pass;
        const int first = k0 == 0, last = k0 + kc == d;
        NM_WORD *partial = (NM_WORD *)p->partial;
        unsigned char *tile = p->tiles - 1;

        for (ptrdiff_t j = 0; j < p->nb; j += NR) {
            const NM_V *b0 = (const NM_V *)p->zb + j / G * d + k0, *b1 = b0 + d, *b2 = b1 + d;
            for (ptrdiff_t i = 0; i < p->na; i += 4, partial += 4 * NR) {
                if (!*++tile) continue; /* its leading coordinates are too far apart (products_packed.h) */
                const NM_WORD *a0 = NM_ROW_OF(i), *a1 = NM_ROW_OF(i + 1), *a2 = NM_ROW_OF(i + 2), *a3 = NM_ROW_OF(i + 3);
                const NM_V none = {0}, start0 = first ? NM_START(0) : none, start1 = first ? NM_START(1) : none,
                           start2 = first ? NM_START(2) : none;
#define NM_BEGIN(r) NM_V c##r##0 = start0, c##r##1 = start1, c##r##2 = start2;
                NM_ROWS(NM_BEGIN)

                for (ptrdiff_t k = 0; k < kc; k++) {
                    const NM_V NM_COLUMNS;
                    NM_V y;
#define NM_MULTIPLY(r) \
    y = a##r[k * G] - (NM_V){0}; \
    NM_STEP(r)
                    NM_ROWS(NM_MULTIPLY)
                }

#define NM_ADD(r) \
    c##r##0 += NM_SUM(r, 0); \
    c##r##1 += NM_SUM(r, 1); \
    c##r##2 += NM_SUM(r, 2);
                if (!first) {
                    NM_ROWS(NM_ADD)
                }
                if (!last) {
#define NM_KEEP(r) \
    NM_SUM(r, 0) = c##r##0; \
    NM_SUM(r, 1) = c##r##1; \
    NM_SUM(r, 2) = c##r##2;
                    NM_ROWS(NM_KEEP)
                    continue;
                }

                const float *tb = p->tb + j;
                const V t0 = VLOAD(tb), t1 = VLOAD(tb + G), t2 = VLOAD(tb + 2 * G);
                HITS hits = {0};
#define NM_TEST(r) \
    { \
        const V t = VSET1(p->ta[i + r]); \
        hits |= VGE(NM_SCORE(r, 0), VMIN(t, t0)); \
        hits |= VGE(NM_SCORE(r, 1), VMIN(t, t1)); \
        hits |= VGE(NM_SCORE(r, 2), VMIN(t, t2)); \
    }
                NM_ROWS(NM_TEST)
#if !NM_INTEGERS
                if (p->marks) *tile = VMASK(hits) != 0;
                if (p->marks) continue;
#endif
                if (!VMASK(hits)) continue;
                NM_ALIGNED float s[4 * NR];
#define NM_PUT(r) \
    { \
        float *to = s + r * NR; \
        VSTORE(to, NM_SCORE(r, 0)); \
        VSTORE(to + G, NM_SCORE(r, 1)); \
        VSTORE(to + 2 * G, NM_SCORE(r, 2)); \
    }
                NM_ROWS(NM_PUT)
                for (int r = 0; r < 4; r++) NM_LEVEL(push_passing)(p, i + r, j, s + r * NR);
            }
        }
    }
}

#undef NM_NAME
#undef NM_WORD
#undef NM_V
#undef NM_START
#undef NM_COLUMNS
#undef NM_STEP
#undef NM_SCORE
#undef NM_INTEGERS
