"""Does the method help on these data? Cross-validation, compared with what a user would try first.

Folds are drawn from the labelled rows; unlabelled rows stay on the training side.  Scores are computed from the given
labels, which may be wrong, so only the differences between methods on the same folds mean something.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from .. import MLkNN
from .._estimators._thresholds import rank_scores
from ..metrics import score_table
from ..model_selection import LabeledRowsSplit
from .rival import Forest, TunedLogistic

Facts = dict[str, Any]


class OnWholeRows(MLkNN):
    """ML-kNN on the rows whose labels are all known; it cannot use the others."""

    def fit(self, X: Any, y: NDArray[Any], **arguments: Any) -> Self:
        """Fit on them."""
        return super().fit(X, np.where((y == -1).any(axis=1, keepdims=True), -1, y), **arguments)


def baselines(y: NDArray[Any], n_folds: int, n_neighbors: int, n_jobs: int | None) -> dict[str, tuple[str, Any]]:
    """Names of the rivals, what each is in words, and the estimator; ML-kNN only with enough rows for it.

    All of them learn their cut-off by the same rule as ResidualPropagation.
    """
    found: dict[str, tuple[str, Any]] = {
        "logistic regression": ("one for each label on the labelled rows, C by cross-validation", TunedLogistic()),
        "extremely randomised trees": ("300 trees on the labelled rows", Forest(n_jobs=n_jobs)),
    }
    if (y != -1).all(axis=1).sum() >= 2 * n_folds:  # with fewer, a training side may have no such row
        words = "ML-kNN on the features themselves, rows with all labels known, neighbours by angle"
        knn = OnWholeRows(n_neighbors, threshold="f1", n_jobs=n_jobs)
        found["ML-kNN, cosine"] = (words, make_pipeline(Normalizer(), knn))
    return found


def fit_and_score(
    estimator: Any, X: Any, y: NDArray[Any], far: Any, truth: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], dict[str, float]]:
    """Fit a clone of one of these methods; return its scores of other rows, its predictions, and their measures.

    The predictions follow from the scores, so that the rows are scored once: a tuned logistic regression is fitted anew
    whenever it predicts.
    """
    model = clone(estimator).fit(X, y)
    scores = rank_scores(model, far)
    last = model[-1] if isinstance(model, Pipeline) else model
    predicted = last._decide(scores)
    return scores, predicted, score_table(truth, scores, predictions=predicted)


def run_trial(
    methods: dict[str, tuple[str, Any]],
    scaler: Any,
    X: Any,
    y: NDArray[Any],
    label_names: Sequence[str],
    *,
    n_folds: int = 5,
    seed: int = 0,
    show: Callable[[str], None] = lambda text: None,
) -> Facts | None:
    """Score every method on the same folds.

    Parameters
    ----------
    methods : dict of str to (str, estimator)
        The first is ours. Each is cloned for every fold.
    scaler : estimator or None
        Fitted on the training side of each fold.
    X : ndarray or csr_array (n, D)
    y : ndarray (n, C)
        0, 1, and -1 for unknown entries.
    label_names : sequence of str
    n_folds : int, default=5
    seed : int, default=0
    show : callable, default: nothing
        Called with a text for each fold and method.

    Returns
    -------
    dict or None
        None where there are too few labelled rows for folds.
    """
    labeled = np.flatnonzero((y != -1).any(axis=1))
    if len(labeled) < 2 * n_folds:
        return None
    ours = next(iter(methods))
    scores, decided = np.full(y.shape, np.nan), np.full(y.shape, np.nan)
    tables: dict[str, list[dict[str, float]]] = {name: [] for name in methods}  # a row for each fold
    folds = LabeledRowsSplit(KFold(n_folds, shuffle=True, random_state=seed)).split(X, y)
    for number, (train, test) in enumerate(folds, start=1):
        near, far = X[train], X[test]
        if scaler is not None:
            fitted = clone(scaler).fit(near)
            near, far = fitted.transform(near), fitted.transform(far)
        for name, (_, estimator) in methods.items():
            show(f"cross-validate: fold {number} of {n_folds}, {name}")
            with warnings.catch_warnings():
                # The fit on all rows has shown its warnings; a measure that is not defined is NaN, shown as a dash.
                warnings.simplefilter("ignore")
                found, predicted, measures = fit_and_score(estimator, near, y[train], far, y[test])
                tables[name].append(measures)
            if name == ours:
                scores[test], decided[test] = found, predicted
    values = {name: np.array([list(row.values()) for row in rows]) for name, rows in tables.items()}
    per_label = score_labels(y[labeled], decided[labeled], scores[labeled], label_names)
    return {
        "n_folds": n_folds,
        "n_rows": len(labeled),
        "measures": list(tables[ours][0]),
        "methods": [{"name": name, "words": methods[name][0], "cells": _spread(v)} for name, v in values.items()],
        "best": max(values, key=lambda name: _mean_of(values[name])),
        "verdicts": [_verdict(name, values[ours], v) for name, v in values.items() if name != ours],
        "per_label": sorted((row._asdict() for row in per_label), key=lambda row: -row["positives"]),
    }


def _mean_of(values: NDArray[np.float64]) -> float:
    """Mean over the folds and the measures that are defined."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else -np.inf


def _spread(values: NDArray[np.float64]) -> list[Facts]:
    """Mean and standard deviation of each measure over the folds."""
    return [
        {"mean": None if np.isnan(v).any() else float(v.mean()), "std": float(v.std(ddof=1)) if len(v) > 1 else None}
        for v in values.T
    ]


def _verdict(rival: str, ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> Facts:
    """Ours minus the rival's in the mean over the measures, fold by fold."""
    gap = np.nanmean(ours, axis=1) - np.nanmean(theirs, axis=1)
    std = float(gap.std(ddof=1)) if len(gap) > 1 else 0.0
    return {"rival": rival, "gap": float(gap.mean()), "std": std, "better": int((gap > 0).sum()), "folds": len(gap)}


class LabelScores(NamedTuple):
    """How one label was predicted; None where a share has nothing to count."""

    label: str
    positives: int
    predicted: int
    precision: float | None
    recall: float | None
    f1: float | None
    ap: float | None


def score_labels(
    Y: NDArray[Any], labels: NDArray[Any], scores: NDArray[Any], names: Sequence[str]
) -> list[LabelScores]:
    """Score each label over the rows where it is known.

    Parameters
    ----------
    Y, labels : ndarray of shape (n, C)
        True and predicted labels, 0 or 1; true ones that are -1 are not counted.
    scores : ndarray of shape (n, C)
        For the average precision over the rows.
    names : sequence of str, length C

    Returns
    -------
    list of LabelScores

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1], [1], [0], [0]])
    >>> score_labels(Y, np.array([[1], [0], [1], [0]]), np.array([[.9], [.4], [.6], [.1]]), ["flu"])[0][1:]
    (2, 2, 0.5, 0.5, 0.5, 0.8333333333333333)
    """
    found = []
    for c, name in enumerate(names):
        known = Y[:, c] != -1
        true, given = Y[known, c] == 1, labels[known, c] == 1
        hits, n_true, n_given = int((true & given).sum()), int(true.sum()), int(given.sum())
        precision, recall, f1 = (
            part / whole if whole else None
            for part, whole in ((hits, n_given), (hits, n_true), (2 * hits, n_true + n_given))
        )
        ap = float(average_precision_score(true, scores[known, c])) if n_true else None
        found.append(LabelScores(name, n_true, n_given, precision, recall, f1, ap))
    return found
