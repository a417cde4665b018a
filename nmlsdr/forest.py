"""Forests of regression trees that predict several labels at once: grown, checked and scored as plain arrays.

`ResidualPropagation` has one forest of each of the `KINDS`, and with more than 1000 labelled rows boosted trees;
`to_sklearn` turns a forest into one of scikit-learn's.

Each tree draws as many rows as there are with replacement, at most 10 000, and fewer if a node tries more than 100
features.  A node is split where |S_L|^2 / w_L + |S_R|^2 / w_R is largest,
where S are sums of the labels over the draws on the left and on the right, and w the numbers of draws.  Leaves have
three distinct rows or more.  The features that a node tries are neighbours in a random order of the tree's own;
features that are constant in the node do not count.  Beyond 256 labels S are 62 sums of labels with random signs, drawn
for each tree.

* Extremely randomised trees try a third of the features, at most 300, each with one threshold between its least and its
  largest value in the node.
* A random forest tries the square root of their number, each with thresholds halfway between two values of the node:
  those above all rows of a node of at most 16 rows, or above 16 rows drawn from it.

Each choice was compared with others on six of the article's data sets and three simulated tables, five seeds each, by
the means of seven measures and of the four rankings, in points of 100.  A random forest with 8 thresholds loses .08 and
.09.  With a third of the features and 8 thresholds it gains .01 and loses .03, and a fit takes 1.4 times as long.
Neighbours in the order lose nothing: two windows at random places change the means by -.10 and -.02, and features that
are each drawn by themselves by -.11 and -.06.  The out-of-bag errors of both kinds then fall by .1 % at most.  Trees of
at most 1000 rows lower the mean of the rankings by .0043 with 5000 rows, and by .012 with 20 000.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import nmlsdr._forest as kernels

from ._checks.arguments import check_rows
from ._errors import InputError
from ._float32 import dense_parts, in_float32, warn_of_lost_features
from ._process.threads import simd, worthwhile_threads

__all__ = ["to_sklearn"]

KINDS = ("extremely randomised trees", "random forest")
FEWEST_ROWS = 6  # with fewer labelled rows there is no forest
_ROWS_OF_A_TREE = 10_000  # drawn rows of each tree at most
_MOST_FEATURES = 300  # tried in each node of an extremely randomised tree
# Drawn rows x features tried at the root, but 1000 rows at least: more cost time and gain next to nothing.
_TRIES = 10**6
_LEAF = 3
_STEPS = 1024  # labels are multiples of 1 / 1024
# Splits are chosen by so many random sums of the labels, if there are more labels than the other number (for boosting:
# Iosipoi and Vakhrushev, "SketchBoost", NeurIPS 2022).  With 30 sums boosted trees for 100 to 200 labels took .4 to .6
# of the time of all labels.  Average precision of all entries changed by -1.2 to +.4 points, that of single labels by
# -.3 to +1.4.  With 14 sums the former fell by up to 1.6 points.
_SUMS, MOST_LABELS = 62, 256
_BOOSTED_SUMS, _MOST_BOOSTED_LABELS = 30, 62
_FOLDS = 4  # of the boosted trees
_RATE, _PENALTY = 0.07, 5.0  # a leaf adds rate x sum / (draws + penalty)
_CONTEST = ((6, 10), (10, 3))  # largest depth and rows of a leaf, of which the better one after some rounds goes on
_PATIENCE = 10  # rounds of the contest, and without a new least error before the end
_ROUNDS_AT_ONCE = 5  # of which up to four are in vain
_BOOSTED_ROWS, _BOOSTED_FEATURES = 5000, 100  # that a boosted tree draws at most, that a node tries at most
_CUTS = 254  # of a column at most, so that codes take one byte
_CODES = 1 << 25  # bytes of codes, but 1000 columns at least; of more columns those with the most numbers other than 0
_WORK = 2e8  # rows x features x labels, about .2 s, between two looks at the keyboard
_WORTH_A_THREAD = 2e5  # of the same, about .2 ms
_WORTH_SCORING = 3e4  # rows x trees
_ROWS_AT_ONCE, _SCORES = 4096, 1 << 18  # that go down a tree together at most, of their scores: 2 MB
_NO_DRAWS = np.empty((0, 0), np.int32)
_NODE = np.dtype([("feature", "i4"), ("left", "i4"), ("threshold", "f4")])


#: Whether something is wrong with trees from elsewhere, and what; each fault is looked for if there is none before it.
Faults = Iterator[tuple[Any, str]]


@dataclass(eq=False, repr=False)
class Trees:
    """Trees, one after the other, their nodes numbered over all trees.

    Attributes
    ----------
    roots : ndarray of shape (n_trees + 1,), int64
        The first node of each tree, and the number of all nodes.
    feature : ndarray of shape (n_nodes,), int32
        The feature that decides in a node; -1 in a leaf.
    threshold : ndarray of shape (n_nodes,), float32
        Rows whose feature does not exceed it go to the left.
    left : ndarray of shape (n_nodes,), int32
        The left child of a node, after which comes the right one; the number of a leaf, tree by tree.
    n_features_in_ : int
        Number of features of the rows.
    """

    roots: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    n_features_in_: int

    n_models = 0  # whose trees are added up, and that are averaged; 0: all trees are averaged

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much the splits at each feature reduce the squared error, as in scikit-learn's forests; they sum to 1."""
        return np.asarray(to_sklearn(self).feature_importances_)


