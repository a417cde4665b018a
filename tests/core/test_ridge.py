"""The cross-fit and the ridge regression: no leak, invariances, the twin on every path, degenerate rows."""

import numpy as np
import pytest
import reference
from scipy import sparse

from nmlsdr import _lapack
from nmlsdr._moments import sparse_gram
from nmlsdr._ridge import cross_fit, folds, regression, ridge_regression, selection

SHAPES = {
    "primal": (60, 12),
    "primal, errors by sums": (60, 12),
    "dual": (30, 50),
    "sweeps, tall": (60, 12),
    "sweeps, wide": (30, 50),
}


@pytest.fixture(params=SHAPES)
def path(request, monkeypatch):
    """One of the ways to solve the equations, reached by the shape of X or a lowered gate."""
    if request.param.startswith("sweeps"):
        monkeypatch.setattr(regression, "LARGEST_GRAM", 5)
    if request.param.endswith("by sums"):
        monkeypatch.setattr(folds, "SUMS_FROM", 0)
    return request.param


def draw(rng, path="primal", C=4):
    l, D = SHAPES[path]
    X = rng.standard_normal((l, D)) * (rng.random((l, D)) < 0.6)
    Y = (X[:, :C] + 0.7 * rng.standard_normal((l, C)) > 0.3).astype(float)
    return X, Y


def tolerance(path):
    """Conjugate gradients stop at 1e-8 of the right-hand side."""
    return 1e-6 if path.startswith("sweeps") else 1e-11


# ---------------------------------------------------------------- products of sparse rows


