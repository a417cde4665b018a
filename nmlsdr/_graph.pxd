# The searches of dense rows that c_api.pyx, the door for other packages, needs of this module; checked arguments.

# 1 where so many rows repay a look how they lie: `_search.run.search` looks, and `nearest` would not.
cdef bint is_large(
    int kind, const void *rows, Py_ssize_t n, const void *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
    int n_threads) noexcept nogil

# kind 0: float32, 1: float64; queries NULL: the rows against themselves.  0, or -1 out of memory.
cdef int nearest(
    int kind, const void *rows, Py_ssize_t n, const void *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
    double *squared, Py_ssize_t *indices, int n_threads) noexcept nogil
