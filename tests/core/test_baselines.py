"""The supervised projections and SSMLDR as estimators: label rule, invariance, degenerate input, transformer API."""

import numpy as np
import pytest
import reference
from projections import assert_same_directions, draw_binary
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nmlsdr import MDDM, MLDA, MVMD, NMLSDR, SSMLDR, MultiLabelCCA
from nmlsdr._projections import label_weights, scatter
from nmlsdr.projection import hsic_projection

SUPERVISED = {
    "MDDMp": MDDM(),
    "MDDMf": MDDM(constraint="features"),
    "MVMD": MVMD(),
    "CCA": MultiLabelCCA(),
    "wMLDAb": MLDA(),
    "wMLDAe": MLDA(label_weights="entropy"),
    "wMLDAc": MLDA(label_weights="correlation"),
    "wMLDAf": MLDA(label_weights="fuzzy"),
    "wMLDAd": MLDA(label_weights="dependence", random_state=0),
}
EXACT = {"tol": 1e-12}  # two orders of the rows stop at different F within tol
PROPAGATING = {
    "SSMLDR": SSMLDR(**EXACT),
    "SSMLDR hard": SSMLDR(labels="hard", **EXACT),
    "SSMLDR*": SSMLDR(alpha_labeled=0.0, **EXACT),
}
METHODS = {**SUPERVISED, **PROPAGATING}
EVERY = {**METHODS, "NMLSDR": NMLSDR(**EXACT)}
ORTHONORMAL = ("MDDMp", "MVMD", "NMLSDR")


@pytest.fixture
def data(rng):
    """60 rows, 9 features, 4 labels, a third of the rows unlabelled."""
    X, Y = draw_binary(rng, 60, 9, 4)
    Y[40:] = -1
    return X, Y


def widen(X, rng, n_features=80):
    """More features than rows, of which the first ones carry what the labels depend on."""
    return np.column_stack([X, rng.standard_normal((len(X), n_features - X.shape[1]))])


def invariant(name, shape):
    """The method; with a ridge that tells the correlations of a wide X, which are all 1 otherwise, apart."""
    return clone(EVERY[name]).set_params(**({"ridge": 100.0} if (name, shape) == ("CCA", "wide") else {}))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_sparse_rows_with_a_large_offset_give_what_dense_rows_give(data, rng, name, shape):
    """One column far from 0, whose squares of 1e14 leave no digit for its spread of 1."""
    X, Y = data
    X = widen(X, rng) if shape == "wide" else X
    X[:, 0] += 1e7
    dense = invariant(name, shape).fit(X, Y)
    csr = invariant(name, shape).fit(sparse.csr_array(X), Y)
    expected, csr_directions = ((each.components_, each.eigenvalues_) for each in (dense, csr))
    assert_same_directions(csr_directions, expected, 1e-4, scale=False)


def pair(model):
    return model.components_, model.eigenvalues_


@pytest.mark.parametrize("name", EVERY)
def test_fitted_attributes_agree_with_transform(data, name):
    X, Y = data
    model = clone(EVERY[name])
    embedding = model.fit_transform(X, Y)
    d = len(model.components_)
    used = np.count_nonzero(model.label_weights_.any(axis=0)) if name == "wMLDAd" else 4  # it need not use all labels
    assert d == (used - 1 if "LD" in name else 4)
    assert model.components_.shape == (d, 9)
    assert model.eigenvalues_.shape == (d,)
    assert (np.diff(model.eigenvalues_) <= 0).all()
    assert model.effective_rank_ == d
    fitted = X if name == "NMLSDR" or name in PROPAGATING else X[:40]
    np.testing.assert_allclose(model.mean_, fitted.mean(axis=0), atol=1e-12)
    step = 2.0**-27 * np.linalg.norm(fitted - fitted.mean(axis=0)) / 10 if name == "NMLSDR" else 0.0  # of its rounding
    np.testing.assert_allclose(embedding, (X - model.mean_) @ model.components_.T, atol=step / 2 + 1e-10)
    np.testing.assert_allclose(model.transform(sparse.csr_array(X)), embedding, atol=1e-10)
    assert [list(c) for c in model.classes_] == [[0, 1]] * 4


