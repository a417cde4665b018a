"""Tables and claims of the study of what came after the article: predictions by regime, and reviews of labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .beyond import BASE, BEYOND_METHODS, CHANCE, OURS, REGIMES, REVIEWERS, REVIEWS, SIX_SETS
from .protocol import METRICS
from .results import Results, begin_section, mean, std
from .statistics import LEVEL, holm, signed_rank_p_values
from .tables import Claims, Entry, ResultTable, Section, best_in_bold, number, resource, titled

Floats = NDArray[np.float64]
PARTS = {"metrics": "end to end", "p1": "P1"}
ARTICLE, RIVAL, BEFORE = "NMLSDR", "Logistic", "Propagation"
PROMISED = dict(zip(REVIEWS, ("both", "missing"), strict=True))  # the list of each noise that was to gain
# What the method was to gain in points: over the article's pipeline on the ten sets, and in reviews on the six.
GAIN, SHARE_OF_SETS, REVIEW_GAIN, SEEDS = 4.0, 0.9, 2.0, 5


def beyond_section(found: list[Results], *, size: str) -> Section:
    """Tables and claims of the regimes and reviews that have records."""
    regimes = [results for results in found if results.study.name in REGIMES]
    reviews = [with_chance(results) for results in found if results.study.name in REVIEWS]
    section = begin_section("beyond", found)
    texts = resource("texts.json")["sections"]["beyond"]
    if size != "full":
        section.paragraphs.append(texts["small"])
    for base in regimes:
        if base.study is BASE:
            section.paragraphs += losses(base)
            section.claims += claims(base)
            section.tables += [
                set_table(base, "metrics"), set_table(base, "p1"), measure_table(base), test_table(base, "metrics"),
                test_table(base, "p1"), parts_table(base), seconds_table(base),
            ]  # fmt: skip
    if any(results.study is not BASE for results in regimes):
        section.tables.append(regime_table(regimes))
    if reviews:
        section.paragraphs.append(texts["review"])
        section.claims += review_claims(reviews)
        section.tables += review_tables(reviews)
    section.claims = section.claims if size == "full" else []
    section.tables = [table for table in section.tables if table.rows]
    return section


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
    n_datasets, regime = len(results.datasets), results.study.title
    table = titled("beyond-measures", ["Method", *METRICS], n_datasets=n_datasets, regime=regime)
    table.add_columns(results.methods, (best_in_bold(column, 2) for column in (100.0 * results.mean.mean(axis=0)).T))
    return table


def parts_table(results: Results) -> ResultTable:
    """The two F1 of the article's pipeline and of its parts: without correcting labels, with the plain classifier."""
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
    wins = [["-", *(won(gap) for gap in (values[:, 1:] - values[:, :1]).T)] for values in columns]
    table.add(f"better than {ARTICLE}", [text for texts in wins for text in texts])
    return table


def test_table(results: Results, part: str) -> ResultTable:
    """Residual against every other method over the data sets."""
    name = f"beyond-tests-{'end-to-end' if part == 'metrics' else 'p1'}"
    header = ["Against", "gain", "std over sets", "wins", "losses", "p", "p, Holm"]
    n = len(results.datasets)
    values = {"part": PARTS[part], "regime": results.study.title, "n_datasets": n, "least": 2.0 ** (1 - n)}
    table = titled(name, header, "beyond-tests", **values)
    rivals = [name for name in results.methods if name != OURS]
    gaps = {name: gap for name in rivals if (gap := known_gaps(results, name, part=part)).size}
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
    """Sentences on the data sets where a rival beats the method, and on logistic regression."""
    if OURS not in base.methods:
        return []
    found = []
    for part, title in PARTS.items():
        behind = []
        for name in base.methods:
            sets = [set_ for set_, gap in zip(base.datasets, base.gaps(OURS, name, part), strict=True) if gap < 0]
            if sets and not name.startswith(OURS):
                behind.append(f"{name} on {', '.join(sets)}")
        found.append(f"Where {OURS} loses, {title} ({base.study.title}): {'; '.join(behind) or 'to none here'}.")
    if RIVAL in base.methods:
        means = dict(zip(base.methods, mean(base.percent()).mean(axis=0), strict=True))
        known = [name for name in (RIVAL, "Logistic-CV", OURS, ARTICLE) if not np.isnan(means.get(name, np.nan))]
        text = (
            "Means over the sets of logistic regression, the simplest rival, and of others: "
            f"{', '.join(f'{name} {number(means[name], 2)}' for name in known)} percent."
        )
        if ARTICLE in base.methods:
            text += f" It beats the article's pipeline on {won(base.gaps(RIVAL, ARTICLE))} sets."
        found.append(text)
    return found


