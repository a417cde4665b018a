"""Does the method help on these data, and would more labels help? Cross-validation beside what a user would try first.

Folds are drawn from the labelled rows; unlabelled rows stay on the training side.  Scores are computed from the given
labels, which may be wrong, so only the differences between methods on the same folds mean something.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold

from .. import MLkNN, ResidualPropagation
from .._checks.labels import Labels
from .._thresholds import RULES, learned_cutoffs, rank_scores
from ..inspection import estimate_mistakes
from ..metrics import score_table
from ..model_selection import LabeledRowsSplit
from .curve import curve_picture
from .rivals import Forest, TunedLogistic
from .scores import describe_rare, score_labels
from .significance import against_best, describe_signal, difference, mean_auc, p_value

Facts = dict[str, Any]

# The tests lower these numbers.
TREES = 300  # of the rival forest
CURVE_TREES = 25  # of the method in the learning curve, where many fits are compared with each other only
CURVE_FOLDS = 3
CURVE_SHARES = (0.25, 0.5, 0.75, 1.0)  # of the labelled training rows
HALF = CURVE_SHARES.index(0.5)  # whose F1 that of all labelled rows is compared with


class OnWholeRows(MLkNN):
    """ML-kNN on the rows whose labels are all known; it cannot use the others."""

    def fit(self, X: Any, y: NDArray[Any], groups: Any = None, **arguments: Any) -> Self:
        """Fit on them; its threshold is learned from all other rows, those of the row's group too."""
        return super().fit(X, np.where((y == -1).any(axis=1, keepdims=True), -1, y), **arguments)


class EveryRule(ResidualPropagation):
    """ResidualPropagation that keeps more of its fit: the thresholds of each rule, and how many annotations are wrong.

    Attributes
    ----------
    cutoffs_ : dict of str to float or ndarray (C,)
        By the value of the option --threshold.
    mistakes_ : Mistakes
        Lowest and highest number of labels that were forgotten and that were given wrongly.
    """

    def _estimate_rates(self, O: NDArray[Any], labels: Labels) -> tuple[float, float]:
        y = labels.Y[labels.labeled]
        known = labels.known[labels.labeled]
        self.mistakes_ = estimate_mistakes(O, y, labeled=known)
        return super()._estimate_rates(O, labels)

    def _cutoffs(self, labels: Labels, labeled_scores: Callable[[], Any], rate: float | None = None) -> NDArray[Any]:
        learned = {rule: learned_cutoffs(rule, labels, rate or 0.0, labeled_scores()) for rule in RULES}
        self.cutoffs_ = learned | {"0.5": 0.5}
        return super()._cutoffs(labels, labeled_scores, rate)


def rivals(method: Any, y: NDArray[Any], n_folds: int) -> dict[str, tuple[str, Any]]:
    """What the method is compared with: names, each in words, and the estimators.

    ML-kNN is there only with enough rows for it. All of them learn their threshold by the same rule as
    ResidualPropagation.
    """
    n_jobs = method.n_jobs
    methods: dict[str, tuple[str, Any]] = {
        "logistic regression": ("one for each label on the labelled rows, C by cross-validation", TunedLogistic()),
        "extremely randomised trees": (f"{TREES} trees on the labelled rows", Forest(TREES, n_jobs)),
    }
    if (y != -1).all(axis=1).sum() >= 2 * n_folds:  # with fewer, a training side may have no such row
        words = "ML-kNN on the features themselves, rows with all labels known, neighbours by angle"
        methods["ML-kNN, cosine"] = (
            words,
            OnWholeRows(method.n_neighbors, metric="cosine", threshold="f1", n_jobs=n_jobs),
        )
    return methods


