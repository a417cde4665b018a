"""completion: words for a shell, so that the tab key completes verbs and options."""

import argparse
from typing import Any

from nmlsdr._errors import import_extra

from .arguments import TRACEBACK, add_verb
from .console import Console


def add_parsers(verbs: Any, whole: argparse.ArgumentParser) -> None:
    """Describe the verb; `whole` is the parser to complete."""
    parser = add_verb(
        verbs,
        "completion",
        completion,
        "print a script that lets a shell complete nmlsdr's words",
        "Print a script for a shell: nmlsdr completion bash > ~/.local/share/bash-completion/completions/nmlsdr",
        {"shell": {"choices": ("bash", "zsh", "tcsh")}, **TRACEBACK},
    )
    parser.set_defaults(whole=whole)


def completion(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr completion``."""
    shtab = import_extra("shtab", "Completion", "cli")
    print(shtab.complete(args.whole, args.shell))
    return 0
