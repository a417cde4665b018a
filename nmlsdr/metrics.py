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

Each costs at most one sort of every row and a few passes over the arrays; there is no Python loop over rows.
"""

import warnings
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks.arguments import check_choice
from ._checks.labels import check_measured

__all__ = ["average_precision", "coverage", "hamming_loss", "macro_f1", "micro_f1", "one_error", "ranking_loss",
           "score_table"]  # fmt: skip

THRESHOLD = 0.5  # a label is predicted where its score is >= this, as ML-kNN does

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def hamming_loss(Y: ArrayLike, scores: ArrayLike) -> float:
    """Share of the (row, label) entries that are predicted wrongly, a label being predicted where ``scores >= 0.5``.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely. A label is predicted where its score
        is at least 0.5.

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
    truth, values, known = check_measured(Y, scores)
    return _hamming(_true_and_wrong(truth, values, known)[1], known)


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
    return _mean_of_ranked(_ranking_losses(_rank(*check_measured(Y, scores))), "ranking_loss")


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
    return _mean_of_ranked(_average_precisions(_rank(*check_measured(Y, scores))), "average_precision")


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
    return _mean_of_ranked(_one_errors(_rank(*check_measured(Y, scores))), "one_error")


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
    return float(np.nanmean(_coverages(_rank(*check_measured(Y, scores)), empty)))


def macro_f1(Y: ArrayLike, scores: ArrayLike) -> float:
    """Mean over labels of F1 = 2 TP / (2 TP + FP + FN), a label being predicted where ``scores >= 0.5``.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely. A label is predicted where its score
        is at least 0.5.

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
    truth, values, known = check_measured(Y, scores)
    return _macro(*_true_and_wrong(truth, values, known), known)


def micro_f1(Y: ArrayLike, scores: ArrayLike) -> float:
    """F1 = 2 TP / (2 TP + FP + FN) over all entries together, a label being predicted where ``scores >= 0.5``.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely. A label is predicted where its score
        is at least 0.5.

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
    return _micro(*_true_and_wrong(*check_measured(Y, scores)))


def score_table(
    Y: ArrayLike,
    scores: ArrayLike,
    *,
    predictions: ArrayLike | None = None,
    coverage_by: Literal["C", "C-1"] = "C",
    coverage_empty: Literal[0, -1] = 0,
) -> dict[str, float]:
    """All seven measures as the article's tables show them: larger is better for each.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, 0 or 1. Unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores of the labels; a larger score means that the label is more likely.
    predictions : array-like of shape (n_samples, n_labels), default=None
        Predicted labels, 0 or 1, for HL', MaF1 and MiF1. None: a label is predicted where its score is at least 0.5.
    coverage_by : {"C", "C-1"}, default="C"
        Divisor in Cov' = 1 - Cov / divisor, with C the number of labels. The article's text uses C - 1, its printed
        tables use C.
    coverage_empty : {0, -1}, default=0
        Value in Cov of a row without labels. The article's tables use -1.

    Returns
    -------
    dict
        HL' = 1 - HL, RL' = 1 - RL, AP, OE' = 1 - OE, Cov', MaF1 and MiF1, in this order.

    Raises
    ------
    ValueError
        If ``coverage_by``, ``coverage_empty`` or ``Y`` has other values than those above, if ``Y`` has no known entry,
        if shapes differ, or if ``scores`` is NaN where ``Y`` is known.

    Warns
    -----
    RuntimeWarning
        If RL', AP and OE' are NaN because no row has both a relevant and an irrelevant label. For one label Cov' is
        NaN with "C-1".

    Notes
    -----
    Article, section 4.1. To compare with the article's tables, use ``coverage_empty=-1``.

    Examples
    --------
    >>> table = score_table([[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.6, 0.4]])
    >>> {name: round(value, 3) for name, value in table.items()}  # doctest: +NORMALIZE_WHITESPACE
    {"HL'": 0.667, "RL'": 0.75, 'AP': 0.917, "OE'": 1.0, "Cov'": 0.667, 'MaF1': 0.556, 'MiF1': 0.667}
    """
    check_choice(coverage_by, "coverage_by", "C", "C-1")
    check_choice(coverage_empty, "coverage_empty", 0, -1)
    truth, values, known = check_measured(Y, scores)
    ranking = _rank(truth, values, known)
    decided = values if predictions is None else check_measured(Y, predictions)[1]
    right, wrong = _true_and_wrong(truth, decided, known)
    divisor = truth.shape[1] - (coverage_by == "C-1")
    depth = float(np.nanmean(_coverages(ranking, coverage_empty)))
    if divisor == 0:
        warnings.warn(
            "Cov' is NaN, because it is divided by the number of labels minus 1, which is 0 for one label; "
            'pass coverage_by="C" to divide by the number of labels.',
            RuntimeWarning,
            stacklevel=2,
        )
    return {
        "HL'": 1.0 - _hamming(wrong, known),
        "RL'": 1.0 - _mean_of_ranked(_ranking_losses(ranking), "RL'"),
        "AP": _mean_of_ranked(_average_precisions(ranking), "AP"),
        "OE'": 1.0 - _mean_of_ranked(_one_errors(ranking), "OE'"),
        "Cov'": 1.0 - depth / divisor if divisor else float("nan"),
        "MaF1": _macro(right, wrong, known),
        "MiF1": _micro(right, wrong),
    }


