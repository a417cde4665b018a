"""What the estimators share: reading X and y, clipping k, the neighbour plug-in, propagation, predicting by blocks."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks.arguments import asks_exact, check_alpha, check_count, check_graph, check_metric, check_rows
from .._checks.labels import (
    Labels,
    alphas_of_labels,
    check_labels,
    refuse_other_than_zero_one,
    refuse_partly_known,
    warn_of_other_index,
)
from .._errors import InputError
from .._process.threads import check_n_jobs
from .._search import choose_proposed, squared_neighbors
from .._search.estimate import say_if_large
from .._search.memory import is_memory_map
from .._solvers.system import Goal, System
from ..graph import graph_of_lists
from ..propagation import Propagation, propagate_checked, propagate_signed
from ._callbacks import step
from ._prepared import forget_rows, prepared_rows
from ._sklearn_bases import BaseEstimator, CallbackSupportMixin, ClassifierMixin
from ._thresholds import check_threshold, given_thresholds, labels_flip_rate, learned_cutoffs

# Rows in a block of predict: besides its output, predict needs memory for the neighbours and scores of one block.
_QUERY_ROWS = 4096

# The search behind each name that scikit-learn has for a metric; the powers of "minkowski" are 2.
METRICS = {"euclidean": "euclidean", "l2": "euclidean", "minkowski": "euclidean", "sqeuclidean": "euclidean",
           "cosine": "cosine"}  # fmt: skip
_SPOKEN = {"euclidean": "Euclidean", "cosine": "cosine"}


def clip_neighbors(estimator: Any, n_candidates: int) -> int:
    """k = ``n_neighbors``, at most the ``n_candidates`` other rows there are (with a warning)."""
    k = check_count(estimator.n_neighbors, "n_neighbors")
    if k > n_candidates:
        warnings.warn(
            f"n_neighbors={k} was lowered to {n_candidates}, since there are only so many other rows; "
            f"set n_neighbors to {n_candidates} or less, or give more rows.",
            stacklevel=3,
        )
    return min(k, n_candidates)


def refuse_one(estimator: Any, n_rows: int, what: str) -> None:
    """An error where the fit has one of these rows, or none."""
    if n_rows < 2:
        raise InputError(
            f"{type(estimator).__name__} needs at least 2 {what}, got n_samples = {n_rows}; add such rows."
        )


# ---------------------------------------------------------------- neighbours


def _warn_of_another_metric(transformer: Any, metric: str) -> None:
    """Say that candidates which a transformer found by one distance are ranked by another."""
    found_by = getattr(transformer, "metric", metric)
    same = METRICS.get(found_by) if found_by != "minkowski" or getattr(transformer, "p", 2) == 2 else None
    if same == metric:
        return
    advice = f'set metric="{same}" here' if same else "let the transformer use that distance too"
    warnings.warn(
        f"{type(transformer).__name__} finds candidates by the distance {found_by!r}, but the nearest of them by "
        f"{_SPOKEN[metric]} distance are used; {advice}, or pass graph=.",
        stacklevel=5,
    )


def neighbors_of_queries(
    estimator: Any, rows: Any, queries: Any, k: int, transformer: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """As `LearnsLabels._neighbors_of_rows`, for other rows: the k nearest of ``rows`` to each query.

    The transformer is that of the fit; None if the search is exact, by rows prepared if the estimator predicts often.
    """
    metric = METRICS.get(estimator.metric, estimator.metric)
    wanted = {"queries": queries, "metric": metric, "n_jobs": estimator.n_jobs}
    if transformer is not None:
        return choose_proposed(rows, transformer.transform(queries), k, **wanted)
    prepared = prepared_rows(estimator, rows, queries.shape[0])
    if prepared is not None:
        return prepared.neighbors(queries, k, check_n_jobs(estimator.n_jobs))
    return squared_neighbors(rows, k, checked=True, **wanted)


# ---------------------------------------------------------------- labels and their propagation


class LearnsLabels:
    """Reads X and y, finds the neighbours of the rows, and stores the classes and names of the labels.

    `nmlsdr.dask` overrides the steps that it does elsewhere than in this process.
    """

    _takes_votes = False
    _takes_partly_known_rows = False

    def _read_rows(self, X: Any, *, reset: bool) -> Any:
        """Checked rows for the kernels; sets or checks n_features_in_ and feature_names_in_.

        ``reset`` is True for the rows of a new fit; rows that were prepared for an earlier fit are then dropped.
        """
        if reset:
            forget_rows(self)
        rows = self._check_rows(X)
        for size, what in zip(rows.shape, ("sample", "feature"), strict=True):
            # The message begins with the text that scikit-learn's checks expect.  `predict` accepts an array without
            # rows, since a block of rows may be empty.
            if size == 0 and (reset or what == "feature"):
                raise InputError(
                    f"Found array with 0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required; "
                    f"pass at least one {what}."
                )
        if reset:
            refuse_one(self, rows.shape[0], "rows")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return rows

    def _check_rows(self, X: Any) -> Any:
        if hasattr(X, "__dask_graph__"):
            name = type(self).__name__
            raise InputError(
                f"{name} takes rows in memory, got a Dask array; to fit, use nmlsdr.dask.{name}, if there is one, or "
                "X.compute(); to predict, use X.map_blocks(model.predict)."
            )
        return check_rows(X)

    def _as_attribute(self, rows: Any) -> Any:
        """Training rows to keep: a copy of dense ones, which the caller may change after the fit.

        Memory maps and sparse rows are not copied; sparse rows come in the interface that scikit-learn's
        ``sparse_interface`` (from 1.9) requests.
        """
        if not sparse.issparse(rows):
            return rows if is_memory_map(rows) else rows.copy()
        interface = sklearn.get_config().get("sparse_interface")
        if interface is None:
            return rows
        return sparse.csr_array(rows) if interface == "sparray" else sparse.csr_matrix(rows)

    def _neighbors_of_rows(self: Any, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances and indices of every row's k nearest other rows, by the parameter ``neighbors``.

        A transformer is cloned, fitted and kept as ``neighbors_``, so that queries need no second fit.
        """
        neighbors, metric = self.neighbors, check_metric(self.metric)
        if asks_exact(neighbors):
            say_if_large(rows, k, n_jobs=self.n_jobs)
            return squared_neighbors(rows, k, metric=metric, n_jobs=self.n_jobs, checked=True)
        if isinstance(self, NeighborClassifier) and not hasattr(neighbors, "transform"):
            raise InputError(
                f"{type(self).__name__} needs a neighbors= transformer that has transform, to find the neighbours of "
                f'new rows, and {type(neighbors).__name__} has none; use one that has it, or "exact".'
            )
        _warn_of_another_metric(neighbors, metric)
        self.neighbors_ = clone(neighbors, safe=False)  # a plug-in need not be one of scikit-learn's estimators
        proposed = self.neighbors_.fit_transform(rows)
        return choose_proposed(rows, proposed, k, metric=metric, n_jobs=self.n_jobs)

    def _read_labels(self, X: Any, y: Any, rows: Any, labeled: Any) -> Labels:
        """The labels of the rows, which were read from X."""
        labels = check_labels(y, n_samples=rows.shape[0], labeled=labeled)
        warn_of_other_index(X, y)
        if not self._takes_votes:
            refuse_other_than_zero_one(labels.Y, labels.known, "y")
        if not self._takes_partly_known_rows:
            refuse_partly_known(labels, type(self).__name__)
        self.classes_ = labels.classes
        if labels.names is not None:
            self.label_names_in_ = labels.names
        return labels


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
            return self._graph_of_lists(*self._neighbors_of_rows(rows, self.n_neighbors_))

    def _graph_of_lists(self: Any, squared: np.ndarray, indices: np.ndarray) -> sparse.csr_array:
        return graph_of_lists(squared, indices, edge_weights=self.edge_weights, sigma=self.sigma)

    def _trust(self: Any, labels: Labels, alpha: Any) -> np.ndarray:
        """alpha of every row, or of every entry where entries of a row differ."""
        if alpha is not None:
            return check_alpha(alpha, len(labels.Y), n_labels=labels.Y.shape[1])
        return alphas_of_labels(labels, self.alpha_labeled, self.alpha_unlabeled)

    def _solve(
        self: Any, what: str, W: sparse.csr_array, Y: np.ndarray, labels: Labels, alpha: Any, *, signed: bool = False
    ) -> Propagation:
        """Solve eq. (8) for Y, where ``labels`` say what is known, by the parameters of the estimator."""
        trust, known = self._trust(labels, alpha), labels.known if labels.partly.any() else labels.labeled
        with step(self, what, "sweep", None) as swept:
            goal = Goal(self.tol, self.max_iter, swept, self.propagation_solver)
            if not signed:
                return self._solve_propagation(W, Y, trust, known, goal)
            return propagate_signed(System(W, Y, trust, known, check_n_jobs(self.n_jobs), clip=False), goal)

    def _solve_propagation(
        self: Any, W: sparse.csr_array, Y: np.ndarray, alpha: np.ndarray, known: np.ndarray, goal: Goal
    ) -> Propagation:
        return propagate_checked(System(W, Y, alpha, known, check_n_jobs(self.n_jobs)), goal)

    def _propagate(self: Any, W: sparse.csr_array, labels: Labels, alpha: Any) -> np.ndarray:
        """F of eq. (8) with the estimator's alphas, solver, tol, max_iter and n_jobs; sets the attributes.

        ``alpha`` (a number, one per row, or one per entry) replaces ``alpha_labeled`` and ``alpha_unlabeled``.
        """
        found = self._solve("propagation", W, labels.Y, labels, alpha)
        self.label_distributions_ = F = found.F
        if labels.single:
            best = np.argmax(F, axis=1)
            hard = best[:, None] == np.arange(F.shape[1])
            self.transduction_ = labels.classes[best]
        else:
            hard = F > 0.5
            self.transduction_ = hard.astype(np.int64)
        self.label_flips_ = (hard != (labels.Y > 0.5)) & (labels.Y != 0.5) & labels.known
        self.flip_scores_ = np.where(labels.known, np.abs(F - labels.Y), 0.0)
        self.n_iter_ = max(1, found.n_iter)  # labels that solve eq. (8) as given need a look, but no step
        self.residual_ = found.residual
        self.n_unreached_ = found.n_unreached
        self.propagation_solver_ = found.solver
        return F


