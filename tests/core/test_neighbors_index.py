"""Rows packed once and asked often: the bits of one search, for any queries, threads and storage."""

import copy
import logging
import pickle
import threading
import weakref

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import LEVELS, MAKERS, assert_same, by_index, make, method_of, scan, takes
from scipy import sparse
from sklearn.base import clone

import nmlsdr
from nmlsdr import _graph, model_file
from nmlsdr._estimators import _prepared
from nmlsdr._search import prepared
from nmlsdr._search.rows import kernel_rows
from nmlsdr.graph import ExactIndex, kneighbors

STORED = {
    "float64": lambda X: X,
    "float32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
    "Fortran": np.asfortranarray,
    "CSR": sparse.csr_array,
    "CSR, long indices": lambda X: _long(sparse.csr_array(X)),
    "CSR matrix, float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
}
PREDICT = ("MLkNN", "SemiSupervisedMLkNN", "MultiLabelPropagation", "ResidualPropagation")


def _long(X):
    X.indices = X.indices.astype(np.int64)
    X.indptr = X.indptr.astype(np.int64)
    return X


def queries_of(X, *further_queries):
    """Rows and others, of those that the packed rows take."""
    Q = np.concatenate([X[::29], 0.75 * X[::57], *further_queries])
    index = _graph.Index(kernel_rows(X), packed=True, level=0, n_threads=1)
    return np.concatenate([Q[i : i + 1] for i in range(len(Q)) if takes(index, Q[i : i + 1])])


# ---------------------------------------------------------------- the kernel


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("d", [1, 8, 70, 300])
def test_packed_rows_find_the_same_bits(name, d):
    X = make(name, (403, d), 5)
    Q = queries_of(X, make(name, (3, d), 6))
    expected = scan(X, 9, Q)
    for level in LEVELS:
        for options in ({}, {"n_threads": 1}, {"n_threads": 3, "budget": 0.1}):
            assert_same(by_index(X, Q, 9, level=level, **options)[:2], expected)
    assert_same(by_index(X[:7], Q[:1], 7)[:2], scan(X[:7], 7, Q[:1]))
    assert_same(by_index(X, Q[:1], 403)[:2], scan(X, 403, Q[:1]))


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(MAKERS)),
    n=st.integers(1, 400),
    d=st.integers(1, 30),
    q=st.integers(1, 120),
    k=st.integers(1, 70),
    n_threads=st.integers(1, 5),
    budget=st.sampled_from([0.01, 0.5, 1e9]),
)
def test_any_sizes_equal_the_plain_implementation(name, n, d, q, k, n_threads, budget):
    X = make(name, (n, d), 1)
    k = min(k, n)
    Q = queries_of(X, make(name, (q, d), 1))[:q]
    assert_same(by_index(X, Q, k, n_threads=n_threads, budget=budget)[:2], reference.kneighbors(X, k, queries=Q))


@pytest.mark.parametrize("share", [0.01, 0.2, 0.9])
def test_sparse_rows_are_kept_as_columns_and_postings_or_packed(rng, share):
    X = sparse.csr_array(rng.standard_normal((700, 300)) * (rng.random((700, 300)) < share))
    neighbors = by_index(X, X[::50], 6, n_threads=3)
    assert_same(neighbors[:2], scan(X, 6, X[::50]))
    assert neighbors[2]["sparse"] == (share < 0.5)


@pytest.mark.parametrize("name", ["gauss", "offset", "columns of all scales"])
def test_float64_queries_are_compared_with_float32_rows(name):
    X = make(name, (300, 19), 3).astype(np.float32)
    Q = make(name, (9, 19), 4)
    assert_same(by_index(X, Q, 5)[:2], scan(X.astype(float), 5, Q))


def test_few_pairs_need_a_canonical_distance(rng):
    X = rng.standard_normal((20_000, 40))
    neighbors = by_index(X, X[:4], 10, n_threads=1)
    assert neighbors[2]["decided"] < 4 * 15


def test_the_index_declines_queries_beyond_its_bounds(rng):
    X = rng.standard_normal((50, 6))
    index = _graph.Index(kernel_rows(X), packed=True, level=0, n_threads=1)
    largest = np.abs(X).max()
    assert takes(index, np.full((2, 6), 100 * largest))
    assert not takes(index, np.vstack([X[:1], np.full((1, 6), 300 * largest)]))
    short = sparse.csr_array(np.eye(500)[:, :400])
    postings = _graph.Index(kernel_rows(short), packed=True, level=0, n_threads=1)
    assert takes(postings, short[:3])
    longer = sparse.csr_array((np.ones(9), (np.zeros(9, dtype=int), np.arange(9))), shape=(1, 400))
    assert not takes(postings, longer)


