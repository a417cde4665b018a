"""Products of 16-bit integers, which rule out pairs of rows, find the same bits as all canonical distances.

Rows are rounded to integers, so distances of rounded rows are off by up to sqrt(d) in units of the rounding.  The
thresholds of the search contain that slack.  These tests force the integers on data that break neighbour searches, and
build rows for which almost all of the slack is needed.
"""

import itertools

import numpy as np
import pytest
from neighbor_cases import (
    INTEGER_LEVELS,
    LEVELS,
    MAKERS,
    assert_same,
    by_index,
    by_leads,
    by_products,
    make,
    rounded_apart_rows,
    scan,
    takes,
)
from scipy import sparse

from nmlsdr import _graph, graph
from nmlsdr._search.rows import kernel_rows

pytestmark = pytest.mark.skipif(not INTEGER_LEVELS, reason="this processor has no level with integers")


def by_integers(X, k, *, level=INTEGER_LEVELS[-1] if INTEGER_LEVELS else 0, **options):
    return by_products(X, k, integers=16, level=level, **options)


@pytest.mark.parametrize("copies", [1, 60])  # thresholds by bounds; by distances of a full buffer
@pytest.mark.parametrize("d", [96, 192, 1000])
@pytest.mark.parametrize("level", INTEGER_LEVELS)
def test_neighbours_are_exact_when_all_roundings_to_integers_add_up(level, d, copies):
    query, rows = rounded_apart_rows(d, copies=copies)
    indices = scan(rows, 2, query)[1]
    assert indices[0].tolist() == [copies, 0]
    whole = np.round(np.concatenate([query, rows[[copies, 0]]]))
    apart = np.linalg.norm(whole[0] - whole[1]) - np.linalg.norm(whole[0] - whole[2])
    assert apart > 1.9 * np.sqrt(d) * (1 - 0.02 - 3 / d)  # of 2 sqrt(d), by which the rounded rows mislead at most
    for k in (1, 2, 17):
        neighbors = by_integers(rows, k, queries=query, level=level, n_threads=1)
        assert neighbors[2]["integers"]
        assert not neighbors[2]["integral"]
        assert_same(neighbors, scan(rows, k, query))


@pytest.mark.quick_cases("-64", "gauss-801", "outlier-801", "largest-801", "integers-801", "denormal-801", "scales-801")
@pytest.mark.parametrize("shape", [(130, 5), (300, 64), (403, 129), (200, 801)], ids=lambda shape: str(shape[1]))
@pytest.mark.parametrize("name", MAKERS)
def test_integers_find_the_same_bits_on_every_kind_of_data(name, shape):
    X = make(name, shape, 3)
    Q = np.concatenate([X[::9], 0.75 * X[::7]])
    for k in (1, 10, 40):
        expected = scan(X, k)
        answers = scan(X, k, Q)
        for level, options in itertools.product(
            INTEGER_LEVELS, ({}, {"n_threads": 1, "window_bytes": 1.0, "budget": 1.0})
        ):
            assert_same(by_integers(X, k, level=level, **options), expected)
            assert_same(by_integers(X, k, queries=Q, level=level, **options), answers)


@pytest.mark.parametrize("name", ["gauss", "binary", "duplicates", "outlier"])
def test_integers_of_float32_rows_of_sparse_rows_and_with_leading_coordinates(name):
    X = make(name, (403, 70), 4).astype(np.float32)
    sparse_rows = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0))
    for level in INTEGER_LEVELS:
        assert_same(by_integers(X, 9, level=level), scan(X, 9))
        assert_same(by_integers(sparse_rows, 9, postings=0, level=level), scan(sparse_rows, 9))
        neighbors = by_integers(sparse_rows, 9, postings=1, level=level)
        assert not neighbors[2]["integers"]
        assert_same(neighbors, scan(sparse_rows, 9))
        neighbors = by_leads(X, 9, integers=16, level=level)
        assert neighbors[2]["lead_d"]
        assert_same(neighbors, scan(X, 9))


@pytest.mark.parametrize("level", INTEGER_LEVELS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 9, 385, 1200])
def test_sums_of_the_largest_integers_do_not_overflow(d, level):
    """Opposite and equal rows of the largest norm: in one feature, in two, and evenly in all of them."""
    first_axis = np.zeros(d)
    two_axes = np.zeros(d)
    evenly = np.full(d, 1 / np.sqrt(d))
    first_axis[0] = 1
    two_axes[:2] = 1 / np.sqrt(min(d, 2))
    directions = np.concatenate([[first_axis, two_axes, evenly]] * 4) * np.repeat([1, -1, 1, 1 - 1e-9], 3)[:, None]
    X = np.concatenate([np.zeros((40, d)), 0.1 * directions, directions]) * 1234.5678
    for k in (1, 3, 20):
        neighbors = by_integers(X, k, level=level)
        assert neighbors[2]["integers"]
        assert_same(neighbors, scan(X, k))


