"""THE place that decides which way a search takes.

By sizes alone `nmlsdr_choose` of ``_c/choose.h`` decides, for C callers too; of many dense rows this module then looks
how they lie.  The way and the reason go to the logger "nmlsdr" at level DEBUG, one line a search.  What a search by
products decides while it runs stays with it: how sparse rows are stored (``_c/products_storage.h``), when float
products give way to double ones and when leading coordinates are given up (``_c/products.h``).
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from scipy import sparse

from .. import _graph
from .._threads import SIMD_LEVELS, simd
from . import far_groups, leading, memory
from .rows import kernel_rows

__all__ = ["LOGGER", "Strategy", "few", "log", "strategy"]

LOGGER = logging.getLogger("nmlsdr")

_LARGE = 4000  # so many rows, and a sixteenth of queries, repay a look; choose.h has the same for C callers
_GROUPS_FROM = 4000  # fewer rows, or a quarter of it of queries, are decided before groups repay (docs/neighbours.md)


class Strategy(NamedTuple):
    """A way, one of those that `nmlsdr._search` lists, why, and what was found on the way to it."""

    way: str
    reason: str
    groups: far_groups.Groups | None = None
    leads: leading.Leads | None = None


def strategy(rows: Any, queries: Any, k: int, n_threads: int, *, alone: bool = False) -> Strategy:
    """Choose the way of a search.

    Parameters
    ----------
    rows, queries : checked arrays or CSR matrices of at least one feature; queries None for the rows against themselves
    k : int
    n_threads : int
    alone : bool, default=False
        Whether these rows shall not be grouped (again).
    """
    n, d = rows.shape
    way = _graph.choose(kernel_rows(rows), None if queries is None else kernel_rows(queries), k, n_threads, _LARGE)
    if way == "few":
        return _few(queries)
    if way == "tree":
        return Strategy("tree", f"{d} features")
    if sparse.issparse(rows):
        return Strategy("sparse products", "CSR rows")
    if way == "products":
        return Strategy("products", f"so few {'rows' if n < _LARGE else 'queries'} repay no look how the rows lie")
    if memory.is_out_of_core(rows):
        return Strategy("products", "a memory map of more than half of the memory is read in order")
    n_queries = n if queries is None else queries.shape[0]
    if not alone and min(n, 4 * n_queries) >= _GROUPS_FROM:
        groups = far_groups.far_groups(rows, queries, k)
        if groups is not None:
            return Strategy("groups", f"the rows fall into {len(groups.members)} far tight groups", groups=groups)
    leads = leading.leading_coordinates(rows, queries, n_threads)
    if leads is not None:
        return Strategy("leading coordinates", f"{leads.d} directions hold most of the variance", leads=leads)
    return Strategy("products", "neither far tight groups nor a few leading directions")


def few(rows: Any, queries: Any, k: int, n_threads: int) -> Strategy | None:
    """The way of so few queries that they repay no preparation of the rows, dividing them by their norms included."""
    if rows.shape[1] and _graph.choose(kernel_rows(rows), kernel_rows(queries), k, n_threads) == "few":
        return _few(queries)
    return None


def _few(queries: Any) -> Strategy:
    return Strategy("few", f"{queries.shape[0]} queries repay no preparation of the rows")


def log(chosen: Strategy, rows: Any, n_queries: int | None, k: int, n_threads: int, more: str = "") -> None:
    """One line a search: the way, the sizes, the reason."""
    if LOGGER.isEnabledFor(logging.DEBUG):
        of = "" if n_queries is None else f"{n_queries} queries among "
        storage = "CSR " if sparse.issparse(rows) else ""
        LOGGER.debug(
            f"neighbours by {chosen.way}: {of}{rows.shape[0]} x {rows.shape[1]} {storage}{rows.dtype} rows, k={k}, "
            f"{n_threads} thread{'s' if n_threads > 1 else ''}, {SIMD_LEVELS[simd()]}; {chosen.reason}{more}"
        )
