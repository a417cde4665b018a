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
        "--n-components": option("D", "number of columns of the embedding (default: as many as possible)", count),
        "--seed": option("S", "seed of the folds and the forest of residual, and of wMLDAd (default: 0)", seed),
        "--classifier": choice(
            ("residual", "semi-supervised", "mlknn", "none"),
            "residual (default for NMLSDR): the mean of a ridge regression and a forest, plus their errors on nearby "
            "rows; semi-supervised (default for all other methods): ML-kNN on the embedding of all rows, after "
            "propagating the labels; mlknn: ML-kNN on the embedding of the labelled rows; none",
        ),
        "--threshold": option(
            "T",
            "predict a label if its score reaches T. T is a number from 0 to 1 (a larger one predicts fewer labels), "
            "f1: the number with the best expected F1 (default for residual; 0.5 for the others), or prior: a number "
            "for each label that predicts it for as large a share of the rows as have it; try prior if labels are rare",
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
    scores = {"--scores": flag("write the probability of each label too, in columns score:NAME")}
    measures = {
        "--compare": option(
            "TRAIN",
            "the table that the model was fitted on; fit logistic regressions, a forest and the model without "
            "residuals on it, and print their measures too (only for --classifier residual)",
        )
    } | output(".json or .csv", required=False)
    unused = "these columns are not features, and the labels are not used"
    for name, summary, description, options, labels in (
        ("transform", "embed the rows of a table", "Write the embedding of every row of DATA.", table, unused),
        ("predict", "predict the labels of a table's rows", "Write 0 or 1 for every label and row of DATA.",
         scores | table, unused),
        ("evaluate", "compare predictions with a table's labels",
         "Predict the labelled rows of DATA, compare with their labels, and print the result for each label and seven "
         "measures. More is better in all of them: HL' is 1 - Hamming loss, RL' 1 - ranking loss, AP the average "
         "precision, OE' 1 - one-error, Cov' 1 - coverage / (number of labels - 1), MaF1 and MiF1 the macro and micro "
         "F1.",
         MASK | measures, LABELS_NEEDED),
    ):  # fmt: skip
        add_verb(verbs, name, summary, description, model | options, labels=labels, run=f"_cli.models:{name}")


def _add_tables(verbs: Any) -> None:
    add_verb(
        verbs,
        "plan",
        "print what fit would do with every column of a table",
        "Read a table and print what the other commands do with every column: which columns are features, how they "
        "become numbers, and which are left out and why. The last line repeats this plan as options, to copy and "
        "change.",
        DATA | PREPARING | QUIET,
        labels="optional; with them, columns that were filled in with the labels are found",
        run="_cli.reading:plan",
    )
    review = {
        "--top": option("N", "write only the first N annotations of each list (default: all)", count),
        "--explain": flag(
            "for each annotation, also write the nearest labelled rows: their number or id, given label and distance "
            "in the embedding"
        ),
    }
    add_verb(
        verbs,
        "review",
        "rank the annotations that are likely to be wrong",
        "List the annotations by how much the other rows contradict them, in two lists: forgotten labels and wrongly "
        "given ones. The list that is more likely wrong comes first. Columns: row (from 0), label, given (0 or 1), "
        "score (0 to 1, the largest first), suggest (add or remove), kind (missing: given 0, looks like 1; spurious: "
        "given 1, looks like 0), rank within the kind, and verdict. Fill in the verdict, 1 or 0, and pass the file to "
        "--reviewed.",
        FITTING | KIND | review | COMMON | output(".csv, .tsv or .parquet"),
        labels=LABELS_NEEDED,
    )
    n_folds = number(int, lambda value: value == 0 or value >= 2, "a whole number of at least 2, or 0")
    text = "number of folds of the comparison (default: 5), which takes most of the time; 0: no comparison"
    report = {"--folds": option("N", text, n_folds, default=5)}
    add_verb(
        verbs,
        "report",
        "write a web page about the table: does the method help, what to review, a picture",
        "Fit on the table and write a self-contained web page. It begins with answers: how much is labelled; whether "
        "the method helps on these data, compared with logistic regression, a forest and ML-kNN by cross-validation; "
        "whether rare labels are found; how many annotations are probably wrong; whether more labels would help. Then "
        "come the annotations to review, the measures of each label, the embedding, and the commands to run next.",
        FITTING | KIND | report | COMMON | output(".html"),
        labels=LABELS_NEEDED,
    )


def _add_others(verbs: Any, parser: Parser) -> None:
    add_verb(
        verbs,
        "reproduce",
        "repeat the article's experiments, and make its tables and figures",
        "Run the article's experiments, or continue a run that was interrupted, and write a report with tables and "
        "figures. A run consists of cells: one method on one data set with one seed.",
        {
            "study": choice(
                (*STUDIES, "all", BEYOND, OPEN),
                "which experiments. toy, benchmarks and case-study are the article's, and all runs these three; "
                "beyond: ResidualPropagation compared with the article's methods, forests and regressions, with nine "
                "kinds of noise; open: NMLSDR with other kernels, label weights, classifiers and graphs",
            ),
            "--size": choice(
                ("small", "full"),
                "small: a quick run on little data, to see that everything works (default: full)",
                default="full",
            ),
            "--seeds": option("N", "number of repetitions, with the seeds 0 to N - 1 (default: 10)", count, default=10),
            "--datasets": option("NAME", "only these data sets (default: all)", nargs="+"),
            "--methods": option("NAME", "only these methods (default: all)", nargs="+"),
            "--jobs": option("J", "number of cells that run at the same time (default: one for each core)", count),
            "--data-home": option("DIR", "folder of the data sets (default: the environment variable NMLSDR_DATA)"),
            "--out": option(
                "DIR",
                "folder for cells, tables, figures and report; a second start continues there (default: "
                "./nmlsdr-reproduce)",
                default="nmlsdr-reproduce",
            ),
            "--force-new": flag("do not continue: rename the cells in --out, and begin anew"),
            **TRACEBACK,
        },
        run="experiments.command:run",
    )
    datasets = verbs.add_parser("datasets", help="list, describe, fetch and verify the article's data sets")
    parts = datasets.add_subparsers(
        dest="part_name", required=True, metavar="list|info|fetch|verify", parser_class=Parser
    )
    home = option("DIR", "folder of the data sets (default: the environment variable NMLSDR_DATA, or ~/nmlsdr_data)")
    for name, summary, nargs in (
        ("list", "list names and sizes, and whether the files are on this machine", None),
        ("info", "describe a data set and where it comes from", "+"),
        ("fetch", "download data sets and check their files", "*"),
        ("verify", "check the files on this machine", "*"),
    ):
        what = "a data set" if nargs == "+" else "a data set (default: all)"
        names = {} if nargs is None else {"names": option("NAME", what, nargs=nargs)}
        options = {**names, "--data-home": home, **QUIET}
        description = f"{summary[0].upper()}{summary[1:]}."
        add_verb(parts, name, summary, description, options, run=f"_cli.datasets:{name}_sets").set_defaults(names=None)
    add_verb(
        verbs,
        "bench",
        "compare the speed of nmlsdr with faiss and scikit-learn on this machine (two minutes)",
        "Measure the time of exact neighbour searches, queries of single rows and a fit, with this package and with "
        "faiss, scikit-learn and SciPy, if they are installed. The programs run in turns within this process.",
        {
            "--jobs": option("J", "number of threads of each program (default: all cores)", count),
            "--seconds": option("S", "approximate time to spend (default: 100)", float, default=100.0),
            **QUIET,
        },
    )
    model = option("MODEL.skops", "a model file to describe", nargs="?")
    add_verb(
        verbs,
        "info",
        "print versions, threads and vector instructions, or describe a model file",
        "Print versions, compiler, OpenMP, threads and vector instructions. With a model file, describe this file.",
        {"model": model, **QUIET},
    )
    completion = add_verb(
        verbs,
        "completion",
        "print a script that lets a shell complete commands and options",
        "Print a script that lets a shell complete commands and options. For bash: nmlsdr completion bash > "
        "~/.local/share/bash-completion/completions/nmlsdr",
        {"shell": {"choices": ("bash", "zsh", "fish", "tcsh")}, **TRACEBACK},
    )
    completion.set_defaults(whole=parser)
