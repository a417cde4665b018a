"""Read CSV and TSV files with a header: large regular blocks through pyarrow, other rows through `csv.reader`."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from .._checks.words import BLANKS
from .._errors import shorten
from ._arrow import arrow, packed, written_column
from ._columns import Cells, Collected, Table
from ._files import Form, Lines, Path_
from ._numbers import PLAIN
from ._roles import Split, check_names

WAITING_CELLS = 1 << 18  # of rows that are read one by one


class CsvFile:
    """A file with a header line, plain or gzipped.

    A blank line is an error that names it; at the end of the file blank lines are ignored. In a file of labels each
    blank line, also at the end, is an unlabelled row.

    Parameters
    ----------
    path : path
    form : Form
        What is not given is guessed from the first lines.
    is_raw : bool, default=False
        Whether the file may have come from a spreadsheet: a second column of a name, and one without, get a name.
    is_labels : bool, default=False
        Whether all columns are labels. Such a file is small and is read without pyarrow.
    """

    def __init__(self, path: Path_, form: Form, *, is_raw: bool = False, is_labels: bool = False) -> None:
        self.path, self.form, self.is_raw, self.is_labels = path, form, is_raw, is_labels
        if not is_labels:
            arrow("Reading CSV files")
        self.lines = Lines(path, form)
        self.dialect = self.lines.dialect(form.delimiter, form.decimal)
        begin = self.lines.peek().splitlines()[:10] if is_raw else []
        for _ in range(n_titles(list(csv.reader(begin, delimiter=self.dialect.delimiter)))):
            if next(self.lines).strip(BLANKS):
                what = f"line {self.lines.number} stands above the names of the columns and is skipped"
                self.lines.notes.append(what)
        self._rows = self._read_rows()
        try:
            self.names = next(self._rows)
            check_names(self.names, form, self.lines.number)
        except BaseException:
            self.close()
            raise
        self.line = self.lines.number

    def close(self) -> None:
        """Close the file."""
        self.lines.close()

    def read(self, split: Split) -> Table:
        """Return the columns that have a role."""
        wanted = split.wanted
        position = {name: j for j, name in enumerate(self.names)}
        places = [position[name] for name in wanted]
        numbers: list[Any] = []
        found: list[Cells] = []
        if self.is_labels:
            collected = [Collected() for _ in places]
            for rows, ends in self._waiting():
                numbers.append(ends)
                cells = list(zip(*rows, strict=True))
                for j, column in zip(places, collected, strict=True):
                    column.add(cells[j])
            found += [column.texts() for column in collected]
        else:
            import pyarrow

            blocks: list[list[Any]] = [[] for _ in places]
            for arrays, ends in self._blocks(wanted):
                numbers.append(ends)
                for part, texts in zip(blocks, arrays, strict=True):
                    part.append(packed(texts))
            for rows, ends in self._waiting():
                numbers.append(ends)
                cells = list(zip(*rows, strict=True))
                for j, part in zip(places, blocks, strict=True):
                    part.append(packed(pyarrow.array([cell or None for cell in cells[j]], pyarrow.string())))
            for part in blocks:
                found.append(written_column(part))
                part.clear()
        ends = np.concatenate(numbers) if numbers else np.zeros(0, np.int64)
        columns = dict(zip(wanted, found, strict=True))
        return Table(len(ends), columns, ends, encoding=self.lines.encoding, notes=self.lines.notes)

    def _blocks(self, wanted: Sequence[str]) -> Iterator[tuple[list[Any], Any]]:
        """Yield blocks of regular rows: arrays of texts, and the line on which each row ends."""
        from pyarrow import ArrowInvalid, BufferReader, csv, string

        delimiter, width = self.dialect.delimiter, len(self.names)
        if len(delimiter.encode()) > 1 or width == 1 or not wanted:  # what is blank is no row, or may be one
            return
        columns = {name: string() for name in self.names}
        convert = csv.ConvertOptions(
            column_types=columns, include_columns=wanted, null_values=[""], strings_can_be_null=True, check_utf8=False
        )
        parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False)
        while (block := self.lines.next_block(delimiter)) is not None:
            text, ends = block
            read = csv.ReadOptions(use_threads=False, column_names=self.names, block_size=len(text) + 1)
            try:
                found = csv.read_csv(BufferReader(text), read, parse, convert)
            except ArrowInvalid:
                found = None
            if found is None or found.num_rows != len(ends):
                self.lines.give_back()
                return
            found = found.combine_chunks()
            yield [column.chunk(0) for column in found.columns], ends

    def _waiting(self) -> Iterator[tuple[list[list[str]], Any]]:
        """Yield the other rows, many at once, and the line on which each ends."""
        most = max(1, WAITING_CELLS // len(self.names))
        numbered = ((cells, self.lines.number) for cells in self._rows)
        while part := list(islice(numbered, most)):
            yield [cells for cells, _ in part], np.array([number for _, number in part])

    def _read_rows(self) -> Iterator[list[str]]:
        """Yield the names of the columns, and then the cells of each row, as many as there are names."""
        lines, delimiter = self.lines, self.dialect.delimiter
        most = 2 * self.form.max_features + 1000  # delimiters of a row; a text in quotes may hold some too
        n_delimiters = 0  # of the row that is being read

        def texts() -> Iterator[str]:
            nonlocal n_delimiters
            for text in lines:
                n_delimiters += text.count(delimiter)
                if n_delimiters > most:  # before csv.reader splits the row, which would take much memory
                    what = f"the row has {n_delimiters} cells or more, far above max_features; check its quotes"
                    raise lines.error(what)
                yield text + "\n"

        reader = csv.reader(texts(), delimiter=delimiter, strict=True)
        try:
            names = self._named(next(reader, None))
            if self.is_raw and names == ["sep="]:
                names = self._named(next(reader, None))
            yield names
            n_rows = n_delimiters = blank = 0
            for cells in reader:
                n_delimiters = 0
                if len(cells) <= 1 and not lines.text.strip(BLANKS):
                    if not self.is_labels:
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

    def _named(self, cells: list[str] | None) -> list[str]:
        """Return the names of the columns."""
        lines = self.lines
        if cells is None:
            lines.number = 1
            raise lines.error("the file is empty; it needs a header line with the names of the columns")
        names = [cell.strip(BLANKS) for cell in cells]
        if not any(names):
            raise lines.error("the line is blank; it must contain the names of the columns")
        if self.is_raw:
            if names == ["sep=", ""]:  # which tells Excel the separator
                return ["sep="]
            names = distinct_names(names, lines.notes)
        if "" in names:
            what = f"column {names.index('') + 1} has no name; name it (or write the file without a row index)"
            raise lines.error(what)
        numbered = names in ([str(j) for j in range(len(names))], [str(j + 1) for j in range(len(names))])
        if not numbered and all(PLAIN.fullmatch(name) for name in names):
            raise lines.error("the first line contains only numbers; it must contain the names of the columns")
        return names


def distinct_names(names: Sequence[str], notes: list[str]) -> list[str]:
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


def n_titles(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first rows stand above the names of the columns: blank ones, and titles of one cell.

    The row of names has several cells, all of them filled and different, and no numbers.
    """
    for count, row in enumerate(rows):
        filled = [cell.strip(BLANKS) for cell in row if cell.strip(BLANKS)]
        if len(filled) > 1:
            is_head = len(set(filled)) == len(row) and not any(map(PLAIN.fullmatch, filled))
            return count if is_head else 0
    return 0
