"""Large work says its estimate before it starts, to whoever listens, and costs nothing where nobody does."""

import logging
import time
import tracemalloc

import numpy as np
import pytest
from commands import assert_done, label_columns
from scipy import sparse

from nmlsdr import MLkNN, MultiLabelPropagation, graph
from nmlsdr._search import estimate as _large_work
from nmlsdr._search.estimate import Estimate, estimate_search, say_if_large

COLUMNS = ["--label-columns", label_columns()]


@pytest.fixture
def all_is_large(monkeypatch):
    """Gates that let everything through, and a search that is said to take three minutes."""
    calls = []

    def three_minutes(rows, n_neighbors, *, n_queries=None, n_jobs=None):
        calls.append((rows.shape, n_neighbors, n_queries))
        return Estimate(180.0, 3 * 2**29, 96, 2)

    monkeypatch.setattr(_large_work, "PROBE_FROM", 0.0)
    monkeypatch.setattr(_large_work, "estimate_search", three_minutes)
    return calls


@pytest.fixture
def heard(caplog):
    caplog.set_level(logging.INFO, "nmlsdr")
    return caplog


def draw(rng, n=60):
    return rng.normal(size=(n, 4)), (rng.random((n, 3)) < 0.5).astype(int)


def test_the_log_names_time_threads_and_memory_and_that_they_are_estimates(heard, all_is_large, rng):
    say_if_large(rng.normal(size=(60, 4)), 10)
    say_if_large(rng.normal(size=(60, 4)), 10, n_queries=7)
    messages = [record.message for record in heard.records if record.levelname == "INFO"]  # a slow build has a warning
    tail = "with 4 features, will take about 3 min on 2 threads and 1.5 GiB in addition to the data; "
    tail += "this is an estimate from a probe of 96 rows."
    assert messages == [
        f"The 10 nearest neighbours of 60 rows, {tail}",
        f"The 10 nearest neighbours of 7 rows among 60, {tail}",
    ]


def test_nothing_is_probed_if_the_log_is_disabled(caplog, all_is_large, rng):
    caplog.set_level(logging.WARNING, "nmlsdr")
    MultiLabelPropagation().fit(*draw(rng))
    assert all_is_large == []


def count_estimates(monkeypatch):
    calls = []

    def one_second(rows, n_neighbors, **options):
        calls.append(rows.shape)
        return Estimate(1.0, 1, 96, 1)

    monkeypatch.setattr(_large_work, "estimate_search", one_second)
    return calls


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_queries", "probed"),
    [(5_000, 300, None, False), (200_000, 10, None, True), (5_000, 300, 10_000_000, True), (200_000, 10, 10, False)],
)
def test_small_work_is_not_probed(heard, monkeypatch, n_rows, n_features, n_queries, probed):
    """Pairs times features decide, at the size of some seconds."""
    calls = count_estimates(monkeypatch)
    rows = np.broadcast_to(np.float32(0), (n_rows, n_features))
    say_if_large(rows, 10, n_queries=n_queries)
    assert bool(calls) is probed
    assert heard.messages == []  # a second of work is not worth a sentence


def test_stored_entries_count_in_sparse_rows(heard, monkeypatch):
    calls = count_estimates(monkeypatch)
    say_if_large(sparse.csr_array((200_000, 10)), 10)
    assert calls == []


def test_half_of_the_memory_is_large_too(heard, monkeypatch):
    monkeypatch.setattr(_large_work, "memory_bytes", lambda: 1e6)
    say_if_large(np.zeros((2_000, 2)), 10)
    assert len(heard.messages) == 1
    heard.clear()
    say_if_large(np.zeros((200, 2)), 10)
    assert heard.messages == []


def test_fit_and_predict_each_log_the_estimate_once(heard, all_is_large, rng, monkeypatch):
    monkeypatch.setattr("nmlsdr._estimators._classifier._QUERY_ROWS", 7)
    X, Y = draw(rng)
    model = MLkNN(5).fit(X, Y)
    assert all_is_large == [((60, 4), 5, None)]
    model.predict_proba(X[:30])
    assert all_is_large == [((60, 4), 5, None), ((60, 4), 5, 30)]
    MultiLabelPropagation(5).fit(X, Y).predict(X[:30])
    assert all_is_large[2:] == [((60, 4), 5, None), ((60, 4), 5, 30)]


def test_other_neighbours_than_the_exact_ones_are_not_estimated(heard, all_is_large, rng):
    X, Y = draw(rng)
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    MLkNN(5, neighbors="precomputed").fit(distances, Y).predict(distances)
    assert all_is_large == []


