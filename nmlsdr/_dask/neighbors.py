"""Exact neighbours of rows that are in no single process: a search in every task, and the merge of its lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._search import squared_neighbors
from .._validation import check_n_neighbors
from .meetings import cut_rows, lines
from .plan import Plan, make_plan
from .rows import Rows
from .run import each_result, say, task, task_threads

__all__ = ["Lists", "lists_of_queries", "lists_of_rows", "neighbors"]

_NOWHERE = np.iinfo(np.intp).max  # the index of a neighbour that is not there


class Lists(NamedTuple):
    """Squared distances and row numbers (n_queries, k), in their order; what is missing is (inf, _NOWHERE)."""

    squared: np.ndarray
    indices: np.ndarray


class Wanted(NamedTuple):
    """What a task searches for, and on how many threads."""

    k: int
    metric: str
    n_jobs: int | None


def neighbors(rows: Rows, n_neighbors: int, *, metric: str = "euclidean", n_jobs: int | None = None) -> Lists:
    """What `squared_neighbors` answers for rows in memory; says its plan first."""
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=True)
    plan = make_plan(rows, k, metric=metric, n_jobs=n_jobs)
    say(str(plan))
    n = rows.shape[0]
    squared, indices = np.full((n, k), np.inf), np.full((n, k), _NOWHERE, dtype=np.intp)
    ranges, tasks = _tasks(rows, plan, Wanted(k, metric, n_jobs))
    for number, found in each_result(tasks, "neighbours"):
        at = 0
        for first, last in ranges[number]:
            part = slice(first, last)
            theirs = Lists(*(values[at : at + last - first] for values in found))
            squared[part], indices[part] = merge([Lists(squared[part], indices[part]), theirs], k)
            at += last - first
    return Lists(squared, indices)


def lists_of_rows(rows: Any, n_neighbors: int, *, metric: str = "euclidean", n_jobs: int | None = None) -> list[Any]:
    """For each block of the rows its `Lists` as a delayed value; nothing is computed.  Rows in memory are one block."""
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=True)
    wanted = Wanted(k, metric, n_jobs)
    if not isinstance(rows, Rows):
        return [task("neighbors", _lists, rows, None, np.arange(rows.shape[0]), wanted)]
    ranges, tasks = _tasks(rows, make_plan(rows, k, metric=metric, n_jobs=n_jobs, probe=False), wanted)
    found = []
    for start, stop in zip(rows.edges[:-1].tolist(), rows.edges[1:].tolist(), strict=True):
        seen = [
            task("cut", _cut, search, _overlap(places, start, stop), stop - start)
            for places, search in zip(ranges, tasks, strict=True)
            if _overlap(places, start, stop)
        ]
        found.append(task("merge", merge, seen, k) if stop > start else task("empty", _empty, 0, k))
    return found


def lists_of_queries(
    rows: Any, queries: Rows | Any, n_neighbors: int, *, metric: str = "euclidean", n_jobs: int | None = None
) -> list[Any]:
    """For each block of the queries the `Lists` of its nearest rows as a delayed value.

    ``rows`` or ``queries`` may be in memory (checked): one block.  A task reads a block of queries once and the rows
    block by block.
    """
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=False)
    wanted = Wanted(k, metric, n_jobs)
    if isinstance(rows, Rows):
        readings = [rows.reading([(first, last)]) for first, last in rows._ranges()]
        firsts = [first for first, _ in rows._ranges()]
        sources: list[tuple[Any, Any]] = [(reading, rows.held(reading)) for reading in readings]
    else:
        firsts, sources = [0], [(None, task("rows", _same, rows))]
    if isinstance(queries, Rows):
        questions: list[tuple[Any, Any]] = []
        for first, last in zip(queries.edges[:-1].tolist(), queries.edges[1:].tolist(), strict=True):
            reading = queries.reading([(first, last)])
            questions.append((reading, queries.held(reading)))
    else:
        questions = [(None, task("queries", _same, queries))]
    return [
        task("merge", merge, [
            task("search-queries", _search_queries, *question, *source, first, wanted)
            for source, first in zip(sources, firsts, strict=True)
        ], k)
        for question in questions
    ]  # fmt: skip


def merge(parts: list[Lists], k: int) -> Lists:
    """The k nearest of several lists of the same queries; a row that two of them name counts once."""
    squared = np.concatenate([part[0] for part in parts], axis=1)
    indices = np.concatenate([part[1] for part in parts], axis=1)
    order = np.lexsort((indices, squared), axis=1)
    squared, indices = np.take_along_axis(squared, order, axis=1), np.take_along_axis(indices, order, axis=1)
    # the same two rows have the same distance, so the copies of a row stand side by side
    again = np.zeros(squared.shape, dtype=bool)
    again[:, 1:] = (indices[:, 1:] == indices[:, :-1]) & (indices[:, 1:] != _NOWHERE)
    if again.any():
        first = np.argsort(again, axis=1, kind="stable")
        squared, indices = np.take_along_axis(squared, first, axis=1), np.take_along_axis(indices, first, axis=1)
    return Lists(np.ascontiguousarray(squared[:, :k]), np.ascontiguousarray(indices[:, :k]))


# ---------------------------------------------------------------- tasks


def _tasks(rows: Rows, plan: Plan, wanted: Wanted) -> tuple[list[list[tuple[int, int]]], list[Any]]:
    """The ranges of rows that meet, and the task for each meeting."""
    edges = cut_rows(rows.edges, plan.order**2).tolist()
    meetings = []
    for line in lines(plan.order):
        places = [(edges[part], edges[part + 1]) for part in sorted(line) if edges[part + 1] > edges[part]]
        if places:
            meetings.append(places)
    return meetings, [rows.task(_search_meeting, rows.reading(places), places, wanted) for places in meetings]


def _same(rows: Any) -> Any:
    return rows


def _search_meeting(rows: Any, places: list[tuple[int, int]], wanted: Wanted) -> Lists:
    """The neighbours among these rows, numbered as in all rows, which keeps their order."""
    numbers = np.concatenate([np.arange(first, last) for first, last in places])
    return _lists(rows, None, numbers, wanted)


def _search_queries(
    reading: Any, values: Any, rows_reading: Any, rows_values: Any, first: int, wanted: Wanted
) -> Lists:
    """Queries and rows, each by its reading and the values that it needs, or in memory (no reading)."""
    queries = values if reading is None else reading.rows(values)
    rows = rows_values if rows_reading is None else rows_reading.rows(rows_values)
    return _lists(rows, queries, np.arange(first, first + rows.shape[0]), wanted)


def _lists(rows: Any, queries: Any, numbers: np.ndarray, wanted: Wanted) -> Lists:
    n_queries = rows.shape[0] if queries is None else queries.shape[0]
    found = _empty(n_queries, wanted.k)
    here = min(wanted.k, len(numbers) - (queries is None))
    if here and n_queries:
        squared, indices = squared_neighbors(
            rows, here, queries=queries, metric=wanted.metric, n_jobs=task_threads(wanted.n_jobs), checked=True
        )
        found.squared[:, :here], found.indices[:, :here] = squared, numbers[indices]
    return found


def _empty(n_queries: int, k: int) -> Lists:
    return Lists(np.full((n_queries, k), np.inf), np.full((n_queries, k), _NOWHERE, dtype=np.intp))


def _overlap(places: list[tuple[int, int]], start: int, stop: int) -> list[tuple[int, int, int]]:
    """(position among these places, first row within start:stop, number of rows) of the rows they share."""
    found, at = [], 0
    for first, last in places:
        begin, end = max(first, start), min(last, stop)
        if end > begin:
            found.append((at + begin - first, begin - start, end - begin))
        at += last - first
    return found


def _cut(lists: Lists, shared: list[tuple[int, int, int]], n_rows: int) -> Lists:
    """The lists of a block's rows; those of the rows that did not meet here are empty."""
    found = _empty(n_rows, lists[0].shape[1])
    for at, into, count in shared:
        for mine, theirs in zip(found, lists, strict=True):
            mine[into : into + count] = theirs[at : at + count]
    return found
