"""NMLSDR: the twin of the whole method, its attributes, the parameters of fit, invariance, degenerate input."""

import numpy as np
import pytest
import reference
from projections import assert_same_directions, draw_binary
from sklearn.exceptions import ConvergenceWarning

from nmlsdr import NMLSDR
from nmlsdr._moments import RowSums
from nmlsdr.projection import hsic_directions, hsic_projection


@pytest.fixture
def data(rng):
    """80 rows, 9 features, 4 labels with a tenth of the entries flipped; half of the rows unlabelled."""
    X, Y = draw_binary(rng, 80, 9, 4)
    Y = np.abs(Y - (rng.random(Y.shape) < 0.1))
    Y[40:] = -1
    return X, Y


def pair(model):
    return model.components_, model.eigenvalues_


def test_nmlsdr_equals_the_plain_implementation_of_the_whole_method(data):
    X, Y = data
    labeled = (Y != -1).any(axis=1)
    components, eigenvalues, F, _ = reference.nmlsdr(X, np.where(Y == -1, 0, Y), labeled, 3, n_neighbors=6)
    model = NMLSDR(3, n_neighbors=6, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(model.label_distributions_, F, atol=1e-10)
    assert_same_directions(pair(model), (components, eigenvalues), 1e-8)


def test_projects_half_hard_labels(data):
    X, Y = data
    model = NMLSDR().fit(X, Y)
    half_hard = np.where(Y == -1, model.label_distributions_, model.transduction_)
    directions = hsic_directions(RowSums(X), half_hard)
    assert_same_directions(pair(model), (directions.components, directions.eigenvalues), 1e-12)


def test_dependence_ratio_is_the_share_of_all_eigenvalues(data):
    X, Y = data
    every = NMLSDR().fit(X, Y)
    assert every.dependence_ratio_.sum() == pytest.approx(1.0)
    assert (np.diff(every.dependence_ratio_) <= 0).all()
    expected = every.eigenvalues_ / every.eigenvalues_.sum()
    np.testing.assert_allclose(every.dependence_ratio_, expected)
    for solver in ("svd", "eigsh"):
        first = NMLSDR(2, eigen_solver=solver).fit(X, Y)
        np.testing.assert_allclose(first.dependence_ratio_, expected[:2])


def test_wrong_labels_are_outvoted():
    """Two far groups; one row of each carries the other's label."""
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(50, 51, 20)])[:, None]
    Y = np.repeat([[1, 0], [0, 1]], 20, axis=0)
    Y[5] = [0, 1]
    Y[30] = [1, 0]
    flips = NMLSDR(n_neighbors=6, alpha_labeled=0.9).fit(X, Y).label_flips_
    np.testing.assert_array_equal(np.flatnonzero(flips.any(axis=1)), [5, 30])
    assert not NMLSDR(n_neighbors=6, alpha_labeled=0.0).fit(X, Y).label_flips_.any()


# ---------------------------------------------------------------- parameters of fit


def test_neighbour_transformers_propose_the_graph(data):
    from sklearn.neighbors import KNeighborsTransformer

    X, Y = data
    plugin = KNeighborsTransformer(n_neighbors=20)
    model = NMLSDR(n_neighbors=6, neighbors=plugin).fit(X, Y)
    np.testing.assert_array_equal(model.components_, NMLSDR(n_neighbors=6).fit(X, Y).components_)
    assert not hasattr(plugin, "n_samples_fit_")


# ---------------------------------------------------------------- storage, threads, invariance


def test_float32_rows_give_a_float32_embedding(data):
    X, Y = data
    single = X.astype(np.float32)
    model = NMLSDR().fit(single, Y)
    assert model.components_.dtype == model.transform(single).dtype == np.float32
    assert model.label_distributions_.dtype == np.float64
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-6)
    double = NMLSDR().fit(single.astype(float), Y)
    np.testing.assert_array_equal(model.label_distributions_, double.label_distributions_)
    assert_same_directions(pair(model), pair(double), 1e-6)


def test_where_propagation_leaves_one_hard_label_the_soft_ones_are_projected(rng):
    X = rng.standard_normal((12, 3))
    Y = np.tile([[1], [0]], (6, 1))
    with pytest.warns(UserWarning, match="rounded, are the same on all rows, so soft labels are projected"):
        model = NMLSDR(n_neighbors=11, alpha_labeled=(0.99, 0.0)).fit(X, Y)
    assert np.ptp(model.transduction_) == 0
    assert_same_directions(pair(model), hsic_projection(X, model.label_distributions_), 1e-12)
    with pytest.raises(ValueError, match="no dependence"):
        NMLSDR(n_neighbors=11).fit(X, np.ones_like(Y))


# ---------------------------------------------------------------- degenerate input


def test_components_without_a_label_are_counted(rng):
    X = np.concatenate([rng.standard_normal((20, 2)), 100 + rng.standard_normal((20, 2))])
    Y = (X[:, :1] > 0).astype(int)
    Y[20:] = -1
    with pytest.warns(UserWarning, match="20 of 40 rows lie in components"):
        model = NMLSDR(n_neighbors=5).fit(X, Y)
    assert model.n_unreached_ == 20
    assert not model.label_distributions_[20:].any()


def test_too_few_iterations_warn_with_the_residual(data):
    with pytest.warns(ConvergenceWarning, match="residual"):
        model = NMLSDR(max_iter=1, propagation_solver="cg").fit(*data)
    assert model.residual_ > 1e-8
    assert model.n_iter_ == 1


def test_impossible_input_raises_a_clear_error(data):
    X, Y = data
    for parameters, message in [
        ({"propagation_solver": "qr"}, '^propagation_solver must be "auto", "cg", "lu" or "fixed_point", got .qr.[.]$'),
        ({"eigen_solver": "qr"}, '^eigen_solver must be "auto", "eigsh" or "svd", got .qr.[.]$'),
        ({"tol": 0}, "tol must be"),
        ({"neighbors": "fast"}, "neighbors must be"),
        ({"n_neighbors": 0}, "n_neighbors must be"),
        ({"edge_weights": "gauss"}, "edge_weights must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            NMLSDR(**parameters).fit(X, Y)


def test_components_above_the_rank_are_cut_with_a_warning(data):
    X, Y = data
    Y[:, 3] = Y[:, 2]
    with pytest.warns(UserWarning, match="numerical rank 3"):
        model = NMLSDR(4).fit(X, Y)
    assert model.transform(X).shape == (80, 3)
    assert model.effective_rank_ == 3


# ---------------------------------------------------------------- the transformer API
