"""Generalised eigenproblems G G' p = lambda B p of the supervised methods, without D x D where D is large.

With R'R = B and the thin singular value decomposition R^-T G = U S V', the solutions are P = R^-1 U, the
eigenvalues S^2, and P'BP = I.  G has one column per label, so this costs one Cholesky factor and a small
SVD where the textbook forms G G' and calls a generalised eigensolver.

With more features than rows everything of interest lies in the row space of the centred X: B = Xc' A Xc + r I
acts on its orthogonal complement as r I, where G is 0.  So the rows are rotated into their own span first
(an economy QR of Xc', or for sparse X the eigenvectors of the l x l matrix Xc Xc'), the l x l problem is
solved, and the directions are rotated back.  This is exact for r > 0; for r = 0 such a B is singular.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ._threads import single_threaded_blas
from ._validation import check_components, check_real, check_row_weights, check_rows
from .projection import (
    Directions,
    centre_columns,
    centred_block,
    column_means,
    cross_moment,
    finish,
    frobenius_norm,
    leading_by_lanczos,
    project,
    refine,
    refuse_no_dependence,
    row_blocks,
    thin_svd,
)

__all__ = ["cca", "mddm_features", "mvmd", "weighted_lda"]

_EPS = np.finfo(np.float64).eps
_DIRECT = 2000  # up to here the eigenvectors of a matrix of the size of min(D, l) are found directly


def cca(X: Any, Y: Any, n_components: int | None = None, *, ridge: float = 0.1) -> Directions:
    """Canonical correlation of features and labels: the directions on the side of X.

    Xc'Yc (Yc'Yc + r/4 I)^-1 Yc'Xc p = lambda (Xc'Xc + r I) p with P'(Xc'Xc + r I)P = I.  The ridge r is that
    of labels coded -1/+1; in the 0/1 coding used here it is r/4, with the same eigenvalues.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    Y : array of shape (n_samples, n_labels)
    n_components : int or None
        At most min(n_labels, n_features, n_samples - 1).
    ridge : float
        r >= 0, added to both un-normalised scatters.

    Returns
    -------
    Directions

    Raises
    ------
    ValueError
        A singular scatter, ``n_components`` above the bound, or no dependence at all.

    Examples
    --------
    The label is a function of the second feature: the squared correlation is 1.

    >>> from nmlsdr.scatter import cca
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]
    >>> cca(X, [[0], [0], [1], [1]], ridge=0).eigenvalues.round(12)
    array([1.])
    """
    X, Y, ridge = _check_pair(X, Y, ridge)
    bound = min(Y.shape[1], X.shape[1], X.shape[0] - 1)
    check_components(n_components, bound, "min(n_labels, n_features, n_samples - 1)")
    with single_threaded_blas():
        Yc = centre_columns(Y)
        R = _cholesky(_add_ridge(Yc.T @ Yc, 0.25 * ridge), "label scatter Yc'Yc")
        between = linalg.solve_triangular(R, Yc.T, trans="T").T  # G G' = Xc'Yc (R'R)^-1 Yc'Xc
        return _solve(X, between, 1.0, ridge, n_components, bound)


def mddm_features(X: Any, Y: Any, n_components: int | None = None, *, mu: float = 0.5) -> Directions:
    """Dependence maximisation with uncorrelated features (MDDMf).

    M M' p = lambda (mu Xc'Xc + (1 - mu) I) p with M = Xc'Y, and P'BP = I.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    Y : array of shape (n_samples, n_labels)
    n_components : int or None
        At most min(n_labels, n_features, n_samples - 1).
    mu : float
        In [0, 1]; 0 gives the directions of MDDMp.

    Returns
    -------
    Directions

    Raises
    ------
    ValueError
        A singular scatter (mu = 1), ``n_components`` above the bound, or no dependence at all.

    Examples
    --------
    M = (0, 2)', Xc'Xc = diag(1, 4), B = diag(1, 2.5): lambda = 4 / 2.5 and p'Bp = 1.

    >>> from nmlsdr.scatter import mddm_features
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]
    >>> found = mddm_features(X, [[0], [0], [1], [1]])
    >>> found.eigenvalues.round(12), found.components.round(4)
    (array([1.6]), array([[0.    , 0.6325]]))
    """
    X, Y, mu = _check_pair(X, Y, mu, "mu", high=1.0)
    bound = min(Y.shape[1], X.shape[1], X.shape[0] - 1)
    check_components(n_components, bound, "min(n_labels, n_features, n_samples - 1)")
    with single_threaded_blas():
        return _solve(X, centre_columns(Y), mu, 1.0 - mu, n_components, bound)


def weighted_lda(X: Any, W: Any, n_components: int | None = None, *, ridge: float = 0.1) -> Directions:
    """Weighted multi-label linear discriminant analysis.

    S_b p = lambda (S_w + r I) p with P'(S_w + r I)P = I, where n_k = sum_i w_ik, w_i = sum_k w_ik, N = sum_k n_k,
    S_w = X'(diag(w) - W diag(1/n) W')X and S_b = X'(W diag(1/n) W' - w w'/N)X.

    With q = sqrt(n / N), a unit vector, S_b = G G' for G = Xc' W diag(1/n)^(1/2) (I - q q').

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    W : array of shape (n_samples, n_labels)
        Weights >= 0 of the labels in each row; a label of total weight 0 is ignored.
    n_components : int or None
        At most min(n_labels - 1, n_features).
    ridge : float
        r >= 0, added to the un-normalised within-class scatter.

    Returns
    -------
    Directions

    Raises
    ------
    ValueError
        A negative weight, a singular scatter, ``n_components`` above the bound, or no dependence at all.

    Examples
    --------
    The classes differ in the second feature only, and nothing else varies in it: S_w + rI = diag(1.1, .1).

    >>> from nmlsdr.scatter import weighted_lda
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]
    >>> weighted_lda(X, [[1, 0], [1, 0], [0, 1], [0, 1]]).components.round(4)
    array([[0.    , 3.1623]])
    """
    X, W, ridge = _check_pair(X, W, ridge)
    if W.min() < 0:
        raise ValueError(f"W must hold weights of 0 or more, got {W.min():g} in row {int(W.min(axis=1).argmin())}.")
    bound = min(W.shape[1] - 1, X.shape[1])
    check_components(n_components, bound, "min(n_labels - 1, n_features)")
    with single_threaded_blas():
        n = W.sum(axis=0)
        if not n.any():
            raise ValueError("No row carries a label: all weights are 0; give at least two labels to some rows.")
        scaled = W * np.divide(1.0, np.sqrt(n), out=np.zeros_like(n), where=n > 0)
        q = np.sqrt(n / n.sum())
        return _solve(X, scaled, W.sum(axis=1), ridge, n_components, bound, within=q)


def mvmd(X: Any, Y: Any, n_components: int | None = None, *, beta: float = 0.5) -> Directions:
    """Feature variance and feature-label dependence together (MVMD).

    Orthonormal eigenvectors of (1 - beta) Xc'Xc + 4 beta M M' = Z Z' with M = Xc'Y and
    Z = [sqrt(1 - beta) Xc', 2 sqrt(beta) M].  The 4 makes 0/1 labels count as labels coded -1/+1.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    Y : array of shape (n_samples, n_labels)
    n_components : int or None
        At most min(n_features, n_samples - 1); None: as many as there are labels, if the rank allows.
    beta : float
        In [0, 1]; 0 is principal component analysis, 1 is MDDMp.

    Returns
    -------
    Directions

    Raises
    ------
    ValueError
        ``n_components`` above the bound, or constant features.

    Examples
    --------
    Xc'Xc = diag(1, 4) and M = (0, 2)': (1/2) diag(1, 4) + 2 diag(0, 4).

    >>> from nmlsdr.scatter import mvmd
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]
    >>> mvmd(X, [[0], [0], [1], [1]], 2).eigenvalues
    array([10. ,  0.5])
    """
    X, Y, beta = _check_pair(X, Y, beta, "beta", high=1.0)
    bound = min(X.shape[1], X.shape[0] - 1)
    wanted = check_components(n_components, bound, "min(n_features, n_samples - 1)")
    if n_components is None:
        wanted = min(Y.shape[1], bound)
    share, weight = np.sqrt(1.0 - beta), 2.0 * np.sqrt(beta)
    with single_threaded_blas():
        mean, Yc = column_means(X), centre_columns(Y)
        M = weight * cross_moment(X, Yc, mean)

        def right(V: np.ndarray) -> np.ndarray:
            return np.concatenate([share * project(X, V, mean), M.T @ V])

        def left(V: np.ndarray) -> np.ndarray:
            head = V[: X.shape[0]]
            return np.asarray(share * cross_moment(X, head - head.mean(axis=0), mean) + M @ V[X.shape[0] :])

        found = None
        if min(X.shape) > _DIRECT and wanted < X.shape[1]:
            found = leading_by_lanczos(right, left, X.shape[1], wanted)
        if found is None:
            found = _leading_directly(X, mean, Yc, beta, wanted)
        U, s = found
        total = float(np.sum(M * M) + (1.0 - beta) * _centred_square(X, mean))
    if not s[0] ** 2 > (_EPS * max(X.shape)) ** 2 * frobenius_norm(X) ** 2:
        raise ValueError(f"Every feature is constant on the {X.shape[0]} rows; there is no direction to find.")
    return finish(U, s, X.dtype, (X.shape[1], X.shape[0] + Y.shape[1]), n_components, mean, total, wanted)


# ---------------------------------------------------------------- the shared problem


def _check_pair(
    X: Any, Y: Any, number: float, name: str = "ridge", high: float = np.inf
) -> tuple[Any, np.ndarray, float]:
    X = check_rows(X)
    return X, check_row_weights(Y, "Y", X.shape[0]), check_real(number, name, 0.0, high)


def _solve(
    X: Any,
    F: np.ndarray,
    row_weights: np.ndarray | float,
    ridge: float,
    n_components: int | None,
    bound: int,
    *,
    within: np.ndarray | None = None,
) -> Directions:
    """G G' p = lambda B p with H = Xc'F.

    G = H and B = Xc' diag(row_weights) Xc + ridge I; the columns of F sum to 0.  With ``within`` = q, a unit
    vector: G = H (I - q q'), and H H' is taken from B.
    """
    if ridge == 0 and X.shape[1] > X.shape[0]:
        raise ValueError(
            f"The scatter of {X.shape[0]} rows with {X.shape[1]} features is singular; set a ridge above 0."
        )
    mean = column_means(X)
    rows, centre, back = _frame(X, mean)
    G, B = _moments(rows, centre, F, row_weights)
    if within is not None:
        B -= G @ G.T
        G -= np.outer(G @ within, within)
    refuse_no_dependence(G, X, F)
    R = _cholesky(_add_ridge(B, ridge), "scatter of the features")
    U, s = thin_svd(linalg.solve_triangular(R, G, trans="T", check_finite=False))
    P = back(linalg.solve_triangular(R, U, check_finite=False))
    total = float(np.sum(s * s))
    return finish(P, s, X.dtype, (X.shape[1], F.shape[1]), n_components, mean, total, bound)


def _leading_directly(
    X: Any, mean: np.ndarray, Yc: np.ndarray, beta: float, wanted: int
) -> tuple[np.ndarray, np.ndarray]:
    """Leading left singular vectors and values of Z in `mvmd`, from the matrix Z Z' itself."""
    rows, centre, back = _frame(X, mean)
    M, S = _moments(rows, centre, 2.0 * np.sqrt(beta) * Yc, 1.0 - beta)
    S += M @ M.T
    wanted = min(wanted, len(S))
    values, V = linalg.eigh(S, subset_by_index=(len(S) - wanted, len(S) - 1), overwrite_a=True, check_finite=False)
    values, V = values[::-1], V[:, ::-1]
    if values[-1] > 1e-6 * values[0]:
        s = np.sqrt(values)
    else:
        V, s = refine(V, np.concatenate([np.sqrt(1.0 - beta) * project(rows, V, centre), M.T @ V]))
    if rows is not X:
        V, R = linalg.qr(back(V), mode="economic")  # rotating back sparse rows leaves P'P = I to 1e-9 only
        V = V * np.sign(R.diagonal())
    return V, s


def _frame(X: Any, mean: np.ndarray) -> tuple[Any, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Rows and their mean to work with, and the map of directions back to the features of X.

    With more features than rows: the centred rows in an orthonormal basis of their span.
    """
    if X.shape[1] <= X.shape[0]:
        return X, mean, lambda P: P
    if not sparse.issparse(X):
        Q, R = linalg.qr((X - mean).T, mode="economic", overwrite_a=True, check_finite=False)
        return R.T, np.zeros(len(R)), lambda P: np.asarray(Q @ P)
    # Sparse rows are never centred: Xc Xc' = X X' - (Xm)1' - 1(Xm)' + m'm.
    K = (X @ X.T).astype(np.float64).toarray()
    Xm = np.asarray(X @ mean)
    K += mean @ mean - Xm[:, None] - Xm[None, :]
    squares, vectors = linalg.eigh(K, overwrite_a=True, check_finite=False)
    kept = squares > squares[-1] * _EPS * len(K)
    sigma, vectors = np.sqrt(squares[kept]), vectors[:, kept]

    def back(P: np.ndarray) -> np.ndarray:
        V = vectors @ (P / sigma[:, None])
        return cross_moment(X, V - V.mean(axis=0), mean)

    return vectors * sigma, np.zeros(len(sigma)), back


def _moments(X: Any, mean: np.ndarray, F: np.ndarray, row_weights: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Xc'F and Xc' diag(row_weights) Xc, in one pass over the rows."""
    if sparse.issparse(X):
        weights = np.broadcast_to(np.asarray(row_weights, dtype=np.float64), (X.shape[0],))
        weighted = X.astype(np.float64)
        weighted.data *= np.repeat(weights, np.diff(X.indptr))
        S = np.asarray((X.T @ weighted).toarray(), dtype=np.float64)
        moment = np.asarray(X.T @ weights)
        S -= np.outer(moment, mean)
        S += np.outer(mean, weights.sum() * mean - moment)
        return cross_moment(X, F, mean, centred=False), S
    H, S = np.zeros((X.shape[1], F.shape[1])), np.zeros((X.shape[1], X.shape[1]))
    root = np.sqrt(row_weights)
    for rows in row_blocks(X):
        block = centred_block(X, rows, mean)
        H += block.T @ F[rows]
        if root.ndim:
            block *= root[rows, None]
        S += block.T @ block  # NumPy sees A'A and does half the work
    return H, S if root.ndim else S * float(row_weights)


def _centred_square(X: Any, mean: np.ndarray) -> float:
    """|Xc|^2 (Frobenius)."""
    if sparse.issparse(X):
        return float(np.sum(np.square(X.data, dtype=np.float64)) - X.shape[0] * (mean @ mean))
    return float(sum(np.sum(centred_block(X, rows, mean) ** 2) for rows in row_blocks(X)))


def _add_ridge(S: np.ndarray, ridge: float) -> np.ndarray:
    S[np.diag_indices_from(S)] += ridge
    return S


def _cholesky(B: np.ndarray, name: str) -> np.ndarray:
    """R with R'R = B, or an error when B is singular to working precision.

    Judged after scaling the diagonal to 1, as the error of a Cholesky factor is: a constant feature (a row
    of B that holds the ridge alone) is harmless.
    """
    diagonal = B.diagonal()
    rcond = 0.0
    if (diagonal > 0).all():
        scale = np.sqrt(diagonal)
        unit = B / np.outer(scale, scale)
        norm = np.abs(unit).sum(axis=0).max()
        R, info = linalg.lapack.dpotrf(unit, lower=0, clean=1)
        if info == 0:
            rcond, _ = linalg.lapack.dpocon(R, norm)
    if rcond < len(B) * _EPS:
        raise ValueError(
            f"The {name} ({len(B)} x {len(B)}) is singular (reciprocal condition {rcond:.1e}); raise the ridge, "
            "or drop constant and repeated columns."
        )
    return np.asarray(R * scale)
