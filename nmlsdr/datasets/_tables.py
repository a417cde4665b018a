"""Read a table of features and labels from a file of any kind that the command line accepts."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Bunch

from .._checks.arguments import refuse_text
from .._checks.words import BLANKS
from ._arff import read_arff
from ._binary import load_npy, read_npz, read_parquet
from ._cells import FileContents, Lists, find_lists, listed_labels, votes_of
from ._columns import LabelNames, Wanted
from ._csv import read_csv
from ._deciding import Choices, Deciding
from ._files import MAX_FEATURES, DataFileError, Lines, Path_, existing, foreign_bytes, place, shorten
from ._mulan import read_labels
from ._plan import Plan
from ._statistics import TableStatistics
from ._svmlight import read_svmlight

READERS = {
    ".arff": read_arff,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".npz": read_npz,
    ".svmlight": read_svmlight,
    ".svm": read_svmlight,
    ".libsvm": read_svmlight,
}
_SHEET = "save the sheet as CSV (Save As, CSV UTF-8) and give that file"
_FRAME = "load it with pandas and write it with to_parquet"
#: How to convert files that are not read.
OTHER_KINDS = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods", ".numbers"), _SHEET),
    **dict.fromkeys((".json", ".jsonl", ".pkl", ".feather", ".sav", ".dta", ".sas7bdat", ".h5"), _FRAME),
    **dict.fromkeys((".txt", ".dat"), "rename it to .csv, or to .tsv if tabs are between its cells"),
    **dict.fromkeys((".zip", ".7z", ".xz", ".bz2"), "unpack it and give the table in it"),
    ".skops": "this is a model file; give a table",
}
WITHOUT_NAMES = (read_npz, read_svmlight)  # of columns
UNPACKED = (read_npz, read_parquet)  # not gzipped


def read_table(
    path: Path_,
    *,
    labels_xml: Path_ | None = None,
    label_columns: Sequence[str] | None = None,
    label_file: Path_ | None = None,
    mask: Path_ | ArrayLike | None = None,
    label_list: str | None = None,
    annotators: Sequence[str] | None = None,
    separator: str | None = None,
    no_label: str | None = None,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    feature_columns: Sequence[str] | None = None,
    plan: Plan | Choices | None = None,
    missing: bool = False,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    max_bytes: int | None = None,
    max_features: int = MAX_FEATURES,
) -> Bunch:
    """Read features from one file, and labels if a parameter says where they are.

    ========================== =================================================================================
    ``.arff`` (``.gz``)        Mulan or Weka, dense (ndarray) or sparse (CSR)
    ``.csv``, ``.tsv`` (gz)    the first line has the names of the columns; blank lines are allowed at the end only
    ``.parquet``, ``.pq``      columns of numbers or booleans (a pandas index is left out); needs the extra
                               ``parquet``
    ``.npz``                   arrays ``X`` or ``data`` and ``y`` or ``target``, optionally ``feature_names`` and
                               ``label_names``; or the parts that scipy.sparse.save_npz writes
    ``.svmlight``, ``.svm``,   ``label,label index:value ...``, indices from 1; labels are names of label columns
    ``.libsvm`` (``.gz``)
    ========================== =================================================================================

    Labels are read from columns of the file itself (`labels_xml`, `label_columns`, `label_list` or `annotators`) or
    from another file (`label_file`); give at most one of the five.  An npz or svmlight file stores labels separately,
    and needs none.

    Parameters
    ----------
    path : path
        File to read; its suffix gives the format.
    labels_xml : path, default=None
        Mulan XML file: the columns that it names are labels.
    label_columns : sequence of str, default=None
        Names of the columns that are labels. Their cells are 0/1, true/false or yes/no. For svmlight: the label ids,
        in the order of the columns to return; None: the ids that occur, in increasing order.
    label_file : path, default=None
        File in one of these formats with one row for each row of `path`, in which every column is a label (for npz:
        ``y`` or ``target``). A blank line of a CSV label file is an unlabelled row, also at the end of the file.
    mask : path or array-like of shape (n_samples,), bool, default=None
        Rows whose labels are used (1); the other rows (0) become unlabelled. A file contains 0 or 1 on each line,
        with or without a header line, or is an ``.npy`` file.
    label_list : str, default=None
        Name of a column whose cells are lists of labels, such as ``flu;cold``. Each label that occurs becomes a label
        column, in alphabetical order. An empty cell is an unlabelled row.
    annotators : sequence of str, default=None
        Names of such columns, one for each annotator; an empty cell is no vote. A label is 1 if more than half of
        those who voted on the row gave it, 0 if fewer did, and unknown if half of them did.
    separator : str, default=None
        Text between the labels of such a list. None: a semicolon; with a plan it is found from the cells.
    no_label : str, default=None
        Word in place of such a list for a row that has none of the labels, such as ``none``. None: there is no such
        word; with a plan it is found from the cells, unless this is the empty text.
    id_column : str, default=None
        Name of a column with the names of the rows. It is returned as ``ids`` and is not a feature.
    drop : sequence of str, default=()
        Columns to leave out, such as comments; they may contain text.
    feature_columns : sequence of str, default=None
        Columns that are features, for example those of a model; columns without any role are ignored then. None: all
        columns without another role.
    plan : Plan or Choices, default=None
        For a table with columns of text, dates or missing values (CSV, TSV, Parquet, dense ARFF): the ``plan`` that
        was returned for another table, or choices for a new one. None: all features must be numbers.
    missing : bool, default=False
        Whether feature values may be missing (an empty cell, ?, NA, N/A, NaN, NULL or a null). They are returned as
        NaN. Not for sparse rows.
    delimiter, decimal : str, default=None
        For CSV: the character between cells, and the decimal mark. None: guessed from the first lines.
    encoding : str, default=None
        Encoding of a text file. None: UTF-8, UTF-16 if the file begins with a byte order mark, or Windows-1252 if the
        first bytes are not UTF-8.
    n_features : int, default=None
        For svmlight: number of feature columns. None: the largest index.
    zero_based : bool, default=False
        For svmlight: whether indices start from 0 instead of 1.
    max_bytes : int, default=None
        Largest size in bytes that a file may unpack to or declare; an error is raised above it. None: 4 GiB, and for
        a packed file at most 64 times its own size or 32 MiB, whichever is more. Real tables seldom exceed this, but
        zip bombs do.
    max_features : int, default=10**6
        Largest number of columns; an error is raised above it.

    Returns
    -------
    Bunch
        data : ndarray or csr_array of shape (n_samples, n_features)
            Features in float64, or in float32 if the file (npz, Parquet) has no wider type. All values are finite,
            except NaN if `missing`, or with a plan.
        target : ndarray of shape (n_samples, n_labels), int64, or None
            Labels 0/1 in the order of columns of the file; -1 where a label is unknown (an empty cell, "?" or -1).
            None if the file was read without labels.
        votes : ndarray of shape (n_samples, n_labels), float64, or None
            For `annotators`: the share of those who voted on the row that gave the label; -1 where nobody voted.
        labeled : ndarray of shape (n_samples,), bool, or None
            True for rows with a known label. None if the file was read without labels.
        feature_names, label_names : list of str, or None
            Names of features and labels; None if the file has no names.
        ids : list of str, or None
            Cells of `id_column`; None if it was not given.
        plan : Plan or None
            What was done with each column. None if the parameter ``plan`` is None or the rows are sparse.
        lists : Lists or None
            The separator and the word for no label of `label_list`.
        groups : ndarray of shape (n_samples,), int64, or None
            Equal for rows with one id, or else for rows with equal cells; None if all rows differ.
        notes : list of str
            Remarks for a person, such as columns of the same name that were renamed.
        unused : list of str
            Columns that are not in `feature_columns` and have no other role.
        encoding : str or None
            Encoding of a text file, as given or guessed; None for other files.

    Raises
    ------
    DataFileError
        A ValueError, whose message names the file, the line and the column, and says what to do.
    ImportError
        If a package that the format needs is not installed; the message names the extra to install.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "notes.csv")
    >>> _ = file.write_text("length,flu,cold\\n1.5,0,1\\n2.5,,\\n")
    >>> table = read_table(file, label_columns=["flu", "cold"])
    >>> table.target
    array([[ 0,  1],
           [-1, -1]])
    >>> table.feature_names, table.labeled
    (['length'], array([ True, False]))
    >>> folder.cleanup()
    """
    arguments = {name: value for name, value in locals().items() if name != "path"}
    for name in ("label_columns", "annotators", "drop", "feature_columns"):
        refuse_text(arguments[name], name)
    sources = ("labels_xml", "label_columns", "label_file", "label_list", "annotators")
    given = [name for name in sources if arguments[name] is not None]
    if len(given) > 1:
        raise DataFileError(f"{place(path)}: {' and '.join(given)} are given; choose one source of labels.")
    if separator == "":
        raise DataFileError(f"{place(path)}: the separator of its lists of labels is empty; give one such as ';'.")
    names: LabelNames | None = list(label_columns) if label_columns is not None else None
    if labels_xml is not None:
        names = read_labels(labels_xml, max_bytes=max_bytes, max_labels=max_features)
    shared = {field.name: arguments[field.name] for field in dataclasses.fields(Wanted) if field.name in arguments}
    lists = list(annotators) if annotators is not None else [label_list] if label_list is not None else []
    planned = plan is not None and reader_of(path) not in WITHOUT_NAMES
    statistics = None
    if planned and isinstance(plan, Choices):
        statistics = TableStatistics(plan.missing or (), plan.one_hot)
    kept = statistics or (plan if planned else None)
    wanted = Wanted(labels=names, label_lists=lists, **{**shared, "drop": list(drop), "plan": kept})
    with foreign_bytes(path):
        found = _read(path, wanted)
    if missing and sparse.issparse(found.data):
        what = "sparse rows have no missing values; leave --impute out, or save dense rows"
        raise DataFileError(f"{place(path)}: {what}.")
    table = Bunch(**found._asdict(), plan=kept, lists=None, votes=None)
    del table["tags"]
    n_rows = table.data.shape[0]
    if lists:
        cells = [cell for column in found.tags for cell in column]
        table.lists = find_lists(cells, separator, no_label) if planned else Lists(separator or ";", no_label)
        each, table.label_names = listed_labels(path, cells, table.lists, wanted)
        table.target = each
        if annotators is not None:
            table.votes, table.target = votes_of(each.reshape(len(lists), n_rows, -1))
    elif label_file is not None:
        with foreign_bytes(label_file):
            table.target, table.label_names = _label_file(label_file, n_rows, path, wanted)
    if sparse.issparse(table.data):
        table.plan = None
    elif statistics is not None and isinstance(plan, Choices):
        _encode(path, table, statistics, plan, wanted)
    n_columns = table.data.shape[1]
    if n_rows and n_columns == 0 and table.plan is not None and table.plan.columns:
        first = table.plan.columns[0]
        why = f"the first, {shorten(first.name)!r}: {first.kind}, {first.reason}"
        what = f"none of its columns can be a feature ({why})"
        raise DataFileError(f"{place(path)}: {what}; give a file with data.")
    if n_rows == 0 or (n_columns == 0 and feature_columns is None):
        raise DataFileError(f"{place(path)}: it holds {n_rows} rows of {n_columns} features; give a file with data.")
    table.groups = _groups(table.ids, None if statistics is None else statistics.row_hashes)
    if mask is not None:
        _apply_mask(table, mask, path)
    table.labeled = None if table.target is None else (table.target != -1).any(axis=1)
    return table


def _encode(path: Path_, table: Bunch, statistics: TableStatistics, choices: Choices, wanted: Wanted) -> None:
    """Decide on a plan for a table whose columns were looked at, and read its features by this plan, in place."""
    choices = dataclasses.replace(choices, id=wanted.id_column, drop=wanted.drop)
    labeled = None if table.target is None else (table.target != -1).any(axis=1)
    names = [*(table.label_names or ()), *([table.lists.no_label] if table.lists and table.lists.no_label else [])]
    separator = None if table.lists is None else table.lists.separator
    table.plan = Deciding(statistics, choices, labeled, names, separator).plan()
    with foreign_bytes(path):
        found = _read(path, dataclasses.replace(wanted, plan=table.plan))
    table.data, table.feature_names, table.ids = found.data, found.feature_names, found.ids
    table.unused = None


def _groups(ids: Sequence[str] | None, row_hashes: Sequence[int] | None) -> NDArray[np.int64] | None:
    """Return a number for each row, equal for rows that stay together; None if all rows differ.

    Rows with one id stay together (an empty id names none), or else rows with equal cells. If most rows have an equal,
    the table has few columns, and equal rows are no duplicates.
    """
    if ids is not None:
        found: Any = [id or f"\0{i}" for i, id in enumerate(ids)]
    elif row_hashes:
        found = row_hashes
    else:
        return None
    numbers, groups = np.unique(np.asarray(found), return_inverse=True)
    few = len(numbers) < len(groups) / 2 and ids is None
    return None if len(numbers) == len(groups) or few else groups.astype(np.int64)


def reader_of(path: Path_) -> Callable[[Path_, Wanted], FileContents]:
    """Return the reader of a file by its suffix."""
    found = existing(path)
    name = found.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    reader = READERS.get(suffix)
    if reader is None or (name.endswith(".gz") and reader in UNPACKED):
        known = f"{', '.join(READERS)} (text also with .gz)"
        advice = OTHER_KINDS.get(suffix, "rename or convert the file")
        raise DataFileError(f"{found}: the suffix is none of {known}; {advice}.")
    return reader


def _read(path: Path_, wanted: Wanted) -> FileContents:
    """Read one file with the reader of its kind."""
    reader = reader_of(path)
    for what in ("drop", "id_column", "label_lists") if reader in WITHOUT_NAMES else ():
        if value := getattr(wanted, what):
            kind = "an npz" if reader is read_npz else "an svmlight"
            raise DataFileError(f"{place(path)}: {what}={value} needs columns with names; {kind} file has none.")
    return reader(path, wanted)


def _label_file(
    path: Path_, n_rows: int, data_path: Path_, wanted: Wanted
) -> tuple[NDArray[np.int64], list[str] | None]:
    """Read a file whose columns are all labels."""
    found = _read(path, Wanted(all_labels=True, max_bytes=wanted.max_bytes, max_features=wanted.max_features))
    if found.target is None:
        raise DataFileError(f"{place(path)}: it holds no labels; give one column per label.")
    if found.target.shape[0] != n_rows:
        counts = f"{found.target.shape[0]} rows of labels, but {os.fspath(data_path)} has {n_rows} rows"
        raise DataFileError(f"{place(path)}: {counts}; give one row of labels per row, empty if unlabelled.")
    return found.target, found.label_names


def _apply_mask(table: Bunch, mask: Path_ | ArrayLike, path: Path_) -> None:
    """Make the rows outside the mask unlabelled, in place."""
    n_rows = table.data.shape[0]
    if table.target is None:
        raise DataFileError(f"{place(path)}: a mask is given but no labels; name the label columns or file.")
    if isinstance(mask, (str, os.PathLike)):
        with foreign_bytes(mask):
            source, keep = place(mask), _read_mask(mask)
    else:
        source, keep = "mask", np.asarray(mask)
    if keep.shape != (n_rows,):
        raise DataFileError(f"{source}: shape {keep.shape}, but {place(path)} has {n_rows} rows; give one per row.")
    if not np.isin(keep, (0, 1)).all():
        raise DataFileError(f"{source}: a value is neither 0 nor 1; write 1 for rows whose labels are used.")
    table.target[keep == 0] = -1
    if table.votes is not None:
        table.votes[keep == 0] = -1


def _read_mask(path: Path_) -> NDArray[Any]:
    """Read one 0 or 1 per line, or an .npy file."""
    if Path(path).suffix.lower() == ".npy":
        return load_npy(path)
    values = []
    with Lines(path) as lines:
        for text in lines:
            cell = text.strip(BLANKS).lower()
            if cell in ("0", "1", "true", "false"):
                values.append(cell in ("1", "true"))
            elif lines.number > 1:
                raise lines.error(f"{shorten(text)!r} is neither 0 nor 1; write one of them on each line")
    return np.array(values, dtype=bool)
