"""What the plain functions share: dense arrays in float64, and BLAS on one thread."""

import numpy as np
import scipy.linalg  # noqa: F401  # its BLAS is one of those that the next lines limit
from threadpoolctl import ThreadpoolController

# On small arrays the threads of BLAS spend many times the work in waiting for each other.
on_one_thread = ThreadpoolController().wrap(limits=1, user_api="blas")


def dense64(X):
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
