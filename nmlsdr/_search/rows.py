"""Rows as the kernels take them: what they are, where they lie, and how many."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._errors import InputError


class Rows(NamedTuple):
    """Addresses and sizes of dense rows in C order or of CSR rows (sorted, without repeats), and their owner."""

    kind: int  # of rows.h: dense float32, dense float64, CSR of both
    data: int
    indices: int  # 0 for dense rows, as indptr
    indptr: int
    n: int
    d: int
    owner: Any  # keeps the memory alive


def kernel_rows(rows: Any) -> Rows:
    """Describe checked rows: a C-ordered ndarray or a CSR matrix, float32 or float64.

    The kernels read columns as int32 and pointers as int64; a matrix with others is copied in part.
    """
    wide = int(rows.dtype == np.float64)
    if not sparse.issparse(rows):
        return Rows(wide, rows.ctypes.data, 0, 0, rows.shape[0], rows.shape[1], rows)
    if rows.shape[1] >= 2**31:
        raise InputError(f"Sparse rows have at most 2^31 - 1 features, got {rows.shape[1]}; drop empty columns.")
    parts = rows.data, rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int64, copy=False)
    data, indices, indptr = (part.ctypes.data for part in parts)
    return Rows(2 + wide, data, indices, indptr, rows.shape[0], rows.shape[1], parts)
