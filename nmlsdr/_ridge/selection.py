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
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._checks.arguments import check_count, check_real, check_row_weights
from .._checks.labels import some_unknown
from .._errors import InputError
from .._group_folds import Groups, draw_folds
from .._moments import RowSums, centred_over_known, varies_over_known
from .._process.threads import check_n_jobs, single_threaded_blas, worthwhile_threads
from . import regression
from .folds import Answer, Callback, Fold, FoldRidge, Rounds, predict_once

SHRINKAGE_GRID = (0.0, 0.5, 1.0)
RIDGE_GRID = (0.3, 1.0, 3.0, 10.0, 30.0)

# Above the largest Gram matrix, or with that many partly known rows, the grid is searched on a sample of the rows.
SAMPLED_ROWS = 2000

# Matrices of this size or larger are factored in float32 while pairs are compared, in half the time.  A system is not
# worse conditioned than 1 + n / c; with 20 000 rows and 2000 features the errors moved by 4e-9 of their size, and
# by 1e-7 at most in four tables of 520 to 1500 rows of ten factors.  Pairs whose error is within _NEAR of the least are
# compared again in float64, and the winner's predictions are those of float64.
_SINGLE_FROM = 500
_SINGLE_CONDITION = 1e5
_NEAR = 1e-6

# With so many rows and features, half of the pairs drop out after one fold and half of the others after three: 39 of
# 75 factors.  On 41 tables of 500 to 3000 rows and 500 to 1500 features the same pair wins but for one, whose error
# rises by 1e-5 of itself.  (The best five after two folds: 45 factors, the same. On smaller tables a fold says less.)
_RACE_FROM = 500

# A thread for so many multiplications, of a Cholesky factor six times and of rows with labels: 5 ms.
_WORTH_A_THREAD = 300**3

# Labels of a smaller variance weigh less, or strengths are chosen by hundreds of rare labels that nothing predicts.
# 80 and 400 labels with Zipf's frequencies: precision of the first label +1.4, micro average precision +1.4 and +.6
# points (a table each), Enron +.1 to +.5.  Pooled errors, v as the weight of every label, lost 4 on Birds.
_FULL_VARIANCE = 0.04


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
    ridges : list of FoldRidge
        For each fold the ridge regression of the other rows, if wanted.
    """

    shrinkage: float
    ridge: float
    predictions: np.ndarray
    errors: np.ndarray
    folds: np.ndarray
    ridges: list[FoldRidge]


def cross_fit(
    X: Any,
    Y: Any,
    *,
    shrinkage: Any = SHRINKAGE_GRID,
    ridge: Any = RIDGE_GRID,
    n_splits: int = 5,
    random_state: Any = 0,
    order: np.ndarray | None = None,
    groups: Groups = None,
    known: Any = None,
    keep_ridges: bool = False,
    callback: Callback = None,
    n_jobs: int | None = 1,
) -> CrossFit:
    """Choose the shrinkage of the features and the strength of the ridge by one cross-validation.

    In each fold the training rows alone give kappa (`nmlsdr.projection.feature_weights`; where it is 0 for every
    feature, 1 takes its place), the means, and for w(b) = 1 - b (1 - kappa), S = (X - mean) diag(w)^1/2 the ridge
    regression of the labels on S with lambda = c |S|_F^2 / n_train.  What is compared is

        error(b, c) = weighted mean over the labels that vary of  sum_i (y_i - p_i)^2 / sum_i (y_i - mean y)^2.

    A label weighs min(1, v / .04), v the variance of its n entries: 1 where some 4 % of the rows have it, and less in
    proportion where it is rarer.

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
        Folds; row order[i] goes to fold ``default_rng(random_state).permutation(n)[i] % min(n_splits, n)``.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the folds.
    order : ndarray of shape (n_samples,), default=None
        Row numbers in the order in which folds are drawn; None: as they stand.
    groups : ndarray of shape (n_samples,), default=None
        Rows of one group stay in one fold (`group_folds`, of the rows in the order ``order[permutation]``).
    known : array of shape (n_samples, n_labels), bool, default=None
        The entries of Y that are known, None: all.  Each label is then fitted and compared on its known rows, with
        b and c in common; rows without a known entry may as well be left out.
    keep_ridges : bool, default=False
        Whether to keep the regressions of the winner.
    callback : callable, default=None
        Called with the number of folds that are done after each fold; an exception it raises ends the call.
    n_jobs : int or None, default=1
        Number of threads for rows in memory. None: all cores. It does not change the result.

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
    Where n and D are 500 or more, the pairs run a race: all are tried on one fold, the better half of them on two more
    folds, and the better half of these on the others.  They are compared in float32.
    Where n_train and D are above 3000 the errors are taken on the 2000 rows
    ``order[default_rng(random_state).permutation(n)[:2000]]``; the predictions of all rows then come from one pass
    with the winner by conjugate gradients.  With ``known`` every set of known rows has equations of
    its own, and the errors are taken on these 2000 rows wherever there are more than 3000.

    Examples
    --------
    The label follows the first of ten features; shrinking the others away pays.

    >>> import numpy as np
    >>> from nmlsdr._ridge import cross_fit
    >>> X = np.random.default_rng(0).normal(size=(60, 10))
    >>> fit = cross_fit(X, X[:, :1] > 0)
    >>> fit.shrinkage, fit.ridge
    (1.0, 3.0)
    >>> fit.predictions.shape, fit.errors.shape
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
        warnings.warn("One labelled row cannot be left out, so the first ridge is used; label more rows.", stacklevel=2)
        return CrossFit(grid_b[0], grid_c[0], Y.copy(), errors, np.zeros(1, dtype=np.intp), [])
    permutation = permutation_of(random_state, n_samples)
    order = np.arange(n_samples) if order is None else order
    folds = draw_folds(permutation, n_splits, order, groups)
    mask = some_unknown(known, Y)
    largest = regression.LARGEST_GRAM
    _check_storage(X, mask)
    small = min(X.shape) <= largest if mask is None else n_samples <= largest
    n_threads = _worthwhile_threads(X, Y.shape[1], n_jobs)
    predictions = np.zeros(Y.shape)
    with single_threaded_blas():
        if small:
            rounds = Rounds(X, Y, mask, folds, errors.size, n_threads)
        else:
            rows = np.sort(order[permutation[:SAMPLED_ROWS]])
            known = None if mask is None else mask[rows]
            rounds = Rounds(X.take(rows), Y[rows], known, folds[rows], errors.size, n_threads)
        winner = _search(rounds, grid_b, grid_c, errors, callback)
        if not np.isnan(errors).any():  # the search has called it already
            callback = None
        if small:
            results = rounds.predict(winner, callback, keep_ridges)
        else:
            del rounds  # and its Gram matrices
            results = predict_once(X, Y, mask, folds, winner, n_threads, callback, keep_ridges)
        ridges = []
        for test, answers, regression_of_fold in results:
            for labels, _, scores in answers:
                predictions[np.ix_(test, labels)] = scores[0]
            ridges.append(regression_of_fold)
    return CrossFit(*winner, predictions, errors, folds, [each for each in ridges if each is not None])


