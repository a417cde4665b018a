"""One cell: fit a method on the data of a seed, classify, measure."""

from __future__ import annotations

import time
import traceback
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .. import MLkNN, SemiSupervisedMLkNN
from .._methods import METHODS
from ..metrics import score_table
from .protocol import METRICS, N_NEIGHBORS, STUDIES, Draw, Study, draw, versions
from .store import CellKey

__all__ = ["embed", "run_cell"]

ALPHA_LABELED = 0.6


def run_cell(key: CellKey, *, size: str, data_home: str | None, fingerprint: str) -> dict[str, Any]:
    """Compute one cell on one thread; an error becomes part of the record.

    Parameters
    ----------
    key : CellKey
    size : {"small", "full"}
    data_home : str or None
    fingerprint : str
        Copied into the record.

    Returns
    -------
    dict
        study, dataset, method, seed, fingerprint, metrics (None for a measure without a value), times (seconds),
        versions, warnings, error (None or text).
    """
    record: dict[str, Any] = {**key._asdict(), "size": size, "fingerprint": fingerprint, "versions": versions()}
    metrics: dict[str, float | None] = dict.fromkeys(METRICS)
    times: dict[str, float] = {}
    error = None
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(limits=1, user_api="blas"):
        warnings.simplefilter("always")
        try:
            data = draw(key.study, key.dataset, key.seed, size, data_home)
            scores, times = _scores(STUDIES[key.study], key.method, data)
            table = score_table(data.test_target, scores, coverage_by="C", coverage_empty=-1)
            metrics = {name: float(table[name]) if np.isfinite(table[name]) else None for name in METRICS}
        except Exception as exception:
            where = traceback.extract_tb(exception.__traceback__)[-1]
            error = f"{type(exception).__name__}: {exception} ({where.name}, line {where.lineno})"
    said = list(dict.fromkeys(f"{item.category.__name__}: {item.message}" for item in caught))
    return {**record, "metrics": metrics, "times": times, "warnings": said, "error": error}


def embed(study: Study, method: str, data: Draw) -> tuple[NDArray[Any], NDArray[Any]]:
    """Fit a method on the labels given and map the training and the test rows."""
    kind = METHODS[method]
    reducer: Any = kind(study.n_components, N_NEIGHBORS, random_state=data.random_state, n_jobs=1)
    reducer.fit(data.train, data.given, **({"graph": data.graph} if kind.semi_supervised else {}))
    return reducer.transform(data.train), reducer.transform(data.test)


def _scores(study: Study, method: str, data: Draw) -> tuple[NDArray[np.float64], dict[str, float]]:
    """Scores of the test rows (m, C), and the seconds that fitting and classifying took."""
    kind = METHODS[method]
    if kind.semi_supervised:
        data.graph  # noqa: B018  (made outside the clock: all methods of a seed share it)
    start = time.perf_counter()
    train, test = embed(study, method, data)
    embedded = time.perf_counter()
    classifier: Any
    if not study.end_to_end:
        classifier = MLkNN(N_NEIGHBORS, n_jobs=1).fit(train, data.target)
    elif kind.semi_supervised:
        alpha = 0.0 if kind.clamped else ALPHA_LABELED
        classifier = SemiSupervisedMLkNN(N_NEIGHBORS, alpha_labeled=alpha, n_jobs=1).fit(train, data.given)
    else:
        rows = data.labeled
        classifier = MLkNN(N_NEIGHBORS, n_jobs=1).fit(train[rows], data.given[rows])
    scores = np.asarray(classifier.predict_proba(test), dtype=np.float64)
    return scores, {"embed": embedded - start, "classify": time.perf_counter() - embedded}
