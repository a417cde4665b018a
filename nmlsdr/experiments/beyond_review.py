"""The study's other question: which of the given labels are wrong, by kind of mistake, and what cleanlab says of them.

The rows, the noise and the share of labelled rows are those of the regimes; only the given labels of labelled rows are
ranked. A list has the average precision of its ranking: 1 if all wrong labels come first, else about their share.
cleanlab, an extra, gets the out-of-fold predictions that ResidualPropagation makes of the same fit, and those of
logistic regressions.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from .. import MultiLabelPropagation, ResidualPropagation
from .._errors import InputError
from .._report.rival import logistic_out_of_fold
from .._ridge import cross_fit
from .beyond import BASE, BEYOND_METHODS, OURS, SIX_SETS
from .cell import Measured
from .protocol import N_NEIGHBORS, Draw, Study, cells_of
from .results import Results, collect, mean
from .store import CellKey, Record
from .tables import Claims, Entry, ResultTable, best_in_bold, number, titled

__all__ = ["REVIEWERS", "REVIEWS", "beside_ours", "collect_review", "find_beyond_method", "has_cleanlab",
           "measure_review", "review_cells", "review_claims", "review_tables", "won"]  # fmt: skip

Floats = NDArray[np.float64]
KINDS = ("both", "missing", "spurious")
BEFORE, CHANCE = "Propagation", "chance"
GAIN, SEEDS = 2.0, 5  # points of average precision that the new score was to gain over the old one


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


_REVIEW = replace(BASE, datasets=SIX_SETS, methods=tuple(REVIEWERS))
FLIPS = replace(_REVIEW, name="beyond-review-flips", title="10 % flips")
DROPPED = replace(_REVIEW, name="beyond-review-dropped", title="40 % of the positives dropped", flip=0.0, dropped=0.4)
REVIEWS = {study.name: study for study in (FLIPS, DROPPED)}
PROMISED = {FLIPS.name: "both", DROPPED.name: "missing"}
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


def review_cells(**chosen: Any) -> list[CellKey]:
    """The cells of the review, seed by seed; without cleanlab's where it is not installed."""
    cells = cells_of(REVIEWS.values(), **chosen)
    return cells if has_cleanlab() else [key for key in cells if not key.method.startswith("cleanlab")]


def precisions(scores: Floats, given: NDArray[Any], wrong: NDArray[np.bool_]) -> dict[str, float | None]:
    """Average precision of the list of each kind; None where no label of the kind is wrong.

    "missing" lists given 0s, "spurious" given 1s, "both" all of them together.
    """
    found: dict[str, float | None] = {}
    for kind in KINDS:
        listed = np.ones(given.shape, dtype=bool) if kind == "both" else given == (kind == "spurious")
        found[kind] = float(average_precision_score(wrong[listed], scores[listed])) if wrong[listed].any() else None
    return found


def measure_review(study: Study, method: str, data: Draw) -> Measured:
    """``metrics`` by kind, and ``chance``, the same of a list in no order."""
    start = time.perf_counter()
    scores = REVIEWERS[method](data)
    times = {"embed": time.perf_counter() - start}
    given = data.given[data.labeled]
    wrong = given != data.target[data.labeled]
    chance = precisions(np.zeros(given.shape), given, wrong)
    return {"metrics": precisions(scores, given, wrong), CHANCE: chance}, times


# ---------------------------------------------------------------- what came out


def collect_review(study: Study, records: Mapping[CellKey, Record]) -> Results | None:
    """Arrange the records of a regime, with chance as the last method; None if there are none."""
    title = f"review, {study.title}: "
    found = collect(study, records, parts=("metrics", CHANCE), measures=KINDS, title=title)
    if found is None:
        return None
    chance = np.fmax.reduce(found.parts[CHANCE], axis=1, keepdims=True)  # the same beside every method
    values = np.concatenate([found.values, chance], axis=1)
    return replace(found, methods=(*found.methods, CHANCE), parts={"metrics": values})


def review_tables(found: list[Results]) -> list[ResultTable]:
    """The means of every noise and kind, and by data set the lists that were promised to gain."""
    methods = [*(name for name in REVIEWERS if any(name in results.methods for results in found)), CHANCE]
    summary = titled("beyond-review", ["Noise, list", *methods])
    by_set = []
    for results in found:
        title = results.study.title
        for m, kind in enumerate(KINDS):
            means = mean(results.percent(measure=m))
            if np.isnan(means).all():
                continue  # no label of the kind is wrong
            summary.add(f"{title}, {kind}", beside_ours(results, methods, means.mean(axis=0), measure=m))
            if kind == PROMISED[results.study.name]:
                values = {"noise": title, "kind": kind, "n_seeds": results.n_seeds}
                header = ["Data set", *results.methods]
                table = titled(results.study.name, header, "beyond-review-set", **values)
                for name, row in zip(results.datasets, means, strict=True):
                    table.add(name, best_in_bold(row, 1))
                by_set.append(table)
    return [summary, *by_set]


def beside_ours(
    results: Results, methods: list[str], means: Floats, *, measure: int | None = None, rows: Any = slice(None)
) -> list[Entry]:
    """Means of `methods`, and beside each rival on how many of the data sets `rows` ours is better."""
    shown = dict(zip(results.methods, means, strict=True))
    rivals = {name for name in results.methods if name != OURS} if OURS in results.methods else ()
    beside = [won(results.gaps(OURS, name, measure=measure)[rows]) if name in rivals else "" for name in methods]
    return best_in_bold(np.array([shown.get(name, np.nan) for name in methods]), 2 if measure is None else 1, beside)


def won(gaps: Floats) -> str:
    """How many of the known differences are positive."""
    return f"{int((gaps > 0).sum())} of {int((~np.isnan(gaps)).sum())}"


def review_claims(found: list[Results]) -> Claims:
    """What the score was to gain over the earlier one; open below six sets and five seeds."""
    said: Claims = []
    for results in found:
        if not {OURS, BEFORE} <= set(results.methods):
            continue
        kind = PROMISED[results.study.name]
        gap = results.gaps(OURS, BEFORE, measure=KINDS.index(kind))
        gap = gap[~np.isnan(gap)]
        if gap.size == 0:
            continue
        gain = float(gap.mean())
        decided = gap.size == len(SIX_SETS) and results.n_seeds >= SEEDS
        text = (
            f"review, {results.study.title}, {kind}: at least {GAIN:g} points of average precision over {BEFORE}: "
            f"{number(gain, 2, sign=True)} on {gap.size} sets"
        )
        said.append((text, gain >= GAIN if decided else None))
    return said