@pytest.mark.parametrize("width", [0, 1, 15, 16, 17, 40])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_products_of_sparse_rows_are_sums_in_the_order_of_their_entries(rng, width, index):
    """With empty rows, stored zeros and repeated entries; read-only."""
    indptr = np.array([0, 3, 3, 8, 9], dtype=index)
    indices = np.array([4, 0, 4, 1, 2, 3, 4, 0, 2], dtype=index)
    data = rng.standard_normal(9)
    data[5] = 0.0
    V = rng.standard_normal((5, width))
    start = rng.standard_normal((4, width))
    expected = start.copy()
    for i in range(4):
        for p in range(indptr[i], indptr[i + 1]):
            expected[i] += data[p] * V[indices[p]]
    for array in (indptr, indices, data, V):
        array.flags.writeable = False
    out = start.copy()
    _lapack.add_row_products(data=data, indices=indices, indptr=indptr, V=V, out=out)
    np.testing.assert_array_equal(out, expected)
    none = np.zeros(5, dtype=index)
    _lapack.add_row_products(data=data[:0], indices=indices[:0], indptr=none, V=V, out=out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("partly", [False, True])
def test_threads_of_conjugate_gradients_change_no_bit(rng, monkeypatch, form, partly):
    monkeypatch.setattr(regression, "LARGEST_GRAM", 5)
    X, Y = draw(rng, "sweeps, wide", C=40)
    Y[:, 3] = 1.0  # a label that does not vary
    known = rng.random(Y.shape) < 0.8 if partly else None
    solution, solution_of_two_threads = (
        ridge_regression(form(X), Y, 1.0, known=known, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    for first, second in zip(solution, solution_of_two_threads, strict=True):
        np.testing.assert_array_equal(first, second)
    for c in (3, 20, 39):
        rows = slice(None) if known is None else known[:, c]
        alone, at_mean = ridge_regression(X[rows], Y[rows, c : c + 1], 1.0)
        np.testing.assert_allclose(solution[0][c], alone[0], atol=1e-7)
        np.testing.assert_allclose(solution[1][c], at_mean[0], atol=1e-7)


# ---------------------------------------------------------------- the cross-fit


@pytest.mark.quick_cases("primal", "dual", "tall")
def test_rows_in_every_layout_give_what_the_plain_implementation_gives(rng, path):
    X, Y = draw(rng, path)
    ridges = (1.0, 10.0)  # of the default five, for the plain implementation is slow
    b, c, O, errors = reference.cross_fit(X, Y, ridges=ridges)
    for layout in (np.asarray, np.asfortranarray, sparse.csr_array, sparse.coo_matrix):
        cross_fit_result = cross_fit(layout(X), Y, ridge=ridges)
        assert (cross_fit_result.shrinkage, cross_fit_result.ridge) == (b, c)
        np.testing.assert_allclose(cross_fit_result.predictions, O, atol=tolerance(path), err_msg=layout.__name__)
        np.testing.assert_allclose(
            cross_fit_result.errors.ravel(), list(errors.values()), atol=1e-11, err_msg=layout.__name__
        )


def test_large_systems_are_compared_in_float32_and_the_best_pairs_again_in_float64(rng, path, monkeypatch):
    X, Y = draw(rng, path)
    double = cross_fit(X, Y)
    monkeypatch.setattr(selection, "_SINGLE_FROM", 1)
    single = cross_fit(X, Y)
    assert (single.shrinkage, single.ridge) == (double.shrinkage, double.ridge)
    np.testing.assert_allclose(single.predictions, double.predictions, atol=1e-12)
    np.testing.assert_allclose(single.errors, double.errors, atol=1e-5)
    if not path.startswith("sweeps"):
        assert (single.errors != double.errors).any()  # they were compared in float32 indeed


def test_pairs_that_are_equal_in_float32_are_computed_in_float64(rng, monkeypatch):
    """The errors of two strengths that differ by a rounding error of float32; the smaller one wins in either order."""
    X, Y = draw(rng)
    monkeypatch.setattr(selection, "_SINGLE_FROM", 1)
    best = cross_fit(X, Y).ridge
    near = tuple(3 * best * (1 + 1e-9 * np.arange(12)))  # far from the least error, where it rises
    for grid in (near, near[::-1], near[6:] + near[:6]):
        cross_fit_result = cross_fit(X, Y, ridge=grid)
        exact = [cross_fit(X, Y, ridge=c, shrinkage=cross_fit_result.shrinkage) for c in grid]
        variation = ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)
        relative_errors = [np.mean(((Y - each.predictions) ** 2).sum(axis=0) / variation) for each in exact]
        assert cross_fit_result.ridge == grid[int(np.argmin(relative_errors))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_half_of_the_pairs_drop_out_of_the_race_after_one_fold_and_half_of_the_others_after_three(
    rng, path, dtype, monkeypatch
):
    """The plain implementation of the race, from the predictions of each pair; two equal strengths stay together."""
    monkeypatch.setattr(selection, "_RACE_FROM", 2)
    monkeypatch.setattr(selection, "_SINGLE_FROM", 2 if dtype == np.float32 else 1000)
    X, Y = draw(rng, path)
    bs = (0.0, 0.5, 1.0)
    cs = (0.3, 1.0, 3.0, 10.0, 10.0)
    variation = ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)
    by_fold = np.empty((5, 3, 5))
    for i, b in enumerate(bs):
        for j, c in enumerate(cs):
            alone = cross_fit(X, Y, shrinkage=b, ridge=c)
            relative_errors = (Y - alone.predictions) ** 2 / variation
            by_fold[:, i, j] = [relative_errors[alone.folds == t].sum(axis=0).mean() for t in range(5)]
    errors = by_fold.sum(axis=0)
    alive = np.ones((3, 5), dtype=bool)
    for n_folds in (1, 3):
        so_far = by_fold[:n_folds].sum(axis=0)
        ranked = sorted(so_far[alive])
        alive &= so_far <= ranked[(len(ranked) + 1) // 2 - 1] * (1 + 1e-9)
    reported_folds = []
    cross_fit_result = cross_fit(X, Y, shrinkage=bs, ridge=cs, callback=reported_folds.append)
    np.testing.assert_array_equal(np.isfinite(cross_fit_result.errors), alive)
    assert 4 <= alive.sum() < 15
    np.testing.assert_allclose(cross_fit_result.errors[alive], errors[alive], rtol=1e-6)
    assert (
        cross_fit_result.errors.min()
        == cross_fit_result.errors[bs.index(cross_fit_result.shrinkage), cs.index(cross_fit_result.ridge)]
    )
    assert reported_folds == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("shape", [(140, 110), (700, 40), (110, 150)])
@pytest.mark.parametrize("share", [1.0, 0.8])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_threads_change_no_bit(rng, shape, share, layout, monkeypatch):
    monkeypatch.setattr(selection, "_WORTH_A_THREAD", 1)
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.5)
    Y = (X[:, :3] + rng.standard_normal((len(X), 3)) > 0).astype(float)
    known = rng.random(Y.shape) < share
    known[:, 0] = True
    for gate in (2, 1000):
        monkeypatch.setattr(selection, "_RACE_FROM", gate)
        single_thread, three_threads = (cross_fit(layout(X), Y, known=known, n_jobs=n_jobs) for n_jobs in (1, 3))
        np.testing.assert_array_equal(single_thread.predictions, three_threads.predictions)
        np.testing.assert_array_equal(single_thread.errors, three_threads.errors)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_folds_of_large_systems_come_one_by_one_for_any_number_of_threads(rng, layout, monkeypatch):
    """Systems above the largest Gram matrix: the search is on a sample, and each fold is predicted by its own fit."""
    monkeypatch.setattr(selection, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(selection, "SAMPLED_ROWS", 60)
    monkeypatch.setattr(regression, "LARGEST_GRAM", 5)
    X = rng.standard_normal((130, 50)) * (rng.random((130, 50)) < 0.5)
    Y = (X[:, :20] + rng.standard_normal((130, 20)) > 0).astype(float)
    reported_folds = []
    single_thread = cross_fit(layout(X), Y, callback=reported_folds.append)
    three_threads = cross_fit(layout(X), Y, n_jobs=3)
    assert reported_folds == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(single_thread.predictions, three_threads.predictions)
    for t in range(5):
        train = single_thread.folds != t
        w = 1 - single_thread.shrinkage * (1 - reference.feature_weights(X[train], Y[train]))
        coef, intercept = ridge_regression(X[train], Y[train], single_thread.ridge, feature_weights=w)
        np.testing.assert_allclose(single_thread.predictions[~train], X[~train] @ coef.T + intercept, atol=1e-7)


def test_strengths_too_small_for_float32_are_compared_in_float64(rng, monkeypatch):
    """Rows of one direction and a ridge of 1e-9: the factor would not exist in float32."""
    X = np.outer(rng.standard_normal(40), np.ones(8)) + 1e-7 * rng.standard_normal((40, 8))
    Y = (X[:, :1] > 0).astype(float)
    expected = cross_fit(X, Y, ridge=(1e-9, 1e-8))
    monkeypatch.setattr(selection, "_SINGLE_FROM", 1)
    cross_fit_result = cross_fit(X, Y, ridge=(1e-9, 1e-8))
    np.testing.assert_array_equal(cross_fit_result.errors, expected.errors)


@pytest.mark.parametrize("shape", [(240, 60), (90, 120)], ids=["more rows", "more features"])
@pytest.mark.parametrize("decay", [0.0, 1.0])
def test_factors_in_float32_choose_the_pair_of_float64(rng, shape, decay, monkeypatch):
    """Whether the spectrum is flat or decays: the chosen pair and its predictions are those of float64."""
    X = rng.standard_normal(shape) * np.arange(1, shape[1] + 1.0) ** -decay
    Y = (X[:, :2] + X[:, :2].std() * rng.standard_normal((shape[0], 2)) > 0).astype(float)
    double = cross_fit(X, Y)
    monkeypatch.setattr(selection, "_SINGLE_FROM", 1)
    single = cross_fit(X, Y)
    assert (single.errors != double.errors).any()
    assert (single.shrinkage, single.ridge) == (double.shrinkage, double.ridge)
    np.testing.assert_allclose(single.predictions, double.predictions, atol=1e-12)
    np.testing.assert_allclose(single.errors, double.errors, atol=2e-6)


def test_float32_rows_are_summed_in_float64(rng, path):
    X, Y = draw(rng, path)
    single = X.astype(np.float32)
    result_of_float32 = cross_fit(single, Y)
    result_of_float64 = cross_fit(single.astype(float), Y)
    np.testing.assert_allclose(result_of_float32.predictions, result_of_float64.predictions, atol=tolerance(path))


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0])
def test_a_label_of_a_fold_changes_no_prediction_of_that_fold(rng, path, b):
    """To the last bit, with b and c held; and it does change those of the other folds."""
    X, Y = draw(rng, path)
    before = cross_fit(X, Y, shrinkage=b, ridge=3.0)
    for t in range(5):
        inside = before.folds == t
        changed_labels = Y.copy()
        changed_labels[inside] = 1.0 - changed_labels[inside]
        after = cross_fit(X, changed_labels, shrinkage=b, ridge=3.0)
        np.testing.assert_array_equal(after.predictions[inside], before.predictions[inside])
        assert np.abs(after.predictions - before.predictions)[~inside].max() > 1e-3


def test_folds_are_the_seeded_permutation(rng):
    X, Y = draw(rng)
    cross_fit_result = cross_fit(X, Y, n_splits=7, random_state=3)
    np.testing.assert_array_equal(cross_fit_result.folds, np.random.default_rng(3).permutation(len(X)) % 7)


@pytest.mark.quick_cases("primal", "dual", "tall")
def test_scale_and_order_do_not_matter(rng, path):
    X, Y = draw(rng, path)
    cross_fit_result = cross_fit(X, Y)
    features = rng.permutation(X.shape[1])
    labels = rng.permutation(Y.shape[1])
    for again in (cross_fit(1e-3 * X, Y), cross_fit(X[:, features] + 5.0, Y[:, labels][:, np.argsort(labels)])):
        assert (again.shrinkage, again.ridge) == (cross_fit_result.shrinkage, cross_fit_result.ridge)
        np.testing.assert_allclose(again.predictions, cross_fit_result.predictions, atol=tolerance(path))
    again = cross_fit(X, Y[:, labels])
    np.testing.assert_allclose(again.predictions, cross_fit_result.predictions[:, labels], atol=tolerance(path))


def test_without_shrinkage_a_rotation_of_the_features_does_not_matter(rng, path):
    X, Y = draw(rng, path)
    Q, _ = np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))
    cross_fit_result = cross_fit(X, Y, shrinkage=0.0)
    result_of_rotation = cross_fit(X @ Q, Y, shrinkage=0.0)
    np.testing.assert_allclose(cross_fit_result.predictions, result_of_rotation.predictions, atol=tolerance(path))


