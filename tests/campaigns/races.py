"""Every parallel kernel on small random data, for a build with the thread sanitizer; opt-in.

    python tests/campaigns/races.py                 2, 3 and 4 threads; README.md says how to build for it
    python tests/campaigns/races.py --seed 7 --together

The sanitizer reports what it sees.  The answers are held against one thread's, bit for bit; the exit status is 1 if
they differ.  ``--together`` runs searches from two Python threads at once, each with its team.
"""

import argparse
import os
import sys
import threading
from pathlib import Path
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing of BLAS is instrumented

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from neighbor_cases import LEVELS, by_few, by_groups, by_index, by_leads, by_products, by_scan, by_tree

from nmlsdr import forest, graph, mlknn, propagation
from nmlsdr._search import run
from nmlsdr._solvers import system

# small as the data are, threads start
graph._EDGES_PER_THREAD = mlknn._LABELS_PER_THREAD = 1
system.WORK_PER_THREAD = run._WORK_PER_THREAD = forest.WORTH_A_THREAD = forest._WORTH_SCORING = 1


def searches(rng, n_threads):
    """Name and answer of every way of searching, dense and CSR, float64 and float32, rows and queries."""
    X = rng.standard_normal((1500, 40))
    tight = np.repeat(rng.standard_normal((6, 12)) * 1e6, 200, axis=0) + rng.standard_normal((1200, 12))
    sparse_rows = sparse.random_array((1500, 300), density=0.03, format="csr", random_state=rng)
    seeds = rng.integers(2**32, size=2)
    for dtype in (np.float64, np.float32):
        rows = X.astype(dtype)
        narrow_rows = X[:, :5].astype(dtype)
        for level in LEVELS:
            yield f"products {level}", by_products(rows, 7, level=level, n_threads=n_threads)[:2]
            query_neighbors = by_products(rows, 7, queries=rows[:700], level=level, n_threads=n_threads)
            yield f"products of queries {level}", query_neighbors[:2]
            yield f"leads {level}", by_leads(rows, 7, level=level, n_threads=n_threads)[:2]
            yield f"tree {level}", by_tree(narrow_rows, 7, level=level, n_threads=n_threads)[:2]
            yield f"few {level}", by_few(rows, rows[:20] + 1, 7, level=level, n_threads=n_threads)
            yield f"index {level}", by_index(rows, rows[:70] + 1, 7, level=level, n_threads=n_threads)[:2]
        for postings in (0, 1):
            csr = sparse_rows.astype(dtype)
            yield f"csr {postings}", by_products(csr, 7, postings=postings, n_threads=n_threads)[:2]
        yield "scan", by_scan(rows[:400], 7, n_threads=n_threads)
    for seed in seeds:
        yield "groups", by_groups(tight, 7, np.random.default_rng(seed), n_threads=n_threads)


def method(rng, n_threads):
    """Name and answer of what follows a search: graphs, T, propagation by every solver, ML-kNN's counts, forests."""
    X = rng.standard_normal((3000, 12))
    Y = (rng.random((3000, 37)) < 0.2).astype(np.uint8)
    indices = graph.kneighbors(X, 10, n_jobs=n_threads)[1]
    for weights in ("binary", "rbf"):
        W = graph.neighbor_graph(X, 10, edge_weights=weights, n_jobs=n_threads)
        T = graph.transition_matrix(W, n_jobs=n_threads)
        yield f"{weights} W", (W.data, W.indices, W.indptr)
        yield f"{weights} T", (T.data, T.indices, T.indptr)
        for solver in ("auto", "cg", "fixed_point", "lu"):
            size = 500 if solver == "lu" else 3000
            part_of_graph = (
                W if size == len(X) else graph.neighbor_graph(X[:size], 10, edge_weights=weights, n_jobs=n_threads)
            )
            alpha = np.where(np.arange(size) % 3 == 0, 0.0, 0.99)
            propagation_result = propagation.propagate(
                part_of_graph, Y[:size], alpha, labeled=np.arange(size) % 3 == 0, solver=solver, n_jobs=n_threads
            )
            yield f"{weights} {solver}", (propagation_result.F,)
    table = mlknn.fit_posterior(Y, indices, n_jobs=n_threads)
    yield "posterior", (mlknn.posterior(table, Y, indices, n_jobs=n_threads),)
    options = {"n_estimators": 8, "random_state": 0, "n_jobs": n_threads}
    for rows in (X[:300], sparse.csr_array(X[:300])):
        grown, predictions, _ = forest.grow_forests(rows, Y[:300].astype(float), **options)
        yield "forests", (*predictions, *forest.score_by_forests(grown, X, n_threads))


def answers(seed, n_threads):
    """All of it on the same data, whatever the number of threads."""
    named_answers = list(searches(np.random.default_rng(seed), n_threads))
    for level in ("portable", ""):  # the sanitizer sees no vectors wider than 16 bytes; "": the best at hand
        with mock.patch.dict(os.environ, NMLSDR_SIMD=level):
            named_answers += method(np.random.default_rng(seed), n_threads)
    return named_answers


def together(seed):
    """Two Python threads that search at once: no state is shared but what is read."""
    X = np.random.default_rng(seed).standard_normal((1500, 20))
    neighbors = {}

    def search(name):
        neighbors[name] = by_products(X, 5, n_threads=2)[:2] + by_tree(X[:, :4].copy(), 5, n_threads=2)[:2]

    threads = [threading.Thread(target=search, args=(name,)) for name in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [
        name for name, (a, b) in enumerate(zip(neighbors[0], neighbors[1], strict=True)) if not np.array_equal(a, b)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--together", action="store_true")
    options = parser.parse_args()
    if options.together:
        wrong = together(options.seed)
        print(f"two Python threads: {len(wrong)} answers differ")
        return bool(wrong)
    expected = answers(options.seed, 1)
    wrong = []
    for n_threads in options.threads:
        for (name, answer), (_, threaded_answer) in zip(expected, answers(options.seed, n_threads), strict=True):
            if not all(np.array_equal(a, b) for a, b in zip(answer, threaded_answer, strict=True)):
                wrong.append((n_threads, name))
        print(f"{n_threads} threads: {len(expected)} answers, {len(wrong)} differ from one thread's so far", flush=True)
    for n_threads, name in wrong:
        print(f"{name} on {n_threads} threads differs")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
