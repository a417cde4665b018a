"""The options that several commands share, and how their text is parsed."""

import argparse
import csv
from collections.abc import Callable
from typing import Any

from .parser import Parser

Options = dict[str, dict[str, Any]]  # the arguments of argparse's add_argument, by the name of the option


def number(kind: type[int] | type[float], fits: Callable[[Any], bool], rule: str) -> Callable[[str], Any]:
    """Return a function that parses a number, and refuses one that breaks the rule."""
    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise argparse.ArgumentTypeError(f"it must be {rule}, got {text!r}")
        return value

    return read


count = number(int, lambda value: value >= 1, "a whole number of at least 1")
seed = number(int, lambda value: 0 <= value < 2**32, "a whole number of at least 0 and below 2^32")
_jobs = number(int, bool, "a whole number other than 0 (-1: all cores)")
_alpha = number(float, lambda value: 0 <= value < 1, "a number from 0 to below 1")


_share = number(float, lambda value: 0 <= value <= 1, "a number from 0 to 1, f1, or prior")


def cutoff(text: str) -> float | str:
    """Return a cut-off, or the word for a rule that finds one."""
    return text if text in ("f1", "prior") else float(_share(text))


def _alphas(text: str) -> float | tuple[float, float]:
    """Return one number, or the pair for given 0s and given 1s."""
    absent, comma, present = text.partition(",")
    return (_alpha(absent), _alpha(present)) if comma else _alpha(text)


def _delimiter(text: str) -> str:
    text = {"tab": "\t", "\\t": "\t", "semicolon": ";", "comma": ","}.get(text.lower(), text)
    if len(text) != 1 or text in '\r\n\0"' or ord(text) > 127:
        raise argparse.ArgumentTypeError(f"it must be one character such as ; or the word tab, got {text!r}")
    return text


def _names(text: str) -> list[str]:
    """Split at commas; a name that contains a comma is in double quotes."""
    try:
        names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        names = []
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"it must be names with commas and without blanks between them, got {text!r}")
    return names


def option(metavar: str, help: str, type: Callable[[str], Any] = str, **more: Any) -> dict[str, Any]:
    """Describe an option with a value, or a positional argument."""
    return {"metavar": metavar, "help": help, "type": type, **more}


def choice(words: tuple[str, ...], help: str, **more: Any) -> dict[str, Any]:
    """Describe an option with one of these words."""
    return {"choices": words, "help": help, **more}


def flag(help: str) -> dict[str, Any]:
    """Describe an option without a value."""
    return {"action": "store_true", "help": help}


def output(suffixes: str, *, required: bool = True) -> Options:
    """Describe --out of a verb that writes files with these suffixes."""
    text = f"the file to write ({suffixes}); -: standard output"
    return {"--out": option("FILE", text, required=required)}


