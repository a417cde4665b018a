"""Every estimator that learns from y, ready for a test: how to make one, rows to fit it on, what it says of rows."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import nmlsdr

ESTIMATORS = {  # that learn from y
    name: estimator_class
    for name in nmlsdr.__all__
    if inspect.isclass(estimator_class := getattr(nmlsdr, name)) and issubclass(estimator_class, BaseEstimator)
    if estimator_class is not nmlsdr.ExactNeighborsTransformer
}
TRANSFORMERS = [name for name, estimator_class in ESTIMATORS.items() if hasattr(estimator_class, "transform")]
CLASSIFIERS = [name for name, estimator_class in ESTIMATORS.items() if hasattr(estimator_class, "predict")]

every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
every_transformer = pytest.mark.parametrize("name", TRANSFORMERS)
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)


def make(name, **parameters):
    """An estimator fit for 40 to 80 rows, with a fixed seed where there is one."""
    estimator = ESTIMATORS[name]()
    settings = {"n_neighbors": 5, "n_estimators": 4, "random_state": 0, **parameters}
    known = estimator.get_params()
    return estimator.set_params(**{key: value for key, value in settings.items() if key in known})


def draw(n=60, D=6, C=4, hidden=20, seed=0):
    """Rows whose labels depend on X; ``hidden`` of them unlabelled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    Y = (X @ rng.normal(size=(D, C)) + 0.3 * rng.normal(size=(n, C)) > 0).astype(int)
    Y[rng.permutation(n)[:hidden]] = -1
    return X, Y


def outcome(model, X):
    """What a fitted estimator says about rows: an array of floats."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.transform(X)


def assert_same(ours, theirs):
    """Embeddings pass through BLAS: equal to 1e-10; posteriors and F to the last bit would be a kernel's test."""
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-10, atol=1e-10)
