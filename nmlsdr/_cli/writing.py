"""From arrays to result files: CSV, .npz and Parquet, whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, BinaryIO

import numpy as np

from nmlsdr._output import check_output, replace_file, write_arrays

from .console import Console, RunError

__all__ = ["check_target", "model_output", "need_parquet", "open_output", "row_columns", "write_result", "wrote"]

_BLOCK = 4096  # rows turned into text at a time


def write_result(
    path: str,
    columns: Sequence[tuple[str, np.ndarray]],
    arrays: Mapping[str, np.ndarray],
    *,
    inputs: Iterable[str],
) -> None:
    """Write a table in the form that the suffix of `path` names.

    Parameters
    ----------
    path : str
        Ends in .csv, .tsv, .parquet, .pq or .npz.
    columns : sequence of (name, array (n,))
        For the tables.
    arrays : mapping of str to array
        For .npz.
    inputs : iterable of str
        Files that must not be overwritten.
    """
    suffix = PurePath(path).suffix.lower()
    parquet = _parquet() if suffix in (".parquet", ".pq") else None
    try:
        with open_output(path, inputs) as file:
            if suffix == ".npz":
                write_arrays(file, arrays)
            elif parquet is not None:
                pyarrow, writer = parquet
                writer.write_table(pyarrow.table([a for _, a in columns], names=[name for name, _ in columns]), file)
            else:
                _write_text(file, columns, "\t" if suffix == ".tsv" else ",")
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunError(f"The output {path!r} could not be written ({error.strerror or error}).") from None


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


@contextlib.contextmanager
def model_output(path: str) -> Iterator[str]:
    """Where to write a model: `path` itself, or a file that goes to standard output when the block ends."""
    if path != "-":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "model.npz")
        yield name
        with open_output("-", ()) as file, open(name, "rb") as written:
            file.write(written.read())


def check_target(path: str, inputs: Iterable[str]) -> None:
    """Say before any work whether a result can be written to `path`; "-" always can."""
    if path != "-":
        check_output(path, inputs=inputs)


def row_columns(table: Any, id_name: str | None, rows: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Return what names the rows in a result: the column of ids if there is one, and the number of the row."""
    found = [("row", rows)]
    if table.ids is not None:
        ids = np.array(table.ids, dtype=object)[rows]
        found.insert(0, (id_name if id_name not in (None, "row") else "id", ids))
    return found


def wrote(console: Console, path: str, n_rows: int, *facts: tuple[int, str], hint: str = "") -> None:
    """Say that a file was written and how much is in it: "wrote m.npz: 300 rows, 4 features"."""
    if path == "-" or console.quiet:
        return
    counted = [(n_rows, "row"), *facts]
    console.note(f"wrote {path}: " + ", ".join(_counted(number, what) for number, what in counted) + "." + hint)


def _counted(number: int, what: str) -> str:
    if what.endswith("ed"):  # "12 unlabelled"
        return f"{number} {what}"
    return f"{number} {what}" + ("" if number == 1 else "s")


def need_parquet(suffix: str) -> None:
    """Say before any work that Parquet cannot be written."""
    if suffix in (".parquet", ".pq"):
        _parquet()


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise RunError(
            "Parquet files need pyarrow, which is not installed; run pip install 'nmlsdr[parquet]'."
        ) from None
    return pyarrow, pyarrow.parquet


def _write_text(file: BinaryIO, columns: Sequence[tuple[str, np.ndarray]], delimiter: str) -> None:
    file.write(_quoted([name for name, _ in columns], delimiter))
    n_rows = len(columns[0][1])
    for first in range(0, n_rows, _BLOCK):
        cells = [_cells(column[first : first + _BLOCK], delimiter) for _, column in columns]
        lines = [delimiter.join(row) for row in zip(*cells, strict=True)]
        file.write(("\n".join(lines) + "\n").encode())


def _cells(values: np.ndarray, delimiter: str) -> list[str]:
    """Return text that reads back as the same numbers."""
    if values.dtype.kind == "b":
        values = values.astype(np.int8)
    if values.dtype == np.float32:
        return [f"{value:.9g}" for value in values.tolist()]
    if values.dtype.kind in "fiu":
        return [repr(value) for value in values.tolist()]
    texts = values.tolist()
    quoted = {text: _quoted([text], delimiter).decode()[:-1] for text in set(texts)}
    return [quoted[text] for text in texts]


def _quoted(cells: Sequence[str], delimiter: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()
