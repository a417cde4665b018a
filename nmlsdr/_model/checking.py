"""The checks of what a model file holds: shapes that agree, dtypes, order, ranges, and trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.tree._tree import Tree

from .._errors import InputError
from .schema import PARAMETERS, Field, Refused

__all__ = ["check_names", "check_parameter", "check_value", "make_tree"]

_PLAIN = (bool, int, float, str, type(None))


def check_parameter(name: str, key: str, value: Any) -> None:
    """Refuse a parameter that is no plain value, or that a prediction would stumble over."""
    if any(type(one) not in _PLAIN for one in (value if type(value) is tuple else [value])):
        raise Refused(f"{name}({key}=...) is no number or text")
    try:
        (PARAMETERS.get(f"{name}.{key}") or PARAMETERS.get(key, bool))(value)
    except InputError as error:
        raise Refused(f"{name}({key}={value!r}) cannot be used: {str(error).rstrip('.')}") from None


def check_value(what: str, value: Any, field: Field, letters: dict[str, int]) -> None:
    """Refuse an attribute whose type, shape, dtype, order or range is not what ``fit`` gives."""
    _TYPES[field.kind](what, value, field)
    if field.kind == "count":
        sizes: tuple[int, ...] = (value,) if field.shape else ()
    else:
        sizes = (len(value),) if isinstance(value, list) else getattr(value, "shape", ())
    expected = field.shape.split()
    agrees = len(sizes) == len(expected) or (field.kind == "targets" and len(sizes) == 1)
    for letter, size in zip(expected, sizes, strict=False):
        more = letter.endswith("+1")
        agrees = agrees and letters.setdefault(letter.removesuffix("+1"), size - more) == size - more
    if not 1 <= letters.get("k", 1) <= letters.get("n", np.inf):
        raise Refused(f"n_neighbors_ is {letters['k']} with {letters.get('n')} training rows")
    if not agrees:
        needed = ", ".join(str(letters.get(one.removesuffix("+1"), one)) + one[1:] for one in expected)
        raise Refused(f"{what} has shape {sizes} where the others need ({needed})")


def _check_type(*kinds: type) -> Any:
    def check(what: str, value: Any, field: Field) -> None:
        if type(value) not in kinds or (type(value) is int and value < 0):
            raise Refused(f"{what} cannot be this value of the type {type(value).__name__}")

    return check


def _check_number(what: str, value: Any, field: Field) -> None:
    _check_type(int, float, np.int64, np.float64)(what, value, field)
    _check_range(what, np.asarray(value, dtype=np.float64), field)


def _check_array(what: str, array: Any, field: Field) -> None:
    _check_type(np.ndarray)(what, array, field)
    if array.dtype.name not in field.dtypes or not array.dtype.isnative:
        raise Refused(f"{what} holds {array.dtype.str}, not {' or '.join(field.dtypes)}")
    if field.in_order and not array.flags.c_contiguous:
        raise Refused(f"{what} is not in C order")
    _check_range(what, array, field)


def _check_range(what: str, array: np.ndarray, field: Field) -> None:
    if field.infinite:
        array = array[array != np.inf]
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise Refused(f"{what} holds a value that is not finite")
    lowest, highest = (float(array.min()), float(array.max())) if array.size else (field.low, field.high)
    if lowest < field.low or highest > field.high:
        wrong = lowest if lowest < field.low else highest
        raise Refused(f"{what} holds {wrong}, which lies outside {field.low:g} to {field.high:g}")


def _check_column(what: str, column: Any, kinds: str = "biufUO") -> None:
    """Refuse what is no list of finite numbers or of text; NaN may say that there is none."""
    right = isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in kinds
    if not right or not column.dtype.isnative:
        raise Refused(f"{what} must be one list of numbers or text")
    items = column.tolist()
    if len({isinstance(one, str) for one in items}) > 1 or not all(isinstance(one, str | int | float) for one in items):
        raise Refused(f"{what} holds objects that are neither all numbers nor all text")
    if any(one in (np.inf, -np.inf) for one in items):
        raise Refused(f"{what} holds a value that is not finite")
    if column.dtype.kind == "U":
        "".join(items).encode()  # fails on halves of pairs of code points, which nothing can print


def _check_classes(what: str, value: Any, field: Field) -> None:
    if not isinstance(value, list):
        _check_column(what, value)
    elif not all(isinstance(found, np.ndarray) and found.tolist() == [0, 1] for found in value):
        raise Refused(f"{what} must be 0 and 1 for every label")


def _check_targets(what: str, value: Any, field: Field) -> None:
    if getattr(value, "ndim", 0) == 2:
        _check_array(what, value, field._replace(low=0.0, high=1.0, dtypes=("int64", "int32")))
    else:
        _check_column(what, value)


def _check_categories(what: str, value: Any, field: Field) -> None:
    _check_type(list)(what, value, field)
    for column in value:
        _check_column(what, column)
        if not len(column) or not (column[:-1] < column[1:]).all():  # else the encoder writes outside of its columns
            raise Refused(f"{what} are not in increasing order (NaN has none; impute it first)")


_TYPES: dict[str, Callable[[str, Any, Field], None]] = {
    "count": _check_type(int),
    "flag": _check_type(bool),
    "number": _check_number,
    "text": _check_type(str),
    "array": _check_array,
    "rows": lambda what, value, field: None,  # `check_rows` has made them what kernels take
    "names": lambda what, value, field: _check_column(what, value, "O"),
    "classes": _check_classes,
    "targets": _check_targets,
    "values": lambda what, value, field: _check_column(what, value, "fO"),
    "categories": _check_categories,
}


def check_names(estimator: Any, feature_names: list[str] | None, label_names: list[str] | None) -> None:
    """Refuse names of another number than the columns they stand for, and a name that stands for two."""
    last = estimator
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    n_labels = len(last.classes_) if hasattr(last, "classes_") else None
    for what, names, size in (
        ("feature_names", feature_names, estimator.n_features_in_),
        ("label_names", label_names, n_labels),
    ):
        if names is not None and len(set(names)) < len(names):
            raise Refused(f"a name stands twice in its {what}")
        if names is not None and size is not None and len(names) != size:
            raise Refused(f"it has {len(names)} {what} for {size} columns")


def make_tree(what: str, stored: Any, n_features: int, n_outputs: int) -> Tree:
    """Return a regression tree of scikit-learn, which follows the numbers of nodes without looking where they lead.

    Every node but the first is the child of one node before it, so that each row reaches a leaf.
    """
    nodes, values, depth = stored["nodes"], stored["values"], stored["max_depth"]
    if nodes.ndim != 1 or not len(nodes) or values.shape != (len(nodes), n_outputs, 1) or type(depth) is not int:
        raise Refused(f"{what} has nodes of the shape {nodes.shape} and values of the shape {values.shape}")
    inner = np.flatnonzero(nodes["left_child"] != -1)
    left, right, feature = (nodes[key][inner] for key in ("left_child", "right_child", "feature"))
    each_once = np.array_equal(np.sort(np.concatenate([left, right])), np.arange(1, len(nodes)))
    if not each_once or (left <= inner).any() or (right <= inner).any():
        raise Refused(f"{what} has a node that is not the child of one node before it")
    if feature.min(initial=0) < 0 or feature.max(initial=0) >= n_features:
        raise Refused(f"{what} asks for a feature beyond the {n_features} of its rows")
    _check_range(f"{what}.values", values, Field("array"))
    _check_range(f"{what}.threshold", nodes["threshold"], Field("array"))
    level, found = np.zeros(1, dtype=np.intp), 0
    while len(level := level[nodes["left_child"][level] != -1]):
        level, found = np.concatenate([nodes["left_child"][level], nodes["right_child"][level]]), found + 1
    if depth != found:
        raise Refused(f"{what} says that it is {depth} deep and is {found}")
    tree = Tree(n_features, np.ones(n_outputs, dtype=np.intp), n_outputs)
    tree.__setstate__({"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree
