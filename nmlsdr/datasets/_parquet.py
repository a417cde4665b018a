"""Read Parquet files through pyarrow."""

import dataclasses
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._errors import import_extra
from ._cells import FileContents, contents, feature_array, label_array
from ._columns import Wanted, split_columns
from ._files import DataFileError, Path_, Problem, check_size, existing, foreign_bytes, place, problems_in_words

PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # pandas writes an index under this name
WORDS = ("string", "large_string", "dictionary", "temporal")
NUMBERS = ("integer", "floating", "boolean", "null")
BATCH_ROWS = 65536
UNREADABLE = ("not a readable Parquet file", "write it again")


def _pyarrow() -> Any:
    return import_extra("pyarrow.parquet", "Reading Parquet files", "parquet")


def read_parquet(path: Path_, wanted: Wanted) -> FileContents:
    """Read columns of numbers or booleans, and of texts for a plan.  An index of pandas is left out.

    Labels and texts may be null, and features too if `wanted` allows missing values.
    """
    pyarrow, found = _pyarrow(), existing(path)
    with foreign_bytes(found, *UNREADABLE):
        with pyarrow.parquet.ParquetFile(os.fspath(found)) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        hidden = [name for name in schema.names if PANDAS_INDEX.fullmatch(name) and name != wanted.id_column]
        split = split_columns(path, schema.names, dataclasses.replace(wanted, drop=[*wanted.drop, *hidden]))
        names, plan = split.names, wanted.plan
        words = [j for j in split.planned if _is_one_of(schema.types[j], WORDS)]
        texts: dict[Any, list[str]] = {j: [] for j in (split.id, *split.lists) if j is not None}
        columns = [*split.features, *split.planned, *split.labels, *texts]
        width = len(split.feature_names)
        declared = f"has {n_rows} rows and {len(columns)} columns, a table of"
        check_size(found, n_rows * max(1, len(columns), width) * 8, declared, wanted.max_bytes)
        for j in (*split.features, *split.planned, *split.labels):
            if j not in words and not _is_one_of(schema.types[j], NUMBERS):
                what = f"its type is {schema.types[j]}, not a number or boolean; use --drop, or convert the column"
                raise DataFileError(f"{place(path, None, names[j])}: {what}.")
        narrow = plan is None and all(schema.types[j] in (pyarrow.float32(), pyarrow.float16()) for j in split.features)
        data = np.empty((n_rows, width), dtype=np.float32 if narrow else np.float64)
        labels = np.empty((n_rows, len(split.labels)))
        problems: list[Problem] = []
        start = 0
        # Only these columns are unpacked: the others may hold texts of any length.
        for batch in _batches(found, names, columns, words):
            end = start + batch.num_rows
            for block, numbered in ((data, split.features), (labels, split.labels)):
                for position, j in enumerate(numbered):
                    block[start:end, position] = _numbers(batch.column(names[j]))
            if plan is not None and split.planned:
                batch_columns = [(j in words, batch.column(names[j])) for j in split.planned]
                cells = [_texts(column) if is_text else _numbers(column) for is_text, column in batch_columns]
                bad: list[Problem] = []
                data[start:end] = plan.encode(cells, bad)
                problems += [problem._replace(row=problem.row + start + 1) for problem in bad]
            for j, found_texts in texts.items():
                found_texts += _texts(batch.column(names[j]))
            start = end
        if start != n_rows:
            raise DataFileError(f"{found}: its metadata give {n_rows} rows, but it has {start}; write the file again.")
    if problems:
        raise DataFileError(f"{found}: {problems_in_words(problems, 'row')}")
    target = label_array(path, labels, split.label_names) if split.labels else None
    gaps = wanted.missing or plan is not None
    return contents(feature_array(path, data, split.feature_names, gaps=gaps), target, split, texts)


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
        return np.full(len(column), np.nan)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
