"""What is decided about the columns of raw tables: small files, each with its expected plan."""

import numpy as np
import pytest
from campaigns import museum
from commands import assert_done, assert_refused, ran, read_csv, write_csv
from sklearn.preprocessing import StandardScaler
from table_files import read_table

from nmlsdr import tables
from nmlsdr._model.reading import open_model
from nmlsdr.model_file import ModelFileError, load_model, save_model
from nmlsdr.tables import DataFileError, Profile
from nmlsdr.tables._columns import Numbers
from nmlsdr.tables._label_lists import Lists, find_lists
from nmlsdr.tables._plan import Column, Plan
from nmlsdr.tables._planner import Choices
from nmlsdr.tables._row_groups import repeating_id


@pytest.fixture
def decide(tmp_path):
    """Read a text or bytes as a raw table; returns it, and the kind of each column."""

    def decide(content, name="t.csv", choices=None, **how):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        table = read_table(tmp_path / name, plan=choices or Choices(), **how)
        return table, {column.name: column.kind for column in table.plan.columns}

    return decide


SEMICOLONS = "Nr;Höhe;Material;Tags\n" + "".join(
    f"M{i};{i},5;{['Holz', 'Ton', 'holz '][i % 3]};{['a|b', 'keine', '', 'b', 'a'][i % 5]}\n" for i in range(30)
)
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


def test_rows_that_appear_twice_or_have_one_id_are_one_group(decide):
    text = "who,a,w\n" + "".join(f"p{i},{i / 4},{'uv'[i % 2]}\n" for i in [*range(10), 3, 7])
    table, kinds = decide(text)
    assert kinds["who"] == "identifier"
    assert table.groups[10:].tolist() == [table.groups[3], table.groups[7]]
    assert len(set(table.groups)) == 10
    table, _ = decide("who,a\n" + "".join(f"p{i % 4},{i / 4}\n" for i in range(10)), id_column="who")
    assert table.groups.tolist() == [i % 4 for i in range(10)]
    assert decide("a,b\n1,2\n3,4\n")[0].groups is None


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


def test_a_plan_is_the_same_after_it_was_written_as_text(decide):
    plan = decide(SEMICOLONS, label_list="Tags")[0].plan
    assert Plan.from_json(plan.to_json()) == plan
    unmarked = Plan((Column("a", "number", unmarked=True),))
    assert unmarked.is_plain
    assert Plan.from_json(unmarked.to_json()).columns[0].unmarked
    text = Plan((Column("", "text"),)).to_json()
    assert '"fill"' not in text  # nor anything else that is empty
    assert Plan.from_json(text).columns == (Column("", "text"),)


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


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (Column("a", "image"), "impossible values"),
        (Column("a", "number", decimal="x"), "impossible values"),
        (Column("a", "number", fill=(1.0, 2.0)), "impossible values"),
        (Column("a", "category", levels={"b": "b"}, fill=(1.0,)), "impossible values"),
        (Column("a", "JSON", levels={"b": "b"}, fill=(1.0,)), ""),
        (Column("a", "number", fill=(float("inf"),)), "impossible values"),
        (Column("a", "number", fill=(1e170,)), "impossible values"),
        (Column("a", "number", fill=(9e169,), factors={"g": 0.5, "": 9e169}), ""),
        (Column("a", "number", factors={"g": 0.0}), "impossible values"),
        (Column("a", "number", factors={"g": 1e170}), "impossible values"),
        (Column("\ud800", "number"), "surrogates"),
        (Column("a", "category", levels={"b": 1}), "1 is no str"),
        (Column("a", "yes/no", levels={"y": "2"}), "impossible values"),
        (Column("a", "date", levels={"may": "13"}), "impossible values"),
        (Column("a", "date", levels={"may": "12"}), ""),
        (Column("a", "list", levels={"b": "b"}), "impossible values"),
        (Column("a", "list", levels={"b": "b"}, separator=";"), ""),
    ],
)
def test_a_forged_plan_is_refused(column, message):
    assert_refused_plan(Plan((column,)), message)


