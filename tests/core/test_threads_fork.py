"""Threads and forks: many Python threads at once leave the process as it was, and a forked child does not hang."""

import multiprocessing
import threading

import numpy as np
import pytest
from estimator_cases import ESTIMATORS, assert_same, draw, every_estimator, make, outcome
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from nmlsdr._process import threads as _threads
from nmlsdr._process.threads import single_threaded_blas

N_THREADS = 8


def limits():
    """File of every BLAS and OpenMP library that is loaded -> its number of threads."""
    return {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}


@pytest.mark.quick_cases("as is-NMLSDR", "as is-MLkNN", "as is-MultiLabelPropagation")
@every_estimator
@pytest.mark.parametrize("outer", [None, 1], ids=["as is", "limited by the caller"])
def test_threads_fit_and_transform_at_once(name, outer):
    """Eight threads, shared data: every answer is the serial one, and the limits are afterwards what they were."""
    X, Y = draw(n=150)
    for array in (X, Y):
        array.flags.writeable = False
    prototype = make(name, n_jobs=2)
    expected = outcome(clone(prototype).fit(X, Y), X)  # and every library is loaded from here on
    outcomes = []
    errors = []
    gate = threading.Barrier(N_THREADS)

    def work():
        try:
            gate.wait(timeout=60)
            for _ in range(2):
                outcomes.append(outcome(clone(prototype).fit(X, Y), X))
        except Exception as error:  # reported by the main thread
            errors.append(error)

    with threadpool_limits(limits=outer):
        before = limits()
        workers = [threading.Thread(target=work) for _ in range(N_THREADS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert limits() == before
    assert not errors, errors
    assert len(outcomes) == 2 * N_THREADS
    for answer in outcomes:
        assert_same(answer, expected)


def _fit_everything(X, Y):
    return {name: outcome(make(name, n_jobs=2).fit(X, Y), X) for name in ESTIMATORS}


def _child(pipe, X, Y):
    pipe.send(_fit_everything(X, Y))
    pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
# Python 3.12 warns of any fork in a process with threads; libgomp's workers are threads.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_does_not_hang():
    """The parent has run OpenMP teams, which a forked child cannot use: it runs on one thread and gives the same."""
    X, Y = draw(n=150)
    expected = _fit_everything(X, Y)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(theirs, X, Y))
    child.start()
    theirs.close()
    try:
        assert ours.poll(120), "the forked child hangs"
        child_outcomes = ours.recv()
        child.join(30)
        assert child.exitcode == 0
    finally:
        if child.is_alive():
            child.kill()
            child.join()
    for name, answer in expected.items():
        assert_same(child_outcomes[name], answer)
    # and the parent still runs its teams
    for name, answer in _fit_everything(X, Y).items():
        np.testing.assert_array_equal(answer, expected[name])


@pytest.mark.parametrize("before", [1, 2])
def test_a_limit_is_restored(before, monkeypatch):
    """Set here, or a limit that was lost earlier would be taken for the one to restore.

    The libraries are looked for once; a test before may have loaded another one since.
    """
    monkeypatch.setattr(_threads, "_limits", _threads._BlasLimits())

    def blas():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(limits=before, user_api="blas"):
        with single_threaded_blas(), single_threaded_blas():
            assert blas() == {1}
        assert blas() == {before}


def test_the_last_thread_out_restores_the_limit_that_the_first_one_set():
    """threadpoolctl 3.8 ignores a limit set by another thread than the one that set it first."""
    first_in = threading.Event()
    second_in = threading.Event()
    first_out = threading.Event()

    def first():
        with single_threaded_blas():
            first_in.set()
            assert second_in.wait(30)
        first_out.set()
        last_out.wait(30)  # stays alive: a dead owner would lose its control

    last_out = threading.Event()
    before = limits()
    thread = threading.Thread(target=first)
    thread.start()
    assert first_in.wait(30)
    with single_threaded_blas():
        second_in.set()
        assert first_out.wait(30)
        assert all(pool["num_threads"] == 1 for pool in threadpool_info() if pool["user_api"] == "blas")
    try:
        assert limits() == before
        with threadpool_limits(limits=1, user_api="blas"):  # and the control is free again for others
            assert all(pool["num_threads"] == 1 for pool in threadpool_info() if pool["user_api"] == "blas")
        assert limits() == before
    finally:
        last_out.set()
        thread.join()
