"""Neighbours, graph, T and propagation for C and Cython code, with arrays as pointers (include/nmlsdr.h, c_api.pxd).

Every function acquires the GIL and calls the Python function of the same purpose, on arrays over the caller's memory.
So the results, the checks and the number of threads are the same as in Python.  An exception becomes an error code.
"""

from cpython.exc cimport PyErr_SetInterrupt
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t

cdef extern from "include/nmlsdr.h" nogil:
    enum:
        NMLSDR_API, NMLSDR_OK, NMLSDR_NO_MEMORY, NMLSDR_BAD_ARGUMENT, NMLSDR_INTERRUPTED, NMLSDR_FAILED
    const char *NMLSDR_API_NAME
    ctypedef struct nmlsdr_api:
        int version
        int (*nearest_f32)(const float *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double *, Py_ssize_t *, int) noexcept
        int (*nearest_f64)(const double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double *, Py_ssize_t *, int) noexcept
        int (*nearest_to_f32)(
            const float *, Py_ssize_t, const float *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double *, Py_ssize_t *,
            int) noexcept
        int (*nearest_to_f64)(
            const double *, Py_ssize_t, const double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double *, Py_ssize_t *,
            int) noexcept
        Py_ssize_t (*neighbor_graph)(
            const Py_ssize_t *, Py_ssize_t, Py_ssize_t, int64_t *, int32_t *, int) noexcept
        int (*transition_matrix)(
            const int64_t *, const int32_t *, const double *, Py_ssize_t, double *, int) noexcept
        void *propagate
        int (*nearest)(
            int, int, const void *, Py_ssize_t, const void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double *,
            Py_ssize_t *, int) noexcept
        void *index_new
        void *index_query
        void *index_free


cdef int api_number() noexcept nogil:
    return NMLSDR_API


cdef int number_of(error) noexcept:
    """The error code of an exception."""
    from ._errors import InputError

    if isinstance(error, MemoryError):
        return NMLSDR_NO_MEMORY
    if isinstance(error, InputError):
        return NMLSDR_BAD_ARGUMENT
    if isinstance(error, KeyboardInterrupt):
        PyErr_SetInterrupt()  # so that the caller's own Python code is interrupted too
        return NMLSDR_INTERRUPTED
    return NMLSDR_FAILED


cdef refuse(bint wrong, what):
    from ._errors import InputError

    if wrong:
        raise InputError(what)


cdef int threads(Py_ssize_t n, int n_threads) except -1:
    """The number of threads to use, by the same rules as in Python: one in a forked child, n_threads <= 0 all cores.

    A number that is too large is lowered; a caller from Python gets an error instead.
    """
    from ._process.threads import check_n_jobs, most_threads

    refuse(n < 1 or n >= 2147483647, "there must be from 1 to 2^31 - 2 rows.")
    return check_n_jobs(min(n_threads, most_threads()) if n_threads > 0 else None)


cdef graph_at(size_t indptr, size_t columns, size_t weights, Py_ssize_t n):
    """W over the caller's memory; an error if scipy would read beyond it or would have to sort it."""
    import numpy as np
    from scipy import sparse

    from ._search.rows import array_at

    pointers = array_at(indptr, (n + 1,), "i8")
    refuse(pointers[0] != 0 or (np.diff(pointers) < 0).any(), "indptr must rise from 0.")
    stored = int(pointers[n])
    places = array_at(columns, (stored,), "i4")
    rows = np.repeat(np.arange(n), np.diff(pointers))
    refuse(stored > 0 and (places.min() < 0 or places.max() >= n or (places == rows).any()),
           "columns must be rows of the graph, and other ones.")
    refuse(((np.diff(places) <= 0) & (np.diff(rows) == 0)).any(), "columns must increase within a row.")
    values = array_at(weights, (stored,), "f8") if weights else np.ones(stored)
    return sparse.csr_array((values, places, pointers), shape=(n, n))


# ---------------------------------------------------------------- neighbours


cdef int nearest_f32(const float *rows, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k, double *squared,
                     Py_ssize_t *neighbors, int n_threads) noexcept with gil:
    return search(FLOAT32, EUCLIDEAN, rows, n, NULL, 0, d, k, squared, neighbors, n_threads)


