"""The HSIC projection: properties, agreement of its solvers, the twin, the oracle."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import reference
from projections import assert_same_directions, draw
from scipy import linalg, sparse

from nmlsdr import _label_sums, _moments, projection
from nmlsdr._projections import directions, scatter
from nmlsdr.projection import hsic_directions, hsic_projection

GOLDEN = Path(__file__).parents[1] / "golden"
SHAPES = {
    "tall": (60, 9, 4),
    "wide": (20, 50, 4),
    "many labels": (40, 6, 12),
    "one label": (30, 5, 1),
    "two rows": (2, 3, 2),
}


@pytest.mark.parametrize("solver", ["svd", "eigsh", "auto"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_projection_equals_the_plain_implementation_and_is_orthonormal(rng, shape, solver):
    X, F = draw(rng, *SHAPES[shape])
    bound = min(F.shape[1], X.shape[1], len(X) - 1)
    for d in {1, max(1, bound // 2), bound}:
        components, eigenvalues = hsic_projection(X, F, d, solver=solver)
        assert components.shape == (d, X.shape[1])
        np.testing.assert_allclose(components @ components.T, np.eye(d), atol=1e-12)
        assert_same_directions((components, eigenvalues), reference.hsic_projection(X, F, d))


@pytest.mark.parametrize("layout", [np.asfortranarray, sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_storage_does_not_matter(rng, layout):
    X, F = draw(rng, 50, 12, 5)
    X[rng.random(X.shape) < 0.6] = 0.0
    assert_same_directions(hsic_projection(layout(X), F), hsic_projection(X, F), 1e-10)


def test_read_only_and_integer_rows_are_accepted(rng):
    X, F = draw(rng, 30, 5, 3)
    whole = rng.integers(0, 9, X.shape)
    whole.flags.writeable = False
    assert_same_directions(hsic_projection(whole, F > 0.5), hsic_projection(whole.astype(float), (F > 0.5) * 1.0), 0.0)


def test_float32_rows_give_float32_directions(rng):
    X, F = draw(rng, 60, 9, 4)
    single = X.astype(np.float32)
    components, eigenvalues = hsic_projection(single, F)
    assert components.dtype == np.float32
    assert eigenvalues.dtype == np.float64
    np.testing.assert_allclose(components @ components.T, np.eye(4), atol=1e-6)
    # sums run in float64: the only error is the rounding of the components themselves
    exact, exact_eigenvalues = hsic_projection(single.astype(np.float64), F)
    np.testing.assert_allclose(eigenvalues, exact_eigenvalues, rtol=1e-12)
    np.testing.assert_array_equal(components, exact.astype(np.float32))


def test_blocks_of_rows_do_not_matter(rng, monkeypatch):
    X, F = draw(rng, 97, 7, 4)
    whole = hsic_projection(X, F)
    monkeypatch.setattr(_moments, "_BLOCK_VALUES", 5 * 7)
    assert_same_directions(hsic_projection(X, F), whole, 1e-12)


def test_shift_of_the_rows_changes_nothing(rng):
    X, F = draw(rng, 60, 9, 4)
    assert_same_directions(hsic_projection(X + 1e6, F), hsic_projection(X, F), 1e-7)  # 1e6: six digits of X are gone
    assert_same_directions(hsic_projection(X, F + 3.0), hsic_projection(X, F), 1e-10)


def test_rotation_of_the_features_rotates_the_directions(rng):
    X, F = draw(rng, 60, 9, 4)
    Q = np.linalg.qr(rng.standard_normal((9, 9)))[0]
    components, eigenvalues = hsic_projection(X, F)
    assert_same_directions(hsic_projection(X @ Q, F), (components @ Q, eigenvalues), 1e-9)


def test_order_of_rows_and_labels_changes_nothing(rng):
    X, F = draw(rng, 60, 9, 4)
    rows = rng.permutation(60)
    labels = rng.permutation(4)
    assert_same_directions(hsic_projection(X[rows], F[rows][:, labels]), hsic_projection(X, F), 1e-10)


def test_total_is_the_sum_of_all_eigenvalues(rng):
    X, F = draw(rng, 60, 9, 4)
    every = hsic_directions(_moments.RowSums(X), F)
    first = hsic_directions(_moments.RowSums(X), F, 2)
    assert every.total == pytest.approx(every.eigenvalues.sum(), rel=1e-12)
    assert first.total == every.total
    assert (first.rank, every.rank) == (4, 4)


# ---------------------------------------------------------------- rank, bound, degenerate input


@pytest.mark.parametrize("solver", ["svd", "eigsh"])
def test_above_the_rank_is_cut_with_a_warning(rng, solver):
    X, F = draw(rng, 60, 9, 4)
    # a repeated label and a constant one
    F[:, 2] = F[:, 0]
    F[:, 3] = 0.5
    assert hsic_projection(X, F, solver=solver)[0].shape == (2, 9)
    with pytest.warns(UserWarning, match=r"n_components=3 is above the numerical rank 2"):
        components, eigenvalues = hsic_projection(X, F, 3, solver=solver)
    assert components.shape == (2, 9)
    assert (eigenvalues > 0).all()


def test_above_the_bound_is_an_error(rng):
    X, F = draw(rng, 60, 9, 4)
    with pytest.raises(ValueError, match=r"n_components=5 is above min\(.*\) = 4"):
        hsic_projection(X, F, 5)
    with pytest.raises(ValueError, match="= 3"):
        hsic_projection(X[:4], F[:4], 4)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True])
def test_n_components_is_a_positive_integer(rng, bad):
    X, F = draw(rng, 60, 9, 4)
    with pytest.raises(ValueError, match="n_components"):
        hsic_projection(X, F, bad)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_no_dependence_is_an_error_and_never_noise(rng, make):
    X, F = draw(rng, 60, 9, 4)
    for features, labels in [(X, np.full_like(F, 0.3)), (np.full_like(X, 0.1), F)]:
        with pytest.raises(ValueError, match="no dependence"):
            hsic_projection(make(features), labels)


def test_one_row_is_an_error():
    with pytest.raises(ValueError, match=r"n_samples - 1\) = 0"):
        hsic_projection([[1.0, 2.0]], [[1]])


def test_duplicates_and_constant_columns_do_no_harm(rng):
    X, F = draw(rng, 30, 5, 3)
    components, eigenvalues = hsic_projection(X, F)
    padded = np.column_stack([X, np.full(30, 7.0)])
    padded_components, values = hsic_projection(padded, F)
    np.testing.assert_allclose(padded_components[:, 5], 0.0, atol=1e-12)
    assert_same_directions((padded_components[:, :5], values), (components, eigenvalues), 1e-10)
    twice, values = hsic_projection(np.repeat(X, 2, axis=0), np.repeat(F, 2, axis=0))
    assert_same_directions((twice, values / 4), (components, eigenvalues), 1e-10)


def test_errors_describe_bad_input(rng):
    X, F = draw(rng, 30, 5, 3)
    with pytest.raises(ValueError, match="F must have 30 rows"):
        hsic_projection(X, F[:-1])
    with pytest.raises(ValueError, match="solver must be"):
        hsic_projection(X, F, solver="qr")
    F[3, 1] = np.nan
    with pytest.raises(ValueError, match="F contains NaN or infinity in row 3"):
        hsic_projection(X, F)


def test_the_faster_solver_is_used():
    """On the cells of docs/reports/speed.html that differ by half or more."""
    lanczos = [((1000, 500), 2), ((1000, 500), 50), ((1000, 1000), 50), ((1000, 3000), 2)]
    svd = [((500, 50), 2), ((1000, 500), 150), ((5000, 500), 50), ((20_000, 1000), 50), ((1000, 3000), 150)]
    assert all(projection._eigsh_is_faster(*cell) for cell in lanczos)
    assert not any(projection._eigsh_is_faster(*cell) for cell in svd)


def test_lanczos_that_fails_falls_back(rng, monkeypatch):
    X, F = draw(rng, 30, 8, 6)
    expected = hsic_projection(X, F, 2)

    def fail(*_, **__):
        raise directions.ArpackError(-1)

    monkeypatch.setattr(directions, "eigsh", fail)
    assert_same_directions(hsic_projection(X, F, 2, solver="eigsh"), expected, 1e-12)


def test_small_eigenvalues_survive_lanczos(rng):
    """M M' holds squares: without the second look at M, a singular value of 1e-10 s_0 is noise."""
    X, F = draw(rng, 200, 30, 6)
    F[:, 1:] *= 1e-10
    svd, lanczos = (hsic_projection(X, F, 3, solver=solver) for solver in ("svd", "eigsh"))
    np.testing.assert_allclose(lanczos[1][0], svd[1][0], rtol=1e-12)
    np.testing.assert_allclose(lanczos[1][1:], svd[1][1:], rtol=1e-3)
    with warnings.catch_warnings(action="error"):
        assert len(lanczos[1]) == 3


