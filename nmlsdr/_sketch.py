"""Trees for hundreds of labels: they are split by a few random sums of the labels, and their leaves hold all of these.

A forest sums every label for every candidate split. Beyond `MOST_LABELS` labels a tree learns `SUMS` sums of them with
random signs instead, drawn anew for each tree (Joly, Geurts and Wehenkel, "Random forests with random projections of
the output space for high dimensional multi-label classification", ECML PKDD 2014). Squares of sums over rows, by
which splits are compared, are on average as large as with all labels.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ._moments import largest
from ._process.threads import in_threads

MOST_LABELS = 256  # of trees that learn the labels themselves, boosted ones too
SUMS = 64
STEPS = 1024  # labels are multiples of 1 / 1024


def sketch(labels: Any, random_state: int, tree: int) -> np.ndarray:
    """Random sums (n_samples, SUMS) of labels (n_samples, n_labels), dense or CSR, in integers of up to 1024."""
    signs = np.random.default_rng([random_state, tree]).choice([-1.0, 1.0], (labels.shape[1], SUMS))
    sums = np.asarray(labels @ signs)
    sums -= sums.mean(axis=0)  # which changes no comparison of splits
    return np.rint(sums * (STEPS / max(1.0, largest(sums))))


def leaf_means(
    leaf_of: Callable[[int, np.ndarray], np.ndarray], draws: np.ndarray, labels: Any, weights: np.ndarray, n_jobs: int
) -> np.ndarray:
    """Mean labels of the drawn rows in each leaf.

    Parameters
    ----------
    leaf_of : callable
        The leaf of each of some rows in a tree; the leaves of a tree follow those of the tree before.
    draws : ndarray of shape (n_trees, n_samples), int32
        How often each tree drew each row.
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        In steps of 1 / 1024.
    weights : ndarray of shape (n_leaves,)
        Number of draws in each leaf.
    n_jobs : int
        Threads.

    Returns
    -------
    ndarray of shape (n_leaves, n_labels), float32
    """
    values = np.empty((len(weights), labels.shape[1]), dtype=np.float32)

    def fill(tree: int) -> None:
        rows = np.flatnonzero(draws[tree])
        leaf = leaf_of(tree, rows)
        part = slice(int(leaf.min()), int(leaf.max()) + 1)
        at = draws[tree, rows].astype(np.float64), (leaf - part.start, np.arange(len(rows)))
        sums = sparse.csr_array(at, shape=(part.stop - part.start, len(rows))) @ labels[rows]
        values[part] = (sums.toarray() if sparse.issparse(sums) else sums) / (STEPS * weights[part, np.newaxis])

    deque(in_threads(fill, range(len(draws)), n_jobs), maxlen=0)
    return values
