"""Texts on the review page: the judged one first and wide enough to read, with the words that decide."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.inspection import write_review
from nmlsdr.tables import TableEncoder

pytest.importorskip("jinja2")


@pytest.fixture
def open_page(browser):
    """Open a page; at the end no error was raised in it."""
    errors = []

    def show(path, width=1430, scheme="light"):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("html[data-review=ready]")
        return page

    yield show
    assert errors == []


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """A page of complaints, of which "noise" tells the label, and one is given wrongly."""
    rng = np.random.default_rng(0)
    loud = rng.random(160) < 0.5
    fill = [
        "the",
        "customer",
        "came",
        "to",
        "our",
        "workshop",
        "and",
        "said",
        "that",
        "car",
        "was",
        "on",
        "road",
        "for",
        "some",
        "hours",
        "before",
        "it",
        "left",
    ]
    parts = ["noise and rattling (a+b)" if is_loud else "smell of oil (a+b)" for is_loud in loud]
    texts = [f"{' '.join(rng.choice(fill, 14))} {part}\nHeard {' '.join(rng.choice(fill, 12))}" for part in parts]
    table = pd.DataFrame({"complaint": texts, "age": rng.normal(size=160)})
    noisy_labels = loud[:, None].astype(int)
    noisy_labels[7] = 1 - noisy_labels[7]
    model = make_pipeline(TableEncoder(), StandardScaler(with_mean=False), ResidualPropagation(n_neighbors=5))
    path = tmp_path_factory.mktemp("texts") / "r.html"
    write_review(path, model.fit(table, noisy_labels), table, noisy_labels, audit=0)
    return path, loud


@pytest.mark.parametrize(("width", "least"), [(1430, 60), (420, 30)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_judged_text_stands_first_and_is_wide_enough_to_read(open_page, complaints, width, least, scheme):
    path, _ = complaints
    page = open_page(path, width, scheme)
    assert re.match(r"Does row\s7 have", page.inner_text("#rv-question"))
    judged_text = page.locator("#rv-text .rv-text")
    assert judged_text.count() == 1
    assert judged_text.evaluate("one => one.parentNode.previousElementSibling.id") == "rv-question"
    assert "Heard" in judged_text.inner_text()
    near = page.locator("#rv-near .rv-text")
    assert near.count() == 6
    for text in (judged_text, near.first):
        letters = text.bounding_box()["width"] / text.evaluate("one => parseFloat(getComputedStyle(one).fontSize) / 2")
        assert letters >= least
    assert "complaint" not in page.locator("#rv-cells").inner_text()  # which has what is no text
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_words_that_decide_are_marked_and_named(open_page, complaints):
    path, loud = complaints
    page = open_page(path)
    marks = page.locator("#rv-text mark")
    side = "for" if loud[7] else "against"
    marked = dict(
        zip(marks.all_inner_texts(), marks.evaluate_all("some => some.map((one) => one.className)"), strict=True)
    )
    decisive = {"noise", "rattling"} if loud[7] else {"smell", "oil"}
    assert marked
    assert decisive & {word for word, name in marked.items() if name == side}
    explanation = page.inner_text("#rv-why")
    assert explanation.startswith(
        "Linear part of the model: ▲ for the label" if loud[7] else "Linear part of the model: "
    )
    assert all(f"“{word.lower()}” (" in explanation for word in marked)
    word = next(iter(decisive & {*marked}))
    shares = re.search(rf"“{word}” \(([\d.]+)\s% with, ([\d.]+)\s% without\)", explanation).groups()
    low, high = sorted(map(float, shares))
    assert low < 2 < 98 < high
