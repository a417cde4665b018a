"""Labels that are given as rows of names, such as {"flu", "cold"}: which y are such rows, and their labels."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._errors import InputError
from .cells import is_null, refuse_lazy
from .label_arrays import check_mask, refuse_no_labels
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
    if not _has_any(labeled_rows, (*_SETS, list, tuple) if nested else _ROWS):  # a list of arrays is a matrix
        return None
    _refuse_other_rows(labeled_rows, name)
    if not _has_any(labeled_rows, _SETS) and _may_be_a_matrix(labeled_rows, nested, name):
        return None
    return [None if is_null(row) else _names_in(row, i, name) for i, row in enumerate(rows)]


def _refuse_other_rows(rows: list[Any], name: str) -> None:
    """Raise for the first row that cannot be a set of names."""
    for row in rows:
        if not isinstance(row, _ROWS):
            raise InputError(f"{name} holds {type(row).__name__} {row!r} among label sets; write every row as a set.")


def _has_any(rows: list[Any], types: tuple[type, ...]) -> bool:
    """Whether a row is of one of these types."""
    return any(isinstance(row, types) for row in rows)


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
    cells = list(itertools.chain.from_iterable(rows))
    text = any(isinstance(cell, str) for cell in cells)
    ragged = len({len(row) for row in rows}) > 1
    if nested and not ragged and not text:
        return True
    entries = {fold(str(cell)) for cell in cells} - {"nan", "none"}
    # One letter, such as x or y, is the name of a label.
    if all(len(entry) > 1 or entry in ("0", "1") for entry in entries) and label_words(entries) is not None:
        raise InputError(f"{name} contains lists of 0 and 1 (or yes and no): if columns, use an array; if names, sets.")
    return False


class RowSets(NamedTuple):
    """The names of labels, in their order; the labels (n_samples, n_labels), float64; and the labelled rows, bool."""

    names: list[str]
    labels: np.ndarray
    labeled: np.ndarray


def read_sets(rows: list[Any], labeled: Any, name: str, fitted: Any) -> RowSets:
    """Read rows as `rows_of_names` gives them; ``fitted`` are names that come first, in this order, or None."""
    counted = np.array([row is not None for row in rows])
    if labeled is not None:
        counted &= check_mask(labeled, len(rows))
    refuse_no_labels(counted, name)
    sets = [row if is_labeled else set() for row, is_labeled in zip(rows, counted, strict=True)]
    names = list(dict.fromkeys([*([] if fitted is None else fitted), *_sorted_names(sets, name)]))
    if not names:
        raise InputError(f"{name} has no label in any of its {len(rows)} label sets; give some rows a label.")
    return RowSets(names, indicator([{*map(str, row)} for row in sets], names, np.float64), counted)


def _sorted_names(sets: list[set[Any]], name: str) -> list[str]:
    """All labels of the sets, in order, as text."""
    for i, row in enumerate(sets):
        if any(is_null(entry) for entry in row):
            raise InputError(f"{name} has a null in the label set of row {i}; remove it, or write None for the row.")
    try:
        return list(map(str, sorted(set().union(*sets))))
    except TypeError:
        raise InputError(f"{name} mixes labels that cannot be ordered; use only text or only numbers.") from None
