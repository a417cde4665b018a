"""What is decided about the columns of raw tables: small files, each with its expected plan."""

import numpy as np
import pytest
from commands import assert_done, ran, write_csv
from table_files import SEMICOLONS, read_table

from nmlsdr.tables import DataFileError
from nmlsdr.tables._columns import Numbers
from nmlsdr.tables._label_lists import Lists, find_lists
from nmlsdr.tables._plan import Column, Plan
from nmlsdr.tables._planner import Choices

KINDS = {"Nr": "identifier", "Höhe": "number", "Material": "category"}


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (SEMICOLONS, "t.csv"),
        (SEMICOLONS.replace(";", "\t"), "t.csv"),
        (SEMICOLONS.replace(";", "\t"), "t.tsv"),
        ("\ufeff" + SEMICOLONS, "t.csv"),
        (SEMICOLONS.encode("utf-16"), "t.csv"),
        (SEMICOLONS.encode("latin-1"), "t.csv"),
        ("\ufeffsep=;\r\n" + SEMICOLONS.replace("\n", "\r\n"), "t.csv"),  # as Excel writes it
        (SEMICOLONS.replace("M1;", '"M\n1";'), "t.csv"),
        (SEMICOLONS.replace(";", '";"').replace("\n", '"\n"')[:-1].join(['"', ""]), "t.csv"),
    ],
    ids=["semicolons", "tabs", "tsv", "byte order mark", "UTF-16", "Latin-1", "Excel", "quoted newline", "all quoted"],
)
def test_every_form_of_a_file_gives_the_same_plan(decide, content, name):
    table, kinds = decide(content, name, label_list="Tags")
    assert kinds == KINDS
    assert table.feature_names == ["Höhe", "Material=Holz", "Material=Ton"]
    assert table.data[:3].tolist() == [[0.5, 1, 0], [1.5, 0, 1], [2.5, 1, 0]]
    assert table.lists == Lists("|", "keine")
    assert table.label_names == ["a", "b"]
    assert table.target[:4].tolist() == [[1, 1], [0, 0], [-1, -1], [0, 1]]


def test_a_file_whose_first_letter_with_an_accent_comes_late_is_latin_1(decide):
    text = "id,a\n" + "".join(f"p{i},{i / 4}\n" for i in range(20_000)) + "é,1\n"
    table, _ = decide(text.encode("latin-1"))
    assert table.encoding == "cp1252"
    assert table.ids[-1] == "é"


def test_several_words_for_a_missing_value_are_found_and_counted(decide):
    words = ["k.A.", "sans", "-", "", "sans", "?", "sans"]
    text = "a,b\n" + "".join(f"{words[i % 7] if i % 3 == 0 else i / 4},{i / 8}\n" for i in range(42))
    table, kinds = decide(text)
    assert kinds == {"a": "number", "b": "number"}
    assert np.isnan(table.data[:, 0]).tolist() == [i % 3 == 0 for i in range(42)]
    reason = table.plan.columns[0].reason
    assert reason == "missing: 'sans' (6), empty (2), '-' (2), '?' (2) and 1 other word"
    again, _ = decide(text, choices=Choices(missing=["k.A."]))  # what is given is added to what is found
    assert again.plan == table.plan


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1.5", "2.25", "1e3"], [1.5, 2.25, 1000]),
        (["1,5", "2,25", "3"], [1.5, 2.25, 3]),
        (["2.535,00", "12", "1.000.000,5"], [2535, 12, 1000000.5]),
        (["2,535.00", "12", "1,000.5"], [2535, 12, 1000.5]),
        (["2 535,5", "12", "1\u00a0000"], [2535.5, 12, 1000]),
        (["2'535.5", "12", "1'000"], [2535.5, 12, 1000]),
        (["0.123", "1.234", "2.345"], [0.123, 1.234, 2.345]),
        (["1.234", "2.345", "5,5"], [1234, 2345, 5.5]),
    ],
)
def test_numbers_are_read_in_the_notation_that_reads_them_all(decide, cells, values):
    table, kinds = decide("a;b\n" + "".join(f"{cell};{i / 7}\n" for i, cell in enumerate(cells)))
    assert kinds["a"] == "number"
    assert table.data[:, 0].tolist() == values


