"""Label propagation: the closed form of eq. (8), the steps of the iterative solver, and elimination."""

import numpy as np

from .arrays import on_one_thread
from .graph import transition_matrix


@on_one_thread
def propagate(W, Y, alpha, labeled=None):
    """The closed form F = (I - A T)^-1 (I - A) Y of eq. (8), dense; Y counts as 0 on the unlabelled rows.

    alpha_i = 0 makes row i of the system F_i = Y_i.  A component without a label has the solution 0.
    With alpha (n, C) or labeled (n, C) every label has its own system.
    """
    Y = np.asarray(Y, dtype=np.float64)
    if np.ndim(alpha) == 2 or np.ndim(labeled) == 2:
        A = np.array(alpha, dtype=np.float64).reshape(-1, Y.shape[1] if np.ndim(alpha) == 2 else 1)
        known = np.ones(Y.shape, bool) if labeled is None else np.reshape(labeled, (len(Y), -1))
        A = np.broadcast_to(A, Y.shape)
        known = np.broadcast_to(known, Y.shape)
        return np.column_stack([propagate(W, Y[:, [c]], A[:, c], known[:, c]) for c in range(Y.shape[1])])
    if labeled is not None:
        Y = np.where(np.asarray(labeled)[:, None], Y, 0.0)
    A = np.broadcast_to(np.asarray(alpha, dtype=np.float64), len(Y))[:, None]
    return np.linalg.solve(np.eye(len(Y)) - A * transition_matrix(W), (1 - A) * Y)


# ---------------------------------------------------------------- the iterative solver


def bfloat16(values):
    """float32 values rounded to their upper 16 bits, to nearest and ties to even, still as float32."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    with np.errstate(over="ignore"):
        return ((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def residual(indptr, indices, values, gain, h, m, B, F, p, block, restart):
    """(z, p, rho, along, peak) in float64: z = h (B - (I - A T) F), rounded to float32 once; rho = sum m z^2;
    along = sum m p z; peak = max |z / h|.  With ``restart`` the search direction p is z, as `bfloat16`.

    (A T F)_i = gain_i sum_j v_ij F_j; an empty ``values`` means v_ij = h_j.  Eliminated rows (gain 0) have z = 0.
    With an alpha per entry, gain and m are (n, width).
    """
    gain = gain.reshape(len(F), -1)
    m = m.reshape(len(F), -1).astype(np.float64)
    v = values if len(values) else h[indices]
    gap = np.where(gain == 0, 0.0, (B + gain * _neighbor_sums(indptr, indices, v, F)) - F)
    z = (h[:, None] * gap).astype(np.float32)
    wide = z.astype(np.float64)
    p = bfloat16(z) if restart else np.where((gain == 0).all(axis=1, keepdims=True), np.float32(0), p)
    along = _block_sums((m * p.astype(np.float64)) * wide, block)
    return z, p, _block_sums((m * wide) * wide, block), along, np.abs(gap).max(axis=0)


def cg_sweeps(indptr, indices, values, k, m, e, x, z, p, rho, along, peak, tol, block, n_sweeps):
    """Conjugate gradients for K = I - diag(k) V in the inner product of the weights m; all vectors float32.

    Directions p are rounded to `bfloat16`, and a step is the minimum along what is left of them, along = <p, z>.
    (x, z, p, rho, along, peak) after ``n_sweeps`` sweeps; a column with peak <= tol keeps its x and z.
    With an alpha per entry, k and m are (n, width).
    """
    k = k.reshape(len(p), -1)
    m = m.reshape(len(p), -1).astype(np.float64)
    for _ in range(n_sweeps):
        v = values if len(values) else np.ones(len(indices), np.float32)
        y = np.where(m == 0, np.float32(0), p - k * _neighbor_sums(indptr, indices, v, p))
        curvature = _block_sums((m * p.astype(np.float64)) * y.astype(np.float64), block)
        with np.errstate(all="ignore"):
            step = _float_or_zero(np.where((peak > tol) & (curvature > 0), along / curvature, 0.0))
            z = z - step * y
            wide = z.astype(np.float64)
            fresh = _block_sums((m * wide) * wide, block)
            turn = _float_or_zero(np.where(step != 0, fresh / rho, 0.0))
        rho = fresh
        peak = np.abs(e[:, None] * z).max(axis=0).astype(np.float64)
        x = x + step * p
        p = bfloat16(z + turn * p)
        along = _block_sums((m * p.astype(np.float64)) * wide, block)
    return x, z, p, rho, along, peak


def _float_or_zero(values):
    """In float32; 0 for NaN and for what no float32 can hold."""
    return np.where(np.abs(values) <= np.finfo(np.float32).max, values, 0.0).astype(np.float32)


def flush(h, x, F, clip):
    """F + x / h, clipped on demand."""
    moved = F + x.astype(np.float64) / h[:, None]
    return np.clip(moved, 0.0, 1.0) if clip else moved


def _neighbor_sums(indptr, indices, values, p):
    """sum_j v_ij p_j over the stored entries of each row, in stored order: the r-th neighbours of all rows at once."""
    sums = np.zeros_like(p)
    counts = np.diff(indptr)
    for r in range(counts.max(initial=0)):
        rows = np.flatnonzero(counts > r)
        at = indptr[rows] + r
        sums[rows] += values[at][:, None] * p[indices[at]]
    return sums


def _block_sums(terms, block):
    """Column sums: row after row within a block, then block after block (np.sum adds in pairs: other bits)."""
    total = np.zeros(terms.shape[1])
    for first in range(0, len(terms), block):
        part = np.zeros(terms.shape[1])
        for row in terms[first : first + block]:
            part = part + row
        total = total + part
    return total


# ---------------------------------------------------------------- elimination


def eliminate(P, slack, B):
    """F = P F + B by elimination without a subtraction; ``slack`` is 1 - the row sums of P.  Returns F."""
    P = P.copy()
    slack = slack.copy()
    B = B.copy()
    n = len(P)
    pivot = np.empty(n)
    for q in range(n - 1, -1, -1):
        pivot[q] = slack[q]
        for j in range(q):
            pivot[q] += P[q, j]
        share = P[:q, [q]] / pivot[q]
        P[:q, :q] += share * P[q, :q]
        slack[:q] += share[:, 0] * slack[q]
        B[:q] += share * B[q]
    for q in range(n):
        for j in range(q):
            B[q] += P[q, j] * B[j]
        B[q] /= pivot[q]
    return B
