"""The work that is measured: one table for the suite, the comparison of two commits and the growth curves.

A case makes its input from sizes and returns a `Work`: what to call, and how much of a physical limit it needs
at least.  Only names of the public interface are used (and the few core functions beside them), each imported
inside its case, so that a case can run on an older commit or say that the commit does not have it yet.

    n rows, D features, C labels, k neighbours, q queries
"""

from __future__ import annotations

import ctypes
import inspect
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

LABELED = 0.3  # share of labelled rows in the semi-supervised cases


class Work(NamedTuple):
    """A call with the number of threads as its argument, and the least it must do."""

    run: Callable[[int], Any]
    amount: float | None = None  # flops or bytes
    limit: str | None = None  # "sgemm_gflops" or "copy_gbytes" of _harness.limits
    alone: Callable[[int], Any] | None = None  # the kernels without the checks around them, where these weigh


class Case(NamedTuple):
    """One kind of work at several sizes."""

    kind: str  # "kernel", "core" or "estimator"
    make: Callable[..., Work]
    default: list[dict[str, Any]]  # sizes of the suite that takes minutes
    full: list[dict[str, Any]]  # further sizes, opt-in
    compare: dict[str, Any] | None  # size for compare.py, about 10-100 ms
    small: dict[str, Any]  # size for the instruction count, and for loading everything before memory is measured


# ---------------------------------------------------------------- inputs


@lru_cache(maxsize=4)
def rows(n: int, D: int, dtype: str = "float64", values: str = "gaussian", seed: int = 0) -> Any:
    """Rows of features: Gaussian, small integers, binary, or sparse CSR with 5 % of the entries."""
    rng = np.random.default_rng(seed)
    if values == "csr":
        stored = rng.random((n, D)) < 0.05
        return sparse.csr_array(np.where(stored, rng.random((n, D)), 0).astype(dtype))
    if values == "integers":
        return rng.integers(0, 16, (n, D)).astype(dtype)
    if values == "binary":
        return (rng.random((n, D)) < 0.1).astype(dtype)
    return rng.standard_normal((n, D)).astype(dtype)


@lru_cache(maxsize=4)
def labels(n: int, C: int, density: float = 0.1, seed: int = 1) -> np.ndarray:
    """0/1 labels; every label has at least one positive and one negative row."""
    Y = (np.random.default_rng(seed).random((n, C)) < density).astype(np.int64)
    Y[0] = 1
    Y[1] = 0
    return Y


def partly(Y: np.ndarray, seed: int = 2) -> np.ndarray:
    """Y with rows of -1, except for LABELED of them (and the first two)."""
    hidden = np.random.default_rng(seed).random(len(Y)) >= LABELED
    hidden[:2] = False
    return np.where(hidden[:, None], -1, Y)


@lru_cache(maxsize=4)
def neighbor_indices(n: int, k: int, seed: int = 3) -> np.ndarray:
    """Distinct neighbours of each row, near it in the order of rows, without a search."""
    rng = np.random.default_rng(seed)
    reach = max(k + 1, min(n - 1, 1000))
    steps = np.sort(np.argsort(rng.random((256, reach)), axis=1)[:, :k], axis=1) + 1
    return (np.arange(n)[:, None] + steps[rng.integers(0, 256, n)]) % n


@lru_cache(maxsize=4)
def graph(n: int, k: int) -> sparse.csr_array:
    """Symmetric binary graph of `neighbor_indices`."""
    indptr = np.arange(n + 1) * k
    one_way = sparse.csr_array((np.ones(n * k), neighbor_indices(n, k).ravel(), indptr), shape=(n, n))
    return sparse.csr_array(one_way.maximum(one_way.T))


# ---------------------------------------------------------------- kernels through the core functions


def neighbours(n: int, D: int, k: int, dtype: str, values: str = "gaussian") -> Work:
    from nmlsdr.graph import kneighbors

    X = rows(n, D, dtype, values)
    flops = None if values == "csr" or D < 16 else float(n) * n * D  # half of the products, 2 flops each
    return Work(lambda threads: kneighbors(X, k, n_jobs=threads), flops, flops and "sgemm_gflops")


