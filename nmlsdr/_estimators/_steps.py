"""The steps that fits share, in the article's order: rows, labels, graph, soft labels, attributes.

Each is a function of values, and ``fit`` of each estimator names the steps that it takes. Two of them also set
attributes: `read_rows` those of the features, and `read_labels` those of the labels.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
import sklearn
from scipy import sparse
from sklearn.utils.validation import validate_data

from .._checks.arguments import (
    EdgeWeights,
    Metric,
    PropagationSolver,
    check_alpha,
    check_count,
    check_graph,
    check_metric,
)
from .._checks.labels import (
    Labels,
    alphas_of_labels,
    check_labels,
    refuse_other_than_zero_one,
    refuse_partly_known,
    warn_of_other_index,
)
from .._errors import InputError
from .._moments import RowSums
from .._process.threads import check_n_jobs
from .._search.memory import is_memory_map
from .._solvers.system import Goal, System
from ..graph import graph_of_lists
from ..propagation import Propagation, propagate_signed
from ._callbacks import Step
from ._engine import Engine
from ._prepared import forget_rows
from ._sklearn_bases import BaseEstimator

# ---------------------------------------------------------------- rows and labels


def read_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Checked rows for the kernels; sets or checks n_features_in_ and feature_names_in_.

    ``reset`` is True for the rows of a new fit; rows that were prepared for an earlier fit are then dropped.
    """
    if reset:
        forget_rows(estimator)
    rows = estimator._engine.check_rows(X, type(estimator).__name__)
    for size, what in zip(rows.shape, ("sample", "feature"), strict=True):
        # The message begins with the text that scikit-learn's checks expect.  `predict` accepts an array without
        # rows, since a block of rows may be empty.
        if size == 0 and (reset or what == "feature"):
            raise InputError(
                f"Found array with 0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required; "
                f"pass at least one {what}."
            )
    if reset:
        refuse_one(estimator, rows.shape[0], "rows")
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return rows


def read_labels(
    estimator: BaseEstimator, X: Any, y: Any, labeled: Any, *, n_samples: int, votes: bool = False, partly: bool = False
) -> Labels:
    """The labels of the rows X; sets classes_ and label_names_in_.

    A method that takes ``votes`` takes partly known rows too; ``partly``: it takes these alone.
    """
    engine = estimator._engine
    y, labeled = engine.in_memory(y), engine.in_memory(labeled)
    labels = check_labels(y, n_samples=n_samples, labeled=labeled)
    warn_of_other_index(X, y)
    if not votes:
        refuse_other_than_zero_one(labels.Y, labels.known, "y")
    if not (votes or partly):
        refuse_partly_known(labels, type(estimator).__name__)
    named = {} if labels.names is None else {"label_names_in_": labels.names}
    set_attributes(estimator, {"classes_": labels.classes, **named})
    return labels


def refuse_one(estimator: BaseEstimator, n_rows: int, what: str) -> None:
    """An error where the fit has one of these rows, or none."""
    if n_rows < 2:
        raise InputError(
            f"{type(estimator).__name__} needs at least 2 {what}, got n_samples = {n_rows}; add such rows."
        )


class Labeled(NamedTuple):
    """The labelled rows, their labels, and which of these are known; None if all are."""

    rows: Any
    Y: np.ndarray
    known: np.ndarray | None


def labeled_part(rows: Any, labels: Labels) -> Labeled:
    """The labelled rows; no copy where all are labelled."""
    known = labels.known[labels.labeled] if labels.partly.any() else None
    if labels.labeled.all():
        return Labeled(rows, labels.Y, known)
    return Labeled(rows[labels.labeled], labels.Y[labels.labeled], known)


def as_attribute(rows: Any) -> Any:
    """Training rows to keep: a copy of dense ones, which the caller may change after the fit.

    Memory maps and sparse rows are not copied; sparse rows come in the interface that scikit-learn's
    ``sparse_interface`` (from 1.9) requests.
    """
    if isinstance(rows, RowSums):
        return rows.array()
    if not sparse.issparse(rows):
        return rows if is_memory_map(rows) else rows.copy()
    interface = sklearn.get_config().get("sparse_interface")
    if interface is None:
        return rows
    return sparse.csr_array(rows) if interface == "sparray" else sparse.csr_matrix(rows)


