"""How many of the first annotations that a review lists are wrong, by kind, and the same list by cleanlab.

    python studies/review.py            # about ten minutes; writes results/review*.json
    python studies/review.py --quick    # one seed and three sets, prints, writes nothing

Every row of the article's training part is labelled, with labels that are wrong in one of two ways: a fifth of the
positives is forgotten, or each entry is flipped with probability .1. "before": |F - Y| of `MultiLabelPropagation`, all
annotations in one list, as `nmlsdr review` ranked them at first; "now": ``flip_scores_`` of `ResidualPropagation` by
kind. cleanlab ranks by the self-confidence of probabilities out of fold, those of a logistic regression for each label
(C = .01, five folds) and those of ResidualPropagation; it needs ``pip install 'nmlsdr[peers]'``.
"""

from __future__ import annotations

import argparse
import warnings

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _harness import add_replace, choose_folder, save_table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

import nmlsdr
from nmlsdr.datasets import flip_labels, paper_split
from nmlsdr.inspection import rank_suspects

SETS = ("Birds", "Emotions", "Genbase", "Medical", "Scene", "Yeast")
NOISES = {"forgotten": "a fifth of the positives forgotten", "flips": "10 % of all entries flipped"}
KINDS = ("both", "missing", "spurious")
FIRST = 100


def corrupt(truth, noise, seed):
    """Given labels with wrong entries."""
    if noise == "flips":
        return flip_labels(truth, 0.1, random_state=seed)
    forgotten = np.random.default_rng(seed).random(truth.shape) < 0.2
    return np.where(forgotten & (truth == 1), 0, truth)


def precision(scores, given, wrong, kind):
    """Share of wrong annotations among the first of a list, in percent; None where the kind has none that is wrong."""
    rows = given == 1 if kind == "spurious" else given == 0 if kind == "missing" else np.ones(given.shape, dtype=bool)
    if not wrong[rows].any():
        return None
    asked = {"both": "all", "missing": "forgotten", "spurious": "wrong"}[kind]
    found = rank_suspects(scores, given, kind=asked).first(FIRST)
    return 100.0 * wrong[found.row, found.label].mean()


def chance(given, wrong, kind):
    """What a list in random order finds, in percent."""
    rows = given == 1 if kind == "spurious" else given == 0 if kind == "missing" else np.ones(given.shape, dtype=bool)
    return 100.0 * wrong[rows].mean()


def out_of_fold(make, X, y):
    """Probabilities of every row by a model that did not see it."""
    found = np.zeros(y.shape)
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        found[test] = make(X[train], y[train], X[test])
    return found


def logistic(X, y, queries):
    """One logistic regression for each label; a label of one value is predicted as that."""
    found = np.empty((len(queries), y.shape[1]))
    for c in range(y.shape[1]):
        if len(set(y[:, c])) == 1:
            found[:, c] = y[0, c]
        else:
            found[:, c] = LogisticRegression(C=0.01, max_iter=500).fit(X, y[:, c]).predict_proba(queries)[:, 1]
    return found


def residual(X, y, queries):
    """ResidualPropagation's probabilities."""
    return nmlsdr.ResidualPropagation().fit(X, y).predict_proba(queries)


def cleanlab_scores(given, proba):
    """1 - cleanlab's self-confidence of each entry."""
    from cleanlab.rank import get_label_quality_scores

    return np.column_stack(
        [
            1.0 - get_label_quality_scores(given[:, c], np.column_stack([1 - p, p]), method="self_confidence")
            for c, p in enumerate(np.clip(proba, 1e-9, 1 - 1e-9).T)
        ]
    )


def cleanlab_mask(given, proba):
    """Entries that cleanlab suspects."""
    from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class

    lists = [np.flatnonzero(row).tolist() for row in given]
    return np.asarray(find_multilabel_issues_per_class(lists, np.clip(proba, 1e-9, 1 - 1e-9), n_jobs=1))


