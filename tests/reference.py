"""The plain twin: one NumPy function per kernel, written to be read as a proof.

Imported by tests and benchmarks only; the package never falls back to it.
The kernels must equal these functions bit for bit.
"""

import itertools
import math
import struct

import forest_reference
import numpy as np
import scipy.linalg  # noqa: F401  # its BLAS is one of those that the next lines limit
from threadpoolctl import ThreadpoolController

# On small arrays the threads of BLAS spend many times the work in waiting for each other.
on_one_thread = ThreadpoolController().wrap(limits=1, user_api="blas")

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
    X = _dense64(X)
    Y = _dense64(Y)
    a = np.zeros((8, len(X), len(Y)))
    for j in range(X.shape[1]):
        a[j % 8] += (X[:, j, None] - Y[None, :, j]) ** 2
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))


def _dense64(X):
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def unit_rows(X):
    """Rows divided by their norms, after an exact scaling to a largest magnitude in [1/2, 1); rows of 0 stay 0."""
    X = _dense64(X).copy()
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


@on_one_thread
def propagate(W, Y, alpha, labeled=None):
    """The closed form F = (I - A T)^-1 (I - A) Y of eq. (8), dense; Y counts as 0 on the unlabelled rows.

    alpha_i = 0 makes row i of the system F_i = Y_i.  A component without a label has the solution 0.
    With alpha (n, C) or labeled (n, C) every label has its own system.
    """
    Y = np.asarray(Y, dtype=np.float64)
    if np.ndim(alpha) == 2 or np.ndim(labeled) == 2:
        A = np.array(alpha, dtype=np.float64).reshape(-1, Y.shape[1] if np.ndim(alpha) == 2 else 1)
        known = np.ones(Y.shape, bool) if labeled is None else np.reshape(labeled, (len(Y), -1))
        A = np.broadcast_to(A, Y.shape)
        known = np.broadcast_to(known, Y.shape)
        return np.column_stack([propagate(W, Y[:, [c]], A[:, c], known[:, c]) for c in range(Y.shape[1])])
    if labeled is not None:
        Y = np.where(np.asarray(labeled)[:, None], Y, 0.0)
    A = np.broadcast_to(np.asarray(alpha, dtype=np.float64), len(Y))[:, None]
    return np.linalg.solve(np.eye(len(Y)) - A * transition_matrix(W), (1 - A) * Y)


