"""Progress, notes and the estimate of time on the terminal, and the error of a run that fails with right input."""

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

from .._errors import printable

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
        return max(0.0, min(self._spent + (self.total - self._expected) * pace, MOST_RAISED * self.total) - spent)


class RunError(Exception):
    """The arguments were right and the run failed: exit status 1."""


class _Notes(logging.Handler):
    def __init__(self, console: "Console") -> None:
        super().__init__(logging.INFO)
        self.console = console

    def emit(self, record: logging.LogRecord) -> None:
        if self.console.clock is None or record.levelno > logging.INFO:  # one estimate is enough
            self.console.note(record.getMessage())


class Console:
    """Progress on stderr, if that is a terminal and --quiet is not given; notes always.

    Parameters
    ----------
    quiet : bool, default=False
        Show no progress, no estimates and no reports of what was decided or written.
    stream : text stream, default=sys.stderr
        Where progress and notes go.
    """

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.quiet = quiet
        self.live = not quiet and self.stream.isatty()
        self.clock: Clock | None = None

    def note(self, text: str) -> None:
        """Write one sentence that matters even in a script."""
        print("\r\x1b[K" * self.live + f"nmlsdr: {printable(text)}", file=self.stream)

    def expect(self, steps: Mapping[str, float], n_bytes: int = 0) -> None:
        """Announce once how long these steps will take, if it is long, and use this estimate from here on."""
        from .._search.estimate import LONG, duration
        from .._search.memory import memory_bytes

        self.clock = Clock(steps)
        large = n_bytes >= memory_bytes() / 2
        if not self.quiet and (self.clock.total >= LONG or large):
            memory = f" and {n_bytes / 2**30:.1f} GiB in addition to the data" if large else ""
            self.note(f"this will take about {duration(self.clock.total)}{memory}.")

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Note what the package logs, such as the estimates of large work, while the block runs."""
        if self.quiet:
            yield
            return
        logger, handler = logging.getLogger("nmlsdr"), _Notes(self)
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    def _left(self) -> str:
        from .._search.estimate import duration

        return "" if self.clock is None else f", about {duration(self.clock.left())} left"

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show `text` while the block runs, and its time afterwards; the block may change the text."""
        begin, shown = time.monotonic(), text

        def show(text: str, end: str = " ...") -> None:
            nonlocal shown
            shown = text
            if self.clock is not None:
                self.clock.begin(text)
            if self.live:
                left = self._left() if end == " ..." else ""
                print(f"\r\x1b[K{printable(text)}{left}", end=end, file=self.stream, flush=True)

        show(text)
        try:
            yield show
        except BaseException:
            if self.live:
                self.stream.write("\n")
            raise
        show(shown, f" ({time.monotonic() - begin:.1f} s)\n")
