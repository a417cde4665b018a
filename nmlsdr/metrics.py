"""The seven multi-label measures of the article (section 4.1), as functions of true labels and scores.

Each function takes the true labels ``Y``, an array (n_samples, n_labels) of 0 and 1, and real ``scores`` of the same
shape; a larger score means that the label is more likely.  The conventions for equal scores, and for rows without a
label or with every label, are those of the programs behind the article's tables.  Where scikit-learn has other
conventions, the notes of the function say so:

=================  ====================================================================================
ranking loss       A relevant and an irrelevant label with equal scores count as one error.
average precision  Of labels with equal scores, the one with the higher index ranks above.
one-error          A row is right if any label that shares the highest score is relevant.
coverage           The depth of the worst relevant label is counted from 0; equal scores rank as above.
the first three    Rows with no label or with all labels are left out of the mean; if no row is left, the
                   result is NaN with a RuntimeWarning.  Coverage keeps such rows; one without labels
                   counts ``empty``.
hamming loss, F1   All rows count.  A label is predicted where its score is at least 0.5.
macro-F1           A label with TP + FP + FN = 0 counts 0; one without a known entry is left out.
unknown entries    (-1, NaN, null) are left out.  Hamming loss and F1 count known entries; the ranking
                   measures rank the known labels of each row.  A row without any is left out of all.
=================  ====================================================================================

By hand, with one unknown entry:

>>> from nmlsdr import metrics
>>> Y, scores = [[1, 0, -1], [0, 1, 1]], [[0.4, 0.6, 0.9], [0.1, 0.7, 0.8]]
>>> metrics.hamming_loss(Y, scores)             # 5 entries are known, (0, 0) and (0, 1) are wrong
0.4
>>> metrics.average_precision(Y, scores)        # row 0 ranks labels 1, 0: precision 1/2 at depth 2; row 1: 1
0.75
>>> round(metrics.macro_f1(Y, scores), 6)       # labels 0, 1, 2: 0, 2/3 and, from one entry, 1
0.555556
"""

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks.arguments import check_choice
from ._checks.labels import check_measured

__all__ = [
    "average_precision",
    "coverage",
    "hamming_loss",
    "macro_f1",
    "micro_f1",
    "one_error",
    "ranking_loss",
    "score_table",
]

THRESHOLD = 0.5  # a label is predicted where its score is >= this, as ML-kNN does


def hamming_loss(Y: ArrayLike, scores: ArrayLike) -> float:
    """Share of the (row, label) entries that are predicted wrongly, a label being predicted where ``scores >= 0.5``.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely.

    Returns
    -------
    float
        Between 0 and 1; 0 is best.

    Raises
    ------
    ValueError
        If shapes differ, if ``Y`` has other values or no known entry, or if ``scores`` is NaN where ``Y`` is known.

    Notes
    -----
    Article, section 4.1 (HL), over the set K of known entries: |{(i, c) in K: 1[s_ic >= 1/2] != y_ic}| / |K|. If
    every entry is known, scikit-learn's ``hamming_loss`` of ``scores >= 0.5`` is the same. It takes predictions
    instead of scores, and does not accept unknown entries.

    Examples
    --------
    >>> hamming_loss([[1, 0], [0, 1]], [[0.9, 0.5], [0.2, 0.8]])
    0.25
    """
    compared = Compared.of(Y, scores)
    return int(compared.counts[1].sum()) / int(np.count_nonzero(compared.known))


