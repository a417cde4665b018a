"""Parts of the results of a study, in percent, and Holm's correction of several tests."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmlsdr.experiments.results import Results, mean

Floats = NDArray[np.float64]


class View(NamedTuple):
    """What is shown of results: the end of a table's name, the words of its title, a part and its measures (all)."""

    name: str = ""
    title: str = ""
    part: str = "metrics"
    measures: tuple[str, ...] = ()


WHOLE = View()


def percent(results: Results, view: View = WHOLE) -> Floats:
    """The mean of some measures in percent (n_datasets, n_methods, n_seeds)."""
    chosen = [results.study.measures.index(name) for name in view.measures or results.study.measures]
    return 100.0 * results.parts[view.part][:, :, chosen].mean(axis=2)


def gaps(results: Results, first: str, second: str, view: View = WHOLE) -> Floats:
    """Mean difference of two methods on each data set, in percent, over the seeds that have both; NaN if none."""
    values = percent(results, view)
    return mean(values[:, results.methods.index(first)] - values[:, results.methods.index(second)])


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
    return np.minimum(stepped, 1.0)[np.argsort(order)]
