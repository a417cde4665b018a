"""Fits on Dask workers in processes of their own, some of which are killed."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from dask_cases import assert_same_answers, assert_same_fit, draw, in_one_process, over_dask

import nmlsdr
import nmlsdr.dask
from nmlsdr import graph
from nmlsdr.dask import _neighbors as neighbor_tasks
from nmlsdr.dask._blocks import Blocks
from nmlsdr.dask._estimators import in_batches
from nmlsdr.propagation import propagate

dask = pytest.importorskip("dask", reason="needs Dask: pip install 'nmlsdr[dask]'")
da = pytest.importorskip("dask.array", reason="needs Dask: pip install 'nmlsdr[dask]'")

pytestmark = pytest.mark.usefixtures("quiet")


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
