"""Opt-in: random propagation problems against a solution in extended precision.

    python tests/campaigns/propagation.py [first seed] [problems]

Each problem has a seed, which is printed when the problem fails and repeats it alone.  Graphs of 2 to 40 rows (paths,
stars, cycles, bipartite, complete, trees, random ones, far pairs), weights from 1e-300 to 1e300, alphas from 0 to
1 - 1e-12, every solver.  A failure is an F that is not
finite or not in [0, 1], that is further from the solution than ``error_bound``, that is further than 1e-6 +
100 eps / (1 - max alpha) without a warning (with "auto": even with one), or that took more sweeps than its bound.
"""

import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from nmlsdr._solvers.chain import FIXED_POINT_SWEEPS, FIXED_POINT_WORK
from nmlsdr.propagation import propagate

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from propagation_cases import propagate_signed

EPS = np.finfo(float).eps
NEAR_ONE = [1e-2, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-12]
real = np.longdouble


def exact(W, Y, alpha):
    """(I - A T)^-1 (I - A) Y by elimination without subtraction, so that every digit of a long double is right."""
    W = W.astype(real)
    n, C = Y.shape
    a = np.broadcast_to(alpha if alpha.ndim == 2 else alpha[:, None], (n, C)).T.astype(real)  # a system for each label
    root = np.sqrt(W.sum(axis=1))
    P = np.divide(W, root, out=np.zeros_like(W), where=W > 0)
    total = P.sum(axis=1)
    P = a[:, :, None] * np.divide(P, total[:, None], out=np.zeros_like(P), where=total[:, None] > 0)
    slack = np.where(total > 0, 1 - a, real(1))
    B = (1 - a) * Y.T.astype(real)
    for q in range(n - 1, -1, -1):
        pivot_column = slack[:, q].copy()
        slack[:, q] += P[:, q, :q].sum(axis=1)
        share = P[:, :q, q] / slack[:, [q]]
        P[:, :q, :q] += share[:, :, None] * P[:, q, None, :q]
        slack[:, :q] += share * pivot_column[:, None]
        B[:, :q] += share * B[:, [q]]
    for q in range(n):
        B[:, q] = (B[:, q] + (P[:, q, :q] * B[:, :q]).sum(axis=1)) / slack[:, q]
    return B.T.astype(np.float64)


