"""Lists of labels: the separator and the word for no label are found, and doubts are said."""

import dataclasses
from collections import Counter

import numpy as np
import pytest

from nmlsdr.tables import Choices, Roles, read_table
from nmlsdr.tables._files import DataFileError
from nmlsdr.tables._label_lists import (
    MANY_LABELS,
    Lists,
    check_lists,
    doubts_on_separator,
    find_lists,
    looks_like_labels,
    rank_separators,
    refuse_unused,
)

JAPANESE = ["頭痛", "発熱", "咳", "下痢", "嘔吐", "発疹", "腹痛", "倦怠感", "鼻水", "めまい"]


def words(rng, n, share_of_pairs=0.4):
    """Labels of one or two words."""
    letters = list("etaoinsrhldcu")
    single = ["".join(rng.choice(letters, rng.integers(3, 10))) for _ in range(2 * n)]
    return [f"{a} {b}" if rng.random() < share_of_pairs else a for a, b in zip(single[:n], single[n:], strict=True)]


def lists(rng, labels, separator, n_rows, mean=2.0, exponent=0.8):
    """Cells that list labels, some of which are more frequent."""
    shares = np.arange(1.0, len(labels) + 1) ** -exponent
    shares /= shares.sum()
    sizes = np.minimum(1 + rng.poisson(mean, n_rows), len(labels))
    return [separator.join(rng.choice(labels, size, replace=False, p=shares)) for size in sizes]


def tags_of_registry(rng):
    """Nearly every row has "; ", and 51 of 1325 have a slash inside a tag; most tags are rare."""
    labels = np.array(words(rng, 3000))
    cells = lists(rng, labels, "; ", 1000, mean=4.0)
    rows_with_slash = rng.choice(
        [row for row, cell in enumerate(cells) if " " in cell.split("; ")[-1]], 51, replace=False
    )
    for row in rows_with_slash:
        *tags, last = cells[row].split("; ")
        cells[row] = "; ".join([*tags, last.replace(" ", "/")])
    return [*cells, *["machine learning"] * 200, *["data; machine learning"] * 125]


