"""What a worker process does so that it never outlives the run that started it."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time

__all__ = ["end_with"]

_EVERY = 0.5  # seconds between two looks at the parent
_watched: set[int] = set()


def end_with(parent: int) -> None:
    """End this worker process when the process `parent`, which started it, has ended, however it ended.

    A worker of joblib whose parent was killed would wait five minutes for more work and hold the parent's output open.
    Called as a worker starts, before it has work: one whose parent died while it was starting ends at once. In a
    process that `parent` did not start, such as a worker of a Dask cluster or `parent` itself, it does nothing.

    Parameters
    ----------
    parent : int
        Identifier of the process that hands out the cells.
    """
    if parent in _watched or parent == os.getpid():
        return
    if os.getppid() != parent:
        if os.name == "posix" and multiprocessing.current_process().name.startswith("LokyProcess"):
            os._exit(1)
        return
    _watched.add(parent)
    watch = _watch if os.name == "posix" else _watch_windows
    threading.Thread(target=watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """Wait until the system has given this process another parent."""
    while os.getppid() == parent:
        time.sleep(_EVERY)
    os._exit(1)


def _watch_windows(parent: int) -> None:
    """Wait until the parent's handle says that it has ended; there the number of a parent outlives it."""
    import ctypes

    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009  (absent from the type stubs of other systems)
    synchronize, infinite = 0x00100000, 0xFFFFFFFF
    handle = kernel.OpenProcess(synchronize, False, parent)
    if handle:
        kernel.WaitForSingleObject(handle, infinite)
        os._exit(1)
