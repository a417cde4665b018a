"""From the content of a model file to a fitted estimator: every value is checked before it is used.

`revived` makes a new estimator by its constructor and sets the checked values, so that a model has no attribute that
``fit`` does not give. An imputer also has private attributes, which the file does not hold: the class makes them when
it is fitted on one invented row.
"""

import json
import os
import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy import sparse
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from .._checks.arguments import check_rows
from .._checks.labels import LabelClasses
from .._errors import InputError, printable
from .._estimators._learner import Learner
from .._estimators._learners import check_learners
from .._output import PathLike, versions
from .archive import need_skops, read
from .fitted_rows import ID_KEYS, KEYS
from .rows import check_answers
from .schema import Field, Refused, check_names, check_parameter, check_value, full_name, innermost, table

FORMAT = "nmlsdr-model 7"


class ModelFileError(InputError):
    """A file that is not a model this version can read, or an estimator that cannot be written to a model file."""


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
    plan : Plan or None
        What is done with each column of a raw table, by the first step or before it.
    fills_cells : bool
        Whether the first step fills empty cells.
    date : str
        Day on which the file was written, such as 2026-11-22.
    fitted : dict or None
        Hashes of the rows of the fit, for `fitted_rows.find_overlap`.
    """

    estimator: Any
    feature_names: list[str] | None
    label_names: list[str] | None
    versions: dict[str, str]
    plan: Any
    fills_cells: bool
    date: str
    fitted: dict[str, Any] | None


def open_model(path: PathLike, *, max_bytes: int | None = None) -> Model:
    """Read a model file with its names and versions; see `nmlsdr.model_file.load_model`."""
    name = os.fspath(path)
    need_skops()
    with open(name, "rb") as file:
        try:
            model = content_in(read(file, 4 << 30 if max_bytes is None else max_bytes))
        except Refused as error:
            raise ModelFileError(f"The model file {name!r} is refused: {error}.") from None
        except MemoryError:
            raise
        except Exception as error:  # zipfile, json, skops, NumPy and scikit-learn raise errors of many kinds
            reason = [*str(error).strip().splitlines(), type(error).__name__][0].rstrip(".")
            raise ModelFileError(f"The model file {name!r} is damaged ({reason}); write the model again.") from None
    written = model.versions["scikit-learn"]
    if written != sklearn.__version__:
        kind = type(model.estimator).__name__
        warning = InconsistentVersionWarning(
            estimator_name=kind, current_sklearn_version=sklearn.__version__, original_sklearn_version=written
        )
        warnings.warn(warning, stacklevel=3)
    return model


def content_in(content: Any) -> Model:
    """Return the model of a file's content; `Refused`, or another error, if any part is not as it is written."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        later = isinstance(content, dict) and re.fullmatch(r"nmlsdr-model (\d+)", str(content.get("format")))
        if later and int(later[1]) > int(FORMAT.split()[1]):
            raise Refused("a later version of nmlsdr wrote it; upgrade nmlsdr to read it")
        raise Refused("it is not a model file of this version of nmlsdr; fit and write the model again")
    estimator = revived(content["model"])
    features, labels = (content[key] and _value(content[key]).tolist() for key in ("feature_names", "label_names"))
    check_names(estimator, features, labels)
    written = {key: printable(str(content["versions"][key])) for key in versions()}
    check_answers(estimator, _value(content["rows"]), _value(content["answers"]))
    first = innermost(estimator, 0)
    plan = None if features is None else getattr(first, "plan_", None)
    fills = hasattr(first, "plan_") or isinstance(first, SimpleImputer)
    if content.get("plan") is not None:
        plan = _plan(content["plan"])
        check_plan(plan, features)
    date = printable(str(content["date"]))
    fitted = _fitted(content.get("fitted"))
    return Model(estimator, features, labels, written, plan, fills, date, fitted)


def check_plan(plan: Any, features: list[str] | None) -> None:
    """Refuse the plan beside a model if it is not one of plain numbers that gives these features."""
    if not plan.is_plain or plan.feature_names != features or not all(column.fill for column in plan.used):
        raise Refused("the plan of its table does not give the features of the model")


def _fitted(stored: Any) -> dict[str, Any] | None:
    """Return the hashes of the rows of the fit; `Refused` if they are invalid."""
    if stored is None:
        return None
    salt = stored["salt"]
    keys = [*KEYS, *(ID_KEYS if ID_KEYS[0] in stored else ())]
    hashes = {key: _value(stored[key]) for key in keys}
    if not isinstance(salt, str) or len(salt) > 64:
        raise Refused("the salt of its row hashes is invalid")
    if any(values.ndim != 1 or values.dtype != np.uint64 for values in hashes.values()):
        raise Refused("its row hashes are invalid")
    return {"salt": salt, **hashes}


