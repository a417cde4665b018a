"""Why an annotation is doubted: which words and columns of its row speak for the label and against it.

This is the linear part of the model, the ridge regression of `ResidualPropagation`. The part of a feature is its
coefficient times the deviation of its value from the mean, so that a word that every text has says little; that of a
column is the sum over its features. Words that the row lacks are not named.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

N_REASONS = 3  # on either side
LEAST_SHARE = 0.05  # of the largest part of an annotation; smaller ones are not shown


class Reason(NamedTuple):
    """A word or a column, and its part in the score of a label; above 0 it speaks for the label.

    Attributes
    ----------
    name : str
    feature : int
        The feature of a word; -1 for a column.
    part : float
    """

    name: str
    feature: int
    part: float


class Features(NamedTuple):
    """What the features of a method are called.

    Attributes
    ----------
    items : list of str
        Columns first, then words.
    n_columns : int
    of_feature : ndarray of shape (n_features,), intp
        The item of each feature: a column can have several features, a word has one.
    """

    items: list[str]
    n_columns: int
    of_feature: NDArray[np.intp]


def name_features(columns: Sequence[str], plan: Any) -> Features:
    """Return the items of the features; `columns` has the column of each, `plan` the columns that are texts."""
    texts = {} if plan is None else {column.name: column for column in plan.used if column.kind == "words"}
    names = [name for name in dict.fromkeys(columns) if name not in texts]
    places = {name: j for j, name in enumerate(names)}
    words = iter([word_of(name, text.name) for text in texts.values() for name in text.feature_names])
    items = list(names)
    of_feature = np.empty(len(columns), dtype=np.intp)
    for f, column in enumerate(columns):
        if column in places:
            of_feature[f] = places[column]
        else:
            of_feature[f] = len(items)
            items.append(next(words))
    return Features(items, len(names), of_feature)


def word_of(feature: str, column: str) -> str:
    """Return the word in the name of a feature of a text column.

    Examples
    --------
    >>> word_of("note: fever", "note")
    'fever'
    """
    return feature[len(column) :].lstrip("=: ")


def list_reasons(
    method: Any, X: Any, rows: NDArray[np.intp], labels: NDArray[np.intp], features: Features
) -> list[list[Reason]]:
    """Return the strongest reasons for and against the label of each annotation, three of each at most.

    Parameters
    ----------
    method : estimator
        With ``coef_`` (n_labels, n_features) and ``mean_``.
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows that the method was fitted on.
    rows, labels : ndarray of shape (n_annotations,)
    features : Features

    Returns
    -------
    list of list of Reason
        By the size of the parts: first those for the label, then those against it.
    """
    n_columns = features.n_columns
    in_column = features.of_feature < n_columns
    columns = features.of_feature[in_column]
    offsets = {
        c: np.bincount(columns, (method.coef_[c] * method.mean_)[in_column], n_columns)
        for c in np.unique(labels).tolist()
    }
    lowest = _lowest_values(X)
    reasons = []
    for i, c in zip(rows.tolist(), labels.tolist(), strict=True):
        present, values = _features_of_row(X, i)
        products = method.coef_[c, present] * values
        is_column = in_column[present]
        is_word = ~is_column & (values > lowest[present])
        parts = np.bincount(features.of_feature[present[is_column]], products[is_column], n_columns) - offsets[c]
        words = present[is_word]
        word_parts = products[is_word] - method.coef_[c, words] * method.mean_[words]
        candidates = [Reason(features.items[k], -1, float(parts[k])) for k in _largest(parts)]
        candidates += [
            Reason(features.items[features.of_feature[words[k]]], int(words[k]), float(word_parts[k]))
            for k in _largest(word_parts)
        ]
        reasons.append(_strongest(candidates))
    return reasons


def _lowest_values(X: Any) -> NDArray[np.float64]:
    """The value of each feature in rows that lack its word: 0, or less if features were centred."""
    return np.zeros(X.shape[1]) if sparse.issparse(X) else np.asarray(X).min(axis=0)


def _features_of_row(X: Any, i: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The numbers of the features of a row that are not 0, and their values."""
    if sparse.issparse(X):
        span = slice(X.indptr[i], X.indptr[i + 1])
        return X.indices[span], X.data[span]
    present = np.flatnonzero(X[i])
    return present, X[i][present]


def _largest(parts: NDArray[Any]) -> list[int]:
    """The numbers of the largest parts of either sign."""
    n = min(N_REASONS, len(parts))
    if not n:
        return []
    ends = (np.argpartition(sign * parts, n - 1)[:n] for sign in (-1.0, 1.0))
    return sorted({int(k) for end in ends for k in end})


def _strongest(candidates: Sequence[Reason]) -> list[Reason]:
    """The reasons with the largest parts of either sign, those for the label first."""
    least = LEAST_SHARE * max((abs(reason.part) for reason in candidates), default=0.0)
    strongest = []
    for sign in (1.0, -1.0):
        side = sorted((r for r in candidates if sign * r.part > least), key=lambda r: -sign * r.part)
        strongest += side[:N_REASONS]
    return strongest


def word_shares(X: Any, target: NDArray[Any], pairs: Collection[tuple[int, int]]) -> dict[tuple[int, int], list[float]]:
    """Return the percentages of the rows with a label and without it that have a word, for pairs (label, feature)."""
    by_column = X.tocsc() if sparse.issparse(X) else X
    lowest = _lowest_values(X)
    shares = {}
    for c, feature in pairs:
        column = by_column[:, [feature]]
        values = (column.toarray() if sparse.issparse(column) else np.asarray(column)).ravel()
        has_word = values > lowest[feature]
        groups = (has_word[target[:, c] == value] for value in (1, 0))
        shares[c, feature] = [_percentage(float(group.mean()) if len(group) else 0.0) for group in groups]
    return shares


def _percentage(share: float) -> float:
    """A percentage with a decimal if it is small."""
    value = 100.0 * share
    return round(value) if value >= 9.5 else round(value, 1)


def reason_columns(reasons: Sequence[Sequence[Reason]]) -> list[tuple[str, NDArray[Any]]]:
    """Return the columns of a list file that hold the reasons, such as ``"fever" +0.31; age +0.12``."""
    sides = {"speaks_for": 1.0, "speaks_against": -1.0}
    return [
        (name, np.array([describe(row_reasons, sign) for row_reasons in reasons], dtype=object).reshape(len(reasons)))
        for name, sign in sides.items()
    ]


def describe(reasons: Sequence[Reason], sign: float) -> str:
    """Return the reasons of one sign as a text."""
    return "; ".join(
        f'"{name}" {part:+.2g}' if feature >= 0 else f"{name} {part:+.2g}"
        for name, feature, part in reasons
        if part * sign > 0
    )
