"""What the review page says of the columns: strips of two groups, marks, and the reasons of the model."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from commands import assert_done, write_csv
from review_page import unpack
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.inspection import _reasons, _strips, write_review
from nmlsdr.tables import Column, Plan, TableEncoder

pytest.importorskip("jinja2")

# ---------------------------------------------------------------- strips and marks


def test_correlations_are_those_of_the_rows_where_a_label_is_known(rng):
    X = rng.normal(3, 2, (40, 3))
    y = rng.integers(-1, 2, (40, 2))
    X[:, 2] = 7.0
    known = y != -1
    expected_correlations = [[np.corrcoef(X[known[:, c], j], y[known[:, c], c])[0, 1] for c in (0, 1)] for j in (0, 1)]
    for rows in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(_strips.correlations(rows, y), [*expected_correlations, [0, 0]], atol=1e-7)


@pytest.mark.filterwarnings("ignore:60 of 300 rows lie in components")
def test_pictures_have_quantiles_of_both_groups_and_shares_where_values_are_few(rng, tmp_path, monkeypatch):
    n = 300
    y = (rng.random((n, 1)) < 0.4).astype(int)
    X = np.column_stack([rng.normal(size=n) + 2 * y[:, 0], (rng.random(n) < 0.2 + 0.5 * y[:, 0]), rng.normal(size=n)])
    # unlabelled rows say nothing about the label
    y[:60] = -1
    X[:60, 2] = 6
    model = ResidualPropagation(n_neighbors=5, n_estimators=5).fit(X, y)
    write_review(tmp_path / "a.html", model, X, y, top=30)
    page = unpack(tmp_path / "a.html")
    groups = [np.sort(X[y[:, 0] == value, 0]) for value in (1, 0)]
    low, high = np.sort(X[60:, 0])[[2, 237]]  # the row at 1 %, and at 99 %
    marks = [group[round(q * (len(group) - 1))] for group in groups for q in (0.05, 0.25, 0.5, 0.75, 0.95)]
    number, shared = page["told"]["0"]  # the third column has no part in the label
    assert number[:3] == [0, f"{low:.6g}", f"{high:.6g}"]
    assert number[3:] == np.clip(99 * (np.array(marks) - low) / (high - low), 0, 99).astype(int).tolist()
    assert shared == [1]
    for entry in page["entries"]:
        row_values = X[entry["row"]]
        equal = [round(100 * np.mean(X[y[:, 0] == value, 1] == row_values[1])) for value in (1, 0)]
        assert entry["at"] == [int(np.clip(99 * (row_values[0] - low) / (high - low), 0, 99)), equal]
    monkeypatch.setattr(_strips, "N_PICTURES", 1)
    write_review(tmp_path / "a.html", model, X, y, top=30)
    assert [line[0] for line in unpack(tmp_path / "a.html")["told"]["0"]] == [0]


def test_a_category_is_compared_as_a_whole():
    """Three categories as three features of one column: those of rows 0 and 2 differ, although both lack the third."""
    X = np.eye(3)[[0, 0, 1, 2, 2]]
    y = np.array([1, 1, 1, 0, 0])
    ends, marks, at, counts = _strips._compare_groups(X, None, _strips.group_rows(np.arange(5), y), np.array([0, 2]))
    assert (ends.size, marks, at) == (0, [], [[67, 0], [33, 0]])
    assert counts.tolist() == [False, False]  # of so few rows


def test_a_rare_value_that_says_nothing_is_not_marked(rng, tmp_path):
    """The column tells the label by "oak"; "yew" is as rare with the label as without it."""
    y = (np.arange(400) % 2)[:, None]
    wood = np.where(y[:, 0] == 1, "oak", "ash")
    wood[:8] = "yew"
    table = pd.DataFrame({"wood": wood})
    noisy_labels = np.where(rng.random(y.shape) < 0.2, 1 - y, y)
    model = make_pipeline(TableEncoder(), StandardScaler(), ResidualPropagation(n_neighbors=5)).fit(table, noisy_labels)
    write_review(tmp_path / "a.html", model, table, noisy_labels)
    page = unpack(tmp_path / "a.html")
    assert {bool(entry["pull"]) for entry in page["entries"] if entry["row"] < 8} == {False}
    assert {bool(entry["pull"]) for entry in page["entries"] if entry["row"] >= 8} == {True}


def test_a_missing_cell_is_neither_marked_nor_on_a_picture(rng, run, tmp_path, monkeypatch):
    """ "k. A." is filled by the median for the fit; the row's own place, and the groups, are those of what is known."""
    monkeypatch.chdir(tmp_path)
    y = (np.arange(200) % 2)[:, None]
    size = (3 * y[:, 0] + rng.normal(size=200)).round(2)
    holes = rng.random(200) < 0.3
    noisy_labels = np.where(rng.random(y.shape) < 0.1, 1 - y, y)
    signs = np.where((noisy_labels[:, 0] == 1) & (rng.random(200) < 0.9), "x", "")
    cells = zip(np.where(holes, "k. A.", size.astype(str)), signs, noisy_labels[:, 0], strict=True)
    write_csv("t.csv", ["size", "sign", "flu"], [list(line) for line in cells])
    assert_done(run("review", "t.csv", "--label-columns", "flu", "--n-neighbors", "5", "--quiet", "--out", "r.html"))
    frame = pd.DataFrame({"size": np.where(holes, None, size)})
    model = make_pipeline(TableEncoder(), StandardScaler(), ResidualPropagation(n_neighbors=5)).fit(frame, noisy_labels)
    write_review("p.html", model, frame, noisy_labels, table=frame)
    for path in ("r.html", "p.html"):
        page = unpack(path)
        lines = page["told"]["0"]
        k = [page["columns"][line[0]] for line in lines].index("size")
        known = size[~holes]
        groups = [np.sort(known[noisy_labels[~holes, 0] == value]) for value in (1, 0)]
        place = [group[round(0.5 * (len(group) - 1))] for group in groups]
        low, high = np.sort(known)[[round(q * (len(known) - 1)) for q in (0.01, 0.99)]]
        assert list(map(float, lines[k][1:3])) == [low, high]
        assert np.abs(99 * (np.array(place) - low) / (high - low) - np.array(lines[k])[[5, 10]].astype(int)).max() <= 1
        for entry in page["entries"]:
            assert (entry["at"][k] is None) == holes[entry["row"]]
            assert not (holes[entry["row"]] and k + 1 in map(abs, entry["pull"]))
        assert any(k + 1 in map(abs, entry["pull"]) for entry in page["entries"])
    crosses = [line for line in unpack("r.html")["told"]["0"] if unpack("r.html")["columns"][line[0]] == "sign"]
    assert crosses  # an empty cell among crosses means no
    at = [entry["at"][unpack("r.html")["told"]["0"].index(crosses[0])] for entry in unpack("r.html")["entries"]]
    assert None not in at


