"""What a date is: how its text is written and read, with its month as a number or as a word."""

import datetime
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks.words import LANGUAGE_CODES, fold
from ._number_parsing import plain_text
from ._shapes import Coded, coded

DATE = re.compile(r"(\d{1,4})([-./]) ?(\d{1,2})\2 ?(\d{1,4})[.日일]?(?:[T ]\d{1,2}[:h]\d{2}.*)?", re.ASCII)
SERIAL = re.compile(r"\d{5}(\.\d+)?", re.ASCII)
SERIALS = range(18264, 73051)  # from 1950 to 2099
DAYS = range(1, 32)
TWO_DIGIT_YEARS = 1950  # the first year that is written with two digits
OPEN_YEAR = (
    "the year is read last, but nothing in the column decides; if the year stands first, write it with four digits"
)
OPEN_DAY = (
    "the day is read first, but nothing in the column decides between day and month; "
    "if the month stands first, write the dates as 2024-12-31"
)
_DATE_WORDS = str.maketrans("年月년월", "----")
_CLOCK = re.compile(r"[T, ]+\d{1,2}[:h]\d{2}.*")
_PART = re.compile(r"[^\W\d_]+|\d+|[^\s.,/°-]")
_BESIDE = ("de", "del", "of", "st", "nd", "rd", "th", "er", "º")  # beside the day, the month and the year


class DateParts(NamedTuple):
    """The numbers of a date as they are written, and the mark between them."""

    first: str
    mark: str
    middle: str
    last: str


class DateOrder(NamedTuple):
    """What is written first in the dates of a column: the day, unless it is the month, or a year of two digits."""

    month_first: bool = False
    year_first: bool = False


def match_date(text: str) -> re.Match[str] | None:
    """Match a date; the groups are its `DateParts`."""
    return DATE.fullmatch(text if text.isascii() else plain_text(text).translate(_DATE_WORDS))


def _parts(text: str) -> list[str]:
    """Return the day, the month and the year of a date as folded texts, in their order; other texts give others."""
    return [part for part in _PART.findall(fold(_CLOCK.sub("", plain_text(text)))) if part not in _BESIDE]


def numeric_date(text: str, months: Mapping[str, str]) -> str:
    """Return a date whose month is a word with the number of the month; another text as it is.

    Examples
    --------
    >>> numeric_date("3 de maio de 2024", {"maio": "5"}), numeric_date("May 3, 2024", {"may": "5"})
    ('3.5.2024', '3.5.2024')
    """
    parts = _parts(text)
    places = [k for k, part in enumerate(parts) if part in months]
    if len(parts) != 3 or len(places) != 1:
        return text
    parts.insert(1, months[parts.pop(places[0])])
    return ".".join(parts)


def month_words(texts: Iterable[str]) -> list[str]:
    """Return the word of each text that may be its month: the only one, beside two numbers; else the empty text."""
    split = ((parts, [part for part in parts if part.isalpha()]) for parts in map(_parts, texts))
    return [words[0] if len(parts) == 3 and len(words) == 1 else "" for parts, words in split]


def find_months(words: Iterable[str]) -> Mapping[str, str]:
    """Return the number of each month by its words in the language that has all of some words; empty: none has.

    None is meant either where languages differ, as for "listopad", which is October or November.
    """
    languages = [months for months in _languages() if months.keys() >= {*words}]
    return (
        languages[0] if languages and all(months[w] == languages[0][w] for months in languages for w in words) else {}
    )


@functools.cache
def _languages() -> list[dict[str, str]]:
    """The words for months of each language, by the Unicode CLDR; none without Babel."""
    try:
        from babel import Locale
    except ImportError:
        return []
    languages = []
    for language in LANGUAGE_CODES:
        months = Locale(language).months
        names = [name for form in months.values() for width in ("wide", "abbreviated") for name in form[width].items()]
        languages.append({_parts(name)[-1]: str(number) for number, name in names if not re.search(r"\d", name)})
    return languages


