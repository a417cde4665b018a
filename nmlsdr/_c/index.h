/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows that are packed once and searched often: a few queries at a time, by products, against all of them.
 *
 *   nmlsdr_packed_begin   centre, scale, packed rows or columns and postings, bounds: read only from then on
 *   nmlsdr_packed_takes   whether the bounds hold for these queries
 *   nmlsdr_views_begin    one view of the index for each thread: its own candidates and nearest of all queries
 *   nmlsdr_views_step     compares the next rows with all queries; call it until it returns 0
 *
 * An index is a search by products without queries; a view is a copy of it that has them, and uses the same
 * packed rows.  The rows are divided among the threads, so even one query uses all of them.  The results of the threads are
 * merged in the order (squared distance, row), which is total, so they do not depend on which thread searched which row.
 * The products are never treated as exact, because queries need not be integers where the rows are.  Where rounded products
 * cannot order two rows, canonical distances decide, at most one for each row.
 */
#ifndef NMLSDR_INDEX_H
#define NMLSDR_INDEX_H

#include "products.h"
#include "shares.h"

enum { NMLSDR_REACH = 8 }; /* queries may lie 2^8 times as far from the centre as any row; norms of rows are 2^52 */

static int nmlsdr_packed_begin(nmlsdr_search *q, const nmlsdr_rows *rows, int integers, int level, double column_bytes,
                               int n_threads)
{
    nmlsdr_extent extent = {0, 0, 0};
    nmlsdr_search_among(q, rows, level, n_threads);
    if (nmlsdr_choose_storage(q, -1, column_bytes) || nmlsdr_choose_centre(q)) return -1;
    q->rows->blocks = (rows->n + q->storage.block - 1) / q->storage.block;
    nmlsdr_extend(q, rows, &extent);
    q->scaling.extent = extent.most;
    nmlsdr_set_scale(q, q->scaling.extent, 60 - NMLSDR_REACH);
    extent.most *= 2; /* half of the scale, so that integers of queries may be twice as large as those of the rows */
    extent.square *= 4;
    q->scaling.norm = sqrt(extent.square) / 2;
    nmlsdr_choose_integers(q, &extent, integers);
    if (nmlsdr_side_new(q, q->rows, 0)) return -1;
    if (q->storage.sparse) return nmlsdr_new_postings(q);
    q->schedule.second = 1;
    q->schedule.window[1].z = nmlsdr_floats(q, q->rows->blocks * NMLSDR_BLOCK * q->storage.words);
    if (q->memory.failed) return -1;
    nmlsdr_pack_blocks(q, q->rows, 0, q->rows->blocks, q->schedule.window[1].z);
    return 0;
}

/* Whether the error bounds of the index hold for these queries: their scores and sums of products do not overflow, and the
 * sums have no more terms than those of the rows. */
static int nmlsdr_packed_takes(const nmlsdr_search *index, const nmlsdr_rows *queries)
{
    nmlsdr_extent extent = {0, 0, 0};
    for (ptrdiff_t i = 0; i < queries->n; i++) nmlsdr_extend_by(index, queries, i, &extent);
    if (index->storage.integers) {
        const double scale = index->scaling.scale, rounding = sqrt((double)index->d) / 2 + 1;
        const double norms = (sqrt(extent.square) * scale + rounding) * (index->scaling.norm * scale + rounding);
        return extent.most * scale <= 32766 && norms < 0x1p31;
    }
    if (!(extent.most <= ldexp(index->scaling.extent, NMLSDR_REACH))) return 0;
    for (ptrdiff_t i = 0; index->storage.sparse && i < queries->n; i++)
        if (nmlsdr_row_pointer(queries, i + 1) - nmlsdr_row_pointer(queries, i) > index->storage.longest) return 0;
    return 1;
}

typedef struct {
    nmlsdr_memory memory; /* of all views */
    nmlsdr_search *view; /* (n_views), each with its own scratch; the other fields are copies of the index's */
    int n_views;
    ptrdiff_t next;      /* the next block of rows */
    nmlsdr_shares found;
} nmlsdr_views;

/* The bounds of the rows of an index, of which only some may be neighbours; NULL: out of memory. */
static float *nmlsdr_masked_bounds(nmlsdr_memory *memory, const nmlsdr_search *index, const unsigned char *allowed)
{
    const nmlsdr_side *s = index->rows;
    const ptrdiff_t padded = s->blocks * index->storage.block;
    float *h = (float *)nmlsdr_new(memory, padded, sizeof(float));
    if (!h) return NULL;
    memcpy(h, s->h, (size_t)padded * sizeof(float));
    for (ptrdiff_t i = 0; i < s->rows.n; i++)
        if (!allowed[i]) h[i] = INFINITY;
    return h;
}

