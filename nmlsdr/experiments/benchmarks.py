"""The sections about the article's studies: benchmarks (section 4.5), the Toy set (4.4) and the case study (5)."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from .figures import bars, embeddings
from .protocol import MEASURE_NAMES, STUDIES, TEN_METHODS, TWELVE_METHODS, draw, embed, load
from .results import (
    Entry,
    Results,
    ResultTable,
    Section,
    best_in_bold,
    compare,
    method_table,
    number,
    plus_minus,
    resource,
    titled,
)
from .statistics import LEVEL, best_counts, paired_t_p_value, signed_rank_p_values, wilcoxon_scores

NEAR = 0.02
FAR = 0.05
LEAST_NEAR = 85.0  # percent
TESTS = (("Wilcoxon", "one-sided"), ("two-sided", "two-sided"))


def benchmarks_section(studies: list[Results], *, size: str) -> Section:
    """Tables, figures and claims of the benchmark study."""
    (results,) = studies
    ten = results.of(TEN_METHODS)
    counts = {"n_datasets": len(results.datasets), "n_methods": len(results.methods)}
    section = Section.begin("benchmarks", studies, size, n_seeds=results.n_seeds, **counts)
    shown = results.of((*TEN_METHODS, *(name for name in results.methods if ":" in name)))  # and classes of one's own
    section.tables += [metric_table(shown, m) for m in range(len(MEASURE_NAMES))]
    complete = _complete(ten)
    if complete is not None:
        section.tables.append(wilcoxon_table(complete))
        if len(complete.methods) == len(TEN_METHODS):
            printed = [resource("article.json")["mean_wilcoxon"][name] for name in complete.methods]
            label = "mean Wilcoxon score over the seven measures"
            section.add_figure("mean-wilcoxon", bars(complete.methods, mean_scores(complete), printed, label=label))
    section.tables += starred_tables(results)
    if size == "full":
        add_claims(section, ten, complete)
    return section


def _complete(results: Results, m: int | slice = slice(None)) -> Results | None:
    """The results if every cell has one (of a measure) and comparisons are possible, else None."""
    possible = len(results.methods) > 1 and len(results.datasets) > 1
    return None if np.isnan(results.mean[:, :, m]).any() or not possible else results


def printed_rows(results: Results, row: str, decimals: int) -> list[list[str]]:
    """A row of the article's over all data sets, by measure and method; empty where other data sets are at hand."""
    if len(results.datasets) != 10 or len(results.methods) != len(TEN_METHODS):
        return [[""] * len(results.methods)] * len(MEASURE_NAMES)
    rows = resource("article.json")["benchmark_rows"][row]
    return [[f"{rows[name][m]:.{decimals}f}" for name in results.methods] for m in range(len(MEASURE_NAMES))]


def metric_table(results: Results, m: int) -> ResultTable:
    """One of the seven tables: data sets by methods."""
    metric = MEASURE_NAMES[m]
    title = resource("texts.json")["metrics"][metric]
    name = "benchmarks-" + metric.replace("'", "")
    table = titled(name, ["Data set", *results.methods], "benchmarks-metric", title=title, metric=metric)
    mean = np.round(results.mean[:, :, m], 3)
    std = results.std[:, :, m]
    gap = results.difference[:, :, m]
    for i, dataset in enumerate(results.datasets):
        parts = zip(std[i], results.printed[i, :, m], strict=True)
        beside = ["|".join(filter(None, [plus_minus(s), number(p)])) for s, p in parts]
        table.add(dataset, best_in_bold(mean[i], 3, beside, gap[i].tolist()))
    if _complete(results, m) is None:
        return table
    table.add_last("# best", best_in_bold(best_counts(mean), 0, printed_rows(results, "# Best values", 0)[m]))
    for title, test in TESTS:
        printed = printed_rows(results, "Wilcoxon", 1)[m] if test == "one-sided" else None
        table.add(title, best_in_bold(wilcoxon_scores(mean, test=test), 1, printed))
    return table


