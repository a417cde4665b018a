"""`nmlsdr review`: the list by kind, its explanation, and the way of a verdict back into the next fit."""

import csv
import re

import numpy as np
import pytest
from commands import LABELS, assert_done, assert_refused, label_columns, ran, read_csv, write_csv
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr._cli.reviewed import fit_reviewed
from nmlsdr._cli.table import Table
from nmlsdr.inspection import rank_suspects
from nmlsdr.inspection._row_checks import check_rows
from nmlsdr.inspection._verdicts import escape_formula, unescape_formula

COLUMNS = ["--label-columns", label_columns()]
NAMES = ["row", "label", "score", "suggest", "kind", "rank", "audit", "check", "verdict"]


@pytest.fixture
def groups(tmp_path):
    """Four far groups of 15 rows, each with its own labels, and four wrong annotations; returns (X, given, wrong)."""
    Y = np.tile([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], (15, 1))
    X = 5 * Y + 0.6 * np.random.default_rng(0).normal(size=Y.shape)  # of other draws one entry can come later
    noisy_labels = Y.copy()
    wrong = [(12, 0), (21, 1), (34, 2), (41, 0)]  # three forgotten, one given to a row that it does not fit
    for i, c in wrong:
        noisy_labels[i, c] = 1 - noisy_labels[i, c]
    np.savez(tmp_path / "wrong.npz", X=X, y=noisy_labels)
    return X, noisy_labels, wrong


def entries(rows):
    """(row, label) of each line."""
    return [(int(row[0]), int(row[1].removeprefix("label_"))) for row in rows]


def decide(table, *lines, names=("check", "label", "verdict")):
    """Write checked.csv, in which each line begins with the number of its row, in whose place its check stands."""
    checks = check_rows(*table[:2])
    write_csv("checked.csv", names, [[checks[row], *cells] for row, *cells in lines])


def review(run, *options, out="review.csv"):
    """The lines of a review, and what it said."""
    outcome = ran(run("review", "wrong.npz", "--n-neighbors", "6", "--quiet", *options, "--out", out))
    names, rows = read_csv(out)
    assert names[: len(NAMES)] == NAMES
    return rows, outcome.err


