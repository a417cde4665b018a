"""What ResidualPropagation costs, compared with its form without a forest, NMLSDR, logistic regression and a forest.

    python bench/bench_residual.py            # some minutes; keeps residual-cost and residual-memory
    python bench/bench_residual.py --memory   # only residual-memory, which a busy machine does not change
    python bench/bench_residual.py --large    # only large-memory: 100 000 rows, some minutes
    python bench/bench_residual.py --quick    # small sizes, writes nothing

Random rows; a twentieth of the features make each label, and a tenth of the entries are flipped. The methods run in
turns within one run, on one thread, and the fewest CPU seconds of the rounds count.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from unittest.mock import patch

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import _harness
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from nmlsdr import NMLSDR, ResidualPropagation, forest
from nmlsdr._report.rivals import Forest, TunedLogistic

# rows, features, labels, labelled rows
COST = [(200, 20, 6, 200), (500, 50, 6, 500), (1000, 100, 10, 1000), (2000, 300, 14, 2000), (2000, 300, 20, 2000),
        (2000, 300, 20, 600), (6000, 300, 20, 6000)]  # fmt: skip
MEMORY = [(1000, 100, 5, 1000), (6000, 320, 4, 1800), (5188, 500, 153, 1556), (600, 20_000, 10, 180),
          (20_000, 50, 10, 6000), (50_000, 30, 5, 15_000), (10_000, 50, 10, 10_000), (5000, 100, 30, 5000),
          (5000, 100, 100, 5000), (5000, 100, 200, 1500), (5000, 100, 1000, 5000), (2000, 1000, 10, 2000),
          (3000, 3000, 10, 3000), (20_000, 200, 10, 20_000), (20_000, 200, 100, 6000), (20_000, 200, 1000, 6000),
          # the rule of docs/speed.md was not fitted to those from here on
          (30_000, 100, 50, 3000), (8000, 400, 20, 8000), (4000, 60, 60, 1200), (12_000, 30, 8, 12_000),
          (1500, 700, 30, 1500), (2500, 150, 256, 2500), (3000, 40, 500, 900), (1000, 2000, 5, 1000),
          (60_000, 20, 12, 2000)]  # fmt: skip

LARGE = [(50_000, 50, 10), (100_000, 50, 10), (100_000, 100, 10), (100_000, 50, 40)]
STEPS = {
    "search": "kneighbors(X, 10, n_jobs=2)",
    "nmlsdr": "NMLSDR(n_jobs=2).fit(X, Y)",
    "default": "ResidualPropagation(n_jobs=2).fit(X, Y)",
}


def draw(n, D, C, n_labeled=None, seed=0):
    """Rows, and labels of which all rows but ``n_labeled`` (default: 30 % of them) are -1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    scores = X @ (rng.standard_normal((D, C)) * (rng.random((D, C)) < 0.05))
    Y = (scores > np.quantile(scores, 0.95, axis=0)).astype(int)
    Y = np.where(rng.random(Y.shape) < 0.1, 1 - Y, Y)
    Y[rng.permutation(n)[round(0.3 * n) if n_labeled is None else n_labeled :]] = -1
    return X, Y


def seconds_of(call, rounds=1):
    """The fewest CPU seconds of a call."""
    spent = []
    for _ in range(rounds):
        begin = time.process_time()
        call()
        spent.append(time.process_time() - begin)
    return min(spent)


def growth_of(call):
    """The share of a call's CPU seconds that growing forests takes."""
    spent = []

    def grow(*arguments, **settings):
        begin = time.process_time()
        trees = forest.grow_forests(*arguments, **settings)
        spent.append(time.process_time() - begin)
        return trees

    with patch("nmlsdr._estimators._learners.grow_forests", grow):
        return 100 / seconds_of(call) * sum(spent)


def cost(n, D, C, n_labeled, rounds):
    X, Y = draw(n, D, C, n_labeled)
    known = Y[:, 0] >= 0
    methods = {
        "default": ResidualPropagation(n_jobs=1),
        "no_forest": ResidualPropagation(n_estimators=0, n_jobs=1),
        "nmlsdr": NMLSDR(n_jobs=1),
        "logistic": TunedLogistic(),
        "forest": Forest(n_jobs=1),
        "random_forest": RandomForestClassifier(100, n_jobs=1),  # as most people would fit one
    }
    with _harness.threads(1):
        times = {name: [] for name in methods}
        for _ in range(rounds):
            for name, method in methods.items():
                rows = known if name == "random_forest" else slice(None)
                times[name].append(seconds_of(partial(method.fit, X[rows], Y[rows])))
        row = {name: min(spent) for name, spent in times.items()}
        row_seconds = {
            name: seconds_of(partial(methods[name].predict, X[:1]), 9) for name in ("default", "random_forest")
        }
        trees = growth_of(partial(methods["default"].fit, X, Y))
    ratios = {
        "ratio": row["random_forest"] / row["default"],
        "one": row_seconds["random_forest"] / row_seconds["default"],
    }
    return {"n": n, "D": D, "C": C, "l": n_labeled, **row, **ratios, "trees": trees}


