"""kappa: what it is by hand and by permutation, what leaves it unchanged, and input that holds next to nothing."""

from itertools import permutations

import numpy as np
import pytest
import reference
from scipy import sparse

from nmlsdr.projection import feature_weights


def draw(rng, l=40, D=12, C=3):
    X = rng.standard_normal((l, D))
    Y = (X[:, :C] + rng.standard_normal((l, C)) > 0).astype(float)
    return X, Y


def test_feature_weights_computed_by_hand():
    # Yc = (-1, -1, 1, 1) / 2, |Yc|^2 = 1; features: orthogonal to it, twice it, and (3, 1, -1, -3) / 2 centred
    X = np.array([[0.0, 0.0, 3.0], [1.0, 0.0, 2.0], [0.0, 2.0, 1.0], [1.0, 2.0, 0.0]])
    # h = 0, 4, 4;  |Xc_j|^2 = 1, 4, 5;  h0 = |Xc_j|^2 / 3
    np.testing.assert_allclose(feature_weights(X, [[0], [0], [1], [1]]), [0, 1 - 1 / 3, 1 - 5 / 12], atol=1e-15)


def test_chance_is_the_mean_over_all_permutations_of_the_labels(rng):
    X, Y = draw(rng, 6, 4, 2)
    Xc = X - X.mean(axis=0)
    h0 = np.mean([np.sum((Xc.T @ (Y[list(p)] - Y.mean(axis=0))) ** 2, axis=1) for p in permutations(range(6))], axis=0)
    h = np.sum((Xc.T @ (Y - Y.mean(axis=0))) ** 2, axis=1)
    np.testing.assert_allclose(feature_weights(X, Y), np.maximum(0, 1 - h0 / h), atol=1e-12)


def test_feature_weights_equal_the_plain_implementation(rng):
    X, Y = draw(rng)
    kappa = feature_weights(X, Y)
    assert ((kappa >= 0) & (kappa < 1)).all()
    assert kappa[:3].min() > 0.1  # what the labels were made from
    np.testing.assert_allclose(kappa, reference.feature_weights(X, Y), atol=1e-13)


@pytest.mark.parametrize("layout", [np.asfortranarray, sparse.csr_array, sparse.csc_matrix])
def test_storage_does_not_matter(rng, layout):
    X, Y = draw(rng)
    X[rng.random(X.shape) < 0.5] = 0.0
    np.testing.assert_allclose(feature_weights(layout(X), Y), feature_weights(X, Y), atol=1e-13)
    np.testing.assert_allclose(feature_weights(X, sparse.csr_array(Y)), feature_weights(X, Y), atol=0)


def test_scale_shift_and_order_do_not_matter(rng):
    X, Y = draw(rng)
    kappa = feature_weights(X, Y)
    scale = 10.0 ** rng.uniform(-3, 3, X.shape[1])
    np.testing.assert_allclose(feature_weights(X * scale, Y), kappa, atol=1e-13)
    shifted = feature_weights(X + 1e6, Y)
    np.testing.assert_allclose(shifted, np.where(shifted > 0, kappa, 0.0), atol=1e-8)
    assert (kappa[shifted == 0] < 1e-4).all()  # so little dependence can be rounding after the shift
    np.testing.assert_allclose(feature_weights(X * 1e148, Y), kappa, atol=1e-13)
    rows, columns, labels = (rng.permutation(n) for n in (*X.shape, Y.shape[1]))
    moved = feature_weights(X[rows][:, columns], Y[rows][:, labels])
    np.testing.assert_allclose(moved, kappa[columns], atol=1e-13)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_constant_features_and_constant_labels_have_weight_0(rng, layout):
    X, Y = draw(rng)
    # the mean of .1 is not .1: rounding must not pass for dependence
    X[:, 4] = 0.1
    X[:, 5] = 0.0
    assert (feature_weights(layout(X), Y)[4:6] == 0).all()
    assert (feature_weights(layout(X), np.ones_like(Y)) == 0).all()
    assert (feature_weights(layout(X[:1]), Y[:1]) == 0).all()
    assert (feature_weights(layout(np.repeat(X[:1], 7, axis=0)), Y[:7]) == 0).all()


def test_wide_sparse_rows_stay_sparse(rng):
    X = sparse.random_array((300, 50_000), density=1e-3, random_state=rng, format="csr")
    Y = (rng.random((300, 4)) < 0.3).astype(float)
    kappa = feature_weights(X, Y)
    assert kappa.shape == (50_000,)
    first_features = np.r_[0:200]
    np.testing.assert_allclose(kappa[first_features], reference.feature_weights(X[:, first_features], Y), atol=1e-12)


def test_bad_input_raises_a_clear_error():
    with pytest.raises(ValueError, match="Y must have 2 rows, as X has"):
        feature_weights([[0.0], [1.0]], [[0], [1], [1]])
    with pytest.raises(ValueError, match="X contains NaN"):
        feature_weights([[np.nan], [1.0]], [[0], [1]])


@pytest.mark.parametrize("known", [None, np.ones((2, 3), bool)])
def test_two_rows_show_no_dependence_beyond_chance(rng, known):
    """There h_j and h0_j are equal, and what rounding leaves of their difference would weigh the features."""
    for _ in range(100):
        assert not feature_weights(rng.standard_normal((2, 20)), np.array([[1, 0, 1], [0, 0, 1]]), known=known).any()


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [1.0, 0.1, 1e3])
def test_a_feature_that_is_constant_over_the_known_rows_of_every_label_weighs_nothing(rng, layout, value):
    """Two hospitals, each of which labels its own codes: the feature that tells them apart says nothing of a label."""
    for _ in range(30):
        a = int(rng.integers(10, 50))
        X = rng.standard_normal((60, 4))
        X[:, 0] = value * (np.arange(60) >= a)
        Y = (rng.random((60, 2)) < 0.4).astype(float)
        known = np.zeros((60, 2), dtype=bool)
        known[:a, 0] = known[a:, 1] = True
        kappa = feature_weights(layout(X), Y, known=known)
        assert kappa[0] == 0
        np.testing.assert_allclose(kappa, reference.feature_weights(X, Y, known), atol=1e-10)


def test_two_similar_sparse_rows_show_no_dependence_beyond_chance(rng):
    """Without centring, a sum of squares of near numbers keeps few digits, and what is lost would be dependence."""
    for _ in range(100):
        X = 5.0 + 1e-4 * rng.standard_normal((2, 13))
        assert not feature_weights(sparse.csr_array(X), [[0], [1]]).any()
        assert not feature_weights(X, [[0], [1]]).any()
        label_columns = np.zeros((2, 40))  # multiplied as a sparse matrix, which is not centred
        label_columns[1, 3] = 1
        assert not feature_weights(sparse.csr_array(X), label_columns).any()


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_a_large_mean_does_not_reduce_the_dependence(rng, layout):
    X, Y = draw(rng)
    np.testing.assert_allclose(feature_weights(layout(X + 1e3), Y), feature_weights(X, Y), atol=1e-9)


def test_labels_without_a_known_entry_have_no_effect(rng):
    X, Y = draw(rng)
    known = rng.random(Y.shape) < 0.7
    known[:, 1] = False
    weights_of_known_labels = feature_weights(X, Y[:, [0, 2]], known=known[:, [0, 2]])
    np.testing.assert_allclose(feature_weights(X, Y, known=known), weights_of_known_labels, rtol=1e-12)
    assert not feature_weights(X, Y, known=np.zeros_like(known)).any()
