"""What the text of one cell may mean: a number in some notation, a date, yes or no, or a missing value."""

import datetime
import functools
import re
from collections.abc import Callable
from typing import NamedTuple

from ._cells import HOLES
from ._files import BLANKS

MISSING = frozenset(
    {*HOLES, "-", "--", "---", "–", "—", ".", "...", "#n/a", "#na", "n.a.", "n. a.", "nd", "n.d.", "n. d.", "k.a.",
     "k. a.", "keine angabe", "unbekannt", "unknown", "not known", "missing", "inconnu", "desconocido", "sconosciuto",
     "onbekend"}
)  # fmt: skip
"""Words, folded, that mean a missing value wherever they stand; others are found by how often they occur."""

DATE = re.compile(r"(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})(?:[T ]\d{1,2}:\d{2}.*)?", re.ASCII)
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


def fold(text: str) -> str:
    """Return a text without surrounding blanks and upper case."""
    return text.strip(BLANKS).casefold()
