/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact nearest neighbours of a few queries: the canonical distance of every pair, nothing prepared for many.
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

/* Rows that are compared with one query after the other.  They are read as they are: copied as padded doubles first, the search
 * took 1.8 times as long for one query, 1.4 times for 2, and .82 of the time for 16 (20 000 x 100 float32, one thread). */
enum { NMLSDR_FEW_ROWS = 16 };

typedef struct {
    nmlsdr_memory memory;
    nmlsdr_rows rows;
    nmlsdr_shares found; /* heaps */
    ptrdiff_t next;      /* the first row that is not yet compared */
    double *query;       /* (n queries, d) */
    const unsigned char *allowed; /* (n) rows that may be neighbours; NULL: all */
    int n_threads;
    const nmlsdr_kernels *kernels;
} nmlsdr_few;

/* Arguments as of nmlsdr_search_begin; the rows are dense, of either type. */
static int nmlsdr_few_begin(nmlsdr_few *q, const nmlsdr_rows *rows, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                            ptrdiff_t *indices, int level, int n_threads)
{
    q->rows = *rows;
    q->n_threads = n_threads;
    q->kernels = nmlsdr_kernels_of(level);
    if (nmlsdr_shares_new(&q->memory, &q->found, n_threads, queries->n, k, squared, indices)) return -1;
    q->query = (double *)nmlsdr_new(&q->memory, queries->n * rows->d, sizeof(double));
    if (q->memory.failed) return -1;
    for (ptrdiff_t i = 0; i < queries->n; i++) nmlsdr_dense_row(queries, i, q->query + i * rows->d);
    return 0;
}

/* One thread's rows from `first` on, n of them, against all queries. */
static void nmlsdr_few_offer(const nmlsdr_few *q, ptrdiff_t first, ptrdiff_t n)
{
    const int thread = nmlsdr_thread(), wide = q->rows.kind == NMLSDR_DENSE_F64;
    const ptrdiff_t d = q->rows.d;
    double squared[NMLSDR_FEW_ROWS];
    nmlsdr_encounter compared = {NULL, (const char *)q->rows.data + first * d * (wide ? 8 : 4), wide, d};

    for (ptrdiff_t i = 0; i < q->found.n_queries; i++) {
        double *heap = nmlsdr_shared_squared(&q->found, thread, i);
        ptrdiff_t *index = nmlsdr_shared_rows(&q->found, thread, i);
        compared.query = q->query + i * d;
        q->kernels->distances(&compared, NULL, n, squared);
        for (ptrdiff_t r = 0; r < n; r++)
            if (!q->allowed || q->allowed[first + r]) nmlsdr_heap_offer(heap, index, q->found.k, squared[r], first + r);
    }
}

/* Compare about `budget` thousand pairs of a row and a query.  Returns 1: call again; 0: done. */
static int nmlsdr_few_step(nmlsdr_few *q, double budget)
{
    const ptrdiff_t chunk = NMLSDR_FEW_ROWS;
    const double chunks = 1 + budget * 1000 / (double)(q->found.n_queries * chunk);
    const ptrdiff_t all = (q->rows.n - q->next + chunk - 1) / chunk;
    const ptrdiff_t some = chunks < (double)all ? (ptrdiff_t)chunks : all;
    ptrdiff_t c;
    NMLSDR_OMP(parallel for num_threads(q->n_threads) schedule(static))
    for (c = 0; c < some; c++) {
        const ptrdiff_t first = q->next + c * chunk, left = q->rows.n - first;
        nmlsdr_few_offer(q, first, left < chunk ? left : chunk);
    }
    q->next += some * chunk;
    if (q->next < q->rows.n) return 1;
    nmlsdr_merge_shares(&q->found);
    return 0;
}

#endif
