"""The system of eq. (8), (I - A T) F = (I - A) Y, as the kernels read it.

T = D~^-1 W~ is not symmetric, but the system has a symmetric form.  Multiply eq. (8) by D~ A^-1:

    (D~ A^-1 - W~) F = D~ (A^-1 - I) Y                                                  for alpha_i > 0.

Its matrix is strictly diagonally dominant, hence positive definite, and conjugate gradients with
the preconditioner D~ A^-1 solve it.  The preconditioned residual is

    A D~^-1 [D~ (A^-1 - I) Y - (D~ A^-1 - W~) F] = (I - A) Y - (I - A T) F,

the residual of eq. (8) itself, so a solver can stop exactly when eq. (8) holds to ``tol``.

Some rows have a fixed F, which no sweep changes: clamped rows (alpha_i = 0: F_i = Y_i), isolated rows
(F_i = (1 - alpha_i) Y_i) and rows of components without a label (F_i = 0).  The other rows are sought.

A binary graph needs no stored values.  In the variable x = D^-1/2 F the system reads
x_i = k_i sum_{j in N(i)} x_j + (1 - alpha_i) Y_i / sqrt(d_i) with k_i = alpha_i / (d_i d~_i): a sweep reads
4 bytes per edge, not 12, and multiplies nothing.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

import nmlsdr._propagation as _propagation

from .._checks.arguments import PropagationSolver, contiguous
from .._moments import fill_rows
from .._process.threads import worthwhile_threads
from ..graph import normalized_weights

# Rows per partial sum.  Part of the result's definition: partial sums are added in block order.
BLOCK_ROWS = 256
# With fewer entries than this for each thread, a second thread costs more time than it saves.  Measured with 14 labels
# and 5000, 8000, 14 000 and 20 000 rows, the time of one thread divided by that of two was 1.2, 1.2, 1.2 and 1.6 on an
# idle machine, and .55, .55, .68 and .7 while two other processes kept it busy.
WORK_PER_THREAD = 4e6
# Below this a row is clamped: what it would take from its neighbours is lost in rounding, and 1 / alpha in overflow.
SMALLEST_ALPHA = 1e-200


class PropagationProgress(NamedTuple):
    """What `propagate` passes to its callback after every iteration.

    Attributes
    ----------
    n_iter : int
        Number of iterations on the present batch of labels.
    residual : float
        Largest residual of these labels, as last computed.
    n_done : int
        Number of labels that are finished.
    n_labels : int
        Number of all labels.
    """

    n_iter: int
    residual: float
    n_done: int
    n_labels: int


class Goal(NamedTuple):
    """How a system is to be solved; what the names mean, `propagate` says.

    The solvers get ``tol`` as one number for each label.
    """

    tol: Any
    max_iter: int | None = None
    callback: Callable[[PropagationProgress], object] | None = None
    solver: PropagationSolver = "auto"

    def part(self, columns: np.ndarray) -> "Goal":
        return self._replace(tol=self.tol[columns])


class Solved(NamedTuple):
    """Sweeps and residual of each label."""

    sweeps: np.ndarray
    residuals: np.ndarray


class RowFactors(NamedTuple):
    """What multiplies the sums over neighbours in eq. (6) and in a sweep, and the weights of the inner product.

    All are 0 where F is fixed.
    """

    gain: np.ndarray
    k: np.ndarray
    m: np.ndarray


class System:
    """Graph, alpha and labels of eq. (8), all checked.

    W is a result of `check_graph` or `graph.graph_of_lists`. Y is 0 where nothing is known, and lies in [0, 1] unless
    ``clip`` is False: then the solution has either sign.
    ``alpha`` and ``labeled`` have one entry for each row, or one for each entry of Y: then every label has a system of
    its own on the same graph.  ``alpha`` and ``sought`` are kept as (n, 1) or (n, n_labels), ``top`` (the largest alpha
    that is sought) and ``n_sought`` as (1,) or (n_labels,).  An entry in a component without a known entry of its label
    is 0.

    Weighted graphs: v = W~, h = 1, gain = alpha / d~, k = 1 and the sweep's values alpha_i T_ij for an alpha per row,
    k = alpha and T_ij for an alpha per entry.
    Binary graphs: v_ij = h_j = d_j^-1/2, gain_i = alpha_i / sum_j h_j, k = alpha / (d d~), the sweep's values are 1.
    """

    def __init__(
        self,
        W: sparse.csr_array,
        Y: np.ndarray,
        alpha: np.ndarray,
        labeled: np.ndarray,
        n_threads: int,
        *,
        clip: bool = True,
    ) -> None:
        n = W.shape[0]
        self.W = W
        self.Y = contiguous(Y)
        self.labeled = labeled
        self.clip = clip
        self.n_jobs = n_threads
        self.work = (W.nnz + 10 * n) * min(Y.shape[1], _propagation.MAX_WIDTH)
        self.n_threads = worthwhile_threads(n_threads, self.work, WORK_PER_THREAD)
        self.indptr = W.indptr.astype(np.int64, copy=False)
        self.indices = W.indices.astype(np.int32, copy=False)
        self.binary = W.nnz == 0 or bool(W.data[0] > 0 and W.data.min() == W.data.max())
        if self.binary:
            self.values = np.empty(0)
            root = np.sqrt(np.maximum(np.diff(self.indptr), 1.0))
            self.h = 1.0 / root
            self.inverse_h = root.astype(np.float32)
            self.edges = W.sign() if W.nnz and W.data[0] != 1 else W
            self.sums = self.edges @ self.h
            self.row_sums = root * self.sums  # d d~
        else:
            self.values, self.row_sums = normalized_weights(W, stochastic=False, n_jobs=self.n_threads)
            self.edges = sparse.csr_array((self.values, W.indices, W.indptr), shape=W.shape)
            self.h = np.ones(n)
            self.inverse_h = np.ones(n, np.float32)
            self.sums = self.row_sums

        self.per_entry = alpha.ndim == 2 or labeled.ndim == 2
        self.alpha = alpha if alpha.ndim == 2 else alpha[:, None]
        if self.per_entry:
            self.alpha = np.ascontiguousarray(np.broadcast_to(self.alpha, Y.shape))
        reached = self._reached(labeled if labeled.ndim == 2 else labeled[:, None])
        self.n_unreached = int(n - np.count_nonzero(reached.all(axis=1)))
        self.sought = (self.alpha >= SMALLEST_ALPHA) & reached & (self.row_sums > 0)[:, None]
        self.n_sought = np.count_nonzero(self.sought, axis=0)
        self.top = self.alpha.max(axis=0, where=self.sought, initial=0.0)

    def _reached(self, known: np.ndarray) -> np.ndarray:
        """Which entries lie in a component of the graph with a known entry of their label."""
        if known.all():
            return known
        edges = self.W
        if not self.binary and edges.data.min() == 0:
            edges = edges.copy()
            edges.eliminate_zeros()
        n_components, component = connected_components(edges, connection="strong")  # symmetric: no transpose
        reachable = np.zeros((n_components, known.shape[1]), bool)
        rows, columns = np.nonzero(known)
        reachable[component[rows], columns] = True
        return np.asarray(reachable[component])

    def threads_for(self, n_batches: int) -> int:
        """The number of batches of labels to solve side by side, 1 if there are fewer than threads."""
        n_threads = worthwhile_threads(self.n_jobs, self.work * n_batches, WORK_PER_THREAD)
        return n_threads if n_threads <= n_batches else 1

    def part(self, columns: Any) -> "System":
        """The system of some labels."""
        part = copy.copy(self)
        part.Y = self.Y[:, columns]
        if self.per_entry:
            part.alpha = np.ascontiguousarray(self.alpha[:, columns])
            part.sought = self.sought[:, columns]
            part.top = self.top[columns]
            part.n_sought = self.n_sought[columns]
        return part

    def factors(self) -> RowFactors:
        """The factors of these labels: (n, 1) for an alpha per row."""
        gain, k, m = np.zeros((3, *self.alpha.shape))
        np.divide(self.alpha, self.sums[:, None], out=gain, where=self.sought)
        np.divide(self.row_sums[:, None], self.alpha, out=m, where=self.sought)
        if self.binary:
            np.divide(self.alpha, self.row_sums[:, None], out=k, where=self.sought)
        else:
            np.copyto(k, self.alpha if self.per_entry else 1.0, where=self.sought)
        return RowFactors(gain, k.astype(np.float32), m)

    def sweep_values(self) -> np.ndarray:
        """The values of the edges in a sweep; none for a binary graph."""
        if self.binary:
            return np.empty(0, np.float32)
        scale = np.zeros(len(self.h))  # with alpha the values are alpha_i T_ij <= 1 and cannot overflow float32
        np.divide(
            1.0 if self.per_entry else self.alpha[:, 0],
            self.row_sums,
            out=scale,
            where=self.row_sums > 0 if self.per_entry else self.sought[:, 0],
        )
        return (self.values * np.repeat(scale, np.diff(self.indptr))).astype(np.float32)

    def first_iterate(self, init: np.ndarray | None, out: np.ndarray | None = None) -> np.ndarray:
        """F(0) = Y as in the article, in ``out``, or one sweep of eq. (6) from ``init``; where F is fixed, that F.

        The sweep makes the residual of a row with a tiny alpha as tiny, or its weight 1 / alpha would
        drown all other rows in the inner product.
        """
        first = self.Y if init is None else init
        F = fill_rows(np.empty_like(first) if out is None else out, lambda part: first[part], self.n_jobs)
        rows = np.flatnonzero(~self.sought.all(axis=1))
        F[rows] = np.where(self.sought[rows], F[rows], (1.0 - self.alpha[rows]) * self.Y[rows])
        return F if init is None else self.sweep(F)[0]

    def constants(self) -> tuple[np.ndarray, np.ndarray]:
        """What every sweep of `sweep` uses: the gain of `factors`, and (I - A) Y."""
        return self.factors().gain, (1.0 - self.alpha) * self.Y

    def sweep(
        self, F: np.ndarray, constants: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """A T F + (I - A) Y, eq. (6), and the residual of each label of F."""
        gain, source = constants or self.constants()
        out = self.averages(F, gain)
        out += source
        gap = out - F
        return out, np.abs(gap, out=gap).max(axis=0, initial=0.0)

    def averages(self, F: np.ndarray, gain: np.ndarray) -> np.ndarray:
        """A T F, with the gain of `factors`."""
        sums: np.ndarray = self.edges @ (self.h[:, None] * F)
        sums *= gain
        return sums
