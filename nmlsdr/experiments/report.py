"""Write what a run found: tables (CSV, LaTeX, Markdown), figures (PNG, SVG), and one page that a person can mail."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from .._output import replace_file
from .._report.page import open_template
from .figures import image_bytes
from .section import Section
from .store import CellKey
from .tables import Table, shade_class

__all__ = ["write_report"]

SHADES = (
    ("d4down", "below by > .05"), ("d3down", "> .02"), ("d2down", "> .01"), ("d1down", "> .005"), ("d0", "within .005"),
    ("d1up", "> .005"), ("d2up", "> .01"), ("d3up", "> .02"), ("d4up", "above by > .05"),
)  # fmt: skip


MEASURES = (
    "The measures, more is better in each: HL' is 1 - Hamming loss (entries predicted wrongly), RL' 1 - ranking "
    "loss (pairs of a label that a row has and one that it has not, in the wrong order), AP average precision, "
    "OE' 1 - one-error (rows whose first label is wrong), Cov' 1 - normalised coverage (how far down the ranking "
    "all labels of a row are), MaF1 and MiF1 macro and micro F1 (the mean over labels, and of all entries "
    "together). Definitions: section 4.1 of the article (Mikalsen et al., Pattern Recognition 90, 2019) and Zhang"
    " and Zhou, A review on multi-label learning algorithms, IEEE Transactions on Knowledge and Data Engineering "
    "26(8), 2014."
)
_BOXES = {True: "[x]", False: "[ ]", None: "(–)"}
_MARKS = {True: "yes", False: "no", None: "open"}


def write_report(
    folder: Path, sections: list[Section], records: dict[CellKey, dict[str, Any]], *, commands: Sequence[str]
) -> Path:
    """Write all files of a run; each appears whole or not at all.

    Parameters
    ----------
    folder : Path
        Gets ``tables/``, ``figures/``, ``times.csv``, ``report.md`` and ``report.html``.
    sections : list of Section
    records : dict of CellKey to record
    commands : sequence of str
        All that have written records here, in order; shown in the report.

    Returns
    -------
    Path
        The HTML page.
    """
    (folder / "tables").mkdir(exist_ok=True)
    (folder / "figures").mkdir(exist_ok=True)
    images: dict[str, bytes] = {}
    for section in sections:
        _write(folder / "tables" / f"{section.name}-cells.csv", section.raw)
        for table in section.tables:
            _write(folder / "tables" / f"{table.name}.csv", table.to_csv())
            _write(folder / "tables" / f"{table.name}.tex", table.to_latex())
        for name, (figure, _) in section.figures.items():
            images[name] = image_bytes(figure, "png")
            _write(folder / "figures" / f"{name}.png", images[name])
            _write(folder / "figures" / f"{name}.svg", image_bytes(figure, "svg"))
    _write(folder / "times.csv", _times(records))
    made = _made(records, commands)
    _write(folder / "report.md", _markdown(sections, made))
    page = folder / "report.html"
    _write(page, _page(sections, images, made))
    return page


def _write(path: Path, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    with replace_file(path) as file:
        file.write(data)


def _times(records: dict[CellKey, dict[str, Any]]) -> str:
    """Seconds of every cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["study", "data set", "method", "seed", "embed", "classify"])
    for key in sorted(records):
        times = records[key]["times"]
        writer.writerow([*key, *(f"{times[part]:.4f}" if part in times else "" for part in ("embed", "classify"))])
    return out.getvalue()


