"""Neighbours and graph: properties, then bit-for-bit parity with the plain twin."""

import itertools

import numpy as np
import pytest
import reference
from scipy import sparse

from nmlsdr import InputError, graph
from nmlsdr._checks.arguments import check_graph

THREADS = [1, 2]


def cases():
    rng = np.random.default_rng(7)
    gauss = rng.standard_normal((60, 13))
    return {
        "gauss": gauss,
        "integers with ties": rng.integers(0, 3, (50, 9)).astype(float),
        "binary": (rng.random((70, 20)) < 0.1).astype(float),
        "duplicates": np.repeat(rng.standard_normal((12, 5)), 4, axis=0),
        "mostly zeros": np.where(np.abs(gauss) > 1, gauss, 0),
        "all equal": np.ones((17, 4)),
        "one feature": rng.integers(0, 5, (30, 1)).astype(float),
        "two rows": rng.standard_normal((2, 3)),
        "offset": 1e6 + rng.standard_normal((40, 8)),
        "tiny": 1e-30 * gauss,
        "huge": 1e30 * gauss,
        "last bits": np.nextafter(np.ones((24, 3)), 2 + rng.integers(-1, 2, (24, 3))),
    }


CASES = cases()


def assert_same_neighbors(X, k, expected, **options):
    """The one assertion of parity: squared distances and indices, to the bit."""
    squared, indices = graph.squared_neighbors(X, k, **options)
    np.testing.assert_array_equal(squared, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.parametrize("n_jobs", THREADS)
@pytest.mark.parametrize("name", CASES)
def test_neighbours_equal_the_plain_implementation(name, n_jobs):
    X = CASES[name]
    for k in {1, min(5, len(X) - 1), len(X) - 1}:
        expected = reference.kneighbors(X, k)
        assert_same_neighbors(X, k, expected, n_jobs=n_jobs)
        assert_same_neighbors(np.asfortranarray(X), k, expected, n_jobs=n_jobs)
        assert_same_neighbors(sparse.csr_array(X), k, expected, n_jobs=n_jobs)
        assert_same_neighbors(sparse.csr_matrix(X), k, expected, n_jobs=n_jobs)


@pytest.mark.parametrize("name", CASES)
def test_float32_neighbors_equal_those_of_their_float64_copy(name):
    X = CASES[name].astype(np.float32)
    X.flags.writeable = False
    expected = reference.kneighbors(X, min(5, len(X) - 1))
    assert_same_neighbors(X, min(5, len(X) - 1), expected)
    assert_same_neighbors(sparse.csr_array(X), min(5, len(X) - 1), expected)


def test_queries_do_not_exclude_self():
    X = CASES["gauss"]
    _, indices = graph.kneighbors(X, 1, queries=X)
    np.testing.assert_array_equal(indices.ravel(), np.arange(len(X)))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_of_queries_equal_the_plain_implementation(storage, dtype):
    X = CASES["integers with ties"]
    Q = X[::3] + 1
    squared, indices = graph.squared_neighbors(X, 7, queries=storage(Q.astype(dtype)))
    expected = reference.kneighbors(X, 7, queries=Q)
    np.testing.assert_array_equal(squared, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.parametrize("n_jobs", THREADS)
@pytest.mark.parametrize("name", CASES)
def test_graph_and_transition_matrix_equal_the_plain_implementation(name, n_jobs):
    X = CASES[name]
    k = min(4, len(X) - 1)
    W = graph.neighbor_graph(X, k, n_jobs=n_jobs)
    np.testing.assert_array_equal(W.toarray(), reference.neighbor_graph(X, k))
    assert (W.diagonal() == 0).all()
    T = graph.transition_matrix(W, n_jobs=n_jobs)
    np.testing.assert_array_equal(T.toarray(), reference.transition_matrix(W))
    np.testing.assert_allclose(T.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("sigma", [None, 0.7])
def test_rbf_weights_equal_the_plain_implementation(sigma):
    X = CASES["gauss"]
    W = graph.neighbor_graph(X, 4, edge_weights="rbf", sigma=sigma)
    np.testing.assert_allclose(W.toarray(), reference.neighbor_graph(X, 4, "rbf", sigma), rtol=1e-12)
    np.testing.assert_array_equal(W.toarray(), W.toarray().T)


def test_an_underflowed_weight_stays_an_edge():
    W = graph.neighbor_graph([[0.0], [1.0], [1e6]], 1, edge_weights="rbf", sigma=1.0)
    assert W.nnz == 4
    assert W.data.min() == 0.0


def test_a_width_whose_square_underflows_gives_duplicates_weight_one():
    X = np.repeat([[0.0], [1.0]], 3, axis=0)
    W = graph.neighbor_graph(X, 2, edge_weights="rbf", sigma=1e-170)
    np.testing.assert_array_equal(W.toarray(), np.kron(np.eye(2), 1 - np.eye(3)))


def test_a_width_whose_square_overflows_still_gives_different_weights():
    X = np.array([[0.0], [1e150], [-1e150]])
    W = graph.neighbor_graph(X, 2, edge_weights="rbf", sigma=1e155)
    np.testing.assert_allclose(1 - W.toarray()[1], [1e-10, 1.0, 4e-10], rtol=1e-5)


@pytest.mark.parametrize("unit", [1.0, 2.0**10, 2.0**-70])
def test_duplicates_do_not_enter_the_width(unit):
    """It is the median of the distances to the k-th neighbour that are not 0, here of 2 and 3, in any unit."""
    X = unit * np.array([[0.0]] * 7 + [[2.0], [3.0]])
    W = graph.neighbor_graph(X, 2, edge_weights="rbf").toarray()
    assert W[0, 1] == 1
    np.testing.assert_allclose(W[7, [0, 8]], np.exp([-((2 / 2.5) ** 2), -((1 / 2.5) ** 2)]), rtol=1e-15)


def test_duplicates_alone_have_weight_one():
    assert (graph.neighbor_graph(np.zeros((5, 1)), 2, edge_weights="rbf").data == 1).all()


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf, "a", True, [1, 2]])
def test_a_width_that_is_no_positive_number_is_refused(sigma):
    with pytest.raises(ValueError, match=r"sigma, if not None, must be a number in \(0, inf\), got"):
        graph.neighbor_graph([[0.0], [1.0], [3.0]], 1, edge_weights="rbf", sigma=sigma)


def test_isolated_node_has_a_zero_row():
    W = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0.0]]))
    T = graph.transition_matrix(W).toarray()
    np.testing.assert_array_equal(T, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("X", "k", "message"),
    [
        (np.ones((5, 2)), 5, "n_neighbors=5 needs more than 5 samples, got 5; lower n_neighbors"),
        (np.ones((5, 2)), 0, "n_neighbors must be an integer of at least 1, got 0"),
        (np.ones(5), 1, "2-D"),
        (np.array([[np.nan], [1.0]]), 1, "NaN or infinity in row 0"),
        (np.array([[1e200], [1.0]]), 1, "magnitudes above 1e\\+150"),
        ([["a"], ["b"]], 1, "column 0 holds text"),
    ],
)
def test_bad_rows_raise_a_clear_error(X, k, message):
    with pytest.raises(ValueError, match=message):
        graph.kneighbors(X, k)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.array([[0.0, 1.0], [0.5, 0.0]]), "not symmetric.*maximum"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "negative"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "NaN"),
        (np.ones((2, 3)), "square"),
    ],
)
def test_bad_graphs_raise_a_clear_error(W, message):
    with pytest.raises(ValueError, match=message):
        graph.transition_matrix(W)