def test_the_wrong_annotations_come_first(run, groups):
    _, noisy_labels, wrong = groups
    rows, _ = review(run, "--audit", "0")
    assert len(rows) == noisy_labels.size
    assert (
        len(set(entries(rows[: len(wrong)])) & set(wrong)) >= len(wrong) - 1
    )  # which folds a row is in decides on one
    scores = [float(row[2]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    for (i, c), row in zip(entries(rows), rows, strict=True):
        assert row[3:5] == (["remove", "wrong"] if noisy_labels[i, c] else ["add", "forgotten"])
        assert row[8] == ""


@pytest.mark.parametrize("mistake", ["forgotten", "given to wrong rows"])
def test_the_likelier_kind_of_mistake_comes_first(rng, mistake):
    """Most of the mistakes are found in as many entries as there are, whatever their kind."""
    truth = np.repeat(np.eye(6, dtype=int), 60, axis=0)
    X = 5 * truth[:, :5] + rng.normal(size=(360, 5))
    if mistake == "forgotten":
        noisy_labels = np.where(rng.random(truth.shape) < 0.35, 0, truth)
    else:
        noisy_labels = np.where(rng.random(truth.shape) < 0.08, 1, truth)
    model = ResidualPropagation(n_neighbors=6, n_estimators=20).fit(X, noisy_labels)
    suspects = rank_suspects(model, noisy_labels)
    wrong = noisy_labels != truth
    head = suspects.first(int(wrong.sum()))
    assert (head.kind == ("forgotten" if mistake == "forgotten" else "wrong")).mean() > 0.95
    assert wrong[head.row, head.label].mean() > 0.6


def test_python_and_the_command_make_the_same_list(run, groups):
    X, noisy_labels, _ = groups
    rows, _ = review(run)
    model = ResidualPropagation(n_neighbors=6).fit(StandardScaler().fit_transform(X), noisy_labels)
    suspects = rank_suspects(model, noisy_labels, audit=5)
    assert entries(rows) == list(zip(suspects.row.tolist(), suspects.label.tolist(), strict=True))


@pytest.mark.parametrize("kind", ["forgotten", "wrong"])
def test_a_list_of_one_kind_is_its_part_of_the_list_of_all(run, groups, kind):
    rows_of_both_kinds, _ = review(run, "--audit", "0")
    alone, _ = review(run, "--kind", kind, "--audit", "0", out="alone.csv")
    assert alone == [row for row in rows_of_both_kinds if row[4] == kind]
    assert [int(row[5]) for row in alone] == list(range(1, len(alone) + 1))
    first, _ = review(run, "--kind", kind, "--audit", "0", "--top", "3", out="first.csv")
    assert first == alone[:3]


def test_only_labelled_rows_are_reviewed(run, tables, tmp_path):
    (tmp_path / "mask.txt").write_text("1\n" * 20 + "0\n" * 40)
    assert run("review", "train.csv", *COLUMNS, "--mask", "mask.txt", "--out", "review.csv").status == 0
    rows = read_csv("review.csv")[1]
    assert {int(row[0]) for row in rows} == set(range(20))
    assert {row[1] for row in rows} == set(LABELS)


def test_the_terminal_shows_the_first_five_and_what_to_do(run, groups):
    outcome = run("review", "wrong.npz", "--n-neighbors", "6", "--out", "r.csv")
    rows = read_csv("r.csv")[1]
    shown_lines = [line for line in outcome.err.splitlines() if line.startswith("  row ")]
    words = {"add": "not given, perhaps missing", "remove": "given, perhaps wrongly"}
    assert shown_lines == [f"  row {row[0]}: {row[1]}, {words[row[3]]}" for row in rows[:5]]
    assert "Fill in its verdicts, and pass it to --reviewed." in outcome.err
    pytest.importorskip("jinja2")
    assert "Open it in a browser" in run("review", "wrong.npz", "--out", "r.html").err


def test_explanations_are_the_nearest_rows(run, groups):

    X, noisy_labels, _ = groups
    rows, _ = review(run, "--explain", "--top", "8")
    names, _ = read_csv("review.csv")
    assert names[len(NAMES) : len(NAMES) + 3] == ["near_1", "near_1_given", "near_1_distance"]
    Z = ResidualPropagation(n_neighbors=6).fit(StandardScaler().fit_transform(X), noisy_labels).embedding_
    for (i, c), row in zip(entries(rows), rows, strict=True):
        distances = np.linalg.norm(Z - Z[i], axis=1)
        distances[i] = np.inf
        near = [int(v) for v in row[9:24:3]]
        assert near == np.argsort(distances, kind="stable")[:5].tolist()
        assert [int(v) for v in row[10:24:3]] == noisy_labels[near, c].tolist()
        assert [float(v) for v in row[11:24:3]] == pytest.approx(distances[near], rel=6e-3)


def test_the_list_says_which_words_and_columns_speak_for_a_label(run, rng, tmp_path, monkeypatch):
    """The linear part of the model by hand: coefficient times standardised value, of a column over its features."""
    monkeypatch.chdir(tmp_path)
    sick = rng.random(120) < 0.5
    notes = [f"{'fever and cough' if s else 'a good visit'} number {'abcdefgh'[i % 8]}{i}" for i, s in enumerate(sick)]
    lines = [[f"{38 * s + rng.normal():.2f}", note, int(s)] for s, note in zip(sick, notes, strict=True)]
    for i in (3, 50):
        lines[i][2] = 1 - lines[i][2]
    write_csv("t.csv", ["age", "note", "flu"], lines)
    options = ("--label-columns", "flu", "--explain", "--top", "2", "--quiet")
    ran(run("review", "t.csv", *options, "--out", "l.csv"))
    names, list_lines = read_csv("l.csv")
    assert names[-2:] == ["speaks_for", "speaks_against"]
    for line in list_lines:
        row = int(line[0])
        assert row in (3, 50)
        likes, dislikes = line[-2:] if sick[row] else line[:-3:-1]
        words = {"fever", "cough", "and"} if sick[row] else {"good", "visit", "a"}
        assert {part.split()[0].strip('"') for part in likes.split("; ")} <= {"age", *words}
        assert likes.count("; ") >= 1
        assert all(not part or part.split()[0].strip('"') not in words for part in dislikes.split("; "))


def test_explanations_use_the_cosine_distance_if_it_is_chosen(run, groups):
    from sklearn.metrics.pairwise import cosine_distances

    X, noisy_labels, _ = groups
    rows, _ = review(run, "--explain", "--top", "8", "--metric", "cosine")
    model = ResidualPropagation(n_neighbors=6, metric="cosine").fit(StandardScaler().fit_transform(X), noisy_labels)
    apart = cosine_distances(model.embedding_)
    for (i, _), row in zip(entries(rows), rows, strict=True):
        assert [float(v) for v in row[11:24:3]] == pytest.approx(
            np.sort(np.delete(apart[i], i))[:5], rel=6e-3, abs=1e-8
        )


# ---------------------------------------------------------------- verdicts


def test_verdicts_are_used_by_the_next_review_and_fit(run, groups):
    """review -> verdicts -> review: what was decided is set, clamped and no longer listed; fit takes the same file."""
    from nmlsdr.model_file import load_model

    X, noisy_labels, wrong = groups
    rows, _ = review(run)
    verdicts = np.full(noisy_labels.shape, -1)
    for row in rows[:6]:
        (entry,) = entries([row])
        row[8] = str(1 - noisy_labels[entry]) if entry in wrong else "keep"
        verdicts[entry] = 1 - noisy_labels[entry] if entry in wrong else noisy_labels[entry]
    write_csv("checked.csv", NAMES, rows)
    later, _ = review(run, "--reviewed", "checked.csv", out="second.csv")
    assert len(later) == len(rows) - 6
    assert not set(entries(later)) & set(entries(rows[:6]))
    model = ResidualPropagation(n_neighbors=6).fit(StandardScaler().fit_transform(X), noisy_labels, verdicts=verdicts)
    suspects = rank_suspects(model, noisy_labels, verdicts=verdicts, audit=5)  # by the labels of before
    assert entries(later) == list(zip(suspects.row.tolist(), suspects.label.tolist(), strict=True))
    outcome = ran(run("fit", "wrong.npz", "--n-neighbors", "6", "--reviewed", "checked.csv", "--out", "m.skops"))
    assert outcome.err.startswith("nmlsdr: checked.csv: 6 verdicts, ")
    n_changed = int(re.search(r"(\d+) labels? changed, 0 unclear", outcome.err)[1])
    assert n_changed == sum(entry in wrong for entry in entries(rows[:6]))
    # Beside these and what was written, only the features of this table that tell a label alone are noted.
    note = r"nmlsdr: wrong\.npz: the feature \d+ alone predicts the label 'label_\d' \(average precision .+\); if .*"
    for line in outcome.err.splitlines()[1:]:
        assert re.fullmatch(note, line) or line.startswith("nmlsdr: wrote m.skops: "), outcome
    F = load_model("m.skops").named_steps["model"].label_distributions_
    for i, c in wrong:
        assert F[i, c] == pytest.approx(1 - noisy_labels[i, c], abs=1e-7)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ([0, "flu", "1"], ["line 2", "has no label 'flu'"]),
        ([0, "label_0", "perhaps"], ["line 2", "'perhaps' is not a verdict", "1, yes or add"]),
        ([0, "label_0"], ["line 2", "2 cells, but the header has 3"]),
    ],
)
def test_an_impossible_verdict_raises_a_clear_error(run, groups, line, words):
    decide(groups, line)
    outcome = run("review", "wrong.npz", "--reviewed", "checked.csv", "--out", "a.csv")
    assert_refused(outcome, "checked.csv", *words)


