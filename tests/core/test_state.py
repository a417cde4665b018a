"""What estimators and indexes keep between calls never changes an answer: each equals that of a fresh object.

Two exceptions are documented: memory maps and sparse rows are not copied, so they must not be changed after a fit.
"""

import copy
import importlib.util
import itertools
import multiprocessing
import pickle
import threading
import warnings

import numpy as np
import pytest
from estimator_cases import CLASSIFIERS, ESTIMATORS, assert_same, draw, make
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import nmlsdr
from nmlsdr import ExactNeighborsTransformer
from nmlsdr.graph import ExactIndex, kneighbors, neighbor_graph
from nmlsdr.tables import TableEncoder

STORED = {
    "dense": lambda X: X.copy(),
    "float32": lambda X: X.astype(np.float32),
    "Fortran": np.asfortranarray,
    "CSR": sparse.csr_array,
    "CSR matrix": sparse.csr_matrix,
}
KEEP_ROWS = [*CLASSIFIERS, "ExactNeighborsTransformer", "ExactIndex"]
EVERY = [*ESTIMATORS, "ExactNeighborsTransformer", "ExactIndex"]
# below and above the number of queries that prepared rows serve
SMALL = 6
LARGE = 260


def given_rows(seed):
    """Training rows with labels, all labelled for seeds 0 and 3, and queries."""
    X, Y = draw(n=70, hidden=10 * (seed % 3), seed=seed)
    return X, Y, np.random.default_rng(1000 + seed).normal(size=(LARGE, X.shape[1]))


def ask(model, Q):
    """Answers to small and large batches; the second small one prepares the rows."""
    parts = Q[:SMALL], Q[:SMALL], Q, Q[:1], Q[SMALL : 2 * SMALL]
    if isinstance(model, ExactIndex):
        return np.concatenate([np.hstack(model.query(part, 5)) for part in parts])
    methods = [name for name in ("predict_proba", "predict", "transform") if hasattr(model, name)]
    return np.concatenate([_dense(getattr(model, name)(part)) for name in methods for part in parts])


def _dense(answer):
    return answer.toarray() if sparse.issparse(answer) else np.asarray(answer, dtype=float)


def fitted(name, X, Y, **fit_arguments):
    if name == "ExactIndex":
        return ExactIndex(X, n_jobs=2)
    if name == "ExactNeighborsTransformer":
        return ExactNeighborsTransformer(n_jobs=2).fit(X)
    return make(name, n_jobs=2).fit(X, Y, **fit_arguments)


def change(array, new_values):
    """Other numbers in the same memory."""
    (array.data if sparse.issparse(array) else array)[...] = (
        new_values.data if sparse.issparse(new_values) else new_values
    )


def others_of(name):
    """The keyword arguments of a fit, and others: graph, alpha and labeled where it takes them."""
    graph = neighbor_graph(draw(n=70, seed=9)[0], 4)
    known = np.arange(70) % 4 > 0
    values = {"graph": (graph, graph * 3), "alpha": (np.full(70, 0.5), np.full(70, 0.9)), "labeled": (known, ~known)}
    fit_parameters = ESTIMATORS[name].fit.__annotations__
    return {key: value for key, value in values.items() if key in fit_parameters}


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():  # few labelled rows, labels that are never predicted
        warnings.simplefilter("ignore", UserWarning)
        yield


# ---------------------------------------------------------------- a fit that raises


class Stop(BaseException):
    """Raised in the middle of a fit, where a user may press Ctrl-C."""


def stopping(model, n_set):
    """The class of a model, whose objects raise when the next attribute but ``n_set[0]`` is set; None: never."""

    def set_or_stop(self, name, value):
        if n_set[0] is not None:
            n_set[0] -= 1
            if n_set[0] < 0:
                raise Stop
        object.__setattr__(self, name, value)

    return type(type(model).__name__, (type(model),), {"__setattr__": set_or_stop})


def models_to_fit_again():
    """Every estimator, also those for Dask arrays (here with rows in memory) and the encoder of tables."""
    models = {name: make(name, n_jobs=1) for name in ESTIMATORS}
    models["ExactNeighborsTransformer"] = ExactNeighborsTransformer(n_jobs=1)
    models["TableEncoder"] = TableEncoder()
    if importlib.util.find_spec("dask") is not None:
        models |= {
            f"dask.{name}": getattr(nmlsdr.dask, name)().set_params(**models[name].get_params())
            for name in nmlsdr.dask.__all__
            if name in ESTIMATORS
        }
    return models


