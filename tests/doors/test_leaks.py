"""Columns that the annotators wrote, and features that tell a label alone: named, and never proposed as features."""

import re
import time

import numpy as np
import pytest
from commands import ran, write_csv
from scipy import sparse
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from table_files import read_table

from nmlsdr._report.leaks import find_leaks
from nmlsdr._report.needed import find_needed
from nmlsdr.tables._planner import Choices

TAGS = ["Keramik", "Textil", "Religion", "Waffe"]
MATERIALS = ["Holz", "Ton", "Wolle", "Eisen", "Stein"]
ANNOTATORS = ["Tags A", "Tags B"]
NAMES = ["Inventar", "Material", "Höhe", "Breite", "Gewicht", "Alter", *ANNOTATORS, "Sicherheit", "Tags"]


@pytest.fixture
def catalogue(tmp_path, rng):
    """A museum's catalogue: 600 objects, a third labelled, and what two annotators wrote; returns the rows."""
    n = 600
    Y = rng.random((n, len(TAGS))) < 0.35
    X = Y + 1.2 * rng.normal(size=Y.shape)
    labelled = rng.random(n) < 1 / 3
    rows = []
    for i in range(n):
        tags = [tag for tag, on in zip(TAGS, Y[i], strict=True) if on]
        wrote = [";".join(tag for tag in tags if rng.random() < 0.99) if labelled[i] else "" for _ in ANNOTATORS]
        material = MATERIALS[rng.integers(5)] if rng.random() < 0.6 else MATERIALS[int(np.argmax(Y[i]))]
        numbers = ["" if rng.random() < 0.05 else f"{x:.3f}" for x in X[i]]
        sure = f"{rng.uniform(0.5, 1):.2f}" if labelled[i] else ""
        rows.append([f"M{i:04d}", material, *numbers, *wrote, sure, ";".join(tags) or "keine" if labelled[i] else ""])
    # The labels stand first among the lists, as in most catalogues.
    order = [0, 1, 9, 2, 3, 4, 5, 6, 7, 8]
    write_csv(tmp_path / "catalogue.csv", [NAMES[j] for j in order], [[row[j] for j in order] for row in rows])
    return rows


def precision_of_report(run, monkeypatch, *options):
    """The cross-validated average precision on the page, and what was said."""
    report_facts = []
    monkeypatch.setattr("nmlsdr._cli.report.render", lambda facts: report_facts.append(facts) or "page")
    outcome = ran(run("report", "catalogue.csv", *options, "--folds", "3", "--out", "report.html"))
    trial = report_facts[0]["trial"]
    return trial["methods"][0]["cells"][trial["measures"].index("AP")]["mean"], report_facts[0]["notes"], outcome.err


@pytest.mark.slow
def test_the_annotators_columns_are_no_features(run, catalogue, monkeypatch):
    """The report shows the honest average precision, with the label column named and nothing else."""
    pytest.importorskip("jinja2")
    honest, notes, messages = precision_of_report(run, monkeypatch, "--label-list", "Tags")
    assert notes == []
    assert "alone" not in messages
    assert honest < 0.85
    for name in ANNOTATORS:
        assert re.search(rf"  {name} +like the labels +it holds the words of the labels", messages)
    assert re.search(r"  Sicherheit +like the labels +it is filled only where labels are", messages)
    assert re.search(r"  Inventar +identifier", messages)
    assert "'keine' stands for a row without labels" in messages


def test_a_feature_that_alone_predicts_a_label_is_named_by_its_column(run, catalogue):
    options = ["--label-list", "Tags", "--one-hot", "Tags A", "--n-components", "2"]
    outcome = ran(run("fit", "catalogue.csv", *options, "--out", "m.skops"))
    assert f"the feature 'Tags A' alone predicts the label {TAGS[0]!r}" in outcome.err
    assert re.search(r"average precision (0\.9[89]|1\.00)\); .* --drop 'Tags A'\.", outcome.err)
    outcome = ran(run("evaluate", "m.skops", "catalogue.csv"))
    assert "the feature 'Tags A' alone predicts the label" in outcome.err


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_annotators_are_found_also_when_label_columns_are_given(run, tmp_path, rng, suffix):
    """Label columns and numbers: an annotator's 0/1 column that is filled where labels are is dropped, not imputed."""
    n = 200
    flu, cold = (rng.random((2, n)) < 0.4).astype(int)
    labelled = rng.random(n) < 0.4
    columns = {
        "a": flu + rng.normal(size=n),
        "b": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "flu by A": np.where(labelled, flu, np.nan),
        "second": np.where(labelled, np.where(flu, "flu", "cold"), ""),
        "ward": np.array(["east", "west"])[rng.integers(2, size=n)],
        "flu": np.where(labelled, flu, np.nan),
        "cold": np.where(labelled, cold, np.nan),
    }
    if suffix == ".csv":
        rows = zip(*([("" if v != v else v) for v in values.tolist()] for values in columns.values()), strict=True)
        write_csv(tmp_path / "t.csv", list(columns), [list(row) for row in rows])
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    result = ran(run("plan", f"t{suffix}", "--label-columns", "flu,cold"))
    assert re.search(r"  flu by A +like the labels +it is filled only where labels are", result.out)
    assert "--drop 'flu by A,second' --one-hot ward" in result.out


