"""ML-kNN as functions of arrays (Zhang & Zhou, Pattern Recognition 40, 2007; the article, section 3.4).

For every label j, with y_ij the label of training row i and delta_ij the number of its k nearest
*other* training rows that carry j::

    Prior_j = (s + sum_i y_ij) / (2 s + n)
    c_j[d]  = #{i : y_ij = 1, delta_ij = d}        P(d | 1) = (s + c_j[d])  / (s (k + 1) + sum_d c_j[d])
    c'_j[d] = #{i : y_ij = 0, delta_ij = d}        P(d | 0) = (s + c'_j[d]) / (s (k + 1) + sum_d c'_j[d])

    r_j(d)  = Prior_j P(d | 1) / (Prior_j P(d | 1) + (1 - Prior_j) P(d | 0))

r_j depends on the integer d only, so it is evaluated once for each d in 0 .. k: that table is the
model, and a new row looks its posteriors up.  Equal counts give equal bits, which the ranking
measures need: they compare posteriors exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nmlsdr._mlknn as _mlknn

from ._checks.arguments import check_count, check_n_neighbors, check_real, contiguous
from ._checks.labels import check_binary
from ._errors import InputError
from ._process.threads import check_n_jobs, worthwhile_threads

__all__ = ["PosteriorTable", "fit_posterior", "posterior"]

# Labels counted in one kernel call, about 20 ms.  Between calls Python can react to Ctrl-C, and the counts of a block
# (int32) fit into the cache, instead of n_samples x n_labels values.
_LABELS_PER_CALL = 1 << 22
# Labels counted for each thread of a call: so many take 0.1 ms, and waking a thread takes 0.05 ms.
_LABELS_PER_THREAD = 300_000
# The largest smoothing s for which 2 s + n and s (k + 1) do not overflow.
_LARGEST_SMOOTHING = 1e100


@dataclass(frozen=True)
class PosteriorTable:
    """Probabilities that ML-kNN learns, in the notation of the module: Prior_j, P(d | 1), P(d | 0) and r_j(d).

    `fit_posterior` makes it; `look_up` applies it to new rows.

    Parameters
    ----------
    prior : ndarray of shape (n_labels,), float64
        Prior probability of each label, Prior_j.
    with_label, without_label : ndarray of shape (n_labels, n_neighbors + 1), float64
        Probability that d = 0, ..., k neighbours have the label: P(d | 1) for rows with the label and P(d | 0) for
        rows without it. Each row of the arrays sums to 1.
    posterior : ndarray of shape (n_labels, n_neighbors + 1), float64
        Probability r_j(d) that a row has the label if d of its neighbours have it.
    labels : ndarray of shape (n_samples, n_labels), uint8
        Labels of the training rows, 0 or 1: a copy that is not writeable, so that `look_up` need not check them.

    See Also
    --------
    fit_posterior : Learn the table.
    posterior : Look up posteriors with labels that are given with each call.

    Examples
    --------
    >>> table = fit_posterior([[1], [1], [0]], [[1, 2], [0, 2], [1, 0]])
    >>> table.look_up([[0, 2]]).tolist() == posterior(table, [[1], [1], [0]], [[0, 2]]).tolist()
    True
    """

    prior: NDArray[np.float64]
    with_label: NDArray[np.float64]
    without_label: NDArray[np.float64]
    posterior: NDArray[np.float64]
    labels: NDArray[np.uint8] = field(repr=False)

    @property
    def n_neighbors(self) -> int:
        """k, the number of neighbours of every row."""
        return self.posterior.shape[1] - 1

    def look_up(self, indices: Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Posterior probability of every label for rows whose neighbours are known, with the labels of the table.

        `posterior` returns the same numbers, but checks the labels in each call, which takes longer than the rest for
        a few rows.

        Parameters
        ----------
        indices : array-like of shape (n_queries, n_neighbors), int
            Neighbours of each row, as for `posterior`.
        n_jobs : int or None, default=None
            Number of threads, as for `posterior`.

        Returns
        -------
        ndarray of shape (n_queries, n_labels), float64
            Probabilities in [0, 1].

        Raises
        ------
        InputError
            As `posterior`, and if a row has another number of neighbours than the rows of the table.
        """
        rows = _check_indices(indices, len(self.labels))
        if rows.shape[1] != self.n_neighbors:
            raise InputError(
                f"The table was learned from {self.n_neighbors} neighbours of each row, got {rows.shape[1]}; "
                "pass as many."
            )
        return look_up(self.posterior, self.labels, rows, n_jobs)


