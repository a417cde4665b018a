"""Tables, claims and words of the study of what came after the article."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .beyond import BASE, BEYOND_METHODS, OURS, REGIMES
from .beyond_review import beside_ours, review_claims, review_tables, won
from .protocol import METRICS, Study
from .results import Results, collect, mean, std
from .statistics import LEVEL, holm, signed_rank_p_values
from .store import CellKey, Record
from .tables import Claims, Entry, ResultTable, Section, best_in_bold, number, resource, titled

__all__ = ["beyond_section", "collect_regime"]

PARTS = {"metrics": "end to end", "p1": "P1"}
ARTICLE, RIVAL = "NMLSDR", "Logistic"
GAIN, SHARE_OF_SETS, SEEDS = 4.0, 0.9, 5  # what the method was to reach on the ten sets


def collect_regime(study: Study, records: Mapping[CellKey, Record]) -> Results | None:
    """Arrange the records of a regime, sets and methods in their order; None if there are none."""
    return collect(study, records, parts=tuple(PARTS), title=f"{study.title}: ")


def beyond_section(found: list[Results], reviews: list[Results], *, size: str) -> Section:
    """Tables and claims of the regimes that have records, of predictions and of reviews."""
    everything = [*found, *reviews]
    base = next((results for results in found if results.study is BASE), None)
    failures = [text for results in everything for text in results.failures]
    section = Section.begun("beyond", cells_table(found), failures)
    section.settings["regimes"] = [_settings(results) for results in everything]
    texts = resource("texts.json")["sections"]["beyond"]
    if size != "full":
        section.paragraphs.append(texts["small"])
    if base is not None:
        section.paragraphs += losses(base)
        section.claims = claims(base) if size == "full" else []
        section.tables += [
            set_table(base, "metrics"), set_table(base, "p1"), measure_table(base), test_table(base, "metrics"),
            test_table(base, "p1"), parts_table(base), seconds_table(base),
        ]  # fmt: skip
    if any(results.study is not BASE for results in found):
        section.tables.append(regime_table(found))
    if reviews:
        section.paragraphs.append(texts["review"])
        section.claims += review_claims(reviews) if size == "full" else []
        section.tables += review_tables(reviews)
    section.tables = [table for table in section.tables if table.rows]
    return section


def _settings(results: Results) -> dict[str, Any]:
    settings = {name: getattr(results.study, name) for name in ("name", "flip", "labeled", "dropped")}
    return {**settings, "datasets": results.datasets, "methods": results.methods, "seeds": results.n_seeds}


def _known(results: Results, part: str) -> list[int]:
    """Methods that have values of a part (the regressions have no embedding)."""
    return [j for j in range(len(results.methods)) if not np.isnan(results.parts[part][:, j]).all()]


def set_table(results: Results, part: str) -> ResultTable:
    """Data sets by methods, with the means below."""
    chosen = _known(results, part)
    name = f"beyond-{'end-to-end' if part == 'metrics' else 'p1'}"
    header = ["Data set", *(results.methods[j] for j in chosen)]
    values = {"part": PARTS[part], "regime": results.study.title, "n_seeds": results.n_seeds}
    table = titled(name, header, "beyond-set", **values)
    if chosen:
        by_seed = results.percent(part)[:, chosen]
        means = mean(by_seed)
        for dataset, row, spread in zip(results.datasets, means, std(by_seed), strict=True):
            table.add(dataset, best_in_bold(row, 2, ["" if np.isnan(s) else f"±{number(s, 2)}" for s in spread]))
        table.rule_before.add(len(table.rows))
        table.add("mean", best_in_bold(means.mean(axis=0), 2))
    return table


def measure_table(results: Results) -> ResultTable:
    """Methods by measures, end to end, over the data sets."""
    values: dict[str, Any] = {"n_datasets": len(results.datasets), "regime": results.study.title}
    table = titled("beyond-measures", ["Method", *METRICS], **values)
    table.add_columns(results.methods, (best_in_bold(column, 2) for column in (100.0 * results.mean.mean(axis=0)).T))
    return table


def parts_table(results: Results) -> ResultTable:
    """The article's pipeline beside its own parts, by the two F1: what its trust of .6 and its classifier are worth."""
    some = results.of([ARTICLE, f"{ARTICLE}*", f"{ARTICLE}-MLkNN"])
    measures = ("MaF1", "MiF1")
    header = ["Data set", *(f"{measure} {name}" for measure in measures for name in some.methods)]
    table = titled("beyond-parts", header, regime=results.study.title)
    if ARTICLE not in some.methods or len(some.methods) == 1:
        return table
    columns = [100.0 * some.mean[:, :, METRICS.index(measure)] for measure in measures]  # (n_datasets, n_methods)
    for i, dataset in enumerate(results.datasets):
        table.add(dataset, [entry for values in columns for entry in best_in_bold(values[i], 2)])
    table.rule_before.add(len(table.rows))
    wins = []
    for values in columns:
        gaps = values[:, 1:] - values[:, :1]
        wins += ["-", *(won(gap) for gap in gaps.T)]
    table.add(f"better than {ARTICLE}", wins)
    return table


