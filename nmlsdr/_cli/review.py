"""review: which given labels disagree with their neighbourhood, as a list and as a page on which people check them."""

import argparse
import os
import shlex
from pathlib import PurePath
from typing import Any

import numpy as np

from .._errors import InputError, plural, printable
from ..inspection import _entries, need_jinja
from ..inspection import _page as pages
from ..inspection import _verdicts as verdicts
from ..inspection._copies import find_copies
from ..inspection._images import thumbnails
from ..inspection._page_table import PageTable
from ..inspection._reasons import list_reasons, name_features, reason_columns
from ..tables import FEATURES
from .asking import ask_rows, check_asking, rank_annotations
from .checks import input_files
from .console import Console
from .reading import note_needed, prepare, read_data
from .residual_fit import scaler_for
from .reviewed import features_of
from .table import Table
from .writing import open_output, write_result, wrote

# Options that the next commands do not need, and those of them without a value.
_OWN = (
    "--out",
    "-o",
    "--kind",
    "--top",
    "--audit",
    "--folds",
    "--show",
    "--image",
    "--reviewed",
    "--model",
    "--ask",
    "--ask-rows",
    "--random",
)
_SHOWN = 5  # entries on the terminal
_FLAGS = ("--explain", "--no-cells", "--strict", "--quiet", "-q")


