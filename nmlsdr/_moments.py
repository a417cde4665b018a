"""Sums over rows, for dense rows by blocks and for sparse rows without centring them.

Xc stands for the rows minus their mean, 1 mean' subtracted from X.  Dense X is centred block by block: with a
large offset, X'F - mean (1'F)' would lose digits.  For sparse X that is exact algebra and nothing is densified.
All sums are taken in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from ._remote import RemoteRows

__all__ = ["add_gram", "centre_columns", "centred_blocks", "centred_gram", "column_means", "column_squares",
           "compress_labels", "cross_moment", "frobenius_norm", "label_gram", "label_moment", "project", "row_blocks",
           "scatter_moments"]  # fmt: skip

_BLOCK_VALUES = 1 << 19  # values of X that are widened to float64 and centred at a time: 4 MiB
# Labels with fewer non-zeros than this are multiplied as a sparse matrix: at 2 % (Corel) it takes a quarter of
# the time of the dense product, at 10 % as long.
_THIN = 0.05


def row_blocks(X: Any) -> Iterator[slice]:
    """Slices of rows of about 4 MiB in float64."""
    step = max(1, _BLOCK_VALUES // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        yield slice(first, min(first + step, X.shape[0]))


def centred_blocks(X: np.ndarray, mean: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Dense rows minus ``mean`` in float64, block by block in one buffer that the caller may change."""
    buffer = None
    for rows in row_blocks(X):
        if buffer is None:
            buffer = np.empty((rows.stop, X.shape[1]))
        block = buffer[: rows.stop - rows.start]
        np.subtract(X[rows], mean, out=block)
        yield rows, block


def column_means(X: Any) -> np.ndarray:
    """Means of the columns."""
    if isinstance(X, RemoteRows):
        return np.asarray(X.total(_column_sums) / X.shape[0])
    return np.asarray(_column_sums(X) / X.shape[0])


