"""The plain twin: one NumPy function per kernel, written to be read as a proof.

Imported by tests and benchmarks only; the package never falls back to it.
The kernels must equal these functions bit for bit.
"""

import numpy as np

# ---------------------------------------------------------------- 0. canonical distance, neighbours, graph


def squared_distance(x, y):
    """The canonical squared distance of two rows: eight sums over j mod 8, folded in a fixed order."""
    t = (np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64)) ** 2
    a = [0.0] * 8
    for j, value in enumerate(t.tolist()):
        a[j % 8] += value
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))


def squared_distances(X, Y):
    """All canonical squared distances (n, m): the same sums, row pairs side by side."""
    X, Y = _dense64(X), _dense64(Y)
    a = np.zeros((8, len(X), len(Y)))
    for j in range(X.shape[1]):
        a[j % 8] += (X[:, j, None] - Y[None, :, j]) ** 2
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))


def _dense64(X):
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def kneighbors(X, n_neighbors, queries=None):
    """(squared distances, indices) in the order (squared distance, row index); self excluded by index."""
    squared = squared_distances(X if queries is None else queries, X)
    chosen = np.empty((len(squared), n_neighbors), dtype=np.intp)
    for i, row in enumerate(squared):
        order = np.argsort(row, kind="stable")  # stable: equal distances stay in row order
        if queries is None:
            order = order[order != i]
        chosen[i] = order[:n_neighbors]
    return np.take_along_axis(squared, chosen, axis=1), chosen


def neighbor_graph(X, n_neighbors, weights="binary", sigma=None):
    """Dense W of eq. (2) on the kNN edges or eq. (3): i in kNN(j) OR j in kNN(i)."""
    squared, indices = kneighbors(X, n_neighbors)
    n = len(squared)
    edge = np.zeros((n, n), dtype=bool)
    edge[np.arange(n)[:, None], indices] = True
    edge |= edge.T
    if weights == "binary":
        return edge.astype(np.float64)
    if sigma is None:
        sigma = np.median(np.sqrt(squared[:, -1])) or 1.0
    return np.where(edge, np.exp(-(squared_distances(X, X) / sigma) / sigma), 0.0)


def normalized_graph(W):
    """(W~, d~): W~ = D^-1/2 W D^-1/2 and its row sums, summed in increasing column order."""
    W = _dense64(W)
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


# ---------------------------------------------------------------- 1. propagation


def propagate(W, Y, alpha, labeled=None):
    """The closed form F = (I - A T)^-1 (I - A) Y of eq. (8), dense; Y counts as 0 on the unlabelled rows.

    alpha_i = 0 makes row i of the system F_i = Y_i.  A component without a label has the solution 0.
    """
    Y = np.asarray(Y, dtype=np.float64)
    if labeled is not None:
        Y = np.where(np.asarray(labeled)[:, None], Y, 0.0)
    A = np.broadcast_to(np.asarray(alpha, dtype=np.float64), len(Y))[:, None]
    return np.linalg.solve(np.eye(len(Y)) - A * transition_matrix(W), (1 - A) * Y)

# ---------------------------------------------------------------- 2. HSIC projection

# ---------------------------------------------------------------- 3. ML-kNN


def count_neighbor_labels(Y, indices):
    """delta_ij: how many of row i's neighbours carry label j."""
    return np.array([[sum(int(Y[m][j]) for m in row) for j in range(len(Y[0]))] for row in indices], dtype=np.int32)


def label_histogram(Y, delta, n_neighbors):
    """(2, C, k + 1): [1, j, d] = c_j[d] = #{i: y_ij = 1, delta_ij = d}; [0, j, d] = c'_j[d]."""
    histogram = np.zeros((2, len(Y[0]), n_neighbors + 1), dtype=np.int64)
    for labels, counts in zip(Y, delta, strict=True):
        for j, (y, d) in enumerate(zip(labels, counts, strict=True)):
            histogram[int(y), j, d] += 1
    return histogram


def mlknn_posterior(Y, indices, query_indices, s=1.0):
    """(Prior, P(d|1), P(d|0), r): ML-kNN with Python's numbers, one row and one label at a time."""
    n, C, k = len(Y), len(Y[0]), len(indices[0])
    c = label_histogram(Y, count_neighbor_labels(Y, indices), k)
    prior = [(s + sum(int(y[j]) for y in Y)) / (2 * s + n) for j in range(C)]
    given = [
        [[(s + int(c[y, j, d])) / (s * (k + 1) + int(c[y, j].sum())) for d in range(k + 1)] for j in range(C)]
        for y in (0, 1)
    ]
    posterior = np.empty((len(query_indices), C))
    for i, counts in enumerate(count_neighbor_labels(Y, query_indices)):
        for j, d in enumerate(counts):
            for_it, against = prior[j] * given[1][j][d], (1 - prior[j]) * given[0][j][d]
            posterior[i, j] = for_it / (for_it + against)
    return np.array(prior), np.array(given[1]), np.array(given[0]), posterior


# ---------------------------------------------------------------- 5. generalised eigenproblems of the baselines

# ---------------------------------------------------------------- the whole method
