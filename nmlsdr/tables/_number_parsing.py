"""The notations of numbers, the notation of a column, and the number that a text is."""

import contextlib
import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks.words import BLANKS, HOLES
from .._errors import shorten

#: Dashes that are typed or printed for a minus sign, the blanks of typesetting, the characters of full width, the
#: decimal mark and the comma of Arabic, the digits of all scripts, and the words that stand in East Asian dates.
_ALIKE = str.maketrans("\u2212\u2012\u2013\uff0d\u2009\u202f\u00a0\u2007\u2019．，＋￥٫٬", "----    '.,+¥.,")
_ALIKE |= {code: ord("0") + int(chr(code)) for code in range(0x660, 0x10000) if chr(code).isdecimal()}
#: The decimal mark of Arabic, and what stands between its thousands. `plain_text` makes a point and a comma of them.
_ARABIC_MARKS = re.compile("[٫٬]")


def has_arabic_mark(text: str) -> bool:
    """Whether one of the marks of Arabic is in a text; then the point of its `plain_text` is the decimal mark.

    Examples
    --------
    >>> has_arabic_mark("٧٠٫٥٠٠"), has_arabic_mark("70.500")
    (True, False)
    """
    return not text.isascii() and _ARABIC_MARKS.search(text) is not None


def plain_text(text: str) -> str:
    """Return a text of the same length, in which signs, blanks and digits are those of an English keyboard.

    Examples
    --------
    >>> plain_text("−１２\u202f500"), plain_text("5²"), plain_text("٣٫٥")
    ('-12 500', '5²', '3.5')
    """
    return text if text.isascii() else text.translate(_ALIKE)


class Notation(NamedTuple):
    """How numbers are written: the decimal mark, and what stands between thousands (nothing, a mark or a blank)."""

    decimal: str
    thousands: str


MARK_NAMES = {".": "points", ",": "commas", " ": "blanks", "'": "apostrophes"}
_MARKS = (".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'")
#: All notations that are looked for; where two read the same cells, the first is meant.
NOTATIONS = tuple(Notation(decimal, between) for decimal, between in _MARKS)

_INDIAN = r"[1-9]\d?(?:,\d\d){1,5},\d{3}"  # 12,34,567


def _pattern(notation: Notation) -> str:
    """Return the pattern of a number in this notation.

    With more than 15 digits in front of its mark a float would lose the last ones, and such texts are ids; with an
    exponent of three digits it may be too large for a float.
    """
    mark = re.escape(notation.decimal)
    between = re.escape(notation.thousands)
    whole = rf"[1-9]\d{{0,2}}(?:{between}\d{{3}}){{1,4}}|\d{{1,15}}" if between else r"\d{1,15}"
    whole = f"{_INDIAN}|{whole}" if between == "," else whole
    phone = r"(?!\+\d+ )" if notation.thousands == " " else ""
    return rf"{phone}[+-]?(?:(?:{whole})(?:{mark}\d*)?|{mark}\d+)(?:[eE](?:\+?\d\d?|-\d{{1,3}}))?"


_NUMBER = re.compile("|".join(map(_pattern, NOTATIONS)), re.ASCII)


@functools.cache
def number_reader(notation: Notation) -> Callable[[str], float | None]:
    """Return a function that reads a number in this notation, or returns None.

    Examples
    --------
    >>> read = number_reader(Notation(",", "."))
    >>> read("2.535,50"), read("-3"), read("1.5"), read("k.A.")
    (2535.5, -3.0, None, None)
    """
    pattern = re.compile(_pattern(notation), re.ASCII)

    def read(text: str) -> float | None:
        text = plain_text(text)
        if pattern.fullmatch(text) is None:
            return None
        plain = text.replace(notation.thousands, "") if notation.thousands else text
        return float(plain.replace(notation.decimal, "."))

    return read


def keeps_digits(numbers: Iterable[Any]) -> bool:
    """Whether a float keeps all digits of whole numbers; longer ones are ids, which are texts."""
    return all(abs(int(number)) < 10**15 for number in numbers)


def is_number(text: str) -> bool:
    """Whether a text is a number in any of the notations."""
    return _NUMBER.fullmatch(plain_text(text)) is not None


@functools.lru_cache(16)  # asked for every column of a table, whose words for a missing value are the same
def hold_number(words: frozenset[str]) -> bool:
    """Whether one of some words is a number in any of the notations."""
    return any(map(is_number, words))


# ---------------------------------------------------------------- which notation a column is written in

