"""All rows within a radius: the bits of the twin, whatever the storage, the threads and the way of searching."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import MAKERS, any_leads, make
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from nmlsdr._search import radius as radius_search
from nmlsdr._search import strategy
from nmlsdr.graph import kneighbors, radius_neighbors

STORED = {
    "float64": lambda X: X,
    "float32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
    "Fortran": np.asfortranarray,
    "CSR": sparse.csr_array,
    "CSR, float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
}


def lists(graph):
    return [
        (graph.data[first:last], graph.indices[first:last])
        for first, last in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)
    ]


def assert_equals_twin(X, radius, queries=None, metric="euclidean", **options):
    graph = radius_neighbors(X, radius, queries=queries, metric=metric, **options)
    expected = reference.radius_neighbors(X, radius, queries, metric)
    assert graph.shape == (len(expected), X.shape[0])
    for (distances, columns), (squared, rows) in zip(lists(graph), expected, strict=True):
        expected_distances = squared * 0.5 if metric == "cosine" else np.sqrt(squared)
        assert columns.tolist() == rows.tolist()
        assert distances.tobytes() == expected_distances.tobytes()
    return graph


def middle(X, metric="euclidean"):
    """A radius that is the distance of two rows: they are at exactly the limit."""
    squared = reference.metric_distances(X, X[:3], metric)
    middle = np.partition(squared.ravel(), squared.size // 3)[squared.size // 3]
    return float(middle * 0.5 if metric == "cosine" else np.sqrt(middle))


@pytest.mark.quick_cases("duplicates", "integers", "zeros", "all equal", "offset", "last bits")
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("d", [2, 21])
@pytest.mark.parametrize("name", MAKERS)
def test_the_rows_within_a_radius_are_those_of_the_twin(name, d, metric):
    X = make(name, (150, d), 5)
    X[[5, 6, 100]] = 0.0
    Q = np.concatenate([X[::9], make(name, (20, d), 6), np.zeros((1, d))])
    X.flags.writeable = False
    for radius in (0.0, middle(X, metric), np.inf):
        for n_jobs in (1, 3):
            assert_equals_twin(X, radius, None, metric, n_jobs=n_jobs)
            assert_equals_twin(X, radius, Q, metric, n_jobs=n_jobs)
        assert_equals_twin(X, radius, Q[:2], metric)


@pytest.mark.quick_cases("float64-float32-euc", "CSR-Fortran-cos", "CSR, float32-CSR-euc", "float32-float64-cos")
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("query_storage", STORED)
def test_storage_changes_nothing(metric, stored, query_storage, rng):
    X = rng.integers(-3, 4, (120, 11)) / 8.0
    X[[5, 50]] = 0.0
    Q = np.concatenate([X[:40:5], rng.integers(-3, 4, (30, 11)) / 8.0])
    for radius in (0.0, middle(X, metric), 1.0):
        assert_equals_twin(STORED[stored](X), radius, STORED[query_storage](Q), metric, n_jobs=2)
        assert_equals_twin(STORED[stored](X), radius, None, metric, n_jobs=2)


def test_ties_at_exactly_the_radius_are_within_it():
    grid = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    for columns in (2, 12):
        X = np.hstack([grid, np.zeros((81, columns - 2))])
        for radius, neighbors in ((1.0, 4), (np.nextafter(1.0, 0.0), 0), (5.0, None)):
            graph = assert_equals_twin(X, radius)
            if neighbors is not None:
                assert np.diff(graph.indptr)[40] == neighbors  # the row in the middle
    assert np.diff(radius_neighbors(grid, 5.0).indptr)[0] == 25  # (3, 4), (4, 3), (0, 5) and (5, 0) are at 5


def test_duplicates_are_stored_zeros_and_a_row_is_not_its_own_neighbour():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0], [1.0, 2.0]])
    graph = radius_neighbors(X, 0.0)
    assert graph.nnz == 6
    assert not graph.data.any()
    assert lists(graph)[1][1].tolist() == [0, 3]
    assert radius_neighbors(X, 0.0, queries=X).nnz == 10


def test_order_by_row_number(rng):
    X = rng.standard_normal((200, 5))
    by_distance = radius_neighbors(X, 1.5)
    by_row = radius_neighbors(X, 1.5, sort=False)
    assert (np.diff(by_row.indices)[np.diff(np.repeat(np.arange(200), np.diff(by_row.indptr))) == 0] > 0).all()
    assert (by_distance != by_row).nnz == 0
    assert by_distance.indices.tolist() != by_row.indices.tolist()


def test_distances_have_the_bits_of_kneighbors(rng):
    X = rng.standard_normal((300, 30))
    distances, indices = kneighbors(X, 12)
    neighbor_lists = lists(radius_neighbors(X, distances[:, 5].max()))
    for i, (near, rows) in enumerate(neighbor_lists):
        n_common = min(12, len(rows))
        assert near[:n_common].tobytes() == distances[i, :n_common].tobytes()
        assert rows[:n_common].tolist() == indices[i, :n_common].tolist()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_leading_coordinates_and_sparse_products_change_nothing(metric, rng, monkeypatch):
    flat = rng.standard_normal((700, 3)) @ rng.standard_normal((3, 40)) + 1e-3 * rng.standard_normal((700, 40))
    radius = middle(flat, metric)
    plain = radius_neighbors(flat, radius, metric=metric)
    monkeypatch.setattr(strategy, "_LARGE", 100)
    with any_leads():
        led = radius_neighbors(flat, radius, metric=metric)
        assert_equals_twin(flat, radius, flat[::5], metric)
    for part in ("indptr", "indices", "data"):
        assert getattr(plain, part).tobytes() == getattr(led, part).tobytes()
    thin = sparse.csr_array(flat * (rng.random(flat.shape) < 0.1))
    assert_equals_twin(thin, middle(thin.toarray(), metric), None, metric)
    assert_equals_twin(thin, middle(thin.toarray(), metric), thin[::50], metric)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(MAKERS)),
    n=st.integers(1, 230),
    d=st.integers(0, 12),
    q=st.one_of(st.none(), st.integers(0, 60)),
    n_jobs=st.integers(1, 4),
)
def test_any_sizes_equal_the_twin(name, n, d, q, n_jobs):
    X = make(name, (n, max(d, 1)), 1)
    Q = None if q is None else make(name, (q, max(d, 1)), 2)
    radius = middle(X)
    X = X[:, :d]
    assert_equals_twin(X, radius, None if Q is None else Q[:, :d], n_jobs=n_jobs)


def test_sklearn_finds_the_same_rows(rng):
    X = rng.standard_normal((1500, 20))
    distances, rows = NearestNeighbors(radius=4.0, algorithm="brute").fit(X).radius_neighbors(sort_results=True)
    for (near, columns), theirs, numbers in zip(lists(radius_neighbors(X, 4.0)), distances, rows, strict=True):
        assert columns.tolist() == numbers.tolist()
        np.testing.assert_allclose(near, theirs, rtol=1e-6)


def test_a_result_beyond_max_bytes_is_refused_before_it_is_stored(rng):
    X = rng.standard_normal((400, 10))
    size = radius_search.BYTES_PER_ENTRY * 400 * 399
    assert radius_neighbors(X, np.inf, max_bytes=size).nnz == 400 * 399
    with pytest.raises(ValueError, match=r"the radius finds (more than )?\d+ neighbours, which need .* GiB"):
        radius_neighbors(X, np.inf, max_bytes=size - 1)
    blocks = [
        radius_neighbors(X, np.inf, queries=X[first : first + 100], max_bytes=size) for first in range(0, 400, 100)
    ]
    assert sum(block.nnz for block in blocks) == 400 * 400


@pytest.mark.parametrize("radius", [-1.0, np.nan, "1", None, True, [1.0, 2.0]])
def test_a_radius_that_is_no_distance_is_refused(radius):
    with pytest.raises(ValueError, match="radius must be a number of 0 or more, got"):
        radius_neighbors([[0.0], [1.0]], radius)


def test_wrong_rows_and_options_are_refused():
    X = [[0.0], [1.0]]
    for match, options in (
        ("max_bytes must be an integer of at least 1", {"max_bytes": 0}),
        ('metric must be "euclidean"', {"metric": "l1"}),
        ("queries has 2 features, but X has 1", {"queries": [[0.0, 1.0]]}),
        ("queries contains NaN or infinity", {"queries": [[np.nan]]}),
    ):
        with pytest.raises(ValueError, match=match):
            radius_neighbors(X, 1.0, **options)
