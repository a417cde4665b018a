"""Cells that are not what their column holds: all of a table in one sentence."""

from collections.abc import Sequence
from typing import NamedTuple

from ._files import shorten

MOST_SHOWN = 10


class Problem(NamedTuple):
    """A cell that is not what its column holds: the column, the row or line, the text, and whether it is a label."""

    name: str
    row: int
    text: str
    is_label: bool = False


def problems_in_words(problems: Sequence[Problem], place: str) -> str:
    """Return one sentence about such cells; `place` is "row" or "line"."""
    problems = sorted(problems, key=lambda problem: problem.row)
    shown = [f"{place} {p.row}, column {shorten(p.name)!r}: {shorten(p.text)!r}" for p in problems[:MOST_SHOWN]]
    rest = f" and {len(problems) - MOST_SHOWN} more" if len(problems) > MOST_SHOWN else ""
    advice = []
    if any(p.is_label for p in problems):
        advice.append("write a label as 0, 1, yes, no, or nothing if unknown (--label-list is for lists of labels)")
    words = list(dict.fromkeys(p.text for p in problems if not p.is_label))
    if words:
        listed = ",".join(words[:3]) + ("" if len(words) <= 3 else ",...")
        advice.append(f"write numbers or dates, or read the texts as missing values with --missing {listed!r}")
    cells = "1 cell is" if len(problems) == 1 else f"{len(problems)} cells are"
    return f"{cells} not what the column holds: {'; '.join(shown)}{rest}; {'; '.join(advice)}."
