"""The steps that fits share, in the article's order: rows, labels, neighbours, W, soft labels, attributes."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, get_args

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from .._checks import arguments
from .._checks import labels as label_rule
from .._checks.arguments import Metric, PropagationSolver
from .._checks.labels import Labels, Takes
from .._errors import InputError, level_outside
from .._group_folds import Groups
from .._moments import RowSums
from .._process.threads import check_n_jobs
from .._row_order import RowOrder, as_given, in_order
from .._search import choose_proposed, squared_neighbors
from .._search.estimate import say_if_large
from .._search.memory import is_memory_map
from .._search.metrics import METRIC_NAMES
from .._solvers.system import Goal, System
from ..graph import EdgeWeights, graph_of_lists
from ..propagation import Propagation, propagate_checked
from ._prepared import forget_rows
from ._sklearn_bases import BaseEstimator, ClassifierMixin

PartIsDone = Callable[..., None] | None
#: Starts a task of a fit, by its name, the name of its parts and their largest number (None: unknown): `_callbacks`.
Task = Callable[..., AbstractContextManager[PartIsDone]]
Trust = tuple[np.ndarray, np.ndarray]


class Neighbors(NamedTuple):
    """Squared distances and indices (n, k) of every row's nearest other rows, and the transformer that found them.

    The transformer is a fitted clone of the parameter ``neighbors``, so that queries need no second fit; None if the
    search is exact.
    """

    squared: np.ndarray
    indices: np.ndarray
    transformer: Any = None

    def of_rows(self, order: RowOrder) -> "Neighbors":
        """The neighbours of rows as they are numbered, of a search of rows in an order."""
        if order is None:
            return self
        return Neighbors(as_given(self.squared, order), as_given(order.take(self.indices), order), self.transformer)

    def attributes(self) -> dict[str, Any]:
        """neighbors_, if there is a transformer."""
        return {} if self.transformer is None else {"neighbors_": self.transformer}


def hard_labels(estimator: Any) -> np.ndarray:
    """The hard labels of the training rows, of an estimator that has propagated their labels."""
    F = estimator.label_distributions_
    classes = estimator.classes_
    return (F > 0.5).astype(np.int64) if isinstance(classes, list) else np.asarray(classes[np.argmax(F, axis=1)])


@dataclass(eq=False, repr=False, kw_only=True)
class PropagationParameters:
    """The parameters that NMLSDR, SSMLDR, MultiLabelPropagation and SemiSupervisedMLkNN have in common."""

    transduction_ = property(hard_labels)

    n_neighbors: int = 10
    edge_weights: EdgeWeights = "binary"
    sigma: float | None = None
    metric: Metric = "euclidean"
    alpha_labeled: float | tuple[float, float] = 0.6
    alpha_unlabeled: float = 0.999
    neighbors: Any = "exact"
    propagation_solver: PropagationSolver = "auto"
    tol: float = 1e-8
    max_iter: int | None = None


@dataclass(frozen=True)
class Steps:
    """The steps of one fit, by the parameters of its estimator, for rows in memory and in this process.

    `nmlsdr.dask` has other steps for Dask arrays.
    """

    estimator: BaseEstimator
    task: Task
    groups: Groups = None  # of the rows, if the fit was given them
    small: ClassVar[str] = "float64"  # the type of rows of small types, as of `check_rows`

    @classmethod
    def check_rows(cls, X: Any, name: str) -> Any:
        """Rows for the kernels; ``name`` is that of the estimator."""
        if hasattr(X, "__dask_graph__"):
            raise InputError(
                f"{name} takes rows in memory, got a Dask array; to fit, use nmlsdr.dask.{name}, if there is one, or "
                "X.compute(); to predict, use X.map_blocks(model.predict)."
            )
        return arguments.check_rows(X, small=cls.small)

    @staticmethod
    def in_memory(value: Any) -> Any:
        """Labels, alphas and what was computed from rows, as arrays of this process."""
        return value

    @staticmethod
    def read_rows(estimator: BaseEstimator, X: Any, *, reset: bool = False) -> Any:
        """Checked rows for the kernels; sets or checks n_features_in_ and feature_names_in_.

        ``reset`` is True for the rows of a new fit; rows that were prepared for an earlier fit are then dropped.
        """
        if reset:
            forget_rows(estimator)
        rows = estimator._steps.check_rows(X, type(estimator).__name__)
        for size, axis in zip(rows.shape, ("sample", "feature"), strict=True):
            # The message begins with the text that scikit-learn's checks expect.  `predict` accepts an array without
            # rows, since a block of rows may be empty.
            if size == 0 and (reset or axis == "feature"):
                raise InputError(
                    f"Found array with 0 {axis}(s) (shape={rows.shape}) while a minimum of 1 is required; "
                    f"pass at least one {axis}."
                )
        if reset:
            refuse_one(estimator, rows.shape[0], "rows")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return rows

    def read(self, X: Any, y: Any, labeled: Any, takes: Takes = "whole") -> tuple[Any, Labels]:
        """Rows and labels of a fit; sets the attributes of features and of labels."""
        rows = self.read_rows(self.estimator, X, reset=True)
        return rows, self.read_labels(X, y, labeled, rows.shape[0], takes)

    def read_labels(self, X: Any, y: Any, labeled: Any, n_samples: int, takes: Takes = "whole") -> Labels:
        """The labels of the rows of X, which the method ``takes`` known as whole rows, partly, or as votes too."""
        method = type(self.estimator).__name__
        labels = label_rule.labels_of_fit(
            self.in_memory(y),
            n_samples=n_samples,
            labeled=self.in_memory(labeled),
            takes=takes,
            method=method,
            predicts=hasattr(self.estimator, "predict"),
        )
        label_rule.warn_of_other_index(X, y)
        self.set_attributes(
            classes_=labels.classes, **({} if labels.names is None else {"label_names_in_": labels.names})
        )
        return labels

    def search(self, rows: Any, k: int, order: RowOrder) -> Neighbors:
        """Every row's k nearest other rows, by the parameter ``neighbors``; of equally near rows the first in order."""
        return self._search_in_order(in_order(rows, order), k).of_rows(order)

    def _search_in_order(self, rows: Any, k: int) -> Neighbors:
        neighbors = self.estimator.neighbors
        n_jobs = self.estimator.n_jobs
        metric = arguments.check_metric(self.estimator.metric)
        if arguments.asks_exact(neighbors):
            say_if_large(rows, k, n_jobs=n_jobs)
            return Neighbors(*squared_neighbors(rows, k, metric=metric, n_jobs=n_jobs, checked=True))
        if isinstance(self.estimator, ClassifierMixin) and not hasattr(neighbors, "transform"):
            raise InputError(
                f"{type(self.estimator).__name__} needs a neighbors= transformer that has transform, to find the "
                f'neighbours of new rows, and {type(neighbors).__name__} has none; use one that has it, or "exact".'
            )
        _warn_of_another_metric(neighbors, metric)
        transformer = clone(neighbors, safe=False)  # a plug-in need not be one of scikit-learn's estimators
        proposed = transformer.fit_transform(rows)
        return Neighbors(*choose_proposed(rows, proposed, k, metric=metric, n_jobs=n_jobs), transformer)

    def graph(self, rows: Any, graph: Any, order: RowOrder) -> tuple[sparse.csr_array, dict[str, Any]]:
        """W, the given graph or that of the nearest neighbours, and the attributes that the search gives."""
        arguments.check_metric(self.estimator.metric)
        k = clip_neighbors(self.estimator.n_neighbors, rows.shape[0] - 1)
        if graph is not None:
            return arguments.check_graph(graph, "graph", n_samples=rows.shape[0]), {"n_neighbors_": k}
        with self.task("neighbors"):
            neighbors = self.search(rows, k, order)
            return self.graph_of(neighbors), {"n_neighbors_": k, **neighbors.attributes()}

    def graph_of(self, neighbors: Neighbors) -> sparse.csr_array:
        """W of eq. (2) or (3)."""
        weights = {"edge_weights": self.estimator.edge_weights, "sigma": self.estimator.sigma}
        return graph_of_lists(neighbors.squared, neighbors.indices, **weights)

    def soft_labels(self, W: sparse.csr_array, labels: Labels, alpha: Any) -> Propagation:
        """F of eq. (8); ``alpha`` (a number, one per row, or one per entry) replaces the estimator's alphas."""
        trust = self.trust(labels, alpha)
        with self.task("propagation", "sweep", None) as swept:
            return self.propagate(W, labels.Y, trust, self.goal(swept))

    def trust(self, labels: Labels, alpha: Any) -> Trust:
        """alpha, and what is known, of every row, or of every entry where entries of a row differ."""
        known = labels.known if labels.partly.any() else labels.labeled
        alpha = self.in_memory(alpha)
        by = self.estimator
        if alpha is None:
            return label_rule.alphas_of_labels(labels, by.alpha_labeled, by.alpha_unlabeled), known
        return arguments.check_alpha(alpha, len(labels.Y), n_labels=labels.Y.shape[1]), known

    def checked_alpha(self, labels: Labels, alpha: Any) -> np.ndarray | None:
        """``alpha`` of each row or entry; None if it is not given."""
        return None if alpha is None else self.trust(labels, alpha)[0]

    def goal(self, callback: Callable[..., object] | None) -> Goal:
        """How eq. (8) is to be solved."""
        estimator = self.estimator
        arguments.check_choice(estimator.propagation_solver, "propagation_solver", *get_args(PropagationSolver))
        return Goal(estimator.tol, estimator.max_iter, callback, estimator.propagation_solver)

    def propagate(self, W: sparse.csr_array, Y: np.ndarray, trust: Trust, goal: Goal) -> Propagation:
        """Solve eq. (8)."""
        return propagate_checked(System(W, Y, *trust, check_n_jobs(self.estimator.n_jobs)), goal)

    def set_attributes(self, **attributes: Any) -> None:
        """Set attributes of the estimator."""
        for name, value in attributes.items():
            setattr(self.estimator, name, value)


