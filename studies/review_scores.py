"""Which score of an annotation finds the most wrong ones: that of ResidualPropagation, or simpler ones.

    python studies/review_scores.py --data-home DIR      # some minutes; writes results/review-scores.json
    python studies/review_scores.py --quick              # one seed of the simulated tables, prints, writes nothing

At most 1000 rows of each table are drawn, and all of them are labelled, with labels that are wrong in one of two ways:
each entry is flipped with probability .1, or 30 % of the positives are forgotten. The lists hold all annotations, or
the given 0s. The scores differ in the opinion u that is compared with the given label (1 - u where it is 1, u where it
is 0): "flip_scores_", "trend" (the weighted out-of-sample predictions O), "forest" (the random forest's out of bag),
"with labels" (the mean of flip_scores_' opinion and the labels propagated over the same graphs, an earlier form), the
mean of "with labels" and "trend", and the mean of their ranks.

A score should not follow the label that it judges. "own label" is how far u moves towards a label if that label alone
is changed and all is fitted again, as the mean over some entries.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import warnings
from collections import Counter
from pathlib import Path

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _harness import add_replace, choose_folder, save_table, threads
from scipy.stats import rankdata
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr._estimators import _learners, _residual_pass
from nmlsdr.datasets import flip_labels, paper_split
from nmlsdr.graph import neighbor_graph, transition_matrix
from nmlsdr.propagation import propagate

ROOT = Path(__file__).resolve().parent.parent
SETS = ("Birds", "Emotions", "Genbase", "Medical", "Scene", "Yeast")
NOISES = {"flips": "10 % flips, all annotations", "forgotten": "30 % forgotten, given 0s"}
SCORES = ("flip_scores_", "trend", "forest", "with labels", "mean", "mean of ranks")
MOST_ROWS, CHANGED = 1000, 2


# ---------------------------------------------------------------- tables


def program(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def encoded(rows):
    """Numbers of a table of cells: numbers with their mean in holes, the words of other columns as 0 and 1."""
    columns = []
    for cells in zip(*rows, strict=True):
        texts = [re.sub(r"\.(?=\d{3}(\D|$))", "", cell).replace(",", ".") for cell in cells]
        numbers = np.array([float(text) if re.fullmatch(r"-?\d+\.?\d*", text) else np.nan for text in texts])
        if np.isfinite(numbers).mean() > 0.8:
            columns.append(np.where(np.isfinite(numbers), numbers, np.nanmean(numbers)))
            continue
        words = [set(cell.casefold().split()) for cell in cells]
        common = Counter(word for each in words for word in each)
        columns += [np.array([float(word in each) for each in words]) for word, n in sorted(common.items()) if n >= 5]
    return np.column_stack(columns)


def hospital(seed):
    made, rng = program("docs/hospital.py"), np.random.default_rng(seed)
    effects = np.zeros((len(made.DIAGNOSES), 60))
    for row in effects:
        row[rng.permutation(60)[:4]] = rng.normal(size=4)
        row *= made.DISTANCE / np.linalg.norm(row)
    _, rows, truth = made.draw(MOST_ROWS, 60, rng, effects)
    return encoded([row[3:] for row in rows]), truth


def museum(seed):
    made, rng = program("tests/campaigns/museum.py"), np.random.default_rng(seed)
    rows, truth = made.draw(MOST_ROWS, rng, 0, np.array([f"taller {i}" for i in range(200)]))
    return encoded([row[1:] for row in rows]), truth


def products(seed):
    """Labels that depend on products of features, which no linear method sees."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(MOST_ROWS, 20))
    pairs = rng.permutation(20)[:12].reshape(6, 2)
    return X, np.column_stack([X[:, a] * X[:, b] + 0.5 * rng.normal(size=MOST_ROWS) > -0.3 for a, b in pairs])


def topics(seed):
    X, truth = make_multilabel_classification(MOST_ROWS, 40, n_classes=8, n_labels=2, random_state=seed)
    return np.sqrt(X), truth


SIMULATED = {"Hospital": hospital, "Museum": museum, "Products": products, "Topics": topics}


def table(name, seed, home):
    """At most 1000 standardised rows and their true labels; labels with fewer than two rows are left out."""
    if name in SIMULATED:
        X, truth = SIMULATED[name](seed)
    else:
        found = paper_split(name, data_home=home)
        rows = np.random.default_rng(seed).permutation(len(found.data))[:MOST_ROWS]
        X, truth = found.data[rows], found.target[rows]
    truth = truth.astype(int)
    return StandardScaler().fit_transform(X), truth[:, truth.sum(axis=0) > 1]


def corrupt(truth, noise, seed):
    rng = np.random.default_rng([seed, 1])  # not the numbers by which the tables were drawn
    if noise == "flips":
        return flip_labels(truth, 0.1, random_state=rng)
    forgotten = rng.random(truth.shape) < 0.3
    return np.where(forgotten, 0, truth)


# ---------------------------------------------------------------- scores


