"""Exact neighbours against faiss, scikit-learn and scipy: ratios within one run, two threads each.

    python bench/bench_neighbours.py                 # every group, about half an hour
    python bench/bench_neighbours.py faiss low       # some groups; the others keep their stored rows
    python bench/bench_neighbours.py low --budget 20 # at most 20 s a cell, but three rounds (default: 8)

Groups: faiss (float32), brute (float64, scikit-learn), hard (integers, binary, duplicates, clusters), sparse, low,
queries (few against many rows), k (5 to 160 neighbours), approximate (hnswlib, pynndescent), integers (products of
16-bit integers against those of float32), intel (scikit-learn-intelex, processor time), memory. The result file is
written after each cell. The groups sparse and integers also take the article's data from NMLSDR_SHARED (default
../shared) if they are there.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "2")

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import numpy as np
from _harness import (
    INTEL,
    RESULTS,
    add_replace,
    alternate,
    alternate_with_cpu,
    better_half,
    by_intel,
    carried,
    choose_folder,
    gemm_gflops,
    peak_memory,
    save_table,
    threads,
)
from scipy import sparse
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from nmlsdr import _graph, graph
from nmlsdr._process.threads import simd
from nmlsdr._search.rows import kernel_rows
from nmlsdr.datasets import load_mulan

N_THREADS = 2
K = 10
GROUPS = [
    "faiss",
    "brute",
    "hard",
    "sparse",
    "low",
    "queries",
    "k",
    "approximate",
    "integers",
    "vnni",
    "intel",
    "memory",
]
INTEGERS = "vnni" if _graph.SIMD_LEVELS[simd()] == "vnni" else "integers"  # NMLSDR_SIMD=avx2 for the other
SHARED = Path(os.environ.get("NMLSDR_SHARED", Path(__file__).resolve().parent.parent.parent / "shared"))
SIZES = [(10_000, 100), (10_000, 500), (20_000, 320), (20_000, 32), (20_000, 8), (40_000, 120)]
COLUMNS = [
    ("group", "group", "s"),
    ("work", "work", "s"),
    ("peer", "against", "s"),
    ("ours", "nmlsdr", ".3f s"),
    ("theirs", "peer", ".3f s"),
    ("ratio", "peer / nmlsdr", ".2f x"),
    ("share", "of sgemm", ".0%"),
    ("rounds", "rounds", "d"),
]


def entry(group, work, peer, ours, theirs, *, rounds, share=None):
    """One row of the table."""
    return {
        "group": group,
        "work": work,
        "peer": peer,
        "ours": ours,
        "theirs": theirs,
        "ratio": theirs / ours,
        "share": share,
        "rounds": rounds,
    }


def gauss(n, d, dtype=np.float32):
    return np.random.default_rng(0).standard_normal((n, d)).astype(dtype)


def ours(X, k=K):
    return lambda: graph.kneighbors(X, k, n_jobs=N_THREADS)


def brute(X, k=K):
    return lambda: NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=N_THREADS).fit(X).kneighbors()


def flat(X, k=K):
    return lambda: built_flat(X, X, k + 1)()


def built_brute(X, queries):
    index = NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=N_THREADS).fit(X)
    return lambda: index.kneighbors(queries)


def built_flat(X, queries, k=K):
    import faiss

    faiss.omp_set_num_threads(N_THREADS)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return lambda: index.search(queries, k)


def tree(X):
    return lambda: cKDTree(X).query(X, K + 1, workers=N_THREADS)


def hard_cases():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20_000, 100))
    side = np.where(rng.random((20_000, 1)) < 0.5, 1.0, -1.0)
    yield "folded, 10 inner dimensions, 20 000 x 128", folded(20_000, 128, np.float64)
    yield "counts 6000 x 320", rng.poisson(3.0, (6000, 320)).astype(float)
    yield "binary, 10 % ones, 20 000 x 50", (rng.random((20_000, 50)) < 0.1).astype(float)
    yield "every row twice, 20 000 x 100", np.repeat(rows[:10_000], 2, axis=0)
    yield "two clusters, width / gap 5e-4, 20 000 x 100", rows * 1e-2 + 10 * side
    yield "two clusters, width / gap 5e-7, 20 000 x 100", rows * 1e-3 + 1e3 * side


def sparse_cases():
    """Rows as sparse as tmc2007-500 (22.6 ones of 500 features, frequencies by a power law), then the set itself."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1, 501) ** 0.7
    frequency *= 22.6 / frequency.sum()
    yield "CSR 21 519 x 500", sparse.csr_array((rng.random((21_519, 500)) < np.minimum(frequency, 0.9)).astype(float))
    folder = SHARED / "data" / "tmc2007-500"
    if folder.is_dir():
        bunch = load_mulan(folder / "tmc2007-500-train.arff.gz", folder / "tmc2007-500.xml")
        yield "tmc2007-500 train, CSR 21 519 x 500", sparse.csr_array(bunch.data)
    else:
        print(f"{folder} is not here: the row of tmc2007-500 is left out", flush=True)