def all_scores(results: Results, test: str = "one-sided") -> NDArray[np.float64]:
    """Wilcoxon scores on the three-decimal means, measures by methods."""
    rounded = np.round(results.mean, 3)
    return np.array([wilcoxon_scores(rounded[:, :, m], test=test) for m in range(len(MEASURE_NAMES))])


def mean_scores(results: Results, test: str = "one-sided") -> NDArray[np.float64]:
    """The scores averaged over the seven measures."""
    return np.asarray(all_scores(results, test).mean(axis=0))


def wilcoxon_table(results: Results) -> ResultTable:
    """Wilcoxon scores by method and measure, with the means of the figure."""
    table = titled("benchmarks-wilcoxon", ["Method", *MEASURE_NAMES, "mean", "mean, two-sided"])
    printed = printed_rows(results, "Wilcoxon", 1)
    article = resource("article.json")["mean_wilcoxon"]
    beside = [f"{article[name]:.2f}" for name in results.methods] if printed[0][0] else None
    columns = [best_in_bold(scores, 1, small) for scores, small in zip(all_scores(results), printed, strict=True)]
    for _, test in TESTS:
        columns.append(best_in_bold(mean_scores(results, test), 2, beside if test == "one-sided" else None))
    table.add_columns(results.methods, columns)
    return table


def starred_tables(results: Results) -> list[ResultTable]:
    """What correcting the given labels (alpha = .6) gains over keeping them (alpha = 0), if both were run."""
    pairs = [(name, f"{name}*") for name in ("NMLSDR", "SSMLDR") if {name, f"{name}*"} <= set(results.methods)]
    if not pairs:
        return []
    table = titled("benchmarks-starred", ["Measure", *(text for pair in pairs for text in (*pair, "wins", "p"))])
    for m, metric in enumerate(MEASURE_NAMES):
        entries: list[Entry | str] = []
        for pair in pairs:
            scores = results.of(pair).mean[:, :, m]
            scores = np.round(scores[~np.isnan(scores).any(axis=1)], 3)
            gap = scores[:, 0] - scores[:, 1]
            first, second = scores.mean(axis=0) if scores.size else (np.nan, np.nan)
            entries += [
                Entry(number(first), bold=bool(first > second)),
                Entry(number(second), bold=bool(second > first)),
                f"{int((gap > 0).sum())} of {int((gap != 0).sum())}",
                number(float(signed_rank_p_values(gap))),
            ]
        table.add(metric, entries)
    return [table]


def add_claims(section: Section, ten: Results, complete: Results | None) -> None:
    """Compare with the article, and state what the reproduction should reach, as far as the cells at hand allow."""
    gap = np.abs(ten.difference)
    cells = int((~np.isnan(gap)).sum())
    if cells and 0.5 ** len(ten.datasets) >= LEVEL:  # the smallest p-value that the signed-rank test can give
        sets = f"{len(ten.datasets)} {'set' if len(ten.datasets) == 1 else 'sets'}"
        section.claim("undecided", None, sets=sets)
    elif cells and complete is not None and "NMLSDR" in complete.methods:
        scores = mean_scores(complete)
        best = [complete.methods[j] for j in np.flatnonzero(scores == scores.max())]
        section.claim("best", best == ["NMLSDR"], best=best[0], score=scores.max())
    near = int((gap <= NEAR + 1e-9).sum())
    if cells:
        percent = 100.0 * near / cells
        section.claim("near", percent >= LEAST_NEAR, cells=cells, limit=NEAR, near=near, percent=percent)
    compare(section, ten, (0.01, NEAR, FAR), FAR)


# ---------------------------------------------------------------- the studies on one data set each


LIMIT = 0.015
AP = MEASURE_NAMES.index("AP")
# The article's order by AP; methods in one group are not ranked among themselves.
ORDER = (("NMLSDR",), ("NMLSDR*",), ("MVMD", "MDDMp"), ("SSMLDR",))

