"""From scores to labels: the scores that rank, the rate of flipped labels, and the threshold of each label."""

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ._checks.arguments import check_real
from ._checks.labels import Labels
from ._errors import InputError, plural, shorten

RULES = ("f1", "macro", "prior")
_LARGEST_FLIP_RATE = 0.3
_CLEAREST_SHARE = 10  # the flip rate is read off one in ten of the known entries
_MOST_NAMED = 3  # labels that a warning names
_AT_ONCE = 1 << 19  # scores of which sums are formed together, in 4 MiB


def check_threshold(threshold: Any) -> None:
    """Refuse what is neither a rule nor a number in [0, 1] nor a list of such numbers."""
    if isinstance(threshold, str) and threshold in RULES:
        return
    is_list = np.ndim(threshold) == 1 and len(threshold) > 0
    if not is_list and not isinstance(threshold, Real):
        rules = ", ".join(f'"{rule}"' for rule in RULES)
        raise InputError(f"threshold must be a number, {rules}, or one number per label, got {threshold!r}.")
    for value in np.ravel(threshold).tolist():
        check_real(value, "each threshold" if is_list else "threshold", 0.0, 1.0)


def given_thresholds(threshold: Any, n_labels: int) -> np.ndarray:
    """One threshold per label from a checked threshold; 1/2 in place of a rule."""
    if np.ndim(threshold) == 1 and len(threshold) != n_labels:
        raise InputError(f"threshold has {len(threshold)} numbers for {n_labels} labels; give one per label.")
    return np.array(np.broadcast_to(0.5 if isinstance(threshold, str) else threshold, (n_labels,)), dtype=np.float64)


def unflipped(values: Any, rate: float) -> Any:
    """Return what scores or shares would be without flips: (v - r) / (1 - 2 r).

    Where a share v of labels is 1 and each label is flipped with probability r, a share (1 - r) v + r (1 - v) is given.
    """
    return (values - rate) / (1.0 - 2.0 * rate)


