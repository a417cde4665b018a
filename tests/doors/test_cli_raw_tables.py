"""Raw tables: holes, words and dates; what is decided, and models that take such tables as they come."""

import re
import shlex
from types import SimpleNamespace

import numpy as np
import pytest
from commands import assert_done, assert_refused, ran, read_csv, write_csv
from sklearn.impute import SimpleImputer
from table_files import read_table

import nmlsdr
from nmlsdr._cli import plan_text
from nmlsdr._model.reading import open_model
from nmlsdr.model_file import load_model
from nmlsdr.tables._files import DataFileError
from nmlsdr.tables._objects import typed_column
from nmlsdr.tables._planner import Choices

WARDS = ["east", "west", "", "Süd"]
NAMES = ["id", "ward", "age", "visits", "smoker", "note", "flu", "cold"]
TAIL = ["--label-columns", "flu,cold", "--id", "id", "--drop", "note"]
ASK = ["--impute", "median"]


def make_rows(rng, n=80):
    """Rows of text as in a file: an id, words with gaps, numbers with holes, a note, two labels."""
    flu, cold = (rng.random((2, n)) < 0.4).astype(int)
    rows = []
    for i in range(n):
        age = "" if i % 7 == 3 else f"{2 * flu[i] + rng.normal():.3f}"
        visits = ["?", "NA", f"{2 * cold[i] + rng.normal():.3f}"][min(i % 11, 2)]
        smoker = "yes" if rng.random() < 0.3 + 0.4 * flu[i] else "no"
        rows.append([f"p{i}", WARDS[i % 4], age, visits, smoker, f"seen on day {i}", flu[i], cold[i]])
    return rows


@pytest.fixture
def raw(tmp_path, rng):
    """train.csv and test.csv, whose columns stand in another order, with one more and without the labels."""
    train = make_rows(rng)
    test = make_rows(rng, 30)
    write_csv(tmp_path / "train.csv", NAMES, train)
    write_csv(tmp_path / "test.csv", NAMES, test)
    order = ["smoker", "visits", "id", "age", "ward"]
    turned = [[row[NAMES.index(name)] for name in order] + ["more text"] for row in test]
    write_csv(tmp_path / "turned.csv", [*order, "extra"], turned)
    return train, test


def test_missing_values_and_texts_are_read(tmp_path, raw):
    table = read_table(
        tmp_path / "train.csv", label_columns=["flu", "cold"], id_column="id", drop=["note"], plan=Choices()
    )
    kinds = {column.name: column.kind for column in table.plan.columns}
    assert kinds == {
        "ward": "category",
        "age": "number",
        "visits": "number",
        "smoker": "yes/no",
        "id": "identifier",
        "note": "dropped",
    }
    names = ["ward=east", "ward=Süd", "ward=west", "ward=(missing)", "age", "visits", "smoker"]
    assert table.feature_names == names
    rows = raw[0]
    wards = [["east", "Süd", "west", ""].index(row[1]) for row in rows]
    assert table.data[:, :4].tolist() == np.eye(4)[wards].tolist()
    assert table.data[:, 6].tolist() == [float(row[4] == "yes") for row in rows]
    for j, column in ((4, 2), (5, 3)):
        expected_values = [None if row[column] in ("", "?", "NA") else float(row[column]) for row in rows]
        assert [None if value != value else value for value in table.data[:, j]] == expected_values
    assert table.target.tolist() == [[row[6], row[7]] for row in rows]
    assert table.ids == [row[0] for row in rows]


@pytest.mark.parametrize("hole", ["", "?", "NA", "na", "Na", "NaN", "nan", "N/A", "NULL", " ", " na "])
def test_every_notation_of_a_missing_value_is_read(tmp_path, hole):
    write_csv(tmp_path / "a.csv", ["a", "b"], [["1", "2"], [hole, "3"]])
    data = read_table(tmp_path / "a.csv").data
    assert np.isnan(data).tolist() == [[False, False], [True, False]]
    assert data.dtype == np.float64


@pytest.mark.parametrize("cell", ["inf", "-inf", "1e999", "ten", "--"])
def test_other_texts_are_not_missing_values(tmp_path, cell):
    write_csv(tmp_path / "a.csv", ["a", "b"], [["1", "2"], ["2", "2"], [cell, "3"]])
    with pytest.raises(DataFileError, match=r"line 4, column 'a'"):
        read_table(tmp_path / "a.csv")


