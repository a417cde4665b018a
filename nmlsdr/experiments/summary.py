"""Tables that more than one study has, and how well our results agree with the printed ones."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from .protocol import METRICS
from .results import Results
from .tables import Entry, Table, number

__all__ = ["Difference", "agreement", "differences", "general_notes", "long_csv", "method_table", "notes", "slug"]

FAR = 0.05


def slug(text: str) -> str:
    """A file name from a measure's name.

    Examples
    --------
    >>> slug("HL'"), slug("MaF1")
    ('HL', 'MaF1')
    """
    return text.replace("'", "")


def long_csv(results: Results) -> str:
    """All cells of a study, one measure a line: ours (mean, standard deviation, seeds), the article's, the gap."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["data set", "method", "measure", "mean", "std", "seeds", "article", "difference", "within 2 std"])
    mean, std, gap, near = results.mean, results.std, results.difference, results.within_two_std()
    for i, dataset in enumerate(results.datasets):
        for j, method in enumerate(results.methods):
            for m, metric in enumerate(METRICS):
                seeds = int((~np.isnan(results.values[i, j, m])).sum())
                comparable = not np.isnan(gap[i, j, m])
                writer.writerow(
                    [
                        dataset,
                        method,
                        metric,
                        number(mean[i, j, m], 6),
                        number(std[i, j, m], 6),
                        seeds,
                        number(results.printed[i, j, m]),
                        number(gap[i, j, m], 6, sign=True),
                        ("yes" if near[i, j, m] else "no") if comparable and seeds > 1 else "-",
                    ]
                )
    return out.getvalue()


def method_table(results: Results, name: str, title: str, note: str = "") -> Table:
    """Methods by measures, as Table 1 and the case study's; small: the article's value and our difference to it."""
    mean, std, gap = results.mean[0], results.std[0], results.difference[0]
    best = np.round(mean, 3) == np.nanmax(np.round(mean, 3), axis=0)
    table = Table(name, title, ["Method", *METRICS], note=note)
    for j, method in enumerate(results.methods):
        entries = []
        for m in range(len(METRICS)):
            printed = results.printed[0, j, m]
            beside = "" if np.isnan(printed) else f"{number(printed)}\n{number(gap[j, m], sign=True)}"
            text = number(mean[j, m]) + ("" if np.isnan(std[j, m]) else f" ± {number(std[j, m])}")
            entries.append(Entry(text, beside, bool(best[j, m]), gap[j, m]))
        table.rows.append((method, entries))
    return table


def agreement(results: Results, name: str, limits: tuple[float, ...]) -> Table:
    """How many cells are near the printed value, by measure: within each limit, and within two standard deviations."""
    table = Table(
        name,
        "Agreement with the printed values.",
        [
            "Measure",
            "cells",
            *(f"within {limit:g}" for limit in limits),
            "within 2 std",
            "median |diff|",
            "largest",
            "at",
        ],
    )
    gap, near = results.difference, results.within_two_std()
    columns = [(metric, [m]) for m, metric in enumerate(METRICS)] + [("all", list(range(len(METRICS))))]
    for metric, m in columns:
        size = np.abs(gap[:, :, m])
        known = ~np.isnan(size)
        cells = int(known.sum())
        if cells == 0:
            continue
        entries = [Entry(str(cells))]
        entries += [Entry(_share(int((size[known] <= limit + 1e-9).sum()), cells)) for limit in limits]
        if results.n_seeds > 1:
            entries.append(Entry(_share(int(near[:, :, m][known].sum()), cells)))
        else:
            entries.append(Entry("-"))
        worst = np.unravel_index(int(np.nanargmax(size)), size.shape)
        where = f"{results.datasets[worst[0]]}, {results.methods[worst[1]]}"
        signed = gap[:, :, m][worst]
        entries += [Entry(number(float(np.median(size[known])))), Entry(number(signed, sign=True)), Entry(where)]
        table.rows.append((metric, entries))
    return table


def _share(part: int, whole: int) -> str:
    return f"{part} ({100.0 * part / whole:.1f} %)"


@dataclass(frozen=True)
class Difference:
    """A cell that is further from the printed value than a limit, with what is known about it."""

    dataset: str
    method: str
    metric: str
    mean: float
    std: float
    printed: float
    reason: str

    @property
    def size(self) -> float:
        return abs(self.mean - self.printed)


@cache
def notes() -> dict[str, Any]:
    """What is known about differences.

    ``general``: study -> paragraphs, each with the data sets that it speaks of; ``notes``: cells and their reasons.
    """
    text = resources.files("nmlsdr.experiments").joinpath("notes.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def general_notes(study: str, datasets: Iterable[str]) -> list[str]:
    """The paragraphs of ``notes.json`` on a study; one that speaks of certain data sets needs one of them."""
    present = set(datasets)
    found = []
    for note in notes()["general"][study]:
        if "datasets" not in note or present & set(note["datasets"]):
            found.append(str(note["text"]))
    return found


def reason_for(study: str, dataset: str, method: str, metric: str) -> str:
    """What ``notes.json`` says about a cell; the first note that names it counts."""
    for note in notes()["notes"]:
        named = (note["study"], note["datasets"], note["methods"], note["metrics"])
        if study == named[0] and all(
            value in allowed or allowed == ["*"]
            for value, allowed in zip((dataset, method, metric), named[1:], strict=True)
        ):
            return str(note["text"])
    return ""


def differences(results: Results, limit: float) -> list[Difference]:
    """The cells further than `limit` from the printed value, the furthest first."""
    mean, std, gap = results.mean, results.std, results.difference
    found = []
    for i, j, m in np.argwhere(np.abs(gap) > limit + 1e-9):
        dataset, method, metric = results.datasets[i], results.methods[j], METRICS[m]
        reason = reason_for(results.study.name, dataset, method, metric)
        found.append(Difference(dataset, method, metric, mean[i, j, m], std[i, j, m], results.printed[i, j, m], reason))
    return sorted(found, key=lambda d: -d.size)


def difference_table(results: Results, name: str, limit: float) -> Table:
    """The far cells, each with its reason."""
    table = Table(
        name,
        f"Cells further than {limit:g} from the printed value.",
        ["Data set", "method", "measure", "ours", "std", "article", "difference", "what is known"],
    )
    for d in differences(results, limit):
        gap = d.mean - d.printed
        texts = [d.method, d.metric, number(d.mean), number(d.std), number(d.printed), number(gap, sign=True)]
        entries = [Entry(text) for text in texts]
        entries[-1] = Entry(texts[-1], shade=gap, bold=d.size > FAR + 1e-9)
        table.rows.append((d.dataset, [*entries, Entry(d.reason or "not explained")]))
    return table
