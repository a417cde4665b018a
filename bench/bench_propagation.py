"""Measure the propagation: against peers, against memory bandwidth, iterations, label flips, one large problem.

    python bench/bench_propagation.py speed-30        # n = 50 000, C = 50, 30 % labelled, against scipy's cg
    python bench/bench_propagation.py speed-1         # the same at 1 %
    python bench/bench_propagation.py speed-200k      # n = 200 000, C = 16, 30 % labelled
    python bench/bench_propagation.py speed-1m        # n = 1 000 000, C = 20, 30 % labelled; a minute or more of search
    python bench/bench_propagation.py amg             # against pyamg's smoothed aggregation at 1 %
    python bench/bench_propagation.py peers           # Toy against splu; n = 10 000 against LabelSpreading
    python bench/bench_propagation.py sweep           # time of a sweep against the time to stream its bytes
    python bench/bench_propagation.py iterations      # against n and the labelled fraction
    python bench/bench_propagation.py accuracy        # errors against residuals, beside a dense solution
    python bench/bench_propagation.py small           # "cg" against "lu" on small problems
    python bench/bench_propagation.py flips           # are flipped labels found?  (data sets: NMLSDR_SHARED)
    python bench/bench_propagation.py large           # n = 250 000 to 2 000 000

Each writes bench/results/propagation-PART.json; ``python bench/tables.py`` shows them in docs/theory.md
and bench/README.md.
Every contestant must leave a residual max |(I - A T) F - (I - A) Y| of at most 1e-8; this is checked.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import numpy as np
from _harness import (
    add_replace,
    alternate,
    alternate_with_cpu,
    better_half,
    choose_folder,
    copy_gbytes,
    peak_memory,
    save_table,
    threads,
)
from scipy import sparse
from scipy.sparse import linalg

from nmlsdr import MultiLabelPropagation, datasets
from nmlsdr._checks.arguments import check_graph
from nmlsdr._solvers import conjugate_gradients, system
from nmlsdr.graph import neighbor_graph, transition_matrix
from nmlsdr.propagation import propagate

TOL = 1e-8
N_THREADS = 2
ALPHA_L = 0.6
ALPHA_U = 0.999


def mixture(n, n_features=20, seed=0):
    """Rows around 20 centres: a graph with hubs and no useful order of its rows."""
    rng = np.random.default_rng(seed)
    centres = 1.5 * rng.standard_normal((20, n_features))
    return centres[rng.integers(20, size=n)] + rng.standard_normal((n, n_features))


def problem(n, n_labels, share, n_features=20, k=10):
    rng = np.random.default_rng(1)
    W = neighbor_graph(mixture(n, n_features), k, n_jobs=N_THREADS)
    labeled = rng.random(n) < share
    Y = ((rng.random((n, n_labels)) < 0.2) & labeled[:, None]).astype(float)
    return W, Y, np.where(labeled, ALPHA_L, ALPHA_U), labeled


def residual(W, Y, alpha, F):
    return float(np.abs(F - alpha[:, None] * (transition_matrix(W) @ F) - (1 - alpha)[:, None] * Y).max())


def symmetric_system(W, Y, alpha):
    """(A^-1 D~ - W~), its right-hand sides and its diagonal preconditioner, as a user of scipy would write them."""
    scale = sparse.diags(1 / np.sqrt(W.sum(axis=1)))
    W_tilde = sparse.csr_array(scale @ W @ scale)
    row_sums = W_tilde.sum(axis=1)
    matrix = sparse.csr_array(sparse.diags(row_sums / alpha) - W_tilde)
    return matrix, (row_sums * (1 / alpha - 1))[:, None] * Y, sparse.diags(alpha / row_sums)


def scipy_columns(matrix, right, M, rtol):
    return np.column_stack([linalg.cg(matrix, right[:, c], rtol=rtol, M=M)[0] for c in range(right.shape[1])])


def loosest(solve, W, Y, alpha):
    """The largest relative tolerance with which a peer meets TOL, tried on four labels."""
    for rtol in (1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 3e-9, 1e-9, 1e-10, 1e-11):
        if residual(W, Y[:, :4], alpha, solve(rtol, 4)) <= TOL / 2:  # other labels need a little more
            return rtol
    raise RuntimeError("the peer does not meet the residual")


def row(work, name, times, ours="nmlsdr", **more):
    base = better_half(times[ours])
    peer = better_half(times[name])
    print(f"{work}: {name} {peer:.3f} s, nmlsdr {base:.3f} s, ratio {peer / base:.1f}", flush=True)
    return {"work": work, "peer": name, "seconds": base, "peer_seconds": peer, "ratio": peer / base, **more}


SPEED = [
    ("work", "work", "s"),
    ("peer", "peer", "s"),
    ("ratio", "ratio", ".1f x"),
    ("seconds", "nmlsdr, s", ".3f"),
    ("peer_seconds", "peer, s", ".3f"),
    ("sweeps", "sweeps", "d"),
    ("rtol", "peer's rtol", ".0e"),
]


def speed(n, n_labels, share, rounds, few=None):
    """Ours against scipy's set-up and columns; of many columns scipy solves a few, which are scaled to all of them."""
    W, Y, alpha, labeled = problem(n, n_labels, share)
    few = n_labels if few is None else few
    found = {}

    def ours():
        found["nmlsdr"] = propagate(W, Y, alpha, labeled=labeled, tol=TOL, n_jobs=N_THREADS)

    def setup():
        found["system"] = symmetric_system(W, Y, alpha)

    def columns():
        matrix, right, M = found["system"]
        with threads(1):  # two threads of OpenBLAS spin where other work runs: 22 s of CPU instead of 2.2
            found["scipy"] = scipy_columns(matrix, right[:, :few], M, rtol)

    setup()
    matrix, right, M = found["system"]
    rtol = loosest(lambda tol, count: scipy_columns(matrix, right[:, :count], M, tol), W, Y, alpha)
    contestants = {"nmlsdr": ours, "setup": setup, "columns": columns}
    with threads(N_THREADS):
        times, cpu = alternate_with_cpu(contestants, rounds=rounds, warmup=0)
    assert residual(W, Y, alpha, found["nmlsdr"].F) <= TOL
    name = "scipy.sparse.linalg.cg, label by label"
    for each in (times, cpu):
        each[name] = [better_half(each["setup"]) + better_half(each["columns"]) * n_labels / few]
    least = (min(times["setup"]) + min(times["columns"]) * n_labels / few) / min(times["nmlsdr"])
    work = f"n = {n:_}, k = 10, C = {n_labels}, {share:.0%} labelled".replace("_", " ")
    more = {
        "sweeps": found["nmlsdr"].n_iter,
        "rtol": rtol,
        "cpu": better_half(cpu["nmlsdr"]),
        "solved": few,
        "least": least,
        "cpu_ratio": better_half(cpu[name]) / better_half(cpu["nmlsdr"]),
    }
    return [row(work, name, times, **more)]


