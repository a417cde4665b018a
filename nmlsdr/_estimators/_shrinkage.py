"""Shrunken features: strengths by cross-validation, the weights w, S = X diag(w)^1/2, directions of S as a map of X.

The graph and the directions of NMLSDR on S see feature j by w_j.
"""

import dataclasses
import warnings
from typing import Any

import numpy as np

from .._checks.arguments import check_real
from .._checks.labels import Labels
from .._errors import level_outside
from .._group_folds import labeled_groups
from .._moments import RowSums
from .._projections.directions import Directions
from .._ridge import SHRINKAGE_GRID, CrossFit, cross_fit
from .._row_order import RowOrder
from ..projection import feature_weights, hsic_directions, shrunken_weights
from ._prepared import to_step
from ._projection import half_hard
from ._steps import Steps

N_SPLITS = 5  # folds of the cross-validation


def shrinkage_grid(shrinkage: Any) -> tuple[float, ...]:
    """The strengths b to try: 0, 1/2 and 1 for "cv", otherwise the given number."""
    if isinstance(shrinkage, str) and shrinkage == "cv":
        return SHRINKAGE_GRID
    return (check_real(shrinkage, 'shrinkage, if not "cv",', 0.0, 1.0),)


def choose_strengths(rows: Any, labels: Labels, steps: Steps, order: RowOrder, **grids: Any) -> CrossFit:
    """Choose by cross-validation on the labelled rows, from what `cross_fit` takes; folds are drawn in ``order``."""
    labeled = labels.labeled_part(rows)
    grids |= {"order": labels.labeled_order(order), "groups": labeled_groups(steps.groups, labels.labeled)}
    with steps.task("cross-validation", "fold", N_SPLITS) as fold_done:
        grids |= {"n_splits": N_SPLITS, "n_jobs": steps.estimator.n_jobs}
        return cross_fit(labeled.rows, labeled.Y, known=labeled.known, callback=fold_done, **grids)


def shrink_by_cross_validation(
    rows: Any, labels: Labels, steps: Steps, order: RowOrder, **grids: Any
) -> tuple[CrossFit, np.ndarray, Any]:
    """The strengths that `choose_strengths` chooses, and what `shrink` makes of the rows by them."""
    strengths = choose_strengths(rows, labels, steps, order, **grids)
    return strengths, *shrink(rows, labels, strengths.shrinkage)


def shrink(rows: Any, labels: Labels, shrinkage: float) -> tuple[np.ndarray, Any]:
    """w(b) from the labelled rows, and S = X diag(w)^1/2; ones and the rows where nothing is to be shrunken."""
    equal = np.ones(rows.shape[1])
    if shrinkage == 0:
        return equal, rows
    labeled = labels.labeled_part(rows)
    if len(labeled.Y) == 1:
        warnings.warn(
            "One labelled row shows no dependence, so no feature is shrunken; label more rows.",
            stacklevel=level_outside(),
        )
        return equal, rows
    w = shrunken_weights(feature_weights(labeled.rows, labeled.Y, known=labeled.known), shrinkage)
    w = to_step(w, 2.0**-36)  # else last bits decide which of equally distant rows are neighbours
    if not w.any():
        warnings.warn(
            "No feature depends on the labels more than expected by chance, so none is shrunken; do X and y match?",
            stacklevel=level_outside(),
        )
        return equal, rows
    return w, rows if (w == 1).all() else RowSums.of(rows, checked=True).scaled(np.sqrt(w))


def directions_of_labels(
    steps: Steps, rows: Any, X_scaled: Any, w: np.ndarray, F: np.ndarray, labels: Labels, solver: str
) -> Directions:
    """The directions of S, the rows as `shrink` gives them, that depend most on F~ (eq. 13-14), as a map of X."""
    cleaned = half_hard(F, labels, steps.estimator.n_jobs)
    if not np.ptp(cleaned, axis=0).any() and np.ptp(labels.Y[labels.labeled], axis=0).any():
        warnings.warn(
            "Propagated labels, rounded, are the same on all rows, so soft labels are projected; lower alpha_labeled.",
            stacklevel=level_outside(),
        )
        cleaned = F
    directions = hsic_directions(
        RowSums.of(X_scaled, checked=True), cleaned, steps.estimator.n_components, solver=solver
    )
    if X_scaled is rows:
        return directions
    components = (directions.components * np.sqrt(w)).astype(rows.dtype, copy=False)
    return dataclasses.replace(directions, components=components, mean=RowSums.of(rows, checked=True).means())
