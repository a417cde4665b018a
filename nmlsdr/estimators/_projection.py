"""What the linear projections share: the label rule, fitted attributes, transform, names of the outputs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._directions import Directions
from .._errors import InputError
from .._labels import Labels
from .._moments import centred_over_known, project
from .._remote import RemoteRows
from ._base import LearnsLabels, PropagatesLabels, read_rows
from ._callbacks import steps_of_fit

__all__ = ["Projection", "PropagatingProjection", "SupervisedProjection", "half_hard"]


class Projection(LearnsLabels, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear map x -> P'(x - mean), learned from labels."""

    _by_sums = True  # learned from sums over rows, wherever these are

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: Any) -> Any:
        """Project rows: X P - mean_'P, by blocks of rows.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)
            The rows; finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Dense for sparse X too.  float32 when X and the components are; sums are taken in float64.  Of a Dask
            array one, not yet computed.
        """
        check_is_fitted(self)
        rows = read_rows(self, X, reset=False)
        dtype = np.result_type(rows.dtype, self.components_.dtype)
        return project(rows, self.components_.T.astype(np.float64), self.mean_).astype(dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _read(self, X: Any, y: Any, labeled: Any) -> tuple[Any, Labels]:
        rows = read_rows(self, X, reset=True)
        if isinstance(rows, RemoteRows) and not self._by_sums:
            raise InputError(f"{type(self).__name__} needs rows in memory, got a Dask array; pass X.compute().")
        if rows.shape[0] == 1:
            raise InputError(f"{type(self).__name__} needs rows that differ, got 1 sample; give at least two.")
        return rows, self._read_labels(y, rows, labeled)

    def _keep(self, found: Directions) -> None:
        self.components_ = found.components
        self.eigenvalues_ = found.eigenvalues
        self.effective_rank_ = found.rank
        self.mean_ = found.mean


class SupervisedProjection(Projection):
    """Fits on the labelled rows and ignores the rest; a subclass answers with directions in ``_solve``."""

    def fit(self, X: Any, y: Any, *, labeled: Any = None) -> Self:
        """Learn the projection from the labelled rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; finite numbers.
        y : array of shape (n_samples, n_labels) or (n_samples,)
            0/1, a row of -1, NaN or null is unlabelled; or a list of label sets.  1-D: classes, -1 or null is
            unlabelled.
        labeled : array of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known, instead of -1.

        Returns
        -------
        self
            The fitted estimator.
        """
        rows, labels = self._read(X, y, labeled)
        Y = centred_over_known(labels.Y, labels.known) if labels.partly.any() else labels.Y
        if not labels.labeled.all():
            rows, Y = rows[labels.labeled], Y[labels.labeled]
            if len(Y) == 1:
                raise InputError(
                    f"{type(self).__name__} fits on the labelled rows and got 1 sample of them; label at least two."
                )
        self._keep(self._solve(rows, Y))
        return self

    def _solve(self, X: Any, Y: np.ndarray) -> Directions:
        raise NotImplementedError


class PropagatingProjection(PropagatesLabels, Projection):
    """Propagates the labels over the neighbour graph first and fits on all rows."""

    def fit(self, X: Any, y: Any, *, graph: Any = None, alpha: Any = None, labeled: Any = None) -> Self:
        """Propagate the labels and learn the projection from all rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; finite numbers.
        y : array of shape (n_samples, n_labels) or (n_samples,)
            1, 0 or not known (-1, NaN, null, masked), and votes between; or a list of label sets.  1-D: classes,
            -1 or null is unlabelled.
        graph : sparse matrix of shape (n_samples, n_samples), default=None
            A symmetric graph W instead of the neighbours of the rows.
        alpha : float or array of shape (n_samples,) or (n_samples, n_labels), default=None
            In [0, 1), for every row or entry, instead of ``alpha_labeled`` and ``alpha_unlabeled``.
        labeled : array of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known, instead of -1.

        Returns
        -------
        self
            The fitted estimator.
        """
        with steps_of_fit(self, X, y):
            rows, labels = self._read(X, y, labeled)
            self._learn(rows, labels, graph, alpha)
        return self

    def _learn(self, rows: Any, labels: Labels, graph: Any, alpha: Any) -> None:
        """What `fit` does once X and y are read."""
        raise NotImplementedError


def half_hard(F: np.ndarray, labels: Labels) -> np.ndarray:
    """F~: hard labels on known entries, soft ones on the others (article, section 3.3)."""
    return np.where(labels.known, F > 0.5, F)
