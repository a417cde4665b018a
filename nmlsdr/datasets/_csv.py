"""Read CSV and TSV files with a header, through pandas.

pandas fills a short row with missing values and shifts a long one, so `csv.reader` goes first: it splits each row, and
a row that is not as long as the header is an error that names its line.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cells import CollectedRows, FileContents, number_problem
from ._columns import Split, Wanted, split_columns
from ._files import BLANKS, Lines, Path_
from ._text import Dialect

SWAPPED = str.maketrans(",.", ".,")  # a decimal comma for a point, and a point for what is no number
BLOCK = 1 << 20, 1 << 26  # letters that pandas gets at once, at least and at most
LETTERS_PER_COLUMN = 1 << 14  # pandas takes .05 ms for a column, as long as for this many letters of numbers


def read_csv(path: Path_, wanted: Wanted) -> FileContents:
    """Read a file with a header line, plain or gzipped; what is not said of its form is guessed from its beginning.

    A blank line is an error that names it; at the end of the file blank lines are ignored. Where every column is a
    label each blank line, also at the end, is an unlabelled row.
    """
    pandas = import_pandas()
    with Lines(path, wanted.max_bytes, wanted.encoding) as lines:
        dialect = lines.dialect(wanted.delimiter, wanted.decimal)
        checked = _CheckedRows(lines, dialect.delimiter, wanted.max_features)
        try:
            split = _header(lines, checked.header(), wanted)
            rows = CollectedRows(lines, split, {})
            for text, numbers in checked.blocks(blank_rows=wanted.all_labels):
                rows.add_block(_cells(pandas, text, (len(numbers), checked.width), dialect, split), numbers)
        except csv.Error as error:
            raise lines.error(f"not a CSV row ({error}); check its quotes") from error
        return rows.contents()


def import_pandas() -> Any:
    """Import pandas, or say how to install it."""
    try:
        import pandas
    except ImportError:
        raise ImportError("Reading CSV files needs pandas; install it with: pip install 'nmlsdr[cli]'.") from None
    return pandas


def _cells(pandas: Any, text: str, shape: tuple[int, int], dialect: Dialect, split: Split) -> NDArray[np.object_]:
    """Return the cells of some rows as they stand in the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        frame = pandas.read_csv(
            io.StringIO("\n" + text),  # pandas would take a byte order mark off a first row
            sep=dialect.delimiter,
            header=None,
            skiprows=1,
            dtype=str,
            keep_default_na=False,
            na_filter=False,
            index_col=False,
            skip_blank_lines=False,
            engine="c",
            low_memory=False,
        )
    if frame.shape != shape:
        raise RuntimeError(f"pandas finds {frame.shape} rows and columns, csv.reader {shape}")
    cells: NDArray[np.object_] = frame.to_numpy(dtype=object)
    if dialect.decimal == ",":
        cells = cells.copy()
        for j in split.features:
            cells[:, j] = [cell.translate(SWAPPED) for cell in cells[:, j]]
    return cells


class _CheckedRows:
    """The rows of a file as text, all as long as the header."""

    def __init__(self, lines: Lines, delimiter: str, max_features: int) -> None:
        self._lines = lines
        self._delimiter = delimiter
        self._most = 2 * max_features + 1000  # delimiters of a row; a text in quotes may hold some too
        self._row: list[str] = []  # the lines of the row that is being read
        self._n_delimiters = 0  # in these lines
        self._reader = csv.reader(self._texts(), delimiter=delimiter, strict=True)
        self.width = 0

    def _texts(self) -> Iterator[str]:
        """Yield the lines, with an error before a row of far too many cells is split."""
        for text in self._lines:
            self._row.append(text + "\n")
            self._n_delimiters += text.count(self._delimiter)
            if self._n_delimiters > self._most:
                raise self._lines.error(
                    f"{self._n_delimiters} cells and more stand in one row, far above max_features; raise it if you "
                    "trust the file"
                )
            yield self._row[-1]

    def _text(self) -> str:
        """Return the text of the row read last, and begin another."""
        text = "".join(self._row)
        self._row.clear()
        self._n_delimiters = 0
        return text

    def header(self) -> list[str]:
        """Return the cells of the first row."""
        cells = next(self._reader, None)
        if cells is None:
            self._lines.number = 1
            raise self._lines.error("the file is empty; it needs a header line with the names of the columns")
        self.width = len(cells)
        self._text()
        return cells

    def blocks(self, *, blank_rows: bool) -> Iterator[tuple[str, list[int]]]:
        """Yield many rows at a time: their text, and the number of the last line of each.

        With `blank_rows` a blank line is a row of empty cells.
        """
        lines, least = self._lines, min(BLOCK[1], max(BLOCK[0], LETTERS_PER_COLUMN * self.width))
        texts: list[str] = []
        numbers: list[int] = []
        size, n_rows, blank = 0, 0, 0
        for cells in self._reader:
            text = self._text()
            if len(cells) <= 1 and not text.strip(BLANKS):
                if not blank_rows:
                    blank = blank or lines.number
                    continue
                if 2 * n_rows * self.width > lines.allowed:
                    raise lines.too_large("leaves out labels that would fill")
                text = '""' + self._delimiter * (self.width - 1) + "\n"
            elif blank:
                instead = " (write NA for a missing value)" if self.width == 1 else ""
                lines.number = blank
                raise lines.error(f"the line is blank, and rows follow it; remove it{instead}")
            elif len(cells) != self.width:
                raise lines.error(f"{len(cells)} cells, but the header has {self.width}; complete the row")
            texts.append(text)
            numbers.append(lines.number)
            n_rows, size = n_rows + 1, size + len(text)
            if size >= least:
                yield "".join(texts), numbers
                texts, numbers, size = [], [], 0
        if texts:
            yield "".join(texts), numbers


def _header(lines: Lines, cells: Sequence[str], wanted: Wanted) -> Split:
    names = [cell.strip(BLANKS) for cell in cells]
    if not any(names):
        raise lines.error("the line is blank; it must hold the names of the columns")
    for j, name in enumerate(names):
        if not name:
            raise lines.error(f"column {j + 1} has no name; name it (or write the file without a row index)")
    numbered = names in ([str(j) for j in range(len(names))], [str(j + 1) for j in range(len(names))])
    if not numbered and all(number_problem(name) is None for name in names):
        raise lines.error("the first line holds only numbers; it must hold the names of the columns")
    return split_columns(lines.path, names, wanted, line=lines.number)
