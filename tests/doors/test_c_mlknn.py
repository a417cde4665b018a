"""include/nmlsdr/mlknn.h and graph.h without Python: the bits of Python's functions, and what they refuse."""

import ctypes
import shutil

import numpy as np
import pytest
from c_headers import (
    BAD_GRAPH,
    BAD_K,
    BAD_SIZE,
    BAD_VALUE,
    MEMORY,
    NOT_FINITE,
    NULL_POINTER,
    OK,
    compiled,
    learned_bits,
    output,
    shared_library,
)
from scipy import sparse

from nmlsdr import graph, mlknn
from nmlsdr._version import __version__


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Both headers, and what their macros say."""
    version = (
        "const char *version(void) { return NMLSDR_VERSION; }\nint number(void) { return NMLSDR_VERSION_NUMBER; }\n"
    )
    made = shared_library(tmp_path_factory.mktemp("library"), "mlknn.h", "graph.h", code=version)
    made.nmlsdr_neighbor_graph.restype = ctypes.c_int64
    made.version.restype = ctypes.c_char_p
    return made


def arguments(*values):
    """Arrays as pointers, floats as doubles, integers as ptrdiff_t; the last one, the threads, as int."""
    made = []
    for value in values:
        if isinstance(value, np.ndarray):
            made.append(value.ctypes)
        elif isinstance(value, float):
            made.append(ctypes.c_double(value))
        else:
            made.append(None if value is None else ctypes.c_ssize_t(value))
    return made


def draw(rng, n, n_labels, k, q=9):
    Y = (rng.random((n, n_labels)) < 0.3).astype(np.uint8)
    neighbors = np.array([rng.permutation(np.setdiff1d(np.arange(n), i))[:k] for i in range(n)], dtype=np.intp)
    return Y, neighbors, rng.integers(0, n, (q, k)).astype(np.intp)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize(
    ("n", "n_labels", "k", "q"),
    [(2, 1, 1, 9), (40, 3, 7, 9), (30, 17, 29, 9), (25, 300, 4, 9), (3000, 12, 10, 9), (500, 9000, 2, 300)],
)  # the last one needs several blocks of rows
def test_mlknn_has_the_bits_of_python(library, n, n_labels, k, q, n_threads, rng):
    Y, neighbors, queries = draw(rng, n, n_labels, k, q)
    for smoothing in (1.0, 0.3, 1e-300, 1e100):
        expected = mlknn.fit_posterior(Y, neighbors, smoothing=smoothing)
        prior = np.empty(n_labels)
        table = np.empty((n_labels, k + 1))
        call_arguments = arguments(Y, n, n_labels, neighbors, k, smoothing, prior, table)
        assert library.nmlsdr_mlknn_fit(*call_arguments, n_threads) == OK
        assert prior.tobytes() == expected.prior.tobytes()
        assert table.tobytes() == expected.posterior.tobytes()
        for query_neighbors in (queries, queries[:1], queries[:0]):
            posteriors = np.empty((len(query_neighbors), n_labels))
            call_arguments = arguments(table, Y, n, n_labels, query_neighbors, len(query_neighbors), k, posteriors)
            assert library.nmlsdr_mlknn_posterior(*call_arguments, n_threads) == OK
            assert posteriors.tobytes() == expected.look_up(query_neighbors).tobytes() if len(query_neighbors) else True
            assert posteriors.tobytes() == mlknn.posterior(expected, Y, query_neighbors).tobytes()
            counts = np.empty((len(query_neighbors), n_labels), np.intc)
            assert (
                library.nmlsdr_label_counts(
                    *arguments(Y, n, n_labels, query_neighbors, len(query_neighbors), k, counts), n_threads
                )
                == OK
            )
            assert (counts == Y[query_neighbors].sum(axis=1)).all()


def test_mlknn_refuses_what_is_out_of_range(library, rng):
    Y, neighbors, queries = draw(rng, 20, 3, 4)
    prior = np.empty(3)
    table = np.empty((3, 5))
    posteriors = np.empty((9, 3))
    counts = np.empty((9, 3), np.intc)
    labels_with_a_three = Y.copy()
    labels_with_a_three[19, 2] = 3
    far = neighbors.copy()
    far[3, 2] = 20
    itself = neighbors.copy()
    itself[3, 2] = 3
    good = {
        "Y": Y,
        "n": 20,
        "n_labels": 3,
        "neighbors": neighbors,
        "k": 4,
        "smoothing": 1.0,
        "prior": prior,
        "table": table,
    }
    for changes, code in (
        ({}, OK),
        *(({name: None}, NULL_POINTER) for name in ("Y", "neighbors", "prior", "table")),
        *(({"n": n}, code) for n, code in ((0, BAD_SIZE), (4, BAD_K), (2**31, BAD_SIZE))),
        *(({"k": k}, BAD_K) for k in (0, -1, 20)),
        *(({"n_labels": number}, BAD_SIZE) for number in (0, -1, 2**62)),
        *(({"smoothing": s}, BAD_VALUE) for s in (0.0, -1.0, float("nan"), float("inf"), 1e101)),
        ({"Y": labels_with_a_three}, BAD_VALUE),
        ({"neighbors": far}, BAD_GRAPH),
        ({"neighbors": -neighbors}, BAD_GRAPH),
        ({"neighbors": itself}, BAD_GRAPH),
    ):
        assert library.nmlsdr_mlknn_fit(*arguments(*(good | changes).values()), 1) == code, changes
    good = {"table": table, "Y": Y, "n": 20, "n_labels": 3, "neighbors": queries, "q": 9, "k": 4, "found": posteriors}
    queries[0, 0] = 19
    for changes, code in (
        ({}, OK),
        *(({name: None}, NULL_POINTER) for name in ("Y", "neighbors", "table", "found")),
        *(({"q": q}, BAD_SIZE) for q in (-1, 2**31)),
        *(({"k": k}, BAD_K) for k in (0, 21)),
        ({"Y": labels_with_a_three}, BAD_VALUE),
        ({"neighbors": queries + 1}, BAD_GRAPH),
    ):
        assert library.nmlsdr_mlknn_posterior(*arguments(*(good | changes).values()), 1) == code, changes
        if "table" not in changes:
            values = [*list((good | changes).values())[1:-1], None if "found" in changes else counts]
            assert library.nmlsdr_label_counts(*arguments(*values), 1) == code, changes


def test_sizes_at_the_limits_are_accepted(library):
    """The largest number of rows, of which only those of the neighbours are read; and a graph of one row."""
    counts = np.full((1, 1), 7, np.intc)
    call_arguments = arguments(np.ones((1, 1), np.uint8), 2**31 - 2, 1, np.zeros((1, 1), np.intp), 1, 1, counts)
    assert library.nmlsdr_label_counts(*call_arguments, 1) == OK
    assert counts[0, 0] == 1
    call_arguments = arguments(np.zeros(2, np.int64), np.zeros(1, np.int32), None, 1, np.zeros(1))
    assert library.nmlsdr_transition_matrix(*call_arguments, 1) == OK


def test_an_edge_that_the_next_row_begins_with_is_no_edge_of_an_empty_row(library):
    indptr = np.array([0, 2, 2, 3])
    columns = np.array([1, 2, 0], np.int32)  # row 1 lacks column 0, with which row 2 begins
    call_arguments = arguments(indptr, columns, np.ones(3), 3, np.zeros(3))
    assert library.nmlsdr_transition_matrix(*call_arguments, 1) == BAD_VALUE


def graph_of(library, neighbors, *, room=None):
    n, k = neighbors.shape
    indptr = np.zeros(n + 1, np.int64)
    columns = np.zeros(2 * n * k, np.int32)
    stored = library.nmlsdr_neighbor_graph(*arguments(neighbors, n, k, indptr, columns))
    return stored, indptr, columns[: max(stored, 0)]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (50, 1), (60, 7), (31, 30), (4000, 10)])
def test_graphs_have_the_bits_of_python(library, n, k, n_threads, rng):
    X = rng.integers(0, 4, (n, 3)) / 3.0
    squared, neighbors = (np.ascontiguousarray(part) for part in graph.squared_neighbors(X, k))
    W = graph.neighbor_graph(X, k)
    stored, indptr, columns = graph_of(library, neighbors)
    assert (stored, indptr.tolist(), columns.tolist()) == (W.nnz, W.indptr.tolist(), W.indices.tolist())
    for sigma in (0.0, 0.7):
        expected = graph.neighbor_graph(X, k, edge_weights="rbf", sigma=sigma or None)
        weights = np.empty(stored)
        call_arguments = arguments(neighbors, squared, n, k, sigma, indptr, columns, weights)
        assert library.nmlsdr_rbf_weights(*call_arguments) == OK
        np.testing.assert_allclose(weights, expected.data, rtol=1e-14)
        for given_weights, scale in ((None, 1.0), (weights, 1.0), (weights, 2.0**1000), (weights, 2.0**-700)):
            scaled = None if given_weights is None else given_weights * scale
            values = np.empty(stored)
            call_arguments = arguments(indptr, columns, scaled, n, values)
            assert library.nmlsdr_transition_matrix(*call_arguments, n_threads) == OK
            data = np.ones(stored) if scaled is None else scaled
            T = graph.transition_matrix(sparse.csr_array((data, columns, indptr), (n, n)))
            assert values.tobytes() == T.data.tobytes()


def test_weights_that_differ_by_rounding_are_made_symmetric(library, rng):
    W = graph.neighbor_graph(rng.standard_normal((60, 4)), 5, edge_weights="rbf")
    W.data *= 1 + rng.integers(-9, 9, W.nnz) * 1e-15
    values = np.empty(W.nnz)
    indptr = W.indptr.astype(np.int64)
    columns = W.indices.astype(np.int32)
    assert library.nmlsdr_transition_matrix(*arguments(indptr, columns, W.data, 60, values), 1) == OK
    assert values.tobytes() == graph.transition_matrix(W).data.tobytes()


def test_graphs_refuse_what_is_out_of_range(library):
    neighbors = np.array([[1, 2], [0, 2], [1, 3], [2, 0]], np.intp)
    stored, indptr, columns = graph_of(library, neighbors)
    squared = np.ones((4, 2))
    weights = np.empty(stored)
    for wrong in ([[1, 1], [0, 2], [1, 3], [2, 0]], [[0, 1], [0, 2], [1, 3], [2, 0]], [[1, 4], [0, 2], [1, 3], [2, 0]]):
        assert graph_of(library, np.array(wrong, np.intp))[0] == BAD_GRAPH
    good = {"neighbors": neighbors, "n": 4, "k": 2, "indptr": indptr.copy(), "columns": np.zeros(16, np.int32)}
    for changes, code in (
        *(({name: None}, NULL_POINTER) for name in ("neighbors", "indptr", "columns")),
        ({"n": 0}, BAD_SIZE),
        ({"k": 0}, BAD_K),
        ({"k": 4}, BAD_K),
    ):
        assert library.nmlsdr_neighbor_graph(*arguments(*(good | changes).values())) == code
    good = {
        "neighbors": neighbors,
        "squared": squared,
        "n": 4,
        "k": 2,
        "sigma": 0.0,
        "indptr": indptr,
        "columns": columns,
    }
    good["weights"] = weights
    for changes, code in (
        ({}, OK),
        *(({name: None}, NULL_POINTER) for name in ("neighbors", "squared", "indptr", "columns", "weights")),
        *(({"sigma": sigma}, BAD_VALUE) for sigma in (-1.0, float("nan"), float("inf"))),
        ({"squared": squared * np.nan}, NOT_FINITE),
        ({"squared": -squared}, NOT_FINITE),
        ({"neighbors": neighbors + 4}, BAD_GRAPH),
        ({"neighbors": np.array([[1, 3], [0, 3], [1, 3], [2, 0]], np.intp)}, BAD_GRAPH),
        ({"columns": columns[::-1].copy()}, BAD_GRAPH),
    ):
        assert library.nmlsdr_rbf_weights(*arguments(*(good | changes).values())) == code, changes
    weights[:] = 1.0
    lopsided = weights.copy()
    lopsided[0] = 2.0
    good = {"indptr": indptr, "columns": columns, "weights": weights, "n": 4, "values": np.empty(stored)}
    for changes, code in (
        ({}, OK),
        *(({name: None}, NULL_POINTER) for name in ("indptr", "columns", "values")),
        ({"n": 0}, BAD_SIZE),
        ({"weights": -weights}, BAD_VALUE),
        ({"weights": lopsided}, BAD_VALUE),
        ({"weights": weights * np.inf}, NOT_FINITE),
        ({"indptr": indptr + 1}, BAD_GRAPH),
        ({"columns": columns[::-1].copy()}, BAD_GRAPH),
        ({"columns": columns - 1}, BAD_GRAPH),
    ):
        assert library.nmlsdr_transition_matrix(*arguments(*(good | changes).values()), 1) == code, changes


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["gcc", "-std=c99", "-O2"],
        ["gcc", "-std=gnu11", "-O3", "-march=native", "-fopenmp"],
        ["gcc", "-std=c99", "-O0", *MEMORY],
        ["clang", "-std=c99", "-O1"],
        ["g++", "-x", "c++", "-std=c++17", "-O0"],
    ],
    ids=["gcc", "OpenMP, this processor", "memory", "clang", "g++"],
)
def test_a_program_learns_and_predicts_without_python(command, tmp_path):
    program = compiled(command, "learn.c", tmp_path)
    assert output(program, "bits") == learned_bits()
    if shutil.which("ldd"):
        assert "python" not in output("ldd", program)


def test_the_headers_say_the_version_of_the_package(library):
    assert library.version().decode() == __version__
    major, minor, patch = map(int, library.version().split(b"."))
    assert library.number() == 10_000 * major + 100 * minor + patch
