"""plan: what is done with every column of a table, as one table of text and as options to paste."""

import argparse
import csv
import io
import shlex
from collections.abc import Iterable
from typing import Any

import numpy as np

from nmlsdr._errors import printable
from nmlsdr.datasets._plan import OTHERS
from nmlsdr.datasets._statistics import MISSING

from .console import Console

#: The options that say where the labels are, of which one is given.
SOURCES = ("labels", "label_columns", "label_file", "label_list", "annotators")
MOST_LINES = 50  # a table with more columns is shown by groups
MOST_NAMES = 4  # columns of a group that are named


def show_plan(table: Any, args: argparse.Namespace, console: Console) -> None:
    """Print the plan of a table on stderr, unless every column is plainly a number."""
    plan = table.plan
    plain = plan.is_plain and not any(column.reason for column in plan.columns if column.kind == "number")
    if console.quiet or (plain and table.groups is None and not table.notes):
        return
    first, *lines = plan_lines(table, args.data)
    console.note(first)
    for line in lines:
        print(printable(line), file=console.stream)


def plan_lines(table: Any, source: str) -> list[str]:
    """Return what was done with every column: a sentence about the table, and a line for each column or group."""
    n_rows, n_features = table.data.shape
    facts = [f"{n_rows} rows; the columns give {n_features} feature{'s' * (n_features > 1)}"]
    if table.target is not None:
        n_labels = table.target.shape[1]
        facts.append(f"{n_labels} label{'s' * (n_labels > 1)}, {int(table.labeled.sum())} rows labelled")
    if table.lists is not None:
        none = f"{table.lists.no_label!r} means no label" if table.lists.no_label else "no word means no label"
        facts.append(f"labels are separated by {table.lists.separator!r}, and {none}")
    if table.groups is not None:
        n_more = n_rows - len(np.unique(table.groups))
        facts.append(f"{n_more} rows repeat another one and stay together in cross-validation")
    columns = table.plan.columns
    groups = _groups(columns) if len(columns) > MOST_LINES else [(c.name, c.kind, c.reason) for c in columns]
    widths = [min(30, max((len(group[k]) for group in groups), default=0)) for k in (0, 1)]
    lines = [f"  {name:<{widths[0]}}  {kind:<{widths[1]}}  {reason}".rstrip() for name, kind, reason in groups]
    return [f"{source}: {'; '.join([*facts, *table.notes])}.", *lines]


def _groups(columns: Iterable[Any]) -> list[tuple[str, str, str]]:
    """Return one line for the columns of each kind: how many, what was found in them, and some names."""
    found: dict[str, list[Any]] = {}
    for column in columns:
        found.setdefault(column.kind, []).append(column)
    lines = []
    for kind, members in found.items():
        if len(members) <= 2:
            lines += [(column.name, kind, column.reason) for column in members]
            continue
        names = ", ".join(column.name for column in members[:MOST_NAMES])
        more = f" and {len(members) - MOST_NAMES} more" if len(members) > MOST_NAMES else ""
        n_missing = sum("missing" in column.reason for column in members)
        holes = f"; {n_missing} of them lack values" if n_missing else ""
        reason = next((f"; {c.reason}" for c in members if kind not in ("number", "category")), "")
        lines.append((f"{len(members)} columns", kind, f"{names}{more}{holes}{reason}"))
    return lines


def as_options(table: Any, words: dict[str, Any]) -> str:
    """Return the plan as options of the command line."""
    plan, lists = table.plan, table.lists
    numbers = [column for column in plan.columns if column.kind == "number"]
    options: dict[str, str | list[str] | None] = {
        **{name: words.get(name) for name in SOURCES},
        "separator": lists and lists.separator,
        "no_label": lists and (lists.no_label or ""),
        "id": plan.identifier,
        "drop": [column.name for column in plan.columns if column.kind in OTHERS and column.kind != "identifier"],
        "one_hot": [column.name for column in plan.columns if column.kind == "category"],
        "missing": [word for word in plan.missing if word not in MISSING],
        "decimal": "," if numbers and all(column.decimal == "," for column in numbers) else None,
    }
    shown = [
        f"--{name.replace('_', '-')} {as_list(value) if isinstance(value, list) else shlex.quote(value)}"
        for name, value in options.items()
        if value is not None and value != []
    ]
    return " ".join([*shown, *["--keep-case"] * plan.keep_case])


def as_list(names: list[str]) -> str:
    """Return names as one argument of the command line: commas between them, and quoted for the shell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return shlex.quote(text.getvalue())