def test_an_empty_label_stays_unknown(tmp_path):
    write_csv(tmp_path / "a.csv", ["a", "w", "y"], [["1", "u", "1"], ["", "v", ""], ["2", "u", "0"]])
    table = read_table(tmp_path / "a.csv", label_columns=["y"], plan=Choices())
    assert table.target.tolist() == [[1], [-1], [0]]
    assert table.feature_names == ["a", "w=u", "w=v"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--one-hot", "wards"], ["no column 'wards'", "did you mean 'ward'"]),
        (["--one-hot", "flu"], ["'flu' is a label and a category"]),
        (["--one-hot", "note"], ["note", "and a category; choose one"]),
        (["--impute", "mode"], ["mode"]),
    ],
)
def test_columns_that_do_not_fit_raise_a_clear_error(run, raw, arguments, words):
    assert_refused(run("fit", "train.csv", *TAIL, *arguments, "-o", "m.skops"), *words)


def test_a_raw_table_is_read_with_the_label_column_named_and_nothing_else(run, tmp_path, rng):
    """Names of rows, dates, sentences, words, lists of labels and missing values."""
    rows = []
    for i in range(120):
        tags = ["", "none", "flu", "cold", "flu;cold"][i % 5]
        day = f"2024-01-{i % 28 + 1:02d}"
        cells = [f"p{i}", day, f"seen on day {i % 9} again", ["east", "west"][i % 2], tags]
        rows.append(
            [
                *cells,
                "" if i == 7 else f"{2 * ('flu' in tags) + rng.normal():.3f}",
                "NA" if i == 9 else f"{2 * ('cold' in tags) + rng.normal():.3f}",
            ]
        )
    write_csv(tmp_path / "raw.csv", ["who", "day", "note", "ward", "tags", "a", "b"], rows)
    fit_result = ran(run("fit", "raw.csv", "--label-list", "tags", "-o", "m.skops"))
    assert "'none' stands for a row without labels" in fit_result.err
    assert "2 labels, 24 unlabelled" in fit_result.err
    assert open_model(tmp_path / "m.skops").label_names == ["cold", "flu"]
    kinds = {column.name: column.kind for column in open_model(tmp_path / "m.skops").plan.columns}
    assert kinds == {
        "who": "identifier",
        "day": "date",
        "note": "category",
        "ward": "category",
        "a": "number",
        "b": "number",
    }
    assert_done(run("predict", "m.skops", "raw.csv", "-o", "p.csv"))
    names, result = read_csv(tmp_path / "p.csv")
    assert names == ["who", "row", "cold", "flu"]
    assert [row[0] for row in result] == [f"p{i}" for i in range(120)]
    result = run("evaluate", "m.skops", "raw.csv")  # the model knows where the labels are
    assert "nmlsdr: raw.csv: unlabelled and not counted: 24 of 120 rows." in result.err
    pasted = run("plan", "raw.csv", "--label-list", "tags").out.splitlines()[-1]
    assert pasted.endswith("--label-list tags --separator ';' --no-label none --id who --one-hot note,ward")


def test_all_bad_cells_are_in_one_answer(run, tmp_path):
    cells = [[i / 4, f"2020-01-{i % 28 + 1:02d}", i % 2] for i in range(400)]
    for i in range(12):
        cells[30 * i][0] = f"1o{i}"
    cells[5][1] = "soon"
    cells[7][2] = "perhaps"
    write_csv(tmp_path / "slips.csv", ["a", "day", "y"], cells)
    result = run("fit", "slips.csv", "--label-columns", "y", "-o", "m.skops")
    shown = ["line 2, column 'a': '1o0'", "line 7, column 'day': 'soon'", "line 9, column 'y': 'perhaps'", "and 4 more"]
    assert_refused(result, "14 cells are not what the column holds", *shown, "write a label as 0, 1", "--missing 1o0,")


def test_drop_and_one_hot_may_be_given_twice(run, raw):
    assert_done(
        run(
            "fit",
            "train.csv",
            *TAIL,
            "--drop",
            "visits,age",
            "--one-hot",
            "ward",
            "--one-hot",
            "smoker",
            "-o",
            "m.skops",
        )
    )


