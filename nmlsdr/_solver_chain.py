"""The other ways to solve eq. (8), and the order in which "auto" tries them.

Conjugate gradients (`_solvers`) are the fastest, but their float32 vectors and their inner product, whose weights
d~_i / alpha_i follow the weights of the graph, have limits.  Beside them stand

    the same method in float64         where float32 has not enough digits for 1 - max alpha
    elimination without subtraction    small systems; any alpha < 1, any range of weights, all digits of F
    sparse LU of I - A T, refined      larger systems, if their graph leaves the factors sparse
    the iteration of eq. (4)           the residual falls by max alpha in every sweep, whatever the graph

Elimination takes one row after another out of F = P F + b, P = A T: row q gives its part to the rows that listen to it,

    P_ij += P_iq P_qj / (1 - P_qq),   b_i += P_iq b_q / (1 - P_qq).

1 - P_qq is the small difference of large numbers.  It is also the sum of what else the row has, its slack
(1 - alpha_q at first) and its other entries, all of one sign.  With it nothing is subtracted, and each entry of F has
almost all of its digits at alpha = 1 - 1e-12 and with weights from 1e-300 to 1e300 (Grassmann, Taksar and Heyman 1985;
Alfa, Xue and Ye 2002, Math. Comp. 71, 217-236).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph, linalg

from . import _propagation
from ._solvers import Goal, Progress, System, conjugate_gradients, enough_sweeps
from .graph import normalized_weights

__all__ = ["SOLVERS", "Solution", "solve"]

# With fewer rows to find than this, elimination takes no longer than the fixed costs of conjugate gradients.
SMALL = 100
# Up to here "lu" is the elimination of a dense matrix.  On graphs of 10 neighbours in 5 dimensions it took 7 ms here,
# as sparse LU did; a third of sparse LU's time at 100 rows, and twice of it at 1000.
LARGEST_DENSE = 500
# Entries within the envelope of the graph, which bound the factors, up to which "auto" tries sparse LU.
LARGEST_ENVELOPE = 2e7
# Multiplications per kernel call, about .1 s, so that Ctrl-C is served.
WORK_PER_CALL = 1e8
# Eq. (4) may take this many sweeps, or this much work if that is more; at alpha = .999 it needs 18 000.
FIXED_POINT_SWEEPS = 20_000
FIXED_POINT_WORK = 2e9


class Solution(NamedTuple):
    """How a solver ended: its sweeps, the largest residual, and its name."""

    n_iter: int
    residual: float
    solver: str


def solve(system: System, F: np.ndarray, goal: Goal, solver: str) -> Solution:
    """Solve eq. (8) in place from F.  "auto" goes on with the labels that a solver left unsolved."""
    if solver != "auto":
        return Solution(*SOLVERS[solver](system, F, goal), solver)
    if system.n_kept <= SMALL:
        return Solution(*lu(system, F, goal), "lu")
    done = Solution(*conjugate_gradients(system, F, goal), "cg")
    if goal.max_iter is not None:
        return done
    for name in ("cg", "lu", "fixed_point"):
        if done.residual <= goal.tol:
            break
        if name == "lu" and not _factors_stay_sparse(system):
            continue
        done = _go_on(system, F, goal, done, double_gradients if name == "cg" else SOLVERS[name], name)
    return done


def _go_on(system: System, F: np.ndarray, goal: Goal, done: Solution, run: Solver, name: str) -> Solution:
    """Run another solver on the labels above ``tol`` and keep what it improves."""
    residuals = _residuals(system, F)
    left = np.flatnonzero(~(residuals <= goal.tol))
    part = system.part(left)
    tried = np.ascontiguousarray(F[:, left])
    n_iter, _ = run(part, tried, goal)
    fresh = _residuals(part, tried)
    better = fresh < residuals[left]
    F[:, left[better]] = tried[:, better]
    residuals[left] = np.where(better, fresh, residuals[left])
    return Solution(done.n_iter + n_iter, float(residuals.max()), name if better.any() else done.solver)


def _residuals(system: System, F: np.ndarray) -> np.ndarray:
    """The residual of each label."""
    out = np.empty_like(F)
    system.sweep(F, out)
    residuals: np.ndarray = np.abs(out - F).max(axis=0, initial=0.0)
    return residuals


# ---------------------------------------------------------------- conjugate gradients in float64


def gradients(system: System, F: np.ndarray, goal: Goal) -> tuple[int, float]:
    """Conjugate gradients in float32 and, for labels that they leave above ``tol``, in float64."""
    n_iter, residual = conjugate_gradients(system, F, goal)
    if residual <= goal.tol or goal.max_iter is not None:
        return n_iter, residual
    done = _go_on(system, F, goal, Solution(n_iter, residual, "cg"), double_gradients, "cg")
    return done.n_iter, done.residual


def double_gradients(system: System, F: np.ndarray, goal: Goal) -> tuple[int, float]:
    """Conjugate gradients for K = I - A T in float64, all labels side by side; each step minimises along its direction.

    The step is <p, z> / <p, K p>, not <z, z> / <p, K p>: equal in exact arithmetic, and never uphill.  Restarted from
    the true residual when the recursion believes to be done, or every n sweeps.
    """
    T = _transition(system)
    alpha, sought = system.alpha, system.kept
    if system.entries is not None:
        sought = system.entries
    else:
        alpha, sought = alpha[:, None], sought[:, None]
    alpha = np.where(sought, alpha, 1.0)
    weight = np.where(sought, (system.row_sums * system.h**2)[:, None] / alpha, 0.0)
    weight /= weight.max(initial=1e-300)
    alpha = np.where(sought, alpha, 0.0)
    out = np.empty_like(F)
    best = system.sweep(F, out)
    limit, n_iter = enough_sweeps(system, goal.tol), 0
    while best > goal.tol and n_iter < limit:
        x = F.copy()
        z = out - F
        p, rho = z.copy(), (weight * z * z).sum(axis=0)
        for _ in range(limit - n_iter):
            y = np.where(sought, p - alpha * (T @ p), 0.0)
            curvature = (weight * p * y).sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = np.where(curvature > 0, (weight * p * z).sum(axis=0) / curvature, 0.0)
                step[~np.isfinite(step)] = 0.0
                x += step * p
                z -= step * y
                fresh = (weight * z * z).sum(axis=0)
                turn = np.where(rho > 0, fresh / rho, 0.0)
            turn[~np.isfinite(turn)] = 0.0
            p, rho = z + turn * p, fresh
            n_iter += 1
            top = float(np.abs(z).max(initial=0.0))
            if goal.callback is not None:
                goal.callback(Progress(n_iter, top, 0, F.shape[1]))
            if top <= 0.5 * goal.tol or not step.any():
                break
        if system.clip:
            np.clip(x, 0.0, 1.0, out=x)
        before, residual = best, system.sweep(x, out)
        if residual < best:
            F[...], best = x, residual
        if residual > 0.5 * before:
            break
    return n_iter, best


def _transition(system: System) -> sparse.csr_array:
    values, _ = normalized_weights(system.W, stochastic=True, n_jobs=system.n_threads)
    return sparse.csr_array((values, system.W.indices, system.W.indptr), shape=system.W.shape)


def _among_kept(system: System) -> sparse.csr_array:
    """A T over the rows that are not eliminated."""
    whole = _transition(system)
    whole.data *= np.repeat(system.alpha, np.diff(system.indptr))
    return sparse.csr_array(whole[system.kept][:, system.kept])


# ---------------------------------------------------------------- elimination, and sparse LU


def lu(system: System, F: np.ndarray, goal: Goal) -> tuple[int, float]:
    """Gaussian elimination: without subtraction on small systems, else sparse LU refined to ``tol``."""
    if system.entries is not None:
        return _label_by_label(system, F, goal)
    if system.n_kept <= LARGEST_DENSE:
        return elimination(system, F, goal)
    kept = system.kept
    P = _among_kept(system)
    factors = linalg.splu(sparse.csc_array(sparse.identity(P.shape[0]) - P))
    out = np.empty_like(F)
    F[kept] = 0.0
    n_iter, residual = 0, system.sweep(F, out)
    limit = 10 if goal.max_iter is None else goal.max_iter
    while residual > goal.tol and n_iter < limit:
        before = residual
        F[kept] += factors.solve((out - F)[kept])
        n_iter += 1
        residual = system.sweep(F, out)
        if goal.callback is not None:
            goal.callback(Progress(n_iter, residual, 0, F.shape[1]))
        if residual > 0.5 * before:
            break
    return n_iter, _clipped(system, F, out)


def _label_by_label(system: System, F: np.ndarray, goal: Goal) -> tuple[int, float]:
    """An alpha per entry: one factorisation for all labels with the same alphas."""
    _, group = np.unique(system.alpha, axis=1, return_inverse=True)
    n_iter, reached = 0, system.kept | system.Y.any(axis=1)
    for number in range(group.max() + 1):
        columns = np.flatnonzero(group == number)
        alpha = np.ascontiguousarray(system.alpha[:, columns[0]])
        Y = np.ascontiguousarray(system.Y[:, columns])
        part = System(system.W, Y, alpha, reached, system.n_threads, clip=system.clip)
        solution = part.first_iterate(None)
        n_iter = max(n_iter, lu(part, solution, goal)[0])
        F[:, columns] = solution
    return n_iter, system.sweep(F, np.empty_like(F))


def elimination(system: System, F: np.ndarray, goal: Goal) -> tuple[int, float]:
    """Elimination without subtraction over the rows that are not eliminated already."""
    kept = np.flatnonzero(system.kept)
    n_kept = len(kept)
    values, _ = normalized_weights(system.W, stochastic=True, n_jobs=system.n_threads)
    values *= np.repeat(system.alpha, np.diff(system.indptr))
    place = np.full(len(F), -1)
    place[kept] = np.arange(n_kept)
    row = np.repeat(place, np.diff(system.indptr))
    column = place[system.indices]
    inner, outer = (row >= 0) & (column >= 0), (row >= 0) & (column < 0)
    P = np.zeros((n_kept, n_kept))
    P[row[inner], column[inner]] = values[inner]
    slack, B = system.own[kept], system.own[kept, None] * system.Y[kept]
    if outer.any():  # neighbours whose F is known
        slack += np.bincount(row[outer], values[outer], minlength=n_kept)
        given = sparse.csr_array((values[outer], (row[outer], system.indices[outer])), shape=(n_kept, len(F)))
        B += given @ F
    first = n_kept
    while first > 0:
        last = max(0, first - max(1, int(WORK_PER_CALL / (first * (first + F.shape[1])))))
        threads = system.n_threads if first * (first + F.shape[1]) > 1e5 else 1
        _propagation.eliminate(P, slack, B, first, last, threads)
        first = last
    _propagation.substitute(P, slack, B)
    F[kept] = B
    residual = _clipped(system, F, np.empty_like(F))
    if goal.callback is not None:
        goal.callback(Progress(1, residual, 0, F.shape[1]))
    return 1, residual


def _factors_stay_sparse(system: System) -> bool:
    """Whether the factors of I - A T are small: few rows, or a narrow envelope in the order of Cuthill and McKee."""
    n_kept = system.n_kept
    if n_kept <= LARGEST_DENSE:
        return True
    P = _transition(system)
    P = sparse.csr_array(P[system.kept][:, system.kept])
    order = csgraph.reverse_cuthill_mckee(sparse.csr_matrix(P), symmetric_mode=True)
    place = np.empty(n_kept, np.int64)
    place[order] = np.arange(n_kept)
    leftmost = np.arange(n_kept)
    rows = np.repeat(np.arange(n_kept), np.diff(P.indptr))
    np.minimum.at(leftmost, place[rows], place[P.indices])
    return float((np.arange(n_kept) - leftmost).sum()) <= LARGEST_ENVELOPE


# ---------------------------------------------------------------- the iteration of eq. (4)


def fixed_point(system: System, F: np.ndarray, goal: Goal) -> tuple[int, float]:
    """F(t + 1) = A T F(t) + (I - A) Y, eq. (4), in place: the residual falls by max alpha at least in each sweep."""
    out = np.empty_like(F)
    n_iter = 0
    residual = system.sweep(F, out)
    limit = goal.max_iter
    if limit is None:
        limit = fixed_point_limit(system, residual / goal.tol, F.shape[1])
    while residual > goal.tol and n_iter < limit:
        F[...] = out
        n_iter += 1
        residual = system.sweep(F, out)
        if goal.callback is not None:
            goal.callback(Progress(n_iter, residual, 0, F.shape[1]))
    return n_iter, _clipped(system, F, out)


def fixed_point_limit(system: System, fall: float, n_labels: int) -> int:
    """Sweeps after which the residual has fallen by this factor, but not more than FIXED_POINT_* allow."""
    if system.top == 0:
        return 1
    theory = 10 + math.log(max(fall, 2.0)) / -math.log(system.top)
    work = len(system.indices) * n_labels + 10 * len(system.alpha) * n_labels + 5000
    return int(min(theory, max(FIXED_POINT_SWEEPS, FIXED_POINT_WORK / work)))


def _clipped(system: System, F: np.ndarray, out: np.ndarray) -> float:
    """The residual of F, after it has been brought into [0, 1] where the labels lie."""
    if system.clip:
        np.clip(F, 0.0, 1.0, out=F)
    return system.sweep(F, out)


Solver = Callable[[System, np.ndarray, Goal], tuple[int, float]]
SOLVERS: dict[str, Solver] = {"cg": gradients, "lu": lu, "fixed_point": fixed_point}
