"""Read .npz files through NumPy: arrays, or the parts of a sparse matrix; never a pickle."""

import operator
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from .._checks.arguments import check_array_header, refuse_broken
from ._files import DataFileError, Form, Path_, check_size, check_width, existing_file, library_errors, place
from ._roles import LabelNames

FEATURES = ("X", "data")
LABELS = ("y", "target")
SPARSE_PARTS = ("data", "indices", "indptr", "shape", "format")  # as scipy.sparse.save_npz writes them
KINDS = "biufSU"  # flags, integers, floats, bytes, text
MAX_MEMBERS = 1000  # an archive's list of names is read before any of its arrays


def read_npz(path: Path_, form: Form, labels: LabelNames | None = None, *, is_labels: bool = False) -> Bunch:
    """Read features ``X`` or ``data`` (or sparse parts) and labels ``y`` or ``target``; of a label file the labels."""
    if labels is not None:
        raise DataFileError(": an npz file has its labels in the array y; give no label columns.")
    arrays = load_arrays(path, form.max_bytes)
    if is_labels:
        _required_key(arrays, LABELS, "labels")
        target, label_names = _labels_in(arrays)
        return Bunch(target=target, label_names=label_names)
    key = _required_key(arrays, FEATURES, "features")
    target, label_names = _labels_in(arrays)
    data, feature_names = _features_in(path, arrays, key, form)
    if target is not None and target.shape[0] != data.shape[0]:
        rows = f"{_key_in(arrays, LABELS)} has {len(target)} rows and the features {data.shape[0]}"
        raise DataFileError(f": {rows}; save as many.")
    return Bunch(data=data, target=target, feature_names=feature_names, label_names=label_names)


def _key_in(arrays: dict[str, Any], keys: Sequence[str]) -> str | None:
    """Return the first of some keys under which there is an array."""
    return next((key for key in keys if key in arrays), None)


def _required_key(arrays: dict[str, Any], keys: Sequence[str], contents: str) -> str:
    """Return the first of some keys under which there is an array; raise if there is none, naming the contents."""
    key = _key_in(arrays, keys)
    if key is None:
        present = ", ".join(sorted(arrays)[:5]) or "none"
        fault = f"it holds no array {' or '.join(keys)} (it has {present})"
        raise DataFileError(f": {fault}; save the {contents} as {keys[0]}.")
    return key


def _labels_in(arrays: dict[str, Any]) -> tuple[NDArray[np.int64] | None, list[str] | None]:
    """Return the labels (n, C) and their names, each None if there are none."""
    key = _key_in(arrays, LABELS)
    if key is None:
        return None, None
    names = _names(arrays, "label_names", arrays[key].shape[1:])
    return label_array(arrays[key], names), names


def _features_in(path: Path_, arrays: dict[str, Any], key: str, form: Form) -> tuple[Any, list[str] | None]:
    """Return the features (n, D) of this key, or the CSR array whose parts are there, and their names or None."""
    is_sparse = all(part in arrays for part in SPARSE_PARTS)
    data: Any = _sparse(path, arrays, form) if is_sparse else arrays[key]
    if data.ndim != 2:
        raise DataFileError(f": the features have shape {data.shape}; save an array (rows, columns).")
    check_width(data.shape[1], form.max_features)
    names = _names(arrays, "feature_names", data.shape[1:])
    return feature_array(data, names), names


def load_arrays(path: Path_, max_bytes: int | None = None) -> dict[str, Any]:
    """Return the arrays of an .npz file."""
    source = existing_file(path)
    arrays: dict[str, Any] = {}
    with (
        library_errors(source, "not a readable .npz file", "save it by numpy.savez"),
        zipfile.ZipFile(source) as archive,
    ):
        members = archive.infolist()
        check_size(source, sum(member.file_size for member in members), "unpacks to", max_bytes)
        if len(members) > MAX_MEMBERS:
            raise DataFileError(f": it holds {len(members)} arrays; save X and y only.")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in arrays:
                raise DataFileError(f": the array {name!r} appears twice; save the file again.")
            with archive.open(member) as file:
                check_array_header(file, member.file_size, f"array {name!r}", KINDS)
                file.seek(0)
                arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
    return arrays


