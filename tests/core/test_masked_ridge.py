"""Ridge regression and feature weights on partly known rows: each label is what a fit on its known rows alone gives."""

import numpy as np
import pytest
import reference
from scipy import sparse

from nmlsdr import NMLSDR, ResidualPropagation
from nmlsdr._moments import RowSums
from nmlsdr._ridge import cross_fit, folds, regression, ridge_regression
from nmlsdr.projection import feature_weights


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((80, 12)) * rng.uniform(0.5, 3, 12) + 5
    scores = X @ rng.standard_normal((12, 6)) + rng.standard_normal((80, 6))
    Y = (scores > np.median(scores, axis=0)).astype(float)
    known = rng.random(Y.shape) < 0.6
    known[:2] = True
    known[2:4, 0] = False
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
        coef_of_label, level = ridge_regression(X[rows], Y[rows, c : c + 1], 3.0, feature_weights=w)
        np.testing.assert_allclose(coef[c], coef_of_label[0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(intercept[c], level[0], rtol=1e-6, atol=1e-7)


# the cost of conjugate gradients that the choice of the way counts on
BY_SETS = np.inf
TOGETHER = 0


@pytest.mark.parametrize("n_features", [12, 100])  # more and fewer than rows of a label
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_all_solvers_of_the_ridge_regression_agree(problem, monkeypatch, rng, form, n_features):
    """Labels that share rows or not: a factor for each set of rows, sweeps with and without a preconditioner."""
    X, Y, known = problem
    X = form(np.hstack([X, rng.standard_normal((80, n_features - 12))]))
    known = known[:, [0, 0, 0, 1, 1, 2]]
    w = rng.uniform(0, 1, n_features)
    w[::4] = 0
    solutions = []
    for sweeps, largest in [(BY_SETS, 3000), (TOGETHER, 3000), (TOGETHER, 5)]:
        monkeypatch.setattr(regression, "_cost_of_iterations", lambda X, cost=sweeps: cost)
        monkeypatch.setattr(regression, "LARGEST_GRAM", largest)
        solutions.append(ridge_regression(X, Y, 1.0, feature_weights=w, known=known))
    for solution in solutions[1:]:
        for expected_value, value in zip(solutions[0], solution, strict=True):
            np.testing.assert_allclose(value, expected_value, rtol=1e-6, atol=1e-6 * np.abs(expected_value).max())


def direct(X, y, ridge, w):
    """The coefficients of one label by the dense normal equations, and its intercept."""
    centred = (X - X.mean(axis=0)) * np.sqrt(w)
    level = ridge * np.sum(centred**2) / len(X)
    b = np.linalg.solve(centred.T @ centred + level * np.eye(X.shape[1]), centred.T @ (y - y.mean())) * np.sqrt(w)
    return b, y.mean() - X.mean(axis=0) @ b


@pytest.fixture(scope="module")
def many_rows():
    """More partly known rows than the grid is searched on."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((3200, 9)) * rng.uniform(0.5, 3, 9) + 4
    scores = X @ rng.standard_normal((9, 4)) + 2 * rng.standard_normal((3200, 4))
    known = rng.random(scores.shape) < 0.3
    known[:, 3] = known[:, 2]  # and two labels with the same rows
    known[~known.any(axis=1), 0] = True
    return X, (scores > scores.mean(axis=0)).astype(float), known


@pytest.mark.parametrize("sweeps", [BY_SETS, TOGETHER], ids=["by sets", "together"])
def test_above_3000_rows_each_label_is_its_direct_solution(many_rows, monkeypatch, sweeps):
    X, Y, known = many_rows
    monkeypatch.setattr(regression, "_cost_of_iterations", lambda X, cost=sweeps: cost)
    w = np.linspace(0.1, 1, 9)
    coef, intercept = ridge_regression(X, Y, 3.0, feature_weights=w, known=known)
    for c in range(4):
        b, level = direct(X[known[:, c]], Y[known[:, c], c], 3.0, w)
        np.testing.assert_allclose(coef[c], b, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(intercept[c], level, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("sweeps", [BY_SETS, TOGETHER], ids=["by sets", "together"])
def test_above_3000_rows_the_grid_is_searched_on_2000_and_all_are_predicted(many_rows, monkeypatch, sweeps):
    """Errors and predictions, from nothing but direct solutions of single labels."""
    X, Y, known = many_rows
    monkeypatch.setattr(regression, "_cost_of_iterations", lambda X, cost=sweeps: cost)
    grid_b = (0.0, 1.0)
    grid_c = (0.3, 30.0)
    cross_fit_result = cross_fit(X, Y, known=known, shrinkage=grid_b, ridge=grid_c, n_splits=3)
    sample = np.sort(np.random.default_rng(0).permutation(len(X))[:2000])

    def held_out(rows, b, c):
        predicted = np.empty((len(rows), 4))
        for t in range(3):
            test = rows[cross_fit_result.folds[rows] == t]
            train = rows[cross_fit_result.folds[rows] != t]
            w = 1 - b * (1 - feature_weights(X[train], Y[train], known=known[train]))
            for label in range(4):
                known_train = train[known[train, label]]
                coef, level = direct(X[known_train], Y[known_train, label], c, w)
                predicted[cross_fit_result.folds[rows] == t, label] = X[test] @ coef + level
        return predicted

    for i, b in enumerate(grid_b):
        for j, c in enumerate(grid_c):
            missed = np.where(known[sample], Y[sample] - held_out(sample, b, c), 0)
            means = np.array([Y[sample][known[sample, label], label].mean() for label in range(4)])
            variation = np.where(known[sample], Y[sample] - means, 0)
            share = np.mean((missed**2).sum(axis=0) / (variation**2).sum(axis=0))
            assert cross_fit_result.errors[i, j] == pytest.approx(share, rel=1e-6)
    assert (
        cross_fit_result.errors.min()
        == cross_fit_result.errors[grid_b.index(cross_fit_result.shrinkage), grid_c.index(cross_fit_result.ridge)]
    )
    every = held_out(np.arange(len(X)), cross_fit_result.shrinkage, cross_fit_result.ridge)
    np.testing.assert_allclose(cross_fit_result.predictions, every, rtol=1e-6, atol=1e-7)


def test_a_feature_of_next_to_no_weight_adds_nothing(problem):
    X, Y, known = problem
    w = np.ones(12)
    w[3] = 5e-324
    tiny = ridge_regression(X, Y, 1.0, feature_weights=w, known=known)
    w[3] = 0
    for value, expected_value in zip(tiny, ridge_regression(X, Y, 1.0, feature_weights=w, known=known), strict=True):
        np.testing.assert_allclose(value, expected_value, rtol=1e-12, atol=1e-14)


def test_feature_weights_are_sums_over_the_labels(problem):
    X, Y, known = problem
    h = np.zeros(12)
    h0 = np.zeros(12)
    for c in range(6):
        x = X[known[:, c]]
        y = Y[known[:, c], c]
        x = x - x.mean(axis=0)
        y = y - y.mean()
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


def test_cross_fit_ignores_unknown_entries(problem, rng):
    X, Y, known = problem
    cross_fit_result = cross_fit(X, Y, known=known)
    result_of_random_entries = cross_fit(X, np.where(known, Y, rng.integers(0, 2, Y.shape)), known=known)
    assert (cross_fit_result.shrinkage, cross_fit_result.ridge) == (
        result_of_random_entries.shrinkage,
        result_of_random_entries.ridge,
    )
    np.testing.assert_array_equal(cross_fit_result.predictions, result_of_random_entries.predictions)
    test = cross_fit_result.folds == 0
    w = 1 - cross_fit_result.shrinkage * (1 - feature_weights(X[~test], Y[~test], known=known[~test]))
    coef, intercept = ridge_regression(
        X[~test], Y[~test], cross_fit_result.ridge, feature_weights=w, known=known[~test]
    )
    np.testing.assert_allclose(cross_fit_result.predictions[test], X[test] @ coef.T + intercept, rtol=1e-6, atol=1e-8)


def test_a_label_without_a_known_entry_is_predicted_0(problem):
    X, Y, known = problem
    known[:, 2] = False
    coef, intercept = ridge_regression(X, Y, 1.0, known=known)
    assert coef.any(axis=1).tolist() == [True, True, False, True, True, True]
    assert intercept[2] == 0


def draw_few(seed):
    """A few rows of binary or real features, labels that are partly known in one of four patterns, and folds."""
    rng = np.random.default_rng(seed)
    n, D, C = (int(rng.integers(*bounds)) for bounds in ((4, 30), (1, 12), (1, 5)))
    X = (rng.random((n, D)) < rng.uniform(0.05, 0.95)).astype(float) if seed % 3 else rng.standard_normal((n, D))
    Y = (rng.random((n, C)) < rng.uniform(0.1, 0.9)).astype(float)
    known = rng.random((n, C)) < rng.uniform(0.1, 0.95)
    if seed % 4 == 1:  # every label is known on one side
        known = (np.arange(n) < rng.integers(0, n + 1))[:, None] == (rng.random(C) < 0.5)
    elif seed % 4 == 2:  # all labels on the same rows
        known = np.repeat(rng.random((n, 1)) < 0.6, C, axis=1)
    elif seed % 4 == 3:  # one nowhere
        known[:, 0] = False
    return X, np.where(known, Y, 0.0), known, int(rng.integers(2, 7))


@pytest.mark.quick_cases("0-8-asarray")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("first", "last"), [(0, 8), *(pytest.param(*part, marks=pytest.mark.slow) for part in [(8, 40), (40, 70)])]
)
def test_cross_fit_equals_explicit_folds(form, first, last):
    """Where a binary feature is constant over the known rows of a fold, rounding passed for dependence."""
    grid = {"shrinkage": (0.0, 0.5, 1.0), "ridge": (0.3, 3.0)}
    for seed in range(first, last):
        X, Y, known, n_splits = draw_few(seed)
        cross_fit_result = cross_fit(form(X), Y, known=known, n_splits=n_splits, **grid)
        *_, errors = reference.cross_fit(X, Y, *grid.values(), n_splits, known=known)
        if not np.isnan(cross_fit_result.errors).all():
            np.testing.assert_allclose(
                cross_fit_result.errors.ravel(), list(errors.values()), rtol=1e-8, err_msg=str(seed)
            )
        _, _, O, _ = reference.cross_fit(
            X, Y, (cross_fit_result.shrinkage,), (cross_fit_result.ridge,), n_splits, known=known
        )
        np.testing.assert_allclose(cross_fit_result.predictions, O, atol=1e-8, err_msg=str(seed))


def test_a_label_that_does_not_vary_has_no_effect_on_the_choice(problem):
    """Not even one whose unknown entries differ, or whose votes have a mean that rounding moves."""
    X, Y, known = problem
    plain = cross_fit(X, Y, known=known)
    constant = np.where(known[:, 0], 1.0, 0.0)
    votes = np.full(80, 0.1)
    cross_fit_result = cross_fit(X, np.column_stack([Y, constant, votes]), known=np.column_stack([known, known[:, :2]]))
    np.testing.assert_allclose(cross_fit_result.errors, plain.errors, rtol=1e-12)
    nothing = cross_fit(X, constant[:, None], known=known[:, :1])
    assert np.isnan(nothing.errors).all()


@pytest.mark.parametrize("iterations", [BY_SETS, TOGETHER], ids=["by sets", "together"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_constant_features_predict_the_mean_of_the_known_rows(problem, monkeypatch, iterations, form):
    X, Y, known = problem
    monkeypatch.setattr(regression, "_cost_of_iterations", lambda X: iterations)
    X = form(np.full_like(X, 0.1))
    means = np.where(known, Y, 0).sum(axis=0) / known.sum(axis=0)
    coef, intercept = ridge_regression(X, Y, 1.0, known=known)
    assert not coef.any()
    np.testing.assert_allclose(intercept, means, rtol=1e-14)
    cross_fit_result = cross_fit(X, Y, known=known, shrinkage=1.0, ridge=1.0)
    for t in range(5):
        train = known & (cross_fit_result.folds != t)[:, None]
        means = np.where(train, Y, 0).sum(axis=0) / train.sum(axis=0)
        np.testing.assert_allclose(cross_fit_result.predictions[cross_fit_result.folds == t] - means, 0, atol=1e-14)


def test_no_matrix_above_the_limit_is_formed(problem, monkeypatch):
    """However cheap a factor for each set of rows would be."""
    X, Y, known = problem
    expected = ridge_regression(X, Y, 1.0, known=known)

    def fail(*arguments):
        raise AssertionError("a matrix above the limit")

    monkeypatch.setattr(regression, "_cost_of_iterations", lambda X: BY_SETS)
    monkeypatch.setattr(regression, "LARGEST_GRAM", 11)
    monkeypatch.setattr(regression, "from_gram", fail)
    monkeypatch.setattr(RowSums, "row_gram", fail)
    for value, expected_value in zip(ridge_regression(X, Y, 1.0, known=known), expected, strict=True):
        np.testing.assert_allclose(value, expected_value, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("model", [NMLSDR(shrinkage=0.5), NMLSDR(shrinkage="cv"), ResidualPropagation()], ids=str)
def test_unknown_entries_do_not_change_results(problem, model):
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


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("equal_masks", [False, True])
def test_errors_from_sums_over_the_tested_rows_are_those_of_the_predictions(problem, monkeypatch, equal_masks, offset):
    X, Y, known = problem
    known = known[:, [0, 0, 0, 1, 1, 1]] if equal_masks else known
    X = X + offset
    # a constant feature, and a label that another one determines
    X[:, 3] = 7.0
    Y[:, 2] = Y[:, 0] == 0
    monkeypatch.setattr(regression, "_cost_of_iterations", lambda X: BY_SETS)
    results = {}
    for factor in (0, np.inf):
        monkeypatch.setattr(folds, "SUMS_FROM", factor)
        results[factor] = cross_fit(X, Y, known=known, ridge=(1e-6, 1.0, 30.0))
    np.testing.assert_allclose(results[0].errors, results[np.inf].errors, rtol=1e-9 if offset else 1e-11)
    np.testing.assert_allclose(results[0].predictions, results[np.inf].predictions, atol=1e-9 if offset else 1e-12)


def test_gram_matrices_that_are_not_kept_are_formed_again(problem, monkeypatch):
    X, Y, known = problem
    monkeypatch.setattr(regression, "_cost_of_iterations", lambda X: BY_SETS)
    cross_fit_result = cross_fit(X, Y, known=known)
    monkeypatch.setattr(folds, "_KEPT_NUMBERS", 0)
    again = cross_fit(X, Y, known=known)
    np.testing.assert_array_equal(again.predictions, cross_fit_result.predictions)
