"""The review page without a browser: what it holds, its pictures, and verdicts as arrays."""

import base64
import csv
import hashlib
import json
import os
import re
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from commands import assert_done, assert_refused, read_csv, write_csv
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import MultiLabelPropagation, ResidualPropagation
from nmlsdr.inspection import _reasons, _strips, rank_suspects, read_verdicts, write_review
from nmlsdr.inspection._images import thumbnails
from nmlsdr.inspection._page_table import PageTable
from nmlsdr.inspection._row_checks import check_rows, hash_rows
from nmlsdr.inspection._verdicts import escape_formula
from nmlsdr.tables import Column, Plan, TableEncoder

pytest.importorskip("jinja2")


def unpack(path):
    """The data of a page."""
    text = re.search(r'id="rv-data">([^<]*)<', Path(path).read_text(encoding="utf-8"))[1]
    return json.loads(zlib.decompress(base64.b64decode(text)))


@pytest.fixture
def fitted(rng):
    """(model, X, y): a pipeline fitted on rows with numbers, and labels some of which are wrong."""
    Y = (rng.random((60, 3)) < 0.4).astype(int)
    X = np.column_stack([2 * Y + rng.normal(size=Y.shape), 10 * rng.normal(size=(60, 2))])
    noisy_labels = np.where(rng.random(Y.shape) < 0.1, 1 - Y, Y)
    noisy_labels[50:] = -1
    return make_pipeline(StandardScaler(), ResidualPropagation(n_neighbors=5)).fit(X, noisy_labels), X, noisy_labels


def assert_pulls(page, entry, parts):
    """The columns that are marked are those with the largest parts, first against a label that is given."""
    marked_columns = [page["columns"][line[0]] for line in page["told"][str(entry["label"])]]
    assert len(entry["at"]) == len(marked_columns)
    size = max((abs(parts[name]) for name in marked_columns), default=0.0)
    falling = sorted(marked_columns, key=lambda name: -abs(parts[name]))
    clear = [(name, np.sign(parts[name])) for name in falling if abs(parts[name]) > 0.05 * size]
    first = -1 if entry["given"] else 1
    marked = [(marked_columns[abs(k) - 1], np.sign(k)) for k in entry["pull"]]
    assert marked == [mark for sign in (first, -first) for mark in clear if mark[1] == sign]


# ---------------------------------------------------------------- what the page holds


def test_entries_are_the_list_and_their_rows_the_nearest(fitted, tmp_path):
    model, X, y = fitted
    write_review(tmp_path / "a.html", model, X, y, top=20)
    page = unpack(tmp_path / "a.html")
    step = model[-1]
    suspects = rank_suspects(step, y, audit=5).first(20)
    number = page["rows"]
    for name in ("row", "label", "given", "audit"):
        assert [entry[name] for entry in page["entries"]] == getattr(suspects, name).tolist()
    for name in ("score", "odds"):
        assert [entry[name] for entry in page["entries"]] == pytest.approx(getattr(suspects, name), rel=6e-3)
    assert page["doubtful"] == 15  # a tenth of the 150 annotations
    assert number == sorted(set(number))
    assert page["columns"] == ["0", "1", "2", "3", "4"]
    for entry in page["entries"]:
        i = entry["row"]
        c = entry["label"]
        apart = np.linalg.norm(step.embedding_ - step.embedding_[i], axis=1)
        apart[i] = np.inf
        for side, value in (("having", 1), ("lacking", 0)):
            expected = [j for j in np.argsort(apart, kind="stable") if y[j, c] == value and j != i][:3]
            assert [j for j, _ in entry[side]] == expected
            assert [d for _, d in entry[side]] == pytest.approx(apart[expected], rel=6e-2)
        near = [j for j in np.argsort(apart, kind="stable") if y[j, c] != -1 and j != i][:5]
        assert entry["near"] == y[near, c].tolist()
        x = (X[i] - X.mean(axis=0)) / X.std(axis=0)
        assert_pulls(page, entry, dict(zip(page["columns"], step.coef_[c] * x, strict=True)))
        assert all(page["cells"][j][number.index(i)] == f"{X[i, j]:.6g}" for j in range(5))


