"""What the sections of several studies share: their tables of cells, and how far our results are from the printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .protocol import METRICS
from .results import Results, mean, std
from .tables import Entry, ResultTable, Section, best_in_bold, number, resource, titled

FAR = 0.05


def begin_section(name: str, found: list[Results], **values: Any) -> Section:
    """Make a section with the title and paragraphs of ``texts.json``, and the cells, failures and settings found."""
    texts = resource("texts.json")["sections"][name]
    return Section(
        name, texts["title"].format(**values), all_cells(name, found),
        paragraphs=[text.format(**values) for text in texts["paragraphs"]],
        settings=[results.settings for results in found],
        failures=[text for results in found for text in results.failures],
    )  # fmt: skip


def all_cells(name: str, found: list[Results]) -> ResultTable:
    """All cells, one measure a row: ours (mean, standard deviation, seeds), the article's value, the difference."""
    header = ["study", "data set", "method", "part", "measure", "mean", "std", "seeds"]
    table = ResultTable(f"{name}-cells", "", [*header, "article", "difference", "within 2 std"])
    for results in found:
        printed, gap, near = results.printed, results.difference, results.within_two_std()
        for part, values in results.parts.items():
            means, spread, seeds = mean(values), std(values), (~np.isnan(values)).sum(axis=3)
            for i, j, m in np.argwhere(seeds):
                names = [results.datasets[i], results.methods[j], part, results.study.measures[m]]
                ours = [number(means[i, j, m], 6), number(spread[i, j, m], 6), str(seeds[i, j, m])]
                article = [number(printed[i, j, m]), number(gap[i, j, m], 6, sign=True)]
                comparable = seeds[i, j, m] > 1 and not np.isnan(gap[i, j, m])
                within = ("yes" if near[i, j, m] else "no") if comparable else "-"
                table.add(results.study.name, [*names, *ours, *article, within])
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


def general_notes(study: str, datasets: Iterable[str]) -> list[str]:
    """The paragraphs of ``notes.json`` on a study; one about certain data sets needs at least one of them."""
    known = resource("notes.json")["general"][study]
    return [str(note["text"]) for note in known if set(note.get("datasets", datasets)) & set(datasets)]


def difference_table(results: Results, name: str, limit: float) -> ResultTable:
    """The cells further than `limit` from the printed value, the furthest first, each with its reason if known."""
    header = ["Data set", "method", "measure", "ours", "std", "article", "difference", "what is known"]
    table = titled(name, header, "differences", limit=limit)
    mean, std, printed, gap = results.mean, results.std, results.printed, results.difference
    reasons = resource("notes.json")["cells"].get(results.study.name, {})
    far = [tuple(cell) for cell in np.argwhere(np.abs(gap) > limit + 1e-9)]
    for i, j, m in sorted(far, key=lambda cell: -abs(gap[cell])):
        dataset, method, size = results.datasets[i], results.methods[j], float(gap[i, j, m])
        numbers = [number(mean[i, j, m]), number(std[i, j, m]), number(printed[i, j, m])]
        difference = Entry(number(size, sign=True), shade=size, bold=abs(size) > FAR + 1e-9)
        reason = reasons.get(dataset, {}).get(method, "not explained")
        table.add(dataset, [method, METRICS[m], *numbers, difference, reason])
    return table


def unexplained(table: ResultTable) -> int:
    """How many cells of a `difference_table` have no known reason."""
    return sum(entries[-1].text == "not explained" for _, entries in table.rows)