def bfloat16(values):
    """float32 values rounded to their upper 16 bits, to nearest and ties to even, still as float32."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    with np.errstate(over="ignore"):
        return ((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def residual(indptr, indices, values, gain, h, m, B, F, p, block, restart):
    """(z, p, rho, along, peak) in float64: z = h (B - (I - A T) F), rounded to float32 once; rho = sum m z^2;
    along = sum m p z; peak = max |z / h|.  With ``restart`` the search direction p is z, as `bfloat16`.

    (A T F)_i = gain_i sum_j v_ij F_j; an empty ``values`` means v_ij = h_j.  Eliminated rows (gain 0) have z = 0.
    With an alpha per entry, gain and m are (n, width).
    """
    gain = gain.reshape(len(F), -1)
    m = m.reshape(len(F), -1).astype(np.float64)
    v = values if len(values) else h[indices]
    gap = np.where(gain == 0, 0.0, (B + gain * _neighbor_sums(indptr, indices, v, F)) - F)
    z = (h[:, None] * gap).astype(np.float32)
    wide = z.astype(np.float64)
    p = bfloat16(z) if restart else np.where((gain == 0).all(axis=1, keepdims=True), np.float32(0), p)
    along = _block_sums((m * p.astype(np.float64)) * wide, block)
    return z, p, _block_sums((m * wide) * wide, block), along, np.abs(gap).max(axis=0)


def cg_sweeps(indptr, indices, values, k, m, e, x, z, p, rho, along, peak, tol, block, n_sweeps):
    """Conjugate gradients for K = I - diag(k) V in the inner product of the weights m; all vectors float32.

    Directions p are rounded to `bfloat16`, and a step is the minimum along what is left of them, along = <p, z>.
    (x, z, p, rho, along, peak) after ``n_sweeps`` sweeps; a column with peak <= tol keeps its x and z.
    With an alpha per entry, k and m are (n, width).
    """
    k = k.reshape(len(p), -1)
    m = m.reshape(len(p), -1).astype(np.float64)
    for _ in range(n_sweeps):
        v = values if len(values) else np.ones(len(indices), np.float32)
        y = np.where(m == 0, np.float32(0), p - k * _neighbor_sums(indptr, indices, v, p))
        curvature = _block_sums((m * p.astype(np.float64)) * y.astype(np.float64), block)
        with np.errstate(all="ignore"):
            step = _float_or_zero(np.where((peak > tol) & (curvature > 0), along / curvature, 0.0))
            z = z - step * y
            wide = z.astype(np.float64)
            fresh = _block_sums((m * wide) * wide, block)
            turn = _float_or_zero(np.where(step != 0, fresh / rho, 0.0))
        rho = fresh
        peak = np.abs(e[:, None] * z).max(axis=0).astype(np.float64)
        x = x + step * p
        p = bfloat16(z + turn * p)
        along = _block_sums((m * p.astype(np.float64)) * wide, block)
    return x, z, p, rho, along, peak


def _float_or_zero(values):
    """In float32; 0 for NaN and for what no float32 can hold."""
    return np.where(np.abs(values) <= np.finfo(np.float32).max, values, 0.0).astype(np.float32)


def flush(h, x, F, clip):
    """F + x / h, clipped on demand."""
    moved = F + x.astype(np.float64) / h[:, None]
    return np.clip(moved, 0.0, 1.0) if clip else moved


def eliminate(P, slack, B):
    """F = P F + B by elimination without a subtraction; ``slack`` is 1 - the row sums of P.  Returns F."""
    P = P.copy()
    slack = slack.copy()
    B = B.copy()
    n = len(P)
    pivot = np.empty(n)
    for q in range(n - 1, -1, -1):
        pivot[q] = slack[q]
        for j in range(q):
            pivot[q] += P[q, j]
        share = P[:q, [q]] / pivot[q]
        P[:q, :q] += share * P[q, :q]
        slack[:q] += share[:, 0] * slack[q]
        B[:q] += share * B[q]
    for q in range(n):
        for j in range(q):
            B[q] += P[q, j] * B[j]
        B[q] /= pivot[q]
    return B


def _neighbor_sums(indptr, indices, values, p):
    """sum_j v_ij p_j over the stored entries of each row, in stored order: the r-th neighbours of all rows at once."""
    sums = np.zeros_like(p)
    counts = np.diff(indptr)
    for r in range(counts.max(initial=0)):
        rows = np.flatnonzero(counts > r)
        at = indptr[rows] + r
        sums[rows] += values[at][:, None] * p[indices[at]]
    return sums


def _block_sums(terms, block):
    """Column sums: row after row within a block, then block after block (np.sum adds in pairs: other bits)."""
    total = np.zeros(terms.shape[1])
    for first in range(0, len(terms), block):
        part = np.zeros(terms.shape[1])
        for row in terms[first : first + block]:
            part = part + row
        total = total + part
    return total


# ---------------------------------------------------------------- 2. HSIC projection


def centring_matrix(n):
    """H = I - 11'/n."""
    return np.eye(n) - np.full((n, n), 1.0 / n)


@on_one_thread
def hsic_projection(X, F, n_components):
    """(P', eigenvalues) of X'H F F'H X P = P Lambda, P'P = I: the article's matrix, formed and decomposed."""
    XH = _dense64(X).T @ centring_matrix(X.shape[0])
    eigenvalues, P = np.linalg.eigh(XH @ F @ F.T @ XH.T)
    return _leading(eigenvalues, P, n_components)


def _leading(eigenvalues, P, n_components):
    """Largest first, one direction a row, the entry of largest magnitude positive."""
    order = np.argsort(eigenvalues)[::-1][:n_components]
    P = P[:, order].T
    signs = np.sign(np.take_along_axis(P, np.abs(P).argmax(axis=1)[:, None], axis=1))
    return P * signs, eigenvalues[order]


def feature_weights(X, Y, known=None):
    """kappa: one minus what the known labels, permuted at random, would show on average; at least 0.

    What is left of two equal sums is rounding: a difference below 1e-12 of what was summed counts as none.
    """
    X = _dense64(X)
    known = np.ones(np.shape(Y), dtype=bool) if known is None else known
    h = np.zeros(X.shape[1])
    h0 = np.zeros(X.shape[1])
    summed = np.zeros(X.shape[1])
    for c in range(np.shape(Y)[1]):
        rows = np.flatnonzero(known[:, c])
        if len(rows) < 2:
            continue
        y = Y[rows, c] - np.mean(Y[rows, c])
        for j in range(X.shape[1]):
            x = X[rows, j] - np.mean(X[rows, j])
            if np.ptp(X[rows, j]) > 0 and np.ptp(Y[rows, c]) > 0:
                h[j] += (x @ y) ** 2
                h0[j] += (x @ x) * (y @ y) / (len(rows) - 1)
                summed[j] += np.linalg.norm(X[rows, j]) * np.linalg.norm(x) * (y @ y)
    beyond = h - h0 > 1e-12 * summed
    return np.where(beyond, 1.0 - h0 / np.where(beyond, h, 1.0), 0.0)