@pytest.mark.parametrize("separator", ["|", ";"])
def test_no_label_option_marks_rows_without_labels(tmp_path, separator):
    rows = [[1, f"a{separator}b"], [2, "none"], [3, ""], [4, " none "], [5, "b"]]
    write_csv(tmp_path / "t.csv", ["x", "tags"], rows)
    read = {"label_list": "tags", "separator": separator}
    table = read_table(tmp_path / "t.csv", no_label="none", **read)
    assert table.label_names == ["a", "b"]
    assert table.target.tolist() == [[1, 1], [0, 0], [-1, -1], [0, 0], [0, 1]]
    assert read_table(tmp_path / "t.csv", **read).label_names == ["a", "b", "none"]
    write_csv(tmp_path / "t.csv", ["x", "tags"], [*rows, [6, f"a{separator}none"]])
    with pytest.raises(DataFileError, match=r"row 6: it has both 'none' .--no-label. and 'a'"):
        read_table(tmp_path / "t.csv", no_label="none", **read)


def test_rows_without_any_cross_are_counted_where_the_plan_is_shown(run, tmp_path):
    rows = [[f"{i % 7 + i / 9}", "x" if i % 3 == 0 else "", "X" if i % 4 == 0 else ""] for i in range(60)]
    write_csv(tmp_path / "t.csv", ["size", "p", "q"], rows)
    sentence = (
        "empty cells are read as 0 in columns of x and empty cells; this also makes the labels of 30 of 60 "
        "rows without any x 0 (--mask FILE names rows that are unlabelled)"
    )
    for verb in (["plan"], ["fit", "-o", "m.skops", "--classifier", "mlknn"]):
        result = ran(run(verb[0], "t.csv", "--label-columns", "p,q", *verb[1:]))
        assert sentence in (result.out if verb == ["plan"] else result.err)
    assert read_table(tmp_path / "t.csv", label_columns=["p", "q"]).notes == [sentence]
    (tmp_path / "k.txt").write_text("\n".join("1" if "x" in "".join(row[1:]).lower() else "0" for row in rows))
    table = read_table(tmp_path / "t.csv", label_columns=["p", "q"], mask=tmp_path / "k.txt")
    assert (~table.labeled).sum() == 30
    write_csv(tmp_path / "t.csv", ["size", "p"], [[row[0], "x"] for row in rows])
    assert read_table(tmp_path / "t.csv", label_columns=["p"]).notes == []