@pytest.mark.parametrize(
    ("profile", "is_sound"),
    [
        ((0, 0.0), True),
        ((2**53 - 1, 1.0), True),
        ((2**53, 0.0), False),
        ((-1, 0.0), False),
        ((1, 1.5), False),
        ((1, 0.0, (0.0,) * 7, -1.0), True),
        ((1, 0.0, (0.0,) * 6), False),
        ((1, 0.0, (float("nan"),) * 7), False),
        ((1, 0.0, (), -1.5), False),
        ((1, 0.0, (), 0.0, {"a": 1.5}), False),
        ((1, 0.0, (), 0.0, {"a": -0.5}), False),
    ],
)
def test_a_forged_profile_is_refused(profile, is_sound):
    plan = Plan((Column("a", "number"),), profiles=(Profile(*profile),))
    assert_refused_plan(plan, "" if is_sound else "impossible shares")
    assert_refused_plan(Plan(plan.columns, profiles=plan.profiles * 2), "another number of profiles than of columns")


def assert_refused_plan(plan, message):
    """Without a message it is the same after it was written."""
    if message:
        with pytest.raises(ValueError, match=f"no plan of a table .*{message}"):
            Plan.from_json(plan.to_json())
    else:
        assert Plan.from_json(plan.to_json()) == plan


def test_the_options_of_a_plan_give_the_same_plan(run, tmp_path):
    (tmp_path / "t.csv").write_text(SEMICOLONS, encoding="utf-8")
    options = run("plan", "t.csv", "--label-list", "Tags").out.splitlines()[-1].removeprefix("The same as options: ")
    assert options == "--label-list Tags --separator '|' --no-label keine --id Nr --one-hot Material --decimal ,"
    once = ["--n-components", "2", "--classifier", "none", "--quiet"]
    assert_done(run("fit", "t.csv", "--label-list", "Tags", *once, "--out", "a.skops"))
    assert_done(run("fit", "t.csv", *options.replace("'", "").split(), *once, "--out", "b.skops"))
    for name in "ab":
        assert_done(run("transform", f"{name}.skops", "t.csv", "--out", f"{name}.csv"))
    assert read_csv(tmp_path / "a.csv") == read_csv(tmp_path / "b.csv")


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


def test_a_museums_catalogue_goes_through_with_one_command_each(run, tmp_path, monkeypatch):
    """Only the label column is named; the annotators' columns are no features, and predictions are honest."""
    pytest.importorskip("jinja2")
    museum.write(900, str(tmp_path))
    result = ran(run("fit", "coleccion.csv", "--label-list", "Temas", "--out", "m.skops"))
    kinds = {line.split("  ")[1].strip(): line for line in result.err.splitlines() if line.startswith("  ")}
    for name in museum.ANNOTATED[:-1]:
        assert "like the labels" in kinds[name]
    assert "'ninguno' stands for a row without labels" in result.err
    assert "the id 'Inventario' repeats (900 different), and rows with one id stay together" in result.err
    assert "a different text in every row (equal rows count once)" in kinds["Inventario"]
    result = ran(run("predict", "m.skops", "tomorrow.csv", "--probabilities", "--out", "p.csv"))
    assert "column 'Material': 8 rows have a level that the fit has not seen" in result.err
    assert read_csv(tmp_path / "p.csv")[0][:2] == ["Inventario", "row"]
    assert museum.score("p.csv", "tomorrow.truth.csv") > 0.45
    result = ran(run("evaluate", "m.skops", "tomorrow.csv", "--label-file", "tomorrow.truth.csv"))
    assert "MaF1" in result.out
    ran(run("report", "coleccion.csv", "--label-list", "Temas", "--folds", "0", "--out", "r.html"))


def write_numbers(path, names, rows):
    """Write a table of numbers in the format of the suffix."""
    if path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = zip(*([None if cell == "" else float(cell) for cell in row] for row in rows), strict=True)
        return parquet.write_table(pyarrow.table(dict(zip(names, columns, strict=True))), path)
    mark = "\t" if path.suffix == ".tsv" else ","
    head = [mark.join(names)]
    if path.suffix == ".arff":
        head = ["@relation r", *(f"@attribute {name} numeric" for name in names), "@data"]
    lines = [mark.join(str(cell) or "?" * (path.suffix == ".arff") for cell in row) for row in rows]
    return path.write_text("\n".join([*head, *lines]) + "\n")