def ranking_loss(Y: ArrayLike, scores: ArrayLike) -> float:
    """Mean share of (relevant, irrelevant) label pairs of a row that are ordered wrongly or have equal scores.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely.

    Returns
    -------
    float
        Between 0 and 1; 0 is best.

    Raises
    ------
    ValueError
        If shapes differ, if ``Y`` has other values or no known entry, or if ``scores`` is NaN where ``Y`` is known.

    Warns
    -----
    RuntimeWarning
        If no row has both a relevant and an irrelevant label; the result is then NaN.

    Notes
    -----
    Article, section 4.1 (RL). Rows without a label, or with every label, are left out; scikit-learn's
    ``label_ranking_loss`` counts them as 0 in the mean. Both count equal scores as an error.

    Examples
    --------
    Pairs (0, 1) and (0, 2) of the first row: one in order, one tied; the second row has no label.

    >>> ranking_loss([[1, 0, 0], [0, 0, 0]], [[0.7, 0.2, 0.7], [0.1, 0.2, 0.3]])
    0.5
    """
    ranking = Compared.of(Y, scores).ranking
    n_labels = ranking.values.shape[1]
    depth = np.arange(n_labels)
    ends_run = depth >= ranking.n_known[:, None] - 1  # the last known label does, whatever score lies below it
    ends_run[:, :-1] |= ranking.values[:, :-1] != ranking.values[:, 1:]
    run_end = np.minimum.accumulate(np.where(ends_run, depth, n_labels)[:, ::-1], axis=1)[:, ::-1]
    irrelevant_down_to = depth + 1 - ranking.hits  # what is at or above a relevant label: read at its run's end
    wrong = np.take_along_axis(irrelevant_down_to, run_end, axis=1).sum(axis=1, where=ranking.relevant)
    pairs = ranking.n_relevant * (ranking.n_known - ranking.n_relevant)
    return _mean_of_ranked(ranking, wrong / np.maximum(pairs, 1), "ranking_loss")


def average_precision(Y: ArrayLike, scores: ArrayLike) -> float:
    """Mean over rows of the precision at the depth of each relevant label.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely.

    Returns
    -------
    float
        Between 0 and 1; 1 is best.

    Raises
    ------
    ValueError
        If shapes differ, if ``Y`` has other values or no known entry, or if ``scores`` is NaN where ``Y`` is known.

    Warns
    -----
    RuntimeWarning
        If no row has both a relevant and an irrelevant label; the result is then NaN.

    Notes
    -----
    Article, section 4.1 (AP). Rows without a label, or with every label, are left out. Of equal scores the higher
    label index ranks above the lower, so the value can change when labels with equal scores are permuted.
    scikit-learn's ``label_ranking_average_precision_score`` gives all of them the worst rank, and counts rows without
    a label or with every label as 1.

    Examples
    --------
    Labels 0 and 2 are relevant, at depths 1 and 3: (1/1 + 2/3) / 2.

    >>> round(average_precision([[1, 0, 1]], [[0.9, 0.8, 0.1]]), 6)
    0.833333
    """
    ranking = Compared.of(Y, scores).ranking
    precision = ranking.hits / np.arange(1, ranking.hits.shape[1] + 1)
    total = precision.sum(axis=1, where=ranking.relevant)
    return _mean_of_ranked(ranking, total / np.maximum(ranking.n_relevant, 1), "average_precision")


def one_error(Y: ArrayLike, scores: ArrayLike) -> float:
    """Share of rows in which no label with the highest score is relevant.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely.

    Returns
    -------
    float
        Between 0 and 1; 0 is best.

    Raises
    ------
    ValueError
        If shapes differ, if ``Y`` has other values or no known entry, or if ``scores`` is NaN where ``Y`` is known.

    Warns
    -----
    RuntimeWarning
        If no row has both a relevant and an irrelevant label; the result is then NaN.

    Notes
    -----
    Article, section 4.1 (OE). Rows without a label, or with every label, are left out. scikit-learn has no such
    measure.

    Examples
    --------
    >>> one_error([[1, 0, 0], [0, 0, 1]], [[0.6, 0.6, 0.1], [0.9, 0.3, 0.2]])
    0.5
    """
    ranking = Compared.of(Y, scores).ranking
    top = ranking.values == ranking.values[:, :1]
    return _mean_of_ranked(ranking, ~(top & ranking.relevant).any(axis=1), "one_error")


def coverage(Y: ArrayLike, scores: ArrayLike, *, empty: float = 0) -> float:
    """Mean depth, counted from 0, of the worst ranked relevant label.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely.
    empty : float, default=0
        Value of a row without labels. The program behind the article's tables uses -1.

    Returns
    -------
    float
        Between ``empty`` and n_labels - 1; smaller is better.

    Raises
    ------
    ValueError
        If shapes differ, if ``Y`` has other values or no known entry, or if ``scores`` is NaN where ``Y`` is known.

    Notes
    -----
    Article, section 4.1 (Cov). Of equal scores the higher label index ranks above the lower. scikit-learn's
    ``coverage_error`` counts depths from 1 and gives equal scores the worst of their depths. A row without labels
    counts 0 there.

    Examples
    --------
    Depths 2 and 0, and a row without labels.

    >>> Y = [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    >>> scores = [[0.9, 0.8, 0.1], [0.2, 0.6, 0.4], [0.5, 0.5, 0.5]]
    >>> round(coverage(Y, scores), 6), round(coverage(Y, scores, empty=-1), 6)
    (0.666667, 0.333333)
    """
    ranking = Compared.of(Y, scores).ranking
    worst = ranking.relevant.shape[1] - 1 - np.argmax(ranking.relevant[:, ::-1], axis=1)
    depths = np.where(ranking.n_relevant > 0, worst, float(empty))
    return float(np.mean(depths[ranking.n_known > 0]))  # only rows without a known label drop


