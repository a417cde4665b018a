"""Tables of the study of what came after the article: predictions by regime, and reviews of labels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .beyond import BASE, BEYOND_METHODS, CHANCE, KINDS, OURS, REGIMES, REVIEWERS, REVIEWS, SIX_SETS
from .protocol import METRICS
from .results import (
    Entry,
    Results,
    ResultTable,
    Section,
    begin_section,
    best_in_bold,
    mean,
    number,
    resource,
    std,
    titled,
)
from .statistics import LEVEL, holm, signed_rank_p_values

Floats = NDArray[np.float64]
RANKINGS, DECISIONS = ("RL'", "AP", "OE'", "Cov'"), ("HL'", "MaF1", "MiF1")
ARTICLE = "NMLSDR"
PROMISED = dict(zip(REVIEWS, ("both", "missing"), strict=True))  # the list for each noise


class View(NamedTuple):
    """What a table shows of the regimes: the end of its name, the words of its title, a part and its measures."""

    name: str
    title: str
    part: str = "metrics"
    measures: tuple[str, ...] = METRICS

    def percent(self, results: Results) -> Floats:
        """The mean of these measures (n_datasets, n_methods, n_seeds)."""
        return results.percent(self.part, self.measures)

    def gaps(self, results: Results, first: str, second: str) -> Floats:
        """What the first method gains over the second on each data set, as `Results.gaps`."""
        return results.gaps(first, second, self.part, self.measures)


RANKING = View("rankings", "Mean of the four ranking measures, end to end", measures=RANKINGS)
SEVEN = View("end-to-end", "Mean of the seven measures, end to end")
P1 = View("p1", "Mean of the seven measures, P1", "p1")


def beyond_section(found: list[Results], *, size: str) -> Section:
    """Tables of the regimes and reviews that have records."""
    ranked = [results for results in found if results.study.name in REGIMES]
    decided = [with_variant(results, "f1") for results in ranked]  # a threshold moves no ranking
    reviews = [with_chance(results) for results in found if results.study.name in REVIEWS]
    section = begin_section("beyond", found, size)
    section.paragraphs.append(seeds_used(found))
    for plain, base in zip(ranked, decided, strict=True):
        if plain.study is BASE:
            shown = ((plain, RANKING), (base, SEVEN), (plain, P1))
            section.tables += [measure_table(base), *(set_table(*which) for which in shown)]
            section.tables += [test_table(*which) for which in shown]
            section.tables += [parts_table(plain), seconds_table(plain)]
    if any(results.study is not BASE for results in ranked):
        section.tables += [regime_table(ranked, RANKING), regime_table(decided, SEVEN)]
    if reviews:
        section.paragraphs.append(resource("texts.json")["sections"]["beyond"]["review"])
        section.tables += review_tables(reviews)
        section.tables.append(kinds_table(reviews))
    section.tables = [table for table in section.tables if table.rows]
    return section


def seeds_used(found: list[Results]) -> str:
    """Say how many seeds each study has on which data sets, and which methods have fewer or none."""
    titles: dict[str, list[str]] = {}
    for results in found:
        counts = (~np.isnan(results.values).all(axis=2)).sum(axis=2)  # (n_datasets, n_methods)
        most = counts.max(axis=1)
        texts = [_by_count(results.datasets, most)]
        for j, name in enumerate(results.methods):
            less = np.flatnonzero(counts[:, j] < most)
            if less.size:
                texts.append(f"{name}: {_by_count([results.datasets[i] for i in less], counts[less, j])}")
        title = f"review, {results.study.title}" if results.study.name in REVIEWS else results.study.title
        titles.setdefault("; ".join(texts), []).append(title)
    return "Seeds. " + " ".join(f"{', '.join(studies)}: {text}." for text, studies in titles.items())


def _by_count(datasets: Sequence[str], counts: NDArray[Any]) -> str:
    groups: dict[int, list[str]] = {}
    for name, count in zip(datasets, counts.tolist(), strict=True):
        groups.setdefault(count, []).append(name)
    return ", ".join(f"{count or 'none'} on {', '.join(groups[count])}" for count in sorted(groups, reverse=True))


def with_variant(results: Results, variant: str) -> Results:
    """The metrics, with a method ``...-variant`` after each one that has results in that part of its records."""
    methods, index, values = [], [], []
    for j, name in enumerate(results.methods):
        for method, part in ((name, "metrics"), (f"{name}-{variant}", variant)):
            found = results.parts[part][:, j]
            if method == name or not np.isnan(found).all():
                methods.append(method)
                index.append(j)
                values.append(found)
    parts = {"metrics": np.stack(values, axis=1)}
    return replace(results, methods=tuple(methods), parts=parts, seconds=results.seconds[:, index])


def set_table(results: Results, view: View) -> ResultTable:
    """Data sets by methods, with the means below."""
    known = view.percent(results)
    chosen = [j for j in range(len(results.methods)) if not np.isnan(known[:, j]).all()]  # regressions: no embedding
    header = ["Data set", *(results.methods[j] for j in chosen)]
    values = {"what": view.title, "regime": results.study.title, "n_seeds": results.n_seeds}
    table = titled(f"beyond-{view.name}", header, "beyond-set", **values)
    if chosen:
        by_seed = known[:, chosen]
        means = mean(by_seed)
        for dataset, row, spread in zip(results.datasets, means, std(by_seed), strict=True):
            table.add(dataset, best_in_bold(row, 2, ["" if np.isnan(s) else f"±{number(s, 2)}" for s in spread]))
        table.rule_before.add(len(table.rows))
        table.add("mean", best_in_bold(means.mean(axis=0), 2))
    return table


def measure_table(results: Results) -> ResultTable:
    """Methods by measures, end to end: those of rankings, then those of decisions, with means."""
    groups: dict[str, tuple[str, ...]] = {"mean of 4": RANKINGS, "mean of 7": METRICS}
    groups |= {measure: (measure,) for measure in METRICS}
    shown = [*RANKINGS, "mean of 4", *DECISIONS, "mean of 7"]
    values = {"sets": ", ".join(results.datasets), "regime": results.study.title}
    table = titled("beyond-measures", ["Method", *shown], **values)
    by_method = {group: mean(results.percent(measures=groups[group])).mean(axis=0) for group in shown}
    known = [j for j in range(len(results.methods)) if not np.isnan(by_method["mean of 7"][j])]
    table.add_columns(
        [results.methods[j] for j in known], [best_in_bold(values[known], 2) for values in by_method.values()]
    )
    return table


def parts_table(results: Results) -> ResultTable:
    """The two F1 of the article's pipeline, and of the same without correcting given labels."""
    some = results.of([ARTICLE, f"{ARTICLE}*"])
    measures = ("MaF1", "MiF1")
    header = ["Data set", *(f"{measure} {name}" for measure in measures for name in some.methods)]
    table = titled("beyond-parts", header, regime=results.study.title)
    if ARTICLE not in some.methods or len(some.methods) == 1:
        return table
    columns = [100.0 * some.mean[:, :, METRICS.index(measure)] for measure in measures]  # (n_datasets, n_methods)
    for i, dataset in enumerate(results.datasets):
        table.add(dataset, [entry for values in columns for entry in best_in_bold(values[i], 2)])
    table.rule_before.add(len(table.rows))
    wins = [["-", *(won(gap) for gap in (values[:, 1:] - values[:, :1]).T)] for values in columns]
    table.add(f"better than {ARTICLE}", [text for texts in wins for text in texts])
    return table


