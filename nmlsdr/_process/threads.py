"""Threads: the only place that reads thread settings or changes a process-wide limit.

Three facts decide the design:

* OpenMP's own default ignores cgroup limits; joblib's ``cpu_count`` honours affinity and cgroups.
* The BLAS limit is process-wide and its context managers are not re-entrant across threads: the
  second to enter saves "1" and restores "1" for ever.  One locked counter sets it on the first
  entry and restores it on the last exit.
* A forked child that enters OpenMP after its parent did hangs (libgomp keeps no atfork handler).
  After a fork every kernel runs on one thread, which never starts a team.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from numbers import Integral
from typing import Any

import threadpoolctl
from threadpoolctl import ThreadpoolController

import nmlsdr._graph as _graph

from .._errors import InputError

SIMD_LEVELS = _graph.SIMD_LEVELS  # by their numbers in _c/simd_levels.h

_MOST_THREADS = 64  # always allowed: four for each core of a laptop, and too few to hurt any machine

_forked = False


def _after_fork_in_child() -> None:
    global _forked, _limits
    _forked = True
    _limits = _BlasLimits()  # the parent's lock may have been held by a thread that does not exist here


def check_n_jobs(n_jobs: int | None) -> int:
    """Number of threads to run a kernel on.

    Parameters
    ----------
    n_jobs : int or None
        None: every core that OMP_NUM_THREADS, the affinity mask and the cgroup allow.
        Positive: that many threads.  Negative: all cores + 1 + n_jobs, at least one.

    Returns
    -------
    int
        At least 1; always 1 in a forked child.

    Raises
    ------
    ValueError
        If ``n_jobs`` is 0, not an integer, or more than 64 and more than four for each core that the affinity mask
        and the cgroup allow: a team of thousands takes minutes to start, and 100 000 threads end the process.

    Examples
    --------
    >>> check_n_jobs(2)
    2
    """
    n_jobs = -1 if n_jobs is None else n_jobs
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise InputError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}; use None for all cores.")
    if n_jobs > _MOST_THREADS and n_jobs > most_threads():
        raise InputError(f"n_jobs must be at most {most_threads()} on {_cores()} cores, got {n_jobs}; None takes all.")
    if _forked:
        return 1
    if n_jobs > 0:
        return int(n_jobs)
    cores = _cores()
    setting = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if setting.isdigit() and int(setting) > 0:
        cores = min(cores, int(setting))
    return max(1, cores + 1 + int(n_jobs))


def most_threads() -> int:
    """The largest accepted number of threads."""
    return max(_MOST_THREADS, 4 * _cores())


def worthwhile_threads(n_threads: int, work: float, each: float) -> int:
    """The number of threads worth starting: at most ``n_threads``, and one for every ``each`` units of ``work``.

    To wake a thread and to wait for it takes tens of microseconds, and longer on a busy machine.  Each caller defines
    its unit of work and how many units a thread must have.

    Examples
    --------
    >>> [worthwhile_threads(n, work, each=100) for n, work in ((8, 350), (2, 350), (8, 50))]
    [3, 2, 1]
    """
    return max(1, min(n_threads, int(work / each)))


def in_threads(function: Callable[[Any], Any], items: Iterable[Any], n_threads: int) -> Iterator[Any]:
    """What ``function`` gives for each item, in their order; several threads gain where it does not hold the GIL."""
    if n_threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(function, items)


@lru_cache(maxsize=1)
def _count_cores(count: Callable[[], int], *conditions: Any) -> int:
    return int(count())


def _cores() -> int:
    """The number of cores that joblib counts, from a cache that lasts until the affinity changes, or for a second.

    joblib reads four files of the cgroup, which takes .04 ms: without the cache, a twentieth of a fit of 500 rows.
    """
    import joblib  # takes as long to load as NumPy: not with the kernels

    allowed = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return _count_cores(joblib.cpu_count, allowed, os.environ.get("LOKY_MAX_CPU_COUNT"), int(time.monotonic()))


def simd() -> int:
    """The number of the SIMD level that every kernel runs on: that of NMLSDR_SIMD, such as "avx2", or else the best.

    Raises
    ------
    ValueError
        If NMLSDR_SIMD is no level of `SIMD_LEVELS`, or this processor lacks it.
    """
    level = os.environ.get("NMLSDR_SIMD", "").strip().lower()
    best = int(_graph.best_simd_level())
    if not level:
        return best
    if level not in SIMD_LEVELS:
        raise InputError(f"NMLSDR_SIMD must be one of {', '.join(SIMD_LEVELS)}, got {level!r}; unset it for the best.")
    if SIMD_LEVELS.index(level) > best:
        raise InputError(f"NMLSDR_SIMD={level} needs a processor with {level}; unset it for the best that this has.")
    return SIMD_LEVELS.index(level)


class _BlasLimits:
    """First in sets the process's BLAS pools to one thread, last out restores them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entered = 0
        # Cache of the BLAS libraries in this process.  Stale when another one is loaded, which then keeps its threads;
        # a forked child begins anew.
        self.libraries: list[Any] | None = None
        self.before: list[tuple[Any, Any]] = []  # the libraries and their numbers of threads; half the time of .limit

    def __enter__(self) -> None:
        with self.lock:
            if self.entered == 0:
                if self.libraries is None:  # scanning the loaded libraries takes milliseconds: once
                    self.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                self.before = [(library, library.num_threads) for library in self.libraries]
                for library in self.libraries:
                    library.set_num_threads(1)
            self.entered += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.entered -= 1
            if self.entered == 0:
                _leave_control(force=True)
                for library, n_threads in self.before:
                    library.set_num_threads(n_threads)
                _leave_control(force=False)


def _leave_control(*, force: bool) -> None:
    """Give up the control of OpenBLAS that threadpoolctl 3.8 keeps per thread.

    There, the thread that limits OpenBLAS first owns the limit, and what other threads set is ignored
    in silence.  Ours is restored by the last thread out, which need not be the one that set it, so the
    ownership is dropped first, and dropped again by the thread that restored.  A limit of the caller's
    own is safe: nothing is restored but what was in force, and its owner takes control again on exit.
    """
    controller = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(controller, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=force)


_limits = _BlasLimits()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def single_threaded_blas() -> AbstractContextManager[None]:
    """Run the body with BLAS on one thread, for the whole process.

    Re-entrant, and safe from any number of Python threads: the limit that was in force before the
    first entry is restored after the last exit.
    """
    return _limits  # a fork inside the body replaces the global: `with` leaves what it entered