def queries(n: int, q: int, D: int, k: int, dtype: str) -> Work:
    from nmlsdr.graph import kneighbors

    X = rows(n, D, dtype)
    Q = rows(q, D, dtype, seed=7)
    return Work(lambda threads: kneighbors(X, k, queries=Q, n_jobs=threads), 2.0 * n * q * D, "sgemm_gflops")


def index_queries(n: int, q: int, D: int, k: int, dtype: str) -> Work:
    """Queries to rows that an index has prepared."""
    from nmlsdr.graph import ExactIndex

    X = rows(n, D, dtype)
    Q = rows(q, D, dtype, seed=7)
    indexes = {threads: ExactIndex(X, n_jobs=threads) for threads in (1, 2)}
    return Work(lambda threads: indexes[threads].query(Q, k))


def transformer(n: int, D: int, k: int) -> Work:
    """The graph of distances that scikit-learn's estimators take."""
    from nmlsdr import ExactNeighborsTransformer

    X = rows(n, D)
    return Work(lambda threads: ExactNeighborsTransformer(n_neighbors=k, n_jobs=threads).fit_transform(X))


C_SEARCH = """
#include <nmlsdr/neighbors.h>
int search(const void *data, ptrdiff_t n, const void *queries, ptrdiff_t q, ptrdiff_t d, ptrdiff_t k, double *distances,
           ptrdiff_t *neighbors, int n_threads)
{
    const nmlsdr_rows rows = nmlsdr_dense(NMLSDR_FLOAT32, data, n, d);
    const nmlsdr_rows asked = nmlsdr_dense(NMLSDR_FLOAT32, queries, q, d);
    return nmlsdr_nearest(&rows, &asked, NMLSDR_EUCLIDEAN, k, distances, neighbors, n_threads);
}
"""


@lru_cache(maxsize=1)
def c_library() -> ctypes.CDLL:
    """`C_SEARCH`, compiled with the headers of the version under test."""
    import nmlsdr

    if not hasattr(nmlsdr, "get_include"):
        raise NotHere("the C headers are not in this version.")
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise NotHere("there is no C compiler here.")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "search.c"
        library = Path(folder) / "search.so"
        source.write_text(C_SEARCH, encoding="utf-8")
        command = [compiler, "-O3", "-std=gnu99", "-fPIC", "-shared", "-fopenmp", f"-I{nmlsdr.get_include()}"]
        subprocess.run([*command, str(source), "-o", str(library), "-lm"], check=True, capture_output=True)
        return ctypes.CDLL(str(library))


def c_queries(n: int, q: int, D: int, k: int) -> Work:
    """As `queries`, from C."""
    X = rows(n, D, "float32")
    Q = rows(q, D, "float32", seed=7)
    distances = np.empty((q, k))
    neighbors = np.empty((q, k), np.intp)
    search = c_library().search
    pointer = ctypes.c_void_p
    size = ctypes.c_ssize_t
    search.argtypes = [pointer, size, pointer, size, size, size, pointer, pointer, ctypes.c_int]

    def run(threads: int) -> None:
        outputs = distances.ctypes.data, neighbors.ctypes.data
        code = search(X.ctypes.data, n, Q.ctypes.data, q, D, k, *outputs, threads)
        if code != 0:
            raise RuntimeError(f"the search from C ended with code {code}.")

    return Work(run)


def symmetrise(n: int, k: int) -> Work:
    from nmlsdr.graph import union_graph

    indices = neighbor_indices(n, k)
    moved = 8.0 * n * k + 12.0 * graph(n, k).nnz
    return Work(lambda threads: union_graph(indices), moved, "copy_gbytes")


