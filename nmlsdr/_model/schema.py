"""What a model file may hold: for every class its fitted attributes and parameters, and what each may be.

A class that is not in `table` is neither written nor read. The letters in the shapes must agree within one estimator,
so that a damaged or invented file is refused before an array of the wrong length reaches a kernel: n rows, D features,
C labels, d components, k neighbours (``k+1`` is one more than the integer attribute that is named k). The dtypes and
ranges are those that ``fit`` gives: outside them a prediction would be no number, no probability, or read nonsense.
"""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import numpy as np
from sklearn import impute, preprocessing
from sklearn.pipeline import Pipeline

from .. import _estimators as estimators
from .._checks.arguments import Metric
from .._errors import InputError
from .._thresholds import check_threshold

_LARGEST = 1e170  # 1 / sqrt of the smallest positive number is 4e161; sums of such numbers are finite
_MAX_JOBS = 1024  # more threads could end the process; the limit of this machine is checked when it predicts


class Refused(Exception):
    """What is wrong with a model: the second half of a sentence that begins with the name of its file."""


class Field(NamedTuple):
    """One fitted attribute: its kind, its shape in letters, and what its values may be."""

    kind: str
    shape: str = ""
    low: float = -_LARGEST
    high: float = _LARGEST
    dtypes: tuple[str, ...] | str = ("float64", "float32")
    in_order: bool = False  # read by a kernel as it is, so in C order
    optional: bool = False  # may be None or missing


def _for_kernel(dtype: str, shape: str, low: float = 0.0, high: float = 1.0) -> Field:
    return Field("array", shape, low, high, (dtype,), in_order=True)


_POSITIVE = 5e-324
_INFINITY = math.inf
#: What each attribute may be. Several classes may have an attribute of one name.
_FIELDS = {
    name: field
    for field, names in {
        Field("text"): "propagation_solver_",
        Field("count"): "effective_rank_ n_iter_ n_unreached_",
        Field("count", "D"): "n_features_in_",
        Field("count", "k"): "n_neighbors_",
        Field("number", "", 0.0): "n_samples_seen_ residual_",
        Field("number", "", 0.0, 0.3): "flip_rate_",
        Field("number", "", 0.0, 1.0): "shrinkage_ _forget_rate",
        Field("number", "", 1.0): "n_labeled_",
        Field("number", "", _POSITIVE): "ridge_ _rounding_step",
        Field("column", "D", dtypes="O"): "feature_names_in_",
        Field("column", "C", dtypes="O"): "label_names_in_",
        Field("column", "D", dtypes="fO"): "statistics_",
        Field("classes", "C"): "classes_",
        Field("plan", "D"): "plan_",
        Field("scaler"): "scaler_",
        Field("learners", "D C"): "learners_",
        Field("order", "n"): "_row_order",
        Field("rows", "n D"): "training_rows_",
        Field("rows", "n d"): "embedding_",
        Field("rows", "n C"): "ridge_scores_",
        Field("array", "D"): "mean_",
        Field("array", "D", 0.0): "max_abs_ feature_weights_",
        Field("array", "D", 0.0, _INFINITY): "var_",
        Field("array", "D", _POSITIVE): "scale_",
        Field("array", "d D"): "components_",
        Field("array", "d", -_INFINITY, _INFINITY): "eigenvalues_ dependence_ratio_",
        Field("array", "sweeps", -_INFINITY, _INFINITY): "objective_",
        Field("array", "n C"): "label_weights_",
        Field("array", "graphs n C"): "propagated_errors_",
        Field("array", "graphs", _POSITIVE): "_rounding",
        Field("array", "learners", 0.0, 1.0): "learner_weights_",
        Field("array", "n C", 0.0, 1.0, ("bool", "uint8")): "label_flips_",
        Field("array", "n", 0.0, _INFINITY, ("int64", "int32")): "labeled_rows_",
        Field("array", "C", -_POSITIVE, sys.float_info.max, ("float64",)): "thresholds_",
        _for_kernel("float64", "n C"): "label_distributions_ flip_scores_",
        _for_kernel("uint8", "n C"): "training_labels_",
        _for_kernel("float64", "n", _POSITIVE, _LARGEST): "row_weights_",
        _for_kernel("float64", "C"): "prior_",
        _for_kernel("float64", "C k+1"): "likelihoods_with_label_ likelihoods_without_label_ posterior_",
    }.items()
    for name in names.split()
}

