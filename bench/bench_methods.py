"""Fit of every projection against its textbook dense form: D x D matrices and scipy.linalg.eigh.

    python bench/bench_methods.py            # all tables; about twenty minutes
    python bench/bench_methods.py --quick    # fewer rounds, nothing stored

Both sides get the same labels, the same label weights where the textbook has no form of its own, the same graph
and soft labels, and the same number of BLAS threads: one, as `fit` uses.  Random data in the sizes of Enron,
Corel16k and Emotions; what counts here is the size.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import numpy as np
from _harness import add_replace, alternate, better_half, choose_folder, peak_memory, save_table, threads
from scipy import linalg

from nmlsdr import MDDM, MLDA, MVMD, MultiLabelCCA
from nmlsdr._projections.directions import leading_by_lanczos, thin_svd
from nmlsdr._projections.label_weights import correlation_weights, entropy_weights
from nmlsdr._projections.scatter import weighted_lda
from nmlsdr.graph import neighbor_graph
from nmlsdr.projection import hsic_projection
from nmlsdr.propagation import propagate

# Rows, features, labels, labels a row.  Emotions is small: there the checks of the input are a large part of a fit.
SIZES = {"Enron": (1123, 1001, 52, 3.4), "Corel": (5188, 500, 153, 2.9), "Emotions": (391, 72, 6, 1.9)}
SHARES = (1.0, 0.3)  # of the rows that are labelled


def draw(n: int, D: int, C: int, cardinality: float, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features, labels of uneven frequency, and rows of -1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 40)) @ rng.standard_normal((40, D)) + 3.0 * rng.standard_normal((n, D))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    frequency = 1.0 / np.arange(2, C + 2)
    Y = (rng.random((n, C)) < np.minimum(cardinality * frequency / frequency.sum(), 0.7)).astype(int)
    Y[np.arange(C), np.arange(C)] = 1  # no label is empty
    Y[rng.permutation(np.arange(C, n))[: round((1 - share) * n)]] = -1
    return X, Y


# ---------------------------------------------------------------- the textbook


def leading(A: np.ndarray, B: np.ndarray | None, d: int) -> np.ndarray:
    """The last d eigenvectors of the dense (generalised) problem."""
    return linalg.eigh(A, B)[1][:, ::-1][:, :d]


def textbook_cca(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    X = X - X.mean(axis=0)
    Y = 2.0 * (Y - Y.mean(axis=0))
    M = X.T @ Y
    A = M @ np.linalg.solve(Y.T @ Y + 0.1 * np.eye(Y.shape[1]), M.T)
    return leading((A + A.T) / 2, X.T @ X + 0.1 * np.eye(X.shape[1]), Y.shape[1])


def textbook_mddm(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    X = X - X.mean(axis=0)
    M = X.T @ Y
    return leading(M @ M.T, None, Y.shape[1])


def textbook_mddm_features(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    X = X - X.mean(axis=0)
    M = X.T @ Y
    return leading(M @ M.T, 0.5 * X.T @ X + 0.5 * np.eye(X.shape[1]), Y.shape[1])


def textbook_mvmd(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    X = X - X.mean(axis=0)
    M = X.T @ Y
    return leading(0.5 * X.T @ X + 2.0 * M @ M.T, None, Y.shape[1])


def textbook_lda(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    X = X - X.mean(axis=0)
    n = np.maximum(W.sum(axis=0), np.finfo(float).tiny)
    w = W.sum(axis=1)
    WX = W.T @ X
    between = WX.T / n @ WX
    total = w @ X
    S_b = between - np.outer(total, total) / w.sum()
    S_w = (X.T * w) @ X - between + 0.1 * np.eye(X.shape[1])
    return leading((S_b + S_b.T) / 2, (S_w + S_w.T) / 2, W.shape[1] - 1)


def textbook_fuzzy(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Weights by nearness to the centres, one label after another."""
    X = X - X.mean(axis=0)
    W = Y / np.maximum(Y.sum(axis=1, keepdims=True), 1)
    centres = W.T @ X / len(X)
    for _ in range(100):
        near = Y / np.maximum(np.stack([np.sum((X - c) ** 2, axis=1) for c in centres], axis=1), 1e-290)
        W = near / np.maximum(near.sum(axis=1, keepdims=True), 1e-290)
        moved = (W**2).T @ X / np.maximum(np.sum(W**2, axis=0), 1e-290)[:, None]
        step = np.linalg.norm(moved - centres)
        centres = moved
        if step < 0.01:
            break
    return W


