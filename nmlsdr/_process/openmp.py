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


@contextmanager
def sleeping_threads() -> Iterator[None]:
    """Let idle OpenMP threads sleep, by an environment variable that is set while the body loads the kernels.

    A setting of the user stays.
    """
    ours = not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if ours:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    try:
        yield
    finally:
        if ours:
            del os.environ["OMP_WAIT_POLICY"]
