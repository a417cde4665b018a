"""Numbers with a unit, a sign of currency or a sign of comparison: "12,5 kg", "850 g", "5/9", "$1,234.50", "%12",
"<0.5".

A unit is what follows a number. Codes have none: a letter or a hyphen in front (L-01, E66), a zero in front, times,
dates, versions and phone numbers.  A range is its middle, and "1 year 7 months" is the sum of two numbers.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks.words import fold, trim
from .._resources import load_json
from ._numbers import Notation, is_number, number_reader, plain_text
from ._shapes import Coded, coded, rows_of
from ._unread import POWERS

MOST_UNITS = 4  # of a column
SHARE = 0.95  # of the filled cells that are numbers, in a column of numbers with units
LONGEST = 60  # characters of such a text
WITHOUT = "no unit"  # the mark of bare numbers beside several units

BETWEEN = "between"  # the sign of a range
_NUMBER = r"(?P<number>\d[\d.,']*(?:[ ]\d{3}(?!\d)[\d.,']*)*(?:[eE][+-]?\d+)?)"
_UNIT = r"(?P<unit>(?:[^\W\d_]|[%‰°/*′″\"$€£¥₹₽₩₺₴₪₫₱฿\u3380-\u33df]).*)"  # at the end ㎏ and the like
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"(?<=[^\W\d_])[23](?!\d)|[/^] ?-?\d+|[x×*·] ?10\^?\d*|[²³¹⁰⁴-⁹⁻]")  # in a unit: m2, /9, x10^9

GREEK_MU = re.compile("\u03bc(?=[A-Za-z]{1,3}$)")
MEGA = ("g", "m", "l", "mol", "bar", "cal", "pa", "iu")  # before which a leading M is a million
_NEGATIVE = re.compile(r"\([^()-]{1,60}\)|[^()-]{1,60}-")  # (5) and 5-
_BEFORE = re.compile(r"([^\W\d_](?:[^\W\d_]| (?=[^\W\d_]))*)[.:]? ")
_LATER = re.compile(r"(?P<unit>[^\W\d_]+)\.?,?(?: [^\W\d_]{1,3})? ?(?P<later>\d.*)")  # ano e 7 meses
_CALENDAR = re.compile(r"/\d+/|^/(19|20)\d\d$")


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


_TABLE = load_json(__package__, "units.json")
#: What each spelling of a sign means.
_SIGNS = {spelling: sign for sign, spellings in _TABLE["signs"].items() for spelling in spellings}
_WORDS = _TABLE["before"], _SIGNS, _TABLE["to"]
_CURRENCY, _SIGN, _TO = ("|".join(sorted(map(re.escape, some), key=len, reverse=True)) for some in _WORDS)
_PATTERN = re.compile(
    rf"(?P<sign>{_SIGN})? ?(?P<minus>[+-])?(?:(?P<before>{_CURRENCY}) ?(?P<later>[+-])?)?{_NUMBER}"
    rf"(?:(?: ?- ?| (?:{_TO}) )(?P<last>(?!0\d)\d.*)| ?(?:{_UNIT}|(?P<plus>\+))?)",
    re.IGNORECASE,
)
#: The dimensions that each unit may have, and its factor in each.
_MEANINGS: dict[str, dict[str, float]] = {}
for _dimension, _units in _TABLE["dimensions"].items():
    for _name, _factor in _units.items():
        _MEANINGS.setdefault(trim(_name), {})[_dimension] = _factor


def _match(text: str) -> re.Match[str] | None:
    """Match a text of a number with a unit or a sign, or of a range."""
    return None if len(text) > LONGEST or _DIGIT.search(text, 0, 10) is None else _PATTERN.fullmatch(plain_text(text))


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
    return None if _is_no_unit(first.unit) else first


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


def _is_no_unit(unit: str) -> bool:
    """Whether a text behind a number is no unit: digits that no unit has, such as 5/2020, a month, or a power."""
    if unit and (any(map(str.isdecimal, _DIGITS.sub("", unit))) or _CALENDAR.search(unit)):
        return True
    return unit in _TABLE["not_units"] or (unit[:1] in (*POWERS,) and not measures(unit))


def word_before(text: str) -> str:
    """Return the words in front of a number, folded; an empty text where there is no number behind words.

    Examples
    --------
    >>> word_before("approximately 50 %"), word_before("Ok. 5"), word_before("5"), word_before("L-01")
    ('approximately', 'ok', '', '')
    """
    match = _BEFORE.match(text)
    return fold(match[1]) if match and split_number(text[match.end() :]) is not None else ""


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


def unit_of(text: str) -> str:
    """Return the unit that a text means: as the table of units writes it, or without a point at its end.

    KG, ML, Kg and Min are folded, and l may be written L; Mg and Mbar are not, since a leading M is a million there.

    Examples
    --------
    >>> unit_of("KG"), unit_of("Min."), unit_of("Mg"), unit_of("mg/dL")
    ('kg', 'min', 'Mg', 'mg/dl')
    """
    unit = GREEK_MU.sub("\u00b5", trim(text))
    if unit in _MEANINGS or len(unit) <= 1:
        return unit
    if "/" in unit:
        return "/".join(map(unit_of, unit.split("/")))
    unit = unit.rstrip(".")
    litres = unit[:-1] + unit[-1].replace("L", "l")
    if litres in _MEANINGS:
        return litres
    is_capital = unit == unit.upper() or (unit[1:] == unit[1:].lower() and not (unit[0] == "M" and unit[1:] in MEGA))
    return GREEK_MU.sub("\u00b5", fold(unit)) if is_capital else unit


def measures(unit: str) -> dict[str, float]:
    """Return the dimensions that a unit may have, and its factor in each; empty if it is not known.

    Examples
    --------
    >>> measures("kg"), measures("mg/dl"), measures("/9"), measures("M")
    ({'mass': 1000}, {'mass/volume': 0.01}, {'/': 0.1111111111111111}, {})
    """
    first, slash, second = unit.partition("/")
    if not slash:
        return _MEANINGS.get(unit, {})
    if not first and second.isdecimal():
        return {"/": 1 / int(second)} if int(second) else {}
    return {f"{a}/{b}": x / y for a, x in measures(first).items() for b, y in measures(second).items()}


def _shared_dimension(units: Iterable[str]) -> str | None:
    """Return the dimension in which all of some units can be converted; None if they have none."""
    dimensions = [set(measures(unit)) for unit in units]
    return min(set.intersection(*dimensions), default=None) if dimensions else None


class Units(NamedTuple):
    """How the numbers of a column are read.

    factors: what the number of each unit ("" for none) is multiplied by; marks: signs and units that have a feature of
    their own; note: the facts in words; doubt: what of them was guessed.
    """

    factors: dict[str, float]
    marks: tuple[str, ...]
    note: str
    doubt: str = ""


NO_UNITS = Units({}, (), "")


class _UnitCounts:
    """How often each unit and each sign occurs among the numbers of a column.

    units: the units, the most frequent first; n_bare: numbers without a unit; signs: the signs in order, and how often
    each occurs; has_sum: whether a number is the sum of two, such as "1 year 7 months"; sizes: the factor of each unit
    in the dimension that all have, or None if they have none; n_units: how many units are different after a conversion.
    """

    def __init__(self, parts: Iterable[tuple[Parts, int]]) -> None:
        counts = Counter[str]()
        signs = Counter[str]()
        self.has_sum = False
        for part, count in parts:
            counts[part.unit] += count
            signs[part.sign] += count
            if part.second_number is not None and part.sign != BETWEEN:
                counts[part.second_number.unit] += count
                self.has_sum = True
        self.n_bare = counts.pop("", 0)
        self.counts = counts
        self.units = sorted(counts, key=lambda unit: (-counts[unit], unit))
        self.signs = {sign: signs[sign] for sign in sorted(signs.keys() - {""})}
        dimension = _shared_dimension(self.units)
        self.sizes = None if dimension is None else {unit: measures(unit)[dimension] for unit in self.units}
        self.n_units = len(self.units if self.sizes is None else {*self.sizes.values()})

    @property
    def factors(self) -> dict[str, float]:
        """What the number of each unit is multiplied by, so that all have the most frequent unit if they can."""
        sizes = self.sizes or dict.fromkeys(self.units, 1.0)
        return {unit: sizes[unit] / sizes[self.units[0]] for unit in sorted(self.units)}

    @property
    def is_footnote(self) -> bool:
        """Whether the only unit is the mark of a footnote."""
        return self.n_units == 1 and not self.units[0].strip("*")

    def shown(self) -> str:
        """Return the units, and how often each occurs."""
        return ", ".join(f"{unit!r} ({self.counts[unit]})" for unit in self.units)

    def sign_notes(self) -> list[str]:
        """Return a note on each sign."""
        return [f"the sign {sign!r} of {count} has a feature of its own" for sign, count in self.signs.items()]


def find_units(parts: Iterable[tuple[Parts, int]]) -> Units | None:
    """Return how the numbers of a column are read; None if they have more than four units.

    Units of one dimension are converted to the most frequent of them. Others are kept beside the number, each as a
    feature of its own. Bare numbers beside one unit count as that unit.

    Parameters
    ----------
    parts : iterable of (Parts, int)
        Numbers, and how often each occurs.
    """
    counts = _UnitCounts(parts)
    if counts.n_units > MOST_UNITS or (counts.has_sum and counts.sizes is None):
        return None
    if not counts.units:
        return Units({}, tuple(counts.signs), "; ".join(counts.sign_notes()))
    if counts.is_footnote:
        notes = [f"the mark {counts.shown()} behind numbers is left out", *counts.sign_notes()]
        return Units({**counts.factors, "": 1.0}, tuple(counts.signs), "; ".join(notes))
    return _with_units(counts)


def _with_units(counts: _UnitCounts) -> Units:
    """Return how numbers are read of which some have a unit."""
    factors = counts.factors
    marks = [*counts.signs]
    unit = counts.units[0]
    are_several = counts.n_units > 1
    treatment = ""
    if are_several and counts.sizes is None:
        marks += factors
        treatment = ", kept beside the number"
    elif are_several:
        treatment = f", converted to {unit!r}"
    doubts = list[str]()
    if counts.n_bare:
        factors[""] = 1.0
        marks += [WITHOUT] * are_several
        separation = ", with a feature of their own" if are_several else ""
        doubts.append(f"{counts.n_bare} without a unit are read as {unit!r}{separation}")
    if are_several and _are_fractions(counts.units):
        doubts.append(f"texts such as '7{unit}' are read as fractions; if they are days of months, write the year too")
    notes = [f"unit {counts.shown()}{treatment}", *counts.sign_notes(), *doubts]
    return Units(factors, tuple(marks), "; ".join(notes), doubts[-1] if doubts else "")


def _are_fractions(units: Iterable[str]) -> bool:
    """Whether all units are divisors from 1 to 12, which may be months."""
    return all(re.fullmatch(r"/([1-9]|1[0-2])", unit) for unit in units)


def with_new_units(factors: Mapping[str, float], units: Iterable[str]) -> dict[str, float]:
    """Return the factors, and those of other units that can be converted to the same one.

    Examples
    --------
    >>> with_new_units({"cm": 1.0, "": 1.0}, ["mm", "kg"]), with_new_units({"kg": 1.0, "s": 1.0}, ["g"])
    ({'mm': 0.1, 'cm': 1.0, '': 1.0}, {'kg': 1.0, 's': 1.0})
    """
    known = [unit for unit in factors if unit]
    dimension = _shared_dimension(known)
    if dimension is None:
        return dict(factors)
    size = measures(known[0])[dimension]
    factor = factors[known[0]]
    new = {unit: measures(unit)[dimension] / size * factor for unit in units if dimension in measures(unit)}
    return new | dict(factors)


def read_quantities(
    texts: Sequence[str], forms: Forms, notation: Notation, factors: Mapping[str, float], marks: Sequence[str]
) -> NDArray[np.float64]:
    """Return the number of each text and a 1 or 0 for each mark; NaN for another text.

    A unit that is not among the factors makes it none, and so does a missing unit where several are known.

    Examples
    --------
    >>> from nmlsdr.tables._shapes import shapes_of
    >>> texts = ["12,5 kg", "<850g", "3 t", "3"]
    >>> forms = forms_of(texts, shapes_of(texts))
    >>> read_quantities(texts, forms, Notation(",", ""), {"kg": 1.0, "g": 0.001}, ("<",)).tolist()
    [[12.5, 0.0], [0.85, 1.0], [nan, nan], [nan, nan]]
    """
    quantities = np.full((len(texts), 1 + len(marks)), np.nan)
    known = [code for code, parts in enumerate(forms.parts) if _is_readable(parts, notation, factors)]
    for code, rows in rows_of(forms.codes, known):
        parts: Any = forms.parts[code]
        form_texts = [texts[row] for row in rows.tolist()]
        numbers = [_values(part, form_texts, notation) * factors.get(part.unit, 1.0) for part in parts.all]
        quantities[rows, 0] = _one_number(numbers, parts.sign)
        quantities[rows, 1:] = [mark in (parts.sign, parts.unit or WITHOUT) for mark in marks]
    quantities[np.isnan(quantities[:, 0])] = np.nan
    return quantities


def _is_readable(parts: Parts | None, notation: Notation, factors: Mapping[str, float]) -> bool:
    """Whether each number of a form is one in a notation, and has a unit of known factor; none if no unit has."""
    read = number_reader(notation)
    known_units = factors or {"": 1.0}
    return parts is not None and all(part.unit in known_units and read(part.number) is not None for part in parts.all)


def _values(part: Parts, texts: list[str], notation: Notation) -> NDArray[np.float64]:
    """Return the number of each of the texts of one form, all at once."""
    numbers = plain_text("\n".join(part.of(texts)))
    if notation.thousands:
        numbers = numbers.replace(notation.thousands, "")
    floats = map(float, numbers.replace(notation.decimal, ".").split("\n"))
    return np.fromiter(floats, np.float64, len(texts))


def _one_number(numbers: list[NDArray[np.float64]], sign: str) -> NDArray[np.float64]:
    """Return a single number, the sum of two numbers, or the middle of a range, which is NaN unless it ascends."""
    if len(numbers) == 1:
        return numbers[0]
    first, second = numbers
    if sign == BETWEEN:
        return np.where(first < second, (first + second) / 2, np.nan)
    return first + second