def _made(records: dict[CellKey, dict[str, Any]], commands: Sequence[str]) -> list[tuple[str, str]]:
    """How the numbers were made: command, versions, seeds, fingerprints."""
    used = list(records.values())
    versions = sorted(
        {json.dumps(record.get("versions", {}), sort_keys=True) for record in used if "versions" in record}
    )
    seconds = sum(sum(record["times"].values()) for record in used)
    said = [
        ("Command" if len(commands) == 1 else "Commands", "; ".join(commands)),
        (
            "Cells",
            f"{len(used)}, {sum(r['error'] is not None for r in used)} failed; {seconds:.0f} s "
            "(the wall times of all cells added, on a shared machine more than their work)",
        ),
        ("Seeds", _seeds_by_study(records)),
        ("Versions", "; ".join(", ".join(f"{k} {v}" for k, v in json.loads(text).items()) for text in versions)),
    ]
    marks = sorted(
        {(key.study, key.dataset, record["fingerprint"]) for key, record in records.items() if "fingerprint" in record}
    )
    said.append(("Fingerprints", ", ".join(f"{study}/{dataset} {mark}" for study, dataset, mark in marks)))
    return said


def _seeds_by_study(records: Iterable[CellKey]) -> str:
    """The seeds of every study and how many these are; data sets with fewer are named."""
    said = []
    seeds: dict[str, dict[str, set[int]]] = {}
    for key in records:
        seeds.setdefault(key.study, {}).setdefault(key.dataset, set()).add(key.seed)
    for study, by_set in sorted(seeds.items()):
        most = set().union(*by_set.values())
        fewer = [f"{name} {_seeds(own)}" for name, own in sorted(by_set.items()) if own != most]
        said.append(f"{study}: {_seeds(most)} ({len(most)})" + (f", but {', '.join(fewer)}" if fewer else ""))
    return "; ".join(said)


def _seeds(seeds: Iterable[int]) -> str:
    known = sorted(seeds)
    whole = known == list(range(len(known)))
    return f"0 to {known[-1]}" if whole and len(known) > 1 else ", ".join(map(str, known))


def _title(sections: list[Section]) -> str:
    """What the page is, which is not the article where nothing of it is there."""
    after = all(section.name == "beyond" for section in sections)
    return "What came after the article, beside it" if after and sections else "The article's experiments, run again"


def _markdown(sections: list[Section], made: list[tuple[str, str]]) -> str:
    lines = [f"# {_title(sections)}", "", "Written by `nmlsdr reproduce`; do not edit by hand.", ""]
    lines += [MEASURES, ""]
    for section in sections:
        lines += [f"## {section.title}", "", *(line for text in section.paragraphs for line in (text, ""))]
        lines += [f"- {_BOXES[holds]} {text}" for text, holds in section.claims]
        lines += [""] if section.claims else []
        for table in section.tables:
            lines += [_single_line(table).to_markdown()]
        for name, (_, caption) in section.figures.items():
            lines += [f"![{caption}](figures/{name}.png)", "", caption, ""]
        lines += [f"- Failed: {text}" for text in section.failures]
        lines += [""] if section.failures else []
    lines += ["## How it was made", "", *(f"- {name}: {text}" for name, text in made)]
    lines += [f"- Settings of {s.name}: `{json.dumps(s.settings)}`" for s in sections]
    return "\n".join(lines) + "\n"


def _single_line(table: Table) -> Table:
    """The table with its small text on one line."""
    rows = [
        (name, [type(e)(e.text, e.beside.replace("\n", ", ").replace("|", ", "), e.bold, e.shade) for e in entries])
        for name, entries in table.rows
    ]
    return Table(table.name, table.title, table.header, rows, table.note, table.rule_before)


def _page(sections: list[Section], images: dict[str, bytes], made: list[tuple[str, str]]) -> str:
    """The self-contained page: styles and pictures are inside, nothing is loaded."""
    style = resources.files("nmlsdr.experiments").joinpath("report.css").read_text(encoding="utf-8")
    template = open_template("nmlsdr.experiments", "report.html.jinja", shade=shade_class)
    return template.render(
        title=_title(sections),
        sections=sections,
        images={name: base64.b64encode(data).decode() for name, data in images.items()},
        made=made,
        measures=MEASURES,
        shades=SHADES,
        marks=_MARKS,
        settings=[f"{s.name}: {json.dumps(s.settings)}" for s in sections],
        style=style,
    )
