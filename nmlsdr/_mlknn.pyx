"""Kernels of ML-kNN: label counts among the neighbours, their histogram, the posterior.

Every function fills buffers that its caller allocated and checked.  Counts are
integers, so no answer depends on the number of threads or on the order of rows.

The posterior of label j for a row depends on one integer only, the number delta
of its neighbours that carry j.  So the formula is evaluated C (k + 1) times, once
for each table entry, and a row looks its posteriors up: equal counts give equal
bits, and a division per row and label is saved.
"""

from cython.parallel cimport prange

# Labels of one histogram task: 16 int32 counts are one cache line of a row.
cdef Py_ssize_t LABELS_PER_TASK = 16


def count_neighbor_labels(
    const unsigned char[:, ::1] Y,        # IN  (n, C) 0/1
    const Py_ssize_t[:, ::1] neighbors,   # IN  (q, k) rows of Y
    int[:, ::1] delta,                    # OUT (q, C)
    int n_threads,
):
    """delta_ij = how many neighbours of row i carry label j."""
    cdef Py_ssize_t i, q = neighbors.shape[0], k = neighbors.shape[1], n_labels = Y.shape[1]
    if q == 0 or n_labels == 0:
        return
    for i in prange(q, nogil=True, num_threads=n_threads, schedule="static"):
        count_row(&Y[0, 0], n_labels, &neighbors[i, 0], k, &delta[i, 0])


cdef void count_row(
    const unsigned char *Y, Py_ssize_t n_labels, const Py_ssize_t *neighbors, Py_ssize_t k, int *delta,
) noexcept nogil:
    cdef Py_ssize_t m, j
    cdef const unsigned char *labels
    for j in range(n_labels):
        delta[j] = 0
    for m in range(k):
        labels = Y + neighbors[m] * n_labels
        for j in range(n_labels):
            delta[j] += labels[j]


def label_histogram(
    const unsigned char[:, ::1] Y,        # IN  (q, C) 0/1, the labels of the counted rows
    const int[:, ::1] delta,              # IN  (q, C) in 0 .. k
    long long[:, :, ::1] histogram,       # INOUT (2, C, k + 1): [1] is c_j[d], [0] is c'_j[d]
    int n_threads,
):
    """histogram[y, j, d] += how many rows have y_ij = y and delta_ij = d."""
    cdef Py_ssize_t task, n_labels = Y.shape[1], n_tasks = (n_labels + LABELS_PER_TASK - 1) // LABELS_PER_TASK
    if Y.shape[0] == 0 or n_labels == 0:
        return
    # one thread owns the histogram of a block of labels: no locks, no copies per thread
    for task in prange(n_tasks, nogil=True, num_threads=n_threads, schedule="static"):
        histogram_block(
            &Y[0, 0], &delta[0, 0], Y.shape[0], n_labels, task * LABELS_PER_TASK,
            min(n_labels, (task + 1) * LABELS_PER_TASK), histogram.shape[2], &histogram[0, 0, 0])


cdef void histogram_block(
    const unsigned char *Y, const int *delta, Py_ssize_t n_rows, Py_ssize_t n_labels,
    Py_ssize_t first, Py_ssize_t stop, Py_ssize_t n_bins, long long *histogram,
) noexcept nogil:
    cdef Py_ssize_t i, j
    for i in range(n_rows):
        for j in range(first, stop):
            histogram[(Y[i * n_labels + j] * n_labels + j) * n_bins + delta[i * n_labels + j]] += 1


def look_up_posterior(
    const double[:, ::1] table,           # IN  (C, k + 1)
    const int[:, ::1] delta,              # IN  (q, C) in 0 .. k
    double[:, ::1] posterior,             # OUT (q, C)
    int n_threads,
):
    """posterior_ij = table[j, delta_ij]."""
    cdef Py_ssize_t i, q = delta.shape[0], n_labels = delta.shape[1]
    if q == 0 or n_labels == 0:
        return
    for i in prange(q, nogil=True, num_threads=n_threads, schedule="static"):
        look_up_row(&table[0, 0], table.shape[1], &delta[i, 0], n_labels, &posterior[i, 0])


cdef void look_up_row(
    const double *table, Py_ssize_t n_bins, const int *delta, Py_ssize_t n_labels, double *posterior,
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n_labels):
        posterior[j] = table[j * n_bins + delta[j]]
