"""All commands: their options and how the text of these is parsed, and what `--help` says of them.

Each command names the function that runs it, whose module is loaded then.
"""

from collections.abc import Callable
from typing import Any

from .._article_methods import METHODS
from .parser import InputFile, Parser
from .values import alpha, alphas, count, cutoff, delimiter, jobs, names_of, number, seed

Options = dict[str, dict[str, Any]]  # the arguments of argparse's add_argument, by the name of the option


def option(metavar: str, help: str, type: Callable[[str], Any] = str, **fields: Any) -> dict[str, Any]:
    """Describe an option with a value, or a positional argument."""
    return {"metavar": metavar, "help": help, "type": type, **fields}


def names(help: str, **fields: Any) -> dict[str, Any]:
    """Describe an option with names, which may be given again with more of them."""
    return option("NAME,...", help, names_of, action="extend", **fields)


def choice(words: tuple[str, ...], help: str, **fields: Any) -> dict[str, Any]:
    """Describe an option with one of these words."""
    return {"choices": words, "help": help, **fields}


def flag(help: str) -> dict[str, Any]:
    """Describe an option without a value."""
    return {"action": "store_true", "help": help}


LISTS = (".csv", ".tsv", ".parquet", ".pq")


def output(*suffixes: str, note: str = "", required: bool = True) -> Options:
    """Describe --out of a verb that writes files with these suffixes, which become ``args.suffixes``."""
    *first_suffixes, last_suffix = (suffix for suffix in suffixes if suffix != ".pq")
    text = f"the file to write ({', '.join(first_suffixes)}{' or ' if first_suffixes else ''}{last_suffix}{note})"
    text += "; -: standard output" * (last_suffix != ".skops")
    return {"--out": option("FILE", text, required=required, suffixes=suffixes)}


