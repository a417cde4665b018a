"""review --ask, --ask-rows and --random: what is listed, and how answers reach the next fit."""

import csv
import functools
import re

import numpy as np
import pytest
from commands import assert_refused, ran, read_csv, write_csv

from nmlsdr import ResidualPropagation
from nmlsdr.inspection._error_rate import wilson_interval
from nmlsdr.inspection._other_lists import list_in_turn, list_random
from nmlsdr.inspection._review import rank_suspects
from nmlsdr.inspection._row_labels import draw_rows
from nmlsdr.inspection._unknown import Queries

LABELS = ["flu", "cold", "gout"]
COLUMNS = ["--label-columns", ",".join(LABELS), "--id", "patient"]
N = 120


@pytest.fixture
def truth(rng, tmp_path):
    """t.csv with 60 labelled rows, some in part, and two rows for each patient; returns the true labels."""
    X = rng.normal(size=(N, 4))
    Y = (X @ rng.normal(size=(4, 3)) + 0.5 * rng.normal(size=(N, 3)) > 0.3).astype(int)
    known = np.zeros(Y.shape, dtype=bool)
    known[rng.permutation(N)[:60]] = True
    known[rng.permutation(N)[:12], 1] = False
    write_table(tmp_path / "t.csv", X, np.where(known, Y, -1))
    write_table(tmp_path / "unlabelled.csv", X, np.full(Y.shape, -1))
    return Y


def write_table(path, X, Y):
    cells = np.array(["0", "1", ""])[Y]
    regions = np.array(["north", "south"])[(X[:, 0] > 0).astype(int)]
    lines = [[f"P{i // 2}", *X[i].round(4), regions[i], *cells[i]] for i in range(N)]
    write_csv(path, ["patient", "a", "b", "c", "d", "region", *LABELS], lines)


def given_in(path):
    with open(path, newline="", encoding="utf-8") as file:
        cells = [[row[name] for name in LABELS] for row in csv.DictReader(file)]
    return np.array([[-1 if cell == "" else int(cell) for cell in row] for row in cells])


def lines_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def rewrite(path, lines, target="done.csv"):
    write_csv(target, list(lines[0]), [line.values() for line in lines])
    return target


@pytest.fixture
def fits(monkeypatch):
    """(y, verdicts) of every fit of ResidualPropagation."""
    calls = []
    plain = ResidualPropagation.fit

    @functools.wraps(plain)  # whose parameters the command looks at
    def fit(self, X, y, **options):
        with monkeypatch.context() as patch:
            patch.setattr(ResidualPropagation, "fit", plain)  # which may call itself
            calls.append((np.array(y), options.get("verdicts")))
            return plain(self, X, y, **options)

    monkeypatch.setattr(ResidualPropagation, "fit", fit)
    monkeypatch.setattr("nmlsdr._cli.residual_fit.TREES", 10)
    return calls


def ask(run, *options, table="t.csv", out="out.csv"):
    outcome = ran(run("review", table, *COLUMNS, *options, "--out", out))
    return outcome, [] if out.endswith("html") else lines_of(out)


# ---------------------------------------------------------------- single labels


def test_unknown_labels_stand_in_turn_with_the_doubtful_ones(run, truth, fits):
    table_labels = given_in("t.csv")
    outcome, lines = ask(run, "--ask", 7)
    kinds = [line["kind"] for line in lines]
    assert [kind == "open" for kind in kinds[:14]] == [False, True] * 7
    assert kinds.count("open") == 7
    assert len(lines) == (table_labels != -1).sum() + 7
    for line in lines:
        value = table_labels[int(line["row"]), LABELS.index(line["label"])]
        assert line["suggest"] == {0: "add", 1: "remove", -1: ""}[value]
        assert (line["kind"] == "open") == (value == -1)
        assert line["verdict"] == ""  # nothing is ticked in advance
    probabilities = [float(line["score"]) for line in lines if line["kind"] == "open"]
    assert all(0.2 < p < 0.8 for p in probabilities)
    assert f"not labelled; the model is unsure: {probabilities[0]:.2f}" in outcome.err
    assert "7 open labels" in outcome.err
    _, plain_lines = ask(run, out="plain.csv")
    assert [line for line in lines if line["kind"] != "open"] == plain_lines


