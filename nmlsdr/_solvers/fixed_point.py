"""The iteration of eq. (6): slow, but its residual falls by max alpha in every sweep, whatever the graph."""

import math

import numpy as np

from .system import Goal, PropagationProgress, Solved, System

# A label may take this many sweeps, or this much work if that is more; at alpha = .999 it needs 18 000.
FIXED_POINT_SWEEPS = 20_000
FIXED_POINT_WORK = 2e9


def fixed_point(system: System, F: np.ndarray, goal: Goal) -> Solved:
    """F(t + 1) = A T F(t) + (I - A) Y, eq. (6), in place; every label stops by itself."""
    sweeps = np.zeros(F.shape[1], np.int64)
    gain = system.factors().gain
    out, residuals = system.sweep(F, gain)
    limits = most_sweeps(system, residuals / goal.tol) if goal.max_iter is None else np.full(len(sweeps), goal.max_iter)
    active = (residuals > goal.tol) & (sweeps < limits)
    while active.any():
        np.copyto(F, out, where=active)
        sweeps[active] += 1
        out, residuals = system.sweep(F, gain)
        if goal.callback is not None:
            goal.callback(PropagationProgress(int(sweeps.max()), float(residuals.max()), 0, F.shape[1]))
        active = (residuals > goal.tol) & (sweeps < limits)
    if system.clip:
        np.clip(F, 0.0, 1.0, out=F)
    return Solved(sweeps, system.sweep(F, gain)[1])


def most_sweeps(system: System, falls: np.ndarray) -> np.ndarray:
    """Sweeps after which the residual of each label has fallen by its factor, but no more than FIXED_POINT_* allow."""
    work = len(system.indices) + 10 * len(system.h) + 5000
    allowed = max(FIXED_POINT_SWEEPS, FIXED_POINT_WORK / work)
    limits = [
        min(10 + math.log(max(float(fall), 2.0)) / -math.log(top), allowed) if top > 0 else 1
        for fall, top in np.broadcast(falls, system.top)
    ]
    return np.array(limits, dtype=np.int64)
