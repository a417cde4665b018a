/* Exact nearest neighbours of a few queries: the canonical distance of every pair, nothing prepared for many.
 *
 *   nmlsdr_few_begin    copies the queries, allocates one heap for each query and thread
 *   nmlsdr_few_step     compares the next rows with all queries; call it until it returns 0
 *
 * Each row is read once and compared with all queries.  The rows are divided among the threads (shares.h), so even one query
 * uses all of them.
 */
#ifndef NMLSDR_FEW_H
#define NMLSDR_FEW_H

#include "kernels.h"
#include "shares.h"

#define NMLSDR_MOST_CONVERTED 64 /* rows */

typedef struct {
    nmlsdr_memory memory;
    nmlsdr_rows rows;
    nmlsdr_shares found;    /* heaps */
    ptrdiff_t padded;       /* features rounded up to 8 */
    ptrdiff_t chunk;        /* rows that are converted together */
    ptrdiff_t next;         /* the first row that is not yet compared */
    double *query;          /* (n queries, padded), zeros behind the features */
    double *converted;      /* (threads, chunk, padded) */
    int n_threads;
    const nmlsdr_kernels *kernels;
} nmlsdr_few;

/* n rows from `first` on as float64, zeros behind the features. */
static void nmlsdr_few_convert(const nmlsdr_rows *x, ptrdiff_t first, ptrdiff_t n, ptrdiff_t padded, double *to)
{
    const ptrdiff_t d = x->d;
    for (ptrdiff_t r = 0; r < n; r++, to += padded) {
        nmlsdr_dense_row(x, first + r, to);
        for (ptrdiff_t j = d; j < padded; j++) to[j] = 0;
    }
}

/* Arguments as of nmlsdr_search_begin; the rows are dense, of either type. */
static int nmlsdr_few_begin(nmlsdr_few *q, const nmlsdr_rows *rows, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                            ptrdiff_t *indices, int level, int n_threads)
{
    enum { CACHED = 2048 }; /* values of the rows that are compared together: half of a first-level cache */
    const ptrdiff_t padded = (rows->d + 7) / 8 * 8, fitting = CACHED / padded / 4 * 4;
    q->rows = *rows;
    q->padded = padded;
    q->chunk = fitting < 4 ? 4 : fitting > NMLSDR_MOST_CONVERTED ? NMLSDR_MOST_CONVERTED : fitting;
    q->n_threads = n_threads;
    q->kernels = nmlsdr_kernels_of(level);

    nmlsdr_memory *memory = &q->memory;
    if (nmlsdr_shares_new(memory, &q->found, n_threads, queries->n, k, squared, indices)) return -1;
    q->query = (double *)nmlsdr_new(memory, queries->n * padded, sizeof(double));
    q->converted = (double *)nmlsdr_new(memory, n_threads * q->chunk * padded, sizeof(double));
    if (memory->failed) return -1;
    nmlsdr_few_convert(queries, 0, queries->n, padded, q->query);
    return 0;
}

/* One thread's rows from `first` on, n of them, against all queries. */
static void nmlsdr_few_offer(const nmlsdr_few *q, ptrdiff_t first, ptrdiff_t n)
{
    const int thread = nmlsdr_thread();
    double squared[NMLSDR_MOST_CONVERTED], *rows = q->converted + thread * q->chunk * q->padded;
    nmlsdr_encounter compared = {NULL, rows, 1, q->padded};
    nmlsdr_few_convert(&q->rows, first, n, q->padded, rows);

    for (ptrdiff_t i = 0; i < q->found.n_queries; i++) {
        double *heap = nmlsdr_shared_squared(&q->found, thread, i);
        ptrdiff_t *index = nmlsdr_shared_rows(&q->found, thread, i);
        compared.query = q->query + i * q->padded;
        q->kernels->distances(&compared, NULL, n, squared);
        for (ptrdiff_t r = 0; r < n; r++) nmlsdr_heap_offer(heap, index, q->found.k, squared[r], first + r);
    }
}

/* Compare about `budget` thousand pairs of a row and a query.  Returns 1: call again; 0: done. */
static int nmlsdr_few_step(nmlsdr_few *q, double budget)
{
    const double chunks = 1 + budget * 1000 / (double)(q->found.n_queries * q->chunk);
    const ptrdiff_t all = (q->rows.n - q->next + q->chunk - 1) / q->chunk;
    const ptrdiff_t some = chunks < (double)all ? (ptrdiff_t)chunks : all;
    ptrdiff_t c;
    NMLSDR_OMP(parallel for num_threads(q->n_threads) schedule(static))
    for (c = 0; c < some; c++) {
        const ptrdiff_t first = q->next + c * q->chunk, left = q->rows.n - first;
        nmlsdr_few_offer(q, first, left < q->chunk ? left : q->chunk);
    }
    q->next += some * q->chunk;
    if (q->next < q->rows.n) return 1;
    nmlsdr_merge_shares(&q->found);
    return 0;
}

#endif
