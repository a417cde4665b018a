/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels of ML-kNN: label counts among the neighbours, their histogram, the tables of the posterior, and its look-up.
 *
 * Counts are integers, so no result depends on the number of threads or on the order of rows.  The posterior of a label depends on
 * one integer only, the number of neighbours that have the label.  So the formula is evaluated once for each label and number, and
 * a row looks its posteriors up: equal counts give equal bits, which ranking metrics need, and no row needs a division.
 *
 * Labels are n_labels bytes of 0 or 1 for each row.  The caller checks the arguments.
 */
#ifndef NMLSDR_MLKNN_KERNELS_H
#define NMLSDR_MLKNN_KERNELS_H

#include <string.h>

#include "platform.h"

enum { NMLSDR_LABELS_OF_TASK = 16 }; /* of the histogram: so many counts are one cache line of a row */

/* count (n_labels): how many of the k rows have each label. */
static void nmlsdr_labels_of_row(const unsigned char *Y, ptrdiff_t n_labels, const ptrdiff_t *neighbors, ptrdiff_t k, int *count)
{
    memset(count, 0, (size_t)n_labels * sizeof(int));
    for (ptrdiff_t m = 0; m < k; m++) {
        const unsigned char *labels = Y + neighbors[m] * n_labels;
        for (ptrdiff_t j = 0; j < n_labels; j++) count[j] += labels[j];
    }
}

/* The same for q rows: neighbors (q, k), counts (q, n_labels). */
static void nmlsdr_labels_of_rows(const unsigned char *Y, ptrdiff_t n_labels, const ptrdiff_t *neighbors, ptrdiff_t q,
                                  ptrdiff_t k, int *counts, int n_threads)
{
    ptrdiff_t i;
    (void)n_threads; /* without OpenMP */
    NMLSDR_OMP(parallel for num_threads(n_threads) schedule(static))
    for (i = 0; i < q; i++) nmlsdr_labels_of_row(Y, n_labels, neighbors + i * k, k, counts + i * n_labels);
}

/* Add to histogram (2, n_labels, k + 1): of the n rows, how many have y_ij = y and count_ij = d. */
static void nmlsdr_add_histogram(const unsigned char *Y, const int *counts, ptrdiff_t n, ptrdiff_t n_labels, ptrdiff_t k,
                                 long long *histogram, int n_threads)
{
    const ptrdiff_t n_tasks = (n_labels + NMLSDR_LABELS_OF_TASK - 1) / NMLSDR_LABELS_OF_TASK, bins = k + 1;
    ptrdiff_t task;
    (void)n_threads;
    NMLSDR_OMP(parallel for num_threads(n_threads) schedule(static)) /* a block of labels belongs to one thread */
    for (task = 0; task < n_tasks; task++) {
        const ptrdiff_t first = task * NMLSDR_LABELS_OF_TASK, end = first + NMLSDR_LABELS_OF_TASK;
        const ptrdiff_t last = end < n_labels ? end : n_labels;
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = first; j < last; j++) {
                const ptrdiff_t at = i * n_labels + j;
                histogram[(Y[at] * n_labels + j) * bins + counts[at]]++;
            }
    }
}

static double nmlsdr_sum_of_bins(const long long *bin, ptrdiff_t bins)
{
    long long sum = 0;
    for (ptrdiff_t d = 0; d < bins; d++) sum += bin[d];
    return (double)sum;
}

/* prior (n_labels), with_label, without_label and posterior (n_labels, k + 1) from a histogram and the smoothing s; the first two
 * tables may be NULL.  The authors' program has the same operations in the same order, so the results are equal to the last bit. */
static void nmlsdr_posterior_tables(const long long *histogram, ptrdiff_t n_labels, ptrdiff_t k, double s, double *prior,
                                    double *with_label, double *without_label, double *posterior)
{
    const ptrdiff_t bins = k + 1;
    for (ptrdiff_t j = 0; j < n_labels; j++) {
        const long long *without = histogram + j * bins, *with = histogram + (n_labels + j) * bins;
        const double n_with = nmlsdr_sum_of_bins(with, bins), n_without = nmlsdr_sum_of_bins(without, bins);
        const double first = (s + n_with) / (2 * s + (n_with + n_without));
        prior[j] = first;
        for (ptrdiff_t d = 0; d < bins; d++) {
            const double if_true = (s + (double)with[d]) / (s * (double)bins + n_with);
            const double if_false = (s + (double)without[d]) / (s * (double)bins + n_without);
            const double in_favour = first * if_true;
            const double total = in_favour + (1 - first) * if_false;
            if (with_label) with_label[j * bins + d] = if_true;
            if (without_label) without_label[j * bins + d] = if_false;
            /* both products can underflow if the smoothing is near the smallest number */
            posterior[j * bins + d] = total > 0 ? in_favour / total : first;
        }
    }
}

/* probability_ij = table[j, count_ij], of q rows. */
static void nmlsdr_posterior_of_counts(const double *table, const int *counts, ptrdiff_t q, ptrdiff_t n_labels, ptrdiff_t k,
                                       double *probability, int n_threads)
{
    ptrdiff_t i;
    (void)n_threads;
    NMLSDR_OMP(parallel for num_threads(n_threads) schedule(static))
    for (i = 0; i < q; i++)
        for (ptrdiff_t j = 0; j < n_labels; j++) probability[i * n_labels + j] = table[j * (k + 1) + counts[i * n_labels + j]];
}

#endif
