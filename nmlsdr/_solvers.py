"""The system of eq. (8) as the kernels read it, and conjugate gradients in float32 that answer in float64.

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
digits of F are those of float64.

A direction needs fewer digits still, and its gather is what a sweep costs: p is kept as bfloat16, and the numbers kept
*are* the direction, so that z stays the residual of x.  A step is the minimum along them, <p, z> / <p, K p>.  The step
rho / <p, K p> with rho = <z, z> is that only while <p, z> = rho; a relative misfit d = <p, z> / rho - 1 is carried from
sweep to sweep unchanged by it, and for d < -1/2 every sweep makes F worse, for ever (468 of the 252 796 columns on all
graphs of up to five nodes were wrong).  The minimum leaves <p, z'> = 0, so a misfit ends with its sweep.  A direction
that has little of a new residual is still slow: where |d| > ASTRAY then, the column starts again from its residual.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from . import _propagation
from ._threads import earning, simd
from .graph import normalized_weights

__all__ = ["Goal", "Progress", "System", "conjugate_gradients", "enough_sweeps"]

# Rows per partial sum.  Part of the result's definition: partial sums are added in block order.
BLOCK_ROWS = 256
# Entries that a kernel call may touch, (nnz + 10 n) width sweeps: about .1 s, so that Ctrl-C is served.
WORK_PER_CALL = 2e8
# Fewer entries than this for each thread, and a second one costs more than it brings.  One thread over two, 14 labels,
# quiet: 5000 rows 1.2 of the time, 8000 1.2, 14 000 1.2, 20 000 1.6; beside two busy processes .55, .55, .68 and .7.
WORK_PER_THREAD = 4e6
# Below this a row is clamped: what it would take from its neighbours is lost in rounding, and 1 / alpha in overflow.
SMALLEST_ALPHA = 1e-200
# The same for an alpha per entry, whose inverse is a float32.
SMALLEST_ENTRY = 1e-25
_NO_ENTRIES, _NO_FACTORS = np.empty((0, 0)), np.empty((0, 0), np.float32)
_NO_ORDER, _NO_SCALE = np.empty(0, np.int32), np.empty(0)
# From so many rows on, sweeps run over the rows in breadth-first order (docs/propagation.md).
ORDERED_ROWS = 100_000
# So many labels still go in batches of 16 and 4.  Beside one of 32: at 200 000 rows .8 to .9 of its time, at 50 000 as
# much, at 5000 1.0 to 1.1, and half of the memory.
SPLIT = 20
# Every ROUND sweeps, a column whose residual has fallen by REFRESH since its last float64 residual gets a new one.
ROUND = 6
REFRESH = 1e-4
# The misfit |<p, z> / <z, z> - 1| up to which a direction is kept at a new residual; else the column starts again.
ASTRAY = 0.1


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

    ``alpha`` may be (n, n_labels), a system for each label on the same graph: then gains, owns and entries (which are
    sought) hold what gain, own and kept do for a row, and these say only which rows have any such entry.
    ``labeled`` may be (n, n_labels) too; an entry in a component without a known entry of its label is 0.
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
        if alpha.ndim == 2 and (alpha == alpha[:, :1]).all():
            alpha = np.ascontiguousarray(alpha[:, 0]) if alpha.shape[1] else np.zeros(n)
        self.W, self.Y, self.alpha, self.clip = W, Y, alpha, clip
        self.order = _NO_ORDER
        work = (W.nnz + 10 * n) * min(Y.shape[1], _propagation.MAX_WIDTH)
        self.n_threads = n_threads = earning(n_threads, work, WORK_PER_THREAD)
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
            self.values, row_sums = normalized_weights(W, stochastic=False, n_jobs=n_threads)
            self.h = e = np.ones(n)
            sums = row_sums
        rows: np.ndarray = labeled if labeled.ndim == 1 else np.logical_or.reduce(labeled, axis=1)
        reached = rows.astype(np.uint8)
        edges = np.empty(0) if binary else W.data
        _propagation.reach(self.indptr, self.indices, edges, reached, np.empty(n, np.int32))
        self.reached = reached != 0 if labeled.ndim == 1 else _reached_by_label(W, labeled)
        self.n_unreached = int(n - np.count_nonzero(self.reached if labeled.ndim == 1 else self.reached.all(axis=1)))
        self.e = e.astype(np.float32)
        self.row_sums, sought = row_sums, (row_sums > 0) & (reached != 0)
        self.n_blocks = -(-n // BLOCK_ROWS)
        self.level = simd()
        self.entries: np.ndarray | None = None
        if alpha.ndim == 2:
            self._set_entries(sought, sums, binary)
            return
        self.gains, self.owns = _NO_ENTRIES, _NO_ENTRIES
        self.kept = (alpha >= SMALLEST_ALPHA) & sought
        self.n_kept = int(np.count_nonzero(self.kept))
        self.top = float(alpha[self.kept].max(initial=0.0))
        self.own = 1.0 - alpha
        self.gain, k, self.m = np.zeros((3, n))
        np.divide(alpha, sums, out=self.gain, where=self.kept)
        np.divide(alpha, row_sums, out=k, where=self.kept)
        np.divide(row_sums, alpha, out=self.m, where=self.kept)
        if binary:
            self.k, self.sweep_values = k.astype(np.float32), np.empty(0, np.float32)
        else:  # k is folded into the values, which are then alpha_i T_ij <= 1 and cannot overflow float32
            self.k = self.kept.astype(np.float32)
            self.sweep_values = (self.values * np.repeat(k, np.diff(self.indptr))).astype(np.float32)

    def _set_entries(self, sought: np.ndarray, sums: np.ndarray, binary: bool) -> None:
        """The factors of an alpha per entry; those of a row keep 1 where any entry is sought."""
        alpha = self.alpha
        self.entries = entries = (alpha >= SMALLEST_ENTRY) & sought[:, None]
        self.kept = entries.any(axis=1)
        self.n_kept = int(entries.sum(axis=0).max(initial=0))
        self.top = float(alpha.max(where=entries, initial=0.0))
        self.owns = 1.0 - alpha
        self.gains = np.zeros(alpha.shape)
        np.divide(alpha, sums[:, None], out=self.gains, where=entries)
        self.gain, self.own, self.m = self.kept.astype(np.float64), np.ones(len(alpha)), np.zeros(len(alpha))
        self.k = self.kept.astype(np.float32)
        # the factors of a sweep are alpha and these, in float32 (`_Batch`): k = alpha outer, weight = inner / alpha
        inverse = np.divide(1.0, self.row_sums, out=np.zeros(len(alpha)), where=sought)
        self.outer = inverse if binary else np.ones(len(alpha))
        self.inner = self.row_sums / (1.0 if binary else float(self.row_sums.max(initial=1e-300)))
        rows = np.repeat(inverse, np.diff(self.indptr))
        self.sweep_values = np.empty(0, np.float32) if binary else (self.values * rows).astype(np.float32)

    def part(self, columns: np.ndarray) -> System:
        """The system of some labels."""
        part = copy.copy(self)
        part.Y = np.ascontiguousarray(self.Y[:, columns])
        if self.reached.ndim == 2:
            part.reached = self.reached[:, columns]
        if self.entries is not None:
            part.alpha, part.entries = self.alpha[:, columns], self.entries[:, columns]
            part.gains, part.owns = (np.ascontiguousarray(values[:, columns]) for values in (self.gains, self.owns))
        return part

    def in_order(self) -> System:
        """The system as the sweeps walk through it: rows in breadth-first order, if there are many.

        Rows that a row meets first lie side by side then, and most of its neighbours are in a cache.  Y, alpha, F and
        what belongs to an entry stay as they are (`_Batch` takes their rows by ``order``); sums over a row keep the
        order of their terms.  The rule sees the rows alone: a label has the same bits whatever others are beside it.
        """
        n = len(self.kept)
        if n < ORDERED_ROWS:
            return self
        part = copy.copy(self)
        part.order, place = np.empty((2, n), np.int32)
        _propagation.breadth_first(self.indptr, self.indices, part.order, place)
        part.indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.diff(self.indptr)[part.order], out=part.indptr[1:])
        part.indices = np.empty_like(self.indices)
        part.values, part.sweep_values = np.empty_like(self.values), np.empty_like(self.sweep_values)
        _propagation.arrange(
            self.indptr, self.indices, self.values, self.sweep_values, part.order, place, part.indptr, part.indices,
            part.values, part.sweep_values, self.n_threads,
        )  # fmt: skip
        for name in ("gain", "own", "h", "m", "k", "e"):
            setattr(part, name, getattr(self, name)[part.order])
        return part

    def root_of_span(self) -> float:
        """sqrt(largest weight d~_i / alpha_i of the inner product over the least), or a bound of it."""
        if self.entries is None:
            weight = self.m[self.kept] * self.h[self.kept] ** 2
            return math.sqrt(float(weight.max())) / math.sqrt(float(weight.min()))
        degree = (self.row_sums * self.h**2)[self.kept]
        span = math.sqrt(float(degree.max())) / math.sqrt(float(degree.min()))
        return span * math.sqrt(self.top / float(self.alpha.min(where=self.entries, initial=1.0)))

    def first_iterate(self, init: np.ndarray | None) -> np.ndarray:
        """F(0) = Y as in the article, or one sweep of eq. (4) from ``init``; eliminated rows have their F.

        The sweep makes the residual of a row with a tiny alpha as tiny, or its weight 1 / alpha would
        drown all other rows in the inner product.
        """
        F = self.Y.copy() if init is None else init.copy()
        if self.entries is None:
            F[~self.kept] = self.own[~self.kept, None] * self.Y[~self.kept]
        else:
            np.multiply(self.owns, self.Y, out=F, where=~self.entries)
        if self.reached.ndim == 2:
            F[~self.reached] = 0.0
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
                self.indptr, self.indices, self.values, self.gain, self.own, self.gains, self.owns, self.h, self.Y, F,
                out, tops, BLOCK_ROWS, self.n_threads,
            )
        )  # fmt: skip


def _reached_by_label(W: sparse.csr_array, labeled: np.ndarray) -> np.ndarray:
    """Which entries lie in a component with a known entry of their label."""
    edges = W
    if W.nnz and W.data.min() == 0:
        edges = W.copy()
        edges.eliminate_zeros()
    n_components, component = csgraph.connected_components(edges, directed=False)
    known = np.zeros((n_components, labeled.shape[1]), bool)
    rows, columns = np.nonzero(labeled)
    known[component[rows], columns] = True
    return known[component]


# ---------------------------------------------------------------- conjugate gradients


class _Buffers:
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

    F and B = (I - A) Y are float64; the sweep's vectors x (the change of F), z and y are float32, p is bfloat16.
    """

    def __init__(self, system: System, F: np.ndarray, columns: np.ndarray, buffers: _Buffers) -> None:
        self.system = system
        self._allocate(len(F), columns, buffers)
        count = len(columns)
        self._load(F, self.F)
        self._load(system.Y, self.B, system.own)
        if system.entries is not None:
            self._fill_entries(columns, system.entries)
        self.residual(np.ones(count, bool), restart=True)
        self.trusted, self.best, self.least = (self.peak[:count].copy() for _ in range(3))
        self.released_at = np.full(count, math.inf)

    def _allocate(self, n: int, columns: np.ndarray, buffers: _Buffers) -> None:
        width = next(w for w in (4, 8, 16, 32) if w >= len(columns))
        self.columns = columns
        self.F, self.B = (buffers.array(name, n, width, np.float64) for name in "FB")
        self.x, self.z, self.y = (buffers.array(name, n, width, np.float32) for name in "xzy")
        self.p = buffers.array("p", n, width, np.uint16)
        self.x[...] = 0.0
        self.gains, self.k, self.weights = _NO_ENTRIES, _NO_FACTORS, _NO_FACTORS
        if self.system.entries is not None:
            self.gains = buffers.array("gains", n, width, np.float64)
            self.k, self.weights = (buffers.array(name, n, width, np.float32) for name in ("k", "weights"))
        for buffer in (self.F, self.B, self.z, self.p, self.gains, self.k, self.weights):
            if len(columns) < width:
                buffer[:, len(columns) :] = 0
        self.rho, self.along, self.peak = np.zeros((3, width))
        self.partial = np.empty((3, self.system.n_blocks, width))
        self.tops = np.empty((self.system.n_blocks, width), np.float32)

    def _load(self, values: np.ndarray, out: np.ndarray, factor: np.ndarray = _NO_SCALE) -> None:
        s = self.system
        _propagation.load_columns(values, factor, s.order, self.columns.astype(np.int32), out, s.n_threads)

    def _fill_entries(self, columns: np.ndarray, entries: np.ndarray) -> None:
        """B, gain, k and weight of every entry."""
        s, count = self.system, len(columns)
        rows = s.order if len(s.order) else slice(None)
        side_by_side = slice(columns[0], columns[-1] + 1)  # of a whole batch; views, where rows are not in order
        alpha, entries = s.alpha[:, side_by_side][rows], entries[:, side_by_side][rows]
        self.B[:, :count] *= s.owns[:, side_by_side][rows]
        self._load(s.gains, self.gains)
        self.k[...], self.weights[...] = 0.0, 0.0
        np.multiply(alpha, s.outer[rows, None], out=self.k[:, :count], where=entries)
        np.divide(s.inner[rows, None], alpha, out=self.weights[:, :count], where=entries)

    def _mask(self, take: np.ndarray) -> np.ndarray:
        mask = np.zeros(len(self.peak), np.int32)
        mask[: len(take)] = take
        return mask

    def residual(self, take: np.ndarray, *, restart: bool) -> None:
        """Residual of F for these columns; with ``restart`` it is the next direction too."""
        s = self.system
        _propagation.residual(
            s.indptr, s.indices, s.values, s.gain, s.h, s.m, self.gains, self.weights, self.B, self.F,
            self._mask(take), restart, self.z, self.p, self.rho, self.along, self.peak, self.partial, BLOCK_ROWS,
            s.n_threads, s.level,
        )  # fmt: skip
        self.peak[~np.isfinite(self.rho)] = math.inf  # a maximum overlooks NaN, a sum does not

    def flush(self, take: np.ndarray, *, clip: bool) -> None:
        """Add the gathered change to F; a change that is no number is dropped."""
        s = self.system
        if not math.isfinite(self.rho.sum()):
            self.x[:, np.flatnonzero(take & ~np.isfinite(self.rho[: len(take)]))] = 0.0
        _propagation.flush(s.gain, s.h, self._mask(take), clip, self.x, self.F, BLOCK_ROWS, s.n_threads, s.level)

    def sweeps(self, tol: float, n_sweeps: int) -> int:
        s = self.system
        made = _propagation.cg_sweeps(
            s.indptr, s.indices, s.sweep_values, s.k, s.m, self.k, self.weights, s.e, self.x, self.z, self.p, self.y,
            self.rho, self.along, self.peak, self.partial, self.tops, tol, BLOCK_ROWS, n_sweeps, s.n_threads, s.level,
        )  # fmt: skip
        return int(made)

    def active(self, tol: float) -> np.ndarray:
        return self.peak[: len(self.columns)] > tol

    def _per_column(self) -> tuple[np.ndarray, ...]:
        return (self.F, self.B, self.x, self.z, self.p, self.rho, self.along, self.gains, self.k, self.weights)

    def refresh(self, tol: float, *, every: bool = False) -> None:
        """Compute residuals anew that have fallen by REFRESH, or all, or are no number; give up misfit directions."""
        count = len(self.columns)
        peak, rho, along = self.peak[:count], self.rho[:count], self.along[:count]
        worn = (peak > tol) & (every | (peak <= REFRESH * self.trusted) | ~np.isfinite(rho))
        if worn.any():
            self.flush(worn, clip=False)
            self.residual(worn, restart=False)
            astray = worn & ~(np.abs(along - rho) <= ASTRAY * rho)
            if astray.any():
                self.residual(astray, restart=True)
            self.trusted[worn] = peak[worn]
        np.maximum(self.trusted, peak, out=self.trusted)

    def stuck(self, tol: float) -> np.ndarray:
        """The columns whose residual has not halved since this was last asked."""
        peak = self.peak[: len(self.columns)]
        stuck = (peak > tol) & ~(peak <= 0.5 * self.least)
        self.least = np.minimum(self.least, peak)
        return stuck

    def release(self, leaving: np.ndarray, F: np.ndarray, tol: float, *, last: bool) -> float:
        """Let columns go whose clipped F has a residual of at most ``tol``; the largest residual of those gone.

        A column whose F misses ``tol`` goes on from there, unless that has not helped before, or this is ``last``.
        ``F`` holds the best of each column, and a worse one never replaces it.
        """
        self.flush(leaving, clip=self.system.clip)
        self.residual(leaving, restart=True)
        count = len(self.columns)
        peak = self.peak[:count].copy()
        stay = ~leaving
        if not last:
            stay |= (peak > tol) & (peak <= 0.5 * self.released_at)
        better = np.flatnonzero(leaving & (peak <= self.best))
        _propagation.store_columns(
            self.F, better.astype(np.int32), self.system.order, self.columns[better].astype(np.int32), F,
            self.system.n_threads,
        )  # fmt: skip
        self.best[better] = peak[better]
        worst = float(self.best[~stay].max(initial=0.0))
        for entry in (self.released_at, self.trusted, self.least):
            entry[leaving] = peak[leaving]
        at = np.flatnonzero(stay)
        if len(at) == 0:
            self.columns = self.columns[at]
            return worst
        old = (*self._per_column(), peak)
        self._allocate(len(F), self.columns[at], _Buffers())
        for new, values in zip((*self._per_column(), self.peak), old, strict=True):
            if values.size:
                new[..., : len(at)] = values[..., at]
        self.released_at, self.best, self.trusted = self.released_at[at], self.best[at], self.trusted[at]
        self.least = self.least[at]
        return worst


