"""Cross-validation on partly labelled data: a splitter and the seven measures as scorers.

A fold without true labels cannot be scored, and a fold that hides unlabelled rows from ``fit`` wastes them.
:class:`LabeledRowsSplit` therefore splits the labelled rows only, and gives every unlabelled row to every
training side.  :data:`SCORERS` holds the measures of :mod:`nmlsdr.metrics` for ``scoring=``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import make_scorer
from sklearn.model_selection import PredefinedSplit, check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object

from . import metrics
from ._errors import InputError
from ._labels import check_labels, to_dense

__all__ = ["SCORERS", "LabeledRowsSplit"]


class LabeledRowsSplit:
    """Split the labelled rows with any splitter; the unlabelled rows are always on the training side.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=5
        What splits the labelled rows.  An integer is that many folds (stratified where ``y`` is one column, as
        scikit-learn does for classifiers).  A splitter sees the labelled rows of X, y and groups only.  Ready
        pairs of index arrays, and a ``PredefinedSplit``, speak of all rows: their unlabelled rows are moved to
        the training side.

    Notes
    -----
    A row is unlabelled if it is -1 in 1-D ``y``, or -1 in every column of 2-D ``y``.

    Examples
    --------
    Rows 1 and 4 are unlabelled.

    >>> import numpy as np
    >>> from nmlsdr.model_selection import LabeledRowsSplit
    >>> y = np.array([[1, 0], [-1, -1], [0, 1], [1, 1], [-1, -1], [0, 0]])
    >>> for train, test in LabeledRowsSplit(2).split(np.zeros((6, 3)), y):
    ...     print(train, test)
    [1 3 4 5] [0 2]
    [0 1 2 4] [3 5]
    """

    def __init__(self, cv: Any = 5) -> None:
        self.cv = cv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.cv!r})"

    def split(
        self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield (train, test) row numbers of X; test rows are labelled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Only handed on to ``cv``.
        y : array-like or sparse of shape (n_samples,) or (n_samples, n_labels), default=None
            Labels with the project's rule: a row of -1 is unlabelled.
        groups : array-like of shape (n_samples,), default=None
            For splitters that keep groups together.

        Yields
        ------
        train, test : ndarray of intp
            The training side is in ascending order and holds all unlabelled rows.

        Raises
        ------
        ValueError
            Without ``y``, if ``y`` breaks the label rule or no row is labelled, if lengths differ, or if a test
            side has no labelled row.
        """
        y_array, labeled = _read(X, y)
        unlabelled = np.flatnonzero(~labeled)
        if _speaks_of_all_rows(self.cv):
            for train, test in check_cv(self.cv).split():
                train, test = (_row_numbers(side, len(labeled)) for side in (train, test))
                yield _sides(train[labeled[train]], unlabelled, test[labeled[test]])
            return
        rows = np.flatnonzero(labeled)
        X_known, y_known, groups_known = _known_rows(X, y_array, groups, rows)
        for train, test in check_cv(self.cv, y_known, classifier=True).split(X_known, y_known, groups_known):
            train, test = (_row_numbers(side, len(rows)) for side in (train, test))
            yield _sides(rows[train], unlabelled, rows[test])

    def get_n_splits(self, X: Any = None, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Needed only where ``cv`` needs it.
        y : array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            Needed only where ``cv`` needs it.
        groups : array-like of shape (n_samples,), default=None
            Needed only where ``cv`` needs it.

        Returns
        -------
        int
            How many pairs `split` yields.
        """
        if y is None or _speaks_of_all_rows(self.cv):
            return int(check_cv(self.cv).get_n_splits(X, y, groups))
        y_array, labeled = _read(X, y)
        X_known, y_known, groups_known = _known_rows(X, y_array, groups, np.flatnonzero(labeled))
        splitter = check_cv(self.cv, y_known, classifier=True)
        return int(splitter.get_n_splits(X_known, y_known, groups_known))

    def get_metadata_routing(self) -> Any:
        """Ask for the metadata that ``cv`` asks for (``groups`` of the group splitters).

        Returns
        -------
        MetadataRequest
            The one of ``cv``.
        """
        return get_routing_for_object(None if _speaks_of_all_rows(self.cv) else check_cv(self.cv))


def _speaks_of_all_rows(cv: Any) -> bool:
    """Ready pairs of indices, or a PredefinedSplit, know nothing of a subset of the rows."""
    return isinstance(cv, PredefinedSplit) or (hasattr(cv, "__iter__") and not hasattr(cv, "split"))


def _read(X: Any, y: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if y is None:
        raise InputError("LabeledRowsSplit needs y to know the labelled rows, got None; pass y with rows of -1.")
    n_samples = None if X is None else X.shape[0] if hasattr(X, "shape") else len(X)
    labeled: NDArray[np.bool_] = check_labels(y, n_samples=n_samples).labeled
    return to_dense(y), labeled


def _known_rows(X: Any, y: NDArray[Any], groups: Any, rows: NDArray[np.intp]) -> tuple[Any, NDArray[Any], Any]:
    known = np.zeros(len(rows)) if X is None else _safe_indexing(X, rows)
    y_known = y[rows]
    if y_known.ndim == 2:
        y_known = y_known.astype(np.int64)  # a frame can be float or object
    elif y_known.dtype.kind == "O":
        y_known = np.asarray(y_known.tolist())  # without the -1, what is left is numbers only or text only
    return known, y_known, None if groups is None else _safe_indexing(groups, rows)


def _row_numbers(side: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """Indices or a mask, as indices; out of range means that the splitter did not count the labelled rows."""
    rows = np.asarray(side)
    if rows.dtype == np.bool_:
        rows = np.flatnonzero(rows)
    if rows.size and (rows.min() < 0 or rows.max() >= n_rows):
        raise InputError(
            f"cv gave row {int(rows.max())}, but it was asked to split {n_rows} rows; "
            "use a splitter that counts the rows it is given, or pass pairs of index arrays of all rows."
        )
    return rows.astype(np.intp, copy=False)


def _sides(
    train: NDArray[np.intp], unlabelled: NDArray[np.intp], test: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if not test.size:
        raise InputError("A test fold has no labelled row, so nothing can be scored; use fewer folds.")
    return np.sort(np.concatenate([train, unlabelled])), test


# ---------------------------------------------------------------- scorers


class _OnLabelledRows:
    """A measure of the labelled rows, from the probabilities of scikit-learn's or this package's classifiers."""

    def __init__(self, measure: Callable[[Any, Any], float]) -> None:
        self.measure = measure
        self.__name__ = measure.__name__
        self.__qualname__ = measure.__qualname__

    def __call__(self, y_true: Any, y_score: Any) -> float:
        truth, labeled = _truth(y_true)
        scores = _probabilities(y_score, truth.shape[1])
        if not labeled.any():
            warnings.warn(
                f"{self.__name__} is NaN: all {len(truth)} rows of the test fold are unlabelled; use LabeledRowsSplit.",
                RuntimeWarning, stacklevel=2,
            )  # fmt: skip
            return float("nan")
        return self.measure(truth[labeled], scores[labeled] if len(scores) == len(truth) else scores)


def _truth(y_true: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    truth = to_dense(y_true)
    if truth.ndim != 2:
        raise InputError(
            f"SCORERS compare a 2-D y, one column per label, got {truth.ndim}-D y; use y[:, None] for one label, "
            "or scikit-learn's own scorers for classes."
        )
    return truth, ~(truth == -1).all(axis=1)


def _probabilities(y_score: Any, n_labels: int) -> NDArray[Any]:
    """(n_samples, n_labels) from that form, from a list of one (n_samples, 2) per label, or from one column."""
    if isinstance(y_score, (list, tuple)) and len(y_score) == n_labels and np.ndim(y_score[0]) == 2:
        return np.column_stack([np.asarray(column)[:, -1] for column in y_score])
    scores = to_dense(y_score)
    if n_labels == 1 and scores.ndim == 1:
        return scores[:, None]
    if n_labels == 1 and scores.ndim == 2 and scores.shape[1] == 2:
        return scores[:, 1:]
    return scores


def _scorer(measure: Callable[[Any, Any], float], greater_is_better: bool) -> Any:
    labelled = _OnLabelledRows(measure)
    return make_scorer(labelled, greater_is_better=greater_is_better, response_method="predict_proba")


#: The seven measures for ``scoring=`` of scikit-learn's searches and cross-validation, by the names of
#: :mod:`nmlsdr.metrics`.  Larger is better as scikit-learn demands: the four losses (hamming_loss, ranking_loss,
#: one_error, coverage) come out negative.  Unlabelled rows of a test fold are left out.  With one label
#: (C = 1) no row can be ranked, so ranking_loss, average_precision and one_error are NaN with a RuntimeWarning.
#: scikit-learn's own multi-output classifiers work too, unless a label has one value only in a training fold:
#: scikit-learn then cannot tell which column of their probabilities is meant.
SCORERS: dict[str, Any] = {
    "hamming_loss": _scorer(metrics.hamming_loss, False),
    "ranking_loss": _scorer(metrics.ranking_loss, False),
    "average_precision": _scorer(metrics.average_precision, True),
    "one_error": _scorer(metrics.one_error, False),
    "coverage": _scorer(metrics.coverage, False),
    "macro_f1": _scorer(metrics.macro_f1, True),
    "micro_f1": _scorer(metrics.micro_f1, True),
}
