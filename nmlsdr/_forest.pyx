"""Kernels of the forests: growing trees, and adding up the values of their leaves.

Every function fills buffers that forest.py allocated and checked.  A thread owns a tree, or a block of rows.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from "_c/forest.h" nogil:
    ctypedef struct nmlsdr_node:
        int32_t feature, left
        float threshold
    ctypedef struct nmlsdr_growth:
        Py_ssize_t n, d, n_sums, n_padded, n_draws, leaf, n_kinds, most_leaves, first
        uint64_t seed
        const float *data
        const int32_t *indices
        const int32_t *Y
        const int32_t *kinds
        const int64_t *indptr
        nmlsdr_node *nodes
        int32_t *leaves
        int32_t *draws
    int grow_tree "nmlsdr_grow_tree"(const nmlsdr_growth *f, Py_ssize_t t, int level)


def grow(
    const float[::1] data,                # IN  (n * d), or of CSR rows
    const int32_t[::1] indices,           # IN  of CSR rows, or none
    const int64_t[::1] indptr,            # IN  (n + 1)
    Py_ssize_t d, Py_ssize_t C,
    const int32_t[:, ::1] Y,              # IN  (n, C + 2 or more) 0, 1, labels of 0 to 1024, 0 up to a multiple of 8
    const int32_t[:, ::1] kinds,          # IN  (n_kinds, 2) features tried in a node; 1: several thresholds of each
    uint64_t seed, Py_ssize_t n_draws, Py_ssize_t leaf,
    int32_t[:, ::1] draws,                # IN 0 and OUT (n_trees, n) how often a tree drew a row
    nmlsdr_node[:, :, ::1] nodes,         # OUT (n_grown, n_kinds, most nodes)
    int32_t[:, :, :, ::1] leaves,         # OUT (n_grown, n_kinds, most leaves, as Y) rows, draws, labels over these
    Py_ssize_t first, int n_threads, int level,
):
    """Grow the trees from the first on for which there are nodes; return whether there was memory for it."""
    cdef Py_ssize_t t
    cdef int complete = 1
    cdef nmlsdr_growth f
    f.n, f.d, f.n_sums, f.n_padded, f.n_draws, f.leaf, f.seed = Y.shape[0], d, C + 2, Y.shape[1], n_draws, leaf, seed
    f.data = &data[0] if data.shape[0] else NULL
    f.indices, f.indptr, f.Y = &indices[0] if indices.shape[0] else NULL, &indptr[0], &Y[0, 0]
    f.n_kinds, f.kinds, f.most_leaves = kinds.shape[0], &kinds[0, 0], leaves.shape[2]
    f.nodes, f.leaves, f.draws, f.first = &nodes[0, 0, 0], &leaves[0, 0, 0, 0], &draws[0, 0], first
    for t in prange(first, first + nodes.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic", use_threads_if=n_threads > 1):
        complete &= grow_tree(&f, t, level)
    return complete


cdef void add_some(
    Py_ssize_t first, Py_ssize_t end, const float[:, ::1] X, const int64_t[::1] roots, const int32_t[::1] feature,
    const float[::1] threshold, const int32_t[::1] left, const float[:, ::1] values, const int32_t[:, :] draws,
    double[:, ::1] sums) noexcept nogil:
    cdef int32_t at[64]
    cdef Py_ssize_t rows[64]
    cdef Py_ssize_t t, i, a, c, n_rows, n_active
    cdef int32_t node
    for t in range(roots.shape[0] - 1):
        n_rows = 0
        for i in range(first, end):
            rows[n_rows] = i
            at[n_rows] = <int32_t>roots[t]
            n_rows += draws[t, i] == 0
        n_active = n_rows
        while n_active:  # each a level down: their loads overlap
            n_active = 0
            for a in range(n_rows):
                node = at[a]
                if feature[node] >= 0:
                    at[a] = left[node] + (X[rows[a], feature[node]] > threshold[node])
                    n_active += 1
        for a in range(n_rows):
            for c in range(values.shape[1]):
                sums[rows[a], c] += values[left[at[a]], c]


def add_leaves(
    const float[:, ::1] X,                # IN  (n, d)
    const int64_t[::1] roots,             # IN  (n_trees + 1)
    const int32_t[::1] feature,           # IN  (n_nodes)
    const float[::1] threshold,           # IN  (n_nodes)
    const int32_t[::1] left,              # IN  (n_nodes)
    const float[:, ::1] values,           # IN  (n_leaves, C)
    const int32_t[:, :] draws,            # IN  (n_trees, n) a tree counts for the rows that it did not draw
    double[:, ::1] sums,                  # IN and OUT (n, C)
    int n_threads,
):
    """Add for each row the values of its leaves over the trees, in their order."""
    cdef Py_ssize_t b, n = X.shape[0]
    for b in prange((n + 63) // 64, nogil=True, num_threads=n_threads, use_threads_if=n_threads > 1):
        add_some(64 * b, min(n, 64 * b + 64), X, roots, feature, threshold, left, values, draws, sums)