def test_files_of_verdicts_that_cannot_be_read(run, groups, tmp_path):
    def refused(*words):
        assert_refused(run("review", "wrong.npz", "--reviewed", "checked.csv", "--out", "a.csv"), *words)

    refused("checked.csv does not exist")
    write_csv("checked.csv", ["check", "label"], [])
    refused("checked.csv lacks the column 'verdict'")
    write_csv("checked.csv", ["row", "label", "verdict"], [["0", "label_0", "1"]])  # any table has a row 0
    refused("checked.csv lacks the column 'check'")
    decide(groups, [0, "label_0", "1"], [0, "label_0", "0"])
    refused("line 3", "a second and different verdict")
    (tmp_path / "checked.csv").write_bytes(b"row,label,verdict\n\x81\x98\xff\xd2,label_0,1\n")
    refused("checked.csv: it is not cp1252 text")
    outcome = run("review", "wrong.npz", "--reviewed", "checked.csv", "--out", "checked.csv")
    assert_refused(outcome)


@pytest.mark.quick_cases("1", "TRUE-;", "add")
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("verdict", ["1", "yes", "TRUE", "add", " y "])
def test_verdicts_saved_by_spreadsheets_are_read(run, groups, delimiter, verdict, tmp_path):
    checks = check_rows(*groups[:2])
    head = ["verdict", "Label", "note", "Check"]
    lines = [head, [verdict, "label_0", "sure", f" {checks[1]}"], ["", "label_0", "", checks[2]], []]
    text = "\r\n".join(delimiter.join(line) for line in lines)
    (tmp_path / "checked.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    rows, _ = review(run, "--reviewed", "checked.csv")
    assert (1, 0) not in entries(rows)
    assert (2, 0) in entries(rows)


class Recorder:
    """Keeps the alpha that it is fitted with."""

    def __init__(self, alpha_labeled=0.6, alpha_unlabeled=0.999):
        self.alpha_labeled = alpha_labeled
        self.alpha_unlabeled = alpha_unlabeled

    def fit(self, X, y, alpha=None):
        self.alpha = alpha
        return self


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [[0.6, 0.6], [0.0, 0.6], [0.999, 0.999]]),
        ({"alpha_labeled": 0.5, "alpha_unlabeled": 0.9}, [[0.5, 0.5], [0.0, 0.5], [0.9, 0.9]]),
        ({"alpha_labeled": (0.9, 0.1)}, [[0.1, 0.9], [0.0, 0.1], [0.999, 0.999]]),  # by the entry, not by the column
        ({"alpha_labeled": 0.0}, [[0.0, 0.0], [0.0, 0.0], [0.999, 0.999]]),
    ],
)
def test_reviewed_entries_alone_have_alpha_zero(settings, expected):
    file_labels = np.array([[1, 0], [0, 1], [-1, -1]])
    table = Table(data=None, target=None, labeled=None, file_labels=file_labels, verdicts=np.full((3, 2), -1))
    assert fit_reviewed(Recorder(**settings), None, table).alpha is None
    # who cannot tell leaves the entry to the neighbours
    table.verdicts[1, 0] = 0
    table.verdicts[0, 0] = -2
    np.testing.assert_allclose(fit_reviewed(Recorder(**settings), None, table).alpha, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("verb", ["fit", "review", "report"])
def test_a_pair_of_alphas_works_together_with_verdicts(run, groups, verb, n_labels):
    """A0,A1 is for given 0s and given 1s; it is not taken for one alpha a label."""
    X, noisy_labels, _ = groups
    np.savez("wrong.npz", X=X, y=noisy_labels[:, :n_labels])
    decide((X, noisy_labels[:, :n_labels]), [3, "label_1", "keep"])
    options = ["--n-neighbors", "6", "--alpha-labeled", "0.9,0.1", "--reviewed", "checked.csv"]
    out = {"fit": "m.skops", "review": "r.csv", "report": "r.html"}[verb]
    if verb == "report":
        pytest.importorskip("jinja2")
        options += ["--folds", "0"]
    assert_done(run(verb, "wrong.npz", *options, "--out", out))
    if verb == "review":
        rows = read_csv(out)[1]
        alpha = np.where(noisy_labels[:, :n_labels] == 1, 0.1, 0.9)
        alpha[3, 1] = 0.0
        model = ResidualPropagation(n_neighbors=6)
        model.fit(StandardScaler().fit_transform(X), noisy_labels[:, :n_labels], alpha=alpha)
        suspects = rank_suspects(model, noisy_labels[:, :n_labels], audit=5)
        expected = {(i, c): score for i, c, _, score, *_ in zip(*suspects, strict=True)}
        assert [float(row[2]) for row in rows] == pytest.approx([expected[entry] for entry in entries(rows)], rel=6e-3)


def test_rows_are_found_by_their_id(run, rng):
    """The list names rows by id, and a verdict finds them by it, wherever the row stands by then."""
    truth = rng.integers(0, 2, (40, 2))
    X = truth @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(40, 3))
    rows = [[f"P{i:02d}", *x, *y] for i, (x, y) in enumerate(zip(X.round(3).tolist(), truth.tolist(), strict=True))]
    head = ["patient", "a", "b", "c", "flu", "cold"]
    options = ["--label-columns", "flu,cold", "--id", "patient", "--n-neighbors", "5", "--quiet"]
    write_csv("one.csv", head, rows)
    assert run("review", "one.csv", *options, "--explain", "--top", "3", "--out", "list.csv").status == 0
    names, list_lines = read_csv("list.csv")
    assert names[:3] == ["patient", "row", "label"]
    assert all(line[0] == f"P{int(line[1]):02d}" for line in list_lines)
    assert all(line[names.index("near_1")].startswith("P") for line in list_lines)
    for line in list_lines:
        line[names.index("verdict")] = "keep"
    write_csv("checked.csv", names, list_lines)
    write_csv("turned.csv", head, rows[::-1])
    assert run("review", "turned.csv", *options, "--reviewed", "checked.csv", "--out", "later.csv").status == 0
    later = {(line[0], line[2]) for line in read_csv("later.csv")[1]}
    assert len(later) == truth.size - len(list_lines)
    assert not later & {(line[0], line[2]) for line in list_lines}


