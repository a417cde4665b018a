"""Codes of diagnoses as labels, through all commands: hierarchical codes, presences alone, rare labels."""

import csv
import re

import numpy as np
import pytest
from commands import ran, spawn, write_csv

from nmlsdr.tables import Choices, Roles, read_table

N = 300
CHAPTERS = [f"{letter}{number}" for letter in "ABCDEFGHIJ" for number in (10, 11, 25, 40)]
CODES = [f"{chapter}.{k}" for chapter in CHAPTERS for k in range(10)]  # 400


def patients(rng, n=N):
    """Numbers of each patient, and the codes: two or three chapters, which depend on the numbers, of ten codes each."""
    X = rng.standard_normal((n, 6)).round(2)
    codes = []
    for row in X:
        chances = np.exp(row.round(1) @ np.random.default_rng(0).standard_normal((6, len(CHAPTERS))))
        chapters = rng.choice(len(CHAPTERS), rng.integers(2, 4), replace=False, p=chances / chances.sum())
        codes.append(sorted(f"{CHAPTERS[chapter]}.{min(9, rng.geometric(0.3) - 1)}" for chapter in chapters))
    return X, codes


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    """codes.csv: a list of codes; columns.csv: a column for each code, 1 or empty."""
    monkeypatch.chdir(tmp_path)
    for part in ("", "new_"):
        X, codes = patients(rng, N if not part else 80)
        names = [f"P{i:04d}" for i in range(len(X))]
        numbers = [f"x{j}" for j in range(X.shape[1])]
        lines = [
            [name, *row, "; ".join(row_codes)] for name, row, row_codes in zip(names, X.tolist(), codes, strict=True)
        ]
        write_csv(tmp_path / f"{part}codes.csv", ["patient", *numbers, "codes"], lines)
        lines = [
            [name, *row, *("1" if code in row_codes else "" for code in CODES)]
            for name, row, row_codes in zip(names, X.tolist(), codes, strict=True)
        ]
        write_csv(tmp_path / f"{part}columns.csv", ["patient", *numbers, *CODES], lines)
    return tmp_path


