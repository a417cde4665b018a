"""The canonical order of the rows of a fit: a shuffle by their content, so that their order in a file decides nothing.

Of rows that are equally near, a search takes the first. If these are the first of the file, then in a file that is
sorted by a label all neighbours of a row have the label that stands first: of 1000 new rows of four yes/no columns 753
got a label that 340 have (245 to 436 if the file is in random order). So every estimator searches its rows in this
order, in its fit and for new rows, and `ResidualPropagation` draws its folds and the rows of its trees by it.
`nmlsdr.graph.kneighbors`, `ExactIndex` and `ExactNeighborsTransformer` keep the order (distance, row number).

* **By content.** The key of a row is a hash of its features, and equal rows get different keys: they are numbered in
  the order of a hash of their labels, and the number enters the key. So the order of the file does not matter, equal
  rows with different labels stand in random order, and one corrected label moves rows among their equals only, not
  the folds of all others. Rows that are equal in features, labels and alpha may change places.
* **Without units.** The hash sees each feature between its least and its largest value, in 2^-20 of the difference:
  the same in g and in kg, and without the constant features. Hashes of the numbers themselves decide among rows that
  are equal in this. Zeros, dense or CSR, float32 or float64: equal numbers have equal hashes.
* **By permutation, not by averages** over all equally near rows: averages of twelve permutations gained nothing
  (average precision .751 for .753, .685 for .684, .757 for .758, .839 for .839).
* **Sums over rows stay in the order given**, so that data without equally near rows give the bits that they gave
  without this order, in all methods of the article. Another order of a file changes such sums by rounding, and
  embeddings are rounded before they are searched.
* **Folds and draws by content** change the results of `ResidualPropagation` as another ``random_state`` does. With
  draws by position they would change with each order of a file.
* **Columns of labels** have no order either: equal rows are numbered by hashes that know a column by its content, and
  trees that are split by random sums of many labels draw their signs for columns in the order of their content.
  Features are known by their places.

Rows in a memory map of more than half of the memory, which can be read in order only, keep the order of the file. Of
rows that are known by precomputed distances the distances are the content.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import _graph
from ._checks.labels import Labels
from ._moments import RowSums, row_blocks
from ._search.memory import is_out_of_core

RowOrder = NDArray[np.intp] | None  #: row numbers; None: as they stand
Hashes = NDArray[np.uint64]

_UNKNOWN = np.uint64(0x7FF8_0000_0000_0001)  # the bits of an unknown label
_PLACES = 2.0**20
# odd constants of splitmix64
_STEP = 0x9E37_79B9_7F4A_7C15
_FIRST = np.uint64(0xBF58_476D_1CE4_E5B9)
_SECOND = np.uint64(0x94D0_49BB_1331_11EB)


def row_order(rows: Any, labels: Labels, alpha: Any = None) -> RowOrder:
    """The row numbers in the canonical order; None for rows that keep their order.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n_samples, n_features), or RowSums
        Checked.
    labels : Labels
    alpha : float, or ndarray of shape (n_samples,) or (n_samples, n_labels), default=None
        As for ``fit``.

    Returns
    -------
    ndarray of shape (n_samples,), or None

    Examples
    --------
    >>> from nmlsdr._checks.labels import check_labels
    >>> X, y = np.array([[2.0], [5.0], [2.0], [7.0]]), np.array([[1], [0], [0], [1]])
    >>> order = row_order(X, check_labels(y))
    >>> other = row_order(X[::-1], check_labels(y[::-1]))
    >>> np.array_equal(np.c_[X, y][order], np.c_[X, y][::-1][other])
    True
    """
    if is_out_of_core(rows):
        return None
    sums = RowSums.of(rows, checked=True)
    least, largest = sums.limits()
    hashes = np.asarray(sums.map(_hashes_of_places, (), np.uint64, least=least, largest=largest))

    def hashes_of_numbers(chosen: NDArray[np.bool_]) -> Hashes:
        return np.asarray(sums.take(chosen).map(_hashes_of_numbers, (), np.uint64))

    return _shuffled(hashes, hashes_of_numbers, labels, alpha)


def order_of_distances(distances: Any, labels: Labels, alpha: Any = None) -> NDArray[np.intp]:
    """As `row_order`, of rows that are known by a square matrix of their distances.

    A row is known by the distances to the other rows and, in turn, by what these know of themselves; not by the order.
    """
    stored = sparse.csr_array(distances)
    hashes = _mixed(_sums(_mixed(_bits(stored.data)), stored.indptr))
    hashes = _mixed(_sums(_mixed(_bits(stored.data) * _odd(hashes)[stored.indices]), stored.indptr))
    return _shuffled(hashes, lambda chosen: hashes[chosen], labels, alpha)


def column_order(values: np.ndarray) -> NDArray[np.intp]:
    """The numbers of the columns of labels in an order by their content; the rows are in the canonical order.

    The number of 1s counts first, so that one corrected label hardly changes the order.
    """
    places = _odd(np.arange(1, len(values) + 1, dtype=np.uint64))
    hashes = np.zeros(values.shape[1], np.uint64)
    for part in row_blocks(values):
        hashes += _mixed(_bits(values[part]) * places[part, None]).sum(axis=0, dtype=np.uint64)
    return np.lexsort((hashes, np.count_nonzero(values > 0.5, axis=0)))


def in_order(rows: Any, order: RowOrder) -> Any:
    """A copy of the rows in an order; the rows themselves if they keep theirs."""
    if order is None:
        return rows
    return rows[order] if sparse.issparse(rows) else rows.take(order, axis=0)  # twice as fast as rows[order]


def as_given(values: np.ndarray, order: RowOrder) -> np.ndarray:
    """Values of rows in an order, put back into the order of the rows."""
    return values if order is None else values.take(in_place_of(order), axis=0)


def in_place_of(order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The place that each number has in an order: the inverse permutation."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def _shuffled(
    hashes: Hashes, hashes_of_numbers: Callable[[NDArray[np.bool_]], Hashes], labels: Labels, alpha: Any
) -> NDArray[np.intp]:
    """The order of rows by their hashes; equal ones are numbered by their labels, and then by their other hashes."""
    order = np.argsort(hashes, kind="stable")
    equal = np.zeros(len(order), dtype=bool)
    equal[1:] = hashes[order[1:]] == hashes[order[:-1]]
    if not equal.any():
        return order
    of_labels = _hashes_of_labels(hashes, labels, alpha)
    again = np.zeros(len(order), dtype=bool)
    again[order] = equal | np.append(equal[1:], False)
    of_numbers = np.zeros(len(order), np.uint64)
    of_numbers[again] = hashes_of_numbers(again)
    order = np.lexsort((of_numbers, *of_labels, hashes))
    starts = np.maximum.accumulate(np.where(equal, 0, np.arange(len(order))))
    copy = np.empty(len(order), np.uint64)
    copy[order] = np.arange(len(order)) - starts
    keys = np.where(copy == 0, hashes, _mixed(hashes + copy * np.uint64(_STEP)))
    return np.lexsort((copy, hashes, keys))


def _hashes_of_places(block: RowSums, least: np.ndarray, largest: np.ndarray) -> Hashes:
    """A hash of where the numbers of each row lie between the least and the largest of their features."""
    rows = block.rows
    columns = _odd(np.cumsum(largest > least).astype(np.uint64))  # numbered without the constant ones
    width = np.where(largest > least, largest - least, 1.0)
    if sparse.issparse(rows):
        at = rows.indices
        zeros = _places(np.zeros(len(least)), least, width)
        stored = (_places(rows.data, least[at], width[at]) - zeros[at]) * columns[at]
        return _mixed(_sums(stored, rows.indptr) + zeros @ columns)
    sums = np.empty(rows.shape[0], np.uint64)
    _graph.place_sums(np.ascontiguousarray(rows), least, width, _PLACES, columns, np.empty(rows.shape[1]), sums)
    return _mixed(sums)


def _places(numbers: np.ndarray, least: np.ndarray, width: np.ndarray) -> Hashes:
    """The places of numbers between the least and the largest of their features, as `_graph.place_sums` takes them."""
    between = np.subtract(numbers, least, dtype=np.float64)
    between /= width
    between *= _PLACES
    between += 0.5
    return between.astype(np.int64).view(np.uint64)


def _hashes_of_numbers(block: RowSums) -> Hashes:
    """A hash of the numbers of each row."""
    rows = block.rows
    columns = _odd(np.arange(1, rows.shape[1] + 1, dtype=np.uint64))
    if sparse.issparse(rows):
        return _mixed(_sums(_bits(rows.data) * columns[rows.indices], rows.indptr))
    hashes = np.empty(rows.shape[0], np.uint64)
    for part in row_blocks(rows):
        hashes[part] = _bits(rows[part]) @ columns
    return _mixed(hashes)


def _hashes_of_labels(hashes: Hashes, labels: Labels, alpha: Any) -> tuple[Hashes, Hashes]:
    """Two hashes of the labels of each row: with their columns, and, which counts first, without them."""
    per_entry = alpha if alpha is not None and np.ndim(alpha) == 2 else None
    contents = np.zeros(labels.Y.shape[1], np.uint64)
    for part in row_blocks(labels.Y):
        entries = _hashes_of_entries(labels, per_entry, part)
        contents += _mixed(entries ^ hashes[part, None]).sum(axis=0, dtype=np.uint64)
    ranks = in_place_of(np.lexsort((contents, np.count_nonzero(labels.Y > 0.5, axis=0))))
    columns = _odd(ranks.astype(np.uint64) + np.uint64(1))
    with_columns = np.empty(len(hashes), np.uint64)
    without = np.zeros(len(hashes), np.uint64)
    if alpha is not None and np.ndim(alpha) == 1:
        without += _mixed(_bits(np.asarray(alpha)))
    for part in row_blocks(labels.Y):
        entries = _hashes_of_entries(labels, per_entry, part)
        without[part] += entries.sum(axis=1, dtype=np.uint64)
        with_columns[part] = _mixed(entries * columns).sum(axis=1, dtype=np.uint64)
    return with_columns, without


def _hashes_of_entries(labels: Labels, alpha: Any, part: slice) -> Hashes:
    entries = np.where(labels.known[part], _bits(labels.Y[part]), _UNKNOWN)
    if alpha is not None:
        entries = entries + _mixed(_bits(np.asarray(alpha)[part]))
    return _mixed(entries)


def _bits(numbers: np.ndarray) -> Hashes:
    """The bits of numbers as float64, of which the lower ones follow from the upper ones; 0 for 0 and -0."""
    wide = np.ascontiguousarray(numbers, dtype=np.float64) + 0.0
    bits = wide.view(np.uint64)
    bits ^= bits >> np.uint64(32)
    return bits


def _odd(numbers: Hashes) -> Hashes:
    """Random odd numbers that follow from numbers."""
    return _mixed(numbers * np.uint64(_STEP)) | np.uint64(1)


def _mixed(numbers: Hashes) -> Hashes:
    """Numbers of which each bit depends on all bits of what was given (splitmix64); 0 stays 0."""
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed *= _FIRST
    mixed ^= mixed >> np.uint64(27)
    mixed *= _SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _sums(values: Hashes, indptr: np.ndarray) -> Hashes:
    """Sums of the stored values of each row, which wrap around."""
    totals = np.append(np.uint64(0), np.cumsum(values, dtype=np.uint64))
    return totals[indptr[1:]] - totals[indptr[:-1]]
