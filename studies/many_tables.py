"""ResidualPropagation beside a random forest, LightGBM and CatBoost on tables with many labelled rows.

    python studies/many_tables.py --tables DIR --data-home DIR --replace     # hours; writes results/many-tables.json
    python studies/many_tables.py --before TREE ...    # first, from a clone at an older commit, with kernels built

A table of --tables is a file of NumPy arrays: rows X and Xt for training and test, and their labels Y and Yt.  The
first 5000 training rows and 3000 test rows are taken.  The article's ten sets follow, with their own training and
test rows.  All rows are labelled; each entry is flipped with probability .1.  Features are standardised.  The random
forest is scikit-learn's with 100 trees and three rows in a leaf; LightGBM and CatBoost are those of _boosting.py.
Each predicts with the threshold rule "f1" from its own out-of-sample scores.  Seconds are of the processor, on one
thread.

What is finished stands in docs/_build/studies/many_tables.jsonl.  The same command goes on there; what the method
itself reached at another commit is measured again.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _harness import add_replace, choose_folder, commit, keep, save_table, threads
from _harness import kept as stored
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.utils import Bunch

ROWS, TEST_ROWS, FLIP = 5000, 3000, 0.1
KEPT = Path(__file__).resolve().parent.parent / "docs" / "_build" / "studies" / "many_tables.jsonl"
OF_ARTICLE = ("Birds", "Corel", "Emotions", "Enron", "Genbase", "Medical", "Scene", "Tmc2007", "Toy", "Yeast")
WORDS = {
    "before": "before",
    "residual": "now",
    "forest": "random forest",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
}
RIVALS = {
    "before": "itself without boosted trees",
    "forest": "random forest, 100 trees",
    "lightgbm": "LightGBM, tuned",
    "catboost": "CatBoost, tuned",
}
MEASURES = {"seven": "seven measures", "micro": "micro F1", "ap": "AP of labels", "seconds": "s"}


def rows_of(name, args):
    """Standardised training and test rows, and their labels."""
    from nmlsdr.datasets import make_toy, paper_split
    from nmlsdr.experiments.protocol import standardised

    if name == "Toy":
        found = make_toy(random_state=0)
    elif name in OF_ARTICLE:
        found = paper_split(name, data_home=args.data_home)
    else:
        with np.load(Path(args.tables) / f"{name}.npz") as file:
            found = Bunch(
                data=file["X"][:ROWS],
                test_data=file["Xt"][:TEST_ROWS],
                target=file["Y"][:ROWS],
                test_target=file["Yt"][:TEST_ROWS],
            )
    return standardised(found)[:4]


def residual(X, Y, queries):
    from nmlsdr import ResidualPropagation

    model = ResidualPropagation(n_jobs=1).fit(X, Y)
    return model.decision_function(queries), None, model.predict(queries)


def forest(X, Y, queries):
    model = RandomForestClassifier(100, min_samples_leaf=3, oob_score=True, n_jobs=1, random_state=0).fit(X, Y)
    ones = [
        each[:, list(values).index(1)] if 1 in values else np.zeros(len(queries))
        for each, values in zip(model.predict_proba(queries), model.classes_, strict=True)
    ]
    out_of_bag = model.oob_decision_function_  # (n, 2, C), or a list where a label has one value
    return np.column_stack(ones), np.nan_to_num(np.asarray(out_of_bag)[:, 1, :]), None


def boosted(name, X, Y, queries):
    from _boosting import BOOSTED

    return (*BOOSTED[name](X, Y, queries), None)


METHODS = {
    "residual": residual,
    "forest": forest,
    "lightgbm": partial(boosted, "LightGBM"),
    "catboost": partial(boosted, "CatBoost"),
}


def measured(method, X, Y, queries, truth):
    """Three measures in percent, and seconds."""
    start = time.process_time()
    scores, out_of_sample, predicted = METHODS[method](X, Y, queries)
    seconds = time.process_time() - start
    if predicted is None:
        from nmlsdr._report.rivals import f1_cutoff_of

        predicted = (scores >= f1_cutoff_of(out_of_sample, Y)).astype(int)
    from nmlsdr.experiments.protocol import measures

    found = measures(truth, scores, predicted)
    varies = truth.min(axis=0) < truth.max(axis=0)
    ap = average_precision_score(truth[:, varies], scores[:, varies], average="macro")
    seven = float(np.mean([*found.values()]))
    return {"seven": 100 * seven, "micro": 100 * found["MiF1"], "ap": 100 * float(ap), "seconds": seconds}


def finished(now):
    """Measures by table, draw and method; our own only where they are of this commit, or of one before."""
    return {tuple(where): found for made, *where, found in stored(KEPT) if where[2] != "residual" or made == now}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", required=True)
    parser.add_argument("--data-home", required=True)
    parser.add_argument("--names", nargs="+", help="of tables; default: all")
    parser.add_argument("--methods", nargs="+", default=[*METHODS], choices=METHODS)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--before", metavar="TREE", help="a clone whose nmlsdr is measured as the method before")
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    if args.before:
        sys.path.insert(0, args.before)
        args.methods = ["residual"]
    names = args.names or [*sorted(path.stem for path in Path(args.tables).glob("*.npz")), *OF_ARTICLE]
    warnings.simplefilter("ignore")
    now, rows = commit(), []
    kept = finished(now)
    with threads(1):
        for name in names:
            X, Xt, Y, Yt = rows_of(name, args)
            for draw in range(args.draws):
                given = np.where(np.random.default_rng([7000 + draw, *name.encode()]).random(Y.shape) < FLIP, 1 - Y, Y)
                for method in args.methods:
                    said = "before" if args.before else method
                    if (name, draw, said) not in kept:
                        kept[name, draw, said] = measured(method, X, given, Xt, Yt)
                        keep(KEPT, [now, name, draw, said, kept[name, draw, said]])
                        print(name, draw, said, kept[name, draw, said], file=sys.stderr, flush=True)
            row = {"table": name, "n": len(X), "features": X.shape[1], "labels": Y.shape[1]}
            for method in WORDS:
                found = [kept[name, draw, method] for draw in range(args.draws) if (name, draw, method) in kept]
                if len(found) == args.draws:
                    row |= {f"{method}_{what}": float(np.mean([each[what] for each in found])) for what in MEASURES}
            rows.append(row)
    if not args.before:
        save(args, rows)


def save(args, rows):
    """The table; and by part and rival the mean gain of ours, the tables won, and how many times our time it took."""
    values, gains = {}, []
    for part, mine in (
        ("many", [row for row in rows if row["table"] not in OF_ARTICLE]),
        ("article", [row for row in rows if row["table"] in OF_ARTICLE]),
    ):
        for method in [each for each in WORDS if each != "residual"]:
            both = {
                what: np.array(
                    [(row[f"residual_{what}"], row[f"{method}_{what}"]) for row in mine if f"{method}_{what}" in row]
                )
                for what in MEASURES
            }
            gain = {what: float((both[what][:, 0] - both[what][:, 1]).mean()) for what in ("micro", "ap", "seven")}
            won, n = int((both["seven"][:, 0] > both["seven"][:, 1]).sum()), len(both["seven"])
            times = float(np.exp(np.log(both["seconds"][:, 1] / both["seconds"][:, 0]).mean()))
            line = {"rival": RIVALS[method], **gain, "won": f"{won} of {n}", "times": times}
            gains += [line] if part == "many" else []
            values |= {f"{part}_{method}_{key}": value for key, value in line.items()}
    save_table(
        "many-gains",
        command="python studies/many_tables.py --tables DIR --data-home DIR",
        rows=gains,
        values=values,
        title="What ResidualPropagation gains on twelve tables with many labelled rows, and the rival's time by ours",
        columns=[
            ("rival", "against", "s"),
            ("micro", "micro F1", "+.1f"),
            ("ap", "AP per label", "+.1f"),
            ("seven", "seven measures", "+.1f"),
            ("won", "tables won", "s"),
            ("times", "time", ".1f"),
        ],
        notes="Points of percent, means over tables; won: by the seven measures. time: the rival's divided by ours.",
    )
    save_table(
        "many-tables",
        command="python studies/many_tables.py --tables DIR --data-home DIR",
        rows=rows,
        title="Tables with many labelled rows and the article's sets, all rows labelled, 10 % flips",
        columns=[
            ("table", "table", "s"),
            ("n", "rows", "d"),
            ("features", "features", "d"),
            ("labels", "labels", "d"),
            *(
                (f"{method}_{what}", f"{words}: {title}", ".1f")
                for what, title in MEASURES.items()
                for method, words in WORDS.items()
            ),
        ],
        notes=f"Means of {args.draws} draws of the noise, in percent; s: CPU seconds of fit and prediction, one "
        "thread. before: without boosted trees, at commit 71cc63d. A dash: not measured.",
    )


if __name__ == "__main__":
    main()
