"""The gatekeeper of thread counts: what it answers, and that every door asks it before a kernel starts."""

import joblib
import numpy as np
import pytest

import nmlsdr
from nmlsdr import graph, propagation
from nmlsdr._process.threads import check_n_jobs, worthwhile_threads

X = np.arange(24.0).reshape(12, 2) ** 2
Y = (np.arange(36).reshape(12, 3) % 4 == 0).astype(int)


@pytest.fixture
def cores(monkeypatch):
    def allow(count):
        monkeypatch.setattr(joblib, "cpu_count", lambda: count)
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    return allow


@pytest.mark.parametrize(
    ("allowed", "n_jobs", "threads"),
    [
        (2, None, 2),
        (2, 1, 1),
        (2, 64, 64),
        (16, 64, 64),
        (17, 68, 68),
        (100, 400, 400),
        (2, -1, 2),
        (2, -2, 1),
        (2, -(2**40), 1),
    ],
)
def test_n_jobs_gives_the_number_of_threads(cores, allowed, n_jobs, threads):
    cores(allowed)
    assert check_n_jobs(n_jobs) == threads
    if n_jobs is not None:
        answer = check_n_jobs(np.int64(n_jobs))
        assert answer == threads
        assert type(answer) is int


@pytest.mark.parametrize(
    ("allowed", "n_jobs", "largest_count"),
    [
        (2, 65, 64),
        (16, 65, 64),
        (17, 69, 68),
        (100, 401, 400),
        (2, 5000, 64),
        (2, 2**31, 64),
        (2, 2**32, 64),
        (2, 2**32 + 1, 64),
        (2, 2**64, 64),
        (2, np.int64(2**40), 64),
        (2, np.uint64(2**63), 64),
    ],
)
def test_absurd_counts_raise_a_clear_error(cores, allowed, n_jobs, largest_count):
    cores(allowed)
    with pytest.raises(ValueError) as error_info:
        check_n_jobs(n_jobs)
    assert (
        str(error_info.value)
        == f"n_jobs must be at most {largest_count} on {allowed} cores, got {n_jobs}; None takes all."
    )


def test_n_jobs_may_exceed_a_setting_of_openmp(cores, monkeypatch):
    cores(2)
    monkeypatch.setenv("OMP_NUM_THREADS", "100000")
    assert check_n_jobs(None) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert check_n_jobs(None) == 1
    assert check_n_jobs(64) == 64


@pytest.mark.parametrize("n_jobs", [0, True, 2.0, "2", np.bool_(True)])
def test_values_that_are_no_counts_are_refused(n_jobs):
    with pytest.raises(ValueError, match="None or an integer other than 0"):
        check_n_jobs(n_jobs)


@pytest.mark.parametrize(
    ("n_threads", "work", "threads"),
    [(1, 1e300, 1), (4, 0, 1), (4, 99.9, 1), (4, 199.9, 1), (4, 200, 2), (4, 399, 3), (4, 400, 4), (4, 2**70, 4)],
)
def test_a_thread_starts_where_there_is_work_for_it(n_threads, work, threads):
    answer = worthwhile_threads(n_threads, work, 100)
    assert answer == threads
    assert type(answer) is int


W = graph.neighbor_graph(X, 2)
DOORS = {
    "kneighbors": lambda j: graph.kneighbors(X, 2, n_jobs=j),
    "queries": lambda j: graph.kneighbors(X, 2, queries=X, n_jobs=j),
    "neighbor_graph": lambda j: graph.neighbor_graph(X, 2, n_jobs=j),
    "transition_matrix": lambda j: graph.normalized_weights(W, stochastic=True, n_jobs=j),
    "propagate": lambda j: propagation.propagate(W, Y, 0.5, n_jobs=j),
    "NMLSDR": lambda j: nmlsdr.NMLSDR(1, n_neighbors=2, n_jobs=j).fit(X, Y),
    "ResidualPropagation": lambda j: nmlsdr.ResidualPropagation(1, n_neighbors=2, threshold=0.4, n_jobs=j).fit(X, Y),
    "MLkNN fit": lambda j: nmlsdr.MLkNN(2, n_jobs=j).fit(X, Y),
    "MLkNN predict": lambda j: nmlsdr.MLkNN(2).fit(X, Y).set_params(n_jobs=j).predict(X),
    "label propagation": lambda j: nmlsdr.MultiLabelPropagation(2).fit(X, Y).set_params(n_jobs=j).predict_proba(X),
    "SemiSupervisedMLkNN": lambda j: nmlsdr.SemiSupervisedMLkNN(2, n_jobs=j).fit(X, Y),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("n_jobs", [5000, 100_000, 2**32])
def test_every_public_function_checks_n_jobs_before_a_kernel_starts(door, n_jobs, cores):
    cores(2)
    with pytest.raises(ValueError, match=f"n_jobs must be at most 64 .* got {n_jobs};"):
        DOORS[door](n_jobs)
    DOORS[door](3)