def conjugate_gradients(system: System, F: np.ndarray, goal: Goal) -> tuple[int, float]:
    """Solve eq. (8) in place from F, batch by batch: the sweeps of the slowest column, and the residual."""
    n_labels = F.shape[1]
    limit = enough_sweeps(system, goal.tol) if goal.max_iter is None else goal.max_iter
    patience = 50 + int(4 / math.sqrt(1 - system.top))  # a few times what theory needs for a digit
    most, worst, buffers = 0, 0.0, _Buffers()
    system = system.in_order() if n_labels else system
    for columns in _batches(n_labels):
        batch = _Batch(system, F, columns, buffers)
        n_iter = 0
        while len(batch.columns):
            stuck = np.zeros(len(batch.columns), bool)
            if batch.active(goal.tol).any() and n_iter < limit:
                made = batch.sweeps(goal.tol, _sweeps_now(system, batch, n_iter, limit, goal))
                n_iter += made
                if goal.callback is not None:
                    n_done = int(columns[-1]) + 1 - len(batch.columns)
                    goal.callback(Progress(n_iter, float(batch.peak.max()), n_done, n_labels))
                if n_iter % ROUND == 0:
                    batch.refresh(goal.tol)
                if n_iter // patience > (n_iter - made) // patience:
                    batch.refresh(goal.tol, every=True)  # what the sweeps believe to be left falls for ever
                    stuck = batch.stuck(goal.tol)
            active = batch.active(goal.tol) & ~stuck
            over = n_iter >= limit
            width = batch.x.shape[1]
            narrower = width // 2 if width > 4 else 0  # so few columns fit a narrower batch
            if over or stuck.any() or np.count_nonzero(active) <= narrower:
                leaving = np.ones_like(active) if over else ~active
                worst = max(worst, batch.release(leaving, F, goal.tol, last=over))
        most = max(most, n_iter)
    return most, worst


