"""Boosted trees for several labels at once: grown in folds, whose models are averaged.

boosting.h says what was compared, and on how many tables.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import nmlsdr._forest as kernels

from . import forest
from ._float32 import in_float32
from ._group_folds import Groups, draw_folds
from ._moments import row_blocks
from ._process.threads import simd, worthwhile_threads
from ._row_order import RowOrder, as_given, column_order, in_order

# Splits are chosen by so many random sums of the labels, if there are more labels than the other number (Iosipoi and
# Vakhrushev, "SketchBoost", NeurIPS 2022).  With 30 sums boosted trees for 100 to 200 labels took .4 to .6 of the time
# of all labels.  Average precision of all entries changed by -1.2 to +.4 points, that of single labels by -.3 to +1.4.
# With 14 sums the former fell by up to 1.6 points.
_SUMS = 30
_MOST_LABELS = 62
# a leaf adds rate x sum / (draws + penalty)
_RATE = 0.07
_PENALTY = 5.0
_CANDIDATES = ((6, 10), (10, 3))  # (largest depth, least rows of a leaf): the better one survives the first rounds
_PATIENCE = 10  # rounds of each candidate, and rounds without a new least error before the end
# From the first of these numbers of rounds on, trees end whose error would stay above the third times that of a linear
# learner even after the second times the progress of the last ten rounds: they would get hardly any weight beside it.
_FIRST_FORECAST = 50
_FORECAST = 20
_MARGIN = 1.05
_ROUNDS_AT_ONCE = 5  # rounds of a kernel call; up to four are discarded
# that a boosted tree draws at most, that a node tries at most
_MOST_ROWS = 5000
_MOST_FEATURES = 100
_CUTS = 254  # of a column at most, so that codes take one byte
_CODES = 1 << 25  # bytes of codes, but 1000 columns at least; of more columns those with the most numbers other than 0


class Limits(NamedTuple):
    """When boosting ends, though its error may still fall.

    Attributes
    ----------
    n_rounds : int
        Trees of each fold at most.
    linear_error : float
        The sum of the squared errors out of fold of the best linear learner over the known entries.  From 50 rounds on,
        trees end if their error, minus 20 times what the last ten rounds took off it, is above 1.05 times this one.
    """

    n_rounds: int
    linear_error: float = np.inf


@dataclass(eq=False)
class _Boosting:
    """Boosted trees of one depth: their scores of the rows, the trees of each fold, and errors by round."""

    depth: int
    leaf: int
    seed: int
    F: NDArray[np.float32]  # (n_folds, n_samples, n_labels)
    nodes: list[list[np.ndarray]]  # of the trees of each round: the first are leaves of the mean labels
    values: NDArray[np.float32]  # (n_leaves, n_labels) round by round, in one array, for they take the most memory
    weights: list[np.ndarray]
    linear_error: float = np.inf
    errors: list[float] = field(default_factory=list)

    def best(self) -> tuple[int, bool]:
        """The round of the least error up to the end of the rounds, and whether they have ended.

        They end if so many rounds without a new least came after it, or if they will not reach a linear learner.
        """
        least_round = 0
        for number, error in enumerate(self.errors):
            if error < self.errors[least_round]:
                least_round = number
            if number - least_round >= _PATIENCE or self._forecast(number) > _MARGIN * self.linear_error:
                return least_round, True
        return least_round, False

    def _forecast(self, number: int) -> float:
        """The error to expect at least after a round; none, -infinity, in the first rounds."""
        if number + 1 < _FIRST_FORECAST:
            return -np.inf
        progress = max(0.0, self.errors[number - _PATIENCE] - self.errors[number])
        return self.errors[number] - _FORECAST * progress

    def add_rounds(self, nodes: np.ndarray, n_leaves: np.ndarray, values: np.ndarray, weights: np.ndarray) -> None:
        """Keep the used part of the arrays in which a kernel has grown the trees of some rounds."""
        used = np.arange(weights.shape[-1]) < n_leaves[..., np.newaxis]
        n_before = len(self.values)
        self.values.resize((n_before + n_leaves.sum(), values.shape[-1]), refcheck=False)
        self.values[n_before:] = values[used]
        self.weights.append(weights[used])
        for each, n in zip(nodes, n_leaves, strict=True):
            self.nodes.append([part[: 2 * m - 1].copy() for part, m in zip(each, n, strict=True)])


def boost_trees(
    X: Any,
    Y: np.ndarray,
    *,
    limits: Limits,
    random_state: int,
    n_jobs: int,
    order: RowOrder = None,
    groups: Groups = None,
    callback: Callable[[], object] | None = None,
) -> tuple[forest.BoostedTrees, np.ndarray]:
    """Grow boosted trees for all labels at once in four folds, and predict every row by the model that did not see it.

    Each tree learns the labels minus the scores F of the trees before it from 7 of 10 rows of the other folds, at most
    5000, drawn with replacement.  F begins at the mean labels of these folds; a leaf adds .07 times the sum of its
    draws' targets over their number plus 5.  After ten rounds of trees of at most 6 levels with leaves of 10 rows, and
    of 10 levels with leaves of 3, those with the smaller squared error out of fold go on.  They end after ten rounds
    without a new least error, or at the ``limits``; all folds keep the rounds up to the least.  A node tries half of
    the features, at least 8 and at most 100, with 16 thresholds each; the columns are binned beforehand.  Beyond 62
    labels splits are chosen by 30 random sums of the targets.  Of more than 2^25 / n_samples columns, at least 1000,
    trees see those with the most numbers other than 0.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_labels), float64
        Labels, NaN where they are unknown.
    limits : Limits
        When the rounds end at the latest.
    random_state, n_jobs, order, groups, callback
        As for `grow_forests`.

    Returns
    -------
    trees : nmlsdr.forest.BoostedTrees
        The models of the folds; the first tree of each is a leaf of the mean labels.
    predictions : ndarray of shape (n_samples, n_labels)
        Out of fold.
    """
    n_samples = len(Y)
    X = in_order(X, order)
    Y = in_order(Y, order)
    label_order = _label_order(Y)
    Y = np.ascontiguousarray(Y[:, label_order])
    permutation = np.random.default_rng(0).permutation(n_samples)
    groups = None if groups is None else in_order(groups, order)
    fold = draw_folds(permutation, forest.FOLDS, np.arange(n_samples), groups).astype(np.int32)
    columns, codes, cuts = _binned(X, random_state)
    rounds = _Rounds.of(codes, Y, fold, n_jobs, callback)
    run = _better_candidate(rounds, _fold_means(Y, fold), fold, limits, random_state)
    while not run.best()[1] and len(run.errors) < limits.n_rounds:
        rounds.grow(run, min(len(run.errors) + rounds.at_once, limits.n_rounds))
    n_trees = run.best()[0] + 2
    trees = _assemble(run, n_trees, label_order, X.shape[1])
    del run
    _put_back_columns(trees, columns, cuts)
    O = np.empty(Y.shape)
    for a in range(forest.FOLDS):
        model = replace(trees, roots=trees.roots[a * n_trees : (a + 1) * n_trees + 1])
        O[fold == a] = forest.summed(model, X[fold == a], n_jobs, 1)
    return trees, as_given(O, order)


def _fold_means(Y: np.ndarray, fold: np.ndarray) -> NDArray[np.float32]:
    """The mean known labels of the rows outside of each fold (n_folds, n_labels)."""
    known = ~np.isnan(Y)
    ones = np.where(known, Y, 0.0)
    training_rows = [fold != a for a in range(forest.FOLDS)]
    means = [ones[rows].sum(axis=0) / np.maximum(known[rows].sum(axis=0), 1) for rows in training_rows]
    return np.array(means, dtype=np.float32)


class _Rounds(NamedTuple):
    """Grows rounds of boosted trees.

    Attributes
    ----------
    tables : dict
        The arguments of the kernel that all rounds have.
    n_draws, n_labels : int
        Rows that a tree draws; labels of a leaf.
    at_once : int
        Rounds of a kernel call.
    callback : callable or None
        Called after each of them.
    """

    tables: dict[str, Any]
    n_draws: int
    n_labels: int
    at_once: int
    callback: Callable[[], object] | None

    @classmethod
    def of(
        cls, codes: np.ndarray, Y: np.ndarray, fold: np.ndarray, n_jobs: int, callback: Callable[[], object] | None
    ) -> "_Rounds":
        """Choose draws, sums and threads by the sizes of a table of codes (n_columns, n_samples) and of its labels."""
        n_samples, n_labels = Y.shape
        tried = min(max(len(codes) // 2, 8), len(codes), _MOST_FEATURES)
        n_draws = min(_MOST_ROWS, 7 * n_samples // 10)
        n_sums = n_labels if n_labels <= _MOST_LABELS else _SUMS
        work = forest.FOLDS * (n_draws * tried * (n_sums + 8.0) + n_samples * (n_labels + 8.0))
        n_threads = worthwhile_threads(min(n_jobs, forest.FOLDS), work, each=forest.WORTH_A_THREAD)
        tables = {
            "codes": codes,
            "Y": Y.astype(np.float32),
            "n_sums": n_sums,
            "fold": fold,
            "kinds": np.array([[tried, 1]], dtype=np.int32),
            "n_draws": n_draws,
            "rate": _RATE,
            "penalty": _PENALTY,
            "n_threads": n_threads,
            "level": simd(),
        }
        at_once = max(1, min(_ROUNDS_AT_ONCE, int(n_threads * forest.WORK / work)))
        return cls(tables, n_draws, n_labels, at_once, callback)

    def grow(self, run: _Boosting, until: int) -> None:
        """Add rounds to a run until it has so many."""
        for first in range(len(run.errors), until, self.at_once):
            n_trees = min(self.at_once, until - first)
            most_leaves = min(2**run.depth, max(1, self.n_draws // run.leaf))
            candidate = {"seed": run.seed, "depth": run.depth, "leaf": run.leaf, "F": run.F}
            shape = n_trees, forest.FOLDS, most_leaves
            nodes, n_leaves = forest.room(*shape)
            values = np.empty((*shape, self.n_labels), np.float32)
            weights = np.empty(shape, np.int32)
            errors = np.empty(shape[:2])
            grown = {"nodes": nodes, "n_leaves": n_leaves, "values": values, "weights": weights, "errors": errors}
            if not kernels.boost(first=first, **self.tables, **candidate, **grown):
                raise MemoryError("There is not enough memory to grow trees.")
            run.add_rounds(nodes, n_leaves, values, weights)
            run.errors += errors.sum(axis=1).tolist()
            if self.callback is not None:
                self.callback()


def _better_candidate(
    rounds: _Rounds, base: NDArray[np.float32], fold: np.ndarray, limits: Limits, random_state: int
) -> _Boosting:
    """The candidate with the smaller error after the first rounds; F of each begins at the mean labels ``base``."""
    leaves = [np.array([(-1, 0, 0.0)], forest.NODE)] * forest.FOLDS
    n_rows = (len(fold) - np.bincount(fold, minlength=forest.FOLDS)).astype(np.int32)
    runs = []
    for number, (depth, leaf) in enumerate(_CANDIDATES):
        seed = (random_state + (number + 1) * 2**32) % 2**64  # the forests' is below 2^32
        F = np.repeat(base[:, np.newaxis], len(fold), axis=1)
        runs.append(_Boosting(depth, leaf, seed, F, [leaves], base.copy(), [n_rows], limits.linear_error))
        rounds.grow(runs[-1], min(_PATIENCE, limits.n_rounds))
    return min(runs, key=lambda run: run.errors[-1])


def _assemble(run: _Boosting, n_trees: int, label_order: NDArray[np.intp], n_features: int) -> forest.BoostedTrees:
    """The first trees of each fold, fold by fold, in terms of columns and cuts; their values are those of the run."""
    n_leaves = np.array([[(len(tree) + 1) // 2 for tree in trees] for trees in run.nodes[:n_trees]])
    first = np.cumsum(n_leaves).reshape(n_leaves.shape) - n_leaves
    run.values.resize((n_leaves.sum(), run.values.shape[1]), refcheck=False)
    weights = np.concatenate(run.weights)[: len(run.values)]
    nodes = np.concatenate([tree for trees in zip(*run.nodes[:n_trees], strict=True) for tree in trees])
    _put_back_labels(run.values, label_order)
    arrays = forest.joined(nodes, n_leaves.T.ravel(), n_features, first.T.ravel())
    return forest.BoostedTrees(**arrays, values=run.values, weights=weights)


def _put_back_columns(trees: forest.BoostedTrees, columns: NDArray[np.int32], cuts: NDArray[np.float32]) -> None:
    """Give the nodes their features and thresholds in place of numbers of columns and of cuts."""
    inner = trees.feature >= 0
    trees.threshold[inner] = cuts[trees.feature[inner], (trees.threshold[inner] + 128).astype(int)]
    trees.feature[inner] = columns[trees.feature[inner]]


def _label_order(Y: np.ndarray) -> NDArray[np.intp]:
    """The columns in the order in which random sums draw their signs: by content if splits are chosen by such sums."""
    return column_order(np.nan_to_num(Y, nan=-1.0)) if Y.shape[1] > _MOST_LABELS else np.arange(Y.shape[1])


def _put_back_labels(values: NDArray[np.float32], label_order: NDArray[np.intp]) -> None:
    """Give the columns their own order again, in place: there may be many values."""
    for part in row_blocks(values):
        values[part, label_order] = values[part].copy()


def _binned(X: Any, random_state: int) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.float32]]:
    """Columns that vary, for each of their numbers how many cuts are below it, and the cuts, halfway between numbers.

    If a column has more than 255 numbers, the cuts lie evenly among them.
    """
    n_samples, n_features = X.shape
    is_sparse = sparse.issparse(X)
    columns = np.arange(n_features, dtype=np.int32)
    n_columns = max(1000, _CODES // n_samples)
    if n_features > n_columns:
        filled = np.bincount(X.indices[X.data != 0], minlength=n_features) if is_sparse else np.count_nonzero(X, axis=0)
        order = np.lexsort((np.random.default_rng(random_state).permutation(n_features), -filled))
        columns = np.sort(order[:n_columns]).astype(np.int32)
    stored = X[:, columns].tocsc() if is_sparse else X
    codes = np.empty((len(columns), n_samples), np.int8)
    cuts = np.zeros((len(columns), _CUTS), np.float32)
    varies = np.zeros(len(columns), dtype=bool)
    for at, column in enumerate(columns):
        part = slice(*stored.indptr[at : at + 2]) if is_sparse else slice(None)
        rows = stored.indices[part] if is_sparse else part
        x = in_float32(stored.data[part] if is_sparse else X[:, column]) + np.float32(0)
        values, place = np.unique(x if len(x) == n_samples else np.append(x, np.float32(0)), return_inverse=True)
        below = values[:-1]
        above = values[1:]
        middle = below * np.float32(0.5) + above * np.float32(0.5)
        middle = np.where((below < middle) & (middle < above), middle, below)
        if len(middle) > _CUTS:
            middle = middle[(2 * np.arange(_CUTS) + 1) * len(middle) // (2 * _CUTS)]
        varies[at] = len(middle)
        cuts[at, : len(middle)] = middle
        codes[at] = np.searchsorted(middle, np.float32(0)) - 128
        codes[at, rows] = (np.searchsorted(middle, values) - 128)[place[: len(x)]]
    varies[0] |= not varies.any()
    return columns[varies], codes[varies], cuts[varies]
