"""What the report says of a table: constant columns, missing values, counts of labels, and nearest rows."""

import re
from pathlib import Path

import numpy as np
import pytest
from commands import assert_done, write_csv

from nmlsdr._report import description
from nmlsdr.inspection._entries import nearest_rows
from nmlsdr.tables import TableEncoder

pytest.importorskip("jinja2")


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
