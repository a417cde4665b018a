"""Cells that are not what their column holds: a record of each such text, and what is said of them.

In the table of a fit they are errors. In a table of new rows few of them are read as missing values, and a remark says
so.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._errors import as_list, plural, shorten

MOST_SHOWN = 10
MOST_NEW = 0.01  # the fraction of a column's cells that may hold words which the fit did not see
MOST_BARE = 0.5  # the fraction that may be numbers without a unit, if the fit saw none of them
NO_UNIT = "no unit"  # why such a number is a problem
OTHER_MARK = "with another decimal mark"  # why numbers with one are, which are a single problem
ADVICE = {
    NO_UNIT: "write the unit of the fit behind numbers",
    OTHER_MARK: "write all numbers of a column with one decimal mark, that of the fit",
}
LABEL_ADVICE = "write a label as 0, 1, yes, no, or nothing if unknown (--label-list is for lists of labels)"


class Problem(NamedTuple):
    """A text that is not what its column holds: the column, the rows with it, whether it is a label, and why."""

    name: str
    rows: NDArray[np.int64]
    text: str
    is_label: bool = False
    why: str = ""

    @property
    def n_cells(self) -> int:
        """How many cells have the text."""
        return len(self.rows)

    @property
    def remark(self) -> str:
        """What is said behind the text: that its decimal mark is another one, if that is the reason."""
        return f" {self.why}" if self.why == OTHER_MARK else ""


def problems_in_words(problems: Sequence[Problem], place: str, *, in_python: bool = False) -> str:
    """Return one sentence about such cells; `place` is "row" or "line", and `in_python` chooses the form of advice."""
    problems = sorted(problems, key=lambda problem: int(problem.rows[0]))
    n_cells = sum(problem.n_cells for problem in problems)
    cells = "1 cell is" if n_cells == 1 else f"{n_cells} cells are"
    kind = "readable as a label" if all(problem.is_label for problem in problems) else "what the column holds"
    different = f" ({len(problems)} different texts)" if 1 < len(problems) < n_cells else ""
    shown = "; ".join(_cells_in_words(problem, place) for problem in problems[:MOST_SHOWN])
    hidden = f" and {plural(len(problems) - MOST_SHOWN, 'more text')}" if len(problems) > MOST_SHOWN else ""
    advice = "; ".join(_advice_on(problems, in_python))
    return f"{cells} not {kind}{different}: {shown}{hidden}; {advice}."


def _cells_in_words(problem: Problem, place: str) -> str:
    """Return the place of the first cell with a text, the text, and how many cells have it."""
    n_cells = f" ({problem.n_cells} cells)" if problem.n_cells > 1 else ""
    text = f"{shorten(problem.text)!r}{n_cells}{problem.remark}"
    return f"{place} {problem.rows[0]}, column {shorten(problem.name)!r}: {text}"


def _advice_on(problems: Sequence[Problem], in_python: bool) -> list[str]:
    """Return what to do about such cells: a clause for labels, for each reason, and for all other words."""
    advice = [LABEL_ADVICE] if any(problem.is_label for problem in problems) else []
    reasons = {problem.why for problem in problems}
    advice += [clause for why, clause in ADVICE.items() if why in reasons]
    words = [problem.text for problem in problems if not problem.is_label and problem.why not in ADVICE]
    if words:
        advice.append(_advice_on_words(list(dict.fromkeys(words)), in_python))
    return advice


def _advice_on_words(words: Sequence[str], in_python: bool) -> str:
    """Return how these different words are written or read in another way."""
    shown = list(words[:MOST_SHOWN])
    option = f"missing={shown!r}" if in_python else f"--missing {as_list(shown)}"
    hidden = f" and {plural(len(words) - MOST_SHOWN, 'other')}" if len(words) > MOST_SHOWN else ""
    return f"write such cells like the column's others, or read them as missing values with {option}{hidden}"


def errors_and_remarks(problems: Sequence[Problem], n_rows: int) -> tuple[list[Problem], dict[str, str]]:
    """Return the problems of a table of new rows that are errors, and a remark on each column that has tolerated ones.

    Words in at most 1 % of a column's cells are missing values, and so are numbers without the unit of all others in
    at most half of them; a model should not stop at a slip. A label that cannot be read is always an error.
    """
    errors = list[Problem]()
    remarks = dict[str, str]()
    for name, group in groupby(problems, key=lambda problem: problem.name):
        column_problems = list(group)
        bare = [problem for problem in column_problems if problem.why == NO_UNIT]
        words = [problem for problem in column_problems if problem.why != NO_UNIT]
        burden = _n_cells(bare) / MOST_BARE + _n_cells(words) / MOST_NEW
        if burden > n_rows or any(problem.is_label for problem in column_problems):
            errors += column_problems
        else:
            remarks[name] = "; ".join([*_remark_on_bare(bare), *_remark_on_words(words)])
    return errors, remarks


def _n_cells(problems: Sequence[Problem]) -> int:
    """Return in how many cells there is a problem."""
    return sum(problem.n_cells for problem in problems)


def _remark_on_bare(problems: Sequence[Problem]) -> list[str]:
    """Return a remark on numbers without a unit, if there are some."""
    if not problems:
        return []
    example = f"{plural(_n_cells(problems), 'number')} such as {shorten(problems[0].text, 20)!r}"
    return [f"{example} without the unit of the fit, read as missing values"]


def _remark_on_words(problems: Sequence[Problem]) -> list[str]:
    """Return a remark on words that the fit did not see, if there are some."""
    if not problems:
        return []
    words = [f"{shorten(problem.text, 20)!r} ({problem.n_cells}){problem.remark}" for problem in problems[:MOST_SHOWN]]
    return [f"new since the fit, and read as missing values: {', '.join(words)}"]