def known_shares(Y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The mean of each label over its known entries, 0 where there is none."""
    shares: np.ndarray = (Y * known).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return shares


def labels_flip_rate(scores: np.ndarray, labels: Labels) -> float:
    """Estimate the probability that a given label is flipped: the share of 1s where the scores are smallest.

    Hardly any label is truly 1 there, so that the given 1s are flipped 0s.  At most .3; 0 for classes (1-D y).

    Parameters
    ----------
    scores : ndarray of shape (n_labeled, n_labels), float64
        Out-of-sample scores of the labelled rows.
    labels : Labels

    Returns
    -------
    float
    """
    if labels.single:
        return 0.0
    return min(_LARGEST_FLIP_RATE, _clearest_share(*_known(scores, labels), 1)[0])


def labels_forget_rate(scores: np.ndarray, labels: Labels, rate: float) -> float:
    """Estimate the probability that a true label is not given: the share of 0s where the scores are largest.

    If G of M known entries are given as 1, about (G - r M) / (1 - 2 r) are truly 1.  Hardly any entry is truly 0 among
    a tenth of so many, those with the largest scores; let n0 of these m be given as 0.  Where the features say little
    about the labels, (n0 + r) / (m + 1) is too large, so its mean with r is returned, which
    `nmlsdr.inspection.rank_suspects` compares with r.

    Parameters
    ----------
    scores, labels
        As for `labels_flip_rate`.
    rate : float
        The flip rate r; at least 1 / (2 M) is taken, as for what is returned.

    Returns
    -------
    float
        0 for classes (1-D y).
    """
    if labels.single:
        return 0.0
    scores, Y = _known(scores, labels)
    M = len(scores)
    r = max(rate, 0.5 / M)
    m = max(1, int(np.clip(unflipped(Y.sum() / M, r) * M, 0, M)) // _CLEAREST_SHARE)
    h0 = (m * (1.0 - _share_of_ones(-scores, Y, m)) + r) / (m + 1)
    return max((h0 + r) / 2, 0.5 / M)


def _known(scores: np.ndarray, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels of the known entries of the labelled rows; no copy where all are known."""
    _, Y, known = labels.labeled_part()
    return (scores.ravel(), Y.ravel()) if known is None else (scores[known], Y[known])


def _clearest_share(scores: np.ndarray, Y: np.ndarray, tenths: int) -> tuple[float, int]:
    """The share of 1s among so many tenths of the labels, those with the smallest scores, and their number."""
    m = min(len(scores), tenths * max(1, len(scores) // _CLEAREST_SHARE))
    return _share_of_ones(scores, Y, m), m


def _share_of_ones(scores: np.ndarray, Y: np.ndarray, m: int) -> float:
    """The share of 1s among the m labels with the smallest scores; equal scores at the limit count by their mean.

    Finding the limit takes a tenth of the time of sorting all scores.
    """
    largest = np.partition(scores, m - 1)[m - 1]
    below = scores < largest
    n_below = np.count_nonzero(below)
    ones = Y[below].sum() + (m - n_below) * Y[scores == largest].mean()
    return float(ones / m)


def flip_rate_interval(scores: np.ndarray, labels: Labels) -> tuple[float, float]:
    """Lowest and highest flip rate to expect, if each given label is flipped with the same probability.

    The estimate is a share of m entries, so two standard errors are allowed on either side.  It is rather too high than
    too low, because some labels with a small score are truly 1: then the share of 1s grows from the tenth with the
    smallest scores to the fifth.  This growth and .02 more are allowed below, and .005 above.  The numbers were set on
    24 simulated tables (Gaussian rows, and scikit-learn's `make_multilabel_classification`) with 0, 2, 5, 10 and 20 %
    flips, where all 120 intervals contain the truth.  `tests/core/test_flip_interval.py` tries other data.

    Parameters
    ----------
    scores, labels
        As for `labels_flip_rate`.

    Returns
    -------
    lowest, highest : float
        At most 1/2; the highest is 1/2 where the estimate is at its largest value.
    """
    (rate, m), (wider, _) = (_clearest_share(*_known(scores, labels), tenths) for tenths in (1, 2))
    rate = min(_LARGEST_FLIP_RATE, rate)
    wider = min(_LARGEST_FLIP_RATE, wider)
    error = 2.0 * float(np.sqrt(max(rate * (1.0 - rate), 1.0 / m) / m))
    lowest = max(0.0, rate - error - 0.02 - max(0.0, wider - rate))
    return lowest, 0.5 if rate == _LARGEST_FLIP_RATE else min(0.5, rate + error + 0.005)


def f1_cutoff(scores: np.ndarray, rate: float) -> float:
    """Return the score from which on predicting a label raises the expected F1: half of the best expected F1.

    The rule is that of Lipton, Elkan and Naryanaswamy (2014), for F1 over all labels together, from the scores
    without flips.

    Parameters
    ----------
    scores : ndarray of shape (n_known,), float64
    rate : float
        The flip rate, at most .3.

    Returns
    -------
    float
        1/2 where no score promises an F1 above 0.
    """
    v = np.subtract(rate, scores)  # the scores without flips times -1, in place: there may be many
    v /= 1.0 - 2.0 * rate
    v.sort()
    np.negative(v, out=v)  # in falling order
    total = max(1.0, float(v.sum()))
    hits = 0.0
    best = 0.0
    for first in range(0, len(v), _AT_ONCE):
        expected_hits = np.minimum(v[first : first + _AT_ONCE], 1.0)
        expected_hits[0] += hits
        hits = np.cumsum(expected_hits, out=expected_hits)[-1]
        n_predicted = np.arange(first + 1, first + 1 + len(expected_hits))
        best = max(best, float((2.0 * expected_hits / (total + n_predicted)).max()))
    best = min(best, 1.0)
    return rate + (1.0 - 2.0 * rate) * best / 2.0 if best > 0 else 0.5


def prior_cutoffs(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """For each label the score that its expected number of training rows reach.

    With n rows and m = max(1, round(share n)), half to even: the m-th largest score.  Where ties let more than
    max(2 m, m + 5) rows reach it, the next larger score that occurs; where none does, infinity: no score tells the rows
    with the label from the others.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_labels), float64
    shares : ndarray of shape (n_labels,)
        Expected share of the rows that have the label.

    Returns
    -------
    ndarray of shape (n_labels,), float64
    """
    n_samples = len(scores)
    cutoffs = np.empty(len(shares))
    for label, share in enumerate(shares):
        column = np.sort(scores[:, label])
        m = max(1, round(float(share) * n_samples))
        cutoff = column[n_samples - m]
        if n_samples - np.searchsorted(column, cutoff, side="left") > max(2 * m, m + 5):
            above = np.searchsorted(column, cutoff, side="right")
            cutoff = column[above] if above < n_samples else np.inf
        cutoffs[label] = cutoff
    return cutoffs


class Scored(NamedTuple):
    """Labels, and the out-of-sample scores V (n_labeled, n_labels) of the labelled rows."""

    labels: Labels
    scores: np.ndarray


def learned_cutoffs(rule: str, labels: Labels, rate: float, scores: np.ndarray, added_shares: Any = 0.0) -> np.ndarray:
    """One threshold per label by a rule.

    Parameters
    ----------
    rule : {"f1", "macro", "prior"}
        "f1": one threshold for all labels, by `f1_cutoff` from the scores of the known entries.  "macro": the same for
        each label alone.  "prior": by `prior_cutoffs`, with the share of each label among its known entries corrected
        by the flip rate.  "macro" and "prior" have infinity for a label that no row is known to have.
    labels : Labels
    rate : float
        The flip rate.
    scores : ndarray of shape (n_labeled, n_labels)
        Out-of-sample scores of the labelled rows.
    more : ndarray of shape (n_labels,), default=0
        What "prior" adds to the share of each label.

    Returns
    -------
    ndarray of shape (n_labels,), float64
    """
    if rule == "f1":
        scores, shares_in_y = _known(scores, labels)
        return np.full(labels.Y.shape[1], f1_cutoff(scores, rate) if (shares_in_y > 0).any() else 0.5)
    Y = labels.labeled_part().Y
    known = labels.known[labels.labeled]
    if rule == "prior":
        shares_in_y = known_shares(Y, known)
        shares = np.clip(np.clip(unflipped(shares_in_y, rate), 0.0, 1.0) + added_shares, 0.0, 1.0)
        return np.where(shares_in_y + added_shares > 0, prior_cutoffs(np.clip(scores, 0.0, 1.0), shares), np.inf)
    pairs = zip(scores.T, known.T, np.any(Y, axis=0), strict=True)
    return np.array([f1_cutoff(column[entries], rate) if has_one else np.inf for column, entries, has_one in pairs])


def cutoffs_with_verdicts(rule: str, before: Scored, after: Scored, rate: float) -> np.ndarray:
    """One threshold per label by a rule, where people corrected labels.

    The flip rate is that of the labels as given.  It does not fit the scores of corrected labels, which would promise
    an F1 near 1.  So "f1" keeps the threshold t of the labels as given if people added more labels than they removed.
    Otherwise only as many known entries may reach the threshold as reached t before, and it is at least t.  "macro" is
    the same for each label alone; one that only verdicts give has the threshold of their labels.  "prior" corrects the
    shares as given, and adds to each the share that people added, if they added more than they removed.

    Parameters
    ----------
    rule : {"f1", "macro", "prior"}
    before, after : Scored
        Labels as given and with verdicts, and the scores of the model that learned each.
    rate : float
        The flip rate of the labels as given.

    Returns
    -------
    ndarray of shape (n_labels,), float64
    """
    labels = before.labels
    rows = before.labels.labeled
    known = labels.known[rows]
    added = np.where(known, after.labels.Y[rows] - labels.Y[rows], 0.0)
    if rule == "prior":
        added_shares = np.maximum(added.sum(axis=0), 0.0) / np.maximum(known.sum(axis=0), 1) if added.sum() > 0 else 0.0
        return learned_cutoffs(rule, labels, rate, after.scores, added_shares)
    cutoffs = learned_cutoffs(rule, labels, rate, before.scores)
    later = after.scores[rows[after.labels.labeled]]
    for part in [slice(None)] if rule == "f1" else range(len(cutoffs)):
        reached = int((known & (before.scores >= cutoffs))[:, part].sum())
        if added[:, part].sum() <= 0 and known[:, part].any():
            least = np.sort(later[:, part][known[:, part]])[::-1][max(1, reached) - 1]
            cutoffs[part] = np.maximum(cutoffs[part], least)
    return np.where(np.isinf(cutoffs), learned_cutoffs(rule, after.labels, rate, after.scores), cutoffs)


#: The threshold of a label that is never predicted; a finite number, so that scores minus thresholds are finite too.
NEVER = float(np.nextafter(np.inf, -np.inf))


def without_only_present(cutoffs: np.ndarray, labels: Labels) -> np.ndarray:
    """The thresholds, with `NEVER` for labels that no row is known to lack: their scores are as high in every row."""
    return np.where(labels.only_present, NEVER, cutoffs)


def just_below(cutoffs: np.ndarray) -> np.ndarray:
    """The next smaller floats: what reaches a threshold is above them."""
    return np.nextafter(cutoffs, -np.inf)


def rank_scores(estimator: Any, X: Any) -> np.ndarray:
    """Scores (n_samples, n_labels) that rank the labels of a row; they do not depend on ``threshold``.

    For classifiers of this package, also at the end of a pipeline or found by a search, the scores before thresholds;
    for others ``decision_function``, or ``predict_proba`` where there is none.
    """
    from sklearn.pipeline import Pipeline  # other estimators need not wait for it

    while hasattr(estimator, "best_estimator_") or isinstance(estimator, Pipeline):
        if isinstance(estimator, Pipeline):
            X = estimator[:-1].transform(X) if len(estimator) > 1 else X
            estimator = estimator[-1]
        else:
            estimator = estimator.best_estimator_
    for method in ("_rank_scores", "decision_function", "predict_proba"):
        if hasattr(estimator, method):
            return getattr(estimator, method)(X)
    raise InputError(f"{type(estimator).__name__} has neither decision_function nor predict_proba to rank labels by.")


class NeverPredictedWarning(UserWarning):
    """Some labels are never predicted; the most frequent of them are named.

    Parameters
    ----------
    message : str
        What is said of them, but for their names, which stand behind it.
    advice : str
    counts : sequence of (int, int)
        The most frequent of these labels, by number, and how many rows are known to have each.
    names : sequence of str, default=None
        Names of all labels.
    """

    def __init__(
        self, message: str, advice: str, counts: Sequence[tuple[int, int]] = (), names: Sequence[str] | None = None
    ) -> None:
        self.parts = (message, advice, counts)
        if names is not None and counts:
            named = [f"{shorten(str(names[label]), 30)!r} ({plural(n_rows, 'row')})" for label, n_rows in counts]
            message = f"{message}, the most frequent of them {', '.join(named)}"
        super().__init__(f"{message}; {advice}.")

    def with_names(self, names: Sequence[str]) -> "NeverPredictedWarning":
        """Return the warning with the names of the labels."""
        return NeverPredictedWarning(*self.parts, names)


def warn_never_predicted(
    predicted: np.ndarray,
    threshold: Any,
    where: str = "",
    *,
    labels: Labels | None = None,
    advice: str = "",
    stacklevel: int = 3,
) -> None:
    """Warn of labels that are never predicted; ``predicted`` has True for every other label of ``labels``."""
    missing = np.flatnonzero(~predicted)
    if not len(missing):
        return
    if isinstance(threshold, str) and threshold != "f1":
        advice = "their scores do not distinguish the rows that have them, so label more rows with these labels"
    advice = advice or 'threshold="macro" (--threshold macro) predicts rare labels more readily, and so do more rows'
    counts: list[tuple[int, int]] = []
    if labels is not None:
        n_rows = (labels.known & (labels.Y > 0.5)).sum(axis=0)
        frequent = missing[np.argsort(-n_rows[missing], kind="stable")][:_MOST_NAMED]
        counts = [*zip(frequent.tolist(), n_rows[frequent].tolist(), strict=True)]
    verb = "is" if len(missing) == 1 else "are"
    message = f"{len(missing)} of {len(predicted)} labels {verb} never predicted{where}"
    names: Any = None if labels is None else labels.names
    warnings.warn(NeverPredictedWarning(message, advice, counts, names), stacklevel=stacklevel)
