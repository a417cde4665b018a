"""Candidates that somebody else proposes: a transformer, or a precomputed matrix.  The canonical order decides."""

from typing import Any

import numpy as np
from scipy import sparse

import nmlsdr._graph as _graph

from .._checks.arguments import check_count, check_row_pair, check_rows, refuse_broken
from .._errors import InputError
from .._process.threads import check_n_jobs
from .metrics import ZERO_ROW, search_metric
from .rows import kernel_rows

# One kernel call answers this many pairs times features, about .1 s of canonical distances: between calls Python
# serves Ctrl-C.
_WORK_PER_CALL = 2e8


def choose_proposed(
    X: Any,
    proposed: Any,
    n_neighbors: int,
    *,
    queries: Any = None,
    metric: str = "euclidean",
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest among the stored entries of a CSR matrix (n_queries, n_samples), by the canonical order.

    Without queries the diagonal is dropped by index; explicit zeros (duplicates) are candidates.
    """
    n_threads = check_n_jobs(n_jobs)
    k = check_count(n_neighbors, "n_neighbors")
    if queries is None:
        rows = points = check_rows(X)
    else:
        rows, points = check_row_pair(X, queries)
    shape = (points.shape[0], rows.shape[0])
    if not sparse.issparse(proposed) or proposed.shape != shape:
        raise InputError(
            f"the neighbors transformer must give a sparse matrix of shape {shape}, "
            f"got {type(proposed).__name__} of shape {getattr(proposed, 'shape', None)}."
        )
    owner, column, _ = _stored_pairs(proposed, drop_diagonal=queries is None)
    search = search_metric(metric)
    vectors = search.prepare(rows, n_threads)
    query_vectors = vectors if queries is None else search.prepare(points, n_threads)
    squared = _pair_distances(vectors.values, query_vectors.values, owner, column, n_threads)
    squared[query_vectors.remote[owner] | vectors.remote[column]] = ZERO_ROW
    return _first_of_each(owner, column, squared, shape[0], k, "the neighbors transformer")


def choose_stored(
    distances: Any, n_neighbors: int, order: np.ndarray | None = None, *, drop_diagonal: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of a precomputed matrix (n_queries, n_samples), in the order (stored distance, row index).

    With ``order``, the row numbers in another order, the first in it comes first of equally distant rows.

    Sparse: stored entries are the candidates, explicit zeros (duplicates) too.  Dense: every entry is one.
    ``drop_diagonal`` says that the queries are the samples.  Returns squared distances and indices.
    """
    k = check_count(n_neighbors, "n_neighbors")
    if not sparse.issparse(distances):
        full = np.asarray(distances, dtype=np.float64)
        n, m = full.shape
        distances = sparse.csr_array((full.ravel(), np.tile(np.arange(m), n), np.arange(n + 1) * m), shape=(n, m))
    owner, column, value = _stored_pairs(distances, drop_diagonal=drop_diagonal)
    if not (np.isfinite(value) & (value >= 0)).all():
        row = int(owner[np.argmin(np.isfinite(value) & (value >= 0))])
        raise InputError(
            f"a precomputed distance in row {row} is negative, NaN or infinite; compute the distances again."
        )
    if order is not None:
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        sequence = np.lexsort((places[column], owner))
        owner = owner[sequence]
        column = column[sequence]
        value = value[sequence]
    squared, indices = _first_of_each(owner, column, value, distances.shape[0], k, "the precomputed matrix")
    return squared**2, indices


def _stored_pairs(stored: Any, *, drop_diagonal: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(query, row, value) of the stored entries, in the order (query, row), repeated entries once."""
    refuse_broken(stored, "the matrix of neighbours")
    stored = sparse.csr_array(stored)  # keeps explicit zeros
    owner = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
    column = stored.indices.astype(np.intp)
    keep = owner != column if drop_diagonal else np.ones(len(owner), dtype=bool)
    owner = owner[keep]
    column = column[keep]
    value = stored.data[keep]
    _, first = np.unique(owner * stored.shape[1] + column, return_index=True)
    return owner[first], column[first], value[first]


def _first_of_each(
    owner: np.ndarray, column: np.ndarray, key: np.ndarray, n_queries: int, k: int, source: str
) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest keys of every query; of equal ones the first, in the order in which its candidates come."""
    count = np.bincount(owner, minlength=n_queries)
    if n_queries and count.min() < k:
        row = int(np.argmin(count))
        raise InputError(
            f"{source} gave row {row} only {count[row]} other rows, but {k} are needed; "
            f"raise its n_neighbors to {k}, or to {k + 1} if it counts each row as its own neighbour."
        )
    order = np.lexsort((key, owner))  # a stable sort
    chosen = order[(np.cumsum(count) - count)[:, None] + np.arange(k)]
    return key[chosen], column[chosen]


def _pair_distances(rows: Any, queries: Any, owner: np.ndarray, column: np.ndarray, n_threads: int) -> np.ndarray:
    """Canonical squared distances of the pairs (queries[owner], rows[column]); owner increases."""
    indptr = np.zeros(queries.shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=queries.shape[0]), out=indptr[1:])
    squared = np.empty(len(owner))
    candidates = column.astype(np.int64)
    row_arrays = kernel_rows(rows)
    query_arrays = kernel_rows(queries)
    step = max(1, int(_WORK_PER_CALL / max(1, rows.shape[1] * (len(owner) // max(1, queries.shape[0]) + 1))))
    for first in range(0, queries.shape[0], step):
        last = min(first + step, queries.shape[0])
        inside = slice(indptr[first], indptr[last])
        pointers = indptr[first : last + 1] - indptr[first]
        _graph.pair_distances(row_arrays, query_arrays, first, pointers, candidates[inside], squared[inside], n_threads)
    return squared