# ---------------------------------------------------------------- ExactIndex


@pytest.mark.quick_cases("-euclidean", "CSR-float64-cosine", "float64-CSR-cosine", "long indices-cosine")
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("query_storage", STORED)
def test_the_index_returns_the_result_of_a_search(metric, stored, query_storage, rng):
    X = rng.integers(-3, 4, (333, 11)) / 7.0
    X[[5, 200]] = 0.0  # rows without a direction
    Q = np.concatenate([X[:40:5], rng.standard_normal((5, 11)), np.zeros((1, 11))])
    rows = STORED[stored](X)
    queries = STORED[query_storage](Q)
    for n_jobs in (1, 3):
        index = ExactIndex(rows, metric=metric, n_jobs=n_jobs)
        assert (index.n_samples_, index.n_features_) == rows.shape
        for k in (1, 7, 333):
            assert_same(index.query(queries, k), kneighbors(rows, k, queries=queries, metric=metric))
            assert_same(index.query(queries[:1], k), kneighbors(rows, k, queries=queries[:1], metric=metric))


def test_few_queries_use_the_packed_rows_and_others_do_not(rng):
    X = rng.standard_normal((600, 20))
    Q = rng.standard_normal((300, 20))
    index = ExactIndex(X)
    for query_rows, method in (
        (Q[:1], "prepared"),
        (Q[: prepared.MOST_QUERIES], "prepared"),
        (Q, "products"),
        (1e6 * Q[:3], "few"),
        (1e6 * Q[:30], "products"),
        (np.empty((0, 20)), None),  # too far for the bounds; none
    ):
        assert_same(index.query(query_rows, 4), kneighbors(X, 4, queries=query_rows))
        if method:
            assert method_of(X, query_rows, 4, packed=True) == method


def test_the_memory_for_neighbours_of_all_threads_is_bounded(rng):
    X = rng.standard_normal((600, 20))
    Q = rng.standard_normal((100, 20))
    for k, n_threads, method in ((20_000, 2, "prepared"), (20_001, 2, "products"), (20_000, 3, "products")):
        assert method_of(X, Q, k, n_threads=n_threads, packed=True) == method


def test_each_search_logs_one_line(rng, caplog):
    index = ExactIndex(rng.standard_normal((60, 12)), n_jobs=2)
    with caplog.at_level(logging.DEBUG, logger="nmlsdr"):
        index.query(np.zeros((2, 12)), 3)
    assert len(caplog.records) == 1
    assert caplog.messages[0].startswith("neighbours by prepared: 2 queries among 60 x 12 float64 rows, k=3, 2 threads")


def test_rows_and_queries_that_stress_rounding_give_exact_neighbours(rng):
    for name in MAKERS:
        X = make(name, (150, 9), 1)
        index = ExactIndex(X)
        for query_kind in ("gauss", "huge", "tiny", "largest", name):
            Q = make(query_kind, (5, 9), 2)
            with np.errstate(all="ignore"):
                assert_same(index.query(Q, 6), kneighbors(X, 6, queries=Q))


def test_rows_without_features_or_without_direction(rng):
    assert ExactIndex(np.empty((3, 0))).query(np.empty((2, 0)), 2)[1].tolist() == [[0, 1], [0, 1]]
    zeros = ExactIndex(np.zeros((4, 2)), metric="cosine")
    assert_same(zeros.query([[1.0, 2.0]], 3), kneighbors(np.zeros((4, 2)), 3, queries=[[1.0, 2.0]], metric="cosine"))


