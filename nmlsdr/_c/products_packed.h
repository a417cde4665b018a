/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of packed blocks: packing rows with their bounds, leading coordinates, and a pair of blocks.
 */
#ifndef NMLSDR_PRODUCTS_PACKED_H
#define NMLSDR_PRODUCTS_PACKED_H

#include "kernels.h"
#include "products_storage.h"

/* Round a row to floats, or to integers of which a word holds two, the words `lanes` apart; its squared norm, which is exact for
 * integers. */
static double nmlsdr_pack_row(const nmlsdr_search *q, const nmlsdr_rows *x, ptrdiff_t row, int32_t *to, ptrdiff_t words,
                              ptrdiff_t lanes)
{
    const ptrdiff_t begin = nmlsdr_row_pointer(x, row), end = nmlsdr_row_pointer(x, row + 1);
    const int integers = q->storage.integers;
    double square[4] = {0, 0, 0, 0};

    for (ptrdiff_t w = 0; w < words; w++) to[w * lanes] = 0;
    for (ptrdiff_t p = begin; p < end; p++) {
        const ptrdiff_t j = x->indptr ? x->indices[p] : p - begin;
        const double scaled = nmlsdr_scaled(q, x, p, j), y = integers ? nmlsdr_rounded(scaled) : (float)scaled;
        if (integers) to[j / 2 * lanes] |= (int32_t)((uint32_t)(uint16_t)(int16_t)y << (j & 1) * 16);
        else ((float *)to)[j * lanes] = (float)y;
        square[j & 3] += y * y;
    }

    return (square[0] + square[1]) + (square[2] + square[3]);
}

/* Rows in whole tiles. */
static inline ptrdiff_t nmlsdr_tiled(ptrdiff_t n)
{
    return (n + 3) / 4 * 4;
}

/* Pack one block of rows, with their bounds.  Of queries, which are the
 * rows of tiles only, none past the last tile is read. */
static void nmlsdr_pack(const nmlsdr_search *q, nmlsdr_side *s, ptrdiff_t block, float *z)
{
    const ptrdiff_t words = q->storage.words, lanes = q->kernels->lanes;
    const ptrdiff_t first = block * NMLSDR_BLOCK, tiled = nmlsdr_tiled(s->rows.n - first);
    const ptrdiff_t filled = s == q->rows || tiled > NMLSDR_BLOCK ? NMLSDR_BLOCK : tiled;
    for (ptrdiff_t r = 0; r < filled; r++) {
        const ptrdiff_t at = first + r;
        float *to = z + r / lanes * lanes * words + r % lanes;

        if (at >= s->rows.n) {
            for (ptrdiff_t w = 0; w < words; w++) to[w * lanes] = 0;
            continue;
        }

        const ptrdiff_t row = s->order ? s->order[at] : at;
        nmlsdr_bounds(q, nmlsdr_pack_row(q, &s->rows, row, (int32_t *)to, words, lanes), &s->h[at], &s->e[at]);
        nmlsdr_mask_row(q, s, at, row);
    }
}

/* Blocks first .. end - 1 of one side, one after the other. */
static void nmlsdr_pack_blocks(const nmlsdr_search *q, nmlsdr_side *s, ptrdiff_t first, ptrdiff_t end, float *z)
{
    ptrdiff_t block;

    NMLSDR_OMP(parallel for num_threads(q->n_threads) schedule(dynamic, 1))
    for (block = first; block < end; block++) nmlsdr_pack(q, s, block, z + (block - first) * NMLSDR_BLOCK * q->storage.words);
}

/* The leading coordinates of one block.  Their share of the error covers what was rounded on the way to
 * them, which is relative to the whole row: its squared norm comes with them. */