PATIENTS = (("healthy", (1, 0, 0)), ("hypertension", (0, 1, 0)), ("diabetes", (0, 0, 1)), ("both", (0, 1, 1)))
ARTICLE_COUNTS = {"healthy": 1734, "hypertension": 2547, "diabetes": 1971, "both": 1302, "unlabelled": 1982}


# ---------------------------------------------------------------- the Toy set: Table 1 and Figure "synt"


def toy_section(studies: list[Results], *, size: str, with_figure: bool = True) -> Section:
    """Tables, figure and claims of the Toy study."""
    (results,) = studies
    section = Section.begin("toy", studies, size, n_seeds=results.n_seeds)
    reduced = " A reduced set: do not compare these numbers with the article's." if size == "small" else ""
    section.tables.append(method_table(results, "toy", reduced=reduced))
    if size == "full":
        compare(section, results, (0.01, LIMIT, 0.05), LIMIT)
        if "NMLSDR" in results.methods:
            gap = np.abs(results.difference[0, results.methods.index("NMLSDR")])
            section.claim("nmlsdr", bool((gap <= 0.01).all()))
        if set(TWELVE_METHODS) <= set(results.methods):
            section.claim("order", in_order(dict(zip(results.methods, results.mean[0, :, AP], strict=True))))
    if with_figure:
        section.add_figure("toy-embedding", toy_figure(size))
    return section


def in_order(ap: dict[str, float]) -> bool:
    """Whether the article's methods have its order by average precision."""
    remaining = [m for m in TWELVE_METHODS if m in ap and m not in {m for group in ORDER for m in group}]
    present = [values for group in (*ORDER, remaining) if (values := [ap[m] for m in group if m in ap])]
    return all(min(first) > max(second) for first, second in pairwise(present))


def toy_figure(size: str) -> Any:
    """Figure "synt" (a-d) for the first seed."""
    study = STUDIES["toy"]
    data = draw(study, "Toy", 0, size, None)
    target = data.test_target == 1
    single = [(f"class {c + 1}", target[:, c] & (target.sum(axis=1) == 1)) for c in range(target.shape[1])]
    double = [
        (f"classes {a + 1} and {b + 1}", target[:, a] & target[:, b] & (target.sum(axis=1) == 2))
        for a, b in ((0, 1), (2, 3))
    ]
    ssmldr, nmlsdr = (embed(study, name, data)[1] for name in ("SSMLDR", "NMLSDR"))
    pca = PCA(3, svd_solver="full").fit(data.train).transform(data.test)
    return embeddings(
        [
            ("(a) SSMLDR", ssmldr, single),
            ("(b) NMLSDR", nmlsdr, single),
            ("(c) NMLSDR with two multi-classes", nmlsdr, single + double),
            ("(d) PCA", pca, single),
        ]
    )


# ---------------------------------------------------------------- the case study on the simulated cohort


def case_study_section(studies: list[Results], *, size: str) -> Section:
    """Tables with paired t-tests, four pictures and claims of the case study."""
    (results,) = studies
    drawn = "200 + 200" if size == "small" else "1000 + 1000"
    section = Section.begin("case-study", studies, size, n_seeds=results.n_seeds, drawn=drawn)
    ten = results.of(TEN_METHODS)
    section.tables += [counts_table(size), tested_table(ten)]
    if results.n_seeds > 1:
        section.tables.append(p_value_table(ten))
    if len(results.methods) > len(ten.methods):
        stars = results.of([name for name in results.methods if name not in TEN_METHODS])
        section.tables.append(method_table(stars, "case-study-other"))
    if size == "full" and "NMLSDR" in ten.methods and results.n_seeds > 1:
        best_methods, _, significant = tests_of_best(ten)
        ours = significant & (best_methods == ten.methods.index("NMLSDR"))
        won = [metric for metric, first in zip(MEASURE_NAMES, ours, strict=True) if first]
        section.claim("best", len(won) == len(MEASURE_NAMES), won=", ".join(won) or "none")
        counts = zip(rule_counts("full")[0], ARTICLE_COUNTS.values(), strict=True)
        section.claim("counts", all(abs(count / printed - 1) <= 0.05 for count, printed in counts))
    section.add_figure("case-study-embedding", case_study_figure(size))
    return section