TRACEBACK = {"--traceback": flag("print the traceback of an error, for a bug report")}  # `nmlsdr.cli.main` looks for it
HOME_TEXT = "folder of the data sets (default: the environment variable NMLSDR_DATA, or ~/nmlsdr_data)"
HOME = {"--data-home": option("DIR", HOME_TEXT)}
QUIET_TEXT = "print no progress, estimates of time, plan, first entries or names of written files; warnings stay"
QUIET = {"--quiet": flag(QUIET_TEXT), **TRACEBACK}
# Of these a table has one at most.
_LABELS = {
    "--label-columns": names("these columns are labels, of 0, 1 or nothing; put a name with a comma in double quotes"),
    "--label-list": option(
        "NAME", "this column lists the labels of a row in one cell, such as flu;cold; an empty cell is unlabelled"
    ),
    "--annotators": option(
        "NAME,...", "columns of such lists, one for each annotator; their votes count; an empty cell is none", names_of
    ),
    "--labels": option("FILE.xml", "the names in this Mulan XML file are the label columns", InputFile),
    "--label-file": option(
        "FILE",
        "a file with the rows of DATA and a column of 0 and 1 for each label; a row that is empty or -1 is unlabelled",
        InputFile,
    ),
}
#: The other options of the commands that read a table, in the groups of their help, as a beginner meets them.
GROUPS: dict[str, Options] = {
    "": {
        "model": option("MODEL.skops", "the file that `nmlsdr fit` wrote", InputFile),
        "data": option(
            "DATA",
            "a table: ARFF (Mulan), CSV, TSV, svmlight (these also .gz), Excel (.xlsx), Parquet or .npz (arrays X and "
            "y), by the suffix of its name; -: standard input",
            InputFile,
        ),
    },
    "where the labels are": {
        "--separator": option("S", "the text between the labels of --label-list (default: found from the cells)"),
        "--no-label": option(
            "WORD",
            "the word in --label-list for no label, such as none (default: found from the cells; '': there is none)",
        ),
    },
    "what the labels say": {
        "--empty-is": choice(
            ("unknown", "no"),
            "what an empty cell of a label column says: nobody looked (unknown, the default), or the label does not "
            "apply (no), as where only codes that apply are written",
        ),
        "--label-prefix": option(
            "N",
            "keep only the first N characters of a label, and merge equal ones: with 3, E11.9 and E11.2 are E11",
            count,
        ),
        "--label-until": option(
            "TEXT", "cut each label before this text, and merge equal ones: with :: the label role::program is role"
        ),
        "--min-count": option("N", "leave out labels that fewer than N rows have (default: 1)", count),
    },
    "what to write, and what is done with columns and rows": {
        "--out": {},  # each command has its own
        "--id": option(
            "NAME",
            "the column that identifies the rows: copied to the output, and not a feature (default: found)",
        ),
        "--drop": names("columns to leave out", default=[]),
        "--missing": option(
            "WORD,...",
            "more words for a missing value (empty, ?, NA, -, k.A. and the like are known, and words that are frequent "
            "in columns of numbers are found)",
            names_of,
        ),
        "--fill-absent": flag("treat columns that the model needs and DATA lacks as if all their cells were empty"),
        "--model": option("MODEL.skops", "say where a column is not as in the table of this model's fit", InputFile),
        "--strict": flag("stop where a column is not as at the fit, such as shares in place of percent"),
        "--one-hot": names(
            "these columns are categories, such as numeric codes; each level becomes a feature, and a level that the "
            "model has not seen becomes all 0 (default: decided for each column)"
        ),
        "--impute": choice(
            ("median", "mean"), "replace missing features by the median (default) or mean of their column"
        ),
        "--keep-case": flag("do not merge categories that differ only in upper case or surrounding blanks"),
        "--yes": option("WORD", "the word that means yes (with --no; default: words of 37 languages)"),
        "--no": option("WORD", "the word that means no"),
        "--mask": option("FILE", "a file with a 0 or 1 for each row: labels of rows with 0 are ignored", InputFile),
    },
    "the annotations to check, and results": {
        "--kind": choice(
            ("all", "forgotten", "wrong"),
            "which annotations to list. forgotten: given 0s that look like 1; wrong: given 1s that look like 0; all: "
            "both in one list, the likeliest label errors first (default)",
            default="all",
        ),
        "--top": option("N", "only the first N annotations of the list (default: all; 500 for a page)", count),
        "--audit": option(
            "N",
            "ask N annotations of each label first; their verdicts order the others (default: 5; 0: no audit)",
            seed,
            default=5,
        ),
        "--ask": option(
            "N",
            "also ask about N unknown labels of which the model is least sure, in turn with the doubtful ones (active "
            "learning); with --kind open about these alone",
            count,
        ),
        "--ask-rows": option(
            "N",
            "write N whole rows to label, to the file of --out: the cells of the row, its check, and an empty column "
            "for each label, or one for --label-list. Below 50 labelled rows they are drawn at random",
            count,
        ),
        "--random": option(
            "N",
            "list a random sample of N known labels, without a model; --reviewed then prints the label error rate with "
            "its interval",
            count,
        ),
        "--explain": flag(
            "also write the nearest labelled rows of each annotation (number or id, label, distance), and which words "
            "and columns speak for its label and against it in the linear part of the model"
        ),
        "--show": names("on a page, the columns that are shown beside each annotation (default: features and texts)"),
        "--image": option("NAME", "on a page, show this column's pictures (paths of png, jpeg, gif or webp files)"),
        "--no-cells": flag("leave the cells of the table out of a page"),
        "--reviewed": option(
            "FILE",
            "annotations that people have checked: a CSV file with the columns check (or id), label and verdict (1, 0, "
            "keep: as given, unclear: it cannot be told, empty: not checked). Neighbours do not change these labels, "
            "and they are not listed again",
            InputFile,
        ),
        "--folds": option(
            "N",
            "folds of the comparison, which takes most of the time (default: 5); 0: no comparison",
            number(int, lambda value: value == 0 or value >= 2, "a whole number of at least 2, or 0"),
            default=5,
        ),
        "--sensitivity": flag(
            "print sensitivity (recall), specificity and AUC (area under the ROC curve) of each label"
        ),
        "--probabilities": flag("write the probability of each label too, in columns probability:NAME"),
    },
    "the method": {
        "--threshold": option(
            "T",
            "predict a label if its score reaches T. T is a number from 0 to 1 (a larger one predicts fewer labels), "
            "f1: the number with the best expected F1 (default for residual; 0.5 for the others), macro: the same for "
            "each label by itself; try it if labels are rare, or prior: a number for each label that predicts it for "
            "as large a share of the rows as have it",
            cutoff,
        ),
        "--method": option(
            "NAME",
            "CCA, MVMD, MDDMp, MDDMf, wMLDAb, wMLDAe, wMLDAc, wMLDAd, wMLDAf, SSMLDR, NMLSDR (default), or SSMLDR*, "
            "NMLSDR* (given labels kept); any case",
            default="NMLSDR",
        ),
        "--classifier": choice(
            ("residual", "semi-supervised", "mlknn", "none"),
            "residual (default for NMLSDR): a mean of a ridge regression and two forests, plus its errors on nearby "
            "rows; semi-supervised (default for all other methods): ML-kNN on the embedding of all rows, after "
            "propagating the labels; mlknn: ML-kNN on the embedding of the labelled rows; none",
        ),
        "--n-components": option("D", "number of columns of the embedding (default: as many as possible)", count),
        "--n-neighbors": option("K", "neighbours of a row in the graph (default: 10)", count, default=10),
        "--metric": choice(
            ("euclidean", "cosine"),
            "distance between rows: euclidean (default), or cosine with --no-standardize for text and counts",
            default="euclidean",
        ),
        "--alpha-labeled": option(
            "A",
            "weight of the neighbours compared with a given label, from 0 (keep the label) to below 1 (default: 0.6). "
            "Two numbers, such as 0.9,0.1, are for given 0s and for given 1s",
            alphas,
        ),
        "--alpha-unlabeled": option("A", "the same for unlabelled rows and unknown entries (default: 0.999)", alpha),
        "--no-standardize": flag("leave the features unscaled (default: scale each to variance 1)"),
        "--seed": option(
            "S", "seed of the folds and the forests of residual, and of wMLDAd (default: 0)", seed, default=0
        ),
    },
    "how the file is written": {
        "--delimiter": option("C", "CSV: the character between cells (default: guessed from line 1)", delimiter),
        "--decimal": choice(
            (".", ","),
            "the decimal mark of numbers, a point or a comma (default: found for each column)",
            metavar="MARK",
        ),
        "--thousands": choice(
            ("", ".", ",", " ", "'"), "what stands between thousands (default: found for each column)", metavar="MARK"
        ),
        "--encoding": option("NAME", "such as cp1250 (default: UTF-8, or the one that fits the names and letters)"),
        "--sheet": option("NAME", "Excel: the sheet to read (default: the first that has the columns)"),
        "--zero-based": flag("svmlight: feature numbers begin at 0, not at 1"),
    },
    "threads, messages and limits": {
        "--jobs": option("J", "number of threads (default: one for each core that the process may use)", jobs),
        **QUIET,
        "--max-bytes": option(
            "N", "refuse a file that unpacks to more bytes (default: 4 GiB; packed: 64 times its size or 32 MiB)", count
        ),
        "--max-features": option("N", "refuse a file that has more columns (default: 1 000 000)", count),
    },
}
# Which of them the commands have.
DATA = (
    "data --separator --no-label --empty-is --label-prefix --label-until --id --drop --missing --yes --no --delimiter "
    "--encoding --sheet --zero-based --quiet --traceback --max-bytes --max-features"
)
PREPARING = "--min-count --decimal --thousands --one-hot --impute --keep-case"
FITTING = (
    f"{DATA} {PREPARING} --mask --reviewed --n-neighbors --metric --alpha-labeled --alpha-unlabeled "
    "--no-standardize --jobs"
)
PAGES = f"{FITTING} --kind --show --image --no-cells"
APPLYING = f"model {DATA} --fill-absent --strict --jobs"
LABELS_NEEDED = "needed, except for npz and svmlight files, which store them separately"
LABELS_IGNORED = "these columns are not features, and the labels are not used"
_SHORT = {"--quiet": "-q", "--out": "-o"}


