"""Read plain tables of text through pyarrow, six times as fast; whatever is not plain is left to the reader in `_csv`.

The answer is the table that `_csv` would give, or None: that there is a quote among the rows, a value that is no finite
number, a row of another length, an odd line break ... `_csv` then reads the file and says what is wrong, and where.
"""

from __future__ import annotations

import gzip
import os
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cells import CROSS, HOLES, Table, crossed, label_cell, placed, refuse_plus_minus
from ._columns import Split
from ._files import LINE_COST, Path_, allowance, open_unpacked, recoded
from ._text import Dialect

__all__ = ["read_plain"]

MOST = 1 << 30  # bytes of text that are held at once; a longer file is read line by line


def read_plain(
    path: Path_, split: Split, width: int, dialect: Dialect, *, all_labels: bool, max_bytes: int | None, encoding: str
) -> Table | None:
    """Return the table below the header line, or None where the other reader must look."""
    try:
        import pyarrow
        import pyarrow.csv
    except ImportError:
        return None
    text = _text(path, max_bytes, encoding)
    if text is None:
        return None
    head = text.find(b"\n") + 1
    odd_breaks = b"\r" in text and text.count(b"\r") != text.count(b"\r\n")
    if head == 0 or text.find(b'"', head) >= 0 or odd_breaks or b"\0" in text:
        return None
    rows = memoryview(text)  # no copy
    if not all_labels:  # blank lines may stand at the end; in a file of labels they are rows
        end = len(text)
        while end > 0 and text[end - 1] in b"\r\n":
            end -= 1
        rows = rows[:end]
    floats, words = pyarrow.float64(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    texts = [j for j in (split.id, split.label_list) if j is not None]
    types = {**dict.fromkeys(split.features, floats), **dict.fromkeys(split.labels, words)}
    types |= dict.fromkeys([*texts, *split.texts], pyarrow.string())
    holes = [text for hole in HOLES for text in {hole, hole.upper()}] if split.gaps else []
    try:
        table = pyarrow.csv.read_csv(
            pyarrow.BufferReader(rows),
            read_options=pyarrow.csv.ReadOptions(column_names=[str(j) for j in range(width)], skip_rows=1),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=dialect.delimiter, quote_char=False, ignore_empty_lines=False
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={str(j): kind for j, kind in types.items()},
                include_columns=[str(j) for j in types],
                null_values=holes,  # of numbers only: texts are not null
                decimal_point=dialect.decimal,
            ),
        )
    except (pyarrow.ArrowException, ValueError, KeyError):
        return None
    # Blank lines are rows here, without a cell that says what is missing: too many are for the other reader to refuse.
    few = 2 * table.num_rows * len(split.labels) <= allowance(path, max_bytes)
    if table.num_rows == 0 or not few or not (split.features or split.texts or all_labels):
        return None
    data = _features(table, split)
    if data is None:
        return None  # before the labels, whose errors come last in the other reader too
    target = _labels(path, table, split)
    if target is None and split.labels:
        return None
    found = [table.column(str(j)).to_pylist() for j in texts]
    ids = found[0] if split.id is not None else None
    tags = found[-1] if split.label_list is not None else None
    return Table(data, target, split.feature_names, split.label_names or None, ids, tags, split.unused, encoding,
                 placed(split, [table.column(str(j)).to_pylist() for j in split.texts]))  # fmt: skip


def _text(path: Path_, max_bytes: int | None, encoding: str) -> bytes | None:
    """Return the whole file as UTF-8, None if it is larger than it may be or is something else."""
    most = min(MOST, allowance(path, max_bytes) if max_bytes is not None else MOST)
    try:
        with open_unpacked(path) as file:
            packed = isinstance(file, gzip.GzipFile)
            if packed and max_bytes is None:
                most = min(most, allowance(path, None))
            # As much room as the file needs: to ask for 1 GiB took ten times as long as to read 22 MB.
            size = most if packed else min(most, os.fstat(file.fileno()).st_size)
            text = file.read(size + 1)
        if len(text) > size:
            return None
        if packed and max_bytes is None and len(text) + LINE_COST * text.count(b"\n") > most:
            return None
        text = recoded(text, encoding)
        if not text.isascii():
            text.decode("utf-8")
    except (OSError, EOFError, ValueError, LookupError, zlib.error):
        return None
    return text


def _features(table: Any, split: Split) -> NDArray[np.float64] | None:
    """Return the features, None if one is neither finite nor a gap that may be."""
    data = np.empty((table.num_rows, len(split.features)))
    start = 0
    for batch in table.to_batches():  # a few thousand rows, which stay in the cache while they are turned
        block = data[start : start + batch.num_rows]
        for place, j in enumerate(split.features):
            block[:, place] = batch.column(str(j)).to_numpy(zero_copy_only=False)
        if not (np.isfinite(block) | np.isnan(block) if split.gaps else np.isfinite(block)).all():
            return None
        start += batch.num_rows
    return data


def _labels(path: Path_, table: Any, split: Split) -> NDArray[np.int64] | None:
    """Return the labels, None where a cell is no label."""
    if not split.labels:
        return None
    target = np.empty((table.num_rows, len(split.labels)), dtype=np.int64)
    minus_one = False
    for place, j in enumerate(split.labels):
        start = 0
        for chunk in table.column(str(j)).chunks:
            words = chunk.dictionary.to_pylist()
            try:
                codes = np.array([label_cell(word) for word in words], dtype=np.int64)
            except KeyError:
                return None
            minus_one |= any(word.lstrip().startswith("-") for word in words)
            target[start : start + len(chunk), place] = codes[chunk.indices.to_numpy()]
            start += len(chunk)
    if (target == CROSS).any():
        target = crossed(path, target, split.label_names)
    if minus_one:
        refuse_plus_minus(path, target)
    return target
