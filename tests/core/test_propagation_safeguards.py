"""The safeguards of the solvers, each put to the case that it is for; the bounds of their work; what "auto" aims at."""

import warnings

import numpy as np
import pytest
import reference
from propagation_cases import expanded, upper
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from nmlsdr._checks.arguments import check_graph
from nmlsdr._solvers import chain, conjugate_gradients, direct
from nmlsdr._solvers.conjugate_gradients import _Batch, float64_gradients
from nmlsdr._solvers.system import Goal, Solved, System
from nmlsdr.propagation import _aim, propagate

EPS = np.finfo(float).eps


def random_graph(rng, n, density):
    W = sparse.triu(sparse.random_array((n, n), density=density, random_state=rng), 1)
    return sparse.csr_array(W + W.T)


def batch_of(rng, n=120, n_labels=3, one_minus_alpha=1e-3):
    W = random_graph(rng, n, 4 / n)
    labeled = rng.random(n) < 0.3
    Y = ((rng.random((n, n_labels)) < 0.5) & labeled[:, None]).astype(float)
    system = System(check_graph(W), Y, np.where(labeled, 0.6, 1 - one_minus_alpha), labeled, 1)
    F = system.first_iterate(None)
    goal = wanted_residuals(1e-8, n_labels)
    return system, F, _Batch(system, system.sweep_values(), F, slice(0, n_labels), goal)


def wanted_residuals(tol, n_labels=3):
    return Goal(np.full(n_labels, tol), None, None)


NONE = np.zeros(3, bool)
EVERY = np.ones(3, bool)
LIMIT = np.full(3, 1000)


def test_a_direction_that_misfits_its_residual_is_given_up(rng):
    """A direction that the residual has little of is slow for many sweeps; the refresh sees it."""
    for misfit in (0.5, 0.85, 1.15):
        system, _, batch = batch_of(rng)
        batch.advance(3)
        batch.trusted[:] = np.inf  # due
        direction_before = batch.p.copy()
        batch.refresh(NONE)
        np.testing.assert_array_equal(batch.p, direction_before)  # a fitting direction stays
        batch.p[...] = upper(misfit * expanded(batch.p))
        batch.trusted[:] = np.inf
        batch.refresh(NONE)
        np.testing.assert_array_equal(batch.p, upper(batch.z))
        along = (system.factors().m * expanded(batch.p).astype(float) * batch.z).sum(axis=0)
        np.testing.assert_allclose(batch.along, along, rtol=1e-12)


def test_a_step_that_is_not_a_number_is_dropped(rng):
    system, F, batch = batch_of(rng)
    batch.advance(4)
    batch.x[:, 1] = np.nan
    batch.z[:, 1] = np.nan
    batch.rho[1] = np.nan
    batch.peak[1] = 0.5
    batch.refresh(NONE)
    assert np.isfinite(batch.F).all()
    assert np.isfinite(batch.rho).all()
    assert np.isfinite(expanded(batch.p)).all()
    while batch.active().any():
        batch.advance(4)
    batch.check_stopped(F, 0 * LIMIT)
    assert system.sweep(F)[1].max() <= 1e-6  # as far as float32 sweeps alone go


def test_an_iterate_that_is_no_number_never_leaves_the_batch(rng):
    """A change that overflows float32 while the sums stay finite: its residual is NaN, which a maximum overlooks."""
    system, F, batch = batch_of(rng)
    before = F.copy()
    batch.advance(4)
    system.clip = batch.clip = False
    batch.x[:, 1] = np.inf
    batch.check_stopped(F, LIMIT)
    assert batch.peak[1] == np.inf
    np.testing.assert_array_equal(F[:, 1], before[:, 1])
    assert np.isfinite(F).all()


def test_a_column_whose_residual_was_underestimated_continues(rng):
    """The sweeps' own residual is below tol, that of F is not: the column stays in the batch, from its residual."""
    _, F, batch = batch_of(rng)
    batch.advance(6)
    batch.peak[:] = 1e-9
    assert batch.check_stopped(F, LIMIT)
    assert not batch.done.any()
    assert batch.active().all()
    np.testing.assert_array_equal(batch.p[:, :3], upper(batch.z[:, :3]))


