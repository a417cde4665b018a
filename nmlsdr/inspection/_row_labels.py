"""Whole rows to label: the file that a person fills in, and the labels that come back from it.

Such a file has a row of the table in each line, its check (and its id), and an empty column for each label, or one
column for the list of all labels.
"""

import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks.words import NO_LABEL, UNCLEAR, VERDICTS, fold
from .._errors import InputError
from ..tables import Form
from ._row_checks import check_rows, places_of
from ._verdicts import LARGEST, OPEN, Columns, Places, find_row, notes_on_rows, read_lines, unescape_formula


class LabelList(NamedTuple):
    """The column in which the labels of a row are listed, what separates them, and the word for no label."""

    column: str = "labels"
    separator: str = ";"
    no_label: str | None = None


def label_columns(labels: NDArray[Any], label_names: Sequence[str], label_list: LabelList | None) -> Columns:
    """Return the columns to fill in, for rows with these labels; what is known already stands in them.

    Examples
    --------
    >>> [(name, cells.tolist()) for name, cells in label_columns(np.array([[1, -1]]), ["flu", "cold"], None)]
    [('flu', ['1']), ('cold', [''])]
    >>> [(name, cells.tolist()) for name, cells in label_columns(np.array([[1, -1]]), ["flu", "cold"], LabelList())]
    [('labels', ['flu'])]
    """
    if label_list is None:
        texts = np.array(["0", "1", ""], dtype=object)[labels.astype(np.intp)]
        return list(zip(label_names, texts.T, strict=True))
    cells = [label_list.separator.join(label_names[c] for c in np.flatnonzero(row == 1).tolist()) for row in labels]
    known_empty = (labels == 0).all(axis=1) & (labels.shape[1] > 0)
    cells = [label_list.no_label or "none" if empty else cell for cell, empty in zip(cells, known_empty, strict=True)]
    return [(label_list.column, np.array(cells, dtype=object))]


def read_row_labels(
    path: str | os.PathLike[str],
    labels: NDArray[Any],
    *,
    table: Any,
    ids: Sequence[Any] | None,
    id_name: str | None,
    label_names: Sequence[str],
    label_list: LabelList | None = None,
    encoding: str | None = None,
) -> NDArray[np.int64] | None:
    """Read the labels of whole rows as verdicts; None if the file is no such list.

    Parameters
    ----------
    path, table, ids, id_name, label_names, encoding
        As for `read_verdicts`.
    labels : ndarray of shape (n_samples, n_labels)
        1, 0, and -1 if a label is unknown.
    label_list : LabelList, default=None
        How the labels of a row are listed in one cell. None: each label has a column.

    Returns
    -------
    ndarray of shape (n_samples, n_labels), int64, or None
        1 and 0 if the file has a label that differs from the given one, -2 if it cannot be told, otherwise -1. A
        known label that is as it was is no verdict, because nobody may have looked at it.

    Raises
    ------
    ValueError
        For a line that means no row of the table or several, a cell that is no label, or two lines that differ.
    """
    ids = None if ids is None else list(map(str, ids))
    form = Form(max_bytes=LARGEST, known_words=[*label_names, *(ids or ())], likely_encoding=encoding)
    header, lines = read_lines(os.fspath(path), form, keep_case=True)
    columns = _label_columns(header, label_names, label_list)
    if not columns:
        return None
    keys = _row_keys([name.lower() for name in header], table, labels, ids, id_name)
    if not keys:
        raise InputError(f"{path} has neither the column 'check' nor the ids of the table; give the file as written.")
    _refuse_repeated_columns(path, header, columns)
    cells_reader = _Cells(labels.shape[1], {name: c for c, name in enumerate(label_names)}, label_list)
    reader = _LineReader(path, header, columns, keys, cells_reader)
    verdicts = np.full(labels.shape, -1, dtype=np.int64)
    for number, cells in lines:
        reader.read(number, cells, labels, verdicts)
    for note in notes_on_rows(reader.n_unknown):
        warnings.warn(f"{path}: {note}.", stacklevel=2)
    return verdicts


def _refuse_repeated_columns(path: Any, header: Sequence[str], columns: Sequence[str]) -> None:
    for name in columns:
        if header.count(name) != 1:
            raise InputError(f"{path} has more than one column {name!r}; delete one of them.")


def _enter_line(values: NDArray[np.int64], verdicts: NDArray[np.int64], i: int, place: str) -> None:
    """Enter the verdicts of a line on row i, unless an earlier line differs."""
    if ((verdicts[i] != -1) & (values != -1) & (verdicts[i] != values)).any():
        raise InputError(f"{place}: a second and different label of row {i}; delete one of the lines.")
    verdicts[i] = np.where(values == -1, verdicts[i], values)


def _label_columns(header: Sequence[str], label_names: Sequence[str], label_list: LabelList | None) -> list[str]:
    """The columns of a file that have labels of whole rows; none if it is a list of single annotations."""
    if {"label", "verdict"} <= {name.lower() for name in header}:
        return []
    names = label_names if label_list is None else [label_list.column]
    return [name for name in names if name in header]


