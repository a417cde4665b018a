"""Kernel of the graph's weights: W~ (eq. 4) and T (eq. 5).

It fills buffers that its caller allocated and checked.  One thread writes each output row, so the answer
does not depend on the number of threads.
"""

from cython.parallel cimport prange
from libc.math cimport sqrt

from ._typedefs cimport index_t


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
    cdef Py_ssize_t i, p, n = degree.shape[0]
    cdef double root, total
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        total = 0
        root = sqrt(degree[i])
        for p in range(indptr[i], indptr[i + 1]):
            if degree[i] > 0 and degree[indices[p]] > 0:
                values[p] = data[p] / (root * sqrt(degree[indices[p]]))
            else:
                values[p] = 0
            total = total + values[p]
        row_sums[i] = total
        if stochastic and total > 0:
            for p in range(indptr[i], indptr[i + 1]):
                values[p] = values[p] / total