def test_thousands_alone_follow_the_decimal_mark_of_the_other_columns(decide):
    text = "a;b\n1.200;0,5\n3.400;1,5\n5.600;2,5\n"
    assert decide(text)[0].data[:, 0].tolist() == [1200, 3400, 5600]
    assert decide(text, choices=Choices(thousands=""))[0].data[:, 0].tolist() == [1.2, 3.4, 5.6]


def test_dates_are_read_in_three_forms(decide):
    rows = [("1999-01-01", "1.1.1999", "1/1/99"), ("2000-02-15 12:30:00", "15.02.2000", "15/2/00"), ("-", "-", "-")]
    table, kinds = decide("p,q,r\n" + "".join(",".join(row) + "\n" for row in rows * 3))
    assert set(kinds.values()) == {"date"} or kinds == {"p": "date", "q": "date", "r": "date"}
    assert table.feature_names == [f"{name} ({part})" for name in "pqr" for part in ("year", "month")]
    first_day = [1999.0, 1.0]
    second_day = [2000 + 45 / 366, 2.0]
    assert table.data[:2].tolist() == [first_day * 3, second_day * 3]
    assert np.isnan(table.data[2]).all()
    american, _ = decide("p,q\n" + "1/31/1999,1\n2/1/1999,2\n" * 3)
    assert american.data[:2, :2].tolist() == [[1999 + 30 / 366, 1], [1999 + 31 / 366, 2]]


def test_every_kind_of_column(decide):
    words = ["old jar", "red jar", "old lamp", "small lamp"]
    rows = [
        f"{i},P-{i},{['ja', 'nein'][i % 2]},x,{i / 4},{i / 4},,{words[i % 4]} number {i},{'x' if i % 3 else ''}"
        for i in range(60)
    ]
    table, kinds = decide("row,id,glazed,museum,a,same,nothing,title,seen\n" + "\n".join(rows))
    assert kinds == {
        "row": "identifier",
        "id": "text",
        "glazed": "yes/no",
        "museum": "constant",
        "a": "number",
        "same": "duplicate",
        "nothing": "empty",
        "title": "words",
        "seen": "yes/no",
    }
    words = [f"title: {word}" for word in ("jar", "lamp", "number", "old", "red", "small")]
    assert table.feature_names == ["glazed", "a", *words, "seen"]
    assert (table.data[[0]].toarray() > 0).tolist() == [[True, False, True, False, True, True, False, False, False]]
    assert (table.data[[3]].toarray() > 0).tolist() == [[False, True, False, True, True, False, False, True, False]]
    assert table.data[[3], [1]].tolist() == [0.75]


def test_case_and_blanks_are_folded_unless_they_are_kept(decide):
    text = "w,a\n" + "".join(f"{w},{i / 3}\n" for i, w in enumerate(["Oak", "oak", " OAK ", "Ash", "Oak"] * 4))
    assert decide(text)[0].feature_names == ["w=Ash", "w=Oak", "a"]
    assert decide(text, choices=Choices(keep_case=True))[0].feature_names == ["w=Ash", "w=OAK", "w=Oak", "w=oak", "a"]


def test_two_columns_of_one_name_and_one_without_get_names(decide):
    table, kinds = decide("Maß,Maß,,Maß.2\n" + "".join(f"{i / 2},{i / 3},{i / 5},{i / 7}\n" for i in range(9)))
    assert list(kinds) == ["Maß", "Maß.3", "column 3", "Maß.2"]
    assert table.notes == ["a second column 'Maß' is called 'Maß.3'", "a column without a name is called 'column 3'"]


def test_a_table_of_one_column_is_read_or_refused(decide):
    table, kinds = decide("a\n1.5\n2.5\n")
    assert kinds == {"a": "number"}
    assert table.data.tolist() == [[1.5], [2.5]]
    with pytest.raises(DataFileError, match=r"2 rows of 0 features \(the first column, 'a': constant"):
        decide("a\nx\nx\n")


@pytest.mark.slow
def test_ten_thousand_columns_are_shown_by_groups(run, tmp_path, rng):
    X = rng.normal(size=(40, 10_000)).round(2).tolist()
    rows = [[*row, ["east", "west"][i % 2], i % 2] for i, row in enumerate(X)]
    write_csv(tmp_path / "wide.csv", [*(f"g{j}" for j in range(10_000)), "ward", "y"], rows)
    result = ran(run("plan", "wide.csv", "--label-columns", "y"))
    head, numbers, ward, options = result.out.splitlines()
    label_summary = "1 label, 40 rows labelled; the label is 'y' (20)"
    assert head == f"wide.csv: 40 rows; the columns give 10002 features; {label_summary}."
    assert numbers.split() == ["10000", "columns", "number", "g0,", "g1,", "g2,", "g3", "and", "9996", "more"]
    assert ward.split() == ["ward", "category", "2", "levels:", "east,", "west"]
    assert options == "The same as options: --label-columns y --one-hot ward"


