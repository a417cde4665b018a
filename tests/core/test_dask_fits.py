"""Fits on Dask arrays: the bits and the map of one process, whatever the blocks are."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from dask_cases import FITS, assert_same_answers, assert_same_fit, blocks_of, draw, in_one_process, over_dask
from model_files import assert_same
from scipy import sparse

import nmlsdr
import nmlsdr.dask
from nmlsdr import graph, model_file

da = pytest.importorskip("dask.array", reason="needs Dask: pip install 'nmlsdr[dask]'")

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize("kind", ["even", "ragged", "csr", "one"])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_that_of_one_process(rng, name, kind):
    X, Y = draw(rng)
    expected = in_one_process(name).fit(sparse.csr_array(X) if kind == "csr" else X, Y)
    model = over_dask(name).fit(blocks_of(X, kind), da.from_array(Y, chunks=(60, 2)))
    assert_same_fit(model, expected)
    new = rng.integers(0, 4, size=(31, 6)).astype(float)
    assert_same_answers(model, expected, new, da.from_array(new, chunks=(11, 4)))


@pytest.mark.parametrize("name", FITS)
def test_a_model_fitted_in_memory_predicts_a_dask_array(rng, name):
    X, Y = draw(rng)
    expected = in_one_process(name).fit(X, Y)
    model = over_dask(name).fit(X, Y)
    assert_same_fit(model, expected)
    assert_same_answers(model, expected, X, da.from_array(X, chunks=(70, 5)))


@pytest.mark.parametrize("name", FITS)
def test_a_block_without_rows_gives_no_rows(rng, name):
    X, Y = draw(rng)
    expected = in_one_process(name).fit(X, Y)
    empty = da.from_array(X[:37], chunks=((0, 17, 0, 20), (6,)))
    for rows in (X, blocks_of(X, "ragged")):
        assert_same_answers(over_dask(name).fit(rows, Y), expected, X[:37], empty)
    for method in ("transform", "predict_proba", "predict"):
        if hasattr(expected, method):
            expected_answers = getattr(expected, method)(X[:37])
            ask = getattr(expected, method)
            lazy_answers = empty.map_blocks(
                ask, dtype=expected_answers.dtype, chunks=(empty.chunks[0], expected_answers.shape[1:])
            )
            np.testing.assert_allclose(lazy_answers.compute(), expected_answers, rtol=0, atol=1e-10)
            assert (lazy_answers.shape, ask(X[:0]).shape) == (expected_answers.shape, (0, *expected_answers.shape[1:]))


@pytest.mark.parametrize("name", FITS)
def test_the_plain_estimator_of_a_fit(rng, name, tmp_path):
    """What is saved is a plain model with the same answers, which does without Dask."""
    X, Y = draw(rng)
    dask_model = over_dask(name).fit(blocks_of(X, "even"), Y)
    plain = dask_model.to_local()
    assert type(plain) is type(in_one_process(name))
    assert plain.get_params() == dask_model.get_params()
    model_file.save_model(tmp_path / "a.skops", dask_model)
    loaded = model_file.load_model(tmp_path / "a.skops")
    for model in (plain, loaded, pickle.loads(pickle.dumps(plain))):
        assert not any(hasattr(value, "__dask_graph__") for value in vars(model).values())
        for method in ("transform", "predict_proba", "predict"):
            if hasattr(model, method):
                answer = getattr(dask_model, method)(da.from_array(X, chunks=(40, 6))).compute()
                np.testing.assert_allclose(getattr(model, method)(X), answer, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_a_saved_fit_loads_without_dask(rng, tmp_path):
    X, Y = draw(rng)
    model_file.save_model(tmp_path / "a.model", over_dask("MLkNN").fit(blocks_of(X, "even"), Y))
    program = """
