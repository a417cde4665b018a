"""What was read, as plain data: rows, columns, labels, and which labels occur together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Facts = dict[str, Any]

MOST_NAMES = 30  # constant columns that are listed; the rest are only counted
MOST_TOGETHER = 20  # most frequent labels in the table of co-occurrence; a larger one cannot be read


def describe_table(X: Any, given: NDArray[np.bool_], known: NDArray[np.bool_], *, source: str,
                   feature_names: Sequence[str]) -> Facts:  # fmt: skip
    """Sizes of the table, its constant columns, and its columns with missing values.

    Parameters
    ----------
    X : ndarray or csr_array (n, D)
        As read, before anything is imputed or encoded; of dtype object if columns contain texts, where an empty text
        is missing.
    given : ndarray (n, C), bool
        The annotations.
    known : ndarray (n, C), bool
        Which annotations are known.
    source : str
        Name of the file.
    feature_names : sequence of str

    Returns
    -------
    dict
    """
    n_rows, n_features = X.shape
    lowest, highest, n_missing = _columns(X)
    with np.errstate(invalid="ignore"):
        constant = np.flatnonzero(~(highest > lowest))
    holes = np.flatnonzero(n_missing)
    holes = holes[np.argsort(-n_missing[holes], kind="stable")]
    labeled = known.any(axis=1)
    return {
        "source": source,
        "n_rows": int(n_rows),
        "n_features": int(n_features),
        "sparse": bool(sparse.issparse(X)),
        "n_labels": int(given.shape[1]),
        "n_labeled": int(labeled.sum()),
        "n_unknown_entries": int((~known[labeled]).sum()),
        "n_without_label": int((labeled & ~(given & known).any(axis=1)).sum()),
        "labels_per_row": float((given & known)[labeled].sum(axis=1).mean()) if labeled.any() else 0.0,
        "n_constant": len(constant),
        "constant": [feature_names[j] for j in constant[:MOST_NAMES]],
        "n_missing": len(holes),
        "missing": [
            {"name": feature_names[j], "cells": int(n_missing[j]), "share": float(n_missing[j] / n_rows)}
            for j in holes[:MOST_NAMES]
        ],
    }


def _columns(X: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    """Lowest value, highest value and number of missing values of each column."""
    if sparse.issparse(X):
        lowest, highest = (getattr(X, side)(axis=0).toarray().ravel() for side in ("min", "max"))
        return lowest, highest, np.zeros(X.shape[1], dtype=np.intp)
    if X.dtype == object:
        X = np.column_stack([_as_numbers(X[:, j]) for j in range(X.shape[1])])
    missing = np.isnan(X)
    lowest = np.fmin.reduce(X, axis=0)
    highest = np.fmax.reduce(X, axis=0)
    return lowest, highest, missing.sum(axis=0)


def _as_numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    """Return a column as floats: texts become their ranks, empty texts NaN."""
    if not any(isinstance(cell, str) for cell in column):
        return column.astype(np.float64)
    texts, codes = np.unique(column.astype(str), return_inverse=True)
    return np.where(texts[codes] == "", np.nan, codes.astype(np.float64))


def describe_labels(given: NDArray[np.bool_], known: NDArray[np.bool_], names: Sequence[str]) -> Facts:
    """How often each label is given, and how often the most frequent labels are given together.

    Returns
    -------
    dict
        ``labels``: one entry for each label, by decreasing frequency, with its number in ``index``.  ``together``:
        for the most frequent labels, how many rows have both, and as a share of the rows with the first of the two.
    """
    on = given & known
    positives, n_known = on.sum(axis=0), known.sum(axis=0)
    order = np.argsort(-positives, kind="stable")
    labels = [
        {
            "index": int(c),
            "name": names[c],
            "positives": int(positives[c]),
            "known": int(n_known[c]),
            "share": float(positives[c] / n_known[c]) if n_known[c] else 0.0,
        }
        for c in order
    ]
    shown = order[:MOST_TOGETHER]
    shown = shown[positives[shown] > 0]
    both = on[:, shown].T.astype(np.float64) @ on[:, shown]
    share = both / np.maximum(np.diag(both), 1)[:, None]
    together = {
        "names": [names[c] for c in shown],
        "counts": both.astype(int).tolist(),
        "shares": share.round(4).tolist(),
    }
    return {"labels": labels, "together": together, "n_empty": int((positives == 0).sum())}
