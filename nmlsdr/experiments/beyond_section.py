"""Tables, claims and words of the study of what came after the article."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .beyond import BASE, BEYOND_METHODS, OURS, REGIMES, Regime
from .beyond_review import NAMES as REVIEWER_NAMES
from .beyond_review import ReviewResults, review_claims, review_tables
from .protocol import METRICS
from .results import cells_of, mean_gaps, numbers, over_seeds
from .section import Section
from .statistics import LEVEL, holm, signed_rank_p_value
from .store import CellKey
from .tables import Entry, Table, number

__all__ = ["RegimeResults", "beyond_section", "collect_regime"]

Floats = NDArray[np.float64]
PARTS = {"metrics": "end to end", "p1": "P1"}
ARTICLE, RIVAL = "NMLSDR", "Logistic"
GAIN, SHARE_OF_SETS, SEEDS = 4.0, 0.9, 5  # what the method was to reach on the ten sets

NAMES = (
    "Residual: ResidualPropagation; Residual-prior: the same with decision='prior', of which only HL' and the two F1 "
    "differ (no P1 of its own). NMLSDR, NMLSDR*: the article's, with the semi-supervised ML-kNN; NMLSDR* keeps the "
    "given labels (alpha_labeled = 0) in both; NMLSDR-MLkNN: NMLSDR's embedding with ML-kNN on the labelled rows. "
    "MDDMp, PCA-50, MLkNN (the standardised rows) and MLkNN-cosine (these, of length 1): with ML-kNN on the labelled "
    "rows. Logistic: one regression for each label, C = .01; Logistic-prior: the same with the cut-offs of "
    "Residual-prior, from its own probabilities of the training rows, those of labelled rows out of fold; Logistic-CV: "
    "one C for all labels by five-fold cross-validation; Ridge: its strength by leave-one-out. All but the two with "
    "prior cut-offs predict a label where its score reaches 1/2."
)


@dataclass(frozen=True)
class RegimeResults:
    """The results of one regime.

    Attributes
    ----------
    regime : Regime
    datasets, methods, seeds : tuple
        Those with at least one record.
    values : dict of str to ndarray (n_datasets, n_methods, n_metrics, n_seeds)
        By "metrics" (end to end) and "p1"; NaN where there is no result.
    seconds : ndarray (n_datasets, n_methods, n_seeds)
    failures : list of str
    """

    regime: Regime
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    values: dict[str, Floats]
    seconds: Floats
    failures: list[str]

    def means7(self, part: str = "metrics") -> Floats:
        """The mean of the seven measures, in percent (n_datasets, n_methods, n_seeds)."""
        means: Floats = 100.0 * self.values[part].mean(axis=2)
        return means

    def gaps(self, first: str, second: str, part: str = "metrics") -> Floats:
        """By data set the mean of first minus second over the seeds that have both; NaN where none has."""
        return mean_gaps(self.means7(part), self.methods, first, second)


def collect_regime(regime: Regime, records: dict[CellKey, dict[str, Any]]) -> RegimeResults | None:
    """Arrange the records of a regime, sets and methods in their order; None if there are none."""
    cells = cells_of(regime.name, records, regime.datasets, tuple(BEYOND_METHODS), f"{regime.title}: ")
    if cells is None:
        return None
    datasets, methods, seeds = cells.datasets, cells.methods, cells.seeds
    values = {part: np.full((len(datasets), len(methods), len(METRICS), len(seeds)), np.nan) for part in PARTS}
    seconds = np.full((len(datasets), len(methods), len(seeds)), np.nan)
    for i, j, k, record in cells.finished:
        seconds[i, j, k] = sum(record["times"].values())
        for part in PARTS:
            values[part][i, j, :, k] = numbers(map((record[part] or {}).get, METRICS))
    return RegimeResults(regime, datasets, methods, seeds, values, seconds, cells.failures)


def beyond_section(found: list[RegimeResults], reviews: list[ReviewResults], *, size: str) -> Section:
    """Tables and claims of the regimes that have records, of predictions and of reviews."""
    everything: list[RegimeResults | ReviewResults] = [*found, *reviews]
    base = next((results for results in found if results.regime is BASE), None)
    section = Section(
        "beyond",
        "Beyond the article: shrunken features, a trend and propagated residuals",
        raw=_cells_csv(found),
        failures=[text for results in everything for text in results.failures],
        settings={"regimes": [_settings(results) for results in everything]},
    )
    section.paragraphs += [
        "ResidualPropagation was designed on these ten data sets, chosen among many variants: that it leads here is in "
        "part built in, and only other data can say how much it gains.",
        "End to end: each method predicts the test rows from the noisy labels of the labelled training rows alone. P1: "
        "ML-kNN on its embedding (as many components as labels) with the true labels of all training rows, which "
        "rewards any decent metric. Numbers are means of the seven measures in percent; noise and mask of the base "
        "regime are those of the benchmarks.",
        NAMES,
    ]
    if size != "full":
        section.paragraphs.append("A reduced run that shows that everything works: its numbers mean nothing.")
    if base is not None:
        section.paragraphs += losses(base)
        section.claims = claims(base) if size == "full" else []
        section.tables += [
            set_table(base, "metrics"), set_table(base, "p1"), measure_table(base), test_table(base, "metrics"),
            test_table(base, "p1"), parts_table(base), seconds_table(base),
        ]  # fmt: skip
    if any(results.regime is not BASE for results in found):
        section.tables.append(regime_table(found))
    if reviews:
        section.paragraphs.append(REVIEWER_NAMES)
        section.claims += review_claims(reviews) if size == "full" else []
        section.tables += review_tables(reviews)
    section.tables = [table for table in section.tables if table.rows]
    return section


def _settings(results: RegimeResults | ReviewResults) -> dict[str, Any]:
    regime = results.regime
    return {"name": regime.name, "flip": regime.flip, "labeled": regime.labeled, "dropped": regime.dropped,
            "datasets": results.datasets, "methods": results.methods, "seeds": len(results.seeds)}  # fmt: skip


def _known(results: RegimeResults, part: str) -> list[int]:
    """Methods that have values of a part (the regressions have no embedding)."""
    return [j for j in range(len(results.methods)) if not np.isnan(results.values[part][:, j]).all()]


def _percent(values: Floats) -> list[Entry]:
    """Entries in percent, the best bold."""
    known = values[~np.isnan(values)]
    best = round(float(known.max()), 2) if known.size else np.nan
    return [Entry(number(v, 2), bold=bool(round(float(v), 2) == best)) for v in values]


def set_table(results: RegimeResults, part: str) -> Table:
    """Data sets by methods, with the means below."""
    chosen = _known(results, part)
    table = Table(
        f"beyond-{'end-to-end' if part == 'metrics' else 'p1'}",
        f"Mean of the seven measures in percent, {PARTS[part]}, {results.regime.title}.",
        ["Data set", *(results.methods[j] for j in chosen)],
        note=f"Means over {len(results.seeds)} seeds; small: standard deviation; best in bold. Logistic-CV has one "
        "seed outside the six smaller sets.",
    )
    by_seed = results.means7(part)[:, chosen]
    mean, std = over_seeds(by_seed, 1, lambda v: v.mean()), over_seeds(by_seed, 2, lambda v: v.std(ddof=1))
    for i, dataset in enumerate(results.datasets if chosen else ()):
        entries = [
            Entry(e.text, "" if np.isnan(s) else f"±{number(s, 2)}", e.bold)
            for e, s in zip(_percent(mean[i]), std[i], strict=True)
        ]
        table.rows.append((dataset, entries))
    if table.rows:
        table.rule_before.add(len(table.rows))
        table.rows.append(("mean", _percent(mean.mean(axis=0))))
    return table


def measure_table(results: RegimeResults) -> Table:
    """Methods by measures, end to end, over the data sets."""
    table = Table(
        "beyond-measures",
        f"The seven measures end to end in percent, means over {len(results.datasets)} data sets, "
        f"{results.regime.title}.",
        ["Method", *METRICS],
        note="Best in bold.",
    )
    means = 100.0 * over_seeds(results.values["metrics"], 1, lambda v: v.mean()).mean(axis=0)
    columns = [_percent(means[:, m]) for m in range(len(METRICS))]
    for j, method in enumerate(results.methods):
        table.rows.append((method, [column[j] for column in columns]))
    return table


def parts_table(results: RegimeResults) -> Table:
    """The article's pipeline beside its own parts, by the two F1: what its trust of .6 and its classifier are worth."""
    methods = [name for name in (ARTICLE, f"{ARTICLE}*", f"{ARTICLE}-MLkNN") if name in results.methods]
    measures = ("MaF1", "MiF1")
    table = Table(
        "beyond-parts",
        f"The article's pipeline and its own parts: both F1 in percent, end to end, {results.regime.title}.",
        ["Data set", *(f"{measure} {name}" for measure in measures for name in methods)],
        note=f"Means over the seeds; the best of each measure in bold. {ARTICLE}* keeps the given labels, "
        f"{ARTICLE}-MLkNN classifies from the labelled rows alone. Last row: data sets on which it is better than "
        f"{ARTICLE}.",
    )
    if ARTICLE not in methods or len(methods) == 1:
        return table
    mean = 100.0 * over_seeds(results.values["metrics"], 1, lambda v: v.mean())
    columns = [[mean[:, results.methods.index(name), METRICS.index(measure)] for name in methods]
               for measure in measures]  # fmt: skip
    for i, dataset in enumerate(results.datasets):
        entries = [entry for found in columns for entry in _percent(np.array([column[i] for column in found]))]
        table.rows.append((dataset, entries))
    table.rule_before.add(len(table.rows))
    wins = []
    for found in columns:
        for column in found:
            both = ~np.isnan(column) & ~np.isnan(found[0])
            better = f"{int((column > found[0])[both].sum())} of {int(both.sum())}"
            wins.append(Entry("-" if column is found[0] else better))
    table.rows.append((f"better than {ARTICLE}", wins))
    return table


