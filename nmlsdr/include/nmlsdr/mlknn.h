/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ML-kNN for C99 and C++17, without Python: from the labels and the neighbours of rows to probabilities of labels.
 *
 *     #include <nmlsdr/mlknn.h>                 and <nmlsdr/neighbors.h>, for the neighbours
 *
 *     code = nmlsdr_nearest(&rows, NULL, NMLSDR_EUCLIDEAN, k, distances, neighbors, 0);              training rows
 *     code = nmlsdr_mlknn_fit(Y, n, n_labels, neighbors, k, 1.0, prior, table, 0);
 *     code = nmlsdr_nearest(&rows, &queries, NMLSDR_EUCLIDEAN, k, distances, neighbors, 0);          new rows
 *     code = nmlsdr_mlknn_posterior(table, Y, n, n_labels, neighbors, q, k, probabilities, 0);
 *
 * The results have the bits of `mlknn.fit_posterior` and `mlknn.posterior` in Python.  Threads, compiler options, several files and
 * errors are as in neighbors.h.
 *
 * Labels Y are n x n_labels bytes of 0 or 1 in C order, and neighbors n x k row numbers, as nmlsdr_nearest gives them.
 */
#ifndef NMLSDR_MLKNN_H
#define NMLSDR_MLKNN_H

#include <stddef.h>

#include "begin.h"

#ifdef NMLSDR_IMPLEMENTATION
#include "../../_c/mlknn.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Count how many of the k neighbours of each of q rows have each label.
 * Out: counts (q x n_labels). */
NMLSDR_FUNCTION int nmlsdr_label_counts(const unsigned char *Y, ptrdiff_t n, ptrdiff_t n_labels, const ptrdiff_t *neighbors,
                                        ptrdiff_t q, ptrdiff_t k, int *counts, int n_threads);

/* Learn the tables from the labels of the n training rows and their neighbours (n x k), of which a row is none of its own.
 * In: smoothing, the number that is added to every count: above 0, at most 1e100; usually 1.  1 <= k < n.
 * Out: prior (n_labels), the probability of each label; table (n_labels x (k + 1)), that of each label for a row of whose
 * neighbours 0, 1, ... k have it. */
NMLSDR_FUNCTION int nmlsdr_mlknn_fit(const unsigned char *Y, ptrdiff_t n, ptrdiff_t n_labels, const ptrdiff_t *neighbors,
                                     ptrdiff_t k, double smoothing, double *prior, double *table, int n_threads);

/* Look up the probability of every label for each of q rows, of which the neighbours among the training rows are given (q x k).
 * Only the labels of these neighbours are read: a call for one row takes k x n_labels additions.
 * In: table of nmlsdr_mlknn_fit with the same labels and k.
 * Out: probabilities (q x n_labels); the label is predicted from .5 on. */
NMLSDR_FUNCTION int nmlsdr_mlknn_posterior(const double *table, const unsigned char *Y, ptrdiff_t n, ptrdiff_t n_labels,
                                           const ptrdiff_t *neighbors, ptrdiff_t q, ptrdiff_t k, double *probabilities,
                                           int n_threads);

#ifdef NMLSDR_IMPLEMENTATION

/* Labels and neighbours of q rows; `exclude_self`: row i is none of its own neighbours. */
static int nmlsdr_labels_code(const unsigned char *Y, ptrdiff_t n, ptrdiff_t n_labels, const ptrdiff_t *neighbors, ptrdiff_t q,
                              ptrdiff_t k, int exclude_self)
{
    const ptrdiff_t most = 2147483646;
    if (n < 1 || n > most || n_labels < 1 || n_labels > most || q < 0 || q > most) return NMLSDR_BAD_SIZE;
    if (k < 1 || k > n - exclude_self) return NMLSDR_BAD_K;
    if (n_labels > PTRDIFF_MAX / 64 / (k + 1) || (q && (k > PTRDIFF_MAX / 64 / q || n_labels > PTRDIFF_MAX / 64 / q)))
        return NMLSDR_BAD_SIZE;
    if (!Y || (q && !neighbors)) return NMLSDR_NULL_POINTER;
    for (ptrdiff_t i = 0; i < q; i++)
        for (ptrdiff_t m = 0; m < k; m++) {
            const ptrdiff_t row = neighbors[i * k + m];
            if (row < 0 || row >= n || (exclude_self && row == i)) return NMLSDR_BAD_GRAPH;
        }
    return NMLSDR_OK;
}

/* Whether the labels of these rows are 0 and 1: all n, or the neighbours. */
static int nmlsdr_bits_code(const unsigned char *Y, ptrdiff_t n, ptrdiff_t n_labels, const ptrdiff_t *neighbors)
{
    unsigned char all = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const unsigned char *labels = Y + (neighbors ? neighbors[i] : i) * n_labels;
        for (ptrdiff_t j = 0; j < n_labels; j++) all |= labels[j];
    }
    return all > 1 ? NMLSDR_BAD_VALUE : NMLSDR_OK;
}

