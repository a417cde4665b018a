"""Fits on Dask arrays: the bits and the map of one process, whatever the blocks are and wherever they run."""

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from itertools import combinations

import numpy as np
import pytest
from model_files import assert_same
from scipy import sparse

import nmlsdr
import nmlsdr.dask
from nmlsdr import graph, model_file
from nmlsdr.dask import _neighbors as neighbor_tasks
from nmlsdr.dask import _search_plan, open_rows
from nmlsdr.dask._blocks import Blocks
from nmlsdr.dask._estimators import in_batches
from nmlsdr.dask._rows import DaskRows
from nmlsdr.dask._search_plan import PRIMES, Site, cut_rows, lines, make_plan
from nmlsdr.propagation import propagate

dask = pytest.importorskip("dask", reason="needs Dask: pip install 'nmlsdr[dask]'")
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


@pytest.fixture(autouse=True)
def quiet():
    """The plan goes to standard error unless the logger says otherwise."""
    logger = logging.getLogger("nmlsdr")
    logger.setLevel(logging.WARNING)
    yield
    logger.setLevel(logging.NOTSET)


def draw(rng, n=150, labels=3):
    """Rows on a grid: full of ties and duplicates."""
    X = rng.integers(0, 4, size=(n, 6)).astype(float)
    Y = (X @ rng.normal(size=(6, labels)) + rng.normal(size=(n, labels)) > 0).astype(int)
    Y[rng.random(n) < 0.4] = -1
    return X, Y


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


def blocks_of(X, kind):
    if kind == "csr":
        return da.from_array(X, chunks=(40, -1)).map_blocks(sparse.csr_array)
    chunks = {"even": (50, -1), "ragged": ((7, 0, 90, 1, 52), (2, 4)), "one": (150, 6), "rows": (1, 6)}[kind]
    return da.from_array(X, chunks=chunks)


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


# ---------------------------------------------------------------- meetings


@pytest.mark.parametrize("q", [q for q in PRIMES if 1 < q <= 13])
def test_any_two_parts_are_compared_exactly_once(q):
    met = [pair for line in lines(q) for pair in combinations(sorted(line), 2)]
    assert len(met) == len(set(met)) == q**2 * (q**2 - 1) // 2
    assert len(lines(q)) == q**2 + q
    assert all(len(line) == q for line in lines(q))


@pytest.mark.parametrize("edges", [[0, 100], [0, 1, 2, 100], [0, 30, 30, 61, 100], list(range(101))])
@pytest.mark.parametrize("parts", [1, 4, 9, 25])
def test_parts_cover_the_rows_in_order(edges, parts):
    cuts = cut_rows(np.array(edges), parts)
    assert len(cuts) == parts + 1
    assert cuts[0] == 0
    assert cuts[-1] == 100
    assert (np.diff(cuts) >= 0).all()
    assert np.diff(cuts).max() <= 1.5 * 100 / parts + 1


@pytest.mark.quick_cases("chunks0-1", "chunks1-3", "chunks2-7", "euclidean-9-chunks3")
@pytest.mark.parametrize("order", [1, 3, 7])
@pytest.mark.parametrize("chunks", [(150,), (149, 1), (50, 50, 50), (13,) * 11 + (7,)])
@pytest.mark.parametrize("k", [1, 9, 149])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_lists_do_not_depend_on_the_order_of_comparisons(rng, monkeypatch, order, chunks, k, metric):
    assert_lists_of_one_search(draw(rng)[0], monkeypatch, order, chunks, k, metric)


def assert_lists_of_one_search(X, monkeypatch, order, chunks, k, metric):
    """Blocks of these sizes, compared in this order, give the lists of a search of all rows at once."""
    plan = neighbor_tasks.make_plan
    monkeypatch.setattr(neighbor_tasks, "make_plan", lambda *a, **b: plan(*a, **b)._replace(order=order))
    squared, indices = graph.squared_neighbors(X, k, metric=metric)
    rows = DaskRows.of(da.from_array(X, chunks=(chunks, (6,))))
    neighbors = neighbor_tasks.neighbors(rows, k, metric=metric)
    np.testing.assert_array_equal(neighbors.indices, indices)
    np.testing.assert_array_equal(neighbors.squared, squared)


def test_a_selection_of_dask_rows_is_searched_like_the_same_rows_in_memory(rng):
    X, _ = draw(rng)
    selection = np.flatnonzero(rng.random(150) < 0.5)
    rows = DaskRows.of(da.from_array(X, chunks=(17, -1)))[selection][np.arange(len(selection)) % 3 > 0]
    selected_rows = X[selection][np.arange(len(selection)) % 3 > 0]
    np.testing.assert_array_equal(rows.array().compute(), selected_rows)
    np.testing.assert_array_equal(
        neighbor_tasks.neighbors(rows, 4).indices, graph.squared_neighbors(selected_rows, 4)[1]
    )


# ---------------------------------------------------------------- sources


