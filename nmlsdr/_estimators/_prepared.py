"""Training rows prepared for services that predict a few rows at a time.

Preparing them costs as much as about twenty queries and a copy of the rows, more than one small prediction saves, so
the second small prediction does it.  The prepared rows are kept outside of the estimator: attributes, pickles, clones
and model files do not contain them, and they are freed together with the estimator.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from .._process.threads import check_n_jobs
from .._search.prepared import MOST_QUERIES, PreparedRows


class _LastRows(NamedTuple):
    """The rows that an estimator searched last, by which metric, and these rows prepared."""

    rows: Any
    metric: str
    prepared: PreparedRows | None


# Cache.  Key: the estimator.  Stale when the estimator is fitted again, which removes the entry: the training rows may
# then be the same object with other values in it.  Also stale when its training rows are replaced or its metric is set.
_last: WeakKeyDictionary[Any, _LastRows] = WeakKeyDictionary()


def forget_rows(estimator: Any) -> None:
    """Drop what was prepared; every ``fit`` begins with it."""
    _last.pop(estimator, None)


def prepared_rows(estimator: Any, rows: Any, n_queries: int) -> PreparedRows | None:
    """The rows, prepared from the second small prediction on; None for the first, and for many queries at once.

    Two threads may both prepare them at the same time; the results are equal and one of them is kept.
    """
    if n_queries > MOST_QUERIES:
        return None
    last = _last.get(estimator)
    if last is None or last.rows is not rows or last.metric != estimator.metric:
        _last[estimator] = _LastRows(rows, estimator.metric, None)
        return None
    if last.prepared is None:
        prepared = PreparedRows(rows, estimator.metric, check_n_jobs(estimator.n_jobs))
        _last[estimator] = last = last._replace(prepared=prepared)
    return last.prepared
