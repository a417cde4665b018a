"""Arrays of results by data set, method, measure and seed, with the article's values for comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .protocol import Study
from .store import CellKey, Record
from .tables import resource

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """The results of one study.

    Attributes
    ----------
    study : Study
    datasets, methods, seeds : tuple
        Those with at least one record.
    parts : dict of str to ndarray (n_datasets, n_methods, n_measures, n_seeds)
        By the parts of the study's records, which `Study` names; NaN where there is no result.
    seconds : ndarray (n_datasets, n_methods, n_seeds)
    failures : list of str
        One line for each failed cell.
    """

    study: Study
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    parts: dict[str, Floats]
    seconds: Floats
    failures: list[str]

    @property
    def n_seeds(self) -> int:
        return len(self.seeds)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the study, with the data sets, methods and number of seeds that have records."""
        return {**asdict(self.study), "datasets": self.datasets, "methods": self.methods, "seeds": self.n_seeds}

    @property
    def printed(self) -> Floats:
        """The article's values (n_datasets, n_methods, n_measures); NaN where it prints none."""
        article = resource("article.json").get(self.study.name, {})
        none = [np.nan] * len(self.study.measures)
        by_set = [article.get(name, {}) for name in self.datasets]
        return np.array([[printed.get(method, none) for method in self.methods] for printed in by_set])

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
        """One measure, or by default the mean of all, in percent (n_datasets, n_methods, n_seeds)."""
        values = self.parts[part]
        return 100.0 * (values.mean(axis=2) if measure is None else values[:, :, measure])

    def gaps(self, first: str, second: str, part: str = "metrics", measure: int | None = None) -> Floats:
        """Mean difference of two methods on each data set, in percent, over the seeds that have both; NaN if none."""
        values = self.percent(part, measure)
        return mean(values[:, self.methods.index(first)] - values[:, self.methods.index(second)])

    def of(self, methods: Iterable[str]) -> Results:
        """The same for some of the methods, in the order given; those without records are left out."""
        chosen = tuple(method for method in methods if method in self.methods)
        index = [self.methods.index(method) for method in chosen]
        parts = {part: values[:, index] for part, values in self.parts.items()}
        return replace(self, methods=chosen, parts=parts, seconds=self.seconds[:, index])


def mean(values: Floats) -> Floats:
    """The mean over the last axis, without NaN; NaN where nothing is left."""
    return np.asarray(np.ma.masked_invalid(values).mean(axis=-1).filled(np.nan))


def std(values: Floats) -> Floats:
    """The standard deviation (n - 1) over the last axis, without NaN; NaN where fewer than two are left."""
    return np.asarray(np.ma.masked_invalid(values).std(axis=-1, ddof=1).filled(np.nan))


def collect(study: Study, records: Mapping[CellKey, Record]) -> Results | None:
    """Arrange the records of a study, data sets and methods in its order; None if there are none."""
    mine = {key: records[key] for key in sorted(records) if key.study == study.name}
    if not mine:
        return None
    datasets = _in_order(study.datasets, {key.dataset for key in mine})
    methods = _in_order(study.methods, {key.method for key in mine})
    seeds = tuple(sorted({key.seed for key in mine}))
    shape = len(datasets), len(methods), len(seeds)
    seconds = np.full(shape, np.nan)
    values = {part: np.full((*shape[:2], len(study.measures), shape[2]), np.nan) for part in study.parts}
    failures = []
    for key, record in mine.items():
        if record["error"] is not None:
            failures.append(f"{key.study}, {key.dataset}, {key.method}, seed {key.seed}: {record['error']}")
            continue
        i, j, k = datasets.index(key.dataset), methods.index(key.method), seeds.index(key.seed)
        seconds[i, j, k] = sum(record["times"].values())
        for part in study.parts:
            values[part][i, j, :, k] = [(record[part] or {}).get(name) for name in study.measures]  # None becomes NaN
    return Results(study, datasets, methods, seeds, values, seconds, failures)


def _in_order(known: tuple[str, ...], found: set[str]) -> tuple[str, ...]:
    return (*(name for name in known if name in found), *sorted(found - set(known)))
