"""Read a sheet of an Excel workbook through openpyxl: the named one, or the one with the columns asked for."""

import functools
import io
import re
import zipfile
from collections import deque
from collections.abc import Collection, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from .._errors import import_extra
from ._columns import Table
from ._csv import BELOW, MOST_LAST, distinct_names, n_footers, n_titles, stands_below
from ._files import DataFileError, Form, Path_, allowance, check_size, existing_file, library_errors, place, too_large
from ._number_parsing import text_of
from ._objects import typed_column, with_exponent
from ._roles import Split, check_names
from ._units import measures, unit_of

UNREADABLE = ("not a readable Excel file", "save it as .xlsx again, or as CSV")
MOST_ROWS = 1 << 20  # of a sheet of Excel
#: A format of cells that shows something before or behind a number; what stands in [$...] is a sign of currency.
FORMAT = re.compile(r"([^#0?]*?)[#0?][#0?,.]*([^#0?]*)")
FORBIDDEN = (b"<!DOCTYPE", b"<!ENTITY", b"\0")  # what makes a small file large; NUL: of UTF-16, which could hide them


class ExcelFile:
    """A sheet whose first row has the names of the columns; of formulas the values that Excel saved are read.

    Parameters
    ----------
    path : path
    form : Form
    column_names : collection of str, default=None
        Names of columns that are looked for, on all sheets if none is named. If given, what stands above the names or
        below the rows is left out, and a second column of a name, and one without, get a name.
    """

    def __init__(self, path: Path_, form: Form, column_names: Collection[str] | None = None) -> None:
        openpyxl = import_extra("openpyxl", "Reading Excel files", "excel")
        self.path = existing_file(path)
        self._max_bytes = form.max_bytes
        with library_errors(path, *UNREADABLE):
            _check_members(path, form)
            book = openpyxl.load_workbook(io.BytesIO(self.path.read_bytes()), read_only=True, data_only=True)
            sheet = _choose_sheet(book, form.sheet, {*(column_names or ())})
            if not sheet.names:
                raise DataFileError(": its sheet is empty; it needs a row with the names of the columns.")
        other_titles = [] if form.sheet else [title for title in _titles(book) if title != sheet.title]
        listed = ", ".join(map(repr, other_titles))
        self.notes = sheet.notes
        self._advice_on_sheets = ""
        if other_titles:
            choice = f"of {len(other_titles) + 1} sheets {sheet.title!r} is read"
            self.notes = [f"{choice}; --sheet names another ({listed})", *sheet.notes]
            self._advice_on_sheets = f", or name another sheet with --sheet ({listed})"
        self._rows = sheet.rows
        self._n_below = 0  # rows that stand below the table
        self.line = None
        self.is_raw = column_names is not None
        self.names, self.renamed = distinct_names(sheet.names) if self.is_raw else (sheet.names, {})
        check_names(self.names, form)

    def read(self, split: Split) -> Table:
        """Return the columns that have a role."""
        columns: dict[str, list[Any]] = {name: [] for name in split.column_names}
        places = [(self.names.index(name), column) for name, column in columns.items()]
        numbers = list[int]()
        last = deque[list[Any]](maxlen=MOST_LAST)
        with library_errors(self.path, *UNREADABLE):
            for number, row in self._table_rows():
                numbers.append(number)
                last.append(row)
                for j, column in places:
                    column.append(row[j])
        n_last = n_footers([_texts(row, len(self.names)) for row in last]) if self.is_raw else 0
        numbers = numbers[: len(numbers) - n_last]
        if self._n_below or n_last:
            self.notes.append(BELOW.format("row", max(numbers, default=1)))
        typed_columns = {name: typed_column(columns.pop(name)[: len(numbers)]) for name in split.column_names}
        lines = np.array(numbers, np.int64)
        return Table(len(lines), typed_columns, lines, unit="row", notes=self.notes, renamed=self.renamed)

    def _table_rows(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield the rows of the table, each with its number and a cell for each name; skip what stands below them.

        Raise if the table goes on behind a blank row, or if a row has more cells than there are names.
        """
        width = len(self.names)
        blank = 0  # the number of the first blank row
        for number, row in self._bounded_rows():
            if all(cell is None for cell in row):
                blank = blank or number
            elif blank and self.is_raw and stands_below(_texts(row, width), width):
                self._n_below += 1
            elif blank:
                raise DataFileError(f"{place(row=blank - 1)}: the row is blank, and rows follow it; remove it.")
            elif any(cell is not None for cell in row[width:]):
                fault = f"{len(row)} cells, but the names of columns are {width}; complete the first row"
                raise DataFileError(f"{place(row=number - 1)}: {fault}{self._advice_on_sheets}.")
            else:
                yield number, row + [None] * (width - len(row))

    def _bounded_rows(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield the rows with their numbers; raise if they are more, or fill more bytes, than allowed."""
        n_cells = 0
        n_bytes = allowance(self.path, self._max_bytes)
        for number, row in self._rows:
            if number > MOST_ROWS:
                raise DataFileError(f": it has row numbers above {MOST_ROWS}, the last of a sheet; save it again.")
            n_cells += len(row)
            if 8 * n_cells > n_bytes:
                raise too_large(self.path, "holds cells that fill", self._max_bytes)
            yield number, row


class _Sheet:
    """A sheet: its title, the names of its columns, the rows below them with their numbers, and notes on those above.

    Parameters
    ----------
    sheet : openpyxl.worksheet
    column_names : set of str
        Names of columns that are looked for.
    """

    def __init__(self, sheet: Any, column_names: set[str]) -> None:
        sheet.reset_dimensions()
        rows: Iterator[tuple[int, list[Any]]] = enumerate(([*map(_shown, row)] for row in sheet.iter_rows()), 1)
        first = list(islice(rows, 10))
        n_above = n_titles([_texts(row) for _, row in first], column_names)
        above = [number for number, row in first[:n_above] if any(cell is not None for cell in row)]
        self.title: str = sheet.title
        self.notes = [f"row {number} stands above the names of the columns and is skipped" for number in above]
        self.names = [text.strip() for text in _texts(first[n_above][1])] if first else []
        while self.names and not self.names[-1]:
            self.names.pop()
        self.n_sought = len(column_names & {*self.names})
        self.rows = chain(first[n_above + 1 :], rows)


def _titles(book: Any) -> list[str]:
    """Return the titles of the sheets of a workbook."""
    return [sheet.title for sheet in book.worksheets]


def _choose_sheet(book: Any, title: str | None, column_names: set[str]) -> _Sheet:
    """Return the sheet of this title; without one the first of the sheets with the most of the columns looked for."""
    titles = _titles(book)
    if title is not None and title not in titles:
        raise DataFileError(f": it has no sheet {title!r}; choose {', '.join(titles[:10])}.")
    sheets = [_Sheet(book[name], column_names) for name in ([title] if title else titles)]
    return max(sheets, key=lambda sheet: (sheet.n_sought, bool(sheet.names)))  # the first of equals


def _texts(row: list[Any], width: int = 0) -> list[str]:
    """Return the cells of a row as texts, all of them or so many."""
    texts = ["" if cell is None else str(cell) for cell in row[: width or None]]
    return texts + [""] * (width - len(texts))


def _shown(cell: Any) -> Any:
    """Return the value of a cell; a number that is shown with a percent sign, a unit or a currency as such a text.

    A number with decimals has an exponent there, which is read in every notation.
    """
    value = cell.value
    before, after = _around(cell.number_format) if type(value) in (int, float) and cell._style_id else ("", "")
    if not before and not after:
        return value
    number = text_of(float(f"{100 * value:.12g}") if after == "%" else value)
    return f"{before}{with_exponent(number) if '.' in number else number}{after}"


@functools.cache
def _around(form: str) -> tuple[str, str]:
    """Return what a format shows before and behind a number, where it is a known unit or currency."""
    plain = re.sub(r"\[\$([^-\]]*)[^\]]*\]", r"\1", form.split(";")[0])
    match = FORMAT.fullmatch(re.sub(r'["\\]|[_*].', "", plain))
    affixes = ("", "") if match is None else (match[1].strip(), match[2].strip())
    return affixes if measures(unit_of("".join(affixes))) else ("", "")


def _check_members(path: Path_, form: Form) -> None:
    """Raise if a workbook unpacks to more bytes than allowed, or its XML declares entities."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        check_size(path, sum(member.file_size for member in members), "unpacks to", form.max_bytes)
        for member in members:
            if member.filename.endswith((".xml", ".rels")):
                before = b""
                with archive.open(member) as file:
                    while block := file.read(1 << 20):
                        if any(word in before + block for word in FORBIDDEN):
                            raise DataFileError(": its XML has a DOCTYPE or an ENTITY; save it again.")
                        before = block[-10:]
