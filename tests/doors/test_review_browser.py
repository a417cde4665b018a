"""The review page in a real browser: keys, what is kept, files, hostile cells, size and speed.

They need Chromium and Playwright (the extra `browser`) and skip without them; `nox -s browser` runs them.
"""

import csv
import io
import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import chromium
from commands import write_csv
from scipy.stats import betabinom

from nmlsdr import ResidualPropagation, inspection
from nmlsdr.cli import main
from nmlsdr.inspection import rank_suspects, read_verdicts
from nmlsdr.inspection._row_checks import check_rows

pytest.importorskip("jinja2")

LABELS = ["flu", "=cold", "<b>gout"]
write_review = partial(inspection.write_review, audit=0)  # most tests are about the plain list


@pytest.fixture(scope="module")
def browser():
    with chromium() as chromium_browser:
        yield chromium_browser


@pytest.fixture(scope="module")
def frame():
    """Rows with ids, numbers and texts, and labels some of which are wrong: (table, X, y)."""
    rng = np.random.default_rng(0)
    Y = (rng.random((90, 3)) < 0.4).astype(int)
    X = 2 * Y + rng.normal(size=Y.shape)
    noisy_labels = np.where(rng.random(Y.shape) < 0.1, 1 - Y, Y)
    noisy_labels[80:] = -1
    table = pd.DataFrame(X.round(2), columns=["a", "b", "c"])
    table["note"] = [f"note {i % 7}" for i in range(90)]
    return table, X, pd.DataFrame(noisy_labels, columns=LABELS)


@pytest.fixture(scope="module")
def page_file(frame, tmp_path_factory):
    table, X, y = frame
    model = ResidualPropagation(n_neighbors=6).fit(X, y)
    path = tmp_path_factory.mktemp("page") / "review.html"
    write_review(path, model, X, y, table=table, ids=[f"P{i // 2}" for i in range(90)], title="t.csv")
    return path


class Visit:
    """A page in a window, what it wrote on the console, and what it asked for."""

    def __init__(self, context, path):
        self.page = context.new_page()
        self.console_messages = []
        self.requests = []
        self.page.on("console", lambda message: self.console_messages.append(message.text))
        self.page.on("pageerror", lambda error: self.console_messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.resolve().as_uri())
        self.page.wait_for_selector("html[data-review=ready]")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def text(self, name):
        return self.page.inner_text(f"#rv-{name}")

    def checked(self):
        return int(self.text("progress").split()[0])

    def until_checked(self, n):
        self.page.wait_for_selector(f'#rv-progress:has-text("{n} of")')  # a selector needs no eval

    def place(self):
        """Of the entry in its list, from 1."""
        chosen = "[...document.querySelectorAll('[role=option]')].findIndex((one) => one.ariaSelected === 'true') + 1"
        return self.page.evaluate(chosen)

    def saved(self):
        with self.page.expect_download() as started:
            self.page.click("#rv-save")
        return Path(started.value.path()).read_bytes()


@pytest.fixture
def visit(browser, page_file):
    """Open the page in a new profile; at the end nothing was asked for but the file, and nothing said."""
    contexts = []
    visits = []

    def call(path=page_file, *, context=None, **options):
        if context is None:
            context = browser.new_context(**options)
            contexts.append(context)
        visits.append(Visit(context, path))
        return visits[-1]

    yield call
    for window in visits:
        assert window.console_messages == []
        assert all(url.startswith(("file:", "data:image/", "blob:")) for url in window.requests), window.requests
    for context in contexts:
        context.close()


def lines(written):
    assert written.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(written.decode("utf-8-sig"), newline="")))


# ---------------------------------------------------------------- keys


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


# ---------------------------------------------------------------- lists


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


# ---------------------------------------------------------------- what the browser keeps


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


# ---------------------------------------------------------------- files


