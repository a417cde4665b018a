/* Exact nearest neighbours of a few queries: the canonical distance of every pair, nothing prepared for many.
 *
 *   nmlsdr_few_new      copies the queries, allocates one heap for each query and thread
 *   nmlsdr_few_step     meets the next rows; loop over it
 *   nmlsdr_few_free
 *
 * Each row is read once and meets all queries.  The threads share the rows, so one query keeps them all busy; their
 * heaps are merged in the order (squared distance, row), which is total: who met which row changes nothing.
 *
 * By angle the rows are searched as if each were divided by its norm.  The cosine, from two products, rules out all but some
 * tens of rows a query, and only these are divided (docs/neighbours.md: By angle).
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
    int level, n_threads, angle;
    double *unit;       /* (threads, padded) a row divided by its norm */
} nmlsdr_few;

#define NMLSDR_ZERO_ROW 2.0 /* the squared distance of a row of zeros, which has no direction, to any other by angle */

static void nmlsdr_few_free(nmlsdr_few *q)
{
    if (!q) return;
    nmlsdr_release(q->query);
    nmlsdr_release(q->converted);
    nmlsdr_release(q->unit);
    free(q->heap);
    free(q->index);
    free(q);
}

/* n rows from `first` on as float64, zeros behind the features. */
static void nmlsdr_few_convert(const nmlsdr_rows *x, ptrdiff_t first, ptrdiff_t n, ptrdiff_t padded, double *to)
{
    const ptrdiff_t d = x->d;
    for (ptrdiff_t r = 0; r < n; r++, to += padded) {
        nmlsdr_dense_row(x, first + r, to);
        for (ptrdiff_t j = d; j < padded; j++) to[j] = 0;
    }
}

/* Arguments as nmlsdr_search_new; dense rows, of any of both types.  angle: the rows are divided by their norms, the queries
 * are so already.  NULL: out of memory. */
static nmlsdr_few *nmlsdr_few_new(const nmlsdr_rows *rows, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                                  ptrdiff_t *indices, int angle, int level, int n_threads)
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
    q->angle = angle;
    const size_t entries = (size_t)n_threads * (size_t)(queries->n * k), row = (size_t)q->padded * sizeof(double);
    q->query = (double *)nmlsdr_aligned((size_t)queries->n * row);
    q->converted = (double *)nmlsdr_aligned((size_t)n_threads * (size_t)q->chunk * row);
    q->heap = (double *)malloc(entries * sizeof(double));
    q->index = (ptrdiff_t *)malloc(entries * sizeof(ptrdiff_t));
    q->unit = (double *)nmlsdr_aligned((size_t)n_threads * row);
    if (!q->query || !q->converted || !q->unit || !q->heap || !q->index) {
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

/* A row divided by its norm, as `_search/cosine.py` does it; 0: it has none. */
static int nmlsdr_few_unit(const double *row, ptrdiff_t padded, double *to)
{
    double a[8] = {0, 0, 0, 0, 0, 0, 0, 0}, largest = 0;
    int exponent;
    for (ptrdiff_t j = 0; j < padded; j++) largest = fabs(row[j]) > largest ? fabs(row[j]) : largest;
    if (largest == 0) return 0;
    frexp(largest, &exponent);
    /* one factor, or two that both enlarge a denormal: nothing is rounded twice */
    const double factor = ldexp(1.0, exponent < -1000 ? 1000 : -exponent);
    const double rest = exponent < -1000 ? ldexp(1.0, -exponent - 1000) : 1.0;
    for (ptrdiff_t j = 0; j < padded; j++) {
        to[j] = row[j] * factor * rest;
        a[j % 8] += to[j] * to[j];
    }
    const double norm = sqrt(nmlsdr_fold8(a));
    for (ptrdiff_t j = 0; j < padded; j++) to[j] /= norm;
    return 1;
}

/* The same rows by angle.  |unit row - query|^2 is 2 - 2 cos up to the rounding of the norms, the quotients, the products
 * and the canonical distance itself, each at most d + 16 times 2^-53 and a few of them: far below the slack. */
static void nmlsdr_few_offer_by_angle(const nmlsdr_few *q, ptrdiff_t first, ptrdiff_t n, int thread,
                                      const nmlsdr_kernels *kernels)
{
    double norm[64], dot[64], *rows = q->converted + thread * q->chunk * q->padded, *unit = q->unit + thread * q->padded;
    const double slack = (double)(q->padded + 16) * 0x1p-46;
    kernels->dots(rows, n, q->padded, NULL, norm);
    for (ptrdiff_t r = 0; r < n; r++) norm[r] = norm[r] > 1e-200 && norm[r] < 1e305 ? sqrt(norm[r]) : 0; /* 0: not known */
    for (ptrdiff_t i = 0; i < q->n_queries; i++) {
        const double *query = q->query + i * q->padded;
        const ptrdiff_t own = ((ptrdiff_t)thread * q->n_queries + i) * q->k;
        kernels->dots(rows, n, q->padded, query, dot);
        for (ptrdiff_t r = 0; r < n; r++) {
            double squared = NMLSDR_ZERO_ROW;
            if (norm[r] > 0 && 2 * dot[r] < (2 - slack - q->heap[own]) * norm[r]) continue; /* farther than the k-th */
            if (nmlsdr_few_unit(rows + r * q->padded, q->padded, unit))
                kernels->distances(unit, 1, q->padded, NULL, 1, query, &squared);
            nmlsdr_heap_offer(q->heap + own, q->index + own, q->k, squared, first + r);
        }
    }
}

/* One thread's rows first .. end, n of them, against all queries. */
static void nmlsdr_few_offer(const nmlsdr_few *q, ptrdiff_t first, ptrdiff_t n, int thread, const nmlsdr_kernels *kernels)
{
    double squared[64], *rows = q->converted + thread * q->chunk * q->padded;
    const ptrdiff_t k = q->k;
    nmlsdr_few_convert(&q->rows, first, n, q->padded, rows);
    if (q->angle) {
        nmlsdr_few_offer_by_angle(q, first, n, thread, kernels);
        return;
    }
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
