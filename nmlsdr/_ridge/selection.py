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

import operator
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, product
from typing import Any

import numpy as np

from .._checks.arguments import check_count, check_row_weights
from .._checks.labels import some_unknown
from .._errors import InputError
from .._group_folds import Groups, group_folds
from .._moments import RowSums, centred_over_known
from .._process.threads import check_n_jobs, in_threads, single_threaded_blas, worthwhile_threads
from . import regression
from .folds import Answer, Fold, Shared
from .grid import check_grid
from .newton import FoldRidge

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


_Callback = Callable[[int], object] | None


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
    callback: _Callback = None,
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
    if groups is None:
        folds = np.empty(n_samples, dtype=np.intp)
        folds[order] = permutation % min(n_splits, n_samples)
    else:
        folds = group_folds(groups, n_splits, order[permutation])
    mask = some_unknown(known, Y)
    largest = regression.LARGEST_GRAM
    if mask is not None or X.shape[1] > min(largest, n_samples // 2):
        X.in_memory(
            f"The ridge regression needs rows in memory for partly known labels, and for over {largest} or n/2 features"
        )
    small = min(X.shape) <= largest if mask is None else n_samples <= largest
    n_threads = check_n_jobs(n_jobs) if type(X) is RowSums else 1
    work = min(largest, *X.shape) ** 3 + X.shape[0] * min(X.shape) * Y.shape[1]
    n_threads = worthwhile_threads(n_threads, work, _WORTH_A_THREAD)
    predictions = np.zeros(Y.shape)
    with single_threaded_blas():
        if small:
            rounds = searched = _Rounds(X, Y, mask, folds, errors.size, n_threads)
        else:
            rows = np.sort(order[permutation[:SAMPLED_ROWS]])
            known = None if mask is None else mask[rows]
            searched = _Rounds(X.take(rows), Y[rows], known, folds[rows], errors.size, n_threads)
        winner = _search(searched, grid_b, grid_c, errors, callback)
        if not np.isnan(errors).any():  # the search has called it already
            callback = None
        if not small:
            rounds = _Rounds(X, Y, mask, folds, 1, n_threads)
        b = winner[0]
        c = np.array(winner[1:])
        rounds.keep_ridges(b, keep_ridges)
        for t, _, answers in rounds.run(lambda fold, _: fold.answers(b, c), slice(None), [0], callback):
            for labels, _, scores in answers:
                predictions[np.ix_(rounds.folds[t].test, labels)] = scores[0]
    ridges = [fold.ridge for fold in rounds.folds if fold.ridge is not None]
    return CrossFit(*winner, predictions, errors, folds, ridges)


def permutation_of(random_state: Any, n: int) -> np.ndarray:
    """A random order of n rows from a seed, a Generator, a RandomState or None."""
    try:
        if not isinstance(random_state, np.random.RandomState):
            random_state = np.random.default_rng(random_state)
    except (TypeError, ValueError):
        kinds = "None, an integer of at least 0, a Generator or a RandomState"
        raise InputError(f"random_state must be {kinds}, got {random_state!r}.") from None
    return np.asarray(random_state.permutation(n))


def _search(
    rounds: _Rounds, grid_b: tuple[float, ...], grid_c: tuple[float, ...], errors: np.ndarray, callback: _Callback
) -> tuple[float, float]:
    """The best pair of strengths; fills ``errors``."""
    X = rounds.shared.X
    Y = rounds.Y
    known = rounds.shared.known
    counted = np.ones(Y.shape, dtype=bool) if known is None else known
    varies = np.where(counted, Y, -np.inf).max(axis=0) > np.where(counted, Y, np.inf).min(axis=0)
    if errors.size == 1 or not varies.any():
        return grid_b[0], grid_c[0]
    variation = (centred_over_known(Y, counted) ** 2).sum(axis=0)
    weights = np.minimum(1.0, variation[varies] / counted[:, varies].sum(axis=0) / _FULL_VARIANCE)
    n_folds = len(rounds.folds)

    def compare(pairs: np.ndarray, ends: tuple[int, ...], dtype: type, callback: _Callback = None) -> None:
        """Fill the errors of these pairs; at each of the ``ends`` but the last the worse half drops out, with inf."""
        residuals = np.zeros((*errors.shape, Y.shape[1]))
        for first, end in pairwise((0, *ends)):
            if first:
                behind = errors > np.sort(errors[pairs])[(np.count_nonzero(pairs) - 1) // 2]
                errors[pairs & behind] = np.inf
                pairs = pairs & ~behind
            ridges = [np.flatnonzero(tried) for tried in pairs]

            def missed(fold: Fold, i: int, c: list[np.ndarray] = ridges) -> Iterator[Answer]:
                return fold.answers(grid_b[i], np.array(grid_c)[c[i]], dtype, compare=True)

            tried = [i for i, each in enumerate(ridges) if len(each)]
            for _, i, answers in rounds.run(missed, slice(first, end), tried, callback):
                for labels, j, squares in answers:
                    residuals[i, ridges[i][j][:, None], labels] += np.asarray(squares)  # Dask rows give a Dask array
            errors[pairs] = np.average(residuals[pairs][:, varies] / variation[varies], axis=1, weights=weights)

    every = np.ones(errors.shape, dtype=bool)
    ends = (1, 3, n_folds) if min(X.shape) >= _RACE_FROM and n_folds > 3 else (n_folds,)
    if known is None and min(X.shape) >= _SINGLE_FROM and len(Y) <= _SINGLE_CONDITION * min(grid_c):
        compare(every, ends, np.float32, callback)
        near = errors <= errors.min() + _NEAR
        if np.count_nonzero(near) > 1:
            compare(near, (n_folds,), np.float64)
    else:
        compare(every, ends, np.float64, callback)
    i, j = divmod(int(np.argmin(errors)), len(grid_c))
    return grid_b[i], grid_c[j]


class _Rounds:
    """The folds of some rows, and the threads that compute them."""

    def __init__(
        self, X: RowSums, Y: np.ndarray, known: np.ndarray | None, folds: np.ndarray, n_pairs: int, n_threads: int
    ) -> None:
        self.shared = Shared(X, known)
        self.Y = Y
        self._n_threads = n_threads
        tests = [folds == t for t in np.unique(folds)]
        self.folds = list(in_threads(lambda test: Fold(self.shared, Y, test, n_pairs), tests, n_threads))
        if all(fold.of_tested is not None for fold in self.folds):
            sums = [fold.of_tested for fold in self.folds]
            self.shared.once(0, lambda: reduce(operator.iadd, sums, np.zeros_like(sums[0])), X.shape[1] ** 2)

    def keep_ridges(self, shrinkage: float, wanted: bool) -> None:
        """Let every fold keep its regression, if wanted, in the next run."""
        for fold in self.folds if wanted else ():
            fold.keep_ridge(shrinkage)

    def run(
        self, answers: Callable[[Fold, int], Iterator[Answer]], folds: slice, numbers: list[int], callback: _Callback
    ) -> Iterator[tuple[int, int, list[Answer]]]:
        """The answers of these folds for each of the numbers, in this order: (fold, number, answers)."""
        tasks = list(product(range(len(self.folds))[folds], numbers))
        results = in_threads(lambda task: list(answers(self.folds[task[0]], task[1])), tasks, self._n_threads)
        for (t, i), each in zip(tasks, results, strict=True):
            yield t, i, each
            if callback is not None and i == numbers[-1]:
                callback(t + 1)
