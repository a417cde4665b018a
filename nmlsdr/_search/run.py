"""A search: check the arguments, choose a method, and run its kernel in steps, between which Ctrl-C works."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import nmlsdr._graph as _graph

from .._checks.arguments import check_n_neighbors, check_row_pair, check_rows, match_rows
from .._process.threads import check_n_jobs, simd
from .far_groups import Groups
from .metrics import METRICS, SearchMetric, search_metric
from .rows import kernel_rows
from .strategy import log, strategy


class Known(NamedTuple):
    """What other searches have found of the rows of a search, as far as it can make use of this.

    Attributes
    ----------
    limits : ndarray of shape (n,), float64
        A neighbour with a larger squared distance is of no use to the row, whose list may then remain short.
    edges : ndarray of shape (n_parts + 1,), intp
        The rows edges[p] to edges[p + 1] were already compared with each other.
    """

    limits: np.ndarray
    edges: np.ndarray


def squared_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    queries: Any = None,
    metric: str = "euclidean",
    n_jobs: int | None = None,
    checked: bool = False,
    out: tuple[np.ndarray, np.ndarray] | None = None,
    known: Known | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """As `nmlsdr.graph.kneighbors`, with the canonical squared distances that order and merges must use.

    With ``metric="cosine"`` they are those of rows of length 1, 2 (1 - cos).  ``out``: the two arrays to fill.
    ``known`` is for the rows against themselves; a missing neighbour is then (inf, the largest integer).
    ``checked`` is True if X and the queries come from `check_rows`: checking a hundred thousand rows again would take
    longer than answering a query.
    """
    n_threads = check_n_jobs(n_jobs)
    by_metric = search_metric(metric)
    if queries is None:
        rows = X if checked else check_rows(X, small="float32")
        n_queries = rows.shape[0]
    else:
        rows, queries = match_rows(X, queries) if checked else check_row_pair(X, queries)
        n_queries = queries.shape[0]
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=queries is None)
    squared, indices = out or (np.empty((n_queries, k)), np.empty((n_queries, k), dtype=np.intp))
    if squared.size:
        searched = SearchedRows.of(rows, by_metric, n_threads)
        answer(searched, queries, (squared, indices), n_threads, known=known)
    return squared, indices


class SearchedRows(NamedTuple):
    """The vectors of checked rows, the metric by which they are searched, and what the kernels prepare of them."""

    rows: Any
    metric: SearchMetric
    index: _graph.Index

    @classmethod
    def of(cls, rows: Any, metric: SearchMetric, n_threads: int, *, packed: bool = False) -> "SearchedRows":
        """Prepare checked rows; ``packed``: for many searches with a few queries each."""
        vectors = metric.kernel_vectors(rows)
        settings = {"by_angle": metric.by_angle, "packed": packed, "level": simd(), "n_threads": n_threads}
        return cls(vectors, metric, _graph.Index(kernel_rows(vectors), **settings))


def answer(
    searched: SearchedRows,
    queries: Any,
    out: tuple[np.ndarray, np.ndarray],
    n_threads: int,
    *,
    known: Known | None = None,
    alone: bool = False,
    allowed: np.ndarray | None = None,
) -> None:
    """Fill the squared distances and indices in ``out``, (n_queries, k) each, at least one.

    Queries are stored as the rows of the index, in any dtype, or None for the rows themselves.  ``alone``: the rows are
    not grouped (again).  ``allowed`` (n_rows,), uint8: 0 for the rows that may be no neighbours of the queries.
    """
    squared, indices = out
    k = squared.shape[1]
    queries = None if queries is None else searched.metric.kernel_vectors(queries)
    query_arrays = None if queries is None else kernel_rows(queries)
    search = _graph.Search(searched.index, query_arrays, squared, indices, n_threads=n_threads, allowed=allowed)
    rows, query_rows = searched.metric.searched(search, searched.rows, queries)
    chosen = strategy(search.method, rows, query_rows, k, n_threads, alone=alone or allowed is not None)
    if chosen.groups is None:
        search.start(leads=chosen.leads, known=known if chosen.leads is None else None)
        advance(search)
        storage = _storage(search, chosen.method)
    else:
        near, columns = map(np.asarray, search.lists())
        _by_groups(chosen.groups, rows, query_rows, near, columns, n_threads)
        storage = ""
    search.end()
    if not alone:
        log(chosen, searched.rows, queries, f"k={k}", n_threads, storage)


def _storage(search: _graph.Search, method: str) -> str:
    """How the kernels stored the rows, which they choose for products, as the log says it."""
    if search.method != "products":
        return ""
    facts = search.facts
    integers = f", of {facts['integers']}-bit integers" if facts["integers"] else ""
    if method != "sparse products":
        return integers
    layout = ", by columns and postings" if facts["sparse"] else ", by packed blocks"
    return layout + integers


def _by_groups(
    groups: Groups, rows: np.ndarray, queries: Any, squared: np.ndarray, indices: np.ndarray, n_threads: int
) -> None:
    """Search each query in its own group; then search all rows for the queries whose answer is not certain."""
    itself = queries is None
    k = squared.shape[1]
    failed = np.ones(len(squared), dtype=bool)
    for group, members in zip(groups.rows, groups.queries, strict=True):
        if len(group) < k + itself or len(members) == 0:
            continue
        near, neighbors = _alone(rows[group], None if queries is None else queries[members], len(members), k, n_threads)
        sure = np.sqrt(near[:, -1]) < groups.apart[members]
        squared[members[sure]] = near[sure]
        indices[members[sure]] = group[neighbors[sure]]  # the rows of a group increase: ties keep their order
        failed[members[sure]] = False
    again = np.flatnonzero(failed)
    if len(again) == 0:
        return
    # without queries each row is found too, and then dropped
    near, neighbors = _alone(
        rows, rows[again] if queries is None else queries[again], len(again), k + itself, n_threads
    )
    if itself:
        diagonal = neighbors == again[:, None]
        diagonal[~diagonal.any(axis=1), -1] = True  # more than k duplicates of lower index: the last one goes
        near = near[~diagonal].reshape(-1, k)
        neighbors = neighbors[~diagonal].reshape(-1, k)
    squared[again] = near
    indices[again] = neighbors


def _alone(rows: np.ndarray, queries: Any, n: int, k: int, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest rows of each of n queries, of rows that are not grouped again."""
    lists = np.empty((n, k)), np.empty((n, k), dtype=np.intp)
    answer(SearchedRows.of(rows, METRICS["euclidean"], n_threads), queries, lists, n_threads, alone=True)
    return lists


def advance(running: Any, after_step: Callable[[], None] = lambda: None) -> None:
    """Call `step` until the search is done, and `after_step` after each; Ctrl-C works between two steps."""
    budget = 64.0
    unfinished = True
    while unfinished:
        began = time.perf_counter()
        unfinished = running.step(budget)
        took = time.perf_counter() - began
        after_step()
        budget = budget * 2 if took < 0.08 else max(1.0, budget / 2) if took > 0.2 else budget
