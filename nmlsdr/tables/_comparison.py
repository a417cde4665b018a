"""A table beside that of the fit: the profile of a column that a plan keeps, and what differs from it, in words.

A line tells a mistake of an export, such as percent that became fractions, and not that next year is warmer. So the
limits are wide, and wider for a column whose first rows differ from its last ones at the fit already. On 14
tables with 200 to 5000 rows no line stood at 1008 bootstraps and later parts, and each of 1120 changes had one
(`comparison.py` among the campaigns of the tests).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import shorten
from ._columns import Cells, Numbers

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])  # of the quantiles
SHIFT = 0.4  # of the rows, that lie on another side of a quantile, or have another form
NOISE = 1.5  # divided by the root of the number of rows, in addition
MORE_MISSING = 0.3  # so much larger, and three times as large, is a share of missing values that is told
RARE_GAPS = 0.01  # accepted probability that so many rows lack a value, at the share of the fit
FEW, RARE_FORM = 3, 0.01  # a form that the fit did not have is told from so many cells and such a share of them
LEAST_SUMMED = 10  # values that are not 0 above a row of sums


@dataclass(frozen=True)
class Profile:
    """What the cells of a column are like.

    Attributes
    ----------
    missing : float
        The share of rows without a known value.
    quantiles : tuple of float
        Of the known numbers, at LEVELS.
    drift : float
        How far the second half of the rows is from the quantiles of the first.
    shares : dict of str to float
        How often each unit, sign, and level occurs among the cells with a value.
    """

    missing: float
    quantiles: tuple[float, ...] = ()
    drift: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)


def profile_of(column: Any, cells: Cells, X: NDArray[np.float64]) -> Profile:
    """Return the profile of a column by its `Column` of the plan, its cells, and its features without filled values."""
    has_levels = column.kind in ("category", "list", "words")
    known = np.asarray(X[:, : len(column.levels)].any(axis=1) if has_levels else ~np.isnan(X[:, 0]))
    missing = float((~known).mean()) if len(known) else 0.0
    values = X[known, 0]
    if column.kind != "number" or not len(values):
        names = {"category": column.levels.values(), "list": column.levels.values(), "yes/no": ["yes"]}
        means = X[known].mean(axis=0).tolist() if len(values) else []
        return Profile(missing, shares=dict(zip(names.get(column.kind, ()), means, strict=False)))
    counts = Counter({"decimals": int((values % 1 != 0).sum())})
    if not isinstance(cells, Numbers):
        texts = cells.trimmed
        forms = texts.forms
        n_cells = np.bincount(forms.codes[texts.codes[known]], minlength=len(forms.parts))
        for parts, count in zip(forms.parts, n_cells.tolist(), strict=True):
            if parts is not None and parts.sign:
                counts[f"the sign {parts.sign!r}"] += count
            if parts is not None and column.factors:
                counts[repr(parts.unit) if parts.unit else "no unit"] += count
    elif column.factors:
        counts["no unit"] = len(values)
    half = len(values) // 2
    # Without what chance gives: few rows drift little.
    drift = max(0.0, distance(_quantiles(values[:half]), values[half:]) - NOISE / np.sqrt(half)) if half else 0.0
    shares = {form: count / len(values) for form, count in sorted(counts.items()) if count}
    return Profile(missing, _quantiles(values), drift, shares)


def _quantiles(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(np.quantile(values, LEVELS, method="inverted_cdf").tolist())


def distance(quantiles: Sequence[float], values: NDArray[np.float64]) -> float:
    """Return which share of some values lies on the wrong side of a quantile, the largest of all quantiles.

    Examples
    --------
    >>> distance(_quantiles(np.arange(100.0)), np.arange(100.0)), distance(_quantiles(np.arange(100.0)), np.zeros(9))
    (0.0, 0.95)
    """
    ordered = np.sort(values)
    below, up_to = (np.searchsorted(ordered, quantiles, side) / len(ordered) for side in ("left", "right"))
    return float(np.maximum(below - LEVELS, LEVELS - up_to).max(initial=0.0))


def differences(was: Profile, now: Profile, X: NDArray[np.float64]) -> tuple[list[str], bool]:
    """Return what differs in a column, with both figures, and whether its numbers lie elsewhere."""
    found, share = [], now.missing
    is_emptier = share == 1 or share > max(3 * was.missing, was.missing + MORE_MISSING)
    if is_emptier and was.missing ** (share * len(X)) < RARE_GAPS:
        found.append(f"{share:.0%} of the rows have no known value, {was.missing:.0%} at the fit")
    values = X[~np.isnan(X[:, 0]), 0]
    limit = SHIFT + NOISE / np.sqrt(max(1, len(values)))
    is_elsewhere = bool(was.quantiles and len(values) and distance(was.quantiles, values) > limit + 2 * was.drift)
    if is_elsewhere:
        found.append(f"the median is {now.quantiles[2]:.4g}, {was.quantiles[2]:.4g} at the fit")
    if share < 1 and was.missing < 1:
        for form in sorted(was.shares.keys() | now.shares.keys()):
            before, after = was.shares.get(form, 0.0), now.shares.get(form, 0.0)
            is_new = before == 0 and after >= max(FEW / len(values), RARE_FORM) and bool(was.quantiles)
            if is_new or abs(after - before) > limit:
                shown = shorten(form, 30) if was.quantiles or form == "yes" else repr(shorten(form, 30))
                found.append(f"{shown} in {after:.0%} of the cells, {before:.0%} at the fit")
    return found, is_elsewhere


def is_sum_of_others(values: NDArray[np.float64]) -> bool:
    """Whether the last of some numbers is the sum of the others, as below a column of a spreadsheet.

    Numbers of both signs may add up to the last one by chance.
    """
    above = values[:-1][~np.isnan(values[:-1])]
    total = above.sum()
    enough = np.count_nonzero(above) >= LEAST_SUMMED and abs(total) == np.abs(above).sum()
    return bool(enough and abs(values[-1] - total) <= 1e-9 * abs(total))
