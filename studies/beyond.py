"""The study of what came after the article: its regimes of noise, the methods and reviews compared, and its cells.

A regime is a study of its own for cells and fingerprints, named ``beyond`` (the noise of the benchmarks, seed by seed
the same) or ``beyond-...``. A cell of a method has up to three results. ``metrics`` is end to end, from the noisy
labels of some rows alone; methods other than ResidualPropagation predict a label where its score reaches 1/2. ``f1`` is
the same where a method predicts by the threshold rule "f1" instead, from its out-of-sample scores of the labelled rows;
the report shows it as a method of its own, as ``ExtraTrees-f1``. ``p1`` is ML-kNN with the true labels of all training
rows in C components, as in the article.

A cell of a review ranks the given labels of the labelled rows, the likeliest wrong one first. Its ``metrics`` are the
average precision of that list by kind of list: 1 if all wrong labels come first, about their share if they stand
anywhere, which is ``chance``. cleanlab, an extra, gets the out-of-sample predictions of a forest and of logistic
regressions; ``adjusted`` is the same with its adjustment, and a reviewer of its own in the report.
"""

import importlib.util
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import Normalizer

from nmlsdr import NMLSDR, MultiLabelPropagation, ResidualPropagation, SemiSupervisedMLkNN
from nmlsdr._report.rivals import TunedLogistic, f1_cutoff_of, logistic_out_of_fold
from nmlsdr.experiments.protocol import N_NEIGHBORS, TEN_SETS, Draw, Measured, Study, cells_of, classify, measures
from nmlsdr.experiments.store import CellKey, Record
from nmlsdr.inspection import rank_suspects

Floats = NDArray[np.float64]
SIX_SETS = ("Birds", "Emotions", "Genbase", "Medical", "Scene", "Yeast")
RIDGE_ALPHAS = tuple(np.logspace(0, 5, 11).tolist())  # the grid of ridge regression, on standardised features
TREES = 300
# The lists that are judged, and the kind of each: "both" is ordered by the score alone, "unknown" with the rates.
LISTS = {"both": "all", "unknown": "all", "missing": "forgotten", "spurious": "wrong"}
KINDS = tuple(LISTS)
OURS = "Residual"
CHANCE = "chance"
BOOSTING = "HistGradientBoosting"
AVERAGE = "Average"
BASE_ALONE = (BOOSTING,)


# ---------------------------------------------------------------- methods


class Outcome(NamedTuple):
    """Scores of the test rows end to end, and what else there is of the method.

    Attributes
    ----------
    scores : ndarray (m, C)
    predicted : ndarray (m, C) or None
        The method's own predictions; None: a label is predicted where its score reaches 1/2.
    cutoff : float or None
        The threshold by the rule "f1", for the result ``f1``.
    embedding : pair of ndarray or None
        Of the training and the test rows, for the result ``p1``.
    seconds : float
        Of what another method had computed before.
    """

    scores: NDArray[Any]
    predicted: NDArray[Any] | None = None
    cutoff: float | None = None
    embedding: tuple[NDArray[Any], NDArray[Any]] | None = None
    seconds: float = 0.0


def _article(alpha_labeled: float, data: Draw) -> Outcome:
    """NMLSDR with the semi-supervised ML-kNN; each makes its own neighbour graph, so that the times can be compared."""
    settings: Any = {"n_neighbors": N_NEIGHBORS, "alpha_labeled": alpha_labeled, "n_jobs": 1}
    train, test = data.embedded(NMLSDR(**settings).fit(data.train, data.given))
    classifier = SemiSupervisedMLkNN(**settings).fit(train, data.given)
    return Outcome(np.asarray(classifier.predict_proba(test)), embedding=(train, test))


def _cosine(data: Draw) -> Outcome:
    """ML-kNN of the labelled rows by angles."""
    train, test = data.embedded(Normalizer().fit(data.train))
    return Outcome(classify(train, test, data, end_to_end=True), embedding=(train, test))


