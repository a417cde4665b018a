"""Neighbours and graphs of the rows of Dask arrays."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
from scipy import sparse

from .._checks.arguments import check_metric
from ..graph import as_distances, graph_of_lists
from ._neighbors import Lists, lists_of_queries, lists_of_rows, neighbors
from ._rows import DaskRows
from ._run import as_array, task

__all__ = ["kneighbors", "neighbor_graph"]


def kneighbors(
    X: Any, n_neighbors: int, *, queries: Any = None, metric: str = "euclidean", n_jobs: int = 1
) -> tuple[Any, Any]:
    """Exact neighbours as `nmlsdr.graph.kneighbors` gives them, with the rows, the queries, or both as Dask arrays.

    Without queries any two parts of the rows are searched in one task, which serves both.  A block of queries is
    searched against every block of rows in a task of its own.  Then the lists are merged.  Nothing is computed before
    the answer is.

    Parameters
    ----------
    X : dask array, array-like or sparse matrix of shape (n_samples, n_features)
        The rows to search.  A Dask array is cut by rows, its blocks are arrays or CSR matrices; what is in memory is
        one block.
    n_neighbors : int
        k.  At most n_samples - 1 without queries, n_samples with them.
    queries : dask array, array-like or sparse matrix of shape (n_queries, n_features), default=None
        None: the rows of X, each excluded from its own list by index.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine": 1 - cos of the angle between two rows; a row of zeros is at distance 1 from every row.
    n_jobs : int, default=1
        Threads of a task; Dask runs tasks side by side.

    Returns
    -------
    distances : dask array of shape (n_queries, n_neighbors), float64
        Increasing within a row; chunked as the queries are.
    indices : dask array of shape (n_queries, n_neighbors), intp
        Chunked as the queries are.

    Raises
    ------
    ValueError
        For unequal numbers of features, unknown chunk sizes, an unknown ``metric``, or k out of range; when computed,
        as `nmlsdr.graph.kneighbors`.
    ImportError
        Without Dask.

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
    """The graph W of `nmlsdr.graph.neighbor_graph` with the search done by Dask, for ``fit(X, y, graph=W)``.

    Parameters
    ----------
    X : dask array of shape (n_samples, n_features)
        The rows; finite numbers.
    n_neighbors : int, default=10
        k, self excluded.
    edge_weights : {"binary", "rbf"}, default="binary"
        Weights of the edges: 1, or exp(-|x_i - x_j|^2 / sigma^2).
    sigma : float, default=None
        Width of "rbf"; None: the median over rows of the distance to the k-th neighbour.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine": rows are divided by their norms first, here and in the weights.
    n_jobs : int, default=1
        Threads of a task.

    Returns
    -------
    csr_array of shape (n_samples, n_samples), float64
        Computed, in memory: O(n_samples n_neighbors) numbers.

    Raises
    ------
    ValueError
        As `nmlsdr.graph.neighbor_graph`.
    ImportError
        Without Dask.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> neighbor_graph(da.from_array([[0.0], [1.0], [3.0]], chunks=(2, 1)), 1).toarray().tolist()  # doctest: +SKIP
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    check_metric(metric)
    lists = neighbors(DaskRows.of(X), n_neighbors, metric=metric, n_jobs=n_jobs)
    return graph_of_lists(*lists, edge_weights=edge_weights, sigma=sigma)
