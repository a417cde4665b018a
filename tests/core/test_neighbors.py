"""The neighbour search against a canonical scan: every strategy, around block boundaries, on data that break bounds."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import LEVELS, MAKERS, assert_same, by_products, make, scan
from scipy import sparse

from nmlsdr import _graph, graph

BLOCK = 96  # NMLSDR_BLOCK of _c/products_state.h


@pytest.mark.parametrize("name", MAKERS)
def test_every_strategy_finds_the_same_bits(name):
    X = make(name, (2 * BLOCK + 7, 11), 3)
    expected = scan(X, 9)
    for level in LEVELS:
        for options in ({}, {"window_bytes": 1.0}, {"n_threads": 3, "budget": 1.0}):
            assert_same(by_products(X, 9, level=level, **options), expected)
        if np.count_nonzero(X):
            for postings in (0, 1):
                assert_same(by_products(sparse.csr_array(X), 9, postings=postings, level=level), expected)
    assert_same(by_products(X, 9, queries=X[5:50] * 1.5), scan(X, 9, X[5:50] * 1.5))
    assert_same(by_products(X, len(X) - 1), scan(X, len(X) - 1))


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(MAKERS)),
    n=st.sampled_from([2, 3, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 1, 4 * BLOCK + 1]),
    d=st.sampled_from([1, 3, 8, 9, 191, 192, 193, 385]),
    k=st.sampled_from([1, 2, 10, 32, 33, 70]),
    narrow=st.booleans(),
    queries=st.sampled_from([0, 1, BLOCK - 1, BLOCK + 1]),
    windows=st.sampled_from([1.0, 1e9]),
    level=st.sampled_from(LEVELS),
    n_threads=st.integers(1, 3),
    seed=st.integers(0, 9),
)
def test_sizes_around_blocks_give_exact_neighbours(name, n, d, k, narrow, queries, windows, level, n_threads, seed):
    X = make(name, (n, d), seed)
    if narrow and np.abs(X).max() < 1e38:
        X = X.astype(np.float32)
    Q = make(name, (queries, d), seed + 1) if queries else None
    if Q is not None:
        Q = X[:1] if np.abs(Q).max() > np.finfo(X.dtype).max else Q.astype(X.dtype)
    k = min(k, n - 1)
    neighbors = by_products(X, k, queries=Q, level=level, window_bytes=windows, n_threads=n_threads)
    assert_same(neighbors, scan(X, k, Q))


def uneven(values, n, seed):
    """Sparse rows (n, 29) with features held by 90 % down to 1 % of the rows; the first and last row are empty."""
    rng = np.random.default_rng(seed)
    stored = rng.random((n, 29)) < 0.9 * 0.85 ** np.arange(29)[rng.permutation(29)]
    stored[[0, -1]] = False
    return sparse.csr_array(np.where(stored, make(values, (n, 29), seed), 0.0))


@pytest.mark.quick_cases("large integers", "gauss", "0.")
@pytest.mark.parametrize("values", ["all equal", "integers", "large integers", "gauss", "offset", "rows of all scales"])
def test_columns_and_postings_find_the_same_bits(values):
    """Frequent features are summed by columns, rare ones by postings; without room for columns all by postings."""
    X = uneven(values, 1100, 1)
    X.data[::50] = 0.0  # a stored zero is a zero
    Q = uneven(values, 300, 2)
    expected = scan(X, 7)
    answers = scan(X, 7, Q)
    for level in LEVELS:
        for options in ({}, {"window_bytes": 1.0}, {"n_threads": 3, "budget": 1.0}, {"n_threads": 1}):
            neighbors = by_products(X, 7, postings=1, level=level, **options)
            assert neighbors[2]["sparse"]
            assert (0 < neighbors[2]["frequent"] < 29) == ("window_bytes" not in options)
            assert_same(neighbors, expected)
            assert_same(by_products(X, 7, queries=Q, postings=1, level=level, **options), answers)
    assert_same(by_products(X, 40, postings=1), scan(X, 40))
    wide_index = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    assert_same(by_products(wide_index, 7, postings=1), expected)
    if np.abs(X.data).max() < 1e38:
        assert_same(by_products(X.astype(np.float32), 7, postings=1), scan(X.astype(np.float32), 7))


def test_short_rows_of_counts_are_exact_products(rng):
    """What bounds the sums of integers is how many entries a row holds, not the number of features."""
    X = sparse.csr_array(np.where(rng.random((300, 5000)) < 0.001, rng.integers(1, 31, (300, 5000)), 0.0))
    for postings in (0, 1):
        neighbors = by_products(X, 6, postings=postings)
        assert neighbors[2]["integral"]
        assert_same(neighbors, scan(X, 6))


@pytest.mark.parametrize(("density", "sparse_wins"), [(0.02, True), (0.8, False)])
def test_storage_of_sparse_rows_is_chosen_by_cost(density, sparse_wins, rng):
    """Between these the choice depends on the vector width."""
    X = sparse.csr_array((rng.random((900, 200)) < density).astype(float))
    assert by_products(X, 5)[2]["sparse"] == sparse_wins


@pytest.mark.quick_cases("3000-gauss", "1000-two far tight clusters", "3000-duplicates")
@pytest.mark.parametrize("name", ["gauss", "integers", "two far tight clusters", "duplicates"])
@pytest.mark.parametrize("rows_in_windows", [3000, 1000])
def test_blocks_of_a_span_are_paired_once(name, rows_in_windows):
    """27 blocks in spans of 3, in one window and in three; the last span and the last block are not full."""
    X = make(name, (26 * BLOCK + 5, 9), 6)
    expected = scan(X, 6)
    bytes_ = 2 * rows_in_windows * 9 * 4
    for options in ({}, {"budget": 1.0}, {"level": 0}):
        neighbors = by_products(X, 6, n_threads=1, window_bytes=bytes_, **options)
        assert neighbors[2]["span"] == 3
        if rows_in_windows == 3000:
            assert neighbors[2]["pairs"] == 27 * 28 / 2
        assert_same(neighbors, expected)
    Q = X[: 13 * BLOCK + 2] * 1.5
    neighbors = by_products(X, 6, queries=Q, n_threads=1, window_bytes=bytes_)
    assert neighbors[2]["span"] == 3
    assert_same(neighbors, scan(X, 6, Q))


@settings(max_examples=15, deadline=None)
@given(name=st.sampled_from(sorted(MAKERS)), n=st.integers(2, 40), d=st.integers(1, 20), k=st.integers(1, 12))
def test_small_searches_equal_the_plain_implementation(name, n, d, k):
    X = make(name, (n, d), 1)
    k = min(k, n - 1)
    assert_same(graph.squared_neighbors(X, k), reference.kneighbors(X, k))
    Q = X[: n // 2 + 1] * 0.75
    assert_same(graph.squared_neighbors(X, k, queries=Q), reference.kneighbors(X, k, queries=Q))


@pytest.mark.parametrize("n", [97, 500, 1500, 3100])
@pytest.mark.parametrize("name", ["gauss", "duplicates"])
def test_threads_process_each_pair_of_blocks_once(n, name):
    X = make(name, (n, 12), 4)
    expected = by_products(X, 7, n_threads=1)
    for n_threads in (2, 3, 5):
        for budget in (0.5, 9.0, 1e9):
            neighbors = by_products(X, 7, n_threads=n_threads, budget=budget)
            assert_same(neighbors[:2], expected[:2])
            assert neighbors[2]["pairs"] == neighbors[2]["total"] == expected[2]["pairs"]


@pytest.mark.parametrize("k", [1, 2, 7, 8, 9, 31, 64, 65])
@pytest.mark.parametrize("name", ["gauss", "integers", "duplicates", "offset", "rows of all scales"])
def test_any_number_of_neighbours(k, name):
    X = make(name, (400, 10), 2)
    neighbors = by_products(X, k)
    assert_same(neighbors[:2], scan(X, k))
    if name == "gauss":
        assert neighbors[2]["decided"] < 400 * (k + 1)


def test_permuted_rows_give_permuted_neighbours(rng):
    X = rng.standard_normal((300, 12))  # no ties: the index rule does not speak
    order = rng.permutation(len(X))
    squared, indices = graph.squared_neighbors(X, 7)
    permuted = graph.squared_neighbors(X[order], 7)
    np.testing.assert_array_equal(permuted[0], squared[order])
    np.testing.assert_array_equal(order[permuted[1]], indices[order])


def test_pairs_that_float_products_cannot_order_are_ordered_by_distances(rng):
    X = 1e-3 * rng.standard_normal((1500, 20)) + np.where(rng.random((1500, 1)) < 0.5, 1e3, -1e3)
    neighbors = by_products(X, 10, budget=1.0)
    assert neighbors[2]["decided"] > 1500 * 1500 / 5  # about a quarter, by seed
    assert_same(neighbors, scan(X, 10))


def test_integers_need_no_decision():
    X = np.random.default_rng(0).integers(0, 3, (500, 30)).astype(np.float32)
    neighbors = by_products(X, 10)
    assert neighbors[2]["integral"]
    assert neighbors[2]["decided"] == 0
    assert_same(neighbors, scan(X, 10))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_integers_up_to_rounding_are_not_treated_as_integers(dtype):
    """Less the centre, 1, the noise around 0 is lost and leaves integers: whether x is one must be asked of x."""
    rng = np.random.default_rng(0)
    X = np.ones((60, 12))
    X[40:] = 0
    X[40:, 0] = 1e-18 * rng.permutation(20)
    X = X.astype(dtype)
    expected = scan(X, 2)
    assert (expected[0][40:] > 0).all()
    for form in (X, sparse.csr_array(X)):
        for queries in (None, X[30:]):
            answers = expected if queries is None else scan(X, 2, queries)
            query_rows = queries if queries is None or form is X else sparse.csr_array(queries)
            neighbors = by_products(form, 2, queries=query_rows)
            assert not neighbors[2]["integral"]
            assert_same(neighbors, answers)
    integers = np.round(X)
    assert by_products(integers, 2)[2]["integral"]
    assert not by_products(integers, 2, queries=X[30:])[2]["integral"]
    assert_same(by_products(integers, 2, queries=X[30:]), scan(integers, 2, X[30:]))


def test_near_integers_of_any_size_are_distinguished_from_integers():
    """Random integers around a centre of any size, one entry off by a little: below, at and above what rounds away."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        centre = float(2 ** rng.integers(0, 40))
        X = centre * rng.integers(0, 2, (1, 9)) + rng.integers(-2, 3, (40, 9))
        X[rng.integers(40), rng.integers(9)] += 2.0 ** -rng.integers(1, 80)
        assert_same(by_products(X, 3, n_threads=1), scan(X, 3))


