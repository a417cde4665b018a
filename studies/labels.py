"""What it is worth to say which labels are not known, and which can be trusted: on Emotions, Scene and Yeast.

    python studies/labels.py --data-home DIR            # about a quarter of an hour; writes results/labels-*.json
    python studies/labels.py --data-home DIR --seeds 1  # prints, writes nothing

Mulan's training and test rows, standardised by the training rows.  ``unknown``: of the training labels 30 % of the
entries are known, drawn at random; read as what they are, or with 0 for the others; or whole rows are known, as many
entries in all.  ``trust``: every label is given, but of the 1s 40 % were forgotten and read 0.  Seeds are 0, 1, ...; no
setting was chosen by what is measured here: all have their defaults but the trust that is compared.
"""

from __future__ import annotations

import argparse
import warnings

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _harness import save_table
from joblib import Parallel, delayed
from sklearn.preprocessing import StandardScaler

from nmlsdr import NMLSDR, ResidualPropagation, SemiSupervisedMLkNN
from nmlsdr.datasets import mask_labels, paper_split
from nmlsdr.metrics import score_table

DATASETS = ("Emotions", "Scene", "Yeast")
KNOWN, FORGOTTEN = 0.3, 0.4
PAIR = (0.9, 0.1)
MEASURES = ("HL'", "AP", "MaF1")


def article(X, y, X_test, trust):
    """NMLSDR, then semi-supervised ML-kNN on the embedding: posteriors."""
    reducer = NMLSDR(alpha_labeled=trust, n_jobs=1).fit(X, y)
    classifier = SemiSupervisedMLkNN(alpha_labeled=trust, n_jobs=1).fit(reducer.transform(X), y)
    return classifier.predict_proba(reducer.transform(X_test))


def residual(X, y, X_test, trust):
    """Scores moved so that the threshold, which is one for all labels, is the 1/2 at which `score_table` predicts."""
    return ResidualPropagation(alpha_labeled=trust, n_jobs=1).fit(X, y).decision_function(X_test) + 0.5


METHODS = {"NMLSDR + SemiSupervisedMLkNN": article, "ResidualPropagation": residual}


def unknown_labels(Y, seed):
    """The same labels in three forms."""
    known = np.random.default_rng([seed, 1]).random(Y.shape) < KNOWN
    return {
        "entries known": np.where(known, Y, -1),
        "others read as 0": np.where(known, Y, 0),
        "whole rows known": mask_labels(Y, KNOWN, random_state=seed),
    }


def forgotten_labels(Y, seed):
    return np.where(np.random.default_rng([seed, 2]).random(Y.shape) < FORGOTTEN, 0, Y)


def unknown_cases(Y, seed):
    return [(name, y, 0.6) for name, y in unknown_labels(Y, seed).items()]


def trust_cases(Y, seed):
    return [(f"alpha_labeled={trust}", forgotten_labels(Y, seed), trust) for trust in (0.6, PAIR)]


def measured(dataset, bunch, method, seeds, cases):
    """Mean measures over the seeds of one method on one data set, a row for each case."""
    warnings.simplefilter("ignore")  # rare labels that are never predicted; MaF1 says it
    scaler = StandardScaler().fit(bunch.data)
    X, X_test = scaler.transform(bunch.data), scaler.transform(bunch.test_data)
    found = {}
    for seed in range(seeds):
        for name, y, trust in cases(np.asarray(bunch.target), seed):
            table = score_table(bunch.test_target, METHODS[method](X, y, X_test, trust))
            found.setdefault(name, []).append([table[measure] for measure in MEASURES])
    rows = []
    for name, values in found.items():
        mean, spread = np.mean(values, axis=0), np.std(values, axis=0)
        row = {"dataset": dataset, "method": method, "case": name, "spread": spread[1]}
        rows.append({**row, **dict(zip(MEASURES, mean, strict=True))})
        print("  ".join([f"{dataset:9}{method:30}{name:28}", *(f"{value:.3f}" for value in mean)]), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes; the figures do not depend on them")
    parser.add_argument("--datasets", nargs="*", default=DATASETS)
    args = parser.parse_args()
    bunches = {name: paper_split(name, args.data_home) for name in args.datasets}
    tables = {
        "labels-unknown": (f"{KNOWN:.0%} of the training labels known", unknown_cases),
        "labels-trust": (f"{FORGOTTEN:.0%} of the given 1s forgotten", trust_cases),
    }
    pairs = [(name, method) for name in args.datasets for method in METHODS]
    for name, (title, cases) in tables.items():
        parts = Parallel(args.jobs)(
            delayed(measured)(dataset, bunches[dataset], method, args.seeds, cases) for dataset, method in pairs
        )
        rows = [row for part in parts for row in part]
        if args.seeds < 5:
            continue
        save_table(
            name,
            title=title,
            command="python studies/labels.py --data-home DIR",
            rows=rows,
            columns=[
                ("dataset", "data", "s"),
                ("method", "method", "s"),
                ("case", "labels", "s"),
                *((measure, measure, ".3f") for measure in MEASURES),
                ("spread", "AP, +-", ".3f"),
            ],
            notes=f"Means over {args.seeds} seeds on the test rows that the Mulan library chose for these data. More "
            "is better in each measure. The last column is the standard deviation of AP over the seeds.",
        )


if __name__ == "__main__":
    main()
