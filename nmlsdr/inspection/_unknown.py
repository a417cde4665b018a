"""Active learning: which unknown entries, or which rows, to label next."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from .._checks.arguments import check_choice, check_count
from .._checks.labels import Labels, check_labels
from .._errors import InputError
from ..model_selection import columns_of_classes
from ._row_checks import hash_rows


class Queries(NamedTuple):
    """Entries to label, the first one first; each attribute has one value for each of them.

    Attributes
    ----------
    row, label : ndarray of intp
        Row number and label number. For whole rows, the label whose turn it was; for 1-D y, the likeliest class.
    probability : ndarray of float64
        Probability that the row has the label.
    """

    row: NDArray[np.intp]
    label: NDArray[np.intp]
    probability: NDArray[np.float64]


def rank_unknown(
    model: Any,
    X: Any,
    y: Any,
    n: int | None = None,
    by: str = "entry",
    random_state: Any = 0,
    *,
    labeled: Any = None,
    verdicts: ArrayLike | None = None,
) -> Queries:
    """List the unknown labels to ask a person about next (active learning by uncertainty sampling, label by label).

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted classifier with ``predict_proba``, such as `nmlsdr.ResidualPropagation`.
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
        The rows. They may be those of the fit or others.
    y : array-like or sparse matrix of shape (n_samples, n_labels) or (n_samples,)
        Their labels. Only unknown entries are listed.
    n : int, default=None
        Number of entries or rows; None: all of them.
    by : {"entry", "row"}, default="entry"
        Whether single entries or whole rows are listed. A row is listed once, and only if an entry of it is unknown.
    random_state : int, Generator or None, default=0
        Determines the order in which the labels take turns.
    labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
        True for labelled rows, or for known entries. None: y itself shows what is unknown.
    verdicts : array-like of shape (n_samples, n_labels), default=None
        What people decided, as `read_verdicts` returns it. Entries with a verdict, also -2 (it cannot be told), are
        not listed.

    Returns
    -------
    Queries
        At most `n` entries or rows.

    Raises
    ------
    ValueError
        If the model has no ``predict_proba``, if it predicts other labels than those of y, if lengths differ, or if an
        argument is invalid.

    See Also
    --------
    rank_suspects : The known labels that are probably wrong.

    Notes
    -----
    The labels take turns, in a random order that is repeated. Each takes the unknown entry of its column with the
    largest p (1 - p), where p is the probability that the model predicts. For whole rows each takes such a row among
    those that are not listed yet. Of equal entries the first is decided by a hash of the cells of the row, so that the
    order of the rows does not matter; only equal rows keep their order.

    The first 50 or so labelled rows should be drawn at random, because the model has to know something before it can
    tell what it does not know. On twelve data sets that were not used in development, with 100 labelled rows at the
    start and a noise rate of 10 %, this rule gained 5.1 points of macro average precision over random rows if single
    entries are labelled (better on 10 of 12) and 1.7 points for whole rows (9 of 12). Ranking the entries of all labels
    in one list gains less.

    1-D y: the rows with the smallest largest probability come first ("least confident"). This was not measured.

    The method for a single label is uncertainty sampling of Lewis and Gale, "A sequential algorithm for training text
    classifiers", SIGIR 1994.

    Examples
    --------
    Each label asks about the row in the middle, where it is least sure.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.multioutput import MultiOutputClassifier
    >>> X = [[0.0], [1.0], [2.4], [3.5], [4.0]]
    >>> y = [[0, 1], [0, 1], [-1, -1], [1, -1], [1, 0]]
    >>> rows = [0, 1, 4]
    >>> model = MultiOutputClassifier(LogisticRegression()).fit([X[i] for i in rows], [y[i] for i in rows])
    >>> queries = rank_unknown(model, X, y)
    >>> queries.row, queries.label
    (array([2, 2, 3]), array([0, 1, 1]))
    """
    check_choice(by, "by", "entry", "row")
    if n is not None:
        check_count(n, "n", least=0)
    if hasattr(X, "get_params") or not hasattr(model, "predict_proba"):
        raise InputError(f"{type(model).__name__} has no predict_proba; give a fitted classifier, then X and y.")
    if len(shape := np.shape(X)) != 2:
        raise InputError(f"X must be 2-D, one row for each sample, got {len(shape)} dimensions.")
    labels = check_labels(y, n_samples=shape[0], labeled=labeled)
    unknown = _unknown_entries(labels, verdicts)
    rows = np.flatnonzero(unknown.any(axis=1))
    n_listed = len(rows) * unknown.shape[1] if n is None else int(n)
    if not len(rows) or not n_listed:
        return Queries(rows[:0], rows[:0], np.zeros(0))
    candidates = _safe_indexing(X, rows)
    p = _probabilities(model, candidates, labels)
    hashes = hash_rows(candidates, len(rows))
    if labels.single:
        place = np.lexsort((hashes, p.max(axis=1)))[:n_listed]
        label = p[place].argmax(axis=1)
    else:
        turns = np.random.default_rng(random_state).permutation(p.shape[1])
        place, label = _by_turns(p, unknown[rows], hashes, turns, n_listed, by == "row")
    return Queries(rows[place], label, p[place, label])


def _unknown_entries(labels: Labels, verdicts: ArrayLike | None) -> NDArray[np.bool_]:
    """Which entries a person can be asked about; in 1-D y all of a row."""
    unknown = ~labels.known
    if verdicts is not None:
        V = np.asarray(verdicts, dtype=np.float64)
        if V.shape != unknown.shape:
            raise InputError(f"verdicts must have the shape of the labels, {unknown.shape}, got {V.shape}.")
        unknown &= np.isnan(V) | (V == -1)
    return unknown & unknown.all(axis=1, keepdims=True) if labels.single else unknown


def _probabilities(model: Any, X: Any, labels: Labels) -> NDArray[np.float64]:
    """Probabilities of these rows, a column for each label of y."""
    predicted = model.predict_proba(X)
    classes = getattr(model, "classes_", None)
    n_predicted = len(predicted) if isinstance(predicted, list) else np.shape(predicted)[1]
    n_labels = labels.Y.shape[1]
    one_label = n_labels == 1 and isinstance(classes, np.ndarray)  # scikit-learn predicts both of its classes
    if labels.single:
        unequal = classes is None or not set(np.asarray(classes).tolist()) <= set(labels.classes.tolist())
    else:
        unequal = n_predicted != n_labels and not one_label
    if unequal:
        noun = "classes" if labels.single else "labels"
        raise InputError(f"The model predicts {n_predicted} {noun}, y has {n_labels}; give the {noun} of its fit.")
    p = columns_of_classes(predicted, classes, labels)
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError("predict_proba must return numbers in [0, 1], got others; give a model that predicts them.")
    return p


def _by_turns(
    p: NDArray[np.float64],
    unknown: NDArray[np.bool_],
    hashes: NDArray[np.uint64],
    turns: NDArray[np.intp],
    n: int,
    whole_rows: bool,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places and labels of the n entries, or rows, that the labels take in these turns."""
    columns = [_uncertain(p[:, c], unknown[:, c], hashes, n) for c in turns]
    place, turn = _rows_by_turns(columns, n) if whole_rows else _entries_by_turns(columns)
    return place[:n], turns[turn[:n]]


