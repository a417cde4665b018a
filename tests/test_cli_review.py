"""`nmlsdr review`: the list by kind, and its explanation."""

import numpy as np
import pytest
from commands import LABELS, assert_done, label_columns, read_csv, run, tables  # noqa: F401

from nmlsdr import ResidualPropagation
from nmlsdr.inspection import rank_suspects

COLUMNS = ["--label-columns", label_columns()]
NAMES = ["row", "label", "given", "score", "suggest", "kind", "rank"]


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
        near = [int(v) for v in row[7::3]]
        assert near == np.argsort(distances, kind="stable")[:5].tolist()
        assert [int(v) for v in row[8::3]] == given[near, c].tolist()
        assert [float(v) for v in row[9::3]] == pytest.approx(distances[near], abs=1e-8)


def test_reviewed_annotations_are_not_ranked():
    reviewed = np.array([[True, False]])
    assert rank_suspects([[0.9, 0.1]], [[1, 0]], reviewed=reviewed).label.tolist() == [1]
    with pytest.raises(ValueError, match=r"boolean array of shape \(1, 2\)"):
        rank_suspects([[0.9, 0.1]], [[1, 0]], reviewed=[True, False])
