"""How time and memory grow with rows, labels and features: fit, predict and review, beside two other classifiers.

    python bench/growth.py --quick                         # the first three sizes of every axis
    python bench/growth.py --axis labels --method nmlsdr   # a piece; what was measured before at this commit stays
    python bench/growth.py                                 # what is missing, then the table and the picture
    python bench/growth.py --replace                       # the same, into bench/results

Every point is a process of its own, so that its peak of memory is its own.  A curve ends where a fit takes more than
--limit seconds.  Exponents are fitted to the last three sizes: smaller ones show what a call costs, not the growth.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import _cases
import _harness
import _worker
import numpy as np

N_THREADS = 2
POINTS = Path(__file__).resolve().parent / "runs" / "growth.jsonl"


class Axis(NamedTuple):
    """One size that varies while the others stay: n rows, D features, C labels."""

    varies: str
    values: Sequence[int]
    fixed: Mapping[str, Any]


AXES = {
    "rows": Axis("n", [1000, 3000, 10_000, 30_000, 100_000], {"D": 50, "C": 10}),
    "labels": Axis("C", [10, 30, 100, 300, 1000], {"n": 5000, "D": 100}),
    "features": Axis("D", [100, 300, 1000, 3000], {"n": 2000, "C": 10}),
    "text": Axis("n", [1000, 3000, 10_000], {"D": 50_000, "C": 20, "values": "text"}),
}


# ---------------------------------------------------------------- one point, in a process of its own


def draw(n: int, D: int, C: int, values: str = "dense") -> tuple[Any, np.ndarray]:
    """Rows of ten factors and noise, or sparse rows with 80 of D words; labels by linear scores, 5 % wrong.

    The scores of "curved" labels are linear in cosines of random mixtures of the features.
    """
    rng = np.random.default_rng(0)
    if values == "text":
        words = (D * rng.random((n, 80)) ** 3).astype(np.int32)  # few words are frequent, most are rare
        ends = 80 * np.arange(n + 1, dtype=np.int32)  # scikit-learn's forest takes no other indices
        X = _cases.sparse.csr_array((np.ones(n * 80), words.ravel(), ends), shape=(n, D))
        X.sum_duplicates()
    else:
        X = rng.standard_normal((n, 10)) @ rng.standard_normal((10, D)) / 3 + 0.5 * rng.standard_normal((n, D))
    inputs = np.cos(X @ rng.standard_normal((D, D)) / D**0.5) if values == "curved" else X
    scores = inputs @ rng.standard_normal((D, C))
    share = np.clip(0.4 / np.arange(1, C + 1) ** 0.7, 2 / n, 0.25)  # some labels are frequent, most are rare
    Y = np.column_stack([scores[:, c] > np.quantile(scores[:, c], 1 - share[c]) for c in range(C)])
    return X, (Y ^ (rng.random(Y.shape) < 0.05 * share)).astype(np.int64)


def by_nmlsdr() -> Any:
    from nmlsdr import ResidualPropagation

    return ResidualPropagation(n_jobs=N_THREADS)


def by_random_forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, n_jobs=N_THREADS, random_state=0)


def by_lightgbm() -> Any:
    from lightgbm import LGBMClassifier
    from sklearn.multioutput import MultiOutputClassifier

    return MultiOutputClassifier(LGBMClassifier(n_jobs=N_THREADS, verbose=-1))


METHODS: dict[str, Callable[[], Any]] = {
    "nmlsdr": by_nmlsdr,
    "random forest": by_random_forest,
    "LightGBM": by_lightgbm,
}


def point(method: str, size: Mapping[str, Any]) -> dict[str, Any]:
    """Seconds, CPU seconds and bytes beyond the input of each step."""
    from nmlsdr.inspection import rank_suspects

    X, Y = draw(**size)
    results = {}
    fitted = []
    small = draw(**{**size, "n": 200, "C": 3})
    METHODS[method]().fit(*small).predict(small[0])  # everything is loaded, before memory is measured
    steps = {
        "fit": lambda n_threads: fitted.append(METHODS[method]().fit(X, Y)),
        "predict": lambda n_threads: fitted[0].predict(X[: len(Y) // 5]),
    }
    if method == "nmlsdr":
        steps["review"] = lambda n_threads: rank_suspects(fitted[0], Y)
    with _harness.threads(N_THREADS):
        for name, step in steps.items():
            wall = time.perf_counter()
            cpu = time.process_time()
            memory = _worker.peak_over(step, N_THREADS)
            results[name] = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "bytes": memory}
    return results


def in_a_process(method: str, size: Mapping[str, Any]) -> dict[str, Any]:
    """`point` in a fresh process; `NotHere` if a library is missing."""
    command = [sys.executable, __file__, "--point", json.dumps({"method": method, "size": size})]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_harness.HERE), *filter(None, sys.path)])}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in process.stderr:
        raise _cases.NotHere(process.stderr.strip().splitlines()[-1])
    if process.returncode:
        raise RuntimeError(f"{method} with {size} failed:\n{process.stderr.strip()[-2000:]}")
    return json.loads(process.stdout.splitlines()[-1])


# ---------------------------------------------------------------- the curves


def measure(
    axes: Sequence[str],
    methods: Sequence[str],
    *,
    quick: bool,
    limit: float,
    points: Path = POINTS,
    report: Any = print,
) -> list[dict[str, Any]]:
    """All points of this commit: those in the file, and those of these axes and methods that it lacks."""
    commit = _harness.commit()
    stored = (each for each in _harness.kept(points) if each["commit"] == commit)
    known = {(each["axis"], each["method"], each["value"]): each for each in stored}
    for axis, method in [(axis, method) for axis in axes for method in methods]:
        varies, values, fixed = AXES[axis]
        for value in values[:3] if quick else values:
            key = axis, method, value
            if key not in known:
                try:
                    steps = in_a_process(method, {**fixed, varies: value})
                except _cases.NotHere as reason:
                    report(f"{method} skipped: {reason}")
                    break
                known[key] = {"axis": axis, "method": method, "value": value, "commit": commit, "steps": steps}
                _harness.keep(points, known[key])
                report(f"{axis} {value} {method}: fit {steps['fit']['seconds']:.2f} s")
            if known[key]["steps"]["fit"]["seconds"] > limit:
                report(f"{method} ends at {value} {axis}: its fit took more than {limit:g} s")
                break
    return list(known.values())


def exponents(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each axis, method and step: its last point, and the exponents of time and memory."""
    curves: dict[tuple[str, str, str], list[tuple[int, Mapping[str, Any]]]] = {}
    for each in points:
        for step, amounts in each["steps"].items():
            curves.setdefault((each["axis"], each["method"], step), []).append((each["value"], amounts))
    rows = []
    for (axis, method, step), curve in curves.items():
        values, amounts = zip(*sorted(curve, key=lambda item: item[0])[-3:], strict=True)
        by_name = {name: [each[name] or 0 for each in amounts] for name in ("seconds", "cpu", "bytes")}
        rows.append(
            {
                "axis": axis,
                "method": method,
                "step": step,
                "range": f"{values[0]} – {values[-1]}",
                "seconds": by_name["seconds"][-1],
                "cpu": by_name["cpu"][-1],
                "megabytes": by_name["bytes"][-1] / 1e6,
                "time": _cases.fitted_exponent(values, by_name["cpu"]),
                "memory": _cases.fitted_exponent(values, by_name["bytes"]),
            }
        )
    return rows


