"""From a model file to header and arrays, and from these to an estimator: nothing is believed before it is checked."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from .._npy import NpyError, read_npy
from .._validation import check_rows
from .._version import __version__
from .checking import bind, check_belonging, check_parameters, check_steps, check_values
from .form import ARRAYS, FORMAT, FORMAT_VERSION, KINDS, ModelFileError, Refused, checksum
from .preparing import columns_in, refit
from .schema import SEQUENCES, Field, class_of, table

__all__ = ["node_in", "read_file", "text_list"]

_HEADER_BYTES = 64 << 20  # a million names of features fit


def read_file(name: str, max_bytes: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays of a file that is whole; nothing of it is believed yet."""
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
                if {info.compress_type for info in members.values()} - {zipfile.ZIP_STORED}:
                    raise ValueError("its members are packed, which nmlsdr never does")
                if len(members) != len(archive.infolist()):
                    raise ModelFileError(f"The model file {name!r} is damaged: a member is there twice; make it again.")
                n_bytes = sum(info.file_size for info in members.values())
                if n_bytes > os.fstat(file.fileno()).st_size:
                    raise ValueError("its members overlap")
                if n_bytes > max_bytes:
                    raise ModelFileError(
                        f"The model file {name!r} unpacks to more than {max_bytes} bytes; raise max_bytes to read it."
                    )
                if members["header.npy"].file_size > _HEADER_BYTES:
                    raise ModelFileError(f"The model file {name!r} is damaged: its header is too long.")
                header = _header_in(name, _member(archive, members.pop("header.npy")))
                arrays = {key.removesuffix(".npy"): _member(archive, info) for key, info in members.items()}
        except ModelFileError:
            raise
        except MemoryError:
            raise
        except Exception as error:  # zipfile's are of many kinds: RuntimeError, NotImplementedError, struct.error ...
            raise ModelFileError(f"The model file {name!r} is damaged ({_first_line(error)}); make it again.") from None
    if header.get("checksum") != checksum(header, arrays):
        raise ModelFileError(f"The model file {name!r} is damaged: its checksum does not match; make it again.")
    return header, arrays


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Read one array."""
    with archive.open(info) as file:
        array = read_npy(file, info.filename, info.file_size)
    if array.dtype.kind not in KINDS:
        raise NpyError(f"{info.filename} holds {array.dtype}")
    return array


def _header_in(name: str, text: np.ndarray) -> dict[str, Any]:
    try:
        header = json.loads(text.tobytes().decode("ascii"), parse_constant=_refuse_constant)
        if text.dtype != np.uint8 or not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValueError
        json.dumps(header, ensure_ascii=False).encode()  # half of a pair of code points is nothing that can be printed
    except (ValueError, RecursionError):
        raise ModelFileError(f"The file {name!r} is not a model file; make one with `nmlsdr fit`.") from None
    version = header.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"The model file {name!r} is damaged: it has no format version; make it again.")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"The model file {name!r} has format {version} and nmlsdr {__version__} reads up to format "
            f"{FORMAT_VERSION}; install a newer nmlsdr."
        )
    return header


def _refuse_constant(text: str) -> None:
    raise ValueError(text)


def _is_plain(key: str, value: Any) -> bool:
    """Whether a parameter is a number, text or None, or several of them where that is allowed."""
    several = value if key in SEQUENCES and isinstance(value, list) else [value]
    return all(one is None or isinstance(one, bool | int | float | str) for one in several)


def node_in(node: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the estimator that a header's entry describes; `Refused` if any part of it is not as ``fit`` makes it."""
    name = node["class"]
    if name == "Pipeline":
        steps = node["steps"]
        names = [step for step, _ in steps]
        if not steps or len(set(text_list(names))) != len(names):
            raise Refused("is damaged: a pipeline's steps have no names of their own; make it again.")
        pipeline = Pipeline([(step, node_in(inner, arrays)) for step, inner in steps])
        check_steps(pipeline)
        return pipeline
    if not isinstance(name, str) or name not in table:
        raise Refused(f"holds the class {name!r}, which nmlsdr {__version__} does not read; do not trust it.")
    parameters = dict(node["parameters"])
    if not all(_is_plain(key, value) for key, value in parameters.items()):
        raise Refused(f"is damaged: {name} has a parameter that is not a number or text; make it again.")
    estimator: Any = class_of(name)(*[[]] * (name == "ColumnTransformer"))
    unknown = sorted(set(parameters) - set(estimator.get_params(deep=False)))
    unknown += sorted(set(node["fitted"]) - set(table[name]))
    if unknown:
        raise Refused(
            f"holds {name}.{unknown[0]}, which nmlsdr {__version__} does not know; install a newer nmlsdr."
        )
    check_parameters(name, parameters)
    estimator.set_params(**{key: tuple(v) if isinstance(v, list) else v for key, v in parameters.items()})
    letters: dict[str, int] = {}
    for attribute, field in table[name].items():
        if attribute in node["fitted"]:
            value = None
            if not field.optional or node["fitted"][attribute] is not None:
                value = _value_in(node["fitted"][attribute], field, arrays)
                bind(f"{name}.{attribute}", value, field, letters)
                check_values(f"{name}.{attribute}", value, field)
            setattr(estimator, attribute, value)
        elif not field.optional:
            raise Refused(f"is damaged: {name}.{attribute} is missing; make it again.")
    check_belonging(name, estimator, letters)
    refit(name, estimator)
    if name == "ColumnTransformer":
        columns_in(node, estimator, lambda inner: node_in(inner, arrays))
    return estimator


def _value_in(stored: Any, field: Field, arrays: Mapping[str, np.ndarray]) -> Any:
    if field.kind == "names":
        return np.array(text_list(stored), dtype=object)
    if field.kind == "classes" and isinstance(stored, dict) and "list" in stored:
        return [arrays[name] for name in stored["list"]]
    if field.kind == "rows" and isinstance(stored, dict):
        make = {"array": sparse.csr_array, "matrix": sparse.csr_matrix}[stored["csr"]]
        data, indices, indptr = (arrays[name] for name in stored["parts"])
        matrix = make((data, indices, indptr), shape=tuple(stored["shape"]))
        return check_rows(matrix)  # searches take the rows of a fitted model as they are
    if field.kind in ("classes", "targets") and isinstance(stored, dict):
        return np.array(text_list(stored["objects"]), dtype=object)
    if field.kind == "categories":
        return [_numbers_or_text(one, arrays) for one in stored["list"]]
    if field.kind == "values":
        return _numbers_or_text(stored, arrays)
    if field.kind in ARRAYS or (field.kind == "number" and isinstance(stored, str)):
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


def _numbers_or_text(stored: Any, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return an array of numbers or text, or of Python's where it says that they were objects."""
    if not isinstance(stored, dict):
        return arrays[stored]
    array = arrays[stored["objects"]]
    if array.dtype.kind not in "iufU" or array.ndim != 1:
        raise TypeError(stored)
    return array.astype(object)


def text_list(names: Any) -> list[str]:
    """Return names if they are a list of text."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(names)
    return names
