"""Steps that hold more than what `schema.table` lists: scikit-learn fits them anew, and gets the file's values.

An imputer, an encoder and a ColumnTransformer keep notes of their own beside their public attributes. These are no part
of a model file: the class makes them when it is fitted on one row that says nothing, and what was learned is set then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

from .checking import width
from .form import ModelFileError, Refused

__all__ = ["columns_in", "columns_out", "refit"]

_MOST_COLUMNS = 1 << 22  # a row of them is made


def refit(name: str, estimator: Any) -> None:
    """Let an imputer or an encoder that has its public attributes make the others."""
    if name not in ("SimpleImputer", "OneHotEncoder"):
        return
    learned = dict(vars(estimator))
    try:
        if name == "SimpleImputer":
            estimator.fit(_blank_row(estimator.statistics_))
        else:
            first = np.array([[column[0] for column in estimator.categories_]], dtype=object)
            estimator.set_params(categories=[column.tolist() for column in estimator.categories_]).fit(first)
    except (ValueError, TypeError) as error:
        raise Refused(f"is forged: {name} cannot be fitted like this ({_first_line(error)}).") from None
    vars(estimator).update(learned)


def _blank_row(statistics: np.ndarray) -> np.ndarray:
    """Return a row of the kind of table that gives such statistics; a constant for numbers is kept as objects."""
    objects = statistics.dtype.kind == "O"
    if objects and any(isinstance(one, str) for one in statistics.tolist()):
        return np.full((1, len(statistics)), "", dtype=object)
    return np.zeros((1, len(statistics)), dtype=np.float64 if objects else statistics.dtype)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")


def columns_out(estimator: ColumnTransformer, node_out: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the transformers of a fitted ColumnTransformer, their columns by number, for the header."""
    names = list(getattr(estimator, "feature_names_in_", ()))
    given = {name: step for name, step, _ in estimator.transformers}
    steps = []
    for name, step, columns in estimator.transformers_:
        if name not in given:  # the remainder
            continue
        positions = _positions(name, columns, names, estimator.n_features_in_)
        word = given[name] if isinstance(given[name], str) else ("drop" if not positions else None)
        steps.append([name, word or node_out(step), positions])
    return {"transformers": steps, "sparse_output": bool(estimator.sparse_output_)}


def _positions(name: str, columns: Any, names: Sequence[str], n_features: int) -> list[int]:
    """Return the numbers of the columns that a transformer takes."""
    every = list(range(n_features))
    chosen = np.asarray(columns)
    if chosen.ndim == 1 and chosen.dtype.kind == "b":
        return np.flatnonzero(chosen).tolist()
    if chosen.ndim == 1 and (chosen.dtype.kind in "iu" or not len(chosen)):
        return [every[j] for j in chosen.tolist()]
    if chosen.ndim == 1 and all(isinstance(one, str) for one in chosen.tolist()):
        return [names.index(one) for one in chosen.tolist()]
    raise ModelFileError(
        f"The columns of {name!r} are {columns!r}, and a model file holds lists of columns; give such a list."
    )


def columns_in(node: Mapping[str, Any], estimator: ColumnTransformer, node_in: Callable[[Any], Any]) -> None:
    """Give a ColumnTransformer that has its parameters and n_features_in_ its transformers."""
    n_features = estimator.n_features_in_
    if n_features > _MOST_COLUMNS:
        raise Refused(f"is forged: ColumnTransformer.n_features_in_ is {n_features}.")
    given: list[tuple[str, Any, list[int]]] = []
    for name, inner, columns in node["transformers"]:
        step = inner if inner in ("drop", "passthrough") else node_in(inner)
        if not isinstance(name, str) or name == "remainder" or "__" in name or name in [known for known, *_ in given]:
            raise Refused(f"is forged: {name!r} is no name for one of a ColumnTransformer's transformers.")
        right = isinstance(columns, list) and all(type(j) is int and 0 <= j < n_features for j in columns)
        if not right or len(set(columns)) < len(columns):
            raise Refused(f"is forged: the columns of {name!r} are no different numbers below {n_features}.")
        if not isinstance(step, str) and not hasattr(step, "transform"):
            raise Refused(f"is forged: {name!r} transforms nothing.")
        if not isinstance(step, str) and step.n_features_in_ != len(columns):
            raise Refused(f"is forged: {name!r} takes {step.n_features_in_} columns and gets {len(columns)}.")
        given.append((name, step, columns))
    if type(node["sparse_output"]) is not bool:
        raise Refused("is forged: ColumnTransformer.sparse_output_ must be true or false.")
    learned = dict(vars(estimator))
    estimator.set_params(transformers=[(name, "drop" if step == "drop" else "passthrough", columns)
                                       for name, step, columns in given])  # fmt: skip
    try:
        estimator.fit(np.zeros((1, n_features)))
    except (ValueError, TypeError) as error:
        raise Refused(f"is forged: ColumnTransformer cannot be fitted like this ({_first_line(error)}).") from None
    vars(estimator).update(learned)
    _put(estimator, given)
    estimator.sparse_output_ = node["sparse_output"]


def _put(estimator: ColumnTransformer, given: Sequence[tuple[str, Any, list[int]]]) -> None:
    """Put the fitted transformers where those that only pass columns on stood."""
    fitted = {name: step for name, step, _ in given if not isinstance(step, str)}
    estimator.transformers = [
        (name, step if isinstance(step, str) else clone(step), columns) for name, step, columns in given
    ]
    placed = [(name, fitted.get(name, step), columns) for name, step, columns in estimator.transformers_]
    estimator.transformers_ = placed
    start, indices = 0, {}
    for name, step, columns in placed:
        if name not in fitted:
            n_columns = 0 if step == "drop" else len(columns)
        else:
            n_columns = width(step)
        indices[name] = slice(start, start + n_columns) if n_columns else slice(0, 0)
        start += n_columns
    estimator.output_indices_ = {**dict.fromkeys(estimator.output_indices_, slice(0, 0)), **indices}
