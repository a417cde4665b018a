"""One cell: fit a method on the data of a seed, classify, measure."""

import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .. import MLkNN, SemiSupervisedMLkNN
from .._methods import METHODS, Method
from ..metrics import score_table
from .protocol import METRICS, N_NEIGHBORS, Draw, Study, draw, versions
from .store import CellKey, Record

ALPHA_LABELED = 0.6
Measured = tuple[Record, dict[str, float]]  # members of a record, and seconds
Measure = Callable[[Study, str, Draw], Measured]


def run_cell(
    key: CellKey, study: Study, measure: Measure, *, size: str, data_home: str | None, fingerprint: str
) -> Record:
    """Compute one cell on one thread; an error becomes part of the record.

    Parameters
    ----------
    key : CellKey
    study : Study
    measure : callable
        From study, name of the method and data to members of the record and seconds, as `measure_article`.
    size : {"small", "full"}
    data_home : str or None
    fingerprint : str
        Copied into the record.

    Returns
    -------
    dict
        study, dataset, method, seed, fingerprint, metrics (None for a measure without a value), times (seconds),
        versions, warnings, error (None or text), and what else `measure` gives.
    """
    record: Record = {**key._asdict(), "size": size, "fingerprint": fingerprint, "versions": versions()}
    found: Record = {"metrics": dict.fromkeys(METRICS)}
    times: dict[str, float] = {}
    error = None
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(limits=1, user_api="blas"):
        warnings.simplefilter("always")
        try:
            found, times = measure(study, key.method, draw(study, key.dataset, key.seed, size, data_home))
        except Exception as exception:
            where = traceback.extract_tb(exception.__traceback__)[-1]
            error = f"{type(exception).__name__}: {exception} ({where.name}, line {where.lineno})"
    said = list(dict.fromkeys(f"{item.category.__name__}: {item.message}" for item in caught))
    return {**record, **found, "times": times, "warnings": said, "error": error}


def measures(target: NDArray[Any], scores: NDArray[Any], predicted: NDArray[Any] | None = None) -> dict[str, Any]:
    """The seven measures, None for one without a value; HL' and both F1 of `predicted` where it is given."""
    table = score_table(target, scores, predictions=predicted, coverage_by="C", coverage_empty=-1)
    return {name: float(table[name]) if np.isfinite(table[name]) else None for name in METRICS}


def embed(study: Study, method: str, data: Draw) -> tuple[NDArray[Any], NDArray[Any]]:
    """Fit a method on the labels given and map the training and the test rows."""
    kind = METHODS[method]
    reducer: Any = kind(study.n_components, N_NEIGHBORS, random_state=data.random_state, n_jobs=1)
    reducer.fit(data.train, data.given, **({"graph": data.graph()} if kind.semi_supervised else {}))
    return reducer.transform(data.train), reducer.transform(data.test)


def measure_article(study: Study, method: str, data: Draw) -> Measured:
    """One of the article's methods: the measures on the test rows, and the seconds of fitting and of classifying."""
    kind = METHODS[method]
    if kind.semi_supervised:
        data.graph()  # not timed, because all methods of a seed share it
    start = time.perf_counter()
    train, test = embed(study, method, data)
    embedded = time.perf_counter()
    scores = classify(train, test, data, end_to_end=study.end_to_end, kind=kind)
    times = {"embed": embedded - start, "classify": time.perf_counter() - embedded}
    return {"metrics": measures(data.test_target, scores)}, times


def classify(
    train: NDArray[Any], test: NDArray[Any], data: Draw, *, end_to_end: bool, kind: Method | None = None
) -> NDArray[np.float64]:
    """Scores of the test rows by the classifier that goes with an embedding.

    Parameters
    ----------
    train : ndarray (n, d), test : ndarray (m, d)
    data : Draw
    end_to_end : bool
        As of :class:`Study`.
    kind : Method or None, default=None
        The method of the embedding; None: one that does not use unlabelled rows.

    Returns
    -------
    ndarray (m, C)
    """
    classifier: Any
    if not end_to_end:
        classifier = MLkNN(N_NEIGHBORS, n_jobs=1).fit(train, data.target)
    elif kind is not None and kind.semi_supervised:
        alpha = 0.0 if kind.clamped else ALPHA_LABELED
        classifier = SemiSupervisedMLkNN(N_NEIGHBORS, alpha_labeled=alpha, n_jobs=1).fit(train, data.given)
    else:
        rows = data.labeled
        classifier = MLkNN(N_NEIGHBORS, n_jobs=1).fit(train[rows], data.given[rows])
    return np.asarray(classifier.predict_proba(test), dtype=np.float64)