def test_a_verdict_on_a_row_without_labels(run, groups):
    """The row is then known in that entry only and counts as labelled; fit and review take it."""
    X, noisy_labels, _ = groups
    noisy_labels = noisy_labels.copy()
    noisy_labels[5:7] = -1
    X = X.copy()
    X[5] = [0, 5, 0]  # the centre of its group, so that it is among the nearest rows of others
    np.savez("wrong.npz", X=X, y=noisy_labels)
    decide((X, noisy_labels), [5, "label_2", "1"])
    rows, _ = review(run, "--reviewed", "checked.csv")
    assert not [entry for entry in entries(rows) if entry[0] == 5]
    outcome = run("fit", "wrong.npz", "--n-neighbors", "6", "--reviewed", "checked.csv", "--out", "m.skops")
    assert_done(outcome)
    assert "60 rows, 3 features, 3 labels, 1 unlabelled" in outcome.err
    listed_rows, _ = review(run, "--reviewed", "checked.csv", "--explain")
    near = {int(cell) for row in listed_rows for cell in row[9:24:3]}
    assert 5 in near
    assert 6 not in near


def test_lines_without_a_verdict_may_name_rows_that_do_not_exist(run, groups):
    """Nothing was decided on these lines, so they are not read: a list may be longer than the table of today."""
    write_csv("checked.csv", ["check", "label", "verdict"], [["60", "label_0", ""], ["x", "flu", "?"], ["1", "", " "]])
    assert review(run, "--reviewed", "checked.csv", out="b.csv")[0] == review(run)[0]