cdef int nearest_f64(const double *rows, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k, double *squared,
                     Py_ssize_t *neighbors, int n_threads) noexcept with gil:
    return search(FLOAT64, EUCLIDEAN, rows, n, NULL, 0, d, k, squared, neighbors, n_threads)


cdef int nearest_to_f32(const float *rows, Py_ssize_t n, const float *queries, Py_ssize_t q, Py_ssize_t d,
                        Py_ssize_t k, double *squared, Py_ssize_t *neighbors, int n_threads) noexcept with gil:
    return search(FLOAT32, EUCLIDEAN, rows, n, queries, q, d, k, squared, neighbors, n_threads)


cdef int nearest_to_f64(const double *rows, Py_ssize_t n, const double *queries, Py_ssize_t q, Py_ssize_t d,
                        Py_ssize_t k, double *squared, Py_ssize_t *neighbors, int n_threads) noexcept with gil:
    return search(FLOAT64, EUCLIDEAN, rows, n, queries, q, d, k, squared, neighbors, n_threads)


cdef int nearest(int type, int metric, const void *rows, Py_ssize_t n, const void *queries, Py_ssize_t q, Py_ssize_t d,
                 Py_ssize_t k, double *distances, Py_ssize_t *neighbors, int n_threads) noexcept with gil:
    return search(type, metric, rows, n, queries, q, d, k, distances, neighbors, n_threads)


cdef rows_at(int type, const void *rows, Py_ssize_t n, Py_ssize_t d):
    """Rows of a C caller; the search itself checks that they are finite."""
    from ._search.rows import array_at

    refuse(n < 0 or n >= 2147483647 or d < 1 or type not in (FLOAT32, FLOAT64), "no such rows.")
    return array_at(<size_t>rows, (n, d), "f8" if type == FLOAT64 else "f4")


cdef metric_name(int metric):
    refuse(metric not in (EUCLIDEAN, COSINE), "no such metric.")
    return "cosine" if metric == COSINE else "euclidean"


cdef int search(int type, int metric, const void *rows, Py_ssize_t n, const void *queries, Py_ssize_t q, Py_ssize_t d,
                Py_ssize_t k, double *distances, Py_ssize_t *neighbors, int n_threads) noexcept:
    try:
        from ._search import squared_neighbors
        from ._search.rows import array_at

        name, n_threads = metric_name(metric), threads(n, n_threads)
        X, Q = rows_at(type, rows, n, d), None if queries is NULL else rows_at(type, queries, q, d)
        refuse(k < 1 or k > n, "k must be from 1 to n.")
        shape = (n if Q is None else q, k)
        out = array_at(<size_t>distances, shape, "f8"), array_at(<size_t>neighbors, shape, "intp")
        squared_neighbors(X, k, queries=Q, metric=name, n_jobs=n_threads, out=out)
        if metric == COSINE:
            out[0][:] *= 0.5  # 1 - cos of rows of length 1
        return NMLSDR_OK
    except BaseException as error:
        return number_of(error)


cdef int index_new(int type, int metric, const void *rows, Py_ssize_t n, Py_ssize_t d, void **index,
                   int n_threads) noexcept with gil:
    try:
        from ._checks.arguments import check_rows
        from ._search import PreparedRows

        name, n_threads = metric_name(metric), threads(n, n_threads)
        made = PreparedRows(check_rows(rows_at(type, rows, n, d)).copy(), name, n_threads)
        Py_INCREF(made)
        index[0] = <void *>made
        return NMLSDR_OK
    except BaseException as error:
        return number_of(error)


cdef int index_query(const void *index, int type, const void *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
                     double *distances, Py_ssize_t *neighbors, int n_threads) noexcept with gil:
    try:
        from ._checks.arguments import check_rows
        from ._search.rows import array_at

        refuse(index is NULL, "there is no index.")
        prepared = <object>index
        squared, found = prepared.neighbors(check_rows(rows_at(type, queries, q, d)), k, threads(1, n_threads))
        array_at(<size_t>distances, squared.shape, "f8")[:] = squared * (0.5 if prepared.metric == "cosine" else 1)
        array_at(<size_t>neighbors, squared.shape, "intp")[:] = found
        return NMLSDR_OK
    except BaseException as error:
        return number_of(error)


