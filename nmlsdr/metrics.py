"""The seven multi-label measures of the article (section 4.1), as plain functions of arrays.

Each takes the truth ``Y`` (n_samples, n_labels) of 0 and 1 and real ``scores`` of the same shape, where
larger means more likely.  The conventions on ties and on rows without or with every label are those of the
programs behind the article's tables, not scikit-learn's:

=================  ====================================================================================
ranking loss       a relevant and an irrelevant label with equal scores are a full error
average precision  of equal scores the HIGHER label index ranks above
one-error          right if ANY label that shares the top score is relevant
coverage           0-based depth of the worst relevant label; equal scores as for average precision
these four         rows with no label or with all labels are dropped from the mean (coverage: kept, a row
                   without labels counts ``empty``); if no row is left: NaN and a RuntimeWarning
macro-F1           a label with TP + FP + FN = 0 counts 0; one without a known entry is left out of the mean
hamming loss, F1   all rows, a label is predicted where its score is at least 0.5
unknown entries    (-1, NaN, null) are left out: hamming loss and F1 count known entries, the ranking
                   measures rank each row's known labels; a row without any is dropped from all
=================  ====================================================================================

By hand, with one unknown entry:

>>> from nmlsdr import metrics
>>> Y, scores = [[1, 0, -1], [0, 1, 1]], [[0.4, 0.6, 0.9], [0.1, 0.7, 0.8]]
>>> metrics.hamming_loss(Y, scores)             # 5 entries are known, (0, 0) and (0, 1) are wrong
0.4
>>> metrics.average_precision(Y, scores)        # row 0 ranks labels 1, 0: precision 1/2 at depth 2; row 1: 1
0.75
>>> metrics.coverage(Y, scores)                 # depths 1 and 1
1.0
>>> round(metrics.macro_f1(Y, scores), 6)       # labels 0, 1, 2: 0, 2/3 and, from one entry, 1
0.555556

The functions ending in ``_rows`` give the value of every row, NaN where the row is dropped.
All cost one sort of each row and a few passes over (n_samples, n_labels); there is no loop over rows.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ._errors import InputError
from ._labels import check_measured
from ._measures import (
    Floats,
    average_precisions,
    coverages,
    hamming,
    macro,
    mean_of_ranked,
    micro,
    one_errors,
    rank,
    ranking_losses,
    true_and_wrong,
)

__all__ = [
    "average_precision",
    "average_precision_rows",
    "coverage",
    "coverage_rows",
    "hamming_loss",
    "macro_f1",
    "micro_f1",
    "one_error",
    "one_error_rows",
    "ranking_loss",
    "ranking_loss_rows",
    "score_table",
]


def hamming_loss(Y: ArrayLike, scores: ArrayLike) -> float:
    """Share of the (sample, label) entries that are predicted wrongly, from ``scores >= 0.5``.

    Parameters
    ----------
    Y : array-like or sparse of shape (n_samples, n_labels)
        True labels, 0 or 1; unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores, larger means more likely; here compared with 0.5.

    Returns
    -------
    float
        Between 0 (best) and 1.

    Raises
    ------
    ValueError
        If a shape is wrong, ``Y`` holds anything but 0, 1 and unknown entries or no known one, or ``scores`` holds NaN
        where ``Y`` is known.

    Notes
    -----
    Article, section 4.1 (HL), over the known entries K: |{(i, c) in K: 1[s_ic >= 1/2] != y_ic}| / |K|.

    Examples
    --------
    >>> from nmlsdr.metrics import hamming_loss
    >>> hamming_loss([[1, 0], [0, 1]], [[0.9, 0.5], [0.2, 0.8]])
    0.25
    """
    truth, values, known = check_measured(Y, scores)
    return hamming(true_and_wrong(truth, values, known)[1], known)


def ranking_loss(Y: ArrayLike, scores: ArrayLike) -> float:
    """Mean share of (relevant, irrelevant) label pairs of a row that are ordered wrongly or tied.

    Parameters
    ----------
    Y : array-like or sparse of shape (n_samples, n_labels)
        True labels, 0 or 1; unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores, larger means more likely.

    Returns
    -------
    float
        Between 0 (best) and 1; NaN with a RuntimeWarning if every row has no label or all labels.

    Raises
    ------
    ValueError
        As :func:`hamming_loss`.

    Notes
    -----
    Article, section 4.1 (RL).  scikit-learn's ``label_ranking_loss`` counts the dropped rows as 0.

    Examples
    --------
    Pairs (0, 1) and (0, 2) of the first row: one in order, one tied; the second row has no label.

    >>> from nmlsdr.metrics import ranking_loss
    >>> ranking_loss([[1, 0, 0], [0, 0, 0]], [[0.7, 0.2, 0.7], [0.1, 0.2, 0.3]])
    0.5
    """
    return mean_of_ranked(ranking_losses(rank(*check_measured(Y, scores))), "ranking_loss")


def ranking_loss_rows(Y: ArrayLike, scores: ArrayLike) -> Floats:
    """Ranking loss of each row, float64 (n_samples,); NaN where a row has no label or all labels.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        0/1.
    scores : array-like of shape (n_samples, n_labels)
        Larger is likelier.

    Returns
    -------
    ndarray of shape (n_samples,), float64
        One number a row; NaN where a row has no label or all labels.

    Raises
    ------
    ValueError
        As :func:`ranking_loss`.

    Examples
    --------
    >>> from nmlsdr.metrics import ranking_loss_rows
    >>> ranking_loss_rows([[1, 0, 0], [0, 0, 0]], [[0.7, 0.2, 0.7], [0.1, 0.2, 0.3]])
    array([0.5, nan])
    """
    return ranking_losses(rank(*check_measured(Y, scores)))


def average_precision(Y: ArrayLike, scores: ArrayLike) -> float:
    """Mean over rows of the precision at the depth of each relevant label.

    Parameters
    ----------
    Y : array-like or sparse of shape (n_samples, n_labels)
        True labels, 0 or 1; unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores, larger means more likely.

    Returns
    -------
    float
        Between 0 and 1 (best); NaN with a RuntimeWarning if every row has no label or all labels.

    Raises
    ------
    ValueError
        As :func:`hamming_loss`.

    Notes
    -----
    Article, section 4.1 (AP).  Of equal scores the higher label index ranks above, so the value can change
    when labels with equal scores are permuted; scikit-learn gives all of them the worst rank.

    Examples
    --------
    Labels 0 and 2 are relevant, at depths 1 and 3: (1/1 + 2/3) / 2.

    >>> from nmlsdr.metrics import average_precision
    >>> round(average_precision([[1, 0, 1]], [[0.9, 0.8, 0.1]]), 6)
    0.833333
    """
    return mean_of_ranked(average_precisions(rank(*check_measured(Y, scores))), "average_precision")


def average_precision_rows(Y: ArrayLike, scores: ArrayLike) -> Floats:
    """Average precision of each row, float64 (n_samples,); NaN where a row has no label or all labels.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        0/1.
    scores : array-like of shape (n_samples, n_labels)
        Larger is likelier.

    Returns
    -------
    ndarray of shape (n_samples,), float64
        One number a row; NaN where a row has no label or all labels.

    Raises
    ------
    ValueError
        As :func:`average_precision`.

    Examples
    --------
    >>> from nmlsdr.metrics import average_precision_rows
    >>> average_precision_rows([[1, 0], [1, 0], [1, 1]], [[0.9, 0.1], [0.5, 0.5], [0.3, 0.2]])
    array([1. , 0.5, nan])
    """
    return average_precisions(rank(*check_measured(Y, scores)))


def one_error(Y: ArrayLike, scores: ArrayLike) -> float:
    """Share of rows in which no label with the top score is relevant.

    Parameters
    ----------
    Y : array-like or sparse of shape (n_samples, n_labels)
        True labels, 0 or 1; unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores, larger means more likely.

    Returns
    -------
    float
        Between 0 (best) and 1; NaN with a RuntimeWarning if every row has no label or all labels.

    Raises
    ------
    ValueError
        As :func:`hamming_loss`.

    Notes
    -----
    Article, section 4.1 (OE).

    Examples
    --------
    >>> from nmlsdr.metrics import one_error
    >>> one_error([[1, 0, 0], [0, 0, 1]], [[0.6, 0.6, 0.1], [0.9, 0.3, 0.2]])
    0.5
    """
    return mean_of_ranked(one_errors(rank(*check_measured(Y, scores))), "one_error")


def one_error_rows(Y: ArrayLike, scores: ArrayLike) -> Floats:
    """One-error of each row, 0 or 1, float64 (n_samples,); NaN where a row has no label or all labels.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        0/1.
    scores : array-like of shape (n_samples, n_labels)
        Larger is likelier.

    Returns
    -------
    ndarray of shape (n_samples,), float64
        One number a row; NaN where a row has no label or all labels.

    Raises
    ------
    ValueError
        As :func:`one_error`.

    Examples
    --------
    >>> from nmlsdr.metrics import one_error_rows
    >>> one_error_rows([[1, 0, 0], [0, 0, 1]], [[0.6, 0.6, 0.1], [0.9, 0.3, 0.2]])
    array([0., 1.])
    """
    return one_errors(rank(*check_measured(Y, scores)))


def coverage(Y: ArrayLike, scores: ArrayLike, *, empty: float = 0) -> float:
    """Mean depth, counted from 0, of the worst ranked relevant label.

    Parameters
    ----------
    Y : array-like or sparse of shape (n_samples, n_labels)
        True labels, 0 or 1; unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores, larger means more likely.
    empty : float, default=0
        What a row without labels counts.  The program behind the article's tables gives -1.

    Returns
    -------
    float
        Between ``empty`` and n_labels - 1; smaller is better.

    Raises
    ------
    ValueError
        As :func:`hamming_loss`.

    Notes
    -----
    Article, section 4.1 (Cov).  Of equal scores the higher label index ranks above.  scikit-learn's
    ``coverage_error`` counts from 1.

    Examples
    --------
    Depths 2 and 0, and a row without labels.

    >>> from nmlsdr.metrics import coverage
    >>> Y = [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    >>> scores = [[0.9, 0.8, 0.1], [0.2, 0.6, 0.4], [0.5, 0.5, 0.5]]
    >>> round(coverage(Y, scores), 6), round(coverage(Y, scores, empty=-1), 6)
    (0.666667, 0.333333)
    """
    return float(np.nanmean(coverages(rank(*check_measured(Y, scores)), empty)))


def coverage_rows(Y: ArrayLike, scores: ArrayLike, *, empty: float = 0) -> Floats:
    """Coverage of each row, float64 (n_samples,); a row without labels counts ``empty``.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        0/1.
    scores : array-like of shape (n_samples, n_labels)
        Larger is likelier.
    empty : float, default=0
        What a row without labels counts.

    Returns
    -------
    ndarray of shape (n_samples,), float64
        The depth of each row.

    Raises
    ------
    ValueError
        As :func:`coverage`.

    Examples
    --------
    >>> from nmlsdr.metrics import coverage_rows
    >>> coverage_rows([[1, 0, 1], [0, 0, 0]], [[0.9, 0.8, 0.1], [0.5, 0.5, 0.5]], empty=-1)
    array([ 2., -1.])
    """
    return coverages(rank(*check_measured(Y, scores)), empty)


def macro_f1(Y: ArrayLike, scores: ArrayLike) -> float:
    """Mean over labels of F1 = 2 TP / (2 TP + FP + FN), from ``scores >= 0.5``.

    Parameters
    ----------
    Y : array-like or sparse of shape (n_samples, n_labels)
        True labels, 0 or 1; unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores, larger means more likely; here compared with 0.5.

    Returns
    -------
    float
        Between 0 and 1 (best).  A label that is neither true nor predicted anywhere counts 0.

    Raises
    ------
    ValueError
        As :func:`hamming_loss`.

    Notes
    -----
    Article, section 4.1 (MaF1).

    Examples
    --------
    F1 is 2/3 for the first label and 0 for the second, which never occurs.

    >>> from nmlsdr.metrics import macro_f1
    >>> round(macro_f1([[1, 0], [0, 0]], [[0.9, 0.1], [0.7, 0.2]]), 6)
    0.333333
    """
    truth, values, known = check_measured(Y, scores)
    return macro(*true_and_wrong(truth, values, known), known)


def micro_f1(Y: ArrayLike, scores: ArrayLike) -> float:
    """F1 = 2 TP / (2 TP + FP + FN) over all entries together, from ``scores >= 0.5``.

    Parameters
    ----------
    Y : array-like or sparse of shape (n_samples, n_labels)
        True labels, 0 or 1; unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores, larger means more likely; here compared with 0.5.

    Returns
    -------
    float
        Between 0 and 1 (best); 0 if nothing is predicted rightly.

    Raises
    ------
    ValueError
        As :func:`hamming_loss`.

    Notes
    -----
    Article, section 4.1 (MiF1).

    Examples
    --------
    >>> from nmlsdr.metrics import micro_f1
    >>> round(micro_f1([[1, 0], [0, 0]], [[0.9, 0.1], [0.7, 0.2]]), 6)
    0.666667
    """
    return micro(*true_and_wrong(*check_measured(Y, scores)))


def score_table(
    Y: ArrayLike,
    scores: ArrayLike,
    *,
    coverage_by: Literal["C-1", "C"] = "C-1",
    coverage_empty: Literal[0, -1] = 0,
) -> dict[str, float]:
    """All seven measures as the article's tables show them: larger is better in each.

    Parameters
    ----------
    Y : array-like or sparse of shape (n_samples, n_labels)
        True labels, 0 or 1; unknown entries (-1, NaN or null) are left out.
    scores : array-like of shape (n_samples, n_labels)
        Scores, larger means more likely.
    coverage_by : {"C-1", "C"}, default="C-1"
        Divisor of Cov' = 1 - Cov / divisor.  The article's text says C - 1, its printed tables hold C.
    coverage_empty : {0, -1}, default=0
        What a row without labels counts in Cov; the article's tables hold -1.

    Returns
    -------
    dict
        HL' = 1 - HL, RL' = 1 - RL, AP, OE' = 1 - OE, Cov', MaF1, MiF1, in this order.  RL', AP and OE' are NaN
        with a RuntimeWarning where no row qualifies, and so is Cov' for one label under "C-1".

    Raises
    ------
    ValueError
        As :func:`hamming_loss`, and for another ``coverage_by`` or ``coverage_empty``.

    Notes
    -----
    Article, section 4.1.  To stand beside the article: ``coverage_by="C", coverage_empty=-1``.

    Examples
    --------
    >>> from nmlsdr.metrics import score_table
    >>> table = score_table([[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.6, 0.4]])
    >>> {name: round(value, 3) for name, value in table.items()}  # doctest: +NORMALIZE_WHITESPACE
    {"HL'": 0.667, "RL'": 0.75, 'AP': 0.917, "OE'": 1.0, "Cov'": 0.5, 'MaF1': 0.556, 'MiF1': 0.667}
    """
    if coverage_by not in ("C-1", "C"):
        raise InputError(f'coverage_by={coverage_by!r} is not a divisor known here; use "C-1" or "C".')
    if coverage_empty not in (0, -1):
        raise InputError(f"coverage_empty={coverage_empty!r} is not defined; use 0, or -1 as the article's tables.")
    truth, values, known = check_measured(Y, scores)
    ranking = rank(truth, values, known)
    right, wrong = true_and_wrong(truth, values, known)
    divisor = truth.shape[1] - (coverage_by == "C-1")
    depth = float(np.nanmean(coverages(ranking, coverage_empty)))
    if divisor == 0:
        warnings.warn('Cov\' divides by C - 1, which is 0 for one label; it is NaN, coverage_by="C" is defined.',
                      RuntimeWarning, stacklevel=2)  # fmt: skip
    return {
        "HL'": 1.0 - hamming(wrong, known),
        "RL'": 1.0 - mean_of_ranked(ranking_losses(ranking), "RL'"),
        "AP": mean_of_ranked(average_precisions(ranking), "AP"),
        "OE'": 1.0 - mean_of_ranked(one_errors(ranking), "OE'"),
        "Cov'": 1.0 - depth / divisor if divisor else float("nan"),
        "MaF1": macro(right, wrong, known),
        "MiF1": micro(right, wrong),
    }
