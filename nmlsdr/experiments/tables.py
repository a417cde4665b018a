"""One table, four ways to write it: Markdown, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field

__all__ = ["Entry", "Table", "number"]


def number(value: float, decimals: int = 3, *, sign: bool = False) -> str:
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


@dataclass
class Table:
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

    def to_markdown(self) -> str:
        """GitHub's tables; the small text in parentheses."""
        lines = [f"**{self.title}**", "", _pipes(self.header), _pipes(["---"] + ["---:"] * (len(self.header) - 1))]
        for name, entries in self.rows:
            lines.append(_pipes([name] + [_marked(e, "**", "**", " ({})") for e in entries]))
        return "\n".join([*lines, "", *([self.note, ""] if self.note else [])])

    def to_csv(self) -> str:
        """The shown text alone, without the small text."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([name, *(entry.text for entry in entries)] for name, entries in self.rows)
        return out.getvalue()

    def to_text(self) -> str:
        """Aligned columns for a terminal; the small text on a line of its own below each row that has some."""
        lines = [self.header]
        for name, entries in self.rows:
            lines.append([name, *(entry.text + ("*" if entry.bold else "") for entry in entries)])
            for part in range(max((entry.beside.count("\n") + 1 for entry in entries if entry.beside), default=0)):
                small = [(entry.beside.split("\n") + [""] * 9)[part] for entry in entries]
                lines.append(["", *small])
        widths = [max(len(line[j]) for line in lines) for j in range(len(self.header))]
        text = [self.title]
        for line in lines:
            first = line[0].ljust(widths[0])
            text.append("  ".join([first, *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]).rstrip())
        return "\n".join([*text, *([self.note] if self.note else [])])

    def to_latex(self) -> str:
        """A booktabs-free ``tabular`` in a ``table``, as the article has them."""
        lines = [
            r"\begin{table}[t]",
            r"\centering\scriptsize",
            rf"\begin{{tabular}}{{l{'c' * (len(self.header) - 1)}}}",
        ]
        lines += [r"\hline", " & ".join(map(_latex, self.header)) + r" \\", r"\hline"]
        for index, (name, entries) in enumerate(self.rows):
            if index in self.rule_before:
                lines.append(r"\hline")
            cells = [_marked(_latex_entry(e), r"\textbf{", "}", r" {{\tiny ({})}}") for e in entries]
            lines.append(" & ".join([_latex(name), *cells]) + r" \\")
        caption = _latex(self.title + (" " + self.note if self.note else ""))
        lines += [r"\hline", r"\end{tabular}", rf"\caption{{{caption}}}", rf"\label{{tab:{self.name}}}", r"\end{table}"]
        return "\n".join(lines) + "\n"


def shade_class(difference: float | None) -> str:
    """Class of a cell by its difference: within .005, .01, .02, .05 or more, and its sign."""
    if difference is None or difference != difference:
        return ""
    size = sum(abs(difference) > limit for limit in (0.005, 0.01, 0.02, 0.05))
    return f"d{size}" if size == 0 else f"d{size}{'up' if difference > 0 else 'down'}"


def _marked(entry: Entry, before: str, after: str, small: str) -> str:
    text = f"{before}{entry.text}{after}" if entry.bold else entry.text
    return text + (small.format(entry.beside) if entry.beside else "")


def _pipes(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex(text: str) -> str:
    for character in "&%#_$":
        text = text.replace(character, "\\" + character)
    return text.replace("±", r"$\pm$")


def _latex_entry(entry: Entry) -> Entry:
    return Entry(_latex(entry.text), _latex(entry.beside), entry.bold)
