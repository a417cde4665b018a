"""The table of a review page: the cells, names and plan that the page takes its texts from, and its labels."""

import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._checks.cells import is_null
from ._strips import missing_in
from ._verdicts import Columns


@dataclasses.dataclass(frozen=True, kw_only=True)
class PageTable:
    """The table as the page shows it, and its labels; n rows, C labels.

    Attributes
    ----------
    source : str
        Name of the data.
    label_names : sequence of str
    verdicts : ndarray (n, C)
        Earlier verdicts, -1 where there is none; the page adds them to the file that it writes.
    labels : ndarray (n, C)
        The labels before these verdicts: 1, 0, and -1 where they are unknown.
    named : list of (str, ndarray (n,))
        The columns that name the rows in a list: the id, if there is one, the number, and the check.
    columns : sequence of str
        Names of the columns whose cells are shown.
    read : mapping of str to column, or array (n, n_columns)
        The cells: columns as `nmlsdr.tables` reads them, or an array or a sparse matrix.
    names : sequence of str
        Of the columns of an array.
    plan : Plan or None
        What was done with each column; None: each column of the array is a feature.
    """

    source: str
    label_names: Sequence[str]
    verdicts: NDArray[np.int64]
    labels: NDArray[Any]
    named: Columns
    columns: Sequence[str]
    read: Any
    names: Sequence[str]
    plan: Any

    @property
    def feature_columns(self) -> Sequence[str]:
        """The column of each feature."""
        return self.names if self.plan is None else [c.name for c in self.plan.used for _ in c.feature_names]

    def cells(self, rows: Any, columns: Sequence[str]) -> list[list[str]]:
        """The texts of some rows in each of these columns."""
        if isinstance(self.read, Mapping):
            return [[self.read[name].text(i) for i in rows] for name in columns]
        return [texts_of(column) for column in self._part(rows, columns).T]

    def absent(self, name: str) -> NDArray[np.bool_]:
        """Whether the cell of each row is missing; where an empty cell of a column means no, none is."""
        cells = self.read[name] if isinstance(self.read, Mapping) else self._part(slice(None), [name])[:, 0]
        return missing_in(cells, self._missing.get(name, ("",)))

    def has_rare_values(self, name: str) -> bool:
        """Whether the last feature of a column means that its value is rare."""
        return self.plan is not None and any(c.name == name and c.has_other for c in self.plan.used)

    @property
    def words(self) -> set[str]:
        """The columns whose features are words, or the numbers of vectors: none of these has a picture."""
        return set() if self.plan is None else {c.name for c in self.plan.used if c.kind in ("words", "vector")}

    @property
    def texts(self) -> set[str]:
        """The columns that are texts, whether they are used or not."""
        return set() if self.plan is None else {c.name for c in self.plan.columns if c.kind in ("words", "text")}

    @functools.cached_property
    def _missing(self) -> dict[str, Collection[str]]:
        """For each column that becomes features, the folded texts that mean a missing cell."""
        used = () if self.plan is None else self.plan.used
        return {c.name: () if "" in c.levels else ("", *self.plan.missing) for c in used}

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def _part(self, rows: Any, columns: Sequence[str]) -> NDArray[Any]:
        cells = self.read[rows][:, [self._places[name] for name in columns]]
        return np.asarray(cells.toarray() if sparse.issparse(cells) else cells)


def texts_of(column: NDArray[Any]) -> list[str]:
    """The cells of an array as texts; numbers have at most six digits."""
    are_numbers = ((cell, isinstance(cell, float) and cell == cell) for cell in column.tolist())
    return [f"{cell:.6g}" if number else "" if is_null(cell) else str(cell) for cell, number in are_numbers]
