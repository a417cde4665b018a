"""Alpha and known entries for each label: the closed form per label, the twins' bits, the path of rows unchanged."""

import numpy as np
import pytest
import reference
from propagation_cases import expanded, kernels, propagate_signed, sweep, upper
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from nmlsdr import _graph
from nmlsdr._checks.arguments import check_graph
from nmlsdr._solvers.system import System
from nmlsdr.graph import neighbor_graph
from nmlsdr.propagation import propagate

SOLVERS = ["auto", "cg", "lu", "fixed_point"]
ROWS = [30, 150]  # auto eliminates up to 100 rows, and iterates on more
unreached = pytest.mark.filterwarnings("ignore:.*without a labelled row")


def problem(rng, n, share, *, n_labels=19, weights="binary"):
    """Holes in the labels, mixed alphas (some 0), an isolated row, a component apart, a column without an entry."""
    X = rng.standard_normal((n, 3))
    X[-6:] += 1e3
    W = sparse.lil_array(neighbor_graph(X, 4, edge_weights=weights, sigma=1.0))
    W[5, :] = W[:, 5] = 0
    known = rng.random((n, n_labels)) < share
    known[:, 3] = False
    Y = np.where(known, (rng.random((n, n_labels)) < 0.4) * rng.choice([0.3, 1], (n, n_labels)), -1.0)
    alpha = np.where(known, rng.choice([0, 1e-30, 1e-9, 0.1, 0.6], (n, n_labels)), 0.999)
    return sparse.csr_array(W), Y, alpha, known


@pytest.mark.quick_cases("cg-30-0.1-rbf", "cg-150-0.1-rbf", "lu-30-0.1-rbf", "fixed_point-150-0.1-rbf", "auto-")
@unreached
@pytest.mark.parametrize("weights", ["binary", "rbf"])
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_equals_the_closed_form_of_every_label(rng, solver, n, share, weights):
    W, Y, alpha, known = problem(rng, n, share, weights=weights)
    result = propagate(W, Y, alpha, labeled=known, solver=solver, tol=1e-12)
    closed = reference.propagate(W.toarray(), Y, alpha, known)
    np.testing.assert_allclose(result.F, closed, rtol=0, atol=1e-10)
    assert np.abs(result.F - closed).max() <= result.error_bound
    assert result.residual <= 1e-12
    is_clamped = known & (alpha < 1e-20)
    np.testing.assert_allclose(result.F[is_clamped], Y[is_clamped], rtol=0, atol=1e-29)
    np.testing.assert_array_equal(result.F[known & (alpha == 0)], Y[known & (alpha == 0)])
    assert not result.F[:, 3].any()
    R = np.where(known, rng.standard_normal(Y.shape) * 40, np.nan)
    signed = propagate_signed(W, R, alpha, labeled=known, solver=solver, tol=1e-12)
    closed = reference.propagate(W.toarray(), np.where(known, R, 0), alpha, known)
    assert np.abs(signed.F - closed).max() <= min(1e-7, signed.error_bound)
    assert signed.residual <= 1e-12 * np.abs(R[known]).max(initial=0.0)


@unreached
@pytest.mark.parametrize("solver", SOLVERS)
def test_equal_columns_are_the_path_of_rows_bit_for_bit(rng, solver):
    W, Y, alpha, known = problem(rng, 150, 0.5)
    rows = alpha[:, 0]
    labeled = known[:, 0]
    Y = np.where(labeled[:, None], np.abs(Y), 0)
    by_row = propagate(W, Y, rows, labeled=labeled, solver=solver)
    wide = np.repeat(rows[:, None], Y.shape[1], axis=1)
    every = np.repeat(labeled[:, None], Y.shape[1], axis=1)
    for alphas, known_entries in ((wide, labeled), (rows, every), (wide, every)):
        result = propagate(W, Y, alphas, labeled=known_entries, solver=solver)
        assert result.F.tobytes() == by_row.F.tobytes()
        assert (result.n_iter, result.residual, result.n_unreached) == (
            by_row.n_iter,
            by_row.residual,
            by_row.n_unreached,
        )


@unreached
@pytest.mark.parametrize("weights", ["binary", "rbf"])
def test_threads_simd_batches_and_other_labels_change_no_bit(rng, monkeypatch, weights):
    W, Y, alpha, known = problem(rng, 3000, 0.3, weights=weights)
    single_thread = propagate(W, Y, alpha, labeled=known, n_jobs=1)
    for n_jobs in (2, 3):
        assert propagate(W, Y, alpha, labeled=known, n_jobs=n_jobs).F.tobytes() == single_thread.F.tobytes()
    label_subset = [7, 18, 0, 11]
    alone = propagate(
        W, Y[:, label_subset], alpha[:, label_subset], labeled=known[:, label_subset], callback=lambda _: None
    ).F
    np.testing.assert_array_equal(alone, single_thread.F[:, label_subset])
    monkeypatch.setenv("NMLSDR_SIMD", "portable")
    assert propagate(W, Y, alpha, labeled=known).F.tobytes() == single_thread.F.tobytes()


