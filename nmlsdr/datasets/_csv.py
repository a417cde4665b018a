"""Read CSV and TSV files with a header."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from ._arrow_csv import read_plain
from ._cells import Rows, Table, number_problem
from ._columns import Split, Wanted, split_columns
from ._files import BLANKS, MAX_FEATURES, Lines, Path_
from ._text import guess_dialect

SWAPPED = str.maketrans(",.", ".,")  # a decimal comma for a point, and a point for what is no number


def read_csv(
    path: Path_,
    wanted: Wanted = Wanted(),  # noqa: B008  (frozen)
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    max_bytes: int | None = None,
    max_features: int = MAX_FEATURES,
) -> Table:
    """Read a file with a header line, plain or gzipped; what is not said of its form is guessed from its beginning.

    A blank line is an unlabelled row where every column is a label; otherwise it may stand at the end only.
    """
    with Lines(path, max_bytes, encoding) as lines:
        sample = lines.sample().decode("utf-8", "ignore").removeprefix("\ufeff")
        dialect = guess_dialect(sample.rpartition("\n")[0] or sample, delimiter, decimal)
        bounded = _Bounded(lines, dialect.delimiter, max_features)
        try:
            reader = csv.reader(bounded, delimiter=dialect.delimiter, strict=True)
            names = next(reader, None)
            if names is None:
                lines.number = 1
                raise lines.error("the file is empty; it needs a header line with the names of the columns")
            split = _header(lines, names, wanted, max_features)
            if bounded.begin() == 1:
                how = {"all_labels": wanted.all_labels, "max_bytes": max_bytes, "encoding": lines.encoding}
                table = read_plain(lines.path, split, len(names), dialect, **how)  # type: ignore[arg-type]
                if table is not None:
                    return table
            rows = Rows(lines, split)
            _add_rows(rows, reader, bounded, len(names), dialect.decimal, wanted.all_labels)
        except csv.Error as error:
            raise lines.error(f"not a CSV row ({error}); check its quotes") from error
        return rows.table()


def _add_rows(
    rows: Rows, reader: Iterator[list[str]], bounded: _Bounded, width: int, decimal: str, all_labels: bool
) -> None:
    lines, blank = rows.lines, 0
    for cells in reader:
        n_lines = bounded.begin()
        if not any(cells) and len(cells) <= 1:
            if all_labels:
                rows.refuse_many_labels()
                rows.add([""] * width)
            else:
                blank = blank or lines.number
            continue
        if blank:
            raise lines.error(f"there are values after the blank line {blank}; remove it")
        if len(cells) != width:
            raise lines.error(f"{len(cells)} cells, but the header has {width}; complete the row")
        if decimal == ",":
            for j in rows.split.features:
                cells[j] = cells[j].translate(SWAPPED)
        rows.add(cells, plain=n_lines == 1)


class _Bounded:
    """The lines of a file for `csv.reader`, with an error before a row of far too many cells is split."""

    def __init__(self, lines: Lines, delimiter: str, max_features: int) -> None:
        self._lines = lines
        self._delimiter = delimiter
        self._most = 2 * max_features + 1000  # a text in quotes may hold some too
        self.begin()

    def begin(self) -> int:
        """Begin a row; returns how many lines the row before took."""
        n_lines, self._n_lines, self._seen = getattr(self, "_n_lines", 0), 0, 0
        return n_lines

    def __iter__(self) -> Iterator[str]:
        for text in self._lines:
            self._n_lines += 1
            self._seen += text.count(self._delimiter)
            if self._seen > self._most:
                raise self._lines.error(
                    f"{self._seen} cells and more stand in one row, far above max_features; raise it if you trust the "
                    "file"
                )
            yield text


def _header(
    lines: Lines,
    cells: Sequence[str],
    wanted: Wanted,
    max_features: int,
) -> Split:
    names = [cell.strip(BLANKS) for cell in cells]
    if not any(names):
        raise lines.error("the line is blank; it must hold the names of the columns")
    for j, name in enumerate(names):
        if not name:
            raise lines.error(f"column {j + 1} has no name; name it (or write the file without a row index)")
    numbered = names in ([str(j) for j in range(len(names))], [str(j + 1) for j in range(len(names))])
    if not numbered and all(number_problem(name) is None for name in names):
        raise lines.error("the first line holds only numbers; it must hold the names of the columns")
    return split_columns(lines.path, names, wanted, max_features=max_features, line=lines.number)
