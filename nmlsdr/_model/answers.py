"""Rows and answers that are compared when a model file is read.

Another version of a library may read the same attributes and compute something else with them.  The rows are the first
training rows where the model holds these, and otherwise invented near the values that it was fitted on, so that no
person's row enters a file for this purpose.
"""

import copy
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from .schema import Refused, innermost

_N_ROWS = 3
_PLACES = ("training_rows_", "mean_", "statistics_")


def sample_rows(estimator: Any) -> Any:
    """Return a few rows that a fitted estimator can take."""
    estimator = innermost(estimator, 0)
    n_features = estimator.n_features_in_
    wave = 0.6 + 0.5 * np.sin(np.arange(1.0, _N_ROWS * n_features + 1)).reshape(_N_ROWS, n_features)
    fitted = vars(estimator)
    if "plan_" in fitted:
        return fitted["plan_"].sample(_N_ROWS)
    place: Any = next((fitted[name] for name in _PLACES if fitted.get(name) is not None), 0.0)
    if np.ndim(place) == 2:  # training rows, dense or sparse
        return place[:_N_ROWS]
    if np.asarray(place).dtype.kind == "O" and any(isinstance(value, str) for value in place.tolist()):
        return np.tile(place, (_N_ROWS, 1))
    return wave + np.nan_to_num(np.asarray(place, dtype=np.float64))


def answers(estimator: Any, rows: Any) -> np.ndarray:
    """Return what a model answers for rows, one line each: components, probabilities, decisions or values."""
    with warnings.catch_warnings(action="ignore"):  # rows have no names here
        while isinstance(estimator, Pipeline):
            for _, step in estimator.steps[:-1]:
                rows = step.transform(rows)
            estimator = estimator.steps[-1][1]
        last = copy.copy(estimator)  # prepared rows are cached in the object: these queries must not be counted there
        methods = [name for name in ("transform", "predict_proba", "decision_function") if hasattr(last, name)]
        results = [getattr(last, name)(rows) for name in methods or ["predict"]]
    return np.hstack(
        [np.reshape(result.toarray() if sparse.issparse(result) else result, (rows.shape[0], -1)) for result in results]
    )


def check_answers(estimator: Any, rows: Any, expected: Any) -> None:
    """Refuse a model that does not answer for some rows what it answered when it was written."""
    if rows.shape[0] > _N_ROWS:
        raise Refused(f"it contains {rows.shape[0]} rows for checking its predictions")
    results = answers(estimator, rows)
    if results.shape == expected.shape and results.dtype.kind in "biuf" and expected.dtype.kind in "biuf":
        same = np.allclose(results, expected, rtol=1e-6, atol=1e-9, equal_nan=True)
    else:
        same = results.tolist() == expected.tolist()
    if not same:
        raise Refused("it predicts differently from when it was written; fit the model again with this installation")