static void nmlsdr_pack_lead(const nmlsdr_search *q, nmlsdr_side *s, ptrdiff_t block)
{
    const ptrdiff_t d = q->tuning.lead_d, lanes = q->kernels->lanes, first = block * NMLSDR_BLOCK;
    const double scale = q->scaling.scale, terms = ((double)d + 17.0) * 0x1p-24;
    const double relative = terms / (1 - terms) + (double)(q->d + 64) * (double)(d + 1) * 0x1p-52;
    const double absolute = q->scaling.absolute + (double)(d + 8) * 0x1p-118;

    for (ptrdiff_t r = 0; r < NMLSDR_BLOCK; r++) {
        float *to = s->lead_z + first * d + r / lanes * lanes * d + r % lanes;
        const ptrdiff_t row = s->order && first + r < s->rows.n ? s->order[first + r] : first + r;
        const double *lead = row < s->rows.n ? s->lead + row * (d + 1) : NULL;
        double square = 0;

        /* Around the mean of equal rows of 1e100 they are what its rounding leaves, 1e84, where the rows themselves,
         * centred at one of them, are 0 and need no scale: such rows are never ruled out, and those past the end always. */
        if (!lead || !(lead[d] * scale * scale < 0x1p122)) {
            for (ptrdiff_t j = 0; j < d; j++) to[j * lanes] = 0;
            s->lead_h[first + r] = lead ? -INFINITY : INFINITY;
            continue;
        }

        for (ptrdiff_t j = 0; j < d; j++) {
            const float y = (float)(lead[j] * scale);
            to[j * lanes] = y;
            square += (double)y * (double)y;
        }

        s->lead_h[first + r] = nmlsdr_below(square * 0.5 - (relative * (lead[d] * scale * scale) + absolute));
    }
}

/* Block I of the queries and block J of the rows, without their packed rows. */
static nmlsdr_pair nmlsdr_pair_of(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, nmlsdr_scratch *w)
{
    nmlsdr_side *a = q->queries, *b = q->rows;
    const ptrdiff_t block = q->storage.block, i = I * block, j = J * block;
    w->pairs++;

    nmlsdr_pair p = {NULL};
    p.ha = a->h + i;
    p.hb = b->h + j;
    p.ta = a->t + i;
    p.tb = q->symmetric && I != J ? b->t + j : q->infinite_thresholds;
    p.partial = w->partial;
    p.tiles = w->tile;
    p.na = a->rows.n - i < block ? a->rows.n - i : block;
    p.nb = b->rows.n - j < block ? b->rows.n - j : block;
    p.d = q->storage.words;
    p.pass = q->tuning.pass;
    p.first_a = i;
    p.first_b = j;
    p.a = (nmlsdr_collector){q, a, b, w};
    p.b = (nmlsdr_collector){q, b, a, w};
    return p;
}

/* Mark the tiles whose leading coordinates leave a chance; the number of them. */
static ptrdiff_t nmlsdr_mark(const nmlsdr_search *q, const nmlsdr_pair *p, nmlsdr_scratch *w)
{
    const ptrdiff_t d = q->tuning.lead_d, columns = 3 * q->kernels->lanes;
    const ptrdiff_t tiles = (p->na + 3) / 4 * ((p->nb + columns - 1) / columns);
    ptrdiff_t alive = 0;
    nmlsdr_pair lead = *p;
    memset(w->tile, 1, (size_t)tiles);
    if (!d || (q->symmetric && p->first_a == p->first_b)) return tiles;

    lead.za = q->queries->lead_z + p->first_a * d;
    lead.zb = q->rows->lead_z + p->first_b * d;
    lead.ha = q->queries->lead_h + p->first_a;
    lead.hb = q->rows->lead_h + p->first_b;
    lead.d = lead.pass = d;
    lead.marks = 1;
    q->kernels->products(&lead);

    for (ptrdiff_t t = 0; t < tiles; t++) alive += w->tile[t];
    w->tiles += tiles;
    w->alive += alive;

    return alive;
}

/* All pairs of dense block I of the queries with block J of the rows. */
static void nmlsdr_run_dense(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, nmlsdr_scratch *w)
{
    const nmlsdr_schedule *at = &q->schedule;
    const ptrdiff_t size = NMLSDR_BLOCK * q->storage.words;
    nmlsdr_pair p = nmlsdr_pair_of(q, I, J, w);
    if (!nmlsdr_mark(q, &p, w)) return;

    p.za = at->window[0].z + (I - at->window[0].first) * size;
    p.zb = at->window[at->second].z + (J - at->window[at->second].first) * size;
    if (q->storage.integers) q->kernels->int16(&p);
    else q->kernels->products(&p);
}

#endif