# ---------------------------------------------------------------- oracle


def check_oracle(data, oracle):
    components, eigenvalues = hsic_projection(data["X"], data["Y"])
    assert_same_directions((components, eigenvalues), (oracle["MDDMp"].T, eigenvalues), 1e-6)


def test_equals_the_oracle_on_the_small_set():
    check_oracle(np.load(GOLDEN / "in_tiny.npz"), np.load(GOLDEN / "mlfe_tiny_reg0.1.npz"))


@pytest.mark.shared
def test_equals_the_oracle_on_emotions(shared):
    folder = shared / "oracles" / "transforms"
    check_oracle(np.load(folder / "in_emotions_full.npz"), np.load(folder / "mlfe_emotions_full_reg0.1.npz"))


# ---------------------------------------------------------------- sums over rows


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_few_labels_are_multiplied_as_a_sparse_matrix(rng, layout, monkeypatch):
    """The route that 0/1 labels of many classes take gives the same M as the dense product."""
    X = 5.0 + rng.standard_normal((300, 7))
    Y = (rng.random((300, 40)) < 0.02).astype(float)
    Y[:, 3] = 1.0  # constant
    assert sparse.issparse(_moments.compress_labels(Y[:, 4:]))
    weights = rng.random(300)
    scatter = np.tril((X - X.mean(axis=0)).T * weights @ (X - X.mean(axis=0)))
    sums = _moments.RowSums(layout(X))
    mean = sums.means()
    for F in (Y, Y[:, 4:]):
        expected = (X - X.mean(axis=0)).T @ F
        for share in (0.0, 1.0):
            monkeypatch.setattr(_moments, "_THIN", share)
            np.testing.assert_allclose(sums.label_moment(F, mean), expected, atol=1e-10)
            M, S = sums.scatter(F, mean, weights)
            np.testing.assert_allclose(M, expected, atol=1e-10)
            np.testing.assert_allclose(S, scatter, atol=1e-10)
            np.testing.assert_allclose(_moments.label_gram(F), F.T @ F, atol=1e-10)
    assert not sums.label_moment(Y, mean)[:, 3].any()
    np.testing.assert_allclose(sums.label_moment(F + 2.0**27, mean), expected, atol=1e-10)  # or digits are lost


