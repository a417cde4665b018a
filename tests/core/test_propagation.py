"""Propagation: properties of F first, then the closed form, then every kind of graph a user may give."""

import itertools

import numpy as np
import pytest
import reference
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from nmlsdr.graph import neighbor_graph, transition_matrix
from nmlsdr.propagation import propagate

SOLVERS = ["cg", "lu", "fixed_point"]


def residual(W, Y, alpha, F):
    """max |(I - A T) F - (I - A) Y|, from the definition."""
    alpha = np.broadcast_to(np.asarray(alpha, dtype=float), len(F))[:, None]
    return np.abs(F - alpha * (transition_matrix(W) @ F) - (1 - alpha) * Y).max()


def problem(rng, n=200, n_labels=5, *, share=0.3, weights="binary", k=5):
    X = rng.standard_normal((n, 4))
    W = neighbor_graph(X, k, edge_weights=weights)
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
    closed = reference.propagate(W, Y, alpha, labeled)
    assert result.solver == solver
    assert result.residual <= 1e-12
    assert residual(W, Y, alpha, result.F) <= 2e-12
    assert result.error_bound <= 1.1e-9  # 1e-12 / (1 - .999), and rounding
    # with .999 everywhere a label can come to that; where labelled rows hold on to theirs it stays far below
    atol = result.error_bound if alpha_labeled == 0.999 else 1e-10
    np.testing.assert_allclose(result.F, closed, rtol=0, atol=atol)
    assert result.F.min() >= 0
    assert result.F.max() <= 1
    if alpha_labeled == 0:
        np.testing.assert_array_equal(result.F[labeled], Y[labeled])


def test_not_converged_is_a_warning_with_the_residual(rng):
    W, Y, labeled = problem(rng)
    with pytest.warns(ConvergenceWarning, match="residual"):
        result = propagate(W, Y, np.where(labeled, 0.6, 0.999), labeled=labeled, max_iter=2)
    assert result.residual > 1e-8


# ---------------------------------------------------------------- graphs that a user may give


def as_matrix(W):
    return sparse.csr_matrix(W)


def with_long_indices(W):
    wide = sparse.csr_array(W.shape)
    wide.data = W.data
    wide.indices = W.indices.astype(np.int64)
    wide.indptr = W.indptr.astype(np.int64)
    return wide


def unsorted(W):
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in itertools.pairwise(W.indptr)])
    return sparse.csr_array((W.data[order], W.indices[order], W.indptr), shape=W.shape)


def with_loops(W):
    return sparse.csr_array(W + 5 * sparse.identity(W.shape[0]))


def split_entries(W):
    """Every weight stored as two halves."""
    coo = W.tocoo()
    halves = np.tile(coo.data / 2, 2)
    return sparse.coo_array((halves, (np.tile(coo.row, 2), np.tile(coo.col, 2))), shape=W.shape)


def read_only(W):
    for part in (W.data, W.indices, W.indptr):
        part.setflags(write=False)
    return W


def nearly_symmetric(W):
    W = W.copy()
    W.data[:7] *= 1 + 1e-13
    return W


FORMS = [
    as_matrix,
    with_long_indices,
    unsorted,
    with_loops,
    split_entries,
    read_only,
    nearly_symmetric,
    sparse.coo_array,
    sparse.csc_array,
    sparse.csr_array.toarray,
]


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("weights", ["binary", "rbf"])
def test_any_form_of_a_graph_gives_the_same_labels(rng, weights, form):
    W, Y, labeled = problem(rng, 60, weights=weights)
    alpha = np.where(labeled, 0.6, 0.999)
    plain = propagate(W, Y, alpha, labeled=labeled).F
    graph = form(W.copy())
    before = graph.copy()
    F = propagate(graph, Y, alpha, labeled=labeled).F
    # not quite equal weights make a binary graph a weighted one: other arithmetic, the same solution
    np.testing.assert_allclose(F, plain, rtol=0, atol=1e-7 if form is nearly_symmetric else 1e-14)
    assert abs(graph - before).max() == 0


def test_the_scale_of_the_weights_does_not_matter(rng):
    W, Y, labeled = problem(rng, 60, weights="rbf")
    plain = propagate(W, Y, 0.9, labeled=labeled).F
    for factor in (2.0**-1000, 2.0**1000):
        assert propagate(W * factor, Y, 0.9, labeled=labeled).F.tobytes() == plain.tobytes()


