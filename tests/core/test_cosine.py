"""Neighbours by angle: properties first, then the twin to the bit, then the estimators that ask for them."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import attribute, forge
from neighbor_cases import MAKERS, make
from scipy import sparse
from sklearn.metrics.pairwise import cosine_distances
from sklearn.neighbors import KNeighborsTransformer
from sklearn.preprocessing import normalize

import nmlsdr
from nmlsdr import graph
from nmlsdr._search import choose_proposed, squared_neighbors

ESTIMATORS = ("NMLSDR", "SSMLDR", "MultiLabelPropagation", "ResidualPropagation", "MLkNN", "SemiSupervisedMLkNN")
PREDICT = ESTIMATORS[2:]


def assert_same(neighbors, expected):
    np.testing.assert_array_equal(neighbors[1], expected[1])
    np.testing.assert_array_equal(neighbors[0].view(np.int64), expected[0].view(np.int64))


def hard_rows(rng, n=60, d=13):
    """Integers with zero rows (at both ends too), duplicates, copies times powers of two, and opposite rows."""
    X = rng.integers(-2, 3, (n, d)).astype(float)
    X[10:14] = X[3]
    X[20:24] = X[4] * 2.0 ** np.array([[-900], [3], [-7], [400]])
    X[30:33] = -X[5]
    X[[0, 17, 18, n - 1]] = 0.0
    return X


# ---------------------------------------------------------------- properties


@settings(max_examples=40, deadline=None)
@given(n=st.integers(3, 70), d=st.integers(1, 40), k=st.integers(1, 12), seed=st.integers(0, 99))
def test_scaling_rows_by_powers_of_two_changes_nothing(n, d, k, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scaled = X * 2.0 ** rng.integers(-480, 480, (n, 1))
    k = min(k, n - 1)
    assert_same(graph.kneighbors(scaled, k, metric="cosine"), graph.kneighbors(X, k, metric="cosine"))


def test_distances_equal_the_definition_of_the_cosine_distance(rng):
    X = rng.standard_normal((300, 20))
    Q = rng.standard_normal((50, 20))
    apart = cosine_distances(Q, X)
    distances, indices = graph.kneighbors(X, 15, queries=Q, metric="cosine")
    np.testing.assert_array_equal(indices, np.argsort(apart, axis=1)[:, :15])
    np.testing.assert_allclose(distances, np.sort(apart, axis=1)[:, :15], rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", [1, 30, 40])
def test_few_queries_find_rows_whose_squares_underflow(rng, k):
    """Squares of 1e-240 say nothing of a row: it is not ruled out, on the far side of the query either."""
    X = rng.standard_normal((40, 5))
    Q = rng.standard_normal((3, 5))
    X[::2] *= 1e-120
    X[1::4] *= 1e140
    expected = reference.kneighbors(X, k, queries=Q, metric="cosine")
    assert_same(squared_neighbors(X, k, queries=Q, metric="cosine"), expected)


def test_a_row_of_zeros_is_at_distance_one_from_every_row():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [0.0, 3.0]])
    distances, indices = graph.kneighbors(X, 4, metric="cosine")
    assert distances.tolist() == [[1, 1, 1, 1], [1, 1, 1, 2], [1, 1, 1, 1], [1, 1, 1, 2], [1, 1, 1, 1]]
    assert indices.tolist() == [[1, 2, 3, 4], [0, 2, 4, 3], [0, 1, 3, 4], [0, 2, 4, 1], [0, 1, 2, 3]]
    distances, indices = graph.kneighbors(X, 5, queries=[[0.0, 0.0], [0.0, 2.0]], metric="cosine")
    assert distances.tolist() == [[1, 1, 1, 1, 1], [0, 1, 1, 1, 1]]
    assert indices.tolist() == [[0, 1, 2, 3, 4], [4, 0, 1, 2, 3]]
    distances, indices = graph.kneighbors(X[3:], 2, queries=[[0.0, 1.0], [0.0, 0.0], [-2.0, 0.0]], metric="cosine")
    assert (distances.tolist(), indices.tolist()) == ([[0, 1], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 1]])


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize(("n", "d"), [(4, 0), (4, 3), (2, 1)])
def test_rows_of_zeros_have_cosine_distance_1_to_all_rows(storage, n, d):
    distances, indices = graph.kneighbors(storage(np.zeros((n, d))), n - 1, metric="cosine")
    assert (distances == 1).all()
    assert indices.tolist() == [[j for j in range(n) if j != i] for i in range(n)]
    single_entry = np.zeros((n, d))
    single_entry[1:2, :1] = 5.0
    assert (graph.kneighbors(storage(single_entry), n - 1, metric="cosine")[0] == 1).all()


# ---------------------------------------------------------------- the twin, to the bit


@pytest.mark.parametrize("name", MAKERS)
def test_rows_of_every_kind(name):
    X = make(name, (70, 11), 3)
    for k in (1, 9, 69):
        assert_same(squared_neighbors(X, k, metric="cosine"), reference.kneighbors(X, k, metric="cosine"))
    Q = X[5:20][:, ::-1]
    expected = reference.kneighbors(X, 70, queries=Q, metric="cosine")
    assert_same(squared_neighbors(X, 70, queries=Q, metric="cosine"), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [2, 13, 130])
def test_a_few_queries_among_rows_that_a_cosine_does_not_part(d, dtype, rng):
    """Multiples of a few directions: the cosines are equal up to their rounding, the canonical distances are not."""
    X = (rng.standard_normal((5, d))[rng.integers(0, 5, 400)] * rng.uniform(0.5, 3, (400, 1))).astype(dtype)
    X[::50] = 0
    X[7] *= dtype(2.0) ** -120
    Q = np.concatenate([X[:6] * dtype(3), rng.standard_normal((3, d)).astype(dtype), -X[1:3]])
    for k in (1, 5, 120, 400):
        expected = reference.kneighbors(X, k, queries=Q, metric="cosine")
        for n_jobs in (1, 2):
            assert_same(squared_neighbors(X, k, queries=Q, metric="cosine", n_jobs=n_jobs), expected)


def int64_csr(X):
    rows = sparse.csr_array(X)
    rows.indices = rows.indices.astype(np.int64)
    rows.indptr = rows.indptr.astype(np.int64)
    return rows


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": read_only,
    "float32": lambda X: X.astype(np.float32),
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "csr int64": int64_csr,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "explicit zeros": lambda X: sparse.csr_array(
        (X.ravel(), np.tile(np.arange(X.shape[1]), len(X)), np.arange(len(X) + 1) * X.shape[1]), shape=X.shape
    ),
}


@pytest.mark.quick_cases("-13")
@pytest.mark.parametrize("d", [3, 13, 200])
@pytest.mark.parametrize("name", STORAGES)
def test_storage_dtype_order_and_threads_change_no_bit(name, d, rng):
    X = hard_rows(rng, d=d)
    if "float32" in name:
        X[20:24] = X[4] * np.array([[0.25], [8.0], [0.5], [2.0]])
    rows = STORAGES[name](X)
    before = X.copy()
    Q = np.vstack([X[15:35] * 2.0, np.zeros((1, d))])
    for k in (1, 7, len(X) - 1):
        expected = reference.kneighbors(X, k, metric="cosine")
        expected_of_queries = reference.kneighbors(X, k, queries=Q, metric="cosine")
        for n_jobs in (1, 2):
            assert_same(squared_neighbors(rows, k, metric="cosine", n_jobs=n_jobs), expected)
            for queries in (Q, sparse.csr_array(Q)):
                neighbors = squared_neighbors(rows, k, queries=queries, metric="cosine", n_jobs=n_jobs)
                assert_same(neighbors, expected_of_queries)
    np.testing.assert_array_equal(X, before)
    dense_rows = rows.toarray() if sparse.issparse(rows) else rows
    np.testing.assert_array_equal(dense_rows, before)  # nothing is normalised in place


def test_zeros_among_more_rows_than_one_block(rng):
    X = rng.standard_normal((700, 30))
    X[rng.random(700) < 0.3] = 0.0
    X[:, 0] += 0.5 * X.any(axis=1)
    for k in (10, 600):  # with 600, lists reach past the rows of zeros
        assert_same(squared_neighbors(X, k, metric="cosine"), reference.kneighbors(X, k, metric="cosine"))


@pytest.mark.parametrize("edge_weights", ["binary", "rbf"])
def test_the_cosine_graph_equals_the_reference(edge_weights, rng):
    X = hard_rows(rng)
    W = graph.neighbor_graph(X, 5, edge_weights=edge_weights, metric="cosine")
    expected = reference.neighbor_graph(X, 5, edge_weights=edge_weights, metric="cosine")
    np.testing.assert_array_equal(W.toarray(), expected)


class Everything:
    """Proposes every row."""

    def fit_transform(self, X):
        return self.fit(X).transform(X)

    def fit(self, X):
        self.n = X.shape[0]
        return self

    def transform(self, Q):
        return sparse.csr_array(np.ones((Q.shape[0], self.n)))


def test_candidates_of_a_transformer_are_ranked_by_the_metric(rng):
    X = hard_rows(rng)
    expected = reference.kneighbors(X, 6, metric="cosine")
    for rows in (X, sparse.csr_array(X)):
        assert_same(choose_proposed(rows, Everything().fit_transform(rows), 6, metric="cosine"), expected)
    Q = np.vstack([X[:9] * 4.0, np.zeros((1, X.shape[1]))])
    neighbors = choose_proposed(X, Everything().fit(X).transform(Q), 6, queries=Q, metric="cosine")
    assert_same(neighbors, reference.kneighbors(X, 6, queries=Q, metric="cosine"))


# ---------------------------------------------------------------- estimators


def labelled(rng, n=80):
    X = rng.standard_normal((n, 6)) * 10.0 ** rng.integers(-3, 4, (n, 1))
    return X, (X[:, :3] > 0).astype(int)


def unit(X):
    """What the search makes of rows: the twin's, for a fit that must agree to the bit."""
    return reference.unit_rows(X)