def test_the_file_is_what_reviewed_takes(visit, frame):
    window = visit()
    window.press("1", "0", "1")
    window.page.locator("[role=tab]").nth(1).click()
    window.press("0")
    written = window.saved()
    file_lines = lines(written)
    assert list(file_lines[0]) == [
        "id",
        "row",
        "label",
        "score",
        "suggest",
        "kind",
        "rank",
        "audit",
        "check",
        "verdict",
    ]
    assert [line["verdict"] for line in file_lines] == ["1", "0", "1", "0"]
    assert all(line["label"] in ("flu", "'=cold", "<b>gout") for line in file_lines)  # no spreadsheet reads a formula
    path = Path(window.page.url.removeprefix("file://")).with_name("verdicts.csv")
    path.write_bytes(written)
    verdicts = read_verdicts(path, frame[2], table=frame[0], ids=[f"P{i // 2}" for i in range(90)])
    assert (verdicts >= 0).sum() == 4
    listed = rank_suspects(ResidualPropagation(n_neighbors=6).fit(*frame[1:]), frame[2])
    ranks = {
        (row, label): [kind, str(rank)]
        for row, label, kind, rank in zip(
            listed.row.tolist(), listed.label.tolist(), listed.kind.tolist(), listed.rank.tolist(), strict=True
        )
    }
    assert len({line["kind"] for line in file_lines}) == 2
    for line in file_lines:
        label = LABELS.index(line["label"].removeprefix("'"))
        assert verdicts[int(line["row"]), label] == int(line["verdict"])
        assert [line["kind"], line["rank"]] == ranks[int(line["row"]), label]


@pytest.mark.parametrize("form", ["as it is", "semicolons", "chosen"])
def test_a_dropped_file_goes_on_from_there(visit, form):
    window = visit()
    window.press("1", "0", "1", "1")
    text = window.saved().decode("utf-8-sig")
    if form == "semicolons":  # as a spreadsheet saves it, with words and one more line
        rows = list(csv.reader(io.StringIO(text)))
        rows += [["P99", "4711", "flu", "0", "", "", "", "", "", "yes"], [""] * 10]
        rows[1][-1] = " Yes"
        file = io.StringIO()
        csv.writer(file, delimiter=";").writerows(rows)
        text = file.getvalue()
    second_window = visit()
    assert second_window.checked() == 0
    if form == "chosen":
        second_window.page.set_input_files(
            "#rv-file", {"name": "v.csv", "mimeType": "text/csv", "buffer": text.encode()}
        )
    else:
        drop(second_window.page, text)
    second_window.until_checked(4)
    assert "Took 4 verdicts from v.csv" in second_window.text("said")
    assert ("1 line of other entries was not taken" in second_window.text("said")) == (form == "semicolons")
    assert lines(second_window.saved()) == lines(window.saved())


def test_after_a_dropped_file_the_first_open_entry_is_shown_and_a_key_changes_no_verdict_of_the_file(visit):
    """Two people differ on the third entry only; an open entry that is shown already stays."""
    window = visit()
    window.press("0", "0", "1", "0")
    head, *rows = window.saved().decode("utf-8-sig").splitlines()
    changed_line = rows[2][:-1] + "0"
    second_window = visit()
    drop(second_window.page, "\n".join([head, *rows, changed_line]))
    second_window.until_checked(3)
    assert second_window.place() == 3
    assert second_window.page.is_hidden("#rv-verdict")
    second_window.press("1")
    second_window.until_checked(4)
    assert [line["verdict"] for line in lines(second_window.saved())] == ["0", "0", "1", "0"]
    third_window = visit()
    third_window.press("j", "j", "j", "j", "j")
    drop(third_window.page, "\n".join([head, *rows]))
    third_window.until_checked(4)
    assert third_window.place() == 6


