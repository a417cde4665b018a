"""The study's other question: which of the given labels are wrong, by kind of mistake, and what cleanlab says of them.

The rows, the noise and the share of labelled rows are those of the regimes; only the given labels of labelled rows are
ranked. A list has the average precision of its ranking: 1 if all wrong labels come first, else about their share.
cleanlab, an extra, gets the out-of-fold predictions that ResidualPropagation makes of the same fit, and those of
logistic regressions.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from .. import MultiLabelPropagation, ResidualPropagation
from .._errors import InputError
from ..ridge import cross_fit
from .beyond import BEYOND_METHODS, OURS, SIX_SETS, Regime, draw_regime, logistic_out_of_fold
from .cell import recorded
from .protocol import N_NEIGHBORS, Draw
from .results import cells_of, mean_gaps, numbers, over_seeds
from .store import CellKey
from .tables import Entry, Table, number

__all__ = ["REVIEWERS", "REVIEWS", "ReviewResults", "collect_review", "find_beyond_method", "has_cleanlab",
           "review_cells", "review_claims", "review_tables", "run_review_cell"]  # fmt: skip

Floats = NDArray[np.float64]
KINDS = ("both", "missing", "spurious")
BEFORE = "Propagation"
GAIN, SEEDS = 2.0, 5  # points of average precision that the new score was to gain over the old one

REVIEWS = {
    regime.name: regime
    for regime in (
        Regime("beyond-review-flips", SIX_SETS, (), 0.1, 0.3, None, True, (), 0.0, "10 % flips"),
        Regime("beyond-review-dropped", SIX_SETS, (), 0.0, 0.3, None, True, (), 0.4, "40 % of the positives dropped"),
    )
}
PROMISED = {"beyond-review-flips": "both", "beyond-review-dropped": "missing"}


def _residual(data: Draw) -> Floats:
    model = ResidualPropagation(n_neighbors=N_NEIGHBORS, n_jobs=1).fit(data.train, data.given)
    return np.asarray(model.flip_scores_[data.labeled])


def _propagation(data: Draw) -> Floats:
    """|F - Y|, what a review was ranked by before."""
    model = MultiLabelPropagation(n_neighbors=N_NEIGHBORS, n_jobs=1).fit(data.train, data.given)
    return np.asarray(model.flip_scores_[data.labeled])


def _cleanlab(data: Draw, proba: Floats, *, adjusted: bool = False) -> Floats:
    """1 - cleanlab's self-confidence of each given label, from probabilities of each label out of fold."""
    from cleanlab.rank import get_label_quality_scores

    given = data.given[data.labeled]
    scores = np.empty(given.shape)
    for c, p in enumerate(np.clip(proba, 0.0, 1.0).T):
        both = bool(given[:, c].any() and not given[:, c].all())  # a mean over its rows adjusts a value
        scores[:, c] = 1.0 - get_label_quality_scores(
            given[:, c], np.column_stack([1.0 - p, p]), method="self_confidence", adjust_pred_probs=adjusted and both
        )
    return scores


def _out_of_fold(data: Draw) -> Floats:
    return cross_fit(data.train[data.labeled], data.given[data.labeled]).predictions


def _logistic(data: Draw) -> Floats:
    return np.asarray(logistic_out_of_fold(data.train[data.labeled], data.given[data.labeled]))


REVIEWERS: dict[str, Callable[[Draw], Floats]] = {
    OURS: _residual,
    BEFORE: _propagation,
    "cleanlab": lambda data: _cleanlab(data, _out_of_fold(data)),
    "cleanlab-adjusted": lambda data: _cleanlab(data, _out_of_fold(data), adjusted=True),
    "cleanlab-logistic": lambda data: _cleanlab(data, _logistic(data)),
}
NAMES = (
    f"Review of the given labels of the labelled rows, which are as many as in the base regime. {OURS}: flip_scores_ "
    f"of ResidualPropagation; {BEFORE}: those of MultiLabelPropagation, |F - Y|. cleanlab: its self-confidence from "
    "the out-of-fold predictions of the same ResidualPropagation; cleanlab-adjusted: with its adjustment by the mean "
    "confidence of each class; cleanlab-logistic: from out-of-fold probabilities of logistic regressions (C = .01)."
)
WITHOUT = "cleanlab is not installed, so its lists are left out; pip install cleanlab and start the same command again."


