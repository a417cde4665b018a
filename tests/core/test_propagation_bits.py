"""Threads, SIMD levels and other labels beside change no bit of a label; the answers are those of the closed form."""

import numpy as np
import pytest
import reference
from propagation_cases import propagate_signed
from scipy import sparse

from nmlsdr._checks.arguments import check_graph
from nmlsdr._process.threads import SIMD_LEVELS
from nmlsdr.graph import neighbor_graph
from nmlsdr.propagation import propagate


def data(rng, n=300, n_labels=35, weights="rbf"):
    """Two components, isolated rows, a component without a label, clamped rows; more labels than a batch takes."""
    X = rng.standard_normal((n, 3))
    X[-40:] += 50
    X[-6:] += 1e3
    W = sparse.lil_array(neighbor_graph(X, 5, edge_weights=weights, sigma=1.0))
    W[7, :] = W[:, 7] = 0
    labeled = rng.random(n) < 0.3
    labeled[:8] = True
    labeled[-6:] = False
    Y = rng.random((n, n_labels)) * labeled[:, None]
    return check_graph(sparse.csr_array(W)), Y, np.where(labeled, rng.choice([0, 1e-9, 0.6], n), 0.999), labeled


@pytest.mark.filterwarnings("ignore:.*without a labelled row")
@pytest.mark.parametrize("per_entry", [False, True])
@pytest.mark.parametrize("weights", ["binary", "rbf"])
def test_results_are_those_of_one_thread_alone(rng, weights, per_entry, monkeypatch):
    W, Y, alpha, labeled = data(rng, weights=weights)
    if per_entry:
        alpha = np.where(rng.random(Y.shape) < 0.5, alpha[:, None], 0.9)
    single_thread = propagate(W, Y, alpha, labeled=labeled, solver="cg", tol=1e-10, n_jobs=1)
    exact = reference.propagate(W.toarray(), Y, alpha, labeled)
    assert single_thread.residual <= 1e-10
    assert np.abs(single_thread.F - exact).max() <= single_thread.error_bound
    assert single_thread.n_unreached == 6
    start = propagate(W, Y, alpha, labeled=labeled, solver="cg", tol=1e-10, init=single_thread.F)
    assert start.n_iter <= 2
    for n_jobs in (2, 3):
        again = propagate(W, Y, alpha, labeled=labeled, solver="cg", tol=1e-10, n_jobs=n_jobs)
        assert again.F.tobytes() == single_thread.F.tobytes()
    label_subset = [3, 34, 0]
    part = propagate(
        W,
        Y[:, label_subset],
        alpha[:, label_subset] if per_entry else alpha,
        labeled=labeled,
        solver="cg",
        tol=1e-10,
        callback=lambda _: None,
    )
    np.testing.assert_array_equal(part.F, single_thread.F[:, label_subset])
    monkeypatch.setenv("NMLSDR_SIMD", SIMD_LEVELS[0])
    again = propagate(W, Y, alpha, labeled=labeled, solver="cg", tol=1e-10)
    assert again.F.tobytes() == single_thread.F.tobytes()


@pytest.mark.filterwarnings("ignore:.*without a labelled row")
def test_numbers_of_either_sign_are_those_of_the_closed_form(rng):
    W, Y, alpha, labeled = data(rng)
    signed = propagate_signed(W, 1000 * (Y - 0.5), alpha, labeled=labeled)
    exact = reference.propagate(W.toarray(), 1000 * (Y - 0.5), alpha, labeled)
    assert np.abs(signed.F - exact).max() <= signed.error_bound
