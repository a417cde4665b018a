"""What the tests of propagation share: labels of either sign, the kernels of one batch, directions, small graphs."""

import itertools

import numpy as np
import reference

from nmlsdr import _propagation, propagation
from nmlsdr._checks.arguments import check_alpha, check_graph
from nmlsdr._solvers.system import Goal, System
from nmlsdr.graph import transition_matrix


def propagate_signed(W, R, alpha, *, labeled, **settings):
    """As a test writes graphs and numbers; numbers of unlabelled rows and unknown entries may be anything."""
    known = labeled if labeled.ndim == 2 else labeled[:, None]
    alpha = check_alpha(alpha, len(R), n_labels=np.shape(R)[1])
    system = System(check_graph(W), np.where(known, R, 0.0), alpha, labeled, 1, clip=False)
    return propagation.propagate_signed(system, Goal(**{"tol": 1e-8, **settings}))


# ---------------------------------------------------------------- one batch of the kernels


def upper(values):
    """Search directions as the kernels hold them: the upper half of every float32."""
    return (reference.bfloat16(values).view(np.uint32) >> 16).astype(np.uint16)


def expanded(halves):
    return (halves.astype(np.uint32) << 16).view(np.float32)


def kernels(graph, factors, B, F, x, z, p, *, y=None, block=256, n_threads=1, level=0):
    """`BatchKernels` of (indptr, indices, values, sweep_values, h, e), (gain, m, k) and the batch's arrays."""
    n, width = x.shape
    gain, m, k = (np.ascontiguousarray(values.reshape(n, -1)) for values in factors)
    n_blocks = -(-n // block)
    return _propagation.BatchKernels(
        *graph,
        gain,
        m,
        k,
        B,
        F,
        x,
        z,
        np.empty_like(z) if y is None else y,
        p,
        np.empty((3, n_blocks, width)),
        np.empty((n_blocks, width), np.float32),
        block,
        n_threads,
        level,
    )


def sweep(bound, tol, n_sweeps, rho, along, peak):
    """Sweeps with one tol for all columns; the number made."""
    width = len(rho)
    return bound.sweeps(np.full(width, tol), n_sweeps, rho, along, peak, np.zeros(width, np.int64))


# ---------------------------------------------------------------- small graphs


def graphs(n, *, up_to_order):
    """Every graph on n nodes with an edge, or one for each way of joining them."""
    pairs = list(itertools.combinations(range(n), 2))
    orders = [np.array(order) for order in itertools.permutations(range(n))]
    isomorphs = set()
    for chosen in range(1, 2 ** len(pairs)):
        W = np.zeros((n, n))
        for bit, (i, j) in enumerate(pairs):
            W[i, j] = W[j, i] = chosen >> bit & 1
        if up_to_order:
            if W.tobytes() in isomorphs:
                continue
            isomorphs.update(W[np.ix_(order, order)].tobytes() for order in orders)
        yield W


def labels_of(n):
    """Every labelled mask of n rows with every label vector on it, one column each."""
    for mask in range(1, 2**n):
        labeled = (mask >> np.arange(n) & 1).astype(bool)
        Y = np.zeros((n, 2 ** labeled.sum()))
        Y[labeled] = np.array(list(itertools.product([0.0, 1.0], repeat=labeled.sum()))).T
        yield labeled, Y


def worst_error(n, solver, up_to_order):
    worst = 0.0
    columns = 0
    for W in graphs(n, up_to_order=up_to_order):
        T = transition_matrix(W).toarray()
        for labeled, Y in labels_of(n):
            alpha = np.where(labeled, 0.6, 0.999)[:, None]
            F = propagation.propagate(W, Y, alpha.ravel(), labeled=labeled, solver=solver, n_jobs=1).F
            exact = np.linalg.solve(np.eye(n) - alpha * T, (1 - alpha) * Y)
            worst = max(worst, np.abs(F - exact).max())
            columns += Y.shape[1]
    return worst, columns
