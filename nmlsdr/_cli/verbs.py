"""All commands: their options, what `--help` says of them, and the functions that run them."""

from typing import Any

from .arguments import (
    COMMON,
    DATA,
    FITTING,
    KIND,
    LABELS_NEEDED,
    MASK,
    PREPARING,
    QUIET,
    TRACEBACK,
    add_verb,
    choice,
    count,
    cutoff,
    flag,
    number,
    option,
    output,
    seed,
)
from .parser import Parser

STUDIES = ("toy", "benchmarks", "case-study")  # those of nmlsdr.experiments.protocol, whose import loads scikit-learn
BEYOND, OPEN = "beyond", "open"


def add_verbs(parser: Parser) -> None:
    """Describe all commands."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND", parser_class=Parser)
    _add_models(verbs)
    _add_tables(verbs)
    _add_others(verbs, parser)


def _add_models(verbs: Any) -> None:
    fitted = {
        "--method": option(
            "NAME",
            "CCA, MVMD, MDDMp, MDDMf, wMLDAb, wMLDAe, wMLDAc, wMLDAd, wMLDAf, SSMLDR, NMLSDR (default), or SSMLDR*, "
            "NMLSDR* (given labels kept); any case",
            default="NMLSDR",
        ),
        "--n-components": option("D", "columns of the embedding (default: as many as possible)", count),
        "--seed": option("S", "for wMLDAd, and for the folds of residual (default: 0)", seed),
        "--classifier": choice(
            ("residual", "semi-supervised", "mlknn", "none"),
            "residual (default for NMLSDR): the mean of a ridge regression and a forest, plus their errors on nearby "
            "rows; semi-supervised (default for all other methods): ML-kNN on the embedding of all rows, after "
            "propagating the labels; mlknn: ML-kNN on the embedding of the labelled rows; none",
        ),
        "--threshold": option(
            "T",
            "predict a label from a score of T on, a number from 0 to 1; f1: from the score that promises the best F1 "
            "(default for residual; 0.5 for the others); prior: for as large a share of the rows as have the label",
            cutoff,
        ),
    }
    add_verb(
        verbs,
        "fit",
        "fit scaler, projection and classifier on a table",
        "Standardize the features, fit a projection and a classifier, and write them as one model file.",
        FITTING | fitted | COMMON | output(".skops"),
        labels=LABELS_NEEDED,
        run="_cli.models:fit",
    )
    model = {"model": option("MODEL.skops", "the file that `nmlsdr fit` wrote")} | DATA | COMMON
    table = output(".csv, .tsv, .parquet or .npz; rows count from 0")
    scores = {"--scores": flag("write the scores in [0, 1] too")}
    measures = {
        "--compare": option(
            "TRAIN",
            "the table that the model was fitted on: fit logistic regressions, a forest and the model's trend alone on "
            "it, and print their measures too; for --classifier residual",
        )
    } | output(".json or .csv", required=False)
    unused = "these columns are not features, and the labels are not used"
    for name, summary, description, options, labels in (
        ("transform", "embed the rows of a table", "Write the embedding of every row of DATA.", table, unused),
        ("predict", "predict the labels of a table's rows", "Write 0 or 1 for every label and row of DATA.",
         scores | table, unused),
        ("evaluate", "compare predictions with a table's labels",
         "Print the article's seven measures over the labelled rows of DATA, and write them with --out. Primed ones "
         "are 1 - x, so that more is better; Cov' is 1 - coverage/(C-1).", MASK | measures, LABELS_NEEDED),
    ):  # fmt: skip
        add_verb(verbs, name, summary, description, model | options, labels=labels, run=f"_cli.models:{name}")


def _add_tables(verbs: Any) -> None:
    add_verb(
        verbs,
        "plan",
        "what would be done with every column of a table, without fitting",
        "Read a table and print what the other commands do with every column: which are features, as which numbers, "
        "which are left out and why, and the same as options. A model file holds the plan of its table.",
        DATA | PREPARING | QUIET,
        labels="optional; with them, columns that were filled in with the labels are found",
        run="_cli.reading:plan",
    )
    review = {
        "--top": option("N", "write the first N only, of each list (default: all)", count),
        "--explain": flag(
            "write the nearest labelled rows of each annotation's row too: their number or id, given label and "
            "distance in the embedding"
        ),
    }
    add_verb(
        verbs,
        "review",
        "rank the annotations that are likely to be wrong",
        "List the annotations by how much the rest of the data contradicts them: first the kind that is likelier "
        "wrong, forgotten labels or wrongly given ones, then the other kind. Columns: row (from 0), label, given "
        "(0 or 1), score in [0, 1], the largest first, suggest (add or remove), kind (missing: given 0, looks like 1; "
        "spurious: given 1, looks like 0), rank within the kind, and "
        "verdict, which is empty: fill it with 1 or 0 and give the file to --reviewed.",
        FITTING | KIND | review | COMMON | output(".csv, .tsv or .parquet"),
        labels=LABELS_NEEDED,
    )
    n_folds = number(int, lambda value: value == 0 or value >= 2, "a whole number of at least 2, or 0")
    text = "folds of the comparison, 0 to leave it out (default: 5); it takes most of the time"
    report = {"--folds": option("N", text, n_folds, default=5)}
    add_verb(
        verbs,
        "report",
        "write a page about the data: labels, embedding, what helps, what to review",
        "Fit on the table and write one self-contained HTML page that answers first: how much is labelled, whether the "
        "method helps on these data, compared with logistic regression, a forest and ML-kNN in cross-validation, "
        "whether rare labels are found, and whether more labels would help. Then the annotations to review, each label "
        "in figures, the embedding, the commands to run next, and, folded away, what was read and how it was fitted.",
        FITTING | KIND | report | COMMON | output(".html"),
        labels=LABELS_NEEDED,
    )


def _add_others(verbs: Any, parser: Parser) -> None:
    add_verb(
        verbs,
        "reproduce",
        "make the article's tables and figures",
        "Run the article's experiments, or go on with a run that was cut short, and write the report.",
        {
            "study": choice(
                (*STUDIES, "all", BEYOND, OPEN),
                "which of the article's experiments; beyond: ResidualPropagation, the article's methods and "
                "plain rivals, in nine regimes of noise; open: NMLSDR with other kernels, label weights, classifiers "
                "and graphs",
            ),
            "--size": choice(
                ("small", "full"),
                "small: a reduced run that shows that everything works (default: full)",
                default="full",
            ),
            "--seeds": option("N", "seeds 0 to N - 1 (default: 10)", count, default=10),
            "--datasets": option("NAME", "some of the benchmark data sets (default: all)", nargs="+"),
            "--methods": option("NAME", "some of the methods (default: all)", nargs="+"),
            "--jobs": option("J", "cells at the same time (default: all cores)", count),
            "--data-home": option("DIR", "folder of the benchmark files (default: NMLSDR_DATA)"),
            "--out": option(
                "DIR",
                "folder for cells, tables, figures and report; a second start goes on there (default: "
                "./nmlsdr-reproduce)",
                default="nmlsdr-reproduce",
            ),
            "--force-new": flag("set the cells of --out aside and begin anew"),
            **TRACEBACK,
        },
        run="experiments.command:run",
    )
    datasets = verbs.add_parser("datasets", help="list, describe, fetch and verify the article's data sets")
    parts = datasets.add_subparsers(
        dest="part_name", required=True, metavar="list|info|fetch|verify", parser_class=Parser
    )
    home = option("DIR", "the folder with the data sets (default: NMLSDR_DATA, else ~/nmlsdr_data)")
    for name, summary, nargs in (
        ("list", "names, sizes, and whether the files are here", None),
        ("info", "what a data set holds and where it comes from", "+"),
        ("fetch", "download the files and check them", "*"),
        ("verify", "check the files that are here", "*"),
    ):
        names = {} if nargs is None else {"names": option("NAME", "default: all", nargs=nargs)}
        options = {**names, "--data-home": home, **QUIET}
        description = f"{summary[0].upper()}{summary[1:]}."
        add_verb(parts, name, summary, description, options, run=f"_cli.datasets:{name}_sets").set_defaults(names=None)
    add_verb(
        verbs,
        "bench",
        "compare its speed with faiss and scikit-learn on this machine (two minutes)",
        "Time exact nearest-neighbour searches, queries of single rows and a fit against faiss, scikit-learn and "
        "SciPy, if they are installed, in turns within this process, and print which is faster on this machine.",
        {
            "--jobs": option("J", "threads of all contestants (default: all cores)", count),
            "--seconds": option("S", "approximate time to spend (default: 100)", float, default=100.0),
            **QUIET,
        },
    )
    model = option("MODEL.skops", "a model file to describe", nargs="?")
    add_verb(
        verbs,
        "info",
        "versions, threads, SIMD; or what a model file holds",
        "Print versions, compiler, OpenMP, threads and SIMD levels, or with a model file what it holds.",
        {"model": model, **QUIET},
    )
    completion = add_verb(
        verbs,
        "completion",
        "print a script that lets a shell complete nmlsdr's words",
        "Print a script for a shell: nmlsdr completion bash > ~/.local/share/bash-completion/completions/nmlsdr",
        {"shell": {"choices": ("bash", "zsh", "fish", "tcsh")}, **TRACEBACK},
    )
    completion.set_defaults(whole=parser)
