# Entry points for other packages' Cython and C code: raw pointers, sizes, threads; called without the GIL.
#
#     cimport nmlsdr._graph as nearest
#     code = nearest.nearest_f32(&X[0, 0], n, d, k, &squared[0, 0], &indices[0, 0], n_threads)
#
# ABI counts changes of these signatures; compare it with the ABI you compiled against (abi_number()).

cdef enum:
    ABI = 1

cdef int abi_number() noexcept nogil

# The k nearest other rows of each of the n rows (C order, n x d): squared distances out (n x k, canonical:
# see docs/neighbours.md) in the order (squared distance, row), self excluded.
# Values must be finite and at most 1e150; 1 <= k < n < 2^31, d >= 1, n_threads >= 1
# (more than 64 and more than four for each processor are taken for these).
# Returns 0, -1 out of memory, -2 an argument out of range, -3 stopped by Ctrl-C, -4 Python failed.
# From 4000 rows and 9 features on the search looks how the rows lie, as Python's does, and holds the GIL meanwhile:
# call it without the GIL, and hold no lock that a thread with the GIL may wait for.
cdef int nearest_f32(
    const float *rows, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
    double *squared, Py_ssize_t *indices, int n_threads) noexcept nogil
cdef int nearest_f64(
    const double *rows, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
    double *squared, Py_ssize_t *indices, int n_threads) noexcept nogil

# The k nearest rows of each of the q queries (q x d); 1 <= k <= n.
cdef int nearest_to_f32(
    const float *rows, Py_ssize_t n, const float *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
    double *squared, Py_ssize_t *indices, int n_threads) noexcept nogil
cdef int nearest_to_f64(
    const double *rows, Py_ssize_t n, const double *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
    double *squared, Py_ssize_t *indices, int n_threads) noexcept nogil