def test_the_first_of_equal_errors_wins(rng):
    X, Y = draw(rng)
    cross_fit_result = cross_fit(X, Y, shrinkage=[1.0, 1.0], ridge=[3.0, 3.0, 1.0])
    assert cross_fit_result.errors[0, 0] == cross_fit_result.errors[1, 1]
    assert np.argmin(cross_fit_result.errors) in (0, 2)


def test_many_rows_and_features_are_searched_on_a_sample(rng, monkeypatch):
    X, Y = draw(rng)
    monkeypatch.setattr(regression, "LARGEST_GRAM", 5)
    monkeypatch.setattr(selection, "SAMPLED_ROWS", 30)
    cross_fit_result = cross_fit(X, Y)
    order = np.random.default_rng(0).permutation(len(X))
    rows = np.sort(order[:30])
    fold = (order % 5)[rows]
    errors = np.empty((3, 5))
    for i, b in enumerate((0.0, 0.5, 1.0)):
        for j, c in enumerate((0.3, 1.0, 3.0, 10.0, 30.0)):
            O = np.empty((30, Y.shape[1]))
            for t in range(5):
                a = rows[fold != t]
                w = 1 - b * (1 - reference.feature_weights(X[a], Y[a]))
                coef, intercept = reference.ridge_regression(X[a], Y[a], c, w)
                O[fold == t] = X[rows[fold == t]] @ coef.T + intercept
            errors[i, j] = np.mean(np.sum((Y[rows] - O) ** 2, 0) / np.sum((Y[rows] - Y[rows].mean(0)) ** 2, 0))
    np.testing.assert_allclose(cross_fit_result.errors, errors, atol=1e-10)
    *_, O, _ = reference.cross_fit(X, Y, (cross_fit_result.shrinkage,), (cross_fit_result.ridge,))
    np.testing.assert_allclose(cross_fit_result.predictions, O, atol=1e-6)