def claims(base: Results) -> Claims:
    """What the method was to reach over the article's pipeline; open below ten sets and five seeds."""
    gap = known_gaps(base, ARTICLE)
    if gap.size == 0:
        return []
    decided = gap.size == len(BASE.datasets) and base.n_seeds >= SEEDS
    gain, wins = float(gap.mean()), int((gap > 0).sum())
    text = f"end to end at least {GAIN:g} points over {ARTICLE} with the semi-supervised ML-kNN: "
    found = [
        (f"{text}{number(gain, 2, sign=True)} on {gap.size} sets", gain >= GAIN),
        (f"better on at least 9 of 10 sets: {won(gap)}", wins >= SHARE_OF_SETS * gap.size),
    ]
    return [(text, holds if decided else None) for text, holds in found]


def known_gaps(results: Results, rival: str, **which: Any) -> Floats:
    """What ours gains over a rival on each data set, as `Results.gaps`, without the sets where that is unknown."""
    if not {OURS, rival} <= set(results.methods):
        return np.empty(0)
    gaps = results.gaps(OURS, rival, **which)
    return gaps[~np.isnan(gaps)]


def won(gaps: Floats) -> str:
    """How many of the known differences are positive."""
    return f"{int((gaps > 0).sum())} of {int((~np.isnan(gaps)).sum())}"


def beside_ours(
    results: Results, methods: list[str], means: Floats, *, measure: int | None = None, rows: Any = slice(None)
) -> list[Entry]:
    """Means of `methods`, and beside each rival on how many of the data sets `rows` ours is better."""
    shown = dict(zip(results.methods, means, strict=True))
    rivals = {name for name in results.methods if name != OURS} if OURS in results.methods else ()
    beside = [won(results.gaps(OURS, name, measure=measure)[rows]) if name in rivals else "" for name in methods]
    return best_in_bold(np.array([shown.get(name, np.nan) for name in methods]), 2 if measure is None else 1, beside)


# ---------------------------------------------------------------- reviews


def with_chance(results: Results) -> Results:
    """The same with chance as the last method."""
    chance = np.fmax.reduce(results.parts[CHANCE], axis=1, keepdims=True)  # the same in the cells of every method
    values = np.concatenate([results.values, chance], axis=1)
    return replace(results, methods=(*results.methods, CHANCE), parts={"metrics": values})


def review_tables(found: list[Results]) -> list[ResultTable]:
    """The means of every noise and kind, and by data set the lists that were promised to gain."""
    methods = [*(name for name in REVIEWERS if any(name in results.methods for results in found)), CHANCE]
    summary = titled("beyond-review", ["Noise, list", *methods])
    by_set = []
    for results in found:
        title = results.study.title
        for m, kind in enumerate(results.study.measures):
            means = mean(results.percent(measure=m))
            if np.isnan(means).all():
                continue  # no label of the kind is wrong
            summary.add(f"{title}, {kind}", beside_ours(results, methods, means.mean(axis=0), measure=m))
            if kind == PROMISED[results.study.name]:
                values = {"noise": title, "kind": kind, "n_seeds": results.n_seeds}
                header = ["Data set", *results.methods]
                table = titled(results.study.name, header, "beyond-review-set", **values)
                for name, row in zip(results.datasets, means, strict=True):
                    table.add(name, best_in_bold(row, 1))
                by_set.append(table)
    return [summary, *by_set]


def review_claims(found: list[Results]) -> Claims:
    """What the score was to gain over the earlier one; open below six sets and five seeds."""
    claims: Claims = []
    for results in found:
        kind = PROMISED[results.study.name]
        gap = known_gaps(results, BEFORE, measure=results.study.measures.index(kind))
        if gap.size:
            gain = float(gap.mean())
            decided = gap.size == len(SIX_SETS) and results.n_seeds >= SEEDS
            text = (
                f"review, {results.study.title}, {kind}: at least {REVIEW_GAIN:g} points of average precision over "
                f"{BEFORE}: {number(gain, 2, sign=True)} on {gap.size} sets"
            )
            claims.append((text, gain >= REVIEW_GAIN if decided else None))
    return claims
