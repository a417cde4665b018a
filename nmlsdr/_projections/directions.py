"""What every projection shares: the form of the answer, Lanczos iterations, numerical rank, and the sign rule."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from .._errors import InputError
from .._moments import RowSums


@dataclass(frozen=True)
class Directions:
    """Directions of a linear projection, most important first.

    Attributes
    ----------
    components : ndarray of shape (d, n_features)
        One direction in each row, in the dtype of X; the entry of largest magnitude is positive.
    eigenvalues : ndarray of shape (d,), float64
        Decreasing.
    mean : ndarray of shape (n_features,), float64
        Mean of the rows that the directions were computed from.
    rank : int
        Numerical rank of the eigenproblem, as far as it was computed: an iterative solver that computes d directions
        finds a rank of at most d.
    total : float
        Sum of all eigenvalues, including those of directions that are not in ``components``; NaN where it is not used.
    """

    components: np.ndarray
    eigenvalues: np.ndarray
    mean: np.ndarray
    rank: int
    total: float = np.nan


def leading_by_lanczos(
    times_transposed: Callable[[np.ndarray], np.ndarray],
    times: Callable[[np.ndarray], np.ndarray],
    size: int,
    n_directions: int,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Leading left singular vectors and values of a matrix Z that V -> Z'V and V -> Z V give.

    None when Lanczos iterations on Z Z' (``size`` x ``size``, never formed) cannot answer: they do not converge, or a
    singular value is below 1e-6 of the largest, which the ARPACK of SciPy 1.12 finds less well than an SVD (seen).
    """
    start = np.random.RandomState(0).uniform(-1.0, 1.0, size)  # fixed: the same answer every time
    # ARPACK takes |residual| <= eps max(eps^(2/3), |eigenvalue|) for converged, so that eigenvalues below 4e-11 are
    # found less well: the scale, a power of two, lifts the largest to about 2^60.
    _, exponent = np.frexp(np.linalg.norm(times_transposed(start)) / np.linalg.norm(start))
    scale = np.ldexp(1.0, 30 - int(exponent))
    operator = LinearOperator(
        (size, size), matvec=lambda v: times(times_transposed(v) * scale) * scale, dtype=np.float64
    )
    try:
        _, V = eigsh(operator, k=n_directions, which="LA", v0=start)
    except ArpackError:  # no convergence, or nothing to iterate on: the dense way always answers
        return None
    U, s = refine(V, times_transposed(V))
    return (U, s) if s[-1] > 1e-6 * s[0] else None


def refine(V: np.ndarray, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular vectors and values of Z within the span of orthonormal V, from Z'V.

    The eigenvalues of Z Z' are squares: they lose singular values below 1e-8 of the largest.
    """
    _, s, Qt = linalg.svd(image, full_matrices=False, check_finite=False)
    return V @ Qt.T, s


def refuse_no_dependence(M: np.ndarray, X: RowSums, F: np.ndarray) -> None:
    """Raise when M = X'F holds nothing but rounding."""
    floor = np.finfo(np.float64).eps * max(M.shape) * X.norm() * np.linalg.norm(F)
    if np.linalg.norm(M) <= floor:
        raise InputError(
            f"The {X.shape[0]} rows show no dependence between features and labels: every label is the same on "
            "all rows (one class), or every feature is constant; give rows that differ in both."
        )


def thin_svd(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors and singular values; of a wide matrix without its right ones."""
    if M.shape[1] > M.shape[0]:
        M = linalg.qr(M.T, mode="r")[0][: M.shape[0]].T
    U, s, _ = linalg.svd(M, full_matrices=False, check_finite=False)
    return U, s


def uncentred_size(mean: np.ndarray, F: np.ndarray) -> float:
    """The size of the part of X'F that centring X takes away, with this mean of X."""
    return float(np.linalg.norm(mean) * np.linalg.norm(F.sum(axis=0)))


def numerical_rank(s: np.ndarray, size: Any, shape: tuple[int, ...], dtype: Any) -> int:
    """The number of singular values that are more than rounding errors of numbers of this size."""
    return int(np.count_nonzero(s > size * max(shape) * np.finfo(dtype).eps))


def finish(
    U: np.ndarray, s: np.ndarray, rank: int, n_components: int | None, dtype: Any, mean: np.ndarray
) -> Directions:
    """Cut the directions ``U`` (n_features, >= d) of singular values ``s`` to the rank, fix their signs, cast."""
    d = rank if n_components is None else min(rank, n_components)
    if n_components is not None and n_components > rank:
        warnings.warn(
            f"n_components={n_components} is above the numerical rank {rank}, the number kept; pass None for the rank.",
            stacklevel=4,
        )
    U = U[:, :d]
    s = s[:d]
    signs = np.sign(U[np.argmax(np.abs(U), axis=0), np.arange(d)])
    components = np.ascontiguousarray((U * signs + 0.0).T, dtype=dtype)  # + 0.0: no -0.0 in what users print
    return Directions(components, s**2, mean, rank)
