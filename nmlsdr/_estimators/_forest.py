"""The forests in the trend of ResidualPropagation, fitted to the labelled rows.

One of extremely randomised trees, which try many features in each split, and a random forest, which tries few.
"""

import warnings
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.utils import check_random_state

KINDS = ("ExtraTreesRegressor", "RandomForestRegressor")
FEWEST_ROWS = 6  # with fewer labelled rows there is no forest
_ROWS_OF_A_TREE = 1000  # drawn rows of each tree at most: more cost time and change the rankings by less than .003
_MOST_FEATURES = 300  # tried in each split of an extremely randomised tree
_LARGEST = 1e30
_FINEST = 1e-6  # range of a feature that a tree can hardly split: values less than 1e-7 apart count as equal
_TARGET_STEPS = 1024  # a forest's targets are multiples of 1 / 1024, see `grow_forests`
_ROWS_OF_A_BLOCK = 4096  # scored out of bag by all trees before the next ones, which keeps them in the cache
_ROWS_FOR_THREADS = 1000  # with fewer rows to predict, starting threads takes longer than it saves
_VALUES_FOR_THREADS = 10_000  # the same for growing trees: rows times features


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
) -> tuple[list[Any], list[np.ndarray], np.ndarray]:
    """Fit forests, and predict every row by the trees that did not draw it.

    The targets are rounded to multiples of 1 / 1024.  The sums by which scikit-learn compares two splits are then exact
    (at most 1000 drawn rows, and 8192 labels in [-1, 1], need 53 bits), and so are the tests whether a node is pure.
    Otherwise the last bits of predictions in Y, or another order of the labels, would grow other trees.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_labels), float64
        Labels, and predictions of the unknown ones.
    kinds : tuple of str
        The classes of the forests in `sklearn.ensemble`.
    n_estimators : int
        Trees of each forest.
    random_state : int
        The forests draw the same rows.
    n_jobs : int
        Threads; the result does not depend on it.
    callback : callable, default=None
        Called after each forest.

    Returns
    -------
    forests : list of ExtraTreesRegressor and RandomForestRegressor
    predictions : list of ndarray of shape (n_samples, n_labels)
        Out of bag.
    left_out : ndarray of shape (n_samples,), bool
        Whether some tree did not draw the row; without one its predictions mean nothing.
    """
    _warn_of_lost_features(X)
    rows, targets = _in_float32(X), np.round(Y * _TARGET_STEPS) / _TARGET_STEPS
    shared = {"n_estimators": n_estimators, "random_state": random_state, "n_jobs": n_jobs}
    forests, predictions = [], []
    for kind in kinds:
        forests.append(_new_forest(kind, X.shape[1], max_samples=min(X.shape[0], _ROWS_OF_A_TREE), **shared))
        out_of_bag, left_out = fit_forest(forests[-1], rows, targets)
        predictions.append(out_of_bag)
        if callback is not None:
            callback()
    return forests, predictions, left_out