# ---------------------------------------------------------------- 2b. the trend


@on_one_thread
def ridge_regression(X, Y, ridge, w):
    """(coef, intercept) on S = Xc diag(w)^1/2, lambda = ridge |S|^2 / l; nothing varies: the mean."""
    X = _dense64(X)
    l = len(Y)
    S = (X - X.mean(axis=0)) * np.sqrt(w) * (np.ptp(X, axis=0) > 0)
    level = ridge * np.sum(S * S) / l
    if level == 0:
        return np.zeros((Y.shape[1], X.shape[1])), Y.mean(axis=0)
    B = np.linalg.solve(S.T @ S + level * np.eye(X.shape[1]), S.T @ (Y - Y.mean(axis=0)))
    coef = (np.sqrt(w)[:, None] * B).T
    return coef, Y.mean(axis=0) - coef @ X.mean(axis=0)


@on_one_thread
def cross_fit(X, Y, shrinkages=(0.0, 0.5, 1.0), ridges=(0.3, 1.0, 3.0, 10.0, 30.0), n_splits=5, seed=0, known=None):
    """(b, c, out-of-fold predictions, errors): every pair fitted in every fold, from the other folds alone.

    Each label is fitted and compared on its known rows; a label without any is 0.
    """
    X = _dense64(X)
    l = len(Y)
    known = np.ones(Y.shape, dtype=bool) if known is None else known
    fold = np.random.default_rng(seed).permutation(l) % min(n_splits, l)
    varies = np.array([known[:, c].any() and np.ptp(Y[known[:, c], c]) > 0 for c in range(Y.shape[1])])
    all_of_it = np.zeros(Y.shape[1])
    weights = np.zeros(Y.shape[1])
    for label in np.flatnonzero(varies):
        y = Y[known[:, label], label]
        all_of_it[label] = np.sum((y - y.mean()) ** 2)
        weights[label] = min(1.0, np.var(y) / 0.04)  # a rare label that nothing predicts has little to say
    best = None
    errors = {}
    for b in shrinkages:
        for c in ridges:
            O = np.zeros(Y.shape)
            for t in range(fold.max() + 1):
                a = fold != t
                kappa = feature_weights(X[a], Y[a], known[a])
                w = 1.0 - b * (1.0 - (kappa if kappa.any() else np.ones(len(kappa))))
                for label in range(Y.shape[1]):
                    training = a & known[:, label]
                    if training.any():
                        coef, intercept = ridge_regression(X[training], Y[training, label : label + 1], c, w)
                        O[~a, label] = (X[~a] @ coef.T + intercept)[:, 0]
            squared_errors = np.sum(np.where(known, Y - O, 0.0) ** 2, axis=0)
            shares = weights[varies] * squared_errors[varies] / all_of_it[varies]
            errors[b, c] = np.sum(shares) / np.sum(weights) if varies.any() else 0.0
            if best is None or errors[b, c] < errors[best[:2]]:
                best = b, c, O
    return *best, errors


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
    n = len(Y)
    C = len(Y[0])
    k = len(indices[0])
    c = label_histogram(Y, count_neighbor_labels(Y, indices), k)
    prior = [(s + sum(int(y[j]) for y in Y)) / (2 * s + n) for j in range(C)]
    likelihoods = [
        [[(s + int(c[y, j, d])) / (s * (k + 1) + int(c[y, j].sum())) for d in range(k + 1)] for j in range(C)]
        for y in (0, 1)
    ]
    posterior = np.empty((len(query_indices), C))
    for i, counts in enumerate(count_neighbor_labels(Y, query_indices)):
        for j, d in enumerate(counts):
            for_it = prior[j] * likelihoods[1][j][d]
            against = (1 - prior[j]) * likelihoods[0][j][d]
            posterior[i, j] = for_it / (for_it + against)
    return np.array(prior), np.array(likelihoods[1]), np.array(likelihoods[0]), posterior


# ---------------------------------------------------------------- 5. generalised eigenproblems of the baselines


@on_one_thread
def generalized_projection(A, B, n_components):
    """A p = lambda B p with P'BP = I, through B^(-1/2)."""
    spread, V = np.linalg.eigh(B)
    root = V / np.sqrt(spread) @ V.T
    eigenvalues, U = np.linalg.eigh(root @ A @ root)
    return _leading(eigenvalues, root @ U, n_components)


