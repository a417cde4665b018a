"""From the arguments to arrays: the table that a verb works on, in the model's order of columns."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from nmlsdr._errors import InputError
from nmlsdr.datasets import read_table
from nmlsdr.datasets._columns import nearest
from nmlsdr.datasets._survey import as_list

from .console import Console
from .reviewed import set_reviewed

__all__ = ["Columns", "dense_if_needed", "input_files", "match_features", "match_labels", "read_data"]

_NO_LABEL = ("none", "no", "nothing", "nil", "-", "--", "n/a", "na", "0")
_FEW_ROWS = 50  # with fewer, a count or an age may well differ in every row

Columns = Any  # ndarray or csr_array (n, D)


def input_files(args: argparse.Namespace) -> list[str]:
    """Return the files that the arguments name as inputs."""
    names = ("model", "data", "labels", "label_file", "mask", "reviewed")
    return [value for value in (getattr(args, name, None) for name in names) if value not in (None, "-")]


def read_data(
    args: argparse.Namespace,
    console: Console,
    *,
    need_labels: bool = False,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
    asked: tuple[Sequence[str], bool] | None = None,
) -> Any:
    """Return the table of the arguments, as `nmlsdr.datasets.read_table` does; only these features of a model.

    `asked` says which columns of words a model takes and whether features may be missing; None: the arguments say so.

    ``table.reviewed`` (n, C) marks the entries that --reviewed sets; None without it.
    """
    if args.data == "-":
        with standard_input() as path:
            named = argparse.Namespace(**{**vars(args), "data": path})
            return read_data(
                named, console, need_labels=need_labels, n_features=n_features, feature_names=feature_names, asked=asked
            )
    limits = {name: getattr(args, name) for name in ("max_bytes", "max_features") if getattr(args, name) is not None}
    if asked is None:
        one_hot = getattr(args, "one_hot", None) or []
        asked = ("auto" if "auto" in one_hot else one_hot, getattr(args, "impute", None) is not None)
    with console.step(f"read {args.data}") as show:
        table = read_table(
            args.data,
            labels_xml=args.labels,
            label_columns=args.label_columns,
            label_file=args.label_file,
            mask=getattr(args, "mask", None),
            label_list=args.label_list,
            separator=args.separator,
            no_label=args.no_label,
            id_column=args.id,
            drop=args.drop,
            feature_columns=feature_names,
            text_columns=asked[0],
            missing=asked[1],
            delimiter=args.delimiter,
            decimal=args.decimal,
            encoding=args.encoding,
            n_features=n_features,
            zero_based=args.zero_based,
            **limits,
        )
        n_rows, n_columns = table.data.shape
        text = f"read {args.data}: {n_rows} rows, {n_columns} features"
        if table.target is not None:
            text += f", {table.target.shape[1]} labels, {int(table.labeled.sum())} rows labelled"
        show(text)
    if args.encoding is None and table.encoding not in (None, "utf-8"):
        console.note(
            f"{args.data} is not UTF-8 and is read as {table.encoding}; if names look wrong, say its --encoding."
        )
    if feature_names is None:
        _note_ids(table, args, console)
        _note_no_label(table, args, console)
    if need_labels and table.target is None:
        raise InputError(
            f"{args.data} was read without labels; say where they are with --labels FILE.xml, --label-columns NAME, "
            "--label-file FILE or --label-list NAME."
        )
    table.reviewed = None
    if getattr(args, "reviewed", None) is not None:
        set_reviewed(args.reviewed, table, args.data, args.id)
    return table


@contextlib.contextmanager
def standard_input() -> Iterator[str]:
    """Standard input as a file whose suffix its first bytes decide."""
    with tempfile.TemporaryDirectory() as folder:
        stream = sys.stdin.buffer
        begin = stream.read(1 << 16)
        packed = begin.startswith(b"\x1f\x8b")
        kinds = ((b"PAR1", ".parquet"), (b"PK\x03\x04", ".npz"))
        suffix = next((suffix for magic, suffix in kinds if begin.startswith(magic)), None)
        if suffix is None:
            shown = zlib.decompressobj(31).decompress(begin, 1 << 16) if packed else begin
            is_arff = any(line.strip().lower().startswith(b"@relation") for line in shown.split(b"\n"))
            suffix = (".arff" if is_arff else ".csv") + (".gz" if packed else "")
        path = os.path.join(folder, f"standard-input{suffix}")
        with open(path, "wb") as file:
            file.write(begin)
            shutil.copyfileobj(stream, file)
        yield path


def _note_ids(table: Any, args: argparse.Namespace, console: Console) -> None:
    """Say it of a feature that has another whole number in every row: it may be an id."""
    X, names = table.data, table.feature_names
    if args.id is not None or names is None or sparse.issparse(X) or len(X) < _FEW_ROWS:
        return
    for j, name in enumerate(names):
        if name in table.text_names:
            continue
        head = X[:_FEW_ROWS, j].astype(np.float64)
        if len(np.unique(head)) == len(head) and (head == np.rint(head)).all():
            column = X[:, j].astype(np.float64)
            if (column == np.rint(column)).all() and len(np.unique(column)) == len(column):
                console.note(
                    f"{args.data}: the column {name!r} has another whole number in every row; if it names the rows, "
                    f"say --id {as_list([name])}."
                )


def _note_no_label(table: Any, args: argparse.Namespace, console: Console) -> None:
    """Say it of a listed label that is called none and never stands beside another: it may mean that there is none."""
    if args.label_list is None:
        return
    for c, name in enumerate(table.label_names or ()):
        rows = table.target[:, c] == 1
        if name.lower() in _NO_LABEL and not (table.target[rows] == 1).sum() > rows.sum():
            console.note(
                f"{args.data}: the label {name!r} never stands beside another; if it means that a row has no label, "
                f"say --no-label {as_list([name])}."
            )


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
                f"is {missing[0]!r}{nearest(missing[0], [*given, *(table.unused or [])])}; give the same columns."
            )
        labels = {*(model.label_names or ()), *(table.label_names or ())}
        unknown = [name for name in [*given, *(table.unused or [])] if name not in {*wanted, *labels}]
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


def match_labels(
    table: Any, source: str, model: Any, n_labels: int, console: Console, *, listed: bool = False
) -> np.ndarray:
    """Return the table's labels (n, C) in the model's order; `listed` if they stood in lists."""
    given, wanted = table.label_names, model.label_names
    target: np.ndarray = table.target
    if given is not None and wanted is not None:
        position = {name: j for j, name in enumerate(given)}
        missing = [name for name in wanted if name not in position]
        if missing and listed:  # a label that no row of a list has is one that all do without
            absent = np.where(target[:, :1] == -1, -1, 0).repeat(len(missing), axis=1)
            target = np.hstack([target, absent])
            position |= {name: len(given) + i for i, name in enumerate(missing)}
        elif missing:
            raise InputError(
                f"{source} lacks {len(missing)} of the {len(wanted)} labels that the model predicts, the first is "
                f"{missing[0]!r}{nearest(missing[0], given)}; give the same labels."
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
