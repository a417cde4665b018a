"""Predictions for a Dask array, or from training rows that are one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._validation import refuse_unequal_features
from .neighbors import Lists, lists_of_queries
from .rows import Rows
from .run import task
from .source import import_dask

__all__ = ["answers"]


def answers(
    rows: Rows, queries: Any, k: int, answer: Callable[[np.ndarray], np.ndarray], *, metric: str = "euclidean"
) -> Any:
    """``answer(indices)`` for the k nearest rows of every query, as a Dask array that is chunked as the queries are.

    Queries in memory (checked) are answered at once, with an ndarray.
    """
    refuse_unequal_features(rows.shape[1], queries.shape[1])
    dask = import_dask()
    found = lists_of_queries(rows, queries, k, metric=metric)
    blocks = [task("predict", _answer, answer, lists) for lists in found]
    if not isinstance(queries, Rows):
        return dask.compute(blocks[0])[0]
    like = answer(np.arange(k)[None])  # the number of columns, and the dtype
    sizes = np.diff(queries.edges).tolist()
    pieces = [
        dask.array.from_delayed(block, (size, *like.shape[1:]), dtype=like.dtype)
        for block, size in zip(blocks, sizes, strict=True)
    ]
    return dask.array.concatenate(pieces, axis=0)


def _answer(answer: Callable[[np.ndarray], np.ndarray], lists: Lists) -> np.ndarray:
    return answer(lists[1])
