"""Tables with a column of texts through all commands: sparse up to the model, with the words of the text."""

import csv
import itertools
import sys

import numpy as np
import pytest
from commands import ran
from scipy import sparse

from nmlsdr._article_methods import METHODS

pytest.importorskip("pyarrow")
pytest.importorskip("skops")

WORDS = {
    "engine": ("engine", "motor", "piston", "exhaust"),
    "paint": ("paint", "colour", "scratch", "varnish"),
    "seat": ("seat", "leather", "cushion", "headrest"),
}
FILLERS = ["after", "again", "before", "customer", "is", "noted", "of", "says", "the", "today", "very", "was", "with"]


def texts_and_labels(rng, n):
    for i in range(n):
        labels = [label for label in WORDS if rng.random() < 0.4]
        words = [rng.choice(WORDS[label]) for label in labels for _ in range(2)]
        words += rng.choice(FILLERS, 5).tolist() + [f"x{i}"]
        yield " ".join(rng.permutation(words)), labels


@pytest.fixture
def complaints(tmp_path, rng):
    for name, n in (("old.csv", 240), ("new.csv", 60)):
        with open(tmp_path / name, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["number", "age", "shop", "complaint", "parts"])
            for i, (text, labels) in enumerate(texts_and_labels(rng, n)):
                shop = rng.choice(["north", "south", "west"])
                parts = ";".join(labels) or "none"
                table.writerow([i + 1, round(rng.normal(5, 2), 2), shop, text, parts if i % 4 else ""])


@pytest.fixture
def no_dense_copy(monkeypatch):
    """Fail where a table or a command makes a dense array of all rows and words; estimators do so by small blocks."""
    doors = ("nmlsdr.tables", "nmlsdr._cli", "nmlsdr._model", "nmlsdr.inspection", "nmlsdr._report")
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix):
        original = kind.toarray

        def toarray(self, *args, original=original, **kwargs):
            is_door = sys._getframe(1).f_globals["__name__"].startswith(doors)
            assert not is_door or max(self.shape) < 60 or min(self.shape) < 20, f"a dense copy of {self.shape}"
            return original(self, *args, **kwargs)

        monkeypatch.setattr(kind, "toarray", toarray)


def test_all_commands_take_texts(run, tmp_path, complaints, no_dense_copy):
    labels = ("--label-list", "parts")
    plan = ran(run("plan", "old.csv", *labels)).out
    assert " text, " in next(line for line in plan.splitlines() if line.split()[0] == "complaint")
    ran(run("fit", "old.csv", *labels, "--out", "m.skops"))
    assert "words, " in ran(run("info", "m.skops")).out
    ran(run("predict", "m.skops", "new.csv", "--out", "p.csv"))
    with open(tmp_path / "new.csv", encoding="utf-8") as file:
        true_parts = [row["parts"] for row in csv.DictReader(file)]
    with open(tmp_path / "p.csv", encoding="utf-8") as file:
        predicted_parts = [
            ";".join(label for label in WORDS if row[label] == "1") or "none" for row in csv.DictReader(file)
        ]
    known = [pair for pair in zip(true_parts, predicted_parts, strict=True) if pair[0]]
    assert np.mean([{*a.split(";")} == {*b.split(";")} for a, b in known]) > 0.9
    assert "engine" in ran(run("evaluate", "m.skops", "new.csv")).out
    ran(run("review", "old.csv", *labels, "--out", "r.csv"))
    ran(run("review", "old.csv", *labels, "--out", "r.html"))
    ran(run("transform", "m.skops", "new.csv", "--out", "t.csv"))
    ran(run("report", "old.csv", *labels, "--out", "report.html", "--folds", "2"))


@pytest.mark.parametrize("options", [(), ("--no-standardize",), ("--classifier", "mlknn"), ("--metric", "cosine")])
def test_texts_are_predicted_with_every_scale(options, run, tmp_path, complaints, no_dense_copy):
    ran(run("fit", "old.csv", "--label-list", "parts", "--drop", "age", "--out", "m.skops", *options))
    ran(run("predict", "m.skops", "new.csv", "--out", "p.csv", "--probabilities"))
    with open(tmp_path / "p.csv", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) == 60
    assert {*itertools.chain.from_iterable(row.values() for row in rows)} & {"1"}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_texts(method, run, tmp_path, complaints, no_dense_copy):
    options = ("--label-list", "parts", "--method", method, "--classifier", "mlknn", "--quiet", "--out")
    ran(run("fit", "old.csv", *options, "m.skops"))
    ran(run("predict", "m.skops", "new.csv", "--out", "p.csv"))
    with open(tmp_path / "p.csv", newline="", encoding="utf-8-sig") as file:
        assert len(list(csv.reader(file))) == 61
