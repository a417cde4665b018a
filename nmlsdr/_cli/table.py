"""`Table`, what reading.py gives the other commands: features, labels, ids and plan, and the names for results."""

import dataclasses
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..inspection import names_or_numbers


def free_name(name: str, existing_names: Container[str]) -> str:
    """Return a name that no other column has: the same one, or with underscores behind it.

    Examples
    --------
    >>> free_name("row", ["flu"]), free_name("row", ["row", "flu"])
    ('row', 'row_')
    """
    while name in existing_names:
        name += "_"
    return name


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """The features and labels of a file, and what the doors add to them; n rows, C labels.

    `nmlsdr.tables.read_table` fills all fields without a remark here, and its docstring describes them.

    Attributes
    ----------
    data : array (n, D)
        Features; `reading.prepare` fills missing cells, and `reading.match_features` puts columns in a model's order.
    target : ndarray (n, C) or None
        Labels, -1 where they are unknown; `reading.read_data` stores them in a byte each, and enters the verdicts of
        --reviewed.
    labeled : ndarray (n,), bool, or None
        Rows with a known label, of `target`.
    plan : Plan or None
        `reading.read_data` adds where the labels are, `reading.prepare` how missing cells are filled.
    id_name : str or None
        Name of the column of ids, from the arguments or the plan; filled by `reading.read_data`.
    file_labels : ndarray (n, C) or None
        Labels as the file gives them; filled by `reading.read_data`.
    verdicts : ndarray (n, C) or None
        As `nmlsdr.inspection.read_verdicts` returns them; filled by `reading.read_data`.
    checks : ndarray (n,) or None
        What `check_rows` gives of the cells as they were read; filled by `reading.read_data`.
    numbers, n_copies : ndarray (n,) or None
        In a table in which each row stands once (`without_copies`): the number of the row in the file, and how often it
        stands there.
    """

    data: NDArray[Any] | sparse.csr_array
    target: NDArray[Any]  # None, as the other labels, in a table without labels; commands that need them refuse it
    labeled: NDArray[np.bool_]
    votes: NDArray[np.float64] | None = None
    feature_names: list[str] | None = None
    label_names: list[str] | None = None
    label_columns: list[str] | None = None
    ids: list[str] | None = None
    plan: Any = None
    lists: Any = None
    groups: NDArray[np.int64] | None = None
    notes: Sequence[str] = ()
    differences: Sequence[str] = ()
    unused: Sequence[str] | None = None
    columns: Mapping[str, Any] | None = None
    encoding: str | None = None
    id_name: str | None = None
    file_labels: Any = None
    verdicts: Any = None
    checks: Any = None
    numbers: Any = None
    n_copies: Any = None

    def number_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers that rows have in the file."""
        return rows if self.numbers is None else self.numbers[rows]

    def without_copies(self, first: NDArray[np.intp]) -> "Table":
        """Return the table with one of the rows that are copies of each other.

        Parameters
        ----------
        first : ndarray (n,)
            The first row that each row is a copy of, as `find_copies` returns it.
        """
        numbers, n_copies = np.unique(first, return_counts=True)
        of_rows = ("data", "target", "labeled", "votes", "groups", "file_labels", "verdicts", "checks")
        values = {name: value[numbers] for name in of_rows if (value := getattr(self, name)) is not None}
        if self.ids is not None:
            values["ids"] = [self.ids[i] for i in numbers.tolist()]
        if self.columns is not None:
            values["columns"] = {name: column.take(numbers) for name, column in self.columns.items()}
        return dataclasses.replace(self, numbers=numbers, n_copies=n_copies, **values)

    def name_rows(
        self, rows: NDArray[Any], *, reserved_names: Sequence[str] = ("row",), results: Sequence[str] = ()
    ) -> list[tuple[str, NDArray[Any]]]:
        """Return what names the rows in a result: the column of ids if there is one, and the number of the row.

        The ids keep the name of their column, or have "id" if the result's own columns have taken it. A column of
        `results`, such as a label, keeps its name, and gets no second column of this name beside it.
        """
        columns = [(free_name("row", results), self.number_rows(rows))]
        if self.ids is not None:
            name = self.id_name
            ids = np.array(self.ids, dtype=object)[rows]
            name = "id" if name is None or name.strip().lower() in reserved_names else name
            columns.insert(0, (free_name(name, (*results, columns[0][0])), ids))
        return columns

    def features_of_columns(self) -> list[tuple[str, int]]:
        """Return the name of each column that is used, and how many features it gives."""
        if self.plan is not None:
            return [(column.name, len(column.feature_names)) for column in self.plan.used]
        return [(name, 1) for name in names_or_numbers(self.feature_names, "feature", self.data.shape[1])]

    def names_of_labels(self) -> list[str]:
        """Return the names of the labels, or label_0, label_1, ... if the file has none."""
        return names_or_numbers(self.label_names, "label", self.target.shape[1])
