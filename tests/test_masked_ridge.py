"""Ridge regression and feature weights on partly known rows: each label is what a fit on its known rows alone gives."""

import numpy as np
import pytest
from scipy import sparse

from nmlsdr import NMLSDR, ResidualPropagation, _masked_ridge
from nmlsdr.projection import feature_weights
from nmlsdr.ridge import cross_fit, ridge_regression


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((80, 12)) * rng.uniform(0.5, 3, 12) + 5
    scores = X @ rng.standard_normal((12, 6)) + rng.standard_normal((80, 6))
    Y = (scores > np.median(scores, axis=0)).astype(float)
    known = rng.random(Y.shape) < 0.6
    known[:2], known[2:4, 0] = True, False
    return X, Y, known


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("equal_masks", [False, True])
def test_each_label_is_fitted_on_its_known_rows(problem, form, equal_masks):
    X, Y, known = problem
    if equal_masks:  # one set of rows for all labels but those that are known everywhere
        known = np.repeat(known[:, :1], 6, axis=1)
    w = np.linspace(0, 1, 12)
    coef, intercept = ridge_regression(form(X), Y, 3.0, feature_weights=w, known=known)
    for c in range(6):
        rows = known[:, c]
        one, level = ridge_regression(X[rows], Y[rows, c : c + 1], 3.0, feature_weights=w)
        np.testing.assert_allclose(coef[c], one[0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(intercept[c], level[0], rtol=1e-6, atol=1e-7)


def test_both_ways_agree(problem, monkeypatch):
    X, Y, known = problem
    known = known[:, [0, 0, 0, 1, 1, 1]]
    monkeypatch.setattr(_masked_ridge, "_LABELS_A_SET", 1)
    apart = ridge_regression(X, Y, 1.0, known=known)
    monkeypatch.setattr(_masked_ridge, "_LABELS_A_SET", 100)
    together = ridge_regression(X, Y, 1.0, known=known)
    for one, other in zip(apart, together, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


def test_feature_weights_are_sums_over_the_labels(problem):
    X, Y, known = problem
    h, h0 = np.zeros(12), np.zeros(12)
    for c in range(6):
        x, y = X[known[:, c]], Y[known[:, c], c]
        x, y = x - x.mean(axis=0), y - y.mean()
        h += (x.T @ y) ** 2
        h0 += (x**2).sum(axis=0) * (y @ y) / (len(y) - 1)
    expected = np.maximum(0, 1 - h0 / h)
    np.testing.assert_allclose(feature_weights(X, Y, known=known), expected, rtol=1e-9)
    np.testing.assert_allclose(feature_weights(sparse.csr_array(X), Y, known=known), expected, rtol=1e-6)
    np.testing.assert_allclose(feature_weights(X, Y, known=known | True), feature_weights(X, Y))
    rows = known[:, :1] | np.zeros((1, 6), dtype=bool)
    np.testing.assert_allclose(
        feature_weights(X, Y, known=rows), feature_weights(X[rows[:, 0]], Y[rows[:, 0]]), rtol=1e-8
    )


def test_cross_fit_reads_no_unknown_entry(problem, rng):
    X, Y, known = problem
    found = cross_fit(X, Y, known=known)
    other = cross_fit(X, np.where(known, Y, rng.integers(0, 2, Y.shape)), known=known)
    assert (found.shrinkage, found.ridge) == (other.shrinkage, other.ridge)
    np.testing.assert_array_equal(found.predictions, other.predictions)
    test = found.folds == 0
    w = 1 - found.shrinkage * (1 - feature_weights(X[~test], Y[~test], known=known[~test]))
    coef, intercept = ridge_regression(X[~test], Y[~test], found.ridge, feature_weights=w, known=known[~test])
    np.testing.assert_allclose(found.predictions[test], X[test] @ coef.T + intercept, rtol=1e-6, atol=1e-8)


def test_a_label_that_is_nowhere_known_is_0(problem):
    X, Y, known = problem
    known[:, 2] = False
    coef, intercept = ridge_regression(X, Y, 1.0, known=known)
    assert not coef[2].any()
    assert intercept[2] == 0


@pytest.mark.parametrize("model", [NMLSDR(shrinkage=0.5), NMLSDR(shrinkage="cv"), ResidualPropagation()], ids=str)
def test_unknown_entries_reach_no_answer(problem, model):
    """Everything known row by row is today's to rounding; what stands in unknown entries changes nothing."""
    X, Y, known = problem
    y = np.where(known, Y, np.nan)
    fitted = model.set_params(n_neighbors=5).fit(X, y)
    first = fitted.transform(X)
    np.testing.assert_array_equal(model.fit(X, np.where(known, Y, 7.0), labeled=known).transform(X), first)
    if hasattr(fitted, "predict_proba"):
        proba = fitted.predict_proba(X)
        assert np.isfinite(proba).all()
        assert not fitted.flip_scores_[~known].any()
        assert np.mean((proba >= 0.5) == Y) > 0.75
