"""From records to arrays: our results by data set, method, measure and seed, and the article's beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .protocol import METRICS, Study
from .store import CellKey, Record
from .tables import resource

__all__ = ["Results", "collect", "mean", "printed", "std"]

Floats = NDArray[np.float64]


def printed(study: str, dataset: str, method: str) -> Floats:
    """The article's seven values of a cell; NaN where it prints none."""
    article = resource("article.json")
    by_study = {
        "toy": article["toy"].get(method),
        "benchmarks": article["benchmarks"].get(dataset, {}).get(method),
        "case-study": article["case_study"].get(method, {}).get("mean"),
    }
    values = by_study.get(study)
    return np.full(len(METRICS), np.nan) if values is None else np.array(values)


@dataclass(frozen=True)
class Results:
    """The results of one study.

    Attributes
    ----------
    study : Study
    datasets, methods, seeds : tuple
        Those with at least one record.
    parts : dict of str to ndarray (n_datasets, n_methods, n_measures, n_seeds)
        By member of the records ("metrics" and perhaps others); NaN where there is no result.
    seconds : ndarray (n_datasets, n_methods, n_seeds)
    failures : list of str
        One sentence for each failed cell.
    printed : ndarray (n_datasets, n_methods, n_measures)
        The article's values, NaN where it has none.
    """

    study: Study
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    parts: dict[str, Floats]
    seconds: Floats
    failures: list[str]
    printed: Floats

    @property
    def n_seeds(self) -> int:
        return len(self.seeds)

    @property
    def values(self) -> Floats:
        return self.parts["metrics"]

    @property
    def mean(self) -> Floats:
        """Means over the seeds that have a result."""
        return mean(self.values)

    @property
    def std(self) -> Floats:
        """Standard deviations (n - 1) over the seeds; NaN below two."""
        return std(self.values)

    @property
    def difference(self) -> Floats:
        """Our mean minus the printed value."""
        return self.mean - self.printed

    def within_two_std(self) -> NDArray[np.bool_]:
        """Where the printed value is within two of our standard deviations of our mean.

        The printed value has three decimals, so half of the last one is allowed in addition.
        """
        return np.abs(self.difference) <= 2.0 * self.std + 0.0005

    def percent(self, part: str = "metrics", measure: int | None = None) -> Floats:
        """A measure, or None for the mean of all, in percent (n_datasets, n_methods, n_seeds)."""
        values = self.parts[part]
        return 100.0 * (values.mean(axis=2) if measure is None else values[:, :, measure])

    def gaps(self, first: str, second: str, part: str = "metrics", measure: int | None = None) -> Floats:
        """By data set the mean of first minus second, in percent, over the seeds that have both; NaN where none has."""
        values = self.percent(part, measure)
        return mean(values[:, self.methods.index(first)] - values[:, self.methods.index(second)])

    def of(self, methods: Iterable[str]) -> Results:
        """The same for some of the methods, in the order given; those without records are left out."""
        chosen = tuple(method for method in methods if method in self.methods)
        index = [self.methods.index(method) for method in chosen]
        parts = {part: values[:, index] for part, values in self.parts.items()}
        return replace(
            self, methods=chosen, parts=parts, seconds=self.seconds[:, index], printed=self.printed[:, index]
        )


def mean(values: Floats) -> Floats:
    """The mean over the last axis, without NaN; NaN where nothing is left."""
    return np.asarray(np.ma.masked_invalid(values).mean(axis=-1).filled(np.nan))


def std(values: Floats) -> Floats:
    """The standard deviation (n - 1) over the last axis, without NaN; NaN where fewer than two are left."""
    return np.asarray(np.ma.masked_invalid(values).std(axis=-1, ddof=1).filled(np.nan))


def collect(
    study: Study,
    records: Mapping[CellKey, Record],
    *,
    parts: tuple[str, ...] = ("metrics",),
    measures: tuple[str, ...] = METRICS,
    title: str = "",
) -> Results | None:
    """Arrange the records of a study, data sets and methods in its order; None if there are none."""
    mine = {key: records[key] for key in sorted(records) if key.study == study.name}
    if not mine:
        return None
    datasets = _in_order(study.datasets, {key.dataset for key in mine})
    methods = _in_order(study.methods, {key.method for key in mine})
    seeds = tuple(sorted({key.seed for key in mine}))
    shape = len(datasets), len(methods), len(seeds)
    seconds = np.full(shape, np.nan)
    values = {part: np.full((*shape[:2], len(measures), shape[2]), np.nan) for part in parts}
    failures = []
    for key, record in mine.items():
        if record["error"] is not None:
            failures.append(f"{title}{key.dataset}, {key.method}, seed {key.seed}: {record['error']}")
            continue
        i, j, k = datasets.index(key.dataset), methods.index(key.method), seeds.index(key.seed)
        seconds[i, j, k] = sum(record["times"].values())
        for part in parts:
            values[part][i, j, :, k] = [(record[part] or {}).get(name) for name in measures]  # NaN for None
    beside = np.array([[printed(study.name, dataset, method) for method in methods] for dataset in datasets])
    return Results(study, datasets, methods, seeds, values, seconds, failures, beside)


def _in_order(known: tuple[str, ...], found: set[str]) -> tuple[str, ...]:
    return (*(name for name in known if name in found), *sorted(found - set(known)))
