"""Training rows prepared for services that predict a few rows at a time.

To prepare them costs as much as some twenty queries and a copy of the rows, which one `predict` does not repay: the
second one of few rows does it.  What was prepared lives beside the estimator, not in it: attributes, pickles, clones
and model files know nothing of it, and it goes when the estimator does.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from .._search.prepared import MOST_QUERIES, PreparedRows
from .._threads import check_n_jobs

__all__ = ["prepared_rows"]


class _LastRows(NamedTuple):
    """What an estimator was asked before: of which rows, by which metric, and these prepared."""

    rows: Any
    metric: str
    prepared: PreparedRows | None


_before: WeakKeyDictionary[Any, _LastRows] = WeakKeyDictionary()


def prepared_rows(estimator: Any, rows: Any, n_queries: int) -> PreparedRows | None:
    """The rows, prepared from the second small question on; None for the first, and for many queries at once.

    Threads that ask at once may both prepare them, and one of the equal results stays.
    """
    if n_queries > MOST_QUERIES:
        return None
    before = _before.get(estimator)
    if before is None or before.rows is not rows or before.metric != estimator.metric:  # fitted again
        _before[estimator] = _LastRows(rows, estimator.metric, None)
        return None
    if before.prepared is None:
        prepared = PreparedRows(rows, estimator.metric, check_n_jobs(estimator.n_jobs))
        _before[estimator] = before = before._replace(prepared=prepared)
    return before.prepared