def random_column(draw, n):
    """Cells of one of many kinds, most with words that may mean a missing value."""
    words = draw.choice(["s/d", "pending", "ok", "low", "n/a", "", "KA"], 3)
    kind = draw.integers(9)
    number = [f"{value:.2f}" for value in draw.uniform(-5, 50, n)]
    cells = [
        number,
        [cell.replace(".", ",") for cell in number],
        [f"{a}.{b:03d}" for a, b in zip(draw.integers(1, 200, n), draw.integers(1000, size=n), strict=True)],
        [f"{cell} {unit}" for cell, unit in zip(number, draw.choice(["kg", "g"], n), strict=True)],
        [f"{a}/{b}/{c}" for a, b, c in draw.integers([1, 1, 10], [12, 28, 30], (n, 3))],
        draw.choice(["yes", "no"], n).tolist(),
        draw.choice(["A", "a ", "b", *words], n).tolist(),
        draw.choice(["x", ""], n).tolist(),
        [" ".join(draw.choice(["red", "big", "old", "oak"], draw.integers(1, 6))) for _ in range(n)],
    ][kind]
    return [
        draw.choice(words) if chance < draw.choice([0.02, 0.15]) else cell
        for chance, cell in zip(draw.random(n), cells, strict=True)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_the_last_line_of_plan_gives_the_same_features(run, tmp_path, seed):
    """Also with what a person said, and where a word stands often enough only because a column is there twice."""
    draw = np.random.default_rng(seed)
    n = int(draw.choice([30, 60, 150]))
    columns = [random_column(draw, n) for _ in range(draw.integers(2, 8))]
    columns += columns[:1] if seed % 2 else []
    names = [f"{draw.choice(['a', 'b, c', 'größe'])}{j}" for j in range(len(columns))]
    write_csv(tmp_path / "t.csv", names, list(zip(*columns, strict=True)))
    plan_options = [
        [],
        ["--thousands", "."],
        ["--decimal", "."],
        ["--missing", "ok"],
        ["--keep-case"],
        ["--delimiter", ","],
    ][seed % 6]
    first = run("plan", "t.csv", *plan_options)
    if first.status == 0:
        pasted = first.out.splitlines()[-1].removeprefix("The same as options: ")
        second = run("plan", "t.csv", *shlex.split(pasted))
        assert second.status == 0, (pasted, second)
        facts = [plan_result.out.splitlines()[0] for plan_result in (first, second)]
        assert facts[0] == facts[1], (pasted, first, second)


def test_a_word_in_two_equal_columns_counts_once(tmp_path):
    cells = ["odd" if i in (3, 9) else f"{i / 4}" for i in range(60)]
    write_csv(tmp_path / "t.csv", ["a", "b"], [[cell, cell] for cell in cells])
    with pytest.raises(DataFileError, match="2 cells are not what the column holds: line 5, column 'a': 'odd'"):
        read_table(tmp_path / "t.csv", plan=Choices())


def test_a_separator_or_word_that_no_list_has_is_refused_with_the_one_that_was_meant(run, tmp_path):
    """It made a label of each of 130 lists, or one more label of the word."""
    tags = ["a;b", "none", "b; c", "c", "", "a;c"]
    rows = [[f"{i % 7 + i / 9}", f"{i % 5}", tags[i % 6]] for i in range(60)]
    write_csv(tmp_path / "t.csv", ["x", "z", "tags"], rows)
    command = ("plan", "t.csv", "--label-list", "tags")
    assert_refused(
        run(*command, "--separator", ","),
        "no list of labels has the separator ','; 30 have ';', which gives 4 labels in place of 5; give that one.",
    )
    assert_refused(run(*command, "--no-label", "None"), "is 'None', the word for no label; did you mean 'none'?")
    assert_refused(run(*command, "--no-label", "keine"), "'keine', the word for no label; did you mean 'none'?")
    for options in (["--separator", ";", "--no-label", "none"], ["--no-label", ""], []):
        assert run(*command, *options).status == 0
    for list_options, sentence in (
        ({"separator": "|"}, "separator '|'; 30 have"),
        ({"no_label": "nil"}, "'nil', the word for"),
    ):
        with pytest.raises(DataFileError, match=re.escape(sentence)):
            read_table(tmp_path / "t.csv", label_list="tags", **{"separator": ";", **list_options})
    pairs = [[x, z, ("a,b", "b,c", "c,d")[i % 3]] for i, (x, z, _) in enumerate(rows)]
    write_csv(tmp_path / "pairs.csv", ["x", "z", "tags"], pairs)
    assert run("plan", "pairs.csv", "--label-list", "tags", "--separator", "|").status == 0  # commas give more labels
    # where no list has a word or another separator, and where the model's own table had them
    single = [[x, z, "ac/dc" if i % 2 else "c"] for i, (x, z, _) in enumerate(rows)]
    write_csv(tmp_path / "one.csv", ["x", "z", "tags"], single)
    assert read_table(tmp_path / "one.csv", label_list="tags", separator=";").label_names == ["ac/dc", "c"]
    assert_refused(
        run("plan", "one.csv", "--label-list", "tags", "--no-label", "xyz"), "'xyz'", "; leave that word out."
    )
    assert run("fit", "t.csv", "--label-list", "tags", "-o", "m.skops", "--classifier", "mlknn").status == 0
    assert run("evaluate", "m.skops", "one.csv").status == 0


def write_kind(path, names, rows):
    """The same raw table as CSV, Parquet or ARFF; an empty cell is a hole."""
    if path.suffix == ".csv":
        return write_csv(path, names, rows)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    numbers = {"age", "visits", "flu", "cold"}
    if path.suffix == ".arff":
        kinds = {name: "numeric" if name in numbers else "string" for name in names}
        kinds |= {name: "{" + ",".join(sorted(set(columns[name]) - {""})) + "}" for name in ("ward", "smoker")}
        lines = ["@relation r", *(f"@attribute {name} {kind}" for name, kind in kinds.items()), "@data"]
        lines += [",".join(f"'{cell}'" if cell else "?" for cell in map(str, row)) for row in rows]
        return path.write_text("\n".join(lines) + "\n")
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {
        name: [None if cell == "" else float(cell) if name in numbers else cell for cell in cells]
        for name, cells in columns.items()
    }
    table["ward"] = pyarrow.array(table["ward"]).dictionary_encode()  # as pandas writes a category
    return parquet.write_table(pyarrow.table(table), path, row_group_size=30)


@pytest.mark.parametrize("suffix", [".parquet", ".arff"])
def test_every_format_with_missing_values_and_texts_is_read(run, raw, tmp_path, suffix):
    """The table of a CSV file, and a model that takes either."""
    rows = [["" if cell in ("?", "NA") else cell for cell in row] for row in raw[0]]
    read = {"label_columns": ["flu", "cold"], "id_column": "id", "drop": ["note"], "plan": Choices()}
    tables = []
    for kind in (".csv", suffix):
        write_kind(tmp_path / f"raw{kind}", NAMES, rows)
        tables.append(read_table(tmp_path / f"raw{kind}", **read))
    csv, table = tables
    assert table.feature_names == csv.feature_names
    assert table.ids == csv.ids
    assert table.target.tolist() == csv.target.tolist()
    np.testing.assert_array_equal(table.data, csv.data)
    assert_done(run("fit", f"raw{suffix}", *TAIL, "--n-components", "2", "-o", "m.skops"))
    for kind in (".csv", suffix):
        ran(run("predict", "m.skops", f"raw{kind}", "--probabilities", "-o", f"out{kind}.csv"))
    assert read_csv(tmp_path / "out.csv.csv") == read_csv(tmp_path / f"out{suffix}.csv")


def test_numbers_with_holes_in_npz(run, tmp_path):
    X = np.tile(np.eye(2), (20, 1))
    y = np.tile(np.eye(2, dtype=int), (20, 1))
    y[:6] = 1 - y[:6]  # or a feature would be a label
    X[3, 1] = np.nan
    np.savez(tmp_path / "a.npz", X=X, y=y)
    assert_refused(run("fit", "a.npz", "-o", "m.skops"), "row 4, column '1'", "--impute median")
    assert_done(run("fit", "a.npz", "--impute", "mean", "-o", "m.skops"))
    assert_done(run("predict", "m.skops", "a.npz", "-o", "p.csv"))
    X[4, 0] = np.inf
    np.savez(tmp_path / "b.npz", X=X, y=y)
    assert_refused(run("fit", "b.npz", "--impute", "mean", "-o", "m.skops"), "row 5, column '0'", "not finite")


def test_sparse_rows_have_no_holes(run, tmp_path):
    from scipy import sparse

    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.eye(6)))
    (tmp_path / "a.svmlight").write_text("0 1:2\n1 2:3\n")
    (tmp_path / "a.arff").write_text("@relation a\n@attribute x numeric\n@attribute y {0,1}\n@data\n{0 1}\n{1 1}\n")
    (tmp_path / "y.csv").write_text("u\n" + "1\n0\n" * 3)
    for words in (["a.npz", "--label-file", "y.csv"], ["a.svmlight"], ["a.arff", "--label-columns", "y"]):
        result = run("fit", *words, "--impute", "mean", "-o", "m.skops")
        assert_refused(result, words[0], "sparse rows have no missing values")


