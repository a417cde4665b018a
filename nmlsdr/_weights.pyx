"""Kernels of the graph's weights, over _c/graph.h: W~ (eq. 4) and T (eq. 5).

They fill buffers that their caller allocated and checked.  One thread writes each output row, so the answer does not
depend on the number of threads.
"""

from ._typedefs cimport index_t

cdef extern from "_c/graph.h" nogil:
    ctypedef struct nmlsdr_csr_graph:
        const double *weights
        const void *indices
        const void *indptr
        int wide
        Py_ssize_t n
    void c_normalize "nmlsdr_normalize"(
        const nmlsdr_csr_graph *W, const double *degree, int stochastic, double *values, double *row_sums,
        int n_threads)
    int c_even_exponent "nmlsdr_even_exponent"(const double *weights, Py_ssize_t n)


def normalize(
    const double[::1] data,        # IN  CSR of W
    const index_t[::1] indices,    # IN
    const index_t[::1] indptr,     # IN
    const double[::1] degree,      # IN  (n)
    bint stochastic,               # False: W~ = D^-1/2 W D^-1/2; True: T = D~^-1 W~, rows sum to 1
    double[::1] values,            # OUT (nnz)
    double[::1] row_sums,          # OUT (n) d~_i, the row sums of W~
    int n_threads,
):
    """W~ (eq. 4) and T (eq. 5) in one pass over the rows; a row of degree 0 stays 0."""
    cdef nmlsdr_csr_graph W
    if degree.shape[0] == 0:
        return
    W.weights, W.indices, W.indptr = NULL, NULL, &indptr[0]
    W.wide, W.n = 3 * (sizeof(index_t) == 8), degree.shape[0]
    if data.shape[0]:
        W.weights, W.indices = &data[0], &indices[0]
    cdef double *out = &values[0] if values.shape[0] else NULL
    with nogil:
        c_normalize(&W, &degree[0], stochastic, out, &row_sums[0], n_threads)


def even_exponent(const double[::1] weights):
    """The even power of two that brings weights of an extreme range to at most about 2^990; 0 for ordinary ones."""
    return c_even_exponent(&weights[0], weights.shape[0]) if weights.shape[0] else 0
