"""The seven benchmark tables, the Wilcoxon rows and figure, and what the article lacks (section 4.5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .figures import bars, critical_differences, difference_maps
from .protocol import METRICS, TEN_METHODS
from .results import Results, article
from .section import Section
from .statistics import LEVEL, best_counts, friedman_nemenyi, signed_rank_p_value, wilcoxon_scores
from .summary import agreement, difference_table, differences, general_notes, long_csv, slug
from .tables import Entry, Table, number

__all__ = ["benchmarks_section"]

NEAR, FAR = 0.02, 0.05
SHARE_NEAR = 0.85
TITLES = {
    "HL'": "1 - Hamming loss", "RL'": "1 - ranking loss", "AP": "Average precision", "OE'": "1 - one-error",
    "Cov'": "1 - normalised coverage", "MaF1": "Macro F1", "MiF1": "Micro F1",
}  # fmt: skip
TESTS = (("Wilcoxon", "one-sided"), ("two-sided", "two-sided"), ("Holm", "holm"))


def benchmarks_section(results: Results, *, size: str) -> Section:
    """Tables, figures and claims of the benchmark study."""
    ten = results.of(TEN_METHODS)
    section = Section(
        "benchmarks",
        f"Benchmarks: {len(results.datasets)} data sets, {len(results.methods)} methods",
        raw=long_csv(results),
        failures=results.failures,
    )
    section.paragraphs.append(
        f"Means over {results.n_seeds} seeds: each flips 10 % of the label entries and keeps the labels of 30 % of the "
        "training rows; the method is fitted on these, then ML-kNN with the true labels of all training rows, in C "
        "components (C - 1 for the LDA family). The Toy set is drawn anew for each seed. Cov' is 1 - Cov / C and a "
        "row without labels counts -1, as in the printed tables."
    )
    if size == "full":
        section.paragraphs += general_notes("benchmarks", results.datasets)
    else:
        section.paragraphs.append("A reduced run: these numbers do not belong beside the article's.")
    section.tables += [metric_table(ten, m) for m in range(len(METRICS))]
    complete = _complete(ten)
    if complete is not None:
        section.tables.append(wilcoxon_table(complete))
        section.tables.append(rank_table(complete))
        scores = mean_scores(complete)
        printed = [article()["mean_wilcoxon"][method] for method in complete.methods]
        if len(complete.methods) == len(TEN_METHODS):
            figure = bars(complete.methods, scores, printed, label="mean Wilcoxon score over the seven measures")
            section.figures["mean-wilcoxon"] = (figure, "Mean Wilcoxon score over the seven measures.")
        section.figures["critical-differences"] = (
            _diagram(complete),
            "Average ranks over the data sets by measure; at 5 % Nemenyi's test does not tell methods under one "
            "bar apart.",
        )
    starred = starred_table(results)
    if starred.rows:
        section.tables.append(starred)
    if size == "full":
        section.claims = claims(ten, complete)
        section.tables.append(agreement(ten, "benchmarks-agreement", (0.01, NEAR, FAR)))
        section.tables.append(difference_table(ten, "benchmarks-differences", FAR))
        section.figures["differences"] = (
            difference_maps(
                [(metric, ten.difference[:, :, m]) for m, metric in enumerate(METRICS)], ten.datasets, ten.methods
            ),
            "Ours minus the article's; figures, in thousandths, where it is more than .02.",
        )
    return section


def _complete(results: Results) -> Results | None:
    """The results if every cell has one and comparisons are possible, else None."""
    if np.isnan(results.mean).any() or len(results.methods) < 2 or len(results.datasets) < 2:
        return None
    return results


def metric_table(results: Results, m: int) -> Table:
    """One of the seven tables: data sets by methods."""
    metric = METRICS[m]
    table = Table(
        f"benchmarks-{slug(metric)}",
        f"{TITLES[metric]} ({metric}).",
        ["Data set", *results.methods],
        note="Mean; small: standard deviation and, after the bar, the article's value; best in bold.",
    )
    mean, std, gap = np.round(results.mean[:, :, m], 3), results.std[:, :, m], results.difference[:, :, m]
    for i, dataset in enumerate(results.datasets):
        entries = []
        for j in range(len(results.methods)):
            parts = ["" if np.isnan(std[i, j]) else f"±{number(std[i, j])}", number(results.printed[i, j, m])]
            best = mean[i, j] == np.nanmax(mean[i]) if not np.isnan(mean[i]).all() else False
            entries.append(Entry(number(mean[i, j]), "|".join(filter(None, parts)), bool(best), gap[i, j]))
        table.rows.append((dataset, entries))
    if np.isnan(mean).any() or len(results.datasets) < 2 or len(results.methods) < 2:
        return table
    table.rule_before.add(len(table.rows))
    rows = article()["benchmark_rows"]
    whole = len(results.datasets) == 10 and len(results.methods) == len(TEN_METHODS)
    counts = best_counts(mean)
    printed = [f"{rows['# Best values'][name][m]:.0f}" if whole else "" for name in results.methods]
    table.rows.append(("# best", [Entry(str(c), p, c == counts.max()) for c, p in zip(counts, printed, strict=True)]))
    for title, test in TESTS:
        scores = wilcoxon_scores(mean, test=test)
        printed = [
            f"{rows['Wilcoxon'][name][m]:.1f}" if whole and test == "one-sided" else "" for name in results.methods
        ]
        table.rows.append(
            (title, [Entry(f"{s:.1f}", p, s == scores.max()) for s, p in zip(scores, printed, strict=True)])
        )
    return table


def mean_scores(results: Results, test: str = "one-sided") -> NDArray[np.float64]:
    """Wilcoxon scores on the three-decimal means, averaged over the seven measures."""
    rounded = np.round(results.mean, 3)
    scores: NDArray[np.float64] = np.mean(
        [wilcoxon_scores(rounded[:, :, m], test=test) for m in range(len(METRICS))], axis=0
    )
    return scores


def wilcoxon_table(results: Results) -> Table:
    """Wilcoxon scores by method and measure, with the means of the figure."""
    table = Table(
        "benchmarks-wilcoxon",
        "Wilcoxon scores: 1 for each method beaten at 5 %, .5 for each not told apart.",
        ["Method", *METRICS, "mean", "mean, two-sided", "mean, Holm"],
        note="One-sided as in the article (its values small); beside it two-sided, and two-sided with Holm's "
        "correction over all pairs: with ten data sets the smallest two-sided p-value is 2 / 1024, and 45 times that "
        "is above .05, so that no pair of ten methods can differ.",
    )
    by_metric = np.array([wilcoxon_scores(np.round(results.mean[:, :, m], 3)) for m in range(len(METRICS))]).T
    whole = len(results.datasets) == 10 and len(results.methods) == len(TEN_METHODS)
    columns = [mean_scores(results, test) for _, test in TESTS]
    for j, method in enumerate(results.methods):
        printed = article()["benchmark_rows"]["Wilcoxon"][method] if whole else [np.nan] * len(METRICS)
        entries = [
            Entry(f"{score:.1f}", number(p, 1) if whole else "", score == by_metric[:, m].max())
            for m, (score, p) in enumerate(zip(by_metric[j], printed, strict=True))
        ]
        beside = f"{article()['mean_wilcoxon'][method]:.2f}" if whole else ""
        means = [Entry(f"{c[j]:.2f}", beside if k == 0 else "", c[j] == c.max()) for k, c in enumerate(columns)]
        table.rows.append((method, entries + means))
    return table


def rank_table(results: Results) -> Table:
    """Friedman's test and average ranks by measure."""
    table = Table(
        "benchmarks-ranks",
        "Average ranks over the data sets (1 is best) and Friedman's test.",
        ["Measure", *results.methods, "chi-square", "p", "Iman-Davenport F", "p (F)", "CD"],
        note="CD: Nemenyi's critical difference at 5 %.",
    )
    for m, metric in enumerate(METRICS):
        test = friedman_nemenyi(results.mean[:, :, m])
        ranks = [Entry(number(r, 2), bold=r == test.average_ranks.min()) for r in test.average_ranks]
        numbers = [
            number(test.chi_square, 2), f"{test.p_value:.1e}", number(test.iman_davenport, 2),
            f"{test.iman_davenport_p_value:.1e}", number(test.critical_difference, 2),
        ]  # fmt: skip
        table.rows.append((metric, ranks + [Entry(text) for text in numbers]))
    return table


