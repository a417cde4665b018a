"""Many rows are swept in breadth-first order: the order equals its twin, and no answer feels it."""

import itertools

import numpy as np
import pytest
import reference
from propagation_cases import propagate_signed
from scipy import sparse
from scipy.sparse import csgraph

from nmlsdr import _propagation
from nmlsdr._checks.arguments import check_graph
from nmlsdr._process.threads import SIMD_LEVELS
from nmlsdr._solvers import system
from nmlsdr._solvers.system import System
from nmlsdr.graph import neighbor_graph
from nmlsdr.propagation import propagate


def ordered(W):
    """The order of the rows of W, and the component of each."""
    order, component = np.empty((2, W.shape[0]), np.int32)
    found = _propagation.breadth_first(W.indptr.astype(np.int64), W.indices.astype(np.int32), order, component)
    assert found == component.max() + 1
    return order, component


def every_graph(n):
    pairs = list(itertools.combinations(range(n), 2))
    for chosen in range(2 ** len(pairs)):
        W = np.zeros((n, n))
        for bit, (i, j) in enumerate(pairs):
            W[i, j] = W[j, i] = chosen >> bit & 1
        yield sparse.csr_array(W)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_order_of_every_graph_on_up_to_five_nodes(n):
    for W in every_graph(n):
        order, component = ordered(W)
        np.testing.assert_array_equal(order, reference.breadth_first(W.indptr, W.indices))
        np.testing.assert_array_equal(component, csgraph.connected_components(W, directed=False)[1])


def test_the_breadth_first_order_computed_by_hand():
    """0 - 3, 3 - 1 and 2 alone: 0 meets 3, 3 meets 1, and 2 begins anew."""
    W = sparse.csr_array(np.array([[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 0, 0]], float))
    assert ordered(W)[0].tolist() == [0, 3, 1, 2]


def data(rng, n=300, n_labels=35, weights="rbf"):
    """Two components, isolated rows, a component without a label, clamped rows; more labels than a batch takes."""
    X = rng.standard_normal((n, 3))
    X[-40:] += 50
    X[-6:] += 1e3
    W = sparse.lil_array(neighbor_graph(X, 5, edge_weights=weights, sigma=1.0))
    W[7, :] = W[:, 7] = 0
    labeled = rng.random(n) < 0.3
    labeled[:8], labeled[-6:] = True, False
    Y = rng.random((n, n_labels)) * labeled[:, None]
    return check_graph(sparse.csr_array(W)), Y, np.where(labeled, rng.choice([0, 1e-9, 0.6], n), 0.999), labeled


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("weights", ["binary", "rbf"])
def test_rows_in_order_keep_the_order_of_their_entries(rng, weights, n_threads, monkeypatch):
    monkeypatch.setattr(system, "ORDERED_ROWS", 1)
    W, Y, alpha, labeled = data(rng, weights=weights)
    ours = System(W, Y, alpha, labeled, n_threads)
    swept = ours.sweep_graph()
    monkeypatch.setattr(system, "ORDERED_ROWS", len(Y) + 1)
    given = ours.sweep_graph()
    place = np.argsort(swept.order)
    assert given.order is None
    assert not np.array_equal(swept.order, np.arange(len(Y)))
    for i, row in enumerate(swept.order):
        here, there = slice(*swept.indptr[i : i + 2]), slice(*given.indptr[row : row + 2])
        np.testing.assert_array_equal(swept.indices[here], place[given.indices[there]])
        for name in ("values", "sweep_values"):
            if weights == "rbf":
                np.testing.assert_array_equal(getattr(swept, name)[here], getattr(given, name)[there])
            else:
                assert len(getattr(swept, name)) == 0
    for name in ("h", "inverse_h"):
        np.testing.assert_array_equal(getattr(swept, name), getattr(given, name)[swept.order])
    for by_order, as_given in zip(ours.factors(order=swept.order), ours.factors(), strict=True):
        np.testing.assert_array_equal(by_order, as_given[swept.order])


@pytest.mark.filterwarnings("ignore:.*without a labelled row")
@pytest.mark.parametrize("per_entry", [False, True])
@pytest.mark.parametrize("weights", ["binary", "rbf"])
def test_results_do_not_depend_on_the_order(rng, weights, per_entry, monkeypatch):
    """Within rounding of the inner products; threads, SIMD and other labels beside change no bit of the ordered one."""
    W, Y, alpha, labeled = data(rng, weights=weights)
    if per_entry:
        alpha = np.where(rng.random(Y.shape) < 0.5, alpha[:, None], 0.9)
    plain = propagate(W, Y, alpha, labeled=labeled, solver="cg", tol=1e-10)
    monkeypatch.setattr(system, "ORDERED_ROWS", 1)
    one = propagate(W, Y, alpha, labeled=labeled, solver="cg", tol=1e-10, n_jobs=1)
    exact = reference.propagate(W.toarray(), Y, alpha, labeled)
    for result in (plain, one):
        assert result.residual <= 1e-10
        assert np.abs(result.F - exact).max() <= result.error_bound
    assert one.n_unreached == plain.n_unreached == 6
    start = propagate(W, Y, alpha, labeled=labeled, solver="cg", tol=1e-10, init=one.F)
    assert start.n_iter <= 2
    for n_jobs in (2, 3):
        again = propagate(W, Y, alpha, labeled=labeled, solver="cg", tol=1e-10, n_jobs=n_jobs)
        assert again.F.tobytes() == one.F.tobytes()
    some = [3, 34, 0]
    part = propagate(
        W, Y[:, some], alpha[:, some] if per_entry else alpha, labeled=labeled, solver="cg", tol=1e-10,
        callback=lambda _: None,
    )  # fmt: skip
    np.testing.assert_array_equal(part.F, one.F[:, some])
    monkeypatch.setenv("NMLSDR_SIMD", SIMD_LEVELS[0])
    again = propagate(W, Y, alpha, labeled=labeled, solver="cg", tol=1e-10)
    assert again.F.tobytes() == one.F.tobytes()


@pytest.mark.filterwarnings("ignore:.*without a labelled row")
def test_numbers_of_either_sign_in_order(rng, monkeypatch):
    monkeypatch.setattr(system, "ORDERED_ROWS", 1)
    W, Y, alpha, labeled = data(rng)
    signed = propagate_signed(W, 1000 * (Y - 0.5), alpha, labeled=labeled)
    exact = reference.propagate(W.toarray(), 1000 * (Y - 0.5), alpha, labeled)
    assert np.abs(signed.F - exact).max() <= signed.error_bound


def test_whether_a_graph_is_reordered_depends_on_its_number_of_rows_alone(rng, monkeypatch):
    """Or a label would depend on how many others are solved beside it."""
    W, Y, alpha, labeled = data(rng)
    for rows, is_ordered in ((len(Y), True), (len(Y) + 1, False)):
        monkeypatch.setattr(system, "ORDERED_ROWS", rows)
        for count in (1, 19):
            assert (System(W, Y[:, :count], alpha, labeled, 1).sweep_graph().order is not None) == is_ordered