def revived(stored: Any) -> Any:
    """Return the fitted estimator that `writing.kept_parts` kept; `Refused` if ``fit`` makes no such estimator."""
    kind = type(stored)
    state = vars(stored)
    if kind is Pipeline:
        steps = [(step, revived(inner)) for step, inner in state["steps"]]
        if not steps or len({step for step, _ in steps}) < len(steps):
            raise Refused("the steps of a pipeline have no names of their own")
        "".join(step for step, _ in steps).encode()  # fails for what is no text, or cannot be printed
        return Pipeline(steps)
    if (fields := table.get(full_name(kind))) is None:
        raise Refused(f"it contains a {kind.__name__} in place of an estimator")
    estimator = kind()
    _set_parameters(estimator, state, fields)
    _set_fitted(estimator, state, fields)
    if kind is SimpleImputer:
        learned = dict(vars(estimator))
        _fit_imputer(estimator)
        vars(estimator).update(learned)
    return estimator


def _set_parameters(estimator: Any, state: dict[str, Any], fields: dict[str, Field]) -> None:
    """Set the parameters of an estimator after their checks."""
    kind = type(estimator)
    parameters = {key: state[key] for key in estimator.get_params(deep=False) if key in state}
    unknown = sorted(state.keys() - parameters.keys() - fields.keys())
    if unknown:
        raise Refused(
            f"it holds {kind.__name__}.{unknown[0]}, which this version does not know; write the model again, "
            "or upgrade nmlsdr if a later version wrote it"
        )
    for key, value in parameters.items():
        check_parameter(kind.__name__, key, value)
    estimator.set_params(**parameters)
    if kind.__module__.startswith("sklearn."):
        estimator._validate_params()


def _set_fitted(estimator: Any, state: dict[str, Any], fields: dict[str, Field]) -> None:
    """Set the fitted attributes of an estimator after their checks."""
    name = type(estimator).__name__
    letters = {"graphs": 2}  # over which ResidualPropagation propagates
    for attribute, field in fields.items():
        if attribute not in state and not field.optional:
            raise Refused(f"{name}.{attribute} is missing")
        if attribute in state:
            stored = state[attribute]
            is_none = stored is None and field.optional
            value = None if is_none else _attribute(f"{name}.{attribute}", stored, field, letters)
            setattr(estimator, attribute, value)


def _attribute(name: str, stored: Any, field: Field, letters: dict[str, int]) -> Any:
    """Return the value of an attribute after its checks."""
    if field.kind == "plan":
        plan = _plan(stored)
        if len(plan.columns) != letters["D"]:
            raise Refused(f"{name} knows {len(plan.columns)} columns where the others need {letters['D']}")
        return plan
    if field.kind == "learners":
        letters["learners"] = len(stored)
        try:
            return _learners(stored, letters["D"], letters["C"])
        except InputError as error:
            raise Refused(f"{name} cannot be used: {error}") from None
    value = check_rows(_value(stored)) if field.kind == "rows" else _value(stored)  # kernels take rows as they are
    check_value(name, value, field, letters)
    return LabelClasses(value) if field.kind == "classes" and isinstance(value, list) else value


def _learners(stored: list[dict[str, Any]], n_features: int, n_labels: int) -> list[Learner]:
    """The learners of a trend from their names and arrays."""
    kinds = check_learners([part["learner"] for part in stored])
    arrays = [{key: _value(part[key]) for key in part if key != "learner"} for part in stored]
    return [kind.checked(each, n_features, n_labels) for kind, each in zip(kinds, arrays, strict=True)]


def _plan(stored: Any) -> Any:
    from ..tables import Plan  # whose import takes a while, and few models have one

    return Plan.from_json(stored["plan"])


def _value(stored: Any) -> Any:
    """Return what a value in the form of `writing.encode` stands for."""
    if isinstance(stored, list):
        return [_value(item) for item in stored]
    if not isinstance(stored, dict):
        return stored
    if "csr" in stored:
        make = {"array": sparse.csr_array, "matrix": sparse.csr_matrix}[stored["csr"]]
        data, indices, indptr = stored["parts"]
        return make((data, indices, indptr), shape=tuple(stored["shape"]))
    items = json.loads(stored["objects"])
    json.dumps(items, ensure_ascii=False).encode()  # fails for half of a surrogate pair, which cannot be printed
    if any(isinstance(item, list | dict) for item in items):
        raise TypeError("objects that are neither numbers nor text")
    return np.array(items, dtype=object).reshape(stored["shape"])


def _fit_imputer(estimator: SimpleImputer) -> None:
    """Fit on a row of the kind of table that gives such statistics; a constant for numbers is kept as objects."""
    statistics = estimator.statistics_
    is_text = statistics.dtype.kind == "O" and any(isinstance(value, str) for value in statistics.tolist())
    kind = object if is_text else np.float64 if statistics.dtype.kind == "O" else statistics.dtype
    estimator.fit(np.full((1, len(statistics)), "" if is_text else 0, kind))
