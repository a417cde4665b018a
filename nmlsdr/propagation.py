"""Label propagation: F with (I - A T) F = (I - A) Y, for all labels at once (article 3.2, eq. 4 and 8).

A row with alpha_i listens to its neighbours with weight alpha_i and to its given labels with 1 - alpha_i.
`propagate` checks what it is given, runs a solver of `_solvers` (where the mathematics is) and says how
well the answer solves eq. (8).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import contiguous
from ._errors import InputError
from ._labels import check_mask
from ._solvers import Goal, Progress, System, conjugate_gradients, fixed_point, lu
from ._threads import check_n_jobs
from ._validation import check_alpha, check_count, check_graph, check_real

__all__ = ["Progress", "Propagation", "propagate"]

RUN = {"cg": conjugate_gradients, "lu": lu, "fixed_point": fixed_point}


@dataclass(frozen=True)
class Propagation:
    """Soft labels and how well they solve eq. (8).

    Attributes
    ----------
    F : ndarray of shape (n_samples, n_labels), float64
        Soft labels in [0, 1].
    n_iter : int
        Sweeps of the label that took most; refinement steps for "lu".
    residual : float
        max |(I - A T) F - (I - A) Y| over all entries, computed from F.
    error_bound : float
        residual / (1 - max alpha): no entry of F is further than this from the solution (up to rounding).
    n_unreached : int
        Rows in components of the graph that hold no labelled row; their F is 0.
    solver : str
        The solver that ran: "cg", "lu" or "fixed_point".
    """

    F: np.ndarray
    n_iter: int
    residual: float
    error_bound: float
    n_unreached: int
    solver: str


def propagate(
    W: Any,
    Y: Any,
    alpha: Any,
    *,
    labeled: Any = None,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
    init: Any = None,
    callback: Callable[[Progress], object] | None = None,
    n_jobs: int | None = None,
) -> Propagation:
    """Solve (I - A T) F = (I - A) Y, eq. (8) of the article, for all labels at once.

    Parameters
    ----------
    W : sparse matrix or array of shape (n_samples, n_samples)
        Symmetric graph with weights of 0 or more; the diagonal is ignored.
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Given labels in [0, 1].  What an unlabelled row holds is ignored: it counts as 0.
    alpha : float or array-like of shape (n_samples,)
        A = diag(alpha), 0 <= alpha_i < 1: how much row i listens to its neighbours.  0 keeps F_i = Y_i exactly.
    labeled : array-like of shape (n_samples,), bool, default=None
        The labelled rows; None: the rows with any Y != 0.
    solver : {"auto", "cg", "lu", "fixed_point"}, default="auto"
        "cg": conjugate gradients on the symmetric form; "lu": sparse LU of I - A T, refined; "fixed_point":
        the iteration of eq. (4).  "auto" is "cg", the fastest in every case measured (docs/propagation.md).
    tol : float, default=1e-8
        Largest residual of eq. (8) accepted, over all entries.
    max_iter : int, default=None
        Sweeps allowed per label.  None: what theory says is enough for ``alpha`` and ``tol``.
    init : array-like of shape (n_samples, n_labels), default=None
        First iterate, for example the F of a similar problem; None: Y, as in the article.  Not used by "lu".
    callback : callable, default=None
        Called with a `Progress` after every sweep; an exception it raises ends the call.
    n_jobs : int, default=None
        Threads; None for all cores.  F does not depend on it, to the last bit.

    Returns
    -------
    Propagation
        F, n_iter, residual, error_bound, n_unreached, solver.

    Raises
    ------
    ValueError
        For a graph that is not square, symmetric and non-negative, labels outside [0, 1], alpha outside [0, 1),
        a tol that is not positive, a max_iter below 1, or an unknown solver.

    Warns
    -----
    UserWarning
        If a component of the graph holds no labelled row.
    sklearn.exceptions.ConvergenceWarning
        If the residual is above ``tol`` at the end.

    Examples
    --------
    A chain of three, the middle one unlabelled: F_1 = alpha (F_0 + F_2) / 2.

    >>> W = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> result = propagate(W, [[1.0], [0.0], [0.0]], [0, 0.8, 0], labeled=[True, False, True])
    >>> result.F.ravel().round(12).tolist()
    [1.0, 0.4, 0.0]
    >>> result.solver, result.n_unreached, result.residual <= 1e-8
    ('cg', 0, True)
    """
    if solver != "auto" and solver not in RUN:
        raise InputError(f"solver must be one of auto, {', '.join(RUN)}, got {solver!r}.")
    tol = check_real(tol, "tol", 0.0, math.inf, low_open=True)
    if max_iter is not None:
        max_iter = check_count(max_iter, "max_iter")
    n_threads = check_n_jobs(n_jobs)
    graph = check_graph(W)
    n = graph.shape[0]
    Y, known = _given_labels(Y, labeled, n)
    trust = check_alpha(alpha, n)
    system = System(graph, Y, trust, known, n_threads)
    F = system.first_iterate(None if init is None else _first_iterate(init, Y.shape))
    chosen = "cg" if solver == "auto" else solver
    n_iter, residual = RUN[chosen](system, F, Goal(tol, max_iter, callback))
    n_unreached = system.n_unreached
    if n_unreached:
        warnings.warn(
            f"{n_unreached} of {n} rows lie in components of the graph without a labelled row; their soft labels "
            "are 0: label a row of each component or raise n_neighbors.",
            UserWarning,
            stacklevel=2,
        )
    if not residual <= tol:
        _warn_not_converged(chosen, n_iter, residual, tol)
    error_bound = residual / (1 - trust.max()) if n else 0.0
    return Propagation(F, n_iter, residual, float(error_bound), n_unreached, chosen)


def _warn_not_converged(solver: str, n_iter: int, residual: float, tol: float) -> None:
    # The class that users filter on.  Imported here and not above: this floor works without loading scikit-learn.
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"propagation with solver={solver!r} stopped after {n_iter} iterations at a residual of {residual:.2e}, "
        f"above tol={tol:g}; raise max_iter or tol.",
        ConvergenceWarning,
        stacklevel=3,
    )


def _given_labels(Y: Any, labeled: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Y with zeros in the unlabelled rows, and the labelled rows."""
    values = np.asarray(Y.toarray() if sparse.issparse(Y) else Y, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != n:
        raise InputError(f"Y must have shape ({n}, n_labels) to match W, got {values.shape}.")
    if labeled is None:
        known = (values != 0).any(axis=1)
    else:
        known = check_mask(labeled, n)
        values = np.where(known[:, None], values, 0.0)
    if values.size and not (values.min() >= 0 and values.max() <= 1):  # false for NaN too
        row = int(np.argmin(((values >= 0) & (values <= 1)).all(axis=1)))
        raise InputError(
            f"Y must lie in [0, 1], got {values[row].tolist()} in row {row}; mark unlabelled rows with labeled=."
        )
    return contiguous(values), known


def _first_iterate(init: Any, shape: tuple[int, int]) -> np.ndarray:
    values = contiguous(init, np.float64)
    if values.shape != shape or not np.isfinite(values).all():
        raise InputError(f"init must be a finite array of shape {shape}, got shape {values.shape}; pass an earlier F.")
    return values
