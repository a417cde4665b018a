"""Ridge regression on weighted, centred features: three ways to the same coefficients.

With S = Xc diag(w)^1/2 (m x D), Xc the rows minus the mean of the training rows, and lambda = c |S|_F^2 / m:

    Primal   (S'S + lambda I) B = S'Yc          D x D, where there are at least as many rows as features;
    Dual     B = S'A, (S S' + lambda I) A = Yc  m x m, where there are fewer;
    Sweeps   the smaller of the two by conjugate gradients, where both are large.

lambda is relative to the trace, so no system is worse conditioned than 1 + m / c: a Cholesky factor always exists.

In a cross-validation the weights differ from fold to fold, the rows do not.  `PrimalFolds` forms the Gram matrix of
all rows once and takes the fold's from it.  `DualFolds` uses that w(b) = (1 - b) + b kappa is linear in b: the Gram
matrix of b is (1 - b) K(1) + b K(kappa), so that two a fold serve every b.  What depends on b alone, the weighted Gram
matrix and the weighted tested rows, a fold makes once for all c.

One factorisation for each c is what costs least.  With D = 500, C = 153 and 311 tested rows, five Cholesky solves and
predictions take 17 ms; a reduction to tridiagonal form that serves all five c, with its products of the tested rows
and the moment by the reflections, 17 ms as well (dsytrd 7.8), an eigendecomposition 31 (22.6 alone), and a larger D
favours the solves: they are products of blocks throughout, half of a reduction is products with vectors.

What has no variation (|S|_F = 0) is predicted by the mean.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from ._moments import centred_gram, column_means, column_squares, cross_moment, label_moment, project
from ._ridge import factorize, solve_triangles
from .projection import dependence_of_features, shrunken_weights

__all__ = ["DualFolds", "Fold", "Folds", "PrimalFolds", "SweepFolds", "Weighted", "cholesky", "coefficients",
           "conjugate_gradients", "cross_gram", "solve_factored"]  # fmt: skip

# Conjugate gradients stop when no column's residual is above this share of its right-hand side.
_TOLERANCE = 1e-8


class Weighted(Protocol):
    """A fold with b chosen."""

    def predict(self, ridge: float) -> np.ndarray:
        """Predictions (n_test, n_labels) for the rows of the fold, from the other rows alone."""
        ...


class Fold(Protocol):
    """One fold of a cross-validation, ready to be weighted with any b."""

    def weigh(self, shrinkage: float) -> Weighted:
        """The fold with the weights w(b); from several threads if need be."""
        ...


class Folds(Protocol):
    """A cross-validation: hands out its folds, which share what does not depend on them."""

    def fold(self, test: np.ndarray) -> Fold:
        """The fold that tests on the rows ``test`` (bool) and trains on the others; from several threads too."""
        ...


def cholesky(A: np.ndarray, diagonal: np.ndarray | float, scratch: np.ndarray | None = None) -> np.ndarray:
    """The lower Cholesky factor of A + diag(diagonal); A by its lower triangle, not changed.

    In Fortran order it is not copied; ``scratch``, in Fortran order too, takes the factor.
    """
    A = np.asfortranarray(A)
    factor = np.empty_like(A) if scratch is None else scratch
    minor = factorize(A, np.array(np.broadcast_to(diagonal, len(A)), dtype=np.float64), factor)
    assert minor == 0, "a ridge of a share of the trace leaves nothing singular"
    return factor


def solve_factored(factor: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(L L')^-1 B from what `cholesky` gave."""
    solution = B.copy(order="F")
    solve_triangles(factor, solution)
    return solution


def _solve(A: np.ndarray, level: float, B: np.ndarray, scratch: np.ndarray | None = None) -> np.ndarray:
    """(A + level I)^-1 B by Cholesky; A by its lower triangle, not changed."""
    return solve_factored(cholesky(A, level, scratch), B)


class _Training:
    """What every kind of fold computes of its training rows: kappa, means, and the moment Xc'Y.

    No label of the tested rows is read, and of their features only sums that cancel.
    """

    def __init__(self, X: Any, Y: np.ndarray, test: np.ndarray) -> None:
        train = ~test
        self.rows, self.labels = X[train], Y[train]
        found = dependence_of_features(self.rows, self.labels)
        self.moment, self.squares, self.mean = found.moment, found.squares, found.mean
        self.kappa = found.kappa if found.kappa.any() else np.ones_like(found.kappa)
        self.label_mean = self.labels.mean(axis=0)

    def level(self, w: np.ndarray, ridge: float) -> float:
        """lambda = c |S|_F^2 / m; exactly 0 where nothing varies."""
        return ridge * float(w @ self.squares) / len(self.labels)


# ---------------------------------------------------------------- D x D