def test_unknown_labels_alone(run, truth, fits):
    _, first_lines = ask(run, "--kind", "open", "--ask", 5)
    _, whole = ask(run, "--kind", "open")
    unknown = set(zip(*np.nonzero(given_in("t.csv") == -1), strict=True))
    places = [(int(line["row"]), LABELS.index(line["label"])) for line in whole]
    assert first_lines == whole[:5]
    assert len(places) == len(set(places)) == len(unknown)
    assert set(places) == unknown
    assert [int(line["rank"]) for line in whole] == list(range(1, len(whole) + 1))


@pytest.mark.parametrize("verb", ["review", "fit"])
def test_answers_reach_the_next_fit_as_labels(run, truth, fits, verb):
    """Also an answer that is wrong, one that is undecided, and one that a person could not give."""
    table_labels = given_in("t.csv")
    _, lines = ask(run, "--kind", "open", "--ask", 9)
    places = [(int(line["row"]), LABELS.index(line["label"])) for line in lines]
    for line, place in zip(lines, places, strict=True):
        line["verdict"] = str(truth[place])
    lines[0]["verdict"] = str(1 - truth[places[0]])
    lines[1]["verdict"] = "unclear"
    lines[2]["verdict"] = ""
    fits.clear()
    out = "m.skops" if verb == "fit" else "next.csv"
    ask_options = ["--ask", "200"] if verb == "review" else []
    outcome = ran(run(verb, "t.csv", *COLUMNS, *ask_options, "--reviewed", rewrite("done.csv", lines), "--out", out))
    assert "done.csv: 7 verdicts, 0 labels changed, 7 labels new, 1 unclear." in outcome.err
    (y, verdicts) = fits[-1]
    expected = np.full(table_labels.shape, -1)
    for place in places[3:]:
        expected[place] = truth[place]
    expected[places[0]] = 1 - truth[places[0]]
    np.testing.assert_array_equal(y, table_labels)
    np.testing.assert_array_equal(np.where(verdicts >= 0, verdicts, -1), expected)
    assert verdicts[places[1]] == -2
    if verb == "review":  # neither what was answered nor what could not be is asked again
        asked_places = {
            (int(line["row"]), LABELS.index(line["label"])) for line in lines_of("next.csv") if line["kind"] == "open"
        }
        assert asked_places & {*places} == {places[2]}


def test_few_labelled_rows_are_to_be_drawn_at_random(run, truth, fits, tmp_path):
    (tmp_path / "mask.txt").write_text("1\n" * 60 + "0\n" * 60)
    outcome, _ = ask(run, "--ask", 5, "--mask", "mask.txt")
    n_labeled = int((given_in("t.csv")[:60] != -1).any(axis=1).sum())
    assert f"{n_labeled} rows labelled, too few" in outcome.err
    assert f"--ask-rows {50 - n_labeled} --out rows.csv" in outcome.err
    outcome, _ = ask(run, "--ask", 5)
    assert "too few" not in outcome.err


@pytest.mark.parametrize("n_queries", [0, 3, 20])
def test_the_first_of_a_list_in_turn_are_its_beginning(rng, n_queries):
    suspects = rank_suspects(rng.random((4, 2)), rng.integers(0, 2, (4, 2)))
    queries = Queries(np.arange(n_queries), np.zeros(n_queries, dtype=np.intp), np.full(n_queries, 0.5))
    whole = list_in_turn(suspects, queries)
    assert len(whole.row) == 8 + n_queries
    for n in range(8 + n_queries + 2):
        for part, values in zip(list_in_turn(suspects, queries).first(n), whole, strict=True):
            assert part.tolist() == values.tolist()[:n]
    assert [whole.kind[k] == "open" for k in range(2 * min(8, n_queries))] == [False, True] * min(8, n_queries)


