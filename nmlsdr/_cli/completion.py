"""completion: words for a shell, so that the tab key completes verbs, options, files and names of data sets."""

import argparse
from collections.abc import Mapping
from typing import Any

from .._errors import import_extra
from ..datasets import list_datasets
from .console import Console


def completion(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr completion``."""
    shtab = import_extra("shtab", "Completion", "cli")
    _name_values(args.whole, {"file": shtab.FILE, "directory": shtab.DIRECTORY})
    print(shtab.complete(args.whole, args.shell))
    return 0


def _name_values(parser: argparse.ArgumentParser, kinds: Mapping[str, Any]) -> None:
    """Tell shtab, by attributes of the arguments, which of them are files, folders and names of data sets."""
    for action in parser._actions:
        metavar = str(action.metavar)
        if isinstance(action, argparse._SubParsersAction):
            for part in action.choices.values():
                _name_values(part, kinds)
        elif metavar == "DIR":
            action.complete = kinds["directory"]  # type: ignore[attr-defined]
        elif metavar.startswith(("FILE", "DATA", "MODEL")):
            action.complete = kinds["file"]  # type: ignore[attr-defined]
        elif action.dest in ("names", "datasets"):
            action.choices = list_datasets()
