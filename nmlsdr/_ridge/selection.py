"""The cross-validation that sets how much to shrink the features (b) and how strong the ridge is (c).

In a cross-validation the weights differ from fold to fold, the rows do not.  Where there are more rows than features,
the Gram matrix of all rows is formed once and that of the tested rows is subtracted from it.  Where there are fewer,
w(b) = (1 - b) + b kappa is linear in b: the Gram matrix of b is (1 - b) K(1) + b K(kappa), so that two serve every b.
Each c has a Cholesky factor of its own, which costs least.  With 500 features, 153 labels and 311 tested rows, five
factors, solves and predictions take 17 ms; a reduction to tridiagonal form that serves all five c takes 17 ms as well,
an eigendecomposition 31.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from .._checks.arguments import check_count, check_real, check_row_weights
from .._checks.labels import some_unknown
from .._errors import InputError
from .._moments import LabelSet, RowSums, centred_over_known, label_sets
from .._process.threads import single_threaded_blas
from ..projection import kappa_of_sets, shrunken_weights
from . import regression
from .regression import about_mean, by_factors, coefficients, from_gram, row_gram, solve_shifted

__all__ = ["RIDGE_GRID", "SHRINKAGE_GRID", "CrossFit", "check_grid", "cross_fit"]

SHRINKAGE_GRID = (0.0, 0.5, 1.0)
RIDGE_GRID = (0.3, 1.0, 3.0, 10.0, 30.0)

# Above the largest Gram matrix, or with that many partly known rows, the grid is searched on a sample of the rows.
SAMPLED_ROWS = 2000

# Predictions of every pair of strengths are kept up to this many numbers (64 MB); above it, the winner's are computed
# once more.
KEPT_PREDICTIONS = 1 << 23


@dataclass(frozen=True)
class CrossFit:
    """What the labelled rows chose, and what they predict of each other.

    Attributes
    ----------
    shrinkage : float
        b.
    ridge : float
        c.
    predictions : ndarray of shape (n_samples, n_labels), float64
        Each row as the others predict it, with b and c: the rows of its fold took no part.  Not clipped.
    errors : ndarray of shape (n_shrinkages, n_ridges)
        The share of the labels' variance that is left, for every pair; NaN where no label varies.
    folds : ndarray of shape (n_samples,), intp
        The fold of each row.
    """

    shrinkage: float
    ridge: float
    predictions: np.ndarray
    errors: np.ndarray
    folds: np.ndarray


def cross_fit(
    X: Any,
    Y: Any,
    *,
    shrinkage: Any = SHRINKAGE_GRID,
    ridge: Any = RIDGE_GRID,
    n_splits: int = 5,
    random_state: Any = 0,
    known: Any = None,
    callback: Callable[[int], object] | None = None,
) -> CrossFit:
    """Choose the shrinkage of the features and the strength of the ridge by one cross-validation.

    In each fold the training rows alone give kappa (`nmlsdr.projection.feature_weights`; where it is 0 for every
    feature, 1 takes its place), the means, and for w(b) = 1 - b (1 - kappa), S = (X - mean) diag(w)^1/2 the ridge
    regression of the labels on S with lambda = c |S|_F^2 / n_train.  What is compared is

        error(b, c) = mean over the labels that vary of  sum_i (y_i - p_i)^2 / sum_i (y_i - mean y)^2.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The labelled rows.  Sparse X is never centred or made dense.
    Y : array or sparse matrix of shape (n_samples, n_labels)
        Their labels.
    shrinkage : float or sequence of float, default=(0, 0.5, 1)
        b, each in [0, 1].
    ridge : float or sequence of float, default=(0.3, 1, 3, 10, 30)
        c, each above 0; relative, so that it does not depend on the scale of X.
    n_splits : int, default=5
        Folds; row i goes to fold ``default_rng(random_state).permutation(n)[i] % min(n_splits, n)``.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the folds.
    known : array of shape (n_samples, n_labels), bool, default=None
        The entries of Y that are known, None: all.  Each label is then fitted and compared on its known rows, with
        b and c in common; rows without a known entry may as well be left out.
    callback : callable, default=None
        Called with the number of folds that are done after each fold; an exception it raises ends the call.

    Returns
    -------
    CrossFit
        The first of the pairs (b, c) with the smallest error, in the order given, and its predictions.  Where no
        label varies, the first pair.

    Raises
    ------
    ValueError
        For NaN or infinity, unequal numbers of rows, or strengths out of range.

    Warns
    -----
    UserWarning
        For one row, which no other row predicts: its prediction is its label.

    Notes
    -----
    Where n_train and D are above 3000 the errors
    are taken on the 2000 rows ``default_rng(random_state).permutation(n)[:2000]``; the predictions of all rows then
    come from one pass with the winner by conjugate gradients.  With ``known`` every set of known rows has equations of
    its own, and the errors are taken on these 2000 rows wherever there are more than 3000.

    Examples
    --------
    The label follows the first of ten features; shrinking the others away pays.

    >>> import numpy as np
    >>> from nmlsdr._ridge import cross_fit
    >>> X = np.random.default_rng(0).normal(size=(60, 10))
    >>> found = cross_fit(X, X[:, :1] > 0)
    >>> found.shrinkage, found.ridge
    (1.0, 3.0)
    >>> found.predictions.shape, found.errors.shape
    ((60, 1), (3, 5))
    """
    X = RowSums.of(X)
    Y = check_row_weights(Y, "Y", X.shape[0])
    grid_b = check_grid(shrinkage, "shrinkage")
    grid_c = check_grid(ridge, "ridge")
    n_splits = check_count(n_splits, "n_splits", least=2)
    n_samples = X.shape[0]
    errors = np.full((len(grid_b), len(grid_c)), np.nan)
    if n_samples == 1:
        warnings.warn(
            "One labelled row cannot be left out for validation: its own label is its prediction, and the first "
            "strengths are used; label more rows.",
            UserWarning,
            stacklevel=2,
        )
        return CrossFit(grid_b[0], grid_c[0], Y.copy(), errors, np.zeros(1, dtype=np.intp))
    order = permutation_of(random_state, n_samples)
    folds = order % min(n_splits, n_samples)
    mask = some_unknown(known, Y)
    largest = regression.LARGEST_GRAM
    if mask is not None or X.shape[1] > min(largest, n_samples // 2):
        X.in_memory(
            "The ridge regression needs rows in memory where labels are partly known, or with more than "
            f"{largest} features, or half as many as labelled rows"
        )
    small = min(X.shape) <= largest if mask is None else n_samples <= largest
    predictions = None
    with single_threaded_blas():
        if small:
            winner, predictions = _search(X, Y, mask, folds, grid_b, grid_c, errors, callback)
        else:
            rows = np.sort(order[:SAMPLED_ROWS])
            known_rows = None if mask is None else mask[rows]
            winner, _ = _search(X.take(rows), Y[rows], known_rows, folds[rows], grid_b, grid_c, errors, callback)
        if predictions is None:
            predictions = np.zeros(Y.shape)
            if not np.isnan(errors).any():  # the search has called it already
                callback = None
            for here, _, _, found in _held_out(X, Y, mask, folds, winner[:1], winner[1:], callback):
                predictions[here] = found
    return CrossFit(*winner, predictions, errors, folds)


def permutation_of(random_state: Any, n: int) -> np.ndarray:
    """A random order of n rows from a seed, a Generator, a RandomState or None."""
    try:
        if not isinstance(random_state, np.random.RandomState):
            random_state = np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(
            f"random_state must be None, an integer of at least 0, a Generator or a RandomState, got {random_state!r}."
        ) from None
    return np.asarray(random_state.permutation(n))


def _search(
    X: RowSums,
    Y: np.ndarray,
    known: np.ndarray | None,
    folds: np.ndarray,
    grid_b: tuple[float, ...],
    grid_c: tuple[float, ...],
    errors: np.ndarray,
    callback: Callable[[int], object] | None,
) -> tuple[tuple[float, float], np.ndarray | None]:
    """The best pair and, if they were kept, its predictions; fills ``errors``."""
    counted = np.ones(Y.shape, dtype=bool) if known is None else known
    varies = np.where(counted, Y, -np.inf).max(axis=0) > np.where(counted, Y, np.inf).min(axis=0)
    if errors.size == 1 or not varies.any():
        return (grid_b[0], grid_c[0]), None
    left = np.zeros((*errors.shape, Y.shape[1]))
    keep = errors.size * Y.size <= KEPT_PREDICTIONS
    kept = np.zeros((*errors.shape, *Y.shape)) if keep else None
    for here, i, j, found in _held_out(X, Y, known, folds, grid_b, grid_c, callback):
        missed = Y[here] - found
        if known is not None:
            missed *= known[here]
        left[i, j, here[1][0]] += np.einsum("ij,ij->j", missed, missed)
        if kept is not None:
            kept[i, j][here] = found
    variation = (centred_over_known(Y, counted) ** 2).sum(axis=0)
    errors[:] = (left[..., varies] / variation[varies]).mean(axis=2)
    i, j = divmod(int(np.argmin(errors)), len(grid_c))
    return (grid_b[i], grid_c[j]), None if kept is None else kept[i, j]


# of b and w(b): what gives the predictions of the tested rows for a lambda
_Learn = Callable[[float, np.ndarray], Callable[[float], np.ndarray]]


class _Shared:
    """What the folds share: the rows, their means and their Gram matrices, each formed where a fold needs it."""

    def __init__(self, X: RowSums) -> None:
        self.X = X

    @cached_property
    def mean(self) -> np.ndarray:
        return self.X.means()

    @cached_property
    def of_features(self) -> np.ndarray:
        """Xc'Xc."""
        return self.X.gram(self.mean)

    @cached_property
    def of_rows(self) -> np.ndarray:
        """K(1)."""
        return row_gram(self.X, np.ones(self.X.shape[1]))


