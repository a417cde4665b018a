"""report: one page about a table, its labels, what they depend on, and which of them to check."""

import argparse
import datetime
import shlex
from pathlib import PurePath
from typing import Any

from .. import __version__
from .._report import trial as trials
from .._report.description import (
    describe_components,
    describe_embedding,
    describe_labels,
    describe_neighbors,
    describe_table,
)
from .._report.page import render
from ..graph import neighbor_graph
from ..inspection import names_or_numbers, need_jinja
from . import residual_fit
from .checks import input_files
from .console import Console
from .reading import note_leaks, note_needed, prepare, read_data
from .residual_fit import NAME, WORDS, Pieces, fit_and_rank, scaler_for
from .review import check_columns, next_command, page_facts, repeats
from .table import Table
from .writing import open_output, wrote

REVIEWED = 100  # annotations of the list on the page


def report(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr report``."""
    need_jinja()  # before minutes of work
    table = read_data(args, console, need_labels=True)
    facts = _facts(table, args, console)
    with console.step(f"write {args.out}"):
        page = render(facts)
        with open_output(args.out, input_files(args)) as file:
            file.write(page.encode())
    wrote(console, args.out, len(table.target), (table.target.shape[1], "label"))
    return 0


def _facts(table: Table, args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Return the contents of the page as plain data."""
    y = table.target
    names = table.names_of_labels()
    rows = _row_names(table)
    with console.step("look at the columns"):
        described = _describe_columns(table, args)
        labels = describe_labels(y, names)
    notes = note_leaks(table, y, args, console)
    table, _ = prepare(table, args)
    check_columns(table, args)
    features = names_or_numbers(table.feature_names, "feature", table.data.shape[1])
    method, suspects = fit_and_rank(table, args, console, trials.EveryRule, lambda pieces: _later(pieces, args))
    Z = method.embedding_
    graph = neighbor_graph(Z, min(args.n_neighbors, len(Z) - 1), metric=args.metric, n_jobs=args.jobs)
    with console.step("find the neighbours and cells of what to review"):
        review = page_facts(suspects.first(REVIEWED), method, table, args) | {"linked": True}
    ringed = [(entry["row"], entry["label"]) for entry in review["entries"]]
    embedding = describe_embedding(Z, y, rows, ringed)
    embedding["texts"] = [", ".join(names[c] for c in carried) or "no label" for carried in embedding["labels"]]
    trial, curve = _tried(method, table, args, names, console) if args.folds else (None, None)
    notes += note_needed(table, args, console, least=0.1)
    return {
        "table": described,
        "notes": notes,
        "labels": labels,
        "method": NAME,
        "standardized": not args.no_standardize,
        "trial": trial,
        "no_trial": _reason_for_no_trial(args.folds),
        "curve": curve,
        "embedding": embedding,
        "together": describe_neighbors(graph, y, names),
        "components": describe_components(method, y, features, names),
        "review": review,
        "wrong": {"n": int((y != -1).sum())} | {kind: [*ends] for kind, ends in method.mistakes_._asdict().items()},
        "made": _provenance(args, trial),
    }


def _row_names(table: Table) -> list[str]:
    """The name of each row in pictures: its id, with its number if ids repeat, or its number."""
    names = table.ids or [str(i) for i in range(len(table.target))]
    return [f"{name} (row {i})" for i, name in enumerate(names)] if repeats(table.ids) else names


def _reason_for_no_trial(n_folds: int) -> str:
    """Why a page has no comparison, if it has none."""
    if n_folds:
        return f"{n_folds} folds need at least {2 * n_folds} labelled rows."
    return "the comparison was left out by --folds 0."


def _provenance(args: argparse.Namespace, trial: Any) -> dict[str, Any]:
    """How the page was made, and the options of the commands that follow it."""
    return {
        "command": shlex.join(["nmlsdr", "report", *args.words]),
        "next": next_command(args),
        "reviewed": f" --reviewed {shlex.quote(args.reviewed)}" if args.reviewed else "",
        "threshold": _recommended_threshold(trial),
        "date": datetime.date.today().isoformat(),
        "words": f"{NAME}: {WORDS}.",
        "version": __version__,
        "n_listed": REVIEWED,
    }


def _describe_columns(table: Table, args: argparse.Namespace) -> dict[str, Any]:
    """What the page says of the columns as they were read."""
    raw, columns = (table.data, table.feature_names) if table.plan is None else table.plan.collapsed(table.data)
    features = names_or_numbers(columns, "feature", raw.shape[1])
    source = PurePath(args.data).name
    described = describe_table(
        raw, table.target, source=source, feature_names=features, empty_is=args.empty_is or "unknown"
    )
    if table.lists is not None and table.lists.no_label:  # somebody looked at rows that have this word
        described["n_without_label"] = 0
    return described


def _recommended_threshold(trial: Any) -> str:
    """Return the value of --threshold for the commands on the page."""
    rare = trial and trial["rare"]
    return str(rare["best"]["threshold"]) if rare and rare["recommended"] else "f1"


def _later(pieces: Pieces, args: argparse.Namespace) -> float:
    """Expected seconds of the steps after the fit."""
    if not args.folds:
        return 0.0
    # The rival forest has trees of one kind, which take half of the time of both.
    one_fold = pieces.fit(residual_fit.TREES) + pieces.logistic + pieces.trees / 2 * trials.TREES / pieces.n_threads
    n_small = trials.CURVE_FOLDS * len(trials.CURVE_SHARES)
    return args.folds * one_fold + n_small * pieces.fit(trials.CURVE_TREES)


def _tried(method: Any, table: Table, args: argparse.Namespace, names: list[str], console: Console) -> tuple[Any, Any]:
    """The method beside its rivals in cross-validation, and its learning curve; None where rows are too few."""
    with console.step("cross-validate") as show:
        methods = {NAME: (WORDS, method), **trials.rivals(method, table.target, args.folds)}
        data = trials.Labelled(scaler_for(args, table), table.data, table.target, table.groups, show)
        trial = trials.run_trial(methods, data, names, n_folds=args.folds)
        show("cross-validate")
    with console.step("learning curve") as show:
        informative = trial is not None and trial["signal"]["informative"]
        curve = trials.learning_curve(method, data._replace(show=show), informative=informative)
        show("learning curve")
    return trial, curve
