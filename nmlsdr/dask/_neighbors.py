"""Exact neighbours and graphs of rows that no process holds alone: a search in every task; its lists are merged."""

from itertools import starmap
from typing import Any, NamedTuple

import numpy as np

from .._checks.arguments import check_n_neighbors, refuse_unequal_features
from .._moments import RowSums
from .._search import Known, squared_neighbors
from ._plan import Plan, cut_rows, lines, make_plan
from ._rows import DaskRows, Reading
from ._run import each_result, say, task

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
    meetings = _meetings(rows, plan)
    settings = {"k": k, "metric": metric, "n_jobs": n_jobs}

    # One by one, when a thread is free for it: a search needs no pair that is farther apart than those found so far.
    def search(places: list[tuple[int, int]], edges: np.ndarray) -> Any:
        known = Known(found.squared[_numbers(places), -1], edges)
        return rows.task(_search_meeting, places, places=places, known=known, **settings)

    for number, lists in each_result(starmap(search, meetings), "neighbours", len(meetings), plan.site.n_threads):
        at = _numbers(meetings[number][0])
        merged = merge([Lists(found.squared[at], found.indices[at]), lists], k)
        found.squared[at], found.indices[at] = merged
    return found


def lists_of_queries(rows: DaskRows, queries: DaskRows, n_neighbors: int, *, metric: str = "euclidean") -> list[Any]:
    """For each block of the queries the `Lists` of its nearest rows as a delayed value.

    A task reads a block of queries and a block of rows.
    """
    refuse_unequal_features(rows.shape[1], queries.shape[1])
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=False)
    settings = {"k": k, "metric": metric, "n_jobs": None}
    readings = [(rows.reading([(first, last)]), first) for first, last in rows.ranges() if last > first]
    return [
        task(
            "merge",
            merge,
            [
                queries.task(
                    _search_queries, [block], reading=reading, inputs=rows.inputs(reading), first=first, **settings
                )
                for reading, first in readings
            ],
            k,
        )
        for block in queries.ranges()
    ]


def merge(parts: list[Lists], k: int) -> Lists:
    """The k nearest of several lists of the same queries; a row that two of them name counts once."""
    squared = np.concatenate([part[0] for part in parts], axis=1)
    indices = np.concatenate([part[1] for part in parts], axis=1)
    order = np.lexsort((indices, squared), axis=1)
    squared = np.take_along_axis(squared, order, axis=1)
    indices = np.take_along_axis(indices, order, axis=1)
    # the same two rows have the same distance, so the copies of a row stand side by side
    again = np.zeros(squared.shape, dtype=bool)
    again[:, 1:] = (indices[:, 1:] == indices[:, :-1]) & (indices[:, 1:] != _NOWHERE)
    if again.any():
        first = np.argsort(again, axis=1, kind="stable")
        squared = np.take_along_axis(squared, first, axis=1)
        indices = np.take_along_axis(indices, first, axis=1)
    return Lists(np.ascontiguousarray(squared[:, :k]), np.ascontiguousarray(indices[:, :k]))


# ---------------------------------------------------------------- tasks


def _meetings(rows: DaskRows, plan: Plan) -> list[tuple[list[tuple[int, int]], np.ndarray]]:
    """For each meeting its ranges of rows, and the edges of those among them that an earlier one compares."""
    edges = cut_rows(rows.edges, plan.order**2).tolist()
    meetings = []
    for number, line in enumerate(lines(plan.order)):
        places = [(edges[part], edges[part + 1]) for part in sorted(line) if edges[part + 1] > edges[part]]
        sizes = [last - first for first, last in places]
        if places:  # the first lines, which are parallel, hold every part once
            meetings.append((places, np.cumsum([0, *(sizes if number >= plan.order else [])], dtype=np.intp)))
    return meetings


def _search_meeting(block: RowSums, places: list[tuple[int, int]], **wanted: Any) -> Lists:
    """The neighbours among these rows, numbered as in all rows, which keeps their order."""
    return _lists(block.rows, None, _numbers(places), **wanted)


def _search_queries(block: RowSums, reading: Reading, inputs: list[Any], first: int, **wanted: Any) -> Lists:
    rows = reading.rows(inputs)
    return _lists(rows, block.rows, np.arange(first, first + rows.shape[0]), **wanted)


def _lists(
    rows: Any, queries: Any, numbers: np.ndarray, *, k: int, metric: str, n_jobs: int | None, known: Known | None = None
) -> Lists:
    n_queries = rows.shape[0] if queries is None else queries.shape[0]
    lists = _empty(n_queries, k)
    k_block = min(k, len(numbers) - (queries is None))
    if k_block and n_queries:
        squared, indices = squared_neighbors(
            rows, k_block, queries=queries, metric=metric, n_jobs=n_jobs, checked=True, known=known
        )
        is_filled = indices != _NOWHERE
        lists.squared[:, :k_block] = squared
        lists.indices[:, :k_block][is_filled] = numbers[indices[is_filled]]
    return lists


def _empty(n_queries: int, k: int) -> Lists:
    return Lists(np.full((n_queries, k), np.inf), np.full((n_queries, k), _NOWHERE, dtype=np.intp))


def _numbers(places: list[tuple[int, int]]) -> np.ndarray:
    return np.concatenate([np.arange(first, last) for first, last in places])