GROUPED = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+", re.ASCII),
    ",": re.compile(rf"[+-]?(?:[1-9]\d{{0,2}}(,\d{{3}})+|{_INDIAN})", re.ASCII),
}
_OTHER_MARK = {".": ",", ",": "."}
#: So many different decimals that all have exactly three digits by chance are rare: of ten, one ends in a zero.
FEW_GROUPED = 22


def decimal_mark(text: str) -> str | None:
    """Return the decimal mark of a number that has only one reading; None if it has both or no mark.

    Examples
    --------
    >>> [decimal_mark(text) for text in ("1.5", "1,5", "1.234,5", "1.234.567", "1.234", "7")]
    ['.', ',', ',', ',', None, None]
    """
    point = text.count(".")
    comma = text.count(",")
    if point and comma:
        return "." if text.rindex(".") > text.rindex(",") else ","
    if not point and not comma:
        return None
    mark = "." if point else ","
    if GROUPED[mark].fullmatch(plain_text(text)) is None:
        return mark
    return _OTHER_MARK[mark] if point + comma > 1 else None


def usual_decimal(columns: Iterable[Mapping[str, int]]) -> str | None:
    """Return the decimal mark of most numbers that have only one reading; None where there is none.

    Parameters
    ----------
    columns : iterable of (dict of str to int)
        How often each text of each column occurs; texts that are no numbers do no harm if they hold neither mark.
    """
    votes = {".": 0, ",": 0, None: 0}
    for texts in columns:
        for text, count in texts.items():
            votes[decimal_mark(text)] += count
    return None if votes["."] == votes[","] == 0 else "." if votes["."] >= votes[","] else ","


def find_notation(
    texts: Mapping[str, int],
    usual: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    every: Callable[[], Iterable[str]] | None = None,
) -> tuple[Notation, str]:
    """Return the notation that reads most cells of a column, and why another may be meant (empty: it may not).

    Of several that read as many, the one with the usual decimal mark is taken, then the first of `NOTATIONS`. The order
    of the texts does not matter.

    Parameters
    ----------
    texts : dict of str to int
        How often each different text occurs, or each shape of texts; all are numbers in some notation.
    usual : {".", ","}, default=None
        The decimal mark of the table; None: no number of it shows one.
    decimal, thousands : str, default=None
        What a person said.
    every : callable, default=None
        Returns the different texts themselves, where `texts` are shapes.

    Examples
    --------
    >>> find_notation({"12.345": 1, "987": 1})
    (Notation(decimal=',', thousands='.'), '')
    >>> find_notation({"12.345": 1, "37.5": 1})
    (Notation(decimal='.', thousands=''), '')
    >>> find_notation({"12.345": 1, "37.500": 1})[1]
    "numbers such as '12.345' are read as decimals; if their points stand between thousands, give --thousands ."
    """
    allowed = [n for n in NOTATIONS if decimal in (None, n.decimal) and thousands in (None, n.thousands)]
    mark = decimal or usual or "."
    marks = set(plain_text("".join(texts))) & set(".,' ")
    if not marks:
        return next((notation for notation in allowed if notation.decimal == mark), allowed[0]), ""
    if len(marks) == 1 and (only := marks.pop()) in GROUPED and decimal is thousands is None:
        return _notation_of_mark(texts, only, usual, every or (lambda: texts))
    return max(allowed, key=lambda n: (_n_readable(texts, n), n.decimal == mark)), ""


def _n_readable(texts: Mapping[str, int], notation: Notation) -> int:
    """Return how many cells are numbers in a notation."""
    read = number_reader(notation)
    return sum(count for text, count in texts.items() if read(text) is not None)


def _notation_of_mark(
    texts: Iterable[str], mark: str, usual: str | None, every: Callable[[], Iterable[str]]
) -> tuple[Notation, str]:
    """Decide whether the only mark of a column, a point or a comma, is a decimal mark or stands between thousands."""
    decimals = Notation(mark, "")
    grouped = Notation(_OTHER_MARK[mark], mark)
    marked = [plain_text(text) for text in texts if mark in text]
    if not all(map(GROUPED[mark].fullmatch, marked)):
        return decimals, ""
    if any(text.count(mark) > 1 for text in marked) or usual not in (None, mark):
        return grouped, ""
    numbers = [plain_text(text) for text in every()]
    notation = _notation_by_size(numbers, mark, usual)
    if notation is not None:
        return notation, ""
    notation = decimals if mark in (".", usual) else grouped
    example = min(number for number in numbers if mark in number)
    return notation, _doubt_on_marks(example, mark, usual, notation == decimals)


