# Every entry point of the search, for the tests of them.
cimport nmlsdr.c_api as nearest

ctypedef fused real_t:
    float
    double


def abi():
    return nearest.API, nearest.api_number()


def own(const real_t[:, ::1] X, double[:, ::1] squared, Py_ssize_t[:, ::1] indices, Py_ssize_t k, int n_threads):
    cdef int code, kind = nearest.FLOAT64 if real_t is double else nearest.FLOAT32
    with nogil:
        code = nearest.nearest(kind, nearest.EUCLIDEAN, &X[0, 0], X.shape[0], NULL, 0, X.shape[1], k, &squared[0, 0],
                               &indices[0, 0], n_threads)
    return code


def to(const real_t[:, ::1] X, const real_t[:, ::1] Q, double[:, ::1] squared, Py_ssize_t[:, ::1] indices,
       Py_ssize_t k, int n_threads):
    cdef int code, kind = nearest.FLOAT64 if real_t is double else nearest.FLOAT32
    with nogil:
        code = nearest.nearest(kind, nearest.EUCLIDEAN, &X[0, 0], X.shape[0], &Q[0, 0], Q.shape[0], X.shape[1], k,
                               &squared[0, 0], &indices[0, 0], n_threads)
    return code


def through_index(const double[:, ::1] X, const double[:, ::1] Q, double[:, ::1] distances, Py_ssize_t[:, ::1] indices,
                  Py_ssize_t k, bint cosine):
    """Prepare X once, ask for each query by itself, and free the index."""
    cdef int code, metric = nearest.COSINE if cosine else nearest.EUCLIDEAN
    cdef void *index = NULL
    cdef Py_ssize_t i, d = X.shape[1]
    with nogil:
        code = nearest.index_new(nearest.FLOAT64, metric, &X[0, 0], X.shape[0], d, &index, 0)
        for i in range(Q.shape[0]):
            if code == 0:
                code = nearest.index_query(
                    index, nearest.FLOAT64, &Q[i, 0], 1, d, k, &distances[i, 0], &indices[i, 0], 0)
        nearest.index_free(index)
    return code
