/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The neighbour graph for C99 and C++17, without Python: W by the OR rule, and its transition matrix T.
 *
 *     #include <nmlsdr/graph.h>                 and <nmlsdr/neighbors.h>, for the neighbours
 *
 *     code = nmlsdr_nearest(&rows, NULL, NMLSDR_EUCLIDEAN, k, squared, neighbors, 0);
 *     stored = nmlsdr_neighbor_graph(neighbors, n, k, indptr, columns);
 *     code = nmlsdr_rbf_weights(neighbors, squared, n, k, 0.0, indptr, columns, weights);            or weights NULL: all are 1
 *     code = nmlsdr_transition_matrix(indptr, columns, weights, n, values, 0);
 *
 * The results have the bits of `graph.neighbor_graph` and `graph.transition_matrix` in Python, but for weights of
 * nmlsdr_rbf_weights, which pass through exp().  Threads, compiler options, several files and errors are as in neighbors.h.
 *
 * Graphs are CSR matrices of n x n: indptr (n + 1), and columns, which increase within a row.
 */
#ifndef NMLSDR_GRAPH_H
#define NMLSDR_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "begin.h"

#ifdef NMLSDR_IMPLEMENTATION
#include "../../_c/graph.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Build the binary graph W of eq. (3), where i and j are joined if either is among the k nearest of the other.
 * In: the neighbours of each row (n x k); a row is not among its own neighbours, and no neighbour appears twice.  1 <= k < n.
 * Out: indptr (n + 1) and columns (space for 2 n k numbers).
 * Returns the number of stored entries, in which each edge counts twice, or an error code. */
NMLSDR_FUNCTION int64_t nmlsdr_neighbor_graph(const ptrdiff_t *neighbors, ptrdiff_t n, ptrdiff_t k, int64_t *indptr,
                                              int32_t *columns);

/* Compute the weights exp(-d^2 / sigma^2) of eq. (2) on the edges of a graph.
 * In: the neighbours that it was built of, and their squared distances (n x k; of NMLSDR_COSINE twice the distances); sigma >= 0,
 * of which 0 stands for the median over rows of the distance to the k-th neighbour, of those above 0, or 1 if all are 0.
 * Out: weights (one for each stored entry). */
NMLSDR_FUNCTION int nmlsdr_rbf_weights(const ptrdiff_t *neighbors, const double *squared, ptrdiff_t n, ptrdiff_t k, double sigma,
                                       const int64_t *indptr, const int32_t *columns, double *weights);

/* Compute T of eq. (5), which has its entries in the same positions as W.
 * In: W as CSR: symmetric, with increasing columns in each row and no diagonal; weights NULL: every weight is 1.
 * Out: values (one for each stored entry of W).  Each row sums to 1, or is 0 if the row of W is. */
NMLSDR_FUNCTION int nmlsdr_transition_matrix(const int64_t *indptr, const int32_t *columns, const double *weights, ptrdiff_t n,
                                             double *values, int n_threads);

#ifdef NMLSDR_IMPLEMENTATION

/* Copy the neighbours as sorted int32; an error code. */
static int nmlsdr_sort_neighbors(const ptrdiff_t *neighbors, ptrdiff_t n, ptrdiff_t k, int32_t *sorted)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t p = i * k; p < (i + 1) * k; p++) {
            if (neighbors[p] < 0 || neighbors[p] >= n || neighbors[p] == i) return NMLSDR_BAD_GRAPH;
            sorted[p] = (int32_t)neighbors[p];
        }
        qsort(sorted + i * k, (size_t)k, sizeof(int32_t), nmlsdr_compare_columns);
    }
    return NMLSDR_OK;
}

static int nmlsdr_lists_code(const void *neighbors, ptrdiff_t n, ptrdiff_t k, const void *indptr, const void *columns)
{
    if (n < 1 || n > 2147483646) return NMLSDR_BAD_SIZE;
    if (k < 1 || k >= n) return NMLSDR_BAD_K;
    if (k > PTRDIFF_MAX / 64 / n) return NMLSDR_BAD_SIZE;
    return neighbors && indptr && columns ? NMLSDR_OK : NMLSDR_NULL_POINTER;
}