# ---------------------------------------------------------------- ids


IDS = ["--label-columns", "flu,cold", "--n-neighbors", "5", "--quiet"]


def with_ids(path, ids, rng, name="patient"):
    """A table of two labels whose first column names the rows; returns the labels."""
    truth = rng.integers(0, 2, (len(ids), 2))
    X = truth @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(len(ids), 3))
    rows = [[key, *x, *y] for key, x, y in zip(ids, X.round(3).tolist(), truth.tolist(), strict=True)]
    write_csv(path, [name, "a", "b", "c", "flu", "cold"], rows)
    return truth


def listed(path):
    """The lines of a list as dictionaries."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def settle(run, name, line, verdict):
    """Write a list with one verdict, review again, and return (row, label) of what left the list."""
    lines = listed("list.csv")
    chosen = next(record for record in lines if line(record))
    chosen["verdict"] = verdict
    write_csv("checked.csv", list(chosen), [list(record.values()) for record in lines])
    ran(run("review", "ids.csv", *IDS, "--id", name, "--reviewed", "checked.csv", "--out", "again.csv"))
    removed_entries = {(record["row"], record["label"]) for record in lines} - {
        (record["row"], record["label"]) for record in listed("again.csv")
    }
    return (chosen["row"], chosen["label"]), removed_entries


@pytest.mark.parametrize(
    "ids",
    [[f"p{i // 2}" for i in range(40)], ["" if i % 7 == 0 else f"p{i}" for i in range(40)]],
    ids=["repeated", "empty"],
)
def test_of_rows_with_one_id_the_check_decides(run, rng, ids):
    with_ids("ids.csv", ids, rng)
    assert run("review", "ids.csv", *IDS, "--id", "patient", "--out", "list.csv").status == 0
    first = next(i for i, key in enumerate(ids) if ids.count(key) > 1)
    chosen, removed_entries = settle(run, "patient", lambda record: record["row"] == str(first), "keep")
    assert removed_entries == {chosen}


def test_ids_that_are_not_unique_without_checks_are_refused(run, rng):
    with_ids("ids.csv", [f"p{i // 3}" for i in range(40)], rng)

    def refused(names, line, *words):
        write_csv("checked.csv", names, [line])
        command = ["review", "ids.csv", *IDS, "--id", "patient", "--reviewed", "checked.csv", "--out", "a.csv"]
        assert_refused(run(*command), "checked.csv, line 2", *words)

    refused(["patient", "label", "verdict"], ["p2", "flu", "1"], "3 rows of the table have the patient", "is row 6")
    names = ["patient", "check", "label", "verdict"]
    refused(names, ["p2", "", "flu", "1"], "3 rows of the table have the patient 'p2'")
    assert run("review", "ids.csv", *IDS, "--id", "patient", "--out", "list.csv").status == 0
    other_check = next(line for line in listed("list.csv") if line["row"] == "5")["check"]
    refused(
        names,
        ["p2", other_check, "flu", "1"],
        f"the check '{other_check}' and the patient 'p2' belong to two rows, 5 and 6",
    )


@pytest.mark.parametrize("name", ["row", "Row", "label", "verdict", "score", "id"])
def test_an_id_column_called_like_one_of_the_list(run, rng, name):
    """Numbers from 1 in a column called row are not the list's numbers from 0."""
    with_ids("ids.csv", range(1, 41), rng, name=name)
    assert run("review", "ids.csv", *IDS, "--id", name, "--out", "list.csv").status == 0
    assert list(listed("list.csv")[0])[:3] == ["id", "row", "label"]
    chosen, removed_entries = settle(run, name, lambda record: True, "keep")
    assert removed_entries == {chosen}
    if name.lower() == "row":  # the list's row may then be the id or the number
        write_csv("checked.csv", ["row", "label", "verdict"], [["3", "flu", "1"]])
        command = ["review", "ids.csv", *IDS, "--id", name, "--reviewed", "checked.csv", "--out", "a.csv"]
        assert_refused(run(*command), "checked.csv lacks the column 'check'")


