"""What the web pages of the package share: texts that are safe to show, templates, scripts and styles by their digest.

Every text from a file passes `readable` (no control characters, no changed writing direction, no very long texts), then
jinja2's autoescape, or JSON from which a script sets texts and never markup.  In addition, a page's content security
policy blocks all loading and all scripts other than its own.
"""

import base64
import functools
import hashlib
import unicodedata
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from .._errors import import_extra

LONGEST = 300  # characters of a text; longer ones are cut

# Control characters, format characters such as those that reorder text, halves of surrogate pairs, unassigned ones, and
# separators of lines; those that join letters stay.  The script of the review page has the same rule.
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_JOINERS = "\u200c\u200d"


def readable(value: Any, longest: int = LONGEST) -> Any:
    """The same data with every text made safe to show.

    Examples
    --------
    >>> readable({"name": "a\\x00b\\ud800", "rows": ["x" * 200, 3]})["name"]
    'a\ufffdb\ufffd'
    """
    if isinstance(value, str):
        text = "".join(map(_visible, value))
        return text if len(text) <= longest else text[: longest - 1] + "…"
    if isinstance(value, Mapping):
        return {key: readable(entry, longest) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [readable(entry, longest) for entry in value]
    return value


def _visible(character: str) -> str:
    """The character, or the mark that stands for one that would not be seen."""
    hidden = unicodedata.category(character) in _HIDDEN and character not in _JOINERS
    return "\ufffd" if hidden else character


def read_asset(package: str, name: str) -> str:
    """Return a script, style or template of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def need_jinja(purpose: str = "The report") -> Any:
    """Return jinja2, or say how to install it."""
    return import_extra("jinja2", purpose, "cli")


@functools.cache  # to compile a template takes longer than to fill it in
def open_template(package: str, name: str, **filters: Callable[..., Any]) -> Any:
    """Return a template of a package that escapes every value and raises an error for an undefined name.

    Raises
    ------
    ImportError
        Without jinja2.
    """
    jinja2 = need_jinja()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update({"digest": _digest, "number": _number, "percent": _percent, "whole": _whole, **filters})
    return environment.from_string(read_asset(package, name))


def _digest(text: str) -> str:
    """Return what a content security policy names a script or style by."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f}\u202f%"


def _whole(value: int) -> str:
    """Groups of three digits, separated by narrow spaces."""
    return f"{value:,}".replace(",", "\u202f")