def test_the_largest_entry_decides_the_sign(rng):
    """Not the sum: one large negative entry and many small positive ones give a direction that is turned round."""
    direction = np.r_[-0.8, np.full(9, 0.2)]
    assert direction.sum() > 0
    y = rng.standard_normal(200)
    X = np.outer(y, direction)
    (component,), _ = hsic_projection(X, (y > 0)[:, None])
    np.testing.assert_allclose(component, -direction / np.linalg.norm(direction), atol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_moments_of_float32_rows_are_summed_in_float64(rng, form):
    """Rows of float32 numbers are those numbers: the moments equal those of their float64 copies."""
    narrow = (rng.lognormal(0, 2, (20000, 4)) + 0.1).astype(np.float32)
    wide = form(narrow.astype(float))
    F = (rng.random((20000, 2)) < 0.5).astype(float)
    double = _moments.RowSums(wide)
    single = _moments.RowSums(form(narrow))
    mean = double.means()
    np.testing.assert_allclose(single.means(), mean, rtol=1e-14)
    np.testing.assert_allclose(single.squares(mean), double.squares(mean), rtol=1e-12)
    for moment in (_moments.RowSums.label_moment, lambda *arguments: _moments.RowSums.scatter(*arguments, 1.0)[1]):
        expected = moment(double, F, mean)
        np.testing.assert_allclose(moment(single, F, mean), expected, atol=1e-12 * np.abs(expected).max())


def test_no_entry_is_minus_0():
    """A direction that is turned round, on features of which some say nothing: their entries are 0, not -0."""
    U = np.array([[-1.0, 0.0], [0.0, 1.0], [-0.0, 0.0]])
    projection = directions.finish(U, np.array([2.0, 1.0]), 2, None, np.float64, np.zeros(3))
    np.testing.assert_array_equal(projection.components, [[1, 0, 0], [0, 1, 0]])
    assert not np.signbit(projection.components).any()


@pytest.mark.parametrize("exponent", [-460, -40, 13, 330])
def test_lanczos_gives_the_same_result_at_every_scale(rng, exponent):
    """ARPACK's test of convergence has an absolute part: at 1e-12 the directions were 1e-9 off."""
    X = rng.standard_normal((300, 120))
    F = (X[:, :40] @ rng.standard_normal((40, 40)) > 0).astype(float)
    expected, _ = hsic_projection(X, F, 3, solver="svd")
    components, _ = hsic_projection(np.ldexp(X, exponent), F, 3, solver="eigsh")
    np.testing.assert_allclose(components, expected, atol=1e-12)


def test_small_singular_values_do_not_drown_in_the_squares_of_large_ones(rng):
    """Lanczos iterates on Z Z', whose eigenvalues below 1e-16 of the largest a dense solver could not tell apart.

    It answers right or not at all; the oldest ARPACK finds what lies below 1e-6 of the largest less well.
    """
    eps = np.finfo(float).eps
    answered = 0
    for _ in range(60):
        n, m = rng.choice([8, 15, 30, 60], 2)
        r = min(n, m)
        least = 10.0 ** rng.uniform(-13, -6)
        spread = 10.0 ** rng.uniform(0, rng.choice([1, -np.log10(least)]), r - 1)
        s = np.sort(np.r_[1.0, least * spread])[::-1]
        U, V = (linalg.qr(rng.standard_normal((size, size)))[0][:, :r] for size in (n, m))
        Z = U * s @ V.T
        n_components = int(rng.integers(1, min(r - 1, 12)))
        leading = directions.leading_by_lanczos(lambda v, Z=Z: Z.T @ v, lambda v, Z=Z: Z @ v, n, n_components)
        if leading is not None:
            answered += 1
            assert np.abs(leading[1] - linalg.svdvals(Z)[:n_components]).max() < 100 * eps
    assert answered > 10


@pytest.mark.parametrize("solver", ["svd", "eigsh"])
def test_a_constant_feature_has_no_part_in_any_direction(rng, solver):
    X, F = draw(rng, 30, 6, 2)
    X[:, [1, 4]] = 7.0
    X[:, 5] = -10.0 * F[:, 0]
    components, _ = hsic_projection(X, F, solver=solver)
    assert np.abs(components[:, [1, 4]]).max() < 1e-15  # what LAPACK's rotations leave of an exact 0


def test_directions_lost_to_float32_rounding_are_not_kept(rng):
    """Rows of rank 2 that were rounded to float32, and four labels: the other two directions are rounding errors."""
    X = (rng.standard_normal((40, 2)) @ rng.standard_normal((2, 6))).astype(np.float32)
    F = rng.random((40, 4))
    assert hsic_directions(_moments.RowSums(X), F).rank == 2
    assert hsic_directions(_moments.RowSums(X.astype(float)), F).rank == 4


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7])
def test_a_constant_label_is_centred_to_0(value):
    """Its mean over the rows is rounded, so that the difference alone would be noise, which is no dependence."""
    assert any((np.full((n, 1), value) - np.full((n, 1), value).mean(axis=0)).any() for n in range(2, 50))
    for n in range(2, 50):
        (label_set,) = _label_sums.label_sets(_moments.RowSums(np.arange(n)[:, None] ** 2.0), np.full((n, 1), value))
        assert not label_set.moment.any()
        assert label_set.label_squares == 0


@pytest.mark.parametrize("shift", [0, 1, 10, 1e3, 1e6])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_labels_that_depend_on_each_other_leave_no_noise_direction_far_from_0(rng, make, shift):
    for _ in range(10):
        y = (rng.random(100) < 0.4).astype(float)
        X = make(rng.normal(size=(100, 10)) + shift)
        projection = hsic_directions(_moments.RowSums.of(X), np.column_stack([y, 1 - y]))
        assert len(projection.components) == projection.rank == 1


@pytest.mark.parametrize("shift", [0, 1, 10, 1e3])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", [scatter.cca, scatter.mddm_features])
def test_whitening_methods_leave_no_noise_direction_far_from_0(rng, method, make, shift):
    for _ in range(10):
        Y = np.eye(3)[rng.integers(0, 3, size=100)]
        assert len(method(make(rng.normal(size=(100, 10)) + shift), Y).components) == 2
