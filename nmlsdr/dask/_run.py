"""Runs tasks where Dask runs them and gives their results one by one.

With a client of a cluster each result leaves its worker as soon as it is there, so a worker that dies takes only the
task that it was working on, and the scheduler gives that task to another.  Without a client, Dask's local schedulers
run the tasks.
"""

import logging
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count, islice
from typing import Any

from .._errors import import_extra
from .._process.threads import check_n_jobs

LOGGER = logging.getLogger("nmlsdr")

# A fit whose cluster has had no worker for so long ends: new ones do not come by themselves.  Dask's configuration can
# say otherwise: `dask.config.set({"nmlsdr.no-worker-timeout": "1 hour"})`, or DASK_NMLSDR__NO_WORKER_TIMEOUT.
NO_WORKER_TIMEOUT = "2 minutes"
_POLL = 2.0  # seconds between two looks at the workers


def import_dask() -> Any:
    """Dask, or one sentence."""
    return import_extra("dask.array", "nmlsdr.dask", "dask")


def client_in_force() -> Any:
    """The distributed client that would compute now; None where a local scheduler would."""
    if import_dask().config.get("scheduler", None) in (None, "distributed", "dask.distributed"):
        with suppress(KeyError, ValueError):  # not imported, or no client
            return sys.modules["distributed"].get_client()
    return None


def task_threads(n_jobs: int | None) -> int:
    """Threads for the kernels within a task: what is left of the cores when Dask runs tasks side by side."""
    if n_jobs is not None:
        return check_n_jobs(n_jobs)
    with suppress(KeyError, ValueError):  # not imported, or not in a worker
        return max(1, check_n_jobs(None) // sys.modules["distributed"].get_worker().state.nthreads)
    return 1


def task(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """A delayed call; the name is what Dask's dashboard shows."""
    key = f"nmlsdr-{name.strip('_').replace('_', '-')}-{uuid.uuid4().hex}"
    return import_dask().delayed(function, traverse=False)(*arguments, dask_key_name=key)


def task_of_value(name: str, value: Any) -> Any:
    """A task that gives a value, so that the value goes to each worker once and not with every task that needs it.

    What ``client.scatter`` sends would be lost with the workers that hold it.
    """
    return task(name, _same, value)


def _same(value: Any) -> Any:
    return value


def as_array(blocks: list[Any], sizes: list[int], shape: tuple[int, ...], dtype: Any) -> Any:
    """Delayed blocks of rows as one Dask array, the empty ones too; ``shape`` is that of one row."""
    dask = import_dask()
    name = f"nmlsdr-rows-{uuid.uuid4().hex}"
    keys = {(name, number, *(0 for _ in shape)): block.key for number, block in enumerate(blocks)}
    graph = dask.highlevelgraph.HighLevelGraph.from_collections(name, keys, dependencies=blocks)
    return dask.array.Array(graph, name, (tuple(sizes), *((n,) for n in shape)), dtype=dtype)


def compute(tasks: list[Any], title: str = "") -> list[Any]:
    """The results of delayed tasks, in their order."""
    results: list[Any] = [None] * len(tasks)
    for number, result in each_result(tasks, title, len(tasks)):
        results[number] = result
    return results


def each_result(
    tasks: Iterable[Any], title: str, n_tasks: int, at_once: int | None = None
) -> Iterator[tuple[int, Any]]:
    """(number, result) of delayed tasks as they finish; ``title`` names them in the lines of progress.

    ``at_once``: so many of them run at a time, and the next is taken from ``tasks`` after the caller has had the result
    of one before it. None: as many as Dask likes.
    """
    waiting = enumerate(tasks)
    client = client_in_force()
    began = time.monotonic()
    finished = count(1)

    def is_done() -> None:
        """Say how far the tasks are at every quarter of them, if they take more than a second."""
        number = next(finished)
        passed = time.monotonic() - began
        if title and passed > 1 and 4 * number // n_tasks > 4 * (number - 1) // n_tasks:
            seconds_left = passed / number * (n_tasks - number)
            say(f"{title}: {number} of {n_tasks} tasks, {passed:.0f} s, about {seconds_left:.0f} s to go")

    if client is not None:
        yield from _on_cluster(client, waiting, at_once, is_done)
    while batch := list(islice(waiting, at_once)):
        numbers, together = zip(*batch, strict=True)
        yield from zip(numbers, _locally(together, is_done), strict=True)


class _WorkerDeadline:
    """How long a cluster may be without a worker.

    Attributes
    ----------
    client : Client
    limit : float
        Seconds.
    begin : float or None
        Since when there is no worker; None: there is one.
    """

    def __init__(self, client: Any) -> None:
        dask = import_dask()
        self.client = client
        self.limit = dask.utils.parse_timedelta(dask.config.get("nmlsdr.no-worker-timeout", NO_WORKER_TIMEOUT))
        self.begin: float | None = None

    def check(self, has_result: bool, n_pending: int) -> None:
        """Raise if there has been no worker for longer than the limit; a new result shows that there is one."""
        if has_result or self.client.scheduler_info()["workers"]:
            self.begin = None
            return
        self.begin = self.begin or time.monotonic()
        if time.monotonic() - self.begin > self.limit:
            raise TimeoutError(
                f"The Dask cluster has had no worker for {self.limit:g} s, with {n_pending} task(s) left; start "
                'workers and try again, or wait longer: dask.config.set({"nmlsdr.no-worker-timeout": "1 hour"}).'
            )


def _on_cluster(
    client: Any, waiting: Iterator[tuple[int, Any]], at_once: int | None, is_done: Callable[[], None]
) -> Iterator[tuple[int, Any]]:
    from distributed import TimeoutError as NothingYet
    from distributed import wait

    deadline = _WorkerDeadline(client)
    pending: dict[Any, int] = {}

    def start() -> None:
        batch = list(islice(waiting, None if at_once is None else at_once - len(pending)))
        with warnings.catch_warnings():  # labels and graphs of some MB travel with the tasks: meant
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            futures = client.compute([each for _, each in batch]) if batch else []
        pending.update(zip(futures, (number for number, _ in batch), strict=True))

    start()
    try:
        while pending:
            done = set()
            with suppress(NothingYet):
                done = wait(list(pending), _POLL, return_when="FIRST_COMPLETED").done
            deadline.check(bool(done), len(pending))
            while done:
                future = done.pop()
                number = pending.pop(future)
                result = future.result()
                del future  # the worker may forget the result
                is_done()
                yield number, result
                start()
    finally:
        client.cancel(list(pending))


def _locally(tasks: Sequence[Any], is_done: Callable[[], None]) -> tuple[Any, ...]:
    dask = import_dask()
    keys = {task.key for task in tasks}
    with dask.callbacks.Callback(posttask=lambda key, *_: is_done() if key in keys else None):
        return dask.compute(*tasks)


def say(text: str) -> None:
    """Write a line of progress to the logger "nmlsdr" if it is enabled, else to standard error.

    ``logging.getLogger("nmlsdr").setLevel("WARNING")`` silences it.
    """
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info(text)
    elif LOGGER.level == logging.NOTSET:
        print(text, file=sys.stderr, flush=True)
