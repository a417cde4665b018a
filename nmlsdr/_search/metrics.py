"""The metrics of a search: what each one does to the rows before it, and to the squared distances after it.

The kernels order rows by squared Euclidean distances.  A metric says of which vectors these are, and how they become
the distances that a user sees.  To add one, write a class here, put its name into `nmlsdr._checks.arguments.Metric` and
the option --metric of the command line, and define it in the docstring of `nmlsdr.graph.kneighbors`; all else asks the
object.  A metric that is not a Euclidean distance of other vectors needs kernels of its own too.

It has to take any finite numbers: `ResidualPropagation` searches its embedding and its scores by it too, the command
line centres columns, and the rows of its tests have both signs.  Rows can be float32, or a
memory map that is larger than the memory.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import nmlsdr._graph as _graph

from .._checks.arguments import check_metric
from .._process.threads import worthwhile_threads
from .rows import kernel_rows

# The squared distance that stands for 1 - cos = 1: between a row of zeros, which has no direction, and any other row.
ZERO_ROW = _graph.ZERO_ROW

# Squared for each thread that is woken, which takes as long as to square them (30 us).
_VALUES_PER_THREAD = 100_000


class Vectors(NamedTuple):
    """Rows as a metric compares them.

    Attributes
    ----------
    values : array or CSR matrix of shape (n_samples, n_features)
        Their squared Euclidean distances have the order of the metric.
    remote : ndarray of shape (n_samples,), bool
        True for rows that are at the squared distance ``ZERO_ROW`` from every other row instead.
    """

    values: Any
    remote: np.ndarray


class SearchMetric(ABC):
    """A distance of rows, by the squared Euclidean distances of other vectors; the rows themselves unless it says so.

    Attributes
    ----------
    name : str
        The value of ``metric``.
    aliases : tuple of str
        Other names that scikit-learn has for it.
    by_angle : bool
        Whether the kernels shall divide rows by their norms.
    n_copies : int
        Copies of all rows in float64 that a search makes.
    """

    name: str
    aliases: tuple[str, ...] = ()
    by_angle = False
    n_copies = 0

    def kernel_vectors(self, rows: Any) -> Any:
        """The vectors of checked rows that the kernels get, in the same storage; the rows stay as they are."""
        return rows

    def kernel_radius(self, radius: float) -> float:
        """The radius that the kernels get."""
        return radius

    def prepare(self, rows: Any, n_threads: int) -> Vectors:
        """The vectors whose squared distances count, for searches that compare single pairs."""
        return Vectors(self.kernel_vectors(rows), np.zeros(rows.shape[0], dtype=bool))

    def searched(self, search: Any, rows: Any, queries: Any) -> tuple[Any, Any]:
        """The vectors that a search of the kernels compares: of its rows, and of its queries (None: the rows)."""
        return rows, queries

    @abstractmethod
    def finish(self, squared: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The distances whose squared distances the kernels gave; in place if ``out`` is the same array."""


class Euclidean(SearchMetric):
    """|x - y|."""

    name = "euclidean"
    aliases = ("l2", "minkowski", "sqeuclidean")  # the powers of "minkowski" are 2

    def finish(self, squared: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        distances: np.ndarray = np.sqrt(squared, out=out)
        return distances


class Cosine(SearchMetric):
    """1 - cos of the angle: half of the squared distance of the rows divided by their norms."""

    name = "cosine"
    by_angle = True
    n_copies = 2  # of all rows, and of those that are not zeros

    def prepare(self, rows: Any, n_threads: int) -> Vectors:
        """The rows divided by their norms, in float64; rows that are all 0 stay so, and are remote."""
        unit = rows.astype(np.float64)  # a copy
        zero = np.empty(rows.shape[0], np.uint8)
        values = unit.data if sparse.issparse(unit) else unit
        _graph.to_units(kernel_rows(unit), zero, worthwhile_threads(n_threads, values.size, _VALUES_PER_THREAD))
        return Vectors(unit, zero.view(bool))

    def searched(self, search: Any, rows: Any, queries: Any) -> tuple[Any, Any]:
        """The rows of length 1 that the kernels made of dense rows for products; other searches look at no vectors."""
        if search.method != "products" or sparse.issparse(rows):
            return rows, queries
        units, query_units = search.units()
        return np.asarray(units), None if query_units is None else np.asarray(query_units)

    def finish(self, squared: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        distances: np.ndarray = np.multiply(squared, 0.5, out=out)
        return distances


#: Name -> metric, in the order of `nmlsdr._checks.arguments.Metric`.
METRICS: dict[str, SearchMetric] = {metric.name: metric for metric in (Euclidean(), Cosine())}

#: Every name that scikit-learn has for a metric -> the name here.
METRIC_NAMES: dict[str, str] = {
    name: metric.name for metric in METRICS.values() for name in (metric.name, *metric.aliases)
}


def search_metric(name: Any) -> SearchMetric:
    """The metric of this name; another name is refused."""
    return METRICS[check_metric(name)]
