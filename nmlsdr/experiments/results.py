"""From records to arrays: our results by data set, method, measure and seed, and the article's beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .protocol import METRICS, Study
from .store import CellKey

__all__ = ["Cells", "Results", "article", "cells_of", "collect", "mean_gaps", "numbers", "over_seeds", "printed"]

Floats = NDArray[np.float64]


@cache
def article() -> dict[str, Any]:
    """What the article prints (``article.json``)."""
    text = resources.files("nmlsdr.experiments").joinpath("article.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def printed(study: str, dataset: str, method: str) -> Floats:
    """The article's seven values of a cell; NaN where it prints none."""
    if study == "toy":
        values = article()["toy"].get(method)
    elif study == "benchmarks":
        values = article()["benchmarks"].get(dataset, {}).get(method)
    else:
        values = article()["case_study"].get(method, {}).get("mean")
    return np.full(len(METRICS), np.nan) if values is None else np.array(values)


@dataclass(frozen=True)
class Results:
    """The results of one study.

    Attributes
    ----------
    study : Study
    datasets, methods : tuple of str
        Those with at least one record.
    values : ndarray (n_datasets, n_methods, n_metrics, n_seeds)
        NaN where there is no result.
    printed : ndarray (n_datasets, n_methods, n_metrics)
        The article's values, NaN where it has none.
    failures : list of str
        One sentence for each failed cell.
    """

    study: Study
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    values: Floats
    printed: Floats
    failures: list[str]

    @property
    def n_seeds(self) -> int:
        return self.values.shape[-1]

    @property
    def mean(self) -> Floats:
        """Means over the seeds that have a result."""
        return over_seeds(self.values, 1, lambda v: v.mean())

    @property
    def std(self) -> Floats:
        """Standard deviations (n - 1) over the seeds; NaN below two."""
        return over_seeds(self.values, 2, lambda v: v.std(ddof=1))

    @property
    def difference(self) -> Floats:
        """Our mean minus the printed value."""
        return self.mean - self.printed

    def within_two_std(self) -> NDArray[np.bool_]:
        """Where the printed value is within two of our standard deviations of our mean.

        The printed value has three decimals, so half of the last one is allowed in addition.
        """
        return np.abs(self.difference) <= 2.0 * self.std + 0.0005

    def of(self, methods: Iterable[str]) -> Results:
        """The same for some of the methods, in the order given; those without records are left out."""
        chosen = tuple(method for method in methods if method in self.methods)
        index = [self.methods.index(method) for method in chosen]
        return Results(self.study, self.datasets, chosen, self.values[:, index], self.printed[:, index], self.failures)


def over_seeds(values: Floats, least: int, statistic: Any) -> Floats:
    """A statistic over the last axis, without NaN; NaN where fewer than `least` numbers are left."""
    result = np.full(values.shape[:-1], np.nan)
    for index in np.ndindex(result.shape):
        known = values[index][~np.isnan(values[index])]
        if known.size >= least:
            result[index] = statistic(known)
    return result


def mean_gaps(values: Floats, methods: tuple[str, ...], first: str, second: str) -> Floats:
    """By data set the mean of first minus second over the seeds that have both; NaN where none has.

    ``values`` is (n_datasets, n_methods, n_seeds).
    """
    gap = values[:, methods.index(first)] - values[:, methods.index(second)]
    return over_seeds(gap, 1, lambda v: v.mean())


class Cells(NamedTuple):
    """The records of a study: what they span, and where each stands in it."""

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    finished: list[tuple[int, int, int, dict[str, Any]]]  # place of data set, method and seed; the record
    failures: list[str]


def cells_of(
    study: str,
    records: dict[CellKey, dict[str, Any]],
    datasets: tuple[str, ...],
    methods: tuple[str, ...],
    title: str = "",
) -> Cells | None:
    """The cells of a study, data sets and methods in the order given; None if there are none."""
    mine = {key: record for key, record in records.items() if key.study == study}
    if not mine:
        return None
    datasets = tuple(_in_order(datasets, {key.dataset for key in mine}))
    methods = tuple(_in_order(methods, {key.method for key in mine}))
    seeds = tuple(sorted({key.seed for key in mine}))
    cells = Cells(datasets, methods, seeds, [], [])
    for key in sorted(mine):
        record = mine[key]
        if record["error"] is not None:
            cells.failures.append(f"{title}{key.dataset}, {key.method}, seed {key.seed}: {record['error']}")
            continue
        place = datasets.index(key.dataset), methods.index(key.method), seeds.index(key.seed)
        cells.finished.append((*place, record))
    return cells


def numbers(values: Iterable[Any]) -> list[float]:
    """NaN for null."""
    return [np.nan if value is None else value for value in values]


def collect(study: Study, records: dict[CellKey, dict[str, Any]]) -> Results | None:
    """Arrange the records of a study, in the article's order; None if there are none."""
    cells = cells_of(study.name, records, study.datasets, study.methods)
    if cells is None:
        return None
    datasets, methods = cells.datasets, cells.methods
    values = np.full((len(datasets), len(methods), len(METRICS), len(cells.seeds)), np.nan)
    for i, j, k, record in cells.finished:
        values[i, j, :, k] = numbers(record["metrics"][name] for name in METRICS)
    beside = np.array([[printed(study.name, dataset, method) for method in methods] for dataset in datasets])
    return Results(study, datasets, methods, values, beside, cells.failures)


def _in_order(known: tuple[str, ...], present: set[str]) -> list[str]:
    return [name for name in known if name in present] + sorted(present - set(known))
