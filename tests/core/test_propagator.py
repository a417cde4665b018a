"""MultiLabelPropagation: the closed form on its own graph, the review list, new rows by T's row."""

import numpy as np
import pytest
import reference
from scipy import sparse

from nmlsdr import MultiLabelPropagation, metrics
from nmlsdr.graph import neighbor_graph


def groups(rng, n=120, flipped=0.1, hidden=0.3):
    """Two labels that follow two groups of rows, some flipped, some rows unlabelled."""
    group = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 3)) + 4.0 * group[:, None]
    truth = np.column_stack([group == 0, group == 1]).astype(int)
    flips = rng.random(truth.shape) < flipped
    y = np.where(flips, 1 - truth, truth)
    y[rng.random(n) < hidden] = -1
    return X, y, truth


@pytest.mark.parametrize("edge_weights", ["binary", "rbf"])
def test_attributes_follow_from_the_closed_form(rng, edge_weights):
    X, y, _ = groups(rng)
    model = MultiLabelPropagation(5, edge_weights=edge_weights, tol=1e-12).fit(X, y)
    labeled = y[:, 0] != -1
    known_labels = np.where(labeled[:, None], y, 0)
    W = reference.neighbor_graph(X, 5, edge_weights)
    F = reference.propagate(W, known_labels, np.where(labeled, 0.6, 0.999), labeled)
    np.testing.assert_allclose(model.label_distributions_, F, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(model.transduction_, F > 0.5)
    np.testing.assert_array_equal(model.label_flips_, ((F > 0.5) != known_labels) & labeled[:, None])
    assert model.label_flips_.any()
    assert model.label_flips_.dtype == bool
    assert not model.label_flips_[~labeled].any()
    np.testing.assert_allclose(model.flip_scores_, np.abs(F - known_labels) * labeled[:, None], rtol=0, atol=1e-10)
    assert (model.flip_scores_[model.label_flips_] >= 0.5).all()
    assert (model.propagation_solver_, model.n_unreached_, model.n_neighbors_) == ("cg", 0, 5)
    assert model.residual_ <= 1e-12


def test_flipped_labels_are_found(rng):
    X, y, truth = groups(rng, n=400)
    model = MultiLabelPropagation(10, alpha_labeled=0.9).fit(X, y)
    labeled = y[:, 0] != -1
    wrong = (y != truth) & labeled[:, None]
    assert wrong.sum() > 20
    flips = model.label_flips_
    assert (flips & wrong).sum() > 0.9 * wrong.sum()
    assert (flips & wrong).sum() > 0.9 * flips.sum()
    first = np.argsort(-model.flip_scores_, axis=None)[: wrong.sum()]
    assert wrong.ravel()[first].mean() > 0.9
    assert metrics.hamming_loss(truth, model.transduction_.astype(float)) < 0.02


def test_new_rows_are_weighted_means_over_their_neighbours(rng):
    X, y, _ = groups(rng)
    queries = rng.standard_normal((7, 3)) + 2.0
    model = MultiLabelPropagation(4).fit(X, y)
    degree = neighbor_graph(X, 4).sum(axis=1)
    expected = []
    for x in queries:
        nearest = np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")[:4]
        weight = degree[nearest] ** -0.5
        expected.append(weight @ model.label_distributions_[nearest] / weight.sum())
    proba = model.predict_proba(queries)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.predict(queries), proba > 0.5)


def test_prediction_by_blocks_changes_no_bit(rng, monkeypatch):
    X, y, _ = groups(rng)
    model = MultiLabelPropagation(4).fit(X, y)
    whole = model.predict_proba(X)
    monkeypatch.setattr("nmlsdr._estimators._classifier._QUERY_ROWS", 7)
    assert model.predict_proba(X).tobytes() == whole.tobytes()


def test_given_graph_and_alpha(rng):
    X, y, _ = groups(rng, n=30, hidden=0.0)
    W = sparse.lil_array(neighbor_graph(X, 3))
    W[4, :] = W[:, 4] = 0  # an isolated row
    alpha = rng.random(30)
    alpha[:10] = 0
    model = MultiLabelPropagation(3, tol=1e-12).fit(X, y, graph=sparse.csr_array(W), alpha=alpha)
    F = reference.propagate(W.toarray(), y, alpha)
    np.testing.assert_allclose(model.label_distributions_, F, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(model.label_distributions_[:10], y[:10])
    assert np.isfinite(model.predict_proba(X)).all()
    nobody = MultiLabelPropagation(3).fit(X, y, graph=sparse.csr_array((30, 30)))
    np.testing.assert_allclose(nobody.label_distributions_, 0.4 * y)
    assert np.isfinite(nobody.predict_proba(X)).all()


def test_a_graph_that_does_not_fit_the_rows_is_refused(rng):
    X, y, _ = groups(rng, n=30)
    with pytest.raises(ValueError, match=r"cannot split a graph.*neighbors"):
        MultiLabelPropagation().fit(X, y, graph=sparse.identity(20))


def test_an_isolated_row_counts_like_the_row_of_the_smallest_degree(rng):
    """A star of three, a pair, and a row alone: degrees 0.9, 0.3, 0.3, 0.3, 0.6, 0.6 and none."""
    X = np.arange(7.0)[:, None]
    W = np.zeros((7, 7))
    W[0, 1:4] = W[1:4, 0] = 0.3
    W[4, 5] = W[5, 4] = 0.6
    y = rng.integers(0, 2, (7, 2))
    model = MultiLabelPropagation(3).fit(X, y, graph=W)
    np.testing.assert_allclose(model.row_weights_, np.array([0.9, 0.3, 0.3, 0.3, 0.6, 0.6, 0.3]) ** -0.5, rtol=1e-14)
    W[6, 5] = W[5, 6] = 0.25  # now the last row has the smallest degree of its own
    model.fit(X, y, graph=W)
    np.testing.assert_allclose(model.row_weights_[5:], np.array([0.85, 0.25]) ** -0.5, rtol=1e-14)


def test_no_prediction_is_above_1(rng):
    """Soft labels of 1 and weights of every size: each term is at most its weight, and so is each rounded sum."""
    n = 300
    X = rng.random((n, 2))
    W = np.triu(rng.random((n, n)) ** 30, 1)
    W = W + W.T
    y = np.ones((n, 2), int)
    y[:, 1] = rng.random(n) < 0.9
    model = MultiLabelPropagation(10, alpha_labeled=0.0).fit(X, y, graph=W)
    proba = model.predict_proba(rng.random((5000, 2)))
    assert proba.max() == 1.0
    assert (proba[:, 0] == 1.0).all()
