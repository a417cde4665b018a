"""Rows of length 1, whose Euclidean neighbours are the neighbours by angle: half their squared distance is 1 - cos."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

import nmlsdr._graph as _graph

from .._process.threads import worthwhile_threads
from .rows import kernel_rows

# The squared distance that stands for 1 - cos = 1: between a row of zeros, which has no direction, and any other row.
ZERO_ROW = 2.0

# Squared for each thread that is woken, which takes as long as to square them (30 us).
_VALUES_PER_THREAD = 100_000


def unit_rows(rows: Any, n_threads: int) -> tuple[Any, np.ndarray]:
    """Checked rows divided by their norms, in float64 and the same storage, and which rows are all 0 and stay so."""
    unit, zero = rows.astype(np.float64), np.empty(rows.shape[0], np.uint8)  # a copy
    values = unit.data if sparse.issparse(unit) else unit
    _graph.to_units(kernel_rows(unit), zero, worthwhile_threads(n_threads, values.size, _VALUES_PER_THREAD))
    return unit, zero.view(bool)


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