def read(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def labels_of(line):
    return {name: value for name, value in line.items() if name[0] in "ABCDEFGHIJ" and name[1:3].isdecimal()}


@pytest.mark.parametrize("cut", [["--label-prefix", "3"], ["--label-until", "."]])
@pytest.mark.parametrize("form", ["list", "columns"])
def test_cut_codes_go_through_all_commands(run, folder, cut, form):
    pytest.importorskip("jinja2")
    if form == "list":
        table = "codes.csv"
        new = "new_codes.csv"
        where = ["--label-list", "codes", *cut]
    else:
        table = "columns.csv"
        new = "new_columns.csv"
        where = ["--label-columns", ",".join(CODES), "--empty-is", "no", *cut]
    known = read_table(folder / "codes.csv", Roles(label_list="codes", label_prefix=3, drop=["patient"]))
    plan = run("plan", table, *where)
    n_codes = len({code for line in read(folder / "codes.csv") for code in line["codes"].split("; ")})
    assert f"{n_codes if form == 'list' else 400} codes become 40" in plan.out
    assert "40 labels, 300 rows labelled" in plan.out
    n_rare = int(((known.target == 1).sum(axis=0) < 10).sum())
    assert f"{n_rare} of 40 labels have fewer than 10 rows (--min-count 10 leaves them out)" in plan.out
    assert " ".join(cut) in plan.out.splitlines()[-1]

    fit = ["fit", table, *where, "--min-count", "10", "--quiet", "--out", "m.skops"]
    ran(run(*fit))
    ran(run("predict", "m.skops", new, "--probabilities", "--quiet", "--out", "p.csv"))
    predicted = read(folder / "p.csv")
    frequent = [name for name, n in zip(known.label_names, (known.target == 1).sum(axis=0), strict=True) if n >= 10]
    assert [*labels_of(predicted[0])] == frequent
    assert len(frequent) == 40 - n_rare

    # The model knows how codes are cut, and where they are.
    result = run("evaluate", "m.skops", new, "--out", "e.json")
    assert result.status == 0, result
    Y = read_table(folder / "new_codes.csv", Roles(label_list="codes", label_prefix=3, drop=["patient"]))
    truth = {name: (Y.target == 1)[:, k].astype(int) for k, name in enumerate(Y.label_names)}
    truth = {name: truth.get(name, np.zeros(80, int)) for name in frequent}
    positives = {line.split()[0]: int(line.split()[1]) for line in result.out.splitlines() if line[:3] in frequent}
    assert positives == {name: values.sum() for name, values in truth.items()}
    hits = [int(row[name]) == truth[name][i] for i, row in enumerate(predicted) for name in frequent]
    assert np.mean(hits) > 0.85
    n_hits = sum(int(row[name]) and truth[name][i] for i, row in enumerate(predicted) for name in frequent)
    assert n_hits > 20
    label_options = [] if form == "list" else ["--label-columns", ",".join(CODES)]
    assert run("evaluate", "m.skops", new, *label_options, "--out", "e2.json").status == 0
    assert (folder / "e.json").read_bytes() == (folder / "e2.json").read_bytes()
    ran(run("transform", "m.skops", new, "--quiet", "--out", "t.csv"))
    assert len(read(folder / "t.csv")) == 80

    ran(run("review", table, *where, "--quiet", "--out", "list.csv", "--out", "page.html"))
    lines = read(folder / "list.csv")
    assert {line["label"] for line in lines} <= {*CHAPTERS}
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert " ".join(cut) in page  # in the next commands
    for line in lines[:9]:
        line["verdict"] = "keep"
    with open(folder / "done.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*lines[0]])
        writer.writeheader()
        writer.writerows(lines)
    result = run("fit", table, *where, "--reviewed", "done.csv", "--out", "m2.skops")
    assert result.status == 0, result
    assert "9 verdicts, 0 labels changed" in result.err
    report = run("report", table, *where, "--folds", "0", "--quiet", "--out", "r.html")
    ran(report)
    assert "E10.0" not in (folder / "r.html").read_text(encoding="utf-8").partition("<footer")[0].replace(
        ",".join(CODES), ""
    )


def test_no_message_names_hundreds_of_labels(run, folder):
    process = spawn("fit", "codes.csv", "--label-list", "codes", "--out", "m.skops", cwd=folder)
    where = "labels are never predicted in cross-validation on the labelled rows"
    assert f"{where}, the most frequent of them '" in process.stderr
    assert "(--threshold macro) predicts rare labels more readily, and so do more rows." in process.stderr
    plan = ran(run("plan", "codes.csv", "--label-list", "codes"))
    information = ran(run("info", "m.skops"))
    ran(run("predict", "m.skops", "new_codes.csv", "--out", "p.csv"))
    evaluation = ran(run("evaluate", "m.skops", "new_codes.csv"))
    (folder / "short.csv").write_text("\n".join(["x0,x1,x2,x3,x4,x5,A10.0", "1,2,3,4,5,6,1", "1,2,3,4,5,7,0"]))
    refused = run("evaluate", "m.skops", "short.csv", "--label-columns", "A10.0")
    assert refused.status == 2
    n_lacking = int(re.search(r"it lacks (\d+) of the \d+ labels", refused.err).group(1))
    assert n_lacking > 200
    n_unnamed = int(re.search(r" and (\d+) more; give the same labels\.", refused.err).group(1))
    assert n_lacking - 12 <= n_unnamed < n_lacking
    for text in (process.stderr, plan.out, information.out, evaluation.err, refused.err):
        for line in text.splitlines():
            assert sum(code in line for code in CODES) <= 50, line


def test_columns_of_presences_alone_are_refused_with_two_ways_out(run, folder):
    names = CODES[:40]
    arguments = ["columns.csv", "--label-columns", ",".join(names), "--drop", ",".join(CODES[40:])]
    n = sum(any(line[name] for line in read(folder / "columns.csv")) for name in names)
    for verb in ("plan", "fit", "review", "report"):
        result = run(
            verb, *arguments, *([] if verb == "plan" else ["--out", f"x{verb}.{'skops' if verb == 'fit' else 'html'}"])
        )
        assert result.status == 2
        assert f"no row is known to lack {n} of 40 labels: 'A10.0'" in result.err
        assert f"and {n - 8} more" in result.err
        assert "write 0 where somebody looked" in result.err
        assert "--empty-is no if an empty cell means that it does not" in result.err
    result = run("plan", *arguments, "--empty-is", "no")
    assert result.status == 0
    assert "empty cells mean that a label does not apply, so " in result.out


def test_one_label_of_presences_among_others_is_refused(run, tmp_path, rng):
    X = rng.standard_normal((60, 2)).round(2)
    lines = [[*row, int(row[0] > 0), "1" if row[1] > 0 else ""] for row in X.tolist()]
    write_csv(tmp_path / "t.csv", ["a", "b", "flu", "cold"], lines)
    result = run("fit", tmp_path / "t.csv", "--label-columns", "flu,cold", "--out", tmp_path / "m.skops")
    assert result.status == 2
    assert "no row is known to lack the label 'cold'; write 0 where" in result.err
    options = ["--label-columns", "flu,cold", "--empty-is", "no", "--quiet"]
    assert run("fit", tmp_path / "t.csv", *options, "--out", tmp_path / "m.skops").status == 0
    assert run("predict", tmp_path / "m.skops", tmp_path / "t.csv", "--out", tmp_path / "p.csv", "-q").status == 0
    n_cold = sum(int(line["cold"]) for line in read(tmp_path / "p.csv"))
    assert 15 < n_cold < 45
    # The model reads empty cells so, too: of the fit's own table all rows are known.
    result = run("evaluate", tmp_path / "m.skops", tmp_path / "t.csv")
    assert "unlabelled and not counted" not in result.err
    assert [line.split()[1] for line in result.out.splitlines() if line.startswith("cold")] == [
        str((X[:, 1] > 0).sum())
    ]


def test_a_label_that_nobody_has_is_noted(run, tmp_path, rng):
    X = rng.standard_normal((60, 2)).round(2)
    write_csv(tmp_path / "t.csv", ["a", "b", "flu", "cold"], [[*row, int(row[0] > 0), 0] for row in X.tolist()])
    result = run("fit", tmp_path / "t.csv", "--label-columns", "flu,cold", "--out", tmp_path / "m.skops")
    assert result.status == 0
    assert "1 label has no known 1 and cannot be learned: 'cold'." in result.err


TABLE = "a,E11.9,E11.2,J45.0\n1,1,,0\n2,,1,\n3,0,,1\n4,0,0,0\n5,,,\n"


@pytest.mark.parametrize(
    ("how", "names", "target"),
    [
        ({}, ["E11.9", "E11.2", "J45.0"], [[1, -1, 0], [-1, 1, -1], [0, -1, 1], [0, 0, 0], [-1, -1, -1]]),
        ({"label_prefix": 3}, ["E11", "J45"], [[1, 0], [1, -1], [-1, 1], [0, 0], [-1, -1]]),
        ({"label_until": "."}, ["E11", "J45"], [[1, 0], [1, -1], [-1, 1], [0, 0], [-1, -1]]),
        ({"empty_is": "no"}, ["E11.9", "E11.2", "J45.0"], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]),
        ({"label_prefix": 3, "empty_is": "no"}, ["E11", "J45"], [[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]]),
        ({"label_prefix": 3, "min_count": 2}, ["E11"], [[1], [1], [-1], [0], [-1]]),
        ({"label_prefix": 1}, ["E", "J"], [[1, 0], [1, -1], [-1, 1], [0, 0], [-1, -1]]),
        ({"label_until": "9"}, ["E11.", "E11.2", "J45.0"], None),
        ({"label_until": "E"}, ["E11.9", "E11.2", "J45.0"], None),
    ],
)
def test_the_reader_cuts_labels(tmp_path, how, names, target):
    (tmp_path / "t.csv").write_text(TABLE)
    table = read_table(tmp_path / "t.csv", Roles(label_columns=["E11.9", "E11.2", "J45.0"], **how))
    assert table.label_names == names
    assert table.label_columns == ["E11.9", "E11.2", "J45.0"]
    if target is not None:
        assert table.target.tolist() == target
    (tmp_path / "y.csv").write_text("\n".join(line.partition(",")[2] for line in TABLE.splitlines()) + "\n")
    (tmp_path / "x.csv").write_text("a\n1\n2\n3\n4\n5\n")
    table_of_label_file = read_table(tmp_path / "x.csv", Roles(label_file=tmp_path / "y.csv", **how))
    assert table_of_label_file.label_names == names
    assert table_of_label_file.target.tolist() == table.target.tolist()


def test_the_reader_cuts_labels_of_lists_and_votes(tmp_path):
    text = "x,anna,ben\n1,E11.9;E11.2,E11.0\n2,none,J45.1\n3,,\n4,J45.0,\n"
    (tmp_path / "t.csv").write_text(text)
    lists = Roles(label_list="anna", drop=["ben"], no_label="none", label_prefix=3)
    table = read_table(tmp_path / "t.csv", lists)
    assert (table.label_names, table.target.tolist()) == (["E11", "J45"], [[1, 0], [0, 0], [-1, -1], [0, 1]])
    votes = Roles(annotators=["anna", "ben"], no_label="none", label_until=".")
    table = read_table(tmp_path / "t.csv", votes)
    assert table.votes.tolist() == [[1, 0], [0, 0.5], [-1, -1], [0, 1]]
    table = read_table(tmp_path / "t.csv", Roles(annotators=["anna", "ben"], no_label="none", empty_is="no"))
    assert table.votes[3].sum() == 0.5
    assert table.votes[2].sum() == 0
    table = read_table(tmp_path / "t.csv", Roles(label_list="anna", drop=["ben"], no_label="none", empty_is="no"))
    assert table.target.tolist()[2] == [0, 0, 0]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"label_prefix": 3, "label_until": "."}, "both given"),
        ({"label_prefix": 0}, "at least 1, got 0"),
        ({"label_until": ""}, "label_until is empty"),
        ({"min_count": 0}, "at least 1, got 0"),
        ({"empty_is": "zero"}, '"unknown" or "no"'),
        ({"min_count": 9}, "the most frequent label has 1 row"),
    ],
)
def test_wrong_options_of_labels_are_refused(tmp_path, how, message):
    (tmp_path / "t.csv").write_text(TABLE)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "t.csv", Roles(label_columns=["E11.9", "E11.2", "J45.0"], **how))