def two_sided(gaps: Floats) -> float:
    """Two-sided exact p-value of the signed-rank test."""
    return min(1.0, 2.0 * min(signed_rank_p_value(gaps), signed_rank_p_value(-gaps)))


def test_table(results: RegimeResults, part: str) -> Table:
    """Residual against every other method over the data sets."""
    table = Table(
        f"beyond-tests-{'end-to-end' if part == 'metrics' else 'p1'}",
        f"{OURS} against each of the others over the data sets, {PARTS[part]}, {results.regime.title}.",
        ["Against", "gain", "std over sets", "wins", "losses", "p", "p, Holm"],
        note="gain: points of the mean of the seven measures, on the seeds that both have; p: two-sided exact "
        "signed-rank test over the sets' means, then Holm's correction over the rows of this table. "
        f"From {len(results.datasets)} sets p is at least {2.0 ** (1 - len(results.datasets)):.2g}.",
    )
    if OURS not in results.methods:
        return table
    gaps = {
        results.methods[j]: gap[~np.isnan(gap)]
        for j in _known(results, part)
        if results.methods[j] != OURS
        for gap in [results.gaps(OURS, results.methods[j], part)]
    }
    gaps = {name: gap for name, gap in gaps.items() if gap.size}
    p_values = np.array([two_sided(gap) for gap in gaps.values()])
    for (name, gap), p, corrected in zip(gaps.items(), p_values, holm(p_values) if gaps else (), strict=True):
        spread = float(gap.std(ddof=1)) if gap.size > 1 else np.nan
        entries = [
            Entry(number(float(gap.mean()), 2, sign=True)), Entry(number(spread, 2)),
            Entry(str(int((gap > 0).sum()))), Entry(str(int((gap < 0).sum()))),
            Entry(f"{p:.3g}"), Entry(f"{corrected:.3g}", bold=bool(corrected < LEVEL)),
        ]  # fmt: skip
        table.rows.append((name, entries))
    return table


