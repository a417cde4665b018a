"""What is done with every column of a raw table, as a table of text and as options to paste."""

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import as_list, plural, printable, shorten
from ..tables import FEW_ROWS, HOW_LABELS, OTHERS, Column
from .console import Console
from .table import Table

# The options that say where the labels are, of which one is given.
SOURCES = ("labels", "label_columns", "label_file", "label_list", "annotators")
_FEW_LABELS = 10  # that are named of many; of so many each one's rows tell which are rare
_MOST_LINES = 50  # a table with more columns is shown by groups
_MOST_NAMES = 4  # columns of a group that are named


def show_plan(table: Table, source: str, console: Console) -> bool:
    """Print the plan of a table on stderr, unless every column is plainly a number; return whether it was printed."""
    plan = table.plan
    plain = plan.is_plain and not any(column.reason for column in plan.columns if column.kind == "number")
    if console.quiet or (plain and table.groups is None and not table.notes):
        return False
    first, *lines = plan_lines(table, source)
    console.note(first)
    for line in lines:
        print(printable(line), file=console.stream)
    return True


def _label_facts(table: Table) -> list[str]:
    """Return how many rows have each label, or the most frequent ones if there are many, and how many are rare."""
    if table.target is None or not table.label_names:
        return []
    counts = (table.target == 1).sum(axis=0).tolist()
    named = [f"{shorten(name, 20)!r} ({n})" for name, n in zip(table.label_names, counts, strict=True)]
    if len(named) > _MOST_LINES:
        order = sorted(range(len(named)), key=lambda label: -counts[label])[:_FEW_LABELS]
        facts = [f"the most frequent labels are {', '.join(named[label] for label in order)}"]
    else:
        facts = [f"the label{'s are' if len(named) > 1 else ' is'} {', '.join(named)}"]
    n_rare = sum(count < FEW_ROWS for count in counts)
    if n_rare and len(named) > _FEW_LABELS:
        advice = f"--min-count {FEW_ROWS} leaves them out"
        facts.append(f"{n_rare} of {len(named)} labels have fewer than {FEW_ROWS} rows ({advice})")
    return facts


def plan_lines(table: Table, source: str) -> list[str]:
    """Return what was done with every column: a sentence about the table, and a line for each column or group."""
    facts = [*_size_facts(table), *_label_facts(table)]
    if table.groups is not None:
        facts.append(_group_fact(table, table.groups))
    columns = table.plan.columns
    lines = _groups(columns) if len(columns) > _MOST_LINES else [(c.name, c.kind, c.reason) for c in columns]
    widths = [min(30, max((len(line[k]) for line in lines), default=0)) for k in (0, 1)]
    texts = [f"  {name:<{widths[0]}}  {kind:<{widths[1]}}  {reason}".rstrip() for name, kind, reason in lines]
    return [f"{source}: {'; '.join([*facts, *table.notes])}.", *texts]


def _size_facts(table: Table) -> list[str]:
    """How many rows, features and labels a table has, and how a list of labels is read."""
    n_rows, n_features = table.data.shape
    facts = [f"{plural(n_rows, 'row')}; the columns give {plural(n_features, 'feature')}"]
    if table.target is not None:
        n_labeled = int(table.labeled.sum())
        n_partly = int((table.labeled & (table.target == -1).any(axis=1)).sum())
        partly = f" ({n_partly} of them in part)" if n_partly else ""
        facts.append(f"{plural(table.target.shape[1], 'label')}, {plural(n_labeled, 'row')} labelled{partly}")
    if table.lists is not None:
        word = repr(table.lists.no_label) if table.lists.no_label else "no word"
        facts.append(f"labels are separated by {table.lists.separator!r}, and {word} stands for a row without labels")
    return facts


def _group_fact(table: Table, groups: np.ndarray) -> str:
    """Which rows stay together in cross-validation: those of one id, or those that are equal."""
    n_groups = len(np.unique(groups))
    if table.ids is not None:
        repeats = f"the id {table.plan.identifier!r} repeats ({n_groups} different), and rows with one id stay"
    else:
        n_copies = len(groups) - n_groups
        repeats = f"{'1 row is' if n_copies == 1 else f'{n_copies} rows are'} equal to another one, and such rows stay"
    return f"{repeats} together in cross-validation"


def _groups(columns: Sequence[Any]) -> list[tuple[str, str, str]]:
    """Return one line for the columns of each kind, or a line for each column of a rare kind."""
    lines = []
    for kind in dict.fromkeys(column.kind for column in columns):
        members = [column for column in columns if column.kind == kind]
        if len(members) <= 2:
            lines += [(column.name, kind, column.reason) for column in members]
        else:
            lines.append((f"{len(members)} columns", kind, _summary(kind, members)))
    return lines


def _summary(kind: str, columns: Sequence[Any]) -> str:
    """What was found in many columns of a kind, and some of their names."""
    names = ", ".join(column.name for column in columns[:_MOST_NAMES])
    remainder = f" and {len(columns) - _MOST_NAMES} more" if len(columns) > _MOST_NAMES else ""
    n_missing = sum("missing" in column.reason for column in columns)
    gaps = f"; {n_missing} of them lack values" if n_missing else ""
    reason = "" if kind in ("number", "category") else f"; {columns[0].reason}"
    return f"{names}{remainder}{gaps}{reason}"


def as_options(table: Table, arguments: dict[str, Any]) -> str:
    """Return the plan as options of the command line."""
    plan = table.plan
    options: dict[str, str | list[str] | None] = {
        **{name: arguments.get(name) for name in SOURCES},
        **_list_options(table.lists),
        **{name: str(value) for name in (*HOW_LABELS, "min_count") if (value := arguments.get(name)) is not None},
        **_column_options(plan.columns),
        **{name: arguments.get(name) for name in ("missing", "yes", "no")},
        "decimal": arguments.get("decimal") or _decimal_comma(plan.columns),
        **{name: arguments.get(name) for name in ("thousands", "delimiter", "encoding")},
    }
    words = [_as_option(name, value) for name, value in options.items() if value is not None and value != []]
    return " ".join([*words, *["--keep-case"] * plan.keep_case])


def _as_option(name: str, value: str | list[str]) -> str:
    """An option with a text or with names, as it is pasted into a shell."""
    return f"--{name.replace('_', '-')} {as_list(value) if isinstance(value, list) else shlex.quote(value)}"


def _list_options(lists: Any) -> dict[str, str | list[str] | None]:
    """How the labels of a row are listed in one cell; nothing if they are not."""
    return {} if lists is None else {"separator": lists.separator, "no_label": lists.no_label or ""}


def _column_options(columns: Sequence[Column]) -> dict[str, str | list[str] | None]:
    """The columns that --id, --drop and --one-hot name."""
    return {
        "id": next((column.name for column in columns if column.kind == "identifier"), None),
        "drop": [column.name for column in columns if column.kind in OTHERS and column.kind != "identifier"],
        "one_hot": [column.name for column in columns if column.kind == "category"],
    }


def _decimal_comma(columns: Sequence[Column]) -> str | None:
    """A comma if all columns of numbers have it as their decimal separator."""
    separators = {column.decimal for column in columns if column.kind == "number"}
    return "," if separators == {","} else None
