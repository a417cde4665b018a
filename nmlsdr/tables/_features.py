"""The features of the cells of one column, by what a plan does with it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.words import LANGUAGES
from .._errors import InputError, shorten
from ._column_units import WITHOUT, read_quantities, with_new_units
from ._columns import Cells, Numbers, Texts, Vectors, read_vectors
from ._dates import serial_date
from ._kinds import Column
from ._lists import numbers_of, parts_of
from ._number_parsing import Notation, decimal_mark, hold_number, is_number, own_notation
from ._problems import NO_UNIT, OTHER_MARK, Problem
from ._quantities import word_before
from ._shapes import rows_of
from ._text import weigh_words


def column_features(
    column: Column, cells: Cells, missing: frozenset[str], keep_case: bool, problems: list[Problem]
) -> tuple[Any, Any]:
    """Return the features of the different cells of a column, and for each row the number of its cell among them.

    Parameters
    ----------
    column : Column
    cells : Numbers or Texts
    missing : frozenset of str
        Folded words that mean a missing value.
    keep_case : bool
        Whether categories and items of lists that differ in case are different.
    problems : list of Problem
        Collects the cells that are not what the column holds.

    Returns
    -------
    features : ndarray or csr_array of shape (n_cells, n_features)
        CSR for texts. NaN for a missing value.
    codes : ndarray of shape (n_rows,), int, or slice
    """
    # If a number means a missing value, texts tell which numbers these are.
    if isinstance(cells, Numbers) and _takes_numbers(column, cells) and not hold_number(missing):
        is_known = ~np.isnan(cells.values)
        return np.column_stack([cells.values, *(is_known & (m == WITHOUT) for m in column.marks)]), slice(None)
    if column.kind == "vector":
        return _vectors(column, cells), slice(None)
    texts = cells.texts.trimmed
    is_missing = np.array([word in missing for word in texts.folded], dtype=bool)
    if column.kind == "words":
        known = ["" if empty else text for text, empty in zip(texts.different, is_missing.tolist(), strict=True)]
        return weigh_words(known, column.words, column.idf, column.are_names), texts.codes
    if column.kind not in _READERS:
        return _levels(column, texts, is_missing, keep_case), texts.codes
    return _numbers(column, texts, is_missing, problems), texts.codes


def _takes_numbers(column: Column, cells: Numbers) -> bool:
    """Whether the features of a column are its numbers: they need no unit, and mean what was written."""
    has_bare_numbers = not column.factors or "" in column.factors
    return column.kind == "number" and has_bare_numbers and cells.fit(column.decimal)


def _numbers(
    column: Column, texts: Texts, is_missing: NDArray[np.bool_], problems: list[Problem]
) -> NDArray[np.float64]:
    """Return the features of the different cells of numbers, dates, answers, or JSON objects."""
    features = np.array(_READERS[column.kind](column, texts, texts.folded), np.float64)
    features = features.reshape(len(texts.different), len(column.feature_names))
    behind = column.levels if column.kind == "number" else ()  # the words behind which numbers are missing
    after = (bool(behind) and word_before(text) in behind for text in texts.different)
    is_missing = is_missing | (np.isnan(features[:, 0]) & np.fromiter(after, bool))
    if column.kind == "yes/no":  # of crosses and empty cells: every word for "missing" means no
        features[is_missing & np.isnan(features[:, 0])] = float(column.levels.get("", "nan"))
    else:
        features[is_missing] = np.nan
    problems += _problems(column, texts, np.isnan(features).all(axis=1) & ~is_missing)
    if column.kind == "number":
        features[np.isnan(features[:, 0]), 1:] = 0.0  # a missing number has no mark
    return features


def _vectors(column: Column, cells: Cells) -> NDArray[np.float64]:
    """Return the vectors of a column; an InputError if they have another length than at the fit."""
    rows = cells.rows if isinstance(cells, Vectors) else read_vectors(cells.texts, column.length)
    if rows is None or rows.shape[1] != column.length:
        lengths = f"its vectors have {column.length} numbers at the fit, and others here"
        raise InputError(f"The column {shorten(column.name)!r} differs: {lengths}; make them by the same model.")
    return rows


def _levels(column: Column, texts: Texts, is_missing: NDArray[np.bool_], keep_case: bool) -> NDArray[np.bool_]:
    """Return the features of the different cells of a category, or of lists."""
    table = np.zeros((len(is_missing), len(column.feature_names)), dtype=bool)
    place = {level: j for j, level in enumerate(column.levels)}
    for row, text, missing in zip(table, texts.different, is_missing.tolist(), strict=True):
        parts = parts_of(column.kind, text, column.separator, keep_case)
        row[level_places := [place[part] for part in parts if part in place]] = True
        if not level_places and (column.has_missing if missing else column.has_other):
            row[len(place) if missing else -1] = True
    return table


# ---------------------------------------------------------------- from different texts to numbers, NaN for others


def _read_answers(column: Column, texts: Texts, words: list[str]) -> NDArray[np.float64]:
    known = {"true": 1.0, "false": 0.0} | {word: float(value) for word, value in column.levels.items()}
    for language in LANGUAGES:  # so that "sim" is the "s" of the fit
        known = {**language, **known} if column.levels.keys() <= language.keys() else known
    return np.array([known.get(word, np.nan) for word in words])


def _read_dates(column: Column, texts: Texts, words: list[str]) -> NDArray[np.float64]:
    values = texts.dates_with(column.levels).values(column.month_first, column.year_first)
    for code in np.flatnonzero(np.isnan(values[:, 0])).tolist():
        values[code] = serial_date(texts.different[code]) or (np.nan, np.nan)
    return values


def _read_objects(column: Column, texts: Texts, words: list[str]) -> NDArray[np.float64]:
    objects = [numbers_of(text) or {} for text in texts.different]
    return np.array([[numbers.get(key, np.nan) for key in column.levels] for numbers in objects])


def _read_numbers(column: Column, texts: Texts, words: list[str]) -> NDArray[np.float64]:
    units = {part.unit for parts in texts.forms.parts if parts is not None for part in parts.all}
    factors = with_new_units(column.factors, units)
    quantities = read_quantities(texts.different, texts.forms, _notation(column, texts), factors, column.marks)
    if texts.numbers and (not column.factors or "" in column.factors):
        for code, text in enumerate(texts.different):
            quantities[code, 0] = texts.numbers.get(text, quantities[code, 0])
    return quantities


_READERS = {"yes/no": _read_answers, "date": _read_dates, "JSON": _read_objects, "number": _read_numbers}


def _notation(column: Column, texts: Texts) -> Notation:
    """Return how the numbers of a table are written."""
    # Beside decimal commas a point stands between thousands, also if the numbers of the fit were too small.
    notation = Notation(column.decimal, column.thousands or ("." if column.decimal == "," else ""))
    numbers = [parts.number for parts in texts.forms.parts if parts is not None] if column.unmarked else []
    return own_notation(numbers, notation) if numbers else notation


def _problems(column: Column, texts: Texts, unread: NDArray[np.bool_]) -> list[Problem]:
    """Return texts that are not what a column holds; all numbers with another decimal mark are one problem."""
    rows: dict[tuple[str, str], list[NDArray[np.int64]]] = {}  # by the text and the reason
    first_marked = ""
    for code, cell_rows in rows_of(texts.codes, np.flatnonzero(unread)):
        text = texts.different[code]
        if column.kind == "JSON" and numbers_of(text) is not None:
            continue  # an object without a number of the fit
        why = _why_unread(column, texts, code)
        if why == OTHER_MARK:
            first_marked = first_marked or text
            text = first_marked
        rows.setdefault((text, why), []).append(cell_rows)
    return [Problem(column.name, np.sort(np.concatenate(r)), text, why=why) for (text, why), r in rows.items()]


def _why_unread(column: Column, texts: Texts, code: int) -> str:
    """Return why a text is not what a column of numbers holds; nothing for an ordinary text."""
    parts = texts.forms.parts[texts.forms.codes[code]] if column.kind == "number" else None
    opposite_mark = "," if column.decimal == "." else "."
    if parts is not None and opposite_mark in parts.number and decimal_mark(parts.number) != column.decimal:
        return OTHER_MARK
    needs_unit = column.factors and "" not in column.factors
    return NO_UNIT if needs_unit and is_number(texts.different[code]) else ""
