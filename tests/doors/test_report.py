"""`nmlsdr report`: the facts are right, the page holds them and nothing that a file could smuggle into it."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from commands import LABELS, assert_done, assert_refused, label_columns, ran, write_csv, write_tables
from sklearn.preprocessing import StandardScaler

from nmlsdr import MLkNN
from nmlsdr._report import description
from nmlsdr._report import trial as trials
from nmlsdr._report.curve import curve_picture
from nmlsdr._report.page import render
from nmlsdr._report.rivals import STRENGTHS, TunedLogistic
from nmlsdr._report.scores import describe_rare
from nmlsdr._report.significance import against_best, describe_signal, holm
from nmlsdr.cli import main
from nmlsdr.inspection._entries import nearest_rows
from nmlsdr.inspection._html import readable
from nmlsdr.metrics import score_table
from nmlsdr.tables import TableEncoder

pytest.importorskip("jinja2")


class Knn(MLkNN):
    """ML-kNN with the thresholds that the trial asks its first method for."""

    cutoffs_ = dict.fromkeys(("f1", "prior", "0.5"), 0.5)


HOSTILE = [
    "<script>document.title='taken'</script>",
    "</script><img src=x onerror=\"document.title='taken'\">",
    "\" onmouseover=\"document.title='taken'",
    "' autofocus onfocus='document.title=1",
    "{{ 7 * 7 }}{% for x in ().__class__.__base__.__subclasses__() %}{% endfor %}",
    "]]><!--<svg onload=alert(1)>-->",
    "javascript:alert(1)//&lt;b&gt;",
    "\x00\x1b[31m\x7fbell\x07",
    "\u202egnp.exe\u2066 \ud800 \ufdd0 \u2028",
    '=HYPERLINK("http://example.org")',
]


# ---------------------------------------------------------------- what was read


def test_constant_columns_and_columns_with_missing_values_are_reported():
    X = np.array(
        [[1.0, 5.0, np.nan, np.nan], [2.0, 5.0, 3.0, np.nan], [3.0, 5.0, 3.0, np.nan], [4.0, 5.0, 4.0, np.nan]]
    )
    y = np.array([[1, 0], [0, -1], [0, 0], [-1, -1]])
    facts = description.describe_table(X, y, source="a.csv", feature_names=list("abcd"))
    assert facts["constant"] == ["b", "d"]  # a column of holes is constant too
    assert facts["missing"] == [{"name": "d", "cells": 4, "share": 1.0}, {"name": "c", "cells": 1, "share": 0.25}]
    assert (facts["n_rows"], facts["n_labeled"], facts["n_unknown_entries"], facts["n_without_label"]) == (4, 3, 1, 2)
    assert facts["labels_per_row"] == pytest.approx(1 / 3)


def test_a_category_with_holes_is_one_column_of_numbers_of_levels():
    raw = np.array([[0.5 * i, "" if i < 2 else "ab"[i % 2]] for i in range(8)], dtype=object)
    encoder = TableEncoder(one_hot=["1"])
    X = encoder.fit_transform(raw)
    names = ["0", "1"]
    X, column_names = encoder.plan_.collapsed(X)
    np.testing.assert_array_equal(X[:, 1], [np.nan, np.nan, 0, 1, 0, 1, 0, 1])
    facts = description.describe_table(X, np.ones((8, 1)), source="a.csv", feature_names=names)
    assert column_names == names
    assert [(column["name"], column["cells"]) for column in facts["missing"]] == [("1", 2)]


def test_missing_values_are_counted_before_they_are_filled(run, rng):
    rows = [[i % 2 + rng.normal() / 9, "" if i % 4 == 0 else 1.5 * i, "uv"[i % 2], (i < 6) ^ i % 2] for i in range(40)]
    write_csv("a.csv", ["a", "b", "ward", "y"], rows)
    ask = ["--label-columns", "y", "--impute", "mean", "--folds", "0"]
    assert_done(run("report", "a.csv", *ask, "--out", "a.html"))
    page = Path("a.html").read_text(encoding="utf-8")
    assert re.search(r"<code>b</code>: 10 cells \(25\s%\)", page)
    assert "<b>3</b>features" in page
    assert "ward=u" in page


def test_sparse_columns_are_read_without_making_them_dense():
    from scipy import sparse

    X = sparse.csr_array(np.array([[0.0, 2.0, 0.0], [0.0, 2.0, 1.0]]))
    facts = description.describe_table(X, np.ones((2, 1)), source="a", feature_names=["x", "y", "z"])
    assert facts["constant"] == ["x", "y"]


def test_labels_together_are_counts_of_rows(rng):
    has_label = rng.random((40, 5)) < 0.4
    known = np.repeat(rng.random((40, 1)) < 0.7, 5, axis=1)
    facts = description.describe_labels(np.where(known, has_label, -1), list("vwxyz"))
    order = ["vwxyz".index(name) for name in facts["together"]["names"]]
    on = (has_label & known).astype(int)
    assert facts["together"]["counts"] == (on.T @ on)[np.ix_(order, order)].tolist()
    positives = [label["positives"] for label in facts["labels"]]
    assert positives == sorted(positives, reverse=True)
    assert all(label["known"] == known[:, 0].sum() for label in facts["labels"])


# ---------------------------------------------------------------- neighbours and graph


@pytest.mark.parametrize("copies", [1, 12])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_a_row_is_never_its_own_neighbour(rng, copies, share):
    """Nor is an unlabelled one."""
    X = np.repeat(rng.normal(size=(30, 3)), copies, axis=0)
    rows = np.array([0, 7, len(X) - 1, 7])
    labeled = rng.random(len(X)) < share
    labeled[[*rows, 1, 2, 3]] = True
    neighbor_pairs = nearest_rows(X, rows, labeled, 5)
    indices, distances = (np.array([[pair[k] for pair in near] for near in neighbor_pairs]) for k in (0, 1))
    squared = ((X[rows][:, None] - X[None]) ** 2).sum(axis=2)
    squared[np.arange(len(rows)), rows] = np.inf
    squared[:, ~labeled] = np.inf
    assert (indices != rows[:, None]).all()
    assert labeled[indices].all()
    assert distances == pytest.approx(np.sqrt(np.sort(squared, axis=1)[:, :5]), abs=1e-9)


# ---------------------------------------------------------------- does it help?


def two_groups(rng, n=80):
    side = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 4)) + 4 * side[:, None]
    y = np.column_stack([side, 1 - side, np.zeros(n, dtype=int)])
    y[rng.random(n) < 0.3] = -1
    return X, y


def test_the_trial_scores_rows_that_were_not_fitted_on(rng):
    """A method that remembers its rows finds none of those it is asked about; labels of test rows are no use to it."""
    X, y = two_groups(rng)
    X[:, 0] = np.arange(len(X))  # names the row
    test_folds = []

    class Remembers(Knn):
        def fit(self, X, y):
            super().fit(X, y)  # which forgets what an earlier fit set
            self.rows_ = {int(v) for v in X[:, 0]}
            return self

        def predict_proba(self, X):
            test_rows = {int(v) for v in X[:, 0]}
            assert not test_rows & self.rows_
            test_folds.append(test_rows)
            return super().predict_proba(X)

    facts = trials.run_trial({"it": ("", Remembers(3))}, trials.Labelled(None, X, y), list("abc"), n_folds=4)
    labeled = set(np.flatnonzero((y != -1).any(axis=1)).tolist())
    assert set.union(*test_folds) == labeled
    assert sum(map(len, test_folds)) == len(labeled) == facts["n_rows"]


def test_rows_of_one_group_stay_in_one_fold(rng):
    X, y = two_groups(rng)
    groups = np.arange(len(X)) // 4
    X[:, 0] = groups
    test_rows = []

    class Sees(Knn):
        def fit(self, X, y, groups):
            super().fit(X, y)  # which forgets what an earlier fit set
            assert np.array_equal(groups, X[:, 0])
            self.groups_ = set(X[(y != -1).any(axis=1), 0])
            return self

        def predict_proba(self, X):
            assert not self.groups_ & set(X[:, 0])
            test_rows.extend(X[:, 0])
            return super().predict_proba(X)

    methods = {"it": ("", Sees(3))}
    assert trials.run_trial(methods, trials.Labelled(None, X, y, groups), list("abc"), n_folds=4) is not None
    assert len(test_rows) == (y != -1).any(axis=1).sum()
    assert trials.run_trial(methods, trials.Labelled(None, X, y, groups // 4), list("abc"), n_folds=4) is None


def test_the_trial_is_the_mean_over_folds_of_the_measures(rng):
    from sklearn.model_selection import KFold

    from nmlsdr.model_selection import LabeledRowsSplit

    X, y = two_groups(rng)
    methods = {"ours": ("", Knn(3)), "rival": ("", MLkNN(9))}
    facts = trials.run_trial(methods, trials.Labelled(StandardScaler(), X, y), list("abc"), n_folds=3)
    for row, (_, method) in zip(facts["methods"], methods.values(), strict=True):
        folds = []
        for train, test in LabeledRowsSplit(KFold(3, shuffle=True, random_state=0)).split(X, y):
            scaler = StandardScaler().fit(X[train])
            scores = method.fit(scaler.transform(X[train]), y[train]).predict_proba(scaler.transform(X[test]))
            folds.append(list(score_table(y[test], scores).values()))
        assert [cell["mean"] for cell in row["cells"]] == pytest.approx(np.mean(folds, axis=0))
        assert [cell["std"] for cell in row["cells"]] == pytest.approx(np.std(folds, axis=0, ddof=1))
    by_label = {row["label"]: row for row in facts["per_label"]}
    assert by_label["a"]["positives"] == (y[:, 0] == 1).sum()
    assert by_label["c"]["recall"] is None
    assert by_label["c"]["ap"] is None


def test_too_few_rows_for_folds_are_no_trial(rng):
    X, y = two_groups(rng)
    y[9:] = -1
    assert trials.run_trial({"it": ("", Knn(2))}, trials.Labelled(None, X, y), list("abc"), n_folds=5) is None


def test_the_rival_is_tuned_and_knows_labels_of_one_value(rng):
    X, y = two_groups(rng, 200)
    rival = TunedLogistic().fit(X, y)
    assert rival.strength_ in STRENGTHS
    scores = rival.predict_proba(X)
    labeled = y[:, 0] != -1
    assert ((scores[labeled, 0] > 0.5) == (y[labeled, 0] == 1)).mean() > 0.95
    assert (scores[:, 2] == 0).all()


# ---------------------------------------------------------------- the page


class Shape(HTMLParser):
    """Tags, names of attributes, and what the page would fetch: the form of a page without its texts."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.fetched = []
        self.texts = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(sorted(name for name, _ in attrs))))
        self.fetched += [
            value for name, value in attrs if name in ("src", "href", "action", "data", "srcset", "poster")
        ]

    def handle_comment(self, data):
        self.tags.append(("comment", ()))

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """What the command collects on a small table."""
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    collected = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("report"))
        patch.setattr("nmlsdr._cli.report.render", lambda page_facts: collected.update(page_facts) or "page")
        write_tables(Path(), np.random.default_rng(0), ["csv"])
        arguments = ["report", "train.csv", "--label-columns", label_columns(), "--folds", "2", "--out", "a.html"]
        assert main(arguments) == 0
    return collected


