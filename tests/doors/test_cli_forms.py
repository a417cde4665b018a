"""The command line on tables as people bring them: ids, lists of labels, pipes, slips of the pen."""

import io
import sys

import numpy as np
import pytest
from commands import FEATURES, FORMATS, LABELS, assert_done, assert_refused, label_columns, ran, read_csv, write_csv

from nmlsdr._model.reading import open_model
from nmlsdr.model_file import load_model

COLUMNS = ["--label-columns", label_columns()]


@pytest.fixture
def people(run, tables, tmp_path):
    """A table with ids, text and labels in one column, and one of new rows with other columns beside."""
    X, Y, X_test, _ = tables
    tags = [";".join(name for name, has in zip(LABELS, row, strict=True) if has) or "well" for row in Y]
    tags[3] = ""
    head = ["pid", "x0", "x1", "x2", "x3", "x4", "when", "tags"]
    rows = [[f"p-{i}", *x, "2020-01-01", tag] for i, (x, tag) in enumerate(zip(X.tolist(), tags, strict=True))]
    write_csv(tmp_path / "people.csv", head, rows)
    new = [["new", f"q-{i}", *x[::-1], "a; b"] for i, x in enumerate(X_test.tolist())]
    write_csv(tmp_path / "new.csv", ["note", "pid", "x4", "x3", "x2", "x1", "x0", "tags"], new)
    columns = ["--label-list", "tags", "--no-label", "well", "--id", "pid", "--drop", "when"]
    assert_done(run("fit", "people.csv", *columns, "-o", "m.skops"))
    return X, tags, X_test


def test_lists_of_labels_and_ids(run, people):
    X, tags, _ = people
    model = open_model("m.skops")
    assert model.plan.feature_names == ["x0", "x1", "x2", "x3", "x4"]
    tagged = {tag for row in tags for tag in row.split(";")}
    assert model.label_names == sorted(tagged - {"", "well"})  # a row that is well has no label
    assert run("predict", "m.skops", "people.csv", "--id", "pid", "--out", "a.csv").status == 0
    names, rows = read_csv("a.csv")
    assert names == ["pid", "row", *model.label_names]
    assert [row[:2] for row in rows] == [[f"p-{i}", str(i)] for i in range(len(X))]
    np.testing.assert_array_equal([row[2:] for row in rows], load_model("m.skops")[1:].predict(X).astype(str))


def test_only_the_columns_that_the_model_knows_are_read(run, people):
    """Text beside them, and another order, change nothing."""
    outcome = ran(run("predict", "m.skops", "new.csv", "--id", "pid", "-o", "b.csv"))
    assert outcome.err.splitlines() == [
        "nmlsdr: new.csv: the column 'note' is not in the model and not used.",
        "nmlsdr: wrote b.csv: 25 rows, 3 labels.",
    ]
    names, rows = read_csv("b.csv")
    assert [row[0] for row in rows] == [f"q-{i}" for i in range(25)]
    np.testing.assert_array_equal([row[2:] for row in rows], load_model("m.skops")[1:].predict(people[2]).astype(str))
    for verb in ("transform", "review"):
        words = ["m.skops"] if verb == "transform" else []
        source = "new.csv" if verb == "transform" else "people.csv"
        labels = [] if verb == "transform" else ["--label-list", "tags", "--drop", "when"]
        ran(run(verb, *words, source, *labels, "--id", "pid", "-o", f"{verb}.csv"))
        names, rows = read_csv(f"{verb}.csv")
        assert names[:2] == ["pid", "row"]
        assert all(row[0] == f"{'q' if verb == 'transform' else 'p'}-{row[1]}" for row in rows)


def test_evaluate_treats_a_label_in_no_list_as_absent(run, people, tmp_path):
    head, rows = read_csv("people.csv")
    write_csv(tmp_path / "few.csv", head, [row for row in rows if "flu" not in row[-1]])
    outcome = ran(run("evaluate", "m.skops", "few.csv", "--label-list", "tags", "--id", "pid"))
    (flu,) = [line.split() for line in outcome.out.splitlines() if line.startswith("flu")]
    assert flu[1] == "0"
    assert flu[4] == "-"  # no recall without a positive


def test_a_column_that_looks_like_an_id_causes_a_note(run, tables, tmp_path):
    X, Y, _, _ = tables
    rows = [[1000 + 7 * i, *x, *y] for i, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True))]
    write_csv(tmp_path / "t.csv", ["patient no", "a", "b", "c", "d", "e", "p", "q", "r"], rows)
    outcome = ran(run("fit", "t.csv", "--label-columns", "p,q,r", "--out", "m.skops"))
    assert "  patient no  identifier  its name, its place, and 60 different whole numbers" in outcome.err
    write_csv(tmp_path / "t.csv", ["patients", "a", "b", "c", "d", "e", "p", "q", "r"], rows)
    outcome = run("fit", "t.csv", "--label-columns", "p,q,r", "--out", "m.skops")
    assert "  patients  number  a different whole number in every row; if it names the rows, give --id" in outcome.err
    assert_done(run("fit", "t.csv", "--label-columns", "p,q,r", "--id", "patients", "--out", "m.skops"))


