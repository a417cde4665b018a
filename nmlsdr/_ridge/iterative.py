r"""Ridge regressions by conjugate gradients, for systems that are too large or too many to be factored.

For each label, B solves S'(P S B) + lambda B = S'(P Y), where S are the weighted, centred rows, and P centres a label
over its known rows and puts 0 elsewhere.

Labels are solved in blocks, each label with steps of its own, and a thread owns a block: what a label becomes does
not depend on the number of threads.  The vectors of a block of `_WIDTH` labels stay in the cache, where each iteration
reads them some ten times.  Features without weight take no part.

The preconditioner is the Gram matrix of the rows, each weighted by the share of labels that are known in it, if that is
wanted: the matrix of each label is near it.  Otherwise it is the diagonal of the system, which saves a quarter of the
iterations on words.

Where most rows have all labels and some have a few, as after single answers, a product with the dense rows that have
all labels is one with their Gram matrix, which is the same for every label.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .._label_sums import LabelSet
from .._lapack import add_row_products
from .._moments import RowSums, symmetric, without_offsets
from .._process.threads import in_threads

# A label is solved when its residual is at most this share of its right-hand side.
_TOLERANCE = 1e-8
# No system needs as many: 12 to 65 iterations were seen.
_MOST_ITERATIONS = 10_000
# Labels of a block of sparse rows.  Dense rows are read once an iteration, for all labels.
_WIDTH = 16
_TINY = np.finfo(np.float64).tiny


class PartlyKnownRows:
    """Rows whose labels are partly known, and the Gram matrices of their features that all strengths and weights share.

    Attributes
    ----------
    X : RowSums of shape (n_samples, n_features)
    known : ndarray of shape (n_samples, n_labels), bool, or None
        The entries that are known; None: all.
    mean : ndarray of shape (n_features,)
        Of the rows, each weighted by the share of labels that are known in it.
    gram : ndarray of shape (n_features, n_features), or None
        About this mean, with these weights, by its lower triangle; None where no preconditioner is wanted.
    gram_of_complete : ndarray of shape (n_features, n_features), or None
        About this mean, of the rows where all labels are known; None where products with the rows are cheaper.
    incomplete : ndarray of shape (n_samples,), bool
        The other rows.
    """

    def __init__(self, X: RowSums, known: np.ndarray | None, *, preconditioned: bool) -> None:
        self.X = X
        self.known = known
        self.gram: np.ndarray | None = None
        self.gram_of_complete: np.ndarray | None = None
        if known is None or not preconditioned:
            return
        shares = known.mean(axis=1)
        self.mean = X.cross_moment(shares, np.zeros(X.shape[1])) / max(shares.sum(), _TINY)
        complete = np.asarray(known.all(axis=1))
        if X.is_sparse or 2 * np.count_nonzero(complete) < X.shape[1]:
            complete[:] = False
        self.incomplete = ~complete
        self.gram = X.take(self.incomplete).gram(self.mean, shares[self.incomplete])
        if complete.any():
            lower = X.take(complete).gram(self.mean)
            self.gram += lower
            self.gram_of_complete = symmetric(lower)


# (system of some labels, without lambda) B + out, added to out
_Product = Callable[[np.ndarray, np.ndarray], np.ndarray]


class WeightedSystems:
    """The systems of all labels for one choice of feature weights, to be solved for several strengths.

    Parameters
    ----------
    partly : PartlyKnownRows
    sets : list of LabelSet
        The labels by the rows where they are known.
    w : ndarray of shape (n_features,)
        Weights of the features, each 0 or more.
    """

    def __init__(self, partly: PartlyKnownRows, sets: list[LabelSet], w: np.ndarray) -> None:
        X = partly.X
        columns = np.flatnonzero(w)
        root = np.sqrt(w[columns])[:, None]
        self._shape = X.shape[1], sum(len(each.labels) for each in sets)
        self._width = _WIDTH if X.is_sparse else max(1, self._shape[1])
        self._sets = sets
        self._w = w
        self._columns = columns
        self._root = root
        self._gram = None if partly.gram is None else _weighted(partly.gram, columns, root)
        if partly.gram_of_complete is None:
            self._product_of = partial(_product_by_rows, weighted_rows(X, columns, root), partly.known)
        else:
            gram = _weighted(partly.gram_of_complete, columns, root)
            self._product_of = partial(_product_by_gram, gram, partly, sets, columns, root)

    def solve(self, levels: list[float], n_threads: int = 1) -> np.ndarray:
        """w^1/2 B (n_features, n_labels) of all labels.

        Parameters
        ----------
        levels : list of float
            lambda of each set; 0 if nothing varies, and then B is 0.
        n_threads : int
            Number of threads; it does not change the result.
        """
        n_labels = self._shape[1]
        level, right, diagonal = _systems(self._sets, levels, self._w, self._columns, self._root, n_labels)
        factor = None if self._gram is None else _factor(self._gram, level.mean())
        V = np.zeros(self._shape)

        def solve_labels(part: slice) -> None:
            inverse = 1.0 / diagonal[:, part]
            add_product = self._product_of(part)

            def multiply(B: np.ndarray) -> np.ndarray:
                return add_product(B, level[part] * B)

            def precondition(R: np.ndarray) -> np.ndarray:
                return R * inverse if factor is None else linalg.cho_solve(factor, R, check_finite=False)

            V[self._columns, part] = self._root * _solve_block(multiply, precondition, right[:, part])

        parts = [slice(first, first + self._width) for first in range(0, n_labels, self._width)]
        list(in_threads(solve_labels, parts, n_threads))
        return V


def _product_by_rows(rows: _SparseRows | _DenseRows, known: np.ndarray | None, part: slice) -> _Product:
    """The products of the systems of some labels, from one pass over the rows and one over their transpose."""
    mask = None if known is None else known[:, part].astype(np.float64)
    counts = None if mask is None else np.maximum(mask.sum(axis=0), 1.0)

    def add_product(B: np.ndarray, out: np.ndarray) -> np.ndarray:
        image = rows.times(B)
        if mask is not None:
            image *= mask  # `centred_over_known` in place, with counts that no iteration changes
            image -= mask * (image.sum(axis=0) / counts)
        return rows.transposed_times(image, out)

    return add_product


def _product_by_gram(
    gram: np.ndarray,
    partly: PartlyKnownRows,
    sets: list[LabelSet],
    columns: np.ndarray,
    root: np.ndarray,
    part: slice,
) -> _Product:
    """The same from the weighted Gram matrix of the rows that have all labels, and passes over the others.

    Both are about one mean.  What is subtracted centres a label over its known rows.
    """
    assert partly.known is not None
    incomplete_rows = _DenseRows(partly.X.take(partly.incomplete), columns, root, partly.mean)
    mask = partly.known[partly.incomplete, part].astype(np.float64)
    counts = partly.known[:, part].sum(axis=0)
    means = np.zeros((len(partly.mean), partly.known.shape[1]))
    for each in sets:
        means[:, each.labels] = (each.mean - partly.mean)[:, None]
    distance = root * means[columns, part]

    def add_product(B: np.ndarray, out: np.ndarray) -> np.ndarray:
        out += gram @ B
        incomplete_rows.transposed_times(mask * incomplete_rows.times(B), out)
        out -= distance * (counts * dots(distance, B))
        return out

    return add_product


def _systems(
    sets: list[LabelSet], levels: list[float], w: np.ndarray, columns: np.ndarray, root: np.ndarray, n_labels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """lambda (n_labels,), right-hand side and diagonal (n_weighted_features, n_labels) of the system of each label."""
    level = np.ones(n_labels)
    right = np.zeros((len(columns), n_labels))
    diagonal = np.ones((len(columns), n_labels))
    for each, value in zip(sets, levels, strict=True):
        if value > 0:
            level[each.labels] = value
            right[:, each.labels] = root * each.moment[columns]
            diagonal[:, each.labels] = (w * each.squares)[columns, None] + value
    return level, right, diagonal


def _weighted(gram: np.ndarray, columns: np.ndarray, root: np.ndarray) -> np.ndarray:
    """The Gram matrix of the weighted features from that of all features."""
    return np.asarray(gram[np.ix_(columns, columns)] * (root * root.T))


def _factor(gram: np.ndarray, level: float) -> Any:
    """The Cholesky factor of a Gram matrix plus the level."""
    shifted = gram.copy()
    shifted[np.diag_indices_from(shifted)] += level
    return linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)


def _solve_block(
    multiply: Callable[[np.ndarray], np.ndarray], precondition: Callable[[np.ndarray], np.ndarray], right: np.ndarray
) -> np.ndarray:
    """The solutions of some labels, one column each, until the residual of every label is small."""
    B = np.zeros(right.shape)
    R = right.copy()
    change = np.empty(right.shape)
    goal = _TOLERANCE**2 * dots(R, R)
    Z = precondition(R)
    P = Z.copy()
    energy = dots(R, Z)
    for _ in range(_MOST_ITERATIONS):
        if (dots(R, R) <= goal).all():
            break
        image = multiply(P)
        step = energy / np.maximum(dots(P, image), _TINY)
        B += np.multiply(step, P, out=change)
        image *= step
        R -= image
        Z = precondition(R)
        before = energy
        energy = dots(R, Z)
        P *= energy / np.maximum(before, _TINY)
        P += Z
    return B


def dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The inner product of each column of A with that of B."""
    return np.einsum("ij,ij->j", A, B)


