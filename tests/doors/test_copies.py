"""Rows that stand several times: judged without their copies, asked about once, and one verdict counts for all."""

import base64
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from commands import read_csv, write_csv
from hypothesis import given, settings
from hypothesis import strategies as st

from nmlsdr.inspection._copies import find_copies, spread_verdicts

pytest.importorskip("jinja2")

OPTIONS = ("--label-columns", "flu,cold", "--quiet", "--audit", "0")


def test_copies_have_equal_cells_and_labels_and_are_told_from_rows_that_are_equal_by_chance(rng):
    X = rng.normal(size=(40, 2))
    y = rng.integers(0, 2, (40, 3))
    rows = np.concatenate([np.arange(40), [3, 3, 17]])
    assert find_copies(X[rows], y[rows]).tolist() == [*range(40), 3, 3, 17]
    changed = y[rows]
    changed[40] = 1 - changed[40]  # one of three pairs differs: each row may have labels of its own
    assert find_copies(X[rows], changed).tolist() == list(range(43))
    binary_rows = rng.integers(0, 2, (400, 2))  # four different rows, whose labels are as different as those of any two
    labels = rng.integers(0, 2, (400, 1))
    assert find_copies(binary_rows, labels).tolist() == list(range(400))
    unlabelled = np.full((4, 1), -1)
    assert find_copies([[1], [1], [2], [3]], unlabelled).tolist() == [0, 1, 2, 3]  # nothing tells copies


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_verdict_counts_for_the_copies_without_one_if_all_agree(data):
    n = data.draw(st.integers(1, 7))
    first = np.array([data.draw(st.integers(0, i)) for i in range(n)])
    first = np.array([i if first[first[i]] != first[i] else first[i] for i in range(n)])
    verdicts = np.array(data.draw(st.lists(st.sampled_from([-2, -1, 0, 1]), min_size=n, max_size=n)))[:, None]
    spread = spread_verdicts(verdicts, first)
    for i in range(n):
        copy_verdicts = {
            v for v, place in zip(verdicts[:, 0].tolist(), first, strict=True) if place == first[i] and v != -1
        }
        row_verdict = verdicts[i, 0]
        assert spread[i, 0] == (row_verdict if row_verdict != -1 or len(copy_verdicts) != 1 else copy_verdicts.pop())


@pytest.fixture
def export(rng, tmp_path, monkeypatch):
    """t.csv: 80 rows, of which the first stands three times, with its label given wrongly each time."""
    monkeypatch.chdir(tmp_path)
    truth = (rng.random((80, 2)) < 0.5).astype(int)
    X = (3 * truth[:, [0, 1, 0, 1]] + rng.normal(size=(80, 4))).round(3)
    y = truth.copy()
    y[0, 0] = 1 - y[0, 0]
    rows = np.concatenate([np.arange(80), [0, 0, 5]])
    cells = np.hstack([[[f"v{i}"] for i in range(83)], X[rows].astype(str), y[rows].astype(str)])
    write_csv("t.csv", ["visit", "a", "b", "c", "d", "flu", "cold"], cells.tolist())
    return X[rows], y[rows]


def test_copies_do_not_defend_each_other_and_are_asked_about_once(run, export):
    """The three copies are each other's nearest rows; the first is listed, with the number that it has in the file."""
    outcome = run("review", "t.csv", *OPTIONS, "--explain", "--out", "l.csv", "--out", "p.html")
    assert outcome.status == 0
    assert "2 rows of equal cells and labels stand 5 times in all; each is asked about once" in outcome.err
    names, lines = read_csv("l.csv")
    lines = [dict(zip(names, line, strict=True)) for line in lines]
    assert (lines[0]["row"], lines[0]["visit"], lines[0]["label"], lines[0]["copies"]) == ("0", "v0", "flu", "3")
    assert len(lines) == 160
    assert {line["row"] for line in lines} == {str(i) for i in range(80)}
    assert {line["copies"] for line in lines if line["row"] not in ("0", "5")} == {"1"}
    assert "0" not in {line["near_1"] for line in lines if line["row"] == "0"}
    packed = re.search(r'id="rv-data">(.*?)</script>', Path("p.html").read_text(encoding="utf-8"), re.DOTALL)[1]
    page = json.loads(zlib.decompress(base64.b64decode(packed)))
    assert page["copies"] == {"0": 3, "5": 2}
    assert page["entries"][0]["row"] == 0
    assert {entry["row"] for entry in page["entries"]} <= {*page["rows"]} <= {*range(80)}
    for entry in page["entries"]:
        assert not {entry["row"]} & {row for row, _ in entry["having"] + entry["lacking"]}


def test_a_verdict_on_a_row_counts_for_its_copies(run, export):
    _, y = export
    assert run("review", "t.csv", *OPTIONS, "--out", "l.csv").status == 0
    names, lines = read_csv("l.csv")
    lines[0][names.index("verdict")] = str(1 - y[0, 0])
    write_csv("v.csv", names, lines[:1])
    outcome = run("fit", "t.csv", "--label-columns", "flu,cold", "--reviewed", "v.csv", "--out", "m.skops")
    assert outcome.status == 0
    assert "v.csv: 1 verdict, 1 label changed" in outcome.err
    from nmlsdr.model_file import load_model

    model = load_model("m.skops")
    labels = model[-1].label_distributions_[[0, 80, 81], 0]
    assert labels.tolist() == [1.0 - y[0, 0]] * 3
    outcome = run("review", "t.csv", *OPTIONS, "--reviewed", "v.csv", "--out", "next.csv")
    assert outcome.status == 0
    _, following = read_csv("next.csv")
    assert not [line for line in following if line[1] == "0" and line[2] == "flu"]
    assert len(following) == 159
