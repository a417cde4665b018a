"""No wrong answer on small graphs: every graph on up to five nodes, hard alphas, hard weights, through every solver."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import reference
from propagation_cases import graphs, propagate_signed, worst_error
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from nmlsdr import MultiLabelPropagation, _propagation
from nmlsdr._solvers import chain
from nmlsdr._solvers.system import Solved
from nmlsdr.graph import transition_matrix
from nmlsdr.propagation import propagate

SOLVERS = ["auto", "cg", "lu", "fixed_point"]
SIZES = [(2, 1), (3, 3), (4, 10)]  # nodes, and how many graphs of them there are
EPS = np.finfo(float).eps


def random_graph(rng, n, density):
    W = sparse.triu(sparse.random_array((n, n), density=density, random_state=rng), 1)
    return sparse.csr_array(W + W.T)


@pytest.mark.quick_cases("auto-", "cg-", "lu-", "-3-3")
@pytest.mark.filterwarnings("ignore:.*without a labelled row")
@pytest.mark.parametrize(
    ("solver", "n", "n_graphs"),
    [(solver, *size) for solver in SOLVERS for size in SIZES]
    + [pytest.param(solver, 5, 33, marks=pytest.mark.slow) for solver in ("auto", "cg")],
)
def test_every_graph_up_to_the_order_of_its_nodes_is_solved(solver, n, n_graphs, monkeypatch):
    def no_rescue(system, F, goal):
        raise AssertionError("the float32 sweeps were not enough")

    monkeypatch.setattr(chain, "float64_gradients", no_rescue)
    assert len(list(graphs(n, up_to_order=True))) == n_graphs
    worst, columns = worst_error(n, solver, up_to_order=True)
    assert columns == n_graphs * (3**n - 1)
    assert worst <= 1e-6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*without a labelled row")
def test_every_graph_on_up_to_four_nodes_in_every_order_of_its_nodes():
    """The program tests/campaigns/every_graph.py does the same for five nodes."""
    total = 0
    for n in (2, 3, 4):
        worst, columns = worst_error(n, "auto", up_to_order=False)
        assert worst <= 1e-6
        total += columns
    assert total == 5230


# ---------------------------------------------------------------- data whose graph is a path, a star, a cycle, ...


def shape_of_data(kind):
    """Rows and k so that the neighbour graph has this shape."""
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    if kind == "path":
        return np.array([[0.0], [1.0], [1.9], [2.9]]), 1
    if kind == "long path":
        return np.cumsum(1 + 0.01 * np.arange(30))[:, None], 1
    if kind == "star":  # every ray's nearest row is the centre
        return np.vstack([np.zeros(8), np.eye(8)]), 1
    if kind == "cycle":
        return np.column_stack([np.cos(angle), np.sin(angle)]), 2
    return np.vstack([np.eye(6) * 0.1, 5 + np.eye(6) * 0.1]), 5  # two groups of equal distances


@pytest.mark.parametrize("copies", [1, 40])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["path", "long path", "star", "cycle", "groups"])
def test_estimators_on_data_of_simple_shape(rng, kind, solver, copies):
    """The path of four was wrong with all defaults: F = [1, 0, 0, 0] after 572 sweeps."""
    X, k = shape_of_data(kind)
    y = rng.integers(-1, 2, len(X))
    y[[0, -1]] = 0, 1
    if kind == "path":
        y = np.array([0, -1, 0, 1])
    far = 1000.0 * np.arange(copies)[:, None]
    X = (np.tile(X, (copies, 1)).reshape(copies, -1, X.shape[1]) + far[:, :, None]).reshape(-1, X.shape[1])
    y = np.tile(y, copies)
    model = MultiLabelPropagation(k, propagation_solver=solver).fit(X, y[:, None])
    labeled = y != -1
    W = reference.neighbor_graph(X, k)
    F = reference.propagate(W, np.where(labeled, y, 0)[:, None], np.where(labeled, 0.6, 0.999), labeled)
    np.testing.assert_allclose(model.label_distributions_, F, rtol=0, atol=1e-6)
    if kind == "path":
        np.testing.assert_allclose(F[:4, 0], [0.0853, 0.1422, 0.2229, 0.5338], atol=1e-4)
        assert not model.label_flips_.any()


# ---------------------------------------------------------------- alpha near 1 and near 0, weights of a wide range


@pytest.mark.quick_cases("None-1e-10-cg", "0.0-0.0001", "0.6-1e-12-auto", "0.6-1e-12-lu")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("one_minus_alpha", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("alpha_labeled", [0.0, 0.6, None])
def test_alpha_up_to_the_last_digits(rng, one_minus_alpha, solver, alpha_labeled):
    for n in (3, 21, 150):
        W = (rng.random((n, n)) < 4 / n).astype(float)
        W[np.arange(n - 1), np.arange(1, n)] = 1
        W = np.triu(W, 1) + np.triu(W, 1).T
        labeled = rng.random(n) < 0.3
        labeled[0] = True
        Y = ((rng.random((n, 3)) < 0.5) & labeled[:, None]).astype(float)
        alpha = np.where(labeled, 1 - one_minus_alpha if alpha_labeled is None else alpha_labeled, 1 - one_minus_alpha)
        exact = exact_solution(W, Y, alpha)
        if solver == "fixed_point":
            F, bound, has_warned = with_warnings(W, Y, alpha, labeled, solver)
        else:
            result = propagate(W, Y, alpha, labeled=labeled, solver=solver)
            F = result.F
            bound = result.error_bound
            has_warned = False
        error = np.abs(F - exact).max()
        assert error <= bound
        assert has_warned or error <= 1000 * 1e-8 + 100 * EPS / (1 - alpha.max())  # 1000 tol, as promised


def with_warnings(W, Y, alpha, labeled, solver):
    with warnings.catch_warnings(record=True, action="always") as caught_warnings:
        result = propagate(W, Y, alpha, labeled=labeled, solver=solver)
    return result.F, result.error_bound, any(w.category is ConvergenceWarning for w in caught_warnings)


def exact_solution(W, Y, alpha):
    """The plain twin of the elimination on every row, clamped ones too."""
    P = alpha[:, None] * transition_matrix(W).toarray()
    slack = np.where(W.any(axis=1), 1 - alpha, 1.0)
    return reference.eliminate(P, slack, (1 - alpha)[:, None] * Y)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [0.0, 5e-324, 1e-300, 1e-30, 1e-17, 1e-16])
def test_alpha_next_to_0(solver, alpha):
    W = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    Y = np.array([[1.0], [0], [1]])
    result = propagate(W, Y, alpha, labeled=[True, True, False], solver=solver)
    np.testing.assert_allclose(result.F.ravel(), [1, alpha / 2, alpha**2 / 2], rtol=1e-12, atol=1e-8)
    if solver in ("auto", "lu"):  # not even small numbers are lost
        np.testing.assert_allclose(result.F.ravel(), [1, alpha / 2, alpha**2 / 2], rtol=1e-12, atol=1e-199)


def test_the_elimination_keeps_every_digit_of_every_entry():
    """A chain whose weights fall by 1e-60 from edge to edge, at alpha = 1 - 1e-12, in fractions."""
    n = 6
    W = np.diag(10.0 ** -np.arange(0, 300, 60), 1)[:n, :n]
    W = W + W.T
    Y = np.zeros((n, 1))
    Y[0] = 1
    alpha = np.full(n, 1 - 1e-12)
    F = propagate(W, Y, alpha, labeled=np.arange(n) == 0).F
    T = [[Fraction(float(t)) for t in row] for row in transition_matrix(W).toarray()]
    a = Fraction(1 - 1e-12)
    exact = rational_solution([[a * t / sum(row) for t in row] for row in T], [1 - a] + [0] * (n - 1))
    np.testing.assert_allclose(F.ravel(), [float(f) for f in exact], rtol=1e-13)


def rational_solution(P, b):
    """F = P F + b by Gauss and Jordan in fractions."""
    n = len(P)
    rows = [[(i == j) - P[i][j] for j in range(n)] + [b[i]] for i in range(n)]
    for q in range(n):
        rows[q] = [entry / rows[q][q] for entry in rows[q]]
        for i in range(n):
            if i != q:
                rows[i] = [x - rows[i][q] * y for x, y in zip(rows[i], rows[q], strict=True)]
    return [row[-1] for row in rows]


WIDE = {
    "all 1e308": 1e308 * (np.ones((3, 3)) - np.eye(3)),
    "a chain of 1.7e308": 1.7e308 * (np.eye(4, k=1) + np.eye(4, k=-1)),
    "all 5e-324": 5e-324 * (np.ones((4, 4)) - np.eye(4)),
    "ratio 1e600, two pairs": np.kron(np.diag([1e300, 1e-300]), np.eye(2)[::-1]),
    "ratio 1e600, joined": np.diag([1e300, 1e-300, 1e-300], 1) + np.diag([1e300, 1e-300, 1e-300], -1),
    "ratio 1e616": np.diag([1.7e308, 5e-309, 5e-309], 1) + np.diag([1.7e308, 5e-309, 5e-309], -1),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("W", WIDE.values(), ids=WIDE)
def test_weights_at_both_ends_of_the_numbers(W, solver):
    n = len(W)
    alpha = np.full(n, 0.9)
    Y = np.eye(n)[:, [0, 2]]
    labeled = np.arange(n) % 2 == 0
    T = transition_matrix(W).toarray()
    np.testing.assert_allclose(T.sum(axis=1), 1, rtol=1e-15)
    F, bound, has_warned = with_warnings(W, Y, alpha, labeled, solver)
    error = np.abs(F - exact_solution(W, Y, alpha)).max()
    assert error <= bound
    assert has_warned or error <= 1e-6
    assert not (has_warned and solver == "auto")


def test_propagation_and_the_transition_matrix_agree_on_edges():
    """The last two rows hang on a weight 1e600 times lighter than the heaviest: reached, and T says so."""
    W = WIDE["ratio 1e600, joined"]
    T = transition_matrix(W).toarray()
    assert T[2, 1] > 0
    result = propagate(W, np.eye(4)[:, :1], 0.9, labeled=np.arange(4) == 0)
    assert result.n_unreached == 0
    assert result.F[2, 0] > 0


def test_a_symmetric_part_at_the_largest_numbers():
    heavy = np.array([[0, 1.7e308], [1.7e308 * (1 - 2e-16), 0]])
    np.testing.assert_array_equal(transition_matrix(heavy).toarray(), [[0, 1], [1, 0]])
    assert propagate(heavy, [[1.0], [0.0]], 0.9).F[1, 0] > 0.4


def test_predictions_from_a_graph_of_huge_weights():
    X = np.arange(6.0)[:, None]
    G = np.eye(6, k=1) + np.eye(6, k=-1)
    y = [[1, 0], [0, 1], [-1, -1], [1, 0], [-1, -1], [0, 1]]
    plain = MultiLabelPropagation(2).fit(X, y, graph=G)
    for scale in (2.0**1023, 2.0**-1040):
        model = MultiLabelPropagation(2).fit(X, y, graph=G * scale)
        np.testing.assert_allclose(model.label_distributions_, plain.label_distributions_, rtol=1e-14)
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-14)
        np.testing.assert_allclose(model.row_weights_, plain.row_weights_ / np.sqrt(scale), rtol=1e-9)


def test_an_outlier_of_the_exponential_weights_is_solved_quickly(rng):
    """Weights of 1e-300 beside ones of 1 gave residuals of .4 to 1, NaN, or hours of sweeps."""
    for n in (9, 200):
        W = (rng.random((n, n)) < 5 / n).astype(float)
        W[n // 2 :, : n // 2] *= 1e-300
        W[n // 2 :, n // 2 :] *= 1e-300
        W[np.arange(n - 1), np.arange(1, n)] = np.maximum(W[np.arange(n - 1), np.arange(1, n)], 1e-300)
        W = np.triu(np.minimum(W, 1), 1)
        W = W + W.T
        labeled = rng.random(n) < 0.2
        labeled[0] = True
        Y = (labeled & (rng.random(n) < 0.5)).astype(float)[:, None]
        alpha = np.where(labeled, 0.6, 0.999)
        steps = []
        result = propagate(W, Y, alpha, labeled=labeled, callback=steps.append)
        assert np.abs(result.F - exact_solution(W, Y, alpha)).max() <= 1e-6
        assert len(steps) <= 2 * (10 * n + 120) + 1


# ---------------------------------------------------------------- what is left unsolved is said, and goes on


def test_a_warning_states_the_largest_error_of_an_entry(rng):
    W = np.eye(40, k=1) + np.eye(40, k=-1)
    Y = np.eye(40)[:, :1]
    with pytest.warns(ConvergenceWarning, match="the error of an entry can be up to"):
        result = propagate(W, Y, 1 - 1e-9, solver="fixed_point", max_iter=50)
    assert np.abs(result.F - exact_solution(W, Y, np.full(40, 1 - 1e-9))).max() <= result.error_bound <= 1


@pytest.mark.filterwarnings("ignore:.*lies? in components")  # the random graph is another one beside old SciPy
@pytest.mark.parametrize("broken", ["float32", "float32 and float64", "all but eq. (6)"])
def test_auto_continues_where_a_solver_fails(rng, monkeypatch, broken):
    """Each step of the chain is taken away in turn; the answer stays."""
    n = 300
    W = random_graph(rng, n, 0.03)
    labeled = rng.random(n) < 0.3
    Y = ((rng.random((n, 20)) < 0.3) & labeled[:, None]).astype(float)
    alpha = np.where(labeled, 0.6, 0.999)
    closed = reference.propagate(W, Y, alpha, labeled)

    def stopped(system, F, goal):
        return Solved(np.ones(F.shape[1], int), system.sweep(F)[1])

    monkeypatch.setattr(chain, "conjugate_gradients", stopped)
    if broken != "float32":
        monkeypatch.setattr(chain, "float64_gradients", stopped)
    if broken.startswith("all"):
        monkeypatch.setattr(chain, "LARGEST_DENSE", 0)
    result = propagate(W, Y, alpha, labeled=labeled)
    assert result.solver == {"float32": "cg", "float32 and float64": "lu"}.get(broken, "fixed_point")
    assert result.residual <= 1e-8
    np.testing.assert_allclose(result.F, closed, rtol=0, atol=1e-6)


def test_elimination_equals_the_plain_implementation(rng):
    for n, n_labels in ((0, 2), (1, 1), (2, 0), (30, 5)):
        P = rng.random((n, n)) * (rng.random((n, n)) < 0.4) / max(n, 1)
        slack = rng.random(n)
        B = rng.standard_normal((n, n_labels))
        A = np.column_stack([P, slack, B])
        _propagation.eliminate(A)
        np.testing.assert_array_equal(A[:, n + 1 :], reference.eliminate(P, slack, B))


# ---------------------------------------------------------------- numbers of either sign


@pytest.mark.filterwarnings("ignore:.*without a labelled row")
@pytest.mark.parametrize("n", [40, 300])
@pytest.mark.parametrize("scale", [1.0, 3e-200, 7e200])
@pytest.mark.parametrize("solver", SOLVERS)
def test_signed_equals_the_closed_form(rng, solver, scale, n):
    W = random_graph(rng, n, 6 / n)
    labeled = rng.random(n) < 0.4
    R = np.where(labeled[:, None], rng.standard_normal((n, 5)) * scale, np.nan)
    R[labeled, 3] = 0
    alpha = np.where(labeled, rng.choice([0, 1e-9, 0.6], n), 0.99)
    result = propagate_signed(W, R, alpha, labeled=labeled, solver=solver, tol=1e-12)
    closed = reference.propagate(W, np.where(labeled[:, None], R, 0), alpha, labeled)
    top = np.abs(R[labeled]).max()
    np.testing.assert_allclose(result.F, closed, rtol=0, atol=1e-10 * top)
    assert result.residual <= 1e-12 * top
    assert np.abs(result.F - closed).max() <= result.error_bound + 1e-14 * top
    assert (result.F < 0).any()
    assert np.abs(result.F).max() <= top * (1 + 1e-12)
    assert not result.F[:, 3].any()
    again = propagate_signed(W, -R, alpha, labeled=labeled, solver=solver, tol=1e-12)
    np.testing.assert_array_equal(again.F, -result.F)


def test_signed_agrees_with_propagate_where_both_apply(rng):
    n = 200
    W = random_graph(rng, n, 0.03)
    Y = (rng.random((n, 3)) < 0.3).astype(float)
    plain = propagate(W, Y, 0.9, labeled=np.ones(n, bool))
    signed = propagate_signed(W, Y, 0.9, labeled=np.ones(n, bool))
    np.testing.assert_allclose(signed.F, plain.F, rtol=0, atol=2e-7)


def test_signed_leaves_unreached_rows_at_0():
    W = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    with pytest.warns(UserWarning, match="2 of 4 rows"):
        result = propagate_signed(W, [[-5.0], [0], [0], [0]], [0, 0.9, 0.9, 0.9], labeled=np.arange(4) == 0)
    assert result.n_unreached == 2
    np.testing.assert_allclose(result.F.ravel(), [-5, -4.5, 0, 0], rtol=1e-15)
    nothing = propagate_signed(W, np.zeros((4, 2)), 0.5, labeled=np.ones(4, bool))
    assert not nothing.F.any()
