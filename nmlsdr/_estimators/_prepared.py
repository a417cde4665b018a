"""Training rows prepared for services that predict a few rows at a time.

Preparing them costs as much as about twenty queries and a copy of the rows, more than one small prediction saves, so
the second small prediction does it.  The prepared rows are kept outside of the estimator: attributes, pickles, clones
and model files do not contain them, and they are freed together with the estimator.
"""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .._moments import largest, row_blocks
from .._process.threads import check_n_jobs
from .._search import choose_proposed, squared_neighbors
from .._search.prepared import MOST_QUERIES, PreparedRows

# The search behind each name that scikit-learn has for a metric; the powers of "minkowski" are 2.
METRICS = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "minkowski": "euclidean",
    "sqeuclidean": "euclidean",
    "cosine": "cosine",
}

# Binary digits.  Embeddings of dense and CSR rows differ by some 1e-14 of the largest entry, so that one entry in 4e5
# falls to another step; with 36 digits it was one in a thousand, enough to change predictions.
DIGITS = 28


def rounded(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """The rows, whose entries that differ by rounding alone are made equal, and the step of which they are multiples.

    Else the last bits of an embedding, which depend on the storage of X, decide which of equally distant rows are
    neighbours.  The step is a power of two, 2^-28 of the largest entry.
    """
    step = 0.0
    while (coarser := float(np.ldexp(1.0, int(np.frexp(largest(rows))[1]) - DIGITS))) > step:
        step = coarser
        for part in row_blocks(rows):
            rows[part] = to_step(rows[part], step)  # which may bring the largest entry to the next power of two
    return rows, step


def to_step(rows: np.ndarray, step: float) -> np.ndarray:
    """The nearest multiples of the step, in the dtype of the rows."""
    found = rows / np.float64(step)
    np.rint(found, out=found)  # in place: there may be many
    found *= step
    return found.astype(rows.dtype, copy=False)


# Cache.  Keys: the estimator; the identity of the rows, since an estimator may search two arrays, and its metric.
# Values: the rows, which keeps them and so their identity, and these rows prepared.  Stale when the estimator is fitted
# again, which removes the entry: the training rows may then be the same object with other values in it.  Also stale
# when its training rows are replaced or its metric is set.
_last: WeakKeyDictionary[Any, dict[tuple[int, str], tuple[Any, PreparedRows | None]]] = WeakKeyDictionary()
_MOST_ARRAYS = 2


def forget_rows(estimator: Any) -> None:
    """Drop what was prepared; every ``fit`` begins with it."""
    _last.pop(estimator, None)


def prepared_rows(estimator: Any, rows: Any, n_queries: int) -> PreparedRows | None:
    """The rows, prepared from the second small prediction on; None for the first, and for many queries at once.

    Two threads may both prepare them at the same time; the results are equal and one of them is kept.
    """
    if n_queries > MOST_QUERIES:
        return None
    searched = _last.setdefault(estimator, {})
    key = id(rows), estimator.metric
    _, prepared = searched.get(key, (None, None))
    if key in searched and prepared is None:
        prepared = PreparedRows(rows, estimator.metric, check_n_jobs(estimator.n_jobs))
    elif prepared is None and len(searched) >= _MOST_ARRAYS:  # rows that were replaced
        searched.clear()
    searched[key] = rows, prepared
    return prepared


def neighbors_of_queries(
    estimator: Any, rows: Any, queries: Any, k: int, transformer: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """As `Engine.neighbors`, for other rows: the k nearest of ``rows`` to each query.

    The transformer is that of the fit; None if the search is exact, by rows prepared if the estimator predicts often.
    """
    metric = METRICS.get(estimator.metric, estimator.metric)
    wanted = {"queries": queries, "metric": metric, "n_jobs": estimator.n_jobs}
    if transformer is not None:
        return choose_proposed(rows, transformer.transform(queries), k, **wanted)
    prepared = prepared_rows(estimator, rows, queries.shape[0])
    if prepared is not None:
        return prepared.neighbors(queries, k, check_n_jobs(estimator.n_jobs))
    return squared_neighbors(rows, k, checked=True, **wanted)
