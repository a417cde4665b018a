"""Read ARFF files, dense and sparse, plain and gzipped.

The time to read a header or a row is linear in its length: no pattern can match a text in two ways, so none backtracks.
"""

import dataclasses
import functools
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._checks.words import BLANKS, LABELS, fold, label_words
from .._errors import shorten
from ._columns import Cells, Numbers, Table, Texts, csr, joined, with_numbers
from ._files import Form, Lines
from ._number_parsing import float_values, number_problem
from ._roles import Split
from ._shapes import coded

WAITING_CELLS = 1 << 16  # of dense rows that are turned into columns at once
#: Nominal columns may declare this many values times max_features, in total.
MAX_VALUES = 4
NUMBERS = ("numeric", "real", "integer")
TEXTS = ("string", "date", "relational")
NOT_DECLARED = "{!r} is not among the declared values; add it there"

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

    @property
    def is_nominal(self) -> bool:
        return self.kind == "nominal"

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
        self.attributes = {attribute.name: attribute for attribute in _read_header(lines, form.max_features)}
        self.names = [*self.attributes]

    def read(self, split: Split) -> Table:
        """Return the columns that have a role; sparse features are one array."""
        rows = islice(_statements(self.lines), self.n_rows)
        first = list(islice(rows, 1))
        is_sparse = bool(first) and first[0].startswith("{")
        self._refuse_texts([*split.labels, *(split.features if is_sparse or not self.is_raw else ())])
        cells = self._cells(chain(first, rows), is_sparse)
        return self._read_sparse(cells, split) if is_sparse else self._read_dense(cells, split)

    def _refuse_texts(self, names: Iterable[str]) -> None:
        """Raise if one of these columns is declared as text, or with values that are no numbers or labels."""
        for name in names:
            attribute = self.attributes[name]
            if attribute.kind in TEXTS or (attribute.is_nominal and attribute.codes is None):
                self.lines.number = attribute.line
                example = repr(shorten(attribute.values[0], 30)) if attribute.values else f"type {attribute.kind}"
                raise self.lines.error(f"it holds text ({example}); use --drop, or write numbers", name)

    def _cells(self, rows: Iterable[str], is_sparse: bool) -> Iterator[Any]:
        """Yield the cells of each row."""
        cells_of = _sparse_cells if is_sparse else _dense_cells
        for text in rows:
            if text.startswith("{") != is_sparse:
                raise self.lines.error("dense and sparse rows are mixed; write all rows in one form")
            yield cells_of(self.lines, text, len(self.names))

    def _read_dense(self, rows: Iterator[list[str | None]], split: Split) -> Table:
        blocks: dict[str, list[Cells]] = {name: [] for name in split.column_names}
        ends = array("q")
        numbered = ((row, self.lines.number) for row in rows)
        while block := list(islice(numbered, max(1, WAITING_CELLS // len(self.names)))):
            columns = dict(zip(self.names, zip(*(row for row, _ in block), strict=True), strict=True))
            ends.extend(number for _, number in block)
            for name, column_blocks in blocks.items():
                column_blocks.append(_dense_block(self.attributes[name], columns[name]))
        table = self._table(ends)
        for name, column_blocks in blocks.items():
            table.columns[name] = self._dense_column(self.attributes[name], column_blocks, table)
        return table

    def _dense_column(self, attribute: Attribute, blocks: Sequence[Cells], table: Table) -> Cells:
        """Return a column of dense rows: numbers if all its blocks are, else texts."""
        numbers = [block.values for block in blocks if isinstance(block, Numbers)]
        if numbers and len(numbers) == len(blocks):
            return Numbers(np.concatenate(numbers))
        texts = joined([block.texts for block in blocks])
        return self._declared(attribute, texts, table) if attribute.is_nominal else with_numbers(texts)

    def _table(self, ends: Any) -> Table:
        return Table(len(ends), {}, np.array(ends, np.int64), encoding=self.lines.encoding, notes=self.lines.notes)

    def _declared(self, attribute: Attribute, cells: Texts, table: Table) -> Cells:
        """Return a nominal column with the numbers of its values; raise if a cell is not among them."""
        for code, text in enumerate(cells.different):
            if text and text not in attribute.values:
                self.lines.number = int(table.lines[np.argmax(cells.codes == code)])
                raise self.lines.error(NOT_DECLARED.format(shorten(text)), attribute.name)
        return dataclasses.replace(cells, numbers=attribute.codes)

    def _read_sparse(self, rows: Iterator[Mapping[int, str | None]], split: Split) -> Table:
        places = {name: place for place, name in enumerate(self.names)}
        feature_places = [*map(places.__getitem__, split.features)]
        features = _SparseFeatures(feature_places, self._omitted_numbers(feature_places))
        other_places = [place for place in map(places.__getitem__, split.column_names) if place not in features.columns]
        texts: dict[int, dict[int, str]] = {place: {} for place in other_places}
        value = functools.cache(self._value)
        ends = array("q")
        for row in rows:
            features.append({place: value(place, row[place]) for place in row if place in features.columns})
            for place in row.keys() & texts.keys():
                texts[place][len(ends)] = row[place] or ""
            ends.append(self.lines.number)
            self._check_memory(len(features.indices), len(ends) * len(split.labels))
        table = self._table(ends)
        table.sparse = features.array
        for place, cells in texts.items():
            name = self.names[place]
            omitted = "0" if name in split.labels else ""
            table.columns[name] = self._sparse_column(self.attributes[name], cells, omitted, table)
        return table

    def _check_memory(self, n_values: int, n_labels: int) -> None:
        """Raise if sparse rows are short in the file and large in memory."""
        if n_values > self.lines.allowed // 8:
            raise self.lines.error("values omitted from sparse rows are not 0 and fill the memory; declare 0 first")
        if 2 * n_labels > self.lines.allowed:  # more than a file of "0," may write out
            raise self.lines.too_large("leaves out labels that would fill")

    def _omitted_numbers(self, places: Sequence[int]) -> dict[int, float]:
        """Return what stands for a nominal column that a sparse row omits: the first declared value, if it is not 0."""
        attributes = {place: self.attributes[self.names[place]] for place in places}
        first = {place: self._value(place, item.values[0]) for place, item in attributes.items() if item.is_nominal}
        return {place: number for place, number in first.items() if number != 0}

    def _sparse_column(self, attribute: Attribute, texts: Mapping[int, str], omitted: str, table: Table) -> Cells:
        """Return a column of sparse rows by the texts of the rows that have one; the others have the text `omitted`."""
        codes = np.zeros(table.n_rows, np.int32)
        codes[list(texts)] = np.arange(1, len(texts) + 1)
        if not attribute.is_nominal:
            return Texts.of([omitted, *texts.values()], codes)
        return self._declared(attribute, Texts.of([attribute.values[0], *texts.values()], codes), table)

    def _value(self, place: int, cell: str | None) -> float:
        """Return the number in a cell of a sparse row."""
        attribute = self.attributes[self.names[place]]
        if attribute.is_nominal and attribute.codes is not None and cell is not None:
            if cell in attribute.codes:
                return attribute.codes[cell]
            raise self.lines.error(NOT_DECLARED.format(shorten(cell)), attribute.name)
        if (problem := number_problem(cell)) is not None:
            raise self.lines.error(problem, attribute.name)
        return float(cell or "")


class _SparseFeatures:
    """The features of sparse rows, row by row.

    Attributes
    ----------
    columns : dict of int to int
        The column of the array by the place of the attribute.
    omitted : dict of int to float
        The values of attributes that a row omits, if they are not 0, by the place of the attribute.
    """

    def __init__(self, places: Iterable[int], omitted: Mapping[int, float]) -> None:
        self.columns = {place: column for column, place in enumerate(places)}
        self.omitted = omitted
        self.indices = array("q")
        self.data = array("d")
        self.indptr = array("q", [0])

    def append(self, numbers: Mapping[int, float]) -> None:
        """Add a row by the numbers that it has, each by the place of its attribute."""
        row = {**self.omitted, **numbers}
        for place in sorted(row):
            if row[place] != 0:
                self.indices.append(self.columns[place])
                self.data.append(row[place])
        self.indptr.append(len(self.indices))

    @property
    def array(self) -> csr_array:
        return csr(self.data, self.indices, self.indptr, (len(self.indptr) - 1, len(self.columns)))


def _dense_block(attribute: Attribute, cells: Sequence[str | None]) -> Cells:
    """Return some cells of a column: numbers if the column is declared as such and they are, else texts."""
    texts = ["" if cell is None else cell for cell in cells]
    values = float_values(texts) if attribute.kind in NUMBERS else None
    return Texts(*coded(texts)) if values is None else Numbers(values)


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
