"""Does it help on these data? Cross-validation beside what a user would try first.

Folds are drawn from the labelled rows; unlabelled rows stay on the training side.  The test rows' labels are the given
ones, mistakes included: what counts is the difference between methods on the same folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from .. import MLkNN
from .._threads import single_threaded_blas
from ..metrics import score_table
from ..model_selection import LabeledRowsSplit

__all__ = ["OneByOne", "baselines", "run_trial"]

Facts = dict[str, Any]

STRENGTHS = (0.001, 0.01, 0.1, 1.0)  # the grid for C, the usual decades below scikit-learn's default of 1
TUNING_ROWS = 2000  # C hardly moves with more rows, its cost does
TUNING_LABELS = 20


class OneByOne(BaseEstimator):
    """One logistic regression for each label, with one C for all, chosen by cross-validation on the training rows.

    Parameters
    ----------
    strengths : tuple of float, default=(.001, .01, .1, 1)
        C to try, by the log loss over three folds of at most 2000 rows and the 20 commonest labels.
    """

    def __init__(self, strengths: tuple[float, ...] = STRENGTHS) -> None:
        self.strengths = strengths

    def fit(self, X: Any, y: NDArray[Any]) -> OneByOne:
        """Fit on the rows with labels; a label with one value only is predicted as that."""
        rows = np.flatnonzero((y != -1).any(axis=1))
        X, y = X[rows], np.asarray(y)[rows]
        with single_threaded_blas():  # its products are small: threads would cost more than they give
            self._fit(X, y)
        return self

    def _fit(self, X: Any, y: NDArray[Any]) -> None:
        some = np.random.default_rng(0).permutation(len(y))[:TUNING_ROWS]
        common = np.argsort(-(y == 1).sum(axis=0), kind="stable")[:TUNING_LABELS]
        losses = [self._loss(X[some], y[some][:, common], C) for C in self.strengths]
        self.C_ = self.strengths[int(np.argmin(losses))] if len(self.strengths) > 1 else self.strengths[0]
        self.models_ = [_one_label(X, y[:, c], self.C_) for c in range(y.shape[1])]

    def _loss(self, X: Any, y: NDArray[Any], C: float) -> float:
        total = 0.0
        if len(y) < 3:
            return total
        for train, test in KFold(3, shuffle=True, random_state=0).split(X):
            for c in range(y.shape[1]):
                known = y[test, c] != -1
                if known.any():
                    p = _one_label(X[train], y[train, c], C)(X[test][known])
                    p = np.clip(p, 1e-6, 1 - 1e-6)
                    total += log_loss(y[test, c][known], np.column_stack([1 - p, p]), labels=[0, 1])
        return total

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities (n, C)."""
        return np.column_stack([model(X) for model in self.models_])


def _one_label(X: Any, y: NDArray[Any], C: float) -> Callable[[Any], NDArray[np.float64]]:
    known = y != -1
    values = np.unique(y[known])
    if len(values) < 2:
        constant = float(values[0]) if len(values) else 0.0
        return lambda rows: np.full(rows.shape[0], constant)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rival that is nearly there is a fair rival
        model = LogisticRegression(C=C, max_iter=200).fit(X[known], y[known])
    return lambda rows: np.asarray(model.predict_proba(rows)[:, 1])


class OnWholeRows(MLkNN):
    """ML-kNN on the rows whose labels are all known: it has no place for the others."""

    def fit(self, X: Any, y: NDArray[Any], **arguments: Any) -> Self:
        """Fit on them."""
        return super().fit(X, np.where((y == -1).any(axis=1, keepdims=True), -1, y), **arguments)


def baselines(n_neighbors: int, n_jobs: int | None) -> dict[str, tuple[str, Any]]:
    """Names of the rivals, what each is in words, and the estimator."""
    return {
        "logistic regression": (
            "one for each label on the labelled rows, C by cross-validation",
            OneByOne(),
        ),
        "ML-kNN, cosine": (
            "ML-kNN on the features themselves, rows with all labels known, neighbours by angle",
            make_pipeline(Normalizer(), OnWholeRows(n_neighbors, n_jobs=n_jobs)),
        ),
    }


