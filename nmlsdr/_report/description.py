"""The description of a table and of one fit on all its rows, as plain data: labels, components, embedding."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..inspection import correlations, drawn_rows, two_axes

Facts = dict[str, Any]

MOST_POINTS = 3000  # drawn; a page with more takes seconds to open and shows no more
MOST_AXES = 16  # components that the picture can show
MOST_COMPONENTS = 8
MOST_FEATURES = 8  # of each component


def describe_components(
    method: Any, y: NDArray[Any], feature_names: Sequence[str], label_names: Sequence[str]
) -> Facts:
    """Eigenvalues, and for each component the features with the largest weights and the most correlated labels."""
    top = float(np.max(method.eigenvalues_, initial=0.0))
    values = method.eigenvalues_.tolist()
    shares = method.dependence_ratio_.tolist()
    bars = [
        {"number": i, "eigenvalue": value, "height": value / top if top > 0 else 0.0, "share": share}
        for i, (value, share) in enumerate(zip(values, shares, strict=True), start=1)
    ]
    along = correlations(method.embedding_[:, :MOST_COMPONENTS], y)
    made = []
    for i, weights in enumerate(np.asarray(method.components_[:MOST_COMPONENTS], dtype=np.float64)):
        order = np.argsort(-np.abs(weights), kind="stable")[:MOST_FEATURES]
        largest = float(np.abs(weights[order[0]])) or 1.0
        features = [
            {"name": feature_names[j], "weight": float(weights[j]), "length": float(abs(weights[j]) / largest)}
            for j in order
        ]
        strongest = [c for c in np.argsort(-np.abs(along[i]), kind="stable")[:4] if abs(along[i, c]) >= 0.05]
        labels = [{"name": label_names[c], "correlation": float(along[i, c])} for c in strongest]
        made.append({"number": i + 1, "features": features, "labels": labels})
    n_dropped = int((method.feature_weights_ == 0).sum())
    return {"eigenvalues": bars, "made": made, "n_features": len(feature_names), "n_dropped": n_dropped}


def describe_neighbors(graph: Any, y: NDArray[Any], names: Sequence[str]) -> list[Facts]:
    """How often neighbours of rows with a label have it too, by decreasing lift over all rows; labels of 5 rows up."""
    on = (y == 1).astype(np.float64)
    at = (y != -1).astype(np.float64)
    hits = (on * (graph @ on)).sum(axis=0)
    pairs = (on * (graph @ at)).sum(axis=0)
    labels = [
        {"name": names[c], "near": float(hits[c] / pairs[c]), "share": float(on[:, c].sum() / at[:, c].sum())}
        for c in range(len(names))
        if on[:, c].sum() >= 5 and pairs[c]
    ]
    return sorted(labels, key=lambda label: -label["near"] / label["share"])


def describe_embedding(
    Z: NDArray[Any], y: NDArray[Any], row_names: Sequence[str], suspects: Sequence[tuple[int, int]]
) -> Facts:
    """Points to draw: at most `MOST_POINTS`, the rows of the suspects (row, label) among them.

    Positions are scaled to 0..1000. ``best``: for each label the two components that correlate most with it.
    """
    n, n_labels = y.shape
    ringed = np.isin(np.arange(n), [i for i, _ in suspects])
    drawn = np.flatnonzero(drawn_rows(n, MOST_POINTS, ringed))
    Z = Z[:, :MOST_AXES]
    axes = two_axes(Z)
    # A few far rows would squeeze all others together, so they are drawn at the border.
    low, high = np.quantile(axes, [0.002, 0.998], axis=0)
    width = np.where(high > low, high - low, 1.0)
    place = (20 + 960 * np.clip((axes[drawn] - low) / width, -0.02, 1.02)).round()
    best = np.sort(np.argsort(-np.abs(correlations(Z, y)), axis=0, kind="stable")[:2], axis=0)
    return {
        "n_drawn": len(drawn),
        "n_rows": n,
        "one_component": Z.shape[1] == 1,
        "n_axes": axes.shape[1],
        "places": place.astype(int).tolist(),
        "rows": drawn.tolist(),
        "ids": [row_names[i] for i in drawn.tolist()],
        "labels": [np.flatnonzero(row_labels == 1).tolist() for row_labels in y[drawn]],
        "unknown": [
            None if (row_labels == -1).all() else np.flatnonzero(row_labels == -1).tolist() for row_labels in y[drawn]
        ],
        "best": [[0, 1]] * n_labels if Z.shape[1] == 1 else best.T.tolist(),
        "suspects": [[int(i) for i, label in suspects if label == c] for c in range(n_labels)],
    }


# ---------------------------------------------------------------- what was read

MOST_NAMES = 30  # constant columns that are listed; the rest are only counted
MOST_TOGETHER = 20  # most frequent labels in the table of co-occurrence; a larger one cannot be read


def describe_table(
    X: Any, y: NDArray[Any], *, source: str, feature_names: Sequence[str], empty_is: str = "unknown"
) -> Facts:
    """Sizes of the table, its constant columns, and its columns with missing values.

    Parameters
    ----------
    X : ndarray or csr_array (n, D)
        As read, before anything is imputed; one number for each column of a raw table.
    y : ndarray (n, C)
        The annotations: 0, 1 and -1 for unknown entries.
    source : str
        Name of the file.
    feature_names : sequence of str
    empty_is : {"unknown", "no"}, default="unknown"
        How empty cells of labels were read.

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
    annotated = y[(y != -1).any(axis=1)]
    return {
        "source": source,
        "empty_is": empty_is,
        "n_rows": int(n_rows),
        "n_features": int(n_features),
        "sparse": bool(sparse.issparse(X)),
        "n_labels": int(y.shape[1]),
        "n_labeled": len(annotated),
        "n_unknown_entries": int((annotated == -1).sum()),
        "n_without_label": int((annotated != 1).all(axis=1).sum()),
        "labels_per_row": float((annotated == 1).sum(axis=1).mean()) if len(annotated) else 0.0,
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
    return np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0), np.isnan(X).sum(axis=0)


def describe_labels(y: NDArray[Any], names: Sequence[str]) -> Facts:
    """How often each label is given, and how often the most frequent labels are given together.

    Returns
    -------
    dict
        ``labels``: one entry for each label, by decreasing frequency, with its number in ``index``.  ``together``:
        for the most frequent labels, how many rows have both, and as a share of the rows with the first of the two.
    """
    on = y == 1
    positives = on.sum(axis=0)
    known = (y != -1).sum(axis=0)
    share = positives / np.maximum(known, 1)
    order = np.argsort(-positives, kind="stable").tolist()
    labels = [
        {"index": c, "name": names[c], "positives": int(positives[c]), "known": int(known[c]), "share": float(share[c])}
        for c in order
    ]
    shown = [c for c in order[:MOST_TOGETHER] if positives[c]]
    pairs = on[:, shown].T.astype(np.float64) @ on[:, shown]
    of_first = (pairs / np.diag(pairs)[:, None]).round(4)
    together = {"names": [names[c] for c in shown], "counts": pairs.astype(int).tolist(), "shares": of_first.tolist()}
    return {"labels": labels, "together": together, "n_empty": int((positives == 0).sum())}
