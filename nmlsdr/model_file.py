"""Fitted models as data: an ``.npz`` file of plain arrays and one JSON header, without pickle.

A model file cannot run code when it is read: it holds names and numbers, and only the classes and attributes listed in
``_model_schema.py`` are ever made from it. What comes back predicts bit for bit as what was written.

The file is a zip archive. ``header.npy`` holds the bytes of the JSON header (format and its version, versions of the
libraries, names of features and labels, the tree of estimators with parameters and fitted attributes, checksum); every
further member ``a<number>.npy`` is one array that the tree refers to. The same model gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from . import _model_schema
from ._errors import InputError
from ._output import PathLike, replace_file, write_arrays
from ._validation import check_rows
from ._version import __version__

__all__ = ["Model", "ModelFileError", "load_model", "open_model", "save_model"]

_FORMAT = "nmlsdr-model"
_FORMAT_VERSION = 1
_HEADER_BYTES = 256 << 20  # a million names of features fit
_ARRAYS = ("array", "rows", "classes", "targets")  # kinds of fields that are stored as arrays
_KINDS = "biufU"  # dtype kinds that need no pickle: flags, integers, floats, text


class ModelFileError(InputError):
    """A file is not a model that this version reads, or an object cannot be written as one."""


class _Refused(Exception):
    """The end of a sentence that begins with the file's name."""


class Model(NamedTuple):
    """What a model file holds.

    Attributes
    ----------
    estimator : estimator
        Fitted, as it was written.
    feature_names : list of str, or None
        Names of the columns it was fitted on, in order.
    label_names : list of str, or None
        Names of the labels, in order.
    versions : dict of str to str
        Versions of nmlsdr, numpy, scipy and scikit-learn that wrote the file.
    """

    estimator: Any
    feature_names: list[str] | None
    label_names: list[str] | None
    versions: dict[str, str]


def save_model(
    path: PathLike,
    estimator: Any,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    inputs: Iterable[PathLike] = (),
) -> None:
    """Write a fitted estimator, or a pipeline of them, as data.

    Parameters
    ----------
    path : str or path-like
        The file to write; it appears whole or not at all.
    estimator : estimator
        A fitted estimator of this package, one of scikit-learn's StandardScaler, MaxAbsScaler and Normalizer, or a
        Pipeline of such steps. A pipeline's ``memory`` and ``verbose`` are not kept.
    feature_names, label_names : sequence of str or None, default=None
        Kept in the header for the reader.
    inputs : iterable of str or path-like, default=()
        Files that must not be overwritten.

    Raises
    ------
    ModelFileError
        A class, parameter or attribute cannot be written as data.
    sklearn.exceptions.NotFittedError
        The estimator is not fitted.
    ValueError, OSError
        The file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[0.0], [2.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(os.path.join(folder, "model.npz"), scaler)
    ...     load_model(os.path.join(folder, "model.npz")).transform([[4.0]])
    array([[3.]])
    """
    check_is_fitted(estimator)
    arrays: dict[str, np.ndarray] = {}
    header = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "versions": {
            "nmlsdr": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "feature_names": None if feature_names is None else _names_out("feature_names", feature_names),
        "label_names": None if label_names is None else _names_out("label_names", label_names),
        "model": _node_out(estimator, arrays),
    }
    header["checksum"] = _checksum(header, arrays)
    text = np.frombuffer(_canonical(header), dtype=np.uint8)
    with replace_file(path, inputs=inputs) as file:
        write_arrays(file, {"header": text, **arrays})


def load_model(path: PathLike, *, max_bytes: int = 4 << 30) -> Any:
    """Read the estimator that `save_model` wrote.

    Parameters
    ----------
    path : str or path-like
        The model file.
    max_bytes : int, default=4 GiB
        A file that would unpack to more is refused.

    Returns
    -------
    estimator
        Fitted, as it was written.

    Raises
    ------
    ModelFileError
        The file is a pickle, damaged, of a newer format, holds a class that is not on the list, or is no model at all.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import os, pickle, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "model.npz")
    ...     with open(name, "wb") as file:
    ...         pickle.dump("not a model", file)
    ...     try:
    ...         load_model(name)
    ...     except ModelFileError as error:
    ...         print("looks like a pickle" in str(error))
    True
    """
    return open_model(path, max_bytes=max_bytes).estimator


