"""What the estimators share: reading X, clipping k, the neighbour plug-in, and the propagation step."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from .._errors import InputError
from .._large_work import say_if_large
from .._validation import Labels, asks_exact, check_alpha, check_count, check_graph, check_rows
from ..graph import choose_proposed, graph_of_lists, squared_neighbors
from ..propagation import Propagation, propagate

__all__ = [
    "as_attribute",
    "clip_neighbors",
    "graph_of_rows",
    "keep_propagation",
    "neighbors_of_queries",
    "neighbors_of_rows",
    "propagate_labels",
    "read_rows",
    "refuse",
    "say_if_many_queries",
    "shares",
]


def read_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows for the kernels by the gatekeeper; sets or checks n_features_in_ and feature_names_in_."""
    rows = check_rows(X)
    for size, what in zip(rows.shape, ("sample", "feature"), strict=True):
        if size == 0:  # scikit-learn's own words, which its checks look for
            raise InputError(
                f"Found array with 0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required; "
                f"pass at least one {what}."
            )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return rows


def as_attribute(rows: Any) -> Any:
    """Sparse rows in the interface that scikit-learn's ``sparse_interface`` (from 1.9) asks for; no copy."""
    interface = sklearn.get_config().get("sparse_interface")
    if interface is None or not sparse.issparse(rows):
        return rows
    return sparse.csr_array(rows) if interface == "sparray" else sparse.csr_matrix(rows)


def refuse(estimator: Any, unknown: dict[str, Any], advice: dict[str, str]) -> None:
    """One sentence for keyword arguments of ``fit`` that do not exist."""
    for name in unknown:
        hint = advice.get(name, "remove it")
        raise TypeError(f"{type(estimator).__name__}.fit does not support {name}; {hint}.")


def clip_neighbors(estimator: Any, n_candidates: int) -> int:
    """k = ``n_neighbors``, at most the ``n_candidates`` other rows there are (with a warning)."""
    k = check_count(estimator.n_neighbors, "n_neighbors")
    if k > n_candidates:
        warnings.warn(
            f"n_neighbors={k} needs more than {k} samples, got {n_candidates + 1}; n_neighbors_ is {n_candidates}.",
            UserWarning,
            stacklevel=3,
        )
    return min(k, n_candidates)


# ---------------------------------------------------------------- neighbours


def neighbors_of_rows(estimator: Any, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances and indices of every row's k nearest other rows, by the estimator's ``neighbors``.

    A transformer is cloned, fitted and kept as ``neighbors_``, so that queries need no second fit.
    """
    neighbors = estimator.neighbors
    vars(estimator).pop("neighbors_", None)  # an earlier fit's
    if asks_exact(neighbors):
        say_if_large(rows, k, n_jobs=estimator.n_jobs)
        return squared_neighbors(rows, k, n_jobs=estimator.n_jobs, checked=True)
    estimator.neighbors_ = clone(neighbors, safe=False)  # a plug-in need not be one of scikit-learn's estimators
    return choose_proposed(rows, estimator.neighbors_.fit_transform(rows), k, n_jobs=estimator.n_jobs)


def say_if_many_queries(estimator: Any, rows: Any, n_queries: int, k: int) -> None:
    """What `predict` calls once, before it goes through its queries block by block."""
    if isinstance(estimator.neighbors, str) and estimator.neighbors == "exact":
        say_if_large(rows, k, n_queries=n_queries, n_jobs=estimator.n_jobs)


def neighbors_of_queries(estimator: Any, rows: Any, queries: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """As `neighbors_of_rows`, for other rows: the k nearest of ``rows`` to each query."""
    if isinstance(estimator.neighbors, str):
        return squared_neighbors(rows, k, queries=queries, n_jobs=estimator.n_jobs, checked=True)
    proposed = estimator.neighbors_.transform(queries)
    return choose_proposed(rows, proposed, k, queries=queries, n_jobs=estimator.n_jobs)


# ---------------------------------------------------------------- propagation


def propagate_labels(estimator: Any, W: sparse.csr_array, labels: Labels, alpha: Any = None) -> Propagation:
    """Solve eq. (8) with the estimator's alphas, solver, tol, max_iter and n_jobs.

    ``alpha`` (a number, or one per row) replaces ``alpha_labeled`` and ``alpha_unlabeled``.
    """
    n_samples = len(labels.Y)
    if alpha is None:
        given = check_alpha(estimator.alpha_labeled, 1, "alpha_labeled")
        hidden = check_alpha(estimator.alpha_unlabeled, 1, "alpha_unlabeled")
        alpha = np.where(labels.labeled, given, hidden)
    return propagate(
        W,
        labels.Y,
        check_alpha(alpha, n_samples),
        labeled=labels.labeled,
        solver=estimator.propagation_solver,
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        n_jobs=estimator.n_jobs,
    )


def graph_of_rows(estimator: Any, rows: Any, graph: Any) -> sparse.csr_array:
    """The given graph, or that of the estimator's neighbours of the rows; sets n_neighbors_."""
    estimator.n_neighbors_ = clip_neighbors(estimator, rows.shape[0] - 1)
    if graph is not None:
        return check_graph(graph, "graph", n_samples=rows.shape[0])
    squared, indices = neighbors_of_rows(estimator, rows, estimator.n_neighbors_)
    return graph_of_lists(
        squared, indices, edge_weights=estimator.edge_weights, sigma=estimator.sigma, n_jobs=estimator.n_jobs
    )


def keep_propagation(estimator: Any, propagation: Propagation, labels: Labels) -> None:
    """The attributes that every estimator that propagates has."""
    F = propagation.F
    estimator.label_distributions_ = F
    estimator.transduction_ = (F > 0.5).astype(np.int64)
    estimator.label_flips_ = (estimator.transduction_ != labels.Y) & labels.labeled[:, None]
    estimator.n_iter_ = max(1, propagation.n_iter)  # labels that solve eq. (8) as given need a look, but no step
    estimator.residual_ = propagation.residual
    estimator.n_unreached_ = propagation.n_unreached
    estimator.propagation_solver_ = propagation.solver


def shares(scores: np.ndarray) -> np.ndarray:
    """Rows scaled to sum to 1; a row of zeros (no evidence, or the products underflowed) becomes uniform."""
    total = scores.sum(axis=1, keepdims=True)
    return np.where(total > 0, scores / np.where(total > 0, total, 1.0), 1.0 / scores.shape[1])
