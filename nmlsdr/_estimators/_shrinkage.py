"""The article's projection on shrunken features: what NMLSDR and ResidualPropagation share."""

import dataclasses
import warnings
from typing import Any

import numpy as np

from .._checks.arguments import check_real
from .._checks.labels import Labels
from .._moments import RowSums
from .._ridge import SHRINKAGE_GRID
from ..projection import feature_weights, hsic_directions, shrunken_weights
from ._callbacks import step
from ._projection import PropagatingProjection, half_hard

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
                UserWarning,
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
                UserWarning,
                stacklevel=5,
            )

    def _project(self: Any, rows: Any, labels: Labels, graph: Any, alpha: Any) -> None:
        """Propagate over the graph of S and project S (article, eq. 8 and 13-14); sets what NMLSDR has."""
        w = self.feature_weights_
        shrunken = not (w == 1).all()
        sums = RowSums.of(rows, checked=True)
        seen = sums.scaled(np.sqrt(w)) if shrunken else rows
        F = self._propagate(self._graph_of_rows(seen, graph), labels, alpha)
        with step(self, "projection"):
            found = hsic_directions(
                RowSums.of(seen, checked=True), half_hard(F, labels), self.n_components, solver=self.eigen_solver
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
