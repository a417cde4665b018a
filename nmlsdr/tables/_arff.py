"""Read ARFF files, dense and sparse, plain and gzipped.

The time to read a header or a row is linear in its length: no pattern can match a text in two ways, so none backtracks.
"""

import dataclasses
import functools
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np

from .._checks.words import BLANKS, LABELS, fold, label_words
from .._errors import shorten
from ._columns import Cells, Numbers, Table, Texts, csr, joined, with_numbers
from ._files import Form, Lines
from ._numbers import float_values, number_problem
from ._roles import Split
from ._shapes import coded

WAITING_CELLS = 1 << 16  # of dense rows that are turned into columns at once
#: Nominal columns may declare this many values times max_features, in total.
MAX_VALUES = 4
NUMBERS = ("numeric", "real", "integer")
TEXTS = ("string", "date", "relational")

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"({QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", re.DOTALL)
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)")
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
# Parts of a list: in quotes or not, and what follows. No part can match in two ways, so the time is linear.
VALUE = re.compile(rf"\s*(?:({QUOTED})\s*|([^\s,'\"}}][^,'\"}}]*))([,}}])")  # of a declaration
CELL = re.compile(rf"[ \t]*(?:({QUOTED})[ \t]*|([^,'\"]*))(,|$)")  # of a dense row
ENTRY = re.compile(rf"[ \t]*([0-9]{{1,18}})[ \t]+(?:({QUOTED})|([^,'\"{{}} \t]+))[ \t]*([,}}])")  # of a sparse row


@dataclasses.dataclass(frozen=True)
class Attribute:
    """One column: its name, its line, its type in lower case, and its declared values if it is nominal."""

    name: str
    line: int
    kind: str
    values: list[str]

    @functools.cached_property
    def codes(self) -> Mapping[str, float] | None:
        """The number that each declared value stands for; None if they stand for none."""
        if all(number_problem(value) is None for value in self.values):
            return {value: float(value) for value in self.values}
        words = {value: fold(value) for value in self.values}
        known = None if LABELS.keys() & words.values() else label_words(words.values())
        return known and {value: float(known[word]) for value, word in words.items()}


