"""Raw tables: files of any kind to columns, what each column becomes, and features and labels as arrays.

`read_table` reads a file, `TableEncoder` does the same for data frames in a pipeline.  Nothing here knows a neighbour,
a graph or an estimator of this package: it imports only `_checks`, `_errors`, `_output`, `_refit` and `_resources`.
A file becomes columns, the roles and the plan say what each of them is, and the plan turns cells into numbers:

    _read.py          a file of any kind: its columns, its labels, and its features by a plan
    _formats.py       which reader takes a file; the readers, one for each format:
    _files.py         what all of them share: errors, limits, lines
    _csv.py           CSV and TSV
    _excel.py         workbooks
    _parquet.py       Parquet
    _arff.py          ARFF
    _svmlight.py      svmlight
    _npz.py           arrays of NumPy
    _encodings.py     which encoding a text file probably has
    _arrow.py         columns of pyarrow
    _columns.py       a table as it was read: named columns, each with its different texts
    _objects.py       columns from Python's objects
    _facts.py         what one column holds: its texts, numbers and missing values, with their counts
    _shapes.py        many texts at once
    _plain.py         tables of numbers alone
    _number_parsing.py  what a number is: its notations, and the number of a text
    _dates.py         what a date is
    _units.py         what a unit is, and its dimensions
    _quantities.py    numbers with a unit, such as "12,5 kg"
    _text.py          texts: their words, and the TF-IDF weights of these
    _unread.py        notations that are not read, and how the plan names them
    _lists.py         cells with several words, and JSON objects
    _roles.py         labels, ids, features: what a person said of the columns
    _label_lists.py   what separates the labels of a list, and the word for no label
    _label_cuts.py    hierarchical codes: labels are cut, and rare ones left out
    _labels.py        0, 1, lists of labels, votes, and the mask
    _label_names.py   label names from an XML file
    _column_units.py  the units of a column, and the numbers of its texts
    _numeric_columns.py  whether a column holds numbers or dates, and how they are written
    _sentinels.py     numbers that probably stand for a missing value, such as -999
    _planner.py       what each column is (an identifier, numbers, dates, categories, ...) and why: the plan
    _problems.py      cells that are not what their column holds, and what is said of them
    _kinds.py         the kinds of columns, and what is done with one column
    _row_groups.py    rows that are about one thing: those of one id, or equal ones
    _features.py      from the cells of a column to its features
    _plan.py          the plan: what is done with every column
    _comparison.py    a new table beside that of the fit
    _bloom_filter.py  by which a rare level of another table is known to be new
    _scaling.py       features on one scale, and the weight of a block such as the words of a text
    _encoder.py       all of it as the first step of a pipeline
"""

from ._arff import ArffFile  # noqa: F401
from ._columns import hash_numbers  # noqa: F401
from ._comparison import Profile  # noqa: F401
from ._encoder import TableEncoder, encoder_of  # noqa: F401
from ._files import MAX_FEATURES, DataFileError, Form, Lines, Path_, library_errors, open_unpacked  # noqa: F401
from ._formats import suffix_of  # noqa: F401
from ._kinds import FEATURES, OTHERS, Column  # noqa: F401
from ._label_cuts import FEW_ROWS  # noqa: F401
from ._label_names import read_labels  # noqa: F401
from ._objects import typed_column  # noqa: F401
from ._plain import plain_contents  # noqa: F401
from ._plan import HOW_LABELS, Plan  # noqa: F401
from ._planner import Choices  # noqa: F401
from ._read import read_table
from ._roles import Roles, refuse_missing, split_columns  # noqa: F401
from ._scaling import TableScaler, scaler_of  # noqa: F401

# What users import; the other names are for the doors of this package.
__all__ = ["Form", "Roles", "TableEncoder", "TableScaler", "read_table"]