@pytest.mark.parametrize(("name", "model"), models_to_fit_again().items())
def test_a_fit_that_raises_leaves_the_old_model_as_it_was(name, model):
    """Wherever it raises: otherwise old predictions could stand under new names."""
    pandas = pytest.importorskip("pandas")
    X, Y = draw(n=30, hidden=0)
    n_set = [None]
    model = stopping(model, n_set)(**model.get_params())
    model.fit(pandas.DataFrame(X, columns=list("abcdef")), pandas.DataFrame(Y, columns=list("pqrs")))
    before = dict(vars(model))
    for n in itertools.count():
        n_set[0] = n
        try:
            model.fit(X[:25, :5], Y[:25, :3])
            break
        except Stop:
            n_set[0] = None
        assert vars(model).keys() == before.keys()
        assert [key for key, value in before.items() if vars(model)[key] is not value] == []
    n_set[0] = None
    assert n > (1 if name == "TableEncoder" else 2)
    fresh = type(model)(**model.get_params()).fit(X[:25, :5], Y[:25, :3])
    assert vars(model).keys() == vars(fresh).keys(), "an attribute of the old fit is left"


# ---------------------------------------------------------------- the arguments change


@pytest.mark.quick_cases("NMLSDR", "ResidualPropagation")
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("name", EVERY)
def test_a_second_fit_sees_new_numbers_in_the_same_array(name, stored):
    X, Y, Q = given_rows(0)
    other_rows, other_Y, _ = given_rows(3)
    rows = STORED[stored](X)
    labels = Y.copy()
    model = fitted(name, rows, labels)
    ask(model, Q)
    change(rows, STORED[stored](other_rows))
    change(labels, other_Y)
    model = ExactIndex(rows) if name == "ExactIndex" else model.fit(rows, labels)
    assert_same(ask(model, Q), ask(fitted(name, STORED[stored](other_rows), other_Y), Q))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_it_is_fitted_again_by_either_metric(name, metric):
    X, Y, Q = given_rows(0)
    other_rows, other_Y, _ = given_rows(3)
    model = make(name, metric=metric).fit(X, Y)
    ask(model, Q)
    change(X, other_rows)
    assert_same(ask(model.fit(X, other_Y), Q), ask(make(name, metric=metric).fit(other_rows, other_Y), Q))
    flipped = {"euclidean": "cosine", "cosine": "euclidean"}[metric]
    expected = ask(copy.deepcopy(model).set_params(metric=flipped), Q)
    assert_same(ask(model.set_params(metric=flipped), Q), expected)


@pytest.mark.quick_cases("NMLSDR", "MLkNN")
@pytest.mark.parametrize("name", EVERY)
def test_arguments_may_change_after_a_fit(name):
    X, Y, Q = given_rows(0)
    expected = ask(fitted(name, X.copy(), Y.copy()), Q)
    model = fitted(name, X, Y)
    assert_same(ask(model, Q[:]), expected)
    query_rows = Q.copy()
    ask(model, query_rows)
    for array in (X, Y, query_rows):
        array[...] = 0
    assert_same(ask(model, Q), expected)
    if name not in ESTIMATORS:
        return
    for keyword, (first, second) in others_of(name).items():
        X, Y, _ = given_rows(0)
        value = first.copy()
        model = fitted(name, X, Y, **{keyword: value})
        expected = ask(model, Q)
        change(value, second)
        assert_same(ask(model, Q), expected)
        assert_same(ask(model.fit(X, Y, **{keyword: value}), Q), ask(fitted(name, X, Y, **{keyword: second}), Q))


@pytest.mark.parametrize("name", ["MLkNN", "MultiLabelPropagation", "ExactNeighborsTransformer", "ExactIndex"])
def test_memory_maps_and_sparse_rows_stay_references(name, tmp_path):
    """As documented: a copy could be larger than the memory."""
    X, Y, _ = given_rows(0)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for rows, is_shared in ((mapped, True), (sparse.csr_array(X), True), (X, False)):
        model = fitted(name, rows, Y)
        stored_rows = model._rows if name == "ExactIndex" else model.training_rows_
        parts = (stored_rows.data, rows.data) if sparse.issparse(rows) else (stored_rows, rows)
        assert np.shares_memory(*parts) == is_shared


# ---------------------------------------------------------------- copies, processes, threads


