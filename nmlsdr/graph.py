"""The neighbour graph: exact neighbours, the graph W of them, its transition matrix T (article 3.2, eq. 2-5).

`ExactIndex` prepares rows once and then answers queries for single new rows.

Neighbours are ordered by (squared distance, row index). The squared distance is computed by one formula, that of
``_c/distance.h``; it does not depend on threads, blocks, storage or the dtype of equal values.
"""

import copy
import math
import warnings
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import nmlsdr._weights as _weights

from ._checks import arguments
from ._checks.arguments import Metric
from ._process.threads import check_n_jobs, worthwhile_threads
from ._search import PreparedRows, choose_proposed, rows_within, squared_neighbors
from ._search.memory import is_memory_map
from ._search.metrics import search_metric

__all__ = ["ExactIndex", "kneighbors", "neighbor_graph", "radius_neighbors", "transition_matrix"]

EdgeWeights = Literal["binary", "rbf"]

# Edges for each thread of the weights, which need a square root and a division each: so many take 0.2 ms.
_EDGES_PER_THREAD = 50_000


def kneighbors(
    X: Any, n_neighbors: int, *, queries: Any = None, metric: Metric = "euclidean", n_jobs: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Exact k nearest neighbours by Euclidean distance, or by the angle between rows.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to search; finite numbers. float32 and float64 are kept, other types are converted to float64.
    n_neighbors : int
        Number of neighbours k, at least 1; at most n_samples - 1 without queries, n_samples with queries.
    queries : array-like or sparse matrix of shape (n_queries, n_features), default=None
        Rows whose neighbours are searched. None: the rows of X, each of which is left out of its own list by its row
        number; a duplicate of it, at distance 0, is a neighbour. ``queries=X`` leaves nothing out.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows. "euclidean": |x_i - x_j|. "cosine": 1 minus the cosine of the angle between the rows,
        which ignores their lengths; a row of zeros is at distance 1 from every other row. RBF weights of a graph take
        the squared distance of the rows divided by their norms.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Returns
    -------
    distances : ndarray of shape (n_queries, n_neighbors), float64
        Distances in increasing order.
    indices : ndarray of shape (n_queries, n_neighbors), intp
        Row numbers of the neighbours in X. Neighbours at equal squared distances are in increasing order of row
        number.

    Raises
    ------
    ValueError
        If X or queries have non-finite values, magnitudes above 1e150 or unequal numbers of features, if ``metric``
        is unknown, or if ``n_neighbors`` is out of range.

    Notes
    -----
    Squared distances below 1e-308 are rounded to 0, so that such rows are at equal distances.

    "cosine" divides every row by its norm, in a float64 copy of the rows, and searches these: 1 - cos is half of
    their squared distance. Rounding can make the distance between a row and a multiple of it differ from 0 by about
    1e-32.

    Examples
    --------
    >>> distances, indices = kneighbors([[0.0], [1.0], [3.0]], n_neighbors=1)
    >>> indices.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])

    The unit rows are (1, 0), (.6, .8) and (1, 0) again: 1 - cos is 1 - .6 between the first two, 0 between the first
    and the last, which is twice as long.

    >>> distances, indices = kneighbors([[1.0, 0.0], [3.0, 4.0], [2.0, 0.0]], n_neighbors=2, metric="cosine")
    >>> indices.tolist(), distances.round(12).tolist()
    ([[2, 1], [0, 2], [0, 1]], [[0.0, 0.4], [0.4, 0.4], [0.0, 0.4]])
    """
    squared, indices = squared_neighbors(X, n_neighbors, queries=queries, metric=metric, n_jobs=n_jobs)
    return search_metric(metric).finish(squared, out=squared), indices


def radius_neighbors(
    X: Any,
    radius: float,
    *,
    queries: Any = None,
    metric: Metric = "euclidean",
    sort: bool = True,
    max_bytes: int | None = None,
    n_jobs: int | None = None,
) -> sparse.csr_array:
    """All rows within a radius, exactly, as a sparse matrix of distances.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to search; finite numbers. float32 and float64 are kept, other types are converted to float64.
    radius : float
        Largest distance of a neighbour, 0 or more; infinity finds every row. A row at exactly this distance is a
        neighbour: the squared distance is compared with ``radius * radius``, in float64 ("cosine": 1 - cos with the
        radius).
    queries : array-like or sparse matrix of shape (n_queries, n_features), default=None
        Rows whose neighbours are searched. None: the rows of X, each of which is left out of its own list by its row
        number; a duplicate of it, at distance 0, is a neighbour. ``queries=X`` leaves nothing out.
    metric : str, default="euclidean"
        Distance between rows: one of those that `kneighbors` defines.
    sort : bool, default=True
        Order of the neighbours of a query. True: by distance, then by row number, as `kneighbors` has them. False: by
        row number, which SciPy calls sorted indices.
    max_bytes : int or None, default=None
        Largest size of the result, of which each neighbour needs 12 bytes. None: half of the memory of the machine.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Returns
    -------
    csr_array of shape (n_queries, n_samples), float64
        Distances. Those of duplicates are stored zeros, so never call ``eliminate_zeros``.

    Raises
    ------
    ValueError
        If the result is larger than ``max_bytes``, if ``radius`` is negative or NaN, or for the reasons given in
        `kneighbors`. Pass queries in blocks if all neighbours are not needed at once.

    See Also
    --------
    kneighbors : The k nearest rows.
    nmlsdr.ExactNeighborsTransformer : For estimators of scikit-learn with ``metric="precomputed"``, such as DBSCAN.

    Notes
    -----
    The distances are those of `kneighbors`, to the last bit. Neighbours are counted by a first search and stored by a
    second one, so that the memory is that of the result.

    Examples
    --------
    >>> neighbors = radius_neighbors([[0.0], [1.0], [3.0], [1.0]], radius=1.0)
    >>> neighbors.indptr.tolist(), neighbors.indices.tolist(), neighbors.data.tolist()
    ([0, 2, 4, 4, 6], [1, 3, 3, 0, 1, 0], [1.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    """
    squared, columns, indptr = rows_within(
        X, radius, queries=queries, metric=metric, max_bytes=max_bytes, n_jobs=n_jobs
    )
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    distances = search_metric(metric).finish(squared, out=squared)
    graph = sparse.csr_array((distances, columns, indptr), (len(indptr) - 1, n_rows))
    if not sort:
        graph.sort_indices()
    return graph


class ExactIndex:
    """Rows prepared once for many searches: the exact neighbours of a few new rows at a time.

    `query` returns the same results as ``kneighbors(X, n_neighbors, queries=queries)``, to the last bit. `kneighbors`
    checks all rows, divides them by their norms (for "cosine") and converts them in every call; the index does so
    once. A query of up to 249 rows then costs only their products with the rows of X. A query of more rows runs the
    search of `kneighbors`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to search; finite numbers. float32 and float64 are kept, other types are converted to float64. A memory
        map or a CSR matrix is not copied: do not change it while the index is in use.
    metric : str, default="euclidean"
        Distance between rows: one of those that `kneighbors` defines.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Attributes
    ----------
    n_samples_, n_features_ : int
        Number of rows and of features of X.

    Raises
    ------
    ValueError
        If X has non-finite values or magnitudes above 1e150, or if ``metric`` is unknown.

    See Also
    --------
    kneighbors : The search without an index.

    Notes
    -----
    The index keeps a copy of dense rows and another copy of them in float32; for sparse rows it keeps about twice the
    stored values. With "cosine" it also keeps the rows divided by their norms, in float64. A memory map larger than
    half of the memory is not copied, except where X has up to 8 features. The index does not change after it is made,
    so any number of threads may use it at once. A pickle contains X only; the first query prepares the rows again.

    Examples
    --------
    >>> index = ExactIndex([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0]])
    >>> distances, rows = index.query([[3.0, 3.0]], n_neighbors=2)
    >>> rows.tolist(), distances.tolist() == [[1.0, 13**0.5]]
    ([[2, 1]], True)
    """

    def __init__(self, X: Any, *, metric: Metric = "euclidean", n_jobs: int | None = None) -> None:
        rows = arguments.check_rows(X, small="float32")
        self._rows = rows if sparse.issparse(rows) or is_memory_map(rows) else rows.copy()
        self._metric = arguments.check_metric(metric)
        self._n_jobs = n_jobs
        # The prepared rows, computed from self._rows and self._metric.  None after unpickling, until they are needed.
        self._prepared: PreparedRows | None = self._prepare()

    def _prepare(self) -> PreparedRows:
        return PreparedRows(self._rows, self._metric, check_n_jobs(self._n_jobs))

    @property
    def n_samples_(self) -> int:
        return int(self._rows.shape[0])

    @property
    def n_features_(self) -> int:
        return int(self._rows.shape[1])

    def query(
        self, queries: Any, n_neighbors: int, *, allowed: Any = None
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Find the k nearest rows of X for each query, or the k nearest of the allowed rows.

        Parameters
        ----------
        queries : array-like or sparse matrix of shape (n_queries, n_features)
            Rows whose neighbours are searched. A row of X is not left out of its own list.
        n_neighbors : int
            Number of neighbours k, from 1 to n_samples, or to the number of allowed rows.
        allowed : array-like of shape (n_samples,), bool, default=None
            True for the rows of X that may be neighbours of these queries. None: all may. The result is that of an
            index of the allowed rows alone, with the row numbers of X.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float64
            Distances in increasing order.
        indices : ndarray of shape (n_queries, n_neighbors), intp
            Row numbers of the neighbours in X. Neighbours at equal squared distances are in increasing order of row
            number.

        Raises
        ------
        ValueError
            If queries have non-finite values, magnitudes above 1e150 or another number of features than X, if
            ``n_neighbors`` is out of range, or if ``allowed`` is no boolean array of that shape.
        """
        prepared = self._prepared
        if prepared is None:  # after a pickle; two threads may both do it, and one result stays
            self._prepared = prepared = self._prepare()
        n_threads = check_n_jobs(self._n_jobs)
        squared, indices = prepared.neighbors(
            arguments.check_rows(queries, "queries", small="float32"), n_neighbors, n_threads, allowed=allowed
        )
        return search_metric(self._metric).finish(squared, out=squared), indices

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_prepared": None}

    def __repr__(self) -> str:
        return f"ExactIndex({self.n_samples_} x {self.n_features_}, metric={self._metric!r}, n_jobs={self._n_jobs})"


def neighbor_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    edge_weights: EdgeWeights = "binary",
    sigma: float | None = None,
    metric: Metric = "euclidean",
    neighbors: Any = "exact",
    n_jobs: int | None = None,
) -> sparse.csr_array:
    r"""Symmetric k-nearest-neighbour graph W, equations (2) and (3) of the article.

    W_ij is 1 ("binary") or exp(-|x_i - x_j|^2 / sigma^2) ("rbf") if i is among the k nearest neighbours of j, or j
    among those of i; this is called the OR rule. Otherwise it is 0.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows; finite numbers. float32 and float64 are kept, other types are converted to float64.
    n_neighbors : int, default=10
        Number of neighbours k of each row, not counting the row itself; from 1 to n_samples - 1. A larger value gives
        a denser graph, in which labels spread further.
    edge_weights : {"binary", "rbf"}, default="binary"
        Weights of the edges of the neighbour graph. "binary": 1 (eq. 3). "rbf": exp(-|x_i - x_j|^2 / sigma^2), which
        gives near rows more weight (eq. 2).
    sigma : float or None, default=None
        Width of the "rbf" weights in the units of X, above 0. A larger value makes the weights more equal. None: the
        median over rows of the distance to the k-th neighbour, of those that are not 0. Not used by "binary".
    metric : str, default="euclidean"
        Distance between rows: one of those that `kneighbors` defines.
    neighbors : "exact" or transformer, default="exact"
        How neighbours are found. "exact": an exact search by ``metric``; of equally distant rows the first comes
        first. A transformer such as scikit-learn's ``KNeighborsTransformer`` or pynndescent's, whose
        ``fit_transform`` returns a CSR matrix of distances, proposes candidates, and the nearest k of them by
        ``metric`` are used. Most transformers count a row as its own neighbour; give these k + 1 neighbours.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Returns
    -------
    csr_array of shape (n_samples, n_samples), float64
        Symmetric, with a zero diagonal and sorted indices. A weight that underflows is stored as 0.

    Raises
    ------
    ValueError
        If ``edge_weights`` or ``metric`` is unknown, if ``sigma`` is not positive, or for the reasons given in
        `kneighbors`.

    Warns
    -----
    UserWarning
        If X looks like an array of neighbour lists: every row has n_neighbors different row numbers and never its
        own.

    Notes
    -----
    With :math:`N_i` the k nearest neighbours of row i, and 1 in place of the exponential for "binary":

    .. math::

        W_{ij} = \exp\left( -\|x_i - x_j\|^2 / \sigma^2 \right) \text{ if } j \in N_i \text{ or } i \in N_j,
        \text{ else } 0.

    Examples
    --------
    >>> neighbor_graph([[0.0], [1.0], [3.0]], n_neighbors=1).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    _check_weights(edge_weights, sigma)
    _warn_of_lists(X, n_neighbors)
    if arguments.asks_exact(neighbors):
        lists = squared_neighbors(X, n_neighbors, metric=metric, n_jobs=n_jobs)
    else:
        proposed = copy.deepcopy(neighbors).fit_transform(X)  # the user's object stays as it is
        lists = choose_proposed(X, proposed, n_neighbors, metric=metric, n_jobs=n_jobs)
    return graph_of_lists(*lists, edge_weights=edge_weights, sigma=sigma)


def _warn_of_lists(X: Any, n_neighbors: int) -> None:
    """Warn where rows look like lists of neighbours: distinct row numbers, n_neighbors of them, never the row's own."""
    if sparse.issparse(X):
        return
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != n_neighbors or X.dtype.kind not in "iuf" or len(X) == 0:
        return
    itself = np.arange(len(X))[:, None]
    if X.min() < 0 or X.max() >= len(X) or (np.floor(X) != X).any() or (itself == X).any():
        return
    if (np.diff(np.sort(X, axis=1), axis=1) != 0).all():
        warnings.warn(
            f"Every row of X holds {n_neighbors} different row numbers and never its own, so X looks like lists of "
            "neighbours. neighbor_graph takes the rows themselves and searches their neighbours.",
            stacklevel=3,
        )


