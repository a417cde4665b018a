/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows within a radius of each query: a search finds them in any order, first to count and then to store them.
 *
 *   nmlsdr_within_add    called by a search (products.h, tree.h) for each pair that may be within the radius
 *   nmlsdr_within_sort   puts the stored rows of one query into the order (squared distance, row)
 *
 * A query belongs to one thread at a time, so its counter needs no lock.
 */
#ifndef NMLSDR_WITHIN_H
#define NMLSDR_WITHIN_H

#include "nearest.h"

typedef struct {
    double limit;                  /* the largest squared distance within the radius */
    int64_t *count;                /* (queries) how many rows have been found */
    const int64_t *indptr;         /* (queries + 1) where the rows of each query are stored, as in CSR; NULL: only count */
    double *squared;               /* (stored) */
    int32_t *columns;              /* (stored) row numbers */
    const ptrdiff_t *query_number; /* of the queries and rows of the search, in those of the caller; NULL: the same */
    const ptrdiff_t *row_number;
} nmlsdr_within;

/* Add a row, by the caller's numbers.  More rows than were counted are counted on and not stored. */
static inline void nmlsdr_within_put(const nmlsdr_within *w, ptrdiff_t query, double squared, ptrdiff_t row)
{
    const int64_t place = w->count[query]++;
    if (!w->indptr || place >= w->indptr[query + 1] - w->indptr[query]) return;
    w->squared[w->indptr[query] + place] = squared;
    w->columns[w->indptr[query] + place] = (int32_t)row;
}

/* Add a row if it is within the radius. */
static inline void nmlsdr_within_add(const nmlsdr_within *w, ptrdiff_t query, double squared, ptrdiff_t row)
{
    if (!(squared <= w->limit)) return;
    nmlsdr_within_put(w, w->query_number ? w->query_number[query] : query, squared, w->row_number ? w->row_number[row] : row);
}

/* scratch has memory for two entries of each stored row of the query. */
static void nmlsdr_within_sort(const nmlsdr_within *w, ptrdiff_t query, nmlsdr_found *scratch)
{
    const int64_t first = w->indptr[query];
    const ptrdiff_t n = (ptrdiff_t)(w->indptr[query + 1] - first);
    for (ptrdiff_t p = 0; p < n; p++) scratch[p] = nmlsdr_find(w->squared[first + p], w->columns[first + p]);
    nmlsdr_sort_found(scratch, n, scratch + n, 0);
    for (ptrdiff_t p = 0; p < n; p++) {
        memcpy(&w->squared[first + p], &scratch[p].bits, sizeof(double));
        w->columns[first + p] = (int32_t)scratch[p].row;
    }
}

#endif
