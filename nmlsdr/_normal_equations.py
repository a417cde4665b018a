"""Ridge regression on weighted, centred features: three ways to the same coefficients.

With S = Xc diag(w)^1/2 (m x D), Xc the rows minus the mean of the training rows, and lambda = c |S|_F^2 / m:

    Primal   (S'S + lambda I) B = S'Yc          D x D, where there are at least as many rows as features;
    Dual     B = S'A, (S S' + lambda I) A = Yc  m x m, where there are fewer;
    Sweeps   the smaller of the two by conjugate gradients, where both are large.

lambda is relative to the trace, so no system is worse conditioned than 1 + m / c: a Cholesky factor always exists.

In a cross-validation the weights differ from fold to fold, the rows do not.  `PrimalFolds` forms the Gram matrix of
all rows once and takes the fold's from it.  `DualFolds` uses that w(b) = (1 - b) + b kappa is linear in b: the Gram
matrix of b is (1 - b) K(1) + b K(kappa), so that two a fold serve every b.

What has no variation (|S|_F = 0) is predicted by the mean.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from ._moments import centred_gram, column_means, column_squares, cross_moment, label_moment, project
from .projection import dependence_of_features, shrunken_weights

__all__ = ["DualFolds", "Fold", "Folds", "PrimalFolds", "SweepFolds", "cholesky", "coefficients",
           "conjugate_gradients", "cross_gram", "solve_factored"]  # fmt: skip

# Conjugate gradients stop when no column's residual is above this share of its right-hand side.
_TOLERANCE = 1e-8


class Fold(Protocol):
    """One fold of a cross-validation, ready to be predicted with any b and c."""

    def predict(self, shrinkage: float, ridge: float) -> np.ndarray:
        """Predictions (n_test, n_labels) for the rows of the fold, from the other rows alone."""
        ...


class Folds(Protocol):
    """A cross-validation: hands out its folds, which share what does not depend on them."""

    def fold(self, test: np.ndarray) -> Fold:
        """The fold that tests on the rows ``test`` (bool) and trains on the others."""
        ...


def cholesky(A: np.ndarray, diagonal: np.ndarray | float) -> np.ndarray:
    """The lower Cholesky factor of A + diag(diagonal); A by its lower triangle, not changed."""
    shifted = A.copy(order="F")
    shifted.flat[:: len(A) + 1] += diagonal
    factor, info = lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
    assert info == 0, "a ridge of a share of the trace leaves nothing singular"
    return np.asarray(factor)


def solve_factored(factor: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(L L')^-1 B from what `cholesky` gave."""
    solution, _ = lapack.dpotrs(factor, B, lower=1)
    return np.asarray(solution)


def _solve(A: np.ndarray, level: float, B: np.ndarray) -> np.ndarray:
    """(A + level I)^-1 B by Cholesky; A by its lower triangle, not changed."""
    return solve_factored(cholesky(A, level), B)


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
        self.shrinkage = np.nan
        self.prepared: tuple[np.ndarray, np.ndarray, np.ndarray]

    def _prepare(self, w: np.ndarray, shrinkage: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features that count, their w^1/2, and S'S: the same for every c."""
        if shrinkage != self.shrinkage:
            kept = np.flatnonzero(w)
            root = np.sqrt(w[kept])
            self.shrinkage = shrinkage
            self.prepared = kept, root, self.gram[np.ix_(kept, kept)] * np.outer(root, root)
        return self.prepared

    def predict(self, shrinkage: float, ridge: float) -> np.ndarray:
        training = self.training
        w = shrunken_weights(training.kappa, shrinkage)
        level = training.level(w, ridge)
        V = np.zeros(training.moment.shape)
        if level > 0:
            kept, root, gram = self._prepare(w, shrinkage)
            V[kept] = _solve(gram, level, training.moment[kept] * root[:, None]) * root[:, None]
        return np.asarray(project(self.tested, V, training.mean)) + training.label_mean


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

    def predict(self, shrinkage: float, ridge: float) -> np.ndarray:
        training = self.training
        K, tested = (
            (1.0 - shrinkage) * plain + shrinkage * weighted
            for plain, weighted in zip(self.plain, self.weighted, strict=True)
        )
        level = training.level(shrunken_weights(training.kappa, shrinkage), ridge)
        if level == 0:
            return np.tile(training.label_mean, (len(tested), 1))
        return tested @ _solve(K, level, training.labels - training.label_mean) + training.label_mean


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

    def predict(self, shrinkage: float, ridge: float) -> np.ndarray:
        training = self.training
        V = _by_sweeps(training.rows, training.labels, ridge, shrunken_weights(training.kappa, shrinkage))
        return project(self.tested, V, training.mean) + training.label_mean


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