def test_a_category_has_the_sum_of_the_parts_of_its_levels(rng, tmp_path):
    n = 60
    y = (rng.random((n, 2)) < 0.5).astype(int)
    wood = np.where(y[:, 0] == 1, "oak", rng.choice(["ash", "elm"], n))
    table = pd.DataFrame({"wood": wood, "size": rng.normal(size=n)})
    model = make_pipeline(TableEncoder(), StandardScaler(), ResidualPropagation(n_neighbors=5)).fit(table, y)
    write_review(tmp_path / "a.html", model, table, y)
    page = unpack(tmp_path / "a.html")
    assert page["columns"] == ["wood", "size"]
    step = model[-1]
    scaled = model[:-1].transform(table)
    marked_names = set()
    for entry in page["entries"]:
        parts = step.coef_[entry["label"]] * (scaled[entry["row"]] - step.mean_)
        row_wood = table["wood"][entry["row"]]
        shares = [np.mean(wood[y[:, entry["label"]] == value] == row_wood) for value in (1, 0)]
        marked_columns = [page["columns"][line[0]] for line in page["told"][str(entry["label"])]]
        if "wood" in marked_columns:
            assert entry["at"][marked_columns.index("wood")] == [round(100 * share) for share in shares]
        marked = {marked_columns[abs(k) - 1]: np.sign(k) for k in entry["pull"]}
        assert marked.items() <= {"wood": np.sign(parts[:3].sum()), "size": np.sign(parts[3])}.items()
        marked_names |= marked.keys()
    assert "wood" in marked_names
    assert set(page["cells"][0]) <= {"oak", "ash", "elm"}


@pytest.mark.parametrize("form", ["sparse", "no coefficients"])
def test_other_rows_and_other_methods_have_a_page_too(fitted, tmp_path, form):
    _, X, y = fitted
    if form == "sparse":
        X = sparse.csr_array(np.where(np.abs(X) < 1, 0, X))
        model = ResidualPropagation(n_neighbors=5).fit(X, y)
    else:
        model = MultiLabelPropagation(5).fit(X, y)
    kind = "all" if form == "sparse" else "forgotten"
    write_review(tmp_path / "a.html", model, X, y, kind=kind, top=5)
    page = unpack(tmp_path / "a.html")
    assert any(entry["pull"] for entry in page["entries"]) == (form == "sparse")
    assert any(page["told"].values()) == (form == "sparse")
    assert page["kind"] == kind
    assert len(page["cells"][0]) == len(page["rows"])


