"""What SciPy's own wrappers of LAPACK and BLAS do while they hold the GIL, without it.

Folds of the ridge's cross-validation are computed by several threads.  With SciPy's wrappers, which hold the GIL, a fit
of 3000 x 2000 rows was 1.11 times as fast on two threads as on one.  Each call runs on the thread that makes it.
"""

from scipy.linalg.cython_blas cimport dsyrk
from scipy.linalg.cython_lapack cimport dposv, sposv

from ._typedefs cimport real_t


def solve_positive(
    real_t[::1, :] A,                     # INOUT (m, m) lower triangle of a positive matrix; its Cholesky factor
    real_t[::1, :] B,                     # INOUT (m, k) right-hand sides; A^-1 B
):
    """Solve A X = B; return 0, or the order of the leading minor that is not positive."""
    cdef int m = <int>A.shape[0], k = <int>B.shape[1], failed = 0
    cdef char lower = b"L"
    if m == 0 or k == 0:
        return 0
    with nogil:
        if real_t is double:
            dposv(&lower, &m, &k, &A[0, 0], &m, &B[0, 0], &m, &failed)
        else:
            sposv(&lower, &m, &k, &A[0, 0], &m, &B[0, 0], &m, &failed)
    return failed


def add_products(
    double[::1, :] S,                     # INOUT (m, m) its lower triangle: S + share V V'
    double[::1, :] V,                     # IN  (m, k)
    double share,
):
    cdef int m = <int>V.shape[0], k = <int>V.shape[1]
    cdef char lower = b"L", plain = b"N"
    cdef double one = 1.0
    if m == 0 or k == 0:
        return
    with nogil:
        dsyrk(&lower, &plain, &m, &k, &share, &V[0, 0], &m, &one, &S[0, 0], &m)