def test_a_worse_iterate_never_replaces_a_better_one(rng):
    system, F, batch = batch_of(rng)
    before = F.copy()
    residuals = system.sweep(F)[1]
    batch.clip = False
    batch.x[:, 0] = 100.0 * system.sought[:, 0]  # as if rounding had led the first label astray
    assert not batch.check_stopped(F, 0 * LIMIT)
    np.testing.assert_array_equal(F, before)
    np.testing.assert_array_equal(batch.best, residuals)


def test_a_column_without_progress_leaves(rng):
    system, F, batch = batch_of(rng)
    batch.advance(8)
    batch.stop_stuck(EVERY)
    assert batch.active().all()  # halved since the start
    batch.stop_stuck(np.array([True, False, True]))
    assert batch.active().tolist() == [False, True, False]  # and not since then
    solved = conjugate_gradients.conjugate_gradients(system, F, wanted_residuals(1e-300))
    assert (solved.sweeps < conjugate_gradients.most_sweeps(system)).all()  # given up well before the limit


def test_a_label_keeps_its_result_if_another_solver_makes_it_worse(rng):
    system, F, _ = batch_of(rng)
    start = F.copy()
    residuals = system.sweep(F)[1]

    def worse(part, tried, goal):
        tried[:, 0] = 5.0
        tried[:, 1:] = reference.propagate(part.W.toarray(), part.Y[:, 1:], part.alpha[:, 0], np.ones(len(tried), bool))
        return Solved(np.full(3, 3), part.sweep(tried)[1])

    solved = Solved(np.array([2, 1, 1]), residuals.copy())
    assert chain._improve(system, F, wanted_residuals(1e-8), np.arange(3), worse, solved)
    np.testing.assert_array_equal(F[:, 0], start[:, 0])
    assert system.sweep(F)[1][1:].max() <= 1e-12
    np.testing.assert_array_equal(solved.residuals, system.sweep(F)[1])
    assert solved.sweeps.tolist() == [5, 4, 4]


def test_float64_continues_where_float32_cannot(rng):
    """1 - alpha = 1e-9 everywhere: the residual wanted is below what float32 sweeps can reach in their limit."""
    for one_minus_alpha, aim in ((1e-3, 1e-14), (1e-7, 1e-13)):
        system, F, _ = batch_of(rng, one_minus_alpha=one_minus_alpha)
        before = system.sweep(F)[1].max()
        sweeps, residuals = float64_gradients(system, F, wanted_residuals(aim))
        np.testing.assert_array_equal(residuals, system.sweep(F)[1])
        assert residuals.max() <= aim < before
        assert (sweeps <= conjugate_gradients.most_sweeps(system)).all()
    assert float64_gradients(system, F, wanted_residuals(1e-30)).residuals.max() <= 1e-13  # below rounding


@pytest.mark.parametrize("least", [1.0, 1e-40])
def test_float64_solutions_lie_in_0_to_1_whatever_the_range_of_the_weights(rng, least):
    W = random_graph(rng, 120, 4 / 120)
    labeled = rng.random(120) < 0.3
    W.data[W.data < 0.3] = least
    Y = np.repeat(labeled[:, None].astype(float), 3, axis=1)  # 1 on all rows that are reached
    system = System(check_graph(W), Y, np.where(labeled, 0.6, 1 - 1e-7), labeled, 1)
    for tol in (1e-3, 1e-14):  # steps that end early go beyond 1
        F = system.first_iterate(rng.random(Y.shape))
        assert float64_gradients(system, F, wanted_residuals(tol)).residuals.max() <= tol
        assert 0 <= F.min() <= F.max() <= 1


def test_float64_sweeps_never_leave_a_larger_residual(rng):
    """Below what rounding lets them reach, every second correction would make the result worse."""
    for _ in range(5):
        system, F, _ = batch_of(rng, one_minus_alpha=1e-7)
        before = system.sweep(F)[1]
        for _ in range(4):
            after = float64_gradients(system, F, wanted_residuals(1e-30)).residuals
            assert (after <= before).all()
            before = after


@pytest.mark.parametrize("one_minus_alpha", [1e-3, 1e-7, 1e-12])
def test_every_solver_ends_at_a_residual_that_no_rounding_reaches(rng, one_minus_alpha):
    """By itself, without a bound on the sweeps from the caller, and near the smallest residual that there is."""
    system, F, _ = batch_of(rng, n=60, one_minus_alpha=one_minus_alpha)
    for solve in (conjugate_gradients.conjugate_gradients, float64_gradients, chain.fixed_point):
        F_solved = F.copy()
        start = system.sweep(F)[1]
        sweeps, residuals = solve(system, F_solved, wanted_residuals(1e-300))
        np.testing.assert_array_equal(residuals, system.sweep(F_solved)[1])
        assert (residuals <= start).all()
        assert (sweeps <= (700 if solve is not chain.fixed_point else 200_000)).all()
        if solve is not chain.fixed_point:
            assert residuals.max() <= 1e-14


