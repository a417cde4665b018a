"""The table of C functions, called without a compiler: the bits of Python, any number of threads, a forked child."""

import multiprocessing
import pydoc
import re
from pathlib import Path

import numpy as np
import pytest
from c_api_table import (
    COSINE,
    EUCLIDEAN,
    FLOAT64,
    Quality,
    at,
    case,
    neighbor_graph,
    new_index,
    propagate,
    search,
    table,
    transition,
)
from c_headers import BAD_K, BAD_SIZE, UNKNOWN_NAME
from neighbor_cases import assert_same
from scipy import sparse

import nmlsdr
from nmlsdr import c_api, graph


def test_get_include_returns_the_folder_of_the_header_with_the_version_of_the_table():
    header = (Path(nmlsdr.get_include()) / "nmlsdr.h").read_text()
    assert f"#define NMLSDR_API {table().version}\n" in header


def test_help_shows_the_table_alone():
    text = pydoc.plain(pydoc.render_doc(c_api))
    assert re.findall(r"^(CLASSES|FUNCTIONS)", text, re.MULTILINE) == []
    assert c_api.__all__ == ["TABLE"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_nearest_and_an_index_return_the_bits_of_kneighbors(dtype, metric, rng):
    X = rng.integers(-2, 3, (300, 9)).astype(dtype)
    Q = rng.standard_normal((40, 9)).astype(dtype)
    # rows without a direction
    X[[3, 7]] = 0
    Q[2] = 0
    number = COSINE if metric == "cosine" else EUCLIDEAN

    def same(distances):
        return distances if metric == "cosine" else np.sqrt(distances)

    for queries in (None, Q):
        code, distances, indices = search(X, 5, queries, number)
        expected = graph.kneighbors(X, 5, queries=queries, metric=metric)
        assert code == 0
        assert_same((same(distances), indices), expected)
    code, index = new_index(X, number)
    assert code == 0
    expected = graph.kneighbors(X, 5, queries=Q, metric=metric)
    # the index has a copy
    copied_rows = X.copy()
    X[:] = 9
    for queries in (Q, Q.astype(np.float64)):  # of both types, and twice
        code, distances, indices = search(X, 5, queries, index=index, kind=int(queries.dtype == np.float64))
        assert code == 0
        assert_same((same(distances), indices), expected)
    assert search(X, 5, Q[:0], index=index)[0] == 0
    assert search(copied_rows, 301, Q, index=index)[0] == BAD_K
    assert search(copied_rows[:, :4].copy(), 3, Q[:, :4].copy(), index=index)[0] == BAD_SIZE
    table().index_free(index)
    table().index_free(None)


# ---------------------------------------------------------------- threads, a forked child, SIMD levels


@pytest.mark.parametrize("n_threads", [0, -1, -(2**31)])
def test_a_number_of_threads_below_one_stands_for_all_cores(n_threads, monkeypatch):
    from nmlsdr._process import threads

    X, Y, alpha, _ = case(60)
    arguments = X, Y, alpha, graph.neighbor_graph(X, 5)
    expected = _every_function(*arguments)
    thread_requests = []
    monkeypatch.setattr(threads, "check_n_jobs", lambda n_jobs: thread_requests.append(n_jobs) or 2)
    outputs = _every_function(*arguments, n_threads=n_threads)
    assert thread_requests.count(None) == 1  # of `propagate`, the only call of Python
    for before, after in zip(expected, outputs, strict=True):
        np.testing.assert_array_equal(after, before)


def test_absurd_thread_counts_are_clipped():
    X, Y, alpha, _ = case(60)
    W = graph.neighbor_graph(X, 5)
    np.testing.assert_array_equal(propagate(W, Y, alpha, n_threads=2**31 - 1)[1], propagate(W, Y, alpha)[1])


def _every_function(X, Y, alpha, W, n_threads=2):
    """What each function of the table answers, in eight calls."""
    outputs = []
    for rows in (X.astype(np.float32), X):
        search_outputs = search(rows, 5, n_threads=n_threads)
        edges, indptr, columns = neighbor_graph(search_outputs[2], n_threads)
        outputs += [*search_outputs, *search(rows, 5, rows, n_threads=n_threads)]
    code, F = propagate(W, Y, alpha, n_threads=n_threads)
    T = transition(W.indptr, W.indices, W.data, n_threads=n_threads)
    return [*outputs, edges, indptr, columns[: max(edges, 0)], code, F, *T]


def _child(pipe, *arguments):
    pipe.send(_every_function(*arguments))
    pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
# Python 3.12 warns of any fork in a process with threads; libgomp's workers are threads.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("d", [7, 20])  # by the tree, by products
def test_every_function_works_in_a_forked_child(d):
    """The parent has run a team of two threads, which its child does not have."""
    X, Y, alpha, _ = case(3000, d)
    arguments = X, Y, alpha, graph.neighbor_graph(X, 5)
    expected = _every_function(*arguments)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(theirs, *arguments))
    child.start()
    theirs.close()
    try:
        assert ours.poll(60), "the forked child hangs"
        outputs = ours.recv()
        child.join(30)
    finally:
        child.kill()
    for before, after in zip(expected, outputs, strict=True):
        np.testing.assert_array_equal(after, before)


def test_the_forced_simd_level_applies_to_c_too(monkeypatch):
    X, Y, alpha, _ = case(3000, 20)
    W = graph.neighbor_graph(X, 5)
    arguments = X, Y, alpha, W
    expected = _every_function(*arguments)
    monkeypatch.setenv("NMLSDR_SIMD", "portable")
    outputs = _every_function(*arguments)
    for before, after in zip(expected, outputs, strict=True):
        np.testing.assert_array_equal(after, before)
    monkeypatch.setenv("NMLSDR_SIMD", "sse9")
    squared = np.empty((3000, 5))
    indices = np.empty((3000, 5), np.intp)
    arguments = at(X), 3000, None, 0, 20, 5, at(squared), at(indices), 2
    assert table().nearest(FLOAT64, EUCLIDEAN, *arguments) == UNKNOWN_NAME
    assert propagate(W, Y, alpha)[0] == UNKNOWN_NAME


# ---------------------------------------------------------------- propagation


def test_unreached_rows_are_counted_without_a_warning():
    """Warnings are errors in this suite; for C there are numbers."""
    X, Y, alpha, labeled = case(n_isolated=40)
    quality = Quality()
    code, F = propagate(graph.neighbor_graph(X, 5), Y, alpha, labeled.astype(np.uint8), quality=quality)
    assert code == 0
    assert quality.n_unreached == 40
    assert not F[-40:].any()
    assert quality.residual <= 1e-8
    assert quality.error_bound < 1e-6


def test_a_tolerance_that_is_not_reached_shows_in_the_residual():
    X, Y, alpha, labeled = case()
    quality = Quality()
    code, F = propagate(graph.neighbor_graph(X, 5), Y, alpha, labeled.astype(np.uint8), 1e-30, quality)
    assert code == 0
    assert 1e-30 < quality.residual < 1e-14
    assert np.isfinite(F).all()


def test_rows_without_edges_and_graphs_without_edges():
    code, values = transition([0, 0, 1, 2], [2, 1])
    assert (code, values.tolist()) == (0, [1.0, 1.0])
    assert transition([0, 0, 0], [])[0] == 0
    code, F = propagate(sparse.csr_array((2, 2)), np.array([[1.0], [0.0]]), np.array([0.5, 0.5]))
    assert (code, F.tolist()) == (0, [[0.5], [0.0]])  # (1 - alpha) Y