def test_rare_values_are_not_called_the_same(rng, tmp_path):
    """Of 300 clerks most have few rows; most of them share the feature "(other)", which tells the label."""
    n = 1600
    y = (rng.random((n, 1)) < 0.4).astype(int)
    clerk = np.where(y[:, 0] == 1, [f"c{i % 50}" for i in range(n)], [f"c{i % 300}" for i in range(n)])
    table = pd.DataFrame({"clerk": clerk, "size": rng.normal(size=n).round(2)})
    noisy_labels = np.where(rng.random(y.shape) < 0.1, 1 - y, y)
    encoder = TableEncoder().fit(table)
    (column,) = (column for column in encoder.plan_.columns if column.name == "clerk")
    assert column.has_other
    model = make_pipeline(encoder, StandardScaler(), ResidualPropagation(n_neighbors=5, n_estimators=0))
    write_review(tmp_path / "a.html", model.fit(table, noisy_labels), table, noisy_labels)
    page = unpack(tmp_path / "a.html")
    place = [line[0] for line in page["told"]["0"]].index(page["columns"].index("clerk"))
    rare = ~np.isin(clerk, list(column.levels.values()))
    percentages = [round(100 * rare[noisy_labels[:, 0] == value].mean()) for value in (1, 0)]
    assert any(rare[entry["row"]] for entry in page["entries"])
    for entry in page["entries"]:
        at = entry["at"][place]
        assert (at == [*percentages, 1]) if rare[entry["row"]] else len(at) == 2


# ---------------------------------------------------------------- reasons


def test_reasons_are_the_linear_part_of_the_model_by_hand():
    """Two features of one column, a word that is there, and one that is not; dense as CSR."""
    plan = Plan((Column("wood", "category", levels={"oak": "oak", "ash": "ash"}), words_column("note", ["axe", "saw"])))
    names = [column.name for column in plan.used for _ in column.feature_names]
    features = _reasons.name_features(names, plan)
    method = SimpleNamespace(coef_=np.array([[2.0, -1.0, 0.5, 4.0]]), mean_=np.array([0.5, 0.25, 0.25, 0.25]))
    X = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    expected = [
        [("wood", -1, 1.25), ("axe", 2, 0.375)],  # 2 x .5 - 1 x -.25; .5 x .75
        [("saw", 3, 7.0), ("wood", -1, -1.75)],
        [("wood", -1, -0.75)],
    ]
    for rows in (X, sparse.csr_array(X)):
        reason_lists = _reasons.list_reasons(method, rows, np.arange(3), np.zeros(3, dtype=np.intp), features)
        assert [[tuple(reason) for reason in reasons] for reasons in reason_lists] == expected
        shares = _reasons.word_shares(rows, np.array([[1], [0], [0]]), {(0, 2), (0, 3)})
        assert shares == {(0, 2): [100, 0], (0, 3): [0, 50]}
    centred = method.__class__(coef_=method.coef_, mean_=np.zeros(4))
    reason_lists = _reasons.list_reasons(centred, X - method.mean_, np.arange(3), np.zeros(3, dtype=np.intp), features)
    assert [[tuple(reason) for reason in reasons] for reasons in reason_lists] == expected  # no word that the row lacks
    columns = dict(_reasons.reason_columns(reason_lists))
    assert columns["speaks_for"].tolist() == ['wood +1.2; "axe" +0.38', '"saw" +7', ""]
    assert columns["speaks_against"].tolist() == ["", "wood -1.8", "wood -0.75"]


def words_column(name, words):
    return Column(name, "words", words=dict.fromkeys(words, 1.0))


def test_entries_have_the_reasons_of_their_rows(fitted, tmp_path):
    model, X, y = fitted
    write_review(tmp_path / "a.html", model, X, y, top=20)
    step = model[-1]
    scaled = model[:-1].transform(X) - step.mean_
    for entry in unpack(tmp_path / "a.html")["entries"]:
        parts = step.coef_[entry["label"]] * scaled[entry["row"]]
        assert entry["why"]
        for name, part in entry["why"]:
            assert part == pytest.approx(parts[int(name)], rel=0.06), name
