"""The HSIC projection with its feature weights, and the generalised eigenproblems of the baselines."""

import numpy as np

from .arrays import dense64, on_one_thread


def centring_matrix(n):
    """H = I - 11'/n."""
    return np.eye(n) - np.full((n, n), 1.0 / n)


@on_one_thread
def hsic_projection(X, F, n_components):
    """(P', eigenvalues) of X'H F F'H X P = P Lambda, P'P = I: the article's matrix, formed and decomposed."""
    XH = dense64(X).T @ centring_matrix(X.shape[0])
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
    X = dense64(X)
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


# ---------------------------------------------------------------- generalised eigenproblems of the baselines


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
