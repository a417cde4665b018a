"""The review page with labels that are not known, and with a random sample, in a real browser."""

import csv
import io

import numpy as np
import pytest
from commands import write_csv

from nmlsdr import ResidualPropagation
from nmlsdr.cli import main

pytest.importorskip("jinja2")

LABELS = ["flu", "cold", "gout"]
OPTIONS = ["t.csv", "--label-columns", ",".join(LABELS), "--quiet"]


@pytest.fixture
def truth(rng, tmp_path, monkeypatch):
    """t.csv, of which half is labelled; returns the true labels."""
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(120, 4)).round(3)
    Y = (X @ rng.normal(size=(4, 3)) + 0.3 * rng.normal(size=(120, 3)) > 0.2).astype(int)
    cells = np.where(np.arange(120)[:, None] % 2, np.array(["0", "1"])[Y], "")
    write_csv("t.csv", ["a", "b", "c", "d", *LABELS], np.hstack([X.astype(str), cells]).tolist())
    return Y


@pytest.fixture
def open_page(browser, tmp_path):
    """Open a page; at the end no error was raised in it."""
    errors = []

    def show(path, width=1400):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((tmp_path / path).resolve().as_uri())
        page.wait_for_selector("html[data-review=ready]")
        return page

    yield show
    assert errors == []


def review(*options, out="r.html"):
    assert main(["review", *OPTIONS, *options, "--out", out]) == 0


def saved(page):
    with page.expect_download() as started:
        page.click("#rv-save")
    with open(started.value.path(), encoding="utf-8-sig", newline="") as file:
        text = file.read()
    with open("saved.csv", "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return list(csv.DictReader(io.StringIO(text)))


def tabs(page):
    return page.inner_text("#rv-tabs").replace("\n", " ")


def test_answers_on_the_page_reach_the_next_fit(truth, open_page, monkeypatch):
    """Yes, no and "cannot tell" on entries that are not labelled, and a verdict on one that is."""
    review("--ask", "6", "--audit", "0")
    page = open_page("r.html")
    assert "Not labelled 6" in tabs(page)
    assert "Given:" in page.inner_text("#rv-given")
    for key in ("Space", "1", "Space", "0", "Space", "x", "1"):
        if key == "1" and page.inner_text("#rv-given").startswith("Not labelled"):
            assert page.inner_text("#rv-given") == "Not labelled; the model is unsure."
            assert page.get_attribute("#rv-yes", "aria-pressed") == "false"
            assert page.get_attribute("#rv-no", "aria-pressed") == "false"
            assert "robability" not in page.inner_text("#rv-place")  # nothing suggests an answer in advance
        page.keyboard.press(key)
    assert "4 of " in page.inner_text("#rv-progress")
    assert "2 new labels" in page.inner_text("#rv-progress")
    lines = saved(page)
    unknown = [line for line in lines if line["kind"] == "open"]
    assert [line["verdict"] for line in sorted(unknown, key=lambda line: int(line["rank"]))] == ["1", "0", "unclear"]
    assert {line["suggest"] for line in unknown} == {""}
    fits = []
    plain = ResidualPropagation.fit

    def fit(self, X, y, *, verdicts=None):
        fits.append((np.array(y), verdicts))
        monkeypatch.setattr(ResidualPropagation, "fit", plain)
        return plain(self, X, y, verdicts=verdicts)

    monkeypatch.setattr(ResidualPropagation, "fit", fit)
    assert main(["fit", *OPTIONS, "--reviewed", "saved.csv", "--out", "m.skops"]) == 0
    y, verdicts = fits[0]
    assert (y[::2] == -1).all()
    np.testing.assert_array_equal(y[1::2], truth[1::2])
    expected = np.full(y.shape, -1)
    for line in lines:
        value = {"1": 1, "0": 0, "unclear": -2}[line["verdict"]]
        expected[int(line["row"]), LABELS.index(line["label"])] = value
    np.testing.assert_array_equal(verdicts, expected)
    assert (expected[::2] != -1).sum() == 3


def test_entries_that_are_not_labelled_are_no_mistakes(truth, open_page):
    """They do not count as wrong, and the estimate of the next mistakes does not use them."""
    review("--ask", "60", "--audit", "0")
    page = open_page("r.html")
    for _ in range(40):
        page.keyboard.press("Space" if page.inner_text("#rv-given").startswith("Given") else "1")
    assert "label errors: 0; 20 new labels" in page.inner_text("#rv-progress")
    assert "So far: 0." in page.inner_text("#rv-estimate")
    page.keyboard.press("k")
    assert "wrong" not in page.inner_text("#rv-verdict")
    assert "right" not in page.inner_text("#rv-verdict")


def test_the_audit_orders_the_labelled_entries_and_leaves_the_others_in_place(truth, open_page):
    review("--ask", "12", "--audit", "2")
    page = open_page("r.html")

    def entries():
        parts = (page.query_selector_all(f"#rv-list [role=option] {name}") for name in (".rv-who", ".rv-what"))
        return [(row_name.inner_text(), label_name.inner_text()) for row_name, label_name in zip(*parts, strict=True)]

    before = entries()
    for _ in range(12):  # the audit of three labels, and what stands between
        page.keyboard.press("0")
    assert "begins with an audit" not in page.inner_text("#rv-progress")  # it is complete
    after = entries()
    assert after[1:24:2] == before[1:24:2]
    assert after[:12] == before[:12]
    assert sorted(after) == sorted(before)
    assert after != before


def test_kind_open_alone_and_a_file_that_keeps_what_is_not_labelled(truth, open_page, tmp_path):
    review("--kind", "open", "--ask", "5")
    page = open_page("r.html", 420)
    assert tabs(page).startswith("Not labelled 5 Checked 0")
    assert page.inner_text("#rv-estimate") == ""
    page.keyboard.press("1")
    lines = saved(page)
    assert len(lines) == 1
    again = open_page("r.html")
    kept_file = tmp_path / "kept.csv"
    write_csv(kept_file, list(lines[0]), [[*lines[0].values()][:-1] + ["keep"]])
    again.evaluate("localStorage.clear()")
    again.reload()
    again.wait_for_selector("html[data-review=ready]")
    again.set_input_files("#rv-file", str(kept_file))
    again.wait_for_selector("#rv-said:not([hidden])")
    assert "Took 0 verdicts" in again.inner_text("#rv-said")
    assert "Neither yes nor no: 1 line" in again.inner_text("#rv-said")


def test_a_random_sample_keeps_its_order_and_comes_back_as_one(truth, open_page, capsys):
    review("--random", "20")
    review("--random", "20", out="r.csv")
    with open("r.csv", encoding="utf-8", newline="") as file:
        rows = [line["row"] for line in csv.DictReader(file)]
    page = open_page("r.html")
    assert tabs(page).startswith("Random sample 20 Checked 0")
    shown = [item.inner_text() for item in page.query_selector_all("#rv-list [role=option] .rv-who")]
    assert [text.split("\u00a0")[-1] for text in shown] == rows
    for _ in range(12):
        page.keyboard.press("0")
    estimate = page.inner_text("#rv-estimate")
    lines = saved(page)
    assert [line["kind"] for line in lines] == ["random"] * 12
    wrong = sum(line["suggest"] == "remove" for line in lines)
    assert f"So far {wrong} of 12 were wrong" in estimate
    capsys.readouterr()
    command = [option for option in OPTIONS if option != "--quiet"]
    assert main(["fit", *command, "--reviewed", "saved.csv", "--out", "m.skops"]) == 0
    assert f"{wrong} of 12 labels of the random sample" in capsys.readouterr().err