def test_a_column_that_appears_twice_is_refused(run, groups):
    decide(groups, [1, "label_0", "1", "0"], names=["check", "label", "verdict", "Verdict"])
    outcome = run("review", "wrong.npz", "--reviewed", "checked.csv", "--out", "a.csv")
    assert_refused(outcome, "checked.csv has more than one column 'verdict'")


# ---------------------------------------------------------------- formulas

FORMULAS = ["=", "@", "\t", "\r", "+", "-"]
NUMBERS = ["-1", "+1.5", "-.5", "-2.", "+1e-3", "-1E5"]
HOSTILE = [
    "=1+1",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "+x",
    "-x",
    "-1-2",
    "+",
    "-",
    "--1",
    "-1_0",
    "-\u0661",
    "+inf",
    "-1\n",
    "'=1+1",
    "''=1+1",
    "'-1",
    "'",
    "''",
    "'n Abend",
    "x",
    "",
    '"=1"',
    "a,b",
    "=a;b",
    "\t\r",
    "'\t",
]


def is_formula(cell):
    """Whether a spreadsheet may take the cell for one, by the list of first characters."""
    return cell[:1] in {"=", "@", "\t", "\r"} or (cell[:1] in {"+", "-"} and cell not in NUMBERS)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet=["'", *FORMULAS, *'0123456789.eE_x ,;"\n']), min_size=1, max_size=8))
