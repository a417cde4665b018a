/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A bounded max-heap of (squared distance, row), the worst at the root.
 * (d, i) is worse than (e, j) if d > e, or d == e and i > j. */
#ifndef NMLSDR_HEAP_H
#define NMLSDR_HEAP_H

#include <stddef.h>

static inline int nmlsdr_worse(double d, ptrdiff_t i, double e, ptrdiff_t j)
{
    return d > e || (d == e && i > j);
}

static inline void nmlsdr_sift_down(double *d, ptrdiff_t *row, ptrdiff_t at, ptrdiff_t size)
{
    double dv = d[at];
    ptrdiff_t rv = row[at];
    for (;;) {
        ptrdiff_t child = 2 * at + 1;
        if (child >= size) break;
        if (child + 1 < size && nmlsdr_worse(d[child + 1], row[child + 1], d[child], row[child])) child++;
        if (!nmlsdr_worse(d[child], row[child], dv, rv)) break;
        d[at] = d[child];
        row[at] = row[child];
        at = child;
    }
    d[at] = dv;
    row[at] = rv;
}

/* Offer one candidate to a heap that holds k entries, initialised to (inf, PTRDIFF_MAX). */
static inline void nmlsdr_heap_offer(double *d, ptrdiff_t *row, ptrdiff_t k, double value, ptrdiff_t index)
{
    if (!nmlsdr_worse(d[0], row[0], value, index)) return;
    d[0] = value;
    row[0] = index;
    nmlsdr_sift_down(d, row, 0, k);
}

/* Heap sort in place: increasing (squared distance, row). */
static inline void nmlsdr_heap_sort(double *d, ptrdiff_t *row, ptrdiff_t k)
{
    for (ptrdiff_t last = k - 1; last > 0; last--) {
        double dv = d[0];
        ptrdiff_t rv = row[0];
        d[0] = d[last];
        row[0] = row[last];
        d[last] = dv;
        row[last] = rv;
        nmlsdr_sift_down(d, row, 0, last);
    }
}

#endif
