"""fit, transform, predict, evaluate: a model file from a table, and results from a model file and a table."""

from __future__ import annotations

import argparse
from typing import Any

from nmlsdr._errors import InputError

from .arguments import (
    add_common,
    add_data,
    add_graph,
    add_out,
    add_preparing,
    add_reviewed,
    check_suffix,
    count,
    seed,
)
from .console import Console, RunError

__all__ = ["add_parsers"]

TABLES = (".csv", ".tsv", ".parquet", ".pq", ".npz")
_BLOCK = 8192  # rows predicted between two updates of the progress


def add_parsers(verbs: Any) -> None:
    """Describe the four verbs."""
    parser = verbs.add_parser(
        "fit",
        help="fit scaler, projection and classifier on a table",
        description="Standardize the features, fit a projection and a classifier, and write them as one model file.",
    )
    add_data(parser, labels="needed, but for npz and svmlight, which hold them apart", mask=True)
    parser.add_argument(
        "--method",
        default="NMLSDR",
        metavar="NAME",
        help="CCA, MVMD, MDDMp, MDDMf, wMLDAb, wMLDAe, wMLDAc, wMLDAd, wMLDAf, SSMLDR, NMLSDR (default), or SSMLDR*, "
        "NMLSDR* (given labels kept); any case",
    )
    parser.add_argument(
        "--n-components", type=count, metavar="D", help="columns of the embedding (default: as many as there can be)"
    )
    add_preparing(parser)
    add_graph(parser)
    add_reviewed(parser)
    parser.add_argument("--seed", type=seed, metavar="S", help="for wMLDAd, and for the folds of residual (default: 0)")
    parser.add_argument(
        "--classifier",
        choices=("residual", "semi-supervised", "mlknn", "none"),
        help="residual: a ridge regression on features weighed by what they say of the labels, and its residuals "
        "propagated over the graph of the embedding (default for NMLSDR); ML-kNN on the embedding, on all rows after "
        "propagating the labels (semi-supervised, default for all other methods) or on the labelled ones (mlknn); none",
    )
    parser.add_argument(
        "--decision",
        choices=("half", "prior"),
        help="residual: a label from a score of 1/2 (default), or as often as the label was given (for rare labels)",
    )
    parser.add_argument(
        "--threshold",
        type=_threshold,
        metavar="T",
        help="ML-kNN: a label from a probability of T, a number from 0 to 1 (default: 0.5), or prior",
    )
    add_common(parser)
    add_out(parser, ".npz")
    parser.set_defaults(run=fit)

    for verb, run, summary, description in (
        ("transform", transform, "embed the rows of a table", "Write the embedding of every row of DATA."),
        ("predict", predict, "predict the labels of a table's rows", "Write 0 or 1 for every label and row of DATA."),
        (
            "evaluate",
            evaluate,
            "compare predictions with a table's labels",
            "Print the article's seven measures over the labelled rows of DATA, and write them with --out. Primed ones "
            "are 1 - x, so that more is better; Cov' is 1 - coverage/(C-1).",
        ),
    ):
        parser = verbs.add_parser(verb, help=summary, description=description)
        parser.add_argument("model", metavar="MODEL.npz", help="the file that `nmlsdr fit` wrote")
        add_data(
            parser,
            labels="needed, but for npz and svmlight"
            if verb == "evaluate"
            else "not used; such columns are no features",
            mask=verb == "evaluate",
        )
        if verb == "predict":
            parser.add_argument("--scores", action="store_true", help="write the scores in [0, 1] beside the labels")
        add_common(parser)
        if verb == "evaluate":
            add_out(parser, ".json or .csv", required=False)
        else:
            add_out(parser, ".csv, .tsv, .parquet or .npz; rows count from 0")
        parser.set_defaults(run=run)


def _threshold(text: str) -> float | str:
    if text == "prior":
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"it must be a number from 0 to 1, or prior, got {text!r}")
    return value


def _choose_classifier(args: argparse.Namespace, method: str) -> None:
    """Set the default classifier of a method, and refuse what does not go together."""
    whole = method in ("NMLSDR", "NMLSDR*")
    if args.classifier is None:
        args.classifier = "residual" if whole else "semi-supervised"
    if args.classifier == "residual" and not whole:
        raise InputError(f"--classifier residual embeds by NMLSDR itself, got --method {method}; leave --method out.")
    if args.decision is not None and args.classifier != "residual":
        raise InputError(f"--decision is for --classifier residual, got {args.classifier}; leave it out.")
    if args.threshold is not None and args.classifier not in ("semi-supervised", "mlknn"):
        raise InputError(f"--threshold is for ML-kNN, got --classifier {args.classifier}; use --decision, or leave it.")


