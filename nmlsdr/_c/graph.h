/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels of the graph: W by the OR rule (eq. 2 and 3), W~ (eq. 4) and T (eq. 5).  The caller checks the arguments.
 */
#ifndef NMLSDR_GRAPH_KERNELS_H
#define NMLSDR_GRAPH_KERNELS_H

#include <math.h>
#include <string.h>

#include "platform.h"

enum { NMLSDR_LARGEST_EXPONENT = 990 }; /* of a weight: a row of 2^31 weights of at most 2^990 still has a finite degree */

/* ---------------------------------------------------------------- W */

static int nmlsdr_compare_columns(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The union of two increasing lists without repeats; its length. */
static ptrdiff_t nmlsdr_merge_columns(const int32_t *a, ptrdiff_t n_a, const int32_t *b, ptrdiff_t n_b, int32_t *to)
{
    ptrdiff_t p = 0, q = 0, n = 0;
    while (p < n_a || q < n_b) {
        const int first = q == n_b || (p < n_a && a[p] <= b[q]), second = p == n_a || (q < n_b && b[q] <= a[p]);
        to[n++] = first ? a[p] : b[q];
        p += first;
        q += second;
    }
    return n;
}

/* The binary graph of the OR rule: indptr (n + 1) and columns (at most 2 n k) from neighbors (n, k).  Memory: sorted (n, k),
 * reverse (n k), and first (n + 1) for where the rows begin that have a row among their neighbours.  The rows of neighbors are
 * sorted on return.  0: a neighbour appears twice. */
static int nmlsdr_union_rows(const int32_t *sorted, int32_t *reverse, int64_t *first, ptrdiff_t n, ptrdiff_t k, int64_t *indptr,
                             int32_t *columns)
{
    memset(first, 0, (size_t)(n + 1) * sizeof(int64_t));
    for (ptrdiff_t p = 0; p < n * k; p++) {
        if (p % k && sorted[p] == sorted[p - 1]) return 0;
        first[sorted[p]]++;
    }
    int64_t end = 0;
    for (ptrdiff_t i = 0; i <= n; i++) {
        const int64_t size = first[i];
        first[i] = end;
        end += size;
    }
    for (ptrdiff_t p = 0; p < n * k; p++) reverse[first[sorted[p]]++] = (int32_t)(p / k); /* first becomes the end of each row */

    indptr[0] = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const int64_t from = i ? first[i - 1] : 0;
        indptr[i + 1] = indptr[i] + nmlsdr_merge_columns(sorted + i * k, k, reverse + from, (ptrdiff_t)(first[i] - from),
                                                         columns + indptr[i]);
    }
    return 1;
}

/* Where column j of row i is stored; -1: nowhere. */
static int64_t nmlsdr_edge(const int64_t *indptr, const int32_t *columns, ptrdiff_t i, ptrdiff_t j)
{
    int64_t low = indptr[i], high = indptr[i + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (columns[middle] < j) low = middle + 1;
        else high = middle;
    }
    return low < indptr[i + 1] && columns[low] == j ? low : -1;
}

/* ---------------------------------------------------------------- W~ and T */

/* The power of two that brings weights of an extreme range to a largest of about 2^990; 0 for ordinary ones.  It is even, so W~,
 * which does not depend on the scale of W, keeps its bits; without it, degrees overflow, or products of roots lose digits. */
static int nmlsdr_even_exponent(const double *weights, ptrdiff_t n)
{
    double least = INFINITY, largest = 0;
    int top, bottom;
    for (ptrdiff_t p = 0; p < n; p++) {
        if (weights[p] > largest) largest = weights[p];
        if (weights[p] > 0 && weights[p] < least) least = weights[p];
    }
    if (largest == 0) return 0;
    frexp(largest, &top);
    frexp(least, &bottom);
    if (top <= NMLSDR_LARGEST_EXPONENT && bottom >= -NMLSDR_LARGEST_EXPONENT / 2) return 0;
    return (NMLSDR_LARGEST_EXPONENT - top) / 2 * 2 - ((NMLSDR_LARGEST_EXPONENT - top) % 2 < 0 ? 2 : 0);
}

/* A CSR matrix, whose numbers of columns and pointers may have 4 or 8 bytes. */
typedef struct {
    const double *weights;
    const void *indices, *indptr;
    int wide; /* which of them have 8 bytes: 0 neither, 1 indptr, 3 both */
    ptrdiff_t n;
} nmlsdr_csr_graph;

static inline ptrdiff_t nmlsdr_index_at(const void *indices, ptrdiff_t p, const int wide)
{
    return wide ? (ptrdiff_t)((const int64_t *)indices)[p] : ((const int32_t *)indices)[p];
}

static inline NM_INLINE void nmlsdr_normalize_row(const nmlsdr_csr_graph *W, const double *degree, int stochastic, double *values,
                                                  double *row_sums, ptrdiff_t i, const int wide)
{
    const ptrdiff_t first = nmlsdr_index_at(W->indptr, i, wide & 1), end = nmlsdr_index_at(W->indptr, i + 1, wide & 1);
    const double root = sqrt(degree[i]);
    double total = 0;
    for (ptrdiff_t p = first; p < end; p++) {
        const double other = degree[nmlsdr_index_at(W->indices, p, wide & 2)];
        values[p] = degree[i] > 0 && other > 0 ? W->weights[p] / (root * sqrt(other)) : 0;
        total = total + values[p];
    }
    row_sums[i] = total;
    for (ptrdiff_t p = first; p < end && stochastic && total > 0; p++) values[p] = values[p] / total;
}

/* W~ (stochastic 0) or T in one pass over the rows; a row of degree 0 stays 0.  Out: values (stored), row_sums (n) of W~. */
static void nmlsdr_normalize(const nmlsdr_csr_graph *W, const double *degree, int stochastic, double *values, double *row_sums,
                             int n_threads)
{
    ptrdiff_t i;
    (void)n_threads;
    NMLSDR_OMP(parallel for num_threads(n_threads) schedule(static))
    for (i = 0; i < W->n; i++) {
        if (W->wide == 0) nmlsdr_normalize_row(W, degree, stochastic, values, row_sums, i, 0);
        else if (W->wide == 1) nmlsdr_normalize_row(W, degree, stochastic, values, row_sums, i, 1);
        else nmlsdr_normalize_row(W, degree, stochastic, values, row_sums, i, 3);
    }
}

#endif
