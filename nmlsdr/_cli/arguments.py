"""The options that several verbs share, each said once, and what their text may be."""

from __future__ import annotations

import argparse
import csv
import difflib
import re
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from nmlsdr._errors import InputError

__all__ = [
    "COMMON", "DATA", "FITTING", "KIND", "LABELS_NEEDED", "MASK", "QUIET", "TRACEBACK", "Parser", "add_verb", "choice",
    "count", "flag", "number", "option", "output", "seed",
]  # fmt: skip

Options = dict[str, dict[str, Any]]  # what argparse knows of each, by its name


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence, with the nearest word there is, and no usage text."""

    made: ClassVar[weakref.WeakSet[Parser]] = weakref.WeakSet()  # the first does not know the options of its verbs

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)
        Parser.made.add(self)

    def error(self, message: str) -> NoReturn:
        """Raise instead of leaving the process."""
        raise InputError(f"{message}{self._nearest(message)}; see '{self.prog} --help'.")

    def _nearest(self, message: str) -> str:
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        option = re.search(r"unrecognized arguments: .*?(--[\w-]+)", message)
        if choice is not None:
            given, words = choice[1], re.findall(r"[\w-]+", choice[2])
        elif option is not None:
            given, words = option[1], sorted({name for parser in Parser.made for name in parser._option_string_actions})
        else:
            return ""
        found = difflib.get_close_matches(given, words, n=1)
        return f"; did you mean {found[0]!r}?" if found and found[0] != given else ""


def number(kind: type[int] | type[float], fits: Callable[[Any], bool], rule: str) -> Callable[[str], Any]:
    """Return what makes a number of a text, or says the rule that it breaks."""

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
    """Split at commas; a name that holds a comma stands in double quotes."""
    try:
        names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        names = []
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"it must be names with commas between them, got {text!r}")
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
    text = f"the file to write ({suffixes}), whole or not at all; -: standard output"
    return {"--out": option("FILE", text, required=required)}


TRACEBACK = {"--traceback": flag("show where in the program an error arose")}  # `nmlsdr.cli.main` looks for it
QUIET = {
    "--quiet": flag("show no progress (never shown in a script) and no estimate of what will take over a minute"),
    **TRACEBACK,
}
COMMON = {
    "--jobs": option("J", "threads (default: all cores that OMP_NUM_THREADS, affinity and the container allow)", _jobs),
    **QUIET,
}
GRAPH = {
    "--n-neighbors": option("K", "neighbours of a row in the graph (default: 10)", count, default=10),
    "--metric": choice(
        ("euclidean", "cosine"),
        "how neighbours are found: by distance (default), or by the angle between rows, for text and counts; "
        "standardising moves the origin that angles are measured from, --no-standardize leaves it",
        default="euclidean",
    ),
    "--alpha-labeled": option(
        "A",
        "how much a given label listens to its neighbours, 0 (keep it) to below 1 (default: 0.6); A0,A1 for given "
        "0s and given 1s, as 0.9,0.1 where a 1 is right and a 0 may be forgotten",
        _alphas,
    ),
    "--alpha-unlabeled": option("A", "the same for what is not known (default: 0.999)", _alpha),
    "--no-standardize": flag("take the features as they are (default: variance 1)"),
}
PREPARING = {
    "--impute": choice(
        ("median", "mean"),
        "features that are missing (empty, ?, NA, NaN, NULL) get the median or mean of their column",
    ),
    "--one-hot": option(
        "NAME,...",
        "a column of 0 and 1 for each text in these columns; auto: in all that are not numbers (CSV, Parquet, "
        "dense ARFF). A text that the model has not seen has 0 in all of them; an empty cell is a text of its own",
        _names,
        action="extend",
    ),
}
KIND = {
    "--kind": choice(
        ("both", "missing", "spurious", "unknown"),
        "missing: given 0s that look like 1 (where annotations are forgotten); spurious: given 1s that look like "
        "0; both by score (default); unknown: both, with lower scores for given 1s where few of them can be wrong",
        default="both",
    )
}
REVIEWED = {
    "--reviewed": option(
        "FILE",
        "annotations that people have checked: CSV with row (or id), label and verdict (1 or 0: the label belongs "
        "there or not; empty: not yet). They are set, kept as they are (alpha 0), and no longer listed",
    )
}
MASK = {"--mask": option("FILE", "one 0 or 1 per row: use the labels of the rows with 1, forget the others")}
LABELS_NEEDED = "needed, but for npz and svmlight, which hold them apart"
_LABELS = {
    "--labels": option("FILE.xml", "the names in this Mulan XML file are the label columns"),
    "--label-columns": option(
        "NAME,...", "these columns are labels; a name with a comma stands in double quotes", _names
    ),
    "--label-file": option(
        "FILE", "a file with one row per row of DATA, every column a label 0/1; a row that is empty or -1 is unlabelled"
    ),
    "--label-list": option(
        "NAME", "this column holds the labels of a row in one cell, such as flu;cold; an empty cell is unlabelled"
    ),
}
DATA = {
    "data": option(
        "DATA",
        "ARFF (Mulan), CSV, TSV, svmlight (these also .gz), Parquet or .npz (arrays X and y); the suffix decides; "
        "-: standard input",
    ),
    "--separator": option("S", "what stands between the labels of --label-list (default: ;)", default=";"),
    "--no-label": option("WORD", "the word that stands alone in --label-list where a row has no label (none)"),
    "--drop": option("NAME,...", "columns to leave out, such as row names", _names, action="extend", default=[]),
    "--id": option("NAME", "the column that names the rows: no feature, copied to what is written"),
    "--delimiter": option("C", "CSV: between cells (default: by line 1)", _delimiter),
    "--decimal": choice((".", ","), "CSV: the decimal mark (default: as the first lines say)"),
    "--encoding": option("NAME", "of a text file, such as cp1252 (default: as its bytes say)"),
    "--zero-based": flag("svmlight: feature numbers begin at 0, not at 1"),
    "--max-bytes": option("N", "stop when a file unpacks to more (default: 4 GiB)", count),
    "--max-features": option("N", "stop when a file has more columns (default: 1 000 000)", count),
}
#: The options of a verb that fits, but for the threads and the output.
FITTING = DATA | MASK | PREPARING | GRAPH | REVIEWED
_SHORT = {"--quiet": "-q", "--out": "-o"}


def add_verb(
    verbs: Any,
    name: str,
    run: Callable[..., int],
    summary: str,
    description: str,
    options: Options,
    *,
    labels: str | None = None,
) -> Parser:
    """Describe a verb.

    Parameters
    ----------
    verbs : subparsers of argparse
    name : str
    run : callable
        Takes the arguments and the console, and returns the exit status.
    summary, description : str
        For the list of verbs, and for the verb's own help.
    options : dict of str to dict
        What argparse knows of each, by its name.
    labels : str or None, default=None
        Whether labels are needed, for the title of their options; None for a verb that reads no table.

    Returns
    -------
    Parser
    """
    parser: Parser = verbs.add_parser(name, help=summary, description=description)
    if labels is not None:
        group = parser.add_argument_group(f"where the labels are ({labels})").add_mutually_exclusive_group()
        for words, settings in _LABELS.items():
            group.add_argument(words, **settings)
    for words, settings in options.items():
        parser.add_argument(*([_SHORT[words]] if words in _SHORT else []), words, **settings)
    parser.set_defaults(run=run, **({} if "--quiet" in options else {"quiet": False}))
    return parser
