"""Rows with three labels, in every form that the tests of the label rule give them to estimators."""

import inspect

import numpy as np
import pytest
from estimator_cases import ESTIMATORS

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
NAMES = ["cough", "fever", "rash"]
N = 40


def rows_and_labels():
    """Rows, 0/1 labels that follow them, and known entries: all but some rows, and all but those and others."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, 4))
    Y = (X @ rng.standard_normal((4, 3)) + 0.4 * rng.standard_normal((N, 3)) > 0).astype(int)
    Y[:2] = [[1, 0, 1], [0, 1, 0]]
    rows = np.ones((N, 3), dtype=bool)
    rows[3::4] = False
    partly = rows & (rng.random((N, 3)) > 0.2)
    partly[:3] = True
    return X, Y, rows, partly


X, Y, ROWS, PARTLY = rows_and_labels()
CODES = Y @ [1, 2, 0] % 3  # one of three classes for each row
CLASSES = np.array(["high", "low", "mid"])
SETS = [{name for name, present in zip(NAMES, row, strict=True) if present} for row in Y]
ALL = np.ones((N, 3), dtype=bool)


def with_unknown(known, unknown, dtype=object):
    values = Y.astype(dtype)
    values[~known] = unknown
    return values


def in_words(known, yes, no, unknown=None):
    words = {1: yes, 0: no, -1: unknown}
    return np.array([[words[value] for value in row] for row in with_unknown(known, -1, int).tolist()], dtype=object)


def frame(dtype, known=None, unknown=None):
    values = Y.astype(object) if known is None else with_unknown(known, unknown)
    return pd.DataFrame(values, columns=NAMES).astype(dtype)


def polars_frame(dtype):
    return pl.DataFrame(with_unknown(PARTLY, None).tolist(), schema=dict.fromkeys(NAMES, dtype), orient="row")


def unlabelled(values, unknown=None):
    """A list with ``unknown`` in place of the unlabelled rows' values."""
    return [value if known else unknown for value, known in zip(values, ROWS[:, 0], strict=True)]


def outcome(model):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.transform(X)


def propagates(name):
    return "graph" in inspect.signature(ESTIMATORS[name].fit).parameters