class PrimalFolds:
    """The Gram matrix of all rows, about their common mean."""

    def __init__(self, X: Any, Y: np.ndarray) -> None:
        self.X, self.Y = X, Y
        self.mean = column_means(X)
        self.gram = centred_gram(X, self.mean)

    def fold(self, test: np.ndarray) -> Fold:
        return _PrimalFold(self, test)


class _PrimalFold:
    def __init__(self, folds: PrimalFolds, test: np.ndarray) -> None:
        training = _Training(folds.X, folds.Y, test)
        self.training, self.tested = training, folds.X[test]
        shift = training.mean - folds.mean
        self.gram = folds.gram - centred_gram(self.tested, folds.mean)
        self.gram -= len(training.labels) * np.outer(shift, shift)

    def weigh(self, shrinkage: float) -> Weighted:
        return _PrimalWeighted(self, shrunken_weights(self.training.kappa, shrinkage))


class _PrimalWeighted:
    """S'S, S'Yc and the tested rows of S; features without weight take no part."""

    def __init__(self, fold: _PrimalFold, w: np.ndarray) -> None:
        self.fold, self.w = fold, w
        some = np.flatnonzero(w)
        self.kept = kept = slice(None) if len(some) == len(w) else some  # a slice is copied in a tenth of the time
        self.root = root = np.sqrt(w[kept])
        gram = np.multiply(fold.gram.T[kept][:, kept], root, order="C")
        gram *= root[:, None]
        self.gram = gram.T  # in Fortran order, as it was
        self.moment = np.asfortranarray(fold.training.moment[kept] * root[:, None])
        self.tested = _weighted_rows(fold.tested, fold.training.mean, kept, root)
        self.scratch = np.empty_like(self.gram)

    def predict(self, ridge: float) -> np.ndarray:
        training = self.fold.training
        level = training.level(self.w, ridge)
        if level == 0:
            return np.tile(training.label_mean, (self.fold.tested.shape[0], 1))
        B = _solve(self.gram, level, self.moment, self.scratch)
        if self.tested is not None:
            return self.tested @ B + training.label_mean
        V = np.zeros(training.moment.shape)
        V[self.kept] = B * self.root[:, None]
        return np.asarray(project(self.fold.tested, V, training.mean)) + training.label_mean


def _weighted_rows(rows: Any, mean: np.ndarray, kept: slice | np.ndarray, root: np.ndarray) -> np.ndarray | None:
    """Rows of S in memory, once for every c; None of rows that are sparse, and stay so, or elsewhere."""
    if not isinstance(rows, np.ndarray):
        return None
    centred: np.ndarray = rows[:, kept] - mean[kept]
    centred *= root
    return centred


# ---------------------------------------------------------------- rows x rows


class DualFolds:
    """K(1), the Gram matrix of all rows with weights of 1."""

    def __init__(self, X: Any, Y: np.ndarray) -> None:
        self.X, self.Y = X, Y
        # Centring twice takes any shift out of K; a large one would take the digits along.
        self.rows = X.astype(np.float64, copy=False) if sparse.issparse(X) else X - column_means(X)
        self.gram = _row_gram(self.rows, None)

    def fold(self, test: np.ndarray) -> Fold:
        return _DualFold(self, test)


def _row_gram(rows: Any, weights: np.ndarray | None) -> np.ndarray:
    """rows diag(weights) rows'."""
    if weights is not None:
        kept = np.flatnonzero(weights)
        root = np.sqrt(weights[kept])
        if sparse.issparse(rows):
            rows = sparse.csr_array(rows[:, kept] @ sparse.diags_array(root))
        else:
            rows = rows[:, kept] * root
    K = rows @ rows.T
    return np.asarray(K.toarray() if sparse.issparse(K) else K)


class _DualFold:
    def __init__(self, folds: DualFolds, test: np.ndarray) -> None:
        self.training = _Training(folds.X, folds.Y, test)
        self.plain = _about_training_mean(folds.gram, test)
        self.weighted = _about_training_mean(_row_gram(folds.rows, self.training.kappa), test)

    def weigh(self, shrinkage: float) -> Weighted:
        return _DualWeighted(self, shrinkage)


class _DualWeighted:
    """S S' among the training rows, and of the tested rows with them."""

    def __init__(self, fold: _DualFold, shrinkage: float) -> None:
        self.fold, self.w = fold, shrunken_weights(fold.training.kappa, shrinkage)
        self.gram, self.tested = (
            (1.0 - shrinkage) * plain + shrinkage * weighted
            for plain, weighted in zip(fold.plain, fold.weighted, strict=True)
        )
        self.gram = self.gram.T  # it is symmetric, and LAPACK reads Fortran order
        self.scratch = np.empty_like(self.gram)

    def predict(self, ridge: float) -> np.ndarray:
        training = self.fold.training
        level = training.level(self.w, ridge)
        if level == 0:
            return np.tile(training.label_mean, (len(self.tested), 1))
        A = _solve(self.gram, level, training.labels - training.label_mean, self.scratch)
        return np.asarray(self.tested @ A) + training.label_mean