def seconds_table(results: RegimeResults) -> Table:
    """Seconds to fit and to predict the test rows."""
    table = Table(
        "beyond-seconds",
        f"Seconds to fit and to predict the test rows end to end, one thread, {results.regime.title}.",
        ["Data set", *results.methods],
        note="Means over the seeds; neighbour graphs and cross-validation included. Wall time, so other work on the "
        "machine counts.",
    )
    for dataset, row in zip(results.datasets, over_seeds(results.seconds, 1, lambda v: v.mean()), strict=True):
        table.rows.append((dataset, [Entry(number(value, 2)) for value in row.tolist()]))
    return table


def regime_table(found: list[RegimeResults]) -> Table:
    """Regimes by methods, end to end, over the smaller sets alone."""
    methods = [name for name in BEYOND_METHODS if any(name in results.methods for results in found)]
    table = Table("beyond-regimes", "", ["Regime", *methods])
    smaller = {name for results in found if results.regime is not BASE for name in results.datasets}
    for results in found:
        rows = [i for i, name in enumerate(results.datasets) if name in smaller]
        if not rows:
            continue
        mean = over_seeds(results.means7()[rows], 1, lambda v: v.mean()).mean(axis=0)
        shown = {name: mean[j] for j, name in enumerate(results.methods)}
        entries = _percent(np.array([shown.get(name, np.nan) for name in methods]))
        for place, name in enumerate(methods):
            if name in results.methods and OURS in results.methods and name != OURS:
                gap = results.gaps(OURS, name)[rows]
                beside = f"{int((gap > 0).sum())} of {int((~np.isnan(gap)).sum())}"
                entries[place] = Entry(entries[place].text, beside, entries[place].bold)
        table.rows.append((results.regime.title, entries))
    sets = [name for name in REGIMES["beyond-flips-0"].datasets if name in smaller]
    table.title = f"Regimes, end to end: mean of the seven measures in percent over {', '.join(sets)}."
    table.note = (
        f"Otherwise {BASE.title}, but no flips where positives are dropped. Small: sets on which {OURS} is better. "
        "Best in bold."
    )
    return table


