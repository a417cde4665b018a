"""How idle threads of the kernels wait: asleep.

GNU OpenMP's threads spin for milliseconds when they wait, at the end of a parallel region and after it.  On cores that
other processes want too, a spinning thread keeps off the one it waits for: under a load of 10 on two cores a fit of
2000 x 100 on two threads took 770 to 2300 ms (median of 40), and 15 to 28 ms with threads that sleep.

OpenMP reads OMP_WAIT_POLICY once, when it is loaded, so it is set while the kernels are, and removed again.  What the
user set stays; and where another package has loaded the same OpenMP before, its settings are in force.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_POLICY, _SPINS = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"

_user_settings: dict[str, str] = {}  # what was in the environment when the kernels were loaded
_before = False  # OpenMP was there before them


@contextmanager
def sleeping_threads() -> Iterator[None]:
    """Let idle OpenMP threads sleep, by an environment variable that is set while the body loads the kernels.

    A setting of the user stays.
    """
    global _before
    _user_settings.update({name: os.environ[name] for name in (_POLICY, _SPINS) if name in os.environ})
    ours, loaded = not _user_settings, _runtimes()
    if ours:
        os.environ[_POLICY] = "PASSIVE"
    try:
        yield
    finally:
        if ours:
            del os.environ[_POLICY]
        found = _runtimes()
        _before = bool(found) and found == loaded


def idle_threads() -> str:
    """What is in force, for ``nmlsdr info``."""
    if _before:
        return "wait as set by the package that loaded OpenMP first"
    if _user_settings:
        return "wait as set by " + ", ".join(f"{name}={value}" for name, value in _user_settings.items())
    return "sleep"


def _runtimes() -> set[str]:
    """The OpenMP libraries in this process; none where only the headers are wanted, without dependencies."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return set()
    return {library.filepath for library in ThreadpoolController().select(user_api="openmp").lib_controllers}
