"""Random neighbour problems by every way of searching, against arithmetic that cannot be wrong.

    python tests/campaigns/neighbours.py                       100 000 problems, some ten minutes of one core
    python tests/campaigns/neighbours.py --problems 2000 --seed 7
    python tests/campaigns/neighbours.py --replay 4711         one problem again, with its data in words

Opt-in.  Problem i of a seed is drawn from ``default_rng([seed, i])``; the ways of searching take turns, each at every
SIMD level of this processor, or only at the one that NMLSDR_SIMD forces, on one, two and three threads.  What is found
must be, to the bit, what the definition says: all canonical squared distances (float64, eight sums, by NumPy), sorted
by (squared distance, row).  Where all values are integers whose squares float64 holds, the canonical distances
themselves are held against sums of integers; elsewhere one of every 50th problem is held against fractions, with the
bound (d / 8 + 8) 2^-53.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # teams of three on a core or two

import numpy as np
from scipy import sparse

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from neighbor_cases import (  # noqa: E402
    LEVELS,
    by_few,
    by_groups,
    by_index,
    by_leads,
    by_products,
    by_scan,
    by_tree,
    rounded_apart_rows,
    swamped_rows,
    takes,
)

from nmlsdr import _graph, graph  # noqa: E402
from nmlsdr._process.threads import SIMD_LEVELS, simd  # noqa: E402
from nmlsdr._search.rows import kernel_rows  # noqa: E402

# ---------------------------------------------------------------- the truth


def canonical(X: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Squared distances (q, n) as they are defined: eight sums of (x_j - y_j)^2 in float64, in increasing j."""
    X = X.astype(np.float64)
    Q = Q.astype(np.float64)
    sums = np.zeros((len(Q), len(X), 8))
    for first in range(0, X.shape[1], 8):
        part = slice(first, first + 8)
        gap = Q[:, None, part] - X[None, :, part]
        sums[:, :, : gap.shape[2]] += gap * gap
    a = np.moveaxis(sums, 2, 0)
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))


def nearest(squared: np.ndarray, k: int, *, itself: bool) -> tuple[np.ndarray, np.ndarray]:
    """The k first of each row in the order (squared distance, row)."""
    columns = np.broadcast_to(np.arange(squared.shape[1]), squared.shape)
    key = np.where(columns == np.arange(len(squared))[:, None], np.inf, squared) if itself else squared
    order = np.lexsort((columns, key), axis=1)[:, :k]  # with k below n the own row comes after all others
    return np.take_along_axis(squared, order, axis=1), order


