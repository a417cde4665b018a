/* Rows that are packed once and searched often: a few queries at a time, by products, against all of them.
 *
 *   nmlsdr_index_new     centre, scale, packed rows or columns and postings, bounds: read only from then on
 *   nmlsdr_index_takes   whether the bounds hold for these queries
 *   nmlsdr_views_new     one view of the index for each thread: its own candidates and nearest of all queries
 *   nmlsdr_views_step    meets the next rows; loop over it
 *   nmlsdr_views_free    nmlsdr_index_free
 *
 * An index is a search by products without queries; a view is a copy of it that has them, and shares the rows.  The
 * threads share the rows, so one query keeps them all busy; what they found is merged in the order (squared distance, row),
 * which is total: who met which row changes nothing.  Float products only, never exact ones: queries need not be integers
 * where the rows are, and what float products cannot tell apart is decided by canonical distances, at most all of them.
 */
#ifndef NMLSDR_INDEX_H
#define NMLSDR_INDEX_H

#include "products.h"

enum { NMLSDR_REACH = 8 }; /* queries may lie 2^8 times as far from the centre as any row; norms of rows are 2^52 */

static void nmlsdr_index_free(nmlsdr_search *index)
{
    nmlsdr_search_free(index);
}

/* NULL: out of memory. */
static nmlsdr_search *nmlsdr_index_new(const nmlsdr_rows *rows, int level, double column_bytes, int n_threads)
{
    int integral = 0;
    ptrdiff_t block;
    nmlsdr_search *q = (nmlsdr_search *)calloc(1, sizeof(nmlsdr_search));
    if (!q) return NULL;
    q->d = rows->d;
    q->level = level;
    q->kernels = nmlsdr_kernels_of(level);
    q->lanes = q->kernels->lanes;
    q->n_threads = n_threads;
    q->force_sparse = -1;
    q->side[0].rows = *rows;
    q->rows = q->queries = &q->side[0]; /* the rows stand for queries where these are looked at */
    if (nmlsdr_choose_storage(q, column_bytes)) goto fail;
    q->rows->blocks = (rows->n + q->block - 1) / q->block;
    if (nmlsdr_choose_centre(q)) goto fail;
    q->extent = nmlsdr_extent(q, rows, &integral);
    nmlsdr_set_scale(q, q->extent, 60 - NMLSDR_REACH);
    if (nmlsdr_side_new(q, q->rows, 0)) goto fail;
    if (q->sparse) {
        if (nmlsdr_new_postings(q)) goto fail;
        return q;
    }
    q->second = 1;
    q->window[1].z = nmlsdr_aligned((size_t)(q->rows->blocks * q->block * q->d) * sizeof(float));
    if (!q->window[1].z) goto fail;
#ifdef _OPENMP
#pragma omp parallel for num_threads(q->n_threads) schedule(dynamic, 1)
#endif
    for (block = 0; block < q->rows->blocks; block++)
        nmlsdr_pack_f(q, q->rows, block, (float *)q->window[1].z + block * q->block * q->d);
    return q;
fail:
    nmlsdr_index_free(q);
    return NULL;
}

/* Whether scores of these queries neither overflow nor round more often than the bounds of the rows say. */
static int nmlsdr_index_takes(const nmlsdr_search *index, const nmlsdr_rows *queries)
{
    nmlsdr_search one = *index;
    int integral = 0;
    one.n_threads = 1;
    if (!(nmlsdr_extent(&one, queries, &integral) <= ldexp(index->extent, NMLSDR_REACH))) return 0;
    for (ptrdiff_t i = 0; index->sparse && i < queries->n; i++)
        if (nmlsdr_row_pointer(queries, i + 1) - nmlsdr_row_pointer(queries, i) > index->longest) return 0;
    return 1;
}

typedef struct {
    nmlsdr_search *view; /* (n_views), each with one scratch */
    int n_views;
    ptrdiff_t k, next;   /* the next block of rows */
    double *nearest;     /* (n_views, queries, k) squared distances, */
    ptrdiff_t *row;      /* and rows */
    double *squared;     /* the answer */
    ptrdiff_t *indices;
} nmlsdr_views;

static void nmlsdr_views_free(nmlsdr_views *a)
{
    if (!a) return;
    for (int v = 0; a->view && v < a->n_views; v++) { /* its own; the rest is the index's */
        nmlsdr_search *q = &a->view[v];
        nmlsdr_side_free(&q->side[1]);
        nmlsdr_release(q->window[0].z);
        nmlsdr_release(q->never);
        if (!q->scratch) continue;
        nmlsdr_scratch_free(q->scratch);
        free(q->scratch);
    }
    free(a->view);
    free(a->nearest);
    free(a->row);
    free(a);
}

