"""The plan of a search over Dask arrays: how the rows are cut, and what the search will cost."""

import time
from typing import Any, NamedTuple

import numpy as np

from .._errors import InputError
from .._search.estimate import duration, estimate_search
from .._search.memory import memory_bytes
from .._search.metrics import SearchMetric, search_metric
from ._rows import DaskRows, Reading
from ._run import client_in_force, compute, import_dask, task, task_threads

PRIMES = (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)


def lines(q: int) -> list[list[int]]:
    """Which parts of the rows meet in which task, so that every two rows meet: the lines of a finite plane.

    Cut the rows into q^2 parts, q prime, and take part a q + b for the point (a, b) of the affine plane over the
    integers mod q.  Its q^2 + q lines hold q points each, and any two points lie on exactly one line.  One task
    searches the q parts of one line among themselves, with the kernel's symmetric search, so

    * every two rows of different parts meet exactly once, and each product serves both;
    * a task holds n / q rows, all tasks read every row q + 1 times;
    * the first q lines are parallel: they hold every part once, and compare its rows with each other. The other tasks
      leave these pairs out, so that all tasks together form n^2 / 2 pairs. Neighbours by angle form (1 + 1/q) n^2 / 2.

    Tasks for every two of B blocks would hold as many rows with B = 2q and read every row about 2q times; and a search
    that takes one block as queries of the other would form n^2 pairs.  For q = 1 there is one line with one part.

    Examples
    --------
    >>> lines(2)
    [[0, 2], [1, 3], [0, 3], [1, 2], [0, 1], [2, 3]]
    """
    if q == 1:
        return [[0]]
    sloping = [[x * q + (slope * x + height) % q for x in range(q)] for slope in range(q) for height in range(q)]
    upright = [[x * q + y for y in range(q)] for x in range(q)]
    return sloping + upright


def cut_rows(edges: np.ndarray, n_parts: int) -> np.ndarray:
    """Edges of ``n_parts`` nearly equal parts of the rows, at an edge of a block where one is near.

    A part that begins within a block makes two parts read it.

    Examples
    --------
    >>> cut_rows(np.array([0, 26, 50, 100]), 4).tolist()
    [0, 26, 50, 75, 100]
    """
    n = int(edges[-1])
    ideal = np.linspace(0, n, n_parts + 1).astype(np.intp)
    after = np.searchsorted(edges, ideal).clip(1, len(edges) - 1)
    edge_before = edges[after - 1]
    right = edges[after]
    nearest = np.where(ideal - edge_before < right - ideal, edge_before, right)
    cuts = np.where(np.abs(nearest - ideal) <= n / n_parts / 4, nearest, ideal)
    cuts[0] = 0
    cuts[-1] = n
    return np.maximum.accumulate(cuts)


# The share of a worker's memory that a task may take; an idle worker takes 200 MB, and Dask pauses one at 80 %.
SHARE = 0.6
# Beside its rows and the block it reads, a search holds packed rows: a window of 256 MB and what threads need.
WORKSPACE = 320 << 20
TASKS_PER_THREAD = 3  # at least, so that the last ones finish together
PROBE_FROM = 1e11  # pairs times features; less takes seconds, and the plan says so without a probe


class Site(NamedTuple):
    """Where the tasks will run."""

    n_workers: int
    n_threads: int  # tasks side by side, on all workers
    memory: float  # bytes for each of them


class SearchPlan(NamedTuple):
    """The search for neighbours, in numbers.

    Attributes
    ----------
    n_samples, n_features : int
    order : int
        q: q^2 parts of the rows meet in q^2 + q tasks of n / q rows each.
    n_tasks : int
    bytes_read : int
        (q + 1) times the rows.
    bytes_moved : int
        Lists that come back from the tasks.
    task_bytes : int
        The rows of one task.
    site : Site
    seconds : float or None
        Estimate from a probe; None: too little work to ask for one.
    """

    n_samples: int
    n_features: int
    order: int
    n_tasks: int
    bytes_read: int
    bytes_moved: int
    task_bytes: int
    site: Site
    seconds: float | None

    def __str__(self) -> str:
        site = self.site
        size = import_dask().utils.format_bytes
        time_ = "seconds" if self.seconds is None else f"about {duration(self.seconds)} (from a probe)"
        return (
            f"plan: neighbours of {self.n_samples} x {self.n_features} rows in {self.n_tasks} task(s) of "
            f"{size(self.task_bytes)}, {size(self.bytes_read)} read, {size(self.bytes_moved)} moved, on "
            f"{site.n_workers} worker(s) with {site.n_threads} thread(s) and {size(site.memory)} for each; {time_}"
        )


