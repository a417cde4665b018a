"""Neighbours, graph, T and propagation for C and Cython code, with arrays as pointers (include/nmlsdr.h, c_api.pxd).

The searches, W and T are those of include/nmlsdr/neighbors.h and graph.h, and call no Python.  `propagate` acquires the
GIL and calls the Python function, on arrays over the caller's memory.  So results and checks are the same as in Python.
An exception becomes an error code.
"""

import os

from cpython.buffer cimport PyBUF_WRITE
from cpython.exc cimport PyErr_SetInterrupt
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int32_t, int64_t

from ._errors import InputError

cdef extern from "include/nmlsdr.h" nogil:
    const char *NMLSDR_API_NAME
    ctypedef struct nmlsdr_api:
        int version
        Py_ssize_t (*neighbor_graph)(const Py_ssize_t *, Py_ssize_t, Py_ssize_t, int64_t *, int32_t *, int) noexcept
        int (*transition_matrix)(const int64_t *, const int32_t *, const double *, Py_ssize_t, double *, int) noexcept
        void *propagate
        int (*nearest)(
            int, int, const void *, Py_ssize_t, const void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double *,
            Py_ssize_t *, int) noexcept
        void *index_new
        void *index_query
        void *index_free
        const char *(*message)(int) noexcept


cdef extern from "include/nmlsdr/neighbors.h" nogil:
    ctypedef struct nmlsdr_rows:
        pass
    ctypedef struct nmlsdr_index:
        pass
    const char *nmlsdr_message(int)
    nmlsdr_rows nmlsdr_dense(int, const void *, Py_ssize_t, Py_ssize_t)
    int nmlsdr_nearest(const nmlsdr_rows *, const nmlsdr_rows *, int, Py_ssize_t, double *, Py_ssize_t *, int)
    int nmlsdr_index_new(const nmlsdr_rows *, int, nmlsdr_index **, int)
    int nmlsdr_index_query(const nmlsdr_index *, const nmlsdr_rows *, Py_ssize_t, double *, Py_ssize_t *, int)
    void nmlsdr_index_free(nmlsdr_index *)


cdef extern from "include/nmlsdr/graph.h" nogil:
    int64_t nmlsdr_neighbor_graph(const Py_ssize_t *, Py_ssize_t, Py_ssize_t, int64_t *, int32_t *)
    int nmlsdr_transition_matrix(const int64_t *, const int32_t *, const double *, Py_ssize_t, double *, int)


cdef int api_number() noexcept nogil:
    return API


cdef const char *message(int code) noexcept nogil:
    return nmlsdr_message(code)


class _Refused(Exception):
    """A bad argument; what it is raised with is the error code."""


cdef int number_of(error) noexcept:
    """The error code of an exception."""
    if isinstance(error, _Refused):
        return error.args[0]
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, InputError):
        return BAD_VALUE
    if isinstance(error, KeyboardInterrupt):
        PyErr_SetInterrupt()  # so that the caller's own Python code is interrupted too
        return INTERRUPTED
    return FAILED


cdef refuse(bint wrong, int code):
    if wrong:
        raise _Refused(code)


cdef int threads(Py_ssize_t n, int n_threads) except -1:
    """The number of threads to use, by the same rules as in Python: one in a forked child, n_threads <= 0 all cores.

    A number that is too large is lowered; a caller from Python gets an error instead.
    """
    from ._process.threads import check_n_jobs, most_threads, simd

    refuse(n < 1 or n >= 2147483647, BAD_SIZE)
    try:
        simd()
    except InputError:
        raise _Refused(UNKNOWN_NAME) from None
    return check_n_jobs(min(n_threads, most_threads()) if n_threads > 0 else None)


cdef array_at(const void *memory, tuple shape, str dtype):
    """An array over the caller's memory, which may be NULL only where there is nothing in it."""
    import math

    import numpy as np

    size = math.prod(shape) * np.dtype(dtype).itemsize
    refuse(min(shape) < 0 or size >= 2**63, BAD_SIZE)
    if size == 0:
        return np.empty(shape, dtype)
    refuse(memory is NULL, NULL_POINTER)
    return np.frombuffer(PyMemoryView_FromMemory(<char *>memory, size, PyBUF_WRITE), dtype).reshape(shape)


cdef finite_at(const void *memory, tuple shape):
    """Doubles of the caller, none of them NaN or infinite."""
    import numpy as np

    found = array_at(memory, shape, "f8")
    refuse(not np.isfinite(found).all(), NOT_FINITE)
    return found


