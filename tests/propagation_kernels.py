"""The kernels of one batch over arrays of a test, with factors per row or per entry."""

import numpy as np

from nmlsdr import _propagation


def kernels(graph, factors, B, F, x, z, p, *, y=None, block=256, n_threads=1, level=0):
    """`BatchKernels` of (indptr, indices, values, sweep_values, h, e), (gain, m, k) and the batch's arrays."""
    n, width = x.shape
    gain, m, k = (np.ascontiguousarray(values.reshape(n, -1)) for values in factors)
    n_blocks = -(-n // block)
    return _propagation.BatchKernels(
        *graph, gain, m, k, B, F, x, z, np.empty_like(z) if y is None else y, p, np.empty((3, n_blocks, width)),
        np.empty((n_blocks, width), np.float32), block, n_threads, level,
    )  # fmt: skip


def sweep(bound, tol, n_sweeps, rho, along, peak):
    """Sweeps with one tol for all columns; the number made."""
    width = len(rho)
    return bound.sweeps(np.full(width, tol), n_sweeps, rho, along, peak, np.zeros(width, np.int64))
