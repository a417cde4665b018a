"""The label rule, once: what y may hold, which rows are labelled, and the one check of 0/1.

2-D y has one column per label with entries 0 and 1, and an unlabelled row is a row of -1.  1-D y holds classes, and an
unlabelled row is -1.  Every estimator, measure, splitter and reader asks here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._errors import InputError

__all__ = ["Labels", "check_binary", "check_label_rows", "check_labels", "check_mask", "check_measured", "to_dense"]


@dataclass(frozen=True)
class Labels:
    """Labels that follow the rule: what every estimator works on.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_labels), float64
        0/1; rows that are not labelled are 0.
    labeled : ndarray of shape (n_samples,), bool
    classes : list of ndarray, or ndarray
        One array [0, 1] per label for 2-D y; the sorted classes for 1-D y.
    names : ndarray of str, or None
        Column names of a data frame.
    single : bool
        True for 1-D y: one column of Y per class, each labelled row has exactly one.
    """

    Y: np.ndarray
    labeled: np.ndarray
    classes: Any
    names: np.ndarray | None
    single: bool


def check_labels(y: Any, *, n_samples: int | None = None, labeled: Any = None, name: str = "y") -> Labels:
    """Read labels by the one rule that all estimators share.

    2-D: entries 0/1 (bool, integer or float), a row of -1 is unlabelled, a row of 0 is a labelled row
    without any label.  1-D: one column per class, -1 (or the string "-1") is unlabelled.
    Sparse y is read as the dense array it stands for.  ``labeled`` (bool, one per row) marks the
    labelled rows instead of -1; what the other rows hold is ignored.

    Raises
    ------
    ValueError
        Names the first bad row and the fix: NaN, masked arrays, labels coded -1/+1, other values, rows that
        mix -1 with 0/1, no labelled row at all, or a length other than ``n_samples``.
    """
    if y is None:
        raise InputError(f"requires {name} to be passed, but the target {name} is None.")
    values, names = _dense_labels(y, name), _column_names(y)
    if values.ndim not in (1, 2):
        raise InputError(f"{name} must be 1-D or 2-D, got {values.ndim} dimensions.")
    if n_samples is not None and len(values) != n_samples:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: X has {n_samples} rows, {name} has "
            f"{len(values)}; give one row of {name} per row of X."
        )
    mask = None if labeled is None else check_mask(labeled, len(values))
    if values.ndim == 1:
        return _single_labels(values, mask, name)
    return _multi_labels(values, mask, names, name)


def _dense_labels(y: Any, name: str) -> np.ndarray:
    if isinstance(y, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array; set its masked rows to -1 (unlabelled) with {name}.filled(-1).")
    return to_dense(y)


def _column_names(y: Any) -> np.ndarray | None:
    columns = getattr(y, "columns", None)
    if columns is None or not all(isinstance(column, str) for column in columns):
        return None
    return np.asarray(list(columns), dtype=object)


def check_mask(labeled: Any, n_samples: int) -> np.ndarray:
    """``labeled`` as a boolean array with one entry per row."""
    mask = np.asarray(labeled)
    if mask.shape != (n_samples,) or mask.dtype != np.bool_:
        raise InputError(
            f"labeled must be a boolean array of shape ({n_samples},), got shape {mask.shape} and dtype {mask.dtype}."
        )
    return mask


def check_label_rows(y: Any, *, labeled: np.ndarray | None = None, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """What may stand in 2-D labels: rows of 0/1 and rows of -1.  Returns the numbers and which rows are unlabelled.

    ``labeled`` as in `check_labels`.  There may be no labelled row: whether that is enough is for the caller to say.

    Raises
    ------
    ValueError
        Names the first bad row and the fix.
    """
    values = _dense_labels(y, name)
    if values.ndim != 2:
        raise InputError(
            f"{name} must be 2-D (n_samples, n_labels), got {values.ndim}-D; one label is a column: {name}[:, None]."
        )
    if values.shape[1] == 0:
        raise InputError(f"{name} has no columns; give one column of 0/1 per label.")
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"{name} must be a 0/1 array of shape (n_samples, n_labels), got dtype {values.dtype}; "
                "turn lists of label names into columns with MultiLabelBinarizer first."
            ) from None
    unlabelled = (values == -1).all(axis=1) if labeled is None else ~labeled
    refuse_other_than_zero_one(values, name, unlabelled=unlabelled)
    return values, unlabelled


def check_binary(Y: Any, name: str = "Y") -> np.ndarray:
    """0/1 labels without an unlabelled row, as the kernels read them: C-contiguous uint8 (n_samples, n_labels)."""
    given = to_dense(Y)
    if given.ndim != 2:
        raise InputError(f"{name} must be of shape (n_samples, n_labels), got {given.ndim} dimension(s).")
    if given.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold 0 and 1, got dtype {given.dtype}; convert it to numbers first.")
    refuse_other_than_zero_one(given, name)
    return np.ascontiguousarray(given, dtype=np.uint8)


def refuse_other_than_zero_one(values: np.ndarray, name: str, *, unlabelled: np.ndarray | None = None) -> None:
    """THE check of 0/1: raise for the first entry that is neither, in a row that is not in ``unlabelled``."""
    good = (values == 0) | (values == 1)
    if unlabelled is not None:
        good |= unlabelled[:, None]
    if good.all():
        return
    row, label = (int(i) for i in np.argwhere(~good)[0])
    value, where = float(values[row, label]), f"row {row}, label {label}"
    if unlabelled is None and (value == -1 or np.isnan(value)):
        raise InputError(f"{name} must hold 0 and 1 only, got {value:g} in {where}; drop the unlabelled rows.")
    if np.isnan(value):
        raise InputError(f"{name} contains NaN in {where}; an unlabelled row is a row of -1.")
    if _is_plus_minus_one(values):
        raise InputError(
            f"{name} codes labels as -1/+1 ({where}); code an absent label as 0, for example (y + 1) // 2, "
            "and an unlabelled row as a row of -1."
        )
    if value == -1:
        raise InputError(
            f"{name} mixes -1 with other values in row {row}; "
            "a row is unlabelled as a whole (all -1) or holds 0/1 only."
        )
    rule = "0 and 1 only" if unlabelled is None else "0, 1 or rows of -1"
    raise InputError(f"{name} must hold {rule}, got {value:g} in {where}; threshold or encode it first.")


def _is_plus_minus_one(values: np.ndarray) -> bool:
    """Whether the labels are coded as -1 and +1: both occur, and nothing else."""
    present, absent = values == 1, values == -1
    return bool((present | absent).all() and present.any() and absent.any())


def _multi_labels(y: Any, mask: np.ndarray | None, names: np.ndarray | None, name: str) -> Labels:
    values, unlabelled = check_label_rows(y, labeled=mask, name=name)
    if values.shape[1] == 1 and _is_plus_minus_one(values):
        raise InputError(
            f"{name} holds only -1 and +1 (first at row 0), where -1 would mean unlabelled; "
            "code an absent label as 0: (y + 1) // 2."
        )
    _refuse_no_labels(~unlabelled, name)
    Y = np.where(unlabelled[:, None], 0.0, values)
    classes = [np.array([0, 1]) for _ in range(values.shape[1])]
    return Labels(Y, ~unlabelled, classes, names, single=False)


def _single_labels(values: np.ndarray, mask: np.ndarray | None, name: str) -> Labels:
    if values.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} has dtype {values.dtype}.")
    if values.dtype.kind == "f":
        kept = np.ones(len(values), dtype=bool) if mask is None else mask
        if not np.isfinite(values[kept]).all():
            row = int(np.argmin(np.isfinite(values) | ~kept))
            raise InputError(f"{name} contains NaN or infinity in row {row}; an unlabelled row is -1.")
        if (values[kept] != np.floor(values[kept])).any():
            row = int(np.argmax((values != np.floor(values)) & kept))
            raise InputError(
                f"Unknown label type: continuous, {name} is {values[row]} in row {row}; give class labels."
            )
    unlabelled = _is_minus_one(values, name) if mask is None else ~mask
    _refuse_no_labels(~unlabelled, name)
    try:
        classes, codes = np.unique(values[~unlabelled], return_inverse=True)
    except TypeError:
        raise InputError(f"{name} mixes types that cannot be ordered; use only strings or only numbers.") from None
    if mask is None and unlabelled.any() and len(classes) == 1 and classes[0] == 1:
        raise InputError(
            f"{name} holds only -1 and +1 (first -1 at row {int(np.argmax(unlabelled))}), where -1 means unlabelled; "
            "code the two classes as 0 and 1: (y + 1) // 2."
        )
    Y = np.zeros((len(values), len(classes)))
    Y[np.flatnonzero(~unlabelled), codes] = 1.0
    return Labels(Y, ~unlabelled, classes, None, single=True)


def _is_minus_one(values: np.ndarray, name: str) -> np.ndarray:
    if values.dtype.kind in "US":
        return values == ("-1" if values.dtype.kind == "U" else b"-1")
    if values.dtype.kind == "O":
        for row, value in enumerate(values):
            if value is None or value != value:
                raise InputError(f"{name} contains NaN or None in row {row}; an unlabelled row is -1.")
        return np.array([value == -1 or (isinstance(value, str) and value == "-1") for value in values], dtype=bool)
    return np.asarray(values == -1)


def _refuse_no_labels(labeled: np.ndarray, name: str) -> None:
    if not labeled.any():
        raise InputError(f"{name} has no labelled row ({len(labeled)} rows, all unlabelled); label some of them.")


# ---------------------------------------------------------------- truth and scores


def check_measured(Y: Any, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the truth as bool and the scores as float64, both (n_samples, n_labels), or raise one sentence."""
    truth, values = _numbers(Y, "Y"), _numbers(scores, "scores")
    if truth.ndim != 2 or values.ndim != 2:
        raise InputError(
            f"Y and scores must be 2-D (n_samples, n_labels), got {truth.ndim}-D and {values.ndim}-D; "
            "one label is a column: Y[:, None]."
        )
    if truth.shape != values.shape:
        raise InputError(f"Y has shape {truth.shape} but scores has shape {values.shape}; they must be equal.")
    if 0 in truth.shape:
        raise InputError(f"Y has shape {truth.shape}; at least one row and one label are needed.")
    refuse_other_than_zero_one(truth, "Y")
    missing = np.isnan(values)
    if missing.any():
        row, label = (int(i) for i in np.argwhere(missing)[0])
        raise InputError(f"scores holds NaN, first in row {row}, label {label}; every label needs a score.")
    return truth == 1, values


def _numbers(array: Any, name: str) -> np.ndarray:
    if np.ma.isMaskedArray(array):
        raise InputError(f"{name} is a masked array; pass a plain array of the rows that count.")
    try:
        given = to_dense(array)
        if given.dtype.kind == "c":
            raise TypeError("complex values")
        numbers: np.ndarray = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} could not be read as numbers ({error}); pass a 2-D array of numbers.") from None
    return numbers


def to_dense(array: Any) -> np.ndarray:
    """The array that a sparse matrix, frame or list stands for."""
    is_sparse: bool = sparse.issparse(array)
    return np.asarray(array.toarray() if is_sparse else array)
