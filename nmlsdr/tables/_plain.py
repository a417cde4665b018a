"""Tables of numbers alone: what is no number or label is an error that names the cell."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.words import BLANKS, HOLES
from ._columns import Cells, Numbers, Table, Texts
from ._files import DataFileError, place
from ._labels import label_columns
from ._number_parsing import decimal_mark, is_number, number_problem
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
    decimal = decimal or _decimal_of([table.columns[name] for name in features])
    columns = [_values(name, table.columns[name], complete, decimal, problems) for name in features]
    target = label_columns(table, split, problems, all_known=complete) if split.labels else None
    if problems:
        first = min(problems, key=lambda problem: int(problem.rows[0]))
        raise DataFileError(f", {table.unit} {table.lines[first.rows[0]]}{place(column=first.name)}: {first.why}.")
    data: Any = table.sparse
    if data is None:  # in float32 if all columns are
        data = np.column_stack([np.empty((table.n_rows, 0), np.float32), *columns])
    return data, target


def _decimal_of(columns: Iterable[Cells]) -> str:
    """Return the decimal mark of numbers in texts: a comma if that of some is one, and that of none is a point."""
    texts = (text.strip(BLANKS) for cells in columns if isinstance(cells, Texts) for text in cells.different)
    marks = {decimal_mark(text) for text in texts if is_number(text)}
    return "," if "," in marks and "." not in marks else "."


def _values(name: str, cells: Cells, complete: bool, decimal: str, problems: list[Problem]) -> NDArray[Any]:
    """Return a column as floats; its first cell that is no number is added to `problems`."""
    if isinstance(cells, Numbers) and cells.fit(decimal) and _are_allowed(cells.values, complete):
        return cells.values
    texts = cells.texts
    numbers = dict(texts.numbers or {})
    for code, text in enumerate(texts.different):
        if text not in numbers:
            plain = text.translate(SWAPPED) if decimal == "," else text
            value, why = _cell_value(plain, complete)
            if why is not None:
                problems.append(Problem(name, np.flatnonzero(texts.codes == code), text, why=why))
                break
            numbers[text] = value
    return np.array([numbers.get(text, np.nan) for text in texts.different] or [np.nan])[texts.codes]


def _are_allowed(values: NDArray[Any], complete: bool) -> bool:
    """Whether no number is infinite, and none is missing if the table must be complete."""
    return not (np.isinf(values) | (np.isnan(values) & complete)).any()


def _cell_value(text: str, complete: bool) -> tuple[float, str | None]:
    """Return the number in a cell, NaN for a missing value, and what is wrong with the cell, if something is."""
    if not complete and text.strip(BLANKS).lower() in HOLES:
        return np.nan, None
    why = number_problem(text)
    return (float(text), None) if why is None else (np.nan, why)
