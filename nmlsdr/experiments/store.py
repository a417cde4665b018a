"""The finished cells of a folder: ``cells/``, one JSON file each, which appears whole or not at all.

A killed run leaves the files of the cells that were finished, and the next start computes the others.  Two runs on one
folder compute some cells twice and write the same files.
"""

import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TextIO

import joblib

from .._errors import InputError
from .._output import write_file
from .._search.estimate import duration

CELLS = "cells"
Record = dict[str, Any]


class CellKey(NamedTuple):
    """The identity of a cell; no cell is computed twice."""

    study: str
    dataset: str
    method: str
    seed: int

    @classmethod
    def of(cls, record: Record) -> "CellKey":
        """The key of a record."""
        return cls(*(record[field] for field in cls._fields))

    def file_name(self) -> str:
        """The name of the cell's file, with characters that every file system allows.

        Examples
        --------
        >>> CellKey("toy", "Toy", "NMLSDR*", 3).file_name()
        'toy.Toy.NMLSDR-star.3.json'
        """
        return f"{'.'.join(map(str, self))}.json".replace("*", "-star").replace(":", "-")


class CellFolder:
    """The cells of one output folder, failed ones included.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.

    Attributes
    ----------
    records : dict of CellKey to dict

    Raises
    ------
    InputError
        If the folder cannot be made, or if a file in it is not a cell.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.cells = self.folder / CELLS
        self.records: dict[CellKey, Record] = {}
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"--out {str(folder)!r} cannot be made ({error.strerror}); choose another.") from None
        for path in sorted(self.cells.glob("*.json")):
            try:
                record = json.loads(path.read_bytes())
                self.records[CellKey.of(record)] = record
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{path} is not a cell of an experiment; remove the file.") from None

    def write(self, record: Record) -> None:
        """Add one cell; its file is on the disk when this returns."""
        key = CellKey.of(record)
        write_file(self.cells / key.file_name(), json.dumps(record, indent=1, allow_nan=False) + "\n")
        self.records[key] = record

    def finished(self, key: CellKey) -> bool:
        """Whether the cell has a result; a failed cell has none and runs again on the next start."""
        record = self.records.get(key)
        return record is not None and record["error"] is None

    def set_aside(self) -> Path | None:
        """Move the cells to another folder, which is returned, and continue without cells."""
        if not self.records:
            return None
        number = 1
        while (aside := self.folder / f"{CELLS}.{number}").exists():
            number += 1
        self.cells.rename(aside)
        self.cells.mkdir()
        self.records.clear()
        return aside


# ---------------------------------------------------------------- cells in parallel


def run_cells(
    cells: Sequence[CellKey], work: Callable[[CellKey], Record], folder: CellFolder, *, jobs: int = 1
) -> None:
    """Compute the cells that are not in the folder yet and write each as soon as it is finished.

    joblib runs the cells with any of its backends: loky by default, Dask under ``joblib.parallel_config("dask")``,
    Ray. If a worker process dies, the run ends; the finished cells are kept, and the same command continues.

    Parameters
    ----------
    cells : sequence of CellKey
    work : callable
        From a cell to its record; called in worker processes if `jobs` is above 1.
    folder : CellFolder
    jobs : int, default=1
        Cells at the same time.

    Notes
    -----
    After a KeyboardInterrupt the finished cells are in the folder; those being computed are lost.
    """
    waiting = [key for key in cells if not folder.finished(key)]
    records: Iterable[Record] = map(work, waiting)
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
        records = parallel(joblib.delayed(work)(key) for key in waiting)
    for record in shown(records, waiting, len(cells) - len(waiting), jobs):
        folder.write(record)


def _end_with(parent: int) -> None:
    """End this worker process of joblib soon after the process that started it.

    Otherwise a worker whose parent was killed waits five minutes for more work and keeps the parent's output open.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    if os.name == "posix" and multiprocessing.current_process().name.startswith("LokyProcess"):
        threading.Thread(target=watch, daemon=True).start()


