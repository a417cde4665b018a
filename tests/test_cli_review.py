"""`nmlsdr review`: the list by kind, its explanation, and the way of a verdict back into the next fit."""

import csv

import numpy as np
import pytest
from commands import LABELS, assert_done, assert_refused, label_columns, read_csv, run, tables  # noqa: F401

from nmlsdr import ResidualPropagation
from nmlsdr._cli.reviewed import clamp
from nmlsdr.inspection import rank_suspects

COLUMNS = ["--label-columns", label_columns()]
NAMES = ["row", "label", "given", "score", "suggest", "kind", "rank", "verdict"]


@pytest.fixture
def groups(rng, tmp_path):
    """Four far groups of 15 rows, each with its own labels, and four wrong annotations; returns (X, given, wrong)."""
    Y = np.tile([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], (15, 1))
    X = 5 * Y + rng.normal(size=Y.shape)
    given = Y.copy()
    wrong = [(12, 0), (21, 1), (34, 2), (41, 0)]  # three forgotten, one given to a row that it does not fit
    for i, c in wrong:
        given[i, c] = 1 - given[i, c]
    np.savez(tmp_path / "wrong.npz", X=X, y=given)
    return X, given, wrong


def entries(rows):
    """(row, label) of each line."""
    return [(int(row[0]), int(row[1].removeprefix("label_"))) for row in rows]


