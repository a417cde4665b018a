"""Comparing methods over data sets: signed ranks and paired t-tests.

Every function takes plain arrays; rows are data sets (or repetitions), columns are methods, and higher is better.
The tests are SciPy's.  Differences are rounded to nine decimals, so that ties between values of three decimals are
recognised: 0.951 - 0.95 is not equal to 0.947 - 0.946 in binary.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

LEVEL = 0.05
DECIMALS = 9


def signed_rank_p_values(differences: ArrayLike, *, alternative: str = "greater") -> NDArray[np.float64]:
    """Exact p-values of Wilcoxon's signed-rank test, by default one-sided: that the differences are positive.

    Zeros are dropped. Tied absolute differences share their average rank, and the distribution is the exact one
    without ties: under these conventions of ``scipy.stats.wilcoxon`` the rows printed for AP, Cov', MaF1 and MiF1 in
    the article come out exactly.

    Parameters
    ----------
    differences : array-like of shape (n, ...)
    alternative : {"greater", "two-sided"}, default="greater"

    Returns
    -------
    ndarray of shape (...)
        1.0 where no difference is left.

    Examples
    --------
    Five positive differences: only one of the 32 sign patterns is as extreme.

    >>> float(signed_rank_p_values([0.1, 0.2, 0.3, 0.4, 0.5]))
    0.03125
    """
    values = np.round(np.asarray(differences, dtype=np.float64), DECIMALS)
    if len(values) == 0:
        return np.ones(values.shape[1:])
    p_values = stats.wilcoxon(values, axis=0, alternative=alternative, method="exact").pvalue
    return np.where(values.any(axis=0), p_values, 1.0)


def wilcoxon_scores(values: ArrayLike, *, test: str = "one-sided") -> NDArray[np.float64]:
    """The article's Wilcoxon scores: 1 for each method beaten, .5 for each without a significant difference, else 0.

    Parameters
    ----------
    values : array-like of shape (n_data_sets, n_methods)
        Higher is better.
    test : {"one-sided", "two-sided"}, default="one-sided"
        "one-sided" at 5 %, as the article; "two-sided": both directions share the 5 %.

    Returns
    -------
    ndarray of shape (n_methods,)
        Between 0 and n_methods - 1; they sum to n_methods (n_methods - 1) / 2.

    Examples
    --------
    >>> wilcoxon_scores([[.9, .8], [.8, .7], [.7, .5], [.9, .5], [.6, .5]])
    array([1., 0.])
    """
    table = np.asarray(values, dtype=np.float64)
    n_methods = table.shape[1]
    first, second = np.triu_indices(n_methods, 1)
    gaps = table[:, first] - table[:, second]
    better = signed_rank_p_values(gaps)
    worse = signed_rank_p_values(-gaps)
    p_values = np.minimum(better, worse)
    if test != "one-sided":
        p_values = np.minimum(2.0 * p_values, 1.0)
    of_first = np.where(p_values >= LEVEL, 0.5, better < worse)
    scores: Any = np.bincount(first, of_first, n_methods)
    return scores + np.bincount(second, 1.0 - of_first, n_methods)


def best_counts(values: ArrayLike) -> NDArray[np.intp]:
    """In how many rows each method is the best; a tie counts for each of the tied methods.

    Examples
    --------
    >>> best_counts([[.9, .8, .9], [.1, .2, .3]])
    array([1, 0, 2])
    """
    table = np.round(np.asarray(values, dtype=np.float64), DECIMALS)
    return np.asarray(np.sum(table == table.max(axis=1, keepdims=True), axis=0))


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
