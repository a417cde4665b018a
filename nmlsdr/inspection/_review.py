"""The order in which given annotations are reviewed."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from .._checks.arguments import check_choice, check_real
from .._checks.labels import Labels, check_labels, check_mask
from .._errors import InputError
from .._estimators._thresholds import labels_flip_rate, unflipped

KINDS = ("missing", "spurious")
_FIRST = 100  # annotations of a mixed list whose kinds are counted


class Suspects(NamedTuple):
    """Annotations in the order in which to review them; each field has one entry for each annotation.

    Attributes
    ----------
    row, label : ndarray of intp
        Row number and label number of the annotation.
    given : ndarray of int64
        Given label, 1 or 0.
    score : ndarray of float64
        How much other rows contradict the annotation, in [0, 1]. The larger the score, the more likely the annotation
        is wrong.
    kind : ndarray of str
        "missing" (given 0, probably 1) or "spurious" (given 1, probably 0).
    rank : ndarray of intp
        1, 2, ... among the annotations of the same kind.
    """

    row: NDArray[np.intp]
    label: NDArray[np.intp]
    given: NDArray[np.int64]
    score: NDArray[np.float64]
    kind: NDArray[Any]
    rank: NDArray[np.intp]

    def first(self, n: int | None) -> "Suspects":
        """Return the first `n` annotations.

        Parameters
        ----------
        n : int or None
            Number of annotations; None: all of them. Of a list of kind "apart" the first ones are of one kind; see
            `first_of_each_kind`.

        Returns
        -------
        Suspects
            The first annotations, `n` or fewer.
        """
        return self if n is None else self.take(slice(n))

    def first_of_each_kind(self, n: int | None) -> Self:
        """Return the first `n` annotations of each kind.

        Parameters
        ----------
        n : int or None
            Number of annotations of each kind; None: all of them.

        Returns
        -------
        Suspects
            At most 2 `n` annotations, in the same order.
        """
        return self if n is None else self.take(self.rank <= n)

    def take(self, places: Any) -> Self:
        """Return the annotations at these places.

        Parameters
        ----------
        places : slice or ndarray
            Index into each field.

        Returns
        -------
        Suspects
            These annotations.
        """
        return type(self)(*(values[places] for values in tuple[Any, ...](self)))

    def to_frame(self) -> Any:
        """Return the annotations as a pandas data frame.

        Returns
        -------
        DataFrame
            One row for each annotation, with the columns row, label, given, score, kind and rank.

        Raises
        ------
        ImportError
            Without pandas.
        """
        import pandas as pd

        return pd.DataFrame(self._asdict())

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
    kind: str = "apart",
    flip_rate: float | None = None,
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
    kind : {"apart", "missing", "spurious", "both", "unknown"}, default="apart"
        Which annotations are listed. "missing": given 0s. "spurious": given 1s. "apart": both lists, one after the
        other; the kind that is more likely wrong comes first. "both": one list, ordered by the score alone; where
        annotators forget labels, most of the given 1s at its top are right. "unknown": one list, in which the scores of
        given 1s are lowered if ``flip_rate`` shows that few of them can be wrong.
    flip_rate : float, default=None
        Attribute ``flip_rate_`` of the fitted estimator, in [0, 0.3]. Used for "unknown" alone, and required for it if
        scores are given instead of an estimator.
    labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
        The argument ``labeled`` given to the fit: True for labelled rows, or for known entries. None: y itself shows
        what is unknown.
    reviewed : array-like of shape (n_samples, n_labels) or (n_samples,), bool, default=None
        True for annotations, or for whole rows, that have been reviewed already; they are not listed.

    Returns
    -------
    Suspects
        Annotations by decreasing score, for "apart" within each kind; at equal scores by row and label.

    Raises
    ------
    ValueError
        If ``kind`` is unknown, the estimator has no ``flip_scores_``, the labels are invalid, the scores have another
        shape than the labels, the score of a known label is outside [0, 1], or scores and labels are exchanged.

    Notes
    -----
    With "apart", the kind comes first to which most of the first 100 annotations of the list "unknown" belong. The flip
    rate for this is estimated from the scores. A score is read as a prediction, ``1 - score`` for a given 1; the rate
    is the share of given 1s in the tenth of the annotations with the smallest predictions.

    Examples
    --------
    Two of three annotations of row 0 look wrong; row 1 is unlabelled.

    >>> found = rank_suspects([[0.9, 0.2, 0.7], [0.0, 0.0, 0.0]], [[1, 0, 0], [-1, -1, -1]], kind="both")
    >>> found.label, found.kind, found.rank
    (array([0, 2, 1]), array(['spurious', 'missing', 'missing'], dtype='<U8'), array([1, 1, 2]))
    >>> rank_suspects([[0.9, 0.2, 0.7]], [[1, 0, 0]], kind="missing").label
    array([2, 1])
    >>> rank_suspects([[0.9, 0.2, 0.7]], [[0, 0, 1]]).label  # two lists: given 0s, then given 1s
    array([0, 1, 2])
    """
    check_choice(kind, "kind", "apart", *KINDS, "both", "unknown")
    if hasattr(flip_scores, "get_params"):
        step = step_with_scores(flip_scores)
        flip_rate = getattr(step, "flip_rate_", None) if flip_rate is None else flip_rate
        flip_scores = step.flip_scores_
    if kind == "unknown" and flip_rate is None:
        raise InputError('kind="unknown" needs flip_rate; pass flip_rate_ of a fitted ResidualPropagation.')
    scores, labels = check_scores(flip_scores, y, labeled, "flip_scores")
    if (np.isin(scores, (0, 1, -1)) | np.isnan(scores)).all() and (scores == 1).any() and (labels.Y % 1 != 0).any():
        raise InputError("flip_scores holds 0, 1 and -1, y holds fractions; give the scores first, then the labels.")
    wrong = labels.known & ~((scores >= 0) & (scores <= 1))
    if wrong.any():
        i, c = (int(place) for place in np.argwhere(wrong)[0])
        raise InputError(f"flip_scores must lie in [0, 1], got {scores[i, c]:g} in row {i}, label {c}.")
    is_given = labels.Y > 0.5
    if kind == "unknown":
        rate = check_real(flip_rate, "flip_rate", 0.0, 0.3)
        scores = _with_lowered_ones(scores, labels, rate)
    listed = labels.known & (is_given == (kind == "spurious")) if kind in KINDS else labels.known
    if reviewed is not None:
        n_samples, n_labels = scores.shape
        decided = check_mask(reviewed, n_samples, n_labels, "reviewed")
        listed = listed & ~(decided if decided.ndim == 2 else decided[:, None])
    row, label = np.nonzero(listed)
    order = np.argsort(-scores[row, label], kind="stable")
    if kind == "apart":
        first = _likelier_ones(scores, labels, listed)
        order = order[np.argsort(is_given[row, label][order] != first, kind="stable")]
    row, label = row[order], label[order]
    given = is_given[row, label].astype(np.int64)
    rank = np.where(given == 1, np.cumsum(given), np.cumsum(1 - given))
    kinds = np.array(KINDS)[given]
    return Suspects(row, label, given, scores[row, label], kinds, rank)


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


