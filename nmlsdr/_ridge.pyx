"""Kernels of the ridge regression: symmetric systems by Cholesky, without the interpreter's lock.

SciPy's own functions keep the lock while LAPACK works, so that the folds of a cross-validation, 75 systems, could not
be solved side by side.  Here they can: a thread a system, and LAPACK on one thread in each, so that the number of
threads changes no bit.
"""

from libc.string cimport memcpy
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs


def factorize(
    const double[::1, :] A,               # IN  (m, m) symmetric, by its lower triangle
    const double[::1] diagonal,           # IN  (m,) what is added to the diagonal
    double[::1, :] factor,                # OUT (m, m) the lower triangle holds L; above it nothing is written
):
    """L of L L' = A + diag(diagonal); return 0, or the order of the leading minor that is not positive."""
    cdef int size = <int>A.shape[0], info = 0
    cdef char lower = b"L"
    cdef Py_ssize_t j
    if size == 0:
        return 0
    with nogil:
        for j in range(size):
            memcpy(&factor[j, j], &A[j, j], (size - j) * sizeof(double))
            factor[j, j] += diagonal[j]
        dpotrf(&lower, &size, &factor[0, 0], &size, &info)
    return info


def solve_triangles(
    double[::1, :] factor,                # IN  (m, m) what factorize gave; LAPACK's interface knows no const
    double[::1, :] B,                     # INOUT (m, r) right-hand sides, then the solution
):
    """(L L')^-1 B in place of B."""
    cdef int size = <int>factor.shape[0], columns = <int>B.shape[1], info = 0
    cdef char lower = b"L"
    if size == 0 or columns == 0:
        return
    with nogil:
        dpotrs(&lower, &size, &columns, &factor[0, 0], &size, &B[0, 0], &size, &info)
