"""Ratio guards: a lost vector or compiled path makes a kernel as slow as its plain twin.

Both run in this process, in turns, on one thread; the limits are a third or less of what was measured, so that a
busy machine does not matter.  There is no absolute time here; bench/compare.py finds small regressions.
"""

import time

import numpy as np
import pytest
import reference
from nmlsdr._dependence import dependence_sweep
from scipy import sparse

from nmlsdr import _graph, metrics
from nmlsdr.graph import kneighbors, transition_matrix
from nmlsdr.mlknn import fit_posterior, posterior
from nmlsdr.propagation import propagate

pytestmark = pytest.mark.skipif(_graph.build_facts()["debug"], reason="a debug build is not meant to be fast")


def speedup(ours, twin, *, rounds=5):
    """How many times faster ``ours`` is: best of the rounds of each, in turns."""
    best = {ours: np.inf, twin: np.inf}
    for _ in range(rounds):
        for call in (ours, twin):
            start = time.perf_counter()
            call()
            best[call] = min(best[call], time.perf_counter() - start)
    return best[twin] / best[ours]


def ring(n, k):
    """A symmetric graph in which row i has the next and the previous k rows."""
    rows = np.arange(n)
    offsets = np.concatenate([np.arange(1, k + 1), -np.arange(1, k + 1)])
    columns = (rows[:, None] + offsets) % n
    return sparse.csr_array((np.ones(columns.size), (np.repeat(rows, 2 * k), columns.ravel())), shape=(n, n))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_neighbours_are_found_in_the_expected_time(rng, dtype):
    X = rng.standard_normal((400, 60)).astype(dtype)
    assert speedup(lambda: kneighbors(X, 10, n_jobs=1), lambda: reference.kneighbors(X, 10)) > 6


def test_sparse_neighbours_are_found_in_the_expected_time(rng):
    X = sparse.csr_array(np.where(rng.random((400, 300)) < 0.05, 1.0, 0.0) * rng.standard_normal((400, 300)))
    assert speedup(lambda: kneighbors(X, 10, n_jobs=1), lambda: reference.kneighbors(X, 10)) > 8


def test_queries_are_answered_in_the_expected_time(rng):
    X = rng.standard_normal((400, 60))
    queries = rng.standard_normal((200, 60))
    ours = speedup(
        lambda: kneighbors(X, 10, queries=queries, n_jobs=1), lambda: reference.kneighbors(X, 10, queries=queries)
    )
    assert ours > 4


def test_the_transition_matrix_is_made_in_the_expected_time():
    W = ring(1000, 5)
    assert speedup(lambda: transition_matrix(W, n_jobs=1), lambda: reference.transition_matrix(W.toarray())) > 3


def test_labels_are_propagated_in_the_expected_time(rng):
    W = ring(600, 5)
    Y = (rng.random((600, 10)) < 0.2).astype(float)
    dense = W.toarray()
    ours = speedup(lambda: propagate(W, Y, 0.6, n_jobs=1), lambda: reference.propagate(dense, Y, 0.6), rounds=3)
    assert ours > 3


def test_mlknn_predicts_in_the_expected_time(rng):
    Y = (rng.random((1000, 30)) < 0.2).astype(np.uint8)
    indices = np.arange(1000)[:, None] + np.arange(1, 11)
    indices %= 1000

    def ours():
        return posterior(fit_posterior(Y, indices, n_jobs=1), Y, indices, n_jobs=1)

    def plain():
        delta = np.array([[sum(int(Y[m, j]) for m in row) for j in range(3)] for row in indices])
        return np.bincount(delta.ravel())

    assert speedup(ours, plain, rounds=3) > 4  # the loop does a tenth of the labels and no posterior


def test_a_dependence_sweep_takes_the_expected_time(rng):
    X = rng.standard_normal((300, 200))
    Y = (rng.random((300, 20)) < 0.15).astype(float)
    indptr = np.r_[0, np.cumsum(Y.sum(axis=1))].astype(np.intp)
    label_arrays = (indptr, np.nonzero(Y)[1].copy(), np.full(int(Y.sum()), 0.5))
    A = Y.T @ X
    every = np.arange(300)
    scratch = np.empty(220)

    def ours():
        dependence_sweep(X, np.zeros(200), every, every, *label_arrays[:2], label_arrays[2].copy(), A.copy(), scratch)

    def twin():
        reference.dependence_sweep(X, np.zeros(200), every, every, *label_arrays[:2], label_arrays[2].copy(), A.copy())

    assert speedup(ours, twin) > 20


def test_measures_have_no_loop_over_rows(rng):
    Y = rng.random((3000, 20)) < 0.2
    scores = rng.random((3000, 20))
    ours = speedup(
        lambda: metrics.ranking_loss(Y, scores),
        lambda: [np.argsort(-scores[i], kind="stable")[Y[i]] for i in range(len(Y))],
        rounds=3,
    )
    assert ours > 1.2  # the loop only sorts
