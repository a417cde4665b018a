"""The checks of what a model file holds: shapes that agree, dtypes, order, ranges, names, and trees."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.tree._tree import Tree

from .schema import Field, Refused

_TYPES = {"count": (int,), "flag": (bool,), "number": (int, float, np.int64, np.float64), "text": (str,),
          "array": (np.ndarray,), "categories": (list,)}  # fmt: skip


def check_value(what: str, value: Any, field: Field, letters: dict[str, int]) -> None:
    """Refuse an attribute whose type, shape, dtype, order or range is not what ``fit`` gives."""
    kind, expected = field.kind, field.shape.split()
    if (kind in _TYPES and type(value) not in _TYPES[kind]) or (type(value) is int and value < 0):
        raise Refused(f"{what} cannot be this value of the type {type(value).__name__}")
    if kind == "number":
        _check_range(what, np.asarray(value, dtype=np.float64), field)
    elif kind == "array" or (kind == "targets" and isinstance(value, np.ndarray) and value.ndim == 2):
        _check_array(what, value, field)
    elif kind == "categories":
        for column in value:
            _check_column(what, column)
            if not len(column) or not (column[:-1] < column[1:]).all():  # the encoder would write outside its columns
                raise Refused(f"{what} are not in increasing order (NaN has none; impute it first)")
    elif kind == "classes" and isinstance(value, list):
        if not all(isinstance(found, np.ndarray) and found.tolist() == [0, 1] for found in value):
            raise Refused(f"{what} must be 0 and 1 for every label")
    elif kind in ("column", "classes", "targets"):
        _check_column(what, value, field.dtypes if kind == "column" else "biufUO")

    sizes: tuple[int, ...] = (len(value),) if isinstance(value, list) else getattr(value, "shape", ())
    if kind == "count" and expected:
        sizes = (value,)
    agrees = len(sizes) == len(expected) or (kind == "targets" and len(sizes) == 1)
    for letter, size in zip(expected, sizes, strict=False):
        more = letter.endswith("+1")
        agrees = agrees and letters.setdefault(letter.removesuffix("+1"), size - more) == size - more
    if not 1 <= letters.get("k", 1) <= letters.get("n", np.inf):
        raise Refused(f"n_neighbors_ is {letters['k']} with {letters.get('n')} training rows")
    if not agrees:
        needed = ", ".join(str(letters.get(one.removesuffix("+1"), one)) + one[1:] for one in expected)
        raise Refused(f"{what} has shape {sizes} where the others need ({needed})")


def _check_array(what: str, array: np.ndarray, field: Field) -> None:
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


def _check_column(what: str, column: Any, kinds: Any = "biufUO") -> None:
    """Refuse what is no list of finite numbers or of text; NaN is accepted, as it stands for a missing value."""
    right = isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in kinds
    if not right or not column.dtype.isnative:
        raise Refused(f"{what} must be one list of numbers or text")
    items = column.tolist()
    if len({isinstance(one, str) for one in items}) > 1 or not all(isinstance(one, str | int | float) for one in items):
        raise Refused(f"{what} holds objects that are neither all numbers nor all text")
    if any(one in (np.inf, -np.inf) for one in items):
        raise Refused(f"{what} holds a value that is not finite")
    if column.dtype.kind == "U":
        "".join(items).encode()  # fails for half of a surrogate pair, which cannot be printed


def check_names(estimator: Any, feature_names: Any, label_names: Any) -> None:
    """Refuse names that are no text, are not unique, or do not match the number of columns."""
    last = estimator
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    n_labels = len(last.classes_) if hasattr(last, "classes_") else None
    for what, names, size in (
        ("feature_names", feature_names, estimator.n_features_in_),
        ("label_names", label_names, n_labels),
    ):
        if names is None:
            continue
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Refused("names of features and labels must be text; rename the columns")
        "".join(names).encode()  # as above
        if len(set(names)) < len(names):
            raise Refused(f"a name appears twice in its {what}")
        if size is not None and len(names) != size:
            raise Refused(f"it has {len(names)} {what} for {size} columns")


def make_tree(what: str, stored: Any, n_features: int, n_outputs: int) -> Tree:
    """Return a regression tree of scikit-learn, which follows the numbers of nodes without checking them.

    Every node but the first is the child of exactly one node before it, so that each row reaches a leaf.
    """
    nodes, values = stored["nodes"], stored["values"]
    if nodes.ndim != 1 or not len(nodes) or values.shape != (len(nodes), n_outputs, 1):
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
    level, depth = np.zeros(1, dtype=np.intp), 0
    while len(level := level[nodes["left_child"][level] != -1]):
        level, depth = np.concatenate([nodes["left_child"][level], nodes["right_child"][level]]), depth + 1
    tree = Tree(n_features, np.ones(n_outputs, dtype=np.intp), n_outputs)
    tree.__setstate__({"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree
