/* One pair of packed row blocks: products, and the test that lets candidates through.
 *
 * A template without include guard: kernels.h includes it once per SIMD level, with
 *   NM_LEVEL(x)   name of x at this level
 *   NM_TARGET     function attribute of the level
 *   G             rows in a packed group: lanes of one vector
 *   V and VXXX    the vector type and its operations
 *   HITS, HITS_OR, HITS_ANY   comparison results gathered over a tile
 *
 * Packed block: groups of G rows, feature by feature, so that column vectors are contiguous and a row's value
 * is a broadcast from the same storage: one copy serves both sides of a product.
 *
 * A tile is 4 rows by 3 vectors: 12 accumulators hide the latency of two fused units with 3 loads and 4
 * broadcasts per 12 products.  It starts at -h_j, so that after subtracting h_i it holds the score
 *   s_ij = <z_i, z_j> - h_i - h_j >= -d_ij^2 / 2      (docs/neighbours.md: h carries the error bound)
 * and a pair is of interest if s_ij >= min(t_i, t_j), the thresholds of the row and of the column.
 */

#define NM_ROW_OF(r) (p->za + (r) / G * G * d + k0 * G + (r) % G)

/* Let those scores of one row of a tile through that reach the row's threshold or their column's. */
static NM_TARGET void NM_LEVEL(push_passing)(const nmlsdr_pair *p, ptrdiff_t i, ptrdiff_t j,
    const float *score)
{
    const V t = VSET1(p->ta[i]);
    unsigned long long passed = 0;

    for (int c = 0; c < 3; c++)
        passed |= (unsigned long long)VMASK(VGE(VLOAD(score + c * G),
            VMIN(t, VLOAD(p->tb + j + c * G)))) << (c * G);
    if (passed) nmlsdr_push_row(p, i, j, passed, score);
}