def _needs_whole_rows(estimator: Any) -> bool:
    return isinstance(estimator[-1] if isinstance(estimator, Pipeline) else estimator, OnWholeRows)


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
        The first is ours. Each has decision_function or predict_proba; it is cloned for every fold.
    scaler : estimator or None
        Fitted on the training side of each fold.
    X : ndarray or csr_array (n, D)
    y : ndarray (n, C)
        0, 1, and -1 for unknown entries.
    label_names : sequence of str
    n_folds : int, default=5
    seed : int, default=0
    show : callable, default: nothing
        Told how far it is.

    Returns
    -------
    dict or None
        None where there are too few labelled rows for folds.
    """
    labeled = np.flatnonzero((y != -1).any(axis=1))
    if len(labeled) < 2 * n_folds:
        return None
    out = {name: np.full(y.shape, np.nan) for name in methods}
    tables: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
    if (y != -1).all(axis=1).sum() < 2 * n_folds:  # a training side may have no whole row
        methods = {name: entry for name, entry in methods.items() if not _needs_whole_rows(entry[1])}
    folds = list(LabeledRowsSplit(KFold(n_folds, shuffle=True, random_state=seed)).split(X, y))
    for number, (train, test) in enumerate(folds, start=1):
        near, far = X[train], X[test]
        if scaler is not None:
            fitted = clone(scaler).fit(near)
            near, far = fitted.transform(near), fitted.transform(far)
        for name, (_, estimator) in methods.items():
            show(f"cross-validate: fold {number} of {n_folds}, {name}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # said once, by the fit on all rows
                scores = _scores(clone(estimator).fit(near, y[train]), far)
                out[name][test] = scores
                tables[name].append({m: float(v) for m, v in _measures(y[test], scores).items()})
    ours = next(iter(methods))
    return {
        "n_folds": n_folds,
        "n_rows": len(labeled),
        "measures": list(tables[ours][0]),
        "methods": [
            {"name": name, "words": words, "cells": _spread(tables[name])} for name, (words, _) in methods.items()
        ],
        "verdicts": [_verdict(ours, name, tables) for name in methods if name != ours],
        "per_label": _per_label(y[labeled], out[ours][labeled], label_names),
    }


def _scores(fitted: Any, X: Any) -> NDArray[np.float64]:
    """What ranks the labels: probabilities that are cut at 0 and 1 would tie."""
    found = fitted.decision_function(X) if hasattr(fitted, "decision_function") else fitted.predict_proba(X)
    return np.asarray(found)


def _measures(y: NDArray[Any], scores: NDArray[np.float64]) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a measure that is not defined is NaN, shown as a dash
        return dict(score_table(y, scores))


def _spread(rows: list[dict[str, float]]) -> list[Facts]:
    values = np.array([list(row.values()) for row in rows])
    return [
        {"mean": None if np.isnan(v).any() else float(v.mean()), "std": float(v.std(ddof=1)) if len(v) > 1 else None}
        for v in values.T
    ]


def _verdict(ours: str, rival: str, tables: dict[str, list[dict[str, float]]]) -> Facts:
    """Mean over the measures, ours minus the rival's, fold by fold."""
    means = {
        name: np.array([np.nanmean(list(row.values())) for row in tables[name]], dtype=np.float64)
        for name in (ours, rival)
    }
    gap = means[ours] - means[rival]
    return {
        "rival": rival,
        "gap": float(gap.mean()),
        "std": float(gap.std(ddof=1)) if len(gap) > 1 else 0.0,
        "better": int((gap > 0).sum()),
        "folds": len(gap),
    }


def _per_label(y: NDArray[Any], scores: NDArray[np.float64], names: Sequence[str]) -> list[Facts]:
    """What the out-of-fold predictions are worth label by label."""
    from sklearn.metrics import average_precision_score

    rows = []
    for c, name in enumerate(names):
        known = y[:, c] != -1
        truth, score = y[known, c] == 1, scores[known, c]
        predicted = score >= 0.5
        right = int((truth & predicted).sum())
        n_true, n_predicted = int(truth.sum()), int(predicted.sum())
        rows.append(
            {
                "name": name,
                "positives": n_true,
                "predicted": n_predicted,
                "precision": right / n_predicted if n_predicted else None,
                "recall": right / n_true if n_true else None,
                "f1": 2 * right / (n_true + n_predicted) if n_true + n_predicted else None,
                "ap": float(average_precision_score(truth, score)) if n_true else None,
            }
        )
    return sorted(rows, key=lambda row: -int(row["positives"]))
