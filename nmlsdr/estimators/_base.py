"""What the estimators share: reading X and y, clipping k, the neighbour plug-in, propagation, predicting by blocks."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .._dask.labels import in_batches
from .._dask.neighbors import neighbors as lists_of_all
from .._dask.predictions import answers
from .._dask.rows import Rows
from .._dask.source import in_memory, is_dask
from .._errors import InputError
from .._labels import Labels, check_labels, refuse_partly_known, refuse_votes
from .._search import choose_proposed, squared_neighbors
from .._search.estimate import say_if_large
from .._threads import check_n_jobs
from .._validation import asks_exact, check_alpha, check_count, check_graph, check_metric, check_rows
from ..distributed import by_blocks
from ..graph import graph_of_lists
from ..propagation import propagate_checked
from ._callbacks import CallbackSupportMixin, step
from ._prepared import prepared_rows

__all__ = [
    "LearnsLabels",
    "NeighborClassifier",
    "PropagatesLabels",
    "as_attribute",
    "clip_neighbors",
    "known_to_propagate",
    "neighbors_of_rows",
    "read_rows",
    "refuse",
]

# Rows per block of predict: their neighbours and scores are all that predict needs beside its output.
_QUERY_ROWS = 4096

# What transformers call the orders that candidates are ranked by.
_METRICS = {"euclidean": ("euclidean", "l2", "sqeuclidean"), "cosine": ("cosine",)}
_SPOKEN = {"euclidean": "Euclidean", "cosine": "cosine"}


def read_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows for the kernels by the gatekeeper; sets or checks n_features_in_ and feature_names_in_."""
    rows = Rows.of(X) if is_dask(X) else check_rows(X)
    for size, what in zip(rows.shape, ("sample", "feature"), strict=True):
        if size == 0:  # scikit-learn's own words, which its checks look for
            raise InputError(
                f"Found array with 0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required; "
                f"pass at least one {what}."
            )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return rows


def as_attribute(rows: Any) -> Any:
    """Sparse rows in the interface that scikit-learn's ``sparse_interface`` (from 1.9) asks for; no copy.

    Rows of a Dask array as one.
    """
    if isinstance(rows, Rows):
        return rows.array()
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
    metric = check_metric(estimator.metric)
    vars(estimator).pop("neighbors_", None)  # an earlier fit's
    if isinstance(rows, Rows):
        if not asks_exact(neighbors):
            raise InputError('neighbors= searches rows in memory; for a Dask array leave it "exact", or pass graph=.')
        return lists_of_all(rows, k, metric=metric, n_jobs=estimator.n_jobs)
    if asks_exact(neighbors):
        say_if_large(rows, k, n_jobs=estimator.n_jobs)
        return squared_neighbors(rows, k, metric=metric, n_jobs=estimator.n_jobs, checked=True)
    if isinstance(estimator, NeighborClassifier) and not hasattr(neighbors, "transform"):
        raise InputError(
            f"{type(estimator).__name__} needs a neighbors= transformer that has transform, to find the neighbours of "
            f'new rows, and {type(neighbors).__name__} has not; take one that has, or "exact".'
        )
    _warn_of_another_metric(neighbors, metric)
    estimator.neighbors_ = clone(neighbors, safe=False)  # a plug-in need not be one of scikit-learn's estimators
    proposed = estimator.neighbors_.fit_transform(rows)
    return choose_proposed(rows, proposed, k, metric=metric, n_jobs=estimator.n_jobs)


def _warn_of_another_metric(transformer: Any, metric: str) -> None:
    """Say that candidates which a transformer found by one distance are ranked by another."""
    found_by = getattr(transformer, "metric", metric)
    if found_by == "minkowski" and getattr(transformer, "p", 2) == 2:
        found_by = "euclidean"
    if found_by in _METRICS[metric]:
        return
    same = [name for name, words in _METRICS.items() if found_by in words]
    way = f'set metric="{same[0]}"' if same else "normalise the rows, so that both orders are the same"
    warnings.warn(
        f"The candidates of {type(transformer).__name__}(metric={found_by!r}) are ranked by {_SPOKEN[metric]} "
        f"distance, and only the nearest of them are used; {way}, or pass graph=.",
        UserWarning,
        stacklevel=5,
    )