SPEED_LARGE = [
    *SPEED,
    ("least", "ratio of the least", ".1f x"),
    ("solved", "labels the peer solved", "d"),
    ("cpu", "nmlsdr, CPU s", ".3f"),
    ("cpu_ratio", "ratio of CPU seconds", ".1f x"),
]


def batch_of(problem_system, columns):
    """A batch that is swept for ever."""
    goal = system.Goal(np.zeros(problem_system.Y.shape[1]), None, None)
    F = problem_system.first_iterate(None)
    return conjugate_gradients._Batch(problem_system, problem_system.sweep_values(), F, columns, goal)


def amg():
    """Smoothed aggregation on few-label problems: its set-up is not counted; four labels show the ratio."""
    return [amg_row(n_features) for n_features in (20, 2)]


def amg_row(n_features):
    import pyamg

    W, few, alpha, labeled = problem(50_000, 4, 0.01, n_features)
    matrix, right, _ = symmetric_system(W, few, alpha)
    matrix = sparse.csr_matrix(matrix)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    began = time.perf_counter()
    levels = pyamg.smoothed_aggregation_solver(matrix, max_coarse=500)
    setup = time.perf_counter() - began
    M = levels.aspreconditioner()
    sweeps = []

    def solve(rtol, count):
        sweeps.clear()
        return np.column_stack(
            [linalg.cg(matrix, right[:, c], rtol=rtol, M=M, callback=sweeps.append)[0] for c in range(count)]
        )

    rtol = loosest(solve, W, few, alpha)
    times = alternate(
        {
            "nmlsdr": lambda: propagate(W, few, alpha, labeled=labeled, tol=TOL, n_jobs=N_THREADS),
            "cg with pyamg smoothed aggregation": lambda: solve(rtol, 4),
        },
        rounds=2,
        warmup=0,
    )
    result = propagate(W, few, alpha, labeled=labeled, tol=TOL)
    work = f"n = 50 000, {n_features} features, 4 labels, 1 % labelled"
    more = {"sweeps": result.n_iter, "peer_sweeps": len(sweeps) // 4, "setup": setup}
    return row(work, "cg with pyamg smoothed aggregation", times, rtol=rtol, **more)


def peers():
    rows = []
    toy = datasets.make_toy(random_state=0)
    X = (toy.data - toy.data.mean(axis=0)) / toy.data.std(axis=0)
    y = datasets.mask_labels(datasets.flip_labels(toy.target, 0.1, random_state=1), 0.5, random_state=2)
    labeled = y[:, 0] != -1
    Y = np.where(labeled[:, None], y, 0.0)
    alpha = np.where(labeled, ALPHA_L, ALPHA_U)
    W = neighbor_graph(X, 10, n_jobs=N_THREADS)

    def lu():
        matrix = sparse.csc_array(sparse.identity(len(Y)) - sparse.diags(alpha) @ transition_matrix(W))
        return linalg.splu(matrix).solve((1 - alpha)[:, None] * Y)

    with threads(N_THREADS):
        ours = lambda: propagate(W, Y, alpha, labeled=labeled, tol=TOL, n_jobs=N_THREADS)  # noqa: E731
        times = alternate({"nmlsdr": ours, "scipy splu(I - A T).solve": lu}, rounds=2, warmup=0)
        times["nmlsdr"] += alternate({"nmlsdr": ours}, rounds=20)["nmlsdr"]
        result = ours()
        assert residual(W, Y, alpha, result.F) <= TOL
    rows.append(row("Toy, n = 6000, C = 4", "scipy splu(I - A T).solve", times, sweeps=result.n_iter))
    rows.append(label_spreading())
    return rows


def label_spreading():
    from sklearn.semi_supervised import LabelSpreading

    n = 10_000
    C = 14
    X = mixture(n)
    rng = np.random.default_rng(3)
    Y = (X @ rng.standard_normal((20, C)) > 0).astype(int)
    y = np.where(rng.random((n, 1)) < 0.3, Y, -1)

    def spreading():
        return [
            LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.6, n_jobs=N_THREADS).fit(X, y[:, c]) for c in range(C)
        ]

    model = MultiLabelPropagation(n_jobs=N_THREADS)
    name = "scikit-learn LabelSpreading(kernel='knn') once per label, with its searches"
    with threads(N_THREADS):
        times = alternate({"nmlsdr": lambda: model.fit(X, y), name: spreading}, rounds=2, warmup=0)
    assert model.residual_ <= TOL
    return row("n = 10 000, C = 14, estimators with the search", name, times, sweeps=model.n_iter_)


