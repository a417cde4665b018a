"""The sweep of the dependence weights equals its plain twin bit for bit, and both equal numbers made by hand."""

import numpy as np
import pytest
import reference
from nmlsdr._dependence import dependence_sweep
from projections import draw_binary

from nmlsdr._projections.label_weights import entropy_weights


def problem(X, Y):
    """What both take: mean, the labels of each row, their equal shares, and A."""
    row, indices = np.nonzero(Y)
    indptr = np.searchsorted(row, np.arange(len(Y) + 1))
    W = entropy_weights(Y)
    mean = X.mean(axis=0, dtype=np.float64)
    return mean, indptr, indices.copy(), W[row, indices], np.ascontiguousarray(W.T @ (X - mean))


def sweep(X, visited, place, mean, indptr, indices, share, A):
    scratch = np.full(X.shape[1] + np.diff(indptr).max(initial=0), np.nan)
    return dependence_sweep(X, mean, visited, place, indptr, indices, share, A, scratch)


@pytest.mark.parametrize(
    "run",
    [
        sweep,
        lambda X, visited, place, mean, *arguments: reference.dependence_sweep(X, mean, visited, place, *arguments),
    ],
    ids=["kernel", "twin"],
)
def test_a_row_is_assigned_to_the_label_with_the_largest_gain(run):
    """Rows -1, -1, 1, 1, 1; the last carries both labels: A = (-1.5 + ..), by hand."""
    X = np.array([[-1.0], [-1.0], [0.0], [1.0], [1.0]])
    Y = np.array([[1.0, 0], [1, 0], [0, 0], [0, 1], [1, 1]])
    mean, indptr, indices, share, A = problem(X, Y)
    np.testing.assert_array_equal(A, [[-1.5], [1.5]])  # -1 - 1 + 1/2 and 1 + 1/2
    every = np.arange(5)
    # g = (-1.5 - 1/2, 1.5 - 1/2): the second label; it gains half a row and the first loses half a row
    assert run(X, every, every, mean, indptr, indices, share, A) == 1
    np.testing.assert_array_equal(share, [1, 1, 1, 0, 1])
    np.testing.assert_array_equal(A, [[-2.0], [2.0]])
    assert run(X, every, every, mean, indptr, indices, share, A) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 7, 8, 9, 40])
@pytest.mark.parametrize("kind", ["normal", "tied", "equal rows", "large offset"])
def test_the_sweep_equals_the_plain_implementation(rng, kind, n_features, dtype):
    X, Y = draw_binary(rng, 60, n_features, 6)
    if kind == "tied":
        X = rng.integers(-1, 2, X.shape).astype(float)
        Y = np.column_stack([Y, Y])
    elif kind == "equal rows":
        X[:] = X[0]
    elif kind == "large offset":
        X += 1e6
    X = X.astype(dtype)
    X.flags.writeable = False
    mean, indptr, indices, share, A = problem(X, Y)
    twin_share = share.copy()
    twin_A = A.copy()
    for _ in range(4):
        visited = rng.permutation(60)
        part = X[visited[:40]]  # the rows may also come as a gathered block
        changed = sweep(part, visited[:40], np.arange(40), mean, indptr, indices, share, A)
        changed += sweep(X, visited[40:], visited[40:], mean, indptr, indices, share, A)
        twin = reference.dependence_sweep(X, mean, visited, visited, indptr, indices, twin_share, twin_A)
        assert changed == twin
        np.testing.assert_array_equal(share, twin_share)
        np.testing.assert_array_equal(A, twin_A)
    sizes = np.diff(indptr)
    np.testing.assert_array_equal(np.add.reduceat(share, indptr[:-1][sizes > 0]), 1.0)


@pytest.mark.parametrize("n_features", [1, 7, 8, 15, 40])
def test_gains_are_folded_dot_products(rng, n_features):
    """The scratch space ends in the gains of the last row."""
    X = rng.standard_normal((2, n_features))
    Y = np.ones((2, 3))
    mean, indptr, indices, share, A = problem(X, Y)
    A[:] = rng.standard_normal(A.shape)
    x = X[1] - mean
    row = A.copy()
    w = share[3:].copy()
    scratch = np.empty(n_features + 3)
    dependence_sweep(X, mean, np.array([1]), np.array([1]), indptr, indices, share, A, scratch)
    expected = np.array([reference.dot(row[k], x) for k in range(3)]) - w * reference.dot(x, x)
    np.testing.assert_array_equal(scratch[n_features:], expected)


@pytest.mark.parametrize(("gain", "moves"), [(1e-9, True), (1e-14, False), (-1e-9, False)])
def test_a_gain_below_rounding_is_none(gain, moves):
    """g = (2 - 1, 1 + gain) for the row 1 that belongs to the first label."""
    A = np.array([[2.0], [1.0 + gain]])
    share = np.array([1.0, 0.0])
    row = np.array([0])
    assert sweep(np.ones((1, 1)), row, row, np.zeros(1), np.array([0, 2]), np.array([0, 1]), share, A) == moves


def test_a_sweep_without_rows_changes_nothing():
    X = np.ones((3, 2))
    none = np.empty(0, dtype=np.intp)
    mean, indptr, indices, share, A = problem(X, np.ones((3, 2)))
    assert sweep(X, none, none, mean, indptr, indices, share, A) == 0
    assert sweep(X[:, :0].copy(), np.arange(3), np.arange(3), mean[:0], indptr, indices, share, A[:, :0].copy()) == 0