def _residual(data: Draw, *, embedding: bool = False, **settings: Any) -> Outcome:
    """ResidualPropagation with its defaults or others; all that are compared here have the same embedding."""
    model = ResidualPropagation(n_neighbors=N_NEIGHBORS, n_jobs=1, **settings).fit(data.train, data.given)
    outcome = Outcome(model.decision_function(data.test), model.predict(data.test))  # one threshold: the same ranks
    return outcome._replace(embedding=data.embedded(model)) if embedding else outcome


def _labelled(data: Draw) -> tuple[NDArray[Any], NDArray[Any]]:
    """The rows that a supervised method learns from, with their given labels."""
    return data.train[data.labeled], data.given[data.labeled]


def grow_tuned_forest(kind: type[Any], X: NDArray[Any], Y: NDArray[Any]) -> tuple[Any, Floats]:
    """A forest of 300 trees with leaves of at least three rows, and its out-of-bag predictions.

    How many features a split tries, their square root or a third of them, is chosen by the squared out-of-bag error.
    The third is much better where few features decide (Medical: 10 points), the root a little on Birds and Enron.
    """
    forests = []
    n_features = X.shape[1]
    for features in (int(np.sqrt(n_features)), n_features // 3):
        forest = kind(
            TREES,
            min_samples_leaf=3,
            max_features=max(1, features),
            bootstrap=True,
            oob_score=True,
            random_state=0,
            n_jobs=1,
        )
        forest.fit(X, Y if Y.shape[1] > 1 else Y[:, 0])
        left_out = forest.oob_prediction_.reshape(Y.shape)
        forests.append((float(((Y - left_out) ** 2).mean()), forest, left_out))
    _, forest, left_out = min(forests, key=lambda entry: entry[0])
    return forest, left_out


def _forest(kind: type[Any], X: NDArray[Any], Y: NDArray[Any], queries: NDArray[Any]) -> tuple[Floats, Floats]:
    forest, left_out = grow_tuned_forest(kind, X, Y)
    return forest.predict(queries).reshape(len(queries), -1), left_out


def _tuned_logistic(X: NDArray[Any], Y: NDArray[Any], queries: NDArray[Any]) -> tuple[Floats, Floats]:
    model = TunedLogistic().fit(X, Y)
    out_of_sample = np.full(Y.shape, np.nan)
    rows, out_of_sample[rows] = model.held_out_
    return model.predict_proba(queries), out_of_sample


# A learner's scores of the test rows, and its out-of-sample scores of the labelled rows (NaN: it has none).
LEARNERS: dict[str, Callable[..., tuple[Floats, Floats]]] = {
    "ExtraTrees": partial(_forest, ExtraTreesRegressor),
    "RandomForest": partial(_forest, RandomForestRegressor),
    "Logistic-CV": _tuned_logistic,
}
_learned: dict[str, Any] = {}  # cache of what was learned from the labels under "given", which the average needs again


def _learn(names: tuple[str, ...], data: Draw) -> Outcome:
    """The mean of the scores of some learners, with the cut-off by the rule "f1"."""
    if _learned.get("given") is not data.given:
        _learned.clear()
        _learned["given"] = data.given
    X, Y = _labelled(data)
    seconds = 0.0
    for name in names:
        if name in _learned:
            seconds += _learned[name][1]
        else:
            start = time.perf_counter()
            _learned[name] = LEARNERS[name](X, Y, data.test), time.perf_counter() - start
    scores, out_of_sample = (np.mean([_learned[name][0][i] for name in names], axis=0) for i in (0, 1))
    rows = ~np.isnan(out_of_sample).any(axis=1)
    return Outcome(scores, cutoff=f1_cutoff_of(out_of_sample[rows], Y[rows]), seconds=seconds)


def boosted_trees(X: NDArray[Any], Y: NDArray[Any], queries: NDArray[Any]) -> NDArray[Any]:
    """Probabilities by one gradient boosting for each label, with scikit-learn's defaults; a constant label's value."""
    probabilities = np.tile(Y[0].astype(float), (len(queries), 1))
    for c in np.flatnonzero(Y.std(axis=0) > 0):
        model = HistGradientBoostingClassifier(random_state=0).fit(X, Y[:, c])
        probabilities[:, c] = model.predict_proba(queries)[:, 1]
    return probabilities


def ridge(X: NDArray[Any], Y: NDArray[Any], queries: NDArray[Any]) -> NDArray[Any]:
    """Ridge regression of the labels, its strength by leave-one-out."""
    return np.asarray(RidgeCV(alphas=RIDGE_ALPHAS).fit(X, Y).predict(queries)).reshape(len(queries), -1)


BEYOND_METHODS: dict[str, Callable[[Draw], Outcome]] = {
    OURS: partial(_residual, embedding=True),
    "Residual-no-forest": partial(_residual, n_estimators=0),
    **{name: partial(_learn, (name,)) for name in LEARNERS},
    AVERAGE: partial(_learn, tuple(LEARNERS)),
    BOOSTING: lambda data: Outcome(boosted_trees(*_labelled(data), data.test)),
    "Ridge": lambda data: Outcome(ridge(*_labelled(data), data.test)),
    "NMLSDR": partial(_article, 0.6),
    "NMLSDR*": partial(_article, 0.0),
    "MLkNN-cosine": _cosine,
}
ONE_SEED = {"Corel": (*LEARNERS, AVERAGE)}  # half a minute to minutes a cell


# ---------------------------------------------------------------- reviews


class Review(NamedTuple):
    """Scores of the given labels, the likeliest wrong one first, and what else there is of the reviewer.

    Attributes
    ----------
    scores : ndarray (n_labeled, C)
    rates : (float, float) or None
        The rates of flips and of forgotten labels, which "unknown" needs.
    adjusted : ndarray (n_labeled, C) or None
        The scores with cleanlab's adjustment, for the result ``adjusted``.
    """

    scores: Floats
    rates: tuple[float, float] | None = None
    adjusted: Floats | None = None


def _flip_scores(estimator: type[Any], data: Draw, **settings: Any) -> Review:
    model = estimator(n_neighbors=N_NEIGHBORS, n_jobs=1, **settings).fit(data.train, data.given)
    rates = (model.flip_rate_, model._forget_rate) if hasattr(model, "flip_rate_") else None
    return Review(np.asarray(model.flip_scores_[data.labeled]), rates)


def _cleanlab(out_of_sample: Callable[..., Floats], data: Draw) -> Review:
    """1 - cleanlab's self-confidence of each given label, from out-of-sample probabilities of each label."""
    X, labels = _labelled(data)
    proba = np.clip(out_of_sample(X, labels), 0.0, 1.0)
    return Review(_doubts(proba, labels), adjusted=_doubts(proba, labels, adjusted=True))


def _doubts(proba: Floats, labels: NDArray[Any], *, adjusted: bool = False) -> Floats:
    from cleanlab.rank import get_label_quality_scores

    quality = np.empty(labels.shape)
    for c, p in enumerate(proba.T):
        has_both = bool(labels[:, c].any() and not labels[:, c].all())  # the adjustment needs rows of both values
        quality[:, c] = get_label_quality_scores(
            labels[:, c],
            np.column_stack([1.0 - p, p]),
            method="self_confidence",
            adjust_pred_probs=adjusted and has_both,
        )
    return 1.0 - quality


def out_of_bag(X: Floats, Y: NDArray[Any]) -> Floats:
    """Predictions of each row by the extremely randomised trees that did not draw it."""
    return grow_tuned_forest(ExtraTreesRegressor, X, Y)[1]


def out_of_fold(X: Floats, Y: NDArray[Any]) -> Floats:
    """Probabilities of each row by logistic regressions on the rows of the other folds, their C tuned."""
    return np.asarray(logistic_out_of_fold(X, Y, TunedLogistic().fit(X, Y).strength_))


REVIEWERS: dict[str, Callable[[Draw], Review]] = {
    OURS: partial(_flip_scores, ResidualPropagation),
    "Propagation": partial(_flip_scores, MultiLabelPropagation),
    "cleanlab-forest": partial(_cleanlab, out_of_bag),
    "cleanlab-logistic": partial(_cleanlab, out_of_fold),
}


# ---------------------------------------------------------------- studies and cells


BASE = Study(
    "beyond",
    TEN_SETS,
    tuple(BEYOND_METHODS),
    flip=0.1,
    labeled=0.3,
    n_components=None,
    end_to_end=True,
    title="10 % flips, 30 % labelled",
    noise="benchmarks",
    parts=("metrics", "f1", "p1"),
    revision=3,
)
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
FEW_LABELED = ("beyond-labelled-5", "beyond-labelled-10")
_PARTS = ("metrics", "adjusted", CHANCE)
_REVIEW = replace(BASE, datasets=SIX_SETS, methods=tuple(REVIEWERS), measures=KINDS, parts=_PARTS)
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
    """The cells, as `protocol.cells_of` chooses them, seed by seed; slow ones come last.

    The regimes `FEW_LABELED` have at least four draws of the noise, because their results differ most between draws.
    Gradient boosting runs in the base regime alone, on the six smaller sets with the first seed; `ONE_SEED` has
    the methods that run with the first seed alone on the set with the most labels. cleanlab's lists need cleanlab.
    """
    scarce_regimes = [REGIMES[name] for name in FEW_LABELED]
    cells = cells_of((REGIMES | REVIEWS).values(), **chosen)
    cells = [*dict.fromkeys(cells + cells_of(scarce_regimes, **{**chosen, "seeds": max(4, chosen["seeds"])}))]
    cleanlab = has_cleanlab()

    def runs(key: CellKey) -> bool:
        if key.method.startswith("cleanlab"):
            return cleanlab
        if key.method in BASE_ALONE and key.study != BASE.name:
            return False
        if key.method == BOOSTING:
            return key.dataset in SIX_SETS and key.seed == 0
        return key.seed == 0 or key.method not in ONE_SEED.get(key.dataset, ())

    return sorted(filter(runs, cells), key=lambda key: key.method == BOOSTING)


def measure(study: Study, method: str, data: Draw) -> Measured:
    """The results of a cell, as the head of this file says, and its seconds."""
    return (measure_review if study.name in REVIEWS else measure_predictions)(method, data)


def measure_predictions(method: str, data: Draw) -> Measured:
    """``metrics``, ``f1`` and ``p1``, as the head of this file says; None where a method has no such result."""
    start = time.perf_counter()
    outcome = BEYOND_METHODS[method](data)
    times = {"classify": time.perf_counter() - start + outcome.seconds}
    record: Record = {"metrics": measures(data.test_target, outcome.scores, outcome.predicted), "f1": None, "p1": None}
    if outcome.cutoff is not None:
        predicted = (outcome.scores >= outcome.cutoff).astype(np.int64)
        record["f1"] = measures(data.test_target, outcome.scores, predicted)
    if outcome.embedding is not None:
        record["p1"] = measures(data.test_target, classify(*outcome.embedding, data, end_to_end=False))
    return record, times


def precisions(
    scores: Floats, labels: NDArray[Any], wrong: NDArray[np.bool_], rates: tuple[float, float] | None = None
) -> dict[str, float | None]:
    """Average precision of each list; None where no label of the list is wrong, and for "unknown" without rates."""
    by_list: dict[str, float | None] = {}
    for name, kind in LISTS.items():
        by_list[name] = None
        if name != "unknown" or rates is not None:
            known = dict(zip(("flip_rate", "forget_rate"), rates or (), strict=False)) if name == "unknown" else {}
            listed = rank_suspects(scores, labels, kind=kind, **known)
            hits = wrong[listed.row, listed.label]
            if hits.any():
                by_list[name] = float(average_precision_score(hits, listed.score))
    return by_list


def measure_review(method: str, data: Draw) -> Measured:
    """``metrics`` by kind of list, the same ``adjusted``, and ``chance``: of a list in which all scores are equal."""
    start = time.perf_counter()
    review = REVIEWERS[method](data)
    times = {"embed": time.perf_counter() - start}
    labels = data.given[data.labeled]
    wrong = labels != data.target[data.labeled]
    record: Record = {
        "metrics": precisions(review.scores, labels, wrong, review.rates),
        "adjusted": None if review.adjusted is None else precisions(review.adjusted, labels, wrong),
        CHANCE: precisions(np.zeros(labels.shape), labels, wrong, (0.0, 0.0)),
    }
    return record, times