def test_table(results: Results, view: View) -> ResultTable:
    """Residual against every other method over the data sets."""
    header = ["Against", "gain", "std over sets", "wins", "losses", "p", "p, Holm", "loses on"]
    n = len(results.datasets)
    values = {"what": view.title, "regime": results.study.title, "n_datasets": n, "least": 2.0 ** (1 - n)}
    table = titled(f"beyond-tests-{view.name}", header, "beyond-tests", **values)
    rivals = [name for name in results.methods if name != OURS]
    gaps = {name: gap for name in rivals if (gap := known_gaps(results, view, name)).size}
    p_values = [float(signed_rank_p_values(gap, alternative="two-sided")) for gap in gaps.values()]
    for (name, gap), p, corrected in zip(gaps.items(), p_values, holm(p_values), strict=True):
        spread = float(gap.std(ddof=1)) if gap.size > 1 else np.nan
        counts = [str(int((gap > 0).sum())), str(int((gap < 0).sum()))]
        last = Entry(f"{corrected:.3g}", bold=bool(corrected < LEVEL))
        sets = zip(results.datasets, view.gaps(results, OURS, name), strict=True)
        behind = ", ".join(dataset for dataset, gap in sets if gap < 0) or "none"
        table.add(name, [number(float(gap.mean()), 2, sign=True), number(spread, 2), *counts, f"{p:.3g}", last, behind])
    return table


def seconds_table(results: Results) -> ResultTable:
    """Seconds to fit and to predict the test rows."""
    table = titled("beyond-seconds", ["Data set", *results.methods], regime=results.study.title)
    for dataset, row in zip(results.datasets, mean(results.seconds), strict=True):
        table.add(dataset, [number(value, 2) for value in row.tolist()])
    return table


