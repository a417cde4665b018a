"""Labels that stand in one column, several to a cell: ``flu;cold``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._files import BLANKS, DataFileError, Path_, allowance, place, too_large

__all__ = ["listed_labels"]


def listed_labels(
    path: Path_, cells: Sequence[str], separator: str, limits: dict[str, Any]
) -> tuple[NDArray[np.int64], list[str]]:
    """Return labels (n, C), a row of -1 for an empty cell, and their names in alphabetical order."""
    rows = [{tag for part in cell.split(separator) if (tag := part.strip(BLANKS))} for cell in cells]
    names = sorted(set().union(*rows))
    if not names:
        raise DataFileError(f"{place(path)}: its column of lists holds no label; name another column.")
    if len(names) > limits["max_features"]:
        raise DataFileError(f"{place(path)}: {len(names)} labels are more than max_features; check the separator.")
    if len(rows) * len(names) * 8 > max(allowance(path, limits["max_bytes"]), 1):
        raise too_large(path, f"has {len(rows)} rows and {len(names)} labels, a table of", limits["max_bytes"])
    position = {name: c for c, name in enumerate(names)}
    target = np.zeros((len(rows), len(names)), dtype=np.int64)
    for i, row in enumerate(rows):
        target[i, [position[tag] for tag in row]] = 1
        if not row:
            target[i] = -1
    return target, names
