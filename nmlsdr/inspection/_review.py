"""The order in which given annotations are reviewed."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from .._checks.arguments import check_choice, check_real
from .._checks.labels import Labels, check_labels, check_mask
from .._checks.words import OLD_KINDS
from .._errors import InputError

KINDS = ("forgotten", "wrong")  # of given 0s, of given 1s


_LEARNED = ("flip_scores_", "flip_rate_", "_forget_rate", "n_labeled_")


class Suspects(NamedTuple):
    """Annotations in the order in which to review them; each field has one entry for each annotation.

    Attributes
    ----------
    row, label : ndarray of intp
        Row number and label number of the annotation.
    given : ndarray of int64
        Given label, 1 or 0.
    score : ndarray of float64
        What the annotations are ordered by, at least 0. The larger the score, the more likely the annotation is wrong.
    kind : ndarray of str
        "forgotten" (given 0, perhaps truly 1) or "wrong" (given 1, perhaps truly 0: given wrongly).
    rank : ndarray of intp
        1, 2, ... among the annotations of the same kind.
    """

    row: NDArray[np.intp]
    label: NDArray[np.intp]
    given: NDArray[np.int64]
    score: NDArray[np.float64]
    kind: NDArray[Any]
    rank: NDArray[np.intp]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            raise TypeError("Suspects are six columns, not a list of annotations; first(n) gives the first n of them.")
        return tuple.__getitem__(self, key)

    def first(self, n: int | None) -> Self:
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
        return type(self)(*(values[:n] for values in tuple[Any, ...](self)))

    def _repr_html_(self) -> str:
        """The first ten annotations, for notebooks."""
        head = self.first(10)
        lines = [self._fields, *zip(*tuple[Any, ...](head._replace(score=head.score.round(3))), strict=True)]
        rows = "".join(f"<tr><td>{'</td><td>'.join(map(str, line))}</td></tr>" for line in lines)
        return f"<table><caption>{len(head.row)} of {len(self.row)} annotations</caption>{rows}</table>"


def rank_suspects(
    flip_scores: Any,
    y: Any,
    *,
    kind: str = "all",
    flip_rate: float | None = None,
    forget_rate: float | None = None,
    labeled: Any = None,
    reviewed: ArrayLike | None = None,
) -> Suspects:
    """Order the given annotations for review, the one most likely wrong first.

    Parameters
    ----------
    flip_scores : estimator, Pipeline or array-like of shape (n_samples, n_labels)
        A fitted estimator that has ``flip_scores_``, a pipeline with one, or these scores, in [0, 1].
    y : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,)
        The labels given to that fit. Unknown entries are not listed.
    kind : {"all", "forgotten", "wrong"}, default="all"
        Which annotations are listed. "forgotten": given 0s. "wrong": given 1s. "all": both, in one list.
    flip_rate, forget_rate : float, default=None
        How often a 0 is given as 1, in [0, 0.3], and a 1 as 0, in [0, 1], for scores that are given without their
        estimator. They weigh the two kinds of mistakes against each other. None: the order is that of
        ``flip_scores``, as it is for estimators that do not estimate these rates.
    labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
        The argument ``labeled`` given to the fit: True for labelled rows, or for known entries. None: y itself shows
        what is unknown.
    reviewed : array-like of shape (n_samples, n_labels) or (n_samples,), bool, default=None
        True for annotations, or for whole rows, that have been reviewed already; they are not listed.

    Returns
    -------
    Suspects
        Annotations by decreasing score; of equal scores first the larger ``flip_scores``, then by row and label.

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

    Examples
    --------
    Row 0 has a 1 and two 0s. Its 1 is contradicted most, but here labels are rather forgotten than given wrongly.

    >>> scores, y = [[0.8, 0.2, 0.7], [0.1, 0.1, 0.1]], [[1, 0, 0], [0, 1, 0]]
    >>> found = rank_suspects(scores, y, flip_rate=0.01, forget_rate=0.2).first(2)
    >>> found.label, found.kind, found.rank
    (array([2, 0]), array(['forgotten', 'wrong'], dtype='<U9'), array([1, 1]))
    >>> rank_suspects(scores, y, kind="forgotten").label
    array([2, 1, 0, 2])
    """
    if kind in OLD_KINDS:
        raise InputError(f'kind={kind!r} is called "{OLD_KINDS[kind]}" now.')
    check_choice(kind, "kind", "all", *KINDS)
    if hasattr(y, "get_params"):
        raise InputError("y is an estimator; give the fitted estimator first, then the labels.")
    n_labeled = None
    if hasattr(flip_scores, "get_params"):
        step = step_with_scores(flip_scores)
        flip_scores, flip_rate, forget_rate, n_labeled = (getattr(step, name, None) for name in _LEARNED)
    scores, labels = check_scores(flip_scores, y, labeled, "flip_scores")
    if n_labeled not in (None, found := int(labels.labeled.sum())):
        raise InputError(f"y has {found} labelled rows, the fit had {n_labeled}; give the y of the fit.")
    if (np.isin(scores, (0, 1, -1)) | np.isnan(scores)).all() and (scores == 1).any() and (labels.Y % 1 != 0).any():
        raise InputError("flip_scores holds 0, 1 and -1, y holds fractions; give the scores first, then the labels.")
    outside = labels.known & ~((scores >= 0) & (scores <= 1))
    if outside.any():
        i, c = (int(place) for place in np.argwhere(outside)[0])
        raise InputError(f"flip_scores must lie in [0, 1], got {scores[i, c]:g} in row {i}, label {c}.")
    is_given = labels.Y > 0.5
    listed = labels.known if kind == "all" else labels.known & (is_given == (kind == "wrong"))
    if reviewed is not None:
        decided = check_mask(reviewed, scores.shape[0], scores.shape[1], "reviewed")
        listed = listed & ~(decided if decided.ndim == 2 else decided[:, None])
    row, label = np.nonzero(listed)
    s, given = scores[row, label], is_given[row, label].astype(np.int64)
    suspicion = _odds(s, given, labels, flip_rate, forget_rate)
    order = np.lexsort((-s, -suspicion))  # which keeps the order of what is equal
    row, label, given = row[order], label[order], given[order]
    rank = np.where(given == 1, np.cumsum(given), np.cumsum(1 - given))
    return Suspects(row, label, given, suspicion[order], np.array(KINDS)[given], rank)


def _odds(
    s: NDArray[np.float64], given: NDArray[np.int64], labels: Labels, flip_rate: Any, forget_rate: Any
) -> NDArray[np.float64]:
    """The odds of flip scores times how often that kind of mistake is made; without rates the flip scores."""
    if (flip_rate is None) != (forget_rate is None):
        raise InputError("flip_rate and forget_rate belong together; pass both of the fitted estimator, or neither.")
    if flip_rate is None or labels.single:
        return s
    least = 0.5 / max(1, int(labels.known.sum()))
    r = max(check_real(flip_rate, "flip_rate", 0.0, 0.3), least)
    h = max(check_real(forget_rate, "forget_rate", 0.0, 1.0), least)
    e = 0.5 / np.sqrt(max(1, int(labels.labeled.sum())))
    s = np.clip(s, e, 1.0 - e)
    return np.asarray(np.where(given == 1, r, h) * s / (1.0 - s))


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