def kinds(tmp_path, names, rows, **options):
    write_csv(tmp_path / "t.csv", names, rows)
    table = read_table(tmp_path / "t.csv", label_columns=["flu"], plan=Choices(), **options)
    return {column.name: column.reason for column in table.plan.columns if column.kind == "like the labels"}


def test_columns_that_look_like_labels_are_recognised(tmp_path):
    """Half of the rows labelled: 20 cells on labelled rows alone are no chance, 19 may be; words count by half."""
    names = ["twenty", "nineteen", "outside", "ward", "says", "flu"]
    rows = []
    for i in range(80):
        labelled = i % 2 == 0
        rows.append(
            [
                i if labelled and i < 40 else "",
                i if labelled and i < 38 else "",
                i if labelled or i == 1 else "",
                ["east", "flu", "west"][i % 3],
                ["Flu", "-"][i % 2],
                i % 4 // 2 if labelled else "",
            ]
        )
    says = {"says": "it holds the words of the labels; left out"}
    assert kinds(tmp_path, names, rows) == {"twenty": "it is filled only where labels are; left out", **says}
    rows = [[*row[:-1], i % 2] for i, row in enumerate(rows)]  # no row is unlabelled
    assert kinds(tmp_path, names, rows) == says
    rows = [[*row[:-1], ""] for row in rows]  # all are
    assert kinds(tmp_path, names, rows) == says


# ---------------------------------------------------------------- features that tell a label alone


def leaking_table(rng, n=400):
    """Labels of .2 and .8, and features of every kind that tell one of them; returns (X, y, pairs)."""
    y = (rng.random((n, 2)) < [0.2, 0.8]).astype(int)
    first, second = y.T
    features = [
        rng.normal(size=n),
        first + 0.15 * rng.normal(size=n),  # nearly: rising
        -second + 0.1 * rng.normal(size=n),  # nearly: falling, and the label is the commoner value
        np.where(first, rng.integers(3, size=n) * 2, rng.integers(3, size=n) * 2 + 1),  # codes: neither
        np.where(first, 1.0, np.nan),  # there or not
        first + 1.0 * rng.normal(size=n),  # a good feature
    ]
    return np.column_stack(features), y, [(1, 0), (2, 1), (3, 0), (4, 0)]


@pytest.mark.parametrize("form", ["numbers", "unknown", "unlabelled"])
def test_features_that_alone_predict_a_label_are_found(rng, form):
    X, y, pairs = leaking_table(rng)
    if form == "unknown":
        y = np.where(rng.random(y.shape) < 0.2, -1, y)
    elif form == "unlabelled":
        y[::3] = -1
    leaks = find_leaks(X, y)
    assert [(leak.feature, leak.label) for leak in leaks] == pairs
    assert all(0.98 <= leak.precision <= 1 for leak in leaks)


def test_sparse_features_are_examined_like_dense_ones(rng):
    X, y, _ = leaking_table(rng)
    X = np.hstack([np.where(np.isnan(X), 0.0, X), (rng.random((400, 50)) < 0.05) * 1.0, y, 1 - y])
    assert find_leaks(sparse.csr_array(X), y) == find_leaks(X, y)
    assert {(56, 0), (57, 1), (58, 0), (59, 1)} <= {(leak.feature, leak.label) for leak in find_leaks(X, y)}


@pytest.mark.parametrize(("n_ones", "n_leaks"), [(19, 0), (20, 1), (180, 1), (181, 0)])
def test_twenty_rows_of_either_value_are_needed(n_ones, n_leaks):
    y = (np.arange(200) < n_ones)[:, None].astype(int)
    assert len(find_leaks(y.astype(float), y)) == n_leaks


def test_noise_and_names_of_rows_are_not_found(rng):
    """A category for each row, a number for each row, constant columns: nothing is known out of fold."""
    y = (rng.random((300, 3)) < 0.3).astype(int)
    noise = rng.normal(size=300)
    X = np.column_stack([np.arange(300.0), rng.permutation(300), np.zeros(300), np.full(300, np.nan), noise])
    assert find_leaks(X, y) == []
    assert find_leaks(rng.normal(size=(300, 40)), np.full((300, 2), -1)) == []


