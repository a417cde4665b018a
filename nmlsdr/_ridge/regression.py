r"""One ridge regression on weighted, centred features, each label on the rows where it is known.

Let K be the m rows where a set of labels is known, Xc these rows minus their mean, S = Xc diag(w)^1/2 and
lambda = c |S|_F^2 / m.  The coefficients B of these labels solve the smaller of two systems, by Cholesky factors:

    (S'S + lambda I) B = S'Yc                      D x D, where there are at least as many rows as features;
    (S S' + lambda I) A = Yc,    B = S'A           m x m, where there are fewer.

lambda is relative to the trace, so no system is worse conditioned than 1 + m / c: a Cholesky factor always exists.
What has no variation (|S|_F = 0) is predicted by the mean.

Labels that are known on other rows need another factor.  Where a matrix would be too large, or where so many sets of
rows would cost more in factors, labels are solved by conjugate gradients (`iterative`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from .._checks.arguments import check_row_weights
from .._checks.labels import some_unknown
from .._label_sums import LabelSet, label_sets
from .._lapack import solve_positive
from .._moments import RowSums, n_stored
from .._process.threads import check_n_jobs, single_threaded_blas
from .iterative import PartlyKnownRows, WeightedSystems

# The largest matrix to form, 72 MB.
LARGEST_GRAM = 3000
# A preconditioner may have so many numbers for each number that the rows store.
_WORTH_A_GRAM = 32
# Iterations of the conjugate gradients that the choice counts on where labels are known on different rows: 6 to 17
# were seen with 30 to 90 % known, 300 to 1500 features and c of .3 to 30 (11 to 42 without the preconditioner).
_ITERATIONS = 12
# The same of sparse rows, whose systems have the preconditioner of their diagonal (28 for 1776 rows of 6 words each),
# and the time of a multiplication there by that in a factor.
_SPARSE_ITERATIONS = 28
_SPARSE_COST = 8.0


def ridge_regression(
    X: Any, Y: Any, ridge: float, *, feature_weights: Any = None, known: Any = None, n_jobs: int | None = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Ridge regression of all labels on weighted features: x -> coef x + intercept.

    With S = (X - mean X) diag(w)^1/2 and lambda = c |S|_F^2 / n, B minimises |Yc - S B|_F^2 + lambda |B|_F^2;
    coef = (diag(w)^1/2 B)', intercept = mean Y - coef mean X.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows; finite numbers.
    Y : array or sparse matrix of shape (n_samples, n_labels)
        0/1.
    ridge : float
        c, above 0.
    feature_weights : array of shape (n_features,), default=None
        w, each 0 or more; None: 1.
    known : array of shape (n_samples, n_labels), bool, default=None
        The entries of Y that are known, None: all.  Each label is then fitted on its known rows: n, the means and
        lambda are those of these rows; a label without any is 0.
    n_jobs : int or None, default=1
        Number of threads of conjugate gradients. None: all cores. It does not change the result.

    Returns
    -------
    coef : ndarray of shape (n_labels, n_features), float64
        One row a label.
    intercept : ndarray of shape (n_labels,), float64
        The mean of Y where no feature varies.

    Raises
    ------
    ValueError
        For NaN or infinity, or unequal numbers of rows.

    Examples
    --------
    One feature, X = (-1, 1), Y = (0, 1), c = 1: |S|^2 = 2, lambda = 1, B = 1 / (2 + 1).

    >>> from nmlsdr._ridge import ridge_regression
    >>> coef, intercept = ridge_regression([[-1.0], [1.0]], [[0], [1]], 1.0)
    >>> coef.round(6).tolist(), intercept.tolist()
    ([[0.333333]], [0.5])
    """
    X = RowSums.of(X)
    Y = check_row_weights(Y, "Y", X.shape[0])
    w = np.ones(X.shape[1]) if feature_weights is None else feature_weights
    mask = some_unknown(known, Y)
    with single_threaded_blas():
        sets = label_sets(X, Y, mask)
        V, intercept = coefficients(X, Y, mask, sets, ridge, w, np.zeros(X.shape[1]), n_threads=check_n_jobs(n_jobs))
    return np.ascontiguousarray(V.T), intercept