TABLES = {
    "registry": (tags_of_registry, ";"),
    "comma and blank": (lambda rng: lists(rng, words(rng, 40), ", ", 300), ","),
    "comma without a blank": (lambda rng: lists(rng, words(rng, 15), ",", 200), ","),
    "semicolon between labels with commas": (
        lambda rng: lists(rng, [f"{word}, acute" for word in words(rng, 25)], ";", 300),
        ";",
    ),
    "bar between labels with commas": (
        lambda rng: lists(rng, [f"{a}, {b}" for a, b in zip(words(rng, 20), words(rng, 20), strict=True)], "|", 200),
        "|",
    ),
    "bar between labels with slashes": (
        lambda rng: lists(rng, [f"{a}/{b}" for a, b in zip(words(rng, 9), words(rng, 9), strict=True)], " | ", 300),
        "|",
    ),
    "slash": (lambda rng: lists(rng, words(rng, 12), "/", 250), "/"),
    "slash between c++ and others": (lambda rng: lists(rng, ["c++", "c", "java", "go lang", "c#"], "/", 250), "/"),
    "line break": (lambda rng: lists(rng, words(rng, 60), "\n", 400), "\n"),
    "line break between sentences": (
        lambda rng: lists(rng, [f"{a}, {b}; {a}" for a, b in zip(words(rng, 9), words(rng, 9), strict=True)], "\n", 99),
        "\n",
    ),
    "prefixes": (lambda rng: lists(rng, [f"role::{w}" for w in words(rng, 30)], ", ", 300), ","),
    "few labels, many rows": (lambda rng: lists(rng, ["flu", "cold", "gout"], ", ", 20_000, mean=0.5), ","),
    "codes with a slash alone": (lambda rng: [f"C{a}/{b}" for a, b in rng.integers(10, 40, (400, 2))], ";"),
    "codes with a slash in lists": (
        lambda rng: lists(rng, [f"C{a}/{b}" for a, b in rng.integers(10, 40, (60, 2))], ", ", 300, mean=1.0),
        ",",
    ),
    "Japanese": (lambda rng: lists(rng, JAPANESE, "、", 300), "、"),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("seed", range(3))
def test_the_separator_gives_labels_that_repeat(name, seed):
    make, separator = TABLES[name]
    cells = make(np.random.default_rng(seed))
    assert find_lists(cells, None, "") == Lists(separator, None)
    doubts = doubts_on_separator(Counter(cells), Lists(separator))
    assert doubts == [] or "occur once" in doubts[0]


def test_the_fewest_labels_are_not_those_of_the_separator():
    cells = Counter(tags_of_registry(np.random.default_rng(0)))
    n_labels = {mark: len(set().union(*map(Lists(mark).tags, cells))) for mark in ";/"}
    assert n_labels["/"] < n_labels[";"]
    assert sum(count for cell, count in cells.items() if "/" in cell) == 51
    (doubt,) = doubts_on_separator(cells, Lists(";"))
    n_once = rank_separators(cells)[0].n_once
    assert doubt.startswith(f"{n_once} of {n_labels[';']} labels occur once with ';' between them")
    assert "such as '/' (51 cells)" in doubt


def read(tmp_path, cells, **roles):
    path = tmp_path / "t.csv"
    lines = [f'{k % 7},{k % 5},"{cell}"' for k, cell in enumerate(cells)]
    path.write_text("\n".join(["a,b,tags", *lines]) + "\n", encoding="utf-8")
    return read_table(path, Roles(label_list="tags", **roles), plan=Choices())


def test_two_separators_in_one_table_are_named(tmp_path):
    rng = np.random.default_rng(0)
    cells = []
    for cell in lists(rng, JAPANESE, "、", 300):
        parts = cell.split("、")
        cells.append("".join(part + rng.choice(["、", "・"]) for part in parts[:-1]) + parts[-1])
    table = read(tmp_path, cells)
    (note,) = [note for note in table.notes if "separate" in note]
    assert note.startswith(f"{table.lists.separator!r} and ")
    assert f"{len(table.label_names)} labels with {table.lists.separator!r}" in note
    assert "10 with both; write one in all cells" in note
    assert not any("separate" in note for note in read(tmp_path, cells, separator="、").notes)


def test_a_separator_that_is_nearly_as_likely_is_named():
    cells = Counter(["aa;bb,cc", "bb,cc;aa", "aa;dd,aa", "dd,aa;bb", "cc,dd;bb"])
    best, second = rank_separators(cells)[:2]
    assert {best.separator, second.separator} == {";", ","}
    (doubt,) = doubts_on_separator(cells, Lists(best.separator))
    assert repr(second.separator) in doubt


CODES = ["c++", "c/c++", "java", "go", "c#", "tcp/ip", "sql", "html"]
BLANKS = {
    "12 words": lambda rng: lists(rng, words(rng, 12, 0.0), " ", 250),
    "100 words": lambda rng: lists(rng, words(rng, 100, 0.0), " ", 400),
    "names with a slash or plus": lambda rng: lists(rng, CODES, " ", 250),
}
PHRASES = {
    "kinds, organs and findings": lambda rng: [
        " ".join(map(rng.choice, (["acute", "mild"], ["heart", "lung", "eye"], ["failure", "pain", "injury"])))
        for _ in range(300)
    ],
    "phrases in lists": lambda rng: lists(rng, ["chest pain", "back pain", "pain", "chest injury", "back"], ", ", 200),
    "findings": lambda rng: rng.choice(["chest pain", "back pain", "acute pain", "pain", "chest injury"], 300).tolist(),
}


@pytest.mark.parametrize("name", [*BLANKS, *PHRASES])
@pytest.mark.parametrize("seed", range(3))
def test_blanks_between_labels_are_named_and_never_assumed(name, seed):
    """A blank also stands inside labels, so that a person decides; phrases are not called lists."""
    cells = Counter((BLANKS | PHRASES)[name](np.random.default_rng(seed)))
    label_lists = find_lists(cells, None, "")
    assert label_lists.separator != " "
    doubts = [doubt for doubt in doubts_on_separator(cells, label_lists) if "blanks" in doubt]
    n_labels = len(set().union(*(cell.split() for cell in cells)))
    as_read = len(set().union(*map(label_lists.tags, cells)))
    sentence = f"{n_labels} labels if blanks separate them, {as_read} as read; if they do, give --separator ' '"
    assert doubts == ([sentence] if name in BLANKS else [])
    assert doubts_on_separator(cells, Lists(" ")) == []


def test_lists_with_blanks_are_read_by_the_option(tmp_path):
    cells = BLANKS["12 words"](np.random.default_rng(0))
    assert any("if blanks separate them" in note for note in read(tmp_path, cells).notes)
    table = read(tmp_path, cells, separator=" ")
    assert table.label_names == sorted(set(" ".join(cells).split()))
    assert table.target.sum() == sum(len(cell.split()) for cell in cells)
    assert not any("blanks" in note for note in table.notes)


def test_numbers_and_dates_are_labels_only_if_a_person_says_so():
    cells = {"12": 3, "13": 2, "n/a": 1}
    with pytest.raises(DataFileError, match=r"t\.csv: its cells are numbers or dates \('12', '13'\), which are seldom"):
        check_lists(cells, Lists(), "t.csv", is_sure=False)
    check_lists(cells, Lists(), "t.csv", is_sure=True)
    check_lists({**cells, "flu": 1}, Lists(), "t.csv", is_sure=False)


def test_a_separator_or_word_that_no_cell_has_is_refused_if_another_was_meant():
    cells = {"a;b": 2, "b;c": 1, "c;a": 1}
    message = "no list of labels has the separator '/'; 5 have ';', which gives 3 labels in place of 4; give that one"
    with pytest.raises(DataFileError, match=message):
        refuse_unused({**cells, "a;c": 1}, Lists("/"), {"separator": "/"})
    refuse_unused(cells, Lists("/"), {"separator": "/"})  # as many labels: nothing is gained
    refuse_unused(cells, Lists(";", "none"), {})  # nobody said the word
    with pytest.raises(DataFileError, match="no list of labels is 'none', the word for no label; leave that word out"):
        refuse_unused(cells, Lists(";", "none"), {"no_label": "none"})


def test_few_lists_that_are_frequent_are_split_too():
    cells = {"flu, cold, gout": 9000, "cold, gout, mumps": 9000, "mumps, flu": 9000, "gout": 10}
    assert find_lists(cells, None, "").separator == ","


def test_a_near_second_separator_is_named_if_both_together_are_no_better():
    cells = {"heart;kidney": 1, "eye;kidney": 1, "kidney,heart;kidney": 1}
    (doubt,) = doubts_on_separator(cells, Lists(","))
    assert doubt == "',' gives 3 labels, ';' 4; if that is the separator, give --separator ';'"


@pytest.mark.parametrize(
    ("n_labels", "word", "is_word"),
    [
        (MANY_LABELS - 2, "healthy", True),
        (MANY_LABELS + 2, "healthy", False),
        (MANY_LABELS + 2, "keine", True),
        (MANY_LABELS + 2, "なし", True),
        (MANY_LABELS - 2, "role::debug-symbols", False),
        (MANY_LABELS - 2, "sym-7", True),
    ],
)
def test_the_word_for_no_label(n_labels, word, is_word):
    rng = np.random.default_rng(1)
    labels = [f"role::{'xyzvw'[k % 5]}{'abcdefgh'[k // 5]}" for k in range(n_labels)]
    cells = [", ".join(rng.choice(labels, 3, replace=False)) for _ in range(300)] + [word] * 66
    assert find_lists(cells, None, None) == Lists(",", word if is_word else None)


def test_a_code_that_stands_alone_is_no_word_for_no_label():
    rng = np.random.default_rng(1)
    cells = [";".join(rng.choice(["E11", "I10", "J45", "M54"], 2, replace=False)) for _ in range(200)]
    assert find_lists([*cells, *["C25"] * 50], None, None).no_label is None
    assert find_lists([*cells, *["well"] * 50], None, None).no_label == "well"


def test_a_later_table_may_lack_the_separator_of_the_fit(tmp_path):
    """The commands give the options of the fit again; only those that are new may be mistaken."""
    path = tmp_path / "t.csv"
    roles = Roles(label_list="tags", separator=";")
    path.write_text("x,tags\n1,flu;cold\n2,flu\n3,cold;flu\n")
    plan = read_table(path, roles, plan=Choices()).plan
    path.write_text('x,tags\n1,"flu,cold"\n2,flu\n3,"cold,flu"\n4,cold\n')
    with pytest.raises(ValueError, match="no list of labels has the separator ';'; 2 have ','"):
        read_table(path, roles, plan=plan)
    at_fit = dataclasses.replace(plan, labels={"label_list": "tags", "separator": ";"})
    assert read_table(path, roles, plan=at_fit).label_names == ["cold", "cold,flu", "flu", "flu,cold"]


def test_an_empty_cell_of_a_code_that_does_not_apply_is_a_0(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,flu,cold\n1,1,\n2,,\n3,,NA\n4,0,1\n")
    table = read_table(path, Roles(label_columns=["flu", "cold"], empty_is="no"))
    assert table.target.tolist() == [[1, 0], [0, 0], [0, 0], [0, 1]]
    (note,) = table.notes
    assert "so 2 of 4 rows have none" in note


@pytest.mark.parametrize(
    ("word", "labels", "expected"),
    [
        ("E11", {"flu", "C25"}, True),
        ("E11", {"flu"}, False),
        ("healthy", {"C25"}, False),
        ("role::debug", {"flu", "role::program"}, True),
        ("role::debug", {"common-cold"}, False),
    ],
)
def test_a_word_is_like_a_label_by_its_mark_or_by_digits_of_both(word, labels, expected):
    assert looks_like_labels(word, labels) == expected
