"""What single cells of a table mean: a null, a label written as a word, or something that is no number."""

import datetime
import warnings
from collections.abc import Container
from numbers import Number
from typing import Any

import numpy as np

from .._errors import InputError
from .words import CROSS, fold, label_words, two_languages

_TIMES = ("date", "time", "duration")  # how the names of types of dates and times begin


def is_null(value: Any) -> bool:
    """None, NaN, NaT, or a null of pandas, which is recognised by its name, because this layer works without pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Number | np.datetime64) and value != value


def refuse_lazy(table: Any, name: str) -> None:
    """An error for a LazyFrame of polars, which holds no values yet; NumPy makes one object of it."""
    if hasattr(table, "collect_schema") and not hasattr(table, "to_numpy"):
        raise InputError(f"{name} is a polars LazyFrame, which holds no values yet; pass {name}.collect().")


def column_names(table: Any) -> np.ndarray | None:
    """The names of the columns of a data frame or a table of pyarrow, if all of them are texts."""
    columns = table.column_names if hasattr(table, "to_pylist") else getattr(table, "columns", None)
    if columns is None or not all(isinstance(column, str) for column in columns):
        return None
    return np.asarray(list(columns), dtype=object)


def name_column(table: Any, j: int) -> str:
    """``column 'age'`` of a data frame, ``column 3`` of an array."""
    names = column_names(table)
    return f"column {j if names is None else names[j]!r}"


def plain_labels(labels: np.ndarray) -> tuple[np.ndarray, int | None]:
    """Labels of `LABEL_WORDS` without CROSS, and the first column that mixes crosses with 0 or 1, which is an error."""
    crosses = (labels == CROSS).any(axis=0)
    mixed = crosses & ((labels == 0) | (labels == 1)).any(axis=0)
    plain = np.where(crosses, np.where(labels == CROSS, 1, 0), labels)
    return plain, int(mixed.argmax()) if mixed.any() else None


def read_label_words(y: Any, values: np.ndarray, name: str, *, warn: bool = False) -> np.ndarray:
    """The 2-D labels y, where columns of words such as yes and no become 0, 1 and NaN for unknown."""
    if values.dtype.kind not in "OUT":
        return values
    entries = values.astype(object)
    crosses = np.zeros(values.shape, dtype=bool)
    for j, column in enumerate(entries.T.tolist()):
        words = ["" if is_null(cell) else fold(str(cell)) for cell in column]
        known = label_words({*words})
        if known is not None:
            crosses[:, j] = [known[word] == CROSS for word in words]
            entries[:, j] = _labels_of_words(words, known, f"{name_column(y, j)} of {name}")
        elif pair := two_languages(words):
            raise InputError(f"{name_column(y, j)} of {name} holds {pair}.")
        # `describe_bad_cell` names other texts
    if warn and (note := about_crosses(crosses)):
        warnings.warn(f"{name}: {note}; pass labeled=, False for rows that are unlabelled.", UserWarning, stacklevel=7)
    return entries


def _labels_of_words(words: list[str], known: dict[str, int], subject: str) -> np.ndarray:
    """The labels of a column of words: 0, 1, -1 as it is written, and NaN for other words of unknown."""
    labels, mixed = plain_labels(np.array([[known[word]] for word in words]))
    if mixed is not None:
        raise InputError(f"{subject} mixes crosses (x) with 0, 1, yes or no; use one form.")
    unknown = [label == -1 and word not in ("-1", "-1.0") for label, word in zip(labels[:, 0], words, strict=True)]
    return np.where(unknown, np.nan, labels[:, 0])


def about_crosses(crosses: np.ndarray) -> str:
    """What empty cells mean in columns of x and empty cells, and in how many rows there is no x; "" if in none."""
    n_empty = int((~crosses.any(axis=1)).sum()) if crosses.any() else 0
    rows = f"this also makes the labels of {n_empty} of {len(crosses)} rows without any x 0"
    return f"empty cells are read as 0 in columns of x and empty cells; {rows}" if n_empty else ""


def describe_bad_cell(table: Any, values: np.ndarray, words: Container[str] = ()) -> str:
    """``column 'age' holds text: 'old' in row 0``: the first cell that is neither a number nor one of the words."""
    for j, kind in enumerate(getattr(table, "dtypes", ())):  # of pandas and polars
        if str(kind).lower().startswith(_TIMES):
            return f"{name_column(table, j)} holds dates or times"
    for row, cells in enumerate(values if values.dtype.kind not in "biuf" else ()):
        for j, cell in enumerate(cells):
            if type(cell) in (float, int, bool):  # most cells, and quickly
                continue
            if description := _describe_cell(cell, words):
                return f"{name_column(table, j)} holds {description} in row {row}"
    return ""


def _describe_cell(cell: Any, words: Container[str]) -> str:
    """``text: 'old'``, of a cell that is neither a number nor one of the words; "" if it is one."""
    if isinstance(cell, (datetime.date, np.datetime64, np.timedelta64)):
        return f"dates: {str(cell)[:10]!r}"
    if is_null(cell) and not isinstance(cell, Number | None):
        return f"missing values: {str(cell)[:60]!r}"
    if isinstance(cell, str) and not is_number(cell) and fold(cell) not in words:
        return f"text: {cell[:60]!r}"
    return ""


def is_number(text: str) -> bool:
    """Whether NumPy reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