@settings(max_examples=12, deadline=None)
@given(
    name=st.sampled_from([*KEEP_ROWS, "NMLSDR"]),
    steps=st.lists(st.sampled_from(["small", "large", "fit", "copy", "deepcopy", "pickle"]), min_size=2, max_size=7),
)
def test_any_order_of_calls(name, steps):
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        X, Y, Q = given_rows(0)
        rows = X.copy()
        model = fitted(name, X, Y)
        seed = 0
        for step in steps:
            if step == "fit":
                seed += 1
                X, Y, _ = given_rows(seed)
                change(rows, X)
                model = ExactIndex(rows) if name == "ExactIndex" else model.fit(rows, Y)
            elif step in ("small", "large"):
                part = Q[:SMALL] if step == "small" else Q
                assert np.isfinite(model.query(part, 3)[0] if name == "ExactIndex" else _answer(model, part)).all()
            else:
                model = pickle.loads(pickle.dumps(model)) if step == "pickle" else getattr(copy, step)(model)
        assert_same(ask(model, Q), ask(fitted(name, X.copy(), Y.copy()), Q))


def _answer(model, Q):
    return _dense(model.predict_proba(Q) if hasattr(model, "predict_proba") else model.transform(Q))


@pytest.mark.parametrize("name", KEEP_ROWS)
def test_a_copy_is_independent_of_its_original(name):
    X, Y, Q = given_rows(0)
    other_rows, other_Y, _ = given_rows(3)
    model = fitted(name, X, Y)
    expected = ask(model, Q)
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_same(ask(twin, Q), expected)
        if name != "ExactIndex":
            twin.fit(other_rows, other_Y)
            assert_same(ask(twin, Q), ask(fitted(name, other_rows, other_Y), Q))
        assert_same(ask(model, Q), expected)


@pytest.mark.parametrize("name", KEEP_ROWS)
def test_threads_share_one_fitted_object(name):
    X, Y, Q = given_rows(0)
    other_rows, other_Y, _ = given_rows(3)
    expected = ask(fitted(name, other_rows, other_Y), Q)
    model = fitted(name, X, Y)
    ask(model, Q)
    change(X, other_rows)
    model = ExactIndex(X) if name == "ExactIndex" else model.fit(X, other_Y)
    answers = []
    gate = threading.Barrier(4)

    def work():
        gate.wait(timeout=60)
        answers.append(ask(model, Q))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(answers) == 4
    for answer in answers:
        assert_same(answer, expected)


def _child(pipe, models, rows, Y, Q):
    warnings.simplefilter("ignore")
    before = {name: ask(model, Q) for name, model in models.items()}
    after = {name: ask(model.fit(rows, Y), Q) for name, model in models.items() if name != "ExactIndex"}
    pipe.send((before, after, kneighbors(rows, 5)))
    pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
# Python 3.12 warns of any fork in a process with threads; libgomp's workers are threads.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_predicts_with_rows_its_parent_prepared():
    X, Y, Q = given_rows(0)
    other_rows, other_Y, _ = given_rows(3)
    models = {name: fitted(name, X, Y) for name in KEEP_ROWS}
    expected = {name: ask(model, Q) for name, model in models.items()}
    renewed = {name: ask(fitted(name, other_rows, other_Y), Q) for name in KEEP_ROWS[:-1]}
    change(X, other_rows)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(theirs, models, X, other_Y, Q))
    child.start()
    theirs.close()
    try:
        assert ours.poll(120), "the forked child hangs"
        before, after, lists = ours.recv()
        child.join(30)
    finally:
        child.kill()
    for name in models:
        assert_same(before[name], expected[name])
    for name in KEEP_ROWS[:-1]:
        assert_same(after[name], renewed[name])
    for neighbor_list, right in zip(lists, kneighbors(other_rows, 5), strict=True):
        np.testing.assert_array_equal(neighbor_list, right)


@pytest.mark.parametrize("name", ["MDDM", "ResidualPropagation"])
def test_a_pickle_of_another_version_is_refused(name, monkeypatch):
    X, Y, _ = given_rows(0)
    written = pickle.dumps(make(name).fit(X, Y))
    monkeypatch.setattr("nmlsdr._estimators._sklearn_bases.__version__", "99.0")
    with pytest.raises(ValueError, match=rf"This {name} was written by nmlsdr .*, and this is nmlsdr 99\.0"):
        pickle.loads(written)
