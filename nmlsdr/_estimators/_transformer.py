"""The exact neighbour search as a transformer, for pipelines that take a precomputed graph of distances."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._checks.arguments import Metric, check_n_neighbors
from .._refit import new_fit
from .._search import squared_neighbors
from ..graph import as_distances
from ._base import LearnsLabels, neighbors_of_queries
from ._sklearn_bases import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin


@dataclass(eq=False, repr=False)
class ExactNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LearnsLabels, BaseEstimator):
    """Transform rows into the sparse graph of distances to their exact nearest training rows.

    It can replace scikit-learn's ``KNeighborsTransformer(mode="distance")``, either before an estimator with
    ``metric="precomputed"`` (``KNeighborsClassifier``, ``Isomap``, ``DBSCAN``, ``TSNE``), or as the parameter
    ``neighbors`` of the estimators of this package. The neighbours are those of `nmlsdr.graph.kneighbors`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours k, at least 1 and less than the number of training rows. Each row of the result has k + 1
        entries, since a training row counts as its own neighbour.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows. "euclidean": |x_i - x_j|. "cosine": 1 minus the cosine of the angle between the rows,
        which ignores their lengths; a row of zeros is at distance 1 from every other row.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use; a negative number counts back from there,
        so that -1 means the same as None. The results do not depend on it.

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
    nmlsdr.graph.kneighbors : The search, on arrays.
    nmlsdr.graph.ExactIndex : Rows prepared once, for a few queries at a time.

    Notes
    -----
    `fit_transform` puts each row first in its own list, at distance 0, even if it has more than k duplicates.
    `transform` returns the k + 1 nearest training rows by distance; rows at equal distances are ordered by row
    number.

    Examples
    --------
    >>> from nmlsdr import ExactNeighborsTransformer
    >>> graph = ExactNeighborsTransformer(n_neighbors=1)
    >>> graph.fit_transform([[0.0], [1.0], [3.0]]).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    >>> graph.transform([[2.5]]).toarray().tolist()
    [[0.0, 1.5, 0.5]]
    """

    n_neighbors: int = 5
    _: KW_ONLY
    metric: Metric = "euclidean"
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
            Training rows; finite numbers. float32 and float64 are kept, other types are converted to float64.
        y : None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        ExactNeighborsTransformer
            The fitted transformer.

        Raises
        ------
        ValueError
            If X has non-finite values, or if ``n_neighbors`` is not less than the number of rows.
        """
        with new_fit(self):
            rows = self._read_rows(X, reset=True)
            check_n_neighbors(self.n_neighbors, rows.shape[0], exclude_self=True)
            self.training_rows_ = self._as_attribute(rows)
            self.n_samples_fit_ = self._n_features_out = rows.shape[0]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_array:  # type: ignore[override]
        """Fit, and return the graph of the training rows: each row, then its k nearest others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; finite numbers. float32 and float64 are kept, other types are converted to float64.
        y : None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        CSR matrix of shape (n_samples, n_samples), float64
            k + 1 distances in each row, in increasing order. The zeros of the diagonal are stored.

        Raises
        ------
        ValueError
            If X has non-finite values, or if ``n_neighbors`` is not less than the number of rows.
        """
        with new_fit(self):
            rows = self.fit(X).training_rows_
            squared, indices = squared_neighbors(
                rows, self.n_neighbors, metric=self.metric, n_jobs=self.n_jobs, checked=True
            )
        return self._graph(np.insert(squared, 0, 0.0, axis=1), np.insert(indices, 0, np.arange(len(indices)), axis=1))

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the graph from rows to their k + 1 nearest training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features)
            Rows whose neighbours are searched; finite numbers.

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit_), float64
            k + 1 distances in each row, in increasing order.

        Raises
        ------
        ValueError
            If X has non-finite values or another number of features than in `fit`.
        sklearn.exceptions.NotFittedError
            If `fit` was not called before.
        """
        check_is_fitted(self)
        queries = self._read_rows(X, reset=False)
        return self._graph(*neighbors_of_queries(self, self.training_rows_, queries, self.n_neighbors + 1))

    def _graph(self, squared: np.ndarray, indices: np.ndarray) -> Any:
        n, k = indices.shape
        distances = as_distances(squared, self.metric, out=squared).ravel()
        parts = distances, indices.ravel(), np.arange(0, n * k + 1, k)
        return self._as_attribute(sparse.csr_matrix(parts, shape=(n, self.n_samples_fit_)))