def _sparse(path: Path_, arrays: dict[str, Any], form: Form) -> Any:
    """Build the CSR matrix whose parts are in `arrays`, after checking them."""
    data, indices, indptr, shape, layout = (arrays[part] for part in SPARSE_PARTS)
    with library_errors(path, "its sparse parts are not those of a matrix", "save the matrix again as CSR"):
        build = {"csr": sparse.csr_array, "csc": sparse.csc_array}[layout.astype(str).item()]
        n_rows, n_columns = map(operator.index, shape)  # fails for other counts and floats
        if {indices.dtype.kind, indptr.dtype.kind} - {"i", "u"} or data.dtype.kind not in "biuf":
            raise TypeError("wrong types")
        check_width(n_columns, form.max_features)
        # The parts of a CSC matrix do not grow with its rows, but the CSR matrix made from it does.
        check_size(path, (n_rows + 1) * 8, f"declares {n_rows} rows, a table of", form.max_bytes)
        matrix = build((data, indices, indptr), shape=(n_rows, n_columns))
        refuse_broken(matrix, "its sparse matrix")
        matrix = matrix.tocsr()
        matrix.sort_indices()
    if not matrix.has_canonical_format:
        raise DataFileError(": an entry appears twice; call sum_duplicates() before saving.")
    return matrix


def _names(arrays: dict[str, Any], key: str, shape: tuple[int, ...]) -> list[str] | None:
    """Return an array of names as a list, None if there is none."""
    if key not in arrays:
        return None
    try:
        names: list[str] = arrays[key].tolist()
        sound = arrays[key].dtype.kind == "U" and arrays[key].shape == shape and len(set(names)) == len(names)
        "".join(names if sound else []).encode()
    except (ValueError, SystemError):  # code points beyond Unicode, or single surrogates, which cannot be printed
        sound = False
    if not sound:
        raise DataFileError(f": {key} must be {shape[0] if shape else 0} different texts; save them so.")
    return names


def feature_array(data: Any, names: Sequence[str] | None) -> Any:
    """Return features, dense or CSR, as float32 or float64, all finite, or NaN for a missing value of a dense row.

    Stored zeros of a CSR array are dropped.
    """
    if data.dtype.kind not in "biuf" or data.dtype.itemsize > 8:
        raise DataFileError(f": the features have dtype {data.dtype}; save them as float64 or float32.")
    data = data.astype(np.float32 if data.dtype in (np.float16, np.float32) else np.float64, copy=False)
    is_sparse: bool = sparse.issparse(data)
    wrong = ~np.isfinite(data.data) if is_sparse else np.isinf(data)
    if wrong.any():
        entries = data.tocoo() if is_sparse else None
        row, column = np.argwhere(wrong)[0] if entries is None else (entries.row[wrong][0], entries.col[wrong][0])
        raise DataFileError(f"{_cell(row, column, names)}: the value is not finite; write a number or drop the row.")
    if is_sparse:
        data.eliminate_zeros()
    return data


def _cell(row: int, column: int, names: Sequence[str] | None) -> str:
    """Return the place of a cell; a column without a name is named by its number."""
    return place(column=str(column) if names is None else names[column], row=row)


def label_array(labels: Any, names: Sequence[str] | None) -> NDArray[np.int64]:
    """Return labels (n, C) of 0, 1 and -1; a NaN counts as -1."""
    if labels.ndim != 2 or labels.shape[1] == 0 or labels.dtype.kind not in "biuf":
        raise DataFileError(f": its labels have shape {labels.shape}, dtype {labels.dtype}; save columns of 0, 1, -1.")
    known = np.where(np.isnan(labels), -1, labels) if labels.dtype.kind == "f" else labels
    wrong = ~np.isin(known, (-1, 0, 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise DataFileError(f"{_cell(row, column, names)}: it is {known[row, column]}; write 0, 1 or -1 (unknown).")
    return known.astype(np.int64)
