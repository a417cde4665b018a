"""Weights of the labels in each row, for weighted multi-label discriminant analysis.

The names of the forms follow Xu (2018), who compares them; each function names its own source.
All take 0/1 labels Y (l x C), two of them X as well, and give W >= 0 (l x C); a row without labels gets weights of 0.
`dependence_weights` returns its objective too.
The form "binary" is Y itself. `MLDA._weights` chooses the form.
"""

from typing import Any

import numpy as np
from scipy import sparse

from .._checks.arguments import check_count
from .._dependence import dependence_sweep
from .._errors import warn_not_converged
from .._moments import RowSums, compress_labels, label_gram, without_offsets
from .._process.threads import single_threaded_blas

_LARGEST_FUZZY_STEPS = 100
_AT_CENTRE = 1e-290  # below this the inverse of a squared distance, or a sum of such, would overflow
_CANCELLED = 1e-3  # |x|^2 + |c|^2 - 2x'c below this share of |x|^2 + |c|^2 has lost three digits
_FUZZY_STOP = 0.01  # movement of all centres (Frobenius)
_SWEEP_VALUES = 1 << 19  # values of X that one call of the sweep reads: Ctrl-C is served between them


def entropy_weights(Y: Any) -> np.ndarray:
    """Each row shared equally among its labels: w_ik = y_ik / |y_i|_1 (Chen et al. 2007; wMLDAe).

    Parameters
    ----------
    Y : array of shape (n_samples, n_labels)
        0/1.

    Returns
    -------
    W : ndarray of shape (n_samples, n_labels), float64
        Weights of the labels in each row; a row without labels has 0s.

    Examples
    --------
    >>> import numpy as np
    >>> from nmlsdr._projections.label_weights import entropy_weights
    >>> entropy_weights(np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]))
    array([[0.5, 0.5],
           [0. , 1. ],
           [0. , 0. ]])
    """
    return _divide_rows(Y, Y.sum(axis=1))


def correlation_weights(Y: Any) -> np.ndarray:
    """W = Y C, each row divided by |y_i|_1, C_kl = y_k'y_l / (|y_k| |y_l|) (Wang et al. 2010; wMLDAc).

    A label that the row does not carry gets weight too, when it goes with one that the row carries.

    Parameters
    ----------
    Y : array of shape (n_samples, n_labels)
        0/1.

    Returns
    -------
    W : ndarray of shape (n_samples, n_labels), float64
        Weights of the labels in each row; a row without labels has 0s.

    Examples
    --------
    The two labels share one row of the two that each has: C_12 = 1/2.

    >>> import numpy as np
    >>> from nmlsdr._projections.label_weights import correlation_weights
    >>> correlation_weights(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])).round(3)
    array([[0.75, 0.75],
           [1.  , 0.5 ],
           [0.5 , 1.  ]])
    """
    norms = np.sqrt(Y.sum(axis=0))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    with single_threaded_blas():
        W = compress_labels(Y) @ (label_gram(Y) * scale * scale[:, None])
    return _divide_rows(W, Y.sum(axis=1))


def fuzzy_weights(X: Any, Y: Any) -> np.ndarray:
    """Weights by nearness to the centres of the labels (Lin and Chen 2010; wMLDAf).

    Starts from `entropy_weights` with centres c_k = (1/l) sum_i w_ik x_i, x_i centred; then, at most 100
    times, w_ik = (y_ik / |x_i - c_k|^2) / sum_m (y_im / |x_i - c_m|^2) and
    c_k = sum_i w_ik^2 x_i / sum_i w_ik^2, until the centres move by less than .01 (Frobenius).
    A row that equals a centre gets weight 1 there, shared if there are several.  The first centres shrink
    towards the mean, so the weights change when X is scaled, but not when it is shifted.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows; finite numbers.
    Y : array of shape (n_samples, n_labels)
        0/1.

    Returns
    -------
    W : ndarray of shape (n_samples, n_labels), float64
        Weights of the labels in each row.

    Examples
    --------
    The last row carries both labels and lies nearer to the centre of the second.

    >>> import numpy as np
    >>> from nmlsdr._projections.label_weights import fuzzy_weights
    >>> Y = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    >>> W = fuzzy_weights(np.array([[-1.0], [-1.0], [1.0], [1.0], [0.8]]), Y)
    >>> W[-1].round(2)
    array([0.01, 0.99])
    """
    sums = RowSums(X)
    with single_threaded_blas():
        mean = sums.means()
        if sums.is_sparse:
            rows, mean = without_offsets(X, mean)
            sums = RowSums(rows)
        W = entropy_weights(Y)
        centres = sums.cross_moment(W, mean).T / len(Y)
        for _ in range(_LARGEST_FUZZY_STEPS):
            W = _membership(_centre_distances(sums, mean, centres, Y > 0), Y)
            squares = W * W
            total = squares.sum(axis=0)
            moment = sums.cross_moment(squares, mean).T
            moved = np.divide(moment, total[:, None], out=np.zeros_like(centres), where=total[:, None] > 0)
            step = np.linalg.norm(moved - centres)
            centres = moved
            if step < _FUZZY_STOP:
                break
    return W