def test_a_very_wide_table_shows_the_columns_that_matter(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(_strips, "MOST_COLUMNS", 50)
    y = (rng.random((60, 2)) < 0.4).astype(int)
    X = rng.normal(size=(60, 200))
    X[:, [150, 60]] += 3 * y
    model = ResidualPropagation(n_neighbors=5).fit(X, y)
    write_review(tmp_path / "a.html", model, X, y, top=10)
    page = unpack(tmp_path / "a.html")
    assert len(page["columns"]) <= 50
    assert {"150", "60"} <= set(page["columns"])
    for entry in page["entries"]:  # these features are not standardised, so that their mean matters
        parts = model.coef_[entry["label"]] * (X[entry["row"]] - X.mean(axis=0))
        assert_pulls(page, entry, {name: parts[int(name)] for name in page["columns"]})
    assert any(entry["pull"] for entry in page["entries"])
    place = page["columns"].index("150")
    assert page["cells"][place] == [f"{v:.6g}" for v in X[page["rows"], 150]]


def test_the_page_loads_nothing_and_its_policy_names_its_own_script_and_style(fitted, tmp_path):
    model, X, y = fitted
    write_review(tmp_path / "a.html", model, X, y)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; ")
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}';" in policy
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|eval\(|innerHTML|unsafe|https?:| style=", page)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: {"ids": ["a"]}, "ids needs one entry for each of the 60 rows, got 1"),
        (lambda X, y: {"table": X[:5]}, "table needs one entry for each of the 60 rows, got 5"),
        (lambda X, y: {"kind": "x"}, "kind must be"),
        (lambda X, y: {"top": 0}, "top must be"),
        (lambda X, y: {"verdicts": y[:5]}, "verdicts must have"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(fitted, tmp_path, change, words):
    model, X, y = fitted
    with pytest.raises(ValueError, match=words):
        write_review(tmp_path / "a.html", model, X, y, **change(X, y))
    assert not (tmp_path / "a.html").exists()


def test_without_jinja_one_sentence_says_what_to_install(fitted, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"The review page needs jinja2; install it .* 'nmlsdr\[cli\]'"):
        write_review(tmp_path / "a.html", *fitted)


# ---------------------------------------------------------------- verdicts


def write_verdicts(path, page, values):
    """Write what the page writes for its first entries; that it does is tested in a browser."""
    known = dict(zip(page["rows"], zip(page["ids"], page["checks"], strict=True), strict=True))
    entries = zip(page["entries"], values, strict=False)
    lines = page["earlier"] + [[entry["row"], entry["label"], entry["given"], value] for entry, value in entries]
    rows = [[known[i][0], i, escape_formula(page["labels"][c]), known[i][1], value] for i, c, _, value in lines]
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([[page["key"] or "id", "row", "label", "check", "verdict"], *rows])


def test_verdicts_come_back_as_arrays(fitted, tmp_path):
    model, X, y = fitted
    y = pd.DataFrame(y, columns=["flu", "=cold", "gout, acute"])
    model = model.fit(X, y)
    ids = [f"P{i % 40}" for i in range(60)]  # some rows share one
    write_review(tmp_path / "a.html", model, X, y, ids=ids)
    page = unpack(tmp_path / "a.html")
    write_verdicts(tmp_path / "v.csv", page, [1, 0, 1, 0])
    verdicts = read_verdicts(tmp_path / "v.csv", y, table=X, ids=ids)
    places = [(entry["row"], entry["label"]) for entry in page["entries"][:4]]
    assert [verdicts[place] for place in places] == [1, 0, 1, 0]
    assert (verdicts >= 0).sum() == 4
    again = ResidualPropagation(n_neighbors=5).fit(X, y, verdicts=verdicts)
    write_review(tmp_path / "b.html", again, X, y, ids=ids, verdicts=verdicts)
    later = unpack(tmp_path / "b.html")
    assert not {(entry["row"], entry["label"]) for entry in later["entries"]} & set(places)
    write_verdicts(tmp_path / "w.csv", later, [])  # the earlier verdicts are in the next file
    np.testing.assert_array_equal(read_verdicts(tmp_path / "w.csv", y, table=X, ids=ids), verdicts)
    assert later["digest"] != page["digest"]
    for i, on in zip(later["rows"], later["has"], strict=True):  # neighbours are those of the labels with verdicts
        assert on == [c for c in range(3) if (verdicts[i, c] if verdicts[i, c] >= 0 else y.iloc[i, c]) == 1]


# ---------------------------------------------------------------- which row a line means


@pytest.fixture
def table(rng):
    """Forty rows that differ, and labels."""
    return rng.normal(size=(40, 3)).round(2), rng.integers(0, 2, (40, 3))


def write_lines(path, X, y, rows, verdict="0", **columns):
    """A list with a verdict on label r % 3 of each of some rows; `columns` take the place of its own."""
    checks = check_rows(X, np.asarray(y))
    default_columns = {
        "row": rows,
        "label": [f"label_{i % 3}" for i in rows],
        "check": [checks[i] for i in rows],
        "suggest": [["add", "remove"][y[i, i % 3]] for i in rows],
        "verdict": [verdict] * len(rows),
    }
    lines = pd.DataFrame({name: value for name, value in (default_columns | columns).items() if value is not None})
    lines.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        sparse.csr_array,
        lambda X: pd.DataFrame(X, columns=list("abc")),
        lambda X: pd.DataFrame(X.astype(str), columns=list("abc")),
    ],
)
def test_a_verdict_finds_its_row_wherever_it_stands(table, tmp_path, rng, form):
    """In a table that was sorted and grew; a row that is gone is named, and not another one taken for it."""
    X, y = table
    file = write_lines(tmp_path / "v.csv", form(X), y, list(range(0, 40, 2)))
    expected = np.full(y.shape, -1)
    expected[range(0, 40, 2), [i % 3 for i in range(0, 40, 2)]] = 0
    order = rng.permutation(40)
    longer_table = np.vstack([X[order], rng.normal(size=(3, 3))]), np.vstack([y[order], y[:3]])
    np.testing.assert_array_equal(
        read_verdicts(file, longer_table[1], table=form(longer_table[0]))[:40], expected[order]
    )
    for gone in range(5):
        words = f"v.csv, line {gone // 2 + 2}: no row of the table has the check" if gone % 2 == 0 else None
        shorter_table = np.delete(X, gone, axis=0), np.delete(y, gone, axis=0)
        if words is None:
            np.testing.assert_array_equal(
                read_verdicts(file, shorter_table[1], table=form(shorter_table[0])), np.delete(expected, gone, 0)
            )
        else:
            with pytest.raises(ValueError, match=re.escape(words)):
                read_verdicts(file, shorter_table[1], table=form(shorter_table[0]))