def test_the_bound_is_the_average_precision_of_the_ranking(rng):
    """Around .98: a feature is named where its average precision is that of scikit-learn and reaches the bound."""
    y = (rng.random((2000, 1)) < 0.1).astype(int)
    noise = rng.normal(size=2000)
    reached = []
    for width in np.linspace(0.15, 0.5, 30):
        x = y[:, 0] + width * noise
        precision = average_precision_score(y[:, 0], x)
        leaks = find_leaks(x[:, None], y)
        assert bool(leaks) == (precision >= 0.98), precision
        reached.append(bool(leaks))
        if leaks:
            assert leaks[0].precision == pytest.approx(precision, abs=1e-12)
    assert 5 < sum(reached) < 25


def plain_precision(x, truth, known):
    """The average precision of the best of the three forms, a column and a label at a time."""
    n = len(x)
    _, ranks, counts = np.unique(x, return_inverse=True, return_counts=True)
    bins = ranks if len(counts) <= 64 else ((np.cumsum(counts) - counts) * 64 // n)[ranks]
    if len(counts) > 64:
        bins[np.isnan(x)] = 64
    share = truth.sum() / known.sum()
    rates = np.empty(n)
    for train, test in KFold(5, shuffle=True, random_state=0).split(x):
        for i in test:
            near = train[bins[train] == bins[i]]
            rates[i] = (truth[near].sum() + share) / (known[near].sum() + 1)
    return max(average_precision_score(truth[known], score[known]) for score in (ranks, -ranks, rates))


@pytest.mark.parametrize("n_levels", [3, 40, 300])
def test_precisions_are_those_of_the_plain_twin(rng, monkeypatch, n_levels):
    """Rising, falling, neither, missing, ties, unknown entries; every column is named, however poor it is."""
    monkeypatch.setattr("nmlsdr._report.leaks.LEAST_PRECISION", 0.0)
    truth = rng.random(300) < 0.3
    known = rng.random(300) < 0.9
    noise = rng.normal(size=300)
    columns = np.column_stack([truth + noise / 3, noise - 2 * truth, np.abs(noise) + truth, noise, noise - truth])
    columns = np.round(columns * n_levels / 8)
    columns[rng.random(300) < 0.3 * truth, 4] = np.nan
    # The second label is known in every row, so that all rows are labelled; it has one value, and is not examined.
    leaks = find_leaks(columns, np.column_stack([np.where(known, truth, -1), np.zeros(300, dtype=int)]))
    plain = [plain_precision(x, truth & known, known) for x in columns.T]
    assert [leak.precision for leak in leaks] == pytest.approx(plain, abs=1e-12)


def test_many_columns_and_words_are_examined_in_blocks(rng, monkeypatch):
    """Blocks of one column give what one block gives, and the progress reaches every feature once."""
    X, y, _ = leaking_table(rng)
    X = np.hstack([X, rng.normal(size=(400, 30))])
    leaks = find_leaks(X, y)
    monkeypatch.setattr("nmlsdr._report.leaks.BLOCK_ENTRIES", 1)
    steps = []
    assert find_leaks(X, y, show=lambda *counts: steps.append(counts)) == leaks
    assert steps == [(j, 36) for j in range(36)]
    words = sparse.csr_array(np.where(np.isnan(X), 0.0, X) * (rng.random(X.shape) < 0.99))
    monkeypatch.undo()
    assert find_leaks(words, y) == find_leaks(words.toarray(), y) != []


def test_a_wide_table_of_few_rows_costs_no_more_than_its_sort(rng, monkeypatch):
    """Measured by scikit-learn's average precision of each pair of column and label, of which there were 1200."""
    X = rng.normal(size=(60, 400))
    y = (X[:, :1] + rng.normal(size=(60, 1)) > 0).astype(int)

    def seconds(function, *arguments):
        begin = time.process_time()
        function(*arguments)
        return time.process_time() - begin

    one_by_one = seconds(lambda: [average_precision_score(y[:, 0], x) for x in X.T])
    assert min(seconds(find_leaks, X, y) for _ in range(3)) < one_by_one


# ---------------------------------------------------------------- columns without which predictions fail


class Rule:
    """A model that predicts by some features, and counts how often it is asked."""

    def __init__(self, *features):
        self.features = features
        self.n_asked = 0

    def predict(self, X):
        self.n_asked += 1
        return np.column_stack([(X[:, j] > 0) for j in self.features]).astype(int)


def test_the_column_on_which_predictions_rest_is_found_with_few_predictions(rng):
    """One of 64 columns of two features each, or two; a column that one of five labels needs is below the limit."""
    X = rng.normal(size=(400, 128))
    columns = [(f"c{j}", 2) for j in range(64)]
    rule = Rule(74, 74)
    needed_columns = find_needed(rule, X, rule.predict(X), columns)
    assert [needed_column.name for needed_column in needed_columns] == ["c37"]
    assert needed_columns[0].before == 1
    assert 0.4 < needed_columns[0].after < 0.6
    assert rule.n_asked <= 2 + 1 + 2 * 6 + 20
    rule_of_two = Rule(3, 90, 90)
    needed_columns = find_needed(rule_of_two, X, rule_of_two.predict(X), columns)
    assert [needed_column.name for needed_column in needed_columns] == [
        "c45",
        "c1",
    ]  # the one that more depends on first
    rule_of_eight = Rule(*range(0, 16, 2))
    assert find_needed(rule_of_eight, X, rule_of_eight.predict(X), columns) == []  # 0.06 each, together all


def test_sparse_columns_are_shuffled_like_dense_ones(rng):
    """The same rows are shuffled by the same seeds; a column of three features keeps its rows together."""
    X = rng.normal(size=(300, 12)) * (rng.random((300, 12)) < 0.5)
    columns = [("a", 3), ("b", 3), ("c", 3), ("d", 3)]
    rule = Rule(4, 5)
    y = rule.predict(X) ^ (rng.random((300, 2)) < 0.1)
    dense = find_needed(rule, X, y, columns)

    class Sparse(Rule):
        def predict(self, X):
            assert isinstance(X, sparse.csr_array)
            return super().predict(X.toarray())

    assert find_needed(Sparse(4, 5), sparse.csr_array(X), y, columns) == dense
    assert [column.name for column in dense] == ["b"]


def test_no_column_is_needed_by_a_model_of_noise(rng):
    """On 30 rows F1 of guesses falls by more than 0.1 in many shuffles."""
    n_named = 0
    for _ in range(60):
        X = rng.normal(size=(30, 6))
        y = (rng.random((30, 1)) < 0.3).astype(int)
        n_named += len(find_needed(Rule(0), X, y, [(f"c{j}", 1) for j in range(6)]))
    assert n_named <= 3


def test_unknown_entries_do_not_count_in_the_fall(rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, :1] > 0).astype(int)
    y[:150] = -1
    ((_, before, after),) = find_needed(Rule(0), X, y, [("a", 1), ("b", 1)])
    assert before == 1
    assert after < 0.9


