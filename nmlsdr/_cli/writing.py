"""From arrays to result files: CSV, .npz and Parquet, whole or not at all."""

import argparse
import codecs
import contextlib
import csv
import io
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np

from .._errors import plural
from .._output import replace_file
from .checks import PARQUET, input_files, need_pyarrow
from .console import Console

_BLOCK = 4096  # rows turned into text at a time


def write_result(
    path: str,
    args: argparse.Namespace,
    console: Console,
    columns: Sequence[tuple[str, np.ndarray]],
    arrays: Mapping[str, Any],
    *facts: tuple[int, str],
    hint: str = "",
) -> None:
    """Write a table to a file, in the form of its suffix, and report it.

    Parameters
    ----------
    path : str
        With one of the suffixes .csv, .tsv, .parquet, .pq and .npz; standard output is CSV.
    args : Namespace
        With the input files, which are not overwritten.
    console : Console
    columns : sequence of (name, array (n,))
        For the tables.
    arrays : mapping of str to array
        For .npz.
    *facts : (int, str)
        Counts to report, such as (3, "label").
    hint : str, default=""
        What to do with the file.
    """
    suffix = PurePath(path).suffix.lower()
    with console.step(f"write {path}"), open_output(path, input_files(args)) as file:
        if suffix == ".npz":
            np.savez(file, **arrays)
        elif suffix in PARQUET:
            pyarrow: Any = need_pyarrow()
            table = pyarrow.table([a for _, a in columns], names=[name for name, _ in columns])
            pyarrow.parquet.write_table(table, file)
        else:
            write_text(file, columns, "\t" if suffix == ".tsv" else ",", is_file=path != "-")
    wrote(console, path, len(columns[0][1]), *facts, hint=hint)


@contextlib.contextmanager
def open_output(path: str, inputs: Iterable[str]) -> Iterator[BinaryIO]:
    """Open what becomes `path` when the block ends without an error, or standard output for "-"."""
    if path != "-":
        with replace_file(path, inputs=inputs) as file:
            yield file
        return
    whole = io.BytesIO()
    yield whole
    sys.stdout.buffer.write(whole.getvalue())
    sys.stdout.buffer.flush()


def wrote(console: Console, path: str, n_rows: int, *facts: tuple[int, str], hint: str = "") -> None:
    """Report that a file was written, and its contents: "wrote m.skops: 300 rows, 4 features"."""
    if path == "-" or console.quiet:
        return
    counted = [(n_rows, "row"), *(fact for fact in facts if fact[0])]
    shown = [f"{number} unlabelled" if noun == "unlabelled" else plural(number, noun) for number, noun in counted]
    console.note(f"wrote {path}: {', '.join(shown)}.{hint}")


def write_text(
    file: BinaryIO, columns: Sequence[tuple[str, np.ndarray]], delimiter: str, *, is_file: bool = True
) -> None:
    """Write named columns as lines of text in UTF-8.

    A file with letters above ASCII begins with a byte order mark: without it, spreadsheets show them as others.
    """
    if is_file and not (all(name.isascii() for name, _ in columns) and all(is_ascii(column) for _, column in columns)):
        file.write(codecs.BOM_UTF8)
    # csv puts a cell with a line break of any kind in quotes only if its own lines end with both characters.
    lines: Any = SimpleNamespace(write=lambda line: file.write(f"{line[:-2]}\n".encode()))
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow([name for name, _ in columns])
    for first in range(0, len(columns[0][1]), _BLOCK):
        writer.writerows(zip(*(_cells(column[first : first + _BLOCK]) for _, column in columns), strict=True))


def is_ascii(values: np.ndarray) -> bool:
    """Whether no cell of a column has a letter above ASCII."""
    return values.dtype.kind not in "OU" or all(str(value).isascii() for value in values.tolist())


def _cells(values: np.ndarray) -> list[Any]:
    """Return what csv writes as text that reads back as the same numbers."""
    return [f"{value:.9g}" for value in values.tolist()] if values.dtype == np.float32 else values.tolist()
