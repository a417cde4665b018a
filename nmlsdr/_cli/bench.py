"""bench: are the searches of this package faster than those of faiss and scikit-learn here?  Two minutes."""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .arguments import add_quiet, count
from .console import Console

__all__ = ["add_parsers"]

K = 10


class Contest(NamedTuple):
    """One search and who does it; a peer that is None is not installed."""

    work: str
    contestants: Mapping[str, Callable[[], object] | None]  # ours first


class Result(NamedTuple):
    """Median of the better half of the rounds, of the wall clock and of all cores."""

    seconds: float
    cpu: float


def add_parsers(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        "bench",
        help="is it faster than faiss and scikit-learn here? (two minutes)",
        description="Time exact nearest-neighbour searches beside faiss, scikit-learn and SciPy, as far as they are "
        "installed, in turns within this process, and say who is faster on this machine.",
    )
    parser.add_argument("--jobs", type=count, metavar="J", help="threads of everybody (default: all cores)")
    parser.add_argument(
        "--seconds", type=float, default=100.0, metavar="S", help="about how long it may take (default: 100)"
    )
    add_quiet(parser)
    parser.set_defaults(run=bench)


def bench(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr bench``."""
    from nmlsdr._threads import check_n_jobs

    n_threads = check_n_jobs(args.jobs)
    contests = _contests(n_threads)
    print(f"k = {K}, {n_threads} thread{'s' if n_threads > 1 else ''}; times faster than the peer (its time)\n")
    wins: dict[str, list[float]] = {}
    for contest in contests:
        with console.step(contest.work):
            found = _measure(contest, args.seconds / len(contests))
        ours = found.pop("nmlsdr")
        line = f"{contest.work:<34} {ours.seconds * 1e3:8.1f} ms, CPU {ours.cpu * 1e3:8.1f} ms"
        for name, theirs in found.items():
            ratio = theirs.seconds / ours.seconds
            wins.setdefault(name, []).append(ratio)
            line += f"   {name} {ratio:.2f} x ({theirs.seconds * 1e3:.1f} ms, CPU {theirs.cpu * 1e3:.1f} ms)"
        print(line, flush=True)
    print()
    for name, ratios in wins.items():
        print(_verdict(name, ratios))
    for name in sorted({name for contest in contests for name, run in contest.contestants.items() if run is None}):
        print(f"{name}: not installed (pip install {name}-cpu)" if name == "faiss" else f"{name}: not installed")
    return 0


def _verdict(name: str, ratios: list[float]) -> str:
    """A sentence.

    Examples
    --------
    >>> _verdict("faiss", [1.5, 2.0, 0.9])
    'faiss: nmlsdr is faster in 2 of 3 (0.90 to 2.00 x, median 1.50 x)'
    """
    faster = sum(ratio > 1 for ratio in ratios)
    return (
        f"{name}: nmlsdr is faster in {faster} of {len(ratios)} ({min(ratios):.2f} to {max(ratios):.2f} x, "
        f"median {statistics.median(ratios):.2f} x)"
    )


def _measure(contest: Contest, budget: float) -> dict[str, Result]:
    """Everybody in turns, the first one changing, until the budget is spent; at least three rounds."""
    running = {name: run for name, run in contest.contestants.items() if run is not None}
    times: dict[str, list[Result]] = {name: [] for name in running}
    for run in running.values():
        run()  # loads what is loaded lazily
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
    """Steady against bursts of other work."""
    kept = (len(found) + 1) // 2
    return Result(*(statistics.median(sorted(values)[:kept]) for values in zip(*found, strict=True)))


def _contests(n_threads: int) -> list[Contest]:
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(0)
    contests = []
    for n, d in ((2000, 50), (5000, 100), (10_000, 100), (6000, 320), (4000, 1000)):
        X = rng.standard_normal((n, d)).astype(np.float32)
        contests.append(
            Contest(
                f"{n} x {d} float32",
                {"nmlsdr": _ours(X, n_threads), "faiss": _faiss(X, n_threads), "scikit-learn": _brute(X, n_threads)},
            )
        )
    binary = (rng.random((4000, 50)) < 0.1).astype(np.float64)
    contests.append(
        Contest("4000 x 50 of 0/1", {"nmlsdr": _ours(binary, n_threads), "scikit-learn": _brute(binary, n_threads)})
    )
    thin = sparse.csr_array(np.where(rng.random((3000, 500)) < 0.05, rng.random((3000, 500)), 0.0))
    peers = {"nmlsdr": _ours(thin, n_threads), "scikit-learn": _brute(thin, n_threads)}
    contests.append(Contest("3000 x 500 CSR, 5 % stored", peers))
    low = rng.standard_normal((10_000, 3))
    contests.append(
        Contest("10000 x 3 float64", {"nmlsdr": _ours(low, n_threads), "SciPy's KDTree": _tree(low, n_threads)})
    )
    return contests


def _ours(X: Any, n_threads: int) -> Callable[[], object]:
    from nmlsdr.graph import kneighbors

    return lambda: kneighbors(X, K, n_jobs=n_threads)


def _faiss(X: Any, n_threads: int) -> Callable[[], object] | None:
    try:
        import faiss
    except ImportError:
        return None

    def search() -> object:
        faiss.omp_set_num_threads(n_threads)
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        return index.search(X, K + 1)

    return search


def _brute(X: Any, n_threads: int) -> Callable[[], object]:
    from sklearn.neighbors import NearestNeighbors

    return lambda: NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=n_threads).fit(X).kneighbors()


def _tree(X: Any, n_threads: int) -> Callable[[], object]:
    from scipy.spatial import KDTree

    return lambda: KDTree(X).query(X, K + 1, workers=n_threads)
