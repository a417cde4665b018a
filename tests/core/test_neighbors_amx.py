"""Products of 8-bit integers by the tiles of AMX find the same bits as all canonical distances.

The level ``amx_emulated``, which every build has, differs from ``amx`` in the instructions only: its tiles are arrays,
and their products are loops of plain C.  Where the processor has AMX and the build its level, the last test repeats the
others with the true instructions.
"""

import itertools
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import reference
from neighbor_cases import AMX_EMULATED, LEVELS, MAKERS, assert_same, by_leads, by_products, make, scan
from scipy import sparse

from nmlsdr import _graph, graph


@pytest.fixture
def level():
    return AMX_EMULATED


def by_tiles(X, k, *, level=AMX_EMULATED, n_threads=1, **options):
    """The neighbours by tiles; no thread holds them afterwards."""
    found = by_products(X, k, integers=8, level=level, n_threads=n_threads, **options)
    assert found[2]["tiled"]
    assert found[2]["tiles_held"] == 0
    return found


@pytest.mark.parametrize("d", [200, 255, 256, 257, 320, 1000])
@pytest.mark.parametrize("name", ["gauss", "integers"])
def test_any_number_of_features_and_rows(name, d, level):
    """Rows that fill no tile, part of one, one exactly, and more than a block; most distances of integers are equal."""
    X = make(name, (211, d), d)
    for n, k in ((2, 1), (16, 1), (33, 10), (96, 80), (211, 10)):
        assert_same(by_tiles(X[:n], k, level=level), reference.kneighbors(X[:n], k) if n < 40 else scan(X[:n], k))
    Q = np.concatenate([X[::9], 0.75 * X[::7]])
    for k, n_threads in ((1, 1), (10, 2), (80, 2)):
        assert_same(by_tiles(X, k, queries=Q, level=level, n_threads=n_threads), scan(X, k, Q))


@pytest.mark.quick_cases("gauss", "binary", "three rows", "outlier", "largest", "rows of all scales")
@pytest.mark.parametrize("name", MAKERS)
def test_every_kind_of_data(name, level):
    """Rows beyond the range of the scale are compared as floats, and so are rows that have no range."""
    X = make(name, (307, 203), 3)
    Q = np.concatenate([X[::9], 0.75 * X[::7]])
    for k, options in itertools.product((1, 10, 80), ({}, {"n_threads": 2, "window_bytes": 1.0, "budget": 1.0})):
        for queries in (None, Q):
            found = by_products(X, k, queries=queries, integers=8, level=level, **options)
            beyond = name in ("squares underflow", "denormal", "largest") or (name == "all equal" and queries is None)
            assert found[2]["tiled"] != beyond
            assert_same(found, scan(X, k, queries))


@pytest.mark.parametrize("name", ["gauss", "binary", "duplicates", "outlier"])
def test_every_kind_of_storage_and_leading_coordinates(name, level):
    X = make(name, (403, 210), 4).astype(np.float32)
    X.flags.writeable = False
    few = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0))
    assert_same(by_tiles(X, 9, level=level), scan(X, 9))
    assert_same(by_tiles(few, 9, level=level, postings=0), scan(few, 9))
    for queries in (None, X[::3] + np.float32(0.25)):
        found = by_leads(X, 9, queries=queries, integers=8, level=level)
        assert found[2]["tiled"]
        assert found[2]["leads"]
        assert_same(found, scan(X, 9, queries))


def test_tiles_that_leading_coordinates_rule_out_are_not_multiplied(level):
    """Rows near a line, in its order.  One value is so large that 8 bits alone rule out almost nothing."""
    rng = np.random.default_rng(0)
    X = 100 * np.sort(rng.random((700, 1)), axis=0) * rng.standard_normal(220) + 0.01 * rng.standard_normal((700, 220))
    X[350, 3] *= 300
    found, without = by_leads(X, 5, integers=8, level=level), by_tiles(X, 5, level=level)
    assert found[2]["tiled"]
    assert found[2]["alive"] < 0.1 * found[2]["tiles"]
    assert found[2]["checked"] < 0.5 * without[2]["checked"]
    assert_same(found, scan(X, 5))
    Q = X[3:600:4] * (1 + 1e-5)  # the pairs of interest lie anywhere in the squares of 32 rows and 32 queries
    for k in (1, 5):
        assert_same(by_leads(X, k, queries=Q, integers=8, level=level), scan(X, k, Q))


def test_most_pairs_are_ruled_out(level):
    """The levels meet pairs in another order; products of the wrong sign would let twice as many through."""
    X = np.random.default_rng(0).standard_normal((1000, 200))
    checked, portable = (by_products(X, 5, integers=8, level=one, n_threads=1)[2]["checked"] for one in (level, 0))
    assert 0.7 * portable < checked < 1.5 * portable < 0.25 * 1000 * 999 / 2