def write_rows(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def review(run, *options, out="review.csv"):  # noqa: F811
    """The lines of a review, and what it said."""
    outcome = run("review", "wrong.npz", "--n-neighbors", "6", "--quiet", *options, "--out", out)
    assert outcome.status == 0, outcome
    names, rows = read_csv(out)
    assert names[: len(NAMES)] == NAMES
    return rows, outcome.err


def test_the_wrong_annotations_come_first(run, groups):  # noqa: F811
    _, given, wrong = groups
    rows, _ = review(run)
    assert len(rows) == given.size
    assert set(entries(rows[: len(wrong)])) == set(wrong)
    scores = [float(row[3]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    for (i, c), row in zip(entries(rows), rows, strict=True):
        assert int(row[2]) == given[i, c]
        assert row[4:6] == (["remove", "spurious"] if given[i, c] else ["add", "missing"])
        assert row[7] == ""


@pytest.mark.parametrize("kind", ["missing", "spurious"])
def test_a_kind_is_its_part_of_both(run, groups, kind):  # noqa: F811
    both, _ = review(run)
    alone, _ = review(run, "--kind", kind, out="alone.csv")
    assert alone == [row for row in both if row[5] == kind]
    assert [int(row[6]) for row in alone] == list(range(1, len(alone) + 1))
    first, _ = review(run, "--kind", kind, "--top", "3", out="first.csv")
    assert first == alone[:3]


def test_labelled_rows_only(run, tables, tmp_path):  # noqa: F811
    (tmp_path / "mask.txt").write_text("1\n" * 20 + "0\n" * 40)
    assert run("review", "train.csv", *COLUMNS, "--mask", "mask.txt", "--out", "review.csv").status == 0
    rows = read_csv("review.csv")[1]
    assert {int(row[0]) for row in rows} == set(range(20))
    assert {row[1] for row in rows} == set(LABELS)


def test_the_buried_kind_is_named_once(run, rng, tmp_path):  # noqa: F811
    """Where a third of the 1s are forgotten, 100 given 1s head the list of both; told in one line, not with --kind."""
    truth = np.repeat(np.eye(6, dtype=int), 60, axis=0)
    X = truth @ rng.normal(size=(6, 5)) + rng.normal(size=(360, 5))
    given = np.where(rng.random(truth.shape) < 0.35, 0, truth)
    np.savez(tmp_path / "wrong.npz", X=X, y=given)
    rows, said = review(run)
    assert [row[5] for row in rows[:100]].count("missing") <= 5  # the case is what it claims to be
    assert len(said.splitlines()) == 1
    assert "--kind missing" in said
    _, said = review(run, "--kind", "missing")
    assert said == ""


def test_explanations_are_the_nearest_rows(run, groups):  # noqa: F811
    from sklearn.preprocessing import StandardScaler

    X, given, _ = groups
    rows, _ = review(run, "--explain", "--top", "8")
    names, _ = read_csv("review.csv")
    assert names[len(NAMES) : len(NAMES) + 3] == ["near_1", "near_1_given", "near_1_distance"]
    Z = ResidualPropagation(n_neighbors=6).fit(StandardScaler().fit_transform(X), given).embedding_
    for (i, c), row in zip(entries(rows), rows, strict=True):
        distances = np.linalg.norm(Z - Z[i], axis=1)
        distances[i] = np.inf
        near = [int(v) for v in row[8::3]]
        assert near == np.argsort(distances, kind="stable")[:5].tolist()
        assert [int(v) for v in row[9::3]] == given[near, c].tolist()
        assert [float(v) for v in row[10::3]] == pytest.approx(distances[near], abs=1e-8)


def test_explanations_by_angle(run, groups):  # noqa: F811
    from sklearn.metrics.pairwise import cosine_distances
    from sklearn.preprocessing import StandardScaler

    X, given, _ = groups
    rows, _ = review(run, "--explain", "--top", "8", "--metric", "cosine")
    model = ResidualPropagation(n_neighbors=6, metric="cosine").fit(StandardScaler().fit_transform(X), given)
    apart = cosine_distances(model.embedding_)
    for (i, _), row in zip(entries(rows), rows, strict=True):
        assert [float(v) for v in row[10::3]] == pytest.approx(np.sort(np.delete(apart[i], i))[:5], abs=1e-8)


# ---------------------------------------------------------------- verdicts


def test_the_loop_closes(run, groups):  # noqa: F811
    """review -> verdicts -> review: what was decided is set, clamped and no longer listed; fit takes the same file."""
    from nmlsdr.model_file import load_model

    _, given, wrong = groups
    rows, _ = review(run)
    for row in rows[:6]:
        (entry,) = entries([row])
        row[7] = str(1 - given[entry]) if entry in wrong else "keep"
    write_rows("checked.csv", NAMES, rows)
    later, _ = review(run, "--reviewed", "checked.csv", out="second.csv")
    assert len(later) == len(rows) - 6
    assert not set(entries(later)) & set(entries(rows[:6]))
    assert float(later[0][3]) < float(rows[0][3])  # what was wrong no longer speaks against its neighbours
    assert_done(run("fit", "wrong.npz", "--n-neighbors", "6", "--reviewed", "checked.csv", "--out", "m.npz"))
    F = load_model("m.npz").named_steps["model"].label_distributions_
    for i, c in wrong:
        assert F[i, c] == pytest.approx(1 - given[i, c], abs=1e-7)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["60", "label_0", "1"], ["line 2", "has no row '60'"]),
        (["x", "label_0", "1"], ["line 2", "has no row 'x'"]),
        (["0", "flu", "1"], ["line 2", "has no label 'flu'"]),
        (["0", "label_0", "perhaps"], ["line 2", "the verdict 'perhaps' is none", "1, yes or add"]),
        (["0", "label_0"], ["line 2", "2 cells where the header has 3"]),
    ],
)
def test_a_verdict_that_cannot_be_is_one_sentence(run, groups, line, words):  # noqa: F811
    write_rows("checked.csv", ["row", "label", "verdict"], [line])
    outcome = run("review", "wrong.npz", "--reviewed", "checked.csv", "--out", "a.csv")
    assert_refused(outcome, "checked.csv", *words)