/* The threads that are worth waking for so many labels of neighbours, as in Python. */
static int nmlsdr_threads_of_labels(ptrdiff_t rows, ptrdiff_t k, ptrdiff_t n_labels, int n_threads)
{
    return nmlsdr_worthwhile(nmlsdr_threads(n_threads), (double)rows * (double)k * (double)n_labels / 300e3);
}

NMLSDR_FUNCTION int nmlsdr_label_counts(const unsigned char *Y, ptrdiff_t n, ptrdiff_t n_labels, const ptrdiff_t *neighbors,
                                        ptrdiff_t q, ptrdiff_t k, int *counts, int n_threads)
{
    int code = nmlsdr_labels_code(Y, n, n_labels, neighbors, q, k, 0);
    if (code == NMLSDR_OK && q && !counts) code = NMLSDR_NULL_POINTER;
    if (code == NMLSDR_OK) code = nmlsdr_bits_code(Y, q * k, n_labels, neighbors);
    if (code != NMLSDR_OK) return code;
    nmlsdr_labels_of_rows(Y, n_labels, neighbors, q, k, counts, nmlsdr_threads_of_labels(q, k, n_labels, n_threads));
    return NMLSDR_OK;
}

NMLSDR_FUNCTION int nmlsdr_mlknn_fit(const unsigned char *Y, ptrdiff_t n, ptrdiff_t n_labels, const ptrdiff_t *neighbors,
                                     ptrdiff_t k, double smoothing, double *prior, double *table, int n_threads)
{
    int code = nmlsdr_labels_code(Y, n, n_labels, neighbors, n, k, 1);
    if (code == NMLSDR_OK && (!prior || !table)) code = NMLSDR_NULL_POINTER;
    if (code == NMLSDR_OK) code = nmlsdr_bits_code(Y, n, n_labels, NULL);
    if (code == NMLSDR_OK && !(smoothing > 0 && smoothing <= 1e100)) code = NMLSDR_BAD_VALUE;
    if (code != NMLSDR_OK) return code;

    const ptrdiff_t budget = ((ptrdiff_t)1 << 22) / n_labels, block = budget > n ? n : budget < 1 ? 1 : budget;
    nmlsdr_memory memory = {NULL};
    const ptrdiff_t bins = 2 * n_labels * (k + 1);
    long long *histogram = (long long *)nmlsdr_new(&memory, bins, sizeof(long long));
    int *counts = (int *)nmlsdr_new(&memory, block * n_labels, sizeof(int));
    if (!memory.failed) {
        memset(histogram, 0, (size_t)bins * sizeof(long long));
        for (ptrdiff_t first = 0; first < n; first += block) {
            const ptrdiff_t rows = n - first < block ? n - first : block;
            const int threads = nmlsdr_threads_of_labels(rows, k, n_labels, n_threads);
            nmlsdr_labels_of_rows(Y, n_labels, neighbors + first * k, rows, k, counts, threads);
            nmlsdr_add_histogram(Y + first * n_labels, counts, rows, n_labels, k, histogram, threads);
        }
        nmlsdr_posterior_tables(histogram, n_labels, k, smoothing, prior, NULL, NULL, table);
    }
    nmlsdr_free_all(&memory);
    return memory.failed ? NMLSDR_NO_MEMORY : NMLSDR_OK;
}

NMLSDR_FUNCTION int nmlsdr_mlknn_posterior(const double *table, const unsigned char *Y, ptrdiff_t n, ptrdiff_t n_labels,
                                           const ptrdiff_t *neighbors, ptrdiff_t q, ptrdiff_t k, double *probabilities,
                                           int n_threads)
{
    int code = nmlsdr_labels_code(Y, n, n_labels, neighbors, q, k, 0);
    if (code == NMLSDR_OK && (!table || (q && !probabilities))) code = NMLSDR_NULL_POINTER;
    if (code == NMLSDR_OK) code = nmlsdr_bits_code(Y, q * k, n_labels, neighbors);
    if (code != NMLSDR_OK || q == 0) return code;

    int few[256]; /* malloc takes longer than one row */
    const ptrdiff_t budget = ((ptrdiff_t)1 << 20) / n_labels, block = budget > q ? q : budget < 1 ? 1 : budget;
    int *counts = block * n_labels <= 256 ? few : (int *)malloc((size_t)(block * n_labels) * sizeof(int));
    if (!counts) return NMLSDR_NO_MEMORY;
    for (ptrdiff_t first = 0; first < q; first += block) {
        const ptrdiff_t rows = q - first < block ? q - first : block;
        const int threads = nmlsdr_threads_of_labels(rows, k, n_labels, n_threads);
        nmlsdr_labels_of_rows(Y, n_labels, neighbors + first * k, rows, k, counts, threads);
        nmlsdr_posterior_of_counts(table, counts, rows, n_labels, k, probabilities + first * n_labels, threads);
    }
    if (counts != few) free(counts);
    return NMLSDR_OK;
}

#endif

#ifdef __cplusplus
}
#endif

#include "end.h"

#endif
