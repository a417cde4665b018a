"""Scores of predictions, label by label, and how many of the rare labels each rule for the thresholds finds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

Facts = dict[str, Any]

RARE = 0.05  # a label is rare if at most this share of the rows has it
LEAST_GAIN = 0.02  # of F1 of the rare labels, from which on another rule is recommended


def score_labels(Y: NDArray[Any], labels: NDArray[Any], scores: NDArray[Any], names: Sequence[str]) -> list[Facts]:
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
    list of dict
        For each label: label (its name), positives and predicted (numbers of rows), precision, recall (sensitivity),
        specificity, f1, ap (average precision), auc (area under the ROC curve), accuracy (each None if it has nothing
        to count), hits (predicted rows that have the label), known (rows).

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1], [1], [0], [0]])
    >>> (flu,) = score_labels(Y, np.array([[1], [0], [1], [0]]), np.array([[.9], [.4], [.6], [.1]]), ["flu"])
    >>> [flu[key] for key in ("positives", "predicted", "hits", "known", "precision", "recall", "f1")]
    [2, 2, 1, 4, 0.5, 0.5, 0.5]
    >>> round(flu["ap"], 3), flu["auc"], flu["specificity"], flu["accuracy"]
    (0.833, 0.75, 0.5, 0.5)
    """
    rows = []
    for c, name in enumerate(names):
        known = Y[:, c] != -1
        true = Y[known, c] == 1
        predicted = labels[known, c] == 1
        hits = int((true & predicted).sum())
        n_true = int(true.sum())
        n_predicted = int(predicted.sum())
        n = len(true)
        n_right = n - n_true - n_predicted + 2 * hits
        ratios = {
            "precision": (hits, n_predicted),
            "recall": (hits, n_true),
            "specificity": (n_right - hits, n - n_true),
            "f1": (2 * hits, n_true + n_predicted),
            "accuracy": (n_right, n),
        }
        row = {"label": name, "positives": n_true, "predicted": n_predicted, "hits": hits, "known": n}
        row |= {key: part / whole if whole else None for key, (part, whole) in ratios.items()}
        row["ap"] = float(average_precision_score(true, scores[known, c])) if n_true else None
        row["auc"] = float(roc_auc_score(true, scores[known, c])) if 0 < n_true < n else None
        rows.append(row)
    return rows


def describe_rare(by_rule: dict[str, list[Facts]], *, informative: bool = True) -> Facts | None:
    """How many of the rare labels' annotations each rule for the thresholds finds; the first rule is the default.

    Without a rare label, those with the fewest annotations stand for them.  Another rule is recommended if its F1 is
    larger by more than `LEAST_GAIN`, and if the features are informative: otherwise the predictions of all rules are
    guesses.
    """
    default = next(iter(by_rule.values()))
    shares = [row["positives"] / row["known"] if row["positives"] else np.inf for row in default]
    if not np.isfinite(min(shares)):
        return None
    rare = [c for c, share in enumerate(shares) if share <= max(RARE, min(shares))]
    rules = [_count_rare(rule, [rows[c] for c in rare]) for rule, rows in by_rule.items()]
    best = max(rules, key=lambda rule: rule["f1"])
    return {
        "labels": [default[c]["label"] for c in rare],
        "rare": min(shares) <= RARE,
        "limit": RARE,
        "share": float(min(shares)),
        "rules": rules,
        "best": best,
        "recommended": informative and best["f1"] > rules[0]["f1"] + LEAST_GAIN,
    }


def _count_rare(rule: str, rows: list[Facts]) -> Facts:
    """Sums of the rows of the rare labels under one rule, and their mean F1."""
    return {
        "threshold": rule,
        "hits": sum(row["hits"] for row in rows),
        "given": sum(row["positives"] for row in rows),
        "predicted": sum(row["predicted"] for row in rows),
        "f1": float(np.mean([row["f1"] or 0.0 for row in rows])),
    }
