"""Find features that predict a label on their own, and columns without which the predictions fail.

Often they were derived from the labels, or filled in with them, and new rows will not have them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold

from .rivals import Forest

LEAST_PRECISION = 0.98
LEAST_ROWS = 20  # rows needed with each of a label's two values
N_BINS = 64  # bins of equal counts, for features with more values than that
N_FOLDS = 5
TRIED_ROWS = 400  # rows, not seen by their model, on which columns are shuffled
TRIED_TIMES = 5  # shuffles of each column that is named
LARGE_FALL = 0.1  # of F1
# of the small forest that columns are tried with
TRIAL_ROWS = 2000
TRIAL_TREES = 50


class Leak(NamedTuple):
    """A feature that predicts a label on its own.

    Attributes
    ----------
    feature, label : int
        Their columns.
    precision : float
        Average precision out of fold of the label's rarer value.
    """

    feature: int
    label: int
    precision: float


def find_leaks(X: Any, y: NDArray[Any]) -> list[Leak]:
    """Find the features that alone predict a label.

    A feature is used as a score in three forms: as it is, negated, and as the share of the label among rows of similar
    values in the other folds; missing values are a value of their own.  The score has to find the rarer of the label's
    two values, because nearly any score finds a label that nearly every row has.

    Parameters
    ----------
    X : ndarray or csr_array (n, D)
        Numbers, NaN where one is missing.
    y : ndarray (n, C)
        0, 1 and -1 for unknown entries.

    Returns
    -------
    list of Leak
        By feature and label.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.arange(100)[:, None] % 3 == 0
    >>> X = np.column_stack([np.arange(100.0), np.where(y[:, 0], 1, np.nan)])
    >>> find_leaks(X, y.astype(int))
    [Leak(feature=1, label=0, precision=1.0)]
    """
    rows = np.flatnonzero((y != -1).any(axis=1))
    known = y[rows] != -1
    ones = y[rows] == 1
    n_ones = ones.sum(axis=0)
    n_known = known.sum(axis=0)
    labels = np.flatnonzero(np.minimum(n_ones, n_known - n_ones) >= LEAST_ROWS)
    if not len(labels):
        return []
    known = known[:, labels]
    rare = ones[:, labels] ^ (2 * n_ones > n_known)[labels]
    rare &= known
    folds = [test for _, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(rows)]
    found = []
    for j, column in _columns(X, rows, rare, known):
        values, bins = _binned(column)
        for c in np.flatnonzero(_may_reach(_counts(bins, rare), _counts(bins, known), tied=bins is values)):
            at = known[:, c]
            truth = rare[known[:, c], c]
            scores = [values[at], -values[at], _rates(bins, rare[:, c], known[:, c], folds)[at]]
            precision = min(1.0, max(float(average_precision_score(truth, score)) for score in scores))
            if precision >= LEAST_PRECISION:
                found.append(Leak(j, int(labels[c]), precision))
    return found


def _columns(X: Any, rows: NDArray[np.intp], rare: NDArray[np.bool_], known: NDArray[np.bool_]) -> Any:
    """Yield the number and values of each column; of sparse rows only columns that may reach LEAST_PRECISION."""
    if not sparse.issparse(X):
        for j in range(X.shape[1]):
            yield j, X[rows, j]
        return
    X = sparse.csc_array(X[rows])
    stored = sparse.csc_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape).T
    # Two bins for each column, stored and zero: in most columns too many rows of each label are among the zeros.
    inside = np.stack([stored @ rare.astype(np.float64), stored @ known.astype(np.float64)])
    n_rare = rare.sum(axis=0)
    hits, counts = np.stack([n_rare, known.sum(axis=0)])[:, None] - inside
    # Each of these hits has a precision of at most n_rare / counts, because the zeros have one score.
    lost = hits / n_rare * (1 - np.minimum(1.0, n_rare / np.maximum(counts, 1)))
    for j in np.flatnonzero((lost <= 1 - LEAST_PRECISION).any(axis=1)).tolist():
        yield j, X[:, [j]].toarray().ravel()


def _binned(column: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The column as ranks of its distinct values (missing ones last), and in bins of about equal counts."""
    _, values, counts = np.unique(column, return_inverse=True, return_counts=True)
    bins = values
    if len(counts) > N_BINS:
        bins = ((np.cumsum(counts) - counts) * N_BINS // len(column))[values]
        bins[np.isnan(column)] = N_BINS
    return values, bins


def _counts(bins: NDArray[np.intp], entries: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How many entries of each label are in each bin, (bins, labels)."""
    n = len(bins)
    members = sparse.csr_array((np.ones(n), bins, np.arange(n + 1)), shape=(n, int(bins.max()) + 1))
    return np.asarray(members.T @ entries.astype(np.float64))


def _may_reach(hits: NDArray[np.float64], counts: NDArray[np.float64], tied: bool) -> NDArray[np.bool_]:
    """Whether the best order of the bins, by decreasing share, reaches LEAST_PRECISION for each label, (labels,).

    Unless all rows of a bin are tied, its hits may come before its misses.
    """
    order = np.argsort(-hits / np.maximum(counts, 1), axis=0, kind="stable")
    hits = np.take_along_axis(hits, order, axis=0)
    counts = np.take_along_axis(counts, order, axis=0)
    rows = np.cumsum(counts, axis=0) - (0 if tied else counts - hits)
    least = LEAST_PRECISION * hits.sum(axis=0)
    return np.asarray((hits * np.cumsum(hits, axis=0) / np.maximum(rows, 1)).sum(axis=0) >= least)


def _rates(
    bins: NDArray[np.intp], rare: NDArray[np.bool_], known: NDArray[np.bool_], folds: list[NDArray[np.intp]]
) -> NDArray[np.float64]:
    """The share of a label in each row's bin among the rows of the other folds, smoothed by one average row."""
    n_bins = int(bins.max()) + 1
    share = rare.sum() / known.sum()
    hits = np.bincount(bins, rare, n_bins)
    counts = np.bincount(bins, known, n_bins)
    rates = np.empty(len(bins))
    for test in folds:
        of = bins[test]
        outside = hits - np.bincount(of, rare[test], n_bins), counts - np.bincount(of, known[test], n_bins)
        rates[test] = ((outside[0] + share) / (outside[1] + 1))[of]
    return rates


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
    X : ndarray (n, D)
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
    >>> found = find_needed(DecisionTreeClassifier().fit(X, y), X, y, [("a", 1), ("b", 1), ("c", 1)])
    >>> [(column.name, column.before) for column in found]
    [('b', 1.0)]
    """
    ends = np.cumsum([width for _, width in columns])
    features = [np.arange(end - width, end) for end, (_, width) in zip(ends, columns, strict=True)]

    def f1(group: Sequence[int], seed: int) -> float:
        changed = X.copy()
        for j in group:
            order = np.random.default_rng([seed, j]).permutation(len(X))
            changed[:, features[j]] = X[order][:, features[j]]
        given = np.reshape(model.predict(changed), y.shape) == 1
        n_marked = int((given & (y != -1)).sum() + (y == 1).sum())
        return 2 * int((given & (y == 1)).sum()) / n_marked if n_marked else 0.0

    def matter(group: Sequence[int]) -> list[int]:
        if before - f1(group, 0) < LARGE_FALL:
            return []
        half = len(group) // 2
        return [*matter(group[half:]), *matter(group[:half])] if half else [*group]

    before = f1([], 0)
    found = []
    for j in matter(range(len(columns))):
        after = float(np.mean([f1([j], seed) for seed in range(TRIED_TIMES)]))
        if before - after >= LARGE_FALL:
            found.append(Needed(columns[j][0], before, after))
    return sorted(found, key=lambda column: column.after)


def needed_by_trial(X: Any, y: NDArray[Any], columns: Sequence[tuple[str, int]], least: float) -> list[Needed]:
    """Find with a small forest the columns without which F1 on other rows falls by `least`; see `find_needed`."""
    rows = np.random.default_rng(0).permutation(np.flatnonzero((y != -1).any(axis=1)))
    n_tried = min(TRIED_ROWS, len(rows) // 3)
    if sparse.issparse(X) or n_tried < LEAST_ROWS:
        return []
    tried = rows[:n_tried]
    fitted = rows[n_tried:][:TRIAL_ROWS]
    forest = Forest(TRIAL_TREES, n_jobs=1).fit(X[fitted], y[fitted])
    found = find_needed(forest, X[tried], y[tried], columns)
    return [column for column in found if column.before - column.after >= least]
