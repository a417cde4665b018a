"""Leading coordinates for the neighbour search: orthogonal coordinates that contain most of the distances.

A pair of rows whose leading coordinates are too far apart needs no full product.  The coordinates only rule out pairs,
and the search's bound covers their rounding, so the result is the same with and without them (docs/neighbours.md).

The axes V are orthonormal to 1e-10 (checked) and shortened by 1e-9, so |V'(x - y)| <= |x - y|.  The coordinates are
computed in float64 with an error of at most (D + 8) sqrt(d) 2^-53 |x - c|, then rounded to float32.  Both are relative
to the whole row, so the row's norm comes with its coordinates and its share of the error bound is taken from it.
"""

from typing import NamedTuple

import numpy as np

import nmlsdr._graph as _graph

from .._process.threads import single_threaded_blas
from .rows import kernel_rows

# How many coordinates, and from how many rows on they save time.  Measured with 128 features on two threads, rows near
# a curved surface of m dimensions, time with the coordinates over time without: 8000 rows: m = 5 .63, m = 10 1.05;
# 20 000 rows: m = 5 .42, m = 10 .55, m = 15 .68, m = 20 1.03; 30 000 rows: m = 15 .58, m = 20 .72, m = 30 1.01.  Of the
# article's sets they would leave 73 % of Scene's tiles, 86 % of Yeast's and all of Toy's.
_COORDINATES = {8: 4000, 12: 8000, 16: 14_000, 32: 20_000}
_FEATURES = 32
_SAMPLE = 256
# shares of the variance: take no more coordinates; do not try
_ENOUGH = 0.9
_LEAST = 0.6


class Leads(NamedTuple):
    """Orthogonal coordinates (n, d + 1), the squared norm behind them, and the orders that put near rows together."""

    d: int
    rows: np.ndarray
    rows_order: np.ndarray
    queries: np.ndarray | None = None
    queries_order: np.ndarray | None = None


def leading_coordinates(rows: np.ndarray, queries: np.ndarray | None, n_threads: int) -> Leads | None:
    """Coordinates for `_graph.Search`, or None if they do not contain most of the variance or there are too few rows.

    Parameters
    ----------
    rows, queries : dense ndarray of shape (n_samples, n_features) and (n_queries, n_features) or None
    n_threads : int
    """
    n, n_features = rows.shape
    n_queries = n if queries is None else 16 * len(queries)  # projecting the rows costs as much as some queries
    if n_features < _FEATURES or min(n, n_queries) < min(_COORDINATES.values()):
        return None
    with single_threaded_blas(), np.errstate(all="ignore"):  # squares may overflow: then there are none
        axes, centre = _axes(rows)
    if axes is None:
        return None
    leads = Leads(axes.shape[1], *_placed(rows, axes, centre, n_threads))
    if queries is None:
        return leads
    lead, order = _placed(queries, axes, centre, n_threads)
    return leads._replace(queries=lead, queries_order=order)


def _placed(side: np.ndarray, axes: np.ndarray, centre: np.ndarray, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, d + 1) coordinates of one side along the axes, then the squared norm of the centred row; and the rows in the
    order of the leaves of the tree of the first eight coordinates."""
    n = len(side)
    d = axes.shape[1]
    lead = np.empty((n, d + 1))
    order = np.empty(n, dtype=np.intp)
    with single_threaded_blas():  # idle BLAS threads would spin and slow down the threads of the search
        for first in range(0, n, 2048):
            part = slice(first, first + 2048)
            centred = side[part] - centre
            lead[part, :d] = centred @ axes
            lead[part, d] = np.einsum("ij,ij->i", centred, centred) * (1 + 1e-9)
    narrow = np.ascontiguousarray(lead[:, : min(8, d)])
    _graph.leaf_order(kernel_rows(narrow), order, n_threads)
    return lead, order


def _axes(rows: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Orthonormal axes (D, d) of a sample's leading principal directions, if another sample agrees with them.

    Returns the axes, or None, and the centre of both samples.
    """
    places = np.arange(2 * _SAMPLE) * len(rows) // (2 * _SAMPLE)
    sample = rows[places].astype(np.float64)
    centre = sample.mean(axis=0)
    sample -= centre
    largest = max(d for d, least in _COORDINATES.items() if len(rows) >= least)
    axes = _principal_directions(sample[::2], largest)
    d = 0 if axes is None else _n_coordinates(sample[1::2], axes, largest)
    if axes is None or d == 0:
        return None, centre
    axes = axes[:, :d]
    orthonormal = np.abs(axes.T @ axes - np.eye(d)).sum() < 1e-10
    return (axes * (1 - 1e-9) if orthonormal else None), centre  # no difference becomes longer


def _principal_directions(sample: np.ndarray, largest: int) -> np.ndarray | None:
    """The leading principal directions of a centred sample, by subspace iteration; None if they cannot suffice.

    ``largest`` is the number of coordinates that may be used; the directions are up to ``max(_COORDINATES)``.
    """
    gram = sample @ sample.T
    if not np.isfinite(gram).all():
        return None
    # d directions that hold a share s of the trace hold s^2 / d of its square in the squares of the eigenvalues
    if np.einsum("ij,ij->", gram, gram) < _LEAST**2 / largest * np.trace(gram) ** 2:
        return None
    basis, _ = np.linalg.qr(gram @ np.linalg.qr(gram[:, :: _SAMPLE // 48])[0])
    axes, _ = np.linalg.qr(sample.T @ basis)
    _, turn = np.linalg.eigh((sample @ axes).T @ (sample @ axes))
    return axes @ turn[:, ::-1][:, : max(_COORDINATES)]


def _n_coordinates(held_out: np.ndarray, axes: np.ndarray, largest: int) -> int:
    """How many axes contain enough of the variance of a held-out sample; 0 if no number up to ``largest`` does."""
    total = np.einsum("ij,ij->", held_out, held_out)
    if not 0 < total < np.inf:
        return 0
    share = np.cumsum(np.einsum("ij,ij->j", held_out @ axes, held_out @ axes)) / total
    sufficient = [d for d in _COORDINATES if 4 * d <= len(axes) and share[d - 1] >= _LEAST]
    d = next((d for d in sufficient if share[d - 1] >= _ENOUGH), sufficient[-1] if sufficient else 0)
    return d if d <= largest else 0
