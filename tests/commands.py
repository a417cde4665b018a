"""What the tests of the command line share: small tables in every format, and a way to run a command."""

import csv
import functools
import gzip
import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from nmlsdr import cli
from nmlsdr._report.leaks import find_leaks
from nmlsdr.cli import main

HAS_PYARROW = importlib.util.find_spec("pyarrow") is not None  # there is no wheel for free-threaded Python yet
FEATURES = ["age", "blood, red", 'the "x"', "q", "Größe"]
LABELS = ["flu", "cold, heavy", "o'k"]


class Outcome:
    """Exit status, and what was written."""

    def __init__(self, status, out, err):
        self.status = status
        self.out = out
        self.err = err

    def __repr__(self):
        return f"status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


_one_parser = functools.cache(cli._parser)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in this process, in an empty folder: `run("fit", "a.csv", ...)`.

    Commands share one parser, because making it takes longer than most of them.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "_parser", _one_parser)

    def call(*arguments):
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        skip_without_pyarrow(written.err)
        return Outcome(status, written.out, written.err)

    return call


def spawn(*arguments, program="-m nmlsdr", **options):
    """Run a command in a process of its own."""
    command = [sys.executable, *program.split(" "), *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    skip_without_pyarrow(process.stderr)
    return process


def skip_without_pyarrow(messages):
    """Skip where a command said that it needs pyarrow, and pyarrow is not installed."""
    if "needs pyarrow" in messages and not HAS_PYARROW:
        pytest.skip("needs pyarrow")


def assert_done(outcome):
    """Status 0 and nothing on stderr but what was written, the plan of a raw table, and notes on single features.

    In a small random table a feature can predict a label, or carry all of F1, by chance.
    """
    assert outcome.status == 0, outcome
    notes = [line for line in outcome.err.splitlines() if not line.startswith(("nmlsdr: wrote ", "  "))]
    expected = (
        " rows; the columns give ",
        " alone predicts the label ",
        " are shuffled; is it ",
        " no known value",
        " changed, ",
    )
    notes = [line for line in notes if not any(words in line for words in expected)]
    assert notes == [], outcome


def ran(outcome):
    """The outcome of a command whose status is 0, whatever it says."""
    assert outcome.status == 0, outcome
    return outcome


def assert_refused(outcome, *words, status=2):
    """One sentence on stderr that holds the words, no traceback, nothing on stdout."""
    assert outcome.status == status, outcome
    assert outcome.out == "", outcome
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome
    assert lines[0].startswith("nmlsdr: "), outcome
    assert lines[0].endswith((".", "?")), outcome
    assert "Traceback" not in outcome.err
    for word in words:
        assert word in lines[0], outcome


def make_table(rng, n_rows=60):
    """Three labels that depend on the first features, none of which tells one alone, and two features of noise."""
    while True:
        Y = (rng.random((n_rows, len(LABELS))) < 0.4).astype(int)
        Y[:4] = [[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 1]]
        X = rng.normal(size=(n_rows, len(FEATURES))) * 0.8
        X[:, : len(LABELS)] += 2 * Y
        if not find_leaks(X, Y):
            return np.round(X, 3), Y


def write_csv(path, names, rows, delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(names)
        writer.writerows(rows)


def write_arff(path, X, Y):
    def quote(name):
        return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = ["@relation t"]
    lines += [f"@attribute {quote(name)} numeric" for name in FEATURES]
    lines += [f"@attribute {quote(name)} {{0,1}}" for name in LABELS]
    lines.append("@data")
    lines += [",".join([*map(repr, x), *map(str, y)]) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def write_xml(path, names=LABELS):
    from xml.sax.saxutils import quoteattr

    labels = "".join(f"<label name={quoteattr(name)}></label>\n" for name in names)
    path.write_text(f'<labels xmlns="http://mulan.sourceforge.net/labels">\n{labels}</labels>', encoding="utf-8")


def write_svmlight(path, X, Y):
    lines = []
    for x, y in zip(X.tolist(), Y.tolist(), strict=True):
        ids = ",".join(str(c) for c, value in enumerate(y) if value)
        lines.append(" ".join([ids, *(f"{j + 1}:{value!r}" for j, value in enumerate(x))]))
    path.write_text("\n".join(lines) + "\n")


def write_parquet(path, X, Y):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {name: X[:, j] for j, name in enumerate(FEATURES)} | {name: Y[:, c] for c, name in enumerate(LABELS)}
    parquet.write_table(pyarrow.table(columns), path)


def label_columns(names=LABELS):
    return ",".join('"' + name + '"' for name in names)


# format -> (function that writes it, arguments that say where the labels are)
FORMATS = {
    "arff.gz": (write_arff, ["--labels", "labels.xml"]),
    "csv": (
        lambda path, X, Y: write_csv(path, FEATURES + LABELS, np.hstack([X.astype(object), Y]).tolist()),
        ["--label-columns", label_columns()],
    ),
    "tsv": (
        lambda path, X, Y: write_csv(path, FEATURES + LABELS, np.hstack([X.astype(object), Y]).tolist(), "\t"),
        ["--label-columns", label_columns()],
    ),
    "parquet": (write_parquet, ["--label-columns", label_columns()]),
    "npz": (lambda path, X, Y: np.savez(path, X=X, y=Y), []),
    "svmlight": (write_svmlight, []),
}


def write_tables(folder, rng, formats=tuple(FORMATS)):
    """train.* and test.* in these formats, labels.xml; returns (X, Y, X of test, Y of test)."""
    X, Y = make_table(rng)
    X_test, Y_test = make_table(rng, 25)
    write_xml(folder / "labels.xml")
    for suffix in formats:
        FORMATS[suffix][0](folder / f"train.{suffix}", X, Y)
        FORMATS[suffix][0](folder / f"test.{suffix}", X_test, Y_test)
    return X, Y, X_test, Y_test


@pytest.fixture
def tables(tmp_path, rng):
    """train.csv, test.csv, labels.xml in the test's folder; returns (X, Y, X of test, Y of test)."""
    return write_tables(tmp_path, rng, ["csv"])


def read_csv(path):
    """Return names and rows of text."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        names, *rows = csv.reader(file)
    return names, rows


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def listing(folder="."):
    return sorted(os.listdir(folder))