def groups():
    for n, d in SIZES:
        yield "faiss", f"gaussian float32 {n} x {d}", gauss(n, d), {"faiss IndexFlatL2": flat}
    for n, d in SIZES:
        yield "brute", f"gaussian float64 {n} x {d}", gauss(n, d, np.float64), {"scikit-learn brute": brute}
    for work, X in hard_cases():
        yield "hard", work, X, {"scikit-learn brute": brute}
    for work, X in sparse_cases():
        yield "sparse", work, X, {"scikit-learn CSR": brute, "scikit-learn dense": lambda X: brute(X.toarray())}
    for d in (3, 8):
        yield "low", f"gaussian float64 100 000 x {d}", gauss(100_000, d, np.float64), {"scipy cKDTree": tree}


def measure_queries(save, sizes=(1, 16, 100, 1000), n=100_000, n_features=100):
    """Queries against rows: the peers have built their index before, this package looks at the rows at every call."""
    rows = []
    X = gauss(n, n_features)
    for q in sizes:
        queries = gauss(n + q, n_features)[n:]
        with threads(N_THREADS):
            contestants = {
                "nmlsdr": lambda queries=queries: graph.kneighbors(X, K, queries=queries, n_jobs=N_THREADS),
                "scikit-learn brute": built_brute(X, queries),
                "faiss IndexFlatL2": built_flat(X, queries),
            }
            times = alternate(contestants, rounds=20)
        base = better_half(times["nmlsdr"])
        for name in list(contestants)[1:]:
            work = f"{q} of {n} x {n_features} float32"
            rows.append(entry("queries", work, name, base, better_half(times[name]), rounds=len(times[name])))
            print(rows[-1], flush=True)
        save(rows)


def measure_k(save, ks=(5, 10, 20, 40, 80, 160), n=4000, n_features=100):
    """One set, more and more neighbours: the products stay, the selection grows.  All take turns, so that k = 80 may be
    compared with k = 5."""
    rows = []
    X = gauss(n, n_features)
    makers = {"nmlsdr": ours, "scikit-learn brute": brute, "faiss IndexFlatL2": flat}
    with threads(N_THREADS):
        times = alternate({(k, name): make(X, k) for k in ks for name, make in makers.items()}, rounds=16)
    for k in ks:
        base = better_half(times[k, "nmlsdr"])
        for name in list(makers)[1:]:
            work = f"k = {k}: gaussian float32 {n} x {n_features}"
            theirs = better_half(times[k, name])
            rows.append(entry("k", work, name, base, theirs, rounds=len(times[k, name])))
            print(rows[-1], flush=True)
    save(rows)


def folded(n, d, dtype=np.float32):
    """Rows near a curved surface of 10 dimensions, as real features are: what indexes are made for."""
    rng = np.random.default_rng(0)
    inner = rng.standard_normal((n, 10))
    bent = np.tanh(inner @ rng.standard_normal((10, d)) / 3)
    return (bent + 0.01 * rng.standard_normal((n, d))).astype(dtype)


def hnsw(X):
    """(build, then ask at each effort) of hnswlib with its usual construction parameters."""
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=16, ef_construction=200, random_seed=0)
    index.set_num_threads(N_THREADS)
    index.add_items(X)

    def ask(ef, rows):
        index.set_ef(ef)
        return index.knn_query(rows, K + 1)[0]

    return ask, (20, 50, 100, 200, 400, 800, 1600)


def descent(X):
    """pynndescent has no separate question here: the graph of its rows is what it builds."""
    from pynndescent import NNDescent

    def ask(n_neighbors, rows):
        return NNDescent(X, n_neighbors=n_neighbors, random_state=0, n_jobs=N_THREADS).neighbor_graph[0][: len(rows)]

    return ask, (K + 5, 2 * K, 3 * K, 6 * K)


def found_share(exact, neighbours):
    """Recall: the row itself may be among the found, and is not among the exact."""
    return float(np.mean([len(set(a) & set(b)) / K for a, b in zip(exact, neighbours, strict=False)]))


