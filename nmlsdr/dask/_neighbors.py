"""Exact neighbours and graphs of rows that no process holds alone: a search in every task; its lists are merged."""

from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._checks.arguments import EdgeWeights, Metric, check_metric, check_n_neighbors, refuse_unequal_features
from .._moments import RowSums
from .._search import Known, squared_neighbors
from ..graph import as_distances, graph_of_lists
from ._plan import Plan, cut_rows, lines, make_plan
from ._rows import DaskRows, Reading
from ._run import as_array, each_result, import_dask, say, task

_NOWHERE = np.iinfo(np.intp).max  # the index of a neighbour that is not there


class Lists(NamedTuple):
    """Squared distances and row numbers (n_queries, k), in their order; what is missing is (inf, _NOWHERE)."""

    squared: np.ndarray
    indices: np.ndarray


def neighbors(rows: DaskRows, n_neighbors: int, *, metric: str = "euclidean", n_jobs: int | None = None) -> Lists:
    """What `squared_neighbors` answers for rows in memory; says its plan first."""
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=True)
    plan = make_plan(rows, k, metric=metric, n_jobs=n_jobs)
    say(str(plan))
    found = _empty(rows.shape[0], k)
    meetings = _meetings(rows, plan)
    # One by one, when a thread is free for it: a search needs no pair that is farther apart than those found so far.
    wanted = {"k": k, "metric": metric, "n_jobs": n_jobs}
    tasks = (
        rows.task(
            _search_meeting, places, places=places, known=Known(found.squared[_numbers(places), -1], edges), **wanted
        )
        for places, edges in meetings
    )
    for number, lists in each_result(tasks, "neighbours", len(meetings), plan.site.n_threads):
        at = _numbers(meetings[number][0])
        merged = merge([Lists(found.squared[at], found.indices[at]), lists], k)
        found.squared[at], found.indices[at] = merged
    return found


def lists_of_queries(
    rows: DaskRows, queries: DaskRows, n_neighbors: int, *, metric: str = "euclidean", n_jobs: int | None = None
) -> list[Any]:
    """For each block of the queries the `Lists` of its nearest rows as a delayed value.

    A task reads a block of queries and a block of rows.
    """
    refuse_unequal_features(rows.shape[1], queries.shape[1])
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=False)
    wanted = {"k": k, "metric": metric, "n_jobs": n_jobs}
    readings = [(rows.reading([(first, last)]), first) for first, last in rows.ranges() if last > first]
    return [
        task("merge", merge, [
            queries.task(_search_queries, [block], reading=reading, inputs=rows.inputs(reading), first=first, **wanted)
            for reading, first in readings
        ], k)
        for block in queries.ranges()
    ]  # fmt: skip


def merge(parts: list[Lists], k: int) -> Lists:
    """The k nearest of several lists of the same queries; a row that two of them name counts once."""
    squared = np.concatenate([part[0] for part in parts], axis=1)
    indices = np.concatenate([part[1] for part in parts], axis=1)
    order = np.lexsort((indices, squared), axis=1)
    squared, indices = np.take_along_axis(squared, order, axis=1), np.take_along_axis(indices, order, axis=1)
    # the same two rows have the same distance, so the copies of a row stand side by side
    again = np.zeros(squared.shape, dtype=bool)
    again[:, 1:] = (indices[:, 1:] == indices[:, :-1]) & (indices[:, 1:] != _NOWHERE)
    if again.any():
        first = np.argsort(again, axis=1, kind="stable")
        squared, indices = np.take_along_axis(squared, first, axis=1), np.take_along_axis(indices, first, axis=1)
    return Lists(np.ascontiguousarray(squared[:, :k]), np.ascontiguousarray(indices[:, :k]))


# ---------------------------------------------------------------- tasks


def _meetings(rows: DaskRows, plan: Plan) -> list[tuple[list[tuple[int, int]], np.ndarray]]:
    """For each meeting its ranges of rows, and the edges of those among them that an earlier one compares."""
    edges = cut_rows(rows.edges, plan.order**2).tolist()
    meetings = []
    for number, line in enumerate(lines(plan.order)):
        places = [(edges[part], edges[part + 1]) for part in sorted(line) if edges[part + 1] > edges[part]]
        sizes = [last - first for first, last in places]
        if places:  # the first lines, which are parallel, hold every part once
            meetings.append((places, np.cumsum([0, *(sizes if number >= plan.order else [])], dtype=np.intp)))
    return meetings


def _search_meeting(block: RowSums, places: list[tuple[int, int]], **wanted: Any) -> Lists:
    """The neighbours among these rows, numbered as in all rows, which keeps their order."""
    return _lists(block.rows, None, _numbers(places), **wanted)


def _search_queries(block: RowSums, reading: Reading, inputs: list[Any], first: int, **wanted: Any) -> Lists:
    rows = reading.rows(inputs)
    return _lists(rows, block.rows, np.arange(first, first + rows.shape[0]), **wanted)


def _lists(
    rows: Any, queries: Any, numbers: np.ndarray, *, k: int, metric: str, n_jobs: int | None, known: Known | None = None
) -> Lists:
    n_queries = rows.shape[0] if queries is None else queries.shape[0]
    found = _empty(n_queries, k)
    here = min(k, len(numbers) - (queries is None))
    if here and n_queries:
        squared, indices = squared_neighbors(
            rows, here, queries=queries, metric=metric, n_jobs=n_jobs, checked=True, known=known
        )
        there = indices != _NOWHERE
        found.squared[:, :here] = squared
        found.indices[:, :here][there] = numbers[indices[there]]
    return found