def cca_matrices(X, Y, ridge=0.1):
    """(A, B) of Xc'Yc (Yc'Yc + rI)^-1 Yc'Xc p = lambda (Xc'Xc + rI) p, labels coded -1/+1."""
    H = centring_matrix(len(X))
    Xc = H @ X
    Yc = H @ (2.0 * Y - 1.0)
    inner = np.linalg.inv(Yc.T @ Yc + ridge * np.eye(Y.shape[1]))
    return Xc.T @ Yc @ inner @ Yc.T @ Xc, Xc.T @ Xc + ridge * np.eye(X.shape[1])


def mddm_matrices(X, Y, mu=0.5):
    """(A, B) of MDDMf: M M' p = lambda (mu Xc'Xc + (1 - mu) I) p."""
    Xc = centring_matrix(len(X)) @ X
    M = Xc.T @ Y
    return M @ M.T, mu * Xc.T @ Xc + (1.0 - mu) * np.eye(X.shape[1])


def mvmd_matrix(X, Y, beta=0.5):
    """(1 - beta) Xc'Xc + beta M M', labels coded -1/+1."""
    Xc = centring_matrix(len(X)) @ X
    M = Xc.T @ (2.0 * Y - 1.0)
    return (1.0 - beta) * Xc.T @ Xc + beta * M @ M.T


def weighted_lda_matrices(X, W, ridge=0.1):
    """(S_b, S_w + rI) summed over labels and rows, as the definition reads.

    S_w = sum_k sum_i w_ik (x_i - m_k)(x_i - m_k)', S_b = sum_k n_k (m_k - m)(m_k - m)', with the weighted
    means m_k of the labels and m of all.
    """
    n = W.sum(axis=0)
    m = W.sum(axis=1) @ X / n.sum()
    S_w = ridge * np.eye(X.shape[1])
    S_b = np.zeros((X.shape[1], X.shape[1]))
    for k in np.flatnonzero(n):
        m_k = W[:, k] @ X / n[k]
        S_w += (X - m_k).T * W[:, k] @ (X - m_k)
        S_b += n[k] * np.outer(m_k - m, m_k - m)
    return S_b, S_w


def entropy_weights(Y):
    """w_ik = y_ik / |y_i|_1; an empty row gets 0."""
    return Y / np.maximum(Y.sum(axis=1, keepdims=True), 1)


def correlation_weights(Y):
    """W = Y C, rows divided by |y_i|_1; C_kl = y_k'y_l / (|y_k| |y_l|)."""
    W = np.zeros(Y.shape)
    for k in range(Y.shape[1]):
        for m in range(Y.shape[1]):
            squared_norms = (Y[:, k] @ Y[:, k]) * (Y[:, m] @ Y[:, m])
            if squared_norms > 0:
                W[:, m] += Y[:, k] * (Y[:, k] @ Y[:, m]) / np.sqrt(squared_norms)
    return W / np.maximum(Y.sum(axis=1, keepdims=True), 1)


def fuzzy_weights(X, Y):
    """Memberships by the squared distance of the centred rows to the centres of their labels."""
    Xc = X - X.mean(axis=0)
    W = entropy_weights(Y)
    centres = W.T @ Xc / len(X)
    for _ in range(100):
        for i, x in enumerate(Xc):
            squared = np.array([np.sum((x - centre) ** 2) for centre in centres])
            hits = Y[i] * (squared == 0)
            near = hits if hits.any() else np.array([y / d if y else 0.0 for y, d in zip(Y[i], squared, strict=True)])
            W[i] = near / near.sum() if near.any() else 0.0
        moved = [W[:, k] ** 2 @ Xc / max(np.sum(W[:, k] ** 2), np.finfo(float).tiny) for k in range(Y.shape[1])]
        step = np.linalg.norm(moved - centres)
        centres = np.array(moved)
        if step < 0.01:
            break
    return W


def dot(x, y):
    """x'y by eight sums over j mod 8, folded in a fixed order."""
    t = np.zeros(-(-len(x) // 8) * 8)
    t[: len(x)] = x * y
    a = np.zeros(8)
    for terms in t.reshape(-1, 8):
        a += terms
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))


def dependence_sweep(X, mean, visited, place, indptr, indices, share, A):
    """Each visited row goes to the best of its labels, given A = (W o Y)' Xc; changes ``share`` and ``A`` in place.

    Row i stands in X[place] and has the labels k = indices[indptr[i]:indptr[i + 1]] with the weights ``share``.
    Without its own part, label k holds A_k - w_ik x_i, so row i gains g_k = (A_k - w_ik x_i)' x_i there.
    Returns the number of rows that changed.
    """
    changed = 0
    for i, at in zip(visited, place, strict=True):
        entries = slice(indptr[i], indptr[i + 1])
        labels = indices[entries]
        w = share[entries].copy()
        if len(labels) == 0:
            continue
        x = X[at].astype(np.float64) - mean
        square = dot(x, x)
        g = np.array([dot(A[k], x) for k in labels]) - w * square
        best = np.argmax(g)
        current = np.argmax(w)
        if w[current] == 1.0 and g[best] - g[current] <= 1e-13 * (np.abs(g).max() + square):
            continue  # a gain below rounding is none
        share[entries] = np.arange(len(labels)) == best
        A[labels] += (share[entries] - w)[:, None] * x
        changed += 1
    return changed