def has_cleanlab() -> bool:
    """Whether the extra is installed."""
    return importlib.util.find_spec("cleanlab") is not None


def find_beyond_method(name: str) -> str:
    """A method of the study, of its predictions or of its review, by name in any case.

    Examples
    --------
    >>> find_beyond_method("residual"), find_beyond_method("mlknn-COSINE")
    ('Residual', 'MLkNN-cosine')
    """
    known = list(dict.fromkeys([*BEYOND_METHODS, *REVIEWERS]))
    keys = {key.lower(): key for key in known}
    key = keys.get(name.strip().lower())
    if key is None:
        raise InputError(f"This study has no method named {name!r}; choose among {', '.join(known)}.")
    return key


def review_cells(
    *, seeds: int, datasets: tuple[str, ...] | None = None, methods: tuple[str, ...] | None = None
) -> list[CellKey]:
    """The cells of the review, seed by seed; without cleanlab's where it is not installed."""
    return [
        CellKey(review.name, dataset, method, seed)
        for seed in range(seeds)
        for review in REVIEWS.values()
        for dataset in review.datasets
        if datasets is None or dataset in datasets
        for method in REVIEWERS
        if (methods is None or method in methods) and (not method.startswith("cleanlab") or has_cleanlab())
    ]


def precisions(scores: Floats, given: NDArray[Any], wrong: NDArray[np.bool_]) -> dict[str, float | None]:
    """Average precision of the list of each kind; None where no label of the kind is wrong.

    "missing" lists given 0s, "spurious" given 1s, "both" all of them together.
    """
    found: dict[str, float | None] = {}
    for kind in KINDS:
        listed = np.ones(given.shape, dtype=bool) if kind == "both" else given == (kind == "spurious")
        found[kind] = float(average_precision_score(wrong[listed], scores[listed])) if wrong[listed].any() else None
    return found


def run_review_cell(key: CellKey, *, size: str, data_home: str | None, fingerprint: str) -> dict[str, Any]:
    """Compute one cell on one thread: ``metrics`` by kind, and ``chance``, the same of a list in no order."""

    def measure() -> tuple[dict[str, Any], dict[str, float]]:
        data = draw_regime(REVIEWS[key.study], key.dataset, key.seed, size, data_home)
        start = time.perf_counter()
        scores = REVIEWERS[key.method](data)
        seconds = time.perf_counter() - start
        given = data.given[data.labeled]
        wrong = given != data.target[data.labeled]
        found = {
            "metrics": precisions(scores, given, wrong),
            "chance": precisions(np.zeros(given.shape), given, wrong),
        }
        return found, {"embed": seconds}

    return recorded(key, measure, size=size, fingerprint=fingerprint)


# ---------------------------------------------------------------- what came out


@dataclass(frozen=True)
class ReviewResults:
    """The results of one regime of the review.

    Attributes
    ----------
    regime : Regime
    datasets, methods, seeds : tuple
        Those with at least one record; the last method is "chance".
    values : ndarray (n_datasets, n_methods, n_kinds, n_seeds)
        Average precision in percent; NaN where there is none.
    failures : list of str
    """

    regime: Regime
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    values: Floats
    failures: list[str]

    def means(self, kind: str) -> Floats:
        """Over the seeds, (n_datasets, n_methods)."""
        return over_seeds(self.values[:, :, KINDS.index(kind)], 1, lambda v: v.mean())

    def gaps(self, first: str, second: str, kind: str) -> Floats:
        """By data set the mean of first minus second over the seeds that have both; NaN where none has."""
        return mean_gaps(self.values[:, :, KINDS.index(kind)], self.methods, first, second)