_SEEN = "n_features_in_ feature_names_in_?"
_LABELS = f"{_SEEN} classes_ label_names_in_?"
_PROJECTION = f"{_LABELS} components_ eigenvalues_ effective_rank_ mean_"
_SOFT = "n_neighbors_ label_distributions_ label_flips_ flip_scores_ n_iter_ residual_ n_unreached_ propagation_solver_"
_SHRINKAGE = "dependence_ratio_ shrinkage_ feature_weights_"
_POSTERIOR = "prior_ likelihoods_with_label_ likelihoods_without_label_ posterior_ thresholds_"
# With neighbors="precomputed" there are no training rows.
_COUNTS = f"{_LABELS} n_neighbors_ _row_order? training_rows_? training_labels_ {_POSTERIOR}"
_ATTRIBUTES: dict[type | str, str] = {
    preprocessing.StandardScaler: f"{_SEEN} mean_? var_? scale_? n_samples_seen_",
    preprocessing.MaxAbsScaler: f"{_SEEN} max_abs_ scale_ n_samples_seen_",
    preprocessing.Normalizer: _SEEN,
    impute.SimpleImputer: f"{_SEEN} statistics_",
    "nmlsdr.tables._encoder.TableEncoder": f"{_SEEN} plan_ scaler_?",  # its import takes a while
    "nmlsdr.tables._scaling.TableScaler": f"{_SEEN} mean_ scale_",
    estimators.NMLSDR: f"{_PROJECTION} {_SOFT} {_SHRINKAGE} _rounding_step?",
    estimators.ResidualPropagation: f"{_PROJECTION} {_SOFT} {_SHRINKAGE} "
    "thresholds_ ridge_ embedding_ ridge_scores_ propagated_errors_ learners_ learner_weights_ "
    "flip_rate_ _forget_rate _rounding n_labeled_ _row_order?",
    estimators.MDDM: _PROJECTION,
    estimators.MVMD: _PROJECTION,
    estimators.MultiLabelCCA: _PROJECTION,
    estimators.MLDA: f"{_PROJECTION} label_weights_ n_iter_ objective_?",
    estimators.SSMLDR: f"{_PROJECTION} {_SOFT}",
    estimators.MLkNN: f"{_COUNTS} labeled_rows_",
    estimators.SemiSupervisedMLkNN: f"{_COUNTS} {_SOFT}",
    estimators.MultiLabelPropagation: f"{_LABELS} {_SOFT} training_rows_ row_weights_ thresholds_ _row_order?",
}


def full_name(kind: type | str) -> str:
    """The name of a class with its module, as a file gives it."""
    return kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


#: Full name of a class -> attribute -> field. A question mark above marks an attribute that may be None or missing.
table: dict[str, dict[str, Field]] = {
    full_name(kind): {
        attribute.rstrip("?"): _FIELDS[attribute.rstrip("?")]._replace(optional=attribute.endswith("?"))
        for attribute in attributes.split()
    }
    for kind, attributes in _ATTRIBUTES.items()
}

#: Parameter, of one class or of all -> its allowed values. scikit-learn checks the other parameters of its classes;
#: those of this package that are not listed here matter only to ``fit``, which checks them.
_ALLOWED: dict[str, tuple[Any, ...]] = {
    "at_least_one": (True, False),
    "metric": get_args(Metric),
    "neighbors": ("exact",),
    "MLkNN.neighbors": ("exact", "precomputed"),
    "SemiSupervisedMLkNN.neighbors": ("exact", "precomputed"),
    "add_indicator": (False,),
}


def check_parameter(name: str, key: str, value: Any) -> None:
    """Refuse a parameter that is no plain value, or that a prediction could not use."""
    values = value if type(value) is tuple else [value]
    if any(type(item) not in (bool, int, float, str, type(None)) for item in values):
        raise Refused(f"{name}({key}=...) is no number or text")
    allowed = _ALLOWED.get(f"{name}.{key}", _ALLOWED.get(key))
    try:
        if key == "threshold":
            check_threshold(value)
        if key == "n_jobs":
            _check_n_jobs(value)
        if allowed is not None:
            _check_choice(value, allowed)
    except InputError as error:
        raise Refused(f"{name}({key}={value!r}) cannot be used: {str(error).rstrip('.')}") from None


def _check_n_jobs(value: Any) -> None:
    if value is not None and (type(value) is not int or not 1 <= abs(value) <= _MAX_JOBS):
        raise InputError(f"it must be None or a whole number from 1 to {_MAX_JOBS}, or below 0")


def _check_choice(value: Any, allowed: tuple[Any, ...]) -> None:
    if not any(type(value) is type(item) and value == item for item in allowed):
        raise InputError(f"it must be {' or '.join(map(repr, allowed))}")


# ---------------------------------------------------------------- checks of values


_TYPES = {"count": (int,), "number": (int, float, np.int64, np.float64), "text": (str,), "array": (np.ndarray,)}


def check_value(name: str, value: Any, field: Field, letters: dict[str, int]) -> None:
    """Refuse an attribute whose type, shape, dtype, order or range is not what ``fit`` gives."""
    kind = field.kind
    if (kind in _TYPES and type(value) not in _TYPES[kind]) or (type(value) is int and value < 0):
        raise Refused(f"{name} cannot be this value of the type {type(value).__name__}")
    if kind in _CHECKS:
        _CHECKS[kind](name, value, field)
    _check_shape(name, value, field, letters)


def _check_number(name: str, number: Any, field: Field) -> None:
    _check_range(name, np.asarray(number, dtype=np.float64), field)


def _check_array(name: str, array: np.ndarray, field: Field) -> None:
    _check_layout(name, array, field)
    _check_range(name, array, field)


def _check_classes(name: str, classes: Any, field: Field) -> None:
    """Refuse classes that are neither 0 and 1 for every label of 2-D labels nor one list of classes."""
    if not isinstance(classes, list):
        _check_list(name, classes)
    elif not all(isinstance(pair, np.ndarray) and pair.tolist() == [0, 1] for pair in classes):
        raise Refused(f"{name} must be 0 and 1 for every label")


def _check_column(name: str, column: Any, field: Field) -> None:
    _check_list(name, column, field.dtypes)


def _check_layout(name: str, array: np.ndarray, field: Field) -> None:
    """Refuse an array of another dtype, byte order or order of axes."""
    if array.dtype.name not in field.dtypes or not array.dtype.isnative:
        raise Refused(f"{name} holds {array.dtype.str}, not {' or '.join(field.dtypes)}")
    if field.in_order and not array.flags.c_contiguous:
        raise Refused(f"{name} is not in C order")


def _check_shape(name: str, value: Any, field: Field, letters: dict[str, int]) -> None:
    """Refuse a value whose sizes do not agree with those of the attributes before, which `letters` holds."""
    expected = field.shape.split()
    sizes: tuple[int, ...] = (len(value),) if isinstance(value, list) else getattr(value, "shape", ())
    if field.kind == "count" and expected:
        sizes = (value,)
    agrees = len(sizes) == len(expected)
    for letter, size in zip(expected, sizes, strict=False):
        surplus = letter.endswith("+1")
        agrees = agrees and letters.setdefault(letter.removesuffix("+1"), size - surplus) == size - surplus
    if not 1 <= letters.get("k", 1) <= letters.get("n", np.inf):
        raise Refused(f"n_neighbors_ is {letters['k']} with {letters.get('n')} training rows")
    if not agrees:
        needed = ", ".join(str(letters.get(letter.removesuffix("+1"), letter)) + letter[1:] for letter in expected)
        raise Refused(f"{name} has shape {sizes} where the others need ({needed})")


def _check_range(name: str, array: np.ndarray, field: Field) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise Refused(f"{name} holds a value that is not finite")
    lowest, highest = (float(array.min()), float(array.max())) if array.size else (field.low, field.high)
    if lowest < field.low or highest > field.high:
        wrong = lowest if lowest < field.low else highest
        raise Refused(f"{name} holds {wrong}, which lies outside {field.low:g} to {field.high:g}")


def _is_vector(value: Any) -> bool:
    """Whether a value is a 1-D array in the byte order of the machine."""
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.isnative


def _check_order(name: str, order: Any, field: Field) -> None:
    """Refuse what does not hold each row number once."""
    right = _is_vector(order) and order.dtype == np.int64
    if not right or not np.array_equal(np.sort(order), np.arange(len(order))):
        raise Refused(f"{name} must hold each row number once")


def _check_list(name: str, column: Any, kinds: Any = "biufUO") -> None:
    """Refuse what is no list of finite numbers or of text; NaN is accepted, as it stands for a missing value."""
    if not _is_vector(column) or column.dtype.kind not in kinds:
        raise Refused(f"{name} must be one list of numbers or text")
    items = column.tolist()
    if len({isinstance(item, str) for item in items}) > 1 or not all(
        isinstance(item, str | int | float) for item in items
    ):
        raise Refused(f"{name} holds objects that are neither all numbers nor all text")
    if any(item in (np.inf, -np.inf) for item in items):
        raise Refused(f"{name} holds a value that is not finite")
    if column.dtype.kind == "U":
        "".join(items).encode()  # fails for half of a surrogate pair, which cannot be printed


#: Kind of a field -> the check of its values, beside that of their types and shapes.
_CHECKS: dict[str, Callable[[str, Any, Field], None]] = {
    "number": _check_number,
    "array": _check_array,
    "classes": _check_classes,
    "order": _check_order,
    "column": _check_column,
}


def innermost(estimator: Any, step: int) -> Any:
    """Return the first step of a pipeline (0) or its last (-1), of pipelines in it too; any other estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[step][1]
    return estimator


def check_names(estimator: Any, feature_names: Any, label_names: Any) -> None:
    """Refuse names that are no text, are not unique, or do not match the number of columns."""
    last = innermost(estimator, -1)
    n_labels = len(last.classes_) if hasattr(last, "classes_") else None
    for attribute, names, size in (
        ("feature_names", feature_names, estimator.n_features_in_),
        ("label_names", label_names, n_labels),
    ):
        if names is None:
            continue
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Refused("names of features and labels must be text; rename the columns")
        if len(set(names)) < len(names):
            raise Refused(f"a name appears twice in its {attribute}")
        if size is not None and len(names) != size:
            raise Refused(f"it has {len(names)} {attribute} for {size} columns")
