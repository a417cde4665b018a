"""The review page without a browser: its entries, their nearest rows and cells, its policy, and what it refuses."""

import base64
import hashlib
import re
import sys

import numpy as np
import pandas as pd
import pytest
from review_page import unpack
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import MultiLabelPropagation, ResidualPropagation
from nmlsdr.inspection import _strips, rank_suspects, write_review
from nmlsdr.inspection._page_table import PageTable
from nmlsdr.inspection._row_checks import check_rows
from nmlsdr.tables import Column, Plan, TableEncoder

pytest.importorskip("jinja2")


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


def test_a_very_long_cell_is_cut(fitted, tmp_path):
    model, X, y = fitted
    write_review(tmp_path / "a.html", model, X, y, table=[["x" * 20_000]] * 60, top=2)
    assert {len(text) for text in unpack(tmp_path / "a.html")["cells"][0]} == {10_000}


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


# ---------------------------------------------------------------- refused


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


def test_without_jinja_one_sentence_says_what_to_install(fitted, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"The review page needs jinja2; install it .* 'nmlsdr\[cli\]'"):
        write_review(tmp_path / "a.html", *fitted)