/* A copy of the index with these queries. */
static int nmlsdr_view_new(nmlsdr_search *q, const nmlsdr_search *index, const nmlsdr_rows *queries, ptrdiff_t k,
                           double *nearest, ptrdiff_t *row)
{
    *q = *index;
    q->n_threads = 1;
    q->window[0].z = q->never = NULL;
    q->scratch = NULL;
    q->rows = &q->side[0];
    q->queries = &q->side[1];
    nmlsdr_choose_capacity(q, k);
    q->queries->rows = *queries;
    q->queries->blocks = (queries->n + q->block - 1) / q->block;
    q->queries->squared = nearest;
    q->queries->indices = row;
    for (ptrdiff_t p = 0; p < queries->n * k; p++) {
        nearest[p] = INFINITY;
        row[p] = PTRDIFF_MAX;
    }
    q->scratch = (nmlsdr_scratch *)calloc(1, sizeof(nmlsdr_scratch));
    if (!q->scratch || nmlsdr_new_scratch(q) || nmlsdr_side_new(q, q->queries, 1)) return -1;
    if (q->sparse) {
        nmlsdr_measure_f(q, q->queries);
        return 0;
    }
    const ptrdiff_t size = q->block * q->d;
    q->window[0].z = nmlsdr_aligned((size_t)(q->queries->blocks * size) * sizeof(float));
    if (!q->window[0].z) return -1;
    for (ptrdiff_t I = 0; I < q->queries->blocks; I++) nmlsdr_pack_f(q, q->queries, I, (float *)q->window[0].z + I * size);
    return 0;
}

/* Queries that nmlsdr_index_takes, dense or CSR as the rows, 1 <= k <= rows.  NULL: out of memory. */
static nmlsdr_views *nmlsdr_views_new(const nmlsdr_search *index, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                                      ptrdiff_t *indices, int n_threads)
{
    const size_t all = (size_t)(queries->n * k);
    nmlsdr_views *a = (nmlsdr_views *)calloc(1, sizeof(nmlsdr_views));
    if (!a) return NULL;
    a->n_views = n_threads < index->rows->blocks ? n_threads : (int)index->rows->blocks;
    a->k = k;
    a->squared = squared;
    a->indices = indices;
    a->view = (nmlsdr_search *)calloc((size_t)a->n_views, sizeof(nmlsdr_search));
    a->nearest = (double *)malloc((size_t)a->n_views * all * sizeof(double));
    a->row = (ptrdiff_t *)malloc((size_t)a->n_views * all * sizeof(ptrdiff_t));
    if (!a->view || !a->nearest || !a->row) {
        nmlsdr_views_free(a);
        return NULL;
    }
    for (int v = 0; v < a->n_views; v++) {
        if (nmlsdr_view_new(&a->view[v], index, queries, k, a->nearest + (size_t)v * all, a->row + (size_t)v * all)) {
            nmlsdr_views_free(a);
            return NULL;
        }
    }
    return a;
}

/* The views' nearest of query i into one. */
static void nmlsdr_views_merge(const nmlsdr_views *a, ptrdiff_t i)
{
    const ptrdiff_t k = a->k, all = a->view[0].queries->rows.n * k;
    double *nearest = a->nearest + i * k;
    ptrdiff_t *row = a->row + i * k;
    for (int v = 0; v < a->n_views; v++) {
        nmlsdr_search *q = &a->view[v];
        nmlsdr_finish_row_f(q, q->queries, q->rows, i, q->scratch);
        if (v == 0) continue;
        for (ptrdiff_t p = 0; p < k; p++) q->scratch->found[p] = nmlsdr_find(nearest[v * all + p], row[v * all + p]);
        nmlsdr_keep_nearest(nearest, row, k, q->scratch->found, k);
    }
    memcpy(a->squared + i * k, nearest, (size_t)k * sizeof(double));
    memcpy(a->indices + i * k, row, (size_t)k * sizeof(ptrdiff_t));
}

/* Run about `budget` full pairs of blocks.  1: call again; 0: done. */
static int nmlsdr_views_step(nmlsdr_views *a, double budget)
{
    const nmlsdr_side *queries = a->view[0].queries, *rows = a->view[0].rows;
    void (*run)(nmlsdr_search *, ptrdiff_t, ptrdiff_t, nmlsdr_scratch *) =
        a->view[0].sparse ? nmlsdr_run_sparse_f : nmlsdr_run_dense_f;
    const double share = (double)((queries->rows.n + 3) / 4 * 4) / (double)a->view[0].block; /* of a full pair; tiles have 4 rows */
    const ptrdiff_t all = rows->blocks - a->next, n = queries->rows.n;
    const ptrdiff_t some = budget / share + 1 < (double)all ? (ptrdiff_t)(budget / share) + 1 : all;
    ptrdiff_t J;
#ifdef _OPENMP
#pragma omp parallel for num_threads(a->n_views) schedule(dynamic, 8)
#endif
    for (J = a->next; J < a->next + some; J++) {
        nmlsdr_search *q = &a->view[nmlsdr_thread()];
        for (ptrdiff_t I = 0; I < queries->blocks; I++) run(q, I, J, q->scratch);
    }
    a->next += some;
    if (a->next < rows->blocks) return 1;
    for (ptrdiff_t i = 0; i < n; i++) nmlsdr_views_merge(a, i);
    return 0;
}

#endif