def test_it_is_asked_whether_a_column_that_restates_the_labels_is_known_in_time(run, rng, tmp_path):
    """A category of the labels' words, with slips: no feature alone predicts a label, and yet nothing works without."""
    pytest.importorskip("jinja2")
    y = rng.integers(0, 2, (200, 2))
    annotator_labels = np.where(rng.random((200, 2)) < 0.06, 1 - y, y)
    rows = zip(annotator_labels, rng.normal(size=200), y, strict=True)
    rows = [[f"k{2 * a + b}", f"{x:.2f}", *labels] for (a, b), x, labels in rows]
    write_csv(tmp_path / "t.csv", ["code", "x", "p", "q"], rows)
    for verb in (["fit", "-o", "m.skops"], ["review", "-o", "r.csv"], ["report", "--folds", "2", "-o", "r.html"]):
        outcome = ran(run(verb[0], "t.csv", "--label-columns", "p,q", *verb[1:]))
        assert outcome.err.count("is it known before the labels are?") == 1, outcome
    (note,) = [line for line in outcome.err.splitlines() if "is it known before the labels are?" in line]
    assert re.search(r"F1 falls from 9\d% to [456]\d% if the cells of 'code' are shuffled", note)
    assert "if the cells of &#39;code&#39; are shuffled" in (tmp_path / "r.html").read_text()


def test_the_report_names_smaller_falls_than_fit_does(run, rng, tmp_path):
    """A column of one of two labels: F1 falls by a fourth, which may be how a good column is."""
    pytest.importorskip("jinja2")
    y = rng.integers(0, 2, (200, 2))
    annotator_labels = np.where(rng.random((200, 2)) < 0.06, 1 - y, y) + 0.0
    write_csv(tmp_path / "t.csv", ["a", "b", "p", "q"], np.column_stack([annotator_labels, y]).tolist())
    for verb, n_named in ((["fit", "-o", "m.skops"], 0), (["report", "--folds", "0", "-o", "r.html"], 2)):
        outcome = ran(run(verb[0], "t.csv", "--label-columns", "p,q", *verb[1:]))
        assert outcome.err.count("is it known before the labels are?") == n_named, outcome