def test_the_iteration_of_eq_6_has_a_bound_where_alpha_is_near_1():
    n = 3000
    W = sparse.csr_array(sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))
    Y = np.zeros((n, 1))
    Y[0] = 1.0
    system = System(check_graph(W), Y, np.full(n, 1 - 1e-12), Y[:, 0] > 0, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "FIXED_POINT_SWEEPS", 50)
        patch.setattr(chain, "FIXED_POINT_WORK", 0)
        assert chain.fixed_point(system, Y.copy(), wanted_residuals(1e-8, 1)).sweeps.tolist() == [50]
        patch.setattr(chain, "FIXED_POINT_WORK", 100 * (2 * (n - 1) + 10 * n + 5000))
        assert chain.fixed_point(system, Y.copy(), wanted_residuals(1e-8, 1)).sweeps.tolist() == [100]


def test_auto_aims_at_1000_tol_and_small_systems_at_100(rng):
    """The residual wanted follows 1 - max alpha, and never leaves the reach of rounding."""
    small, large = (
        System(check_graph(random_graph(rng, n, 0.1)), np.ones((n, 1)), np.full(n, 0.5), np.ones(n, bool), 1)
        for n in (50, 150)
    )
    for one_minus_alpha, aim in ((0.5, 1e-8), (1e-3, 1e-8), (1e-5, 1e-10), (1e-12, 16 * EPS)):
        small.top = large.top = np.array([1 - one_minus_alpha])
        assert _aim(large, 1e-8)[0] == pytest.approx(aim, rel=1e-3)
        assert _aim(small, 1e-8)[0] == pytest.approx(max(aim / 10, 16 * EPS), rel=1e-3)
    assert _aim(large, 1e-17)[0] == 1e-17


def test_an_init_outside_of_the_labels_range_is_clipped(rng):
    W = random_graph(rng, 150, 0.03)
    Y = (rng.random((150, 2)) < 0.4).astype(float)
    with pytest.warns(ConvergenceWarning):
        F = propagate(W, Y, 0.9, labeled=np.ones(150, bool), init=1e6 * rng.standard_normal(Y.shape), max_iter=1).F
    assert F.min() >= 0
    assert F.max() <= 1
    ones = propagate(W, np.ones_like(Y), 0.9, labeled=np.ones(150, bool), solver="cg", init=rng.random(Y.shape)).F
    assert ones.max() == 1  # what rounding adds is clipped


@pytest.mark.filterwarnings("ignore:.*without a labelled row")
@pytest.mark.parametrize("one_minus_alpha", [1e-3, 1e-7, 1e-12])
@pytest.mark.parametrize("wide", [False, True])
def test_sparse_lu_is_as_good_as_its_residual(rng, monkeypatch, one_minus_alpha, wide):
    """The gate between elimination and sparse LU lowered to 0."""
    n = 120
    W = random_graph(rng, n, 0.05)
    if wide:
        W.data = np.where(rng.random(len(W.data)) < 0.5, 1e-200, 1.0)
        W = sparse.csr_array(W.minimum(W.T))
    labeled = rng.random(n) < 0.3
    Y = ((rng.random((n, 3)) < 0.5) & labeled[:, None]).astype(float)
    alpha = np.where(labeled, 0.6, 1 - one_minus_alpha)
    plain = propagate(W, Y, alpha, labeled=labeled, solver="lu")
    monkeypatch.setattr(direct, "LARGEST_DENSE", 0)
    with warnings.catch_warnings(record=True, action="always", category=ConvergenceWarning) as caught_warnings:
        sparse_lu = propagate(W, Y, alpha, labeled=labeled, solver="lu")
    error = np.abs(sparse_lu.F - plain.F).max()
    assert error <= sparse_lu.error_bound
    assert wide or not caught_warnings  # pivots of 1 and 1e-200 together can cost digits, but not in silence
    assert caught_warnings or (sparse_lu.residual <= 1e-8 and error <= 1e-6 + 100 * EPS / one_minus_alpha)
