"""Read Parquet files through pyarrow."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any

import numpy as np

from ._cells import Table, feature_array, label_array
from ._columns import Wanted, split_columns
from ._files import MAX_FEATURES, DataFileError, Path_, allowance, existing, place, too_large

PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # pandas writes an index under this name
BATCH_ROWS = 65536


def import_pyarrow() -> Any:
    """Import pyarrow with its parquet part, or say how to install it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            "Reading Parquet files needs pyarrow; install it with: pip install 'nmlsdr[parquet]'."
        ) from None
    return pyarrow


def read_parquet(
    path: Path_,
    wanted: Wanted = Wanted(),  # noqa: B008  (frozen)
    *,
    max_bytes: int | None = None,
    max_features: int = MAX_FEATURES,
) -> Table:
    """Read columns of numbers or booleans; nulls are allowed in labels only.  An index of pandas is left out."""
    pyarrow = import_pyarrow()
    found = existing(path)
    try:
        with pyarrow.parquet.ParquetFile(os.fspath(found)) as file:
            schema = file.schema_arrow
            names = list(schema.names)
            hidden = [name for name in names if PANDAS_INDEX.fullmatch(name)]
            kept_out = [name for name in hidden if name != wanted.id]
            wanted = dataclasses.replace(wanted, drop=[*wanted.drop, *kept_out])
            split = split_columns(path, names, wanted, max_features=max_features)
            kept = [*split.features, *split.labels]
            texts = {j: [] for j in (split.id, split.label_list) if j is not None}  # type: dict[int, list[str]]
            n_rows = file.metadata.num_rows
            if n_rows * max(1, len(kept)) * 8 > allowance(found, max_bytes):
                raise too_large(found, f"has {n_rows} rows and {len(kept)} columns, a table of", max_bytes)
            for j in kept:
                _check_type(pyarrow, found, names[j], schema.types[j])
            narrow = all(schema.types[j] in (pyarrow.float32(), pyarrow.float16()) for j in split.features)
            data = np.empty((n_rows, len(split.features)), dtype=np.float32 if narrow else np.float64)
            labels = np.empty((n_rows, len(split.labels)))
            start = 0
            # Only these columns are unpacked: one that is left out may hold texts of any length.
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=[names[j] for j in [*kept, *texts]]):
                column_of = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
                rows = slice(start, start + batch.num_rows)
                for block, columns in ((data, split.features), (labels, split.labels)):
                    for position, j in enumerate(columns):
                        block[rows, position] = _numbers(column_of[names[j]])
                for j, found_texts in texts.items():
                    found_texts += ["" if cell is None else str(cell) for cell in column_of[names[j]].to_pylist()]
                start += batch.num_rows
            if start != n_rows:
                raise DataFileError(f"{found}: it says {n_rows} rows and has {start}; write the file again.")
    except DataFileError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:  # ValueError: a name that is not UTF-8
        reason = str(error).split("\n")[0].rstrip(".")
        raise DataFileError(f"{found}: not a readable Parquet file ({reason}); write it again.") from error
    return Table(
        feature_array(path, data, split.feature_names),
        label_array(path, labels, split.label_names) if split.labels else None,
        split.feature_names,
        split.label_names or None,
        None if split.id is None else texts[split.id],
        None if split.label_list is None else texts[split.label_list],
        split.unused,
    )


def _check_type(pyarrow: Any, path: Path_, name: str, kind: Any) -> None:
    types = pyarrow.types
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)):
        raise DataFileError(
            f"{place(path, None, name)}: its type is {kind}, not a number or boolean; drop or convert the column."
        )


def _numbers(column: Any) -> Any:
    """Return one column of a batch as floats, a null as NaN."""
    if column.null_count == len(column):
        return np.nan
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
