"""Read a table of features and labels from a file of any kind that the command line accepts."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Bunch

from ._arff import nominal_texts, read_arff
from ._cells import Table
from ._columns import LabelNames, Wanted
from ._csv import read_csv
from ._files import BLANKS, MAX_FEATURES, DataFileError, Lines, Path_, existing, foreign_bytes, place, shorten
from ._lists import listed_labels
from ._mulan import read_labels
from ._npz import load_npy, read_npz
from ._parquet import look_parquet, read_parquet
from ._survey import refuse_many, survey
from ._survey import text_columns as find_text_columns
from ._svmlight import read_svmlight

__all__ = ["DataFileError", "read_table"]

KINDS = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
}
DELIMITERS = {"csv": None, "tsv": "\t"}  # None: guessed
TEXT_KINDS = ("arff", "csv", "tsv", "svmlight")  # may be gzipped


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
    """Read features, and labels if they are asked for, from one file.

    ========================== =================================================================================
    ``.arff`` (``.gz``)        Mulan or Weka, dense (ndarray) or sparse (CSR)
    ``.csv``, ``.tsv`` (gz)    first line holds the names of the columns
    ``.parquet``, ``.pq``      columns of numbers or booleans (an index of pandas is left out); needs the extra
                               ``parquet``
    ``.npz``                   arrays ``X`` or ``data`` and ``y`` or ``target``, optionally ``feature_names`` and
                               ``label_names``; or the parts that scipy.sparse.save_npz writes
    ``.svmlight``, ``.svm``,   ``label,label index:value ...``, indices from 1; labels are names of label columns
    ``.libsvm`` (``.gz``)
    ========================== =================================================================================

    Labels come from `labels_xml` or `label_columns` (columns of the file itself), from `label_file`, or from
    the file where its kind holds labels apart (npz, svmlight).  Give at most one of the three.

    Parameters
    ----------
    path : path
        The file; its suffix says which kind it is.
    labels_xml : path, default=None
        A Mulan XML file: the columns with its names are labels.
    label_columns : sequence of str, default=None
        Names of the columns that are labels; their cells are 0/1, true/false or yes/no.  For svmlight: the
        label ids, in the order wanted; without it the ids that occur, in increasing order.
    label_file : path, default=None
        A file of the same kinds with one row per row of `path`, in which every column is a label (for npz:
        ``y`` or ``target``).  A blank line of a CSV label file is an unlabelled row.
    mask : path or array-like of bool (n,), default=None
        Rows whose labels are to be used (1); the others (0) count as unlabelled.  A file holds 0 or 1 on each
        line, with or without a header line, or is an ``.npy`` file.
    label_list : str, default=None
        Name of a column whose cells hold lists of labels, such as ``flu;cold``: each label that occurs becomes a
        label column, in alphabetical order; an empty cell is an unlabelled row.
    separator : str, default=";"
        What stands between the labels of such a list.
    no_label : str, default=None
        The word that stands alone in such a list where a row has none of the labels, such as ``none``: it is no label.
    id_column : str, default=None
        Name of a column that names the rows; it is returned as ``ids`` and is no feature.
    drop : sequence of str, default=()
        Columns to leave out, such as row names; they may hold text.
    feature_columns : sequence of str, default=None
        The only columns that are features, such as those of a model; others may hold anything.
    text_columns : sequence of str or "auto", default=()
        Features that hold words, each a category (CSV, TSV, Parquet, dense ARFF); "auto": all columns that are not
        numbers, of which none may hold more than 100 different texts.
    missing : bool, default=False
        A feature may be missing (an empty cell, ?, NA, N/A, NaN or NULL, a null) and is NaN then; not in sparse rows.
    delimiter, decimal : str, default=None
        For CSV: what stands between cells, and the decimal mark; None: as the first lines say.
    encoding : str, default=None
        Of a text file; None: UTF-8, UTF-16 behind its mark, or Windows-1252 where the first bytes are not UTF-8.
    n_features : int, default=None
        For svmlight: how many feature columns there are, if not as many as the largest index.
    zero_based : bool, default=False
        For svmlight: whether indices start from 0.
    max_bytes : int, default=None
        Stop when the file unpacks to more than this, or declares more.  Default: 4 GiB, and of a packed file 64 times
        its own size (32 MiB if that is less), which a file of a sound origin seldom exceeds and a bomb does.
    max_features : int, default=10**6
        Stop when the file has more columns than this.

    Returns
    -------
    Bunch
        data : ndarray or csr_array (n, D)
            float64; float32 where the file (npz, Parquet) holds nothing wider.  All finite, but for what
            is `missing`; with `text_columns` an array of objects, numbers and texts in the file's order.
        target : ndarray (n, C), int64, or None
            Labels 0/1 in the file's order of columns; -1 is not known (the cell is empty, "?" or -1).  None if the
            file was read without labels.
        labeled : ndarray (n,), bool, or None
            Whether any label of the row is known.
        feature_names, label_names : list of str, or None
            None where the file holds no names.
        ids : list of str, or None
            The cells of `id_column`.
        text_names : list of str
            The features that hold texts.
        unused : list of str
            Columns that are not in `feature_columns`, nor asked for as anything else.
        encoding : str or None
            Of a text file, as it was given or guessed.

    Raises
    ------
    DataFileError
        A ValueError whose one sentence names the file, the line and the column, and what to do.
    ImportError
        If the kind of file needs a package that is not installed; it names the extra to install.

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
    sources = {
        "labels_xml": labels_xml,
        "label_columns": label_columns,
        "label_file": label_file,
        "label_list": label_list,
    }
    given = [name for name, value in sources.items() if value is not None]
    if len(given) > 1:
        raise DataFileError(f"{place(path)}: {' and '.join(given)} are given; choose one source of labels.")
    if not separator:
        raise DataFileError(f"{place(path)}: the separator of its lists of labels is empty; give one such as ';'.")
    limits: dict[str, Any] = {"max_bytes": max_bytes, "max_features": max_features}
    form = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    names: LabelNames | None = list(label_columns) if label_columns is not None else None
    if labels_xml is not None:
        names = read_labels(labels_xml, max_bytes=max_bytes, max_labels=max_features)
    wanted = Wanted(
        names, False, drop, id_column, label_list, separator, feature_columns, gaps=missing, labelled=bool(given)
    )
    with foreign_bytes(path):
        if missing or text_columns:
            wanted = _with_texts(path, wanted, text_columns, form, limits)
        found = _read(path, wanted, n_features, zero_based, form, limits)
        if (missing or text_columns) and sparse.issparse(found.data):
            raise _sparse_gaps(path)
    if found.tags is not None:
        target, label_names = listed_labels(path, found.tags, separator, no_label, limits)
        found = found._replace(target=target, label_names=label_names)
    table = Bunch(**found._asdict(), text_names=[])
    del table["tags"], table["words"]
    if found.words:
        _put_words(table, found)
    n_rows, n_columns = table.data.shape
    if n_rows == 0 or (n_columns == 0 and feature_columns is None):
        raise DataFileError(f"{place(path)}: it holds {n_rows} rows of {n_columns} features; give a file with data.")
    if label_file is not None:
        with foreign_bytes(label_file):
            table.target, table.label_names = _label_file(label_file, n_rows, path, limits)
    if mask is not None:
        _apply_mask(table, mask, path)
    table.labeled = None if table.target is None else (table.target != -1).any(axis=1)
    return table