def test_typed_numbers_have_the_mark_of_those_without_a_unit():
    column = Column("a", "number", factors={"": 1.0, "kg": 1.0, "s": 1.0}, marks=("kg", "s", "no unit"))
    cells = Numbers(np.array([2.0, np.nan]))
    for same in (cells, cells.texts):
        X = Plan((column,), ("",)).encode({"a": same}, 2, [])
        np.testing.assert_array_equal(X, [[2, 0, 0, 1], [np.nan, 0, 0, 0]])
    assert Plan((column,)).fill_in(X[:1]).base is X  # nothing is copied where nothing is missing
    problems = []
    X = Plan((Column("a", "number", factors={"kg": 1.0}),), ("",)).encode({"a": cells}, 2, problems)
    assert np.isnan(X).all()
    assert [(problem.text, problem.why) for problem in problems] == [("2", "no unit")]


def test_a_category_collapses_to_the_number_of_its_level():
    plan = Plan((Column("a", "category", levels={"x": "X", "y": "Y"}, has_missing=True),))
    np.testing.assert_array_equal(plan.collapsed(np.eye(3))[0], [[0], [1], [np.nan]])


# ---------------------------------------------------------------- columns of labels


@pytest.mark.parametrize(
    ("cells", "label_lists"),
    [
        (["a;b", "a", "b", ""], Lists(";", None)),
        (["a, b", "c, a", "b", "a, c"], Lists(",", None)),
        (["red, dark|b", "b|c", "red, dark", "c"], Lists("|", None)),
        (["oil/canvas", "oil/canvas", "wood"], Lists(";", None)),
        (["a/b", "b/c", "a/c", "rien"] * 5, Lists("/", "rien")),
        (["a", "b", "c", "none"] * 50, Lists(";", "none")),
        (["a", "b", "c"] * 50, Lists(";", None)),
    ],
)
def test_separator_and_word_for_no_label_are_found_by_what_they_do(cells, label_lists):
    assert find_lists(cells, None, None) == label_lists


def test_given_separator_and_word_overrule_what_is_found():
    assert find_lists(["a;b", "none"], ",", None) == Lists(",", "none")
    assert find_lists(["a;b", "none"], None, "") == Lists(";", None)
    assert find_lists(["a;b", "zero"], None, "zero") == Lists(";", "zero")


def test_columns_of_several_annotators_give_votes(run, tmp_path, rng):
    rows = []
    for i in range(90):
        on = rng.random(2) < 0.5
        tags = "+".join(name for name, tag_lists in zip(("flu", "cold"), on, strict=True) if tag_lists) or "rien"
        other_tags = rng.choice(["flu", "cold", "flu+cold", "rien"])
        columns = [tags, tags if i % 3 else other_tags, "" if i % 2 else tags] if i % 5 else ["", "", ""]
        rows.append([*(on + 0.8 * rng.normal(size=2)).round(3), *columns])
    write_csv(tmp_path / "t.csv", ["a", "b", "A", "B", "C"], rows)
    table = read_table(tmp_path / "t.csv", annotators=["A", "B", "C"], plan=Choices())
    assert table.lists == Lists("+", "rien")
    assert table.label_names == ["cold", "flu"]
    for row, votes, labels in zip(rows, table.votes, table.target, strict=True):
        tag_lists = [cell.split("+") for cell in row[2:] if cell]
        share = [np.mean([name in tags for tags in tag_lists]) if tag_lists else -1 for name in ("cold", "flu")]
        np.testing.assert_allclose(votes, share)
        assert labels.tolist() == [-1 if v in (-1, 0.5) else int(v > 0.5) for v in share]
    assert_done(run("fit", "t.csv", "--annotators", "A,B,C", "--n-components", "2", "--out", "m.skops"))
    result = ran(run("evaluate", "m.skops", "t.csv"))
    assert "MiF1" in result.out
    assert_done(run("review", "t.csv", "--annotators", "A,B,C", "--out", "r.csv"))
