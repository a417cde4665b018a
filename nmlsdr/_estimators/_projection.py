"""What the linear projections share: the label rule, fitted attributes, transform, names of the outputs."""

import dataclasses
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._checks.arguments import check_real
from .._checks.labels import Labels
from .._moments import RowSums, centred_over_known
from .._projections.directions import Directions
from .._refit import new_fit
from .._ridge import SHRINKAGE_GRID
from ..projection import feature_weights, hsic_directions, shrunken_weights
from ._base import LearnsLabels, PropagatesLabels, refuse_one
from ._callbacks import step, steps_of_fit
from ._sklearn_bases import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin


class Projection(LearnsLabels, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear map x -> P'(x - mean), learned from labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """Project rows: return (X - mean_) P.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to project; finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The projected rows, dense for sparse X too. float32 if X and the components are float32, otherwise
            float64; sums are computed in float64.

        Raises
        ------
        ValueError
            If X has non-finite values or another number of features than in `fit`.
        sklearn.exceptions.NotFittedError
            If `fit` was not called before.
        """
        check_is_fitted(self)
        return self._project_rows(self._read_rows(X, reset=False))

    def _project_rows(self, rows: Any) -> Any:
        Z = RowSums.of(rows, checked=True).project(self.components_.T.astype(np.float64), self.mean_)
        return Z.astype(np.result_type(rows.dtype, self.components_.dtype), copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _read(self, X: Any, y: Any, labeled: Any) -> tuple[Any, Labels]:
        rows = self._read_rows(X, reset=True)
        return rows, self._read_labels(X, y, rows, labeled)

    def _keep(self, found: Directions) -> None:
        self.components_ = found.components
        self.eigenvalues_ = found.eigenvalues
        self.effective_rank_ = found.rank
        self.mean_ = found.mean


class SupervisedProjection(Projection):
    """Fits on the labelled rows and ignores the rest; a subclass returns directions from ``_solve``."""

    def _fit(self, X: Any, y: Any, labeled: Any) -> Self:
        """What the ``fit`` of each subclass does."""
        with new_fit(self):
            rows, labels = self._read(X, y, labeled)
            Y = centred_over_known(labels.Y, labels.known) if labels.partly.any() else labels.Y
            if not labels.labeled.all():
                rows, Y = rows[labels.labeled], Y[labels.labeled]
                refuse_one(self, len(Y), "labelled rows")
            self._keep(self._solve(rows, Y))
        return self


class PropagatingProjection(PropagatesLabels, Projection):
    """Propagates the labels over the neighbour graph and fits on all rows; a subclass does so in ``_learn``."""

    def _fit(self, X: Any, y: Any, graph: Any, alpha: Any, labeled: Any) -> Self:
        """What the ``fit`` of each subclass does."""
        with steps_of_fit(self, X, y):
            rows, labels = self._read(X, y, labeled)
            self._learn(rows, labels, graph, alpha)
        return self


def half_hard(F: np.ndarray, labels: Labels) -> np.ndarray:
    """F~: hard labels on known entries, soft ones on the others (article, section 3.3)."""
    return np.where(labels.known, F > 0.5, F)


# ---------------------------------------------------------------- on shrunken features


N_SPLITS = 5  # folds of the cross-validation


class ShrunkenProjection(PropagatingProjection):
    """NMLSDR on S = X diag(w)^1/2, written as a map of X: its graph and its directions see feature j by w_j."""

    def _keep_weights(self, rows: Any, labels: Labels, shrinkage: float) -> None:
        """w(b) from the labelled rows; sets shrinkage_ and feature_weights_."""
        self.shrinkage_ = shrinkage
        self.feature_weights_ = np.ones(rows.shape[1])
        if shrinkage == 0:
            return
        if labels.labeled.sum() == 1:
            warnings.warn(
                "One labelled row does not distinguish dependence from chance, so no feature is shrunken; label more "
                "rows.",
                stacklevel=5,
            )
            return
        w = shrunken_weights(feature_weights(*labeled_part(rows, labels), known=known_part(labels)), shrinkage)
        if w.any():
            self.feature_weights_ = w
        else:
            warnings.warn(
                "No feature depends on the labels more than expected by chance, so no feature is shrunken; "
                "check that the rows of X and y belong together, or label more rows.",
                stacklevel=5,
            )

    def _project(self: Any, rows: Any, labels: Labels, graph: Any, alpha: Any) -> None:
        """Propagate over the graph of S and project S (article, eq. 8 and 13-14); sets what NMLSDR has."""
        w = self.feature_weights_
        shrunken = not (w == 1).all()
        sums = RowSums.of(rows, checked=True)
        seen = sums.scaled(np.sqrt(w)) if shrunken else rows
        F = self._propagate(self._graph_of_rows(seen, graph), labels, alpha)
        cleaned = half_hard(F, labels)
        if not np.ptp(cleaned, axis=0).any() and np.ptp(labels.Y[labels.labeled], axis=0).any():
            warnings.warn(
                "After propagation no label differs between rows, so the projection is learned from the soft labels "
                "before they are rounded; a smaller alpha_labeled keeps more of the given labels.",
                stacklevel=5,
            )
            cleaned = F
        with step(self, "projection"):
            found = hsic_directions(
                RowSums.of(seen, checked=True), cleaned, self.n_components, solver=self.eigen_solver
            )
        self.dependence_ratio_ = found.eigenvalues / found.total
        if shrunken:
            components = (found.components * np.sqrt(w)).astype(rows.dtype, copy=False)
            found = dataclasses.replace(found, components=components, mean=sums.means())
        self._keep(found)


def labeled_part(rows: Any, labels: Labels) -> tuple[Any, np.ndarray]:
    """The labelled rows and their labels; no copy where all are labelled."""
    known = labels.labeled
    return (rows, labels.Y) if known.all() else (rows[known], labels.Y[known])


def known_part(labels: Labels) -> np.ndarray | None:
    """The known entries of the labelled rows; None if all are."""
    return labels.known[labels.labeled] if labels.partly.any() else None


def shrinkage_grid(shrinkage: Any) -> tuple[float, ...]:
    """The strengths b to try: 0, 1/2 and 1 for "cv", otherwise the given number."""
    if isinstance(shrinkage, str) and shrinkage == "cv":
        return SHRINKAGE_GRID
    return (check_real(shrinkage, 'shrinkage, if not "cv",', 0.0, 1.0),)