def measure_approximate(save, sizes=(20_000, 50_000, 100_000, 200_000), n_features=128):
    """Exact search against building an index and asking it for all rows, at the least effort with a recall of .95.

    One run a size.  The effort is chosen by the recall of the first 2000 rows and only the accepted question is timed,
    which flatters the peers.  Compilation is not timed: a small set goes first.  A peer that took twenty times as long
    is not asked for more rows of that kind.
    """
    rows = []
    lost = set()
    for kind, make in (("folded, 10 inner dimensions,", folded), ("gaussian", gauss)):
        for n in sizes:
            X = make(n, n_features)
            start = time.perf_counter()
            _, exact = graph.kneighbors(X, K, n_jobs=N_THREADS)
            base = time.perf_counter() - start
            for name, index in (("hnswlib", hnsw), ("pynndescent", descent)):
                if (kind, name) in lost:
                    continue
                ask, efforts = index(X[:5000])
                for effort in efforts:
                    ask(effort, X[:5000])
                start = time.perf_counter()
                ask, efforts = index(X)
                build = time.perf_counter() - start
                for effort in efforts:
                    start = time.perf_counter()
                    recall = found_share(exact[:2000], ask(effort, X[:2000]))
                    if recall >= 0.95 or time.perf_counter() - start > 20 * base:
                        break
                start = time.perf_counter()
                ask(effort, X)
                spent = time.perf_counter() - start
                work = f"{kind} float32 {n} x {n_features}"
                peer = f"{name}, recall {recall:.2f}, effort {effort}"
                rows.append(entry("approximate", work, peer, base, build + spent, rounds=1))
                print(rows[-1], flush=True)
                if build + spent > 20 * base:
                    lost.add((kind, name))
            save(rows)


def clusters(n, d):
    rng = np.random.default_rng(0)
    centres = 3 * rng.standard_normal((30, d))
    return (centres[rng.integers(0, 30, n)] + rng.standard_normal((n, d))).astype(np.float32)


def integer_cases():
    """Work, rows, and a number of neighbours; what matters most comes first, because all of it takes half an hour."""
    for name in ("corel16k001", "enron", "scene", "tmc2007-500", "yeast"):
        folder = SHARED / "data" / name
        if folder.is_dir():
            (xml,) = folder.glob("*.xml")
            (arff,) = folder.glob("*-train.arff.gz")
            X = load_mulan(arff, xml).data
            X = X.toarray() if sparse.issparse(X) else X
            spread = X.std(axis=0)
            yield f"{name} as it is {len(X)} x {X.shape[1]}", X, 10
            standardised = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
            yield f"{name} standardised {len(X)} x {X.shape[1]}", standardised, 10
    sizes = [(50_000, 320), *((n, d) for n in (5000, 10_000, 20_000) for d in (64, 100, 320, 1000))]
    small = [(n, d) for n, d in sizes if n * d <= 2_000_000]
    for k, shapes in ((10, sizes), (80, small), (1, small)):
        for n, d in shapes:
            yield f"gaussian {n} x {d}", gauss(n, d), k
            yield f"30 clusters {n} x {d}", clusters(n, d), k


def by_products(X, k, integers, n_threads):
    """The search by products alone: of floats (0), or of what is chosen (-1)."""
    results = np.empty((len(X), k)), np.empty((len(X), k), np.intp)

    def search():
        index = _graph.Index(kernel_rows(X), level=simd(), n_threads=n_threads)
        running = _graph.Search(index, None, *results, n_threads=n_threads, method="products")
        running.start(n_threads, integers=integers)
        while running.step(1000.0):
            pass

    return search


def measure_integers(save):
    """Products as they are chosen against products of float32, which were the only ones before."""
    rows = []
    for name, X, k in integer_cases():
        X = np.ascontiguousarray(X)
        for n_threads in (1, N_THREADS):
            with threads(n_threads):
                contestants = {m: by_products(X, k, m, n_threads) for m in (0, -1)}
                times = alternate(contestants, rounds=9, budget=4, min_rounds=1 if len(X) > 20_000 else 2)
            base = better_half(times[-1])
            theirs = better_half(times[0])
            share = X.shape[0] ** 2 * X.shape[1] / base / 1e9 / gemm_gflops(n_threads=n_threads)
            work = f"{name}, k = {k}, {n_threads} thread{'s' if n_threads > 1 else ''}"
            peer = "products of float32"
            rows.append(entry(INTEGERS, work, peer, base, theirs, rounds=len(times[0]), share=share))
            print(rows[-1], flush=True)
        save(rows)


