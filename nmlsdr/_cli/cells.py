"""The cells of some rows as they stand in the table, for people to look at."""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from nmlsdr.datasets._columns import Wanted
from nmlsdr.datasets._numbers import text_of
from nmlsdr.datasets._tables import WITHOUT_NAMES, _read, reader_of


class _Rows:
    """Takes the place of a plan while a file is read, and keeps the cells of some rows."""

    is_plan = False
    one_hot = ()
    identifier = None
    feature_names = ()

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.n_seen = rows, 0
        self.names: list[str] = []
        self.cells: dict[str, list[str]] = {}

    def sources(self, names: Sequence[str]) -> list[str]:
        self.names = list(names)
        self.cells = {name: [] for name in names}
        return self.names

    def encode(self, columns: Sequence[Any], problems: Any = None) -> np.ndarray:
        n = len(columns[0])
        here = self.rows[(self.rows >= self.n_seen) & (self.rows < self.n_seen + n)] - self.n_seen
        for name, cells in zip(self.names, columns, strict=True):
            self.cells[name] += [_text(cells[i]) for i in here]
        self.n_seen += n
        return np.empty((n, 0))


def _text(cell: Any) -> str:
    return cell if isinstance(cell, str) else "" if cell is None or cell != cell else text_of(float(cell))


def row_cells(args: argparse.Namespace, rows: np.ndarray, columns: Sequence[str]) -> list[list[str]]:
    """Return the texts of each column in these rows, in increasing order, as they stand in the file."""
    kept: Any = _Rows(rows)
    form = {name: getattr(args, name) for name in ("delimiter", "decimal", "encoding", "max_bytes")}
    _read(args.data, Wanted(plan=kept, missing=True, **form))
    return [kept.cells[name] for name in columns]


def has_cells(args: argparse.Namespace, table: Any) -> bool:
    """Whether the file can be read again, and has cells with names."""
    return args.data != "-" and table.plan is not None and reader_of(args.data) not in WITHOUT_NAMES