def test_a_block_is_made_again_but_what_all_need_is_made_once():
    """The blocks of X are in no recipe's needs; the mean and the deviation are, once each."""
    X = da.random.default_rng(0).normal(size=(300, 7), chunks=(70, 7))
    blocks = Blocks.of((X - X.mean(axis=0)) / X.std(axis=0))
    assert len(blocks.inputs) == 2
    assert all(len(recipe.needs) == 2 for recipe in blocks.recipes)
    assert len(Blocks.of(X).inputs) == 0


def test_data_travels_once_and_not_with_every_recipe():
    X = np.zeros((1000, 200))
    blocks = Blocks.of(da.from_array(X, chunks=(250, -1)))
    assert len(blocks.inputs) == 4
    assert all(len(pickle.dumps(recipe)) < 10_000 for recipe in blocks.recipes)


@pytest.mark.parametrize("order", ["C", "F"])
def test_files_of_numpy_are_opened_by_name(rng, tmp_path, order):
    X, Y = draw(rng)
    X = np.asarray(X, np.float32, order=order)
    np.save(tmp_path / "x.npy", X)
    rows = open_rows(tmp_path / "x.npy", rows_per_block=40)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows.compute(), X)
    assert all(len(pickle.dumps(recipe)) < 10_000 for recipe in Blocks.of(rows).recipes)
    expected = nmlsdr.MultiLabelPropagation(5).fit(X, Y)
    assert_same_fit(nmlsdr.dask.MultiLabelPropagation(5).fit(rows, Y), expected)
    np.testing.assert_array_equal(open_rows(tmp_path / "x.npy").compute(), X)


def test_zarr_stores(rng, tmp_path):
    zarr = pytest.importorskip("zarr", reason="needs zarr")
    X, Y = draw(rng)
    stored = zarr.create_array(str(tmp_path / "x.zarr"), shape=X.shape, chunks=(40, 4), dtype="float32")
    stored[:] = X
    rows = open_rows(tmp_path / "x.zarr")
    assert rows.dtype == np.float32
    expected = nmlsdr.NMLSDR(n_neighbors=5).fit(X.astype(np.float32), Y)
    assert_same_fit(nmlsdr.dask.NMLSDR(n_neighbors=5).fit(rows, Y), expected)
    assert open_rows(tmp_path / "x.zarr", rows_per_block=100).chunks[0] == (100, 50)


@pytest.mark.parametrize("source", ["nothing.txt", 3, np.zeros((3, 2)), "one dimension"])
def test_other_sources_are_refused(tmp_path, source):
    if isinstance(source, str) and source == "one dimension":
        np.save(tmp_path / "x.npy", np.zeros(3))
        source = tmp_path / "x.npy"
    with pytest.raises(ValueError, match=r"source must"):
        open_rows(source)


# ---------------------------------------------------------------- the plan


def site(memory, threads=2):
    return Site(threads, threads, memory)


@pytest.fixture
def without_probe(monkeypatch):
    """A plan for rows of some gigabytes, which are not made."""
    monkeypatch.setattr(_search_plan, "_estimate", lambda *arguments: None)


@pytest.mark.usefixtures("without_probe")
def test_a_plan_fits_the_workers_or_its_error_says_what_to_change():
    rows = DaskRows.of(da.zeros((100_000, 10_000), chunks=(5000, -1), dtype=np.float32))
    for memory in (0.3e9, 1e9, 2e9, 4e9, 64e9):
        if memory == 0.3e9:
            with pytest.raises(ValueError, match="make the blocks smaller"):
                make_plan(rows, 10, site=site(memory))
            continue
        plan = make_plan(rows, 10, site=site(memory))
        assert plan.task_bytes + rows.largest_block() <= 0.6 * memory
        assert plan.n_tasks >= 6
        assert plan.bytes_read == (plan.order + 1) * 4e9
    assert f"rows in {plan.n_tasks} task(s) of " in str(plan)
    assert make_plan(rows, 10, site=site(np.inf)).order == 2


@pytest.mark.usefixtures("without_probe")
def test_a_plan_by_angle_counts_the_unit_rows():
    rows = DaskRows.of(da.zeros((100_000, 10_000), chunks=(1000, -1), dtype=np.float32))
    plan = make_plan(rows, 10, metric="cosine", site=site(2e9))
    assert plan.task_bytes * 5 + rows.largest_block() <= 0.6 * 2e9  # float32 rows, and twice as wide ones twice
    assert plan.order > make_plan(rows, 10, site=site(2e9)).order


def test_the_plan_is_logged_before_the_search(rng, caplog, capsys):
    X, Y = draw(rng)
    with caplog.at_level(logging.INFO, "nmlsdr"):
        nmlsdr.dask.NMLSDR(n_neighbors=5).fit(blocks_of(X, "even"), Y)
    assert "plan: neighbours of 150 x 6 rows" in caplog.text
    logging.getLogger("nmlsdr").setLevel(logging.NOTSET)
    nmlsdr.dask.NMLSDR(n_neighbors=5).fit(blocks_of(X, "even"), Y)
    assert capsys.readouterr().err.startswith("plan: neighbours of 150 x 6 rows in 1 task(s) of ")


