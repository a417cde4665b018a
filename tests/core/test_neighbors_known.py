"""A search that knows what other searches of its rows have found finds what is missing, to the last bit.

That is how the tasks of `nmlsdr.dask` share the work: pairs within a part are compared once, and a row needs no
neighbour that is farther away than those found so far.
"""

import functools
import itertools

import numpy as np
import pytest
from neighbor_cases import LEVELS, MAKERS, assert_same, by_products, make, scan
from scipy import sparse

from nmlsdr._search.run import Known

N = 500
K = 5
PARTS = np.array([0, 96, 250, 400, N])  # one ends with a block of 96 rows, the others within one
NOTHING = np.array([0])
NONE = np.full(N, np.inf)


def merged(*parts):
    """The K nearest of several lists of the same rows; a neighbour that two of them name counts once."""
    squared, indices = (np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1))
    merged_lists = []
    for row in range(len(squared)):
        pairs = sorted({(s, j) for s, j in zip(squared[row], indices[row], strict=True) if s < np.inf})[:K]
        merged_lists.append(pairs)
    return tuple(np.array([[pair[i] for pair in pairs] for pairs in merged_lists]) for i in (0, 1))


def within(X):
    """For each part the lists of its rows among themselves."""
    squared = np.full((N, K), np.inf)
    indices = np.zeros((N, K), np.intp)
    for first, last in itertools.pairwise(PARTS):
        squared[first:last], places = scan(X[first:last], K)[:2]
        indices[first:last] = places + first
    return squared, indices


@functools.cache
def rows_and_lists(name):
    X = make(name, (N, 40), 0)
    return X, scan(X, K)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("integers", [0, 16, 8])
@pytest.mark.parametrize("name", MAKERS)
def test_neighbours_within_the_limits_are_found(name, integers, level):
    """The smallest limits that lose none: the distance of the last neighbour, which others may share."""
    X, exact = rows_and_lists(name)
    known = Known(np.ascontiguousarray(exact[0][:, -1]), NOTHING)
    assert_same(by_products(X, K, integers=integers, level=level, n_threads=1, known=known), exact)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", ["gauss", "integers", "duplicates", "binary", "all equal"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_parts_that_were_compared_are_left_out(name, kind, n_threads):
    X = make(name, (N, 40), 1)
    rows = X if kind == "dense" else sparse.csr_array(X)
    options = {"postings": int(kind == "sparse"), "n_threads": n_threads, "level": LEVELS[-1]}
    exact = scan(X, K)
    inner = within(X)
    for limits in (NONE, np.ascontiguousarray(inner[0][:, -1])):
        neighbors = by_products(rows, K, known=Known(limits, PARTS), **options)
        assert_same(merged(neighbors, inner), exact)
    whole = by_products(rows, K, **options)
    assert neighbors[2]["pairs"] < whole[2]["pairs"]


def test_limits_below_every_distance_leave_all_lists_empty():
    X = make("gauss", (N, 40), 2)
    squared, indices, _ = by_products(X, K, known=Known(np.zeros(N), NOTHING), level=LEVELS[-1], n_threads=1)
    assert (squared == np.inf).all()
    assert (indices == np.iinfo(np.intp).max).all()
