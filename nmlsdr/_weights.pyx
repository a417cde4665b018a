"""Kernels of the graph's weights: symmetry of W, the OR rule (eq. 3), W~ (eq. 4) and T (eq. 5).

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


def count_union(
    const Py_ssize_t[:, ::1] neighbors,   # IN  (n, k), every row without repeats
    const Py_ssize_t[::1] reverse_ptr,    # IN  (n + 1) who names row i: pointers into reverse
    const Py_ssize_t[::1] reverse,        # IN  (n k) increasing within a row
    Py_ssize_t[:, ::1] ordered,           # OUT (n, k) neighbors, increasing within a row
    Py_ssize_t[::1] counts,               # OUT (n) size of the union of both lists
    int n_threads,
):
    """Symmetrise by the OR rule, pass one: sort each row's neighbours and count the union."""
    cdef Py_ssize_t i, n = neighbors.shape[0], k = neighbors.shape[1]
    if n == 0 or k == 0:
        return
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        counts[i] = union_row(&neighbors[i, 0], k, &reverse[reverse_ptr[i]] if reverse_ptr[i + 1] > reverse_ptr[i]
                              else NULL, reverse_ptr[i + 1] - reverse_ptr[i], &ordered[i, 0])


cdef Py_ssize_t union_row(
    const Py_ssize_t *neighbors, Py_ssize_t k, const Py_ssize_t *reverse, Py_ssize_t r, Py_ssize_t *ordered,
) noexcept nogil:
    cdef Py_ssize_t a, b, value, size = 0
    for a in range(k):  # insertion sort: k is small
        value = neighbors[a]
        b = a
        while b > 0 and ordered[b - 1] > value:
            ordered[b] = ordered[b - 1]
            b = b - 1
        ordered[b] = value
    a = 0
    b = 0
    while a < k and b < r:
        if ordered[a] == reverse[b]:
            a = a + 1
            b = b + 1
        elif ordered[a] < reverse[b]:
            a = a + 1
        else:
            b = b + 1
        size = size + 1
    return size + (k - a) + (r - b)


def fill_union(
    const Py_ssize_t[:, ::1] ordered,     # IN  (n, k)
    const Py_ssize_t[::1] reverse_ptr,    # IN
    const Py_ssize_t[::1] reverse,        # IN
    const index_t[::1] indptr,            # IN  (n + 1) of W
    index_t[::1] indices,                 # OUT (nnz) of W, increasing within a row
    int n_threads,
):
    """Symmetrise by the OR rule, pass two: merge both lists into W's rows."""
    cdef Py_ssize_t i, n = ordered.shape[0], k = ordered.shape[1]
    cdef Py_ssize_t a, b, at
    if n == 0 or k == 0:
        return
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        a = 0
        b = reverse_ptr[i]
        at = indptr[i]
        while a < k or b < reverse_ptr[i + 1]:
            if b >= reverse_ptr[i + 1] or (a < k and ordered[i, a] < reverse[b]):
                indices[at] = <index_t>ordered[i, a]
                a = a + 1
            elif a >= k or ordered[i, a] > reverse[b]:
                indices[at] = <index_t>reverse[b]
                b = b + 1
            else:
                indices[at] = <index_t>reverse[b]
                a = a + 1
                b = b + 1
            at = at + 1


def degrees(
    const double[::1] data,       # IN  CSR of W
    const index_t[::1] indptr,    # IN
    double[::1] degree,           # OUT (n) d_i = sum_j W_ij, in stored order
    int n_threads,
):
    """Row sums of W."""
    cdef Py_ssize_t i, p, n = degree.shape[0]
    cdef double total
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        total = 0
        for p in range(indptr[i], indptr[i + 1]):
            total = total + data[p]
        degree[i] = total


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