def test_a_read_only_memory_map_is_searched_and_one_larger_than_memory_is_not_copied(
    rng, tmp_path, monkeypatch, caplog
):
    X = rng.standard_normal((500, 30)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_same(ExactIndex(mapped).query(X[:3], 6), kneighbors(X, 6, queries=X[:3]))
    monkeypatch.setattr("nmlsdr._search.memory.memory_bytes", lambda: 1000.0)
    with caplog.at_level(logging.DEBUG, logger="nmlsdr"):
        assert_same(ExactIndex(mapped).query(X[:3], 6), kneighbors(X, 6, queries=X[:3]))
    assert caplog.messages[0].startswith("neighbours by few: 3 queries")


def kept_of(model):
    """What is kept of the rows that an estimator searched last."""
    return next(iter(_prepared._last.get(model, {}).values()), None)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_threads_may_use_one_index_at_once(rng, metric):
    X = rng.standard_normal((3000, 24))
    Q = rng.standard_normal((64, 24))
    index = ExactIndex(X, metric=metric, n_jobs=2)
    expected = kneighbors(X, 8, queries=Q, metric=metric)
    wrong = []

    def ask(first):
        for i in range(first, 64, 4):
            neighbors = index.query(Q[i : i + 1], 8)
            if not all(np.array_equal(a, b[i : i + 1]) for a, b in zip(neighbors, expected, strict=True)):
                wrong.append(i)

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_pickle_contains_only_the_rows(rng, metric):
    X = rng.standard_normal((200, 16))
    index = ExactIndex(X, metric=metric)
    data = pickle.dumps(index)
    assert len(data) < X.nbytes + 1000
    for copied_index in (pickle.loads(data), copy.deepcopy(index), copy.copy(index)):
        assert_same(copied_index.query(X[:4], 5), index.query(X[:4], 5))
    assert repr(index) == f"ExactIndex(200 x 16, metric={metric!r}, n_jobs=None)"


def test_the_index_refuses_what_a_search_refuses(rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match="metric must be"):
        ExactIndex(X, metric="manhattan")
    with pytest.raises(ValueError, match="NaN or infinity"):
        ExactIndex([[np.nan]])
    with pytest.raises(ValueError, match="n_jobs must be"):
        ExactIndex(X, n_jobs=0)
    index = ExactIndex(X)
    with pytest.raises(ValueError, match="queries has 2 features, but X has 3"):
        index.query([[1.0, 2.0]], 1)
    with pytest.raises(ValueError, match="queries contains NaN"):
        index.query([[1.0, np.nan, 2.0]], 1)
    with pytest.raises(ValueError, match="n_neighbors=21 needs at least 21 samples"):
        index.query(X[:1], 21)


# ---------------------------------------------------------------- predict


def fitted(name, rng, metric="euclidean"):
    X = rng.standard_normal((120, 9))
    Y = (X[:, :3] + 0.3 * rng.standard_normal((120, 3)) > 0).astype(int)
    return getattr(nmlsdr, name)(n_neighbors=5, metric=metric).fit(X, Y), X, Y


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("name", PREDICT)
def test_single_rows_get_the_same_result_as_many(name, metric, rng, tmp_path):
    model, _, _ = fitted(name, rng, metric)
    Q = rng.standard_normal((300, 9))
    Q[7] = 0.0
    expected = model.predict_proba(Q)  # too many for an index
    before = dict(vars(model))
    for i in (0, 7, 7, 9, 20):
        np.testing.assert_allclose(model.predict_proba(Q[i : i + 1])[0], expected[i], rtol=0, atol=1e-12)
    if name != "ResidualPropagation":  # its embedding goes through BLAS
        np.testing.assert_array_equal(model.predict_proba(Q[:40]), expected[:40])
    assert kept_of(model)[1] is not None
    assert vars(model).keys() == before.keys()
    for copied_model in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(copied_model.predict_proba(Q[:9]), model.predict_proba(Q[:9]))
    assert clone(model).get_params() == model.get_params()
    if name in ("MLkNN", "SemiSupervisedMLkNN"):
        model_file.save_model(tmp_path / "model.skops", model)
        loaded = model_file.load_model(tmp_path / "model.skops")
        for _ in range(3):
            np.testing.assert_array_equal(loaded.predict_proba(Q[:9]), model.predict_proba(Q[:9]))


def test_rows_are_prepared_at_the_second_small_question_and_again_after_a_fit(rng):
    model, X, Y = fitted("MLkNN", rng)
    for q, ready in ((300, None), (1, False), (300, False), (1, True)):
        model.predict(rng.standard_normal((q, 9)))
        before = kept_of(model)
        assert (before and before.prepared is not None) == ready
    model.fit(X[:60] + 5.0, Y[:60])
    fresh = nmlsdr.MLkNN(n_neighbors=5).fit(X[:60] + 5.0, Y[:60])
    for _ in range(3):
        np.testing.assert_array_equal(model.predict_proba(X[:2] + 5.0), fresh.predict_proba(X[:2] + 5.0))
    model.set_params(metric="cosine")
    for _ in range(3):
        np.testing.assert_array_equal(
            model.predict_proba(X[:2]), fresh.set_params(metric="cosine").predict_proba(X[:2])
        )
    prepared_rows = weakref.ref(kept_of(model).prepared)
    del model, before
    assert prepared_rows() is None  # it goes with its estimator
