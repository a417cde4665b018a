"""Columns that tell something about a label, and where a row lies in each among those with the label and without it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._checks.cells import is_number
from .._checks.words import fold
from ..tables import typed_column

MOST_COLUMNS = 1000  # of a page; a wider table shows those with the largest coefficients
N_PICTURES = 40  # columns of a label that have a picture, those that tell most about it
N_MARKED = 10  # columns of an entry that are marked to speak for its label, and to speak against it
FEW_VALUES = 5  # a column with so many different values has shares in place of a picture
ENDS = (0.01, 0.99)  # the quantiles at which a picture begins and ends
MARKS = (0.05, 0.25, 0.5, 0.75, 0.95)  # the quantiles of a picture


class Strip(NamedTuple):
    """A column beside one label.

    Attributes
    ----------
    line : list
        The number of the column, and if it holds numbers the two ends of its picture, as the table has them, and five
        quantiles of the rows with the label and of those without, on a scale from 0 to 99.
    places : list
        For each row where it lies in the picture, or the percentages of the rows with the label and without it that
        are equal, and of rare values a 1; None for a missing cell.
    parts : ndarray
        The part of the column in the regression; 0 if the column does not tell the rows apart.
    """

    line: list[Any]
    places: list[Any]
    parts: NDArray[np.float64]


class Groups(NamedTuple):
    """The rows of a column whose cell is not missing, by their values, and those with the label and without it."""

    order: NDArray[np.intp]
    having: NDArray[np.intp]
    lacking: NDArray[np.intp]


def features_of_columns(columns: Sequence[str], feature_columns: Sequence[str]) -> dict[str, list[int]]:
    """Return the numbers of the features of each column."""
    features: dict[str, list[int]] = {name: [] for name in columns}
    for f, name in enumerate(feature_columns):
        if name in features:
            features[name].append(f)
    return features


def columns_of_page(columns: Sequence[str], feature_columns: Sequence[str], coef: Any) -> Sequence[str]:
    """Return the columns that a page has room for: of more, those with the largest coefficients."""
    if len(columns) <= MOST_COLUMNS:
        return columns
    if coef is None:
        return columns[:MOST_COLUMNS]
    order = np.argsort(-np.abs(coef).max(axis=0), kind="stable")
    largest = set(list(dict.fromkeys(feature_columns[j] for j in order))[:MOST_COLUMNS])
    return [name for name in columns if name in largest]


def telling_columns(
    features: Mapping[str, list[int]], X: Any, target: NDArray[Any], labels: Collection[int]
) -> dict[int, list[str]]:
    """Return for each label the columns that correlate with it by more than so many features do by chance at most."""
    n_features = X.shape[1]
    labels = list(labels)
    target = target[:, labels]
    used = [f for at in features.values() for f in at]
    X = X if used == [*range(n_features)] else (X.tocsc() if sparse.issparse(X) else X)[:, used]
    evidence = np.zeros((n_features, len(labels)))
    evidence[used] = correlations(X, target) ** 2 * (target != -1).sum(axis=0) / (2 * np.log(2 * n_features))
    telling = {}
    for c, column in zip(labels, evidence.T, strict=True):
        strongest = {name: column[at].max(initial=0.0) for name, at in features.items()}
        names = [name for name, value in strongest.items() if value > 1.0]
        telling[c] = sorted(names, key=lambda name: -strongest[name])[:N_PICTURES]
    return telling


def correlations(X: Any, target: NDArray[Any]) -> NDArray[np.float64]:
    """Correlation of each feature with each label, (D, C), over the rows where it is known; 0 if it is not defined."""
    known = (target != -1).astype(float)
    ones = (target == 1).astype(float)
    n = known.sum(axis=0)
    share = ones.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = X.T @ known / n
        variance = (X.multiply(X) if sparse.issparse(X) else X * X).T @ known - n * mean**2
        values = (X.T @ ones - mean * share) / np.sqrt(variance * share * (1 - share / n))
    return np.nan_to_num(values, posinf=0.0, neginf=0.0)


def draw_strips(
    rows: Mapping[int, NDArray[np.intp]],
    telling: Mapping[int, Sequence[str]],
    features: Mapping[str, list[int]],
    method: Any,
    X: Any,
    target: NDArray[Any],
    table: Any,
) -> dict[int, list[Strip]]:
    """Return for each label the strips of its columns; `rows` are those of its entries, in their order."""
    by_column = X.tocsc() if sparse.issparse(X) else X
    target = np.asfortranarray(target, dtype=np.float32)
    strips: dict[tuple[int, str], Strip] = {}
    for number, (name, at) in enumerate(features.items()):  # once each, since their rows are sorted for all labels
        labels = [c for c in rows if name in telling[c]]
        if not labels:
            continue
        block = by_column[:, at]
        column = _Column(number, name, block.toarray() if sparse.issparse(block) else block, table)
        for c in labels:
            parts = (column.values[rows[c]] - method.mean_[at]) @ method.coef_[c, at]
            strips[c, name] = column.strip(target[:, c], rows[c], parts)
    return {c: [strips[c, name] for name in telling[c]] for c in rows}


class _Column:
    """A column, whose rows are sorted once.

    Attributes
    ----------
    number, name
        Of the column among those of the page.
    values : ndarray (n, n_features)
    missing : ndarray (n,), bool
    rare : ndarray (n,), bool, or None
        Rows whose value shares the feature of rare ones.
    """

    def __init__(self, number: int, name: str, values: NDArray[Any], table: Any) -> None:
        self.number = number
        self.name = name
        self.values = values
        self.table = table
        self.missing = table.absent(name)
        known = np.flatnonzero(~self.missing)
        self.order = known[np.argsort(values[known, 0], kind="stable")]
        self.rare = values[:, -1] > values[:, -1].min() if table.has_rare_values(name) else None

    def strip(self, y: NDArray[Any], rows: NDArray[np.intp], parts: NDArray[np.float64]) -> Strip:
        """The strip beside a label y."""
        ends, marks, places, counts = _compare_groups(self.values, self.rare, group_rows(self.order, y), rows)
        missing = self.missing[rows]
        return Strip(
            [self.number, *(text[:20] for text in self.table.cells(ends, [self.name])[0]), *marks],
            [None if is_missing else place for is_missing, place in zip(missing, places, strict=True)],
            np.where(missing, 0.0, parts * counts),
        )


def marked_columns(parts: Sequence[float], value: int) -> list[int]:
    """Return which columns, from 1, have the largest parts in the regression, with their sign.

    First those that contradict the given label `value`, then those that support it.
    """
    signed = np.array([0.0, *parts])
    size = np.abs(signed)
    large = [k for k in np.argsort(-size, kind="stable").tolist() if size[k] > 0.05 * size.max()]
    contradicting = -1 if value == 1 else 1
    marked = []
    for sign in (contradicting, -contradicting):
        marked += [sign * k for k in [k for k in large if sign * signed[k] > 0][:N_MARKED]]
    return marked


def group_rows(order: NDArray[np.intp], y: NDArray[Any]) -> Groups:
    """Return the rows in `order` by their label y: 1, 0, and -1 if it is not known."""
    labels = y[order]
    having, lacking = (order[np.flatnonzero(labels == value)] for value in (1, 0))
    return Groups(order if labels.min(initial=0) >= 0 else order[labels != -1], having, lacking)


class Comparison(NamedTuple):
    """Where some rows lie in a column among the rows with a label and without it.

    Attributes
    ----------
    ends : ndarray of intp
        Of a column of numbers the two rows at the ends of its picture; else empty.
    marks : list of int
        Of a column of numbers the quantiles of both groups, from 0 to 99.
    places : list
        For each row its place from 0 to 99, or the percentages of both groups that are equal to it.
    counts : array-like of 0 and 1, one for all rows or one for each
        0 if chance explains how the groups differ.
    """

    ends: NDArray[np.intp]
    marks: list[int]
    places: list[Any]
    counts: Any


def _compare_groups(
    values: NDArray[Any], rare: NDArray[np.bool_] | None, groups: Groups, rows: NDArray[np.intp]
) -> Comparison:
    """Compare rows with the rows that have a label and those that lack it, in one column."""
    if not len(groups.having) or not len(groups.lacking):  # of one group all cells are missing
        return Comparison(groups.order[:0], [], [None] * len(rows), 0)
    if _is_scale(values[:, 0], groups.order):
        return _compare_quantiles(values[:, 0], groups, rows)
    return _compare_shares(values, rare, groups, rows)


def _rows_at(quantiles: Sequence[float], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rows at these quantiles of sorted rows."""
    return order[np.round(np.multiply(quantiles, len(order) - 1)).astype(int)]


