"""Dask: the same bits for any blocks, threaded and on a cluster, and the experiments' cells through joblib."""

import sys

import joblib
import numpy as np
import pytest
from scipy import sparse

from nmlsdr._search import squared_neighbors
from nmlsdr.cli import main
from nmlsdr.dask._neighbors import lists_of_queries, neighbors
from nmlsdr.dask._rows import DaskRows

dask = pytest.importorskip("dask", reason="needs Dask: pip install 'nmlsdr[dask]'")
da = pytest.importorskip("dask.array", reason="needs Dask: pip install 'nmlsdr[dask]'")


METRICS = ("euclidean", "cosine")


@pytest.fixture
def rows(rng):
    """Rows full of ties and duplicates: the order (squared distance, row index) is all that tells them apart."""
    return rng.integers(0, 3, size=(120, 4)).astype(float)


def in_blocks(X, size):
    return da.from_array(X, chunks=(size, -1))


def assert_lists(lists_of_parts, expected):
    for lists, expected_lists in zip(lists_of_parts, expected, strict=True):
        assert lists.dtype == expected_lists.dtype
        np.testing.assert_array_equal(lists, expected_lists)


def search(X, k, queries=None, metric="euclidean"):
    """Squared distances and indices by the search of nmlsdr.dask."""
    if queries is None:
        return neighbors(DaskRows.of(X), k, metric=metric)
    blocks = dask.compute(*lists_of_queries(DaskRows.of(X), DaskRows.of(queries, "queries"), k, metric=metric))
    return [np.concatenate(part) for part in zip(*blocks, strict=True)]


@pytest.mark.parametrize("size", [120, 119, 50, 17])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_of_the_rows(rows, size, dtype, metric):
    X = rows.astype(dtype)
    assert_lists(search(in_blocks(X, size), 9, metric=metric), squared_neighbors(X, 9, metric=metric))


@pytest.mark.parametrize("size", [120, 50, 17])
@pytest.mark.parametrize("source", ["blocks", "memory", "the rows"])
@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_of_queries_equal_those_without_dask(rows, rng, size, source, metric):
    Q = rows if source == "the rows" else rng.integers(0, 3, size=(31, 4)).astype(float)
    queries = Q if source == "memory" else in_blocks(Q, 11)
    expected = squared_neighbors(rows, 9, queries=Q, metric=metric)
    assert_lists(search(in_blocks(rows, size), 9, queries, metric), expected)
    assert_lists(search(rows, 9, queries, metric), expected)


@pytest.mark.parametrize("n_zeros", [1, 12, 40])
@pytest.mark.parametrize("size", [40, 17])
def test_rows_without_a_direction(rows, n_zeros, size):
    rows[:n_zeros] = 0  # whole blocks of them, and blocks without any
    assert_lists(search(in_blocks(rows, size), 9, metric="cosine"), squared_neighbors(rows, 9, metric="cosine"))


def test_columns_may_be_cut_and_blocks_may_be_empty_or_sparse(rows):
    expected = squared_neighbors(rows, 5)
    assert_lists(search(da.from_array(rows, chunks=(40, 3)), 5), expected)
    holes = da.from_array(rows, chunks=((40, 0, 80), (4,)))
    assert 0 in holes.chunks[0]
    assert_lists(search(holes, 5), expected)
    assert_lists(search(in_blocks(rows[:12], 1), 5), squared_neighbors(rows[:12], 5))
    csr = in_blocks(rows, 40).map_blocks(sparse.csr_array)
    assert_lists(search(csr, 5), squared_neighbors(sparse.csr_array(rows), 5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: search(X, 120), "n_neighbors=120 needs more than 120 samples, got 120"),
        (lambda X: search(X, 121, X), "n_neighbors=121 needs at least 121 samples, got 120"),
        (lambda X: search(X, 3, X[:, :2]), "queries has 2 features, but X has 4"),
    ],
)
def test_wrong_arguments_of_a_search_are_refused(rows, call, message):
    with pytest.raises(ValueError, match=message):
        call(in_blocks(rows, 50))


# ---------------------------------------------------------------- on a cluster of two processes


@pytest.fixture(scope="module")
def client():
    cluster = pytest.importorskip("distributed", reason="needs Dask: pip install 'nmlsdr[dask]'")
    with (
        cluster.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
        cluster.Client(local) as connected,
    ):
        yield connected


def modules_of_workers(client):
    return client.run(lambda: list(sys.modules)).values()  # a lambda goes by value: workers cannot import this file


@pytest.mark.slow
def test_cells_of_the_experiments_run_on_a_cluster(client, tmp_path):
    words = ["reproduce", "toy", "--size", "small", "--seeds", "2", "--methods", "MDDMp", "NMLSDR", "--jobs", "2"]
    with joblib.parallel_config("dask"):
        assert main([*words, "--out", str(tmp_path / "cluster")]) == 0
    assert any("nmlsdr.experiments.protocol" in names for names in modules_of_workers(client))
    assert main([*words[:-1], "1", "--out", str(tmp_path / "here")]) == 0
    tables = {path.name: path.read_bytes() for path in (tmp_path / "cluster" / "tables").iterdir()}
    assert tables == {path.name: path.read_bytes() for path in (tmp_path / "here" / "tables").iterdir()}
    assert len(tables) >= 2
