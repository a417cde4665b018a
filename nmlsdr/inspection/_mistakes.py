"""How many annotations are wrong: intervals for the labels that were forgotten and for those that were given wrongly.

Where a share of the true labels was forgotten, the same share of 0s stands even among the entries that look most like a
1, and where labels were given wrongly, 1s stand among the entries that look least like one.  Both shares are rather too
large, because features seldom tell the labels of a row with certainty; so they bound the mistakes from above.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks.labels import Labels
from .._errors import InputError
from .._thresholds import flip_rate_interval
from ._review import check_scores

# Of the entries of a label, as many with the largest scores are looked at as these shares of its given 1s.
SHARES = np.array([0.1, 0.2, 0.4, 0.8])


class Mistakes(NamedTuple):
    """Lowest and highest number of wrong annotations to expect.

    Attributes
    ----------
    forgotten : (float, float)
        Given 0s that are truly 1. The lowest number is always 0.
    wrong : (float, float)
        Given 1s that are truly 0.
    """

    forgotten: tuple[float, float]
    wrong: tuple[float, float]


def estimate_mistakes(scores: ArrayLike, y: Any, *, labeled: Any = None) -> Mistakes:
    """Estimate how many annotations are wrong from the predictions of models that did not see them.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_labels)
        Out-of-sample scores of the rows, for example by `nmlsdr.model_selection.cross_val_proba`: the larger, the
        more likely the row has the label. Only their order, over all rows and labels, matters. The scores of unlabelled
        rows are ignored.
    y : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,)
        The given labels. 1-D y has one column of scores for each class.
    labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
        True for labelled rows, or for known entries. None: y itself shows what is unknown.

    Returns
    -------
    Mistakes
        Two intervals, in numbers of annotations. For all wrong annotations, add the lowest and the highest numbers.

    Raises
    ------
    ValueError
        If the labels are invalid, the scores have another shape than the labels, or a score of a labelled row is not
        finite.

    Notes
    -----
    The estimate assumes that each true label is forgotten with the same probability h, whatever the row and the label,
    and that each of the other entries becomes a 1 with the same probability r. Only the highest number of wrong 1s lets
    r differ between labels: it is the sum of those of the single labels. The estimate cannot see mistakes that the
    features explain, such as labels that are forgotten mainly in unclear cases, or by an annotator whose rows look
    different.

    r lies between the bounds of the flip rate of `ResidualPropagation`. For h, look at the entries of each label with
    the largest scores, as many as .1, .2, .4 or .8 times the number of its given 1s. Let w be the share of given 1s
    among them, with its standard error e. If all of them are truly 1, w estimates 1 - h; otherwise w is smaller.
    So h is at most 1 - w + 2 e, for each of the four. The smallest of them counts. A lower bound of h needs to know how
    many of these entries are truly 1. One that guessed it from the area under the ROC curve was nearly always 0 in
    simulations (bench/results/mistakes_test.json), so there is none.

    If G of M known entries are 1, then (G - r M) / (1 - h - r) entries are truly 1, of which a share h was forgotten.

    In simulations with flips of 15 % in one or two of 6 or 12 labels, the number of wrong 1s was in one interval of all
    labels in 0 to 70 of 100 draws, and below the sum in all. The sum is 4 to 10 times as large.

    Elkan and Noto, "Learning classifiers from only positive and unlabeled data", KDD 2008, read the share 1 - h off the
    scores themselves, which must then be probabilities.

    Examples
    --------
    The first hundred of a thousand rows have a label, and every fifth of them is not annotated. The scores tell these
    hundred rows from the others:

    >>> y = [[int(i < 100 and i % 5 > 0)] for i in range(1000)]
    >>> found = estimate_mistakes([[-i] for i in range(1000)], y)
    >>> [round(number) for number in found.forgotten]  # 20 were forgotten
    [0, 35]
    """
    values, labels = check_scores(scores, y, labeled, "scores")
    if not np.isfinite(values[labels.labeled]).all():
        raise InputError("scores of labelled rows must be finite; predict all of them.")

    def intervals_of(columns: Any) -> Mistakes:
        part = dataclasses.replace(labels, Y=labels.Y[:, columns], known=labels.known[:, columns])
        return _intervals(values[:, columns], part)

    pooled = intervals_of(slice(None))
    bounds_by_label = [intervals_of([c]).wrong[1] for c in range(values.shape[1])]
    return pooled._replace(wrong=(pooled.wrong[0], max(pooled.wrong[1], sum(bounds_by_label))))


def _intervals(values: NDArray[np.float64], labels: Labels) -> Mistakes:
    """The intervals, if mistakes are equally likely in all of these labels."""
    values = values[labels.labeled]
    known = labels.known[labels.labeled]
    positive = labels.Y[labels.labeled] > 0.5
    M = int(known.sum())
    G = int(positive.sum())
    if not G:
        return Mistakes((0.0, float(M)), (0.0, 0.0))
    highest = _forgotten_share(values, positive, known)
    rates = flip_rate_interval(values, labels)

    def positives(h: float, r: float) -> float:
        return float(np.clip((G - r * M) / max(1.0 - h - r, 1e-9), 0.0, M))

    fewest = positives(0.0, rates[1])
    most_true = positives(highest, rates[0])
    wrong = [min(float(G), bound) for bound in (rates[0] * (M - most_true), rates[1] * (M - fewest))]
    return Mistakes((0.0, min(float(M - G), highest * most_true)), (wrong[0], wrong[1]))


def _forgotten_share(scores: NDArray[np.float64], positive: NDArray[np.bool_], known: NDArray[np.bool_]) -> float:
    """Highest share of the true labels that was forgotten."""
    ones = np.zeros(4)
    chosen = np.zeros(4)
    for c in np.flatnonzero((positive & known).any(axis=0)):
        rows = known[:, c]
        falling = positive[rows, c][np.argsort(-scores[rows, c], kind="stable")]
        sizes = np.ceil(SHARES * falling.sum()).astype(int)
        ones += np.cumsum(falling)[sizes - 1]
        chosen += sizes
    w = ones / chosen
    error = 2.0 * np.sqrt(np.maximum(w * (1.0 - w), 1.0 / chosen) / chosen)
    return min(1.0, float(np.min(1.0 - w + error)))
