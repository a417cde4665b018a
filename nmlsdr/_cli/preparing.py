"""From a raw table to numbers: what fills the holes and makes columns of categories, and how a model asks for it."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["asked_of", "preparation", "prepare"]


def preparation(table: Any, args: argparse.Namespace) -> Any:
    """Return a ColumnTransformer for --impute and --one-hot, not fitted, or None where nothing is to be done.

    Parameters
    ----------
    table : Bunch
        As `nmlsdr.datasets.read_table` gives it.
    args : Namespace
        With impute, "median", "mean" or None.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words = set(table.text_names)
    if args.impute is None and not words:
        return None
    if args.impute is not None:
        fill: Any = SimpleImputer(strategy=args.impute, keep_empty_features=True)
    else:
        fill = StandardScaler(with_mean=False, with_std=False)  # changes no number, and makes numbers of objects
    names = table.feature_names or range(table.data.shape[1])  # an .npz file may have none, and then no words either
    numbers = [j for j, name in enumerate(names) if name not in words]
    categories = [j for j, name in enumerate(names) if name in words]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps = [("numbers", fill, numbers), ("categories", encoder, categories)]
    return ColumnTransformer([step for step in steps if step[2]], sparse_threshold=0)


def prepare(table: Any, args: argparse.Namespace, console: Any) -> None:
    """Make numbers of the table's features, in place, for verbs that keep no model."""
    step = preparation(table, args)
    if step is None:
        return
    with console.step("fill in and encode"):
        table.data = step.fit_transform(table.data)
        if table.feature_names is None:
            return
        names: list[str] = []
        for role, fitted, columns in step.transformers_:
            if role == "numbers":
                names += [table.feature_names[j] for j in columns]
            elif role == "categories":
                found = zip(columns, fitted.categories_, strict=True)
                names += [f"{table.feature_names[j]}={value}" for j, values in found for value in values]
        table.feature_names = names


def asked_of(model: Any) -> tuple[list[str], bool]:
    """Return the columns of words that a model takes, and whether it fills holes.

    Parameters
    ----------
    model : Model
        As `nmlsdr.model_file.open_model` gives it.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    step = model.estimator
    while isinstance(step, Pipeline):
        step = step.steps[0][1]
    if isinstance(step, SimpleImputer):
        return [], True
    if not isinstance(step, ColumnTransformer):
        return [], False
    words: list[str] = []
    for _, inner, columns in step.transformers_:
        if isinstance(inner, OneHotEncoder) and model.feature_names is not None:
            kinds = [values.dtype.kind for values in inner.categories_]
            words += [model.feature_names[j] for j, kind in zip(columns, kinds, strict=True) if kind in "OU"]
    return words, any(isinstance(inner, SimpleImputer) for _, inner, _ in step.transformers_)
