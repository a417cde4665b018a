"""The answers of the report in sentences, the picture of its learning curve, and the next commands."""

import html
import re

import pytest

from nmlsdr._report.page import render

pytest.importorskip("jinja2")


def sentences(page):
    """The text of the page's answers, without markup and with ordinary spaces."""
    part = page[page.index('<section id="answers">') : page.index('<section id="review">')]
    return " ".join(re.sub(r"<[^>]+>", "", part).replace("&nbsp;", " ").replace("\u202f", " ").split())


def test_the_answers_say_what_is_labelled_and_how_well_rare_labels_are_found(facts):
    rules = [
        {"threshold": "f1", "hits": 2, "given": 40, "predicted": 4, "f1": 0.09},
        {"threshold": "prior", "hits": 20, "given": 40, "predicted": 50, "f1": 0.44},
    ]
    rare = {"labels": ["gout", "flu"], "rare": True, "limit": 0.05, "share": 0.02, "rules": rules}
    rare |= {"best": rules[1], "recommended": True}
    page_text = sentences(render({**facts, "trial": {**facts["trial"], "rare": rare}}))
    assert "60 of 60 rows (100 %) are labelled, with 3 different labels" in page_text
    assert "2 of 3 labels are rare" in page_text
    assert "2 of 40 (5 %) of their given labels are found" in page_text
    assert "With --threshold prior 20 of 40 (50 %) are found" in page_text


@pytest.mark.parametrize(
    ("gap", "p", "words"),
    [
        (0.05, 0.02, "yes. ResidualPropagation reaches 60.0 %. The best of the other methods, a forest, reaches 55"),
        (0.05, 0.06, "no significant difference."),
        (-0.05, 0.02, "so a forest is the better choice here"),
    ],
)
def test_the_answers_compare_methods_by_a_test_over_the_folds(facts, gap, p, words):
    comparison = {
        "rival": "a forest",
        "n_rivals": 3,
        "ours": 0.6,
        "theirs": 0.6 - gap,
        "gap": gap,
        "std": 0.01,
        "folds": 5,
    }
    comparison |= {"p": p, "significant": p < 0.05}
    trial = {**facts["trial"], "against_best": {"MiF1": comparison, "AP": None}}
    trial["signal"] = {**trial["signal"], "enough_folds": True, "informative": True}
    page_text = sentences(render({**facts, "trial": trial}))
    assert words in page_text
    verdict = "significant" if p < 0.05 else "not significant"
    assert f"is {verdict} (t-test over 5 folds, adjusted for 3 other methods: p = {p:.2f})" in page_text
    assert "not defined in every fold" in page_text


def test_without_a_signal_no_method_is_compared(facts):
    signal = {"method": "a forest", "auc": 0.523, "folds": 5, "enough_folds": True, "p": 0.21, "informative": False}
    page = render({**facts, "trial": {**facts["trial"], "signal": signal}})
    page_text = sentences(page)
    assert "No method is better than chance here. The best one, a forest" in page_text
    assert "52.3 % of the pairs (AUC)" in page_text
    assert "In choosing labels" not in page_text
    assert "Clearest here" not in page
    page_text = sentences(render({**facts, "trial": {**facts["trial"], "signal": {**signal, "auc": None}}}))
    assert "Some labels are too rare to tell" in page_text
    signal |= {"folds": 2, "enough_folds": False}
    page_text = sentences(render({**facts, "trial": {**facts["trial"], "signal": signal}}))
    assert "Not tested: 2 folds are too few" in page_text
    assert "better than chance" not in page_text


@pytest.mark.parametrize(
    ("forgotten", "invented", "words"),
    [
        (
            [0, 90],
            [20, 1100],
            "of 2 000 annotations, at most 90 are forgotten labels (given 0, truly 1), and "
            "between 20 and 1 100 are labels given wrongly (given 1, truly 0).",
        ),
        ([29.7, 90.2], [0.4, 11], "between 30 and 90 are forgotten labels (given 0, truly 1), and at most 11 are"),
    ],
)
def test_forgotten_and_invented_labels_are_two_intervals_with_their_condition(facts, forgotten, invented, words):
    page_text = sentences(render({**facts, "wrong": {"n": 2000, "forgotten": forgotten, "wrong": invented}}))
    assert words in page_text
    for condition in ("If a mistake is equally likely in every row", "forgotten mainly in unclear cases"):
        assert condition in page_text


def test_the_picture_of_the_learning_curve_has_its_points_in_their_places(facts):
    curve = facts["curve"]
    picture = curve["picture"]
    assert [place["rows"] for place in picture["points"]] == [point["rows"] for point in curve["points"]]
    (y0, low), *_, (y1, high) = picture["ticks"]
    for place, point in zip(picture["points"], curve["points"], strict=True):
        assert low <= max(0, point["f1"] - point["std"]) <= min(1, point["f1"] + point["std"]) <= high + 1e-9
        assert low + (high - low) * (y0 - place["y"]) / (y0 - y1) == pytest.approx(point["f1"])
        assert place["high"] <= place["y"] <= place["low"]
        span = picture["right"] - picture["left"]
        assert (place["x"] - picture["left"]) / span == pytest.approx(point["rows"] / curve["points"][-1]["rows"])
    page = render(facts)
    drawn = page.partition('<svg class="curve"')[2].partition("</svg>")[0]
    assert drawn.count("<circle") == len(curve["points"])
    assert picture["line"] in drawn
    assert "Learning curve: F1" in drawn


def test_the_next_commands_keep_the_options_that_they_take(facts):
    page = render({**facts, "made": {**facts["made"], "threshold": "prior"}})
    commands = [html.unescape(text) for text in re.findall(r"<pre>(nmlsdr .*?)</pre>", page)]
    assert commands[0].startswith("nmlsdr review train.csv --label-columns ")
    assert commands[0].endswith(" --out review.html")
    assert commands[2].endswith(" --threshold prior --reviewed train-verdicts.csv --out model.skops")
    assert all("--folds" not in command and "a.html" not in command for command in commands[:5])
    assert all("old.csv" not in command for command in commands)
    page = render({**facts, "made": {**facts["made"], "reviewed": " --reviewed old.csv"}})
    commands = [html.unescape(text) for text in re.findall(r"<pre>(nmlsdr .*?)</pre>", page)]
    assert [command.count(" --reviewed old.csv ") for command in commands[:5]] == [1, 1, 0, 0, 0]
    assert [command.count("--reviewed") for command in commands[:5]] == [1, 1, 1, 1, 0]