# ---------------------------------------------------------------- whole rows


def test_rows_to_label_have_their_cells_their_check_and_empty_columns(run, truth, fits):
    table_labels = given_in("t.csv")
    _, lines = ask(run, "--ask-rows", 10)
    assert list(lines[0]) == ["patient", "row", "check", *LABELS, "a", "b", "c", "d", "region"]
    table = lines_of("t.csv")
    rows = [int(line["row"]) for line in lines]
    assert len(set(rows)) == 10
    assert (table_labels[rows] == -1).any(axis=1).all()
    for line in lines:
        assert {name: line[name] for name in ("a", "region", *LABELS)}.items() <= table[int(line["row"])].items()
    _, plain = ask(run, "--ask-rows", 2, "--no-cells")
    assert list(plain[0]) == ["patient", "row", "check", *LABELS]
    _, shown = ask(run, "--ask-rows", 2, "--show", "region")
    assert list(shown[0]) == ["patient", "row", "check", *LABELS, "region"]


@pytest.mark.parametrize("words", [("0", "1"), ("no", "yes"), ("nein", "ja")])
def test_labels_of_rows_reach_the_next_fit(run, truth, fits, words):
    table_labels = given_in("t.csv")
    _, lines = ask(run, "--ask-rows", 8)
    rows = [int(line["row"]) for line in lines]
    for line, row in zip(lines, rows, strict=True):
        for c, name in enumerate(LABELS):
            line[name] = words[truth[row, c]]
    lines[0] |= {"flu": "unclear", "cold": "", "gout": "?"}
    fits.clear()
    rewrite("done.csv", lines[::-1])  # in any order
    outcome = ran(run("fit", "t.csv", *COLUMNS, "--reviewed", "done.csv", "--out", "m.skops"))
    y, verdicts = fits[-1]
    expected = np.full(table_labels.shape, -1)
    expected[rows[1:]] = np.where(
        table_labels[rows[1:]] == truth[rows[1:]], -1, truth[rows[1:]]
    )  # as it was is no verdict
    if table_labels[rows[0], 0] == -1:
        expected[rows[0], 0] = -2
    np.testing.assert_array_equal(y, table_labels)
    np.testing.assert_array_equal(verdicts, expected)
    assert f" 0 labels changed, {(expected >= 0).sum()} labels new, 1 unclear." in outcome.err


def test_a_known_label_of_a_row_can_be_corrected(run, truth, fits):
    table_labels = given_in("t.csv")
    _, lines = ask(run, "--ask-rows", 60)
    line = next(line for line in lines if line["flu"] in ("0", "1"))
    line["flu"] = "01"[1 - int(line["flu"])]
    outcome = ran(run("fit", "t.csv", *COLUMNS, "--reviewed", rewrite("done.csv", lines), "--out", "m.skops"))
    assert "1 verdict, 1 label changed, 0 unclear." in outcome.err
    assert fits[-1][1][int(line["row"]), 0] == 1 - table_labels[int(line["row"]), 0]


@pytest.fixture
def lists(tmp_path, truth):
    """tags.csv, the same table with a column of lists; a row without labels is "keine"."""
    table_labels = given_in(tmp_path / "t.csv")
    table_labels[table_labels[:, 1] == -1] = -1  # a list is known or not
    cells = []
    for row in table_labels:
        names = "|".join(name for name, value in zip(LABELS, row, strict=True) if value == 1)
        cells.append("" if (row == -1).any() else names or "keine")
    table = lines_of(tmp_path / "t.csv")
    header = ["patient", "a", "b", "c", "d", "region", "tags"]
    lines = [[*(line[name] for name in header[:-1]), cell] for line, cell in zip(table, cells, strict=True)]
    write_csv(tmp_path / "tags.csv", header, lines)
    options = ["--label-list", "tags", "--separator", "|", "--no-label", "keine", "--id", "patient"]
    return options, np.array([cell == "" for cell in cells])


