"""The functions of `nmlsdr.c_api`, called through the table of its capsule, as include/nmlsdr.h declares them."""

import ctypes

import numpy as np

from nmlsdr import c_api


def table():
    """The functions of the capsule, as include/nmlsdr.h declares them."""
    P = ctypes.c_void_p
    size = ctypes.c_ssize_t
    number = ctypes.c_int
    kinds = [number]
    kinds += [ctypes.CFUNCTYPE(number, number, number, P, size, P, size, size, size, P, P, number)]
    kinds += [ctypes.CFUNCTYPE(size, P, size, size, P, P, number)]
    kinds += [ctypes.CFUNCTYPE(number, P, P, P, size, P, number)]
    kinds += [ctypes.CFUNCTYPE(number, P, P, P, size, P, size, P, P, ctypes.c_double, P, P, number)]
    kinds += [ctypes.CFUNCTYPE(number, number, number, P, size, size, P, number)]
    kinds += [ctypes.CFUNCTYPE(number, P, number, P, size, size, size, P, P, number)]
    kinds += [ctypes.CFUNCTYPE(None, P)]
    kinds += [ctypes.CFUNCTYPE(ctypes.c_char_p, number)]
    names = [
        "version",
        "nearest",
        "neighbor_graph",
        "transition_matrix",
        "propagate",
        "index_new",
        "index_query",
        "index_free",
        "message",
    ]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = P
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    kind = type("Table", (ctypes.Structure,), {"_fields_": list(zip(names, kinds, strict=True))})
    return kind.from_address(pointer(c_api.TABLE, b"nmlsdr.c_api.TABLE"))


class Quality(ctypes.Structure):
    _fields_ = (
        ("residual", ctypes.c_double),
        ("error_bound", ctypes.c_double),
        ("n_iter", ctypes.c_ssize_t),
        ("n_unreached", ctypes.c_ssize_t),
    )


FLOAT32 = 0
FLOAT64 = 1
EUCLIDEAN = 0
COSINE = 1


def at(array):
    return None if array is None else array.ctypes.data


def search(rows, k, queries=None, metric=EUCLIDEAN, *, kind=None, index=None, n_threads=2):
    """What `nearest` answers, or `index_query` of an index; with the arrays that it filled."""
    shape = (len(rows if queries is None else queries), max(k, 0))
    distances = np.full(shape, np.nan)
    indices = np.full(shape, -1, np.intp)
    kind = int(rows.dtype == np.float64) if kind is None else kind
    n, d = rows.shape
    if index is None:
        q = 0 if queries is None else len(queries)
        code = table().nearest(kind, metric, at(rows), n, at(queries), q, d, k, at(distances), at(indices), n_threads)
    else:
        code = table().index_query(index, kind, at(queries), len(queries), d, k, at(distances), at(indices), n_threads)
    return code, distances, indices


def new_index(rows, metric=EUCLIDEAN):
    index = ctypes.c_void_p()
    kind = int(rows.dtype == np.float64)
    return table().index_new(kind, metric, at(rows), *rows.shape, ctypes.addressof(index), 2), index


def neighbor_graph(lists, n_threads=1):
    lists = np.ascontiguousarray(lists, np.intp)
    n, k = lists.shape
    indptr = np.empty(n + 1, np.int64)
    columns = np.empty(2 * n * k, np.int32)
    return table().neighbor_graph(at(lists), n, k, at(indptr), at(columns), n_threads), indptr, columns


def transition(indptr, columns, weights=None, n=None, n_threads=1):
    values = np.full(max(len(columns), 1), np.nan)
    indptr = np.asarray(indptr, np.int64)
    columns = np.asarray(columns, np.int32)
    n = len(indptr) - 1 if n is None else n
    return table().transition_matrix(at(indptr), at(columns), at(weights), n, at(values), n_threads), values


def propagate(W, Y, alpha, labeled=None, tol=1e-8, quality=None, n_threads=2):
    F = np.full_like(Y, np.nan)
    indptr = W.indptr.astype(np.int64)
    columns = W.indices.astype(np.int32)
    quality_address = None if quality is None else ctypes.addressof(quality)
    code = table().propagate(
        at(indptr),
        at(columns),
        at(W.data),
        len(Y),
        at(Y),
        Y.shape[1],
        at(alpha),
        at(labeled),
        tol,
        at(F),
        quality_address,
        n_threads,
    )
    return code, F


def case(n=400, d=7, n_labels=3, n_isolated=0):
    """Rows in two far groups, a tenth labelled, all of them in the first group if `n_isolated`."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X[n - n_isolated :] += 100
    Y = (rng.random((n, n_labels)) < 0.4).astype(float)
    labeled = (np.arange(n) % 10 == 0) & (np.arange(n) < n - n_isolated)
    return X, Y, np.where(labeled, 0.2, 0.95), labeled