def dependence_weights(X, Y, orders, over_all_labels=False):
    """Coordinate ascent on tr((W o Y)' Xc Xc' (W o Y)), one row after another, with Q = Xc Xc' formed.

    ``orders`` gives the order of the rows in each epoch; ends after an epoch without a change, or with the
    last order.  ``over_all_labels`` takes the argmax over all labels instead of those of the row, as the program
    behind the published numbers does: a row may then fall to a label that it does not carry, and a row
    without labels to the first.
    """
    Xc = X - X.mean(axis=0)
    Q = Xc @ Xc.T
    W = entropy_weights(Y)
    for order in orders:
        before = W.copy()
        for i in order:
            if Y[i].sum() == 1 or (Y[i].sum() == 0 and not over_all_labels):
                continue
            other_rows = np.arange(len(X)) != i
            g = Y[i] * (Q[i, other_rows] @ (Y * W)[other_rows])
            allowed = np.arange(Y.shape[1]) if over_all_labels else np.flatnonzero(Y[i])
            W[i] = 0.0
            W[i, allowed[np.argmax(g[allowed])]] = 1.0
        if np.array_equal(before, W):
            break
    return W


# ---------------------------------------------------------------- the link of each label


def linked(scores, numbers):
    """p of scores, with a, c, b, the mean and the scale of each label."""
    a, c, b, mean, scale = numbers
    z = (scores - mean) / scale
    return 1.0 / (1.0 + np.exp(-(a * z + c * np.arcsinh(z) + b)))


def fit_link(scores, Y, known):
    """a, c, b, mean and scale (5, C): Newton steps of common slopes, then of each label's, label by label."""
    C = Y.shape[1]
    mean = np.zeros(C)
    b = np.zeros(C)
    scale = np.ones(C)
    varies = np.zeros(C, dtype=bool)
    features = []
    labels = []
    for j in range(C):
        y = Y[known[:, j], j]
        s = scores[known[:, j], j]
        least = 0.5 / (len(y) or len(Y))
        if len(y):
            mean[j] = y.mean()
            scale[j] = np.sqrt(((s - mean[j]) ** 2).mean()) or 1.0
            varies[j] = y.max() > 0 and y.min() < 1
        q = min(max(mean[j], least), 1 - least)
        b[j] = np.log(q / (1 - q))
        z = (s - mean[j]) / scale[j]
        features.append(np.column_stack([z, np.arcsinh(z), np.ones(len(z))]))
        labels.append(y)

    def derivatives(j, slopes):
        p = 1.0 / (1.0 + np.exp(-features[j] @ [*slopes, b[j]]))
        H = features[j].T @ (features[j] * (p * (1 - p))[:, None])
        H[2, 2] += 1e-9
        return features[j].T @ (p - labels[j]), H

    common = np.array([0.5, 0.5])
    for _ in range(15 if varies.any() else 0):
        each = {j: derivatives(j, common) for j in np.flatnonzero(varies)}
        S = 1e-6 * np.eye(2) + sum(H[:2, :2] - np.outer(H[:2, 2], H[:2, 2]) / H[2, 2] for _, H in each.values())
        r = sum(g[:2] - H[:2, 2] * g[2] / H[2, 2] for g, H in each.values())
        free = [k for k in (0, 1) if common[k] > 0 or r[k] <= 0]
        step = np.zeros(2)
        if free:
            step[free] = np.linalg.solve(S[np.ix_(free, free)], r[free])
        after = np.maximum(common - step / max(1.0, np.abs(step).max()), 0.0)
        moves = {j: np.clip((g[2] - H[:2, 2] @ (common - after)) / H[2, 2], -2, 2) for j, (g, H) in each.items()}
        largest = max(np.abs(common - after).max(), *np.abs(list(moves.values())))
        common = after
        for j, move in moves.items():
            b[j] -= move
        if largest < 0.01:
            break

    slopes = np.tile(common[:, None], (1, C))
    for _ in range(15 if varies.any() else 0):
        largest = 0.0
        for j in np.flatnonzero(varies):
            g, H = derivatives(j, slopes[:, j])
            g[:2] += 3.0 * (slopes[:, j] - common)
            H[[0, 1], [0, 1]] += 3.0
            free = [k for k in (0, 1) if slopes[k, j] > 0 or g[k] <= 0] + [2]
            step = np.zeros(3)
            step[free] = np.linalg.solve(H[np.ix_(free, free)], g[free])
            step /= max(1.0, np.abs(step).max())
            largest = max(largest, np.abs(step).max())
            slopes[:, j] = np.maximum(slopes[:, j] - step[:2], 0.0)
            b[j] -= step[2]
        if largest < 0.01:
            break
    slopes[:, ~varies] = 0.0
    return np.array([*slopes, b, mean, scale])


