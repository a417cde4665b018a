"""Labels that are given as lists: one cell ``flu;cold`` for a row with two labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MultiLabelBinarizer

from ._columns import Wanted
from ._files import BLANKS, DataFileError, Path_, check_size, place, shorten


def listed_labels(
    path: Path_, cells: Sequence[str], separator: str, no_label: str | None, wanted: Wanted
) -> tuple[NDArray[np.int64], list[str]]:
    """Return labels (n, C), and their names in alphabetical order.

    An empty cell is a row of -1, the word `no_label` a row of 0.
    """
    rows = [{tag for part in cell.split(separator) if (tag := part.strip(BLANKS))} for cell in cells]
    names = sorted(set().union(*rows) - {no_label})
    if not names:
        raise DataFileError(f"{place(path)}: its column of lists contains no label; give another column.")
    if len(names) > wanted.max_features:
        raise DataFileError(f"{place(path)}: {len(names)} labels are more than max_features; check the separator.")
    for i, row in enumerate(rows):
        if no_label in row and len(row) > 1:
            both = f"{shorten(str(no_label))!r} (--no-label) and {shorten(min(row - {no_label}))!r}"
            raise DataFileError(f"{place(path, row=i)}: it has both {both}; correct the cell or the option.")
    target = indicator(path, [row - {no_label} for row in rows], names, wanted)
    target[[not row for row in rows]] = -1
    return target, names


def indicator(path: Path_, rows: Sequence[set[Any]], names: Sequence[str], wanted: Wanted) -> NDArray[np.int64]:
    """Return labels (n, C): 1 for each of the names that a row has, 0 for the others."""
    declared = f"has {len(rows)} rows and {len(names)} labels, a table of"
    check_size(path, len(rows) * len(names) * 8, declared, wanted.max_bytes)
    return np.asarray(MultiLabelBinarizer(classes=list(names)).fit_transform(rows), dtype=np.int64)
