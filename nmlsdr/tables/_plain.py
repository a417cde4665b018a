"""Tables of numbers alone: what is no number or label is an error that names the cell."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.words import BLANKS, HOLES
from ._columns import Cells, Numbers, Table
from ._files import DataFileError, place
from ._labels import label_columns
from ._numbers import decimal_mark, is_number, number_problem
from ._problems import Problem
from ._roles import Split

SWAPPED = str.maketrans(",.", ".,")  # a decimal comma becomes a point, and a point an invalid character


def plain_contents(
    table: Table, split: Split, *, decimal: str | None = None, complete: bool = False
) -> tuple[Any, NDArray[np.int64] | None]:
    """Return features (n, D), of which all are numbers, and labels (n, C), or raise for the first other cell.

    Parameters
    ----------
    table : Table
    split : Split
    decimal : str, default=None
        Decimal mark of numbers in texts. None: a comma if that of some is one, and that of none is a point.
    complete : bool, default=False
        Whether a missing feature or label is an error; else they are NaN and -1.
    """
    problems: list[Problem] = []
    features = [] if table.sparse is not None else split.features
    texts = (text.strip(BLANKS) for name in features for text in getattr(table.columns[name], "different", ()))
    marks = {decimal_mark(text) for text in texts if is_number(text)}
    decimal = decimal or ("," if "," in marks and "." not in marks else ".")
    columns = [_values(name, table.columns[name], complete, decimal, problems) for name in features]
    target = label_columns(table, split, problems, all_known=complete) if split.labels else None
    if problems:
        first = min(problems, key=lambda problem: int(problem.rows[0]))
        raise DataFileError(f", {table.unit} {table.lines[first.rows[0]]}{place(column=first.name)}: {first.why}.")
    data: Any = table.sparse
    if data is None:  # in float32 if all columns are
        data = np.column_stack([np.empty((table.n_rows, 0), np.float32), *columns])
    return data, target


def _values(name: str, cells: Cells, complete: bool, decimal: str, problems: list[Problem]) -> NDArray[Any]:
    """Return a column as floats; its first cell that is no number is added to `problems`."""
    values = cells.values if isinstance(cells, Numbers) and cells.fit(decimal) else None
    if values is not None and not (np.isinf(values) | (np.isnan(values) & complete)).any():
        return values
    texts = cells.texts
    numbers = dict(texts.numbers or {})
    for code, text in enumerate(texts.different):
        plain = text.translate(SWAPPED) if decimal == "," else text
        if text in numbers:
            continue
        if not complete and plain.strip(BLANKS).lower() in HOLES:
            numbers[text] = np.nan
        elif why := number_problem(plain):
            problems.append(Problem(name, np.flatnonzero(texts.codes == code), text, why=why))
            break
        else:
            numbers[text] = float(plain)
    return np.array([numbers.get(text, np.nan) for text in texts.different] or [np.nan])[texts.codes]
