"""TableScaler: features of variance 1, and blocks with a total variance."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nmlsdr import InputError
from nmlsdr.tables import TableScaler


@parametrize_with_checks([TableScaler()])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_without_blocks_it_is_a_standard_scaler(rng):
    X = np.column_stack([rng.normal(size=(50, 3)) * [1, 1e-3, 1e4] + 5, np.full(50, 0.1)])
    np.testing.assert_allclose(TableScaler().fit_transform(X), StandardScaler().fit_transform(X), atol=1e-12)
    X = sparse.random_array((60, 20), density=0.2, format="csr", rng=rng)
    expected = StandardScaler(with_mean=False).fit_transform(X)
    np.testing.assert_allclose(TableScaler().fit_transform(X).toarray(), expected.toarray())


def test_a_block_keeps_its_proportions_and_has_the_total_variance_of_its_weight(rng):
    X = rng.normal(size=(80, 10)) * np.arange(1, 11)
    for rows in (X, sparse.csr_array(X)):
        scaler = TableScaler((0, 4, 5, 10), (3.0, 0.5)).fit(rows)
        scaled = scaler.transform(rows)
        scaled = scaled.toarray() if sparse.issparse(scaled) else scaled
        variance = scaled.var(axis=0)
        np.testing.assert_allclose([variance[:4].sum(), variance[4], variance[5:].sum()], [3, 1, 0.5])
        assert len({*scaler.scale_[:4]}) == len({*scaler.scale_[5:]}) == 1


def test_sparse_features_stay_sparse_and_the_given_ones_unchanged(rng):
    X = sparse.random_array((60, 20), density=0.1, format="csr", rng=rng)
    before = X.copy()
    scaled = TableScaler((2, 20), (1.0,)).fit_transform(X)
    assert scaled.format == "csr"
    assert scaled.nnz == X.nnz
    np.testing.assert_array_equal(X.toarray(), before.toarray())


@pytest.mark.parametrize(
    ("blocks", "weights"),
    [((0, 4), ()), ((0,), (1.0,)), ((4, 2), (1.0,)), ((0, 11), (1.0,)), ((0, 5, 3, 8), (1.0, 1.0))],
)
def test_blocks_that_do_not_fit_are_refused(blocks, weights, rng):
    with pytest.raises(InputError, match="give two ascending numbers of features and one weight for each block"):
        TableScaler(blocks, weights).fit(rng.normal(size=(9, 10)))