def test_a_list_of_another_table_is_refused(table, tmp_path, rng):
    """Without ids, verdicts on forgotten labels fitted a table with one row less in half of the trials."""
    X, y = table
    file = write_lines(tmp_path / "v.csv", X, y, [3, 5, 7])
    with pytest.raises(
        ValueError, match=r"line 2: no row of the table .*, and 2 more lines of 3 cannot be placed; give"
    ):
        read_verdicts(file, y, table=rng.normal(size=(40, 3)))
    for how, words in (({}, "pass table= or ids="), ({"ids": range(40)}, "lacks the column 'id'")):
        with pytest.raises(ValueError, match=words):
            read_verdicts(file, y, **how)
    with pytest.raises(ValueError, match="lacks the column 'check'"):
        read_verdicts(write_lines(file, X, y, [3], check=None), y, table=X)


def test_equal_rows_are_told_apart_by_their_labels_and_then_counted(tmp_path):
    """Rows 0 to 4 are equal, 0 and 1 in their labels, too; whoever cannot be told is refused."""
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], [5, 1], axis=0)
    y = np.eye(6, 3, dtype=int)
    y[:5] = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    assert len(set(check_rows(X, y))) == 6
    file = write_lines(tmp_path / "v.csv", X, y, [0, 1, 2, 3, 5])
    order = [5, 3, 0, 2, 1, 4]
    expected = read_verdicts(file, y, table=X)
    assert (expected == 0).sum() == 5
    np.testing.assert_array_equal(read_verdicts(file, y[order], table=X[order]), expected[order])
    for row_subset in ([1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5, 0]):  # one less or more of those that are equal in all
        with pytest.raises(ValueError, match=r"line 2: no row .* and 1 more line of 5 cannot be placed"):
            read_verdicts(file, y[row_subset], table=X[row_subset])
    remaining_rows = [0, 1, 2, 3, 5]
    np.testing.assert_array_equal(
        read_verdicts(file, y[remaining_rows], table=X[remaining_rows]), expected[remaining_rows]
    )
    whole = y.copy()
    whole[5] = 1 - whole[5]  # which changes no check of a row that has no equal
    np.testing.assert_array_equal(check_rows(X, whole), check_rows(X, y))


def test_check_and_id_find_a_row_each_and_must_not_contradict(table, tmp_path):
    X, y = table
    ids = [f"P{i}" for i in range(40)]
    file = tmp_path / "v.csv"
    at = {"table": X, "ids": ids}
    expected_places = [(4, 1), (8, 2)]

    def places_by(**columns):
        return list(map(tuple, np.argwhere(read_verdicts(write_lines(file, X, y, [4, 8], **columns), y, **at) == 0)))

    assert (
        places_by(id=["P4", "P8"])
        == places_by(id=["", "P8"])
        == places_by(check=None, id=["P4", "P8"])
        == expected_places
    )
    assert places_by(id=["P4", "P8"], check=["", check_rows(X, y)[8]]) == expected_places
    with pytest.warns(UserWarning, match="has the check of 1 verdict; the other column found the row"):
        assert places_by(id=["P4", "P8"], check=["abadcafe", check_rows(X, y)[8]]) == expected_places
    with pytest.warns(
        UserWarning, match="no row of the table has the id of 2 verdicts; the other column found the row"
    ):
        assert places_by(id=["Q4", "Q8"]) == expected_places
    with pytest.raises(ValueError, match=r"line 3: the check '.+' and the id 'P9' belong to two rows, 8 and 9"):
        places_by(id=["P4", "P9"])
    with pytest.raises(ValueError, match="no row of the table has the check 'b0' and the id 'Q9'; give the list"):
        places_by(id=["P4", "Q9"], check=[check_rows(X, y)[4], "b0"])
    at["ids"] = [f"P{i // 2}" for i in range(40)]
    assert places_by(id=["P2", "P4"]) == expected_places
    with pytest.raises(ValueError, match="line 2: 2 rows of the table have the id 'P2', the first is row 4"):
        places_by(id=["P2", "P4"], check=["", ""])


def test_the_column_that_was_named_goes_before_one_that_is_called_id(table, tmp_path):
    X, y = table
    file = write_lines(tmp_path / "v.csv", X, y, [4], check=None, id=["P9"], Patient=["P4"])
    verdicts = read_verdicts(file, y, ids=[f"P{i}" for i in range(40)], id_name="patient")
    assert np.argwhere(verdicts != -1).tolist() == [[4, 1]]


