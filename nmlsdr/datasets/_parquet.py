"""Read Parquet files through pyarrow."""

import dataclasses
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._errors import import_extra
from ._cells import FileContents, contents, feature_array, label_array
from ._columns import Split, Wanted, split_columns
from ._files import DataFileError, Path_, check_size, existing, foreign_bytes, place
from ._survey import MOST_ROWS, Look, refuse_words

PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # pandas writes an index under this name
WORDS = ("string", "large_string", "dictionary", "temporal")
NUMBERS = ("integer", "floating", "boolean", "null")
BATCH_ROWS = 65536
UNREADABLE = ("not a readable Parquet file", "write it again")


def _pyarrow() -> Any:
    return import_extra("pyarrow.parquet", "Reading Parquet files", "parquet")


def read_parquet(path: Path_, wanted: Wanted) -> FileContents:
    """Read columns of numbers or booleans, and those of texts that are wanted.  An index of pandas is left out.

    Labels and texts may be null, and features too if `wanted` allows missing values.
    """
    pyarrow, found = _pyarrow(), existing(path)
    with foreign_bytes(found, *UNREADABLE):
        with pyarrow.parquet.ParquetFile(os.fspath(found)) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        split, words = _split(path, schema, wanted)
        names = split.names
        kept = [*split.features, *split.labels]
        texts: dict[Any, list[str]] = {j: [] for j in (split.id, split.label_list, *split.texts) if j is not None}
        columns = [*kept, *texts]
        declared = f"has {n_rows} rows and {len(columns)} columns, a table of"
        check_size(found, n_rows * max(1, len(columns)) * 8, declared, wanted.max_bytes)
        for j in sorted(kept, key=words.__contains__):
            if j in words and wanted.feature_columns is None:
                refuse_words(path, look_parquet(path, wanted), wanted, None)
            if not _is_one_of(schema.types[j], NUMBERS):
                what = f"its type is {schema.types[j]}, not a number or boolean; use --drop, or convert the column"
                raise DataFileError(f"{place(path, None, names[j])}: {what}.")
        narrow = all(schema.types[j] in (pyarrow.float32(), pyarrow.float16()) for j in split.features)
        data = np.empty((n_rows, len(split.features)), dtype=np.float32 if narrow else np.float64)
        labels = np.empty((n_rows, len(split.labels)))
        start = 0
        # Only these columns are unpacked: the others may hold texts of any length.
        for batch in _batches(found, names, columns, split.texts):
            end = start + batch.num_rows
            for block, numbered in ((data, split.features), (labels, split.labels)):
                for position, j in enumerate(numbered):
                    block[start:end, position] = _numbers(batch.column(names[j]))
            for j, found_texts in texts.items():
                found_texts += _texts(batch.column(names[j]))
            start = end
        if start != n_rows:
            raise DataFileError(f"{found}: its metadata give {n_rows} rows, but it has {start}; write the file again.")
    target = label_array(path, labels, split.label_names) if split.labels else None
    numbers = [names[j] for j in split.features]
    return contents(feature_array(path, data, numbers, gaps=wanted.missing), target, split, texts)


def look_parquet(path: Path_, wanted: Wanted) -> Look:
    """Look at the features of a file: which columns hold texts, which texts, and which numbers are missing."""
    found = existing(path)
    with foreign_bytes(found, *UNREADABLE):
        schema = _pyarrow().parquet.read_schema(os.fspath(found))
        split, words = _split(path, schema, wanted)
        names = split.names
        numbers = [j for j in split.features if j not in words and _is_one_of(schema.types[j], NUMBERS)]
        texts: dict[int, set[str]] = {j: set() for j in words}
        holes, n_rows = set(), 0
        for batch in _batches(found, names, [*words, *numbers], words):
            if n_rows >= MOST_ROWS:
                break
            n_rows += batch.num_rows
            for j in words:
                texts[j].update(filter(None, set(_texts(batch.column(names[j])))))
            holes |= {j for j in numbers if j not in holes and np.isnan(_numbers(batch.column(names[j]))).any()}
    example = {j: min(texts[j], default="") for j in words}
    return Look(list(names), words, texts, example, sorted(holes), n_rows)


def _split(path: Path_, schema: Any, wanted: Wanted) -> tuple[Split, list[int]]:
    """Return the roles of the columns, without an index that pandas wrote, and the features that hold texts."""
    hidden = [name for name in schema.names if PANDAS_INDEX.fullmatch(name) and name != wanted.id_column]
    split = split_columns(path, list(schema.names), dataclasses.replace(wanted, drop=[*wanted.drop, *hidden]))
    return split, [j for j in split.features if _is_one_of(schema.types[j], WORDS)]


def _batches(found: Path_, names: Sequence[str], columns: list[int], words: Sequence[int]) -> Iterator[Any]:
    """Yield these columns batch by batch; `words` come as dictionaries, which hold each text once."""
    with _pyarrow().parquet.ParquetFile(os.fspath(found), read_dictionary=[names[j] for j in words]) as file:
        yield from file.iter_batches(batch_size=BATCH_ROWS, columns=[names[j] for j in columns])


def _is_one_of(kind: Any, names: Sequence[str]) -> bool:
    """Whether a type is of one of these families of pyarrow's types."""
    return any(getattr(_pyarrow().types, f"is_{name}")(kind) for name in names)


def _texts(column: Any) -> list[str]:
    """Return the texts of one column of a batch, a null as the empty text."""
    if hasattr(column, "dictionary"):
        known = _texts(column.dictionary)
        return ["" if code is None else known[code] for code in column.indices.to_pylist()]
    return ["" if cell is None else str(cell) for cell in column.to_pylist()]


def _numbers(column: Any) -> Any:
    """Return one column of a batch as floats, a null as NaN."""
    if column.null_count == len(column):
        return np.nan
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