def sweep():
    rows = []
    for n, C in ((50_000, 50), (50_000, 16), (200_000, 16)):
        W, Y, alpha, labeled = problem(n, C, 0.3)
        problem_system = system.System(check_graph(W), Y, alpha, labeled, N_THREADS)
        batches = [slice(first, min(first + 32, C)) for first in range(0, C, 32)]

        def passes(batch):
            return lambda: batch.advance(8)

        seconds = 0.0
        copy = []
        for columns in batches:
            batch = batch_of(problem_system, columns)
            copy.append(copy_gbytes(n_threads=N_THREADS, rounds=3))
            seconds += min(alternate({"sweep": passes(batch)}, rounds=8)["sweep"]) / 8
        bandwidth = max(copy) * 1e9
        double = 12 * W.nnz + 34 * n * C
        single = 4 * W.nnz * len(batches) + 34 * n * C
        rows.append(
            {
                "work": f"n = {n}, C = {C}, {W.nnz / n:.1f} neighbours",
                "milliseconds": 1e3 * seconds,
                "stream": 1e3 * double / bandwidth,
                "ratio": seconds * bandwidth / double,
                "moved": single / 1e6,
                "ratio_moved": seconds * bandwidth / single,
                "gather": 2 * C * W.nnz / 1e6,
                "copy": bandwidth / 1e9,
            }
        )
        print(rows[-1], flush=True)
    columns = [
        ("work", "work", "s"),
        ("milliseconds", "sweep, ms", ".2f"),
        ("copy", "copy, GB/s", ".1f"),
        ("stream", "copy of 12 nnz + 34 n C bytes, ms", ".2f"),
        ("ratio", "ratio", ".2f x"),
        ("moved", "read and written in order, MB", ".0f"),
        ("ratio_moved", "ratio to their copy", ".2f x"),
        ("gather", "read out of order, MB", ".0f"),
    ]
    return columns, rows


