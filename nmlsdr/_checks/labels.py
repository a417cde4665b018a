"""The label rule: what y may hold, and which entries of it are known.

2-D y has one column per label.  An entry is 1, 0 or unknown: -1, NaN, None, a null of pandas or polars, or masked.  A
row without a known entry is unlabelled; a row of 0 is a labelled row that has no label.  In columns of words, "yes"
and "no" and the like (cells.py) are 1 and 0.  Votes, numbers between 0 and
1, are taken where the method propagates.  Rows that are sets of names become columns, one for each name.  1-D y holds
classes, and an unlabelled row is -1 or null.  Every estimator, measure, splitter and reader uses these checks.

A fit reads y once, by `labels_of_fit`; what its later steps ask of the labels, such as which rows are labelled or the
alpha of each entry, are questions to the `Labels` that it returns.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from .._errors import InputError, level_outside, some_of
from .arguments import check_alpha, contiguous
from .cells import column_names
from .label_arrays import check_mask, label_array, numbers_or_nan, refuse_minus_one, refuse_no_labels, to_dense
from .label_classes import is_column_of_classes, read_classes
from .label_sets import read_sets, rows_of_names

#: What a method takes: whole rows of labels, partly known rows too, or votes too.
Takes = Literal["whole", "partly", "votes"]


class Labeled(NamedTuple):
    """The labelled rows, their labels, and which of these are known; None if all are."""

    rows: Any
    Y: np.ndarray
    known: np.ndarray | None


@dataclass(frozen=True)
class Labels:
    """Labels that follow the rule: what every estimator works on.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_labels), float64
        0, 1, or a vote between them; 0 where the entry is not known.  In C order, as ``known``.
    known : ndarray of shape (n_samples, n_labels), bool
    classes : list of ndarray, or ndarray
        One array [0, 1] per label for 2-D y; the sorted classes for 1-D y.
    names : ndarray of str, or None
        Column names of a data frame, or the names that stand in the label sets.
    single : bool
        True for 1-D y: one column of Y per class, each labelled row has exactly one.
    """

    Y: np.ndarray
    known: np.ndarray
    classes: Any
    names: np.ndarray | None
    single: bool

    # Caches of what follows from Y and known, which are never changed.
    @cached_property
    def labeled(self) -> np.ndarray:
        """Rows with a known entry, bool (n_samples,)."""
        return np.asarray(self.known.any(axis=1))

    @cached_property
    def partly(self) -> np.ndarray:
        """Rows with a known and an unknown entry, bool (n_samples,)."""
        return np.asarray(self.labeled & ~self.known.all(axis=1))

    @cached_property
    def only_present(self) -> np.ndarray:
        """Labels that some rows are known to have, and no row is known to lack, bool (n_labels,); not for classes.

        Where all rows are known, such a label is a constant and no question of what unknown entries mean.
        """
        present = self.known & (self.Y == 1)
        only = present.any(axis=0) & (present == self.known).all(axis=0) & ~self.known.all(axis=0)
        return np.zeros(only.shape, bool) if self.single else np.asarray(only)

    def take(self, rows: np.ndarray) -> "Labels":
        """The labels of these rows."""
        return replace(self, Y=self.Y[rows], known=self.known[rows])

    def labeled_rows(self, rows: Any) -> Any:
        """The labelled ones of the rows; no copy where all are labelled."""
        return rows if self.labeled.all() else rows[self.labeled]

    def labeled_order(self, order: np.ndarray | None) -> np.ndarray | None:
        """An order of all rows as one of the labelled rows, which are numbered by themselves."""
        if order is None:
            return None
        numbers = np.cumsum(self.labeled) - 1
        return np.asarray(numbers[order[self.labeled[order]]])

    def labeled_part(self, rows: Any = None) -> Labeled:
        """The labelled ones of the rows, and their labels."""
        known = self.known[self.labeled] if self.partly.any() else None
        return Labeled(None if rows is None else self.labeled_rows(rows), self.labeled_rows(self.Y), known)


def check_labels(
    y: Any, *, n_samples: int | None = None, labeled: Any = None, name: str = "y", fitted: Any = None
) -> Labels:
    """Read labels by the rule; votes and partly known rows are for the caller to take or refuse.

    ``labeled`` (bool, one per row or one per entry) marks what is known, so that sparse y need not hold -1; what the
    others hold is ignored.  -1 stays unknown where it is marked, in 1-D y as in 2-D y and as in every semi-supervised
    estimator of scikit-learn: a class that is coded -1 is to be renamed.

    ``fitted`` are the names that a fit knows.  Columns and sets with names then have that order; label sets may lack
    some of them, and what else they hold stands last.

    Raises
    ------
    ValueError
        Names the first bad row and the fix: labels coded -1/+1, other values, no labelled row at all, a length other
        than ``n_samples``, or columns with other names than ``fitted``.
    """
    if y is None:
        raise InputError(f"requires {name} to be passed, but the target {name} is None.")
    sets = rows_of_names(y, name)
    if sets is not None:
        _refuse_length(len(sets), n_samples, name)
        row_sets = read_sets(sets, labeled, name, fitted)
        Y = row_sets.labels
        label_names = np.asarray(row_sets.names, dtype=object)
        return Labels(Y, _all_labels(row_sets.labeled, Y), _two_classes(Y), label_names, single=False)
    values = label_array(y, name)
    if values.ndim not in (1, 2):
        raise InputError(f"{name} must be 1-D or 2-D, got {values.ndim} dimensions.")
    _refuse_length(len(values), n_samples, name)
    if is_column_of_classes(values, labeled, name):
        from sklearn.exceptions import DataConversionWarning  # this layer works without loading scikit-learn

        warnings.warn(
            f"A column-vector y was passed when a 1d array was expected: {name} has classes; pass {name}.ravel().",
            DataConversionWarning,
            stacklevel=2,
        )
        values = values.ravel()
        labeled = None if labeled is None else np.ravel(labeled)
    if values.ndim == 1:
        row_classes = read_classes(y, values, labeled, name)
        Y = row_classes.indicator()
        return Labels(Y, _all_labels(row_classes.labeled, Y), row_classes.classes, None, single=True)
    Y, known = check_entries(y, labeled=labeled, name=name, to_fit=True)
    names = column_names(y)
    if fitted is not None and names is not None and list(names) != list(fitted):
        order = order_of_columns(list(names), list(fitted), name)
        Y = Y[:, order]
        known = known[:, order]
        names = names[order]
    labels = Labels(contiguous(Y), contiguous(known), _two_classes(Y), names, single=False)
    refuse_no_labels(labels.labeled, name)
    return labels


def _all_labels(labeled: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The known entries, in the shape of Y, if all labels of the labelled rows are known."""
    return np.repeat(labeled[:, None], Y.shape[1], axis=1)


