"""Killed at any point, a run loses at most the cell in flight, goes on, and ends with the same tables."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nmlsdr.experiments.store import RecordStore, decode_line

DRIVER = Path(__file__).with_name("experiments_driver.py")
CELLS = 9


def drive(out, *options, check=True):
    done = subprocess.run([sys.executable, str(DRIVER), str(out), *map(str, options)], capture_output=True, text=True)
    if check:
        assert done.returncode == 0, done.stderr
    return done


def tables(out):
    """The bytes of everything that is final: tables, without times and without the report that tells versions."""
    return {path.name: path.read_bytes() for path in sorted((out / "tables").iterdir())}


def whole_records(out):
    lines = (out / "records.jsonl").read_bytes().splitlines(keepends=True) if (out / "records.jsonl").exists() else []
    return [record for line in lines if (record := decode_line(line)) is not None]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    out = tmp_path_factory.mktemp("uninterrupted") / "out"
    drive(out)
    return out


def test_a_second_start_does_no_work(uninterrupted):
    before = (uninterrupted / "records.jsonl").read_bytes()
    expected = tables(uninterrupted)
    assert len(whole_records(uninterrupted)) == CELLS
    drive(uninterrupted, "--die", "MDDMp")  # would die if it computed a cell of seed 1 again
    assert (uninterrupted / "records.jsonl").read_bytes() == before
    assert tables(uninterrupted) == expected


@pytest.mark.parametrize(
    ("fault", "finished"),
    [("before-write@1", 0), ("inside-write@1", 0), ("after-write@1", 1), ("after-flush@1", 1),
     ("before-write@5", 4), ("inside-write@5", 4), ("after-write@5", 5),
     ("before-rename@1", CELLS), ("before-rename@4", CELLS), ("after-rename@3", CELLS)],
)  # fmt: skip
def test_killed_at_a_fault_point(tmp_path, uninterrupted, fault, finished):
    out = tmp_path / "out"
    killed = drive(out, "--fault", fault, check=False)
    assert killed.returncode == -signal.SIGKILL
    first = whole_records(out)
    assert len(first) == finished
    if (out / "tables").exists():  # each table is whole or not there
        assert all(tables(uninterrupted)[name] == content for name, content in tables(out).items() if name[0] != ".")
    drive(out)
    records = whole_records(out)
    assert records[: len(first)] == first  # finished cells only grow
    assert len(records) == CELLS
    final = {name: content for name, content in tables(out).items() if not name.startswith(".")}
    assert final == tables(uninterrupted)


def test_killed_again_and_again(tmp_path, uninterrupted):
    out = tmp_path / "out"
    finished = 0
    for fault in ("inside-write@2", "inside-write@3", "before-write@2", "after-write@2"):
        assert drive(out, "--fault", fault, check=False).returncode == -signal.SIGKILL
        assert len(whole_records(out)) > finished
        finished = len(whole_records(out))
    drive(out)
    assert tables(out) == tables(uninterrupted)


def test_two_jobs_give_the_same_tables(tmp_path, uninterrupted):
    drive(tmp_path / "out", "--jobs", 2)
    assert tables(tmp_path / "out") == tables(uninterrupted)


def test_a_dead_worker_takes_only_its_own_cell(tmp_path, uninterrupted):
    out = tmp_path / "out"
    drive(out, "--jobs", 2, "--die", "SSMLDR")
    records = {(r["method"], r["seed"]): r for r in whole_records(out)}
    assert len(records) == CELLS
    assert [key for key, record in records.items() if record["error"]] == [("SSMLDR", 1)]
    assert "worker process died" in records["SSMLDR", 1]["error"]
    drive(out)  # what failed runs again
    assert tables(out) == tables(uninterrupted)


def test_a_failing_cell_is_recorded_and_the_rest_goes_on(tmp_path):
    out = tmp_path / "out"
    drive(out, "--die", "error")
    assert [record["error"] for record in whole_records(out) if record["error"]] == ["ValueError: on purpose"]
    assert len(whole_records(out)) == CELLS


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_leaves_a_consistent_store(tmp_path, uninterrupted, jobs):
    out = tmp_path / "out"
    running = subprocess.Popen(
        [sys.executable, str(DRIVER), str(out), "--sleep", "0.3", "--jobs", str(jobs)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lambda: len(whole_records(out)) >= 2, running)
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) != 0
    assert (out / "records.jsonl").read_bytes().endswith(b"\n")
    with RecordStore(out) as store:  # the lock is free
        assert store.notes == []
        assert 2 <= len(store.records) < CELLS
    drive(out)
    assert tables(out) == tables(uninterrupted)


def test_a_second_start_names_the_holder(tmp_path):
    out = tmp_path / "out"
    running = subprocess.Popen([sys.executable, str(DRIVER), str(out), "--sleep", "20"])
    try:
        wait_for(lambda: (out / ".lock").exists() and (out / ".lock").stat().st_size > 0, running)
        second = drive(out, check=False)
        assert second.returncode == 1
        assert f"in use by process {running.pid} on" in second.stderr
        assert "the driver" in second.stderr
    finally:
        running.kill()
        running.wait()
    with RecordStore(out):
        pass


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("NMLSDR_RANDOM_KILLS", "0") in ("", "0"), reason="set NMLSDR_RANDOM_KILLS=N to run")
def test_random_kills(tmp_path, uninterrupted):
    out = tmp_path / "out"
    chance = random.Random(int(os.environ.get("NMLSDR_TEST_SEED", "0")))
    finished = 0
    for _ in range(int(os.environ["NMLSDR_RANDOM_KILLS"])):
        running = subprocess.Popen(
            [sys.executable, str(DRIVER), str(out), "--sleep", "0.05", "--jobs", str(chance.choice([1, 2]))],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(chance.uniform(0.3, 3.0))
        running.kill()
        running.wait()
        assert len(whole_records(out)) >= finished
        finished = len(whole_records(out))
    drive(out)
    assert tables(out) == tables(uninterrupted)


def wait_for(condition, running, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert running.poll() is None, "the run ended early"
        assert time.monotonic() < end, "the run hangs"
        time.sleep(0.02)
