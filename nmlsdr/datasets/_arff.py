"""Read ARFF files, dense and sparse, plain and gzipped.

liac-arff splits the rows into their values; the header is read here, and so are quoted texts and every value.  Left to
itself it (version 2.5) keeps the backslashes of quoted names, reads a header only with single blanks, takes inf, nan,
1_0 and the last of two values at one sparse index, hands back a row of unconverted text when an integer is not finite,
and its patterns take minutes on some lists of values and on 40 kB of escaped quotes.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ._cells import Codes, LabelNames, Rows, SparseRows, Split, number_problem, split_columns
from ._files import MAX_BYTES, MAX_FEATURES, Lines, Path_, shorten

NUMBERS = ("numeric", "real", "integer")
TEXTS = ("string", "date", "relational")
WORDS = ({"yes": 1.0, "no": 0.0}, {"true": 1.0, "false": 0.0})

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"({QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", re.DOTALL)
VALUE = re.compile(rf"(?:\s*({QUOTED})\s*|([^,'\"}}]*))([,}}])")  # linear time: no two parts can share blanks
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)")
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
ANY_QUOTED = re.compile(rf"{QUOTED}|(['\"].*)", re.DOTALL)  # group 1: a quote that is not closed; linear time
SPARSE_KEY = re.compile(r"[{,]\s*(\d{1,18})\s")


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
        for words in WORDS:
            if all(value.lower() in words for value in self.values):
                return {value: words[value.lower()] for value in self.values}
        return None


def import_liac() -> Any:
    """Import liac-arff, or say how to install it."""
    try:
        import arff
    except ImportError:
        arff = None
    if not hasattr(arff, "LOD_GEN"):  # another package has the same module name
        raise ImportError("Reading ARFF files needs liac-arff; install it with: pip install 'nmlsdr[datasets]'.")
    return arff


def read_arff(
    path: Path_,
    label_names: LabelNames | None = None,
    *,
    all_labels: bool = False,
    drop: Sequence[str] = (),
    missing_labels: bool = True,
    n_rows: int | None = None,
    max_bytes: int = MAX_BYTES,
    max_features: int = MAX_FEATURES,
) -> Rows:
    """Read a file, or its first `n_rows` rows, into Rows (dense) or SparseRows.

    `all_labels` makes every column a label.
    """
    liac = import_liac()
    with Lines(path, max_bytes) as lines:
        attributes = _read_header(lines, max_features)
        names = [attribute.name for attribute in attributes]
        split = split_columns(path, names, names if all_labels else label_names, drop=drop, max_features=max_features)
        codes = _codes(lines, attributes, split)
        quotes = _Quotes(lines)
        data_lines = _data_lines(lines)
        first = next(data_lines, "")
        is_sparse = first.startswith("{")
        dense_rows = Rows(lines, split, codes, missing_labels=missing_labels)
        sparse_rows = SparseRows(
            lines,
            split,
            codes,
            {j: attribute.values[0] for j, attribute in enumerate(attributes) if attribute.kind == "nominal"},
            missing_labels=missing_labels,
            max_entries=max_bytes // 8,
        )
        rows = sparse_rows if is_sparse else dense_rows
        if not first:
            return rows

        def texts() -> Iterator[str]:
            """Yield what liac-arff is to read: a header that it takes, then the rows as they are."""
            yield "@relation r"
            for j in range(len(names)):
                yield f"@attribute a{j} string"
            yield "@data"
            for text in itertools.chain([first], data_lines):
                if text.startswith("{") != is_sparse:
                    raise lines.error("dense and sparse rows are mixed; write all rows in one form")
                yield quotes.hide(text)

        try:
            decoded = liac.load(texts(), return_type=liac.LOD_GEN if is_sparse else liac.DENSE_GEN)
            for cells in itertools.islice(decoded["data"], n_rows):
                if is_sparse:
                    _refuse_repeated(lines, cells)
                    sparse_rows.add_sparse(
                        {j: quotes.show(cell) for j, cell in cells.items()} if quotes.texts else cells
                    )
                else:
                    dense_rows.add([quotes.show(cell) for cell in cells] if quotes.texts else cells)
        except (liac.ArffException, csv.Error):
            raise lines.error(_row_problem(lines.text, is_sparse, names)) from None
        return rows


def _read_header(lines: Lines, max_features: int) -> list[Attribute]:
    """Read up to and with the line @data."""
    attributes: list[Attribute] = []
    seen: dict[str, int] = {}
    for raw in lines:
        text = raw.strip()
        if not text or text.startswith("%"):
            continue
        keyword, rest = [*text.split(None, 1), ""][:2]
        keyword = keyword.lower()
        if keyword == "@data":
            if not attributes:
                raise lines.error("there is no @attribute before @data; add the header")
            return attributes
        if keyword == "@attribute":
            if len(attributes) >= max_features:
                raise lines.error(f"more than max_features={max_features} attributes; raise it if you trust the file")
            attribute = _attribute(lines, rest.strip())
            if attribute.name in seen:
                raise lines.error(f"the name stands there twice, first in line {seen[attribute.name]}", attribute.name)
            seen[attribute.name] = lines.number
            attributes.append(attribute)
        elif keyword != "@relation":
            raise lines.error(f"{shorten(text)!r} stands in the header; write @relation, @attribute or @data")
    lines.number = max(lines.number, 1)
    raise lines.error("the file ends without a line @data; it is not a complete ARFF file")


def _attribute(lines: Lines, text: str) -> Attribute:
    """Read what follows the word @attribute."""
    match = ATTRIBUTE.fullmatch(text)
    if match is None:
        raise lines.error(f"{shorten(text)!r} is no name and type; write @attribute NAME TYPE, odd names in quotes")
    name, kind = unquote(match[1]), match[2].strip()
    if kind.startswith("{"):
        return Attribute(name, lines.number, "nominal", _nominal(lines, name, kind))
    word = kind.split("%")[0].strip().lower().split(" ")[0]
    if word not in NUMBERS + TEXTS:
        raise lines.error(f"the type {shorten(kind)!r} is not known; write numeric or {{value,value}}", name)
    return Attribute(name, lines.number, word, [])


def _nominal(lines: Lines, name: str, text: str) -> list[str]:
    """Read a list {value,value}."""
    values: list[str] = []
    position, end = 1, ","
    while end == ",":
        match = VALUE.match(text, position)
        value = (match[1] or match[2].strip()) if match is not None else ""
        if match is None or not value:
            raise lines.error("the list of values is not {value,value}; put odd values in quotes", name)
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
    return ESCAPE.sub(_unescape, text[1:-1])


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "u" and len(code) == 5:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return ESCAPED.get(code, code)


def _codes(lines: Lines, attributes: Sequence[Attribute], split: Split) -> list[Codes | None]:
    """Return the codes of each nominal column, None for numbers and for columns that are dropped."""
    codes: list[Codes | None] = [None] * len(attributes)
    for j in [*split.features, *split.labels]:
        name, line, kind, values = attributes[j]
        if kind == "nominal":
            codes[j] = attributes[j].codes()
        if kind in TEXTS or (kind == "nominal" and codes[j] is None):
            lines.number = line
            example = f"values such as {shorten(values[0], 30)!r}" if values else f"type {kind}"
            raise lines.error(f"a column of text ({example}) has no numeric codes; drop it or write numbers", name)
    return codes


def _data_lines(lines: Lines) -> Iterator[str]:
    """Yield the rows after @data, without comments and blank lines."""
    for raw in lines:
        text = raw.strip()
        if text and not text.startswith("%"):
            yield text


class _Quotes:
    """Stand-ins for the quoted texts of one row, so that liac-arff meets no quotes: NUL, number, NUL."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.texts: list[str] = []

    def hide(self, row: str) -> str:
        """Return a row with its quoted texts replaced, and keep these."""
        self.texts = []
        if "\0" in row:
            raise self.lines.error("a NUL character stands in the row; this is not a text file")
        if "'" not in row and '"' not in row:
            return row

        def keep(match: re.Match[str]) -> str:
            if match[1] is not None:
                raise self.lines.error("a quote is not closed; close it, or put a value with a quote in it in quotes")
            self.texts.append(unquote(match[0]))
            return f"\0{len(self.texts) - 1}\0"

        return ANY_QUOTED.sub(keep, row)

    def show(self, cell: str | None) -> str | None:
        """Return the text that a cell stands for."""
        if cell is None or "\0" not in cell:
            return cell
        if cell[0] == cell[-1] == "\0" and cell[1:-1].isdigit():
            return self.texts[int(cell[1:-1])]
        raise self.lines.error("a quoted text and another one stand side by side; put a comma between them")


def _refuse_repeated(lines: Lines, row: dict[int, str | None]) -> None:
    """Raise if a sparse row holds an index twice: the row as a dictionary would keep one of them."""
    if not row or lines.text.count(",") + 1 == len(row):
        return
    keys = [int(key) for key in SPARSE_KEY.findall(ANY_QUOTED.sub("q", lines.text))]
    if len(keys) != len(row):
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise lines.error(f"the index {repeated} stands there twice; remove one of the two values")


def _row_problem(text: str, is_sparse: bool, names: Sequence[str]) -> str:
    """Say what is wrong with a row that liac-arff refused."""
    plain = ANY_QUOTED.sub("q", text.strip())
    if is_sparse:
        keys = [int(key) for key in SPARSE_KEY.findall(plain)]
        if keys and max(keys) >= len(names):
            return f"the index {max(keys)} is beyond the {len(names)} attributes, which count from 0; correct it"
        return f"{shorten(text)!r} is not a sparse row; write {{index value,index value}}"
    if len(plain.split(",")) != len(names):
        return f"{len(plain.split(','))} values, but there are {len(names)} attributes; complete the row"
    return f"{shorten(text)!r} is not a row of values; put odd values in quotes"
