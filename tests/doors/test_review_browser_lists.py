"""The review page in a browser: lists, filters and their order, the lists of a report, and how fast long ones are."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import write_csv
from review_browser import LABELS, lines, write_review

from nmlsdr import ResidualPropagation, inspection
from nmlsdr.inspection import rank_suspects

pytest.importorskip("jinja2")


def test_lists_filters_and_what_was_checked(visit):
    window = visit()
    page = window.page
    tabs = page.locator("[role=tab]")
    assert tabs.count() == 4
    window.press("1", "0")
    first = page.locator("[role=option]").first.inner_text()
    page.select_option("#rv-label", label=page.locator("#rv-label option").nth(1).inner_text())
    chosen = page.locator("#rv-label option:checked").inner_text()
    label, n = re.fullmatch(r"(.+) \((\d+)\)", chosen).groups()
    assert page.locator("[role=option]").count() == int(n)
    assert all(label in text for text in page.locator("[role=option]").all_inner_texts())
    tabs.nth(3).click()
    assert page.locator("[role=option]").count() == 2
    assert first.split()[0] in page.inner_text("#rv-list")
    page.locator("[role=option]").first.click()
    window.press("u", "u")
    assert window.checked() == 0
    page.fill("#rv-search", "p3")
    row_names = page.locator(".rv-who").all_inner_texts()
    assert row_names
    assert all(text.lower().startswith("p3") for text in row_names)
    page.fill("#rv-search", "note 3")  # a cell
    assert {int(re.search(r"row\s(\d+)", text)[1]) % 7 for text in page.locator(".rv-who").all_inner_texts()} == {3}
    page.fill("#rv-search", "no such id")
    assert page.is_visible("#rv-empty")
    window.press("j")
    page.evaluate("document.activeElement.blur()")
    window.press("1", "0", "Space", "j")
    assert window.checked() == 0


def test_the_verdicts_of_the_audit_order_the_other_entries_as_python_does(visit, frame, tmp_path):
    table, X, y = frame
    model = ResidualPropagation(n_neighbors=6).fit(X, y)
    inspection.write_review(tmp_path / "r.html", model, X, y, table=table)
    window = visit(tmp_path / "r.html")
    verdicts = np.full(y.shape, -1)
    audit = rank_suspects(model, y, audit=5).first(15)
    assert "audit of its labels, of which 15 of 15 are left" in window.text("progress")
    for i, c, annotation in zip(audit.row, audit.label, audit.given, strict=True):
        assert window.text("question") == f"Does row\u00a0{i} have “{LABELS[c]}”?"
        verdicts[i, c] = 1 - annotation if c == 2 else annotation  # all of gout are wrong
        window.press(str(verdicts[i, c]))
    suspects = rank_suspects(model, y, verdicts=verdicts, audit=5)
    assert suspects.label[:10].tolist() != rank_suspects(model, y, verdicts=verdicts).label[:10].tolist()
    for i, c in zip(suspects.row[:10], suspects.label[:10], strict=True):
        assert window.text("question") == f"Does row\u00a0{i} have “{LABELS[c]}”?"
        window.press("x")
    assert "after its audit, this line says" in window.text("estimate")
    assert [line["audit"] for line in lines(window.saved())] == ["yes"] * 15 + [""] * 10


def test_what_sorts_the_list_is_shown_after_the_verdict(visit):
    window = visit()
    for sign in ("Score", "nearest labelled rows", "Entry 1 of"):
        assert sign not in window.page.inner_text("#rv-panel")
    assert not re.search(r"\d\.\d\d", window.page.inner_text("#rv-list"))
    window.press("e")
    assert re.search(
        r"Entry 1 of \d+\. Of its 5 nearest labelled rows \d ha(s|ve) the label\. Score ", window.text("place")
    )
    window.press("e", "1", "k")
    assert "Score" in window.text("place")


# ---------------------------------------------------------------- size and speed


def test_five_hundred_entries_of_three_hundred_columns_are_small_and_quick(visit, tmp_path, rng):
    # so that nearly all rows on the page differ
    n = 3600
    D = 300
    Y = (rng.random((n, 6)) < 0.3).astype(int)
    X = rng.normal(size=(n, D))
    X[:, :6] += 2 * Y
    model = ResidualPropagation(n_neighbors=5, shrinkage=0.0, ridge=1.0, n_estimators=0).fit(X, Y)
    table = pd.DataFrame(X.round(3), columns=[f"lab_{j:03d}" for j in range(D)])
    path = tmp_path / "large.html"
    write_review(path, model, X, Y, table=table, ids=[f"P{i:06d}" for i in range(n)])
    assert path.stat().st_size <= 4_000_000
    window = visit(path)
    assert "500 entries" in window.text("progress")
    window.press("1")
    assert window.page.evaluate(MADE) <= 1000  # for 40 columns of 7 rows; measured: 31 ms of processor time
    window.page.click("#rv-fold")
    window.page.wait_for_selector("#rv-cells tbody tr:nth-child(301)")
    assert window.page.evaluate(MADE) <= 1000  # the other columns come after the next picture
    assert window.checked() == 3


# How many elements a key makes before the next picture.
MADE = """async () => {
  let made = 0;
  const watch = new MutationObserver((all) => all.forEach((one) => one.addedNodes.forEach((node) => {
    made += node.nodeType === 1 ? 1 + node.querySelectorAll("*").length : 0;
  })));
  watch.observe(document.body, {childList: true, subtree: true});
  document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "1", bubbles: true}));
  await Promise.resolve();
  watch.disconnect();
  return made;
}"""

# ---------------------------------------------------------------- the same lists in a report


def test_a_point_of_the_report_leads_to_its_entry_and_back(visit, run, frame):
    table, _, y = frame
    names = [*table.columns, *LABELS]
    rows = np.hstack([table.to_numpy(), y.to_numpy()]).tolist()
    write_csv("t.csv", names, [["" if v == -1 else v for v in row] for row in rows])
    words = ["--label-columns", ",".join(LABELS), "--folds", "0", "--n-neighbors", "6", "--quiet"]
    assert run("report", "t.csv", *words, "--out", "r.html").status == 0
    window = visit(Path("r.html"), viewport={"width": 1400, "height": 900})
    page = window.page
    page.wait_for_selector("html[data-ready=yes]")
    data = page.evaluate("JSON.parse(document.getElementById('rows').textContent)")
    for label in (1, 0):  # rings are the entries of the chosen label, on its two axes
        page.select_option("#label", str(label))
        rings = page.evaluate("[...document.querySelectorAll('circle')].map((c) => c.classList.contains('ring'))")
        assert [data["rows"][k] for k, ring in enumerate(rings) if ring] == sorted(set(data["suspects"][label]))
        assert [int(page.input_value(f"#{side}")) for side in ("across", "up")] == data["best"][label]
        assert any(rings)
    row = data["suspects"][0][0]
    place = page.locator("circle").nth(data["rows"].index(row))
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert f"row\u00a0{row}" in window.text("question") or f"row {row}" in window.text("question")
    assert "“flu”" in window.text("question")
    page.select_option("#label", "1")
    page.click("#rv-picture")
    assert page.input_value("#label") == "0"
    chosen = page.evaluate("[...document.querySelectorAll('circle')].map((c) => c.classList.contains('chosen'))")
    assert [data["rows"][k] for k, is_chosen in enumerate(chosen) if is_chosen] == [row]
    page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
    window.press("1", "Space")  # outside of the lists a report is read and not answered
    assert window.checked() == 0
    page.focus("#rv-list")
    window.press("1")
    assert window.checked() == 1
