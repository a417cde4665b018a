"""bench: compare the speed of this package with faiss, scikit-learn and SciPy on this machine, in two minutes."""

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from threadpoolctl import threadpool_info

from nmlsdr import NMLSDR
from nmlsdr._process.threads import check_n_jobs
from nmlsdr.graph import ExactIndex, kneighbors

from .console import Console

K = 10


class Contest(NamedTuple):
    """A task, and the function of each contestant for it; None for a package that is not installed."""

    work: str
    contestants: Mapping[str, Callable[[], object] | None]  # ours first


class Result(NamedTuple):
    """Median of the better half of the rounds, of the wall clock and of all cores."""

    seconds: float
    cpu: float


def bench(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr bench``."""
    n_threads = check_n_jobs(args.jobs)
    contests = _contests(n_threads)
    threads = f"{n_threads} thread{'s' if n_threads > 1 else ''}"
    print(f"k = {K}, {threads}; in turns, median of the better half of the rounds; CPU: the time of all threads\n")
    print(f"{'':<36}{'':<22}{'time':>10}{'CPU':>10}   nmlsdr is faster")
    wins: dict[str, list[float]] = {}
    for contest in contests:
        with console.step(contest.work):
            found = _measure(contest, args.seconds / len(contests))
        ours = found["nmlsdr"].seconds
        for name, (seconds, cpu) in found.items():
            work, times = (contest.work, "") if name == "nmlsdr" else ("", f"{seconds / ours:8.2f} x")
            print(f"{work:<36}{name:<22}{seconds * 1e3:7.2f} ms{cpu * 1e3:7.2f} ms{times}", flush=True)
            if name != "nmlsdr":
                wins.setdefault(name, []).append(seconds / ours)
    print()
    for name, ratios in wins.items():
        print(_verdict(name, ratios))
    for name in sorted({name for contest in contests for name, run in contest.contestants.items() if run is None}):
        print(f"{name}: not installed (pip install {name}-cpu)" if name == "faiss" else f"{name}: not installed")
    for line in _circumstances():
        print(line)
    return 0


def _circumstances() -> list[str]:
    """Return what the ratios depend on: the kernels of each BLAS, and other load on the machine."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    kernels = sorted({f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}" for pool in pools})
    lines = [f"BLAS: {', '.join(kernels)} (slow if it does not support this processor; OPENBLAS_CORETYPE selects)"]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > 1.5 * cpu_count():
        lines.append(f"load {load:.0f} on {cpu_count()} cores: other work was running; repeat on an idle machine")
    return lines


def _verdict(name: str, ratios: list[float]) -> str:
    """Return a sentence that compares this package with a peer, given the peer's time over ours in each task.

    Examples
    --------
    >>> _verdict("faiss", [1.5, 2.0, 0.9])
    'faiss: nmlsdr is faster in 2 of 3 (0.90 to 2.00 x, median 1.50 x)'
    >>> _verdict("faiss", [0.5])
    'faiss: nmlsdr is slower (0.50 x)'
    """
    faster, middle = sum(ratio > 1 for ratio in ratios), statistics.median(ratios)
    if len(ratios) == 1:
        return f"{name}: nmlsdr is {'faster' if faster else 'slower'} ({middle:.2f} x)"
    spread = f"{min(ratios):.2f} to {max(ratios):.2f} x, median {middle:.2f} x"
    return f"{name}: nmlsdr is faster in {faster} of {len(ratios)} ({spread})"


def _measure(contest: Contest, budget: float) -> dict[str, Result]:
    """Time the contestants in turns, each round beginning with another, for `budget` seconds or three rounds."""
    running = {name: run for name, run in contest.contestants.items() if run is not None}
    times: dict[str, list[Result]] = {name: [] for name in running}
    for run in running.values():
        run()  # lazy imports are not timed
    began, turn = time.perf_counter(), 0
    while turn < 3 or (time.perf_counter() - began < budget and turn < 50):
        first = turn % len(running)
        for name in [*running][first:] + [*running][:first]:
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            running[name]()
            times[name].append(Result(time.perf_counter() - wall, time.process_time() - cpu))
        turn += 1
    return {name: _better_half(found) for name, found in times.items()}


