"""A table beside that of the fit: the profile of a column that a plan keeps, and what differs from it, in words.

A line tells a mistake of an export, such as percent that became fractions, and not that next year is warmer. There
are two kinds of limits:

* What the fit did not have at all, or a third as often, is told where chance does not explain it: empty cells, a sign,
  a unit, 0 among other numbers, values far beyond the ends of the fit. If both tables are rows of one, and a share of
  `a` rows among n at the fit, then k of a + k such rows stand by chance among m new ones as a binomial with
  probability m / (n + m) says. So few ordinary tables have such a line, whatever the shapes of their columns.
* What the fit had is told where it moved for `SHIFT` of the rows: most tables are no draws of one another, so the
  limit is wide, and wider for a column whose first rows differ from its last ones at the fit already.

`comparison.py` among the campaigns of the tests counts both kinds of error.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from .._errors import shorten
from ._bloom_filter import digest_of, may_hold
from ._columns import Cells, Numbers, Texts
from ._facts import tally
from ._lists import parts_of
from ._text import words_of

LEVELS = np.array([0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])  # of the quantiles; the first and the last are the ends
SHIFT = 0.4  # of the rows, that lie on another side of a quantile, or have another form
NOISE = 1.5  # divided by the root of the number of rows, in addition
RARE = 0.01  # accepted probability that chance alone gives a line to an ordinary table, for all columns together
TIMES = 3  # so many times as often as at the fit is something that is told, if chance does not explain it
FEW = 3  # cells with one value far beyond the ends: a tail has many values, a code for "missing" has one
ONWARD = 10  # a column that rises goes on so many times as far as it came at the fit, and dates do
COMMON = 0.01  # the share of the texts that have a word, from which on a profile keeps it
WORDED = {"category": "a level", "list": "an item", "words": "a frequent word"}  # what the cells of such columns have
LEAST_SUMMED = 10  # values that are not 0 above a row of sums


How = tuple[frozenset[str], bool]  # the words that mean a missing value, and whether case matters


@dataclass(frozen=True)
class Profile:
    """What the cells of a column, or the numbers under a key of JSON objects, are like.

    Attributes
    ----------
    n_rows : int
    missing : float
        The share of rows without a known value.
    quantiles : tuple of float
        Of the known numbers, or of the years of dates, at LEVELS.
    drift : float
        Which share of the second half of the rows lies on another side of the quantiles of the first half, beyond what
        chance gives; negative where it lies below them.
    shares : dict of str to float
        How often each form (of a date, unit, sign, decimals, 0), level, item and word occurs among the cells with a
        value.
    rare : str
        Digest of the levels that share the feature "(other)".
    n_once : int
        How many of these occur in one row.
    """

    n_rows: int
    missing: float
    quantiles: tuple[float, ...] = ()
    drift: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)
    rare: str = ""
    n_once: int = 0

    @property
    def n_known(self) -> float:
        """The number of rows with a known value."""
        return self.n_rows * (1 - self.missing)


def profile_of(column: Any, cells: Cells, values: NDArray[np.float64], how: How) -> Profile:
    """Return the profile of a column by its `Column` of the plan, its cells, and its numbers, NaN where missing."""
    is_known = ~np.isnan(values)
    known = values[is_known]
    if column.kind in WORDED:
        counts, n_known = _part_counts(column, cells, how)
    else:
        counts = _form_counts(column, cells, is_known, known)
        n_known = len(known)
    missing = (len(cells) - n_known) / max(1, len(cells))
    least = max(1, COMMON * n_known * (column.kind == "words" or column.has_other))
    shares = {form: count / n_known for form, count in sorted(counts.items()) if count >= least}
    profile = Profile(len(cells), missing, shares=shares)
    if column.kind == "category" and column.has_other:
        rare = {level: count for level, count in counts.items() if level not in column.levels}
        return replace(profile, rare=digest_of(rare), n_once=sum(count == 1 for count in rare.values()))
    if n_known and column.kind not in ("yes/no", *WORDED):
        return replace(profile, quantiles=_quantiles(known), drift=_drift(known))
    return profile


def _part_counts(column: Any, cells: Cells, how: How) -> tuple[Counter[str], int]:
    """Return in how many cells each level, item or word occurs, and how many cells have a value."""
    counts = Counter[str]()
    n_known = 0
    for parts, count in _parts(column, cells, how):
        if parts is not None:
            counts.update(dict.fromkeys(parts, count))
            n_known += count
    return counts, n_known


def _parts(column: Any, cells: Cells, how: How) -> Iterator[tuple[dict[str, str] | None, int]]:
    """Yield the levels, items or words of each different cell, None where it is missing, and in how many rows it is."""
    texts = cells.texts.trimmed
    missing, keep_case = how
    for text, word, count in zip(texts.different, texts.folded, texts.counts.tolist(), strict=True):
        if column.kind == "words":
            parts = {part: part for part in words_of(text, column.are_names)}
        else:
            parts = parts_of(column.kind, text, column.separator, keep_case)
        yield None if word in missing and not parts.keys() & column.levels.keys() else parts, count


def _form_counts(column: Any, cells: Cells, is_known: NDArray[np.bool_], values: NDArray[np.float64]) -> Counter[str]:
    """Return how many of the cells with a value have each form, or mean yes."""
    if column.kind == "yes/no":
        return Counter({"yes": int(values.sum())})
    if column.kind == "date":
        return _date_forms(cells.texts.trimmed, is_known, column.levels)
    counts = Counter({"decimals": int((values % 1 != 0).sum()), "0": int((values == 0).sum())})
    if column.kind == "number" and (column.factors or not isinstance(cells, Numbers)):
        counts.update(_number_forms(cells.texts.trimmed, is_known, bool(column.factors)))
    return counts


def _date_forms(texts: Texts, is_known: NDArray[np.bool_], months: Mapping[str, str]) -> Counter[str]:
    """Return how many cells have a date of each form, such as 00/00/YYYY."""
    dates = texts.dates_with(months)
    codes = dates.codes[texts.codes[is_known]]
    n_cells = np.bincount(codes[codes >= 0], minlength=len(dates.different)).tolist()
    forms = (re.sub(r"\d+", lambda n: "YYYY" if len(n[0]) == 4 else "00", date) for date in dates.different)
    counts = tally((f"dates as {form.replace('-', '/')}", n) for form, n in zip(forms, n_cells, strict=True))
    counts["dates as serial numbers of Excel"] = int((codes < 0).sum())
    return counts


def _number_forms(texts: Texts, is_known: NDArray[np.bool_], have_units: bool) -> Counter[str]:
    """Return how many cells have a number with each sign, and if numbers have units, with each unit."""
    forms = texts.forms
    n_cells = np.bincount(forms.codes[texts.codes[is_known]], minlength=len(forms.parts)).tolist()
    counts = Counter[str]()
    for number, n in zip(forms.parts, n_cells, strict=True):
        if number is not None and number.sign:
            counts[f"the sign {number.sign!r}"] += n
        if number is not None and have_units:
            counts[repr(number.unit) if number.unit else "no unit"] += n
    return counts


def _quantiles(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(np.quantile(values, LEVELS, method="inverted_cdf").tolist())


def shift(quantiles: Sequence[float], values: NDArray[np.float64]) -> float:
    """Return which share of some values lies on the wrong side of a quantile, the largest of all; negative: below it.

    Examples
    --------
    >>> values = np.arange(100.0)
    >>> shift(_quantiles(values), values), shift(_quantiles(values), values + 50), shift(_quantiles(values), values * 0)
    (0.0, 0.5, -0.95)
    """
    ordered = np.sort(values)
    below = np.searchsorted(ordered, quantiles, "left") / len(ordered)
    up_to = np.searchsorted(ordered, quantiles, "right") / len(ordered)
    up = float((LEVELS - up_to).max())
    down = float((below - LEVELS).max())
    return up if up >= down else -down


def _drift(values: NDArray[np.float64]) -> float:
    """Return the shift from the first half of some values to the second one, without what chance gives."""
    half = len(values) // 2
    drift = shift(_quantiles(values[:half]), values[half:]) if half else 0.0
    return float(np.sign(drift) * max(0.0, abs(drift) - NOISE / np.sqrt(max(1, half))))


def differences(
    column: Any, fit_profile: Profile, cells: Cells, values: NDArray[np.float64], how: How, rare: float
) -> tuple[list[str], bool, str]:
    """Return what differs in a column, with both figures, whether its numbers lie elsewhere, and what all rows have.

    The parameters are those of `profile_of`, the profile at the fit, and the probability that chance explains.
    """
    new_profile = profile_of(column, cells, values, how)
    comparison = _Comparison(column, fit_profile, new_profile, cells, how, rare)
    known = values[~np.isnan(values)]
    is_shifted = comparison.is_shifted(known)
    facts = [*comparison.missing_values(), *comparison.numbers(known, is_shifted)]
    if only_level := comparison.only_level():
        return facts, is_shifted, only_level
    facts += comparison.shares()
    facts += comparison.converted_units(facts)
    facts += comparison.new_parts()
    return facts, is_shifted, ""


@dataclass(frozen=True)
class _Comparison:
    """A column of a new table beside its profile at the fit; its methods yield what differs, in words.

    Attributes
    ----------
    column : Column
    old, new : Profile
        The profiles at the fit and of the new table.
    cells : Numbers, Texts or Vectors
        Those of the new table.
    how : How
    rare : float
        Accepted probability that chance alone gives a line.
    """

    column: Any
    old: Profile
    new: Profile
    cells: Cells
    how: How
    rare: float

    @property
    def limit(self) -> float:
        """The share of the rows that must differ where chance is not asked."""
        return SHIFT + NOISE / max(1.0, self.new.n_known) ** 0.5

    def is_more(self, before: float, after: float, rare: float | None = None) -> bool:
        """Whether a share of the cells with a value is much larger than at the fit, and not by chance."""
        return _is_more(before, after, self.old.n_known, self.new.n_known, self.rare if rare is None else rare)

    def missing_values(self) -> Iterator[str]:
        """Say how many rows have no known value, if they are many more than at the fit."""
        before = self.old.missing
        after = self.new.missing
        is_closed = self.column.kind in ("yes/no", "category") and before == 0 < after
        if is_closed or _is_more(before, after, self.old.n_rows, self.new.n_rows, self.rare):
            yield f"{_percent(after)} of the rows have no known value, {_percent(before)} at the fit"

    def is_shifted(self, values: NDArray[np.float64]) -> bool:
        """Whether the numbers lie elsewhere than at the fit."""
        if not self.old.quantiles or not self.new.quantiles:
            return False
        return abs(shift(self.old.quantiles, values)) > self.limit + 2 * abs(self.old.drift)

    def numbers(self, values: NDArray[np.float64], is_shifted: bool) -> Iterator[str]:
        """Say where shifted numbers lie; else which of them lie far beyond those of the fit."""
        if is_shifted:
            yield f"the median is {self.new.quantiles[3]:.4g}, {self.old.quantiles[3]:.4g} at the fit"
        elif self.old.quantiles and self.new.quantiles:
            yield from self._far_values(values)

    def _far_values(self, values: NDArray[np.float64]) -> Iterator[str]:
        """Say which values lie further beyond an end than the ends lie apart, if chance does not explain them."""
        minimum = self.old.quantiles[0]
        maximum = self.old.quantiles[-1]
        is_date = self.column.kind == "date"
        # So many rows later, a column that rises has gone on, and so have dates in any order of the rows.
        onward = (maximum - minimum) * (ONWARD + len(values) / max(1.0, self.old.n_known))
        lower = 2 * minimum - maximum + onward * min(self.old.drift, 0.0)
        upper = 2 * maximum - minimum + onward * max(self.old.drift, float(is_date))
        far, counts = np.unique(values[(values < lower) | (values > upper)], return_counts=True)
        share = counts.sum() / len(values)
        largest = counts.max(initial=0)
        is_code = largest >= FEW and 2 * largest > counts.sum()
        if is_code or _is_more(0.0, share, self.old.n_known, len(values), self.rare):
            show: Any = int if is_date else "{:.6g}".format
            example = f"{'values such as ' * (len(far) > 1)}{show(far[counts.argmax()])}"
            yield f"{example} in {_percent(share)} of the cells; the fit had {show(minimum)} to {show(maximum)}"

    def only_level(self) -> str:
        """Say which level all rows have, if far fewer had it at the fit; else nothing."""
        level = next(iter(self.new.shares), "")
        if self.column.kind != "category" or self.new.shares.get(level) != 1:
            return ""
        share = self.old.shares.get(level, 1)
        is_new = self.limit < 1 - share
        return f"all rows have {self.column.levels[level]!r}, {_percent(share)} at the fit" if is_new else ""

    def shares(self) -> Iterator[str]:
        """Say which levels, items, words or forms are much more or less frequent than at the fit."""
        for form in sorted(self.old.shares.keys() | (self.new.shares.keys() if self.old.quantiles else ())):
            before = self.old.shares.get(form, 0.0)
            after = self.new.shares.get(form, 0.0)
            is_new = bool(self.old.quantiles) and self.is_more(before, after)
            if is_new or abs(after - before) > self.limit:
                name = form
                if self.column.kind in WORDED:
                    name = repr(shorten(self.column.levels.get(form, form), 30))
                yield f"{name} in {_percent(after)} of the cells, {_percent(before)} at the fit"

    def converted_units(self, facts: Sequence[str]) -> Iterator[str]:
        """Say that units are converted, if one of the facts is about a unit that the fit did not have."""
        new_units = tuple(
            form for form in self.new.shares.keys() - self.old.shares.keys() if form.startswith(("'", '"'))
        )
        if self.column.factors and any(fact.startswith(new_units) for fact in facts):
            yield "units are converted to those of the fit"

    def new_parts(self) -> Iterator[str]:
        """Say how many rows have levels, items or words that the fit has not seen."""
        if self.old.rare:
            yield from self._new_rare_levels()
        elif self.column.kind in WORDED and not self.column.has_other:
            yield from self._new_features()

    def _new_features(self) -> Iterator[str]:
        """Say how many rows have levels, items or frequent words that no feature stands for.

        If some levels of the fit stand in one row only, others have not been drawn yet: their share of the rows is
        about that of these rows (Good 1953, after Turing). So many are chance then, unless a single one is frequent.
        """
        shares = {part: self.new.shares[part] for part in self.new.shares.keys() - self.old.shares.keys()}
        if (
            self.column.kind == "words"
        ):  # texts always have new words: those count that chance does not make so frequent
            shares = {word: share for word, share in shares.items() if self.is_more(COMMON, share)}
        if not shares:
            return
        n_rows, example = self._rows_with(shares.__contains__)
        is_frequent = any(
            self.is_more(0.0, share, self.rare / max(1, len(self.old.shares))) for share in shares.values()
        )
        if is_frequent or not self._is_expected(n_rows):
            yield _novelty(n_rows, WORDED[self.column.kind], example, "no feature stands for it")

    def _is_expected(self, n_rows: int) -> bool:
        """Whether so many rows have levels or items that the fit had not drawn yet."""
        n_once = sum(round(share * self.old.n_known) == 1 for share in self.old.shares.values())
        if self.column.kind == "words" or not n_once:
            return False
        return not self.is_more(n_once / self.old.n_known, n_rows / max(1.0, self.new.n_known))

    def _new_rare_levels(self) -> Iterator[str]:
        """Say how many rows have a level that is not even a rare level of the fit, if chance does not explain it.

        As in `_new_features`, new levels are expected in about as large a share of the rows as had a level alone at
        the fit.
        """
        n_rows, example = self._rows_with(self._is_new_level)
        if n_rows and self.is_more(self.old.n_once / self.old.n_known, n_rows / self.new.n_known):
            yield _novelty(n_rows, "a level", example, "only '(other)' stands for it")

    def _is_new_level(self, level: str) -> bool:
        return level not in self.column.levels and not may_hold(self.old.rare, level)

    def _rows_with(self, is_new: Callable[[str], bool]) -> tuple[int, str]:
        """Return how many rows have a new level, item or word, and the first as it is written."""
        n_rows = 0
        example = ""
        for parts, count in _parts(self.column, self.cells, self.how):
            texts = [text for part, text in (parts or {}).items() if is_new(part)]
            n_rows += count * bool(texts)
            example = example or next(iter(texts), "")
        return n_rows, example


def _novelty(n_rows: int, part: str, example: str, consequence: str) -> str:
    verb = "rows have" if n_rows > 1 else "row has"
    return f"{n_rows} {verb} {part} that the fit has not seen, such as {shorten(example, 30)!r}: {consequence}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.1g}%"


def _is_more(before: float, after: float, n: float, m: float, rare: float) -> bool:
    """Whether a share of m rows is much larger than that of n rows at the fit, and not by chance."""
    return (after > TIMES * before or after == 1) and bool(betainc(after * m, before * n + 1, m / (n + m)) < rare)


def is_sum_of_others(values: NDArray[np.float64]) -> bool:
    """Whether the last of some numbers is the sum of the others, as below a column of a spreadsheet.

    Numbers of both signs may add up to the last one by chance.
    """
    above = values[:-1][~np.isnan(values[:-1])]
    total = above.sum()
    enough = np.count_nonzero(above) >= LEAST_SUMMED and abs(total) == np.abs(above).sum()
    return bool(enough and abs(values[-1] - total) <= 1e-9 * abs(total))
