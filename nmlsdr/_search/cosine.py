"""Rows of length 1, whose Euclidean neighbours are the neighbours by angle: half their squared distance is 1 - cos."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

import nmlsdr._graph as _graph

from .._checks.arguments import match_rows
from .._process.threads import worthwhile_threads
from .rows import kernel_rows

# The squared distance that stands for 1 - cos = 1: between a row of zeros, which has no direction, and any other row.
ZERO_ROW = 2.0

# Squared for each thread that is woken, which takes as long as to square them (30 us).
_VALUES_PER_THREAD = 100_000


def unit_rows(rows: Any, n_threads: int) -> tuple[Any, np.ndarray]:
    """Checked rows divided by their norms, in float64 and the same storage, and which rows are all 0 and stay so.

    A row is first multiplied by the power of two that brings its largest magnitude to [1/2, 1), so that no square
    overflows, or underflows and counts; then rows x and 2^e x become the same bits.  The squared norm is the canonical
    squared distance from a row of zeros: dense rows, CSR and float32 copies of equal values have the same.
    """
    n, d = rows.shape
    unit = rows.astype(np.float64)  # a copy
    if d == 0:
        return unit, np.ones(n, dtype=bool)
    if sparse.issparse(rows):
        largest = np.abs(unit).max(axis=1).toarray().ravel()
        values, lengths = unit.data, np.diff(unit.indptr)
    else:
        largest = np.maximum(unit.max(axis=1), -unit.min(axis=1))
        values, lengths = unit, None
    np.ldexp(values, -_for_values(np.frexp(largest)[1], lengths), out=values)
    origin, others = match_rows(sparse.csr_array((1, d)) if sparse.issparse(rows) else np.zeros((1, d)), unit)
    squared = np.empty(n)
    candidates = np.zeros(n, dtype=np.int64)
    pointers = np.arange(n + 1, dtype=np.int64)
    n_threads = worthwhile_threads(n_threads, values.size, _VALUES_PER_THREAD)
    _graph.pair_distances(kernel_rows(origin), kernel_rows(others), 0, pointers, candidates, squared, n_threads)
    zero = largest == 0
    values /= _for_values(np.where(zero, 1.0, np.sqrt(squared)), lengths)
    return unit, zero


class UnitRows(NamedTuple):
    """Rows of length 1, and the rows of zeros apart, which have no direction."""

    near: Any
    kept: np.ndarray  # which rows ``near`` are
    zeros: np.ndarray

    @classmethod
    def of(cls, rows: Any, n_threads: int) -> Self:
        """From checked rows."""
        unit, zero = unit_rows(rows, n_threads)
        kept = np.flatnonzero(~zero)
        return cls(unit[kept] if zero.any() else unit, kept, np.flatnonzero(zero))


def search_by_angle(
    find: Callable[..., None], rows: UnitRows, queries: Any, squared: np.ndarray, indices: np.ndarray, n_threads: int
) -> None:
    """Fill (n_queries, k) for checked queries, None for the rows themselves.

    ``find`` searches ``rows.near`` by Euclidean distance; a row of zeros is at `ZERO_ROW` from all.
    """
    itself, k = queries is None, squared.shape[1]
    units = rows if itself else UnitRows.of(queries, n_threads)
    if len(units.zeros):
        squared[units.zeros], indices[units.zeros] = ZERO_ROW, first_rows(units.zeros, k, itself=itself)
    wanted = None if itself else units.near
    if not (len(rows.zeros) or len(units.zeros)):
        find(wanted, squared, indices, n_threads)
        return
    k_found = max(0, min(k, len(rows.kept) - itself))
    near = np.empty((len(units.kept), k_found)), np.empty((len(units.kept), k_found), dtype=np.intp)
    if near[0].size:
        find(wanted, *near, n_threads)
    squared[units.kept], indices[units.kept] = merge_zero_rows(near[0], rows.kept[near[1]], rows.zeros, k)


def first_rows(queries: np.ndarray, k: int, *, itself: bool) -> np.ndarray:
    """The k first rows by index for each of these queries, without itself if they are rows."""
    first = np.tile(np.arange(k), (len(queries), 1))
    return first + (first >= queries[:, None]) if itself else first


def _for_values(of_rows: np.ndarray, lengths: np.ndarray | None) -> np.ndarray:
    """One number for each row, repeated for its stored values (``lengths`` of them) if the rows are sparse."""
    return of_rows[:, None] if lengths is None else np.repeat(of_rows, lengths)


def merge_zero_rows(
    squared: np.ndarray, indices: np.ndarray, zero_rows: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k first of each query, in the order (squared distance, row), among what was found and the rows of zeros."""
    first = zero_rows[:k]  # at equal distance, so no other can be among the k
    n_queries = len(squared)
    squared = np.concatenate([squared, np.full((n_queries, len(first)), ZERO_ROW)], axis=1)
    indices = np.concatenate([indices, np.tile(first, (n_queries, 1))], axis=1)
    order = np.lexsort((indices, squared), axis=-1)[:, :k]
    return np.take_along_axis(squared, order, axis=1), np.take_along_axis(indices, order, axis=1)
