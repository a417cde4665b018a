"""One pass of ResidualPropagation over labels: strengths, projection, trend, and residuals propagated over two graphs.

A pass is a function of rows, labels and alphas, and returns a value; `ResidualPropagation.fit` makes one pass, or two
if there are verdicts (`training_passes`), and sets all attributes at its end (`pass_attributes`).
"""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._checks.labels import Labels
from .._checks.verdicts import enter_verdicts
from .._group_folds import labeled_groups
from .._moments import fill_rows
from .._process.threads import check_n_jobs, single_threaded_blas
from .._projections.directions import Directions
from .._ridge import masks_of_tests
from .._row_order import RowOrder, row_order
from .._solvers.system import System
from ..graph import transition_of_graph, union_graph
from ..propagation import Propagation, propagate_signed
from ._learners import Trend, fit_trend, has_links, share_of_errors
from ._prepared import rounded
from ._projection import direction_attributes, project
from ._shrinkage import directions_of_labels, shrink_by_cross_validation
from ._steps import Steps, Trust, soft_label_attributes

RESIDUAL_GRAPHS = "embedding", "ridge scores"  # over whose graphs residuals are propagated


class Residuals(NamedTuple):
    """The propagated residuals, and the rows of the two `RESIDUAL_GRAPHS`.

    Attributes
    ----------
    embedding, ridge_scores : ndarray of shape (n_samples, d) and (n_samples, n_labels)
        Rounded.
    rounding : ndarray of shape (2,)
        The step of which the entries of each are multiples.
    errors : ndarray of shape (2, n_samples, n_labels)
        E on each graph.
    scores : ndarray of shape (n_labeled, n_labels)
        V, the out-of-sample scores of the labelled rows: their trend plus the share of T E on both graphs.
    transformers : list
        What searched each graph; None for the exact search.
    """

    embedding: np.ndarray
    ridge_scores: np.ndarray
    rounding: np.ndarray
    errors: np.ndarray
    scores: np.ndarray
    transformers: list[Any]


class Pass(NamedTuple):
    """What one pass learns.

    Attributes
    ----------
    labels : Labels
        The labels it learned from.
    flip_rate, forget_rate : float
        How often a 0 is given as 1, and a 1 as 0.
    trend : Trend
    feature_weights : ndarray of shape (n_features,)
    propagation : Propagation
        Soft labels over the graph of the shrunken features.
    directions : Directions
    n_neighbors : int
        k of that graph.
    residuals : Residuals
    row_order : ndarray of shape (n_samples,), or None
        The order in which rows are searched.
    """

    labels: Labels
    flip_rate: float
    forget_rate: float
    trend: Trend
    feature_weights: np.ndarray
    propagation: Propagation
    directions: Directions
    n_neighbors: int
    residuals: Residuals
    row_order: RowOrder


def residual_neighbors(n_neighbors: int, n_samples: int) -> int:
    """Neighbours of a row in the `RESIDUAL_GRAPHS`, and of a new row."""
    return min(2 * n_neighbors, n_samples - 1)


def training_passes(steps: Steps, labels: Labels, alpha: Any, verdicts: Any) -> list[tuple[Labels, Any]]:
    """Labels to learn from, and their alphas: the observed labels, and then, if there are verdicts, those too.

    A review corrects the clearest mistakes, so that in the corrected labels alone the others would seem rare. A
    verdict on an entry that was unknown corrects nothing: it is an observed label, in both passes.
    """
    if verdicts is None:
        return [(labels, alpha)]
    corrected, decided = enter_verdicts(labels, steps.in_memory(verdicts))
    if not decided.any():
        return [(labels, alpha)]
    trust = steps.trust(corrected, alpha)[0]
    last = corrected, np.where(decided, 0.0, trust if trust.ndim == 2 else trust[:, None])
    if labels.single:
        return [last]
    answers = decided & ~labels.known
    observed = replace(labels, Y=np.where(answers, corrected.Y, labels.Y), known=corrected.known)
    return [(observed, alpha), last]


def fit_pass(steps: Steps, rows: Any, labels: Labels, alpha: Any, graph: Any, grids: dict[str, Any]) -> Pass:
    """Learn from labels; ``graph`` replaces that of the features, ``grids`` are the options of `cross_fit`."""
    order = row_order(rows, labels, steps.checked_alpha(labels, alpha))
    grids = grids | {"keep_ridges": has_links(int(labels.labeled.sum()), labels.single)}
    strengths, w, X_scaled = shrink_by_cross_validation(rows, labels, steps, order, **grids)
    W, searched = steps.graph(X_scaled, graph, order)
    propagation = steps.soft_labels(W, labels, alpha)
    with steps.task("projection"):
        directions = directions_of_labels(steps, rows, X_scaled, w, propagation.F, labels, "auto")
    del X_scaled, W  # the first may be a copy of the rows
    trend, out_of_sample, by_ridge = fit_trend(steps, rows, labels, order, w, strengths, directions.mean)
    folds = None if labeled_groups(steps.groups, labels.labeled) is None else strengths.folds
    del strengths
    flip_rate, forget_rate = steps.estimator._estimate_rates(out_of_sample, labels)
    Z, Z_step = rounded(embed(steps, rows, directions.components, directions.mean))
    P, P_step = rounded(by_ridge)
    del by_ridge
    n_neighbors = searched["n_neighbors_"]
    graphs = (Z, P), order, n_neighbors
    errors, scores, transformers = propagate_residuals(steps, labels, out_of_sample, *graphs, alpha, folds)
    residuals = Residuals(Z, P, np.array([Z_step, P_step]), errors, scores, transformers)
    return Pass(
        labels=labels,
        flip_rate=flip_rate,
        forget_rate=forget_rate,
        trend=trend,
        feature_weights=w,
        propagation=propagation,
        directions=directions,
        n_neighbors=n_neighbors,
        residuals=residuals,
        row_order=order,
    )