def weighted_rows(X: RowSums, columns: np.ndarray, root: np.ndarray) -> _SparseRows | _DenseRows:
    """The weighted, centred rows of these columns; ``root`` (n_columns, 1) are the roots of their weights."""
    return _SparseRows(X, columns, root) if X.is_sparse else _DenseRows(X, columns, root)


def project(X: RowSums, V: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """(X - 1 mean') V, in a new array; of sparse rows by our own kernel."""
    if not X.is_sparse:
        return np.asarray(X.project(V, mean))
    image = np.empty((X.shape[0], V.shape[1]))
    image[:] = -(mean @ V)
    return _add_product(X.rows, V, image)


class _SparseRows:
    """Weighted CSR rows S and their transpose, in CSR too; a column without a zero is centred."""

    def __init__(self, X: RowSums, columns: np.ndarray, root: np.ndarray) -> None:
        rows = without_offsets(X.rows, X.means())[0][:, columns]
        data = rows.data * root[rows.indices, 0]
        self.rows = sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
        self.columns = sparse.csr_array(self.rows.T)
        self.mean = RowSums(self.rows).means()

    def times(self, B: np.ndarray) -> np.ndarray:
        """The rows minus their mean, times B."""
        image = np.empty((self.rows.shape[0], B.shape[1]))
        image[:] = -(self.mean @ B)
        return _add_product(self.rows, B, image)

    def transposed_times(self, image: np.ndarray, out: np.ndarray) -> np.ndarray:
        """``out`` plus S' image, whose columns sum to 0."""
        return _add_product(self.columns, image, out)


class _DenseRows:
    """Weighted dense rows, centred about a mean, by default theirs, block by block: a large offset costs no digits."""

    def __init__(self, X: RowSums, columns: np.ndarray, root: np.ndarray, mean: np.ndarray | None = None) -> None:
        self.X = X
        self.columns = columns
        self.root = root
        self.mean = X.means() if mean is None else mean

    def times(self, B: np.ndarray) -> np.ndarray:
        """The rows minus their mean, times B."""
        V = np.zeros((self.X.shape[1], B.shape[1]))
        V[self.columns] = self.root * B
        return np.asarray(self.X.project(V, self.mean))

    def transposed_times(self, image: np.ndarray, out: np.ndarray) -> np.ndarray:
        """``out`` plus S' image."""
        out += self.root * self.X.cross_moment(image, self.mean)[self.columns]
        return out


def _add_product(rows: Any, B: np.ndarray, out: np.ndarray) -> np.ndarray:
    """``out`` plus CSR rows times B."""
    add_row_products(data=rows.data, indices=rows.indices, indptr=rows.indptr, V=np.ascontiguousarray(B), out=out)
    return out
