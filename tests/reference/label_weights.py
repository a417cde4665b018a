"""Weights of the labels of a row in wMLDA: by entropy, correlation, fuzzy memberships and dependence."""

import numpy as np


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


# ---------------------------------------------------------------- dependence


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