def drop(page, text, name="v.csv"):
    page.evaluate(
        """([text, name]) => {
            const data = new DataTransfer();
            data.items.add(new File([text], name));
            document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        [text, name],
    )


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", 'row,label\n1,"flu'])
def test_a_file_that_is_no_list_changes_nothing(visit, text):
    window = visit()
    drop(window.page, text)
    window.page.wait_for_selector("#rv-said", state="visible")
    assert "nothing was taken" in window.text("said")
    assert window.checked() == 0


def test_a_list_of_other_rows_changes_nothing(visit):
    """No row has the check, of several rows with the id none is meant, and check and id may be those of two rows."""
    window = visit()
    window.press("1")
    head, line = window.saved().decode("utf-8-sig").splitlines()
    row_id = line.split(",")[0]
    check = line.split(",")[-2]
    second_window = visit()
    other_id = next(
        text for text in second_window.page.locator("#rv-list .rv-who bdi").all_inner_texts() if text != row_id
    )
    for text in (line.replace(check, "abadcafe"), line.replace(check, ""), other_id + line.removeprefix(row_id)):
        second_window.page.evaluate("document.getElementById('rv-said').textContent = ''")
        drop(second_window.page, f"{head}\n{text}\n")
        second_window.page.wait_for_selector('#rv-said:has-text("1 line of other entries was not taken")')
        assert second_window.checked() == 0
    drop(second_window.page, f"{head}\nQ{line}\n")  # the id is new, as after a table got others; Python takes it, too
    second_window.until_checked(1)


def test_verdicts_of_two_people_that_differ_are_counted_and_not_taken(visit, frame, tmp_path):
    """In two files and in one; yes is known in decomposed letters; what was decided on the page stays."""
    table, X, y = frame
    model = ResidualPropagation(n_neighbors=6).fit(X, y)
    write_review(tmp_path / "r.html", model, X, y, table=table, ids=[f"P{i}" for i in range(90)], title="t.csv")
    first = rank_suspects(model, y).first(4)
    names = [(f"P{row}", LABELS[label]) for row, label in zip(first.row.tolist(), first.label.tolist(), strict=True)]

    def lines_of(*words):
        return "".join(f"{row_name},{label},{word}\n" for (row_name, label), word in zip(names, words, strict=True))

    def after(name, text):
        drop(window.page, "id,label,verdict\n" + text, name)
        window.page.wait_for_selector(f'#rv-said:has-text("{name}")')
        return window.text("said")

    for files in (["1111", "0101"], ["11110101"]):
        window = visit(tmp_path / "r.html")
        for k, words in enumerate(files):
            message = after(f"{k}.csv", lines_of(*words[:4]) + (lines_of(*words[4:]) if words[4:] else ""))
        n_taken = {0: 2, 1: 0}[len(files) - 1]
        assert message.startswith(f"Took {plural(n_taken, 'verdict')} from {k}.csv. Two verdicts differ on 2 entries")
        assert window.checked() == (4 if len(files) == 2 else 2)
        verdicts = {(line["id"], line["label"].removeprefix("'")): line["verdict"] for line in lines(window.saved())}
        assert verdicts == {name: "1" for k, name in enumerate(names) if len(files) == 2 or k % 2}
    window = visit(tmp_path / "r.html")
    message = after("words.csv", lines_of("S\u00ed", "si\u0301", "n\u00e3o", "NA\u0303O"))
    assert message == "Took 4 verdicts from words.csv."
    assert [line["verdict"] for line in lines(window.saved())] == ["1", "1", "0", "0"]


def plural(n, word):
    return f"{n} {word}{'s' * (n != 1)}"


def test_words_that_every_object_has_are_no_verdicts(visit):
    """A list of the same rows, whose verdicts are names of JavaScript's own properties."""
    window = visit()
    window.press("1")
    head, line = window.saved().decode("utf-8-sig").splitlines()
    second_window = visit()
    for word in ("constructor", "__proto__", "toString"):
        drop(second_window.page, f"{head}\n{line.removesuffix('1')}{word}\n")
        second_window.page.wait_for_selector("#rv-said", state="visible")
        assert second_window.text("said").startswith("Took 0 verdicts"), word
    assert second_window.checked() == 0


def test_earlier_verdicts_are_known_and_stay(visit, frame, tmp_path):
    """A page made after a review has its verdicts; the file of that review is not lost on it."""
    table, X, y = frame
    window = visit()
    window.press("1", "0", "x")
    (tmp_path / "v.csv").write_bytes(window.saved())
    ids = [f"P{i // 2}" for i in range(90)]
    verdicts = read_verdicts(tmp_path / "v.csv", y, table=table, ids=ids)
    assert sorted(verdicts[verdicts != -1].tolist()) == [-2, 0, 1]
    model = ResidualPropagation(n_neighbors=6).fit(X, y)
    write_review(tmp_path / "next.html", model, X, y, table=table, ids=ids, title="t.csv", verdicts=verdicts)
    second_window = visit(tmp_path / "next.html")
    drop(second_window.page, (tmp_path / "v.csv").read_text(encoding="utf-8-sig"))
    second_window.page.wait_for_selector("#rv-said", state="visible")
    assert second_window.text("said") == "Took 0 verdicts from v.csv."
    assert sorted(line["verdict"] for line in lines(second_window.saved())) == ["0", "1", "unclear"]
    for line in lines(second_window.saved()):
        label_value = y.iloc[int(line["row"])][line["label"].removeprefix("'")]
        assert line["suggest"] == ["add", "remove"][label_value]
    # A line that says something else is not said to be there already, nor one of another row with this number.
    head, *file_lines = (tmp_path / "v.csv").read_text(encoding="utf-8-sig").splitlines()
    check = file_lines[1].split(",")[-2]
    drop(
        second_window.page,
        "\n".join([head, f"{file_lines[0][:-1]}0", file_lines[1].replace(check, "abadcafe")]),
        "w.csv",
    )
    second_window.page.wait_for_selector('#rv-said:has-text("w.csv")')
    assert "Took 0 verdicts from w.csv. 1 line of other entries was not taken" in second_window.text("said")
    assert "Two verdicts differ on 1 entry, and neither was taken" in second_window.text("said")
    assert len(lines(second_window.saved())) == 3


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


def test_unknown_entries_and_those_of_an_earlier_review_are_no_switches(visit, frame, tmp_path):
    """Of rows in which one label is unknown and one was checked before, the third alone can be asked for."""
    table, X, y = frame
    y = y.copy()
    y["=cold"] = np.where(np.arange(90) % 2, -1, y["=cold"])
    verdicts = np.full(y.shape, -1)
    verdicts[:, 2] = np.where(y["<b>gout"] == -1, -1, 1)
    verdicts[1, 1] = 1  # on an entry that was unknown
    model = ResidualPropagation(n_neighbors=6).fit(X, y)
    write_review(tmp_path / "r.html", model, X, y, table=table, title="t.csv", verdicts=verdicts)
    window = visit(tmp_path / "r.html")
    switches_of_entry = {}
    for _ in range(window.page.locator("[role=option]").count()):
        row, label = re.search(r"row\s(\d+) have “(.+)”", window.text("question")).groups()
        switches_of_entry[int(row), label] = set(window.page.locator("#rv-others button").all_inner_texts())
        window.press("j")
    assert any(row % 2 for row, _ in switches_of_entry)
    for (row, label), switches in switches_of_entry.items():
        assert switches == (set() if row % 2 else {"flu", "=cold"} - {label})
    row = next(row for row, _ in switches_of_entry if row % 2)
    check = check_rows(table, y.to_numpy())[row]
    drop(window.page, f"check,label,verdict\n{check},=cold,1\n{check},flu,keep\n")
    window.until_checked(1)
    assert "Took 1 verdict from v.csv. 1 line of other entries was not taken" in window.text("said")
    saved_verdicts = {
        (line["row"], line["label"]): (line["suggest"], line["verdict"]) for line in lines(window.saved())
    }
    assert saved_verdicts["1", "'=cold"] == ("", "1")
    annotation = y.loc[row, "flu"]
    assert saved_verdicts[str(row), "flu"] == (["add", "remove"][annotation], str(annotation))


def test_what_speaks_against_a_given_label_comes_first(visit, frame, tmp_path, rng):
    """Columns a, b and d tell both labels, and c tells nothing; small parts have no mark."""
    on = (np.arange(120) % 2).astype(float)
    noise = rng.normal(size=(120, 4))
    X = np.column_stack([on, -on, 0 * on, on]) * 3 + noise
    X[:2] = [[9, 9, 0, 1.5], [9, -9, 0, 0]]
    y = np.column_stack([on, 1 - on]).astype(int)
    y[0] = (1, 0)
    y[1] = (0, 1)
    model = ResidualPropagation(n_neighbors=6, n_estimators=0).fit(X, y)
    write_review(tmp_path / "r.html", model, X, y, table=pd.DataFrame(X, columns=list("abcd")))
    window = visit(tmp_path / "r.html")
    for _ in range(12):
        annotation = window.page.inner_text("#rv-given b")
        label = window.text("question")[-3]
        row = int(re.search(r"row\s(\d+)", window.text("question"))[1])
        parts = model.coef_[int(label)] * (X[row] - model.mean_)
        clear = [j for j in np.argsort(-abs(parts)) if j != 2 and abs(parts[j]) > 0.05 * abs(np.delete(parts, 2)).max()]
        signs = [-1, 1] if annotation == "yes" else [1, -1]
        marks = [("▲" if sign > 0 else "▼", "abcd"[j]) for sign in signs for j in clear if np.sign(parts[j]) == sign]
        marked = window.page.locator("#rv-cells tbody tr").filter(has=window.page.locator(".pull")).locator("th")
        assert [tuple(text.split()) for text in marked.all_inner_texts()] == marks
        for mark in marked.all():
            name = mark.inner_text().split()[1]
            column = X[:, "abcd".index(name)]
            where = {0: "below nearly all", 1: "low", 5: "above nearly all"}
            strip_label = mark.locator("xpath=..").locator(".rv-strip").get_attribute("aria-label")
            low, high = np.sort(column)[[1, 118]]
            ends = mark.locator("xpath=..").locator(".rv-ends bdi").all_inner_texts()
            assert ends == [f"{low:.6g}", f"{high:.6g}"]
            for value, words in ((1, "of the rows with"), (0, "of those without")):
                group = np.sort(column[y[:, int(label)] == value])
                q = [group[round(part * (len(group) - 1))] for part in (0.05, 0.25, 0.5, 0.75, 0.95)]
                places = (99 * (np.append(column[row], q) - low) / (high - low)).clip(0, 99).astype(int)
                k = 5 if places[0] > places[5] else 4 if places[0] > places[4] else 2 if places[0] >= places[2] else 1
                k = 0 if places[0] < places[1] else k
                expected = where.get(k, "high" if k == 4 else "in the middle")
                assert f"{expected} {words}" in strip_label
        window.press("j")


def test_a_row_of_many_labels_shows_those_that_it_has(visit, rng, tmp_path):
    y = (rng.random((60, 20)) < 0.3).astype(int)
    X = rng.normal(size=(60, 2))
    write_review(tmp_path / "r.html", ResidualPropagation(n_neighbors=6, n_estimators=0).fit(X, y), X, y)
    window = visit(tmp_path / "r.html")
    row, label = map(int, re.search(r"row\s(\d+) have “label_(\d+)”", window.text("question")).groups())
    other_row_labels = [f"label_{c}" for c in np.flatnonzero(y[row]) if c != label]
    assert window.page.locator("#rv-others > button").all_inner_texts() == other_row_labels
    assert window.page.inner_text("#rv-others summary") == f"{19 - len(other_row_labels)} more labels"


def test_other_labels_of_the_row_are_switches(visit, frame, tmp_path):
    _, X, y = frame
    model = ResidualPropagation(n_neighbors=6).fit(X, y)
    write_review(tmp_path / "few.html", model, X, y, top=2)  # so that they are not listed themselves
    window = visit(tmp_path / "few.html")
    row = int(re.search(r"row\s(\d+)", window.text("question"))[1])
    first = window.page.locator("#rv-others button").first
    label = first.inner_text()
    annotation = int(frame[2].loc[row, label])
    assert first.get_attribute("aria-pressed") == str(bool(annotation)).lower()
    first.click()
    assert window.page.locator("#rv-others button").first.get_attribute("aria-pressed") == str(not annotation).lower()
    progress = "0 of 2 entries checked; label errors: 1; 1 of them is another label of these rows."
    assert window.text("progress").startswith(progress)
    (line,) = lines(window.saved())
    saved_line = int(line["row"]), line["label"].removeprefix("'"), line["suggest"], line["verdict"]
    assert saved_line == (row, label, ["add", "remove"][annotation], str(1 - annotation))
    window.page.reload()
    window.page.wait_for_selector("html[data-review=ready]")
    assert len(lines(window.saved())) == 1
    window.page.locator("#rv-others button").first.click()  # which takes it back
    assert window.page.is_disabled("#rv-save")


@pytest.mark.parametrize("keys", [[], ["right"], ["x"], ["wrong"], ["right", "wrong"], ["wrong", "wrong"]])
def test_a_switch_clicked_twice_gives_back_the_verdict_that_stood_there(visit, frame, keys):
    suspects = rank_suspects(ResidualPropagation(n_neighbors=6).fit(*frame[1:]), frame[2])
    row = next(row for row in suspects.row if (suspects.row == row).sum() > 1)
    first_place, second_place = np.flatnonzero(suspects.row == row)[:2]
    annotation = suspects.given[first_place]
    page = visit()

    def show(k):
        detail = f"{{detail: {{row: {row}, label: {suspects.label[k]}}}}}"
        page.page.evaluate(f"document.dispatchEvent(new CustomEvent('review-show', {detail}))")

    for key in keys:
        show(first_place)
        page.press({"right": str(annotation), "wrong": str(1 - annotation)}.get(key, key))
    show(first_place)
    before = page.page.is_visible("#rv-verdict") and page.text("verdict")
    show(second_place)
    switch = page.page.locator(
        "#rv-others button", has_text=re.compile(f"^{re.escape(LABELS[suspects.label[first_place]])}$")
    )
    switch.click()
    assert switch.get_attribute("class") == ("" if keys[-1:] == ["wrong"] else "changed")
    switch.click()
    show(first_place)
    assert (page.page.is_visible("#rv-verdict") and page.text("verdict")) == before


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


@pytest.mark.parametrize("width", [900, 1000, 1200, 1400])
def test_both_groups_of_rows_are_seen_whole(visit, width):
    window = visit(viewport={"width": width, "height": 900})
    table = window.page.locator("#rv-cells").bounding_box()
    box = window.page.locator("#rv-panel .scroll").bounding_box()
    assert table["x"] >= box["x"]
    assert table["x"] + table["width"] <= box["x"] + box["width"] + 1
    assert window.page.locator("#rv-cells thead tr").nth(1).locator("th").count() == 9


def test_columns_that_tell_nothing_have_no_mark_and_a_strip_says_where_the_row_stands(visit, frame, tmp_path):
    _, X, y = frame
    write_review(tmp_path / "r.html", ResidualPropagation(n_neighbors=6).fit(X, y), X, y)
    window = visit(tmp_path / "r.html")
    label = re.search(r"have “(.*)”", window.text("question"))[1]
    marked = window.page.locator("#rv-cells tbody tr").filter(has=window.page.locator(".pull"))
    names = [text.split()[-1] for text in marked.locator("th").all_inner_texts()]
    assert names == ["012"[LABELS.index(label)]]  # each label has one column of the table
    assert re.match(
        r"this row is .+ of the rows with .+ of those without", window.page.get_attribute(".rv-strip", "aria-label")
    )


@pytest.fixture
def hospital_page(tmp_path, rng):
    """The page of a command, with pictures."""
    image = pytest.importorskip("PIL.Image")
    n = 40
    y = (rng.random((n, 2)) < 0.4).astype(int)
    cells = [[v, f"{i}.png", *on] for i, (v, on) in enumerate(zip(rng.normal(size=n), y.tolist(), strict=True))]
    write_csv(tmp_path / "t.csv", ["a", "photo", "flu", "cold"], cells)
    for i in range(n):
        image.new("RGB", (8, 8), (i, 0, 0)).save(tmp_path / f"{i}.png")
    words = ["--label-columns", "flu,cold", "--image", "photo", "--n-neighbors", "5", "--quiet", "--out"]
    assert main(["review", str(tmp_path / "t.csv"), *words, str(tmp_path / "r.html")]) == 0
    return tmp_path / "r.html"


def test_pictures_are_large_and_a_click_enlarges_them(visit, hospital_page):
    window = visit(hospital_page, viewport={"width": 1400, "height": 900})
    row = re.search(r"row\s(\d+)", window.text("question"))[1]
    assert window.page.get_attribute("#rv-own img", "alt") == f"{row}.png"
    assert window.page.locator("#rv-own img").bounding_box()["width"] >= 240
    assert window.page.locator("#rv-cells img").nth(1).bounding_box()["width"] >= 70
    for place in ("#rv-own", "#rv-cells"):
        window.page.locator(f"{place} .rv-enlarge").first.click()
        assert window.page.is_visible("#rv-larger img")
        assert window.page.locator("#rv-larger img").bounding_box()["width"] >= 400
        window.press("Escape")
    window.press("1")
    assert window.checked() == 1


# ---------------------------------------------------------------- estimate


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


# ---------------------------------------------------------------- what is shown


def test_neighbours_that_are_doubtful_themselves_say_so_and_what_was_said_of_them(visit, frame):
    """Before the verdict no place and no score; the notes stand where the list itself has the neighbour's label."""
    _, X, y = frame
    suspects = rank_suspects(ResidualPropagation(n_neighbors=6).fit(X, y), y)
    doubtful = set(
        zip(suspects.row[:24].tolist(), suspects.label[:24].tolist(), strict=True)
    )  # a tenth of 240 annotations
    window = visit()

    def notes():
        heads = window.page.locator("#rv-cells thead tr").nth(1).locator("th").all_inner_texts()[3:]
        return {int(re.search(r"row\s(\d+)", head)[1]): head.split("\n")[2:] for head in heads}

    spoken_notes = {}
    for _ in range(24):
        row, label = re.search(r"row\s(\d+)\) have “(.*)”", window.text("question")).groups()
        c = LABELS.index(label)
        for near, words in notes().items():
            expected = spoken_notes.get((near, c), "doubtful too" if (near, c) in doubtful else "")
            assert words == [expected] * bool(expected)
        assert ("Doubtful too" in window.text("order")) == (["doubtful too"] in notes().values())
        annotation = y.loc[int(row), label]
        key = "x" if len(spoken_notes) % 5 == 4 else "0" if len(spoken_notes) % 2 else "1"
        spoken_notes[int(row), c] = (
            "you could not tell"
            if key == "x"
            else "you said: right"
            if int(key) == annotation
            else "you said: wrong label"
            if annotation
            else "you said: missing label"
        )
        window.press(key)
    window.press("u", "j", "k")
    verdicts = {"you said: right", "you said: wrong label", "you said: missing label"}
    assert set(spoken_notes.values()) == {"you could not tell", *verdicts}


def test_labels_that_are_unknown_are_not_called_none(visit, frame, tmp_path):
    _, X, y = frame
    y = y.copy()
    y["=cold"] = np.where(np.arange(90) % 2, -1, y["=cold"])
    model = ResidualPropagation(n_neighbors=6).fit(X, y)
    write_review(tmp_path / "r.html", model, X, y)
    window = visit(tmp_path / "r.html")
    label_texts = set()
    for _ in range(20):
        heads = window.page.locator("#rv-cells thead tr").nth(1).locator("th").all_inner_texts()[3:]
        rows = [int(re.search(r"row\s(\d+)", text)[1]) for text in [window.text("question"), *heads]]
        cells = window.page.locator("#rv-cells .labels").locator("xpath=..").locator("td").all_inner_texts()[1:]
        for row, text in zip(rows, cells, strict=True):
            on = [name for name in LABELS if y.loc[row, name] == 1]
            assert text == (", ".join(on) or "none") + ("; unknown: =cold" if row % 2 else "")
            label_texts.add(text)
        window.press("j")
    assert {"none; unknown: =cold", "none"} <= label_texts


def test_a_missing_cell_is_called_missing_and_has_no_mark(visit, frame, tmp_path):
    table, X, y = frame
    table = table.assign(a=table["a"].where(np.arange(90) % 2 == 0), b=np.nan)
    write_review(tmp_path / "r.html", ResidualPropagation(n_neighbors=6).fit(X, y), X, y, table=table[["a", "b", "c"]])
    window = visit(tmp_path / "r.html")
    window.page.select_option("#rv-label", "0")  # which column a tells
    missing_cells = set()
    for _ in range(20):
        row = int(re.search(r"row\s(\d+)", window.text("question"))[1])
        line = window.page.locator("#rv-cells tbody tr").filter(
            has=window.page.locator("th bdi", has_text=re.compile("^a$"))
        )
        missing = line.locator("td").first.inner_text() == "missing here"
        assert missing == bool(row % 2)
        assert line.locator(".rv-strip").count() == (not missing)
        assert not (missing and line.locator(".pull").count())
        missing_cells.add(missing)
        window.press("j")
    assert missing_cells == {True, False}


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


def test_words_are_not_broken(visit, frame, tmp_path):
    """A label, a date and a name of up to 20 letters stand on one line each, and from 900 px on six rows whole.

    At 900 px both is not possible for long labels in cells; there names of columns alone are not broken.
    """
    _, X, y = frame
    names = ["Standsicherheit gefährdet", "Wurzelschaden", "unbekannt"]
    table = pd.DataFrame({"Stammumfang_in_Meter": ["26.05.2021"] * 90, "b": ["Wurzelschadenbehebung"] * 90})
    y = y.set_axis(names, axis=1)
    write_review(tmp_path / "r.html", ResidualPropagation(n_neighbors=6).fit(X, y), X, y, table=table)
    for width in (420, 900, 1400):
        window = visit(tmp_path / "r.html", viewport={"width": width, "height": 900})
        broken = window.page.evaluate(BROKEN)
        assert "Stammumfang_in_Meter" not in broken if width == 900 else broken == []
        box = "(([box]) => box.scrollWidth - box.clientWidth)(document.querySelectorAll('#rv-panel .scroll'))"
        assert (window.page.evaluate(box) <= 1) == (width > 420)


# Words of the table of at most 20 letters that stand on two lines.
BROKEN = """() => {
  const found = [], walk = document.createTreeWalker(document.getElementById("rv-cells"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    for (const {0: word, index} of walk.currentNode.data.matchAll(/\\S+/g)) {
      const range = new Range();
      range.setStart(walk.currentNode, index);
      range.setEnd(walk.currentNode, index + word.length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (word.length <= 20 && lines.size > 1) found.push(word);
    }
  }
  return found;
}"""


HOSTILE = [
    "<script>document.title='taken'</script>",
    "</script><img src=x onerror=\"document.title='taken'\">",
    "\u202egnp.exe\u2066 end",
    "שלום עולם",
    "👩‍👩‍👧‍👦 family",
    "line one\nline two\ttab",
    "x" * 10_000,
    "{{ 7 * 7 }} ${7 * 7}",
]


def test_hostile_cells_names_and_ids_are_texts(visit, tmp_path, rng):
    n = 40
    y = pd.DataFrame((rng.random((n, 2)) < 0.4).astype(int), columns=HOSTILE[:2])
    X = rng.normal(size=(n, len(HOSTILE)))
    table = pd.DataFrame({f"{name[:60]} {j}": [name] * n for j, name in enumerate(HOSTILE)})
    model = ResidualPropagation(n_neighbors=5).fit(X, y)
    path = tmp_path / "hostile.html"
    write_review(path, model, X, y, table=table, ids=[f"{HOSTILE[1]} {i}" for i in range(n)], title=HOSTILE[0])
    window = visit(path)
    page = window.page
    page.locator("#rv-near summary").first.click()
    assert page.title() == f"Labels to check: {HOSTILE[0]}"
    assert page.locator("img, iframe, object, embed").count() == 0
    shown = page.inner_text("#rv-entry")
    for text in ("שלום עולם", HOSTILE[4], "line one\nline two", HOSTILE[7], "\ufffdgnp.exe", HOSTILE[1]):
        assert text in shown
    assert "x" * 10_000 in page.text_content("#rv-near")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    window.press("1")
    written = window.saved()
    assert lines(written)[0]["label"] in HOSTILE[:2]
    second_window = visit(path)
    drop(second_window.page, written.decode("utf-8-sig"))  # whose cells have quotes
    second_window.until_checked(1)


def test_the_row_stands_beside_three_rows_with_the_label_and_three_without(visit, frame):
    table, _, y = frame
    window = visit()
    row, label = re.search(r"row\s(\d+)\) have “(.*)”", window.text("question")).groups()
    heads = window.page.locator("#rv-cells thead tr").nth(1).locator("th").all_inner_texts()
    numbers = [int(re.search(r"row\s(\d+)", head)[1]) for head in heads[3:]]
    assert [y.loc[i, label] for i in numbers] == [1, 1, 1, 0, 0, 0]
    assert int(row) not in numbers
    cells = {
        line.locator("th").inner_text().split()[-1]: line for line in window.page.locator("#rv-cells tbody tr").all()
    }
    for column in ("a", "b", "c"):
        values = [float(text) for text in cells[column].locator("td").all_inner_texts()[1:]]
        assert values == table.loc[[int(row), *numbers], column].tolist()
    notes = cells["note"].locator("td")
    same = [note == table.loc[int(row), "note"] for note in table.loc[numbers, "note"]]
    assert ["same" in (notes.nth(k + 2).get_attribute("class") or "") for k in range(6)] == same


@pytest.mark.parametrize("width", [420, 900, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast_and_nothing_leaves_the_window(visit, width, scheme):
    """WCAG AA: 4.5 to 1 for every text that is seen."""
    window = visit(viewport={"width": width, "height": 900}, color_scheme=scheme)
    window.press("1", "0")
    assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert window.page.evaluate(CONTRAST) == []


CONTRAST = """() => {
  const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return {r, g, b, a}; };
  const linear = (v) => v <= 0.04045 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const light = ({r, g, b}) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.a === 1) return color;
    }
    return {r: 255, g: 255, b: 255};
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest("script, :disabled, [disabled]")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push([node.id || node.className || node.tagName, ratio]);
  }
  return found;
}"""


def test_a_browser_that_cannot_unpack_the_entries_says_so(browser, page_file, visit):
    with browser.new_context() as context:
        context.add_init_script("delete window.DecompressionStream")
        page = context.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(page_file.resolve().as_uri())
        assert page.inner_text("#rv-old").startswith("This browser is too old to show the entries: open the page in")
        assert errors == []
    assert not visit().page.is_visible("#rv-old")


def test_the_word_download_stands_on_one_button(visit):
    window = visit()
    window.press("1")
    whole = window.page.inner_text("body") + window.page.text_content("#rv-help")
    assert len(re.findall("download", whole, re.I)) == 1
    assert "Download" in window.text("save")


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