def _check_storage(X: RowSums, mask: np.ndarray | None) -> None:
    """Raise for rows of Dask that cannot be fitted block by block; ``mask`` is that of partly known labels."""
    largest = regression.LARGEST_GRAM
    if mask is not None or X.shape[1] > min(largest, X.shape[0] // 2):
        X.in_memory(
            f"The ridge regression needs rows in memory for partly known labels, and for over {largest} or n/2 features"
        )


def _worthwhile_threads(X: RowSums, n_labels: int, n_jobs: int | None) -> int:
    """The threads that the work is worth; 1 for rows of Dask, which has its own."""
    n_threads = check_n_jobs(n_jobs) if type(X) is RowSums else 1
    work = min(regression.LARGEST_GRAM, *X.shape) ** 3 + X.shape[0] * min(X.shape) * n_labels
    return worthwhile_threads(n_threads, work, _WORTH_A_THREAD)


def permutation_of(random_state: Any, n: int) -> np.ndarray:
    """A random order of n rows from a seed, a Generator, a RandomState or None."""
    try:
        if not isinstance(random_state, np.random.RandomState):
            random_state = np.random.default_rng(random_state)
    except (TypeError, ValueError):
        kinds = "None, an integer of at least 0, a Generator or a RandomState"
        raise InputError(f"random_state must be {kinds}, got {random_state!r}.") from None
    return np.asarray(random_state.permutation(n))


class _LabelVariation(NamedTuple):
    """How much the known entries of labels vary.

    Attributes
    ----------
    varies : ndarray of shape (n_labels,), bool
    squares : ndarray of shape (n_labels,)
        The sum of squares of the centred entries.
    weights : ndarray of shape (n_varying_labels,)
        How much the labels that vary weigh in an error.
    """

    varies: np.ndarray
    squares: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, Y: np.ndarray, known: np.ndarray | None) -> _LabelVariation:
        counted = np.ones(Y.shape, dtype=bool) if known is None else known
        varies = varies_over_known(Y, counted)
        squares = (centred_over_known(Y, counted) ** 2).sum(axis=0)
        weights = np.minimum(1.0, squares[varies] / counted[:, varies].sum(axis=0) / _FULL_VARIANCE)
        return cls(varies, squares, weights)


