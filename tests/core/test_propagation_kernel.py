"""The propagation kernels equal their plain twins bit for bit, for every width, block, thread count and SIMD level."""

import numpy as np
import pytest
import reference
from propagation_cases import expanded, kernels, sweep, upper
from scipy import sparse

from nmlsdr import _graph
from nmlsdr._checks.arguments import check_graph
from nmlsdr._process.threads import SIMD_LEVELS
from nmlsdr._solvers.system import System
from nmlsdr.graph import neighbor_graph, transition_matrix
from nmlsdr.propagation import propagate

LEVELS = list(range(_graph.best_simd_level() + 1))
# no values
NO = np.empty(0)
NO32 = np.empty(0, np.float32)
PAIR = np.array([0, 1, 2], np.int64), np.array([1, 0], np.int32)  # two rows, joined


def system(rng, weights, n=83, n_labels=32):
    """A small problem with a clamped row, an isolated row and an unreached component."""
    X = rng.standard_normal((n, 3))
    X[-6:] += 1e3
    W = sparse.lil_array(neighbor_graph(X, 4, edge_weights=weights, sigma=1.0))
    W[5, :] = W[:, 5] = 0
    W = check_graph(sparse.csr_array(W))
    labeled = rng.random(n) < 0.4
    labeled[:2] = True
    labeled[-6:] = False
    Y = (rng.random((n, n_labels)) < 0.3) * labeled[:, None].astype(float)
    alpha = np.where(labeled, rng.choice([0, 1e-9, 0.3, 0.6], n), 0.999)
    return System(W, Y, alpha, labeled, 2)


def same_bits(*pairs):
    for ours, twin in pairs:
        assert ours.dtype == twin.dtype
        np.testing.assert_array_equal(ours, twin)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize(("width", "block"), [(4, 1), (4, 256), (8, 7), (16, 32), (32, 83)])
@pytest.mark.parametrize("weights", ["binary", "rbf"])
def test_kernels_equal_the_plain_implementations(rng, weights, width, block, n_threads, level):
    s = system(rng, weights)
    assert s.n_unreached >= 6
    assert 0 < np.count_nonzero(s.sought) < len(s.sought) - 6
    n = len(s.sought)
    gain, k, m = (values[:, 0] for values in s.factors())
    graph = s.indptr, s.indices, s.values, s.sweep_values(), s.h, s.inverse_h
    indptr, indices, values, sweep_values, h, e = graph
    F = rng.random((n, width))
    B = (1 - s.alpha) * s.Y[:, :width]
    z, x = (np.full((n, width), np.float32(7)) for _ in range(2))
    given_p = reference.bfloat16(rng.standard_normal((n, width)))
    p = upper(given_p)
    rho, along, peak = np.empty((3, width))
    every = np.ones(width, np.int32)
    bound = kernels(graph, (gain, m, k), B, F, x, z, p, block=block, n_threads=n_threads, level=level)
    for restart in (False, True):
        bound.residual(every, restart, rho, along, peak)
        twin_z, twin_p, *twin_sums = reference.residual(
            indptr, indices, values, gain, h, m, B, F, given_p, block, restart
        )
        same_bits((z, twin_z), (expanded(p), twin_p), *zip((rho, along, peak), twin_sums, strict=True))

    x[:] = 0
    tol = float(np.median(peak)) / 4  # some columns get there on the way and must stay as they are
    counts = np.full(width, 3)
    made = bound.sweeps(np.full(width, tol), 6, rho, along, peak, counts)
    twin = reference.cg_sweeps(
        indptr, indices, sweep_values, k, m, e, np.zeros_like(z), twin_z, twin_p, *twin_sums, tol, block, made
    )
    assert 1 <= made <= 6
    assert counts.max() == 3 + made
    assert (counts[peak > tol] == 3 + made).all()
    same_bits(*zip((x, z, expanded(p), rho, along, peak), twin, strict=True))

    twin_F = reference.flush(h, x, F, clip=True)
    bound.flush(every, True)
    same_bits((F, twin_F))
    assert not x.any()


def test_a_masked_column_stays_as_it_is(rng):
    s = system(rng, "binary")
    n = len(s.sought)
    width = 4
    gain, k, m = s.factors()
    sought = s.sought[:, 0]
    F, B = rng.random((2, n, width))
    z, x = (rng.random((n, width)).astype(np.float32) for _ in range(2))
    p = upper(rng.random((n, width)))
    rho, along, peak = rng.random((3, width))
    before = [a.copy() for a in (z, p, x, rho, along, peak, F)]
    take = np.array([1, 0, 1, 0], np.int32)
    graph = s.indptr, s.indices, s.values, s.sweep_values(), s.h, s.inverse_h
    bound = kernels(graph, (gain, m, k), B, F, x, z, p, n_threads=2)
    bound.residual(take, True, rho, along, peak)
    bound.flush(take, False)
    for array, array_before in zip((z, p, x, rho, along, peak, F), before, strict=True):
        rows = slice(None) if array.ndim == 1 else sought
        np.testing.assert_array_equal(array[rows][..., [1, 3]], array_before[rows][..., [1, 3]])
        assert (array[rows][..., [0, 2]] != array_before[rows][..., [0, 2]]).any()


