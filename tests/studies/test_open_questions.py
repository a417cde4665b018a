"""The study of what the article left open: its embeddings, its three results, and its report."""

import csv

import numpy as np
import pytest
import run
from open_questions import (
    OPEN,
    PARTS,
    QUESTIONS,
    REFERENCE,
    VARIANTS,
    corrected_labels,
    kernel_nmlsdr,
    measure,
    mutual_graph,
    summary,
)
from scipy.spatial.distance import pdist

from nmlsdr import NMLSDR
from nmlsdr._methods import METHODS
from nmlsdr.experiments.protocol import STUDIES, classify, draw, measures
from nmlsdr.experiments.results import Results


@pytest.fixture(scope="module")
def data():
    """The Toy set of the benchmarks, which needs no file."""
    return draw(OPEN, "Toy", 0, "small", None)


@pytest.fixture(scope="module")
def fitted(data):
    return NMLSDR(n_jobs=1).fit(data.train, data.given)


def test_the_linear_kernel_is_nmlsdr(data, fitted):
    ours = kernel_nmlsdr(data.train, data.test, corrected_labels(data), "linear")
    for found, rows in zip(ours, (data.train, data.test), strict=True):
        expected = fitted.transform(rows)
        signs = np.sign((found * expected).sum(axis=0))
        np.testing.assert_allclose(found * signs, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.quick_cases("7-rbf", "10000")
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("block", [1, 7, 299, 10_000])
def test_blocks_of_the_kernel_matrix_do_not_matter(kernel, block):
    rng = np.random.default_rng(0)
    train = rng.normal(size=(60, 5))
    test = rng.normal(size=(299, 5))
    F = rng.random((60, 3))
    found = kernel_nmlsdr(train, test, F, kernel, 0.1, block=block)
    for ours, whole in zip(found, kernel_nmlsdr(train, test, F, kernel, 0.1, block=299), strict=True):
        signs = np.sign((ours * whole).sum(axis=0))
        np.testing.assert_allclose(ours * signs, whole, atol=1e-10)


def test_mixing_the_labels_changes_no_distance(data, fitted):
    mixed, _ = VARIANTS["labels-mixed"].embed(data)
    np.testing.assert_allclose(pdist(mixed), pdist(fitted.transform(data.train)), rtol=1e-8, atol=1e-7)


def test_the_and_rule_keeps_the_edges_that_both_rows_name():
    # The nearest of 0 and 1 are each other; 3 names 1, and 10 names 3, without an answer.
    graph = mutual_graph(np.array([[0.0], [1.0], [3.0], [10.0]]), 1)
    assert np.argwhere(graph.toarray()).tolist() == [[0, 1], [1, 0]]


def test_the_results_of_nmlsdr_are_those_of_the_article_s_classifiers(data, fitted):
    found, _ = measure(OPEN, REFERENCE, data)
    embedding = fitted.transform(data.train), fitted.transform(data.test)
    kinds = {"p1": (False, None), "metrics": (True, METHODS["NMLSDR"]), "given": (True, None)}
    for part, (end_to_end, kind) in kinds.items():
        scores = classify(*embedding, data, end_to_end=end_to_end, kind=kind)
        assert found[part] == measures(data.test_target, scores)


def test_the_noise_is_that_of_the_benchmarks(data):
    article = draw(STUDIES["benchmarks"], "Toy", 0, "small", None)
    np.testing.assert_array_equal(data.given, article.given)


def table(folder, name):
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
        return {row["Method"]: row for row in csv.DictReader(file)}


def test_the_summary_has_gains_with_their_errors():
    values = np.full((2, 2, 7, 2), 0.5)
    values[0, 1] += [0.01, 0.03]  # one and three points: variance 2 on the first set, 0 on the second
    found = Results(
        OPEN, ("Birds", "Yeast"), (REFERENCE, "graph-5"), (0, 1), dict.fromkeys(PARTS, values), np.ones((2, 2, 2)), []
    )
    (_, reference), (_, other) = summary(found, "graph").rows
    assert [entry.text for entry in reference[:3]] == ["50.00", "-", "-"]
    assert [entry.text for entry in other[:3]] == ["51.00", "+1.00 ± 0.50", "1 of 2"]  # sqrt((2 + 0) / 2 / 4)


def test_a_data_set_of_another_study_is_refused(tmp_path, capfd):
    assert run.main(["open", "--datasets", "toy", "--out", str(tmp_path)]) == 2
    assert "open has no cells of these data sets" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.shared
def test_the_study_from_the_command(tmp_path, capfd, shared):
    words = ["open", "--size", "small", "--seeds", "1", "--jobs", "1", "--datasets", "emotions"]
    words += ["--out", str(tmp_path), "--data-home", str(shared / "data")]
    assert run.main(words) == 0
    assert f"{len(VARIANTS)} cells, 0 failed" in capfd.readouterr().out
    for question in QUESTIONS:
        names = [name for name in VARIANTS if name.split("-")[0] in (REFERENCE, question)]
        summary = table(tmp_path, f"open-{question}")
        for part, title in PARTS.items():
            by_set = table(tmp_path, f"open-{question}-{part}")
            assert list(by_set) == list(summary) == names
            assert summary[REFERENCE][f"gain, {title}"] == "-"
            for name in names:
                assert by_set[name]["Emotions"] == summary[name][title]
    assert run.main([*words, "--methods", REFERENCE]) == 0  # a second start finds the cells
    assert "cells to run" not in capfd.readouterr().err
