"""The cross-fit and the ridge regression: no leak, invariances, the twin on every path, degenerate rows."""

import numpy as np
import pytest
from scipy import sparse

from nmlsdr import _reference, ridge
from nmlsdr._ridge import factorize, solve_triangles
from nmlsdr.ridge import cross_fit, ridge_regression

SHAPES = {"primal": (60, 12), "dual": (30, 80), "sweeps, tall": (60, 12), "sweeps, wide": (30, 80)}


@pytest.fixture(params=SHAPES)
def path(request, monkeypatch):
    """One of the ways to solve the equations, reached by the shape of X or a lowered gate."""
    if request.param.startswith("sweeps"):
        monkeypatch.setattr(ridge, "LARGEST_GRAM", 5)
    return request.param


def draw(rng, path="primal", C=4):
    l, D = SHAPES[path]
    X = rng.standard_normal((l, D)) * (rng.random((l, D)) < 0.6)
    Y = (X[:, :C] + 0.7 * rng.standard_normal((l, C)) > 0.3).astype(float)
    return X, Y


def tolerance(path):
    """Conjugate gradients stop at 1e-8 of the right-hand side."""
    return 1e-6 if path.startswith("sweeps") else 1e-11


# ---------------------------------------------------------------- the kernel


def factor_and_solve(A, diagonal, B):
    """L and (A + diag(diagonal))^-1 B by the kernels; what they must not change they cannot."""
    A, B, L = np.asfortranarray(A), np.array(B, order="F"), np.full(A.shape, np.nan, order="F")
    A.flags.writeable = diagonal.flags.writeable = False
    assert factorize(A, diagonal, L) == 0
    solve_triangles(L, B)
    return np.tril(L), B


def test_kernels_solve_by_hand():
    """(4 2; 2 5) = L L' with L = (2 0; 1 2); the upper triangle of A is not read."""
    A = np.array([[3.0, np.nan], [2.0, 3.0]])
    L, x = factor_and_solve(A, np.array([1.0, 2.0]), [[6.0, 4.0], [7.0, 2.0]])
    np.testing.assert_array_equal(L, [[2.0, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(x, [[1.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("m", [1, 2, 63, 64, 65, 200])
@pytest.mark.parametrize("r", [1, 3, 70])
def test_kernels_equal_the_twin(rng, m, r):
    S, B, diagonal = rng.standard_normal((m + 5, m)), rng.standard_normal((m, r)), rng.random(m)
    A = np.tril(S.T @ S)
    L, x = factor_and_solve(A, diagonal, B)
    twin = _reference.factorize(A, diagonal)
    np.testing.assert_allclose(L, twin, atol=1e-11)
    np.testing.assert_allclose(x, _reference.solve_triangles(twin, B), atol=1e-10)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (4, 0)])
def test_kernels_of_nothing_give_nothing(shape):
    m, r = shape
    assert factor_and_solve(np.eye(m), np.zeros(m), np.zeros((m, r)))[1].shape == shape


def test_kernel_names_the_minor_that_is_not_positive():
    A = np.asfortranarray(np.diag([1.0, 1.0, -2.0, 1.0]))
    assert factorize(A, np.full(4, 0.5), np.empty_like(A)) == 3


# ---------------------------------------------------------------- the cross-fit


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.coo_matrix])
def test_equals_the_twin(rng, path, layout):
    X, Y = draw(rng, path)
    found = cross_fit(layout(X), Y)
    b, c, O, errors = _reference.cross_fit(X, Y)
    assert (found.shrinkage, found.ridge) == (b, c)
    np.testing.assert_allclose(found.predictions, O, atol=tolerance(path))
    np.testing.assert_allclose(found.errors.ravel(), list(errors.values()), atol=1e-11)


def test_a_second_pass_gives_what_the_first_did_not_keep(rng, path, monkeypatch):
    X, Y = draw(rng, path)
    kept = cross_fit(X, Y)
    monkeypatch.setattr(ridge, "KEPT_PREDICTIONS", 0)
    np.testing.assert_array_equal(cross_fit(X, Y).predictions, kept.predictions)


def test_float32_rows_are_summed_in_float64(rng, path):
    X, Y = draw(rng, path)
    single = X.astype(np.float32)
    one, two = cross_fit(single, Y), cross_fit(single.astype(float), Y)
    np.testing.assert_allclose(one.predictions, two.predictions, atol=tolerance(path))


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0])
def test_a_label_of_a_fold_changes_no_prediction_of_that_fold(rng, path, b):
    """To the last bit, with b and c held; and it does change those of the other folds."""
    X, Y = draw(rng, path)
    before = cross_fit(X, Y, shrinkage=b, ridge=3.0)
    for t in range(5):
        inside = before.folds == t
        other = Y.copy()
        other[inside] = 1.0 - other[inside]
        after = cross_fit(X, other, shrinkage=b, ridge=3.0)
        np.testing.assert_array_equal(after.predictions[inside], before.predictions[inside])
        assert np.abs(after.predictions - before.predictions)[~inside].max() > 1e-3


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shape", [(420, 160), (150, 300)], ids=["primal", "dual"])
def test_threads_change_no_bit(rng, layout, shape, monkeypatch):
    """At sizes that take LAPACK long enough for threads to meet in it."""
    monkeypatch.setattr(ridge, "WORTH_THREADS", 0)
    used = set()
    real = ridge.ThreadPoolExecutor
    monkeypatch.setattr(ridge, "ThreadPoolExecutor", lambda n: used.add(n) or real(n))
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.6)
    Y = (X[:, :4] + rng.standard_normal((shape[0], 4)) > 0.3).astype(float)
    one = cross_fit(layout(X), Y, n_jobs=1)
    for n_jobs in (2, 3, 7):
        other = cross_fit(layout(X), Y, n_jobs=n_jobs)
        assert (other.shrinkage, other.ridge) == (one.shrinkage, one.ridge)
        np.testing.assert_array_equal(other.errors, one.errors)
        np.testing.assert_array_equal(other.predictions, one.predictions)
    assert used == {2, 3, 7}