def memory(n, D, C, n_labeled):
    """Peak memory beyond X and y, what boosted trees keep of it, and the rest by the rule of docs/speed.md."""
    peak = _harness.peak_memory(
        "from bench_residual import draw, ResidualPropagation\nimport warnings\nwarnings.simplefilter('ignore')\n"
        "ResidualPropagation(n_jobs=1, n_estimators=2).fit(*draw(4000, 600, 20))\n"  # fills the buffers of BLAS
        f"X, Y = draw({n}, {D}, {C}, {n_labeled})\nimport ctypes\n"
        "getattr(ctypes.CDLL(None), 'malloc_trim', int)(0)",  # what these have freed is not to be used again
        "ResidualPropagation(n_jobs=1).fit(X, Y)",
        timeout=3600,
    )
    trees = ResidualPropagation(n_jobs=1).fit(*draw(n, D, C, n_labeled)).forests_[-1]
    boosted = trees.values.nbytes if trees.n_models else 0
    labelled = min(n_labeled, 10_000)
    m = min(D, n_labeled, 3000)
    rule = max(n * (160 + 6 * C) + labelled * (500 + 3 * C), 2 * n * D, 9 * m * m)
    remainder = peak["over"] - boosted
    return {
        "n": n,
        "D": D,
        "C": C,
        "l": n_labeled,
        "over": peak["over"] / 2**20,
        "boosted": boosted / 2**20,
        "rule": 8 * rule / 2**20,
        "times": remainder / (8 * rule),
    }


def large(n, D, C):
    """Peak memory beyond X and y of the search for neighbours and of two fits, and that of the whole process."""
    row = {"n": n, "D": D, "C": C}
    for name, statement in STEPS.items():
        peak = _harness.peak_memory(
            "import warnings\nfrom bench_residual import draw\nfrom nmlsdr import NMLSDR, ResidualPropagation\n"
            f"from nmlsdr.graph import kneighbors\nwarnings.simplefilter('ignore')\nX, Y = draw(300, {D}, {C})\n"
            f"{statement}\nX, Y = draw({n}, {D}, {C})\nimport ctypes\n"
            "getattr(ctypes.CDLL(None), 'malloc_trim', int)(0)",  # what draw has freed is not to be used again
            statement,
            timeout=3600,
        )
        row |= {name: peak["over"] / 2**20, f"{name}_all": peak["peak"] / 2**20}
    return row | {"per_row": row["default"] * 2**20 / (8 * n)}


def save_large():
    rows = [large(*shape) for shape in LARGE]
    _harness.save_table(
        "large-memory",
        command="python bench/bench_residual.py --large",
        title="Peak memory with 100 000 rows beyond X and y, MiB",
        columns=[
            ("n", "n", "d"),
            ("D", "D", "d"),
            ("C", "C", "d"),
            ("search", "kneighbors", ".0f"),
            ("nmlsdr", "NMLSDR", ".0f"),
            ("default", "ResidualPropagation", ".0f"),
            ("per_row", "its numbers of 8 bytes a row", ".0f"),
            ("default_all", "its whole process, X and y included", ".0f"),
        ],
        rows=rows,
        notes="k = 10 neighbours, l = 0.3 n labelled rows, two threads, a fresh process for each number.",
        values={row["C"]: row for row in rows if row["D"] == 50}[10],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    _harness.add_replace(parser)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # rare labels that are never predicted
    if args.quick:
        print(cost(600, 40, 6, 200, 2), memory(600, 40, 6, 200), sep="\n")
        return
    _harness.choose_folder(args.replace)
    if args.large:
        save_large()
        return
    if not args.memory:
        _harness.save_table(
            "residual-cost",
            command="python bench/bench_residual.py",
            title="ResidualPropagation.fit compared with other methods, CPU seconds on one thread",
            columns=[
                ("n", "n", "d"),
                ("D", "D", "d"),
                ("C", "C", "d"),
                ("l", "labelled", "d"),
                ("default", "ResidualPropagation", ".2f"),
                ("no_forest", "without its forests", ".2f"),
                ("nmlsdr", "NMLSDR", ".2f"),
                ("logistic", "logistic regression, its regularisation tuned", ".2f"),
                ("forest", "300 extremely randomised trees", ".2f"),
                ("random_forest", "RandomForestClassifier(100)", ".2f"),
                ("ratio", "its fit / ours", ".2f"),
                ("trees", "ours: growing trees, %", ".0f"),
                ("one", "its predict of a row / ours", ".1f"),
            ],
            rows=[cost(*shape, args.rounds) for shape in COST],
            notes=f"The smallest time of {args.rounds} fits of each method; the methods took turns. "
            "RandomForestClassifier is fitted to the labelled rows. The 300 trees are grown as those of "
            "ResidualPropagation are.",
        )
    _harness.save_table(
        "residual-memory",
        command="python bench/bench_residual.py" + " --memory" * args.memory,
        title="Peak memory of ResidualPropagation.fit beyond X and y, MiB",
        columns=[
            ("n", "n", "d"),
            ("D", "D", "d"),
            ("C", "C", "d"),
            ("l", "labelled", "d"),
            ("over", "needed", ".0f"),
            ("boosted", "of it leaves of boosted trees", ".0f"),
            ("rule", "the rest by the rule", ".0f"),
            ("times", "the rest / the rule", ".2f"),
        ],
        rows=(rows := [memory(*shape) for shape in MEMORY]),
        notes="One thread. The rule of docs/speed.md was fitted to the first 16 sizes.",
        values={"sizes": len(rows), "right": sum(0.75 <= row["times"] <= 1.25 for row in rows)},
    )


if __name__ == "__main__":
    main()
