"""Run cells in parallel and keep each as it finishes.

joblib runs the cells, so its backends serve: loky by default, Dask under ``joblib.parallel_config("dask")``, Ray.
A worker process that dies ends the run; the finished cells are kept, and the same command goes on.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

import joblib

from .store import CellFolder, CellKey, Record

__all__ = ["CellProgress", "clock", "run_cells"]


def run_cells(
    cells: Sequence[CellKey],
    work: Callable[[CellKey], Record],
    folder: CellFolder,
    *,
    jobs: int = 1,
    progress: CellProgress,
) -> None:
    """Compute the cells that the folder does not hold yet and write each as it arrives.

    Parameters
    ----------
    cells : sequence of CellKey
    work : callable
        From a cell to its record; called in worker processes if `jobs` is above 1.
    folder : CellFolder
    jobs : int, default=1
        Cells at the same time.
    progress : CellProgress
        Shown how far the run is.

    Notes
    -----
    A KeyboardInterrupt passes through: cells that arrived are in the folder, cells in flight are lost.
    """
    waiting = [key for key in cells if not folder.finished(key)]
    progress.start(waiting, len(cells) - len(waiting), jobs, folder.records.values())
    found: Iterable[Record] = map(work, waiting)
    if jobs > 1:
        parallel = joblib.Parallel(
            n_jobs=jobs,
            batch_size=1,
            pre_dispatch="n_jobs",
            return_as="generator_unordered",
            max_nbytes=None,
            initializer=_end_with,
            initargs=(os.getpid(),),
        )
        found = parallel(joblib.delayed(work)(key) for key in waiting)
    for record in found:
        folder.write(record)
        progress.advance(record)


def _end_with(parent: int) -> None:
    """End this worker process of joblib soon after the process that started it.

    A worker whose parent was killed would wait five minutes for more work and hold the parent's output open.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    if os.name == "posix" and multiprocessing.current_process().name.startswith("LokyProcess"):
        threading.Thread(target=watch, daemon=True).start()


class CellProgress:
    """Say how far a run is and how long it still takes: one changing line on a terminal, else a line now and then.

    Parameters
    ----------
    stream : text file or None, default=None
        None: standard error.
    every : float, default=15
        Seconds between lines where the stream is no terminal.
    first : float, default=5
        Seconds until the first line there.
    """

    def __init__(self, stream: TextIO | None = None, *, every: float = 15.0, first: float = 5.0) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.every = every
        self.wait = first
        self.terminal = self.stream.isatty()
        self.failed = 0

    def start(self, waiting: Sequence[CellKey], finished: int, jobs: int, known: Iterable[Record] = ()) -> None:
        """Say how long it will take by the `known` records of like cells, or that the first cells will tell."""
        self.waiting = list(waiting)
        self.total = len(waiting) + finished
        self.enough = 2 * jobs
        self.seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.started = self.last_line = time.monotonic()
        if not waiting:
            return
        if finished:
            self._say(f"{finished} of {self.total} cells are in the folder already.\n")
        for record in known:
            self._spend(record)
        told = "; the first of them will tell how long it takes"
        if self.can_tell():
            told = f": about {clock(self._ahead() / jobs)} by the cells in the folder"
        self._say(f"{len(waiting)} cells to run, {jobs} at a time{told}.\n")
        self.seconds.clear()  # another day's machine may have been faster: what follows goes by this run alone

    def advance(self, record: Record) -> None:
        """Count a finished cell, and perhaps say so."""
        key = CellKey.of(record)
        self.waiting.remove(key)
        self.failed += record["error"] is not None
        self._spend(record)
        now = time.monotonic()
        if not self.terminal and self.waiting and now - self.last_line < self.wait:
            return
        self.last_line, self.wait = now, self.every
        text = f"{self.total - len(self.waiting)}/{self.total} cells"
        if self.failed:
            text += f", {self.failed} failed"
        if self.waiting:
            told = f"about {clock(self.remaining(now))} left by the cells so far"
            text += f", {told if self.can_tell() else 'too early to tell how long it takes'}"
        text += f"  ({key.dataset}, {key.method}, seed {key.seed})"
        if self.terminal:
            text = f"\r\x1b[K{text}"
        self._say(text + ("\n" if not (self.terminal and self.waiting) else ""))

    def can_tell(self) -> bool:
        """Whether an estimate means something: most waiting cells are of data sets whose cells have finished.

        Data sets differ by a factor of a hundred in cost, and the first cells pay for starting the workers: an estimate
        from the first few was seen to be 13 times too long.
        """
        if sum(map(len, self.seconds.values())) < self.enough:
            return False
        return 2 * sum(key[:2] in self.seconds for key in self.waiting) >= len(self.waiting)

    def remaining(self, now: float) -> float:
        """Seconds left: each waiting cell costs what its like have cost, at the pace of this run so far."""
        behind = sum(map(sum, self.seconds.values()))
        return self._ahead() * (now - self.started) / behind if behind > 0 else 0.0

    def _spend(self, record: Record) -> None:
        self.seconds[CellKey.of(record)[:2]].append(sum(record["times"].values()))

    def _ahead(self) -> float:
        """Seconds that the waiting cells take one after another: the mean of their data set, or of all."""
        means = {like: sum(values) / len(values) for like, values in self.seconds.items()}
        overall = sum(means.values()) / len(means)
        return sum(means.get(key[:2], overall) for key in self.waiting)

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
