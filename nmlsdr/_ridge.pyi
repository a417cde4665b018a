"""Types of the kernels of the ridge regression; matrices are in Fortran order, and outputs are filled in place."""

import numpy as np
from numpy.typing import NDArray

def factorize(A: NDArray[np.float64], diagonal: NDArray[np.float64], factor: NDArray[np.float64]) -> int: ...
def solve_triangles(factor: NDArray[np.float64], B: NDArray[np.float64]) -> None: ...