def iterations():
    rows = []
    for n in (1_000, 4_000, 16_000, 50_000):
        for share in (0.01, 0.1, 0.3, 1.0):
            W, Y, alpha, labeled = problem(n, 8, share)
            problem_system = system.System(check_graph(W), Y, alpha, labeled, N_THREADS)
            operator = _symmetric_operator(problem_system)
            top = linalg.eigsh(operator, k=1, which="LA", return_eigenvectors=False, tol=1e-6)[0]
            plain = propagate(W, Y, alpha, labeled=labeled, tol=TOL, solver="fixed_point") if n <= 16_000 else None
            rows.append(
                {
                    "n": n,
                    "share": 100 * share,
                    "radius": top,
                    "condition": (1 + top) / (1 - top),
                    "cg": propagate(W, Y, alpha, labeled=labeled, tol=TOL).n_iter,
                    "cg12": propagate(W, Y, alpha, labeled=labeled, tol=1e-12).n_iter,
                    "fixed_point": None if plain is None else plain.n_iter,
                }
            )
            print(rows[-1], flush=True)
    columns = [
        ("n", "n", "d"),
        ("share", "labelled", ".0f %"),
        ("radius", "largest eigenvalue of A T", ".5f"),
        ("condition", "condition number at most", ".0f"),
        ("cg", "cg, 1e-8", "d"),
        ("cg12", "cg, 1e-12", "d"),
        ("fixed_point", "eq. (6), 1e-8", "d"),
    ]
    return columns, rows


def _symmetric_operator(problem_system):
    """A^1/2 D~^-1/2 W~ D~^-1/2 A^1/2, which has the eigenvalues of A T (binary graph)."""
    scale = sparse.diags(np.sqrt(problem_system.factors().k[:, 0].astype(np.float64)))
    return scale @ problem_system.W @ scale


def accuracy():
    """Errors against a dense solution; and what the usual test, a relative 2-norm, leaves where some alpha are tiny."""
    rows = []
    for n in (300, 1_000, 3_000):
        for share in (0.01, 0.1, 0.3, 1.0):
            W, Y, alpha, labeled = problem(n, 8, share)
            result = propagate(W, Y, alpha, labeled=labeled, tol=TOL)
            error = np.abs(result.F - dense_solution(W, Y, alpha)).max()
            trusted = alpha.copy()
            trusted[np.flatnonzero(labeled)[::2]] = 1e-9
            usual = scipy_columns(*symmetric_system(W, Y, trusted), 1e-8)
            others = trusted > 1e-9
            rows.append(
                {
                    "n": n,
                    "share": 100 * share,
                    "residual": result.residual,
                    "error": error,
                    "ratio": error / result.residual,
                    "bound": result.error_bound,
                    "usual": np.abs(usual - dense_solution(W, Y, trusted))[others].max(),
                }
            )
            print(rows[-1], flush=True)
    columns = [
        ("n", "n", "d"),
        ("share", "labelled", ".0f %"),
        ("residual", "residual", ".1e"),
        ("error", "error", ".1e"),
        ("ratio", "error / residual", ".1f"),
        ("bound", "error_bound", ".1e"),
        ("usual", "error by the 2-norm rule", ".2f"),
    ]
    toy = datasets.make_toy(random_state=0)
    degrees = np.diff(neighbor_graph((toy.data - toy.data.mean(axis=0)) / toy.data.std(axis=0), 10).indptr)
    ratios = [row["ratio"] for row in rows]
    values = {
        "least_ratio": min(ratios),
        "largest_ratio": max(ratios),
        "usual": max(row["usual"] for row in rows),
        "toy_hub": int(degrees.max()),
    }
    return columns, rows, values