def _check_weights(edge_weights: str, sigma: float | None) -> None:
    arguments.check_choice(edge_weights, "edge_weights", *get_args(EdgeWeights))
    if sigma is not None:
        arguments.check_real(sigma, "sigma, if not None,", 0.0, math.inf, low_open=True)


def graph_of_lists(
    squared: np.ndarray, indices: np.ndarray, *, edge_weights: EdgeWeights = "binary", sigma: float | None = None
) -> sparse.csr_array:
    """W of eq. (2)-(3) from squared distances and indices, so that one search serves a graph and a classifier."""
    _check_weights(edge_weights, sigma)
    W = union_graph(indices)
    if edge_weights == "rbf":
        W.data[:] = _rbf_weights(W, squared, indices, sigma)
    return W


def union_graph(indices: np.ndarray) -> sparse.csr_array:
    """The binary graph of the OR rule from each row's neighbours (n, k): eq. (3)."""
    n, k = indices.shape
    index_type: Any = np.int32 if 2 * n * k < 2**31 else np.int64
    columns = np.sort(indices.astype(index_type, copy=False), axis=1).ravel()
    lists = sparse.csr_array((np.ones(n * k, np.int8), columns, k * np.arange(n + 1, dtype=index_type)), shape=(n, n))
    lists.has_canonical_format = True
    W = lists + lists.T.tocsr()
    W.data = np.ones(W.nnz)
    W.has_canonical_format = True
    return W


