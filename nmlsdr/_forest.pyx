"""Kernels of the forests: growing trees, and adding up the values of their leaves.

Every function fills buffers that forest.py allocated and checked.  A thread owns a tree, or a block of rows.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free

cdef extern from "_c/forest.h" nogil:
    enum:
        NMLSDR_SCORED_ROWS
    ctypedef struct nmlsdr_table:
        Py_ssize_t n, d
        const float *data
        const int32_t *indices
        const int64_t *indptr
    ctypedef struct nmlsdr_kind:
        int32_t tried, several
    ctypedef struct nmlsdr_growth:
        nmlsdr_table rows
        const int32_t *Y
        Py_ssize_t C, draws, leaf
        uint64_t seed
        Py_ssize_t first, n_trees, n_kinds
        const nmlsdr_kind *kinds
        Py_ssize_t most_nodes, most_leaves
        int32_t *feature
        int32_t *left
        float *threshold
        float *values
        int32_t *weights
        int32_t *sizes
        uint8_t *left_out
    ctypedef struct nmlsdr_grower:
        pass
    nmlsdr_grower *grower_new "nmlsdr_grower_new"(const nmlsdr_growth *f)
    void grower_free "nmlsdr_grower_free"(nmlsdr_grower *g)
    void grow_one "nmlsdr_grow_tree"(const nmlsdr_growth *f, nmlsdr_grower *g, Py_ssize_t i, int level)
    void add_some "nmlsdr_add_leaves"(
        const nmlsdr_table *x, Py_ssize_t first, Py_ssize_t m, const int64_t *roots, Py_ssize_t n_trees,
        const int32_t *feature, const float *threshold, const int32_t *left, const float *values, Py_ssize_t C,
        const uint8_t *left_out, float *space, double *sums)


cdef extern from "_c/platform.h" nogil:
    int member "nmlsdr_thread"()

SCORED_ROWS = NMLSDR_SCORED_ROWS


cdef nmlsdr_table table_of(rows):
    """Dense rows (n, d) of float32; or a tuple: data, indices and indptr of CSR rows, and d."""
    cdef nmlsdr_table x
    cdef const float[:, ::1] dense
    cdef const float[::1] data
    cdef const int32_t[::1] indices
    cdef const int64_t[::1] indptr
    x.data, x.indices, x.indptr = NULL, NULL, NULL
    if type(rows) is not tuple:
        dense = rows
        x.n, x.d, x.data = dense.shape[0], dense.shape[1], &dense[0, 0]
        return x
    data, indices, indptr, x.d = rows
    x.n, x.indptr = indptr.shape[0] - 1, &indptr[0]
    if data.shape[0]:
        x.data, x.indices = &data[0], &indices[0]
    return x


def grow(
    rows,                                 # IN  (n, d), for table_of
    const int32_t[:, ::1] Y,              # IN  (n, C) 0 .. 1024
    const int32_t[:, ::1] kinds,          # IN  (n_kinds, 2) features tried in a node; 1: several thresholds of each
    uint64_t seed,
    Py_ssize_t first,                     # number of the first tree
    Py_ssize_t draws,
    Py_ssize_t leaf,
    int32_t[:, :, ::1] feature,           # OUT (n_kinds, n_trees, most nodes), -1 for a leaf
    float[:, :, ::1] threshold,           # OUT as feature
    int32_t[:, :, ::1] left,              # OUT as feature: the left child, before the right one; the number of a leaf
    float[:, :, :, ::1] values,           # OUT (n_kinds, n_trees, most leaves, C)
    int32_t[:, :, ::1] weights,           # OUT (n_kinds, n_trees, most leaves) draws
    int32_t[:, :, ::1] sizes,             # OUT (n_kinds, n_trees, 2) nodes, leaves
    uint8_t[:, ::1] left_out,             # OUT (n_trees, n)
    int n_threads,
    int level,
):
    """Grow trees; return whether there was memory for it."""
    cdef nmlsdr_growth f
    cdef Py_ssize_t i
    cdef int t, complete
    f.rows = table_of(rows)
    f.Y, f.C, f.draws, f.leaf, f.seed = &Y[0, 0], Y.shape[1], draws, leaf, seed
    f.first, f.n_trees, f.n_kinds = first, left_out.shape[0], kinds.shape[0]
    f.kinds = <const nmlsdr_kind *>&kinds[0, 0]
    f.most_nodes, f.most_leaves = feature.shape[2], values.shape[2]
    f.feature, f.left, f.threshold = &feature[0, 0, 0], &left[0, 0, 0], &threshold[0, 0, 0]
    f.values, f.weights, f.sizes = &values[0, 0, 0, 0], &weights[0, 0, 0], &sizes[0, 0, 0]
    f.left_out = &left_out[0, 0]
    cdef nmlsdr_grower **growers = <nmlsdr_grower **>calloc(n_threads, sizeof(nmlsdr_grower *))
    complete = growers != NULL
    for t in range(n_threads if growers != NULL else 0):
        growers[t] = grower_new(&f)
        complete &= growers[t] != NULL
    if complete:
        for i in prange(f.n_trees, nogil=True, num_threads=n_threads, schedule="dynamic", use_threads_if=n_threads > 1):
            grow_one(&f, growers[member()], i, level)
    for t in range(n_threads if growers != NULL else 0):
        grower_free(growers[t])
    free(growers)
    return complete


def add_leaves(
    rows,                                 # IN  (n, d), for table_of
    const int64_t[::1] roots,             # IN  (n_trees + 1)
    const int32_t[::1] feature,           # IN  (n_nodes)
    const float[::1] threshold,           # IN  (n_nodes)
    const int32_t[::1] left,              # IN  (n_nodes)
    const float[:, ::1] values,           # IN  (n_leaves, C)
    const uint8_t[:, ::1] left_out,       # IN  (n_trees, n), or None
    Py_ssize_t block,                     # rows of a block, at most 64
    double[:, ::1] sums,                  # OUT (n, C)
    int n_threads,
):
    """Add for each row the values of its leaves, of those trees that left it out or of all; return as `grow`."""
    cdef nmlsdr_table x = table_of(rows)
    cdef const uint8_t *out = NULL
    cdef Py_ssize_t b, n_blocks = (x.n + block - 1) // block, spread = 0 if x.indptr == NULL else block * x.d
    cdef float *space = <float *>calloc(n_threads * spread + 1, sizeof(float))
    if space == NULL:
        return False
    if left_out is not None:
        out = &left_out[0, 0]
    for b in prange(n_blocks, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        add_some(&x, b * block, min(block, x.n - b * block), &roots[0], roots.shape[0] - 1, &feature[0], &threshold[0],
                 &left[0], &values[0, 0], values.shape[1], out, space + member() * spread, &sums[0, 0])
    free(space)
    return True
