/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of rows and the test that lets candidates through: of two packed blocks, and of a sparse row with a block.
 *
 * A template without include guard: kernels.h includes it once per SIMD level, with
 *   NM_LEVEL(x)   name of x at this level
 *   NM_TARGET     function attribute of the level
 *   G             rows in a packed group: lanes of one vector
 *   V and VXXX    the vector type and its operations
 *   HITS          comparison results gathered over a tile
 *
 * Packed block: groups of G rows, feature by feature, so that column vectors are contiguous and a row's value
 * is a broadcast from the same storage: one copy serves both sides of a product.
 */

/* Let those scores of one row of a tile through that reach the row's threshold or their column's. */
static NM_TARGET void NM_LEVEL(push_passing)(const nmlsdr_pair *p, ptrdiff_t i, ptrdiff_t j, const float *score)
{
    const V t = VSET1(p->ta[i]);
    unsigned long long passed = 0;

    for (int c = 0; c < 3 * G; c += G)
        passed |= (unsigned long long)VMASK(VGE(VLOAD(score + c), VMIN(t, VLOAD(p->tb + j + c)))) << c;
    if (passed) nmlsdr_push_row(p, i, j, passed, score);
}

#define NM_INTEGERS 0
#include "products_pair.h"
#ifdef VI_MADD
#define NM_INTEGERS 1
#include "products_pair.h"
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