def labels_of_fit(y: Any, *, n_samples: int, labeled: Any, takes: Takes, method: str, predicts: bool) -> Labels:
    """The labels that a method is fitted to, which it ``takes`` known as whole rows, partly, or as votes too."""
    labels = check_labels(y, n_samples=n_samples, labeled=labeled)
    if predicts or labels.labeled.sum() > 1:  # every label of a single labelled row is constant
        warn_of_only_present(labels, predicts)
    if takes != "votes":
        refuse_other_than_zero_one(labels.Y, labels.known, "y")
    if takes == "whole":
        refuse_partly_known(labels, method)
    return labels


def order_of_columns(names: list[str], fitted: list[str], name: str) -> list[int]:
    """Where each fitted column stands; an error if the columns have other names."""
    missing = [column for column in fitted if column not in names]
    unexpected = [column for column in names if column not in fitted]
    if missing or unexpected or len(names) != len(fitted):
        fault = (
            f"lacks the column {missing[0]!r}"
            if missing
            else f"has the column {(unexpected or names)[0]!r} in addition"
        )
        raise InputError(f"{name} {fault}; pass the {len(fitted)} columns that the model was fitted on.")
    return [names.index(column) for column in fitted]


def check_entries(
    y: Any, *, labeled: Any = None, name: str = "y", to_fit: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """2-D labels as float64 with 0 for unknown entries, and which entries are known, both (n_samples, n_labels).

    Labels ``to_fit`` on may hold votes, and one column of -1 and +1 is refused.  There may be no known entry: whether
    that is enough is for the caller to say.
    """
    values = numbers_or_nan(y, name, labeled=labeled, warn=to_fit and labeled is None)
    if values.ndim != 2:
        raise InputError(f"{name} must be 2-D (n_samples, n_labels), got {values.ndim}-D; one label: {name}[:, None].")
    if values.shape[1] == 0:
        raise InputError(f"{name} has no columns; give one column of 0/1 per label.")
    plain = (values == 0) | (values == 1)
    if labeled is None and plain.all():  # the common case, and nothing is left to ask
        return values, plain
    if labeled is not None:
        mask = check_mask(labeled, *values.shape)
        values = np.where(mask if mask.ndim == 2 else mask[:, None], values, np.nan)
    _refuse_coded_absence(values, name, to_fit)
    known = (values != -1) & ~np.isnan(values)
    refuse_other_than_zero_one(values, known, name, votes=to_fit)
    values[~known] = 0.0
    return values, known


def _refuse_coded_absence(values: np.ndarray, name: str, to_fit: bool) -> None:
    """Raise for labels of -1 and 1 only, in which -1 is more likely an absent label than one not known.

    Whole rows of -1 are unlabelled, and in several columns they alone decide nothing.
    """
    present = values == 1
    absent = values == -1
    if not (absent.any() and present.any() and (present | absent | np.isnan(values)).all()):
        return
    single_column = values.shape[1] == 1
    mixed = absent.any(axis=1) & (~absent.all(axis=1) | single_column)
    if mixed.any() and (to_fit or not single_column):
        refuse_minus_one(name, np.argmax(mixed))


def some_unknown(known: Any, Y: np.ndarray) -> np.ndarray | None:
    """The mask of known entries in the shape of Y, or None if it holds nothing unknown."""
    if known is None:
        return None
    mask = check_mask(known, Y.shape[0], Y.shape[1], name="known")
    mask = np.broadcast_to(mask if mask.ndim == 2 else mask[:, None], Y.shape)
    return None if mask.all() else mask


def check_binary(Y: Any) -> np.ndarray:
    """0/1 labels without an unknown entry, as the kernels read them: C-contiguous uint8 (n_samples, n_labels)."""
    labels = to_dense(Y)
    masked = isinstance(Y, np.ma.MaskedArray)
    if labels.ndim != 2 or labels.dtype.kind not in "biuf" or masked:
        form = "a masked array" if masked else f"{labels.ndim} dimension(s) of dtype {labels.dtype}"
        raise InputError(f"Y must be an array of 0 and 1 of shape (n_samples, n_labels), got {form}; convert it first.")
    refuse_other_than_zero_one(labels, True, "Y")
    return np.ascontiguousarray(labels, dtype=np.uint8)


def refuse_other_than_zero_one(values: np.ndarray, known: Any, name: str, *, votes: bool = False) -> None:
    """Raise for the first known entry that is neither, nor a vote where votes are taken."""
    good = ((values >= 0) & (values <= 1)) if votes else ((values == 0) | (values == 1))
    good |= ~np.broadcast_to(known, good.shape)
    if good.all():
        return
    row, label = (int(i) for i in np.argwhere(~good)[0])
    value = float(values[row, label])
    if value == -1 or np.isnan(value):
        advice = "drop the rows with unknown labels"
    elif 0 < value < 1:
        advice = f"round votes first: {name} > 0.5 (NMLSDR and MultiLabelPropagation accept votes)"
    else:
        advice = "give one column of 0 and 1 for each label"
    rule = "only 0 and 1" if known is True else "only 0, 1 or -1 (unknown)"
    raise InputError(f"{name} must contain {rule}, got {value:g} in row {row}, label {label}; {advice}.")


def refuse_partly_known(labels: Labels, method: str) -> None:
    """One sentence for a method that needs all labels of a row."""
    if labels.partly.any():
        row = int(np.argmax(labels.partly))
        raise InputError(
            f"{method} needs every label of a labelled row, but row {row} of y lacks {(~labels.known[row]).sum()} of "
            f"{labels.Y.shape[1]}; take all from MultiLabelPropagation().fit(X, y).transduction_, or set the row to -1."
        )


def alphas_of_labels(labels: Labels, alpha_labeled: Any, alpha_unlabeled: Any) -> np.ndarray:
    """alpha of every row (n_samples,), or of every entry (n_samples, n_labels) where entries of a row differ.

    A given vote v has (1 - v) A0 + v A1, where ``alpha_labeled`` is the pair (A0, A1) or one number for both.
    """
    is_pair = isinstance(alpha_labeled, (tuple, list)) or np.ndim(alpha_labeled) == 1
    pair = alpha_labeled if is_pair else (alpha_labeled, alpha_labeled)
    if len(pair) != 2:
        raise InputError(f"alpha_labeled must be a number or a pair (for given 0s, given 1s), got {len(pair)} numbers.")
    absent, present = (check_alpha(value, 1, "alpha_labeled")[0] for value in pair)
    hidden = check_alpha(alpha_unlabeled, 1, "alpha_unlabeled")[0]
    if absent == present and not labels.partly.any():
        return np.where(labels.labeled, present, hidden)
    return np.where(labels.known, (1 - labels.Y) * absent + labels.Y * present, hidden)


class LabelClasses(list[np.ndarray]):
    """One array [0, 1] per label, in a list with a shape, as `cross_val_predict` of scikit-learn asks for."""

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)