# ---------------------------------------------------------------- rankings; values of rows, NaN for dropped ones


class _Ranking(NamedTuple):
    """Each row from its best to its worst score; of equal scores the higher label index comes first.

    The m known labels of a row take the depths 0 to m - 1; what lies below counts nowhere.
    """

    values: Floats  # (n, C) scores, descending over the known labels
    relevant: Bools  # (n, C) whether the label at this depth is relevant; False below the known ones
    hits: NDArray[np.intp]  # (n, C) relevant labels down to this depth, inclusive
    n_relevant: NDArray[np.intp]  # (n,)
    n_known: NDArray[np.intp]  # (n,) m
    counted: Bools  # (n,) rows with at least one relevant and one irrelevant label


def _rank(truth: Bools, scores: Floats, known: Bools) -> _Ranking:
    """The labels of every row by their scores."""
    # With the labels reversed, a stable sort leaves the higher label index first among equal scores.
    order = np.argsort(-scores[:, ::-1], axis=1, kind="stable")
    if not known.all():  # a second stable sort takes the unknown labels to the end
        below = np.take_along_axis(~known[:, ::-1], order, axis=1)
        order = np.take_along_axis(order, np.argsort(below, axis=1, kind="stable"), axis=1)
    relevant = np.take_along_axis(truth[:, ::-1], order, axis=1)
    hits = np.cumsum(relevant, axis=1, dtype=np.intp)
    n_relevant, n_known = hits[:, -1], known.sum(axis=1)
    values = np.take_along_axis(scores[:, ::-1], order, axis=1)
    return _Ranking(values, relevant, hits, n_relevant, n_known, (n_relevant > 0) & (n_relevant < n_known))


def _ranking_losses(ranking: _Ranking) -> Floats:
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
    pairs = ranking.n_relevant * (ranking.n_known - ranking.n_relevant)
    return np.where(ranking.counted, wrong / np.maximum(pairs, 1), np.nan)


def _average_precisions(ranking: _Ranking) -> Floats:
    """Mean precision at the depths of the relevant labels."""
    precision = ranking.hits / np.arange(1, ranking.hits.shape[1] + 1)
    total = precision.sum(axis=1, where=ranking.relevant)
    return np.where(ranking.counted, total / np.maximum(ranking.n_relevant, 1), np.nan)


def _one_errors(ranking: _Ranking) -> Floats:
    """0 if a label that shares the top score is relevant, else 1."""
    top = ranking.values == ranking.values[:, :1]
    wrong = ~(top & ranking.relevant).any(axis=1)
    return np.where(ranking.counted, wrong, np.nan)


def _coverages(ranking: _Ranking, empty: float) -> Floats:
    """Depth, from 0, of the worst relevant label; ``empty`` without one. Only rows without a known label drop."""
    worst = ranking.relevant.shape[1] - 1 - np.argmax(ranking.relevant[:, ::-1], axis=1)
    return np.where(ranking.n_known > 0, np.where(ranking.n_relevant > 0, worst, float(empty)), np.nan)


def _mean_of_ranked(rows: Floats, name: str) -> float:
    """Mean over the rows that are not left out; NaN, with a warning that contains ``name``, if all are."""
    counted = rows[~np.isnan(rows)]
    if not counted.size:
        warnings.warn(f"{name} is NaN: each of the {rows.size} rows has no label or all labels, so none can be ranked.",
                      RuntimeWarning, stacklevel=3)  # fmt: skip
        return float("nan")
    return float(np.mean(counted))


# ---------------------------------------------------------------- counts


def _true_and_wrong(truth: Bools, scores: Floats, known: Bools) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count TP and FP + FN of each label over its known entries."""
    predicted = scores >= THRESHOLD
    return (predicted & truth & known).sum(axis=0), ((predicted != truth) & known).sum(axis=0)


def _hamming(wrong: NDArray[np.intp], known: Bools) -> float:
    """The share of known entries that are predicted wrong."""
    return int(wrong.sum()) / int(np.count_nonzero(known))


def _macro(right: NDArray[np.intp], wrong: NDArray[np.intp], known: Bools) -> float:
    """F1 of each label with a known entry, 0 where it neither occurs nor is predicted; their mean."""
    occurs = 2 * right + wrong
    return float(np.mean((2 * right / np.maximum(occurs, 1))[known.any(axis=0)]))


def _micro(right: NDArray[np.intp], wrong: NDArray[np.intp]) -> float:
    """F1 of all entries together."""
    n_right = int(right.sum())
    return 2 * n_right / (2 * n_right + int(wrong.sum())) if n_right else 0.0
