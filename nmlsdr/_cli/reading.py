"""From the arguments to arrays: the table that a verb works on, in the model's order of columns, and notes about it.

Here is the verb plan, too; plan_text.py makes its text.
"""

import argparse
import contextlib
import dataclasses
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._checks.words import fold
from .._errors import InputError, as_list, plural, printable, shorten, some_of
from ..tables import (
    HOW_LABELS,
    Choices,
    Column,
    Form,
    Plan,
    Roles,
    encoder_of,
    read_table,
    refuse_missing,
    suffix_of,
)
from .console import Console
from .plan_text import SOURCES, as_options, plan_lines, show_plan
from .reviewed import enter_verdicts
from .table import Table

_MOST_LABELS = 8  # that a sentence names
_MOST_LEAKS = 8  # that are named one by one


def read_data(
    args: argparse.Namespace, console: Console, *, need_labels: bool = False, model: Any = None, encode: bool = True
) -> Table:
    """Read the table that the arguments name, as `nmlsdr.tables.read_table` does; with a model only its features.

    With ``encode=False`` the features are all NaN.
    """
    roles, form, how = _how_to_read(args, model, need_labels, encode)
    table = _open_table(args, console, roles, form, how)
    if table.plan is None:
        _check_gaps(table, args, args.impute is not None if model is None else model.fills_cells)
    elif model is None:
        table = dataclasses.replace(table, plan=dataclasses.replace(table.plan, labels=_labels(table, args)))
    has_new_plan = model is None and table.plan is not None
    _note_reading(table, args, console, has_new_plan)
    if table.target is not None:
        table = enter_verdicts(table, args, console)
    if need_labels:
        _check_labeled(table, args)
    if model is None and table.target is not None and table.labeled.any():
        _check_presences(table, args, console)
    return table


def _note_reading(table: Table, args: argparse.Namespace, console: Console, has_new_plan: bool) -> None:
    """Show a new plan, or the notes of the reader, and what differs from the table of a fit, which --strict refuses."""
    is_shown = has_new_plan and show_plan(table, args.data, console)
    for note in (*(() if is_shown else table.notes), *table.differences):
        console.note(f"{args.data}: {note}.")
    if table.differences and getattr(args, "strict", False):
        raise InputError(f"{args.data} is not as the table of the fit; mend it, or leave --strict out.")


def _open_table(args: argparse.Namespace, console: Console, roles: Roles, form: Form, how: Any) -> Table:
    """The table of a file or of the standard input; say how many rows, features and labels it has."""
    source = standard_input() if args.data == "-" else contextlib.nullcontext(args.data)
    with source as path, console.step(f"read {args.data}") as show:
        content = read_table(path, roles, form, plan=how)
        table = Table(**content, id_name=args.id or (content.plan and content.plan.identifier))
        text = f"read {args.data}: {plural(table.data.shape[0], 'row')}, {plural(table.data.shape[1], 'feature')}"
        if table.target is not None:
            text += f", {plural(table.target.shape[1], 'label')}, {plural(int(table.labeled.sum()), 'row')} labelled"
        show(text)
    return table


def _check_labeled(table: Table, args: argparse.Namespace) -> None:
    """Raise for a table without labels, or without a labelled row."""
    if table.target is None:
        options = "--labels FILE.xml, --label-columns NAME, --label-file FILE or --label-list NAME"
        raise InputError(f"{args.data} was read without labels; add {options}.")
    if not table.labeled.any():
        raise InputError(f"{args.data} has no labelled row; give its labels.")


