"""The review page in a browser: what the browser keeps, in one window and in two, and what it does without storage."""

import pytest
from review_browser import lines

pytest.importorskip("jinja2")


def test_verdicts_are_there_after_a_reload_and_in_a_second_window(visit):
    window = visit()
    window.press("1", "0", "1")
    window.page.reload()
    window.page.wait_for_selector("html[data-review=ready]")
    assert window.checked() == 3
    second_window = visit(context=window.page.context)
    assert second_window.checked() == 3
    second_window.press("0")
    window.until_checked(4)
    window.press("u")  # what the other window decided last
    second_window.until_checked(3)
    window.page.once("dialog", lambda dialog: dialog.accept())
    window.page.click("#rv-forget")
    second_window.until_checked(0)
    assert window.page.evaluate("localStorage.length") == 0


def test_a_full_storage_shows_what_it_has_and_keeps_nothing_more(visit):
    """All pages that are opened as files share one storage; a page of another table may have filled it."""
    window = visit()
    window.press(*"11111111")
    window.page.evaluate(
        """() => {
          let k = 0;
          for (const n of [1 << 20, 1 << 10, 1, 0])
            try { for (;;) localStorage.setItem("f" + k++, "x".repeat(n)); } catch {}
        }"""
    )
    window.page.reload()
    window.page.wait_for_selector("html[data-review=ready]")
    assert window.checked() == 8
    assert "keeps nothing more" in window.text("progress")
    window.press("0")
    assert len(lines(window.saved())) == 9


def test_two_windows_that_decide_at_the_same_time_lose_nothing(visit):
    window = visit()
    second_window = visit(context=window.page.context)
    second_window.press("Space", "Space")
    window.press("1", "1")
    second_window.press("0", "0")
    for each in (window, second_window):
        each.until_checked(4)


def test_forgetting_asks_first(visit):
    window = visit()
    window.press("1")
    window.page.once("dialog", lambda dialog: dialog.dismiss())
    window.page.click("#rv-forget")
    assert window.checked() == 1


def test_a_browser_that_keeps_nothing_says_so_and_warns(visit, browser, page_file):
    context = browser.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    )
    window = visit(page_file, context=context)
    assert "keeps nothing" in window.text("progress")
    window.press("1")
    warned = []
    window.page.on("dialog", lambda dialog: (warned.append(dialog.type), dialog.accept()))
    window.page.reload()
    assert warned == ["beforeunload"]
    window.page.wait_for_selector("html[data-review=ready]")
    window.press("1")
    assert len(lines(window.saved())) == 1
    window.page.reload()  # what was saved needs no warning
    assert warned == ["beforeunload"]
    context.close()
