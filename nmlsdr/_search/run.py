"""A search: check the arguments, choose a method, and run its kernel in steps, between which Ctrl-C works."""

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import nmlsdr._graph as _graph

from .._checks.arguments import check_metric, check_n_neighbors, check_row_pair, check_rows, match_rows
from .._process.threads import check_n_jobs, simd, worthwhile_threads
from .cosine import UnitRows, first_rows, search_by_angle
from .far_groups import Groups
from .rows import kernel_rows
from .strategy import Strategy, log, strategy

# .72 ms of 500 x 50 rows became .85 on two threads
_WORK_PER_THREAD = _graph.WORK_OF_THREAD


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


class Search(NamedTuple):
    """Checked rows and queries (None: the rows themselves), the arrays (n_queries, k) to fill, and threads."""

    rows: Any
    queries: Any
    squared: np.ndarray
    indices: np.ndarray
    n_threads: int

    @property
    def k(self) -> int:
        return self.squared.shape[1]


def squared_neighbors(
    X: Any, n_neighbors: int, *, queries: Any = None, metric: str = "euclidean", n_jobs: int | None = None,
    checked: bool = False, out: tuple[np.ndarray, np.ndarray] | None = None, known: Known | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """As `nmlsdr.graph.kneighbors`, with the canonical squared distances that order and merges must use.

    With ``metric="cosine"`` they are those of rows of length 1, 2 (1 - cos).  ``out``: the two arrays to fill.
    ``known`` is for the rows against themselves; a missing neighbour is then (inf, the largest integer).
    ``checked`` is True if X and the queries come from `check_rows`: checking a hundred thousand rows again would take
    longer than answering a query.
    """
    n_threads = check_n_jobs(n_jobs)
    find: Any = partial(search, known=known) if check_metric(metric) == "euclidean" else _search_by_angle
    if queries is None:
        rows = X if checked else check_rows(X)
        n_queries = rows.shape[0]
    else:
        rows, queries = match_rows(X, queries) if checked else check_row_pair(X, queries)
        n_queries = queries.shape[0]
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=queries is None)
    squared, indices = out or (np.empty((n_queries, k)), np.empty((n_queries, k), dtype=np.intp))
    if squared.size:
        find(Search(rows, queries, squared, indices, n_threads))
    return squared, indices


def search(one: Search, known: Known | None = None) -> None:
    """Fill the squared distances and indices."""
    rows, queries, k, n_threads = one.rows, one.queries, one.k, one.n_threads
    n_queries = None if queries is None else queries.shape[0]
    if rows.shape[1] == 0:
        log(Strategy("row numbers", "no features: all distances are 0"), rows, n_queries, k, n_threads)
        one.squared[:] = 0
        one.indices[:] = first_rows(np.arange(len(one.indices)), k, itself=queries is None)
        return
    chosen = strategy(rows, queries, k, n_threads)
    if chosen.groups is None:
        more = _run(chosen, one, known=known)
        log(chosen, rows, n_queries, k, n_threads, more)
    else:
        log(chosen, rows, n_queries, k, n_threads)
        _by_groups(chosen.groups, one)


def _search_by_angle(one: Search) -> None:
    """`search` with every row divided by its norm."""
    unit = UnitRows.of(one.rows, one.n_threads)

    def find_units(some: Any, *answer: Any) -> None:
        search(Search(*((unit.near, None) if some is None else match_rows(unit.near, some)), *answer))

    search_by_angle(find_units, unit, *one[1:])


def _by_groups(groups: Groups, one: Search) -> None:
    """Search each query in its own group; then search all rows for the queries whose answer is not certain."""
    rows, queries, squared, indices, n_threads = one
    itself, k = queries is None, one.k
    failed = np.ones(len(squared), dtype=bool)
    for group, wanted in zip(groups.rows, groups.queries, strict=True):
        if len(group) < k + itself or len(wanted) == 0:
            continue
        found = np.empty((len(wanted), k)), np.empty((len(wanted), k), dtype=np.intp)
        _run_alone(Search(rows[group], None if itself else queries[wanted], *found, n_threads))
        sure = np.sqrt(found[0][:, -1]) < groups.apart[wanted]
        squared[wanted[sure]] = found[0][sure]
        indices[wanted[sure]] = group[found[1][sure]]  # the rows of a group increase: ties keep their order
        failed[wanted[sure]] = False
    again = np.flatnonzero(failed)
    if len(again):
        _search_again(again, one)


def _search_again(again: np.ndarray, one: Search) -> None:
    """Search all rows for some of the queries; without queries each row is found too, and then dropped."""
    k, itself = one.k, one.queries is None
    more, found = np.empty((len(again), k + itself)), np.empty((len(again), k + itself), dtype=np.intp)
    _run_alone(Search(one.rows, one.rows[again] if itself else one.queries[again], more, found, one.n_threads))
    if itself:
        own = found == again[:, None]
        own[~own.any(axis=1), -1] = True  # more than k duplicates of lower index: the last one goes
        more, found = more[~own].reshape(-1, k), found[~own].reshape(-1, k)
    one.squared[again], one.indices[again] = more, found


def _run_alone(one: Search) -> None:
    """Search rows that are not grouped again."""
    _run(strategy(one.rows, one.queries, one.k, one.n_threads, alone=True), one)


def _run(chosen: Strategy, one: Search, *, known: Known | None = None) -> str:
    """Run one kernel for all queries; return a note for the log."""
    rows, queries, squared, indices, n_threads = one
    given, others = kernel_rows(rows), None if queries is None else kernel_rows(queries)
    pairs = rows.shape[0] * (rows.shape[0] / 2 if queries is None else queries.shape[0])
    n_threads = worthwhile_threads(n_threads, pairs * (rows.shape[1] + 10 * one.k), _WORK_PER_THREAD)
    running = _graph.Search(
        chosen.method, given, others, squared, indices, level=simd(), n_threads=n_threads,
        leads=chosen.leads, known=known if chosen.leads is None else None,
    )  # fmt: skip
    advance(running)
    facts = running.facts
    storage = ", by columns and postings" if facts.get("sparse") else ", by packed blocks"
    bits = facts.get("integers")
    return (storage if chosen.method == "sparse products" else "") + (f", of {bits}-bit integers" if bits else "")


def advance(running: _graph.Search) -> None:
    """Call `step` until the search is done; Ctrl-C works between two steps."""
    budget = 64.0
    more = True
    while more:
        began = time.perf_counter()
        more = running.step(budget)
        took = time.perf_counter() - began
        budget = budget * 2 if took < 0.08 else max(1.0, budget / 2) if took > 0.2 else budget
