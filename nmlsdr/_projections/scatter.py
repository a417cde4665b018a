"""Generalised eigenproblems G G' p = lambda B p of the supervised methods, without D x D where D is large.

With R'R = B and the thin singular value decomposition R^-T G = U S V', the solutions are P = R^-1 U, the
eigenvalues S^2, and P'BP = I.  G has one column per label, so this costs one Cholesky factor and a small
SVD where the textbook forms G G' and calls a generalised eigensolver.

With more features than rows everything of interest lies in the row space of the centred X: B = Xc' A Xc + r I
acts on its orthogonal complement as r I, where G is 0.  So the rows are rotated into their own span first
(an economy QR of Xc', or for sparse X the eigenvectors of the l x l matrix Xc Xc'), the l x l problem is
solved, and the directions are rotated back.  This is exact for r > 0; for r = 0 such a B is singular.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack

from .._checks.arguments import check_components, check_real
from .._errors import InputError
from .._moments import RowSums, add_gram, label_gram, without_offsets
from .._process.threads import single_threaded_blas
from . import directions
from .directions import Directions

_EPS = np.finfo(np.float64).eps
_DIRECT = 2000  # up to here the eigenvectors of a matrix of the size of min(D, l) are found directly
_SUSPECT = 1e-4  # singular values below this share of the largest may be rounding errors


def cca(X: Any, Y: Any, n_components: int | None = None, *, ridge: float = 0.1) -> Directions:
    """Canonical correlation of features and labels: the directions on the side of X.

    Xc'Yc (Yc'Yc + r/4 I)^-1 Yc'Xc p = lambda (Xc'Xc + r I) p with P'(Xc'Xc + r I)P = I.  The ridge r is that
    of labels coded -1/+1; in the 0/1 coding used here it is r/4, with the same eigenvalues.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows, as `check_rows` returns them.
    Y : array of shape (n_samples, n_labels)
        0/1.
    n_components : int or None, default=None
        At most min(n_labels, n_features, n_samples - 1).
    ridge : float, default=0.1
        r >= 0, added to both un-normalised scatters.

    Returns
    -------
    Directions
        Components, eigenvalues, mean and rank.

    Raises
    ------
    ValueError
        A singular scatter, ``n_components`` above the bound, or no dependence at all.

    Examples
    --------
    The label is a function of the second feature: the squared correlation is 1.

    >>> import numpy as np
    >>> from nmlsdr._projections.scatter import cca
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    >>> cca(X, np.array([[0.0], [0.0], [1.0], [1.0]]), ridge=0).eigenvalues.round(12)
    array([1.])
    """
    X = RowSums.of(X, checked=True)
    ridge = check_real(ridge, "ridge", 0.0, np.inf)
    bound = min(Y.shape[1], X.shape[1], X.shape[0] - 1)
    check_components(n_components, bound, "min(n_labels, n_features, n_samples - 1)")
    with single_threaded_blas():
        share = Y.mean(axis=0)
        label_scatter = np.asfortranarray(np.tril(label_gram(Y) - len(Y) * np.outer(share, share)))
        factor = _cholesky(label_scatter, 0.25 * ridge, "label scatter Yc'Yc")

        def between(M: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.asarray(linalg.solve_triangular(factor, M.T, lower=True).T), M  # G G' = M (L L')^-1 M'

        return _solve(X, Y, 1.0, ridge, n_components, bound, between)


def mddm_features(X: Any, Y: Any, n_components: int | None = None, *, mu: float = 0.5) -> Directions:
    """Dependence maximisation with uncorrelated features (MDDMf).

    M M' p = lambda (mu Xc'Xc + (1 - mu) I) p with M = Xc'Y, and P'BP = I.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows, as `check_rows` returns them.
    Y : array of shape (n_samples, n_labels)
        0/1.
    n_components : int or None, default=None
        At most min(n_labels, n_features, n_samples - 1).
    mu : float, default=0.5
        In [0, 1]; 0 gives the directions of MDDMp.

    Returns
    -------
    Directions
        Components, eigenvalues, mean and rank.

    Raises
    ------
    ValueError
        A singular scatter (mu = 1), ``n_components`` above the bound, or no dependence at all.

    Examples
    --------
    M = (0, 2)', Xc'Xc = diag(1, 4), B = diag(1, 2.5): lambda = 4 / 2.5 and p'Bp = 1.

    >>> import numpy as np
    >>> from nmlsdr._projections.scatter import mddm_features
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    >>> found = mddm_features(X, np.array([[0.0], [0.0], [1.0], [1.0]]))
    >>> found.eigenvalues.round(12), found.components.round(4)
    (array([1.6]), array([[0.    , 0.6325]]))
    """
    X = RowSums.of(X, checked=True)
    mu = check_real(mu, "mu", 0.0, 1.0)
    bound = min(Y.shape[1], X.shape[1], X.shape[0] - 1)
    check_components(n_components, bound, "min(n_labels, n_features, n_samples - 1)")
    with single_threaded_blas():
        return _solve(X, Y, mu, 1.0 - mu, n_components, bound, lambda M, B: (M, M))


def weighted_lda(X: Any, W: Any, n_components: int | None = None, *, ridge: float = 0.1) -> Directions:
    """Weighted multi-label linear discriminant analysis.

    S_b p = lambda (S_w + r I) p with P'(S_w + r I)P = I, where n_k = sum_i w_ik, w_i = sum_k w_ik, N = sum_k n_k,
    S_w = X'(diag(w) - W diag(1/n) W')X and S_b = X'(W diag(1/n) W' - w w'/N)X.

    With q = sqrt(n / N), a unit vector, S_b = G G' for G = Xc' W diag(1/n)^(1/2) (I - q q').

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows, as `check_rows` returns them.
    W : array of shape (n_samples, n_labels)
        Weights >= 0 of the labels in each row; a label of total weight 0 is ignored.
    n_components : int or None, default=None
        At most min(n_labels - 1, n_features).
    ridge : float, default=0.1
        r >= 0, added to the un-normalised within-class scatter.

    Returns
    -------
    Directions
        Components, eigenvalues, mean and rank.

    Raises
    ------
    ValueError
        A singular scatter, ``n_components`` above the bound, or no dependence at all.

    Examples
    --------
    The classes differ in the second feature only, and nothing else varies in it: S_w + rI = diag(1.1, .1).

    >>> import numpy as np
    >>> from nmlsdr._projections.scatter import weighted_lda
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    >>> weighted_lda(X, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])).components.round(4)
    array([[0.    , 3.1623]])
    """
    X = RowSums.of(X, checked=True)
    ridge = check_real(ridge, "ridge", 0.0, np.inf)
    bound = min(W.shape[1] - 1, X.shape[1])
    check_components(n_components, bound, "min(n_labels - 1, n_features)")
    with single_threaded_blas():
        n = W.sum(axis=0)
        if not n.any():
            raise InputError("No row has a label: all weights are 0; at least two labels must occur.")
        scaled = W * np.divide(1.0, np.sqrt(n), out=np.zeros_like(n), where=n > 0)
        q = np.sqrt(n / n.sum())

        def between(M: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            add_gram(B, M, -1.0)
            G = M - np.outer(M @ q, q)
            return G, G

        return _solve(X, scaled, W.sum(axis=1), ridge, n_components, bound, between)


def mvmd(X: Any, Y: Any, n_components: int | None = None, *, beta: float = 0.5) -> Directions:
    """Feature variance and feature-label dependence together (MVMD).

    Orthonormal eigenvectors of (1 - beta) Xc'Xc + 4 beta M M' = Z Z' with M = Xc'Y and
    Z = [sqrt(1 - beta) Xc', 2 sqrt(beta) M].  The 4 makes 0/1 labels count as labels coded -1/+1.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows, as `check_rows` returns them.
    Y : array of shape (n_samples, n_labels)
        0/1.
    n_components : int or None, default=None
        At most min(n_features, n_samples - 1); None: as many as there are labels, if the rank allows.
    beta : float, default=0.5
        In [0, 1]; 0 is principal component analysis, 1 is MDDMp.

    Returns
    -------
    Directions
        Components, eigenvalues, mean and rank.

    Raises
    ------
    ValueError
        ``n_components`` above the bound, or constant features.

    Examples
    --------
    Xc'Xc = diag(1, 4) and M = (0, 2)': (1/2) diag(1, 4) + 2 diag(0, 4).

    >>> import numpy as np
    >>> from nmlsdr._projections.scatter import mvmd
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    >>> mvmd(X, np.array([[0.0], [0.0], [1.0], [1.0]]), 2).eigenvalues
    array([10. ,  0.5])
    """
    X = RowSums.of(X, checked=True)
    beta = check_real(beta, "beta", 0.0, 1.0)
    bound = min(X.shape[1], X.shape[0] - 1)
    n_directions = check_components(n_components, bound, "min(n_features, n_samples - 1)")
    if n_components is None:
        n_directions = min(Y.shape[1], bound)
    with single_threaded_blas():
        mean = X.means()
        factors = None
        if min(X.shape) > _DIRECT and n_directions < X.shape[1]:
            factors = _leading_by_operator(X, mean, Y, beta, n_directions)
        if factors is None:
            factors = _leading_directly(X, mean, Y, beta, n_directions)
        U, s = factors
        size = X.norm()
    if not s[0] > _EPS * max(X.shape) * size:
        raise InputError(f"Every feature is constant on the {X.shape[0]} rows; no direction can be found.")
    rank = directions.numerical_rank(s, s[0], (X.shape[1], X.shape[0] + Y.shape[1]), X.dtype)
    return directions.finish(U, s, min(rank, n_directions), n_components, X.dtype, mean)


# ---------------------------------------------------------------- the shared problem


def _solve(
    X: RowSums,
    F: np.ndarray,
    row_weights: np.ndarray | float,
    ridge: float,
    n_components: int | None,
    bound: int,
    between: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> Directions:
    """G G' p = lambda B p with B = Xc' diag(row_weights) Xc + ridge I and G, N = between(Xc'F, B).

    ``between`` may take its part from B, in place, before the ridge is added.  N has the rank of G.  It is G, or the
    matrix that a Cholesky factor of the labels made G of, which has smaller rounding errors.
    """
    if ridge == 0 and X.shape[1] > X.shape[0]:
        raise InputError(f"The scatter of {X.shape[0]} rows of {X.shape[1]} features is singular; set a ridge above 0.")
    mean = X.means()
    rows, centre, back = _frame(X, mean)
    M, B = rows.scatter(F, centre, row_weights)
    directions.refuse_no_dependence(M, X, F)
    shape = X.shape[1], F.shape[1]
    G, N = between(M, B)
    directions.refuse_no_dependence(G, RowSums(np.ones((1, 1))), M)
    variances = B.diagonal() + ridge
    L = _cholesky(B, ridge, "scatter of the features")
    U, s = directions.thin_svd(linalg.solve_triangular(L, G, lower=True, check_finite=False))
    if s[:bound][-1] < _SUSPECT * s[0]:  # L enlarges the rounding errors of G, so that they can pass for a direction
        scale = 1.0 / np.sqrt(variances)[:, None]  # so that the rank does not depend on the units of the features
        values = linalg.svdvals(N * scale)
        size = np.linalg.norm(M * scale)
        centring = directions.uncentred_size(centre * scale[:, 0], F)
        above_rounding = directions.numerical_rank(values, centring, shape, np.float64)
        bound = min(bound, directions.numerical_rank(values, size, shape, X.dtype), above_rounding)
    P = back(linalg.solve_triangular(L, U, trans="T", lower=True, check_finite=False))
    rank = min(bound, directions.numerical_rank(s, s[0], shape, X.dtype))
    return directions.finish(P, s, rank, n_components, X.dtype, mean)


def _leading_directly(
    X: RowSums, mean: np.ndarray, Y: np.ndarray, beta: float, n_directions: int
) -> tuple[np.ndarray, np.ndarray]:
    """Leading left singular vectors and values of Z in `mvmd`, from the matrix Z Z' itself."""
    rows, centre, back = _frame(X, mean)
    M, S = rows.scatter(Y, centre, 1.0 - beta)
    M *= 2.0 * np.sqrt(beta)
    add_gram(S, M)
    values, V = _leading_eigenvectors(S, min(n_directions, len(S)))
    if values[-1] > 1e-6 * values[0]:
        s = np.sqrt(values)
    else:  # the roots of smaller ones would be rounding
        V, s = directions.refine(V, np.concatenate([np.sqrt(1.0 - beta) * rows.project(V, centre), M.T @ V]))
    if rows is not X:
        V, R = linalg.qr(back(V), mode="economic")  # rotating back sparse rows leaves P'P = I to 1e-9 only
        V = V * np.sign(R.diagonal())
    return V, s


def _leading_by_operator(
    X: RowSums, mean: np.ndarray, Y: np.ndarray, beta: float, n_directions: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The same without Z Z'; None if Lanczos iterations cannot answer."""
    share = np.sqrt(1.0 - beta)
    split = X.shape[0]
    M = 2.0 * np.sqrt(beta) * X.label_moment(Y, mean)

    def times_transposed(V: np.ndarray) -> np.ndarray:
        return np.concatenate([share * X.project(V, mean), M.T @ V])

    def times(V: np.ndarray) -> np.ndarray:
        return np.asarray(share * X.cross_moment(V[:split], mean) + M @ V[split:])

    return directions.leading_by_lanczos(times_transposed, times, X.shape[1], n_directions)


def _frame(X: RowSums, mean: np.ndarray) -> tuple[RowSums, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Rows and their mean to work with, and the map of directions back to the features of X.

    With more features than rows: the centred rows in an orthonormal basis of their span.
    """
    if X.shape[1] <= X.shape[0]:
        return X, mean, lambda P: P
    rows = X.in_memory("This method needs rows in memory where it is fitted to fewer rows than there are features")
    if not sparse.issparse(rows):
        Q, R = linalg.qr((rows - mean).T, mode="economic", overwrite_a=True, check_finite=False)
        return RowSums(R.T), np.zeros(len(R)), lambda P: np.asarray(Q @ P)
    K = X.row_gram(np.ones(X.shape[1]))
    squares, vectors = linalg.eigh(K, lower=True, overwrite_a=True, check_finite=False)
    span = slice(np.searchsorted(squares, squares[-1] * _EPS * len(K), side="right"), None)
    sigma = np.sqrt(squares[span])
    vectors = vectors[:, span]
    wide, centre = without_offsets(rows.astype(np.float64), mean)  # only columns without zeros are centred

    def back(P: np.ndarray) -> np.ndarray:
        return RowSums(wide).cross_moment(vectors @ (P / sigma[:, None]), centre)

    return RowSums(vectors * sigma), np.zeros(len(sigma)), back


def _leading_eigenvectors(S: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues, decreasing, and their eigenvectors, of a matrix given by its lower triangle.

    Few are found fastest by bisection and inverse iteration, which is scipy's ``subset_by_index``; many by divide and
    conquer ("evd"), which finds all.
    """
    n = len(S)
    if n_vectors * 8 < n:
        values, V = linalg.eigh(S, lower=True, check_finite=False, subset_by_index=(n - n_vectors, n - 1))
    else:
        driver = "evd" if n > 1 else "ev"  # "evd" of scipy 1.11 asks too little work space for a 1 x 1 matrix
        values, V = linalg.eigh(S, lower=True, driver=driver, overwrite_a=True, check_finite=False)
    return values[::-1][:n_vectors], V[:, ::-1][:, :n_vectors]


def _cholesky(B: np.ndarray, ridge: float, name: str) -> np.ndarray:
    """L with L L' = B + ridge I, from the lower triangle of B (zeros above) and in its place.

    Raises when B is singular to working precision.  That is judged after scaling the diagonal to 1, as the error of
    a Cholesky factor is: a constant feature (a row of B that holds the ridge alone) is harmless.
    """
    B[np.diag_indices_from(B)] += ridge
    n = len(B)
    diagonal = B.diagonal()
    rcond = 0.0
    if (diagonal > 0).all():
        scale = np.sqrt(diagonal)
        B /= scale
        B /= scale[:, None]
        size = np.abs(B)
        sums = size.sum(axis=0) + size.sum(axis=1) - 1.0  # rows of the symmetric matrix, whose diagonal counts once
        L, info = lapack.dpotrf(B, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            rcond, _ = lapack.dpocon(L, sums.max(), uplo="L")
    if rcond < n * _EPS:
        raise InputError(
            f"The {name} ({n} x {n}) is singular (reciprocal condition {rcond:.1e}); raise the ridge, "
            "or drop constant and repeated columns."
        )
    L *= scale[:, None]
    return np.asarray(L)