@pytest.mark.parametrize("d", [2100, 4096, 65536])
def test_sums_of_the_largest_integers_are_exact(d, level):
    """Half of the squared norm is between 2^24 and 2^29: a float cannot hold it.  Distances are below 3, or huge."""
    n = 70 if d < 65536 else 20
    X = np.full((n, d), 127.0) * np.where(np.arange(n) % 3, 1, -1)[:, None]
    for i in range(n):
        X[i, : i % 7] -= np.sign(X[i, 0])
    for k in (1, 10):
        found = by_tiles(X, k, level=level)
        assert not found[2]["integral"]
        assert_same(found, scan(X, k))
    assert by_products(X[:4, :199], 1, integers=8, level=level)[2]["tiled"] is False


def test_pairs_exactly_at_the_threshold_pass(level):
    """8 bits are exact here, so the thresholds have no slack.  Half of the squared norms are odd.

    Most distances are equal.  The centre is 0, and products of two rows are smaller than half of their squared norms,
    so that the limits are negative.  A query meets the rows of its own place first, so the row of lower number, which
    wins the tie, often comes later.
    """
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 0.0, 1.0], (700, 224), p=[0.03, 0.92, 0.05])
    assert 200 < ((X**2).sum(axis=1) % 2 == 1).sum() < 500
    rows, Q = X[:400], X[400:]
    for k in (1, 10):
        found = by_tiles(rows, k, level=level, queries=Q)
        assert found[2]["integral"]
        assert_same(found, scan(rows, k, Q))
        assert_same(by_tiles(rows, k, level=level), scan(rows, k))


def test_every_thread_holds_the_tiles_by_itself(level):
    X = make("gauss", (300, 200), 1)
    expected = scan(X, 7)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: by_tiles(X, 7, level=level, n_threads=2), range(8)):
            assert_same(found, expected)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
# Python 3.12 warns of any fork in a process with threads; libgomp's workers are threads.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_holds_the_tiles_by_itself(level):
    X = make("gauss", (150, 200), 1)
    expected = by_tiles(X, 7, level=level)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=lambda: theirs.send(by_tiles(X, 7, level=level)[:2]))
    child.start()
    try:
        assert ours.poll(60), "the forked child hangs"
        assert_same(ours.recv(), expected)
        child.join(30)
    finally:
        child.kill()


@pytest.mark.slow
def test_the_environment_chooses_the_level(monkeypatch, caplog):
    X = np.random.default_rng(0).integers(0, 2, (4000, 300)).astype(np.float32)
    expected = graph.squared_neighbors(X, 10)
    monkeypatch.setenv("NMLSDR_SIMD", "amx_emulated")
    with caplog.at_level("DEBUG", logger="nmlsdr"):
        assert_same(graph.squared_neighbors(X, 10), expected)
    assert ", amx_emulated; " in caplog.text
    assert ", of 8-bit integers" in caplog.text


def test_a_build_without_the_level_does_not_know_it(monkeypatch):
    monkeypatch.setenv("NMLSDR_SIMD", "amx")
    if _graph.best_simd_level() >= 4:
        pytest.skip("this machine runs it")
    sentence = "needs a processor with amx" if "amx" in _graph.SIMD_LEVELS else "must be one of .*, got 'amx'"
    with pytest.raises(ValueError, match=sentence):
        graph.kneighbors(np.arange(6.0).reshape(3, 2), 1)
    assert AMX_EMULATED not in LEVELS


def without_amx():
    if "amx" not in _graph.SIMD_LEVELS:
        return "this build has no level amx; NMLSDR_AMX=1 builds it"
    cpu = Path("/proc/cpuinfo")
    return "" if cpu.exists() and " amx_int8" in cpu.read_text() else "/proc/cpuinfo names no amx_int8"


@pytest.mark.skipif(without_amx() != "", reason=without_amx())
def test_the_true_instructions_find_the_same_bits():
    level = _graph.SIMD_LEVELS.index("amx")
    if _graph.best_simd_level() != level:
        pytest.skip("Linux does not permit this process to use AMX, or XCR0 lacks its tiles")
    for name, d in itertools.product(("gauss", "integers"), (200, 255, 256, 257, 320, 1000)):
        test_any_number_of_features_and_rows(name, d, level)
    for name in MAKERS:
        test_every_kind_of_data(name, level)
    for name in ("gauss", "binary", "duplicates", "outlier"):
        test_every_kind_of_storage_and_leading_coordinates(name, level)
    for d in (2100, 4096, 65536):
        test_sums_of_the_largest_integers_are_exact(d, level)
    test_tiles_that_leading_coordinates_rule_out_are_not_multiplied(level)
    test_most_pairs_are_ruled_out(level)
    test_pairs_exactly_at_the_threshold_pass(level)
    test_every_thread_holds_the_tiles_by_itself(level)
    test_a_forked_child_holds_the_tiles_by_itself(level)