# ---------------------------------------------------------------- two processes


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'nmlsdr[dask]'")
    # workers cannot import this file, whose functions they are to run
    pytest.importorskip("cloudpickle").register_pickle_by_value(sys.modules[__name__])
    LocalCluster = distributed.LocalCluster
    Client = distributed.Client
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="2GB", dashboard_address=":0") as local,
        Client(local) as client,
    ):
        yield client


def slowly(block, seconds):
    time.sleep(seconds)
    return block


def kill_a_worker(client, after):
    """Kill one worker's process after so many seconds; Dask starts another in its place."""
    workers = list(client.run(os.getpid).values())
    timer = threading.Timer(after, os.kill, (workers[0], signal.SIGKILL))
    timer.start()
    return timer, workers[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* no known 0")
def test_a_fit_survives_the_loss_of_one_of_two_processes(rng, cluster, monkeypatch):
    X, Y = draw(rng, labels=20)
    expected = in_one_process("SemiSupervisedMLkNN").fit(X, Y)
    plan = neighbor_tasks.make_plan
    monkeypatch.setattr(neighbor_tasks, "make_plan", lambda *a, **b: plan(*a, **b)._replace(order=3))
    rows = da.from_array(X, chunks=(17, -1)).map_blocks(lambda block: slowly(block, 0.1), dtype=X.dtype)
    timer, killed = kill_a_worker(cluster, 1.0)
    model = over_dask("SemiSupervisedMLkNN").fit(rows, da.from_array(Y, chunks=(60, 2)))
    timer.join()
    assert_same_fit(model, expected)
    assert killed not in cluster.run(os.getpid).values()
    assert_same_answers(model, expected, X[:31], rows[:31])


@pytest.mark.slow
def test_a_graph_that_dies_with_its_workers_is_sent_again(rng, cluster):
    """Both workers die while labels are propagated: what is scattered would be lost with them."""
    X, Y = draw(rng, labels=64)
    W = graph.neighbor_graph(X, 5)
    labeled = Y[:, 0] >= 0
    known_labels = np.maximum(Y, 0).astype(float)
    wait = 0.7

    def solve(W, Y, alpha, labeled):
        time.sleep(wait)
        return propagate(W, Y, alpha, labeled=labeled)

    pids = list(cluster.run(os.getpid).values())
    timer = threading.Timer(1.0, lambda: [os.kill(pid, signal.SIGKILL) for pid in pids])
    timer.start()
    propagation = in_batches(solve, W, known_labels, np.full(len(X), 0.9), labeled)
    timer.join()
    expected = propagate(W, known_labels, 0.9, labeled=labeled)
    np.testing.assert_array_equal(propagation.F, expected.F)
    assert (propagation.residual, propagation.n_iter) == (expected.residual, expected.n_iter)
    assert not set(pids) & set(cluster.run(os.getpid).values())


@pytest.mark.slow
def test_persisted_rows_are_not_made_again(rng, cluster):
    X, Y = draw(rng)
    made = da.from_array(X, chunks=(50, -1)).persist()
    for rows, values in ((made, X), (2 * made + 1, 2 * X + 1)):
        assert len(Blocks.of(rows).inputs) == 3
        assert_same_fit(nmlsdr.dask.NMLSDR(n_neighbors=5).fit(rows, Y), nmlsdr.NMLSDR(n_neighbors=5).fit(values, Y))


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_fit_whose_workers_are_gone_ends(rng):
    """Workers without a nanny, which nothing starts again."""
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'nmlsdr[dask]'")
    X, Y = draw(rng)
    rows = da.from_array(X, chunks=(17, -1)).map_blocks(lambda block: slowly(block, 2.0), dtype=X.dtype)
    with (
        dask.config.set({"nmlsdr.no-worker-timeout": "3 s"}),
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as local,
        distributed.Client(local) as client,
    ):
        words = [sys.executable, "-m", "dask", "worker", local.scheduler_address, "--no-nanny", "--no-dashboard"]
        workers = [subprocess.Popen([*words, "--nthreads", "1"], stderr=subprocess.DEVNULL) for _ in range(2)]
        try:
            client.wait_for_workers(2, timeout=60)
            timer = threading.Timer(1.0, lambda: [worker.kill() for worker in workers])
            timer.start()
            with pytest.raises(TimeoutError, match="The Dask cluster has had no worker for 3 s"):
                nmlsdr.dask.NMLSDR(n_neighbors=5).fit(rows, Y)
            timer.join()
            assert client.scheduler_info()["workers"] == {}
        finally:
            for worker in workers:
                worker.kill()
                worker.wait(timeout=60)


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
