"""Neighbour graph: exact neighbours, W by the OR rule, and the transition matrix T (article 3.2, steps 1-3, eq. 2-5).

The order of neighbours is (squared distance, row index) with the canonical squared distance of
``_c/distance.h``; it does not depend on threads, blocks, storage or dtype of equal values.
"""

from __future__ import annotations

import copy
import math
import time
from typing import Any

import numpy as np
from scipy import sparse

from . import _graph, _weights
from ._errors import InputError
from ._search.far_groups import Groups, far_groups
from ._search.leading import leading_coordinates
from ._threads import SIMD_LEVELS, check_n_jobs, simd_level
from ._validation import (
    asks_exact,
    check_count,
    check_graph,
    check_n_neighbors,
    check_row_pair,
    check_rows,
    match_rows,
)

__all__ = ["kneighbors", "neighbor_graph", "transition_matrix"]

# One kernel call answers this many query-row pairs times features, about .1 s of scanning: between
# calls Python serves Ctrl-C.
_WORK_PER_CALL = 2e8
# A row of 2^31 weights of at most 2^990 has a degree that is finite.
_LARGEST_EXPONENT = 990


def kneighbors(
    X: Any, n_neighbors: int, *, queries: Any = None, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Exact k nearest neighbours in Euclidean distance.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows to search, float32 or float64 (anything else is converted to float64).
    n_neighbors : int
        k.  At most n_samples - 1 without queries, n_samples with them.
    queries : array-like or sparse matrix of shape (n_queries, n_features), default=None
        Rows whose neighbours are wanted.  None: the rows of X, each excluded from its own list by
        index (a duplicate at distance 0 is a neighbour).  ``queries=X`` does not exclude.
    n_jobs : int, default=None
        Threads; None for all cores.  The answer does not depend on it.

    Returns
    -------
    distances : ndarray of shape (n_queries, n_neighbors), float64
        Euclidean distances, increasing.
    indices : ndarray of shape (n_queries, n_neighbors), intp
        Rows of X, in the order (squared distance, row index).

    Raises
    ------
    ValueError
        For non-finite values, magnitudes above 1e150, unequal numbers of features, or k out of range.

    Notes
    -----
    Squared distances below 1e-308 underflow to ties.

    Examples
    --------
    >>> distances, indices = kneighbors([[0.0], [1.0], [3.0]], n_neighbors=1)
    >>> indices.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    """
    squared, indices = squared_neighbors(X, n_neighbors, queries=queries, n_jobs=n_jobs)
    return np.sqrt(squared, out=squared), indices


def squared_neighbors(
    X: Any, n_neighbors: int, *, queries: Any = None, n_jobs: int | None = None, checked: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """As `kneighbors`, with the canonical squared distances that order and merges must use.

    ``checked`` says that `check_rows` gave X and the queries: to look at a hundred thousand rows again would take
    longer than to answer a query.
    """
    n_threads = check_n_jobs(n_jobs)
    exclude_self = queries is None
    if exclude_self:
        rows = asked = X if checked else check_rows(X)
    else:
        rows, asked = match_rows(X, queries) if checked else check_row_pair(X, queries)
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=exclude_self)
    squared = np.empty((asked.shape[0], k))
    indices = np.empty((asked.shape[0], k), dtype=np.intp)
    if not squared.size:
        return squared, indices
    if rows.shape[1] == 0:
        _scan(rows, asked, exclude_self, squared, indices, n_threads)
        return squared, indices
    _search(rows, None if exclude_self else asked, squared, indices, n_threads)
    return squared, indices


def _search(rows: Any, asked: Any, squared: np.ndarray, indices: np.ndarray, n_threads: int) -> None:
    """Every query by the kernels, at once or group by group where the rows fall into far tight groups.

    Groups may fall into groups again.  Those that wait are row numbers, and each is copied from ``rows`` when its turn
    comes: beside the rows there is never more than one group, however deep it lies.
    """
    itself = asked is None
    groups = _search_part(rows, asked, squared, indices, n_threads)
    if groups is None:
        return
    pending = np.ones(len(squared), dtype=bool)  # queries whose answer is still to come
    pending[groups.failed] = False
    waiting = [(group, group if itself else sure) for group, sure in groups.pairs()]
    while waiting:
        held, wanted = waiting.pop()  # the rows of a group and the queries that they answer
        near = np.empty((len(wanted), squared.shape[1])), np.empty((len(wanted), squared.shape[1]), dtype=np.intp)
        part = rows[held], None if itself else asked[wanted]
        groups = _search_part(*part, *near, n_threads)
        del part
        answered = np.arange(len(wanted)) if groups is None else groups.failed
        answered = answered[pending[wanted[answered]]]
        squared[wanted[answered]] = near[0][answered]
        indices[wanted[answered]] = held[near[1][answered]]  # held increases: ties keep their order
        pending[wanted[answered]] = False
        if groups is not None:
            waiting += [(held[inner], held[inner] if itself else wanted[sure]) for inner, sure in groups.pairs()]


def _search_part(rows: Any, asked: Any, squared: np.ndarray, indices: np.ndarray, n_threads: int) -> Groups | None:
    """Answer all queries, and return None; or only those that no group answers for sure, and return the groups."""
    few = asked is not None and _graph.prefers_few(_described(rows), _described(asked), squared.shape[1], n_threads)
    if few or _graph.prefers_tree(_described(rows)):
        _run(rows, asked, squared, indices, n_threads)
        return None
    groups = far_groups(rows, asked, squared.shape[1])
    if groups is None:
        _run(rows, asked, squared, indices, n_threads)
    else:
        _ask_all(rows, asked, groups.failed, squared, indices, n_threads)
    return groups


def _ask_all(
    rows: Any, asked: Any, again: np.ndarray, squared: np.ndarray, indices: np.ndarray, n_threads: int
) -> None:
    """Answer some queries from all rows; without queries each row is found too and then dropped by index."""
    if not len(again):
        return
    k, itself = squared.shape[1], asked is None
    more, found = np.empty((len(again), k + itself)), np.empty((len(again), k + itself), dtype=np.intp)
    _run(rows, rows[again] if itself else asked[again], more, found, n_threads)
    if itself:
        own = found == again[:, None]
        own[~own.any(axis=1), -1] = True  # more than k duplicates of lower index: the last one goes
        more, found = more[~own].reshape(-1, k), found[~own].reshape(-1, k)
    squared[again], indices[again] = more, found


def _run(rows: Any, asked: Any, squared: np.ndarray, indices: np.ndarray, n_threads: int) -> None:
    """Every query by one kernel; between its steps Ctrl-C is served."""
    given, queries = _described(rows), None if asked is None else _described(asked)
    search: _graph.Progress
    if queries is not None and _graph.prefers_few(given, queries, squared.shape[1], n_threads):
        search = _graph.Few(given, queries, squared, indices, _simd(), n_threads)
    elif _graph.prefers_tree(given):
        search = _graph.Tree(given, queries, squared, indices, _simd(), n_threads)
    else:
        leads = leading_coordinates(rows, asked, _described, n_threads)
        search = _graph.Search(given, queries, squared, indices, False, -1, _simd(), 256e6, n_threads, leads)
    budget = 64.0
    more = True
    while more:
        began = time.perf_counter()
        more = search.step(budget)
        took = time.perf_counter() - began
        budget = budget * 2 if took < 0.08 else max(1.0, budget / 2) if took > 0.2 else budget


def _simd() -> int:
    level, best = simd_level(), _graph.best_simd_level()
    if level is None:
        return int(best)
    if SIMD_LEVELS.index(level) > best:
        raise InputError(f"NMLSDR_SIMD={level} needs a processor with {level}; unset it for the best at hand.")
    return SIMD_LEVELS.index(level)


def _described(rows: Any) -> tuple[int, int, int, int, int, int]:
    wide = rows.dtype == np.float64
    if not sparse.issparse(rows):
        return int(wide), rows.ctypes.data, 0, 0, *rows.shape
    kind = 2 + int(wide) + 2 * int(rows.indices.dtype == np.int64)
    return kind, rows.data.ctypes.data, rows.indices.ctypes.data, rows.indptr.ctypes.data, *rows.shape


def _scan(rows: Any, asked: Any, exclude_self: bool, squared: np.ndarray, indices: np.ndarray, n_threads: int) -> None:
    """Every pair by the canonical distance, with O(k) memory."""
    step = max(16, int(_WORK_PER_CALL / max(1, rows.shape[0] * rows.shape[1])))
    for first in range(0, len(squared), step):
        part = slice(first, first + step)
        if sparse.issparse(rows):
            _graph.neighbors_csr(
                *_csr_parts(asked), *_csr_parts(rows), first, exclude_self, squared[part], indices[part], n_threads
            )
        else:
            _graph.neighbors_dense(asked, rows, first, exclude_self, squared[part], indices[part], n_threads)


def _csr_parts(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Data, indices and indptr, each of length one at least so that its address exists."""
    if X.nnz == 0:
        return np.zeros(1, X.dtype), np.zeros(1, X.indices.dtype), X.indptr
    return X.data, X.indices, X.indptr


def neighbor_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    edge_weights: str = "binary",
    sigma: float | None = None,
    neighbors: Any = "exact",
    n_jobs: int | None = None,
) -> sparse.csr_array:
    """Symmetric k-nearest-neighbour graph W (article, eq. 2-3).

    W_ij is 1 ("binary") or exp(-|x_i - x_j|^2 / sigma^2) ("rbf") if i is among the k nearest
    neighbours of j or j among those of i, and 0 otherwise.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows; finite numbers.
    n_neighbors : int, default=10
        k, self excluded.
    edge_weights : {"binary", "rbf"}, default="binary"
        Weights of the edges: 1, or exp(-|x_i - x_j|^2 / sigma^2).
    sigma : float, default=None
        Width of "rbf" in the units of X; None: the median over rows of the distance to the k-th neighbour.
    neighbors : "exact" or transformer, default="exact"
        A transformer whose ``fit_transform(X)`` gives a CSR matrix of distances.
    n_jobs : int, default=None
        Threads; None: all that are allowed.

    Returns
    -------
    csr_array of shape (n_samples, n_samples), float64
        Symmetric, zero diagonal, sorted indices.  An underflowed weight stays a stored 0.

    Raises
    ------
    ValueError
        For an unknown ``edge_weights``, sigma <= 0, or the errors of `kneighbors`.

    Examples
    --------
    >>> neighbor_graph([[0.0], [1.0], [3.0]], n_neighbors=1).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    _check_weights(edge_weights, sigma)
    squared, indices = neighbor_lists(X, n_neighbors, neighbors=neighbors, n_jobs=n_jobs)
    return graph_of_lists(squared, indices, edge_weights=edge_weights, sigma=sigma, n_jobs=n_jobs)


def _check_weights(edge_weights: str, sigma: float | None) -> None:
    if edge_weights not in ("binary", "rbf"):
        raise InputError(f'edge_weights must be "binary" or "rbf", got {edge_weights!r}.')
    if sigma is not None and not (np.isfinite(sigma) and sigma > 0):
        raise InputError(f"sigma must be a positive number or None, got {sigma!r}.")


def graph_of_lists(
    squared: np.ndarray,
    indices: np.ndarray,
    *,
    edge_weights: str = "binary",
    sigma: float | None = None,
    n_jobs: int | None = None,
) -> sparse.csr_array:
    """W of eq. (2)-(3) from the lists of `neighbor_lists`, so that one search serves a graph and a classifier."""
    _check_weights(edge_weights, sigma)
    W = union_graph(indices, n_jobs=n_jobs)
    if edge_weights == "rbf":
        W.data[:] = _rbf_weights(W, squared, indices, sigma)
    return W


def neighbor_lists(
    X: Any, n_neighbors: int, *, neighbors: Any = "exact", queries: Any = None, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances and indices of the k nearest rows: exact, or chosen among a transformer's proposals.

    What every estimator with a ``neighbors=`` parameter calls.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows; finite numbers.
    n_neighbors : int
        k, self excluded.
    neighbors : "exact" or transformer, default="exact"
        A transformer's ``fit_transform(X)`` gives a CSR matrix whose stored entries are candidates.  Its
        distances are not used: candidates are ordered by the canonical (squared distance, row index).
        It is copied first and never changed.
    queries : array-like or sparse matrix of shape (n_queries, n_features), optional
        As in `kneighbors`; a transformer answers them by ``fit(X)`` and ``transform(queries)``.
    n_jobs : int, optional
        Threads; None: all that are allowed.

    Returns
    -------
    squared : ndarray of shape (n_queries, n_neighbors), float64
    indices : ndarray of shape (n_queries, n_neighbors), intp

    Raises
    ------
    ValueError
        If ``neighbors`` is neither, or proposes fewer than k other rows for some row.
    """
    if asks_exact(neighbors):
        return squared_neighbors(X, n_neighbors, queries=queries, n_jobs=n_jobs)
    plugin = copy.deepcopy(neighbors)
    given = plugin.fit_transform(X) if queries is None else plugin.fit(X).transform(queries)
    return choose_proposed(X, given, n_neighbors, queries=queries, n_jobs=n_jobs)


