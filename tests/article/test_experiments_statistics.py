"""The statistics of the experiments, against scipy, textbooks and the article's printed rows."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from nmlsdr.experiments.results import resource
from nmlsdr.experiments.statistics import best_counts, paired_t_p_value, signed_rank_p_values, wilcoxon_scores

MEASURE_NAMES = ["HL'", "RL'", "AP", "OE'", "Cov'", "MaF1", "MiF1"]


def article():
    return resource("article.json")


def printed_table(metric):
    """Data sets by methods, as printed, and the methods."""
    tables = article()["benchmarks"]
    methods = list(tables["Birds"])
    column = article()["metrics"].index(metric)
    return np.array([[tables[dataset][method][column] for method in methods] for dataset in tables]), methods


def printed_row(name, metric, methods):
    return [article()["benchmark_rows"][name][method][article()["metrics"].index(metric)] for method in methods]


def test_article_has_every_cell():
    assert article()["metrics"] == MEASURE_NAMES
    assert len(article()["benchmarks"]) == 10
    assert all(len(rows) == 10 for rows in article()["benchmarks"].values())
    assert len(article()["toy"]["Toy"]) == 12
    assert len(article()["case-study"]["Cohort"]) == len(article()["case_study_std"]) == 10


@pytest.mark.parametrize("metric", ["AP", "Cov'", "MaF1", "MiF1"])
def test_printed_wilcoxon_rows_are_reproduced_exactly(metric):
    values, methods = printed_table(metric)
    assert wilcoxon_scores(values).tolist() == printed_row("Wilcoxon", metric, methods)


@pytest.mark.parametrize("metric", ["HL'", "RL'", "OE'"])
def test_other_wilcoxon_rows_are_near(metric):
    # They were made from more decimals than are printed: ties at three decimals hide who is better.
    values, methods = printed_table(metric)
    assert np.abs(wilcoxon_scores(values) - printed_row("Wilcoxon", metric, methods)).max() <= 1.0


@pytest.mark.parametrize("metric", MEASURE_NAMES)
def test_printed_best_counts_are_reproduced_exactly(metric):
    values, methods = printed_table(metric)
    assert best_counts(values).tolist() == printed_row("# Best values", metric, methods)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 8])
def test_signed_rank_p_value_counts_all_sign_patterns(n):
    sums = [
        sum(rank for rank, sign in zip(range(1, n + 1), signs, strict=True) if sign)
        for signs in product([0, 1], repeat=n)
    ]
    for signs in product([-1.0, 1.0], repeat=n):
        statistic = sum(rank for rank, sign in zip(range(1, n + 1), signs, strict=True) if sign > 0)
        expected = np.mean(np.array(sums) >= statistic)
        assert signed_rank_p_values(np.arange(1, n + 1) * signs) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([0.1, 0.1, -0.1], 0.375),  # ranks 2, 2, 2: W+ = 4, and 3 of the 8 sums of 1, 2, 3 reach it
        ([0.0, 0.2, 0.3], 0.25),  # the zero is dropped
        ([0.951 - 0.95, 0.947 - 0.946, -0.2], 0.625),  # equal to nine decimals, so tied
    ],
)
def test_signed_rank_p_value_of_ties_and_zeros(differences, expected):
    assert signed_rank_p_values(differences) == expected


def test_zeros_are_dropped_and_rounding_noise_is_no_difference():
    assert signed_rank_p_values([0.0, 0.95 - 0.951 + 0.001, 0.0]) == 1.0
    assert signed_rank_p_values([0.1, 0.0, 0.2]) == signed_rank_p_values([0.1, 0.2])


def test_scores_sum_to_the_number_of_pairs_and_two_sided_tests_are_more_careful(rng):
    values = np.round(rng.normal(size=(10, 6)) + np.arange(6) * 0.6, 3)
    for test in ("one-sided", "two-sided"):
        assert wilcoxon_scores(values, test=test).sum() == 15
    spread = [np.ptp(wilcoxon_scores(values, test=test)) for test in ("one-sided", "two-sided")]
    assert spread[0] >= spread[1]
    p = signed_rank_p_values(values[:, :, None] - values[:, None, :])
    each = [[signed_rank_p_values(values[:, a] - values[:, b]) for b in range(6)] for a in range(6)]
    np.testing.assert_array_equal(p, each)
    assert np.all(np.diag(p) == 1.0)
    assert np.all(p + p.T >= 1.0)  # one of the two directions has at least half of the distribution


def test_the_paired_t_test_equals_that_of_scipy(rng):
    a = rng.normal(size=10)
    b = rng.normal(size=10)
    assert paired_t_p_value(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert paired_t_p_value(a, a) == 1.0
    assert paired_t_p_value(a + 1.0, a) == 0.0
