"""From a fitted estimator to what a model file keeps of it: parameters and the attributes that `schema.table` lists.

skops would pack a sparse matrix, and write an object array as one part of the schema for each of its items. `encode`
gives dictionaries of plain arrays and text for these, and for the learners of a trend.
"""

import datetime
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from .._estimators._learner import Learner
from .._output import versions
from .reading import FORMAT, check_plan, revived
from .rows import answers, sample_rows
from .schema import Refused, check_names, full_name, innermost, table

Names = Iterable[str] | None


def content_out(estimator: Any, feature_names: Names, label_names: Names, fitted: Any, plan: Any) -> Any:
    """Return what is written of a model, after the checks that reading makes; names default to those that it saw."""
    parts = kept_parts(estimator)
    back = revived(parts)
    names = _names(feature_names, estimator, "feature_names_in_", 0)
    labels = _names(label_names, estimator, "label_names_in_", -1)
    check_names(back, names, labels)
    if plan is not None:
        check_plan(plan, names)
    rows = sample_rows(back)
    return {
        "format": FORMAT,
        "versions": versions(),
        "date": datetime.date.today().isoformat(),
        "fitted": fitted,
        "plan": encode(plan),
        "feature_names": None if names is None else encode(np.array(names, dtype=object)),
        "label_names": None if labels is None else encode(np.array(labels, dtype=object)),
        "rows": encode(rows),
        "answers": encode(answers(back, rows)),
        "model": parts,
    }


def _names(names: Names, estimator: Any, attribute: str, step: int) -> list[str] | None:
    """Return names as a list; None: those that an estimator, or this step of a pipeline, saw at ``fit``."""
    names = getattr(innermost(estimator, step), attribute, None) if names is None else names
    return None if names is None else list(names)


def kept_parts(estimator: Any) -> Any:
    """Return an estimator of the same class that has only what is written, each value in the form of `encode`."""
    if hasattr(estimator, "to_local"):  # fitted on several machines: written as the plain class with the same answers
        estimator = estimator.to_local()
    kind = type(estimator)
    name = kind.__name__
    if kind is not Pipeline and full_name(kind) not in table:
        known = ", ".join(["Pipeline", *(class_name.rpartition(".")[2] for class_name in table)])
        known = known.replace("TableEncoder", "TableEncoder (of nmlsdr.tables, for raw columns)").replace(
            "TableScaler", "TableScaler (of nmlsdr.tables)"
        )
        raise Refused(f"it is a {name}, and a model file holds only {known}")
    parts: Any = object.__new__(kind)
    if kind is Pipeline:
        vars(parts)["steps"] = [(step, kept_parts(inner)) for step, inner in estimator.steps]
        return parts
    for key, value in estimator.get_params(deep=False).items():
        vars(parts)[key] = _parameter(f"{name}({key}=...)", value)
    for attribute in table[full_name(kind)]:
        if attribute in vars(estimator):
            vars(parts)[attribute] = encode(getattr(estimator, attribute))
    return parts


def _parameter(name: str, value: Any) -> Any:
    if isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1:
        return tuple(_parameter(name, item) for item in value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise Refused(
        f"{name} holds a {type(value).__name__}, and a model file holds only numbers, text and None as parameters; "
        "keep such an estimator in the program that made it"
    )


def encode(value: Any) -> Any:
    """Return a value, or what stands for it: nothing in it is shared, packed, a view, or an array of objects."""
    if sparse.issparse(value):
        rows = value.tocsr()
        kind = "array" if isinstance(rows, sparse.sparray) else "matrix"
        parts = [np.ascontiguousarray(part) for part in (rows.data, rows.indices, rows.indptr)]
        return {"csr": kind, "shape": [int(size) for size in rows.shape], "parts": parts}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, Learner):
        return {"learner": value.name, **{name: encode(array) for name, array in value.arrays().items()}}
    if hasattr(value, "to_json"):
        return {"plan": value.to_json()}
    return kept_parts(value) if hasattr(value, "get_params") else value


def _encode_array(array: np.ndarray) -> Any:
    """The array, native and contiguous; objects as text."""
    if array.dtype.kind == "O":
        return {"objects": _text(array.ravel().tolist()), "shape": list(array.shape)}
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.c_contiguous or array.flags.f_contiguous else np.ascontiguousarray(array)


def _text(values: list[Any]) -> str:
    def plain(item: Any) -> Any:
        if isinstance(item, np.generic):
            return item.item()
        raise Refused(f"it holds objects of the type {type(item).__name__}, and a model file only numbers and text")

    text = json.dumps(values, default=plain, ensure_ascii=False)
    text.encode()
    return text
