"""Arguments that several verbs share, and what their text may be."""

from __future__ import annotations

import argparse
import csv
import difflib
import math
import re
import weakref
from pathlib import PurePath
from typing import Any, ClassVar, NoReturn

from nmlsdr._errors import InputError

__all__ = [
    "Parser",
    "add_common",
    "add_data",
    "add_graph",
    "add_out",
    "add_preparing",
    "add_reviewed",
    "add_table_limits",
    "check_suffix",
    "count",
    "seed",
]


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


def count(text: str) -> int:
    """Return a whole number of at least 1."""
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"it must be a whole number of at least {least}, got {text!r}")
    return value


def seed(text: str) -> int:
    """Return a whole number that a generator of random numbers can begin with."""
    value = _whole(text, 0)
    if value >= 2**32:
        raise argparse.ArgumentTypeError(f"it must be below 2^32, got {text!r}")
    return value


def _jobs(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value == 0:
        raise argparse.ArgumentTypeError(f"it must be a whole number other than 0 (-1: all cores), got {text!r}")
    return value


def _alpha(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"it must be a number from 0 to below 1, got {text!r}")
    return value


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


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options of every verb that computes."""
    parser.add_argument(
        "--jobs",
        type=_jobs,
        metavar="J",
        help="threads (default: all cores that OMP_NUM_THREADS, affinity and the container allow)",
    )
    add_quiet(parser)


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add -q and --traceback."""
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="show no progress (never shown in a script) and no estimate of what will take over a minute",
    )
    add_traceback(parser)


def add_traceback(parser: argparse.ArgumentParser) -> None:
    """Add --traceback, which `nmlsdr.cli.main` looks for."""
    parser.add_argument("--traceback", action="store_true", help="show where in the program an error arose")


def add_data(parser: argparse.ArgumentParser, *, labels: str, mask: bool) -> None:
    """Add DATA and where its labels are."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help="ARFF (Mulan), CSV, TSV, svmlight (these also .gz), Parquet or .npz (arrays X and y); the suffix decides; "
        "-: standard input",
    )
    group = parser.add_argument_group(f"where the labels are ({labels})").add_mutually_exclusive_group()
    group.add_argument("--labels", metavar="FILE.xml", help="the names in this Mulan XML file are the label columns")
    group.add_argument(
        "--label-columns",
        type=_names,
        metavar="NAME,...",
        help="these columns are labels; a name with a comma stands in double quotes",
    )
    group.add_argument(
        "--label-file",
        metavar="FILE",
        help="a file with one row per row of DATA, every column a label 0/1; a row that is empty or -1 is unlabelled",
    )
    group.add_argument(
        "--label-list",
        metavar="NAME",
        help="this column holds the labels of a row in one cell, such as flu;cold; an empty cell is unlabelled",
    )
    parser.add_argument(
        "--separator", default=";", metavar="S", help="what stands between the labels of --label-list (default: ;)"
    )
    parser.add_argument(
        "--no-label", metavar="WORD", help="the word that stands alone in --label-list where a row has no label (none)"
    )
    if mask:
        parser.add_argument(
            "--mask", metavar="FILE", help="one 0 or 1 per row: use the labels of the rows with 1, forget the others"
        )
    add_table_limits(parser)


def add_table_limits(parser: argparse.ArgumentParser) -> None:
    """Add how a file is read."""
    parser.add_argument(
        "--drop",
        type=_names,
        action="extend",
        default=[],
        metavar="NAME,...",
        help="columns to leave out, such as row names",
    )
    parser.add_argument(
        "--id", metavar="NAME", help="the column that names the rows: no feature, copied to what is written"
    )
    parser.add_argument("--delimiter", type=_delimiter, metavar="C", help="CSV: between cells (default: by line 1)")
    parser.add_argument("--decimal", choices=(".", ","), help="CSV: the decimal mark (default: as the first lines say)")
    parser.add_argument("--encoding", metavar="NAME", help="of a text file, such as cp1252 (default: as its bytes say)")
    parser.add_argument("--zero-based", action="store_true", help="svmlight: feature numbers begin at 0, not at 1")
    parser.add_argument(
        "--max-bytes", type=count, metavar="N", help="stop when a file unpacks to more (default: 4 GiB)"
    )
    parser.add_argument(
        "--max-features", type=count, metavar="N", help="stop when a file has more columns (default: 1 000 000)"
    )


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Add what the graph and the propagation depend on."""
    parser.add_argument(
        "--n-neighbors", type=count, default=10, metavar="K", help="neighbours of a row in the graph (default: 10)"
    )
    parser.add_argument(
        "--metric",
        choices=("euclidean", "cosine"),
        default="euclidean",
        help="how neighbours are found: by distance (default), or by the angle between rows, for text and counts; "
        "standardising moves the origin that angles are measured from, --no-standardize leaves it",
    )
    parser.add_argument(
        "--alpha-labeled",
        type=_alphas,
        metavar="A",
        help="how much a given label listens to its neighbours, 0 (keep it) to below 1 (default: 0.6); A0,A1 for given "
        "0s and given 1s, as 0.9,0.1 where a 1 is right and a 0 may be forgotten",
    )
    parser.add_argument(
        "--alpha-unlabeled", type=_alpha, metavar="A", help="the same for what is not known (default: 0.999)"
    )
    parser.add_argument(
        "--no-standardize", action="store_true", help="take the features as they are (default: variance 1)"
    )


def add_preparing(parser: argparse.ArgumentParser) -> None:
    """Add --impute and --one-hot."""
    parser.add_argument(
        "--impute",
        choices=("median", "mean"),
        help="features that are missing (empty, ?, NA, NaN, NULL) get the median or mean of their column",
    )
    parser.add_argument(
        "--one-hot",
        type=_names,
        action="extend",
        metavar="NAME,...",
        help="a column of 0 and 1 for each text in these columns; auto: in all that are not numbers (CSV, Parquet, "
        "dense ARFF). A text that the model has not seen has 0 in all of them; an empty cell is a text of its own",
    )


def add_reviewed(parser: argparse.ArgumentParser) -> None:
    """Add --reviewed."""
    parser.add_argument(
        "--reviewed",
        metavar="FILE",
        help="annotations that people have checked: CSV with row (or id), label and verdict (1 or 0: the label belongs "
        "there or not; empty: not yet). They are set, kept as they are (alpha 0), and no longer listed",
    )


def add_out(parser: argparse.ArgumentParser, suffixes: str, *, required: bool = True) -> None:
    """Add --out."""
    parser.add_argument(
        "-o",
        "--out",
        required=required,
        metavar="FILE",
        help=f"the file to write ({suffixes}), whole or not at all; -: standard output",
    )


def check_suffix(path: str, suffixes: tuple[str, ...]) -> str:
    """Return the suffix of an output, or say which there are; standard output gets the first."""
    if path == "-":
        return suffixes[0]
    suffix = PurePath(path).suffix.lower()
    if suffix not in suffixes:
        raise InputError(
            f"The output {path!r} should end in {' or '.join(suffixes)}, which decides what is written; rename it."
        )
    return suffix
