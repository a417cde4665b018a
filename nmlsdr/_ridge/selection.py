"""The cross-validation that sets how much to shrink the features (b) and how strong the ridge is (c).

In a cross-validation the weights differ from fold to fold, the rows do not.  Where there are more rows than features,
the Gram matrix of all rows is formed once and that of the tested rows is subtracted from it.  Where there are fewer,
w(b) = (1 - b) + b kappa is linear in b: the Gram matrix of b is (1 - b) K(1) + b K(kappa), so that two serve every b.
The squared errors of the tested rows follow from |Y|^2, X'Y and X'X of these rows, so that only the winner predicts
them; sparse rows and few rows are predicted for every pair, which is faster there.
Each c has a Cholesky factor of its own, which costs least.  With 500 features, 153 labels and 311 tested
rows, five factors, solves and predictions take 17 ms; a reduction to tridiagonal form that serves all five c takes
17 ms as well, an eigendecomposition 31.  Lanczos vectors that let the factor of one c serve the others in float32
were removed: they saved .03 to .18 of the cross-validation, and nothing that could be measured of a whole fit.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import blas

from .._checks.arguments import check_count, check_real, check_row_weights
from .._checks.labels import some_unknown
from .._errors import InputError
from .._moments import LabelSet, RowSums, centred_over_known, label_sets
from .._process.threads import single_threaded_blas
from ..projection import kappa_of_sets, shrunken_weights
from . import regression
from .regression import by_factors, coefficients, from_gram, solve_shifted

__all__ = ["RIDGE_GRID", "SHRINKAGE_GRID", "CrossFit", "check_grid", "cross_fit"]

SHRINKAGE_GRID = (0.0, 0.5, 1.0)
RIDGE_GRID = (0.3, 1.0, 3.0, 10.0, 30.0)

# Above the largest Gram matrix, or with that many partly known rows, the grid is searched on a sample of the rows.
SAMPLED_ROWS = 2000

# Matrices of this size or larger are factored in float32 while pairs are compared, in half the time.  A system is not
# worse conditioned than 1 + n / c; with 20 000 rows and 2000 features the errors moved by 4e-9 of their size.  Pairs
# whose error is within _NEAR of the least are compared again in float64, and the winner's predictions are those of
# float64.
_SINGLE_FROM = 500
_SINGLE_CONDITION = 1e5
_NEAR = 1e-5

# With that many times as many tested rows as features, errors come from sums over these rows, not from predictions.
SUMS_FROM = 8

# What one fold or one pass computes and another needs is kept up to this many numbers (512 MB).
_KEPT_NUMBERS = 1 << 26


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
    Where n and D are 500 or more, pairs that are not among the best are compared in float32.
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
            "One labelled row cannot be left out for validation. So the strengths of the regularisation are not "
            "compared, and the first of them are used; label more rows.",
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
    shared, predictions = _Shared(X, mask), np.zeros(Y.shape)
    with single_threaded_blas():
        sample, rows = shared, np.arange(n_samples)
        if not small:
            rows = np.sort(order[:SAMPLED_ROWS])
            sample = _Shared(X.take(rows), None if mask is None else mask[rows])
        winner = _search(sample, Y[rows], folds[rows], grid_b, grid_c, errors, callback)
        if not np.isnan(errors).any():  # the search has called it already
            callback = None
        for fold in _each_fold(shared, Y, folds, callback):
            for labels, _, _, found in fold.answers(winner[:1], np.array(winner[1:])):
                predictions[np.ix_(fold.test, labels)] = found[0]
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
    shared: _Shared,
    Y: np.ndarray,
    folds: np.ndarray,
    grid_b: tuple[float, ...],
    grid_c: tuple[float, ...],
    errors: np.ndarray,
    callback: Callable[[int], object] | None,
) -> tuple[float, float]:
    """The best pair of strengths; fills ``errors``."""
    X, known = shared.X, shared.known
    counted = np.ones(Y.shape, dtype=bool) if known is None else known
    varies = np.where(counted, Y, -np.inf).max(axis=0) > np.where(counted, Y, np.inf).min(axis=0)
    if errors.size == 1 or not varies.any():
        return grid_b[0], grid_c[0]
    variation = (centred_over_known(Y, counted) ** 2).sum(axis=0)

    def compare(b: np.ndarray, c: np.ndarray, dtype: type, callback: Callable[[int], object] | None = None) -> None:
        """Fill the errors of the pairs of these strengths."""
        left = np.zeros((len(b), len(c), Y.shape[1]))
        shrinkages, ridges = tuple(grid_b[i] for i in b), np.array(grid_c)[c]
        for fold in _each_fold(shared, Y, folds, callback):
            for labels, i, j, missed in fold.answers(shrinkages, ridges, dtype, compare=True):
                left[i][j, labels] += missed
        errors[np.ix_(b, c)] = (left[..., varies] / variation[varies]).mean(axis=2)

    b, c = np.arange(len(grid_b)), np.arange(len(grid_c))
    if known is None and min(X.shape) >= _SINGLE_FROM and len(Y) <= _SINGLE_CONDITION * min(grid_c):
        compare(b, c, np.float32, callback)
        near = errors <= errors.min() + _NEAR
        b, c, callback = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0)), None
    compare(b, c, np.float64, callback)
    i, j = divmod(int(np.argmin(errors[np.ix_(b, c)])), len(c))
    return grid_b[b[i]], grid_c[c[j]]


# labels, number of b, numbers of c; of each c the predictions of the tested rows, or the sum of squared errors of each
# label
_Answer = tuple[np.ndarray, int, slice, Any]
# of b, w(b) and several lambda: that of the answer
_Solve = Callable[[float, np.ndarray, np.ndarray], Any]


class _Shared:
    """What the folds share: the rows, their means and their Gram matrices, each formed where a fold needs it."""

    def __init__(self, X: RowSums, known: np.ndarray | None) -> None:
        self.X, self.known = X, known
        self._kept: dict[Any, Any] = {}
        self._room: float = _KEPT_NUMBERS

    def once(self, key: Any, make: Callable[[], Any], size: float) -> Any:
        """What ``make`` gives, kept under ``key`` if there is room for this many numbers."""
        if key in self._kept:
            return self._kept[key]
        made = make()
        if size <= self._room:
            self._room -= size
            self._kept[key] = made
        return made

    @cached_property
    def mean(self) -> np.ndarray:
        return self.X.means()

    def of_rows(self, key: bytes, w: np.ndarray) -> np.ndarray:
        """K(w), kept for the fold of this key."""
        return self.once((key, "K"), lambda: self.X.row_gram(w), self.X.shape[0] ** 2)

    def of_features(self, label: int) -> np.ndarray:
        """Xc'Xc of the rows where this label is known, Xc about the mean of all rows."""
        label = 0 if self.known is None else label

        def gram() -> np.ndarray:
            return (self.X if self.known is None else self.X.take(self.known[:, label])).gram(self.mean)

        return self.once(label, gram, self.X.shape[1] ** 2)


