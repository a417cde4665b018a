"""Tables that more than one study has, and how well our results agree with the printed ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .protocol import METRICS
from .results import Results
from .tables import Entry, ResultTable, best_in_bold, number, resource, titled

__all__ = ["Difference", "agreement", "all_cells", "difference_table", "differences", "general_notes", "method_table",
           "slug"]  # fmt: skip

FAR = 0.05


def slug(text: str) -> str:
    """A file name from a measure's name.

    Examples
    --------
    >>> slug("HL'"), slug("MaF1")
    ('HL', 'MaF1')
    """
    return text.replace("'", "")


def all_cells(results: Results) -> ResultTable:
    """All cells of a study, one measure a row: ours (mean, standard deviation, seeds), the article's, the gap."""
    header = ["data set", "method", "measure", "mean", "std", "seeds", "article", "difference", "within 2 std"]
    table = ResultTable(f"{results.study.name}-cells", "", header)
    ours, spread, gap, near = results.mean, results.std, results.difference, results.within_two_std()
    for i, j, m in np.ndindex(ours.shape):
        seeds = int((~np.isnan(results.values[i, j, m])).sum())
        comparable = seeds > 1 and not np.isnan(gap[i, j, m])
        beside = [number(results.printed[i, j, m]), number(gap[i, j, m], 6, sign=True)]
        within = ("yes" if near[i, j, m] else "no") if comparable else "-"
        numbers = [number(ours[i, j, m], 6), number(spread[i, j, m], 6), str(seeds)]
        table.add(results.datasets[i], [results.methods[j], METRICS[m], *numbers, *beside, within])
    return table


def method_table(results: Results, name: str, **values: str) -> ResultTable:
    """Methods by measures, as Table 1 and the case study's; small: the article's value and our difference to it."""
    table = titled(name, ["Method", *METRICS], **values)
    columns = []
    for m in range(len(METRICS)):
        gap, printed = results.difference[0, :, m], results.printed[0, :, m]
        beside = [
            "" if np.isnan(p) else f"{number(p)}\n{number(g, sign=True)}" for p, g in zip(printed, gap, strict=True)
        ]
        entries = zip(best_in_bold(results.mean[0, :, m], 3, beside, list(gap)), results.std[0, :, m], strict=True)
        columns.append([e if np.isnan(s) else replace(e, text=f"{e.text} ± {number(s)}") for e, s in entries])
    table.add_columns(results.methods, columns)
    return table


def agreement(results: Results, name: str, limits: tuple[float, ...]) -> ResultTable:
    """How many cells are near the printed value, by measure: within each limit, and within two standard deviations."""
    header = ["Measure", "cells", *(f"within {limit:g}" for limit in limits), "within 2 std", "median |diff|"]
    table = titled(name, [*header, "largest", "at"], "agreement")
    gap, near = results.difference, results.within_two_std()
    columns = [(metric, [m]) for m, metric in enumerate(METRICS)] + [("all", list(range(len(METRICS))))]
    for metric, m in columns:
        size = np.abs(gap[:, :, m])
        known = ~np.isnan(size)
        cells = int(known.sum())
        if cells == 0:
            continue
        shares = [_share(int((size[known] <= limit + 1e-9).sum()), cells) for limit in limits]
        shares.append(_share(int(near[:, :, m][known].sum()), cells) if results.n_seeds > 1 else "-")
        worst = np.unravel_index(int(np.nanargmax(size)), size.shape)
        where = f"{results.datasets[worst[0]]}, {results.methods[worst[1]]}"
        middle = number(float(np.median(size[known])))
        table.add(metric, [str(cells), *shares, middle, number(gap[:, :, m][worst], sign=True), where])
    return table


def _share(part: int, whole: int) -> str:
    return f"{part} ({100.0 * part / whole:.1f} %)"


class Difference(NamedTuple):
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


def general_notes(study: str, datasets: Iterable[str]) -> list[str]:
    """The paragraphs of ``notes.json`` on a study; one that speaks of certain data sets needs one of them."""
    known = resource("notes.json")["general"][study]
    return [str(note["text"]) for note in known if "datasets" not in note or set(note["datasets"]) & set(datasets)]


def reason_for(study: str, dataset: str, method: str, metric: str) -> str:
    """What ``notes.json`` says about a cell; the first note that names it counts."""
    for note in resource("notes.json")["notes"]:
        cell = zip((dataset, method, metric), (note["datasets"], note["methods"], note["metrics"]), strict=True)
        if note["study"] == study and all(allowed == ["*"] or name in allowed for name, allowed in cell):
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


def difference_table(results: Results, name: str, limit: float) -> ResultTable:
    """The far cells, each with its reason."""
    header = ["Data set", "method", "measure", "ours", "std", "article", "difference", "what is known"]
    table = titled(name, header, "differences", limit=limit)
    for d in differences(results, limit):
        gap = d.mean - d.printed
        far = Entry(number(gap, sign=True), shade=gap, bold=d.size > FAR + 1e-9)
        numbers = [number(d.mean), number(d.std), number(d.printed)]
        table.add(d.dataset, [d.method, d.metric, *numbers, far, d.reason or "not explained"])
    return table
