"""Few new rows against 100 000 that were prepared before: ExactIndex and predict beside faiss and scikit-learn.

    python bench/bench_index.py                 # two minutes

Every contestant has built its index before, and is asked in turns.  Results go to a folder of their own unless
--replace is given.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "2")

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import numpy as np
from _harness import add_replace, alternate, better_half, choose_folder, save_table, threads
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from nmlsdr import MLkNN
from nmlsdr.graph import ExactIndex, kneighbors

N_THREADS = 2
K = 10
N_LABELS = 14
QUERIES = (1, 4, 16)


def searches(X: np.ndarray) -> dict[str, Callable[[np.ndarray], Any]]:
    """By name: what answers queries."""
    import faiss

    faiss.omp_set_num_threads(N_THREADS)
    flat = faiss.IndexFlatL2(X.shape[1])
    flat.add(X)
    euclidean, cosine = (ExactIndex(X, metric=metric, n_jobs=N_THREADS) for metric in ("euclidean", "cosine"))
    brute = NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=N_THREADS).fit(X)
    return {
        "ours": lambda Q: euclidean.query(Q, K),
        "cosine": lambda Q: cosine.query(Q, K),
        "once": lambda Q: kneighbors(X, K, queries=Q, n_jobs=N_THREADS),
        "once_cosine": lambda Q: kneighbors(X, K, queries=Q, metric="cosine", n_jobs=N_THREADS),
        "faiss": lambda Q: flat.search(Q, K),
        "sklearn": brute.kneighbors,
    }


def predictions(X: np.ndarray) -> dict[str, Callable[[np.ndarray], Any]]:
    """By name: what predicts labels."""
    Y = (np.random.default_rng(1).random((len(X), N_LABELS)) < 0.2).astype(int)
    ours, cosine = (MLkNN(K, metric=metric, at_least_one=True, n_jobs=N_THREADS) for metric in ("euclidean", "cosine"))
    for model in (ours, cosine):
        model.fit(X, Y)
    peer = KNeighborsClassifier(K, algorithm="brute", n_jobs=N_THREADS).fit(X, Y)
    return {"ours": ours.predict, "cosine": cosine.predict, "sklearn": peer.predict}


def measure(work: str, contestants: dict[str, Any], X: np.ndarray, rounds: int) -> list[dict[str, Any]]:
    rows = []
    for q in QUERIES:
        Q = np.random.default_rng(2).standard_normal((q, X.shape[1])).astype(np.float32)
        with threads(N_THREADS):
            times = alternate(
                {name: lambda ask=ask, Q=Q: ask(Q) for name, ask in contestants.items()}, rounds=rounds, warmup=2
            )
        seconds = {name: better_half(values) for name, values in times.items()}
        row = {"what": work, "D": X.shape[1], "q": q, "ours": 1e3 * seconds["ours"]}
        rows.append(row | {name: seconds[name] / seconds["ours"] for name in contestants if name != "ours"})
        print(rows[-1], flush=True)
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=12)
    add_replace(parser)
    options = parser.parse_args(arguments)
    choose_folder(options.replace)
    rows: list[dict[str, Any]] = []
    load = os.getloadavg()[0]
    for d in (50, 128):
        X = np.random.default_rng(0).standard_normal((options.rows, d)).astype(np.float32)
        rows += measure("query", searches(X), X, options.rounds)
        rows += measure("predict", predictions(X), X, options.rounds)
    single = [row for row in rows if row["q"] == 1]
    save_table(
        "index",
        title="Few new rows",
        command="python bench/bench_index.py",
        columns=[
            ("what", "what", "s"),
            ("D", "features", "d"),
            ("q", "new rows", "d"),
            ("ours", "ours", ".2f ms"),
            ("cosine", "by angle", ".2f x"),
            ("faiss", "faiss IndexFlatL2", ".2f x"),
            ("sklearn", "scikit-learn brute", ".1f x"),
            ("once", "kneighbors", ".1f x"),
            ("once_cosine", "kneighbors by angle", ".1f x"),
        ],
        rows=rows,
        values={
            "load": load,
            "cosine_most": max(row["cosine"] for row in single),
            "faiss_least": min(row["faiss"] for row in rows if "faiss" in row),
            "sklearn_least": min(row["sklearn"] for row in rows),
        },
        notes=f"{options.rows} rows of standard normal features in float32, k = {K}, two threads; times of the others "
        'as multiples of ours. by angle: nmlsdr with metric="cosine". kneighbors: the function '
        "nmlsdr.graph.kneighbors, which prepares nothing and looks at all rows at every call. predict: MLkNN and "
        f"KNeighborsClassifier, {N_LABELS} labels. The load average was {load:.1f} when this began.",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
