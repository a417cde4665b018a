"""Rows as the kernels take them: what they are, where they lie, and how many."""

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class Rows(NamedTuple):
    """Addresses and sizes of dense rows in C order or of CSR rows (sorted, without repeats), and their owner."""

    kind: int  # of rows.h: dense float32, dense float64, CSR of both with int32 indices, with int64 indices
    data: int
    indices: int  # 0 for dense rows, as indptr
    indptr: int
    n: int
    d: int
    owner: Any  # keeps the memory alive


def kernel_rows(rows: Any) -> Rows:
    """Describe checked rows: a C-ordered ndarray or a CSR matrix, float32 or float64."""
    wide = int(rows.dtype == np.float64)
    if not sparse.issparse(rows):
        return Rows(wide, rows.ctypes.data, 0, 0, rows.shape[0], rows.shape[1], rows)
    kind = 2 + wide + 2 * int(rows.indices.dtype == np.int64)
    addresses = rows.data.ctypes.data, rows.indices.ctypes.data, rows.indptr.ctypes.data
    return Rows(kind, *addresses, rows.shape[0], rows.shape[1], rows)


def array_at(address: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An array over a C caller's memory."""
    kind = np.dtype(dtype)
    if 0 in shape:
        return np.empty(shape, kind)
    memory: Any = (ctypes.c_char * (math.prod(shape) * kind.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype=kind).reshape(shape)
