"""The study of what came after the article: its regimes of noise, the methods and reviews compared, and its cells.

A regime is a study of its own for cells and fingerprints, named ``beyond`` (the noise of the benchmarks, seed by seed
the same) or ``beyond-...``. A cell of a method has two results: ``p1`` is ML-kNN with the true labels of all training
rows in C components, as in the article; ``metrics`` is end to end, from the noisy labels of some rows alone.

A cell of a review ranks the given labels of the labelled rows, the likeliest wrong one first. Its ``metrics`` are the
average precision of that list by kind of mistake: 1 if all wrong labels come first, about their share if they stand
anywhere, which is ``chance``. cleanlab, an extra, gets the out-of-fold predictions that ResidualPropagation makes
of the same fit, and those of logistic regressions.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import FunctionTransformer, Normalizer

from .. import MultiLabelPropagation, ResidualPropagation
from .._estimators._thresholds import prior_cutoffs, rank_scores
from .._methods import METHODS
from .._report.rival import logistic, logistic_cv, logistic_out_of_fold
from .._ridge import cross_fit
from .cell import Measured, classify, measures
from .protocol import N_NEIGHBORS, TEN_SETS, Draw, Study, cells_of
from .store import CellKey

Floats = NDArray[np.float64]
SIX_SETS = ("Birds", "Emotions", "Genbase", "Medical", "Scene", "Yeast")
RIDGE_ALPHAS = tuple(np.logspace(0, 5, 11).tolist())  # the grid of ridge regression, on standardised features
KINDS = ("both", "missing", "spurious")
OURS, CHANCE = "Residual", "chance"


# ---------------------------------------------------------------- methods


class Outcome(NamedTuple):
    """Scores of the test rows end to end, perhaps with the method's own predictions and an embedding of all rows."""

    scores: NDArray[Any]
    predicted: NDArray[Any] | None = None
    embedding: tuple[NDArray[Any], NDArray[Any]] | None = None


def _embedded(
    fit: Callable[[Draw], Any], method: str | None = None, *, shown: bool = True
) -> Callable[[Draw], Outcome]:
    """An embedding with the ML-kNN that goes with it; `shown`: it is also measured by P1."""

    def run(data: Draw) -> Outcome:
        reducer = fit(data)
        train, test = reducer.transform(data.train), reducer.transform(data.test)
        scores = classify(train, test, data, end_to_end=True, kind=METHODS.get(method or ""))
        return Outcome(scores, embedding=(train, test) if shown else None)

    return run


def _article(name: str, *, plain: bool = False) -> Callable[[Draw], Outcome]:
    """One of the article's methods, or its projection with ML-kNN on the labelled rows.

    It makes its own neighbour graph, so that the times of the methods can be compared.
    """

    def fit(data: Draw) -> Any:
        reducer: Any = METHODS[name](None, N_NEIGHBORS, n_jobs=1)
        return reducer.fit(data.train, data.given)

    return _embedded(fit, None if plain else name, shown=not plain)


def _pca(data: Draw) -> Any:
    return PCA(min(50, *data.train.shape), svd_solver="full").fit(data.train)


def _residual(threshold: float | str) -> Callable[[Draw], Outcome]:
    def run(data: Draw) -> Outcome:
        model = ResidualPropagation(
            n_estimators=0, residual_weight=1.0, threshold=threshold, n_neighbors=N_NEIGHBORS, n_jobs=1
        ).fit(data.train, data.given)
        scores, predicted = rank_scores(model, data.test), model.predict(data.test)
        if threshold != 0.5:  # the embedding is that of threshold 0.5
            return Outcome(scores, predicted)
        return Outcome(scores, predicted, (model.transform(data.train), model.transform(data.test)))

    return run


def _predictor(predict: Callable[..., NDArray[Any]]) -> Callable[[Draw], Outcome]:
    """A classifier that is fitted on the labelled rows alone and has no embedding."""
    return lambda data: Outcome(predict(data.train[data.labeled], data.given[data.labeled], data.test))


