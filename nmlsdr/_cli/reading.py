"""From the arguments to arrays: the table that a verb works on, in the model's order of columns."""

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
from nmlsdr.datasets._annotators import columns_like_labels
from nmlsdr.datasets._columns import nearest
from nmlsdr.datasets._survey import as_list

from .console import Console
from .reviewed import names_or_numbers, read_verdicts

_NO_LABEL = ("none", "no", "nothing", "nil", "-", "--", "n/a", "na", "0")
_MOST_LEAKS = 8  # that are named one by one
_FEW_ROWS = 50  # with fewer, a count or an age may well differ in every row

# The arguments that `read_table` has by the same name.
_SETTINGS = (
    *("label_columns", "label_file", "label_list", "separator", "no_label", "mask", "drop"),
    *("delimiter", "decimal", "encoding", "zero_based", "max_bytes", "max_features"),
)


def read_data(args: argparse.Namespace, console: Console, *, need_labels: bool = False, model: Any = None) -> Any:
    """Read the table that the arguments name, as `nmlsdr.datasets.read_table` does; with a model only its features.

    ``table.reviewed`` (n, C) marks the entries that --reviewed sets; None without it.
    """
    if args.data == "-":
        with standard_input() as path:
            named = argparse.Namespace(**{**vars(args), "data": path})
            return read_data(named, console, need_labels=need_labels, model=model)
    settings = {name: value for name in _SETTINGS if (value := getattr(args, name, None)) is not None}
    feature_names = n_features = None
    if model is None:
        text_columns, missing = args.one_hot or [], args.impute is not None
        text_columns = "auto" if "auto" in text_columns else text_columns
    else:  # an svmlight file does not give the number of its features
        feature_names, n_features = model.feature_names, model.estimator.n_features_in_
        text_columns, missing = model.text_columns, model.fills_cells
    with console.step(f"read {args.data}") as show:
        table = read_table(
            args.data,
            labels_xml=args.labels,
            id_column=args.id,
            feature_columns=feature_names,
            n_features=n_features,
            text_columns=text_columns,
            missing=missing,
            **settings,
        )
        n_rows, n_columns = table.data.shape
        text = f"read {args.data}: {n_rows} rows, {n_columns} features"
        if table.target is not None:
            text += f", {table.target.shape[1]} labels, {int(table.labeled.sum())} rows labelled"
        show(text)
    if args.encoding is None and table.encoding not in (None, "utf-8"):
        console.note(f"{args.data} is not UTF-8 and is read as {table.encoding}; if names look wrong, give --encoding.")
    if feature_names is None:
        _note_ids(table, args, console)
        _note_no_label(table, args, console)
        for name, reason in columns_like_labels(table).items():
            column = f"the column {name!r} is {reason}, so it may contain the labels"
            console.note(f"{args.data}: {column}; unless new rows have it too, add --drop {as_list([name])}.")
    if need_labels and table.target is None:
        options = "--labels FILE.xml, --label-columns NAME, --label-file FILE or --label-list NAME"
        raise InputError(f"{args.data} was read without labels; add {options}.")
    table.reviewed = None
    if getattr(args, "reviewed", None) is not None:
        read_verdicts(args.reviewed, table, args.data, args.id)
    return table


@contextlib.contextmanager
def standard_input() -> Iterator[str]:
    """Copy standard input to a file, and yield its path; the suffix follows from the first bytes."""
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
    """Note each feature that has a different whole number in every row: it may be an id."""
    X, names = table.data, table.feature_names
    if args.id is not None or names is None or sparse.issparse(X) or len(X) < _FEW_ROWS:
        return
    for j, name in enumerate(names):
        # The first rows decide nearly every column.
        if name not in table.text_names and all(_whole_and_different(X[:n, j]) for n in (_FEW_ROWS, len(X))):
            column = f"the column {name!r} has a different whole number in every row"
            console.note(f"{args.data}: {column}; if it names the rows, add --id {as_list([name])}.")


def _whole_and_different(cells: np.ndarray) -> bool:
    numbers = cells.astype(np.float64)
    return len(np.unique(numbers)) == len(numbers) and bool((numbers == np.rint(numbers)).all())


