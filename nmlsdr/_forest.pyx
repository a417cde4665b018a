"""Kernels of the forests: growing trees, and adding up the values of their leaves.

Every function fills buffers that forest.py allocated and checked.  A thread owns a tree, or a block of rows.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef extern from "_c/forest.h" nogil:
    ctypedef struct nmlsdr_growth:
        Py_ssize_t n, d, C, draws, leaf, n_kinds, most_nodes, most_leaves
        const float *data
        const int32_t *indices
        const int64_t *indptr
        const int32_t *Y
        const int32_t *kinds
        uint64_t seed
        int32_t *feature
        int32_t *left
        float *threshold
        float *values
        int32_t *weights
        uint8_t *left_out
    int grow_tree "nmlsdr_grow_tree"(const nmlsdr_growth *f, Py_ssize_t t, int level)


def grow(
    const float[::1] data,                # IN  (n * d), or of CSR rows
    const int32_t[::1] indices,           # IN  of CSR rows, or none
    const int64_t[::1] indptr,            # IN  (n + 1) of CSR rows, or none
    Py_ssize_t d,
    const int32_t[:, ::1] Y,              # IN  (n, C) 0 .. 1024
    const int32_t[:, ::1] kinds,          # IN  (n_kinds, 2) features tried in a node; 1: several thresholds of each
    uint64_t seed,
    Py_ssize_t draws,
    Py_ssize_t leaf,
    int32_t[:, :, ::1] feature,           # OUT (n_trees, n_kinds, most nodes), -1 for a leaf
    int32_t[:, :, ::1] left,              # OUT as feature: the left child, before the right one; the number of a leaf
    float[:, :, ::1] threshold,           # OUT as feature
    float[:, :, :, ::1] values,           # OUT (n_trees, n_kinds, most leaves, C)
    int32_t[:, :, ::1] weights,           # OUT (n_trees, n_kinds, most leaves) draws
    uint8_t[:, ::1] left_out,             # OUT (n_trees, n)
    Py_ssize_t first,
    Py_ssize_t end,
    int n_threads,
    int level,
):
    """Grow the trees from the first on, as far as there are ``end``; return whether there was memory for it."""
    cdef nmlsdr_growth f
    cdef Py_ssize_t t
    cdef int complete = 1
    f.n, f.d, f.data = Y.shape[0], d, &data[0] if data.shape[0] else NULL
    f.indices = &indices[0] if indices.shape[0] else NULL
    f.indptr = &indptr[0] if indptr.shape[0] else NULL
    f.Y, f.C, f.draws, f.leaf, f.seed = &Y[0, 0], Y.shape[1], draws, leaf, seed
    f.n_kinds, f.kinds, f.most_nodes, f.most_leaves = kinds.shape[0], &kinds[0, 0], feature.shape[2], values.shape[2]
    f.feature, f.left, f.threshold = &feature[0, 0, 0], &left[0, 0, 0], &threshold[0, 0, 0]
    f.values, f.weights, f.left_out = &values[0, 0, 0, 0], &weights[0, 0, 0], &left_out[0, 0]
    for t in prange(first, end, nogil=True, num_threads=n_threads, schedule="dynamic", use_threads_if=n_threads > 1):
        complete &= grow_tree(&f, t, level)
    return complete


cdef void add_some(
    Py_ssize_t first, Py_ssize_t end, const float[:, ::1] X, const int64_t[::1] roots, const int32_t[::1] feature,
    const float[::1] threshold, const int32_t[::1] left, const float[:, ::1] values, const uint8_t[:, :] counted,
    double[:, ::1] sums) noexcept nogil:
    cdef int32_t at[64]
    cdef Py_ssize_t rows[64]
    cdef Py_ssize_t active[64]
    cdef Py_ssize_t t, i, a, c, n_rows, n_active, below
    cdef int32_t node
    for t in range(roots.shape[0] - 1):
        n_rows = 0
        for i in range(first, end):
            rows[n_rows] = active[n_rows] = i
            at[i - first] = <int32_t>roots[t]
            n_rows += counted[t, i]
        n_active = 0 if feature[roots[t]] < 0 else n_rows
        while n_active:  # each a level down: their loads overlap, 2 times as fast as one row after the other
            below = 0
            for a in range(n_active):
                i = active[below] = active[a]
                node = at[i - first]
                at[i - first] = node = left[node] + (X[i, feature[node]] > threshold[node])
                below += feature[node] >= 0
            n_active = below
        for a in range(n_rows):
            i = rows[a]
            for c in range(values.shape[1]):
                sums[i, c] += values[left[at[i - first]], c]


def add_leaves(
    const float[:, ::1] X,                # IN  (n, d)
    const int64_t[::1] roots,             # IN  (n_trees + 1)
    const int32_t[::1] feature,           # IN  (n_nodes)
    const float[::1] threshold,           # IN  (n_nodes)
    const int32_t[::1] left,              # IN  (n_nodes)
    const float[:, ::1] values,           # IN  (n_leaves, C)
    const uint8_t[:, :] counted,          # IN  (n_trees, n) 1, or 0 for a tree that does not count for a row
    double[:, ::1] sums,                  # IN and OUT (n, C)
    int n_threads,
):
    """Add for each row the values of its leaves over the trees, in their order."""
    cdef Py_ssize_t b, n = X.shape[0]
    for b in prange((n + 63) // 64, nogil=True, num_threads=n_threads, use_threads_if=n_threads > 1):
        add_some(64 * b, min(n, 64 * b + 64), X, roots, feature, threshold, left, values, counted, sums)
