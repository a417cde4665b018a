"""The strategy of a search, which the kernels call its method: by sizes, as search.h chose, or by structure.

Structure is looked for in many dense rows alone: groups that are far apart, and leading coordinates.

One line for each search goes to the logger "nmlsdr" at level DEBUG, with the method and the reason for it.
"""

import logging
from typing import Any, NamedTuple

from scipy import sparse

from .._process.threads import SIMD_LEVELS, simd
from . import far_groups, leading, memory

LOGGER = logging.getLogger("nmlsdr")

_LARGE = 4000  # rows, and 1/16 of it queries, from which looking for structure in the rows saves time


class Strategy(NamedTuple):
    """A method, one of those that `nmlsdr._search` lists, the reason for it, and the structure found in the rows."""

    method: str
    reason: str
    groups: far_groups.Groups | None = None
    leads: leading.Leads | None = None


# Methods of `_graph.METHODS` that the sizes decide: the name in the table of `nmlsdr._search`, and the reason.
_BY_SIZES = {
    "nothing": ("row numbers", "no features, or no two rows with a direction: all distances are equal"),
    "few": ("few", "{n_queries} queries: preparing the rows would cost more than it saves"),
    "tree": ("tree", "{n_features} features"),
    "prepared": ("prepared", "the rows were prepared by an earlier query"),
}


def strategy(method: str, rows: Any, queries: Any, k: int, n_threads: int, *, alone: bool = False) -> Strategy:
    """Choose the method of a search.

    Parameters
    ----------
    method : str
        The one of `_graph.METHODS` that suits the sizes.
    rows, queries : checked arrays or CSR matrices; queries None for the rows against themselves
    k : int
    n_threads : int
    alone : bool, default=False
        Whether these rows shall not be grouped (again).
    """
    n_queries = rows.shape[0] if queries is None else queries.shape[0]
    if method in _BY_SIZES:
        name, reason = _BY_SIZES[method]
        return Strategy(name, reason.format(n_queries=n_queries, n_features=rows.shape[1]))
    if sparse.issparse(rows):
        return Strategy("sparse products", "CSR rows")
    if reason := _reason_not_to_look(rows, n_queries):
        return Strategy("products", reason)
    if not alone and 4 * n_queries >= _LARGE:
        groups = far_groups.far_groups(rows, queries, k)
        if groups is not None:
            reason = f"the rows form {len(groups.rows)} tight groups that are far apart"
            return Strategy("groups", reason, groups=groups)
    leads = leading.leading_coordinates(rows, queries, n_threads)
    if leads is not None:
        return Strategy("leading coordinates", f"{leads.d} directions have most of the variance", leads=leads)
    reason = "the rows form no tight groups that are far apart, and no few directions have most of the variance"
    return Strategy("products", reason)


def _reason_not_to_look(rows: Any, n_queries: int) -> str:
    """Why no structure is looked for in dense rows; "" if it is."""
    n = rows.shape[0]
    if min(n, 16 * n_queries) < _LARGE:
        least = f"{_LARGE} rows" if n < _LARGE else f"{_LARGE // 16} queries"
        return f"fewer than {least}: looking for structure would cost more than it saves"
    if memory.is_out_of_core(rows):
        return "the rows are a memory map of more than half of the memory, which is read in order"
    return ""


def log(chosen: Strategy, rows: Any, queries: Any, size: str, n_threads: int, detail: str = "") -> None:
    """Log one line: the method, the sizes, the reason."""
    if LOGGER.isEnabledFor(logging.DEBUG):
        of = "" if queries is None else f"{queries.shape[0]} queries among "
        storage = "CSR " if sparse.issparse(rows) else ""
        LOGGER.debug(
            f"neighbours by {chosen.method}: {of}{rows.shape[0]} x {rows.shape[1]} {storage}{rows.dtype} rows, {size}, "
            f"{n_threads} thread{'s' if n_threads > 1 else ''}, {SIMD_LEVELS[simd()]}; {chosen.reason}{detail}"
        )
