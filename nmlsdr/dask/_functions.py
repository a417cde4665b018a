"""Neighbours and graphs of the rows of Dask arrays."""

from operator import itemgetter
from typing import Any

import numpy as np
from scipy import sparse

from .._checks.arguments import check_metric
from ..graph import as_distances, graph_of_lists
from ._neighbors import Lists, lists_of_queries, lists_of_rows, neighbors
from ._rows import DaskRows
from ._run import as_array, task


def kneighbors(
    X: Any, n_neighbors: int, *, queries: Any = None, metric: str = "euclidean", n_jobs: int = 1
) -> tuple[Any, Any]:
    """Exact nearest neighbours like `nmlsdr.graph.kneighbors`, for rows, queries or both as Dask arrays.

    Without queries, one task searches two blocks of rows for the neighbours of each in the other. With queries, one
    task searches one block of rows for one block of queries. The lists of all tasks are then merged. Nothing is
    computed before the result is.

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
    rows = others = DaskRows.of(X)
    if queries is None:
        lists = lists_of_rows(rows, n_neighbors, metric=metric, n_jobs=n_jobs)
    else:
        others = DaskRows.of(queries, "queries")
        lists = lists_of_queries(rows, others, n_neighbors, metric=metric, n_jobs=n_jobs)
    shape = (int(n_neighbors),)
    distances = [task("distances", _distances, each, metric) for each in lists]
    indices = [task("indices", itemgetter(1), each) for each in lists]
    return as_array(distances, others.sizes(), shape, np.float64), as_array(indices, others.sizes(), shape, np.intp)


def _distances(lists: Lists, metric: str) -> np.ndarray:
    return np.asarray(as_distances(lists.squared, metric))


def neighbor_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    edge_weights: str = "binary",
    sigma: float | None = None,
    metric: str = "euclidean",
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
