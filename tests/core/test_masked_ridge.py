"""Ridge regression and feature weights on partly known rows: each label is what a fit on its known rows alone gives."""

import numpy as np
import pytest
import reference
from scipy import sparse

from nmlsdr import NMLSDR, ResidualPropagation, _label_sums
from nmlsdr._label_sums import equal_columns, label_sets
from nmlsdr._moments import RowSums
from nmlsdr._ridge import cross_fit, folds, regression, ridge_regression, selection
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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32])
def test_labels_are_in_one_set_where_they_are_known_on_the_same_rows(rng, form):
    X = rng.normal(size=(12, 7))
    Y = (rng.random((12, 5)) < 0.4).astype(float)
    known = rng.random((12, 5)) < 0.5
    known[:, 3] = known[:, 0]
    known[:, 2] = False
    sets = label_sets(RowSums(form(X)), Y, known)
    assert sorted(each.labels.tolist() for each in sets) == [[0, 3], [1], [2], [4]]
    for each in sets:
        assert (known[:, each.labels] == each.known[:, None]).all()
        rows = X[each.known]
        labels = Y[np.ix_(each.known, each.labels)]
        centred = rows - rows.mean(axis=0) if len(rows) else rows
        np.testing.assert_allclose(each.moment, centred.T @ labels, atol=1e-6)
        np.testing.assert_allclose(each.squares, (centred**2).sum(axis=0), atol=1e-6)
        assert each.count == max(1, len(rows))


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


@pytest.fixture
def asked_entries(rng):
    """A few rows with all labels known, many with one known label each, and more features than rows of a label."""
    X = rng.standard_normal((150, 60)) * rng.uniform(0.5, 3, 60) + 5
    scores = X @ rng.standard_normal((60, 12)) + rng.standard_normal((150, 12))
    known = np.zeros(scores.shape, dtype=bool)
    known[:20] = True
    known[np.arange(20, 150), rng.integers(0, 12, 130)] = True
    known[:, 11] = known[:, 10]
    return X, (scores > np.median(scores, axis=0)).astype(float), known


def spy_on_row_grams(monkeypatch):
    """The sizes of the Gram matrices of rows that are formed from now on."""
    sizes = []
    row_gram = RowSums.row_gram

    def spy(self, w):
        sizes.append(self.shape[0])
        return row_gram(self, w)

    monkeypatch.setattr(RowSums, "row_gram", spy)
    return sizes


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_labels_of_few_known_rows_have_gram_matrices_of_their_own(asked_entries, monkeypatch, form, offset):
    X, Y, known = asked_entries
    X = X + offset
    sizes = spy_on_row_grams(monkeypatch)
    own = cross_fit(form(X), Y, known=known, keep_ridges=True)
    assert max(sizes) <= known.sum(axis=0).max() < 50
    monkeypatch.setattr(folds._Shared, "has_short_labels", False)
    shared = cross_fit(form(X), Y, known=known, keep_ridges=True)
    assert max(sizes) == 150
    assert (own.shrinkage, own.ridge) == (shared.shrinkage, shared.ridge)
    tolerance = 1e-7 if offset else 1e-11
    np.testing.assert_allclose(own.errors, shared.errors, rtol=tolerance)
    np.testing.assert_allclose(own.predictions, shared.predictions, atol=tolerance)
    for ridge, expected in zip(own.ridges, shared.ridges, strict=True):
        np.testing.assert_allclose(ridge.coef, expected.coef, atol=tolerance)
        np.testing.assert_allclose(ridge.at_mean, expected.at_mean, atol=tolerance * max(1.0, offset))


def test_threads_do_not_change_labels_of_few_known_rows(asked_entries, monkeypatch):
    X, Y, known = asked_entries
    monkeypatch.setattr(selection, "_WORTH_A_THREAD", 1)
    one = cross_fit(X, Y, known=known)
    two = cross_fit(X, Y, known=known, n_jobs=2)
    np.testing.assert_array_equal(one.errors, two.errors)
    np.testing.assert_array_equal(one.predictions, two.predictions)


def test_labels_that_are_known_on_most_rows_share_a_gram_matrix(asked_entries, monkeypatch):
    X, Y, known = asked_entries
    sizes = spy_on_row_grams(monkeypatch)
    most = np.random.default_rng(1).random(known.shape) < 0.9
    cross_fit(X[:40], Y[:40], known=most[:40])
    assert set(sizes) == {40}