@dataclass(eq=False, repr=False)
class Forest(Trees):
    """A forest, whose trees are averaged.

    A leaf keeps its rows. Their mean label is computed when it is needed: those of all leaves take more memory.

    Attributes
    ----------
    labels : ndarray or CSR array of shape (n_rows, n_labels), int16
        Labels of the rows that were drawn from, in units of 1 / 1024.
    rows : ndarray of shape (n_drawn,), int32
        The rows that the trees drew, leaf by leaf.
    times : ndarray of shape (n_drawn,), int16
        How often each of them was drawn.
    ends : ndarray of shape (n_leaves + 1,), int32
        Leaf i has the rows from ``ends[i]`` up to ``ends[i + 1]``.
    """

    labels: Any
    rows: NDArray[np.int32]
    times: NDArray[np.int16]
    ends: NDArray[np.int32]

    @property
    def weights(self) -> NDArray[np.int64]:
        """Number of draws of each leaf (n_leaves,)."""
        return np.add.reduceat(self.times, self.ends[:-1], dtype=np.int64)

    @property
    def values(self) -> NDArray[np.float32]:
        """Mean label of the draws of each leaf (n_leaves, n_labels)."""
        shape, labels = (len(self.ends) - 1, self.labels.shape[0]), self.labels
        labels = labels.toarray() if sparse.issparse(labels) else labels
        sums = sparse.csr_array((self.times.astype(np.int32), self.rows, self.ends), shape) @ labels
        return (sums / (_STEPS * self.weights[:, np.newaxis])).astype(np.float32)

    def for_kernel(self) -> tuple[np.ndarray, ...]:
        return np.zeros((1, self.labels.shape[1]), np.float32), self.rows, self.times, self.ends, *_stored(self.labels)

    def faults(self) -> Faults:
        if sparse.issparse(self.labels):
            self.labels = check_rows(self.labels, "labels", dtype=np.int16)
        (stored, *_), ends, rows, n_rows = _stored(self.labels), self.ends, self.rows, self.labels.shape[0]
        least, most = int(sparse.issparse(self.labels)), _ROWS_OF_A_TREE
        yield (ends[0], ends[-1]) != (0, len(rows)) or (ends[1:] <= ends[:-1]).any(), "it has leaves without rows"
        yield (rows < 0).any() or (rows >= n_rows).any(), f"it has rows beyond the {n_rows} whose labels it knows"
        yield (self.times < 1).any(), "it has rows that were not drawn"
        yield (self.weights > most).any(), f"it has leaves with more than {most} draws"
        fit = stored.size and ((least <= stored) & (stored <= _STEPS)).all()
        yield not fit, f"it has labels outside [{least}, {_STEPS}]"