# ---------------------------------------------------------------- the whole method


@on_one_thread
def nmlsdr(X, Y, labeled, n_components, n_neighbors=10, alpha_labeled=0.6, alpha_unlabeled=0.999, shrinkage=0.0):
    """Algorithm 1 of the article, on features shrunken by b: (P' diag(w)^1/2, eigenvalues, F, F~)."""
    w = 1.0 - shrinkage * (1.0 - feature_weights(X[labeled], Y[labeled]))
    root = np.sqrt(w if w.any() else np.ones(len(w)))
    X = X * root
    W = neighbor_graph(X, n_neighbors)
    F = propagate(W, Y, np.where(labeled, alpha_labeled, alpha_unlabeled), labeled)
    F_tilde = np.where(labeled[:, None], F > 0.5, F)
    components, eigenvalues = hsic_projection(X, F_tilde, n_components)
    return components * root, eigenvalues, F, F_tilde


def prior_cutoffs(scores, shares):
    """The m-th largest score, m the label's expected number of rows; if ties let far more reach it, the next larger."""
    cutoffs = []
    for column, share in zip(scores.T, shares, strict=True):
        m = max(1, round(share * len(column)))
        cutoff = sorted(column, reverse=True)[m - 1]
        if sum(column >= cutoff) > max(2 * m, m + 5):
            cutoff = min([s for s in column if s > cutoff], default=np.inf)
        cutoffs.append(cutoff)
    return np.array(cutoffs)


