"""Progress, notes and the estimate of time on the terminal."""

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from .._errors import printable


class Console(logging.Handler):
    """Progress on stderr, if that is a terminal and --quiet is not given; notes always.

    Parameters
    ----------
    quiet : bool, default=False
        Show no progress, no estimates and no reports of what was decided or written.
    stream : text stream, default=sys.stderr
        Where progress and notes go.
    """

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        super().__init__(logging.INFO)
        self.stream = sys.stderr if stream is None else stream
        self.quiet = quiet
        self.live = not quiet and self.stream.isatty()
        self.announced = False

    def note(self, text: str) -> None:
        """Write one sentence that matters even in a script."""
        print("\r\x1b[K" * self.live + f"nmlsdr: {printable(text)}", file=self.stream)

    def emit(self, record: logging.LogRecord) -> None:
        """Write what the package logs."""
        if record.levelno > logging.INFO or not (self.announced or self.quiet):  # one estimate is enough
            self.note(record.getMessage())

    def expect(self, seconds: float, n_bytes: int = 0) -> None:
        """Announce once how long the command will take, if it is long."""
        from .._search.estimate import LONG, duration
        from .._search.memory import memory_bytes

        self.announced = True
        large = n_bytes >= memory_bytes() / 2
        if not self.quiet and (seconds >= LONG or large):
            memory = f" and {n_bytes / 2**30:.1f} GiB in addition to the data" if large else ""
            self.note(f"this will take about {duration(seconds)}{memory}.")

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Note what the package logs, such as the estimates of large work, while the block runs."""
        logger = logging.getLogger("nmlsdr")
        level = logger.level
        logger.addHandler(self)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(self)
            logger.setLevel(level)

    @contextlib.contextmanager
    def step(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show `text` while the block runs, and its time afterwards; the block may change the text."""
        begin = time.monotonic()
        shown = text

        def show(text: str, end: str = " ...") -> None:
            nonlocal shown
            shown = text
            if self.live:
                print(f"\r\x1b[K{printable(text)}", end=end, file=self.stream, flush=True)

        show(text)
        yield show
        show(shown, f" ({time.monotonic() - begin:.1f} s)\n")
