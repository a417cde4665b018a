"""Killed at any point, a run loses at most the cell in flight, goes on, and ends with the same tables."""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nmlsdr.experiments.store import CellFolder

DRIVER = Path(__file__).parents[1] / "experiments_driver.py"
CELLS = 9

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the driver kills and forks as POSIX does")


@pytest.fixture(scope="module")
def start():
    """Start the driver with these arguments in a process of its own and return its exit status."""
    server = subprocess.Popen(
        [sys.executable, str(DRIVER), "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def run(out, *options):
        server.stdin.write(shlex.join([str(out), *map(str, options)]) + "\n")
        server.stdin.flush()
        return int(server.stdout.readline())

    yield run
    server.communicate()


def background(out, *options, **streams):
    return subprocess.Popen([sys.executable, str(DRIVER), str(out), *map(str, options)], **streams)


QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def tables(out):
    """The bytes of everything that is final: tables, without times and without the report that tells versions."""
    return {path.name: path.read_bytes() for path in sorted((out / "tables").iterdir())}


def cells(out):
    """The bytes of the finished cells; every file is whole, or reading the folder fails."""
    finished_cells = {path.name: path.read_bytes() for path in (out / "cells").glob("*.json")}
    assert all(json.loads(content)["study"] == "toy" for content in finished_cells.values())
    return finished_cells


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, start):
    out = tmp_path_factory.mktemp("uninterrupted") / "out"
    assert start(out) == 0
    return out


def test_a_second_start_does_no_work(uninterrupted, start):
    before = cells(uninterrupted)
    expected = tables(uninterrupted)
    assert len(before) == CELLS
    assert start(uninterrupted, "--die", "MDDMp") == 0  # would die if it computed a cell of seed 1 again
    assert cells(uninterrupted) == before
    assert tables(uninterrupted) == expected


@pytest.mark.quick_cases("after-rename@5")
@pytest.mark.parametrize(
    ("fault", "finished"),
    [
        ("before-flush@1", 0),
        ("after-flush@1", 0),
        ("before-rename@1", 0),
        ("after-rename@1", 1),
        ("before-rename@5", 4),
        ("after-rename@5", 5),
        (f"before-rename@{CELLS + 1}", CELLS),
        (f"before-rename@{CELLS + 4}", CELLS),
        (f"after-rename@{CELLS + 3}", CELLS),
    ],
)
def test_killed_at_a_fault_point(tmp_path, uninterrupted, fault, finished, start):
    out = tmp_path / "out"
    assert start(out, "--fault", fault) == -signal.SIGKILL
    first = cells(out)
    assert len(first) == finished
    if (out / "tables").exists():  # each table is whole or not there
        assert all(tables(uninterrupted)[name] == content for name, content in tables(out).items() if name[0] != ".")
    assert start(out) == 0
    assert len(cells(out)) == CELLS
    assert cells(out) == {**cells(out), **first}  # a finished cell is not computed again
    final = {name: content for name, content in tables(out).items() if not name.startswith(".")}
    assert final == tables(uninterrupted)


@pytest.mark.slow
def test_killed_again_and_again(tmp_path, uninterrupted, start):
    out = tmp_path / "out"
    finished = 0
    for fault in ("before-rename@2", "after-flush@3", "before-flush@2", "after-rename@2"):
        assert start(out, "--fault", fault) == -signal.SIGKILL
        assert len(cells(out)) > finished
        finished = len(cells(out))
    assert start(out) == 0
    assert tables(out) == tables(uninterrupted)


@pytest.mark.slow
def test_a_dead_worker_ends_the_run_and_the_next_run_resumes_it(tmp_path, uninterrupted, start):
    out = tmp_path / "out"
    assert background(out, "--jobs", 2, "--die", "SSMLDR", **QUIET).wait() != 0
    assert "toy.Toy.SSMLDR.1.json" not in cells(out)
    assert start(out) == 0
    assert tables(out) == tables(uninterrupted)


def test_a_failing_cell_is_recorded_and_the_others_still_run(tmp_path, start, uninterrupted):
    out = tmp_path / "out"
    assert start(out, "--die", "error") == 0
    errors = [json.loads(content)["error"] for content in cells(out).values()]
    assert [error for error in errors if error] == ["ValueError: on purpose"]
    assert len(errors) == CELLS
    assert start(out) == 0  # what failed runs again
    assert tables(out) == tables(uninterrupted)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_leaves_a_consistent_store(tmp_path, uninterrupted, jobs, start):
    out = tmp_path / "out"
    running = background(out, "--sleep", 0.3, "--jobs", jobs, **QUIET)
    try:
        wait_for(lambda: len(cells(out)) >= 2, running)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=300) != 0
    finally:
        running.kill()
        running.wait()
    assert 2 <= len(CellFolder(out).records) < CELLS
    assert start(out) == 0
    assert tables(out) == tables(uninterrupted)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
@pytest.mark.parametrize("begun", [0, 1], ids=["while workers start", "while they work"])
def test_no_worker_outlives_the_run(tmp_path, how, begun):
    """Idle workers would keep the output of a dead run open for five minutes: who reads it would wait so long."""
    out = tmp_path / "out"
    running = background(out, "--sleep", 0.3, "--jobs", 2, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: len(cells(out)) >= begun if begun else (out / "cells").exists(), running)
        running.send_signal(how)
        begin = time.monotonic()
        running.communicate(timeout=60)  # ends when nobody holds the other end of the pipe
        assert time.monotonic() - begin < 60
        assert running.returncode == -how
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    folder = CellFolder(tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as error_info:
        folder.write({"study": "toy", "dataset": "Toy", "method": "MDDMp", "seed": 0, "error": None})
    monkeypatch.undo()
    assert error_info.value.filename == str(tmp_path / "cells" / "toy.Toy.MDDMp.0.json")
    assert list((tmp_path / "cells").iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("NMLSDR_RANDOM_KILLS", "0") in ("", "0"), reason="set NMLSDR_RANDOM_KILLS=N to run")
def test_a_run_that_is_killed_at_random_ends_with_the_same_results(tmp_path, uninterrupted, start):
    out = tmp_path / "out"
    chance = random.Random(int(os.environ.get("NMLSDR_TEST_SEED", "0")))
    finished = 0
    for _ in range(int(os.environ["NMLSDR_RANDOM_KILLS"])):
        running = background(out, "--sleep", 0.05, "--jobs", chance.choice([1, 2]), **QUIET)
        time.sleep(chance.uniform(0.3, 3.0))
        running.kill()
        running.wait()
        assert len(cells(out)) >= finished
        finished = len(cells(out))
    assert start(out) == 0
    assert tables(out) == tables(uninterrupted)


def wait_for(condition, running, seconds=300.0):
    end = time.monotonic() + seconds
    while not condition():
        assert running.poll() is None, "the run ended early"
        assert time.monotonic() < end, "the run hangs"
        time.sleep(0.02)