def test_an_error_in_a_thread_is_raised(rng, monkeypatch):
    monkeypatch.setattr(ridge, "WORTH_THREADS", 0)

    def fail(*args):
        raise FloatingPointError("of a fold")

    monkeypatch.setattr("nmlsdr._normal_equations._PrimalFold.weigh", fail)
    with pytest.raises(FloatingPointError, match="of a fold"):
        cross_fit(*draw(rng), n_jobs=2)


def test_folds_are_the_seeded_permutation(rng):
    X, Y = draw(rng)
    found = cross_fit(X, Y, n_splits=7, random_state=3)
    np.testing.assert_array_equal(found.folds, np.random.default_rng(3).permutation(len(X)) % 7)


def test_scale_and_order_do_not_matter(rng, path):
    X, Y = draw(rng, path)
    found = cross_fit(X, Y)
    features, labels = rng.permutation(X.shape[1]), rng.permutation(Y.shape[1])
    for again in (cross_fit(1e-3 * X, Y), cross_fit(X[:, features] + 5.0, Y[:, labels][:, np.argsort(labels)])):
        assert (again.shrinkage, again.ridge) == (found.shrinkage, found.ridge)
        np.testing.assert_allclose(again.predictions, found.predictions, atol=tolerance(path))
    again = cross_fit(X, Y[:, labels])
    np.testing.assert_allclose(again.predictions, found.predictions[:, labels], atol=tolerance(path))


def test_without_shrinkage_a_rotation_of_the_features_does_not_matter(rng, path):
    X, Y = draw(rng, path)
    Q, _ = np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))
    one, two = cross_fit(X, Y, shrinkage=0.0), cross_fit(X @ Q, Y, shrinkage=0.0)
    np.testing.assert_allclose(one.predictions, two.predictions, atol=tolerance(path))


def test_the_first_of_equal_errors_wins(rng):
    X, Y = draw(rng)
    found = cross_fit(X, Y, shrinkage=[1.0, 1.0], ridge=[3.0, 3.0, 1.0])
    assert found.errors[0, 0] == found.errors[1, 1]
    assert np.argmin(found.errors) in (0, 2)


def test_many_rows_and_features_are_searched_on_a_sample(rng, monkeypatch):
    X, Y = draw(rng)
    monkeypatch.setattr(ridge, "LARGEST_GRAM", 5)
    monkeypatch.setattr(ridge, "SAMPLED_ROWS", 30)
    found = cross_fit(X, Y)
    order = np.random.default_rng(0).permutation(len(X))
    rows = np.sort(order[:30])
    fold = (order % 5)[rows]
    errors = np.empty((3, 5))
    for i, b in enumerate((0.0, 0.5, 1.0)):
        for j, c in enumerate((0.3, 1.0, 3.0, 10.0, 30.0)):
            O = np.empty((30, Y.shape[1]))
            for t in range(5):
                a = rows[fold != t]
                w = 1 - b * (1 - _reference.feature_weights(X[a], Y[a]))
                coef, intercept = _reference.ridge_regression(X[a], Y[a], c, w)
                O[fold == t] = X[rows[fold == t]] @ coef.T + intercept
            errors[i, j] = np.mean(np.sum((Y[rows] - O) ** 2, 0) / np.sum((Y[rows] - Y[rows].mean(0)) ** 2, 0))
    np.testing.assert_allclose(found.errors, errors, atol=1e-10)
    *_, O, _ = _reference.cross_fit(X, Y, (found.shrinkage,), (found.ridge,))
    np.testing.assert_allclose(found.predictions, O, atol=1e-6)


# ---------------------------------------------------------------- rows that say little


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("l", [2, 3, 4])
def test_few_rows_have_as_many_folds(rng, l, layout):
    X, Y = draw(rng)
    found = cross_fit(layout(X[:l]), Y[:l])
    assert sorted(found.folds) == list(range(l))
    np.testing.assert_allclose(found.predictions, _reference.cross_fit(X[:l], Y[:l])[2], atol=1e-11)