def add_verb(verbs: Any, name: str, summary: str, description: str, options: Options, run: str = "") -> Parser:
    """Describe a verb.

    Parameters
    ----------
    verbs : subparsers of argparse
    name : str
    summary, description : str
        For the list of verbs, and for the verb's own help.
    options : dict of str to dict
        The arguments of add_argument, by the name of the option.
    run : str, default=""
        Module of the package and function, as "_cli.reading:plan", which are loaded when the verb runs. The function
        takes the arguments and the console, and returns the exit status. Empty: the module and function of this name.

    Returns
    -------
    Parser
    """
    parser: Parser = verbs.add_parser(name, help=summary, description=description)
    _add_options(parser, parser, options)
    parser.set_defaults(run=run or f"_cli.{name}:{name}", quiet=False)
    return parser


def _add_options(parser: Parser, group: Any, options: Options) -> None:
    for words, settings in options.items():
        names = [_SHORT[words], words] if words in _SHORT else [words]
        group.add_argument(*names, **{key: value for key, value in settings.items() if key != "suffixes"})
        if "suffixes" in settings:
            parser.set_defaults(suffixes=settings["suffixes"])


def add_table_verb(
    verbs: Any,
    name: str,
    summary: str,
    description: str,
    words: str,
    out: Options,
    *,
    labels: str = LABELS_NEEDED,
    run: str = "",
) -> None:
    """Describe a verb that reads a table: `words` are its options, `labels` says how it uses labels."""
    parser = add_verb(verbs, name, summary, description, {}, run)
    option_names = {*words.split(), *out}
    for title, members in GROUPS.items():
        options = {word: out.get(word, settings) for word, settings in members.items() if word in option_names}
        group: Any = parser
        if title == "where the labels are":
            group = parser.add_argument_group(f"{title} ({labels})")
            _add_options(parser, group.add_mutually_exclusive_group(), _LABELS)
        elif title and options:
            group = parser.add_argument_group(title)
        _add_options(parser, group, options)
    files = " ".join(GROUPS[""][word]["metavar"] for word in ("model", "data") if word in option_names)
    parser.usage = f"%(prog)s {files} [options]"