def _better_half(found: list[Result]) -> Result:
    """Return the median of the faster half, which bursts of other work do not change."""
    kept = (len(found) + 1) // 2
    return Result(*(statistics.median(sorted(values)[:kept]) for values in zip(*found, strict=True)))


def _contests(n_threads: int) -> list[Contest]:
    rng = np.random.default_rng(0)

    def search(work: str, X: Any, *peers: str, row: Any = None) -> Contest:
        return Contest(work, {name: SEARCHES[name](X, n_threads, row) for name in ("nmlsdr", *peers)})

    # Before faiss is loaded: at its first search, scikit-learn notes which BLAS it will hold to one thread, and that of
    # faiss would hold scikit-learn's own threads too.
    NearestNeighbors(n_neighbors=1, algorithm="brute").fit([[0.0], [1.0]]).kneighbors()
    contests = []
    for n, d in ((2000, 50), (5000, 100), (10_000, 100), (6000, 320), (4000, 1000)):
        X = rng.standard_normal((n, d)).astype(np.float32)
        contests.append(search(f"{n} x {d} float32", X, "faiss", "scikit-learn"))
    binary = (rng.random((4000, 50)) < 0.1).astype(np.float64)
    contests.append(search("4000 x 50 of 0/1", binary, "scikit-learn"))
    thin = sparse.csr_array(np.where(rng.random((3000, 500)) < 0.05, rng.random((3000, 500)), 0.0))
    contests.append(search("3000 x 500 CSR, 5 % stored", thin, "scikit-learn"))
    many, row = (rng.standard_normal((n, 100)).astype(np.float32) for n in (100_000, 1))
    contests.append(search("1 new row, 100000 x 100 float32", many, "faiss", "scikit-learn", row=row))
    rows, labels = rng.standard_normal((500, 50)), rng.random((500, 6)) < 0.3
    fits = {"nmlsdr": _our_fit(rows, labels, n_threads), "KNeighborsClassifier": _classify(rows, labels, n_threads)}
    contests.append(Contest("NMLSDR fit, 500 x 50, 6 labels", fits))
    contests.append(search("10000 x 3 float64", rng.standard_normal((10_000, 3)), "SciPy's KDTree"))
    return contests


# Each search finds the neighbours of every row, or those of one new row in an index of the others.


def _ours(X: Any, n_threads: int, row: Any = None) -> Callable[[], object]:
    if row is None:
        return lambda: kneighbors(X, K, n_jobs=n_threads)
    index = ExactIndex(X, n_jobs=n_threads)
    return lambda: index.query(row, K)


def _faiss(X: Any, n_threads: int, row: Any = None) -> Callable[[], object] | None:
    try:
        import faiss
    except ImportError:
        return None

    def added() -> Any:
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        return index

    kept = None if row is None else added()

    def search() -> object:
        faiss.omp_set_num_threads(n_threads)
        return added().search(X, K + 1) if kept is None else kept.search(row, K)

    return search


def _brute(X: Any, n_threads: int, row: Any = None) -> Callable[[], object]:
    model = NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=n_threads).fit(X)
    return lambda: model.fit(X).kneighbors() if row is None else model.kneighbors(row)


def _tree(X: Any, n_threads: int, row: None = None) -> Callable[[], object]:
    return lambda: KDTree(X).query(X, K + 1, workers=n_threads)


SEARCHES: dict[str, Callable[..., Callable[[], object] | None]] = {
    "nmlsdr": _ours,
    "faiss": _faiss,
    "scikit-learn": _brute,
    "SciPy's KDTree": _tree,
}


def _our_fit(X: Any, Y: Any, n_threads: int) -> Callable[[], object]:
    return lambda: NMLSDR(n_neighbors=K, n_jobs=n_threads).fit(X, Y)


def _classify(X: Any, Y: Any, n_threads: int) -> Callable[[], object]:
    """Fit scikit-learn's classifier on neighbours, and predict the same rows."""
    return lambda: KNeighborsClassifier(K, n_jobs=n_threads).fit(X, Y).predict(X)
