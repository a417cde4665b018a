"""Raw tables: files of any kind to columns, what each column becomes, and features and labels as arrays.

`read_table` reads a file, `TableEncoder` does the same for data frames in a pipeline.  Nothing here knows a neighbour,
a graph or an estimator of this package: it imports only `_checks`, `_errors`, `_refit` and `_resources`.
"""

from ._encoder import TableEncoder
from ._files import DataFileError, Form
from ._read import read_table
from ._roles import Roles

__all__ = ["DataFileError", "Form", "Roles", "TableEncoder", "read_table"]