# ---------------------------------------------------------------- the commands


# As in nmlsdr.experiments.protocol, whose import loads scikit-learn.
STUDIES = ("toy", "benchmarks", "case-study")
BENCHMARK_SETS = ("Birds", "Corel", "Emotions", "Enron", "Genbase", "Medical", "Scene", "Tmc2007", "Toy", "Yeast")


def add_verbs(parser: Parser) -> None:
    """Describe all commands."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND", parser_class=Parser)
    _add_tables(verbs)
    _add_others(verbs)


def _add_tables(verbs: Any) -> None:
    text = "the file to write: a list (.csv, .tsv, .parquet) or a page (.html); -: standard output; twice for both"
    add_table_verb(
        verbs,
        "review",
        "rank the annotations that are likely to be wrong, as a list or as a page to check them on",
        "List the annotations that are most likely wrong first: labels that were forgotten and labels that were given "
        "wrongly. --out review.html writes a page for a browser, which shows the row of each annotation beside its "
        "nearest rows, takes a verdict by one key, and writes the verdicts as a file for --reviewed. --out review.csv "
        "writes a list. Columns: row (from 0), label, given (0 or 1), score (the largest first), suggest (add or "
        "remove), kind (forgotten: given 0, looks like 1; wrong: given 1, looks like 0; open: not labelled, its score "
        "is the probability; random: of a random sample), rank within the kind, and "
        "verdict. Fill in the verdict (1, 0 or unclear), and pass the file to --reviewed.",
        f"{PAGES} --top --audit --ask --ask-rows --random --explain --model --strict",
        {
            "--out": option("FILE", text, required=True, action="append", suffixes=(*LISTS, ".html")),
            "--kind": choice(
                ("all", "forgotten", "wrong", "open"),
                "which annotations to list. forgotten: given 0s that look like 1; wrong: given 1s that look like 0; "
                "all: both in one list, the likeliest label errors first (default); open: labels that are not known "
                "and of which the model is least sure",
                default="all",
            ),
        },
    )
    add_table_verb(
        verbs,
        "plan",
        "print what fit would do with every column of a table",
        "Read a table and print what the other commands do with every column: which columns are features, how they "
        "become numbers, and which are left out and why. The last line repeats this plan as options, to copy and "
        "change.",
        f"{DATA} {PREPARING}",
        {},
        labels="optional; with them, columns that were filled in with the labels are found",
        run="_cli.reading:plan",
    )
    add_table_verb(
        verbs,
        "correct",
        "write a table with the labels that people have corrected",
        "Write the table as it was, with the labels changed that the verdicts of --reviewed found wrong, and a column "
        "that says which. This is for use outside of nmlsdr: fit takes the original table and --reviewed, because from "
        "corrected labels the noise rate of the others looks smaller than it is.",
        f"{DATA} {PREPARING} --reviewed",
        output(".csv", ".tsv"),
    )
    add_table_verb(
        verbs,
        "fit",
        "fit scaler, projection and classifier on a table",
        "Standardize the features, fit a projection and a classifier, and write them as one model file.",
        f"{FITTING} --threshold --method --classifier --n-components --seed",
        output(".skops"),
        run="_cli.models:fit",
    )
    table = output(*LISTS, ".npz", note="; rows count from 0")
    for name, summary, description, extra_options, out, labels in (
        (
            "transform",
            "embed the rows of a table",
            "Write the embedding of every row of DATA.",
            "",
            table,
            LABELS_IGNORED,
        ),
        (
            "predict",
            "predict the labels of a table's rows",
            "Write 0 or 1 for every label and row of DATA. The thresholds were chosen at fit.",
            "--probabilities",
            table,
            LABELS_IGNORED,
        ),
        (
            "evaluate",
            "compare predictions with a table's labels",
            "Predict the labelled rows of DATA, compare with their labels, and print the result for each label and "
            "seven measures. More is better in all of them: HL' is 1 - Hamming loss, RL' 1 - ranking loss, AP the "
            "average precision, OE' 1 - one-error, Cov' 1 - coverage / (number of labels), MaF1 and MiF1 the macro "
            "and micro F1.",
            "--mask --sensitivity",
            output(".json", ".csv", required=False),
            LABELS_NEEDED,
        ),
    ):
        words = f"{APPLYING} {extra_options}"
        add_table_verb(verbs, name, summary, description, words, out, labels=labels, run=f"_cli.models:{name}")
    add_table_verb(
        verbs,
        "report",
        "write a web page about the table: does the method help, what to review, a picture",
        "Fit on the table and write a self-contained web page. It begins with answers: how much is labelled; whether "
        "the method helps on these data, compared with logistic regression, a forest and ML-kNN by cross-validation; "
        "whether rare labels are found; how many annotations are probably wrong; whether more labels would help. Then "
        "come the annotations to review, the measures of each label, the embedding, and the commands to run next.",
        f"{PAGES} --folds",
        output(".html"),
    )


def _add_others(verbs: Any) -> None:
    file = "verdicts as --reviewed takes them, such as the file that the page of nmlsdr review writes"
    files = {name: option(f"{name.upper()}.csv", file, InputFile) for name in ("first", "second")}
    add_verb(
        verbs,
        "agree",
        "compare the verdicts of two people, with Cohen's kappa",
        "Compare two files of verdicts: how many agree, and Cohen's kappa, for all labels together and for each label. "
        "Then come the annotations on which they differ, at most 20; --out writes all, with an empty column verdict. "
        "Fill it in, and give that file as --settled: then --out writes one file with the verdicts of both.",
        {
            **files,
            "--settled": option(
                "DIFFERENCES.csv",
                "the filled-in file of differences: its verdicts count in the joined file of --out; elsewhere a yes or "
                "no counts if the other file has no verdict or unclear",
                InputFile,
            ),
            **output(*LISTS, required=False),
            **QUIET,
        },
    )
    add_verb(
        verbs,
        "reproduce",
        "repeat the article's experiments, and make its tables and figures",
        "Run the article's experiments, or continue a run that was interrupted, and write a report with tables and "
        "figures. A run consists of cells: one method on one data set with one seed.",
        {
            "study": choice(
                (*STUDIES, "all"),
                "which experiments: the toy data, the benchmarks or the case study of the article, or all three",
            ),
            "--size": choice(
                ("small", "full"),
                "small: a quick run on little data, to see that everything works (default: full)",
                default="full",
            ),
            "--seeds": option("N", "number of repetitions, with the seeds 0 to N - 1 (default: 10)", count, default=10),
            "--datasets": option(
                "NAME", f"only these data sets of the benchmarks: {', '.join(BENCHMARK_SETS)} (default: all)", nargs="+"
            ),
            "--methods": option(
                "NAME",
                f"only these methods: {', '.join(METHODS)}, or yours as module:Class (default: all of the article)",
                nargs="+",
            ),
            "--jobs": option("J", "number of cells that run at the same time (default: one for each core)", count),
            **HOME,
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
    about = "list, describe and fetch the article's data sets"
    datasets = verbs.add_parser("datasets", help=about, description=about)
    parts = datasets.add_subparsers(dest="part_name", required=True, metavar="list|info|fetch", parser_class=Parser)
    for name, summary in (
        ("list", "list names and sizes, and whether the files are on this machine"),
        ("info", "describe data sets, where they come from, and the state of their files"),
        ("fetch", "download data sets and check their files"),
    ):
        options = {"names": option("NAME", "a data set (default: all)", nargs="*"), **HOME, **QUIET}
        add_verb(parts, name, summary, f"{summary.capitalize()}.", options, run=f"_cli.datasets:{name}_sets")
    model = option("MODEL.skops", "a model file to describe", InputFile, nargs="?")
    add_verb(
        verbs,
        "info",
        "print versions, threads and vector instructions, or describe a model file",
        "Print versions, compiler, OpenMP, threads and vector instructions. With a model file, describe this file.",
        {"model": model, **QUIET},
    )
