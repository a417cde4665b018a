"""The review page in a browser: how many label errors were found so far, and how many to expect."""

import re

import numpy as np
import pytest
from review_browser import lines
from scipy.stats import betabinom

pytest.importorskip("jinja2")


@pytest.mark.parametrize("n_wrong", [0, 18, 30])
def test_after_thirty_verdicts_the_page_says_what_to_expect(visit, n_wrong):
    window = visit()
    window.page.locator("[role=tab]").nth(1).click()
    assert "So far: 0" in window.text("estimate")
    annotation = "0" if window.page.inner_text("#rv-given b").startswith("no") else "1"
    wrong = "1" if annotation == "0" else "0"
    window.press(*[wrong] * n_wrong, *[annotation] * (29 - n_wrong))
    if n_wrong < 30:
        assert "So far: 29" in window.text("estimate")
        window.press(annotation)
    estimate = window.text("estimate")
    last = max(0, n_wrong - 10)
    assert f"of the last 20 of them, {last}." in estimate
    assert f"Of the 30 entries that you decided from the top of this list, {n_wrong} were wrong" in estimate
    m, mean, low, high = map(int, re.search(r"next (\d+) .* about (\d+) .*\((\d+) to (\d+)", estimate).groups())
    expected = betabinom(m, last + 0.5, 20 - last + 0.5)
    assert abs(mean - expected.mean()) <= 0.5
    assert (low, high) == (expected.ppf(0.01), expected.ppf(0.95))
    assert {0: "hardly worth", 18: "It is worth", 30: "It is worth"}[n_wrong] in estimate


def test_the_estimate_counts_what_was_decided_from_the_top(visit):
    """30 of the first entries are right and 30 far below are wrong: those below say nothing about the next ones."""
    window = visit()
    window.page.locator("[role=tab]").nth(1).click()  # entries that are given 0
    window.press(*"0" * 20)
    window.press("Space", *"0" * 10)
    top = window.text("estimate")
    assert top.startswith("Of the 30 entries that you decided from the top of this list, 0 were wrong; of the last 20")
    window.press(*["j"] * 60)
    window.press(*"1" * 30)
    apart = "Verdicts further down, behind entries that you left out, do not count here:"
    assert window.text("estimate") == f"{top} {apart} 30."
    assert window.page.get_attribute("#rv-curve", "aria-label").startswith("wrong so far 0 %, of the last 20 0 %")
    second_window = visit()
    second_window.page.locator("[role=tab]").nth(1).click()
    second_window.press(*["Space"] * 40, *"1" * 35)
    assert second_window.text("estimate").startswith("After 30 verdicts from the top of a list")
    assert f"So far: 0. {apart} 35." in second_window.text("estimate")
    labels = second_window.page.locator("#rv-list .rv-what").all_inner_texts()[:75]
    second_window.page.select_option(
        "#rv-label",
        label=next(  # the entries of one label are a list, too
            text
            for text in second_window.page.locator("#rv-label option").all_inner_texts()
            if text.startswith(labels[0])
        ),
    )
    second_window.page.evaluate("document.activeElement.blur()")
    second_window.press(*"0" * labels[:40].count(labels[0]))
    assert second_window.text("estimate").endswith(f"So far: {labels.count(labels[0])}.")


def test_who_cannot_tell_says_so_and_counts_as_neither(visit):
    window = visit()
    window.page.locator("[role=tab]").nth(1).click()
    window.press(*"x" * 5, *"0" * 29)
    assert "So far: 29" in window.text("estimate")
    window.press("0")
    assert "Of the 30 entries that you decided from the top of this list, 0 were wrong" in window.text("estimate")
    assert "it cannot be told in 5" in window.text("progress")
    window.page.click("#rv-unclear")
    assert [line["verdict"] for line in lines(window.saved())].count("unclear") == 6
    window.page.locator("[role=tab]").nth(2).click()  # each list is counted by itself
    assert "So far: 0" in window.text("estimate")
    window.page.locator("[role=tab]").nth(1).click()
    window.page.reload()
    window.page.wait_for_selector("html[data-review=ready]")
    assert window.checked() == 36


def test_the_curve_shows_all_the_last_twenty_and_what_to_expect(visit):
    window = visit()
    window.page.locator("[role=tab]").nth(1).click()  # entries that are given 0
    window.press(*"1" * 5, *"0" * 4)
    assert window.page.is_hidden("#rv-chart")
    window.press(*"0" * 21)
    n = betabinom(50, 0.5, 20.5)
    last = window.page.get_attribute("#rv-last", "d")
    expected = f"{2 * int(n.ppf(0.01))} to {2 * int(n.ppf(0.95))} %"
    curve_label = f"wrong so far 17 %, of the last 20 0 %, expected of the next 50 {expected}"
    assert window.page.get_attribute("#rv-curve", "aria-label") == curve_label
    heights = [44 - float(height) for height in re.findall(r" ([\d.]+)", last)]
    shares = [np.mean(([1] * 5 + [0] * 25)[max(0, k - 19) : k + 1]) for k in range(30)]
    np.testing.assert_allclose(heights, 40 * np.array(shares), atol=0.06)
