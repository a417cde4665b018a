"""Label propagation: F with (I - A T) F = (I - A) Y, for all labels at once (article 3.2, eq. 4 and 8).

T = D~^-1 W~ is not symmetric, but the system has a symmetric form.  Multiply eq. (8) by D~ A^-1:

    (D~ A^-1 - W~) F = D~ (A^-1 - I) Y                                                  for alpha_i > 0.

Its matrix is strictly diagonally dominant, hence positive definite, and conjugate gradients with
the preconditioner D~ A^-1 solve it.  The preconditioned residual is

    z = A D~^-1 [D~ (A^-1 - I) Y - (D~ A^-1 - W~) F] = (I - A) Y - (I - A T) F,

the residual of eq. (8) itself, so the sweep can stop exactly when eq. (8) is met to ``tol``.  Said
without a preconditioner: these are conjugate gradients for K = I - A T in the inner product
<u, v> = sum_i u_i v_i d~_i / alpha_i, in which K is self-adjoint with spectrum in
[1 - max alpha, 1 + max alpha].  That form needs four vectors per label (F, z, p, K p), not five.

Eliminated rows keep a fixed F: clamped rows (alpha_i = 0: F_i = Y_i), isolated rows
(F_i = (1 - alpha_i) Y_i) and rows of components without a label (F_i = 0).  In the kernels they are
rows with k_i = 0: their residual and direction are 0, so no sweep changes them, and the first
residual moves them to the right-hand side.

A binary graph needs no stored values: in the variable x = D^-1/2 F the system reads
x_i = k_i sum_{j in N(i)} x_j + (1 - alpha_i) Y_i / sqrt(d_i) with k_i = alpha_i / (d_i d~_i), so a
sweep reads 4 bytes per edge, not 12, and multiplies nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from . import _propagation
from ._threads import check_n_jobs
from ._validation import check_alpha, check_graph
from .graph import normalized_weights

__all__ = ["Progress", "Propagation", "propagate"]

SOLVERS = ("auto", "cg", "lu", "fixed_point")

# Rows per partial sum.  Part of the result's definition: partial sums are added in block order.
BLOCK_ROWS = 256
# Columns per batch: one gathered row is then one cache line.
BATCH_COLUMNS = 8
# Entries that a kernel call may touch, (nnz + 10 n) width sweeps: about .2 s, so that Ctrl-C is served.
WORK_PER_CALL = 2e8
# Below this a row is clamped: 1 / alpha would leave the range of float64.
SMALLEST_ALPHA = 1e-200


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


class Progress(NamedTuple):
    """What a callback is told after every sweep.

    Attributes
    ----------
    n_iter : int
        Sweeps over the present batch of labels.
    residual : float
        The largest residual among them.
    n_done : int
        Labels in finished batches.
    n_labels : int
        All labels.
    """

    n_iter: int
    residual: float
    n_done: int
    n_labels: int


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
    labeled : array-like of shape (n_samples,), bool, optional
        The labelled rows; None: the rows with any Y != 0.
    solver : {"auto", "cg", "lu", "fixed_point"}, default="auto"
        "cg": conjugate gradients on the symmetric form; "lu": sparse LU of I - A T, refined; "fixed_point":
        the iteration of eq. (4).  "auto" is "cg", the fastest in every case measured (docs/propagation.md).
    tol : float, default=1e-8
        Largest residual of eq. (8) accepted, over all entries.
    max_iter : int, optional
        Sweeps allowed per label.  None: what theory says is enough for ``alpha`` and ``tol``.
    init : array-like of shape (n_samples, n_labels), optional
        First iterate, for example the F of a similar problem; None: Y, as in the article.  Not used by "lu".
    callback : callable, optional
        Called with a `Progress` after every sweep; an exception it raises ends the call.
    n_jobs : int, optional
        Threads; None for all cores.  F does not depend on it, to the last bit.

    Returns
    -------
    Propagation
        F, n_iter, residual, error_bound, n_unreached, solver.

    Raises
    ------
    ValueError
        For a graph that is not square, symmetric and non-negative, labels outside [0, 1], alpha outside [0, 1),
        or an unknown solver.

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
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {solver!r}.")
    if not (isinstance(tol, (int, float, np.floating)) and 0 < tol < math.inf):
        raise ValueError(f"tol must be a positive number, got {tol!r}.")
    if max_iter is not None and (isinstance(max_iter, bool) or max_iter != int(max_iter) or max_iter < 1):
        raise ValueError(f"max_iter must be None or an integer of at least 1, got {max_iter!r}.")
    n_threads = check_n_jobs(n_jobs)
    graph = check_graph(W)
    n = graph.shape[0]
    Y, known = _given_labels(Y, labeled, n)
    trust = check_alpha(alpha, n)
    first = Y if init is None else _first_iterate(init, Y.shape)

    system = _System(graph, trust, known, n_threads)
    F = np.empty_like(Y)
    run = _Run(system, Y, first, F, float(tol), max_iter, callback)
    if solver == "lu":
        n_iter, residual = _lu(graph, run)
    elif solver == "fixed_point":
        n_iter, residual = _fixed_point(run)
    else:
        solver = "cg"
        n_iter, residual = _conjugate_gradients(run)
    n_unreached = int(n - np.count_nonzero(system.reached))
    if n_unreached:
        warnings.warn(
            f"{n_unreached} of {n} rows lie in components of the graph without a labelled row; their soft labels "
            "are 0: label a row of each component or raise n_neighbors.",
            UserWarning,
            stacklevel=2,
        )
    if residual > tol:
        _warn_not_converged(solver, n_iter, residual, tol)
    error_bound = residual / (1 - trust.max()) if n else 0.0
    return Propagation(F, n_iter, residual, float(error_bound), n_unreached, solver)


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
        raise ValueError(f"Y must have shape ({n}, n_labels) to match W, got {values.shape}.")
    if labeled is None:
        known = (values != 0).any(axis=1)
    else:
        known = np.asarray(labeled)
        if known.shape != (n,) or known.dtype != np.bool_:
            raise ValueError(
                f"labeled must be a boolean array of shape ({n},), got shape {known.shape} and dtype {known.dtype}."
            )
        values = np.where(known[:, None], values, 0.0)
    if not ((values >= 0) & (values <= 1)).all():
        row = int(np.argmin(((values >= 0) & (values <= 1)).all(axis=1)))
        raise ValueError(
            f"Y must lie in [0, 1], got {values[row].tolist()} in row {row}; mark unlabelled rows with labeled=."
        )
    return np.ascontiguousarray(values), known


def _first_iterate(init: Any, shape: tuple[int, int]) -> np.ndarray:
    values = np.ascontiguousarray(init, dtype=np.float64)
    if values.shape != shape or not np.isfinite(values).all():
        raise ValueError(f"init must be a finite array of shape {shape}, got shape {values.shape}; pass an earlier F.")
    return values


class _System:
    """The graph as the kernels read it: x_i = f_i + k_i sum_j v_ij x_j with F = e x.

    Weighted graphs: v = W~, k = alpha / d~, e = 1.  Binary graphs: v = 1, k = alpha / (d d~), e = sqrt(d).
    """

    def __init__(self, W: sparse.csr_array, alpha: np.ndarray, labeled: np.ndarray, n_threads: int) -> None:
        self.n = W.shape[0]
        self.alpha = alpha
        self.n_threads = n_threads
        self.indptr = W.indptr.astype(np.int64, copy=False)
        self.indices = W.indices.astype(np.int32, copy=False)
        binary = W.nnz == 0 or (W.data.min() == W.data.max() and W.data[0] > 0)
        if binary:
            self.values = np.empty(0)
            degree = np.diff(self.indptr).astype(np.float64)
            self.e = np.sqrt(np.maximum(degree, 1.0))
            sums = np.empty(self.n)
            _propagation.multiply(self.indptr, self.indices, self.values, 1.0 / self.e, sums, n_threads)
            row_sums = self.e * sums  # d d~
        else:
            exponent = math.frexp(W.data.max())[1]
            scaled = sparse.csr_array((np.ldexp(W.data, -exponent), W.indices, W.indptr), shape=W.shape)
            self.values, row_sums = normalized_weights(scaled, stochastic=False, n_jobs=n_threads)
            self.e = np.ones(self.n)
        self.reached = labeled.astype(np.uint8)
        _propagation.reach(self.indptr, self.indices, self.values, self.reached, np.empty(self.n, np.int32))
        kept = (alpha >= SMALLEST_ALPHA) & (row_sums > 0) & (self.reached != 0)
        self.k = np.zeros(self.n)
        np.divide(alpha, row_sums, out=self.k, where=kept)
        self.m = np.zeros(self.n)
        np.divide(row_sums, alpha, out=self.m, where=kept)
        self.kept = kept
        # What multiplies Y: 1 - alpha, but 1 for a clamped row.
        self.own = np.where(alpha < SMALLEST_ALPHA, 1.0, 1.0 - alpha)
        self.n_blocks = -(-self.n // BLOCK_ROWS)

    @property
    def graph(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.indptr, self.indices, self.values


class _Batch:
    """Buffers of up to BATCH_COLUMNS labels."""

    def __init__(self, system: _System, width: int) -> None:
        n = system.n
        self.width = width
        self.f, self.x, self.z, self.p, self.y = np.zeros((5, n, width))
        self.rho, self.peak = np.zeros((2, width))
        self.partial = np.empty((2, system.n_blocks, width))
        self.scalars = np.empty((3, width))

    def load(self, run: _Run, columns: slice) -> None:
        system = run.system
        count = columns.stop - columns.start
        for buffer in (self.f, self.x):
            buffer[:, count:] = 0.0
        np.divide(run.Y[:, columns] * system.own[:, None], system.e[:, None], out=self.f[:, :count])
        np.divide(run.first[:, columns], system.e[:, None], out=self.x[:, :count])
        self.x[~system.kept] = self.f[~system.kept]

    def store(self, run: _Run, columns: slice) -> None:
        """F = e x, clipped; x becomes F / e, so that the next `residual` is that of F."""
        system = run.system
        count = columns.stop - columns.start
        F = run.F[:, columns]
        np.multiply(self.x[:, :count], system.e[:, None], out=F)
        np.clip(F, 0.0, 1.0, out=F)
        fixed = ~system.kept
        F[fixed] = run.Y[fixed, columns] * system.own[fixed, None]
        np.divide(F, system.e[:, None], out=self.x[:, :count])
        self.x[fixed] = self.f[fixed]

    def residual(self, system: _System) -> float:
        """Residual of x, left in z, p, rho and peak; the largest."""
        _propagation.start(
            *system.graph, system.k, system.m, system.e, self.f, self.x, self.z, self.p, self.rho, self.peak,
            self.partial, BLOCK_ROWS, system.n_threads,
        )  # fmt: skip
        return float(self.peak.max())


class _Run:
    """One call of `propagate`: the system, both ends of the data, and when to stop."""

    def __init__(
        self,
        system: _System,
        Y: np.ndarray,
        first: np.ndarray,
        F: np.ndarray,
        tol: float,
        max_iter: int | None,
        callback: Callable[[Progress], object] | None,
    ) -> None:
        self.system, self.Y, self.first, self.F = system, Y, first, F
        self.tol, self.max_iter, self.callback = tol, max_iter, callback

    def batches(self) -> list[slice]:
        C = self.Y.shape[1]
        return [slice(c, min(c + BATCH_COLUMNS, C)) for c in range(0, C, BATCH_COLUMNS)]

    def sweeps_per_call(self, width: int) -> int:
        if self.callback is not None:
            return 1
        work = (self.system.indices.size + 10 * self.system.n) * width
        return max(1, int(WORK_PER_CALL / max(1, work)))

    def report(self, n_iter: int, residual: float, n_done: int) -> None:
        if self.callback is not None:
            self.callback(Progress(n_iter, residual, n_done, self.Y.shape[1]))


def _width(count: int) -> int:
    """The narrowest kernel that takes ``count`` columns."""
    return 1 << (count - 1).bit_length() if count else 1


def _largest_alpha(system: _System) -> float:
    return float(system.alpha[system.kept].max(initial=0.0))


def _cg_bound(system: _System, tol: float) -> int:
    """Sweeps after which conjugate gradients must have met ``tol`` in exact arithmetic.

    In the norm of K the error falls as 2 q^t, q = (s - 1) / (s + 1) with s^2 the condition number
    (1 + max alpha) / (1 - max alpha); the largest entry of z is bounded through the weights m.
    """
    top = _largest_alpha(system)
    if top == 0:
        return 1
    s = math.sqrt((1 + top) / (1 - top))
    m = system.m[system.kept]
    e = system.e[system.kept]
    start = 2 * (1 + top) * math.sqrt(float(np.sum(m / e**2))) * float(np.max(e / np.sqrt(m)))
    return 20 + int(1.2 * math.log(max(start / tol, 2.0)) / math.log((s + 1) / (s - 1)))


def _conjugate_gradients(run: _Run) -> tuple[int, float]:
    system, tol = run.system, run.tol
    limit = _cg_bound(system, tol) if run.max_iter is None else run.max_iter
    most, worst = 0, 0.0
    batch = None
    for columns in run.batches():
        width = _width(columns.stop - columns.start)
        if batch is None or batch.width != width:
            batch = _Batch(system, width)
        batch.load(run, columns)
        n_iter, peak, goal = 0, batch.residual(system), tol
        while peak > tol and n_iter < limit:
            before = peak
            while (batch.peak > goal).any() and n_iter < limit:
                n_iter += _propagation.cg_sweeps(
                    *system.graph, system.k, system.m, system.e, batch.x, batch.z, batch.p, batch.y, batch.rho,
                    batch.peak, batch.partial, batch.scalars, goal, BLOCK_ROWS,
                    min(run.sweeps_per_call(width), limit - n_iter), system.n_threads,
                )  # fmt: skip
                run.report(n_iter, float(batch.peak.max()), columns.start)
            batch.store(run, columns)
            peak = batch.residual(system)  # the recursion's residual drifts: this one is F's own
            if peak > 0.5 * before:
                break
            goal = tol / 2
        else:
            batch.store(run, columns)
            peak = batch.residual(system)
        most, worst = max(most, n_iter), max(worst, peak)
    return most, worst


def _fixed_point(run: _Run) -> tuple[int, float]:
    """F(t + 1) = A T F(t) + (I - A) Y, eq. (4): the residual falls by max alpha at least in each sweep."""
    system, tol = run.system, run.tol
    most, worst = 0, 0.0
    batch = None
    for columns in run.batches():
        width = _width(columns.stop - columns.start)
        if batch is None or batch.width != width:
            batch = _Batch(system, width)
        batch.load(run, columns)
        n_iter, peak = 0, batch.residual(system)
        limit = run.max_iter
        if limit is None:
            top = _largest_alpha(system)
            limit = 4 + int(math.log(max(peak / tol, 2.0)) / -math.log(top)) if top else 2
        while peak > tol and n_iter < limit:
            n_iter += _propagation.fixed_point_sweeps(
                *system.graph, system.k, system.e, batch.f, batch.x, batch.y, batch.peak, batch.partial, tol,
                BLOCK_ROWS, min(run.sweeps_per_call(width), limit - n_iter), system.n_threads,
            )  # fmt: skip
            peak = float(batch.peak.max())
            run.report(n_iter, peak, columns.start)
        batch.store(run, columns)
        most, worst = max(most, n_iter), max(worst, batch.residual(system))
    return most, worst


def _lu(W: sparse.csr_array, run: _Run) -> tuple[int, float]:
    """Sparse LU of I - A T over the rows that are not eliminated, refined until eq. (8) is met."""
    system, F = run.system, run.F
    kept = system.kept
    values, _ = normalized_weights(W, stochastic=True, n_jobs=system.n_threads)
    values *= np.repeat(system.alpha, np.diff(W.indptr))
    AT = sparse.csr_array((values, W.indices, W.indptr), shape=W.shape)[kept]
    F[~kept] = run.Y[~kept] * system.own[~kept, None]
    factors = linalg.splu(sparse.csc_array(sparse.identity(len(AT.indptr) - 1) - AT[:, kept])) if kept.any() else None
    F[kept] = 0.0
    n_iter, residual = 0, math.inf
    limit = 10 if run.max_iter is None else run.max_iter
    while factors is not None and n_iter < limit:
        rest = system.own[kept, None] * run.Y[kept] + AT @ F - F[kept]
        if n_iter:
            before, residual = residual, float(np.abs(rest).max(initial=0.0))
            if residual <= run.tol or residual > 0.5 * before:
                break
        F[kept] += factors.solve(rest)
        n_iter += 1
        run.report(n_iter, residual, 0)
    np.clip(F, 0.0, 1.0, out=F)
    return n_iter, _residual_of(run)


def _residual_of(run: _Run) -> float:
    """max |(I - A T) F - (I - A) Y| of run.F, in batches."""
    worst = 0.0
    for columns in run.batches():
        batch = _Batch(run.system, _width(columns.stop - columns.start))
        batch.load(run, columns)
        count = columns.stop - columns.start
        np.divide(run.F[:, columns], run.system.e[:, None], out=batch.x[:, :count])
        batch.x[~run.system.kept] = batch.f[~run.system.kept]
        worst = max(worst, batch.residual(run.system))
    return worst