@pytest.mark.parametrize("name", ["MultiLabelPropagation", "MLkNN", "SemiSupervisedMLkNN"])
def test_classifiers_agree_with_euclidean_ones_on_unit_rows(name, rng):
    X, Y = labelled(rng)
    Q = rng.standard_normal((30, 6)) * 100
    make_one = getattr(nmlsdr, name)
    by_angle = make_one(4, metric="cosine").fit(X, Y)
    np.testing.assert_array_equal(by_angle.predict_proba(Q), make_one(4).fit(unit(X), Y).predict_proba(unit(Q)))
    assert not np.array_equal(by_angle.predict_proba(Q), make_one(4).fit(X, Y).predict_proba(Q))
    np.testing.assert_array_equal(by_angle.predict_proba(Q), by_angle.predict_proba(Q * 2.0**-30))


@pytest.mark.parametrize("name", ["NMLSDR", "SSMLDR", "MultiLabelPropagation", "SemiSupervisedMLkNN"])
@pytest.mark.parametrize("edge_weights", ["binary", "rbf"])
def test_the_graph_is_that_of_the_angle(name, edge_weights, rng):
    X, Y = labelled(rng)
    W = graph.neighbor_graph(X, 5, edge_weights=edge_weights, metric="cosine")
    options = {"n_neighbors": 5, "edge_weights": edge_weights}
    make_one = getattr(nmlsdr, name)
    F = make_one(**options, metric="cosine").fit(X, Y).label_distributions_
    np.testing.assert_array_equal(F, make_one(**options).fit(X, Y, graph=W).label_distributions_)
    assert not np.array_equal(F, make_one(**options).fit(X, Y).label_distributions_)


