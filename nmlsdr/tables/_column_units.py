"""The units of a column of numbers: which there are, what they are converted to, and the numbers of its texts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._number_parsing import Notation, has_arabic_mark, number_reader, plain_text
from ._quantities import BETWEEN, Forms, Parts
from ._shapes import rows_of
from ._units import measures, shared_dimension

MOST_UNITS = 4  # of a column
SHARE = 0.95  # of the filled cells that are numbers, in a column of numbers with units
WITHOUT = "no unit"  # the mark of bare numbers beside several units


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
        dimension = shared_dimension(self.units)
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
    dimension = shared_dimension(known)
    if dimension is None:
        return dict(factors)
    size = measures(known[0])[dimension]
    factor = factors[known[0]]
    new = {unit: measures(unit)[dimension] / size * factor for unit in units if dimension in measures(unit)}
    return new | dict(factors)


# ---------------------------------------------------------------- from texts to numbers


def read_quantities(
    texts: Sequence[str], forms: Forms, notation: Notation, factors: Mapping[str, float], marks: Sequence[str]
) -> NDArray[np.float64]:
    """Return the number of each text and a 1 or 0 for each mark; NaN for another text.

    A unit that is not among the factors makes it none, and so does a missing unit where several are known.

    Examples
    --------
    >>> from nmlsdr.tables._quantities import forms_of
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
    if notation.decimal == "," and has_arabic_mark("".join(texts)):  # its point would be taken for a mark of thousands
        quantities[list(map(has_arabic_mark, texts))] = np.nan
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
