"""`nmlsdr correct`: the table as it was, with the labels of verdicts changed, and a column that says which."""

import csv
import gzip

import numpy as np
import pytest
from commands import assert_refused, ran, read_csv, write_csv

from nmlsdr.tables import Roles, read_table

LABELS = ["flu", "cold"]
COLUMNS = ["--label-columns", "flu,cold", "--id", "id"]
GIVEN = np.array([[0, 1], [1, 0], [1, -1], [-1, -1], [0, 0], [1, 1]])
CHANGES = {(0, 0): 1, (1, 0): 0, (2, 1): 1, (3, 0): 0, (5, 1): 1}  # the last confirms
ODD = ["=1+1", 'say "so"', "a,b", " 1.50 ", "two\nlines", "Größe"]


def decide(path="checked.csv", changes=CHANGES):
    lines = [[f"P{i}", LABELS[c], value] for (i, c), value in changes.items()]
    write_csv(path, ["id", "label", "verdict"], [*lines, ["P4", "flu", "unclear"], ["P4", "cold", ""]])


def write(path, words=("0", "1", ""), delimiter=","):
    cells = [[words[value] for value in row] for row in GIVEN]
    lines = [[f"P{i}", f"0{i}.50", note, *row] for i, (note, row) in enumerate(zip(ODD, cells, strict=True))]
    write_csv(path, ["id", "dose", "note", *LABELS], lines, delimiter)
    return lines


def cells_of(path, delimiter=","):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=delimiter))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("words", [("0", "1", ""), ("no", "yes", "?"), ("nein", "ja", "")])
def test_labels_of_verdicts_change_and_all_else_stays(run, words, delimiter):
    suffix = "tsv" if delimiter == "\t" else "csv"
    before = write(f"t.{suffix}", words, delimiter)
    decide()
    outcome = ran(run("correct", f"t.{suffix}", *COLUMNS, "--reviewed", "checked.csv", "--out", f"c.{suffix}"))
    header, *after = cells_of(f"c.{suffix}", delimiter)
    assert header == ["id", "dose", "note", *LABELS, "corrected"]
    expected = [[*line, ""] for line in before]
    for (i, c), value in CHANGES.items():
        expected[i][3 + c] = words[value]
    changes = {0: "flu: no -> yes", 1: "flu: yes -> no", 2: "cold: unknown -> yes", 3: "flu: unknown -> no"}
    for i, text in changes.items():
        expected[i][5] = text
    assert after == expected
    assert "6 rows, 4 changed labels. A fit wants the original table with --reviewed and not this one" in outcome.err


def test_a_corrected_table_reads_as_the_labels_with_the_verdicts(run):
    write("t.csv")
    decide()
    ran(run("correct", "t.csv", *COLUMNS, "--reviewed", "checked.csv", "--out", "c.csv"))
    roles = Roles(label_columns=LABELS, drop=["id", "dose", "note", "corrected"])
    expected = GIVEN.copy()
    for place, value in CHANGES.items():
        expected[place] = value
    names = ["id", "dose", "note", *LABELS, "corrected"]
    header, *rows = cells_of("c.csv")
    assert header == names
    write_csv("numbers.csv", [*names, "x"], [[*row, k] for k, row in enumerate(rows)])
    np.testing.assert_array_equal(read_table("numbers.csv", roles).target, expected)


def test_crosses_stay_crosses(run):
    lines = [[f"P{i}", i, *("x" if value == 1 else "" for value in row)] for i, row in enumerate(GIVEN)]
    write_csv("t.csv", ["id", "a", *LABELS], lines)
    decide(changes={(0, 0): 1, (1, 0): 0})
    ran(run("correct", "t.csv", *COLUMNS, "--reviewed", "checked.csv", "--out", "c.csv"))
    rows = cells_of("c.csv")[1:]
    assert rows[0][2:] == ["x", "x", "flu: no -> yes"]
    assert rows[1][2:] == ["", "", "flu: yes -> no"]


LISTS = ["flu; cold", "cold", "", "keine", "flu; gout", "gout"]


