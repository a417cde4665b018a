"""The k-d tree of rows of few features against a canonical scan and the twin."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import LEVELS, MAKERS, assert_same, by_tree, make, method_of, scan

from nmlsdr import graph

FEATURES = range(1, 9)


@pytest.mark.quick_cases("2-", "8-")
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("d", FEATURES)
def test_the_tree_finds_the_same_bits(name, d):
    X = make(name, (403, d), 5)
    expected = scan(X, 9)
    for level in LEVELS:
        for options in ({}, {"n_threads": 1}, {"n_threads": 3, "budget": 1.0}):
            assert_same(by_tree(X, 9, level=level, **options), expected)
    Q = np.concatenate([X[::9], 0.75 * X[::7], make("gauss", (5, d), 6)])
    assert_same(by_tree(X, 9, queries=Q), scan(X, 9, Q))
    assert_same(by_tree(X[:7], 7, queries=Q), scan(X[:7], 7, Q))


@pytest.mark.parametrize("name", ["gauss", "integers", "duplicates", "all equal"])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_float32_rows_give_the_bits_of_the_same_values(name, d):
    X = make(name, (300, d), 2).astype(np.float32)
    assert_same(by_tree(X, 5), scan(X.astype(float), 5))
    assert_same(by_tree(X, 5, queries=X[:30]), scan(X.astype(float), 5, X[:30].astype(float)))


@pytest.mark.quick_cases("2", "5")
@pytest.mark.parametrize("d", FEATURES)
def test_rounded_values_tie_at_every_rank(d):
    X = np.round(make("gauss", (500, d), 6), 1 if d < 4 else 0)
    for k in (1, 10, 200, 499):
        assert_same(by_tree(X, k), scan(X, k))


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(MAKERS)), n=st.integers(2, 150), d=st.integers(1, 8), k=st.integers(1, 70))
def test_sizes_around_those_of_leaves_equal_the_plain_implementation(name, n, d, k):
    X = make(name, (n, d), 1)
    k = min(k, n - 1)
    assert_same(by_tree(X, k), reference.kneighbors(X, k))
    Q = X[: n // 2 + 1] * 0.75
    assert_same(by_tree(X, k, queries=Q), reference.kneighbors(X, k, queries=Q))


def test_low_dimensional_rows_are_given_to_the_tree(rng):
    for n, d, method in ((50, 4, "tree"), (1999, 5, "products"), (2000, 8, "tree"), (2000, 9, "products")):
        X = rng.standard_normal((n, d))
        assert_same(graph.squared_neighbors(X, 3), scan(X, 3))
        assert method_of(X, None, 3) == method


def test_many_equal_rows_do_not_make_the_tree_visit_all_pairs():
    X = np.ones((20_000, 3))
    visited = by_tree(X, 10)[2]["visited"]
    assert visited < 3 * len(X) / 32  # leaves of 32 rows
    assert visited < by_tree(np.random.default_rng(0).standard_normal((20_000, 3)), 10)[2]["visited"]


def test_a_farthest_neighbour_of_which_only_the_index_changes_ends_the_search():
    """256 corners of a cube, all as far from the centre: after the first leaf only indices improve, soon none can."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 8)).reshape(8, -1).T
    X = np.tile(corners, (64, 1))  # each leaf is a corner, its rows are corner, corner + 256, ...
    Q = np.zeros((64, 8))
    neighbors = by_tree(X, 10, queries=Q)
    np.testing.assert_array_equal(neighbors[1], np.tile(np.arange(10), (64, 1)))
    assert neighbors[2]["visited"] < 64  # of 256 leaves
