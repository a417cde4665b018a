from typing import Any

import numpy as np

_Rows = tuple[int, int, int, int, int, int]  # kind, data, indices, indptr, n, d

class Progress:
    def step(self, budget: float) -> bool: ...

class Search(Progress):
    def __init__(
        self,
        rows: _Rows,
        asked: _Rows | None,
        squared: np.ndarray,
        indices: np.ndarray,
        wide: bool,
        sparse: int,
        level: int,
        window_bytes: float,
        n_threads: int,
        leads: tuple[Any, ...] | None = None,
    ) -> None: ...
    @property
    def facts(self) -> dict[str, Any]: ...

class Tree(Progress):
    def __init__(
        self,
        rows: _Rows,
        asked: _Rows | None,
        squared: np.ndarray,
        indices: np.ndarray,
        level: int,
        n_threads: int,
    ) -> None: ...
    @property
    def facts(self) -> dict[str, int]: ...

class Few(Progress):
    def __init__(
        self, rows: _Rows, asked: _Rows, squared: np.ndarray, indices: np.ndarray, level: int, n_threads: int
    ) -> None: ...

def prefers_few(rows: _Rows, asked: _Rows, k: int, n_threads: int) -> bool: ...
def leaf_order(rows: _Rows, order: np.ndarray, n_threads: int) -> None: ...
def prefers_tree(rows: _Rows) -> bool: ...
def best_simd_level() -> int: ...
def build_facts() -> dict[str, Any]: ...
def neighbors_dense(
    queries: np.ndarray,
    rows: np.ndarray,
    first: int,
    exclude_self: bool,
    squared: np.ndarray,
    indices: np.ndarray,
    n_threads: int,
) -> None: ...
def neighbors_csr(
    query_data: np.ndarray,
    query_indices: np.ndarray,
    query_indptr: np.ndarray,
    row_data: np.ndarray,
    row_indices: np.ndarray,
    row_indptr: np.ndarray,
    first: int,
    exclude_self: bool,
    squared: np.ndarray,
    indices: np.ndarray,
    n_threads: int,
) -> None: ...
def candidate_distances(
    queries: np.ndarray,
    rows: np.ndarray,
    indptr: np.ndarray,
    candidates: np.ndarray,
    squared: np.ndarray,
    n_threads: int,
) -> None: ...
def candidate_distances_csr(
    query_data: np.ndarray,
    query_indices: np.ndarray,
    query_indptr: np.ndarray,
    row_data: np.ndarray,
    row_indices: np.ndarray,
    row_indptr: np.ndarray,
    first: int,
    indptr: np.ndarray,
    candidates: np.ndarray,
    squared: np.ndarray,
    n_threads: int,
) -> None: ...