class _Fold:
    """One fold: it learns from the rows of the others.

    No label of a tested row is read, and of its features only sums that cancel.
    """

    def __init__(self, shared: _Shared, Y: np.ndarray, known: np.ndarray | None, test: np.ndarray) -> None:
        self.shared, self.test = shared, test
        self.rows, self.tested, self.Y = shared.X.take(~test), shared.X.take(test), Y[~test]
        self.known = None if known is None else known[~test]
        self.sets = label_sets(self.rows, self.Y, self.known)
        kappa = kappa_of_sets(self.sets, self.rows.shape[1])
        self.kappa = kappa if kappa.any() else np.ones_like(kappa)

    def predictions(
        self, shrinkages: tuple[float, ...], ridges: tuple[float, ...]
    ) -> Iterator[tuple[tuple[np.ndarray, ...], int, int, np.ndarray]]:
        """For each pair of strengths: (indices of entries, number of b, number of c, their predictions)."""
        weights = [shrunken_weights(self.kappa, b) for b in shrinkages]
        if not by_factors(self.sets, self.rows.shape, len(shrinkages) * len(ridges)):
            mean, here = self.rows.means(), np.ix_(self.test, np.arange(self.Y.shape[1]))
            for (i, w), (j, c) in product(enumerate(weights), enumerate(ridges)):
                V, at_mean = coefficients(self.rows, self.Y, self.known, self.sets, c, w, mean)
                yield here, i, j, np.asarray(self.tested.project(V, mean)) + at_mean
            return
        for each in self.sets:
            here = np.ix_(self.test, each.labels)
            learn = self._by_features(each) if each.is_narrow() else self._by_rows(each)
            for i, (b, w) in enumerate(zip(shrinkages, weights, strict=True)):
                level = each.variation(w)
                predict = learn(b, w) if level > 0 else lambda _: np.zeros(1)  # no feature varies
                for j, c in enumerate(ridges):
                    yield here, i, j, predict(c * level) + each.label_mean

    def _by_features(self, each: LabelSet) -> _Learn:
        project = self.tested.projector(each.mean)
        if self.known is None:
            shift = each.mean - self.shared.mean
            gram = self.shared.of_features - self.tested.gram(self.shared.mean)
            gram -= each.count * np.outer(shift, shift)
        else:
            gram = each.rows(self.rows).gram(each.mean)

        def learn(b: float, w: np.ndarray) -> Callable[[float], np.ndarray]:
            solve = from_gram(gram, each.moment, w)
            return lambda level: np.asarray(project(solve(level)))

        return learn

    def _by_rows(self, each: LabelSet) -> _Learn:
        chosen = ~self.test
        if each.known is not None:
            chosen[chosen] = each.known
        centred = each.centred(self.Y)

        def learn(b: float, w: np.ndarray) -> Callable[[float], np.ndarray]:
            gram, tested = about_mean((1.0 - b) * self.shared.of_rows + b * self._of_rows, chosen, self.test)
            return lambda level: np.asarray(tested @ solve_shifted(gram.T, level, centred))

        return learn

    @cached_property
    def _of_rows(self) -> np.ndarray:
        """K(kappa)."""
        return row_gram(self.shared.X, self.kappa)


