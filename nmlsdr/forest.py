"""Forests of regression trees that predict several labels at once: grown, checked and scored as plain arrays.

`ResidualPropagation` has one forest of each of the `KINDS`, and with more than 1000 labelled rows boosted trees;
`to_sklearn` turns a forest into one of scikit-learn's.

Each tree draws as many rows as there are with replacement, at most 10 000, and with more than 300 features fewer, down
to 3333.  Of more than 2^24 values of these rows it sees some columns, drawn at random.  A node is split where
|S_L|^2 / w_L + |S_R|^2 / w_R is largest, where S are sums of the labels over the draws on the left and on the right,
and w the numbers of draws.  Leaves have three distinct rows or more.  The features that a node tries are neighbours in
a random order of the tree's own; constant ones are passed over, up to as many as are tried.  Beyond 256 labels S are
62 sums of labels with random signs, drawn for each tree.

* Extremely randomised trees try a third of the features, at most 300, each with one threshold between its least and its
  largest value in the node.
* A random forest tries the square root of their number, each with one threshold just above the value of every row, or
  of 16 of them in larger nodes, halfway to the next value.

Each choice was compared with others on six of the article's data sets and three simulated tables, five seeds each, by
the means of seven measures and of the four rankings, in percentage points.  A random forest with 8 thresholds loses .08
and .09.  With a third of the features and 8 thresholds it gains .01 and loses .03, and a fit takes 1.4 times as long.
Neighbours in the order lose nothing: half of the features from each of two random places change the means by -.10 and
-.02, and features that are each drawn by themselves by -.11 and -.06; with these, the out-of-bag errors of both kinds
of trees are up to .1 % lower.  Trees of at most 1000 rows lower the mean of the rankings by .43 points with 5000 rows,
and by 1.2 points with 20 000.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import nmlsdr._forest as kernels

from ._checks.arguments import check_rows
from ._float32 import dense_parts, in_float32, warn_of_lost_features
from ._group_folds import Groups, group_folds
from ._process.threads import simd, worthwhile_threads
from ._row_order import RowOrder, as_given, column_order, in_order

__all__ = ["to_sklearn"]

KINDS = ("extremely randomised trees", "random forest")
FEWEST_ROWS = 6  # with fewer labelled rows there is no forest
_ROWS_OF_A_TREE = 10_000  # drawn rows of each tree at most
_MOST_FEATURES = 300  # tried in each node of an extremely randomised tree
# Drawn rows x features tried at the root, so 3333 rows at least: more cost time and gain next to nothing.
_TRIES = 10**6
_LEAF = 3
_STEPS = 1024  # labels are multiples of 1 / 1024
# Splits are chosen by so many random sums of the labels, if there are more labels than the other number.
_SUMS = 62
MOST_LABELS = 256
FOLDS = 4  # of the boosted trees
WORK = 2e8  # rows x features x labels, about .2 s, between two checks for Ctrl-C
WORTH_A_THREAD = 2e5  # of the same, about .2 ms
_WORTH_SCORING = 3e4  # rows x trees
# that go down a tree together at most, their scores: 2 MB, features: 16 MB
_ROWS_AT_ONCE = 4096
_SCORES = 1 << 18
_NO_DRAWS = np.empty((0, 0), np.int32)
NODE = np.dtype([("feature", "i4"), ("left", "i4"), ("threshold", "f4")])


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
        The left child of a node, which the right one follows; in a leaf its number, counted over all trees.
    n_features_in_ : int
        Number of features of the rows.
    """

    roots: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    n_features_in_: int

    n_models = 0  # models to average; trees within one are summed; 0: every tree is a model

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
        shape = (len(self.ends) - 1, self.labels.shape[0])
        labels = self.labels
        labels = labels.toarray() if sparse.issparse(labels) else labels
        sums = sparse.csr_array((self.times.astype(np.int32), self.rows, self.ends), shape) @ labels
        return (sums / (_STEPS * self.weights[:, np.newaxis])).astype(np.float32)

    def for_kernel(self) -> dict[str, np.ndarray]:
        """The leaves as a kernel reads them."""
        values = np.zeros((1, self.labels.shape[1]), np.float32)
        labels = dict(zip(("Y", "columns", "indptr"), stored_arrays(self.labels), strict=True))
        return {"values": values, "rows": self.rows, "times": self.times, "ends": self.ends, **labels}

    def faults(self) -> Iterator[tuple[Any, str]]:
        if sparse.issparse(self.labels):
            self.labels = check_rows(self.labels, "labels", dtype=np.int16)
        stored = stored_arrays(self.labels)[0]
        ends = self.ends
        rows = self.rows
        n_rows = self.labels.shape[0]
        smallest = int(sparse.issparse(self.labels))
        n_draws = _ROWS_OF_A_TREE
        yield (ends[0], ends[-1]) != (0, len(rows)) or (ends[1:] <= ends[:-1]).any(), "it has leaves without rows"
        yield (rows < 0).any() or (rows >= n_rows).any(), f"it has rows beyond the {n_rows} whose labels it knows"
        yield (self.times < 1).any(), "it has rows that were not drawn"
        yield (self.weights > n_draws).any(), f"it has leaves with more than {n_draws} draws"
        fit = stored.size and ((smallest <= stored) & (stored <= _STEPS)).all()
        yield not fit, f"it has labels outside [{smallest}, {_STEPS}]"


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

    n_models = FOLDS

    def for_kernel(self) -> dict[str, np.ndarray]:
        """The leaves as a kernel reads them, without rows."""
        numbers: np.ndarray = np.zeros(1, np.int32)
        labels: np.ndarray = np.zeros(1, np.int16)
        no_rows = {"rows": numbers, "ends": numbers, "columns": numbers, "indptr": numbers}
        return {"values": self.values, "times": labels, "Y": labels, **no_rows}

    def faults(self) -> Iterator[tuple[Any, str]]:
        yield not (np.abs(self.values) <= 2).all(), "it has values outside [-2, 2]"
        yield (self.weights < 1).any(), "it has leaves without rows"
        yield (len(self.roots) - 1) % FOLDS != 0, f"it has {len(self.roots) - 1} trees in {FOLDS} models"


