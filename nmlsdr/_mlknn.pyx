"""Kernels of ML-kNN, over _c/mlknn.h: label counts among the neighbours, their histogram, the posterior.

Every function fills buffers that its caller allocated and checked.
"""

cdef extern from "_c/mlknn.h" nogil:
    void labels_of_rows "nmlsdr_labels_of_rows"(
        const unsigned char *Y, Py_ssize_t n_labels, const Py_ssize_t *neighbors, Py_ssize_t q, Py_ssize_t k,
        int *counts, int n_threads)
    void add_histogram "nmlsdr_add_histogram"(
        const unsigned char *Y, const int *counts, Py_ssize_t n, Py_ssize_t n_labels, Py_ssize_t k,
        long long *histogram, int n_threads)
    void tables "nmlsdr_posterior_tables"(
        const long long *histogram, Py_ssize_t n_labels, Py_ssize_t k, double s, double *prior, double *with_label,
        double *without_label, double *posterior)
    void posterior_of_counts "nmlsdr_posterior_of_counts"(
        const double *table, const int *counts, Py_ssize_t q, Py_ssize_t n_labels, Py_ssize_t k, double *probability,
        int n_threads)


def count_neighbor_labels(
    const unsigned char[:, ::1] Y,        # IN  (n, C) 0/1
    const Py_ssize_t[:, ::1] neighbors,   # IN  (q, k) rows of Y
    int[:, ::1] delta,                    # OUT (q, C)
    int n_threads,
):
    """delta_ij = how many neighbours of row i carry label j."""
    if delta.shape[0] == 0 or delta.shape[1] == 0:
        return
    with nogil:
        labels_of_rows(&Y[0, 0], Y.shape[1], &neighbors[0, 0], neighbors.shape[0], neighbors.shape[1], &delta[0, 0],
                       n_threads)


def label_histogram(
    const unsigned char[:, ::1] Y,        # IN  (q, C) 0/1, the labels of the counted rows
    const int[:, ::1] delta,              # IN  (q, C) in 0 .. k
    long long[:, :, ::1] histogram,       # INOUT (2, C, k + 1): [1] is c_j[d], [0] is c'_j[d]
    int n_threads,
):
    """histogram[y, j, d] += how many rows have y_ij = y and delta_ij = d."""
    if delta.shape[0] == 0 or delta.shape[1] == 0:
        return
    with nogil:
        add_histogram(&Y[0, 0], &delta[0, 0], Y.shape[0], Y.shape[1], histogram.shape[2] - 1, &histogram[0, 0, 0],
                      n_threads)


def posterior_tables(
    const long long[:, :, ::1] histogram,  # IN  (2, C, k + 1)
    double smoothing,                      # s > 0
    double[::1] prior,                     # OUT (C)
    double[:, ::1] with_label,             # OUT (C, k + 1)
    double[:, ::1] without_label,          # OUT (C, k + 1)
    double[:, ::1] posterior,              # OUT (C, k + 1)
):
    """Prior_j, P(d | 1), P(d | 0) and r_j(d)."""
    if prior.shape[0] == 0:
        return
    with nogil:
        tables(&histogram[0, 0, 0], prior.shape[0], histogram.shape[2] - 1, smoothing, &prior[0], &with_label[0, 0],
               &without_label[0, 0], &posterior[0, 0])


def look_up_posterior(
    const double[:, ::1] table,           # IN  (C, k + 1)
    const int[:, ::1] delta,              # IN  (q, C) in 0 .. k
    double[:, ::1] posterior,             # OUT (q, C)
    int n_threads,
):
    """posterior_ij = table[j, delta_ij]."""
    if delta.shape[0] == 0 or delta.shape[1] == 0:
        return
    with nogil:
        posterior_of_counts(&table[0, 0], &delta[0, 0], delta.shape[0], delta.shape[1], table.shape[1] - 1,
                            &posterior[0, 0], n_threads)
