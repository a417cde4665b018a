"""Hold what a model file says against the schema: shapes that agree, dtypes, order, ranges, and what belongs together.

Whoever forges a file can give it a right checksum, so nothing is believed because it is undamaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from .form import Refused
from .schema import PARAMETERS, Field

__all__ = [
    "bind",
    "check_belonging",
    "check_names",
    "check_parameters",
    "check_steps",
    "check_values",
    "n_labels",
    "width",
    "wrong_parameter",
]

_ANYTHING = (lambda value: True, "")  # what only `fit` reads
_NEEDS = (  # parameter that is true -> attribute that is there
    ("with_mean", "mean_"),
    ("with_std", "scale_"),
    ("with_centering", "center_"),
    ("with_scaling", "scale_"),
    ("use_idf", "idf_"),
)


def wrong_parameter(name: str, parameters: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the first parameter that is not what it may be, or None."""
    for parameter, value in parameters.items():
        allowed, words = PARAMETERS.get(f"{name}.{parameter}") or PARAMETERS.get(parameter) or _ANYTHING
        if not allowed(value):
            return f"{name}({parameter}={value!r}) must be {words}"
    return None


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter that a prediction would stumble over."""
    wrong = wrong_parameter(name, parameters)
    if wrong is not None:
        raise Refused(f"is forged: {wrong}; do not trust it.")


def bind(what: str, value: Any, field: Field, letters: dict[str, int]) -> None:
    """Hold an attribute's sizes against those of the attributes before it."""
    if field.kind == "count":
        sizes: tuple[int, ...] = (value,) if field.shape else ()
    elif field.kind in ("names", "classes", "categories"):
        sizes = (len(value),)
    else:
        sizes = tuple(getattr(value, "shape", ()))
    agrees = len(sizes) == len(field.shape) or (field.kind == "targets" and len(sizes) == 1)
    for letter, size in zip(field.shape, sizes, strict=False):
        more = letter.endswith("+1")
        agrees = agrees and letters.setdefault(letter.removesuffix("+1"), size - more) == size - more
    if not agrees:
        raise Refused(f"is damaged: {what} has shape {sizes} where the others need {_expected(field, letters)}.")


def _expected(field: Field, letters: Mapping[str, int]) -> str:
    sizes = [str(letters.get(letter.removesuffix("+1"), letter)) + letter[1:] for letter in field.shape]
    return "(" + ", ".join(sizes) + ")"


def check_values(what: str, value: Any, field: Field) -> None:
    """Refuse an attribute whose dtype, order or range is not what ``fit`` gives."""
    if field.kind == "classes":
        _check_classes(what, value)
    elif field.kind == "values":
        _check_filling(what, value)
    elif field.kind == "categories":
        for column in value:
            _check_categories(what, column)
    elif field.kind == "array" or (field.kind == "number" and isinstance(value, np.generic)):
        array = np.asarray(value)
        if array.dtype.name not in field.dtypes or not array.dtype.isnative:
            raise Refused(f"is forged: {what} holds {array.dtype.str}, not {' or '.join(field.dtypes)}.")
        if field.in_order and not array.flags.c_contiguous:
            raise Refused(f"is forged: {what} is not in C order.")
        _check_range(what, array, field)
    elif field.kind == "number":
        _check_range(what, np.asarray(float(value)), field)


def _check_range(what: str, array: np.ndarray, field: Field) -> None:
    if array.dtype.kind == "f" and not (np.isfinite(array) | (field.infinite & (array == np.inf))).all():
        raise Refused(f"is forged: {what} holds a value that is not finite.")
    if array.size and (array.min() < field.low or array.max() > field.high):
        wrong = array.min() if array.min() < field.low else array.max()
        raise Refused(f"is forged: {what} holds {wrong}, which lies outside {field.low:g} to {field.high:g}.")


def _check_classes(what: str, value: Any) -> None:
    if isinstance(value, list):
        if not value or not all(found.shape == (2,) and found.tolist() == [0, 1] for found in value):
            raise Refused(f"is forged: {what} must be 0 and 1 for every label.")
    elif value.ndim != 1 or len(set(value.tolist())) < len(value) or not len(value):
        raise Refused(f"is forged: {what} must be one list of different classes.")


def _check_filling(what: str, value: np.ndarray) -> None:
    if value.dtype.name not in ("float64", "float32", "object") or not value.dtype.isnative:
        raise Refused(f"is forged: {what} holds {value.dtype.str}, not float64, float32 or objects.")
    if any(one in (np.inf, -np.inf) for one in value.tolist()):  # NaN says that a column held no value and is left out
        raise Refused(f"is forged: {what} holds a value that is not finite.")


