"""Conjugate gradients for eq. (8): sweeps in float32 that answer in float64, and the same method in float64.

They are conjugate gradients for K = I - A T in the inner product <u, v> = sum_i u_i v_i d~_i / alpha_i, in which K is
self-adjoint with spectrum in [1 - max alpha, 1 + max alpha] (`system.py` derives it).  That form needs four vectors per
label (F, z, p, K p), not five.

The sweep's vectors are float32, which halves its bytes.  Their error is relative to the residual of the
moment, so what accumulates is about 1e-7 of the residual since it was last computed in float64 from F.
Therefore the sweeps gather the change of F, and when a column's residual has fallen by a factor of
REFRESH, the change is added to F (float64) and the residual is computed anew from F while the search
direction stays (group-wise updates: van der Vorst & Ye 2000, SIAM J. Sci. Comput. 22, 835-852).  The
digits of F are those of float64.

A direction needs fewer digits still, and its gather is what a sweep costs: p is kept as bfloat16, and the numbers kept
*are* the direction, so that z stays the residual of x.  A step is the minimum along them, <p, z> / <p, K p>.  The step
rho / <p, K p> with rho = <z, z> is that only while <p, z> = rho; a relative misfit d = <p, z> / rho - 1 is carried from
sweep to sweep unchanged by it, and for d < -1/2 every sweep makes F worse, for ever (468 of the 252 796 columns on all
graphs of up to five nodes were wrong).  The minimum leaves <p, z'> = 0, so a misfit ends with its sweep.  A direction
that has little of a new residual is still slow: where |d| > ASTRAY then, the column starts again from its residual.

Everything that is decided about a label follows from its own numbers, and only after whole rounds of ROUND sweeps, so
that it does not depend on the labels of its batch, on a callback, or on how many sweeps a call of the kernel makes.
"""

import copy
import math
from collections import deque

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

import nmlsdr._propagation as _propagation

from .._process.threads import in_threads, simd
from .system import BLOCK_ROWS, Goal, PropagationProgress, Solved, System

# Entries that a kernel call may touch, (nnz + 10 n) width sweeps: about .1 s, so that Ctrl-C is served.
WORK_PER_CALL = 2e8
# Every ROUND sweeps, a column whose residual has fallen by REFRESH since its last float64 residual gets a new one.
ROUND = 6
REFRESH = 1e-4
# The misfit |<p, z> / <z, z> - 1| up to which a direction is kept at a new residual; else the column starts again.
ASTRAY = 0.1
_EPS = float(np.finfo(np.float64).eps)


def _aligned(n: int, width: int, dtype: type) -> np.ndarray:
    """An (n, width) array on a cache line: a row of p with 32 columns is then one line."""
    size = np.dtype(dtype).itemsize
    raw: np.ndarray = np.empty(n * width + 64 // size, dtype)
    return raw[(-raw.ctypes.data % 64) // size :][: n * width].reshape(n, width)


class _Batch:
    """Up to MAX_WIDTH labels that are swept together; arrays (n, width) and (width,), a column for each label.

    F and B = (I - A) Y are float64; the sweep's vectors x (the change of h F), z and y are float32, p is bfloat16.
    """

    def __init__(self, whole: System, sweep_values: np.ndarray, F: np.ndarray, columns: slice, goal: Goal) -> None:
        n = len(F)
        self.count = columns.stop - columns.start
        system = whole.part(columns)
        width = next(width for width in (4, 8, 16, 32) if width >= self.count)
        self.columns = columns
        self.clip = system.clip
        self.F, self.B = (_aligned(n, width, np.float64) for _ in range(2))
        self.x, self.z, self.y = (_aligned(n, width, np.float32) for _ in range(3))
        self.p = _aligned(n, width, np.uint16)
        for array in (self.F, self.B, self.z, self.p):
            array[:, self.count :] = 0
        self.x[...] = 0.0
        self.F[:, : self.count] = F[:, columns]
        np.multiply(1.0 - system.alpha, system.Y, out=self.B[:, : self.count])
        gain, k, m = system.factors()
        if 1 < gain.shape[1] < width:
            gain, k, m = (np.pad(values, ((0, 0), (0, width - self.count))) for values in (gain, k, m))
        n_blocks = -(-n // BLOCK_ROWS)
        self.kernels = _propagation.BatchKernels(
            indptr=system.indptr,
            indices=system.indices,
            values=system.values,
            sweep_values=sweep_values,
            h=system.h,
            inverse_h=system.inverse_h,
            gain=gain,
            m=m,
            k=k,
            B=self.B,
            F=self.F,
            x=self.x,
            z=self.z,
            y=self.y,
            p=self.p,
            partial=np.empty((3, n_blocks, width)),
            tops=np.empty((n_blocks, width), np.float32),
            block=BLOCK_ROWS,
            n_threads=system.n_threads,
            level=simd(),
        )
        self.rho, self.along, self.peak = np.zeros((3, width))
        self.sweeps = np.zeros(width, np.int64)
        self.tol = np.full(width, math.inf)  # infinite: the column is done, or waits for `check_stopped`
        self.tol[: self.count] = self.wanted = goal.tol[columns]
        self.renew(np.ones(self.count, bool), restart=True)
        self.trusted, self.best, self.least = (self.peak[: self.count].copy() for _ in range(3))
        self.last_peak = np.full(self.count, math.inf)
        self.done = np.zeros(self.count, bool)

    def renew(self, take: np.ndarray, *, restart: bool, clip: bool = False) -> None:
        """Add the gathered change of these columns to F, and compute their residual from it.

        With ``restart`` it is the next direction too.  A change that is no number is dropped.
        """
        self.x[:, np.flatnonzero(take & ~np.isfinite(self.rho[: self.count]))] = 0.0
        mask = np.zeros(len(self.peak), np.int32)
        mask[: self.count] = take
        self.kernels.flush(mask, clip)
        self.kernels.residual(mask, restart, self.rho, self.along, self.peak)
        self.peak[~np.isfinite(self.rho)] = math.inf  # a maximum overlooks NaN, a sum does not

    def advance(self, n_sweeps: int) -> int:
        """Make up to ``n_sweeps`` sweeps; stop earlier if no column is above its tol.  Return the number made."""
        return int(self.kernels.sweeps(self.tol, n_sweeps, self.rho, self.along, self.peak, self.sweeps))

    def active(self) -> np.ndarray:
        return np.asarray((self.peak > self.tol)[: self.count])

    def refresh(self, every: np.ndarray) -> None:
        """Compute the residuals of some active columns anew, because the sweeps only update them.

        These columns are marked by ``every``, or their residual has fallen by the factor REFRESH or is not a number.
        Where the direction no longer fits the residual, the column restarts from the residual.
        """
        peak, rho, along = (values[: self.count] for values in (self.peak, self.rho, self.along))
        worn = self.active() & (every | (peak <= REFRESH * self.trusted) | ~np.isfinite(rho))
        if worn.any():
            self.renew(worn, restart=False)
            astray = worn & ~(np.abs(along - rho) <= ASTRAY * rho)
            if astray.any():
                self.renew(astray, restart=True)
            self.trusted[worn] = peak[worn]
        np.maximum(self.trusted, peak, out=self.trusted)

    def stop_stuck(self, due: np.ndarray) -> None:
        """Stop the columns that are ``due`` for this test and whose residual has not halved since the last one."""
        peak = self.peak[: self.count]
        stuck = due & self.active() & ~(peak <= 0.5 * self.least)
        self.least[due] = np.minimum(self.least, peak)[due]
        self.tol[: self.count][stuck] = math.inf

    def check_stopped(self, F: np.ndarray, limit: np.ndarray) -> bool:
        """Write the clipped solution of the columns that have stopped to ``F``; return whether some columns continue.

        ``F`` keeps the best solution of each column.  A column whose residual is still too large continues, unless the
        last continuation did not halve the residual, or the column has reached its limit of sweeps.
        """
        stopped = ~self.done
        self.renew(stopped, restart=True, clip=self.clip)
        peak = self.peak[: self.count]
        better = stopped & (peak <= self.best)
        np.copyto(F[:, self.columns], self.F[:, : self.count], where=better)
        self.best[better] = peak[better]
        on = stopped & (self.sweeps[: self.count] < limit) & (peak > self.wanted) & (peak <= 0.5 * self.last_peak)
        for entry in (self.last_peak, self.trusted, self.least):
            entry[stopped] = peak[stopped]
        self.done = ~on
        self.tol[: self.count] = np.where(on, self.wanted, math.inf)
        return bool(on.any())


def conjugate_gradients(system: System, F: np.ndarray, goal: Goal) -> Solved:
    """Solve eq. (8) in place from F with sweeps in float32, batch by batch."""
    n_labels = F.shape[1]
    solved = Solved(np.zeros(n_labels, np.int64), np.zeros(n_labels))
    if not system.sought.any():
        return solved
    # a few times the number of sweeps that theory needs for one digit, in whole rounds
    patience = ROUND * np.ceil((50 + np.floor(4 / np.sqrt(1 - system.top))) / ROUND)
    patience = np.broadcast_to(patience, n_labels)
    limits = np.broadcast_to(goal.max_iter or most_sweeps(system), n_labels)
    sweep_values = system.sweep_values()
    starts = range(0, n_labels, _propagation.MAX_WIDTH)
    work = (len(system.indices) + 10 * len(system.h)) * _propagation.MAX_WIDTH
    team = system.threads_for(len(starts)) if goal.callback is None else 1
    if team > 1:  # a thread for each batch, since NumPy's part of it has one thread only
        system = copy.copy(system)
        system.n_threads = 1

    def solve_batch(first: int) -> None:
        columns = slice(first, min(first + _propagation.MAX_WIDTH, n_labels))
        batch = _Batch(system, sweep_values, F, columns, goal)
        per_call = 1 if goal.callback is not None else max(1, int(WORK_PER_CALL / work))
        _sweep_batch(batch, F, limits[columns], patience[columns], goal, per_call)
        solved.sweeps[columns] = batch.sweeps[: batch.count]
        solved.residuals[columns] = batch.best

    deque(in_threads(solve_batch, starts, team), maxlen=0)
    return solved


def _sweep_batch(
    batch: _Batch, F: np.ndarray, limit: np.ndarray, patience: np.ndarray, goal: Goal, per_call: int
) -> None:
    sweeps = batch.sweeps[: batch.count]
    # sweeps of this round, and of each column before it
    made = 0
    before = sweeps.copy()
    while True:
        active = batch.active()
        if not active.any():
            if not batch.check_stopped(F, limit):
                return
            made = 0
            before = sweeps.copy()
            continue
        made += batch.advance(min(per_call, ROUND - made, int((limit - sweeps)[active].min())))
        if goal.callback is not None:
            n_done = batch.columns.start + int(np.count_nonzero(~batch.active()))
            goal.callback(PropagationProgress(int(sweeps.max()), float(batch.peak.max()), n_done, F.shape[1]))
        if made == ROUND:
            due = sweeps // patience > before // patience
            batch.refresh(due)  # the updated residual of a column that is due would fall for ever
            batch.stop_stuck(due)
            made = 0
            before = sweeps.copy()
        batch.tol[: batch.count][sweeps >= limit] = math.inf


def most_sweeps(system: System) -> np.ndarray:
    """Sweeps of each label at most: without rounding, one for each row that is sought would be enough."""
    return np.asarray(10 * system.n_sought + 100)


# ---------------------------------------------------------------- in float64


def float64_gradients(system: System, F: np.ndarray, goal: Goal) -> Solved:
    """SciPy's conjugate gradients in float64, label by label."""
    solved = Solved(np.zeros(F.shape[1], np.int64), np.zeros(F.shape[1]))
    for c in range(F.shape[1]):
        only = np.array([c])
        solution = _float64_label(system.part(only), F[:, only], goal.part(only))
        F[:, only], solved.sweeps[c], solved.residuals[c] = solution
    return solved


def _float64_label(system: System, F: np.ndarray, goal: Goal) -> tuple[np.ndarray, int, float]:
    """A better F of one label, the sweeps made and its residual: solved again for the residual as long as it halves.

    The variables are weight^1/2 F on the sought rows, in which K = I - A T is symmetric.
    """
    constants = system.constants()
    rows = np.flatnonzero(system.sought[:, 0])
    scale = np.sqrt(system.factors().m[rows, 0]) * system.h[rows]
    change = np.zeros(F.shape)
    n_sweeps = 0
    limit = int(most_sweeps(system)[0])

    def multiply(v: np.ndarray) -> np.ndarray:
        change[rows, 0] = v / scale
        return np.asarray(v - scale * system.averages(change, constants[0])[rows, 0])

    def swept(_: np.ndarray) -> None:
        nonlocal n_sweeps
        n_sweeps += 1
        if goal.callback is not None:
            goal.callback(PropagationProgress(n_sweeps, float(best), 0, 1))

    K = LinearOperator((len(rows), len(rows)), matvec=multiply, dtype=np.float64)
    tol = float(goal.tol[0])
    before = np.inf
    out, (best,) = system.sweep(F, constants)
    while tol < best <= 0.5 * before and n_sweeps < limit:
        before = best
        budget = limit - n_sweeps
        right = scale * (out - F)[rows, 0]
        with np.errstate(all="ignore"):
            correction, _ = cg(K, right, rtol=_EPS, atol=0.5 * tol * scale.min(), maxiter=budget, callback=swept)
        tried = F.copy()
        tried[rows, 0] += correction / scale
        if system.clip:
            np.clip(tried, 0.0, 1.0, out=tried)
        out, (residual,) = system.sweep(tried, constants)
        if residual < best:
            F = tried
            best = residual
    return F, n_sweeps, float(best)
