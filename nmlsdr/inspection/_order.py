"""The order of a review list: odds of label errors, both kinds in turn, the audit, and what verdicts weigh."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._row_checks import hash_rows

AUDIT = 5  # entries of each label that the page asks first
AUDITED_LABELS = 25  # of more labels, those with the most doubtful entries are audited
LARGEST_AUDIT = 250  # entries of all labels: half of a page
PAGE = 500  # entries of the first page

_BLOCK = 1 << 18  # entries that are put in order at once
_DEVIATIONS = 2.0, 1.0  # of the normal priors of the effects of kinds and of labels: BEYOND (k) 3a
_ERRORS = 2.0  # standard errors by which the ratio of the two rates may be off
_MOST = 2 / 3  # share of a page that one kind can fill by error
# Of the given 1s, estimated to be wrong, from which on entries at the upper end of the clip are trusted.  Tags of
# Debian, whose tied 1s are mostly right: .05 (4000 packages and 30 000); 1s planted at random: .18 to .29.
_MANY_WRONG = 0.1


class Order(NamedTuple):
    """What annotations are ordered by: the odds of their flip scores, times how often that kind of error is made.

    Attributes
    ----------
    scores : ndarray of shape (n_samples, n_labels), float64
        Flip scores.
    positives, listed : ndarray of shape (n_samples, n_labels), bool
        Whether the given label is 1, and whether the annotation is listed.
    rates : ndarray of shape (2,)
        How often a 1 is missing, and how often one is given wrongly.
    e : float
        Flip scores are clipped to [e, 1 - e].
    factors : ndarray of shape (2, n_labels)
        What the odds of 0s and of 1s of each label are multiplied by, because of verdicts.
    frequencies : ndarray of shape (n_labels,)
        Number of given 1s of each label; of equal scores that of the rarer label comes first.
    places : ndarray of shape (n_samples,)
        Which row comes first if labels are equal, too: by the content of the rows, not by their numbers.
    in_turn : bool
        Whether both kinds take turns.
    """

    scores: NDArray[np.float64]
    positives: NDArray[np.bool_]
    listed: NDArray[np.bool_]
    rates: NDArray[np.float64]
    e: float
    factors: NDArray[np.float64]
    frequencies: NDArray[np.intp]
    places: NDArray[np.intp]
    in_turn: bool = False

    def odds(self, at: Any) -> NDArray[np.float64]:
        """The odds of these entries, without the factors."""
        s = np.clip(self.scores[at], self.e, 1.0 - self.e)
        return np.where(self.positives[at], self.rates[1], self.rates[0]) * s / (1.0 - s)

    def of_label(self, c: int) -> "Order":
        """The order of the annotations of one label."""
        column = slice(c, c + 1)
        names = ("scores", "positives", "listed", "factors", "frequencies")
        return self._replace(**{name: getattr(self, name)[..., column] for name in names})

    def first(self, n: int) -> NDArray[np.intp]:
        """The first n annotations, as numbers of entries row by row."""
        if not self.in_turn:
            return self._first_by_odds(n)
        kinds = (self._replace(listed=self.listed & (self.positives == value)) for value in (False, True))
        return alternate(*(kind._first_by_odds(n) for kind in kinds))[:n]

    def _first_by_odds(self, n: int) -> NDArray[np.intp]:
        """The first n by their odds; of equal ones the larger flip score, the rarer label, the content of the row.

        Of each block of rows only the entries matter that come before the last of the first n so far.
        """
        n_labels = self.listed.shape[1]
        step = len(self.listed) if 2 * n > self.listed.size else max(1, _BLOCK // n_labels)
        keys, scores = np.zeros((2, 0))
        entries = np.zeros(0, dtype=np.intp)
        last = -np.inf
        last_score = -np.inf
        for begin in range(0, len(self.listed) if n else 0, step):
            rows = slice(begin, begin + step)
            key = self.odds(rows) * np.where(self.positives[rows], self.factors[1], self.factors[0])
            s = self.scores[rows]
            at = np.flatnonzero(self.listed[rows] & ((key > last) | ((key == last) & (s >= last_score))))
            keys = np.append(keys, key.ravel()[at])
            scores = np.append(scores, s.ravel()[at])
            entries = np.append(entries, at + begin * n_labels)
            row, label = np.divmod(entries, n_labels)
            order = np.lexsort((self.places[row], label, self.frequencies[label], -scores, -keys))[:n]
            keys = keys[order]
            scores = scores[order]
            entries = entries[order]
            if len(order) == n:
                last = keys[-1]
                last_score = scores[-1]
        return entries


def places_of_rows(
    scores: NDArray[np.float64], positives: NDArray[np.bool_], known: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Return the place of each row by its content: first the rows whose labels are doubted most, then by a hash."""
    values = np.where(known, scores, 0.0)
    order = np.lexsort((hash_rows(np.where(known, values + 2.0 * positives, -1.0), len(values)), -values.sum(axis=1)))
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places


def alternate(missing: NDArray[np.intp], wrong: NDArray[np.intp]) -> NDArray[np.intp]:
    """Take one of each in turn, a missing label first; then what is left of the longer list.

    Examples
    --------
    >>> alternate(np.array([1, 2, 3]), np.array([7])).tolist()
    [1, 7, 2, 3]
    """
    turns = np.concatenate([2 * np.arange(len(missing)), 2 * np.arange(len(wrong)) + 1])
    return np.concatenate([missing, wrong])[np.argsort(turns, kind="stable")]


