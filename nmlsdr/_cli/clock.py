"""One estimate of the time that a command takes: announced once, refined as its steps end.

A few pieces of the work are measured on the table itself: a tree, a logistic regression, a part of a neighbour search,
and a matrix product. How many of them each step needs is known before it starts.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MOST_RAISED = 1.5  # the estimate of the whole never grows beyond this many times what was announced
SMALL = 2e8  # rows times features times 100 labels, or a tenth of the rows: less takes seconds and is not measured


class Clock:
    """How long a command will still take.

    Parameters
    ----------
    steps : mapping of str to float
        Expected seconds of each step, by the text that announces it.
    now : callable, default=time.monotonic
        Gives the time in seconds.

    Attributes
    ----------
    total : float
        Expected seconds of all steps.

    Examples
    --------
    A first step that takes three times as long as expected raises the estimate of the rest, within the limit.

    >>> seconds = iter([0.0, 0.0, 30.0, 30.0])
    >>> clock = Clock({"one": 10.0, "two": 90.0}, now=lambda: next(seconds))
    >>> clock.begin("one"); clock.left()
    100.0
    >>> clock.begin("two"); clock.left()
    120.0
    """

    def __init__(self, steps: Mapping[str, float], now: Callable[[], float] = time.monotonic) -> None:
        self.steps = dict(steps)
        self.total = sum(self.steps.values())
        self._now = now
        self._began = now()
        self._current, self._expected, self._spent = "", 0.0, 0.0  # of the steps that have ended

    def begin(self, text: str) -> None:
        """Note that a step begins, so that the one before it has ended."""
        if text != self._current and text in self.steps:
            self._expected += self.steps.get(self._current, 0.0)
            self._current = text
            if self._expected:
                self._spent = self._now() - self._began

    def left(self) -> float:
        """Seconds to the end: the steps to come, corrected by how long those took that have ended."""
        spent = self._now() - self._began
        # The announced estimate counts as much as a third of the work: the first steps alone say little.
        weight = self.total / 3
        pace = (self._spent + weight) / (self._expected + weight) if self.total else 1.0
        whole = self._spent + (self.total - self._expected) * pace
        return max(0.0, min(whole, MOST_RAISED * self.total) - spent)


class Pieces(NamedTuple):
    """Seconds of the pieces of the work on one table."""

    tree: float  # one tree of a forest on the labelled rows
    search: float  # the nearest neighbours of all rows
    ridge: float  # everything else in a fit of ResidualPropagation
    logistic: float  # a tuned logistic regression of every label
    n_threads: int
    n_bytes: int  # of the lists of neighbours

    def fit(self, n_trees: int) -> float:
        """Seconds of a fit with so many trees; its second search is in the few dimensions of the embedding."""
        return self.forest(n_trees) + self.ridge + 1.2 * self.search

    def forest(self, n_trees: int) -> float:
        """Seconds of so many trees."""
        return self.tree * n_trees / self.n_threads


def measure(X: Any, y: Any, args: argparse.Namespace) -> Pieces | None:
    """Measure the pieces on a table of numbers, in about a second; None where all of the work is small."""
    import numpy as np

    from nmlsdr._estimators._forest import grow_forest
    from nmlsdr._process.threads import check_n_jobs, single_threaded_blas
    from nmlsdr._report.rival import TUNING_LABELS, TUNING_ROWS, logistic
    from nmlsdr._search.estimate import estimate_search

    rows = np.flatnonzero((y != -1).any(axis=1))
    (n, D), l, C = X.shape, len(rows), y.shape[1]
    if n * D * max(n / 10, 100 * C) < SMALL or l < 20:
        return None
    near, Y = X[rows], y[rows]
    given = np.where(Y == 1, 1.0, 0.0)
    settings = {"random_state": 0, "n_jobs": 1}
    some = np.arange(l) if l <= TUNING_ROWS else np.linspace(0, l - 1, 2 * TUNING_ROWS // 3).astype(np.intp)
    common = np.argsort(-given.sum(axis=0), kind="stable")[: min(3, C)]
    square = np.full((400, 400), 1e-3)
    with single_threaded_blas():
        grow_forest(near[:20], given[:20], n_estimators=1, **settings)  # imports take a while
        tree = _seconds(lambda: grow_forest(near, given, n_estimators=2, **settings)) / 2
        one = _seconds(lambda: logistic(near[some], Y[some][:, common], near[:1], 0.1, newton=False)) / len(common)
        product = min(_seconds(lambda: square @ square) for _ in range(5)) / 400**3
    m = min(l, D, 3000)
    # Multiplications of the cross-validated ridge regression, and of the propagation for each row and label, from fits
    # of 2000 to 20 000 rows with 60 to 1000 features.
    ridge = (6.0 * m**3 + 1.5 * l * D * m + 1.3e4 * n * C) * product
    n_fits = 15 * min(C, TUNING_LABELS) + 3 * C + C * max(1.0, l / len(some))
    search = estimate_search(X, args.n_neighbors, n_jobs=args.jobs)
    return Pieces(tree, search.seconds, ridge, one * n_fits, check_n_jobs(args.jobs), search.bytes)


Later = Callable[[Pieces], dict[str, float]]


def expect_fit(X: Any, y: Any, args: argparse.Namespace, console: Any, later: Later = lambda pieces: {}) -> None:
    """Announce how long one fit of ResidualPropagation on these rows will take, with the steps that come later."""
    from .method import NAME, TREES

    pieces = measure(X, y, args)
    if pieces is not None:
        console.expect({f"fit {NAME}": pieces.fit(TREES)} | later(pieces), pieces.n_bytes)


def _seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
