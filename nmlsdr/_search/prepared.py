"""Rows that are searched often, a few queries at a time: packed once, and for angles divided by their norms once."""

from typing import Any

import numpy as np
from scipy import sparse

import nmlsdr._graph as _graph

from .._checks.arguments import check_count, check_n_neighbors, narrowed, refuse_unequal_features
from .._errors import InputError
from .memory import is_out_of_core
from .metrics import search_metric
from .run import SearchedRows, answer, squared_neighbors

# For more queries at once, looking for structure in the rows (strategy.py) saves time, and packing the rows again is
# only a tenth of the work.
MOST_QUERIES = _graph.INDEX_QUERIES


def check_allowed(allowed: Any, n_samples: int, n_neighbors: int) -> np.ndarray:
    """A mask of rows as bytes, of which as many are allowed as there are neighbours to find."""
    mask = np.asarray(allowed)
    if mask.dtype != bool or mask.shape != (n_samples,):
        raise InputError(
            f"allowed must be a boolean array of shape ({n_samples},), got {mask.dtype} of shape {mask.shape}; "
            "of row numbers make np.isin(np.arange(n_samples), numbers)."
        )
    n_allowed = int(np.count_nonzero(mask))
    if n_allowed < check_count(n_neighbors, "n_neighbors"):
        raise InputError(
            f"n_neighbors={n_neighbors} needs at least {n_neighbors} allowed rows, got {n_allowed}; lower n_neighbors."
        )
    return np.ascontiguousarray(mask).view(np.uint8)


class PreparedRows:
    """Checked rows, packed for searches with a few queries; not changed later, so threads may share it.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_samples, n_features)
        Checked, and not changed afterwards.
    metric : str
    n_threads : int
        To pack the rows on.
    """

    def __init__(self, rows: Any, metric: str, n_threads: int) -> None:
        self.rows = rows
        self.metric = metric
        self._searched = SearchedRows.of(rows, search_metric(metric), n_threads, packed=not is_out_of_core(rows))

    def neighbors(
        self, queries: Any, n_neighbors: int, n_threads: int, *, allowed: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what `squared_neighbors` returns for these rows, or the allowed ones of them, and checked queries."""
        rows = self.rows
        n_queries = queries.shape[0]
        mask = None if allowed is None else check_allowed(allowed, rows.shape[0], n_neighbors)
        if n_queries > MOST_QUERIES and mask is None:
            options = {"queries": queries, "metric": self.metric, "n_jobs": n_threads}
            return squared_neighbors(rows, n_neighbors, checked=True, **options)
        refuse_unequal_features(rows.shape[1], queries.shape[1])
        k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=False)
        squared = np.empty((n_queries, k))
        indices = np.empty((n_queries, k), dtype=np.intp)
        if sparse.issparse(rows):
            queries = sparse.csr_array(queries)
        elif sparse.issparse(queries):
            queries = queries.toarray()
        if squared.size:
            queries = narrowed(queries) if rows.dtype == np.float32 else queries
            answer(self._searched, queries, (squared, indices), n_threads, allowed=mask)
        return squared, indices
