"""All rows within a radius: one search counts them, a second one of the same rows stores them.

So the memory is that of the result, which can be refused before it is allocated.
"""

from typing import Any

import numpy as np

import nmlsdr._graph as _graph

from .._checks.arguments import check_count, check_row_pair, check_rows, match_rows
from .._errors import InputError
from .._process.threads import check_n_jobs
from .memory import memory_bytes
from .metrics import search_metric
from .rows import kernel_rows
from .run import SearchedRows, advance
from .strategy import log, strategy

BYTES_PER_ENTRY = 12  # of CSR: a distance and a row number
# From so many entries on, SciPy wants int64 for the pointers, and so for the row numbers.
_MOST_INT32 = 2**31


def check_radius(radius: Any) -> float:
    """A distance of 0 or more, or infinity."""
    try:
        number = float("nan") if isinstance(radius, str | bytes | bool | np.bool_) else float(radius)
    except (TypeError, ValueError):
        number = float("nan")
    if not number >= 0:
        raise InputError(f"radius must be a number of 0 or more, got {radius!r}; it is a distance by the metric.")
    return number


def rows_within(
    X: Any,
    radius: Any,
    *,
    queries: Any = None,
    metric: str = "euclidean",
    max_bytes: int | None = None,
    n_jobs: int | None = None,
    checked: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squared distances, row numbers and pointers of a CSR matrix, as `nmlsdr.graph.radius_neighbors` has it.

    Each row is in the order (squared distance, row number).  ``checked``: as of `squared_neighbors`.
    """
    n_threads = check_n_jobs(n_jobs)
    by_metric = search_metric(metric)
    radius = check_radius(radius)
    limit = memory_bytes() / 2 if max_bytes is None else check_count(max_bytes, "max_bytes")
    if queries is None:
        rows = X if checked else check_rows(X, small="float32")
    else:
        rows, queries = match_rows(X, queries) if checked else check_row_pair(X, queries)
    n_queries = rows.shape[0] if queries is None else queries.shape[0]
    counts = np.zeros(n_queries, dtype=np.int64)
    indptr = np.zeros(n_queries + 1, dtype=np.int64)
    if n_queries and rows.shape[0]:
        search = _Search(SearchedRows.of(rows, by_metric, n_threads), queries, radius, n_threads)
        search.run(counts, None, None, None, limit)
        np.cumsum(counts, out=indptr[1:])
        _refuse_large(int(indptr[-1]), limit, "")
    squared = np.empty(indptr[-1])
    columns = np.empty(indptr[-1], dtype=np.int32)
    if len(squared):
        counts[:] = 0
        search.run(counts, indptr, squared, columns, limit)
    if len(squared) < _MOST_INT32:
        indptr = indptr.astype(np.int32)
    return squared, columns, indptr


def _refuse_large(n_entries: int, limit: float, bound: str) -> None:
    if n_entries * BYTES_PER_ENTRY > limit:
        raise InputError(
            f"the radius finds {bound}{n_entries} neighbours, which need {n_entries * BYTES_PER_ENTRY / 2**30:.3g} GiB "
            f"(max_bytes: {limit / 2**30:.3g} GiB); lower the radius, raise max_bytes, or pass queries in blocks."
        )


class _Search:
    """The same search twice; what is prepared of the rows is shared."""

    def __init__(self, searched: SearchedRows, queries: Any, radius: float, n_threads: int) -> None:
        self.searched = searched
        self.queries = None if queries is None else searched.metric.kernel_vectors(queries)
        self.radius = radius
        self.n_threads = n_threads
        self.described = None if queries is None else kernel_rows(self.queries)
        self.chosen: Any = None

    def run(self, counts: np.ndarray, indptr: Any, squared: Any, columns: Any, limit: float) -> None:
        """Count, or store; stop as soon as the neighbours need more bytes than the limit."""
        radius = self.searched.metric.kernel_radius(self.radius)
        running = _graph.RadiusSearch(
            self.searched.index, self.described, radius, counts, indptr, squared, columns, n_threads=self.n_threads
        )
        if self.chosen is None:
            self.chosen = self._strategy(running)
        running.start(self.chosen.leads)
        advance(running, lambda: _refuse_large(int(counts.sum()), limit, "more than "))
        running.end()

    def _strategy(self, running: Any) -> Any:
        rows, queries = self.searched.metric.searched(running, self.searched.rows, self.queries)
        chosen = strategy(running.method, rows, queries, 1, self.n_threads, alone=True)
        log(chosen, self.searched.rows, self.queries, f"radius={self.radius:g}", self.n_threads)
        return chosen
