"""Exact neighbours of rows that are in no single process: a search in every task, and the merge of its lists."""

from typing import Any, NamedTuple

import numpy as np

from .._checks.arguments import check_n_neighbors, refuse_unequal_features
from .._moments import RowSums
from .._search import squared_neighbors
from ._meetings import cut_rows, lines
from ._plan import Plan, make_plan
from ._rows import DaskRows, Reading
from ._run import each_result, say, task, task_threads

_NOWHERE = np.iinfo(np.intp).max  # the index of a neighbour that is not there


class Lists(NamedTuple):
    """Squared distances and row numbers (n_queries, k), in their order; what is missing is (inf, _NOWHERE)."""

    squared: np.ndarray
    indices: np.ndarray


def neighbors(rows: DaskRows, n_neighbors: int, *, metric: str = "euclidean", n_jobs: int | None = None) -> Lists:
    """What `squared_neighbors` answers for rows in memory; says its plan first."""
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=True)
    plan = make_plan(rows, k, metric=metric, n_jobs=n_jobs)
    say(str(plan))
    found = _empty(rows.shape[0], k)
    ranges, tasks = _tasks(rows, plan, k=k, metric=metric, n_jobs=n_jobs)
    for number, lists in each_result(tasks, "neighbours"):
        _merge_into(found, _numbers(ranges[number]), lists)
    return found


def lists_of_rows(
    rows: DaskRows, n_neighbors: int, *, metric: str = "euclidean", n_jobs: int | None = None
) -> list[Any]:
    """For each block of the rows its `Lists` as a delayed value; nothing is computed."""
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=True)
    plan = make_plan(rows, k, metric=metric, n_jobs=n_jobs, probe=False)
    searches = list(zip(*_tasks(rows, plan, k=k, metric=metric, n_jobs=n_jobs), strict=True))
    found = []
    for start, stop in rows.ranges():
        parts = [
            task("cut", _cut, search, places, start, stop)
            for places, search in searches
            if any(first < stop and start < last for first, last in places)
        ]
        found.append(task("merge", _merged, parts, stop - start, k))
    return found


def lists_of_queries(
    rows: DaskRows, queries: DaskRows, n_neighbors: int, *, metric: str = "euclidean", n_jobs: int | None = None
) -> list[Any]:
    """For each block of the queries the `Lists` of its nearest rows as a delayed value.

    A task reads a block of queries and a block of rows.
    """
    refuse_unequal_features(rows.shape[1], queries.shape[1])
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=False)
    wanted = {"k": k, "metric": metric, "n_jobs": n_jobs}
    readings = [(rows.reading([(first, last)]), first) for first, last in rows.ranges() if last > first]
    return [
        task("merge", merge, [
            queries.task(_search_queries, [block], reading=reading, inputs=rows.inputs(reading), first=first, **wanted)
            for reading, first in readings
        ], k)
        for block in queries.ranges()
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


def _tasks(rows: DaskRows, plan: Plan, **wanted: Any) -> tuple[list[list[tuple[int, int]]], list[Any]]:
    """The ranges of rows that meet, and the task for each meeting."""
    edges = cut_rows(rows.edges, plan.order**2).tolist()
    meetings = []
    for line in lines(plan.order):
        places = [(edges[part], edges[part + 1]) for part in sorted(line) if edges[part + 1] > edges[part]]
        if places:
            meetings.append(places)
    return meetings, [rows.task(_search_meeting, places, places=places, **wanted) for places in meetings]


def _search_meeting(block: RowSums, places: list[tuple[int, int]], **wanted: Any) -> Lists:
    """The neighbours among these rows, numbered as in all rows, which keeps their order."""
    return _lists(block.rows, None, _numbers(places), **wanted)


def _search_queries(block: RowSums, reading: Reading, inputs: list[Any], first: int, **wanted: Any) -> Lists:
    rows = reading.rows(inputs)
    return _lists(rows, block.rows, np.arange(first, first + rows.shape[0]), **wanted)


def _lists(rows: Any, queries: Any, numbers: np.ndarray, *, k: int, metric: str, n_jobs: int | None) -> Lists:
    n_queries = rows.shape[0] if queries is None else queries.shape[0]
    found = _empty(n_queries, k)
    here = min(k, len(numbers) - (queries is None))
    if here and n_queries:
        squared, indices = squared_neighbors(
            rows, here, queries=queries, metric=metric, n_jobs=task_threads(n_jobs), checked=True
        )
        found.squared[:, :here], found.indices[:, :here] = squared, numbers[indices]
    return found


def _empty(n_queries: int, k: int) -> Lists:
    return Lists(np.full((n_queries, k), np.inf), np.full((n_queries, k), _NOWHERE, dtype=np.intp))


def _numbers(places: list[tuple[int, int]]) -> np.ndarray:
    return np.concatenate([np.arange(first, last) for first, last in places])


def _cut(lists: Lists, places: list[tuple[int, int]], start: int, stop: int) -> tuple[np.ndarray, Lists]:
    """The lists of the rows start:stop that were searched here, and their positions from ``start``."""
    numbers = _numbers(places)
    here = (numbers >= start) & (numbers < stop)
    return numbers[here] - start, Lists(*(values[here] for values in lists))


def _merged(parts: list[tuple[np.ndarray, Lists]], n_rows: int, k: int) -> Lists:
    found = _empty(n_rows, k)
    for at, lists in parts:
        _merge_into(found, at, lists)
    return found


def _merge_into(found: Lists, at: np.ndarray, lists: Lists) -> None:
    """Merge the lists of the rows ``at`` into those of all rows, in place."""
    merged = merge([Lists(found.squared[at], found.indices[at]), lists], found.squared.shape[1])
    found.squared[at], found.indices[at] = merged
