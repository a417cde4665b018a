"""The trend of ResidualPropagation: its learners, and how much each of them counts.

A learner is a class of `LEARNERS`: `Learner` says what it needs to have.  The trend is a list of fitted learners with
one weight each.  Model files keep a learner by its name and its arrays, so that nothing else counts or names them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .._boosting import Limits, boost_trees
from .._checks.labels import Labels
from .._errors import InputError
from .._group_folds import labeled_groups
from .._moments import RowSums, row_blocks
from .._process.threads import check_n_jobs, single_threaded_blas
from .._ridge import CrossFit
from .._row_order import RowOrder
from .._tree_checks import arrays_of, checked_trees
from ..forest import (
    KINDS,
    MOST_LABELS,
    BoostedTrees,
    Forest,
    Trees,
    score_by_forests,
)
from ._learner import Learner, NewRows, Training, check_arrays
from ._linked import LinkedRidge, NewtonStep
from ._steps import Steps

MANY_ROWS = 1000  # labelled rows; what is measured to pay beyond, and only there, begins at this number

ROUNDS_OF_A_TREE = 5  # most rounds of boosting for each tree of a forest: 500 by default, of which few fits need half
_EQUAL = 1e-12  # losses that differ by less, of a sum of 1, are equal but for rounding


@dataclass(eq=False)
class RidgeRegression(Learner):
    """coef x + intercept, with the strengths that cross-validation chose; always the first learner."""

    coef: np.ndarray
    intercept: np.ndarray

    name = "ridge regression"

    @staticmethod
    def applies(training: Training) -> bool:
        return True

    @classmethod
    def fit(cls, training: Training) -> tuple[Self, np.ndarray]:
        return cls(*training.ridge), training.cross.predictions

    def scores(self, new: NewRows) -> np.ndarray:
        return new.ridge_scores

    def arrays(self) -> dict[str, Any]:
        return vars(self)

    @classmethod
    def checked(cls, arrays: Mapping[str, Any], n_features: int, n_labels: int) -> Self:
        check_arrays(arrays, {"coef": (n_labels, n_features), "intercept": (n_labels,)})
        return cls(**arrays)


@dataclass(eq=False)
class TreesLearner(Learner):
    """A learner of trees, which `nmlsdr.forest` checks and scores."""

    trees: Trees

    kind: ClassVar[type[Trees]]

    def scores(self, new: NewRows) -> np.ndarray:
        return score_by_forests([self.trees], new.rows, check_n_jobs(new.n_jobs))[0]

    def arrays(self) -> dict[str, Any]:
        return arrays_of(self.trees)

    @classmethod
    def checked(cls, arrays: Mapping[str, Any], n_features: int, n_labels: int) -> Self:
        return cls(checked_trees(cls.kind, arrays, n_features, n_labels))


class GrownForest(TreesLearner):
    """One of the two forests, which are grown together."""

    kind = Forest

    @staticmethod
    def applies(training: Training) -> bool:
        return training.has_trees

    @classmethod
    def fit(cls, training: Training) -> tuple[Self, np.ndarray]:
        forest, out_of_bag = training.forests[cls.name]
        return cls(forest), out_of_bag


class ExtraTrees(GrownForest):
    """Extremely randomised trees."""

    name = KINDS[0]


class RandomForest(GrownForest):
    """A random forest."""

    name = KINDS[1]


class Boosting(TreesLearner):
    """Boosted trees for all labels at once."""

    name = "boosted trees"
    kind = BoostedTrees

    @staticmethod
    def applies(training: Training) -> bool:
        return training.has_trees and boosts(*training.Y.shape)

    @classmethod
    def fit(cls, training: Training) -> tuple[Self, np.ndarray]:
        targets = training.Y if training.known is None else np.where(training.known, training.Y, np.nan)
        limits = Limits(ROUNDS_OF_A_TREE * training.steps.estimator.n_estimators, training.least_error)
        with training.steps.task("boosted trees", "rounds", None) as rounds_done:
            trees, out_of_fold = boost_trees(training.rows, targets, limits=limits, **training.settings(rounds_done))
        return cls(trees), out_of_fold


#: In the order in which their scores are added.
LEARNERS: tuple[type[Learner], ...] = (RidgeRegression, ExtraTrees, RandomForest, Boosting, LinkedRidge, NewtonStep)


def boosts(n_labeled: int, n_labels: int) -> bool:
    """Whether there are boosted trees."""
    return n_labeled > MANY_ROWS and n_labels <= MOST_LABELS


def has_links(n_labeled: int, single: bool) -> bool:
    """Whether there are learners with a link of each label, unless ``single``: classes, of which each row has one."""
    return n_labeled > MANY_ROWS and not single


class Trend(NamedTuple):
    """The learners, their weights and the settings that cross-validation chose, by the names of attributes."""

    learners_: list[Any]
    learner_weights_: np.ndarray
    ridge_: float
    shrinkage_: float


def fit_trend(
    steps: Steps, rows: Any, labels: Labels, order: RowOrder, w: np.ndarray, chosen: CrossFit, mean: np.ndarray
) -> tuple[Trend, np.ndarray, np.ndarray]:
    """Fit the learners to the labelled rows and weigh them.

    Returns also the weighted out-of-sample predictions of the labelled rows, and the scores of all rows by the ridge
    regression: out of fold where labelled.
    """
    trend, mixed = _fit_and_weigh(steps, rows, labels, order, w, chosen)  # whose arrays are given back here
    by_ridge = ridge_scores(steps, trend, rows, mean)
    by_ridge[labels.labeled] = chosen.predictions
    return trend, mixed, by_ridge


def _fit_and_weigh(
    steps: Steps, rows: Any, labels: Labels, order: RowOrder, w: np.ndarray, chosen: CrossFit
) -> tuple[Trend, np.ndarray]:
    X, Y, known = labels.labeled_part(rows)
    groups = labeled_groups(steps.groups, labels.labeled)
    training = Training(
        steps=steps,
        sums=X,
        Y=Y,
        known=known,
        has_links=has_links(len(Y), labels.single),
        order=labels.labeled_order(order),
        groups=groups,
        feature_weights=w,
        cross=chosen,
    )
    pairs = {}
    # The last one first: boosted trees take the most memory, while there are no arrays of forests; and they need the
    # errors of the learners with links.
    for kind in reversed(LEARNERS):
        if kind.applies(training):
            pairs[kind] = kind.fit(training)
            training.least_error = min(training.least_error, squared_error(pairs[kind][1], Y, known))
    kinds = [kind for kind in LEARNERS if kind in pairs]
    learners = [pairs[kind][0] for kind in kinds]
    predictions = [pairs[kind][1] for kind in kinds]
    weights = learner_weights(predictions, Y, known)
    mixed = weighted_sum(weights, predictions, predictions[-1])
    return Trend(learners, weights, chosen.ridge, chosen.shrinkage), mixed


def ridge_scores(steps: Any, trend: Any, rows: Any, mean: np.ndarray) -> np.ndarray:
    """The scores of a trend's ridge regression, computed about the mean: a large offset of X costs no digits.

    The trend is a `Trend`, or the estimator that has its attributes.
    """
    ridge = trend.learners_[0]
    with single_threaded_blas():
        scores = steps.in_memory(RowSums.of(rows, checked=True).project(ridge.coef.T, mean))
    scores += ridge.coef @ mean + ridge.intercept
    return np.asarray(scores)


def trend_scores(trend: Any, rows: Any, by_ridge: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """G of rows in memory, whose scores by the ridge regression are given."""
    new = NewRows(rows, by_ridge, n_jobs)
    predictions = [learner.scores(new) for learner in trend.learners_]
    return weighted_sum(trend.learner_weights_, predictions, np.empty(by_ridge.shape))


def check_learners(names: Sequence[str]) -> list[type[Learner]]:
    """The classes of the learners with these names; `InputError` if no fit gives such a list."""
    by_name = {kind.name: kind for kind in LEARNERS}
    ordered = [name for name in by_name if name in names]
    if list(names) != ordered or not names or names[0] != RidgeRegression.name:
        raise InputError(f"the learners {', '.join(map(repr, names))} are not those of a fit")
    return [by_name[name] for name in names]


def squared_error(O: np.ndarray, Y: np.ndarray, known: np.ndarray | None) -> float:
    """The sum of squared errors of predictions over the known entries; None: all are known."""
    error = 0.0
    for part in row_blocks(Y):
        gaps = Y[part] - O[part]
        error += float(np.square(gaps if known is None else gaps[known[part]]).sum())
    return error


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
        known_part = ... if known is None else known[part]
        for each, out in zip(predictions, missed, strict=True):
            np.subtract(Y[part], each[part], out=out)
        missed = np.ascontiguousarray(missed[:, known_part]).reshape(M, -1)
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