def test_a_model_accepts_raw_tables_without_preparation(run, raw, tmp_path):
    """Reordered and further columns, no labels: the same predictions; and they are those of the parts put together."""
    assert_done(run("fit", "train.csv", *TAIL, *ASK, "-o", "m.skops"))
    model = open_model(tmp_path / "m.skops")
    assert [column.name for column in model.plan.used] == ["ward", "age", "visits", "smoker"]
    for name in ("test", "turned"):
        for verb, output_options in (("predict", ["--probabilities"]), ("transform", [])):
            result = ran(run(verb, "m.skops", f"{name}.csv", "--id", "id", *output_options, "-o", f"{verb}-{name}.csv"))
    for verb in ("predict", "transform"):
        assert read_csv(tmp_path / f"{verb}-test.csv") == read_csv(tmp_path / f"{verb}-turned.csv")
    assert "extra" in result.err
    read = {"label_columns": ["flu", "cold"], "drop": ["note"], "id_column": "id"}
    train = read_table(tmp_path / "train.csv", plan=Choices(), **read)
    new = read_table(tmp_path / "test.csv", plan=model.plan, **read).data
    X = SimpleImputer(strategy="median").fit_transform(train.data)
    mean = X.mean(axis=0)
    scale = X.std(axis=0)
    expected_model = nmlsdr.ResidualPropagation(n_neighbors=10).fit((X - mean) / scale, train.target)
    scores = expected_model.predict_proba((new - mean) / scale)
    _, rows = read_csv(tmp_path / "predict-test.csv")
    np.testing.assert_allclose(np.array(rows)[:, -2:].astype(float), scores, atol=1e-6)


