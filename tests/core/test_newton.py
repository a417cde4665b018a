"""The Newton step from the linked ridge regression: its twin, golden numbers, no leak, bits, and its learner."""

import numpy as np
import pytest
import reference
from model_files import assert_same, same_by_threads_and_file
from scipy import sparse

from nmlsdr import ResidualPropagation
from nmlsdr._estimators import _learners
from nmlsdr._estimators._linked import LinkedRidge, NewtonStep
from nmlsdr._ridge import FoldRidge, cross_fit, cross_newton, fit_link, fit_newton, fold_links, newton, ridge_regression
from nmlsdr._ridge import regression as regressions
from nmlsdr._thresholds import rank_scores


def draw(rng, n=240, D=7, C=5):
    """Features about a mean, of which one has no weight, and labels that are steep in them."""
    X = rng.normal(size=(n, D)) + rng.normal(size=D)
    scores = (X - X.mean(axis=0)) @ rng.normal(size=(D, C))
    Y = (3 * scores + rng.logistic(size=scores.shape) > np.linspace(-2, 8, C)).astype(float)
    w = rng.random(D)
    w[2] = 0.0
    return X, w, Y


def start(X, w, Y, known=None):
    """The ridge regression of all rows about their mean, and its link."""
    coef, intercept = ridge_regression(X, Y, 1.0, feature_weights=w, known=known)
    cross = cross_fit(X, Y, shrinkage=0.0, ridge=1.0, known=known)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return FoldRidge(w, coef.T, coef @ mean + intercept), fit_link(cross.predictions, Y, known)


CASES = {
    "all known": lambda rng, X, Y, known: None,
    "partly known": lambda rng, X, Y, known: known.__iand__(rng.random(known.shape) < 0.6),
    "votes": lambda rng, X, Y, known: Y.__imul__(0.8),
    "constant labels": lambda rng, X, Y, known: Y.__setitem__((slice(None), [0, 4]), [0.0, 1.0]),
    "a label that is nowhere known": lambda rng, X, Y, known: known.__setitem__((slice(None), 3), False),
    "separable": lambda rng, X, Y, known: Y.__setitem__((slice(None), 1), X[:, 0] > X[:, 0].mean()),
    "labels of noise": lambda rng, X, Y, known: Y.__setitem__(slice(None), rng.random(Y.shape) < 0.3),
}


