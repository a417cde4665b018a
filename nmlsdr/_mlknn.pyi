"""Types of the ML-kNN kernels; buffers are C-contiguous and filled in place."""

import numpy as np
from numpy.typing import NDArray

def count_neighbor_labels(
    Y: NDArray[np.uint8], neighbors: NDArray[np.intp], delta: NDArray[np.int32], n_threads: int
) -> None: ...
def label_histogram(
    Y: NDArray[np.uint8], delta: NDArray[np.int32], histogram: NDArray[np.int64], n_threads: int
) -> None: ...
def look_up_posterior(
    table: NDArray[np.float64], delta: NDArray[np.int32], posterior: NDArray[np.float64], n_threads: int
) -> None: ...
