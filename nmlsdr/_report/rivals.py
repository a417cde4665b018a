"""What a user would try first: logistic regressions and a forest, for `nmlsdr report` and the studies.

They decide as ResidualPropagation does: a label is predicted where its score reaches half of the best F1 that the
out-of-sample scores of the labelled rows promise.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold

from .._checks.labels import check_labels
from .._group_folds import labeled_groups
from .._process.threads import check_n_jobs, single_threaded_blas
from .._thresholds import known_shares, labels_flip_rate, learned_cutoffs
from ..forest import KINDS, grow_forests, score_by_forests

STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0)  # on standardised features
SPLITS = 5
ITERATIONS = 500

TUNING_ROWS = 1000  # more rows or folds cost time and hardly change the best strength
TUNING_SPLITS = 3
TUNING_LABELS = 20


def logistic(X: Any, Y: NDArray[Any], queries: Any, strength: float = 0.01, **settings: Any) -> NDArray[Any]:
    """Predict each label by a logistic regression on the rows where it is known; a constant label by its value.

    With fewer rows than features, all rows are projected onto the span of the training rows first: with a penalty on
    |w|^2 the coefficients are in that span.  ``settings`` are those of scikit-learn's LogisticRegression.
    """
    if X.shape[1] > X.shape[0] and not sparse.issparse(X):
        basis = np.linalg.qr(X.T)[0]
        X = X @ basis
        queries = queries @ basis
    scores = np.zeros((queries.shape[0], Y.shape[1]))
    for c in range(Y.shape[1]):
        known = Y[:, c] != -1
        values = np.unique(Y[known, c])
        if len(values) == 2:
            rows = slice(None) if known.all() else known
            model = LogisticRegression(C=strength, max_iter=ITERATIONS, **settings).fit(X[rows], Y[rows, c])
            scores[:, c] = model.predict_proba(queries)[:, 1]
        elif len(values) == 1:
            scores[:, c] = values[0]
    return scores


def _folds(n_rows: int, splits: int, groups: Any) -> Any:
    """The training and test rows of each fold."""
    n_groups = 1 if groups is None else len(np.unique(groups))
    if n_groups == 1:
        return KFold(min(splits, n_rows), shuffle=True, random_state=0).split(np.zeros(n_rows))
    return GroupKFold(min(splits, n_groups), shuffle=True, random_state=0).split(np.zeros(n_rows), groups=groups)


def logistic_out_of_fold(
    X: Any, Y: NDArray[Any], strength: float = 0.01, *, splits: int = SPLITS, groups: Any = None, **settings: Any
) -> NDArray[Any]:
    """Probabilities (n, C) of each row by logistic regressions on the rows of the other folds; groups stay together."""
    scores = np.empty(Y.shape)
    for train, test in _folds(len(Y), splits, groups):
        scores[test] = logistic(X[train], Y[train], X[test], strength, **settings)
    return scores


def choose_strength(X: Any, Y: NDArray[Any], *, splits: int = SPLITS, groups: Any = None, **settings: Any) -> float:
    """Choose one C for all labels, by the smallest unexplained share of the labels' variance out of fold.

    ResidualPropagation chooses its two strengths by the same criterion.
    """
    known = Y != -1
    varies = (Y == 1).any(axis=0) & (Y == 0).any(axis=0)
    if len(Y) < 2 or not varies.any():
        return STRENGTHS[0]
    spread = ((Y - known_shares(Y, known)) ** 2 * known).sum(axis=0)[varies]

    def error(strength: float) -> float:
        scores = logistic_out_of_fold(X, Y, strength, splits=splits, groups=groups, **settings)
        return float((((Y - scores) ** 2 * known).sum(axis=0)[varies] / spread).mean())

    return min(STRENGTHS, key=error)


def f1_cutoff_of(scores: NDArray[Any], Y: NDArray[Any]) -> float:
    """The threshold "f1" of ResidualPropagation, for out-of-sample scores (n, C) of rows with labels 0, 1 or -1."""
    labels = check_labels(Y)
    rate = labels_flip_rate(scores, labels)
    return float(learned_cutoffs("f1", labels, rate, scores)[0])


class _Rival(ClassifierMixin, BaseEstimator):
    """A classifier of the labelled rows; ``_learn`` gives the threshold, ``predict_proba`` the scores."""

    _learn: Callable[..., float]
    predict_proba: Callable[..., NDArray[np.float64]]

    def fit(self, X: Any, y: NDArray[Any], groups: Any = None) -> Any:
        """Keep the labelled rows, and learn from them; rows of one group stay together in its own folds."""
        labeled = (y != -1).any(axis=1)
        rows = np.flatnonzero(labeled)
        with single_threaded_blas():  # its products are too small for threads
            self.cutoff_ = self._learn(X[rows], np.asarray(y)[rows], labeled_groups(groups, labeled))
        return self

    def predict(self, X: Any) -> NDArray[np.bool_]:
        """Which labels are predicted (n, C)."""
        return self._decide(self.predict_proba(X))

    def _decide(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Which labels scores predict."""
        return scores >= self.cutoff_


class TunedLogistic(_Rival):
    """One logistic regression for each label; C is tuned on at most 1000 rows and the 20 most frequent labels."""

    def _learn(self, X: Any, Y: NDArray[Any], groups: Any) -> float:
        self.X_ = X
        self.y_ = Y
        tuning_rows = np.random.default_rng(0).permutation(len(Y))[:TUNING_ROWS]
        common = np.argsort(-(Y == 1).sum(axis=0), kind="stable")[:TUNING_LABELS]
        folds: Any = {"splits": TUNING_SPLITS, "groups": None if groups is None else groups[tuning_rows]}
        self.strength_ = choose_strength(X[tuning_rows], Y[tuning_rows][:, common], **folds)
        held_out = logistic_out_of_fold(X[tuning_rows], Y[tuning_rows], self.strength_, **folds)
        self.held_out_ = tuning_rows, held_out
        return f1_cutoff_of(held_out, Y[tuning_rows])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities (n, C)."""
        with single_threaded_blas():
            return logistic(self.X_, self.y_, X, self.strength_)


class Forest(_Rival):
    """Extremely randomised trees; an unknown label of a labelled row counts as the label's share of the known ones."""

    def __init__(self, n_estimators: int = 300, n_jobs: int | None = None) -> None:
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs

    def _learn(self, X: Any, Y: NDArray[Any], groups: Any) -> float:
        known = Y != -1
        self.forests_, (scores,), left_out = grow_forests(
            X,
            np.where(known, Y, known_shares(Y, known)),
            kinds=KINDS[:1],
            n_estimators=self.n_estimators,
            random_state=0,
            n_jobs=check_n_jobs(self.n_jobs),
            groups=groups,
        )
        return f1_cutoff_of(scores[left_out], Y[left_out]) if left_out.any() else 0.5

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Scores (n, C)."""
        return score_by_forests(self.forests_, X, check_n_jobs(self.n_jobs))[0]