def _put_words(table: Bunch, found: Table) -> None:
    """Put the columns of words among those of numbers, each at its place in the file."""
    words = found.words or {}
    names = list(found.feature_names or ())
    for place_, name in sorted((place_, name) for name, (place_, _) in words.items()):
        names.insert(place_, name)
    data = np.empty((found.data.shape[0], len(names)), dtype=object)
    position = {name: j for j, name in enumerate(names)}
    data[:, [position[name] for name in found.feature_names or ()]] = found.data
    for name, (_, texts) in words.items():
        data[:, position[name]] = texts
    table.data, table.feature_names, table.text_names = data, names, [name for name in names if name in words]


def _with_texts(
    path: Path_, wanted: Wanted, text_columns: Sequence[str] | str, form: dict[str, Any], limits: dict[str, Any]
) -> Wanted:
    """Return what is wanted with the columns of words, in the order of their names in the file."""
    kind = kind_of(path)
    if text_columns and kind in ("npz", "svmlight"):
        raise DataFileError(f"{place(path)}: a {kind} file holds numbers only; leave --one-hot out.")
    if kind == "svmlight":
        raise _sparse_gaps(path)
    if not isinstance(text_columns, str):
        return dataclasses.replace(wanted, texts=tuple(text_columns))
    if kind == "arff":
        texts = nominal_texts(path, wanted, **limits)
    elif kind == "parquet":
        texts = refuse_many(path, look_parquet(path, wanted, **limits), wanted)
    else:
        form = {**form, "delimiter": form["delimiter"] or DELIMITERS[kind]}
        texts = find_text_columns(path, wanted, form, limits)
    return dataclasses.replace(wanted, texts=tuple(texts))


