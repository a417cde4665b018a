"""ResidualPropagation, a random forest and LightGBM as labelled rows become many, with linear and with curved effects.

    python studies/many_rows.py --replace                # some minutes; writes results/many-rows.json

Rows of 20 standard normal features.  Each of four labels depends on a sum of eight features ("linear"), or on the sine
of one feature and the product of two others ("curved"), and on some noise.  All labels are given and correct, and a
label has three rows in ten.  The random forest is scikit-learn's with 100 trees and three rows in a leaf; LightGBM is
that of _boosting.py.  The average precision of a label is its area under precision and recall; seconds are of the
processor, for fit and prediction on one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _boosting import BOOSTED
from _harness import add_replace, choose_folder, save_table, threads
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score

from nmlsdr import ResidualPropagation

ROWS, QUERIES, DRAWS = (300, 1000, 5000, 20_000), 3000, 2


def draw(effects, n_rows, seed):
    """Rows and their labels."""
    rng = np.random.default_rng([seed, n_rows])
    X = rng.standard_normal((n_rows, 20))
    scores = np.empty((n_rows, 4))
    for c in range(4):
        a = np.random.default_rng([seed, c]).permutation(20)  # the same features for training and test rows
        linear, curved = X[:, a[:8]].sum(axis=1) / 2, np.sin(2 * X[:, a[0]]) + X[:, a[1]] * X[:, a[2]]
        scores[:, c] = linear if effects == "linear" else curved
    scores += 0.5 * rng.standard_normal(scores.shape)
    return X, (scores > np.quantile(scores, 0.7, axis=0)).astype(int)


def residual(X, Y, queries):
    return ResidualPropagation(n_jobs=1).fit(X, Y).predict_proba(queries)


def forest(X, Y, queries):
    model = RandomForestClassifier(100, min_samples_leaf=3, n_jobs=1, random_state=0).fit(X, Y)
    return np.column_stack([each[:, -1] for each in model.predict_proba(queries)])


def lightgbm(X, Y, queries):
    return BOOSTED["LightGBM"](X, Y, queries)[0]


METHODS = {"residual": residual, "forest": forest, "lightgbm": lightgbm}
WORDS = {"residual": "ResidualPropagation", "forest": "random forest", "lightgbm": "LightGBM"}


def measure(effects, n_rows):
    """Mean average precision in percent, and seconds, of each method."""
    row = {"effects": effects, "n": n_rows} | {f"{name}_{what}": 0.0 for name in METHODS for what in ("ap", "seconds")}
    for seed in range(DRAWS):
        X, Y = draw(effects, n_rows + QUERIES, seed)
        train, test = slice(n_rows), slice(n_rows, None)
        for name, method in METHODS.items():
            start = time.process_time()
            scores = method(X[train], Y[train], X[test])
            row[f"{name}_seconds"] += (time.process_time() - start) / DRAWS
            row[f"{name}_ap"] += 100 * average_precision_score(Y[test], scores, average="macro") / DRAWS
    print(row, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    warnings.simplefilter("ignore")
    with threads(1):
        rows = [measure(effects, n) for effects in ("linear", "curved") for n in ROWS]
    save_table(
        "many-rows",
        command="python studies/many_rows.py",
        rows=rows,
        title="Many labelled rows: mean average precision of the labels in percent, and CPU seconds",
        columns=[
            ("effects", "effects", "s"),
            ("n", "labelled rows", "d"),
            *((f"{name}_ap", WORDS[name], ".1f") for name in METHODS),
            *((f"{name}_seconds", f"{WORDS[name]}: s", ".1f") for name in METHODS),
        ],
        values={
            f"{row['effects']}_{row['n']}_{key}": value
            for row in rows
            for key, value in row.items()
            if key.endswith(("_ap", "_seconds"))
        },
        notes=f"{QUERIES} test rows; means of {DRAWS} draws. All labels are given and correct.",
    )


if __name__ == "__main__":
    main()