def _check_presences(table: Table, args: argparse.Namespace, console: Console) -> None:
    """Raise for labels that no row is known to lack; note those that no row is known to have."""
    names = table.names_of_labels()
    is_present = (table.target == 1).any(axis=0)
    votes = table.target if table.votes is None else table.votes
    is_absent = ((votes >= 0) & (votes < 1)).any(axis=0)
    only_present = [name for name, lacks_zero in zip(names, is_present & ~is_absent, strict=True) if lacks_zero]
    if only_present:
        subject = "the label" if len(only_present) == 1 else f"{len(only_present)} of {len(names)} labels:"
        problem = f"no row is known to lack {subject} {some_of(only_present, _MOST_LABELS)}"
        raise InputError(f"{args.data}: {problem}; {_absence_advice(table, args)}.")
    never = [name for name, lacks_one in zip(names, ~is_present, strict=True) if lacks_one]
    if is_present.any() and never and not console.quiet:
        subject = plural(len(never), "label") + (" has" if len(never) == 1 else " have")
        console.note(f"{args.data}: {subject} no known 1 and cannot be learned: {some_of(never, _MOST_LABELS)}.")


def _absence_advice(table: Table, args: argparse.Namespace) -> str:
    """How to say that rows lack a label."""
    advice = "write 0 where somebody looked and it does not apply"
    if table.lists is not None:
        advice = "write none where somebody looked and no label applies (--no-label none)"
    if args.empty_is != "no" and (table.lists is not None or any(getattr(args, name) for name in SOURCES)):
        advice += ", or give --empty-is no if an empty cell means that it does not"
    if table.label_columns is not None and args.label_columns is not None:
        advice += ", or leave out what every row has (--drop)"
    return advice


def _how_to_read(args: argparse.Namespace, model: Any, need_labels: bool, encode: bool) -> tuple[Roles, Form, Any]:
    """Return the options of `read_table`; the last one is the plan of a model, or what is said for a new plan."""
    settings = _settings(args, model.plan if model is not None and need_labels else None)
    roles = _from_settings(Roles, settings)
    form = _from_settings(Form, settings)
    if model is None:
        how: Any = {name: getattr(args, name) for name in ("missing", "decimal", "thousands", "keep_case")}
        fitted = _plan_of_model(args)
        return roles, form, Choices(one_hot=tuple(args.one_hot or ()), only_checks=not encode, fitted=fitted, **how)
    plan = model.plan
    if plan is not None:
        plan = dataclasses.replace(plan, missing=tuple(sorted({*plan.missing, *map(fold, args.missing or ())})))
    elif args.missing:
        raise InputError(f"The model {args.model!r} was not fitted on a raw table; leave --missing out.")
    # An svmlight file does not give the number of its features.
    form = dataclasses.replace(form, n_features=model.estimator.n_features_in_, known_words=model.label_names or ())
    return dataclasses.replace(roles, feature_columns=model.feature_names), form, plan


def _settings(args: argparse.Namespace, model_plan: Plan | None) -> dict[str, Any]:
    """The settings of the arguments, and where a plan has the labels unless the arguments say so."""
    shown = [*(getattr(args, "show", None) or ()), *filter(None, [getattr(args, "image", None)])]
    settings = {
        "labels_xml": args.labels,
        "id_column": args.id,
        "shown": shown,
        **vars(args),
    }  # options are called so too
    if model_plan is not None:
        is_elsewhere = any(settings[name] is not None for name in SOURCES)
        for name, value in model_plan.labels.items():
            if (name in HOW_LABELS or not is_elsewhere) and settings[name] is None:
                settings[name] = value
    return settings


def _from_settings(kind: Any, settings: dict[str, Any]) -> Any:
    """An instance of a data class whose fields have the settings of their names."""
    names = [field.name for field in dataclasses.fields(kind)]
    return kind(**{name: settings[name] for name in names if settings.get(name) is not None})


def _check_gaps(table: Table, args: argparse.Namespace, is_filled: bool) -> None:
    """Raise for the first missing feature of a table without a plan that nobody fills in."""
    gaps = np.argwhere(np.isnan(table.data)) if isinstance(table.data, np.ndarray) else None
    if gaps is None and is_filled:
        raise InputError(f"{args.data}: sparse rows have no missing values; leave --impute out, or save dense rows.")
    if gaps is not None and len(gaps) and not is_filled:
        row, column = gaps[0]
        name = table.feature_names[column] if table.feature_names else str(column)
        problem = "the value is missing; fill it in (--impute median at the fit) or drop the row"
        raise InputError(f"{args.data}, row {row + 1}, column {shorten(name)!r}: {problem}.")


