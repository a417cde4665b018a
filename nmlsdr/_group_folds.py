"""Folds that keep groups of rows together, such as all visits of one patient.

Rows of one group resemble each other, and often have the same labels. A row that is predicted by a model which saw
others of its group looks easier than a row of a new group is, so that scores out of fold are too good, and a label
error which all rows of a group share cannot be found. The folds are those of scikit-learn's ``GroupKFold``: the largest
groups first, each into the fold that has the fewest rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import InputError

Groups = NDArray[np.intp] | None  #: a number for each row, equal in rows that stay together; None: every row by itself


def check_groups(groups: Any, n_samples: int) -> Groups:
    """The numbers of the groups of rows; None if there are no groups.

    Raises
    ------
    InputError
        If there is not one group for each row, or if a row has none.
    """
    if groups is None:
        return None
    names = np.asarray(groups)
    if names.ndim != 1 or len(names) != n_samples:
        raise InputError(f"groups has the shape {names.shape}, but there are {n_samples} rows; give one for each row.")
    is_missing = np.array([name is None or name != name for name in names.tolist()])
    if is_missing.any():
        row = int(np.argmax(is_missing))
        raise InputError(f"groups is missing for row {row}; give each row a group, a row by itself one of its own.")
    try:
        return np.unique(names, return_inverse=True)[1].astype(np.intp)
    except TypeError:
        raise InputError(
            "groups holds values of several types, such as numbers and texts; convert them to texts."
        ) from None


def labeled_groups(groups: Groups, labeled: NDArray[np.bool_]) -> Groups:
    """The groups of the labelled rows; None if no two of these are of one group.

    Raises
    ------
    InputError
        If all labelled rows are of one group, so that no fold can be predicted by the others.
    """
    if groups is None or not labeled.any():
        return None
    numbers = groups[labeled]
    n_groups = len(np.unique(numbers))
    if n_groups == len(numbers):
        return None
    if n_groups == 1:
        raise InputError(
            f"All {len(numbers)} labelled rows are of one group, so none can be held out; label rows of other "
            "groups, or leave the groups (--id) out."
        )
    return numbers


def draw_folds(
    permutation: NDArray[np.intp], n_splits: int, order: NDArray[np.intp], groups: Groups
) -> NDArray[np.intp]:
    """The fold of each row by a random permutation of the rows in ``order``; rows of one group are in one fold."""
    if groups is not None:
        return group_folds(groups, n_splits, order[permutation])
    folds = np.empty(len(order), dtype=np.intp)
    folds[order] = permutation % min(n_splits, len(order))
    return folds


def group_folds(groups: NDArray[np.intp], n_splits: int, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """The fold of each row, by scikit-learn's GroupKFold.

    Parameters
    ----------
    groups : ndarray of shape (n_samples,)
        Of two groups or more.
    n_splits : int
        Number of folds; at most as many as groups are used.
    rows : ndarray of shape (n_samples,)
        All row numbers in a random order by content. Of groups of one size that comes first whose row comes first, so
        that the folds depend neither on the order of the file nor on the names of the groups.

    Returns
    -------
    ndarray of shape (n_samples,), intp

    Examples
    --------
    >>> group_folds(np.array([7, 7, 7, 4, 9, 9]), 2, np.arange(6)).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    from sklearn.model_selection import GroupKFold  # whose module takes long to load

    _, first, numbers = np.unique(groups[rows], return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    folds = np.empty(len(rows), dtype=np.intp)
    splits = GroupKFold(min(n_splits, len(first))).split(rows, groups=place[numbers])
    for fold, (_, tested) in enumerate(splits):
        folds[rows[tested]] = fold
    return folds
