"""Training rows prepared for services that predict a few rows at a time.

Preparing them costs as much as about twenty queries and a copy of the rows, more than one small prediction saves, so
the second small prediction does it.  The prepared rows are kept outside of the estimator: attributes, pickles, clones
and model files do not contain them, and they are freed together with the estimator.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .._moments import largest, row_blocks
from .._process.threads import check_n_jobs
from .._row_order import RowOrder, in_order
from .._search import choose_proposed, squared_neighbors
from .._search.metrics import METRIC_NAMES
from .._search.prepared import MOST_QUERIES, PreparedRows

# Binary digits.  Embeddings of dense and CSR rows differ by some 1e-14 of the largest entry, so that one entry in 4e5
# falls to another step; with 36 digits it was one in a thousand, enough to change predictions.
DIGITS = 28


def rounded(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """The rows, whose entries that differ by rounding alone are made equal, and the step of which they are multiples.

    Else the last bits of an embedding, which depend on the storage of X, decide which of equally distant rows are
    neighbours.  The step is a power of two, 2^-28 of the largest entry.
    """
    step = 0.0
    while (coarser := step_below(largest(rows))) > step:
        step = coarser
        for part in row_blocks(rows):
            rows[part] = to_step(rows[part], step)  # which may bring the largest entry to the next power of two
    return rows, step


def step_below(size: float) -> float:
    """The power of two that is 2^-28 of a number, or up to twice as much."""
    return float(np.ldexp(1.0, int(np.frexp(size)[1]) - DIGITS))


def to_step(rows: np.ndarray, step: float) -> np.ndarray:
    """The nearest multiples of the step, in the dtype of the rows."""
    multiples = rows / np.float64(step)
    np.rint(multiples, out=multiples)  # in place: there may be many
    multiples *= step
    return multiples.astype(rows.dtype, copy=False)


class _Searched(NamedTuple):
    """Training rows, the same rows in the canonical order of the fit, and the latter prepared, if they are."""

    rows: Any
    in_order: Any
    prepared: PreparedRows | None


# Cache.  Keys: the estimator; the identity of the rows, since an estimator may search two arrays, and its metric.
# Values: the rows, which keeps them and so their identity, in their order and prepared.  Stale when the estimator is
# fitted again, which removes the entry: the training rows may then be the same object with other values in it.  Also
# stale when its training rows are replaced or its metric is set.
_last: WeakKeyDictionary[Any, dict[tuple[int, str], "_Searched"]] = WeakKeyDictionary()
_MOST_ARRAYS = 2


def forget_rows(estimator: Any) -> None:
    """Drop what was prepared; every ``fit`` begins with it."""
    _last.pop(estimator, None)


def prepared_rows(estimator: Any, rows: Any, order: RowOrder, n_queries: int) -> tuple[Any, PreparedRows | None]:
    """The rows in their order, and, from the second small prediction on, these rows prepared.

    Two threads may both prepare them at the same time; the results are equal and one of them is kept.
    """
    if n_queries > MOST_QUERIES:
        return in_order(rows, order), None
    searched = _last.setdefault(estimator, {})
    key = id(rows), estimator.metric
    entry = searched.get(key)
    if entry is None:
        if len(searched) >= _MOST_ARRAYS:  # rows that were replaced
            searched.clear()
        entry = _Searched(rows, in_order(rows, order), None)
    elif entry.prepared is None:
        prepared = PreparedRows(entry.in_order, _metric_name(estimator), check_n_jobs(estimator.n_jobs))
        entry = entry._replace(prepared=prepared)
    searched[key] = entry
    return entry.in_order, entry.prepared


def _metric_name(estimator: Any) -> str:
    """The name that the search has for an estimator's metric, perhaps one of scikit-learn's; unknown names stay."""
    name = estimator.metric
    return METRIC_NAMES.get(name, name)


def neighbors_of_queries(
    estimator: Any, rows: Any, queries: Any, k: int, transformer: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """As `Engine.neighbors`, for other rows: the k nearest of ``rows`` to each query.

    The transformer is that of the fit; None if the search is exact, by rows prepared if the estimator predicts often.
    """
    options = {"queries": queries, "metric": _metric_name(estimator), "n_jobs": estimator.n_jobs}
    order = estimator._row_order
    if transformer is not None:
        squared, indices = choose_proposed(in_order(rows, order), transformer.transform(queries), k, **options)
    else:
        searched, prepared = prepared_rows(estimator, rows, order, queries.shape[0])
        if prepared is not None:
            squared, indices = prepared.neighbors(queries, k, check_n_jobs(estimator.n_jobs))
        else:
            squared, indices = squared_neighbors(searched, k, checked=True, **options)
    return squared, indices if order is None else order[indices]