def test_arrays_without_names_cannot_be_cut(tmp_path):
    np.savez(tmp_path / "t.npz", X=[[1.0], [2.0]], y=[[0, 1], [1, 0]])
    for how in ({"label_prefix": 1}, {"empty_is": "no"}):
        with pytest.raises(ValueError, match="names"):
            read_table(tmp_path / "t.npz", Roles(**how))
    np.savez(tmp_path / "t.npz", X=[[1.0], [2.0]], y=[[0, 1], [1, 0]], label_names=["E11.1", "E11.2"])
    table = read_table(tmp_path / "t.npz", Roles(label_prefix=3))
    assert (table.label_names, table.target.tolist()) == (["E11"], [[1], [1]])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_labels_that_are_called_like_columns_of_the_result_keep_their_names(run, tmp_path, rng, suffix):
    X = rng.standard_normal((60, 3)).round(3)
    names = ["row", "flu", "probability:flu", "code"]
    Y = (X[:, [0, 1, 2, 0]] > 0).astype(int)
    Y[:3] = 1 - Y[:3]
    ids = [f"P{i}" for i in range(60)]
    lines = [[name, *x, *y] for name, x, y in zip(ids, X.tolist(), Y.tolist(), strict=True)]
    write_csv(tmp_path / "t.csv", ["patient", "a", "b", "c", *names], lines)
    ran(run("fit", "t.csv", "--label-columns", ",".join(names), "--out", "m.skops", "-q"))
    lines = [[name, *x] for name, x in zip(ids, X.tolist(), strict=True)]
    write_csv(tmp_path / "new.csv", ["code", "a", "b", "c"], lines)
    for data, key in (("t.csv", "patient"), ("new.csv", "code_")):
        id_options = ["--id", "code"] if data == "new.csv" else []
        out = f"p{suffix}"
        ran(run("predict", "m.skops", data, *id_options, "--probabilities", "--out", out, "-q"))
        if suffix == ".csv":
            with open(tmp_path / out, encoding="utf-8-sig") as file:
                result_columns = {column[0]: column[1:] for column in zip(*csv.reader(file), strict=True)}
                header = [*result_columns]
        else:
            parquet = pytest.importorskip("pyarrow.parquet")
            table = parquet.read_table(tmp_path / out)
            header = table.column_names
            result_columns = table.to_pydict()
        probabilities = ["probability:row", "probability:flu_", "probability:probability:flu", "probability:code"]
        assert header == [key, "row_", *names, *probabilities]
        assert [*map(str, result_columns["row_"])] == [*map(str, range(60))]
        assert [*result_columns[key]] == ids
        assert {*map(str, result_columns["probability:flu"])} == {"0", "1"}