def refuse_one(estimator: BaseEstimator, n_rows: int, kind: str) -> None:
    """An error where the fit has one of these rows, or none."""
    if n_rows < 2:
        raise InputError(f"{type(estimator).__name__} needs at least 2 {kind}, got n_samples = {n_rows}; add {kind}.")


def clip_neighbors(n_neighbors: int, n_candidates: int) -> int:
    """k = ``n_neighbors``, at most the ``n_candidates`` other rows there are (with a warning)."""
    k = arguments.check_count(n_neighbors, "n_neighbors")
    if k > n_candidates:
        warnings.warn(
            f"n_neighbors={k} was lowered to {n_candidates}, the number of other rows; lower it, or add rows.",
            stacklevel=level_outside(),
        )
    return min(k, n_candidates)


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


def _warn_of_another_metric(transformer: Any, metric: str) -> None:
    """Say that candidates which a transformer found by one distance are ranked by another."""
    found_by = getattr(transformer, "metric", metric)
    same = METRIC_NAMES.get(found_by) if found_by != "minkowski" or getattr(transformer, "p", 2) == 2 else None
    if same == metric:
        return
    advice = f'set metric="{same}" here' if same else "let the transformer use that distance too"
    warnings.warn(
        f"{type(transformer).__name__} finds candidates by the distance {found_by!r}, of which the nearest by {metric} "
        f"distance are used; {advice}, or pass graph=.",
        stacklevel=level_outside(),
    )


