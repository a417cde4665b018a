"""Tables as they are shown and written, and the sections of the report that are made of them."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import repeat, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

Claims = list[tuple[str, bool | None]]


@cache  # the files of the package do not change while a process runs
def resource(name: str) -> dict[str, Any]:
    """A JSON file of this folder: what the article prints, notes on differences, and the texts of the report."""
    loaded: dict[str, Any] = json.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return loaded


def number(value: Any, decimals: int = 3, *, sign: bool = False) -> str:
    """A number as the tables print it; a dash for NaN, and never a negative zero.

    Examples
    --------
    >>> number(0.12345), number(-0.0001, sign=True), number(0.02, sign=True), number(float("nan"))
    ('0.123', '+0.000', '+0.020', '-')
    """
    if value != value:
        return "-"
    value = round(value, decimals) + 0.0
    return f"{value:{'+' if sign else ''}.{decimals}f}"


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Attributes
    ----------
    text : str
        As shown.
    beside : str
        Shown smaller beside it (the article's value, a difference), or "".
    bold : bool
        The best of its row or column.
    shade : float or None
        A difference to the article; HTML colours by it.
    """

    text: str
    beside: str = ""
    bold: bool = False
    shade: float | None = None


def best_in_bold(
    values: NDArray[Any],
    decimals: int,
    beside: Iterable[str] | None = None,
    shades: Iterable[float | None] | None = None,
) -> list[Entry]:
    """Numbers, with the largest in bold, and all that are equal to it as printed."""
    rounded = np.round(values, decimals)
    best = rounded == np.fmax.reduce(rounded)
    texts: Iterable[str] = beside or repeat("")
    colors: Iterable[float | None] = shades or repeat(None)
    return [
        Entry(number(value, decimals), small, bool(bold), shade)
        for value, bold, small, shade in zip(rounded, best, texts, colors, strict=False)
    ]


@dataclass
class ResultTable:
    """A table with a header, named rows, and a note below.

    Attributes
    ----------
    name : str
        File name without ending.
    title : str
    header : list of str
        First the name of the rows' column.
    rows : list of (str, list of Entry)
    note : str
    rule_before : set of int
        Rows with a line above.
    """

    name: str
    title: str
    header: list[str]
    rows: list[tuple[str, list[Entry]]] = field(default_factory=list)
    note: str = ""
    rule_before: set[int] = field(default_factory=set)

    def add(self, name: str, entries: Sequence[object]) -> None:
        """Append a row; a text becomes an entry without small text."""
        self.rows.append((name, [entry if isinstance(entry, Entry) else Entry(str(entry)) for entry in entries]))

    def add_columns(self, names: Iterable[str], columns: Iterable[list[Entry]]) -> None:
        """Append rows that are given column by column."""
        for name, *entries in zip(names, *columns, strict=True):
            self.rows.append((name, entries))

    def to_csv(self) -> str:
        """The shown text alone, without the small text."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([name, *(entry.text for entry in entries)] for name, entries in self.rows)
        return out.getvalue()

    def to_text(self) -> str:
        """Aligned columns for a terminal; the small text on lines of its own below each row that has some."""
        lines = [self.header]
        for name, entries in self.rows:
            lines.append([name, *(entry.text + ("*" if entry.bold else "") for entry in entries)])
            beside = [entry.beside.split("\n") for entry in entries]
            lines += [["", *small] for small in zip_longest(*beside, fillvalue="") if any(small)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [self.title]
        for first, *others in lines:
            cells = [first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]
            text.append("  ".join(cells).rstrip())
        return "\n".join([*text, *([self.note] if self.note else [])])


def titled(name: str, header: list[str], text: str = "", **values: Any) -> ResultTable:
    """An empty table with the title and the note that ``texts.json`` has under ``text``, by default the name."""
    texts = resource("texts.json")["tables"][text or name]
    return ResultTable(name, texts["title"].format(**values), header, note=texts.get("note", "").format(**values))


def shade_class(difference: float | None) -> str:
    """Class of a cell by its difference: within .005, .01, .02, .05 or more, and its sign."""
    if difference is None or difference != difference:
        return ""
    size = sum(abs(difference) > limit for limit in (0.005, 0.01, 0.02, 0.05))
    return f"d{size}" if size == 0 else f"d{size}{'up' if difference > 0 else 'down'}"


@dataclass
class Section:
    """One study of the report.

    Attributes
    ----------
    name : str
        The study.
    title : str
    cells : ResultTable
        Every cell, one measure a row; written, not shown.
    paragraphs : list of str
        What was done and what came out, before the tables.
    claims : list of (str, bool or None)
        A statement of the article or a goal of the project, and whether it is true of these results; None if the cells
        at hand cannot decide it.
    tables : list of ResultTable
    figures : dict of str to (matplotlib Figure, caption)
        By file name without ending.
    settings : list of dict
        Of each study in it.
    failures : list of str
    """

    name: str
    title: str
    cells: ResultTable
    paragraphs: list[str] = field(default_factory=list)
    claims: Claims = field(default_factory=list)
    tables: list[ResultTable] = field(default_factory=list)
    figures: dict[str, tuple[Any, str]] = field(default_factory=dict)
    settings: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add_figure(self, name: str, figure: Any) -> None:
        """Add a matplotlib Figure with the caption of ``texts.json``."""
        self.figures[name] = (figure, resource("texts.json")["figures"][name])