@pytest.mark.parametrize("level", range(_graph.best_simd_level() + 1))
@pytest.mark.parametrize(("n_labels", "block", "n_threads"), [(4, 7, 1), (8, 256, 2), (13, 32, 3), (29, 32, 2)])
@pytest.mark.parametrize("weights", ["binary", "rbf"])
def test_kernels_equal_the_plain_implementations(rng, weights, n_labels, block, n_threads, level):
    W, Y, alpha, known = problem(rng, 83, 0.4, n_labels=n_labels, weights=weights)
    s = System(check_graph(W), np.where(known, Y, 0), alpha, known, 1)
    assert 0 < np.count_nonzero(s.sought) < s.sought.size
    n = len(Y)
    width = next(width for width in (4, 8, 16, 32) if width >= n_labels)
    gain, k, m = (np.pad(values, ((0, 0), (0, width - n_labels))) for values in s.factors())
    graph = s.indptr, s.indices, s.values, s.sweep_values(), s.h, s.inverse_h
    indptr, indices, values, sweep_values, h, e = graph
    F = rng.random((n, width))
    B = rng.random((n, width))
    given_p = reference.bfloat16(rng.standard_normal((n, width)))
    given_p[gain == 0] = 0
    z, x = (np.zeros((n, width), np.float32) for _ in range(2))
    p = upper(given_p)
    rho, along, peak = np.empty((3, width))
    bound = kernels(graph, (gain, m, k), B, F, x, z, p, block=block, n_threads=n_threads, level=level)
    for restart in (False, True):
        bound.residual(np.ones(width, np.int32), restart, rho, along, peak)
        twin_z, twin_p, *twin_sums = reference.residual(
            indptr, indices, values, gain, h, m, B, F, given_p, block, restart
        )
        np.testing.assert_array_equal(z, twin_z)
        np.testing.assert_array_equal(expanded(p), twin_p)
        for ours, theirs in zip((rho, along, peak), twin_sums, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    made = sweep(bound, 1e-9, 5, rho, along, peak)
    twin = reference.cg_sweeps(
        indptr, indices, sweep_values, k, m, e, np.zeros_like(z), twin_z, twin_p, *twin_sums, 1e-9, block, made
    )
    assert made == 5
    for ours, theirs in zip((x, z, expanded(p), rho, along, peak), twin, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("solver", SOLVERS)
def test_components_are_reached_label_by_label(solver):
    """Two pairs: label 0 is known in the first, label 1 in the second, label 2 in both."""
    W = np.kron(np.eye(2), [[0, 1], [1, 0]])
    known = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1], [0, 0, 0]], bool)
    alpha = np.where(known, [0.0, 0.5, 0.6], 0.9)
    with pytest.warns(UserWarning, match="4 of 4 rows lie in components .* for some label"):
        result = propagate(W, known.astype(float), alpha, labeled=known, init=np.ones((4, 3)), solver=solver)
    assert result.n_unreached == 4
    assert not result.F[2:, 0].any()
    assert not result.F[:2, 1].any()
    assert (result.F[:, 2] > 0).all()
    np.testing.assert_allclose(result.F[:2, 0], [1, 0.9], atol=1e-7)
    last_label = propagate(W, known[:, 2:].astype(float), alpha[:, 2:], labeled=known[:, 2:])
    assert last_label.n_unreached == 0


def test_an_edge_of_weight_0_spreads_no_label():
    W = sparse.csr_array((np.array([1.0, 1.0, 0.0, 0.0]), np.array([1, 0, 2, 1]), np.array([0, 1, 3, 4])))
    known = np.array([[1, 1], [0, 1], [0, 0]], bool)
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        result = propagate(W, known.astype(float), 0.5, labeled=known)
    assert not result.F[2].any()


@unreached
def test_warm_start_and_warnings(rng):
    W, Y, alpha, known = problem(rng, 300, 0.4)
    for solver in ("cg", "fixed_point"):
        cold = propagate(W, Y, alpha, labeled=known, solver=solver)
        again = propagate(W, Y, alpha, labeled=known, solver=solver, init=cold.F)
        assert again.n_iter <= 1 < cold.n_iter
        with pytest.warns(ConvergenceWarning, match="the error of an entry can be up to"):
            propagate(W, Y, alpha, labeled=known, solver=solver, max_iter=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": [[0.5, 0.5]]}, r"alpha must be a number or of shape \(2,\) or \(2, 1\), got shape \(1, 2\)"),
        ({"alpha": [[0.5], [1.0]]}, r"alpha must lie in \[0, 1\), got 1.0 in row 1, label 0; 0 keeps"),
        ({"labeled": [[True, False], [True, True]]}, "labeled must be a boolean array"),
        ({"labeled": [[1], [0]]}, "labeled must be a boolean array"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    arguments = {"W": [[0, 1], [1, 0]], "Y": [[1.0], [0.0]], "alpha": 0.5, **options}
    with pytest.raises(ValueError, match=message):
        propagate(**arguments)


def test_no_labels_and_no_rows():
    assert propagate([[0, 1], [1, 0]], np.zeros((2, 0)), np.zeros((2, 0)), labeled=[True, False]).F.shape == (2, 0)
    empty = propagate(np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((0, 2)), labeled=np.zeros((0, 2), bool))
    assert empty.F.shape == (0, 2)
