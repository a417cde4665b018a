"""A thousand labels: how many of the best labels of a row are right, beside label trees and logistic regression.

    python bench/many_labels.py                 # some minutes
    python bench/many_labels.py --replace       # the same, into bench/results

The data are those of growth.py with 1000 labels.  Every method has a process of its own, so that its peak of memory is
its own, and one thread.  napkinXC's trees are as it sets them.  For logistic regression a fifth of the rows chooses C
among .1, 1 and 10 by every tenth label, in common for all labels, and all rows are fitted again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import _harness
import _worker
import growth
import numpy as np
from scipy import sparse

N_TRAIN = 3000
N_TEST = 1000
N_LABELS = 1000
DATA = {"linear": {"D": 100}, "curved": {"D": 100, "values": "curved"}}
STRENGTHS = (0.1, 1.0, 10.0)
BEST = 5  # labels of a row that are looked at
Answer = Callable[[Any], np.ndarray]


def best_of(scores: np.ndarray) -> np.ndarray:
    """The numbers of each row's labels with the largest scores, in their order."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :BEST]


def precision(best: np.ndarray, Y: np.ndarray, k: int) -> float:
    """The share of the first k that are labels of the row, in percent."""
    return 100 * float(np.take_along_axis(Y, best[:, :k], axis=1).mean())


def by_nmlsdr(X: Any, Y: np.ndarray) -> Answer:
    from nmlsdr import ResidualPropagation

    model = ResidualPropagation(n_jobs=1).fit(X, Y)
    return lambda rows: best_of(model.decision_function(rows))


def by_napkinxc(X: Any, Y: np.ndarray) -> Answer:
    from napkinxc.models import PLT

    folder = tempfile.TemporaryDirectory()
    model = PLT(folder.name, threads=1)
    model.fit(sparse.csr_matrix(X, dtype=np.float32), [np.flatnonzero(row).tolist() for row in Y])

    def predict(rows: Any, folder: Any = folder) -> np.ndarray:
        return np.array(model.predict(sparse.csr_matrix(rows, dtype=np.float32), top_k=BEST))

    return predict


def by_logistic(X: Any, Y: np.ndarray) -> Answer:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.multiclass import OneVsRestClassifier

    def fit(strength: float, rows: slice, labels: slice) -> Any:
        model = LogisticRegression(C=strength, max_iter=1000)  # liblinear took six times as long
        return OneVsRestClassifier(model).fit(X[rows], Y[rows, labels])

    cut = len(Y) - len(Y) // 5
    tenth = slice(None, None, 10)

    def held_out(strength: float) -> float:
        probabilities = fit(strength, slice(cut), tenth).predict_proba(X[cut:])
        return -log_loss(Y[cut:, tenth].ravel(), probabilities.ravel())

    model = fit(max(STRENGTHS, key=held_out), slice(None), slice(None))
    return lambda rows: best_of(model.decision_function(rows))


METHODS = {"ResidualPropagation": by_nmlsdr, "napkinXC, PLT": by_napkinxc, "logistic regression": by_logistic}


def measured(name: str, method: str) -> dict[str, Any]:
    """Precision, seconds and memory of one method; run in a process of its own."""
    warnings.simplefilter("ignore")  # labels that are never predicted
    X, Y = growth.draw(**{"n": N_TRAIN + N_TEST, "C": N_LABELS, **DATA[name]})
    small = growth.draw(**{"n": 200, "C": 30, **DATA[name]})
    METHODS[method](*small)(small[0])  # everything is loaded, before memory is measured
    answers: list[Answer] = []
    with _harness.threads(1):
        begin = time.process_time()
        memory = _worker.peak_over(lambda _: answers.append(METHODS[method](X[:N_TRAIN], Y[:N_TRAIN])), 0)
        fit = time.process_time() - begin
        begin = time.process_time()
        best = answers[0](X[N_TRAIN:])
        predict = time.process_time() - begin
    precisions = {f"at_{k}": precision(best, Y[N_TRAIN:], k) for k in (1, BEST)}
    return {"data": name, "method": method, **precisions, "fit": fit, "predict": predict, "megabytes": memory / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--method", nargs="+", choices=list(METHODS), default=list(METHODS))
    _harness.add_replace(parser)
    options = parser.parse_args()
    _harness.choose_folder(options.replace)
    rows = []
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1) as processes:
        for row in processes.map(measured, *zip(*product(options.data, options.method), strict=True)):
            rows.append(row)
            print(row, flush=True)
    _harness.save_table(
        "many-labels",
        title="A thousand labels",
        command="python bench/many_labels.py",
        columns=[
            ("data", "data", "s"),
            ("method", "method", "s"),
            ("at_1", "P@1", ".1f %"),
            ("at_5", "P@5", ".1f %"),
            ("fit", "fit, CPU", ".1f s"),
            ("predict", "predict, CPU", ".2f s"),
            ("megabytes", "memory", ".0f MB"),
        ],
        rows=rows,
        values={"labels": N_LABELS, **{f"{row['data']} {row['method']}": row for row in rows}},
        notes=f"{N_TRAIN} labelled rows, {N_TEST} others to predict, {N_LABELS} labels; a row has about ten. P@k: the "
        "share of the k labels with the largest scores that are labels of the row. The labels follow scores that are "
        "linear in 100 features, or in cosines of their mixtures (curved). Logistic regression: one for each label, C "
        "among .1, 1 and 10 by the log loss of every tenth. Memory is what a fit on one thread needs beyond the input.",
    )


if __name__ == "__main__":
    main()