def say_if_many_queries(estimator: Any, rows: Any, n_queries: int, k: int) -> None:
    """What `predict` calls once, before it goes through its queries block by block."""
    if isinstance(estimator.neighbors, str) and estimator.neighbors == "exact":
        say_if_large(rows, k, n_queries=n_queries, n_jobs=estimator.n_jobs)


def neighbors_of_queries(estimator: Any, rows: Any, queries: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """As `neighbors_of_rows`, for other rows: the k nearest of ``rows`` to each query."""
    if isinstance(estimator.neighbors, str):
        prepared = prepared_rows(estimator, rows, queries.shape[0])
        if prepared is not None:
            return prepared.neighbors(queries, k, check_n_jobs(estimator.n_jobs))
        return squared_neighbors(
            rows, k, queries=queries, metric=estimator.metric, n_jobs=estimator.n_jobs, checked=True
        )
    proposed = estimator.neighbors_.transform(queries)
    return choose_proposed(rows, proposed, k, queries=queries, metric=estimator.metric, n_jobs=estimator.n_jobs)


# ---------------------------------------------------------------- labels and their propagation


class LearnsLabels:
    """Reads y by the label rule and keeps what it says of the columns."""

    _takes_votes = False
    _takes_partly_known_rows = False

    def _read_labels(self, y: Any, rows: Any, labeled: Any) -> Labels:
        y, labeled = in_memory(y), in_memory(labeled)
        labels = check_labels(y, n_samples=rows.shape[0], labeled=labeled)
        if not self._takes_votes:
            refuse_votes(labels, type(self).__name__)
        if not self._takes_partly_known_rows:
            refuse_partly_known(labels, type(self).__name__)
        self.classes_ = labels.classes
        vars(self).pop("label_names_in_", None)  # an earlier fit's
        if labels.names is not None:
            self.label_names_in_ = labels.names
        return labels


def known_to_propagate(labels: Labels) -> np.ndarray:
    """The labelled rows, or the known entries where those of a row differ."""
    return labels.known if labels.partly.any() else labels.labeled


class PropagatesLabels(CallbackSupportMixin, LearnsLabels):
    """Propagates labels over the graph of the rows and keeps F and what follows from it."""

    _takes_votes = True
    _takes_partly_known_rows = True

    def _n_steps(self) -> int:
        """Tasks of a fit, as `_callbacks` draws them: neighbours, propagation, and what is learned from F."""
        return 3

    def _graph_of_rows(self: Any, rows: Any, graph: Any) -> sparse.csr_array:
        """The given graph, or that of the neighbours of the rows; sets n_neighbors_."""
        check_metric(self.metric)
        self.n_neighbors_ = clip_neighbors(self, rows.shape[0] - 1)
        if graph is not None:
            return check_graph(graph, "graph", n_samples=rows.shape[0])
        with step(self, "neighbors"):
            return self._graph_of_lists(*neighbors_of_rows(self, rows, self.n_neighbors_))

    def _graph_of_lists(self: Any, squared: np.ndarray, indices: np.ndarray) -> sparse.csr_array:
        return graph_of_lists(squared, indices, edge_weights=self.edge_weights, sigma=self.sigma, n_jobs=self.n_jobs)

    def _trust(self: Any, labels: Labels, alpha: Any) -> np.ndarray:
        """alpha of every row, or of every entry where entries of a row differ.

        A given vote v has (1 - v) A0 + v A1, where ``alpha_labeled`` is the pair (A0, A1) or one number for both.
        """
        n_samples, n_labels = labels.Y.shape
        if alpha is not None:
            return check_alpha(in_memory(alpha), n_samples, n_labels=n_labels)
        trust = self.alpha_labeled
        pair = trust if isinstance(trust, (tuple, list)) else (trust, trust)
        if len(pair) != 2:
            raise InputError(
                f"alpha_labeled must be a number or a pair (for given 0s, for given 1s), got {len(pair)} numbers."
            )
        absent, present = (check_alpha(value, 1, "alpha_labeled")[0] for value in pair)
        hidden = check_alpha(self.alpha_unlabeled, 1, "alpha_unlabeled")[0]
        if absent == present and not labels.partly.any():
            return np.where(labels.labeled, present, hidden)
        return np.where(labels.known, (1 - labels.Y) * absent + labels.Y * present, hidden)

    def _propagate(self: Any, rows: Any, W: sparse.csr_array, labels: Labels, alpha: Any) -> np.ndarray:
        """F of eq. (8) with the estimator's alphas, solver, tol, max_iter and n_jobs; sets the attributes.

        The rows only say where: beside a Dask array the labels go batch by batch to its workers.

        ``alpha`` (a number, one per row, or one per entry) replaces ``alpha_labeled`` and ``alpha_unlabeled``.
        """
        solve = partial(in_batches, propagate_checked) if isinstance(rows, Rows) else propagate_checked
        with step(self, "propagation", "sweep", None) as swept:
            found = solve(
                W,
                labels.Y,
                self._trust(labels, alpha),
                labeled=known_to_propagate(labels),
                solver=self.propagation_solver,
                tol=self.tol,
                max_iter=self.max_iter,
                callback=None if isinstance(rows, Rows) else swept,
                n_jobs=self.n_jobs,
            )
        self.label_distributions_ = F = found.F
        if labels.single:
            best = np.argmax(F, axis=1)
            hard = best[:, None] == np.arange(F.shape[1])
            self.transduction_ = labels.classes[best]
        else:
            hard = F > 0.5
            self.transduction_ = hard.astype(np.int64)
        self.label_flips_ = (hard != (labels.Y > 0.5)) & (labels.Y != 0.5) & labels.known
        self.n_iter_ = max(1, found.n_iter)  # labels that solve eq. (8) as given need a look, but no step
        self.residual_ = found.residual
        self.n_unreached_ = found.n_unreached
        self.propagation_solver_ = found.solver
        return F


# ---------------------------------------------------------------- predictions


class NeighborClassifier(LearnsLabels, ClassifierMixin, BaseEstimator):
    """Predicts from the nearest training rows, by blocks of queries; a subclass scores them and decides."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _score_neighbors(self, indices: np.ndarray) -> np.ndarray:
        """Scores (n_queries, n_labels) from the nearest training rows of each query."""
        raise NotImplementedError

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """Labels 0/1 from scores, for 2-D y."""
        raise NotImplementedError

    def _searched_rows(self: Any) -> Any:
        """The training rows as the search sees them."""
        return self.training_rows_

    def _nearest(self: Any, rows: Any) -> np.ndarray:
        return neighbors_of_queries(self, self._searched_rows(), rows, self.n_neighbors_)[1]

    def _score_rows(self, rows: Any) -> np.ndarray:
        """Scores (n_queries, n_labels) of a block of rows."""
        return self._score_neighbors(self._nearest(rows))

    def _to_probabilities(self, scores: np.ndarray) -> np.ndarray:
        return scores if self._is_multi_label() else shares(scores)

    def _choose(self, scores: np.ndarray) -> np.ndarray:
        """The class of each row, for 1-D y."""
        return np.argmax(self._to_probabilities(scores), axis=1)

    def _is_multi_label(self) -> bool:
        return isinstance(self.classes_, list)

    def _scores(self: Any, X: Any) -> tuple[int, Iterator[tuple[slice, np.ndarray]]]:
        """The number of rows, and their scores (rows, n_labels) block by block."""
        check_is_fitted(self)
        rows = read_rows(self, X, reset=False)
        say_if_many_queries(self, self._searched_rows(), rows.shape[0], self.n_neighbors_)
        return rows.shape[0], self._score_blocks(rows)

    def _gather(self: Any, X: Any, answer: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """What ``answer`` makes of the scores of all rows (n_samples, n_labels)."""
        n_samples, blocks = self._scores(X)
        found = np.empty((n_samples, len(self.classes_)))
        for part, scores in blocks:
            found[part] = answer(scores)
        return found

    def _score_blocks(self, rows: Any) -> Iterator[tuple[slice, np.ndarray]]:
        for first in range(0, rows.shape[0], _QUERY_ROWS):
            part = slice(first, first + _QUERY_ROWS)
            yield part, self._score_rows(rows[part])

    def _probabilities(self, indices: np.ndarray) -> np.ndarray:
        return self._to_probabilities(self._score_neighbors(indices))

    def _labels(self: Any, indices: np.ndarray) -> np.ndarray:
        scores = self._probabilities(indices)
        if self._is_multi_label():
            return np.asarray(self._decide(scores), dtype=np.int64)
        return np.asarray(self.classes_[np.argmax(scores, axis=1)])

    def _is_elsewhere(self: Any, X: Any) -> bool:
        """Whether the queries or the training rows are a Dask array."""
        check_is_fitted(self)
        return is_dask(X) or is_dask(self._searched_rows())

    def _by_tasks(self: Any, X: Any, method: str, answer: str) -> Any:
        """What ``method`` says of a Dask array, as one; or of rows in memory, from training rows in a Dask array."""
        queries = read_rows(self, X, reset=False)
        if not is_dask(self._searched_rows()):
            return by_blocks(getattr(self, method), X)
        light = copy.copy(self)  # goes with every task: without the rows
        light.training_rows_ = None
        training = Rows.of(self.training_rows_)
        return answers(training, queries, self.n_neighbors_, getattr(light, answer), metric=self.metric)

    def predict_proba(self, X: Any) -> Any:
        """Probability of every label.

        Parameters
        ----------
        X : array-like, sparse matrix or dask array of shape (n_samples, n_features)
            With ``neighbors="precomputed"``: distances to the rows of ``fit``, (n_samples, n_fitted).

        Returns
        -------
        ndarray of shape (n_samples, n_labels), float64
            In [0, 1], for every label on its own; after a fit on 1-D y one column for each class, scaled so that
            rows sum to 1.  Of a Dask array one with the same blocks of rows, not yet computed.

        Raises
        ------
        ValueError
            For non-finite values or another number of features than in ``fit``.
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        """
        if self._is_elsewhere(X):
            return self._by_tasks(X, "predict_proba", "_probabilities")
        return self._gather(X, self._to_probabilities)

    def predict(self, X: Any) -> Any:
        """Labels 0/1, or classes after a fit on 1-D y.

        Parameters
        ----------
        X : array-like, sparse matrix or dask array of shape (n_samples, n_features)
            As in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), int, or (n_samples,)
            By `predict_proba`; after a fit on 1-D y the class with the highest, the first of equals.  Of a Dask
            array one, not yet computed.

        Raises
        ------
        ValueError
            For non-finite values or another number of features than in ``fit``.
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        """
        if self._is_elsewhere(X):
            return self._by_tasks(X, "predict", "_labels")
        n_samples, blocks = self._scores(X)
        if not self._is_multi_label():
            codes = np.empty(n_samples, dtype=np.intp)
            for part, scores in blocks:
                codes[part] = self._choose(scores)
            chosen: np.ndarray = self.classes_[codes]
            return chosen
        labels = np.empty((n_samples, len(self.classes_)), dtype=np.int64)
        for part, scores in blocks:
            labels[part] = self._decide(scores)
        return labels


def shares(scores: np.ndarray) -> np.ndarray:
    """Rows scaled to sum to 1; a row of zeros (no evidence, or the products underflowed) becomes uniform."""
    total = scores.sum(axis=1, keepdims=True)
    return np.where(total > 0, scores / np.where(total > 0, total, 1.0), 1.0 / scores.shape[1])
