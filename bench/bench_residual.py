"""What ResidualPropagation costs beside NMLSDR, and what memory a fit needs beside what its data need.

    python bench/bench_residual.py            # about a minute; keeps residual-cost and residual-memory
    python bench/bench_residual.py --quick    # small sizes, writes nothing

Random rows of which a twentieth of the features make each label, a tenth of the entries flipped, 30 % labelled. Times
alternate within one run and the fastest of the rounds counts: whatever else the machine does adds and never takes away.
"""

from __future__ import annotations

import argparse
import warnings

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import _harness
import numpy as np

from nmlsdr import NMLSDR, ResidualPropagation

COST = [(6000, 320, 4), (5188, 500, 153)]
MEMORY = [(6000, 320, 4), (5188, 500, 153), (600, 20000, 10), (20000, 50, 10), (5000, 100, 200)]
LIMIT = 4.0  # what a fit may cost, in fits of NMLSDR


def draw(n, D, C, seed=0):
    """Rows, and labels of which 70 % are -1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    scores = X @ (rng.standard_normal((D, C)) * (rng.random((D, C)) < 0.05))
    Y = (scores > np.quantile(scores, 0.95, axis=0)).astype(int)
    Y = np.where(rng.random(Y.shape) < 0.1, 1 - Y, Y)
    Y[rng.random(n) >= 0.3] = -1
    return X, Y


def cost(n, D, C, n_threads, rounds):
    X, Y = draw(n, D, C)
    with _harness.threads(n_threads):
        times = _harness.alternate(
            {
                "nmlsdr": lambda: NMLSDR(n_jobs=n_threads).fit(X, Y),
                "residual": lambda: ResidualPropagation(n_jobs=n_threads).fit(X, Y),
            },
            rounds=rounds,
        )
    best = {name: 1e3 * min(seconds) for name, seconds in times.items()}
    return {"n": n, "D": D, "C": C, "threads": n_threads, **best, "ratio": best["residual"] / best["nmlsdr"]}


def memory(n, D, C):
    found = _harness.peak_memory(
        f"from bench_residual import draw, ResidualPropagation\nimport warnings\nwarnings.simplefilter('ignore')\n"
        f"X, Y = draw({n}, {D}, {C})\nResidualPropagation(n_jobs=2).fit(*draw(300, 60, 4))",
        "ResidualPropagation(n_jobs=2).fit(X, Y)",
    )
    smaller = min(int(0.3 * n), D)
    need = 8 * (n * D + smaller**2 + n * C)
    return {"n": n, "D": D, "C": C, "over": found["over"] / 2**20, "need": need / 2**20, "times": found["over"] / need}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=12)
    _harness.add_replace(parser)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # rare labels that are never predicted
    if args.quick:
        print(cost(600, 40, 6, 2, 3), memory(600, 40, 6), sep="\n")
        return
    _harness.choose_folder(args.replace)
    rows = [cost(*shape, n_threads, args.rounds) for shape in COST for n_threads in (1, 2)]
    _harness.save_table(
        "residual-cost",
        command="python bench/bench_residual.py",
        title="ResidualPropagation.fit beside NMLSDR.fit, milliseconds",
        columns=[("n", "n", "d"), ("D", "D", "d"), ("C", "C", "d"), ("threads", "threads", "d"),
                 ("nmlsdr", "NMLSDR", ".0f"), ("residual", "ResidualPropagation", ".0f"), ("ratio", "ratio", ".2f x")],
        rows=rows,
        values={"largest_ratio": max(row["ratio"] for row in rows if row["threads"] == 2)},
        notes=f"30 % of the rows labelled, the fastest of {args.rounds} rounds in turns. The limit is {LIMIT:g} x on "
        "two threads.",
    )  # fmt: skip
    _harness.save_table(
        "residual-memory",
        command="python bench/bench_residual.py",
        title="Peak memory of ResidualPropagation.fit beyond X and y, MiB",
        columns=[("n", "n", "d"), ("D", "D", "d"), ("C", "C", "d"), ("over", "needed", ".0f"),
                 ("need", "nD + min(l, D)^2 + nC numbers", ".0f"), ("times", "times", ".1f")],
        rows=[memory(*shape) for shape in MEMORY],
        notes="l = .3 n labelled rows, two threads.",
    )  # fmt: skip


if __name__ == "__main__":
    main()
