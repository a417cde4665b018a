"""Write plain data as one self-contained page; what makes it safe stands in `nmlsdr.inspection._html`."""

from collections.abc import Mapping
from typing import Any

from ..inspection import open_template, read_asset, readable, render_part, script_and_style


def render(facts: Mapping[str, Any]) -> str:
    """Write the page.

    Parameters
    ----------
    facts : mapping
        The results of the other modules of this folder, ``made``: how the page was made, and ``review``: the entries
        of the lists.

    Returns
    -------
    str
        HTML; nothing is loaded from anywhere.

    Raises
    ------
    ImportError
        Without jinja2.
    """
    shared_script, shared_style = script_and_style()
    script, style = (read_asset("nmlsdr._report", f"page.{kind}") for kind in ("js", "css"))
    part = render_part(facts["review"])
    shown = readable({name: value for name, value in facts.items() if name != "review"})
    return (
        open_template("nmlsdr._report", "page.html.jinja").render(
            **shown,
            review=part,
            file=readable(facts["review"]["file"]),
            n_entries=len(facts["review"]["entries"]),
            style=shared_style + style,
            scripts=[shared_script, script],
        )
        + "\n"
    )
