"""What every reader of a data file shares: one kind of error, bounded lines, the split into features and labels.

Files come from anywhere, so a reader streams, counts what it unpacks, and never trusts a size that a file states
about itself.
"""

from __future__ import annotations

import gzip
import math
import os
import zlib
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 4 * 2**30
"""Most bytes that a reader unpacks from one file."""
MAX_FEATURES = 10**6
"""Most columns that a reader accepts."""
MAX_LINE = 256 * 2**20
"""Most bytes of one line: a row of MAX_FEATURES numbers takes about 25 MB."""

Path_ = str | os.PathLike[str]


class DataFileError(ValueError):
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
        return gzip.open(path, "rb") if packed else open(path, "rb")
    except OSError as error:
        raise DataFileError(f"{path} cannot be opened ({error.strerror}); check its permissions.") from error


class Split(NamedTuple):
    """Which columns of a file are features and which are labels, in the file's order."""

    feature_names: list[str]
    features: list[int]
    label_names: list[str]
    labels: list[int]


def split_columns(
    path: Path_,
    names: Sequence[str],
    label_names: Sequence[str] | None,
    *,
    drop: Sequence[str] = (),
    max_features: int = MAX_FEATURES,
    line: int | None = None,
) -> Split:
    """Find `label_names` among the columns of a file; all others, but `drop`, are features."""
    if len(names) > max_features:
        raise DataFileError(
            f"{place(path, line)}: {len(names)} columns are more than max_features={max_features}; "
            "raise it if you trust the file."
        )
    position: dict[str, int] = {}
    for j, name in enumerate(names):
        if name in position:
            raise DataFileError(f"{place(path, line, name)}: the name stands there twice; rename one of them.")
        position[name] = j
    wanted = list(label_names or ())
    for name in [*wanted, *drop]:
        if name not in position:
            known = ", ".join(repr(shorten(n, 30)) for n in names[:3]) + (", ..." if len(names) > 3 else "")
            raise DataFileError(
                f"{place(path, line)}: there is no column {shorten(name)!r} among its {len(names)} ({known}); "
                "check the spelling."
            )
    labels, dropped = set(wanted), set(drop)
    if len(labels) < len(wanted):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise DataFileError(f"{place(path)}: the label {shorten(twice)!r} is asked for twice; name it once.")
    if labels & dropped:
        raise DataFileError(f"{place(path)}: {min(labels & dropped)!r} is a label and dropped; choose one.")
    features = [j for j, name in enumerate(names) if name not in labels and name not in dropped]
    chosen = [j for j, name in enumerate(names) if name in labels]
    return Split([names[j] for j in features], features, [names[j] for j in chosen], chosen)


LABEL_CELLS = {"0": 0, "1": 1, "-1": -1, "": -1, "?": -1, "true": 1, "false": 0, "0.0": 0, "1.0": 1, "-1.0": -1}


def label_cell(text: str) -> int:
    """Return 0, 1, or -1 for "not known"; KeyError for any other text."""
    return LABEL_CELLS[text.strip().lower()]


class Rows:
    """Collect rows of numbers: features (float64) and labels (0, 1, or a whole row of -1)."""

    def __init__(self, lines: Lines, split: Split) -> None:
        self.lines = lines
        self.split = split
        self.n_rows = 0
        self._features = array("d")
        self._labels = array("b")

    def add(self, cells: Sequence[str]) -> None:
        """Add one row of text cells, in the order of the file's columns."""
        split = self.split
        try:
            values = [float(cells[j]) for j in split.features]
        except ValueError:
            raise self._wrong_number(cells) from None
        if not math.isfinite(sum(values)) or "_" in self.lines.text:
            wrong = self._wrong_number(cells)
            if wrong is not None:
                raise wrong
        self._features.extend(values)
        if split.labels:
            self._labels.extend(self._label_row(cells))
        self.n_rows += 1

    def _label_row(self, cells: Sequence[str]) -> list[int]:
        row = []
        for name, j in zip(self.split.label_names, self.split.labels, strict=True):
            try:
                row.append(label_cell(cells[j]))
            except KeyError:
                raise self.lines.error(
                    f"{shorten(cells[j])!r} is no label; write 0 or 1, or leave all labels of the row empty", name
                ) from None
        if -1 in row and any(value != -1 for value in row):
            raise self.lines.error(
                "some labels are missing (empty or -1) and others are not; fill them, or leave all of the row empty",
                self.split.label_names[row.index(-1)],
            )
        return row

    def _wrong_number(self, cells: Sequence[str]) -> DataFileError | None:
        """Return the error of the first cell that is not a finite number, if there is one."""
        for name, j in zip(self.split.feature_names, self.split.features, strict=True):
            problem = number_problem(cells[j])
            if problem is not None:
                return self.lines.error(problem, name)
        return None

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
        """Return the features (n, D) and the labels (n, C), None without label columns."""
        n, n_features, n_labels = self.n_rows, len(self.split.features), len(self.split.labels)
        data = np.frombuffer(self._features, dtype=np.float64) if self._features else np.empty(0)
        labels: NDArray[Any] | None = None
        if n_labels:
            flat = np.frombuffer(self._labels, dtype=np.int8) if self._labels else np.empty(0, dtype=np.int8)
            labels = flat.reshape(n, n_labels).astype(np.int64)
        return data.reshape(n, n_features), labels


def number_problem(cell: str) -> str | None:
    """Return what is wrong with a cell that should hold a finite number, or None."""
    if not cell.strip() or cell.strip() == "?":
        return "the value is missing; fill it in or drop the row (features have no missing values here)"
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
        if not cell.strip().lower().lstrip("+-").startswith("nan"):
            return f"{shorten(cell)!r} is not a number; turn it into one or drop the column"
    if "_" in cell:
        return f"{shorten(cell)!r} is not a number; write it without '_'"
    if not math.isfinite(value):
        return f"{shorten(cell)!r} is not a finite number; fill it in or drop the row"
    return None
