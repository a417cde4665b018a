"""Fixtures of the tests of ResidualPropagation and of nmlsdr.dask."""

import logging

import numpy as np
import pytest
from projections import draw_binary


@pytest.fixture
def data(rng):
    """90 rows, 12 features of which four make the labels, a tenth of the entries flipped; half unlabelled; queries."""
    X, Y = draw_binary(rng, 120, 12, 4)
    Y = np.abs(Y - (rng.random(Y.shape) < 0.1))
    Y[45:] = -1
    return X[:90], Y[:90], X[90:]


@pytest.fixture
def quiet():
    """The plan of a search over Dask rows goes to standard error unless the logger says otherwise."""
    logger = logging.getLogger("nmlsdr")
    logger.setLevel(logging.WARNING)
    yield
    logger.setLevel(logging.NOTSET)