def _held_out(
    X: RowSums,
    Y: np.ndarray,
    known: np.ndarray | None,
    folds: np.ndarray,
    shrinkages: tuple[float, ...],
    ridges: tuple[float, ...],
    callback: Callable[[int], object] | None,
) -> Iterator[tuple[tuple[np.ndarray, ...], int, int, np.ndarray]]:
    """What each fold predicts: (indices of entries, number of b, number of c, their predictions)."""
    shared = _Shared(X)
    for done, t in enumerate(np.unique(folds)):
        test = folds == t
        yield from _Fold(shared, Y, known, test).predictions(shrinkages, ridges)
        if callback is not None:
            callback(done + 1)


def check_grid(values: Any, name: str) -> tuple[float, ...]:
    """The strengths to try, from a number or a sequence of them: shrinkages in [0, 1], ridges above 0."""
    high, low_open = (1.0, False) if name == "shrinkage" else (math.inf, True)
    given = (values,) if isinstance(values, (Real, str)) else values
    if not isinstance(given, Iterable):
        raise InputError(f"{name} must be a number or a sequence of numbers, got {values!r}.")
    grid = tuple(check_real(value, name, 0.0, high, low_open=low_open) for value in given)
    if not grid:
        raise InputError(f"{name} is empty; give at least one strength.")
    return grid
