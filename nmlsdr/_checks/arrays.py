"""The forms of arrays that kernels read."""

import math
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._errors import InputError


def contiguous(values: Any, dtype: Any = None) -> np.ndarray:
    """In C order and aligned: what came in a message may begin at any byte, and kernels read whole numbers."""
    found = np.asarray(values, dtype, order="C")
    return found if found.flags.aligned else found.copy()


def aligned(X: Any) -> Any:
    """Dense or CSR rows whose arrays are `contiguous`."""
    if not sparse.issparse(X):
        return contiguous(X)
    parts = X.data, X.indices, X.indptr
    sound = all(part.flags.aligned and part.flags.c_contiguous for part in parts)
    return X if sound else _with_parts(X, *map(contiguous, parts))


def refuse_broken(matrix: Any, name: str) -> None:
    """Refuse a CSR or CSC matrix that points outside of itself: compiled code, SciPy's too, would read and write there.

    SciPy's `check_format` looks at nothing where the last pointer is 0.
    """
    if matrix.format not in ("csr", "csc"):
        return
    size, bound = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    indptr, indices = matrix.indptr, matrix.indices
    sound = len(indptr) == size + 1 and indptr[0] == 0 and bool((indptr[:-1] <= indptr[1:]).all())
    if sound and indptr[-1] > 0:
        stored = indices[: indptr[-1]]
        sound = indptr[-1] <= min(len(indices), len(matrix.data)) and stored.min() >= 0 and stored.max() < bound
    if not sound:
        raise InputError(
            f"{name} is a broken {matrix.format.upper()} matrix: its indptr must increase from 0 to the number of "
            "stored "
            f"entries and its indices lie from 0 to {bound - 1}; build it again from its rows and columns."
        )


def long_indices(X: Any) -> Any:
    """CSR rows with int64 indices and pointers."""
    return _with_parts(X, X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64))


def _with_parts(X: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> Any:
    """X in these arrays; the constructor would choose the type of the indices."""
    changed = sparse.csr_array(X.shape, dtype=X.dtype)
    changed.data, changed.indices, changed.indptr = data, indices, indptr
    return changed


def check_array_header(file: IO[bytes], size: int, name: str, kinds: str) -> None:
    """Refuse an array whose header declares another size than that of its file, or a dtype that is none of `kinds`.

    NumPy alone would take whatever memory the header declares before it reads the values.
    """
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read_header(file)
    except MemoryError:  # Python's parser raises it at too many brackets
        raise InputError(f"{name} has a damaged header") from None
    if dtype.hasobject or dtype.kind not in kinds or not dtype.itemsize:
        raise InputError(f"{name} holds {dtype}, not numbers or text (a pickle is never read)")
    if min(shape, default=0) < 0 or file.tell() + math.prod(shape) * dtype.itemsize != size:
        raise InputError(f"{name} has another size than its header says")
