"""Types of the neighbour graph's kernels; buffers are C-contiguous and filled in place."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_Reals = NDArray[np.float32] | NDArray[np.float64]
_Indices = NDArray[np.int32] | NDArray[np.int64]
# kind, addresses of data, indices and indptr, number of rows, number of features
_Rows = tuple[int, int, int, int, int, int]

class Search:
    def __new__(
        cls,
        rows: _Rows,
        asked: _Rows | None,
        squared: NDArray[np.float64],
        indices: NDArray[np.intp],
        wide: bool,
        level: int,
        window_bytes: float,
        n_threads: int,
    ) -> Search: ...
    def step(self, budget: float) -> bool: ...
    @property
    def facts(self) -> dict[str, Any]: ...

def has_openmp() -> bool: ...
def best_simd_level() -> int: ...
def neighbors_dense(
    queries: _Reals,
    rows: _Reals,
    first: int,
    exclude_self: bool,
    squared: NDArray[np.float64],
    indices: NDArray[np.intp],
    n_threads: int,
) -> None: ...
def neighbors_csr(
    query_data: _Reals,
    query_indices: _Indices,
    query_indptr: _Indices,
    row_data: _Reals,
    row_indices: _Indices,
    row_indptr: _Indices,
    first: int,
    exclude_self: bool,
    squared: NDArray[np.float64],
    indices: NDArray[np.intp],
    n_threads: int,
) -> None: ...
def candidate_distances(
    queries: _Reals,
    rows: _Reals,
    indptr: NDArray[np.int64],
    candidates: NDArray[np.int64],
    squared: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def candidate_distances_csr(
    query_data: _Reals,
    query_indices: _Indices,
    query_indptr: _Indices,
    row_data: _Reals,
    row_indices: _Indices,
    row_indptr: _Indices,
    first: int,
    indptr: NDArray[np.int64],
    candidates: NDArray[np.int64],
    squared: NDArray[np.float64],
    n_threads: int,
) -> None: ...
def count_union(
    neighbors: NDArray[np.intp],
    reverse_ptr: NDArray[np.intp],
    reverse: NDArray[np.intp],
    ordered: NDArray[np.intp],
    counts: NDArray[np.intp],
    n_threads: int,
) -> None: ...
def fill_union(
    ordered: NDArray[np.intp],
    reverse_ptr: NDArray[np.intp],
    reverse: NDArray[np.intp],
    indptr: _Indices,
    indices: _Indices,
    n_threads: int,
) -> None: ...
def degrees(data: NDArray[np.float64], indptr: _Indices, degree: NDArray[np.float64], n_threads: int) -> None: ...
def normalize(
    data: NDArray[np.float64],
    indices: _Indices,
    indptr: _Indices,
    degree: NDArray[np.float64],
    stochastic: bool,
    values: NDArray[np.float64],
    row_sums: NDArray[np.float64],
    n_threads: int,
) -> None: ...