/* A copy of the index with these queries. */
static int nmlsdr_view_begin(nmlsdr_search *q, const nmlsdr_search *index, const nmlsdr_rows *queries, nmlsdr_views *a, int v)
{
    const nmlsdr_shares *found = &a->found;
    *q = *index;
    q->memory = a->memory;
    q->n_threads = 1;
    q->rows = &q->side[0];
    q->queries = &q->side[1];
    q->queries->rows = *queries;
    q->queries->blocks = (queries->n + q->storage.block - 1) / q->storage.block;
    nmlsdr_choose_k(q, found->k, nmlsdr_shared_squared(found, v, 0), nmlsdr_shared_rows(found, v, 0));
    const ptrdiff_t lanes = q->kernels->lanes, groups = (nmlsdr_tiled(queries->n) + lanes - 1) / lanes;
    const int failed = nmlsdr_new_scratch(q) || nmlsdr_side_new(q, q->queries, 1);
    if (!q->storage.sparse) q->schedule.window[0].z = nmlsdr_floats(q, groups * lanes * q->storage.words);
    a->memory = q->memory;
    if (failed || q->memory.failed) return -1;
    if (q->storage.sparse) nmlsdr_measure(q, q->queries);
    for (ptrdiff_t I = 0; !q->storage.sparse && I < q->queries->blocks; I++)
        nmlsdr_pack(q, q->queries, I, q->schedule.window[0].z + I * NMLSDR_BLOCK * q->storage.words);
    return 0;
}

/* Queries that nmlsdr_packed_takes, dense or CSR as the rows, 1 <= k <= rows that are allowed (NULL: all). */
static int nmlsdr_views_begin(nmlsdr_views *a, const nmlsdr_search *index, const nmlsdr_rows *queries, ptrdiff_t k,
                              const unsigned char *allowed, double *squared, ptrdiff_t *indices, int n_threads)
{
    float *bounds = allowed ? nmlsdr_masked_bounds(&a->memory, index, allowed) : index->rows->h;
    if (!bounds) return -1;
    a->n_views = n_threads < index->rows->blocks ? n_threads : (int)index->rows->blocks;
    a->view = (nmlsdr_search *)nmlsdr_new(&a->memory, a->n_views, sizeof(nmlsdr_search));
    int failed = nmlsdr_shares_new(&a->memory, &a->found, a->n_views, queries->n, k, squared, indices);
    for (int v = 0; v < a->n_views && !failed; v++) {
        failed = nmlsdr_view_begin(&a->view[v], index, queries, a, v);
        a->view[v].side[0].h = bounds;
    }
    return -failed;
}

/* The queries of a view against one block of rows. */
static void nmlsdr_run_view(nmlsdr_search *q, ptrdiff_t J)
{
    void (*run)(nmlsdr_search *, ptrdiff_t, ptrdiff_t, nmlsdr_scratch *) =
        q->storage.sparse ? nmlsdr_run_sparse : nmlsdr_run_dense;
    for (ptrdiff_t I = 0; I < q->queries->blocks; I++) run(q, I, J, q->scratch);
}

/* Run about `budget` full pairs of blocks.  1: call again; 0: done. */
static int nmlsdr_views_step(nmlsdr_views *a, double budget)
{
    const nmlsdr_search *first = &a->view[0];
    const nmlsdr_side *queries = first->queries, *rows = first->rows;
    const double share =
        (double)((queries->rows.n + 3) / 4 * 4) / (double)first->storage.block; /* of a full pair; tiles have 4 rows */
    const ptrdiff_t all = rows->blocks - a->next;
    const ptrdiff_t some = budget / share + 1 < (double)all ? (ptrdiff_t)(budget / share) + 1 : all;
    ptrdiff_t J;
    if (a->n_views == 1) { /* a team of one takes a tenth of the time of a query */
        for (J = a->next; J < a->next + some; J++) nmlsdr_run_view(a->view, J);
    } else {
        NMLSDR_OMP(parallel for num_threads(a->n_views) schedule(dynamic, 8))
        for (J = a->next; J < a->next + some; J++) nmlsdr_run_view(&a->view[nmlsdr_thread()], J);
    }
    a->next += some;
    if (a->next < rows->blocks) return 1;

    for (int v = 0; v < a->n_views; v++) {
        nmlsdr_search *q = &a->view[v];
        const nmlsdr_collector all_rows = {q, q->queries, q->rows, q->scratch};
        for (ptrdiff_t i = 0; i < queries->rows.n; i++) nmlsdr_finish_row(&all_rows, i);
    }
    nmlsdr_merge_shares(&a->found);
    return 0;
}

#endif
