"""Read CSV and TSV files with a header: large regular blocks through pyarrow, other rows through `csv.reader`."""

import csv
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from .._checks.words import BLANKS, TOTALS, fold, trim
from .._errors import import_extra
from ._arrow import written_column
from ._columns import Table
from ._files import SAMPLE, DataFileError, Form, Lines
from ._number_parsing import PLAIN
from ._roles import Split, check_names

WAITING_CELLS = 1 << 18  # of rows that are read one by one
SPARE_DELIMITERS = 1000  # of a row, beyond two for each column: texts in quotes hold some too
MOST_LAST = 1000  # rows among which those that stand below a table are looked for
BELOW = "what stands below {} {} (totals, a remark, or empty rows) is left out"


class CsvFile:
    """A file with a header line, plain or gzipped.

    A blank line is an error that names it; at the end of the file blank lines are ignored. In a file of labels each
    blank line, also at the end, is an unlabelled row.

    Parameters
    ----------
    lines : Lines
    form : Form
        What is not given is guessed from the first lines.
    column_names : collection of str, default=None
        Names of columns that are looked for. If given, the file may have come from a spreadsheet: what stands above the
        names or below the rows is left out, and a second column of a name, and one without, get a name.
    """

    def __init__(self, lines: Lines, form: Form, column_names: Collection[str] | None = None) -> None:
        self.path = lines.path
        self.lines = lines
        self.form = form
        self.is_raw = column_names is not None
        self.is_labels = False  # whether all columns are labels
        import_extra("pyarrow.compute", "Reading CSV files", "cli")
        self.delimiter = lines.delimiter(form.delimiter)
        begin = lines.peek().splitlines()[:10] if self.is_raw else []
        for _ in range(n_titles(list(csv.reader(begin, delimiter=self.delimiter)), column_names or ())):
            if next(lines).strip(BLANKS):
                lines.notes.append(f"line {lines.number} stands above the names of the columns and is skipped")
        self.renamed: dict[str, str] = {}
        self._n_below = 0
        self._rows = self._read_rows()
        self.names = next(self._rows)
        self.line = lines.number
        check_names(self.names, form, self.line)

    def read(self, split: Split) -> Table:
        """Return the columns that have a role."""
        import pyarrow

        names = split.column_names
        self.is_labels = not split.features and bool(split.labels)
        schema = pyarrow.schema([(name, pyarrow.string()) for name in names])
        blocks = [schema.empty_table()]
        ends = [np.zeros(0, np.int64)]
        last: Iterable[list[str]] = ()
        for block, numbers, rows in chain(self._regular_blocks(names), self._irregular_blocks(names)):
            blocks.append(block)
            ends.append(numbers)
            last = rows
        lines = np.concatenate(ends)
        if self.is_raw and (n_below := n_footers([*last][-MOST_LAST:])):
            self._n_below = n_below
            lines = lines[:-n_below]
        if self._n_below:
            self.lines.notes.append(BELOW.format("line", max(lines, default=self.line)))
        whole = pyarrow.concat_tables(blocks).slice(0, len(lines))
        columns = {name: written_column(whole.column(name)) for name in names}
        encoding = self.lines.encoding
        notes = self.lines.notes
        return Table(len(lines), columns, lines, encoding=encoding, notes=notes, renamed=self.renamed)

    def _regular_blocks(self, names: Sequence[str]) -> Iterator[tuple[Any, Any, Iterable[list[str]]]]:
        """Yield blocks of regular rows: tables of texts, the line on which each row ends, and the cells of the last."""
        from pyarrow import ArrowInvalid, BufferReader, string
        from pyarrow import csv as arrow_csv

        delimiter = self.delimiter
        if len(delimiter.encode()) > 1 or len(self.names) == 1 or not names:  # what is blank is no row, or may be one
            return
        columns = {name: string() for name in self.names}
        convert = arrow_csv.ConvertOptions(
            column_types=columns, include_columns=names, null_values=[""], strings_can_be_null=True, check_utf8=False
        )
        parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False)
        for text, ends in self.lines.blocks(delimiter):
            read = arrow_csv.ReadOptions(use_threads=False, column_names=self.names, block_size=len(text) + 1)
            try:
                block = arrow_csv.read_csv(BufferReader(text), read, parse, convert)
            except ArrowInvalid:
                return
            if block.num_rows != len(ends):
                return
            last = text[-SAMPLE:].decode(errors="ignore").split("\n")[1:-1] if self.is_raw else []
            yield block, ends, csv.reader(last, delimiter=delimiter)

    def _irregular_blocks(self, names: Sequence[str]) -> Iterator[tuple[Any, Any, Iterable[list[str]]]]:
        """Yield the other rows in the same form, many at once."""
        import pyarrow

        n_rows = max(1, WAITING_CELLS // len(self.names))
        places = [self.names.index(name) for name in names]
        numbered = ((cells, self.lines.number) for cells in self._rows)
        while part := list(islice(numbered, n_rows)):
            rows = [cells for cells, _ in part]
            arrays = [pyarrow.array([row[j] or None for row in rows], pyarrow.string()) for j in places]
            yield pyarrow.table(arrays, names=names), np.array([number for _, number in part]), rows

    def _read_rows(self) -> Iterator[list[str]]:
        """Yield the names of the columns, and then the cells of each row, as many as there are names.

        A row of another width raises, and so does a blank line, unless they stand below the table.
        """
        lines = self.lines
        rows = _BoundedReader(lines, self.delimiter, 2 * self.form.max_features + SPARE_DELIMITERS)
        names = self._named(next(rows, None))
        yield names
        n_rows = 0
        fault: DataFileError | None = None  # of the first line that is no row: an error if a row follows
        for cells in rows:
            is_blank = len(cells) <= 1 and not lines.text.strip(BLANKS)
            if is_blank and self.is_labels:
                cells = self._unlabeled_row(n_rows, len(names))
            elif is_blank or fault is not None or len(cells) != len(names):
                fault = fault or self._fault(cells, len(names), is_blank)
                if not is_blank and not self._may_stand_below(cells, len(names)):
                    raise fault
                self._n_below += not is_blank
                continue
            n_rows += 1
            yield cells

    def _unlabeled_row(self, n_rows: int, width: int) -> list[str]:
        """Return the row that a blank line stands for in a file of labels; many of them can fill the memory."""
        if 2 * n_rows * width > self.lines.allowed:
            raise self.lines.too_large("leaves out labels that would fill")
        return [""] * width

    def _may_stand_below(self, cells: Sequence[str], width: int) -> bool:
        return self.is_raw and stands_below(cells, width)

    def _fault(self, cells: Sequence[str], width: int, is_blank: bool) -> DataFileError:
        """Return the error that the line read last is blank, or a row of another width."""
        if not is_blank:
            return self.lines.error(f"{len(cells)} cells, but the header has {width}; complete the row")
        instead = " (write NA for a missing value)" if width == 1 else ""
        return self.lines.error(f"the line is blank, and rows follow it; remove it{instead}")

    def _named(self, cells: list[str] | None) -> list[str]:
        """Return the names of the columns."""
        lines = self.lines
        if cells is None:
            lines.number = 1
            raise lines.error("the file is empty; it needs a header line with the names of the columns")
        names = [cell.strip(BLANKS) for cell in cells]
        numbered = names in ([str(j) for j in range(len(names))], [str(j + 1) for j in range(len(names))])
        if not any(names) or (not numbered and all(map(PLAIN.fullmatch, names))):
            raise lines.error("the line is blank or contains only numbers; it must contain the names of the columns")
        if self.is_raw:
            names, self.renamed = distinct_names(names)
        return names


class _BoundedReader(Iterator[list[str]]):
    """`csv.reader` for lines from anywhere: it raises before it splits a row of too many cells, which takes memory."""

    def __init__(self, lines: Lines, delimiter: str, max_delimiters: int) -> None:
        self._lines = lines
        self._delimiter = delimiter
        self._max_delimiters = max_delimiters
        self._n_delimiters = 0  # of the row that is being read
        self._rows = csv.reader(self._texts(), delimiter=delimiter, strict=True)

    def __next__(self) -> list[str]:
        self._n_delimiters = 0
        try:
            return next(self._rows)
        except csv.Error as error:
            raise self._lines.error(f"not a CSV row ({error}); check its quotes") from error

    def _texts(self) -> Iterator[str]:
        for text in self._lines:
            self._n_delimiters += text.count(self._delimiter)
            if self._n_delimiters > self._max_delimiters:
                cells = f"{self._n_delimiters} cells or more"
                raise self._lines.error(f"the row has {cells}, above max_features; check its quotes")
            yield text + "\n"


def distinct_names(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return names in which each occurs once, and for each new one what stands in the file.

    Examples
    --------
    >>> distinct_names(["a", "a", ""])
    (['a', 'a.2', 'column 3'], {'a.2': 'a', 'column 3': ''})
    """
    originals: dict[str, str] = {}
    names = [*map(trim, names)]
    header_names = set(names)
    for j, name in enumerate(names):
        new = name or f"column {j + 1}"
        number = 2
        while new in originals or (new != name and new in header_names):
            new = f"{name or f'column {j + 1}'}.{number}"
            number = number + 1
        originals[new] = name
    return list(originals), {new: name for new, name in originals.items() if new != name}


def n_titles(rows: Sequence[Sequence[str]], column_names: Collection[str]) -> int:
    """Return how many of the first rows stand above the names of the columns.

    Above the row that has most of the names that are asked for stand rows with fewer cells, or fewer different ones,
    such as titles and names of groups of columns. Without such a row only blank rows and titles of one cell stand above
    the names, a row whose cells are all filled, and no numbers.
    """
    filled = [*map(_filled, rows)]
    best = max(filled, key=lambda row: len({*column_names} & {*row}), default=[])
    above = filled[: filled.index(best)] if {*column_names} & {*best} else []
    if above and all((len(row), len({*row})) < (len(best), len({*best})) for row in above):
        return len(above)
    count = next((k for k, cells in enumerate(filled) if len(cells) > 1), 0)
    is_head = rows and len(filled[count]) == len(rows[count]) and not any(map(PLAIN.fullmatch, filled[count]))
    return count if is_head else 0


def _filled(row: Sequence[str]) -> list[str]:
    return [text for cell in row if (text := trim(cell))]


def is_total(row: Sequence[str]) -> bool:
    """Whether a row has a word such as "Total" in its first filled cell, and an empty cell."""
    filled = _filled(row)
    return 0 < len(filled) < len(row) and fold(filled[0]).rstrip(": ") in TOTALS


def n_footers(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the last rows are none of the table: empty ones, a row of totals, and what stands below it.

    If a row that is kept begins with a word such as "Total" too, the word is a value of its column.
    """
    n = 0
    for k, row in enumerate(reversed(rows), 1):
        filled = _filled(row)
        if is_total(row) or (not filled and n == k - 1):
            n = k
        elif len(filled) > 1:
            break
    return 0 if n and any(map(is_total, rows[: len(rows) - n])) else n


def stands_below(cells: Sequence[str], width: int) -> bool:
    """Whether a row that is too short, or follows a blank line, has one filled cell at most, or totals."""
    row = [*cells, *[""] * (width - len(cells))]
    return len(row) == width and (len(_filled(row)) <= 1 or is_total(row))
