"""From the arguments to arrays: the table that a verb works on, in the model's order of columns."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from nmlsdr._errors import InputError
from nmlsdr.datasets import read_table

from .console import Console

__all__ = ["Columns", "dense_if_needed", "input_files", "match_features", "match_labels", "read_data"]

Columns = Any  # ndarray or csr_array (n, D)


def input_files(args: argparse.Namespace) -> list[str]:
    """Return the files that the arguments name as inputs."""
    names = ("model", "data", "labels", "label_file", "mask")
    return [value for value in (getattr(args, name, None) for name in names) if value is not None]


def read_data(
    args: argparse.Namespace, console: Console, *, need_labels: bool = False, n_features: int | None = None
) -> Any:
    """Return the table of the arguments, as `nmlsdr.datasets.read_table` does."""
    limits = {name: getattr(args, name) for name in ("max_bytes", "max_features") if getattr(args, name) is not None}
    with console.step(f"read {args.data}") as show:
        table = read_table(
            args.data,
            labels_xml=args.labels,
            label_columns=args.label_columns,
            label_file=args.label_file,
            mask=getattr(args, "mask", None),
            drop=args.drop,
            n_features=n_features,
            zero_based=args.zero_based,
            **limits,
        )
        n_rows, n_columns = table.data.shape
        text = f"read {args.data}: {n_rows} rows, {n_columns} features"
        if table.target is not None:
            text += f", {table.target.shape[1]} labels, {int(table.labeled.sum())} rows labelled"
        show(text)
    if n_rows == 0 or n_columns == 0:
        raise InputError(f"{args.data} has {n_rows} rows and {n_columns} features; give a table with some of both.")
    if need_labels and table.target is None:
        raise InputError(
            f"{args.data} was read without labels; say where they are with --labels FILE.xml, --label-columns NAME,... "
            "or --label-file FILE."
        )
    return table


def match_features(table: Any, source: str, model: Any, console: Console) -> Columns:
    """Return the table's columns in the order the model was fitted on: by name if both have names, else by number."""
    X = table.data
    wanted, given = model.feature_names, table.feature_names
    n_features = model.estimator.n_features_in_
    if wanted is not None and given is not None:
        position = {name: j for j, name in enumerate(given)}
        missing = [name for name in wanted if name not in position]
        if missing:
            raise InputError(
                f"{source} lacks {len(missing)} of the {len(wanted)} features that the model was fitted on, the first "
                f"is {missing[0]!r}; give the same columns."
            )
        known = {*wanted, *(model.label_names or ())}
        unknown = [name for name in given if name not in known]
        if unknown:
            console.note(f"{source}: {_more('column', unknown)} not in the model and not used.")
        order = [position[name] for name in wanted]
        if order != list(range(len(given))):
            X = X[:, order]
    elif X.shape[1] != n_features:
        raise InputError(
            f"{source} has {X.shape[1]} features, but the model was fitted on {n_features}; give the same columns "
            "(if it holds labels too, say which with --labels or --label-columns)."
        )
    return X


def match_labels(table: Any, source: str, model: Any, n_labels: int, console: Console) -> np.ndarray:
    """Return the table's labels (n, C) in the model's order."""
    given, wanted = table.label_names, model.label_names
    target: np.ndarray = table.target
    if given is not None and wanted is not None:
        position = {name: j for j, name in enumerate(given)}
        missing = [name for name in wanted if name not in position]
        if missing:
            raise InputError(
                f"{source} lacks {len(missing)} of the {len(wanted)} labels that the model predicts, the first is "
                f"{missing[0]!r}; give the same labels."
            )
        unknown = [name for name in given if name not in set(wanted)]
        if unknown:
            console.note(f"{source}: {_more('label', unknown)} not in the model and not counted.")
        return target[:, [position[name] for name in wanted]]
    if target.shape[1] != n_labels:
        raise InputError(
            f"{source} has {target.shape[1]} labels, but the model predicts {n_labels}; give the same labels."
        )
    return target


def dense_if_needed(X: Columns, steps: Sequence[tuple[str, Any]]) -> Columns:
    """Return X dense where the model's scaler subtracts means, which sparse rows cannot hold."""
    centred = any(getattr(step, "with_mean", False) for _, step in steps)
    is_sparse: bool = sparse.issparse(X)
    return X.toarray() if is_sparse and centred else X


def _more(what: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"the {what} {names[0]!r} is"
    return f"{len(names)} {what}s ({names[0]!r}, ...) are"
