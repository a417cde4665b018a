"""The two studies on one data set each: the Toy set (article, section 4.4) and the case study (section 5)."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from .cell import embed
from .figures import embeddings
from .protocol import METRICS, STUDIES, TEN_METHODS, draw, load
from .results import (
    Results,
    agreement,
    begin_section,
    difference_table,
    general_notes,
    method_table,
    unexplained,
)  # fmt: skip
from .statistics import LEVEL, paired_t_p_value
from .tables import Claims, Entry, ResultTable, Section, titled

LIMIT = 0.015
AP = METRICS.index("AP")
# The article's order by AP; methods in one group are not ranked among themselves.
ORDER = (("NMLSDR",), ("NMLSDR*",), ("MVMD", "MDDMp"), ("SSMLDR",))

PATIENTS = (
    ("healthy", (1, 0, 0)), ("hypertension", (0, 1, 0)), ("diabetes", (0, 0, 1)), ("both", (0, 1, 1)),
)  # fmt: skip
ARTICLE_COUNTS = {"healthy": 1734, "hypertension": 2547, "diabetes": 1971, "both": 1302, "unlabelled": 1982}


# ---------------------------------------------------------------- the Toy set: Table 1 and Figure "synt"


def toy_section(found: list[Results], *, size: str, with_figure: bool = True) -> Section:
    """Tables, figure and claims of the Toy study."""
    (results,) = found
    section = begin_section("toy", found, size, n_seeds=results.n_seeds)
    reduced = " A reduced set: do not compare these numbers with the article's." if size == "small" else ""
    section.tables.append(method_table(results, "toy", reduced=reduced))
    if size == "full":
        far = difference_table(results, "toy-differences", LIMIT)
        section.paragraphs += general_notes("toy", results.datasets)
        section.claims = toy_claims(results, far)
        section.tables += [agreement(results, "toy-agreement", (0.01, LIMIT, 0.05)), far]
    if with_figure:
        section.add_figure("toy-embedding", toy_figure(size))
    return section


def toy_claims(results: Results, far: ResultTable) -> Claims:
    """What the reproduction should reach, as far as the methods at hand allow."""
    gap = np.abs(results.difference[0])
    cells, open_cells = int((~np.isnan(gap)).sum()), unexplained(far)
    counts = f"{len(far.rows)} beyond, {open_cells} of them not explained"
    text = f"every one of the {cells} cells within {LIMIT} of the printed value, or explained: {counts}"
    found: Claims = [(text, open_cells == 0)]
    if "NMLSDR" in results.methods:
        row = gap[results.methods.index("NMLSDR")]
        found.append(("the NMLSDR row within .01 of the printed one on every measure", bool((row <= 0.01).all())))
    ap = dict(zip(results.methods, results.mean[0, :, AP], strict=True))
    named = {m for group in ORDER for m in group}
    rest = [m for m in ap if m not in named]
    present = [values for group in (*ORDER, rest) if (values := [ap[m] for m in group if m in ap])]
    ordered = all(min(first) > max(second) for first, second in pairwise(present))
    found.append(("AP in the printed order: NMLSDR > NMLSDR* > {MVMD, MDDMp} > SSMLDR > the rest", ordered))
    return found


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


def case_study_section(found: list[Results], *, size: str, with_figure: bool = True) -> Section:
    """Tables with paired t-tests, four pictures and claims of the case study."""
    (results,) = found
    drawn = "200 + 200" if size == "small" else "1000 + 1000"
    section = begin_section("case-study", found, size, n_seeds=results.n_seeds, drawn=drawn)
    ten = results.of(TEN_METHODS)
    section.tables += [counts_table(size), tested_table(ten)]
    if results.n_seeds > 1:
        section.tables.append(p_value_table(ten))
    if len(results.methods) > len(ten.methods):
        stars = results.of([name for name in results.methods if name not in TEN_METHODS])
        section.tables.append(method_table(stars, "case-study-other"))
    section.paragraphs += starred(results)
    if size == "full" and "NMLSDR" in ten.methods and results.n_seeds > 1:
        section.claims = case_study_claims(ten)
    if with_figure:
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
    values, best = results.values[0], np.nanargmax(results.mean[0], axis=0)
    p_values = np.array([[paired_t_p_value(values[b, m], own[m]) for own in values] for m, b in enumerate(best)])
    return best, p_values, (p_values < LEVEL).sum(axis=1) == len(values) - 1


def tested_table(results: Results) -> ResultTable:
    """Methods by measures; bold only where the t-tests show a method to be the best, as in the article."""
    tested = results.n_seeds > 1
    words = " Bold (*): better than every other method by paired t-tests at 5 %." if tested else ""
    table = method_table(results, "case-study", tested=words)
    if tested:
        for m, (best, _, significant) in enumerate(zip(*tests_of_best(results), strict=True)):
            for j, (_, entries) in enumerate(table.rows):
                entries[m] = replace(entries[m], bold=bool(significant and j == best))
    return table


def p_value_table(results: Results) -> ResultTable:
    """Paired t-tests of the best method of each measure against every other."""
    table = titled("case-study-t-tests", ["Method", *METRICS])
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
    both = (labels[:, 1] == 1) & (labels[:, 2] == 1)
    wrong = (labels != cohort.target)[~unlabeled]
    return [*(labels == 1).sum(axis=0).tolist(), int(both.sum()), int(unlabeled.sum())], len(labels), wrong.mean()


def counts_table(size: str) -> ResultTable:
    """How many training patients the rules label, compared with the article's counts."""
    counts, n_patients, wrong = rule_counts(size)
    table = titled("case-study-counts", ["Patients", *ARTICLE_COUNTS, "of", "wrong entries"])
    printed = [str(count) if size == "full" else "" for count in ARTICLE_COUNTS.values()]
    entries = [Entry(str(count), beside) for count, beside in zip(counts, printed, strict=True)]
    table.add("rules", [*entries, str(n_patients), f"{100 * wrong:.1f} %"])
    return table


def starred(results: Results) -> list[str]:
    """On how many measures NMLSDR*, which keeps the given labels, is above NMLSDR, which corrects them."""
    if not {"NMLSDR", "NMLSDR*"} <= set(results.methods):
        return []
    own, star = results.of(["NMLSDR", "NMLSDR*"]).mean[0]
    above = [metric for metric, a, b in zip(METRICS, star, own, strict=True) if a > b]
    which = "all seven" if len(above) == len(METRICS) else f"{len(above)} of the seven"
    named = f" ({', '.join(above)})" if 0 < len(above) < len(METRICS) else ""
    return [
        f"(simulated) NMLSDR*, which keeps the given labels as they are, has a higher mean than NMLSDR, which corrects "
        f"them, on {which} measures{named}."
    ]


def case_study_claims(results: Results) -> Claims:
    """The article's statements about its patients, tested on the simulated ones."""
    best_methods, _, significant = tests_of_best(results)
    ours = significant & (best_methods == results.methods.index("NMLSDR"))
    won = [metric for metric, first in zip(METRICS, ours, strict=True) if first]
    best = f"(simulated) NMLSDR is the best by paired t-tests on every measure: on {', '.join(won) or 'none'}"
    counts = zip(rule_counts("full")[0], ARTICLE_COUNTS.values(), strict=True)
    near = all(abs(ours / printed - 1) <= 0.05 for ours, printed in counts)
    return [
        (best, len(won) == len(METRICS)),
        ("(simulated) the rules label as many patients as in the article, each count within 5 %", near),
    ]


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
