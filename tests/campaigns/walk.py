"""Count the files of nmlsdr that a call enters, and the moves between them.

    python tests/campaigns/walk.py

A move is a call from a function of one Python file of the package into a function of another one.  Each case runs once
before it is counted, so that imports and first calls do not count.
"""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import nmlsdr
from nmlsdr import graph
from nmlsdr.cli import main

ROOT = str(Path(nmlsdr.__file__).parent) + os.sep


def walk(call):
    """The files that a call enters, in order, and how many calls go from one of them into another."""
    entered = {}
    moves = 0

    def note(frame, event, _):
        nonlocal moves
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(ROOT):
            return
        entered.setdefault(name[len(ROOT) :])
        back = frame.f_back
        while back is not None and not back.f_code.co_filename.startswith(ROOT):
            back = back.f_back
        moves += back is not None and back.f_code.co_filename != name

    call()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(entered), moves


def cases(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    Y = (X[:, :2] + 0.5 * rng.normal(size=(200, 2)) > 0).astype(int)
    Y[120:] = -1
    table = Path(folder) / "table.csv"
    header = [f"x{j}" for j in range(6)] + ["a", "b"]
    labels = np.where(Y == -1, "", Y.astype(str)).tolist()
    rows = [[*map(repr, x), *y] for x, y in zip(X.tolist(), labels, strict=True)]
    table.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    words = ["report", str(table), "--label-columns", "a,b", "--out", str(Path(folder) / "report.html"), "--jobs", "1"]
    yield "kneighbors", lambda: graph.kneighbors(X, 5, n_jobs=1)
    yield "NMLSDR.fit", lambda: nmlsdr.NMLSDR(n_jobs=1).fit(X, Y)
    yield "ResidualPropagation.fit", lambda: nmlsdr.ResidualPropagation(n_jobs=1).fit(X, Y)
    yield "nmlsdr report", lambda: main(words)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name, call in cases(folder):
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                files, moves = walk(call)
            print(f"{name:24} {len(files):3} files entered, {moves:5} moves between files")
            if "-v" in sys.argv:
                print("   ", " ".join(files))
