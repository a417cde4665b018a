"""Rows that are searched often, a few queries at a time: packed once, and for angles divided by their norms once."""

from typing import Any

import numpy as np
from scipy import sparse

import nmlsdr._graph as _graph

from .._checks.arguments import check_n_neighbors, match_rows, refuse_unequal_features
from .._process.threads import simd, worthwhile_threads
from .cosine import UnitRows, search_by_angle
from .memory import is_out_of_core
from .rows import kernel_rows
from .run import Search, advance, search
from .strategy import MOST_KEPT, Strategy, log

# For more queries at once, looking for structure in the rows (strategy.py) saves time, and packing the rows again is
# only a tenth of the work.
MOST_QUERIES = _graph.INDEX_QUERIES
_VALUES_PER_THREAD = _graph.VALUES_OF_THREAD  # one thread reads them in about 30 us, which is the time to wake a thread


class PreparedRows:
    """Checked rows, packed for searches with a few queries; not changed later, so threads may share it.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_samples, n_features)
        Checked, and not changed afterwards.
    metric : {"euclidean", "cosine"}
    n_threads : int
        To pack the rows on.
    """

    def __init__(self, rows: Any, metric: str, n_threads: int) -> None:
        self.rows, self.metric = rows, metric
        self._unit = UnitRows.of(rows, n_threads) if metric == "cosine" else None
        self._searched = rows if self._unit is None else self._unit.near
        self._packed = None
        if 0 not in self._searched.shape and not is_out_of_core(rows):
            self._packed = _graph.Index(kernel_rows(self._searched), level=simd(), n_threads=n_threads)

    def neighbors(self, queries: Any, n_neighbors: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what `squared_neighbors` returns for these rows and checked queries."""
        refuse_unequal_features(self.rows.shape[1], queries.shape[1])
        k = check_n_neighbors(n_neighbors, self.rows.shape[0], exclude_self=False)
        squared = np.empty((queries.shape[0], k))
        indices = np.empty((queries.shape[0], k), dtype=np.intp)
        if squared.size and self._unit is None:
            self._find(queries, squared, indices, n_threads)
        elif self._unit is not None and squared.size:
            search_by_angle(self._find, self._unit, queries, squared, indices, n_threads)
        return squared, indices

    def _find(self, queries: Any, squared: np.ndarray, indices: np.ndarray, n_threads: int) -> None:
        """Search the packed rows if they suit the number and the values of the queries; otherwise search as usual."""
        rows, k = self._searched, squared.shape[1]
        stored = None
        if self._packed is not None and len(squared) <= MOST_QUERIES and squared.size * n_threads <= MOST_KEPT:
            stored = _stored_alike(rows, queries)
        if self._packed is None or stored is None or not self._packed.takes(kernel_rows(stored)):
            search(Search(*match_rows(rows, queries), squared, indices, n_threads))
            return
        n_threads = worthwhile_threads(n_threads, rows.size * (1 + len(squared) / 16), _VALUES_PER_THREAD)
        chosen = Strategy("prepared", "the rows were prepared by an earlier query")
        given, asked = kernel_rows(rows), kernel_rows(stored)
        advance(_graph.Search(chosen.method, given, asked, squared, indices, index=self._packed, n_threads=n_threads))
        log(chosen, rows, len(squared), k, n_threads)


def _stored_alike(rows: Any, queries: Any) -> Any:
    """The queries in the storage of the packed rows; None if the rows would have to be converted."""
    if not sparse.issparse(rows):
        queries = queries.toarray() if sparse.issparse(queries) else queries
        return queries.astype(np.float64, copy=False) if rows.dtype == np.float64 else queries
    pair = match_rows(rows, queries)
    return pair[1] if pair[0] is rows else None