# ---------------------------------------------------------------- rows that say little


@pytest.mark.quick_cases("2-", "3-csr")
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("l", [2, 3, 4])
def test_few_rows_have_as_many_folds(rng, l, layout):
    X, Y = draw(rng)
    cross_fit_result = cross_fit(layout(X[:l]), Y[:l])
    assert sorted(cross_fit_result.folds) == list(range(l))
    np.testing.assert_allclose(cross_fit_result.predictions, reference.cross_fit(X[:l], Y[:l])[2], atol=1e-11)


def test_one_row_is_its_own_prediction(rng):
    with pytest.warns(UserWarning, match="One labelled row cannot be left out"):
        cross_fit_result = cross_fit([[1.0, 2.0]], [[1, 0]])
    assert (cross_fit_result.shrinkage, cross_fit_result.ridge) == (0.0, 0.3)
    np.testing.assert_array_equal(cross_fit_result.predictions, [[1, 0]])


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_constant_features_predict_the_mean_of_the_other_folds(rng, path, value):
    X, Y = draw(rng, path)
    cross_fit_result = cross_fit(np.full_like(X, value), Y)
    for t in range(5):
        mean = Y[cross_fit_result.folds != t].mean(axis=0)
        np.testing.assert_array_equal(
            cross_fit_result.predictions[cross_fit_result.folds == t],
            np.tile(mean, ((cross_fit_result.folds == t).sum(), 1)),
        )
    coef, intercept = ridge_regression(np.full_like(X, value), Y, 1.0)
    assert not coef.any()
    np.testing.assert_array_equal(intercept, Y.mean(axis=0))