def _search(
    rounds: Rounds, grid_b: tuple[float, ...], grid_c: tuple[float, ...], errors: np.ndarray, callback: Callback
) -> tuple[float, float]:
    """The best pair of strengths; fills ``errors``."""
    if errors.size == 1:
        return grid_b[0], grid_c[0]
    known = rounds.shared.known
    variation = _LabelVariation.of(rounds.Y, known)
    if not variation.varies.any():
        return grid_b[0], grid_c[0]
    race = _Race(rounds, grid_b, grid_c, errors, variation)
    size = min(rounds.shared.X.shape)
    n_folds = len(rounds.folds)
    every = np.ones(errors.shape, dtype=bool)
    ends = (1, 3, n_folds) if size >= _RACE_FROM and n_folds > 3 else (n_folds,)
    if known is None and size >= _SINGLE_FROM and len(rounds.Y) <= _SINGLE_CONDITION * min(grid_c):
        race.run(every, ends, np.float32, callback)
        near = errors <= errors.min() + _NEAR
        if np.count_nonzero(near) > 1:
            race.run(near, (n_folds,), np.float64)
    else:
        race.run(every, ends, np.float64, callback)
    i, j = divmod(int(np.argmin(errors)), len(grid_c))
    return grid_b[i], grid_c[j]


class _Race(NamedTuple):
    """Pairs of strengths that are compared on folds.

    Attributes
    ----------
    rounds : Rounds
    grid_b, grid_c : tuple of float
    errors : ndarray of shape (n_shrinkages, n_ridges)
        Filled for the pairs of a run; inf for pairs that dropped out.
    variation : _LabelVariation
    """

    rounds: Rounds
    grid_b: tuple[float, ...]
    grid_c: tuple[float, ...]
    errors: np.ndarray
    variation: _LabelVariation

    def run(self, pairs: np.ndarray, ends: tuple[int, ...], dtype: type, callback: Callback = None) -> None:
        """Fill the errors of these pairs; at each of the ``ends`` but the last the worse half drops out."""
        varies = self.variation.varies
        residuals = np.zeros((*self.errors.shape, len(varies)))
        for first, end in pairwise((0, *ends)):
            if first:
                pairs = self._better_half(pairs)
            self._add_residuals(residuals, pairs, slice(first, end), dtype, callback)
            shares = residuals[pairs][:, varies] / self.variation.squares[varies]
            self.errors[pairs] = np.average(shares, axis=1, weights=self.variation.weights)

    def _better_half(self, pairs: np.ndarray) -> np.ndarray:
        """Those of the pairs with the smaller errors; the others get inf."""
        worse = self.errors > np.sort(self.errors[pairs])[(np.count_nonzero(pairs) - 1) // 2]
        self.errors[pairs & worse] = np.inf
        return pairs & ~worse

    def _add_residuals(
        self, residuals: np.ndarray, pairs: np.ndarray, folds: slice, dtype: type, callback: Callback
    ) -> None:
        """Add the squared errors of each pair and label on these folds."""
        grid_b = self.grid_b
        grid_c = np.array(self.grid_c)
        ridges = [np.flatnonzero(is_tried) for is_tried in pairs]

        def squared_errors(fold: Fold, i: int) -> Iterator[Answer]:
            return fold.answers(grid_b[i], grid_c[ridges[i]], dtype, compare=True)

        shrinkages = [i for i, numbers in enumerate(ridges) if len(numbers)]
        for _, i, answers in self.rounds.run(squared_errors, folds, shrinkages, callback):
            for labels, j, squares in answers:
                residuals[i, ridges[i][j][:, None], labels] += np.asarray(squares)  # Dask rows give a Dask array


def check_grid(values: Any, name: str) -> tuple[float, ...]:
    """The strengths to try, from a number or a sequence of them: shrinkages in [0, 1], ridges above 0."""
    high, low_open = (1.0, False) if name == "shrinkage" else (math.inf, True)
    strengths = (values,) if isinstance(values, (Real, str)) else values
    if not isinstance(strengths, Iterable):
        raise InputError(f"{name} must be a number or a sequence of numbers, got {values!r}.")
    grid = tuple(check_real(value, name, 0.0, high, low_open=low_open) for value in strengths)
    if not grid:
        raise InputError(f"{name} is empty; give at least one strength.")
    return grid
