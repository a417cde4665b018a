"""Read ARFF files, dense and sparse, plain and gzipped.

The time to read a header or a row is linear in its length: no pattern can match a text in two ways, so none backtracks.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from .._checks.words import BLANKS, LABELS, fold, label_words
from ._cells import Codes, CollectedRows, CollectedSparseRows, FileContents
from ._columns import Split, Wanted, split_columns
from ._files import DataFileError, Lines, Path_, shorten
from ._numbers import number_problem

MAX_VALUES = 4
"""Nominal columns may declare this many values times max_features, in total."""
NUMBERS = ("numeric", "real", "integer")
TEXTS = ("string", "date", "relational")

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"({QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", re.DOTALL)
VALUE = re.compile(rf"(?:\s*({QUOTED})\s*|([^,'\"}}]*))([,}}])")  # linear time: no two parts can share blanks
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)")
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
ANY_QUOTED = re.compile(rf"{QUOTED}|(['\"].*)", re.DOTALL)  # group 1: a quote that is not closed; linear time
CELL = re.compile(rf"[ \t]*(?:({QUOTED})[ \t]*|([^,'\"]*))(,|$)")  # of a dense row
ENTRY = re.compile(rf"[ \t]*([0-9]{{1,18}})[ \t]+(?:({QUOTED})|([^,'\"{{}} \t]+))[ \t]*([,}}])")  # of a sparse row


class Attribute(NamedTuple):
    """One column: its name, its line, its type in lower case, and its declared values if it is nominal."""

    name: str
    line: int
    kind: str
    values: list[str]

    def codes(self) -> Codes | None:
        """Return the number that each declared value stands for; None if they stand for none."""
        if all(number_problem(value) is None for value in self.values):
            return {value: float(value) for value in self.values}
        words = {value: fold(value) for value in self.values}
        known = None if LABELS.keys() & words.values() else label_words(words.values())
        return known and {value: float(known[word]) for value, word in words.items()}


def read_arff(path: Path_, wanted: Wanted) -> FileContents:
    """Read a file, or its first rows: dense rows or sparse ones."""
    with Lines(path, wanted.max_bytes) as lines:
        attributes = _read_header(lines, wanted.max_features)
        split = split_columns(lines.path, [attribute.name for attribute in attributes], wanted)
        codes = _codes(lines, attributes, split)
        omitted = {j: item.values[0] for j, item in enumerate(attributes) if item.kind == "nominal"}
        dense = CollectedRows(lines, split, codes)
        rows: CollectedRows | None = None
        for text in islice(_statements(lines), wanted.n_rows):
            is_sparse = text.startswith("{")
            if rows is None and is_sparse and wanted.plan is not None:
                return read_arff(path, dataclasses.replace(wanted, plan=None))  # sparse rows hold numbers
            if rows is None:
                rows = CollectedSparseRows(lines, split, codes, omitted) if is_sparse else dense
            if isinstance(rows, CollectedSparseRows) != is_sparse:
                raise lines.error("dense and sparse rows are mixed; write all rows in one form")
            rows.add((_sparse_cells if is_sparse else _dense_cells)(lines, text, len(attributes)))
        return (rows or dense).contents()


def _statements(lines: Lines) -> Iterator[str]:
    """Yield the lines without comments and blank lines."""
    for raw in lines:
        text = raw.strip(BLANKS)
        if text and not text.startswith("%"):
            yield text


def _read_header(lines: Lines, max_features: int) -> list[Attribute]:
    """Read the attributes, up to and including the line @data."""
    attributes: list[Attribute] = []
    seen: dict[str, int] = {}
    n_values = 0
    for text in _statements(lines):
        keyword, rest = [*text.split(None, 1), ""][:2]
        keyword = keyword.lower()
        if keyword == "@data":
            if not attributes:
                raise lines.error("there is no @attribute before @data; add the header")
            return attributes
        if keyword == "@attribute":
            if len(attributes) >= max_features:
                raise lines.error(f"more than max_features={max_features} attributes; raise it if you trust the file")
            attribute = _attribute(lines, rest.strip(), MAX_VALUES * max_features - n_values)
            n_values += len(attribute.values)
            if attribute.name in seen:
                raise lines.error(f"the name appears twice, first in line {seen[attribute.name]}", attribute.name)
            seen[attribute.name] = lines.number
            attributes.append(attribute)
        elif keyword != "@relation":
            raise lines.error(f"{shorten(text)!r} is not a header line; write @relation, @attribute or @data")
    lines.number = max(lines.number, 1)
    raise lines.error("the file ends without a line @data; it is not a complete ARFF file")


def _attribute(lines: Lines, text: str, most: int) -> Attribute:
    """Read what follows the word @attribute; it may declare `most` values."""
    match = ATTRIBUTE.fullmatch(text)
    if match is None:
        raise lines.error(
            f"{shorten(text)!r} is not a name and type; write @attribute NAME TYPE, names with spaces in quotes"
        )
    name, kind = unquote(match[1]), match[2].strip()
    if kind.startswith("{"):
        return Attribute(name, lines.number, "nominal", _nominal(lines, name, kind, most))
    word = kind.split("%")[0].strip().lower().split(" ")[0]
    if word not in NUMBERS + TEXTS:
        raise lines.error(f"the type {shorten(kind)!r} is not known; write numeric or {{value,value}}", name)
    return Attribute(name, lines.number, word, [])


def _nominal(lines: Lines, name: str, text: str, most: int) -> list[str]:
    """Read a list {value,value} of at most so many."""
    values: list[str] = []
    position, end = 1, ","
    while end == ",":
        match = VALUE.match(text, position)
        value = (match[1] or match[2].strip()) if match is not None else ""
        if match is None or not value:
            raise lines.error(
                "the list of values is not {value,value}; put values with spaces or commas in quotes", name
            )
        if len(values) >= most:
            raise lines.error("the columns declare too many values for max_features; declare a text as string", name)
        values.append(unquote(value))
        position, end = match.end(), match[3]
    rest = text[position:].strip()
    if rest and not rest.startswith("%"):
        raise lines.error(f"{shorten(rest)!r} follows the list of values; remove it", name)
    if len(set(values)) < len(values):
        raise lines.error("a value is declared twice; remove one of them", name)
    return values


def unquote(text: str) -> str:
    """Return a name or value without its quotes; backslash escapes count inside quotes only."""
    if text[:1] not in ("'", '"'):
        return text
    found = ESCAPE.sub(_unescape, text[1:-1])
    # Two escapes can make one character; a single one of them is invalid.
    if any("\ud800" <= character < "\ue000" for character in found):
        found = found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return found


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "u" and len(code) == 5:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return ESCAPED.get(code, code)


def _codes(lines: Lines, attributes: Sequence[Attribute], split: Split) -> dict[int, Codes]:
    """Return the codes of each nominal column that is a feature or a label."""
    codes: dict[int, Codes] = {}
    for j in [*split.features, *split.labels]:
        name, line, kind, values = attributes[j]
        found = attributes[j].codes() if kind == "nominal" else None
        if found is not None:
            codes[j] = found
        elif kind == "nominal" or kind in TEXTS:
            lines.number = line
            example = repr(shorten(values[0], 30)) if values else f"type {kind}"
            raise lines.error(f"it holds text ({example}); use --drop, or write numbers", name)
    return codes


def _dense_cells(lines: Lines, text: str, width: int) -> list[str | None]:
    """Return the cells of a dense row, None for a missing value."""
    cells: list[str | None]
    if "'" not in text and '"' not in text:
        if text.count(",") + 1 != width:
            raise _wrong_count(lines, text.count(",") + 1, width)
        parts = text.split(",")
        if " " in text or "\t" in text:
            parts = [part.strip(" \t") for part in parts]
        return [None if part == "?" else part for part in parts] if "?" in text else list(parts)
    cells = []
    position, end = 0, ","
    while end:
        match = CELL.match(text, position)
        if match is None:
            raise _wrong_quotes(lines, text)
        quoted, plain, end = match.groups()
        if len(cells) < width:
            plain = unquote(quoted) if quoted is not None else plain.strip(" \t")
            cells.append(None if quoted is None and plain == "?" else plain)
        elif len(cells) == width:  # too many; the error says how many
            raise _wrong_count(lines, ANY_QUOTED.sub("q", text).count(",") + 1, width)
        position = match.end()
    if len(cells) != width:
        raise _wrong_count(lines, len(cells), width)
    return cells


def _sparse_cells(lines: Lines, text: str, width: int) -> dict[int, str | None]:
    """Return the cells of a sparse row by column."""
    cells: dict[int, str | None] = {}
    if text[1:-1].strip(" \t") == "" and text[-1] == "}":
        return cells
    position, end = 1, ","
    while end == ",":
        match = ENTRY.match(text, position)
        if match is None:
            raise _wrong_sparse(lines, text)
        key, quoted, plain, end = match.groups()
        column = int(key)
        if column >= width:
            raise lines.error(f"the index {column} is beyond the {width} attributes, which count from 0; correct it")
        if column in cells:
            raise lines.error(f"the index {column} appears twice; remove one of the two values")
        cells[column] = unquote(quoted) if quoted is not None else None if plain == "?" else plain
        position = match.end()
    if position != len(text):
        raise _wrong_sparse(lines, text)
    return cells


def _wrong_count(lines: Lines, n_values: int, width: int) -> DataFileError:
    return lines.error(f"{n_values} values, but there are {width} attributes; complete the row")


def _wrong_quotes(lines: Lines, text: str) -> DataFileError:
    if any(match[1] is not None for match in ANY_QUOTED.finditer(text)):
        return lines.error("a quote is not closed; close it, or put a value that contains a quote in quotes")
    return lines.error("a comma is missing after a quoted text; add it")


def _wrong_sparse(lines: Lines, text: str) -> DataFileError:
    if "'" in text or '"' in text:
        return _wrong_quotes(lines, text)
    return lines.error(f"{shorten(text)!r} is not a sparse row; write {{index value,index value}}")
