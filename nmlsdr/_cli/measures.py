"""The output of evaluate: a table with one row per label, and the article's seven measures."""

import json
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from nmlsdr._errors import printable
from nmlsdr._report.trial import LabelScores

from .writing import open_output

_WIDTH = 40  # characters of a label's name in the table


def label_table(rows: Sequence[LabelScores]) -> str:
    """Return the rows as text."""
    names = [printable(row.label) for row in rows]
    names = [name if len(name) <= _WIDTH else name[: _WIDTH - 3] + "..." for name in names]
    width = max(len("label"), *map(len, names))
    lines = [f"{'label':<{width}}  positives  predicted  precision  recall     F1     AP"]
    for name, row in zip(names, rows, strict=True):
        shares = ["-" if value is None else f"{value:.3f}" for value in row[3:]]
        lines.append(
            f"{name:<{width}}  {row.positives:>9}  {row.predicted:>9}  {shares[0]:>9}  {shares[1]:>6}  {shares[2]:>5}  "
            f"{shares[3]:>5}"
        )
    return "\n".join(lines) + "\n"


def measure_table(compared: dict[str, dict[str, float]]) -> str:
    """Return the measures of the methods as text, and which method has the highest mean of them."""
    names = next(iter(compared.values()))
    if len(compared) == 1:
        return "  ".join(f"{name:>6}" for name in names) + "\n" + _values(names)
    width = max(map(len, compared))
    lines = [" " * width + "  " + "  ".join(f"{name:>6}" for name in names)]
    lines += [f"{method:<{width}}  {_values(measures)}" for method, measures in compared.items()]
    means = {method: fmean(value for value in one.values() if value == value) for method, one in compared.items()}
    return "\n".join([*lines, f"Best in the mean of the measures: {max(means, key=means.__getitem__)}."])


def _values(measures: dict[str, float]) -> str:
    return "  ".join(f"{value:6.3f}" for value in measures.values())


def write_measures(
    path: str,
    measures: dict[str, float],
    rows: Sequence[LabelScores],
    compared: dict[str, dict[str, float]],
    inputs: list[str],
) -> None:
    """Write the seven measures, and with JSON the rows of the labels and the methods compared too."""
    if path.lower().endswith(".csv"):
        text = "measure,value\n" + "".join(f"{name},{value!r}\n" for name, value in measures.items())
    else:
        known: dict[str, Any] = _without_nan(measures)
        known["labels"] = [row._asdict() for row in rows]
        if len(compared) > 1:
            known["compared"] = {method: _without_nan(one) for method, one in compared.items()}
        text = json.dumps(known, indent=2) + "\n"
    with open_output(path, inputs) as file:
        file.write(text.encode())


def _without_nan(measures: dict[str, float]) -> dict[str, float | None]:
    return {name: value if value == value else None for name, value in measures.items()}