def fit_posterior(Y: Any, indices: Any, *, smoothing: float = 1.0, n_jobs: int | None = None) -> PosteriorTable:
    """Learn the posteriors from the labels and the neighbours of the training rows.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Labels of the training rows, 0 or 1.
    indices : array-like of shape (n_samples, n_neighbors), int
        Row numbers of the nearest other rows of each row, as ``nmlsdr.graph.kneighbors(X, n_neighbors)`` returns
        them.
    smoothing : float, default=1.0
        Number s added to every count, above 0; 1 is Laplace's rule. A larger value moves the estimated probabilities
        closer to equal ones, which matters most for rare labels.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Returns
    -------
    PosteriorTable
        Prior and posterior probabilities of each label, and the likelihoods from which the posteriors follow.

    Raises
    ------
    ValueError
        If there are not more rows than neighbours, if ``smoothing`` is not positive, if Y has values other than 0 and
        1, or if an index is not the number of another row.

    Examples
    --------
    Three rows on a line; the two neighbours of each are the two others:

    >>> table = fit_posterior([[1], [1], [0]], [[1, 2], [0, 2], [1, 0]])
    >>> table.prior.tolist() == [(1 + 2) / (2 + 3)]
    True
    >>> table.with_label.tolist() == [[1 / 5, 3 / 5, 1 / 5]]     # both labelled rows have one labelled neighbour
    True
    >>> table.without_label.tolist() == [[1 / 4, 1 / 4, 2 / 4]]  # the other row has two
    True
    """
    s = check_real(smoothing, "smoothing", 0.0, _LARGEST_SMOOTHING, low_open=True)
    Y, indices = _check_labels_and_indices(Y, indices)
    n_samples = len(Y)
    n_neighbors = indices.shape[1]
    if len(indices) != n_samples:
        raise InputError(f"indices has {len(indices)} rows, but Y has {n_samples}; give the neighbours of every row.")
    check_n_neighbors(n_neighbors, n_samples, exclude_self=True)
    itself = (indices == np.arange(n_samples)[:, None]).any(axis=1)
    if itself.any():
        raise InputError(f"Row {int(np.argmax(itself))} is among its own neighbours; remove it: only other rows count.")
    histogram = np.zeros((2, Y.shape[1], n_neighbors + 1), dtype=np.int64)
    for part, delta, n_threads in _counts(Y, indices, n_jobs):
        _mlknn.label_histogram(Y[part], delta, histogram, n_threads)
    prior = np.empty(Y.shape[1])
    with_label, without_label, table = (np.empty((Y.shape[1], n_neighbors + 1)) for _ in range(3))
    _mlknn.posterior_tables(histogram, s, prior, with_label, without_label, table)
    labels = Y.copy()
    labels.flags.writeable = False
    return PosteriorTable(prior, with_label, without_label, table, labels)


def posterior(table: PosteriorTable, Y: Any, indices: Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Posterior probability of every label for rows whose neighbours are known.

    Parameters
    ----------
    table : PosteriorTable
        Result of `fit_posterior`.
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Labels of the training rows, 0 or 1.
    indices : array-like of shape (n_queries, n_neighbors), int
        Row numbers of the nearest training rows of each query, as many as in `fit_posterior`.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Returns
    -------
    ndarray of shape (n_queries, n_labels), float64
        Posterior probabilities in [0, 1].

    Raises
    ------
    ValueError
        If the number of neighbours or of labels differs from that in `fit_posterior`, or if an index is not a row
        number of Y.

    Examples
    --------
    >>> Y = [[1], [1], [0]]
    >>> table = fit_posterior(Y, [[1, 2], [0, 2], [1, 0]])
    >>> posterior(table, Y, [[0, 2]]).tolist() == [[(3 / 5 * 3 / 5) / (3 / 5 * 3 / 5 + 2 / 5 * 1 / 4)]]
    True
    """
    Y, indices = _check_labels_and_indices(Y, indices)
    table_sizes = (len(table.prior), table.n_neighbors)
    sizes = (Y.shape[1], indices.shape[1])
    if sizes != table_sizes:
        raise InputError(f"The table was learned from {table_sizes} labels and neighbours, got {sizes}; pass as many.")
    return look_up(table.posterior, Y, indices, n_jobs)


def look_up(posteriors: np.ndarray, Y: np.ndarray, indices: np.ndarray, n_jobs: int | None) -> NDArray[np.float64]:
    """`posterior` for checked labels: to check a hundred thousand rows takes longer than to answer a query."""
    indices = contiguous(indices, np.intp)
    scores = np.empty((len(indices), Y.shape[1]))
    for part, delta, n_threads in _counts(Y, indices, n_jobs):
        _mlknn.look_up_posterior(posteriors, delta, scores[part], n_threads)
    return scores


def _check_labels_and_indices(Y: Any, indices: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels as the kernels read them, and indices of their rows."""
    Y = check_binary(Y)
    return Y, _check_indices(indices, len(Y))


def _check_indices(indices: Any, n_samples: int) -> np.ndarray:
    """Row numbers of neighbours, of n_samples rows."""
    rows = np.asarray(indices)
    if rows.ndim != 2 or (rows.dtype.kind not in "iu" and rows.size):
        raise InputError(f"indices must be integers (n_queries, n_neighbors), got {rows.dtype} of shape {rows.shape}.")
    rows = contiguous(rows, np.intp)
    check_count(rows.shape[1], "the number of neighbours")
    if rows.size and (rows.min() < 0 or rows.max() >= n_samples):
        raise InputError(
            f"indices must be rows of Y, 0 to {n_samples - 1}, got {rows.min()} to {rows.max()}; "
            "pass the labels of the rows that were searched."
        )
    return rows


def _counts(Y: np.ndarray, indices: np.ndarray, n_jobs: int | None) -> Iterator[tuple[slice, np.ndarray, int]]:
    """For each block of rows, how many of their neighbours have each label, and the threads worth starting."""
    per_row = max(1, indices.shape[1] * Y.shape[1])
    work = min(per_row * len(indices), _LABELS_PER_CALL)
    n_threads = worthwhile_threads(check_n_jobs(n_jobs), work, _LABELS_PER_THREAD)
    step = max(1, _LABELS_PER_CALL // per_row)
    for first in range(0, len(indices), step):
        part = slice(first, min(first + step, len(indices)))
        delta = np.empty((part.stop - first, Y.shape[1]), dtype=np.int32)
        _mlknn.count_neighbor_labels(Y, indices[part], delta, n_threads)
        yield part, delta, n_threads
