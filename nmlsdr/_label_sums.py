"""Sums over the rows where labels are known, for labels that share these rows and for many that do not.

A `LabelSet` has the labels that are known on the same rows.  Where many labels are known on rows of their own, the sums
of all of them come from one pass over the rows, as products with the mask of each set.  A sum of squares is then the
difference of two numbers; where it loses digits, it is taken from the rows of the set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ._moments import RowSums, centred_over_known, constant_columns, varies_over_known, without_offsets

# From so many sets on the sums of all sets are products, of so many sets at a time.
_MANY_SETS = 8
_SETS_AT_ONCE = 64
# If rows are dense, from this mean share of known rows on: a product takes a 25th of the time of sums row by row.
_LEAST_KNOWN = 0.04
# Below this share of the sum of squares about the origin, a sum of squares about the mean has lost eight digits.
_LOST = 1e-8


@dataclass(frozen=True)
class LabelSet:
    """Labels that are known on the same rows, and the sums over these rows.

    Attributes
    ----------
    labels : ndarray of shape (m,)
        Their columns.
    known : ndarray of shape (n_samples,), bool, or None
        The rows; None: all.
    count : int
        How many rows that are, 1 where there is none.
    mean, squares : ndarray of shape (n_features,)
        Of the features; the sum of squares about the mean is exactly 0 for a constant feature.
    moment : ndarray of shape (n_features, m)
        Xc'Y; exactly 0 for a constant feature and for a constant label.
    label_mean : ndarray of shape (m,)
    label_squares : float
        |Yc|_F^2.
    """

    labels: np.ndarray
    known: np.ndarray | None
    count: int
    mean: np.ndarray
    squares: np.ndarray
    moment: np.ndarray
    label_mean: np.ndarray
    label_squares: float

    def rows(self, X: RowSums) -> RowSums:
        """The rows of X where these labels are known."""
        return X if self.known is None else X.take(self.known)

    def centred(self, Y: np.ndarray) -> np.ndarray:
        """These labels on their rows, minus their means."""
        known = slice(None) if self.known is None else self.known
        return np.asarray(Y[known][:, self.labels] - self.label_mean)

    def predicted_at(self, point: np.ndarray, V: np.ndarray) -> np.ndarray:
        """What coefficients V (..., n_features, m) of these labels predict at a point (..., m)."""
        return np.asarray(self.label_mean + (point - self.mean) @ V)

    def variation(self, w: np.ndarray) -> float:
        """|Xc diag(w)^1/2|_F^2 / count; exactly 0 where nothing varies."""
        return float(w @ self.squares) / self.count

    def is_narrow(self) -> bool:
        """Whether there are at least as many rows as features."""
        return len(self.mean) <= self.count


def label_sets(X: RowSums, Y: np.ndarray, known: np.ndarray | None = None) -> list[LabelSet]:
    """The labels by the rows where they are known, one set if ``known`` is None."""
    if known is None:
        return [_label_set(X, Y, np.arange(Y.shape[1]), None)]
    X.in_memory("Partly known labels need rows in memory")
    groups = equal_columns(known)
    masks = known[:, [labels[0] for labels in groups]]
    if len(groups) < _MANY_SETS or not (X.is_sparse or masks.mean() >= _LEAST_KNOWN):
        return [_of_rows(X, Y, labels, rows) for labels, rows in zip(groups, masks.T, strict=True)]
    origin = X.means()
    is_constant = X.squares(origin) == 0
    sets: list[LabelSet] = []
    for first in range(0, len(groups), _SETS_AT_ONCE):
        part = slice(first, first + _SETS_AT_ONCE)
        sets += _label_sets_by_products(X, Y, groups[part], masks[:, part], origin, is_constant)
    return sets


def equal_columns(values: np.ndarray) -> list[np.ndarray]:
    """The numbers of the columns that are equal in every bit, for each kind of column.

    `numpy.unique` along an axis compares rows number by number: 1.3 s for 6600 x 336 masks, this takes 10 ms.
    """
    columns = np.ascontiguousarray(values.T)
    if columns.size == 0:
        return [np.arange(len(columns))] if len(columns) else []
    _, kind = np.unique(columns.view(f"V{columns.itemsize * columns.shape[1]}").ravel(), return_inverse=True)
    return [np.flatnonzero(kind == number) for number in range(kind.max() + 1)]


def _of_rows(X: RowSums, Y: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> LabelSet:
    """The set of these labels, known on some rows, from a copy of these rows."""
    return _label_set(X.take(rows), Y[np.ix_(rows, labels)], labels, rows)


def _label_set(X: RowSums, Y: np.ndarray, labels: np.ndarray, known: np.ndarray | None) -> LabelSet:
    if len(Y) == 0:  # a label that is nowhere known: every sum is 0
        nothing = np.zeros(X.shape[1])
        of_labels = np.zeros(len(labels))
        return LabelSet(labels, known, 1, nothing, nothing, np.zeros((X.shape[1], len(labels))), of_labels, 0.0)
    mean = X.means()
    label_mean = Y.mean(axis=0)
    squares = X.squares(mean)
    moment = X.label_moment(Y, mean)
    moment[squares == 0] = 0.0  # of a constant feature it is rounding noise
    centred = Y - label_mean
    centred[:, constant_columns(Y, Y[0])] = 0.0
    label_squares = float(np.square(centred, out=centred).sum())
    return LabelSet(labels, known, len(Y), mean, squares, moment, label_mean, label_squares)


def _label_sets_by_products(
    X: RowSums,
    Y: np.ndarray,
    groups: list[np.ndarray],
    masks: np.ndarray,
    origin: np.ndarray,
    is_constant: np.ndarray,
) -> Iterator[LabelSet]:
    """The sets of these groups of labels, known on the rows of ``masks`` (n_samples, n_sets).

    ``origin`` are the means of the features, and ``is_constant`` marks those that are the same in all rows: their sums
    are exactly 0.
    """
    labels = np.concatenate(groups)
    number = np.repeat(np.arange(len(groups)), [len(each) for each in groups])
    entries = _centred_labels(Y[:, labels], masks[:, number])
    shift, sums, squares, moment = _products(X, masks.astype(np.float64), entries, origin)
    counts = np.maximum(masks.sum(axis=0), 1)
    squares[is_constant] = 0.0
    sums[is_constant] = 0.0
    moment[is_constant] = 0.0
    about_mean = squares - sums**2 / counts
    has_lost_digits = (about_mean <= _LOST * squares) & (squares > 0)
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    for s, (start, each) in enumerate(zip(starts, groups, strict=True)):
        rows = masks[:, s]
        inexact = np.flatnonzero(has_lost_digits[:, s])
        if not rows.any():
            yield _of_rows(X, Y, each, rows)
            continue
        part = slice(start, start + len(each))
        if len(inexact):
            exact = _label_set(RowSums(X.rows[np.ix_(rows, inexact)]), entries[rows, part], each, None)
            about_mean[inexact, s] = exact.squares
            moment[inexact, part] = exact.moment
        yield LabelSet(
            each,
            rows.copy(),
            int(counts[s]),
            shift + sums[:, s] / counts[s],
            about_mean[:, s].copy(),
            moment[:, part].copy(),
            Y[np.ix_(rows, each)].mean(axis=0),
            float(np.square(entries[:, part]).sum()),
        )


def _centred_labels(Y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """`centred_over_known`, and exactly 0 for a label that is the same in all known entries."""
    centred = centred_over_known(Y, known)
    centred[:, ~varies_over_known(Y, known)] = 0.0
    return centred


def _products(
    X: RowSums, masks: np.ndarray, entries: np.ndarray, origin: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """An origin, and about it sums and sums of squares (n_features, n_sets), and X'entries (n_features, n_labels).

    The origin of dense rows is the one given; that of sparse rows is 0 in columns that have zeros.
    """
    if X.is_sparse:
        rows, remaining_mean = without_offsets(X.rows, origin)
        rows = rows.astype(np.float64)
        squared = rows.copy()
        squared.data **= 2
        return origin - remaining_mean, rows.T @ masks, squared.T @ masks, rows.T @ entries
    n_sets = masks.shape[1]
    factors = np.hstack([masks, entries])
    products = np.zeros((X.shape[1], factors.shape[1]))
    squares = np.zeros((X.shape[1], n_sets))
    for part, block in X.centred_blocks(origin):
        products += block.T @ factors[part]
        squares += np.square(block).T @ masks[part]
    return origin, products[:, :n_sets], squares, products[:, n_sets:]