def _notation_by_size(numbers: Sequence[str], mark: str, usual: str | None) -> Notation | None:
    """Return the notation that the numbers without the mark leave possible; None if they leave both.

    Parameters
    ----------
    numbers : sequence of str
        The different numbers, as `plain_text` returns them; each mark has groups of three digits behind it.
    mark, usual : str
        As in `_notation_of_mark`.
    """
    marked = [number for number in numbers if mark in number]
    bare = [abs(float(number)) for number in numbers if mark not in number]
    largest = max(bare, default=0.0)
    if largest >= 1000:  # these numbers have no mark between their thousands
        is_possible = usual != mark and largest < 10_000 and _have_five_digits(marked)
        return None if is_possible else Notation(mark, "")
    if not bare:
        return Notation(mark, "") if usual == mark else None
    # Decimals would be written 987.000 too.
    return Notation(_OTHER_MARK[mark], mark) if usual is None or len(marked) >= FEW_GROUPED else None


def _have_five_digits(numbers: Iterable[str]) -> bool:
    """Whether all numbers are from 10.000 on: Spanish has a mark between thousands in these, and writes 1234."""
    return all(len(number.strip("+-")) >= len("10.000") for number in numbers)


def _doubt_on_marks(example: str, mark: str, usual: str | None, is_decimal: bool) -> str:
    """Return in words how numbers with a mark are read, and what to do if the mark means something else."""
    marks = MARK_NAMES[mark]
    meaning = "stand between thousands" if is_decimal else "are decimal marks"
    advice = f"give --{'thousands' if is_decimal else 'decimal'} {mark}"
    if usual == mark:  # the option would concern the other columns as well
        advice = f"write the numbers without {marks}"
    reading = "decimals" if is_decimal else "thousands"
    return f"numbers such as {example!r} are read as {reading}; if their {marks} {meaning}, {advice}"


def own_notation(numbers: Sequence[str], otherwise: Notation) -> Notation:
    """Return the notation of some numbers if all that read every number of them read the same; else another one.

    Examples
    --------
    >>> other = Notation(".", "")
    >>> [own_notation(numbers, other).decimal for numbers in (["1,5", "12,345"], ["12,345"], ["1,5", "2.5"])]
    [',', '.', '.']
    """
    values = {notation: tuple(map(number_reader(notation), numbers)) for notation in NOTATIONS}
    fitting = {notation: reading for notation, reading in values.items() if None not in reading}
    return next(iter(fitting)) if len({*fitting.values()}) == 1 else otherwise


def text_of(value: float) -> str:
    """Return the text of a number, a whole one without a decimal point."""
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(float(value))


# ---------------------------------------------------------------- numbers as programs write them

#: A number that is read in one way only and loses nothing as a float: no leading zeros, at most 15 whole digits.
PLAIN = re.compile(r"[+-]?(?!0\d|\d{16})(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
#: The same for pyarrow: what loses zeros or digits as a float, and a number whose points may stand between thousands.
LONG = r"^[+-]?(?:0[0-9]|[0-9]{16})"
POINTS = rf"^[ \t]*(?:{GROUPED['.'].pattern})[ \t]*$"


def float_values(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Return texts as floats, an empty one as NaN; None if one is neither empty nor a finite number."""
    joined = "".join(texts)
    if not joined.isascii() or "_" in joined:  # float() accepts 1_0 and the digits of all scripts
        return None
    try:
        values = np.array([text or "nan" for text in texts], dtype=object).astype(np.float64)  # by float()
    except ValueError:
        return None
    return values if np.isfinite(values).sum() + texts.count("") == len(texts) else None


def plain_values(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Return different texts as floats, an empty one as NaN, if all are plain numbers of one reading; else None."""
    stripped = [text.strip(BLANKS) for text in texts]
    if not any(stripped) or not all(PLAIN.fullmatch(text) for text in stripped if text):
        return None
    pointed = [text for text in stripped if "." in text]
    if pointed and all(GROUPED["."].fullmatch(text) for text in pointed):
        return None
    return float_values(stripped)


def number_problem(cell: str | None) -> str | None:
    """Return what is wrong with a cell that should hold a finite number, or None."""
    text = (cell or "").strip(BLANKS)
    if text.lower() in HOLES:
        return "the value is missing; fill it in or drop the row, or fit the model with --impute median"
    with contextlib.suppress(ValueError):
        if text.isascii() and "_" not in text and math.isfinite(float(text)):  # float() accepts 1_0 and other digits
            return None
    return f"{shorten(text)!r} is not a number; write a finite one with the digits 0 to 9, or drop the row or column"
