"""Forests of regression trees that predict several labels at once: grown, checked and scored as plain arrays.

`ResidualPropagation` has one forest of each of the `KINDS`; `to_sklearn` turns a forest into one of scikit-learn's.

Each tree draws at most 1000 rows with replacement.  A node is split where |S_L|^2 / w_L + |S_R|^2 / w_R is largest,
where S are sums of the labels over the draws on the left and on the right, and w the numbers of draws.  Leaves have
three distinct rows or more.  The features that a node tries are neighbours in a random order of the tree's own;
features that are constant in the node do not count.

* Extremely randomised trees try a third of the features, at most 300, each with one threshold between its least and its
  largest value in the node.
* A random forest tries the square root of their number, each with thresholds halfway between two values of the node:
  those above all rows of a node of at most 16 rows, or above 16 rows drawn from it.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import nmlsdr._forest as kernels

from ._errors import InputError
from ._process.threads import simd, worthwhile_threads

__all__ = ["Forest", "to_sklearn"]

KINDS = ("extremely randomised trees", "random forest")
FEWEST_ROWS = 6  # with fewer labelled rows there is no forest
_ROWS_OF_A_TREE = 1000  # drawn rows of each tree at most: more cost time and change the rankings by less than .003
_MOST_FEATURES = 300  # tried in each node of an extremely randomised tree
_LEAF = 3
_STEPS = 1024  # targets are multiples of 1 / 1024, see _c/forest.h
_LARGEST = 1e30
_WORK = 2e8  # rows x features x labels, about .2 s, between two looks at the keyboard
_WORTH_A_THREAD = 2e5  # of the same, about .2 ms
_WORTH_SCORING = 3e4  # rows x trees
_SPREAD = 1 << 22  # numbers of the sparse rows that are spread at a time


@dataclass(eq=False, repr=False)
class Forest:
    """The trees of a forest, one after the other, their nodes numbered over all trees.

    Attributes
    ----------
    roots : ndarray of shape (n_trees + 1,), int64
        The first node of each tree, and the number of all nodes.
    feature : ndarray of shape (n_nodes,), int32
        The feature that decides in a node; -1 in a leaf.
    threshold : ndarray of shape (n_nodes,), float32
        Rows whose feature does not exceed it go to the left.
    left : ndarray of shape (n_nodes,), int32
        The left child of a node, after which comes the right one; the number of a leaf.
    values : ndarray of shape (n_leaves, n_labels), float32
        Mean label of the rows of a leaf, each counted as often as its tree drew it.
    weights : ndarray of shape (n_leaves,), int32
        Number of these draws.
    n_features_in_ : int
        Number of features of the rows.
    """

    roots: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    values: NDArray[np.float32]
    weights: NDArray[np.int32]
    n_features_in_: int

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much the splits at each feature reduce the squared error, as in scikit-learn's forests; they sum to 1."""
        weights, means, _ = _nodes(self)
        inner = np.flatnonzero(self.feature >= 0)
        squares = weights * (means**2).sum(axis=1)
        left = self.left[inner]
        gains = np.maximum(squares[left] + squares[left + 1] - squares[inner], 0.0)
        tree = np.searchsorted(self.roots, inner, side="right") - 1
        shares = gains / np.maximum(np.bincount(tree, gains)[tree], 1e-300) if len(inner) else gains
        total = np.bincount(self.feature[inner], shares, minlength=self.n_features_in_)
        return np.asarray(total / max(total.sum(), 1e-300))


_TYPES = {  # of the arrays
    "roots": np.int64,
    "feature": np.int32,
    "threshold": np.float32,
    "left": np.int32,
    "values": np.float32,
    "weights": np.int32,
}


def arrays_of(forest: Forest) -> dict[str, np.ndarray]:
    """The arrays of a forest by name, from which `checked_forest` makes it again."""
    return {name: getattr(forest, name) for name in _TYPES}