def choose_proposed(
    X: Any, proposed: Any, n_neighbors: int, *, queries: Any = None, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest among the stored entries of a CSR matrix (n_queries, n_samples), by the canonical order.

    Without queries the diagonal is dropped by index; explicit zeros (duplicates) are candidates.
    """
    n_threads = check_n_jobs(n_jobs)
    k = check_count(n_neighbors, "n_neighbors")
    rows, asked = (check_rows(X),) * 2 if queries is None else check_row_pair(X, queries)
    shape = (asked.shape[0], rows.shape[0])
    if not sparse.issparse(proposed) or proposed.shape != shape:
        raise InputError(
            f"the neighbors transformer must give a sparse matrix of shape {shape}, "
            f"got {type(proposed).__name__} of shape {getattr(proposed, 'shape', None)}."
        )
    owner, column, _ = _stored_pairs(proposed, drop_diagonal=queries is None)
    count = _count_candidates(owner, shape[0], k, "the neighbors transformer")
    squared = _pair_distances(rows, asked, owner, column, n_threads)
    return _first_of_each(owner, column, squared, count, k)


def choose_stored(distances: Any, n_neighbors: int, *, drop_diagonal: bool) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of a precomputed matrix (n_queries, n_samples), in the order (stored distance, row index).

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
        raise InputError(f"a precomputed distance in row {row} is negative, NaN or infinite; recompute the distances.")
    count = _count_candidates(owner, distances.shape[0], k, "the precomputed matrix")
    squared, indices = _first_of_each(owner, column, value, count, k)
    return squared**2, indices


def _stored_pairs(stored: Any, *, drop_diagonal: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(query, row, value) of the stored entries, in the order (query, row), repeated entries once."""
    stored = sparse.csr_array(stored)  # keeps explicit zeros
    owner = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
    column = stored.indices.astype(np.intp)
    keep = owner != column if drop_diagonal else np.ones(len(owner), dtype=bool)
    owner, column, value = owner[keep], column[keep], stored.data[keep]
    order = np.lexsort((column, owner))
    owner, column, value = owner[order], column[order], value[order]
    first = np.ones(len(owner), dtype=bool)
    first[1:] = (owner[1:] != owner[:-1]) | (column[1:] != column[:-1])
    return owner[first], column[first], value[first]


def _count_candidates(owner: np.ndarray, n_queries: int, k: int, source: str) -> np.ndarray:
    count = np.bincount(owner, minlength=n_queries)
    if n_queries and count.min() < k:
        row = int(np.argmin(count))
        raise InputError(
            f"{source} gave row {row} only {count[row]} other rows, n_neighbors={k} needs {k}; "
            "raise its n_neighbors (by one if it counts each row as its own neighbour)."
        )
    return count


def _first_of_each(
    owner: np.ndarray, column: np.ndarray, key: np.ndarray, count: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest (key, row) of every query, ``count`` candidates each."""
    order = np.lexsort((column, key, owner))
    chosen = order[(np.cumsum(count) - count)[:, None] + np.arange(k)]
    return key[chosen], column[chosen]


def _pair_distances(rows: Any, asked: Any, owner: np.ndarray, column: np.ndarray, n_threads: int) -> np.ndarray:
    """Canonical squared distances of the pairs (asked[owner], rows[column]); owner increases."""
    indptr = np.zeros(asked.shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=asked.shape[0]), out=indptr[1:])
    squared = np.empty(len(owner))
    candidates = column.astype(np.int64)
    step = max(1, int(_WORK_PER_CALL / max(1, rows.shape[1] * (len(owner) // max(1, asked.shape[0]) + 1))))
    for first in range(0, asked.shape[0], step):
        part = slice(first, min(first + step, asked.shape[0]))
        inside = slice(indptr[part.start], indptr[part.stop])
        pointers = indptr[part.start : part.stop + 1] - indptr[part.start]
        if sparse.issparse(rows):
            _graph.candidate_distances_csr(
                *_csr_parts(asked), *_csr_parts(rows), first, pointers, candidates[inside], squared[inside], n_threads
            )
        else:
            _graph.candidate_distances(asked[part], rows, pointers, candidates[inside], squared[inside], n_threads)
    return squared


def union_graph(indices: np.ndarray, *, n_jobs: int | None = None) -> sparse.csr_array:
    """The binary graph of the OR rule from each row's neighbours (n, k): eq. (3)."""
    n_threads = check_n_jobs(n_jobs)
    n, k = indices.shape
    # who names row i: a stable counting sort of the lists, so each reverse list is increasing
    named = np.bincount(indices.ravel(), minlength=n)
    reverse_ptr = np.zeros(n + 1, dtype=np.intp)
    np.cumsum(named, out=reverse_ptr[1:])
    reverse = np.argsort(indices.ravel(), kind="stable") // max(k, 1)
    ordered = np.empty_like(indices)
    counts = np.zeros(n, dtype=np.intp)
    _weights.count_union(indices, reverse_ptr, reverse, ordered, counts, n_threads)
    total = int(counts.sum())
    index_type: Any = np.int32 if max(total, n) < 2**31 else np.int64
    indptr = np.zeros(n + 1, dtype=index_type)
    np.cumsum(counts, out=indptr[1:])
    columns = np.empty(total, dtype=index_type)
    _weights.fill_union(ordered, reverse_ptr, reverse, indptr, columns, n_threads)
    W = sparse.csr_array((np.ones(total), columns, indptr), shape=(n, n))
    W.has_sorted_indices = True
    W.has_canonical_format = True
    return W


def _rbf_weights(W: sparse.csr_array, squared: np.ndarray, indices: np.ndarray, sigma: float | None) -> np.ndarray:
    """exp(-d^2 / sigma^2) on the edges of W, eq. (2), from the lists that made the edges."""
    if sigma is None:
        sigma = float(np.median(np.sqrt(squared[:, -1])))
        if sigma == 0:  # more than half of the rows are (k+1)-fold duplicates: any width gives them weight 1
            sigma = 1.0
    n, k = indices.shape
    named = sparse.csr_array((squared.ravel(), (np.repeat(np.arange(n), k), indices.ravel())), shape=(n, n))
    named.sort_indices()
    edge = np.full(W.nnz, -1.0)
    keys = np.repeat(np.arange(n, dtype=np.int64), np.diff(W.indptr)) * n + W.indices
    forward = np.repeat(np.arange(n, dtype=np.int64), np.diff(named.indptr)) * n + named.indices
    edge[np.searchsorted(keys, forward)] = named.data
    backward = named.indices.astype(np.int64) * n + np.repeat(np.arange(n, dtype=np.int64), np.diff(named.indptr))
    edge[np.searchsorted(keys, backward)] = named.data  # d(i, j) and d(j, i) are the same bits
    return np.exp(-(edge / sigma) / sigma)


def transition_matrix(W: Any, *, n_jobs: int | None = None) -> sparse.csr_array:
    """Row-stochastic T = D~^-1 W~ with W~ = D^-1/2 W D^-1/2 (article, eq. 4-5).

    Parameters
    ----------
    W : sparse matrix of shape (n_samples, n_samples)
        Symmetric, non-negative; the diagonal is ignored.
    n_jobs : int, default=None
        Threads; None for all cores.  The answer does not depend on it.

    Returns
    -------
    csr_array of shape (n_samples, n_samples), float64
        Rows sum to 1; the row of an isolated node is 0.

    Raises
    ------
    ValueError
        If W is not square and symmetric, or holds negative or non-finite weights.

    Examples
    --------
    >>> transition_matrix([[0.0, 1.0], [1.0, 0.0]]).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    W = check_graph(W)
    values, _ = normalized_weights(W, stochastic=True, n_jobs=n_jobs)
    T = sparse.csr_array((values, W.indices, W.indptr), shape=W.shape)
    T.has_sorted_indices = True
    return T


def normalized_weights(
    W: sparse.csr_array, *, stochastic: bool, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Stored values of W~ (or of T) for a checked graph, and the row sums d~ of W~.

    W~ does not depend on the scale of W, so weights whose degrees would overflow, or whose products of roots would
    lose digits below the normal numbers, are first multiplied by an even power of two, which changes no bit.
    """
    n_threads = check_n_jobs(n_jobs)
    exponent = even_exponent(W.data)
    data = np.ldexp(W.data, exponent) if exponent else W.data
    degree = np.empty(W.shape[0])
    values = np.empty(W.nnz)
    row_sums = np.empty(W.shape[0])
    _weights.degrees(data, W.indptr, degree, n_threads)
    _weights.normalize(data, W.indices, W.indptr, degree, stochastic, values, row_sums, n_threads)
    return values, row_sums


def even_exponent(weights: np.ndarray) -> int:
    """The power of two that brings weights of an extreme range to a largest of about 2^990; 0 for ordinary ones."""
    largest = float(weights.max(initial=0.0))
    if largest == 0:
        return 0
    least = float(weights.min())
    if least == 0:
        least = float(weights[weights > 0].min())
    top = math.frexp(largest)[1]
    if top <= _LARGEST_EXPONENT and math.frexp(least)[1] >= -_LARGEST_EXPONENT // 2:
        return 0
    return (_LARGEST_EXPONENT - top) // 2 * 2