def _row_keys(
    header: Sequence[str], table: Any, labels: NDArray[Any], ids: Sequence[str] | None, id_name: str | None
) -> dict[str, dict[str, list[int]]]:
    """The rows that have each check and each id, for those of these columns that the file has."""
    names = ((id_name or "").strip().lower(), "id")
    id_column = next((name for name in names if name in header), "id")
    texts = {"check": check_rows(table, labels), id_column: ids}
    return {name: places_of(cells) for name, cells in texts.items() if cells is not None and name in header}


class _Cells(NamedTuple):
    """Reads the labels of a line."""

    n_labels: int
    labels: Mapping[str, int]
    label_list: LabelList | None

    def values(self, cells: Mapping[str, str], place: str) -> NDArray[np.int64]:
        """The labels of the line: 1, 0, -2 and -1."""
        values = np.full(self.n_labels, -1, dtype=np.int64)
        if self.label_list is not None:
            return self._listed(unescape_formula(cells[self.label_list.column]).strip(), place)
        for name, cell in cells.items():
            word = fold(unescape_formula(cell))
            value = -1 if word in OPEN else VERDICTS.get(word)
            if value is None:
                raise InputError(f"{place}: {cell!r} is not a label of {name!r}; give 1, 0, unclear or nothing.")
            values[self.labels[name]] = value
        return values

    def _listed(self, cell: str, place: str) -> NDArray[np.int64]:
        """The labels of a list: 0 for those that it does not name."""
        label_list = self.label_list or LabelList()
        word = fold(cell)
        if cell not in self.labels and word in (*OPEN, "unclear"):
            return np.full(self.n_labels, UNCLEAR if word == "unclear" else -1, dtype=np.int64)
        values = np.zeros(self.n_labels, dtype=np.int64)
        if cell not in self.labels and (cell == label_list.no_label or word in NO_LABEL):
            return values
        for name in filter(None, map(str.strip, cell.split(label_list.separator))):
            if name not in self.labels:
                advice = f"give labels of the table with {label_list.separator!r} between them"
                raise InputError(f"{place}: the table has no label {name!r}; {advice}.")
            values[self.labels[name]] = 1
        return values


@dataclasses.dataclass
class _LineReader:
    """Reads the lines of a file of whole rows.

    Attributes
    ----------
    path : path
    header, columns : sequence of str
        All columns of the file, and those with labels.
    keys : dict
        As `_row_keys` returns them.
    cells : _Cells
    n_unknown : dict of str to int
        For each key the number of lines for which it found no row.
    """

    path: Any
    header: Sequence[str]
    columns: Sequence[str]
    keys: Places
    cells: _Cells
    n_unknown: dict[str, int] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.n_unknown = dict.fromkeys(self.keys, 0)

    def read(self, number: int, cells: Sequence[str], labels: NDArray[Any], verdicts: NDArray[np.int64]) -> None:
        """Enter the labels of a line that differ from the known ones as verdicts on its row."""
        place = f"{self.path}, line {number}"
        if len(cells) != len(self.header):
            raise InputError(f"{place}: {len(cells)} cells, but the header has {len(self.header)}; correct this line.")
        values = self.cells.values({name: cells[self.header.index(name)] for name in self.columns}, place)
        if (values == -1).all():
            return
        folded = [name.lower() for name in self.header]
        try:
            i = find_row({name: cells[folded.index(name)] for name in self.keys}, self.keys, self.n_unknown)
        except LookupError as reason:
            raise InputError(f"{place}: {reason}; give the file with all its columns and its table.") from None
        values[values == labels[i]] = -1
        _enter_line(values, verdicts, i, place)


def draw_rows(
    candidates: NDArray[np.intp], groups: NDArray[Any] | None, n: int, random_state: Any = 0
) -> NDArray[np.intp]:
    """Draw n of some rows at random, spread over groups: a second row of a group comes after one of each group.

    Parameters
    ----------
    candidates : ndarray of row numbers
    groups : ndarray of shape (n_samples,) or None
        Equal for rows of one group, such as a patient.
    n : int
    random_state : int, Generator or None, default=0

    Examples
    --------
    >>> drawn = draw_rows(np.arange(6), np.array([0, 0, 0, 0, 1, 2]), 3)
    >>> sorted(np.array([0, 0, 0, 0, 1, 2])[drawn].tolist())
    [0, 1, 2]
    """
    rows = np.random.default_rng(random_state).permutation(candidates)
    if groups is not None and len(rows):
        _, group, counts = np.unique(groups[rows], return_inverse=True, return_counts=True)
        order = np.argsort(group, kind="stable")
        place = np.empty(len(rows), dtype=np.intp)
        place[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = rows[np.argsort(place, kind="stable")]
    return rows[:n]