def test_gaussian_rows_are_decided_about_once(rng):
    X = rng.standard_normal((3000, 50))
    assert by_products(X, 10)[2]["decided"] < 10.5 * len(X)


def test_all_equal_rows_are_not_scanned_by_the_canonical_distance():
    X = np.full((1500, 40), 0.1)
    neighbors = by_products(X, 10, budget=1.0)
    assert neighbors[2]["decided"] < 0.2 * len(X) ** 2
    np.testing.assert_array_equal(neighbors[1][20:], np.tile(np.arange(10), (len(X) - 20, 1)))


def test_memory_map_is_searched_by_blocks(tmp_path, rng):
    X = rng.standard_normal((700, 24)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert_same(graph.squared_neighbors(mapped, 6), scan(X, 6))
    assert_same(by_products(mapped, 6, window_bytes=1.0), scan(X, 6))


def test_simd_levels_agree_through_the_environment():
    program = """
        import hashlib, numpy as np
        from nmlsdr import graph
        X = np.random.default_rng(0).standard_normal((400, 37)) + 1e3
        squared, indices = graph.squared_neighbors(X, 8)
        print(hashlib.sha256(squared.tobytes() + indices.tobytes()).hexdigest())
    """
    answers = set()
    for level in LEVELS:
        environment = {**os.environ, "NMLSDR_SIMD": _graph.SIMD_LEVELS[level]}
        run = [sys.executable, "-c", textwrap.dedent(program)]
        answers.add(subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(answers) == 1


def test_a_level_that_the_processor_lacks_is_refused(monkeypatch):
    monkeypatch.setattr(_graph, "best_simd_level", lambda: 0)
    level = _graph.SIMD_LEVELS[1]
    monkeypatch.setenv("NMLSDR_SIMD", level)
    with pytest.raises(ValueError, match=f"NMLSDR_SIMD={level} needs a processor with {level}"):
        graph.kneighbors(np.arange(6.0).reshape(3, 2), 1)


@pytest.mark.quick_cases("birds", "emotions", "yeast")
@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "birds",
        "emotions",
        "enron",
        "genbase",
        "scene",
        "yeast",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("corel16k001", "medical", "tmc2007-500")),
    ],
)
def test_mulan_sets_are_the_same_everywhere(shared, name):
    from nmlsdr.datasets import load_mulan

    folder = shared / "data" / name
    X = load_mulan(
        next(folder.glob("*-train.arff.gz")), next(folder.glob("*.xml")), drop=["protein"] if name == "genbase" else []
    ).data
    X = (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float32)[:700]
    expected = scan(X.astype(np.float64), 10)
    for n_jobs in (1, 2, 3):
        assert_same(graph.squared_neighbors(X, 10, n_jobs=n_jobs), expected)
    for form in (X.astype(np.float64), np.asfortranarray(X), sparse.csr_array(X), sparse.csr_array(X.astype(float))):
        assert_same(graph.squared_neighbors(form, 10), expected)
    assert_same(by_products(sparse.csr_array(X), 10, postings=0), expected)
    assert_same(by_products(sparse.csr_array(X), 10, postings=1), expected)