def test_an_entry_that_is_unknown_by_now_was_not_corrected(table, tmp_path):
    X, y = table
    file = write_lines(tmp_path / "v.csv", X, y, [4], "keep")
    later = np.where(np.arange(40)[:, None] == 4, -1, y)
    assert read_verdicts(file, later, table=X)[4, 1] == y[4, 1]


def test_a_number_counts_by_its_value_and_a_check_is_no_number(table):
    X, y = table
    checks = check_rows(X, y)
    assert all(re.fullmatch("[ab][0-9a-f]{7}", check) for check in checks)  # spreadsheets read 12345678 and 1234e567
    np.testing.assert_array_equal(check_rows(np.where(X == 0, -0.0, X), y), checks)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    np.testing.assert_array_equal(check_rows(frame[["c", "a", "b"]], y), check_rows(frame, y))
    texts = [pd.DataFrame({"a": [f"1.5{end}", "x", null, "e\u0301"]}) for end, null in (("", None), ("0", np.nan))]
    small = np.zeros((4, 1))
    np.testing.assert_array_equal(*(check_rows(text, small) for text in texts))
    assert check_rows(texts[0], small)[3] == check_rows(pd.DataFrame({"a": ["\u00e9", "y"]}), small[:2])[0]
    assert len(set(check_rows([["x", "y"], ["y", "x"], ["x", ""], ["", "x"]], small))) == 4


def test_checks_are_spread_evenly():
    """Of 100 000 rows of three small numbers as many pairs are equal as chance has: 9.3 of the 29 bits."""
    X = np.column_stack(np.unravel_index(np.arange(100_000), (50, 50, 40))).astype(float)
    n_equal = len(X) - len(np.unique(hash_rows(X, len(X)) >> np.uint64(35)))
    assert 1 <= n_equal <= 22


def test_labels_that_were_corrected_since_the_list_are_said_and_keep_is_what_stood_there(table, tmp_path):
    X, y = table
    file = write_lines(tmp_path / "v.csv", X, y, [4, 8, 11], "keep")
    expected = read_verdicts(file, y, table=X)
    assert [expected[i, i % 3] for i in (4, 8, 11)] == [y[i, i % 3] for i in (4, 8, 11)]
    later = y.copy()
    later[8, 2] = 1 - y[8, 2]
    with pytest.warns(UserWarning, match="1 label of the table changed since the list was made") as caught_warnings:
        np.testing.assert_array_equal(read_verdicts(file, later, table=X), expected)
    assert caught_warnings[0].filename == __file__


@pytest.mark.parametrize("words", [("0", "1"), ("1", "0"), ("1", "unclear"), ("unclear", "0")])
def test_two_different_verdicts_on_one_entry_are_refused_in_either_order(words, tmp_path):
    file = tmp_path / "v.csv"
    file.write_text("id,label,verdict\n" + "".join(f"0,label_0,{word}\n" for word in words))
    with pytest.raises(ValueError, match="line 3: a second and different verdict"):
        read_verdicts(file, [[1, 0], [0, 1]], ids=[0, 1])
    file.write_text(f"id,label,verdict\n0,label_0,{words[0]}\n")
    expected_verdict = {"unclear": -2}.get(words[0], words[0])  # y may be votes
    assert read_verdicts(file, [[0.5, 0], [0, 1]], ids=np.arange(2)).tolist() == [[int(expected_verdict), -1], [-1, -1]]


def test_who_cannot_tell_leaves_the_entry_as_it_is(tmp_path):
    file = tmp_path / "v.csv"
    file.write_text("id,label,verdict\n0,label_0,Unclear\n1,label_1,0\n")
    np.testing.assert_array_equal(read_verdicts(file, [[1, 0], [0, 1]], ids=[0, 1]), [[-2, -1], [-1, 0]])


def test_where_an_empty_cell_means_no_it_is_not_missing():
    answers = {"": "no", "yes": "yes"}
    codes = {"1": "1", "2": "2"}
    used = Column("a", "yes/no", levels=answers), Column("b", "category", levels=codes)
    plan = Plan(used, missing=("k.a.",))
    cells = np.array([["", ""], ["yes", "k.A."], ["yes", "1"]], dtype=object)
    shown = PageTable(
        source="",
        label_names=[],
        verdicts=None,
        labels=None,
        named=[],
        columns=[],
        read=cells,
        names=["a", "b"],
        plan=plan,
    )
    assert shown.absent("a").tolist() == [False] * 3
    assert shown.absent("b").tolist() == [True, True, False]
    assert shown.cells([2, 0], ["b"]) == [["1", ""]]
    assert shown.feature_columns == [c.name for c in plan.used for _ in c.feature_names] == ["a", "b", "b"]


