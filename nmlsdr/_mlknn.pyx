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
    cdef Py_ssize_t i, m, j, row, q = neighbors.shape[0], k = neighbors.shape[1], n_labels = Y.shape[1]
    for i in prange(q, nogil=True, num_threads=n_threads, schedule="static"):
        for j in range(n_labels):
            delta[i, j] = 0
        for m in range(k):
            row = neighbors[i, m]
            for j in range(n_labels):
                delta[i, j] += Y[row, j]


def label_histogram(
    const unsigned char[:, ::1] Y,        # IN  (q, C) 0/1, the labels of the counted rows
    const int[:, ::1] delta,              # IN  (q, C) in 0 .. k
    long long[:, :, ::1] histogram,       # INOUT (2, C, k + 1): [1] is c_j[d], [0] is c'_j[d]
    int n_threads,
):
    """histogram[y, j, d] += how many rows have y_ij = y and delta_ij = d."""
    cdef Py_ssize_t task, i, j, n_labels = Y.shape[1], n_tasks = (n_labels + LABELS_PER_TASK - 1) // LABELS_PER_TASK
    # one thread owns the histogram of a block of labels: no locks, no copies per thread
    for task in prange(n_tasks, nogil=True, num_threads=n_threads, schedule="static"):
        for i in range(Y.shape[0]):
            for j in range(task * LABELS_PER_TASK, min(n_labels, (task + 1) * LABELS_PER_TASK)):
                histogram[Y[i, j], j, delta[i, j]] += 1


def look_up_posterior(
    const double[:, ::1] table,           # IN  (C, k + 1)
    const int[:, ::1] delta,              # IN  (q, C) in 0 .. k
    double[:, ::1] posterior,             # OUT (q, C)
    int n_threads,
):
    """posterior_ij = table[j, delta_ij]."""
    cdef Py_ssize_t i, j, q = delta.shape[0], n_labels = delta.shape[1]
    for i in prange(q, nogil=True, num_threads=n_threads, schedule="static"):
        for j in range(n_labels):
            posterior[i, j] = table[j, delta[i, j]]