def _batches(n_labels: int) -> Iterator[np.ndarray]:
    """The labels of each batch; one of 32 that is half empty costs more than two."""
    first = 0
    while first < n_labels:
        left = n_labels - first
        last = first + min(left, _propagation.MAX_WIDTH if left > SPLIT else 16)
        yield np.arange(first, last, dtype=np.intp)
        first = last


def _sweeps_now(system: System, batch: _Batch, n_iter: int, limit: int, goal: Goal) -> int:
    if goal.callback is not None:
        return 1
    work = (len(system.indices) + 10 * len(system.gain)) * batch.x.shape[1]
    return max(1, min(ROUND - n_iter % ROUND, limit - n_iter, int(WORK_PER_CALL / max(1, work))))


def enough_sweeps(system: System, tol: float) -> int:
    """Sweeps after which conjugate gradients have met ``tol`` in exact arithmetic, and some more for rounding.

    In the norm of K the error falls as 2 q^t with q = (s - 1) / (s + 1), s^2 = (1 + max alpha) / (1 - max alpha);
    the weights m turn that norm into the largest entry of the residual.  Whatever K is, they end after as many
    sweeps as there are rows to find, which rounding stretches.
    """
    top = system.top
    if top == 0:
        return 1
    start = 2 * (1 + top) * math.sqrt(system.n_kept) * system.root_of_span()
    gain = math.log1p((1 - top + math.sqrt((1 - top) * (1 + top))) / top)  # -log q, also for a tiny alpha
    return 20 + int(min(1.2 * math.log(max(start / tol, 2.0)) / gain, 10 * system.n_kept + 100))
