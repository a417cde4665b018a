"""The exact search as a transformer: scikit-learn's semantics, and the estimators that take its graph."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN
from sklearn.manifold import Isomap
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsTransformer,
    RadiusNeighborsClassifier,
    RadiusNeighborsTransformer,
)
from sklearn.pipeline import make_pipeline

from nmlsdr import ExactNeighborsTransformer, MLkNN, MultiLabelPropagation, graph


def lists(matrix, k):
    assert matrix.format == "csr"
    assert (np.diff(matrix.indptr) == k).all()
    return matrix.data.reshape(-1, k), matrix.indices.reshape(-1, k)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_its_graph_is_that_of_scikit_learn(metric, store, rng):
    X = rng.standard_normal((80, 6))
    Q = rng.standard_normal((300, 6))
    ours = ExactNeighborsTransformer(n_neighbors=4, metric=metric)
    theirs = KNeighborsTransformer(n_neighbors=4, metric=metric, algorithm="brute")
    pairs = [(ours.fit_transform(store(X)), theirs.fit_transform(X))]
    pairs += [(ours.transform(store(query_rows)), theirs.transform(query_rows)) for query_rows in (X, Q[:3], Q[:3], Q)]
    for graph_of_ours, expected in pairs:
        assert graph_of_ours.shape == expected.shape
        assert type(graph_of_ours) is type(expected)
        for a, b in zip(lists(graph_of_ours, 5), lists(expected, 5), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-7)
    assert (pairs[0][0].diagonal() == 0).all()
    np.testing.assert_array_equal(pairs[0][0].indices.reshape(-1, 5)[:, 0], np.arange(80))
    np.testing.assert_array_equal(ours.get_feature_names_out()[:1], ["exactneighborstransformer0"])


def test_the_bits_are_those_of_the_search(rng):
    X = rng.integers(0, 3, (50, 3)).astype(float)
    Q = rng.standard_normal((7, 3))
    transformer = ExactNeighborsTransformer(n_neighbors=6).fit(X)
    for _ in range(3):  # the third time with prepared rows
        for values, expected in zip(lists(transformer.transform(Q), 7), graph.kneighbors(X, 7, queries=Q), strict=True):
            np.testing.assert_array_equal(values, expected)
    distances, rows = lists(transformer.fit_transform(X), 7)
    np.testing.assert_array_equal(rows[:, 0], np.arange(50))  # itself first, whatever its duplicates
    for values, expected in zip((distances[:, 1:], rows[:, 1:]), graph.kneighbors(X, 6), strict=True):
        np.testing.assert_array_equal(values, expected)


def test_estimators_accept_it_like_that_of_scikit_learn(rng):
    X = rng.standard_normal((90, 5))
    Q = rng.standard_normal((11, 5))
    Y = (X[:, :3] > 0).astype(int)
    for make in (lambda k: KNeighborsClassifier(k, metric="precomputed"), lambda k: MLkNN(k, neighbors="precomputed")):
        ours = make_pipeline(ExactNeighborsTransformer(n_neighbors=8), make(7)).fit(X, Y)
        theirs = make_pipeline(KNeighborsTransformer(n_neighbors=8), make(7)).fit(X, Y)
        np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
    embedded = make_pipeline(ExactNeighborsTransformer(n_neighbors=7), Isomap(n_neighbors=7, metric="precomputed"))
    expected = Isomap(n_neighbors=7).fit_transform(X)
    np.testing.assert_allclose(np.abs(embedded.fit_transform(X)), np.abs(expected), atol=1e-6)
    for Estimator in (MLkNN, MultiLabelPropagation):
        exact = Estimator(6).fit(X, Y)
        plugged = Estimator(6, neighbors=ExactNeighborsTransformer(6)).fit(X, Y)
        np.testing.assert_array_equal(plugged.predict_proba(Q), exact.predict_proba(Q))


@pytest.mark.parametrize("options", [{}, {"radius": 90.0}, {"metric": "cosine"}])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint16", "float16"])
def test_small_types_are_stored_as_float32_with_the_bits_of_float64(dtype, options, rng):
    X = rng.integers(0, 2 if dtype == "bool" else 100, (80, 7)).astype(dtype)
    queries = rng.integers(0, 2 if dtype == "bool" else 100, (9, 7)).astype(dtype)
    small = ExactNeighborsTransformer(4, **options)
    wide = ExactNeighborsTransformer(4, **options)
    fitted = small.fit_transform(X), wide.fit_transform(X.astype(np.float64))
    assert small.training_rows_.dtype == np.float32
    new = small.transform(queries), wide.transform(queries.astype(np.float64))
    mixed = small.transform(queries + 0.5), wide.transform(queries + 0.5)
    for graph_of_ours, expected in (fitted, new, mixed):
        assert expected.nnz > 0
        for part in ("data", "indices", "indptr"):
            assert getattr(graph_of_ours, part).tobytes() == getattr(expected, part).tobytes()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_with_a_radius_its_graph_is_that_of_scikit_learn(metric, mode, rng):
    X = rng.standard_normal((80, 6))
    X[7] = X[3]
    Q = np.concatenate([X[:9], rng.standard_normal((30, 6))])
    radius = 1.7 if metric == "euclidean" else 0.4
    ours = ExactNeighborsTransformer(radius=radius, metric=metric, mode=mode)
    theirs = RadiusNeighborsTransformer(radius=radius, metric=metric, mode=mode, algorithm="brute")
    pairs = [(ours.fit_transform(X), theirs.fit_transform(X)), (ours.transform(Q), theirs.transform(Q))]
    for graph_of_ours, expected in pairs:
        assert type(graph_of_ours) is type(expected)
        np.testing.assert_array_equal(graph_of_ours.indptr, expected.indptr)
        np.testing.assert_allclose(graph_of_ours.toarray(), expected.toarray(), atol=1e-7)
    assert (pairs[0][0].indices[pairs[0][0].indptr[:-1]] == np.arange(80)).all()  # each row comes first


@pytest.mark.parametrize("radius", [0.0, 0.9, 1.0, 2.5, np.inf])
def test_dbscan_and_a_radius_classifier_accept_it(radius, rng):
    X = np.concatenate([rng.integers(0, 4, (60, 2)), 9 + rng.integers(0, 4, (60, 2))]).astype(float)
    y = np.arange(120) // 60
    graph_of_rows = ExactNeighborsTransformer(radius=radius).fit_transform(X)
    before = graph_of_rows.copy()
    for eps in {radius, radius / 2}:
        if not 0 < eps < np.inf:
            continue
        ours = DBSCAN(eps=eps, min_samples=4, metric="precomputed").fit(graph_of_rows)
        theirs = DBSCAN(eps=eps, min_samples=4, algorithm="brute").fit(X)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)
    assert (graph_of_rows != before).nnz == 0
    finite_radius = min(radius, 1e3)
    neighbors = ExactNeighborsTransformer(radius=radius)
    ours = make_pipeline(
        neighbors, RadiusNeighborsClassifier(finite_radius, metric="precomputed", outlier_label=1)
    ).fit(X, y)
    theirs = RadiusNeighborsClassifier(finite_radius, outlier_label=1, algorithm="brute").fit(X, y)
    Q = np.concatenate([X[::7], X[::5] + 0.5])
    np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))


def test_a_radius_that_cannot_be_is_refused():
    for options, match in (
        ({"radius": -1}, "radius must be a number of 0 or more, got -1"),
        ({"radius": 1, "metric": "sqeuclidean"}, "takes no radius"),
    ):
        with pytest.raises(ValueError, match=match):
            ExactNeighborsTransformer(**options).fit([[0.0], [1.0]])


@pytest.mark.parametrize(("metric", "same"), [("l2", "euclidean"), ("minkowski", "euclidean"), ("sqeuclidean", None)])
@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_scikit_learns_names_of_metrics_and_modes(metric, same, mode, rng):
    X = rng.standard_normal((60, 4))
    Q = rng.standard_normal((9, 4))
    ours = ExactNeighborsTransformer(3, metric=metric, mode=mode)
    theirs = KNeighborsTransformer(n_neighbors=3, metric=metric, mode=mode, algorithm="brute")
    k = 3 + (mode == "distance")
    pairs = [(ours.fit_transform(X), theirs.fit_transform(X))]
    pairs += [(ours.transform(query_rows), theirs.transform(query_rows)) for query_rows in (X, Q, Q, Q)]
    pairs += [
        (ours.kneighbors_graph(*arguments, mode=mode), theirs.kneighbors_graph(*arguments, mode=mode))
        for arguments in ((), (Q,), (Q, 2), (None, 59))
    ]
    for i, (graph_of_ours, expected) in enumerate(pairs):
        assert graph_of_ours.shape == expected.shape
        np.testing.assert_allclose(graph_of_ours.toarray(), expected.toarray(), atol=1e-7)
        if i < 5:
            lists(graph_of_ours, k)
    if same:
        plain = ExactNeighborsTransformer(3, metric=same, mode=mode)
        np.testing.assert_array_equal(ours.transform(Q).toarray(), plain.fit(X).transform(Q).toarray())


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_kneighbors_has_the_bits_of_the_search(metric, rng):
    X = rng.integers(0, 3, (50, 3)).astype(float)
    Q = rng.standard_normal((7, 3))
    transformer = ExactNeighborsTransformer(6, metric=metric).fit(X)
    for lists_of_ours, expected in [
        (transformer.kneighbors(), graph.kneighbors(X, 6, metric=metric)),
        (transformer.kneighbors(Q), graph.kneighbors(X, 6, queries=Q, metric=metric)),
        (transformer.kneighbors(Q, 50), graph.kneighbors(X, 50, queries=Q, metric=metric)),
        (transformer.kneighbors(X, n_neighbors=2), graph.kneighbors(X, 2, queries=X, metric=metric)),
    ]:
        for a, b in zip(lists_of_ours, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(transformer.kneighbors(Q, return_distance=False), transformer.kneighbors(Q)[1])


def test_one_neighbour_in_mode_connectivity_is_the_row_itself():
    connectivity = ExactNeighborsTransformer(1, mode="connectivity").fit_transform([[0.0], [0.0], [1.0]])
    np.testing.assert_array_equal(connectivity.toarray(), np.eye(3))


def test_as_many_neighbours_as_rows_where_a_row_is_its_own(rng):
    """SMOTE fits on the rows of one class, which may be no more than the neighbours that it asks for."""
    X = rng.standard_normal((5, 2))
    transformer = ExactNeighborsTransformer(5).fit(X)
    assert transformer.kneighbors(X, return_distance=False).shape == (5, 5)
    assert (ExactNeighborsTransformer(5, mode="connectivity").fit_transform(X).toarray() == 1).all()
    for refused in (lambda: transformer.transform(X), lambda: transformer.fit_transform(X), transformer.kneighbors):
        with pytest.raises(ValueError, match="n_neighbors=5 needs more than 5 samples, got 5"):
            refused()
    with pytest.raises(ValueError, match="n_neighbors=6 needs at least 6 samples, got 5"):
        transformer.kneighbors(X, 6)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"metric": "l1"}, 'metric must be "euclidean", "l2", "minkowski", "sqeuclidean".* got .l1.'),
        ({"mode": "both"}, 'mode must be "distance" or "connectivity", got .both.'),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1, got 0"),
    ],
)
def test_it_refuses_other_parameters(parameters, words, rng):
    X = rng.standard_normal((9, 2))
    with pytest.raises(ValueError, match=words):
        ExactNeighborsTransformer(**parameters).fit(X)
    if "mode" in parameters:
        with pytest.raises(ValueError, match=words):
            ExactNeighborsTransformer().fit(X).kneighbors_graph(X, mode="both")


@pytest.mark.slow
def test_scikit_learns_own_tests_pass_with_it_in_place_of_theirs(tmp_path):
    """All its tests of `KNeighborsTransformer` but that of a metric for rows with NaN."""
    (tmp_path / "in_place.py").write_text(
        "import sklearn.neighbors as theirs, nmlsdr as ours\n"
        "theirs.KNeighborsTransformer = ours.ExactNeighborsTransformer\n"
    )
    tests = [
        "neighbors.tests.test_graph",
        "neighbors.tests.test_neighbors_pipeline",
        "neighbors.tests.test_neighbors",
        "manifold.tests.test_isomap",
    ]
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "in_place", "-p", "no:cacheprovider", "-c", os.devnull]
    test_names = "test_graph or pipeline or test_pipeline_with_nearest_neighbors_transformer"
    modules = [f"sklearn.{name}" for name in tests]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = subprocess.run(
        [*command, "--pyargs", *modules, "-k", test_names],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", process.stdout)[1]) >= 12
