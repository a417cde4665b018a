"""What the tests of `nmlsdr.dask` share: rows full of ties, estimators, and assertions that two fits are the same."""

import numpy as np
import pytest
from scipy import sparse

import nmlsdr
import nmlsdr.dask

da = pytest.importorskip("dask.array", reason="needs Dask: pip install 'nmlsdr[dask]'")
SAID = (
    "label_distributions_",
    "transduction_",
    "label_flips_",
    "flip_scores_",
    "n_neighbors_",
    "n_iter_",
    "residual_",
    "n_unreached_",
    "propagation_solver_",
    "prior_",
    "likelihoods_with_label_",
    "likelihoods_without_label_",
    "posterior_",
    "training_labels_",
    "row_weights_",
    "labeled_rows_",
)
MAPS = ("components_", "eigenvalues_", "mean_", "dependence_ratio_")
FITS = {  # of nmlsdr.dask or, for what one process says, of nmlsdr
    "NMLSDR": lambda of: of.NMLSDR(2, n_neighbors=5),
    "NMLSDR rbf": lambda of: of.NMLSDR(n_neighbors=5, edge_weights="rbf", alpha_labeled=0.0),
    "MDDM": lambda of: of.MDDM(),
    "MDDM features": lambda of: of.MDDM(constraint="features"),
    "MultiLabelCCA": lambda of: of.MultiLabelCCA(),
    "SSMLDR": lambda of: of.SSMLDR(n_neighbors=5),
    "MultiLabelPropagation": lambda of: of.MultiLabelPropagation(5),
    "MLkNN": lambda of: of.MLkNN(5),
    "SemiSupervisedMLkNN": lambda of: of.SemiSupervisedMLkNN(5),
    "NMLSDR by angle": lambda of: of.NMLSDR(n_neighbors=5, metric="cosine", edge_weights="rbf"),
    "MultiLabelPropagation by angle": lambda of: of.MultiLabelPropagation(5, metric="cosine"),
    "MLkNN by angle": lambda of: of.MLkNN(5, metric="cosine"),
    "SemiSupervisedMLkNN by angle": lambda of: of.SemiSupervisedMLkNN(5, metric="cosine"),
}


def over_dask(name):
    return FITS[name](nmlsdr.dask)


def in_one_process(name):
    return FITS[name](nmlsdr)


def draw(rng, n=150, labels=3):
    """Rows on a grid: full of ties and duplicates."""
    X = rng.integers(0, 4, size=(n, 6)).astype(float)
    Y = (X @ rng.normal(size=(6, labels)) + rng.normal(size=(n, labels)) > 0).astype(int)
    Y[rng.random(n) < 0.4] = -1
    return X, Y


def blocks_of(X, kind):
    if kind == "csr":
        return da.from_array(X, chunks=(40, -1)).map_blocks(sparse.csr_array)
    chunks = {"even": (50, -1), "ragged": ((7, 0, 90, 1, 52), (2, 4)), "one": (150, 6), "rows": (1, 6)}[kind]
    return da.from_array(X, chunks=chunks)


def assert_same_fit(model, expected):
    for name in SAID:
        assert hasattr(model, name) == hasattr(expected, name), name
        if hasattr(expected, name):
            np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), err_msg=name)
    for name in MAPS:
        assert hasattr(model, name) == hasattr(expected, name), name
        if hasattr(expected, name):
            np.testing.assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-10, atol=1e-10)


def assert_same_answers(model, expected, X, new):
    for method in ("transform", "predict_proba", "predict"):
        if not hasattr(expected, method):
            continue
        expected_answers = getattr(expected, method)(X)
        lazy = getattr(model, method)(new)
        assert isinstance(lazy, da.Array)
        assert lazy.chunks[0] == new.chunks[0]
        assert (lazy.shape, lazy.dtype) == (expected_answers.shape, expected_answers.dtype)
        if method == "transform":
            np.testing.assert_allclose(lazy.compute(), expected_answers, rtol=0, atol=1e-10)
        else:
            np.testing.assert_array_equal(lazy.compute(), expected_answers)
        answers_in_memory = getattr(model, method)(X)  # rows in memory are answered in memory
        assert isinstance(answers_in_memory, np.ndarray)
        np.testing.assert_allclose(answers_in_memory, expected_answers, rtol=0, atol=1e-10)