@functools.lru_cache(1 << 16)  # of a column each date is read for the plan and for the features
def read_date(text: str, month_first: bool = False, year_first: bool = False) -> tuple[float, float] | None:
    """Return the year with its fraction, and the month, of a date; None for another text.

    Examples
    --------
    >>> read_date("1999-07-02"), read_date("2. 7. 1999"), read_date("07/02/99", month_first=True)
    ((1999.4972677595629, 7.0), (1999.4972677595629, 7.0), (1999.4972677595629, 7.0))
    """
    match = match_date(text)
    if match is None:
        return None
    day, month, year = _day_month_year(DateParts(*match.groups()), DateOrder(month_first, year_first))
    if len(day) > 2 or len(year) not in (2, 4):
        return None
    century = 100 * ((TWO_DIGIT_YEARS - int(year) + 99) // 100) if len(year) == 2 else 0
    try:
        date = datetime.date(int(year) + century, int(month), int(day))
    except ValueError:
        return None
    return date.year + (date.timetuple().tm_yday - 1) / 366, float(date.month)


def _day_month_year(parts: DateParts, order: DateOrder) -> tuple[str, str, str]:
    """Return the day, the month and the year of a date. A year of four digits, and a day before a point, are clear."""
    if len(parts.first) == 4 or (order.year_first and len(parts.last) == 2):
        return parts.last, parts.middle, parts.first
    if order.month_first and parts.mark != ".":
        return parts.middle, parts.first, parts.last
    return parts.first, parts.middle, parts.last


def serial_date(text: str) -> tuple[float, float] | None:
    """Return the year with its fraction, and the month, of a serial number of Excel; None for another text.

    Excel counts days from the end of 1899. Where a cell loses its format, the number is what stands in it.

    Examples
    --------
    >>> serial_date("45292"), serial_date("45292.75"), serial_date("99")
    ((2024.0, 1.0), (2024.0, 1.0), None)
    """
    if not SERIAL.fullmatch(text) or int(text[:5]) not in SERIALS:
        return None
    return read_date((datetime.date(1899, 12, 30) + datetime.timedelta(days=int(text[:5]))).isoformat())


class Dates(Coded):
    """The different dates of some texts, without their time of day, and for each text the number of its date, or -1."""

    def values(self, month_first: bool, year_first: bool = False) -> NDArray[np.float64]:
        """Return for each text what `read_date` gives, or NaN."""
        values = [read_date(date, month_first, year_first) or (np.nan, np.nan) for date in self.different]
        return np.array([*values, (np.nan, np.nan)])[self.codes]


def dates_of(texts: Sequence[str], shapes: Coded) -> Dates:
    """Return the dates of texts of these shapes."""
    matches = [match_date(shape) for shape in shapes.different]
    ends = np.array([0 if match is None else match.end(4) for match in matches], np.int64)[shapes.codes]
    rows = np.flatnonzero(ends)
    different, date_codes = coded(
        [texts[row][:end] for row, end in zip(rows.tolist(), ends[rows].tolist(), strict=True)]
    )
    codes = np.full(len(texts), -1, np.int32)
    codes[rows] = date_codes
    return Dates(different, codes)


def order_of(dates: Sequence[str]) -> tuple[DateOrder, str]:
    """Return the order of the dates of a column, and what remains open about it.

    The month stands first if some date makes sense only so, and none if its day stands first. A year takes few values,
    and days take many: if both ends have two digits, the end with at most half as many values as the other is the year.
    """
    matches = filter(None, map(match_date, dates))
    parts = [part for part in (DateParts(*match.groups()) for match in matches) if not _is_clear(part)]
    order = DateOrder(month_first=_month_is_first(parts))
    if _year_may_be_first(parts):
        n_first = len({part.first for part in parts})
        n_last = len({part.last for part in parts})
        if 2 * n_first <= n_last:
            return DateOrder(year_first=True), ""
        if 2 * n_last > n_first:
            return order, OPEN_YEAR
    return order, "" if _day_is_known(parts) else OPEN_DAY


def _is_clear(parts: DateParts) -> bool:
    """Whether the order of a date does not depend on its column: a day before a point, or a year of four digits."""
    return parts.mark == "." or len(parts.first) > 2


def _month_is_first(dates: Sequence[DateParts]) -> bool:
    """Whether some date has a day in the middle, and none has one at the beginning."""
    return any(int(parts.middle) > 12 for parts in dates) and not any(int(parts.first) > 12 for parts in dates)


def _day_is_known(dates: Sequence[DateParts]) -> bool:
    """Whether some date tells the day from the month, or it does not matter which is which."""
    numbers = [(int(parts.first), int(parts.middle)) for parts in dates]
    return any(max(pair) > 12 for pair in numbers) or all(first == middle for first, middle in numbers)


def _year_may_be_first(dates: Sequence[DateParts]) -> bool:
    """Whether the first number of all dates may be a year of two digits, and the last one a day."""
    are_short = all(len(parts.first) == len(parts.last) == 2 for parts in dates)
    return bool(dates) and are_short and all(int(p.last) in DAYS and int(p.middle) <= 12 for p in dates)