def _rbf_weights(W: sparse.csr_array, squared: np.ndarray, indices: np.ndarray, sigma: float | None) -> np.ndarray:
    """exp(-d^2 / sigma^2) on the edges of W, eq. (2), from the lists that made the edges."""
    if sigma is None:
        distances = np.sqrt(squared[:, -1])
        above = distances[distances > 0]  # rows with k duplicates say nothing about the scale of the others
        sigma = float(np.median(above)) if len(above) else 1.0  # any width gives duplicates the weight 1
    n, k = indices.shape
    edge = np.empty(W.nnz)
    keys = np.repeat(np.arange(n, dtype=np.int64), np.diff(W.indptr)) * n + W.indices
    rows = np.repeat(np.arange(n, dtype=np.int64), k)
    columns = indices.ravel().astype(np.int64)
    edge[np.searchsorted(keys, rows * n + columns)] = squared.ravel()
    edge[np.searchsorted(keys, columns * n + rows)] = squared.ravel()  # d(i, j) and d(j, i) are the same bits
    return np.exp(-(edge / sigma) / sigma)


def transition_matrix(W: Any, *, n_jobs: int | None = None) -> sparse.csr_array:
    r"""Row-stochastic transition matrix T = D~^-1 W~ with W~ = D^-1/2 W D^-1/2 (equations 4 and 5).

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_samples, n_samples)
        Symmetric graph with weights of 0 or more. The diagonal is ignored.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Returns
    -------
    csr_array of shape (n_samples, n_samples), float64
        T. Each row sums to 1, except that the row of a node without neighbours is 0.

    Raises
    ------
    ValueError
        If W is not square and symmetric, or has negative or non-finite weights.

    Notes
    -----
    .. math::

        \tilde W = D^{-1/2} W D^{-1/2}, \quad D_{ii} = \sum_j W_{ij}, \qquad
        T = \tilde D^{-1} \tilde W, \quad \tilde D_{ii} = \sum_j \tilde W_{ij}.

    Examples
    --------
    >>> transition_matrix([[0.0, 1.0], [1.0, 0.0]]).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return transition_of_graph(arguments.check_graph(W), n_jobs=n_jobs)


def transition_of_graph(W: sparse.csr_array, *, n_jobs: int | None = None) -> sparse.csr_array:
    """`transition_matrix` of a checked graph."""
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
    n_threads = worthwhile_threads(check_n_jobs(n_jobs), W.nnz, _EDGES_PER_THREAD)
    exponent = even_exponent(W.data)
    if exponent:
        W = sparse.csr_array((np.ldexp(W.data, exponent), W.indices, W.indptr), shape=W.shape)
    degree = W @ np.ones(W.shape[0])
    values = np.empty(W.nnz)
    row_sums = np.empty(W.shape[0])
    _weights.normalize(W.data, W.indices, W.indptr, degree, stochastic, values, row_sums, n_threads)
    return values, row_sums


def even_exponent(weights: np.ndarray) -> int:
    """The power of two that brings weights of an extreme range to a largest of about 2^990; 0 for ordinary ones."""
    return int(_weights.even_exponent(weights))