def constraint_matrix(name, model, X, Y):
    """B of P'BP = I, from the rows that the method sees."""
    known = (Y != -1).any(axis=1)
    if name in ORTHONORMAL:
        return np.eye(X.shape[1])
    if name == "CCA":
        return reference.cca_matrices(X[known], Y[known])[1]
    if name == "MDDMf":
        return reference.mddm_matrices(X[known], Y[known])[1]
    if name not in PROPAGATING:
        return reference.weighted_lda_matrices(X[known], model.label_weights_)[1]
    F = model.label_distributions_
    return reference.weighted_lda_matrices(X, np.where(known[:, None], F > 0.5, F) if name == "SSMLDR hard" else F)[1]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_directions_satisfy_their_constraint(data, rng, name, shape, make):
    """P'P = I or P'BP = I; with more features than rows too, where another basis is taken."""
    X, Y = data if shape == "tall" else (widen(data[0], rng), data[1])
    model = clone(EVERY[name]).fit(make(X), Y)
    P = model.components_
    B = constraint_matrix(name, model, X, Y)
    tolerance = 1e-12 if shape == "tall" else 1e-9  # sparse rows are rotated back by their own products
    np.testing.assert_allclose(P @ B @ P.T, np.eye(len(P)), atol=tolerance)


@pytest.mark.parametrize("name", ORTHONORMAL)
def test_float32_directions_are_orthonormal(data, name):
    X, Y = data
    P = clone(EVERY[name]).fit(X.astype(np.float32), Y).components_
    assert P.dtype == np.float32
    np.testing.assert_allclose(P @ P.T, np.eye(len(P)), atol=1e-6)


def test_each_method_calls_its_core_function(data):
    X = data[0][:40]
    Y = data[1][:40]
    cores = {
        "MDDMp": hsic_projection(X, Y),
        "MDDMf": scatter.mddm_features(X, Y),
        "MVMD": scatter.mvmd(X, Y),
        "CCA": scatter.cca(X, Y),
        "wMLDAb": scatter.weighted_lda(X, Y),
        "wMLDAe": scatter.weighted_lda(X, label_weights.entropy_weights(Y)),
        "wMLDAc": scatter.weighted_lda(X, label_weights.correlation_weights(Y)),
        "wMLDAf": scatter.weighted_lda(X, label_weights.fuzzy_weights(X, Y)),
        "wMLDAd": scatter.weighted_lda(
            X, label_weights.dependence_weights(X, Y, generator=np.random.RandomState(0))[0]
        ),
    }
    for name, core in cores.items():
        expected = core if isinstance(core, tuple) else (core.components, core.eigenvalues)
        assert_same_directions(pair(clone(SUPERVISED[name]).fit(*data)), expected, 1e-12)


def test_dependence_records_its_objective(data):
    model = MLDA(label_weights="dependence", random_state=0).fit(*data)
    assert len(model.objective_) == model.n_iter_ + 1
    assert (np.diff(model.objective_) >= 0).all()
    assert not hasattr(model.set_params(label_weights="binary").fit(*data), "objective_")
    with pytest.warns(ConvergenceWarning, match="dependence weights stopped after 1 epoch"):
        MLDA(label_weights="dependence", random_state=0, max_iter=1).fit(*data)


def test_ssmldr_weighs_by_the_propagated_labels(data):
    X, Y = data
    model = SSMLDR().fit(X, Y)
    F = model.label_distributions_
    directions = scatter.weighted_lda(X, F)
    assert_same_directions(pair(model), (directions.components, directions.eigenvalues), 1e-12)
    hard = SSMLDR(labels="hard").fit(X, Y)
    half_hard = np.where(Y == -1, F, F > 0.5)
    directions = scatter.weighted_lda(X, half_hard)
    assert_same_directions(pair(hard), (directions.components, directions.eigenvalues), 1e-12)
    clamped = SSMLDR(alpha_labeled=0.0).fit(X, Y)
    np.testing.assert_array_equal(clamped.label_distributions_[:40], Y[:40])
    assert not clamped.label_flips_.any()


# ---------------------------------------------------------------- label rule


@pytest.mark.parametrize("name", SUPERVISED)
def test_unlabelled_rows_are_ignored(data, name):
    X, Y = data
    expected = pair(clone(SUPERVISED[name]).fit(X[:40], Y[:40]))
    assert_same_directions(pair(clone(SUPERVISED[name]).fit(X, Y)), expected, 1e-12)
    changed_rows = X.copy()
    changed_rows[40:] = 1e6
    assert_same_directions(pair(clone(SUPERVISED[name]).fit(changed_rows, Y)), expected, 1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_one_dimensional_labels_are_one_column_per_class(data, name):
    X, _ = data
    y = np.array(["a", "b", "c"], dtype="U2")[np.argmax(X[:, :3], axis=1)]
    y[50:] = "-1"
    Y = (y[:, None] == np.array(["a", "b", "c"])).astype(int)
    Y[50:] = -1
    model = clone(METHODS[name]).fit(X, y)
    np.testing.assert_array_equal(model.classes_, ["a", "b", "c"])
    assert_same_directions(pair(model), pair(clone(METHODS[name]).fit(X, Y)), 1e-12)


# ---------------------------------------------------------------- invariance


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_shift_and_rotation_of_the_features(data, rng, name, shape):
    X, Y = data if shape == "tall" else (widen(data[0], rng), data[1])
    base = invariant(name, shape).fit(X, Y)
    Q = np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]
    assert_same_directions(pair(invariant(name, shape).fit(X + 50.0, Y)), pair(base), 1e-8)
    turned = invariant(name, shape).fit(X @ Q, Y)
    assert_same_directions(pair(turned), (base.components_ @ Q, base.eigenvalues_), 1e-8)


@pytest.mark.parametrize("name", [name for name in EVERY if name != "wMLDAd"])  # it draws an order of the rows
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_order_of_rows_and_labels(data, rng, name, shape):
    X, Y = data if shape == "tall" else (widen(data[0], rng), data[1])
    rows = rng.permutation(60)
    labels = rng.permutation(4)
    base = invariant(name, shape).fit(X, Y)
    assert_same_directions(pair(invariant(name, shape).fit(X[rows], Y[rows][:, labels])), pair(base), 1e-8)


# ---------------------------------------------------------------- degenerate input


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("case", ["duplicates", "constant columns", "empty label", "none unlabelled", "more features"])
def test_degenerate_input_gives_finite_results(data, rng, name, make, case):
    X, Y = data
    if case == "duplicates":
        X[::2] = X[1::2]
    elif case == "constant columns":
        X[:, 3:5] = 7.0
    elif case == "empty label":
        Y[:40, 2] = 0
    elif case == "none unlabelled":
        Y[40:] = Y[:20]
    else:
        X = rng.standard_normal((60, 80)) + np.repeat(X, 9, axis=1)[:, :80]
    model = clone(EVERY[name])
    embedding = model.fit_transform(make(X), Y)
    assert np.isfinite(embedding).all()
    assert np.isfinite(model.components_).all()
    assert (model.eigenvalues_ > 0).all()
    assert np.isfinite(getattr(model, "dependence_ratio_", 0)).all()
    if case == "empty label" and name != "MVMD":
        assert len(model.components_) == (2 if "LD" in name else 3)


@pytest.mark.parametrize("name", EVERY)
def test_data_without_anything_to_learn_raise_an_error(data, name):
    X, Y = data
    with pytest.raises(ValueError, match="no labelled row"):
        clone(EVERY[name]).fit(X, np.full_like(Y, -1))
    if name != "MVMD":
        with pytest.raises(ValueError, match=r"one class|= 0: no direction"):
            clone(EVERY[name]).fit(X[:40], np.ones(40))
    with pytest.raises(ValueError, match=r"no dependence|Every feature is constant"):
        clone(EVERY[name]).fit(np.ones_like(X), Y)
    with pytest.raises(ValueError, match="n_samples = 1"):
        clone(EVERY[name]).fit(X[:1], Y[:1])


@pytest.mark.parametrize("name", SUPERVISED)
def test_one_labelled_row_is_an_error(data, name):
    X, Y = data
    Y[1:] = -1
    with pytest.raises(ValueError, match="n_samples = 1"):
        clone(SUPERVISED[name]).fit(X, Y)


@pytest.mark.parametrize("name", EVERY)
def test_more_components_than_the_bound_is_an_error(data, name):
    bound = {"MVMD": 9}.get(name, 3 if "LD" in name else 4)
    with pytest.raises(ValueError, match=f"n_components={bound + 1} is above"):
        clone(EVERY[name]).set_params(n_components=bound + 1).fit(*data)


def test_errors_name_bad_options(data):
    for model, message in [
        (MDDM(constraint="both"), "constraint must be"),
        (MLDA(label_weights="random"), "label_weights must be .binary"),
        (SSMLDR(labels="fuzzy"), "labels must be"),
        (MLDA(ridge=-1), "ridge must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(*data)


# ---------------------------------------------------------------- the transformer API


def test_float32_embeddings_are_float32_with_sums_in_float64(data):
    X, Y = data
    single = X.astype(np.float32)
    model = MDDM().fit(single, Y)
    embedding = model.transform(single)
    assert embedding.dtype == np.float32
    exact = (single.astype(float) - model.mean_) @ model.components_.T.astype(float)
    np.testing.assert_array_equal(embedding, exact.astype(np.float32))
    assert model.transform(X).dtype == np.float64