def _about_training_mean(K: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """K among the training rows, and of the tested rows with them, centred on the mean of the training rows."""
    train = ~test
    columns = K[:, train]
    means = columns.mean(axis=1)
    columns = columns - means[:, None] - means[train] + means[train].mean()
    return columns[train], columns[test]


# ---------------------------------------------------------------- conjugate gradients


class SweepFolds:
    """No Gram matrix at all: products with S and S'."""

    def __init__(self, X: Any, Y: np.ndarray) -> None:
        self.X, self.Y = X, Y

    def fold(self, test: np.ndarray) -> Fold:
        return _SweepFold(self, test)


class _SweepFold:
    def __init__(self, folds: SweepFolds, test: np.ndarray) -> None:
        self.training, self.tested = _Training(folds.X, folds.Y, test), folds.X[test]

    def weigh(self, shrinkage: float) -> Weighted:
        return _SweepWeighted(self, shrunken_weights(self.training.kappa, shrinkage))


class _SweepWeighted:
    def __init__(self, fold: _SweepFold, w: np.ndarray) -> None:
        self.fold, self.w = fold, w

    def predict(self, ridge: float) -> np.ndarray:
        training = self.fold.training
        V = _by_sweeps(training.rows, training.labels, ridge, self.w)
        return np.asarray(project(self.fold.tested, V, training.mean)) + training.label_mean


def _by_sweeps(X: Any, Y: np.ndarray, ridge: float, w: np.ndarray) -> np.ndarray:
    """w^1/2 B (n_features, n_labels) by conjugate gradients on the smaller of the two systems."""
    mean, root = column_means(X), np.sqrt(w)[:, None]
    total = float(w @ column_squares(X, mean))
    if total == 0:
        return np.zeros((X.shape[1], Y.shape[1]))
    level = ridge * total / X.shape[0]

    def forward(V: np.ndarray) -> np.ndarray:
        return project(X, root * V, mean)

    def backward(U: np.ndarray) -> np.ndarray:
        return root * cross_moment(X, U, mean)

    if X.shape[0] < X.shape[1]:
        A = conjugate_gradients(lambda U: forward(backward(U)) + level * U, Y - Y.mean(axis=0))
        return root * backward(A)
    moment = root * label_moment(X, Y, mean)
    return root * conjugate_gradients(lambda V: backward(forward(V)) + level * V, moment)


def conjugate_gradients(multiply: Any, B: np.ndarray, precondition: Any = None) -> np.ndarray:
    """Solve for all columns of B side by side; a column that is done stays as it is.

    ``precondition`` multiplies by something like the inverse of what ``multiply`` multiplies by; then the residual of
    the preconditioned system, in the norm of the preconditioner, decides when a column is done.
    """
    x, r = np.zeros_like(B), B.copy()
    z = r if precondition is None else precondition(r)
    p, rho = z.copy(), np.einsum("ij,ij->j", r, z)
    goal = _TOLERANCE**2 * rho
    for _ in range(10 * len(B)):
        active = rho > goal
        if not active.any():
            break
        q = multiply(p)
        step = np.where(active, rho / np.where(active, np.einsum("ij,ij->j", p, q), 1.0), 0.0)
        x += step * p
        r -= step * q
        z = r if precondition is None else precondition(r)
        new = np.where(active, np.einsum("ij,ij->j", r, z), rho)
        p = np.where(active, z + (new / np.where(active, rho, 1.0)) * p, 0.0)
        rho = new
    return x


# ---------------------------------------------------------------- the coefficients themselves


def coefficients(X: Any, Y: np.ndarray, ridge: float, w: np.ndarray, largest: int) -> np.ndarray:
    """w^1/2 B (n_features, n_labels): what X - mean X is multiplied by, in the way that costs least.

    ``largest`` is the size of the largest Gram matrix to form.
    """
    n_samples, n_features = X.shape
    if min(n_samples, n_features) > largest:
        return _by_sweeps(X, Y, ridge, w)
    mean = column_means(X)
    level = ridge * float(w @ column_squares(X, mean)) / n_samples
    if level == 0:
        return np.zeros((n_features, Y.shape[1]))
    if n_features <= n_samples:
        root = np.sqrt(w)
        gram = centred_gram(X, mean) * np.outer(root, root)
        return _solve(gram, level, label_moment(X, Y, mean) * root[:, None]) * root[:, None]
    return w[:, None] * cross_moment(X, _solve(cross_gram(X, w, mean), level, Y - Y.mean(axis=0)), mean)


def cross_gram(X: Any, w: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Xc diag(w) Xc' of rows that ``mean`` is the mean of."""
    rows = X.astype(np.float64, copy=False) if sparse.issparse(X) else X - mean
    K, _ = _about_training_mean(_row_gram(rows, w), np.zeros(X.shape[0], dtype=bool))
    return K