def dense_solution(W, Y, alpha):
    return np.linalg.solve(np.eye(len(Y)) - alpha[:, None] * transition_matrix(W).toarray(), (1 - alpha)[:, None] * Y)


def small():
    rows = []
    for n in (30, 100, 300, 1_000, 3_000):
        for free in (ALPHA_U, 1 - 1e-7):
            W, Y, alpha, labeled = problem(n, 8, 0.3)
            alpha[~labeled] = free
            contestants = {
                solver: lambda solver=solver, W=W, Y=Y, alpha=alpha, labeled=labeled: propagate(
                    W, Y, alpha, labeled=labeled, tol=TOL, solver=solver, n_jobs=N_THREADS
                )
                for solver in ("cg", "lu")
            }
            with threads(N_THREADS):
                times = alternate(contestants, rounds=20, budget=20.0)
            cg = better_half(times["cg"])
            lu = better_half(times["lu"])
            rows.append({"n": n, "free": 1 - free, "cg": 1e3 * cg, "lu": 1e3 * lu, "ratio": lu / cg})
            print(rows[-1], flush=True)
    columns = [
        ("n", "n", "d"),
        ("free", "1 - alpha of unlabelled rows", ".0e"),
        ("cg", '"cg", ms', ".1f"),
        ("lu", '"lu", ms', ".1f"),
        ("ratio", '"lu" / "cg"', ".1f x"),
    ]
    larger = [row["ratio"] for row in rows if row["n"] >= 300]
    return columns, rows, {"least_ratio": min(larger), "largest_ratio": max(larger)}


def flips():
    home = Path(os.environ.get("NMLSDR_SHARED", Path(__file__).resolve().parent.parent.parent / "shared")) / "data"
    rows = []
    for name in ("toy", "emotions", "scene", "yeast"):
        bunch = datasets.make_toy(random_state=0) if name == "toy" else datasets.paper_split(name, home)
        X = np.asarray(bunch.data.toarray() if sparse.issparse(bunch.data) else bunch.data, dtype=float)
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        truth = np.asarray(bunch.target)
        for alpha in (0.6, 0.9):
            results = []
            for seed in range(5):
                given = datasets.flip_labels(truth, 0.1, random_state=seed)
                wrong = (given != truth).ravel()
                model = MultiLabelPropagation(alpha_labeled=alpha, n_jobs=N_THREADS).fit(X, given)
                found = model.label_flips_.ravel()
                scores = model.flip_scores_.ravel()
                order = np.argsort(-scores, kind="stable")
                hits = wrong[order]
                area = float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())
                results.append((found[wrong].mean(), wrong[found].mean(), area, hits[: wrong.sum()].mean()))
            mean = np.mean(results, axis=0)
            rows.append(
                {
                    "data": name,
                    "alpha": alpha,
                    "wrong": int(wrong.sum()),
                    "recall": mean[0],
                    "precision": mean[1],
                    "area": mean[2],
                    "first": mean[3],
                    "spread": float(np.std(results, axis=0)[2]),
                }
            )
            print(rows[-1], flush=True)
    columns = [
        ("data", "training rows of", "s"),
        ("alpha", "alpha_labeled", ".1f"),
        ("wrong", "wrong entries", "d"),
        ("precision", "precision of label_flips_", ".3f"),
        ("recall", "recall of label_flips_", ".3f"),
        ("area", "area under precision-recall of flip_scores_", ".3f"),
        ("spread", "its standard deviation over the seeds", ".3f"),
        ("first", "precision of as many first entries as are wrong", ".3f"),
    ]
    return columns, rows


