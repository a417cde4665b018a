"""This package beside its peers and its own plain twin, in turns within one process.

A peer that is not installed is skipped with a reason (``pip install ".[peers]"``).  The deeper comparison of the
neighbour search is bench/bench_neighbours.py.
"""

import importlib
import warnings

import _cases
import _harness
import numpy as np
import pytest
import reference
from scipy import sparse

N_THREADS = 2
K = 10


def package(name, extra="peers"):
    """Import a peer, or skip."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f'{name} is not installed ({error}); pip install ".[{extra}]"')


# ---------------------------------------------------------------- neighbours


def exact(X):
    from nmlsdr.graph import kneighbors

    return lambda: kneighbors(X, K, n_jobs=N_THREADS)


def by_faiss(X):
    faiss = package("faiss")
    X = np.ascontiguousarray(X, dtype=np.float32)

    def search():
        faiss.omp_set_num_threads(N_THREADS)
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        return index.search(X, K + 1)

    return search


def by_scikit_learn(X):
    from sklearn.neighbors import NearestNeighbors

    return lambda: NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=N_THREADS).fit(X).kneighbors()


def by_intel(X):
    package("sklearnex")
    return _harness.by_intel(X, K, N_THREADS)


def by_kd_tree(X):
    from scipy.spatial import KDTree

    return lambda: KDTree(X).query(X, K + 1, workers=N_THREADS)


def by_pynndescent(X):
    pynndescent = package("pynndescent")
    return lambda: pynndescent.NNDescent(X, n_neighbors=K + 1, n_jobs=N_THREADS, random_state=0).neighbor_graph


def by_twin(X):
    return lambda: reference.kneighbors(X, K)


# ---------------------------------------------------------------- propagation


def propagation_case(n, C):
    W = _cases.graph(n, K)
    Y = _cases.labels(n, C).astype(float)
    known = np.random.default_rng(4).random(n) < _cases.LABELED
    return W, Y * known[:, None], known, np.where(known, 0.6, 0.999)


def propagated(case):
    from nmlsdr.propagation import propagate

    W, Y, known, alpha = case
    return lambda: propagate(W, Y, alpha, labeled=known, tol=1e-8, n_jobs=N_THREADS)


def cg_by_column(case):
    from scipy.sparse.linalg import LinearOperator, cg

    W, Y, _, alpha = case
    root = np.sqrt(W.sum(axis=1))
    normal = sparse.csr_array(sparse.diags_array(1 / root) @ W @ sparse.diags_array(1 / root))
    degree = normal.sum(axis=1)
    system = sparse.csr_array(sparse.diags_array(degree / alpha) - normal)
    right = (degree * (1 / alpha - 1))[:, None] * Y
    jacobi = LinearOperator(system.shape, matvec=lambda r: r * alpha / degree)
    return lambda: [cg(system, column, M=jacobi, rtol=1e-9, atol=0)[0] for column in right.T]


def lu(case):
    from scipy.sparse.linalg import splu

    from nmlsdr.graph import transition_matrix

    W, Y, _, alpha = case
    identity = sparse.diags_array(np.ones(len(alpha)))
    system = sparse.csc_array(identity - sparse.diags_array(alpha) @ transition_matrix(W))
    return lambda: splu(system).solve((1 - alpha)[:, None] * Y)


def propagated_by_twin(case):
    W, Y, known, alpha = case
    return lambda: reference.propagate(W, Y, alpha, labeled=known)


# ---------------------------------------------------------------- ML-kNN, measures


def mlknn_case(n, D, C):
    return _cases.rows(n, D), _cases.labels(n, C), _cases.rows(n // 2, D, seed=8)


def our_mlknn(case):
    import nmlsdr

    if not hasattr(nmlsdr, "MLkNN"):
        pytest.skip("MLkNN is not in this version.")
    X, Y, X_new = case
    return lambda: nmlsdr.MLkNN(K, n_jobs=N_THREADS).fit(X, Y).predict_proba(X_new)


def scikit_multilearn(case):
    adapt = package("skmultilearn.adapt")
    X, Y, X_new = case
    return lambda: adapt.MLkNN(k=K).fit(X, sparse.csr_matrix(Y)).predict_proba(X_new)


def our_measures(case):
    from nmlsdr.metrics import average_precision, coverage, ranking_loss

    Y, scores = case
    return lambda: (ranking_loss(Y, scores), average_precision(Y, scores), coverage(Y, scores))


def scikit_learn_measures(case):
    from sklearn import metrics

    Y, scores = case
    return lambda: (
        metrics.label_ranking_loss(Y, scores),
        metrics.label_ranking_average_precision_score(Y, scores),
        metrics.coverage_error(Y, scores),
    )


COMPARISONS = [
    # work, input, ours, peers
    (
        "neighbours 4000 x 100 float32",
        lambda: _cases.rows(4000, 100, "float32"),
        exact,
        {
            "faiss IndexFlatL2": by_faiss,
            "scikit-learn brute": by_scikit_learn,
            _harness.INTEL: by_intel,
            "pynndescent (approximate)": by_pynndescent,
        },
    ),
    (
        "neighbours 4000 x 320 float64",
        lambda: _cases.rows(4000, 320),
        exact,
        {"faiss IndexFlatL2 (float32)": by_faiss, "scikit-learn brute": by_scikit_learn},
    ),
    (
        "neighbours 4000 x 50 binary",
        lambda: _cases.rows(4000, 50, "float64", "binary"),
        exact,
        {"scikit-learn brute": by_scikit_learn},
    ),
    (
        "neighbours 3000 x 500 CSR 5 %",
        lambda: _cases.rows(3000, 500, "float64", "csr"),
        exact,
        {"scikit-learn brute": by_scikit_learn},
    ),
    ("neighbours 10000 x 3", lambda: _cases.rows(10000, 3), exact, {"scipy KDTree": by_kd_tree}),
    ("neighbours 1000 x 50", lambda: _cases.rows(1000, 50), exact, {"plain NumPy": by_twin}),
    (
        "propagation 10000 rows, 14 labels",
        lambda: propagation_case(10000, 14),
        propagated,
        {"scipy cg by column": cg_by_column},
    ),
    (
        "propagation 1500 rows, 14 labels",
        lambda: propagation_case(1500, 14),
        propagated,
        {"scipy splu": lu, "plain NumPy": propagated_by_twin},
    ),
    (
        "ML-kNN 1000 + 500 rows, 14 labels",
        lambda: mlknn_case(1000, 50, 14),
        our_mlknn,
        {"scikit-multilearn-ng": scikit_multilearn},
    ),
    (
        "ranking measures 7077 x 22",
        lambda: (_cases.labels(7077, 22), np.random.default_rng(5).random((7077, 22))),
        our_measures,
        {"scikit-learn": scikit_learn_measures},
    ),
]
PAIRS = [
    pytest.param(*comparison[:3], name, peer, id=f"{comparison[0]} / {name}")
    for comparison in COMPARISONS
    for name, peer in comparison[3].items()
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("work", "make", "ours", "peer_name", "peer"), PAIRS)
def test_peer(benchmark, request, work, make, ours, peer_name, peer):
    if peer is by_pynndescent and not request.config.getoption("--full"):
        pytest.skip("pynndescent compiles for a minute first: --full")
    case = make()
    call = ours(case)
    theirs = peer(case)
    with _harness.threads(N_THREADS):
        times = _harness.alternate({"ours": call, "peer": theirs}, rounds=8, budget=2, min_rounds=3)
        benchmark.pedantic(call, rounds=3)
    benchmark.extra_info.update(
        work=work,
        peer=peer_name,
        rounds=len(times["ours"]),
        seconds=_harness.better_half(times["ours"]),
        peer_seconds=_harness.better_half(times["peer"]),
        ratio=_harness.ratios(times, "ours")["peer"],
    )