NMLSDR_FUNCTION int64_t nmlsdr_neighbor_graph(const ptrdiff_t *neighbors, ptrdiff_t n, ptrdiff_t k, int64_t *indptr,
                                              int32_t *columns)
{
    int code = nmlsdr_lists_code(neighbors, n, k, indptr, columns);
    if (code != NMLSDR_OK) return code;
    nmlsdr_memory memory = {NULL};
    int32_t *sorted = (int32_t *)nmlsdr_new(&memory, n * k, sizeof(int32_t));
    int32_t *reverse = (int32_t *)nmlsdr_new(&memory, n * k, sizeof(int32_t));
    int64_t *first = (int64_t *)nmlsdr_new(&memory, n + 1, sizeof(int64_t));
    code = memory.failed ? NMLSDR_NO_MEMORY : nmlsdr_sort_neighbors(neighbors, n, k, sorted);
    if (code == NMLSDR_OK && !nmlsdr_union_rows(sorted, reverse, first, n, k, indptr, columns)) code = NMLSDR_BAD_GRAPH;
    nmlsdr_free_all(&memory);
    return code == NMLSDR_OK ? indptr[n] : code;
}

/* Whether indptr and columns are a graph of n rows. */
static int nmlsdr_graph_code(const int64_t *indptr, const int32_t *columns, ptrdiff_t n)
{
    if (n < 1 || n > 2147483646) return NMLSDR_BAD_SIZE;
    if (!indptr) return NMLSDR_NULL_POINTER;
    if (indptr[0] != 0) return NMLSDR_BAD_GRAPH;
    for (ptrdiff_t i = 0; i < n; i++)
        if (indptr[i + 1] < indptr[i]) return NMLSDR_BAD_GRAPH;
    if (indptr[n] && !columns) return NMLSDR_NULL_POINTER;
    for (ptrdiff_t i = 0; i < n; i++)
        for (int64_t p = indptr[i]; p < indptr[i + 1]; p++) {
            const int32_t before = p > indptr[i] ? columns[p - 1] : -1;
            if (columns[p] <= before || columns[p] >= n || columns[p] == i) return NMLSDR_BAD_GRAPH;
        }
    return NMLSDR_OK;
}

static int nmlsdr_compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over rows of the distance to the k-th neighbour, of those above 0, or 1; sorted has memory for n numbers. */
static double nmlsdr_median_width(const double *squared, ptrdiff_t n, ptrdiff_t k, double *sorted)
{
    ptrdiff_t above = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        sorted[above] = sqrt(squared[i * k + k - 1]);
        above += sorted[above] > 0;
    }
    if (above == 0) return 1;
    qsort(sorted, (size_t)above, sizeof(double), nmlsdr_compare_numbers);
    return (sorted[(above - 1) / 2] + sorted[above / 2]) / 2;
}

NMLSDR_FUNCTION int nmlsdr_rbf_weights(const ptrdiff_t *neighbors, const double *squared, ptrdiff_t n, ptrdiff_t k, double sigma,
                                       const int64_t *indptr, const int32_t *columns, double *weights)
{
    int code = nmlsdr_lists_code(neighbors, n, k, indptr, columns);
    if (code == NMLSDR_OK) code = nmlsdr_graph_code(indptr, columns, n);
    if (code == NMLSDR_OK && (!squared || !weights)) code = NMLSDR_NULL_POINTER;
    if (code == NMLSDR_OK && !(sigma >= 0 && sigma < INFINITY)) code = NMLSDR_BAD_VALUE;
    for (ptrdiff_t p = 0; code == NMLSDR_OK && p < n * k; p++)
        if (!(squared[p] >= 0 && squared[p] < INFINITY)) code = NMLSDR_NOT_FINITE;
    if (code != NMLSDR_OK) return code;

    double *sorted = sigma > 0 ? NULL : (double *)malloc((size_t)n * sizeof(double));
    if (sigma == 0 && !sorted) return NMLSDR_NO_MEMORY;
    const double width = sigma > 0 ? sigma : nmlsdr_median_width(squared, n, k, sorted);
    free(sorted);
    for (int64_t p = 0; p < indptr[n]; p++) weights[p] = -1;
    for (ptrdiff_t p = 0; p < n * k; p++) {
        const ptrdiff_t i = p / k, j = neighbors[p];
        if (j < 0 || j >= n) return NMLSDR_BAD_GRAPH;
        const int64_t there = nmlsdr_edge(indptr, columns, i, j), back = nmlsdr_edge(indptr, columns, j, i);
        if (there < 0 || back < 0) return NMLSDR_BAD_GRAPH;
        weights[there] = weights[back] = exp(-(squared[p] / width) / width);
    }
    for (int64_t p = 0; p < indptr[n]; p++)
        if (weights[p] < 0) return NMLSDR_BAD_GRAPH; /* an edge of other neighbours */
    return NMLSDR_OK;
}

