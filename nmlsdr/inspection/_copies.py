"""Rows that stand in a table several times: judged once, and not by their own copies."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._row_checks import hash_rows

_LARGEST_DISAGREEMENT = 0.1  # of copies, as a share of that of rows at random


def find_copies(table: Any, y: NDArray[Any]) -> NDArray[np.intp]:
    """Return for each row the first row that it is a copy of: itself, or one with the same cells and labels.

    Rows with equal cells are copies only if their labels nearly always agree. In a table of a few categories many rows
    are equal by chance, and each has labels of its own, which are evidence. So the labelled rows that equal each other
    must have different labels at most a tenth as often as two rows at random; otherwise each row counts.

    Parameters
    ----------
    table : dict of str to (Numbers or Texts), DataFrame, array or sparse matrix of n rows
        As for `check_rows`.
    y : ndarray of shape (n, n_labels)
        The labels as they were given, -1 for unknown ones.

    Returns
    -------
    ndarray of shape (n,), intp

    Examples
    --------
    >>> find_copies([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]], np.array([[0], [1], [0]])).tolist()
    [0, 1, 0]
    """
    n = len(y)
    cells = hash_rows(table, n)
    labels = np.unique(hash_rows(y, n), return_inverse=True)[1]
    order = np.lexsort((cells,))
    same_cells = np.append(False, np.diff(cells[order]) == 0) if n else np.zeros(0, dtype=bool)
    labeled = (y != -1).any(axis=1)
    second = np.flatnonzero(same_cells)
    pairs = np.column_stack([order[second - 1], order[second]])
    pairs = pairs[labeled[pairs].all(axis=1)]
    alone = np.arange(n)
    if not len(pairs):
        return alone
    shares = np.bincount(labels[labeled]) / labeled.sum()
    disagreement = (labels[pairs[:, 0]] != labels[pairs[:, 1]]).mean()
    if disagreement > _LARGEST_DISAGREEMENT * (1.0 - (shares**2).sum()):
        return alone
    _, first, place = np.unique(np.column_stack([cells, labels]), axis=0, return_index=True, return_inverse=True)
    return first[place.ravel()]


def spread_verdicts(verdicts: NDArray[Any], first: NDArray[np.intp]) -> NDArray[Any]:
    """Return the verdicts, in which those on a row count for its copies too, unless they have others of their own.

    Examples
    --------
    >>> spread_verdicts(np.array([[1], [-1], [-1]]), np.array([0, 1, 0])).ravel().tolist()
    [1, -1, 1]
    """
    ranks = np.where(verdicts == -2, 2, verdicts)  # 0, 1, or 2 if a person could not tell; -1 without a verdict
    highest = np.full_like(verdicts, -1)
    lowest = np.full_like(verdicts, 3)
    np.maximum.at(highest, first, ranks)
    np.minimum.at(lowest, first, np.where(ranks == -1, 3, ranks))
    agreed = np.where(highest == lowest, np.where(highest == 2, -2, highest), -1)[first]
    return np.where(verdicts == -1, agreed, verdicts)
