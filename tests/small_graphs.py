"""Every small graph, every labelling of it, and how far a solver is from the closed form on them."""

import itertools

import numpy as np

from nmlsdr.graph import transition_matrix
from nmlsdr.propagation import propagate


def graphs(n, *, up_to_order):
    """Every graph on n nodes with an edge, or one for each way of joining them."""
    pairs = list(itertools.combinations(range(n), 2))
    orders = [np.array(order) for order in itertools.permutations(range(n))]
    seen = set()
    for chosen in range(1, 2 ** len(pairs)):
        W = np.zeros((n, n))
        for bit, (i, j) in enumerate(pairs):
            W[i, j] = W[j, i] = chosen >> bit & 1
        if up_to_order:
            if W.tobytes() in seen:
                continue
            seen.update(W[np.ix_(order, order)].tobytes() for order in orders)
        yield W


def labels_of(n):
    """Every labelled mask of n rows with every label vector on it, one column each."""
    for mask in range(1, 2**n):
        labeled = (mask >> np.arange(n) & 1).astype(bool)
        Y = np.zeros((n, 2 ** labeled.sum()))
        Y[labeled] = np.array(list(itertools.product([0.0, 1.0], repeat=labeled.sum()))).T
        yield labeled, Y


def worst_error(n, solver, up_to_order):
    worst, columns = 0.0, 0
    for W in graphs(n, up_to_order=up_to_order):
        T = transition_matrix(W).toarray()
        for labeled, Y in labels_of(n):
            alpha = np.where(labeled, 0.6, 0.999)[:, None]
            F = propagate(W, Y, alpha.ravel(), labeled=labeled, solver=solver, n_jobs=1).F
            exact = np.linalg.solve(np.eye(n) - alpha * T, (1 - alpha) * Y)
            worst = max(worst, np.abs(F - exact).max())
            columns += Y.shape[1]
    return worst, columns
