"""Rows in a file as a Dask array: memory maps and Zarr stores, opened by every task where it runs."""

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InputError
from ._run import import_dask

_BLOCK_BYTES = 64e6


def open_rows(source: Any, *, rows_per_block: int | None = None) -> Any:
    """Open the rows in a file as a Dask array of blocks of rows.

    Every task opens the file by its name. ``da.from_array`` of a memory map would read all of it into memory, and
    send it to the workers.

    Parameters
    ----------
    source : path or memmap
        A ``.npy`` file, a memory map of a file (or a view of one), or the folder of a Zarr array. Workers on other
        machines must find it under the same name.
    rows_per_block : int, default=None
        Number of rows of each block. Larger blocks need more memory and fewer tasks. None: blocks of about 64 MB; for
        Zarr, its own chunks.

    Returns
    -------
    dask array of shape (n_samples, n_features)
        The rows, divided by rows. Nothing is read yet.

    Raises
    ------
    ValueError
        If the source is none of these.
    ImportError
        If Dask is not installed, or zarr for a Zarr array.

    Examples
    --------
    >>> import numpy as np, tempfile  # doctest: +SKIP
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     np.save(f"{folder}/x.npy", np.arange(6.0).reshape(3, 2))
    ...     open_rows(f"{folder}/x.npy", rows_per_block=2).compute().tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    array = import_dask().array
    if isinstance(source, np.memmap):
        rows = source
    elif isinstance(source, str | os.PathLike) and Path(source).is_dir():
        stored = array.from_zarr(os.fspath(source))
        return stored if rows_per_block is None else stored.rechunk({0: rows_per_block})
    elif isinstance(source, str | os.PathLike) and Path(source).suffix == ".npy":
        rows = np.load(source, mmap_mode="r")
    else:
        raise InputError(f"source must be a memory map, a .npy file or a Zarr store, got {source!r}.")
    if rows.ndim != 2:
        raise InputError(f"source must hold a 2-D array (n_samples, n_features), got {rows.ndim} dimension(s).")
    if not isinstance(_first_map(rows).base, mmap.mmap):
        raise InputError("source is a memory map without a file; pass the map that it is a view of.")
    row_bytes = max(1, rows.shape[1] * rows.itemsize)
    step = max(1, int(_BLOCK_BYTES / row_bytes)) if rows_per_block is None else int(rows_per_block)
    if min(rows.strides) <= 0:
        raise InputError("source is a memory map in reverse order; pass it in the order of its file.")
    chunks = array.core.normalize_chunks((step, -1), rows.shape)
    meta = np.empty((0, 0), rows.dtype)
    return array.map_blocks(_read, dtype=rows.dtype, chunks=chunks, meta=meta, place=_place(rows))


def _read(*, place: tuple[Any, ...], block_info: Any = None) -> np.ndarray:
    first, last = block_info[None]["array-location"][0]
    return _open_map(*place)[first:last]


def _place(rows: np.memmap) -> tuple[str, str, int, tuple[int, ...], tuple[int, ...]]:
    """File, dtype, offset, shape and strides of a memory map or of a view of one."""
    first = _first_map(rows)  # a view moves the address, not the attribute ``offset``
    offset = first.offset + rows.ctypes.data - first.ctypes.data
    return os.path.abspath(os.fspath(first.filename)), rows.dtype.str, int(offset), rows.shape, rows.strides


def _first_map(rows: Any) -> Any:
    """The memory map that a view was taken from."""
    while isinstance(rows.base, np.memmap):
        rows = rows.base
    return rows


def _open_map(name: str, dtype: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """The same memory map, opened in this process."""
    size = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True)) + np.dtype(dtype).itemsize
    flat = np.memmap(name, dtype=np.uint8, mode="r", offset=offset, shape=(size,))
    return np.ndarray(shape, dtype, buffer=flat, strides=strides)
