"""The exact neighbour search as a transformer, for pipelines that take a precomputed graph of distances."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._checks.arguments import check_choice, check_count, check_n_neighbors
from .._errors import InputError
from .._refit import new_fit
from .._search import rows_within, squared_neighbors
from .._search.metrics import METRIC_NAMES, METRICS
from .._search.radius import check_radius
from ._prepared import neighbors_of_queries
from ._sklearn_bases import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from ._steps import Steps, as_attribute

Mode = Literal["distance", "connectivity"]
Graph: TypeAlias = sparse.csr_matrix | sparse.csr_array  # as scikit-learn's setting sparse_interface has it


class _SearchSteps(Steps):
    """Rows of small types become float32, which is exact, as in `nmlsdr.graph.kneighbors`."""

    small = "float32"


@dataclass(eq=False, repr=False)
class ExactNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transform rows into the sparse graph of distances to their exact nearest training rows.

    It can replace scikit-learn's ``KNeighborsTransformer``: before an estimator with ``metric="precomputed"`` that
    needs the k nearest rows only (``KNeighborsClassifier``, ``Isomap``, ``LocalOutlierFactor``, ``TSNE``), as a
    neighbours object (``SMOTE`` of imbalanced-learn), or as the parameter ``neighbors`` of the estimators of this
    package. The neighbours are those of `nmlsdr.graph.kneighbors`. With ``radius`` it can replace
    ``RadiusNeighborsTransformer``, before ``DBSCAN`` or ``RadiusNeighborsClassifier``; the neighbours are then those of
    `nmlsdr.graph.radius_neighbors`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours k, at least 1. A training row counts as its own neighbour: in mode "distance" each row of
        the result has k + 1 entries, so k must be less than the number of training rows; in mode "connectivity" it has
        k, as in scikit-learn.
    radius : float or None, default=None
        None: the graph has the k nearest rows. A number of 0 or more: it has all rows at most at this distance, and
        ``n_neighbors`` is not used; give the estimator behind it no larger radius.
    mode : {"distance", "connectivity"}, default="distance"
        What the graph contains: distances, or ones.
    metric : str, default="euclidean"
        Distance between rows: one of those that `nmlsdr.graph.kneighbors` defines. "l2" and "minkowski" are
        other names of "euclidean"; "sqeuclidean" gives squared distances, without a radius.
    algorithm : object, default="auto"
        Ignored; part of scikit-learn's interface.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Attributes
    ----------
    training_rows_ : ndarray or CSR matrix of shape (n_samples, n_features)
        Copy of X. A memory map or a sparse matrix is not copied: do not change it while the transformer is in use.
    n_samples_fit_ : int
        Number of rows seen by `fit`, which is the number of columns of the result.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,), str
        Names of the features. Defined only if X is a data frame whose column names are all strings.

    See Also
    --------
    nmlsdr.graph.kneighbors, nmlsdr.graph.radius_neighbors : The searches, on arrays.
    nmlsdr.graph.ExactIndex : Rows prepared once, for a few queries at a time.

    Notes
    -----
    `fit_transform` puts each row first in its own list, at distance 0, even if it has more than k duplicates.
    `transform` returns the nearest training rows by distance; rows at equal distances are ordered by row number.

    Examples
    --------
    >>> from nmlsdr import ExactNeighborsTransformer
    >>> graph = ExactNeighborsTransformer(n_neighbors=1)
    >>> graph.fit_transform([[0.0], [1.0], [3.0]]).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    >>> graph.transform([[2.5]]).toarray().tolist()
    [[0.0, 1.5, 0.5]]

    DBSCAN with exact distances, which are not computed twice for two values of ``min_samples``:

    >>> from sklearn.cluster import DBSCAN
    >>> distances = ExactNeighborsTransformer(radius=1.0).fit_transform([[0.0], [1.0], [3.0]])
    >>> DBSCAN(eps=1.0, min_samples=2, metric="precomputed").fit_predict(distances).tolist()
    [0, 0, -1]
    """

    _row_order: ClassVar[None] = None  # neighbours are those of the public search, the first rows first
    _steps: ClassVar[type[Steps]] = _SearchSteps

    n_neighbors: int = 5
    _: KW_ONLY
    radius: float | None = None
    mode: Mode = "distance"
    metric: str = "euclidean"
    algorithm: Any = "auto"
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the rows to search.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; finite numbers. float32 and float64 are kept; bool, float16 and integers of 8 and 16 bits
            become float32, in which they are exact, other types float64.
        y : None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        ExactNeighborsTransformer
            The fitted transformer.

        Raises
        ------
        ValueError
            If X has non-finite values, or if a parameter is invalid.
        """
        with new_fit(self):
            check_count(self.n_neighbors, "n_neighbors")
            check_choice(self.metric, "metric", *METRIC_NAMES)
            check_choice(self.mode, "mode", "distance", "connectivity")
            self._check_radius()
            rows = self._steps.read_rows(self, X, reset=True)
            self.training_rows_ = as_attribute(rows)
            self.n_samples_fit_ = self._n_features_out = rows.shape[0]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Graph:  # type: ignore[override]
        """Fit, and return the graph of the training rows: each row, then its neighbours.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; finite numbers. float32 and float64 are kept; bool, float16 and integers of 8 and 16 bits
            become float32, in which they are exact, other types float64.
        y : None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        CSR matrix of shape (n_samples, n_samples), float64
            k + 1 distances in each row, in increasing order, of which the zeros of the diagonal are stored; or k ones.
            With ``radius`` the row itself and all rows within the radius.

        Raises
        ------
        ValueError
            If X has non-finite values, or if a parameter is invalid or ``n_neighbors`` too large.
        """
        with new_fit(self):
            self.fit(X)
            if self.radius is not None:
                return self._radius_graph(None)
            other_rows = self._row_length() - 1
            squared, indices = (neighbors[:, :other_rows] for neighbors in self._search(None, max(other_rows, 1)))
        row_numbers = np.arange(len(indices))
        return self._graph(np.insert(squared, 0, 0.0, axis=1), np.insert(indices, 0, row_numbers, axis=1), self.mode)

    def transform(self, X: Any) -> Graph:
        """Return the graph from rows to their nearest training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features)
            Rows whose neighbours are searched; finite numbers.

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit_), float64
            k + 1 distances in each row, in increasing order; or k ones. With ``radius`` all rows within the radius.

        Raises
        ------
        ValueError
            If X has non-finite values or another number of features than in `fit`, or ``n_neighbors`` is too large.
        sklearn.exceptions.NotFittedError
            If `fit` was not called before.
        """
        check_is_fitted(self)
        if self.radius is not None:
            return self._radius_graph(X)
        return self.kneighbors_graph(X, self._row_length(), self.mode)

    @overload
    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: Literal[True] = True
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]: ...

    @overload
    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, *, return_distance: Literal[False]
    ) -> NDArray[np.intp]: ...

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]] | NDArray[np.intp]:
        """Find the nearest training rows of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), default=None
            Rows whose neighbours are searched. None: the training rows, each of which is left out of its own list. A
            training row that is given as X is its own neighbour.
        n_neighbors : int, default=None
            Number of neighbours. None: ``n_neighbors`` of the transformer.
        return_distance : bool, default=True
            Whether to return distances too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float64
            Distances in increasing order; only with ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors), intp
            Row numbers of the neighbours. Neighbours at equal distances are in increasing order of row number.

        Raises
        ------
        ValueError
            If X has non-finite values or another number of features than in `fit`, or ``n_neighbors`` is too large.
        sklearn.exceptions.NotFittedError
            If `fit` was not called before.
        """
        squared, indices = self._search(X, n_neighbors)
        return (self._distances(squared), indices) if return_distance else indices

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: Mode = "connectivity") -> Graph:
        """Return the graph from rows to their nearest training rows, as `kneighbors` finds them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), default=None
            Rows whose neighbours are searched. None: the training rows, each of which is left out of its own list.
        n_neighbors : int, default=None
            Number of neighbours. None: ``n_neighbors`` of the transformer.
        mode : {"connectivity", "distance"}, default="connectivity"
            What the graph contains: ones, or distances.

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit_), float64
            ``n_neighbors`` entries in each row, in increasing order of the distance.

        Raises
        ------
        ValueError
            If X has non-finite values or another number of features than in `fit`, or ``n_neighbors`` is too large.
        sklearn.exceptions.NotFittedError
            If `fit` was not called before.
        """
        return self._graph(*self._search(X, n_neighbors), check_choice(mode, "mode", "distance", "connectivity"))

    def _check_radius(self) -> None:
        if self.radius is None:
            return
        check_radius(self.radius)
        if self.metric == "sqeuclidean":
            raise InputError('metric "sqeuclidean" takes no radius; use "euclidean", and the square of its distances.')

    def _radius_graph(self, X: Any) -> Any:
        """All training rows within the radius of rows; of the training rows if X is None, each itself first."""
        self._check_radius()
        rows = self.training_rows_
        queries = None if X is None else self._steps.read_rows(self, X)
        metric = METRIC_NAMES[self.metric]
        squared, columns, indptr = rows_within(
            rows, self.radius, queries=queries, metric=metric, n_jobs=self.n_jobs, checked=True
        )
        if X is None:
            squared = np.insert(squared, indptr[:-1], 0.0)
            columns = np.insert(columns, indptr[:-1], np.arange(len(indptr) - 1))
            indptr = indptr + np.arange(len(indptr), dtype=indptr.dtype)
        values = self._distances(squared) if self.mode == "distance" else np.ones(len(squared))
        shape = len(indptr) - 1, self.n_samples_fit_
        return as_attribute(sparse.csr_matrix((values, columns, indptr), shape=shape))

    def _row_length(self) -> int:
        """Entries in a row of `transform`."""
        itself = self.mode == "distance"
        return check_n_neighbors(self.n_neighbors, self.n_samples_fit_, exclude_self=itself) + itself

    def _search(self, X: Any, n_neighbors: int | None) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        rows = self.training_rows_
        if X is None:
            return squared_neighbors(rows, k, metric=METRIC_NAMES[self.metric], n_jobs=self.n_jobs, checked=True)
        return neighbors_of_queries(self, rows, self._steps.read_rows(self, X), k)

    def _distances(self, squared: np.ndarray) -> np.ndarray:
        if self.metric == "sqeuclidean":
            return squared
        return METRICS[METRIC_NAMES[self.metric]].finish(squared, out=squared)

    def _graph(self, squared: np.ndarray, indices: np.ndarray, mode: str) -> Any:
        n, k = indices.shape
        values = self._distances(squared).ravel() if mode == "distance" else np.ones(n * k)
        parts = values, indices.ravel(), np.arange(0, n * k + 1, k)
        return as_attribute(sparse.csr_matrix(parts, shape=(n, self.n_samples_fit_)))