def test_a_table_of_lists_has_one_column_to_fill_in(run, truth, fits, lists):
    options, unlabeled = lists
    ran(run("review", "tags.csv", *options, "--ask-rows", 6, "--out", "rows.csv"))
    lines = lines_of("rows.csv")
    assert list(lines[0]) == ["patient", "row", "check", "tags", "a", "b", "c", "d", "region"]
    rows = [int(line["row"]) for line in lines]
    assert all(unlabeled[rows])
    order = sorted(LABELS)
    for line, row in zip(lines, rows, strict=True):
        assert line["tags"] == ""
        line["tags"] = " | ".join(name for c, name in enumerate(LABELS) if truth[row, c]) or "keine"
    lines[0]["tags"] = "unclear"
    lines[1]["tags"] = ""
    ran(run("fit", "tags.csv", *options, "--reviewed", rewrite("done.csv", lines), "--out", "m.skops"))
    y, verdicts = fits[-1]
    expected = np.full(truth.shape, -1)
    expected[rows[0]] = -2
    expected[rows[2:]] = truth[rows[2:]][:, [LABELS.index(name) for name in order]]
    np.testing.assert_array_equal(verdicts, expected)
    assert (y[rows] == -1).all()
    lines[2]["tags"] = "flu|grippe"
    outcome = run("fit", "tags.csv", *options, "--reviewed", rewrite("done.csv", lines), "--out", "m.skops")
    assert "done.csv, line 4: the table has no label 'grippe'; give labels of the table with '|'" in outcome.err
    assert outcome.status == 2


def test_arrays_have_a_column_for_each_label_too(run, rng, tmp_path, fits):
    Y = rng.integers(0, 2, (90, 2))
    partial_labels = np.where(np.arange(90)[:, None] < 60, Y, -1)
    np.savez(tmp_path / "a.npz", X=rng.normal(size=(90, 3)), y=partial_labels)
    ran(run("review", "a.npz", "--ask-rows", 4, "--out", "rows.csv"))
    lines = lines_of("rows.csv")
    assert list(lines[0]) == ["row", "check", "label_0", "label_1", "feature_0", "feature_1", "feature_2"]
    for line in lines:
        line["label_1"] = str(Y[int(line["row"]), 1])
    ran(run("fit", "a.npz", "--reviewed", rewrite("done.csv", lines), "--out", "m.skops"))
    expected = np.full(Y.shape, -1)
    rows = [int(line["row"]) for line in lines]
    expected[rows, 1] = Y[rows, 1]
    np.testing.assert_array_equal(fits[-1][1], expected)


def test_the_first_rows_are_drawn_at_random_spread_over_the_identifiers_and_begin_a_model(run, truth, fits):
    """From a table without labels to a model and to the next questions."""
    outcome, lines = ask(run, "--ask-rows", 60, table="unlabelled.csv", out="first.csv")
    assert "0 rows labelled, so these are drawn at random, spread over the identifiers" in outcome.err
    assert fits == []
    assert len({line["patient"] for line in lines}) == 60  # each patient has two rows
    for line in lines:
        for c, name in enumerate(LABELS):
            line[name] = str(truth[int(line["row"]), c])
    rewrite("first.csv", lines)
    rows = [int(line["row"]) for line in lines]
    ran(run("fit", "unlabelled.csv", *COLUMNS, "--reviewed", "done.csv", "--out", "m.skops"))
    expected = np.full(truth.shape, -1)
    expected[rows] = truth[rows]
    np.testing.assert_array_equal(fits[-1][0], expected)
    _, following = ask(run, "--ask", 6, "--reviewed", "done.csv", table="unlabelled.csv")
    assert [line["kind"] for line in following] == ["open"] * 6
    assert not {int(line["row"]) for line in following} & {*rows}


