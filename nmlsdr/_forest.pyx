"""Kernels of the forests: growing trees, and adding up the values of their leaves.

Every function fills buffers that forest.py allocated and checked.  A thread owns a tree, or a block of rows.
"""

from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t

cdef extern from "_c/boosting.h" nogil:
    ctypedef struct nmlsdr_node:
        int32_t feature, left
        float threshold
    ctypedef struct nmlsdr_growth:
        Py_ssize_t n, d, n_labels, n_sums, n_padded, n_draws, leaf, most_depth, n_kinds, most_leaves
        uint64_t seed
        const float *data
        const int8_t *codes
        const int16_t *Y
        const int32_t *indices
        const int32_t *kinds
        const int64_t *indptr
        nmlsdr_node *nodes
        int32_t *n_leaves
        int32_t *draws
        int32_t *rows
    ctypedef struct nmlsdr_boosting:
        nmlsdr_growth f
        Py_ssize_t first
        double rate, penalty
        const float *Y
        const int32_t *fold
        float *F
        float *values
        int32_t *weights
        double *errors
    int boost_fold "nmlsdr_boost"(const nmlsdr_boosting *b, Py_ssize_t fold, Py_ssize_t n_rounds, int level)
    int grow_tree "nmlsdr_grow_tree"(const nmlsdr_growth *f, Py_ssize_t t, int level)
    void fill_tree "nmlsdr_fill_leaves"(
        const int32_t *rows, Py_ssize_t n_leaves, const int16_t *Y, Py_ssize_t n_labels, const int32_t *draws,
        double rate, double penalty, int32_t *sums, int32_t *weights, float *values)


def grow(
    const float[::1] data,                # IN  (n * d), or of CSR rows
    const int32_t[::1] indices,           # IN  of CSR rows, or none
    const int64_t[::1] indptr,            # IN  (n + 1)
    Py_ssize_t d,
    const int16_t[:, ::1] Y,              # IN  (n, C) labels of 0 to 1024
    Py_ssize_t n_sums,                    # of labels, by which splits are chosen; C: by the labels themselves
    const int32_t[:, ::1] kinds,          # IN  (n_kinds, 2) features tried in a node; 1: several thresholds of each
    uint64_t seed, Py_ssize_t n_draws, Py_ssize_t leaf,
    int32_t[:, ::1] draws,                # IN 0 and OUT (n_trees, n) how often a tree drew a row
    nmlsdr_node[:, :, ::1] nodes,         # OUT (n_trees, n_kinds, most nodes)
    int32_t[:, ::1] n_leaves,             # OUT (n_trees, n_kinds)
    int32_t[:, :, ::1] rows,              # OUT (n_trees, n_kinds, n_draws or n) drawn, leaf by leaf, the last as ~row
    Py_ssize_t first, Py_ssize_t end, int n_threads, int level,
):
    """Grow trees from the first up to the end; return whether there was memory for it."""
    cdef Py_ssize_t t
    cdef int complete = 1
    cdef nmlsdr_growth f
    f.n, f.d, f.n_labels, f.n_sums, f.n_padded = Y.shape[0], d, Y.shape[1], n_sums + 2, (n_sums + 9) // 8 * 8
    f.n_draws, f.leaf, f.most_leaves, f.seed = n_draws, leaf, (nodes.shape[2] + 1) // 2, seed
    f.data = &data[0] if data.shape[0] else NULL
    f.indices, f.indptr, f.Y = &indices[0] if indices.shape[0] else NULL, &indptr[0], &Y[0, 0]
    f.n_kinds, f.kinds, f.most_depth = kinds.shape[0], &kinds[0, 0], Y.shape[0]
    f.nodes, f.n_leaves, f.draws, f.rows = &nodes[0, 0, 0], &n_leaves[0, 0], &draws[0, 0], &rows[0, 0, 0]
    f.codes = NULL
    for t in prange(first, end, nogil=True, num_threads=n_threads, schedule="dynamic", use_threads_if=n_threads > 1):
        complete &= grow_tree(&f, t, level)
    return complete