def stored_arrays(labels: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays of CSR rows, or the numbers of other rows."""
    if sparse.issparse(labels):
        return labels.data, labels.indices, labels.indptr
    return labels.ravel(), np.zeros(1, np.int32), np.zeros(1, np.int32)


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
    order: RowOrder = None,
    groups: Groups = None,
    callback: Callable[[], object] | None = None,
) -> tuple[list[Forest], list[np.ndarray], np.ndarray]:
    """Grow forests, and predict every row by the trees that did not draw it, or any row of its group.

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
        Seed; both kinds draw the same rows.
    n_jobs : int
        Threads; the result does not depend on it.
    order : ndarray of shape (n_samples,), default=None
        Row numbers in the order in which trees draw them; None: as they stand. The rows of the forests are numbered in
        this order.
    groups : ndarray of shape (n_samples,), default=None
        With groups, each tree draws from the groups of three of four folds, and predicts the rows of the fourth.
    callback : callable, default=None
        Called after each part of the trees.

    Returns
    -------
    forests : list of Forest
    predictions : list of ndarray of shape (n_samples, n_labels)
        Out of bag; 0 where every tree drew the row, or its group.
    left_out : ndarray of shape (n_samples,), bool
        Whether some tree did not draw the row; without one its predictions mean nothing.
    """
    warn_of_lost_features(X)
    n_samples, n_features = X.shape
    n_labels = Y.shape[1]
    X = in_order(X, order)
    labels = np.rint(np.clip(in_order(Y, order), 0.0, 1.0) * _STEPS).astype(np.int16, order="C")
    columns = column_order(labels) if n_labels > MOST_LABELS else np.arange(n_labels)
    n_sums = n_labels if n_labels <= MOST_LABELS else _SUMS
    tried = dict(zip(KINDS, (min(n_features // 3, _MOST_FEATURES), int(np.sqrt(n_features))), strict=True))
    settings = np.array([(max(1, tried[kind]), kind == KINDS[1]) for kind in kinds], dtype=np.int32)
    n_draws = min(n_samples, _ROWS_OF_A_TREE, max(1000, _TRIES // max(1, tried[KINDS[0]])))
    draws = np.zeros((n_estimators, n_samples), np.int32)
    work = n_draws * min(n_features, 3 * _MOST_FEATURES) * (n_sums + 8.0)
    n_threads = worthwhile_threads(n_jobs, work * n_estimators, each=WORTH_A_THREAD)
    at_once = n_threads * max(1, int(WORK / work))
    nodes, n_leaves = room(n_estimators, len(kinds), max(1, n_draws // _LEAF))
    rows_of_leaves = np.empty((n_estimators, len(kinds), n_draws), np.int32)
    arguments: dict[str, Any] = {
        "d": n_features,
        "n_sums": n_sums,
        "kinds": settings,
        "seed": random_state,
        "n_draws": n_draws,
        "leaf": _LEAF,
        "nodes": nodes,
        "n_leaves": n_leaves,
        "rows": rows_of_leaves,
        "n_threads": n_threads,
        "level": simd(),
    }
    targets = np.ascontiguousarray(labels[:, columns])
    if groups is None:
        tables = _tables(X) | {"Y": targets, "draws": draws}
        _grow(0, n_estimators, at_once, tables | arguments, callback)
        counted = draws
        del tables
    else:
        folds = group_folds(in_order(groups, order), FOLDS, np.random.default_rng(random_state).permutation(n_samples))
        counted = np.ones_like(draws)
        ends = np.arange(FOLDS + 1) * n_estimators // FOLDS
        for fold, (first, end) in enumerate(pairwise(ends.tolist())):
            training_rows = np.flatnonzero(folds != fold)
            part = (
                arguments
                | _tables(X[training_rows])
                | {"Y": targets[training_rows], "n_draws": min(n_draws, len(training_rows))}
            )
            part["draws"] = np.zeros((n_estimators, len(training_rows)), np.int32)
            part["rows"] = np.zeros((n_estimators, len(kinds), part["n_draws"]), np.int32)
            _grow(first, end, at_once, part, callback)
            draws[first:end, training_rows] = part["draws"][first:end]
            counted[first:end] = folds != fold
            rows_of_leaves[first:end, :, : part["n_draws"]] = _numbered(part["rows"][first:end], training_rows)
        del part
    del targets, arguments
    labels = _thinned(labels)
    forests = []
    for kind, n in enumerate(n_leaves.T):
        grown = joined(_used(nodes[:, kind], 2 * n - 1), n, n_features, np.cumsum(n) - n)
        grown |= _drawn(rows_of_leaves[:, kind], draws)
        forests.append(Forest(**grown, labels=labels))
    n_trees = (counted == 0).sum(axis=0)
    del nodes, rows_of_leaves
    predictions = [summed(forest, X, n_jobs, np.maximum(n_trees, 1)[:, np.newaxis], counted) for forest in forests]
    return forests, [as_given(scores, order) for scores in predictions], as_given(n_trees > 0, order)


def _thinned(labels: np.ndarray) -> Any:
    """Labels as CSR rows if there are many and few of them occur in a leaf."""
    is_thin = labels.shape[1] > MOST_LABELS and 0 < 10 * np.count_nonzero(labels) < labels.size
    return sparse.csr_array(labels) if is_thin else labels


def _tables(X: Any) -> dict[str, np.ndarray]:
    """The rows as a kernel reads them."""
    if sparse.issparse(X):
        arrays = in_float32(X.data), X.indices.astype(np.int32), X.indptr.astype(np.int64)
    else:
        n_samples, n_features = X.shape
        arrays = in_float32(X).ravel(), np.empty(0, np.int32), n_features * np.arange(n_samples + 1)
    return dict(zip(("data", "indices", "indptr"), arrays, strict=True))


def _grow(first: int, end: int, at_once: int, arguments: dict[str, Any], callback: Callable[[], object] | None) -> None:
    """Grow the trees from the first up to the end, some at once."""
    for start in range(first, end, at_once):
        if not kernels.grow(first=start, end=min(start + at_once, end), **arguments):
            raise MemoryError("There is not enough memory to grow trees.")
        if callback is not None:
            callback()


def _numbered(rows_of_leaves: np.ndarray, training_rows: np.ndarray) -> np.ndarray:
    """The rows of leaves, of trees that know some of the rows only, as all rows are numbered."""
    is_last = rows_of_leaves < 0
    numbers = training_rows[np.where(is_last, ~rows_of_leaves, rows_of_leaves)]
    return np.where(is_last, ~numbers, numbers)


def room(n_trees: int, n_kinds: int, most_leaves: int) -> tuple[np.ndarray, np.ndarray]:
    """Arrays for the nodes of trees, of which each uses the first of its part, and for their numbers of leaves."""
    return np.empty((n_trees, n_kinds, 2 * most_leaves - 1), NODE), np.empty((n_trees, n_kinds), np.int32)


def _used(parts: np.ndarray, n_used: np.ndarray) -> np.ndarray:
    """The first entries of each part, one after the other."""
    plain = parts.view(f"V{parts.itemsize}")  # a tenth of the time that joining records takes
    return np.concatenate([part[:n] for part, n in zip(plain, n_used, strict=True)]).view(parts.dtype)


def _drawn(parts: np.ndarray, draws: np.ndarray) -> dict[str, Any]:
    """rows, times and ends of a forest from the rows of each tree, leaf by leaf, the last of each as ~row."""
    n_rows = np.count_nonzero(draws, axis=1)
    rows = _used(parts, n_rows)
    last = rows < 0
    rows ^= -last.astype(np.int32)
    times = draws.ravel()[rows + np.repeat(draws.shape[1] * np.arange(len(draws)), n_rows)]
    ends = np.append(0, np.flatnonzero(last) + 1).astype(np.int32)
    return {"rows": rows, "times": times.astype(np.int16), "ends": ends}


def joined(nodes: np.ndarray, n_leaves: np.ndarray, n_features: int, first: np.ndarray) -> dict[str, Any]:
    """The attributes of `Trees`, of trees that number their nodes and leaves from 0 each; the first leaf of each."""
    n_nodes = 2 * n_leaves - 1
    roots = np.append(0, np.cumsum(n_nodes))
    arrays = {name: nodes[name].copy() for name in ("feature", "threshold", "left")}
    starts = (np.repeat(each.astype(np.int32), n_nodes) for each in (first, roots[:-1]))
    arrays["left"] += np.where(arrays["feature"] < 0, *starts)
    return {"roots": roots, **arrays, "n_features_in_": n_features}


def score_by_forests(forests: Sequence[Any], X: Any, n_jobs: int) -> list[np.ndarray]:
    """Return for each forest the mean prediction of its trees (n_samples, n_labels), added in their order."""
    return [summed(forest, X, n_jobs, forest.n_models or len(forest.roots) - 1) for forest in forests]


def summed(forest: Any, X: Any, n_jobs: int, divisor: Any, draws: NDArray[np.int32] = _NO_DRAWS) -> np.ndarray:
    """The values of each row's leaves, added over the trees, or over those that left it out, and divided."""
    leaves = forest.for_kernel()
    n_labels = leaves["values"].shape[1]
    # values that are there need no sharing
    limit = 256 if forest.n_models else _ROWS_AT_ONCE
    sums = np.zeros((X.shape[0], n_labels))
    nodes = {name: getattr(forest, name) for name in ("roots", "feature", "threshold", "left")}
    for part, rows in dense_parts(X):
        n_threads = worthwhile_threads(n_jobs, len(rows) * len(forest.roots), each=_WORTH_SCORING)
        at_once = max(64, min(limit, _SCORES // max(n_labels, X.shape[1] // 16), -(-len(rows) // n_threads)))
        kernels.add_leaves(
            X=rows,
            **nodes,
            **leaves,
            draws=draws[:, part],
            at_once=at_once,
            means=np.empty((n_threads, at_once, n_labels), np.float32),
            work=np.zeros((n_threads, 2 * n_labels), np.int32),
            sums=sums[part],
            n_threads=n_threads,
        )
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
        Fitted, with the same predictions but for rounding. Of boosted trees only the mean of all trees is a prediction.

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

    values = forest.values
    inner = forest.feature >= 0
    left_child = forest.left
    trees = []
    n_labels = values.shape[1]
    draws = np.zeros(len(left_child))
    depth = np.zeros(len(left_child), dtype=np.int64)
    means = np.zeros((len(left_child), n_labels))
    factor = (len(forest.roots) - 1) / (forest.n_models or len(forest.roots) - 1)  # theirs averages the trees
    draws[~inner] = forest.weights[left_child[~inner]]
    means[~inner] = factor * values[left_child[~inner]]
    for node in np.flatnonzero(inner)[::-1]:  # children come after their parents
        children = slice(left_child[node], left_child[node] + 2)
        means[node] = np.average(means[children], axis=0, weights=draws[children])
        draws[node] = draws[children].sum()
        depth[node] = 1 + depth[children].max()
    for first, end in zip(forest.roots[:-1].tolist(), forest.roots[1:].tolist(), strict=True):
        part = slice(first, end)
        tree = Tree(forest.n_features_in_, np.ones(n_labels, dtype=np.intp), n_labels)
        nodes = np.zeros(end - first, dtype=tree.__getstate__()["nodes"].dtype)
        nodes["left_child"] = np.where(inner[part], left_child[part] - first, -1)
        nodes["right_child"] = np.where(inner[part], left_child[part] - first + 1, -1)
        nodes["feature"] = forest.feature[part]
        nodes["threshold"] = forest.threshold[part]
        nodes["impurity"] = (means[part] - means[part] ** 2).mean(axis=1)  # the variance of labels 0 and 1
        nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = draws[part]
        state = {"max_depth": depth[first], "node_count": end - first, "nodes": nodes}
        tree.__setstate__(state | {"values": means[part, :, np.newaxis].copy()})
        estimator = DecisionTreeRegressor()
        estimator.tree_ = tree
        estimator.n_features_in_ = forest.n_features_in_
        estimator.n_outputs_ = n_labels
        trees.append(estimator)
    ensemble = RandomForestRegressor(len(trees))
    ensemble.estimator_ = DecisionTreeRegressor()
    ensemble.estimators_ = trees
    ensemble.n_features_in_ = forest.n_features_in_
    ensemble.n_outputs_ = n_labels
    return ensemble
