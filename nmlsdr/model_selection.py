"""Cross-validation on partly labelled data: a splitter, out-of-fold probabilities, and the seven measures as scorers.

A fold without true labels cannot be scored, and unlabelled rows are useful in every fit. Therefore
:class:`LabeledRowsSplit` splits the labelled rows only, and puts every unlabelled row into every training set.
:func:`cross_val_proba` predicts each labelled row with a model that was fitted without it. :data:`SCORERS` contains
the measures of :mod:`nmlsdr.metrics` for the parameter ``scoring`` of scikit-learn.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _check_method_params, _num_samples

from . import metrics
from ._checks.label_arrays import numbers_or_nan, to_dense
from ._checks.labels import Labels, check_labels
from ._errors import InputError
from ._thresholds import rank_scores

__all__ = ["SCORERS", "LabeledRowsSplit", "cross_val_proba"]


class LabeledRowsSplit:
    """Split the labelled rows with any splitter; the unlabelled rows are always in the training set.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=5
        How the labelled rows are split. An integer is the number of folds; for 1-D y they are stratified, as in
        scikit-learn. A splitter receives the labelled rows of X, y and groups only. Pairs of index arrays and a
        ``PredefinedSplit`` refer to all rows; their unlabelled rows are moved to the training set.

    Notes
    -----
    In 1-D y a row is unlabelled if it is -1 or null. In 2-D y a row is unlabelled if all its entries are; a row with
    any known entry can be in the test set. A splitter that uses ``y`` sees -1 for the unknown entries of such a row.

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
        self.cv = list(cv) if isinstance(cv, Iterator) else cv  # a generator can be used only once

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.cv!r})"

    def split(
        self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield row numbers (train, test) of X; all test rows are labelled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Rows; only passed on to ``cv``.
        y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_labels), default=None
            Labels. An entry of -1 or null is unknown; a row without a known entry is unlabelled. Required.
        groups : array-like of shape (n_samples,), default=None
            Group of each row, for splitters that keep groups together.

        Yields
        ------
        train, test : ndarray of intp
            Row numbers of the training set, in increasing order and with all unlabelled rows, and of the test set.

        Raises
        ------
        ValueError
            If ``y`` is missing or invalid, if no row is labelled, if lengths differ, or if a test set has no labelled
            row.
        """
        labels = _read(X, y)
        labeled = labels.labeled
        if _refers_to_all_rows(self.cv):
            rows = np.arange(len(labeled))
            folds = check_cv(self.cv).split()
        else:
            rows, known = _known_rows(X, labels, groups)
            folds = check_cv(self.cv, known[1], classifier=True).split(*known)
        for sides in folds:
            train, test = (rows[_row_numbers(side, len(rows))] for side in sides)
            test = test[labeled[test]]
            if not test.size:
                raise InputError("A test fold has no labelled row, so nothing can be scored; use fewer folds.")
            yield np.sort(np.concatenate([train[labeled[train]], np.flatnonzero(~labeled)])), test

    def get_n_splits(self, X: Any = None, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows; needed only if ``cv`` needs them.
        y : array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            Labels; needed only if ``cv`` needs them.
        groups : array-like of shape (n_samples,), default=None
            Group of each row; needed only if ``cv`` needs it.

        Returns
        -------
        int
            Number of pairs that `split` yields.
        """
        if y is None or _refers_to_all_rows(self.cv):
            return int(check_cv(self.cv).get_n_splits(X, y, groups))
        known = _known_rows(X, _read(X, y), groups)[1]
        return int(check_cv(self.cv, known[1], classifier=True).get_n_splits(*known))

    def get_metadata_routing(self) -> Any:
        """Request the metadata that ``cv`` requests, such as ``groups`` for a group splitter.

        Returns
        -------
        MetadataRequest
            The request of ``cv``.
        """
        return get_routing_for_object(None if _refers_to_all_rows(self.cv) else check_cv(self.cv))


def _refers_to_all_rows(cv: Any) -> bool:
    """Whether cv is pairs of index arrays or a PredefinedSplit, whose indices refer to all rows."""
    return isinstance(cv, PredefinedSplit) or (hasattr(cv, "__iter__") and not hasattr(cv, "split"))


def _read(X: Any, y: Any) -> Labels:
    if y is None:
        raise InputError("LabeledRowsSplit needs y to find the labelled rows, got None; pass y, -1 in unlabelled rows.")
    return check_labels(y, n_samples=None if X is None else _num_samples(X))


