"""The HSIC projection: orthonormal directions of largest dependence on the labels (article, section 3.3).

With M = (HX)' F~ (D x C), the article's X' H F~ F~' H X is M M'.  Its eigenvectors are the left singular
vectors of M and its eigenvalues the squared singular values, so neither an n x n nor a D x D matrix is
ever formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._directions import Directions, finish, leading_by_lanczos, refuse_no_dependence, thin_svd
from ._errors import InputError
from ._moments import column_means, label_moment
from ._threads import single_threaded_blas
from ._validation import check_components, check_row_weights, check_rows

__all__ = ["Directions", "hsic_projection"]


def hsic_projection(
    X: Any, F: Any, n_components: int | None = None, *, solver: str = "auto"
) -> tuple[np.ndarray, np.ndarray]:
    """Directions that maximise the linear Hilbert-Schmidt dependence between XP and F (article, eq. 13-14).

    Solves X' H F F' H X p = lambda p with P'P = I, H = I - 11'/n, through M = (HX)' F (D x C): the
    directions are the left singular vectors of M, the eigenvalues its squared singular values.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        float32 stays float32; sums are taken in float64.  Sparse X is never centred or made dense.
    F : array of shape (n_samples, n_labels)
        Labels, hard or soft.
    n_components : int or None, default=None
        At most min(n_labels, n_features, n_samples - 1); None: as many as the numerical rank allows.
    solver : {"auto", "eigsh", "svd"}, default="auto"
        "svd": thin singular value decomposition of M.  "eigsh": Lanczos iterations on v -> M (M' v), for a
        few directions out of many labels.  Both give the same directions; "auto" takes the faster.

    Returns
    -------
    components : ndarray of shape (d, n_features)
        The rows are orthonormal, in the dtype of X; the entry of largest magnitude of each is positive.
    eigenvalues : ndarray of shape (d,), float64
        Decreasing.

    Raises
    ------
    ValueError
        ``n_components`` above the bound, or no dependence at all (constant labels or constant features).

    Warns
    -----
    UserWarning
        ``n_components`` is above the numerical rank, the number of s_j > s_0 max(D, C) eps; it is cut.

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
    found = hsic_directions(X, F, n_components, solver=solver)
    return found.components, found.eigenvalues


def hsic_directions(X: Any, F: Any, n_components: int | None = None, *, solver: str = "auto") -> Directions:
    """What `hsic_projection` computes, with the mean, the rank and the sum of all eigenvalues."""
    if solver not in ("auto", "eigsh", "svd"):
        raise InputError(f"solver must be 'auto', 'eigsh' or 'svd', got {solver!r}.")
    X = check_rows(X)
    F = check_row_weights(F, "F", X.shape[0])
    bound = min(F.shape[1], X.shape[1], X.shape[0] - 1)
    wanted = check_components(n_components, bound, "min(n_labels, n_features, n_samples - 1)")
    with single_threaded_blas():
        mean = column_means(X)
        M = label_moment(X, F, mean)
        refuse_no_dependence(M, X, F)
        U, s = _left_singular_vectors(M, wanted, solver)
        total = float(np.sum(M * M))
    return finish(U, s, X.dtype, M.shape, n_components, mean, total)


def _left_singular_vectors(M: np.ndarray, wanted: int, solver: str) -> tuple[np.ndarray, np.ndarray]:
    if solver == "auto":
        solver = "eigsh" if _eigsh_is_faster(M.shape, wanted) else "svd"
    if solver == "eigsh" and wanted < min(M.shape):  # eigsh cannot return all of them
        found = leading_by_lanczos(lambda V: M.T @ V, lambda V: M @ V, M.shape[0], wanted)
        if found is not None:
            return found
    return thin_svd(M)


def _eigsh_is_faster(shape: tuple[int, int], wanted: int) -> bool:
    """Whether Lanczos iterations beat the thin SVD.

    Time of "svd" over time of "eigsh" for random M of D x C, one thread (bench/bench_methods.py --part solver; all
    of it in docs/methods.md).  A tall M is read twice for every vector, while the SVD reduces it to C x C first:

        1000 x 500   d = 2: 6.3    d = 10: 3.5    d = 50: 1.8    d = 150: .6
        1000 x 1000  d = 2: 12     d = 10: 6.1    d = 50: 3.8    d = 150: 1.2
        1000 x 3000  d = 2: 1.7    d = 10: 1.4    d = 50: .8     d = 150: .4
        5000 x 500   d = 2: 1.2    d = 10: .9     d = 50: .4
        5000 x 50    d = 2: .4     d = 10: .4
    """
    small, large = sorted(shape)
    return small > 200 and wanted * max(5.0, 2.4 * (large / small) ** 2) < small