def _is_scale(numbers: NDArray[Any], order: NDArray[np.intp]) -> bool:
    """Whether a column has enough different values for a picture."""
    low, high = numbers[_rows_at(ENDS, order)]
    sample = order[:: max(1, len(order) // 100)]  # which tells it of most columns
    return bool(low < high) and any(np.count_nonzero(np.diff(numbers[at])) >= FEW_VALUES for at in (sample, order))


def _compare_quantiles(numbers: NDArray[Any], groups: Groups, rows: NDArray[np.intp]) -> Comparison:
    """The quantiles of both groups, and the places of the rows on the same scale."""
    ends = _rows_at(ENDS, groups.order)
    low, high = numbers[ends]
    marks = np.concatenate([numbers[_rows_at(MARKS, group)] for group in (groups.having, groups.lacking)])
    places = np.clip(99 * (np.append(marks, numbers[rows]) - low) / (high - low), 0, 99).astype(int).tolist()
    return Comparison(ends, places[: len(marks)], places[len(marks) :], 1)


def _compare_shares(
    values: NDArray[Any], rare: NDArray[np.bool_] | None, groups: Groups, rows: NDArray[np.intp]
) -> Comparison:
    """The percentages of both groups that are equal to each row, which count beyond two standard errors."""
    patterns, pattern_of_row = np.unique(values[rows], axis=0, return_inverse=True)
    pattern_of_row = pattern_of_row.ravel()
    sides = (groups.having, groups.lacking)
    shares = np.array([[(values[side] == pattern).all(axis=1).mean() for side in sides] for pattern in patterns])
    n = np.array([len(side) for side in sides])
    share = shares @ n / n.sum()
    counts = (shares[:, 0] - shares[:, 1]) ** 2 > 4 * share * (1 - share) * (1 / n).sum()
    percentages = np.round(100 * shares[pattern_of_row]).astype(int).tolist()
    if rare is not None:
        percentages = [[*pair, 1] if is_rare else pair for pair, is_rare in zip(percentages, rare[rows], strict=True)]
    return Comparison(groups.order[:0], [], percentages, counts[pattern_of_row])


def missing_in(column: Any, words: Collection[str]) -> NDArray[np.bool_]:
    """Which cells of an array's or a file's column are missing: NaN, or one of these folded words."""
    values = getattr(column, "values", column)
    plain = not any(map(is_number, words))
    if plain and getattr(values, "dtype", np.dtype(object)).kind in "biuf":
        return np.isnan(values) & ("" in words)
    texts = (column if hasattr(column, "texts") else typed_column(column.tolist())).texts
    return np.array([fold(text) in words for text in texts.different], dtype=bool)[texts.codes]
