"""Rows that are in no single process: what the core asks of them, and who answers.

`_dask.rows.Rows` is the one kind there is.  The core names this class and not that one, so that imports point down
and nobody who works in memory loads Dask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["RemoteRows"]


class RemoteRows:
    """Checked rows in blocks; every block is checked by the task that reads it.

    Attributes
    ----------
    shape : tuple (n_samples, n_features)
    dtype : dtype
        float32 or float64, as the kernels read it.
    """

    shape: tuple[int, int]
    dtype: np.dtype

    def __getitem__(self, chosen: np.ndarray) -> RemoteRows:
        """Some of the rows, by a mask or by increasing numbers."""
        raise NotImplementedError

    def total(self, function: Callable[..., Any], by_row: tuple[Any, ...] = (), whole: tuple[Any, ...] = ()) -> Any:
        """Sum over the blocks of ``function(block, *its rows of by_row, *whole)``, added as a tree.

        The function gives an array, or a tuple of arrays that are added one by one.
        """
        raise NotImplementedError

    def each(self, function: Callable[..., Any], *whole: Any) -> RemoteRows:
        """The same rows after ``function(block, *whole)``, which keeps shape, dtype and storage."""
        raise NotImplementedError

    def image(self, function: Callable[..., Any], n_columns: int, whole: tuple[Any, ...] = ()) -> Any:
        """``function(block, *whole)``, of shape (rows, n_columns) and float64, for every block; nothing is computed."""
        raise NotImplementedError
