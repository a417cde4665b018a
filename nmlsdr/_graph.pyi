from collections.abc import Sequence
from typing import Any

import numpy as np

from ._search.leading import Leads
from ._search.rows import Rows

class Progress:
    def step(self, budget: float) -> bool: ...
    @property
    def facts(self) -> dict[str, Any]: ...

class Search(Progress):
    def __init__(
        self,
        rows: Rows,
        queries: Rows | None,
        squared: np.ndarray,
        indices: np.ndarray,
        *,
        level: int,
        n_threads: int,
        wide: bool = False,
        sparse: int = -1,
        window_bytes: float = 0,
        leads: Leads | None = None,
    ) -> None: ...

class Tree(Progress):
    def __init__(
        self, rows: Rows, queries: Rows | None, squared: np.ndarray, indices: np.ndarray, *, level: int, n_threads: int
    ) -> None: ...

class Few(Progress):
    def __init__(
        self, rows: Rows, queries: Rows, squared: np.ndarray, indices: np.ndarray, *, level: int, n_threads: int,
        angle: bool = False,
    ) -> None: ...

class Index:
    def __init__(self, rows: Rows, *, level: int, n_threads: int) -> None: ...
    def takes(self, queries: Rows) -> bool: ...

class Views(Progress):
    def __init__(
        self, rows: Rows, queries: Rows, squared: np.ndarray, indices: np.ndarray, *, index: Index, n_threads: int
    ) -> None: ...

WAYS: Sequence[str]
SIMD_LEVELS: tuple[str, ...]

def choose(rows: Rows, queries: Rows | None, k: int, n_threads: int, large: int = ...) -> str: ...
def leaf_order(rows: Rows, order: np.ndarray, n_threads: int) -> None: ...
def pair_distances(
    rows: Rows,
    queries: Rows,
    first: int,
    indptr: np.ndarray,
    candidates: np.ndarray,
    squared: np.ndarray,
    n_threads: int,
) -> None: ...
def best_simd_level() -> int: ...
def build_facts() -> dict[str, Any]: ...
