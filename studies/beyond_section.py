"""Tables of the study of what came after the article: predictions by regime, and reviews of labels."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from beyond import BASE, BEYOND_METHODS, CHANCE, KINDS, OURS, REGIMES, REVIEWERS, REVIEWS, SIX_SETS
from numpy.typing import NDArray
from views import View, holm, percent
from views import gaps as gaps_of

from nmlsdr.experiments import results as _results
from nmlsdr.experiments.protocol import MEASURE_NAMES
from nmlsdr.experiments.results import (
    Entry,
    Results,
    ResultTable,
    Section,
    best_in_bold,
    mean,
    number,
    plus_minus,
    std,
)
from nmlsdr.experiments.statistics import LEVEL, signed_rank_p_values

Floats = NDArray[np.float64]
TEXTS = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))
titled = partial(_results.titled, texts=TEXTS)
RANKINGS = ("RL'", "AP", "OE'", "Cov'")
DECISIONS = ("HL'", "MaF1", "MiF1")
ARTICLE = "NMLSDR"
PROMISED = dict(zip(REVIEWS, ("both", "missing"), strict=True))  # the list for each noise


RANKING = View("rankings", "Mean of the four ranking measures, end to end", measures=RANKINGS)
SEVEN = View("end-to-end", "Mean of the seven measures, end to end")
P1 = View("p1", "Mean of the seven measures, P1", "p1")


def beyond_section(studies: list[Results], *, size: str) -> Section:
    """Tables of the regimes and reviews that have records."""
    ranked = [results for results in studies if results.study.name in REGIMES]
    decided = [with_variant(results, "f1") for results in ranked]  # a threshold moves no ranking
    reviews = [with_chance(results) for results in studies if results.study.name in REVIEWS]
    section = Section.begin("beyond", studies, size, TEXTS)
    section.paragraphs.append(seeds_used(studies))
    for plain, base in zip(ranked, decided, strict=True):
        if plain.study is BASE:
            section.tables += base_tables(plain, base)
    if any(results.study is not BASE for results in ranked):
        section.tables += [regime_table(ranked, RANKING), regime_table(decided, SEVEN)]
    if reviews:
        section.paragraphs.append(TEXTS["sections"]["beyond"]["review"])
        section.tables += review_tables(reviews)
        section.tables.append(kinds_table(reviews))
    section.tables = [table for table in section.tables if table.rows]
    return section


def base_tables(plain: Results, decided: Results) -> list[ResultTable]:
    """The tables of the base regime, without and with the variants that decide by other thresholds."""
    views = ((plain, RANKING), (decided, SEVEN), (plain, P1))
    set_tables = [set_table(results, view) for results, view in views]
    test_tables = [test_table(results, view) for results, view in views]
    return [measure_table(decided), *set_tables, *test_tables, parts_table(plain), seconds_table(plain)]


def seeds_used(studies: list[Results]) -> str:
    """Say how many seeds each study has on which data sets, and which methods have fewer or none."""
    titles: dict[str, list[str]] = {}
    for results in studies:
        counts = (~np.isnan(results.values).all(axis=2)).sum(axis=2)  # (n_datasets, n_methods)
        largest_counts = counts.max(axis=1)
        texts = [_by_count(results.datasets, largest_counts)]
        for j, name in enumerate(results.methods):
            short_sets = np.flatnonzero(counts[:, j] < largest_counts)
            if short_sets.size:
                texts.append(f"{name}: {_by_count([results.datasets[i] for i in short_sets], counts[short_sets, j])}")
        title = f"review, {results.study.title}" if results.study.name in REVIEWS else results.study.title
        titles.setdefault(". ".join(texts), []).append(title)
    return "Seeds. " + " ".join(f"{', '.join(names)}: {text}." for text, names in titles.items())


def _by_count(datasets: Sequence[str], counts: NDArray[Any]) -> str:
    groups: dict[int, list[str]] = {}
    for name, count in zip(datasets, counts.tolist(), strict=True):
        groups.setdefault(count, []).append(name)
    return ", ".join(f"{count or 'none'} on {', '.join(groups[count])}" for count in sorted(groups, reverse=True))


def with_variant(results: Results, variant: str) -> Results:
    """The metrics, with a method ``...-variant`` after each one that has results in that part of its records."""
    methods = []
    index = []
    values = []
    for j, name in enumerate(results.methods):
        for method, part in ((name, "metrics"), (f"{name}-{variant}", variant)):
            measures = results.parts[part][:, j]
            if method == name or not np.isnan(measures).all():
                methods.append(method)
                index.append(j)
                values.append(measures)
    parts = {"metrics": np.stack(values, axis=1)}
    return replace(results, methods=tuple(methods), parts=parts, seconds=results.seconds[:, index])


def set_table(results: Results, view: View) -> ResultTable:
    """Data sets by methods, with the means below."""
    with_results = results.of(
        [name for name in results.methods if not np.isnan(percent(results.of([name]), view)).all()]
    )
    values = {"what": view.title, "regime": results.study.title, "n_seeds": results.n_seeds}
    table = titled(f"beyond-{view.name}", ["Data set", *with_results.methods], "beyond-set", **values)
    if with_results.methods:  # regressions have no embedding
        means = mean(percent(with_results, view))
        spread = std(percent(with_results, view))
        for dataset, row, beside in zip(results.datasets, means, spread, strict=True):
            table.add(dataset, best_in_bold(row, 2, [plus_minus(s, 2) for s in beside]))
        table.add_last("mean", best_in_bold(means.mean(axis=0), 2))
    return table


def measure_table(results: Results) -> ResultTable:
    """Methods by measures, end to end: those of rankings, then those of decisions, with means."""
    shown: dict[str, tuple[str, ...]] = {measure: (measure,) for measure in RANKINGS} | {"mean of 4": RANKINGS}
    shown |= {measure: (measure,) for measure in DECISIONS} | {"mean of 7": MEASURE_NAMES}
    values = {"sets": ", ".join(results.datasets), "regime": results.study.title}
    table = titled("beyond-measures", ["Method", *shown], **values)
    columns = [mean(percent(results, View(measures=group))).mean(axis=0) for group in shown.values()]
    known = np.flatnonzero(~np.isnan(columns[-1]))
    table.add_columns([results.methods[j] for j in known], [best_in_bold(column[known], 2) for column in columns])
    return table


def parts_table(results: Results) -> ResultTable:
    """The two F1 of the article's pipeline, and of the same without correcting given labels."""
    pipelines = results.of([ARTICLE, f"{ARTICLE}*"])
    measures = ("MaF1", "MiF1")
    header = ["Data set", *(f"{measure} {name}" for measure in measures for name in pipelines.methods)]
    table = titled("beyond-parts", header, regime=results.study.title)
    if ARTICLE not in pipelines.methods or len(pipelines.methods) == 1:
        return table
    # (n_datasets, n_methods) for each measure
    columns = [100.0 * pipelines.mean[:, :, MEASURE_NAMES.index(measure)] for measure in measures]
    for i, dataset in enumerate(results.datasets):
        table.add(dataset, list(itertools.chain(*(best_in_bold(values[i], 2) for values in columns))))
    table.add_last(f"better than {ARTICLE}", list(itertools.chain(*map(wins_over_first, columns))))
    return table