def _empty(n_queries: int, k: int) -> Lists:
    return Lists(np.full((n_queries, k), np.inf), np.full((n_queries, k), _NOWHERE, dtype=np.intp))


def _numbers(places: list[tuple[int, int]]) -> np.ndarray:
    return np.concatenate([np.arange(first, last) for first, last in places])


# ---------------------------------------------------------------- for users


def kneighbors(
    X: Any, n_neighbors: int, *, queries: Any = None, metric: Metric = "euclidean", n_jobs: int = 1
) -> tuple[Any, Any]:
    """Exact nearest neighbours like `nmlsdr.graph.kneighbors`, for rows, queries or both as Dask arrays.

    Without queries, the rows are searched at once, as in a fit. With queries, one task searches one block of rows for
    one block of queries, the lists of all tasks are merged, and nothing is computed before the result is.

    Parameters
    ----------
    X : dask array, array-like or sparse matrix of shape (n_samples, n_features)
        Rows to search; finite numbers. A Dask array must be divided by rows only; its blocks are arrays or CSR
        matrices, which must fit into memory one at a time.
    n_neighbors : int
        Number of neighbours k, at least 1; at most n_samples - 1 without queries, n_samples with queries.
    queries : dask array, array-like or sparse matrix of shape (n_queries, n_features), default=None
        Rows whose neighbours are searched. None: the rows of X, each of which is left out of its own list by its row
        number.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows. "euclidean": |x_i - x_j|. "cosine": 1 minus the cosine of the angle between the rows,
        which ignores their lengths; a row of zeros is at distance 1 from every other row.
    n_jobs : int, default=1
        Number of threads of each task. Dask itself runs several tasks at once.

    Returns
    -------
    distances : dask array of shape (n_queries, n_neighbors), float64
        Distances in increasing order, in the chunks of the queries.
    indices : dask array of shape (n_queries, n_neighbors), intp
        Row numbers of the neighbours in X, in the chunks of the queries.

    Raises
    ------
    ValueError
        If numbers of features differ, chunk sizes or ``metric`` are unknown, or ``n_neighbors`` is out of range.
        Errors in the values, as described in `nmlsdr.graph.kneighbors`, are raised when the result is computed.
    ImportError
        If Dask is not installed.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> X = da.from_array([[0.0], [1.0], [3.0]], chunks=(2, 1))  # doctest: +SKIP
    >>> distances, indices = kneighbors(X, n_neighbors=1)  # doctest: +SKIP
    >>> indices.compute().ravel().tolist()  # doctest: +SKIP
    [1, 0, 1]
    """
    check_metric(metric)
    rows, shape = DaskRows.of(X), (int(n_neighbors),)
    if queries is None:
        found, chunks = neighbors(rows, n_neighbors, metric=metric, n_jobs=n_jobs), (tuple(rows.sizes()), shape)
        from_array = import_dask().array.from_array
        return from_array(_distances(found, metric), chunks=chunks), from_array(found.indices, chunks=chunks)
    others = DaskRows.of(queries, "queries")
    lists = lists_of_queries(rows, others, n_neighbors, metric=metric, n_jobs=n_jobs)
    distances = [task("distances", _distances, each, metric) for each in lists]
    indices = [task("indices", itemgetter(1), each) for each in lists]
    return as_array(distances, others.sizes(), shape, np.float64), as_array(indices, others.sizes(), shape, np.intp)


def _distances(lists: Lists, metric: str) -> np.ndarray:
    return np.asarray(as_distances(lists.squared, metric))


def neighbor_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    edge_weights: EdgeWeights = "binary",
    sigma: float | None = None,
    metric: Metric = "euclidean",
    n_jobs: int = 1,
) -> sparse.csr_array:
    """The graph W of `nmlsdr.graph.neighbor_graph`, with the search done by Dask. Use it as ``fit(X, y, graph=W)``.

    Parameters
    ----------
    X : dask array of shape (n_samples, n_features)
        Rows; finite numbers.
    n_neighbors : int, default=10
        Number of neighbours k of each row, not counting the row itself; from 1 to n_samples - 1. A larger value gives
        a denser graph, in which labels spread further.
    edge_weights : {"binary", "rbf"}, default="binary"
        Weights of the edges of the neighbour graph. "binary": 1 (eq. 3). "rbf": exp(-|x_i - x_j|^2 / sigma^2), which
        gives near rows more weight (eq. 2). With ``metric="cosine"`` the rows are divided by their norms first.
    sigma : float or None, default=None
        Width of the "rbf" weights in the units of X, above 0. A larger value makes the weights more equal. None: the
        median over rows of the distance to the k-th neighbour. Not used by "binary".
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows. "euclidean": |x_i - x_j|. "cosine": 1 minus the cosine of the angle between the rows,
        which ignores their lengths; a row of zeros is at distance 1 from every other row.
    n_jobs : int, default=1
        Number of threads of each task. Dask itself runs several tasks at once.

    Returns
    -------
    csr_array of shape (n_samples, n_samples), float64
        The computed graph, in memory: O(n_samples n_neighbors) numbers.

    Raises
    ------
    ValueError
        For the reasons given in `nmlsdr.graph.neighbor_graph`.
    ImportError
        If Dask is not installed.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> neighbor_graph(da.from_array([[0.0], [1.0], [3.0]], chunks=(2, 1)), 1).toarray().tolist()  # doctest: +SKIP
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    check_metric(metric)
    lists = neighbors(DaskRows.of(X), n_neighbors, metric=metric, n_jobs=n_jobs)
    return graph_of_lists(*lists, edge_weights=edge_weights, sigma=sigma)
