"""Kernels of the forests: growing trees, and adding up the values of their leaves.

Every function fills buffers that forest.py allocated and checked.  A thread owns a tree, or a block of rows.
"""

from cython.parallel cimport prange, threadid
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t
from libc.string cimport memset

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


ctypedef struct Leaves:
    const int32_t *rows
    const int32_t *ends
    const int32_t *columns
    const int32_t *indptr
    const int16_t *times
    const int16_t *Y
    Py_ssize_t n_labels


cdef void mean_labels(const Leaves *f, Py_ssize_t leaf, int32_t *work, float *means) noexcept nogil:
    """The mean labels of the draws of a leaf."""
    cdef Py_ssize_t a, c
    cdef int32_t weight = 0
    cdef int16_t times
    cdef const int16_t *label
    memset(work, 0, f.n_labels * sizeof(int32_t))
    for a in range(f.ends[leaf], f.ends[leaf + 1]):
        label, times = f.Y + f.rows[a] * f.n_labels, f.times[a]
        weight += times
        for c in range(f.n_labels):
            work[c] += times * label[c]  # 16 bits multiply fast
    for c in range(f.n_labels):
        means[c] = work[c] / <float>(1024 * weight)  # of numbers below 2^24, which float32 holds


cdef void add_rare_labels(const Leaves *f, Py_ssize_t leaf, int32_t *work, double *sums) noexcept nogil:
    """Add the mean labels where these are CSR rows; the first half of ``work`` is 0 before and after."""
    cdef Py_ssize_t a, i
    cdef int32_t c, weight = 0
    cdef int32_t *found = work + f.n_labels
    for a in range(f.ends[leaf], f.ends[leaf + 1]):
        weight += f.times[a]
        for i in range(f.indptr[f.rows[a]], f.indptr[f.rows[a] + 1]):
            c = f.columns[i]
            found[0] = c
            found += work[c] == 0
            work[c] += f.times[a] * f.Y[i]
    while found > work + f.n_labels:
        found -= 1
        sums[found[0]] += work[found[0]] / <float>(1024 * weight)
        work[found[0]] = 0


cdef void add_some(
    Py_ssize_t first, Py_ssize_t end, const float[:, ::1] X, const int64_t[::1] roots, const int32_t[::1] feature,
    const float[::1] threshold, const int32_t[::1] left, const float[:, ::1] values, const Leaves *f,
    const int32_t[:, :] draws, float *means, int32_t *work, double[:, ::1] sums) noexcept nogil:
    cdef int32_t[64] at, going
    cdef Py_ssize_t rows[64]
    cdef Py_ssize_t t, start, i, a, c, n, n_rows, n_going, n_leaves, first_leaf = 0
    cdef int32_t node
    cdef bint known
    cdef const float *value
    for t in range(roots.shape[0] - 1):
        n_leaves = (roots[t + 1] - roots[t] + 1) // 2
        known = f.ends == NULL or (f.indptr == NULL and end - first >= n_leaves)
        for a in range(n_leaves if known and f.ends else 0):
            mean_labels(f, first_leaf + a, work, means + a * f.n_labels)
        for start in range(first, end, 64):
            n_rows = 0
            for i in range(start, min(start + 64, end)):
                rows[n_rows] = i
                at[n_rows] = <int32_t>roots[t]
                going[n_rows] = <int32_t>n_rows
                n_rows += draws.shape[0] == 0 or draws[t, i] == 0
            n_going = n_rows if feature[roots[t]] >= 0 else 0
            # Each a level down, so that their loads overlap.  First for boosted trees, where most go down equally far,
            # and for wide rows, whose loads take long; then without a jump that cannot be foreseen.
            while n_going and (not f.ends or X.shape[1] > 1000):
                n_going = 0
                for a in range(n_rows):
                    node = at[a]
                    if feature[node] >= 0:
                        at[a] = left[node] + (X[rows[a], feature[node]] > threshold[node])
                        n_going += 1
            while n_going:
                n, n_going = n_going, 0
                for a in range(n):
                    i = going[a]
                    node = at[i]
                    node = left[node] + (X[rows[i], feature[node]] > threshold[node])
                    at[i] = node
                    going[n_going] = <int32_t>i
                    n_going += feature[node] >= 0
            for a in range(n_rows):
                i = left[at[a]]
                if f.indptr:
                    add_rare_labels(f, i, work, &sums[rows[a], 0])
                    continue
                value = means
                if not f.ends:
                    value = &values[i, 0]
                elif known:
                    value += (i - first_leaf) * f.n_labels
                else:
                    mean_labels(f, i, work, means)
                for c in range(f.n_labels):
                    sums[rows[a], c] += value[c]
        first_leaf += n_leaves


def add_leaves(
    const float[:, ::1] X,                # IN  (n, d)
    const int64_t[::1] roots,             # IN  (n_trees + 1)
    const int32_t[::1] feature,           # IN  (n_nodes)
    const float[::1] threshold,           # IN  (n_nodes)
    const int32_t[::1] left,              # IN  (n_nodes)
    const float[:, ::1] values,           # IN  (n_leaves, C) of boosted trees, whose ends are [0]
    const int32_t[::1] rows,              # IN  of a forest, the rows of each leaf,
    const int16_t[::1] times,             # IN  how often they were drawn,
    const int32_t[::1] ends,              # IN  (n_leaves + 1) where those of a leaf begin and end,
    const int16_t[::1] Y,                 # IN  (n_rows * C) their labels, or what CSR rows of them store,
    const int32_t[::1] columns,           # IN  of CSR rows
    const int32_t[::1] indptr,            # IN  of CSR rows, else [0]
    const int32_t[:, :] draws,            # IN  (n_trees, n) a tree counts for the rows that it did not draw; or none
    Py_ssize_t at_once,                   # rows
    float[:, :, ::1] means,               # (n_threads, at_once, C) to work in, and
    int32_t[:, ::1] work,                 # (n_threads, 2 C) 0
    double[:, ::1] sums,                  # IN and OUT (n, C)
    int n_threads,
):
    """Add for each row the values of its leaves over the trees, in their order."""
    cdef Py_ssize_t b, n = X.shape[0]
    cdef Leaves f
    f.rows, f.times, f.Y, f.columns, f.n_labels = &rows[0], &times[0], &Y[0], &columns[0], sums.shape[1]
    f.ends, f.indptr = &ends[0] if ends.shape[0] > 1 else NULL, &indptr[0] if indptr.shape[0] > 1 else NULL
    for b in prange((n + at_once - 1) // at_once, nogil=True, num_threads=n_threads, use_threads_if=n_threads > 1):
        add_some(b * at_once, min(n, (b + 1) * at_once), X, roots, feature, threshold, left, values, &f, draws,
                 &means[threadid(), 0, 0], &work[threadid(), 0], sums)