def normalise(n: int, k: int) -> Work:
    from nmlsdr import _weights
    from nmlsdr.graph import transition_matrix

    W = graph(n, k)

    def alone(threads: int) -> None:
        _weights.normalize(W.data, W.indices, W.indptr, degree, True, values, sums, threads)

    degree = W.sum(axis=1)
    values = np.empty(W.nnz)
    sums = np.empty(n)
    return Work(lambda threads: transition_matrix(W, n_jobs=threads), 24.0 * W.nnz, "copy_gbytes", alone)


def cg(n: int, C: int, k: int, labeled: float = LABELED) -> Work:
    from nmlsdr.propagation import propagate

    W = graph(n, k)
    Y = labels(n, C)
    known = np.random.default_rng(4).random(n) < labeled
    known[:2] = True
    alpha = np.where(known, 0.6, 0.999)

    def run(threads: int, **options: Any) -> Any:
        return propagate(W, Y, alpha, labeled=known, solver="cg", tol=1e-8, n_jobs=threads, **options)

    sweeps = run(1).n_iter  # x, r, z, p, q of each column and the graph stream once a sweep
    return Work(run, sweeps * (12.0 * W.nnz + 40.0 * n * C), "copy_gbytes")


def cg_entries(n: int, C: int, k: int, labeled: float = LABELED) -> Work:
    """As `cg` with as many entries known as rows there, and an alpha for each: what a sweep per entry costs more."""
    from nmlsdr.propagation import propagate

    W = graph(n, k)
    Y = labels(n, C)
    known = np.random.default_rng(4).random(Y.shape) < labeled
    known[:2] = True
    alpha = np.where(known, 0.6, 0.999)

    def run(threads: int) -> Any:
        return propagate(W, np.where(known, Y, 0), alpha, labeled=known, solver="cg", tol=1e-8, n_jobs=threads)

    try:
        run(1)
    except ValueError:
        raise NotHere("an alpha per entry is not in this version.") from None
    return Work(run)


def mlknn_fit(n: int, C: int, k: int) -> Work:
    from nmlsdr import _mlknn
    from nmlsdr.mlknn import fit_posterior

    Y = labels(n, C).astype(np.uint8)
    indices = neighbor_indices(n, k)
    delta = np.empty(Y.shape, dtype=np.int32)
    histogram = np.zeros((2, C, k + 1), dtype=np.int64)

    def alone(threads: int) -> None:
        _mlknn.count_neighbor_labels(Y, indices, delta, threads)
        _mlknn.label_histogram(Y, delta, histogram, threads)

    amount = float(n) * C * (k + 1)
    return Work(lambda threads: fit_posterior(Y, indices, n_jobs=threads), amount, "copy_gbytes", alone)


def mlknn_posterior(n: int, C: int, k: int) -> Work:
    from nmlsdr import _mlknn
    from nmlsdr.mlknn import fit_posterior, posterior

    Y = labels(n, C).astype(np.uint8)
    indices = neighbor_indices(n, k)
    table = fit_posterior(Y, indices)
    delta = np.empty(Y.shape, dtype=np.int32)
    scores = np.empty(Y.shape)

    def alone(threads: int) -> None:
        _mlknn.count_neighbor_labels(Y, indices, delta, threads)
        _mlknn.look_up_posterior(table.posterior, delta, scores, threads)

    amount = float(n) * C * (k + 8)
    return Work(lambda threads: posterior(table, Y, indices, n_jobs=threads), amount, "copy_gbytes", alone)


def growing(n: int, D: int, C: int, kind: str) -> Work:
    """Trees of one forest of ResidualPropagation and nothing else."""
    from nmlsdr.forest import grow_forests

    X = rows(n, D, "float32")
    Y = labels(n, C).astype(float)
    return Work(lambda threads: grow_forests(X, Y, kinds=(kind,), n_estimators=20, random_state=0, n_jobs=threads))


