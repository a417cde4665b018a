"""The study of what came after the article: its regimes, the methods beside each other, and its cells.

A regime is a study of its own to the store and the fingerprints, named ``beyond`` (the noise of the benchmarks, seed
by seed the same) or ``beyond-...``. A cell measures a method twice: P1 (ML-kNN with the true labels of all training
rows in C components, as the article) under ``p1``, and end to end (noisy labels of some rows, nothing else) under
``metrics``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold
from sklearn.preprocessing import Normalizer

from .. import ResidualPropagation
from .._cutoffs import prior_cutoffs
from .._methods import METHODS
from ..datasets import flip_labels, mask_labels
from .cell import classify, measures, recorded
from .protocol import N_NEIGHBORS, TEN_SETS, Draw, Study, base_rows, seed_sequence
from .store import CellKey

__all__ = ["BASE", "BEYOND_METHODS", "OURS", "REGIMES", "SIX_SETS", "Regime", "beyond_cells", "draw_regime",
           "logistic_out_of_fold", "run_beyond_cell"]  # fmt: skip

SIX_SETS = ("Birds", "Emotions", "Genbase", "Medical", "Scene", "Yeast")

# The grids of the rivals, on standardised features.
LOGISTIC_GRID = (0.001, 0.01, 0.1, 1.0, 10.0)
LOGISTIC_SPLITS = 5
LOGISTIC_ITERATIONS = 500
NEWTON_DIMENSIONS = 350
RIDGE_ALPHAS = tuple(np.logspace(0, 5, 11).tolist())


@dataclass(frozen=True)
class Regime(Study):
    """A study with one-sided noise too.

    Attributes
    ----------
    dropped : float
        Probability that a given 1 of a training row is forgotten.
    title : str
        As the tables name it.
    """

    dropped: float = 0.0
    title: str = ""


class Outcome(NamedTuple):
    """What a method has to say: scores end to end, perhaps its own predictions and an embedding, and seconds."""

    scores: NDArray[Any]
    predicted: NDArray[Any] | None
    embedding: tuple[NDArray[Any], NDArray[Any]] | None
    times: dict[str, float]


def _embedded(
    fit: Callable[[Draw], Any], method: str | None = None, *, shown: bool = True
) -> Callable[[Draw], Outcome]:
    """A map of the rows, and the ML-kNN that goes with it; ``shown``: with a P1 of its own."""

    def run(data: Draw) -> Outcome:
        start = time.perf_counter()
        reducer = fit(data)
        train, test = reducer.transform(data.train), reducer.transform(data.test)
        embedded = time.perf_counter()
        scores = classify(train, test, data, end_to_end=True, kind=METHODS.get(method or ""))
        return Outcome(scores, None, (train, test) if shown else None, _times(start, embedded))

    return run


def _article(name: str, *, plain: bool = False) -> Callable[[Draw], Outcome]:
    """One of the article's methods, or its projection with ML-kNN on the labelled rows.

    It makes its own neighbour graph, so that the seconds compare.
    """

    def fit(data: Draw) -> Any:
        return _fitted(METHODS[name](None, N_NEIGHBORS, n_jobs=1), data)

    return _embedded(fit, None if plain else name, shown=not plain)


def _fitted(reducer: Any, data: Draw) -> Any:
    return reducer.fit(data.train, data.given)


def _pca(data: Draw) -> Any:
    return PCA(min(50, *data.train.shape), svd_solver="full").fit(data.train)


class _Rows:
    """The rows themselves."""

    def transform(self, X: NDArray[Any]) -> NDArray[Any]:
        return X


def _residual(decision: str) -> Callable[[Draw], Outcome]:
    def run(data: Draw) -> Outcome:
        start = time.perf_counter()
        model = ResidualPropagation(decision=decision, n_neighbors=N_NEIGHBORS, n_jobs=1).fit(data.train, data.given)
        fitted = time.perf_counter()
        scores, predicted = model.decision_function(data.test), model.predict(data.test)
        times = _times(start, fitted)
        if decision != "half":  # the embedding is the same
            return Outcome(scores, predicted, None, times)
        return Outcome(scores, predicted, (model.transform(data.train), model.transform(data.test)), times)

    return run


def _times(start: float, between: float) -> dict[str, float]:
    return {"embed": between - start, "classify": time.perf_counter() - between}


def _predictor(predict: Callable[..., NDArray[Any]]) -> Callable[[Draw], Outcome]:
    """A classifier that sees the labelled rows alone and has no embedding."""

    def run(data: Draw) -> Outcome:
        start = time.perf_counter()
        rows = data.labeled
        scores = predict(data.train[rows], data.given[rows], data.test)
        return Outcome(scores, None, None, {"classify": time.perf_counter() - start})

    return run


def _logistic(X: NDArray[Any], Y: NDArray[Any], queries: NDArray[Any], strength: float = 0.01) -> NDArray[Any]:
    """One logistic regression for each label; a label of one value is predicted as that.

    Where there are fewer rows than features, they are rotated into the span of the training rows first: a penalty on
    |w|^2 leaves nothing outside of it.  In few dimensions Newton's steps take a tenth of the time of L-BFGS (Medical,
    Yeast), in many several times as long (Corel): the same model by the solver that is quicker.
    """
    steps: dict[str, Any] = {"max_iter": LOGISTIC_ITERATIONS}
    if min(X.shape) <= NEWTON_DIMENSIONS:
        steps.update(solver="newton-cholesky", tol=1e-8)
    if X.shape[1] > len(X):
        basis = np.linalg.qr(X.T)[0]
        X, queries = X @ basis, queries @ basis
    found = np.empty((len(queries), Y.shape[1]))
    for c in range(Y.shape[1]):
        if (Y[:, c] == Y[0, c]).all():
            found[:, c] = Y[0, c]
        else:
            model = LogisticRegression(C=strength, **steps).fit(X, Y[:, c])
            found[:, c] = model.predict_proba(queries)[:, 1]
    return found


def _logistic_cv(X: NDArray[Any], Y: NDArray[Any], queries: NDArray[Any]) -> NDArray[Any]:
    """The same with one C for all labels, of the smallest share of the labels' variance left out of fold.

    That is the criterion by which ResidualPropagation chooses its own two strengths: the rival has it too.
    """
    varies = Y.min(axis=0) != Y.max(axis=0)
    spread = ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)[varies]
    errors = []
    for strength in LOGISTIC_GRID:
        found = logistic_out_of_fold(X, Y, strength)
        errors.append((((Y - found) ** 2).sum(axis=0)[varies] / spread).mean() if varies.any() else 0.0)
    return _logistic(X, Y, queries, LOGISTIC_GRID[int(np.argmin(errors))])


def logistic_out_of_fold(X: NDArray[Any], Y: NDArray[Any], strength: float = 0.01) -> NDArray[Any]:
    """Probabilities (n, C) of each row by logistic regressions on the rows of the other folds."""
    found = np.empty(Y.shape)
    for train, test in KFold(min(LOGISTIC_SPLITS, len(X)), shuffle=True, random_state=0).split(X):
        found[test] = _logistic(X[train], Y[train], X[test], strength)
    return found


def _logistic_prior(data: Draw) -> Outcome:
    """Logistic regression with the cut-offs of Residual-prior: the same rule on the like scores of the same rows.

    A label's cut-off is the probability that as many training rows reach as its share of the labelled ones asks for;
    labelled rows count with their probability out of fold, unlabelled ones with that of the model.
    """
    start = time.perf_counter()
    rows = data.labeled
    X, Y = data.train[rows], data.given[rows]
    both = _logistic(X, Y, np.concatenate([data.train, data.test]))
    training, scores = both[: len(data.train)], both[len(data.train) :]
    training[rows] = logistic_out_of_fold(X, Y)
    predicted = scores >= prior_cutoffs(training, Y.mean(axis=0))
    return Outcome(scores, predicted.astype(np.int64), None, {"classify": time.perf_counter() - start})


def _ridge(X: NDArray[Any], Y: NDArray[Any], queries: NDArray[Any]) -> NDArray[Any]:
    """Ridge regression of the labels, its strength by leave-one-out."""
    return np.asarray(RidgeCV(alphas=RIDGE_ALPHAS).fit(X, Y).predict(queries)).reshape(len(queries), -1)


OURS = "Residual"
BEYOND_METHODS: dict[str, Callable[[Draw], Outcome]] = {
    OURS: _residual("half"),
    "Residual-prior": _residual("prior"),
    "NMLSDR": _article("NMLSDR"),
    "NMLSDR*": _article("NMLSDR*"),
    "NMLSDR-MLkNN": _article("NMLSDR", plain=True),
    "MDDMp": _article("MDDMp"),
    "PCA-50": _embedded(_pca),
    "MLkNN": _embedded(lambda data: _Rows()),
    "MLkNN-cosine": _embedded(lambda data: Normalizer().fit(data.train)),
    "Logistic": _predictor(_logistic),
    "Logistic-prior": _logistic_prior,
    "Logistic-CV": _predictor(_logistic_cv),
    "Ridge": _predictor(_ridge),
}


def _regime(name: str, title: str, *, flip: float = 0.1, labeled: float = 0.3, dropped: float = 0.0) -> Regime:
    datasets = SIX_SETS if name else TEN_SETS
    return Regime(f"beyond{name}", datasets, tuple(BEYOND_METHODS), flip, labeled, None, True, (), dropped, title)


BASE = _regime("", "10 % flips, 30 % labelled")
REGIMES = {
    regime.name: regime
    for regime in (
        BASE,
        _regime("-flips-0", "no flips", flip=0.0),
        _regime("-flips-20", "20 % flips", flip=0.2),
        _regime("-flips-30", "30 % flips", flip=0.3),
        _regime("-labelled-5", "5 % labelled", labeled=0.05),
        _regime("-labelled-10", "10 % labelled", labeled=0.1),
        _regime("-labelled-50", "50 % labelled", labeled=0.5),
        _regime("-dropped-30", "30 % of the positives dropped", flip=0.0, dropped=0.3),
        _regime("-dropped-50", "50 % of the positives dropped", flip=0.0, dropped=0.5),
    )
}


def beyond_cells(
    *, seeds: int, datasets: tuple[str, ...] | None = None, methods: tuple[str, ...] | None = None
) -> list[CellKey]:
    """The cells, the base regime first and then seed by seed all others.

    Logistic regression with its strength by cross-validation, which fits 26 models for each label, runs on the six
    smaller sets, and in the base regime with the first seed on the others.
    """
    order = [(BASE, seed) for seed in range(seeds)]
    order += [(regime, seed) for seed in range(seeds) for regime in REGIMES.values() if regime is not BASE]
    return [
        CellKey(regime.name, dataset, method, seed)
        for regime, seed in order
        for dataset in regime.datasets
        if datasets is None or dataset in datasets
        for method in BEYOND_METHODS
        if methods is None or method in methods
        if method != "Logistic-CV" or dataset in SIX_SETS or seed == 0
    ]


@lru_cache(maxsize=2)
def draw_regime(regime: Regime, dataset: str, seed: int, size: str, data_home: str | None) -> Draw:
    """The data of one seed; in the base regime those of the benchmarks, noise and mask included.

    Every regime draws from the same source: the rows labelled at 5 % are among those at 30 %, and what is wrong at 10 %
    of flips is wrong at 20 %.

    Parameters
    ----------
    regime : Regime
    dataset : str
    seed : int
    size : {"small", "full"}
    data_home : str or None

    Returns
    -------
    Draw
    """
    source = seed_sequence("benchmarks", dataset, seed)
    base = base_rows(dataset, source, size, data_home)
    noisy = flip_labels(base.target, regime.flip, random_state=source)
    if regime.dropped:
        noisy = np.where(np.random.default_rng(source).random(noisy.shape) < regime.dropped, 0, noisy)
    return Draw(base, mask_labels(noisy, regime.labeled, random_state=source), int(source.generate_state(1)[0]))


def run_beyond_cell(key: CellKey, *, size: str, data_home: str | None, fingerprint: str) -> dict[str, Any]:
    """Compute one cell on one thread: ``metrics`` end to end, ``p1`` of the embedding (None where there is none)."""

    def measure() -> tuple[dict[str, Any], dict[str, float]]:
        data = draw_regime(REGIMES[key.study], key.dataset, key.seed, size, data_home)
        outcome = BEYOND_METHODS[key.method](data)
        found = {"metrics": measures(data.test_target, outcome.scores, outcome.predicted), "p1": None}
        if outcome.embedding is not None:
            scores = classify(*outcome.embedding, data, end_to_end=False)
            found["p1"] = measures(data.test_target, scores)
        return found, outcome.times

    return recorded(key, measure, size=size, fingerprint=fingerprint)