def test_table(results: Results, part: str) -> ResultTable:
    """Residual against every other method over the data sets."""
    name = f"beyond-tests-{'end-to-end' if part == 'metrics' else 'p1'}"
    header = ["Against", "gain", "std over sets", "wins", "losses", "p", "p, Holm"]
    n = len(results.datasets)
    values = {"part": PARTS[part], "regime": results.study.title, "n_datasets": n, "least": 2.0 ** (1 - n)}
    table = titled(name, header, "beyond-tests", **values)
    if OURS not in results.methods:
        return table
    gaps = {}
    for j in _known(results, part):
        gap = results.gaps(OURS, results.methods[j], part)
        if results.methods[j] != OURS and not np.isnan(gap).all():
            gaps[results.methods[j]] = gap[~np.isnan(gap)]
    p_values = [float(signed_rank_p_values(gap, alternative="two-sided")) for gap in gaps.values()]
    for (name, gap), p, corrected in zip(gaps.items(), p_values, holm(p_values), strict=True):
        spread = float(gap.std(ddof=1)) if gap.size > 1 else np.nan
        counts = [str(int((gap > 0).sum())), str(int((gap < 0).sum()))]
        last = Entry(f"{corrected:.3g}", bold=bool(corrected < LEVEL))
        table.add(name, [number(float(gap.mean()), 2, sign=True), number(spread, 2), *counts, f"{p:.3g}", last])
    return table


def seconds_table(results: Results) -> ResultTable:
    """Seconds to fit and to predict the test rows."""
    table = titled("beyond-seconds", ["Data set", *results.methods], regime=results.study.title)
    for dataset, row in zip(results.datasets, mean(results.seconds), strict=True):
        table.add(dataset, [number(value, 2) for value in row.tolist()])
    return table


def regime_table(found: list[Results]) -> ResultTable:
    """Regimes by methods, end to end, over the smaller sets alone."""
    methods = [name for name in BEYOND_METHODS if any(name in results.methods for results in found)]
    smaller = {name for results in found if results.study is not BASE for name in results.datasets}
    sets = ", ".join(name for name in REGIMES["beyond-flips-0"].datasets if name in smaller)
    table = titled("beyond-regimes", ["Regime", *methods], sets=sets, base=BASE.title)
    for results in found:
        rows = [i for i, name in enumerate(results.datasets) if name in smaller]
        if rows:
            means = mean(results.percent()[rows]).mean(axis=0)
            table.add(results.study.title, beside_ours(results, methods, means, rows=rows))
    return table


def losses(base: Results) -> list[str]:
    """Where the method is behind, and where logistic regression stands."""
    if OURS not in base.methods:
        return []
    said = []
    for part, title in PARTS.items():
        behind = []
        for name in base.methods:
            sets = [set_ for set_, gap in zip(base.datasets, base.gaps(OURS, name, part), strict=True) if gap < 0]
            if sets and not name.startswith(OURS):
                behind.append(f"{name} on {', '.join(sets)}")
        said.append(f"Where {OURS} loses, {title} ({base.study.title}): {'; '.join(behind) or 'to none here'}.")
    if RIVAL in base.methods:
        means = dict(zip(base.methods, mean(base.percent()).mean(axis=0), strict=True))
        known = [name for name in (RIVAL, "Logistic-CV", OURS, ARTICLE) if not np.isnan(means.get(name, np.nan))]
        text = (
            "Logistic regression, the plainest rival, stands where it stands; means over the sets: "
            f"{', '.join(f'{name} {number(means[name], 2)}' for name in known)} percent."
        )
        if ARTICLE in base.methods:
            text += f" It beats the article's pipeline on {won(base.gaps(RIVAL, ARTICLE))} sets."
        said.append(text)
    return said


def claims(base: Results) -> Claims:
    """What the method was to reach over the article's pipeline; open below ten sets and five seeds."""
    if not {OURS, ARTICLE} <= set(base.methods):
        return []
    gap = base.gaps(OURS, ARTICLE)
    gap = gap[~np.isnan(gap)]
    if gap.size == 0:
        return []
    decided = gap.size == len(BASE.datasets) and base.n_seeds >= SEEDS
    gain, wins = float(gap.mean()), int((gap > 0).sum())
    said = f"end to end at least {GAIN:g} points over {ARTICLE} with the semi-supervised ML-kNN: "
    found = [
        (f"{said}{number(gain, 2, sign=True)} on {gap.size} sets", gain >= GAIN),
        (f"better on at least 9 of 10 sets: {won(gap)}", wins >= SHARE_OF_SETS * gap.size),
    ]
    return [(text, holds if decided else None) for text, holds in found]


def cells_table(found: list[Results]) -> ResultTable:
    """Every cell, one measure a row: mean, standard deviation, seeds."""
    header = ["regime", "data set", "method", "part", "measure", "mean", "std", "seeds"]
    table = ResultTable("beyond-cells", "", header)
    for results in found:
        for part, title in PARTS.items():
            values = results.parts[part]
            means, spread = mean(values), std(values)
            for i, j, m in np.ndindex(means.shape):
                seeds = int((~np.isnan(values[i, j, m])).sum())
                if seeds:
                    place = [results.datasets[i], results.methods[j], title, METRICS[m]]
                    numbers = [number(float(means[i, j, m]), 6), number(float(spread[i, j, m]), 6), str(seeds)]
                    table.add(results.study.title, [*place, *numbers])
    return table