def fit_forest(forest: Any, rows: Any, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Grow the trees of a forest whose ``max_features`` and ``max_samples`` are numbers; rows in float32.

    Returns the out-of-bag predictions and whether some tree did not draw a row, as `grow_forests`.
    """
    left_out = (_grow if grows_the_same_trees() else _fit)(forest, rows, targets)
    return _out_of_bag(forest, rows, left_out), np.asarray(left_out.any(axis=0))


def _new_forest(kind: str, n_features: int, **parameters: Any) -> Any:
    from sklearn import ensemble  # takes a while, which other estimators need not wait for

    many = max(1, min(n_features // 3, _MOST_FEATURES))
    tried = many if kind == "ExtraTreesRegressor" else max(1, int(np.sqrt(n_features)))
    return getattr(ensemble, kind)(min_samples_leaf=3, max_features=tried, bootstrap=True, **parameters)


def _out_of_bag(forest: Any, rows: Any, left_out: np.ndarray) -> np.ndarray:
    """The mean prediction (n_samples, n_labels) of the trees that did not draw a row, 0 where each of them drew it.

    Not by ``oob_score=True``: it warns of such rows, and a warning cannot be silenced for one thread alone.
    """
    total, n_trees = np.zeros((rows.shape[0], forest.n_outputs_)), left_out.sum(axis=0)
    for first in range(0, len(total), _ROWS_OF_A_BLOCK):
        block = slice(first, first + _ROWS_OF_A_BLOCK)
        part, sums = rows[block], total[block]
        for tree, out in zip(forest.estimators_, left_out[:, block], strict=True):
            leaves = tree.tree_.apply(part)[out]
            sums[out] += tree.tree_.value.take(leaves, axis=0).reshape(-1, sums.shape[1])
    return np.asarray(total / np.maximum(n_trees, 1)[:, np.newaxis])


def _fit(forest: Any, rows: Any, Y: np.ndarray) -> np.ndarray:
    """Fit a forest by its own method; return the rows that each tree did not draw, bool (n_trees, n_samples)."""
    forest.fit(rows, Y[:, 0] if Y.shape[1] == 1 else Y)
    return np.array([np.bincount(drawn, minlength=len(Y)) == 0 for drawn in forest.estimators_samples_])


def _grow(forest: Any, rows: Any, Y: np.ndarray) -> np.ndarray:
    """As `_fit`, with the same trees, but without the Python code that scikit-learn runs around each of them.

    With 200 rows that code takes several times as long as the trees. It copies and checks the tree's parameters,
    checks the weights of its rows, and makes new generators of random numbers, where one can be seeded again.
    """
    seeds = check_random_state(forest.random_state).randint(np.iinfo(np.int32).max, size=forest.n_estimators).tolist()
    columns = rows.tocsc() if sparse.issparse(rows) else rows
    if columns is not rows:
        columns.sort_indices()
    threads = min(forest.n_jobs, len(seeds)) if np.prod(rows.shape) >= _VALUES_FOR_THREADS else 1
    Y = np.ascontiguousarray(Y)
    if threads == 1:
        grown = _grow_trees(forest, columns, Y, seeds)
    else:  # the trees of a thread are not neighbours, so that all threads have as much to do
        parts = Parallel(n_jobs=threads, prefer="threads")(
            delayed(_grow_trees)(forest, columns, Y, seeds[first::threads]) for first in range(threads)
        )
        grown = [parts[i % threads][i // threads] for i in range(len(seeds))]
    forest.estimator_ = forest.estimator
    forest.estimators_ = [tree for tree, _ in grown]
    forest.n_features_in_, forest.n_outputs_ = rows.shape[1], Y.shape[1]
    forest._n_samples, forest._n_samples_bootstrap, forest._sample_weight = len(Y), forest.max_samples, None
    return np.array([left_out for _, left_out in grown])


def _grow_trees(forest: Any, columns: Any, Y: np.ndarray, seeds: Iterable[int]) -> list[tuple[Any, np.ndarray]]:
    """One tree for each seed, and the rows that it did not draw: what ``fit`` of scikit-learn's trees does."""
    from sklearn.tree import _classes
    from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

    (n_samples, n_features), n_labels = columns.shape, Y.shape[1]
    splitters = _classes.SPARSE_SPLITTERS if sparse.issparse(columns) else _classes.DENSE_SPLITTERS
    criterion = _classes.CRITERIA_REG[forest.criterion](n_labels, n_samples)
    random, leaf = np.random.RandomState(0), forest.min_samples_leaf
    splitter = splitters[forest.estimator.splitter](criterion, forest.max_features, leaf, 0.0, random, None)
    builder = DepthFirstTreeBuilder(splitter, 2 * leaf, leaf, 0.0, np.iinfo(np.int32).max, 0.0)
    grown = []
    for seed in seeds:
        random.seed(seed)
        counts = np.bincount(random.randint(0, n_samples, forest.max_samples), minlength=n_samples)
        random.seed(seed)  # the tree's own draws begin anew
        tree = Tree(n_features, np.ones(n_labels, dtype=np.intp), n_labels)
        builder.build(tree, columns, Y, counts.astype(np.float64), None)
        estimator = tree_of(forest, tree, random_state=seed)
        estimator.max_features_ = forest.max_features
        grown.append((estimator, counts == 0))
    return grown


def tree_of(forest: Any, tree: Any, **parameters: Any) -> Any:
    """A grown tree as an estimator of the forest's kind and parameters."""
    parameters = {name: getattr(forest, name) for name in forest.estimator_params} | parameters
    estimator = type(forest.estimator)(**parameters)
    estimator.n_features_in_, estimator.n_outputs_, estimator.tree_ = tree.n_features, tree.n_outputs, tree
    return estimator


@cache
def grows_the_same_trees() -> bool:
    """Whether `_grow` grows the trees of this version of scikit-learn, which may change what is private.

    Tried once in each process, on forests of two trees.  If not, fits are slower.
    """
    random = np.random.RandomState(0)
    X, Y = random.standard_normal((30, 6)).astype(np.float32), random.standard_normal((30, 2))
    try:
        for rows, kind in product((X, sparse.csr_matrix(np.maximum(X, 0.0))), KINDS):
            found = []
            for grow in (_fit, _grow):
                forest = _new_forest(kind, 6, n_estimators=2, max_samples=25, random_state=1, n_jobs=1)
                left_out = grow(forest, rows, Y)
                states = [tree.tree_.__getstate__() for tree in forest.estimators_]
                trees = [(state["nodes"].tolist(), state["values"].tolist()) for state in states]
                found.append((left_out.tolist(), trees))
            if found[0] != found[1]:
                return False
    except (ImportError, AttributeError, KeyError, TypeError, ValueError):
        return False
    return True


def score_by_forests(forests: list[Any], X: Any, n_labels: int, n_jobs: int) -> list[np.ndarray]:
    """Return for each forest the mean prediction of its trees (n_samples, n_labels), added in their order.

    ``forest.predict`` adds them in the order in which its threads end, which changes the last bits.
    """
    rows = _in_float32(X)
    threads = n_jobs if X.shape[0] >= _ROWS_FOR_THREADS else 1
    means = []
    for forest in forests:
        trees = [tree.tree_ for tree in forest.estimators_]
        total = np.zeros((X.shape[0], n_labels))
        predicted: Iterable[np.ndarray] = (tree.predict(rows) for tree in trees)
        if threads > 1:
            parallel = Parallel(n_jobs=threads, prefer="threads", return_as="generator")
            predicted = parallel(delayed(tree.predict)(rows) for tree in trees)
        for each in predicted:
            total += each.reshape(total.shape)
        means.append(total / len(trees))
    return means


def _warn_of_lost_features(X: Any) -> None:
    """Warn of features that scikit-learn's trees can hardly split: at most 16 float32 numbers, or 1e-6, apart."""
    low, high = _as_array(X.min(axis=0)), _as_array(X.max(axis=0))
    lost = (low < high) & (high - low <= np.maximum(_FINEST, 2.0**-20 * np.maximum(np.abs(low), np.abs(high))))
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
    """Rows in the type of scikit-learn's trees, cut off where their sums would leave its range."""
    if sparse.issparse(X):
        data = np.clip(X.data, -_LARGEST, _LARGEST).astype(np.float32)
        return sparse.csr_matrix((data, X.indices.astype(np.intc), X.indptr.astype(np.intc)), shape=X.shape)
    return np.clip(X, -_LARGEST, _LARGEST).astype(np.float32, order="C", copy=False)
