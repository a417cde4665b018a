"""What the cells of a table may mean, and statistics of its columns: the facts from which a plan is made."""

import datetime
import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


MOST_TEXTS = 5_000_000  # different words that are kept of a table, and a tenth as many texts of numbers
MOST_OF_COLUMN = 100_000
MOSTLY_DIFFERENT = 0.9  # of a column's whole numbers, or they cannot name the rows

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


class ColumnStatistics:
    """What one column holds.

    Attributes
    ----------
    numbers, words : Counter
        The different texts, without surrounding blanks, that are numbers in some notation, and all others (a missing
        value is the empty word). Both stop growing at a limit.
    n_numbers : int
        How many cells hold a number.
    whole : set of float, or None
        The different numbers, as long as all are whole and nearly all differ.
    is_plain : bool
        Whether `float` reads all the numbers.
    digest : int
        Equal for columns with equal cells.
    most : int
        How many different words are kept.
    """

    def __init__(self, most: int) -> None:
        self.numbers: Counter[str] = Counter()
        self.words: Counter[str] = Counter()
        self.n_numbers = 0
        self.whole: set[float] | None = set()
        self.rising = self.is_plain = True
        self._last = -np.inf  # whole number, the largest as long as they rise
        self.digest = 0
        self.most = most
        self._filled: list[NDArray[np.bool_] | int] = []  # of each block; a number: so many cells, all filled

    def add(self, cells: Cells, missing: frozenset[str]) -> None:
        """Add the cells of a block."""
        self.digest = hash((self.digest, cells.tobytes() if isinstance(cells, np.ndarray) else tuple(cells)))
        values = plain_numbers(cells)
        if values is not None:
            filled = ~np.isnan(values)
            n_empty = len(values) - int(filled.sum())
            self._filled.append(filled if n_empty else len(values))
            if n_empty:
                self.words[""] += n_empty
                self.whole = None
            self._add_numbers(values[filled])
            if len(self.numbers) < self.most // 10:
                is_array = isinstance(cells, np.ndarray)
                texts = map(text_of, values[filled].tolist()) if is_array else map(str.strip, cells)
                self.numbers.update(text for text in texts if text)
            return
        if isinstance(cells, np.ndarray):
            cells = ["" if value != value else text_of(value) for value in cells.tolist()]
        counts, is_filled = Counter(cells), {}
        for cell, count in counts.items():
            text = cell.strip(BLANKS)
            is_filled[cell] = fold(text) not in missing
            number = is_number(text)
            known, most = (self.numbers, self.most // 10) if number else (self.words, self.most)
            if text in known or len(known) < most:
                known[text] += count
            if number:
                self.n_numbers += count
                self.is_plain = self.is_plain and number_reader(NOTATIONS[0])(text) is not None
        self._filled.append(np.array([is_filled[cell] for cell in cells], dtype=bool))
        self.whole = None

    def _add_numbers(self, values: NDArray[np.float64]) -> None:
        self.n_numbers += len(values)
        if self.whole is None:
            return
        if (values != np.rint(values)).any():
            self.whole = None
            return
        self.rising = self.rising and bool((np.diff(values, prepend=self._last) >= 0).all())
        self._last = values[-1]
        self.whole.update(values.tolist())
        if len(self.whole) < MOSTLY_DIFFERENT * self.n_numbers:
            self.whole = None

    def filled(self) -> NDArray[np.bool_]:
        """Whether each row has a value here."""
        parts = [np.ones(part, bool) if isinstance(part, int) else part for part in self._filled]
        return np.concatenate(parts) if parts else np.zeros(0, bool)


class TableStatistics:
    """The statistics of all columns of a table; it stands in the place of a plan when a file is read first.

    Parameters
    ----------
    missing : sequence of str, default=()
        Words, besides the usual ones, that mean a missing value.
    one_hot : sequence of str, default=()
        Columns that are said to be categories.
    """

    is_plan = False
    identifier = None  # no column names the rows yet
    feature_names: ClassVar[list[str]] = []

    def __init__(self, missing: Sequence[str] = (), one_hot: Sequence[str] = ()) -> None:
        self.one_hot = one_hot
        self.missing = MISSING | {fold(word) for word in missing}
        self.names: list[str] = []
        self.columns: list[ColumnStatistics] = []
        self.n_rows = 0
        self.row_hashes: list[int] = []

    def sources(self, names: Sequence[str]) -> list[str]:
        """Return the columns that are looked at, which are all."""
        self.names = list(names)
        most = max(1000, min(MOST_OF_COLUMN, MOST_TEXTS // max(1, len(names))))
        self.columns = [ColumnStatistics(most) for _ in names]
        return self.names

    def encode(self, columns: Sequence[Cells], problems: Any = None) -> NDArray[np.float64]:
        """Add a block of the table, one entry for each column, and return no feature."""
        n_rows = len(columns[0]) if len(columns) else 0
        for column, cells in zip(self.columns, columns, strict=True):
            column.add(cells, self.missing)
        self.row_hashes += map(hash, zip(*map(_hashable, columns), strict=True))
        self.n_rows += n_rows
        return np.empty((n_rows, 0))



def _hashable(cells: Cells) -> Sequence[Any]:
    """Return the cells in a form in which equal ones are equal, missing ones too."""
    return cells.astype(np.float64).view(np.int64).tolist() if isinstance(cells, np.ndarray) else cells
