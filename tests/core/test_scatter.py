"""Generalised eigenproblems and label weights: properties, storage, the twin, the oracles."""

from pathlib import Path

import numpy as np
import pytest
import reference as twin
from projections import assert_same_directions, draw, draw_binary
from scipy import sparse

from nmlsdr import _moments
from nmlsdr._checks.arguments import check_rows
from nmlsdr._projections import label_weights, scatter

GOLDEN = Path(__file__).parents[1] / "golden"
SHAPES = {"tall": (60, 9, 4), "wide": (20, 50, 4), "square": (12, 12, 3), "many labels": (40, 6, 12)}
METHODS = {
    "cca": (scatter.cca, lambda X, Y: twin.cca_matrices(X, Y)),
    "mddm": (scatter.mddm_features, lambda X, Y: twin.mddm_matrices(X, Y)),
    "mvmd": (scatter.mvmd, lambda X, Y: (twin.mvmd_matrix(X, Y), np.eye(X.shape[1]))),
    "lda": (scatter.weighted_lda, lambda X, Y: twin.weighted_lda_matrices(X, Y)),
}


class InOrder:
    """A generator that draws one order for every epoch."""

    def __init__(self, order):
        self.order = order

    def permutation(self, n):
        return self.order


def pair(projection):
    return projection.components, projection.eigenvalues


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_the_textbook_form(rng, method, shape):
    X, Y = draw_binary(rng, *SHAPES[shape])
    solve, matrices = METHODS[method]
    A, B = matrices(X, Y)
    projection = solve(X, Y)
    P = projection.components
    np.testing.assert_allclose(P @ B @ P.T, np.eye(len(P)), atol=1e-9)
    assert_same_directions(pair(projection), twin.generalized_projection(A, B, len(P)), 1e-7)
    first = solve(X, Y, 2)
    assert_same_directions(pair(first), (P[:2], projection.eigenvalues[:2]), 1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", [np.asfortranarray, sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_storage_does_not_matter(rng, method, shape, layout):
    X, Y = draw_binary(rng, *SHAPES[shape])
    X[rng.random(X.shape) < 0.5] = 0.0
    solve, _ = METHODS[method]
    assert_same_directions(pair(solve(check_rows(layout(X)), Y)), pair(solve(X, Y)), 1e-8)


@pytest.mark.parametrize("method", ["cca", "mddm", "lda"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_a_label_that_is_given_twice_adds_no_component(rng, method, shape, layout):
    """Without care, the errors that the Cholesky factors enlarge are returned as a direction."""
    solve, _ = METHODS[method]
    n_samples, n_features, _ = SHAPES[shape]
    for _ in range(10):
        X, Y = draw_binary(rng, n_samples, n_features, 3)
        X *= 10.0 ** rng.integers(-2, 3, n_features)
        twice = np.column_stack([Y, Y[:, 0]])
        assert solve(check_rows(layout(X)), twice).rank == solve(check_rows(layout(X)), Y).rank


def test_the_rank_depends_neither_on_units_nor_on_what_the_labels_share(rng):
    for _ in range(10):
        X, Y = draw_binary(rng, 60, 3, 3)
        twice = np.column_stack([Y, Y[:, 0]])
        assert scatter.weighted_lda(X * [1.0, 1e-20, 1e-20], twice, ridge=0.0).rank == 2
        shared = 1e4 * rng.random((60, 1))
        assert scatter.weighted_lda(X, shared + twice).rank == 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_float32_rows_give_float32_directions(rng, method, shape):
    X, Y = draw_binary(rng, *SHAPES[shape])
    single = X.astype(np.float32)
    solve, _ = METHODS[method]
    for rows in (single, sparse.csr_array(single)):
        projection = solve(rows, Y)
        assert projection.components.dtype == np.float32
        assert_same_directions(
            pair(projection), pair(solve(single.astype(float), Y, len(projection.eigenvalues))), 1e-6
        )


@pytest.mark.parametrize("method", METHODS)
def test_blocks_and_size_gates_do_not_matter(rng, method, monkeypatch):
    solve, _ = METHODS[method]
    for shape in SHAPES.values():
        X, Y = draw_binary(rng, *shape)
        whole = pair(solve(X, Y))
        monkeypatch.setattr(_moments, "_BLOCK_VALUES", 5 * X.shape[1])
        monkeypatch.setattr(scatter, "_DIRECT", 4)
        assert_same_directions(pair(solve(X, Y)), whole, 1e-8)
        monkeypatch.undo()


def test_no_feature_by_feature_matrix_with_fewer_rows(rng):
    """20 000 features: the D x D matrix alone would be 3.2 GB."""
    import tracemalloc

    X = sparse.random(40, 20_000, density=0.002, format="csr", random_state=0)
    Y = (rng.random((40, 3)) < 0.5).astype(float)
    for solve, _ in METHODS.values():
        tracemalloc.start()
        projection = solve(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert projection.components.shape[1] == 20_000
        assert peak < 60e6


@pytest.mark.parametrize("n", [1, 2, 3, 20, 130])
def test_leading_eigenvectors_equal_those_of_a_dense_solver(rng, n):
    """By inverse iteration (few) and by divide and conquer."""
    A = rng.standard_normal((n, n))
    S = A @ A.T
    expected = np.linalg.eigvalsh(S)[::-1]
    for n_wanted in {1, max(1, n // 11), max(1, n // 2), n}:
        values, V = scatter._leading_eigenvectors(np.asfortranarray(np.tril(S)), n_wanted)
        np.testing.assert_allclose(values, expected[:n_wanted], rtol=1e-9, atol=1e-12 * expected[0])
        np.testing.assert_allclose(V.T @ V, np.eye(n_wanted), atol=1e-12)
        np.testing.assert_allclose(S @ V, V * values, atol=1e-12 * n * expected[0])


# ---------------------------------------------------------------- rank, bound, degenerate input


@pytest.mark.parametrize("method", ["cca", "mddm", "lda"])
@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_above_the_rank_is_cut_with_a_warning(rng, method, shape, layout):
    X, Y = draw_binary(rng, *SHAPES[shape])
    Y[:, 3] = Y[:, 0]
    Y[:, 2] = 0.0
    solve, _ = METHODS[method]
    rank = 1 if method == "lda" else 2
    projection = solve(layout(X), Y)
    assert projection.rank == len(projection.components) == rank
    with pytest.warns(UserWarning, match=f"above the numerical rank {rank}, the number kept"):
        assert len(solve(layout(X), Y, 3).components) == rank


def test_mvmd_gives_one_direction_per_label_by_default(rng):
    X, Y = draw_binary(rng, 60, 9, 4)
    assert len(scatter.mvmd(X, Y).components) == 4
    assert len(scatter.mvmd(X, Y, 9).components) == 9
    X[:, 5:] = X[:, :4]
    with pytest.warns(UserWarning, match="numerical rank 5"):
        assert len(scatter.mvmd(X, Y, 9).components) == 5


def test_labels_that_never_change_are_an_error(rng):
    X, _ = draw_binary(rng, 20, 5, 2)
    for solve in (scatter.cca, scatter.mddm_features):
        with pytest.raises(ValueError, match="no dependence"):
            solve(X, np.ones((20, 2)))
    with pytest.raises(ValueError, match="No row has a label"):
        scatter.weighted_lda(X, np.zeros((20, 2)))
    with pytest.raises(ValueError, match=r"min\(n_labels - 1, n_features\) = 0"):
        scatter.weighted_lda(X, np.ones((20, 1)))


def test_a_singular_scatter_without_ridge_is_an_error(rng):
    X, Y = draw_binary(rng, 60, 9, 4)
    solvers = {
        "cca": lambda X, Y: scatter.cca(X, Y, ridge=0),
        "mddm": lambda X, Y: scatter.mddm_features(X, Y, mu=1),
        "lda": lambda X, Y: scatter.weighted_lda(X, Y, ridge=0),
    }
    repeated = np.column_stack([X, X[:, 0] + X[:, 1]])
    wide = rng.standard_normal((60, 70))
    for solve in solvers.values():
        assert np.isfinite(solve(X, Y).components).all()
        constant = np.column_stack([X, np.ones(60)])
        for bad in (repeated, wide, sparse.csr_array(repeated), sparse.csr_array(wide), constant):
            with pytest.raises(ValueError, match=r"singular.*ridge"):
                solve(bad, Y)
    with pytest.raises(ValueError, match="label scatter"):
        scatter.cca(X, np.column_stack([Y, Y[:, 0]]), ridge=0)


def test_constant_features_get_no_part_under_a_ridge(rng):
    X, Y = draw_binary(rng, 60, 9, 4)
    for solve, _ in METHODS.values():
        projection = solve(np.column_stack([X, np.full(60, 1e6)]), Y)
        np.testing.assert_allclose(projection.components[:, 9], 0.0, atol=1e-9)
        assert_same_directions((projection.components[:, :9], projection.eigenvalues), pair(solve(X, Y)), 1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Y: scatter.cca(X, Y, ridge=-1.0), "ridge must be"),
        (lambda X, Y: scatter.mddm_features(X, Y, mu=1.5), "mu must be"),
        (lambda X, Y: scatter.mvmd(X, Y, beta=np.nan), "beta must be"),
    ],
)
def test_errors_describe_bad_input(rng, call, message):
    X, Y = draw_binary(rng, 60, 9, 4)
    with pytest.raises(ValueError, match=message):
        call(X, Y)


def test_soft_weights_and_labels_without_weight_are_accepted(rng):
    X, F = draw(rng, 60, 9, 5)
    F[:, 2] = 0.0
    projection = scatter.weighted_lda(X, F)
    assert_same_directions(pair(projection), twin.generalized_projection(*twin.weighted_lda_matrices(X, F), 3), 1e-7)


# ---------------------------------------------------------------- weights


def test_entropy_and_correlation_weights_equal_the_plain_implementation(rng):
    _, Y = draw_binary(rng, 60, 9, 5)
    Y[:, 3] = 0.0
    np.testing.assert_array_equal(label_weights.entropy_weights(Y), twin.entropy_weights(Y))
    np.testing.assert_allclose(label_weights.correlation_weights(Y), twin.correlation_weights(Y), atol=1e-14)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_fuzzy_weights_equal_the_plain_implementation(rng, layout):
    X, Y = draw_binary(rng, 60, 9, 5)
    Y[:, 3] = 0.0
    Y[7] = 0.0
    Y[:, 4] = 0.0
    Y[9, 4] = 1.0  # the only row of its label: it is the centre
    W = label_weights.fuzzy_weights(layout(X), Y)
    np.testing.assert_allclose(W, twin.fuzzy_weights(X, Y), atol=1e-9)
    np.testing.assert_allclose(W.sum(axis=1), Y.any(axis=1), atol=1e-12)
    assert not W[Y == 0].any()


def test_a_row_on_several_centres_is_shared(rng):
    """All rows equal: every distance is 0."""
    W = label_weights.fuzzy_weights(np.ones((4, 3)), np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(W, [[0.5, 0.5], [1, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_dependence_weights_equal_the_plain_implementation_in_a_given_order(rng, layout):
    X, Y = draw_binary(rng, 50, 9, 6)
    order = rng.permutation(50)
    weights, objective = label_weights.dependence_weights(layout(X), Y, generator=InOrder(order))
    np.testing.assert_array_equal(weights, twin.dependence_weights(X, Y, [order] * 100))
    assert (np.diff(objective) > 0).all()
    Xc = X - X.mean(axis=0)
    assert objective[-1] == pytest.approx(np.sum((Xc.T @ (weights * Y)) ** 2), rel=1e-10)
    assert objective[0] == pytest.approx(np.sum((Xc.T @ twin.entropy_weights(Y)) ** 2), rel=1e-10)


def test_dependence_weights_choose_one_label_of_the_row(rng):
    X, Y = draw_binary(rng, 50, 9, 6)
    W, _ = label_weights.dependence_weights(X, Y, generator=np.random.default_rng(3))
    np.testing.assert_array_equal(W.sum(axis=1), Y.any(axis=1))
    assert set(np.unique(W)) == {0.0, 1.0}
    assert not W[Y == 0].any()
    for kind in (np.random.default_rng, np.random.RandomState):
        weights, repeated_weights = (label_weights.dependence_weights(X, Y, generator=kind(3))[0] for _ in range(2))
        np.testing.assert_array_equal(weights, repeated_weights)


def test_equal_labels_do_not_alternate(rng):
    """Two labels with the same rows tie exactly; the ascent must still come to rest."""
    X, Y = draw_binary(rng, 30, 4, 2)
    Y = np.column_stack([Y, Y])
    _, objective = label_weights.dependence_weights(X, Y, generator=np.random.default_rng(0), max_iter=50)
    assert len(objective) < 50
    W, _ = label_weights.dependence_weights(np.zeros((6, 2)), np.ones((6, 3)), generator=np.random.default_rng(0))
    np.testing.assert_array_equal(W.sum(axis=1), 1.0)


# ---------------------------------------------------------------- oracles


def check_oracle(data, oracle):
    X = np.ascontiguousarray(data["X"])
    Y = data["Y"].astype(float)
    weights = {
        "b": Y,
        "e": label_weights.entropy_weights(Y),
        "c": label_weights.correlation_weights(Y),
        "f": label_weights.fuzzy_weights(X, Y),
    }
    problems = {
        "CCA": (scatter.cca(X, Y), twin.cca_matrices(X, Y)),
        "MDDMf": (scatter.mddm_features(X, Y), twin.mddm_matrices(X, Y)),
        "MVMD": (scatter.mvmd(X, Y), (twin.mvmd_matrix(X, Y), np.eye(X.shape[1]))),
    }
    for name, W in weights.items():
        np.testing.assert_allclose(W, oracle[f"W_{name}"], atol=1e-12)
        problems[f"wMLDA{name}"] = scatter.weighted_lda(X, W), twin.weighted_lda_matrices(X, W)
    for name, (projection, matrices) in problems.items():
        assert_oracle(projection, oracle[name], matrices, scale=name != "MDDMf")


def assert_oracle(projection, P, matrices, scale=True):
    """The oracle's directions, and its eigenvalues: the quotients p'Ap / p'Bp of its columns."""
    A, B = matrices
    quotients = np.einsum("ij,ik,kj->j", P, A, P) / np.einsum("ij,ik,kj->j", P, B, P)
    assert_same_directions(pair(projection), (P.T, quotients), 1e-6, scale=scale)


def check_dependence_oracle(data, oracle):
    X = np.ascontiguousarray(data["X"])
    Y = data["Y"].astype(float)
    in_order = [np.arange(len(X))] * 100
    W = twin.dependence_weights(X, Y, in_order, over_all_labels=True)
    np.testing.assert_array_equal(W, oracle["W_order"])
    assert_oracle(scatter.weighted_lda(X, W), oracle["P_order"], twin.weighted_lda_matrices(X, W))
    weights, objective = label_weights.dependence_weights(X, Y, generator=InOrder(in_order[0]))
    np.testing.assert_array_equal(weights, twin.dependence_weights(X, Y, in_order))
    assert objective[0] == pytest.approx(oracle["hsic_init"].item(), rel=1e-10)


def test_equals_the_oracle_on_the_small_set():
    data = np.load(GOLDEN / "in_tiny.npz")
    check_oracle(data, np.load(GOLDEN / "mlfe_tiny_reg0.1.npz"))
    check_dependence_oracle(data, np.load(GOLDEN / "mlfe_wMLDAd_tiny.npz"))


@pytest.mark.slow
@pytest.mark.shared
def test_equals_the_oracle_on_emotions(shared):
    folder = shared / "oracles" / "transforms"
    data = np.load(folder / "in_emotions_full.npz")
    check_oracle(data, np.load(folder / "mlfe_emotions_full_reg0.1.npz"))
    check_dependence_oracle(data, np.load(folder / "mlfe_wMLDAd_emotions_full.npz"))
    soft = np.load(folder / "in_emotions_softw.npz")
    projection = scatter.weighted_lda(soft["X"], soft["Y"])
    P = np.load(folder / "mlfe_emotions_softw_reg0.1.npz")["P"]
    assert_oracle(projection, P, twin.weighted_lda_matrices(soft["X"], soft["Y"]))
