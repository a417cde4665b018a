"""NMLSDR on shrunken features: the twin, no change without shrinkage, and labels that say nothing."""

import numpy as np
import pytest
import reference
from projections import assert_same_directions
from scipy import sparse

from nmlsdr import NMLSDR
from nmlsdr._label_sums import label_sets
from nmlsdr._moments import RowSums
from nmlsdr._ridge import cross_fit
from nmlsdr.graph import neighbor_graph
from nmlsdr.projection import feature_weights, hsic_projection, kappa_of_sets
from nmlsdr.propagation import propagate


def test_no_shrinkage_is_the_article_to_the_bit(data):
    X, Y, _ = data
    model = NMLSDR().fit(X, Y)
    known = Y[:, 0] != -1
    F = propagate(neighbor_graph(X), np.where(Y == -1, 0, Y), np.where(known, 0.6, 0.999), labeled=known).F
    components, eigenvalues = hsic_projection(X, np.where(known[:, None], F > 0.5, F))
    np.testing.assert_array_equal(model.label_distributions_, F)
    np.testing.assert_array_equal(model.components_, components)
    np.testing.assert_array_equal(model.eigenvalues_, eigenvalues)
    np.testing.assert_array_equal(model.feature_weights_, np.ones(12))
    assert model.shrinkage_ == 0


@pytest.mark.usefixtures("rows_as_they_stand")
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("b", [0.5, 1.0])
def test_shrinkage_equals_the_plain_implementation(data, b, layout):
    X, Y, _ = data
    known = Y[:, 0] != -1
    components, eigenvalues, F, _ = reference.nmlsdr(X, np.where(Y == -1, 0, Y), known, 3, 6, shrinkage=b)
    model = NMLSDR(3, shrinkage=b, n_neighbors=6, tol=1e-12).fit(layout(X), Y)
    np.testing.assert_allclose(model.label_distributions_, F, atol=1e-10)
    assert_same_directions((model.components_, model.eigenvalues_), (components, eigenvalues), 1e-8)
    np.testing.assert_allclose(model.feature_weights_, 1 - b * (1 - feature_weights(X[known], Y[known])), atol=1e-12)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(model.transform(layout(X)), (X - X.mean(axis=0)) @ model.components_.T, atol=1e-7)


@pytest.mark.usefixtures("rows_as_they_stand")
def test_cv_uses_the_shrinkage_that_the_labelled_rows_choose(data):
    X, Y, _ = data
    model = NMLSDR(shrinkage="cv").fit(X, Y)
    chosen = cross_fit(X[:45], Y[:45]).shrinkage
    assert model.shrinkage_ == chosen
    np.testing.assert_array_equal(model.components_, NMLSDR(shrinkage=chosen).fit(X, Y).components_)


def test_a_dropped_feature_has_no_effect(data):
    X, Y, _ = data
    model = NMLSDR(shrinkage=1.0).fit(X, Y)
    noise = np.flatnonzero(model.feature_weights_ == 0)
    assert len(noise)
    assert not model.components_[:, noise].any()
    elsewhere = X.copy()
    elsewhere[45:, noise] *= 100  # of unlabelled rows: kappa does not see them
    again = NMLSDR(shrinkage=1.0).fit(elsewhere, Y)
    np.testing.assert_array_equal(again.label_distributions_, model.label_distributions_)


def test_float32_rows_give_float32_results(data):
    X, Y, _ = data
    single = NMLSDR(shrinkage=1.0).fit(X.astype(np.float32), Y)
    assert single.components_.dtype == np.float32
    np.testing.assert_allclose(single.components_, NMLSDR(shrinkage=1.0).fit(X, Y).components_, atol=1e-4)


@pytest.mark.filterwarnings("ignore:.* no known 0")
def test_labels_by_chance_shrink_nothing(rng):
    X = rng.standard_normal((6, 3))
    X[:4] -= X[:4].mean(axis=0)
    Y = np.array([[1, 0], [1, 0], [1, 0], [1, 0], [-1, -1], [-1, -1]])  # no label varies on the labelled rows
    with pytest.warns(UserWarning, match="No feature depends on the labels more than expected by chance"):
        model = NMLSDR(shrinkage=1.0, n_neighbors=2).fit(X, Y)
    np.testing.assert_array_equal(model.feature_weights_, np.ones(3))


def test_one_labelled_row_shrinks_nothing(rng):
    X = rng.standard_normal((6, 3))
    Y = np.full((6, 2), -1)
    Y[0] = 1, 0
    with pytest.warns(UserWarning, match="One labelled row shows no dependence"):
        model = NMLSDR(shrinkage=0.5, n_neighbors=2).fit(X, Y)
    np.testing.assert_array_equal(model.feature_weights_, np.ones(3))
    with pytest.warns(UserWarning, match="One labelled row cannot be left out"):
        assert NMLSDR(shrinkage="cv", n_neighbors=2).fit(X, Y).shrinkage_ == 0


@pytest.mark.parametrize("bad", ["auto", -0.1, 1.5, None, True])
def test_bad_shrinkage_raises_a_clear_error(data, bad):
    with pytest.raises(ValueError, match='shrinkage, if not "cv", must be a number in'):
        NMLSDR(shrinkage=bad).fit(*data[:2])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_constant_feature_has_no_moment(form):
    """Not even rounding noise, which the ridge regression would take for a trend: no sum of 0.1 is exact."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(23, 0.1), rng.standard_normal(23)])
    (label_set,) = label_sets(RowSums(form(X)), rng.integers(0, 2, (23, 3)).astype(float))
    assert (label_set.moment[0] == 0).all()
    assert kappa_of_sets([label_set], 2)[0] == 0
    assert (label_set.moment[1] != 0).all()