cdef void index_free(void *index) noexcept with gil:
    if index is not NULL:
        Py_DECREF(<object>index)


# ---------------------------------------------------------------- graph, T, propagation


cdef Py_ssize_t neighbor_graph(const Py_ssize_t *neighbors, Py_ssize_t n, Py_ssize_t k, int64_t *indptr,
                               int32_t *columns, int n_threads) noexcept with gil:
    try:
        import numpy as np

        from ._search.rows import array_at
        from .graph import union_graph

        n_threads = threads(n, n_threads)
        refuse(k < 1 or k >= n, "k must be from 1 to n - 1.")
        lists = array_at(<size_t>neighbors, (n, k), "intp")
        refuse(lists.min() < 0 or lists.max() >= n or (lists == np.arange(n)[:, None]).any(),
               "neighbors must be other rows.")
        refuse((np.diff(np.sort(lists, axis=1), axis=1) == 0).any(), "a neighbour is named twice.")
        W = union_graph(lists)
        array_at(<size_t>indptr, (n + 1,), "i8")[:] = W.indptr
        array_at(<size_t>columns, (W.nnz,), "i4")[:] = W.indices
        return W.nnz
    except BaseException as error:
        return number_of(error)


cdef int transition_matrix(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n,
                           double *values, int n_threads) noexcept with gil:
    try:
        from . import graph
        from ._search.rows import array_at

        n_threads = threads(n, n_threads)
        W = graph_at(<size_t>indptr, <size_t>columns, <size_t>weights, n)
        T = graph.transition_matrix(W, n_jobs=n_threads)
        refuse(T.nnz != W.nnz, "W must be symmetric.")
        array_at(<size_t>values, (W.nnz,), "f8")[:] = T.data
        return NMLSDR_OK
    except BaseException as error:
        return number_of(error)


cdef int propagate(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n, const double *Y,
                   Py_ssize_t n_labels, const double *alpha, const unsigned char *labeled, double tol, double *F,
                   Quality *quality, int n_threads) noexcept with gil:
    try:
        from ._search.rows import array_at
        from ._solvers.system import Goal
        from .propagation import propagate_checked, system_of

        n_threads = threads(n, n_threads)
        refuse(n_labels < 1, "there must be a label.")
        W = graph_at(<size_t>indptr, <size_t>columns, <size_t>weights, n)
        given, trust = array_at(<size_t>Y, (n, n_labels), "f8"), array_at(<size_t>alpha, (n,), "f8")
        known = array_at(<size_t>labeled, (n,), "u1") != 0 if labeled is not NULL else None
        result = propagate_checked(system_of(W, given, trust, known, n_threads), Goal(tol), silent=True)
        array_at(<size_t>F, (n, n_labels), "f8")[:] = result.F
        if quality is not NULL:
            quality.residual = result.residual
            quality.error_bound = result.error_bound
            quality.n_iter = result.n_iter
            quality.n_unreached = result.n_unreached
        return NMLSDR_OK
    except BaseException as error:
        return number_of(error)


cdef nmlsdr_api table
table.version = NMLSDR_API
table.nearest_f32 = nearest_f32
table.nearest_f64 = nearest_f64
table.nearest_to_f32 = nearest_to_f32
table.nearest_to_f64 = nearest_to_f64
table.neighbor_graph = neighbor_graph
table.transition_matrix = transition_matrix
table.nearest = nearest
# Quality and nmlsdr_quality are the same struct under two names; an index is void * in Cython
(<void **>&table.propagate)[0] = <void *>propagate
(<void **>&table.index_new)[0] = <void *>index_new
(<void **>&table.index_query)[0] = <void *>index_query
(<void **>&table.index_free)[0] = <void *>index_free
TABLE = PyCapsule_New(&table, NMLSDR_API_NAME, NULL)