def fill_leaves(
    const int32_t[:, :] rows,             # IN  (n_trees, n_draws or n) as from grow
    const int64_t[::1] leaves,            # IN  (n_trees + 1) the first leaf of each tree
    const int16_t[:, ::1] Y,              # IN  (n, C) as for grow
    const int32_t[:, ::1] draws,          # IN  (n_trees, n)
    int32_t[:, ::1] sums,                 # (n_trees, C) to work in
    int32_t[::1] weights,                 # OUT (n_leaves) draws
    float[:, ::1] values,                 # OUT (n_leaves, C) mean labels
    int n_threads,
):
    """Fill the leaves of the trees of a forest."""
    cdef Py_ssize_t t
    for t in prange(rows.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic", use_threads_if=n_threads > 1):
        fill_tree(&rows[t, 0], leaves[t + 1] - leaves[t], &Y[0, 0], Y.shape[1], &draws[t, 0], 1.0, 0.0, &sums[t, 0],
                  &weights[leaves[t]], &values[leaves[t], 0])


def boost(
    const int8_t[:, ::1] codes,          # IN  (d, n) of each column, cuts below a value, minus 128
    const float[:, ::1] Y,                # IN  (n, C) labels, NaN where unknown
    Py_ssize_t n_sums,                    # as for grow
    const int32_t[::1] fold,              # IN  (n) the fold of each row
    const int32_t[:, ::1] kinds,          # IN  (1, 2) features tried in a node; 1
    uint64_t seed, Py_ssize_t n_draws, Py_ssize_t depth, Py_ssize_t leaf, double rate, double penalty,
    float[:, :, ::1] F,                   # IN and OUT (n_folds, n, C) scores by the model of each fold
    nmlsdr_node[:, :, ::1] nodes,         # OUT (n_rounds, n_folds, most nodes) thresholds of codes
    int32_t[:, ::1] n_leaves,             # OUT (n_rounds, n_folds)
    float[:, :, :, ::1] values,           # OUT (n_rounds, n_folds, most leaves, C) what a leaf adds to F
    int32_t[:, :, ::1] weights,           # OUT (n_rounds, n_folds, most leaves) draws
    double[:, ::1] errors,                # OUT (n_rounds, n_folds) squared, of F in the rows of the fold
    Py_ssize_t first, int n_threads, int level,
):
    """Grow boosted trees from round ``first`` on, as many rounds as there are nodes; return whether memory sufficed."""
    cdef Py_ssize_t a, n_folds = F.shape[0]
    cdef int complete = 1
    cdef nmlsdr_boosting b
    b.f.n, b.f.d, b.f.n_labels, b.f.n_sums, b.f.n_padded = (
        Y.shape[0], codes.shape[0], Y.shape[1], n_sums + 2, (n_sums + 9) // 8 * 8)
    b.f.n_draws, b.f.leaf, b.f.most_depth, b.f.n_kinds, b.f.most_leaves = (
        n_draws, leaf, depth, n_folds, weights.shape[2])
    b.f.seed, b.f.codes, b.f.kinds, b.f.nodes, b.f.n_leaves = (
        seed, &codes[0, 0], &kinds[0, 0], &nodes[0, 0, 0], &n_leaves[0, 0])
    b.first, b.rate, b.penalty, b.Y, b.fold, b.F = first, rate, penalty, &Y[0, 0], &fold[0], &F[0, 0, 0]
    b.values, b.weights, b.errors = &values[0, 0, 0, 0], &weights[0, 0, 0], &errors[0, 0]
    for a in prange(n_folds, nogil=True, num_threads=n_threads, schedule="dynamic", use_threads_if=n_threads > 1):
        complete &= boost_fold(&b, a, nodes.shape[0], level)
    return complete


cdef void add_some(
    Py_ssize_t first, Py_ssize_t end, const float[:, ::1] X, const int64_t[::1] roots, const int32_t[::1] feature,
    const float[::1] threshold, const int32_t[::1] left, const float[::1] values, const int32_t[::1] columns,
    const int32_t[::1] ends, const int32_t[:, :] draws, double[:, ::1] sums) noexcept nogil:
    cdef int32_t at[64]
    cdef Py_ssize_t rows[64]
    cdef Py_ssize_t t, i, a, c, n_rows, n_active, C = sums.shape[1]
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
            node = left[at[a]]
            if ends.shape[0]:
                for c in range(ends[node], ends[node + 1]):
                    sums[rows[a], columns[c]] += values[c]
            else:
                for c in range(C):
                    sums[rows[a], c] += values[node * C + c]


def add_leaves(
    const float[:, ::1] X,                # IN  (n, d)
    const int64_t[::1] roots,             # IN  (n_trees + 1)
    const int32_t[::1] feature,           # IN  (n_nodes)
    const float[::1] threshold,           # IN  (n_nodes)
    const int32_t[::1] left,              # IN  (n_nodes)
    const float[::1] values,              # IN  (n_leaves * C), or of CSR leaves
    const int32_t[::1] columns,           # IN  of CSR leaves, or none
    const int32_t[::1] ends,              # IN  (n_leaves + 1) of CSR leaves, or none
    const int32_t[:, :] draws,            # IN  (n_trees, n) a tree counts for the rows that it did not draw
    double[:, ::1] sums,                  # IN and OUT (n, C)
    int n_threads,
):
    """Add for each row the values of its leaves over the trees, in their order."""
    cdef Py_ssize_t b, n = X.shape[0]
    for b in prange((n + 63) // 64, nogil=True, num_threads=n_threads, use_threads_if=n_threads > 1):
        add_some(64 * b, min(n, 64 * b + 64), X, roots, feature, threshold, left, values, columns, ends, draws, sums)
