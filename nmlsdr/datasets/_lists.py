"""Labels that stand in one column, several to a cell: ``flu;cold``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ._columns import Wanted
from ._files import BLANKS, DataFileError, Path_, check_size, place, shorten

__all__ = ["listed_labels"]


def listed_labels(
    path: Path_, cells: Sequence[str], separator: str, no_label: str | None, wanted: Wanted
) -> tuple[NDArray[np.int64], list[str]]:
    """Return labels (n, C), and their names in alphabetical order.

    An empty cell is a row of -1, the word `no_label` a row of 0.
    """
    rows = [{tag for part in cell.split(separator) if (tag := part.strip(BLANKS))} for cell in cells]
    names = sorted(set().union(*rows) - {no_label})
    if not names:
        raise DataFileError(f"{place(path)}: its column of lists holds no label; name another column.")
    if len(names) > wanted.max_features:
        raise DataFileError(f"{place(path)}: {len(names)} labels are more than max_features; check the separator.")
    declared = f"has {len(rows)} rows and {len(names)} labels, a table of"
    check_size(path, len(rows) * len(names) * 8, declared, wanted.max_bytes)
    position = {name: c for c, name in enumerate(names)}
    target = np.zeros((len(rows), len(names)), dtype=np.int64)
    for i, row in enumerate(rows):
        if no_label in row and len(row) > 1:
            other = min(row - {no_label})
            raise DataFileError(
                f"{place(path)}, row {i + 1}: {shorten(str(no_label))!r} stands beside {shorten(other)!r}, but is said "
                "to mean no label; correct the cell or leave --no-label out."
            )
        target[i, [position[tag] for tag in row if tag != no_label]] = 1
        if not row:
            target[i] = -1
    return target, names
