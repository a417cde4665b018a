"""The label rule and the other gatekeepers: answers and sentences."""

import datetime
import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import nmlsdr
from nmlsdr import InputError, graph
from nmlsdr._checks.arguments import check_alpha, check_graph, check_row_pair, check_rows, match_rows, refuse_broken
from nmlsdr._checks.labels import alphas_of_labels, check_labels
from nmlsdr.propagation import propagate


def test_x_and_y_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="X has 3 rows, y has 2"):
        check_labels([0, 1], n_samples=3)
    with pytest.raises(ValueError, match=r"labeled must be a boolean array of shape \(2,\)"):
        check_labels([0, 1], labeled=[1, 0])


def test_rows_are_not_copied_without_need(tmp_path):
    for dtype in (np.float32, np.float64):
        X = np.ones((3, 2), dtype=dtype)
        assert check_rows(X) is X
    mapped = np.memmap(tmp_path / "x", dtype=np.float32, mode="w+", shape=(3, 2))
    assert np.shares_memory(check_rows(mapped), mapped)


def test_rows_that_only_dlpack_gives_are_read():
    class Tensor:
        def __init__(self, values, device):
            self.values = values
            self.device = device

        def __dlpack__(self, **kwargs):
            if self.device != 1:
                raise BufferError("it is on a GPU")
            return self.values.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.device, 0

    X = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(check_rows(Tensor(X, 1)), X)
    with pytest.raises(ValueError, match=r"X is no array that NumPy can read \(.*\); copy it to the CPU first"):
        check_rows(Tensor(X, 2))


def test_row_pairs_share_storage_and_dtype():
    X = np.ones((3, 2), dtype=np.float32)
    rows, query_rows = check_row_pair(X, sparse.csr_array(np.full((2, 2), 0.1)))
    assert sparse.issparse(rows)
    assert rows.dtype == query_rows.dtype == np.float64
    with pytest.raises(ValueError, match="queries has 3 features"):
        check_row_pair(X, np.ones((2, 3)))


