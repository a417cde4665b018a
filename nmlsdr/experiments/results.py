"""Results of studies as arrays, with the article's values for comparison, and the tables that several sections have."""

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import repeat, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._resources import load_json
from .protocol import MEASURE_NAMES, Study
from .store import CellKey, Record

#: A JSON file of this folder: what the article prints, notes on differences, and the texts of the report.
resource = partial(load_json, __package__)


def number(value: Any, decimals: int = 3, *, sign: bool = False) -> str:
    """A number as the tables print it; a dash for NaN, and never a negative zero.

    Examples
    --------
    >>> number(0.12345), number(-0.0001, sign=True), number(0.02, sign=True), number(float("nan"))
    ('0.123', '+0.000', '+0.020', '-')
    """
    if value != value:
        return "-"
    value = round(value, decimals) + 0.0
    return f"{value:{'+' if sign else ''}.{decimals}f}"


def plus_minus(spread: float, decimals: int = 3) -> str:
    """A standard deviation as small text; empty for NaN."""
    return "" if spread != spread else f"±{number(spread, decimals)}"


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    Attributes
    ----------
    text : str
        As shown.
    beside : str
        Shown smaller beside it (the article's value, a difference), or "".
    bold : bool
        The best of its row or column.
    shade : float or None
        A difference to the article; HTML colours by it.
    """

    text: str
    beside: str = ""
    bold: bool = False
    shade: float | None = None


def best_in_bold(
    values: NDArray[Any],
    decimals: int,
    beside: Iterable[str] | None = None,
    shades: Iterable[float | None] | None = None,
) -> list[Entry]:
    """Numbers, with the largest in bold, and all that are equal to it as printed."""
    rounded = np.round(values, decimals)
    best = rounded == np.fmax.reduce(rounded)
    texts: Iterable[str] = beside or repeat("")
    colors: Iterable[float | None] = shades or repeat(None)
    return [
        Entry(number(value, decimals), small, bool(bold), shade)
        for value, bold, small, shade in zip(rounded, best, texts, colors, strict=False)
    ]


@dataclass
class ResultTable:
    """A table with a header, named rows, and a note below.

    Attributes
    ----------
    name : str
        File name without ending.
    title : str
    header : list of str
        First the name of the rows' column.
    rows : list of (str, list of Entry)
    note : str
    rule_before : set of int
        Rows with a line above.
    """

    name: str
    title: str
    header: list[str]
    rows: list[tuple[str, list[Entry]]] = field(default_factory=list)
    note: str = ""
    rule_before: set[int] = field(default_factory=set)

    def add(self, name: str, entries: Sequence[object]) -> None:
        """Append a row; a text becomes an entry without small text."""
        self.rows.append((name, [entry if isinstance(entry, Entry) else Entry(str(entry)) for entry in entries]))

    def add_last(self, name: str, entries: Sequence[object]) -> None:
        """Append a row below a line."""
        self.rule_before.add(len(self.rows))
        self.add(name, entries)

    def add_columns(self, names: Iterable[str], columns: Iterable[list[Entry]]) -> None:
        """Append rows that are given column by column."""
        for name, *entries in zip(names, *columns, strict=True):
            self.rows.append((name, entries))

    def to_csv(self) -> str:
        """The shown text alone, without the small text."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([name, *(entry.text for entry in entries)] for name, entries in self.rows)
        return out.getvalue()

    def to_text(self) -> str:
        """Aligned columns for a terminal; the small text on lines of its own below each row that has some."""
        lines = [self.header]
        for name, entries in self.rows:
            lines.append([name, *(entry.text + ("*" if entry.bold else "") for entry in entries)])
            beside = [entry.beside.split("\n") for entry in entries]
            lines += [["", *small] for small in zip_longest(*beside, fillvalue="") if any(small)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = ([first.ljust(widths[0]), *map(str.rjust, cells, widths[1:])] for first, *cells in lines)
        text = ["  ".join(cells).rstrip() for cells in rows]
        return "\n".join([self.title, *text, *([self.note] if self.note else [])])


def titled(name: str, header: list[str], text: str = "", texts: Any = None, **values: Any) -> ResultTable:
    """An empty table with the title and the note that ``texts`` has under ``text``, by default the name.

    ``texts`` is ``texts.json``, or that of a study outside the package.
    """
    texts = (texts or resource("texts.json"))["tables"][text or name]
    return ResultTable(name, texts["title"].format(**values), header, note=texts.get("note", "").format(**values))


def shade_class(difference: float | None) -> str:
    """Class of a cell by its difference: within .005, .01, .02, .05 or more, and its sign."""
    if difference is None or difference != difference:
        return ""
    size = sum(abs(difference) > limit for limit in (0.005, 0.01, 0.02, 0.05))
    return f"d{size}" if size == 0 else f"d{size}{'up' if difference > 0 else 'down'}"


@dataclass
class Section:
    """One study of the report.

    Attributes
    ----------
    name : str
        The study.
    title : str
    cells : ResultTable
        Every cell, one measure a row; written, not shown.
    paragraphs : list of str
        What was done and what came out, before the tables.
    claims : list of (str, bool or None)
        A statement of the article or a goal of the project, and whether it is true of these results; None if the cells
        at hand cannot decide it.
    tables : list of ResultTable
    figures : dict of str to (matplotlib Figure, caption)
        By file name without ending.
    settings : list of dict
        Of each study in it.
    failures : list of str
    """

    name: str
    title: str
    cells: ResultTable
    paragraphs: list[str] = field(default_factory=list)
    claims: list[tuple[str, bool | None]] = field(default_factory=list)
    tables: list[ResultTable] = field(default_factory=list)
    figures: dict[str, tuple[Any, str]] = field(default_factory=dict)
    settings: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, name: str, studies: list["Results"], size: str, texts: Any = None, **values: Any) -> "Section":
        """Make a section with the title and paragraphs of ``texts.json``, and the cells, failures and settings found.

        Of a full run it has the paragraphs of ``notes.json`` too; one about certain data sets needs one of them.
        """
        texts = (texts or resource("texts.json"))["sections"][name]
        notes = general_notes(name, {dataset for results in studies for dataset in results.datasets})
        return cls(
            name,
            texts["title"].format(**values),
            all_cells(name, studies),
            paragraphs=[text.format(**values) for text in texts["paragraphs"]]
            + (notes if size == "full" else texts.get("small", [])),
            settings=[results.settings for results in studies],
            failures=[text for results in studies for text in results.failures],
        )

    def claim(self, name: str, holds: bool | None, **values: Any) -> None:
        """Add a claim of ``texts.json``."""
        self.claims.append((resource("texts.json")["claims"][f"{self.name}-{name}"].format(**values), holds))

    def add_figure(self, name: str, figure: Any) -> None:
        """Add a matplotlib Figure with the caption of ``texts.json``."""
        self.figures[name] = (figure, resource("texts.json")["figures"][name])


Floats = NDArray[np.float64]
FAR = 0.05


@dataclass(frozen=True)
class Results:
    """The results of one study.

    Attributes
    ----------
    study : Study
    datasets, methods, seeds : tuple
        Those with at least one record.
    parts : dict of str to ndarray (n_datasets, n_methods, n_measures, n_seeds)
        By the parts of the study's records, which `Study` names; NaN where there is no result.
    seconds : ndarray (n_datasets, n_methods, n_seeds)
    failures : list of str
        One line for each failed cell.
    """

    study: Study
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    parts: dict[str, Floats]
    seconds: Floats
    failures: list[str]

    @property
    def n_seeds(self) -> int:
        return len(self.seeds)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the study, with the data sets, methods and number of seeds that have records."""
        return {**asdict(self.study), "datasets": self.datasets, "methods": self.methods, "seeds": self.n_seeds}

    @property
    def printed(self) -> Floats:
        """The article's values (n_datasets, n_methods, n_measures); NaN where it prints none."""
        article = resource("article.json").get(self.study.name, {})
        none = [np.nan] * len(self.study.measures)
        by_set = [article.get(name, {}) for name in self.datasets]
        return np.array([[printed.get(method, none) for method in self.methods] for printed in by_set])

    @property
    def values(self) -> Floats:
        return self.parts["metrics"]

    @property
    def mean(self) -> Floats:
        """Means over the seeds that have a result."""
        return mean(self.values)

    @property
    def std(self) -> Floats:
        """Standard deviations (n - 1) over the seeds; NaN below two."""
        return std(self.values)

    @property
    def difference(self) -> Floats:
        """Our mean minus the printed value."""
        return self.mean - self.printed

    def within_two_std(self) -> NDArray[np.bool_]:
        """Where the printed value is within two of our standard deviations of our mean.

        The printed value has three decimals, so half of the last one is allowed in addition.
        """
        return np.abs(self.difference) <= 2.0 * self.std + 0.0005

    def of(self, methods: Iterable[str]) -> "Results":
        """The same for some of the methods, in the order given; those without records are left out."""
        chosen = tuple(method for method in methods if method in self.methods)
        index = [self.methods.index(method) for method in chosen]
        parts = {part: values[:, index] for part, values in self.parts.items()}
        return replace(self, methods=chosen, parts=parts, seconds=self.seconds[:, index])


def mean(values: Floats) -> Floats:
    """The mean over the last axis, without NaN; NaN where nothing is left."""
    return np.asarray(np.ma.masked_invalid(values).mean(axis=-1).filled(np.nan))


def std(values: Floats) -> Floats:
    """The standard deviation (n - 1) over the last axis, without NaN; NaN where fewer than two are left."""
    return np.asarray(np.ma.masked_invalid(values).std(axis=-1, ddof=1).filled(np.nan))


def collect(study: Study, records: Mapping[CellKey, Record]) -> Results | None:
    """Arrange the records of a study, data sets and methods in its order; None if there are none."""
    mine = {key: records[key] for key in sorted(records) if key.study == study.name}
    if not mine:
        return None
    datasets = _in_order(study.datasets, {key.dataset for key in mine})
    methods = _in_order(study.methods, {key.method for key in mine})
    seeds = tuple(sorted({key.seed for key in mine}))
    shape = len(datasets), len(methods), len(seeds)
    seconds = np.full(shape, np.nan)
    values = {part: np.full((*shape[:2], len(study.measures), shape[2]), np.nan) for part in study.parts}
    failures = []
    for key, record in mine.items():
        if record["error"] is not None:
            failures.append(f"{key.study}, {key.dataset}, {key.method}, seed {key.seed}: {record['error']}")
            continue
        i = datasets.index(key.dataset)
        j = methods.index(key.method)
        k = seeds.index(key.seed)
        seconds[i, j, k] = sum(record["times"].values())
        for part in study.parts:
            values[part][i, j, :, k] = _values_of(record[part], study.measures)
    return Results(study, datasets, methods, seeds, values, seconds, failures)


def _values_of(scores: Record | None, measures: Sequence[str]) -> Floats:
    """The value of each measure; NaN if a record does not have it."""
    return np.array([(scores or {}).get(name) for name in measures], dtype=float)  # None becomes NaN


def _in_order(known: tuple[str, ...], names: set[str]) -> tuple[str, ...]:
    return (*(name for name in known if name in names), *sorted(names - set(known)))


# ---------------------------------------------------------------- tables of several sections


def all_cells(name: str, studies: list[Results]) -> ResultTable:
    """All cells, one measure a row: ours (mean, standard deviation, seeds), the article's value, the difference."""
    header = ["study", "data set", "method", "part", "measure", "mean", "std", "seeds"]
    table = ResultTable(f"{name}-cells", "", [*header, "article", "difference", "within 2 std"])
    for results in studies:
        printed = results.printed
        gap = results.difference
        near = results.within_two_std()
        for part, values in results.parts.items():
            means = mean(values)
            spread = std(values)
            seeds = (~np.isnan(values)).sum(axis=3)
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
    table = titled(name, ["Method", *MEASURE_NAMES], **values)
    columns = []
    for m in range(len(MEASURE_NAMES)):
        gap = results.difference[0, :, m]
        printed = results.printed[0, :, m]
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
    gap = results.difference
    near = results.within_two_std()
    columns = [(metric, [m]) for m, metric in enumerate(MEASURE_NAMES)] + [("all", list(range(len(MEASURE_NAMES))))]
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


def general_notes(study: str, datasets: Collection[str]) -> list[str]:
    """The paragraphs of ``notes.json`` on a study; one about certain data sets needs at least one of them."""
    known = resource("notes.json")["general"].get(study, [])
    return [str(note["text"]) for note in known if set(note.get("datasets", datasets)) & set(datasets)]


def compare(section: Section, results: Results, limits: tuple[float, ...], limit: float) -> None:
    """Compare with the article's values: how many are near, which are not, and the claim that these are explained."""
    far = difference_table(results, f"{section.name}-differences", limit)
    unexplained = sum(entries[-1].text == "not explained" for _, entries in far.rows)
    cells = int((~np.isnan(results.difference)).sum())
    counts = {"cells": cells, "far": len(far.rows), "unexplained": unexplained}
    if cells:
        section.claim("far", not unexplained, limit=limit, **counts)
    section.tables += [agreement(results, f"{section.name}-agreement", limits), far]


def difference_table(results: Results, name: str, limit: float) -> ResultTable:
    """The cells further than `limit` from the printed value, the furthest first, each with its reason if known."""
    header = ["Data set", "method", "measure", "ours", "std", "article", "difference", "what is known"]
    table = titled(name, header, "differences", limit=limit)
    means = results.mean
    spread = results.std
    printed = results.printed
    gap = results.difference
    reasons = resource("notes.json")["cells"].get(results.study.name, {})
    far = [tuple(cell) for cell in np.argwhere(np.abs(gap) > limit + 1e-9)]
    for i, j, m in sorted(far, key=lambda cell: -abs(gap[cell])):
        dataset = results.datasets[i]
        method = results.methods[j]
        size = float(gap[i, j, m])
        numbers = [number(means[i, j, m]), number(spread[i, j, m]), number(printed[i, j, m])]
        difference = Entry(number(size, sign=True), shade=size, bold=abs(size) > FAR + 1e-9)
        reason = reasons.get(dataset, {}).get(method, "not explained")
        table.add(dataset, [method, MEASURE_NAMES[m], *numbers, difference, reason])
    return table