def tests_of_best(results: Results) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.bool_]]:
    """For each measure the method with the highest mean, its paired t-tests, and whether it differs from every other.

    Returns
    -------
    best : ndarray (n_measures,)
    p_values : ndarray (n_measures, n_methods)
    significant : ndarray (n_measures,)
    """
    values = results.values[0]
    best = np.nanargmax(results.mean[0], axis=0)
    p_values = np.array([[paired_t_p_value(values[b, m], scores[m]) for scores in values] for m, b in enumerate(best)])
    return best, p_values, (p_values < LEVEL).sum(axis=1) == len(values) - 1


def tested_table(results: Results) -> ResultTable:
    """Methods by measures; bold only where the t-tests show a method to be the best, as in the article."""
    tested = results.n_seeds > 1
    words = " Marked: better than every other method by paired t-tests at 5 %." if tested else ""
    table = method_table(results, "case-study", tested=words)
    if tested:
        for m, (best, _, significant) in enumerate(zip(*tests_of_best(results), strict=True)):
            for j, (_, entries) in enumerate(table.rows):
                entries[m] = replace(entries[m], bold=bool(significant and j == best))
    return table


def p_value_table(results: Results) -> ResultTable:
    """Paired t-tests of the best method of each measure against every other."""
    table = titled("case-study-t-tests", ["Method", *MEASURE_NAMES])
    columns = []
    for best, p_values, _ in zip(*tests_of_best(results), strict=True):
        columns.append([Entry(f"{p:.1e}" if p < 0.001 else f"{p:.3f}") for p in p_values])
        columns[-1][best] = Entry("best", bold=True)
    table.add_columns(results.methods, columns)
    return table


def rule_counts(size: str) -> tuple[list[int], int, float]:
    """Training patients of each group of `ARTICLE_COUNTS` by the rules, of how many, and the share of wrong entries."""
    cohort = load("Cohort", size, None)
    labels = cohort.rule_target
    unlabeled = (labels == -1).all(axis=1)
    has_both = (labels[:, 1] == 1) & (labels[:, 2] == 1)
    wrong = (labels != cohort.target)[~unlabeled]
    return [*(labels == 1).sum(axis=0).tolist(), int(has_both.sum()), int(unlabeled.sum())], len(labels), wrong.mean()


def counts_table(size: str) -> ResultTable:
    """How many training patients the rules label, compared with the article's counts."""
    counts, n_patients, wrong = rule_counts(size)
    table = titled("case-study-counts", ["Patients", *ARTICLE_COUNTS, "of", "wrong entries"])
    printed = [str(count) if size == "full" else "" for count in ARTICLE_COUNTS.values()]
    entries = [Entry(str(count), beside) for count, beside in zip(counts, printed, strict=True)]
    table.add("rules", [*entries, str(n_patients), f"{100 * wrong:.1f} %"])
    return table


def case_study_figure(size: str) -> Any:
    """The article's four pictures: MDDMp, wMLDAb, NMLSDR and SSMLDR in two dimensions."""
    study = STUDIES["case-study"]
    data = draw(study, "Cohort", 0, size, None)
    groups = [(name, (data.test_target == labels).all(axis=1)) for name, labels in PATIENTS]
    panels = [
        (f"({letter}) {method} (simulated patients)", embed(study, method, data)[1], groups)
        for letter, method in zip("abcd", ("MDDMp", "wMLDAb", "NMLSDR", "SSMLDR"), strict=True)
    ]
    return embeddings(panels)