def test_a_table_that_has_no_columns_of_labels(run, truth, tmp_path):
    names, lines = read_csv("t.csv")
    write_csv("bare.csv", names[:6], [line[:6] for line in lines])
    outcome = ran(run("review", "bare.csv", "--ask-rows", 3, "--out", "rows.csv"))
    row_lines = lines_of("rows.csv")
    assert [line["labels"] for line in row_lines] == [""] * 3
    assert "copy them into a column of the table that --label-list names" in outcome.err


def test_rows_are_drawn_uniformly_and_over_groups(rng):
    groups = np.array([0] * 50 + [1, 2, 3])
    counts = np.zeros(53)
    for seed in range(400):
        drawn = draw_rows(np.arange(53), groups, 6, seed)
        assert len(set(drawn.tolist())) == 6
        assert {*groups[drawn[:4]].tolist()} == {0, 1, 2, 3}
        assert (groups[drawn[4:]] == 0).all()
        counts[drawn] += 1
    assert counts[50:].tolist() == [400] * 3
    assert counts[:50].sum() == 1200
    assert counts[:50].max() < 50  # 24 are expected
    assert draw_rows(np.arange(53), None, 100).shape == (53,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[0].update(flu="maybe"), "done.csv, line 2: 'maybe' is not a label of 'flu'; give 1, 0"),
        (lambda lines: lines[0].update(flu="x"), "done.csv, line 2: 'x' is not a label of 'flu'"),
        (lambda lines: lines[1].update(check="a0000000", patient="Q9"), "done.csv, line 3: no row of the table has"),
        (lambda lines: lines.append(lines[0] | {"flu": "0"}), "a second and different label of row"),
    ],
)
def test_files_of_rows_that_mean_nothing_are_refused(run, truth, fits, change, words):
    _, lines = ask(run, "--ask-rows", 3)
    for line in lines:
        line["flu"] = "1"
    change(lines)
    outcome = run("fit", "t.csv", *COLUMNS, "--reviewed", rewrite("done.csv", lines), "--out", "m.skops")
    assert outcome.status == 2
    assert words in outcome.err


# ---------------------------------------------------------------- a random sample


def test_a_random_sample_shows_the_error_rate(run, truth, fits):
    table_labels = given_in("t.csv")
    _, lines = ask(run, "--random", 80)
    assert fits == []  # no model has a say
    places = [(int(line["row"]), LABELS.index(line["label"])) for line in lines]
    assert len(set(places)) == 80
    wrong = {0: 0, 1: 0}
    decided = {0: 0, 1: 0}
    for k, (line, place) in enumerate(zip(lines, places, strict=True)):
        assert line["kind"] == "random"
        assert line["suggest"] == ("remove" if table_labels[place] else "add")
        is_wrong = k % 10 == 0
        line["verdict"] = "keep" if k % 3 == 1 and not is_wrong else str(table_labels[place] ^ is_wrong)
        line["verdict"] = "unclear" if k == 5 else "" if k == 6 else line["verdict"]
        if k not in (5, 6):
            wrong[table_labels[place]] += is_wrong
            decided[table_labels[place]] += 1
    outcome = ran(run("fit", "t.csv", *COLUMNS, "--reviewed", rewrite("done.csv", lines), "--out", "m.skops"))
    low, high = wilson_interval(8, 78)
    n = int((table_labels != -1).sum())
    assert (
        f"8 of 78 labels of the random sample are wrong ({wrong[1]} of {decided[1]} given 1s, {wrong[0]} of "
        f"{decided[0]} given 0s): an error rate of 10.3% (95 % interval {low:.1%} to {high:.1%}), "
        f"that is {low * n:.0f} to {high * n:.0f} of {n} known labels."
    ) in outcome.err
    _, lines = ask(run, "--random", 30, "--reviewed", "done.csv")
    assert not {(int(line["row"]), LABELS.index(line["label"])) for line in lines} & {*places[:6], *places[7:]}