def _diagram(results: Results) -> Any:
    panels = []
    for m, metric in enumerate(METRICS):
        test = friedman_nemenyi(results.mean[:, :, m])
        panels.append((metric, list(results.methods), test.average_ranks, test.critical_difference))
    return critical_differences(panels)


def starred_table(results: Results) -> Table:
    """What correcting the given labels (alpha = .6) gains over keeping them (alpha = 0)."""
    table = Table(
        "benchmarks-starred",
        "Starred variants (given labels kept, alpha = 0 on labelled rows): means over the data sets.",
        ["Measure"],
        note="wins: data sets on which the method is better than its starred variant, of those that differ at three "
        "decimals; p: one-sided signed-rank test that it is better.",
    )
    pairs = [(name, f"{name}*") for name in ("NMLSDR", "SSMLDR")]
    pairs = [pair for pair in pairs if set(pair) <= set(results.methods)]
    for name, star in pairs:
        table.header += [name, star, "wins", "p"]
    for m, metric in enumerate(METRICS if pairs else ()):
        entries = []
        for name, star in pairs:
            both = results.of([name, star]).mean[:, :, m]
            both = np.round(both[~np.isnan(both).any(axis=1)], 3)
            gap = both[:, 0] - both[:, 1]
            p = signed_rank_p_value(gap)
            first, second = both.mean(axis=0) if both.size else (np.nan, np.nan)
            entries += [
                Entry(number(first), bold=bool(first > second)), Entry(number(second), bold=bool(second > first)),
                Entry(f"{int((gap > 0).sum())} of {int((gap != 0).sum())}"), Entry(number(p)),
            ]  # fmt: skip
        table.rows.append((metric, entries))
    return table


