"""``nmlsdr bench``: everybody does the same work, and the sentence says who was faster."""

import re
import time

import numpy as np
import pytest
from commands import run  # noqa: F401

from nmlsdr._cli import bench


def contests(ours=0.001, theirs=0.08):
    """Searches that take a known time."""
    return [
        bench.Contest(
            f"work {number}",
            {"nmlsdr": lambda: time.sleep(ours), "slow": lambda: time.sleep(theirs), "absent": None},
        )
        for number in range(2)
    ]


def test_bench_reports_which_package_is_faster(run, monkeypatch):  # noqa: F811
    monkeypatch.setattr(bench, "_contests", lambda n_threads: contests())
    done = run("bench", "--jobs", "1", "--seconds", "0.05")
    assert done.status == 0
    assert re.search(r"slow: nmlsdr is faster in 2 of 2 \([\d.]+ to [\d.]+ x, median [\d.]+ x\)", done.out)
    assert "absent: not installed" in done.out
    assert len(re.findall(r"^(work \d| +) +(nmlsdr|slow) +[\d.]+ ms +[\d.]+ ms", done.out, re.MULTILINE)) == 4
    assert "BLAS: " in done.out
    monkeypatch.setattr(bench, "_contests", lambda n_threads: contests(0.08, 0.001))
    assert "nmlsdr is faster in 0 of 2" in run("bench", "--seconds", "0.05").out


def test_better_half_is_deaf_to_bursts():
    calm = [bench.Result(1.0, 2.0)] * 5
    assert bench._better_half([*calm, *[bench.Result(9.0, 9.0)] * 4]) == bench.Result(1.0, 2.0)


def test_cpu_seconds_count_work_and_not_waiting():
    busy = bench.Contest("", {"nmlsdr": lambda: sum(range(300_000)), "idle": lambda: time.sleep(0.02)})
    found = bench._measure(busy, 0.1)
    assert found["idle"].cpu < 0.5 * found["idle"].seconds
    assert found["nmlsdr"].cpu > 0


@pytest.mark.parametrize(("load", "said"), [(0.5, False), (1e6, True)])
def test_a_busy_machine_is_reported(monkeypatch, load, said):
    monkeypatch.setattr(bench.os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    assert any("other work" in line for line in bench._circumstances()) == said


@pytest.mark.parametrize("peer", ["_ours", "_faiss", "_brute"])
def test_everybody_finds_the_same_neighbours_of_a_new_row(rng, peer):
    X, row = (rng.normal(size=(n, 7)).astype(np.float32) for n in (500, 1))
    search = getattr(bench, peer)(X, 1, row)
    if search is None:
        pytest.skip("faiss is not installed")
    wanted = np.argsort(((X.astype(float) - row) ** 2).sum(axis=1))[: bench.K]
    np.testing.assert_array_equal(np.ravel(search()[1]), wanted)


def test_a_fit_and_its_peer_label_the_same_rows(rng):
    X, Y = rng.normal(size=(80, 4)), rng.random((80, 3)) < 0.5
    assert bench._our_fit(X, Y, 1)().transduction_.shape == bench._classify(X, Y, 1)().shape == (80, 3)


@pytest.mark.parametrize("peer", ["_ours", "_faiss", "_brute", "_tree"])
def test_every_library_of_the_benchmark_finds_the_same_neighbours(rng, peer):
    X = rng.normal(size=(200, 3)).astype(np.float32)
    search = getattr(bench, peer)(X, 1)
    if search is None:
        pytest.skip("faiss is not installed")
    lists = search()[1]
    wanted = bench._ours(X, 1)()[1]
    np.testing.assert_array_equal(lists[:, -bench.K :], wanted)
