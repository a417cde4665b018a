"""One picture: the time of a search for the ten nearest neighbours of all rows, ours and the peers', against n.

    python bench/run.py panel            # up to 10 000 rows, two minutes
    python bench/run.py panel --full     # up to 100 000 rows

Exact searches are drawn solid; approximate ones dashed, with the share of the true neighbours that they find.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import _cases
import _harness
import numpy as np

N_THREADS = 2
K = 10
D = 100
SIZES = [1000, 2000, 5000, 10_000]
MORE = [20_000, 50_000, 100_000]
SLOWEST = 300.0  # seconds of one search, after which a peer gets no larger size


def ours(X: np.ndarray) -> Callable[[], np.ndarray]:
    from nmlsdr.graph import kneighbors

    return lambda: kneighbors(X, K, n_jobs=N_THREADS)[1]


def by_faiss(X: np.ndarray) -> Callable[[], np.ndarray]:
    faiss = importlib.import_module("faiss")

    def search() -> np.ndarray:
        faiss.omp_set_num_threads(N_THREADS)
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        return index.search(X, K + 1)[1][:, 1:]

    return search


def by_scikit_learn(X: np.ndarray) -> Callable[[], np.ndarray]:
    from sklearn.neighbors import NearestNeighbors

    return lambda: NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=N_THREADS).fit(X).kneighbors()[1]


def by_pynndescent(X: np.ndarray) -> Callable[[], np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pynndescent = importlib.import_module("pynndescent")

    def search() -> np.ndarray:
        index = pynndescent.NNDescent(X, n_neighbors=K + 1, n_jobs=N_THREADS, random_state=0)
        return index.neighbor_graph[0][:, 1:]

    return search


def by_hnswlib(X: np.ndarray) -> Callable[[], np.ndarray]:
    hnswlib = importlib.import_module("hnswlib")

    def search() -> np.ndarray:
        index = hnswlib.Index(space="l2", dim=X.shape[1])
        index.init_index(max_elements=len(X), random_seed=0)  # its own M = 16 and ef_construction = 200
        index.set_num_threads(N_THREADS)
        index.add_items(X)
        index.set_ef(100)
        return index.knn_query(X, K + 1)[0][:, 1:]

    return search


EXACT = {
    "nmlsdr": ours,
    "faiss IndexFlatL2": by_faiss,
    "scikit-learn brute": by_scikit_learn,
    _harness.INTEL: lambda X: _harness.by_intel(X, K, N_THREADS),
}
APPROXIMATE = {"pynndescent": by_pynndescent, "hnswlib": by_hnswlib}


def recall(neighbours: np.ndarray, true: np.ndarray) -> float:
    """Share of the true neighbours that were found.

    >>> recall(np.array([[1, 2], [0, 3]]), np.array([[2, 1], [0, 2]]))
    0.75
    """
    return float(np.mean([np.isin(nearest, row).mean() for row, nearest in zip(neighbours, true, strict=True)]))


def measure(n: int, skip: set[str], *, budget: float, report: Callable[[str], Any]) -> list[dict[str, Any]]:
    """Rows of the table for one n; adds to ``skip`` who is absent or too slow for the next."""
    X = _cases.rows(n, D, "float32")
    running: dict[str, Callable[[], np.ndarray]] = {}
    for name, make in {**EXACT, **APPROXIMATE}.items():
        if name in skip:
            continue
        try:
            running[name] = make(X)
        except ImportError as error:
            report(f"skipped: {name} ({error})")
            skip.add(name)
    with _harness.threads(N_THREADS):
        times, cpu = _harness.alternate_with_cpu(running, rounds=7, budget=budget, min_rounds=2)
        true = running["nmlsdr"]()[:2000]
        rows = []
        for name in running:
            seconds = _harness.better_half(times[name])
            share = recall(running[name]()[:2000], true) if name in APPROXIMATE else 1.0
            rows.append(
                {
                    "n": n,
                    "who": name,
                    "seconds": seconds,
                    "cpu": _harness.better_half(cpu[name]),
                    "ratio": seconds / _harness.better_half(times["nmlsdr"]),
                    "recall": 100 * share,
                }
            )
            report(f"n = {n}: {name} {seconds:.3f} s, recall {share:.3f}")
            if seconds > SLOWEST:
                skip.add(name)
    return rows


def run(*, full: bool, report: Callable[[str], Any] = print) -> Path:
    """Measure, store the table and draw the picture beside it."""
    rows: list[dict[str, Any]] = []
    skip: set[str] = set()
    for n in [*SIZES, *(MORE if full else [])]:
        rows += measure(n, skip, budget=20.0 if not full else 120.0, report=report)
    path = _harness.save_table(
        "panel",
        title="Searches",
        command="python bench/run.py panel" + (" --full" if full else ""),
        rows=rows,
        columns=[
            ("n", "rows", "d"),
            ("who", "search", "s"),
            ("seconds", "time", ".3f s"),
            ("cpu", "CPU", ".3f s"),
            ("ratio", "to ours", ".2f"),
            ("recall", "recall", ".1f %"),
        ],
        notes=f"The {K} nearest neighbours of all rows, {D} standard normal features in float32, {N_THREADS} threads; "
        "the time includes building an index and searching it for all rows. Recall is over 2000 rows; "
        "pynndescent and hnswlib have their default settings, except for ef = 100 in hnswlib. "
        "to ours: the time divided by that of nmlsdr.",
    )
    draw(rows, path.parent / "panel.png")
    return path


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    ends: list[tuple[float, int, str]] = []
    for number, name in enumerate({**EXACT, **APPROXIMATE}):
        curve = [row for row in rows if row["who"] == name]
        if not curve:
            continue
        sizes = [row["n"] for row in curve]
        times = [row["seconds"] for row in curve]
        label = name if name in EXACT else f"{name} (finds {curve[-1]['recall']:.0f} %)"
        axis.loglog(
            sizes,
            times,
            marker="osv^DP"[number],
            markersize=4,
            linestyle="-" if name in EXACT else "--",
            linewidth=2.4 if name == "nmlsdr" else 1.2,
            color=f"C{number}",
            label=label,
        )
        ends.append((times[-1], sizes[-1], f"C{number}"))
    axis.set(
        xlabel="rows", ylabel=f"seconds, {N_THREADS} threads", title=f"{K} nearest neighbours of all rows, {D} features"
    )
    axis.set_xlim(right=1.6 * max(row["n"] for row in rows))  # room for the seconds beside the last points
    axis.grid(alpha=0.3, which="both", linewidth=0.5)
    axis.legend(frameon=False, fontsize=8)
    figure.canvas.draw()  # now it is known where the points are
    highest = -math.inf
    for seconds, n, color in sorted(ends):
        at = axis.transData.transform((n, seconds))[1] * 72 / figure.dpi
        place = max(at, highest + 8)  # points: a line of text below the next
        highest = place
        axis.annotate(
            f"{seconds:.3g} s",
            (n, seconds),
            xytext=(4, place - at),
            textcoords="offset points",
            fontsize=7,
            va="center",
            color=color,
        )
    figure.savefig(path, dpi=130)
    plt.close(figure)
