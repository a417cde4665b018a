"""Runs tasks where Dask runs them, one result at a time, and says how far they are.

With a distributed client the results leave the workers as soon as they are there, so a worker that dies takes along
what it was doing and no more; the scheduler gives that to another.  Without one, Dask's local schedulers run the tasks.
"""

from __future__ import annotations

import logging
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .._threads import check_n_jobs
from .source import import_dask

__all__ = ["client_in_force", "compute", "each_result", "say", "task", "task_threads"]

LOGGER = logging.getLogger("nmlsdr")


def client_in_force() -> Any:
    """The distributed client that would compute now; None where a local scheduler would."""
    dask = import_dask()
    if dask.config.get("scheduler", None) not in (None, "distributed", "dask.distributed"):
        return None
    module = sys.modules.get("distributed")
    if module is None:
        return None
    try:
        return module.get_client()
    except ValueError:
        return None


def task_threads(n_jobs: int | None) -> int:
    """Threads for the kernels within a task: what is left of the cores when Dask runs tasks side by side."""
    if n_jobs is not None:
        return check_n_jobs(n_jobs)
    module = sys.modules.get("distributed")
    if module is not None:
        try:
            return max(1, check_n_jobs(None) // module.get_worker().state.nthreads)
        except ValueError:  # not in a worker
            pass
    return 1


def task(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """A delayed call; the name is what Dask's dashboard shows."""
    key = f"nmlsdr-{name.strip('_').replace('_', '-')}-{uuid.uuid4().hex}"
    return import_dask().delayed(function, traverse=False)(*arguments, dask_key_name=key)


def compute(tasks: list[Any], what: str = "") -> list[Any]:
    """The results of delayed tasks, in their order."""
    found: list[Any] = [None] * len(tasks)
    for number, result in each_result(tasks, what):
        found[number] = result
    return found


def each_result(tasks: list[Any], what: str = "") -> Iterator[tuple[int, Any]]:
    """(number, result) of delayed tasks as they finish; ``what`` names them in the line of progress."""
    progress = _Progress(what, len(tasks))
    client = client_in_force()
    if client is None:
        for number, result in enumerate(_locally(tasks, progress)):
            yield number, result
        progress.close()
        return
    from distributed import as_completed

    with warnings.catch_warnings():  # labels and graphs of some MB travel with the tasks: meant
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        futures = client.compute(tasks)
    numbers = {future.key: number for number, future in enumerate(futures)}
    try:
        for future in as_completed(futures):
            result = future.result()
            number = numbers[future.key]
            futures[number] = None  # the worker may forget it
            del future
            progress.step()
            yield number, result
    finally:
        client.cancel([future for future in futures if future is not None])
        progress.close()


def _locally(tasks: list[Any], progress: _Progress) -> tuple[Any, ...]:
    dask = import_dask()
    from dask.callbacks import Callback

    keys = {task.key for task in tasks}

    def done(key: Any, *_: Any) -> None:
        if key in keys:
            progress.step()

    with Callback(posttask=done):
        found: tuple[Any, ...] = dask.compute(*tasks)
    return found


def say(text: str) -> None:
    """A line for whoever started the fit: to the logger "nmlsdr" if somebody listens, else to standard error.

    ``logging.getLogger("nmlsdr").setLevel("WARNING")`` silences it.
    """
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info(text)
    elif LOGGER.level == logging.NOTSET:
        print(text, file=sys.stderr, flush=True)


class _Progress:
    """How many tasks are done: a line that is written over on a terminal, else a line for every quarter."""

    def __init__(self, what: str, n_tasks: int) -> None:
        self.what, self.n_tasks, self.done, self.began = what, n_tasks, 0, time.monotonic()
        self.terminal = bool(what) and sys.stderr.isatty() and LOGGER.level == logging.NOTSET
        self.told = 0

    def step(self) -> None:
        self.done += 1
        if not self.what:
            return
        passed = time.monotonic() - self.began
        left = passed / self.done * (self.n_tasks - self.done)
        line = f"{self.what}: {self.done} of {self.n_tasks} tasks, {passed:.0f} s, about {left:.0f} s to go"
        if self.terminal:
            print(f"\r{line:<78}", end="", file=sys.stderr, flush=True)
        elif 4 * self.done // self.n_tasks > self.told and passed > 1:
            self.told = 4 * self.done // self.n_tasks
            say(line)

    def close(self) -> None:
        if self.terminal and self.done:
            print(file=sys.stderr)