def test_above_the_limit_no_gram_matrix_of_all_rows_is_formed(asked_entries, monkeypatch):
    """However many rows each label knows: the matrix of a label is below the limit, that of all rows above."""
    X, Y, known = asked_entries
    known = np.random.default_rng(1).random(known.shape) < 0.35
    expected = cross_fit(X, Y, known=known, shrinkage=0.5, ridge=1.0)
    monkeypatch.setattr(regression, "_cost_of_iterations", lambda X: BY_SETS)
    monkeypatch.setattr(regression, "LARGEST_GRAM", 70)
    sizes = spy_on_row_grams(monkeypatch)
    limited = cross_fit(X, Y, known=known, shrinkage=0.5, ridge=1.0)
    assert max(sizes) <= 70
    np.testing.assert_allclose(limited.predictions, expected.predictions, atol=1e-11)


@pytest.fixture
def answered_entries(rng):
    """Rows with all labels known, and some with one known label each."""
    X = rng.standard_normal((150, 12)) * rng.uniform(0.5, 3, 12) + 5
    scores = X @ rng.standard_normal((12, 8)) + rng.standard_normal((150, 8))
    known = np.ones(scores.shape, dtype=bool)
    known[110:] = False
    known[np.arange(110, 150), rng.integers(0, 8, 40)] = True
    return X, (scores > np.median(scores, axis=0)).astype(float), known


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array])
@pytest.mark.parametrize("n_unweighted", [0, 3])
def test_products_with_the_gram_matrix_of_whole_rows_are_those_with_the_rows(
    answered_entries, monkeypatch, form, offset, n_unweighted
):
    X, Y, known = answered_entries
    X = form(X + offset)
    weights = np.linspace(0.2, 1.0, 12)
    weights[:n_unweighted] = 0.0
    solutions = {}
    for cost in (BY_SETS, TOGETHER):
        monkeypatch.setattr(regression, "_cost_of_iterations", lambda X, cost=cost: cost)
        solutions[cost] = ridge_regression(X, Y, 1.0, feature_weights=weights, known=known)
    for value, expected in zip(solutions[TOGETHER], solutions[BY_SETS], strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    partly = regression.partly_known_rows(RowSums.of(X), known)
    assert partly.gram is not None
    assert (partly.gram_of_whole is None) == sparse.issparse(X)


@pytest.mark.parametrize("n_whole", [0, 3, 110])
def test_whole_rows_are_summed_up_where_they_are_half_as_many_as_the_features(answered_entries, n_whole):
    X, _, known = answered_entries
    known[:, 0] &= np.arange(150) < n_whole
    partly = regression.partly_known_rows(RowSums.of(X), known)
    assert (partly.gram_of_whole is None) == (n_whole < 6)
    assert np.count_nonzero(partly.rest) == (150 if n_whole < 6 else 40)


def test_the_gram_matrix_of_partly_known_rows_weighs_rows_by_their_known_labels(answered_entries):
    X, _, known = answered_entries
    partly = regression.partly_known_rows(RowSums.of(X), known)
    shares = known.mean(axis=1)
    centred = X - np.average(X, axis=0, weights=shares)
    np.testing.assert_allclose(np.tril(partly.gram), np.tril(centred.T * shares @ centred), rtol=1e-10, atol=1e-9)


def test_rows_of_few_words_have_the_diagonal_as_preconditioner(rng):
    """A Gram matrix of 400 x 400 numbers is not worth it for 300 rows that store 2 numbers each."""
    X = sparse.random_array((300, 400), density=0.005, rng=rng, format="csr")
    known = rng.random((300, 4)) < 0.9
    assert regression.partly_known_rows(RowSums.of(X), known).gram is None
    assert regression.partly_known_rows(RowSums.of(X.toarray()), known).gram is not None
    assert regression.partly_known_rows(RowSums.of(X.toarray()), None).gram is None


@pytest.mark.parametrize("dtype", [bool, np.float64])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (5, 1), (1, 9), (9, 40)])
def test_equal_columns_are_those_that_numpy_finds(rng, dtype, shape):
    values = rng.integers(0, 2, shape).astype(dtype)
    for form in (values, np.asfortranarray(values), np.repeat(values, 2, axis=1)[:, ::2]):
        kinds = equal_columns(form)
        expected = np.unique(values, axis=1, return_inverse=True)[1].ravel() if values.size else np.zeros(shape[1], int)
        assert sorted(np.concatenate([*kinds, []])) == list(range(shape[1]))
        for columns in kinds:
            assert (np.diff(columns) > 0).all()
            assert len(set(expected[columns])) == 1
        assert len(kinds) == len(set(expected))


