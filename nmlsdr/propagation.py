"""Label propagation: the soft labels F, which solve (I - A T) F = (I - A) Y (article 3.2, eq. 6 and 8).

The soft labels of row i are alpha_i times a weighted mean of those of its neighbours, plus 1 - alpha_i times its
given labels. `propagate` checks its arguments, runs a solver of `_solvers/`, which explains the mathematics, and
reports how accurately the result solves eq. (8). `propagate_signed` does the same for numbers of either sign.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._checks import arguments
from ._checks.arguments import PropagationSolver
from ._checks.label_arrays import check_mask
from ._errors import InputError, warn_not_converged
from ._moments import largest
from ._process.threads import check_n_jobs
from ._solvers.chain import SMALL, SOLVERS, solve
from ._solvers.system import Goal, PropagationProgress, System

__all__ = ["propagate"]

# Above this alpha (the default of unlabelled rows), a residual of tol allows an error of more than 1000 tol.  There the
# solvers aim at a smaller residual, in proportion to 1 - max alpha, but not below the rounding errors of a residual.
_USUAL_ALPHA = 0.999
_ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Propagation:
    """Result of `propagate`: soft labels, and how accurately they solve eq. (8).

    Attributes
    ----------
    F : ndarray of shape (n_samples, n_labels), float64
        Soft labels in [0, 1].
    n_iter : int
        Number of iterations, for the label that took most; for "lu" the number of refinement steps.
    residual : float
        Largest absolute entry of (I - A T) F - (I - A) Y, computed from F.
    error_bound : float
        residual / (1 - max alpha), including rounding: no entry of F differs from the exact solution by more than
        this.
    n_unreached : int
        Number of rows in components of the graph without a labelled row; their soft labels are 0. If some
        labelled rows have unknown entries: rows whose component has no known entry of at least one label.
    solver : str
        Solver that was used: "cg", "lu" or "fixed_point".
    """

    F: NDArray[np.float64]
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
    solver: PropagationSolver = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
    init: Any = None,
    callback: Callable[[PropagationProgress], object] | None = None,
    n_jobs: int | None = None,
) -> Propagation:
    r"""Solve (I - A T) F = (I - A) Y, equation (8) of the article, for all labels at once.

    T is the transition matrix of the graph W (`nmlsdr.graph.transition_matrix`), A = diag(alpha), Y are the given
    labels, and F the soft labels.

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_samples, n_samples)
        Symmetric graph with weights of 0 or more. The diagonal is ignored.
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Given labels in [0, 1]. Values in unlabelled rows and unknown entries are ignored and count as 0.
    alpha : float or array-like of shape (n_samples,) or (n_samples, n_labels)
        Share that the neighbours have in the soft labels, in [0, 1): one number for all rows, one for each row, or
        one for each entry. 0 keeps the given label exactly; a larger value gives the neighbours more influence. With
        one for each entry, (I - A_c T) f_c = (I - A_c) y_c is solved for each label c.
    labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
        True for labelled rows, or for known entries. None: the rows with any Y != 0.
    solver : {"auto", "cg", "lu", "fixed_point"}, default="auto"
        "cg": conjugate gradients on the symmetric form of eq. (8). "lu": a direct solution, by elimination without
        subtraction up to 500 rows and by a sparse LU factorisation of I - A T above. "fixed_point": the iteration of
        eq. (6). "auto": "lu" up to 100 rows and "cg", the fastest, above. Labels that "cg" leaves above ``tol`` are
        continued in float64, and then solved by "lu" up to 500 rows or "fixed_point" above; docs/theory.md gives
        the details.
    tol : float, default=1e-8
        Accepted residual of eq. (8), the largest absolute entry of (I - A T) F - (I - A) Y; above 0. A larger value
        stops the solver earlier, with less accurate soft labels. Above alpha = 0.999 the solvers aim at a smaller
        residual, in proportion to 1 - max alpha, so that ``error_bound`` is at most 1000 tol where rounding allows
        it.
    max_iter : int or None, default=None
        Largest number of iterations for each label, at least 1. None: as many as theory requires for ``alpha`` and
        ``tol``.
    init : array-like of shape (n_samples, n_labels), default=None
        First iterate, for example the F of a similar problem. None: Y, as in the article. Not used by "lu".
    callback : callable, default=None
        Called after every iteration with an object that has ``n_iter`` and ``residual`` (the number of iterations on
        the present batch of labels, and the largest residual of these), ``n_done`` and ``n_labels`` (the numbers of
        finished labels, and of all). An exception that it raises ends the call.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Returns
    -------
    Propagation
        The soft labels F, and how accurately they solve eq. (8).

    Raises
    ------
    ValueError
        If the graph is not square, symmetric and non-negative, if labels are outside [0, 1] or alpha outside [0, 1),
        if ``tol`` is not positive or ``max_iter`` below 1, or if the solver is unknown.

    Warns
    -----
    UserWarning
        If a component of the graph contains no labelled row.
    sklearn.exceptions.ConvergenceWarning
        If the residual is above ``tol`` at the end; the message gives the largest possible error of an entry.

    Notes
    -----
    .. math::

        (I - A T) F = (I - A) Y, \qquad T = \tilde D^{-1} \tilde W, \qquad \tilde W = D^{-1/2} W D^{-1/2}

        \max |F - F^*| \le \frac{\texttt{residual}}{1 - \max \alpha}.

    Examples
    --------
    A chain of three, the middle one unlabelled: F_1 = alpha (F_0 + F_2) / 2.

    >>> W = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> result = propagate(W, [[1.0], [0.0], [0.0]], [0, 0.8, 0], labeled=[True, False, True])
    >>> result.F.ravel().round(12).tolist()
    [1.0, 0.4, 0.0]
    >>> result.solver, result.n_unreached, result.residual <= 1e-8
    ('lu', 0, True)
    """
    system = system_of(W, Y, alpha, labeled, n_jobs)
    if init is not None:
        init = arguments.contiguous(init, np.float64)
        shape = system.Y.shape
        if init.shape != shape or not np.isfinite(init).all():
            raise InputError(f"init must be a finite array of shape {shape}, got {init.shape}; pass an earlier F.")
        init = np.clip(init, 0.0, 1.0)
    return propagate_checked(system, Goal(tol, max_iter, callback, solver), init)


def system_of(W: Any, Y: Any, alpha: Any, labeled: Any, n_jobs: int | None) -> System:
    """The system of arguments as `propagate` takes them."""
    graph = arguments.check_graph(W)
    labels, known = _given_labels(Y, labeled, graph.shape[0])
    alpha = arguments.check_alpha(alpha, graph.shape[0], n_labels=labels.shape[1])
    return System(graph, labels, alpha, known, check_n_jobs(n_jobs))


def propagate_signed(system: System, goal: Goal, out: np.ndarray | None = None) -> Propagation:
    """Solve (I - A T) E = (I - A) R, eq. (8), for numbers R of either sign and any size; nothing is clipped.

    The residuals of a model are such numbers: what its labelled rows miss reaches their neighbours.

    Parameters
    ----------
    system : System
        Its ``Y`` is R, finite numbers; R times a power of two takes its place. Its ``clip`` is False.
    goal : Goal
        As in `propagate`, but ``tol`` is in units of max |R|.
    out : ndarray of the shape of R, float64, default=None
        Where E is written; R itself, if it is not needed any more.

    Returns
    -------
    Propagation
        Its ``F`` is E, in [-max |R|, max |R|] up to rounding; ``residual`` and ``error_bound`` are in the units of R.
        A component without a labelled row has E = 0.

    Warns
    -----
    UserWarning
        If a component of the graph contains no labelled row.
    sklearn.exceptions.ConvergenceWarning
        If the residual is above ``tol`` max |R| at the end.

    Examples
    --------
    A chain of three, the middle one unlabelled: E_1 = alpha (E_0 + E_2) / 2.

    >>> W = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> R, alpha = np.array([[30.0], [0.0], [-20.0]]), np.array([0, 0.8, 0])
    >>> system = System(W, R, alpha, np.array([True, False, True]), n_threads=1, clip=False)
    >>> propagate_signed(system, Goal(1e-8)).F.ravel().round(12).tolist()
    [30.0, 4.0, -20.0]
    """
    exponent = math.frexp(largest(system.Y))[1]  # a power of two changes no bit
    system.Y = np.ldexp(system.Y, -exponent)
    result = propagate_checked(system, goal, out=out)
    return replace(
        result,
        F=np.ldexp(result.F, exponent, out=result.F),
        residual=math.ldexp(result.residual, exponent),
        error_bound=math.ldexp(result.error_bound, exponent),
    )


def propagate_checked(
    system: System, goal: Goal, init: np.ndarray | None = None, *, out: np.ndarray | None = None, silent: bool = False
) -> Propagation:
    """`propagate` for a checked system; a second check would take a tenth of the time of the solver.

    F is written to ``out``, if given. ``silent`` is for callers from C, who read the numbers and no warnings.
    """
    arguments.check_choice(goal.solver, "solver", "auto", *SOLVERS)
    tol = arguments.check_real(goal.tol, "tol", 0.0, math.inf, low_open=True)
    if goal.max_iter is not None:
        arguments.check_count(goal.max_iter, "max_iter")
    F = system.first_iterate(init, out)
    if not system.clip:
        tol *= largest(system.Y) or 1.0
    aim = _aim(system, tol)
    solved, ran = solve(system, F, goal._replace(tol=aim))
    n_unreached = system.n_unreached
    if n_unreached and not silent:
        warnings.warn(
            f"{n_unreached} of {len(F)} rows lie{'s' * (n_unreached == 1)} in components of the graph without a "
            f"labelled row{' for some label' if system.labeled.ndim == 2 else ''}, and nothing is propagated there; "
            "label a row of each component, or connect them by more neighbours for each row.",
            stacklevel=3,
        )
    residual = float(solved.residuals.max(initial=0.0))
    n_iter = int(solved.sweeps.max(initial=0))
    upper_bound = 1.0 if system.clip else math.inf  # clipped, F and the solution lie in [0, 1]
    error_bound = min(_error_bound(system, solved.residuals), upper_bound)
    if not (silent or (solved.residuals <= aim).all()):
        warn_not_converged(
            f"propagation with solver={ran!r} stopped after {n_iter} iterations at a residual of {residual:.2e} "
            f"(accepted: {aim.min():.2g}), so the error of an entry can be up to {error_bound:.2g}; "
            "lower the largest alpha, or raise max_iter or tol.",
            stacklevel=3,
        )
    return Propagation(F, n_iter, residual, error_bound, n_unreached, ran)


def _aim(system: System, tol: float) -> np.ndarray:
    """The residual that the solvers work for, of each label: ``tol``, or less for an alpha near 1 and where a sweep
    costs nothing."""
    share = np.minimum(1.0, (1 - system.top) / (1 - _USUAL_ALPHA))
    share = np.where(system.n_sought <= SMALL, 0.1 * share, share)
    return np.broadcast_to(np.minimum(tol, np.maximum(tol * share, _ROUNDING)), system.Y.shape[1])


def _error_bound(system: System, residuals: np.ndarray) -> float:
    """No entry of F is further than this from the solution.

    The rows of A T sum to at most max alpha, so an error is at most residual / (1 - max alpha); the residual itself
    and T are known up to the rounding of sums over a row.
    """
    longest = int(np.diff(system.indptr).max(initial=0))
    rounding = (longest + 8) * float(np.finfo(np.float64).eps)
    return float(((residuals + rounding) / (1 - system.top)).max(initial=0.0))


def _given_labels(Y: Any, labeled: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Y with zeros in unlabelled rows and unknown entries, and the labelled rows or known entries."""
    values = np.asarray(Y.toarray() if sparse.issparse(Y) else Y, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != n:
        raise InputError(f"Y must have shape ({n}, n_labels) to match W, got {values.shape}.")
    if labeled is None:
        known = (values != 0).any(axis=1)
    else:
        known = check_mask(labeled, *values.shape)
        values = np.where(known if known.ndim == 2 else known[:, None], values, 0.0)
    if values.size and not (values.min() >= 0 and values.max() <= 1):  # false for NaN too
        row = int(np.argmin(((values >= 0) & (values <= 1)).all(axis=1)))
        raise InputError(
            f"Y must lie in [0, 1], got {values[row].tolist()} in row {row}; mark unlabelled rows with the parameter "
            "labeled."
        )
    return values, known
