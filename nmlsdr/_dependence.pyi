"""Types of the kernel of the dependence weights; buffers are C-contiguous and filled in place."""

import numpy as np
from numpy.typing import NDArray

def dependence_sweep(
    X: NDArray[np.float32] | NDArray[np.float64],
    mean: NDArray[np.float64],
    visited: NDArray[np.intp],
    place: NDArray[np.intp],
    indptr: NDArray[np.intp],
    indices: NDArray[np.intp],
    share: NDArray[np.float64],
    A: NDArray[np.float64],
    scratch: NDArray[np.float64],
) -> int: ...
