"""Raw tables: files of any kind to columns, what each column becomes, and features and labels as arrays.

`read_table` reads a file, `TableEncoder` does the same for data frames in a pipeline.  Nothing here knows a neighbour,
a graph or an estimator of this package: it imports only `_checks`, `_errors`, `_output`, `_refit` and `_resources`.
"""

from ._deciding import Choices  # noqa: F401
from ._encoder import TableEncoder, encoder_of  # noqa: F401
from ._files import DataFileError, Form, Lines  # noqa: F401
from ._plan import FEATURES, OTHERS, Column, Plan  # noqa: F401
from ._read import read_table, suffix_of  # noqa: F401
from ._roles import Roles, refuse_missing  # noqa: F401

# What users import; the other names are for the doors of this package.
__all__ = ["DataFileError", "Form", "Roles", "TableEncoder", "read_table"]