def _as_array(labels: Labels) -> NDArray[Any]:
    """y as an array of (n, C) numbers or (n,) classes, with -1 for unknown entries."""
    if not labels.single:
        Y = np.where(labels.known, labels.Y, -1)
        return Y if ((Y > 0) & (Y < 1)).any() else Y.astype(np.int64)
    chosen = np.asarray(labels.classes[labels.Y.argmax(axis=1)].tolist())
    unknown = "-1" if chosen.dtype.kind == "U" else b"-1" if chosen.dtype.kind == "S" else -1
    return chosen if labels.labeled.all() else np.where(labels.labeled, chosen, unknown)


def _with_nulls(y: Any, labels: Labels) -> NDArray[Any]:
    """As `_as_array`, with NaN for nulls in columns: next to known 1s only, -1 would be taken for 0."""
    numbers = _as_array(labels)
    if labels.single or labels.known.all() or (labels.names is not None and not hasattr(y, "columns")):  # label sets
        return numbers
    null = np.isnan(numbers_or_nan(y, "y"))
    return np.where(null, np.nan, numbers) if null.any() else numbers


def _known_rows(X: Any, labels: Labels, groups: Any) -> tuple[NDArray[np.intp], tuple[Any, NDArray[Any], Any]]:
    """The numbers of the labelled rows, and their X, y and groups."""
    rows = np.flatnonzero(labels.labeled)
    X = np.zeros(len(rows)) if X is None else _safe_indexing(X, rows)
    return rows, (X, _as_array(labels)[rows], None if groups is None else _safe_indexing(groups, rows))


def _row_numbers(side: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """Indices or a mask as indices; an error if they are out of range."""
    rows = np.asarray(side)
    if rows.dtype == np.bool_ and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    if rows.size and (rows.ndim != 1 or rows.dtype.kind not in "iu"):
        raise InputError(
            f"cv returned {rows.dtype} of shape {rows.shape} for {n_rows} rows; it must return row numbers, or a mask."
        )
    wrong = rows[(rows < 0) | (rows >= n_rows)]
    if wrong.size:
        raise InputError(
            f"cv returned row {int(wrong[0])}, but received {n_rows} rows to split; "
            "use a splitter that numbers the rows it receives, or pass pairs of index arrays of all rows."
        )
    return rows.astype(np.intp, copy=False)


# ---------------------------------------------------------------- out-of-fold probabilities


def cross_val_proba(
    estimator: Any, X: Any, y: Any, cv: Any = 5, *, groups: Any = None, params: dict[str, Any] | None = None
) -> NDArray[np.float64]:
    """Out-of-fold probabilities of every label: each row with a known entry is predicted by a model fitted without it.

    Use it for cleanlab, stacking and calibration. scikit-learn's ``cross_val_predict`` raises an error if rows are
    unlabelled; here these rows take part in every fit and are never predicted. ``cross_val_predict`` also encodes
    each column with LabelEncoder before the fit, so that a column of 1s alone becomes one of 0s. Here labels keep their
    values.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Classifier, cloned for every fold.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows; finite numbers.
    y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_labels)
        Labels. An entry of -1 or null is unknown; a row without a known entry is unlabelled. Label sets are converted
        to columns before the rows are split.
    cv : int, splitter or iterable of (train, test), default=5
        How the labelled rows are split, as in `LabeledRowsSplit`. Every row with a known entry must be in exactly one
        test set.
    groups : array-like of shape (n_samples,), default=None
        Group of each row, for splitters that keep groups together.
    params : dict, default=None
        Further arguments of ``fit``. Values with one entry for each row are split like the rows.

    Returns
    -------
    ndarray of shape (n_samples, n_labels), float64
        Probabilities; NaN on rows without a known entry. For 1-D y one column for each class, in sorted order.

    Raises
    ------
    ValueError
        If ``y`` is invalid, if a row with a known entry is in no test set or in two, or if a row of a test set is in
        the training set too.

    Examples
    --------
    Two groups on a line; the third row of the first has no label.

    >>> from nmlsdr import MultiLabelPropagation
    >>> from nmlsdr.model_selection import cross_val_proba
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1]]
    >>> y = [[1, 0], [1, 0], [-1, -1], [0, 1], [0, 1]]
    >>> model = MultiLabelPropagation(n_neighbors=1, alpha_labeled=0)
    >>> cross_val_proba(model, X, y, cv=[([1, 2, 4], [0, 3]), ([0, 2, 3], [1, 4])])
    array([[ 1.,  0.],
           [ 1.,  0.],
           [nan, nan],
           [ 0.,  1.],
           [ 0.,  1.]])
    """
    n_samples = _num_samples(X)
    (X,) = indexable(X)
    labels = _read(X, y)
    y_array = _with_nulls(y, labels)
    splitter = cv if isinstance(cv, LabeledRowsSplit) else LabeledRowsSplit(cv)
    proba = np.full(labels.Y.shape, np.nan)
    tested = np.zeros(n_samples, dtype=np.intp)
    for train, test in splitter.split(X, y_array, groups):
        overlap = np.intersect1d(train, test)
        if overlap.size:
            raise InputError(f"cv returned row {overlap[0]} both for training and for testing; use separate rows.")
        sliced = _check_method_params(X, params or {}, train)
        model = clone(estimator).fit(_safe_indexing(X, train), y_array[train], **sliced)
        predicted = model.predict_proba(_safe_indexing(X, test))
        proba[test] = columns_of_classes(predicted, model.classes_, labels)
        tested[test] += 1
    wrong = labels.labeled & (tested != 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"Row {row} is in {tested[row]} test sets of cv, but must be in exactly one; use folds that do not overlap."
        )
    return proba


def columns_of_classes(predicted: Any, classes: Any, labels: Labels) -> NDArray[np.float64]:
    """Probabilities with a column for every label, 0 for those that are missing on the training side."""
    if labels.single:
        columns = np.zeros((len(predicted), len(labels.classes)))
        columns[:, np.searchsorted(labels.classes, np.asarray(classes, labels.classes.dtype))] = predicted
        return columns
    if len(labels.classes) == 1 and isinstance(classes, np.ndarray):  # scikit-learn takes one column for classes
        predicted = [predicted]
        classes = [classes]
    if not isinstance(predicted, list):
        return np.asarray(_probabilities(predicted, len(labels.classes)), dtype=np.float64)
    # One array (n, known classes) for each label, as the classifiers of scikit-learn predict.
    pairs = zip(predicted, classes, strict=True)
    positive = [p[:, list(known).index(1)] if 1 in known else np.zeros(len(p)) for p, known in pairs]
    return np.column_stack(positive)


# ---------------------------------------------------------------- scorers


class _Scorer:
    """A measure of the known entries; called as scikit-learn's scorers are.

    It evaluates ``predict``, or how a classifier ranks the labels before any threshold.
    """

    def __init__(self, measure: metrics.Measure) -> None:
        self.measure = measure
        self._sign = -1 if measure.is_loss else 1

    def __call__(self, estimator: Any, X: Any, y_true: Any) -> float:
        scores = rank_scores(estimator, X) if self.measure.ranks else estimator.predict(X)
        return self._sign * self._score_func(y_true, scores)

    def _score_func(self, y_true: Any, y_score: Any) -> float:
        truth = numbers_or_nan(y_true, "y")
        if truth.ndim != 2:
            raise InputError(
                f"SCORERS compare a 2-D y, one column per label, got {truth.ndim}-D y; use y[:, None] for one label, "
                "MultiLabelBinarizer for label sets, or scikit-learn's own scorers for classes."
            )
        truth = np.where(truth == -1, np.nan, truth)
        if np.isnan(truth).all():
            warnings.warn(
                f"{self.measure.function.__name__} is NaN: all {len(truth)} rows of the test fold are unlabelled; use "
                "LabeledRowsSplit.",
                RuntimeWarning,
                stacklevel=3,
            )
            return float("nan")
        return self.measure.function(truth, _probabilities(y_score, truth.shape[1]))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.measure.function.__name__}, greater_is_better={self._sign > 0})"


