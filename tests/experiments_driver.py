"""Run a small study of invented numbers in a process of its own that a fault may kill.

    python experiments_driver.py OUT [--jobs J] [--fault POINT@N] [--seeds N] [--die METHOD] [--sleep S]
    python experiments_driver.py --serve      runs each line of stdin as such arguments, in a child of its own: a start
                                              without the imports; answers with the child's exit status

POINT is where the process kills itself, at the N-th pass: before-write, inside-write, after-write (of a record, before
it is flushed to the disk), after-flush, before-rename (of a table or figure), after-rename. Used by
test_experiments_kill.py; not a test.
"""

import argparse
import os
import shlex
import signal
import sys
import time
import traceback
import zlib
from functools import partial

import numpy as np

from nmlsdr.experiments.protocol import METRICS, STUDIES, cells_of
from nmlsdr.experiments.report import write_report
from nmlsdr.experiments.results import collect
from nmlsdr.experiments.runner import run_cells
from nmlsdr.experiments.store import RecordStore
from nmlsdr.experiments.toy import toy_section

METHODS = ("MDDMp", "SSMLDR", "NMLSDR")


def work(key, die, sleep):
    """Numbers that depend on the cell's name only."""
    if key.method == die and key.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(sleep)
    if key.method == "SSMLDR" and key.seed == 0 and die == "error":
        return {**key._asdict(), "metrics": {}, "times": {}, "error": "ValueError: on purpose"}
    rng = np.random.default_rng(zlib.crc32(repr(tuple(key)).encode()))
    metrics = dict(zip(METRICS, rng.random(len(METRICS)).tolist(), strict=True))
    return {**key._asdict(), "metrics": metrics, "times": {"embed": 0.0, "classify": 0.0}, "error": None}


def plant(fault):
    """Make the system call of a fault point kill this process at its n-th pass."""
    point, _, number = fault.partition("@")
    passes = int(number or 1)

    def due():
        nonlocal passes
        passes -= 1
        return passes == 0

    def kill():
        os.kill(os.getpid(), signal.SIGKILL)

    real = {"write": os.write, "fsync": os.fsync, "replace": os.replace}
    place, _, call = point.partition("-")

    def write(descriptor, data):
        record = bytes(data).startswith(b'{"study"')
        fatal = record and place in ("before", "inside", "after") and call == "write" and due()
        if fatal and place == "before":
            kill()
        if fatal and place == "inside":
            real["write"](descriptor, bytes(data)[: len(data) // 2])
            kill()
        written = real["write"](descriptor, data)
        if fatal:
            kill()
        return written

    def fsync(descriptor):
        real["fsync"](descriptor)
        if point == "after-flush" and due():
            kill()

    def replace(source, target):
        if point == "before-rename" and due():
            kill()
        real["replace"](source, target)
        if point == "after-rename" and due():
            kill()

    os.write, os.fsync, os.replace = write, fsync, replace


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fault")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--die")
    parser.add_argument("--sleep", type=float, default=0.0)
    args = parser.parse_args(words)
    if args.fault:
        plant(args.fault)
    with RecordStore(args.out, command="the driver") as store:
        cells = cells_of(STUDIES["toy"], seeds=args.seeds, methods=METHODS)
        run_cells(cells, partial(work, die=args.die, sleep=args.sleep), store, jobs=args.jobs)
        section = toy_section(collect(STUDIES["toy"], store.records), size="full", with_figure=False)
        write_report(store.folder, [section], store.records, commands=["the driver"])


def serve():
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                main(shlex.split(line))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with it ignored
    serve() if sys.argv[1:] == ["--serve"] else main()
