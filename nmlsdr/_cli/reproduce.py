"""reproduce: the article's tables and figures."""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import add_traceback, count
from .console import Console

__all__ = ["add_parsers"]

STUDIES = ("toy", "benchmarks", "case-study")  # those of nmlsdr.experiments.protocol, whose import loads scikit-learn
BEYOND = "beyond"


def add_parsers(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        "reproduce",
        help="make the article's tables and figures",
        description="Run the article's experiments, or go on with a run that was cut short, and write the report.",
    )
    parser.add_argument("study", choices=[*STUDIES, "all", BEYOND],
                        help="which of the article's experiments; beyond: ResidualPropagation beside the article's "
                             "methods and plain rivals, in nine regimes of noise")  # fmt: skip
    parser.add_argument("--size", choices=["small", "full"], default="full",
                        help="small: a reduced run that shows that everything works (default: full)")  # fmt: skip
    parser.add_argument("--seeds", type=count, default=10, metavar="N", help="seeds 0 to N - 1 (default: 10)")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="some of the benchmark data sets (default: all)")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="some of the methods (default: all)")
    parser.add_argument("--jobs", type=count, metavar="J", help="cells at the same time (default: all cores)")
    parser.add_argument("--data-home", metavar="DIR", help="folder of the benchmark files (default: NMLSDR_DATA)")
    parser.add_argument("--out", default="nmlsdr-reproduce", metavar="DIR",
                        help="folder for records, tables, figures and report; a second start goes on there "
                             "(default: ./nmlsdr-reproduce)")  # fmt: skip
    parser.add_argument("--force-new", action="store_true", help="set the records of --out aside and begin anew")
    add_traceback(parser)
    parser.set_defaults(run=reproduce, quiet=False)


def reproduce(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr reproduce``."""
    from nmlsdr.experiments import command

    return command.run(args)
