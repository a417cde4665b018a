"""The estimate of time of a command: announced once, refined as steps end, never raised by more than half."""

import argparse
import io
import logging

import numpy as np
import pytest
from commands import label_columns, run, tables  # noqa: F401

from nmlsdr._cli.console import MOST_RAISED, Clock, Console
from nmlsdr._cli.method import measure


class Time:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize("pace", [0.1, 1.0, 2.0, 20.0])
def test_the_estimate_of_the_total_time_never_grows_by_more_than_half(pace):
    time = Time()
    clock = Clock({str(i): 10.0 for i in range(10)}, now=time)
    for i in range(10):
        clock.begin(str(i))
        assert time.now + clock.left() <= max(MOST_RAISED * clock.total, time.now) + 1e-9
        time.now += 10.0 * pace
    assert clock.left() >= 0


def test_the_remaining_time_follows_the_speed_so_far():
    time = Time()
    clock = Clock({"one": 50.0, "two": 50.0}, now=time)
    clock.begin("one")
    assert clock.left() == 100
    time.now = 25.0
    clock.begin("two")
    fast = clock.left()
    assert 25 < fast < 50
    clock.begin("something that nobody expected")
    assert clock.left() == fast


def test_one_sentence_announces_the_whole_and_the_searches_are_silent():
    console = Console(stream=io.StringIO())
    with console.listening():
        console.expect({"fit": 200.0, "compare": 100.0})
        logging.getLogger("nmlsdr").info("The 10 nearest neighbours will take about 26 min.")
        logging.getLogger("nmlsdr").warning("The kernels were built without OpenMP.")
    assert console.stream.getvalue().splitlines() == [
        "nmlsdr: this will take about 5 min.",
        "nmlsdr: The kernels were built without OpenMP.",
    ]


def test_short_work_is_not_announced_and_not_measured():
    console = Console(stream=io.StringIO())
    console.expect({"fit": 5.0})
    assert console.stream.getvalue() == ""
    args = argparse.Namespace(jobs=1, n_neighbors=5)
    assert measure(np.zeros((50, 3)), np.zeros((50, 2), dtype=int), args) is None


def test_every_step_of_a_report_is_expected_under_its_own_text(run, tables, monkeypatch):  # noqa: F811
    pytest.importorskip("jinja2")
    monkeypatch.setattr("nmlsdr._cli.method.SMALL", 0)
    monkeypatch.setattr("nmlsdr._cli.method.TREES", 4)
    monkeypatch.setattr("nmlsdr._report.trial.TREES", 4)
    begun, expected = [], {}

    class Noted(Clock):
        def __init__(self, steps):
            super().__init__(steps)
            expected.update(steps)

        def begin(self, text):
            begun.append(text)
            super().begin(text)

    monkeypatch.setattr("nmlsdr._cli.console.Clock", Noted)
    options = ["--label-columns", label_columns(), "--folds", "2", "--out", "a.html"]
    assert run("report", "train.csv", *options).status == 0
    assert set(expected) <= set(begun)
    assert all(seconds > 0 for seconds in expected.values())
    assert {"cross-validate", "learning curve"} < set(expected)
