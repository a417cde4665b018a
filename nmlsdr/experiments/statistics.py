"""Comparing methods over data sets: signed ranks, Holm, Friedman and Nemenyi, paired t-tests.

Every function takes plain arrays; rows are data sets (or repetitions), columns are methods, and higher is better.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from .._errors import InputError

LEVEL = 0.05

# Two results that differ by less are one value: the tables hold three decimals, and 0.951 - 0.95 is not
# 0.947 - 0.946 in binary.
DECIMALS = 9


class Friedman(NamedTuple):
    """Friedman's test with Nemenyi's critical difference; see :func:`friedman_nemenyi`."""

    average_ranks: NDArray[np.float64]
    chi_square: float
    p_value: float
    iman_davenport: float
    iman_davenport_p_value: float
    critical_difference: float


def signed_rank_p_value(differences: ArrayLike) -> float:
    """One-sided exact p-value of Wilcoxon's signed-rank test that the differences are positive.

    Zeros are dropped. Tied absolute differences share their average rank, and the distribution is the exact one
    without ties, at the integer part of the statistic: the conventions of ``scipy.stats.wilcoxon`` with
    ``method="exact"``, under which the rows printed for AP, Cov', MaF1 and MiF1 in the article come out exactly.

    Parameters
    ----------
    differences : array-like of shape (n,)

    Returns
    -------
    float
        1.0 if no difference is left.

    Examples
    --------
    Five positive differences: only one of the 32 sign patterns is as extreme.

    >>> signed_rank_p_value([0.1, 0.2, 0.3, 0.4, 0.5])
    0.03125
    """
    values = np.round(np.asarray(differences, dtype=np.float64), DECIMALS)
    values = values[values != 0]
    if values.size == 0:
        return 1.0
    return float(stats.wilcoxon(values, alternative="greater", method="exact").pvalue)


def pairwise_p_values(values: ArrayLike) -> NDArray[np.float64]:
    """One-sided signed-rank p-values of every pair of methods.

    Parameters
    ----------
    values : array-like of shape (n_data_sets, n_methods)
        Higher is better.

    Returns
    -------
    ndarray of shape (n_methods, n_methods)
        Entry (a, b): the p-value of "a is better than b"; 1 on the diagonal.
    """
    table = np.asarray(values, dtype=np.float64)
    n_methods = table.shape[1]
    p_values = np.ones((n_methods, n_methods))
    for a in range(n_methods):
        for b in range(n_methods):
            if a != b:
                p_values[a, b] = signed_rank_p_value(table[:, a] - table[:, b])
    return p_values


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjusted p-values.

    Parameters
    ----------
    p_values : array-like of shape (m,)

    Returns
    -------
    ndarray of shape (m,)
        In the order given.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (p.size - np.arange(p.size)))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def wilcoxon_scores(values: ArrayLike, *, test: str = "one-sided", level: float = LEVEL) -> NDArray[np.float64]:
    """The article's Wilcoxon row: 1 for each method beaten, .5 for each not told apart, 0 for each that beats it.

    Parameters
    ----------
    values : array-like of shape (n_data_sets, n_methods)
        Higher is better.
    test : {"one-sided", "two-sided", "holm"}, default="one-sided"
        "one-sided" at `level`, as the article; "two-sided": both directions share the level; "holm": two-sided
        p-values of all pairs, corrected together by Holm's procedure.
    level : float, default=0.05

    Returns
    -------
    ndarray of shape (n_methods,)
        Between 0 and n_methods - 1; they sum to n_methods (n_methods - 1) / 2.

    Examples
    --------
    >>> wilcoxon_scores([[.9, .8], [.8, .7], [.7, .5], [.9, .5], [.6, .5]])
    array([1., 0.])
    """
    one_sided = pairwise_p_values(values)
    n_methods = one_sided.shape[0]
    first, second = np.triu_indices(n_methods, 1)
    better, worse = one_sided[first, second], one_sided[second, first]
    p_values = np.minimum(better, worse)
    if test != "one-sided":
        p_values = np.minimum(2.0 * p_values, 1.0)
    if test == "holm":
        p_values = holm(p_values)
    elif test not in ("one-sided", "two-sided"):
        raise InputError(f"test must be 'one-sided', 'two-sided' or 'holm', got {test!r}.")
    scores = np.zeros(n_methods)
    for a, b, p, first_wins in zip(first, second, p_values, better < worse, strict=True):
        if p >= level:
            scores[a] += 0.5
            scores[b] += 0.5
        else:
            scores[a if first_wins else b] += 1.0
    return scores


def best_counts(values: ArrayLike) -> NDArray[np.intp]:
    """How many rows each method is best in; ties count for all of the tied.

    Examples
    --------
    >>> best_counts([[.9, .8, .9], [.1, .2, .3]])
    array([1, 0, 2])
    """
    table = np.round(np.asarray(values, dtype=np.float64), DECIMALS)
    counts: NDArray[np.intp] = np.sum(table == table.max(axis=1, keepdims=True), axis=0)
    return counts


def friedman_nemenyi(values: ArrayLike, *, level: float = LEVEL) -> Friedman:
    """Friedman's test over data sets and Nemenyi's critical difference (Demsar 2006).

    Parameters
    ----------
    values : array-like of shape (n_data_sets, n_methods)
        Higher is better; the best method of a row has rank 1, ties share the average.
    level : float, default=0.05

    Returns
    -------
    Friedman
        Average ranks (n_methods,), chi-square (corrected for ties; 0 where every row is one tie) and its p-value, Iman
        and Davenport's F and its p-value, and the critical difference: two methods differ if their average ranks
        differ by more.
    """
    table = np.round(np.asarray(values, dtype=np.float64), DECIMALS)
    n, k = table.shape
    row_ranks = stats.rankdata(-table, axis=1)
    ranks = row_ranks.mean(axis=0)
    chi_square = _chi_square(row_ranks)
    denominator = n * (k - 1) - chi_square
    f_value = (n - 1) * chi_square / denominator if denominator > 0 else float("inf")
    quantile = float(stats.studentized_range.ppf(1.0 - level, k, np.inf)) / np.sqrt(2.0)
    return Friedman(
        average_ranks=ranks,
        chi_square=chi_square,
        p_value=float(stats.chi2.sf(chi_square, k - 1)),
        iman_davenport=f_value,
        iman_davenport_p_value=float(stats.f.sf(f_value, k - 1, (k - 1) * (n - 1))),
        critical_difference=quantile * float(np.sqrt(k * (k + 1) / (6.0 * n))),
    )


def _chi_square(row_ranks: NDArray[np.float64]) -> float:
    """Friedman's statistic in the form that holds for ties too (Conover 1999, section 5.8).

    It is that of ``scipy.stats.friedmanchisquare``, which takes no two methods and gives NaN where all are tied.
    """
    n, k = row_ranks.shape
    between = n * float(np.sum((row_ranks.mean(axis=0) - (k + 1) / 2.0) ** 2))
    within = float(np.sum((row_ranks - (k + 1) / 2.0) ** 2))  # n k (k^2 - 1) / 12 without ties
    return n * (k - 1) * between / within if within > 0 else 0.0


def undistinguished_groups(average_ranks: ArrayLike, critical_difference: float) -> list[tuple[int, int]]:
    """The bars of a critical-difference diagram.

    Parameters
    ----------
    average_ranks : array-like of shape (n_methods,), sorted increasingly
    critical_difference : float

    Returns
    -------
    list of (first, last)
        Maximal ranges of methods, of at least two, within the critical difference.

    Examples
    --------
    >>> undistinguished_groups([1.0, 1.5, 2.4, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    ranks = np.asarray(average_ranks, dtype=np.float64)
    groups: list[tuple[int, int]] = []
    for first in range(ranks.size):
        last = int(np.flatnonzero(ranks - ranks[first] <= critical_difference)[-1])
        if last > first and not (groups and groups[-1][1] >= last):
            groups.append((first, last))
    return groups


def paired_t_p_value(first: ArrayLike, second: ArrayLike) -> float:
    """Two-sided paired t-test over repetitions; 1.0 if the differences are all equal to zero, 0.0 if all equal.

    Examples
    --------
    >>> round(paired_t_p_value([1.0, 2.0, 3.5], [0.5, 1.0, 2.0]), 4)
    0.0742
    """
    differences = np.round(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64), DECIMALS)
    if np.all(differences == differences[0]):
        return 1.0 if differences[0] == 0 else 0.0
    return float(stats.ttest_1samp(differences, 0.0).pvalue)
