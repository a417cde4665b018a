"""Which rows of a table are about one thing, such as the visits of one patient, so that cross-validation keeps them
together.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.words import names_group, names_rows
from .._errors import shorten
from ._columns import Cells, Numbers, Texts

LEAST_GROUPS = 20  # different texts of an id that repeats, and rows that repeat one
LEAST_NAMED = 10  # different texts of a column whose name says that it is an id
ROWS_OF_ONE = 20  # most rows of each text on average
MOST_ROWS = 20_000  # that are looked at


def row_groups(ids: Sequence[str] | None, rows: Any = None) -> NDArray[np.int64] | None:
    """Return a number for each row, equal for rows that stay together; None if all rows differ.

    Rows with one id stay together (an empty id names none), or else rows with equal cells. If most rows have an equal,
    the table has few columns, and equal rows are no duplicates.
    """
    if ids is not None:
        rows = np.unique([id or f"\0{i}" for i, id in enumerate(ids)], return_inverse=True)[1]
    n_groups = int(rows.max(initial=-1)) + 1
    return None if n_groups == len(rows) or (ids is None and n_groups < len(rows) / 2) else rows.astype(np.int64)


def repeating_id(columns: Mapping[str, Cells]) -> list[str]:
    """Return a note if a column seems to name what several rows are about, such as the patient of each visit.

    Either its name has a word such as patient or id, and it has up to half as many texts as rows. Or it has the name of
    an identifier or stands first, has up to 20 rows for each of its texts, and at least two other columns, such as sex
    and birthday, are always the same in rows with the same text, where chance would make them differ often.
    """
    codes = _cell_codes(columns)
    for name, keys in codes.items():
        constant = _constant_columns(name, keys, codes)
        if len(constant) >= 2:
            names = " and ".join(repr(shorten(column, 30)) for column in constant[:2])
            fact = (
                f"rows with the same {shorten(name, 30)!r} ({_n_different(keys)} different) also have the same {names}"
            )
            return [f"{fact}; if it is an id, such as that of a patient, {_advice(name)}"]
    for name in filter(names_group, codes):
        keys = codes[name]
        n_texts = _n_different(keys)
        if LEAST_NAMED <= n_texts <= len(keys) / 2:
            fact = f"the column {shorten(name, 30)!r} has {n_texts} different cells in {len(keys)} rows"
            return [f"{fact}; if it names whom several rows are about, such as a patient, {_advice(name)}"]
    return []


def _advice(name: str) -> str:
    """Return what to do if a column names what several rows are about."""
    return (
        f"add --id {shlex.quote(name)}, so that its rows stay together in cross-validation, and that it is no feature"
    )


def _cell_codes(columns: Mapping[str, Cells]) -> dict[str, NDArray[Any]]:
    """Return a number for each of the first cells of a column, equal for equal cells; not of decimal numbers."""
    codes: dict[str, NDArray[Any]] = {}
    for name, cells in columns.items():
        if isinstance(cells, Texts):
            codes[name] = cells.codes[:MOST_ROWS]
        elif isinstance(cells, Numbers) and not cells.n_broken:
            codes[name] = np.unique(cells.values[:MOST_ROWS], return_inverse=True)[1]
    return codes


def _n_different(keys: NDArray[Any]) -> int:
    """Return how many different cells there are."""
    return len(np.unique(keys))


def _constant_columns(name: str, keys: NDArray[Any], codes: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return the columns that are the same in all rows with the same text of a column; none if it is no likely id."""
    if not names_rows(name) and name != next(iter(codes)):
        return []
    _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
    if not max(LEAST_GROUPS, len(keys) / ROWS_OF_ONE) <= len(first) <= len(keys) - LEAST_GROUPS:
        return []
    return [column for column, values in codes.items() if _is_constant_within(groups, first, values)]


def _is_constant_within(groups: NDArray[Any], first: NDArray[Any], values: NDArray[Any]) -> bool:
    """Whether a column is the same in all rows of each group, although chance would make it differ often.

    Parameters
    ----------
    groups : ndarray of shape (n_rows,)
    first : ndarray of shape (n_groups,)
        The first row of each group.
    values : ndarray of shape (n_rows,)
        The codes of the cells of the column. One with a text for each group is another name of the groups.
    """
    if (values != values[first][groups]).any():
        return False
    shares = np.bincount(values) / len(values)
    n_changes = (len(values) - len(first)) * (1 - (shares**2).sum())  # by chance
    return bool((shares > 0).sum() != len(first) and n_changes >= LEAST_GROUPS)