def test_every_graph_of_residual_propagation(rng):
    X, Y = labelled(rng)
    W = graph.neighbor_graph(X, 5, metric="cosine")
    options = {"n_neighbors": 5, "shrinkage": 0.0, "n_estimators": 0}
    by_angle = nmlsdr.ResidualPropagation(**options, metric="cosine").fit(X, Y)
    first_only = nmlsdr.ResidualPropagation(**options).fit(X, Y, graph=W)
    np.testing.assert_array_equal(by_angle.label_distributions_, first_only.label_distributions_)
    np.testing.assert_array_equal(by_angle.embedding_, first_only.embedding_)
    assert not np.array_equal(by_angle.propagated_errors_, first_only.propagated_errors_)
    trend = X[:7] @ by_angle.coef_.T + by_angle.intercept_
    places = (by_angle.embedding_, by_angle.transform(X[:7])), (by_angle.ridge_scores_, trend)
    near = [reference.kneighbors(rows, 10, queries=queries, metric="cosine")[1] for rows, queries in places]
    corrections = [E[indices].mean(axis=1) for E, indices in zip(by_angle.propagated_errors_, near, strict=True)]
    scores = trend + 0.75 * np.mean(corrections, axis=0) - by_angle.thresholds_
    np.testing.assert_allclose(by_angle.decision_function(X[:7]), scores, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_euclidean_is_the_default_metric_and_unknown_metrics_are_refused(name, rng):
    X, Y = labelled(rng)
    make_one = getattr(nmlsdr, name)
    assert make_one().metric == "euclidean"
    for unknown_metric in ("manhattan", None, 3, ["cosine"]):
        with pytest.raises(ValueError, match='metric must be "euclidean"'):
            make_one(n_neighbors=4, metric=unknown_metric).fit(X, Y)
    if name != "MLkNN":  # a given graph does not hide it
        with pytest.raises(ValueError, match='metric must be "euclidean"'):
            make_one(n_neighbors=4, metric="l2").fit(X, Y, graph=graph.neighbor_graph(X, 4))


@pytest.mark.parametrize("function", [graph.kneighbors, graph.neighbor_graph])
def test_functions_refuse_unknown_metrics(function):
    with pytest.raises(ValueError, match=r'metric must be "euclidean".* got \'l1\''):
        function([[0.0], [1.0]], 1, metric="l1")


@pytest.mark.parametrize("name", ["MLkNN", "SemiSupervisedMLkNN"])
def test_given_distances_have_no_metric(name, rng):
    X, Y = labelled(rng)
    model = getattr(nmlsdr, name)(4, neighbors="precomputed", metric="cosine")
    with pytest.raises(ValueError, match="metric='cosine' has no effect beside neighbors=\"precomputed\"; leave"):
        model.fit(cosine_distances(X), Y)


@pytest.mark.parametrize("name", PREDICT)
def test_a_cosine_transformer_proposes_and_nothing_warns(name, rng):
    X, Y = labelled(rng)
    plugin = KNeighborsTransformer(n_neighbors=30, metric="cosine", algorithm="brute")
    proposed = getattr(nmlsdr, name)(n_neighbors=4, metric="cosine", neighbors=plugin).fit(X, Y)
    exact = getattr(nmlsdr, name)(n_neighbors=4, metric="cosine").fit(X, Y)
    np.testing.assert_array_equal(proposed.predict_proba(X), exact.predict_proba(X))
    with pytest.warns(UserWarning, match='the nearest by euclidean distance.* set metric="cosine"'):
        getattr(nmlsdr, name)(n_neighbors=4, neighbors=plugin).fit(X, Y)
    transformer = KNeighborsTransformer(n_neighbors=30)
    with pytest.warns(UserWarning, match='the nearest by cosine distance.* set metric="euclidean"'):
        getattr(nmlsdr, name)(n_neighbors=4, metric="cosine", neighbors=transformer).fit(X, Y)


def test_text_needs_no_normalizer(rng):
    X = sparse.random_array((90, 400), density=0.1, random_state=rng, format="csr")
    Y = rng.integers(0, 2, (90, 3))
    plain = nmlsdr.MLkNN(5, metric="cosine").fit(X, Y).predict_proba(X)
    exact = normalize(X)
    np.testing.assert_array_equal(plain, nmlsdr.MLkNN(5).fit(exact, Y).predict_proba(exact))


def test_a_forged_metric_in_a_model_file_is_refused(rng, tmp_path):
    nmlsdr.model_file.save_model(tmp_path / "model.skops", nmlsdr.MLkNN(4).fit(*labelled(rng)))
    forge(tmp_path / "model.skops", attribute("metric", "l1"))
    with pytest.raises(nmlsdr.model_file.ModelFileError, match=r"metric='l1'.* must be .euclidean. or .cosine."):
        nmlsdr.model_file.load_model(tmp_path / "model.skops")


@pytest.mark.quick_cases("NMLSDR")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_dask_gives_the_fit_of_one_process(name, rng):
    array = pytest.importorskip("dask.array")
    import nmlsdr.dask

    X, Y = labelled(rng)
    blocks = array.from_array(X, chunks=(40, 6))
    model = getattr(nmlsdr, name)(n_neighbors=4, metric="cosine").fit(X, Y)
    kind = getattr(nmlsdr.dask, name)
    for rows in (X, blocks):  # queries by blocks, training rows in memory; then both by blocks
        dask_model = kind(n_neighbors=4, metric="cosine").fit(rows, Y)
        method = "predict_proba" if name in PREDICT else "transform"
        expected = getattr(model, method)(X)
        np.testing.assert_allclose(np.asarray(getattr(dask_model, method)(blocks)), expected, rtol=0, atol=1e-9)