def _two_classes(Y: np.ndarray) -> list[np.ndarray]:
    return LabelClasses(np.array([0, 1]) for _ in range(Y.shape[1]))


def _refuse_length(n_given: int, n_samples: int | None, name: str) -> None:
    if n_samples is not None and n_given != n_samples:
        fault = "Found input variables with inconsistent numbers of samples"
        raise InputError(f"{fault}: X has {n_samples} rows, {name} has {n_given}; give one row of {name} per row of X.")


def warn_of_only_present(labels: Labels, predicts: bool) -> None:
    """Say which labels have no known 0: from presences alone no method can tell the rows with a label from others."""
    if not labels.only_present.any():
        return
    places = np.flatnonzero(labels.only_present).tolist()
    names = [f"label {c}" if labels.names is None else str(labels.names[c]) for c in places]
    verb, pronoun = ("has", "it") if len(names) == 1 else ("have", "them")
    consequence = f"predict never gives {pronoun}" if predicts else f"the fit learns nothing from {pronoun}"
    warnings.warn(
        f"{len(names)} of {labels.Y.shape[1]} labels {verb} no known 0 ({some_of(names)}), so {consequence}; write 0 "
        "where it is known that the label does not apply, or, if unknown entries mean 0, pass 0 for them and say by "
        "labeled= which rows somebody looked at.",
        UserWarning,
        stacklevel=level_outside(),
    )


