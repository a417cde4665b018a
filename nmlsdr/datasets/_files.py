"""What every reader of a data file shares: one kind of error, and bounded lines.

Files come from anywhere, so a reader streams, counts what it unpacks, and never trusts a size that a file states
about itself.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from .._errors import InputError

MAX_BYTES = 4 * 2**30
"""Most bytes that a reader unpacks from one file."""
MAX_FEATURES = 10**6
"""Most columns that a reader accepts."""
MAX_LINE = 256 * 2**20
"""Most bytes of one line: a row of MAX_FEATURES numbers takes about 25 MB."""

Path_ = str | os.PathLike[str]


class DataFileError(InputError):
    """A data file cannot be used as it is: one sentence with the file, the place in it, and what to do."""


def place(path: Path_, line: int | None = None, column: str | None = None) -> str:
    """Return "file", "file, line 3" or "file, line 3, column 'x'"."""
    text = os.fspath(path)
    if line is not None:
        text += f", line {line}"
    if column is not None:
        text += f", column {shorten(column)!r}"
    return text


def shorten(text: str, length: int = 60) -> str:
    """Return a text that fits into a sentence."""
    return text if len(text) <= length else text[: length - 3] + "..."


def existing(path: Path_, purpose: str = "data file") -> Path:
    """Return `path` as a Path, or raise if no such file exists."""
    found = Path(path)
    if found.is_dir():
        raise DataFileError(f"{found} is a folder; give the {purpose} itself.")
    if not found.exists():
        raise DataFileError(f"{found} does not exist; check the path of the {purpose}.")
    return found


class Lines:
    """The lines of a plain or gzipped UTF-8 text file, one at a time and bounded.

    ``number`` and ``text`` are those of the line read last, for error messages.
    """

    def __init__(self, path: Path_, max_bytes: int = MAX_BYTES) -> None:
        self.path = existing(path)
        self.number = 0
        self.text = ""
        self._left = max_bytes
        self._max_bytes = max_bytes
        self._file: IO[bytes] = open_unpacked(self.path)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        limit = min(self._left, MAX_LINE)
        try:
            raw = self._file.readline(limit + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise DataFileError(
                f"{place(self.path, self.number + 1)}: cannot read on ({error}); get the file again."
            ) from error
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) > limit:
            if limit < self._left:
                raise self.error(f"longer than {MAX_LINE} bytes; this is not a table")
            raise self.error(
                f"the file unpacks to more than max_bytes={self._max_bytes}; raise it if you trust the file"
            )
        self._left -= len(raw)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"not UTF-8 text ({error.reason}); save the file as UTF-8") from error
        if self.number == 1:
            text = text.removeprefix("\ufeff")
        self.text = text.rstrip("\r\n")
        return self.text

    def error(self, what: str, column: str | None = None) -> DataFileError:
        """Return the error `what` at the line read last."""
        return DataFileError(f"{place(self.path, self.number, column)}: {what}.")


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file for reading bytes; a gzipped one (by its first two bytes) is unpacked on the way."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        return cast(IO[bytes], gzip.open(path, "rb")) if packed else open(path, "rb")
    except OSError as error:
        raise DataFileError(f"{path} cannot be opened ({error.strerror}); check its permissions.") from error
