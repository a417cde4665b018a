"""Idle threads sleep, the environment stays as it was, and what the user says counts."""

import os
import subprocess
import sys

import pytest

from nmlsdr import _graph

pytestmark = pytest.mark.skipif(_graph.build_facts()["openmp"] == 0, reason="built without OpenMP")

# Two threads that have nothing to do between calls; what they burn meanwhile is the process's CPU time.
IDLE = """
import sys, time
import numpy as np
from nmlsdr import graph
X = np.random.default_rng(0).normal(size=(400, 20))
for jobs in (1, 2):
    graph.kneighbors(X, 5, n_jobs=jobs)
    began, spent = time.process_time(), 0.0
    for _ in range(60):
        graph.kneighbors(X, 5, n_jobs=jobs)
        time.sleep(0.005)
    print(time.process_time() - began)
"""


def run(program, **settings):
    plain = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    process = subprocess.run(
        [sys.executable, "-c", program], env=plain | settings, capture_output=True, text=True, check=True
    )
    return process.stdout.split("\n")[:-1]


@pytest.mark.slow
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_idle_threads_cost_nothing():
    """Spinning, they take 5 to 60 times the time of one thread."""
    seconds_of_one_thread, seconds_of_two_threads = map(float, run(IDLE))
    assert seconds_of_two_threads < 3 * seconds_of_one_thread


def test_the_environment_is_as_it_was():
    program = "import os; before = dict(os.environ); import nmlsdr; assert os.environ == before; print('same')"
    assert run(program) == ["same"]
    assert run(program, OMP_WAIT_POLICY="ACTIVE") == ["same"]


@pytest.mark.parametrize(
    ("setting", "policy"),
    [
        ({}, "PASSIVE"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE"),
        ({"GOMP_SPINCOUNT": "10"}, "None"),
    ],
)
def test_threads_sleep_unless_the_user_says_how_they_wait(setting, policy):
    program = (
        "import os; from nmlsdr._process.openmp import sleeping_threads\n"
        "with sleeping_threads(): print(os.environ.get('OMP_WAIT_POLICY'))"
    )
    assert run(program, **setting) == [policy]
