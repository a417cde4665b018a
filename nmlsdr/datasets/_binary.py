"""Read .npz files through NumPy (arrays, or the parts of a sparse matrix; never a pickle) and Parquet files."""

import dataclasses
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._checks.arguments import check_array_header, refuse_broken
from .._errors import import_extra
from ._cells import FileContents, contents, feature_array, label_array
from ._columns import Wanted, split_columns
from ._files import (
    DataFileError,
    Path_,
    Problem,
    check_size,
    check_width,
    existing,
    foreign_bytes,
    place,
    problems_in_words,
)

FEATURES, LABELS = ("X", "data"), ("y", "target")
SPARSE_PARTS = ("data", "indices", "indptr", "shape", "format")  # as scipy.sparse.save_npz writes them
KINDS = "biufSU"  # flags, integers, floats, bytes, text
MAX_MEMBERS = 1000  # an archive's list of names is read before any of its arrays


def read_npz(path: Path_, wanted: Wanted) -> FileContents:
    """Read features ``X`` or ``data`` (or sparse parts) and labels ``y`` or ``target``; of a label file the labels."""
    if wanted.labels is not None:
        raise DataFileError(f"{place(path)}: an npz file has its labels in the array y; give no label columns.")
    arrays = load_arrays(path, wanted.max_bytes)
    key, label_key = (next((name for name in names if name in arrays), "") for names in (FEATURES, LABELS))
    if not (label_key if wanted.all_labels else key):
        names, what = (LABELS, "labels") if wanted.all_labels else (FEATURES, "features")
        has = ", ".join(sorted(arrays)[:5]) or "none"
        raise DataFileError(
            f"{place(path)}: it holds no array {' or '.join(names)} (it has {has}); save the {what} as {names[0]}."
        )
    label_names = target = None
    if label_key:
        label_names = _names(path, arrays, "label_names", arrays[label_key].shape[1:])
        target = label_array(path, arrays[label_key], label_names)
    if wanted.all_labels:
        return FileContents(None, target, None, label_names)
    data: Any = _sparse(path, arrays, wanted) if all(part in arrays for part in SPARSE_PARTS) else arrays[key]
    if data.ndim != 2:
        raise DataFileError(f"{place(path)}: the features have shape {data.shape}; save an array (rows, columns).")
    check_width(path, data.shape[1], wanted.max_features)
    feature_names = _names(path, arrays, "feature_names", data.shape[1:])
    data = feature_array(path, data, feature_names, gaps=wanted.missing)
    if target is not None and target.shape[0] != data.shape[0]:
        rows = f"{label_key} has {target.shape[0]} rows and the features {data.shape[0]}"
        raise DataFileError(f"{place(path)}: {rows}; save one row of labels per row.")
    return FileContents(data, target, feature_names, label_names)


def load_arrays(path: Path_, max_bytes: int | None = None) -> dict[str, Any]:
    """Return the arrays of an .npz file."""
    found = existing(path)
    arrays: dict[str, Any] = {}
    advice = "save it with numpy.savez"
    with foreign_bytes(found, "not a readable .npz file", advice), zipfile.ZipFile(found) as archive:
        members = archive.infolist()
        check_size(found, sum(member.file_size for member in members), "unpacks to", max_bytes)
        if len(members) > MAX_MEMBERS:
            raise DataFileError(f"{found}: it holds {len(members)} arrays; save X and y only.")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in arrays:
                raise DataFileError(f"{found}: the array {name!r} appears twice; save the file again.")
            with archive.open(member) as file:
                arrays[name] = _array(file, name, member.file_size)
    return arrays


def load_npy(path: Path_) -> NDArray[Any]:
    """Return the array of an .npy file."""
    found = existing(path)
    with foreign_bytes(found, "not a readable .npy file", "save it with numpy.save"), open(found, "rb") as file:
        return _array(file, found.name, found.stat().st_size)


def _array(file: IO[bytes], name: str, size: int) -> NDArray[Any]:
    """Return the array in `size` bytes."""
    check_array_header(file, size, f"array {name!r}", KINDS)
    file.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _sparse(path: Path_, arrays: dict[str, Any], wanted: Wanted) -> Any:
    """Build the CSR matrix whose parts are in `arrays`, after checking them."""
    data, indices, indptr, shape, form = (arrays[part] for part in SPARSE_PARTS)
    kind = form.astype(str).item() if form.ndim == 0 and form.dtype.kind in "SU" else None
    if kind not in ("csr", "csc"):
        raise DataFileError(f"{place(path)}: the sparse format is {kind!r}; save the matrix as CSR.")
    integers = all(part.dtype.kind in "iu" for part in (indices, indptr, shape))
    sizes = [part.ndim for part in (data, indices, indptr)] == [1, 1, 1] and shape.shape == (2,)
    if not (integers and sizes and data.dtype.kind in "biuf" and shape.min() >= 0):
        raise DataFileError(f"{place(path)}: its sparse parts are not those of a matrix; save the matrix again.")
    n_rows, n_columns = (int(size) for size in shape)
    check_width(path, n_columns, wanted.max_features)
    # The parts of a CSC matrix do not grow with its rows, but the CSR matrix made from it does.
    check_size(path, (n_rows + 1) * 8, f"declares {n_rows} rows, a table of", wanted.max_bytes)
    try:
        build = sparse.csr_array if kind == "csr" else sparse.csc_array
        matrix = build((data, indices, indptr), shape=(n_rows, n_columns))
        refuse_broken(matrix, "its sparse matrix")
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataFileError(f"{place(path)}: its sparse parts do not fit ({error}); save the matrix again.") from error
    matrix = matrix.tocsr()
    matrix.sort_indices()
    if not matrix.has_canonical_format:
        raise DataFileError(f"{place(path)}: an entry appears twice; call sum_duplicates() before saving.")
    return matrix


def _names(path: Path_, arrays: dict[str, Any], key: str, shape: tuple[int, ...]) -> list[str] | None:
    """Return an array of names as a list, None if there is none."""
    if key not in arrays:
        return None
    try:
        names: list[str] = arrays[key].tolist()
        sound = arrays[key].dtype.kind == "U" and arrays[key].shape == shape and len(set(names)) == len(names)
        "".join(names if sound else []).encode()
    except (ValueError, SystemError):  # code points beyond Unicode, or single surrogates, which cannot be printed
        sound = False
    if not sound:
        raise DataFileError(f"{place(path)}: {key} must be {shape[0] if shape else 0} different texts; save them so.")
    return names


# ---------------------------------------------------------------- Parquet, through pyarrow


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
