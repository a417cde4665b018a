"""Read Parquet files through pyarrow."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._errors import import_extra
from ._arrow import arrow_column
from ._columns import Table
from ._files import DataFileError, Form, Path_, check_size, existing_file, library_errors, place
from ._roles import Split, check_names

PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # pandas writes an index under this name
LISTS = ("list", "large_list", "fixed_size_list")
TYPES = ("string", "large_string", "dictionary", "temporal", "integer", "floating", "decimal", "boolean", "null")
ITEMS = ("string", "large_string", "dictionary", "integer", "floating")  # of a list; of decimals it is a vector
UNREADABLE = ("not a readable Parquet file", "write it again")


class ParquetFile:
    """A file of columns of numbers, booleans, dates and texts.  An index of pandas is left out.

    Parameters
    ----------
    path : path
    form : Form
    """

    line = None

    def __init__(self, path: Path_, form: Form, column_names: Any = None) -> None:
        arrow = import_extra("pyarrow.parquet", "Reading Parquet files", "parquet")
        self._open = arrow.parquet.ParquetFile
        self._types = arrow.types
        self.path = existing_file(path)
        self.form = form
        with library_errors(path, *UNREADABLE):
            with self._open(self.path) as file:
                self._schema = file.schema_arrow
                self._n_rows = file.metadata.num_rows
            self.names = [name for name in self._schema.names if not PANDAS_INDEX.fullmatch(name)]
        check_names(self.names, form)

    def read(self, split: Split) -> Table:
        """Return the columns that have a role; the others are not unpacked, since they may hold texts of any length."""
        names = split.column_names
        types = self._types
        declared = f"has {self._n_rows} rows and {len(names)} columns, a table of"
        check_size(self.path, self._n_rows * max(1, len(names)) * 8, declared, self.form.max_bytes)
        kinds = {name: self._schema.field(name).type for name in names}
        _check_types(types, kinds)
        texts = [name for name, kind in kinds.items() if types.is_string(kind) or types.is_large_string(kind)]
        with library_errors(self.path, *UNREADABLE), self._open(self.path, read_dictionary=texts) as file:
            data = file.read(columns=names)
            n_rows = data.num_rows
            columns = dict(zip(data.column_names, data.columns, strict=True))
            if n_rows != self._n_rows:
                raise DataFileError(f": its metadata give {self._n_rows} rows, and it has {n_rows}; write it again.")
        del data  # each column is given back when it has been turned into another form
        cells = {name: arrow_column(name, columns.pop(name)) for name in names}
        return Table(n_rows, cells, np.arange(1, n_rows + 1), unit="row")


def _is_any(types: Any, kind: Any, families: Sequence[str]) -> bool:
    """Whether a type of pyarrow belongs to one of these families."""
    return any(getattr(types, f"is_{family}")(kind) for family in families)


def _is_read(types: Any, kind: Any) -> bool:
    """Whether columns of a type are read."""
    if _is_any(types, kind, LISTS):
        return _is_any(types, kind.value_type, ITEMS)
    return _is_any(types, kind, TYPES)


def _check_types(types: Any, kinds: Mapping[str, Any]) -> None:
    """Raise if a column, named with its type, is not read."""
    for name, kind in kinds.items():
        if not _is_read(types, kind):
            raise DataFileError(f"{place(None, name)}: {kind} is no type that is read; use --drop, or convert it.")
