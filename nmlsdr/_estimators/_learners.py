"""The trend of ResidualPropagation: its learners, and how much each of them counts."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from .._boosting import boost_trees
from .._checks.labels import Labels
from .._moments import RowSums, row_blocks
from .._process.threads import check_n_jobs, single_threaded_blas
from .._ridge import CrossFit, ridge_regression
from ..forest import FEWEST_ROWS, MOST_LABELS, Trees, forest_seed, grow_forests, score_by_forests
from ._steps import Steps

MANY_ROWS = 1000  # labelled rows; what is measured to pay beyond, and only there, begins at this number
ROUNDS_OF_A_TREE = 5  # most rounds of boosting for each tree of a forest: 500 by default, of which few fits need half
_EQUAL = 1e-12  # losses that differ by less, of a sum of 1, are equal but for rounding


class Trend(NamedTuple):
    """The learners, their weights and the settings that cross-validation chose, by the names of attributes."""

    coef_: np.ndarray
    intercept_: np.ndarray
    forests_: list[Trees]
    learner_weights_: np.ndarray
    ridge_: float
    shrinkage_: float


def boosts(n_labeled: int, n_labels: int) -> bool:
    """Whether there are boosted trees."""
    return n_labeled > MANY_ROWS and n_labels <= MOST_LABELS


def fit_trend(
    steps: Steps, rows: Any, labels: Labels, w: np.ndarray, chosen: CrossFit, mean: np.ndarray
) -> tuple[Trend, np.ndarray, np.ndarray]:
    """Fit the learners to the labelled rows and weigh them.

    Returns also the weighted out-of-sample predictions of the labelled rows, and the scores of all rows by the ridge
    regression: out of fold where labelled.
    """
    trend, mixed = _fit_and_weigh(steps, rows, labels, w, chosen)  # whose arrays are given back here
    by_ridge = ridge_scores(steps, trend, rows, mean)
    by_ridge[labels.labeled] = chosen.predictions
    return trend, mixed, by_ridge


def _fit_and_weigh(
    steps: Steps, rows: Any, labels: Labels, w: np.ndarray, chosen: CrossFit
) -> tuple[Trend, np.ndarray]:
    """The forests take the predictions of the ridge regression for the unknown entries of a labelled row."""
    given = labels.labeled_part(rows)
    O = chosen.predictions
    X, Y, known = given
    regression = ridge_regression(X, Y, chosen.ridge, feature_weights=w, known=known)
    forests: list[Any] = []
    predictions = [O]
    if (n_estimators := steps.estimator.n_estimators) > 0 and len(O) >= FEWEST_ROWS:
        with steps.task("forests", "trees", None) as trees_done:
            X = steps.in_memory(X)
            seed = forest_seed(steps.estimator.random_state)
            n_jobs = check_n_jobs(steps.estimator.n_jobs)
            settings = dict[str, Any](random_state=seed, callback=trees_done, n_jobs=n_jobs)
            boosted: list[tuple[Any, np.ndarray]] = []
            if boosts(*Y.shape):
                # first, before there are arrays of the forests: this takes the most memory
                targets = Y if known is None else np.where(known, Y, np.nan)
                rounds = ROUNDS_OF_A_TREE * n_estimators
                boosted = [boost_trees(X, targets, n_rounds=rounds, **settings)]
            targets = Y if known is None else np.where(known, Y, O)
            forests, out_of_bag, left_out = grow_forests(X, targets, n_estimators=n_estimators, **settings)
            for each in out_of_bag:
                each[~left_out] = O[~left_out]
            forests += [trees for trees, _ in boosted]
            predictions += [*out_of_bag, *(scores for _, scores in boosted)]
    weights = learner_weights(predictions, Y, known)
    mixed = weighted_sum(weights, predictions, predictions[-1])
    return Trend(*regression, forests, weights, chosen.ridge, chosen.shrinkage), mixed


def ridge_scores(steps: Any, trend: Any, rows: Any, mean: np.ndarray) -> np.ndarray:
    """The scores of a trend's ridge regression, computed about the mean: a large offset of X costs no digits.

    The trend is a `Trend`, or the estimator that has its attributes.
    """
    with single_threaded_blas():
        scores = steps.in_memory(RowSums.of(rows, checked=True).project(trend.coef_.T, mean))
    scores += trend.coef_ @ mean + trend.intercept_
    return np.asarray(scores)


def trend_scores(steps: Any, trend: Any, rows: Any, by_ridge: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """G of rows, whose scores by the ridge regression are given."""
    forests = trend.forests_
    predictions = [by_ridge]
    if forests:
        shape = (len(forests), by_ridge.shape[1])
        sums = RowSums.of(rows, checked=True)
        found = steps.in_memory(sums.map(_forest_scores, shape, np.float64, forests=forests, n_jobs=n_jobs))
        predictions += list(np.moveaxis(found, 1, 0))
    return weighted_sum(trend.learner_weights_, predictions, np.empty(by_ridge.shape))


def _forest_scores(block: RowSums, forests: list[Trees], n_jobs: int | None) -> np.ndarray:
    """Scores (n_samples, n_forests, n_labels) of rows by each forest."""
    return np.stack(score_by_forests(forests, block.rows, check_n_jobs(n_jobs)), axis=1)


def learner_weights(predictions: Sequence[np.ndarray], Y: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """Weights by which out-of-sample predictions are averaged, between the best ones and equal ones.

    The best weights a minimise |Y - sum_m a_m O_m|^2 over the known entries, with a_m >= 0 and sum a_m = 1.  Since they
    sum to 1, this is a' G a, where G_ij = <Y - O_i, Y - O_j>.  On each face of the simplex, a set of learners whose
    weights are not 0, the minimum solves G a = mu 1, 1'a = 1.  The best of the faces' minima that are not negative is
    the minimum; of equal ones, that of the largest face.

    Squared errors on labels with symmetric flips order predictions as those on the true labels do.  With l
    labelled rows equal weights count min(1/2, 500 / l): the best weights alone lose .3 points of the mean of seven
    measures where 5 % are labelled, and equal ones .1 elsewhere, more where there are thousands of rows.

    Parameters
    ----------
    predictions : sequence of ndarray of shape (n_labeled, n_labels)
        Out-of-sample predictions O_m of M learners.
    Y, known : ndarray of shape (n_labeled, n_labels)
        Given labels, and which of them are known; None: all.

    Returns
    -------
    ndarray of shape (M,)
        At least min(1/2, 500 / l) / M each; they sum to 1.

    Examples
    --------
    The first learner is always right, the second always wrong.

    >>> Y = np.array([[1.0], [0.0]])
    >>> learner_weights([Y, 1 - Y], Y, Y == Y).round(6).tolist()
    [0.75, 0.25]
    """
    M = len(predictions)
    G = np.zeros((M, M))
    for part in row_blocks(Y):
        missed = np.empty((M, *Y[part].shape))
        given = ... if known is None else known[part]
        for each, out in zip(predictions, missed, strict=True):
            np.subtract(Y[part], each[part], out=out)
        missed = np.ascontiguousarray(missed[:, given]).reshape(M, -1)
        G += np.einsum("ik,jk->ij", missed, missed)  # not by BLAS, whose sums depend on the number of threads
    G /= max(float(np.trace(G)), np.finfo(float).tiny)
    best = np.full(M, 1.0 / M)
    least = np.inf
    for size in range(M, 0, -1):
        for face in map(list, combinations(range(M), size)):
            system = np.ones((size + 1, size + 1))
            system[:size, :size] = G[np.ix_(face, face)]
            system[size, size] = 0.0
            a = np.zeros(M)
            a[face] = np.linalg.lstsq(system, np.eye(size + 1)[size], rcond=None)[0][:size]
            loss = float(a @ G @ a)
            if a.min() >= 0 and loss < least - _EQUAL:
                best = a
                least = loss
        if size == M and least < np.inf:  # the minimum of the whole simplex
            break
    equal = min(0.5, 0.5 * MANY_ROWS / len(Y))
    return np.asarray((1.0 - equal) * best + equal / M)


def share_of_errors(residual_weight: float, n_labeled: int) -> float:
    """By how much the errors that are propagated over each of two graphs count: less beyond 1000 labelled rows.

    Of these trees learn more.
    """
    return residual_weight * float(min(1.0, (MANY_ROWS / n_labeled) ** 0.25)) / 2


def weighted_sum(weights: np.ndarray, predictions: Sequence[np.ndarray], out: np.ndarray) -> np.ndarray:
    """The sum of weights times predictions, in their order; ``out`` may be one of these."""
    for part in row_blocks(out):
        out[part] = sum(weight * each[part] for weight, each in zip(weights, predictions, strict=True))
    return out