def boosting(n: int, D: int, C: int) -> Work:
    """Ten rounds of boosted trees and nothing else."""
    try:
        from nmlsdr import _boosting as boosted
    except ImportError:
        from nmlsdr import forest as boosted  # until 2026-11-26
    if not hasattr(boosted, "boost_trees"):
        raise NotHere("boosted trees are not in this version.")
    X = rows(n, D, "float32")
    Y = labels(n, C).astype(float)
    # until 2026-11-29 the rounds were an argument of their own
    rounds = {"limits": boosted.Limits(10)} if hasattr(boosted, "Limits") else {"n_rounds": 10}
    return Work(lambda threads: boosted.boost_trees(X, Y, **rounds, random_state=0, n_jobs=threads))


# ---------------------------------------------------------------- core functions in NumPy and SciPy


def projection(n: int, D: int, C: int, dtype: str = "float64", values: str = "gaussian") -> Work:
    from nmlsdr.projection import hsic_projection

    X = rows(n, D, dtype, values)
    F = labels(n, C).astype(float)
    flops = 2.0 * n * D * C if values != "csr" else None
    return Work(lambda threads: hsic_projection(X, F), flops, flops and "sgemm_gflops")


def measures(n: int, C: int) -> Work:
    from nmlsdr.metrics import score_table

    Y = labels(n, C)
    scores = np.random.default_rng(5).random((n, C))
    return Work(lambda threads: score_table(Y, scores))


# ---------------------------------------------------------------- estimators


EARLIER_NAMES = {"label_weights": "weights"}
SEMI_SUPERVISED = ("NMLSDR", "ResidualPropagation", "MultiLabelPropagation", "SemiSupervisedMLkNN", "SSMLDR")


def estimator(name: str, call: str, n: int, D: int, C: int, values: str = "gaussian", **parameters: Any) -> Work:
    """``fit``, ``transform`` or ``predict_proba`` of one estimator; semi-supervised ones see rows of -1."""
    import nmlsdr

    if not hasattr(nmlsdr, name):
        raise NotHere(f"{name} is not in this version.")
    kind = getattr(nmlsdr, name)
    X = rows(n, D, "float64", values)
    Y = labels(n, C)
    y = partly(Y) if name in SEMI_SUPERVISED else Y
    known = inspect.signature(kind).parameters
    threaded = "n_jobs" in known
    # A version from before a parameter got its name is measured too: `compare.py` sets two versions side by side.
    parameters = {key if key in known else EARLIER_NAMES.get(key, key): value for key, value in parameters.items()}

    def make(threads: int) -> Any:
        return kind(**parameters, **({"n_jobs": threads} if threaded else {}))

    if call == "fit":
        return Work(lambda threads: make(threads).fit(X, y))
    fitted = make(2).fit(X, y)
    return Work(lambda threads: getattr(fitted, call)(X))


def single_answers(n: int, D: int, C: int) -> Work:
    """`ResidualPropagation` after single answers: of one row in ten only one label is known."""
    from nmlsdr import ResidualPropagation

    X = rows(n, D)
    y = labels(n, C).copy()
    answered = np.arange(2, n, 10)
    answers = y[answered, answered % C]
    y[answered] = -1
    y[answered, answered % C] = answers
    return Work(lambda threads: ResidualPropagation(n_jobs=threads).fit(X, y))


