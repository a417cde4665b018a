"""Numbers with a unit, a sign of currency or a sign of comparison: "12,5 kg", "850 g", "5/9", "$1,234.50", "%12",
"<0.5".

A unit is what follows a number. Codes have none: a letter or a hyphen in front (L-01, E66), a zero in front, times,
dates, versions and phone numbers.  A range is its middle, and "1 year 7 months" is the sum of two numbers.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks.words import fold
from ._number_parsing import is_number, plain_text
from ._shapes import Coded, coded, rows_of
from ._units import TABLE, is_no_unit, measures, unit_of

LONGEST = 60  # characters of such a text
BETWEEN = "between"  # the sign of a range
_NEGATIVE = re.compile(r"\([^()-]{1,60}\)|[^()-]{1,60}-")  # (5) and 5-
_BEFORE = re.compile(r"([^\W\d_](?:[^\W\d_]| (?=[^\W\d_]))*)[.:]? ")
_LATER = re.compile(r"(?P<unit>[^\W\d_]+)\.?,?(?: [^\W\d_]{1,3})? ?(?P<later>\d.*)")  # ano e 7 meses
_DIGIT = re.compile(r"\d")
_NUMBER = r"(?P<number>\d[\d.,']*(?:[ ]\d{3}(?!\d)[\d.,']*)*(?:[eE][+-]?\d+)?)"
_UNIT = r"(?P<unit>(?:[^\W\d_]|[%‰°/*′″\"$€£¥₹₽₩₺₴₪₫₱฿\u3380-\u33df]).*)"  # at the end ㎏ and the like


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern of any of some words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


#: What each spelling of a sign means.
_SIGNS = {spelling: sign for sign, spellings in TABLE["signs"].items() for spelling in spellings}
_CURRENCY = _any_of(TABLE["before"])
_SIGN = _any_of(_SIGNS)
_TO = _any_of(TABLE["to"])
_PATTERN = re.compile(
    rf"(?P<sign>{_SIGN})? ?(?P<minus>[+-])?(?:(?P<before>{_CURRENCY}) ?(?P<later>[+-])?)?{_NUMBER}"
    rf"(?:(?: ?- ?| (?:{_TO}) )(?P<last>(?!0\d)\d.*)| ?(?:{_UNIT}|(?P<plus>\+))?)",
    re.IGNORECASE,
)


class Parts(NamedTuple):
    """What a text of a number consists of: digits and marks, a sign or nothing, and its unit or nothing.

    sign: <, >, ~ or BETWEEN; place: where digits and marks begin and end; a minus sign of the number may stand
    elsewhere; second_number: the end of a range, or a number with a smaller unit; is_rare: it is a number only in a
    column with other ones.
    """

    number: str
    sign: str
    unit: str
    place: tuple[int, int]
    second_number: "Parts | None" = None
    is_rare: bool = False

    @property
    def all(self) -> "list[Parts]":
        """The parts of each of its numbers."""
        return [self] if self.second_number is None else [self, self.second_number]

    @property
    def is_plain(self) -> bool:
        """Whether it is one number without a sign."""
        return not self.sign and self.second_number is None and self.number[0] not in "+-"

    def moved(self, start: int) -> "Parts":
        """Return the parts of a text that begins later."""
        return self._replace(place=(self.place[0] + start, self.place[1] + start))

    def of(self, texts: Iterable[str]) -> list[str]:
        """Return the numbers of texts of this form."""
        start, end = self.place
        minus = "-" * (len(self.number) > end - start)
        return [minus + text[start:end] for text in texts]


def split_number(text: str) -> Parts | None:
    """Return the parts of a text that is a number with or without a unit and signs; None for another text.

    Examples
    --------
    >>> [split_number(text)[:3] for text in ("12,5 kg", "<0.5", "$1,234.50", "5/9", "-3")]
    [('12,5', '', 'kg'), ('0.5', '<', ''), ('1,234.50', '', '$'), ('5', '', '/9'), ('-3', '', '')]
    >>> [split_number(text)[:3] for text in ("(5)", "3-5 kg", "1 year 7 months")]
    [('-5', '', ''), ('3', 'between', 'kg'), ('1', '', 'year')]
    >>> [split_number(text) for text in ("L-01", "E66", "007 kg", "12:30", "1.2.2020", "12 May", "3万円")]
    [None, None, None, None, None, None, None]
    """
    if is_number(text):
        return Parts(plain_text(text), "", "", (0, len(text)))
    if text[-1:] in (")", "-") and _NEGATIVE.fullmatch(text):
        return _negative_parts(text)
    match = _match(text)
    if match is None or not is_number(match["number"]) or _is_code(match):
        return None
    first = _first_number(match)
    if match["last"]:
        return _range(text, match, first)
    compound = _sum(text, match, first)
    if compound is not None:
        return compound
    return None if is_no_unit(first.unit) else first


def _match(text: str) -> re.Match[str] | None:
    """Match a text of a number with a unit or a sign, or of a range."""
    return None if len(text) > LONGEST or _DIGIT.search(text, 0, 10) is None else _PATTERN.fullmatch(plain_text(text))


def _negative_parts(text: str) -> Parts | None:
    """Return the parts of a negative number in parentheses or with its minus sign behind it: (5) and 5-."""
    start = int(text[0] == "(")
    parts = split_number(text[start:-1])
    if parts is None or not parts.is_plain:
        return None
    return parts.moved(start)._replace(number=f"-{parts.number}", is_rare=True)


def _is_code(match: re.Match[str]) -> bool:
    """Whether digits belong to a code: a zero in front of a number with a unit, two signs, or a phone number."""
    number = match["number"]
    if re.match(r"0\d", number) and any((match["before"], match["unit"], match["last"])):
        return True
    if match["minus"] and match["later"]:
        return True
    return match["minus"] == "+" and " " in number


def _first_number(match: re.Match[str]) -> Parts:
    """Return the first number of a text, with its sign and its unit."""
    minus = "-" if "-" in (match["minus"], match["later"]) else ""
    sign = ">" if match["plus"] else ""
    if match["sign"]:
        sign = _SIGNS[match["sign"].lower()]
    unit = unit_of((match["before"] or "") + (match["unit"] or ""))
    is_rare = sign == "~" and match["sign"][0].isalpha()
    return Parts(minus + match["number"], sign, unit, match.span("number"), is_rare=is_rare)


def _second_number(text: str, start: int, first: Parts) -> Parts | None:
    """Return the number that begins at a place behind the first one; None unless both are plain."""
    second = split_number(text[start:])
    if second is None or not (second.is_plain and first.is_plain) or first.place[0] != 0:
        return None
    return second.moved(start)


def _range(text: str, match: re.Match[str], first: Parts) -> Parts | None:
    """Return the parts of a range such as "3-5 kg"; None for another text."""
    second = _second_number(text, match.start("last"), first)
    if second is None:
        return None
    return first._replace(sign=BETWEEN, unit=second.unit, second_number=second, is_rare=True)


def _sum(text: str, match: re.Match[str], first: Parts) -> Parts | None:
    """Return the parts of a sum such as "1 year 7 months", whose second unit is smaller; None for another text."""
    later = _LATER.fullmatch(match["unit"] or "")
    if later is None:
        return None
    second = _second_number(text, match.start("unit") + later.start("later"), first)
    if second is None:
        return None
    unit = unit_of(later["unit"])
    smaller = measures(second.unit)
    if any(smaller.get(dimension, size) < size for dimension, size in measures(unit).items()):
        return first._replace(unit=unit, second_number=second)
    return None


def word_before(text: str) -> str:
    """Return the words in front of a number, folded; an empty text where there is no number behind words.

    Examples
    --------
    >>> word_before("approximately 50 %"), word_before("Ok. 5"), word_before("5"), word_before("L-01")
    ('approximately', 'ok', '', '')
    """
    match = _BEFORE.match(text)
    return fold(match[1]) if match and split_number(text[match.end() :]) is not None else ""


# ---------------------------------------------------------------- many texts at once


class Forms(NamedTuple):
    """Texts grouped by all but the digits of their numbers.

    different: a text of each group; parts: its parts, or None where the texts are no numbers; codes: the group of each
    text.
    """

    different: list[str]
    parts: list[Parts | None]
    codes: NDArray[np.int32]


def forms_of(texts: Sequence[str], shapes: Coded) -> Forms:
    """Return the forms of texts of these shapes."""
    different, codes = shapes
    parts = [split_number(shape) for shape in different]
    ends = _ends_before_digits(different, parts)
    if not ends:
        return Forms(different, parts, codes)
    forms = [different[code] for code in codes.tolist()]
    for code, rows in rows_of(codes, [*ends]):
        for row in rows.tolist():
            forms[row] = different[code][: ends[code]] + texts[row][ends[code] :]
    different_forms, form_codes = coded(forms)
    return Forms(different_forms, [split_number(form) for form in different_forms], form_codes)


def _ends_before_digits(shapes: Sequence[str], parts: Sequence[Parts | None]) -> dict[int, int]:
    """Return where the last number of a shape ends, for each shape whose unit has digits; these are the unit's own."""
    ends = dict[int, int]()
    for code, (shape, shape_parts) in enumerate(zip(shapes, parts, strict=True)):
        match = _match(shape) if shape_parts is None or _DIGIT.search(shape_parts.unit) else None
        if match is not None:
            end, unit = _last_unit(match)
            if _DIGIT.search(unit) and not re.search(r"/\d+/", unit):
                ends[code] = end
    return ends


def _last_unit(match: re.Match[str], start: int = 0) -> tuple[int, str]:
    """Return where the last number of a text ends, and the unit behind it."""
    last = _match(match["last"] or "")
    if last is not None:
        return _last_unit(last, start + match.start("last"))
    return start + match.end("number"), match["unit"] or ""