def graph(rng, n):
    """A symmetric weighted graph (n, n)."""
    kind = rng.choice(["path", "star", "cycle", "bipartite", "complete", "tree", "random", "sparse", "pairs", "near"])
    edge = np.zeros((n, n), bool)
    i = np.arange(n)
    if kind in ("path", "cycle"):
        edge[i[:-1], i[1:]] = True
        edge[0, -1] = kind == "cycle" and n > 2
    elif kind == "star":
        edge[0, 1:] = True
    elif kind == "bipartite":
        edge[: n // 2, n // 2 :] = rng.random((n // 2, n - n // 2)) < rng.choice([0.3, 1])
    elif kind == "complete":
        edge[:] = True
    elif kind == "tree":
        edge[[rng.integers(0, j) for j in range(1, n)], i[1:]] = True
    elif kind == "pairs":
        edge[i[: n - 1 : 2], i[1::2][: len(i[: n - 1 : 2])]] = True
        edge |= rng.random((n, n)) < 0.5 / n
    elif kind == "near":
        x = rng.random((n, 2))
        order = np.argsort(((x[:, None] - x[None]) ** 2).sum(2) + 9 * np.eye(n), axis=1)
        np.put_along_axis(edge, order[:, : min(n - 1, 3)], True, axis=1)
    else:
        edge = rng.random((n, n)) < (0.5 if kind == "random" else 1.5 / n)
    edge = np.triu(edge | edge.T, 1)
    style = rng.choice(["one", "one", "same", "uniform", "wide", "wider", "outlier", "islands"])
    if style in ("one", "same"):
        weight = np.full((n, n), 1.0 if style == "one" else 10.0 ** rng.uniform(-300, 300))
    elif style == "uniform":
        weight = rng.random((n, n)) + 1e-3
    elif style == "wide":
        weight = 10.0 ** rng.uniform(-30, 0, (n, n))
    elif style == "wider":
        weight = 10.0 ** rng.uniform(-300, 300, (n, n))
    elif style == "outlier":
        weight = np.where((i == rng.integers(n))[:, None] | (i == rng.integers(n)), 1e-300, 1.0)
        weight = np.minimum(weight, weight.T)
    else:
        scale = 10.0 ** rng.choice([-300, -150, 0, 100, 300], n)
        weight = np.minimum(scale[:, None], scale) * rng.uniform(0.5, 1, (n, n))
    W = np.where(edge, weight, 0.0)
    return W + W.T


def alphas(rng, labeled):
    n = len(labeled)
    style = rng.integers(0, 7)
    near = 1 - rng.choice(NEAR_ONE)
    if style == 0:
        return np.where(labeled, 0.6, 0.999)
    if style == 1:
        return np.where(labeled, rng.choice([0, 1e-300, 1e-17, 1e-9, 0.1, 0.6, 0.99]), near)
    if style == 2:
        return np.full(n, near)
    if style == 3:
        return 1 - 10.0 ** rng.uniform(-12, 0, n)
    if style == 4:
        return np.where(rng.random(n) < 0.5, 0.0, near)
    if style == 5:
        return np.full(n, rng.choice([0.0, 1e-300, 1e-30, 1e-17, 1e-16, 1e-3, 0.5]))
    return rng.random(n)


def check_problem(seed):
    """What is wrong with the problem of this seed, or None; the solver."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 41)) if rng.random() < 0.3 else int(rng.integers(2, 12))
    C = int(rng.integers(1, 5))
    W = graph(rng, n)
    labeled = rng.random(n) < rng.choice([0.1, 0.3, 0.7, 1.0])
    labeled[rng.integers(n)] = True
    Y = rng.random((n, C)) if rng.random() < 0.3 else (rng.random((n, C)) < 0.4).astype(float)
    signed = rng.random() < 0.15
    scale = 1.0
    if signed:
        scale = 10.0 ** rng.uniform(-100, 100)
        Y = scale * (2 * Y - 1) * rng.random((n, C))
    Y[~labeled] = 0
    alpha = alphas(rng, labeled)
    if rng.random() < 0.15:  # known entries, and an alpha for each
        labeled = (rng.random((n, C)) < 0.5) & labeled[:, None]
        alpha = np.column_stack([alphas(rng, labeled[:, c]) for c in range(C)])
        Y[~labeled] = 0
    solver = str(rng.choice(["auto", "cg", "lu", "fixed_point"], p=[0.4, 0.4, 0.15, 0.05]))
    run = propagate_signed if signed else propagate
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        # the iteration of eq. (4) may take 400 000 sweeps; most of them are cut short, which must only warn
        sweeps = 2000 if solver == "fixed_point" and seed % 100 else None
        result = run(sparse.csr_array(W), Y, alpha, labeled=labeled, solver=solver, max_iter=sweeps)
    convergence_warnings = [w for w in caught_warnings if issubclass(w.category, ConvergenceWarning)]
    odd = [w for w in caught_warnings if not issubclass(w.category, (ConvergenceWarning, UserWarning))]
    if odd:
        return f"warning {odd[0].message}", solver
    if not np.isfinite(result.F).all():
        return "not finite", solver
    if not signed and not (result.F.min() >= 0 and result.F.max() <= 1):
        return "outside [0, 1]", solver
    size = float(np.abs(Y).max(initial=0.0)) if signed else 1.0
    error = float(np.abs(result.F - exact(W, Y, alpha)).max())
    if error > result.error_bound:
        return f"error {error:.3g} above error_bound {result.error_bound:.3g}", solver
    allowed = size * (1e-6 + 100 * EPS / (1 - alpha.max()))
    if error > allowed and (solver == "auto" or not convergence_warnings):
        return f"error {error:.3g} above {allowed:.3g}, warned {bool(convergence_warnings)}", solver
    if solver == "auto" and convergence_warnings:
        return f"warned: {convergence_warnings[0].message}", solver
    bound = max(FIXED_POINT_SWEEPS, FIXED_POINT_WORK / 5000) if solver == "fixed_point" else 2 * (10 * n + 120)
    if result.n_iter > bound:
        return f"{result.n_iter} sweeps", solver
    return None, solver if not convergence_warnings else solver + ", warned"


def main():
    first, count = (int(a) for a in (sys.argv[1:] + ["0", "1000"][len(sys.argv) - 1 :]))
    start = time.monotonic()
    ran = Counter()
    failed = []
    for seed in range(first, first + count):
        wrong, solver = check_problem(seed)
        ran[solver] += 1
        if wrong:
            failed.append(seed)
            print(f"seed {seed}, {solver}: {wrong}", flush=True)
        if (seed - first) % 1000 == 999:
            print(f"{seed - first + 1} problems, {len(failed)} failed", flush=True)
    print(f"{count} problems from seed {first} in {time.monotonic() - start:.0f} s: {len(failed)} failed; {dict(ran)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
