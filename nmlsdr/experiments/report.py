"""Write the results of a run: tables (CSV), figures (PNG, SVG), and the report as one HTML page."""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from .._output import write_file
from ..inspection import open_template, read_asset
from .figures import image_bytes
from .results import ResultTable, Section, resource, shade_class
from .store import CellFolder, CellKey, Record


def write_report(
    cells: CellFolder, sections: list[Section], *, commands: Sequence[str], title: str | None = None
) -> Path:
    """Write all files of a run; each appears whole or not at all.

    Parameters
    ----------
    cells : CellFolder
        Its folder gets ``tables/``, ``figures/``, ``times.csv`` and ``report.html``.
    sections : list of Section
    commands : sequence of str
        All that have written cells here, in order; shown in the report.
    title : str or None, default=None
        Of the report; None: that of the article's experiments.

    Returns
    -------
    Path
        The HTML page.
    """
    folder = cells.folder
    (folder / "tables").mkdir(exist_ok=True)
    (folder / "figures").mkdir(exist_ok=True)
    images: dict[str, bytes] = {}
    for section in sections:
        for table in (section.cells, *section.tables):
            write_file(folder / "tables" / f"{table.name}.csv", table.to_csv())
        for name, (figure, _) in section.figures.items():
            images[name] = image_bytes(figure, "png")
            write_file(folder / "figures" / f"{name}.png", images[name])
            write_file(folder / "figures" / f"{name}.svg", image_bytes(figure, "svg"))
    write_file(folder / "times.csv", _times(cells.records).to_csv())
    write_file(folder / "report.html", _page(sections, images, _made(cells.records, commands), title))
    return folder / "report.html"


def _times(records: Mapping[CellKey, Record]) -> ResultTable:
    """Seconds of every cell."""
    parts = ("embed", "classify")
    table = ResultTable("times", "", ["study", "data set", "method", "seed", *parts])
    for key in sorted(records):
        times = records[key]["times"]
        seconds = [f"{times[part]:.4f}" if part in times else "" for part in parts]
        table.add(key.study, [key.dataset, key.method, str(key.seed), *seconds])
    return table


def _made(records: Mapping[CellKey, Record], commands: Sequence[str]) -> list[tuple[str, str]]:
    """How the numbers were made: command, versions, seeds, fingerprints."""
    used = list(records.values())
    versions = sorted({json.dumps(record["versions"], sort_keys=True) for record in used if "versions" in record})
    marks = sorted({(key.study, key.dataset, r["fingerprint"]) for key, r in records.items() if "fingerprint" in r})
    failed = sum(r["error"] is not None for r in used)
    seconds = sum(sum(r["times"].values()) for r in used)
    done = f"{len(used)}, {failed} failed; {seconds:.0f} s of fitting and classifying (elapsed time)"
    return [
        ("Commands", "; ".join(commands)),
        ("Runs (study x data set x method x seed)", done),
        ("Versions", "; ".join(", ".join(f"{k} {v}" for k, v in json.loads(text).items()) for text in versions)),
        ("Fingerprints (hashes of settings, versions and data files)", ", ".join("{}/{} {}".format(*m) for m in marks)),
    ]


def _page(
    sections: list[Section], images: dict[str, bytes], made: list[tuple[str, str]], title: str | None = None
) -> str:
    """The report as one page that holds its styles and pictures and loads nothing."""
    texts = resource("texts.json")["report"]
    context = {
        **texts,
        "title": title or texts["title"],
        "sections": sections,
        "images": {name: base64.b64encode(data).decode() for name, data in images.items()},
        "made": made,
        "marks": {True: "yes", False: "no", None: "open"},
        "style": read_asset("nmlsdr.experiments", "report.css"),
    }
    template = open_template("nmlsdr.experiments", "report.html.jinja", shade=shade_class, json=json.dumps)
    return str(template.render(context))