def test_other_verdicts_are_no_part_of_the_error_rate(run, truth, fits):
    _, doubtful = ask(run, "--top", 5)
    _, sample = ask(run, "--random", 20)
    first = {(line["row"], line["label"]) for line in doubtful}
    sample = [line for line in sample if (line["row"], line["label"]) not in first]
    for line in doubtful:
        line["verdict"] = "1" if line["suggest"] == "add" else "0"
    for line in sample:
        line["verdict"] = "keep"
    outcome = ran(run("fit", "t.csv", *COLUMNS, "--reviewed", rewrite("x", doubtful + sample), "--out", "m.skops"))
    n = int((given_in("t.csv") != -1).sum()) - 5
    assert f": 0 of {len(sample)} labels of the random sample are wrong" in outcome.err
    assert f" of {n} known labels." in outcome.err
    outcome = ran(run("fit", "t.csv", *COLUMNS, "--reviewed", rewrite("x", doubtful), "--out", "m.skops"))
    assert "random sample" not in outcome.err


def test_every_known_label_is_drawn_equally_often(rng):
    labels = rng.integers(-1, 2, (12, 3))
    verdicts = np.full(labels.shape, -1)
    verdicts[:2] = 1
    counts = np.zeros(labels.shape)
    for seed in range(600):
        sample = list_random(labels, verdicts, 5, seed)
        assert len({*zip(sample.row.tolist(), sample.label.tolist(), strict=True)}) == 5
        assert sample.given.tolist() == labels[sample.row, sample.label].tolist()
        counts[sample.row, sample.label] += 1
    drawn = (labels != -1) & (verdicts == -1)
    assert not counts[~drawn].any()
    mean = 3000 / drawn.sum()
    assert (np.abs(counts[drawn] - mean) < 5 * np.sqrt(mean)).all()


@pytest.mark.parametrize(("wrong", "n"), [(0, 10), (10, 10), (3, 40), (190, 200)])
def test_the_interval_has_the_ends_where_the_test_of_a_score_rejects(wrong, n):
    for end in wilson_interval(wrong, n):
        if 0 < end < 1:
            assert abs(wrong / n - end) / np.sqrt(end * (1 - end) / n) == pytest.approx(1.95996398454)
    low, high = wilson_interval(wrong, n)
    assert 0 <= low <= wrong / n <= high <= 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--random", "3", "--ask", "2"], ["--ask and --random exclude each other"]),
        (["--ask-rows", "3", "--kind", "open"], ["--ask-rows and --kind exclude each other"]),
        (["--random", "5000"], ["--random 5000 is more than the", "known labels without a verdict; draw fewer"]),
        (["--ask", "0"], ["--ask"]),
        (["--ask-rows", "many"], ["--ask-rows"]),
    ],
)
def test_options_that_make_no_sense_are_refused(run, truth, options, words):
    outcome = run("review", "t.csv", *COLUMNS, "--quiet", *options, "--out", "r.csv")
    assert_refused(outcome, *words)


def test_a_file_of_rows_is_no_page(run, truth):
    outcome = run("review", "t.csv", *COLUMNS, "--ask-rows", "3", "--out", "rows.html")
    assert_refused(outcome, "--ask-rows writes a file to fill in, such as rows.csv, and no page; got rows.html")


def test_without_unknown_labels_nothing_can_be_asked(run, truth, rng):
    X = rng.normal(size=(60, 3))
    np.savez("whole.npz", X=X, y=(X[:, :2] > 0).astype(int))
    outcome = run("review", "whole.npz", "--quiet", "--ask", "3", "--out", "r.csv")
    assert outcome.status == 2
    assert re.search("whole.npz has no unknown label to ask about; leave out", outcome.err)
