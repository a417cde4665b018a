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
        Py_ssize_t n, d, n_sums, n_padded, n_draws, leaf, n_kinds, most_leaves
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
    nmlsdr_node[:, :, ::1] nodes,         # OUT (n_trees, n_kinds, most nodes)
    int32_t[:, :, :, ::1] leaves,         # OUT (n_trees, n_kinds, most leaves, as Y) rows, draws, labels over these
    int32_t[:, ::1] draws,                # IN 0 and OUT (n_trees, n) how often a tree drew a row
    Py_ssize_t first, Py_ssize_t end, int n_threads, int level,
):
    """Grow the trees from the first on, as far as there are ``end``; return whether there was memory for it."""
    cdef Py_ssize_t t
    cdef int complete = 1
    cdef nmlsdr_growth f
    f.n, f.d, f.n_sums, f.n_padded, f.n_draws, f.leaf, f.seed = Y.shape[0], d, C + 2, Y.shape[1], n_draws, leaf, seed
    f.data = &data[0] if data.shape[0] else NULL
    f.indices, f.indptr, f.Y = &indices[0] if indices.shape[0] else NULL, &indptr[0], &Y[0, 0]
    f.n_kinds, f.kinds, f.most_leaves = kinds.shape[0], &kinds[0, 0], leaves.shape[2]
    f.nodes, f.leaves, f.draws = &nodes[0, 0, 0], &leaves[0, 0, 0, 0], &draws[0, 0]
    for t in prange(first, end, nogil=True, num_threads=n_threads, schedule="dynamic", use_threads_if=n_threads > 1):
        complete &= grow_tree(&f, t, level)
    return complete


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
    cdef Py_ssize_t b, t, i, c
    cdef int32_t node
    cdef Py_ssize_t n = X.shape[0], n_trees = roots.shape[0] - 1, C = values.shape[1]
    for b in prange((n + 63) // 64, nogil=True, num_threads=n_threads, use_threads_if=n_threads > 1):
        for t in range(n_trees):
            for i in range(64 * b, min(n, 64 * b + 64)):
                if draws[t, i] == 0:
                    node = <int32_t>roots[t]
                    while feature[node] >= 0:
                        node = left[node] + (X[i, feature[node]] > threshold[node])
                    for c in range(C):
                        sums[i, c] += values[left[node], c]
