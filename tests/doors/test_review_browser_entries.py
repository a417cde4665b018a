"""The review page in a browser: what it shows of an entry, its row, its other labels, its nearest rows and pictures."""

import re

import numpy as np
import pandas as pd
import pytest
from review_browser import LABELS, drop, lines, write_review

from nmlsdr import ResidualPropagation
from nmlsdr.inspection import rank_suspects
from nmlsdr.inspection._row_checks import check_rows

pytest.importorskip("jinja2")


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


# ---------------------------------------------------------------- columns that speak for or against the label


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


# ---------------------------------------------------------------- other labels of the row


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
