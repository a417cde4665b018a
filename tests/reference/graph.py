"""Canonical distances, nearest neighbours, and the graph of eq. (2) and (3) with its transition matrix."""

import numpy as np

from .arrays import dense64


def squared_distance(x, y):
    """The canonical squared distance of two rows: eight sums over j mod 8, folded in a fixed order."""
    t = (np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64)) ** 2
    a = [0.0] * 8
    for j, value in enumerate(t.tolist()):
        a[j % 8] += value
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))


def squared_distances(X, Y):
    """All canonical squared distances (n, m): the same sums, row pairs side by side."""
    X = dense64(X)
    Y = dense64(Y)
    a = np.zeros((8, len(X), len(Y)))
    for j in range(X.shape[1]):
        a[j % 8] += (X[:, j, None] - Y[None, :, j]) ** 2
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))


def unit_rows(X):
    """Rows divided by their norms, after an exact scaling to a largest magnitude in [1/2, 1); rows of 0 stay 0."""
    X = dense64(X).copy()
    for row in X:
        if row.any():
            row[:] = np.ldexp(row, -np.frexp(np.abs(row).max())[1])
            row /= np.sqrt(squared_distance(row, np.zeros(len(row))))
    return X


def metric_distances(X, Y, metric):
    """Squared distances (n, m); with "cosine" of unit rows, 2 (1 - cos), where a row of 0 is 2 from every row."""
    if metric == "euclidean":
        return squared_distances(X, Y)
    X = unit_rows(X)
    Y = unit_rows(Y)
    return np.where(X.any(axis=1)[:, None] & Y.any(axis=1), squared_distances(X, Y), 2.0)


def kneighbors(X, n_neighbors, queries=None, metric="euclidean"):
    """(squared distances, indices) in the order (squared distance, row index); self excluded by index."""
    squared = metric_distances(X if queries is None else queries, X, metric)
    chosen = np.empty((len(squared), n_neighbors), dtype=np.intp)
    for i, row in enumerate(squared):
        order = np.argsort(row, kind="stable")  # stable: equal distances stay in row order
        if queries is None:
            order = order[order != i]
        chosen[i] = order[:n_neighbors]
    return np.take_along_axis(squared, chosen, axis=1), chosen


def radius_neighbors(X, radius, queries=None, metric="euclidean"):
    """For each query (squared distances, indices) of all rows within the radius, in the order of `kneighbors`."""
    squared = metric_distances(X if queries is None else queries, X, metric)
    limit = 2 * radius if metric == "cosine" else radius * radius
    neighborhoods = []
    for i, row in enumerate(squared):
        order = np.argsort(row, kind="stable")
        near = [j for j in order if row[j] <= limit and not (queries is None and j == i)]
        neighborhoods.append((row[near], np.array(near, dtype=np.intp)))
    return neighborhoods


def neighbor_graph(X, n_neighbors, edge_weights="binary", sigma=None, metric="euclidean"):
    """Dense W of eq. (2) on the kNN edges or eq. (3): i in kNN(j) OR j in kNN(i)."""
    squared, indices = kneighbors(X, n_neighbors, metric=metric)
    n = len(squared)
    edge = np.zeros((n, n), dtype=bool)
    edge[np.arange(n)[:, None], indices] = True
    edge |= edge.T
    if edge_weights == "binary":
        return edge.astype(np.float64)
    if sigma is None:
        sigma = np.median(np.sqrt(squared[:, -1])) or 1.0
    return np.where(edge, np.exp(-(metric_distances(X, X, metric) / sigma) / sigma), 0.0)


def normalized_graph(W):
    """(W~, d~): W~ = D^-1/2 W D^-1/2 and its row sums, summed in increasing column order."""
    W = dense64(W)
    root = np.sqrt(_row_sums(W))
    scale = root[:, None] * root[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        W_tilde = np.where(scale > 0, W / scale, 0.0)
    return W_tilde, _row_sums(W_tilde)


def transition_matrix(W):
    """T = D~^-1 W~; the row of an isolated node is 0."""
    W_tilde, d_tilde = normalized_graph(W)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(d_tilde[:, None] > 0, W_tilde / d_tilde[:, None], 0.0)


def _row_sums(A):
    """Row sums added one column after another (np.sum adds in pairs: other bits)."""
    total = np.zeros(len(A))
    for j in range(A.shape[1]):
        total += A[:, j]
    return total
