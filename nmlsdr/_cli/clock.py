"""One estimate of the time that a command takes: announced once, refined as its steps end.

A few pieces of the work are measured on the table itself: a tree, a logistic regression, a part of a neighbour search,
and a matrix product. How many of them each step needs is known before it starts.
"""

import time
from collections.abc import Callable, Mapping

MOST_RAISED = 1.5  # the estimate of the whole never grows beyond this many times what was announced


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
