"""Tight groups of rows that are far apart: each group is searched by itself, around its own centre.

The error bound of the products grows with the squared distance to the centre, so float products cannot order the rows
of a cluster whose width is 1e-4 of its distance to another: every pair would need a canonical distance.  Groups are
found by the distances of all rows from one row of the tightest group.  The difference of two such distances is a lower
bound of the distance between the two rows, so a query whose k-th neighbour in its group is nearer than that bound to
every row outside needs no other row.  The others are searched among all rows: the answer does not depend on the groups
(docs/neighbours.md).  The bound is lowered by its rounding: (D + 8) 2^-50 of each of the two distances, and 1e-9 of the
difference; below 1e-140 it excludes nothing, because squares may underflow.

With 100 000 x 32 rows, two clusters took .6 of the time of a Gaussian set at any width from 1e-2 to 1e-8 of the gap
(without groups 1.7 to 19 times), and 40 nested scales .13 of it (without groups 8 times).
"""

from typing import NamedTuple

import numpy as np

from .._process.threads import single_threaded_blas

# rows of the test that every large search makes, and of the sample that finds groups
_FIRST_TEST = 128
_SAMPLE = 256
_TIGHT = 1e-3  # squared distance of neighbours as a share of the large ones: above, products decide
_GAP = 10.0  # a gap between groups is so many times wider than the widest gap that is not one
_LEFT_OUT = 1 / 16  # share of the rows in groups too small to answer, above which there are no groups


class Groups(NamedTuple):
    """Which rows may be searched by themselves, for which queries."""

    rows: list[np.ndarray]  # the rows of each group, increasing
    queries: list[np.ndarray]  # the queries in each group, increasing
    apart: np.ndarray  # (n_queries,) no row outside of the query's group is nearer than this


def far_groups(rows: np.ndarray, queries: np.ndarray | None, k: int) -> Groups | None:
    """The far tight groups that the rows fall into; None if they do not.

    Parameters
    ----------
    rows, queries : dense ndarray of shape (n_samples, n_features) and (n_queries, n_features) or None
    k : int
    """
    with single_threaded_blas(), np.errstate(all="ignore"):  # squares may overflow: then there are no groups
        if not _is_tight(_rough_distances(_sample(rows, _FIRST_TEST))):
            return None
        sample = _sample(rows, _SAMPLE)
        between = np.array([_radii(sample, row)[0] for row in sample])  # scipy.spatial would be half of an import
        between[between == 0] = np.inf  # duplicates say nothing about the width of a group
        centre = sample[np.argmin(between.min(axis=1))]  # a row of the tightest group
        place = np.sort(_radii(sample, centre)[0])
        cuts = _cuts(place[1:])  # without that row itself: from it to the next is no gap between groups
        if not cuts:
            return None
        ends = _radii(rows, centre)
        groups = _split(ends[0], cuts)
        if sum(len(group) for group in groups if len(group) <= k) > _LEFT_OUT * len(rows):
            return None
        query_ends, query_groups = (ends, groups) if queries is None else (_radii(queries, centre), None)
        query_groups = _split(query_ends[0], cuts) if query_groups is None else query_groups
        return Groups(groups, query_groups, _apart(ends, groups, query_ends, query_groups))


def _sample(rows: np.ndarray, size: int) -> np.ndarray:
    return rows[np.arange(size) * len(rows) // size].astype(np.float64)


def _rough_distances(sample: np.ndarray) -> np.ndarray:
    """Squared distances of a sample's pairs; inf from a row to itself."""
    sample = sample - sample.mean(axis=0)
    square = np.einsum("ij,ij->i", sample, sample)
    between = np.maximum(square[:, None] + square - 2 * (sample @ sample.T), 0)
    np.fill_diagonal(between, np.inf)
    return between


def _is_tight(between: np.ndarray) -> bool:
    """Whether a quarter of the rows has a neighbour among them that is very near, compared with their distances."""
    nearest = np.partition(between.min(axis=1), len(between) // 4)[len(between) // 4]
    distances = between[::8].ravel()
    return bool(nearest < _TIGHT * np.partition(distances, int(0.9 * len(distances)))[int(0.9 * len(distances))])


def _cuts(place: np.ndarray) -> list[float]:
    """Where to cut, from the sorted distances of a sample: at gaps far wider than the others, parts again.

    In a part of some rows a gap of a quarter of its length is one too: clusters of clusters whose scales are less than
    ten times apart.
    """
    gaps = np.diff(place)
    widest = np.argsort(-gaps)[: len(gaps) // 4 + 1]
    jumps = np.flatnonzero(gaps[widest[:-1]] > _GAP * gaps[widest[1:]])
    n_cuts = jumps[0] + 1 if len(jumps) else np.count_nonzero(4 * gaps > place[-1] - place[0]) * (len(place) >= 24)
    if n_cuts == 0:
        return []
    at = np.sort(widest[:n_cuts]) + 1
    parts = np.split(place, at)
    return sorted([*(place[at - 1] + gaps[at - 1] / 2), *(cut for part in parts for cut in _cuts(part))])


def _radii(rows: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances of the rows from the centre, and how far rounding may have moved them."""
    radius = np.empty(len(rows))
    for first in range(0, len(rows), 2048):
        part = slice(first, first + 2048)
        centred = rows[part] - centre
        radius[part] = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    return radius, radius * (rows.shape[1] + 8) * 2.0**-50


def _split(place: np.ndarray, cuts: list[float]) -> list[np.ndarray]:
    """The rows between the cuts, increasing."""
    group = np.searchsorted(cuts, place)
    order = np.argsort(group, kind="stable")
    return np.split(order, np.searchsorted(group[order], np.arange(1, len(cuts) + 1)))


def _apart(
    ends: tuple[np.ndarray, np.ndarray],
    groups: list[np.ndarray],
    query_ends: tuple[np.ndarray, np.ndarray],
    query_groups: list[np.ndarray],
) -> np.ndarray:
    """A lower bound of the distance from each query to the rows outside of its group."""
    low = ends[0] - ends[1]
    high = ends[0] + ends[1]
    last = np.maximum.accumulate([high[group].max(initial=-np.inf) for group in groups])
    first = np.minimum.accumulate([low[group].min(initial=np.inf) for group in groups[::-1]])[::-1]
    apart = np.empty(len(query_ends[0]))
    for g, inside in enumerate(query_groups):
        below = query_ends[0][inside] - query_ends[1][inside] - (last[g - 1] if g else -np.inf)
        above = (first[g + 1] if g + 1 < len(query_groups) else np.inf) - query_ends[0][inside] - query_ends[1][inside]
        apart[inside] = np.minimum(below, above) * (1 - 1e-9)
    apart[~(apart > 1e-140)] = 0.0  # squares may underflow
    return apart