def test_the_command_line_prints_the_estimate(run, tables, all_is_large):
    outcome = run("fit", "train.csv", *COLUMNS, "--out", "model.skops")
    assert (outcome.status, outcome.out) == (0, "")
    *lines, written = outcome.err.splitlines()
    assert written.startswith("nmlsdr: wrote model.skops: ")
    about = "nmlsdr: The {} nearest neighbours of {}, with ".format
    searches = [(10, "60 rows"), (20, "60 rows"), (20, "60 rows")]  # graphs of the projection, and of the residuals
    searches += [(20, "3 rows among 60")] * 2  # the answers for three rows that the file keeps
    assert len(lines) == len(searches)
    assert all(line.startswith(about(*search)) for line, search in zip(lines, searches, strict=True))
    assert all(line.endswith("this is an estimate from a probe of 96 rows.") for line in lines)
    assert_done(run("predict", "model.skops", "test.csv", *COLUMNS, "-q", "--out", "labels.csv"))
    logger = logging.getLogger("nmlsdr")
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)  # a program that calls main() gets its logger back


@pytest.mark.slow
def test_estimate_is_near_the_time(rng):
    """On one thread, so that other work weighs on both alike; within a factor of four, the best of three pairs."""
    X = rng.normal(size=(30_000, 60))
    ratios = []
    for _ in range(3):
        began = time.perf_counter()
        graph.squared_neighbors(X, 10, n_jobs=1)
        took = time.perf_counter() - began
        ratios.append(estimate_search(X, 10, n_jobs=1).seconds / took)
    assert min(abs(np.log(ratios))) < np.log(4), ratios


def test_estimate_falls_with_threads_and_grows_with_queries(monkeypatch, rng):
    """One query takes .01 s."""
    monkeypatch.setattr(_large_work, "_probe", lambda rows, n_neighbors, n_queries: 0.01 * n_queries)
    X = rng.normal(size=(20_000, 4))
    estimate = estimate_search(X, 10, n_jobs=1)
    assert estimate.seconds == pytest.approx(0.01 * 20_000 / 2)  # each pair of two rows serves both
    assert estimate.n_probed == 768
    assert estimate_search(rng.normal(size=(20_000, 40)), 10).n_probed == 768
    assert estimate_search(np.broadcast_to(np.float32(0), (1_000_000, 300)), 10).n_probed == 96
    assert estimate_search(X, 10, n_jobs=4).seconds == pytest.approx(estimate.seconds / 4)
    assert estimate_search(X, 10, n_queries=10_000, n_jobs=1).seconds == pytest.approx(0.01 * 10_000)


def test_bytes_are_those_of_lists_and_graph(rng):
    X = rng.normal(size=(20_000, 30))
    tracemalloc.start()
    graph.neighbor_graph(X, 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    estimate = _large_work.BYTES_PER_NEIGHBOR * 20_000 * 10
    assert 0.8 * peak < estimate < 1.5 * peak


@pytest.fixture
def built(monkeypatch):
    """A build of the kernels that the test describes."""
    monkeypatch.setattr(_large_work.platform, "machine", lambda: "x86_64")
    _large_work._say_slow_build.cache_clear()
    yield lambda **facts: monkeypatch.setattr(_large_work._graph, "build_facts", lambda: facts)
    _large_work._say_slow_build.cache_clear()


def test_a_build_for_arm_is_described_by_its_own_vectors(caplog, all_is_large, built, rng, monkeypatch):
    monkeypatch.setattr(_large_work.platform, "machine", lambda: "aarch64")
    built(openmp=1, n_simd_levels=1)
    say_if_large(rng.normal(size=(60, 4)), 10)
    assert "without NEON;" in caplog.messages[0]
    caplog.clear()
    _large_work._say_slow_build.cache_clear()
    built(openmp=1, n_simd_levels=2)
    say_if_large(rng.normal(size=(60, 4)), 10)
    assert not any("without NEON" in message for message in caplog.messages)


@pytest.mark.parametrize(
    ("openmp", "levels", "without"),
    [
        (0, 3, "without OpenMP (one thread does all);"),
        (201511, 1, "without AVX2 and AVX-512;"),
        (0, 1, "without OpenMP (one thread does all) and without AVX2 and AVX-512;"),
    ],
)
def test_the_first_large_search_of_a_slow_build_warns_once(caplog, all_is_large, built, rng, openmp, levels, without):
    built(openmp=openmp, n_simd_levels=levels)
    caplog.set_level(logging.WARNING, "nmlsdr")
    for _ in range(2):
        say_if_large(rng.normal(size=(60, 4)), 10)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert without in record.message
    assert all_is_large == []  # nothing is probed for it


def test_small_searches_and_full_builds_do_not_warn(caplog, built, monkeypatch, rng):
    built(openmp=0, n_simd_levels=1)
    say_if_large(rng.normal(size=(60, 4)), 10)
    built(openmp=201511, n_simd_levels=3)
    monkeypatch.setattr(_large_work, "PROBE_FROM", 0.0)
    say_if_large(rng.normal(size=(60, 4)), 10)
    assert caplog.records == []
