"""Ridge regression where the labels of a row are known in part: every label on its own known rows.

With K_c the l_c rows whose label c is known and P_c the centring over them, label c solves

    (S' P_c S + lambda_c I) b_c = S' P_c y_c,    S = X diag(w)^1/2,    lambda_c = c |P_c S|_F^2 / l_c,

and its intercept is mean_c y - mean_c x' w^1/2 b_c, both means over K_c: what `_normal_equations` solves on these rows
alone.  Labels with equal K_c share a factorisation; where nearly every label has rows of its own, all are solved
together by conjugate gradients, B -> S'(P o S B) + lambda B.

The dependence of feature j on the labels, and what chance would make of it, are sums over the labels likewise:
h_j = sum_c (x_j' P_c y_c)^2 and h0_j = sum_c |P_c x_j|^2 |P_c y_c|^2 / (l_c - 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._moments import centred_over_known, column_means, cross_moment, project, squares_over_known
from ._normal_equations import coefficients, conjugate_gradients
from .projection import dependence_over_known, shrunken_weights

__all__ = ["MaskedFolds", "masked_coefficients"]

# Labels per set of rows from which a factorisation for each set is cheaper than conjugate gradients for all.
_LABELS_A_SET = 4


def masked_coefficients(
    X: Any, Y: np.ndarray, known: np.ndarray, ridge: float, w: np.ndarray, largest: int
) -> tuple[np.ndarray, np.ndarray]:
    """w^1/2 b_c (n_features, n_labels) and the intercepts (n_labels,).

    A label without a known row is 0 everywhere.  ``largest`` is the size of the largest Gram matrix to form.
    """
    masks, which = np.unique(known, axis=1, return_inverse=True)
    if masks.shape[1] * _LABELS_A_SET <= Y.shape[1]:
        V = np.zeros((X.shape[1], Y.shape[1]))
        for m, rows in enumerate(masks.T):
            group = which.ravel() == m
            if rows.any():
                V[:, group] = coefficients(X[rows], Y[np.ix_(rows, group)], ridge, w, largest)
    else:
        V = _all_together(X, Y, known, ridge, w)
    count = np.maximum(known.sum(axis=0), 1)
    means = np.asarray(X.T @ known.astype(np.float64)) / count  # (D, C), mean_c x
    return V, np.where(known, Y, 0.0).sum(axis=0) / count - np.einsum("ij,ij->j", means, V)


def _all_together(X: Any, Y: np.ndarray, known: np.ndarray, ridge: float, w: np.ndarray) -> np.ndarray:
    mean, root = column_means(X), np.sqrt(w)[:, None]
    count = np.maximum(known.sum(axis=0), 1)
    level = ridge * (w @ squares_over_known(X, known, mean)) / count
    level = np.where(level > 0, level, 1.0)  # nothing varies: any level gives 0

    def multiply(V: np.ndarray) -> np.ndarray:
        return np.asarray(
            root * cross_moment(X, centred_over_known(project(X, root * V, mean), known), mean) + level * V
        )

    return np.asarray(root * conjugate_gradients(multiply, root * cross_moment(X, centred_over_known(Y, known), mean)))


class MaskedFolds:
    """The folds of a cross-validation on partly known rows; ``largest`` as in `masked_coefficients`."""

    def __init__(self, X: Any, Y: np.ndarray, known: np.ndarray, largest: int) -> None:
        self.X, self.Y, self.known, self.largest = X, Y, known, largest

    def fold(self, test: np.ndarray) -> _MaskedFold:
        return _MaskedFold(self, test)


class _MaskedFold:
    def __init__(self, folds: MaskedFolds, test: np.ndarray) -> None:
        train = ~test
        self.given = folds.X[train], folds.Y[train], folds.known[train]
        self.tested, self.largest = folds.X[test], folds.largest
        kappa = dependence_over_known(*self.given)
        self.kappa = kappa if kappa.any() else np.ones_like(kappa)

    def predict(self, shrinkage: float, ridge: float) -> np.ndarray:
        w = shrunken_weights(self.kappa, shrinkage)
        V, intercept = masked_coefficients(*self.given, ridge, w, self.largest)
        return np.asarray(self.tested @ V + intercept)