def _note_no_label(table: Any, args: argparse.Namespace, console: Console) -> None:
    """Note a listed label called none (or similar) that is the only one of its rows: it may mean "no label"."""
    if args.label_list is None:
        return
    for c, name in enumerate(table.label_names or ()):
        rows = table.target[:, c] == 1
        if name.lower() in _NO_LABEL and not (table.target[rows] == 1).sum() > rows.sum():
            label = f"the label {name!r} never occurs with another"
            console.note(
                f"{args.data}: {label}; if it means that a row has no label, add --no-label {as_list([name])}."
            )


def note_leaks(
    table: Any, target: np.ndarray, args: argparse.Namespace, console: Console, names: Sequence[str] | None = None
) -> list[str]:
    """Note each feature that alone predicts a label; it stays a feature, since it may be a real one."""
    from nmlsdr._report.leaks import find_leaks

    names = names_or_numbers(table.label_names, "label", target.shape[1]) if names is None else names
    found = find_leaks(table.data, target)
    notes = []
    for leak in found[:_MOST_LEAKS]:
        name = table.feature_names[leak.feature] if table.feature_names else None
        shown, advice = (leak.feature, "") if name is None else (repr(name), f" with --drop {as_list([name])}")
        label = f"the label {names[leak.label]!r} (average precision {leak.precision:.2f})"
        advice = f"if it was recorded with the labels, leave it out of the fit{advice}"
        notes.append(f"{args.data}: the feature {shown} alone predicts {label}; {advice}.")
    if len(found) > len(notes):
        notes.append(f"{args.data}: {len(found) - len(notes)} more features alone predict a label.")
    for sentence in notes:
        console.note(sentence)
    return notes


def match_features(table: Any, source: str, model: Any, console: Console) -> Any:
    """Return the table's columns in the order the model was fitted on: by name if both have names, else by number."""
    X = table.data
    wanted, given = model.feature_names, table.feature_names
    n_features = model.estimator.n_features_in_
    if wanted is not None and given is not None:
        others = [*given, *(table.unused or [])]
        _need(wanted, given, others, f"{source} lacks", "features that the model was fitted on", "columns")
        known = {*wanted, *(model.label_names or ()), *(table.label_names or ())}
        _note_unknown(console, source, "column", [name for name in others if name not in known], "used")
        if list(wanted) != list(given):
            position = {name: j for j, name in enumerate(given)}
            X = X[:, [position[name] for name in wanted]]
    elif X.shape[1] != n_features:
        counts = f"{source} has {X.shape[1]} features, but the model was fitted on {n_features}"
        raise InputError(f"{counts}; give the same columns (and name those of labels, with --label-columns).")
    return X


def match_labels(table: Any, args: argparse.Namespace, model: Any, n_labels: int, console: Console) -> np.ndarray:
    """Return the table's labels (n, C) in the model's order."""
    given, wanted = table.label_names, model.label_names
    target: np.ndarray = table.target
    if given is None or wanted is None:
        if target.shape[1] != n_labels:
            counts = f"{args.data} has {target.shape[1]} labels, but the model predicts {n_labels}"
            raise InputError(f"{counts}; give the same labels.")
        return target
    if args.label_list is None:
        _need(wanted, given, given, f"{args.data} lacks", "labels that the model predicts", "labels")
    _note_unknown(console, args.data, "label", [name for name in given if name not in wanted], "counted")
    # With --label-list, a label that occurs in no row is 0 in all of them.
    absent = np.where(target[:, 0] == -1, -1, 0)
    found = dict(zip(given, target.T, strict=True))
    return np.column_stack([found.get(name, absent) for name in wanted])


def _need(wanted: Sequence[str], given: Sequence[str], others: Sequence[str], lacks: str, what: str, same: str) -> None:
    """Raise an error with the first missing name, and the most similar one among the others."""
    present = set(given)
    missing = [name for name in wanted if name not in present]
    if missing:
        first = f"the first is {missing[0]!r}{nearest(missing[0], others)}"
        raise InputError(f"{lacks} {len(missing)} of the {len(wanted)} {what}, {first}; give the same {same}.")


def _note_unknown(console: Console, source: str, what: str, names: Sequence[str], purpose: str) -> None:
    if names:
        shown = f"the {what} {names[0]!r} is" if len(names) == 1 else f"{len(names)} {what}s ({names[0]!r}, ...) are"
        console.note(f"{source}: {shown} not in the model and not {purpose}.")
