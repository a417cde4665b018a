"""reproduce: the article's tables and figures."""

import argparse
from typing import Any

from .arguments import TRACEBACK, add_verb, choice, count, flag, option
from .console import Console

STUDIES = ("toy", "benchmarks", "case-study")  # those of nmlsdr.experiments.protocol, whose import loads scikit-learn
BEYOND, OPEN = "beyond", "open"


def add_parsers(verbs: Any) -> None:
    """Describe the verb."""
    add_verb(
        verbs,
        "reproduce",
        reproduce,
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
    )


def reproduce(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr reproduce``."""
    from nmlsdr.experiments import command

    return command.run(args)