def _check_categories(what: str, column: np.ndarray) -> None:
    if column.ndim != 1 or not len(column) or column.dtype.kind not in "biufUO" or not column.dtype.isnative:
        raise Refused(f"is forged: {what} must be one list of numbers or text for every column.")
    if any(isinstance(one, float) and not np.isfinite(one) for one in column.tolist()):
        raise Refused(f"is forged: {what} holds a value that is not finite.")
    if not (column[:-1] < column[1:]).all():
        raise Refused(f"is forged: {what} are not in increasing order.")


def check_belonging(name: str, estimator: Any, letters: Mapping[str, int]) -> None:
    """Refuse attributes that are right one by one and do not belong together."""
    fitted = vars(estimator)
    for parameter, attribute in _NEEDS:
        if fitted.get(parameter) and fitted.get(attribute) is None:
            raise Refused(f"is forged: {name}({parameter}=True) has no {attribute}.")
    if letters.get("k", 0) > letters.get("n", np.inf) or ("k" in letters and letters["k"] < 1):
        raise Refused(f"is forged: {name}.n_neighbors_ is {letters['k']} with {letters.get('n')} training rows.")
    if "training_labels_" in fitted and "training_rows_" not in fitted:  # which may be None, for precomputed neighbours
        raise Refused(f"is damaged: {name}.training_rows_ is missing; make it again.")
    if "neighbors" in fitted and "training_rows_" in fitted:
        _check_precomputed(name, estimator, letters)
    elif fitted.get("neighbors") == "precomputed":
        raise Refused(f"is forged: {name} has no neighbors='precomputed'.")
    if "transduction_" in fitted:
        _check_transduction(name, estimator)


def _check_precomputed(name: str, estimator: Any, letters: Mapping[str, int]) -> None:
    given = estimator.neighbors == "precomputed"
    if given != (estimator.training_rows_ is None) or (given and not hasattr(estimator, "training_labels_")):
        raise Refused(f"is forged: {name}(neighbors={estimator.neighbors!r}) and its training_rows_ contradict.")
    columns = getattr(estimator, "labeled_rows_", None)
    if columns is not None:
        if (np.diff(columns) <= 0).any():
            raise Refused(f"is forged: {name}.labeled_rows_ are not in increasing order.")
        if given and columns[-1] >= letters["D"]:
            raise Refused(f"is forged: {name}.labeled_rows_ holds {columns[-1]}, beyond {letters['D']} rows.")
    elif given and letters["n"] != letters["D"]:
        raise Refused(f"is forged: {name} was fitted on {letters['D']} distances a row and {letters['n']} rows.")


def _check_transduction(name: str, estimator: Any) -> None:
    found, classes = estimator.transduction_, estimator.classes_
    if isinstance(classes, list):
        right = found.ndim == 2 and found.dtype.kind in "iu" and np.isin(found, (0, 1)).all()
    elif found.ndim == 2:
        right = found.dtype.kind in "iu" and np.isin(found, (0, 1)).all()
    else:
        right = set(found.tolist()) <= set(classes.tolist())
    if not right:
        raise Refused(f"is forged: {name}.transduction_ holds what is none of its classes.")


def check_steps(pipeline: Pipeline) -> None:
    """Refuse steps of which one cannot take what the one before gives."""
    given = None
    for position, (step, estimator) in enumerate(pipeline.steps):
        if given is not None and estimator.n_features_in_ != given:
            raise Refused(
                f"is forged: the step {step!r} takes {estimator.n_features_in_} columns and gets {given}."
            )
        if not hasattr(estimator, "transform") and position < len(pipeline.steps) - 1:
            raise Refused(f"is forged: the step {step!r} transforms nothing and is not the last.")
        given = width(estimator)


def width(estimator: Any) -> int:
    """Return how many columns an estimator gives."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    fitted = vars(estimator)
    if "components_" in fitted:
        return len(estimator.components_)
    if "output_indices_" in fitted:  # a ColumnTransformer
        return max((found.stop for found in estimator.output_indices_.values()), default=0)
    if "categories_" in fitted:
        dropped = [] if estimator.drop_idx_ is None else [one for one in estimator.drop_idx_ if one is not None]
        return sum(map(len, estimator.categories_)) - len(dropped)
    if "statistics_" in fitted and not estimator.keep_empty_features:
        return sum(one == one for one in estimator.statistics_.tolist())  # NaN: a column that is left out
    return int(estimator.n_features_in_)


def n_labels(estimator: Any) -> int | None:
    """How many labels an estimator, or the last step of a pipeline, was fitted on; None if on none."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    classes = getattr(estimator, "classes_", None)
    return None if classes is None else len(classes)


def check_names(what: str, names: list[str] | None, size: int | None) -> None:
    """Refuse names of another number than the columns they stand for, and a name that stands for two."""
    if names is None:
        return
    if len(set(names)) < len(names):
        raise Refused(f"is forged: a name stands twice in its {what}.")
    if size is not None and len(names) != size:
        raise Refused(f"is forged: it has {len(names)} {what} for {size} columns.")


