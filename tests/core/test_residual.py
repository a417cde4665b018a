"""ResidualPropagation: the twin, golden numbers, what the parameters of fit reach, invariances, degenerate input.

Most tests take the trend without forests and the whole residuals, which make small errors visible; what the forests,
the weights of the learners, the flip rate and the thresholds add is tested in test_residual_forest.py, and so are
decisions, seeds and threads.
"""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import reference
from projections import draw_binary
from propagation_cases import propagate_signed
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer

from nmlsdr import NMLSDR, MLkNN, ResidualPropagation, _moments
from nmlsdr._estimators._prepared import rounded
from nmlsdr._ridge import cross_fit, ridge_regression
from nmlsdr._thresholds import rank_scores
from nmlsdr.graph import kneighbors, neighbor_graph
from nmlsdr.metrics import score_table
from nmlsdr.model_file import load_model, save_model

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "residual_propagation.json").read_text())


PLAIN = {"n_estimators": 0, "residual_weight": 1.0, "threshold": 0.5}


def closely_solved(**parameters):
    model = ResidualPropagation(**{"n_neighbors": 6, **PLAIN, **parameters})
    model.tol = 1e-12  # a constant of the class, for comparisons to more digits than 1e-8
    return model


def fit(X, Y, **parameters):
    return closely_solved(**parameters).fit(X, Y)


# ---------------------------------------------------------------- what it computes


@pytest.mark.usefixtures("rows_as_they_stand")
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_residual_propagation_equals_the_plain_implementation(data, layout):
    X, Y, new = data
    known = Y[:, 0] != -1
    twin = reference.residual_propagation(X, np.where(Y == -1, 0, Y), known, new, 4, 6, weight=1.0)
    model = fit(layout(X), Y, threshold="prior")
    np.testing.assert_allclose(rank_scores(model, layout(new)), twin["scores"], atol=1e-8)
    np.testing.assert_allclose(model.propagated_errors_, twin["E"], atol=1e-9)
    np.testing.assert_allclose(model.thresholds_, twin["prior"], atol=1e-8)
    np.testing.assert_allclose(model.flip_scores_, twin["flip_scores"], atol=1e-9)


@pytest.mark.usefixtures("rows_as_they_stand")
@pytest.mark.parametrize("k", [29, 30])
def test_every_other_row_is_a_neighbour_where_twice_k_are_more(data, k):
    X, Y, new = data
    X = X[:60]
    Y = Y[:60]
    known = Y[:, 0] != -1
    twin = reference.residual_propagation(X, np.where(Y == -1, 0, Y), known, new, 4, k, weight=1.0)
    model = fit(X, Y, n_neighbors=k)
    np.testing.assert_allclose(model.propagated_errors_, twin["E"], atol=1e-9)
    np.testing.assert_allclose(rank_scores(model, new), twin["scores"], atol=1e-8)


@pytest.mark.usefixtures("rows_as_they_stand")
def test_is_made_of_the_parts_that_users_have(data):
    """Trend by `ridge_regression`, embedding by NMLSDR, residuals by `propagate_signed` over two graphs."""
    X, Y, new = data
    model = fit(X, Y)
    chosen = cross_fit(X[:45], Y[:45])
    assert (model.shrinkage_, model.ridge_) == (chosen.shrinkage, chosen.ridge)
    projection = NMLSDR(shrinkage=chosen.shrinkage, n_neighbors=6, tol=1e-12).fit(X, Y)
    for name in ("components_", "label_distributions_", "label_flips_", "transduction_", "feature_weights_", "mean_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(projection, name))
    coef, intercept = ridge_regression(X[:45], Y[:45], chosen.ridge, feature_weights=model.feature_weights_)
    np.testing.assert_array_equal(model.coef_, coef)
    np.testing.assert_array_equal(model.intercept_, intercept)
    Z = projection.transform(X)
    np.testing.assert_allclose(model.embedding_, Z, atol=4e-9 * np.abs(Z).max())
    R = np.zeros(Y.shape)
    R[:45] = Y[:45] - chosen.predictions
    known = np.arange(90) < 45
    P = X @ coef.T + intercept
    trend = new @ coef.T + intercept
    P[:45] = chosen.predictions
    np.testing.assert_allclose(model.ridge_scores_, P, atol=4e-9 * np.abs(P).max())
    expected = trend.copy()
    for errors, rows, queries in zip(model.propagated_errors_, (Z, P), (projection.transform(new), trend), strict=True):
        E = propagate_signed(neighbor_graph(rows, 12), R, np.where(known, 0.6, 0.999), labeled=known, tol=1e-12).F
        np.testing.assert_allclose(errors, E, atol=1e-9)
        expected += E[kneighbors(rows, 12, queries=queries)[1]].mean(axis=1) / 2
    np.testing.assert_allclose(rank_scores(model, new), expected, atol=1e-9)


def test_prior_predicts_each_label_as_often_as_it_was_given(data):
    """As often as it was given, less the share of flipped labels."""
    X, Y, _ = data
    model = fit(X, Y, threshold="prior")
    trained = X @ model.coef_.T + model.intercept_
    trained[:45] = cross_fit(X[:45], Y[:45]).predictions
    reached = (np.clip(trained + model.propagated_errors_.mean(axis=0), 0, 1) > model.thresholds_).sum(axis=0)
    shares = (Y[:45].mean(axis=0) - model.flip_rate_) / (1 - 2 * model.flip_rate_)
    n_expected = np.maximum(1, np.rint(90 * np.clip(shares, 0, 1)))
    assert (np.abs(reached - n_expected) <= np.maximum(n_expected, 5)).all()


def test_flipped_labels_come_first(rng):
    X, truth = draw_binary(rng, 150, 8, 3)
    flipped = rng.random(truth.shape) < 0.08
    scores = fit(X, np.where(flipped, 1 - truth, truth), n_neighbors=10).flip_scores_
    assert scores.min() >= 0
    assert scores.max() <= 1
    assert scores[flipped].mean() > scores[~flipped].mean() + 0.25


@pytest.mark.usefixtures("rows_as_they_stand")
@pytest.mark.quick_cases("Emotions", "Birds")
@pytest.mark.shared
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{case['dataset']} {case['seed']}")
def test_strengths_and_embedding_equal_the_stored_numbers(case, shared):
    """The article's draw of the set and seed; ML-kNN with true labels on the embedding of noisy, partial ones."""
    from nmlsdr.experiments.protocol import STUDIES, draw

    d = draw(STUDIES["benchmarks"], case["dataset"], case["seed"], "full", str(shared / "data"))
    model = ResidualPropagation(n_jobs=1, **PLAIN).fit(d.train, d.given)
    assert (int(d.labeled.sum()), model.shrinkage_, model.ridge_) == (case["l"], case["b"], case["c"])
    tolerance = GOLDEN["tolerance_with_ties"] if case["dataset"] == "Genbase" else GOLDEN["tolerance"]
    kappa = NMLSDR(shrinkage=1.0).fit(d.train, d.given).feature_weights_
    assert int((kappa > 0).sum()) == case["n_kappa"]
    assert kappa.sum() == pytest.approx(case["sum_kappa"], abs=1e-3)
    knn = MLkNN(10, n_jobs=1)
    proba = knn.fit(model.embedding_, d.target).predict_proba(model.transform(d.test))
    measures = score_table(d.test_target, proba, coverage_empty=-1)
    assert np.mean(list(measures.values())) == pytest.approx(case["P1"], abs=tolerance)


# ---------------------------------------------------------------- what the parameters of fit reach


@pytest.mark.usefixtures("rows_as_they_stand")
def test_graph_replaces_the_first_graph_only(data):
    X, Y, _ = data
    model = fit(X, Y)
    weighted = X * np.sqrt(model.feature_weights_)
    again = closely_solved().fit(X, Y, graph=neighbor_graph(weighted, 6))
    np.testing.assert_array_equal(again.propagated_errors_, model.propagated_errors_)
    on_graph = closely_solved().fit(X, Y, graph=neighbor_graph(weighted[:, ::-1] ** 3, 6))
    assert np.abs(on_graph.embedding_ - model.embedding_).max() > 1e-3
    known = np.arange(90) < 45
    R = np.zeros(Y.shape)
    R[:45] = Y[:45] - cross_fit(X[:45], Y[:45]).predictions
    Gamma = neighbor_graph(on_graph.embedding_, 12)
    E = propagate_signed(Gamma, R, np.where(known, 0.6, 0.999), labeled=known, tol=1e-12).F
    np.testing.assert_allclose(on_graph.propagated_errors_[0], E, atol=1e-9)
    # the ridge regression does not see a graph
    np.testing.assert_array_equal(on_graph.propagated_errors_[1], model.propagated_errors_[1])


@pytest.mark.usefixtures("rows_as_they_stand")
def test_alpha_is_used_in_every_propagation(data):
    X, Y, _ = data
    known = np.arange(90) < 45
    by_parameters = fit(X, Y, alpha_labeled=0.2, alpha_unlabeled=0.9)
    by_entries = closely_solved().fit(X, Y, alpha=np.where(known, 0.2, 0.9))
    np.testing.assert_array_equal(by_parameters.label_distributions_, by_entries.label_distributions_)
    np.testing.assert_array_equal(by_parameters.propagated_errors_, by_entries.propagated_errors_)
    clamped = fit(X, Y, alpha_labeled=0.0)
    R = Y[:45] - cross_fit(X[:45], Y[:45]).predictions
    np.testing.assert_allclose(clamped.propagated_errors_[:, :45], [R, R], atol=1e-12)


@pytest.mark.usefixtures("rows_as_they_stand")
def test_a_neighbour_transformer_is_used_for_every_graph(data):
    X, Y, new = data
    plugged = fit(X, Y, neighbors=KNeighborsTransformer(n_neighbors=15))
    np.testing.assert_array_equal(rank_scores(plugged, new), rank_scores(fit(X, Y), new))
    for transformer, rows in zip(plugged.neighbors_, (plugged.embedding_, plugged.ridge_scores_), strict=True):
        np.testing.assert_array_equal(transformer._fit_X, rows)
    with pytest.raises(ValueError, match="12"):
        fit(X, Y, neighbors=KNeighborsTransformer(n_neighbors=9))


def test_one_class_column_per_class(data):
    X, _, new = data
    names = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])].astype(object)
    names[45:] = -1
    model = fit(X, names)
    scores = rank_scores(model, new)
    assert list(model.classes_) == ["high", "low", "mid"]
    np.testing.assert_array_equal(model.predict(new), model.classes_[np.argmax(scores, axis=1)])
    np.testing.assert_array_equal(model.decision_function(new), scores)
    proba = model.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.flip_rate_ == 0
    clipped = np.clip(scores, 1 / 90, 1 - 1 / 90)
    np.testing.assert_allclose(proba, clipped / clipped.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(fit(X, names, threshold="prior").predict(new), model.predict(new))


def test_two_classes_have_one_decision(data):
    X, Y, new = data
    y = np.where(Y[:, 0] == -1, -1, Y[:, 0] + 3)
    model = fit(X, y)
    assert model.decision_function(new).shape == (30,)
    np.testing.assert_array_equal(model.predict(new), np.where(model.decision_function(new) > 0, 4, 3))


# ---------------------------------------------------------------- invariances


@pytest.mark.usefixtures("rows_as_they_stand")
def test_without_shrinkage_a_rotation_does_not_matter(data, rng):
    X, Y, new = data
    Q, _ = np.linalg.qr(rng.standard_normal((12, 12)))
    model = fit(X, Y, shrinkage=0.0)
    turned = fit(X @ Q, Y, shrinkage=0.0)
    np.testing.assert_allclose(rank_scores(turned, new @ Q), rank_scores(model, new), atol=1e-7)


def test_flip_scores_are_in_0_to_1_where_all_neighbours_have_the_label(rng):
    """Weights of 1/n that are added can exceed 1 by rounding."""
    for n_samples in range(20, 90, 3):
        X = rng.standard_normal((n_samples, 4))
        Y = np.column_stack([np.ones(n_samples, int), X[:, 0] > 0])
        scores = ResidualPropagation(n_estimators=0, n_neighbors=6).fit(X, Y).flip_scores_
        assert scores.min() >= 0
        assert scores.max() <= 1


def test_scale_of_all_and_order_of_labels_do_not_matter(data, rng):
    X, Y, new = data
    scores = rank_scores(fit(X, Y), new)
    np.testing.assert_allclose(rank_scores(fit(64.0 * X, Y), 64.0 * new), scores, atol=1e-9)
    order = rng.permutation(4)
    np.testing.assert_allclose(rank_scores(fit(X, Y[:, order]), new), scores[:, order], atol=1e-9)


def test_order_of_rows_does_not_matter_up_to_the_folds(data, rng, monkeypatch):
    """With as many folds as labelled rows the folds are the same rows in any order."""
    monkeypatch.setattr("nmlsdr._estimators._shrinkage.N_SPLITS", 45)
    X, Y, new = data
    order = rng.permutation(len(X))
    model = fit(X, Y)
    shuffled = fit(X[order], Y[order])
    np.testing.assert_allclose(rank_scores(shuffled, new), rank_scores(model, new), atol=1e-7)
    np.testing.assert_allclose(shuffled.flip_scores_, model.flip_scores_[order], atol=1e-7)


@pytest.mark.usefixtures("rows_as_they_stand")
def test_float32_rows_give_a_float32_embedding(data):
    X, Y, new = data
    single = fit(X.astype(np.float32), Y)
    assert single.components_.dtype == single.embedding_.dtype == np.float32
    assert single.coef_.dtype == single.propagated_errors_.dtype == np.float64
    difference = np.abs(rank_scores(single, new.astype(np.float32)) - rank_scores(fit(X, Y), new))
    assert np.median(difference) < 1e-4  # a neighbour may change places with the next


def test_a_large_offset_costs_few_digits(data):
    X, Y, new = data
    shifted = fit(X + 1e5, Y, shrinkage=0.0)
    np.testing.assert_allclose(rank_scores(shifted, new + 1e5), rank_scores(fit(X, Y, shrinkage=0.0), new), atol=1e-6)


@pytest.mark.filterwarnings("ignore:.* lies? in components of the graph without a labelled row")
@pytest.mark.parametrize("levels", [3, 4, 5])
def test_equally_distant_rows_are_neighbours_alike_in_any_storage(rng, levels, tmp_path):
    """Whole numbers: dense and CSR rows, threads, a row alone and a model file leave a tie a tie."""
    X, new = (rng.integers(0, levels, (n, 6)).astype(float) for n in (400, 60))
    Y = (X[:, :3] + 1.5 * rng.normal(size=(400, 3)) > levels / 2).astype(int)
    Y[200:] = -1
    model = fit(X, Y)
    expected = rank_scores(model, new)
    from_csr = fit(sparse.csr_array(X), Y, n_jobs=2)
    np.testing.assert_allclose(rank_scores(from_csr, sparse.csr_array(new)), expected, atol=1e-6)
    np.testing.assert_allclose([rank_scores(model, row[None])[0] for row in new], expected, atol=1e-12)
    save_model(tmp_path / "model.skops", model)
    np.testing.assert_array_equal(rank_scores(load_model(tmp_path / "model.skops"), new), expected)


def test_rounding_keeps_its_step(monkeypatch):
    """Of the largest entry, whose rounding to the next power of two doubles the step; a row is a block here."""
    monkeypatch.setattr(_moments, "_BLOCK_VALUES", 2)
    for largest in (1.0, 0.75, 1 - 1e-12, 1e-300, 0.0):
        rows, step = rounded(np.array([[largest, largest / 3]] * 3))
        again, same = rounded(rows.copy())
        assert same == step
        np.testing.assert_array_equal(again, rows)
        assert np.abs(rows - [[largest, largest / 3]]).max() <= 0.75 * step <= max(largest, 1) * 2.0**-27
        assert (rows / step == np.rint(rows / step)).all()


def test_the_step_of_rounding_is_that_of_the_largest_magnitude():
    """2^-28 of the next power of two above it, also if rounding brings the largest entry there."""
    for rows, power in (([-3.0, 1.0], 2), ([3.0, -9.0], 4), ([4.0 - 2.0**-40, 0.0], 3), ([0.0, 0.0], 0)):
        multiples, step = rounded(np.array([rows]))
        assert step == 2.0 ** (power - 28)
        np.testing.assert_array_equal(multiples, np.rint(np.array([rows]) / step) * step)


# ---------------------------------------------------------------- input that says little


@pytest.mark.parametrize("l", [1, 2, 3, 4])
@pytest.mark.filterwarnings("ignore:One labelled row:UserWarning")
@pytest.mark.filterwarnings("ignore:No feature depends:UserWarning")
@pytest.mark.filterwarnings("ignore:.* lies? in components of the graph:UserWarning")
@pytest.mark.filterwarnings("ignore:.* no known 0")
def test_few_labelled_rows_give_a_result(data, l):
    X, Y, new = data
    Y = Y.copy()
    Y[l:] = -1
    for b in ("cv", 0.0, 1.0):
        model = fit(X, Y, shrinkage=b)
        assert np.isfinite(rank_scores(model, new)).all()
        assert np.isfinite(model.flip_scores_).all()


@pytest.mark.filterwarnings("ignore:.* lies? in components of the graph without a labelled row")
@pytest.mark.filterwarnings("ignore:.* no known 0")
def test_one_labelled_row_causes_a_warning(data):
    X, Y, _ = data
    Y = Y.copy()
    Y[1:] = -1
    Y[0] = 1
    with pytest.warns(UserWarning, match="One labelled row cannot be left out"):
        fit(X, Y)


@pytest.mark.parametrize("threshold", [0.5, "prior"])
def test_a_label_without_a_positive_is_never_predicted_with_a_warning(data, threshold):
    X, Y, new = data
    wider = np.column_stack([Y, np.where(Y[:, 0] == -1, -1, 0)])
    with pytest.warns(UserWarning, match="1 of 5 labels is never predicted"):
        model = fit(X, wider, threshold=threshold)
    assert not model.predict(new)[:, 4].any()
    np.testing.assert_allclose(rank_scores(model, new)[:, 4], 0.0, atol=1e-12)
    np.testing.assert_allclose(rank_scores(model, new)[:, :4], rank_scores(fit(X, Y), new), atol=1e-9)


def test_rare_labels_that_propagation_outvotes_are_fitted_with_one_warning(rng):
    X = rng.standard_normal((60, 5))
    Y = np.eye(60, 2, dtype=int)
    with pytest.warns(UserWarning, match="rounded, are the same on all rows") as caught_warnings:
        model = ResidualPropagation(threshold=0.0).fit(X, Y)
    assert len(caught_warnings) == 1
    assert not model.transduction_.any()
    assert model.transform(X).shape == (60, 2)
    assert model.predict(X).any(axis=0).all()


def test_constant_features_change_nothing(data):
    X, Y, new = data
    wider, wider_new = (np.column_stack([part, np.full(len(part), 0.1), np.zeros(len(part))]) for part in (X, new))
    model = fit(wider, Y, shrinkage=1.0)
    assert (model.feature_weights_[12:] == 0).all()
    np.testing.assert_allclose(rank_scores(model, wider_new), rank_scores(fit(X, Y, shrinkage=1.0), new), atol=1e-9)
    with pytest.raises(ValueError, match="show no dependence"):
        fit(np.ones((90, 3)), Y)


@pytest.mark.filterwarnings("ignore:.* no known 0")
def test_no_feature_above_chance_gives_a_result_with_a_warning(rng):
    X = rng.standard_normal((40, 5))
    Y = np.full((40, 2), -1)
    Y[:8] = [1, 0]  # labels that do not vary
    with (
        pytest.warns(UserWarning, match="No feature depends on the labels more than expected by chance"),
        pytest.warns(UserWarning, match="1 of 2 labels is never predicted"),
    ):
        model = fit(X, Y, shrinkage=1.0)
    np.testing.assert_array_equal(model.feature_weights_, np.ones(5))
    assert not model.coef_.any()
    np.testing.assert_array_equal(model.intercept_, [1, 0])


@pytest.mark.usefixtures("rows_as_they_stand")
def test_more_features_than_labelled_rows(rng):
    X, Y = draw_binary(rng, 60, 60, 3)
    Y[20:] = -1
    known = Y[:, 0] != -1
    twin = reference.residual_propagation(X, np.where(Y == -1, 0, Y), known, X[:10] + 0.01, 3, 6, weight=1.0)
    np.testing.assert_allclose(rank_scores(fit(X, Y), X[:10] + 0.01), twin["scores"], atol=1e-7)


@pytest.mark.filterwarnings("ignore:50 of 150 rows lie in components:UserWarning")  # as the rows are drawn
def test_sparse_rows_are_fitted_as_their_dense_columns_that_are_not_constant(rng):
    """As their dense columns that hold anything: the others are constant."""
    X = sparse.random_array((150, 50_000), density=2e-3, random_state=rng, format="csr")
    Y = (rng.random((150, 3)) < 0.4).astype(int)
    Y[100:] = -1
    model = fit(X, Y, shrinkage=1.0)
    assert model.components_.shape == (3, 50_000)
    used = np.flatnonzero(np.diff(X.tocsc().indptr))
    dense = fit(X[:, used].toarray(), Y, shrinkage=1.0)
    np.testing.assert_allclose(rank_scores(model, X[:20]), rank_scores(dense, X[:20, used].toarray()), atol=1e-8)
    assert np.isfinite(rank_scores(fit(X, Y, threshold="prior"), X[:20])).all()


@pytest.mark.parametrize(
    ("n", "D", "C", "share"),
    [(3000, 30, 4, 0.3), (300, 5000, 4, 0.3), (3000, 20, 4, 0.9), (1000, 20, 100, 0.3), (600, 400, 4, 0.8)],
    ids=["tall", "wide", "mostly labelled", "many labels", "square"],
)
@pytest.mark.filterwarnings("ignore:.* labels (is|are) never predicted:UserWarning")
def test_memory_is_that_of_the_rows_the_smaller_gram_matrix_and_the_labels(rng, n, D, C, share):
    """Up to a factor: n x n, D x D or l x l beside it, or a dense copy for each pair of strengths, are beyond it."""
    X = rng.standard_normal((n, D))
    Y = (X[:, :1] + rng.standard_normal((n, C)) > 0).astype(int)
    Y[rng.random(n) >= share] = -1
    smaller = min(int((Y[:, 0] != -1).sum()), D)
    tracemalloc.start()
    try:
        ResidualPropagation(n_jobs=2, **PLAIN).fit(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 8 * (n * D + smaller**2 + 2 * n * C + n * 10)  # E and the ridge regression's scores are kept


def test_a_vote_of_one_half_cannot_be_wrong(data):
    X, Y, _ = data
    Y = Y.astype(float)
    Y[:6, 1] = 0.5
    scores = fit(X, Y).flip_scores_
    assert not scores[:6, 1].any()
    assert (scores[:6, [0, 2, 3]] > 0).sum() > 9  # of 18; a score of 0 is one that reaches the label itself


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("shrinkage", 2),
        ("ridge", 0),
        ("random_state", "x"),
        ("n_estimators", -1),
        ("residual_weight", 1.5),
        ("alpha_labeled", 1),
    ],
)
def test_bad_parameters_raise_an_error_that_names_them_and_their_value(data, parameter, value):
    with pytest.raises(ValueError, match=rf"^{parameter}\b.*, got '?{value}"):
        fit(data[0], data[1], **{parameter: value})