def test_nearest_rows_are_labelled_rows_and_a_partly_known_one_is_one(rng, tmp_path):
    """Of the five nearest rows with any known label those count in which this label is known."""
    y = rng.integers(0, 2, (60, 2))
    y[rng.random(60) < 0.5, 0] = -1
    y[:10] = -1
    X = rng.normal(size=(60, 3)) + np.where(y == 1, 2, 0)[:, [0, 1, 1]]
    model = ResidualPropagation(n_neighbors=5, n_estimators=5).fit(X, y)
    write_review(tmp_path / "a.html", model, X, y)
    for entry in unpack(tmp_path / "a.html")["entries"]:
        apart = np.linalg.norm(model.embedding_ - model.embedding_[entry["row"]], axis=1)
        apart[entry["row"]] = np.inf
        near = [j for j in np.argsort(apart, kind="stable") if (y[j] != -1).any()][:5]
        assert entry["near"] == y[near, entry["label"]].tolist()


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


def test_the_digest_is_that_of_the_list(fitted, tmp_path):
    model, X, y = fitted
    digests = []
    for options in ({}, {"table": X[:, :1]}, {"top": 3}, {"title": "other"}):
        write_review(tmp_path / "a.html", model, X, y, **options)
        digests.append(unpack(tmp_path / "a.html")["digest"])
    for names in ("abc", "abd"):
        write_review(tmp_path / "a.html", model, X, pd.DataFrame(y, columns=list(names)))
        digests.append(unpack(tmp_path / "a.html")["digest"])
    assert len(set(digests)) == 6  # the cells of other rows have other checks


def test_two_columns_of_one_name_are_refused(fitted, tmp_path):
    """The check and the page would know different ones."""
    model, X, y = fitted
    table = pd.DataFrame(X[:, :2], columns=["a", "a"])
    for call in (
        lambda: write_review(tmp_path / "a.html", model, X, y, table=table),
        lambda: check_rows(table, y),
    ):
        with pytest.raises(ValueError, match=r"The table has 2 columns named 'a', .*rename or drop one"):
            call()
    assert not (tmp_path / "a.html").exists()


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


# ---------------------------------------------------------------- the command


@pytest.fixture
def hospital(rng, tmp_path, monkeypatch):
    """t.csv: decimal commas, a category, a date, free text, ids that repeat, and a column filled in with the labels."""
    monkeypatch.chdir(tmp_path)
    n = 80
    truth = (rng.random((n, 2)) < 0.4).astype(int)
    rows = []
    for i, on in enumerate(truth):
        number = f"{1 + 2 * on[0] + rng.normal():.2f}".replace(".", ",")
        words = " ".join(rng.choice(list("abcdefghijklmnopq"), 9)) + f" visit {i}"
        label_cells = [*map(str, [f"0,{i}", *on])] if i < 40 else ["", "", ""]
        ward = "east" if on[1] else "west"
        rows.append([f"P{i // 2}", number, ward, f"2020-0{1 + i % 9}-11", words, f"x{i}.png", *label_cells])
    names = ["patient", "size", "ward", "day", "note", "photo", "certainty", "flu", "=cold"]
    write_csv("t.csv", names, rows, delimiter=";")
    return rows


AS = ["--label-columns", "flu,=cold", "--id", "patient", "--n-neighbors", "5", "--quiet"]


def test_the_cells_stand_as_they_stand_in_the_table(run, hospital):
    assert_done(run("review", "t.csv", *AS, "--out", "r.html", "--out", "r.csv"))
    page = unpack("r.html")
    assert set(page["columns"]) >= {"size", "ward", "day"}
    assert not set(page["columns"]) & {"patient", "flu", "=cold", "certainty"}
    for name, column in zip(page["columns"], page["cells"], strict=True):
        j = ["patient", "size", "ward", "day", "note", "photo"].index(name)
        assert column == [hospital[i][j] for i in page["rows"]]
    assert page["ids"] == [hospital[i][0] for i in page["rows"]]
    names, listed = read_csv("r.csv")
    assert len(listed) == 80
    assert names[:3] == [page["key"], "row", "label"]
    assert [entry["row"] for entry in page["entries"]] == [int(line[1]) for line in listed]
    digits = [line[3].split("e")[0].replace(".", "").lstrip("0") for line in listed]  # of the score
    assert all(len(written) <= 3 for written in digits)