def test_repeated_sparse_entries_are_summed_without_touching_the_input():
    X = sparse.csr_matrix((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    np.testing.assert_array_equal(check_rows(X).toarray(), [[3.0, 0.0]])
    assert X.nnz == 2


def test_graph_rounding_is_averaged_and_diagonal_dropped():
    W = np.array([[5.0, 1.0], [1.0 + 1e-13, 0.0]])
    checked = check_graph(W)
    np.testing.assert_array_equal(checked.toarray(), checked.toarray().T)
    assert checked.diagonal().sum() == 0
    with pytest.raises(ValueError, match="cross-validation cannot split a graph"):
        check_graph(W, n_samples=3)


def test_explicit_zeros_stay_edges():
    W = sparse.csr_array((np.zeros(2), (np.array([0, 1]), np.array([1, 0]))), shape=(2, 2))
    assert check_graph(W).nnz == 2


@pytest.mark.parametrize("alpha", [1.0, -0.1, np.nan, [0.1, 0.2]])
def test_alpha_outside_its_range_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha"):
        check_alpha(alpha, 3)


@pytest.mark.parametrize("alpha", ["x", ["x"] * 1000, [[1], [1, 2]], {}, 1j])
def test_alpha_that_is_no_number_is_refused(alpha):
    with pytest.raises(InputError, match=r"alpha must hold numbers in \[0, 1\), got .{2,60}\.$"):
        check_alpha(alpha, 2)
    with pytest.raises(InputError, match=r"alpha_labeled must hold numbers in \[0, 1\), got"):
        alphas_of_labels(check_labels([[0, 1]]), (0.5, alpha), 0.5)


def test_a_pair_of_alphas_may_be_an_array():
    labels = check_labels([[0, 1], [-1, -1]])
    expected = alphas_of_labels(labels, (0.9, 0.1), 0.5)
    for pair in ([0.9, 0.1], np.array([0.9, 0.1]), pd.Series([0.9, 0.1])):
        np.testing.assert_array_equal(alphas_of_labels(labels, pair, 0.5), expected)
    with pytest.raises(InputError, match=r"a number or a pair .*, got 3 numbers"):
        alphas_of_labels(labels, np.array([0.9, 0.1, 0.1]), 0.5)


def at_an_odd_byte(values):
    """The same numbers one byte off, as a message between processes may leave them."""
    held = np.empty(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    held[...] = values
    assert not held.flags.aligned
    return held


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_and_graphs_become_aligned(rng, index):
    X = rng.random((30, 12))
    dense = check_rows(at_an_odd_byte(X))
    assert dense.flags.aligned
    np.testing.assert_array_equal(dense, X)
    rows = sparse.csr_array(np.where(X > 0.5, X, 0))
    off = sparse.csr_array(rows.shape)
    off.data = at_an_odd_byte(rows.data)
    off.indices, off.indptr = (at_an_odd_byte(part.astype(index)) for part in (rows.indices, rows.indptr))
    for checked in (check_rows(off), *match_rows(off, rows)):
        assert all(part.flags.aligned for part in (checked.data, checked.indices, checked.indptr))
        np.testing.assert_array_equal(checked.toarray(), rows.toarray())
    W = check_graph(at_an_odd_byte(np.ones((4, 4))))
    assert all(part.flags.aligned for part in (W.data, W.indices, W.indptr))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_float64_queries_that_are_float32_do_not_widen_the_rows(rng, kind):
    """A service's queries come as Python's numbers; a copy of all rows for each would take longer than the answer."""
    X = kind(rng.normal(size=(50, 4)).astype(np.float32))
    same = X[:3].astype(np.float64)
    finer = kind(rng.normal(size=(3, 4)))
    huge = kind(np.full((1, 4), 1e100))
    rows, query_rows = match_rows(X, same)
    assert rows.dtype == query_rows.dtype == np.float32
    assert rows is X
    for queries in (finer, huge):
        assert [part.dtype for part in match_rows(X, queries)] == [np.float64, np.float64]
    for queries in (same, finer):
        wide = graph.squared_neighbors(X.astype(np.float64), 5, queries=queries)
        for values, expected in zip(graph.squared_neighbors(X, 5, queries=queries), wide, strict=True):
            np.testing.assert_array_equal(values, expected)


# ---------------------------------------------------------------- matrices that point outside of themselves


def compressed(form, shape, data, indices, indptr):
    """A CSR or CSC matrix of these parts, which its constructor would look at."""
    matrix = form(shape)
    matrix.data, matrix.indices, matrix.indptr = (np.array(part) for part in (data, indices, indptr))
    return matrix


def test_every_small_broken_matrix_is_refused_and_every_valid_one_accepted():
    """All pointers from -1 to 3 and all columns from -1 to 2 of a 2 x 2 matrix that stores two entries."""
    for indptr in itertools.product(range(-1, 4), repeat=3):
        rises = indptr[0] == 0 and indptr[0] <= indptr[1] <= indptr[2] <= 2
        for indices in itertools.product(range(-1, 3), repeat=2):
            sound = rises and all(0 <= j < 2 for j in indices[: indptr[2]])
            matrix = compressed(sparse.csr_array, (2, 2), [1.0, 1.0], indices, indptr)
            if sound:
                refuse_broken(matrix, "X")
            else:
                with pytest.raises(ValueError, match="X is a broken CSR matrix"):
                    refuse_broken(matrix, "X")


BROKEN = {  # of 3 x 3 matrices: SciPy 1.17's own check passes the first, and sorting its rows writes past its arrays
    "the last pointer is 0": ([1.0] * 3, [0, 1, 2], [0, 1, 900, 0]),
    "a pointer falls": ([1.0] * 3, [0, 1, 2], [0, 2, 1, 3]),
    "more entries than are stored": ([1.0] * 3, [0, 1, 2], [0, 1, 2, 4]),
    "no pointer for a row": ([1.0] * 3, [0, 1, 2], [0, 1, 3]),
    "a column too far": ([1.0] * 3, [0, 1, 3], [0, 1, 2, 3]),
    "a column below 0": ([1.0] * 3, [0, -1, 2], [0, 1, 2, 3]),
    "a pointer near the end of the numbers": ([1.0] * 3, [0, 1, 2], [0, 2**62, -(2**62), 3]),
}


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("parts", BROKEN.values(), ids=BROKEN)
def test_every_public_function_refuses_a_broken_matrix(parts, form):
    broken = compressed(form, (3, 3), *parts)
    X = np.eye(3)
    y = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    doors = [
        lambda: graph.kneighbors(broken, 1),
        lambda: graph.kneighbors(X, 1, queries=broken),
        lambda: propagate(broken, y, 0.5),
        lambda: nmlsdr.MDDM().fit(broken, y),
        lambda: nmlsdr.MDDM().fit(X, broken),
        lambda: nmlsdr.MLkNN(1).fit(X, y).predict(broken),
        lambda: nmlsdr.NMLSDR(n_neighbors=1).fit(X, y, graph=broken),
    ]
    for door in doors:
        with pytest.raises(ValueError, match=r"broken CS[RC] matrix"):
            door()


# ---------------------------------------------------------------- the error names the column

DAY = datetime.datetime(2020, 5, 17)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"age": [1.0, 2.0], "Material": ["Holz", "Stein"]}, "column 'Material' holds text: 'Holz' in row 0"),
        ({"age": [1.0, 2.0], "note": [None, "old"]}, "column 'note' holds text: 'old' in row 1"),
        ({"age": [1.0, 2.0], "day": [DAY, DAY]}, "column 'day' holds dates"),
        ({"day": [DAY, DAY]}, "column 'day' holds dates"),
        ({"age": [1.0, 2.0], "stay": [DAY - DAY, DAY - DAY]}, "column 'stay' holds dates or times"),
        ({"age": [1.0, np.nan]}, "NaN or infinity in row 1, column 'age'"),
    ],
)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_an_error_names_the_column_of_a_data_frame_and_the_cell(table, words, library):
    frame = pytest.importorskip(library).DataFrame(table)
    with pytest.raises(nmlsdr.InputError, match=words) as error:
        check_rows(frame)
    assert "TableEncoder" in str(error.value) or "impute" in str(error.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1, "Holz"], [2, "Stein"]], "column 1 holds text: 'Holz' in row 0"),
        ([[1, 2], [DAY.date(), 3]], "column 0 holds dates: '2020-05-17' in row 1"),
        ([[1, np.datetime64("2020-05-17")]], "column 1 holds dates: '2020-05-17' in row 0"),
        ([[1, "2"], [3, "four"]], "column 1 holds text: 'four' in row 1"),
    ],
)
def test_an_error_names_the_column_of_an_object_array_and_the_cell(values, words):
    with pytest.raises(nmlsdr.InputError, match=words):
        check_rows(np.array(values, dtype=object))


def test_a_missing_value_of_pandas_is_named():
    with pytest.raises(nmlsdr.InputError, match="column 'age' holds missing values: '<NA>' in row 1"):
        check_rows(pd.DataFrame({"age": [1, pd.NA]}))
