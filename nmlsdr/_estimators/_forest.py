"""The forest in the trend of ResidualPropagation: extremely randomised trees, fitted to the labelled rows."""

import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

FEWEST_ROWS = 6  # with fewer labelled rows there is no forest
_ROWS_OF_A_TREE = 1000  # drawn rows of each tree at most: more cost time and change the rankings by less than .003
_MOST_FEATURES = 300  # tried in each split
_LARGEST = 1e30
_FINEST = 1e-6  # range of a feature that a tree can hardly split: values less than 1e-7 apart count as equal
_TARGET_STEPS = 1024  # a forest's targets are multiples of 1 / 1024, see `grow_forest`
_ROWS_FOR_THREADS = 1000  # with fewer rows to predict, starting threads takes longer than it saves


def forest_seed(random_state: Any) -> Any:
    """Return the seed in a form that scikit-learn's forests take."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return random_state
    return int(random_state) % 2**32


def grow_forest(
    X: Any, Y: np.ndarray, *, n_estimators: int, random_state: Any, n_jobs: int
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Fit the trees, and predict every row by the trees that did not draw it.

    The targets are rounded to multiples of 1 / 1024.  The sums by which scikit-learn compares two splits are then exact
    (at most 1000 drawn rows, and 8192 labels in [-1, 1], need 53 bits), and so are the tests whether a node is pure.
    Otherwise the last bits of predictions in Y, or another order of the labels, would grow other trees.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_labels), float64
        Labels, and predictions of the unknown ones.
    n_estimators : int
    random_state : int, RandomState or None
    n_jobs : int
        Threads; the result does not depend on it.

    Returns
    -------
    forest : ExtraTreesRegressor
    predictions : ndarray of shape (n_samples, n_labels)
        Out of bag.
    left_out : ndarray of shape (n_samples,), bool
        Whether some tree did not draw the row; without one its prediction means nothing.
    """
    from sklearn.ensemble import ExtraTreesRegressor  # takes a while, which other estimators need not wait for

    n_samples, n_features = X.shape
    forest = ExtraTreesRegressor(
        n_estimators,
        min_samples_leaf=3,
        max_features=max(1, min(n_features // 3, _MOST_FEATURES)),
        bootstrap=True,
        max_samples=min(n_samples, _ROWS_OF_A_TREE),
        random_state=random_state,
        n_jobs=n_jobs,
    )
    _warn_of_lost_features(X)
    rows = _in_float32(X)
    targets = np.round(Y * _TARGET_STEPS) / _TARGET_STEPS
    forest.fit(rows, targets[:, 0] if Y.shape[1] == 1 else targets)

    # Not oob_score=True: it warns where every tree drew a row, and a warning cannot be silenced for one thread alone.
    total, n_trees = np.zeros(Y.shape), np.zeros(n_samples, dtype=np.intp)
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.flatnonzero(np.bincount(drawn, minlength=n_samples) == 0)
        total[out] += tree.predict(rows[out], check_input=False).reshape(-1, Y.shape[1])
        n_trees[out] += 1
    predictions = total / np.maximum(n_trees, 1)[:, np.newaxis]
    return forest, predictions, n_trees > 0


def score_by_forest(forest: Any, X: Any, n_labels: int, n_jobs: int) -> np.ndarray:
    """Return the mean prediction of the trees (n_samples, n_labels), added in their order.

    ``forest.predict`` adds them in the order in which its threads end, which changes the last bits.
    """
    rows = _in_float32(X)
    total = np.zeros((X.shape[0], n_labels))
    threads = n_jobs if X.shape[0] >= _ROWS_FOR_THREADS else 1
    predicted = Parallel(n_jobs=threads, prefer="threads", return_as="generator")(
        delayed(tree.predict)(rows, check_input=False) for tree in forest.estimators_
    )
    for each in predicted:
        total += each.reshape(total.shape)
    return total / len(forest.estimators_)


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
            stacklevel=7,
        )


def _as_array(row: Any) -> np.ndarray:
    return np.asarray(row.toarray() if sparse.issparse(row) else row, dtype=np.float64).ravel()


def _in_float32(X: Any) -> Any:
    """Rows in the type of scikit-learn's trees, cut off where their sums would leave its range."""
    if sparse.issparse(X):
        data = np.clip(X.data, -_LARGEST, _LARGEST).astype(np.float32)
        return sparse.csr_matrix((data, X.indices.astype(np.intc), X.indptr.astype(np.intc)), shape=X.shape)
    return np.clip(X, -_LARGEST, _LARGEST).astype(np.float32, order="C", copy=False)
