"""Read the first sheet of an Excel workbook, or the one that is named, through openpyxl."""

import io
import zipfile
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from .._errors import import_extra
from ._columns import Table, typed_column
from ._csv import distinct_names, n_titles
from ._files import DataFileError, Form, Path_, allowance, check_size, existing, foreign_bytes, place, too_large
from ._roles import Split, check_names

UNREADABLE = ("not a readable Excel file", "save it as .xlsx again, or as CSV")
FORBIDDEN = (b"<!DOCTYPE", b"<!ENTITY", b"\0")  # what makes a small file large; NUL: of UTF-16, which could hide them


class ExcelFile:
    """A sheet whose first row has the names of the columns; of formulas the values that Excel saved are read.

    Parameters
    ----------
    path : path
    form : Form
    is_raw : bool, default=False
        Whether a second column of a name, and one without, get a name.
    """

    def __init__(self, path: Path_, form: Form, *, is_raw: bool = False) -> None:
        openpyxl = import_extra("openpyxl", "Reading Excel files", "excel")
        self.path, self.notes = existing(path), list[str]()
        self._max_bytes = form.max_bytes
        with foreign_bytes(path, *UNREADABLE):
            _check_members(path, form)
            self._book = openpyxl.load_workbook(io.BytesIO(self.path.read_bytes()), read_only=True, data_only=True)
            sheets = self._book.sheetnames
            if form.sheet is not None and form.sheet not in sheets:
                raise DataFileError(f": it has no sheet {form.sheet!r}; it has {', '.join(sheets[:10])}.")
            sheet = self._book[form.sheet or sheets[0]]
            if form.sheet is None and len(sheets) > 1:
                self.notes.append(f"the first of {len(sheets)} sheets, {sheets[0]!r}, is read; --sheet names another")
            sheet.reset_dimensions()
            if not self.path.name.lower().endswith((".xlsx", ".xlsm")):
                self.notes.append("it is an Excel file, although its name does not say so")
            self._rows: Iterator[tuple[int, Any]] = enumerate(sheet.iter_rows(values_only=True), start=1)
            first = list(islice(self._rows, 10))
            n_above = n_titles([["" if cell is None else str(cell) for cell in row] for _, row in first])
            for number, row in first[:n_above]:
                if any(cell is not None for cell in row):
                    self.notes.append(f"row {number} stands above the names of the columns and is skipped")
            if not any(cell is not None for _, row in first for cell in row):
                raise DataFileError(": its sheet is empty; it needs a row with the names of the columns.")
            (number, head), *rest = first[n_above:]
            self._rows = chain(rest, self._rows)
        self.line, names = None, ["" if cell is None else str(cell).strip() for cell in head]
        while names and not names[-1]:
            names.pop()
        self.names = distinct_names(names, self.notes) if is_raw else names
        if "" in self.names:
            raise DataFileError(f"{place(row=number - 1)}: column {names.index('') + 1} has no name; name it.")
        check_names(self.names, form)

    def close(self) -> None:
        """Close the file."""
        self._book.close()

    def read(self, split: Split) -> Table:
        """Return the columns that have a role."""
        columns: dict[str, list[Any]] = {name: [] for name in split.wanted}
        places = [(self.names.index(name), column) for name, column in columns.items()]
        numbers, width, n_cells, blank = [], len(self.names), 0, 0
        with foreign_bytes(self.path, *UNREADABLE):
            for number, row in self._rows:
                n_cells += len(row)
                if 8 * n_cells > allowance(self.path, self._max_bytes):
                    raise too_large(self.path, "holds cells that fill", self._max_bytes)
                if all(cell is None for cell in row):
                    blank = blank or number
                    continue
                if blank:
                    where = place(row=blank - 1)
                    raise DataFileError(f"{where}: the row is blank, and rows follow it; remove it.")
                if any(cell is not None for cell in row[width:]):
                    what = f"{len(row)} cells, but the names of columns are {width}; complete the first row"
                    raise DataFileError(f"{place(row=number - 1)}: {what}.")
                numbers.append(number)
                for j, column in places:
                    column.append(row[j] if j < len(row) else None)
        found = {name: typed_column(columns.pop(name)) for name in split.wanted}
        return Table(len(numbers), found, np.array(numbers, np.int64), unit="row", notes=self.notes)


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
