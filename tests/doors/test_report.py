"""`nmlsdr report`: the page holds the facts, and nothing that a file could smuggle into it."""

import base64
import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import LABELS, assert_done, assert_refused, label_columns, ran, write_csv
from report_cases import HOSTILE, Shape, with_names

from nmlsdr._report.page import render
from nmlsdr.inspection._html import readable

pytest.importorskip("jinja2")


def test_facts_are_plain_data(facts):
    assert json.loads(json.dumps(facts)) == facts
    assert facts["table"]["n_rows"] == 60
    assert {label["name"] for label in facts["labels"]["labels"]} == set(LABELS)


def test_names_change_no_markup(facts):
    """With hostile names the page has the same tags and attributes as with harmless ones, in the same order."""
    harmless = Shape(render(with_names(facts, ["name"] * len(HOSTILE))))
    page = render(with_names(facts, HOSTILE))
    attacked = Shape(page)
    assert attacked.tags == harmless.tags
    shown = "".join(attacked.texts)
    for name in HOSTILE:
        assert readable(name) in shown
    assert "49" not in shown.replace(" ", "") or "{{ 7 * 7 }}" in shown
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\u2028]", page)
    page.encode()  # no lone surrogate is left


def test_the_command_line_is_escaped_too(facts):
    words = {**facts, "made": {**facts["made"], "command": HOSTILE[1]}}
    assert Shape(render(words)).tags == Shape(render(facts)).tags


def test_the_page_loads_nothing_and_runs_its_own_script_only(facts):
    page = render(facts)
    shape = Shape(page)
    assert all(target.startswith(("#", "data:text/csv;base64,")) for target in shape.fetched)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|eval\(|innerHTML", page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    digests = re.findall(r"'sha256-([^']*)'", policy.replace("&#39;", "'"))
    assert digests == [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    assert "default-src 'none'" in policy.replace("&#39;", "'")


def test_long_names_are_cut():
    assert len(readable("x" * 100_000)) == 300


def test_readable_keeps_what_people_write():
    for text in ("Größe", "日本語", "naïve café", "α ≤ β", "😀", "a\u200db"):
        assert readable(text) == text


# ---------------------------------------------------------------- the command


def test_the_report_of_a_table(run, tables):
    ran(run("report", "train.csv", "--label-columns", label_columns(), "--folds", "3", "--out", "report.html"))
    page = Path("report.html").read_text(encoding="utf-8")
    for title in ("Does the method help here?", "What to check", "Label by label", "What to do next", "What was read"):
        assert title in page
    assert "logistic regression" in page
    assert page.count('r="5"><title>') == 60  # a point for each row; those of the learning curve have no title
    assert re.search(r"<h1>Report on train.csv, \d{4}-\d\d-\d\d</h1>", page)
    assert page.index("In short") < page.index("What to check") < page.index("What was read")


def test_rows_without_a_label_are_doubted_unless_a_word_says_so(run, rng):
    X = rng.random((60, 2)).round(3).tolist()
    words = ["flu;cold", "cold", "none"] * 20
    write_csv("word.csv", ["a", "b", "codes"], [[*row, word] for row, word in zip(X, words, strict=True)])
    write_csv("zeros.csv", ["a", "b", "x", "y"], [[*row, i % 2, 0] for i, row in enumerate(X)])
    for file, *labels in (("word.csv", "--label-list", "codes"), ("zeros.csv", "--label-columns", "x,y")):
        assert_done(run("report", file, *labels, "--folds", 0, "--quiet", "--out", "r.html"))
        assert ("have 0 for every label" in Path("r.html").read_text()) == (file == "zeros.csv")


@pytest.mark.parametrize("labels", [["--label-list", "codes"], ["--label-columns", "x,y"]])
def test_where_empty_cells_are_0_the_page_names_the_mask(run, rng, labels):
    """And the mask does what the page says: its rows are unlabelled."""
    cells = [("flu;cold", 1, 1), ("flu", 1, ""), ("cold", "", 1), ("", "", "")] * 15
    lines = [[*row, *row_cells] for row, row_cells in zip(rng.random((60, 2)).round(3).tolist(), cells, strict=True)]
    write_csv("t.csv", ["a", "b", "codes", "x", "y"], lines)
    Path("mask.csv").write_text("known\n" + "1\n1\n1\n0\n" * 15)
    drop = "codes" if labels[1] == "x,y" else "x,y"
    arguments = ["report", "t.csv", *labels, "--drop", drop, "--empty-is", "no", "--folds", 0, "--out", "r.html"]
    ran(run(*arguments))
    page = Path("r.html").read_text()
    assert "15 labelled rows have 0 for every label" in page
    assert "give <code>--mask</code> a file that has 0 for them" in page
    assert "leave their cells empty" not in page
    ran(run(*arguments, "--mask", "mask.csv"))
    page = Path("r.html").read_text()
    assert "45 of 60 rows" in page
    assert "have 0 for every label" not in page


def test_names_of_columns_with_html_are_escaped_in_the_page(run, rng):
    names = [name for name in HOSTILE if name.isprintable()]
    X = rng.normal(size=(40, 3)).round(3)
    Y = (rng.random((40, len(names))) < 0.4).astype(int)
    write_csv("a.csv", ["<b>one", "t&wo", 'th"ree', *names], np.hstack([X.astype(object), Y]).tolist())
    write_csv("b.csv", [f"l{c}" for c in range(3 + len(names))], np.hstack([X.astype(object), Y]).tolist())
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    assert_done(run("report", "a.csv", "--label-columns", quoted, "--folds", "0", "--out", "a.html"))
    plain = ",".join(f"l{c + 3}" for c in range(len(names)))
    assert_done(run("report", "b.csv", "--label-columns", plain, "--folds", "0", "--out", "b.html"))
    pages = [Shape(Path(name).read_text(encoding="utf-8")).tags for name in ("a.html", "b.html")]
    assert pages[0] == pages[1]


def test_a_wrong_number_of_folds_is_refused(run, tables):
    for folds in ("1", "-2", "x"):
        outcome = run("report", "train.csv", "--label-columns", label_columns(), "--folds", folds, "--out", "a.html")
        assert_refused(outcome, "--folds", "at least 2, or 0")


def test_a_missing_template_engine_is_reported_before_any_work(run, tables, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    outcome = run("report", "train.csv", "--label-columns", label_columns(), "--out", "a.html")
    assert_refused(outcome, "jinja2", "pip install 'nmlsdr[cli]'", status=1)


def test_fit_points_to_the_report_in_its_one_line(run, tables):
    outcome = ran(run("fit", "train.csv", "--label-columns", label_columns(), "--out", "m.skops"))
    # whether a feature is said to predict a label alone depends on the seed
    lines = [line for line in outcome.err.splitlines() if "alone predicts the label" not in line]
    assert len(lines) == 1
    assert "nmlsdr report" in lines[0]