# ---------------------------------------------------------------- predictions


class NeighborClassifier(LearnsLabels, ClassifierMixin, BaseEstimator):
    """Predicts from the nearest training rows, by blocks of queries.

    A subclass has ``_score_neighbors``, from the row numbers of the nearest training rows of each query to scores
    (n_queries, n_labels), and ``_decide``, from scores to labels 0/1 for 2-D y.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _n_nearest(self: Any) -> int:
        """Neighbours of a new row."""
        return int(self.n_neighbors_)

    def _searched_rows(self: Any) -> Any:
        """The training rows as the search sees them."""
        return self.training_rows_

    def _nearest(self: Any, rows: Any) -> np.ndarray:
        transformer = getattr(self, "neighbors_", None)
        return neighbors_of_queries(self, self._searched_rows(), rows, self._n_nearest(), transformer)[1]

    def _score_rows(self, rows: Any) -> np.ndarray:
        """Scores (n_queries, n_labels) of a block of rows."""
        return np.asarray(self._score_neighbors(self._nearest(rows)))

    def _to_probabilities(self, scores: np.ndarray) -> np.ndarray:
        return scores if self._is_multi_label() else shares(scores)

    def _choose(self, scores: np.ndarray) -> np.ndarray:
        """The class of each row, for 1-D y."""
        return np.argmax(self._to_probabilities(scores), axis=1)

    def _is_multi_label(self) -> bool:
        return isinstance(self.classes_, list)

    def _to_labels(self: Any, scores: np.ndarray) -> np.ndarray:
        """Labels 0/1, or classes after a fit on 1-D y."""
        if self._is_multi_label():
            return np.asarray(self._decide(scores), dtype=np.int64)
        return np.asarray(self.classes_[self._choose(scores)])

    def _gather(self: Any, X: Any, answer: Callable[[np.ndarray], np.ndarray]) -> Any:
        """What ``answer``, a method of the estimator, makes of the scores (n_samples, n_labels) of rows."""
        check_is_fitted(self)
        rows = self._read_rows(X, reset=False)
        if isinstance(self.neighbors, str) and self.neighbors == "exact":  # once, before the blocks of queries
            say_if_large(self._searched_rows(), self._n_nearest(), n_queries=rows.shape[0], n_jobs=self.n_jobs)
        return self._gather_rows(rows, answer)

    def _gather_rows(self, rows: Any, answer: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        like = self._no_answer(answer)
        found = np.empty((rows.shape[0], *like.shape[1:]), like.dtype)
        for first in range(0, rows.shape[0], _QUERY_ROWS):
            part = slice(first, first + _QUERY_ROWS)
            found[part] = answer(self._score_rows(rows[part]))
        return found

    def _no_answer(self, answer: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The answer for no rows: its columns and its dtype."""
        return answer(np.empty((0, len(self.classes_))))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows for which every label is predicted correctly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict; finite numbers.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            Their labels, in a form that `fit` accepts. Columns with names are matched by name. Label sets need not
            contain all labels; a row with a label that `fit` did not see counts as wrong.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. None: all rows count the same.

        Returns
        -------
        float
            From 0 to 1; larger is better. Rows with an unknown label are left out.

        Raises
        ------
        ValueError
            If every row has an unknown label, or y has other columns or another kind of classes than in `fit`.

        Warns
        -----
        UserWarning
            If rows are left out. In cross-validation, :class:`nmlsdr.model_selection.LabeledRowsSplit` keeps
            unlabelled rows out of the test folds, and in the training sets.
        """
        check_is_fitted(self)
        labels = check_labels(y, fitted=getattr(self, "label_names_in_", None))
        refuse_other_than_zero_one(labels.Y, labels.known, "y")
        known = np.asarray(labels.known.all(axis=1))
        advice = "use cv=nmlsdr.model_selection.LabeledRowsSplit(), which tests labelled rows only"
        if labels.partly.any():
            advice = 'pass scoring=nmlsdr.model_selection.SCORERS["micro_f1"], which counts each known label'
        left_out = f"{(~known).sum()} of {len(known)} rows of y have unknown labels and are left out of the score"
        unknown = f"{left_out}; in cross-validation, {advice}."
        if not known.any():
            raise InputError(unknown)
        if not known.all():
            warnings.warn(unknown, stacklevel=2)
        if labels.names is not None and not hasattr(self, "label_names_in_") and not hasattr(y, "columns"):
            raise InputError("y has label sets, but fit received no names of labels; give y in the form given to fit.")
        right = self._are_right(np.asarray(self.predict(X)), labels)
        from sklearn.metrics import accuracy_score  # takes a while, which `import nmlsdr` need not wait for

        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(np.ones_like(right[known]), right[known], sample_weight=weight))

    def _are_right(self, predicted: np.ndarray, labels: Labels) -> np.ndarray:
        """Rows whose labels are all predicted, bool (n_samples,)."""
        if labels.names is not None and hasattr(self, "label_names_in_"):  # sets may hold labels that no fit could know
            predicted = np.pad(predicted, [(0, 0), (0, labels.Y.shape[1] - predicted.shape[1])])
        given = labels.classes[labels.Y.argmax(axis=1)] if labels.single else labels.Y
        given, predicted = (part[:, 0] if part.shape[1:] == (1,) else part for part in (given, predicted))
        if given.shape != predicted.shape:
            raise InputError(
                f"y has shape {given.shape}, but the predictions have shape {predicted.shape}; give the labels of "
                "these rows in the form given to fit."
            )
        one, other = given.ravel().tolist()[0], predicted.ravel().tolist()[0]
        if isinstance(one, str | bytes) != isinstance(other, str | bytes):
            raise InputError(f"y holds {one!r}, but fit received classes such as {other!r}; give y the same classes.")
        return np.asarray((given == predicted).reshape(len(given), -1).all(axis=1))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of every label for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict; finite numbers. With ``neighbors="precomputed"`` of an ML-kNN classifier: distances from
            these rows to the rows given to `fit`, of shape (n_samples, n_fitted).

        Returns
        -------
        ndarray of shape (n_samples, n_labels), float64
            Probabilities in [0, 1], each label on its own. After a fit on 1-D y: one column for each class, scaled so
            that each row sums to 1.

        Raises
        ------
        ValueError
            If X has non-finite values or another number of features than in `fit`.
        sklearn.exceptions.NotFittedError
            If `fit` was not called before.
        """
        return self._gather(X, self._to_probabilities)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the labels of each row, or its class after a fit on 1-D y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict; finite numbers. With ``neighbors="precomputed"`` of an ML-kNN classifier: distances from
            these rows to the rows given to `fit`, of shape (n_samples, n_fitted).

        Returns
        -------
        ndarray of shape (n_samples, n_labels), int64, or (n_samples,)
            1 where the score of the label is greater than its threshold (``thresholds_``), otherwise 0. After a fit on
            1-D y: the class with the highest probability, the first of equal ones. In `ResidualPropagation`, classes
            whose probabilities are equal because they are the largest or smallest possible ones are compared by their
            scores, those of ``decision_function``.

        Raises
        ------
        ValueError
            If X has non-finite values or another number of features than in `fit`.
        sklearn.exceptions.NotFittedError
            If `fit` was not called before.
        """
        return self._gather(X, self._to_labels)


class CutsScores:
    """Predicts a label where its score is above ``thresholds_``, which follow from ``threshold``.

    ``threshold`` is a number, one number for each label, or a rule that learns from the training rows.
    """

    _reaching_is_enough = True  # a score that equals a number given as the threshold is a label

    @property
    def thresholds_(self: Any) -> np.ndarray:
        """What the rule of the fit learned, or the numbers that ``threshold`` is, or was set to since."""
        if "thresholds_" not in vars(self):
            raise NotFittedError(f"{type(self).__name__} has no thresholds_ before its fit; call fit.")
        learned, rule = vars(self)["thresholds_"], self.threshold
        if not isinstance(rule, str):
            check_threshold(rule)
            return self._given_cutoffs(len(learned))
        if rule != self._rule and self._is_multi_label():
            raise NotFittedError(f"threshold={rule!r} was set after the fit, and is learned by a fit; call fit again.")
        return learned

    @thresholds_.setter
    def thresholds_(self: Any, cutoffs: np.ndarray) -> None:
        vars(self)["thresholds_"] = cutoffs
        self._rule = self.threshold if isinstance(self.threshold, str) else None

    def _learn_cutoffs(
        self: Any,
        labels: Labels,
        all_scores: Callable[[], np.ndarray],
        labeled_scores: Callable[[], np.ndarray],
        rate: float | None = None,
    ) -> None:
        """Set thresholds_; only a rule needs the scores of the training rows and the flip rate (None: estimate it).

        For 1-D y, which takes the class with the highest score, they are not used.
        """
        if isinstance(self.threshold, str) and not labels.single:
            scores = labeled_scores()
            rate = labels_flip_rate(scores, labels) if rate is None else rate
            self.thresholds_ = _just_below(learned_cutoffs(self.threshold, labels, rate, all_scores, scores))
        else:
            self.thresholds_ = self._given_cutoffs(labels.Y.shape[1])

    def _given_cutoffs(self: Any, n_labels: int) -> np.ndarray:
        cutoffs = given_thresholds(self.threshold, n_labels)
        return _just_below(cutoffs) if self._reaching_is_enough else cutoffs

    def _decide(self: Any, scores: np.ndarray) -> np.ndarray:
        return np.asarray(scores > self.thresholds_)


def _just_below(cutoffs: np.ndarray) -> np.ndarray:
    """The next smaller floats: what reaches a threshold is above them."""
    return np.nextafter(cutoffs, -np.inf)


def shares(scores: np.ndarray) -> np.ndarray:
    """Rows scaled to sum to 1; a row of zeros (no evidence, or the products underflowed) becomes uniform."""
    total = scores.sum(axis=1, keepdims=True)
    return np.where(total > 0, scores / np.where(total > 0, total, 1.0), 1.0 / scores.shape[1])