def test_one_row_is_its_own_prediction(rng):
    with pytest.warns(UserWarning, match="One labelled row cannot be held out"):
        found = cross_fit([[1.0, 2.0]], [[1, 0]])
    assert (found.shrinkage, found.ridge) == (0.0, 0.3)
    np.testing.assert_array_equal(found.predictions, [[1, 0]])


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_constant_features_predict_the_mean_of_the_other_folds(rng, path, value):
    X, Y = draw(rng, path)
    found = cross_fit(np.full_like(X, value), Y)
    for t in range(5):
        mean = Y[found.folds != t].mean(axis=0)
        np.testing.assert_array_equal(found.predictions[found.folds == t], np.tile(mean, ((found.folds == t).sum(), 1)))
    coef, intercept = ridge_regression(np.full_like(X, value), Y, 1.0)
    assert not coef.any()
    np.testing.assert_array_equal(intercept, Y.mean(axis=0))


def test_a_feature_that_varies_in_one_fold_only_is_no_feature_of_the_others(rng, path):
    """By subtraction of Gram matrices it would leave rounding noise, and noise has a kappa."""
    X, Y = draw(rng, path)
    fold = cross_fit(X, Y).folds
    X[:, 7] = 0.3 + (fold == 0) * rng.standard_normal(len(X))
    found = cross_fit(X, Y, shrinkage=1.0, ridge=1.0)
    np.testing.assert_allclose(found.predictions, _reference.cross_fit(X, Y, (1.0,), (1.0,))[2], atol=tolerance(path))


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
    assert not _reference.feature_weights(X[fold != 0], Y[fold != 0]).any()
    assert _reference.feature_weights(X[fold != 1], Y[fold != 1]).any()
    found = cross_fit(X, Y, shrinkage=1.0, ridge=1.0)
    np.testing.assert_allclose(found.predictions, _reference.cross_fit(X, Y, (1.0,), (1.0,))[2], atol=tolerance(path))
    plain = cross_fit(X, Y, shrinkage=0.0, ridge=1.0)
    np.testing.assert_allclose(found.predictions[fold == 0], plain.predictions[fold == 0], atol=tolerance(path))


def test_labels_that_do_not_vary_take_no_part_in_the_choice(rng, path):
    X, Y = draw(rng, path)
    padded = np.column_stack([np.zeros(len(Y)), Y, np.ones(len(Y))])
    found, plain = cross_fit(X, padded), cross_fit(X, Y)
    np.testing.assert_allclose(found.errors, plain.errors, atol=1e-12)
    np.testing.assert_array_equal(found.predictions[:, [0, -1]], padded[:, [0, -1]])
    nothing = cross_fit(X, np.ones((len(X), 2)), shrinkage=[1.0, 0.0])
    assert (nothing.shrinkage, nothing.ridge) == (1.0, 0.3)
    assert np.isnan(nothing.errors).all()
    np.testing.assert_array_equal(nothing.predictions, 1.0)


def test_wide_sparse_rows_stay_sparse(rng):
    X = sparse.random_array((120, 50_000), density=2e-3, random_state=rng, format="csr")
    Y = (rng.random((120, 3)) < 0.4).astype(float)
    found = cross_fit(X, Y)
    used = np.flatnonzero(np.diff(X.tocsc().indptr))
    assert np.isfinite(found.predictions).all()
    np.testing.assert_allclose(found.predictions, cross_fit(X[:, used].toarray(), Y).predictions, atol=1e-10)
    coef, _ = ridge_regression(X, Y, found.ridge)
    assert coef.shape == (3, 50_000)


# ---------------------------------------------------------------- the regression


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_regression_equals_the_twin(rng, path, layout):
    X, Y = draw(rng, path)
    w = rng.random(X.shape[1]) * (rng.random(X.shape[1]) < 0.7)
    for weights in (None, w, np.zeros_like(w)):
        coef, intercept = ridge_regression(layout(X), Y, 2.0, feature_weights=weights)
        twin, twin_intercept = _reference.ridge_regression(X, Y, 2.0, np.ones_like(w) if weights is None else weights)
        np.testing.assert_allclose(coef, twin, atol=tolerance(path))
        np.testing.assert_allclose(intercept, twin_intercept, atol=tolerance(path))


def test_regression_survives_a_large_offset(rng, path):
    X, Y = draw(rng, path)
    coef, _ = ridge_regression(X, Y, 2.0)
    np.testing.assert_allclose(ridge_regression(X + 1e6, Y, 2.0)[0], coef, atol=1e-7)


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
def test_bad_parameters_are_one_sentence(rng, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        cross_fit(*draw(rng), **arguments)


def test_bad_feature_weights_are_one_sentence(rng):
    X, Y = draw(rng)
    for bad in ([1.0], -np.ones(X.shape[1]), np.full(X.shape[1], np.nan)):
        with pytest.raises(ValueError, match="feature_weights must be 12 finite numbers of 0 or more"):
            ridge_regression(X, Y, 1.0, feature_weights=bad)
