"""The solvers of eq. (8) behind `propagation.propagate`: the system as the kernels read it, and three ways to solve it.

T = D~^-1 W~ is not symmetric, but the system has a symmetric form.  Multiply eq. (8) by D~ A^-1:

    (D~ A^-1 - W~) F = D~ (A^-1 - I) Y                                                  for alpha_i > 0.

Its matrix is strictly diagonally dominant, hence positive definite, and conjugate gradients with
the preconditioner D~ A^-1 solve it.  The preconditioned residual is

    A D~^-1 [D~ (A^-1 - I) Y - (D~ A^-1 - W~) F] = (I - A) Y - (I - A T) F,

the residual of eq. (8) itself, so a sweep can stop exactly when eq. (8) is met to ``tol``.  Said
without a preconditioner: these are conjugate gradients for K = I - A T in the inner product
<u, v> = sum_i u_i v_i d~_i / alpha_i, in which K is self-adjoint with spectrum in
[1 - max alpha, 1 + max alpha].  That form needs four vectors per label (F, z, p, K p), not five.

Eliminated rows keep a fixed F: clamped rows (alpha_i = 0: F_i = Y_i), isolated rows
(F_i = (1 - alpha_i) Y_i) and rows of components without a label (F_i = 0).  They have gain_i = k_i = 0:
their residual and direction are 0, so no sweep changes them, and the first residual has moved them
to the right-hand side.

A binary graph needs no stored values.  In the variable x = D^-1/2 F the system reads
x_i = k_i sum_{j in N(i)} x_j + (1 - alpha_i) Y_i / sqrt(d_i) with k_i = alpha_i / (d_i d~_i): a sweep reads
4 bytes per edge, not 12, and multiplies nothing.

The sweep's vectors are float32, which halves its bytes.  Their error is relative to the residual of the
moment, so what accumulates is about 1e-7 of the residual since it was last computed in float64 from F.
Therefore the sweeps gather the change of F, and when a column's residual has fallen by a factor of
REFRESH, the change is added to F (float64) and the residual is computed anew from F while the search
direction stays (group-wise updates: van der Vorst & Ye 2000, SIAM J. Sci. Comput. 22, 835-852).  The
digits of F are those of float64; at tol = 1e-8 the sweeps are at most two more than with float64 vectors (measured).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from . import _propagation
from ._threads import simd_level
from .graph import normalized_weights

__all__ = ["Goal", "Progress", "System", "conjugate_gradients", "fixed_point", "lu"]

# Rows per partial sum.  Part of the result's definition: partial sums are added in block order.
BLOCK_ROWS = 256
# Entries that a kernel call may touch, (nnz + 10 n) width sweeps: about .1 s, so that Ctrl-C is served.
WORK_PER_CALL = 2e8
# Fewer entries than this for each thread, and a thread costs more than it brings (on a busy machine far more).
WORK_PER_THREAD = 2e5
# Below this a row is clamped: what it would take from its neighbours is lost in rounding, and 1 / alpha in overflow.
SMALLEST_ALPHA = 1e-200
# Every ROUND sweeps, a column whose residual has fallen by REFRESH since its last float64 residual gets a new one.
ROUND = 4
REFRESH = 1e-3
# A direction is kept only if the new residual's norm^2 is this close to what the sweeps believed; else the column
# starts again from its residual.  (Kept at a factor of 2.9, it made the Toy set diverge.)
ASTRAY = 0.01


class Progress(NamedTuple):
    """What a callback of `propagate` is told after every sweep.

    Attributes
    ----------
    n_iter : int
        Sweeps over the present batch of labels.
    residual : float
        The largest residual among them.
    n_done : int
        Labels that are finished.
    n_labels : int
        All labels.
    """

    n_iter: int
    residual: float
    n_done: int
    n_labels: int


class Goal(NamedTuple):
    """When to stop, and whom to tell."""

    tol: float
    max_iter: int | None
    callback: Callable[[Progress], object] | None


class System:
    """Graph, alpha and labels as the kernels read them (letters: `_propagation.pyx`).

    Weighted graphs: v = W~, h = 1, gain = k = alpha / d~.
    Binary graphs: v_ij = h_j = d_j^-1/2, gain_i = alpha_i / sum_j h_j, k = alpha / (d d~).
    """

    def __init__(
        self, W: sparse.csr_array, Y: np.ndarray, alpha: np.ndarray, labeled: np.ndarray, n_threads: int
    ) -> None:
        n = W.shape[0]
        self.W, self.Y, self.alpha = W, Y, alpha
        work = (W.nnz + 10 * n) * min(Y.shape[1], _propagation.MAX_WIDTH)
        self.n_threads = n_threads = max(1, min(n_threads, int(work / WORK_PER_THREAD)))
        self.indptr = W.indptr.astype(np.int64, copy=False)
        self.indices = W.indices.astype(np.int32, copy=False)
        binary = W.nnz == 0 or (W.data[0] > 0 and W.data.min() == W.data.max())
        if binary:
            self.values = np.empty(0)
            degree = np.diff(self.indptr).astype(np.float64)
            e = np.sqrt(np.maximum(degree, 1.0))
            self.h = 1.0 / e
            sums = np.empty(n)
            _propagation.multiply(self.indptr, self.indices, self.h, sums, n_threads)
            row_sums = e * sums  # d d~
        else:
            exponent = math.frexp(W.data.max())[1]  # the scale of W is free: keep its square root in range
            scaled = sparse.csr_array((np.ldexp(W.data, -exponent), W.indices, W.indptr), shape=W.shape)
            self.values, row_sums = normalized_weights(scaled, stochastic=False, n_jobs=n_threads)
            self.h = e = np.ones(n)
            sums = row_sums
        reached = labeled.astype(np.uint8)
        _propagation.reach(self.indptr, self.indices, self.values, reached, np.empty(n, np.int32))
        self.n_unreached = int(n - np.count_nonzero(reached))
        self.kept = (alpha >= SMALLEST_ALPHA) & (row_sums > 0) & (reached != 0)
        self.own = np.where(alpha < SMALLEST_ALPHA, 1.0, 1.0 - alpha)
        self.gain, k, self.m = np.zeros((3, n))
        np.divide(alpha, sums, out=self.gain, where=self.kept)
        np.divide(alpha, row_sums, out=k, where=self.kept)
        np.divide(row_sums, alpha, out=self.m, where=self.kept)
        self.e = e.astype(np.float32)
        if binary:
            self.k, self.sweep_values = k.astype(np.float32), np.empty(0, np.float32)
        else:  # k is folded into the values, which are then alpha_i T_ij <= 1 and cannot overflow float32
            self.k = self.kept.astype(np.float32)
            self.sweep_values = (self.values * np.repeat(k, np.diff(self.indptr))).astype(np.float32)
        self.n_blocks = -(-n // BLOCK_ROWS)
        self.avx2 = _propagation.has_avx2() and simd_level() != "portable"

    def first_iterate(self, init: np.ndarray | None) -> np.ndarray:
        """F(0) = Y as in the article, or one sweep of eq. (4) from ``init``; eliminated rows have their F.

        The sweep makes the residual of a row with a tiny alpha as tiny, or its weight 1 / alpha would
        drown all other rows in the inner product.
        """
        F = self.Y.copy() if init is None else init.copy()
        F[~self.kept] = self.own[~self.kept, None] * self.Y[~self.kept]
        if init is None:
            return F
        out = np.empty_like(F)
        self.sweep(F, out)
        return out

    def sweep(self, F: np.ndarray, out: np.ndarray) -> float:
        """out = A T F + (I - A) Y, eq. (4); the residual of F."""
        tops = np.empty((self.n_blocks, 1))
        return float(
            _propagation.fixed_point_sweep(
                self.indptr, self.indices, self.values, self.gain, self.own, self.h, self.Y, F, out,
                tops, BLOCK_ROWS, self.n_threads,
            )
        )  # fmt: skip


# ---------------------------------------------------------------- conjugate gradients


class _Room:
    """Memory for the batches, which use it one after another: fresh pages cost as much as a sweep."""

    def __init__(self) -> None:
        self._flat: dict[str, np.ndarray] = {}

    def array(self, name: str, n: int, width: int, dtype: type) -> np.ndarray:
        """An (n, width) array on a cache line: a float32 row of 16 columns is then one line."""
        size = np.dtype(dtype).itemsize
        flat = self._flat.get(name)
        if flat is None or len(flat) < n * width:
            raw: np.ndarray = np.empty(n * width + 64 // size, dtype)
            flat = self._flat[name] = raw[(-raw.ctypes.data % 64) // size :]
        return flat[: n * width].reshape(n, width)


class _Batch:
    """Up to MAX_WIDTH labels on their way, all arrays (n, width) and one column per label.

    F and B = (I - A) Y are float64; the sweep's vectors x (the change of F), z, p and y are float32.
    """

    def __init__(self, system: System, F: np.ndarray, columns: np.ndarray, room: _Room) -> None:
        self.system = system
        self._allocate(len(F), columns, room)
        count = len(columns)
        self.F[:, :count] = F[:, columns]
        np.multiply(system.Y[:, columns], system.own[:, None], out=self.B[:, :count])
        self.settled = np.full(count, math.inf)
        self.residual(np.ones(count, bool), restart=True)
        self.trusted = self.peak[:count].copy()

    def _allocate(self, n: int, columns: np.ndarray, room: _Room) -> None:
        width = next(w for w in (4, 8, 16) if w >= len(columns))
        self.columns = columns
        self.F, self.B = (room.array(name, n, width, np.float64) for name in "FB")
        self.x, self.z, self.p, self.y = (room.array(name, n, width, np.float32) for name in "xzpy")
        self.x[...] = 0.0
        for buffer in (self.F, self.B, self.z, self.p):
            buffer[:, len(columns) :] = 0.0
        self.rho, self.peak = np.zeros((2, width))
        self.partial = np.empty((2, self.system.n_blocks, width))
        self.tops = np.empty((self.system.n_blocks, width), np.float32)

    def _mask(self, take: np.ndarray) -> np.ndarray:
        mask = np.zeros(len(self.peak), np.int32)
        mask[: len(take)] = take
        return mask

    def residual(self, take: np.ndarray, *, restart: bool) -> None:
        """Residual of F for these columns; with ``restart`` it is the next direction too."""
        s = self.system
        _propagation.residual(
            s.indptr, s.indices, s.values, s.gain, s.h, s.m, self.B, self.F, self._mask(take), restart,
            self.z, self.p, self.rho, self.peak, self.partial, BLOCK_ROWS, s.n_threads, s.avx2,
        )  # fmt: skip
        self.peak[~np.isfinite(self.rho)] = math.inf  # a maximum overlooks NaN, a sum does not

    def flush(self, take: np.ndarray, *, clip: bool) -> None:
        """Add the gathered change to F."""
        s = self.system
        _propagation.flush(s.gain, s.h, self._mask(take), clip, self.x, self.F, BLOCK_ROWS, s.n_threads, s.avx2)

    def sweeps(self, tol: float, n_sweeps: int) -> int:
        s = self.system
        made = _propagation.cg_sweeps(
            s.indptr, s.indices, s.sweep_values, s.k, s.m, s.e, self.x, self.z, self.p, self.y, self.rho,
            self.peak, self.partial, self.tops, tol, BLOCK_ROWS, n_sweeps, s.n_threads, s.avx2,
        )  # fmt: skip
        return int(made)

    def active(self, tol: float) -> np.ndarray:
        return self.peak[: len(self.columns)] > tol

    def refresh(self, tol: float) -> np.ndarray:
        """Compute the residuals that have fallen by REFRESH anew; the columns that this shows to be stuck."""
        peak = self.peak[: len(self.columns)]
        worn = (peak > tol) & (peak <= REFRESH * self.trusted)
        stuck = np.zeros_like(worn)
        if worn.any():
            claimed = self.rho[: len(peak)].copy()
            self.flush(worn, clip=False)
            self.residual(worn, restart=False)
            astray = worn & ~(np.abs(self.rho[: len(peak)] - claimed) <= ASTRAY * claimed)
            self.p[:, np.flatnonzero(astray)] = self.z[:, np.flatnonzero(astray)]
            stuck[worn] = peak[worn] > 0.5 * self.trusted[worn]
            self.trusted[worn] = peak[worn]
        np.maximum(self.trusted, peak, out=self.trusted)
        return stuck

    def settle(self, leaving: np.ndarray, F: np.ndarray, tol: float, *, last: bool) -> float:
        """Let columns go whose clipped F has a residual of at most ``tol``; the largest residual of those gone.

        A column whose F misses ``tol`` goes on from there, unless that has not helped before, or this is ``last``.
        """
        self.flush(leaving, clip=True)
        self.residual(leaving, restart=True)
        count = len(self.columns)
        peak = self.peak[:count].copy()
        stay = ~leaving
        if not last:
            stay |= (peak > tol) & (peak <= 0.5 * self.settled)
        worst = float(peak[~stay].max(initial=0.0))
        self.settled = np.where(leaving, peak, self.settled)
        self.trusted = np.where(leaving, peak, self.trusted)
        gone = np.flatnonzero(~stay)
        F[:, self.columns[gone]] = self.F[:, gone]
        at = np.flatnonzero(stay)
        if len(at) == 0:
            self.columns = self.columns[at]
            return worst
        old = (self.F, self.B, self.x, self.z, self.p, self.rho, peak)
        self._allocate(len(F), self.columns[at], _Room())
        for new, values in zip((self.F, self.B, self.x, self.z, self.p, self.rho, self.peak), old, strict=True):
            new[..., : len(at)] = values[..., at]
        self.settled, self.trusted = self.settled[at], self.trusted[at]
        return worst


def conjugate_gradients(system: System, F: np.ndarray, goal: Goal) -> tuple[int, float]:
    """Solve eq. (8) in place from F, batch by batch: the sweeps of the slowest column, and the residual."""
    n_labels = F.shape[1]
    limit = _enough_sweeps(system, goal.tol) if goal.max_iter is None else goal.max_iter
    most, worst, room = 0, 0.0, _Room()
    for first in range(0, n_labels, _propagation.MAX_WIDTH):
        last = min(first + _propagation.MAX_WIDTH, n_labels)
        batch = _Batch(system, F, np.arange(first, last, dtype=np.intp), room)
        n_iter = 0
        while len(batch.columns):
            stuck = np.zeros(len(batch.columns), bool)
            if batch.active(goal.tol).any() and n_iter < limit:
                n_iter += batch.sweeps(goal.tol, _sweeps_now(system, batch, n_iter, limit, goal))
                if goal.callback is not None:
                    n_done = last - len(batch.columns)
                    goal.callback(Progress(n_iter, float(batch.peak.max()), n_done, n_labels))
                if n_iter % ROUND == 0:
                    stuck = batch.refresh(goal.tol)
            active = batch.active(goal.tol) & ~stuck
            over = n_iter >= limit
            width = batch.x.shape[1]
            narrower = width // 2 if width > 4 else 0  # so few columns fit a narrower batch
            if over or stuck.any() or np.count_nonzero(active) <= narrower:
                leaving = np.ones_like(active) if over else ~active
                worst = float(np.maximum(worst, batch.settle(leaving, F, goal.tol, last=over)))
        most = max(most, n_iter)
    return most, worst


def _sweeps_now(system: System, batch: _Batch, n_iter: int, limit: int, goal: Goal) -> int:
    if goal.callback is not None:
        return 1
    work = (len(system.indices) + 10 * len(system.gain)) * batch.x.shape[1]
    return max(1, min(ROUND - n_iter % ROUND, limit - n_iter, int(WORK_PER_CALL / max(1, work))))


def _enough_sweeps(system: System, tol: float) -> int:
    """Sweeps after which conjugate gradients have met ``tol`` in exact arithmetic, and a fifth more.

    In the norm of K the error falls as 2 q^t with q = (s - 1) / (s + 1), s^2 = (1 + max alpha) / (1 - max alpha);
    the weights m turn that norm into the largest entry of the residual.
    """
    top = float(system.alpha[system.kept].max(initial=0.0))
    if top == 0:
        return 1
    s = math.sqrt((1 + top) / (1 - top))
    weight = system.m[system.kept] * system.h[system.kept] ** 2  # d~ / alpha
    start = 2 * (1 + top) * math.sqrt(float(weight.sum())) / math.sqrt(float(weight.min()))
    return 20 + int(1.2 * math.log(max(start / tol, 2.0)) / math.log((s + 1) / (s - 1)))


# ---------------------------------------------------------------- the iteration of eq. (4), and LU


def fixed_point(system: System, F: np.ndarray, goal: Goal) -> tuple[int, float]:
    """F(t + 1) = A T F(t) + (I - A) Y, eq. (4), in place: the residual falls by max alpha at least in each sweep."""
    out = np.empty_like(F)
    n_iter = 0
    residual = system.sweep(F, out)
    limit = goal.max_iter
    if limit is None:
        top = float(system.alpha[system.kept].max(initial=0.0))
        limit = 10 + int(math.log(max(residual / goal.tol, 2.0)) / -math.log(top)) if top else 1
    while residual > goal.tol and n_iter < limit:
        F[...] = out
        n_iter += 1
        residual = system.sweep(F, out)
        if goal.callback is not None:
            goal.callback(Progress(n_iter, residual, 0, F.shape[1]))
    np.clip(F, 0.0, 1.0, out=F)
    return n_iter, system.sweep(F, out)


def lu(system: System, F: np.ndarray, goal: Goal) -> tuple[int, float]:
    """Sparse LU of I - A T over the rows that are not eliminated, refined until eq. (8) is met to ``tol``."""
    kept = system.kept
    values, _ = normalized_weights(system.W, stochastic=True, n_jobs=system.n_threads)
    values *= np.repeat(system.alpha, np.diff(system.indptr))
    AT = sparse.csr_array((values, system.W.indices, system.W.indptr), shape=system.W.shape)[kept][:, kept]
    factors = linalg.splu(sparse.csc_array(sparse.identity(AT.shape[0]) - AT)) if kept.any() else None
    out = np.empty_like(F)
    F[kept] = 0.0
    n_iter, residual = 0, system.sweep(F, out)
    limit = 10 if goal.max_iter is None else goal.max_iter
    while factors is not None and residual > goal.tol and n_iter < limit:
        before = residual
        F[kept] += factors.solve((out - F)[kept])
        n_iter += 1
        residual = system.sweep(F, out)
        if goal.callback is not None:
            goal.callback(Progress(n_iter, residual, 0, F.shape[1]))
        if residual > 0.5 * before:
            break
    np.clip(F, 0.0, 1.0, out=F)
    return n_iter, system.sweep(F, out)
