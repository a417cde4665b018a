"""Write the committed results into the pages and the reports, or check that they are there.

    python bench/tables.py            # fill README.md, bench/README.md, docs/*.md; write docs/reports (reports.py)
    python bench/tables.py --check    # exit status 1 if a file differs from the results

Numbers are never typed: a page asks for them, and what stands between the markers is replaced.

    <!-- bench:table suite -->                       the table bench/results/suite.json
    ...
    <!-- bench:end -->

    <!-- bench:value suite best_ratio .1f -->1.8<!-- bench:end -->      one number of its "values"

    <!-- study:table beyond-measures -->             the table beyond-measures.csv below docs/reports
    ...
    <!-- bench:end -->

    <!-- study:value beyond-measures | NMLSDR | AP -->65.08<!-- bench:end -->      one entry, by row and column;
                                                     in a table of a page with ; in place of |, which ends a cell

    <!-- bench:provenance -->                        how all tables of the page were made, in one line
    ...
    <!-- bench:end -->
"""

from __future__ import annotations

import argparse
import csv
import difflib
import importlib.util
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports import Failure, cell, read_result, reports

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
STUDY = TOP / "docs" / "reports"

TABLE = re.compile(r"(<!-- bench:table (?P<name>[\w.-]+) -->\n)(?P<old>.*?)(<!-- bench:end -->)", re.DOTALL)
VALUE = re.compile(
    r"(<!-- bench:value (?P<name>[\w.-]+) (?P<key>[\w.-]+)(?: (?P<form>[^ ]+))? -->)[^\n]*?(<!-- bench:end -->)"
)
STUDY_TABLE = re.compile(r"(<!-- study:table (?P<name>[\w-]+) -->\n)(?P<old>.*?)(<!-- bench:end -->)", re.DOTALL)
STUDY_VALUE = re.compile(
    r"(<!-- study:value (?P<name>[\w-]+) [|;] (?P<row>[^|;\n]+?) [|;] (?P<column>[^|;\n]+?) -->)[^\n]*?"
    r"(<!-- bench:end -->)"
)
PROVENANCE = re.compile(r"(<!-- bench:provenance -->\n)(?P<old>.*?)(<!-- bench:end -->)", re.DOTALL)
MARKERS = (TABLE, VALUE, STUDY_TABLE, STUDY_VALUE, PROVENANCE)
MARKER = re.compile(r"<!--\s*(?:bench|study):(?:table|value|provenance)\s")


def pages(top: Path = TOP) -> list[Path]:
    """The files that may hold markers."""
    guide = [page for page in sorted((top / "docs").rglob("*.md")) if "generated" not in page.parts]
    return [
        page for page in [top / "README.md", top / "paper.md", top / "bench" / "README.md", *guide] if page.is_file()
    ]


def render(result: dict[str, Any]) -> str:
    """A result file as Markdown: the table and its notes."""
    columns = result["columns"]
    lines = ["| " + " | ".join(heading for _, heading, _ in columns) + " |"]
    lines.append("|" + "|".join("---" if form in ("", "s") else "---:" for _, _, form in columns) + "|")
    for row in result["rows"]:
        lines.append("| " + " | ".join(cell(row.get(key), form) for key, _, form in columns) + " |")
    if result["notes"]:
        lines += ["", result["notes"]]
    return "\n".join(lines) + "\n"


def provenance(text: str, folder: Path, study: Path) -> str:
    """One line for all tables and numbers of a page: their commits and dates, and on what machine times were taken."""
    results = _names_in(text, TABLE, VALUE)
    studies = _names_in(text, STUDY_TABLE, STUDY_VALUE)
    runs = [run for name in results for run in _runs_of(read_result(name, folder))]
    commits = {f"{run['commit'].replace('+', ' with uncommitted changes')} ({run['date']})" for run in runs}
    for name in studies:
        for file in _table_of(name, study).parent.parent.glob("*.provenance.json"):
            facts = json.loads(file.read_text(encoding="utf-8"))
            commits.add(f"{facts['commit'][:7]} ({facts['date']})")
    machines = {f"{run['processor']}, {run['cores']} cores" for run in runs}
    at = f" at the commits {', '.join(sorted(commits))}" if commits else ""
    on = f", on {' and '.join(sorted(machines))}" if machines else ""
    caveats = "".join(f" **Not up to date:** {caveat}" for caveat in _caveats(results, studies))
    return f"*The tables are made by programs{at}{on}.*{caveats}\n"


def _names_in(text: str, *markers: re.Pattern[str]) -> list[str]:
    """The names of the results that stand behind some markers of a page."""
    return sorted({match["name"] for marker in markers for match in marker.finditer(text)})


def _runs_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [result["machine"], *result.get("runs", {}).values()]


