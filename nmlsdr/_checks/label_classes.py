"""1-D labels: the class of each row, which is read as one label for each class."""

import warnings
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from .._errors import InputError
from .cells import is_null
from .label_arrays import check_mask, is_each_null, numbers_or_nan, refuse_minus_one, refuse_no_labels
from .words import LABEL_WORDS


class RowClasses(NamedTuple):
    """The classes of labelled rows.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted.
    labeled : ndarray of shape (n_samples,), bool
        Rows with a class.
    codes : ndarray of shape (n_labeled,), intp
        The number of the class of each labelled row.
    """

    classes: np.ndarray
    labeled: np.ndarray
    codes: np.ndarray

    def indicator(self) -> np.ndarray:
        """Labels (n_samples, n_classes), float64: 1 for the class of a row, 0 for the others."""
        labels = np.zeros((len(self.labeled), len(self.classes)))
        labels[np.flatnonzero(self.labeled), self.codes] = 1.0
        return labels


def is_column_of_classes(values: np.ndarray, labeled: Any, name: str) -> bool:
    """Whether (n, 1) labels are classes: whole numbers other than 0, 1 and -1, or texts that are no words for those."""
    if values.shape[1:] != (1,) or values.dtype.kind in "mM":
        return False
    if labeled is not None:
        values = values[np.ravel(check_mask(labeled, *values.shape))]
    try:
        numbers = numbers_or_nan(values, name)
    except InputError:
        texts = {str(text).strip().lower() for text in values.ravel().tolist() if not is_null(text)}
        return all(isinstance(text, str) for text in values.ravel() if not is_null(text)) and texts.isdisjoint(
            LABEL_WORDS
        )
    numbers = numbers[np.isfinite(numbers)]
    return bool((np.abs(numbers) > 1).any() and (numbers == np.floor(numbers)).all())


def read_classes(y: Any, values: np.ndarray, labeled: Any, name: str) -> RowClasses:
    """Read 1-D labels; ``values`` is the array of y, in which nulls and -1 are unlabelled rows."""
    counted = ~is_each_null(values) if values.dtype.kind in "OT" else np.equal(values, values)
    if labeled is not None:
        counted &= check_mask(labeled, len(values))
    rows = np.flatnonzero(counted)
    values = _without_objects(values[rows])
    _refuse_fractions(values, rows, name)
    minus_one = _are_minus_one(values.tolist())
    labeled_mask = np.zeros(len(counted), dtype=bool)
    labeled_mask[rows[~minus_one]] = True
    refuse_no_labels(labeled_mask, name)
    try:
        classes, codes = np.unique(values[~minus_one], return_inverse=True)
    except TypeError:
        raise InputError(f"{name} mixes types that cannot be ordered; use only strings or only numbers.") from None
    if minus_one.any() and len(classes) == 1 and classes[0] == 1:
        refuse_minus_one(name, rows[np.argmax(minus_one)])
    _warn_of_lists(y, classes, name)
    return RowClasses(classes, labeled_mask, codes)


def _without_objects(values: np.ndarray) -> np.ndarray:
    """Numbers as an array of numbers, such as those in the nullable columns of a frame; other values as they are."""
    if values.dtype.kind != "O":
        return values
    items = values.tolist()
    return np.asarray(items) if items and all(isinstance(value, (Number, np.bool_)) for value in items) else values


def _refuse_fractions(values: np.ndarray, rows: np.ndarray, name: str) -> None:
    """Raise for the first of some numbers that is not whole; ``rows`` are the rows of the values."""
    if values.dtype.kind != "f":
        return
    whole = np.isfinite(values) & (values == np.floor(values))
    if not whole.all():
        first = np.argmin(whole)
        fault = f"Unknown label type: continuous, {name} is {values[first]} in row {rows[first]}"
        raise InputError(f"{fault}; give classes (-1: unknown).")


def _are_minus_one(items: list[Any]) -> np.ndarray:
    """Which values are -1 as a number or as a text."""
    return np.array([isinstance(value, (Number, str, bytes)) and value in (-1, "-1", b"-1") for value in items], bool)


def _warn_of_lists(y: Any, classes: np.ndarray, name: str) -> None:
    """Warn if classes such as "flu|cold" look like lists of labels."""
    if classes.dtype.kind not in "UTO" or not all(isinstance(value, str) for value in classes):
        return
    separator, n_words = _separator_of_lists(classes.tolist())
    if not separator:
        return
    by_rows = f"[text.split({separator!r}) for text in {name}]"
    split = f"{name}.str.split({separator!r})" if hasattr(y, "str") else by_rows
    warnings.warn(
        f"{name} holds {len(classes)} different texts that consist of {n_words} words with {separator!r} "
        f"between them, and each text becomes a class; if they list labels, pass {split}.",
        stacklevel=5,
    )


def _separator_of_lists(texts: list[str]) -> tuple[str, int]:
    """The character that makes different texts lists, of different lengths and of fewer words, and their words' number.

    Returns "" and 0 if there is none.
    """
    for separator in "|;,":
        lists = [text.split(separator) for text in texts]
        words = {word.strip() for words in lists for word in words}
        if len(words) < len(texts) and len({len(words) for words in lists}) > 1:
            return separator, len(words)
    return "", 0
