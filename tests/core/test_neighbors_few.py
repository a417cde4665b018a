"""A few queries against all rows, pair by pair: the bits of the scan and of the twin."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import LEVELS, MAKERS, assert_same, by_few, make, method_of, scan

from nmlsdr import graph


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("d", [1, 7, 8, 9, 70])
def test_a_few_queries_find_the_same_bits(name, d):
    X = make(name, (403, d), 5)
    Q = np.concatenate([X[::29], 0.75 * X[::57], make("gauss", (2, d), 6)])
    expected = scan(X, 9, Q)
    for level in LEVELS:
        for options in ({}, {"n_threads": 1}, {"n_threads": 3, "budget": 0.1}):
            assert_same(by_few(X, Q, 9, level=level, **options), expected)
    assert_same(by_few(X[:7], Q, 7), scan(X[:7], 7, Q))
    assert_same(by_few(X, Q[:1], 403), scan(X, 403, Q[:1]))


@pytest.mark.parametrize("name", ["gauss", "integers", "duplicates", "all equal"])
@pytest.mark.parametrize("d", [3, 40])
def test_float32_rows_give_the_bits_of_the_same_values(name, d):
    X = make(name, (300, d), 2).astype(np.float32)
    assert_same(by_few(X, X[:9], 5), scan(X.astype(float), 5, X[:9].astype(float)))


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(MAKERS)),
    n=st.integers(1, 150),
    d=st.integers(1, 30),
    q=st.integers(1, 24),
    k=st.integers(1, 70),
    n_threads=st.integers(1, 5),
    budget=st.sampled_from([0.01, 0.5, 1e9]),
)
def test_any_sizes_equal_the_plain_implementation(name, n, d, q, k, n_threads, budget):
    X = make(name, (n, d), 1)
    k = min(k, n)
    Q = np.concatenate([X, 0.75 * X, make("gauss", (24, d), 3)])
    Q = np.ascontiguousarray(Q[:: max(1, n // 9)][:q])
    assert_same(by_few(X, Q, k, n_threads=n_threads, budget=budget), reference.kneighbors(X, k, queries=Q))


@pytest.mark.parametrize("d", [600, 2100])
def test_long_rows_come_by_small_chunks(d):
    X = make("gauss", (103, d), 1)
    for level in LEVELS:
        assert_same(by_few(X, X[:9], 7, level=level, n_threads=3), scan(X, 7, X[:9]))


def test_few_queries_use_this_search_and_many_do_not(rng):
    for d, other_method in ((4, "tree"), (20, "products")):
        X = rng.standard_normal((300, d))
        Q = rng.standard_normal((80, d))
        for q in (1, 24, 25, 80):
            assert_same(graph.squared_neighbors(X, 4, queries=Q[:q]), scan(X, 4, Q[:q]))
            assert method_of(X, Q[:q], 4) == ("few" if q <= 24 else other_method)
        assert method_of(X, None, 4) == other_method
    assert method_of(X, Q[:9], 300) == "few"
    assert method_of(X, Q[:9], 300_000) == "products"  # not heaps of 80 MB


def test_a_memory_map_is_read_by_pieces(rng, tmp_path):
    X = rng.standard_normal((500, 30)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_same(graph.squared_neighbors(mapped, 6, queries=X[:3]), scan(X, 6, X[:3]))