def wins_over_first(values: Floats) -> list[str]:
    """On how many data sets each method is better than the first one; values (n_datasets, n_methods)."""
    return ["-", *(won(gap) for gap in (values[:, 1:] - values[:, :1]).T)]


def test_table(results: Results, view: View) -> ResultTable:
    """Residual against every other method over the data sets."""
    header = ["Against", "gain", "std over sets", "wins", "losses", "p", "p, Holm", "loses on"]
    n = len(results.datasets)
    values = {"what": view.title, "regime": results.study.title, "n_datasets": n, "least": 2.0 ** (1 - n)}
    table = titled(f"beyond-tests-{view.name}", header, "beyond-tests", **values)
    gaps = {name: gap[~np.isnan(gap)] for name, gap in our_gaps(results, view).items()}
    p_values = [float(signed_rank_p_values(gap, alternative="two-sided")) for gap in gaps.values()]
    for (name, gap), p, corrected in zip(gaps.items(), p_values, holm(p_values), strict=True):
        spread = float(gap.std(ddof=1)) if gap.size > 1 else np.nan
        last = Entry(f"{corrected:.3g}", bold=bool(corrected < LEVEL))
        sets = zip(results.datasets, gaps_of(results, OURS, name, view), strict=True)
        behind = [dataset for dataset, lead in sets if lead < 0]
        numbers = [number(float(gap.mean()), 2, sign=True), number(spread, 2), (gap > 0).sum(), len(behind)]
        table.add(name, [*numbers, f"{p:.3g}", last, ", ".join(behind) or "none"])
    return table


def seconds_table(results: Results) -> ResultTable:
    """Seconds to fit and to predict the test rows."""
    table = titled("beyond-seconds", ["Data set", *results.methods], regime=results.study.title)
    for dataset, row in zip(results.datasets, mean(results.seconds), strict=True):
        table.add(dataset, [number(value, 2) for value in row.tolist()])
    return table