def claims(ten: Results, complete: Results | None) -> list[tuple[str, bool | None]]:
    """The issue's criteria, as far as the cells at hand allow."""
    gap = np.abs(ten.difference)
    known = ~np.isnan(gap)
    cells = int(known.sum())
    if cells == 0:
        return []
    near = int((gap[known] <= NEAR + 1e-9).sum())
    unexplained = [d for d in differences(ten, FAR) if not d.reason]
    said: list[tuple[str, bool | None]] = [
        (f"at least 85 % of the {cells} cells within {NEAR} of the printed value: {near}, {100 * near / cells:.1f} %",
         near >= SHARE_NEAR * cells),
        (f"no unexplained cell beyond {FAR}: {len(unexplained)} of {len(differences(ten, FAR))} beyond",
         not unexplained),
    ]  # fmt: skip
    if ten.n_seeds > 1:
        inside = int(ten.within_two_std()[known].sum())
        said.append((f"printed value within two standard deviations of ours in {inside} of {cells} cells "
                     f"({100 * inside / cells:.1f} %)", True))  # fmt: skip
    if 0.5 ** len(ten.datasets) >= LEVEL:  # the smallest p-value that the signed-rank test can give
        claim = "NMLSDR has the highest mean Wilcoxon score: not decidable from "
        said.insert(0, (f"{claim}{len(ten.datasets)} {'set' if len(ten.datasets) == 1 else 'sets'}", None))
    elif complete is not None and "NMLSDR" in complete.methods:
        scores = mean_scores(complete)
        best = complete.methods[int(np.argmax(scores))]
        said.insert(0, (f"NMLSDR has the highest mean Wilcoxon score: {best}, {scores.max():.2f}",
                        best == "NMLSDR" and int((scores == scores.max()).sum()) == 1))  # fmt: skip
    return said