class _Fold:
    """One fold: it learns from the rows of the others.

    The labels of the tested rows are only compared with what is predicted, and of their features only sums that
    cancel are read before.
    """

    def __init__(self, shared: _Shared, Y: np.ndarray, test: np.ndarray) -> None:
        self.shared, self.test, self._Y = shared, test, Y
        self._key = test.tobytes()
        self.known = None if shared.known is None else shared.known[~test]
        n_features = shared.X.shape[1]
        self.sets = shared.once(
            self._key, lambda: label_sets(self.rows, self.Y, self.known), n_features * (Y.shape[1] + 2)
        )
        kappa = kappa_of_sets(self.sets, n_features)
        self.kappa = kappa if kappa.any() else np.ones_like(kappa)

    @cached_property
    def rows(self) -> RowSums:
        return self.shared.X.take(~self.test)

    @cached_property
    def Y(self) -> np.ndarray:
        return self._Y[~self.test]

    @cached_property
    def tested(self) -> RowSums:
        return self.shared.X.take(self.test)

    def answers(
        self, shrinkages: tuple[float, ...], ridges: np.ndarray, dtype: type = np.float64, compare: bool = False
    ) -> Iterator[_Answer]:
        """The predictions of the tested rows; with ``compare`` the errors in their place."""
        weights = [shrunken_weights(self.kappa, b) for b in shrinkages]
        every = np.arange(self._Y.shape[1])
        if not by_factors(self.sets, (len(self.Y), self.shared.X.shape[1]), len(shrinkages) * len(ridges)):
            mean = self.rows.means()
            for (i, w), (j, c) in product(enumerate(weights), enumerate(ridges)):
                V, at_mean = coefficients(self.rows, self.Y, self.known, self.sets, c, w, mean)
                found = np.asarray(self.tested.project(V, mean))[None] + at_mean
                yield every, i, slice(j, j + 1), self._missed(every, found) if compare else found
            return
        for each in self.sets:

            def answer(found: np.ndarray, each: LabelSet = each) -> np.ndarray:
                found = found + each.label_mean
                return self._missed(each.labels, found) if compare else found

            narrow = each.is_narrow()
            solve = self._by_features(each, dtype, compare, answer) if narrow else self._by_rows(each, dtype, answer)
            for i, (b, w) in enumerate(zip(shrinkages, weights, strict=True)):
                level = each.variation(w)
                nothing = np.zeros((len(ridges), 1, 1))
                yield each.labels, i, slice(None), solve(b, w, ridges * level) if level > 0 else answer(nothing)

    def _missed(self, labels: np.ndarray, found: np.ndarray) -> np.ndarray:
        """The sums of the squared errors of predictions."""
        missed = self._Y[np.ix_(self.test, labels)] - found
        if self.shared.known is not None:
            missed *= self.shared.known[np.ix_(self.test, labels)]
        return np.einsum("cij,cij->cj", missed, missed)

    def _by_features(
        self, each: LabelSet, dtype: type, compare: bool, answer: Callable[[np.ndarray], np.ndarray]
    ) -> _Solve:
        label, n_features = each.labels[0], len(each.mean)
        tested = self.tested if self.shared.known is None else self.tested.take(self._known_tested(each))
        by_sums = not tested.is_sparse and tested.shape[0] >= SUMS_FROM * n_features
        of_tested, of_training = self.shared.once(
            (self._key, label), lambda: self._grams(each, tested, by_sums), (1 + by_sums) * n_features**2
        )
        of_training = of_training.astype(dtype, copy=False)
        if compare and by_sums:
            missed = self._error_sums(each, tested, of_tested)
            return lambda _, w, levels: missed(from_gram(of_training, each.moment, w, levels))
        return lambda _, w, levels: answer(
            np.array([self.tested.project(V, each.mean) for V in from_gram(of_training, each.moment, w, levels)])
        )

    def _known_tested(self, each: LabelSet) -> Any:
        """Which of the tested rows these labels are known on."""
        return slice(None) if self.shared.known is None else self.shared.known[self.test, each.labels[0]]

    def _grams(self, each: LabelSet, tested: RowSums, both: bool) -> tuple[np.ndarray | None, np.ndarray]:
        """Xc'Xc where these labels are known, by lower triangles.

        Of the tested rows about the mean of all rows, and of the training rows about their own mean.
        """
        origin = self.shared.mean
        of_tested = tested.gram(origin)
        of_training = self.shared.of_features(each.labels[0]) - of_tested
        of_training = blas.dsyr(-each.count, each.mean - origin, a=of_training, lower=1, overwrite_a=1)
        return of_tested if both else None, of_training

    def _error_sums(self, each: LabelSet, tested: RowSums, gram: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """V -> the sums of the squared errors |Y - X V|^2 of each label, from |Y|^2, X'Y and X'X.

        X and Y are the tested rows minus the means of the training rows; ``gram`` is about the mean of all rows.
        """
        Y = self._Y[self.test][self._known_tested(each)][:, each.labels] - each.label_mean
        origin = self.shared.mean
        shift = each.mean - origin
        about = tested.cross_moment(np.column_stack([Y, np.ones(len(Y))]), origin)
        moment, sums = about[:, :-1] - np.outer(shift, Y.sum(axis=0)), about[:, -1]
        lower = blas.dsyr2(-1.0, shift, sums - 0.5 * len(Y) * shift, a=gram, lower=1)
        gram = lower + np.tril(lower, -1).T
        squares = np.einsum("ij,ij->j", Y, Y)

        def missed(V: np.ndarray) -> np.ndarray:
            fitted = np.einsum("cij,cij->cj", V, gram @ V - 2.0 * moment)
            return np.maximum(squares + fitted, 0.0)

        return missed

    def _by_rows(self, each: LabelSet, dtype: type, answer: Callable[[np.ndarray], np.ndarray]) -> _Solve:
        chosen = ~self.test
        if each.known is not None:
            chosen[chosen] = each.known

        def predictions(b: float, levels: np.ndarray) -> np.ndarray:
            """K A + 1 mu', where (K + lambda I) A = Yc - 1 mu' and 1'A = 0."""
            parts = ((1.0 - b, b"", np.ones_like(self.kappa)), (b, self._key, self.kappa))
            grams = (np.multiply(share, self.shared.of_rows(key, w), dtype=dtype) for share, key, w in parts if share)
            K, Yc = reduce(operator.iadd, grams).T, each.centred(self.Y)
            tested = (K[self.test] + K.T[self.test])[:, chosen]  # in one of the two these entries are 0
            A = solve_shifted(K[chosen].compress(chosen, axis=1).T, levels, np.column_stack([Yc, np.ones(len(Yc))]))
            sums, found = A.sum(axis=1, keepdims=True), tested @ A
            return np.asarray(found[..., :-1] + (1.0 - found[..., -1:]) * (sums[..., :-1] / sums[..., -1:]))

        def solve(b: float, _: np.ndarray, levels: np.ndarray) -> np.ndarray:
            key = self._key, each.labels[0], b, levels.tobytes()
            size = len(levels) * self._Y.size if dtype == np.float64 else math.inf  # the winner's are wanted again
            return answer(self.shared.once(key, lambda: predictions(b, levels), size))

        return solve


def _each_fold(
    shared: _Shared, Y: np.ndarray, folds: np.ndarray, callback: Callable[[int], object] | None
) -> Iterator[_Fold]:
    for done, t in enumerate(np.unique(folds)):
        yield _Fold(shared, Y, folds == t)
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
