"""Read CSV and TSV files with a header."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from ._cells import LabelNames, Rows, Split, number_problem, split_columns
from ._files import BLANKS, MAX_FEATURES, Lines, Path_


def read_csv(
    path: Path_,
    label_names: LabelNames | None = None,
    *,
    all_labels: bool = False,
    drop: Sequence[str] = (),
    delimiter: str = ",",
    max_bytes: int | None = None,
    max_features: int = MAX_FEATURES,
) -> Rows:
    """Read a file with a header line, plain or gzipped, into Rows; `all_labels` makes every column a label.

    A blank line is an unlabelled row where every column is a label; otherwise it may stand at the end only.
    """
    with Lines(path, max_bytes) as lines:
        bounded = _Bounded(lines, delimiter, max_features)
        rows: Rows | None = None
        blank = 0
        try:
            for cells in csv.reader(bounded, delimiter=delimiter, strict=True):
                n_lines = bounded.begin()
                if rows is None:
                    rows = Rows(lines, _header(lines, cells, label_names, all_labels, drop, max_features))
                    width = len(cells)
                    continue
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
                rows.add(cells, plain=n_lines == 1)
        except csv.Error as error:
            raise lines.error(f"not a CSV row ({error}); check its quotes") from error
        if rows is None:
            lines.number = 1
            raise lines.error("the file is empty; it needs a header line with the names of the columns")
        return rows


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
    label_names: LabelNames | None,
    all_labels: bool,
    drop: Sequence[str],
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
    wanted = names if all_labels else label_names
    return split_columns(lines.path, names, wanted, drop=drop, max_features=max_features, line=lines.number)
