"""Label noise and missing labels, as the article's experiments add them (section 4.5)."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._random import FLIP, MASK, generator

UNLABELED = -1


def flip_labels(Y: ArrayLike, p: float, *, random_state: Any = None) -> NDArray[np.int64]:
    """Flip each label entry with probability `p`, independently (article, sections 4.4 and 4.5).

    Parameters
    ----------
    Y : array-like (n, C)
        Labels 0/1; a row of -1 is unlabelled and stays as it is.
    p : float in [0, 1]
        Probability that an entry changes from 0 to 1 or from 1 to 0.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the draw.  Unlabelled rows use up draws too, so masking before or after flipping gives the
        same entries on the rows that stay.

    Returns
    -------
    ndarray (n, C), int64
        A new array; `Y` is left alone.

    Raises
    ------
    ValueError
        If `Y` is not a dense 2-D array of 0/1 rows and -1 rows, or `p` is outside [0, 1].

    Examples
    --------
    >>> from nmlsdr.datasets import flip_labels
    >>> flip_labels([[0, 1], [-1, -1]], p=1)
    array([[ 1,  0],
           [-1, -1]])
    """
    Y = _labels(Y)
    p = _share("p", p)
    flip = generator(random_state, FLIP).random(Y.shape) < p
    flip &= Y != UNLABELED
    return np.where(flip, 1 - Y, Y)


def mask_labels(Y: ArrayLike, fraction: float, *, random_state: Any = None) -> NDArray[np.int64]:
    """Keep the labels of a random part of the rows; the others become unlabelled, rows of -1.

    Of the n labelled rows of `Y`, exactly ``round(fraction * n)`` keep their labels (a half is rounded to
    the even number, as Python does).  With the same seed, the rows kept at a small fraction are among those
    kept at a larger one.

    Parameters
    ----------
    Y : array-like (n, C)
        Labels 0/1; rows of -1 are unlabelled already, stay so and are not counted.
    fraction : float in [0, 1]
        Share of the labelled rows that stay labelled.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the draw.

    Returns
    -------
    ndarray (n, C), int64
        A new array: rows of `Y` unchanged, or rows of -1.  ``(result != -1).all(axis=1)`` marks the
        labelled rows.

    Raises
    ------
    ValueError
        If `Y` is not a dense 2-D array of 0/1 rows and -1 rows, or `fraction` is outside [0, 1].

    Examples
    --------
    >>> from nmlsdr.datasets import mask_labels
    >>> Y = [[0, 1], [1, 1], [0, 0], [1, 0]]
    >>> masked = mask_labels(Y, fraction=0.5, random_state=0)
    >>> int((masked != -1).all(axis=1).sum())
    2
    """
    Y = _labels(Y)
    fraction = _share("fraction", fraction)
    labeled = np.flatnonzero((Y != UNLABELED).all(axis=1))
    order = generator(random_state, MASK).permutation(labeled)
    masked = Y.copy()
    masked[order[round(fraction * labeled.size) :]] = UNLABELED
    return masked


def _labels(Y: ArrayLike) -> NDArray[np.int64]:
    """Return labels as int64 (n, C) of 0/1 rows and -1 rows, or raise a ValueError that names the row."""
    if np.ma.isMaskedArray(Y):
        raise ValueError("Y is a masked array; fill its masked rows with -1 first.")
    if hasattr(Y, "toarray"):
        raise ValueError("Y is sparse; pass Y.toarray(), with -1 in the unlabelled rows.")
    given = np.asarray(Y)
    if given.ndim != 2 or given.shape[1] == 0:
        raise ValueError(f"Y has shape {given.shape}; give one row per sample and one column per label.")
    if given.dtype.kind not in "buif":
        raise ValueError(f"Y has dtype {given.dtype}; give numbers 0, 1 and -1.")
    unlabeled = given == UNLABELED
    known = unlabeled | (given == 0) | (given == 1)
    mixed = unlabeled.any(axis=1) & ~unlabeled.all(axis=1)
    if not known.all():
        row, column = np.argwhere(~known)[0]
        raise ValueError(
            f"Y[{row}, {column}] is {given[row, column]}; entries are 0 or 1, and -1 in a row without labels."
        )
    if mixed.any():
        row = np.flatnonzero(mixed)[0]
        raise ValueError(f"Y[{row}] mixes -1 with 0 or 1; an unlabelled row is -1 in every column.")
    return given.astype(np.int64)


def _share(name: str, value: Any) -> float:
    """Return `value` as a float in [0, 1], or raise."""
    if not isinstance(value, numbers.Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name}={value!r} is not a number in [0, 1]; give one.")
    return float(value)
