"""Arguments that several verbs share, and what their text may be."""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import PurePath
from typing import Any, NoReturn

from nmlsdr._errors import InputError

__all__ = [
    "Parser",
    "add_common",
    "add_data",
    "add_graph",
    "add_out",
    "add_table_limits",
    "check_suffix",
    "count",
    "seed",
]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence and no usage text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise instead of leaving the process."""
        raise InputError(f"{message}; see '{self.prog} --help'.")


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
        help="ARFF (Mulan), CSV, TSV, svmlight (these also .gz), Parquet or .npz (arrays X and y); the suffix decides",
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
    if mask:
        parser.add_argument(
            "--mask", metavar="FILE", help="one 0 or 1 per row: use the labels of the rows with 1, forget the others"
        )
    add_table_limits(parser)


def add_table_limits(parser: argparse.ArgumentParser) -> None:
    """Add how a file is read."""
    parser.add_argument(
        "--drop", type=_names, default=[], metavar="NAME,...", help="columns to leave out, such as row names"
    )
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
        "--alpha-labeled",
        type=_alpha,
        metavar="A",
        help="how much a labelled row listens to its neighbours, 0 (keep the given labels) to below 1 (default: 0.6)",
    )
    parser.add_argument(
        "--alpha-unlabeled", type=_alpha, metavar="A", help="the same for an unlabelled row (default: 0.999)"
    )
    parser.add_argument(
        "--no-standardize", action="store_true", help="take the features as they are (default: variance 1)"
    )


def add_out(parser: argparse.ArgumentParser, suffixes: str, *, required: bool = True) -> None:
    """Add --out."""
    parser.add_argument(
        "--out", required=required, metavar="FILE", help=f"the file to write ({suffixes}), whole or not at all"
    )


def check_suffix(path: str, suffixes: tuple[str, ...]) -> str:
    """Return the suffix of an output, or say which there are."""
    suffix = PurePath(path).suffix.lower()
    if suffix not in suffixes:
        raise InputError(
            f"The output {path!r} should end in {' or '.join(suffixes)}, which decides what is written; rename it."
        )
    return suffix
