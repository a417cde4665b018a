"""Read .npz files: arrays of features and labels, or the parts of a sparse matrix; never a pickle."""

from __future__ import annotations

import math
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._cells import Table, feature_array, label_array
from ._files import MAX_BYTES, MAX_FEATURES, DataFileError, Path_, existing, place

FEATURES, LABELS = ("X", "data"), ("y", "target")
SPARSE_PARTS = ("data", "indices", "indptr", "shape", "format")  # as scipy.sparse.save_npz writes them
UNREADABLE = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)


def read_npz(
    path: Path_, *, all_labels: bool = False, max_bytes: int = MAX_BYTES, max_features: int = MAX_FEATURES
) -> Table:
    """Read features ``X`` or ``data`` (or sparse parts) and labels ``y`` or ``target``; only these if `all_labels`."""
    arrays = load_arrays(path, max_bytes)
    is_sparse = all(part in arrays for part in SPARSE_PARTS)
    label_key = next((key for key in LABELS if key in arrays), None)
    if all_labels:
        if label_key is None:
            raise DataFileError(
                f"{place(path)}: it holds no array y or target ({_held(arrays)}); save the labels as y."
            )
        label_names = _names(path, arrays, "label_names", arrays[label_key].shape[1:])
        return Table(None, label_array(path, arrays[label_key], label_names), None, label_names)
    if is_sparse:
        data: Any = _sparse(path, arrays)
    else:
        key = next((key for key in FEATURES if key in arrays), None)
        if key is None:
            raise DataFileError(
                f"{place(path)}: it holds no array X or data ({_held(arrays)}); save the features as X."
            )
        data = arrays[key]
    if data.ndim != 2:
        raise DataFileError(f"{place(path)}: the features have shape {data.shape}; save an array (rows, columns).")
    if data.shape[1] > max_features:
        raise DataFileError(
            f"{place(path)}: {data.shape[1]} columns are more than max_features={max_features}; "
            "raise it if you trust the file."
        )
    feature_names = _names(path, arrays, "feature_names", data.shape[1:])
    data = feature_array(path, data, feature_names)
    if label_key is None:
        return Table(data, None, feature_names, None)
    labels = arrays[label_key]
    label_names = _names(path, arrays, "label_names", labels.shape[1:])
    target = label_array(path, labels, label_names)
    if target.shape[0] != data.shape[0]:
        raise DataFileError(
            f"{place(path)}: {label_key} has {target.shape[0]} rows and the features {data.shape[0]}; save one each."
        )
    return Table(data, target, feature_names, label_names)


def load_arrays(path: Path_, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Return the arrays of an .npz file; each is read only if its header agrees with the size of its member."""
    found = existing(path)
    arrays: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(found) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > max_bytes:
                raise DataFileError(
                    f"{found}: it unpacks to more than max_bytes={max_bytes}; raise it if you trust the file."
                )
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name in arrays:
                    raise DataFileError(f"{found}: the array {name!r} stands there twice; save the file again.")
                with archive.open(member) as file:
                    _check_header(found, name, file, member.file_size)
                with archive.open(member) as file:
                    arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
    except DataFileError:
        raise
    except UNREADABLE as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise DataFileError(f"{found}: not a readable .npz file ({reason}); save it with numpy.savez.") from error
    return arrays


def load_npy(path: Path_) -> NDArray[Any]:
    """Return the array of an .npy file, read only if its header agrees with its size."""
    found = existing(path)
    try:
        with open(found, "rb") as file:
            _check_header(found, found.name, file, found.stat().st_size)
            file.seek(0)
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
            return array
    except DataFileError:
        raise
    except UNREADABLE as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise DataFileError(f"{found}: not a readable .npy file ({reason}); save it with numpy.save.") from error


def _check_header(path: Path_, name: str, file: Any, size: int) -> None:
    """Raise unless an array is of numbers or text and as large as its member, before it is allocated."""
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"array format {version}")
    shape, _, dtype = read(file)
    if dtype.kind not in "biufUS":
        raise DataFileError(
            f"{place(path)}: the array {name!r} has dtype {dtype}; save numbers (a pickle is never read)."
        )
    if math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"array {name!r} is shorter than it says")


def _sparse(path: Path_, arrays: dict[str, Any]) -> Any:
    """Build the CSR matrix whose parts are in `arrays`, after checking them."""
    kind = arrays["format"].item() if arrays["format"].ndim == 0 else None
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
    if kind not in ("csr", "csc"):
        raise DataFileError(f"{place(path)}: the sparse format is {kind!r}; save the matrix as CSR.")
    try:
        shape = tuple(int(size) for size in arrays["shape"])
        if len(shape) != 2 or min(shape) < 0 or arrays["data"].ndim != 1:
            raise ValueError("it is not two-dimensional")
        if any(arrays[part].dtype.kind not in "iu" for part in ("indices", "indptr")):
            raise ValueError("its indices are not integers")
        build = sparse.csr_array if kind == "csr" else sparse.csc_array
        matrix = build((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, IndexError, OverflowError) as error:
        raise DataFileError(f"{place(path)}: its sparse parts do not fit ({error}); save the matrix again.") from error
    matrix = matrix.tocsr()
    matrix.sort_indices()
    if not matrix.has_canonical_format:
        raise DataFileError(f"{place(path)}: an entry stands there twice; call sum_duplicates() before saving.")
    return matrix


def _names(path: Path_, arrays: dict[str, Any], key: str, shape: tuple[int, ...]) -> list[str] | None:
    """Return an array of names as a list, None if there is none."""
    if key not in arrays:
        return None
    names = arrays[key]
    if names.dtype.kind != "U" or names.shape != shape or len(set(names.tolist())) < names.size:
        raise DataFileError(f"{place(path)}: {key} must be {shape[0] if shape else 0} different texts; save them so.")
    return [str(name) for name in names]


def _held(arrays: dict[str, Any]) -> str:
    return "it has " + (", ".join(sorted(arrays)[:5]) or "none")
