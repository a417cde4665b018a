"""Read CSV and TSV files with a header."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from ._cells import LabelNames, Rows, Split, number_problem, split_columns
from ._files import MAX_BYTES, MAX_FEATURES, Lines, Path_


def read_csv(
    path: Path_,
    label_names: LabelNames | None = None,
    *,
    all_labels: bool = False,
    drop: Sequence[str] = (),
    delimiter: str = ",",
    max_bytes: int = MAX_BYTES,
    max_features: int = MAX_FEATURES,
) -> Rows:
    """Read a file with a header line, plain or gzipped, into Rows; `all_labels` makes every column a label.

    A blank line is an unlabelled row where every column is a label; otherwise it may stand at the end only.
    """
    with Lines(path, max_bytes) as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        rows: Rows | None = None
        blank = 0
        try:
            for cells in reader:
                if rows is None:
                    rows = Rows(lines, _header(lines, cells, label_names, all_labels, drop, max_features))
                    width = len(cells)
                    continue
                if not any(cells) and len(cells) <= 1:
                    if all_labels:
                        rows.add([""] * width)
                    else:
                        blank = blank or lines.number
                    continue
                if blank:
                    raise lines.error(f"there are values after the blank line {blank}; remove it")
                if len(cells) != width:
                    raise lines.error(f"{len(cells)} cells, but the header has {width}; complete the row")
                rows.add(cells)
        except csv.Error as error:
            raise lines.error(f"not a CSV row ({error}); check its quotes") from error
        if rows is None:
            lines.number = 1
            raise lines.error("the file is empty; it needs a header line with the names of the columns")
        return rows


def _header(
    lines: Lines,
    cells: Sequence[str],
    label_names: LabelNames | None,
    all_labels: bool,
    drop: Sequence[str],
    max_features: int,
) -> Split:
    names = [cell.strip() for cell in cells]
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