def test_lists_keep_their_form(run):
    write_csv("t.csv", ["id", "a", "tags"], [[f"P{i}", i, cell] for i, cell in enumerate(LISTS)])
    options = ["--label-list", "tags", "--no-label", "keine", "--id", "id"]
    lines = [("P0", "flu", 0), ("P0", "gout", 1), ("P1", "cold", 0), ("P2", "flu", 1), ("P3", "cold", 1)]
    write_csv("checked.csv", ["id", "label", "verdict"], lines)
    outcome = ran(run("correct", "t.csv", *options, "--reviewed", "checked.csv", "--out", "c.csv"))
    rows = [row[2:] for row in cells_of("c.csv")[1:]]
    assert rows[0] == ["cold; gout", "flu: yes -> no; gout: no -> yes"]
    assert rows[1] == ["keine", "cold: yes -> no"]
    assert rows[2] == ["", ""]  # whether it has the other labels is not known
    assert rows[3] == ["cold", "cold: no -> yes"]
    assert [row[0] for row in rows[4:]] == LISTS[4:]
    assert "1 row with verdicts have labels that are still unknown" in outcome.err


def test_titles_above_and_totals_below_stay_and_a_packed_file_is_read(run):
    rows = [[f"P{i}", i, *("" if value == -1 else value for value in row)] for i, row in enumerate(GIVEN)]
    lines = [["Visits of May", "", "", ""], ["id", "a", *LABELS], *rows, ["Total", 15, "", ""]]
    with gzip.open("t.csv.gz", "wt", encoding="cp1252", newline="") as file:
        csv.writer(file).writerows(lines)
    decide(changes={(4, 1): 1})
    ran(run("correct", "t.csv.gz", *COLUMNS, "--reviewed", "checked.csv", "--out", "c.csv"))
    after = cells_of("c.csv")
    assert after[0] == list(lines[0])
    assert after[-1] == ["Total", "15", "", ""]
    assert after[6] == ["P4", "4", "0", "1", "cold: no -> yes"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["t.csv", *COLUMNS, "--out", "c.csv"], ["nmlsdr correct needs the verdicts; give their file with --reviewed"]),
        (["a.npz", "--reviewed", "checked.csv", "--out", "c.csv"], ["takes a CSV or TSV file, got a.npz"]),
        (["t.csv", *COLUMNS, "--reviewed", "checked.csv", "--out", "t.csv"], ["t.csv"]),
        (["t.csv", *COLUMNS, "--reviewed", "checked.csv", "--out", "c.xlsx"], ["must end in .csv, .tsv"]),
        (["t.csv", "--reviewed", "checked.csv", "--out", "c.csv"], ["was read without labels"]),
        (
            ["t.csv", "--label-file", "t.csv", "--reviewed", "checked.csv", "--out", "c.csv"],
            ["not those of --label-file"],
        ),
    ],
)
def test_what_cannot_be_corrected_is_refused(run, arguments, words):
    write("t.csv")
    decide()
    np.savez("a.npz", X=np.zeros((3, 1)), y=np.zeros((3, 1)))
    outcome = run("correct", *arguments, "--quiet")
    assert_refused(outcome, *words)


@pytest.mark.parametrize("changed_options", [["--id", "id", "--drop", "dose"], ["--id", "visit"]])
def test_where_checks_differ_the_error_names_the_options_that_change_them(run, rng, changed_options):
    """The check is a hash of the columns that are read, so another --id or --drop changes each of them."""
    X = rng.normal(size=(40, 2)).round(3)
    rows = [[f"P{i}", f"V{i}", *x, int(x[0] > 0), int(x[1] > 0)] for i, x in enumerate(X.tolist())]
    write_csv("t.csv", ["id", "visit", "dose", "size", *LABELS], rows)
    ran(run("review", "t.csv", *COLUMNS, "--out", "list.csv"))
    names, lines = read_csv("list.csv")
    keep = [names.index(name) for name in ("label", "check")]
    verdicts = [[*(line[k] for k in keep), i % 2] for i, line in enumerate(lines)]
    write_csv("checked.csv", ["label", "check", "verdict"], verdicts)
    arguments = ["--reviewed", "checked.csv", "--out", "c.csv"]
    ran(run("correct", "t.csv", *COLUMNS, *arguments))
    outcome = run("correct", "t.csv", *COLUMNS[:2], *changed_options, *arguments, "--quiet")
    assert_refused(outcome, "no row of the table has the check", "with the same --id and --drop")