@pytest.mark.quick_cases("1-", "2-")
@pytest.mark.parametrize(("n", "values"), [(1, (0, 1)), (2, (0, 1, 2)), (3, (0, 1, 2))])
def test_every_small_matrix_is_symmetric_or_not(n, values):
    """All matrices of these entries, 0 = not stored, without loops and with different ones: 1458 of three rows."""
    off = ~np.eye(n, dtype=bool)
    for *entries, loops in itertools.product(*[values] * (n * n - n), (0, 1)):
        W = np.diag(loops * np.arange(n, dtype=float))
        W[off] = entries
        if (W == W.T).all():
            np.testing.assert_array_equal(check_graph(sparse.csr_array(W)).toarray(), W - np.diag(np.diag(W)))
        else:
            with pytest.raises(InputError, match="not symmetric"):
                check_graph(sparse.csr_array(W))


def test_a_stored_zero_hides_no_tiny_weight():
    """Weights near the least numbers are scaled by a power of two first, whatever zeros are stored beside them."""
    chain = np.diag([3.0, 5.0, 7.0, 11.0], 1)
    tiny = sparse.csr_array(np.ldexp(chain + chain.T, -1066))
    tiny.data[[-1, -2]] = 0.0
    assert np.count_nonzero(tiny.data == 0) == 2
    expected = tiny.copy()
    expected.data = np.ldexp(expected.data, 1066)
    np.testing.assert_allclose(
        graph.transition_matrix(tiny).toarray(), graph.transition_matrix(expected).toarray(), rtol=1e-15
    )


def test_lists_of_neighbours_in_place_of_rows_are_warned_of(rng):
    X = rng.standard_normal((60, 4))
    lists = graph.kneighbors(X, 5)[1]
    for rows in (lists, lists.astype(np.float32), lists.tolist()):
        with pytest.warns(UserWarning, match="X looks like lists of neighbours"):
            graph.neighbor_graph(rows, 5)
    lists_with_own_row = lists.copy()
    repeated = lists.copy()
    beyond = lists.copy()
    lists_with_own_row[7, 2] = 7
    repeated[7, 2] = repeated[7, 1]
    beyond[7, 2] = 60
    for rows, k in (
        (lists_with_own_row, 5),
        (repeated, 5),
        (beyond, 5),
        (lists + 0.5, 5),
        (lists, 4),
        (sparse.csr_array(lists), 5),
    ):
        graph.neighbor_graph(rows, k)  # warnings are errors in this suite
