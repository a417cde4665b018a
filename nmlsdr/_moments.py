"""Sums over rows, for dense rows by blocks and for sparse rows without centring them.

`RowSums` is what projections, ridge regressions and estimators know of the rows of X: means, Gram matrices, products
with labels and with directions.

Xc stands for the rows minus their mean, 1 mean' subtracted from X.  Dense X is centred block by block: with a
large offset, X'F - mean (1'F)' would lose digits.  Sparse X is not densified: it uses this formula, after
`without_offsets` where squares would lose digits.  All sums are taken in float64.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from ._checks.arguments import check_rows
from ._graph import column_limits
from ._lapack import add_products
from ._process.threads import check_n_jobs, in_threads, worthwhile_threads

_BLOCK_VALUES = 1 << 19  # values of X that are widened to float64 and centred at a time: 4 MiB
# Labels with fewer non-zeros than this are multiplied as a sparse matrix: at 2 % (Corel) it takes a quarter of
# the time of the dense product, at 10 % as long.
_THIN = 0.05


class RowSums:
    """Sums over rows in memory, dense or CSR.

    A subclass whose rows are elsewhere overrides `limits`, `sums`, `spread`, `moment`, `scatter`, `gram`, `project`,
    `map`, `array`, `take`, `scaled`, `in_memory` and `is_sparse`.  The other methods are made of these, but for
    `row_gram` and `centred_blocks`, which need rows in memory.

    Attributes
    ----------
    shape : tuple (n_samples, n_features)
    dtype : dtype
        float32 or float64.
    """

    shape: tuple[int, int]
    dtype: np.dtype

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.shape = rows.shape
        self.dtype = rows.dtype

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are in memory as a sparse matrix."""
        return sparse.issparse(self.rows)

    @staticmethod
    def of(X: Any, *, checked: bool = False) -> RowSums:
        """The sums of X: array-like or sparse rows, or an object that gives sums already."""
        if isinstance(X, RowSums):
            return X
        return RowSums(X if checked else check_rows(X))

    def map(self, function: Callable[..., Any], shape: tuple[int, ...], dtype: Any, **arguments: Any) -> Any:
        """``function(sums, **arguments)`` for all rows; it gives an array of ``shape`` and ``dtype`` for each."""
        return function(self, **arguments)

    def array(self) -> Any:
        """The rows, as an array of the kind they are kept in."""
        return self.rows

    def in_memory(self, why: str) -> Any:
        """The rows themselves; where they are not in memory, an `InputError` that begins with ``why``."""
        return self.rows

    def take(self, chosen: np.ndarray) -> RowSums:
        """Some of the rows, by a mask or by increasing numbers."""
        return RowSums(self.rows[chosen])

    def scaled(self, scale: np.ndarray) -> Any:
        """rows diag(scale) in the dtype and the form of the rows."""
        return scale_columns(self.rows, scale)

    # ---------------------------------------------------------------- means and squares

    def sums(self) -> np.ndarray:
        """Sums of the columns."""
        X = self.rows
        if sparse.issparse(X):
            return np.bincount(X.indices, weights=X.data, minlength=X.shape[1])
        total = np.zeros(X.shape[1])
        for rows in row_blocks(X):
            total += X[rows].sum(axis=0, dtype=np.float64)
        return total

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest number of each column, in float64."""
        X = self.rows
        if sparse.issparse(X):
            low, high = (end.toarray().ravel() for end in (X.min(axis=0), X.max(axis=0)))
            return low.astype(np.float64), high.astype(np.float64)
        low = np.empty(X.shape[1])
        high = np.empty(X.shape[1])
        column_limits(np.ascontiguousarray(X), low, high)
        return low, high

    def means(self) -> np.ndarray:
        """Means of the columns."""
        return np.asarray(self.sums() / self.shape[0])

    def squares(self, mean: np.ndarray) -> np.ndarray:
        """Sums of squares of the columns of Xc; of a constant column exactly 0, not rounding noise."""
        total, differs = self.spread(mean, self.take(np.arange(1)).sums())
        return np.where(differs > 0, total, 0.0)

    def spread(self, mean: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of squares about ``mean``, and whether a column holds anything but its value in ``first``."""
        X = self.rows
        if not sparse.issparse(X):
            total = np.zeros(X.shape[1])
            for _, block in self.centred_blocks(mean):
                total += np.einsum("ij,ij->j", block, block)
            return total, (~constant_columns(X, first)).astype(np.int64)
        # stored entries about the mean, and a square of the mean for each zero: nothing cancels
        stored = np.bincount(X.indices, minlength=X.shape[1])
        total = (X.shape[0] - stored) * mean * mean
        total += np.bincount(X.indices, weights=(X.data - mean[X.indices]) ** 2, minlength=X.shape[1])
        low = X.min(axis=0).toarray().ravel()
        high = X.max(axis=0).toarray().ravel()
        return total, ((low != first) | (high != first)).astype(np.int64)

    def norm(self) -> float:
        """|X|_F."""
        zeros = np.zeros(self.shape[1])
        return float(np.sqrt(self.spread(zeros, zeros)[0].sum()))

    # ---------------------------------------------------------------- products

    def cross_moment(self, F: Any, mean: np.ndarray) -> np.ndarray:
        """(X - 1 mean')' F, for F of shape (n_samples,) or (n_samples, m), dense or CSR."""
        return self.moment(F if sparse.issparse(F) else compress_labels(F), mean)

    def label_moment(self, F: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Xc'F of shape (n_features, n_labels); the column of a constant label is exactly 0."""
        factor = compress_labels(F)
        M = self.moment(factor, mean, None if sparse.issparse(factor) else F.mean(axis=0))
        M[:, constant_columns(F, F[0])] = 0.0
        return M

    def moment(self, factor: Any, mean: np.ndarray, factor_mean: np.ndarray | None = None) -> np.ndarray:
        """(X - 1 mean')' (factor - 1 factor_mean'), multiplied in the form that ``factor`` has."""
        if sparse.issparse(self.rows):
            factor = factor if factor_mean is None else factor - factor_mean
            M = self.rows.T @ factor
            M = M.toarray() if sparse.issparse(M) else np.asarray(M)
            return M - np.multiply.outer(mean, factor.sum(axis=0))
        M = np.zeros((*factor.shape[1:], self.shape[1]))
        for rows, block in self.centred_blocks(mean):
            M += (factor[rows] if factor_mean is None else factor[rows] - factor_mean).T @ block
        return M.T

    def scatter(self, F: np.ndarray, mean: np.ndarray, row_weights: Any) -> tuple[np.ndarray, np.ndarray]:
        """Xc'F, and `gram` with these weights."""
        return self.cross_moment(F, mean), self.gram(mean, row_weights)

    def gram(self, mean: np.ndarray, row_weights: np.ndarray | float = 1.0) -> np.ndarray:
        """(X - 1 mean')' diag(row_weights) (X - 1 mean'), whatever rows ``mean`` is the mean of.

        It is given by its lower triangle, in Fortran order, with zeros above.
        """
        X = self.rows
        weights = np.asarray(row_weights, dtype=np.float64)
        if sparse.issparse(X):
            X, mean = without_offsets(X, mean)
            weights = np.broadcast_to(weights, (X.shape[0],))
            moment = np.asarray(X.T @ weights)
            # - mean moment' - moment mean' + (sum of the weights) mean mean', in the lower triangle
            shift = moment - 0.5 * weights.sum() * mean
            return blas.dsyr2(-1.0, mean, shift, a=sparse_gram(X.T, weights), lower=1, overwrite_a=1)
        S = np.zeros((X.shape[1], X.shape[1]), order="F")
        root = np.sqrt(weights)
        for rows, block in self.centred_blocks(mean):
            if root.ndim:
                block *= root[rows, None]
            add_gram(S, block.T)
        if not root.ndim:
            S *= weights
        return S

    def row_gram(self, w: np.ndarray) -> np.ndarray:
        """Xc diag(w) Xc' of rows in memory, in the form of `gram`."""
        X = self.rows
        mean = self.means()
        features = np.flatnonzero(w)
        if sparse.issparse(X):
            X, mean = without_offsets(X, mean)
            offset = X @ (w * mean) - 0.5 * float(w @ mean**2)
            K = sparse_gram(sparse.csc_array(X)[:, features], w[features])
            return np.asarray(blas.dsyr2(-1.0, np.ones(len(K)), offset, a=K, lower=1, overwrite_a=1))
        K = np.zeros((len(X), len(X)), order="F")
        for columns in _column_blocks(features, len(X)):
            block = np.asfortranarray(X[:, columns], dtype=np.float64)
            block -= mean[columns]
            block *= np.sqrt(w[columns])
            add_gram(K, block)
        return K

    def project(self, V: np.ndarray, mean: np.ndarray) -> Any:
        """(X - 1 mean') V."""
        if sparse.issparse(self.rows):
            return np.asarray(self.rows @ V - mean @ V)
        image = np.empty((self.shape[0], *V.shape[1:]))
        for rows, block in self.centred_blocks(mean):
            image[rows] = block @ V
        return image

    def centred_blocks(self, mean: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Dense rows minus ``mean`` in float64, block by block in one buffer that the caller may change."""
        buffer = None
        for rows in row_blocks(self.rows):
            if buffer is None:
                buffer = np.empty((rows.stop, self.shape[1]))
            block = buffer[: rows.stop - rows.start]
            np.subtract(self.rows[rows], mean, out=block)
            yield rows, block


def largest(values: np.ndarray) -> float:
    """The largest magnitude, without a copy; 0 if there are no values."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def n_stored(rows: Any) -> int:
    """How many numbers rows store: dense rows all, sparse rows those of their entries."""
    return int(rows.nnz) if sparse.issparse(rows) else int(rows.size)


def row_blocks(X: Any, n_values: int | None = None) -> Iterator[slice]:
    """Slices of rows with about this number of values; None: 4 MiB in float64."""
    step = max(1, (n_values or _BLOCK_VALUES) // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        yield slice(first, min(first + step, X.shape[0]))


def fill_rows(out: np.ndarray, values: Callable[[slice], np.ndarray], n_jobs: int | None) -> np.ndarray:
    """Write ``values(part)`` to ``out[part]`` for each of its `row_blocks`, on several threads where there are many."""

    def fill(part: slice) -> None:
        out[part] = values(part)

    n_threads = worthwhile_threads(check_n_jobs(n_jobs), out.size, _BLOCK_VALUES)
    deque(in_threads(fill, row_blocks(out), n_threads), maxlen=0)
    return out


def _column_blocks(columns: np.ndarray, n_rows: int) -> list[np.ndarray]:
    """The numbers of these columns in parts of about 32 MiB in float64."""
    return np.array_split(columns, 1 + n_rows * len(columns) // (8 * _BLOCK_VALUES))


def without_offsets(X: Any, mean: np.ndarray) -> tuple[Any, np.ndarray]:
    """Sparse rows, and what is left of ``mean``, once columns without a zero have it subtracted.

    Squares of these columns would otherwise lose the digits that squares of a large offset take.  A column with a zero
    has no offset that is large beside its spread.
    """
    stored = np.bincount(X.indices, minlength=X.shape[1])
    offset = np.where(stored == X.shape[0], mean, 0.0)
    if offset.any():
        X = sparse.csr_array((X.data - offset[X.indices], X.indices, X.indptr), shape=X.shape)
    return X, mean - offset


def scale_columns(rows: Any, scale: np.ndarray) -> Any:
    """rows diag(scale) in the dtype of the rows; columns of 0 stay, so that distances sum in the same order."""
    scale = scale.astype(rows.dtype)
    if not sparse.issparse(rows):
        return rows * scale
    return sparse.csr_array((rows.data * scale[rows.indices], rows.indices, rows.indptr), shape=rows.shape)


# ---------------------------------------------------------------- labels


def centred_over_known(Y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """P_c y_c: each label minus its mean over the rows K_c where it is known, and 0 elsewhere.

    X' times the result is sum_{i in K_c} (x_i - mean_c x)(y_ic - mean_c y): its columns sum to 0 over K_c, so
    any mean of x cancels.
    """
    mean = np.where(known, Y, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, Y - mean, 0.0)


def varies_over_known(Y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Whether two known entries of a label differ (n_labels,)."""
    return np.where(known, Y, -np.inf).max(axis=0) > np.where(known, Y, np.inf).min(axis=0)


def compress_labels(F: np.ndarray) -> Any:
    """F in CSR where that makes its products faster, otherwise F itself."""
    if F.ndim != 2 or np.count_nonzero(present := F != 0) >= _THIN * F.size:
        return F
    flat = np.flatnonzero(present)  # a seventh of the time that SciPy takes to look at the numbers themselves
    starts = np.searchsorted(flat, F.shape[1] * np.arange(len(F) + 1))
    return sparse.csr_array((F[present], flat % F.shape[1], starts), shape=F.shape)


def label_gram(F: np.ndarray) -> np.ndarray:
    """F'F of shape (n_labels, n_labels)."""
    factor = compress_labels(F)
    G = factor.T @ factor
    return G.toarray() if sparse.issparse(G) else np.asarray(G)


def symmetric(lower: np.ndarray) -> np.ndarray:
    """The symmetric matrix of which only the lower triangle is given, with zeros above."""
    return lower + np.tril(lower, -1).T


def add_gram(S: np.ndarray, V: np.ndarray, share: float = 1.0) -> None:
    """S += share V V' in the lower triangle of S, in place: half the work of a product.

    S in Fortran order; V too, or it is copied.
    """
    add_products(S, np.asfortranarray(V, dtype=np.float64), share)


def sparse_gram(A: Any, weights: np.ndarray) -> np.ndarray:
    """A diag(weights) A' of CSC A, by its lower triangle, in Fortran order, with zeros above.

    Columns that are filled to more than a twentieth are multiplied as a dense matrix.  On text this takes a third to
    two thirds of the time of one sparse product (with .02 and .1 as long).
    """
    thin = np.diff(A.indptr) <= _THIN * A.shape[0]
    sparse_columns = A[:, thin]
    S = sparse.tril(sparse_columns @ sparse.diags_array(weights[thin]) @ sparse_columns.T).toarray(order="F")
    for columns in _column_blocks(np.flatnonzero(~thin), A.shape[0]):
        block = A[:, columns].astype(np.float64).toarray(order="F")
        block *= np.sqrt(weights[columns])
        add_gram(S, block)
    return S


def constant_columns(F: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Mask of the columns that hold nothing but ``value``."""
    start = (F[:50] == value).all(axis=0)  # mostly False, and often for every column
    return np.logical_and.reduce([(F[part] == value).all(axis=0) for part in row_blocks(F)]) if start.any() else start
