"""From a fitted estimator to the header and the arrays of a model file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from .checking import wrong_parameter
from .form import ARRAYS, KINDS, ModelFileError
from .preparing import columns_out
from .schema import SEQUENCES, Field, class_of, table

__all__ = ["names_out", "node_out"]


def node_out(estimator: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the header's entry of an estimator; its arrays are added to `arrays`."""
    kind: type = type(estimator)
    if kind is Pipeline:
        return {"class": "Pipeline", "steps": [[name, node_out(step, arrays)] for name, step in estimator.steps]}
    name = kind.__name__
    if name not in table or kind is not class_of(name):
        raise ModelFileError(
            f"A {name} cannot be written to a model file, which holds only "
            + ", ".join(["Pipeline", *table])
            + "."
        )
    fitted = {}
    for attribute, field in table[name].items():
        value = getattr(estimator, attribute, None)
        if value is not None:
            fitted[attribute] = _value_out(f"{name}.{attribute}", value, field, arrays)
        elif not field.optional:
            raise ModelFileError(f"{name}.{attribute} is missing, so the estimator is not completely fitted; fit it.")
        elif hasattr(estimator, attribute):
            fitted[attribute] = None
    parameters = {}
    parts: dict[str, Any] = {}
    given = estimator.get_params(deep=False)
    if name == "ColumnTransformer":
        parts = columns_out(estimator, lambda step: node_out(step, arrays))
        given = {key: value for key, value in given.items() if key not in ("transformers", "force_int_remainder_cols")}
    defaults = signature(kind).parameters
    for key, value in given.items():
        if value is defaults[key].default and (isinstance(value, type) or value != value):
            continue  # NaN or a dtype, which no header holds: the class has it again
        several = key in SEQUENCES and np.ndim(value) == 1
        what = f"{name}({key}=...)"
        parameters[key] = [_parameter_out(what, one) for one in value] if several else _parameter_out(what, value)
    wrong = wrong_parameter(name, parameters)
    if wrong is not None:
        raise ModelFileError(f"{wrong} to be written to a model file; fit it so.")
    return {"class": name, "parameters": parameters, "fitted": fitted, **parts}


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


def _value_out(what: str, value: Any, field: Field, arrays: dict[str, np.ndarray]) -> Any:
    if field.kind == "names":
        return names_out(what, value)
    if field.kind == "classes" and isinstance(value, list):
        return {"list": [_array_out(what, item, arrays) for item in value]}
    is_sparse: bool = sparse.issparse(value)  # named, or the type checker takes any sparse matrix for its base class
    if field.kind == "rows" and is_sparse:
        value = value if value.format == "csr" else value.tocsr()
        kind = "array" if isinstance(value, sparse.sparray) else "matrix"
        parts = [_array_out(what, part, arrays) for part in (value.data, value.indices, value.indptr)]
        return {"csr": kind, "shape": [int(size) for size in value.shape], "parts": parts}
    if field.kind == "categories":
        return {"list": [_numbers_or_text(what, column, arrays) for column in value]}
    if field.kind == "values":
        return _numbers_or_text(what, value, arrays)
    if field.kind in ("classes", "targets") and np.asarray(value).dtype.kind == "O":
        return {"objects": names_out(what, value)}
    if field.kind in ARRAYS or (field.kind == "number" and isinstance(value, np.generic)):
        return _array_out(what, value, arrays)
    return _parameter_out(what, value)


def _numbers_or_text(what: str, value: np.ndarray, arrays: dict[str, np.ndarray]) -> Any:
    """Write an array of numbers or text; objects as the numbers or characters that they are, which need no pickle."""
    if what.endswith("categories_") and any(one != one for one in value.tolist()):
        raise ModelFileError(f"{what} holds NaN, and a model file holds only finite categories; impute before.")
    if value.dtype.kind != "O":
        return _array_out(what, value, arrays)
    plain = np.array(value.tolist())
    pairs = zip(plain.tolist(), value.tolist(), strict=True)
    if plain.dtype.kind not in "iufU" or not all(a == b or (a != a and b != b) for a, b in pairs):
        raise ModelFileError(
            f"{what} holds objects that are neither all numbers nor all text (without NUL at an end), and a model file "
            "holds only such; convert the column."
        )
    return {"objects": _array_out(what, plain, arrays)}


def _array_out(what: str, value: Any, arrays: dict[str, np.ndarray]) -> str:
    array = np.asarray(value)
    if array.dtype.kind not in KINDS:
        raise ModelFileError(f"{what} holds {array.dtype}, and a model file holds only flags, numbers and text.")
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    name = f"a{len(arrays)}"
    arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    return name


def names_out(what: str, names: Iterable[Any]) -> list[str]:
    """Return names as a list of text."""
    names = list(names)
    if not all(isinstance(name, str) for name in names):
        raise ModelFileError(f"{what} must be text to be written to a model file; rename the columns.")
    return [str(name) for name in names]