def regime_table(studies: list[Results], view: View) -> ResultTable:
    """Regimes by methods, end to end, over the smaller sets alone."""
    regimes = [results for results in studies if results.study is not BASE]
    known = set[str]().union(*(results.methods for results in regimes))
    methods = [f"{name}{rule}" for name in BEYOND_METHODS for rule in ("", "-f1") if f"{name}{rule}" in known]
    smaller = set[str]().union(*(results.datasets for results in regimes))
    sets = ", ".join(name for name in SIX_SETS if name in smaller)
    name = "beyond-regimes" if view is SEVEN else f"beyond-regimes-{view.name}"
    table = titled(name, ["Regime", *methods], "beyond-regimes", what=view.title, sets=sets, base=BASE.title)
    for results in studies:
        rows = [i for i, name in enumerate(results.datasets) if name in smaller]
        if rows:
            means = mean(percent(results, view)[rows]).mean(axis=0)
            table.add(results.study.title, beside_ours(results, view, methods, means, rows=rows))
    return table


def our_gaps(results: Results, view: View) -> dict[str, Floats]:
    """What ours gains over each rival on each data set, as `views.gaps`, without the rivals where that is unknown."""
    rivals = [name for name in results.methods if name != OURS] if OURS in results.methods else []
    gaps = {name: gaps_of(results, OURS, name, view) for name in rivals}
    return {name: gap for name, gap in gaps.items() if not np.isnan(gap).all()}


def won(gaps: Floats) -> str:
    """How many of the known differences are positive."""
    return f"{int((gaps > 0).sum())} of {int((~np.isnan(gaps)).sum())}"


def beside_ours(
    results: Results, view: View, methods: list[str], means: Floats, *, rows: Any = slice(None), decimals: int = 2
) -> list[Entry]:
    """Means of `methods`, and beside each rival on how many of the data sets `rows` ours is better."""
    shown = dict(zip(results.methods, means, strict=True))
    gaps = {name: gap[rows] for name, gap in our_gaps(results, view).items()}
    beside = [won(gaps[name]) if name in gaps and not np.isnan(gaps[name]).all() else "" for name in methods]
    return best_in_bold(np.array([shown.get(name, np.nan) for name in methods]), decimals, beside)


# ---------------------------------------------------------------- reviews


def with_chance(results: Results) -> Results:
    """The metrics, those of adjusted scores too, and chance as the last method."""
    chance = np.fmax.reduce(results.parts[CHANCE], axis=1, keepdims=True)  # the same in the cells of every method
    shown = with_variant(results, "adjusted")
    values = np.concatenate([shown.values, chance], axis=1)
    return replace(shown, methods=(*shown.methods, CHANCE), parts={"metrics": values})


def review_tables(reviews: list[Results]) -> list[ResultTable]:
    """The means of every noise and kind, and by data set the lists that were promised to gain."""
    known = {name for results in reviews for name in results.methods}
    methods = [shown for name in REVIEWERS for shown in (name, f"{name}-adjusted") if shown in known] + [CHANCE]
    tables = [titled("beyond-review", ["Noise, list", *methods])]
    for results in reviews:
        title = results.study.title
        for kind in KINDS:
            view = View(measures=(kind,))
            means = mean(percent(results, view))
            if np.isnan(means[:, :-1]).all():  # the last is chance
                continue  # no label of the kind is wrong, or no method has the list
            entries = beside_ours(results, view, methods, means.mean(axis=0), decimals=1)
            tables[0].add(f"{title}, {kind}", entries)
            if kind == PROMISED[results.study.name]:
                values = {"noise": title, "kind": kind, "n_seeds": results.n_seeds}
                header = ["Data set", *results.methods]
                tables.append(titled(results.study.name, header, "beyond-review-set", **values))
                for name, row in zip(results.datasets, means, strict=True):
                    tables[-1].add(name, best_in_bold(row, 1))
    return tables


def kinds_table(reviews: list[Results]) -> ResultTable:
    """Data sets by noise and kind of list, of the scores of ours alone: what the kind gains or costs."""
    columns: dict[str, dict[str, float]] = {}
    for results in reviews:
        for kind in ("both", "unknown", PROMISED[results.study.name]):
            for ours in results.of([OURS]).methods:
                values = mean(percent(results.of([ours]), View(measures=(kind,))))[:, 0]
                columns[f"{results.study.title}: {kind}"] = dict(zip(results.datasets, values, strict=True))
    table = titled("beyond-kinds", ["Data set", *columns])
    for name in SIX_SETS:
        if any(name in column for column in columns.values()):
            table.add(name, [number(column.get(name, np.nan), 1) for column in columns.values()])
    if table.rows:
        table.add_last("mean", [number(np.mean([*column.values()]), 1) for column in columns.values()])
    return table
