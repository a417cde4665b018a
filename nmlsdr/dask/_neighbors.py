"""Exact neighbours and graphs of rows that no process holds alone: a search in every task; its lists are merged."""

from itertools import starmap
from typing import Any, NamedTuple

import numpy as np

from .._checks.arguments import check_n_neighbors, refuse_unequal_features
from .._moments import RowSums
from .._row_order import RowOrder, as_given, in_place_of
from .._search import Known, squared_neighbors
from ._rows import DaskRows, Reading
from ._run import each_result, say, task
from ._search_plan import SearchPlan, cut_rows, lines, make_plan

_NO_EDGES = np.zeros(1, dtype=np.intp)  # rows in an order of their own are compared again within their part
_NOWHERE = np.iinfo(np.intp).max  # the index of a neighbour that is not there


class Lists(NamedTuple):
    """Squared distances and row numbers (n_queries, k), in their order; what is missing is (inf, _NOWHERE)."""

    squared: np.ndarray
    indices: np.ndarray


def neighbors(
    rows: DaskRows, n_neighbors: int, order: RowOrder = None, *, metric: str = "euclidean", n_jobs: int | None = None
) -> Lists:
    """What `squared_neighbors` answers for rows in memory; says its plan first.

    With ``order``, the row numbers in another order, the first in it comes first of equally distant rows. Until the
    end, rows are then numbered by their places in the order.
    """
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=True)
    plan = make_plan(rows, k, metric=metric, n_jobs=n_jobs)
    say(str(plan))
    lists_of_rows = _empty(rows.shape[0], k)
    ranks = np.arange(rows.shape[0]) if order is None else in_place_of(order)
    meetings = _meetings(rows, plan)
    options = {"k": k, "metric": metric, "n_jobs": n_jobs}

    # One by one, when a thread is free for it: a search needs no pair that is farther apart than those found so far.
    def search(places: list[tuple[int, int]], edges: np.ndarray) -> Any:
        numbers = _numbers(places)
        known = Known(lists_of_rows.squared[numbers, -1], edges if order is None else _NO_EDGES)
        return rows.task(_search_meeting, places, numbers=ranks[numbers], known=known, **options)

    for number, lists in each_result(starmap(search, meetings), "neighbours", len(meetings), plan.site.n_threads):
        at = _numbers(meetings[number][0])
        merged = merge([Lists(lists_of_rows.squared[at], lists_of_rows.indices[at]), lists], k)
        lists_of_rows.squared[at], lists_of_rows.indices[at] = merged
    return lists_of_rows if order is None else lists_of_rows._replace(indices=order[lists_of_rows.indices])


def lists_of_queries(
    rows: DaskRows, queries: DaskRows, n_neighbors: int, order: RowOrder = None, *, metric: str = "euclidean"
) -> list[Any]:
    """For each block of the queries the `Lists` of its nearest rows as a delayed value; ``order`` as in `neighbors`.

    A task reads a block of queries and a block of rows.
    """
    refuse_unequal_features(rows.shape[1], queries.shape[1])
    k = check_n_neighbors(n_neighbors, rows.shape[0], exclude_self=False)
    options = {"k": k, "metric": metric, "n_jobs": None}
    ranks = np.arange(rows.shape[0]) if order is None else in_place_of(order)
    readings = [(rows.reading([(first, last)]), ranks[first:last]) for first, last in rows.ranges() if last > first]
    return [
        task(
            "merge",
            _merge_in_order,
            [
                queries.task(
                    _search_queries, [block], reading=reading, inputs=rows.inputs(reading), numbers=numbers, **options
                )
                for reading, numbers in readings
            ],
            k,
            order,
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


def _merge_in_order(parts: list[Lists], k: int, order: RowOrder) -> Lists:
    """`merge` of rows that are numbered by their places in an order; with the numbers of the rows."""
    merged = merge(parts, k)
    return merged if order is None else merged._replace(indices=order[merged.indices])


# ---------------------------------------------------------------- tasks


def _meetings(rows: DaskRows, plan: SearchPlan) -> list[tuple[list[tuple[int, int]], np.ndarray]]:
    """For each meeting its ranges of rows, and the edges of those among them that an earlier one compares."""
    edges = cut_rows(rows.edges, plan.order**2).tolist()
    meetings = []
    for number, line in enumerate(lines(plan.order)):
        places = [(edges[part], edges[part + 1]) for part in sorted(line) if edges[part + 1] > edges[part]]
        sizes = [last - first for first, last in places]
        if places:  # the first lines, which are parallel, hold every part once
            meetings.append((places, np.cumsum([0, *(sizes if number >= plan.order else [])], dtype=np.intp)))
    return meetings


def _search_meeting(block: RowSums, numbers: np.ndarray, known: Known, **search_options: Any) -> Lists:
    """The neighbours among these rows, which are numbered by their places in the order of all rows."""
    if (np.diff(numbers) > 0).all():
        return _lists(block.rows, None, numbers, known=known, **search_options)
    local = np.argsort(numbers)
    limits = known.limits[local]
    lists = _lists(block.rows[local], None, numbers[local], known=known._replace(limits=limits), **search_options)
    return Lists(as_given(lists.squared, local), as_given(lists.indices, local))


def _search_queries(
    block: RowSums, reading: Reading, inputs: list[Any], numbers: np.ndarray, **search_options: Any
) -> Lists:
    rows = reading.rows(inputs)
    local = np.argsort(numbers)
    return _lists(rows[local], block.rows, numbers[local], **search_options)


def _lists(
    rows: Any, queries: Any, numbers: np.ndarray, *, k: int, metric: str, n_jobs: int | None, known: Known | None = None
) -> Lists:
    n_queries = rows.shape[0] if queries is None else queries.shape[0]
    lists = _empty(n_queries, k)
    n_nearest = min(k, len(numbers) - (queries is None))
    if n_nearest and n_queries:
        squared, indices = squared_neighbors(
            rows, n_nearest, queries=queries, metric=metric, n_jobs=n_jobs, checked=True, known=known
        )
        is_found = indices != _NOWHERE
        lists.squared[:, :n_nearest] = squared
        lists.indices[:, :n_nearest][is_found] = numbers[indices[is_found]]
    return lists


def _empty(n_queries: int, k: int) -> Lists:
    return Lists(np.full((n_queries, k), np.inf), np.full((n_queries, k), _NOWHERE, dtype=np.intp))


def _numbers(places: list[tuple[int, int]]) -> np.ndarray:
    return np.concatenate([np.arange(first, last) for first, last in places])