def test_written_files_are_reported_on_stderr_unless_quiet(run, tables, tmp_path):
    (tmp_path / "mask.txt").write_text("0\n" * 12 + "1\n" * 48)
    outcome = run("fit", "train.csv", *COLUMNS, "--mask", "mask.txt", "--out", "m.skops")
    assert outcome.out == ""
    (line,) = [line for line in outcome.err.splitlines() if " alone predicts the label " not in line]
    assert line.startswith("nmlsdr: wrote m.skops: 60 rows, 5 features, 3 labels, 12 unlabelled.")
    assert run("fit", "train.csv", *COLUMNS, "-q", "--out", "m.skops").err == ""


# ---------------------------------------------------------------------------------------------------------- pipes


class Piped(io.TextIOWrapper):
    """Standard input as a pipe has it."""

    def __init__(self, content):
        super().__init__(io.BytesIO(content))


@pytest.mark.parametrize("name", ["test.csv", "test.arff.gz", "test.parquet"])
def test_data_from_standard_input(run, tables, monkeypatch, tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    FORMATS[name.partition(".")[2]][0](tmp_path / name, *tables[2:])
    assert_done(run("fit", "train.csv", *COLUMNS, "--out", "m.skops"))
    assert_done(run("predict", "m.skops", "test.csv", "--out", "a.csv"))
    monkeypatch.setattr(sys, "stdin", Piped((tmp_path / name).read_bytes()))
    assert_done(run("predict", "m.skops", "-", "--out", "b.csv"))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_damaged_gzip_file_on_standard_input_gives_one_sentence(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Piped(b"\x1f\x8b\x08\x00damaged"))
    result = run("plan", "-", *COLUMNS)
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert "it cannot be read" in result.err


def test_results_to_standard_output(run, tables, tmp_path):
    assert_done(run("fit", "train.csv", *COLUMNS, "--out", "m.skops"))
    assert_done(run("predict", "m.skops", "test.csv", "--out", "a.csv"))
    outcome = run("predict", "m.skops", "test.csv", "--out", "-")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == (tmp_path / "a.csv").read_text()
    before = sorted(path.name for path in tmp_path.iterdir())
    outcome = run("evaluate", "m.skops", "test.csv", *COLUMNS, "--out", "-")
    assert outcome.out.startswith("{\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_model_is_written_to_a_file_alone(run, tables):
    for out in ("-", "/dev/null"):
        result = run("fit", "train.csv", *COLUMNS, "--out", out)
        assert_refused(result, f"The output {out!r} must end in .skops; rename it.")


# ------------------------------------------------------------------------------------------------ slips, help, shells


def test_a_column_that_is_missing_gets_a_suggestion(run, tables, tmp_path):
    assert_done(run("fit", "train.csv", *COLUMNS, "--out", "m.skops"))
    text = (tmp_path / "test.csv").read_text()
    (tmp_path / "old.csv").write_text(text.replace(FEATURES[0], "ages", 1))
    refused = run("predict", "m.skops", "old.csv", "--out", "a.csv")
    assert_refused(refused, "'age' (did you mean 'ages'?)", "--fill-absent")


def test_nmlsdr_alone_shows_examples(run):
    outcome = run()
    assert_done(outcome)
    assert "nmlsdr fit train.csv" in outcome.out
    assert "nmlsdr --help" in outcome.out
    assert len(outcome.out.splitlines()) < 15


def test_a_file_that_is_not_utf8_is_read_with_a_note(run, tables, tmp_path):
    text = (tmp_path / "train.csv").read_text(encoding="utf-8")
    (tmp_path / "latin.csv").write_bytes(text.encode("cp1252"))
    outcome = run("fit", "latin.csv", *COLUMNS, "--out", "m.skops")
    note = "it is not UTF-8 and is read as cp1252, judging by its letters; if texts look wrong, give another "
    note += "encoding with --encoding."
    assert outcome.err.splitlines()[0].endswith(note)
    quiet = run("fit", "latin.csv", *COLUMNS, "--quiet", "--out", "m.skops")
    assert quiet.err == f"nmlsdr: latin.csv: {note}\n"
    assert open_model("m.skops").feature_names == FEATURES
    assert_done(run("fit", "latin.csv", *COLUMNS, "--encoding", "cp1252", "-q", "--out", "m.skops"))