def measure(name, noise, seed):
    """All lists of one set: {(list, kind): percent}, and the masks beside each other."""
    data = paper_split(name)
    X, truth = (
        StandardScaler().fit_transform(np.asarray(data.data.toarray() if hasattr(data.data, "toarray") else data.data)),
        data.target,
    )
    given = corrupt(truth, noise, seed)
    wrong = given != truth
    before = nmlsdr.MultiLabelPropagation().fit(X, given)
    now = nmlsdr.ResidualPropagation().fit(X, given)
    probabilities = {"logistic": out_of_fold(logistic, X, given), "residual": out_of_fold(residual, X, given)}
    scores = {"before": before.flip_scores_, "now": now.flip_scores_}
    scores |= {f"cleanlab, {which}": cleanlab_scores(given, p) for which, p in probabilities.items()}
    lists = {(which, kind): precision(s, given, wrong, kind) for which, s in scores.items() for kind in KINDS}
    lists |= {("chance", kind): chance(given, wrong, kind) for kind in KINDS}
    ap = {which: 100 * average_precision_score(wrong[given == 0], s[given == 0]) for which, s in scores.items()}
    masks = {"ours": now.label_flips_, "cleanlab": cleanlab_mask(given, probabilities["logistic"])}
    said = {
        which: {
            "size": int(mask.sum()),
            "right": 100.0 * wrong[mask].mean() if mask.any() else None,
            "found": 100.0 * mask[wrong].mean(),
        }
        for which, mask in masks.items()
    }
    union = (masks["ours"] | masks["cleanlab"]).sum()
    said["shared"] = 100.0 * (masks["ours"] & masks["cleanlab"]).sum() / union if union else None
    return lists, ap, said


def mean(values):
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=2)
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    sets, seeds = (("Emotions", "Birds", "Genbase"), 1) if args.quick else (SETS, args.seeds)
    warnings.simplefilter("ignore")  # labels that are never predicted, folds without a positive
    by_kind, peers, masks = [], [], []
    for noise, words in NOISES.items():
        for name in sets:
            runs = [measure(name, noise, seed) for seed in range(seeds)]
            cell = {key: mean(run[0][key] for run in runs) for key in runs[0][0]}
            place = {"noise": words, "set": name}
            lists = ("before", "now", "chance")
            by_kind.append(place | {f"{who}_{kind}": cell[who, kind] for who in lists for kind in KINDS})
            peers.append(
                place
                | {f"{short}_{kind}": cell[who, kind] for short, who in RIVALS.items() for kind in KINDS[1:]}
                | {f"{short}_ap": mean(run[1][who] for run in runs) for short, who in RIVALS.items()}
            )
            masks.append(
                place
                | {
                    f"{who}_{what}": mean(run[2][who][what] for run in runs)
                    for who in MASKS
                    for what in ("size", "right", "found")
                }
                | {"shared": mean(run[2]["shared"] for run in runs)}
            )
            print(by_kind[-1], peers[-1], masks[-1], sep="\n", flush=True)
    if not args.quick:
        save(by_kind, peers, masks, f"Means of {seeds} draws of the noise.")


RIVALS = {"ours": "now", "logistic": "cleanlab, logistic", "residual": "cleanlab, residual"}
MASKS = {"ours": "label_flips_", "cleanlab": "cleanlab"}
PLACE = [("noise", "labels", "s"), ("set", "set", "s")]


def save(by_kind, peers, masks, notes):
    """Write the three result files."""
    command = "python studies/review.py"
    save_table(
        "review",
        command=command,
        rows=by_kind,
        title="Precision of the first 100 annotations of a review list, percent",
        columns=[
            *PLACE,
            ("before_both", "before: both", ".0f"),
            ("now_both", "now: both", ".0f"),
            ("before_missing", "before: given 0s alone", ".0f"),
            ("now_missing", "now: missing", ".0f"),
            ("chance_missing", "chance", ".1f"),
            ("before_spurious", "before: given 1s alone", ".0f"),
            ("now_spurious", "now: spurious", ".0f"),
            ("chance_spurious", "chance", ".1f"),
        ],
        notes=f"{notes} A dash: no annotation of this kind is wrong.",
    )
    who = {"ours": "flip_scores_", "logistic": "cleanlab, logistic", "residual": "cleanlab, residual"}
    save_table(
        "review_cleanlab",
        command=command,
        rows=peers,
        title="The same lists by cleanlab's self-confidence: precision of the first 100 by kind, and average precision "
        "among given 0s, percent",
        columns=PLACE
        + [(f"{short}_{kind}", f"{kind}: {words}", ".0f") for kind in KINDS[1:] for short, words in who.items()]
        + [(f"{short}_ap", f"AP: {words}", ".1f") for short, words in who.items()],
        notes=notes,
    )
    what = {"size": "marked entries", "right": "precision, %", "found": "recall, %"}
    save_table(
        "review_masks",
        command=command,
        rows=masks,
        title="`label_flips_` beside the mask of cleanlab's find_multilabel_issues_per_class (logistic regression)",
        columns=PLACE
        + [(f"{who}_{key}", f"{MASKS[who]}: {words}", ".0f") for who in MASKS for key, words in what.items()]
        + [("shared", "marked by both, % of those marked by at least one", ".0f")],
        notes=notes,
    )


if __name__ == "__main__":
    main()
