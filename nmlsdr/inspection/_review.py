"""`rank_suspects` and its list, `Suspects`: the annotations to review, in the order that `_order.py` finds."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from .._checks.arguments import check_choice, check_count, check_real
from .._checks.labels import Labels, check_labels
from .._errors import InputError
from ._order import Order, audit_first, places_of_rows, takes_turns, weigh_verdicts

KINDS = ("forgotten", "wrong")  # of given 0s, of given 1s
_LEARNED_RATES = ("flip_rate_", "_forget_rate")


class Suspects:
    """Annotations in the order in which to review them; each attribute has one entry for each annotation.

    The whole list is made when one of its attributes is read; ``first(n)`` finds the first n annotations without it.

    Attributes
    ----------
    row, label : ndarray of intp
        Row number and label number of the annotation.
    given : ndarray of int64
        Given label, 1 or 0.
    score : ndarray of float64
        How doubtful the annotation is, at least 0. The larger the score, the more likely the annotation is wrong.
    kind : ndarray of str
        "forgotten" (given 0, perhaps truly 1) or "wrong" (given 1, perhaps truly 0: given wrongly).
    rank : ndarray of intp
        1, 2, ... among the annotations of the same kind.
    odds : ndarray of float64
        What the annotations after the audit are ordered by: the odds of the flip score, times how often this kind of
        error is made, times what verdicts say of the kind and of the label.
    audit : ndarray of bool
        True for the annotations that are listed first because their label has too few verdicts.
    """

    _fields = ("row", "label", "given", "score", "kind", "rank", "odds", "audit")

    def __init__(self, find: Callable[[int | None], Sequence[NDArray[Any]]], n: int) -> None:
        self._find = find
        self._n = n

    def __getattr__(self, name: str) -> Any:
        if name not in self._fields:
            raise AttributeError(f"Suspects have no attribute {name!r}; they have {', '.join(self._fields)}.")
        vars(self).update(zip(self._fields, self._find(None), strict=True))
        return vars(self)[name]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (getattr(self, name) for name in self._fields)

    def __getitem__(self, key: Any) -> Any:
        raise TypeError("Suspects are columns, not a list of annotations; first(n) gives the first n of them.")

    def first(self, n: int | None) -> "Suspects":
        """Return the first `n` annotations.

        Parameters
        ----------
        n : int or None
            Number of annotations; None: all of them.

        Returns
        -------
        Suspects
            The first annotations, `n` or fewer.
        """
        columns = self._find(n)
        return Suspects(lambda k: [values[:k] for values in columns], len(columns[0]))

    def __repr__(self) -> str:
        """The first ten annotations."""
        columns = (v.round(3) if v.dtype == float else v for v in self.first(10))
        lines = [self._fields, *zip(*columns, strict=True)]
        shown = ("".join(f"{cell!s:>12}" for cell in line) for line in lines)
        return "\n".join([f"{len(lines) - 1} of {self._n} annotations", *shown])


def rank_suspects(
    flip_scores: Any,
    y: Any,
    *,
    kind: str = "all",
    flip_rate: float | None = None,
    forget_rate: float | None = None,
    labeled: Any = None,
    verdicts: ArrayLike | None = None,
    audit: int = 0,
) -> Suspects:
    """Order the given annotations for review, the one most likely wrong first.

    Parameters
    ----------
    flip_scores : estimator, Pipeline or array-like of shape (n_samples, n_labels)
        A fitted estimator that has ``flip_scores_``, a pipeline with one, or these scores, in [0, 1].
    y : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,)
        The labels given to that fit, without the verdicts. Unknown entries are not listed.
    kind : {"all", "forgotten", "wrong"}, default="all"
        Which annotations are listed. "forgotten": given 0s. "wrong": given 1s. "all": both, in one list.
    flip_rate, forget_rate : float, default=None
        How often a 0 is given as 1, in [0, 0.3], and a 1 as 0, in [0, 1], for scores that are given without their
        estimator. They weigh the two kinds of mistakes against each other. None: the order is that of
        ``flip_scores``, as it is for estimators that do not estimate these rates.
    labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
        The argument ``labeled`` given to the fit: True for labelled rows, or for known entries. None: y itself shows
        what is unknown.
    verdicts : array-like of shape (n_samples, n_labels), default=None
        What people decided so far, as `read_verdicts` returns it: 1 or 0, -2 where they could not tell, and -1 or NaN
        where there is no verdict. Annotations with a verdict are not listed.
    audit : int, default=0
        Number of annotations of each label that are checked first; verdicts then order the others (see Notes). 0: there
        is no audit, and verdicts change no order.

    Returns
    -------
    Suspects
        Annotations by decreasing score, or both kinds in turn (see Notes). With ``audit``, first those of the audit,
        and then the others by their score times what verdicts say of their kind and label.

    Raises
    ------
    ValueError
        If ``kind`` is unknown, the estimator has no ``flip_scores_``, one rate is given without the other or outside
        its range, the labels are invalid, the scores have another shape than the labels, the score of a known label is
        outside [0, 1], scores and labels are exchanged, or y does not label as many rows as at the fit.

    Notes
    -----
    An annotation is as suspicious as the odds of its flip score, times how often that kind of mistake is made. With the
    flip score s, M known entries and l labelled rows, the score is r s / (1 - s) for a given 1 and h s / (1 - s) for a
    given 0. Here r is ``flip_rate`` and h is ``forget_rate``, both at least 1 / (2 M), and s is clipped to [e, 1 - e]
    with e = 1 / (2 sqrt l), because O has errors too. Unknown entries of a labelled row count in neither M nor r nor h.
    A wrong class (1-D y) is a wrong 1 and a forgotten one at once, so there the score is s.

    Within one kind the order is that of the flip scores.

    Entries with equal scores are ordered by their flip score before the clip, then the rarer label comes first, and
    then the row whose labels are doubted most. Row numbers decide only between rows with the same labels and scores.

    If more than half of the first page (500 annotations, or all) are of one kind and share the score of the clip, the
    two kinds take turns, a missing label first; but given 1s come first if the rates say that a tenth of them or more
    are wrong. With 5000 annotations or more the kinds also take turns as long as there is no verdict, if the two rates
    are not sure: if an error of two standard errors of log(h / r) decides whether missing labels or labels given
    wrongly fill two thirds of the page.

    The scores take one rate for all labels, so if a single label is full of errors they do not show it. An audit does:
    the ``audit`` annotations of each label with the largest scores come first, without those of labels that have so
    many verdicts already. An audit concerns at most 25 labels and 250 annotations; of more labels it takes those with
    the largest sum of v / (1 + v), v the score.

    All verdicts together then weigh kinds and labels: the log odds that a given label is wrong are
    log v + a_kind + b_label, a logistic regression with normal priors with mean 0, and standard deviations of 2 for the
    two kinds and 1 for the labels. The other annotations are ordered by v exp(a_kind + b_label). Their scores remain v.

    Rows that stand in X several times with the same labels are neighbours, and confirm each other's errors: fit on one
    of each. The command does.

    Examples
    --------
    Row 0 has a 1 and two 0s. Its 1 is contradicted most, but here labels are rather forgotten than given wrongly.

    >>> scores, y = [[0.8, 0.2, 0.7], [0.1, 0.1, 0.1]], [[1, 0, 0], [0, 1, 0]]
    >>> found = rank_suspects(scores, y, flip_rate=0.01, forget_rate=0.2).first(2)
    >>> found.label, found.kind, found.rank
    (array([2, 0]), array(['forgotten', 'wrong'], dtype='<U9'), array([1, 1]))
    >>> rank_suspects(scores, y, kind="forgotten").label
    array([2, 1, 2, 0])
    """
    check_choice(kind, "kind", "all", *KINDS)
    if hasattr(y, "get_params"):
        raise InputError("y is an estimator; give the fitted estimator first, then the labels.")
    step: Any = None
    if hasattr(flip_scores, "get_params"):
        step = step_with_scores(flip_scores)
        flip_scores = step.flip_scores_
        flip_rate, forget_rate = _learned_rates(step)
    scores, labels = check_scores(flip_scores, y, labeled, "flip_scores")
    V = np.asarray(np.broadcast_to(-1.0, scores.shape) if verdicts is None else verdicts, dtype=np.float64)
    _check_fit(scores, labels, V, step)
    rates, by_odds = _check_rates(flip_rate, forget_rate, labels)
    ones = labels.Y > 0.5
    if check_count(audit, "audit", least=0) and step is not None and not labels.single:
        corrected = step.transduction_ != step.label_flips_  # a fit with verdicts has scores against these
        scores = np.where((V >= 0) & (corrected != ones), 1.0 - scores, scores)
    order = Order(
        scores=scores,
        positives=ones,
        listed=_undecided(labels, V, kind),
        rates=rates,
        e=0.5 / np.sqrt(max(1, int(labels.labeled.sum()))),
        factors=np.ones((2, scores.shape[1])),
        frequencies=(ones & labels.known).sum(axis=0),
        places=places_of_rows(scores, ones, labels.known),
    )
    decided = labels.known & (V >= 0)
    if audit and decided.any():
        order = _weigh(order, V, decided)
    elif by_odds and kind == "all":
        order = order._replace(in_turn=takes_turns(order, int(labels.known.sum())))
    return _list(order, audit_first(order, decided.sum(axis=0), audit), by_odds)


def _check_fit(scores: NDArray[np.float64], labels: Labels, verdicts: NDArray[np.float64], step: Any) -> None:
    """Raise unless scores and verdicts belong to these labels."""
    if verdicts.shape != scores.shape:
        raise InputError(f"verdicts must have the shape of the labels, {scores.shape}, got {verdicts.shape}.")
    counts = [int(known.any(axis=1).sum()) for known in (labels.known, labels.known | (verdicts >= 0))]
    n_labeled = getattr(step, "n_labeled_", None)
    if n_labeled not in (None, *counts):
        raise InputError(f"y has {counts[0]} labelled rows, the fit had {n_labeled}; give the y of the fit.")
    votes = ((labels.Y > 0) & (labels.Y < 1)).any()
    if votes and (np.isin(scores, (0, 1, -1)) | np.isnan(scores)).all() and (scores == 1).any():
        raise InputError("flip_scores holds 0, 1 and -1, y holds fractions; give the scores first, then the labels.")
    outside = labels.known & ~((scores >= 0) & (scores <= 1))
    if outside.any():
        i, c = (int(place) for place in np.argwhere(outside)[0])
        raise InputError(f"flip_scores must lie in [0, 1], got {scores[i, c]:g} in row {i}, label {c}.")


def _learned_rates(step: Any) -> tuple[Any, Any]:
    """How often a 0 is given as 1 and a 1 as 0, as a fit estimated it; None if it did not."""
    flip_rate, forget_rate = (getattr(step, name, None) for name in _LEARNED_RATES)
    return flip_rate, forget_rate


def _undecided(labels: Labels, verdicts: NDArray[np.float64], kind: str) -> NDArray[np.bool_]:
    """The known labels of a kind without a verdict."""
    undecided = labels.known & ~((verdicts >= 0) | (verdicts < -1))
    return undecided if kind == "all" else undecided & ((labels.Y > 0.5) == (kind == "wrong"))


def _weigh(order: Order, verdicts: NDArray[np.float64], decided: NDArray[np.bool_]) -> Order:
    """The order by the verdicts on known labels."""
    row, label = np.nonzero(decided)
    ones = order.positives[row, label]
    wrong = verdicts[row, label] != ones
    return order._replace(factors=weigh_verdicts(order.odds((row, label)), ones, label, wrong, decided.shape[1]))


def _list(order: Order, audited: NDArray[np.bool_], by_odds: bool) -> Suspects:
    """The annotations in their order, those of the audit first; their score is their odds, or the flip score."""
    audit = order._replace(listed=audited).first(int(audited.sum()))
    remainder = order._replace(listed=order.listed & ~audited)
    n_labels = audited.shape[1]
    n = int(order.listed.sum())

    def columns(limit: int | None) -> list[NDArray[Any]]:
        n_audited = len(audit[:limit])
        n_others = min(n if limit is None else max(0, limit), n) - n_audited
        entries = np.append(audit[:limit], remainder.first(n_others))
        row, label = divmod(entries, n_labels)
        value = order.positives[row, label].astype(np.int64)
        rank = np.where(value == 1, np.cumsum(value), np.cumsum(1 - value))
        odds = order.odds((row, label))
        score = odds if by_odds else order.scores[row, label]
        is_audited = np.arange(len(entries)) < n_audited
        return [row, label, value, score, np.array(KINDS)[value], rank, odds * order.factors[value, label], is_audited]

    return Suspects(columns, n)


def _check_rates(flip_rate: Any, forget_rate: Any, labels: Labels) -> tuple[NDArray[np.float64], bool]:
    """How often a 1 is missing and how often one is given wrongly, and whether both are known; 1 if they are not."""
    if (flip_rate is None) != (forget_rate is None):
        raise InputError("flip_rate and forget_rate belong together; pass both of the fitted estimator, or neither.")
    if flip_rate is None or labels.single:
        return np.ones(2), False
    least = 0.5 / max(1, int(labels.known.sum()))
    rates = check_real(forget_rate, "forget_rate", 0.0, 1.0), check_real(flip_rate, "flip_rate", 0.0, 0.3)
    return np.maximum(rates, least), True


def last_with(estimator: Any, attribute: str) -> Any:
    """The last step that has the attribute, or None."""
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    return next((step for step in reversed(steps) if hasattr(step, attribute)), None)


def step_with_scores(estimator: Any) -> Any:
    """The last step that has flip_scores_."""
    step = last_with(estimator, "flip_scores_")
    if step is None:
        raise InputError(f"{type(estimator).__name__} has no flip_scores_; pass a fitted ResidualPropagation.")
    return step


def check_scores(scores: Any, y: Any, labeled: Any, name: str) -> tuple[NDArray[np.float64], Labels]:
    """The scores of annotations and the labels that they belong to, which have one shape."""
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers, got {scores!r:.60}; give the scores first, then y.") from None
    labels = check_labels(y, n_samples=len(values) if values.ndim else None, labeled=labeled)
    if values.shape != labels.Y.shape:
        shapes = f"{name} must have the shape of the labels, {labels.Y.shape}, got {values.shape}"
        raise InputError(f"{shapes}; pass the scores and y of the same fit.")
    return values, labels