def test_a_feature_that_varies_in_one_fold_only_is_no_feature_of_the_others(rng, path):
    """By subtraction of Gram matrices it would leave rounding noise, and noise has a kappa."""
    X, Y = draw(rng, path)
    fold = cross_fit(X, Y).folds
    X[:, 7] = 0.3 + (fold == 0) * rng.standard_normal(len(X))
    cross_fit_result = cross_fit(X, Y, shrinkage=1.0, ridge=1.0)
    np.testing.assert_allclose(
        cross_fit_result.predictions, reference.cross_fit(X, Y, (1.0,), (1.0,))[2], atol=tolerance(path)
    )


@pytest.mark.filterwarnings("error")
def test_a_fold_whose_rows_show_no_dependence_weighs_all_features_alike(rng, path):
    """Label and feature agree in fold 0 alone: without it, every kappa is 0."""
    X, Y = draw(rng, path)
    fold = cross_fit(X, Y).folds
    X = np.tile([[1.0], [-1.0]], (len(X) // 2, X.shape[1])) * (1 + np.arange(X.shape[1]))
    Y = np.zeros((len(X), 1))
    for t in range(5):  # half of the rows of either value
        for value in (-1, 1):
            rows = np.flatnonzero((fold == t) & (np.sign(X[:, 0]) == value))
            Y[rows[: len(rows) // 2 if t else len(rows) * (value == 1)]] = 1
    assert not reference.feature_weights(X[fold != 0], Y[fold != 0]).any()
    assert reference.feature_weights(X[fold != 1], Y[fold != 1]).any()
    cross_fit_result = cross_fit(X, Y, shrinkage=1.0, ridge=1.0)
    np.testing.assert_allclose(
        cross_fit_result.predictions, reference.cross_fit(X, Y, (1.0,), (1.0,))[2], atol=tolerance(path)
    )
    plain = cross_fit(X, Y, shrinkage=0.0, ridge=1.0)
    np.testing.assert_allclose(
        cross_fit_result.predictions[fold == 0], plain.predictions[fold == 0], atol=tolerance(path)
    )


@pytest.mark.parametrize("known_share", [1.0, 0.7])
def test_rare_labels_weigh_less_in_proportion_to_their_variance(rng, known_share):
    """40 labels that two rows have and nothing predicts, beside four frequent ones."""
    X, Y = draw(rng)
    rare = (rng.random((len(X), 40)).argsort(axis=0) < 2).astype(float)
    Y = np.column_stack([Y, rare])
    known = rng.random(Y.shape) < known_share
    if known_share == 1.0:
        known = None
    b, c, _, errors = reference.cross_fit(X, Y, known=known, ridges=(1.0, 10.0))
    cross_fit_result = cross_fit(X, Y, known=known, ridge=(1.0, 10.0))
    assert (cross_fit_result.shrinkage, cross_fit_result.ridge) == (b, c)
    np.testing.assert_allclose(cross_fit_result.errors.ravel(), list(errors.values()), rtol=1e-10)


def test_labels_that_do_not_vary_have_no_effect_on_the_choice(rng, path):
    X, Y = draw(rng, path)
    padded = np.column_stack([np.zeros(len(Y)), Y, np.ones(len(Y))])
    cross_fit_result = cross_fit(X, padded)
    plain = cross_fit(X, Y)
    np.testing.assert_allclose(cross_fit_result.errors, plain.errors, atol=1e-12)
    np.testing.assert_array_equal(cross_fit_result.predictions[:, [0, -1]], padded[:, [0, -1]])
    nothing = cross_fit(X, np.ones((len(X), 2)), shrinkage=[1.0, 0.0])
    assert (nothing.shrinkage, nothing.ridge) == (1.0, 0.3)
    assert np.isnan(nothing.errors).all()
    np.testing.assert_array_equal(nothing.predictions, 1.0)


def test_wide_sparse_rows_stay_sparse(rng):
    X = sparse.random_array((120, 50_000), density=2e-3, random_state=rng, format="csr")
    Y = (rng.random((120, 3)) < 0.4).astype(float)
    cross_fit_result = cross_fit(X, Y)
    used = np.flatnonzero(np.diff(X.tocsc().indptr))
    assert np.isfinite(cross_fit_result.predictions).all()
    np.testing.assert_allclose(cross_fit_result.predictions, cross_fit(X[:, used].toarray(), Y).predictions, atol=1e-10)
    coef, _ = ridge_regression(X, Y, cross_fit_result.ridge)
    assert coef.shape == (3, 50_000)


# ---------------------------------------------------------------- the regression


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_ridge_regression_equals_the_plain_implementation(rng, path, layout):
    X, Y = draw(rng, path)
    w = rng.random(X.shape[1]) * (rng.random(X.shape[1]) < 0.7)
    for weights in (None, w, np.zeros_like(w)):
        coef, intercept = ridge_regression(layout(X), Y, 2.0, feature_weights=weights)
        twin, twin_intercept = reference.ridge_regression(X, Y, 2.0, np.ones_like(w) if weights is None else weights)
        np.testing.assert_allclose(coef, twin, atol=tolerance(path))
        np.testing.assert_allclose(intercept, twin_intercept, atol=tolerance(path))


def test_regression_survives_a_large_offset(rng, path):
    X, Y = draw(rng, path)
    coef, _ = ridge_regression(X, Y, 2.0)
    np.testing.assert_allclose(ridge_regression(X + 1e6, Y, 2.0)[0], coef, atol=1e-7)
    np.testing.assert_allclose(ridge_regression(sparse.csr_array(X + 1e6), Y, 2.0)[0], coef, atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"shrinkage": 1.5}, r"shrinkage must be a number in \[0, 1\], got 1.5"),
        ({"shrinkage": "cv"}, "shrinkage must be a number"),
        ({"shrinkage": []}, "shrinkage is empty"),
        ({"shrinkage": None}, "shrinkage must be a number or a sequence"),
        ({"ridge": 0}, r"ridge must be a number in \(0, inf\), got 0"),
        ({"ridge": (1, -1)}, "ridge must be a number"),
        ({"n_splits": 1}, "n_splits must be an integer of at least 2, got 1"),
    ],
)
def test_bad_parameters_raise_a_clear_error(rng, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        cross_fit(*draw(rng), **arguments)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_three_rows_show_no_dependence_in_any_layout(layout):
    """Every fold learns from two rows, where all features depend on the labels as chance would have it."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((3, 13))
        Y = (rng.random((3, 3)) < 0.5).astype(float)
        cross_fit_result = cross_fit(layout(X), Y)
        plain = cross_fit(X, Y, shrinkage=0.0)
        np.testing.assert_allclose(cross_fit_result.errors, np.repeat(plain.errors, 3, axis=0), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_of_sparse_columns_is_summed_in_float64(rng, dtype):
    """Rare columns and frequent ones are multiplied apart."""
    filled = rng.random((60, 40)) < np.where(np.arange(40) % 2, 0.02, 0.5)
    A = (rng.normal(size=filled.shape) * filled).astype(dtype)
    w = rng.random(40)
    expected = np.tril((A.astype(np.float64) * w) @ A.T.astype(np.float64))
    np.testing.assert_allclose(sparse_gram(sparse.csc_array(A), w), expected, rtol=0, atol=1e-12)
