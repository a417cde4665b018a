"""Labels of any form as numbers: what a list, a frame, a sparse or a masked matrix holds, with NaN for unknown.

The rule for these numbers stands in labels.py.
"""

from typing import Any

import numpy as np
from scipy import sparse

from .._errors import InputError
from .arguments import refuse_broken
from .cells import describe_bad_cell, is_null, read_label_words, refuse_lazy
from .words import LABEL_WORDS


def check_mask(labeled: Any, n_samples: int, n_labels: int | None = None, name: str = "labeled") -> np.ndarray:
    """``labeled`` as a boolean array with one entry per row, or one per row and label where there are labels."""
    mask = np.asarray(labeled)
    shapes = [(n_samples,)] if n_labels is None else [(n_samples,), (n_samples, n_labels)]
    if mask.shape not in shapes or mask.dtype != np.bool_:
        accepted = " or ".join(map(str, shapes))
        raise InputError(f"{name} must be a boolean array of shape {accepted}, got shape {mask.shape} of {mask.dtype}.")
    return mask


def to_dense(array: Any) -> np.ndarray:
    """The array that a sparse matrix, frame or list stands for."""
    if sparse.issparse(array):
        refuse_broken(array, "the sparse label matrix")
        array = array.toarray()
    return np.asarray(array)


def label_array(y: Any, name: str) -> np.ndarray:
    """As `to_dense`, with NaN or None for what is masked."""
    if isinstance(y, np.ma.MaskedArray):
        if y.ndim == 2 and y.dtype.kind in "biuf":  # as objects they would take a hundred times as long
            return np.asarray(np.ma.filled(y.astype(np.float64), np.nan))
        cells = y.data.astype(object)
        cells[np.ma.getmaskarray(y)] = None
        return cells
    refuse_lazy(y, name)
    try:
        values = to_dense(y)
    except InputError:
        raise
    except ValueError:
        raise InputError(f"{name} has rows of different lengths; give one column of 0/1 per label.") from None
    if values.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} has dtype {values.dtype}; pass real numbers.")
    return values


def numbers_or_nan(y: Any, name: str, *, labeled: Any = None, copy: bool = True, warn: bool = False) -> np.ndarray:
    """Numbers as float64, with NaN for what is null or masked; words for yes and no are 1 and 0.

    Cells that are not ``labeled`` may hold anything. With ``warn`` it is said how rows without any cross are read.
    """
    values = label_array(y, name)
    if labeled is not None and values.ndim == 2 and values.dtype.kind not in "biuf":
        values = values.astype(object)
        values[~check_mask(labeled, *values.shape)] = None
    if values.ndim == 2:
        values = read_label_words(y, values, name, warn=warn)
    try:
        if values.dtype.kind in "mM":
            raise TypeError("times")
        if values.dtype.kind in "OT":
            values = np.where(is_each_null(values), np.nan, values)
        return np.asarray(values.astype(np.float64, copy=copy))
    except (TypeError, ValueError):
        cell = describe_bad_cell(y, values, LABEL_WORDS) if values.ndim == 2 else ""
        fault = f"but {cell}" if cell else f"got dtype {values.dtype}"
        advice = "turn label names into columns: give each row's names as a set, or use MultiLabelBinarizer"
        raise InputError(f"{name} must be a 0/1 array of shape (n_samples, n_labels), {fault}; {advice}.") from None


is_each_null = np.vectorize(is_null, otypes=[np.bool_])


def refuse_minus_one(name: str, row: Any) -> None:
    """An error for labels that are coded -1 and +1."""
    raise InputError(f"{name} contains -1 and +1 (row {row}), but -1 means unknown; write 0 for no: ({name} + 1) // 2.")


def refuse_no_labels(labeled: np.ndarray, name: str) -> None:
    """An error if no row is labelled."""
    if not labeled.any():
        raise InputError(f"{name} has no labelled row; label some (in cross-validation, split by LabeledRowsSplit).")