/* Copy the weights, made symmetric where they differ by rounding alone; an error code. */
static int nmlsdr_symmetric_weights(const int64_t *indptr, const int32_t *columns, const double *weights, ptrdiff_t n,
                                    double *symmetric)
{
    double largest = 0;
    for (int64_t p = 0; p < indptr[n]; p++) {
        symmetric[p] = weights ? weights[p] : 1;
        if (!(symmetric[p] < INFINITY && symmetric[p] > -INFINITY)) return NMLSDR_NOT_FINITE;
        largest = symmetric[p] > largest ? symmetric[p] : largest;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        for (int64_t p = indptr[i]; p < indptr[i + 1]; p++) {
            const int64_t back = nmlsdr_edge(indptr, columns, columns[p], i);
            if (back < 0 || symmetric[p] < 0 || fabs(symmetric[p] - symmetric[back]) > 1e-12 * largest) return NMLSDR_BAD_VALUE;
        }
    for (ptrdiff_t i = 0; i < n; i++)
        for (int64_t p = indptr[i]; p < indptr[i + 1]; p++) {
            if (columns[p] < i) continue;
            const int64_t back = nmlsdr_edge(indptr, columns, columns[p], i);
            const double here = symmetric[p], there = symmetric[back];
            symmetric[p] = here + (there - here) * 0.5;
            symmetric[back] = there + (here - there) * 0.5;
        }
    return NMLSDR_OK;
}

NMLSDR_FUNCTION int nmlsdr_transition_matrix(const int64_t *indptr, const int32_t *columns, const double *weights, ptrdiff_t n,
                                             double *values, int n_threads)
{
    int code = nmlsdr_graph_code(indptr, columns, n);
    if (code != NMLSDR_OK) return code;
    const ptrdiff_t stored = (ptrdiff_t)indptr[n];
    if (stored && !values) return NMLSDR_NULL_POINTER;
    nmlsdr_memory memory = {NULL};
    double *symmetric = (double *)nmlsdr_new(&memory, stored, sizeof(double));
    double *degree = (double *)nmlsdr_new(&memory, n, sizeof(double));
    double *row_sums = (double *)nmlsdr_new(&memory, n, sizeof(double));
    code = memory.failed ? NMLSDR_NO_MEMORY : nmlsdr_symmetric_weights(indptr, columns, weights, n, symmetric);
    if (code == NMLSDR_OK) {
        const int exponent = nmlsdr_even_exponent(symmetric, stored);
        for (ptrdiff_t i = 0; i < n; i++) {
            degree[i] = 0;
            for (int64_t p = indptr[i]; p < indptr[i + 1]; p++) {
                symmetric[p] = exponent ? ldexp(symmetric[p], exponent) : symmetric[p];
                degree[i] += symmetric[p];
            }
        }
        const nmlsdr_csr_graph W = {symmetric, columns, indptr, 1, n};
        nmlsdr_normalize(&W, degree, 1, values, row_sums, nmlsdr_worthwhile(nmlsdr_threads(n_threads), (double)stored / 50e3));
    }
    nmlsdr_free_all(&memory);
    return code;
}

#endif

#ifdef __cplusplus
}
#endif

#include "end.h"

#endif
