"""Time and memory against the sizes, with fitted exponents beside the theoretical ones, and a plot.

    python bench/run.py growth            # up to 10 000 rows, about a minute
    python bench/run.py growth --full     # up to 200 000 rows, propagation to 2 000 000

An exponent is fitted to the last three sizes of a curve: smaller ones show the cost of a call and the caches, not the
growth.  Where it is further than .1 from theory, the table's notes say what is suspected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import _cases
import _harness
from compare import Side

import nmlsdr

N_THREADS = 2


class Curve(NamedTuple):
    """One size that varies while the others stay."""

    case: str
    varies: str
    values: Sequence[int]
    more: Sequence[int]  # further values under --full
    fixed: Mapping[str, Any]
    time: float  # theoretical exponents, asymptotically
    memory: float  # of what is needed beyond the input
    why: str = ""  # what is suspected to keep the fitted exponent of time away from the theoretical one


F32 = {"D": 100, "k": 10, "dtype": "float32"}
CURVES = [
    Curve("neighbours-dense", "n", [1000, 2000, 4000, 8000], [20000, 50000, 100000, 200000], F32, 2, 1,
          "the share of rows that enter the lists of nearest rows falls with n"),
    Curve("neighbours-dense", "D", [50, 100, 200, 400, 800], [1600], {"n": 2000, "k": 10, "dtype": "float32"}, 1, 0),
    Curve("neighbours-dense", "k", [5, 10, 20, 40, 80], [160], {"n": 4000, "D": 100, "dtype": "float32"}, 0, 1,
          "the products do not depend on k, but the lists of the k nearest rows do, and more rows enter a longer list"),
    Curve("neighbours-low-d", "n", [2000, 5000, 10000], [20000, 50000, 100000],
          {"D": 3, "k": 10, "dtype": "float64"}, 1, 1),
    Curve("neighbours-csr", "n", [1000, 2000, 4000], [8000, 16000, 32000],
          {"D": 500, "k": 10, "dtype": "float64", "values": "csr"}, 2, 1,
          "putting the columns of a row in order and keeping its neighbours still take as long as its products"),
    Curve("graph-symmetrise", "n", [10000, 20000, 50000, 100000], [200000, 500000, 2000000], {"k": 10}, 1, 1,
          "the lists outgrow the last-level cache between 200 000 and 500 000 rows; "
          "below and above, the exponent is near 1"),
    Curve("propagation-cg", "n", [2500, 5000, 10000, 20000, 40000], [100000, 500000, 2000000], {"C": 14, "k": 10}, 1, 1,
          "rows of neighbours outgrow the caches"),
    Curve("propagation-cg", "C", [8, 16, 32, 64, 128], [256], {"n": 5000, "k": 10}, 1, 1,
          "labels and soft labels outgrow the second-level cache, and new memory has to be cleared"),
    Curve("propagation-cg", "k", [5, 10, 20, 40], [80], {"n": 5000, "C": 14}, 1, 1,
          "vectors of n C numbers are read whatever k is, and more neighbours need fewer sweeps"),
    Curve("mlknn-fit", "n", [10000, 20000, 40000, 80000], [200000], {"C": 50, "k": 10}, 1, 0,
          "the labels outgrow the caches"),
    Curve("mlknn-fit", "C", [25, 50, 100, 200, 400], [1000], {"n": 10000, "k": 10}, 1, 1),
    Curve("mlknn-fit", "k", [5, 10, 20, 40], [80], {"n": 10000, "C": 100}, 1, 0,
          "labels are checked and the histogram is filled whatever k is"),
    Curve("NMLSDR.fit", "n", [1000, 2000, 4000, 8000], [20000, 50000, 100000],
          {"name": "NMLSDR", "call": "fit", "D": 100, "C": 14}, 2, 1,
          "propagation and projection are part of the time and grow only as n; the exponent rises from size to size"),
    Curve("MLkNN.fit", "n", [1000, 2000, 4000, 8000], [20000, 50000, 100000],
          {"name": "MLkNN", "call": "fit", "D": 100, "C": 14}, 2, 1,
          "the share of rows that enter the lists of nearest rows falls with n"),
]  # fmt: skip


NOTES = (
    "Two threads; exponents are fitted to the last three sizes; memory is what is needed beyond the input, "
    "results included; small amounts are inexact, because the allocator rounds them."
)


def measure(curve: Curve, child: Side, *, full: bool, budget: float = 0.5) -> dict[str, Any]:
    """Seconds and bytes at every value of one curve."""
    found: dict[str, Any] = {"values": [], "seconds": [], "cpu": [], "bytes": []}
    for value in [*curve.values, *(curve.more if full else [])]:
        size = {**curve.fixed, curve.varies: value}
        work = _cases.build(curve.case, size)
        with _harness.threads(N_THREADS):
            times, cpu = _harness.alternate_with_cpu(
                {"run": lambda work=work: work.run(N_THREADS)}, rounds=9, budget=budget
            )
        found["values"].append(value)
        found["seconds"].append(_harness.better_half(times["run"]))
        found["cpu"].append(_harness.better_half(cpu["run"]))
        child.ask(case=curve.case, size=size, threads=N_THREADS)
        found["bytes"].append(child.ask(memory=True)["bytes"])
    return found


def run(*, full: bool, folder: Path | None = None, report: Any = print) -> Path:
    """Measure every curve, store the table and draw the picture beside it."""
    rows, drawn = [], []
    child = Side(Path(nmlsdr.__file__).resolve().parents[1])  # memory is measured in a process of its own
    for curve in CURVES:
        try:
            found = measure(curve, child, full=full)
        except _cases.NotHere as reason:
            report(f"skipped: {reason}")
            continue
        upper = slice(-3, None)
        known = [bytes_ or 0 for bytes_ in found["bytes"]]
        row = {
            "case": curve.case, "varies": curve.varies, "fixed": _cases.label_of(curve.fixed),
            "range": f"{found['values'][0]} – {found['values'][-1]}",
            "seconds": found["seconds"][-1] * 1e3, "cpu": found["cpu"][-1] * 1e3,
            "time": _cases.fitted_exponent(found["values"][upper], found["seconds"][upper]), "theory": curve.time,
            "megabytes": known[-1] / 1e6,
            "memory": _cases.fitted_exponent(found["values"][upper], known[upper]), "memory_theory": curve.memory,
        }  # fmt: skip
        rows.append({**row, "points": found})
        drawn.append((curve, found, row["time"]))
        report(f"{curve.case} against {curve.varies}: time ^{row['time']:.2f} (theory {curve.time})")
    child.close()
    path = _harness.save_table(
        "growth", title="Growth", command="python bench/run.py growth" + (" --full" if full else ""),
        columns=[("case", "work", "s"), ("varies", "against", "s"), ("range", "range", "s"), ("fixed", "fixed", "s"),
                 ("seconds", "time at the end", ".1f ms"), ("cpu", "CPU", ".1f ms"),
                 ("time", "time exponent", ".2f"), ("theory", "theory", "g"),
                 ("megabytes", "memory at the end", ".1f MB"), ("memory", "memory exponent", ".2f"),
                 ("memory_theory", "theory", "g")],
        rows=rows, folder=folder,
        notes=NOTES + explained(rows),
    )  # fmt: skip
    draw(drawn, path.parent / "growth.png")
    return path


def explained(rows: Sequence[Mapping[str, Any]]) -> str:
    """A sentence for each exponent of time that is further than .1 from theory."""
    curves = {(curve.case, curve.varies): curve for curve in CURVES}
    off = [row for row in rows if abs(row["time"] - row["theory"]) > 0.1]
    return "".join(
        f" {row['case']}: the time grows as {row['varies']}^{row['time']:.2f}, in theory as "
        f"{row['varies']}^{row['theory']:g}{_suspected(curves[row['case'], row['varies']].why)}."
        for row in off
    )


def _suspected(why: str) -> str:
    return f". A possible cause, not measured: {why}" if why else ", not explained"


def draw(drawn: Sequence[tuple[Curve, Mapping[str, Any], float]], path: Path) -> None:
    """One panel for each size that varies; both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    panels = [varies for varies in ("n", "D", "C", "k") if any(curve.varies == varies for curve, _, _ in drawn)]
    if not panels:
        return
    figure, axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 5.6), squeeze=False, sharey=True,
                                layout="constrained")  # fmt: skip
    titles = {"n": "rows n", "D": "features D", "C": "labels C", "k": "neighbours k"}
    for axis, varies in zip(axes[0], panels, strict=True):
        here = [item for item in drawn if item[0].varies == varies]
        for number, (curve, found, exponent) in enumerate(here):
            axis.loglog(found["values"], found["seconds"], marker="osv^D<>"[number % 7], markersize=4,
                        label=f"{curve.case}: {exponent:.2f} ({curve.time:g})")  # fmt: skip
        if varies != "n":  # less than two decades: name the measured sizes
            ticks = sorted({value for _, found, _ in here for value in found["values"]})[::2]
            axis.set_xticks(ticks, [str(tick) for tick in ticks])
            axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel(titles[varies])
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, title="exponent (theory)", title_fontsize=8, frameon=False,
                    loc="upper center", bbox_to_anchor=(0.5, -0.14))  # fmt: skip
    axes[0][0].set_ylabel("seconds, two threads")
    figure.savefig(path, dpi=110)
    plt.close(figure)
