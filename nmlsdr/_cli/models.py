"""fit, transform, predict, evaluate: a model file from a table, and results from a model file and a table."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from .. import MLkNN, ResidualPropagation, SemiSupervisedMLkNN
from .._article_methods import METHODS
from .._errors import InputError, printable, shorten
from .._model.archive import need_skops
from .._model.fitted_rows import find_overlap, fitted_rows
from .._model.reading import open_model
from .._report.scores import score_labels
from .._thresholds import rank_scores, warn_never_predicted
from ..inspection import names_or_numbers
from ..metrics import score_table
from ..model_file import save_model
from .checks import ALPHAS, input_files
from .console import Console
from .reading import match_features, match_labels, note_leaks, note_needed, prepare, read_data
from .residual_fit import expect_fit, graph_settings, scaler_for
from .reviewed import fit_reviewed
from .table import Table, free_name
from .writing import open_output, write_result, wrote


def fit(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr fit``."""
    need_skops()
    projection = METHODS[args.method](args.n_components, random_state=args.seed, **graph_settings(args))
    table = read_data(args, console, need_labels=True)
    note_leaks(table, table.target, args, console)
    table, encoder = prepare(table, args)
    note_needed(table, args, console)
    steps = _steps(projection, table, args)
    _fit_steps(steps, table, args, console)
    if encoder is not None:
        steps.insert(0, ("columns", encoder))
    columns = table.feature_names if encoder is None or table.feature_names is None else table.plan.names
    names = {"feature_names": columns, "label_names": table.label_names}
    # The plan of a table of plain numbers stands beside the steps. As a step it would make the model in Python warn
    # about arrays without names, ask for the columns of --drop, and turn each row of numbers into text for its check.
    plan = table.plan if encoder is None else None
    with console.step(f"write {args.out}"):
        fitted = fitted_rows(table.data, table.labeled, table.ids)
        save_model(args.out, Pipeline(steps), **names, inputs=input_files(args), fitted=fitted, plan=plan)
    facts = [(table.data.shape[1], "feature"), (table.target.shape[1], "label"), ((~table.labeled).sum(), "unlabelled")]
    hint = " To see what was learned and what to check: nmlsdr report, with the same labels and --out report.html."
    wrote(console, args.out, len(table.target), *facts, hint=hint)
    return 0


def _steps(projection: Any, table: Table, args: argparse.Namespace) -> list[tuple[str, Any]]:
    """The names and steps of the pipeline, not fitted: a scaler, the projection, and a classifier, as far as asked."""
    steps = [("scaler", scaler_for(args, table))]
    if args.classifier != "residual":  # which embeds too
        steps.append(("projection", projection))
    if args.classifier != "none":
        name = "model" if args.classifier == "residual" else "classifier"
        steps.append((name, _classifier(projection, args)))
    return [(name, step) for name, step in steps if step is not None]


def _fit_steps(steps: list[tuple[str, Any]], table: Table, args: argparse.Namespace, console: Console) -> None:
    """Fit each step to what the steps before it make of the table, with the verdicts of the table."""
    X = table.data
    for name, step in steps:
        if name == "model":
            expect_fit(X, table.target, args, console)
        with console.step(f"fit {type(step).__name__}"):
            step.fit(X) if name == "scaler" else fit_reviewed(step, X, table)
            if step is not steps[-1][1]:
                X = step.transform(X)


def _classifier(projection: Any, args: argparse.Namespace) -> Any:
    """Return the classifier of --classifier, not fitted."""
    if args.classifier == "mlknn":
        return MLkNN(args.n_neighbors, metric=args.metric, threshold=args.threshold, n_jobs=args.jobs)
    settings = graph_settings(args) | {"threshold": args.threshold}
    # The classifier's graph has the projection's neighbours and alphas (article, section 3.4), a starred method's too.
    settings |= {name: getattr(projection, name) for name in ALPHAS if hasattr(projection, name)}
    if args.classifier == "semi-supervised":
        return SemiSupervisedMLkNN(**settings)
    return ResidualPropagation(args.n_components, random_state=args.seed, **settings)


