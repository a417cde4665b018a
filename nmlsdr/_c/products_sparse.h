/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of sparse rows: a block's columns and postings, the rows' bounds, and a pair of blocks.
 *
 * What becomes a column is decided in products_storage.h.
 *
 * Measured for tmc2007-500 (21 519 rows, 500 features, 22.6 entries a row) on one thread of a Zen 5: .73 s
 * by postings alone, .31 s with the 101 most frequent features as columns (.27 s with AVX-512).  Four rows
 * at a time, so that a strip of columns is read from the first-level cache, gained 5 % and is not done.
 */
#ifndef NMLSDR_PRODUCTS_SPARSE_H
#define NMLSDR_PRODUCTS_SPARSE_H

#include "kernels.h"
#include "products_packed.h"

/* The postings of block J of sparse rows: for each rare feature, the rows that have it; the frequent
 * features as columns. */
static void nmlsdr_post(nmlsdr_search *q, ptrdiff_t J)
{
    const nmlsdr_storage *stored = &q->storage;
    const nmlsdr_rows *x = &q->rows->rows;
    const ptrdiff_t first = J * stored->block, end = first + stored->block < x->n ? first + stored->block : x->n;
    const ptrdiff_t base = nmlsdr_row_pointer(x, first), strip = 8 * q->kernels->lanes;
    int32_t *at = stored->posting_ptr + J * (q->d + 2) + 1; /* at[f]: next free place of feature f */
    float *columns = stored->columns + first * stored->frequent;

    memset(at - 1, 0, (size_t)(q->d + 2) * sizeof(int32_t));

    for (ptrdiff_t p = base; p < nmlsdr_row_pointer(x, end); p++) {
        const ptrdiff_t f = x->indices[p];
        if (stored->slot[f] < 0) at[f + 1]++;
    }

    for (ptrdiff_t f = 0; f < q->d; f++) at[f + 1] += at[f];

    memset(columns, 0, (size_t)(stored->block * stored->frequent) * sizeof(float));

    for (ptrdiff_t r = 0; r < end - first; r++)
        for (ptrdiff_t p = nmlsdr_row_pointer(x, first + r); p < nmlsdr_row_pointer(x, first + r + 1); p++) {
            const ptrdiff_t f = x->indices[p];
            const float value = (float)(nmlsdr_entry_value(x, p) * q->scaling.scale);

            if (stored->slot[f] < 0) {
                const ptrdiff_t to = base + at[f]++;
                stored->posting_row[to] = (int32_t)r;
                stored->posting_value[to] = value;
            } else {
                columns[(r / strip * stored->frequent + stored->slot[f]) * strip + r % strip] = value;
            }
        }
}

/* h and e of sparse rows. */
static void nmlsdr_measure(const nmlsdr_search *q, nmlsdr_side *s)
{
    for (ptrdiff_t i = 0; i < s->rows.n; i++) {
        double square = 0;

        for (ptrdiff_t p = nmlsdr_row_pointer(&s->rows, i); p < nmlsdr_row_pointer(&s->rows, i + 1); p++) {
            const double y = (float)(nmlsdr_entry_value(&s->rows, p) * q->scaling.scale);
            square += y * y;
        }

        nmlsdr_bounds(q, square, s->h + i, s->e + i);
        nmlsdr_mask_row(q, s, i, i);
    }
}

/* All pairs of sparse block I of the queries with block J of the rows: products by postings. */
static void nmlsdr_run_sparse(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, nmlsdr_scratch *w)
{
    const nmlsdr_storage *stored = &q->storage;
    const nmlsdr_rows *x = &q->queries->rows;
    nmlsdr_pair p = nmlsdr_pair_of(q, I, J, w);
    float *sums = p.partial, *value_of = sums + stored->block;
    const ptrdiff_t base = nmlsdr_row_pointer(&q->rows->rows, p.first_b);
    const int32_t *ptr = stored->posting_ptr + J * (q->d + 2), *row = stored->posting_row + base;
    const float *value = stored->posting_value + base;
    p.zb = stored->columns + p.first_b * stored->frequent;
    p.d = stored->frequent;

    for (ptrdiff_t j = 0; j < stored->block; j++) sums[j] = -p.hb[j];
    for (ptrdiff_t i = 0; i < p.na; i++) {
        const ptrdiff_t end = nmlsdr_row_pointer(x, p.first_a + i + 1);
        ptrdiff_t m = 0;

        for (ptrdiff_t e = nmlsdr_row_pointer(x, p.first_a + i); e < end; e++) {
            const ptrdiff_t f = x->indices[e];
            const float y = (float)(nmlsdr_entry_value(x, e) * q->scaling.scale);
            if (stored->slot[f] >= 0) {
                value_of[m] = y;
                w->slots[m++] = stored->slot[f];
                continue;
            }

            for (int32_t at = ptr[f], last = ptr[f + 1]; at < last; at++) sums[row[at]] += y * value[at];
        }

        const nmlsdr_sparse_row row_of = {sums, value_of, w->slots, m};
        q->kernels->sweep(&p, i, &row_of);
    }
}

#endif