def test_what_the_page_writes_is_taken_by_fit_review_and_python(run, hospital):
    assert_done(run("review", "t.csv", *AS, "--out", "r.html"))
    page = unpack("r.html")
    write_verdicts("v.csv", page, [1, 0, 1])
    assert_done(run("fit", "t.csv", *AS, "--reviewed", "v.csv", "--out", "m.skops"))
    assert_done(run("review", "t.csv", *AS, "--reviewed", "v.csv", "--out", "next.html", "--out", "next.csv"))
    later = unpack("next.html")
    assert len(later["earlier"]) == 3
    assert len(read_csv("next.csv")[1]) == 77
    file_labels = np.array([[int(v or -1) for v in row[-2:]] for row in hospital])
    cells = pd.read_csv("t.csv", sep=";")[["size", "ward", "day", "note", "photo", "certainty"]]
    verdicts = read_verdicts(
        "v.csv",
        pd.DataFrame(file_labels, columns=["flu", "=cold"]),
        table=cells,
        ids=[row[0] for row in hospital],
        id_name="patient",
    )
    assert (verdicts >= 0).sum() == 3
    for i, c, value, verdict in later["earlier"]:  # what was given before the verdict, not the verdict
        assert (value, verdict) == (file_labels[i, c], verdicts[i, c])
    write_verdicts("w.csv", later, [1])
    assert_done(run("review", "t.csv", *AS, "--reviewed", "w.csv", "--out", "third.csv"))
    assert len(read_csv("third.csv")[1]) == 76


def test_the_columns_that_are_shown_are_chosen_or_none(run, hospital):
    assert_done(run("review", "t.csv", *AS, "--show", "certainty,note", "--out", "r.html"))
    assert unpack("r.html")["columns"] == ["certainty", "note"]
    assert_done(run("review", "t.csv", *AS, "--no-cells", "--out", "r.html"))
    page = unpack("r.html")
    assert (page["columns"], page["cells"]) == ([], [])
    assert "what their cells hold" not in Path("r.html").read_text(encoding="utf-8")
    texts = json.dumps(page)
    assert not any(row[4] in texts for row in hospital)
    for options, words in (
        (["--show", "x"], ["no column 'x'", "--show"]),
        (["--image", "x"], ["no column 'x'", "--image"]),
        (["--show", "note", "--no-cells"], ["--show and --no-cells exclude each other"]),
    ):
        assert_refused(run("review", "t.csv", *AS, *options, "--out", "r.html"), *words)


def test_two_files_that_are_one_are_refused(run, hospital):
    assert_refused(run("review", "t.csv", *AS, "--out", "r.csv", "--out", "./r.csv"), "given twice")
    assert_refused(run("review", "t.csv", *AS, "--out", "r.csv", "--out", "r.txt"), "r.txt", ".html")
    assert_refused(run("review", "t.csv", *AS, "--out", "r.html", "--out", "t.csv"), "t.csv")
    assert not Path("r.csv").exists()


def test_where_ids_repeat_the_nearest_rows_have_their_number_too(run, hospital):
    assert_done(run("review", "t.csv", *AS, "--explain", "--top", "4", "--out", "r.csv"))
    names, lines = read_csv("r.csv")
    assert names[10:14] == ["near_1", "near_1_row", "near_1_given", "near_1_distance"]
    for line in lines:
        record = dict(zip(names, line, strict=True))
        assert all(hospital[int(record[f"near_{k}_row"])][0] == record[f"near_{k}"] for k in range(1, 6))


def test_rows_of_a_file_without_names_are_shown_as_numbers(run, rng, tmp_path):
    X = rng.normal(size=(40, 3))
    y = (rng.random((40, 2)) < 0.4).astype(int)
    np.savez("t.npz", X=X, y=y)
    assert_done(run("review", "t.npz", "--n-neighbors", "5", "--quiet", "--out", "r.html"))
    page = unpack("r.html")
    assert page["columns"] == ["feature_0", "feature_1", "feature_2"]
    assert page["cells"][1] == [f"{v:.6g}" for v in X[page["rows"], 1]]
    assert (page["key"], page["ids"][0]) == ("", None)


