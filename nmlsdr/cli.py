"""The command ``nmlsdr`` and its exit status.

0: done; 1: a run failed; 2: the arguments or a file are wrong (one sentence on stderr); 130: interrupted.
Any other error is a bug of the program: its traceback is shown, with status 1.
"""

import argparse
import os
import pkgutil
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from ._cli.checks import check_arguments
from ._cli.console import Console
from ._cli.parser import EXAMPLES, Parser
from ._cli.startup import stub_heavy_imports
from ._cli.verbs import add_verbs
from ._errors import InputError, printable
from ._version import __version__

__all__ = ["main"]

DESCRIPTION = (
    "Learn from tables in which rows have several labels, many rows are not labelled, and some labels are wrong.\n\n"
) + "".join(f"  {EXAMPLES[verb]}\n" for verb in ("review", "plan", "fit", "predict", "evaluate", "report"))
# Other forms of the first words, as users of other programs write them.
SPOKEN = {"help": ["--help"], "version": ["--version"], "-V": ["--version"]}

WRONG_INPUT = (InputError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments; the process's own by default.

    Returns
    -------
    int
        0 done, 1 a run failed, 2 bad input, 130 interrupted.

    Examples
    --------
    >>> main(["--version"])  # doctest: +ELLIPSIS
    nmlsdr ...
    0
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:
        return _stop(1, "standard output is closed; open it, for example by > /dev/null.")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return _run(arguments, is_process=argv is None)
    except SystemExit as stop:  # --help and --version
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        return _stop(130, "interrupted.")
    except BrokenPipeError:
        # The reader of our output has closed it, as `head` does; Python's own flush at exit must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        status = _report_failure(error, with_traceback="--traceback" in arguments)
        if status is None:
            raise
        return status


def _report_failure(error: Exception, with_traceback: bool) -> int | None:
    """Say in one sentence what failed, and return the exit status; None if the traceback is to be shown.

    An error that neither the input nor the machine explains gets a note that it is a bug.
    """
    if isinstance(error, (InputError, MemoryError, OSError, ImportError)):
        return None if with_traceback else _stop(2 if isinstance(error, WRONG_INPUT) else 1, _sentence(error))
    if isinstance(error, RuntimeError) and "start new thread" in str(error) and not with_traceback:
        return _stop(1, f"the process may start no more threads ({error}); raise its limits of threads and memory.")
    error.add_note("This is a bug of nmlsdr, not of your input; please report it with these lines.")
    return None


def _run(arguments: list[str], is_process: bool) -> int:
    """Run the command that the arguments name; `is_process`: this process does nothing else."""
    if not arguments:
        print(f"{DESCRIPTION}\nMore: nmlsdr --help, and nmlsdr COMMAND --help.")
        return 0
    if arguments[0] in SPOKEN:  # `nmlsdr help fit` is `nmlsdr fit --help`
        arguments = [*arguments[1:], *SPOKEN[arguments[0]]]
    args = check_arguments(_parser().parse_args(arguments, argparse.Namespace(words=arguments[1:])))
    if is_process and hasattr(args, "data"):
        stub_heavy_imports()
    console = Console(args.quiet)
    with console.listening():
        status: int = pkgutil.resolve_name(f"nmlsdr.{args.run}")(args, console)
    sys.stdout.flush()
    return status


def _parser() -> Parser:
    parser = Parser(prog="nmlsdr", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"nmlsdr {__version__}")
    add_verbs(parser)
    return parser


def _stop(status: int, text: str) -> int:
    over_progress = "\r\x1b[K" * bool(sys.stderr and sys.stderr.isatty())
    print(f"{over_progress}nmlsdr: {printable(text)}", file=sys.stderr)
    return status


def _sentence(error: BaseException) -> str:
    """Return the message on one line."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({error or 'no detail'}); give fewer rows or columns, or float32 data."
    if isinstance(error, OSError) and error.strerror:
        named = "a file or standard output" if error.filename is None else repr(os.fspath(error.filename))
        return f"{named} cannot be used: {error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


def _show_warning(message: Warning | str, *place: Any, **options: Any) -> None:
    print(f"nmlsdr: warning: {printable(' '.join(str(message).split()))}", file=sys.stderr)