def pass_attributes(result: Pass) -> dict[str, Any]:
    """The attributes that follow from a pass."""
    directions = result.directions
    residuals = result.residuals
    learned = result.trend._asdict() | direction_attributes(directions)
    learned |= soft_label_attributes(result.propagation, result.labels, residuals.scores)
    learned |= {"dependence_ratio_": directions.eigenvalues / directions.total}
    learned |= {"feature_weights_": result.feature_weights, "n_neighbors_": result.n_neighbors}
    learned |= {"n_labeled_": len(residuals.scores), "propagated_errors_": residuals.errors}
    learned |= {"embedding_": residuals.embedding, "ridge_scores_": residuals.ridge_scores}
    if residuals.transformers[0] is not None:
        learned["neighbors_"] = residuals.transformers
    return learned | {"_rounding": residuals.rounding, "_row_order": result.row_order}


def propagate_residuals(
    steps: Steps,
    labels: Labels,
    out_of_sample: np.ndarray,
    graph_rows: tuple[np.ndarray, np.ndarray],
    order: RowOrder,
    n_neighbors: int,
    alpha: Any,
    folds: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Propagate the errors of the trend over the graph of each of ``graph_rows``.

    Returns E (2, n_samples, n_labels), the scores V (n_labeled, n_labels), and the transformers of the two searches.
    With groups, ``folds`` has the fold of each labelled row, and V has errors that come from the other folds alone.
    V takes the place of ``out_of_sample``.
    """
    n_jobs = steps.estimator.n_jobs
    E = np.zeros((len(graph_rows), *labels.Y.shape))
    E[-1, labels.labeled] = -out_of_sample
    E[-1] += labels.Y
    E[-1][~labels.known] = 0.0
    scores = out_of_sample
    share = share_of_errors(steps.estimator.residual_weight, len(scores))
    trust = steps.trust(labels, alpha)
    transformers = []
    for name, rows, out in zip(RESIDUAL_GRAPHS, graph_rows, E, strict=True):
        with steps.task(f"neighbors in the {name}"):
            neighbors = steps.search(rows, residual_neighbors(n_neighbors, len(rows)), order)
            W = union_graph(neighbors.indices)
            transformers.append(neighbors.transformer)
            del neighbors
        T = labels.labeled_rows(transition_of_graph(W, n_jobs=n_jobs))
        if folds is not None:
            with steps.task(f"propagation of the residuals of other folds in the {name}"):
                for rows_of_fold, hidden in _hidden_rows(folds, labels):
                    E_others = _errors_without(hidden, W, E[-1], trust, steps)
                    scores[rows_of_fold] += share * (T[rows_of_fold] @ E_others)
        with steps.task(f"propagation of residuals in the {name}", "sweep", None) as swept:
            system = System(W, E[-1], *trust, check_n_jobs(n_jobs), clip=False)
            propagate_signed(system, steps.goal(swept), out)
            del system
        if folds is None:
            _add_neighbor_means(scores, share, T, out, n_jobs)
    return E, scores, transformers


def _hidden_rows(folds: np.ndarray, labels: Labels) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The rows of each fold as a mask of the labelled rows, and as one of all rows."""
    for tested in masks_of_tests(folds):
        hidden = np.zeros(len(labels.Y), dtype=bool)
        hidden[labels.labeled] = tested
        yield tested, hidden


def _errors_without(hidden: np.ndarray, W: Any, R: np.ndarray, trust: Trust, steps: Steps) -> np.ndarray:
    """The propagated errors if the hidden rows are unlabelled."""
    alpha, known = (np.array(values) for values in trust)
    alpha[hidden] = steps.estimator.alpha_unlabeled
    known[hidden] = False
    R = R.copy()
    R[hidden] = 0.0
    with warnings.catch_warnings():
        # of rows that only hidden ones reach; the warning on the labels themselves is that of the whole propagation
        warnings.filterwarnings("ignore", ".* in components of the graph without a", UserWarning)
        system = System(W, R, alpha, known, check_n_jobs(steps.estimator.n_jobs), clip=False)
        return np.asarray(propagate_signed(system, steps.goal(None)).F)


def _add_neighbor_means(scores: np.ndarray, share: float, T: Any, E: np.ndarray, n_jobs: int | None) -> None:
    """Add the share of T E to the scores; T has the labelled rows only."""
    fill_rows(scores, lambda part: scores[part] + share * (T[part] @ E), n_jobs)


def embed(steps: Any, rows: Any, components: np.ndarray, mean: np.ndarray) -> Any:
    """The embedding of rows, in memory, before it is rounded."""
    with single_threaded_blas():
        return steps.in_memory(project(rows, components, mean))
