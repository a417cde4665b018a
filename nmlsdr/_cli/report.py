"""report: one page about a table, its labels, what they depend on, and which of them to check."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from nmlsdr._errors import InputError

from .arguments import add_common, add_data, add_graph, add_out, add_preparing, add_reviewed, check_suffix
from .console import Console, RunError
from .review import add_kind, say_buried

__all__ = ["add_parsers"]

REVIEWED = 50  # annotations on the page


def add_parsers(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        "report",
        help="write a page about the data: labels, embedding, what helps, what to review",
        description="Fit on the table and write one self-contained HTML page: what was read, how often labels are "
        "given and which go together, the embedding, what its components are made of, the graph, cross-validated "
        "measures beside a logistic regression and ML-kNN on the features, and the first annotations to review.",
    )
    add_data(parser, labels="needed, but for npz and svmlight, which hold them apart", mask=True)
    add_preparing(parser)
    add_graph(parser)
    add_kind(parser)
    add_reviewed(parser)
    parser.add_argument(
        "--folds",
        type=_folds,
        default=5,
        metavar="N",
        help="folds of the comparison, 0 to leave it out (default: 5); it takes most of the time",
    )
    add_common(parser)
    add_out(parser, ".html")
    parser.set_defaults(run=report)


def _folds(text: str) -> int:
    if not text.isdecimal() or int(text) == 1:
        raise argparse.ArgumentTypeError(f"it must be a whole number of at least 2, or 0, got {text!r}")
    return int(text)


def report(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr report``."""
    from nmlsdr._report.page import render

    from .reading import input_files, read_data
    from .writing import check_target, open_output, wrote

    check_suffix(args.out, (".html",))
    check_target(args.out, input_files(args))
    _need_jinja()
    table = read_data(args, console, need_labels=True)
    facts = _facts(table, args, console)
    with console.step(f"write {args.out}"):
        page = render(facts)
        try:
            with open_output(args.out, input_files(args)) as file:
                file.write(page.encode())
        except BrokenPipeError:
            raise
        except OSError as error:
            raise RunError(f"The output {args.out!r} could not be written ({error.strerror or error}).") from None
    wrote(console, args.out, len(table.target), (table.target.shape[1], "label"))
    return 0


def _need_jinja() -> None:
    import importlib.util

    if importlib.util.find_spec("jinja2") is None:  # told before minutes of work, not after
        raise ImportError("The report needs jinja2; install it with pip install 'nmlsdr[cli]'.")


def _facts(table: Any, args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Everything that the page says, as plain data."""
    from pathlib import PurePath

    import numpy as np
    from sklearn.base import clone

    from nmlsdr import __version__
    from nmlsdr._report import fit as fits
    from nmlsdr._report import table as tables
    from nmlsdr._report import trial as trials
    from nmlsdr.inspection import buried_kind

    from .method import recommended, scaler_for
    from .preparing import prepare

    y = table.target
    known, given = y != -1, y == 1
    if not known.any():
        raise InputError(f"{args.data} has no labelled row, so there is nothing to report on; give its labels.")
    names = table.label_names or [f"label_{c}" for c in range(y.shape[1])]
    rows = table.ids or [str(i) for i in range(len(y))]
    with console.step("look at the columns"):
        source, features = PurePath(args.data).name, _feature_names(table)
        described = tables.describe_table(table.data, given, known, source=source, feature_names=features)
        labels = tables.describe_labels(given, known, names)
    prepare(table, args, console)
    X, features = table.data, _feature_names(table)
    scaler, method = scaler_for(args, X), recommended(args)
    fit = _fit_all(X, scaler, method, table, args, console)
    with console.step("find the neighbours of what to review"):
        suspects = fits.describe_suspects(
            fit, REVIEWED, given, known, rows, names, metric=args.metric, n_jobs=args.jobs
        )
    embedding = fits.describe_embedding(fit, given, known, rows, np.unique(fit.suspects.first(REVIEWED).row))
    embedding["texts"] = [", ".join(names[c] for c in carried) or "no label" for carried in embedding["labels"]]
    trial, no_trial = None, "left out by --folds 0."
    if args.folds:
        no_trial = f"{args.folds} folds need at least {2 * args.folds} labelled rows."
        methods = {method[0]: method[1:], **trials.baselines(args.n_neighbors, args.jobs)}
        with console.step("cross-validate") as show:
            trial = trials.run_trial(
                methods, None if scaler is None else clone(scaler), X, y, names,
                n_folds=args.folds, show=show,
            )  # fmt: skip
            show("cross-validate")
    return {
        "table": described,
        "notes": [],
        "labels": labels,
        "method": method[0],
        "standardized": scaler is not None,
        "trial": trial,
        "no_trial": no_trial,
        "embedding": embedding,
        "components": fits.describe_components(fit, given, known, features, names),
        "graph": fits.describe_graph(fit, args.n_neighbors, known.any(axis=1), rows),
        "kind": args.kind,
        "buried": say_buried(buried_kind(fit.suspects)) if args.kind == "both" else None,
        "n_suspects": len(fit.suspects.row),
        "suspects": suspects,
        "made": {
            "command": shlex.join(["nmlsdr", "report", *args.words]),
            "words": f"{method[0]}: {method[1]}.",
            "version": __version__,
        },
    }


def _feature_names(table: Any) -> list[str]:
    return table.feature_names or [f"feature_{j}" for j in range(table.data.shape[1])]


def _fit_all(X: Any, scaler: Any, method: Any, table: Any, args: argparse.Namespace, console: Console) -> Any:
    """One fit on all rows."""
    from sklearn.base import clone

    from nmlsdr._report.fit import Fit
    from nmlsdr.graph import neighbor_graph
    from nmlsdr.inspection import rank_suspects

    from .reviewed import clamp

    if scaler is not None:
        with console.step("standardize"):
            X = scaler.fit_transform(X)
    name, _, estimator = method
    with console.step(f"fit {name}"):
        alpha = clamp(table.reviewed, table.target, args.alpha_labeled, args.alpha_unlabeled)
        fitted = clone(estimator).fit(X, table.target, **({} if alpha is None else {"alpha": alpha}))
        Z = fitted.embedding_
        graph = neighbor_graph(Z, min(args.n_neighbors, len(Z) - 1), metric=args.metric, n_jobs=args.jobs)
    suspects = rank_suspects(fitted.flip_scores_, table.target, kind=args.kind, reviewed=table.reviewed)
    return Fit(Z, fitted, graph, suspects)