def _logistic_prior(data: Draw) -> Outcome:
    """Logistic regression with cut-offs by the rule of Residual-prior.

    A label's cut-off is chosen so that the label is predicted for as large a share of the training rows as the share of
    labelled rows that have it. Labelled rows get out-of-fold probabilities, unlabelled rows those of the model.
    """
    rows = data.labeled
    X, Y = data.train[rows], data.given[rows]
    both = logistic(X, Y, np.concatenate([data.train, data.test]))
    training, scores = both[: len(data.train)], both[len(data.train) :]
    training[rows] = logistic_out_of_fold(X, Y)
    predicted = scores >= prior_cutoffs(training, Y.mean(axis=0))
    return Outcome(scores, predicted.astype(np.int64))


def _ridge(X: NDArray[Any], Y: NDArray[Any], queries: NDArray[Any]) -> NDArray[Any]:
    """Ridge regression of the labels, its strength by leave-one-out."""
    return np.asarray(RidgeCV(alphas=RIDGE_ALPHAS).fit(X, Y).predict(queries)).reshape(len(queries), -1)


BEYOND_METHODS: dict[str, Callable[[Draw], Outcome]] = {
    OURS: _residual(0.5),
    "Residual-prior": _residual("prior"),
    "NMLSDR": _article("NMLSDR"),
    "NMLSDR*": _article("NMLSDR*"),
    "NMLSDR-MLkNN": _article("NMLSDR", plain=True),
    "MDDMp": _article("MDDMp"),
    "PCA-50": _embedded(_pca),
    "MLkNN": _embedded(lambda data: FunctionTransformer()),
    "MLkNN-cosine": _embedded(lambda data: Normalizer().fit(data.train)),
    "Logistic": _predictor(logistic),
    "Logistic-prior": _logistic_prior,
    "Logistic-CV": _predictor(logistic_cv),
    "Ridge": _predictor(_ridge),
}


# ---------------------------------------------------------------- reviews


def _flip_scores(estimator: type[Any]) -> Callable[[Draw], Floats]:
    def scores(data: Draw) -> Floats:
        model = estimator(n_neighbors=N_NEIGHBORS, n_jobs=1).fit(data.train, data.given)
        return np.asarray(model.flip_scores_[data.labeled])

    return scores


def _cleanlab(out_of_fold: Callable[..., Floats], *, adjusted: bool = False) -> Callable[[Draw], Floats]:
    """1 - cleanlab's self-confidence of each given label, from probabilities of each label out of fold."""

    def scores(data: Draw) -> Floats:
        from cleanlab.rank import get_label_quality_scores

        given = data.given[data.labeled]
        proba = np.clip(out_of_fold(data.train[data.labeled], given), 0.0, 1.0)
        quality = np.empty(given.shape)
        for c, p in enumerate(proba.T):
            both = bool(given[:, c].any() and not given[:, c].all())  # the adjustment needs rows of both values
            quality[:, c] = get_label_quality_scores(
                given[:, c],
                np.column_stack([1.0 - p, p]),
                method="self_confidence",
                adjust_pred_probs=adjusted and both,
            )
        return 1.0 - quality

    return scores


def _ridge_out_of_fold(X: Floats, Y: NDArray[Any]) -> Floats:
    return cross_fit(X, Y).predictions


REVIEWERS: dict[str, Callable[[Draw], Floats]] = {
    OURS: _flip_scores(ResidualPropagation),
    "Propagation": _flip_scores(MultiLabelPropagation),
    "cleanlab": _cleanlab(_ridge_out_of_fold),
    "cleanlab-adjusted": _cleanlab(_ridge_out_of_fold, adjusted=True),
    "cleanlab-logistic": _cleanlab(logistic_out_of_fold),
}


# ---------------------------------------------------------------- studies and cells