def test_explicit_zeros_are_no_edges():
    zeros = sparse.csr_array((np.array([1.0, 1.0, 0.0, 0.0]), np.array([1, 0, 2, 1]), np.array([0, 1, 3, 4])))
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        result = propagate(zeros, [[1.0], [0.0], [0.0]], [0.5, 0.999, 0.999])
    assert result.n_unreached == 1
    np.testing.assert_allclose(result.F, reference.propagate(zeros, [[1], [0], [0]], [0.5, 0.999, 0.999]), atol=1e-7)
    assert result.F[2, 0] == 0


@pytest.mark.parametrize(
    ("W", "message"),
    [
        ([[0.0, 1.0], [0.0, 0.0]], r"not symmetric .*W\.maximum\(W\.T\)"),
        ([[0.0, 1.0], [1.0 + 1e-9, 0.0]], "not symmetric"),
        ([[0.0, -1.0], [-1.0, 0.0]], "negative weight"),
        ([[0.0, np.nan], [np.nan, 0.0]], "NaN or infinite"),
        ([[0.0, np.inf], [np.inf, 0.0]], "NaN or infinite"),
        ([[0.0, 1.0]], "square"),
    ],
)
def test_wrong_graphs_are_refused(W, message):
    with pytest.raises(ValueError, match=message):
        propagate(W, [[1.0], [0.0]], 0.5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_isolated_clamped_and_unreached_rows(rng, solver):
    """Rows 0-3: a path; 4: isolated, labelled; 5-6: a pair without a label; 7: isolated, unlabelled."""
    W = np.zeros((8, 8))
    for i, j in ((0, 1), (1, 2), (2, 3), (5, 6)):
        W[i, j] = W[j, i] = 1
    Y = np.zeros((8, 2))
    Y[0] = [1, 0]
    Y[4] = [1, 1]
    labeled = np.isin(np.arange(8), (0, 3, 4))
    alpha = np.array([0, 0.999, 0.999, 1e-9, 0.3, 0.999, 0.5, 0.999])
    with pytest.warns(UserWarning, match="3 of 8 rows"):
        result = propagate(W, Y, alpha, labeled=labeled, solver=solver, tol=1e-12)
    assert result.n_unreached == 3
    np.testing.assert_array_equal(result.F[0], [1, 0])
    np.testing.assert_allclose(result.F[4], 0.7, rtol=1e-15)
    np.testing.assert_array_equal(result.F[5:], 0)
    np.testing.assert_allclose(result.F, reference.propagate(W, Y, alpha, labeled), rtol=0, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_propagation_without_rows_or_labels_returns_empty_arrays(solver):
    nothing = propagate(np.zeros((0, 0)), np.zeros((0, 2)), 0.5, solver=solver)
    assert (nothing.F.shape, nothing.residual) == ((0, 2), 0)
    no_labels = propagate([[0, 1], [1, 0]], np.zeros((2, 0)), 0.5, labeled=[True, False], solver=solver)
    assert (no_labels.F.shape, no_labels.residual) == ((2, 0), 0)
    with pytest.warns(UserWarning, match="2 of 2 rows"):
        nobody = propagate([[0, 1], [1, 0]], np.zeros((2, 3)), 0.5, solver=solver)
    assert not nobody.F.any()
    single_row = propagate([[0.0]], [[1.0]], 0.25, solver=solver)
    assert single_row.F.tolist() == [[0.75]]


def test_rbf_weights_that_underflow_leave_the_row_alone():
    """The last row hangs on weights of 1e-310 and less: its T row is what it is, and nothing overflows."""
    w = 1e-310
    W = np.array([[0, 1, 1, w], [1, 0, 1, 2 * w], [1, 1, 0, 0], [w, 2 * w, 0, 0]])
    result = propagate(W, [[1.0], [0], [0], [0]], [0.5, 0.9, 0.9, 0.9], tol=1e-10)
    assert np.isfinite(result.F).all()
    assert result.residual <= 1e-10
    assert result.F[3, 0] > 0.1  # rows 0 and 1 speak for it


# ---------------------------------------------------------------- labels, alpha, stopping, warm start


def test_values_in_unlabelled_rows_are_ignored(rng):
    W, Y, labeled = problem(rng, 60)
    marked = np.where(labeled[:, None], Y, -1)
    strange = np.where(labeled[:, None], Y, np.nan)
    plain = propagate(W, Y, 0.9, labeled=labeled).F
    for labels in (marked, strange, sparse.csr_array(Y)):
        assert propagate(W, labels, 0.9, labeled=labeled).F.tobytes() == plain.tobytes()
    with pytest.raises(ValueError, match=r"Y must lie in \[0, 1\].*labeled"):
        propagate(W, marked, 0.9)
    with pytest.raises(ValueError, match=r"Y must lie in \[0, 1\]"):
        propagate(W, strange, 0.9)


def test_a_row_of_zeros_can_be_labelled():
    W = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    Y = np.array([[1.0], [0], [0]])
    known = propagate(W, Y, [0, 0.9, 0], labeled=[True, False, True]).F
    unknown = propagate(W, Y, [0, 0.9, 0.9], labeled=[True, False, False]).F
    np.testing.assert_allclose(known[1:, 0], [0.45, 0])
    assert unknown[2, 0] > 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "amg"}, 'solver must be "auto", "cg", "lu" or "fixed_point"'),
        ({"tol": 0}, r"tol must be a number in \(0, inf\), got 0"),
        ({"tol": np.nan}, r"tol must be a number in \(0, inf\), got nan"),
        ({"tol": np.inf}, r"tol must be a number in \(0, inf\), got inf"),
        ({"tol": True}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1, got 0"),
        ({"max_iter": 2.5}, "max_iter must be an integer of at least 1, got 2.5"),
        ({"alpha": 1.0}, r"alpha must lie in \[0, 1\)"),
        ({"alpha": [0.5, np.nan]}, r"alpha must lie in \[0, 1\)"),
        ({"alpha": [0.5]}, "alpha must be"),
        ({"labeled": [1, 0]}, "labeled must be a boolean array"),
        ({"init": [[0.0]]}, "init must be a finite array"),
        ({"init": [[0.0], [np.nan]]}, "init must be a finite array"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"Y": [1.0, 0.0]}, "Y must have shape"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    arguments = {"W": [[0, 1], [1, 0]], "Y": [[1.0], [0.0]], "alpha": 0.5, **options}
    with pytest.raises(ValueError, match=message):
        propagate(**arguments)


@pytest.mark.parametrize("solver", ["cg", "fixed_point"])
def test_a_start_at_the_solution_needs_at_most_one_sweep(rng, solver):
    W, Y, labeled = problem(rng)
    alpha = np.where(labeled, 1e-9, 0.999)
    cold = propagate(W, Y, alpha, labeled=labeled, solver=solver)
    again = propagate(W, Y, alpha, labeled=labeled, solver=solver, init=cold.F)
    assert again.n_iter <= 1 < cold.n_iter
    anywhere = propagate(W, Y, alpha, labeled=labeled, solver=solver, init=rng.random(Y.shape))
    assert anywhere.residual <= 1e-8
    assert abs(anywhere.F - cold.F).max() <= anywhere.error_bound + cold.error_bound
    moved = Y.copy()
    moved[np.flatnonzero(labeled)[0]] = 1 - moved[np.flatnonzero(labeled)[0]]
    warm = propagate(W, moved, alpha, labeled=labeled, solver=solver, init=cold.F)
    assert warm.n_iter < propagate(W, moved, alpha, labeled=labeled, solver=solver).n_iter


@pytest.mark.parametrize("per_entry", [False, True])
@pytest.mark.parametrize("solver", ["cg", "fixed_point", "lu", "auto"])
def test_no_first_iterate_reaches_rows_that_no_label_reaches(solver, per_entry):
    """A ring of 150 rows with a label and one without: what init says there does not count."""
    ring = sparse.diags_array([np.ones(149), np.ones(149)], offsets=[1, -1]).tolil()
    ring[0, 149] = ring[149, 0] = 1.0
    W = sparse.block_diag([ring, ring], format="csr")
    Y = np.zeros((300, 1))
    Y[7] = 1.0
    labeled = np.arange(300) < 30
    alpha = np.full((300, 1), 0.9)
    alpha[::3] = 0.5
    with pytest.warns(UserWarning, match="150 of 300 rows"):
        F = propagate(
            W, Y, alpha if per_entry else alpha[:, 0], labeled=labeled, solver=solver, init=np.full((300, 1), 0.8)
        ).F
    assert (F[150:] == 0).all()
    assert (F[:150] > 0).all()


@pytest.mark.parametrize("alpha_labeled", [1e-300, 1e-30, 1e-9, 0.1])
def test_the_stopping_rule_holds_for_tiny_alpha(rng, alpha_labeled):
    """The relative residual of the symmetric system would stop 0.87 away at 1e-9."""
    W, Y, labeled = problem(rng)
    alpha = np.where(labeled, alpha_labeled, 0.999)
    closed = reference.propagate(W, Y, alpha, labeled)
    for init in (None, rng.random(Y.shape)):
        result = propagate(W, Y, alpha, labeled=labeled, tol=1e-10, init=init)
        assert residual(W, Y, alpha, result.F) <= 1.01e-10
        assert abs(result.F - closed).max() <= result.error_bound


@pytest.mark.parametrize("tol", [1e-17, 1e-18, 1e-30])
@pytest.mark.parametrize("solver", ["cg", "lu"])  # eq. (6) may end in a point that is fixed to the last bit
def test_a_tolerance_below_rounding_ends_with_a_warning(rng, solver, tol):
    """Once gave NaN: past the end of float64 the direction no longer fitted the residual."""
    W, Y, labeled = problem(rng)
    alpha = np.where(labeled, 0.6, 0.99)
    with pytest.warns(ConvergenceWarning, match="residual"):
        result = propagate(W, Y, alpha, labeled=labeled, tol=tol, solver=solver)
    assert 0 < result.residual < 1e-14
    assert residual(W, Y, alpha, result.F) < 1e-14


@pytest.mark.quick_cases("4-0.99999", "16-0.9-")
@pytest.mark.parametrize("alpha_labeled", [0, 1e-9, 0.1, 0.6, 0.999])
@pytest.mark.parametrize("alpha_unlabeled", [0.05, 0.9, 1 - 1e-5])
@pytest.mark.parametrize("every", [4, 16])
def test_conjugate_gradients_converge_on_a_graph_with_hubs(rng, monkeypatch, every, alpha_labeled, alpha_unlabeled):
    """The Toy set has a row with 5420 neighbours of 6000; with a stale direction kept it diverged, as this does."""
    monkeypatch.setattr("nmlsdr._solvers.conjugate_gradients.ROUND", every)
    n = 1500
    near = rng.integers(0, n, (n, 5))
    W = sparse.coo_array((np.ones(5 * n), (np.repeat(np.arange(n), 5), near.ravel())), shape=(n, n)).tolil()
    W[0, 1:] = W[1, 2 : n // 2] = 1
    W = sparse.csr_array(W.tocsr().maximum(W.tocsr().T))
    W.data[:] = 1
    labeled = rng.random(n) < 0.5
    Y = ((rng.random((n, 4)) < 0.3) & labeled[:, None]).astype(float)
    alpha = np.where(labeled, alpha_labeled, alpha_unlabeled)
    for tol in (1e-8, 1e-12):
        result = propagate(W, Y, alpha, labeled=labeled, tol=tol)
        assert residual(W, Y, alpha, result.F) <= 1.01 * tol
        assert result.n_iter < 100


def test_labels_leave_when_they_have_converged(rng):
    """Thirty-three labels, one of them hard: the others wait, and every label keeps its bits."""
    W, _, labeled = problem(rng, share=0.05)
    Y = np.zeros((len(labeled), 33))
    Y[np.flatnonzero(labeled)[0], 3] = 1
    alone = propagate(W, Y[:, [3]], 0.999, labeled=labeled)
    steps = []
    result = propagate(W, Y, 0.999, labeled=labeled, callback=steps.append)
    np.testing.assert_array_equal(result.F[:, [3]], alone.F)
    assert not np.delete(result.F, 3, axis=1).any()
    assert result.n_iter == alone.n_iter
    assert {step.n_done for step in steps} == {31, 32}  # all of the first batch but the hard one, until its end


@pytest.mark.parametrize("solver", SOLVERS)
def test_callback_sees_every_sweep_and_may_stop(rng, solver):
    W, Y, labeled = problem(rng)
    alpha = np.where(labeled, 0.6, 0.999)
    steps = []
    result = propagate(W, Y, alpha, labeled=labeled, solver=solver, callback=steps.append)
    assert [step.n_iter for step in steps] == list(range(1, result.n_iter + 1))
    assert steps[-1].residual <= 1e-8
    assert steps[0].n_labels == Y.shape[1]

    def stop(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        propagate(W, Y, alpha, labeled=labeled, solver=solver, callback=stop)
    assert propagate(W, Y, alpha, labeled=labeled, solver=solver).F.tobytes() == result.F.tobytes()