def dependence_weights(X: Any, Y: Any, *, generator: Any, max_iter: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """One label for each row, so that features and weighted labels depend on each other most (wMLDAd, Xu 2018).

    Maximises the Hilbert-Schmidt objective tr((W o Y)' Xc Xc' (W o Y)) = |Xc'(W o Y)|_F^2 over weights whose
    rows lie on the simplex, one row after another.  With V = W o Y and the other rows fixed, the objective is
    convex in row i, so its maximum is at a corner: w_i = one-hot(argmax_k g_k) over the labels k of the row,
    g_k = x_i' sum_{j != i} v_jk x_j.  Keeping A = Xc'V (D x C) up to date by rank-one steps makes a row cost
    O(D) for each of its labels; A is computed anew in each epoch, or the column of a label that has lost all
    its rows would be rounding noise and decide ties.  Ends when an epoch changes nothing.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows; finite numbers.
    Y : array of shape (n_samples, n_labels)
        0/1.  Rows with one label are left alone, rows without any get weights of 0.
    generator : numpy.random.Generator or numpy.random.RandomState
        Its ``permutation`` gives the order in which an epoch visits the rows.
    max_iter : int, default=1000
        Largest number of epochs.

    Returns
    -------
    W : ndarray of shape (n_samples, n_labels), float64
        1 for the label that a row goes to, 0 for the others.
    objective : ndarray of shape (n_epochs + 1,), float64
        At the start and after each epoch; it never decreases.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        After ``max_iter`` epochs that each changed something.

    Examples
    --------
    The last row carries both labels and lies with the rows of the second.

    >>> import numpy as np
    >>> from nmlsdr._projections.label_weights import dependence_weights
    >>> X = np.array([[-1.0], [-1.0], [1.0], [1.0], [1.0]])
    >>> Y = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    >>> W, _ = dependence_weights(X, Y, generator=np.random.default_rng(0))
    >>> W[-1]
    array([0., 1.])
    """
    max_iter = check_count(max_iter, "max_iter")
    row, indices = np.divmod(np.flatnonzero(Y), Y.shape[1])
    indptr = np.searchsorted(row, np.arange(len(Y) + 1))
    sizes = np.diff(indptr)
    share = 1.0 / sizes[row]  # of each label in its row, as `entropy_weights` has it
    scratch = np.empty(X.shape[1] + sizes.max())
    step = max(1, _SWEEP_VALUES // X.shape[1])
    sums = RowSums(X)

    def weighted_sums() -> np.ndarray:
        """A = W'Xc, summed anew: after many updates an emptied label would hold rounding noise, and ties would flip."""
        W = sparse.csr_array((share, indices, indptr), shape=Y.shape, copy=True)
        W.eliminate_zeros()
        return np.ascontiguousarray(sums.cross_moment(W, mean).T)

    with single_threaded_blas():
        mean = sums.means()
        A = weighted_sums()
        objective = [float(np.sum(A * A))]
        for _ in range(max_iter):
            changed = 0
            visited = generator.permutation(len(Y)).astype(np.intp, copy=False)
            visited = visited[sizes[visited] > 1]
            for first in range(0, len(visited), step):
                group = visited[first : first + step]
                rows, place = (X[group].toarray(), np.arange(len(group))) if sparse.issparse(X) else (X, group)
                changed += dependence_sweep(
                    X=rows,
                    mean=mean,
                    visited=group,
                    place=place,
                    indptr=indptr,
                    indices=indices,
                    share=share,
                    A=A,
                    scratch=scratch,
                )
            if not changed:
                break
            A = weighted_sums()
            objective.append(float(np.sum(A * A)))
        else:
            warn_not_converged(f"dependence weights stopped after {max_iter} epoch(s); raise max_iter.", stacklevel=2)
    W = np.zeros_like(Y)
    W[row, indices] = share
    return W, np.array(objective)


def _centre_distances(sums: RowSums, mean: np.ndarray, centres: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Squared distances (l, C) of the centred rows to the centres; to full accuracy where ``exact``."""
    X = sums.rows
    if sparse.issparse(X):
        wide = X.astype(np.float64)
        norms = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
        norms += mean @ mean - 2.0 * np.asarray(X @ mean)
    else:
        norms = np.empty(X.shape[0])
        for rows, block in sums.centred_blocks(mean):
            norms[rows] = np.einsum("ij,ij->i", block, block)
    scale = norms[:, None] + np.sum(centres**2, axis=1)
    squared: np.ndarray = scale - 2.0 * sums.project(centres.T, mean)
    cancelled = (squared < _CANCELLED * scale) & exact
    for i in np.flatnonzero(cancelled.any(axis=1)):  # take the difference itself
        row = X[[i]].toarray() if sparse.issparse(X) else X[[i]]
        squared[i, cancelled[i]] = np.sum((row - mean - centres[cancelled[i]]) ** 2, axis=1)
    return squared


def _membership(squared: np.ndarray, Y: np.ndarray) -> np.ndarray:
    at_centre = (squared < _AT_CENTRE) & (Y > 0)
    inverse = np.divide(Y, squared, out=np.zeros_like(Y), where=squared >= _AT_CENTRE)
    near = np.where(at_centre.any(axis=1, keepdims=True), at_centre, inverse)
    return _divide_rows(near, near.sum(axis=1))


def _divide_rows(W: np.ndarray, totals: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(W, totals[:, None], out=np.zeros_like(W), where=totals[:, None] > 0))
