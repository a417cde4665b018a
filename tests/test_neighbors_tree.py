"""The k-d tree of rows of few features against a canonical scan and the twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import LEVELS, MAKERS, assert_same, make, scan

from nmlsdr import _graph, _reference, graph

FEATURES = range(1, 9)


def search(X, k, *, queries=None, level=-1, n_threads=2, budget=1e9):
    asked = X if queries is None else queries
    squared, indices = np.empty((asked.shape[0], k)), np.empty((asked.shape[0], k), np.intp)
    described = None if queries is None else graph._described(queries)
    running = _graph.Tree(graph._described(X), described, squared, indices, LEVELS[level], n_threads)
    while running.step(budget):
        pass
    return squared, indices


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("d", FEATURES)
def test_the_tree_finds_the_same_bits(name, d):
    X = make(name, (403, d), 5)
    expected = scan(X, 9)
    for level in LEVELS:
        for options in ({}, {"n_threads": 1}, {"n_threads": 3, "budget": 1.0}):
            assert_same(search(X, 9, level=level, **options), expected)
    Q = np.concatenate([X[::9], 0.75 * X[::7], make("gauss", (5, d), 6)])
    assert_same(search(X, 9, queries=Q), scan(X, 9, Q))
    assert_same(search(X[:7], 7, queries=Q), scan(X[:7], 7, Q))


@pytest.mark.parametrize("name", ["gauss", "integers", "duplicates", "all equal"])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_float32_rows_give_the_bits_of_the_same_values(name, d):
    X = make(name, (300, d), 2).astype(np.float32)
    assert_same(search(X, 5), scan(X.astype(float), 5))
    assert_same(search(X, 5, queries=X[:30]), scan(X.astype(float), 5, X[:30].astype(float)))


@pytest.mark.parametrize("d", FEATURES)
def test_rounded_values_tie_at_every_rank(d):
    X = np.round(make("gauss", (500, d), 6), 1 if d < 4 else 0)
    for k in (1, 10, 200, 499):
        assert_same(search(X, k), scan(X, k))


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(MAKERS)), n=st.integers(2, 150), d=st.integers(1, 8), k=st.integers(1, 70))
def test_sizes_around_leaves_equal_the_twin(name, n, d, k):
    X = make(name, (n, d), 1)
    k = min(k, n - 1)
    assert_same(search(X, k), _reference.kneighbors(X, k))
    Q = X[: n // 2 + 1] * 0.75
    assert_same(search(X, k, queries=Q), _reference.kneighbors(X, k, queries=Q))


def test_low_dimensional_rows_are_given_to_the_tree(rng, monkeypatch):
    class Untouched:
        def __init__(self, *arguments):
            raise AssertionError("the other search was called")

    narrow, wide = rng.standard_normal((50, 8)), rng.standard_normal((50, 9))
    with monkeypatch.context() as patch:
        patch.setattr(_graph, "Search", Untouched)
        assert_same(graph.squared_neighbors(narrow, 3), scan(narrow, 3))
    monkeypatch.setattr(_graph, "Tree", Untouched)
    assert_same(graph.squared_neighbors(wide, 3), scan(wide, 3))


def test_the_tree_refuses_more_features_than_it_has_sums_for(rng):
    X = rng.standard_normal((20, 9))
    with pytest.raises(ValueError, match="1 to 8 features"):
        search(X, 2)


def test_many_equal_rows_do_not_make_the_tree_visit_all_pairs():
    """The work is counted by time against a search of distinct rows in the same process, generously."""
    import time

    def least(X):
        times = []
        for _ in range(3):
            start = time.process_time()
            search(X, 10, n_threads=1)
            times.append(time.process_time() - start)
        return min(times)

    distinct = np.random.default_rng(0).standard_normal((20_000, 3))
    assert least(np.ones((20_000, 3))) < 3 * least(distinct)  # all pairs would cost a hundred times as much
