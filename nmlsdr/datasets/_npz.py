"""Read .npz files: arrays of features and labels, or the parts of a sparse matrix; never a pickle."""

from __future__ import annotations

import zipfile
from typing import Any

from numpy.typing import NDArray
from scipy import sparse

from .._arrays import refuse_broken
from .._npy import NpyError, read_npy
from ._cells import Table, feature_array, label_array
from ._files import MAX_FEATURES, DataFileError, Path_, allowance, existing, place, shorten, too_large

FEATURES, LABELS = ("X", "data"), ("y", "target")
SPARSE_PARTS = ("data", "indices", "indptr", "shape", "format")  # as scipy.sparse.save_npz writes them
MAX_MEMBERS = 1000  # an archive's list of names is read before any of its arrays


def read_npz(
    path: Path_,
    *,
    all_labels: bool = False,
    gaps: bool = False,
    max_bytes: int | None = None,
    max_features: int = MAX_FEATURES,
) -> Table:
    """Read features ``X`` or ``data`` (or sparse parts) and labels ``y`` or ``target``; only these if `all_labels`.

    With `gaps` a feature that is NaN is missing.
    """
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
        data: Any = _sparse(path, arrays, max_bytes, max_features)
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
        raise _too_wide(path, data.shape[1], max_features)
    feature_names = _names(path, arrays, "feature_names", data.shape[1:])
    data = feature_array(path, data, feature_names, gaps=gaps)
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


def load_arrays(path: Path_, max_bytes: int | None = None) -> dict[str, Any]:
    """Return the arrays of an .npz file; each is read only if its header agrees with the size of its member."""
    found = existing(path)
    arrays: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(found) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > allowance(found, max_bytes):
                raise too_large(found, "unpacks to", max_bytes)
            if len(members) > MAX_MEMBERS:
                raise DataFileError(f"{found}: it holds {len(members)} arrays; save X and y only.")
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name in arrays:
                    raise DataFileError(f"{found}: the array {name!r} stands there twice; save the file again.")
                with archive.open(member) as file:
                    arrays[name] = read_npy(file, name, member.file_size)
    except (DataFileError, MemoryError):
        raise
    except Exception as error:  # zipfile, zlib and the codecs of names raise errors of many kinds
        raise _unreadable(found, "npz", "numpy.savez", error) from error
    return arrays


def load_npy(path: Path_) -> NDArray[Any]:
    """Return the array of an .npy file, read only if its header agrees with its size."""
    found = existing(path)
    try:
        with open(found, "rb") as file:
            return read_npy(file, found.name, found.stat().st_size)
    except (NpyError, OSError) as error:
        raise _unreadable(found, "npy", "numpy.save", error) from error


def _unreadable(path: Path_, kind: str, writer: str, error: Exception) -> DataFileError:
    reason = " ".join((str(error) or type(error).__name__).split()).rstrip(".")
    return DataFileError(f"{place(path)}: not a readable .{kind} file ({shorten(reason, 200)}); save it with {writer}.")


def _sparse(path: Path_, arrays: dict[str, Any], max_bytes: int | None, max_features: int) -> Any:
    """Build the CSR matrix whose parts are in `arrays`, after checking them."""
    kind = arrays["format"].item() if arrays["format"].ndim == 0 else None
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
    if kind not in ("csr", "csc"):
        raise DataFileError(f"{place(path)}: the sparse format is {kind!r}; save the matrix as CSR.")
    try:
        if arrays["shape"].dtype.kind not in "iu" or arrays["shape"].shape != (2,):
            raise ValueError("it is not two-dimensional")
        shape = tuple(int(size) for size in arrays["shape"])
        if min(shape) < 0 or any(arrays[part].ndim != 1 for part in ("data", "indices", "indptr")):
            raise ValueError("its parts have other dimensions than a matrix's")
        if arrays["data"].dtype.kind not in "biuf":
            raise ValueError("its values are not numbers")
        if any(arrays[part].dtype.kind not in "iu" for part in ("indices", "indptr")):
            raise ValueError("its indices are not integers")
        # A CSC matrix holds no word of its rows: what it declares is what the CSR matrix of it would take.
        if shape[1] <= max_features and (shape[0] + 1) * 8 > allowance(path, max_bytes):
            raise too_large(path, f"declares {shape[0]} rows, a table of", max_bytes)
        if shape[1] > max_features:
            raise _too_wide(path, shape[1], max_features)
        build = sparse.csr_array if kind == "csr" else sparse.csc_array
        matrix = build((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        refuse_broken(matrix, "its sparse matrix")
    except DataFileError:
        raise
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataFileError(f"{place(path)}: its sparse parts do not fit ({error}); save the matrix again.") from error
    matrix = matrix.tocsr()
    matrix.sort_indices()
    if not matrix.has_canonical_format:
        raise DataFileError(f"{place(path)}: an entry stands there twice; call sum_duplicates() before saving.")
    return matrix


def _too_wide(path: Path_, n_columns: int, max_features: int) -> DataFileError:
    return DataFileError(
        f"{place(path)}: {n_columns} columns are more than max_features={max_features}; raise it if you trust the file."
    )


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
