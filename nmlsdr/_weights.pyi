import numpy as np

def is_symmetric(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, place: np.ndarray) -> bool: ...
def count_union(
    neighbors: np.ndarray,
    reverse_ptr: np.ndarray,
    reverse: np.ndarray,
    ordered: np.ndarray,
    counts: np.ndarray,
    n_threads: int,
) -> None: ...
def fill_union(
    ordered: np.ndarray,
    reverse_ptr: np.ndarray,
    reverse: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    n_threads: int,
) -> None: ...
def degrees(data: np.ndarray, indptr: np.ndarray, degree: np.ndarray, n_threads: int) -> None: ...
def normalize(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    degree: np.ndarray,
    stochastic: bool,
    values: np.ndarray,
    row_sums: np.ndarray,
    n_threads: int,
) -> None: ...
