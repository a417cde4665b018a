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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from .._errors import shorten
from ._columns import Cells, Numbers
from ._digest import digest_of, may_hold
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
    n_known = int(is_known.sum())
    if column.kind in WORDED:
        parts_and_counts = [*_parts(column, cells, how)]
        n_known = sum(count for parts, count in parts_and_counts if parts is not None)
        counts = tally((part, count) for parts, count in parts_and_counts for part in parts or ())
    else:
        counts = _forms(column, cells, is_known, known)
    missing = (len(cells) - n_known) / max(1, len(cells))
    least = max(1, COMMON * n_known * (column.kind == "words" or column.has_other))
    shares = {form: count / n_known for form, count in sorted(counts.items()) if count >= least}
    if column.kind == "category" and column.has_other:
        rare = {level: count for level, count in counts.items() if level not in column.levels}
        n_once = sum(count == 1 for count in rare.values())
        return Profile(len(cells), missing, shares=shares, rare=digest_of(rare), n_once=n_once)
    if not n_known or column.kind in ("yes/no", *WORDED):
        return Profile(len(cells), missing, shares=shares)
    half = n_known // 2
    drift = shift(_quantiles(known[:half]), known[half:]) if half else 0.0
    # Without what chance gives: few rows drift little.
    drift = float(np.sign(drift) * max(0.0, abs(drift) - NOISE / np.sqrt(max(1, half))))
    return Profile(len(cells), missing, _quantiles(known), drift, shares)


def _parts(column: Any, cells: Cells, how: How) -> Iterator[tuple[dict[str, str] | None, int]]:
    """Yield the levels, items or words of each different cell, None where it is missing, and in how many rows it is."""
    texts, (missing, keep_case) = cells.texts.trimmed, how
    for text, word, count in zip(texts.different, texts.folded, texts.counts.tolist(), strict=True):
        if column.kind == "words":
            parts = {part: part for part in words_of(text, column.are_names)}
        else:
            parts = parts_of(column.kind, text, column.separator, keep_case)
        yield None if word in missing and not parts.keys() & column.levels.keys() else parts, count


def _forms(column: Any, cells: Cells, is_known: NDArray[np.bool_], values: NDArray[np.float64]) -> Counter[str]:
    """Return how many of the cells with a value have each form, or mean yes."""
    if column.kind == "yes/no":
        return Counter({"yes": int(values.sum())})
    form_counts = [("decimals", int((values % 1 != 0).sum())), ("0", int((values == 0).sum()))]
    if column.kind == "date":
        dates = cells.texts.trimmed.dates_with(column.levels)
        codes = cells.texts.trimmed.codes[is_known]
        order_codes = dates.codes[codes]
        n_cells = np.bincount(order_codes[order_codes >= 0], minlength=len(dates.different)).tolist()
        orders = (re.sub(r"\d+", lambda n: "YYYY" if len(n[0]) == 4 else "00", date) for date in dates.different)
        form_counts = [(f"dates as {order.replace('-', '/')}", n) for order, n in zip(orders, n_cells, strict=True)]
        form_counts.append(("dates as serial numbers of Excel", int((order_codes < 0).sum())))
    elif column.kind == "number" and (column.factors or not isinstance(cells, Numbers)):
        forms = cells.texts.trimmed.forms
        codes = cells.texts.trimmed.codes[is_known]
        n_cells = np.bincount(forms.codes[codes], minlength=len(forms.parts)).tolist()
        numbers = [(number, n) for number, n in zip(forms.parts, n_cells, strict=True) if number is not None]
        form_counts += [(f"the sign {number.sign!r}", n) for number, n in numbers if number.sign]
        form_counts += [(repr(number.unit) if number.unit else "no unit", n) for number, n in numbers if column.factors]
    return tally(form_counts)


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
    below, up_to = (np.searchsorted(ordered, quantiles, side) / len(ordered) for side in ("left", "right"))
    up = float((LEVELS - up_to).max())
    down = float((below - LEVELS).max())
    return up if up >= down else -down


def differences(
    column: Any, was: Profile, cells: Cells, values: NDArray[np.float64], how: How, rare: float
) -> tuple[list[str], bool, str]:
    """Return what differs in a column, with both figures, whether its numbers lie elsewhere, and what all rows have.

    The parameters are those of `profile_of`, the profile at the fit, and the probability that chance explains.
    """
    facts = list[str]()
    new = profile_of(column, cells, values, how)
    values = values[~np.isnan(values)]
    is_closed = column.kind in ("yes/no", "category") and was.missing == 0 < new.missing
    if is_closed or _is_more(was.missing, new.missing, was.n_rows, new.n_rows, rare):
        facts.append(f"{_percent(new.missing)} of the rows have no known value, {_percent(was.missing)} at the fit")
    limit = SHIFT + NOISE / max(1.0, new.n_known) ** 0.5
    is_elsewhere = False
    if was.quantiles and new.quantiles:
        is_elsewhere = abs(shift(was.quantiles, values)) > limit + 2 * abs(was.drift)
        median = f"the median is {new.quantiles[3]:.4g}, {was.quantiles[3]:.4g} at the fit"
        facts += [median] if is_elsewhere else _far_values(column, was, values, rare)
    level = next(iter(new.shares), "")
    if column.kind == "category" and new.shares.get(level) == 1 and limit < 1 - was.shares.get(level, 1):
        return facts, is_elsewhere, f"all rows have {column.levels[level]!r}, {_percent(was.shares[level])} at the fit"
    facts += _shifted_shares(column, was, new, limit, rare)
    new_units = tuple(form for form in new.shares.keys() - was.shares.keys() if form.startswith(("'", '"')))
    if column.factors and any(fact.startswith(new_units) for fact in facts):
        facts.append("units are converted to those of the fit")
    if was.rare:
        facts += _unseen_rare(column, was, new, cells, how, rare)
    elif column.kind in WORDED and not column.has_other:
        facts += _unseen(column, was, new, cells, how, rare)
    return facts, is_elsewhere, ""