def test_a_page_needs_its_template_engine_before_any_work(run, hospital, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert_refused(run("review", "t.csv", *AS, "--out", "r.html"), "The review page needs jinja2", status=1)


# ---------------------------------------------------------------- pictures


@pytest.fixture
def pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "data"
    (folder / "deep").mkdir(parents=True)
    image.new("RGB", (1000, 500), "red").save(folder / "a.png")
    image.new("RGBA", (10, 10), (0, 0, 0, 0)).save(folder / "deep" / "b.webp")
    image.new("P", (30, 20)).save(folder / "c.gif")
    image.new("L", (30, 20)).save(folder / "d.jpeg")
    image.new("RGB", (5, 5)).save(folder / "e.bmp")
    image.new("RGB", (5, 5)).save(tmp_path / "outside.png")
    (folder / "f.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
    (folder / "g.png").write_text("<script>")
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "linked").symlink_to(tmp_path)
    return folder


def test_pictures_are_small_data_of_four_kinds(pictures):
    image = pytest.importorskip("PIL.Image")
    import io

    pictures_read = thumbnails(str(pictures), ["a.png", "deep/b.webp", "c.gif", "d.jpeg", "a.png", ""])
    assert [name for name, _ in pictures_read] == ["a.png", "deep/b.webp", "c.gif", "d.jpeg", "a.png", ""]
    assert pictures_read[-1] == ["", ""]
    for _, uri in pictures_read[:-1]:
        kind, text = re.fullmatch(r"data:image/(png|jpeg);base64,(.*)", uri).groups()
        opened = image.open(io.BytesIO(base64.b64decode(text)))
        assert opened.format == kind.upper()
        assert max(opened.size) <= 480
    assert opened.size == (480, 240)


@pytest.mark.parametrize(
    "name",
    [
        "../outside.png",
        "deep/../../outside.png",
        "link.png",
        "linked/outside.png",
        "http://example.org/a.png",
        "file:a.png",
        "e.bmp",
        "f.svg",
        "g.png",
        "deep",
        "no.png",
        "..\\outside.png",
        "\0",
        "C:\\a.png",
        "a.png/",
        ".",
    ],
)
def test_nothing_else_is_read(pictures, name):
    ((picture_name, uri),) = thumbnails(str(pictures), [name])
    assert uri == "" or name == "a.png/"
    assert picture_name.startswith(name)
    ((_, absolute),) = thumbnails(str(pictures), [str(pictures.parent / "outside.png")])
    assert absolute == ""


def test_a_pipe_that_waits_for_a_writer_is_not_opened(pictures):
    os.mkfifo(pictures / "pipe.png")
    ((picture_name, uri),) = thumbnails(str(pictures), ["pipe.png"])
    assert (picture_name, uri) == ("pipe.png (not a picture below the folder of the data)", "")


def test_a_picture_with_a_very_long_side_is_not_read(pictures):
    image = pytest.importorskip("PIL.Image")
    for side, shown in ((20_000, True), (20_001, False)):
        image.new("L", (side, 1)).save(pictures / "long.png")
        assert bool(thumbnails(str(pictures), ["long.png"])[0][1]) == shown


def test_pictures_beyond_the_limit_are_named(pictures, monkeypatch):
    monkeypatch.setattr("nmlsdr.inspection._images.MOST_BYTES", len(thumbnails(str(pictures), ["a.png"])[0][1]))
    pictures_read = thumbnails(str(pictures), ["a.png", "c.gif", "a.png"])
    assert pictures_read[0] == pictures_read[2]
    assert pictures_read[0][1]
    assert pictures_read[1] == ["c.gif (the page has no room for it)", ""]


def test_pictures_of_the_table_are_on_the_page(run, hospital, tmp_path):
    image = pytest.importorskip("PIL.Image")
    for i in range(0, 80, 2):
        image.new("RGB", (8, 8), (3 * i, 0, 0)).save(f"x{i}.png")
    assert_done(run("review", "t.csv", *AS, "--image", "photo", "--out", "r.html"))
    page = unpack("r.html")
    assert "photo" not in page["columns"]
    for i, (name, uri) in zip(page["rows"], page["pictures"], strict=True):
        assert bool(uri) == (i % 2 == 0)
        assert name == f"x{i}.png" + ("" if uri else " (not a picture below the folder of the data)")
    n = sum(i % 2 for i in page["rows"])
    assert f"{n} pictures are not shown" in Path("r.html").read_text(encoding="utf-8")


def test_a_very_long_cell_is_cut(fitted, tmp_path):
    model, X, y = fitted
    write_review(tmp_path / "a.html", model, X, y, table=[["x" * 20_000]] * 60, top=2)
    assert {len(text) for text in unpack(tmp_path / "a.html")["cells"][0]} == {10_000}