def run(
    *,
    quick: bool = False,
    axes: Sequence[str] = tuple(AXES),
    methods: Sequence[str] = tuple(METHODS),
    limit: float = 300.0,
    folder: Path | None = None,
    report: Any = print,
) -> Path:
    """Measure what is missing, store the table and draw the picture beside it."""
    points = measure(axes, methods, quick=quick, limit=20.0 if quick else limit, report=report)
    path = _harness.save_table(
        "growth",
        title="Growth",
        command="python bench/growth.py" + (" --quick" if quick else ""),
        columns=[
            ("axis", "axis", "s"),
            ("method", "method", "s"),
            ("step", "step", "s"),
            ("range", "last sizes", "s"),
            ("seconds", "time at the end", ".2f s"),
            ("cpu", "CPU", ".2f s"),
            ("time", "exponent of CPU", ".2f"),
            ("megabytes", "memory at the end", ".0f MB"),
            ("memory", "exponent of memory", ".2f"),
        ],
        rows=exponents(points),
        values={"points": points},
        folder=folder,
        notes="Two threads. Fixed sizes: "
        + "; ".join(f"{name}: {_cases.label_of(axis.fixed)}" for name, axis in AXES.items())
        + ". Exponents are fitted to the last three sizes. Memory is what is needed beyond the input, results "
        "included. LightGBM fits one model for each label.",
    )
    picture(points, path.parent / "growth.png")
    return path


def picture(points: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A row of panels for time and one for memory, a column for each axis; all scales logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, len(AXES), figsize=(4 * len(AXES), 7), squeeze=False, layout="constrained")
    for column, name in enumerate(AXES):
        for row, (amount, unit) in enumerate((("cpu", "CPU seconds"), ("bytes", "bytes beyond the input"))):
            panel = panels[row][column]
            for number, method in enumerate(METHODS):
                for step, style in (("fit", "-"), ("predict", "--"), ("review", ":")):
                    curve = sorted(
                        (each["value"], each["steps"][step][amount])
                        for each in points
                        if (each["axis"], each["method"]) == (name, method)
                        and step in each["steps"]
                        and each["steps"][step][amount]
                    )
                    if curve:
                        panel.loglog(
                            *zip(*curve, strict=True), style, color=f"C{number}", marker=".", label=f"{method}, {step}"
                        )
            panel.set(xlabel=name, ylabel=unit)
            panel.grid(alpha=0.3)
    panels[0][0].legend(fontsize=7, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Growth of time and memory.")
    parser.add_argument("--axis", nargs="+", choices=list(AXES), default=list(AXES))
    parser.add_argument("--method", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--quick", action="store_true", help="the first three sizes of each axis")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a fit that end its curve (default: 300)")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    _harness.add_replace(parser)
    options = parser.parse_args(arguments)
    if options.point:
        print(json.dumps(point(**json.loads(options.point))))
        return
    _harness.choose_folder(options.replace)
    run(quick=options.quick, axes=options.axis, methods=options.method, limit=options.limit)


if __name__ == "__main__":
    main()
