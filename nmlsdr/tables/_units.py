"""What a unit is: its spelling, the dimensions that it may have, and its factor in each."""

import re
from collections.abc import Iterable

from .._checks.words import fold, trim
from .._resources import load_json
from ._unread import POWERS

GREEK_MU = re.compile("\u03bc(?=[A-Za-z]{1,3}$)")
MEGA = ("g", "m", "l", "mol", "bar", "cal", "pa", "iu")  # before which a leading M is a million
_DIGITS = re.compile(r"(?<=[^\W\d_])[23](?!\d)|[/^] ?-?\d+|[x×*·] ?10\^?\d*|[²³¹⁰⁴-⁹⁻]")  # in a unit: m2, /9, x10^9
_CALENDAR = re.compile(r"/\d+/|^/(19|20)\d\d$")

#: Units by dimension, and the spellings of signs, of currencies before a number, and of the word "to".
TABLE = load_json(__package__, "units.json")
#: The dimensions that each unit may have, and its factor in each.
_MEANINGS: dict[str, dict[str, float]] = {}
for _dimension, _units in TABLE["dimensions"].items():
    for _name, _factor in _units.items():
        _MEANINGS.setdefault(trim(_name), {})[_dimension] = _factor


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


def shared_dimension(units: Iterable[str]) -> str | None:
    """Return the dimension in which all of some units can be converted; None if they have none."""
    dimensions = [set(measures(unit)) for unit in units]
    return min(set.intersection(*dimensions), default=None) if dimensions else None


def is_no_unit(unit: str) -> bool:
    """Whether a text behind a number is no unit: digits that no unit has, such as 5/2020, a month, or a power."""
    if unit and (any(map(str.isdecimal, _DIGITS.sub("", unit))) or _CALENDAR.search(unit)):
        return True
    return unit in TABLE["not_units"] or (unit[:1] in (*POWERS,) and not measures(unit))