def _sparse_gaps(path: Path_) -> DataFileError:
    return DataFileError(
        f"{place(path)}: what sparse rows leave out is 0 and not missing, and their columns are not encoded; leave "
        "--impute and --one-hot out, or save the table with dense rows."
    )


def kind_of(path: Path_) -> str:
    """Return what kind of table a file name stands for."""
    found = existing(path)
    suffixes = [suffix.lower() for suffix in found.suffixes]
    packed = suffixes[-1:] == [".gz"]
    kind = KINDS.get("".join(suffixes[-2:-1] if packed else suffixes[-1:]))
    if kind is None or (packed and kind not in TEXT_KINDS):
        raise DataFileError(
            f"{found}: the suffix is none of {', '.join(KINDS)} (text also with .gz); rename or convert the file."
        )
    return kind


def _read(
    path: Path_,
    wanted: Wanted,
    n_features: int | None,
    zero_based: bool,
    form: dict[str, Any],
    limits: dict[str, Any],
) -> Table:
    """Read one file by its kind."""
    kind = kind_of(path)
    if kind in ("npz", "svmlight"):
        for what, value in (("drop", list(wanted.drop)), ("id_column", wanted.id), ("label_list", wanted.label_list)):
            if value:
                raise DataFileError(
                    f"{place(path)}: {what}={value} needs columns with names; a {kind} file has none."
                )
    if kind == "npz":
        if wanted.labels is not None:
            raise DataFileError(f"{place(path)}: an npz file holds its labels apart, as y; name no label columns.")
        return read_npz(path, gaps=wanted.gaps, **limits)
    if kind == "svmlight":
        ids = None if wanted.labels is None else list(wanted.labels)
        return read_svmlight(path, ids, n_features=n_features, zero_based=zero_based, **limits)
    if kind == "parquet":
        return read_parquet(path, wanted, **limits)
    if kind == "arff":
        return read_arff(path, wanted, **limits).table()
    form = {**form, "delimiter": form["delimiter"] or DELIMITERS[kind]}
    try:
        return read_csv(path, wanted, **form, **limits)
    except DataFileError as error:
        survey(path, wanted, form, limits, error)
        raise


def _label_file(
    path: Path_, n_rows: int, data_path: Path_, limits: dict[str, Any]
) -> tuple[NDArray[np.int64], list[str] | None]:
    """Read a file in which every column is a label."""
    kind = kind_of(path)
    every = Wanted(all_labels=True)
    if kind == "npz":
        table = read_npz(path, all_labels=True, **limits)
    elif kind == "svmlight":
        table = read_svmlight(path, **limits)
    elif kind == "parquet":
        table = read_parquet(path, every, **limits)
    elif kind == "arff":
        table = read_arff(path, every, **limits).table()
    else:
        table = read_csv(path, every, delimiter=DELIMITERS[kind], **limits)
    if table.target is None:
        raise DataFileError(f"{place(path)}: it holds no labels; give one column per label.")
    if table.target.shape[0] != n_rows:
        raise DataFileError(
            f"{place(path)}: {table.target.shape[0]} rows of labels, but {os.fspath(data_path)} has {n_rows} rows; "
            "give one row of labels per row, empty if unlabelled."
        )
    return table.target, table.label_names


def _apply_mask(table: Bunch, mask: Path_ | ArrayLike, path: Path_) -> None:
    """Make the rows outside the mask unlabelled, in place."""
    n_rows = table.data.shape[0]
    if table.target is None:
        raise DataFileError(f"{place(path)}: a mask is given but no labels; say where the labels are.")
    if isinstance(mask, (str, os.PathLike)):
        with foreign_bytes(mask):
            source, keep = place(mask), _read_mask(mask)
    else:
        source, keep = "mask", np.asarray(mask)
    if keep.shape != (n_rows,):
        raise DataFileError(
            f"{source}: it has shape {keep.shape}, but {place(path)} has {n_rows} rows; give one per row."
        )
    if not np.isin(keep, (0, 1)).all():
        raise DataFileError(f"{source}: it holds other values than 0 and 1; write 1 for rows whose labels are used.")
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
