"""The estimate of time of a command, which is announced once."""

import argparse
import io
import logging

import numpy as np
import pytest
from commands import label_columns

from nmlsdr._cli.console import Console
from nmlsdr._cli.residual_fit import Pieces, measure
from nmlsdr._report import trial


def test_one_sentence_announces_the_whole_and_the_searches_are_silent():
    console = Console(stream=io.StringIO())
    with console.listening():
        console.expect(300.0)
        logging.getLogger("nmlsdr").info("The 10 nearest neighbours will take about 26 min.")
        logging.getLogger("nmlsdr").warning("The kernels were built without OpenMP.")
    assert console.stream.getvalue().splitlines() == [
        "nmlsdr: this will take about 5 min.",
        "nmlsdr: The kernels were built without OpenMP.",
    ]


def test_a_quiet_command_still_says_what_is_wrong():
    console = Console(quiet=True, stream=io.StringIO())
    with console.listening():
        logging.getLogger("nmlsdr").info("The 10 nearest neighbours will take about 26 min.")
        logging.getLogger("nmlsdr").warning("The kernels were built without OpenMP.")
    assert console.stream.getvalue() == "nmlsdr: The kernels were built without OpenMP.\n"
    logging.getLogger("nmlsdr").warning("Nobody listens.")
    assert "Nobody" not in console.stream.getvalue()


def test_short_work_is_not_announced_and_not_measured():
    console = Console(stream=io.StringIO())
    console.expect(5.0)
    assert console.stream.getvalue() == ""
    args = argparse.Namespace(jobs=1, n_neighbors=5)
    assert measure(np.zeros((50, 3)), np.zeros((50, 2), dtype=int), args) is None


def test_boosted_trees_are_measured_where_a_fit_grows_them(rng, monkeypatch):
    monkeypatch.setattr("nmlsdr._cli.residual_fit.SMALL", 0)
    args = argparse.Namespace(jobs=1, n_neighbors=5)
    X = rng.standard_normal((1100, 4))
    y = (X[:, :2] > 0).astype(int)
    pieces = [measure(X, np.where(np.arange(1100)[:, None] < n, y, -1), args) for n in (1000, 1001)]
    assert pieces[0].boosted == 0 < pieces[1].boosted
    assert pieces[1].fit(10) == pytest.approx(pieces[1]._replace(boosted=0.0).fit(10) + pieces[1].boosted)


def test_a_report_expects_its_fit_its_folds_and_its_learning_curve(run, tables, monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.setattr("nmlsdr._cli.residual_fit.SMALL", 0)
    monkeypatch.setattr("nmlsdr._cli.residual_fit.TREES", 4)
    monkeypatch.setattr("nmlsdr._report.trial.TREES", 4)
    pieces = Pieces(3.0, 0.5, 1.0, 0.25, 2, 0)
    expected = []
    monkeypatch.setattr("nmlsdr._cli.residual_fit.measure", lambda *_: pieces)
    monkeypatch.setattr(Console, "expect", lambda self, seconds, n_bytes: expected.append(seconds))
    options = ["--label-columns", label_columns(), "--out", "a.html"]
    for folds in ("0", "2"):
        assert run("report", "train.csv", *options, "--folds", folds).status == 0
    one_fit = 3.0 * 4 / 2 + 1.0 + 1.4 * 0.5
    assert expected[0] == pytest.approx(one_fit)
    curve = trial.CURVE_FOLDS * len(trial.CURVE_SHARES) * (3.0 * trial.CURVE_TREES / 2 + 1.7)
    assert expected[1] == pytest.approx(one_fit + 2 * (one_fit + 0.25 + 1.5 * 4 / 2) + curve)
