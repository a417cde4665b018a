/* Exact nearest neighbours of a few queries: the canonical distance of every pair, nothing prepared for many.
 *
 *   nmlsdr_few_new      copies the queries, allocates one heap for each query and thread
 *   nmlsdr_few_step     meets the next rows; loop over it
 *   nmlsdr_few_free
 *
 * Each row is read once and meets all queries.  The threads share the rows, so one query keeps them all busy; their
 * heaps are merged in the order (squared distance, row), which is total: who met which row changes nothing.
 */
#ifndef NMLSDR_FEW_H
#define NMLSDR_FEW_H

#include "heap.h"
#include "kernels.h"

typedef struct {
    nmlsdr_rows rows;
    ptrdiff_t n_queries, k, padded, chunk, next; /* features rounded up to 8; rows that are converted together */
    double *query;      /* (n queries, padded), zeros behind the features */
    double *converted;  /* (threads, chunk, padded) */
    double *heap;       /* (threads, n queries, k) */
    ptrdiff_t *index;
    double *squared;    /* the answer */
    ptrdiff_t *indices;
    int level, n_threads;
} nmlsdr_few;

/* Whether the queries are so few that they repay neither packed rows nor a tree (docs/neighbours.md), and their heaps
 * small: 16 bytes a neighbour in each thread. */
static int nmlsdr_few_wins(const nmlsdr_rows *rows, const nmlsdr_rows *queries, ptrdiff_t k, int n_threads)
{
    return rows->kind <= NMLSDR_DENSE_F64 && queries->n <= 24 && (double)(queries->n * k) * n_threads <= 4e6;
}

static void nmlsdr_few_free(nmlsdr_few *q)
{
    if (!q) return;
    nmlsdr_release(q->query);
    nmlsdr_release(q->converted);
    free(q->heap);
    free(q->index);
    free(q);
}

/* n rows from `first` on as float64, zeros behind the features. */
static void nmlsdr_few_convert(const nmlsdr_rows *x, ptrdiff_t first, ptrdiff_t n, ptrdiff_t padded, double *to)
{
    const ptrdiff_t d = x->d;
    for (ptrdiff_t r = 0; r < n; r++, to += padded) {
        if (x->kind == NMLSDR_DENSE_F32) {
            const float *row = (const float *)x->data + (first + r) * d;
            for (ptrdiff_t j = 0; j < d; j++) to[j] = row[j];
        } else {
            memcpy(to, (const double *)x->data + (first + r) * d, (size_t)d * sizeof(double));
        }
        for (ptrdiff_t j = d; j < padded; j++) to[j] = 0;
    }
}

/* Arguments as nmlsdr_search_new; dense rows.  NULL: out of memory. */
static nmlsdr_few *nmlsdr_few_new(const nmlsdr_rows *rows, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                                  ptrdiff_t *indices, int level, int n_threads)
{
    enum { CACHED = 2048 }; /* values of the rows that meet all queries: half of a first-level cache */
    nmlsdr_few *q = (nmlsdr_few *)calloc(1, sizeof(nmlsdr_few));
    if (!q) return NULL;
    q->rows = *rows;
    q->n_queries = queries->n;
    q->k = k;
    q->padded = (rows->d + 7) / 8 * 8;
    q->chunk = CACHED / q->padded / 4 * 4;
    q->chunk = q->chunk < 4 ? 4 : q->chunk > 64 ? 64 : q->chunk;
    q->squared = squared;
    q->indices = indices;
    q->level = level;
    q->n_threads = n_threads;
    const size_t entries = (size_t)n_threads * (size_t)(queries->n * k), row = (size_t)q->padded * sizeof(double);
    q->query = (double *)nmlsdr_aligned((size_t)queries->n * row);
    q->converted = (double *)nmlsdr_aligned((size_t)n_threads * (size_t)q->chunk * row);
    q->heap = (double *)malloc(entries * sizeof(double));
    q->index = (ptrdiff_t *)malloc(entries * sizeof(ptrdiff_t));
    if (!q->query || !q->converted || !q->heap || !q->index) {
        nmlsdr_few_free(q);
        return NULL;
    }
    nmlsdr_few_convert(queries, 0, queries->n, q->padded, q->query);
    for (size_t p = 0; p < entries; p++) {
        q->heap[p] = INFINITY;
        q->index[p] = PTRDIFF_MAX;
    }
    return q;
}

/* One thread's rows first .. end, n of them, against all queries. */
static void nmlsdr_few_offer(const nmlsdr_few *q, ptrdiff_t first, ptrdiff_t n, int thread, const nmlsdr_kernels *kernels)
{
    double squared[64], *rows = q->converted + thread * q->chunk * q->padded;
    const ptrdiff_t k = q->k;
    nmlsdr_few_convert(&q->rows, first, n, q->padded, rows);
    for (ptrdiff_t i = 0; i < q->n_queries; i++) {
        const ptrdiff_t own = ((ptrdiff_t)thread * q->n_queries + i) * k;
        kernels->distances(rows, 1, q->padded, NULL, n, q->query + i * q->padded, squared);
        for (ptrdiff_t r = 0; r < n; r++) nmlsdr_heap_offer(q->heap + own, q->index + own, k, squared[r], first + r);
    }
}

/* The threads' heaps into one, sorted, for each query. */
static void nmlsdr_few_merge(const nmlsdr_few *q)
{
    const ptrdiff_t k = q->k, all = q->n_queries * k;
    for (ptrdiff_t own = 0; own < all; own += k) {
        for (ptrdiff_t p = own + all; p < q->n_threads * all; p += p % all == own + k - 1 ? all - k + 1 : 1)
            nmlsdr_heap_offer(q->heap + own, q->index + own, k, q->heap[p], q->index[p]);
        nmlsdr_heap_sort(q->heap + own, q->index + own, k);
    }
    memcpy(q->squared, q->heap, (size_t)all * sizeof(double));
    memcpy(q->indices, q->index, (size_t)all * sizeof(ptrdiff_t));
}

/* Meet about `budget` thousand pairs.  1: call again; 0: done. */
static int nmlsdr_few_step(nmlsdr_few *q, double budget)
{
    const nmlsdr_kernels *kernels = nmlsdr_kernels_of(q->level);
    const double chunks = 1 + budget * 1000 / (double)(q->n_queries * q->chunk);
    const ptrdiff_t all = (q->rows.n - q->next + q->chunk - 1) / q->chunk;
    const ptrdiff_t some = chunks < (double)all ? (ptrdiff_t)chunks : all;
    ptrdiff_t c;
#ifdef _OPENMP
#pragma omp parallel for num_threads(q->n_threads) schedule(static)
#endif
    for (c = 0; c < some; c++) {
        const ptrdiff_t first = q->next + c * q->chunk, left = q->rows.n - first;
        nmlsdr_few_offer(q, first, left < q->chunk ? left : q->chunk, nmlsdr_thread(), kernels);
    }
    q->next += some * q->chunk;
    if (q->next < q->rows.n) return 1;
    nmlsdr_few_merge(q);
    return 0;
}

#endif