def open_model(path: PathLike, *, max_bytes: int = 4 << 30) -> Model:
    """Read a model file with its names and versions; see `load_model`.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.preprocessing import StandardScaler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "model.npz")
    ...     save_model(name, StandardScaler().fit([[0.0], [2.0]]), feature_names=["height"])
    ...     model = open_model(name)
    >>> model.estimator, model.feature_names
    (StandardScaler(), ['height'])
    """
    name = os.fspath(path)
    try:
        header, arrays = _read(name, max_bytes)
        estimator = _node_in(header["model"], arrays)
        names = [header["feature_names"], header["label_names"]]
        for given in names:
            if given is not None:
                _text_list(given)
        versions = {str(key): str(value) for key, value in header["versions"].items()}
    except _Refused as error:
        raise ModelFileError(f"The model file {name!r} {error}") from None
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise ModelFileError(f"The model file {name!r} is damaged: its header is incomplete; make it again.") from None
    return Model(estimator, names[0], names[1], versions)


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def _node_out(estimator: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    kind: type = type(estimator)
    if kind is Pipeline:
        return {"class": "Pipeline", "steps": [[name, _node_out(step, arrays)] for name, step in estimator.steps]}
    name = kind.__name__
    if name not in _model_schema.table or kind is not _model_schema.class_of(name):
        raise ModelFileError(
            f"A {name} cannot be written to a model file, which holds only "
            + ", ".join(["Pipeline", *_model_schema.table])
            + "."
        )
    fitted = {}
    for attribute, field in _model_schema.table[name].items():
        value = getattr(estimator, attribute, None)
        if value is not None:
            fitted[attribute] = _value_out(f"{name}.{attribute}", value, field, arrays)
        elif not field.optional:
            raise ModelFileError(f"{name}.{attribute} is missing, so the estimator is not completely fitted; fit it.")
        elif hasattr(estimator, attribute):
            fitted[attribute] = None
    parameters = {
        key: _parameter_out(f"{name}({key}=...)", value) for key, value in estimator.get_params(deep=False).items()
    }
    return {"class": name, "parameters": parameters, "fitted": fitted}


def _parameter_out(what: str, value: Any) -> bool | int | float | str | None:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ModelFileError(
        f"{what} holds a {type(value).__name__}, and a model file holds only numbers, text and None as parameters; "
        "keep such an estimator in the program that made it."
    )


def _value_out(what: str, value: Any, field: _model_schema.Field, arrays: dict[str, np.ndarray]) -> Any:
    if field.kind == "names":
        return _names_out(what, value)
    if field.kind == "classes" and isinstance(value, list):
        return {"list": [_array_out(what, item, arrays) for item in value]}
    is_sparse: bool = sparse.issparse(value)  # named, or the type checker takes any sparse matrix for its base class
    if field.kind == "rows" and is_sparse:
        value = value if value.format == "csr" else value.tocsr()
        kind = "array" if isinstance(value, sparse.sparray) else "matrix"
        parts = [_array_out(what, part, arrays) for part in (value.data, value.indices, value.indptr)]
        return {"csr": kind, "shape": [int(size) for size in value.shape], "parts": parts}
    if field.kind in ("classes", "targets") and np.asarray(value).dtype.kind == "O":
        return {"objects": _names_out(what, value)}
    if field.kind in _ARRAYS or (field.kind == "number" and isinstance(value, np.generic)):
        return _array_out(what, value, arrays)
    return _parameter_out(what, value)


def _array_out(what: str, value: Any, arrays: dict[str, np.ndarray]) -> str:
    array = np.asarray(value)
    if array.dtype.kind not in _KINDS:
        raise ModelFileError(f"{what} holds {array.dtype}, and a model file holds only flags, numbers and text.")
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    name = f"a{len(arrays)}"
    arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    return name


def _names_out(what: str, names: Iterable[Any]) -> list[str]:
    names = list(names)
    if not all(isinstance(name, str) for name in names):
        raise ModelFileError(f"{what} must be text to be written to a model file; rename the columns.")
    return [str(name) for name in names]


def _canonical(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over the header without its checksum and every array's name, dtype, shape, order and bytes."""
    digest: Any = hashlib.sha256(_canonical({key: value for key, value in header.items() if key != "checksum"}))
    for name in sorted(arrays):
        array = arrays[name]
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        digest.update(f"\n{name} {array.dtype.str} {array.shape} {order}\n".encode())
        digest.update(np.frombuffer(array.tobytes(order="A"), np.uint8) if array.size else b"")
    return f"sha256:{digest.hexdigest()}"


# ---------------------------------------------------------------------------------------------------------------------
# Reading: nothing is believed before it is checked


def _read(name: str, max_bytes: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with open(name, "rb") as file:
        magic = file.read(4)
        if not magic:
            raise ModelFileError(f"The model file {name!r} is empty; make it again with `nmlsdr fit`.")
        if magic[:1] == b"\x80":
            raise ModelFileError(
                f"The file {name!r} looks like a pickle, which could run code when it is read, and is refused; "
                "write models with nmlsdr.model_file.save_model."
            )
        if magic != b"PK\x03\x04":
            raise ModelFileError(f"The file {name!r} is not a model file; make one with `nmlsdr fit`.")
        try:
            file.seek(0)
            with zipfile.ZipFile(file) as archive:
                members = {info.filename: info for info in archive.infolist()}
                if "header.npy" not in members:
                    raise ModelFileError(
                        f"The file {name!r} is an .npz file but not a model file; make one with `nmlsdr fit`."
                    )
                if {info.compress_type for info in members.values()} - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                    raise ValueError("unknown compression")
                if len(members) != len(archive.infolist()):
                    raise ModelFileError(f"The model file {name!r} is damaged: a member is there twice; make it again.")
                if sum(info.file_size for info in members.values()) > max_bytes:
                    raise ModelFileError(
                        f"The model file {name!r} unpacks to more than {max_bytes} bytes; raise max_bytes to read it."
                    )
                if members["header.npy"].file_size > _HEADER_BYTES:
                    raise ModelFileError(f"The model file {name!r} is damaged: its header is too long.")
                header = _header_in(name, _member(archive, members.pop("header.npy")))
                arrays = {key.removesuffix(".npy"): _member(archive, info) for key, info in members.items()}
        except ModelFileError:
            raise
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError, KeyError) as error:
            # zipfile says RuntimeError for an encrypted member and OSError for an offset before the file.
            raise ModelFileError(f"The model file {name!r} is damaged ({_first_line(error)}); make it again.") from None
    if header.get("checksum") != _checksum(header, arrays):
        raise ModelFileError(f"The model file {name!r} is damaged: its checksum does not match; make it again.")
    return header, arrays


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Read one array; its declared size must be the member's before memory is taken for it."""
    with archive.open(info) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{info.filename} has an unknown array format")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.kind not in _KINDS:
            raise ValueError(f"{info.filename} holds {dtype}")
        if file.tell() + math.prod(shape) * dtype.itemsize != info.file_size or any(size < 0 for size in shape):
            raise ValueError(f"{info.filename} has another size than it says")
    with archive.open(info) as file:
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _header_in(name: str, text: np.ndarray) -> dict[str, Any]:
    try:
        header = json.loads(text.tobytes().decode("ascii"), parse_constant=_refuse_constant)
        if text.dtype != np.uint8 or not isinstance(header, dict) or header.get("format") != _FORMAT:
            raise ValueError
    except (ValueError, RecursionError):
        raise ModelFileError(f"The file {name!r} is not a model file; make one with `nmlsdr fit`.") from None
    version = header.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"The model file {name!r} is damaged: it has no format version; make it again.")
    if version > _FORMAT_VERSION:
        raise ModelFileError(
            f"The model file {name!r} has format {version} and nmlsdr {__version__} reads up to format "
            f"{_FORMAT_VERSION}; install a newer nmlsdr."
        )
    return header


def _refuse_constant(text: str) -> None:
    raise ValueError(text)


def _node_in(node: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    name = node["class"]
    if name == "Pipeline":
        steps = node["steps"]
        names = [step for step, _ in steps]
        if not steps or len(set(_text_list(names))) != len(names):
            raise _Refused("is damaged: a pipeline's steps have no names of their own; make it again.")
        return Pipeline([(step, _node_in(inner, arrays)) for step, inner in steps])
    if not isinstance(name, str) or name not in _model_schema.table:
        raise _Refused(f"holds the class {name!r}, which nmlsdr {__version__} does not read; do not trust it.")
    parameters = node["parameters"]
    if not all(value is None or isinstance(value, bool | int | float | str) for value in parameters.values()):
        raise _Refused(f"is damaged: {name} has a parameter that is not a number or text; make it again.")
    estimator: BaseEstimator = _model_schema.class_of(name)()
    unknown = sorted(set(parameters) - set(estimator.get_params(deep=False)))
    unknown += sorted(set(node["fitted"]) - set(_model_schema.table[name]))
    if unknown:
        raise _Refused(
            f"holds {name}.{unknown[0]}, which nmlsdr {__version__} does not know; install a newer nmlsdr."
        )
    estimator.set_params(**parameters)
    letters: dict[str, int] = {}
    for attribute, field in _model_schema.table[name].items():
        if attribute in node["fitted"]:
            value = None
            if not field.optional or node["fitted"][attribute] is not None:
                value = _value_in(node["fitted"][attribute], field, arrays)
                _bind(f"{name}.{attribute}", value, field, letters)
            setattr(estimator, attribute, value)
        elif not field.optional:
            raise _Refused(f"is damaged: {name}.{attribute} is missing; make it again.")
    return estimator


def _value_in(stored: Any, field: _model_schema.Field, arrays: Mapping[str, np.ndarray]) -> Any:
    if field.kind == "names":
        return np.array(_text_list(stored), dtype=object)
    if field.kind == "classes" and isinstance(stored, dict) and "list" in stored:
        return [arrays[name] for name in stored["list"]]
    if field.kind == "rows" and isinstance(stored, dict):
        make = {"array": sparse.csr_array, "matrix": sparse.csr_matrix}[stored["csr"]]
        data, indices, indptr = (arrays[name] for name in stored["parts"])
        matrix = make((data, indices, indptr), shape=tuple(stored["shape"]))
        matrix.check_format(full_check=True)
        return check_rows(matrix)  # searches take the rows of a fitted model as they are
    if field.kind in ("classes", "targets") and isinstance(stored, dict):
        return np.array(_text_list(stored["objects"]), dtype=object)
    if field.kind in _ARRAYS or (field.kind == "number" and isinstance(stored, str)):
        array = arrays[stored]
        if array.dtype.kind == "U" and field.kind not in ("classes", "targets"):
            raise TypeError(stored)
        if field.kind == "rows":
            return check_rows(array)
        return array[()] if array.ndim == 0 else array
    expected: Any = {"count": int, "number": int | float, "text": str}[field.kind]
    if not isinstance(stored, expected) or (field.kind == "count" and (isinstance(stored, bool) or stored < 0)):
        raise TypeError(stored)
    return stored


def _bind(what: str, value: Any, field: _model_schema.Field, letters: dict[str, int]) -> None:
    """Hold an attribute's sizes against those of the attributes before it."""
    if field.kind == "count":
        sizes: tuple[int, ...] = (value,) if field.shape else ()
    elif field.kind in ("names", "classes"):
        sizes = (len(value),)
    else:
        sizes = tuple(getattr(value, "shape", ()))
    agrees = len(sizes) == len(field.shape) or (field.kind == "targets" and len(sizes) == 1)
    for letter, size in zip(field.shape, sizes, strict=False):
        more = letter.endswith("+1")
        agrees = agrees and letters.setdefault(letter.removesuffix("+1"), size - more) == size - more
    if not agrees:
        raise _Refused(f"is damaged: {what} has shape {sizes} where the others need {_expected(field, letters)}.")


def _expected(field: _model_schema.Field, letters: Mapping[str, int]) -> str:
    sizes = [str(letters.get(letter.removesuffix("+1"), letter)) + letter[1:] for letter in field.shape]
    return "(" + ", ".join(sizes) + ")"


def _text_list(names: Any) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(names)
    return names
