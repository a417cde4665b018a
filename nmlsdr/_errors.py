"""The error about wrong input, texts for messages, the warning of iterations, and imports of extras."""

import csv
import functools
import importlib
import io
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from typing import Any


class InputError(ValueError):
    """An argument or input file that cannot be used; the message says what is wrong and what to change.

    It is a ValueError.  Every check of this package raises it or a subclass of it, so any other ValueError is a bug of
    the package; the command line reports the two differently.  Characters from files are made safe to print in the
    message.
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(printable(str(text)))


def printable(text: str) -> str:
    """Return a text with everything that is not seen escaped: what moves the cursor, changes colours or hides.

    Examples
    --------
    >>> printable("flu\\x1b[2J")
    'flu\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shorten(text: str, length: int = 60) -> str:
    """Return a text that fits into a sentence."""
    return text if len(text) <= length else text[: length - 3] + "..."


def plural(number: int, noun: str) -> str:
    """Return how many there are of something: "1 row", "2 rows"."""
    return f"{number} {noun}{'s' if number != 1 else ''}"


def some_of(names: Sequence[str], limit: int = 3) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> print(some_of(["flu"]), some_of(["flu", "cold", "gout", "acne", "mumps"]), sep="; ")
    'flu'; 'flu', 'cold', 'gout' and 2 more
    """
    suffix = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(repr(shorten(name, 30)) for name in names[:limit]) + suffix


def as_list(names: Sequence[str]) -> str:
    """Return names as one argument of the command line: commas between them, and quoted for the shell.

    Examples
    --------
    >>> print(as_list(["flu", "cold, dry"]))
    'flu,"cold, dry"'
    """
    text = io.StringIO()
    csv.writer(text).writerow(names)
    return shlex.quote(text.getvalue().removesuffix("\r\n"))


def level_outside() -> int:
    """The ``stacklevel`` of a warning that names the line outside this package which led to it.

    scikit-learn wraps `transform` and `fit_transform` for `set_output`; its wrapper is no line of the user either.
    """
    starts = (os.path.dirname(__file__), functools.__file__)
    wrapper = os.path.join("sklearn", "utils", "_set_output.py")
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if not file.startswith(starts) and not file.endswith(wrapper):
            break
        frame = frame.f_back
        level += 1
    return level


def warn_not_converged(text: str, *, stacklevel: int) -> None:
    """Warn by the class that users filter on, imported here because the core works without loading scikit-learn."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(text, ConvergenceWarning, stacklevel=stacklevel + 1)


def import_extra(module: str, purpose: str, extra: str) -> Any:
    """Import a package that only some features need, or say how to install it.

    Parameters
    ----------
    module : str
        The module to load, such as "pyarrow.parquet".
    purpose : str
        The feature that needs it, as the first words of the error.
    extra : str
        The extra of this package that installs it.

    Returns
    -------
    module
        The package itself (pyarrow).
    """
    package = module.partition(".")[0]
    try:
        importlib.import_module(module)
        return importlib.import_module(package)
    except ModuleNotFoundError:
        text = f"{purpose} needs {package}; install it with: pip install 'nmlsdr[{extra}]'."
        raise ImportError(text) from None
    except ImportError as error:  # such as a lack of memory for its libraries
        raise ImportError(f"{purpose} needs {package}, which is installed and cannot be loaded ({error}).") from error