def textbook_dependence(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Coordinate ascent with the l x l matrix Q = Xc Xc', then the scatters."""
    rng = np.random.RandomState(0)
    Xc = X - X.mean(axis=0)
    Q = Xc @ Xc.T
    V = entropy_weights(Y)
    changed = True
    while changed:
        changed = False
        for i in rng.permutation(len(Y)):
            labels = np.flatnonzero(Y[i])
            if len(labels) < 2:
                continue
            g = Q[i] @ V[:, labels] - Q[i, i] * V[i, labels]
            best = labels[np.argmax(g)]
            if V[i, best] != 1.0:
                V[i] = 0.0
                changed = True
                V[i, best] = 1.0
    return textbook_lda(X, V)


def soft_labels(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(F, F~) of the rows."""
    known = (Y != -1).any(axis=1)
    F = propagate(neighbor_graph(X), np.maximum(Y, 0), np.where(known, 0.6, 0.999), labeled=known).F
    return F, np.where(known[:, None], F > 0.5, F).astype(float)


def contestants(X: np.ndarray, Y: np.ndarray) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Method -> (our fit, the textbook's)."""
    known = (Y != -1).any(axis=1)
    L = X[known]
    YL = Y[known].astype(float)
    supervised = {
        "CCA": (MultiLabelCCA(), lambda: textbook_cca(L, YL)),
        "MVMD": (MVMD(), lambda: textbook_mvmd(L, YL)),
        "MDDMp": (MDDM(), lambda: textbook_mddm(L, YL)),
        "MDDMf": (MDDM(constraint="features"), lambda: textbook_mddm_features(L, YL)),
        "wMLDAb": (MLDA(), lambda: textbook_lda(L, YL)),
        "wMLDAe": (MLDA(label_weights="entropy"), lambda: textbook_lda(L, entropy_weights(YL))),
        "wMLDAc": (MLDA(label_weights="correlation"), lambda: textbook_lda(L, correlation_weights(YL))),
        "wMLDAf": (MLDA(label_weights="fuzzy"), lambda: textbook_lda(L, textbook_fuzzy(L, YL))),
        "wMLDAd": (MLDA(label_weights="dependence", random_state=0), lambda: textbook_dependence(L, YL)),
    }
    pairs = {name: (lambda model=model: model.fit(X, Y), book) for name, (model, book) in supervised.items()}
    F, F_tilde = soft_labels(X, Y)  # neighbours and propagation have their own benchmarks
    pairs["SSMLDR, given F"] = (lambda: weighted_lda(X, F), lambda: textbook_lda(X, F))
    pairs["NMLSDR, given F~"] = (lambda: hsic_projection(X, F_tilde), lambda: textbook_mddm(X, F_tilde))
    return pairs


def fit_table(rounds: int) -> list[dict[str, Any]]:
    rows = []
    for size, (n, D, C, cardinality) in SIZES.items():
        for share in SHARES:
            X, Y = draw(n, D, C, cardinality, share)
            for name, (ours, book) in contestants(X, Y).items():
                with threads(1):
                    times = alternate({"ours": ours, "book": book}, rounds=rounds, budget=8.0)
                fit = better_half(times["ours"])
                dense = better_half(times["book"])
                rows.append(
                    {
                        "size": size,
                        "labeled": round(100 * share),
                        "method": name,
                        "fit": 1e3 * fit,
                        "book": 1e3 * dense,
                        "ratio": dense / fit,
                    }
                )
                print(f"{size:8} {share:4.0%} {name:7} {1e3 * fit:9.1f} ms {dense / fit:7.2f} x", flush=True)
    return rows


# ---------------------------------------------------------------- wide sparse rows

WIDE_SETUP = """
import numpy as np
from scipy import sparse
from nmlsdr import MDDM, MLDA, MVMD, NMLSDR, SSMLDR, MultiLabelCCA
rng = np.random.default_rng(0)
n, D, C = {n}, 20_000, 50
X = sparse.random(n, D, density=0.005, format="csr", random_state=0)
Y = (rng.random((n, C)) < 0.06).astype(float)
Y[np.arange(C), np.arange(C)] = 1
small = np.r_[0:60]
model = {model}
model.fit(X[small][:, :100], Y[small])
"""
WIDE = {
    "CCA": "MultiLabelCCA()",
    "MVMD": "MVMD()",
    "MDDMp": "MDDM()",
    "MDDMf": "MDDM(constraint='features')",
    "wMLDAb": "MLDA()",
    "wMLDAc": "MLDA(label_weights='correlation')",
    "wMLDAf": "MLDA(label_weights='fuzzy')",
    "wMLDAd": "MLDA(label_weights='dependence', random_state=0)",
    "SSMLDR": "SSMLDR(n_jobs=1)",
    "NMLSDR": "NMLSDR(n_jobs=1)",
}


def wide_table(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    rows = []
    for n in sizes:
        for name, model in WIDE.items():
            used = peak_memory(
                WIDE_SETUP.format(n=n, model=model),
                "import time; start = time.perf_counter(); model.fit(X, Y); seconds = time.perf_counter() - start",
            )["over"]
            rows.append({"n": n, "method": name, "megabytes": used / 1e6, "share": 100 * used / (8 * 20_000**2)})
            print(f"wide {n:6} {name:7} {used / 1e6:8.0f} MB", flush=True)
    return rows


# ---------------------------------------------------------------- eigsh or svd

SHAPES = [(500, 50), (500, 153), (1001, 52), (5000, 50), (1000, 500), (1000, 1000), (5000, 500), (20_000, 200),
          (20_000, 1000), (1000, 3000)]  # fmt: skip
SOLVERS: dict[str, Callable[..., Any]] = {
    "svd": lambda M, d: thin_svd(M),
    "eigsh": lambda M, d: leading_by_lanczos(lambda V: M.T @ V, lambda V: M @ V, len(M), d),
}


def solver_table(rounds: int) -> list[dict[str, Any]]:
    """Both solvers of hsic_projection on a random M of D x C, which is what they see."""
    rows = []
    rng = np.random.default_rng(0)
    for D, C in SHAPES:
        M = rng.standard_normal((D, C)) * np.linspace(3.0, 1.0, C)
        for d in (2, 10, 50, 150):
            if d >= min(D, C):
                continue
            calls = {name: partial(solve, M, d) for name, solve in SOLVERS.items()}
            with threads(1):
                times = {name: better_half(t) for name, t in alternate(calls, rounds=rounds, budget=6.0).items()}
            rows.append(
                {
                    "D": D,
                    "C": C,
                    "d": d,
                    **{name: 1e3 * t for name, t in times.items()},
                    "ratio": times["svd"] / times["eigsh"],
                }
            )
            print(f"D {D:6} C {C:5} d {d:4} svd/eigsh {rows[-1]['ratio']:.2f}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", choices=["fit", "wide", "solver"])
    add_replace(parser)
    arguments = parser.parse_args()
    choose_folder(arguments.replace)
    command = "python bench/bench_methods.py"
    parts = [arguments.part] if arguments.part else ["fit", "solver", "wide"]
    rounds = 3 if arguments.quick else 20
    found = {}
    if "fit" in parts:
        found["fit"] = fit_table(rounds)
    if "solver" in parts:
        found["solver"] = solver_table(rounds)
    if "wide" in parts:
        found["wide"] = wide_table((2000,) if arguments.quick else (2000, 6000))
    if arguments.quick or arguments.part:
        return
    ratios = [row["ratio"] for row in found["fit"] if row["size"] != "Emotions"]
    small = [row["ratio"] for row in found["fit"] if row["size"] == "Emotions"]
    save_table(
        "methods",
        title="Fit against the textbook dense form (one thread)",
        command=command,
        rows=found["fit"],
        columns=[
            ("size", "size", "s"),
            ("labeled", "labelled", "d %"),
            ("method", "method", "s"),
            ("fit", "fit", ".1f ms"),
            ("book", "dense form", ".1f ms"),
            ("ratio", "ratio", ".2f x"),
        ],
        values={"least": min(ratios), "most": max(ratios), "small_least": min(small), "small_most": max(small)},
        notes="The ratio is the dense form's time over that of the fit. On both sides the same functions "
        "compute the label weights of wMLDAe and wMLDAc. F and F~ are also the same, and are computed before, so "
        "their cost is not in the ratio.",
    )
    save_table(
        "methods_solver",
        title="hsic_projection: eigsh against svd (one thread)",
        command=command,
        rows=found["solver"],
        columns=[
            ("D", "features", "d"),
            ("C", "labels", "d"),
            ("d", "components", "d"),
            ("eigsh", "eigsh", ".1f ms"),
            ("svd", "svd", ".1f ms"),
            ("ratio", "svd / eigsh", ".2f x"),
        ],
    )
    save_table(
        "methods_wide",
        title="Fit on 20 000 sparse features: memory beyond the input",
        command=command,
        rows=found["wide"],
        columns=[
            ("n", "rows", "d"),
            ("method", "method", "s"),
            ("megabytes", "peak", ".0f MB"),
            ("share", "of one D x D matrix", ".1f %"),
        ],
        values={"most_share": max(row["share"] for row in found["wide"])},
    )


if __name__ == "__main__":
    main()