def _shifted_shares(column: Any, was: Profile, new: Profile, limit: float, rare: float) -> Iterator[str]:
    """Say which levels, items, words or forms are much more or less frequent than at the fit."""
    for form in sorted(was.shares.keys() | (new.shares.keys() if was.quantiles else ())):
        before = was.shares.get(form, 0.0)
        after = new.shares.get(form, 0.0)
        is_new = bool(was.quantiles) and _is_more(before, after, was.n_known, new.n_known, rare)
        if is_new or abs(after - before) > limit:
            shown = repr(shorten(column.levels.get(form, form), 30)) if column.kind in WORDED else form
            yield f"{shown} in {_percent(after)} of the cells, {_percent(before)} at the fit"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.1g}%"


def _is_more(before: float, after: float, n: float, m: float, rare: float) -> bool:
    """Whether a share of m rows is much larger than that of n rows at the fit, and not by chance."""
    return (after > TIMES * before or after == 1) and bool(betainc(after * m, before * n + 1, m / (n + m)) < rare)


def _far_values(column: Any, was: Profile, values: NDArray[np.float64], rare: float) -> Iterator[str]:
    """Say which values lie further beyond an end than the ends lie apart, if chance does not explain them."""
    minimum = was.quantiles[0]
    maximum = was.quantiles[-1]
    # So many rows later, a column that rises has gone on, and so have dates in any order of the rows.
    onward = (maximum - minimum) * (ONWARD + len(values) / max(1.0, was.n_known))
    lower = 2 * minimum - maximum + onward * min(was.drift, 0.0)
    upper = 2 * maximum - minimum + onward * max(was.drift, float(column.kind == "date"))
    far, counts = np.unique(values[(values < lower) | (values > upper)], return_counts=True)
    share = counts.sum() / len(values)
    largest = counts.max(initial=0)
    is_code = largest >= FEW and 2 * largest > counts.sum()
    if is_code or _is_more(0.0, share, was.n_known, len(values), rare):
        show: Any = int if column.kind == "date" else "{:.6g}".format
        example = f"{'values such as ' * (len(far) > 1)}{show(far[counts.argmax()])}"
        yield f"{example} in {_percent(share)} of the cells; the fit had {show(minimum)} to {show(maximum)}"


def _unseen(column: Any, was: Profile, profile: Profile, cells: Cells, how: How, rare: float) -> Iterator[str]:
    """Say how many rows have levels, items or frequent words that no feature stands for.

    Where some levels of the fit stand in one row only, others have not been drawn yet: their share of the rows is about
    that of these rows (Good 1953, after Turing). Then so many are chance, unless a single new one is frequent.
    """
    new = profile.shares.keys() - was.shares.keys()
    n = was.n_known
    m = profile.n_known
    if column.kind == "words":  # texts always have new words: those count that chance does not make so frequent
        new = {word for word in new if _is_more(COMMON, profile.shares[word], n, m, rare)}
    n_rows = 0
    examples = list[str]()
    for parts, count in _parts(column, cells, how):
        texts = [text for part, text in (parts or {}).items() if part in new]
        n_rows = n_rows + count * bool(texts)
        examples = examples or texts
    n_once = sum(round(share * n) == 1 for share in was.shares.values())
    is_odd = column.kind == "words" or not n_once or _is_more(n_once / n, n_rows / max(1.0, m), n, m, rare)
    if new and (is_odd or any(_is_more(0.0, profile.shares[part], n, m, rare / len(was.shares)) for part in new)):
        novelty = f"that the fit has not seen, such as {shorten(examples[0], 30)!r}: no feature stands for it"
        yield f"{n_rows} row{'s have' if n_rows > 1 else ' has'} {WORDED[column.kind]} {novelty}"


def _unseen_rare(column: Any, was: Profile, profile: Profile, cells: Cells, how: How, rare: float) -> Iterator[str]:
    """Say how many rows have a level that is not even one of the rare levels of the fit, if chance does not explain it.

    As in `_unseen`, new levels are expected in about as large a share of the rows as had a level alone at the fit.
    """
    unseen = [
        (text, count)
        for parts, count in _parts(column, cells, how)
        for level, text in (parts or {}).items()
        if level not in column.levels and not may_hold(was.rare, level)
    ]
    n_rows = sum(count for _, count in unseen)
    if n_rows and _is_more(was.n_once / was.n_known, n_rows / profile.n_known, was.n_known, profile.n_known, rare):
        novelty = f"that the fit has not seen, such as {shorten(unseen[0][0], 30)!r}: only '(other)' stands for it"
        yield f"{n_rows} row{'s have' if n_rows > 1 else ' has'} a level {novelty}"


def is_sum_of_others(values: NDArray[np.float64]) -> bool:
    """Whether the last of some numbers is the sum of the others, as below a column of a spreadsheet.

    Numbers of both signs may add up to the last one by chance.
    """
    above = values[:-1][~np.isnan(values[:-1])]
    total = above.sum()
    enough = np.count_nonzero(above) >= LEAST_SUMMED and abs(total) == np.abs(above).sum()
    return bool(enough and abs(values[-1] - total) <= 1e-9 * abs(total))