def collect_review(regime: Regime, records: dict[CellKey, dict[str, Any]]) -> ReviewResults | None:
    """Arrange the records of a regime; None if there are none."""
    cells = cells_of(regime.name, records, regime.datasets, tuple(REVIEWERS), f"review, {regime.title}: ")
    if cells is None:
        return None
    methods = (*cells.methods, "chance")
    values = np.full((len(cells.datasets), len(methods), len(KINDS), len(cells.seeds)), np.nan)
    for i, j, k, record in cells.finished:
        for place, said in ((j, record["metrics"]), (-1, record["chance"])):
            values[i, place, :, k] = 100.0 * np.array(numbers(said[kind] for kind in KINDS))
    return ReviewResults(regime, cells.datasets, methods, cells.seeds, values, cells.failures)


def _entries(values: Floats) -> list[Entry]:
    known = values[~np.isnan(values)]
    best = round(float(known.max()), 1) if known.size else np.nan
    return [Entry(number(v, 1), bold=bool(round(float(v), 1) == best)) for v in values]


def review_tables(found: list[ReviewResults]) -> list[Table]:
    """The means of every noise and kind, and by data set the lists that were promised to gain."""
    methods = [*(name for name in REVIEWERS if any(name in results.methods for results in found)), "chance"]
    summary = Table(
        "beyond-review",
        "Review: average precision of the list in percent, by noise and kind of the labels listed.",
        ["Noise, list", *methods],
        note=f"Means over the data sets and seeds. Small: data sets on which {OURS} is better. Best in bold. both: "
        "given 0s and 1s in one list; missing: given 0s; spurious: given 1s.",
    )
    by_set = []
    for results in found:
        for kind in KINDS:
            means = results.means(kind)
            if np.isnan(means).all():
                continue  # no label of the kind is wrong
            shown = dict(zip(results.methods, means.mean(axis=0), strict=True))
            entries = _entries(np.array([shown.get(name, np.nan) for name in methods]))
            for place, name in enumerate(methods):
                if name in results.methods and OURS in results.methods and name != OURS:
                    gap = results.gaps(OURS, name, kind)
                    beside = f"{int((gap > 0).sum())} of {int((~np.isnan(gap)).sum())}"
                    entries[place] = Entry(entries[place].text, beside, entries[place].bold)
            summary.rows.append((f"{results.regime.title}, {kind}", entries))
            if kind == PROMISED[results.regime.name]:
                table = Table(
                    results.regime.name,
                    f"Review by data set: average precision in percent, {results.regime.title}, {kind}.",
                    ["Data set", *results.methods],
                    note=f"Means over {len(results.seeds)} seeds. Best in bold.",
                )
                table.rows += [(name, _entries(row)) for name, row in zip(results.datasets, means, strict=True)]
                by_set.append(table)
    return [summary, *by_set]


def review_claims(found: list[ReviewResults]) -> list[tuple[str, bool | None]]:
    """What the score was to gain over the earlier one; open below six sets and five seeds."""
    said: list[tuple[str, bool | None]] = []
    for results in found:
        if not {OURS, BEFORE} <= set(results.methods):
            continue
        kind = PROMISED[results.regime.name]
        gap = results.gaps(OURS, BEFORE, kind)
        gap = gap[~np.isnan(gap)]
        if gap.size == 0:
            continue
        gain = float(gap.mean())
        decided = gap.size == len(SIX_SETS) and len(results.seeds) >= SEEDS
        text = (
            f"review, {results.regime.title}, {kind}: at least {GAIN:g} points of average precision over {BEFORE}: "
            f"{number(gain, 2, sign=True)} on {gap.size} sets"
        )
        said.append((text, gain >= GAIN if decided else None))
    return said
