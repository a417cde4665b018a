"""correct: a table as it was, with the labels of verdicts changed, for use outside of this package."""

import argparse
import csv
from collections.abc import Sequence
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks.words import trim
from .._errors import InputError, plural, shorten
from ..tables import Form, Lines
from .checks import input_files
from .console import Console
from .reading import read_data
from .table import Table
from .writing import open_output, wrote

ADVICE = (
    "A fit wants the original table with --reviewed and not this one: from corrected labels the noise rate of the "
    "others looks smaller than it is"
)
_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_COLUMN = "corrected"
_WORDS = {0: "no", 1: "yes", -1: "unknown"}


class _Lines(NamedTuple):
    """A file as lines of cells."""

    above: list[list[str]]
    header: list[str]
    rows: list[list[str]]
    below: list[list[str]]
    delimiter: str


def correct(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr correct``."""
    _check_source(args)
    table = read_data(args, console, need_labels=True, encode=False)
    changes = changes_of(table)
    lines = _read(args, table)
    if table.lists is None:
        left_out = _change_columns(lines, table, changes)
    else:
        left_out = _change_lists(lines, table, args.label_list, changes)
    name = _COLUMN
    while name in lines.header:
        name += "_"
    lines.header.append(name)
    names = table.names_of_labels()
    for i, row in enumerate(lines.rows):
        sentences = [f"{names[c]}: {_WORDS[before]} -> {_WORDS[after]}" for c, before, after in changes.get(i, ())]
        row.append("; ".join(sentences))
    _write(lines, args, console)
    n_changed = sum(map(len, changes.values()))
    hint = f" {ADVICE}."
    wrote(console, args.out, len(lines.rows), (n_changed, "changed label"), hint=hint)
    if left_out:
        reason = "have labels that are still unknown, which a list cannot say; they stay as they were"
        console.note(f"{args.data}: {plural(left_out, 'row')} with verdicts {reason}.")
    return 0


def _check_source(args: argparse.Namespace) -> None:
    """Raise for a table whose labels cannot be changed in place, and without verdicts."""
    if not args.data.lower().endswith(_SUFFIXES):
        raise InputError(f"nmlsdr correct takes a CSV or TSV file, got {args.data}; save the table as one of these.")
    if args.reviewed is None:
        raise InputError("nmlsdr correct needs the verdicts; give their file with --reviewed.")
    if args.annotators is not None or args.label_file is not None:
        option = "--annotators" if args.annotators is not None else "--label-file"
        raise InputError(f"nmlsdr correct changes labels in columns of the table, and not those of {option}.")


Changes = dict[int, list[tuple[int, int, int]]]


def changes_of(table: Table) -> Changes:
    """Return for each row that verdicts change the labels, and what they were and become."""
    different = (table.verdicts >= 0) & (table.verdicts != table.file_labels)
    changes: Changes = {}
    for i, c in np.argwhere(different).tolist():
        changes.setdefault(i, []).append((c, int(table.file_labels[i, c]), int(table.verdicts[i, c])))
    return changes


def _read(args: argparse.Namespace, table: Table) -> _Lines:
    """The lines of the file, of which those of the table begin below the names of its columns."""
    names = {args.label_list} if table.lists is not None else {*table.names_of_labels()}
    form = Form(encoding=args.encoding or table.encoding, max_bytes=args.max_bytes)
    with Lines(args.data, form) as lines:
        delimiter = lines.delimiter(args.delimiter)
        cells = list(csv.reader((f"{line}\n" for line in lines), delimiter=delimiter))
    first = next((k for k, row in enumerate(cells) if names <= {*map(trim, row)}), None)
    n_rows = len(table.target)
    if first is None or len(cells) - first - 1 < n_rows:
        raise InputError(f"{args.data} cannot be read line by line; save it as CSV with the names in line 1.")
    header = cells[first]
    rows = cells[first + 1 : first + 1 + n_rows]
    for k, row in enumerate(rows):
        if len(row) != len(header):
            raise InputError(f"{args.data}: row {k} has {len(row)} cells, the names are {len(header)}; correct it.")
    return _Lines(cells[:first], header, rows, cells[first + 1 + n_rows :], delimiter)


def _place(header: Sequence[str], name: str) -> int:
    """The number of a column."""
    places = [k for k, cell in enumerate(header) if trim(cell) == name]
    if len(places) != 1:
        raise InputError(f"the table has {len(places)} columns {shorten(name)!r}; rename all but one.")
    return places[0]


def _change_columns(lines: _Lines, table: Table, changes: Changes) -> int:
    """Change columns of labels, in the words that each of them has for yes and no."""
    for c, name in enumerate(table.names_of_labels()):
        place = _place(lines.header, name)
        words = {value: _frequent(lines.rows, place, table.file_labels[:, c] == value, str(value)) for value in (0, 1)}
        for i, labels in changes.items():
            for label, _, value in labels:
                if label == c:
                    lines.rows[i][place] = words[value]
    return 0


def _frequent(rows: Sequence[Sequence[str]], place: int, chosen: NDArray[np.bool_], default: str) -> str:
    """The most frequent cell of a column in some rows, or the default if there are none."""
    cells = [rows[i][place] for i in np.flatnonzero(chosen).tolist()]
    return max(dict.fromkeys(cells), key=cells.count) if cells else default


def _change_lists(lines: _Lines, table: Table, column: str, changes: Changes) -> int:
    """Change a column of lists, and return how many rows a list cannot express, which stay and leave `changes`."""
    place = _place(lines.header, column)
    names = table.names_of_labels()
    separator = table.lists.separator
    if any(f"{separator} " in row[place] for row in lines.rows):
        separator += " "
    left_out = [i for i in changes if (table.target[i] == -1).any()]
    for i in left_out:
        del changes[i]
    for i, labels in changes.items():
        cell = _changed_list(lines.rows[i][place], labels, names, separator)
        lines.rows[i][place] = cell or table.lists.no_label or "none"
    return len(left_out)


def _changed_list(cell: str, labels: Sequence[tuple[int, int, int]], names: Sequence[str], separator: str) -> str:
    """A list without the labels that verdicts removed, and with those that they added at its end."""
    members = [name for name in map(trim, cell.split(separator.strip(" "))) if name in names]
    removed = {names[c] for c, _, value in labels if value == 0}
    members = [name for name in members if name not in removed]
    return separator.join([*members, *(names[c] for c, _, value in labels if value == 1)])


def _write(lines: _Lines, args: argparse.Namespace, console: Console) -> None:
    is_tsv = PurePath(args.out).suffix.lower() == ".tsv"
    delimiter = "\t" if is_tsv else lines.delimiter if lines.delimiter in ",;" else ","
    with console.step(f"write {args.out}"), open_output(args.out, input_files(args)) as file:
        text: Any = SimpleNamespace(write=lambda line: file.write(f"{line[:-2]}\n".encode()))
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
        writer.writerows([*lines.above, lines.header, *lines.rows, *lines.below])
