"""Find target leakage: features that predict a label on their own.

Often they were derived from the labels, or filled in with them, and new rows will not have them.  All columns of a
block are sorted at once, because a fit on few rows with many columns would otherwise spend its time here.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import KFold

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

LEAST_PRECISION = 0.98
LEAST_ROWS = 20  # rows needed with each of a label's two values
N_BINS = 64  # bins of equal counts, for features with more values than that
N_FOLDS = 5
BLOCK_ENTRIES = 1 << 20  # numbers in one array of a block of columns


class Leak(NamedTuple):
    """A feature that predicts a label on its own.

    Attributes
    ----------
    feature, label : int
        Their columns.
    precision : float
        Average precision out of fold of the label's rarer value.
    """

    feature: int
    label: int
    precision: float


class _Targets(NamedTuple):
    """The labels to predict, on the labelled rows: n rows, C labels with enough rows of both values.

    Attributes
    ----------
    labels : ndarray (C,)
        Their columns in y.
    rare, known : ndarray (n, C), bool
        Whether a row has the rarer of the label's two values, and whether its value is known.
    folds : list of ndarray
        The test rows of each fold.
    """

    labels: Integers
    rare: NDArray[np.bool_]
    known: NDArray[np.bool_]
    folds: list[Integers]


def find_leaks(X: Any, y: NDArray[Any], *, show: Callable[[int, int], None] = lambda done, total: None) -> list[Leak]:
    """Find the features that alone predict a label.

    A feature is used as a score in three forms: as it is, negated, and as the share of the label among rows of similar
    values in the other folds; missing values are a value of their own.  The score has to find the rarer of the label's
    two values, because nearly any score finds a label that nearly every row has.

    Parameters
    ----------
    X : ndarray or csr_array (n, D)
        Numbers, NaN where one is missing.
    y : ndarray (n, C)
        0, 1 and -1 for unknown entries.
    show : callable, default: nothing
        Called with the number of features examined so far and the number of all that need it.

    Returns
    -------
    list of Leak
        By feature and label.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.arange(100)[:, None] % 3 == 0
    >>> X = np.column_stack([np.arange(100.0), np.where(y[:, 0], 1, np.nan)])
    >>> find_leaks(X, y.astype(int))
    [Leak(feature=1, label=0, precision=1.0)]
    """
    rows = np.flatnonzero((y != -1).any(axis=1))
    known = y[rows] != -1
    ones = y[rows] == 1
    n_ones = ones.sum(axis=0)
    n_known = known.sum(axis=0)
    labels = np.flatnonzero(np.minimum(n_ones, n_known - n_ones) >= LEAST_ROWS)
    if not len(labels):
        return []
    rare = (ones ^ (2 * n_ones > n_known)) & known
    folds = [test for _, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(rows)]
    targets = _Targets(labels, rare[:, labels], known[:, labels], folds)
    leaks = []
    for features, columns in _blocks(X, rows, targets, show):
        precisions = _block_precisions(columns, targets)
        for j, c in np.argwhere(precisions >= LEAST_PRECISION).tolist():
            leaks.append(Leak(int(features[j]), int(labels[c]), min(1.0, float(precisions[j, c]))))
    return leaks


# ---------------------------------------------------------------- blocks of columns


def _blocks(
    X: Any, rows: Integers, targets: _Targets, show: Callable[[int, int], None]
) -> Iterator[tuple[Integers, Floats]]:
    """Yield the numbers and the cells (B, n) of some columns at a time; of sparse rows only columns that may leak."""
    if sparse.issparse(X):
        X = sparse.csc_array(X[rows])
        features = _dense_enough(X, targets)
    else:
        features = np.arange(X.shape[1])
    width = max(1, BLOCK_ENTRIES // max(len(rows), (N_BINS + 1) * len(targets.labels)))
    for begin in range(0, len(features), width):
        show(begin, len(features))
        block = features[begin : begin + width]
        cells = X[:, block].toarray() if sparse.issparse(X) else X[rows, block[0] : block[-1] + 1]
        yield block, np.ascontiguousarray(cells.T, dtype=np.float64)


def _dense_enough(X: Any, targets: _Targets) -> Integers:
    """Return the sparse columns that may reach LEAST_PRECISION: zeros have one score, and few rows differ from zero."""
    n_rare = targets.rare.sum(axis=0)
    n_known = targets.known.sum(axis=0)
    # A column with s cells leaves at least n_rare - s hits among at least n_known - s zeros: most words of a text end
    # here, without a look at their rows.
    stored = np.diff(X.indptr)
    sizes, size_of_column = np.unique(stored, return_inverse=True)
    enough = np.array(
        [_zeros_allow(n_rare - size, n_known - size, n_rare).any() for size in sizes.tolist()], dtype=bool
    )
    features = np.flatnonzero(enough[size_of_column])
    counted = []
    width = max(1, BLOCK_ENTRIES // len(targets.labels))
    for begin in range(0, len(features), width):
        block = features[begin : begin + width]
        cells = X[:, block]
        cells.data = np.ones(len(cells.data))
        hits = n_rare - cells.T @ targets.rare.astype(np.float64)
        zeros = n_known - cells.T @ targets.known.astype(np.float64)
        counted.append(block[_zeros_allow(hits, zeros, n_rare).any(axis=1)])
    return np.concatenate([np.empty(0, dtype=np.intp), *counted])


def _zeros_allow(hits: Any, zeros: Any, n_rare: Any) -> NDArray[np.bool_]:
    """Whether `hits` of the rare rows among so many rows of one score leave an average precision of LEAST_PRECISION.

    Each of these hits has a precision of at most n_rare / zeros.
    """
    lost = np.maximum(hits, 0) / n_rare * (1 - np.minimum(1.0, n_rare / np.maximum(zeros, 1)))
    return np.asarray(lost <= 1 - LEAST_PRECISION)


# ---------------------------------------------------------------- average precision of many columns


class _Sorted(NamedTuple):
    """Columns in ascending order of their cells, missing ones last; arrays (B, n).

    Attributes
    ----------
    order : ndarray
        Rows by position.
    first, last : ndarray
        First and last position of an equal cell.
    bins : ndarray
        By row: the rank of its value, or its bin of about equal counts in columns of more than N_BINS values.
    tied : ndarray (B,), bool
        Whether all rows of a bin are equal.
    """

    order: Integers
    first: Integers
    last: Integers
    bins: Integers
    tied: NDArray[np.bool_]


def _sort(columns: Floats) -> _Sorted:
    n = columns.shape[1]
    order = np.argsort(columns, axis=1, kind="stable")
    ascending = np.take_along_axis(columns, order, axis=1)
    missing = np.isnan(ascending)
    begins = (ascending[:, 1:] != ascending[:, :-1]) & ~(missing[:, 1:] & missing[:, :-1])
    first, last = _ends(begins)
    ranks = np.zeros(columns.shape, dtype=np.intp)
    np.cumsum(begins, axis=1, out=ranks[:, 1:])
    tied = ranks[:, -1] < N_BINS
    in_order = np.where(tied[:, None], ranks, np.where(missing, N_BINS, first * N_BINS // n))
    bins = np.empty_like(in_order)
    np.put_along_axis(bins, order, in_order, axis=1)
    return _Sorted(order, first, last, bins, tied)


def _ends(begins: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """First and last position of the run of each position, from where runs begin after the first position."""
    positions = np.arange(begins.shape[1] + 1)
    edge = np.ones((len(begins), 1), dtype=bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, begins]), positions, 0), axis=1)
    stops = np.where(np.hstack([begins, edge]), positions, len(positions))
    return first, np.minimum.accumulate(stops[:, ::-1], axis=1)[:, ::-1]


def _block_precisions(columns: Floats, targets: _Targets) -> Floats:
    """Average precision (B, C) of the best form of each column for each label; 0 where it cannot reach the least."""
    block = _sort(columns)
    precisions = np.zeros((len(columns), len(targets.labels)))
    may_reach = _may_reach(block, targets)
    for c in np.flatnonzero(may_reach.any(axis=0)):
        chosen = np.flatnonzero(may_reach[:, c])
        part = _Sorted._make(values[chosen] for values in block)
        rare = targets.rare[:, c].astype(np.float64)
        known = targets.known[:, c].astype(np.float64)
        hits = rare[part.order]
        counts = known[part.order]
        last = columns.shape[1] - 1
        falling = _average_precisions(hits, counts, part.last)
        rising = _average_precisions(hits[:, ::-1], counts[:, ::-1], last - part.first[:, ::-1])
        rates = _rates(part.bins, rare, known, targets.folds)
        order = np.argsort(-rates, axis=1, kind="stable")
        descending = np.take_along_axis(rates, order, axis=1)
        _, ends = _ends(descending[:, 1:] != descending[:, :-1])
        by_rate = _average_precisions(rare[order], known[order], ends)
        precisions[chosen, c] = np.max([rising, falling, by_rate], axis=0)
    return precisions


def _average_precisions(hits: Floats, counts: Floats, last: Integers) -> Floats:
    """Average precision (B,) of rows in the order of their scores, the best first; equal scores end at `last`."""
    n_hits = np.cumsum(hits, axis=1)
    n_rows = np.cumsum(counts, axis=1)
    precision = np.take_along_axis(n_hits / np.maximum(n_rows, 1), last, axis=1)
    return np.asarray((hits * precision).sum(axis=1) / n_hits[:, -1])


def _may_reach(block: _Sorted, targets: _Targets) -> NDArray[np.bool_]:
    """Whether the best order of the bins, by decreasing share, reaches LEAST_PRECISION for each label, (B, C).

    Unless all rows of a bin are tied, its hits may come before its misses.
    """
    n_columns, n = block.bins.shape
    n_bins = N_BINS + 1
    places = (block.bins + n_bins * np.arange(n_columns)[:, None]).ravel()
    rows = np.tile(np.arange(n), n_columns)
    members = sparse.csr_array((np.ones(len(rows)), (places, rows)), shape=(n_columns * n_bins, n))
    shape = n_columns, n_bins, len(targets.labels)
    hits, counts = (
        np.reshape(members @ entries.astype(np.float64), shape) for entries in (targets.rare, targets.known)
    )
    order = np.argsort(-hits / np.maximum(counts, 1), axis=1, kind="stable")
    hits = np.take_along_axis(hits, order, axis=1)
    counts = np.take_along_axis(counts, order, axis=1)
    misses_behind = np.where(block.tied[:, None, None], 0, counts - hits)
    n_rows = np.cumsum(counts, axis=1) - misses_behind
    best = (hits * np.cumsum(hits, axis=1) / np.maximum(n_rows, 1)).sum(axis=1)
    return np.asarray(best >= LEAST_PRECISION * hits.sum(axis=1))


def _rates(bins: Integers, rare: Floats, known: Floats, folds: list[Integers]) -> Floats:
    """The share of a label in each row's bin among the rows of the other folds, smoothed by one average row, (B, n)."""
    n_columns, n = bins.shape
    n_bins = N_BINS + 1
    size = n_columns * n_bins
    places = bins + n_bins * np.arange(n_columns)[:, None]

    def count(entries: Floats, rows: Any) -> Floats:
        return np.bincount(places[:, rows].ravel(), np.tile(entries[rows], n_columns), size).astype(np.float64)

    share = rare.sum() / known.sum()
    hits = count(rare, slice(None))
    counts = count(known, slice(None))
    rates = np.empty((n_columns, n))
    for test in folds:
        outside_rates = (hits - count(rare, test) + share) / (counts - count(known, test) + 1)
        rates[:, test] = outside_rates[places[:, test]]
    return rates
