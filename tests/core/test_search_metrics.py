"""What every metric of the search promises, whatever METRICS holds; test_cosine.py has the angles by hand."""

import logging
from typing import get_args

import numpy as np
import pytest
from scipy import sparse

from nmlsdr import ExactNeighborsTransformer, graph
from nmlsdr._checks.arguments import Metric
from nmlsdr._search import choose_proposed, squared_neighbors
from nmlsdr._search.metrics import METRIC_NAMES, METRICS, ZERO_ROW, search_metric

N_SAMPLES = 60
K = 5


@pytest.fixture
def X(rng):
    rows = rng.normal(size=(N_SAMPLES, 12)) * rng.integers(0, 2, (N_SAMPLES, 12))
    rows[7] = 0.0
    rows[8] = rows[9]
    return rows


def distances_of_vectors(metric, X):
    """All distances, as the metric's vectors and `finish` define them."""
    vectors = METRICS[metric].prepare(X, 1)
    squared = ((vectors.values[:, None] - vectors.values[None]) ** 2).sum(axis=2)
    squared[vectors.remote] = squared[:, vectors.remote] = ZERO_ROW
    np.fill_diagonal(squared, 0.0)
    return METRICS[metric].finish(squared)


def test_every_name_of_the_annotation_has_a_metric():
    assert tuple(METRICS) == get_args(Metric)
    assert all(METRICS[name].name == name == METRIC_NAMES[name] for name in METRICS)
    assert set(METRIC_NAMES.values()) == set(METRICS)
    *names, last = (f'"{name}"' for name in METRICS)
    with pytest.raises(ValueError, match=f"metric must be {', '.join(names)} or {last}, got 'cosin'"):
        search_metric("cosin")


@pytest.mark.parametrize("metric", METRICS)
def test_the_search_finds_the_distances_that_a_metric_defines(metric, X):
    expected = distances_of_vectors(metric, X)
    np.fill_diagonal(expected, np.inf)
    distances, indices = graph.kneighbors(X, K, metric=metric)
    np.testing.assert_allclose(distances, np.sort(expected)[:, :K], atol=1e-12)
    np.testing.assert_allclose(distances, np.take_along_axis(expected, indices, 1), atol=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("metric", METRICS)
def test_all_searches_have_the_same_bits(metric, storage, X):
    rows = storage(X)
    expected = graph.kneighbors(rows, K, queries=rows, metric=metric)
    by_index = graph.ExactIndex(rows, metric=metric).query(rows, K)
    complete = sparse.csr_array(np.ones((N_SAMPLES, N_SAMPLES)))
    squared, indices = choose_proposed(rows, complete, K, queries=rows, metric=metric)
    by_proposals = METRICS[metric].finish(squared), indices
    for result in (by_index, by_proposals):
        np.testing.assert_array_equal(result[0], expected[0])
        np.testing.assert_array_equal(result[1], expected[1])
    radius = float(np.median(expected[0]))
    within = graph.radius_neighbors(rows, radius, queries=rows, metric=metric)
    values = distances_of_vectors(metric, X)
    counts = np.diff(within.indptr)
    assert (
        np.abs(counts - (values <= radius).sum(axis=1)) <= 1
    ).all()  # a distance equal to the radius but for rounding
    for i in range(N_SAMPLES):
        n = min(K, counts[i])
        np.testing.assert_array_equal(within.data[within.indptr[i] :][:n], expected[0][i, :n])


@pytest.mark.parametrize("metric", METRICS)
def test_finish_may_write_into_the_squared_distances(metric):
    squared = np.array([0.0, 0.5, 2.0])
    distances = METRICS[metric].finish(squared.copy())
    assert METRICS[metric].finish(squared, out=squared) is squared
    np.testing.assert_array_equal(squared, distances)


@pytest.mark.parametrize("metric", METRICS)
def test_preparing_rows_leaves_them_as_they_are(metric, X):
    original = X.copy()
    METRICS[metric].prepare(X, 2)
    np.testing.assert_array_equal(X, original)


@pytest.mark.parametrize("alias", sorted(METRIC_NAMES))
def test_names_of_scikit_learn_mean_a_metric_in_every_prediction(alias, X):
    """The third small prediction searches prepared rows."""
    transformer = ExactNeighborsTransformer(K, metric=alias).fit(X)
    expected, _ = squared_neighbors(X, K, queries=X[:2], metric=METRIC_NAMES[alias])
    if alias != "sqeuclidean":
        expected = METRICS[METRIC_NAMES[alias]].finish(expected)
    for _ in range(3):
        np.testing.assert_array_equal(transformer.kneighbors(X[:2])[0], expected)


def test_structure_is_looked_for_in_the_vectors_that_a_metric_compares(rng, caplog):
    """Rows of any length in two directions are two tight groups by angle, and others by distance."""
    n = 4200
    directions = np.repeat(np.eye(2, 12), n // 2, axis=0) + 1e-6 * rng.normal(size=(n, 12))
    X = directions * rng.lognormal(sigma=2.0, size=(n, 1))
    units = METRICS["cosine"].prepare(X, 1).values
    with caplog.at_level(logging.DEBUG, "nmlsdr"):
        by_angle = squared_neighbors(X, K, metric="cosine")
        of_units = squared_neighbors(units, K)
    assert ["by groups" in message and "tight groups that are far apart" in message for message in caplog.messages] == [
        True
    ] * 2
    for result, expected in zip(by_angle, of_units, strict=True):
        np.testing.assert_array_equal(result, expected)
