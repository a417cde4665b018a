/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Few queries among many rows: each thread searches a share of the rows and keeps the k nearest rows of its share for every query.
 *
 * The shares are merged in the order (squared distance, row).  This order is total, so the result does not depend on which
 * thread searched which row.
 */
#ifndef NMLSDR_SHARES_H
#define NMLSDR_SHARES_H

#include "heap.h"
#include "nearest.h"
#include "platform.h"

typedef struct {
    int n_shares;
    ptrdiff_t n_queries, k;
    double *squared;    /* (n queries, k) the first share, later the answer */
    ptrdiff_t *indices;
    double *more;       /* (n shares - 1, n queries, k) the others */
    ptrdiff_t *more_indices;
} nmlsdr_shares;

/* Where the k nearest of query i in one share are: a heap, or a sorted list (nearest.h). */
static double *nmlsdr_shared_squared(const nmlsdr_shares *s, int share, ptrdiff_t i)
{
    return share ? s->more + ((share - 1) * s->n_queries + i) * s->k : s->squared + i * s->k;
}

static ptrdiff_t *nmlsdr_shared_rows(const nmlsdr_shares *s, int share, ptrdiff_t i)
{
    return share ? s->more_indices + ((share - 1) * s->n_queries + i) * s->k : s->indices + i * s->k;
}

static int nmlsdr_shares_new(nmlsdr_memory *memory, nmlsdr_shares *s, int n_shares, ptrdiff_t n_queries, ptrdiff_t k,
                             double *squared, ptrdiff_t *indices)
{
    const ptrdiff_t all = n_queries * k, others = (n_shares - 1) * all;
    *s = (nmlsdr_shares){n_shares, n_queries, k, squared, indices, NULL, NULL};
    s->more = (double *)nmlsdr_new(memory, others, sizeof(double));
    s->more_indices = (ptrdiff_t *)nmlsdr_new(memory, others, sizeof(ptrdiff_t));
    if (memory->failed) return -1;
    nmlsdr_empty_lists(squared, indices, all);
    nmlsdr_empty_lists(s->more, s->more_indices, others);
    return 0;
}

/* Merge all shares into the first, sorted. */
static void nmlsdr_merge_shares(const nmlsdr_shares *s)
{
    const ptrdiff_t k = s->k;
    for (ptrdiff_t i = 0; i < s->n_queries; i++) {
        double *squared = s->squared + i * k;
        ptrdiff_t *indices = s->indices + i * k;
        for (ptrdiff_t p = k / 2; p > 0; p--) nmlsdr_sift_down(squared, indices, p - 1, k); /* a list becomes a heap */
        for (int share = 1; share < s->n_shares; share++) {
            const double *more = nmlsdr_shared_squared(s, share, i);
            const ptrdiff_t *rows = nmlsdr_shared_rows(s, share, i);
            for (ptrdiff_t p = 0; p < k; p++) nmlsdr_heap_offer(squared, indices, k, more[p], rows[p]);
        }
        nmlsdr_heap_sort(squared, indices, k);
    }
}

#endif