TRACEBACK = {"--traceback": flag("print the traceback of an error, for a bug report")}  # `nmlsdr.cli.main` looks for it
QUIET = {
    "--quiet": flag(
        "print no progress and no estimates of time (progress is only printed on a terminal)"
    ),
    **TRACEBACK,
}
COMMON = {
    "--jobs": option("J", "number of threads (default: one for each core that the process may use)", _jobs),
    **QUIET,
}
GRAPH = {
    "--n-neighbors": option("K", "neighbours of a row in the graph (default: 10)", count, default=10),
    "--metric": choice(
        ("euclidean", "cosine"),
        "distance between rows: euclidean (default), or cosine for text and counts; add --no-standardize to cosine, "
        "because centring the data changes the angles",
        default="euclidean",
    ),
    "--alpha-labeled": option(
        "A",
        "weight of the neighbours compared with a given label, from 0 (keep the label) to below 1 (default: 0.6). Two "
        "numbers are for given 0s and for given 1s, such as 0.9,0.1 if annotators forget labels but seldom invent them",
        _alphas,
    ),
    "--alpha-unlabeled": option("A", "the same for unlabelled rows and unknown entries (default: 0.999)", _alpha),
    "--no-standardize": flag("leave the features unscaled (default: scale each to variance 1)"),
}
PREPARING = {
    "--impute": choice(
        ("median", "mean"),
        "replace missing features by the median (default) or mean of their column",
    ),
    "--one-hot": option(
        "NAME,...",
        "these columns are categories, such as numeric codes; each level becomes a feature. A level that the model has "
        "not seen becomes all 0 (CSV, Parquet, dense ARFF; default: decided for each column)",
        _names,
        action="extend",
    ),
    "--keep-case": flag("do not merge categories that differ only in upper case or surrounding blanks"),
}
KIND = {
    "--kind": choice(
        ("apart", "missing", "spurious", "both", "unknown"),
        "which annotations to list. missing: given 0s that look like 1 (forgotten labels); spurious: given 1s that "
        "look like 0 (wrongly given labels); apart: one list of each, first the kind that is more likely wrong "
        "(default); both: one list by score; unknown: one list, with lower scores for given 1s if few of them can be "
        "wrong",
        default="apart",
    )
}
REVIEWED = {
    "--reviewed": option(
        "FILE",
        "annotations that people have checked: a CSV file with the columns row (or id), label and verdict (1: the row "
        "has the label, 0: it does not have it, keep: as given, empty: not checked). Neighbours do not change these "
        "labels, and they are not listed again",
    )
}
MASK = {"--mask": option("FILE", "a file with a 0 or 1 for each row: labels of rows with 0 are ignored")}
LABELS_NEEDED = "needed, except for npz and svmlight files, which store them separately"
_LABELS = {
    "--label-columns": option(
        "NAME,...", "these columns are labels, of 0, 1 or nothing; put a name with a comma in double quotes", _names,
        action="extend",
    ),
    "--label-list": option(
        "NAME", "this column lists the labels of a row in one cell, such as flu;cold; an empty cell is unlabelled"
    ),
    "--annotators": option(
        "NAME,...",
        "these columns hold such lists, one column for each annotator, whose votes count; an empty cell is no vote",
        _names,
    ),
    "--labels": option("FILE.xml", "the names in this Mulan XML file are the label columns"),
    "--label-file": option(
        "FILE",
        "a file with a row for each row of DATA and a column of 0 and 1 for each label; an empty row, or one of -1, "
        "is unlabelled",
    ),
}  # fmt: skip
DATA = {
    "data": option(
        "DATA",
        "a table: ARFF (Mulan), CSV, TSV, svmlight (these also .gz), Parquet or .npz (arrays X and y), by the suffix "
        "of its name; -: standard input",
    ),
    "--separator": option("S", "the text between the labels of --label-list (default: found from the cells)"),
    "--no-label": option(
        "WORD",
        "the word in --label-list for a row that has no label, such as none (default: found from the cells; '': there "
        "is no such word)",
    ),
    "--missing": option(
        "WORD,...",
        "more words for a missing value (empty, ?, NA, -, k.A. and the like are known; default: words that are "
        "frequent in columns of numbers)",
        _names,
    ),
    "--drop": option("NAME,...", "columns to leave out", _names, action="extend", default=[]),
    "--id": option(
        "NAME",
        "the column that identifies the rows: copied to the output, and not a feature (default: found, if there is "
        "one)",
    ),
    "--delimiter": option("C", "CSV: the character between cells (default: guessed from line 1)", _delimiter),
    "--decimal": choice(
        (".", ","), "the decimal mark of numbers, a point or a comma (default: found for each column)", metavar="MARK"
    ),
    "--thousands": choice(
        ("", ".", ",", " ", "'"),
        "what stands between thousands: a point, a comma, a blank or an apostrophe (default: found for each column)",
        metavar="MARK",
    ),
    "--encoding": option("NAME", "encoding of a text file, such as cp1252 (default: guessed)"),
    "--zero-based": flag("svmlight: feature numbers begin at 0, not at 1"),
    "--max-bytes": option("N", "refuse a file that unpacks to more bytes (default: 4 GiB)", count),
    "--max-features": option("N", "refuse a file that has more columns (default: 1 000 000)", count),
}
#: The options of a verb that fits, but for the threads and the output.
FITTING = DATA | MASK | PREPARING | GRAPH | REVIEWED
_SHORT = {"--quiet": "-q", "--out": "-o"}
#: The groups of options in the help of a verb that reads a table, as a beginner meets them.
GROUPS = {
    "what to write, and what is done with columns and rows": (
        "--out", "--id", "--drop", "--missing", "--one-hot", "--impute", "--keep-case", "--mask"
    ),
    "the annotations to check, and results": (
        "--kind", "--top", "--explain", "--reviewed", "--folds", "--scores", "--compare"
    ),
    "the method": (
        "--threshold", "--method", "--classifier", "--n-components", "--n-neighbors", "--metric", "--alpha-labeled",
        "--alpha-unlabeled", "--no-standardize", "--seed",
    ),
    "how the file is written": ("--delimiter", "--decimal", "--thousands", "--encoding", "--zero-based"),
    "threads, messages and limits": ("--jobs", "--quiet", "--traceback", "--max-bytes", "--max-features"),
}  # fmt: skip


def _order(words: str) -> int:
    """Place of an option within its group; arguments without a group keep their order."""
    return next((members.index(words) for members in GROUPS.values() if words in members), 0)


def add_verb(
    verbs: Any,
    name: str,
    summary: str,
    description: str,
    options: Options,
    *,
    labels: str | None = None,
    run: str = "",
) -> Parser:
    """Describe a verb.

    Parameters
    ----------
    verbs : subparsers of argparse
    name : str
    summary, description : str
        For the list of verbs, and for the verb's own help.
    options : dict of str to dict
        The arguments of add_argument, by the name of the option.
    labels : str or None, default=None
        Whether labels are needed, for the title of their options; None for a verb that reads no table.
    run : str, default=""
        Module of the package and function, as "_cli.plan:plan", which are loaded when the verb runs. The function
        takes the arguments and the console, and returns the exit status. Empty: the module and function of this name.

    Returns
    -------
    Parser
    """
    parser: Parser = verbs.add_parser(name, help=summary, description=description)
    places: dict[str, Any] = {}
    if labels is not None:
        files = [options[name]["metavar"] for name in ("model", "data") if name in options]
        parser.usage = f"%(prog)s {' '.join(files)} [options]"
        group = parser.add_argument_group(f"where the labels are ({labels})")
        exclusive = group.add_mutually_exclusive_group()
        for words, settings in _LABELS.items():  # `read_table` refuses --annotators with another
            (group if words == "--annotators" else exclusive).add_argument(words, **settings)
        places = {"--separator": group, "--no-label": group}
        for title, members in GROUPS.items():
            if options.keys() & set(members):
                places |= dict.fromkeys(members, parser.add_argument_group(title))
    for words in sorted(options, key=_order):
        names = [_SHORT[words], words] if words in _SHORT else [words]
        places.get(words, parser).add_argument(*names, **options[words])
    parser.set_defaults(run=run or f"_cli.{name}:{name}", **({} if "--quiet" in options else {"quiet": False}))
    return parser