def apply_model(
    args: argparse.Namespace, console: Console, *, classify: bool = True, need_labels: bool = False
) -> tuple[Any, Any, Table, Any]:
    """Apply all steps of a model file to a table, except the classifier.

    Parameters
    ----------
    args : Namespace
    console : Console
    classify : bool, default=True
        Whether the model must have a classifier; if not, it must have a projection.
    need_labels : bool, default=False
        Whether the table must have labels.

    Returns
    -------
    model : Model
        With names and versions.
    classifier : estimator or None
    table : Table
        Its features in the order of the model's fit.
    X : array (n, d)
        The transformed rows.
    """
    with console.step(f"read {args.model}"):
        model = open_model(args.model, max_bytes=args.max_bytes)
    steps = _steps_for_arrays(model.estimator, args.jobs)
    if not classify and not any(hasattr(step, "components_") for step in steps):
        raise InputError(f"The model {args.model!r} holds no projection; fit one with `nmlsdr fit`.")
    classifier = steps.pop() if hasattr(steps[-1], "predict_proba") else None
    if classify and classifier is None:
        raise InputError(f"The model {args.model!r} has no classifier; fit one with another --classifier than none.")
    table = read_data(args, console, model=model, need_labels=need_labels)
    table = match_features(table, args.data, model, console)
    X = table.data
    if table.plan is not None and hasattr(steps[0], "plan_"):  # the reader has encoded the columns
        scaler = getattr(steps.pop(0), "scaler_", None)
        steps = steps if scaler is None else [scaler, *steps]
    return model, classifier, table, _transform_rows(X, steps, console)


def _steps_for_arrays(estimator: Any, n_jobs: int | None) -> list[Any]:
    """The steps of a model, with this number of threads and without names of features, which arrays do not have."""
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    for step in steps:
        if "n_jobs" in step.get_params():
            step.set_params(n_jobs=n_jobs)
        vars(step).pop("feature_names_in_", None)
    return steps


def _transform_rows(X: Any, steps: Sequence[Any], console: Console) -> Any:
    if any(getattr(step, "with_mean", False) for step in steps) and hasattr(X, "toarray"):
        X = X.toarray()  # sparse rows cannot hold features whose means are subtracted
    for step in steps:
        with console.step(f"transform {X.shape[0]} rows with {type(step).__name__}"):
            X = step.transform(X)
    return X


def predicted_labels(classifier: Any, X: Any) -> Any:
    """Return the predicted labels 0/1 (n, C); a classifier fitted on single classes gets one column per class."""
    labels = classifier.predict(X)
    if labels.ndim == 1:
        labels = labels[:, None] == np.asarray(classifier.classes_)
    return labels.astype(np.int8)