class Recorded(ResidualPropagation):
    """Keeps what the scores are made of."""

    def fit(self, X, y, **options):
        predictions = []
        weigh = _learners.learner_weights
        propagate_residuals = _residual_pass.propagate_residuals

        def keep(each, *rest):
            predictions.extend(scores.copy() for scores in each)  # fit works in place
            return weigh(each, *rest)

        def keep_neighbor_means(steps, labels, out_of_sample, graph_rows, order, n_neighbors, alpha):
            self.trend_ = out_of_sample
            self.neighbors_TF_ = 0.0
            for rows in graph_rows:
                k = _residual_pass.residual_neighbors(n_neighbors, len(rows))
                graph = neighbor_graph(rows, k, n_jobs=1)
                trust, known = steps.trust(labels, alpha)
                F = propagate(graph, labels.Y, trust, labeled=known, n_jobs=1).F
                TF = (transition_matrix(graph) @ F)[labels.labeled]
                self.neighbors_TF_ = self.neighbors_TF_ + TF / 2
            return propagate_residuals(steps, labels, out_of_sample, graph_rows, order, n_neighbors, alpha)

        _learners.learner_weights = keep
        _residual_pass.propagate_residuals = keep_neighbor_means
        try:
            super().fit(X, y, **options)
        finally:
            _learners.learner_weights = weigh
            _residual_pass.propagate_residuals = propagate_residuals
        self.random_forest_ = predictions[-1]
        return self


def opinions(X, given):
    """The opinion u of each score that has one."""
    model = Recorded(n_jobs=1).fit(X, given)
    u = np.where(given == 1, 1 - model.flip_scores_, model.flip_scores_)
    trend, with_labels = np.clip(model.trend_, 0, 1), (u + model.neighbors_TF_) / 2
    return {
        "flip_scores_": u,
        "trend": trend,
        "forest": np.clip(model.random_forest_, 0, 1),
        "with labels": with_labels,
        "mean": (with_labels + trend) / 2,
    }


def suspicions(found, given):
    """How suspicious each given label is, by score."""
    scores = {name: np.where(given == 1, 1 - u, u) for name, u in found.items()}
    ranks = [rankdata(scores[name]).reshape(given.shape) for name in ("with labels", "trend")]
    return {**scores, "mean of ranks": np.mean(ranks, axis=0)}


def own_label(X, given, found, seed):
    """How far each opinion moves towards a label that alone is changed."""
    rng = np.random.default_rng(seed)
    moved = []
    for _ in range(CHANGED):
        i, c = rng.integers(len(given)), rng.integers(given.shape[1])
        changed = given.copy()
        changed[i, c] = 1 - given[i, c]
        other = opinions(X, changed)
        moved.append([(other[name] - found[name])[i, c] * (1 - 2 * given[i, c]) for name in found])
    return dict(zip(found, np.mean(moved, axis=0), strict=True))


def compare(name, noise, seeds, home):
    """Mean average precision over the seeds, and the own label's influence in the first of them."""
    precisions, moved = [], None
    for seed in range(seeds):
        X, truth = table(name, seed, home)
        given = corrupt(truth, noise, seed)
        found = opinions(X, given)
        listed = given == 0 if noise == "forgotten" else np.ones(given.shape, dtype=bool)
        wrong = (given != truth)[listed]
        scores = suspicions(found, given)
        precisions.append([average_precision_score(wrong, scores[kind][listed]) for kind in SCORES])
        if moved is None and noise == "flips":
            moved = own_label(X, given, found, seed)
    print(name, noise, np.mean(precisions, axis=0).round(4), moved, file=sys.stderr, flush=True)
    return np.mean(precisions, axis=0), moved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-home")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    add_replace(parser)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # rare labels that are never predicted
    names, seeds = ([*SIMULATED], 1) if args.quick else ([*SETS, *SIMULATED], args.seeds)
    rows, moved = [], []
    with threads(1):
        for noise, words in NOISES.items():
            for name in names:
                found, own = compare(name, noise, seeds, args.data_home)
                rows.append({"noise": words, "data": name, **dict(zip(SCORES, 100 * found, strict=True))})
                moved += [] if own is None else [own]
    values = {f"own_{name}": float(np.mean([each[name] for each in moved])) for name in moved[0]}
    for noise, words in NOISES.items():
        means = {kind: float(np.mean([row[kind] for row in rows if row["noise"] == words])) for kind in SCORES}
        values |= {f"{noise}_{kind}": mean for kind, mean in means.items()}
        rows.append({"noise": words, "data": "mean", **means})
    if args.quick:
        print(rows, values, sep="\n")
        return
    choose_folder(args.replace)
    save_table(
        "review-scores",
        title="Average precision of the review list, in percent, by the score that orders it",
        command="python studies/review_scores.py --data-home DIR",
        rows=rows,
        values=values,
        columns=[("noise", "noise, list", "s"), ("data", "data", "s"), *((kind, kind, ".1f") for kind in SCORES)],
        notes=f"Means over {seeds} draws of the rows and of the noise. The tables in the lower rows are simulated.",
    )


if __name__ == "__main__":
    main()
