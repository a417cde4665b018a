"""Propagation: properties of F first, then the closed form, then every kind of graph a user may give."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nmlsdr import _reference
from nmlsdr.graph import neighbor_graph, transition_matrix
from nmlsdr.propagation import propagate

SOLVERS = ["cg", "lu", "fixed_point"]


def residual(W, Y, alpha, F):
    """max |(I - A T) F - (I - A) Y|, from the definition."""
    alpha = np.broadcast_to(np.asarray(alpha, dtype=float), len(F))[:, None]
    return np.abs(F - alpha * (transition_matrix(W) @ F) - (1 - alpha) * Y).max()


def problem(rng, n=200, n_labels=5, *, share=0.3, weights="binary", k=5):
    X = rng.standard_normal((n, 4))
    W = neighbor_graph(X, k, weights=weights)
    labeled = rng.random(n) < share
    labeled[0] = True
    Y = ((rng.random((n, n_labels)) < 0.3) & labeled[:, None]).astype(float)
    return W, Y, labeled


@pytest.mark.parametrize("weights", ["binary", "rbf"])
@pytest.mark.parametrize("alpha_labeled", [0, 1e-9, 1e-3, 0.6, 0.999])
@pytest.mark.parametrize("solver", SOLVERS)
def test_equals_the_closed_form(rng, solver, alpha_labeled, weights):
    W, Y, labeled = problem(rng, weights=weights)
    alpha = np.where(labeled, alpha_labeled, 0.999)
    result = propagate(W, Y, alpha, labeled=labeled, solver=solver, tol=1e-12)
    closed = _reference.propagate(W, Y, alpha, labeled)
    assert result.solver == solver
    assert result.residual <= 1e-12
    assert residual(W, Y, alpha, result.F) <= 2e-12
    np.testing.assert_allclose(result.F, closed, rtol=0, atol=1e-10)
    assert result.F.min() >= 0
    assert result.F.max() <= 1
    if alpha_labeled == 0:
        np.testing.assert_array_equal(result.F[labeled], Y[labeled])


def test_not_converged_is_a_warning_with_the_residual(rng):
    W, Y, labeled = problem(rng)
    with pytest.warns(ConvergenceWarning, match="residual"):
        result = propagate(W, Y, np.where(labeled, 0.6, 0.999), labeled=labeled, max_iter=2)
    assert result.residual > 1e-8