@pytest.mark.quick_cases("1e-09", "0.6", "0.999")
@pytest.mark.parametrize("alpha_labeled", [0, 1e-9, 1e-3, 0.6, 0.999])
def test_threads_simd_callback_and_other_labels_change_no_bit(rng, alpha_labeled, monkeypatch):
    n = 30_000
    n_labels = 6
    degree = 5
    near = np.arange(n)[:, None] + rng.integers(1, 2000, (n, degree))
    W = sparse.coo_array(
        (np.ones(degree * n), (np.repeat(np.arange(n), degree), near.ravel() % n)), shape=(n, n)
    ).tocsr()
    W = sparse.csr_array(W.maximum(W.T))
    W.data[:] = 1
    labeled = rng.random(n) < 0.3
    Y = ((rng.random((n, n_labels)) < 0.2) & labeled[:, None]).astype(float)
    alpha = np.where(labeled, alpha_labeled, 0.999)
    single_thread = propagate(W, Y, alpha, labeled=labeled, n_jobs=1)
    assert single_thread.residual <= 1e-8
    for n_jobs in (2, 3):
        assert propagate(W, Y, alpha, labeled=labeled, n_jobs=n_jobs).F.tobytes() == single_thread.F.tobytes()
    swept = propagate(W, Y[:, 3:6], alpha, labeled=labeled, callback=lambda _: None).F
    np.testing.assert_array_equal(swept, single_thread.F[:, 3:6])
    for level in SIMD_LEVELS[: len(LEVELS)]:
        monkeypatch.setenv("NMLSDR_SIMD", level)
        assert propagate(W, Y, alpha, labeled=labeled).F.tobytes() == single_thread.F.tobytes()


def test_reach_stops_at_edges_of_weight_zero():
    W = sparse.csr_array((np.array([1.0, 1.0, 0.0, 0.0]), np.array([1, 0, 2, 1]), np.array([0, 1, 3, 4])))
    s = System(W, np.zeros((3, 1)), np.full(3, 0.5), np.array([True, False, False]), 1)
    assert s.sought[:, 0].tolist() == [True, True, False]
    assert s.n_unreached == 1


@pytest.mark.parametrize("along", [1e305, -1e50, np.inf, np.nan])
def test_a_step_beyond_float32_leaves_the_result_unchanged(along):
    """Two rows, K p = 1e-7 p: the step <p, z> / <p, K p> is beyond float32, infinite or no number; x must not be."""
    k = np.full(2, np.float32(1) - np.float32(2.0**-23))
    m = np.ones(2)
    e = np.ones(2, np.float32)
    x = np.zeros((2, 4), np.float32)
    z = np.ones((2, 4), np.float32)
    p = upper(z)
    rho = np.full(4, 2.0)
    curvature = np.full(4, along)
    peak = np.ones(4)
    bound = kernels((*PAIR, NO, NO32, m, e), (m, m, k), np.zeros((2, 4)), np.zeros((2, 4)), x, z, p)
    for made in (1, 2, 3):
        sweep(bound, 1e-8, 1, rho, curvature, peak)
        assert np.isfinite(x).all()
        assert np.isfinite(expanded(p)).all()
        if made == 1:
            assert not x.any()
    twin = reference.cg_sweeps(
        *PAIR,
        np.empty(0, np.float32),
        k,
        m,
        e,
        np.zeros((2, 4), np.float32),
        np.ones((2, 4), np.float32),
        np.ones((2, 4), np.float32),
        np.full(4, 2.0),
        np.full(4, along),
        np.ones(4),
        1e-8,
        256,
        3,
    )
    same_bits(*zip((x, z, expanded(p), rho, curvature, peak), twin, strict=True))


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_no_step_for_a_finished_column_nor_uphill(factor):
    """Column 0 is below tol; with k = 2 the matrix is not definite and <p, K p> = -2 for all."""
    x = np.zeros((2, 4), np.float32)
    z = np.ones((2, 4), np.float32)
    p = upper(z)
    peak = np.array([1e-9, 1, 1, 1])
    ones = np.ones(2)
    rho, along = np.full((2, 4), 2.0)
    bound = kernels(
        (*PAIR, NO, NO32, ones, ones.astype(np.float32)),
        (ones, ones, np.full(2, factor, np.float32)),
        np.zeros((2, 4)),
        np.zeros((2, 4)),
        x,
        z,
        p,
    )
    sweep(bound, 1e-8, 1, rho, along, peak)
    assert not x[:, 0].any()
    assert x[:, 1:].all() if factor < 1 else not x.any()


