"""Progress and notes on the terminal, and the error of a run that fails although the input is right."""

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

from nmlsdr._errors import printable

from .clock import Clock


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
        Show no progress and no estimates.
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
        clear = "\r\x1b[K" if self.live else ""
        print(f"{clear}nmlsdr: {printable(text)}", file=self.stream)

    def expect(self, steps: Mapping[str, float], n_bytes: int = 0) -> None:
        """Announce once how long these steps will take, if it is long, and use this estimate from here on."""
        from nmlsdr._search.estimate import LONG, duration
        from nmlsdr._search.memory import memory_bytes

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
        from nmlsdr._search.estimate import duration

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
                self.stream.write(f"\r\x1b[K{printable(text)}{self._left() if end == ' ...' else ''}{end}")
                self.stream.flush()

        show(text)
        try:
            yield show
        except BaseException:
            if self.live:
                self.stream.write("\n")
            raise
        show(shown, f" ({time.monotonic() - begin:.1f} s)\n")