BASE = Study(
    "beyond", TEN_SETS, tuple(BEYOND_METHODS), flip=0.1, labeled=0.3, n_components=None, end_to_end=True,
    title="10 % flips, 30 % labelled", noise="benchmarks", parts=("metrics", "p1"),
)  # fmt: skip
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "flips-0": ("no flips", {"flip": 0.0}),
    "flips-20": ("20 % flips", {"flip": 0.2}),
    "flips-30": ("30 % flips", {"flip": 0.3}),
    "labelled-5": ("5 % labelled", {"labeled": 0.05}),
    "labelled-10": ("10 % labelled", {"labeled": 0.1}),
    "labelled-50": ("50 % labelled", {"labeled": 0.5}),
    "dropped-30": ("30 % of the positives dropped", {"flip": 0.0, "dropped": 0.3}),
    "dropped-50": ("50 % of the positives dropped", {"flip": 0.0, "dropped": 0.5}),
}
REGIMES = {"beyond": BASE} | {
    f"beyond-{name}": replace(BASE, name=f"beyond-{name}", title=title, datasets=SIX_SETS, **changes)
    for name, (title, changes) in VARIANTS.items()
}
_REVIEW = replace(BASE, datasets=SIX_SETS, methods=tuple(REVIEWERS), measures=KINDS, parts=("metrics", CHANCE))
REVIEWS = {
    study.name: study
    for study in (
        replace(_REVIEW, name="beyond-review-flips", title="10 % flips"),
        replace(_REVIEW, name="beyond-review-dropped", title="40 % of the positives dropped", flip=0.0, dropped=0.4),
    )
}


def has_cleanlab() -> bool:
    """Whether the extra is installed."""
    return importlib.util.find_spec("cleanlab") is not None


def beyond_cells(**chosen: Any) -> list[CellKey]:
    """The cells, as `protocol.cells_of` chooses them: the base regime, then seed by seed the others, then the reviews.

    Logistic regression with its strength by cross-validation, which fits 26 models for each label, runs on the six
    smaller sets, and in the base regime with the first seed on the others. cleanlab's lists need cleanlab.
    """
    others = [study for study in REGIMES.values() if study is not BASE]
    cells = cells_of([BASE], **chosen) + cells_of(others, **chosen) + cells_of(REVIEWS.values(), **chosen)
    left_out = () if has_cleanlab() else tuple(name for name in REVIEWERS if name.startswith("cleanlab"))
    return [
        key
        for key in cells
        if key.method not in left_out and (key.method != "Logistic-CV" or key.dataset in SIX_SETS or key.seed == 0)
    ]


def measure(study: Study, method: str, data: Draw) -> Measured:
    """The results of a cell, as the head of this file says, and its seconds."""
    return (measure_review if study.name in REVIEWS else measure_predictions)(method, data)


def measure_predictions(method: str, data: Draw) -> Measured:
    """``metrics`` end to end, ``p1`` of the embedding (None where there is none)."""
    start = time.perf_counter()
    outcome = BEYOND_METHODS[method](data)
    times = {"classify": time.perf_counter() - start}
    found = {"metrics": measures(data.test_target, outcome.scores, outcome.predicted), "p1": None}
    if outcome.embedding is not None:
        found["p1"] = measures(data.test_target, classify(*outcome.embedding, data, end_to_end=False))
    return found, times


def precisions(scores: Floats, given: NDArray[Any], wrong: NDArray[np.bool_]) -> dict[str, float | None]:
    """Average precision of the list of each kind; None where no label of the kind is wrong.

    "missing" lists given 0s, "spurious" given 1s, "both" all of them together.
    """
    found: dict[str, float | None] = {}
    for kind in KINDS:
        listed = np.ones(given.shape, dtype=bool) if kind == "both" else given == (kind == "spurious")
        found[kind] = float(average_precision_score(wrong[listed], scores[listed])) if wrong[listed].any() else None
    return found


def measure_review(method: str, data: Draw) -> Measured:
    """``metrics`` by kind of mistake, and ``chance``: the same of a list in which all scores are equal."""
    start = time.perf_counter()
    scores = REVIEWERS[method](data)
    times = {"embed": time.perf_counter() - start}
    given = data.given[data.labeled]
    wrong = given != data.target[data.labeled]
    chance = precisions(np.zeros(given.shape), given, wrong)
    return {"metrics": precisions(scores, given, wrong), CHANCE: chance}, times