def test_files_of_verdicts_that_cannot_be_read(run, groups, tmp_path):  # noqa: F811
    def refused(*words):
        assert_refused(run("review", "wrong.npz", "--reviewed", "checked.csv", "--out", "a.csv"), *words)

    refused("checked.csv", "No such file")
    write_rows("checked.csv", ["row", "label"], [])
    refused("checked.csv lacks the column 'verdict'")
    write_rows("checked.csv", ["row", "label", "verdict"], [["0", "label_0", "1"], ["0", "label_0", "0"]])
    refused("line 3", "a second and different verdict")
    (tmp_path / "checked.csv").write_bytes(b"row,label,verdict\n\xff,label_0,1\n")
    refused("not UTF-8 text (byte 18)")
    outcome = run("review", "wrong.npz", "--reviewed", "checked.csv", "--out", "checked.csv")
    assert_refused(outcome)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("verdict", ["1", "yes", "TRUE", "add", " y "])
def test_what_spreadsheets_save_is_read(run, groups, delimiter, verdict, tmp_path):  # noqa: F811
    lines = [["verdict", "Label", "note", "row"], [verdict, "label_0", "sure", "1"], ["", "label_0", "", "2"], []]
    text = "\r\n".join(delimiter.join(line) for line in lines)
    (tmp_path / "checked.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    rows, _ = review(run, "--reviewed", "checked.csv")
    assert (1, 0) not in entries(rows)
    assert (2, 0) in entries(rows)


def test_clamped_entries_alone_have_alpha_zero():
    target = np.array([[1, 0], [0, 1], [-1, -1]])
    reviewed = np.zeros((3, 2), dtype=bool)
    assert clamp(None, target, None, None) is None
    assert clamp(reviewed, target, None, None) is None
    reviewed[1, 0] = True
    assert clamp(reviewed, target, 0.5, None).tolist() == [[0.5, 0.5], [0.0, 0.5], [0.999, 0.999]]


def test_reviewed_annotations_are_not_ranked():
    reviewed = np.array([[True, False]])
    assert rank_suspects([[0.9, 0.1]], [[1, 0]], reviewed=reviewed).label.tolist() == [1]
    with pytest.raises(ValueError, match=r"boolean array of shape \(1, 2\)"):
        rank_suspects([[0.9, 0.1]], [[1, 0]], reviewed=[True, False])


def test_rows_are_found_by_their_id(run, rng):  # noqa: F811
    """The list names rows by id, and a verdict finds them by it, wherever the row stands by then."""
    from commands import write_csv

    truth = rng.integers(0, 2, (40, 2))
    X = truth @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(40, 3))
    rows = [[f"P{i:02d}", *x, *y] for i, (x, y) in enumerate(zip(X.round(3).tolist(), truth.tolist(), strict=True))]
    head = ["patient", "a", "b", "c", "flu", "cold"]
    options = ["--label-columns", "flu,cold", "--id", "patient", "--n-neighbors", "5", "--quiet"]
    write_csv("one.csv", head, rows)
    assert run("review", "one.csv", *options, "--explain", "--top", "3", "--out", "list.csv").status == 0
    names, found = read_csv("list.csv")
    assert names[:3] == ["patient", "row", "label"]
    assert all(line[0] == f"P{int(line[1]):02d}" for line in found)
    assert all(line[names.index("near_1")].startswith("P") for line in found)
    for line in found:
        line[names.index("verdict")] = "keep"
    write_rows("checked.csv", names, found)
    write_csv("turned.csv", head, rows[::-1])
    assert run("review", "turned.csv", *options, "--reviewed", "checked.csv", "--out", "later.csv").status == 0
    later = {(line[0], line[2]) for line in read_csv("later.csv")[1]}
    assert len(later) == truth.size - 3
    assert not later & {(line[0], line[2]) for line in found}


def test_a_verdict_on_a_row_without_labels(run, groups):  # noqa: F811
    """The row is then known in that entry only; fit and review take it."""
    X, given, _ = groups
    given = given.copy()
    given[5] = -1
    np.savez("wrong.npz", X=X, y=given)
    write_rows("checked.csv", ["row", "label", "verdict"], [["5", "label_2", "1"]])
    rows, _ = review(run, "--reviewed", "checked.csv")
    assert not [entry for entry in entries(rows) if entry[0] == 5]
    assert_done(run("fit", "wrong.npz", "--n-neighbors", "6", "--reviewed", "checked.csv", "--out", "m.npz"))