def _plan_of_model(args: argparse.Namespace) -> Plan | None:
    """Return the plan of --model, for a table that is compared with that of its fit; None without this option."""
    if getattr(args, "model", None) is None:
        return None
    from .._model.reading import open_model  # which few commands need

    if (plan := open_model(args.model).plan) is None:
        raise InputError(f"{args.model} was not fitted on a table whose columns have names; leave --model out.")
    return plan


@contextlib.contextmanager
def standard_input() -> Iterator[str]:
    """Copy standard input to a file, and yield its path; the suffix follows from the first bytes."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "standard-input")
        with open(copy, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        path = copy + suffix_of(copy)
        os.rename(copy, path)
        yield path


def _labels(table: Table, args: argparse.Namespace) -> dict[str, Any]:
    """Return where the labels of a table are, for the tables that a model is used on."""
    lists = table.lists
    source = "label_list" if args.annotators is None else "annotators"
    how = {name: value for name in HOW_LABELS if (value := getattr(args, name)) is not None}
    if lists is not None:
        return {source: getattr(args, source), "separator": lists.separator, "no_label": lists.no_label or "", **how}
    return how if args.labels is args.label_columns is None else {"label_columns": table.label_columns, **how}


def prepare(table: Table, args: argparse.Namespace) -> tuple[Table, Any]:
    """Fill missing values in by the median or the mean of their columns (--impute).

    Returns
    -------
    table : Table
        Without missing values.
    encoder : TableEncoder or None
        The fitted step that does with new rows what was done with these; None if these were complete numbers. Then
        ``table.plan``, if there is one, needs no step, and says how missing values of new rows are filled.
    """
    plan = table.plan
    named = table.feature_names is not None
    if plan is None and args.impute is not None and isinstance(table.data, np.ndarray):
        names = table.feature_names or map(str, range(table.data.shape[1]))
        plan = Plan(tuple(Column(name, "number") for name in names))
    if plan is None:
        return table, None
    filled = plan.filled(table.data, args.impute or "median")
    if args.impute is None and plan.is_plain and not np.isnan(table.data).any():
        return dataclasses.replace(table, plan=filled), None
    prepared = dataclasses.replace(table, plan=filled, data=filled.fill_in(table.data))
    return prepared, encoder_of(filled, args.impute or "median", named)


def note_leaks(
    table: Table, target: np.ndarray, args: argparse.Namespace, console: Console, names: Sequence[str] | None = None
) -> list[str]:
    """Note each feature that alone predicts a label; it stays a feature, since it may be a real one."""
    from .._report.leaks import find_leaks

    names = names or table.names_of_labels()
    X, features = (table.data, table.feature_names) if table.plan is None else table.plan.collapsed(table.data)
    text = "look for target leakage"
    with console.step(text) as show:
        leaks = find_leaks(X, target, show=lambda done, total: show(f"{text}: feature {done} of {total}"))
        show(text)
    notes = []
    for leak in leaks[:_MOST_LEAKS]:
        name = features[leak.feature] if features else None
        shown, advice = (leak.feature, "") if name is None else (repr(name), f" with --drop {as_list([name])}")
        label = f"the label {names[leak.label]!r} (average precision {leak.precision:.2f})"
        advice = f"if it was recorded with the labels, leave it out of the fit{advice}"
        notes.append(f"{args.data}: the feature {shown} alone predicts {label}; {advice}.")
    if len(leaks) > len(notes):
        notes.append(f"{args.data}: each of {plural(len(leaks) - len(notes), 'more feature')} alone predicts a label.")
    for sentence in notes:
        console.note(sentence)
    return notes


def note_needed(table: Table, args: argparse.Namespace, console: Console, least: float = 0.3) -> list[str]:
    """Note each column of a table without gaps without which F1 falls by `least`: it may restate the labels."""
    from .._report.needed import needed_by_trial

    notes = []
    with console.step("look for columns that restate the labels"):
        needed = needed_by_trial(table.data, table.target, table.features_of_columns(), least)
    for column in needed:
        fall = f"F1 falls from {column.before:.0%} to {column.after:.0%} if the cells of {column.name!r} are shuffled"
        notes.append(f"{args.data}: {fall}; is it known before the labels are? If not, leave it out with --drop.")
        console.note(notes[-1])
    return notes


def match_features(table: Table, source: str, model: Any, console: Console) -> Table:
    """Return the table with columns in the order of the model's fit: by name if both have names, else by number."""
    if table.plan is not None:  # the reader has done that
        _note_unused(table, source, model, console)
        return table
    if model.feature_names is not None and table.feature_names is not None:
        return _match_names(table, source, model, console)
    n_features = model.estimator.n_features_in_
    n = table.data.shape[1]
    if n != n_features:
        raise InputError(f"{source} has {n} features, but the model was fitted on {n_features}; give those.")
    return table