class ArffFile:
    """A file of dense rows or sparse ones.

    Parameters
    ----------
    lines : Lines
    form : Form
    column_names : collection of str, default=None
        If given, dense columns may hold texts; sparse ones hold numbers.
    n_rows : int, default=None
        How many rows are read, from the first. None: all.
    """

    line = None

    def __init__(self, lines: Lines, form: Form, column_names: Any = None, *, n_rows: int | None = None) -> None:
        self.path = lines.path
        self.lines = lines
        self.is_raw = column_names is not None
        self.n_rows = n_rows
        self.attributes = _read_header(lines, form.max_features)
        self.names = [attribute.name for attribute in self.attributes]

    def read(self, split: Split) -> Table:
        """Return the columns that have a role; sparse features are one array."""
        place = {name: j for j, name in enumerate(self.names)}
        rows = islice(_statements(self.lines), self.n_rows)
        first = list(islice(rows, 1))
        is_sparse = bool(first) and first[0].startswith("{")
        plain = [*split.labels, *(split.features if is_sparse or not self.is_raw else ())]
        for item in [self.attributes[place[name]] for name in plain]:
            if item.kind in TEXTS or (item.kind == "nominal" and item.codes is None):
                self.lines.number = item.line
                example = repr(shorten(item.values[0], 30)) if item.values else f"type {item.kind}"
                raise self.lines.error(f"it holds text ({example}); use --drop, or write numbers", item.name)
        cells = self._cells(chain(first, rows), is_sparse)
        return (self._read_sparse if is_sparse else self._read_dense)(cells, split, place)

    def _cells(self, rows: Iterable[str], is_sparse: bool) -> Iterator[Any]:
        """Yield the cells of each row."""
        cells_of = _sparse_cells if is_sparse else _dense_cells
        for text in rows:
            if text.startswith("{") != is_sparse:
                raise self.lines.error("dense and sparse rows are mixed; write all rows in one form")
            yield cells_of(self.lines, text, len(self.names))

    def _read_dense(self, rows: Iterator[list[str | None]], split: Split, place: Mapping[str, int]) -> Table:
        blocks: dict[str, list[Cells]] = {name: [] for name in split.column_names}
        ends = array("q")
        numbered = ((row, self.lines.number) for row in rows)
        while block := list(islice(numbered, max(1, WAITING_CELLS // len(self.names)))):
            turned = list(zip(*(row for row, _ in block), strict=True))
            ends.extend(number for _, number in block)
            for name, parts in blocks.items():
                cells = ["" if cell is None else cell for cell in turned[place[name]]]
                values = float_values(cells) if self.attributes[place[name]].kind in NUMBERS else None
                parts.append(Texts(*coded(cells)) if values is None else Numbers(values))
        table = self._table(ends)
        for name, parts in blocks.items():
            item = self.attributes[place[name]]
            numbers = [part.values for part in parts if isinstance(part, Numbers)]
            if numbers and len(numbers) == len(parts):
                table.columns[name] = Numbers(np.concatenate(numbers))
            else:
                column = joined([part.texts for part in parts])
                is_nominal = item.kind == "nominal"
                table.columns[name] = self._declared(item, column, table) if is_nominal else with_numbers(column)
        return table

    def _table(self, ends: Any) -> Table:
        return Table(len(ends), {}, np.array(ends, np.int64), encoding=self.lines.encoding, notes=self.lines.notes)

    def _declared(self, item: Attribute, cells: Texts, table: Table) -> Cells:
        """Return a nominal column with the numbers of its values; raise if a cell is not among them."""
        for code, text in enumerate(cells.different):
            if text and text not in item.values:
                self.lines.number = int(table.lines[np.argmax(cells.codes == code)])
                raise self.lines.error(f"{shorten(text)!r} is not among the declared values; add it there", item.name)
        return dataclasses.replace(cells, numbers=item.codes)

    def _read_sparse(self, rows: Iterator[Mapping[int, str | None]], split: Split, place: Mapping[str, int]) -> Table:
        value = functools.cache(self._value)
        features = {place[name]: k for k, name in enumerate(split.features)}
        nominal = {j: item.values[0] for j, item in enumerate(self.attributes) if item.kind == "nominal"}
        omitted = {j: value(j, text) for j, text in nominal.items() if j in features}
        omitted = {j: number for j, number in omitted.items() if number != 0}
        indices = array("q")
        data = array("d")
        indptr = array("q", [0])
        ends = array("q")
        texts: dict[int, dict[int, str]] = {
            j: {} for j in map(place.__getitem__, split.column_names) if j not in features
        }
        for row in rows:
            cells_of_row = {**omitted, **{j: value(j, row[j]) for j in row if j in features}}
            for j in sorted(cells_of_row):
                if cells_of_row[j] != 0:
                    indices.append(features[j])
                    data.append(cells_of_row[j])
            indptr.append(len(indices))
            for j in row.keys() & texts.keys():
                texts[j][len(ends)] = row[j] or ""
            ends.append(self.lines.number)
            if len(indices) > self.lines.allowed // 8:
                raise self.lines.error("values omitted from sparse rows are not 0 and fill the memory; declare 0 first")
            if 2 * len(ends) * len(split.labels) > self.lines.allowed:  # more than a file of "0," may write out
                raise self.lines.too_large("leaves out labels that would fill")
        table = self._table(ends)
        table.sparse = csr(data, indices, indptr, (len(ends), len(features)))
        for j, known in texts.items():
            codes = np.zeros(len(ends), np.int32)
            codes[list(known)] = np.arange(1, len(known) + 1)
            cells = Texts.of([nominal.get(j, "0" if self.names[j] in split.labels else ""), *known.values()], codes)
            item = self.attributes[j]
            table.columns[item.name] = self._declared(item, cells, table) if item.kind == "nominal" else cells
        return table

    def _value(self, j: int, cell: str | None) -> float:
        """Return the number in a cell of a sparse row."""
        item = self.attributes[j]
        if item.kind == "nominal" and item.codes is not None and cell is not None:
            if cell in item.codes:
                return item.codes[cell]
            raise self.lines.error(f"{shorten(cell)!r} is not among the declared values; add it there", item.name)
        if (problem := number_problem(cell)) is not None:
            raise self.lines.error(problem, item.name)
        return float(cell or "")


def _statements(lines: Lines) -> Iterator[str]:
    """Yield the lines without comments and blank lines."""
    for raw in lines:
        text = raw.strip(BLANKS)
        if text and not text.startswith("%"):
            yield text


def _read_header(lines: Lines, max_features: int) -> list[Attribute]:
    """Read the attributes, up to and including the line @data."""
    attributes: list[Attribute] = []
    first_lines: dict[str, int] = {}
    n_values = 0
    for text in _statements(lines):
        keyword, declaration = [*text.split(None, 1), ""][:2]
        keyword = keyword.lower()
        if keyword == "@data":
            if not attributes:
                raise lines.error("there is no @attribute before @data; add the header")
            return attributes
        if keyword == "@attribute":
            if len(attributes) >= max_features:
                raise lines.error(f"more than max_features={max_features} attributes; raise it if you trust the file")
            attribute = _attribute(lines, declaration.strip(), MAX_VALUES * max_features - n_values)
            n_values += len(attribute.values)
            if attribute.name in first_lines:
                raise lines.error(
                    f"the name appears twice, first in line {first_lines[attribute.name]}", attribute.name
                )
            first_lines[attribute.name] = lines.number
            attributes.append(attribute)
        elif keyword != "@relation":
            raise lines.error(f"{shorten(text)!r} is not a header line; write @relation, @attribute or @data")
    lines.number = max(lines.number, 1)
    raise lines.error("the file ends without a line @data; it is not a complete ARFF file")


def _attribute(lines: Lines, text: str, max_values: int) -> Attribute:
    """Read what follows the word @attribute; it may declare `max_values` values."""
    match = ATTRIBUTE.fullmatch(text)
    if match is None:
        raise lines.error(f"{shorten(text)!r} is not a name and type; put a name with spaces in quotes")
    name = unquote(match[1])
    kind = match[2].strip()
    if kind.startswith("{"):
        return Attribute(name, lines.number, "nominal", _nominal(lines, name, kind, max_values))
    word = kind.split("%")[0].strip().lower().split(" ")[0]
    if word not in NUMBERS + TEXTS:
        raise lines.error(f"the type {shorten(kind)!r} is not known; write numeric or {{value,value}}", name)
    return Attribute(name, lines.number, word, [])


def _parts(
    lines: Lines, text: str, pattern: re.Pattern[str], start: int, form: str, column: str | None = None
) -> Iterator[tuple[re.Match[str], str | None]]:
    """Yield each part of a list with its text, None for ?; `form` says how the list is written."""
    end = ","
    while end == ",":
        match = pattern.match(text, start)
        if match is None:
            raise lines.error(f"{shorten(text[start:])!r} is not {form}", column)
        quoted, plain, end = match.groups()[-3:]
        plain = unquote(quoted) if quoted is not None else plain.strip(" \t")
        yield match, None if quoted is None and plain == "?" else plain
        start = match.end()
    remainder = text[start:].strip()
    if remainder and not remainder.startswith("%"):
        raise lines.error(f"{shorten(remainder)!r} follows what is {form}", column)


def _nominal(lines: Lines, name: str, text: str, max_values: int) -> list[str]:
    """Read a list {value,value} of at most so many."""
    form = "a list {value,value}; put values with spaces or commas in quotes"
    values = [value or "?" for _, value in islice(_parts(lines, text, VALUE, 1, form, name), max_values + 1)]
    if len(values) > max_values:
        raise lines.error("the columns declare too many values for max_features; declare a text as string", name)
    if len(set(values)) < len(values):
        raise lines.error("a value is declared twice; remove one of them", name)
    return values


def unquote(text: str) -> str:
    """Return a name or value without its quotes; backslash escapes count inside quotes only."""
    if text[:1] not in ("'", '"'):
        return text
    characters = ESCAPE.sub(_unescape, text[1:-1])
    # Two escapes can make one character; a single one of them is invalid.
    if any("\ud800" <= character < "\ue000" for character in characters):
        characters = characters.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return characters


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    base = 16 if len(code) == 5 else 8 if code[0] in "01234567" else 0
    return chr(int(code.removeprefix("u"), base)) if base else ESCAPED.get(code, code)


def _dense_cells(lines: Lines, text: str, width: int) -> list[str | None]:
    """Return the cells of a dense row, None for a missing value."""
    if "'" in text or '"' in text:
        form = "a value and a comma; close each quote, and put a value that contains a quote in quotes"
        parts = _parts(lines, text, CELL, 0, form)
        cells = [cell for _, cell in islice(parts, width)]
        n_cells = len(cells) + sum(1 for _ in parts)
    elif (n_cells := text.count(",") + 1) == width:
        cells = [None if part == "?" else part for part in (part.strip(" \t") for part in text.split(","))]
    if n_cells != width:
        raise lines.error(f"{n_cells} values, but there are {width} attributes; complete the row")
    return cells


def _sparse_cells(lines: Lines, text: str, width: int) -> dict[int, str | None]:
    """Return the cells of a sparse row by column."""
    cells: dict[int, str | None] = {}
    if text[1:].strip(" \t") == "}":
        return cells
    for match, cell in _parts(lines, text, ENTRY, 1, "part of a sparse row; write {index value,index value}"):
        column = int(match[1])
        if column >= width or column in cells:
            fault = "appears twice" if column in cells else f"is beyond the {width} attributes, which count from 0"
            raise lines.error(f"the index {column} {fault}; correct it")
        cells[column] = cell
    return cells
