"""What the linear projections share: transform, names of the outputs, attributes."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._checks.labels import Labels, Takes
from .._moments import RowSums, centred_over_known, fill_rows
from .._projections.directions import Directions
from ._prepared import step_below, to_step
from ._sklearn_bases import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from ._steps import Steps, refuse_one


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear map x -> P'(x - mean), learned from labels."""

    _steps: ClassVar[type[Steps]] = Steps
    _rounding_step: Any = None  # the fit of `NMLSDR` sets it

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
        return project(self._steps.read_rows(self, X), self.components_, self.mean_, self._rounding_step)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def project(rows: Any, components: np.ndarray, mean: np.ndarray, step: float | None = None) -> Any:
    """Rows minus ``mean``, times the components; rounded to multiples of the step, if there is one."""
    Z = RowSums.of(rows, checked=True).project(components.T.astype(np.float64), mean)
    Z = Z if step is None else Z.map_blocks(to_step, step) if hasattr(Z, "dask") else to_step(Z, step)
    return Z.astype(np.result_type(rows.dtype, components.dtype), copy=False)


def rounding_step(rows: Any, directions: Directions) -> float:
    """The step to which ``transform`` rounds embeddings: 2^-32 of the mean length of the centred rows of the fit.

    Else the embeddings of a row alone and in its file, or dense and CSR, differ by 1e-14, which decides which of
    equally distant rows are neighbours.
    """
    squares = RowSums.of(rows, checked=True).squares(directions.mean)
    return step_below(float(np.sqrt(squares.sum() / rows.shape[0]))) / 16  # embeddings are shorter than rows


def direction_attributes(directions: Directions) -> dict[str, Any]:
    """The attributes that every projection has."""
    basis = {"components_": directions.components, "mean_": directions.mean}
    return basis | {"eigenvalues_": directions.eigenvalues, "effective_rank_": directions.rank}


def read_labeled(steps: Steps, X: Any, y: Any, labeled: Any, takes: Takes = "whole") -> tuple[Any, np.ndarray]:
    """The labelled rows, which alone a supervised method is fitted to, and their labels."""
    rows, labels = steps.read(X, y, labeled, takes)
    Y = centred_over_known(labels.Y, labels.known) if labels.partly.any() else labels.Y
    if not labels.labeled.all():
        rows = rows[labels.labeled]
        Y = Y[labels.labeled]
        refuse_one(steps.estimator, len(Y), "labelled rows")
    return rows, Y


def half_hard(F: np.ndarray, labels: Labels, n_jobs: int | None) -> np.ndarray:
    """F~: hard labels on known entries, soft ones on the others (article, section 3.3)."""
    return fill_rows(np.empty_like(F), lambda part: np.where(labels.known[part], F[part] > 0.5, F[part]), n_jobs)
