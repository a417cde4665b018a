"""A table and one fit on all its rows as plain data: labels, embedding, components."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inspection._embedding import drawn_rows, two_axes

Facts = dict[str, Any]

MOST_POINTS = 3000  # drawn; a page with more takes seconds to open and shows no more
MOST_AXES = 16  # components that the picture can show
MOST_COMPONENTS = 8
MOST_FEATURES = 8  # of each component


def describe_components(
    method: Any, y: NDArray[Any], feature_names: Sequence[str], label_names: Sequence[str]
) -> Facts:
    """For each component the features with the largest weights and the most correlated labels."""
    along = correlations(method.embedding_[:, :MOST_COMPONENTS], y)
    made = []
    for i, weights in enumerate(np.asarray(method.components_[:MOST_COMPONENTS], dtype=np.float64)):
        order = np.argsort(-np.abs(weights), kind="stable")[:MOST_FEATURES]
        largest = float(np.abs(weights[order[0]])) or 1.0
        features = [
            {"name": feature_names[j], "weight": float(weights[j]), "length": float(abs(weights[j]) / largest)}
            for j in order
        ]
        made.append({"number": i + 1, "features": features, "labels": _strongest(along[i], label_names)})
    n_dropped = int((method.feature_weights_ == 0).sum())
    return {"made": made, "n_features": len(feature_names), "n_dropped": n_dropped}


def correlations(Z: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """Correlation of each component with each label, (d, C), over the rows where it is known; 0 if not defined."""
    found = np.zeros((Z.shape[1], y.shape[1]))
    for c, given in enumerate(y.T):
        rows = given != -1
        if rows.sum() > 2:
            a, b = np.asarray(Z[rows], dtype=np.float64), (given[rows] == 1).astype(np.float64)
            a, b = a - a.mean(axis=0), b - b.mean()
            lengths = np.sqrt((a * a).sum(axis=0) * (b @ b))
            found[:, c] = np.divide(b @ a, lengths, out=np.zeros(Z.shape[1]), where=lengths > 0)
    return found


def _strongest(correlation: NDArray[np.float64], names: Sequence[str], most: int = 4) -> list[Facts]:
    """The labels whose annotations correlate most with a component."""
    order = np.argsort(-np.abs(correlation), kind="stable")[:most]
    return [{"name": names[c], "correlation": float(correlation[c])} for c in order if abs(correlation[c]) >= 0.05]


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
        "labels": [np.flatnonzero(given == 1).tolist() for given in y[drawn]],
        "unknown": [None if (given == -1).all() else np.flatnonzero(given == -1).tolist() for given in y[drawn]],
        "best": [[0, 1]] * n_labels if Z.shape[1] == 1 else best.T.tolist(),
        "suspects": [[int(i) for i, label in suspects if label == c] for c in range(n_labels)],
    }


# ---------------------------------------------------------------- what was read


def describe_table(y: NDArray[Any], *, source: str, n_features: int, is_sparse: bool) -> Facts:
    """Sizes of the table, and how much of it is labelled.

    Parameters
    ----------
    y : ndarray (n, C)
        The annotations: 0, 1 and -1 for unknown entries.
    source : str
        Name of the file.
    n_features : int
        Number of columns that are features.
    is_sparse : bool
        Whether the file stores only what is not 0.

    Returns
    -------
    dict
    """
    annotated = y[(y != -1).any(axis=1)]
    return {
        "source": source,
        "n_rows": len(y),
        "n_features": n_features,
        "sparse": is_sparse,
        "n_labels": int(y.shape[1]),
        "n_labeled": len(annotated),
        "n_unknown_entries": int((annotated == -1).sum()),
        "n_without_label": int((annotated != 1).all(axis=1).sum()),
        "labels_per_row": float((annotated == 1).sum(axis=1).mean()) if len(annotated) else 0.0,
    }


def describe_labels(y: NDArray[Any], names: Sequence[str]) -> Facts:
    """How often each label is given.

    Returns
    -------
    dict
        ``labels``: one entry for each label, by decreasing frequency, with its number in ``index``.
    """
    positives, n_known = (y == 1).sum(axis=0), (y != -1).sum(axis=0)
    labels = [
        {
            "index": int(c),
            "name": names[c],
            "positives": int(positives[c]),
            "known": int(n_known[c]),
            "share": float(positives[c] / n_known[c]) if n_known[c] else 0.0,
        }
        for c in np.argsort(-positives, kind="stable")
    ]
    return {"labels": labels, "n_empty": int((positives == 0).sum())}
