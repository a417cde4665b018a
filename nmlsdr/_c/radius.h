/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A whole search for all rows within a radius, over search.h: first to count them, then to store them.
 *
 *   nmlsdr_radius_begin    as nmlsdr_query_begin; then nmlsdr_query_start and nmlsdr_query_step
 *   nmlsdr_radius_end      adds rows of zeros, sorts what was stored, and frees the memory
 *   nmlsdr_radius_search   all of these
 *
 * Two searches need no more memory than their result, which is as large as the radius makes it.
 */
#ifndef NMLSDR_RADIUS_H
#define NMLSDR_RADIUS_H

#include "search.h"

/* The largest squared distance within a radius: of unit rows, 1 - cos is half of it. */
static double nmlsdr_radius_limit(double radius, int by_angle)
{
    return by_angle ? 2 * radius : radius * radius;
}

/* a consists of zeros.  Queries as of nmlsdr_query_begin; within has a limit, counters of 0, and memory if it has an indptr.  -1:
 * out of memory; end it in any case. */
static int nmlsdr_radius_begin(nmlsdr_query *a, const struct nmlsdr_index *x, const nmlsdr_rows *queries, nmlsdr_within *within)
{
    a->within = within;
    const int failed = nmlsdr_query_begin(a, x, queries, 1, NULL, NULL);
    within->row_number = x->number;
    within->query_number = queries ? a->units.number : x->number;
    return failed;
}

/* Rows of zeros are equally far from every other row. */
static void nmlsdr_radius_zeros(const nmlsdr_query *a)
{
    const struct nmlsdr_index *x = a->x, *queries = a->queries ? &a->units : x;
    const double apart = x->by_angle ? NMLSDR_ZERO_ROW : 0;
    if (!x->number || !(apart <= a->within->limit)) return;
    for (ptrdiff_t i = 0; i < queries->n; i++) {
        const ptrdiff_t query = queries->number[i];
        if (i < queries->rows.n)
            for (ptrdiff_t z = x->n; z > x->rows.n; z--) nmlsdr_within_put(a->within, query, apart, x->number[z - 1]);
        else
            for (ptrdiff_t row = 0; row < x->n; row++)
                if (a->queries || row != query) nmlsdr_within_put(a->within, query, apart, row);
    }
}

/* Sort the rows of every query; -1: out of memory. */
static int nmlsdr_radius_sort(const nmlsdr_query *a, ptrdiff_t n_queries)
{
    const nmlsdr_within *within = a->within;
    const int n_threads = nmlsdr_worthwhile(a->x->n_threads, (double)within->indptr[n_queries] / NMLSDR_VALUES_OF_THREAD);
    nmlsdr_memory memory = {NULL};
    int64_t longest = 0;
    ptrdiff_t i;
    for (i = 0; i < n_queries; i++)
        if (within->indptr[i + 1] - within->indptr[i] > longest) longest = within->indptr[i + 1] - within->indptr[i];
    nmlsdr_found *scratch = (nmlsdr_found *)nmlsdr_new(&memory, 2 * (ptrdiff_t)longest * n_threads, sizeof(nmlsdr_found));
    if (!memory.failed) {
        NMLSDR_OMP(parallel for num_threads(n_threads) schedule(dynamic, 64))
        for (i = 0; i < n_queries; i++) nmlsdr_within_sort(within, i, scratch + 2 * longest * nmlsdr_thread());
    }
    nmlsdr_free_all(&memory);
    return -memory.failed;
}

/* -1: out of memory, now or before. */
static int nmlsdr_radius_end(nmlsdr_query *a, ptrdiff_t n_queries)
{
    int failed = a->by.memory.failed;
    if (!failed) nmlsdr_radius_zeros(a);
    nmlsdr_query_end(a);
    for (ptrdiff_t i = 0; a->within->indptr && i < n_queries; i++) /* the second search found other rows than the first */
        if (a->within->count[i] != a->within->indptr[i + 1] - a->within->indptr[i]) return failed ? -1 : 1;
    if (!failed && a->within->indptr) failed = -nmlsdr_radius_sort(a, n_queries);
    return -failed;
}

/* Count, or store if within has an indptr.  -1: out of memory; 1: indptr is not that of these rows and this radius. */
static int nmlsdr_radius_search(const struct nmlsdr_index *x, const nmlsdr_rows *queries, nmlsdr_within *within)
{
    nmlsdr_query a;
    memset(&a, 0, sizeof a);
    int failed = nmlsdr_radius_begin(&a, x, queries, within);
    if (!failed) failed = nmlsdr_query_start(&a, NULL, -1, -1, NMLSDR_WINDOW_BYTES, 0);
    while (!failed && nmlsdr_query_step(&a, INFINITY)) continue;
    a.by.memory.failed |= -failed;
    return nmlsdr_radius_end(&a, queries ? queries->n : x->n);
}

#endif
