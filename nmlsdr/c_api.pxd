# For Cython code of other packages: `cimport nmlsdr.c_api as nmlsdr`.  include/nmlsdr.h documents the arguments and
# return values of each function.  Call all of them without the GIL.

from libc.stdint cimport int32_t, int64_t

cdef enum:
    API = 1  # NMLSDR_API of the header; compare it with api_number() once at import

cdef enum:  # what the functions return; message says it in words
    OK = 0
    NO_MEMORY = -1
    NULL_POINTER = -2
    NOT_FINITE = -3
    BAD_K = -4
    BAD_SIZE = -5
    UNKNOWN_NAME = -6
    BAD_GRAPH = -7
    BAD_VALUE = -8
    INTERRUPTED = -9
    FAILED = -10

cdef enum:  # `type` and `metric`, as in the header
    FLOAT32 = 0
    FLOAT64 = 1
    EUCLIDEAN = 0
    COSINE = 1

cdef struct Quality:  # nmlsdr_quality of the header
    double residual
    double error_bound
    Py_ssize_t n_iter
    Py_ssize_t n_unreached

cdef int api_number() noexcept nogil

cdef const char *message(int code) noexcept nogil

cdef int nearest(int type, int metric, const void *rows, Py_ssize_t n, const void *queries, Py_ssize_t q, Py_ssize_t d,
                 Py_ssize_t k, double *distances, Py_ssize_t *neighbors, int n_threads) noexcept nogil

cdef Py_ssize_t neighbor_graph(const Py_ssize_t *neighbors, Py_ssize_t n, Py_ssize_t k, int64_t *indptr,
                               int32_t *columns, int n_threads) noexcept nogil

cdef int transition_matrix(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n,
                           double *values, int n_threads) noexcept nogil

cdef int propagate(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n, const double *Y,
                   Py_ssize_t n_labels, const double *alpha, const unsigned char *labeled, double tol, double *F,
                   Quality *quality, int n_threads) noexcept nogil

cdef int index_new(int type, int metric, const void *rows, Py_ssize_t n, Py_ssize_t d, void **index,
                   int n_threads) noexcept nogil

cdef int index_query(const void *index, int type, const void *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
                     double *distances, Py_ssize_t *neighbors, int n_threads) noexcept nogil

cdef void index_free(void *index) noexcept nogil