def test_equal_weights_of_0_are_no_binary_graph():
    """All stored weights equal, and none is an edge."""
    W = sparse.csr_array((np.zeros(4), np.array([1, 0, 2, 1]), np.array([0, 1, 3, 4])), shape=(3, 3))
    with pytest.warns(UserWarning, match="2 of 3 rows"):
        result = propagate(W, [[1.0], [0.0], [0.0]], 0.5, labeled=[True, False, False])
    assert result.F.tolist() == [[0.5], [0.0], [0.0]]
    assert result.n_unreached == 2
    assert transition_matrix(W).toarray().tolist() == np.zeros((3, 3)).tolist()  # no 0 / 0 in a row of degree 0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_a_direction_is_rounded_to_the_nearest_of_16_bits(width, level):
    """Ties to even, both signs, denormals, zeros and what rounds to infinity, beside the two neighbours themselves."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**31, (2000, width)).astype(np.uint32)
    bits[::4] = bits[::4] & 0xFFFF0000 | 0x8000  # ties
    bits[1::4] &= 0x1FFFF  # denormals
    bits[2::4] = bits[2::4] & 0xFFFF0000 | 0x7FFF + rng.integers(0, 3, bits[2::4].shape).astype(np.uint32)
    bits[bits >= 0x7F800000] = 0  # infinite, or no number
    z = (bits | rng.integers(0, 2, bits.shape).astype(np.uint32) << 31).view(np.float32)
    z[0, :3] = np.finfo(np.float32).max, -0.0, 1 + 2.0**-8
    n = len(z)
    ones = np.ones(n)
    out = np.empty((n, width), np.float32)
    p = np.zeros((n, width), np.uint16)
    graph = np.zeros(n + 1, np.int64), np.empty(0, np.int32), NO, NO32, ones, ones.astype(np.float32)
    bound = kernels(
        graph,
        (ones, ones, ones.astype(np.float32)),
        z.astype(float),
        np.zeros((n, width)),
        out.copy(),
        out,
        p,
        n_threads=2,
        level=level,
    )
    bound.residual(np.ones(width, np.int32), True, *np.empty((3, width)))
    np.testing.assert_array_equal(out, z)
    z = out  # its zeros have no sign
    below = (z.view(np.uint32) & np.uint32(0xFFFF0000)).astype(np.uint64)
    above = below + 0x10000
    near, far = (b.astype(np.uint32).view(np.float32).astype(float) for b in (below, above))
    far[np.isinf(far)] = np.copysign(2.0**128, far[np.isinf(far)])
    up = np.abs(far - z) < np.abs(z - near)
    tie = np.abs(far - z) == np.abs(z - near)
    assert tie.sum() > n * width / 5
    expected = np.where(up | (tie & (below >> 16 & 1 == 1)), above, below) >> 16
    np.testing.assert_array_equal(p, expected.astype(np.uint16))
    same_bits((reference.bfloat16(z), expanded(p)))


def test_a_step_may_go_back():
    """<p, z> < 0, as after a residual computed anew: the minimum along p lies behind, and the direction goes on."""
    z = np.array([[1, -1, 2, 1], [1, -1, 0, -2]], np.float32)
    p = reference.bfloat16(np.array([[-1, -1, 1, 3], [0.5, -1, -1, 2]]))
    k = np.full(2, np.float32(0.5))
    m = np.ones(2)
    e = np.ones(2, np.float32)
    along = (p.astype(float) * z).sum(axis=0)
    rho = (z.astype(float) ** 2).sum(axis=0)
    twin = reference.cg_sweeps(
        *PAIR,
        np.empty(0, np.float32),
        k,
        m,
        e,
        np.zeros_like(z),
        z,
        p,
        rho,
        along,
        np.full(4, 2.0),
        1e-8,
        256,
        1,
    )
    assert along.min() < 0 < along.max()
    x = np.zeros_like(z)
    halves = upper(p)
    peak = np.full(4, 2.0)
    bound = kernels((*PAIR, NO, NO32, m, e), (m, m, k), np.zeros((2, 4)), np.zeros((2, 4)), x, z, halves)
    sweep(bound, 1e-8, 1, rho, along, peak)
    same_bits(*zip((x, z, expanded(halves), rho, along, peak), twin, strict=True))
    assert (x[0, :1] * p[0, :1] < 0).all()  # back
