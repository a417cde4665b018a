"""Another package's Cython cimports the search: the small one of tests/embedding, built against this installation."""

import importlib
import logging
import signal
import time

import numpy as np
import pytest
from neighbor_cases import assert_same, scan

from nmlsdr._search import run


@pytest.fixture(scope="module")
def embedder(small_package):
    return importlib.import_module("nearest")


def answer(embedder, X, k, queries=None, n_threads=2):
    shape = (len(X if queries is None else queries), k)
    squared, indices = np.full(shape, np.nan), np.full(shape, -1, np.intp)
    if queries is None:
        code = embedder.own(X, squared, indices, k, n_threads)
    else:
        code = embedder.to(X, queries, squared, indices, k, n_threads)
    assert code == 0
    return squared, indices


@pytest.mark.slow
def test_the_interface_has_its_number(embedder):
    assert embedder.abi() == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [6, 20])  # by the tree, by products
@pytest.mark.parametrize("n_queries", [None, 7, 300])  # among themselves, pair by pair, by the tree or products
def test_every_entry_point_gives_the_bits_of_the_package(embedder, dtype, d, n_queries):
    """More block pairs than one step does, on one thread and on three."""
    rng = np.random.default_rng(0)
    n = 5000 if d == 20 and n_queries is None else 700
    X = rng.standard_normal((n, d)).astype(dtype)
    Q = None if n_queries is None else rng.standard_normal((n_queries, d)).astype(dtype)
    expected = scan(X, 5, Q)
    for n_threads in (1, 3):
        assert_same(answer(embedder, X, 5, Q, n_threads), expected)


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [None, 1200])
def test_large_rows_are_checked_as_in_python(embedder, n_queries, caplog):
    """Far tight groups and leading coordinates, from a call without the GIL."""
    rng = np.random.default_rng(0)
    far = rng.standard_normal((4200, 12)) + 1e6 * rng.integers(0, 3, (4200, 1))
    folded = np.tanh(rng.standard_normal((4500, 6)) @ rng.standard_normal((6, 80)) / 3)
    for X, way in ((far, "groups"), (folded.astype(np.float32), "leading coordinates")):
        Q = None if n_queries is None else X[:n_queries] + X.dtype.type(0.125)
        with caplog.at_level(logging.DEBUG, logger="nmlsdr"):
            found = answer(embedder, X, 5, Q)
        assert f"neighbours by {way}: " in caplog.messages[-1]
        assert_same(found, scan(X, 5, Q))


@pytest.mark.slow
def test_an_interrupt_of_a_large_search_reaches_the_caller(embedder, monkeypatch):
    X = np.random.default_rng(0).standard_normal((4200, 12))
    squared, indices = np.empty((4200, 5)), np.empty((4200, 5), np.intp)

    def stopped(*given, **options):
        raise KeyboardInterrupt

    codes = []

    def call():
        codes.append(embedder.own(X, squared, indices, 5, 2))
        time.sleep(1)

    monkeypatch.setattr(run, "strategy", stopped)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
    with pytest.raises(KeyboardInterrupt):  # it is set again for the caller's own code
        call()
    signal.signal(signal.SIGINT, before)
    assert codes in ([-3], [])  # before or after it is appended
    monkeypatch.setattr(run, "strategy", lambda *given: 1 / 0)
    assert embedder.own(X, squared, indices, 5, 2) == -4


@pytest.mark.slow
def test_arguments_out_of_range_are_refused(embedder, rng):
    X = rng.standard_normal((30, 9))
    squared, indices = np.empty((30, 30)), np.empty((30, 30), np.intp)
    assert embedder.own(X, squared, indices, 30, 2) == -2  # k must be below n
    assert embedder.own(X, squared, indices, 0, 2) == -2
    assert embedder.own(X, squared, indices, 3, 0) == -2
    assert embedder.to(X, X, squared, indices, 31, 2) == -2
    assert embedder.to(X, X, squared, indices, 30, 2) == 0


@pytest.mark.slow
@pytest.mark.parametrize("d", [6, 20])
def test_absurd_thread_counts_are_clipped(embedder, rng, d):
    """100 000 threads would end the process, 5000 take minutes."""
    X = rng.standard_normal((300, d))
    for n_threads in (5000, 100_000, 2**31 - 1):
        assert_same(answer(embedder, X, 5, None, n_threads), scan(X, 5))
        assert_same(answer(embedder, X, 5, X[:4], n_threads), scan(X, 5, X[:4]))