@pytest.fixture
def numbers(rng):
    """Rows of two features, one column that is dropped, and two labels."""
    X = rng.normal(size=(60, 2)).round(3)
    return [[a, b, i, int(a + b > 0), int(a > b)] for i, (a, b) in enumerate(X.tolist())]


FIT = ["--label-columns", "y,z", "--drop", "c", "--n-components", "1", "--classifier", "mlknn", "--method", "MDDMp"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arff"])
def test_the_model_of_a_table_of_plain_numbers_knows_its_columns(run, tmp_path, numbers, suffix):
    names = ["a", "b", "c", "y", "z"]
    file = f"t.{suffix}"
    write_numbers(tmp_path / file, names, numbers)
    assert_done(run("fit", file, *FIT, "-o", "m.skops"))
    kinds = {column.name: column.kind for column in open_model(tmp_path / "m.skops").plan.columns}
    assert kinds == {"a": "number", "b": "number", "c": "dropped"}
    result = run("evaluate", "m.skops", file)
    assert (result.status, result.err) == (0, ""), result
    median = float(np.median([row[1] for row in numbers]))
    for name, cell in (("gap", ""), ("median", median)):
        write_numbers(tmp_path / f"{name}.{suffix}", ["b", "a"], [[cell, 0.1], [0.3, 0.2]])
        assert_done(run("predict", "m.skops", f"{name}.{suffix}", "--probabilities", "-o", f"{name}.p.csv"))
    assert read_csv(tmp_path / "gap.p.csv") == read_csv(tmp_path / "median.p.csv")
    if suffix != "parquet":  # whose columns of numbers hold nothing else
        write_numbers(tmp_path / f"bad.{suffix}", ["a", "b"], [["x", 1], [1, 2], [3, "y"]])
        result = run("predict", "m.skops", f"bad.{suffix}", "-o", "p.csv")
        assert_refused(result, "2 cells are not what the column holds", "column 'a': 'x'", "column 'b': 'y'")


def test_the_model_of_plain_numbers_takes_arrays_of_its_features_in_python(run, tmp_path, numbers):
    write_numbers(tmp_path / "t.csv", ["a", "b", "c", "y", "z"], numbers)
    assert_done(run("fit", "t.csv", *FIT, "-o", "m.skops"))
    assert_done(run("predict", "m.skops", "t.csv", "-o", "p.csv"))
    model = load_model(tmp_path / "m.skops")
    assert [name for name, _ in model.steps] == ["scaler", "projection", "classifier"]
    predictions = [[int(cell) for cell in row[1:]] for row in read_csv(tmp_path / "p.csv")[1]]
    assert model.predict(np.array(numbers)[:, :2]).tolist() == predictions
    np.savez(tmp_path / "t.npz", X=np.array(numbers)[:, :2])
    assert_done(run("predict", "m.skops", "t.npz", "-o", "q.csv"))
    assert read_csv(tmp_path / "q.csv") == read_csv(tmp_path / "p.csv")


def test_the_plan_of_a_wide_table_of_numbers_is_short():
    plan = Plan(tuple(Column(f"g{j}", "number", fill=(j / 8,)) for j in range(10_000)))
    text = plan.to_json()
    assert len(text) < 20 * 10_000
    assert Plan.from_json(text) == plan


@pytest.mark.parametrize(
    "plan",
    [
        Plan((Column("a", "number", fill=(0.0,)),)),
        Plan((Column("a", "number", fill=(0.0,)), Column("b", "number"))),
        Plan((Column("a", "number", fill=(0.0,)), Column("b", "yes/no", fill=(0.0,)))),
    ],
    ids=["a column too few", "nothing to fill with", "not a number"],
)
def test_a_plan_that_does_not_give_the_features_of_the_model_is_refused(tmp_path, plan):
    scaler = StandardScaler().fit([[0.0, 1.0], [2.0, 3.0]])
    with pytest.raises(ModelFileError, match="does not give the features"):
        save_model(tmp_path / "m.skops", scaler, feature_names=["a", "b"], plan=plan)


@pytest.mark.quick_cases("more1")
@pytest.mark.parametrize("id_options", [[], ["--id", "who"]])
def test_a_small_table_with_an_id_column_names_its_rows_everywhere(run, tmp_path, numbers, id_options):
    """Twelve rows, of which two have one id: they are predicted by name, and stay in one fold of the report."""
    pytest.importorskip("jinja2")
    ids = [f"p{min(i, 10)}" for i in range(12)]
    rows = [[name, *row[:2], *row[3:]] for name, row in zip(ids, numbers[:12], strict=True)]
    rows[11] = (
        rows[10] if not id_options else rows[11]
    )  # without --id, only equal rows show that the column is one of ids
    write_csv(tmp_path / "t.csv", ["who", "a", "b", "y", "z"], rows)
    settings = ["--n-neighbors", "2", "--alpha-labeled", "0"]
    result = ran(run("fit", "t.csv", "--label-columns", "y,z", *id_options, *settings, "-o", "m.skops"))
    assert "the id 'who' repeats (11 different), and rows with one id stay together in cross-validation" in result.err
    assert open_model(tmp_path / "m.skops").plan.identifier == "who"
    write_csv(tmp_path / "new.csv", ["b", "who", "a"], [[row[2], row[0], row[1]] for row in rows[:3]])
    assert_done(run("predict", "m.skops", "new.csv", "-o", "p.csv"))
    names, predicted = read_csv(tmp_path / "p.csv")
    assert names[0] == "who"
    assert [row[0] for row in predicted] == ["p0", "p1", "p2"]
    id_column = id_options[1] if id_options else None
    table = read_table(tmp_path / "t.csv", label_columns=["y", "z"], id_column=id_column, plan=Choices())
    assert table.groups[10] == table.groups[11]
    assert len(set(table.groups)) == 11
    assert run("evaluate", "m.skops", "t.csv").status == 0
    ran(run("report", "t.csv", "--label-columns", "y,z", *id_options, *settings, "--folds", "2", "-o", "r.html"))


def test_the_options_of_a_plan_take_names_with_commas_where_one_name_is_wanted(run, tmp_path):
    (tmp_path / "t.csv").write_text(SEMICOLONS.replace("Nr", "Nr, neu").replace("Tags", "Tags, alle"), encoding="utf-8")
    lines = run("plan", "t.csv", "--label-list", "Tags, alle").out.splitlines()
    assert "--label-list 'Tags, alle' --separator '|' --no-label keine --id 'Nr, neu' --one-hot" in lines[-1]


@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_an_id_that_repeats_is_proposed_where_other_columns_depend_on_it(run, tmp_path, rng, kind):
    """Visits of patients: sex and birthday belong to the patient. A ward has as many rows; nothing depends on it."""
    of = rng.integers(0, 60, 240)
    ward = rng.integers(0, 60, 240)
    sex = rng.integers(0, 2, 60)
    born = rng.integers(1950, 1990, 60)
    names = [f"P-{i}" if kind == "texts" else 4000 + i for i in of]
    rows = [
        [name, f"W{w}", "fm"[sex[i]], born[i], f"{x:.3f}", int(x > 0)]
        for i, w, x, name in zip(of, ward, rng.normal(size=240), names, strict=True)
    ]
    write_csv(tmp_path / "t.csv", ["the number", "ward", "sex", "born", "x", "y"], rows)
    result = run("plan", "t.csv", "--label-columns", "y")
    assert "rows with the same 'the number' (" in result.out
    assert "also have the same 'sex' and 'born'" in result.out
    assert "add --id 'the number', so that its rows stay together in cross-validation" in result.out
    assert "1 label, 240 rows labelled; the label is 'y' (" in result.out
    result = run("plan", "t.csv", "--label-columns", "y", "--id", "the number")
    assert "the id 'the number' repeats (" in result.out
    assert "stay together in cross-validation, and that" not in result.out
    table = read_table(tmp_path / "t.csv", label_columns=["y"], plan=Choices())
    assert any("--id 'the number'" in note for note in table.notes)
    for drop in (["sex"], ["the number"]):  # one column that depends on another is a postal code and its town
        table = read_table(tmp_path / "t.csv", label_columns=["y"], drop=drop, plan=Choices())
        assert table.notes == []


@pytest.mark.parametrize("name", ["patient", "Patient_ID", "Kunde", "id", "subjectId"])
@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_an_id_that_repeats_is_proposed_by_its_name(run, tmp_path, rng, name, kind):
    """100 patients, 30 rows of each: as texts they would become 100 features, as numbers one that means nothing."""
    of = rng.permutation(3000) // 30
    cells = [f"P-{i:03}" if kind == "texts" else 4000 + i for i in of]
    rows = [[f"{x:.3f}", cell, int(x > 0)] for x, cell in zip(rng.normal(size=3000), cells, strict=True)]
    write_csv(tmp_path / "t.csv", ["crp", name, "y"], rows)
    note = f"the column {name!r} has 100 different cells in 3000 rows; if it names whom several rows are about"
    assert note in run("plan", "t.csv", "--label-columns", "y").out
    result = run("plan", "t.csv", "--label-columns", "y", "--id", name)
    assert "if it names" not in result.out
    assert f"the id {name!r} repeats (100 different), and rows with one id stay together" in result.out
    assert "the columns give 1 feature" in result.out


@pytest.mark.parametrize(("name", "n_texts"), [("ward", 100), ("icd code", 100), ("patient", 9), ("patient", 151)])
def test_an_id_is_not_proposed_by_other_names_or_for_few_or_many_texts(name, n_texts):
    """9 texts are a category; of 151 in 300 rows most stand alone."""
    values = np.arange(300) % n_texts
    assert repeating_id({"x": Numbers(np.arange(300.0) % 7), name: Numbers(values.astype(float))}) == []
    assert len(repeating_id({"x": Numbers(np.arange(300.0) % 7), "patient": Numbers(np.arange(300.0) % 150)})) == 1


def test_predict_names_columns_that_lack_more_values_than_chance_explains(run, tmp_path, rng):
    """Shares at the fit: a 0, b .1, c .6 (a category), d 0 (yes or no). Of a and b 9 and 31 are the fewest told of 100.

    The probability is below .01 / 4 for so many: by binom.sf(8, 9, .5) = .00195 and binom.sf(30, 41, .5) = .00073.
    """
    n = 100
    names = ["a", "b", "c", "d", "y"]
    wards = rng.choice(["east", "west"], n)
    words = rng.choice(["yes", "no"], n)
    rows = [
        [f"{x:.2f}", "" if i < 10 else f"{x:.1f}", "" if i < 60 else ward, word, int(x > 0)]
        for i, (x, ward, word) in enumerate(zip(rng.normal(size=n), wards, words, strict=True))
    ]
    write_csv(tmp_path / "t.csv", names, rows)
    assert run("fit", "t.csv", "--label-columns", "y", "-q", "-o", "m.skops").status == 0
    plan = open_model(tmp_path / "m.skops").plan
    assert np.allclose([profile.missing for profile in plan.profiles], (0, 0.1, 0.6, 0), atol=1e-4)

    def notes(changed):
        write_csv(tmp_path / "new.csv", names, [changed(i, list(row)) for i, row in enumerate(rows)])
        result = ran(run("predict", "m.skops", "new.csv", "-q", "-o", "p.csv"))
        return [line for line in result.err.splitlines() if "known value" in line]

    def emptied(j, n_cells, text=""):
        return lambda i, row: [*row[:j], text if i >= len(rows) - n_cells else row[j], *row[j + 1 :]]

    assert notes(lambda i, row: row) == notes(emptied(0, 8)) == notes(emptied(1, 20)) == []
    assert notes(emptied(0, 9)) == ["nmlsdr: new.csv: column 'a': 9% of the rows have no known value, 0% at the fit."]
    assert "'b': 31% of the rows have no known value, 10% at the fit" in notes(emptied(1, 21))[0]
    assert notes(emptied(2, 35)) == []  # 95 % are no three times 60 %, but a column without any known value is noted
    assert "'c': 100% of the rows have no known value, 60% at the fit" in notes(emptied(2, n))[0]
    assert notes(emptied(2, n, "north")) == []  # a level that the fit has not seen is none
    assert "'d': 1% of the rows have no known value, 0% at the fit" in notes(emptied(3, 1))[0]
    rows = rows[:1]
    assert notes(emptied(2, 1)) == notes(emptied(1, 1)) == notes(emptied(0, 1)) == []  # one row of 101 is chance


def test_absent_columns_are_all_named_and_can_be_filled_in(run, tmp_path, rng):
    rows = [[f"{x:.2f}", f"{y:.2f}", "ab"[int(x > 0)], int(x > 0)] for x, y in rng.normal(size=(60, 2))]
    write_csv(tmp_path / "t.csv", ["age", "x", "ward", "y"], rows)
    assert run("fit", "t.csv", "--label-columns", "y", "-q", "-o", "m.skops").status == 0
    write_csv(tmp_path / "new.csv", ["ages", "x"], [row[:2] for row in rows])
    message_parts = ["lacks 2 of the 3 columns", "'age' (did you mean 'ages'?), 'ward'", "--fill-absent"]
    assert_refused(run("predict", "m.skops", "new.csv", "-o", "p.csv"), *message_parts)
    result = ran(run("predict", "m.skops", "new.csv", "--fill-absent", "-q", "-o", "p.csv"))
    assert "absent columns are filled in like missing values: 'age', 'ward'" in result.err
    assert "no known value" not in result.err
    write_csv(tmp_path / "empty.csv", ["age", "x", "ward"], [["", row[1], ""] for row in rows])
    assert run("predict", "m.skops", "empty.csv", "-q", "-o", "q.csv").status == 0
    assert (tmp_path / "p.csv").read_text() == (tmp_path / "q.csv").read_text()


@pytest.mark.parametrize("verb", ["predict", "evaluate"])
def test_predict_says_where_thresholds_are_chosen(run, verb):
    outcome = run(verb, "m.skops", "t.csv", "--threshold", "0.3", "-o", "p.csv")
    assert_refused(outcome, "has no option --threshold", "thresholds are chosen at fit", "--probabilities")


def test_plan_without_features_is_that_of_fit_and_finds_the_same_cells(tmp_path, rng):
    rows = [
        [f"{x:.2f}", "yes" if x > 0 else "no", f"2020-01-{i % 28 + 1:02d}", "ab"[i % 2]]
        for i, x in enumerate(rng.normal(size=60))
    ]
    write_csv(tmp_path / "t.csv", ["age", "smoker", "day", "ward"], rows)
    whole, checked = (tables.read_table(tmp_path / "t.csv", plan=Choices(only_checks=how)) for how in (False, True))
    assert checked.plan.columns == whole.plan.columns
    assert checked.data.shape == whole.data.shape
    assert np.isnan(checked.data).all()
    rows[7][0] = "1O.2"
    write_csv(tmp_path / "t.csv", ["age", "smoker", "day", "ward"], rows)
    messages = []
    for only_checks in (False, True):
        with pytest.raises(DataFileError, match=r"line 9, column 'age': '1O\.2'") as error_info:
            tables.read_table(tmp_path / "t.csv", plan=Choices(only_checks=only_checks))
        messages.append(str(error_info.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("n_slips", [0, 1])
def test_an_id_is_not_proposed_if_a_column_differs_in_the_last_row_of_a_text(n_slips):
    ids = np.arange(200) // 4
    columns = {name: np.random.default_rng(j).integers(0, 5, 50)[ids] for j, name in enumerate(("sex", "ward"))}
    columns["ward"][200 - n_slips :] += 1
    identifiers = repeating_id(
        {name: Numbers(values.astype(float)) for name, values in {"number": ids, **columns}.items()}
    )
    assert len(identifiers) == 1 - n_slips
