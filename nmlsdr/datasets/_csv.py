"""Read CSV and TSV files with a header, through `csv.reader`."""

import csv
from collections.abc import Iterator

from .._checks.words import BLANKS
from ._cells import CollectedRows, FileContents
from ._columns import Wanted, split_columns
from ._files import Lines, Path_, shorten
from ._numbers import number_problem

SWAPPED = str.maketrans(",.", ".,")  # a decimal comma becomes a point, and a point an invalid character


def read_csv(path: Path_, wanted: Wanted) -> FileContents:
    """Read a file with a header line, plain or gzipped; the form that is not given is guessed from its first lines.

    A blank line is an error that names it; at the end of the file blank lines are ignored. Where every column is a
    label each blank line, also at the end, is an unlabelled row.
    """
    with Lines(path, wanted.max_bytes, wanted.encoding) as lines:
        dialect = lines.dialect(wanted.delimiter, wanted.decimal)
        rows = table_rows(lines, dialect.delimiter, wanted)
        split = split_columns(path, next(rows), wanted, line=lines.number)
        collected = CollectedRows(lines, split, {})
        for cells in rows:
            if dialect.decimal == "," and wanted.plan is None:
                for j in split.features:
                    cells[j] = cells[j].translate(SWAPPED)
            collected.add(cells)
        return collected.contents()


def table_rows(lines: Lines, delimiter: str, wanted: Wanted) -> Iterator[list[str]]:
    """Yield the names of the columns, and then the cells of each row, as many as there are names."""
    most = 2 * wanted.max_features + 1000  # delimiters of a row; a text in quotes may hold some too
    n_delimiters = 0  # of the row that is being read

    def texts() -> Iterator[str]:
        nonlocal n_delimiters
        for text in lines:
            n_delimiters += text.count(delimiter)
            if n_delimiters > most:  # before csv.reader splits the row, which would take much memory
                raise lines.error(f"the row has {n_delimiters} cells or more, far above max_features; check its quotes")
            yield text + "\n"

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    try:
        names = _names(lines, next(reader, None), wanted)
        if wanted.plan is not None and names == ["sep="]:
            names = _names(lines, next(reader, None), wanted)
        yield names
        n_rows = n_delimiters = blank = 0
        for cells in reader:
            n_delimiters = 0
            if len(cells) <= 1 and not lines.text.strip(BLANKS):
                if not wanted.all_labels:
                    blank = blank or lines.number
                    continue
                if 2 * n_rows * len(names) > lines.allowed:
                    raise lines.too_large("leaves out labels that would fill")
                cells = [""] * len(names)
            elif blank:
                instead = " (write NA for a missing value)" if len(names) == 1 else ""
                lines.number = blank
                raise lines.error(f"the line is blank, and rows follow it; remove it{instead}")
            elif len(cells) != len(names):
                raise lines.error(f"{len(cells)} cells, but the header has {len(names)}; complete the row")
            n_rows += 1
            yield cells
    except csv.Error as error:
        raise lines.error(f"not a CSV row ({error}); check its quotes") from error


def _names(lines: Lines, cells: list[str] | None, wanted: Wanted) -> list[str]:
    """Return the names of the columns; with a plan a second column of a name, and one without a name, get one."""
    if cells is None:
        lines.number = 1
        raise lines.error("the file is empty; it needs a header line with the names of the columns")
    names = [cell.strip(BLANKS) for cell in cells]
    if not any(names):
        raise lines.error("the line is blank; it must contain the names of the columns")
    if wanted.plan is not None and not wanted.all_labels:
        if names == ["sep=", ""]:  # which tells Excel the separator
            return ["sep="]
        names = _distinct(names, lines.notes)
    if "" in names:
        raise lines.error(f"column {names.index('') + 1} has no name; name it (or write the file without a row index)")
    numbered = names in ([str(j) for j in range(len(names))], [str(j + 1) for j in range(len(names))])
    if not numbered and all(number_problem(name) is None for name in names):
        raise lines.error("the first line contains only numbers; it must contain the names of the columns")
    return names


def _distinct(names: list[str], notes: list[str]) -> list[str]:
    """Return names in which each occurs once: the second column called a becomes a.2, and a nameless one column 3."""
    found: dict[str, None] = {}
    taken = set(names)
    for j, name in enumerate(names):
        new, number = name or f"column {j + 1}", 2
        while new in found or (new != name and new in taken):
            new, number = f"{name or f'column {j + 1}'}.{number}", number + 1
        if new != name:
            notes.append(
                f"a second column {shorten(name)!r} is called {shorten(new)!r}"
                if name
                else f"a column without a name is called {new!r}"
            )
        found[new] = None
    return list(found)
