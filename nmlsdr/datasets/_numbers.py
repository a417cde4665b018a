"""What a number is, and what a date is: how their texts are written and read."""

import datetime
import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks.words import BLANKS, HOLES
from ._files import shorten

DATE = re.compile(r"(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})(?:[T ]\d{1,2}:\d{2}.*)?", re.ASCII)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
TWO_DIGIT_YEARS = 1950  # the first year that is written with two digits


class Notation(NamedTuple):
    """How numbers are written: the decimal mark, and what stands between thousands (nothing, a mark or a blank)."""

    decimal: str
    thousands: str

    def words(self) -> list[str]:
        """Return what is unusual about it, for people."""
        between = {".": "points", ",": "commas", " ": "blanks", "'": "apostrophes"}
        found = ["decimal commas"] if self.decimal == "," else []
        return found + ([f"{between[self.thousands]} between thousands"] if self.thousands else [])


_MARKS = (".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'")
NOTATIONS = tuple(Notation(decimal, between) for decimal, between in _MARKS)
"""All notations that are looked for; where two read the same cells, the first is meant."""

_BETWEEN = {".": r"\.", ",": ",", " ": "[ \u00a0\u202f]", "'": "['\u2019]"}


@functools.cache
def number_reader(notation: Notation) -> Callable[[str], float | None]:
    """Return a function that reads a number in this notation, or returns None.

    Examples
    --------
    >>> read = number_reader(Notation(",", "."))
    >>> read("2.535,50"), read("-3"), read("1.5"), read("k.A.")
    (2535.5, -3.0, None, None)
    """
    mark, between = re.escape(notation.decimal), _BETWEEN.get(notation.thousands, "")
    whole = rf"[1-9]\d{{0,2}}(?:{between}\d{{3}})+|\d+" if between else r"\d+"
    pattern = re.compile(rf"[+-]?(?:(?:{whole})(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?", re.ASCII)
    strip = re.compile(between) if between else None

    def read(text: str) -> float | None:
        if pattern.fullmatch(text) is None:
            return None
        plain = text if strip is None else strip.sub("", text)
        value = float(plain.replace(notation.decimal, "."))
        return value if abs(value) < float("inf") else None

    return read


def is_number(text: str) -> bool:
    """Whether a text is a number in any of the notations."""
    return any(number_reader(notation)(text) is not None for notation in NOTATIONS)


def read_date(text: str, month_first: bool = False) -> tuple[float, float] | None:
    """Return the year with its fraction, and the month, of a date; None for another text.

    Examples
    --------
    >>> read_date("1999-07-02"), read_date("2.7.1999"), read_date("07/02/99", month_first=True)
    ((1999.4972677595629, 7.0), (1999.4972677595629, 7.0), (1999.4972677595629, 7.0))
    """
    match = DATE.fullmatch(text)
    if match is None:
        return None
    first, mark, middle, last = match.groups()
    if len(first) == 4:
        year, month, day = int(first), int(middle), int(last)
    elif len(first) > 2 or len(last) not in (2, 4):
        return None
    else:
        year, day, month = int(last), int(first), int(middle)
        if len(last) == 2:
            year += 100 * ((TWO_DIGIT_YEARS - year + 99) // 100)
        if month_first and mark != ".":
            day, month = month, day
    try:
        found = datetime.date(year, month, day)
    except ValueError:
        return None
    return year + (found.timetuple().tm_yday - 1) / 366, float(month)


Cells = Sequence[str] | NDArray[Any]  # a column of a block: texts, or numbers with NaN for a missing value


def plain_numbers(cells: Cells) -> NDArray[np.float64] | None:
    """Return a column as floats if every cell is empty (NaN) or a finite number as a program writes it, else None."""
    if isinstance(cells, np.ndarray):
        values = cells.astype(np.float64, copy=False)
        return None if np.isinf(values).any() else values
    text = "".join(cells)
    if not text.isascii() or "_" in text:  # float() accepts 1_0 and the digits of all scripts
        return None
    try:
        values = np.array([cell or "nan" for cell in cells], dtype=object).astype(np.float64)  # by float()
    except ValueError:
        return None
    n_finite = np.isfinite(values).sum()
    return values if n_finite + cells.count("") == len(cells) else None


def text_of(value: float) -> str:
    """Return the text of a number, a whole one without a decimal point."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def number_problem(cell: str | None) -> str | None:
    """Return what is wrong with a cell that should hold a finite number, or None."""
    text = (cell or "").strip(BLANKS)
    if text.lower() in HOLES:
        return "the value is missing; fill it in or drop the row, or fit the model with --impute median"
    if not text.isascii():  # float() accepts the digits of all scripts and skips invisible blanks
        return f"{shorten(text)!r} is not a number; write it with the digits 0 to 9 or drop the column"
    if "_" in text:
        return f"{shorten(text)!r} is not a number; write it without '_'"
    try:
        is_finite = math.isfinite(float(text))
    except ValueError:
        return f"{shorten(text)!r} is not a number; turn it into one or drop the column"
    return None if is_finite else f"{shorten(text)!r} is not a finite number; fill it in or drop the row"
