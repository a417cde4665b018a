"""Fits on Dask workers that are smaller than X, with a worker killed in the middle, beside one process.

    python bench/bench_dask.py                                     # small sizes, 1 and 2 workers, beside one process
    python bench/bench_dask.py --rows 100000 --features 10000 --workers 2 --memory 2 --kill

Rows are made by blocks (a seeded generator), so that X is nowhere as a whole.  With --sample the neighbours of so many
rows are compared with a search in one process that reads X block by block, and F with one process's on the graph;
without it the whole fit is compared.  Results go to a folder of their own unless --replace is given.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import _harness
import numpy as np

N_LABELS = 14
K = 10


def make_rows(block: int, first: int, n_rows: int, n_features: int, n_labels: int) -> np.ndarray:
    """A block of rows around one centre for each label; the same whenever and wherever it is made."""
    centres = np.random.default_rng(0).standard_normal((n_labels, n_features), dtype=np.float32)
    rng = np.random.default_rng([1, block])
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    for row, label in zip(X, np.arange(first, first + n_rows) % n_labels, strict=True):
        row += 0.1 * centres[label]
    return X


def rows_by_blocks(n: int, n_features: int, per_block: int) -> Any:
    import dask.array as da
    from dask import delayed

    make = delayed(make_rows)
    return da.concatenate(
        [
            da.from_delayed(
                make(number, first, min(per_block, n - first), n_features, N_LABELS),
                (min(per_block, n - first), n_features),
                np.float32,
            )
            for number, first in enumerate(range(0, n, per_block))
        ]
    )


def labels(n: int) -> np.ndarray:
    rng = np.random.default_rng(2)
    Y = (np.arange(n)[:, None] % N_LABELS == np.arange(N_LABELS)) ^ (rng.random((n, N_LABELS)) < 0.05)
    return np.where(rng.random(n)[:, None] < 0.7, -1, Y.astype(np.int64))


def peak() -> float:
    """Peak resident gigabytes of this process; ru_maxrss would begin with that of the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e9 for line in lines if line.startswith("VmHWM:"))


def cpu() -> float:
    """Processor seconds of this process so far."""
    return time.process_time()


class Watch(logging.Handler):
    """Reads the plan, and starts the killing when so many tasks are done."""

    def __init__(self, kill: Any) -> None:
        super().__init__()
        self.plan = ""
        self.kill = kill
        self.lines = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        print(text, file=sys.stderr, flush=True)
        self.lines.append(text)
        if text.startswith("plan"):
            self.plan = text
        elif self.kill is not None and "neighbours: " in text:
            self.kill()
            self.kill = None


