"""Ridge regression where the labels of a row are known in part: every label on its own known rows.

With K_c the l_c rows whose label c is known and P_c the centring over them, label c solves

    (S' P_c S + lambda_c I) b_c = S' P_c y_c,    S = X diag(w)^1/2,    lambda_c = c |P_c S|_F^2 / l_c,

and its intercept is mean_c y - mean_c x' w^1/2 b_c, both means over K_c: what `_normal_equations` solves on these rows
alone.  Two ways to the same coefficients:

    by sets      labels with equal K_c share a Gram matrix, and a Cholesky factor for each pair of strengths;
    together     B -> S'(P o S B) + lambda B by conjugate gradients, preconditioned by the Gram matrix of all rows,
                 which is that of each label up to the share of rows it knows.

By sets, v = w^1/2 b solves (X' P_c X + lambda_c diag(w)^-1) v = X' P_c y_c: the strengths change the diagonal only, so
one Gram matrix serves the whole grid.

The dependence of feature j on the labels, and what chance would make of it, are sums over the labels likewise:
h_j = sum_c (x_j' P_c y_c)^2 and h0_j = sum_c |P_c x_j|^2 |P_c y_c|^2 / (l_c - 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._moments import (
    centred_gram,
    centred_over_known,
    column_means,
    column_squares,
    cross_moment,
    label_moment,
    project,
    squares_over_known,
)
from ._normal_equations import Fold, Weighted, cholesky, conjugate_gradients, cross_gram, solve_factored
from .projection import dependence_over_known, shrunken_weights

__all__ = ["MaskedFolds", "masked_coefficients"]

# Sweeps of the conjugate gradients that the choice of the way counts on: 6 to 17 were seen with 30 to 90 % known,
# 300 to 1500 features and c of .3 to 30 (11 to 42 without the preconditioner).
_SWEEPS = 12
# A feature whose weight is below this share of the largest one adds nothing that float64 could hold.
_NEGLIGIBLE = 1e-30


def masked_coefficients(
    X: Any, Y: np.ndarray, known: np.ndarray, ridge: float, w: np.ndarray, largest: int
) -> tuple[np.ndarray, np.ndarray]:
    """w^1/2 b_c (n_features, n_labels) and the intercepts (n_labels,).

    A label without a known row is 0 everywhere.  ``largest`` is the size of the largest Gram matrix to form.
    """
    mean = column_means(X)
    V, level = _grid_coefficients(X, Y, known, [w], [ridge], mean, largest)
    return V[0, 0], level[0, 0] - mean @ V[0, 0]


def _grid_coefficients(
    X: Any,
    Y: np.ndarray,
    known: np.ndarray,
    weights: Sequence[np.ndarray],
    ridges: Sequence[float],
    mean: np.ndarray,
    largest: int,
) -> tuple[np.ndarray, np.ndarray]:
    """V (n_weights, n_ridges, n_features, n_labels) and what is predicted at ``mean`` (n_weights, n_ridges, n_labels).

    The second is the intercept about the mean, so that a large offset of X costs no digits.
    """
    masks, which = np.unique(known, axis=1, return_inverse=True)
    n_pairs = len(weights) * len(ridges)
    V = np.zeros((len(weights), len(ridges), X.shape[1], Y.shape[1]))
    if _sets_are_cheaper(masks.sum(axis=0), X.shape, Y.shape[1], n_pairs, largest):
        for m, rows in enumerate(masks.T):
            group = np.flatnonzero(which.ravel() == m)
            if rows.any():
                V[..., group] = _of_a_set(X[rows], Y[np.ix_(rows, group)], weights, ridges)
    else:
        precondition = centred_gram(X, mean) if X.shape[1] <= largest else None
        for i, w in enumerate(weights):
            for j, ridge in enumerate(ridges):
                V[i, j] = _all_together(X, Y, known, ridge, w, mean, precondition)
    count = np.maximum(known.sum(axis=0), 1)
    means = cross_moment(X, known.astype(np.float64), mean) / count  # (D, C), mean_c x - mean x
    level = np.where(known, Y, 0.0).sum(axis=0) / count
    return V, level - np.einsum("jc,abjc->abc", means, V)


def _sets_are_cheaper(
    known: np.ndarray, shape: tuple[int, int], n_labels: int, n_pairs: int, largest: int
) -> bool:
    """Multiplications of a Gram matrix for each set of ``known`` rows and a factor for each pair, against sweeps."""
    n_samples, n_features = (float(size) for size in shape)
    size = np.minimum(known, n_features).astype(np.float64)
    if size.max() > largest:
        return False
    apart = float(np.sum(known * n_features * size / 2 + n_pairs * size**3 / 6))
    return apart <= n_pairs * _SWEEPS * n_labels * 2 * n_samples * n_features


def _of_a_set(
    X: Any, Y: np.ndarray, weights: Sequence[np.ndarray], ridges: Sequence[float]
) -> np.ndarray:
    """V (n_weights, n_ridges, n_features, n_labels) of labels that are all known in these rows, and in no others."""
    n_samples, n_features = X.shape
    mean = column_means(X)
    squares = column_squares(X, mean)
    V = np.zeros((len(weights), len(ridges), n_features, Y.shape[1]))
    narrow = n_features <= n_samples
    gram = centred_gram(X, mean) if narrow else None
    moment = label_moment(X, Y, mean) if narrow else Y - Y.mean(axis=0)
    for i, w in enumerate(weights):
        level = float(w @ squares) / n_samples
        if level == 0:
            continue
        kept = np.flatnonzero(w > _NEGLIGIBLE * w.max())
        if gram is None:
            matrix, diagonal, right = cross_gram(X, w, mean), np.ones(n_samples), moment
        elif len(kept) == n_features:
            matrix, diagonal, right = gram, 1.0 / w, moment
        else:
            matrix, diagonal, right = gram[np.ix_(kept, kept)], 1.0 / w[kept], moment[kept]
        for j, ridge in enumerate(ridges):
            solution = solve_factored(cholesky(matrix, ridge * level * diagonal), right)
            if gram is None:
                V[i, j] = w[:, None] * cross_moment(X, solution, mean)
            else:
                V[i, j, kept] = solution
    return V


def _all_together(
    X: Any, Y: np.ndarray, known: np.ndarray, ridge: float, w: np.ndarray, mean: np.ndarray, gram: np.ndarray | None
) -> np.ndarray:
    """V (n_features, n_labels) of all labels; ``gram`` is that of all rows about ``mean``, if it is small enough."""
    root = np.sqrt(w)[:, None]
    count = np.maximum(known.sum(axis=0), 1)
    level = ridge * (w @ squares_over_known(X, known, mean)) / count
    level = np.where(level > 0, level, 1.0)  # nothing varies: any level gives 0

    def multiply(V: np.ndarray) -> np.ndarray:
        return np.asarray(
            root * cross_moment(X, centred_over_known(project(X, root * V, mean), known), mean) + level * V
        )

    precondition = None
    if gram is not None:
        share = float(count.mean()) / X.shape[0]
        factor = cholesky(share * root * gram * root.T, np.full(len(w), level.mean()))

        def precondition(B: np.ndarray) -> np.ndarray:
            return solve_factored(factor, B)

    right = root * cross_moment(X, centred_over_known(Y, known), mean)
    return np.asarray(root * conjugate_gradients(multiply, right, precondition))


class MaskedFolds:
    """The folds of a cross-validation on partly known rows, each solved for every pair of the strengths at once.

    ``largest`` as in `masked_coefficients`.
    """

    def __init__(
        self,
        X: Any,
        Y: np.ndarray,
        known: np.ndarray,
        shrinkages: Sequence[float],
        ridges: Sequence[float],
        largest: int,
    ) -> None:
        self.X, self.Y, self.known = X, Y, known
        self.shrinkages, self.ridges, self.largest = shrinkages, ridges, largest

    def fold(self, test: np.ndarray) -> Fold:
        return _MaskedFold(self, test)


class _MaskedFold:
    def __init__(self, folds: MaskedFolds, test: np.ndarray) -> None:
        train = ~test
        X, Y, known = folds.X[train], folds.Y[train], folds.known[train]
        kappa = dependence_over_known(X, Y, known)
        kappa = kappa if kappa.any() else np.ones_like(kappa)
        weights = [shrunken_weights(kappa, b) for b in folds.shrinkages]
        mean = column_means(X)
        V, level = _grid_coefficients(X, Y, known, weights, folds.ridges, mean, folds.largest)
        tested = folds.X[test]
        self.predicted = {
            (b, c): np.asarray(project(tested, V[i, j], mean)) + level[i, j]
            for i, b in enumerate(folds.shrinkages)
            for j, c in enumerate(folds.ridges)
        }

    def weigh(self, shrinkage: float) -> Weighted:
        return _MaskedWeighted({c: found for (b, c), found in self.predicted.items() if b == shrinkage})


class _MaskedWeighted:
    def __init__(self, predicted: dict[float, np.ndarray]) -> None:
        self.predicted = predicted

    def predict(self, ridge: float) -> np.ndarray:
        return self.predicted[ridge]
