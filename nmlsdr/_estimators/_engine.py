"""What estimators do where their rows are: in the memory of this process. `nmlsdr.dask` has another engine."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._checks.arguments import asks_exact, check_metric, check_rows
from .._errors import InputError
from .._process.threads import check_n_jobs
from .._search import choose_proposed, squared_neighbors
from .._search.estimate import say_if_large
from .._solvers.system import Goal, System
from ..propagation import Propagation, propagate_checked
from ._prepared import METRICS

_SPOKEN = {"euclidean": "Euclidean", "cosine": "cosine"}


class Neighbors(NamedTuple):
    """Squared distances and indices (n, k) of every row's nearest other rows, and the transformer that found them.

    The transformer is a fitted clone of the parameter ``neighbors``, so that queries need no second fit; None if the
    search is exact.
    """

    squared: np.ndarray
    indices: np.ndarray
    transformer: Any = None


class Engine:
    """Rows in memory, and the work on them in this process."""

    def check_rows(self, X: Any, name: str) -> Any:
        """Rows for the kernels; ``name`` is that of the estimator."""
        if hasattr(X, "__dask_graph__"):
            raise InputError(
                f"{name} takes rows in memory, got a Dask array; to fit, use nmlsdr.dask.{name}, if there is one, or "
                "X.compute(); to predict, use X.map_blocks(model.predict)."
            )
        return check_rows(X)

    def in_memory(self, value: Any) -> Any:
        """Labels, alphas and what was computed from rows, as arrays of this process."""
        return value

    def neighbors(
        self, rows: Any, k: int, *, neighbors: Any, metric: str, n_jobs: int | None, classifier: str = ""
    ) -> Neighbors:
        """Every row's k nearest other rows, by the parameter ``neighbors``.

        ``classifier`` is the name of an estimator that will search the neighbours of new rows too.
        """
        if asks_exact(neighbors):
            say_if_large(rows, k, n_jobs=n_jobs)
            return Neighbors(*squared_neighbors(rows, k, metric=metric, n_jobs=n_jobs, checked=True))
        if classifier and not hasattr(neighbors, "transform"):
            raise InputError(
                f"{classifier} needs a neighbors= transformer that has transform, to find the neighbours of "
                f'new rows, and {type(neighbors).__name__} has none; use one that has it, or "exact".'
            )
        _warn_of_another_metric(neighbors, check_metric(metric))
        transformer = clone(neighbors, safe=False)  # a plug-in need not be one of scikit-learn's estimators
        proposed = transformer.fit_transform(rows)
        return Neighbors(*choose_proposed(rows, proposed, k, metric=metric, n_jobs=n_jobs), transformer)

    def propagate(
        self, W: sparse.csr_array, Y: np.ndarray, alpha: np.ndarray, known: np.ndarray, goal: Goal, n_jobs: int | None
    ) -> Propagation:
        """Solve eq. (8)."""
        return propagate_checked(System(W, Y, alpha, known, check_n_jobs(n_jobs)), goal)


def _warn_of_another_metric(transformer: Any, metric: str) -> None:
    """Say that candidates which a transformer found by one distance are ranked by another."""
    found_by = getattr(transformer, "metric", metric)
    same = METRICS.get(found_by) if found_by != "minkowski" or getattr(transformer, "p", 2) == 2 else None
    if same == metric:
        return
    advice = f'set metric="{same}" here' if same else "let the transformer use that distance too"
    warnings.warn(
        f"{type(transformer).__name__} finds candidates by the distance {found_by!r}, but the nearest of them by "
        f"{_SPOKEN[metric]} distance are used; {advice}, or pass graph=.",
        stacklevel=5,
    )