def regime_table(found: list[Results], view: View) -> ResultTable:
    """Regimes by methods, end to end, over the smaller sets alone."""
    known = {name for results in found if results.study is not BASE for name in results.methods}
    methods = [f"{name}{rule}" for name in BEYOND_METHODS for rule in ("", "-f1") if f"{name}{rule}" in known]
    smaller = {name for results in found if results.study is not BASE for name in results.datasets}
    sets = ", ".join(name for name in SIX_SETS if name in smaller)
    name = "beyond-regimes" if view is SEVEN else f"beyond-regimes-{view.name}"
    table = titled(name, ["Regime", *methods], "beyond-regimes", what=view.title, sets=sets, base=BASE.title)
    for results in found:
        rows = [i for i, name in enumerate(results.datasets) if name in smaller]
        if rows:
            means = mean(view.percent(results)[rows]).mean(axis=0)
            table.add(results.study.title, beside_ours(results, view, methods, means, rows=rows))
    return table


def known_gaps(results: Results, view: View, rival: str) -> Floats:
    """What ours gains over a rival on each data set, as `Results.gaps`, without the sets where that is unknown."""
    if not {OURS, rival} <= set(results.methods):
        return np.empty(0)
    gaps = view.gaps(results, OURS, rival)
    return gaps[~np.isnan(gaps)]


def won(gaps: Floats) -> str:
    """How many of the known differences are positive."""
    return f"{int((gaps > 0).sum())} of {int((~np.isnan(gaps)).sum())}"


def beside_ours(
    results: Results, view: View, methods: list[str], means: Floats, *, rows: Any = slice(None), decimals: int = 2
) -> list[Entry]:
    """Means of `methods`, and beside each rival on how many of the data sets `rows` ours is better."""
    shown = dict(zip(results.methods, means, strict=True))
    rivals = {name for name in results.methods if name != OURS} if OURS in results.methods else ()
    gaps = {name: view.gaps(results, OURS, name)[rows] for name in methods if name in rivals}
    beside = [won(gaps[name]) if name in gaps and not np.isnan(gaps[name]).all() else "" for name in methods]
    return best_in_bold(np.array([shown.get(name, np.nan) for name in methods]), decimals, beside)


# ---------------------------------------------------------------- reviews


def with_chance(results: Results) -> Results:
    """The metrics, those of adjusted scores too, and chance as the last method."""
    chance = np.fmax.reduce(results.parts[CHANCE], axis=1, keepdims=True)  # the same in the cells of every method
    shown = with_variant(results, "adjusted")
    values = np.concatenate([shown.values, chance], axis=1)
    return replace(shown, methods=(*shown.methods, CHANCE), parts={"metrics": values})


def review_tables(found: list[Results]) -> list[ResultTable]:
    """The means of every noise and kind, and by data set the lists that were promised to gain."""
    known = {name for results in found for name in results.methods}
    methods = [shown for name in REVIEWERS for shown in (name, f"{name}-adjusted") if shown in known] + [CHANCE]
    summary = titled("beyond-review", ["Noise, list", *methods])
    by_set = []
    for results in found:
        title = results.study.title
        for kind in KINDS:
            means = mean(results.percent(measures=[kind]))
            if np.isnan(means[:, :-1]).all():  # the last is chance
                continue  # no label of the kind is wrong, or no method has the list
            entries = beside_ours(results, View(kind, kind, measures=(kind,)), methods, means.mean(axis=0), decimals=1)
            summary.add(f"{title}, {kind}", entries)
            if kind == PROMISED[results.study.name]:
                values = {"noise": title, "kind": kind, "n_seeds": results.n_seeds}
                header = ["Data set", *results.methods]
                table = titled(results.study.name, header, "beyond-review-set", **values)
                for name, row in zip(results.datasets, means, strict=True):
                    table.add(name, best_in_bold(row, 1))
                by_set.append(table)
    return [summary, *by_set]


def kinds_table(found: list[Results]) -> ResultTable:
    """Data sets by noise and kind of list, of the scores of ours alone: what the kind gains or costs."""
    noises = [results for results in found if OURS in results.methods]
    columns, header = [], ["Data set"]
    for results in noises:
        for kind in dict.fromkeys(("both", "unknown", PROMISED[results.study.name])):
            values = mean(results.percent(measures=[kind]))[:, results.methods.index(OURS)]
            columns.append(dict(zip(results.datasets, values, strict=True)))
            header.append(f"{results.study.title}: {kind}")
    table = titled("beyond-kinds", header)
    sets = [name for name in SIX_SETS if any(name in column for column in columns)]
    for name in sets:
        table.add(name, [number(column.get(name, np.nan), 1) for column in columns])
    if sets:
        table.rule_before.add(len(table.rows))
        table.add("mean", [number(np.mean([*column.values()]), 1) for column in columns])
    return table
