"""Ridge regression of the labels on shrunken features, and the cross-validation that sets both strengths.

`cross_fit` chooses how much to shrink the features (b) and how strong the ridge is (c) on the labelled rows, and
keeps what it predicted for rows that it had not seen.  `ridge_regression` is the fit on all of them.  How the
equations are solved stands in `_normal_equations`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from ._errors import InputError
from ._labels import check_mask
from ._masked_ridge import MaskedFolds, masked_coefficients
from ._moments import centred_over_known, column_means
from ._normal_equations import DualFolds, Fold, Folds, PrimalFolds, SweepFolds, coefficients
from ._remote import RemoteRows
from ._threads import check_n_jobs, single_threaded_blas
from ._validation import check_count, check_real, check_row_weights, check_rows

__all__ = ["RIDGE_GRID", "SHRINKAGE_GRID", "CrossFit", "cross_fit", "ridge_regression"]

SHRINKAGE_GRID = (0.0, 0.5, 1.0)
RIDGE_GRID = (0.3, 1.0, 3.0, 10.0, 30.0)

# The largest Gram matrix to form, 72 MB.  Above it the grid is searched on a sample of the rows, whose Gram matrix is
# small again, and what all rows are needed for is solved by conjugate gradients.
LARGEST_GRAM = 3000
SAMPLED_ROWS = 2000

# The smaller side of X from which threads pay.
WORTH_THREADS = 100

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
    n_jobs: int | None = None,
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
    random_state : int, Generator or None, default=0
        Seed of the folds.
    known : array of shape (n_samples, n_labels), bool, default=None
        The entries of Y that are known, None: all.  Each label is then fitted and compared on its known rows, with
        b and c in common; rows without a known entry may as well be left out.
    callback : callable, default=None
        Called with the number of folds that are done after each fold; an exception it raises ends the call.
    n_jobs : int or None, default=None
        Threads, each with folds of its own; None: all cores that OMP_NUM_THREADS, affinity and cgroup allow.  Their
        number changes no bit.

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
    The smaller of n_train and D decides which normal equations are solved, and where both are above 3000 the errors
    are taken on the 2000 rows ``default_rng(random_state).permutation(n)[:2000]``; the predictions of all rows then
    come from one pass with the winner by conjugate gradients.  With ``known`` every set of known rows has equations of
    its own, and the errors are taken on these 2000 rows wherever there are more than 3000.

    Examples
    --------
    The label follows the first of ten features; shrinking the others away pays.

    >>> import numpy as np
    >>> from nmlsdr.ridge import cross_fit
    >>> X = np.random.default_rng(0).normal(size=(60, 10))
    >>> found = cross_fit(X, X[:, :1] > 0)
    >>> found.shrinkage, found.ridge
    (1.0, 3.0)
    >>> found.predictions.shape, found.errors.shape
    ((60, 1), (3, 5))
    """
    X = check_rows(X)
    Y = check_row_weights(Y, "Y", X.shape[0])
    grid_b = check_grid(shrinkage, "shrinkage")
    grid_c = check_grid(ridge, "ridge")
    n_splits = check_count(n_splits, "n_splits", least=2)
    n_threads = check_n_jobs(n_jobs)
    n_samples = X.shape[0]
    errors = np.full((len(grid_b), len(grid_c)), np.nan)
    if n_samples == 1:
        warnings.warn(
            "One labelled row cannot be held out: its label is its own prediction and the first strengths are "
            "taken; label more rows.",
            UserWarning,
            stacklevel=2,
        )
        return CrossFit(grid_b[0], grid_c[0], Y.copy(), errors, np.zeros(1, dtype=np.intp))
    order = _generator(random_state).permutation(n_samples)
    folds = order % min(n_splits, n_samples)
    mask = _some_unknown(known, Y)
    whole: Folds
    searched: Folds
    if isinstance(X, RemoteRows) and (mask is not None or X.shape[1] > min(LARGEST_GRAM, n_samples // 2)):
        raise InputError(
            "The ridge regression needs rows in memory where labels are partly known, or with more than "
            f"{LARGEST_GRAM} features, or half as many as labelled rows ({n_samples} x {X.shape[1]}); pass X.compute()."
        )
    with single_threaded_blas():
        if mask is not None:
            rows = np.arange(n_samples) if n_samples <= LARGEST_GRAM else np.sort(order[:SAMPLED_ROWS])
            whole = searched = MaskedFolds(X[rows], Y[rows], mask[rows], grid_b, grid_c, LARGEST_GRAM)
        elif min(X.shape) <= LARGEST_GRAM:
            whole = searched = _folds(X, Y, folds)
            rows = np.arange(n_samples)
        else:
            rows = np.sort(order[:SAMPLED_ROWS])
            whole, searched = SweepFolds(X, Y), _folds(X[rows], Y[rows], folds[rows])
        counted = None if mask is None else mask[rows]
        if min(X.shape) < WORTH_THREADS or isinstance(X, RemoteRows):
            n_threads = 1
        with _mapping(n_threads) as each:
            winner, predictions = _search(
                searched, Y[rows], folds[rows], grid_b, grid_c, errors, counted, each, n_threads, callback
            )
        if not np.isnan(errors).any():
            callback = None  # the folds were told
        if mask is not None and (len(rows) < n_samples or predictions is None):
            whole = MaskedFolds(X, Y, mask, winner[:1], winner[1:], LARGEST_GRAM)
        if whole is not searched or predictions is None:
            predictions = np.empty_like(Y)
            for t in range(int(folds.max()) + 1):
                predictions[folds == t] = whole.fold(folds == t).weigh(winner[0]).predict(winner[1])
                if callback is not None:
                    callback(t + 1)
    return CrossFit(*winner, predictions, errors, folds)


@contextmanager
def _mapping(n_threads: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """`map`, in threads: LAPACK and NumPy's products leave the interpreter's lock."""
    if n_threads == 1:
        yield map
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool.map


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(
            f"random_state must be None, an integer of at least 0 or a Generator, got {random_state!r}."
        ) from None


def _folds(X: Any, Y: np.ndarray, folds: np.ndarray) -> Folds:
    smallest = len(folds) - np.bincount(folds).max()
    return PrimalFolds(X, Y) if X.shape[1] <= smallest else DualFolds(X, Y)


def _search(
    searched: Folds,
    Y: np.ndarray,
    folds: np.ndarray,
    grid_b: tuple[float, ...],
    grid_c: tuple[float, ...],
    errors: np.ndarray,
    known: np.ndarray | None,
    each: Callable[..., Iterable[Any]],
    n_threads: int,
    callback: Callable[[int], object] | None,
) -> tuple[tuple[float, float], np.ndarray | None]:
    """The best pair and, if they were kept, its predictions; fills ``errors``.

    ``each`` is `map`, by ``n_threads`` threads.
    """
    if known is None:
        variation = ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)
        varies = np.ptp(Y, axis=0) > 0
    else:
        variation = (centred_over_known(Y, known) ** 2).sum(axis=0)
        varies = variation > 0
    if errors.size == 1 or not varies.any():
        return (grid_b[0], grid_c[0]), None
    keep = errors.size * Y.size <= KEPT_PREDICTIONS
    left = np.zeros((*errors.shape, int(varies.sum())))
    tests = [folds == t for t in range(int(folds.max()) + 1)]
    tests = [test for test in tests if test.any() and not test.all()]  # a sample may miss a fold

    def miss(task: tuple[tuple[np.ndarray, Fold], int]) -> tuple[np.ndarray, list[np.ndarray]]:
        """What a fold leaves of each label's variation with b_i and every c, and its predictions if they are kept."""
        (test, fold), i = task
        weighted, found, made = fold.weigh(grid_b[i]), np.empty(left.shape[1:]), []
        given, counted = Y[test], None if known is None else known[test]
        for j, c in enumerate(grid_c):
            predicted = weighted.predict(c)
            missed = given - predicted
            if counted is not None:
                missed *= counted
            found[j] = np.einsum("ij,ij->j", missed, missed)[varies]
            if keep:
                made.append(predicted)
        return found, made

    kept: list[list[tuple[np.ndarray, list[np.ndarray]]]] = [[] for _ in grid_b]
    # As many folds at a time as there are threads, then each with each b: 8 turns of 15 on two threads, and no more
    # Gram matrices than that.
    for first in range(0, len(tests), n_threads):
        part = tests[first : first + n_threads]
        tasks = list(product(zip(part, each(searched.fold, part), strict=True), range(len(grid_b))))
        for ((test, _), i), (found, predictions) in zip(tasks, each(miss, tasks), strict=True):
            left[i] += found
            kept[i].append((test, predictions))
            if callback is not None and i == len(grid_b) - 1:
                callback(len(kept[i]))
    errors[:] = (left / variation[varies]).mean(axis=2)
    i, j = divmod(int(np.argmin(errors)), len(grid_c))
    if not keep:
        return (grid_b[i], grid_c[j]), None
    O = np.empty_like(Y)
    for test, predictions in kept[i]:
        O[test] = predictions[j]
    return (grid_b[i], grid_c[j]), O


def _some_unknown(known: Any, Y: np.ndarray) -> np.ndarray | None:
    """The mask, or None if it holds nothing unknown."""
    if known is None:
        return None
    mask = check_mask(known, *Y.shape)
    mask = np.broadcast_to(mask if mask.ndim == 2 else mask[:, None], Y.shape)
    return None if mask.all() else mask


def ridge_regression(
    X: Any, Y: Any, ridge: float, *, feature_weights: Any = None, known: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Ridge regression of all labels on weighted features: x -> coef x + intercept.

    With S = (X - mean X) diag(w)^1/2 and lambda = c |S|_F^2 / n, B minimises |Yc - S B|_F^2 + lambda |B|_F^2;
    coef = (diag(w)^1/2 B)', intercept = mean Y - coef mean X.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows; finite numbers.
    Y : array or sparse matrix of shape (n_samples, n_labels)
        0/1.
    ridge : float
        c, above 0.
    feature_weights : array of shape (n_features,), default=None
        w, each 0 or more; None: 1.
    known : array of shape (n_samples, n_labels), bool, default=None
        The entries of Y that are known, None: all.  Each label is then fitted on its known rows: n, the means and
        lambda are those of these rows; a label without any is 0.

    Returns
    -------
    coef : ndarray of shape (n_labels, n_features), float64
        One row a label.
    intercept : ndarray of shape (n_labels,), float64
        The mean of Y where no feature varies.

    Raises
    ------
    ValueError
        For NaN or infinity, unequal numbers of rows, a ridge that is not positive, or negative weights.

    Examples
    --------
    One feature, X = (-1, 1), Y = (0, 1), c = 1: |S|^2 = 2, lambda = 1, B = 1 / (2 + 1).

    >>> from nmlsdr.ridge import ridge_regression
    >>> coef, intercept = ridge_regression([[-1.0], [1.0]], [[0], [1]], 1.0)
    >>> coef.round(6).tolist(), intercept.tolist()
    ([[0.333333]], [0.5])
    """
    X = check_rows(X)
    Y = check_row_weights(Y, "Y", X.shape[0])
    ridge = check_real(ridge, "ridge", 0.0, math.inf, low_open=True)
    w = np.ones(X.shape[1]) if feature_weights is None else np.asarray(feature_weights, dtype=np.float64)
    if w.shape != (X.shape[1],) or not (np.isfinite(w) & (w >= 0)).all():
        raise InputError(
            f"feature_weights must be {X.shape[1]} finite numbers of 0 or more, one per feature, got shape {w.shape}; "
            "take those of nmlsdr.projection.feature_weights."
        )
    mask = _some_unknown(known, Y)
    with single_threaded_blas():
        if mask is not None:
            V, intercept = masked_coefficients(X, Y, mask, ridge, w, LARGEST_GRAM)
            return np.ascontiguousarray(V.T), intercept
        coef = coefficients(X, Y, ridge, w, LARGEST_GRAM).T
        intercept = Y.mean(axis=0) - coef @ column_means(X)
    return np.ascontiguousarray(coef), intercept


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