cdef graph_at(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n):
    """W over the caller's memory; an error if scipy would read beyond it or would have to sort it."""
    import numpy as np
    from scipy import sparse

    pointers = array_at(indptr, (n + 1,), "i8")
    refuse(pointers[0] != 0 or (np.diff(pointers) < 0).any(), BAD_GRAPH)
    stored = int(pointers[n])
    places = array_at(columns, (stored,), "i4")
    rows = np.repeat(np.arange(n), np.diff(pointers))
    refuse(stored > 0 and (places.min() < 0 or places.max() >= n or (places == rows).any()), BAD_GRAPH)
    refuse(((np.diff(places) <= 0) & (np.diff(rows) == 0)).any(), BAD_GRAPH)
    values = np.ones(stored) if weights is NULL else finite_at(weights, (stored,))
    return sparse.csr_array((values, places, pointers), shape=(n, n))


# ---------------------------------------------------------------- neighbours


cdef int forked = 0  # a team of threads would hang in a forked child


def _forget_threads():
    global forked
    forked = 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


cdef int nearest(int type, int metric, const void *rows, Py_ssize_t n, const void *queries, Py_ssize_t q, Py_ssize_t d,
                 Py_ssize_t k, double *distances, Py_ssize_t *neighbors, int n_threads) noexcept nogil:
    cdef nmlsdr_rows X = nmlsdr_dense(type, rows, n, d), Q = nmlsdr_dense(type, queries, q, d)
    cdef bint own = queries is NULL and q == 0
    return nmlsdr_nearest(&X, NULL if own else &Q, metric, k, distances, neighbors, 1 if forked else n_threads)


cdef int index_new(int type, int metric, const void *rows, Py_ssize_t n, Py_ssize_t d, void **index,
                   int n_threads) noexcept nogil:
    cdef nmlsdr_rows X = nmlsdr_dense(type, rows, n, d)
    return nmlsdr_index_new(&X, metric, <nmlsdr_index **>index, 1 if forked else n_threads)


cdef int index_query(const void *index, int type, const void *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
                     double *distances, Py_ssize_t *neighbors, int n_threads) noexcept nogil:
    cdef nmlsdr_rows Q = nmlsdr_dense(type, queries, q, d)
    if queries is NULL:
        return NULL_POINTER
    return nmlsdr_index_query(<const nmlsdr_index *>index, &Q, k, distances, neighbors, 1 if forked else n_threads)


cdef void index_free(void *index) noexcept nogil:
    nmlsdr_index_free(<nmlsdr_index *>index)


# ---------------------------------------------------------------- graph, T, propagation


cdef Py_ssize_t neighbor_graph(const Py_ssize_t *neighbors, Py_ssize_t n, Py_ssize_t k, int64_t *indptr,
                               int32_t *columns, int n_threads) noexcept nogil:
    return nmlsdr_neighbor_graph(neighbors, n, k, indptr, columns)


cdef int transition_matrix(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n,
                           double *values, int n_threads) noexcept nogil:
    return nmlsdr_transition_matrix(indptr, columns, weights, n, values, 1 if forked else n_threads)


cdef int propagate(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n, const double *Y,
                   Py_ssize_t n_labels, const double *alpha, const unsigned char *labeled, double tol, double *F,
                   Quality *quality, int n_threads) noexcept with gil:
    try:
        from ._solvers.system import Goal
        from .propagation import propagate_checked, system_of

        n_threads = threads(n, n_threads)
        refuse(n_labels < 1, BAD_SIZE)
        W = graph_at(indptr, columns, weights, n)
        given, trust, out = finite_at(Y, (n, n_labels)), finite_at(alpha, (n,)), array_at(F, (n, n_labels), "f8")
        known = None if labeled is NULL else array_at(labeled, (n,), "u1") != 0
        result = propagate_checked(system_of(W, given, trust, known, n_threads), Goal(tol), silent=True)
        out[:] = result.F
        if quality is not NULL:
            quality.residual = result.residual
            quality.error_bound = result.error_bound
            quality.n_iter = result.n_iter
            quality.n_unreached = result.n_unreached
        return OK
    except BaseException as error:
        return number_of(error)


cdef nmlsdr_api table
table.version = API
table.neighbor_graph = neighbor_graph
table.transition_matrix = transition_matrix
table.nearest = nearest
table.message = message
# Quality and nmlsdr_quality are the same struct under two names; an index is void * in Cython
(<void **>&table.propagate)[0] = <void *>propagate
(<void **>&table.index_new)[0] = <void *>index_new
(<void **>&table.index_query)[0] = <void *>index_query
(<void **>&table.index_free)[0] = <void *>index_free
__all__ = ["TABLE"]
TABLE = PyCapsule_New(&table, NMLSDR_API_NAME, NULL)
