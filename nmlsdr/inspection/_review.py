"""The order in which given annotations are reviewed."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks.arguments import check_choice, check_real
from .._checks.labels import check_labels
from .._errors import InputError
from .._estimators._thresholds import unflipped

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
            Number of annotations; None: all of them.

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


def rank_suspects(
    flip_scores: ArrayLike,
    y: Any,
    *,
    kind: str = "both",
    flip_rate: float | None = None,
    labeled: Any = None,
    reviewed: ArrayLike | None = None,
) -> Suspects:
    """Order the given annotations for review, the one most likely wrong first.

    Parameters
    ----------
    flip_scores : array-like of shape (n_samples, n_labels)
        Attribute ``flip_scores_`` of a fitted estimator, in [0, 1].
    y : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,)
        The labels given to that fit. Unknown entries are not listed.
    kind : {"both", "missing", "spurious", "unknown", "apart"}, default="both"
        Which annotations are listed. "missing": given 0s. "spurious": given 1s. "both": all, ordered by the score
        alone. If annotators forget labels, most of the given 1s at the top of that list are right; use "missing"
        then. "unknown": all, for data about whose mistakes nothing is known; the scores of given 1s are lowered if
        ``flip_rate`` shows that few of them can be wrong. "apart": the two lists "missing" and "spurious", one after
        the other; first comes the kind that most of the first 100 annotations of "unknown" have.
    flip_rate : float, default=None
        Attribute ``flip_rate_`` of the fitted estimator, in [0, 0.3]. Required for "unknown" and "apart".
    labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
        The argument ``labeled`` given to the fit: True for labelled rows, or for known entries. None: y itself shows
        what is unknown.
    reviewed : array-like of shape (n_samples, n_labels), bool, default=None
        True for annotations that have been reviewed already; they are not listed.

    Returns
    -------
    Suspects
        Annotations by decreasing score, for "apart" within each kind; at equal scores by row and label.

    Raises
    ------
    ValueError
        If ``kind`` is unknown, the labels are invalid, the scores have another shape than the labels, or the score of
        a known label is outside [0, 1].

    Examples
    --------
    Two of three annotations of row 0 look wrong; row 1 is unlabelled.

    >>> found = rank_suspects([[0.9, 0.2, 0.7], [0.0, 0.0, 0.0]], [[1, 0, 0], [-1, -1, -1]])
    >>> found.label, found.kind, found.rank
    (array([0, 2, 1]), array(['spurious', 'missing', 'missing'], dtype='<U8'), array([1, 1, 2]))
    >>> rank_suspects([[0.9, 0.2, 0.7]], [[1, 0, 0]], kind="missing").label
    array([2, 1])
    >>> rank_suspects([[0.9, 0.2, 0.7]], [[1, 0, 0]], kind="apart", flip_rate=0.0).label
    array([2, 1, 0])
    """
    check_choice(kind, "kind", "both", *KINDS, "unknown", "apart")
    if kind in ("unknown", "apart") and flip_rate is None:
        raise InputError(f'kind="{kind}" needs flip_rate; pass flip_rate_ of a fitted ResidualPropagation.')
    if kind == "apart":
        mixed = rank_suspects(flip_scores, y, kind="unknown", flip_rate=flip_rate, labeled=labeled, reviewed=reviewed)
        found = rank_suspects(flip_scores, y, kind="both", labeled=labeled, reviewed=reviewed)
        head = mixed.first(_FIRST).kind
        likelier = KINDS[0] if 2 * (head == KINDS[0]).sum() >= len(head) else KINDS[1]
        return found.take(np.argsort(found.kind != likelier, kind="stable"))
    scores = np.asarray(flip_scores, dtype=np.float64)
    labels = check_labels(y, n_samples=scores.shape[0] if scores.ndim else None, labeled=labeled)
    if scores.shape != labels.Y.shape:
        raise InputError(
            f"flip_scores must have the shape of the labels, {labels.Y.shape}, got {scores.shape}; "
            "pass flip_scores_ and y of the same fit."
        )
    wrong = labels.known & ~((scores >= 0) & (scores <= 1))
    if wrong.any():
        i, c = (int(place) for place in np.argwhere(wrong)[0])
        raise InputError(f"flip_scores must lie in [0, 1], got {scores[i, c]:g} in row {i}, label {c}.")
    is_given = labels.Y > 0.5
    if kind == "unknown":
        rate = check_real(flip_rate, "flip_rate", 0.0, 0.3)
        scores = np.where(is_given, scores * _weight_of_ones(rate, labels.Y[labels.known]), scores)
    listed = labels.known & (is_given == (kind == "spurious")) if kind in KINDS else labels.known
    if reviewed is not None:
        decided = np.asarray(reviewed)
        if decided.shape != scores.shape or decided.dtype != np.bool_:
            raise InputError(
                f"reviewed must be a boolean array of shape {scores.shape}, got shape {decided.shape} and dtype "
                f"{decided.dtype}."
            )
        listed = listed & ~decided
    row, label = np.nonzero(listed)
    order = np.argsort(-scores[row, label], kind="stable")
    row, label = row[order], label[order]
    given = is_given[row, label].astype(np.int64)
    rank = np.where(given == 1, np.cumsum(given), np.cumsum(1 - given))
    kinds = np.array(KINDS)[given]
    return Suspects(row, label, given, scores[row, label], kinds, rank)


def _weight_of_ones(rate: float, given: NDArray[np.float64]) -> float:
    """Twice the share of the given 1s that are flipped 0s, at most 1."""
    share = float(given.mean()) if given.size else 0.0
    truly = float(np.clip(unflipped(share, rate), 0.0, 1.0))  # the share of 1s without flips
    flipped = np.clip(rate * (1.0 - truly) / share, 0.0, 1.0) if share > 0 else 0.0
    return min(1.0, 2.0 * float(flipped))


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
    >>> buried_kind(rank_suspects(scores, [[1] * 40 + [0] * 60]), first=40)
    'missing'
    """
    head, rest = suspects.kind[:first], suspects.kind[first:]
    for kind in KINDS:
        if 20 * int((head == kind).sum()) <= len(head) and (rest == kind).any():
            return kind
    return None
