"""The HSIC projection: orthonormal directions of largest dependence on the labels (article, section 3.3).

Let M = (HX)' F~, of shape (n_features, n_labels). The matrix X' H F~ F~' H X of the article is M M'. Its eigenvectors
are the left singular vectors of M, and its eigenvalues are the squared singular values. So no n_samples x n_samples
and no n_features x n_features matrix is formed.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._checks.arguments import EigenSolver, check_choice, check_components, check_row_weights
from ._checks.labels import some_unknown
from ._label_sums import LabelSet, label_sets
from ._moments import RowSums
from ._process.threads import single_threaded_blas
from ._projections import directions
from ._projections.directions import Directions

__all__ = ["feature_weights", "hsic_projection"]

LEAST_DEPENDENCE = 1e-12  # two equal sums over rows and labels differ by about 1e-14 of what is summed


def hsic_projection(
    X: Any, F: Any, n_components: int | None = None, *, solver: EigenSolver = "auto"
) -> tuple[NDArray[np.floating[Any]], NDArray[np.float64]]:
    r"""Directions that maximise the linear Hilbert-Schmidt dependence between XP and F (equations 13 and 14).

    The directions p solve X' H F F' H X p = lambda p subject to P'P = I, where H = I - 11'/n subtracts the mean. They
    are computed as the left singular vectors of M = (HX)' F; the eigenvalues are the squared singular values of M.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows; finite numbers. float32 stays float32, but sums are computed in float64. Sparse X is never centred or
        made dense.
    F : array-like of shape (n_samples, n_labels)
        Labels, hard or soft; finite numbers.
    n_components : int or None, default=None
        Number d of directions, at most min(n_labels, n_features, n_samples - 1). None: as many as the numerical rank
        of M allows.
    solver : {"auto", "eigsh", "svd"}, default="auto"
        "svd": a thin singular value decomposition. "eigsh": Lanczos iterations, for few directions and many labels.
        "auto": the faster of the two. Both give the same directions.

    Returns
    -------
    components : ndarray of shape (d, n_features)
        One direction in each row, orthonormal, in the dtype of X. The entry of largest magnitude of each row is
        positive.
    eigenvalues : ndarray of shape (d,), float64
        Dependence along each direction, in decreasing order.

    Raises
    ------
    ValueError
        If ``n_components`` is above its bound, or if there is no dependence at all, as for constant labels or
        features.

    Warns
    -----
    UserWarning
        If ``n_components`` exceeds the numerical rank, the number of singular values above max(n_features, n_labels)
        eps times the largest; fewer directions are returned.

    Notes
    -----
    .. math::

        X^\top H F F^\top H X \, p_j = \lambda_j \, p_j, \qquad P^\top P = I, \qquad
        H = I - \tfrac{1}{n} \mathbf{1} \mathbf{1}^\top.

    Examples
    --------
    The label depends on the second feature only.

    >>> import numpy as np
    >>> from nmlsdr.projection import hsic_projection
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    >>> components, eigenvalues = hsic_projection(X, [[0], [0], [1], [1]])
    >>> components
    array([[0., 1.]])
    >>> eigenvalues
    array([4.])
    """
    X = RowSums.of(X)
    directions = hsic_directions(X, check_row_weights(F, "F", X.shape[0]), n_components, solver=solver)
    return directions.components, directions.eigenvalues


def hsic_directions(X: RowSums, F: np.ndarray, n_components: int | None = None, *, solver: str = "auto") -> Directions:
    """What `hsic_projection` computes, with the mean, the rank and the sum of all eigenvalues."""
    check_choice(solver, "solver", "auto", "eigsh", "svd")
    bound = min(F.shape[1], X.shape[1], X.shape[0] - 1)
    n_directions = check_components(n_components, bound, "min(n_labels, n_features, n_samples - 1)")
    with single_threaded_blas():
        mean = X.means()
        M = X.label_moment(F, mean)
        directions.refuse_no_dependence(M, X, F)
        U, s = _left_singular_vectors(M, n_directions, solver)
        total = float(np.sum(M * M))
        # Where the features are far from 0, large sums cancel in M, and their rounding errors are no directions.
        above_rounding = directions.numerical_rank(s, directions.uncentred_size(mean, F), M.shape, np.float64)
    rank = min(directions.numerical_rank(s, s[0], M.shape, X.dtype), above_rounding)
    return replace(directions.finish(U, s, rank, n_components, X.dtype, mean), total=total)


def _left_singular_vectors(M: np.ndarray, n_directions: int, solver: str) -> tuple[np.ndarray, np.ndarray]:
    if solver == "auto":
        solver = "eigsh" if _eigsh_is_faster(M.shape, n_directions) else "svd"
    if solver == "eigsh" and n_directions < min(M.shape):  # eigsh cannot return all of them
        vectors = directions.leading_by_lanczos(lambda V: M.T @ V, lambda V: M @ V, M.shape[0], n_directions)
        if vectors is not None:
            return vectors
    return directions.thin_svd(M)


def _eigsh_is_faster(shape: tuple[int, int], n_directions: int) -> bool:
    """Whether Lanczos iterations beat the thin SVD.

    Time of "svd" over time of "eigsh" for random M of D x C, one thread (bench/results/methods_solver.json,
    which names its commit).  A tall M is read twice for every vector, while the SVD reduces it to C x C first:

        1000 x 500   d = 2: 6.3    d = 10: 3.5    d = 50: 1.8    d = 150: .6
        1000 x 1000  d = 2: 12     d = 10: 6.1    d = 50: 3.8    d = 150: 1.2
        1000 x 3000  d = 2: 1.7    d = 10: 1.4    d = 50: .8     d = 150: .4
        5000 x 500   d = 2: 1.2    d = 10: .9     d = 50: .4
        5000 x 50    d = 2: .4     d = 10: .4
    """
    small, large = sorted(shape)
    return small > 200 and n_directions * max(5.0, 2.4 * (large / small) ** 2) < small


# ---------------------------------------------------------------- weights of the features


def feature_weights(X: Any, Y: Any, *, known: Any = None) -> NDArray[np.float64]:
    """Shrinkage factor of each feature: the share of its dependence on the labels that is not due to chance.

    Let Xc and Yc be the centred features and labels of l labelled rows, and Xc_j the column of feature j. Then

        h_j  = |Xc_j' Yc|^2                      is its linear Hilbert-Schmidt dependence on all labels,
        h0_j = |Xc_j|^2 |Yc|_F^2 / (l - 1)       is the mean of h_j over all permutations of the rows of Y,
        kappa_j = max(0, 1 - h0_j / h_j)         is the positive-part James-Stein factor of Xc_j' Yc.

    A feature that depends on the labels no more than expected by chance gets 0; one that depends on them much more
    gets nearly 1. Distances and projections in which the square of feature j is multiplied by kappa_j ignore most of
    the noise.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The labelled rows. Sparse X is never centred or made dense; the cost is O(nnz n_labels).
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Labels of these rows, hard or soft.
    known : array-like of shape (n_samples, n_labels), bool, default=None
        True for the known entries of Y; None: all are known. With unknown entries h_j = sum_c (x_j'y_c)^2 and h0_j =
        sum_c |x_j|^2 |y_c|^2 / (l_c - 1), where x_j and y_c are centred over the l_c rows whose label c is known.

    Returns
    -------
    ndarray of shape (n_features,), float64
        kappa, in [0, 1). It is 0 where h_j - h0_j is no larger than rounding errors, as for features that are
        constant over the known rows of every label. Results for dense and sparse X, and for float32 copies, agree up
        to rounding.

    Raises
    ------
    ValueError
        If X or Y has NaN or infinite values, or if their numbers of rows differ.

    Notes
    -----
    The measure of dependence is that of Gretton, Bousquet, Smola and Schoelkopf, "Measuring statistical dependence
    with Hilbert-Schmidt norms", ALT 2005. The shrinkage is that of James and Stein 1961, and of Efron and Morris,
    JASA 68, 1973.

    Examples
    --------
    Four rows, one label, Yc = (-1, -1, 1, 1) / 2 and |Yc|^2 = 1.  The second feature is the label up to scale:
    h = 4, |Xc_j|^2 = 4, h0 = 4/3.  The first is orthogonal to it, the third constant.

    >>> from nmlsdr.projection import feature_weights
    >>> X = [[0.0, 0.0, 7.0], [1.0, 0.0, 7.0], [0.0, 2.0, 7.0], [1.0, 2.0, 7.0]]
    >>> feature_weights(X, [[0], [0], [1], [1]]).round(6)
    array([0.      , 0.666667, 0.      ])
    """
    X = RowSums.of(X)
    Y = check_row_weights(Y, "Y", X.shape[0])
    with single_threaded_blas():
        return kappa_of_sets(label_sets(X, Y, some_unknown(known, Y)), X.shape[1])


def kappa_of_sets(sets: list[LabelSet], n_features: int) -> np.ndarray:
    """`feature_weights` from the sums over the rows where labels are known.

    h_j and h0_j are sums over rows whose terms cancel.  The rounding error of h_j - h0_j is below a small share of the
    sum_c |x_j| |P_c x_j| |P_c y_c|^2, with x_j not centred.  A difference below that share counts as 0: the feature
    then depends on the labels no more than expected by chance.
    """
    squares = sum((each.squares for each in sets), np.zeros(n_features))
    divisor = np.where(squares > 0, squares, 1.0)
    h = np.zeros(n_features)
    h0 = np.zeros(n_features)
    summed = np.zeros(n_features)
    for each in sets:  # all of them over |x_j|^2: h_j itself could overflow
        h += np.sum((each.moment / np.sqrt(divisor)[:, None]) ** 2, axis=1)
        h0 += each.squares / divisor * (each.label_squares / max(each.count - 1, 1))
        uncentred = np.sqrt(each.squares + each.count * each.mean**2)
        summed += np.sqrt(each.squares) / divisor * uncentred * each.label_squares
    beyond = h - h0 > LEAST_DEPENDENCE * summed
    return np.where(beyond, 1.0 - h0 / np.where(beyond, h, 1.0), 0.0)


def shrunken_weights(kappa: np.ndarray, shrinkage: float) -> np.ndarray:
    """w(b) = 1 - b (1 - kappa): b = 0 leaves all features as they are, b = 1 weighs them by kappa."""
    return 1.0 - shrinkage * (1.0 - kappa)
