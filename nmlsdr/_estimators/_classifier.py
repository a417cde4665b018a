"""What the classifiers share: scores of new rows from their nearest training rows, by blocks, and thresholds."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._checks.labels import Labels, check_labels, refuse_other_than_zero_one
from .._errors import InputError
from .._search.estimate import say_if_large
from .._thresholds import (
    NEVER,
    check_threshold,
    given_thresholds,
    just_below,
    labels_flip_rate,
    learned_cutoffs,
    without_only_present,
)
from ._prepared import neighbors_of_queries
from ._sklearn_bases import BaseEstimator, ClassifierMixin
from ._steps import Steps

Scores = Callable[[], np.ndarray]
# Rows in a block of predict: besides its output, predict needs memory for the neighbours and scores of one block.
_QUERY_ROWS = 4096


class NeighborClassifier(ClassifierMixin, BaseEstimator):
    """Predicts from the nearest training rows, by blocks of queries: a label where its score is above ``thresholds_``.

    A subclass has ``_score_neighbors``, from the row numbers of the nearest training rows of each query to scores
    (n_queries, n_labels). Its ``threshold`` is a number, one number for each label, or a rule that learns from the
    training rows.
    """

    _steps: ClassVar[type[Steps]] = Steps
    _row_order: Any = None  # a fit sets it: the order in which training rows are searched
    _reaching_is_enough = True  # a score that equals a number given as the threshold is a label

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _n_nearest(self) -> int:
        """Neighbours of a new row."""
        return int(self.n_neighbors_)

    def _searched_rows(self) -> Any:
        """The training rows as the search sees them."""
        return self.training_rows_

    def _nearest(self, rows: Any) -> np.ndarray:
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

    def _to_labels(self, scores: np.ndarray) -> np.ndarray:
        """Labels 0/1, or classes after a fit on 1-D y."""
        if self._is_multi_label():
            return np.asarray(self._decide(scores), dtype=np.int64)
        return np.asarray(self.classes_[self._choose(scores)])

    def _gather(self, X: Any, answer: Callable[[np.ndarray], np.ndarray]) -> Any:
        """What ``answer``, a method of the estimator, makes of the scores (n_samples, n_labels) of rows."""
        check_is_fitted(self)
        rows = self._steps.read_rows(self, X)
        if isinstance(self.neighbors, str) and self.neighbors == "exact":  # once, before the blocks of queries
            say_if_large(self._searched_rows(), self._n_nearest(), n_queries=rows.shape[0], n_jobs=self.n_jobs)
        return self._gather_rows(rows, answer)

    def _gather_rows(self, rows: Any, answer: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        like = self._no_answer(answer)
        answers = np.empty((rows.shape[0], *like.shape[1:]), like.dtype)
        for first in range(0, rows.shape[0], _QUERY_ROWS):
            part = slice(first, first + _QUERY_ROWS)
            answers[part] = answer(self._score_rows(rows[part]))
        return answers

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
        unknown = f"Unknown labels leave {(~known).sum()} of {len(known)} rows unscored; in cross-validation, {advice}."
        if not known.any():
            raise InputError(unknown)
        if not known.all():
            warnings.warn(unknown, stacklevel=2)
        if labels.names is not None and not hasattr(self, "label_names_in_") and not hasattr(y, "columns"):
            raise InputError("y has label sets, but fit received no names of labels; give y in the form given to fit.")
        right = self._are_right(np.asarray(self.predict(X)), labels)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(right[known], weights=weights))

    def _are_right(self, predicted: np.ndarray, labels: Labels) -> np.ndarray:
        """Rows whose labels are all predicted, bool (n_samples,)."""
        if labels.names is not None and hasattr(self, "label_names_in_"):  # sets may hold labels that no fit could know
            predicted = np.pad(predicted, [(0, 0), (0, labels.Y.shape[1] - predicted.shape[1])])
        labels_in_y = labels.classes[labels.Y.argmax(axis=1)] if labels.single else labels.Y
        labels_in_y, predicted = (part[:, 0] if part.shape[1:] == (1,) else part for part in (labels_in_y, predicted))
        if labels_in_y.shape != predicted.shape:
            raise InputError(
                f"y has shape {labels_in_y.shape}, but the predictions have shape {predicted.shape}; give the labels "
                "of these rows in the form given to fit."
            )
        label_in_y = labels_in_y.ravel().tolist()[0]
        predicted_label = predicted.ravel().tolist()[0]
        if isinstance(label_in_y, str | bytes) != isinstance(predicted_label, str | bytes):
            raise InputError(
                f"y holds {label_in_y!r}, but fit received classes such as {predicted_label!r}; give y the same "
                "classes."
            )
        return np.asarray((labels_in_y == predicted).reshape(len(labels_in_y), -1).all(axis=1))

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

    # ---------------------------------------------------------------- thresholds

    @property
    def thresholds_(self) -> np.ndarray:
        """What the rule of the fit learned, or the numbers that ``threshold`` is, or was set to since."""
        if "thresholds_" not in vars(self):
            raise NotFittedError(f"{type(self).__name__} has no thresholds_ before its fit; call fit.")
        learned = vars(self)["thresholds_"]
        rule = self.threshold
        if not isinstance(rule, str):
            check_threshold(rule)
            return np.where(learned == NEVER, NEVER, self._given_cutoffs(len(learned)))
        if rule != self._rule and self._is_multi_label():
            raise NotFittedError(f"threshold={rule!r} was set after the fit, and is learned by a fit; call fit again.")
        return learned

    @thresholds_.setter
    def thresholds_(self, cutoffs: np.ndarray) -> None:
        vars(self)["thresholds_"] = cutoffs
        self._rule = self.threshold if isinstance(self.threshold, str) else None

    def _cutoffs(self, labels: Labels, labeled_scores: Scores, rate: float | None = None) -> np.ndarray:
        """What thresholds_ is to be; only a rule needs the scores of the labelled rows and the flip rate.

        A rate of None is estimated. For 1-D y, which takes the class with the highest score, scores are not used.
        """
        if not isinstance(self.threshold, str) or labels.single:
            return without_only_present(self._given_cutoffs(labels.Y.shape[1]), labels)
        scores = labeled_scores()
        rate = labels_flip_rate(scores, labels) if rate is None else rate
        return without_only_present(just_below(learned_cutoffs(self.threshold, labels, rate, scores)), labels)

    def _given_cutoffs(self, n_labels: int) -> np.ndarray:
        cutoffs = given_thresholds(self.threshold, n_labels)
        return just_below(cutoffs) if self._reaching_is_enough else cutoffs

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        return np.asarray(scores > self.thresholds_)


def shares(scores: np.ndarray) -> np.ndarray:
    """Rows scaled to sum to 1; a row of zeros (no evidence, or the products underflowed) becomes uniform."""
    total = scores.sum(axis=1, keepdims=True)
    return np.where(total > 0, scores / np.where(total > 0, total, 1.0), 1.0 / scores.shape[1])