# ---------------------------------------------------------------- graph and soft labels


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How labels are propagated: the parameters that the estimators which do it have in common."""

    n_neighbors: int
    edge_weights: EdgeWeights = "binary"
    sigma: float | None = None
    metric: Metric
    alpha_labeled: float | tuple[float, float]
    alpha_unlabeled: float
    neighbors: Any
    propagation_solver: PropagationSolver = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    n_jobs: int | None

    @classmethod
    def of(cls, estimator: BaseEstimator) -> Self:
        """Those of an estimator that has all of them."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})

    def trust(self, labels: Labels, alpha: Any) -> np.ndarray:
        """alpha of every row, or of every entry where entries of a row differ; ``alpha`` replaces both parameters."""
        if alpha is not None:
            return check_alpha(alpha, len(labels.Y), n_labels=labels.Y.shape[1])
        return alphas_of_labels(labels, self.alpha_labeled, self.alpha_unlabeled)

    def goal(self, callback: Callable[..., object] | None) -> Goal:
        """How eq. (8) is to be solved."""
        return Goal(self.tol, self.max_iter, callback, self.propagation_solver)


class Graph(NamedTuple):
    """W, and the attributes n_neighbors_ and, if a transformer found the neighbours, neighbors_."""

    W: sparse.csr_array
    attributes: dict[str, Any]


def clip_neighbors(n_neighbors: int, n_candidates: int) -> int:
    """k = ``n_neighbors``, at most the ``n_candidates`` other rows there are (with a warning)."""
    k = check_count(n_neighbors, "n_neighbors")
    if k > n_candidates:
        warnings.warn(
            f"n_neighbors={k} was lowered to {n_candidates}, since there are only so many other rows; "
            f"set n_neighbors to {n_candidates} or less, or give more rows.",
            stacklevel=3,
        )
    return min(k, n_candidates)


def graph_of_rows(
    engine: Engine, rows: Any, graph: Any, k: int, settings: Settings, step: Step, classifier: str = ""
) -> Graph:
    """The given graph, or that of the k nearest neighbours of the rows (article, eq. 2 or 3)."""
    metric = check_metric(settings.metric)
    if graph is not None:
        return Graph(check_graph(graph, "graph", n_samples=rows.shape[0]), {"n_neighbors_": k})
    with step("neighbors"):
        wanted = {"neighbors": settings.neighbors, "metric": metric, "n_jobs": settings.n_jobs}
        found = engine.neighbors(rows, k, classifier=classifier, **wanted)
        W = graph_of_lists(found.squared, found.indices, edge_weights=settings.edge_weights, sigma=settings.sigma)
    kept = {} if found.transformer is None else {"neighbors_": found.transformer}
    return Graph(W, {"n_neighbors_": k, **kept})


def soft_labels(
    engine: Engine, W: sparse.csr_array, labels: Labels, alpha: Any, settings: Settings, step: Step
) -> Propagation:
    """F of eq. (8); ``alpha`` (a number, one per row, or one per entry) replaces the alphas of the settings."""
    trust, known = settings.trust(labels, engine.in_memory(alpha)), _known(labels)
    with step("propagation", "sweep", None) as swept:
        return engine.propagate(W, labels.Y, trust, known, settings.goal(swept), settings.n_jobs)


def propagate_residuals(
    engine: Engine,
    W: sparse.csr_array,
    R: np.ndarray,
    labels: Labels,
    alpha: Any,
    settings: Settings,
    step: Step,
    place: str,
) -> np.ndarray:
    """E of eq. (8) for residuals R of either sign, which are multiplied by a power of two in place."""
    trust, known = settings.trust(labels, engine.in_memory(alpha)), _known(labels)
    with step(f"propagation of residuals in the {place}", "sweep", None) as swept:
        system = System(W, R, trust, known, check_n_jobs(settings.n_jobs), clip=False)
        return propagate_signed(system, settings.goal(swept)).F


def _known(labels: Labels) -> np.ndarray:
    """What is known as the solvers take it: one entry for each row where that is enough."""
    return labels.known if labels.partly.any() else labels.labeled


def soft_label_attributes(found: Propagation, labels: Labels) -> dict[str, Any]:
    """The attributes that every propagating estimator has."""
    F = found.F
    if labels.single:
        best = np.argmax(F, axis=1)
        hard, transduction = best[:, None] == np.arange(F.shape[1]), labels.classes[best]
    else:
        hard = F > 0.5
        transduction = hard.astype(np.int64)
    return {
        "label_distributions_": F,
        "transduction_": transduction,
        "label_flips_": (hard != (labels.Y > 0.5)) & (labels.Y != 0.5) & labels.known,
        "flip_scores_": np.where(labels.known, np.abs(F - labels.Y), 0.0),
        "n_iter_": max(1, found.n_iter),  # labels that solve eq. (8) as given need a look, but no step
        "residual_": found.residual,
        "n_unreached_": found.n_unreached,
        "propagation_solver_": found.solver,
    }


def set_attributes(estimator: BaseEstimator, found: dict[str, Any]) -> None:
    """Set what a fit has found."""
    for name, value in found.items():
        setattr(estimator, name, value)