def losses(base: RegimeResults) -> list[str]:
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
        said.append(f"Where {OURS} loses, {title} ({base.regime.title}): {'; '.join(behind) or 'to none here'}.")
    if RIVAL in base.methods:
        both = over_seeds(base.means7(), 1, lambda v: v.mean()).mean(axis=0)
        parts = [f"{name} {number(both[base.methods.index(name)], 2)}"
                 for name in (RIVAL, "Logistic-CV", OURS, ARTICLE)
                 if name in base.methods and not np.isnan(both[base.methods.index(name)])]  # fmt: skip
        text = (
            "Logistic regression, the plainest rival, stands where it stands; means over the sets: "
            f"{', '.join(parts)} percent."
        )
        if ARTICLE in base.methods:
            gap = base.gaps(RIVAL, ARTICLE)
            text += f" It beats the article's pipeline on {int((gap > 0).sum())} of {int((~np.isnan(gap)).sum())} sets."
        said.append(text)
    return said


def claims(base: RegimeResults) -> list[tuple[str, bool | None]]:
    """What the method was to reach over the article's pipeline; open below ten sets and five seeds."""
    if not {OURS, ARTICLE} <= set(base.methods):
        return []
    gap = base.gaps(OURS, ARTICLE)
    gap = gap[~np.isnan(gap)]
    if gap.size == 0:
        return []
    decided = gap.size == len(BASE.datasets) and len(base.seeds) >= SEEDS
    gain, wins = float(gap.mean()), int((gap > 0).sum())
    said = f"end to end at least {GAIN:g} points over {ARTICLE} with the semi-supervised ML-kNN: "
    enough = wins >= SHARE_OF_SETS * gap.size
    return [
        (f"{said}{number(gain, 2, sign=True)} on {gap.size} sets", gain >= GAIN if decided else None),
        (f"better on at least 9 of 10 sets: {wins} of {gap.size}", enough if decided else None),
    ]


def _cells_csv(found: list[RegimeResults]) -> str:
    """Every cell, one measure a line: mean, standard deviation, seeds."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["regime", "data set", "method", "part", "measure", "mean", "std", "seeds"])
    for results in found:
        for part, title in PARTS.items():
            values = results.values[part]
            mean, std = over_seeds(values, 1, lambda v: v.mean()), over_seeds(values, 2, lambda v: v.std(ddof=1))
            for i, j, m in np.ndindex(mean.shape):
                seeds = int((~np.isnan(values[i, j, m])).sum())
                if seeds:
                    place = [results.regime.title, results.datasets[i], results.methods[j], title, METRICS[m]]
                    writer.writerow([*place, number(float(mean[i, j, m]), 6), number(float(std[i, j, m]), 6), seeds])
    return out.getvalue()
