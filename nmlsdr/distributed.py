"""The same answers from Dask arrays: neighbours and predictions, block of rows by block of rows.

Dask is imported by the functions that need it (``pip install "nmlsdr[dask]"``).  They build Dask arrays and compute
nothing; where the blocks run, threads, processes or a cluster, is Dask's affair.  Because every distance is the
canonical one, and lists are merged by (squared distance, row index), how the rows are cut into blocks changes no bit.

The cells of the article's experiments run on a cluster by joblib's own means: ``joblib.parallel_config("dask")``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse

from ._errors import InputError
from ._validation import check_n_neighbors, check_rows, refuse_unequal_features
from .graph import graph_of_lists, squared_neighbors

__all__ = ["by_blocks", "kneighbors", "neighbor_graph"]


def kneighbors(X: Any, n_neighbors: int, *, queries: Any = None, n_jobs: int = 1) -> tuple[Any, Any]:
    """Exact neighbours as `nmlsdr.graph.kneighbors` gives them, with the rows, the queries, or both as Dask arrays.

    Every block of queries meets every block of rows in a task of its own; then its lists are merged.

    Parameters
    ----------
    X : dask array, array-like or sparse matrix of shape (n_samples, n_features)
        The rows to search.  A Dask array is cut by rows, its blocks are arrays or CSR matrices; what is in memory is
        one block.
    n_neighbors : int
        k.  At most n_samples - 1 without queries, n_samples with them.
    queries : dask array, array-like or sparse matrix of shape (n_queries, n_features), default=None
        None: the rows of X, each excluded from its own list by index.
    n_jobs : int, default=1
        Threads of a task; Dask runs tasks side by side.

    Returns
    -------
    distances : dask array of shape (n_queries, n_neighbors), float64
    indices : dask array of shape (n_queries, n_neighbors), intp
        Chunked as the queries are.

    Raises
    ------
    ValueError
        For unequal numbers of features, unknown chunk sizes, or k out of range; when computed, as
        `nmlsdr.graph.kneighbors`.
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
    dask, array = _dask()
    lists, sizes = _lists(dask, X, n_neighbors, queries, n_jobs)
    k = int(n_neighbors)
    found = []
    for part, dtype in ((0, np.float64), (1, np.intp)):
        pieces = [
            array.from_delayed(dask.delayed(_piece)(pair, part), shape=(size, k), dtype=dtype)
            for pair, size in zip(lists, sizes, strict=True)
        ]
        found.append(array.concatenate(pieces, axis=0))
    return found[0], found[1]


def neighbor_graph(
    X: Any, n_neighbors: int = 10, *, edge_weights: str = "binary", sigma: float | None = None, n_jobs: int = 1
) -> sparse.csr_array:
    """The graph W of `nmlsdr.graph.neighbor_graph`, its search done by Dask; for ``fit(X, y, graph=W)``.

    Parameters
    ----------
    X : dask array of shape (n_samples, n_features)
    n_neighbors : int, default=10
    edge_weights : {"binary", "rbf"}, default="binary"
    sigma : float, default=None
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
    dask, _ = _dask()
    lists = dask.compute(*_lists(dask, X, n_neighbors, None, n_jobs)[0])
    squared, indices = (np.concatenate(parts) for parts in zip(*lists, strict=True))
    return graph_of_lists(squared, indices, edge_weights=edge_weights, sigma=sigma)


def by_blocks(method: Callable[[Any], Any], X: Any) -> Any:
    """What a fitted model says of the rows of a Dask array, block by block.

    Parameters
    ----------
    method : callable
        ``model.predict``, ``model.predict_proba`` or ``model.transform``.  Give the model ``n_jobs=1`` where Dask
        runs several blocks side by side.
    X : dask array of shape (n_samples, n_features)

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
    _, array = _dask()
    X = array.asarray(X).rechunk({1: -1})
    one = np.asarray(method(np.zeros((1, X.shape[1]), dtype=X.dtype)))  # the number of columns, and the dtype
    if one.ndim == 1:
        return X.map_blocks(method, dtype=one.dtype, drop_axis=1, meta=one[:0])
    return X.map_blocks(method, dtype=one.dtype, chunks=(X.chunks[0], one.shape[1:]), meta=one[:0])


def _dask() -> tuple[ModuleType, ModuleType]:
    try:
        import dask
        import dask.array
    except ImportError:
        raise ImportError("nmlsdr.distributed needs Dask; install it with pip install 'nmlsdr[dask]'.") from None
    return dask, dask.array


def _lists(dask: Any, X: Any, n_neighbors: int, queries: Any, n_jobs: int) -> tuple[list[Any], list[int]]:
    """For each block of queries its delayed (squared distances, indices), and how many rows it has."""
    rows, sizes, n_features = _row_blocks(dask, X, "X")
    itself = queries is None
    asked, asked_sizes, width = (rows, sizes, n_features) if itself else _row_blocks(dask, queries, "queries")
    refuse_unequal_features(n_features, width)
    k = check_n_neighbors(n_neighbors, sum(sizes), exclude_self=itself)
    firsts = np.cumsum([0, *sizes]).tolist()
    search, merge = dask.delayed(_search), dask.delayed(_merge)
    lists = [
        merge(
            [
                search(block, None if itself and i == j else question, k, first, n_jobs)
                for j, (block, first, size) in enumerate(zip(rows, firsts, sizes, strict=False))
                if size
            ],
            k,
        )
        for i, question in enumerate(asked)
    ]
    return lists, asked_sizes


def _row_blocks(dask: Any, X: Any, name: str) -> tuple[list[Any], list[int], int]:
    """Blocks of rows as delayed values, their sizes, and the number of features."""
    if not dask.is_dask_collection(X):
        X = check_rows(X, name)
        return [dask.delayed(X, pure=False)], [X.shape[0]], X.shape[1]
    if X.ndim != 2:
        raise InputError(f"{name} must be a 2-D array of shape (n_samples, n_features), got {X.ndim} dimension(s).")
    if np.isnan(X.shape).any():
        raise InputError(f"{name} has chunks of unknown size; call its compute_chunk_sizes() first.")
    X = X.rechunk({1: -1})
    return X.to_delayed()[:, 0].tolist(), list(X.chunks[0]), X.shape[1]


def _search(rows: Any, queries: Any, k: int, first: int, n_jobs: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of a block's rows, at most k, numbered as in all rows; queries None: those of the block itself."""
    k = min(k, rows.shape[0] - (queries is None))
    if k == 0:  # a row alone in its block
        return np.empty((1, 0)), np.empty((1, 0), dtype=np.intp)
    squared, indices = squared_neighbors(rows, k, queries=queries, n_jobs=n_jobs)
    return squared, indices + first


def _merge(parts: list[tuple[np.ndarray, np.ndarray]], k: int) -> tuple[np.ndarray, np.ndarray]:
    squared, indices = (np.concatenate(lists, axis=1) for lists in zip(*parts, strict=True))
    order = np.lexsort((indices, squared), axis=1)[:, :k]
    return np.take_along_axis(squared, order, axis=1), np.take_along_axis(indices, order, axis=1)


def _piece(pair: tuple[np.ndarray, np.ndarray], part: int) -> np.ndarray:
    return pair[1] if part else np.sqrt(pair[0])
