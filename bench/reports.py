"""Write the committed results as pages of tables, docs/reports/NAME.html; `python bench/py` calls it.

reports.toml says which result is on which page, and what its columns mean.  A result of a tree with uncommitted changes
is refused: nobody could make it again.
"""

from __future__ import annotations

import html
import json
import math
import tomllib
from pathlib import Path
from typing import Any

STYLE = Path(__file__).resolve().parent.parent / "nmlsdr" / "experiments" / "report.css"
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>{intro}</p>
{body}
</body>
</html>
"""


class Failure(Exception):
    """A page asks for what is not there; the text is one sentence."""


def read_result(name: str, folder: Path) -> dict[str, Any]:
    path = folder / f"{name}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Failure(f"there is no result file bench/results/{name}.json; run the benchmark that makes it.") from None


def cell(value: Any, form: str) -> str:
    """One value by a format such as ``.2f``, ``d``, ``s`` or ``.1f x`` (a unit after the space)."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    specification, _, unit = form.partition(" ")
    if specification in ("", "s"):
        shown = str(value)
    elif specification == "d":
        shown = f"{int(value):d}"
    else:
        shown = format(value, specification)
    return f"{shown} {unit}".strip()


def section(entry: dict[str, str], result: dict[str, Any]) -> str:
    """One result: its title, what it shows, the table, and how it was made."""
    runs = [result["machine"], *result.get("runs", {}).values()]
    made = sorted({f"{run['commit']} ({run['date']}, {run['processor']}, {run['cores']} cores)" for run in runs})
    if any("+" in commit for commit in made):
        raise Failure(f"bench/results/{result['name']}.json was made with uncommitted changes; make it again.")
    columns = result["columns"]
    head = "".join(f"<th>{html.escape(heading)}</th>" for _, heading, _ in columns)
    rows = []
    for row in result["rows"]:
        cells = [html.escape(cell(row.get(key), form)) for key, _, form in columns]
        rows.append(f"<tr><th>{cells[0]}</th>{''.join(f'<td>{text}</td>' for text in cells[1:])}</tr>")
    notes = html.escape(" ".join([entry["text"], result["notes"] or ""]).strip())
    command = html.escape(f"{result['command']}; commit {', '.join(made)}.")
    body = "\n".join(rows)
    return (
        f'<h2 id="{result["name"]}">{html.escape(entry["title"])}</h2>\n<p>{notes}</p>\n'
        f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}'
        f'\n</tbody></table></div>\n<p class="note">{command}</p>'
    )


def reports(top: Path) -> dict[Path, str]:
    """Every page and its text."""
    pages: dict[Path, str] = {}
    source = top / "bench" / "reports.toml"
    listed = tomllib.loads(source.read_text(encoding="utf-8")) if source.is_file() else {}
    for name, page in listed.items():
        results = [read_result(entry["result"], top / "bench" / "results") for entry in page["tables"]]
        body = "\n".join(map(section, page["tables"], results))
        text = {key: html.escape(page[key]) for key in ("title", "intro")}
        style = STYLE.read_text(encoding="utf-8")
        pages[top / "docs" / "reports" / f"{name}.html"] = PAGE.format(**text, style=style, body=body)
    return pages
