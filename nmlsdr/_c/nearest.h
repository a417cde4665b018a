/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The k nearest rows so far: increasing (squared distance, row), then (inf, PTRDIFF_MAX). */
#ifndef NMLSDR_NEAREST_H
#define NMLSDR_NEAREST_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* n entries of lists of the nearest, or of heaps (heap.h), of which none is found yet. */
static void nmlsdr_empty_lists(double *squared, ptrdiff_t *row, ptrdiff_t n)
{
    for (ptrdiff_t p = 0; p < n; p++) {
        squared[p] = INFINITY;
        row[p] = PTRDIFF_MAX;
    }
}

/* A row that was found.  A squared distance is never negative, so its bits increase with it, and integers are compared
 * without a branch. */
typedef struct {
    uint64_t bits;
    ptrdiff_t row;
} nmlsdr_found;

static inline nmlsdr_found nmlsdr_find(double squared, ptrdiff_t row)
{
    nmlsdr_found x;
    memcpy(&x.bits, &squared, sizeof squared);
    x.row = row;
    return x;
}

static inline ptrdiff_t nmlsdr_nearer(nmlsdr_found a, nmlsdr_found b)
{
    return (a.bits < b.bits) | ((a.bits == b.bits) & (a.row < b.row));
}

/* The sorted halves of x into one.  (From both ends at once, it gained nothing up to k = 40 and 10 % of a search at 80.) */
static void nmlsdr_merge_halves(const nmlsdr_found *x, ptrdiff_t n, nmlsdr_found *to)
{
    const nmlsdr_found *a = x, *b = x + n / 2;
    for (ptrdiff_t p = 0; p < n; p++) {
        const ptrdiff_t second = b < x + n && (a == x + n / 2 || nmlsdr_nearer(*b, *a));
        to[p] = second ? *b : *a;
        b += second;
        a += 1 - second;
    }
}

/* Sort x by merging; the result is in x, or with `away` in spare (n). */
static void nmlsdr_sort_found(nmlsdr_found *x, ptrdiff_t n, nmlsdr_found *spare, int away)
{
    if (n > 4) {
        const ptrdiff_t half = n / 2;
        nmlsdr_sort_found(x, half, spare, !away);
        nmlsdr_sort_found(x + half, n - half, spare + half, !away);
        if (away) nmlsdr_merge_halves(x, n, spare);
        else nmlsdr_merge_halves(spare, n, x);
        return;
    }
    for (ptrdiff_t end = 1; end < n; end++)
        for (ptrdiff_t p = end; p > 0; p--) {
            const nmlsdr_found a = x[p - 1], b = x[p];
            const ptrdiff_t swap = nmlsdr_nearer(b, a);
            x[p - 1] = swap ? b : a;
            x[p] = swap ? a : b;
        }
    if (away) memcpy(spare, x, (size_t)n * sizeof(nmlsdr_found));
}

/* Keep the k nearest of the k so far and of n others in any order; `found` has memory for n more entries. */
static void nmlsdr_keep_nearest(double *squared, ptrdiff_t *row, ptrdiff_t k, nmlsdr_found *x, ptrdiff_t n)
{
    ptrdiff_t own = squared[0] < INFINITY ? k : 0;
    nmlsdr_sort_found(x, n, x + n, 0);
    while (n > 0) { /* from the far end, so that nothing is overwritten that is still to be read */
        const ptrdiff_t to = own + n - 1;
        if (own && nmlsdr_nearer(x[n - 1], nmlsdr_find(squared[own - 1], row[own - 1]))) {
            own--;
            if (to >= k) continue;
            squared[to] = squared[own];
            row[to] = row[own];
        } else {
            n--;
            if (to >= k) continue;
            memcpy(&squared[to], &x[n].bits, sizeof(double));
            row[to] = x[n].row;
        }
    }
}

#endif