def test_a_model_file_takes_a_data_frame(run, raw, tmp_path):
    pandas = pytest.importorskip("pandas")
    assert_done(run("fit", "train.csv", *TAIL, *ASK, "-o", "m.skops"))
    assert_done(run("predict", "m.skops", "test.csv", "-o", "p.csv"))
    frame = pandas.read_csv(tmp_path / "test.csv")[["ward", "age", "visits", "smoker", "id", "note"]]
    predictions = [[int(cell) for cell in row[2:]] for row in read_csv(tmp_path / "p.csv")[1]]
    assert load_model(tmp_path / "m.skops").predict(frame).tolist() == predictions


def test_evaluate_reads_holes_too(run, raw):
    assert_done(run("fit", "train.csv", *TAIL, *ASK, "-o", "m.skops"))
    result = ran(run("evaluate", "m.skops", "test.csv", "--label-columns", "flu,cold", "--id", "id"))
    assert "MiF1" in result.out


def test_a_category_unseen_at_fit_becomes_all_zeros(run, raw, tmp_path):
    assert_done(run("fit", "train.csv", *TAIL, *ASK, "-o", "m.skops"))
    write_csv(tmp_path / "new.csv", ["ward", "age", "visits", "smoker"], [["mars", "", "1", "yes"]])
    result = ran(run("predict", "m.skops", "new.csv", "-o", "out.csv"))
    unseen = "1 row has a level that the fit has not seen, such as 'mars': no feature stands for it"
    assert result.err.splitlines()[0] == f"nmlsdr: new.csv: column 'ward': {unseen}."
    plan = open_model(tmp_path / "m.skops").plan
    cells = {"ward": ["mars"], "age": ["1"], "visits": ["1"], "smoker": ["yes"]}
    encoded = plan.encode({name: typed_column(column) for name, column in cells.items()}, 1, [])
    assert encoded.tolist() == [[0, 0, 0, 0, 1, 1, 1]]
    write_csv(tmp_path / "lacks.csv", ["age", "visits", "smoker"], [["1", "1", "no"]])
    result = run("predict", "m.skops", "lacks.csv", "-o", "out.csv")
    assert_refused(result, "it lacks 1 of the 4 columns that the model was fitted on", "'ward'")
    write_csv(tmp_path / "head.csv", ["age", "visits", "smoker", "ward"], [])
    assert_refused(run("predict", "m.skops", "head.csv", "-o", "out.csv"), "0 rows of 7 features; give a file")


@pytest.mark.parametrize("classifier", ["semi-supervised", "mlknn", "none"])
@pytest.mark.parametrize("classifier_options", [[], ["--no-standardize"]])
def test_every_classifier_accepts_raw_tables(run, raw, classifier, classifier_options):
    assert_done(run("fit", "train.csv", *TAIL, *ASK, *classifier_options, "--classifier", classifier, "-o", "m.skops"))
    ran(run("transform", "m.skops", "turned.csv", "-o", "z.csv"))


def test_review_and_report_accept_raw_tables(run, raw, tmp_path):
    result = run("review", "train.csv", *TAIL, *ASK, "--kind", "forgotten", "--explain", "-o", "r.csv")
    assert_done(result)
    names, rows = read_csv(tmp_path / "r.csv")
    assert names[:2] == ["id", "row"]
    assert {row[names.index("kind")] for row in rows} == {"forgotten"}
    pytest.importorskip("jinja2")
    assert_done(run("report", "train.csv", *TAIL, *ASK, "--folds", "2", "-o", "r.html"))
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "ward=east" in page


def test_many_columns_of_a_kind_are_one_line_of_the_plan():
    kinds = {"number": "a", "category": "b", "words": "c", "text": "d"}
    columns = [
        SimpleNamespace(name=f"{letter}{i}", kind=kind, reason=f"{'missing in 2 rows' if i == 1 else f'as {letter}'}")
        for kind, letter in kinds.items()
        for i in range(2 if kind == "text" else 6)
    ]
    assert plan_text._groups(columns) == [
        ("6 columns", "number", "a0, a1, a2, a3 and 2 more; 1 of them lack values"),
        ("6 columns", "category", "b0, b1, b2, b3 and 2 more; 1 of them lack values"),
        ("6 columns", "words", "c0, c1, c2, c3 and 2 more; 1 of them lack values; as c"),
        ("d0", "text", "as d"),
        ("d1", "text", "missing in 2 rows"),
    ]