def test_small_integers_are_exact_and_need_no_slack():
    X = np.random.default_rng(0).integers(0, 3, (600, 50)).astype(float)
    neighbors = by_integers(X, 10)
    assert neighbors[2]["integers"]
    assert neighbors[2]["integral"]
    assert neighbors[2]["decided"] == 0
    assert_same(neighbors, scan(X, 10))


@pytest.mark.parametrize("scale", [1e-309, 1e-200, 1e150])
def test_rows_beyond_the_range_of_the_scale_are_compared_as_floats(scale):
    X = scale * np.random.default_rng(0).standard_normal((200, 9))
    neighbors = by_integers(X, 5)
    assert not neighbors[2]["integers"]
    assert_same(neighbors, scan(X, 5))


@pytest.mark.parametrize("level", LEVELS)
def test_integers_are_chosen_for_many_rows_and_features_and_given_up_for_outliers(level):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 128)).astype(np.float32)
    faster = 16 if level in INTEGER_LEVELS else 0
    assert by_products(X, 10, level=level)[2]["integers"] == faster
    assert not by_products(X[:990], 10, level=level)[2]["integers"]
    assert not by_products(X[:, :20], 10, level=level)[2]["integers"]
    assert by_products(np.round(X), 10, level=level)[2]["integers"] == faster  # also where many distances are equal
    X[500] *= 1e5  # all other rows are then rounded to a few integers
    neighbors = by_products(X, 10, level=level)
    assert not neighbors[2]["integers"]
    assert_same(neighbors, by_products(X, 10, level=level, integers=0))


def index_of_integers(X):
    return _graph.Index(kernel_rows(X), packed=True, integers=16, level=INTEGER_LEVELS[-1], n_threads=1)


@pytest.mark.parametrize("name", MAKERS)
def test_rows_packed_once_as_integers_find_the_same_bits(name):
    X = make(name, (403, 70), 5)
    Q = np.concatenate([X[::9], 0.75 * X[::7], make(name, (3, 70), 6)])
    index = index_of_integers(X)
    Q = np.concatenate([Q[:1], *(Q[[i]] for i in range(1, len(Q)) if takes(index, Q[[i]]))])
    for level in INTEGER_LEVELS:
        for n_threads in (1, 3):
            assert_same(by_index(X, Q, 9, integers=16, level=level, n_threads=n_threads)[:2], scan(X, 9, Q))


@pytest.mark.parametrize("copies", [1, 60])
def test_an_index_is_exact_when_all_roundings_to_integers_add_up(copies):
    query, rows = (2 * side for side in rounded_apart_rows(192, copies=copies))  # its scale is half as large
    for k in (1, 2, 17):
        neighbors = by_index(rows, query, k, integers=16, level=INTEGER_LEVELS[-1], n_threads=1)
        assert neighbors[2]["integers"]
        assert_same(neighbors[:2], scan(rows, k, query))


@pytest.mark.parametrize("d", [1, 2, 5, 300])
def test_an_index_of_integers_refuses_queries_whose_sums_would_overflow(d):
    """Queries up to twice as long as the longest row are taken, of longer ones only those that cannot overflow."""
    X = np.zeros((60, d))
    X[40:] = np.linspace(-1, 1, 20)[:, None]
    index = index_of_integers(X)
    for length in (1, 1.99, 2.01, 3.9, 4.1, 100):
        Q = np.full((1, d), float(length))
        if takes(index, Q):
            neighbors = by_index(X, Q, 5, integers=16, level=INTEGER_LEVELS[-1])
            assert neighbors[2]["integers"]
            assert_same(neighbors[:2], scan(X, 5, Q))
        assert takes(index, Q) or length > 1.999
    assert not takes(index, np.full((1, d), 5.0))


def test_public_searches_have_the_same_bits_whether_integers_are_chosen_or_not():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1100, 100)).astype(np.float32)
    Q = rng.standard_normal((300, 100)).astype(np.float32)
    for n_jobs in (1, 2):
        assert_same(graph.squared_neighbors(X, 7, n_jobs=n_jobs), by_products(X, 7, integers=0))
        assert_same(graph.squared_neighbors(X, 7, queries=Q, n_jobs=n_jobs), by_products(X, 7, queries=Q, integers=0))