def fit(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr fit``."""
    from nmlsdr._methods import METHODS, find_method
    from nmlsdr.model_file import save_model

    from .reading import input_files, read_data
    from .writing import check_target, model_output, wrote

    check_suffix(args.out, (".npz",))
    check_target(args.out, input_files(args))
    method = METHODS[find_method(args.method)]
    _choose_classifier(args, method.name)
    if not method.semi_supervised and args.classifier != "semi-supervised":
        for option in ("alpha_labeled", "alpha_unlabeled"):
            if getattr(args, option) is not None:
                raise InputError(
                    f"--{option.replace('_', '-')} has no meaning for {method.name} with --classifier "
                    f"{args.classifier}, which propagate nothing; leave it out."
                )
    if args.metric != "euclidean" and not method.semi_supervised and args.classifier == "none":
        raise InputError(
            f"--metric has no meaning for {method.name} with --classifier none, which have no neighbours; leave it out."
        )
    projection = method(
        args.n_components,
        args.n_neighbors,
        metric=args.metric,
        alpha_labeled=args.alpha_labeled,
        alpha_unlabeled=args.alpha_unlabeled,
        random_state=args.seed,
        n_jobs=args.jobs,
    )
    table = read_data(args, console, need_labels=True)
    pipeline = fit_pipeline(table, method.name, projection, args, console)
    with console.step(f"write {args.out}"):
        try:
            with model_output(args.out) as path:
                save_model(
                    path,
                    pipeline,
                    feature_names=table.feature_names,
                    label_names=table.label_names,
                    inputs=input_files(args),
                )
        except OSError as error:
            raise RunError(f"The model {args.out!r} could not be written ({error.strerror or error}).") from None
    facts = [(table.data.shape[1], "feature"), (table.target.shape[1], "label")]
    n_unlabelled = int((~table.labeled).sum())
    hint = " To see what was learned and what to check: nmlsdr report, with the same options."
    wrote(console, args.out, len(table.target), *facts, *[(n_unlabelled, "unlabelled")] * (n_unlabelled > 0), hint=hint)
    return 0


def fit_pipeline(table: Any, name: str, projection: Any, args: argparse.Namespace, console: Console) -> Any:
    """Return the fitted pipeline of scaler, projection and classifier."""
    from scipy import sparse
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    from .preparing import preparation

    first = preparation(table, args)
    steps: list[tuple[str, Any]] = [] if first is None else [("columns", first)]
    if not args.no_standardize:
        steps.append(("scaler", StandardScaler(with_mean=not sparse.issparse(table.data))))
    if args.classifier == "residual":
        steps.append(("model", _residual(projection, args)))
    else:
        steps.append(("projection", projection))
    if args.classifier in ("semi-supervised", "mlknn"):
        steps.append(("classifier", _classifier(projection, args)))
    X = table.data
    for i, (role, step) in enumerate(steps):
        title = {
            "columns": "fill in and encode",
            "scaler": "standardize",
            "projection": f"fit {name}",
            "model": "fit ResidualPropagation",
        }.get(role, f"fit the {args.classifier} classifier")
        with console.step(title):
            step.fit(X) if role in ("columns", "scaler") else step.fit(X, table.target, **_trust(step, table, args))
            if i < len(steps) - 1:
                X = step.transform(X)
    return Pipeline(steps)


def _trust(step: Any, table: Any, args: argparse.Namespace) -> dict[str, Any]:
    """Return alpha of every entry where people have reviewed some, for a step that propagates."""
    from sklearn.utils.validation import has_fit_parameter

    from .reviewed import clamp

    alpha = clamp(table.reviewed, table.target, args.alpha_labeled, args.alpha_unlabeled)
    if alpha is None or not has_fit_parameter(step, "alpha"):
        return {}
    if getattr(step, "alpha_labeled", None) == 0:  # a starred method keeps every given label
        alpha[table.target != -1] = 0.0
    return {"alpha": alpha}


def _residual(projection: Any, args: argparse.Namespace) -> Any:
    """Return ResidualPropagation with the settings of the projection, which it holds within itself."""
    import nmlsdr

    settings = {
        name: getattr(projection, name)
        for name in ("n_components", "n_neighbors", "metric", "alpha_labeled", "alpha_unlabeled", "n_jobs")
    }
    return nmlsdr.ResidualPropagation(**settings, decision=args.decision or "half", random_state=args.seed or 0)


def _classifier(projection: Any, args: argparse.Namespace) -> Any:
    import nmlsdr

    threshold = 0.5 if args.threshold is None else args.threshold
    if args.classifier == "mlknn":
        return nmlsdr.MLkNN(args.n_neighbors, metric=args.metric, threshold=threshold, n_jobs=args.jobs)
    # The classifier's graph has the projection's neighbours and alphas (article, section 3.4), a starred method's too.
    alphas = {
        option: getattr(projection, option, getattr(args, option)) for option in ("alpha_labeled", "alpha_unlabeled")
    }
    alphas = {option: value for option, value in alphas.items() if value is not None}
    return nmlsdr.SemiSupervisedMLkNN(
        args.n_neighbors, metric=args.metric, threshold=threshold, n_jobs=args.jobs, **alphas
    )


class Loaded:
    """A model file in parts: what transforms, what classifies, and the names."""

    def __init__(self, args: argparse.Namespace, console: Console) -> None:
        from sklearn.pipeline import Pipeline

        from nmlsdr.model_file import open_model

        limit = {} if args.max_bytes is None else {"max_bytes": args.max_bytes}
        with console.step(f"read {args.model}"):
            self.model = open_model(args.model, **limit)
        self.path: str = args.model
        estimator = self.model.estimator
        steps = list(estimator.steps) if isinstance(estimator, Pipeline) else [("model", estimator)]
        for _, step in steps:
            if "n_jobs" in step.get_params():
                step.set_params(n_jobs=args.jobs)
            # Columns are matched here, by name where there are names, and go on as arrays, which have none.
            vars(step).pop("feature_names_in_", None)
        self.classifier = steps.pop()[1] if hasattr(steps[-1][1], "predict_proba") else None
        self.steps = steps

    def embed(self, args: argparse.Namespace, console: Console, table: Any) -> Any:
        """Return the table's rows after every step but the classifier."""
        from .reading import dense_if_needed, match_features

        X = dense_if_needed(match_features(table, args.data, self.model, console), self.steps)
        for _, step in self.steps:
            with console.step(f"transform {X.shape[0]} rows with {type(step).__name__}"):
                X = step.transform(X)
        return X

    def need_classifier(self) -> Any:
        """Return the classifier, or say that there is none."""
        if self.classifier is None:
            raise InputError(
                f"The model {self.path!r} has no classifier; fit one with another --classifier than none."
            )
        return self.classifier

    def label_names(self, n_labels: int) -> list[str]:
        """Return the labels' names, numbered if the data had none."""
        return self.model.label_names or [f"label_{c}" for c in range(n_labels)]


def read_for(args: argparse.Namespace, console: Console, loaded: Loaded, *, need_labels: bool = False) -> Any:
    """Return the table of DATA; svmlight files do not say how many features there are, the model does."""
    from .preparing import asked_of
    from .reading import read_data

    return read_data(
        args,
        console,
        asked=asked_of(loaded.model),
        need_labels=need_labels,
        n_features=loaded.model.estimator.n_features_in_,
        feature_names=loaded.model.feature_names,
    )


def scores_in_blocks(classifier: Any, X: Any, console: Console) -> Any:
    """Return predict_proba (n, C); by blocks only where progress is shown, which changes no bit."""
    import numpy as np

    n_rows = X.shape[0]
    block = _BLOCK if console.live else n_rows
    parts = []
    with console.step(f"predict {n_rows} rows") as show:
        for first in range(0, n_rows, block):
            parts.append(classifier.predict_proba(X[first : first + block]))
            show(f"predict {n_rows} rows: {min(100, 100 * (first + block) // n_rows)} %")
        show(f"predict {n_rows} rows")
    return np.concatenate(parts)


def transform(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr transform``."""
    import numpy as np

    from .reading import input_files
    from .writing import check_target, need_parquet, row_columns, write_result, wrote

    need_parquet(check_suffix(args.out, TABLES))
    check_target(args.out, input_files(args))
    loaded = Loaded(args, console)
    whole = loaded.classifier if hasattr(loaded.classifier, "components_") else None  # it embeds and predicts
    if whole is None and not any(hasattr(step, "components_") for _, step in loaded.steps):
        raise InputError(f"The model {args.model!r} holds no projection; fit one with `nmlsdr fit`.")
    table = read_for(args, console, loaded)
    embedding = loaded.embed(args, console, table)
    if whole is not None:
        embedding = whole.transform(embedding)
    names = [f"component_{j}" for j in range(embedding.shape[1])]
    columns = row_columns(table, args.id, np.arange(len(embedding)))
    columns += [(name, embedding[:, j]) for j, name in enumerate(names)]
    with console.step(f"write {args.out}"):
        write_result(args.out, columns, {"embedding": embedding, **ids_array(table)}, inputs=input_files(args))
    wrote(console, args.out, len(embedding), (embedding.shape[1], "component"))
    return 0


def predict(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr predict``."""
    import numpy as np

    from .reading import input_files
    from .writing import check_target, need_parquet, row_columns, write_result, wrote

    need_parquet(check_suffix(args.out, TABLES))
    check_target(args.out, input_files(args))
    loaded = Loaded(args, console)
    classifier = loaded.need_classifier()
    table = read_for(args, console, loaded)
    X = loaded.embed(args, console, table)
    scores = scores_in_blocks(classifier, X, console)
    labels = _labels_of(classifier, X, scores)
    names = loaded.label_names(scores.shape[1])
    columns = row_columns(table, args.id, np.arange(len(labels)))
    columns += [(name, labels[:, c]) for c, name in enumerate(names)]
    arrays = {"labels": labels, "label_names": np.array(names, dtype=str), **ids_array(table)}
    if args.scores:
        columns += [(f"score:{name}", scores[:, c]) for c, name in enumerate(names)]
        arrays["scores"] = scores
    with console.step(f"write {args.out}"):
        write_result(args.out, columns, arrays, inputs=input_files(args))
    wrote(console, args.out, len(labels), (len(names), "label"))
    return 0


def ids_array(table: Any) -> dict[str, Any]:
    """Return the ids of a table as an array for an .npz file, if it has some."""
    import numpy as np

    return {} if table.ids is None else {"ids": np.array(table.ids, dtype=str)}


def _labels_of(classifier: Any, X: Any, scores: Any) -> Any:
    """Return 0/1 (n, C); without a second neighbour search where the scores decide alone."""
    import numpy as np

    if hasattr(classifier, "smoothing") and not classifier.at_least_one and isinstance(classifier.classes_, list):
        prior = isinstance(classifier.threshold, str)
        return (scores >= np.asarray(classifier.thresholds_ if prior else classifier.threshold)).astype(np.int8)
    labels = np.asarray(classifier.predict(X))
    if labels.ndim == 1:  # fitted on one class a row: one column a class
        labels = labels[:, None] == np.asarray(classifier.classes_)[None, :]
    return labels.astype(np.int8)


def evaluate(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr evaluate``."""
    from nmlsdr._cutoffs import warn_never_predicted
    from nmlsdr.metrics import score_table

    from .measures import label_rows, label_table, write_measures
    from .reading import input_files, match_labels
    from .writing import check_target, wrote

    if args.out is not None:
        check_suffix(args.out, (".json", ".csv"))
        check_target(args.out, input_files(args))
    loaded = Loaded(args, console)
    classifier = loaded.need_classifier()
    table = read_for(args, console, loaded, need_labels=True)
    if not table.labeled.any():
        raise InputError(f"{args.data} has no labelled row to compare with; give its labels.")
    X = loaded.embed(args, console, table)
    scores = scores_in_blocks(classifier, X, console)
    listed = args.label_list is not None
    target = match_labels(table, args.data, loaded.model, scores.shape[1], console, listed=listed)
    if not table.labeled.all():
        console.note(
            f"{args.data}: {int((~table.labeled).sum())} of {len(target)} rows are unlabelled and not counted."
        )
    known = table.labeled
    predicted = _labels_of(classifier, X, scores)
    ranked = classifier.decision_function(X) if hasattr(classifier, "decision_function") else scores
    ranked = ranked if ranked.shape == scores.shape else scores  # of two classes there is one decision
    measures = {name: float(value) for name, value in score_table(target[known], ranked[known]).items()}
    given = score_table(target[known], predicted[known].astype(float))
    measures.update({name: float(given[name]) for name in ("HL'", "MaF1", "MiF1")})
    warn_never_predicted(predicted.any(axis=0), "see --decision prior and --threshold of nmlsdr fit")
    per_label = label_rows(target[known], predicted[known], scores[known], loaded.label_names(scores.shape[1]))
    if args.out == "-":
        write_measures("-", measures, per_label, input_files(args))
        return 0
    print(label_table(per_label))
    print("  ".join(f"{name:>6}" for name in measures))
    print("  ".join(f"{value:6.3f}" for value in measures.values()))
    if args.out is not None:
        write_measures(args.out, measures, per_label, input_files(args))
        wrote(console, args.out, int(known.sum()), (scores.shape[1], "label"))
    return 0
