"""The review page in a browser: a key is a verdict, moves on or goes back, and all works by the keyboard alone."""

import re

import pytest

pytest.importorskip("jinja2")


def test_one_key_is_one_verdict(visit):
    window = visit()
    first = window.text("question")
    assert re.fullmatch(r"Does P\d+ \(row\s\d+\) have “.+”\?", first)
    window.press("1")
    second = window.text("question")
    assert second != first
    window.press("0", "Space", "j", "k")
    assert window.checked() == 2
    window.press("u")
    assert window.text("question") == second
    assert window.checked() == 1
    window.press("u")
    assert window.text("question") == first
    window.press("u")
    assert "no verdict to take back" in window.text("said")
    assert window.page.is_disabled("#rv-undo")


def test_moving_and_waiting_writes_no_verdict(visit):
    window = visit()
    window.press("k")  # there is none before the first
    assert window.place() == 1
    window.press("j", "j", "k", "Space")
    assert window.place() == 3
    assert window.checked() == 0
    window.press("1", "k", "0")  # a second verdict on an entry replaces the first
    assert window.checked() == 1
    window.press("u")
    assert "Your verdict: yes" in window.text("verdict")


def test_buttons_do_what_the_keys_do_and_space_after_a_click_is_no_click(visit):
    window = visit()
    window.page.click("#rv-yes")
    window.press("Space", "Space")
    assert window.checked() == 1
    window.page.click("#rv-no")
    window.page.click("#rv-later")
    window.page.click("#rv-undo")
    assert window.checked() == 1
    window.page.locator("[role=tab]").nth(1).click()
    window.press("Space")
    assert window.place() == 2
    for name in ("yes", "no", "unclear", "later", "undo"):
        box = window.page.locator(f"#rv-{name}").bounding_box()
        assert min(box["width"], box["height"]) >= 44


def test_keys_are_left_alone_where_people_type_and_in_the_help(visit):
    window = visit()
    window.page.focus("#rv-search")
    window.press("1", "0")
    assert window.page.input_value("#rv-search") == "10"
    assert window.checked() == 0
    window.page.fill("#rv-search", "")
    window.page.evaluate("document.activeElement.blur()")
    window.press("?")
    assert window.page.is_visible("#rv-help")
    window.press("1")
    window.press("Escape")
    assert window.page.is_hidden("#rv-help")
    window.press("Control+1", "Alt+0")
    assert window.checked() == 0


def test_a_key_that_is_held_down_is_one_verdict(visit):
    window = visit()
    window.page.keyboard.down("1")
    for _ in range(3):
        window.page.keyboard.down("1")  # which repeats it
    window.page.keyboard.up("1")
    assert window.checked() == 1


def test_keys_work_after_a_click_outside_the_entry(visit, hospital_page):
    window = visit(hospital_page)
    window.page.locator("main > details summary").click()
    window.press("1", "?")
    assert window.checked() == 1
    assert window.page.is_visible("#rv-help")
    window.press("Escape")
    window.page.focus("#rv-search")
    window.press("1")
    assert window.checked() == 1
    window.page.fill("#rv-search", "")


def test_everything_works_by_the_keyboard_alone(visit):
    """Tab reaches each control once, arrows change tabs and the entry, and the focus is never lost."""
    window = visit()
    focused_elements = []
    for _ in range(40):
        window.press("Tab")
        focused_elements.append(window.page.evaluate("document.activeElement.id || document.activeElement.className"))
        if focused_elements[-1] == "rv-keys":
            break
    for name in ("rv-tab0", "rv-label", "rv-search", "rv-yes", "rv-no", "rv-later", "rv-list", "rv-file", "rv-keys"):
        assert focused_elements.count(name) == 1, focused_elements
    window.page.focus("#rv-tab0")
    window.press("ArrowRight")
    assert window.page.get_attribute("#rv-tab1", "aria-selected") == "true"
    assert window.page.evaluate("document.activeElement.id") == "rv-tab1"
    window.press("ArrowLeft")
    window.page.focus("#rv-list")
    window.press("ArrowDown", "ArrowDown", "ArrowUp")
    assert window.place() == 2
    assert window.page.evaluate("document.activeElement.id") == "rv-list"
    window.press("1")
    assert window.page.evaluate("document.activeElement.id") == "rv-question"