def transform(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr transform``."""
    _, classifier, table, X = apply_model(args, console, classify=False)
    embedding = classifier.transform(X) if hasattr(classifier, "components_") else X  # ResidualPropagation does both
    columns = [(f"component_{j}", embedding[:, j]) for j in range(embedding.shape[1])]
    return _write(args, console, table, columns, {"embedding": embedding}, (len(columns), "component"))


def predict(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr predict``."""
    model, classifier, table, X = apply_model(args, console)
    with console.step(f"predict {X.shape[0]} rows"):
        labels = predicted_labels(classifier, X)
        probabilities = classifier.predict_proba(X) if args.probabilities else None
    names = names_or_numbers(model.label_names, "label", labels.shape[1])
    columns = [(name, labels[:, c]) for c, name in enumerate(names)]
    arrays = {"labels": labels, "label_names": np.array(names, dtype=str)}
    if probabilities is not None:
        arrays["probabilities"] = probabilities
        columns += [(free_name(f"probability:{name}", names), probabilities[:, c]) for c, name in enumerate(names)]
    return _write(args, console, table, columns, arrays, (len(names), "label"))


def _write(args: argparse.Namespace, console: Console, table: Table, columns: Any, arrays: Any, fact: Any) -> int:
    """Write a result with the rows' ids; `fact` is a count to report, such as (3, "label")."""
    n_rows = table.data.shape[0]
    if table.ids is not None:
        arrays["ids"] = np.array(table.ids, dtype=str)
    rows = table.name_rows(np.arange(n_rows), results=[name for name, _ in columns])
    write_result(args.out, args, console, [*rows, *columns], arrays, fact)
    return 0


def evaluate(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr evaluate``."""
    model, classifier, table, X = apply_model(args, console, need_labels=True)
    with console.step(f"predict {X.shape[0]} rows"):
        predicted = predicted_labels(classifier, X)
        scores = classifier.predict_proba(X)
        ranking = rank_scores(classifier, X)
    names = names_or_numbers(model.label_names, "label", scores.shape[1])
    target = match_labels(table, args, model, len(names), console)
    note_leaks(table, target, args, console, names)
    known = table.labeled
    if not known.all():
        console.note(f"{args.data}: unlabelled and not counted: {(~known).sum()} of {len(target)} rows.")
    measures = score_table(target[known], ranking[known], predictions=predicted[known])
    warn_never_predicted(predicted.any(axis=0), None, advice="see --threshold of nmlsdr fit", stacklevel=4)
    per_label = score_labels(target[known], predicted[known], scores[known], names)
    if args.out != "-":
        if model.fitted is not None:
            ids = None if table.ids is None else [table.ids[i] for i in np.flatnonzero(known)]
            print(_known_rows(table.data[known], model.fitted, ids), end="\n\n")
        print(evaluation(per_label, measures, args.sensitivity))
    if args.out is not None:
        with open_output(args.out, input_files(args)) as file:
            file.write(measures_to_write(per_label, measures, as_csv=args.out.lower().endswith(".csv")).encode())
        wrote(console, args.out, int(known.sum()), (len(names), "label"))
    return 0


def _known_rows(rows: Any, fitted: dict[str, Any], ids: Sequence[str] | None) -> str:
    """Say how many of these rows the model may have been fitted on."""
    overlap = find_overlap(rows, fitted, ids)
    n = rows.shape[0]
    n_labeled = int(overlap.labeled.sum())
    n_others = int(overlap.unlabeled.sum())
    if overlap.by_group and n_labeled:
        sentence = f"{n_labeled} of these {n} rows have the id of labelled rows of the fit"
        return f"{sentence}; on these the measures are too good, as rows of one id resemble each other."
    if overlap.by_id or not n_labeled:
        sentence = f"The fit used {n_labeled} of these {n} rows with their labels"
        sentence += f", {n_others} without labels" if n_others else ""
        return sentence + ("; on these the measures are too good." if n_labeled else ".")
    sentence = f"{n_labeled} of these {n} rows have the features of labelled rows of the fit"
    if overlap.is_chance:
        return f"{sentence}, no more than by chance: rows of the fit are equal as often."
    return f"{sentence}; if they are the same rows, the measures on them are too good."


# ---------------------------------------------------------------- the output of evaluate


_WIDTH = 40  # characters of a label's name in the table
# Columns of the table, by their titles, and the keys of `score_labels`.
_COUNTS = {"positives": "positives", "predicted": "predicted", "precision": "precision"}
_COLUMNS = _COUNTS | {"recall": "recall", "F1": "f1", "AP": "ap"}
_CLINICAL = _COUNTS | {"sensitivity": "recall", "specificity": "specificity", "F1": "f1", "AP": "ap", "AUC": "auc"}


def evaluation(rows: Sequence[dict[str, Any]], measures: dict[str, float], sensitivity: bool = False) -> str:
    """Return the rows of the labels and the measures as text; with `sensitivity` specificity and AUC too."""
    names = [shorten(printable(row["label"]), _WIDTH) for row in rows]
    width = max(len("label"), *map(len, names))
    columns = _CLINICAL if sensitivity else _COLUMNS
    lines = ["  ".join([f"{'label':<{width}}", *(f"{title:>{max(5, len(title))}}" for title in columns)])]
    for name, row in zip(names, rows, strict=True):
        cells = [f"{_cell(row[key]):>{max(5, len(title))}}" for title, key in columns.items()]
        lines.append("  ".join([f"{name:<{width}}", *cells]))
    lines += ["", "  ".join(f"{name:>6}" for name in measures)]
    return "\n".join([*lines, "  ".join(f"{value:6.3f}" for value in measures.values())])


def _cell(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def measures_to_write(rows: Sequence[dict[str, Any]], measures: dict[str, float], *, as_csv: bool) -> str:
    """Return the measures as text, and with JSON the rows of the labels too; null where a measure is not defined."""
    if as_csv:
        return "measure,value\n" + "".join(f"{name},{float(value)!r}\n" for name, value in measures.items())
    defined = {name: float(value) if value == value else None for name, value in measures.items()}
    return json.dumps(defined | {"labels": list(rows)}, indent=2) + "\n"
