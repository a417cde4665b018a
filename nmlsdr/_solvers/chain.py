"""The solvers by name, the order in which "auto" tries them, and the iteration of eq. (6).

Conjugate gradients are the fastest, but their float32 vectors and their inner product, whose weights d~_i / alpha_i
follow the weights of the graph, have limits.  Labels that they leave above the residual wanted go on with

    the same method in float64         where float32 has not enough digits for 1 - max alpha
    elimination without subtraction    up to 500 rows: any alpha < 1, any range of weights, all digits of F
    the iteration of eq. (6)           the residual falls by max alpha in every sweep, whatever the graph
"""

from collections.abc import Callable

import numpy as np

from .conjugate_gradients import conjugate_gradients, float64_gradients
from .direct import LARGEST_DENSE, lu
from .system import Goal, PropagationProgress, Solved, System

# A label may take this many sweeps, or this much work if that is more; at alpha = .999 it needs 18 000.
FIXED_POINT_SWEEPS = 20_000
FIXED_POINT_WORK = 2e9


def fixed_point(system: System, F: np.ndarray, goal: Goal) -> Solved:
    """F(t + 1) = A T F(t) + (I - A) Y, eq. (6), in place; every label stops by itself.

    Its residual falls by the largest alpha or more, until rounding lets it fall no further.
    """
    sweeps = np.zeros(F.shape[1], np.int64)
    work = len(system.indices) + 10 * len(system.h) + 5000
    limit = goal.max_iter or max(FIXED_POINT_SWEEPS, FIXED_POINT_WORK / work)
    constants = system.constants()
    out, residuals = system.sweep(F, constants)
    active = residuals > goal.tol
    while active.any():
        np.copyto(F, out, where=active)
        sweeps[active] += 1
        before = residuals
        out, residuals = system.sweep(F, constants)
        if goal.callback is not None:
            goal.callback(PropagationProgress(int(sweeps.max()), float(residuals.max()), 0, F.shape[1]))
        active &= (residuals > goal.tol) & (residuals < before) & (sweeps < limit)
    if system.clip:
        np.clip(F, 0.0, 1.0, out=F)
    return Solved(sweeps, system.sweep(F, constants)[1])


# With fewer rows to find than this, elimination takes no longer than the fixed costs of conjugate gradients.
SMALL = 100


def solve(system: System, F: np.ndarray, goal: Goal) -> tuple[Solved, str]:
    """Solve eq. (8) in place from F; the sweeps and residuals, and the solver that ran last.

    "auto" chooses for every label, and goes on with the labels that a solver left unsolved.
    """
    if goal.solver != "auto":
        return SOLVERS[goal.solver](system, F, goal), goal.solver
    n_labels = F.shape[1]
    solved = Solved(np.zeros(n_labels, np.int64), np.full(n_labels, np.inf))
    ran = "lu"
    for name, allowed in (
        ("lu", system.n_sought <= SMALL),
        ("cg", system.n_sought > SMALL),
        ("lu", (system.n_sought > SMALL) & (system.n_sought <= LARGEST_DENSE)),
        ("fixed_point", system.n_sought > LARGEST_DENSE),
    ):
        columns = np.flatnonzero(allowed & ~(solved.residuals <= goal.tol))
        if goal.max_iter is not None:
            columns = columns[~np.isfinite(solved.residuals[columns])]
        if len(columns) == n_labels and not np.isfinite(solved.residuals).any():
            solved = SOLVERS[name](system, F, goal)
            ran = name
        elif len(columns) and _improve(system, F, goal, columns, SOLVERS[name], solved):
            ran = name
    return solved, ran


def _improve(system: System, F: np.ndarray, goal: Goal, columns: np.ndarray, run: "Solver", solved: Solved) -> bool:
    """Run a solver on these labels and keep what it improves; whether it improved any."""
    tried = np.ascontiguousarray(F[:, columns])
    attempt = run(system.part(columns), tried, goal.part(columns))
    better = attempt.residuals < solved.residuals[columns]
    F[:, columns[better]] = tried[:, better]
    solved.residuals[columns[better]] = attempt.residuals[better]
    solved.sweeps[columns] += attempt.sweeps
    return bool(better.any())


def gradients(system: System, F: np.ndarray, goal: Goal) -> Solved:
    """Conjugate gradients in float32 and, for labels that they leave above ``tol``, in float64."""
    solved = conjugate_gradients(system, F, goal)
    unsolved = np.flatnonzero(~(solved.residuals <= goal.tol))
    if len(unsolved) and goal.max_iter is None:
        _improve(system, F, goal, unsolved, float64_gradients, solved)
    return solved


Solver = Callable[[System, np.ndarray, Goal], Solved]
SOLVERS: dict[str, Solver] = {"cg": gradients, "lu": lu, "fixed_point": fixed_point}
