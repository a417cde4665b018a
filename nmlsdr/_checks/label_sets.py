"""Labels that are given as rows of names, such as {"flu", "cold"}: which y are such rows, and their names."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._errors import InputError
from .cells import is_null, refuse_lazy
from .words import fold, label_words, trim

_SETS = (set, frozenset)
_ROWS = (set, frozenset, list, tuple, np.ndarray)


def rows_of_names(y: Any, name: str) -> list[Any] | None:
    """The rows of y as sets of names or None, or None if y is no list of such rows."""
    refuse_lazy(y, name)
    rows = _entries(y)
    if rows is None:
        return None
    labeled_rows = [row for row in rows if not is_null(row)]
    nested = isinstance(y, (list, tuple))
    row_types = (*_SETS, list, tuple) if nested else _ROWS  # a list of arrays is a matrix, row by row
    if not any(isinstance(row, row_types) for row in labeled_rows):
        return None
    wrong = next((row for row in labeled_rows if not isinstance(row, _ROWS)), None)
    if wrong is not None:
        raise InputError(f"{name} holds {type(wrong).__name__} {wrong!r} among label sets; write every row as a set.")
    if not any(isinstance(row, _SETS) for row in labeled_rows) and _may_be_a_matrix(labeled_rows, nested, name):
        return None
    return [None if is_null(row) else _names_in(row, i, name) for i, row in enumerate(rows)]


def _entries(y: Any) -> list[Any] | None:
    """The entries of a list, a series or an array of objects; None for tables and arrays of numbers."""
    is_series = hasattr(y, "to_list") or hasattr(y, "to_pylist")  # of pandas or polars, or an array of pyarrow
    is_series |= isinstance(y, np.ndarray) and y.dtype.kind == "O" and y.ndim == 1
    is_table = hasattr(y, "columns") or sparse.issparse(y) or isinstance(y, np.ma.MaskedArray)
    if is_table or not (is_series or isinstance(y, (list, tuple))):
        return None
    if hasattr(y, "to_list"):
        return list(y.to_list())
    return list(y.to_pylist() if hasattr(y, "to_pylist") else y)


def indicator(rows: Sequence[set[str]], names: Sequence[str], dtype: Any = np.int64) -> NDArray[Any]:
    """Labels (n, C): 1 for each of the names that a row has, 0 for the others."""
    # By hand: sklearn.preprocessing takes longer to load than many tables to read.
    place = {name: j for j, name in enumerate(names)}
    labels = np.zeros((len(rows), len(names)), dtype)
    np.put(labels, np.array([i * len(names) + place[name] for i, row in enumerate(rows) for name in row], int), 1)
    return labels


def _names_in(row: Any, i: int, name: str) -> set[Any]:
    """The names of one row; those that texts split at commas give, such as " flu", without blanks around them."""
    names = {trim(entry) if isinstance(entry, str) else entry for entry in row}
    if names == {""}:
        raise InputError(f"{name} has an empty label in row {i}; write None for an unlabelled row, set() for no label.")
    return names - {""}


def _may_be_a_matrix(rows: list[Any], nested: bool, name: str) -> bool:
    """Whether lists in lists are rows of numbers and not of names; where both could be meant, it is an error."""
    text = any(isinstance(entry, str) for row in rows for entry in row)
    ragged = len({len(row) for row in rows}) > 1
    if nested and not ragged and not text:
        return True
    entries = {fold(str(entry)) for row in rows for entry in row} - {"nan", "none"}
    # One letter, such as x or y, is the name of a label.
    if all(len(entry) > 1 or entry in ("0", "1") for entry in entries) and label_words(entries) is not None:
        raise InputError(f"{name} contains lists of 0 and 1 (or yes and no): if columns, use an array; if names, sets.")
    return False