def _uncertain(
    p: NDArray[np.float64], unknown: NDArray[np.bool_], hashes: NDArray[np.uint64], n: int
) -> NDArray[np.intp]:
    """Places of the n unknown entries of a label with the largest p (1 - p); of equal ones by the hash of the row."""
    places = np.flatnonzero(unknown)
    size = p[places] * (1.0 - p[places])
    if n < len(places):
        least = np.partition(size, len(size) - n)[len(size) - n]
        places = places[size >= least]
        size = size[size >= least]
    return places[np.lexsort((hashes[places], -size))[:n]]


def _entries_by_turns(columns: list[NDArray[np.intp]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first entry of each column, then the second of each, ...: their places and the numbers of their columns."""
    place = np.concatenate(columns)
    turn = np.repeat(np.arange(len(columns)), [len(column) for column in columns])
    rounds = np.concatenate([np.arange(len(column)) for column in columns])
    order = np.lexsort((turn, rounds))
    return place[order], turn[order]


def _rows_by_turns(columns: list[NDArray[np.intp]], n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The columns in turn take their first row that is not listed yet, until n are; as `_entries_by_turns`."""
    waiting = {turn: iter(column.tolist()) for turn, column in enumerate(columns)}
    listed: dict[int, int] = {}
    while waiting and len(listed) < n:
        for turn, candidates in list(waiting.items()):
            place = next((place for place in candidates if place not in listed), None)
            if place is None:
                del waiting[turn]
            else:
                listed[place] = turn
    return np.array(list(listed), dtype=np.intp), np.array(list(listed.values()), dtype=np.intp)
