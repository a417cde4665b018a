"""Which way a search takes: one line of the log says it, for every way of the table at the door."""

import logging

import numpy as np
import pytest
from neighbor_cases import assert_same, scan, strategy_table
from scipy import sparse

from nmlsdr import _graph, _search, graph, propagation
from nmlsdr._search.strategy import strategy

rng = np.random.default_rng(0)
GAUSS = rng.standard_normal((4200, 40))
FAR = GAUSS + 1e6 * rng.integers(0, 2, (4200, 1))
FOLDED = np.tanh(rng.standard_normal((4500, 6)) @ rng.standard_normal((6, 80)) / 3)
FOLDED += 0.01 * rng.standard_normal(FOLDED.shape)

CASES = {
    "row numbers": (GAUSS[:9, :0], None, "9 x 0 float64 rows, k=3, 2 threads, {level}; no features, or no two rows"),
    "few": (GAUSS, GAUSS[:24], "24 queries among 4200 x 40 float64 rows, k=3, 2 threads, {level}; 24 queries: "),
    "tree": (GAUSS[:, :8].astype(np.float32), None, "4200 x 8 float32 rows, k=3, 2 threads, {level}; 8 features"),
    "groups": (FAR, None, "4200 x 40 float64 rows, k=3, 2 threads, {level}; the rows form 2 tight groups"),
    "leading coordinates": (FOLDED, None, "4500 x 80 float64 rows, k=3, 2 threads, {level}; 8 directions have most"),
    "products": (GAUSS, None, "4200 x 40 float64 rows, k=3, 2 threads, {level}; the rows form no tight groups"),
    "sparse products": (
        sparse.csr_array(GAUSS * (rng.random(GAUSS.shape) < 0.02)),
        None,
        "4200 x 40 CSR float64 rows, k=3, 2 threads, {level}; CSR rows, by columns and postings",
    ),
}


@pytest.mark.quick_cases("row numbers", "few", "tree", "groups", "products")
@pytest.mark.parametrize("method", CASES)
def test_each_search_logs_one_line_with_its_method_and_reason(method, caplog):
    X, queries, words = CASES[method]
    with caplog.at_level(logging.DEBUG, logger="nmlsdr"):
        neighbors = graph.squared_neighbors(X, 3, queries=queries, n_jobs=2)
    level = _graph.SIMD_LEVELS[_graph.best_simd_level()]
    assert len(caplog.records) == 1
    assert caplog.records[0].levelno == logging.DEBUG
    assert caplog.messages[0].startswith(f"neighbours by {method}: {words.format(level=level)}")
    if X.shape[1]:
        assert_same(neighbors, scan(X, 3, queries))


def test_the_table_in_the_package_docstring_lists_every_method():
    methods = [row[0] for row in strategy_table(_search.__doc__)[2:]]
    assert set(methods) == CASES.keys() | {"proposals", "prepared"}  # which other doors take


def test_small_searches_do_not_look_for_structure():
    too_few = "looking for structure would cost more than it saves"
    assert strategy("products", GAUSS[:3999], None, 3, 2).reason == f"fewer than 4000 rows: {too_few}"
    assert strategy("products", GAUSS, GAUSS[:249], 3, 2).reason == f"fewer than 250 queries: {too_few}"
    assert strategy("products", GAUSS, GAUSS[:250], 3, 2).reason.startswith("the rows form no tight groups")
    assert strategy("products", FAR, FAR[:999], 3, 2).method != "groups"
    assert strategy("products", FAR, FAR[:1050], 3, 2).method == "groups"


def test_rows_without_features_are_in_the_order_of_their_index():
    X = np.empty((5, 0))
    squared, indices = graph.squared_neighbors(X, 4)
    assert (squared == 0).all()
    assert indices.tolist() == [[1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 3, 4], [0, 1, 2, 4], [0, 1, 2, 3]]
    assert graph.squared_neighbors(X, 2, queries=X[:3])[1].tolist() == [[0, 1]] * 3
    assert graph.squared_neighbors(sparse.csr_array((5, 0)), 1)[1].ravel().tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("level", [*_graph.SIMD_LEVELS[1:-1], "sse9"])
def test_an_unavailable_instruction_set_raises_the_same_error_everywhere(level, monkeypatch):
    W = graph.neighbor_graph(GAUSS[:50], 3)
    monkeypatch.setattr(_graph, "best_simd_level", lambda: 0)
    monkeypatch.setenv("NMLSDR_SIMD", level)
    sentence = "must be one of" if level == "sse9" else f"NMLSDR_SIMD={level} needs a processor with {level}"
    for door in (
        lambda: graph.kneighbors(GAUSS[:50], 3),
        lambda: graph.kneighbors(GAUSS[:50, :2], 3),
        lambda: propagation.propagate(W, np.eye(50, 2, dtype=int), 0.5, solver="cg"),
    ):
        with pytest.raises(ValueError, match=sentence):
            door()