def macro_f1(Y: ArrayLike, scores: ArrayLike) -> float:
    """Mean over labels of F1 = 2 TP / (2 TP + FP + FN), a label being predicted where ``scores >= 0.5``.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely.

    Returns
    -------
    float
        Between 0 and 1; 1 is best. A label that is neither true nor predicted in any row counts 0.

    Raises
    ------
    ValueError
        If shapes differ, if ``Y`` has other values or no known entry, or if ``scores`` is NaN where ``Y`` is known.

    Notes
    -----
    Article, section 4.1 (MaF1). TP, FP and FN are the numbers of true positives, false positives and false negatives
    of the label. If every entry is known, scikit-learn's ``f1_score`` of ``scores >= 0.5`` with ``average="macro"``
    and ``zero_division=0`` is the same. Here a label without a known entry is left out of the mean.

    Examples
    --------
    F1 is 2/3 for the first label and 0 for the second, which never occurs.

    >>> round(macro_f1([[1, 0], [0, 0]], [[0.9, 0.1], [0.7, 0.2]]), 6)
    0.333333
    """
    compared = Compared.of(Y, scores)
    right, wrong = compared.counts
    occurs = 2 * right + wrong
    return float(np.mean((2 * right / np.maximum(occurs, 1))[compared.known.any(axis=0)]))


def micro_f1(Y: ArrayLike, scores: ArrayLike) -> float:
    """F1 = 2 TP / (2 TP + FP + FN) over all entries together, a label being predicted where ``scores >= 0.5``.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely.

    Returns
    -------
    float
        Between 0 and 1; 1 is best. It is 0 if there is no true positive.

    Raises
    ------
    ValueError
        If shapes differ, if ``Y`` has other values or no known entry, or if ``scores`` is NaN where ``Y`` is known.

    Notes
    -----
    Article, section 4.1 (MiF1). TP, FP and FN are the numbers of true positives, false positives and false negatives
    of all labels together. If every entry is known, scikit-learn's ``f1_score`` of ``scores >= 0.5`` with
    ``average="micro"`` and ``zero_division=0`` is the same.

    Examples
    --------
    >>> round(micro_f1([[1, 0], [0, 0]], [[0.9, 0.1], [0.7, 0.2]]), 6)
    0.666667
    """
    n_right, n_wrong = (int(count.sum()) for count in Compared.of(Y, scores).counts)
    return 2 * n_right / (2 * n_right + n_wrong) if n_right else 0.0


def score_table(
    Y: ArrayLike, scores: ArrayLike, *, predictions: ArrayLike | None = None, coverage_empty: Literal[0, -1] = 0
) -> dict[str, float]:
    """All measures as tables show them: larger is better for each.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely.
    predictions : array-like of shape (n_samples, n_labels), default=None
        Predicted labels, 0 or 1, for HL', MaF1 and MiF1. None: a label is predicted where its score is at least 0.5.
    coverage_empty : {0, -1}, default=0
        Value in Cov of a row without labels. The article's tables use -1.

    Returns
    -------
    dict
        HL' = 1 - HL, RL' = 1 - RL, AP, OE' = 1 - OE, Cov' = 1 - Cov / C, MaF1 and MiF1, in this order.

    Raises
    ------
    ValueError
        If ``coverage_empty`` or ``Y`` has other values than those above, if ``Y`` has no known entry, if shapes
        differ, or if ``scores`` is NaN where ``Y`` is known.

    Warns
    -----
    RuntimeWarning
        If RL', AP and OE' are NaN because no row has both a relevant and an irrelevant label.

    Notes
    -----
    Article, section 4.1, whose text divides Cov by C - 1, and whose printed tables by C, the number of labels. To
    compare with these, use ``coverage_empty=-1``.

    Examples
    --------
    >>> table = score_table([[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.6, 0.4]])
    >>> {name: round(value, 3) for name, value in table.items()}  # doctest: +NORMALIZE_WHITESPACE
    {"HL'": 0.667, "RL'": 0.75, 'AP': 0.917, "OE'": 1.0, "Cov'": 0.667, 'MaF1': 0.556, 'MiF1': 0.667}
    """
    check_choice(coverage_empty, "coverage_empty", 0, -1)
    compared = Compared(Y, scores, predictions)
    options = {"Cov'": {"empty": coverage_empty}}
    values = {name: each.function(compared, scores, **options.get(name, {})) for name, each in MEASURES.items()}
    values["Cov'"] /= compared.truth.shape[1]
    return {name: 1.0 - value if MEASURES[name].is_loss else value for name, value in values.items()}


