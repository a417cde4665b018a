"""What the linear projections share: transform, names of the outputs, and the directions of shrunken features."""

import dataclasses
import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._checks.arguments import check_real
from .._checks.labels import Labels
from .._moments import RowSums, centred_over_known
from .._projections.directions import Directions
from .._ridge import SHRINKAGE_GRID, CrossFit, cross_fit
from ..projection import feature_weights, hsic_directions, shrunken_weights
from ._callbacks import Step
from ._engine import Engine
from ._sklearn_bases import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from ._steps import Labeled, read_labels, read_rows, refuse_one

_N_SPLITS = 5  # folds of the cross-validation


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear map x -> P'(x - mean), learned from labels."""

    _engine: ClassVar[Engine] = Engine()

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
        return self._project_rows(read_rows(self, X, reset=False))

    def _project_rows(self, rows: Any) -> Any:
        Z = RowSums.of(rows, checked=True).project(self.components_.T.astype(np.float64), self.mean_)
        return Z.astype(np.result_type(rows.dtype, self.components_.dtype), copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def direction_attributes(found: Directions) -> dict[str, Any]:
    """The attributes that every projection has."""
    return {
        "components_": found.components,
        "eigenvalues_": found.eigenvalues,
        "effective_rank_": found.rank,
        "mean_": found.mean,
    }


def dependence_attributes(found: Directions) -> dict[str, Any]:
    """Those of a projection whose eigenvalues add up to a total."""
    return direction_attributes(found) | {"dependence_ratio_": found.eigenvalues / found.total}


def read_labeled(
    estimator: Projection, X: Any, y: Any, labeled: Any, *, partly: bool = False
) -> tuple[Any, np.ndarray]:
    """The labelled rows, which alone a supervised method is fitted to, and their labels."""
    rows = read_rows(estimator, X, reset=True)
    labels = read_labels(estimator, X, y, labeled, n_samples=rows.shape[0], partly=partly)
    Y = centred_over_known(labels.Y, labels.known) if labels.partly.any() else labels.Y
    if not labels.labeled.all():
        rows, Y = rows[labels.labeled], Y[labels.labeled]
        refuse_one(estimator, len(Y), "labelled rows")
    return rows, Y


def half_hard(F: np.ndarray, labels: Labels) -> np.ndarray:
    """F~: hard labels on known entries, soft ones on the others (article, section 3.3)."""
    return np.where(labels.known, F > 0.5, F)


# ---------------------------------------------------------------- on shrunken features


def choose_strengths(given: Labeled, shrinkage: Any, step: Step, **wanted: Any) -> CrossFit:
    """Cross-validate the shrinkage b, where it is "cv", and what else is ``wanted``, on the labelled rows."""
    with step("cross-validation", "fold", _N_SPLITS) as fold_done:
        return cross_fit(
            given.rows,
            given.Y,
            shrinkage=SHRINKAGE_GRID if is_chosen(shrinkage) else shrinkage,
            n_splits=_N_SPLITS,
            known=given.known,
            callback=fold_done,
            **wanted,
        )


def is_chosen(shrinkage: Any) -> bool:
    """Whether the shrinkage is "cv"; otherwise it is a number in [0, 1], or refused."""
    if isinstance(shrinkage, str) and shrinkage == "cv":
        return True
    check_real(shrinkage, 'shrinkage, if not "cv",', 0.0, 1.0)
    return False


def weights_of_features(given: Labeled, shrinkage: float) -> np.ndarray:
    """w(b) from the labelled rows; 1 where nothing is to be shrunken."""
    equal = np.ones(given.rows.shape[1])
    if shrinkage == 0:
        return equal
    if len(given.Y) == 1:
        warnings.warn(
            "One labelled row does not distinguish dependence from chance, so no feature is shrunken; label more rows.",
            stacklevel=3,
        )
        return equal
    w = shrunken_weights(feature_weights(given.rows, given.Y, known=given.known), shrinkage)
    if w.any():
        return w
    warnings.warn(
        "No feature depends on the labels more than expected by chance, so no feature is shrunken; "
        "check that the rows of X and y belong together, or label more rows.",
        stacklevel=3,
    )
    return equal


def shrink(rows: Any, w: np.ndarray) -> Any:
    """S = X diag(w)^1/2, on which the graph and the directions see feature j by w_j."""
    return rows if (w == 1).all() else RowSums.of(rows, checked=True).scaled(np.sqrt(w))


def directions_of_labels(
    rows: Any, seen: Any, w: np.ndarray, F: np.ndarray, labels: Labels, n_components: int | None, solver: str
) -> Directions:
    """The directions of S, the rows as `shrink` gives them, that depend most on F~ (eq. 13-14), as a map of X."""
    cleaned = half_hard(F, labels)
    if not np.ptp(cleaned, axis=0).any() and np.ptp(labels.Y[labels.labeled], axis=0).any():
        warnings.warn(
            "After propagation no label differs between rows, so the projection is learned from the soft labels "
            "before they are rounded; a smaller alpha_labeled keeps more of the given labels.",
            stacklevel=3,
        )
        cleaned = F
    found = hsic_directions(RowSums.of(seen, checked=True), cleaned, n_components, solver=solver)
    if seen is rows:
        return found
    components = (found.components * np.sqrt(w)).astype(rows.dtype, copy=False)
    return dataclasses.replace(found, components=components, mean=RowSums.of(rows, checked=True).means())
