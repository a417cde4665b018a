"""The forms of arrays that kernels read."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["aligned", "contiguous", "long_indices"]


def contiguous(values: Any, dtype: Any = None) -> np.ndarray:
    """In C order and aligned: what came in a message may begin at any byte, and kernels read whole numbers."""
    return np.require(np.asarray(values), dtype, ["C", "A"])


def aligned(X: Any) -> Any:
    """Dense or CSR rows whose arrays are `contiguous`."""
    if not sparse.issparse(X):
        return contiguous(X)
    parts = X.data, X.indices, X.indptr
    return X if all(part.flags.aligned for part in parts) else _with_parts(X, *map(contiguous, parts))


def long_indices(X: Any) -> Any:
    """CSR rows with int64 indices and pointers."""
    return _with_parts(X, X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64))


def _with_parts(X: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> Any:
    """X in these arrays; the constructor would choose the type of the indices."""
    changed = sparse.csr_array(X.shape, dtype=X.dtype)
    changed.data, changed.indices, changed.indptr = data, indices, indptr
    return changed
