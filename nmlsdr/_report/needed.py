"""Find columns without which the predictions fail: they may restate the labels, and new rows may not have them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from .rivals import Forest

LEAST_ROWS = 20  # rows not seen by the model, without which nothing is tried
TRIED_ROWS = 400  # rows, not seen by their model, on which columns are shuffled
TRIED_TIMES = 20  # shuffles of each column that may be named
LEVEL = 0.05  # of the test that its cells matter, divided by the number of columns
LARGE_FALL = 0.1  # of F1
MOST_SPARSE_COLUMNS = (
    1000  # a file of more sparse columns holds words or codes, of which none restates the labels alone
)
# of the small forest that columns are tried with
TRIAL_ROWS = 2000
TRIAL_TREES = 50


class Needed(NamedTuple):
    """A column without which the predictions fail: its name, and F1 with its cells and with them shuffled."""

    name: str
    before: float
    after: float


def find_needed(model: Any, X: NDArray[Any], y: NDArray[Any], columns: Sequence[tuple[str, int]]) -> list[Needed]:
    """Find the columns whose cells, shuffled among rows that a model has not seen, lower F1 over all labels by 0.1.

    Columns are shuffled in groups, and only the halves of a group that matters are tried again, because most columns of
    most tables do not.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : ndarray or csr_array (n, D)
        Rows that it has not seen.
    y : ndarray (n, C)
        Their labels: 0, 1 and -1 for unknown entries.
    columns : sequence of (str, int)
        Name and number of features of each column, in the order of the features.

    Returns
    -------
    list of Needed
        The largest fall first.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> y = (X[:, [1]] > 0).astype(int)
    >>> needed = find_needed(DecisionTreeClassifier().fit(X, y), X, y, [("a", 1), ("b", 1), ("c", 1)])
    >>> [(column.name, column.before) for column in needed]
    [('b', 1.0)]
    """
    trial = _ShuffleTrial(model, X, y, _features_of(columns))
    before = trial.f1([], 0)
    needed = []
    for j in trial.telling_columns(range(len(columns)), before):
        shuffled = np.array([trial.f1([j], seed) for seed in range(TRIED_TIMES)])
        after = float(shuffled.mean())
        if before - after >= LARGE_FALL and _is_outlier(before, shuffled, LEVEL / len(columns)):
            needed.append(Needed(columns[j][0], before, after))
    return sorted(needed, key=lambda column: column.after)


def _features_of(columns: Sequence[tuple[str, int]]) -> list[NDArray[np.intp]]:
    """The numbers of the features of each column."""
    ends = np.cumsum([width for _, width in columns])
    return [np.arange(end - width, end) for end, (_, width) in zip(ends, columns, strict=True)]


class _ShuffleTrial(NamedTuple):
    """A fitted model, and rows and labels on which columns are tried; `features` holds those of each column."""

    model: Any
    X: Any
    y: NDArray[Any]
    features: Sequence[NDArray[np.intp]]

    def f1(self, columns: Sequence[int], seed: int) -> float:
        """F1 over all known labels, with the cells of these columns shuffled."""
        rows = _shuffled(self.X, [(self.features[j], [seed, j]) for j in columns])
        predicted = np.reshape(self.model.predict(rows), self.y.shape) == 1
        n_marked = int((predicted & (self.y != -1)).sum() + (self.y == 1).sum())
        return 2 * int((predicted & (self.y == 1)).sum()) / n_marked if n_marked else 0.0

    def telling_columns(self, columns: Sequence[int], before: float) -> list[int]:
        """Those of the columns without which F1 falls, by halves of groups: most columns of most tables are in vain."""
        if before - self.f1(columns, 0) < LARGE_FALL:
            return []
        half = len(columns) // 2
        if half == 0:
            return [*columns]
        return [*self.telling_columns(columns[half:], before), *self.telling_columns(columns[:half], before)]


def _is_outlier(value: float, values: NDArray[np.float64], level: float) -> bool:
    """Whether a value is larger than another draw from where these values come from, by the t distribution.

    On few rows F1 of a model that knows nothing changes by more than `LARGE_FALL` from shuffle to shuffle.
    """
    n = len(values)
    gap = value - values.mean()
    return bool(gap > special.stdtrit(n - 1, 1 - level) * values.std(ddof=1) * np.sqrt(1 + 1 / n))


def _shuffled(X: Any, groups: Sequence[tuple[NDArray[np.intp], Sequence[int]]]) -> Any:
    """Return a copy of rows in which the features of each group have changed rows together, by the group's seed."""
    n = X.shape[0]
    is_sparse = sparse.issparse(X)
    changed = sparse.csc_array(X, copy=True) if is_sparse else X.copy()
    for features, seed in groups:
        order = np.random.default_rng(seed).permutation(n)
        if is_sparse:
            new_rows = np.argsort(order).astype(changed.indices.dtype)
            stored = slice(changed.indptr[features[0]], changed.indptr[features[-1] + 1])
            changed.indices[stored] = new_rows[changed.indices[stored]]
        else:
            changed[:, features] = X[order][:, features]
    if not is_sparse:
        return changed
    changed.has_sorted_indices = False
    return changed.tocsr()


def needed_by_trial(X: Any, y: NDArray[Any], columns: Sequence[tuple[str, int]], least: float) -> list[Needed]:
    """Find with a small forest the columns without which F1 on other rows falls by `least`; see `find_needed`."""
    rows = np.random.default_rng(0).permutation(np.flatnonzero((y != -1).any(axis=1)))
    n_tried = min(TRIED_ROWS, len(rows) // 3)
    if n_tried < LEAST_ROWS or (len(columns) > MOST_SPARSE_COLUMNS and sparse.issparse(X)):
        return []
    tried = rows[:n_tried]
    fitted = rows[n_tried:][:TRIAL_ROWS]
    forest = Forest(TRIAL_TREES, n_jobs=1).fit(X[fitted], y[fitted])
    needed = find_needed(forest, X[tried], y[tried], columns)
    return [column for column in needed if column.before - column.after >= least]
