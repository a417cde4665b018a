"""Tables of numbers alone: what is no number or label is an error that names the cell."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.words import BLANKS, HOLES
from ._columns import Cells, Numbers, Table
from ._files import DataFileError, Problem, place
from ._labels import label_columns
from ._numbers import number_problem
from ._roles import Split
from ._shapes import rows_of

SWAPPED = str.maketrans(",.", ".,")  # a decimal comma becomes a point, and a point an invalid character


def plain_contents(
    table: Table, split: Split, *, missing: bool = False, decimal: str = ".", all_known: bool = False
) -> tuple[Any, NDArray[np.int64] | None]:
    """Return features (n, D), of which all are numbers, and labels (n, C), or raise for the first other cell.

    Parameters
    ----------
    table : Table
    split : Split
    missing : bool, default=False
        Whether features may be missing.
    decimal : str, default="."
        Decimal mark of numbers in texts.
    all_known : bool, default=False
        Whether every label must be known.
    """
    problems: list[Problem] = []
    columns = [] if table.sparse is not None else [table.columns[name] for name in split.features]
    found = [_values(name, cells, missing, decimal, problems) for name, cells in zip(split.features, columns)]  # noqa: B905
    target = label_columns(table, split, problems, all_known=all_known) if split.labels else None
    if problems:
        first = min(problems, key=lambda problem: int(problem.rows[0]))
        raise DataFileError(f"{place(column=first.name, **table.place(int(first.rows[0])))}: {first.why}.")
    if table.sparse is not None:
        return table.sparse, target
    X = np.empty((table.n_rows, len(found)), np.result_type(*found) if found else np.float64)
    for j, values in enumerate(found):
        X[:, j] = values
    return X, target


def _values(name: str, cells: Cells, missing: bool, decimal: str, problems: list[Problem]) -> NDArray[Any]:
    """Return a column as floats; what is wrong is added to `problems`."""
    if isinstance(cells, Numbers) and cells.fit(decimal):
        values = cells.values
        for rows, text in ((np.isnan(values) & (not missing), ""), (np.isinf(values), "inf")):
            if rows.any():
                problems.append(Problem(name, np.flatnonzero(rows), text, why=number_problem(text) or ""))
        return values
    texts = cells.texts
    numbers: list[float | None] = []
    for text in texts.different:
        plain = text.translate(SWAPPED) if decimal == "," else text
        if missing and text.strip(BLANKS).lower() in HOLES:
            numbers.append(np.nan)
        elif texts.numbers is not None and text in texts.numbers:
            numbers.append(texts.numbers[text])
        else:
            numbers.append(None if number_problem(plain) else float(plain))
    for code, rows in rows_of(texts.codes, [code for code, number in enumerate(numbers) if number is None]):
        text = texts.different[code]
        plain = text.translate(SWAPPED) if decimal == "," else text
        problems.append(Problem(name, rows, text, why=number_problem(plain) or ""))
    return np.array([np.nan if number is None else number for number in numbers] or [np.nan])[texts.codes]