def _match_names(table: Table, source: str, model: Any, console: Console) -> Table:
    """The table with the columns that the model names, in its order; others are noted, missing ones refused."""
    fitted_names = list(model.feature_names)
    table_names = list(table.feature_names or ())
    column_names = [*table_names, *(table.unused or [])]
    refuse_missing(source, fitted_names, column_names, "columns that the model was fitted on")
    known = {*fitted_names, *(model.label_names or ()), *(table.label_columns or ())}
    _note_unknown(console, source, "column", [name for name in column_names if name not in known], "used")
    if fitted_names == table_names:
        return table
    position = {name: j for j, name in enumerate(table_names)}
    return dataclasses.replace(table, data=table.data[:, [position[name] for name in fitted_names]])


def _note_unused(table: Table, source: str, model: Any, console: Console) -> None:
    """Say which columns the plan of a model neither uses nor knows as labels."""
    labels = model.plan.labels
    lists = [labels.get("label_list"), *labels.get("annotators", ())]
    label_names = {
        *(model.label_names or ()),
        *(table.label_columns or ()),
        *labels.get("label_columns", ()),
        *lists,
    }
    unused = [name for name in table.unused or () if name not in label_names]
    _note_unknown(console, source, "column", unused, "used")


def match_labels(table: Table, args: argparse.Namespace, model: Any, n_labels: int, console: Console) -> np.ndarray:
    """Return the table's labels (n, C) in the model's order."""
    table_names = table.label_names
    fitted_names = model.label_names
    target: np.ndarray = table.target
    if table_names is None or fitted_names is None:
        if target.shape[1] != n_labels:
            raise InputError(f"{args.data}: {plural(target.shape[1], 'label')}, the model has {n_labels}; give all.")
        return target
    if table.lists is None:
        refuse_missing(args.data, fitted_names, table_names, "labels that the model predicts")
    _note_unknown(console, args.data, "label", [name for name in table_names if name not in fitted_names], "counted")
    # With --label-list, a label that occurs in no row is 0 in all of them.
    absent = np.where(target[:, 0] == -1, -1, 0)
    columns = dict(zip(table_names, target.T, strict=True))
    return np.column_stack([columns.get(name, absent) for name in fitted_names])


def _note_unknown(console: Console, source: str, noun: str, names: Sequence[str], purpose: str) -> None:
    if names:
        shown = f"the {noun} {names[0]!r} is" if len(names) == 1 else f"{len(names)} {noun}s ({names[0]!r}, ...) are"
        console.note(f"{source}: {shown} not in the model and not {purpose}.")


# ---------------------------------------------------------------- what is done with every column


def plan(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr plan``."""
    table = read_data(args, Console(quiet=True, stream=io.StringIO()), encode=False)
    if table.plan is None:
        raise InputError(f"{args.data} holds sparse rows or an array; all columns are features, so go on with fit.")
    for line in plan_lines(table, args.data):
        print(printable(line))
    print(printable(f"The same as options: {as_options(table, vars(args))}"))
    return 0
