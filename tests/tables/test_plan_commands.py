"""The plan inside a model: fit, predict and evaluate on tables of plain numbers, of texts, and with absent columns."""

import numpy as np
import pytest
from campaigns import museum
from commands import assert_done, assert_refused, ran, read_csv, write_csv
from table_files import read_table

from nmlsdr._model.reading import open_model
from nmlsdr.model_file import load_model
from nmlsdr.tables._planner import Choices


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


# ---------------------------------------------------------------- other columns than those of the fit


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
