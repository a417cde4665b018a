"""The seven benchmark tables, the Wilcoxon rows and figure, and what the article lacks (section 4.5)."""

import numpy as np
from numpy.typing import NDArray

from .figures import bars, critical_differences, difference_maps
from .protocol import METRICS, TEN_METHODS
from .results import Results, agreement, begin_section, difference_table, general_notes, unexplained
from .statistics import LEVEL, Friedman, best_counts, friedman_nemenyi, signed_rank_p_values, wilcoxon_scores
from .tables import Claims, Entry, ResultTable, Section, best_in_bold, number, resource, titled

NEAR, FAR = 0.02, 0.05
SHARE_NEAR = 0.85
TESTS = (("Wilcoxon", "one-sided"), ("two-sided", "two-sided"), ("Holm", "holm"))


def benchmarks_section(found: list[Results], *, size: str) -> Section:
    """Tables, figures and claims of the benchmark study."""
    (results,) = found
    ten = results.of(TEN_METHODS)
    counts = {"n_datasets": len(results.datasets), "n_methods": len(results.methods)}
    section = begin_section("benchmarks", found, size, n_seeds=results.n_seeds, **counts)
    if size == "full":
        section.paragraphs += general_notes("benchmarks", results.datasets)
    section.tables += [metric_table(ten, m) for m in range(len(METRICS))]
    complete = _complete(ten)
    if complete is not None:
        section.tables.append(wilcoxon_table(complete))
        if len(complete.methods) == len(TEN_METHODS):
            printed = [resource("article.json")["mean_wilcoxon"][name] for name in complete.methods]
            label = "mean Wilcoxon score over the seven measures"
            section.add_figure("mean-wilcoxon", bars(complete.methods, mean_scores(complete), printed, label=label))
        if len(complete.methods) > 2:
            tests = {metric: friedman_nemenyi(complete.mean[:, :, m]) for m, metric in enumerate(METRICS)}
            section.tables.append(rank_table(complete.methods, tests))
            section.add_figure("critical-differences", critical_differences(complete.methods, tests))
    section.tables += starred_tables(results)
    if size == "full":
        far = difference_table(ten, "benchmarks-differences", FAR)
        section.claims = claims(ten, complete, far)
        section.tables += [agreement(ten, "benchmarks-agreement", (0.01, NEAR, FAR)), far]
        section.add_figure("differences", difference_maps(METRICS, ten.difference, ten.datasets, ten.methods))
    return section


def _complete(results: Results, m: int | slice = slice(None)) -> Results | None:
    """The results if every cell has one (of a measure) and comparisons are possible, else None."""
    possible = len(results.methods) > 1 and len(results.datasets) > 1
    return None if np.isnan(results.mean[:, :, m]).any() or not possible else results


def printed_rows(results: Results, row: str, decimals: int) -> list[list[str]]:
    """A row of the article's over all data sets, by measure and method; empty where other data sets are at hand."""
    if len(results.datasets) != 10 or len(results.methods) != len(TEN_METHODS):
        return [[""] * len(results.methods)] * len(METRICS)
    rows = resource("article.json")["benchmark_rows"][row]
    return [[f"{rows[name][m]:.{decimals}f}" for name in results.methods] for m in range(len(METRICS))]


def metric_table(results: Results, m: int) -> ResultTable:
    """One of the seven tables: data sets by methods."""
    metric = METRICS[m]
    title = resource("texts.json")["metrics"][metric]
    name = "benchmarks-" + metric.replace("'", "")
    table = titled(name, ["Data set", *results.methods], "benchmarks-metric", title=title, metric=metric)
    mean, std, gap = np.round(results.mean[:, :, m], 3), results.std[:, :, m], results.difference[:, :, m]
    for i, dataset in enumerate(results.datasets):
        parts = zip(std[i], results.printed[i, :, m], strict=True)
        beside = ["|".join(filter(None, ["" if np.isnan(s) else f"±{number(s)}", number(p)])) for s, p in parts]
        table.add(dataset, best_in_bold(mean[i], 3, beside, gap[i].tolist()))
    if _complete(results, m) is None:
        return table
    table.rule_before.add(len(table.rows))
    table.add("# best", best_in_bold(best_counts(mean), 0, printed_rows(results, "# Best values", 0)[m]))
    for title, test in TESTS:
        printed = printed_rows(results, "Wilcoxon", 1)[m] if test == "one-sided" else None
        table.add(title, best_in_bold(wilcoxon_scores(mean, test=test), 1, printed))
    return table


def all_scores(results: Results, test: str = "one-sided") -> NDArray[np.float64]:
    """Wilcoxon scores on the three-decimal means, measures by methods."""
    rounded = np.round(results.mean, 3)
    return np.array([wilcoxon_scores(rounded[:, :, m], test=test) for m in range(len(METRICS))])