def site_in_force() -> Site:
    """The workers of the client, or this process."""
    client = client_in_force()
    if client is None:
        dask = import_dask()
        threads = int(dask.config.get("num_workers", None) or dask.system.CPU_COUNT)
        if dask.config.get("scheduler", None) in ("sync", "synchronous", "single-threaded"):
            threads = 1
        return Site(1, threads, memory_bytes() / threads)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        raise InputError("the Dask cluster has no workers; start one, or wait for it: client.wait_for_workers(1).")
    memory = min((worker["memory_limit"] or memory_bytes()) / worker["nthreads"] for worker in workers)
    return Site(len(workers), sum(worker["nthreads"] for worker in workers), float(memory))


def make_plan(
    rows: DaskRows, k: int, *, metric: str = "euclidean", n_jobs: int | None = None, site: Site | None = None
) -> SearchPlan:
    """The smallest order whose tasks fit the workers' memory and keep all of them busy."""
    site = site or site_in_force()
    n, d = rows.shape
    order = _smallest_order(rows, search_metric(metric), site)
    times = order + 1 if order > 1 else 1  # that each row is read, and that lists of it come back
    plan = SearchPlan(
        n_samples=n,
        n_features=d,
        order=order,
        n_tasks=order * times,
        bytes_read=times * rows.bytes(),
        bytes_moved=times * 16 * n * k,
        task_bytes=rows.bytes() // order,
        site=site,
        seconds=None,
    )
    if n * float(n) * d > PROBE_FROM:
        plan = plan._replace(seconds=_estimate(rows, k, plan, n_jobs))
    return plan


def _smallest_order(rows: DaskRows, metric: SearchMetric, site: Site) -> int:
    """The smallest order whose tasks fit the memory of a worker's thread and are enough to keep all of them busy."""
    n, d = rows.shape
    least = TASKS_PER_THREAD * site.n_threads if n * float(n) * d > PROBE_FROM else 1
    room = SHARE * site.memory if site.memory < np.inf else np.inf
    in_task = rows.bytes() + metric.n_copies * 8 * n * d
    for order in PRIMES:
        enough = order * (order + 1) >= least or order**2 >= n
        if enough and in_task / order + rows.largest_block() + min(WORKSPACE, rows.bytes() / order) <= room:
            return order
    size = import_dask().utils.format_bytes
    raise InputError(
        f"{size(rows.bytes())} of rows in blocks of {size(rows.largest_block())} need more than the "
        f"{size(site.memory)} of memory that each thread of a worker has; make the blocks smaller "
        "(X.rechunk), or give the workers more memory or fewer threads."
    )


def _estimate(rows: DaskRows, k: int, plan: SearchPlan, n_jobs: int | None) -> float:
    """Seconds of the search: one task reads a block and searches some of its rows among the others."""
    first, last = next(each for each in rows.ranges() if each[1] > each[0])
    reading = rows.reading([(first, last)])
    read, pair = compute([task("probe", _probe, reading, rows.inputs(reading), k, n_jobs)])[0]
    waves = -(-plan.n_tasks // plan.site.n_threads)
    in_task = plan.n_samples / plan.order
    compared = plan.n_samples**2 / 2 / plan.n_tasks  # pairs of a task, in the mean
    return float(waves * (compared * pair + in_task * read))


def _probe(reading: Reading, inputs: list[Any], k: int, n_jobs: int | None) -> tuple[float, float]:
    """Seconds to read a row, and for a pair of rows."""
    began = time.perf_counter()
    rows = reading.rows(inputs)
    read = time.perf_counter() - began
    n = rows.shape[0]
    return read / n, estimate_search(rows, k, n_jobs=task_threads(n_jobs)).seconds / (n * n / 2)
