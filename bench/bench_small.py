"""Small fits on a quiet machine and beside two busy processes, and scikit-learn's neighbours under the same load.

    python bench/bench_small.py                 # a minute

The quiet and the loaded rounds take turns; the busy processes are stopped in between.  Results go to a folder of their
own unless --replace is given.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable
from typing import Any

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import numpy as np
from _harness import add_replace, alternate_with_cpu, better_half, busy, choose_folder, save_table
from sklearn.neighbors import KNeighborsClassifier

from nmlsdr import NMLSDR

SIZES = [(200, 20, 6), (500, 50, 6), (2000, 100, 14), (5000, 100, 14)]
TURNS = 5
ROUNDS = 8


def data(n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, true labels, and labels that seven in ten rows lack."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    Y = (X[:, :c] + rng.standard_normal((n, c)) > 0.5).astype(int)
    return X, Y, np.where(rng.random(n)[:, None] < 0.7, -1, Y)


def contestants(n: int, d: int, c: int) -> dict[str, Callable[[], Any]]:
    X, Y, known = data(n, d, c)
    return {
        "NMLSDR().fit": lambda: NMLSDR().fit(X, known),
        "KNeighborsClassifier": lambda: KNeighborsClassifier(10, n_jobs=-1).fit(X, Y).predict(X),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--busy", type=int, default=2, help="busy processes")
    add_replace(parser)
    options = parser.parse_args(arguments)
    choose_folder(options.replace)
    load = os.getloadavg()[0]
    cases = {(size, name): run for size in SIZES for name, run in contestants(*size).items()}
    times: dict[str, dict[Any, list[float]]] = {state: {case: [] for case in cases} for state in ("quiet", "loaded")}
    worked = {case: [] for case in cases}
    for _ in range(TURNS):
        for state, count in (("quiet", 0), ("loaded", options.busy)):
            with busy(count):
                seconds, cpu = alternate_with_cpu(cases, rounds=ROUNDS)
            for case in cases:
                times[state][case] += seconds[case]
                if state == "quiet":
                    worked[case] += cpu[case]
    rows = []
    for (n, d, c), name in cases:
        case = (n, d, c), name
        quiet = better_half(times["quiet"][case])
        loaded = statistics.median(times["loaded"][case])
        rows.append(
            {
                "n": n,
                "D": d,
                "C": c,
                "what": name,
                "least": 1e3 * min(times["quiet"][case]),
                "quiet": 1e3 * quiet,
                "cpu": 1e3 * better_half(worked[case]),
                "loaded": 1e3 * loaded,
                "ratio": loaded / quiet,
            }
        )
    ours = [row for row in rows if row["what"] == "NMLSDR().fit"]
    save_table(
        "small",
        title="Small fits",
        command="python bench/bench_small.py",
        rows=rows,
        columns=[
            ("n", "rows", "d"),
            ("D", "features", "d"),
            ("C", "labels", "d"),
            ("what", "what", "s"),
            ("least", "least", ".2f ms"),
            ("quiet", "quiet", ".2f ms"),
            ("cpu", "CPU", ".2f ms"),
            ("loaded", "loaded", ".2f ms"),
            ("ratio", "loaded / quiet", ".2f x"),
        ],
        values={
            "load": load,
            "most": max(row["ratio"] for row in ours),
            **{f"fit_{row['n']}": row["least"] for row in ours},
        },
        notes=f"least: the shortest of {TURNS * ROUNDS} rounds on the quiet machine; quiet: the median of the better "
        f"half of them, and CPU: the same of their processor time. loaded: the median of as many rounds beside "
        f"{options.busy} busy processes. KNeighborsClassifier: fit and predict of the same rows, all labelled, "
        f"on all cores. The load average was {load:.1f} before the first round.",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
