"""The study of what came after the article: its regimes, the methods beside each other, and its cells.

A regime is a study of its own to the store and the fingerprints, named ``beyond`` (the noise of the benchmarks, seed
by seed the same) or ``beyond-...``. A cell measures a method twice: P1 (ML-kNN with the true labels of all training
rows in C components, as the article) under ``p1``, and end to end (noisy labels of some rows, nothing else) under
``metrics``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import FunctionTransformer, Normalizer

from .. import ResidualPropagation
from .._estimators._thresholds import prior_cutoffs
from .._methods import METHODS
from .._report.rival import logistic, logistic_cv, logistic_out_of_fold
from .cell import Measured, classify, measures
from .protocol import N_NEIGHBORS, TEN_SETS, Draw, Study, cells_of
from .store import CellKey

__all__ = ["BASE", "BEYOND_METHODS", "OURS", "REGIMES", "SIX_SETS", "beyond_cells", "measure_regime"]

SIX_SETS = ("Birds", "Emotions", "Genbase", "Medical", "Scene", "Yeast")

# The grid of ridge regression, on standardised features.
RIDGE_ALPHAS = tuple(np.logspace(0, 5, 11).tolist())


class Outcome(NamedTuple):
    """What a method has to say: scores end to end, perhaps its own predictions and an embedding."""

    scores: NDArray[Any]
    predicted: NDArray[Any] | None = None
    embedding: tuple[NDArray[Any], NDArray[Any]] | None = None


def _embedded(
    fit: Callable[[Draw], Any], method: str | None = None, *, shown: bool = True
) -> Callable[[Draw], Outcome]:
    """A map of the rows, and the ML-kNN that goes with it; ``shown``: with a P1 of its own."""

    def run(data: Draw) -> Outcome:
        reducer = fit(data)
        train, test = reducer.transform(data.train), reducer.transform(data.test)
        scores = classify(train, test, data, end_to_end=True, kind=METHODS.get(method or ""))
        return Outcome(scores, embedding=(train, test) if shown else None)

    return run


def _article(name: str, *, plain: bool = False) -> Callable[[Draw], Outcome]:
    """One of the article's methods, or its projection with ML-kNN on the labelled rows.

    It makes its own neighbour graph, so that the seconds compare.
    """

    def fit(data: Draw) -> Any:
        reducer: Any = METHODS[name](None, N_NEIGHBORS, n_jobs=1)
        return reducer.fit(data.train, data.given)

    return _embedded(fit, None if plain else name, shown=not plain)


def _pca(data: Draw) -> Any:
    return PCA(min(50, *data.train.shape), svd_solver="full").fit(data.train)


def _residual(threshold: float | str) -> Callable[[Draw], Outcome]:
    def run(data: Draw) -> Outcome:
        model = ResidualPropagation(threshold=threshold, n_neighbors=N_NEIGHBORS, n_jobs=1).fit(data.train, data.given)
        scores, predicted = model.decision_function(data.test), model.predict(data.test)
        if threshold != 0.5:  # the embedding is the same
            return Outcome(scores, predicted)
        return Outcome(scores, predicted, (model.transform(data.train), model.transform(data.test)))

    return run


def _predictor(predict: Callable[..., NDArray[Any]]) -> Callable[[Draw], Outcome]:
    """A classifier that sees the labelled rows alone and has no embedding."""
    return lambda data: Outcome(predict(data.train[data.labeled], data.given[data.labeled], data.test))


def _logistic_prior(data: Draw) -> Outcome:
    """Logistic regression with the cut-offs of Residual-prior: the same rule on the like scores of the same rows.

    A label's cut-off is the probability that as many training rows reach as its share of the labelled ones asks for;
    labelled rows count with their probability out of fold, unlabelled ones with that of the model.
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


OURS = "Residual"
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


BASE = Study(
    "beyond", TEN_SETS, tuple(BEYOND_METHODS), flip=0.1, labeled=0.3, n_components=None, end_to_end=True,
    title="10 % flips, 30 % labelled", noise="benchmarks",
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


def beyond_cells(**chosen: Any) -> list[CellKey]:
    """The cells, as `protocol.cells_of` chooses them, the base regime first and then seed by seed all others.

    Logistic regression with its strength by cross-validation, which fits 26 models for each label, runs on the six
    smaller sets, and in the base regime with the first seed on the others.
    """
    others = [study for study in REGIMES.values() if study is not BASE]
    cells = cells_of([BASE], **chosen) + cells_of(others, **chosen)
    return [key for key in cells if key.method != "Logistic-CV" or key.dataset in SIX_SETS or key.seed == 0]


def measure_regime(study: Study, method: str, data: Draw) -> Measured:
    """``metrics`` end to end, ``p1`` of the embedding (None where there is none)."""
    start = time.perf_counter()
    outcome = BEYOND_METHODS[method](data)
    times = {"classify": time.perf_counter() - start}
    found = {"metrics": measures(data.test_target, outcome.scores, outcome.predicted), "p1": None}
    if outcome.embedding is not None:
        found["p1"] = measures(data.test_target, classify(*outcome.embedding, data, end_to_end=False))
    return found, times