def measure_intel(save, sizes=((20_000, 64), (20_000, 100), (50_000, 320)), ks=(1, 10, 80)):
    """The nearest rival, by the processor time of all threads, since it ignores the limits of the others."""
    rows = []
    for n, d in sizes:
        X = gauss(n, d)
        for k in ks:
            for n_threads in (1, N_THREADS):
                with threads(n_threads):
                    search = lambda X=X, k=k, n=n_threads: graph.kneighbors(X, k, n_jobs=n)  # noqa: E731
                    contestants = {"nmlsdr": search, INTEL: by_intel(X, k, n_threads)}
                    _, cpu = alternate_with_cpu(contestants, rounds=5, budget=20, min_rounds=3)
                work = f"processor time, gaussian float32 {n} x {d}, k = {k}, {n_threads} thread{'s' * (n_threads > 1)}"
                medians = (better_half(cpu[name]) for name in contestants)
                rows.append(entry("intel", work, INTEL, *medians, rounds=len(cpu[INTEL])))
                print(rows[-1], flush=True)
        save(rows)


def measure_memory():
    setup = """
        import numpy as np
        from nmlsdr import graph
        X = np.random.default_rng(0).standard_normal((200_000, 128), dtype=np.float32)
        graph.kneighbors(X[:2000], 10, n_jobs=2)
    """
    over = peak_memory(setup, "graph.kneighbors(X, 10, n_jobs=2)", timeout=1200)["over"]
    return {"memory_200k_x_128_mb": over / 1e6}


def main(group_names, budget, replace):
    choose_folder(replace)
    rows = []
    runs = {}
    if replace:
        rows, runs = stored_table()

    def save():
        save_table(
            "neighbours",
            title="Exact neighbours, two threads, k = 10 where it is not said",
            command="python bench/bench_neighbours.py",
            columns=COLUMNS,
            rows=sorted(rows, key=lambda row: GROUPS.index(row["group"])),
            values=values,
            runs=runs,
            notes="Medians of the better half of alternating rounds. Share of sgemm: the search counts as n^2 D "
            "operations. Their number per second is divided by that of OpenBLAS's product of square float32 matrices "
            "on two threads, measured beside it.",
        )

    values = {}
    for group, work, X, peers in groups():
        if is_chosen(group, group_names):
            rows[:] = [row for row in rows if row["work"] != work]
            rows += measure_peers(group, work, X, peers, budget)
            save()
    measures = {"queries": measure_queries, "k": measure_k, "approximate": measure_approximate}
    measures |= {INTEGERS: measure_integers, "intel": measure_intel}
    for group, measure in measures.items():
        if is_chosen(group, group_names):
            stored = [row for row in rows if row["group"] != group]

            def keep(group_rows, stored=stored):
                rows[:] = stored + group_rows
                save()

            measure(keep)
    if is_chosen("memory", group_names):
        values.update(measure_memory())
    values.update(summary_values(rows))
    save()


def is_chosen(group, group_names):
    return not group_names or group in group_names


def stored_table():
    """The rows and runs of the result file, which stay if not measured again, but for those of uncommitted changes."""
    path = RESULTS / "neighbours.json"
    if not path.exists():
        return [], {}
    rows, runs = carried(json.loads(path.read_text()))
    return [row for row in rows if not row["run"].endswith("+")], runs


def measure_peers(group, work, X, peers, budget):
    """One row for each peer on these data."""
    with threads(N_THREADS):
        contestants = {"nmlsdr": ours(X), **{name: make(X) for name, make in peers.items()}}
        times = alternate(contestants, rounds=8, budget=budget, min_rounds=3)
    base = better_half(times["nmlsdr"])
    share = None
    if group == "faiss":
        share = X.shape[0] ** 2 * X.shape[1] / base / 1e9 / gemm_gflops(n_threads=N_THREADS)
    rows = []
    for name in peers:
        theirs = better_half(times[name])
        rows.append(entry(group, work, name, base, theirs, rounds=len(times[name]), share=share))
        print(rows[-1], flush=True)
    return rows


def summary_values(rows):
    """The geometric mean of the ratios of each group, and the cost of more neighbours."""
    values = {}
    by_k = {row["work"].split(":")[0]: row["ours"] for row in rows if row["group"] == "k"}
    if by_k:
        values["k_80_over_5"] = by_k["k = 80"] / by_k["k = 5"]
    for group in ("faiss", "brute", "integers", "vnni", "intel"):
        group_ratios = [row["ratio"] for row in rows if row["group"] == group]
        if group_ratios:
            values[f"{group}_geometric_mean"] = float(np.exp(np.mean(np.log(group_ratios))))
    return values


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Neighbour search against its peers.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"any of {', '.join(GROUPS)} (default: all)")
    parser.add_argument("--budget", type=float, help="seconds after which a cell starts no new round (default: none)")
    add_replace(parser)
    arguments = parser.parse_args()
    if unknown := set(arguments.groups) - set(GROUPS):  # argparse's choices refuse an empty list
        parser.error(f"no group {', '.join(sorted(unknown))}; choose from {', '.join(GROUPS)}")
    main(set(arguments.groups), arguments.budget, arguments.replace)
