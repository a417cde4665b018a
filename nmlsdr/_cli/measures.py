"""evaluate's numbers: one row a label, and the article's seven measures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nmlsdr._errors import printable

from .console import RunError
from .writing import open_output

__all__ = ["LabelRow", "label_rows", "label_table", "write_measures"]

_WIDTH = 40  # characters of a label's name in the table


class LabelRow(NamedTuple):
    """How one label was predicted; NaN where a share has nothing to count."""

    label: str
    positives: int
    predicted: int
    precision: float
    recall: float
    f1: float
    ap: float


def label_rows(Y: np.ndarray, labels: np.ndarray, scores: np.ndarray, names: Sequence[str]) -> list[LabelRow]:
    """Return a row for each label.

    Parameters
    ----------
    Y, labels : ndarray of shape (n, C)
        True and predicted labels, 0 or 1; true ones that are -1 are not counted.
    scores : ndarray of shape (n, C)
        In [0, 1], for the average precision over the rows.
    names : sequence of str, length C

    Returns
    -------
    list of LabelRow

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1], [1], [0], [0]])
    >>> label_rows(Y, np.array([[1], [0], [1], [0]]), np.array([[.9], [.4], [.6], [.1]]), ["flu"])[0][1:]
    (2, 2, 0.5, 0.5, 0.5, 0.8333333333333333)
    """
    from sklearn.metrics import average_precision_score

    rows = []
    for c, name in enumerate(names):
        known = Y[:, c] != -1
        true, given = Y[known, c] == 1, labels[known, c] == 1
        hits, n_true, n_given = int((true & given).sum()), int(true.sum()), int(given.sum())
        rows.append(
            LabelRow(
                name,
                n_true,
                n_given,
                hits / n_given if n_given else float("nan"),
                hits / n_true if n_true else float("nan"),
                2 * hits / (n_true + n_given) if n_true + n_given else float("nan"),
                float(average_precision_score(true, scores[known, c])) if n_true else float("nan"),
            )
        )
    return rows


def label_table(rows: Sequence[LabelRow]) -> str:
    """Return the rows as text."""
    names = [printable(row.label) for row in rows]
    names = [name if len(name) <= _WIDTH else name[: _WIDTH - 3] + "..." for name in names]
    width = max(len("label"), *map(len, names))
    lines = [f"{'label':<{width}}  positives  predicted  precision  recall     F1     AP"]
    for name, row in zip(names, rows, strict=True):
        shares = [f"{value:.3f}" if value == value else "-" for value in row[3:]]
        lines.append(
            f"{name:<{width}}  {row.positives:>9}  {row.predicted:>9}  {shares[0]:>9}  {shares[1]:>6}  {shares[2]:>5}  "
            f"{shares[3]:>5}"
        )
    return "\n".join(lines) + "\n"


def write_measures(path: str, measures: dict[str, float], rows: Sequence[LabelRow], inputs: list[str]) -> None:
    """Write the seven measures, and with JSON the rows of the labels too."""
    if path.lower().endswith(".csv"):
        text = "measure,value\n" + "".join(f"{name},{value!r}\n" for name, value in measures.items())
    else:
        known: dict[str, Any] = {name: _or_none(value) for name, value in measures.items()}
        known["labels"] = [{key: _or_none(value) for key, value in row._asdict().items()} for row in rows]
        text = json.dumps(known, indent=2) + "\n"
    try:
        with open_output(path, inputs) as file:
            file.write(text.encode())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunError(f"The output {path!r} could not be written ({error.strerror or error}).") from None


def _or_none(value: Any) -> Any:
    """A NaN, which JSON has not, as null."""
    return value if value == value else None