# ---------------------------------------------------------------- attributes


def soft_label_attributes(
    propagation: Propagation, labels: Labels, out_of_sample: np.ndarray | None = None
) -> dict[str, Any]:
    """The attributes that every propagating estimator has.

    The flip scores are |F - Y|, or how much scores of the labelled rows that lack their own labels, ``others``,
    contradict these.
    """
    F = propagation.F
    hard = np.argmax(F, axis=1)[:, None] == np.arange(F.shape[1]) if labels.single else F > 0.5
    # a vote of 1/2 cannot be wrong
    is_one = labels.Y > 0.5
    known = labels.known & (labels.Y != 0.5)
    if out_of_sample is None:
        flip_scores = F - labels.Y
        np.abs(flip_scores, out=flip_scores)  # in place: there may be many
        flip_scores[~labels.known] = 0.0
    else:
        flip_scores = np.zeros(F.shape)
        flip_scores[labels.labeled] = out_of_sample
        np.clip(flip_scores, 0.0, 1.0, out=flip_scores)
        np.subtract(1.0, flip_scores, out=flip_scores, where=is_one)
        flip_scores[~known] = 0.0
    n_iter = max(1, propagation.n_iter)  # labels that solve eq. (8) as given need a look, but no step
    attributes = {"label_distributions_": F, "label_flips_": (hard != is_one) & known, "flip_scores_": flip_scores}
    facts = {"n_iter_": n_iter, "residual_": propagation.residual, "propagation_solver_": propagation.solver}
    return attributes | facts | {"n_unreached_": propagation.n_unreached}