def coefficients(
    X: RowSums,
    Y: np.ndarray,
    known: np.ndarray | None,
    sets: list[LabelSet],
    ridge: float,
    w: np.ndarray,
    origin: np.ndarray,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """w^1/2 B (n_features, n_labels), and what is predicted at ``origin`` (n_labels,).

    A label without a known row is 0 everywhere.
    """
    levels = [ridge * each.variation(w) for each in sets]
    V = np.zeros((X.shape[1], Y.shape[1]))
    if not by_factors(sets, X, 1):
        V = WeightedSystems(partly_known_rows(X, known), sets, w).solve(levels, n_threads)
    else:
        for each, level in zip(sets, levels, strict=True):
            if level == 0:
                continue
            rows = each.rows(X)
            strength = np.array([level])
            if each.is_narrow():
                V[:, each.labels] = from_gram(rows.gram(each.mean), each.moment, w, strength)[0]
            else:
                V[:, each.labels] = from_row_gram(rows, each.centred(Y), each.mean, w, strength)[0]
    return V, predicted_at(origin, V, sets)


def predicted_at(origin: np.ndarray, V: np.ndarray, sets: list[LabelSet]) -> np.ndarray:
    """What these coefficients predict of each label (n_labels,) at a point."""
    predicted = np.zeros(V.shape[1])
    for each in sets:
        predicted[each.labels] = each.predicted_at(origin, V[:, each.labels])
    return predicted


def by_factors(sets: list[LabelSet], X: RowSums, n_pairs: int) -> bool:
    """Whether the systems are small enough to be factored, for ``n_pairs`` of strengths.

    Where labels are known on different rows, the multiplications of a Gram matrix for each set and a factor for each
    pair are compared with those of conjugate gradients.
    """
    n_features = X.shape[1]
    counts = np.array([each.count for each in sets], dtype=np.float64)
    size = np.minimum(counts, n_features)
    if size.max() > LARGEST_GRAM:
        return False
    if len(sets) < 2:
        return True
    factors = float(np.sum(counts * n_features * size / 2 + n_pairs * size**3 / 6))
    n_labels = sum(len(each.labels) for each in sets)
    return factors <= n_pairs * n_labels * _cost_of_iterations(X)


def _cost_of_iterations(X: RowSums) -> float:
    """The multiplications in a factor that take as long as the conjugate gradients of one label."""
    n_samples, n_features = X.shape
    if X.is_sparse:
        return _SPARSE_ITERATIONS * _SPARSE_COST * (2.0 * n_stored(X.rows) + 8.0 * (n_samples + n_features))
    return _ITERATIONS * 2.0 * n_samples * n_features


def partly_known_rows(X: RowSums, known: np.ndarray | None) -> PartlyKnownRows:
    """The rows as conjugate gradients read them, with Gram matrices of the features if these save more than they cost.

    With 1258 words and 1776 rows of 6 words each, 28 iterations without them took .4 of the time of 10 with them.
    """
    if known is None:
        return PartlyKnownRows(X, known, preconditioned=False)
    is_cheap = X.shape[1] <= LARGEST_GRAM and X.shape[1] ** 2 <= _WORTH_A_GRAM * n_stored(X.rows)
    return PartlyKnownRows(X, known, preconditioned=is_cheap)


def from_gram(gram: np.ndarray, moment: np.ndarray, w: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """w^1/2 B for each lambda (n_levels, n_features, n_labels) from Xc'Xc, by its lower triangle, and Xc'Y.

    The factors have the dtype of Xc'Xc. Features without weight take no part.
    """
    columns = slice(None) if w.all() else np.flatnonzero(w)  # a slice is copied in a tenth of the time
    root = np.sqrt(w[columns]).astype(gram.dtype)[:, None]
    part = gram.T[columns][:, columns].T  # in Fortran order, as LAPACK reads it
    V = np.zeros((len(levels), *moment.shape))
    V[:, columns] = root * solve_shifted(part * root.T * root, levels, moment[columns] * root)
    return V


def from_row_gram(
    rows: RowSums, centred: np.ndarray, mean: np.ndarray, w: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """w^1/2 B for each lambda (n_levels, n_features, n_labels) from the rows, their centred labels and their mean."""
    solutions = solve_shifted(rows.row_gram(w), levels, centred)
    return np.stack([w[:, None] * rows.cross_moment(A, mean) for A in solutions])


def solve_shifted(A: np.ndarray, levels: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(A + level I)^-1 B for each level, by Cholesky factors; A by its lower triangle, not changed."""
    shifted = np.empty_like(A, order="F")
    solutions = np.empty((len(levels), *B.shape[::-1]), dtype=A.dtype)
    solutions[:] = B.T
    for level, solution in zip(levels, solutions, strict=True):
        shifted[:] = A
        shifted.reshape(-1, order="F")[:: len(A) + 1] += level
        if failed := solve_positive(shifted, solution.T):
            raise linalg.LinAlgError(f"The leading minor {failed} of a ridge regression is not positive.")
    return solutions.transpose(0, 2, 1)
