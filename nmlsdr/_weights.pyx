"""Kernels of the graph's weights: W~ (eq. 4), T (eq. 5), and the check that W is symmetric.

Every function fills buffers that its caller allocated and checked.  One thread writes each output row, so the answer
does not depend on the number of threads.
"""

from cython.parallel cimport prange
from libc.math cimport sqrt

from ._typedefs cimport index_t

cdef extern from "_c/platform.h" nogil:
    void prefetch "NMLSDR_PREFETCH"(const void *address)

cdef enum:
    AHEAD = 16  # entries between a prefetch and its use


def is_symmetric(
    const double[::1] data,               # IN  (nnz), or empty: all weights are equal
    const index_t[::1] indices,           # IN  (nnz) increasing within a row
    const index_t[::1] indptr,            # IN  (n + 1)
    index_t[::1] place,                   # IN, OUT (n) indptr without its end; scratch
):
    """Whether W equals its transpose, to the bit, and has no diagonal.

    Rows are read in increasing order, so row j must list its smaller neighbours in the order in which they are read:
    when row i lists j > i, the next unread entry of row j (at ``place[j]``) must be i.  When row j is read, all its
    unread entries must lie to the right of the diagonal; one that does not has no counterpart.
    """
    cdef Py_ssize_t n = place.shape[0]
    cdef bint found
    if indices.shape[0] == 0:
        return True
    with nogil:
        found = mirrored(&data[0] if data.shape[0] else NULL, &indices[0], &indptr[0], n, &place[0])
    return found


cdef bint mirrored(
    const double *data, const index_t *indices, const index_t *indptr, Py_ssize_t n, index_t *place,
) noexcept nogil:
    cdef Py_ssize_t i, t, j, at
    for i in range(n):
        for t in range(place[i], indptr[i + 1]):
            j = indices[t]
            if j <= i:
                return False
            at = place[j]
            if t + AHEAD < indptr[n]:
                prefetch(indices + place[indices[t + AHEAD]])
            if at == indptr[j + 1] or indices[at] != i or (data != NULL and data[at] != data[t]):
                return False
            place[j] = <index_t>(at + 1)
    return True


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
