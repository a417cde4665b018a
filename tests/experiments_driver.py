"""Run a small study of invented numbers in a process of its own that a fault may kill.

    python experiments_driver.py OUT [--jobs J] [--fault POINT@N] [--seeds N] [--die METHOD] [--sleep S]
    python experiments_driver.py --serve      runs each line of stdin as such arguments, in a child of its own: a start
                                              without the imports; answers with the child's exit status

POINT is where the process kills itself, at the N-th pass: before-flush and after-flush (of a file that is written
beside its place), before-rename and after-rename. Cells are the first nine files, then come tables and figures. Used
by test_experiments_kill.py; not a test.
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

from nmlsdr.experiments.benchmarks import toy_section
from nmlsdr.experiments.protocol import MEASURE_NAMES, STUDIES, cells_of
from nmlsdr.experiments.report import write_report
from nmlsdr.experiments.results import collect
from nmlsdr.experiments.store import CellFolder, run_cells

METHODS = ("MDDMp", "SSMLDR", "NMLSDR")


def work(key, die, sleep):
    """Numbers that depend on the cell's name only."""
    if key.method == die and key.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(sleep)
    if key.method == "SSMLDR" and key.seed == 0 and die == "error":
        return {**key._asdict(), "metrics": {}, "times": {}, "error": "ValueError: on purpose"}
    rng = np.random.default_rng(zlib.crc32(repr(tuple(key)).encode()))
    metrics = dict(zip(MEASURE_NAMES, rng.random(len(MEASURE_NAMES)).tolist(), strict=True))
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

    place, _, call = point.partition("-")

    def faulty(name, real):
        def at(*arguments):
            fatal = call == name and due()
            if fatal and place == "before":
                kill()
            real(*arguments)
            if fatal:
                kill()

        return at

    os.fsync = faulty("flush", os.fsync)
    os.replace = faulty("rename", os.replace)


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
    folder = CellFolder(args.out)
    cells = cells_of([STUDIES["toy"]], seeds=args.seeds, methods=METHODS)
    run_cells(cells, partial(work, die=args.die, sleep=args.sleep), folder, jobs=args.jobs)
    section = toy_section([collect(STUDIES["toy"], folder.records)], size="full", with_figure=False)
    write_report(folder, [section], commands=["the driver"])


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
