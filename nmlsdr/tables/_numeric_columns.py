"""Which columns hold numbers or dates, and how these are written."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._column_units import MOST_UNITS, NO_UNITS, SHARE, Units, find_units, read_quantities
from ._columns import Numbers
from ._dates import find_months, month_words, order_of
from ._facts import Facts, counted, tally
from ._kinds import Column
from ._number_parsing import NOTATIONS, Notation, find_notation, number_reader
from ._quantities import Parts, word_before
from ._units import measures
from ._unread import MOST_MULTIPLIED, find_unread

FREQUENT = 3  # a word that stands so often among numbers is no slip
SLIPS = 0.05  # a column with a larger fraction of other texts among its numbers has no slips but words
FEW_LEVELS = 10  # so few, and so frequent, that a word for a missing value elsewhere is a level
LEVEL_SHARE = 0.1
FEW_WORDS = 5  # so many different words may stand in half of the cells of a column of numbers
MOSTLY = 0.8  # the fraction of numbers in a column with more of them
MOST_SHAPES = 1000  # of the texts of a column of dates whose months are words


class Reading(NamedTuple):
    """A column of numbers or dates as the plan has it, without its reason, and its other texts with their counts."""

    column: Column
    other_texts: dict[str, int]
    doubt: str = ""  # why its numbers may have been written in another notation
    units: Units = NO_UNITS


def read_column(facts: Facts, choices: Any, usual: str | None) -> tuple[Reading | None, str]:
    """Return how a column is read, if most of its cells are numbers or dates, and otherwise what it looks like.

    Parameters
    ----------
    facts : Facts
    choices : Choices
        Whose decimal mark and mark between thousands overrule those that the cells show.
    usual : {".", ","} or None
        The decimal mark of the table.
    """
    if isinstance(facts.cells, Numbers):
        known = find_notation({}, usual, choices.decimal, choices.thousands)[0]
        notation = NOTATIONS[0] if facts.cells.n_broken else known
        return (Reading(Column(facts.name, "number", **notation._asdict()), {}) if facts.n_known else None), ""
    decimal = choices.decimal or ("." if facts.has_arabic_marks else None)
    notation, doubt = find_notation(facts.numbers, usual, decimal, choices.thousands, facts.numbers_as_written)
    quantities = _quantities(facts, notation)
    unread = find_unread(_no_numbers(facts))
    if unread is None or not unread.multiplies or unread.n_cells <= MOST_MULTIPLIED * facts.n_known:
        reading = _as_numbers(facts, quantities, notation, doubt)
        if reading is not None:
            return reading, ""
    reading, likeness = _as_dates(facts, _bare(facts, quantities))
    return reading, "; ".join(filter(None, [likeness, str(unread or "")])) if reading is None else ""


# ---------------------------------------------------------------- numbers, by the forms of their texts


def _no_numbers(facts: Facts) -> Iterator[tuple[str, int]]:
    """Yield each text that is no number in any notation or unit, and in how many cells it is."""
    forms = facts.column.forms
    codes = forms.codes[facts.is_known].tolist()
    for code, pair in zip(codes, facts.known_counts.items(), strict=True):
        if forms.parts[code] is None:
            yield pair


def _quantities(facts: Facts, notation: Notation) -> dict[int, Parts]:
    """Return the forms of a column that are numbers in a notation.

    Ranges, numbers in brackets and the like are numbers if most numbers are others and each range ascends.
    """
    forms = facts.column.forms
    n_cells = facts.form_counts(facts.is_known)
    read = number_reader(notation)
    quantities = {
        code: parts
        for code, parts in enumerate(forms.parts)
        if parts is not None and n_cells[code] and read(parts.number) is not None
    }
    rare = [code for code, parts in quantities.items() if parts.is_rare]
    if rare:
        factors = dict.fromkeys([parts.unit for parts in quantities.values()], 1.0)
        values = read_quantities(facts.column.different, forms, notation, factors, ())[:, 0]
        are_most = 2 * n_cells[rare].sum() > n_cells[[*quantities]].sum()
        if are_most or np.isnan(values[_are(facts, rare)]).any():
            quantities = {code: parts for code, parts in quantities.items() if not parts.is_rare}
    return quantities


def _bare(facts: Facts, quantities: Mapping[int, Parts]) -> NDArray[np.bool_]:
    """Which texts are numbers without a unit."""
    return _are(facts, [code for code, parts in quantities.items() if not parts.unit])


def _as_numbers(facts: Facts, quantities: Mapping[int, Parts], notation: Notation, doubt: str) -> Reading | None:
    """Return how a column is read if it holds mostly numbers."""
    n_cells = facts.form_counts(facts.is_known)
    behind = _behind_words(facts, quantities)
    is_behind = _are(facts, [*behind])
    n_known = facts.n_known - n_cells[[*behind]].sum()
    is_bare = _is_mostly(facts, _bare(facts, quantities), is_behind)
    usual = _usual_units(quantities, n_cells, facts.n_known, is_bare)
    least = 0 if is_bare else max(1, SHARE * n_known)  # cells of numbers
    codes, scale = _scale(quantities, n_cells, usual, least)
    if scale is None:
        return None
    bracketed = [code for code in codes if _is_bracketed(facts, quantities, code)]
    scale = _with_note_on_brackets(scale, bracketed, n_cells)
    words = tally((word, int(n_cells[code])) for code, word in behind.items())
    missing = f"{words.total()} numbers behind words are missing: {counted(words)}" if words else ""
    how: Any = {**notation._asdict(), "factors": scale.factors, "marks": scale.marks}
    column = Column(facts.name, "number", levels={word: word for word in sorted(words)}, **how)
    other_texts = facts.text_counts(facts.is_known & ~is_behind & ~_are(facts, codes))
    return Reading(column, other_texts, "; ".join(filter(None, [doubt, missing])), scale)


def _scale(
    quantities: Mapping[int, Parts], n_cells: NDArray[np.int64], usual: list[str], least: float
) -> tuple[list[int], Units | None]:
    """Return the forms of a column that are numbers with its units, and how these are read; None if it has too many.

    Its units are all usual ones, or else the four most frequent, or else none. At least so many cells must be numbers.
    """
    for units in (usual, usual[:MOST_UNITS], []):
        codes = [code for code, parts in quantities.items() if parts.unit in ("", *units)]
        scale = find_units((quantities[code], int(n_cells[code])) for code in codes)
        if scale is not None and n_cells[codes].sum() >= least:
            return codes, scale
    return [], None


def _behind_words(facts: Facts, quantities: Mapping[int, Parts]) -> dict[int, str]:
    """Return the words of the forms that are numbers behind words, in a column of which most cells are numbers."""
    forms = facts.column.forms
    n_cells = facts.form_counts(facts.is_known)
    if 2 * n_cells[[*quantities]].sum() < facts.n_known:
        return {}
    texts = zip(forms.different, forms.parts, strict=True)
    words = {code: word_before(text) for code, (text, parts) in enumerate(texts) if parts is None}
    return {code: word for code, word in words.items() if word}


def _usual_units(quantities: Mapping[int, Parts], n_cells: NDArray[np.int64], n_known: int, is_bare: bool) -> list[str]:
    """Return the units of a column, the most frequent first.

    A rare unit is a slip, such as the letter o in 1o2, unless it is known; among bare numbers not one letter.
    """
    counts = tally((parts.unit, int(n_cells[code])) for code, parts in quantities.items())
    slips = {unit for unit, count in counts.items() if count < min(FREQUENT, SLIPS * n_known)}
    slips -= {unit for unit in slips if measures(unit) and not (is_bare and len(unit) == 1)}
    return sorted(counts.keys() - slips - {""}, key=lambda unit: (-counts[unit], unit))


def _is_bracketed(facts: Facts, quantities: Mapping[int, Parts], code: int) -> bool:
    """Whether the texts of a form are negative numbers, although no minus sign stands before them."""
    return quantities[code].number.startswith("-") and facts.column.forms.different[code][-1] in ")-"


def _with_note_on_brackets(units: Units, codes: Sequence[int], n_cells: NDArray[np.int64]) -> Units:
    """Return the units with a note on the forms that are negative without a minus sign in front, if there are some."""
    note = f"{n_cells[codes].sum()} in brackets or with a minus sign behind them are negative"
    return units._replace(note="; ".join(filter(None, [units.note, note]))) if codes else units


# ---------------------------------------------------------------- dates


def _as_dates(facts: Facts, bare: NDArray[np.bool_]) -> tuple[Reading | None, str]:
    """Return how a column is read if it holds mostly dates; else what it looks like."""
    column = facts.column
    shapes = facts.column.shapes
    words = month_words(shapes.different) if len(shapes.different) <= MOST_SHAPES else []
    months = find_months({*words} - {""}) if any(words) else {}
    dates = column.dates_with(months)
    order, doubt = order_of(dates.different)
    is_date = facts.is_known & facts.is_word & ~np.isnan(dates.values(*order)[:, 0])
    enough = not months or facts.column.counts[is_date].sum() >= SHARE * facts.n_known
    if enough and _is_mostly(facts, is_date):
        date = Column(facts.name, "date", month_first=order[0], year_first=order[1], levels=dict(months))
        return Reading(date, facts.text_counts(facts.is_known & ~is_date), doubt), ""
    # In a shape every digit of a year is a 1.
    like_one = [word != "" and "1111" in shape for word, shape in zip(words, shapes.different, strict=False)]
    is_date |= facts.is_known & np.isin(shapes.codes, np.flatnonzero(like_one))
    return None, _likeness(facts, "date", is_date) or _likeness(facts, "number", bare)


def _likeness(facts: Facts, kind: str, mask: NDArray[np.bool_]) -> str:
    """Return what a column looks like if half of its cells are numbers or dates, and what keeps it from being read."""
    share = facts.column.counts[mask].sum() / max(1, facts.n_known)
    if share < 0.5:
        return ""
    other_texts = facts.text_counts(facts.is_known & ~mask)
    unknown_months = "its months are in no known language (see nmlsdr[cli])"
    obstacle = f"not {counted(other_texts)}" if other_texts else unknown_months
    return f"it looks like a {kind} in {share:.0%} of its cells, but {obstacle}"


def _are(facts: Facts, forms: Sequence[int]) -> NDArray[np.bool_]:
    """Which known texts of a column have one of these forms."""
    return facts.is_known & np.isin(facts.column.forms.codes, forms)


def _is_mostly(facts: Facts, read: NDArray[np.bool_], behind: Any = False) -> bool:
    """Whether most texts of a column can be parsed, and it is not categorical, such as T, 1, 2."""
    is_other = facts.is_known & ~read
    frequent = np.flatnonzero(is_other & (facts.column.counts >= LEVEL_SHARE * facts.n_known))
    are_words = any(not any(map(str.isdecimal, facts.column.different[code])) for code in frequent)
    if are_words and facts.is_known.sum() <= FEW_LEVELS:
        return False
    is_other &= ~np.asarray(behind)
    share = MOSTLY if is_other.sum() > FEW_WORDS else 0.5
    n_read = facts.column.counts[read].sum()
    n_others = facts.column.counts[is_other].sum()
    return bool(read.any() and n_read >= share * (n_read + n_others))