def fit_and_score(
    estimator: Any, X: Any, y: NDArray[Any], far: Any, truth: NDArray[Any], groups: NDArray[Any] | None = None
) -> tuple[Any, NDArray[Any], dict[str, float]]:
    """Fit a clone of one of these methods; return it, its scores of other rows, and the measures of its predictions.

    The predictions follow from the scores, so that the rows are scored once: a tuned logistic regression is fitted anew
    whenever it predicts.  Warnings are not shown: the fit on all rows has shown its own, and a measure that is not
    defined is NaN.
    """
    with warnings.catch_warnings(action="ignore"):
        model = clone(estimator).fit(X, y) if groups is None else clone(estimator).fit(X, y, groups=groups)
        scores = rank_scores(model, far)
        return model, scores, score_table(truth, scores, predictions=model._decide(scores))


class Labelled(NamedTuple):
    """Labelled and unlabelled rows that methods are compared on, and how they are divided into folds.

    Attributes
    ----------
    scaler : estimator or None
        Fitted on the training side of each fold.
    X : ndarray or csr_array (n, D)
    y : ndarray (n, C)
        0, 1, and -1 for unknown entries.
    groups : ndarray (n,) or None, default=None
        Rows of one group stay in one fold, and so they do within the fits. None: every row is on its own.
    show : callable, default: nothing
        Called with a text for each fit.
    """

    scaler: Any
    X: Any
    y: NDArray[Any]
    groups: NDArray[Any] | None = None
    show: Callable[[str], None] = lambda text: None

    @property
    def n_labeled(self) -> int:
        """Number of labelled rows, or of groups that have one."""
        labeled = (self.y != -1).any(axis=1)
        return int(labeled.sum()) if self.groups is None else len(np.unique(self.groups[labeled]))

    def groups_of(self, rows: NDArray[np.intp]) -> NDArray[Any] | None:
        """The groups of some rows, if there are groups."""
        return None if self.groups is None else self.groups[rows]

    def folds(self, n_folds: int) -> Iterator[tuple[Any, ...]]:
        """Yield the training and test rows of each fold, by number and as features scaled by the training rows."""
        kind = KFold if self.groups is None else GroupKFold
        splits = LabeledRowsSplit(kind(n_folds, shuffle=True, random_state=0)).split(self.X, self.y, self.groups)
        for train, test in splits:
            near = self.X[train]
            far = self.X[test]
            if self.scaler is not None:
                fitted = clone(self.scaler).fit(near)
                near = fitted.transform(near)
                far = fitted.transform(far)
            yield train, test, near, far


def run_trial(
    methods: dict[str, tuple[str, Any]], data: Labelled, label_names: Sequence[str], *, n_folds: int = 5
) -> Facts | None:
    """Score every method on the same folds.

    Parameters
    ----------
    methods : dict of str to (str, estimator)
        The first is ours. Each is cloned for every fold.
    data : Labelled
    label_names : sequence of str
    n_folds : int, default=5

    Returns
    -------
    dict or None
        None if there are too few labelled rows for folds.
    """
    if data.n_labeled < 2 * n_folds:
        return None
    tested = _cross_validate(methods, data, n_folds)
    signal = describe_signal(tested.aucs)
    informative = signal["informative"]
    labeled = np.flatnonzero((data.y != -1).any(axis=1))
    by_rule = {
        rule: score_labels(data.y[labeled], labels[labeled], tested.scores[labeled], label_names)
        for rule, labels in tested.predicted.items()
    }
    compared = {}
    for measure in ("MiF1", "AP"):
        column = tested.columns.index(measure)
        by_method = {name: values[:, column] for name, values in tested.measures.items()}
        compared[measure] = against_best(by_method, informative=informative)
    described = [
        {"name": name, "words": methods[name][0], "cells": _spread(values)} for name, values in tested.measures.items()
    ]
    return {
        "n_folds": n_folds,
        "n_rows": len(labeled),
        "measures": tested.columns,
        "methods": described,
        "signal": signal,
        "against_best": compared,
        "rare": describe_rare(by_rule, informative=informative),
        "per_label": sorted(by_rule[RULES[0]], key=lambda row: -row["positives"]),
    }