def takes_turns(order: Order, n_known: int) -> bool:
    """Whether neither kind should come first: most of the first page ties, or the rates leave open which kind fills it.

    Scores tie if they are at the upper end of the clip. Tied given 1s do not count if a tenth of the given 1s or more
    are estimated to be wrong: then most of the tied ones are. Both rates are shares of entries (`nmlsdr._thresholds`),
    the noise rate of a tenth of the known ones, and that of missing labels of a tenth of the true 1s. The logarithm of
    their ratio is known up to two standard errors. If at one end of this interval missing labels fill two thirds of
    the page, and at the other end labels given wrongly, the rates are not sure. Tables with fewer annotations than ten
    pages have too few for this test, and are soon checked.
    """
    n_listed = int(order.listed.sum())
    page = order.first(min(PAGE, n_listed))
    ceiling = order.scores.ravel()[page] >= 1.0 - order.e
    missing, wrong = order.rates
    n_given = int(order.positives.sum())
    tied_zeros, tied_ones = 2 * np.bincount(order.positives.ravel()[page][ceiling], minlength=2) > len(page)
    if tied_zeros or (tied_ones and wrong * (n_known - n_given) < _MANY_WRONG * n_given):
        return True
    if n_listed < 10 * PAGE:
        return False
    n_ones = max(0.0, (order.positives.sum() - wrong * n_known) / (1.0 - 2.0 * wrong))
    counts = order.rates * np.array([n_ones, n_known]) / 10.0
    error = _ERRORS * np.sqrt(((1.0 - order.rates) / np.maximum(counts, 0.5)).sum())
    shares = []
    for sign in (1.0, -1.0):
        rates = np.array([missing * np.exp(sign * error), wrong])
        shares.append(order.positives.ravel()[order._replace(rates=rates).first(PAGE)].mean())
    return bool(shares[0] < 1.0 - _MOST and shares[1] > _MOST)


def weigh_verdicts(
    odds: NDArray[np.float64],
    positives: NDArray[np.bool_],
    label: NDArray[np.intp],
    wrong: NDArray[np.bool_],
    n_labels: int,
) -> NDArray[np.float64]:
    """What verdicts multiply the odds of 0s and of 1s of each label by, from one logistic model of all verdicts.

    The log odds that a given label is wrong are the log of its score, plus an effect of its kind, plus an effect of
    its label. The effects have normal priors with mean 0 and standard deviations of 2 (kinds) and 1 (labels). Their
    mode is found by Newton's method with steps of at most 1. No estimator of scikit-learn takes a score whose
    coefficient is 1.

    Parameters
    ----------
    odds, positives, label, wrong : ndarray of shape (n_verdicts,)
        Score v of each annotation with a verdict, its given label, the number of the label, and the verdict.
    n_labels : int

    Returns
    -------
    ndarray of shape (2, n_labels)
        exp(effect of the kind + effect of the label).
    """
    kind_precision, label_precision = (deviation**-2 for deviation in _DEVIATIONS)
    of_kind = np.zeros(2)
    of_label = np.zeros(n_labels)
    kind = positives.astype(np.intp)
    cells = kind * n_labels + label

    def sums(values: NDArray[np.float64]) -> Any:
        return np.bincount(cells, values, 2 * n_labels).reshape(2, n_labels)

    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-(np.log(odds) + of_kind[kind] + of_label[label])))
        slopes = sums(wrong - p)
        weights = sums(p * (1.0 - p))
        kind_slope = slopes.sum(axis=1) - kind_precision * of_kind
        label_slope = slopes.sum(axis=0) - label_precision * of_label
        # Newton's equations; the labels are eliminated, because no verdict concerns two of them.
        curvature = weights.sum(axis=0) + label_precision
        system = np.diag(weights.sum(axis=1) + kind_precision) - (weights / curvature) @ weights.T
        kind_step = np.linalg.solve(system, kind_slope - weights @ (label_slope / curvature))
        label_step = (label_slope - kind_step @ weights) / curvature
        largest = max(np.abs(kind_step).max(), np.abs(label_step).max())
        of_kind += kind_step / max(1.0, largest)
        of_label += label_step / max(1.0, largest)
        if largest < 1e-4:
            break
    factors: NDArray[np.float64] = np.exp(of_kind[:, None] + of_label)
    return factors


def audit_first(order: Order, n_verdicts: NDArray[np.intp], n_each: int) -> NDArray[np.bool_]:
    """Which annotations are audited: the first of each label that has fewer than `n_each` verdicts.

    Parameters
    ----------
    order : Order
    n_verdicts : ndarray of shape (n_labels,)
        Verdicts on each label.
    n_each : int

    Returns
    -------
    ndarray of shape (n_samples, n_labels), bool
    """
    sizes = np.maximum(n_each - n_verdicts, 0)
    room = LARGEST_AUDIT - int(np.minimum(n_verdicts, n_each).sum())
    n_open = max(0, AUDITED_LABELS - int((sizes == 0).sum()))
    if np.count_nonzero(sizes) > n_open or sizes.sum() > room:
        doubts = np.zeros(len(sizes))
        for c in np.flatnonzero(sizes).tolist():
            odds = order.odds((order.listed[:, c], c))
            doubts[c] = -(odds / (1.0 + odds)).sum()
        ranking = np.argsort(doubts, kind="stable")
        ranking = ranking[sizes[ranking] > 0]
        fits = (np.arange(len(ranking)) < n_open) & (np.cumsum(sizes[ranking]) <= room)
        sizes[ranking[~fits]] = 0
    audit = np.zeros_like(order.listed)
    for c in np.flatnonzero(sizes).tolist():
        audit[order.of_label(c).first(sizes[c]), c] = True
    return audit
