"""Killed at any point, a run loses at most the cell in flight, goes on, and ends with the same tables."""

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nmlsdr.experiments.store import RecordStore, StoreError, decode_line

DRIVER = Path(__file__).with_name("experiments_driver.py")
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


def whole_records(out):
    lines = (out / "records.jsonl").read_bytes().splitlines(keepends=True) if (out / "records.jsonl").exists() else []
    return [record for line in lines if (record := decode_line(line)) is not None]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, start):
    out = tmp_path_factory.mktemp("uninterrupted") / "out"
    assert start(out) == 0
    return out


def test_a_second_start_does_no_work(uninterrupted, start):
    before = (uninterrupted / "records.jsonl").read_bytes()
    expected = tables(uninterrupted)
    assert len(whole_records(uninterrupted)) == CELLS
    assert start(uninterrupted, "--die", "MDDMp") == 0  # would die if it computed a cell of seed 1 again
    assert (uninterrupted / "records.jsonl").read_bytes() == before
    assert tables(uninterrupted) == expected


@pytest.mark.parametrize(
    ("fault", "finished"),
    [("before-write@1", 0), ("inside-write@1", 0), ("after-write@1", 1), ("after-flush@1", 1),
     ("before-write@5", 4), ("inside-write@5", 4), ("after-write@5", 5),
     ("before-rename@1", CELLS), ("before-rename@4", CELLS), ("after-rename@3", CELLS)],
)  # fmt: skip
def test_killed_at_a_fault_point(tmp_path, uninterrupted, fault, finished, start):
    out = tmp_path / "out"
    assert start(out, "--fault", fault) == -signal.SIGKILL
    first = whole_records(out)
    assert len(first) == finished
    if (out / "tables").exists():  # each table is whole or not there
        assert all(tables(uninterrupted)[name] == content for name, content in tables(out).items() if name[0] != ".")
    assert start(out) == 0
    records = whole_records(out)
    assert records[: len(first)] == first  # finished cells only grow
    assert len(records) == CELLS
    final = {name: content for name, content in tables(out).items() if not name.startswith(".")}
    assert final == tables(uninterrupted)


def test_killed_again_and_again(tmp_path, uninterrupted, start):
    out = tmp_path / "out"
    finished = 0
    for fault in ("inside-write@2", "inside-write@3", "before-write@2", "after-write@2"):
        assert start(out, "--fault", fault) == -signal.SIGKILL
        assert len(whole_records(out)) > finished
        finished = len(whole_records(out))
    assert start(out) == 0
    assert tables(out) == tables(uninterrupted)


def test_a_dead_worker_takes_only_its_own_cell(tmp_path, uninterrupted, start):
    out = tmp_path / "out"
    assert background(out, "--jobs", 2, "--die", "SSMLDR").wait() == 0
    records = {(r["method"], r["seed"]): r for r in whole_records(out)}
    assert len(records) == CELLS
    assert [key for key, record in records.items() if record["error"]] == [("SSMLDR", 1)]
    assert "worker process died" in records["SSMLDR", 1]["error"]
    assert start(out) == 0  # what failed runs again
    assert tables(out) == tables(uninterrupted)


def test_a_failing_cell_is_recorded_and_the_rest_goes_on(tmp_path, start):
    out = tmp_path / "out"
    assert start(out, "--die", "error") == 0
    assert [record["error"] for record in whole_records(out) if record["error"]] == ["ValueError: on purpose"]
    assert len(whole_records(out)) == CELLS


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_leaves_a_consistent_store(tmp_path, uninterrupted, jobs, start):
    out = tmp_path / "out"
    running = background(out, "--sleep", 0.3, "--jobs", jobs, **QUIET)
    try:
        wait_for(lambda: len(whole_records(out)) >= 2, running)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=300) != 0
    finally:
        running.kill()
        running.wait()
    assert (out / "records.jsonl").read_bytes().endswith(b"\n")
    with RecordStore(out) as store:  # the lock is free
        assert store.notes == []
        assert 2 <= len(store.records) < CELLS
    assert start(out) == 0
    assert tables(out) == tables(uninterrupted)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
