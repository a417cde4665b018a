"""Columns from Python's objects, such as cells of a workbook or a data frame: each becomes a number or a text."""

import datetime
import json
import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.cells import is_null
from .._errors import InputError
from ._columns import Cells, Numbers, Texts, Vectors, with_numbers
from ._number_parsing import GROUPED, keeps_digits, text_of
from ._shapes import coded

MIDNIGHT = re.compile(r" 00:00:00(\.0+)?$")
LEAST_LENGTH = 8  # of a list of whole numbers that is a vector
_DATE = datetime.date | np.datetime64
_DURATION = datetime.timedelta | np.timedelta64
_FLOAT = float | np.floating
_TRUTH = bool | np.bool_


def typed_column(cells: Sequence[Any]) -> Cells:
    """Return a column of Python objects: numbers, booleans, dates, texts, lists and missing values, also mixed."""
    kinds = {*map(type, cells)}
    if kinds <= {str}:
        return with_numbers(Texts(*coded(cells)))
    containers = {kind for kind in kinds if hasattr(kind, "__len__") and not issubclass(kind, str | bytes)}
    if containers:
        if (vectors := vectors_of(cells)) is not None:
            return vectors
        cells = [_container_text(cell) if type(cell) in containers else cell for cell in cells]
    different, codes = coded([*zip(map(type, cells), cells, strict=True)])  # True, 1 and 1.0 are equal
    return coded_column([cell for _, cell in different], codes)


def _container_text(cell: Any) -> str:
    """Return a dictionary as JSON, and the items of a list with semicolons between them."""
    return json.dumps(cell, default=str) if isinstance(cell, dict) else ";".join(map(str, cell)) or "[]"


# ---------------------------------------------------------------- vectors


def vectors_of(cells: Sequence[Any]) -> Vectors | None:
    """Return a column whose cells are lists or arrays of one length with decimal numbers; None for another column.

    Short lists of whole numbers are no vectors: they may be codes.

    Examples
    --------
    >>> vectors_of([[0.5, 1.0], None, (1.5, 2.0)]).rows.tolist()
    [[0.5, 1.0], [nan, nan], [1.5, 2.0]]
    >>> vectors_of([[1, 2], [3, 4]]) is vectors_of([[0.5], [0.5, 1.5]]) is None
    True
    """
    is_missing = np.array([not hasattr(cell, "__len__") and is_null(cell) for cell in cells], bool)
    values = _matrix([cells[row] for row in np.flatnonzero(~is_missing).tolist()])
    if values is None:
        return None
    if not (np.isfinite(values) | np.isnan(values).all(axis=1)[:, None]).all():
        raise InputError("A vector holds NaN or infinity; give finite numbers, or None in place of the vector.")
    rows = np.full((len(cells), values.shape[1]), np.nan)
    rows[~is_missing] = values
    return Vectors(rows)


def _matrix(lists: Sequence[Any]) -> NDArray[Any] | None:
    """Return the matrix whose rows are lists of numbers; None if they are no such lists, or codes."""
    if not lists or not all(map(_is_list, lists)) or len({*map(len, lists)}) > 1 or len(lists[0]) < 2:
        return None
    try:
        matrix = np.array([np.asarray(cell) for cell in lists])
    except ValueError:  # a list within a list
        return None
    are_codes = matrix.dtype.kind in "iu" and matrix.shape[-1] < LEAST_LENGTH
    return matrix if matrix.ndim == 2 and matrix.dtype.kind in "fiu" and not are_codes else None


def _is_list(cell: Any) -> bool:
    return hasattr(cell, "__len__") and not isinstance(cell, str | bytes | dict)


# ---------------------------------------------------------------- numbers and texts


def coded_column(different: Sequence[Any], codes: NDArray[Any]) -> Cells:
    """Return a column from its different cells, and the number of the cell of each row."""
    different = [_plain_value(cell) for cell in different]
    filled = [cell for cell in different if not (isinstance(cell, str) and cell == "")]
    if filled and _are_numbers(filled):
        return Numbers(np.array([np.nan if isinstance(cell, str) else float(cell) for cell in different])[codes])
    texts = _texts_of(different)
    is_truth = {isinstance(cell, _TRUTH) for cell in filled}
    return with_numbers(Texts.of(texts, codes, _typed_numbers(texts, different) if len(is_truth) == 1 else None))


def _plain_value(cell: Any) -> Any:
    """Return the empty text for a missing value, and the hours of a duration; another cell as it is."""
    if is_null(cell):
        return ""
    return float(np.timedelta64(cell) / np.timedelta64(1, "h")) if isinstance(cell, _DURATION) else cell


def _are_numbers(cells: Sequence[Any]) -> bool:
    """Whether all cells are numbers, of which the whole ones keep their digits as floats."""
    if not all(isinstance(cell, Real) and not isinstance(cell, _TRUTH) for cell in cells):
        return False
    return keeps_digits(cell for cell in cells if isinstance(cell, Integral))


def _typed_numbers(texts: Sequence[str], cells: Sequence[Any]) -> Mapping[str, float]:
    """Return the values of floats and booleans by their texts.

    A float beside texts is no text, whose decimal mark could be another one.
    """
    pairs = zip(texts, cells, strict=True)
    return {text: float(cell) for text, cell in pairs if isinstance(cell, _FLOAT | _TRUTH) and np.isfinite(cell)}


def _texts_of(cells: Sequence[Any]) -> list[str]:
    """Return the texts of cells; dates without a time of day, if none of the column has one."""
    floats = {code: text_of(float(cell)) for code, cell in enumerate(cells) if _is_finite_float(cell)}
    texts = _with_clear_points([floats.get(code) or str(cell) for code, cell in enumerate(cells)], {*floats.values()})
    dates = {code: cell for code, cell in enumerate(cells) if isinstance(cell, _DATE)}
    date_texts = dict(zip(dates, _date_texts([*dates.values()]), strict=True))
    return [date_texts.get(code, text) for code, text in enumerate(texts)]


def _is_finite_float(cell: Any) -> bool:
    return isinstance(cell, _FLOAT) and bool(np.isfinite(cell))


def _with_clear_points(texts: list[str], numbers: Collection[str]) -> list[str]:
    """Return texts in which the numbers are the same in the notation that the texts show.

    1.5 becomes 15e-1 if a text has a comma, or if all points of the numbers could stand between thousands.
    """
    pointed = {number for number in numbers if "." in number}
    has_comma = any("," in text for text in texts)
    is_clear = not has_comma and not all(map(GROUPED["."].fullmatch, pointed))
    return texts if is_clear else [with_exponent(text) if text in pointed else text for text in texts]


def with_exponent(number: str) -> str:
    """Return the text of a number without a point."""
    sign, digits, exponent = Decimal(number).as_tuple()
    return f"{'-' * sign}{''.join(map(str, digits))}e{exponent}"


def _date_texts(dates: Sequence[Any]) -> list[str]:
    """Return the texts of dates, without their times of day if all of these are midnight."""
    texts = [str(date).replace("T", " ") for date in dates]
    days = [MIDNIGHT.sub("", text) for text in texts]
    return texts if any(":" in day for day in days) else days