def review(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr review``."""
    if any(path.lower().endswith(".html") for path in args.out):
        need_jinja("The review page")
    check_asking(args)
    table = read_data(args, console, need_labels=args.ask_rows is None)
    check_columns(table, args)
    if args.ask_rows is not None:
        ask_rows(table, args, console)
        return 0
    table, _ = prepare(table, args)
    if args.random is None:
        note_needed(table, args, console)
        table = _judge_once(table, args, console)
    method, suspects = rank_annotations(table, args, console)
    for path in args.out:
        (_write_page if path.lower().endswith(".html") else _write_list)(path, suspects, method, table, args, console)
    if not console.quiet:
        _show_first(suspects.first(_SHOWN), table, console)
    return 0


def _judge_once(table: Table, args: argparse.Namespace, console: Console) -> Table:
    """The table without the copies of rows, which would defend each other's labels; say how many there are."""
    first = find_copies(features_of(table), table.file_labels)
    n_rows = len(np.unique(first))
    if n_rows == len(first):
        return table
    single = table.without_copies(first)
    n_repeated = int((single.n_copies > 1).sum())
    console.note(
        f"{args.data}: {plural(n_repeated, 'row')} of equal cells and labels stand {n_repeated + len(first) - n_rows} "
        "times in all; each is asked about once, without copies as neighbours, and a verdict counts for all of them."
    )
    return single


def _show_first(suspects: Any, table: Table, console: Console) -> None:
    """Print the first entries, a line each."""
    names = table.names_of_labels()
    words = {
        "forgotten": "not given, perhaps missing",
        "wrong": "given, perhaps wrongly",
        "open": "not labelled; the model is unsure: {probability:.2f}",
        "random": "of the random sample",
    }
    columns = (suspects.row, suspects.label, suspects.kind, suspects.score)
    for row, label, kind, score in zip(*(values.tolist() for values in columns), strict=True):
        number = f"row {table.number_rows(row)}"
        name = number if table.ids is None else f"{table.ids[row]} ({number})"
        description = words[kind].format(probability=score)
        print(f"  {printable(name)}: {printable(names[label])}, {description}", file=console.stream)


def _write_list(
    path: str, suspects: Any, method: Any, table: Table, args: argparse.Namespace, console: Console
) -> None:
    suspects = suspects.first(args.top)
    columns = verdicts.list_columns(suspects, table.names_of_labels(), name_all_rows(table))
    if table.n_copies is not None:
        columns.append(("copies", table.n_copies[suspects.row]))
    if args.explain:
        with console.step("find the neighbours"):
            columns += _neighbors(suspects, getattr(method, "embedding_", table.data), table, args)
        if hasattr(method, "coef_"):
            features = name_features(_columns_of_features(table), table.plan)
            columns += reason_columns(
                list_reasons(method, _scaled(table, args), suspects.row, suspects.label, features)
            )
    if path.lower().endswith((".csv", ".tsv")) or path == "-":
        columns = verdicts.for_spreadsheets(columns)
    counts = [
        (int((suspects.given == value).sum()), noun)
        for value, noun in ((0, "given 0"), (1, "given 1"), (-1, "open label"))
    ]
    write_result(path, args, console, columns, {}, *counts, hint=" Fill in its verdicts, and pass it to --reviewed.")


def _neighbors(suspects: Any, Z: Any, table: Table, args: argparse.Namespace) -> verdicts.Columns:
    """Id or number, given label (empty: unknown) and distance of the nearest labelled rows of each annotation's."""
    rows, place = np.unique(suspects.row, return_inverse=True)
    nearest = _entries.nearest_rows(Z, rows, table.labeled, _entries.N_NEAREST, metric=args.metric, n_jobs=args.jobs)
    columns: verdicts.Columns = []
    for j in range(min(map(len, nearest), default=0)):
        near, distances = (np.array([pairs[j][k] for pairs in nearest])[place] for k in (0, 1))
        labels = table.target[near, suspects.label]
        columns.append((f"near_{j + 1}", table.name_rows(near)[0][1]))
        if repeats(table.ids):
            columns.append((f"near_{j + 1}_row", table.number_rows(near)))
        columns.append((f"near_{j + 1}_given", np.where(labels == -1, "", labels.astype(str)).astype(object)))
        columns.append((f"near_{j + 1}_distance", verdicts.three_digits(distances)))
    return columns


def _columns_of_features(table: Table) -> list[str]:
    """The column of each feature."""
    return [name for name, n_features in table.features_of_columns() for _ in range(n_features)]


def _scaled(table: Table, args: argparse.Namespace) -> Any:
    """The features as the method was fitted on them."""
    scaler = scaler_for(args, table)
    return table.data if scaler is None else scaler.fit_transform(table.data)


def name_all_rows(table: Table) -> verdicts.Columns:
    """Return the columns that name the rows of the table in a list."""
    rows = np.arange(len(table.target))
    return [*table.name_rows(rows, reserved_names=verdicts.OWN_COLUMNS), ("check", table.checks)]


def repeats(ids: list[str] | None) -> bool:
    """Whether several rows have one id."""
    return ids is not None and len(set(ids)) < len(ids)


# ---------------------------------------------------------------- the page


def _write_page(
    path: str, suspects: Any, method: Any, table: Table, args: argparse.Namespace, console: Console
) -> None:
    with console.step("find the neighbours and their cells"):
        first = suspects.first(args.top or pages.TOP + (args.ask or args.random or 0))
        facts = page_facts(first, method, table, args, kind="random" if args.random is not None else "")
    page = pages.render_page(facts, source=PurePath(args.data).name, command=next_command(args))
    with console.step(f"write {path}"), open_output(path, input_files(args)) as file:
        file.write(page)
    hint = " Open it in a browser: one key decides one annotation."
    wrote(console, path, len(facts["rows"]), (len(facts["entries"]), "annotation"), hint=hint)


def check_columns(table: Table, args: argparse.Namespace) -> None:
    """Raise before any work for a column of --show or --image that the page could not show."""
    for option, names in (("--show", args.show or ()), ("--image", [args.image] if args.image else ())):
        for name in names:
            if args.no_cells:
                raise InputError(f"{option} and --no-cells exclude each other; leave one out.")
            if name not in (table.columns or ()):
                raise InputError(f"{args.data} has no column {name!r} for {option}; check the spelling.")


def page_facts(suspects: Any, method: Any, table: Table, args: argparse.Namespace, kind: str = "") -> dict[str, Any]:
    """What a page shows of these annotations; their kind is that of the arguments if no other one is said."""
    page_table = _page_table(table, args)
    near = {"metric": args.metric, "n_jobs": args.jobs}
    features = _scaled(table, args)
    facts = _entries.describe_entries(method, features, suspects, page_table, kind=kind or args.kind, **near)
    facts["always"] = [j for j, name in enumerate(facts["columns"]) if name in (args.show or ())]
    if args.image:
        (paths,) = page_table.cells(facts["rows"], [args.image])
        facts["pictures"] = thumbnails(os.path.dirname(os.path.abspath(args.data)), paths)
    return facts if table.n_copies is None else _entries.renumber_rows(facts, table.numbers, table.n_copies)


def _page_table(table: Table, args: argparse.Namespace) -> PageTable:
    """The cells that a page shows: of the columns that become features or are texts, or of those of --show."""
    names = verdicts.names_or_numbers(table.feature_names, "feature", table.data.shape[1])
    columns = names
    if table.columns is not None:
        columns = [c.name for c in table.plan.columns if c.kind in (*FEATURES, "text") and c.name != args.image]
    return PageTable(
        source=PurePath(args.data).name,
        label_names=table.names_of_labels(),
        verdicts=table.verdicts,
        labels=table.file_labels,
        columns=[] if args.no_cells else args.show or columns,
        named=name_all_rows(table),
        read=table.data if table.columns is None else table.columns,
        names=names,
        plan=None if table.columns is None else table.plan,
    )


def next_command(args: argparse.Namespace) -> str:
    """The table and the options that the next commands take too."""
    options = []
    skipped = False
    for word in args.words:
        name = word.split("=", 1)[0]
        if skipped or name in _OWN:
            skipped = not skipped and "=" not in word
        elif name not in _FLAGS:
            options.append(word)
    return shlex.join(options)