@pytest.mark.parametrize("begun", [0, 1], ids=["while workers start", "while they work"])
def test_no_worker_outlives_the_run(tmp_path, how, begun):
    """Idle workers would keep the output of a dead run open for five minutes: who reads it would wait so long."""
    out = tmp_path / "out"
    running = background(out, "--sleep", 0.3, "--jobs", 2, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: len(whole_records(out)) >= begun if begun else (out / ".lock").exists(), running)
        running.send_signal(how)
        begin = time.monotonic()
        running.communicate(timeout=60)  # ends when nobody holds the other end of the pipe
        assert time.monotonic() - begin < 60
        assert running.returncode == -how
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


@pytest.mark.parametrize("torn", [False, True])
def test_a_torn_line_is_cut_off_on_the_disk_before_anything_follows(tmp_path, monkeypatch, torn):
    """Cut off in memory only, half a line could come back after a crash and spoil the record written behind it."""
    with RecordStore(tmp_path) as store:
        store.append({"study": "toy", "dataset": "Toy", "method": "MDDMp", "seed": 0, "error": None})
    path = tmp_path / "records.jsonl"
    whole = path.read_bytes()
    if torn:
        path.write_bytes(whole + whole[: len(whole) // 2])
    calls = []

    def recorded(name, real):
        def call(descriptor, *size):
            calls.append((name, *size))
            return real(descriptor, *size)

        return call

    for name in ("ftruncate", "fsync"):
        monkeypatch.setattr(os, name, recorded(name, getattr(os, name)))
    with RecordStore(tmp_path) as store:
        assert len(store.records) == 1
    calls.remove(("ftruncate", 0))  # of the lock
    assert calls == ([("ftruncate", len(whole)), ("fsync",)] if torn else [])
    assert path.read_bytes() == whole


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(descriptor, data):
        raise OSError(28, "No space left on device")

    record = {"study": "toy", "dataset": "Toy", "method": "MDDMp", "seed": 0, "error": None}
    with RecordStore(tmp_path) as store:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left on device") as caught:
            store.append(record)
        monkeypatch.undo()
    assert caught.value.filename == str(tmp_path / "records.jsonl")


def test_a_second_start_names_the_holder(tmp_path):
    out = tmp_path / "out"
    running = background(out, "--sleep", 20)
    try:
        wait_for(lambda: (out / ".lock").exists() and (out / ".lock").stat().st_size > 0, running)
        with pytest.raises(StoreError, match=rf"in use by process {running.pid} on .* \(the driver, since"):
            RecordStore(out)
    finally:
        running.kill()
        running.wait()
    with RecordStore(out):
        pass


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("NMLSDR_RANDOM_KILLS", "0") in ("", "0"), reason="set NMLSDR_RANDOM_KILLS=N to run")
def test_random_kills(tmp_path, uninterrupted, start):
    out = tmp_path / "out"
    chance = random.Random(int(os.environ.get("NMLSDR_TEST_SEED", "0")))
    finished = 0
    for _ in range(int(os.environ["NMLSDR_RANDOM_KILLS"])):
        running = background(out, "--sleep", 0.05, "--jobs", chance.choice([1, 2]), **QUIET)
        time.sleep(chance.uniform(0.3, 3.0))
        running.kill()
        running.wait()
        assert len(whole_records(out)) >= finished
        finished = len(whole_records(out))
    assert start(out) == 0
    assert tables(out) == tables(uninterrupted)


def wait_for(condition, running, seconds=300.0):
    end = time.monotonic() + seconds
    while not condition():
        assert running.poll() is None, "the run ended early"
        assert time.monotonic() < end, "the run hangs"
        time.sleep(0.02)