@pytest.mark.parametrize("strength", [1e-3, 30.0])
@pytest.mark.parametrize("case", CASES)
def test_the_step_is_that_of_the_twin_on_any_thread_and_in_any_storage(rng, monkeypatch, case, strength):
    monkeypatch.setattr(newton, "_WIDTH", 2)
    monkeypatch.setattr(newton, "_WORTH_A_THREAD", 1)
    X, w, Y = draw(rng)
    known = np.ones(Y.shape, dtype=bool)
    CASES[case](rng, X, Y, known)
    mask = None if known.all() else known
    ridge, link = start(X, w, Y, mask)
    scores = (X - X.mean(axis=0)) @ ridge.coef + ridge.at_mean
    coef, offset = reference.newton_step(X, w, Y, known, link.logits(scores), strength)
    newton_of_one_thread, newton_of_two_threads = (
        fit_newton(X, Y, mask, ridge, link, strength, n_threads) for n_threads in (1, 2)
    )
    np.testing.assert_allclose(newton_of_one_thread.coef.T, coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(newton_of_one_thread.offset - link.offset, offset, rtol=1e-6, atol=1e-8)
    assert_same([*vars(newton_of_one_thread).values()], [*vars(newton_of_two_threads).values()])
    stored = fit_newton(sparse.csr_array(X), Y, mask, ridge, link, strength)
    np.testing.assert_allclose(stored.coef, newton_of_one_thread.coef, rtol=1e-7, atol=1e-9)
    p = 1 / (1 + np.exp(-(link.logits(scores) + (X - X.mean(axis=0)) @ coef + offset)))
    np.testing.assert_allclose(newton_of_one_thread.probabilities(X, scores), p, atol=1e-9)
    np.testing.assert_allclose(stored.probabilities(sparse.csr_array(X), scores), p, atol=1e-9)


def test_golden_numbers():
    X, w, Y = draw(np.random.default_rng(5))
    ridge, link = start(X, w, Y)
    newton = fit_newton(X, Y, None, ridge, link, 3.0)
    np.testing.assert_allclose(newton.coef[0], GOLDEN["coef"], atol=2e-6)
    np.testing.assert_allclose(newton.offset - link.offset, GOLDEN["offset"], atol=1e-6)
    cross = cross_fit(X, Y, keep_ridges=True)
    links = fold_links(cross.predictions, Y, None, cross.folds)
    strength, p = cross_newton(X, Y, None, cross.folds, cross.ridges, links)
    assert strength == GOLDEN["strength"]
    assert ((Y - p) ** 2).mean() == pytest.approx(GOLDEN["error"], abs=1e-7)


GOLDEN = {
    "coef": [-0.289927, 0.370081, 0.0, 0.005151, -0.404143, -0.748074, -0.094762],
    "offset": [-0.4277231, -0.0471157, 1.6090016, 3.9673579, 3.1379857],
    "strength": 300.0,
    "error": 0.05056938,
}


def test_steep_labels_are_learned_better_than_by_the_link(rng):
    X, _, Y = draw(rng, n=600)
    cross = cross_fit(X, Y, keep_ridges=True)
    links = fold_links(cross.predictions, Y, None, cross.folds)
    _, p = cross_newton(X, Y, None, cross.folds, cross.ridges, links)
    linked = np.empty(p.shape)
    for fold, link in enumerate(links):
        linked[cross.folds == fold] = link.apply(cross.predictions)[cross.folds == fold]
    assert ((Y - p) ** 2).mean() < 0.95 * ((Y - linked) ** 2).mean()


def test_the_step_is_halved_until_the_loss_is_not_larger():
    y = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    f = np.zeros((2, 3))
    change = np.array([[1.0, 1e3, -1.0], [-1.0, 1e3, 1.0]])
    size = newton._Start._size(y, None, f, change, np.zeros(3))
    before = newton.losses(f, y, None)
    after = newton.losses(f + size * change, y, None)
    assert size[0] == 1.0
    assert size[2] == 0.0
    assert (after <= before).all()


def test_unknown_entries_take_no_part(rng):
    X, w, Y = draw(rng)
    known = rng.random(Y.shape) < 0.7
    ridge, link = start(X, w, np.where(known, Y, 0.0), known)
    newton, newton_of_other_entries = (
        fit_newton(X, np.where(known, Y, hidden), known, ridge, link, 3.0) for hidden in (0.0, 1.0)
    )
    assert_same([*vars(newton).values()], [*vars(newton_of_other_entries).values()])


@pytest.mark.parametrize("path", ["by features", "by rows", "by conjugate gradients", "partly known"])
def test_the_ridge_regression_of_each_fold_is_kept(rng, monkeypatch, path):
    """It is that of the rows of the other folds, and predicts what the cross-validation predicts."""
    n, D = (40, 90) if path == "by rows" else (120, 6)
    X, _, Y = draw(rng, n=n, D=D)
    known = np.ones(Y.shape, dtype=bool)
    if path == "partly known":
        known = rng.random(Y.shape) < 0.8
    mask = None if known.all() else known
    if path == "by conjugate gradients":
        monkeypatch.setattr(regressions, "LARGEST_GRAM", 4)
    cross = cross_fit(X, Y, keep_ridges=True, known=mask)
    assert len(cross.ridges) == 5
    for fold, ridge in enumerate(cross.ridges):
        test = cross.folds == fold
        part = None if mask is None else mask[~test]
        coef, intercept = ridge_regression(X[~test], Y[~test], cross.ridge, feature_weights=ridge.weights, known=part)
        np.testing.assert_allclose(ridge.coef, coef.T, atol=1e-7)
        np.testing.assert_allclose(ridge.at_mean, coef @ X.mean(axis=0) + intercept, atol=1e-7)
        predicted = (X[test] - X.mean(axis=0)) @ ridge.coef + ridge.at_mean
        np.testing.assert_allclose(predicted, cross.predictions[test], atol=1e-7)
    cross_without_ridges = cross_fit(X, Y, known=mask)
    assert cross_without_ridges.ridges == []
    np.testing.assert_array_equal(cross_without_ridges.predictions, cross.predictions)


def test_no_row_is_predicted_by_a_step_that_saw_its_label(rng, monkeypatch):
    """Labels of a fold change nothing of its own predictions, but for the first one's, which chooses the strength."""
    monkeypatch.setattr(newton, "STRENGTHS", (3.0,))
    X, _, Y = draw(rng)
    cross = cross_fit(X, Y, keep_ridges=True)
    links = fold_links(cross.predictions, Y, None, cross.folds)
    flipped = np.where((cross.folds == 1)[:, None], 1 - Y, Y)
    scores, scores_of_flipped = (
        cross_newton(X, each, None, cross.folds, cross.ridges, links)[1] for each in (Y, flipped)
    )
    np.testing.assert_array_equal(scores[cross.folds == 1], scores_of_flipped[cross.folds == 1])
    assert (scores[cross.folds != 1] != scores_of_flipped[cross.folds != 1]).any()


def test_features_without_variation_give_no_step(rng):
    X = np.ones((50, 3))
    Y = (rng.random((50, 2)) < 0.4).astype(float)
    ridge = FoldRidge(np.ones(3), np.zeros((3, 2)), Y.mean(axis=0))
    newton = fit_newton(X, Y, None, ridge, fit_link(np.tile(Y.mean(axis=0), (50, 1)), Y), 3.0)
    np.testing.assert_array_equal(newton.coef, 0.0)
    assert np.isfinite(newton.probabilities(X, np.tile(Y.mean(axis=0), (50, 1)))).all()


# ---------------------------------------------------------------- in ResidualPropagation


@pytest.fixture
def many_rows(rng, monkeypatch):
    """60 labelled rows count as many; some entries are unknown."""
    monkeypatch.setattr(_learners, "MANY_ROWS", 60)
    X = rng.standard_normal((200, 6)) + 50.0
    Y = (X[:, :4] - 50 + 0.5 * rng.standard_normal((200, 4)) > [0, 0.5, 1, 1.5]).astype(float)
    Y[rng.random(Y.shape) < 0.1] = -1
    Y[150:] = -1
    return X, Y


def fit(X, Y, **parameters):
    return ResidualPropagation(n_neighbors=5, **{"n_estimators": 2, "n_jobs": 1, **parameters}).fit(X, Y)


def test_the_last_learner_is_the_step(many_rows):
    X, Y = many_rows
    model = fit(X, Y, n_estimators=0, residual_weight=0.0)
    ridge, linked, step = model.learners_
    assert isinstance(linked, LinkedRidge)
    assert isinstance(step, NewtonStep)
    np.testing.assert_array_equal(step.slope, linked.slope)
    is_labeled = (Y != -1).any(axis=1)
    np.testing.assert_allclose(step.center, X[is_labeled].mean(axis=0))
    new = X[150:]
    scores = new @ ridge.coef.T + ridge.intercept
    p = 1 / (1 + np.exp(-(step.logits(scores) + (new - step.center) @ step.coef.T)))
    expected = model.learner_weights_ @ np.stack([scores, linked.apply(scores), p]).reshape(3, -1)
    np.testing.assert_allclose(rank_scores(model, new).ravel(), expected, atol=1e-7)


def test_few_rows_and_classes_have_no_step(many_rows, monkeypatch):
    X, Y = many_rows
    classes = fit(X, np.where(Y[:, 0] < 0, -1, Y[:, 0]).astype(int))
    monkeypatch.setattr(_learners, "MANY_ROWS", 150)
    for model in (classes, fit(X, Y)):
        assert not any(isinstance(learner, NewtonStep) for learner in model.learners_)


def test_storage_threads_and_a_model_file_change_no_bit(many_rows, tmp_path):
    X, Y = many_rows
    dense_model = same_by_threads_and_file(fit, X, Y, tmp_path / "model.skops")
    stored = fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(rank_scores(stored, sparse.csr_array(X)), rank_scores(dense_model, X), atol=1e-6)
