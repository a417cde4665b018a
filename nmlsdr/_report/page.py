"""Write plain data as one self-contained page.

Every text from a file passes `readable` (no control characters, no changed writing direction, no very long names),
then jinja2's autoescape, or its ``tojson`` where the script reads it as data; the script sets text, never markup.  In
addition, the page's content security policy blocks all loading and all scripts other than its own.
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

# They reorder the text next to them, so that a name could change the meaning of a line.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def readable(value: Any) -> Any:
    """The same data with every text made safe to show.

    Examples
    --------
    >>> readable({"name": "a\\x00b\\ud800", "rows": ["x" * 200, 3]})["name"]
    'a\u2400b\ufffd'
    """
    if isinstance(value, str):
        text = "".join(map(_shown, value))
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    if isinstance(value, Mapping):
        return {key: readable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [readable(entry) for entry in value]
    return value


def _shown(character: str) -> str:
    code = ord(character)
    if code < 32 or code == 127:
        return chr(0x2421 if code == 127 else 0x2400 + code)  # the visible symbol of a control character
    if character in _DIRECTIONS or unicodedata.category(character) in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp"):
        return "\ufffd"
    return character


def render(facts: Mapping[str, Any]) -> str:
    """Write the page.

    Parameters
    ----------
    facts : mapping
        The results of the other modules of this folder, ``made``: how the page was made, and ``downloads``: the text
        of each file that the page offers, by its name.

    Returns
    -------
    str
        HTML; nothing is loaded from anywhere.

    Raises
    ------
    ImportError
        Without jinja2.
    """
    folder = resources.files("nmlsdr._report")
    script, style = (folder.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = open_template("nmlsdr._report", "page.html.jinja", number=_number, percent=_percent, whole=_whole)
    links = {
        name: "data:text/csv;base64," + base64.b64encode(text.encode()).decode()
        for name, text in facts["downloads"].items()
    }
    shown = readable({**facts, "downloads": {}}) | {"downloads": links}
    return template.render(**shown, style=style, script=script, script_digest=digest) + "\n"


def need_jinja() -> Any:
    """Return jinja2, or say how to install it."""
    return import_extra("jinja2", "The report", "cli")


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
    environment.filters.update(filters)
    return environment.from_string(resources.files(package).joinpath(name).read_text(encoding="utf-8"))


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f}\u202f%"


def _whole(value: int) -> str:
    """Groups of three digits, separated by narrow spaces."""
    return f"{value:,}".replace(",", "\u202f")