def _with_lowered_ones(scores: NDArray[np.float64], labels: Labels, rate: float) -> NDArray[np.float64]:
    """The scores, those of given 1s times twice the share of the given 1s that are flipped 0s, at most 1."""
    given = labels.Y[labels.known]
    share = float(given.mean()) if given.size else 0.0
    truly = float(np.clip(unflipped(share, rate), 0.0, 1.0))  # the share of 1s without flips
    flipped = np.clip(rate * (1.0 - truly) / share, 0.0, 1.0) if share > 0 else 0.0
    return np.where(labels.Y > 0.5, scores * min(1.0, 2.0 * float(flipped)), scores)


def _likelier_ones(scores: NDArray[np.float64], labels: Labels, listed: NDArray[np.bool_]) -> bool:
    """Whether given 1s are the likelier wrong ones: most of the first annotations of one list of unknown mistakes."""
    is_given = labels.Y > 0.5
    predicted = np.where(is_given, 1.0 - scores, scores)[labels.labeled]
    lowered = _with_lowered_ones(scores, labels, labels_flip_rate(predicted, labels))[listed]
    head = is_given[listed][np.argsort(-lowered, kind="stable")[:_FIRST]]
    return bool(2 * head.sum() > len(head))


def buried_kind(suspects: Suspects, first: int = _FIRST) -> str | None:
    """The kind that a list of both hides behind the other.

    Parameters
    ----------
    suspects : Suspects
        A list of kind "both".
    first : int, default=100
        Number of annotations that are compared, from the first.

    Returns
    -------
    "missing", "spurious" or None
        The kind that at most one in twenty of the first entries has although the list contains more of it; otherwise
        None.  Whether that is right depends on the mistakes of the annotators.

    Examples
    --------
    >>> scores = [[0.9] * 40 + [0.3] * 60]
    >>> buried_kind(rank_suspects(scores, [[1] * 40 + [0] * 60], kind="both"), first=40)
    'missing'
    """
    head, rest = suspects.kind[:first], suspects.kind[first:]
    for kind in KINDS:
        if 20 * int((head == kind).sum()) <= len(head) and (rest == kind).any():
            return kind
    return None
