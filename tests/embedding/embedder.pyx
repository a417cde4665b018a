# From rows to soft labels without Python between the steps.
cimport nmlsdr.c_api as nmlsdr
from libc.stdint cimport int32_t, int64_t

if nmlsdr.api_number() < nmlsdr.API:
    raise ImportError("embedder was compiled against a later nmlsdr.")


def soft_labels(
    const double[:, ::1] X, const double[:, ::1] Y,
    const double[::1] alpha, const unsigned char[::1] labeled,
    double[:, ::1] squared, Py_ssize_t[:, ::1] neighbors,  # (n, k), filled
    int64_t[::1] indptr, int32_t[::1] columns,             # (n + 1) and (2 n k), filled: W
    double[:, ::1] F, double tol=1e-8, int n_threads=2,
):
    cdef Py_ssize_t n = X.shape[0], k = neighbors.shape[1], edges = 0
    cdef nmlsdr.Quality quality
    cdef int code
    with nogil:
        code = nmlsdr.nearest(nmlsdr.FLOAT64, nmlsdr.EUCLIDEAN, &X[0, 0], n, NULL, 0, X.shape[1], k,
                              &squared[0, 0], &neighbors[0, 0], n_threads)
        if code == 0:
            edges = nmlsdr.neighbor_graph(&neighbors[0, 0], n, k, &indptr[0], &columns[0], n_threads)
            code = <int>edges if edges < 0 else nmlsdr.propagate(
                &indptr[0], &columns[0], NULL, n, &Y[0, 0], Y.shape[1], &alpha[0], &labeled[0], tol, &F[0, 0],
                &quality, n_threads)
    if code:
        raise RuntimeError(nmlsdr.message(code).decode())
    return edges, quality
