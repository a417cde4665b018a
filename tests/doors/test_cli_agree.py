"""nmlsdr agree: Cohen's kappa of two files of verdicts."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from nmlsdr.inspection._agreement import compare_reviews
from tests.commands import assert_refused, ran, read_csv, write_csv

HEADER = ["check", "label", "suggest", "verdict"]


def test_kappa_is_that_of_scikit_learn_over_annotations_that_both_decided(run, tmp_path, rng):
    first = rng.integers(0, 2, 60)
    second = np.where(rng.random(60) < 0.8, first, 1 - first)
    labels = np.where(np.arange(60) < 40, "flu", "cold")
    lines = [[f"c{i}", labels[i], "", first[i]] for i in range(60)]
    second_lines = [[f"c{i}", labels[i], "", ["no", "yes"][second[i]]] for i in rng.permutation(60)]
    lines += [["c60", "flu", "", "1"], ["c61", "flu", "", "unclear"], ["c62", "flu", "", ""]]
    second_lines += [
        ["c60", "flu", "", "unclear"],
        ["c61", "flu", "", "1"],
        ["c62", "flu", "", "1"],
        ["c99", "flu", "", 0],
    ]
    write_csv(tmp_path / "a.csv", HEADER, lines)
    write_csv(tmp_path / "b.csv", HEADER, second_lines)
    output_lines = ran(run("agree", "a.csv", "b.csv")).out.splitlines()
    assert output_lines[0] == "a.csv: 61 verdicts of yes or no, 1 unclear."
    assert output_lines[1] == "b.csv: 63 verdicts of yes or no, 1 unclear."
    n_agree = int((first == second).sum())
    yes_no = int((first > second).sum())
    no_yes = int((first < second).sum())
    kappa = cohen_kappa_score(first, second)
    assert output_lines[2] == (
        f"Of 60 annotations that both decided, {n_agree} agree ({n_agree / 60:.1%}; yes and no: {yes_no}, no and yes: "
        f"{no_yes}). Cohen's kappa: {kappa:.3f}."
    )
    assert output_lines[4].split() == ["label", "both", "agree", "yes/no", "no/yes", "kappa"]
    for line, label in zip(output_lines[5:7], ("cold", "flu"), strict=True):
        is_label = labels == label
        name, n, _, _, _, kappa = line.split()
        assert (name, int(n)) == (label, is_label.sum())
        assert kappa == f"{cohen_kappa_score(first[is_label], second[is_label]):.3f}"


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        ("1111", "1111", "4 agree (100.0%; yes and no: 0, no and yes: 0). Cohen's kappa: undefined"),
        ("1111", "0000", "0 agree (0.0%; yes and no: 4, no and yes: 0). Cohen's kappa: 0.000."),
        ("1100", "1100", "Cohen's kappa: 1.000."),
        ("1100", "0011", "Cohen's kappa: -1.000."),
        ("1100", "1010", "Cohen's kappa: 0.000."),
        ("??11", "11??", "No annotation has a verdict of yes or no in both files."),
    ],
)
def test_kappa_by_hand(run, tmp_path, first, second, sentence):
    for name, verdicts in (("a.csv", first), ("b.csv", second)):
        write_csv(tmp_path / name, HEADER, [[f"c{i}", "flu", "", verdict] for i, verdict in enumerate(verdicts)])
    assert sentence in ran(run("agree", "a.csv", "b.csv")).out


@pytest.mark.parametrize("n_differ", [0, 3, 20, 23])
def test_entries_on_which_two_people_differ_are_listed(run, tmp_path, n_differ):
    """Of verdicts of yes or no only, in the order of the first file; at most 20 are printed, and --out has all."""
    header = ["patient", "row", "label", "check", "verdict"]
    lines = [[f"P{i}", i, "=flu" if i % 2 else "cold", f"c{i}", "yes"] for i in range(40)]
    second_lines = [[*line[:-1], "no" if i < n_differ else "yes"] for i, line in enumerate(lines)]
    lines[39][-1] = "unclear"
    write_csv(tmp_path / "a.csv", header, lines)
    write_csv(tmp_path / "b.csv", header, second_lines[::-1])
    output = ran(run("agree", "a.csv", "b.csv")).out
    listed_lines = [line for line in output.splitlines() if line.startswith("patient ")]
    expected = [f"patient P{i}, row {i}  {lines[i][2]}  yes  no" for i in range(n_differ)]
    assert listed_lines == expected[:20]
    assert ("Where they differ" in output) == (n_differ > 0)
    assert ("and 3 more; --out FILE.csv writes all." in output) == (n_differ == 23)
    assert "Where they differ" not in ran(run("agree", "a.csv", "b.csv", "--out", "d.csv")).out
    names, cells = read_csv("d.csv")
    if n_differ:
        assert names == ["patient", "row", "check", "label", "first", "second", "verdict"]
    safe = {"=flu": "'=flu", "cold": "cold"}
    assert cells == [[f"P{i}", f"{i}", f"c{i}", safe[lines[i][2]], "1", "0", ""] for i in range(n_differ)]
    assert_refused(run("agree", "a.csv", "b.csv", "--out", "a.csv"), "a.csv")


def test_keep_is_the_given_label_beside_which_the_list_suggests_a_change(tmp_path):
    write_csv(tmp_path / "a.csv", HEADER, [["a", "flu", "add", "keep"], ["b", "flu", "remove", "keep"]])
    write_csv(tmp_path / "b.csv", HEADER, [["a", "flu", "add", "0"], ["b", "flu", "remove", "0"]])
    assert compare_reviews(tmp_path / "a.csv", tmp_path / "b.csv").whole.counts.tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("header", "lines", "words"),
    [
        (["check", "label"], [["a", "flu"]], ["b.csv lacks the column 'verdict'"]),
        (["id", "label", "verdict"], [["a", "flu", "1"]], ["have no column check, id or row in common"]),
        (["check", "label", "verdict"], [["a", "flu", "perhaps"]], ["b.csv, line 2", "'perhaps' is not a verdict"]),
        (["check", "label", "verdict"], [["a", "flu", "keep"]], ["b.csv, line 2", "none is given here"]),
        (["check", "label", "verdict"], [["a", "flu", "1"], ["a", "flu", "0"]], ["line 3", "a second and different"]),
        (["label", "verdict", "check"], [["flu", "1"]], ["b.csv, line 2: 2 cells, but the header has 3"]),
        (["check", "check", "label", "verdict"], [["a", "a", "flu", "1"]], ["has more than one column 'check'"]),
        (["check", "label", "label", "verdict"], [["a", "flu", "x", "1"]], ["has more than one column 'label'"]),
    ],
)
def test_files_that_are_no_verdicts_are_refused(run, tmp_path, header, lines, words):
    write_csv(tmp_path / "a.csv", ["check", "label", "verdict"], [["a", "flu", "1"]])
    write_csv(tmp_path / "b.csv", header, lines)
    assert_refused(run("agree", "a.csv", "b.csv"), *words)


def test_lists_of_one_review_are_compared_as_they_are(run, tmp_path, rng):
    """Two people fill in the list that `nmlsdr review` writes, one of them by row number in a file of the own."""
    X = rng.normal(size=(40, 3))
    rows = [[*map("{:.3f}".format, x), int(x[0] > 0), int(x[1] > 0)] for x in X]
    write_csv(tmp_path / "t.csv", ["a", "b", "c", "y", "z"], rows)
    ran(run("review", "t.csv", "--label-columns", "y,z", "--out", "list.csv"))
    names, lines = read_csv(tmp_path / "list.csv")
    for name, verdicts in (("first.csv", "11001100"), ("second.csv", "11001010")):
        for line, verdict in zip(lines, verdicts, strict=False):
            line[names.index("verdict")] = verdict
        write_csv(tmp_path / name, names, lines)
    output = ran(run("agree", "first.csv", "second.csv")).out
    assert "Of 8 annotations that both decided, 6 agree (75.0%" in output
    ran(run("agree", "first.csv", "second.csv", "--out", "differences.csv"))
    header, differences = read_csv("differences.csv")
    assert len(differences) == 2
    write_csv("settled.csv", header, [[*line[:-1], "1"] for line in differences])
    ran(run("correct", "t.csv", "--label-columns", "y,z", "--reviewed", "settled.csv", "--out", "c.csv"))
    short = [
        ["row", "label", "verdict"],
        *([line[names.index(name)] for name in ("row", "label", "verdict")] for line in lines),
    ]
    write_csv(tmp_path / "third.csv", short[0], short[1:])
    assert "8 agree (100.0%" in ran(run("agree", "second.csv", "third.csv")).out


def _two_reviews(run, tmp_path, rng):
    """A table, its list filled in by two people as a.csv and b.csv, and the columns and lines of the list."""
    X = rng.normal(size=(40, 3))
    write_csv(tmp_path / "t.csv", ["a", "b", "c", "y", "z"], [[*x.round(3), int(x[0] > 0), int(x[1] > 0)] for x in X])
    ran(run("review", "t.csv", "--label-columns", "y,z", "--out", "list.csv"))
    names, lines = read_csv(tmp_path / "list.csv")
    lines = lines[:9]
    verdicts = {
        "a.csv": ["1", "0", "yes", "no", "keep", "", "unclear", "unclear", ""],
        "b.csv": ["1", "no", "0", "1", "", "0", "1", "unclear", ""],
    }
    for name, words in verdicts.items():
        write_csv(tmp_path / name, names, [[*line[:-1], word] for line, word in zip(lines, words, strict=True)])
    return names, lines


def test_two_files_and_their_settled_differences_become_one(run, tmp_path, rng):
    names, lines = _two_reviews(run, tmp_path, rng)
    options = "agree", "a.csv", "b.csv"
    ran(run(*options, "--out", "differences.csv"))
    header, differences = read_csv("differences.csv")
    assert [line[header.index("first")] for line in differences] == ["1", "0"]
    write_csv(
        "settled.csv", header, [[*line[:-1], word] for line, word in zip(differences, ("0", "unclear"), strict=True)]
    )
    output = ran(run(*options, "--settled", "settled.csv", "--out", "joined.csv")).out
    assert "2 agree (50.0%" in output
    assert "Where they differ" not in output
    columns, joined = read_csv("joined.csv")
    assert columns == names
    verdict_as_labelled = {"add": "0", "remove": "1"}[lines[4][names.index("suggest")]]
    expected = ["1", "0", "0", "unclear", verdict_as_labelled, "0", "1", "unclear"]
    assert joined == [[*line[:-1], word] for line, word in zip(lines, expected, strict=False)]
    labels = "--label-columns", "y,z"
    output = ran(run("correct", "t.csv", *labels, "--reviewed", "joined.csv", "--out", "c.csv")).err
    assert "joined.csv: 6 verdicts" in output
    assert "2 unclear" in output
    assert_refused(run(*options, "--settled", "settled.csv", "--out", "settled.csv"), "settled.csv")


def test_two_files_without_differences_become_one(run, tmp_path):
    """By rows that each file names in columns of its own; lines that only the second file has come last."""
    write_csv(tmp_path / "a.csv", ["Patient", "id", "label", "verdict"], [["x", "P1", "=flu", "1"]])
    write_csv(
        tmp_path / "b.csv", ["label", "note", "verdict", "id"], [["cold", "n", "no", "P2"], ["'=flu", "m", "1", "P1"]]
    )
    ran(run("agree", "a.csv", "b.csv", "--out", "d.csv"))
    ran(run("agree", "a.csv", "b.csv", "--settled", "d.csv", "--out", "joined.csv"))
    names, joined = read_csv("joined.csv")
    assert names == ["patient", "id", "label", "note", "verdict"]
    assert joined == [["x", "P1", "'=flu", "", "1"], ["", "P2", "cold", "n", "0"]]


@pytest.mark.parametrize(
    ("settled", "words"),
    [
        ([], ["settled.csv leaves 2 differences open, the first: check b, label flu; fill in its column verdict"]),
        ([["b", "flu", "1"]], ["leaves 1 difference open, the first: check c, label flu"]),
        ([["b", "flu", "1"], ["c", "flu", ""]], ["leaves 1 difference open"]),
        ([["b", "flu", "1"], ["c", "flu", "0"], ["d", "flu", "0"]], ["settled.csv, line 4", "no verdict on this"]),
        ([["b", "flu", "1"], ["b", "flu", "0"]], ["settled.csv, line 3", "a second and different verdict"]),
    ],
)
def test_differences_that_are_not_settled_are_refused(run, tmp_path, settled, words):
    header = ["check", "label", "verdict"]
    write_csv(tmp_path / "a.csv", header, [["a", "flu", "1"], ["b", "flu", "1"], ["c", "flu", "0"]])
    write_csv(tmp_path / "b.csv", header, [["a", "flu", "1"], ["b", "flu", "0"], ["c", "flu", "1"]])
    write_csv(tmp_path / "settled.csv", header, settled)
    assert_refused(run("agree", "a.csv", "b.csv", "--settled", "settled.csv", "--out", "joined.csv"), *words)
    assert not (tmp_path / "joined.csv").exists()


def test_what_settles_differences_names_rows_as_both_files_do(run, tmp_path):
    for name in ("a.csv", "b.csv"):
        write_csv(tmp_path / name, ["check", "id", "label", "verdict"], [["a", "P1", "flu", "1"]])
    write_csv(tmp_path / "settled.csv", ["check", "label", "verdict"], [])
    options = "agree", "a.csv", "b.csv", "--settled", "settled.csv"
    assert_refused(run(*options, "--out", "joined.csv"), "settled.csv lacks the column 'id'")
    assert_refused(run(*options), "--settled joins two files of verdicts; add --out FILE.csv")
    assert_refused(run("agree", "a.csv", "none.csv"), "none.csv does not exist; check the path of the second file.")