@example(HOSTILE + NUMBERS)
def test_cells_survive_a_round_trip_and_none_is_a_formula(cells):
    written = [escape_formula(cell) for cell in cells]
    assert [unescape_formula(cell) for cell in written] == cells
    assert len(set(written)) == len(set(cells))  # cells that differ stay different
    for cell, text in zip(cells, written, strict=True):
        assert text[:1] not in {"=", "@", "\t", "\r"}
        if text[:1] in {"+", "-"}:
            assert float(text) == float(cell)
            assert text == cell.strip()
        assert text == cell or is_formula(cell.lstrip("'"))


def test_ids_and_labels_that_look_like_formulas_find_their_rows(run, rng):
    """Every first character, ids that begin with the escape, and ids that would be equal without it."""
    pytest.importorskip("pyarrow")
    import pyarrow
    from pyarrow import parquet

    ids = [*HOSTILE, *NUMBERS, *(f"p{i}" for i in range(20))]
    labels = ["=cmd|' /C calc'!A0", "-x"]
    truth = rng.integers(0, 2, (len(ids), 2))
    X = truth @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(len(ids), 3))
    columns = {"@id": ids, **dict(zip("abc", X.T, strict=True)), **dict(zip(labels, truth.T, strict=True))}
    parquet.write_table(pyarrow.table(columns), "ids.parquet")
    options = ["--label-columns", label_columns(labels), "--id", "@id", "--n-neighbors", "5", "--quiet"]
    for suffix in ("csv", "tsv"):
        assert run("review", "ids.parquet", *options, "--explain", "--out", f"list.{suffix}").status == 0
        with open(f"list.{suffix}", newline="", encoding="utf-8-sig") as file:
            names, *lines = csv.reader(file, delimiter="\t" if suffix == "tsv" else ",")
        assert names[0] == "'@id"
        cells = {cell for line in lines for cell in line}
        assert not {cell for cell in cells if is_formula(cell) and not cell.replace("e-", "").lstrip("-").isdigit()}
        assert {unescape_formula(line[0]) for line in lines} == set(ids)
        assert all(ids[int(line[1])] == unescape_formula(line[0]) for line in lines)
        decided = {(line[0], line[2]) for line in lines[::2]}
        for line in lines[::2]:
            line[names.index("verdict")] = "keep"
        with open(f"checked.{suffix}", "w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="\t" if suffix == "tsv" else ",").writerows([names, *lines])
        ran(run("review", "ids.parquet", *options, "--reviewed", f"checked.{suffix}", "--out", "again.csv"))
        later = {(row[0], row[2]) for row in read_csv("again.csv")[1]}
        assert not later & decided
        assert len(later) == truth.size - len(decided)


def test_other_results_keep_their_cells(run, rng):
    """Predictions are read by programs, which would take the apostrophe for part of the id."""
    with_ids("ids.csv", [f"={i}" for i in range(40)], rng)
    assert_done(run("fit", "ids.csv", *IDS, "--id", "patient", "--out", "m.skops"))
    assert run("predict", "m.skops", "ids.csv", "--id", "patient", "--quiet", "--out", "p.csv").status == 0
    assert [row[0] for row in read_csv("p.csv")[1]] == [f"={i}" for i in range(40)]