def with_names(value, names):
    """The same facts with every text of a file replaced, in turn, by one of the names."""
    turn = iter(range(10**9))
    fixed = {"kind", "suggest", "words", "version", "method", "rival", "buried", "no_trial", "measures", "command"}
    fixed |= {"threshold", "date"}

    def change(value, key=None):
        if key == "downloads":
            return value
        if isinstance(value, str):
            return value if key in fixed else names[next(turn) % len(names)]
        if isinstance(value, dict):
            return {k: change(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [change(v, key) for v in value]
        return value

    return change(value)


def test_facts_are_plain_data(facts):
    assert json.loads(json.dumps(facts)) == facts
    assert facts["table"]["n_rows"] == 60
    assert {label["name"] for label in facts["labels"]["labels"]} == set(LABELS)


def test_names_change_no_markup(facts):
    """With hostile names the page has the same tags and attributes as with harmless ones, in the same order."""
    harmless = Shape(render(with_names(facts, ["name"] * len(HOSTILE))))
    page = render(with_names(facts, HOSTILE))
    attacked = Shape(page)
    assert attacked.tags == harmless.tags
    shown = "".join(attacked.texts)
    for name in HOSTILE:
        assert readable(name) in shown
    assert "49" not in shown.replace(" ", "") or "{{ 7 * 7 }}" in shown
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\u2028]", page)
    page.encode()  # no lone surrogate is left


def test_the_command_line_is_escaped_too(facts):
    words = {**facts, "made": {**facts["made"], "command": HOSTILE[1]}}
    assert Shape(render(words)).tags == Shape(render(facts)).tags


def test_the_page_loads_nothing_and_runs_its_own_script_only(facts):
    page = render(facts)
    shape = Shape(page)
    assert all(target.startswith(("#", "data:text/csv;base64,")) for target in shape.fetched)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|eval\(|innerHTML", page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    digests = re.findall(r"'sha256-([^']*)'", policy.replace("&#39;", "'"))
    assert digests == [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    assert "default-src 'none'" in policy.replace("&#39;", "'")


def test_long_names_are_cut():
    assert len(readable("x" * 100_000)) == 300


def test_readable_keeps_what_people_write():
    for text in ("Größe", "日本語", "naïve café", "α ≤ β", "😀", "a\u200db"):
        assert readable(text) == text


# ---------------------------------------------------------------- the command


def test_the_report_of_a_table(run, tables):
    ran(run("report", "train.csv", "--label-columns", label_columns(), "--folds", "3", "--out", "report.html"))
    page = Path("report.html").read_text(encoding="utf-8")
    for title in ("Does the method help here?", "What to check", "Label by label", "What to do next", "What was read"):
        assert title in page
    assert "logistic regression" in page
    assert page.count('r="5"><title>') == 60  # a point for each row; those of the learning curve have no title
    assert re.search(r"<h1>Report on train.csv, \d{4}-\d\d-\d\d</h1>", page)
    assert page.index("In short") < page.index("What to check") < page.index("What was read")


def test_rows_without_a_label_are_doubted_unless_a_word_says_so(run, rng):
    X = rng.random((60, 2)).round(3).tolist()
    words = ["flu;cold", "cold", "none"] * 20
    write_csv("word.csv", ["a", "b", "codes"], [[*row, word] for row, word in zip(X, words, strict=True)])
    write_csv("zeros.csv", ["a", "b", "x", "y"], [[*row, i % 2, 0] for i, row in enumerate(X)])
    for file, *labels in (("word.csv", "--label-list", "codes"), ("zeros.csv", "--label-columns", "x,y")):
        assert_done(run("report", file, *labels, "--folds", 0, "--quiet", "--out", "r.html"))
        assert ("have 0 for every label" in Path("r.html").read_text()) == (file == "zeros.csv")


@pytest.mark.parametrize("labels", [["--label-list", "codes"], ["--label-columns", "x,y"]])
def test_where_empty_cells_are_0_the_page_names_the_mask(run, rng, labels):
    """And the mask does what the page says: its rows are unlabelled."""
    cells = [("flu;cold", 1, 1), ("flu", 1, ""), ("cold", "", 1), ("", "", "")] * 15
    lines = [[*row, *row_cells] for row, row_cells in zip(rng.random((60, 2)).round(3).tolist(), cells, strict=True)]
    write_csv("t.csv", ["a", "b", "codes", "x", "y"], lines)
    Path("mask.csv").write_text("known\n" + "1\n1\n1\n0\n" * 15)
    drop = "codes" if labels[1] == "x,y" else "x,y"
    arguments = ["report", "t.csv", *labels, "--drop", drop, "--empty-is", "no", "--folds", 0, "--out", "r.html"]
    ran(run(*arguments))
    page = Path("r.html").read_text()
    assert "15 labelled rows have 0 for every label" in page
    assert "give <code>--mask</code> a file that has 0 for them" in page
    assert "leave their cells empty" not in page
    ran(run(*arguments, "--mask", "mask.csv"))
    page = Path("r.html").read_text()
    assert "45 of 60 rows" in page
    assert "have 0 for every label" not in page


def test_names_of_columns_with_html_are_escaped_in_the_page(run, rng):
    names = [name for name in HOSTILE if name.isprintable()]
    X = rng.normal(size=(40, 3)).round(3)
    Y = (rng.random((40, len(names))) < 0.4).astype(int)
    write_csv("a.csv", ["<b>one", "t&wo", 'th"ree', *names], np.hstack([X.astype(object), Y]).tolist())
    write_csv("b.csv", [f"l{c}" for c in range(3 + len(names))], np.hstack([X.astype(object), Y]).tolist())
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    assert_done(run("report", "a.csv", "--label-columns", quoted, "--folds", "0", "--out", "a.html"))
    plain = ",".join(f"l{c + 3}" for c in range(len(names)))
    assert_done(run("report", "b.csv", "--label-columns", plain, "--folds", "0", "--out", "b.html"))
    pages = [Shape(Path(name).read_text(encoding="utf-8")).tags for name in ("a.html", "b.html")]
    assert pages[0] == pages[1]


def test_a_wrong_number_of_folds_is_refused(run, tables):
    for folds in ("1", "-2", "x"):
        outcome = run("report", "train.csv", "--label-columns", label_columns(), "--folds", folds, "--out", "a.html")
        assert_refused(outcome, "--folds", "at least 2, or 0")


def test_a_missing_template_engine_is_reported_before_any_work(run, tables, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    outcome = run("report", "train.csv", "--label-columns", label_columns(), "--out", "a.html")
    assert_refused(outcome, "jinja2", "pip install 'nmlsdr[cli]'", status=1)


# ---------------------------------------------------------------- in a browser


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@pytest.fixture
def browse(tmp_path):
    """The document that a headless browser has after running the page's script."""
    if BROWSER is None:
        pytest.skip("no Chromium is installed")

    def call(page):
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
        options += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        options += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", "--dump-dom"]
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        process = subprocess.run([BROWSER, *options, path.as_uri()], capture_output=True, text=True, timeout=120)
        if process.returncode != 0 or not process.stdout:
            pytest.skip(f"the browser does not run here: {process.stderr[-200:]}")
        return process.stdout

    return call


def test_the_page_works_in_a_browser(facts, browse):
    """The script runs to its end under the page's policy: points are coloured and the controls appear."""
    document = browse(render(facts))
    assert 'data-ready="yes"' in document
    assert 'class="controls needs-script"' in document
    assert "hidden" not in re.search(r'<div class="controls needs-script"[^>]*>', document)[0]
    first = facts["labels"]["labels"][0]
    assert len(re.findall(r'<circle[^>]*class="[^"]*\bon\b', document)) == first["positives"]


@pytest.mark.slow
def test_hostile_names_do_nothing_in_a_browser(facts, browse):
    document = browse(render(with_names(facts, HOSTILE)))
    assert 'data-ready="yes"' in document
    assert "<title>taken</title>" not in document
    tags = Shape(document).tags
    assert not {tag for tag, _ in tags} & {"img", "iframe", "object", "embed"}
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]


def test_fit_points_to_the_report_in_its_one_line(run, tables):
    outcome = ran(run("fit", "train.csv", "--label-columns", label_columns(), "--out", "m.skops"))
    # whether a feature is said to predict a label alone depends on the seed
    lines = [line for line in outcome.err.splitlines() if "alone predicts the label" not in line]
    assert len(lines) == 1
    assert "nmlsdr report" in lines[0]


# ---------------------------------------------------------------- the answers


def sentences(page):
    """The text of the page's answers, without markup and with ordinary spaces."""
    part = page[page.index('<section id="answers">') : page.index('<section id="review">')]
    return " ".join(re.sub(r"<[^>]+>", "", part).replace("&nbsp;", " ").replace("\u202f", " ").split())


def test_the_answers_say_what_is_labelled_and_how_well_rare_labels_are_found(facts):
    rules = [
        {"threshold": "f1", "hits": 2, "given": 40, "predicted": 4, "f1": 0.09},
        {"threshold": "prior", "hits": 20, "given": 40, "predicted": 50, "f1": 0.44},
    ]
    rare = {"labels": ["gout", "flu"], "rare": True, "limit": 0.05, "share": 0.02, "rules": rules}
    rare |= {"best": rules[1], "recommended": True}
    page_text = sentences(render({**facts, "trial": {**facts["trial"], "rare": rare}}))
    assert "60 of 60 rows (100 %) are labelled, with 3 different labels" in page_text
    assert "2 of 3 labels are rare" in page_text
    assert "2 of 40 (5 %) of their given labels are found" in page_text
    assert "With --threshold prior 20 of 40 (50 %) are found" in page_text


@pytest.mark.parametrize(
    ("gap", "p", "words"),
    [
        (0.05, 0.02, "yes. ResidualPropagation reaches 60.0 %. The best of the other methods, a forest, reaches 55"),
        (0.05, 0.06, "no significant difference."),
        (-0.05, 0.02, "so a forest is the better choice here"),
    ],
)
def test_the_answers_compare_methods_by_a_test_over_the_folds(facts, gap, p, words):
    comparison = {
        "rival": "a forest",
        "n_rivals": 3,
        "ours": 0.6,
        "theirs": 0.6 - gap,
        "gap": gap,
        "std": 0.01,
        "folds": 5,
    }
    comparison |= {"p": p, "significant": p < 0.05}
    trial = {**facts["trial"], "against_best": {"MiF1": comparison, "AP": None}}
    trial["signal"] = {**trial["signal"], "enough_folds": True, "informative": True}
    page_text = sentences(render({**facts, "trial": trial}))
    assert words in page_text
    verdict = "significant" if p < 0.05 else "not significant"
    assert f"is {verdict} (t-test over 5 folds, adjusted for 3 other methods: p = {p:.2f})" in page_text
    assert "not defined in every fold" in page_text


def test_without_a_signal_no_method_is_compared(facts):
    signal = {"method": "a forest", "auc": 0.523, "folds": 5, "enough_folds": True, "p": 0.21, "informative": False}
    page = render({**facts, "trial": {**facts["trial"], "signal": signal}})
    page_text = sentences(page)
    assert "No method is better than chance here. The best one, a forest" in page_text
    assert "52.3 % of the pairs (AUC)" in page_text
    assert "In choosing labels" not in page_text
    assert "Clearest here" not in page
    page_text = sentences(render({**facts, "trial": {**facts["trial"], "signal": {**signal, "auc": None}}}))
    assert "Some labels are too rare to tell" in page_text
    signal |= {"folds": 2, "enough_folds": False}
    page_text = sentences(render({**facts, "trial": {**facts["trial"], "signal": signal}}))
    assert "Not tested: 2 folds are too few" in page_text
    assert "better than chance" not in page_text


def test_nothing_is_claimed_on_noise_and_a_signal_is_seen(rng):
    """Labels that two of eight features give, and the same labels in another order."""
    X = rng.normal(size=(120, 8))
    Y = (X[:, :2] + 0.5 * rng.normal(size=(120, 2)) > 0).astype(int)
    methods = {"ours": ("", Knn(5)), "rival": ("", MLkNN(15))}
    for labels, informative in ((Y, True), (Y[rng.permutation(120)], False)):
        trial = trials.run_trial(methods, trials.Labelled(None, X, labels), list("ab"))
        assert trial["signal"]["informative"] == informative
        if not informative:
            assert not trial["rare"]["recommended"]
            assert not any(comparison["significant"] for comparison in trial["against_best"].values())
    assert trial["signal"]["auc"] == pytest.approx(0.5, abs=0.12)


def test_a_rival_that_leads_by_chance_is_not_the_better_choice():
    """Of five folds the mean must be 2.78 standard errors from 0, for one rival; for more of them more.

    The variance is that of overlapping training sets: 1/5 + 1/4 in place of 1/5.
    """
    ours = np.zeros(5)
    folds = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    standard_error = folds.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    for n_errors, expected in ((2.76, False), (2.79, True)):
        comparison = against_best({"ours": ours, "b": folds + n_errors * standard_error}, informative=True)
        assert (comparison["significant"], comparison["gap"] < 0) == (expected, True)
    scores_of_three_rivals = {"ours": ours, "b": folds + 2.79 * standard_error, "c": folds, "d": folds}
    assert not against_best(scores_of_three_rivals, informative=True)["significant"]
    assert not describe_signal({"ours": np.array([0.3, 0.31, 0.29, 0.3, 0.32])})["informative"]  # worse than chance
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@pytest.mark.parametrize(
    ("forgotten", "invented", "words"),
    [
        (
            [0, 90],
            [20, 1100],
            "of 2 000 annotations, at most 90 are forgotten labels (given 0, truly 1), and "
            "between 20 and 1 100 are labels given wrongly (given 1, truly 0).",
        ),
        ([29.7, 90.2], [0.4, 11], "between 30 and 90 are forgotten labels (given 0, truly 1), and at most 11 are"),
    ],
)
def test_forgotten_and_invented_labels_are_two_intervals_with_their_condition(facts, forgotten, invented, words):
    page_text = sentences(render({**facts, "wrong": {"n": 2000, "forgotten": forgotten, "wrong": invented}}))
    assert words in page_text
    for condition in ("If a mistake is equally likely in every row", "forgotten mainly in unclear cases"):
        assert condition in page_text


def test_the_report_does_not_promise_fewer_mistakes_than_were_made(rng):
    """Two of five labels are forgotten, and hardly any 0 becomes a 1; the flip rate alone saw nothing of that."""
    truth = rng.random((400, 3)) < 0.3
    X = truth @ rng.normal(size=(3, 6)) * 3 + rng.normal(size=(400, 6))
    y = (truth & (rng.random(truth.shape) > 0.4)).astype(int)
    mistakes = trials.EveryRule(n_neighbors=5, n_estimators=10, n_jobs=1).fit(X, y).mistakes_
    assert mistakes.forgotten[0] <= (y != truth).sum() <= mistakes.forgotten[1]
    assert mistakes.wrong[1] < (y != truth).sum()


def test_rare_labels_are_counted_under_each_rule():
    row = {"label": "a", "positives": 4, "predicted": 0, "f1": 0.0, "hits": 0, "known": 100}
    common = row | {"label": "b", "positives": 40}
    better = row | {"hits": 3, "predicted": 5, "f1": 2 / 3}
    rare_labels = describe_rare({"f1": [common, row], "prior": [common, better]})
    assert rare_labels["labels"] == ["a"]
    assert rare_labels["best"] == {"threshold": "prior", "hits": 3, "given": 4, "predicted": 5, "f1": 2 / 3}


def test_the_learning_curve_uses_fewer_labels_of_the_same_rows(rng):
    X, y = two_groups(rng)
    fit_sizes = []

    class Counts(trials.EveryRule):
        def fit(self, X, y):
            fit_sizes.append((len(X), int((y != -1).any(axis=1).sum())))
            return super().fit(X, y)

    curve = trials.learning_curve(
        Counts(n_neighbors=3, n_estimators=0), trials.Labelled(StandardScaler(), X, y), informative=True
    )
    assert [labeled / fit_sizes[3][1] for _, labeled in fit_sizes[:4]] == pytest.approx(trials.CURVE_SHARES, abs=0.03)
    assert len({rows for rows, _ in fit_sizes[:4]}) == 1
    assert len(curve["points"]) == 4
    assert curve["half"] == curve["points"][1]
    assert curve["gap"] == pytest.approx(curve["points"][3]["f1"] - curve["points"][1]["f1"])
    assert trials.learning_curve(Counts(), trials.Labelled(None, X[:15], y[:15]), informative=True) is None


def test_the_picture_of_the_learning_curve_has_its_points_in_their_places(facts):
    curve = facts["curve"]
    picture = curve["picture"]
    assert [place["rows"] for place in picture["points"]] == [point["rows"] for point in curve["points"]]
    (y0, low), *_, (y1, high) = picture["ticks"]
    for place, point in zip(picture["points"], curve["points"], strict=True):
        assert low <= max(0, point["f1"] - point["std"]) <= min(1, point["f1"] + point["std"]) <= high + 1e-9
        assert low + (high - low) * (y0 - place["y"]) / (y0 - y1) == pytest.approx(point["f1"])
        assert place["high"] <= place["y"] <= place["low"]
        span = picture["right"] - picture["left"]
        assert (place["x"] - picture["left"]) / span == pytest.approx(point["rows"] / curve["points"][-1]["rows"])
    page = render(facts)
    drawn = page.partition('<svg class="curve"')[2].partition("</svg>")[0]
    assert drawn.count("<circle") == len(curve["points"])
    assert picture["line"] in drawn
    assert "Learning curve: F1" in drawn


@pytest.mark.parametrize("f1", [0.0, 0.5, 1.0])
def test_a_flat_learning_curve_has_a_scale(f1):
    picture = curve_picture([{"rows": rows, "f1": f1, "std": 0.0} for rows in (25, 50, 75, 100)])
    assert len(picture["ticks"]) == 2
    assert all(picture["top"] <= place["y"] <= picture["bottom"] for place in picture["points"])


def test_the_next_commands_keep_the_options_that_they_take(facts):
    page = render({**facts, "made": {**facts["made"], "threshold": "prior"}})
    commands = [html.unescape(text) for text in re.findall(r"<pre>(nmlsdr .*?)</pre>", page)]
    assert commands[0].startswith("nmlsdr review train.csv --label-columns ")
    assert commands[0].endswith(" --out review.html")
    assert commands[2].endswith(" --threshold prior --reviewed train-verdicts.csv --out model.skops")
    assert all("--folds" not in command and "a.html" not in command for command in commands[:5])
    assert all("old.csv" not in command for command in commands)
    page = render({**facts, "made": {**facts["made"], "reviewed": " --reviewed old.csv"}})
    commands = [html.unescape(text) for text in re.findall(r"<pre>(nmlsdr .*?)</pre>", page)]
    assert [command.count(" --reviewed old.csv ") for command in commands[:5]] == [1, 1, 0, 0, 0]
    assert [command.count("--reviewed") for command in commands[:5]] == [1, 1, 1, 1, 0]
