"""Sums over the rows where labels are known: sets of labels, and the sums of many sets from one pass."""

import numpy as np
import pytest
from scipy import sparse

from nmlsdr import _label_sums
from nmlsdr._label_sums import equal_columns, label_sets
from nmlsdr._moments import RowSums


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32])
def test_labels_are_in_one_set_where_they_are_known_on_the_same_rows(rng, form):
    X = rng.normal(size=(12, 7))
    Y = (rng.random((12, 5)) < 0.4).astype(float)
    known = rng.random((12, 5)) < 0.5
    known[:, 3] = known[:, 0]
    known[:, 2] = False
    sets = label_sets(RowSums(form(X)), Y, known)
    assert sorted(each.labels.tolist() for each in sets) == [[0, 3], [1], [2], [4]]
    for each in sets:
        assert (known[:, each.labels] == each.known[:, None]).all()
        rows = X[each.known]
        labels = Y[np.ix_(each.known, each.labels)]
        centred = rows - rows.mean(axis=0) if len(rows) else rows
        np.testing.assert_allclose(each.moment, centred.T @ labels, atol=1e-6)
        np.testing.assert_allclose(each.squares, (centred**2).sum(axis=0), atol=1e-6)
        assert each.count == max(1, len(rows))


@pytest.mark.parametrize("dtype", [bool, np.float64])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (5, 1), (1, 9), (9, 40)])
def test_equal_columns_are_those_that_numpy_finds(rng, dtype, shape):
    values = rng.integers(0, 2, shape).astype(dtype)
    for form in (values, np.asfortranarray(values), np.repeat(values, 2, axis=1)[:, ::2]):
        kinds = equal_columns(form)
        expected = np.unique(values, axis=1, return_inverse=True)[1].ravel() if values.size else np.zeros(shape[1], int)
        assert sorted(np.concatenate([*kinds, []])) == list(range(shape[1]))
        for columns in kinds:
            assert (np.diff(columns) > 0).all()
            assert len(set(expected[columns])) == 1
        assert len(kinds) == len(set(expected))


def float32_csr(X):
    return sparse.csr_array(X.astype(np.float32))


def assert_same_sums(sets, expected):
    for each, label_set in zip(sets, expected, strict=True):
        assert each.labels.tolist() == label_set.labels.tolist()
        assert each.count == label_set.count
        np.testing.assert_array_equal(each.known, label_set.known)
        np.testing.assert_array_equal(each.squares == 0, label_set.squares == 0)
        assert not each.moment[label_set.squares == 0].any()
        if label_set.label_squares == 0:
            assert not each.moment.any()
        np.testing.assert_allclose(each.label_mean, label_set.label_mean, rtol=1e-14)
        np.testing.assert_allclose(each.label_squares, label_set.label_squares, rtol=1e-12)
        np.testing.assert_allclose(each.mean, label_set.mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(each.squares, label_set.squares, rtol=1e-7)
        scale = np.sqrt(label_set.squares[:, None] * label_set.label_squares)
        assert (np.abs(each.moment - label_set.moment) <= 1e-10 * scale).all()


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array, float32_csr])
@pytest.mark.parametrize("seed", range(4))
def test_sums_of_many_sets_by_products_are_those_of_the_rows_of_each(monkeypatch, form, offset, seed):
    """Constant features and labels, features that are constant where a label is known, labels known nowhere."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 9)) * 10.0 ** rng.integers(-3, 4, 9)
    X[:, 3:5] = rng.random((60, 2)) < 0.05
    X[:, 5] = 0.1
    X[:, 6] = 0.0
    X[:, 7] = np.arange(60) == 0
    X[:, 8] = np.where(np.arange(60) < 30, 1e3 + 0.05 * X[:, 8] / np.abs(X[:, 8]).max(), -1e3)
    X = form(X + offset * (np.arange(9) % 2))
    Y = (rng.random((60, 30)) < 0.3).astype(float)
    Y[:, 4] = 1.0
    Y[:, 5] = 0.1
    known = rng.random(Y.shape) < rng.uniform(0.05, 0.95, 30)
    known[:, 1] = known[:, 0]
    known[:, 2] = False
    known[:, 3] = np.arange(60) < 1
    known[30:, 6] = False
    Y = np.where(known, Y, rng.random(Y.shape))
    sets = label_sets(RowSums.of(X), Y, known)
    monkeypatch.setattr(_label_sums, "_SETS_AT_ONCE", 7)
    in_parts = label_sets(RowSums.of(X), Y, known)
    monkeypatch.setattr(_label_sums, "_MANY_SETS", 100)
    dense = X.toarray() if sparse.issparse(X) else X
    expected = label_sets(RowSums.of(dense.astype(np.float64)), Y, known)
    assert_same_sums(sets, expected)
    assert_same_sums(in_parts, expected)


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_sums_of_sparse_rows_need_no_second_pass(rng, monkeypatch, offset):
    """Words that no row of a label has, and features that are the same in all rows, are no reason to."""
    X = sparse.random_array((80, 40), density=0.1, rng=rng, format="csr")
    X = sparse.csr_array(sparse.hstack([X, np.full((80, 1), 0.1), X[:, :1].toarray() + offset]))
    known = rng.random((80, 20)) < 0.5

    def fail(*arguments):
        raise AssertionError("a second pass")

    Y = (rng.random((80, 20)) < 0.4).astype(float)
    monkeypatch.setattr(_label_sums, "_label_set", fail)
    for each in label_sets(RowSums.of(X), Y, known):
        assert each.squares[40] == 0
        dense = X.toarray()[each.known]
        np.testing.assert_allclose(each.mean, dense.mean(axis=0), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(
            each.squares, ((dense - dense.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-10, atol=1e-13
        )