def flip_rate(scores, y):
    """The share of given 1s among the tenth of the labels with the smallest scores, at most .3."""
    m = max(1, len(y) // 10)
    return min(0.3, ones_among_smallest(scores, y, m) / m)


def ones_among_smallest(scores, labels, m):
    """The 1s among the m labels with the smallest scores; of equal scores at the limit each counts the same."""
    limit = sorted(scores)[m - 1]
    below = [y for s, y in zip(scores, labels, strict=True) if s < limit]
    equal = [y for s, y in zip(scores, labels, strict=True) if s == limit]
    return sum(below) + (m - len(below)) * sum(equal) / len(equal)


def forget_rate(scores, y, rate):
    """The share of given 0s among a tenth of as many labels as are truly 1, those with the largest scores."""
    M = len(y)
    r = max(rate, 1 / (2 * M))
    m = max(1, math.floor(min(max((sum(y) - r * M) / (1 - 2 * r), 0), M) / 10))
    h0 = (m - ones_among_smallest([-s for s in scores], y, m) + r) / (m + 1)
    return max((h0 + r) / 2, 1 / (2 * M))


def f1_cutoff(scores, rate):
    """Half of the best expected F1 of the scores without flips, with the flips again."""
    v = sorted(((s - rate) / (1 - 2 * rate) for s in scores), reverse=True)
    best = 0.0
    hits = 0.0
    for j, each in enumerate(v, start=1):
        hits += min(each, 1.0)
        best = max(best, 2 * hits / (max(1.0, sum(v)) + j))
    return rate + (1 - 2 * rate) * min(best, 1.0) / 2 if best > 0 else 0.5


def learner_weights(predictions, Y):
    """Halfway between equal weights and those of the smallest squared error, with weights >= 0 that sum to 1."""
    n_learners = len(predictions)
    misses = np.array([(Y - O).ravel() for O in predictions]).T
    best = None
    smallest = np.inf
    for face in itertools.chain.from_iterable(itertools.combinations(range(n_learners), m) for m in (3, 2, 1)):
        first, *followers = face  # the weight of the first is what the others leave
        a = np.zeros(n_learners)
        differences = misses[:, [first]] - misses[:, followers]
        a[followers] = np.linalg.lstsq(differences, misses[:, first], rcond=None)[0] if followers else []
        a[first] = 1.0 - a.sum()
        if (a >= 0).all() and np.sum((misses @ a) ** 2) < smallest:
            best = a
            smallest = np.sum((misses @ a) ** 2)
    return (best + 1.0 / n_learners) / 2.0


@on_one_thread
def verdict_factors(odds, y, label, wrong, n_labels):
    """exp(effect of the kind + effect of the label) of a logistic model of verdicts, for each kind and label.

    log odds of a wrong label = log v + a_kind + b_label, with normal priors: deviation 2 for a, 1 for b; Newton.
    """
    names, place = np.unique(label, return_inverse=True)
    A = np.column_stack([y == 0, y == 1, np.eye(len(names))[place]]).astype(float)
    precision = np.array([1 / 4, 1 / 4] + [1.0] * len(names))
    effects = np.zeros(len(precision))
    for _ in range(30):
        p = 1 / (1 + np.exp(-(np.log(odds) + A @ effects)))
        slope = A.T @ (wrong - p) - precision * effects
        step = np.linalg.solve((A * (p * (1 - p))[:, None]).T @ A + np.diag(precision), slope)
        effects += step / max(1, np.abs(step).max())
        if np.abs(step).max() < 1e-4:
            break
    of_label = np.zeros(n_labels)
    of_label[names] = effects[2:]
    return np.exp(effects[:2, None] + of_label)


def residual_propagation(
    X, Y, labeled, queries, n_components, n_neighbors=10, n_trees=0, weight=0.75, a_L=0.6, a_U=0.999
):
    """The whole of it: weights, rate, E, scores of the queries, thresholds by "f1" and "prior", flip scores."""
    Y = np.where(labeled[:, None], Y, 0.0)
    b, c, O1, _ = cross_fit(X[labeled], Y[labeled])
    components, *_ = nmlsdr(X, Y, labeled, n_components, n_neighbors, a_L, a_U, shrinkage=b)
    w = 1.0 - b * (1.0 - feature_weights(X[labeled], Y[labeled]))
    coef, intercept = ridge_regression(X[labeled], Y[labeled], c, w if w.any() else np.ones(len(w)))

    # 1, 2: the learners and their weights
    kinds = (0, 1) if n_trees and labeled.sum() >= 6 else ()
    grown = [forest_reference.grow_forest(X[labeled], Y[labeled], 0, n_trees, several) for several in kinds]
    predictions = [O1]
    for trees, left_out in grown:
        out_of_bag = forest_reference.predict(trees, X[labeled], left_out)
        predictions.append(np.where(left_out.any(axis=0)[:, None], out_of_bag, O1))
    a = learner_weights(predictions, Y[labeled])
    O = sum(share * each for share, each in zip(a, predictions, strict=True))

    def trend(rows):
        learned = [rows @ coef.T + intercept, *(forest_reference.predict(trees, rows) for trees, _ in grown)]
        return sum(share * each for share, each in zip(a, learned, strict=True))

    # 3, 4: the residuals over two graphs
    R = np.zeros(Y.shape)
    R[labeled] = Y[labeled] - O
    P = X @ coef.T + intercept
    P[labeled] = O1
    mean = X.mean(axis=0)
    k = min(2 * n_neighbors, len(X) - 1)
    A = np.diag(np.where(labeled, a_L, a_U))
    E = []
    scores = trend(queries)
    V = O.copy()
    places = ((X - mean) @ components.T, (queries - mean) @ components.T), (P, queries @ coef.T + intercept)
    for rows, new in places:
        T = transition_matrix(neighbor_graph(rows, k))
        solve = np.linalg.inv(np.eye(len(X)) - A @ T) @ (np.eye(len(X)) - A)
        E.append(solve @ R)
        V += weight / 2 * (T @ E[-1])[labeled]
        scores += weight / 2 * E[-1][kneighbors(rows, k, queries=new)[1]].mean(axis=1)

    # 5: thresholds and review
    rate = flip_rate(O.ravel(), Y[labeled].ravel())
    u = np.clip(V, 0.0, 1.0)
    flip_scores = np.zeros(Y.shape)
    flip_scores[labeled] = np.where(Y[labeled] == 1, 1.0 - u, u)
    shares = np.clip((Y[labeled].mean(axis=0) - rate) / (1 - 2 * rate), 0.0, 1.0)
    return {
        "weights": a,
        "O": O,
        "rate": rate,
        "E": np.array(E),
        "scores": scores,
        "flip_scores": flip_scores,
        "f1": f1_cutoff(V.ravel(), rate),
        "macro": [f1_cutoff(column, rate) for column in V.T],
        "prior": prior_cutoffs(u, shares),
    }


def rank_unknown(p, unknown, turns, by):
    """Pairs (row, label) to ask about: the labels take turns, each takes its entry, or row, with the largest p (1 - p).

    Of equal ones it takes the first row.
    """
    listed = []
    is_growing = True
    while is_growing:
        is_growing = False
        for c in turns:
            free = [i for i in range(len(p)) if unknown[i, c]]
            free = [i for i in free if (i, c) not in listed and not (by == "row" and i in [row for row, _ in listed])]
            if free:
                listed.append((max(free, key=lambda i: p[i, c] * (1.0 - p[i, c])), int(c)))
                is_growing = True
    return listed


# ---------------------------------------------------------------- the canonical order of rows

_WRAP = 2**64


def mixed(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % _WRAP
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % _WRAP
    return x ^ (x >> 31)


def odd(x):
    return mixed(x * 0x9E3779B97F4A7C15 % _WRAP) | 1


def bits(x):
    (wide,) = struct.unpack("<Q", struct.pack("<d", float(x) + 0.0))
    return wide ^ (wide >> 32)


def row_order(X, Y, known, alpha=None):
    """Rows by a hash of their features without units; equal ones are numbered by their labels, and so hashed apart."""
    n, D = X.shape
    C = Y.shape[1]
    least = X.min(axis=0)
    largest = X.max(axis=0)
    varies = np.cumsum(largest > least)
    features = []
    numbers = []
    for x in X:
        hashed = 0
        for j in range(D):
            width = largest[j] - least[j]
            place = math.floor((x[j] - least[j]) / width * 2**20 + 0.5) if width > 0 else 0
            hashed += place * odd(int(varies[j]))
        features.append(mixed(hashed % _WRAP))
        numbers.append(mixed(sum(bits(x[j]) * odd(j + 1) for j in range(D)) % _WRAP))

    def entry(i, j):
        value = bits(Y[i, j]) if known[i, j] else 0x7FF8000000000001
        if alpha is not None and alpha.ndim == 2:
            value += mixed(bits(alpha[i, j]))
        return mixed(value % _WRAP)

    contents = [sum(mixed(entry(i, j) ^ features[i]) for i in range(n)) % _WRAP for j in range(C)]
    columns = sorted(range(C), key=lambda j: ((Y[:, j] > 0.5).sum(), contents[j]))
    rank = {j: r for r, j in enumerate(columns)}
    labels = []
    for i in range(n):
        of_row = mixed(bits(alpha[i])) if alpha is not None and alpha.ndim == 1 else 0
        without = (of_row + sum(entry(i, j) for j in range(C))) % _WRAP
        with_columns = sum(mixed(entry(i, j) * odd(rank[j] + 1) % _WRAP) for j in range(C)) % _WRAP
        labels.append((without, with_columns))
    order = sorted(range(n), key=lambda i: (features[i], *labels[i], numbers[i]))
    copies = {}
    keys = {}
    for i in order:
        copy = copies[features[i]] = copies.get(features[i], -1) + 1
        keys[i] = mixed((features[i] + copy * 0x9E3779B97F4A7C15) % _WRAP) if copy else features[i]
    return sorted(range(n), key=lambda i: keys[i])


def newton_step(X, w, Y, known, f, strength):
    """Coefficients (D, C) of X minus its mean, and offsets (C,), label by label: four steps of conjugate gradients."""
    n_features = X.shape[1]
    n_labels = Y.shape[1]
    Xc = X - X.mean(axis=0)
    S = Xc * np.sqrt(w)
    variation = (S * S).sum() / len(X)
    coef = np.zeros((n_features, n_labels))
    offset = np.zeros(n_labels)
    for j in range(n_labels):
        rows = known[:, j]
        y = Y[rows, j]
        s = S[rows]
        start = f[rows, j]
        if len(y) == 0 or y.max() == 0 or y.min() == 1:
            continue
        p = 1 / (1 + np.exp(-start))
        h = p * (1 - p)
        total = h.sum() + 1e-9
        level = strength * variation * total / len(y)
        centred = s - (h @ s) / total  # what eliminating the offset leaves
        H = centred.T @ (h[:, None] * centred) + level * np.eye(n_features)
        M = (S * S).sum(axis=0) * total / len(X) + level
        residual = -centred.T @ (p - y)
        B = np.zeros(n_features)
        direction = residual / M
        for _ in range(4):
            length = (residual @ (residual / M)) / (direction @ H @ direction)
            B += length * direction
            after = residual - length * (H @ direction)
            direction = after / M + (after @ (after / M)) / (residual @ (residual / M)) * direction
            residual = after
        v = -((p - y).sum() + h @ (s @ B)) / total

        def loss(size, B=B, v=v, y=y, s=s, start=start, level=level):
            g = start + size * (s @ B + v)
            return (np.logaddexp(0, g) - y * g).sum() + level / 2 * size**2 * B @ B

        size = next((2.0**-k for k in range(7) if loss(2.0**-k) <= loss(0)), 0.0)
        coef[:, j] = size * np.sqrt(w) * B
        offset[j] = size * v
    return coef, offset
