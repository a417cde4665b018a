"""Verdicts of people who checked given labels."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._errors import InputError
from .cells import column_names, is_null
from .label_arrays import numbers_or_nan
from .labels import Labels, order_of_columns
from .words import UNCLEAR

_UNDECIDED = (-1, UNCLEAR)


def enter_verdicts(labels: Labels, verdicts: Any) -> tuple[Labels, np.ndarray]:
    """The labels with verdicts in them, and where there are verdicts.

    Parameters
    ----------
    labels : Labels
        Labels as they were given.
    verdicts : array-like of shape (n_samples, n_labels), or of shape (n_samples,) for classes
        1 or 0, or the class; -1, `UNCLEAR` or a null where nobody decided.

    Returns
    -------
    corrected : Labels
    decided : ndarray of shape (n_samples, n_labels), bool

    Raises
    ------
    ValueError
        If the shape is not that of y, or there are other values.

    Warns
    -----
    UserWarning
        If the labels agree with every verdict.
    """
    if sparse.issparse(verdicts):
        raise InputError("verdicts is sparse, and its empty cells would be verdicts of 0; pass an array, -1 for none.")
    values = _columns_of_classes(labels, verdicts) if labels.single else numbers_or_nan(verdicts, "verdicts")
    if values.shape != labels.Y.shape:
        raise InputError(f"verdicts must have the shape of y, {labels.Y.shape}, got {values.shape}.")
    names = column_names(verdicts)
    if names is not None and labels.names is not None:
        values = values[:, order_of_columns(list(names), list(labels.names), "verdicts")]
    decided = (values == 0) | (values == 1)
    invalid = ~(decided | np.isnan(values) | np.isin(values, _UNDECIDED))
    if invalid.any():
        row, label = (int(i) for i in np.argwhere(invalid)[0])
        rule = "verdicts must contain 1, 0, and -1 or NaN where nobody decided"
        raise InputError(f"{rule}, got {values[row, label]:g} in row {row}, label {label}.")
    if decided.any() and (labels.known & (values == labels.Y))[decided].all():
        warnings.warn(
            f"No verdict of {decided.sum()} differs from y; if y was corrected, pass the y from before.", stacklevel=4
        )
    Y = np.ascontiguousarray(np.where(decided, values, labels.Y))
    return replace(labels, Y=Y, known=np.ascontiguousarray(labels.known | decided)), decided


def _columns_of_classes(labels: Labels, verdicts: Any) -> np.ndarray:
    """One column for each class, as `Labels` has it; NaN in the rows without a verdict."""
    classes = np.asarray(verdicts)
    if classes.shape != (len(labels.Y),):
        raise InputError(f"verdicts must have the shape of y, ({len(labels.Y)},), got {classes.shape}.")
    columns = {name: column for column, name in enumerate(labels.classes.tolist())}
    decisions = classes.tolist()
    codes = np.full(len(decisions), -1)
    for row, decision in enumerate(decisions):
        if is_null(decision):
            continue
        if decision in columns:  # first, for a class may have the number of an undecided entry
            codes[row] = columns[decision]
        elif decision not in _UNDECIDED:
            raise InputError(
                f"verdicts is {decision!r} in row {row}, a class that no row of y has; add such a row to y."
            )
    return np.where(codes[:, None] >= 0, codes[:, None] == np.arange(len(columns)), np.nan)
