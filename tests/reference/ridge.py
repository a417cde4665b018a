"""Ridge regression on weighted features, its choice by cross-validation, and the logistic Newton step after it."""

import numpy as np

from .arrays import dense64, on_one_thread
from .projection import feature_weights


@on_one_thread
def ridge_regression(X, Y, ridge, w):
    """(coef, intercept) on S = Xc diag(w)^1/2, lambda = ridge |S|^2 / l; nothing varies: the mean."""
    X = dense64(X)
    l = len(Y)
    S = (X - X.mean(axis=0)) * np.sqrt(w) * (np.ptp(X, axis=0) > 0)
    level = ridge * np.sum(S * S) / l
    if level == 0:
        return np.zeros((Y.shape[1], X.shape[1])), Y.mean(axis=0)
    B = np.linalg.solve(S.T @ S + level * np.eye(X.shape[1]), S.T @ (Y - Y.mean(axis=0)))
    coef = (np.sqrt(w)[:, None] * B).T
    return coef, Y.mean(axis=0) - coef @ X.mean(axis=0)


@on_one_thread
def cross_fit(X, Y, shrinkages=(0.0, 0.5, 1.0), ridges=(0.3, 1.0, 3.0, 10.0, 30.0), n_splits=5, seed=0, known=None):
    """(b, c, out-of-fold predictions, errors): every pair fitted in every fold, from the other folds alone.

    Each label is fitted and compared on its known rows; a label without any is 0.
    """
    X = dense64(X)
    l = len(Y)
    known = np.ones(Y.shape, dtype=bool) if known is None else known
    fold = np.random.default_rng(seed).permutation(l) % min(n_splits, l)
    varies = np.array([known[:, c].any() and np.ptp(Y[known[:, c], c]) > 0 for c in range(Y.shape[1])])
    all_of_it = np.zeros(Y.shape[1])
    weights = np.zeros(Y.shape[1])
    for label in np.flatnonzero(varies):
        y = Y[known[:, label], label]
        all_of_it[label] = np.sum((y - y.mean()) ** 2)
        weights[label] = min(1.0, np.var(y) / 0.04)  # a rare label that nothing predicts has little to say
    best = None
    errors = {}
    for b in shrinkages:
        for c in ridges:
            O = np.zeros(Y.shape)
            for t in range(fold.max() + 1):
                a = fold != t
                kappa = feature_weights(X[a], Y[a], known[a])
                w = 1.0 - b * (1.0 - (kappa if kappa.any() else np.ones(len(kappa))))
                for label in range(Y.shape[1]):
                    training = a & known[:, label]
                    if training.any():
                        coef, intercept = ridge_regression(X[training], Y[training, label : label + 1], c, w)
                        O[~a, label] = (X[~a] @ coef.T + intercept)[:, 0]
            squared_errors = np.sum(np.where(known, Y - O, 0.0) ** 2, axis=0)
            shares = weights[varies] * squared_errors[varies] / all_of_it[varies]
            errors[b, c] = np.sum(shares) / np.sum(weights) if varies.any() else 0.0
            if best is None or errors[b, c] < errors[best[:2]]:
                best = b, c, O
    return *best, errors


def newton_step(X, w, Y, known, f, strength):
    """Coefficients (D, C) of X minus its mean, and offsets (C,), label by label: four steps of conjugate gradients."""
    n_features = X.shape[1]
    n_labels = Y.shape[1]
    Xc = X - X.mean(axis=0)
    S = Xc * np.sqrt(w)
    variation = (S * S).sum() / len(X)
    coef = np.zeros((n_features, n_labels))
    offset = np.zeros(n_labels)
    for j in range(n_labels):
        rows = known[:, j]
        y = Y[rows, j]
        s = S[rows]
        start = f[rows, j]
        if len(y) == 0 or y.max() == 0 or y.min() == 1:
            continue
        p = 1 / (1 + np.exp(-start))
        h = p * (1 - p)
        total = h.sum() + 1e-9
        level = strength * variation * total / len(y)
        centred = s - (h @ s) / total  # what eliminating the offset leaves
        H = centred.T @ (h[:, None] * centred) + level * np.eye(n_features)
        M = (S * S).sum(axis=0) * total / len(X) + level
        residual = -centred.T @ (p - y)
        B = np.zeros(n_features)
        direction = residual / M
        for _ in range(4):
            length = (residual @ (residual / M)) / (direction @ H @ direction)
            B += length * direction
            after = residual - length * (H @ direction)
            direction = after / M + (after @ (after / M)) / (residual @ (residual / M)) * direction
            residual = after
        v = -((p - y).sum() + h @ (s @ B)) / total

        def loss(size, B=B, v=v, y=y, s=s, start=start, level=level):
            g = start + size * (s @ B + v)
            return (np.logaddexp(0, g) - y * g).sum() + level / 2 * size**2 * B @ B

        size = next((2.0**-k for k in range(7) if loss(2.0**-k) <= loss(0)), 0.0)
        coef[:, j] = size * np.sqrt(w) * B
        offset[j] = size * v
    return coef, offset
