"""Read a table of features and labels from a file of any kind that the command line accepts."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Bunch

from ._annotators import columns_like_labels
from ._arff import nominal_texts, read_arff
from ._cells import FileContents
from ._columns import LabelNames, Wanted
from ._csv import read_csv
from ._files import BLANKS, MAX_FEATURES, DataFileError, Lines, Path_, existing, foreign_bytes, place, shorten
from ._lists import listed_labels
from ._mulan import read_labels
from ._npz import load_npy, read_npz
from ._parquet import look_parquet, read_parquet
from ._survey import Proposal, look_csv, refuse_many, survey
from ._svmlight import read_svmlight

KINDS = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
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
READERS = {
    "arff": read_arff,
    "csv": read_csv,
    "parquet": read_parquet,
    "npz": read_npz,
    "svmlight": read_svmlight,
}
TEXT_KINDS = ("arff", "csv", "svmlight")  # may be gzipped


def read_table(
    path: Path_,
    *,
    labels_xml: Path_ | None = None,
    label_columns: Sequence[str] | None = None,
    label_file: Path_ | None = None,
    mask: Path_ | ArrayLike | None = None,
    label_list: str | None = None,
    separator: str = ";",
    no_label: str | None = None,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    feature_columns: Sequence[str] | None = None,
    text_columns: Sequence[str] | str = (),
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

    Labels are read from columns of the file itself (`labels_xml`, `label_columns` or `label_list`) or from another file
    (`label_file`); give at most one of the four.  An npz or svmlight file stores labels separately, and needs none.

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
    separator : str, default=";"
        Text between the labels of such a list.
    no_label : str, default=None
        Word in place of such a list for a row that has none of the labels, such as ``none``.
    id_column : str, default=None
        Name of a column with the names of the rows. It is returned as ``ids`` and is not a feature.
    drop : sequence of str, default=()
        Columns to leave out, such as comments; they may contain text.
    feature_columns : sequence of str, default=None
        Columns that are features, for example those of a model; columns without any role are ignored then. None: all
        columns without another role.
    text_columns : sequence of str or "auto", default=()
        Features that are categories, with texts as values (CSV, TSV, Parquet, dense ARFF). "auto": all columns that
        are not numbers; each may have at most 100 different texts.
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
            except NaN if `missing`. With `text_columns` an array of objects, with numbers and texts in the order of
            the file.
        target : ndarray of shape (n_samples, n_labels), int64, or None
            Labels 0/1 in the order of columns of the file; -1 where a label is unknown (an empty cell, "?" or -1).
            None if the file was read without labels.
        labeled : ndarray of shape (n_samples,), bool, or None
            True for rows with a known label. None if the file was read without labels.
        feature_names, label_names : list of str, or None
            Names of features and labels; None if the file has no names.
        ids : list of str, or None
            Cells of `id_column`; None if it was not given.
        text_names : list of str
            Names of the features with texts.
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
    sources = ("labels_xml", "label_columns", "label_file", "label_list")
    given = [name for name in sources if arguments[name] is not None]
    if len(given) > 1:
        raise DataFileError(f"{place(path)}: {' and '.join(given)} are given; choose one source of labels.")
    if not separator:
        raise DataFileError(f"{place(path)}: the separator of its lists of labels is empty; give one such as ';'.")
    names: LabelNames | None = list(label_columns) if label_columns is not None else None
    if labels_xml is not None:
        names = read_labels(labels_xml, max_bytes=max_bytes, max_labels=max_features)
    shared = {field.name: arguments[field.name] for field in dataclasses.fields(Wanted) if field.name in arguments}
    wanted = Wanted(labels=names, labelled=bool(given), **{**shared, "drop": list(drop)})
    with foreign_bytes(path):
        try:
            if missing or text_columns:
                wanted = _with_texts(path, wanted, text_columns)
            found = _read(path, wanted)
        except Proposal as proposal:
            raise _without_labels(path, arguments, proposal) from None
        if (missing or text_columns) and sparse.issparse(found.data):
            what = "sparse rows have no missing values or texts; leave --impute and --one-hot out, or save dense rows"
            raise DataFileError(f"{place(path)}: {what}.")
    if found.tags is not None:
        target, label_names = listed_labels(path, found.tags, separator, no_label, wanted)
        found = found._replace(target=target, label_names=label_names)
    table = Bunch(**found._asdict())
    del table["tags"]
    n_rows, n_columns = table.data.shape
    if n_rows == 0 or (n_columns == 0 and feature_columns is None):
        raise DataFileError(f"{place(path)}: it holds {n_rows} rows of {n_columns} features; give a file with data.")
    if label_file is not None:
        with foreign_bytes(label_file):
            table.target, table.label_names = _label_file(label_file, n_rows, path, wanted)
    if mask is not None:
        _apply_mask(table, mask, path)
    table.labeled = None if table.target is None else (table.target != -1).any(axis=1)
    return table


def _without_labels(path: Path_, arguments: dict[str, Any], proposal: Proposal) -> DataFileError:
    """Return the proposal without the columns that look like labels: they show when the table is read as proposed."""
    options = proposal.options
    single = {name: options[name][0] for name in ("id_column", "label_list", "separator") if options[name]}
    more = {"drop": [*arguments["drop"], *options["drop"]], "missing": True}
    if arguments["text_columns"] != "auto":
        more["text_columns"] = [*arguments["text_columns"], *options["text_columns"]]
    try:
        table = read_table(path, **{**arguments, **single, **more})
    except (DataFileError, ImportError):  # the user sees this one after following the proposal
        return proposal
    like_labels = columns_like_labels(table)
    if not like_labels:
        return proposal
    kept = [j for j, name in enumerate(table.feature_names) if name not in {*like_labels, *table.text_names}]
    holes = bool(options["missing"]) and any(np.isnan(table.data[:, j].astype(np.float64)).any() for j in kept)
    return proposal.without(like_labels, holes)


def _with_texts(path: Path_, wanted: Wanted, text_columns: Sequence[str] | str) -> Wanted:
    """Return what is wanted, with the names of the text columns."""
    kind = kind_of(path)
    if text_columns and kind in ("npz", "svmlight"):
        raise DataFileError(f"{place(path)}: a {kind} file holds numbers only; leave --one-hot out.")
    texts = text_columns
    if isinstance(texts, str):  # "auto"
        look = look_parquet if kind == "parquet" else look_csv
        texts = nominal_texts(path, wanted) if kind == "arff" else refuse_many(path, look(path, wanted), wanted)
    return dataclasses.replace(wanted, texts=tuple(texts))


def kind_of(path: Path_) -> str:
    """Return the kind of a file by its suffix."""
    found = existing(path)
    suffixes = [suffix.lower() for suffix in found.suffixes]
    packed = suffixes[-1:] == [".gz"]
    kind = KINDS.get("".join(suffixes[-2:-1] if packed else suffixes[-1:]))
    if kind is None or (packed and kind not in TEXT_KINDS):
        known = f"{', '.join(KINDS)} (text also with .gz)"
        advice = OTHER_KINDS.get("".join(suffixes[-1:]), "rename or convert the file")
        raise DataFileError(f"{found}: the suffix is none of {known}; {advice}.")
    return kind


def _read(path: Path_, wanted: Wanted) -> FileContents:
    """Read one file with the reader of its kind."""
    kind = kind_of(path)
    if kind in ("npz", "svmlight"):
        for what in ("drop", "id_column", "label_list"):
            if value := getattr(wanted, what):
                raise DataFileError(f"{place(path)}: {what}={value} needs columns with names; a {kind} file has none.")
    try:
        return READERS[kind](path, wanted)
    except DataFileError as error:
        if kind == "csv" and not wanted.all_labels:
            survey(path, wanted, error)
        raise


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
