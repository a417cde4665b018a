"""report: one page about a table, its labels, what they depend on, and which of them to check."""

import argparse
import shlex
from typing import Any

from nmlsdr._errors import InputError

from .arguments import COMMON, FITTING, KIND, LABELS_NEEDED, add_verb, number, option, output
from .console import Console

REVIEWED = 50  # annotations on the page


def add_parsers(verbs: Any) -> None:
    """Describe the verb."""
    n_folds = number(int, lambda value: value == 0 or value >= 2, "a whole number of at least 2, or 0")
    text = "folds of the comparison, 0 to leave it out (default: 5); it takes most of the time"
    own = {"--folds": option("N", text, n_folds, default=5)}
    add_verb(
        verbs,
        "report",
        report,
        "write a page about the data: labels, embedding, what helps, what to review",
        "Fit on the table and write one self-contained HTML page: what was read, how often labels are "
        "given and which go together, the embedding, what its components are made of, the graph, cross-validated "
        "measures compared with logistic regression, a forest and ML-kNN, and the first annotations to review.",
        FITTING | KIND | own | COMMON | output(".html"),
        labels=LABELS_NEEDED,
    )


def report(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr report``."""
    from nmlsdr._report.page import need_jinja, render

    from .reading import read_data
    from .writing import check_out, input_files, open_output, wrote

    check_out(args, (".html",))
    need_jinja()  # before minutes of work
    table = read_data(args, console, need_labels=True)
    facts = _facts(table, args, console)
    with console.step(f"write {args.out}"):
        page = render(facts)
        with open_output(args.out, input_files(args)) as file:
            file.write(page.encode())
    wrote(console, args.out, len(table.target), (table.target.shape[1], "label"))
    return 0


def _facts(table: Any, args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Return the contents of the page as plain data."""
    from pathlib import PurePath

    import numpy as np
    from sklearn.base import clone

    from nmlsdr import __version__
    from nmlsdr._report import fit as fits
    from nmlsdr._report import table as tables
    from nmlsdr._report import trial as trials
    from nmlsdr.graph import neighbor_graph

    from .method import NAME, WORDS, fit_and_rank, scaler_for
    from .preparing import prepare
    from .reading import note_leaks
    from .reviewed import names_or_numbers

    y = table.target
    known, given = y != -1, y == 1
    if not known.any():
        raise InputError(f"{args.data} has no labelled row, so there is nothing to report on; give its labels.")
    names = names_or_numbers(table.label_names, "label", y.shape[1])
    rows = table.ids or [str(i) for i in range(len(y))]
    with console.step("look at the columns"):
        source = PurePath(args.data).name
        features = names_or_numbers(table.feature_names, "feature", table.data.shape[1])
        described = tables.describe_table(table.data, given, known, source=source, feature_names=features)
        labels = tables.describe_labels(given, known, names)
        notes = note_leaks(table, y, args, console)
    prepare(table, args, console)
    X, features = table.data, names_or_numbers(table.feature_names, "feature", table.data.shape[1])
    method, suspects, buried = fit_and_rank(table, args, console)
    Z, shown = method.embedding_, suspects.first(REVIEWED)
    near = {"metric": args.metric, "n_jobs": args.jobs}
    graph = neighbor_graph(Z, min(args.n_neighbors, len(Z) - 1), **near)
    with console.step("find the neighbours of what to review"):
        listed = fits.describe_suspects(Z, shown, given, known, rows, names, **near)
    embedding = fits.describe_embedding(Z, given, known, rows, np.unique(shown.row))
    embedding["texts"] = [", ".join(names[c] for c in carried) or "no label" for carried in embedding["labels"]]
    trial, no_trial = None, "left out by --folds 0."
    if args.folds:
        no_trial = f"{args.folds} folds need at least {2 * args.folds} labelled rows."
        trend = clone(method).set_params(residual_weight=0.0)
        methods = {
            NAME: (WORDS, method),
            "trend alone": ("the mean of the ridge regression and the forest", trend),
            **trials.baselines(y, args.folds, args.n_neighbors, args.jobs),
        }
        with console.step("cross-validate") as show:
            trial = trials.run_trial(methods, scaler_for(args, X), X, y, names, n_folds=args.folds, show=show)
            show("cross-validate")
    return {
        "table": described,
        "notes": notes,
        "labels": labels,
        "method": NAME,
        "standardized": not args.no_standardize,
        "trial": trial,
        "no_trial": no_trial,
        "embedding": embedding,
        "components": fits.describe_components(method, given, known, features, names),
        "graph": fits.describe_graph(graph, args.n_neighbors, known.any(axis=1), rows),
        "kind": args.kind,
        "buried": buried,
        "n_suspects": len(suspects.row),
        "suspects": listed,
        "made": {
            "command": shlex.join(["nmlsdr", "report", *args.words]),
            "words": f"{NAME}: {WORDS}.",
            "version": __version__,
        },
    }