def on_workers(n: int, n_features: int, per_block: int, workers: int, memory: float, *, kill: bool) -> dict[str, Any]:
    """A fit on that many workers of that many gigabytes; the model, and what it took."""
    import dask
    from distributed import Client, LocalCluster

    from nmlsdr.dask import NMLSDR
    from nmlsdr.dask._neighbors import neighbors
    from nmlsdr.dask._rows import DaskRows
    from nmlsdr.dask._search_plan import make_plan
    from nmlsdr.graph import union_graph

    killed = []

    def kill_one() -> None:
        pid = next(iter(client.run(os.getpid).values()))
        killed.append(pid)
        threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()  # when it is in the middle of its next task

    logger = logging.getLogger("nmlsdr")
    logger.setLevel(logging.INFO)
    with (
        # a LocalCluster gives up a worker that is not back after 15 s, and a busy machine takes longer to start Python
        dask.config.set({"distributed.deploy.lost-worker-timeout": "300s"}),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=f"{memory}GB", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        watch = Watch(kill_one if kill else None)
        logger.addHandler(watch)
        X = rows_by_blocks(n, n_features, per_block)
        planned = make_plan(DaskRows.of(X), K).seconds  # None: seconds
        load = os.getloadavg()[0]
        began = time.perf_counter()
        spent = cpu() + sum(client.run(cpu).values())
        W = union_graph(neighbors(DaskRows.of(X), K).indices)
        searched = time.perf_counter() - began
        model = NMLSDR().fit(X, labels(n), graph=W)
        seconds = time.perf_counter() - began
        spent = cpu() + sum(client.run(cpu).values()) - spent
        logger.removeHandler(watch)
        embedding = model.transform(X)[:: max(1, n // 1000)].compute()
        peaks = client.run(peak).values()
    return {
        "model": model,
        "graph": W,
        "seconds": seconds,
        "searched": searched,
        "planned": planned,
        "load": load,
        "plan": watch.plan,
        "peak": max(peaks),
        "killed": len(killed),
        "cpu": spent,
        "embedding": embedding,
        "client_peak": peak(),
    }


def in_one_process(n: int, n_features: int, per_block: int, n_jobs: int | None) -> dict[str, Any]:
    """The same fit on rows in memory; making them is not timed, as it is on the workers."""
    from nmlsdr import NMLSDR
    from nmlsdr.graph import neighbor_graph

    X = np.empty((n, n_features), np.float32)
    for number, first in enumerate(range(0, n, per_block)):
        rows = X[first : first + per_block]
        rows[:] = make_rows(number, first, len(rows), n_features, N_LABELS)
    began = time.perf_counter()
    spent = cpu()
    W = neighbor_graph(X, K, n_jobs=n_jobs)
    searched = time.perf_counter() - began
    model = NMLSDR(n_jobs=n_jobs).fit(X, labels(n), graph=W)
    return {
        "model": model,
        "graph": W,
        "searched": searched,
        "seconds": time.perf_counter() - began,
        "cpu": cpu() - spent,
    }


def check_all(outcome: dict[str, Any], expected: dict[str, Any]) -> None:
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(outcome["graph"], part), getattr(expected["graph"], part))
    for name in ("label_distributions_", "transduction_", "label_flips_"):
        np.testing.assert_array_equal(getattr(outcome["model"], name), getattr(expected["model"], name))
    difference = np.abs(outcome["model"].components_ - expected["model"].components_)
    np.testing.assert_array_less(difference, 1e-6)  # float32 maps


def check_sample(n: int, n_features: int, per_block: int, size: int, W: Any, model: Any) -> None:
    """Compare the lists of a sample of rows with a search block by block, and F with one process's, on the graph."""
    from nmlsdr.dask._neighbors import Lists, merge
    from nmlsdr.graph import squared_neighbors
    from nmlsdr.propagation import propagate

    Y = labels(n)
    labeled = Y[:, 0] >= 0
    F = propagate(W, np.maximum(Y, 0), np.where(labeled, 0.6, 0.999), labeled=labeled).F
    np.testing.assert_array_equal(F, model.label_distributions_)
    chosen = np.sort(np.random.default_rng(3).choice(n, size, replace=False))
    blocks = [(number, first, min(per_block, n - first)) for number, first in enumerate(range(0, n, per_block))]
    make = partial(make_rows, n_features=n_features, n_labels=N_LABELS)
    queries = np.concatenate(
        [
            make(number, first, count)[chosen[(chosen >= first) & (chosen < first + count)] - first]
            for number, first, count in blocks
        ]
    )
    nearest = None
    for number, first, count in blocks:
        squared, indices = squared_neighbors(make(number, first, count), min(K + 1, count), queries=queries)
        part = Lists(squared, indices + first)
        nearest = part if nearest is None else merge([nearest, part], K + 1)
    for row, lists in zip(chosen, nearest.indices, strict=True):
        neighbours = lists[lists != row][:K]
        assert np.isin(neighbours, W.indices[W.indptr[row] : W.indptr[row + 1]]).all(), (
            f"row {row} has other neighbours"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[4000, 8000])
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--block", type=int, default=1000, help="rows of a block")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--memory", type=float, default=2.0, help="gigabytes for each worker")
    parser.add_argument("--jobs", type=int, help="threads of the one process (default: one for each core)")
    parser.add_argument("--kill", action="store_true", help="kill a worker in the middle")
    parser.add_argument("--sample", type=int, default=0, help="compare so many rows, without one process's fit")
    parser.add_argument("--name", default="dask")
    _harness.add_replace(parser)
    options = parser.parse_args(arguments)
    _harness.choose_folder(options.replace)
    rows: list[dict[str, Any]] = []
    for n in options.rows:
        shape = n, options.features, options.block
        baseline = None if options.sample else in_one_process(*shape, options.jobs)
        for workers in options.workers:
            outcome = on_workers(*shape, workers, options.memory, kill=options.kill)
            row = {
                "n": n,
                "D": options.features,
                "gigabytes": n * options.features * 4 / 1e9,
                "workers": workers,
                "limit": options.memory,
                "seconds": outcome["seconds"],
                "peak": outcome["peak"],
                "client": outcome["client_peak"],
                "searched": outcome["searched"],
                "planned": outcome["planned"],
                "load": outcome["load"],
                "killed": outcome["killed"],
                "plan": outcome["plan"],
            }
            if outcome["planned"] is not None:
                row["error"] = outcome["planned"] / outcome["searched"]
            if baseline is not None:
                check_all(outcome, baseline)
                row |= {"one": baseline["seconds"], "ratio": outcome["seconds"] / baseline["seconds"], "compared": n}
                if not options.kill:  # the seconds of a killed worker are lost
                    row |= {"cpu": outcome["cpu"], "cpu_ratio": outcome["cpu"] / baseline["cpu"]}
            else:
                check_sample(*shape, options.sample, outcome["graph"], outcome["model"])
                row["compared"] = options.sample
            print({key: value for key, value in row.items() if key != "plan"}, flush=True)
            rows.append(row)
    _harness.save_table(
        options.name,
        title="Dask",
        command="python bench/bench_dask.py " + " ".join(arguments or sys.argv[1:]),
        columns=[
            ("n", "rows", "d"),
            ("D", "features", "d"),
            ("gigabytes", "X", ".2f GB"),
            ("workers", "workers", "d"),
            ("limit", "limit of each", ".1f GB"),
            ("peak", "largest worker", ".2f GB"),
            ("killed", "killed", "d"),
            ("planned", "search, as planned", ".0f s"),
            ("searched", "search", ".1f s"),
            ("error", "planned / taken", ".2f"),
            ("load", "load", ".1f"),
            ("seconds", "fit", ".1f s"),
            ("one", "one process", ".1f s"),
            ("ratio", "ratio", ".2f"),
            ("cpu", "processor time", ".1f s"),
            ("cpu_ratio", "its ratio", ".2f"),
            ("compared", "rows compared", "d"),
        ],
        rows=rows,
        notes="NMLSDR().fit with 14 labels, 30 % of the rows labelled; workers have one thread each, one process has "
        f"{options.jobs or 'one for each core'}. Processor time: of the workers and of the process that fits. "
        "Load: of the machine when the search began. Rows compared: neighbours and soft labels equal to the last "
        "bit.",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