def _column_sums(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        total = np.bincount(X.indices, weights=X.data, minlength=X.shape[1])
    else:
        total = np.zeros(X.shape[1])
        for rows in row_blocks(X):
            total += X[rows].sum(axis=0, dtype=np.float64)
    return np.asarray(total)


def column_squares(X: Any, mean: np.ndarray) -> np.ndarray:
    """Sums of squares of the columns of Xc; of a constant column exactly 0, not rounding noise."""
    if isinstance(X, RemoteRows):
        first = X[np.arange(1)].total(_column_sums)  # the sum of one row
        total, differs = X.total(_squares_of_block, (), (mean, first))
        return np.asarray(np.where(differs > 0, total, 0.0))
    if sparse.issparse(X):
        values = X.data.astype(np.float64, copy=False)
        raw = np.bincount(X.indices, weights=values * values, minlength=X.shape[1])
        total = np.maximum(raw - X.shape[0] * mean * mean, 0.0)
        constant = X.max(axis=0).toarray().ravel() == X.min(axis=0).toarray().ravel()
    else:
        total = np.zeros(X.shape[1])
        for _, block in centred_blocks(X, mean):
            total += np.einsum("ij,ij->j", block, block)
        constant = _constant(X)
    total[constant] = 0.0
    return np.asarray(total)


def _squares_of_block(X: Any, mean: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squares, and whether a column holds anything but its first value."""
    if sparse.issparse(X):
        values = X.data.astype(np.float64, copy=False)
        raw = np.bincount(X.indices, weights=values * values, minlength=X.shape[1])
        sums = np.bincount(X.indices, weights=values, minlength=X.shape[1])
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
        total = np.maximum(raw - 2 * mean * sums + X.shape[0] * mean * mean, 0.0)
        return total, ((low != first) | (high != first)).astype(np.int64)
    total = np.zeros(X.shape[1])
    for _, block in centred_blocks(X, mean):
        total += np.einsum("ij,ij->j", block, block)
    return total, (first != X).any(axis=0).astype(np.int64)


def centre_columns(F: np.ndarray) -> np.ndarray:
    """F minus its column means; a constant column becomes exactly 0, not rounding noise."""
    centred: np.ndarray = F - F.mean(axis=0)
    centred[:, _constant(F)] = 0.0
    return centred


def centred_over_known(Y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """P_c y_c: each label minus its mean over the rows where it is known, and 0 elsewhere.

    X' times the result is sum_{i in K_c} (x_i - mean_c x)(y_ic - mean_c y): its columns sum to 0 over K_c, so the
    mean of x, any mean, falls out.
    """
    mean = np.where(known, Y, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, Y - mean, 0.0)


def squares_over_known(X: Any, known: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """|P_c x_j|^2 of shape (n_features, n_labels)."""
    K, count = known.astype(np.float64), np.maximum(known.sum(axis=0), 1)
    if sparse.issparse(X):
        raw, sums = np.asarray(X.power(2).T @ K), np.asarray(X.T @ K)
        return np.maximum(raw - sums**2 / count, 0.0)
    raw, sums = np.zeros((X.shape[1], K.shape[1])), np.zeros((X.shape[1], K.shape[1]))
    for rows, block in centred_blocks(X, mean):
        raw += (block * block).T @ K[rows]
        sums += block.T @ K[rows]
    return np.maximum(raw - sums**2 / count, 0.0)


def compress_labels(F: np.ndarray) -> Any:
    """F in CSR where that makes its products faster, otherwise F itself."""
    if F.ndim != 2:
        return F
    filled = F != 0
    if np.count_nonzero(filled) >= _THIN * F.size:
        return F
    stored = np.flatnonzero(filled)
    indptr = np.searchsorted(stored, F.shape[1] * np.arange(len(F) + 1))
    return sparse.csr_array((F.ravel()[stored], stored % F.shape[1], indptr), shape=F.shape)


def label_gram(F: np.ndarray) -> np.ndarray:
    """F'F of shape (n_labels, n_labels)."""
    factor = compress_labels(F)
    G = factor.T @ factor
    return G.toarray() if sparse.issparse(G) else np.asarray(G)


def add_gram(S: np.ndarray, V: np.ndarray, share: float = 1.0) -> None:
    """S += share V V' in the lower triangle of S, in place: half the work of a product.

    S in Fortran order; V too, or it is copied.
    """
    blas.dsyrk(share, V, beta=1.0, c=S, lower=1, overwrite_c=1)


def label_moment(X: Any, F: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Xc'F of shape (n_features, n_labels); the column of a constant label is exactly 0."""
    factor = compress_labels(F)
    if not sparse.issparse(factor):
        return _moment(X, centre_columns(F), mean)
    M = _moment(X, factor, mean)
    M[:, _constant(F)] = 0.0
    return M


def cross_moment(X: Any, F: Any, mean: np.ndarray) -> np.ndarray:
    """(X - 1 mean')' F, for F of shape (n_samples,) or (n_samples, m), dense or CSR."""
    return _moment(X, F if sparse.issparse(F) else compress_labels(F), mean)


def _moment(X: Any, factor: Any, mean: np.ndarray) -> np.ndarray:
    if isinstance(X, RemoteRows):
        return np.asarray(X.total(_moment, (factor,), (mean,)))
    if sparse.issparse(X):
        M = X.T @ factor
        M = M.toarray() if sparse.issparse(M) else np.asarray(M)
        return M - np.multiply.outer(mean, factor.sum(axis=0))
    M = np.zeros((*factor.shape[1:], X.shape[1]))
    for rows, block in centred_blocks(X, mean):
        M += factor[rows].T @ block
    return M.T


def scatter_moments(
    X: Any, F: np.ndarray, mean: np.ndarray, row_weights: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Xc'F and Xc' diag(row_weights) Xc, in one pass over the rows.

    The second is given by its lower triangle, in Fortran order, with zeros above.
    """
    if isinstance(X, RemoteRows):
        weights = np.broadcast_to(np.asarray(row_weights, dtype=np.float64), (X.shape[0],))
        M, S = X.total(_scatter_of_block, (F, weights), (mean,))
        return M, np.asfortranarray(S)
    if sparse.issparse(X):
        weights = np.broadcast_to(np.asarray(row_weights, dtype=np.float64), (X.shape[0],))
        weighted = X.astype(np.float64)
        weighted.data *= np.repeat(weights, np.diff(X.indptr))
        S = np.asarray((X.T @ weighted).toarray(), dtype=np.float64)
        moment = np.asarray(X.T @ weights)
        S -= np.outer(moment, mean)
        S += np.outer(mean, weights.sum() * mean - moment)
        return cross_moment(X, F, mean), np.asfortranarray(np.tril(S))
    factor = compress_labels(F)
    M, S = np.zeros((F.shape[1], X.shape[1])), np.zeros((X.shape[1], X.shape[1]), order="F")
    root = np.sqrt(row_weights)
    for rows, block in centred_blocks(X, mean):
        M += factor[rows].T @ block
        if root.ndim:
            block *= root[rows, None]
        add_gram(S, block.T)
    if not root.ndim:
        S *= row_weights
    return M.T, S


def _scatter_of_block(
    X: Any, F: np.ndarray, row_weights: np.ndarray, mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return scatter_moments(X, F, mean, row_weights)


def centred_gram(X: Any, mean: np.ndarray) -> np.ndarray:
    """(X - 1 mean')' (X - 1 mean') in Fortran order, whatever rows ``mean`` is the mean of.

    Of dense X only the lower triangle is filled; of sparse X all of it.
    """
    if isinstance(X, RemoteRows):
        return np.asfortranarray(X.total(centred_gram, (), (mean,)))
    if sparse.issparse(X):
        rows = X.astype(np.float64, copy=False)
        total = np.asarray(rows.sum(axis=0)).ravel()
        S = np.asfortranarray((rows.T @ rows).toarray())
        S -= np.add(np.outer(total, mean), np.outer(mean, total - X.shape[0] * mean))
        return S
    S = np.zeros((X.shape[1], X.shape[1]), order="F")
    for _, block in centred_blocks(X, mean):
        add_gram(S, block.T)
    return S


def project(X: Any, V: np.ndarray, mean: np.ndarray) -> Any:
    """(X - 1 mean') V; of remote rows a Dask array, of which nothing is computed."""
    if isinstance(X, RemoteRows):
        return X.image(project, V.shape[1], (V, mean))
    if sparse.issparse(X):
        return np.asarray(X @ V - mean @ V)
    image = np.empty((X.shape[0], *V.shape[1:]))
    for rows, block in centred_blocks(X, mean):
        image[rows] = block @ V
    return image


def frobenius_norm(X: Any) -> float:
    """|X|_F."""
    if isinstance(X, RemoteRows):
        return float(np.sqrt(X.total(_square_sum)))
    if sparse.issparse(X):
        return float(np.linalg.norm(X.data.astype(np.float64, copy=False)))
    total = 0.0
    for rows in row_blocks(X):
        block = np.ravel(X[rows].astype(np.float64, copy=False))
        total += float(block @ block)
    return float(np.sqrt(total))


def _square_sum(X: Any) -> np.float64:
    return np.float64(frobenius_norm(X) ** 2)


def _constant(F: np.ndarray) -> np.ndarray:
    """The columns that hold one value; soft labels are settled by their first rows."""
    same = np.ones(F.shape[1], dtype=bool)
    for first in range(0, len(F), 256):
        same &= (F[first : first + 256] == F[0]).all(axis=0)
        if not same.any():
            break
    return same
