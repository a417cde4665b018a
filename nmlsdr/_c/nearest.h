/* The k nearest rows so far: increasing (squared distance, row), then (inf, PTRDIFF_MAX). */
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

/* One of two, without a branch. */
static inline const nmlsdr_found *nmlsdr_pick(ptrdiff_t first, const nmlsdr_found *a, const nmlsdr_found *b)
{
    return (const nmlsdr_found *)((uintptr_t)b ^ (((uintptr_t)a ^ (uintptr_t)b) & (uintptr_t)-first));
}

/* The sorted halves of x into one, from both ends: two independent chains, none of which can run out of its half. */
static void nmlsdr_merge_halves(const nmlsdr_found *x, ptrdiff_t n, nmlsdr_found *to)
{
    const nmlsdr_found *a = x, *b = x + n / 2, *last_a = b - 1, *last_b = x + n - 1;
    for (ptrdiff_t p = 0; p < n / 2; p++) {
        const ptrdiff_t near = nmlsdr_nearer(*b, *a), far = nmlsdr_nearer(*last_b, *last_a);
        to[p] = *nmlsdr_pick(near, b, a);
        to[n - 1 - p] = *nmlsdr_pick(far, last_a, last_b);
        b += near;
        a += 1 - near;
        last_a -= far;
        last_b -= 1 - far;
    }
    if (n % 2) to[n / 2] = a <= last_a ? *a : *b;
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
