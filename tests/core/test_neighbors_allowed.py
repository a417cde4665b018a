"""A mask of rows: the neighbours are those of an index of the allowed rows alone.  And rows of small types."""

import tracemalloc

import numpy as np
import pytest
from neighbor_cases import MAKERS, any_leads, assert_same, make
from scipy import sparse

from nmlsdr._search import strategy
from nmlsdr.graph import ExactIndex, kneighbors, radius_neighbors

STORED = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "CSR": sparse.csr_array,
}


def assert_allowed(X, queries, k, allowed, metric="euclidean", n_jobs=None):
    numbers = np.flatnonzero(allowed)
    distances, places = kneighbors(X[numbers], k, queries=queries, metric=metric)
    index = ExactIndex(X, metric=metric, n_jobs=n_jobs)
    assert_same(index.query(queries, k, allowed=allowed), (distances, numbers[places]))


@pytest.mark.quick_cases("duplicates", "integers", "all equal", "offset")
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("d", [2, 17, 70])
@pytest.mark.parametrize("name", MAKERS)
def test_neighbours_are_those_of_the_allowed_rows(name, d, metric, rng):
    X = make(name, (400, d), 5)
    X[[5, 6, 100, 399]] = 0.0  # rows without a direction
    Q = np.concatenate([X[::2], make(name, (60, d), 6), np.zeros((1, d))])
    for share, k in ((0.9, 9), (0.5, 1), (0.03, 3)):
        allowed = rng.random(400) < share
        allowed[[6, 50, 60, 399]] = True
        for n_jobs in (1, 3):
            for queries in (Q, Q[:100], Q[-1:], Q[:2]):  # products, prepared, few
                assert_allowed(X, queries, k, allowed, metric, n_jobs)
        assert_allowed(X, Q[:30], np.count_nonzero(allowed), allowed, metric)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("query_storage", STORED)
@pytest.mark.parametrize("stored", STORED)
def test_storage_changes_nothing(stored, query_storage, metric, rng):
    X = rng.integers(-3, 4, (300, 40)) / 8.0 * (rng.random((300, 40)) < 0.2)
    allowed = rng.random(300) < 0.4
    Q = rng.integers(-3, 4, (280, 40)) / 8.0
    for queries in (Q, Q[:20], Q[:1]):
        assert_allowed(STORED[stored](X), STORED[query_storage](queries), 5, allowed, metric, 2)


def test_groups_and_leading_coordinates_do_not_pass_the_mask(rng, monkeypatch):
    monkeypatch.setattr(strategy, "_LARGE", 100)
    flat = rng.standard_normal((700, 3)) @ rng.standard_normal((3, 40))
    far = np.repeat([1e6, -1e6], 350)[:, None] + rng.standard_normal((700, 40))
    allowed = rng.random(700) < 0.5
    with any_leads():
        for X in (flat, far):
            index = ExactIndex(X)
            distances, indices = index.query(X[:300], 7, allowed=allowed)
            numbers = np.flatnonzero(allowed)
            expected = kneighbors(X[numbers], 7, queries=X[:300])
            assert_same((distances, indices), (expected[0], numbers[expected[1]]))


def test_an_allowed_mask_of_all_rows_changes_nothing(rng):
    X = rng.standard_normal((500, 12))
    index = ExactIndex(X)
    assert_same(index.query(X[:50], 6, allowed=np.ones(500, bool)), index.query(X[:50], 6))


@pytest.mark.parametrize(
    ("allowed", "match"),
    [
        (np.ones(4, bool), r"allowed must be a boolean array of shape \(5,\), got bool of shape \(4,\)"),
        ([0, 1, 2], "got int64 of shape"),
        ([1, 0, 1, 1, 1], "got int64"),
        ([True, False, False, False, False], "n_neighbors=2 needs at least 2 allowed rows, got 1; lower n_neighbors"),
        (np.ones((5, 1), bool), r"of shape \(5, 1\)"),
    ],
)
def test_a_mask_that_cannot_be_is_refused(allowed, match, rng):
    with pytest.raises(ValueError, match=match):
        ExactIndex(rng.standard_normal((5, 3))).query([[0.0, 0.0, 0.0]], 2, allowed=allowed)


SMALL = ["bool", "int8", "uint8", "int16", "uint16", "float16"]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", SMALL)
def test_small_types_are_searched_as_float32_with_the_bits_of_float64(dtype, metric, rng):
    largest = {"bool": 2, "int8": 128, "uint8": 256, "int16": 2**15, "uint16": 2**16, "float16": 2000}[dtype]
    X = rng.integers(0, largest, (200, 30)).astype(dtype)
    wide = X.astype(np.float64)
    for rows in (X, sparse.csr_array(X)) if dtype != "float16" else (X,):
        assert_same(kneighbors(rows, 6, metric=metric), kneighbors(wide, 6, metric=metric))
        index = ExactIndex(rows, metric=metric)
        assert index._rows.dtype == np.float32
        assert_same(index.query(X[:9], 6), kneighbors(wide, 6, queries=wide[:9], metric=metric))
    radius = kneighbors(wide, 6, metric=metric)[0][:, -1].max()
    graph = radius_neighbors(X, radius, metric=metric)
    expected = radius_neighbors(wide, radius, metric=metric)
    assert graph.data.tobytes() == expected.data.tobytes()
    assert graph.indices.tobytes() == expected.indices.tobytes()


def test_small_types_need_no_copy_in_float64(rng):
    X = rng.integers(0, 256, (20_000, 100)).astype(np.uint8)
    tracemalloc.start()
    kneighbors(X, 3, queries=X[:2])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * 4 * X.size
