"""Label noise and missing labels, as the article's experiments add them (section 4.5)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks.arguments import check_real
from .._checks.labels import check_entries
from ._random import FLIP, MASK, generator

UNLABELED = -1


def flip_labels(Y: ArrayLike, p: float, *, random_state: Any = None) -> NDArray[np.int64]:
    """Flip each label entry with probability `p`, independently of the others (article, sections 4.4 and 4.5).

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Labels, 0 or 1; an unknown entry (-1) does not change.
    p : float
        Probability, in [0, 1], that an entry changes from 0 to 1 or from 1 to 0.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the random numbers. An integer gives the same result in every call; None gives another one each time.
        Random numbers are drawn for unknown entries too, so the flipped entries are the same whether labels are
        masked before or after flipping.

    Returns
    -------
    ndarray of shape (n_samples, n_labels), int64
        A new array; `Y` does not change.

    Raises
    ------
    ValueError
        If `Y` is not a 2-D array of 0, 1 and -1, or `p` is outside [0, 1].

    Examples
    --------
    >>> from nmlsdr.datasets import flip_labels
    >>> flip_labels([[0, 1], [-1, -1]], p=1)
    array([[ 1,  0],
           [-1, -1]])
    """
    labels, known = _labels(Y)
    p = check_real(p, "p", 0.0, 1.0)
    flip = generator(random_state, FLIP).random(labels.shape) < p
    flip &= known
    return np.where(flip, 1 - labels, labels)


def mask_labels(Y: ArrayLike, fraction: float, *, random_state: Any = None) -> NDArray[np.int64]:
    """Keep the labels of a random part of the rows; the other rows become unlabelled, which is a row of -1.

    Of the n labelled rows of `Y`, exactly ``round(fraction * n)`` keep their labels. Python rounds a half to the even
    number. With the same seed, the rows kept at a small fraction are among those kept at a larger one.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Labels, 0 or 1, and -1 for unknown entries. Rows of -1 are unlabelled already; they do not change and are not
        counted.
    fraction : float
        Share of the labelled rows that stay labelled, in [0, 1].
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the random numbers. An integer gives the same result in every call; None gives another one each time.

    Returns
    -------
    ndarray of shape (n_samples, n_labels), int64
        A new array with rows of `Y` and rows of -1. ``(result != -1).all(axis=1)`` is True for the labelled rows, if
        every entry of `Y` is known.

    Raises
    ------
    ValueError
        If `Y` is not a 2-D array of 0, 1 and -1, or `fraction` is outside [0, 1].

    Examples
    --------
    >>> from nmlsdr.datasets import mask_labels
    >>> Y = [[0, 1], [1, 1], [0, 0], [1, 0]]
    >>> masked = mask_labels(Y, fraction=0.5, random_state=0)
    >>> int((masked != -1).all(axis=1).sum())
    2
    """
    masked, known = _labels(Y)
    fraction = check_real(fraction, "fraction", 0.0, 1.0)
    labeled = np.flatnonzero(known.any(axis=1))
    order = generator(random_state, MASK).permutation(labeled)
    masked[order[round(fraction * labeled.size) :]] = UNLABELED
    return masked


def _labels(Y: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A copy of the labels with -1 for unknown entries, and the known entries."""
    values, known = check_entries(Y, name="Y")
    return np.where(known, values, UNLABELED).astype(np.int64), known
