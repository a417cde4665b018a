"""Columns from arrays of pyarrow: the cells of CSV files, and the columns of Parquet files."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.words import BLANKS
from ._columns import Cells, Numbers, Texts, Vectors
from ._files import DataFileError, place
from ._number_parsing import LONG, POINTS, keeps_digits
from ._objects import coded_column, typed_column

HEAD = 64  # cells that show whether a column is one of numbers
LOOKED_AT = 4096  # texts that are compared with a pattern at once


def written_column(texts: Any) -> Cells:
    """Return a column of a CSV file; a null is an empty cell."""
    values = _plain(texts)
    return Texts(*_codes(texts.dictionary_encode())) if values is None else Numbers(values, written=True)


def arrow_column(name: str, column: Any) -> Cells:
    """Return a column of a Parquet file: numbers, vectors, or texts, which booleans and dates become.

    Lists of decimal numbers that are no vectors are an error, which names the column.
    """
    import pyarrow.compute

    types = pyarrow.types
    kind = column.type
    if types.is_nested(kind):
        return _list_column(name, column)
    ends = pyarrow.compute.min_max(column).as_py().values() if types.is_integer(kind) else ()
    column = column if keeps_digits(end for end in ends if end is not None) else column.cast(pyarrow.string())
    kind = column.type
    if any(getattr(types, f"is_{family}")(kind) for family in ("floating", "integer", "decimal", "null")):
        narrow = kind in (pyarrow.float16(), pyarrow.float32())
        values = column.cast(pyarrow.float64(), safe=False).to_numpy()
        return Numbers(values.astype(np.float32 if narrow else np.float64))
    coded = column.unify_dictionaries() if types.is_dictionary(kind) else column.dictionary_encode()
    return coded_column(*_codes(coded))


def _list_column(name: str, column: Any) -> Cells:
    """Return a column of lists: vectors, or texts; a DataFileError if decimal numbers are no vectors."""
    import pyarrow

    if not hasattr(column.type, "value_type") or not pyarrow.types.is_floating(column.type.value_type):
        return typed_column(column.to_pylist())
    vectors = _vectors(column)
    cells = typed_column(column.to_pylist()) if vectors is None else vectors
    if not isinstance(cells, Vectors) and any(cells.texts.different):
        fault = f"its lists of numbers have different lengths ({column.type}), so they are no vectors"
        raise DataFileError(f"{place(None, name)}: {fault}; use --drop, or make them equally long.")
    return cells


def _vectors(column: Any) -> Vectors | None:
    """Return lists of decimal numbers as vectors; None if one is missing, or their lengths differ."""
    import pyarrow
    import pyarrow.compute as pc

    lengths = pc.min_max(pc.list_value_length(column)).as_py()
    values = pc.list_flatten(column)
    has_nulls = column.null_count or values.null_count
    if has_nulls or lengths["min"] != lengths["max"] or (lengths["max"] or 0) < 2:
        return None
    rows = values.cast(pyarrow.float64()).to_numpy().reshape(len(column), lengths["max"])
    return Vectors(rows) if np.isfinite(rows).all() else None


def _codes(coded: Any) -> tuple[list[Any], NDArray[np.int32]]:
    """Return the texts of the dictionary of all chunks, and the number of the text of each row."""
    texts = coded.chunk(0).dictionary.to_pylist() if coded.num_chunks else []
    parts = [chunk.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False) for chunk in coded.chunks]
    codes = np.concatenate([part.astype(np.int32, copy=False) for part in parts]) if parts else np.zeros(0, np.int32)
    return texts + [""] * bool(coded.null_count), codes


def _numbers(texts: Any) -> Any:
    """Return texts as floats with nulls; None if one is neither empty nor a finite number."""
    import pyarrow
    import pyarrow.compute as pc

    texts = pc.ascii_trim(texts, BLANKS)
    try:
        values = pc.cast(pc.if_else(pc.equal(texts, ""), None, texts), pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return None
    return values if pc.all(pc.is_finite(values), min_count=0).as_py() else None


def _plain(texts: Any) -> NDArray[np.float64] | None:
    """Return texts as floats, an empty one as NaN, if all are plain numbers of one reading; else None."""
    import pyarrow.compute as pc

    values = None if _numbers(texts.slice(0, HEAD)) is None else _numbers(texts)
    if values is None or values.null_count == len(values) or pc.any(pc.match_substring_regex(texts, LONG)).as_py():
        return None
    pointed = texts.filter(pc.match_substring(texts, "."))
    parts = (pointed.slice(start, LOOKED_AT) for start in range(0, len(pointed), LOOKED_AT))
    if len(pointed) and all(pc.all(pc.match_substring_regex(part, POINTS)).as_py() for part in parts):
        return None
    # Unlike `to_numpy` of pyarrow, this does not load pandas.
    chunks = values.fill_null(np.nan).chunks
    return np.concatenate([np.frombuffer(c.buffers()[1], np.float64, len(c), 8 * c.offset) for c in chunks if len(c)])