def remaining_seconds(waiting: Sequence[CellKey], records: Sequence[Record], jobs: int, run: float) -> float | None:
    """Seconds left at the pace of the run so far: each cell takes the mean of those of its data set, or of all.

    None where the estimate is not worth showing: with few records, or where most cells are of data sets without one.
    Data sets differ by a factor of a hundred in cost, and the first cells pay for starting the workers: an estimate
    from the first few was seen to be 13 times too long.

    Parameters
    ----------
    waiting : sequence of CellKey
    records : sequence of dict
        Of this run alone, because earlier ones may have been faster or slower.
    jobs : int
    run : float
        Seconds since the run began.
    """
    seconds: dict[tuple[str, str], list[float]] = {}
    for record in records:
        seconds.setdefault(CellKey.of(record)[:2], []).append(sum(record["times"].values()))
    spent = sum(map(sum, seconds.values()))
    if len(records) < 2 * jobs or 2 * sum(key[:2] in seconds for key in waiting) < len(waiting) or spent == 0:
        return None
    means = {pair: fmean(values) for pair, values in seconds.items()}
    overall = fmean(means.values())
    return sum(means.get(key[:2], overall) for key in waiting) * run / spent


def shown(
    records: Iterable[Record],
    waiting: Sequence[CellKey],
    n_finished: int,
    jobs: int,
    *,
    stream: TextIO | None = None,
    every: float = 15.0,
) -> Iterator[Record]:
    """Yield the records, and show how far a run is: one changing line on a terminal, else a line now and then.

    Parameters
    ----------
    records : iterable of dict
        As the cells are finished.
    waiting : sequence of CellKey
        Cells to run.
    n_finished : int
        Cells that are in the folder already.
    jobs : int
        Cells at the same time.
    stream : text file or None, default=None
        None: standard error.
    every : float, default=15
        Seconds between lines where the stream is no terminal; the first line comes after at most 5.
    """
    progress = _Progress(waiting, n_finished, jobs, sys.stderr if stream is None else stream, every)
    progress.begin()
    for record in records:
        yield record
        progress.add(record)


class _Progress:
    """How far a run is, printed on a stream; the parameters are those of `shown`."""

    def __init__(self, waiting: Sequence[CellKey], n_finished: int, jobs: int, stream: TextIO, every: float) -> None:
        self.remaining = list(waiting)
        self.finished = list[Record]()
        self.n_earlier = n_finished
        self.jobs = jobs
        self.stream = stream
        self.every = every
        self.started = time.monotonic()
        self.next_line = self.started + min(every, 5.0)

    @property
    def n_cells(self) -> int:
        return len(self.remaining) + len(self.finished) + self.n_earlier

    def begin(self) -> None:
        """Print how many cells there are to run, and how many were run earlier."""
        if self.n_earlier and self.remaining:
            print(f"In the folder already: {self.n_earlier} of {self.n_cells} cells.", file=self.stream)
        if self.remaining:
            print(f"{len(self.remaining)} cells to run, {self.jobs} at a time.", file=self.stream, flush=True)

    def add(self, record: Record) -> None:
        """Count a finished cell, and print a line if it is time for one."""
        key = CellKey.of(record)
        self.remaining.remove(key)
        self.finished.append(record)
        present = time.monotonic()
        is_terminal = self.stream.isatty()
        if self.remaining and not is_terminal and present < self.next_line:
            return
        self.next_line = present + self.every
        begin = "\r\x1b[K" if is_terminal else ""
        end = "" if is_terminal and self.remaining else "\n"
        text = self._text(present - self.started)
        print(f"{begin}{text}  ({key.dataset}, {key.method}, seed {key.seed})", end=end, file=self.stream, flush=True)

    def _text(self, run: float) -> str:
        """How many cells are finished and have failed, and how long the others will take; `run` seconds have passed."""
        text = f"{self.n_cells - len(self.remaining)}/{self.n_cells} cells"
        if failed := sum(record["error"] is not None for record in self.finished):
            text += f", {failed} failed"
        if self.remaining:
            seconds = remaining_seconds(self.remaining, self.finished, self.jobs, run)
            text += ", too early to estimate" if seconds is None else f", about {duration(seconds)} left"
        return text
