"""Run cells in parallel and record each as it finishes; a worker that dies takes only its own cell with it.

joblib runs the cells, so its backends serve: loky by default, Dask under ``joblib.parallel_config("dask")``, Ray.
Cells are handed out one at a time, so that after the death of a worker the cells that may have killed it are known:
those handed out and not back. Each of them runs once more, alone, and is recorded as failed if its worker dies again;
the rest goes on in fresh workers. On a Dask cluster it is Dask that runs such a cell again, and after its fourth death
joblib 1.6 waits for it without end: interrupt, and the same command goes on.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TextIO

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from .store import CellKey, RecordStore
from .workers import end_with

__all__ = ["Progress", "run_cells"]

Record = dict[str, Any]
Work = Callable[[CellKey], Record]


def run_cells(
    cells: Sequence[CellKey],
    work: Work,
    store: RecordStore,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> None:
    """Compute the cells that the store does not hold yet and append each record as it arrives.

    Parameters
    ----------
    cells : sequence of CellKey
    work : callable
        From a cell to its record; called in worker processes if `jobs` is above 1.
    store : RecordStore
    jobs : int, default=1
        Cells at the same time.
    progress : Progress or None, default=None
        Told of each record.

    Notes
    -----
    A KeyboardInterrupt passes through: records that arrived are in the store, cells in flight are lost.
    """
    waiting = [key for key in cells if not store.finished(key)]
    if progress is not None:
        progress.start(waiting, len(cells) - len(waiting), jobs, store.records.values())

    def record(result: Record) -> None:
        store.append(result)
        if progress is not None:
            progress.advance(result)

    if jobs == 1:
        for key in waiting:
            record(work(key))
        return
    suspects: list[CellKey] = []
    while waiting or suspects:
        if suspects:
            key = suspects.pop(0)
            if not _in_workers([key], work, record, jobs=2):
                message = "the worker process died twice on this cell; it may need more memory"
                record({**key._asdict(), "error": f"WorkerDied: {message}", "metrics": {}, "times": {}})
            continue
        done: set[CellKey] = set()
        given: list[CellKey] = []

        def note(result: Record, done: set[CellKey] = done) -> None:
            record(result)
            done.add(CellKey(result["study"], result["dataset"], result["method"], result["seed"]))

        _in_workers(_noting(waiting, given), work, note, jobs=jobs)
        suspects = [key for key in given if key not in done]
        waiting = [key for key in waiting if key not in done and key not in suspects]


def _noting(cells: Iterable[CellKey], given: list[CellKey]) -> Iterator[CellKey]:
    """Hand out the cells and keep a list of those handed out."""
    for key in cells:
        given.append(key)
        yield key


def _in_workers(cells: Iterable[CellKey], work: Work, record: Callable[[Record], None], *, jobs: int) -> bool:
    """Run the cells in worker processes; False if one of these died."""
    parallel = joblib.Parallel(
        n_jobs=jobs,
        batch_size=1,
        pre_dispatch="n_jobs",
        return_as="generator_unordered",
        max_nbytes=None,
        initializer=end_with,  # before its first cell: an idle worker of a killed run would wait five minutes for one
        initargs=(os.getpid(),),
    )
    try:
        for result in parallel(joblib.delayed(work)(key) for key in cells):
            record(result)
    except (TerminatedWorkerError, BrokenProcessPool):
        return False
    return True


class Progress:
    """Say how far a run is and how long it still takes: one changing line on a terminal, else a line now and then.

    Parameters
    ----------
    stream : text file or None, default=None
        None: standard error.
    every : float, default=15
        Seconds between lines where the stream is no terminal.
    first : float, default=5
        Seconds until the first line there.  The first cells are the probe that the estimate of the whole comes from:
        they count, so the probe costs nothing, and earlier the start of the workers would be most of what it measures.
    """

    def __init__(self, stream: TextIO | None = None, *, every: float = 15.0, first: float = 5.0) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.every = every
        self.wait = first
        self.terminal = self.stream.isatty()
        self.waiting: list[CellKey] = []
        self.failed = 0

    def start(
        self, waiting: Sequence[CellKey], finished: int, jobs: int, known: Iterable[Record] = ()
    ) -> None:
        """Say how long it will take by the `known` records of like cells, or that the first cells will tell."""
        self.waiting = list(waiting)
        self.total = len(waiting) + finished
        self.jobs = jobs
        self.spent: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self.started = self.last_line = self.last_record = time.monotonic()
        if not waiting:
            return
        if finished:
            self._say(f"{finished} of {self.total} cells are in the store already.\n")
        for record in known:
            self._spend(record)
        told = "; the first of them will tell how long it takes"
        if self.can_tell():
            told = f": about {clock(self._ahead() / jobs)} by the cells in the store"
        self._say(f"{len(waiting)} cells to run, {jobs} at a time{told}.\n")
        self.spent.clear()  # another day's machine may have been faster: what follows goes by this run alone

    def advance(self, record: Record) -> None:
        key = CellKey(record["study"], record["dataset"], record["method"], record["seed"])
        if key in self.waiting:
            self.waiting.remove(key)
        self.failed += record["error"] is not None
        self._spend(record)
        now = time.monotonic()
        last = not self.waiting
        if not self.terminal and not last and now - self.last_line < self.wait:
            return
        self.last_line, self.wait = now, self.every
        failed = f", {self.failed} failed" if self.failed else ""
        if last:
            left = ""
        elif self.can_tell():
            left = f", about {clock(self.remaining(now))} left by the cells so far"
        else:
            left = ", too early to tell how long it takes"
        done = f"{self.total - len(self.waiting)}/{self.total} cells"
        text = f"{done}{failed}{left}  ({key.dataset}, {key.method}, seed {key.seed})"
        if self.terminal:
            self._say(f"\r\x1b[K{text}" + ("\n" if last else ""))
        else:
            self._say(text + "\n")

    def _spend(self, record: Record) -> None:
        seconds = sum(record["times"].values())
        for n in (3, 2, 0):
            self.spent[(record["study"], record["dataset"], record["method"])[:n]].append(seconds)

    def interrupt(self) -> None:
        """End a changing line."""
        if self.terminal:
            self._say("\n")

    def can_tell(self) -> bool:
        """Whether an estimate means something: of most waiting cells, the like have been met.

        Data sets differ by a factor of a hundred in cost, and the first cells pay for starting the workers: an estimate
        from the first few was seen to be 13 times too long.
        """
        if sum(map(len, self.spent.values())) == 0 or len(self.spent[()]) < 2 * self.jobs:
            return False
        met = sum(key[:2] in self.spent for key in self.waiting)
        return 2 * met >= len(self.waiting)

    def remaining(self, now: float) -> float:
        """Seconds left: each waiting cell costs what its like have cost, at the pace of this run so far."""
        behind = sum(self.spent[()])
        if behind <= 0:
            return 0.0
        return self._ahead() * (now - self.started) / behind

    def _ahead(self) -> float:
        """Seconds that the waiting cells take one after another."""
        means = {level: sum(values) / len(values) for level, values in self.spent.items()}
        return sum(means.get(key[:3], means.get(key[:2], means[()])) for key in self.waiting)

    def _say(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def clock(seconds: float) -> str:
    """Minutes and seconds, or hours and minutes.

    Examples
    --------
    >>> clock(75), clock(7500)
    ('1:15', '2 h 05 min')
    """
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
