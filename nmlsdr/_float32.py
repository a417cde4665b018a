"""Rows in float32, as trees read them."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._errors import level_outside

_LARGEST = 1e30
_SPREAD = 1 << 19  # numbers of the rows that are made dense, or float32, at a time


def dense_parts(X: Any) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Rows in float32, in parts."""
    if sparse.issparse(X):
        X = sparse.csr_array((in_float32(X.data), X.indices, X.indptr), X.shape)
    size = max(1, _SPREAD // X.shape[1])
    for first in range(0, X.shape[0], size):
        part = X[first : first + size]
        yield slice(first, first + size), part.toarray() if sparse.issparse(part) else in_float32(part)


def warn_of_lost_features(X: Any) -> None:
    """Warn of features that vary, but by at most 16 steps of float32 numbers of their size."""
    ends = X.min(axis=0), X.max(axis=0)
    low, high = (np.ravel(end.toarray() if sparse.issparse(end) else end).astype(np.float64) for end in ends)
    smallest, largest = (np.clip(each, -_LARGEST, _LARGEST).astype(np.float32) for each in (low, high))
    lost = (low < high) & (largest - smallest <= 2.0**-20 * np.maximum(np.abs(smallest), np.abs(largest)))
    if lost.any():
        warnings.warn(
            f"The forest, which computes in float32, cannot distinguish the values of {lost.sum()} of {len(lost)} "
            f"features, for example those of feature {lost.argmax()} between {low[lost.argmax()]:.9g} and "
            f"{high[lost.argmax()]:.9g}; standardize the features (sklearn.preprocessing.StandardScaler).",
            stacklevel=level_outside(),
        )


def in_float32(numbers: np.ndarray) -> NDArray[np.float32]:
    """Cut off where means would leave the range of float32."""
    room = np.empty(numbers.shape, dtype=np.float32)
    return np.clip(numbers, -_LARGEST, _LARGEST, out=room, casting="same_kind")