def warn_of_other_index(X: Any, y: Any) -> None:
    """Say that X and y of pandas have different indexes: their rows are matched by position."""
    if not all(hasattr(part, "index") and hasattr(part, "iloc") for part in (X, y)) or X.index.equals(y.index):
        return
    pairs = enumerate(zip(X.index, y.index, strict=True))
    row, (X_index, y_index) = next((pair for pair in pairs if pair[1][0] != pair[1][1]), (0, (X.index[0], y.index[0])))
    warnings.warn(
        f"X and y have different indexes (row {row} is {X_index} in X and {y_index} in y), and rows are matched by "
        "position; pass y.loc[X.index] to match them by index, or y.to_numpy() where the positions are right.",
        stacklevel=4,
    )


# ---------------------------------------------------------------- truth and scores


def check_measured(Y: Any, scores: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The truth as bool, the scores as float64 and the known entries as bool, all (n_samples, n_labels)."""
    truth, known = check_entries(Y, name="Y")
    if np.ma.isMaskedArray(scores):
        raise InputError("scores is a masked array; pass a plain array with a score for every known label.")
    values = numbers_or_nan(scores, "scores", copy=False)
    if truth.shape != values.shape:
        raise InputError(f"Y has shape {truth.shape} but scores has shape {values.shape}; they must be equal.")
    if not known.any():
        raise InputError(f"Y has no known entry in its {len(truth)} rows; give the labels of some rows.")
    missing = np.isnan(values) & known
    if missing.any():
        row, label = (int(i) for i in np.argwhere(missing)[0])
        raise InputError(f"scores holds NaN, first in row {row}, label {label}; every known label needs a score.")
    return truth == 1, values, known