def mean_scores(results: Results, test: str = "one-sided") -> NDArray[np.float64]:
    """The scores averaged over the seven measures."""
    return np.asarray(all_scores(results, test).mean(axis=0))


def wilcoxon_table(results: Results) -> ResultTable:
    """Wilcoxon scores by method and measure, with the means of the figure."""
    table = titled("benchmarks-wilcoxon", ["Method", *METRICS, "mean", "mean, two-sided", "mean, Holm"])
    printed = printed_rows(results, "Wilcoxon", 1)
    article = resource("article.json")["mean_wilcoxon"]
    beside = [f"{article[name]:.2f}" for name in results.methods] if printed[0][0] else None
    columns = [best_in_bold(scores, 1, small) for scores, small in zip(all_scores(results), printed, strict=True)]
    for _, test in TESTS:
        columns.append(best_in_bold(mean_scores(results, test), 2, beside if test == "one-sided" else None))
    table.add_columns(results.methods, columns)
    return table


def rank_table(methods: tuple[str, ...], tests: dict[str, Friedman]) -> ResultTable:
    """Friedman's test and average ranks by measure."""
    table = titled("benchmarks-ranks", ["Measure", *methods, "chi-square", "p", "Iman-Davenport F", "p (F)", "CD"])
    for metric, test in tests.items():
        ranks = [Entry(number(r, 2), bold=r == test.average_ranks.min()) for r in test.average_ranks]
        numbers = [
            number(test.chi_square, 2), f"{test.p_value:.1e}", number(test.iman_davenport, 2),
            f"{test.iman_davenport_p_value:.1e}", number(test.critical_difference, 2),
        ]  # fmt: skip
        table.add(metric, [*ranks, *numbers])
    return table


def starred_tables(results: Results) -> list[ResultTable]:
    """What correcting the given labels (alpha = .6) gains over keeping them (alpha = 0), if both were run."""
    pairs = [(name, f"{name}*") for name in ("NMLSDR", "SSMLDR") if {name, f"{name}*"} <= set(results.methods)]
    if not pairs:
        return []
    table = titled("benchmarks-starred", ["Measure", *(text for pair in pairs for text in (*pair, "wins", "p"))])
    for m, metric in enumerate(METRICS):
        entries: list[Entry | str] = []
        for pair in pairs:
            both = results.of(pair).mean[:, :, m]
            both = np.round(both[~np.isnan(both).any(axis=1)], 3)
            gap = both[:, 0] - both[:, 1]
            first, second = both.mean(axis=0) if both.size else (np.nan, np.nan)
            entries += [
                Entry(number(first), bold=bool(first > second)), Entry(number(second), bold=bool(second > first)),
                f"{int((gap > 0).sum())} of {int((gap != 0).sum())}", number(float(signed_rank_p_values(gap))),
            ]  # fmt: skip
        table.add(metric, entries)
    return [table]


def claims(ten: Results, complete: Results | None, far: ResultTable) -> Claims:
    """What the reproduction should reach, as far as the cells at hand allow."""
    gap = np.abs(ten.difference)
    known = ~np.isnan(gap)
    cells = int(known.sum())
    if cells == 0:
        return []
    found: Claims = []
    if 0.5 ** len(ten.datasets) >= LEVEL:  # the smallest p-value that the signed-rank test can give
        sets = f"{len(ten.datasets)} {'set' if len(ten.datasets) == 1 else 'sets'}"
        found.append((f"NMLSDR has the highest mean Wilcoxon score: not decidable from {sets}", None))
    elif complete is not None and "NMLSDR" in complete.methods:
        scores = mean_scores(complete)
        (best, *tied) = (complete.methods[j] for j in np.flatnonzero(scores == scores.max()))
        text = f"NMLSDR has the highest mean Wilcoxon score: {best}, {scores.max():.2f}"
        found.append((text, best == "NMLSDR" and not tied))
    near = int((gap[known] <= NEAR + 1e-9).sum())
    share = f"{near}, {100 * near / cells:.1f} %"
    text = f"at least 85 % of the {cells} cells within {NEAR} of the printed value: {share}"
    found.append((text, near >= SHARE_NEAR * cells))
    text = f"no unexplained cell beyond {FAR}: {unexplained(far)} of {len(far.rows)} beyond"
    found.append((text, not unexplained(far)))
    if ten.n_seeds > 1:
        inside = int(ten.within_two_std()[known].sum())
        share = f"{inside} of {cells} cells ({100 * inside / cells:.1f} %)"
        found.append((f"printed value within two standard deviations of ours in {share}", True))
    return found
