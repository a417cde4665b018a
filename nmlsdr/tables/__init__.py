"""Raw tables: files of any kind to columns, what each column becomes, and features and labels as arrays.

`read_table` reads a file, `TableEncoder` does the same for data frames in a pipeline.  Nothing here knows a neighbour,
a graph or an estimator of this package: it imports only `_checks`, `_errors`, `_output`, `_refit` and `_resources`.
"""

from ._columns import Texts as Texts
from ._deciding import Choices as Choices
from ._encoder import TableEncoder
from ._encoder import encoder_of as encoder_of
from ._files import DataFileError, Form
from ._files import Lines as Lines
from ._plan import FEATURES as FEATURES
from ._plan import OTHERS as OTHERS
from ._plan import Column as Column
from ._plan import Plan as Plan
from ._read import read_table
from ._read import suffix_of as suffix_of
from ._roles import Roles
from ._roles import refuse_missing as refuse_missing

# What users import; the other names are for the doors of this package.
__all__ = ["DataFileError", "Form", "Roles", "TableEncoder", "read_table"]