@dataclass(eq=False, repr=False)
class BoostedTrees(Trees):
    """Four models with equally many trees, one after the other: each adds up its trees, and the models are averaged.

    Attributes
    ----------
    values : ndarray of shape (n_leaves, n_labels), float32
        What a leaf adds.
    weights : ndarray of shape (n_leaves,), int32
        Number of draws of each leaf.
    """

    values: NDArray[np.float32]
    weights: NDArray[np.int32]

    n_models = _FOLDS

    def for_kernel(self) -> tuple[np.ndarray, ...]:
        none, *others = _stored(np.zeros(1, np.int16))
        return self.values, others[0], none, others[0], none, *others

    def faults(self) -> Faults:
        yield not (np.abs(self.values) <= 2).all(), "it has values outside [-2, 2]"
        yield (self.weights < 1).any(), "it has leaves without rows"
        yield (len(self.roots) - 1) % _FOLDS != 0, f"it has {len(self.roots) - 1} trees in {_FOLDS} models"


def _stored(labels: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays of CSR rows, or the numbers of other rows."""
    if sparse.issparse(labels):
        return labels.data, labels.indices, labels.indptr
    return labels.ravel(), np.zeros(1, np.int32), np.zeros(1, np.int32)


#: The arrays of trees: their dtype, and their shape in letters.
_ARRAYS = {
    "roots": ("i8", "t"), "feature": ("i4", "n"), "threshold": ("f4", "n"), "left": ("i4", "n"),
    "labels": ("i2", "lC"), "rows": ("i4", "d"), "times": ("i2", "d"), "ends": ("i4", "e"),
    "values": ("f4", "vC"), "weights": ("i4", "v"),
}  # fmt: skip


def arrays_of(trees: Trees) -> dict[str, Any]:
    """The arrays of trees by name, from which `checked_trees` makes them again."""
    return {name: array for name, array in vars(trees).items() if name in _ARRAYS}


def checked_trees(kind: type[Trees], arrays: Mapping[str, Any], n_features: int, n_labels: int) -> Any:
    """Return a forest, or boosted trees, of arrays from elsewhere.

    Raises
    ------
    InputError
        If a kernel could follow them out of their bounds or for ever, or if they are not what `grow_forests` or
        `boost_trees` makes.
    """
    trees = kind(n_features_in_=n_features, **arrays)
    for wrong, what in _faults(trees, n_features, n_labels):
        if wrong:
            raise InputError(what)
    return trees


def _faults(trees: Any, n_features: int, n_labels: int) -> Faults:
    roots, feature, left, sizes, fit = trees.roots, trees.feature, trees.left, {"C": n_labels}, True
    for name, array in arrays_of(trees).items():
        dtype, letters = _ARRAYS[name]
        parts = _stored(array) if sparse.issparse(array) else (array,)
        fit &= [part.dtype for part in parts] == [dtype, "i4", "i4"][: len(parts)] and len(array.shape) == len(letters)
        fit &= all(part.flags.c_contiguous for part in parts)
        fit &= all(sizes.setdefault(letter, size) == size for letter, size in zip(letters, array.shape, strict=False))
    fit = fit and len(roots) > 1 and (roots[0], roots[-1]) == (0, len(feature)) and (roots[1:] > roots[:-1]).all()
    yield not fit, "its arrays do not fit together"
    inner, tree = np.flatnonzero(feature != -1), np.repeat(np.arange(len(roots) - 1), np.diff(roots))
    children, parents = np.concatenate([left[inner], left[inner] + 1]), np.tile(inner, 2)
    each_once = np.array_equal(np.sort(children), np.delete(np.arange(len(feature)), roots[:-1]))
    below = each_once and (children > parents).all() and (tree[children] == tree[parents]).all()
    yield not below, "it has a node that is not the child of one node before it in its tree"
    n_leaves, leaves = sizes.get("v", sizes.get("e", 0) - 1), np.flatnonzero(feature == -1)
    order = leaves[np.argsort(left[leaves])]
    numbered = np.array_equal(left[order], np.arange(n_leaves)) and (np.diff(tree[order]) >= 0).all()
    yield not numbered, "its leaves are not numbered tree by tree"
    outside = (feature < -1).any() or (feature >= n_features).any()
    yield outside, f"it asks for a feature beyond the {n_features} of its rows"
    yield not np.isfinite(trees.threshold).all(), "it has thresholds that are not finite"
    yield from trees.faults()


def forest_seed(random_state: Any) -> int:
    """Return the seed of the forests, drawn from a generator if one is given."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int(np.random.default_rng(random_state).integers(2**32))
    return int(random_state) % 2**32


def grow_forests(
    X: Any,
    Y: np.ndarray,
    *,
    kinds: tuple[str, ...] = KINDS,
    n_estimators: int,
    random_state: int,
    n_jobs: int,
    callback: Callable[[], object] | None = None,
) -> tuple[list[Forest], list[np.ndarray], np.ndarray]:
    """Grow forests, and predict every row by the trees that did not draw it.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_labels), float64
        Labels, and predictions of the unknown ones; what is outside [0, 1] counts as 0 or 1.
    kinds : tuple of str
        Which of `KINDS` to grow.
    n_estimators : int
        Trees of each forest.
    random_state : int
        The forests draw the same rows.
    n_jobs : int
        Threads; the result does not depend on it.
    callback : callable, default=None
        Called after each part of the trees.

    Returns
    -------
    forests : list of Forest
    predictions : list of ndarray of shape (n_samples, n_labels)
        Out of bag; 0 where every tree drew the row.
    left_out : ndarray of shape (n_samples,), bool
        Whether some tree did not draw the row; without one its predictions mean nothing.
    """
    warn_of_lost_features(X)
    (n_samples, n_features), n_labels = X.shape, Y.shape[1]
    labels = np.rint(np.clip(Y, 0.0, 1.0) * _STEPS).astype(np.int16, order="C")
    n_sums = n_labels if n_labels <= MOST_LABELS else _SUMS
    tried = dict(zip(KINDS, (min(n_features // 3, _MOST_FEATURES), int(np.sqrt(n_features))), strict=True))
    settings = np.array([(max(1, tried[kind]), kind == KINDS[1]) for kind in kinds], dtype=np.int32)
    n_draws = min(n_samples, _ROWS_OF_A_TREE, max(1000, _TRIES // max(1, tried[KINDS[0]])))
    if sparse.issparse(X):
        rows = in_float32(X.data), X.indices.astype(np.int32), X.indptr.astype(np.int64)
    else:
        rows = in_float32(X).ravel(), np.empty(0, np.int32), n_features * np.arange(n_samples + 1)
    draws = np.zeros((n_estimators, n_samples), np.int32)
    work = n_draws * min(n_features, 3 * _MOST_FEATURES) * (n_sums + 8.0)
    n_threads = worthwhile_threads(n_jobs, work * n_estimators, each=_WORTH_A_THREAD)
    at_once = n_threads * max(1, int(_WORK / work))
    nodes, n_leaves = _room(n_estimators, len(kinds), max(1, n_draws // _LEAF))
    rows_of_leaves = np.empty((n_estimators, len(kinds), n_draws), np.int32)
    sizes = n_features, labels, n_sums, settings, random_state, n_draws, _LEAF
    given = *rows, *sizes, draws, nodes, n_leaves, rows_of_leaves
    for first in range(0, n_estimators, at_once):
        if not kernels.grow(*given, first, min(first + at_once, n_estimators), n_threads, simd()):
            raise MemoryError("There is not enough memory to grow trees.")
        if callback is not None:
            callback()
    del rows, sizes, given
    few = n_labels > MOST_LABELS and 0 < 10 * np.count_nonzero(labels) < labels.size  # of them occur in a leaf
    labels = sparse.csr_array(labels) if few else labels
    forests = []
    for kind, n in enumerate(n_leaves.T):
        grown = _joined(_used(nodes[:, kind], 2 * n - 1), n, n_features) | _drawn(rows_of_leaves[:, kind], draws)
        forests.append(Forest(**grown, labels=labels))
    n_trees = (draws == 0).sum(axis=0)
    del nodes, rows_of_leaves
    predictions = [_summed(forest, X, n_jobs, np.maximum(n_trees, 1)[:, np.newaxis], draws) for forest in forests]
    return forests, predictions, n_trees > 0


def _room(n_trees: int, n_kinds: int, most_leaves: int) -> tuple[np.ndarray, np.ndarray]:
    """Arrays for the nodes of trees, of which each uses the first of its part, and for their numbers of leaves."""
    return np.empty((n_trees, n_kinds, 2 * most_leaves - 1), _NODE), np.empty((n_trees, n_kinds), np.int32)


def _used(parts: np.ndarray, n_used: np.ndarray) -> np.ndarray:
    """The first entries of each part, one after the other."""
    return parts[np.arange(parts.shape[1]) < n_used[:, np.newaxis]]


def _drawn(parts: np.ndarray, draws: np.ndarray) -> dict[str, Any]:
    """rows, times and ends of a forest from the rows of each tree, leaf by leaf, the last of each as ~row."""
    n_rows = np.count_nonzero(draws, axis=1)
    rows = _used(parts, n_rows)
    last = rows < 0
    rows ^= -last.astype(np.int32)
    times = draws.ravel()[rows + np.repeat(draws.shape[1] * np.arange(len(draws)), n_rows)]
    ends = np.append(0, np.flatnonzero(last) + 1).astype(np.int32)
    return {"rows": rows, "times": times.astype(np.int16), "ends": ends}


def _joined(nodes: np.ndarray, n_leaves: np.ndarray, n_features: int) -> dict[str, Any]:
    """The attributes of `Trees`, of trees that number their nodes and leaves from 0 each."""
    n_nodes = 2 * n_leaves - 1
    roots, before = (np.append(0, np.cumsum(each)) for each in (n_nodes, n_leaves))
    found = {name: nodes[name].copy() for name in ("feature", "threshold", "left")}
    starts = (np.repeat(each[:-1].astype(np.int32), n_nodes) for each in (before, roots))
    found["left"] += np.where(found["feature"] < 0, *starts)
    return {"roots": roots, **found, "n_features_in_": n_features}


@dataclass(eq=False)
class _Boosting:
    """Boosted trees of one depth: their scores of the rows, the trees of each fold, and errors by round."""

    depth: int
    leaf: int
    seed: int
    F: NDArray[np.float32]  # (n_folds, n_samples, n_labels)
    trees: list[list[tuple[np.ndarray, ...]]] = field(default_factory=lambda: [[] for _ in range(_FOLDS)])
    errors: list[float] = field(default_factory=list)

    def best(self) -> tuple[int, bool]:
        """The round of the least error, and whether so many rounds without a new least came after it."""
        best = 0
        for number, error in enumerate(self.errors):
            if error < self.errors[best]:
                best = number
            elif number - best >= _PATIENCE:
                return best, True
        return best, False


def boost_trees(
    X: Any,
    Y: np.ndarray,
    *,
    n_rounds: int,
    random_state: int,
    n_jobs: int,
    callback: Callable[[], object] | None = None,
) -> tuple[BoostedTrees, np.ndarray]:
    """Grow boosted trees for all labels at once in four folds, and predict every row by the model that did not see it.

    Each tree learns the labels minus the scores F of the trees before it from 7 of 10 rows of the other folds, at most
    5000, drawn with replacement.  F begins at the mean labels of these folds; a leaf adds .07 times the sum of its
    draws' targets over their number plus 5.  After ten rounds of trees of at most 6 levels with leaves of 10 rows, and
    of 10 levels with leaves of 3, those with the smaller squared error out of fold go on.  They end after ten rounds
    without a new least error, or after ``n_rounds``; all folds keep the rounds up to the least.  A node tries half of
    the features, at least 8 and at most 100, with 16 thresholds each; the columns are binned beforehand.  Beyond 62
    labels splits are chosen by 30 random sums of the targets.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_labels), float64
        Labels, NaN where they are unknown.
    n_rounds : int
        Trees of each fold at most.
    random_state, n_jobs, callback
        As for `grow_forests`.

    Returns
    -------
    trees : BoostedTrees
        The models of the folds; the first tree of each is a leaf of the mean labels.
    predictions : ndarray of shape (n_samples, n_labels)
        Out of fold.
    """
    n_samples, n_labels = Y.shape
    fold = (np.random.default_rng(0).permutation(n_samples) % _FOLDS).astype(np.int32)
    known, others = ~np.isnan(Y), [fold != a for a in range(_FOLDS)]
    means = [np.where(known, Y, 0.0)[each].sum(axis=0) / np.maximum(known[each].sum(axis=0), 1) for each in others]
    base = np.array(means, dtype=np.float32)
    columns, codes, cuts = _binned(X, random_state)
    tried = min(max(len(columns) // 2, 8), len(columns), _BOOSTED_FEATURES)
    n_draws = min(_BOOSTED_ROWS, 7 * n_samples // 10)
    n_sums = n_labels if n_labels <= _MOST_BOOSTED_LABELS else _BOOSTED_SUMS
    work = _FOLDS * (n_draws * tried * (n_sums + 8.0) + n_samples * (n_labels + 8.0))
    n_threads = worthwhile_threads(min(n_jobs, _FOLDS), work, each=_WORTH_A_THREAD)
    at_once = max(1, min(_ROUNDS_AT_ONCE, int(n_threads * _WORK / work)))
    given = codes, Y.astype(np.float32), n_sums, fold, np.array([[tried, 1]], dtype=np.int32)

    def go_on(run: _Boosting, until: int) -> None:
        for first in range(len(run.errors), until, at_once):
            n_trees, most_leaves = min(at_once, until - first), min(2**run.depth, max(1, n_draws // run.leaf))
            settings = run.seed, n_draws, run.depth, run.leaf, _RATE, _PENALTY, run.F
            (nodes, n_leaves), errors = _room(n_trees, _FOLDS, most_leaves), np.empty((n_trees, _FOLDS))
            shape = n_trees, _FOLDS, most_leaves
            values, weights = np.empty((*shape, n_labels), np.float32), np.empty(shape, np.int32)
            grown = nodes, n_leaves, values, weights, errors
            if not kernels.boost(*given, *settings, *grown, first, n_threads, simd()):
                raise MemoryError("There is not enough memory to grow trees.")
            for (t, a), n in np.ndenumerate(n_leaves):
                tree = nodes[t, a, : 2 * n - 1], values[t, a, :n], weights[t, a, :n]
                run.trees[a].append(tuple(part.copy() for part in tree))
            run.errors += errors.sum(axis=1).tolist()
            if callback is not None:
                callback()

    runs = []
    for number, (depth, leaf) in enumerate(_CONTEST):
        seed = (random_state + (number + 1) * 2**32) % 2**64  # the forests' is below 2^32
        runs.append(_Boosting(depth, leaf, seed, np.repeat(base[:, np.newaxis], n_samples, axis=1)))
        go_on(runs[-1], min(_PATIENCE, n_rounds))
    run = min(runs, key=lambda run: run.errors[-1])
    runs.clear()
    while not run.best()[1] and len(run.errors) < n_rounds:
        go_on(run, min(len(run.errors) + at_once, n_rounds))
    n_trees = run.best()[0] + 1

    trees: list[tuple[np.ndarray, ...]] = []
    for grown, mean, rows in zip(run.trees, base, others, strict=True):
        trees.append((np.array([(-1, 0, 0.0)], _NODE), mean[np.newaxis], rows.sum(keepdims=True, dtype=np.int32)))
        trees += grown[:n_trees]
    n_leaves = np.array([len(weights) for *_, weights in trees])
    nodes, values, weights = (np.concatenate(each) for each in zip(*trees, strict=True))
    del run, grown, trees  # what they have is there once again
    found = BoostedTrees(**_joined(nodes, n_leaves, X.shape[1]), values=values, weights=weights)
    inner = found.feature >= 0
    found.threshold[inner] = cuts[found.feature[inner], (found.threshold[inner] + 128).astype(int)]
    found.feature[inner] = columns[found.feature[inner]]
    O = np.empty(Y.shape)
    for a, rows in enumerate(others):
        model = replace(found, roots=found.roots[a * (n_trees + 1) : (a + 1) * (n_trees + 1) + 1])
        O[~rows] = _summed(model, X[~rows], n_jobs, 1)
    return found, O


def _binned(X: Any, random_state: int) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.float32]]:
    """Columns that vary, for each of their numbers how many cuts are below it, and the cuts, halfway between numbers.

    If a column has more than 255 numbers, the cuts lie evenly among them.
    """
    (n_samples, n_features), is_sparse = X.shape, sparse.issparse(X)
    columns, most = np.arange(n_features, dtype=np.int32), max(1000, _CODES // n_samples)
    if n_features > most:
        filled = np.bincount(X.indices[X.data != 0], minlength=n_features) if is_sparse else np.count_nonzero(X, axis=0)
        order = np.lexsort((np.random.default_rng(random_state).permutation(n_features), -filled))
        columns = np.sort(order[:most]).astype(np.int32)
    stored = X[:, columns].tocsc() if is_sparse else X
    codes, cuts = np.empty((len(columns), n_samples), np.int8), np.zeros((len(columns), _CUTS), np.float32)
    varies = np.zeros(len(columns), dtype=bool)
    for at, column in enumerate(columns):
        part = slice(*stored.indptr[at : at + 2]) if is_sparse else slice(None)
        rows = stored.indices[part] if is_sparse else part
        x = in_float32(stored.data[part] if is_sparse else X[:, column]) + np.float32(0)
        values, place = np.unique(x if len(x) == n_samples else np.append(x, np.float32(0)), return_inverse=True)
        below, above = values[:-1], values[1:]
        middle = below * np.float32(0.5) + above * np.float32(0.5)
        middle = np.where((below < middle) & (middle < above), middle, below)
        if len(middle) > _CUTS:
            middle = middle[(2 * np.arange(_CUTS) + 1) * len(middle) // (2 * _CUTS)]
        varies[at], cuts[at, : len(middle)] = len(middle), middle
        codes[at] = np.searchsorted(middle, np.float32(0)) - 128
        codes[at, rows] = (np.searchsorted(middle, values) - 128)[place[: len(x)]]
    varies[0] |= not varies.any()
    return columns[varies], codes[varies], cuts[varies]


def score_by_forests(forests: Sequence[Any], X: Any, n_jobs: int) -> list[np.ndarray]:
    """Return for each forest the mean prediction of its trees (n_samples, n_labels), added in their order."""
    return [_summed(forest, X, n_jobs, forest.n_models or len(forest.roots) - 1) for forest in forests]


def _summed(forest: Any, X: Any, n_jobs: int, divisor: Any, draws: NDArray[np.int32] = _NO_DRAWS) -> np.ndarray:
    """The values of each row's leaves, added over the trees, or over those that left it out, and divided."""
    values, *leaves = forest.for_kernel()
    n_labels, most = values.shape[1], 256 if forest.n_models else _ROWS_AT_ONCE  # values that are there need no sharing
    sums = np.zeros((X.shape[0], n_labels))
    arrays = forest.roots, forest.feature, forest.threshold, forest.left, values, *leaves
    for part, rows in dense_parts(X):
        n_threads = worthwhile_threads(n_jobs, len(rows) * len(forest.roots), each=_WORTH_SCORING)
        at_once = max(64, min(most, _SCORES // n_labels, -(-len(rows) // n_threads)))
        work = np.empty((n_threads, at_once, n_labels), np.float32), np.zeros((n_threads, 2 * n_labels), np.int32)
        kernels.add_leaves(rows, *arrays, draws[:, part], at_once, *work, sums[part], n_threads)
    sums /= divisor
    return sums


def to_sklearn(forest: Any) -> Any:
    """Turn a forest into one of scikit-learn, for programs that read those, such as SHAP's ``TreeExplainer``.

    Parameters
    ----------
    forest : Forest or BoostedTrees
        One of ``forests_`` of a fitted `nmlsdr.ResidualPropagation`.

    Returns
    -------
    sklearn.ensemble.RandomForestRegressor
        Fitted, with the same predictions.

    Examples
    --------
    >>> from nmlsdr import ResidualPropagation, forest
    >>> X, y = [[i] for i in range(8)], [[0], [0], [0], [0], [1], [1], [1], [1]]
    >>> model = ResidualPropagation(n_neighbors=2).fit(X, y)
    >>> forest.to_sklearn(model.forests_[1]).predict([[0.0], [7.0]]).round().tolist()
    [0.0, 1.0]
    """
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.tree import DecisionTreeRegressor
    from sklearn.tree._tree import Tree

    values, inner, left, trees = forest.values, forest.feature >= 0, forest.left, []
    n_labels = values.shape[1]
    draws, depth = np.zeros(len(left)), np.zeros(len(left), dtype=np.int64)
    means = np.zeros((len(left), n_labels))
    factor = (len(forest.roots) - 1) / (forest.n_models or len(forest.roots) - 1)  # theirs averages the trees
    draws[~inner], means[~inner] = forest.weights[left[~inner]], factor * values[left[~inner]]
    for node in np.flatnonzero(inner)[::-1]:  # children come after their parents
        both = slice(left[node], left[node] + 2)
        draws[node], means[node] = draws[both].sum(), np.average(means[both], axis=0, weights=draws[both])
        depth[node] = 1 + depth[both].max()
    for first, end in zip(forest.roots[:-1].tolist(), forest.roots[1:].tolist(), strict=True):
        part, tree = slice(first, end), Tree(forest.n_features_in_, np.ones(n_labels, dtype=np.intp), n_labels)
        nodes = np.zeros(end - first, dtype=tree.__getstate__()["nodes"].dtype)
        nodes["left_child"] = np.where(inner[part], left[part] - first, -1)
        nodes["right_child"] = np.where(inner[part], left[part] - first + 1, -1)
        nodes["feature"], nodes["threshold"] = forest.feature[part], forest.threshold[part]
        nodes["impurity"] = (means[part] - means[part] ** 2).mean(axis=1)  # the variance of labels 0 and 1
        nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = draws[part]
        state = {"max_depth": depth[first], "node_count": end - first, "nodes": nodes}
        tree.__setstate__(state | {"values": means[part, :, np.newaxis].copy()})
        estimator = DecisionTreeRegressor()
        estimator.tree_, estimator.n_features_in_, estimator.n_outputs_ = tree, forest.n_features_in_, n_labels
        trees.append(estimator)
    found = RandomForestRegressor(len(trees))
    found.estimator_, found.estimators_ = DecisionTreeRegressor(), trees
    found.n_features_in_, found.n_outputs_ = forest.n_features_in_, n_labels
    return found
