"""Far tight clusters: each is searched by itself, around its own centre.

The bound of the products grows with the squared distance to the centre, so rows of a cluster whose width is 1e-4 of its
distance to another look alike to float products, and at 1e-7 to double ones too: they would be decided pair by pair.
Where every row of one group is nearer to all of its group than to any other row, the group can be searched alone.  This
is checked for each row, by distances to the centres with a margin for their rounding; the rows that fail are asked of
all rows.  So the answer is the same with groups and without, however they were found (docs/neighbours.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from .._threads import single_threaded_blas

__all__ = ["Groups", "far_groups"]

_LOOK, _SAMPLE = 128, 256  # rows of the look that every search pays, and of the sample that finds the groups
_TIGHT = 1e-3  # squared distance of neighbours in the look, as a share of its large distances: products decide above
_GAP = 10.0  # a gap is this many times the longest step within the groups
_FAILED = 1 / 16  # more rows than this that would be asked of all rows: no groups


class Groups(NamedTuple):
    """Which rows may be searched by themselves, for which queries."""

    members: list[np.ndarray]  # the rows of each group, increasing
    sure: list[np.ndarray]  # the queries whose neighbours are rows of the group, increasing
    failed: np.ndarray  # the queries that may need any row, increasing

    def pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows and sure queries of each group that answers any."""
        return [(group, sure) for group, sure in zip(self.members, self.sure, strict=True) if len(sure)]


def far_groups(rows: Any, queries: Any, k: int) -> Groups | None:
    """The far tight groups that the rows fall into; None if they do not.

    Parameters
    ----------
    rows, queries : dense ndarray of shape (n_samples, n_features) and (n_queries, n_features) or None
    k : int
    """
    n_queries = len(rows) if queries is None else len(queries)
    with single_threaded_blas(), np.errstate(all="ignore"):  # squares may overflow: then there are no groups
        found = _groups(rows) if _looks_grouped(rows) else None
        if found is None:
            return None
        groups = _certify(rows, queries, k, *found)
    if len(groups.failed) > _FAILED * n_queries or max(map(len, groups.members)) == len(rows):
        return None  # too many would be asked of all rows, or one group is all of them
    return groups


def _looks_grouped(rows: np.ndarray) -> bool:
    """Whether a quarter of a few rows has a neighbour among them that is very near, compared with their distances."""
    between = _distances(_sample(rows, _LOOK))
    nearest = np.partition(between.min(axis=1), _LOOK // 4)[_LOOK // 4]
    some = between[::8].ravel()
    return bool(nearest < _TIGHT * np.partition(some, int(0.9 * len(some)))[int(0.9 * len(some))])


def _sample(rows: np.ndarray, size: int) -> np.ndarray:
    return rows[np.arange(size) * len(rows) // size].astype(np.float64)


def _distances(sample: np.ndarray) -> np.ndarray:
    """Squared distances of a sample's pairs, roughly; inf from a row to itself."""
    sample = sample - sample.mean(axis=0)
    square = np.einsum("ij,ij->i", sample, sample)
    between = np.maximum(square[:, None] + square - 2 * (sample @ sample.T), 0)
    np.fill_diagonal(between, np.inf)
    return between


def _groups(rows: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Centres (m, D) of the groups of a sample by single linkage, and how far from them their rows may be."""
    sample = _sample(rows, _SAMPLE)
    i, j = (index.astype(np.int32) for index in np.triu_indices(len(sample), 1))  # what older scipy's csgraph takes
    between = np.sqrt(_distances(sample)[i, j])
    least = between.max() * 1e-12  # the step between duplicates: a sparse graph holds no edge of length 0
    if not 0 < least < np.inf:
        return None
    tree = csgraph.minimum_spanning_tree(sparse.coo_array((between + least, (i, j)), shape=(len(sample),) * 2)).tocoo()
    order = np.argsort(tree.data)
    steps = tree.data[order]
    for cut in np.flatnonzero(steps[1:] > _GAP * steps[:-1])[::-1]:  # the widest gap first: a group is looked at again
        kept = order[: cut + 1]
        joined = sparse.coo_array((np.ones(len(kept)), (tree.row[kept], tree.col[kept])), shape=tree.shape)
        m, of = csgraph.connected_components(joined, directed=False)
        centres = np.stack([sample[of == g].mean(axis=0) for g in range(m)])
        reach = float(steps[cut + 1]) / 8
        if (np.linalg.norm(sample - centres[of], axis=1) < reach).all():
            return centres, reach
    return None


def _certify(rows: np.ndarray, queries: Any, k: int, centres: np.ndarray, reach: float) -> Groups:
    """The rows of each group, and the queries that surely need no other row than these."""
    members, lengths, strays = _assign(rows, centres, reach)
    itself = queries is None
    if len(strays) > _FAILED * len(rows):
        return Groups([], [], np.arange(len(rows) if itself else len(queries)))
    near, own_lengths, _ = (members, lengths, strays) if itself else _assign(queries, centres, reach)
    slack = 1e-9 + rows.shape[1] * 2.0**-50  # computed distances are off by less, each relative to itself
    radius = np.array([length.max(initial=0.0) for length in lengths]) * (1 + slack)
    sure = []
    for g, centre in enumerate(centres):
        apart = _lengths(centres, centre) * (1 - slack) - radius  # to the rows of every other group, at least
        apart[g] = _lengths(rows[strays], centre).min(initial=np.inf) * (1 - slack)
        own = own_lengths[g] * (1 + slack)
        # k rows of the group are own + radius away at most, others at least this; 1e-140 is far above underflow
        others = (apart.min() - own) * (1 - slack)
        certain = (own + radius[g] < others) & (others > 1e-140) & (len(members[g]) >= k + itself)
        sure.append(near[g][certain])
    failed = np.ones(len(rows) if itself else len(queries), dtype=bool)
    failed[np.concatenate(sure)] = False
    return Groups(members, sure, np.flatnonzero(failed))


def _assign(
    rows: np.ndarray, centres: np.ndarray, reach: float
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """The rows near each centre, increasing, their distances to it, and the rows that are near none."""
    middle = centres.mean(axis=0)
    around = (centres - middle).T
    half = np.einsum("ij,ij->j", around, around) / 2
    group, length = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
    for first in range(0, len(rows), 1024):
        part = slice(first, first + 1024)
        group[part] = np.argmax((rows[part] - middle) @ around - half, axis=1)
        length[part] = _lengths(rows[part], centres[group[part]])
    group[~(length < reach)] = len(centres)
    order = np.argsort(group, kind="stable")
    members = np.split(order, np.searchsorted(group[order], np.arange(1, len(centres) + 1)))
    return members[:-1], [length[own] for own in members[:-1]], members[-1]


def _lengths(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Distances to a centre, or each row to its own, by differences: a relative error of D 2^-52 at most."""
    difference = rows - centres
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", difference, difference)))