class Compared:
    """True labels, scores and predicted labels after their checks, and what several measures need of them."""

    def __init__(self, Y: ArrayLike, scores: ArrayLike, predictions: ArrayLike | None = None) -> None:
        self.truth, self.scores, self.known = check_measured(Y, scores)
        decided = self.scores if predictions is None else check_measured(Y, predictions)[1]
        self.predicted = decided >= THRESHOLD

    @staticmethod
    def of(Y: Any, scores: ArrayLike) -> "Compared":
        """Compare labels and scores, which `score_table` does once for all measures: then Y is what is returned."""
        return Y if isinstance(Y, Compared) else Compared(Y, scores)

    @cached_property
    def ranking(self) -> "_Ranking":
        """The labels of every row by their scores."""
        return _Ranking(self.truth, self.scores, self.known)

    @cached_property
    def counts(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """TP, and FP + FN, of each label over its known entries."""
        wrong = (self.predicted != self.truth) & self.known
        return (self.predicted & self.truth).sum(axis=0), wrong.sum(axis=0)  # truth is False where it is not known


# ---------------------------------------------------------------- rankings


class _Ranking:
    """Each row from its best to its worst score; of equal scores the higher label index comes first.

    The m known labels of a row take the depths 0 to m - 1; what lies below counts nowhere.
    """

    def __init__(self, truth: NDArray[np.bool_], scores: NDArray[np.float64], known: NDArray[np.bool_]) -> None:
        # With the labels reversed, a stable sort leaves the higher label index first among equal scores.
        order = np.lexsort((-scores[:, ::-1], ~known[:, ::-1]), axis=1)  # the unknown ones at the end
        self.values = np.take_along_axis(scores[:, ::-1], order, axis=1)  # descending over the known labels
        self.relevant = np.take_along_axis(truth[:, ::-1], order, axis=1)  # whether the label at this depth is relevant
        self.hits = np.cumsum(self.relevant, axis=1, dtype=np.intp)  # relevant labels down to this depth, inclusive
        self.n_relevant = self.hits[:, -1]
        self.n_known = known.sum(axis=1)
        self.counted = (self.n_relevant > 0) & (self.n_relevant < self.n_known)  # rows that can be ranked


def _mean_of_ranked(ranking: _Ranking, rows: NDArray[Any], name: str) -> float:
    """Mean over the rows that can be ranked; NaN, with a warning that names the measure, if none can."""
    if not ranking.counted.any():
        warnings.warn(
            f"{name} is NaN: each of the {len(rows)} rows has no label or all labels, so none can be ranked.",
            RuntimeWarning,
            stacklevel=3,
        )
        return float("nan")
    return float(np.mean(rows[ranking.counted]))


class Measure(NamedTuple):
    """A measure: its function, whether less is better, and whether it ranks labels."""

    function: Callable[..., float]
    is_loss: bool
    ranks: bool


#: What `score_table`, ``nmlsdr evaluate``, the page of ``nmlsdr report`` and `nmlsdr.model_selection.SCORERS` have; the
#: article's tables name those of them that they show.
MEASURES = {
    "HL'": Measure(hamming_loss, True, False),
    "RL'": Measure(ranking_loss, True, True),
    "AP": Measure(average_precision, False, True),
    "OE'": Measure(one_error, True, True),
    "Cov'": Measure(coverage, True, True),
    "MaF1": Measure(macro_f1, False, False),
    "MiF1": Measure(micro_f1, False, False),
}
