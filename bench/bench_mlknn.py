"""ML-kNN against scikit-multilearn-ng, and what counting costs beside the neighbour search.

python bench/bench_mlknn.py            # about two minutes; writes results/mlknn*.json
python bench/bench_mlknn.py --quick    # sizes / 4, prints, writes nothing
"""

from __future__ import annotations

import argparse
import warnings

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import numpy as np
from _harness import add_replace, alternate, better_half, choose_folder, save_table

from nmlsdr import MLkNN, mlknn
from nmlsdr._checks.labels import check_binary
from nmlsdr.graph import kneighbors

N_JOBS = 2


def draw(n, D, C, seed=0):
    """Rows around 50 centres; a label is more frequent near some centres: about 3 labels a row."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(50, D))
    habits = rng.random((50, C)) ** 8 * 27 / C
    home = rng.integers(50, size=n)
    X = centres[home] + 0.7 * rng.normal(size=(n, D))
    return X, (rng.random((n, C)) < habits[home]).astype(int)


def peer_row(n, C, D, rounds):
    """Fit on n rows, posteriors of n other rows, for both programs in turns."""
    from skmultilearn.adapt import MLkNN as Peer

    X, Y = draw(2 * n, D, C)
    rows = X[:n]
    queries = X[n:]
    Y = Y[:n]

    def peer():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Peer(k=10).fit(rows, Y).predict_proba(queries)

    MLkNN(10, n_jobs=N_JOBS).fit(rows[:200], Y[:200]).predict_proba(queries[:200])  # the peer is too slow for a warm-up
    times = alternate(
        {
            "ours": lambda: MLkNN(10, n_jobs=N_JOBS).fit(rows, Y).predict_proba(queries),
            "ours, 1 thread": lambda: MLkNN(10, n_jobs=1).fit(rows, Y).predict_proba(queries),
            "peer": peer,
        },
        rounds=rounds,
        warmup=0,
    )
    best = {name: better_half(values) for name, values in times.items()}
    return {
        "n": n,
        "C": C,
        "D": D,
        "ours": 1e3 * best["ours"],
        "one": 1e3 * best["ours, 1 thread"],
        "peer": 1e3 * best["peer"],
        "ratio": best["peer"] / best["ours"],
        "ratio_one": best["peer"] / best["ours, 1 thread"],
    }


def share_row(n, C, D, rounds):
    """Counting and posterior beside the two neighbour searches that they need."""
    X, Y = draw(2 * n, D, C)
    rows = X[:n]
    queries = X[n:]
    Y = check_binary(Y[:n])
    inner = kneighbors(rows, 10, n_jobs=N_JOBS)[1]
    outer = kneighbors(rows, 10, queries=queries, n_jobs=N_JOBS)[1]
    table = mlknn.fit_posterior(Y, inner, n_jobs=N_JOBS)
    times = alternate(
        {
            "search, fit": lambda: kneighbors(rows, 10, n_jobs=N_JOBS),
            "search, predict": lambda: kneighbors(rows, 10, queries=queries, n_jobs=N_JOBS),
            "counting": lambda: mlknn.fit_posterior(Y, inner, n_jobs=N_JOBS),
            "posterior": lambda: mlknn.posterior(table, Y, outer, n_jobs=N_JOBS),
        },
        rounds=rounds,
    )
    best = {name: 1e3 * better_half(values) for name, values in times.items()}
    search = best["search, fit"] + best["search, predict"]
    return {
        "n": n,
        "C": C,
        "D": D,
        "search_fit": best["search, fit"],
        "counting": best["counting"],
        "search_predict": best["search, predict"],
        "posterior": best["posterior"],
        "share": 100 * (best["counting"] + best["posterior"]) / search,
        "share_fit": 100 * best["counting"] / best["search, fit"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=["peer", "share"])
    add_replace(parser)
    options = parser.parse_args()
    choose_folder(options.replace)
    scale, rounds = (4, 2) if options.quick else (1, 4)
    if options.only != "share":
        peers = [peer_row(4000 // scale, 14, 50, rounds), peer_row(1000 // scale, 100, 20, rounds)]
        report(
            "mlknn_peer",
            peers,
            options.quick,
            title="ML-kNN: fit and predict_proba of n other rows, k = 10",
            notes="scikit-multilearn-ng 0.0.8 counts a row as its own neighbour; its label counts are Python loops.",
            columns=[
                ("n", "rows", "d"),
                ("C", "labels", "d"),
                ("D", "features", "d"),
                ("ours", "nmlsdr", ".0f ms"),
                ("one", "1 thread", ".0f ms"),
                ("peer", "scikit-multilearn-ng", ".0f ms"),
                ("ratio", "ratio", ".0f x"),
                ("ratio_one", "ratio, 1 thread", ".0f x"),
            ],
        )
    if options.only != "peer":
        shares = [share_row(20000 // scale, 100, D, rounds) for D in (50, 10, 3)]
        report(
            "mlknn_share",
            shares,
            options.quick,
            title="ML-kNN: counting and posterior beside the search, k = 10",
            notes="Fit searches among the n rows, predict among them for n others; share is of both searches.",
            columns=[
                ("n", "rows", "d"),
                ("C", "labels", "d"),
                ("D", "features", "d"),
                ("search_fit", "search in fit", ".0f ms"),
                ("counting", "counting", ".1f ms"),
                ("search_predict", "search in predict", ".0f ms"),
                ("posterior", "posterior", ".1f ms"),
                ("share", "share", ".1f %"),
                ("share_fit", "share in fit", ".1f %"),
            ],
        )


def report(name, rows, quick, **table):
    for row in rows:
        print({key: round(value, 2) for key, value in row.items()})
    if not quick:
        save_table(name, command="python bench/bench_mlknn.py", rows=rows, facts={"threads": N_JOBS}, **table)


if __name__ == "__main__":
    main()