def float32_csr(X):
    return sparse.csr_array(X.astype(np.float32))


def assert_same_sums(sets, expected):
    for each, other in zip(sets, expected, strict=True):
        assert each.labels.tolist() == other.labels.tolist()
        assert each.count == other.count
        np.testing.assert_array_equal(each.known, other.known)
        np.testing.assert_array_equal(each.squares == 0, other.squares == 0)
        assert not each.moment[other.squares == 0].any()
        if other.label_squares == 0:
            assert not each.moment.any()
        np.testing.assert_allclose(each.label_mean, other.label_mean, rtol=1e-14)
        np.testing.assert_allclose(each.label_squares, other.label_squares, rtol=1e-12)
        np.testing.assert_allclose(each.mean, other.mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(each.squares, other.squares, rtol=1e-7)
        scale = np.sqrt(other.squares[:, None] * other.label_squares)
        assert (np.abs(each.moment - other.moment) <= 1e-10 * scale).all()


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array, float32_csr])
@pytest.mark.parametrize("seed", range(4))
def test_sums_of_many_sets_by_products_are_those_of_the_rows_of_each(monkeypatch, form, offset, seed):
    """Constant features and labels, features that are constant where a label is known, labels known nowhere."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 9)) * 10.0 ** rng.integers(-3, 4, 9)
    X[:, 3:5] = rng.random((60, 2)) < 0.05
    X[:, 5] = 0.1
    X[:, 6] = 0.0
    X[:, 7] = np.arange(60) == 0
    X[:, 8] = np.where(np.arange(60) < 30, 1e3 + 0.05 * X[:, 8] / np.abs(X[:, 8]).max(), -1e3)
    X = form(X + offset * (np.arange(9) % 2))
    Y = (rng.random((60, 30)) < 0.3).astype(float)
    Y[:, 4] = 1.0
    Y[:, 5] = 0.1
    known = rng.random(Y.shape) < rng.uniform(0.05, 0.95, 30)
    known[:, 1] = known[:, 0]
    known[:, 2] = False
    known[:, 3] = np.arange(60) < 1
    known[30:, 6] = False
    Y = np.where(known, Y, rng.random(Y.shape))
    sets = label_sets(RowSums.of(X), Y, known)
    monkeypatch.setattr(_label_sums, "_SETS_AT_ONCE", 7)
    in_parts = label_sets(RowSums.of(X), Y, known)
    monkeypatch.setattr(_label_sums, "_MANY_SETS", 100)
    dense = X.toarray() if sparse.issparse(X) else X
    expected = label_sets(RowSums.of(dense.astype(np.float64)), Y, known)
    assert_same_sums(sets, expected)
    assert_same_sums(in_parts, expected)


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_sums_of_sparse_rows_need_no_second_pass(rng, monkeypatch, offset):
    """Words that no row of a label has, and features that are the same in all rows, are no reason to."""
    X = sparse.random_array((80, 40), density=0.1, rng=rng, format="csr")
    X = sparse.csr_array(sparse.hstack([X, np.full((80, 1), 0.1), X[:, :1].toarray() + offset]))
    known = rng.random((80, 20)) < 0.5

    def fail(*arguments):
        raise AssertionError("a second pass")

    Y = (rng.random((80, 20)) < 0.4).astype(float)
    monkeypatch.setattr(_label_sums, "_label_set", fail)
    for each in label_sets(RowSums.of(X), Y, known):
        assert each.squares[40] == 0
        dense = X.toarray()[each.known]
        np.testing.assert_allclose(each.mean, dense.mean(axis=0), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(
            each.squares, ((dense - dense.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-10, atol=1e-13
        )