import sys
sys.modules["dask"] = None
from nmlsdr.model_file import load_model
print(type(load_model(sys.argv[1])).__name__)
"""
    words = [sys.executable, "-c", program, str(tmp_path / "a.model")]
    process = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert process.stdout == "MLkNN\n", process.stderr


def test_an_estimator_of_rows_in_memory_names_the_class_to_import(rng):
    X, Y = draw(rng)
    rows = da.from_array(X, chunks=(50, 6))
    model = nmlsdr.MLkNN(5).fit(X, Y)
    for call in (lambda: nmlsdr.MLkNN(5).fit(rows, Y), lambda: model.predict(rows)):
        with pytest.raises(nmlsdr.InputError, match=r"use nmlsdr\.dask\.MLkNN, .* X\.map_blocks\(model\.predict\)"):
            call()


def test_classes_float32_masks_trust_and_sparse_labels(rng):
    X, Y = draw(rng)
    dX = blocks_of(X, "even")
    y = np.array(["one", "two", "-1"])[rng.integers(0, 3, len(X))]
    assert_same_fit(nmlsdr.dask.MLkNN(5).fit(dX, da.from_array(y, chunks=40)), nmlsdr.MLkNN(5).fit(X, y))
    assert_same_fit(nmlsdr.dask.MultiLabelPropagation(5).fit(dX, y), nmlsdr.MultiLabelPropagation(5).fit(X, y))
    model = nmlsdr.dask.MLkNN(5).fit(dX, y)
    np.testing.assert_array_equal(model.predict(dX).compute(), nmlsdr.MLkNN(5).fit(X, y).predict(X))
    narrow = X.astype(np.float32)
    dask_model, expected = (nmlsdr.dask.NMLSDR(n_neighbors=5).fit(rows, Y) for rows in (dX.astype(np.float32), narrow))
    assert dask_model.components_.dtype == dask_model.transform(dX.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(dask_model.components_, expected.components_, atol=1e-6)
    labeled = rng.random(len(X)) < 0.6
    alpha = rng.random(len(X)) * 0.9
    sparse_labels = sparse.csr_array(np.where(Y < 0, 0, Y))
    dask_model = nmlsdr.dask.NMLSDR(n_neighbors=5).fit(
        dX,
        da.from_array(sparse_labels.toarray(), chunks=(40, -1)).map_blocks(sparse.csr_array),
        alpha=da.from_array(alpha, chunks=30),
        labeled=da.from_array(labeled, chunks=20),
    )
    assert_same_fit(dask_model, nmlsdr.NMLSDR(n_neighbors=5).fit(X, sparse_labels, alpha=alpha, labeled=labeled))
    W = graph.neighbor_graph(X, 4)
    assert_same_fit(nmlsdr.dask.NMLSDR().fit(dX, Y, graph=W), nmlsdr.NMLSDR().fit(X, Y, graph=W))


@pytest.mark.parametrize("kind", ["even", "csr"])
@pytest.mark.parametrize(
    "make",
    [
        lambda of: of.ResidualPropagation(n_neighbors=5),
        lambda of: of.NMLSDR(shrinkage="cv"),
        lambda of: of.NMLSDR(shrinkage=0.5),
    ],
)
def test_a_trend_and_residuals_from_sums(rng, kind, make):
    """Weights and ridge come from sums over blocks, so the embedding agrees to rounding, and with it what follows.

    On rows full of ties it need not: distances of weighted rows that tie in one process may differ in the last bit.
    """
    X = rng.normal(size=(150, 6))
    Y = rng.integers(0, 2, (150, 3))
    X[:, 3] = 2.0
    X = np.where(abs(X) > 0.8, X, 0.0) if kind == "csr" else X
    Y[rng.random(150) < 0.4] = -1
    expected = make(nmlsdr).fit(sparse.csr_array(X) if kind == "csr" else X, Y)
    model = make(nmlsdr.dask).fit(blocks_of(X, kind), Y)
    assert model.shrinkage_ == expected.shrinkage_
    for name, values in vars(expected).items():
        if name.endswith("_") and isinstance(values, np.ndarray) and values.dtype.kind in "fib":
            np.testing.assert_allclose(getattr(model, name), values, rtol=1e-9, atol=1e-9, err_msg=name)
    assert_same_map(model, expected, X)


def test_verdicts_are_taken_alike(rng):
    Y = (rng.random((120, 4)) < 0.3).astype(int)
    X = 3 * Y + rng.normal(size=Y.shape)
    noisy_labels = np.where(rng.random(Y.shape) < 0.1, 1 - Y, Y)
    verdicts = np.where(rng.random(Y.shape) < 0.1, Y, -1)
    expected = nmlsdr.ResidualPropagation(n_neighbors=5).fit(X, noisy_labels, verdicts=verdicts)
    lazy = da.from_array(verdicts, chunks=(50, -1))
    model = nmlsdr.dask.ResidualPropagation(n_neighbors=5).fit(blocks_of(X, "even"), noisy_labels, verdicts=lazy)
    assert model.flip_rate_ == expected.flip_rate_
    np.testing.assert_allclose(model.thresholds_, expected.thresholds_, atol=1e-9)
    assert_same_map(model, expected, X)


def assert_same_map(model, expected, X):
    for method in ("transform", "decision_function", "predict_proba"):
        if hasattr(expected, method):
            lazy = getattr(model, method)(da.from_array(X, chunks=(70, 5)))
            np.testing.assert_allclose(lazy.compute(), getattr(expected, method)(X), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_the_forests_are_fitted_on_the_gathered_rows_up_to_a_stated_size(rng, monkeypatch):
    X = rng.normal(size=(150, 6))
    Y = rng.integers(0, 2, (150, 3))
    Y[rng.random(150) < 0.4] = -1
    blocks = da.from_array(X, chunks=(17, -1))
    over, plain = (of.ResidualPropagation(n_neighbors=5, threshold="prior") for of in (nmlsdr.dask, nmlsdr))
    over.fit(blocks, Y)
    plain.fit(X, Y)
    for forest, plain_forest in zip(over.forests_, plain.forests_, strict=True):
        assert_same(forest, plain_forest)
    np.testing.assert_allclose(over.thresholds_, plain.thresholds_, atol=1e-9)
    np.testing.assert_allclose(over.decision_function(blocks).compute(), plain.decision_function(X), atol=1e-9)
    monkeypatch.setattr(nmlsdr.dask._estimators, "LARGEST_FOREST", 1000)
    with pytest.raises(ValueError, match=r"The forests need the \d+ labelled rows in memory.*pass n_estimators=0"):
        over.fit(blocks, Y)
    assert over.set_params(n_estimators=0).fit(blocks, Y).forests_ == []


def test_a_batch_of_labels_that_know_less_changes_no_bit_of_the_others(rng):
    """One label of the second batch is known on fewer rows, which gives all of them one alpha for each entry."""
    X = rng.normal(size=(400, 5))
    Y = (X @ rng.normal(size=(5, 20)) > 1).astype(float)
    Y[rng.random(400) < 0.4] = -1
    Y[rng.random(400) < 0.3, 18] = -1
    expected = in_one_process("MultiLabelPropagation").fit(X, Y)
    assert_same_fit(over_dask("MultiLabelPropagation").fit(da.from_array(X, chunks=(100, 5)), Y), expected)


def test_warnings_are_issued_once(rng):
    X = np.concatenate([rng.normal(size=(30, 2)), 1e3 + rng.normal(size=(30, 2))])
    Y = rng.integers(0, 2, (60, 20))
    Y[30:] = -1
    with pytest.warns(UserWarning, match="30 of 60 rows lie in components") as caught_warnings:
        nmlsdr.dask.MultiLabelPropagation(4).fit(da.from_array(X, chunks=(25, 2)), Y)
    assert len(caught_warnings) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Y: nmlsdr.dask.NMLSDR(n_neighbors=5).fit(X / 0, Y), "X contains NaN or infinity"),
        (
            lambda X, Y: nmlsdr.dask.NMLSDR().fit(X[X[:, 0] > 0], Y),
            "X has chunks of unknown size; call its compute_chunk",
        ),
        (lambda X, Y: nmlsdr.dask.NMLSDR().fit(X[:, 0], Y), "X must be a 2-D array"),
        (lambda X, Y: nmlsdr.MVMD().fit(X, Y), r"MVMD takes rows in memory, .* or X\.compute\(\)"),
        (lambda X, Y: nmlsdr.dask.MLkNN(neighbors="precomputed").fit(X, Y), "needs distances in memory"),
        (lambda X, Y: nmlsdr.dask.NMLSDR(neighbors=Proposer()).fit(X, Y), "searches rows in memory"),
        (lambda X, Y: nmlsdr.dask.MLkNN(5).fit(X, Y).predict(X[:, :3]), "X has 3 features, but MLkNN is expecting 6"),
        (
            lambda X, Y: nmlsdr.dask.MDDM(constraint="features").fit(X[:5], np.eye(5, dtype=int)),
            "needs rows in memory where it is fitted",
        ),
        (
            lambda X, Y: nmlsdr.dask.ResidualPropagation(n_neighbors=3).fit(X[:10], np.eye(10, 3, dtype=int)),
            "The ridge regression needs rows in memory",
        ),
        (lambda X, Y: nmlsdr.dask.NMLSDR().fit(X, Y[:9]), "X has 150 rows, y has 9"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:.* no known 0")
def test_wrong_arguments_of_dask_estimators_are_refused(rng, call, message):
    X, Y = draw(rng)
    with pytest.raises(ValueError, match=message):
        call(da.from_array(X, chunks=(50, -1)), Y)


class Proposer:
    def fit_transform(self, X):
        raise AssertionError("not for rows in several processes")
