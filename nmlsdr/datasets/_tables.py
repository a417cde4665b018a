"""Read a table of features and labels from a file of any kind that the command line accepts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch

from ._csv import read_csv
from ._files import MAX_BYTES, MAX_FEATURES, DataFileError, Lines, Path_, existing, place, shorten

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
TEXT_KINDS = ("arff", "csv", "tsv", "svmlight")  # may be gzipped


def read_table(
    path: Path_,
    *,
    labels_xml: Path_ | None = None,
    label_columns: Sequence[str] | None = None,
    label_file: Path_ | None = None,
    mask: Path_ | ArrayLike | None = None,
    drop: Sequence[str] = (),
    n_features: int | None = None,
    zero_based: bool = False,
    max_bytes: int = MAX_BYTES,
    max_features: int = MAX_FEATURES,
) -> Bunch:
    """Read features, and labels if they are asked for, from one file.

    ========================== =================================================================================
    ``.arff`` (``.gz``)        Mulan or Weka, dense (ndarray) or sparse (CSR); needs the extra ``datasets``
    ``.csv``, ``.tsv`` (gz)    first line holds the names of the columns
    ``.parquet``, ``.pq``      columns of numbers or booleans; needs the extra ``parquet``
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
    labels_xml : path, optional
        A Mulan XML file: the columns with its names are labels.
    label_columns : sequence of str, optional
        Names of the columns that are labels.  For svmlight: the label ids, in the order wanted; without it
        the ids that occur, in increasing order.
    label_file : path, optional
        A file of the same kinds with one row per row of `path`, in which every column is a label (for npz:
        ``y`` or ``target``).  A blank line of a CSV label file is an unlabelled row.
    mask : path or array-like of bool (n,), optional
        Rows whose labels are to be used (1); the others (0) count as unlabelled.  A file holds 0 or 1 on each
        line, with or without a header line, or is an ``.npy`` file.
    drop : sequence of str, default=()
        Columns to leave out, such as row names; they may hold text.
    n_features : int, optional
        For svmlight: how many feature columns there are, if not as many as the largest index.
    zero_based : bool, default=False
        For svmlight: whether indices start from 0.
    max_bytes : int, default=4 GiB
        Stop when the file unpacks to more than this.
    max_features : int, default=10**6
        Stop when the file has more columns than this.

    Returns
    -------
    Bunch
        data : ndarray or csr_array (n, D)
            float64; float32 where the file (npz, Parquet) holds nothing wider.  All finite.
        target : ndarray (n, C), int64, or None
            Labels 0/1 in the file's order of columns; a row of -1 is unlabelled (all its label cells are
            empty, "?" or -1).  None if the file was read without labels.
        labeled : ndarray (n,), bool, or None
            Whether the row has labels.
        feature_names, label_names : list of str, or None
            None where the file holds no names.

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
    sources = {"labels_xml": labels_xml, "label_columns": label_columns, "label_file": label_file}
    given = [name for name, value in sources.items() if value is not None]
    if len(given) > 1:
        raise DataFileError(f"{place(path)}: {' and '.join(given)} are given; choose one source of labels.")
    limits = {"max_bytes": max_bytes, "max_features": max_features}
    kind = kind_of(path)
    names = list(label_columns) if label_columns is not None else None
    if kind in ("csv", "tsv"):
        rows = read_csv(path, names, drop=drop, delimiter="," if kind == "csv" else "\t", **limits)
        data, target = rows.features(), rows.labels()
        table = Bunch(
            data=data,
            target=target,
            feature_names=rows.split.feature_names,
            label_names=rows.split.label_names if target is not None else None,
        )
    else:
        raise DataFileError(f"{place(path)}: {kind} files are not read yet; write the table as CSV.")
    if label_file is not None:
        table.target, table.label_names = _label_file(label_file, table.data.shape[0], path, limits)
    if mask is not None:
        _apply_mask(table, mask, path)
    table.labeled = None if table.target is None else (table.target != -1).all(axis=1)
    return table


def kind_of(path: Path_) -> str:
    """Return what kind of table a file name stands for."""
    found = existing(path)
    suffixes = [suffix.lower() for suffix in found.suffixes]
    packed = suffixes[-1:] == [".gz"]
    kind = KINDS.get((suffixes[-2:-1] if packed else suffixes[-1:] or [""])[0] if suffixes else "")
    if kind is None or (packed and kind not in TEXT_KINDS):
        raise DataFileError(
            f"{found}: the suffix is none of {', '.join(KINDS)} (text also with .gz); rename or convert the file."
        )
    return kind


def _label_file(
    path: Path_, n_rows: int, data_path: Path_, limits: dict[str, int]
) -> tuple[NDArray[np.int64], list[str] | None]:
    """Read a file in which every column is a label."""
    kind = kind_of(path)
    if kind in ("csv", "tsv"):
        rows = read_csv(path, all_labels=True, delimiter="," if kind == "csv" else "\t", **limits)
        target, names = rows.labels(), rows.split.label_names
    else:
        raise DataFileError(f"{place(path)}: {kind} label files are not read yet; write the labels as CSV.")
    assert target is not None
    if target.shape[0] != n_rows:
        raise DataFileError(
            f"{place(path)}: {target.shape[0]} rows of labels, but {os.fspath(data_path)} has {n_rows} rows; "
            "give one row of labels per row, empty if unlabelled."
        )
    return target, names


def _apply_mask(table: Bunch, mask: Path_ | ArrayLike, path: Path_) -> None:
    """Make the rows outside the mask unlabelled, in place."""
    n_rows = table.data.shape[0]
    if table.target is None:
        raise DataFileError(f"{place(path)}: a mask is given but no labels; say where the labels are.")
    if isinstance(mask, (str, os.PathLike)):
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
        try:
            loaded: NDArray[Any] = np.load(existing(path, "mask"), allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise DataFileError(
                f"{place(path)}: not a readable .npy file ({error}); save it with numpy.save."
            ) from error
        return loaded
    values = []
    with Lines(path) as lines:
        for text in lines:
            cell = text.strip().lower()
            if cell in ("0", "1", "true", "false"):
                values.append(cell in ("1", "true"))
            elif lines.number > 1:
                raise lines.error(f"{shorten(text)!r} is neither 0 nor 1; write one of them on each line")
    return np.array(values, dtype=bool)
