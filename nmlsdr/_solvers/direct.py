"""Direct solvers of eq. (8): elimination without subtraction for small systems, sparse LU for larger ones.

Elimination takes one row after another out of F = P F + B, P = A T: row q is substituted in the rows that depend on it,

    P_ij += P_iq P_qj / (1 - P_qq),   B_i += P_iq B_q / (1 - P_qq).

1 - P_qq would lose digits as the difference of two numbers near 1.  It equals the sum of the slack of row q (1 -
alpha_q at first) and of the row's other entries, which all have the same sign.  With this sum nothing is subtracted,
and each entry of F is correct in almost all digits at alpha = 1 - 1e-12 and with weights from 1e-300 to 1e300
(Grassmann, Taksar and Heyman 1985; Alfa, Xue and Ye 2002, Math. Comp. 71, 217-236).
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

import nmlsdr._propagation as _propagation

from .._label_sums import equal_columns
from ..graph import transition_of_graph
from .system import Goal, PropagationProgress, Solved, System

# The largest number of unknown rows for which "lu" eliminates in a dense matrix.
LARGEST_DENSE = 500
# Refinements of a solution by sparse LU.
REFINEMENTS = 10


def lu(system: System, F: np.ndarray, goal: Goal) -> Solved:
    """Gaussian elimination in place: without subtraction on small systems, else sparse LU refined to ``tol``."""
    T = transition_of_graph(system.W, n_jobs=system.n_threads)
    steps = np.zeros(F.shape[1], np.int64)
    for columns, alpha, sought in _groups(system):
        P = T.copy()
        P.data *= np.repeat(alpha, np.diff(system.indptr))
        P = P[sought]
        if np.count_nonzero(sought) <= LARGEST_DENSE:
            fixed = P[:, ~sought]
            slack = (1.0 - alpha)[sought] + fixed @ np.ones(fixed.shape[1])
            B = (1.0 - alpha)[sought, None] * system.Y[np.ix_(sought, columns)] + fixed @ F[np.ix_(~sought, columns)]
            A = np.column_stack([P[:, sought].toarray(), slack, B])
            _propagation.eliminate(A)
            F[np.ix_(sought, columns)] = A[:, len(A) + 1 :]
            steps[columns] = 1
        else:
            factors = linalg.splu(sparse.csc_array(sparse.identity(P.shape[0]) - P[:, sought]))
            for c in columns:
                steps[c] = _refine(system.part(np.array([c])), F[:, c], factors, float(goal.tol[c]), goal)
    if system.clip:
        np.clip(F, 0.0, 1.0, out=F)
    residuals = system.sweep(F)[1]
    if goal.callback is not None:
        progress = int(steps.max(initial=0)), float(residuals.max(initial=0.0)), F.shape[1], F.shape[1]
        goal.callback(PropagationProgress(*progress))
    return Solved(steps, residuals)


def _groups(system: System) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Columns of the same system, their alpha and the rows that are sought."""
    alpha = np.where(system.sought, system.alpha, 0.0)
    if not system.per_entry:
        yield np.arange(system.Y.shape[1]), alpha[:, 0], system.sought[:, 0]
        return
    for columns in equal_columns(alpha):
        yield columns, alpha[:, columns[0]], system.sought[:, columns[0]]


def _refine(system: System, f: np.ndarray, factors: linalg.SuperLU, tol: float, goal: Goal) -> int:
    """Solve for one label in place, again for its residual until that is at most ``tol`` or falls no more."""
    sought = system.sought[:, 0]
    constants = system.constants()
    f[sought] = 0.0
    limit = REFINEMENTS if goal.max_iter is None else goal.max_iter
    out, residual = system.sweep(np.ascontiguousarray(f[:, None]), constants)
    for step in range(limit):
        before = residual
        if residual <= tol:
            return step
        f[sought] += factors.solve((out[:, 0] - f)[sought])
        out, residual = system.sweep(np.ascontiguousarray(f[:, None]), constants)
        if residual > 0.5 * before:
            return step + 1
    return limit