LARGE_SETUP = """
import sys, time
sys.path.insert(0, {here!r})
import numpy as np
from scipy import sparse
from nmlsdr.propagation import propagate
n, k, C = {n}, 10, 20
rng = np.random.default_rng(0)
near = (np.arange(n)[:, None] + rng.integers(1, n, (n, k // 2))) % n   # a random regular-like graph: no locality at all
W = sparse.csr_array((np.ones(n * (k // 2), np.float64), (np.repeat(np.arange(n), k // 2), near.ravel())), shape=(n, n))
W = sparse.csr_array(W + W.T); W.data[:] = 1; W.sort_indices()
labeled = rng.random(n) < 0.3
Y = ((rng.random((n, C)) < 0.2) & labeled[:, None]).astype(float)
alpha = np.where(labeled, 0.6, 0.999)
propagate(W[:100, :100] + W[:100, :100].T, Y[:100], 0.5, labeled=np.ones(100, bool))
"""
LARGE_RUN = """
began, worked = time.perf_counter(), time.process_time()
result = propagate(W, Y, alpha, labeled=labeled, n_jobs=2)
seconds, cpu = time.perf_counter() - began, time.process_time() - worked
open({out!r}, "w").write(" ".join(map(str, (seconds, cpu, result.n_iter, result.residual, W.nnz))))
"""


def large():
    import tempfile

    rows = []
    for n in (250_000, 500_000, 1_000_000, 2_000_000):
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "out")
            memory = peak_memory(
                LARGE_SETUP.replace("{n}", str(n)).replace("{here!r}", repr(str(Path(__file__).parent))),
                LARGE_RUN.replace("{out!r}", repr(out)),
            )
            seconds, cpu, sweeps, left, nnz = Path(out).read_text().split()
        rows.append(
            {
                "work": f"n = {n:_}, k = 10, C = 20".replace("_", " "),
                "nnz": int(nnz),
                "seconds": float(seconds),
                "cpu": float(cpu),
                "each": 1e9 * float(cpu) / (n * 20 * int(sweeps)),
                "sweeps": int(sweeps),
                "residual": float(left),
                "peak": memory["peak"] / 2**30,
                "over": memory["over"] / 2**30,
            }
        )
        print(rows[-1], flush=True)
    columns = [
        ("work", "work", "s"),
        ("nnz", "entries", "d"),
        ("seconds", "seconds", ".1f"),
        ("cpu", "CPU s", ".1f"),
        ("each", "CPU ns per entry of F and sweep", ".2f"),
        ("sweeps", "sweeps", "d"),
        ("residual", "residual", ".1e"),
        ("peak", "peak memory, GiB", ".2f"),
        ("over", "of it beyond W and Y, GiB", ".2f"),
    ]
    return columns, rows


PARTS = {
    "speed-30": ("Propagation against scipy, 30 % labelled", lambda: (SPEED_LARGE, speed(50_000, 50, 0.3, 8))),
    "speed-1": ("Propagation against scipy, 1 % labelled", lambda: (SPEED_LARGE, speed(50_000, 50, 0.01, 2))),
    "speed-200k": ("200 000 rows against scipy", lambda: (SPEED_LARGE, speed(200_000, 16, 0.3, 6, few=4))),
    "speed-1m": ("1 000 000 rows against scipy", lambda: (SPEED_LARGE, speed(1_000_000, 20, 0.3, 2, few=2))),
    "amg": (
        "Smoothed aggregation",
        lambda: ([*SPEED, ("peer_sweeps", "peer's sweeps", "d"), ("setup", "its set-up, s", ".2f")], amg()),
    ),
    "peers": ("Propagation against LU and LabelSpreading", lambda: (SPEED, peers())),
    "sweep": ("A sweep against memory bandwidth", sweep),
    "iterations": ("Iterations against n and the labelled fraction", iterations),
    "accuracy": ("Errors and residuals, 8 labels", accuracy),
    "small": ("Conjugate gradients and LU on small problems: 8 labels, 30 % labelled", small),
    "flips": ("Finding flipped labels: 10 % of all entries flipped, all rows labelled, 5 seeds", flips),
    "large": ("Growth to 2 000 000 rows on two cores", large),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    add_replace(parser)
    options = parser.parse_args()
    choose_folder(options.replace)
    part = options.part
    title, measure = PARTS[part]
    columns, rows, *values = measure()
    command = f"python bench/bench_propagation.py {part}"
    save_table(f"propagation-{part}", title=title, command=command, columns=columns, rows=rows, values=dict(*values))
    return 0


if __name__ == "__main__":
    sys.exit(main())
