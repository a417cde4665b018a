"""Write the committed results into the README files, or check that they are there.

    python bench/tables.py            # fill README.md, bench/README.md and docs/*.md
    python bench/tables.py --check    # exit status 1 if a file differs from the results

Numbers are never typed: a page asks for them, and what stands between the markers is replaced.

    <!-- bench:table suite -->                       the table bench/results/suite.json
    ...
    <!-- bench:end -->

    <!-- bench:value suite best_ratio .1f -->1.8<!-- bench:end -->      one number of its "values"
"""

from __future__ import annotations

import argparse
import difflib
import json
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOP = HERE.parent

TABLE = re.compile(r"(<!-- bench:table (?P<name>[\w.-]+) -->\n)(?P<old>.*?)(<!-- bench:end -->)", re.DOTALL)
VALUE = re.compile(
    r"(<!-- bench:value (?P<name>[\w.-]+) (?P<key>[\w.-]+)(?: (?P<form>[^ ]+))? -->)[^\n]*?(<!-- bench:end -->)"
)
MARKER = re.compile(r"<!-- bench:(?:table|value) ")


class Failure(Exception):
    """A page asks for what is not there; the text is one sentence."""


def pages(top: Path = TOP) -> list[Path]:
    """The files that may hold markers."""
    return [
        page
        for page in [
            top / "README.md", top / "paper.md", top / "bench" / "README.md", *sorted((top / "docs").rglob("*.md")),
        ]
        if page.is_file()
    ]  # fmt: skip


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


def render(result: dict[str, Any]) -> str:
    """A result file as Markdown: the table, its notes, and where and how it was measured."""
    columns = result["columns"]
    lines = ["| " + " | ".join(heading for _, heading, _ in columns) + " |"]
    lines.append("|" + "|".join("---" if form in ("", "s") else "---:" for _, _, form in columns) + "|")
    for row in result["rows"]:
        lines.append("| " + " | ".join(cell(row.get(key), form) for key, _, form in columns) + " |")
    lines.append("")
    if result["notes"]:
        lines.append(result["notes"] + "\n")
    lines.append(made_by(result))
    return "\n".join(lines) + "\n"


def made_by(result: dict[str, Any]) -> str:
    """The command, and when, at which commit and on what machine; of rows that earlier runs made, theirs too."""
    machine, runs = result["machine"], result.get("runs", {})
    text = f"Made by `{result['command']}` on {_run(machine)}."
    for key, earlier in runs.items():
        count = sum(row.get("run") == key for row in result["rows"])
        if (earlier["date"], earlier["commit"]) != (machine["date"], machine["commit"]):
            text += f" {count} of {len(result['rows'])} rows on {_run(earlier)}."
    return text


def _run(machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {found}" for name, found in machine["versions"].items())
    return (
        f"{machine['date']} at commit {machine['commit']}: {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, Python {machine['python']}, {' and '.join(machine['blas'])}, {versions}"
    )


def fill(text: str, folder: Path = HERE / "results") -> str:
    """``text`` with every table and value replaced by what the result files hold."""

    def value(found: re.Match[str]) -> str:
        values = read_result(found["name"], folder)["values"]
        if found["key"] not in values:
            raise Failure(f"bench/results/{found['name']}.json has no value {found['key']!r}; it has {sorted(values)}.")
        return found[1] + cell(values[found["key"]], found["form"] or "s") + "<!-- bench:end -->"

    def table(found: re.Match[str]) -> str:
        return found[1] + "\n" + render(read_result(found["name"], folder)) + "\n" + "<!-- bench:end -->"

    filled = VALUE.sub(value, TABLE.sub(table, text))
    complete = len(TABLE.findall(text)) + len(VALUE.findall(text))
    if complete != len(MARKER.findall(text)):
        raise Failure("a marker <!-- bench:... --> is malformed or lacks its <!-- bench:end -->.")
    return filled


def differences(top: Path = TOP) -> str:
    """A unified diff from the pages to what the results say; empty if all is current."""
    found = []
    for page in pages(top):
        old = page.read_text(encoding="utf-8")
        new = fill(old, top / "bench" / "results")
        name = str(page.relative_to(top))
        found += difflib.unified_diff(old.splitlines(), new.splitlines(), name, f"{name} by the results", lineterm="")
    return "\n".join(found)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fill the tables of the README files from bench/results.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit status 1 if a page differs")
    options = parser.parse_args(arguments)
    if options.check:
        try:
            found = differences()
        except Failure as error:
            print(f"tables: {error}", file=sys.stderr)
            return 2
        print(found, end="\n" if found else "")
        return 1 if found else 0
    status = 0
    for page in pages():
        old = page.read_text(encoding="utf-8")
        try:
            new = fill(old)
        except Failure as error:  # the other pages are filled all the same
            print(f"tables: {page.relative_to(TOP)}: {error}", file=sys.stderr)
            status = 2
            continue
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"filled {page.relative_to(TOP)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
