"""What the tests of the projections share: random problems and one assertion of agreement."""

import numpy as np


def draw(rng, n_samples, n_features, n_labels):
    """Correlated features and soft labels that depend on them."""
    X = rng.standard_normal((n_samples, n_features)) * np.linspace(3.0, 1.0, n_features)
    score = X @ rng.standard_normal((n_features, n_labels)) + 2.0 * rng.standard_normal((n_samples, n_labels))
    return X, 1.0 / (1.0 + np.exp(-score * np.linspace(2.0, 0.3, n_labels)))


def draw_binary(rng, n_samples, n_features, n_labels):
    """The same with 0/1 labels, all different; each label is carried by some rows and not by others."""
    while True:
        X, F = draw(rng, n_samples, n_features, n_labels)
        Y = (np.linspace(0.4, 0.6, n_labels) < F).astype(float)
        Y[0] = 1.0
        Y[1] = 0.0
        if np.unique(Y, axis=1).shape[1] == n_labels:
            return X, Y


def assert_same_directions(actual, expected, tolerance=1e-8, *, scale=True):
    """Equal eigenvalues, and equal directions up to sign on the columns that the data determine.

    Those have an eigenvalue above 1e-6 of the largest, separated from its neighbours by 1e-4 of itself.
    Both arguments are pairs (components, eigenvalues); ``scale=False`` normalises the directions first.
    """
    P, values = actual
    Q, expected_values = expected
    assert P.shape == Q.shape
    np.testing.assert_allclose(values, expected_values, rtol=max(tolerance, 1e-12), atol=1e-6 * tolerance * values[0])
    gaps = np.abs(values[:, None] - values) + np.diag(np.full(len(values), np.inf))
    determined = (values > 1e-6 * values[0]) & (gaps.min(axis=1, initial=np.inf) > 1e-4 * values)
    assert determined.any()
    for p, q in zip(P[determined], Q[determined], strict=True):
        if not scale:
            p = p / np.linalg.norm(p)
            q = q / np.linalg.norm(q)
        size = np.abs(q).max()
        np.testing.assert_allclose(p / size, q / size * np.sign(p @ q), rtol=0, atol=max(tolerance, 1e-12))
