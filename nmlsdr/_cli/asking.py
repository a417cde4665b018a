"""review --ask, --ask-rows and --random: what is not labelled, whole rows to label, and a random sample of labels."""

import argparse
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._errors import InputError, plural
from ..inspection import check_rows, rank_unknown
from ..inspection._other_lists import list_in_turn, list_queries, list_random
from ..inspection._review import Suspects
from ..inspection._row_labels import LabelList, draw_rows, label_columns
from ..inspection._verdicts import Columns, for_spreadsheets, names_or_numbers
from .console import Console
from .reading import prepare
from .residual_fit import fit_and_rank, fit_method, scaler_for
from .reviewed import cells_of, label_list_of
from .table import Table
from .writing import write_result

LEAST_LABELED = 50  # rows; before that a model does not know what it does not know
_WIDEST = 1000  # features of a table without columns that are written beside the labels
_EXCLUSIVE = ("--ask", "--ask-rows", "--random", "--kind")


def check_asking(args: argparse.Namespace) -> None:
    """Raise for options that exclude each other, before any work."""
    chosen = [name for name in _EXCLUSIVE if getattr(args, name[2:].replace("-", "_")) not in (None, "all")]
    if len(chosen) > 1 and ({"--random", "--ask-rows"} & {*chosen}):
        raise InputError(f"{chosen[0]} and {chosen[1]} exclude each other; leave one out.")
    if args.ask_rows is not None and (pages := [path for path in args.out if path.lower().endswith(".html")]):
        raise InputError(f"--ask-rows writes a file to fill in, such as rows.csv, and no page; got {pages[0]}.")


def rank_annotations(table: Table, args: argparse.Namespace, console: Console) -> tuple[Any, Suspects]:
    """Return the fitted method, and the annotations in the order of the list: doubtful ones, unknown ones, or both."""
    if args.random is not None:
        return None, _sample(table, args)
    if args.ask is None and args.kind != "open":
        return fit_and_rank(table, args, console)
    _note_few(table, args, console)
    if args.kind == "open" or not (table.file_labels != -1).any():  # all labels are verdicts, of which none is doubtful
        method = fit_method(table, args, console)
        return method, list_queries(_queries(method, table, args, args.ask, "entry"))
    method, suspects = fit_and_rank(table, args, console)
    return method, list_in_turn(suspects, _queries(method, table, args, args.ask, "entry"))


def _sample(table: Table, args: argparse.Namespace) -> Suspects:
    """The labels of --random."""
    n_known = int(((table.file_labels != -1) & (table.verdicts == -1)).sum())
    if args.random > n_known:
        raise InputError(
            f"--random {args.random} is more than the {n_known} known labels without a verdict; draw fewer."
        )
    return list_random(table.file_labels, table.verdicts, args.random)


def _queries(method: Any, table: Table, args: argparse.Namespace, n: int | None, by: str) -> Any:
    """The unknown entries or rows to ask about next."""
    scaler = scaler_for(args, table)
    X = table.data if scaler is None else scaler.fit_transform(table.data)
    y = table.target if table.votes is None else np.where(table.verdicts >= 0, table.verdicts, table.votes)
    queries = rank_unknown(method, X, y, n, by, verdicts=table.verdicts)
    if not len(queries.row):
        raise InputError(f"{args.data} has no unknown label to ask about; leave out --ask, --ask-rows and --kind open.")
    return queries


def _note_few(table: Table, args: argparse.Namespace, console: Console) -> None:
    """Say that the first rows should be drawn at random."""
    n_labeled = int(table.labeled.sum())
    if n_labeled < LEAST_LABELED:
        advice = f"label the first {LEAST_LABELED} at random: --ask-rows {LEAST_LABELED - n_labeled} --out rows.csv"
        console.note(
            f"{args.data}: {plural(n_labeled, 'row')} labelled, too few to tell which to label next; {advice}."
        )


# ---------------------------------------------------------------- whole rows


def ask_rows(table: Table, args: argparse.Namespace, console: Console) -> None:
    """Write the files of --ask-rows: rows to label, drawn at random from a table of which too few are labelled."""
    if table.target is None:
        n_rows = table.data.shape[0]
        nothing = np.zeros((n_rows, 0), dtype=np.int64)
        labeled = np.zeros(n_rows, dtype=bool)
        table = _with_checks(table, nothing, labeled)
    n_labeled = int(table.labeled.sum())
    if n_labeled < LEAST_LABELED:
        rows = draw_rows(np.flatnonzero(~table.labeled), table.groups, args.ask_rows)
        how = "drawn at random" + ", spread over the identifiers" * (table.ids is not None and table.groups is not None)
        console.note(
            f"{args.data}: {plural(n_labeled, 'row')} labelled, so these are {how}; from about 50 on a model asks."
        )
        if not len(rows):
            raise InputError(f"{args.data} has no unlabelled row; leave --ask-rows out.")
    else:
        complete, _ = prepare(table, args)
        method = fit_method(complete, args, console)
        rows = _queries(method, complete, args, args.ask_rows, "row").row
    columns = _row_columns(rows, table, args)
    for path in args.out:
        written = for_spreadsheets(columns) if path.lower().endswith((".csv", ".tsv")) or path == "-" else columns
        write_result(path, args, console, written, {}, hint=_hint(table, args))


def _with_checks(table: Table, target: Any, labeled: Any) -> Table:
    """A table that was read without labels, with none in the form of labels, and the checks of its rows."""
    return dataclasses.replace(
        table,
        target=target,
        file_labels=target,
        verdicts=target,
        labeled=labeled,
        checks=check_rows(cells_of(table), target),
    )


def _hint(table: Table, args: argparse.Namespace) -> str:
    if not table.target.shape[1]:
        return " Fill in its labels, and copy them into a column of the table that --label-list names."
    return " Fill in the labels, and pass the file to --reviewed."


def _row_columns(rows: Any, table: Table, args: argparse.Namespace) -> Columns:
    """The rows as they are, with their check, and the columns to fill in."""
    label_list = label_list_of(table, args)
    names = names_or_numbers(table.label_names, "label", table.target.shape[1])
    if not names:
        label_list = LabelList()
    fill_in = label_columns(table.target[rows], names, label_list)
    row_names = [*table.name_rows(rows), ("check", table.checks[rows])]
    reserved = {name.lower() for name, _ in row_names}
    for name, _ in fill_in:
        if name.strip().lower() in reserved:
            raise InputError(f"{args.data}: a label is called {name!r}, as a column of the file to write; rename it.")
    reserved |= {name.strip().lower() for name, _ in fill_in}
    cells = [] if args.no_cells else _cells(rows, table, args.show)
    shown = [(f"{name} (table)" if name.strip().lower() in reserved else name, values) for name, values in cells]
    return [*row_names, *fill_in, *shown]


def _cells(rows: Any, table: Table, chosen: Sequence[str] | None) -> Columns:
    """The cells of some rows, as the file has them."""
    if table.columns is not None:
        names = chosen or [*cells_of(table)]
        return [(name, np.array([table.columns[name].text(i) for i in rows], dtype=object)) for name in names]
    names = names_or_numbers(table.feature_names, "feature", table.data.shape[1])
    if len(names) > _WIDEST:
        return []
    block = table.data[rows]
    block = block.toarray() if sparse.issparse(block) else block
    return list(zip(names, block.T, strict=True))
