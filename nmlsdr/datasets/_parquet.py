"""Read Parquet files through pyarrow."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ._cells import Table, feature_array, label_array, placed
from ._columns import Wanted, split_columns
from ._files import MAX_FEATURES, DataFileError, Path_, allowance, existing, place, too_large
from ._survey import MOST_ROWS, Look, refuse_words

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
    """Read columns of numbers or booleans, and those of texts that are wanted.  An index of pandas is left out.

    Nulls are allowed in labels and texts, and in features if they may be missing.
    """
    pyarrow = import_pyarrow()
    found = existing(path)
    with _readable(pyarrow, found):
        with pyarrow.parquet.ParquetFile(os.fspath(found)) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
            names = list(schema.names)
            split = split_columns(path, names, _without_index(names, wanted), max_features=max_features)
            kept = [*split.features, *split.labels]
            if n_rows * max(1, len(kept) + len(split.texts)) * 8 > allowance(found, max_bytes):
                raise too_large(found, f"has {n_rows} rows and {len(kept)} columns, a table of", max_bytes)
            words = [j for j in split.features if _holds_words(pyarrow, schema.types[j])]
            for j in kept:
                if j not in words:
                    _check_type(pyarrow, found, names[j], schema.types[j])
        if words and wanted.features is None:
            refuse_words(path, look_parquet(path, wanted, max_bytes=max_bytes, max_features=max_features), wanted, None)
        for j in words:
            _check_type(pyarrow, found, names[j], schema.types[j])
        narrow = all(schema.types[j] in (pyarrow.float32(), pyarrow.float16()) for j in split.features)
        data = np.empty((n_rows, len(split.features)), dtype=np.float32 if narrow else np.float64)
        labels = np.empty((n_rows, len(split.labels)))
        plain = [j for j in (split.id, split.label_list) if j is not None]
        texts: dict[int, list[str]] = {j: [] for j in [*plain, *split.texts]}
        start = 0
        # Only these columns are unpacked: one that is left out may hold texts of any length.
        for rows, column_of in _batches(pyarrow, found, names, [*kept, *texts], split.texts):
            for block, columns in ((data, split.features), (labels, split.labels)):
                for position, j in enumerate(columns):
                    block[start : start + rows, position] = _numbers(column_of[j])
            for j, found_texts in texts.items():
                found_texts += _texts(pyarrow, column_of[j])
            start += rows
        if start != n_rows:
            raise DataFileError(f"{found}: it says {n_rows} rows and has {start}; write the file again.")
    return Table(
        feature_array(path, data, split.feature_names, gaps=split.gaps),
        label_array(path, labels, split.label_names) if split.labels else None,
        split.feature_names,
        split.label_names or None,
        None if split.id is None else texts[split.id],
        None if split.label_list is None else texts[split.label_list],
        split.unused,
        words=placed(split, [texts[j] for j in split.texts]),
    )


def look_parquet(path: Path_, wanted: Wanted, *, max_bytes: int | None, max_features: int) -> Look:
    """Look at the features of a file: which hold texts, what stands there, and which numbers are missing."""
    pyarrow = import_pyarrow()
    found = existing(path)
    with _readable(pyarrow, found):
        schema = pyarrow.parquet.read_schema(os.fspath(found))
        names = list(schema.names)
        split = split_columns(path, names, _without_index(names, wanted), max_features=max_features)
        words = [j for j in split.features if _holds_words(pyarrow, schema.types[j])]
        numbers = [j for j in split.features if j not in words and _is_number(pyarrow, schema.types[j])]
        texts: dict[int, set[str]] = {j: set() for j in words}
        holes, n_rows = set(), 0
        for rows, column_of in _batches(pyarrow, found, names, [*words, *numbers], words):
            if n_rows >= MOST_ROWS:
                break
            n_rows += rows
            for j in words:
                texts[j].update(filter(None, set(_texts(pyarrow, column_of[j]))))
            holes |= {j for j in numbers if j not in holes and np.isnan(_numbers(column_of[j])).any()}
    example = {j: min(texts[j], default="") for j in words}
    return Look(names, words, texts, example, sorted(holes), n_rows)


@contextlib.contextmanager
def _readable(pyarrow: Any, found: Path_) -> Iterator[None]:
    """Turn what pyarrow says of a damaged file into one sentence."""
    try:
        yield
    except DataFileError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:  # ValueError: a name that is not UTF-8
        reason = str(error).split("\n")[0].rstrip(".")
        raise DataFileError(f"{found}: not a readable Parquet file ({reason}); write it again.") from error


def _without_index(names: list[str], wanted: Wanted) -> Wanted:
    hidden = [name for name in names if PANDAS_INDEX.fullmatch(name) and name != wanted.id]
    return dataclasses.replace(wanted, drop=[*wanted.drop, *hidden])


def _batches(
    pyarrow: Any, found: Path_, names: list[str], columns: list[int], words: Sequence[int]
) -> Iterator[tuple[int, dict[int, Any]]]:
    """Yield the number of rows and the columns of one batch after another; words as dictionaries, each text once."""
    encoded = [names[j] for j in words]
    with pyarrow.parquet.ParquetFile(os.fspath(found), read_dictionary=encoded) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=[names[j] for j in columns]):
            column_of = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
            yield batch.num_rows, {j: column_of[names[j]] for j in columns}


def _holds_words(pyarrow: Any, kind: Any) -> bool:
    types = pyarrow.types
    texts = (types.is_string, types.is_large_string, types.is_dictionary, types.is_temporal)
    return any(is_one(kind) for is_one in texts)


def _is_number(pyarrow: Any, kind: Any) -> bool:
    types = pyarrow.types
    return any(is_one(kind) for is_one in (types.is_integer, types.is_floating, types.is_boolean, types.is_null))


def _check_type(pyarrow: Any, path: Path_, name: str, kind: Any) -> None:
    if not _is_number(pyarrow, kind):
        raise DataFileError(
            f"{place(path, None, name)}: its type is {kind}, not a number or boolean; leave it out with --drop, or "
            "convert the column."
        )


def _texts(pyarrow: Any, column: Any) -> list[str]:
    """Return the texts of one column of a batch, a null as nothing."""
    if not pyarrow.types.is_dictionary(column.type):
        return ["" if cell is None else str(cell) for cell in column.to_pylist()]
    known = ["" if cell is None else str(cell) for cell in column.dictionary.to_pylist()]
    return ["" if code is None else known[code] for code in column.indices.to_pylist()]


def _numbers(column: Any) -> Any:
    """Return one column of a batch as floats, a null as NaN."""
    if column.null_count == len(column):
        return np.nan
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