@pytest.mark.parametrize("order", ["as it is", "by a feature", "backwards", "at random"])
@pytest.mark.parametrize("form", ["{:05d}", "{}"])
def test_a_running_number_names_the_rows_in_any_order(tmp_path, rng, order, form):
    X = rng.normal(60, 10, (120, 2)).round(1)
    rows = [[form.format(i), *cells] for i, cells in enumerate(X.tolist(), 1)]
    key = {"as it is": int, "by a feature": lambda row: row[1], "backwards": lambda row: -int(row[0])}
    rows = [rows[i] for i in rng.permutation(120)] if order == "at random" else rows
    if order in ("by a feature", "backwards"):
        rows = sorted(rows, key=key[order])
    write_csv(tmp_path / "t.csv", ["patient", "age", "weight"], rows)
    plan = read_table(tmp_path / "t.csv", plan=Choices()).plan
    assert plan.identifier == "patient"
    assert plan.feature_names == ["age", "weight"]


def test_verdicts_find_their_rows_in_a_table_that_was_sorted(run, tmp_path, rng):
    X = rng.normal(60, 10, (120, 2)).round(1)
    y = (X + rng.normal(0, 6, (120, 2)) > 65).astype(int)
    rows = [[f"{i:05d}", *cells] for i, cells in enumerate(np.c_[X, y].tolist())]
    header = ["patient", "age", "weight", "flu", "cold"]
    write_csv(tmp_path / "t.csv", header, rows)
    write_csv(tmp_path / "sorted.csv", header, sorted(rows, key=lambda row: row[1]))
    labels = ["--label-columns", "flu,cold"]
    ran(run("review", "t.csv", *labels, "--out", "list.csv", "-q"))
    lines = read(tmp_path / "list.csv")
    for line in lines[:20]:
        line["verdict"] = "keep"
    write_csv(tmp_path / "done.csv", [*lines[0]], [[*line.values()] for line in lines])
    result = ran(run("fit", "sorted.csv", *labels, "--reviewed", "done.csv", "--out", "m.skops"))
    assert "done.csv: 20 verdicts, 0 labels changed, 0 unclear." in result.err
