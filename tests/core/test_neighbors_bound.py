"""The error bound of the products against rows whose rounding errors all point the same way.

Adding a product p to a partial sum s with |p| below half a unit in the last place of s leaves s as it is.  Rows whose
first product is large and whose other products are just below that lose every one of them: the score of a pair is
then off by (d - 1) u |s|, all in one direction.  The query lies at -L, its candidates at +L, so that |s| = 1.5 L^2
where the bound has 2 L^2, and errors reach two thirds of it.  One candidate, the nearest by a hair, seems too far by
that much, another too near: a bound of half the size, on either side, loses the nearest.
"""

import numpy as np
import pytest
from neighbor_cases import LEVELS, assert_same, by_products, scan, swamped_rows
from scipy import sparse

from nmlsdr import graph


def assert_swamped(query, rows, copies):
    """The canonical distance knows which is nearest, by less than the products can tell."""
    squared, indices = scan(rows, 2, query)
    assert indices[0].tolist() == [copies, 0]
    assert squared[0, 0] < squared[0, 1] < squared[0, 0] * (1 + 1e-5)


@pytest.mark.parametrize("copies", [1, 60])  # a threshold by bounds; one by canonical distances of a full buffer
@pytest.mark.parametrize("d", [96, 192])
@pytest.mark.parametrize("level", LEVELS)
def test_neighbours_are_exact_when_all_rounding_errors_have_one_sign(d, copies, level):
    query, rows = swamped_rows(d, 2.0**-24, copies=copies)
    assert_swamped(query, rows, copies)
    for k in (1, 2, 17):
        neighbors = by_products(rows, k, queries=query, level=level, n_threads=1)
        assert_same(neighbors, scan(rows, k, query))


@pytest.mark.parametrize("copies", [1, 60])
@pytest.mark.parametrize("window_bytes", [1.0, 1e9])  # by postings alone; by columns and postings
@pytest.mark.parametrize("level", LEVELS)
def test_the_bound_of_sparse_products(window_bytes, copies, level):
    query, rows = swamped_rows(700, 2.0**-24, copies=copies)
    assert_swamped(query, rows, copies)
    for postings in (0, 1):
        neighbors = by_products(
            sparse.csr_array(rows),
            1,
            queries=sparse.csr_array(query),
            postings=postings,
            level=level,
            window_bytes=window_bytes,
            n_threads=1,
        )
        assert neighbors[2]["sparse"] == bool(postings)
        assert_same(neighbors, scan(rows, 1, query))


def test_the_error_bound_holds_for_public_searches_with_many_queries():
    """Thirty times the same query, so that they are not met pair by pair."""
    query, rows = swamped_rows(192, 2.0**-24)
    query = np.repeat(query, 30, axis=0)
    assert_same(graph.squared_neighbors(rows, 1, queries=query), scan(rows, 1, query))
    query_and_rows = np.concatenate([query[:1], rows])  # among themselves
    assert_same(graph.squared_neighbors(query_and_rows, 1), scan(query_and_rows, 1))


def test_double_products_have_a_bound_of_their_own():
    """Eight times too generous for rounding of this kind, because it holds the canonical distance's own, too."""
    for copies in (1, 60):
        query, rows = swamped_rows(192, 2.0**-53, copies=copies)
        for k in (2, 17):
            assert_same(by_products(rows, k, queries=query, n_threads=1), scan(rows, k, query))


def test_random_rows_that_lose_products(rng):
    """Sizes of the lost products, signs, lengths within a power of two and orders are drawn."""
    wrong_order = 0
    for _ in range(400):
        d = int(rng.choice([24, 60, 96, 192, 193, 260]))
        copies = int(rng.choice([1, 1, 3, 40]))
        query, rows = swamped_rows(d, 2.0**-24, copies=copies, share=rng.uniform(0.3, 1), rng=rng)
        rows = rows[rng.permutation(len(rows))] if rng.random() < 0.5 else rows
        expected = scan(rows, 2, query)
        wrong_order += seems_nearest(query, rows) not in expected[1][0, :1]
        assert_same(by_products(rows, 2, queries=query, n_threads=1), expected)
        for k in (1, 17):
            assert_same(by_products(rows, k, queries=query, n_threads=1), scan(rows, k, query))
    assert wrong_order > 100  # products alone, without a bound, often name another


def seems_nearest(query, rows):
    """What float32 products, summed one after the other, take for the nearest."""
    q = query.astype(np.float32)
    x = rows.astype(np.float32)
    score = -np.einsum("ij,ij->i", rows, rows).astype(np.float32) / np.float32(2)
    for j in range(x.shape[1]):
        score = score + q[0, j] * x[:, j]
    return int(np.argmax(score))


@pytest.mark.parametrize("excess", [0, 1])
@pytest.mark.parametrize("d", [9, 33])
def test_integers_are_exact_up_to_the_limit_and_not_beyond(d, excess):
    """Opposite rows of the largest values allowed, an odd squared distance apart: half of it needs the last bit.

    With values one larger it does not fit: the score, were it taken for the distance, would be off by one.
    """
    digits = 24
    largest = int(np.sqrt(2.0 ** (digits - 2) / d))
    largest += 4 * d * largest**2 < 2**digits  # the least value that is beyond
    largest -= 1 - excess
    X = np.zeros((5, d))
    X[1] = largest
    X[2] = -largest
    X[2, -1] += 1
    X[3, 0] = 1
    assert np.median(X, axis=0).tolist() == [0] * d
    neighbors = by_products(X, 4)
    assert neighbors[2]["integral"] == (excess == 0)
    assert_same(neighbors, scan(X, 4))
    assert (4 * d * largest**2 < 2**digits) == (excess == 0)
    for form in (X, sparse.csr_array(X)):
        assert_same(by_products(form, 4), scan(X, 4))


def test_the_limit_of_integers_is_where_half_a_unit_is_lost():
    """Beyond the limit by less than four times, scores of float32 would be wrong: an odd distance above 2^24."""
    d = 9
    largest = 1300
    assert 2**24 < 4 * d * largest**2 < 4 * 2**24
    X = np.zeros((5, d))
    X[1] = largest
    X[2] = -largest
    X[2, -1] += 1
    X[3, 0] = 1
    apart = int(scan(X, 4)[0].max())
    assert apart % 2 == 1
    assert apart > 2**24
    neighbors = by_products(X, 4)
    assert not neighbors[2]["integral"]
    assert_same(neighbors, scan(X, 4))