def _caveats(results: list[str], studies: list[str]) -> list[str]:
    """What a page must say about products that are out of date."""
    products = {name.partition("-")[0] for name in studies}
    result_files = tuple(f"bench/results/{name}." for name in results)
    return sorted(
        {
            caveat
            for name, (caveat, outputs) in out_of_date().items()
            if name in products or any(file.startswith(outputs) for file in result_files)
        }
    )


def out_of_date() -> dict[str, tuple[str, tuple[str, ...]]]:
    """The products of docs/figures.py that are known to be out of date: what to say about them, and their outputs."""
    spec = importlib.util.spec_from_file_location("figures", TOP / "docs" / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["figures"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: (said, module.PRODUCTS[name].outputs) for name, said in module.OUT_OF_DATE.items()}


def read_study(name: str, study: Path) -> list[list[str]]:
    """A table of the study as it was written, its heading first."""
    with _table_of(name, study).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _table_of(name: str, study: Path) -> Path:
    for path in study.rglob(f"{name}.csv"):
        return path
    raise Failure(f"there is no table {name}.csv of nmlsdr reproduce; run the study and keep its tables.")


def render_study(lines: list[list[str]]) -> str:
    """A table of the study as Markdown."""
    head, *rows = [[text.replace("|", "\\|") for text in line] for line in lines]
    shown = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in shown)


def study_entry(lines: list[list[str]], name: str, row: str, column: str) -> str:
    """One entry of a table of the study."""
    head = lines[0]
    rows = {line[0]: line for line in lines[1:]}
    if row not in rows or column not in head:
        raise Failure(f"{name}.csv has no entry {row!r}, {column!r}; it has rows {list(rows)} and columns {head[1:]}.")
    return rows[row][head.index(column)]


def fill(text: str, folder: Path = HERE / "results", study: Path = STUDY) -> str:
    """``text`` with every table and value replaced by what the result files hold."""

    def value(match: re.Match[str]) -> str:
        values = read_result(match["name"], folder)["values"]
        if match["key"] not in values:
            raise Failure(f"bench/results/{match['name']}.json has no value {match['key']!r}; it has {sorted(values)}.")
        return match[1] + cell(values[match["key"]], match["form"] or "s") + "<!-- bench:end -->"

    def table(match: re.Match[str]) -> str:
        return match[1] + "\n" + render(read_result(match["name"], folder)) + "\n" + "<!-- bench:end -->"

    def entry(match: re.Match[str]) -> str:
        lines = read_study(match["name"], study)
        return match[1] + study_entry(lines, match["name"], match["row"], match["column"]) + "<!-- bench:end -->"

    def whole(match: re.Match[str]) -> str:
        return match[1] + "\n" + render_study(read_study(match["name"], study)) + "\n" + "<!-- bench:end -->"

    def line(match: re.Match[str]) -> str:
        return match[1] + provenance(text, folder, study) + "<!-- bench:end -->"

    filled = text
    for marker, make in zip(MARKERS, (table, value, whole, entry, line), strict=True):
        filled = marker.sub(make, filled)
    complete = sum(len(marker.findall(text)) for marker in MARKERS)
    if complete != len(MARKER.findall(text)):
        raise Failure("a marker <!-- bench:... --> or <!-- study:... --> is malformed or lacks its <!-- bench:end -->.")
    return filled


def fill_page(page: Path, top: Path = TOP) -> tuple[str, str]:
    """The text of a page, and the same text with the present results."""
    old = page.read_text(encoding="utf-8")
    try:
        return old, fill(old, top / "bench" / "results", top / STUDY.relative_to(TOP))
    except Failure as error:
        raise Failure(f"{page.relative_to(top)}: {error}") from None


def differences(top: Path = TOP) -> str:
    """A unified diff from the pages to what the results say; empty if all is current."""
    lines = []
    for page in pages(top):
        old, new = fill_page(page, top)
        name = str(page.relative_to(top))
        lines += difflib.unified_diff(old.splitlines(), new.splitlines(), name, f"{name} by the results", lineterm="")
    for page, text in reports(top).items():
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            lines.append(f"{page.relative_to(top)} differs from what the results say")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fill the tables of the README files from bench/results.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit status 1 if a page differs")
    options = parser.parse_args(arguments)
    if options.check:
        try:
            diff = differences()
        except Failure as error:
            print(f"tables: {error}", file=sys.stderr)
            return 2
        print(diff, end="\n" if diff else "")
        return 1 if diff else 0
    status = 0
    for page in pages():
        try:
            old, new = fill_page(page)
        except Failure as error:  # the other pages are filled all the same
            print(f"tables: {error}", file=sys.stderr)
            status = 2
            continue
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"filled {page.relative_to(TOP)}")
    for page, text in reports(TOP).items():
        page.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