class _Tested(NamedTuple):
    """What cross-validation measures; F folds, M measures.

    Attributes
    ----------
    columns : list of str
        Names of the measures.
    measures : dict of str to ndarray (F, M)
        By method.
    aucs : dict of str to ndarray (F,)
        By method.
    scores : ndarray (n, C)
        Out-of-fold scores of the first method; NaN for unlabelled rows.
    predicted : dict of str to ndarray (n, C), bool
        Out-of-fold predictions of the first method, by threshold rule.
    """

    columns: list[str]
    measures: dict[str, NDArray[np.float64]]
    aucs: dict[str, NDArray[np.float64]]
    scores: NDArray[np.float64]
    predicted: dict[str, NDArray[np.bool_]]


def _cross_validate(methods: dict[str, tuple[str, Any]], data: Labelled, n_folds: int) -> _Tested:
    """Fit and score every method on each fold."""
    y = data.y
    ours = next(iter(methods))
    scores = np.full(y.shape, np.nan)
    predicted = {rule: np.zeros(y.shape, dtype=bool) for rule in (*RULES, "0.5")}
    tables: dict[str, list[dict[str, float]]] = {name: [] for name in methods}  # a row for each fold
    aucs: dict[str, list[float]] = {name: [] for name in methods}
    for number, (train, test, near, far) in enumerate(data.folds(n_folds), start=1):
        for name, (_, estimator) in methods.items():
            data.show(f"cross-validate: fold {number} of {n_folds}, {name}")
            model, test_scores, measures = fit_and_score(estimator, near, y[train], far, y[test], data.groups_of(train))
            tables[name].append(measures)
            aucs[name].append(mean_auc(y[test], test_scores))
            if name == ours:
                scores[test] = test_scores
                for rule, cutoffs in model.cutoffs_.items():
                    predicted[rule][test] = test_scores >= cutoffs
    columns = list(tables[ours][0])
    by_method = {name: np.array([[row[key] for key in columns] for row in rows]) for name, rows in tables.items()}
    return _Tested(columns, by_method, {name: np.array(values) for name, values in aucs.items()}, scores, predicted)


def _spread(values: NDArray[np.float64]) -> list[Facts]:
    """Mean and standard deviation of each measure over the folds."""
    return [
        {"mean": None if np.isnan(v).any() else float(v.mean()), "std": float(v.std(ddof=1)) if len(v) > 1 else None}
        for v in values.T
    ]


def learning_curve(method: Any, data: Labelled, *, informative: bool) -> Facts | None:
    """F1 of rows left out, from a quarter, half, three quarters and all of the labelled rows: would more labels help?

    The other rows stay, without labels. The forests are small, so that the values compare with each other only. A
    difference is significant only if the features are informative (`significance.describe_signal`).

    Returns
    -------
    dict or None
        None if a fourth of the labelled rows is too few for a fit.
    """
    y = data.y
    if data.n_labeled < 4 * 2 * CURVE_FOLDS:
        return None
    small = clone(method).set_params(n_estimators=min(CURVE_TREES, method.n_estimators))
    f1 = np.zeros((CURVE_FOLDS, len(CURVE_SHARES)))
    for fold, (train, test, near, far) in enumerate(data.folds(CURVE_FOLDS)):
        labeled = np.flatnonzero((y[train] != -1).any(axis=1))
        order = np.random.default_rng([0, fold]).permutation(labeled)
        for place, share in enumerate(CURVE_SHARES):
            data.show(f"learning curve: fold {fold + 1} of {CURVE_FOLDS}, {share:.0%} of the labels")
            fewer = y[train].copy()
            fewer[order[round(share * len(order)) :]] = -1
            *_, measures = fit_and_score(small, near, fewer, far, y[test], data.groups_of(train))
            f1[fold, place] = measures["MiF1"]
    if not np.isfinite(f1).all():
        return None
    n_train = data.n_labeled * (1 - 1 / CURVE_FOLDS)
    points = [
        {"rows": round(share * n_train), "f1": float(v.mean()), "std": float(v.std(ddof=1))}
        for share, v in zip(CURVE_SHARES, f1.T, strict=True)
    ]
    gaps = f1[:, -1] - f1[:, HALF]
    drawn = {"points": points, "half": points[HALF], "picture": curve_picture(points)}
    return drawn | difference(gaps, p_value(gaps), informative=informative)
