"""The same answers from Dask arrays: neighbours, graphs and predictions of rows that are in no single process.

NMLSDR, ResidualPropagation, MDDM, MultiLabelCCA, SSMLDR, MultiLabelPropagation, MLkNN and SemiSupervisedMLkNN take
Dask arrays in ``fit`` themselves, and answer them with Dask arrays; these functions are what they are made of.  Because
every distance is the canonical one, and lists are merged by (squared distance, row index), how the rows are cut into
blocks changes no bit.

Dask is imported by the functions that need it (``pip install "nmlsdr[dask]"``); where the tasks run, threads, processes
or a cluster, is Dask's affair.  The cells of the article's experiments run on a cluster by joblib's own means:
``joblib.parallel_config("dask")``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ._dask.files import open_rows
from ._dask.neighbors import lists_of_queries, lists_of_rows, neighbors
from ._dask.rows import Rows
from ._dask.source import import_dask, is_dask
from ._search import squared_neighbors
from ._validation import check_metric, check_rows, refuse_unequal_features
from .graph import as_distances, graph_of_lists

__all__ = ["by_blocks", "kneighbors", "neighbor_graph", "open_rows"]


def kneighbors(
    X: Any, n_neighbors: int, *, queries: Any = None, metric: str = "euclidean", n_jobs: int = 1
) -> tuple[Any, Any]:
    """Exact neighbours as `nmlsdr.graph.kneighbors` gives them, with the rows, the queries, or both as Dask arrays.

    Without queries any two parts of the rows meet in one task, which serves both; a block of queries meets every block
    of rows in a task of its own.  Then the lists are merged.  Nothing is computed before the answer is.

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
    dask = import_dask()
    array = dask.array
    check_metric(metric)
    rows = _rows(X, "X")
    others = None if queries is None else _rows(queries, "queries")
    if others is not None:
        refuse_unequal_features(rows.shape[1], others.shape[1])
    if others is None:
        lists = lists_of_rows(rows, n_neighbors, metric=metric, n_jobs=n_jobs)
    else:
        lists = lists_of_queries(rows, others, n_neighbors, metric=metric, n_jobs=n_jobs)
    blocks = rows if others is None else others
    sizes = np.diff(blocks.edges).tolist() if isinstance(blocks, Rows) else [blocks.shape[0]]
    k = int(n_neighbors)
    found = []
    for part, dtype in ((0, np.float64), (1, np.intp)):
        pieces = [
            array.from_delayed(dask.delayed(_piece)(pair, part, metric), shape=(size, k), dtype=dtype)
            for pair, size in zip(lists, sizes, strict=True)
        ]
        found.append(array.concatenate(pieces, axis=0))
    return found[0], found[1]


def neighbor_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    edge_weights: str = "binary",
    sigma: float | None = None,
    metric: str = "euclidean",
    n_jobs: int = 1,
) -> sparse.csr_array:
    """The graph W of `nmlsdr.graph.neighbor_graph`, its search done by Dask; for ``fit(X, y, graph=W)``.

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
    rows = _rows(X, "X")
    if isinstance(rows, Rows):
        squared, indices = neighbors(rows, n_neighbors, metric=metric, n_jobs=n_jobs)
    else:
        squared, indices = squared_neighbors(rows, n_neighbors, metric=metric, n_jobs=n_jobs, checked=True)
    return graph_of_lists(squared, indices, edge_weights=edge_weights, sigma=sigma)


def by_blocks(method: Callable[[Any], Any], X: Any) -> Any:
    """What a fitted model says of the rows of a Dask array, block by block.

    Parameters
    ----------
    method : callable
        ``model.predict``, ``model.predict_proba`` or ``model.transform``.  Give the model ``n_jobs=1`` where Dask
        runs several blocks side by side.
    X : dask array of shape (n_samples, n_features)
        The rows; finite numbers.

    Returns
    -------
    dask array of shape (n_samples, ...)
        Chunked as X is.  The bits of ``method`` on all rows at once; of ``transform``, up to 1e-10.

    Raises
    ------
    ValueError
        When computed, as ``method``.
    ImportError
        Without Dask.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from nmlsdr import MLkNN
    >>> model = MLkNN(1, n_jobs=1).fit([[0.0], [0.1], [5.0], [5.1]], [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> by_blocks(model.predict, da.from_array([[0.2], [4.9], [0.0]], chunks=(2, 1))).compute()  # doctest: +SKIP
    array([[1, 0],
           [0, 1],
           [1, 0]])
    """
    array = import_dask().array
    X = array.asarray(X).rechunk({1: -1})
    one = np.asarray(method(np.zeros((1, X.shape[1]), dtype=X.dtype)))  # the number of columns, and the dtype
    if one.ndim == 1:
        return X.map_blocks(method, dtype=one.dtype, drop_axis=1, meta=one[:0])
    return X.map_blocks(method, dtype=one.dtype, chunks=(X.chunks[0], one.shape[1:]), meta=one[:0])


def _rows(X: Any, name: str) -> Any:
    import_dask()
    return Rows.of(X, name) if is_dask(X) else check_rows(X, name)


def _piece(lists: Any, part: int, metric: str) -> np.ndarray:
    return np.asarray(lists[1] if part else as_distances(lists[0], metric))