def _probabilities(y_score: Any, n_labels: int) -> NDArray[Any]:
    """Scores (n_samples, n_labels), given as such, as a list of one (n_samples, 2) for each label, or as one column."""
    if isinstance(y_score, (list, tuple)) and len(y_score) == n_labels and np.ndim(y_score[0]) == 2:
        return np.column_stack([np.asarray(column)[:, -1] for column in y_score])
    scores = to_dense(y_score)
    if n_labels == 1 and scores.ndim == 1:
        return scores[:, None]
    return scores[:, 1:] if n_labels == 1 and scores.shape[1:] == (2,) else scores


#: The seven measures for ``scoring=`` of scikit-learn's searches and cross-validation, by the names of
#: :mod:`nmlsdr.metrics`.  Since scikit-learn requires that larger is better, the four losses (hamming_loss,
#: ranking_loss, one_error, coverage) are negated.  hamming_loss, macro_f1 and micro_f1 evaluate ``predict``, so they
#: depend on the thresholds and can be used to choose them.  The ranking measures do not depend on thresholds: for the
#: classifiers of this package, also in a pipeline or a search, they use the scores themselves; for other classifiers
#: ``decision_function`` if there is one, otherwise ``predict_proba``.  Unknown entries of a test fold are left out.
#: With one label no row can be ranked, so ranking_loss, average_precision and one_error are NaN with a RuntimeWarning.
#: The multi-output classifiers of scikit-learn work too, unless a label has only one value in a training fold, because
#: scikit-learn then does not show which column of their probabilities is meant.
SCORERS: dict[str, Any] = {measure.function.__name__: _Scorer(measure) for measure in metrics.MEASURES.values()}