def pipeline(n: int, D: int, C: int) -> Work:
    """The article's whole framework: standardise, reduce, classify."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from nmlsdr import NMLSDR, SemiSupervisedMLkNN

    X = rows(n, D)
    Y = labels(n, C)
    X_new = rows(n // 2, D, seed=8)

    def run(threads: int) -> Any:
        model = make_pipeline(StandardScaler(), NMLSDR(n_jobs=threads), SemiSupervisedMLkNN(n_jobs=threads))
        return model.fit(X, partly(Y)).predict_proba(X_new)

    return Work(run)


# ---------------------------------------------------------------- the table


def sizes(*values: Any, **fixed: Any) -> list[dict[str, Any]]:
    return [{**fixed, **value} for value in values]


def fit_case(name: str, *, call: str = "fit", n: int = 2000, **parameters: Any) -> Case:
    settings = {"name": name, "call": call, **parameters}
    return Case(
        "estimator",
        estimator,
        sizes({"n": n, "D": 100, "C": 14}, **settings),
        sizes({"n": 6000, "D": 320, "C": 14}, {"n": 1123, "D": 1001, "C": 52}, **settings),
        {"n": 1000, "D": 60, "C": 10, **settings},
        {"n": 120, "D": 20, "C": 4, **settings},
    )


def tree_case(kind: str) -> Case:
    return Case(
        "kernel",
        growing,
        sizes({"n": 1000, "D": 100, "C": 14}, kind=kind),
        sizes({"n": 10000, "D": 300, "C": 100}, kind=kind),
        {"n": 500, "D": 50, "C": 5, "kind": kind},
        {"n": 100, "D": 10, "C": 3, "kind": kind},
    )


CASES: dict[str, Case] = {
    "neighbours-dense": Case(
        "kernel",
        neighbours,
        sizes(
            {"n": 4000, "D": 100, "dtype": "float32"},
            {"n": 4000, "D": 100, "dtype": "float64"},
            {"n": 6000, "D": 320, "dtype": "float32"},
            k=10,
        ),
        sizes(
            {"n": 10000, "D": 100, "dtype": "float32"},
            {"n": 10000, "D": 500, "dtype": "float32"},
            {"n": 20000, "D": 320, "dtype": "float32"},
            {"n": 20000, "D": 32, "dtype": "float32"},
            {"n": 20000, "D": 320, "dtype": "float64"},
            k=10,
        )
        + sizes({"k": 1}, {"k": 50}, n=4000, D=100, dtype="float32"),
        {"n": 1500, "D": 100, "k": 10, "dtype": "float32"},
        {"n": 400, "D": 100, "k": 10, "dtype": "float32"},
    ),
    "neighbours-integers": Case(
        "kernel",
        neighbours,
        sizes({"n": 4000, "D": 50}, k=10, dtype="float64", values="binary"),
        sizes({"n": 20000, "D": 50}, k=10, dtype="float64", values="binary"),
        {"n": 1500, "D": 50, "k": 10, "dtype": "float64", "values": "binary"},
        {"n": 400, "D": 50, "k": 10, "dtype": "float64", "values": "binary"},
    ),
    "neighbours-csr": Case(
        "kernel",
        neighbours,
        sizes({"n": 3000, "D": 500}, k=10, dtype="float64", values="csr"),
        sizes({"n": 20000, "D": 500}, k=10, dtype="float64", values="csr"),
        {"n": 800, "D": 500, "k": 10, "dtype": "float64", "values": "csr"},
        {"n": 300, "D": 500, "k": 10, "dtype": "float64", "values": "csr"},
    ),
    "neighbours-low-d": Case(
        "kernel",
        neighbours,
        sizes({"n": 10000, "D": 3}, k=10, dtype="float64"),
        sizes({"n": 100000, "D": 3}, {"n": 100000, "D": 8}, k=10, dtype="float64"),
        {"n": 3000, "D": 3, "k": 10, "dtype": "float64"},
        {"n": 800, "D": 3, "k": 10, "dtype": "float64"},
    ),
    "neighbours-queries": Case(
        "kernel",
        queries,
        sizes({"n": 4000, "q": 2000, "D": 100}, k=10, dtype="float32"),
        sizes({"n": 20000, "q": 10000, "D": 100}, k=10, dtype="float32"),
        {"n": 1500, "q": 1000, "D": 100, "k": 10, "dtype": "float32"},
        {"n": 400, "q": 200, "D": 100, "k": 10, "dtype": "float32"},
    ),
    "index-queries": Case(
        "core",
        index_queries,
        sizes({"n": 4000, "q": 2000, "D": 100}, k=10, dtype="float32"),
        sizes({"n": 20000, "q": 10000, "D": 100}, k=10, dtype="float32"),
        {"n": 1500, "q": 1000, "D": 100, "k": 10, "dtype": "float32"},
        {"n": 400, "q": 200, "D": 100, "k": 10, "dtype": "float32"},
    ),
    "index-one-query": Case(
        "core",
        index_queries,
        sizes({"n": 20000, "q": 1, "D": 100}, k=10, dtype="float32"),
        sizes({"n": 100000, "q": 1, "D": 100}, k=10, dtype="float32"),
        {"n": 20000, "q": 1, "D": 100, "k": 10, "dtype": "float32"},
        {"n": 400, "q": 1, "D": 100, "k": 10, "dtype": "float32"},
    ),
    "transformer": Case(
        "estimator",
        transformer,
        sizes({"n": 4000, "D": 100, "k": 10}),
        sizes({"n": 20000, "D": 100, "k": 10}),
        {"n": 1500, "D": 100, "k": 10},
        {"n": 400, "D": 100, "k": 10},
    ),
    "c-queries": Case(
        "core",
        c_queries,
        sizes({"n": 4000, "q": 2000, "D": 100, "k": 10}),
        sizes({"n": 20000, "q": 10000, "D": 100, "k": 10}),
        {"n": 1500, "q": 1000, "D": 100, "k": 10},
        {"n": 400, "q": 200, "D": 100, "k": 10},
    ),
    "graph-symmetrise": Case(
        "kernel",
        symmetrise,
        sizes({"n": 20000, "k": 10}),
        sizes({"n": 200000, "k": 10}, {"n": 20000, "k": 50}),
        {"n": 20000, "k": 10},
        {"n": 2000, "k": 10},
    ),
    "graph-normalise": Case(
        "kernel",
        normalise,
        sizes({"n": 20000, "k": 10}),
        sizes({"n": 200000, "k": 10}),
        {"n": 20000, "k": 10},
        {"n": 2000, "k": 10},
    ),
    "propagation-cg": Case(
        "kernel",
        cg,
        sizes({"n": 10000, "C": 14}, {"n": 20000, "C": 50}, k=10),
        sizes({"n": 50000, "C": 50}, {"n": 50000, "C": 50, "labeled": 0.01}, {"n": 200000, "C": 20}, k=10),
        {"n": 4000, "C": 8, "k": 10},
        {"n": 500, "C": 8, "k": 10},
    ),
    "propagation-entries": Case(
        "kernel",
        cg_entries,
        sizes({"n": 10000, "C": 14}, k=10),
        sizes({"n": 20000, "C": 50}, k=10),
        {"n": 4000, "C": 8, "k": 10},
        {"n": 500, "C": 8, "k": 10},
    ),
    "trees-extremely-random": tree_case("extremely randomised trees"),
    "trees-random-forest": tree_case("random forest"),
    "trees-boosted": Case(
        "kernel",
        boosting,
        sizes({"n": 2000, "D": 100, "C": 14}),
        sizes({"n": 10000, "D": 300, "C": 100}),
        {"n": 1200, "D": 30, "C": 5},
        {"n": 300, "D": 10, "C": 3},
    ),
    "mlknn-fit": Case(
        "kernel",
        mlknn_fit,
        sizes({"n": 20000, "C": 100, "k": 10}),
        sizes({"n": 20000, "C": 1000, "k": 10}),
        {"n": 20000, "C": 20, "k": 10},
        {"n": 2000, "C": 20, "k": 10},
    ),
    "mlknn-posterior": Case(
        "kernel",
        mlknn_posterior,
        sizes({"n": 20000, "C": 100, "k": 10}),
        sizes({"n": 20000, "C": 1000, "k": 10}),
        {"n": 20000, "C": 20, "k": 10},
        {"n": 2000, "C": 20, "k": 10},
    ),
    "projection": Case(
        "core",
        projection,
        sizes({"n": 6000, "D": 320, "C": 14}, {"n": 6000, "D": 2000, "C": 14, "values": "csr"}),
        sizes({"n": 6000, "D": 320, "C": 300}, {"n": 20000, "D": 20000, "C": 50, "values": "csr"}),
        {"n": 3000, "D": 200, "C": 14},
        {"n": 200, "D": 30, "C": 5},
    ),
    "measures": Case(
        "core",
        measures,
        sizes({"n": 7077, "C": 22}, {"n": 1744, "C": 153}),
        sizes({"n": 100000, "C": 22}),
        {"n": 3000, "C": 22},
        {"n": 100, "C": 5},
    ),
    "NMLSDR.fit": fit_case("NMLSDR"),
    # At n = 2000 both ways of the ridge, D x D and rows x rows; its largest size is the article's Corel.
    "ResidualPropagation.fit": Case(
        "estimator",
        estimator,
        sizes({"n": 2000, "D": 100}, {"n": 2000, "D": 1000}, C=14, name="ResidualPropagation", call="fit"),
        sizes({"n": 6000, "D": 320, "C": 4}, {"n": 5188, "D": 500, "C": 153}, name="ResidualPropagation", call="fit"),
        {"n": 1000, "D": 60, "C": 10, "name": "ResidualPropagation", "call": "fit"},
        {"n": 120, "D": 20, "C": 4, "name": "ResidualPropagation", "call": "fit"},
    ),
    "ResidualPropagation.fit single answers": Case(
        "estimator",
        single_answers,
        sizes({"n": 2000, "D": 100, "C": 14}),
        sizes({"n": 3000, "D": 400, "C": 100}),
        {"n": 1000, "D": 60, "C": 10},
        {"n": 120, "D": 20, "C": 4},
    ),
    "NMLSDR.transform": fit_case("NMLSDR", call="transform", n=6000),
    "MultiLabelPropagation.fit": fit_case("MultiLabelPropagation"),
    "MLkNN.fit": fit_case("MLkNN"),
    "MLkNN.predict_proba": fit_case("MLkNN", call="predict_proba"),
    "SemiSupervisedMLkNN.fit": fit_case("SemiSupervisedMLkNN"),
    "MDDM.fit projection": fit_case("MDDM", constraint="projection"),
    "MDDM.fit features": fit_case("MDDM", constraint="features"),
    "MVMD.fit": fit_case("MVMD"),
    "MultiLabelCCA.fit": fit_case("MultiLabelCCA"),
    "MLDA.fit binary": fit_case("MLDA"),
    "MLDA.fit dependence": fit_case("MLDA", n=1000, label_weights="dependence", random_state=0),
    "SSMLDR.fit": fit_case("SSMLDR"),
    "pipeline": Case(
        "estimator",
        pipeline,
        sizes({"n": 2000, "D": 100, "C": 14}),
        sizes({"n": 6000, "D": 320, "C": 14}),
        {"n": 1000, "D": 60, "C": 10},
        {"n": 200, "D": 20, "C": 4},
    ),
}


class NotHere(Exception):
    """The version under test does not have what a case measures."""


def build(name: str, parameters: Mapping[str, Any]) -> Work:
    """Make the input of a case; `NotHere` if this version lacks the function."""
    try:
        return CASES[name].make(**parameters)
    except ImportError as error:
        raise NotHere(f"{name} is not in this version: {error}") from error


def label_of(parameters: Mapping[str, Any], n_threads: int | None = None) -> str:
    """A short text such as ``n=4000 D=100 k=10 float32 t2``."""
    shown = [
        str(value) if key in ("dtype", "values") else f"{key}={value}"
        for key, value in parameters.items()
        if key not in ("name", "call", "constraint", "label_weights", "random_state", "kind")
    ]
    return " ".join(shown + ([f"t{n_threads}"] if n_threads else []))


def fitted_exponent(sizes_: Any, amounts: Any) -> float:
    """b of amount = a size^b by least squares on logarithms; NaN below two points."""
    pairs = [(math.log(s), math.log(a)) for s, a in zip(sizes_, amounts, strict=True) if s > 0 and a > 0]
    if len(pairs) < 2:
        return float("nan")
    return float(np.polyfit(*np.array(pairs).T, 1)[0])
