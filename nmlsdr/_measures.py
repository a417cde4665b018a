"""What the measures of `nmlsdr.metrics` are made of, from arguments as `check_measured` gives them.

Rankings: the known labels of every row in the order of their scores, and what each measure says of each row, float64
(n,), NaN where the row is dropped; an unknown label has no place in its row's ranking.  Counts: what is predicted right
and wrong of each label over its known entries.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Ranking", "average_precisions", "coverages", "hamming", "macro", "mean_of_ranked", "micro",
           "one_errors", "rank", "ranking_losses", "true_and_wrong"]  # fmt: skip

THRESHOLD = 0.5  # a label is predicted where its score is >= this, as ML-kNN does

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


# ---------------------------------------------------------------- rankings


class Ranking(NamedTuple):
    """Each row from its best to its worst score; of equal scores the higher label index comes first.

    The m known labels of a row take the depths 0 to m - 1; what lies below counts nowhere.
    """

    values: Floats  # (n, C) scores, descending over the known labels
    relevant: Bools  # (n, C) whether the label at this depth is relevant; False below the known ones
    hits: NDArray[np.intp]  # (n, C) relevant labels down to this depth, inclusive
    n_relevant: NDArray[np.intp]  # (n,)
    n_known: NDArray[np.intp]  # (n,) m
    counted: Bools  # (n,) rows with at least one relevant and one irrelevant label


def rank(truth: Bools, scores: Floats, known: Bools) -> Ranking:
    """The labels of every row by their scores."""
    # With the labels reversed, a stable sort leaves the higher label index first among equal scores.
    order = np.argsort(-scores[:, ::-1], axis=1, kind="stable")
    if not known.all():  # a second stable sort takes the unknown labels to the end
        below = np.take_along_axis(~known[:, ::-1], order, axis=1)
        order = np.take_along_axis(order, np.argsort(below, axis=1, kind="stable"), axis=1)
    relevant = np.take_along_axis(truth[:, ::-1], order, axis=1)
    hits = np.cumsum(relevant, axis=1, dtype=np.intp)
    n_relevant, n_known = hits[:, -1], known.sum(axis=1)
    return Ranking(
        values=np.take_along_axis(scores[:, ::-1], order, axis=1),
        relevant=relevant,
        hits=hits,
        n_relevant=n_relevant,
        n_known=n_known,
        counted=(n_relevant > 0) & (n_relevant < n_known),
    )


def ranking_losses(ranking: Ranking) -> Floats:
    """|{(r, i): s_r <= s_i}| / (|R| |I|), counted at the end of each relevant label's run of equal scores."""
    n_labels = ranking.values.shape[1]
    depth = np.arange(n_labels)
    ends_run = np.ones(ranking.values.shape, dtype=bool)
    np.not_equal(ranking.values[:, :-1], ranking.values[:, 1:], out=ends_run[:, :-1])
    if (ranking.n_known < n_labels).any():  # the last known label ends its run, whatever score lies below it
        ends_run |= depth == ranking.n_known[:, None] - 1
    run_end = np.minimum.accumulate(np.where(ends_run, depth, n_labels)[:, ::-1], axis=1)[:, ::-1]
    irrelevant_down_to = depth + 1 - ranking.hits
    wrong = np.take_along_axis(irrelevant_down_to, run_end, axis=1).sum(axis=1, where=ranking.relevant)
    return _divide(wrong, ranking.n_relevant * (ranking.n_known - ranking.n_relevant), ranking.counted)


def average_precisions(ranking: Ranking) -> Floats:
    """Mean precision at the depths of the relevant labels."""
    precision = ranking.hits / np.arange(1, ranking.hits.shape[1] + 1)
    return _divide(precision.sum(axis=1, where=ranking.relevant), ranking.n_relevant, ranking.counted)


def one_errors(ranking: Ranking) -> Floats:
    """0 if a label that shares the top score is relevant, else 1."""
    top = ranking.values == ranking.values[:, :1]
    wrong = ~(top & ranking.relevant).any(axis=1)
    return np.where(ranking.counted, wrong, np.nan)


def coverages(ranking: Ranking, empty: float) -> Floats:
    """Depth, from 0, of the worst relevant label; ``empty`` without one. Only rows without a known label drop."""
    worst = ranking.relevant.shape[1] - 1 - np.argmax(ranking.relevant[:, ::-1], axis=1)
    return np.where(ranking.n_known > 0, np.where(ranking.n_relevant > 0, worst, float(empty)), np.nan)


def _divide(numerator: Any, denominator: Any, where: Bools) -> Floats:
    ratio: Floats = np.full(where.shape, np.nan)
    np.divide(numerator, denominator, out=ratio, where=where)
    return ratio


def mean_of_ranked(rows: Floats, name: str) -> float:
    """The mean over the rows that are not dropped; NaN, with a warning that says ``name``, where all are."""
    counted = rows[~np.isnan(rows)]
    if not counted.size:
        warnings.warn(f"{name} is NaN: each of the {rows.size} rows has no label or all labels, so none can be ranked.",
                      RuntimeWarning, stacklevel=3)  # fmt: skip
        return float("nan")
    return float(np.mean(counted))


# ---------------------------------------------------------------- counts


def true_and_wrong(truth: Bools, scores: Floats, known: Bools) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count TP and FP + FN of each label over its known entries."""
    predicted = scores >= THRESHOLD
    return (predicted & truth & known).sum(axis=0), ((predicted != truth) & known).sum(axis=0)


def hamming(wrong: NDArray[np.intp], known: Bools) -> float:
    """The share of known entries that are predicted wrong."""
    return int(wrong.sum()) / int(np.count_nonzero(known))


def macro(right: NDArray[np.intp], wrong: NDArray[np.intp], known: Bools) -> float:
    """F1 of each label with a known entry, 0 where it neither occurs nor is predicted; their mean."""
    occurs = 2 * right + wrong
    return float(np.mean((2 * right / np.maximum(occurs, 1))[known.any(axis=0)]))


def micro(right: NDArray[np.intp], wrong: NDArray[np.intp]) -> float:
    """F1 of all entries together."""
    n_right = int(right.sum())
    return 2 * n_right / (2 * n_right + int(wrong.sum())) if n_right else 0.0