def checked_forest(arrays: Mapping[str, Any], n_features: int, n_labels: int) -> Forest:
    """Return a forest of arrays from elsewhere.

    Raises
    ------
    InputError
        If a kernel could follow them out of their bounds or for ever, or if they are not what `grow_forests` makes.
    """
    found = {name: arrays[name] for name in _TYPES}
    roots, feature, threshold, left, values, weights = found.values()
    n_nodes, sizes = len(feature), {name: len(array) for name, array in found.items()}
    expected = {**sizes, "threshold": n_nodes, "left": n_nodes, "weights": len(values)}
    if (
        any(array.dtype != _TYPES[name] or not array.flags.c_contiguous for name, array in found.items())
        or any(array.ndim != 1 + (name == "values") for name, array in found.items())
        or (sizes != expected or values.shape[1] != n_labels)
        or (len(roots) < 2 or (roots[0], roots[-1]) != (0, n_nodes) or (roots[1:] <= roots[:-1]).any())
    ):
        raise InputError("its arrays do not fit together")
    inner, tree = np.flatnonzero(feature != -1), np.repeat(np.arange(len(roots) - 1), np.diff(roots))
    children, parents = np.concatenate([left[inner], left[inner] + 1]), np.tile(inner, 2)
    each_once = np.array_equal(np.sort(children), np.delete(np.arange(n_nodes), roots[:-1]))
    if not each_once or (children <= parents).any() or (tree[children] != tree[parents]).any():
        raise InputError("it has a node that is not the child of one node before it in its tree")
    if not np.array_equal(np.sort(left[feature == -1]), np.arange(len(values))):
        raise InputError("its leaves do not have one value each")
    if (feature < -1).any() or (feature >= n_features).any():
        raise InputError(f"it asks for a feature beyond the {n_features} of its rows")
    if not np.isfinite(threshold).all() or not ((values >= 0) & (values <= 1)).all() or (weights < 1).any():
        raise InputError("it has thresholds that are not finite, values outside [0, 1], or leaves without rows")
    return Forest(**found, n_features_in_=n_features)


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
    _warn_of_lost_features(X)
    rows, targets = _in_float32(X), np.rint(np.clip(Y, 0.0, 1.0) * _STEPS).astype(np.int32, order="C")
    (n_samples, n_features), n_labels = X.shape, Y.shape[1]
    tried = {
        KINDS[0]: (max(1, min(n_features // 3, _MOST_FEATURES)), 0),
        KINDS[1]: (max(1, int(np.sqrt(n_features))), 1),
    }
    chosen = np.array([tried[kind] for kind in kinds], dtype=np.int32)
    n_draws = min(n_samples, _ROWS_OF_A_TREE)
    work = n_draws * min(n_features, 3 * _MOST_FEATURES) * (n_labels + 8.0)
    n_threads = worthwhile_threads(n_jobs, work * n_estimators, each=_WORTH_A_THREAD)
    at_once = n_threads * max(1, int(_WORK / work))
    left_out, parts = np.empty((n_estimators, n_samples), dtype=np.uint8), []
    for first in range(0, n_estimators, at_once):
        drawn = left_out[first : first + at_once]
        parts.append(_grow_some(rows, targets, chosen, random_state, first, n_draws, drawn, n_threads))
        if callback is not None:
            callback()
    forests = [_joined([part[kind] for part in parts], n_features) for kind in range(len(kinds))]
    n_trees = np.maximum(left_out.sum(axis=0, dtype=np.int64), 1)[:, np.newaxis]
    predictions = [_summed(forest, rows, n_samples, n_jobs, left_out) / n_trees for forest in forests]
    return forests, predictions, np.asarray(left_out.any(axis=0))


def _grow_some(
    rows: Any,
    targets: NDArray[np.int32],
    kinds: NDArray[np.int32],
    seed: int,
    first: int,
    n_draws: int,
    left_out: NDArray[np.uint8],
    n_threads: int,
) -> list[tuple[np.ndarray, ...]]:
    """For each kind the arrays of some trees: sizes (n_trees, 2), feature, threshold, left, values, weights."""
    most_leaves, shape = max(1, min(len(targets), n_draws) // _LEAF), (len(kinds), len(left_out))
    nodes, leaves = (*shape, 2 * most_leaves - 1), (*shape, most_leaves)
    feature, left, threshold = np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes, np.float32)
    values, weights = np.empty((*leaves, targets.shape[1]), np.float32), np.empty(leaves, np.int32)
    sizes = np.empty((*shape, 2), np.int32)
    given = rows, targets, kinds, seed, first, n_draws, _LEAF
    if not kernels.grow(*given, feature, threshold, left, values, weights, sizes, left_out, n_threads, simd()):
        raise MemoryError("There is not enough memory to grow trees.")
    are_nodes, are_leaves = np.arange(nodes[-1]) < sizes[..., :1], np.arange(most_leaves) < sizes[..., 1:]
    of_nodes, of_leaves = (feature, threshold, left), (values, weights)
    return [
        (sizes[k], *(one[k][are_nodes[k]] for one in of_nodes), *(one[k][are_leaves[k]] for one in of_leaves))
        for k in range(len(kinds))
    ]


def _joined(parts: list[tuple[np.ndarray, ...]], n_features: int) -> Forest:
    """One forest of trees whose nodes and leaves are numbered from 0 in each."""
    sizes, feature, threshold, left, values, weights = map(np.concatenate, zip(*parts, strict=True))
    ends = np.cumsum(sizes, axis=0, dtype=np.int64)
    before = np.repeat(ends - sizes, sizes[:, 0], axis=0)
    left += np.where(feature < 0, before[:, 1], before[:, 0]).astype(np.int32)
    return Forest(np.append(0, ends[:, 0]), feature, threshold, left, values, weights, n_features)


def score_by_forests(forests: list[Forest], X: Any, n_jobs: int) -> list[np.ndarray]:
    """Return for each forest the mean prediction of its trees (n_samples, n_labels), added in their order."""
    rows = _in_float32(X)
    return [_summed(forest, rows, X.shape[0], n_jobs) / (len(forest.roots) - 1) for forest in forests]


def _summed(
    forest: Forest, rows: Any, n_samples: int, n_jobs: int, left_out: NDArray[np.uint8] | None = None
) -> np.ndarray:
    """The values of each row's leaves, added over the trees, or over those that left it out."""
    n_trees, n_features = len(forest.roots) - 1, forest.n_features_in_
    sums = np.empty((n_samples, forest.values.shape[1]))
    block = kernels.SCORED_ROWS
    if type(rows) is tuple:
        block = max(1, min(block, _SPREAD // n_features))
    n_threads = worthwhile_threads(n_jobs, n_samples * n_trees, each=_WORTH_SCORING)
    arrays = forest.roots, forest.feature, forest.threshold, forest.left, forest.values
    if not kernels.add_leaves(rows, *arrays, left_out, block, sums, n_threads):
        raise MemoryError("There is not enough memory to score rows by trees.")
    return sums


def _nodes(forest: Forest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws and mean labels of all nodes, and the mean squared length of the means of the leaves below."""
    feature, left = forest.feature, forest.left
    leaves, levels, level = np.flatnonzero(feature < 0), [], forest.roots[:-1]
    while len(inner := level[feature[level] >= 0]):
        levels.append(inner)
        level = np.concatenate([left[inner], left[inner] + 1])
    weights, sums = np.zeros(len(feature)), np.zeros((len(feature), forest.values.shape[1]))
    squares = np.zeros(len(feature))
    weights[leaves] = forest.weights[left[leaves]]
    sums[leaves] = weights[leaves, np.newaxis] * forest.values[left[leaves]]
    squares[leaves] = weights[leaves] * (forest.values[left[leaves]].astype(np.float64) ** 2).sum(axis=1)
    for inner in reversed(levels):
        for total in (weights, sums, squares):
            total[inner] = total[left[inner]] + total[left[inner] + 1]
    return weights, sums / weights[:, np.newaxis], squares / weights


def _warn_of_lost_features(X: Any) -> None:
    """Warn of features that vary, but by at most 16 steps of float32 numbers of their size."""
    low, high = _as_array(X.min(axis=0)), _as_array(X.max(axis=0))
    least, most = (np.clip(each, -_LARGEST, _LARGEST).astype(np.float32) for each in (low, high))
    lost = (low < high) & (most - least <= 2.0**-20 * np.maximum(np.abs(least), np.abs(most)))
    if lost.any():
        warnings.warn(
            f"The forest, which computes in float32, cannot distinguish the values of {lost.sum()} of {len(lost)} "
            f"features, for example those of feature {lost.argmax()} between {low[lost.argmax()]:.9g} and "
            f"{high[lost.argmax()]:.9g}; standardize the features (sklearn.preprocessing.StandardScaler).",
            UserWarning,
            stacklevel=5,
        )


def _as_array(row: Any) -> np.ndarray:
    return np.asarray(row.toarray() if sparse.issparse(row) else row, dtype=np.float64).ravel()


def _in_float32(X: Any) -> Any:
    """Rows for the kernels, cut off where means of them would leave the range of float32."""
    if sparse.issparse(X):
        data = np.clip(X.data, -_LARGEST, _LARGEST).astype(np.float32)
        return data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False), X.shape[1]
    return np.clip(X, -_LARGEST, _LARGEST).astype(np.float32, order="C", copy=False)


def to_sklearn(forest: Forest) -> Any:
    """Turn a forest into one of scikit-learn, for programs that read those, such as SHAP's ``TreeExplainer``.

    Parameters
    ----------
    forest : Forest
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

    n_labels, trees = forest.values.shape[1], []
    draws, means, squares = _nodes(forest)
    impurity = np.maximum(squares - (means**2).sum(axis=1), 0.0) / n_labels  # of the means of the leaves
    for first, end in zip(forest.roots[:-1].tolist(), forest.roots[1:].tolist(), strict=True):
        part = slice(first, end)
        inner = forest.feature[part] >= 0
        tree = Tree(forest.n_features_in_, np.ones(n_labels, dtype=np.intp), n_labels)
        nodes = np.zeros(end - first, dtype=tree.__getstate__()["nodes"].dtype)
        left = forest.left[part] - first
        nodes["left_child"], nodes["right_child"] = np.where(inner, left, -1), np.where(inner, left + 1, -1)
        nodes["feature"], nodes["threshold"] = np.where(inner, forest.feature[part], -2), forest.threshold[part]
        nodes["impurity"], nodes["weighted_n_node_samples"] = impurity[part], draws[part]
        nodes["n_node_samples"] = draws[part]
        values = means[part, :, np.newaxis].copy()
        values[~inner, :, 0] = forest.values[forest.left[part][~inner]]
        state = {"max_depth": _depth(left, inner), "node_count": end - first, "nodes": nodes, "values": values}
        tree.__setstate__(state)
        estimator = DecisionTreeRegressor()
        estimator.tree_, estimator.n_features_in_, estimator.n_outputs_ = tree, forest.n_features_in_, n_labels
        trees.append(estimator)
    found = RandomForestRegressor(len(trees))
    found.estimator_, found.estimators_ = DecisionTreeRegressor(), trees
    found.n_features_in_, found.n_outputs_ = forest.n_features_in_, n_labels
    return found


def _depth(left: np.ndarray, inner: np.ndarray) -> int:
    depth, level = 0, np.array([0])
    while len(level := level[inner[level]]):
        depth, level = depth + 1, np.concatenate([left[level], left[level] + 1])
    return depth