def assert_distances_are_right(X: np.ndarray, Q: np.ndarray, squared: np.ndarray, i: int) -> str:
    """The canonical distances themselves: exact on integers, within their bound on one row of the others."""
    d = X.shape[1]
    integers = all(
        (side == np.floor(side)).all() and np.abs(side).max(initial=0) < 2.0**26 / max(1, d) for side in (X, Q)
    )
    if integers:
        rows = X.astype(np.int64)
        integer_queries = Q.astype(np.int64)
        exact = sum((integer_queries[:, None, j] - rows[None, :, j]) ** 2 for j in range(d))
        assert (squared == exact).all(), "a canonical distance of integers is not exact"
        return "integers"
    if i % 50:
        return ""
    j = i // 50 % len(X)
    exact = sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(Q[0], X[j], strict=True))
    bound = exact * Fraction(d // 8 + 8, 2**53) + (d + 1) * Fraction(5e-324)
    assert abs(Fraction(float(squared[0, j])) - exact) <= bound, "a canonical distance is beyond its bound"
    return "fractions"


# ---------------------------------------------------------------- data


def near_integers(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Integers, all but a few entries, around a centre of up to 1e12."""
    X = rng.integers(-3, 4, shape) + float(10 ** rng.integers(0, 13)) * rng.integers(0, 2, (1, shape[1]))
    off = rng.random(shape) < rng.choice([0.002, 0.05, 0.5])
    return X + off * 2.0 ** -rng.integers(1, 90, shape)


def large_integers(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    below, above = 2 ** rng.integers(3, 25, 2)
    return rng.integers(-below, above, shape).astype(float)


def binary_with_noise(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    X = (rng.random(shape) < 0.3).astype(float)
    X[:, 0] += 10.0 ** -rng.integers(10, 300) * rng.permutation(shape[0])
    return X


def clusters(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    n, d = shape
    centres = 10.0 ** rng.integers(0, 6) * rng.standard_normal((int(rng.integers(2, 6)), d))
    return centres[rng.integers(0, len(centres), n)] + 10.0 ** -rng.integers(0, 9) * rng.standard_normal(shape)


def swamped(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Rounding errors of products that all point the same way."""
    n, d = shape
    if d < 6:
        return rng.standard_normal(shape)
    query, rows = swamped_rows(
        d, 2.0 ** -rng.choice([24, 53]), copies=max(1, n // 4), share=rng.uniform(0.3, 1), rng=rng
    )
    X = np.concatenate([query, rows])[:n]
    X = np.concatenate([X, X[rng.integers(0, len(X), n - len(X))]]) if len(X) < n else X
    return X[rng.permutation(n)]


def rounded_apart(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Rounding to 16-bit integers that moves the nearest row away and all others nearer."""
    n, d = shape
    if d < 6:
        return rng.standard_t(2, shape)
    query, rows = rounded_apart_rows(d, copies=max(1, n // 4))
    X = np.concatenate([query, rows])[:n]
    X = np.concatenate([X, X[rng.integers(0, len(X), n - len(X))]]) if len(X) < n else X
    return X[rng.permutation(n)]


FAMILIES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "gauss": lambda rng, shape: rng.standard_normal(shape),
    "integers": lambda rng, shape: rng.integers(-4, 5, shape).astype(float),
    "large integers": large_integers,
    "near integers": near_integers,
    "binary": lambda rng, shape: (rng.random(shape) < rng.choice([0.05, 0.3, 0.5])).astype(float),
    "binary with noise": binary_with_noise,
    "rounded": lambda rng, shape: np.round(rng.standard_normal(shape), int(rng.integers(0, 3))),
    "duplicates": lambda rng, shape: rng.standard_normal(shape)[rng.integers(0, max(1, shape[0] // 5), shape[0])],
    "all equal": lambda rng, shape: np.full(shape, rng.standard_normal()),
    "last bits": lambda rng, shape: np.nextafter(np.ones(shape), 2.0 + rng.integers(-1, 2, shape)),
    "clusters": clusters,
    "swamped": swamped,
    "outlier": lambda rng, shape: rng.standard_normal(shape) * np.where(rng.random((shape[0], 1)) < 0.1, 1e12, 1.0),
    "rows of all scales": lambda rng, shape: rng.standard_normal(shape) * 10.0 ** rng.integers(-40, 40, (shape[0], 1)),
    "columns of all scales": lambda rng, shape: rng.standard_normal(shape) * 10.0 ** rng.integers(-30, 30, shape[1]),
    "heavy tails": lambda rng, shape: rng.standard_t(2, shape),
    "log-normal": lambda rng, shape: np.exp(2 * rng.standard_normal(shape)),
    "constant columns": lambda rng, shape: np.where(rng.random(shape[1]) < 0.5, rng.standard_normal(shape), 7.3),
    "all errors of rounding to integers add up": rounded_apart,
    "mostly zeros": lambda rng, shape: rng.standard_normal(shape) * (rng.random(shape) < 0.15),
}


class Problem(NamedTuple):
    X: np.ndarray
    Q: np.ndarray | None
    k: int
    words: str


def draw(rng: np.random.Generator, strategy: Strategy) -> Problem:
    """Rows, queries and k that the strategy takes, moved and scaled."""
    d = int(rng.choice(strategy.features))
    n = int(
        rng.choice(
            [2, 3, 5, 9, 17, 40, 70, 95, 96, 97, 130, 193], p=np.array([1, 1, 2, 3, 4, 4, 3, 1, 1, 1, 1, 1]) / 23
        )
    )
    q = int(rng.choice(strategy.queries))
    family = str(rng.choice(list(FAMILIES)))
    X = FAMILIES[family](rng, (max(n, 2), d))
    words = family
    if rng.random() < 0.3:
        offset = float(10 ** rng.integers(0, 13))
        X = X + offset * (rng.random((1, d)) < 0.5)
        words += f", offset {offset:g}"
    exponent = 0
    if rng.random() < 0.4:
        exponent = int(rng.integers(-160, 151))
        top = np.abs(X).max()
        exponent = min(exponent, 149 - int(np.ceil(np.log10(top))) if top > 0 else 149)
        X = X * 10.0**exponent
        words += f", scale 1e{exponent}"
    if rng.random() < 0.3 and np.abs(X).max() < 1e37:
        X = X.astype(np.float32)
        words += ", float32"
    Q = None
    if q:
        Q = X[rng.integers(0, len(X), q)]
        Q = Q if rng.random() < 0.5 else (Q * rng.choice([0.5, 0.75, 1, 1.001], (q, 1))).astype(X.dtype)
        Q = np.ascontiguousarray(Q)
    largest_k = len(X) - (Q is None)
    k = min(largest_k, int(rng.choice([1, 2, 3, 10, 33, 200])))
    return Problem(np.ascontiguousarray(X), Q, k, f"{words}, {X.shape}, q={q}, k={k}")


# ---------------------------------------------------------------- ways


class Strategy(NamedTuple):
    """A way of searching, forced; ``search(X, Q, k, level, n_threads, rng)``."""

    search: Callable[..., tuple[np.ndarray, np.ndarray]]
    features: tuple[int, ...]
    queries: tuple[int, ...]  # 0: the rows among themselves
    levels: bool = True  # whether it has SIMD levels


def csr(rows: np.ndarray | None, rng: np.random.Generator) -> Any:
    if rows is None:
        return None
    csr_rows = sparse.csr_array(rows)
    index = np.int64 if rng.random() < 0.3 else np.int32
    return sparse.csr_array(
        (csr_rows.data, csr_rows.indices.astype(index), csr_rows.indptr.astype(index)), shape=csr_rows.shape
    )


def products(dense: bool, **fixed: Any) -> Callable[..., Any]:
    def search(X: np.ndarray, Q: Any, k: int, level: int, n_threads: int, rng: np.random.Generator) -> Any:
        rows = X
        query_rows = Q
        if not dense:
            index = rng.integers(2**31)
            rows, query_rows = (csr(side, np.random.default_rng(index)) for side in (X, Q))
        options = {"window_bytes": float(rng.choice([1.0, 1e9])), "budget": float(rng.choice([1.0, 64.0]))}
        return by_products(rows, k, queries=query_rows, level=level, n_threads=n_threads, **options, **fixed)[:2]

    return search


def door(X: np.ndarray, Q: Any, k: int, level: int, n_threads: int, rng: np.random.Generator) -> Any:
    if rng.random() < 0.4:
        index = rng.integers(2**31)
        X, Q = (csr(side, np.random.default_rng(index)) for side in (X, Q))
    return graph.squared_neighbors(X, k, queries=Q, n_jobs=n_threads)


def sparse_scan(X: np.ndarray, Q: Any, k: int, level: int, n_threads: int, rng: np.random.Generator) -> Any:
    index = rng.integers(2**31)
    rows, query_rows = (csr(side, np.random.default_rng(index)) for side in (X, Q))
    return by_scan(rows, k, queries=query_rows, n_threads=n_threads)


def prepared(X: np.ndarray, Q: Any, k: int, level: int, n_threads: int, rng: np.random.Generator) -> Any:
    """Rows that were packed before; queries beyond what their bounds hold for are declined and go pair by pair."""
    index = _graph.Index(kernel_rows(X), packed=True, level=level, n_threads=n_threads)
    if not takes(index, Q):
        return by_few(X, Q, k, level=level, n_threads=n_threads)
    return by_index(X, Q, k, level=level, n_threads=n_threads)[:2]


def entry_points(folder: str) -> Callable[..., Any]:
    """The C interface, by a package that cimports it, built here."""
    import nmlsdr

    shutil.copytree(HERE.parent / "embedding", folder, dirs_exist_ok=True)

    environment = {**os.environ, "PYTHONPATH": str(Path(nmlsdr.__file__).parent.parent)}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    sys.path.insert(0, folder)
    embedder: Any = __import__("nearest")

    def search(X: np.ndarray, Q: Any, k: int, level: int, n_threads: int, rng: np.random.Generator) -> Any:
        n_queries = len(X if Q is None else Q)
        outputs = np.empty((n_queries, k)), np.empty((n_queries, k), np.intp)
        code = embedder.own(X, *outputs, k, n_threads) if Q is None else embedder.to(X, Q, *outputs, k, n_threads)
        assert code == 0
        return outputs

    return search


FEW = (1, 2, 7, 24)
MANY = (0, 0, 1, 25, 100)
NARROW = (1, 2, 3, 4, 5, 7, 8)
WIDE = (9, 12, 16, 17, 33, 60, 193)
ANY = NARROW + WIDE


def strategies(folder: str) -> dict[str, Strategy]:
    return {
        "pairs": Strategy(
            lambda X, Q, k, level, t, rng: by_scan(X, k, queries=Q, n_threads=t), ANY, MANY, levels=False
        ),
        "pairs, CSR": Strategy(sparse_scan, ANY, MANY, levels=False),
        "products": Strategy(products(True, integers=0), ANY, MANY),
        "products of 16-bit integers": Strategy(products(True, integers=16), ANY, MANY),
        "products of 16-bit integers, CSR": Strategy(products(False, postings=0, integers=16), ANY, MANY),
        "products, CSR packed": Strategy(products(False, postings=0), ANY, MANY),
        "products, CSR postings": Strategy(products(False, postings=1), ANY, MANY),
        "few": Strategy(lambda X, Q, k, level, t, rng: by_few(X, Q, k, level=level, n_threads=t), ANY, FEW),
        "prepared": Strategy(prepared, ANY, FEW),
        "tree": Strategy(
            lambda X, Q, k, level, t, rng: by_tree(X, k, queries=Q, level=level, n_threads=t)[:2], NARROW, MANY
        ),
        "groups": Strategy(
            lambda X, Q, k, level, t, rng: by_groups(X, k, rng, queries=Q, n_threads=t), WIDE, MANY, levels=False
        ),
        "leading coordinates": Strategy(
            lambda X, Q, k, level, t, rng: by_leads(
                X, k, queries=Q, integers=int(rng.choice([0, 16])), level=level, n_threads=t
            )[:2],
            (33, 40, 70),
            MANY,
        ),
        "C entry points": Strategy(entry_points(folder), ANY, MANY + FEW, levels=False),
        "the door": Strategy(door, ANY, MANY + FEW, levels=False),
    }


# ---------------------------------------------------------------- the campaign


def solve(i: int, seed: int, turns: list[tuple[str, Strategy, int, int]]) -> tuple[str, str, str]:
    """The complaint about problem i, or "", what its distances were held against, and the problem in words."""
    name, strategy, level, n_threads = turns[i % len(turns)]
    rng = np.random.default_rng([seed, i])
    problem = draw(rng, strategy)
    words = f"{name}, {SIMD_LEVELS[level]}, {n_threads} threads: {problem.words}"
    with np.errstate(all="ignore"):
        query_rows = problem.X if problem.Q is None else problem.Q
        squared = canonical(problem.X, query_rows)
        try:
            against = assert_distances_are_right(problem.X, query_rows, squared, i)
            expected = nearest(squared, problem.k, itself=problem.Q is None)
            answer = strategy.search(problem.X, problem.Q, problem.k, level, n_threads, rng)
            for part, true in zip(answer, expected, strict=True):
                assert np.array_equal(part, true), (
                    f"{int((part != true).any(axis=1).sum())} of {len(true)} rows are wrong"
                )
        except Exception as error:
            return f"{type(error).__name__}: {error}", "", words
    return "", against, words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=int, help="number of one problem")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    against: Counter[str] = Counter()
    wrong = 0
    levels = [simd()] if os.environ.get("NMLSDR_SIMD") else LEVELS
    with tempfile.TemporaryDirectory(prefix="nmlsdr-campaign-") as folder:
        turns = [
            (name, strategy, level, n_threads)
            for n_threads, (name, strategy) in itertools.product((1, 2, 3), strategies(folder).items())
            for level in (levels if strategy.levels else [simd()])
        ]
        chosen = range(arguments.problems) if arguments.replay is None else [arguments.replay]
        for i in chosen:
            complaint, held, words = solve(i, arguments.seed, turns)
            counts[turns[i % len(turns)][0]] += 1
            against[held or "the definition alone"] += 1
            if complaint or arguments.replay is not None:
                wrong += bool(complaint)
                print(f"problem {i} of seed {arguments.seed}: {words}: {complaint or 'right'}", flush=True)
    for name, count in counts.items():
        print(f"{count:8} {name}")
    print("canonical distances held against: " + ", ".join(f"{held} {count}" for held, count in against.items()))
    not_run = [name for level, name in enumerate(SIMD_LEVELS) if level not in levels]
    print(f"SIMD levels: {', '.join(SIMD_LEVELS[level] for level in levels)}; not run: {', '.join(not_run) or 'none'}")
    print(f"{sum(counts.values())} problems, seed {arguments.seed}: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
