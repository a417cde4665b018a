"""The review page in a browser: the file of verdicts that it saves, and files that are dropped on it."""

import csv
import io
import re
from pathlib import Path

import pytest
from review_browser import LABELS, drop, lines, write_review

from nmlsdr import ResidualPropagation
from nmlsdr.inspection import rank_suspects, read_verdicts

pytest.importorskip("jinja2")


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


def test_the_word_download_stands_on_one_button(visit):
    window = visit()
    window.press("1")
    whole = window.page.inner_text("body") + window.page.text_content("#rv-help")
    assert len(re.findall("download", whole, re.I)) == 1
    assert "Download" in window.text("save")


# ---------------------------------------------------------------- dropped files


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
