"""The exact search as a transformer: scikit-learn's semantics, and the estimators that take its graph."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline

from nmlsdr import ExactNeighborsTransformer, MLkNN, MultiLabelPropagation, graph


def lists(matrix, k):
    assert matrix.format == "csr"
    assert (np.diff(matrix.indptr) == k).all()
    return matrix.data.reshape(-1, k), matrix.indices.reshape(-1, k)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_its_graph_is_that_of_scikit_learn(metric, store, rng):
    X, Q = rng.standard_normal((80, 6)), rng.standard_normal((300, 6))
    ours = ExactNeighborsTransformer(n_neighbors=4, metric=metric)
    theirs = KNeighborsTransformer(n_neighbors=4, metric=metric, algorithm="brute")
    pairs = [(ours.fit_transform(store(X)), theirs.fit_transform(X))]
    pairs += [(ours.transform(store(some)), theirs.transform(some)) for some in (X, Q[:3], Q[:3], Q)]
    for found, expected in pairs:
        assert found.shape == expected.shape
        assert type(found) is type(expected)
        for a, b in zip(lists(found, 5), lists(expected, 5), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-7)
    assert (pairs[0][0].diagonal() == 0).all()
    np.testing.assert_array_equal(pairs[0][0].indices.reshape(-1, 5)[:, 0], np.arange(80))
    np.testing.assert_array_equal(ours.get_feature_names_out()[:1], ["exactneighborstransformer0"])


def test_the_bits_are_those_of_the_search(rng):
    X, Q = rng.integers(0, 3, (50, 3)).astype(float), rng.standard_normal((7, 3))
    transformer = ExactNeighborsTransformer(n_neighbors=6).fit(X)
    for _ in range(3):  # the third time with prepared rows
        for found, expected in zip(lists(transformer.transform(Q), 7), graph.kneighbors(X, 7, queries=Q), strict=True):
            np.testing.assert_array_equal(found, expected)
    distances, rows = lists(transformer.fit_transform(X), 7)
    np.testing.assert_array_equal(rows[:, 0], np.arange(50))  # itself first, whatever its duplicates
    for found, expected in zip((distances[:, 1:], rows[:, 1:]), graph.kneighbors(X, 6), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_estimators_accept_it_like_that_of_scikit_learn(rng):
    X, Q = rng.standard_normal((90, 5)), rng.standard_normal((11, 5))
    Y = (X[:, :3] > 0).astype(int)
    for make in (lambda k: KNeighborsClassifier(k, metric="precomputed"), lambda k: MLkNN(k, neighbors="precomputed")):
        ours = make_pipeline(ExactNeighborsTransformer(n_neighbors=8), make(7)).fit(X, Y)
        theirs = make_pipeline(KNeighborsTransformer(n_neighbors=8), make(7)).fit(X, Y)
        np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
    embedded = make_pipeline(ExactNeighborsTransformer(n_neighbors=7), Isomap(n_neighbors=7, metric="precomputed"))
    expected = Isomap(n_neighbors=7).fit_transform(X)
    np.testing.assert_allclose(np.abs(embedded.fit_transform(X)), np.abs(expected), atol=1e-6)
    for Estimator in (MLkNN, MultiLabelPropagation):
        exact, plugged = Estimator(6).fit(X, Y), Estimator(6, neighbors=ExactNeighborsTransformer(6)).fit(X, Y)
        np.testing.assert_array_equal(plugged.predict_proba(Q), exact.predict_proba(Q))


def test_it_refuses_more_neighbours_than_rows(rng):
    with pytest.raises(ValueError, match="n_neighbors=5 needs more than 5 samples, got 5"):
        ExactNeighborsTransformer().fit(rng.standard_normal((5, 2)))