static NM_TARGET void NM_LEVEL(products)(const nmlsdr_pair *p)
{
    enum { NR = 3 * G };
    const ptrdiff_t d = p->d;
    const char *prefetch = p->prefetch;

    for (ptrdiff_t k0 = 0; k0 < d; k0 += p->pass) {
        const ptrdiff_t kc = d - k0 < p->pass ? d - k0 : p->pass;
        const int first = k0 == 0, last = k0 + kc == d;
        float *partial = p->partial;
        unsigned char *tile = p->tiles - 1;

        for (ptrdiff_t j = 0; j < p->nb; j += NR) {
            const float *b0 = p->zb + j * d + k0 * G, *b1 = b0 + G * d, *b2 = b1 + G * d;
            for (ptrdiff_t i = 0; i < p->na; i += 4, partial += 4 * NR) {
                if (!*++tile) continue; /* its leading coordinates are too far apart (products_packed.h) */
                const float *a0 = NM_ROW_OF(i), *a1 = NM_ROW_OF(i + 1), *a2 = NM_ROW_OF(i + 2),
                    *a3 = NM_ROW_OF(i + 3);
                for (ptrdiff_t line = 0; line < p->lines; line++, prefetch += 64) NMLSDR_PREFETCH(prefetch);
                V c00, c01, c02, c10, c11, c12, c20, c21, c22, c30, c31, c32;
                if (first) {
                    c00 = c10 = c20 = c30 = VZERO - VLOAD(p->hb + j);
                    c01 = c11 = c21 = c31 = VZERO - VLOAD(p->hb + j + G);
                    c02 = c12 = c22 = c32 = VZERO - VLOAD(p->hb + j + 2 * G);
                } else {
                    c00 = c10 = c20 = c30 = c01 = c11 = c21 = c31 = c02 = c12 = c22 = c32 = VZERO;
                }

                for (ptrdiff_t k = 0; k < kc; k++) {
                    const V x0 = VLOAD(b0 + k * G), x1 = VLOAD(b1 + k * G), x2 = VLOAD(b2 + k * G);
                    V y = VSET1(a0[k * G]);
                    c00 = VFMA(y, x0, c00); c01 = VFMA(y, x1, c01); c02 = VFMA(y, x2, c02);
                    y = VSET1(a1[k * G]);
                    c10 = VFMA(y, x0, c10); c11 = VFMA(y, x1, c11); c12 = VFMA(y, x2, c12);
                    y = VSET1(a2[k * G]);
                    c20 = VFMA(y, x0, c20); c21 = VFMA(y, x1, c21); c22 = VFMA(y, x2, c22);
                    y = VSET1(a3[k * G]);
                    c30 = VFMA(y, x0, c30); c31 = VFMA(y, x1, c31); c32 = VFMA(y, x2, c32);
                }

                if (!first) {
#define NM_ROW(r) \
    c##r##0 = c##r##0 + VLOAD(partial + r * NR); \
    c##r##1 = c##r##1 + VLOAD(partial + r * NR + G); \
    c##r##2 = c##r##2 + VLOAD(partial + r * NR + 2 * G);
                    NM_ROW(0) NM_ROW(1) NM_ROW(2) NM_ROW(3)
#undef NM_ROW
                }
#define NM_ROW(r, to) \
    VSTORE(to + r * NR, c##r##0); VSTORE(to + r * NR + G, c##r##1); VSTORE(to + r * NR + 2 * G, c##r##2);
                if (!last) {
                    NM_ROW(0, partial) NM_ROW(1, partial) NM_ROW(2, partial) NM_ROW(3, partial)
                    continue;
                }

                const V t0 = VLOAD(p->tb + j), t1 = VLOAD(p->tb + j + G), t2 = VLOAD(p->tb + j + 2 * G);
                HITS hits = HITS_NONE;
#define NM_TEST(r) { \
    const V h = VSET1(p->ha[i + r]), t = VSET1(p->ta[i + r]); \
    c##r##0 = c##r##0 - h; c##r##1 = c##r##1 - h; c##r##2 = c##r##2 - h; \
    hits = HITS_OR(hits, VGE(c##r##0, VMIN(t, t0))); \
    hits = HITS_OR(hits, VGE(c##r##1, VMIN(t, t1))); \
    hits = HITS_OR(hits, VGE(c##r##2, VMIN(t, t2))); }
                NM_TEST(0) NM_TEST(1) NM_TEST(2) NM_TEST(3)
#undef NM_TEST
                if (p->marks) *tile = HITS_ANY(hits) != 0;
                if (p->marks || !HITS_ANY(hits)) continue;
                NM_ALIGNED float s[4 * NR];
                NM_ROW(0, s) NM_ROW(1, s) NM_ROW(2, s) NM_ROW(3, s)
#undef NM_ROW
                for (int r = 0; r < 4; r++) NM_LEVEL(push_passing)(p, i + r, j, s + r * NR);
            }
        }
    }
}

#undef NM_ROW_OF

#ifdef VI_MADD
#define NM_BYTES 0
#include "products_integers.h"
#undef NM_BYTES
#endif
#ifdef VI_DOT
#define NM_BYTES 1
#include "products_integers.h"
#undef NM_BYTES
#endif

/* The same test on one row of sparse products.  row->sums[j] holds -h_j and the products by postings; here
 * come the products by columns, value[m] times column slot[m] of each strip.  A strip is 8 vectors: 8 sums
 * in registers hide the latency of two fused units.  sums[j] is set back to -h_j for the next row. */
static NM_TARGET void NM_LEVEL(sweep)(const nmlsdr_pair *p, ptrdiff_t i, const nmlsdr_sparse_row *row)
{
    enum { STRIP = 8 * G };
    const V h = VSET1(p->ha[i]);
    const float *columns = p->zb;
    float *sums = row->sums;
    const ptrdiff_t n_columns = row->n_columns;
    for (ptrdiff_t j = 0; j < p->nb; j += STRIP, columns += p->d * STRIP) {
        V s[8];

        for (int c = 0; c < 8; c++) s[c] = VLOAD(sums + j + c * G);
        for (ptrdiff_t m = 0; m < n_columns; m++) {
            const V w = VSET1(row->value[m]);
            const float *z = columns + (ptrdiff_t)row->slot[m] * STRIP;

            for (int c = 0; c < 8; c++) s[c] = VFMA(w, VLOAD(z + c * G), s[c]);
        }

        for (int half = 0; half < 8; half += 4) {
            const V t = VSET1(p->ta[i]); /* the half before may have raised it */
            unsigned long long passed = 0;

            for (int c = 0; c < 4; c++) {
                const ptrdiff_t to = j + (half + c) * G;
                VSTORE(sums + to, VZERO - VLOAD(p->hb + to));
                s[half + c] = s[half + c] - h;
                passed |= (unsigned long long)VMASK(VGE(s[half + c], VMIN(t, VLOAD(p->tb + to)))) << (c * G);
            }

            if (!passed) continue;
            NM_ALIGNED float score[4 * G];

            for (int c = 0; c < 4; c++) VSTORE(score + c * G, s[half + c]);
            nmlsdr_push_row(p, i, j + half * G, passed, score);
        }
    }
}
