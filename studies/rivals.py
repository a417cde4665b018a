"""ResidualPropagation and its rivals: on simulated tables, which no method was designed on, and on the article's sets.

    python studies/rivals.py --data-home DIR                 # an hour on one core; writes results/rivals*.json
    python studies/rivals.py --data-home DIR --sets Emotions # the simulated tables and this set
    python studies/rivals.py --quick                         # one draw of three tables, prints, writes nothing

The simulated tables are those of mistakes.py: six simple simulations, the hospital, the museum and machines.  Two
thirds of the rows are for training.  There are three kinds of labels: 30 % of the rows are labelled, and 10 % of the
entries are flipped; all rows are labelled, and all labels are correct; 30 % are labelled, and 30 % of the positives
are dropped.  The six smaller sets of the article have the same three kinds, drawn once, as by run.py.  The methods are
those of run.py, and CatBoost and LightGBM (_boosting.py).  All but the article's pipeline predict with the threshold
rule "f1", each from its own out-of-sample scores.  The Average is the mean of the scores of both forests and of
logistic regression.  Seconds are of the processor, on one thread.

What is finished stands in docs/_build/studies/rivals.jsonl; the same command at the same commit goes on there.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _boosting import BOOSTED
from _harness import add_replace, choose_folder, commit, keep, save_table, threads
from _harness import kept as stored
from beyond import AVERAGE, BASE, BEYOND_METHODS, LEARNERS, OURS, REGIMES, SIX_SETS
from mistakes import counts, groups, hospital, logistic, machines, marks, museum, products, shifted
from scipy.stats import wilcoxon
from sklearn.preprocessing import StandardScaler

from nmlsdr._report.rivals import f1_cutoff_of
from nmlsdr.datasets import flip_labels, mask_labels
from nmlsdr.experiments.protocol import METRICS, Draw, draw, measures

KEPT = Path(__file__).resolve().parent.parent / "docs" / "_build" / "studies" / "rivals.jsonl"
TABLES = {
    "shifted means": shifted,
    "documents": counts,
    "logistic": logistic,
    "products": products,
    "groups": groups,
    "yes/no marks": marks,
    "hospital": hospital,
    "museum": museum,
    "machines": machines,
}
NOISES = {"flips": "10 % flips", "clean": "all labels given and correct", "dropped": "30 % of the positives dropped"}
REGIME = {"flips": BASE, "dropped": REGIMES["beyond-dropped-30"], "clean": replace(BASE, flip=0.0, labeled=1.0)}
METHODS = (OURS, *LEARNERS, AVERAGE, *BOOSTED, "NMLSDR")
FOREST = "RandomForest"
KINDS = {"seven": METRICS, "rankings": METRICS[1:5]}
ROWS, FIRST = 1500, 1000  # rows of a table, and the number of the first draw, which no other program uses


def drawn(name, noise, seed):
    """A table and noisy labels of some of its training rows, without labels that only one of its parts has."""
    rng = np.random.default_rng([FIRST + seed, *name.encode()])
    X, truth, *_ = TABLES[name](rng, ROWS)
    n = 2 * len(X) // 3
    truth = np.asarray(truth, dtype=np.int64)
    truth = truth[:, truth[:n].any(axis=0) & truth[n:].any(axis=0)]
    rows = StandardScaler().fit(X[:n]).transform(X)
    given = flip_labels(truth[:n], 0.1 if noise == "flips" else 0.0, random_state=rng)
    if noise == "dropped":
        given = np.where(rng.random(given.shape) < 0.3, 0, given)
    given = mask_labels(given, 1.0 if noise == "clean" else 0.3, random_state=rng)
    return Draw(rows[:n], rows[n:], truth[:n], truth[n:], None, given, seed)


def measured(method, data):
    """The seven measures of a method, with the threshold rule "f1" where it has none of its own."""
    if method in BOOSTED:
        given = data.given[data.labeled]
        scores, out_of_fold = BOOSTED[method](data.train[data.labeled], given, data.test)
        predicted = (scores >= f1_cutoff_of(out_of_fold, given)).astype(int)
        return measures(data.test_target, scores, predicted)
    found = BEYOND_METHODS[method](data)
    predicted = found.predicted if found.cutoff is None else (found.scores >= found.cutoff).astype(int)
    return measures(data.test_target, found.scores, predicted)


def compare(name, noise, seeds, home, kept, until):
    """Means over the draws by method: of the seven measures and of the four rankings in percent, and CPU seconds.

    None if that is not finished at the time ``until``.
    """
    found = {kind: dict.fromkeys(METHODS, 0.0) for kind in (*KINDS, "seconds")}
    for seed in range(seeds):
        todo = [method for method in METHODS if (name, noise, seed, method) not in kept]
        if todo:
            if time.monotonic() > until:
                return None
            of_article = name not in TABLES
            data = draw(REGIME[noise], name, seed, "full", home) if of_article else drawn(name, noise, seed)
        for method in todo:
            start = time.process_time()
            values = measured(method, data)
            kept[name, noise, seed, method] = values, time.process_time() - start
            keep(KEPT, [commit(), name, noise, seed, method, *kept[name, noise, seed, method]])
        for method in METHODS:
            values, seconds = kept[name, noise, seed, method]
            if method == AVERAGE:  # it takes what its learners have computed for the same draw
                seconds += sum(kept[name, noise, seed, each][1] for each in LEARNERS)
            found["seconds"][method] += seconds / seeds
            for kind, names in KINDS.items():
                found[kind][method] += 100 * np.mean([values[each] for each in names]) / seeds
    return found


def finished():
    """What an interrupted run at this commit has kept."""
    this = commit()
    return {tuple(where): (values, seconds) for made, *where, values, seconds in stored(KEPT) if made == this}


def against(rows, kind):
    """Ours minus each rival over the tables: mean gain, tables won and lost, exact signed-rank test."""
    lines = []
    for rival in METHODS[1:]:
        gains = np.array([row[f"{kind}_{OURS}"] - row[f"{kind}_{rival}"] for row in rows])
        lines.append(
            {
                "rival": rival,
                f"{kind}_gain": gains.mean(),
                f"{kind}_won": int((gains > 0).sum()),
                f"{kind}_lost": int((gains < 0).sum()),
                f"{kind}_p": wilcoxon(gains, method="exact").pvalue,
                f"{kind}_worst": rows[int(gains.argmin())]["table"],
            }
        )
    return lines


def over_the_forest(rows):
    """What each method gains over the random forest, with the standard error over the tables, and its CPU seconds."""
    lines = []
    for method in METHODS:
        gains = np.array([row[f"seven_{method}"] - row[f"seven_{FOREST}"] for row in rows])
        cost = [row[f"seconds_{method}"] / row[f"seconds_{OURS}"] for row in rows]
        lines.append(
            {
                "method": method,
                "gain": gains.mean(),
                "error": gains.std(ddof=1) / np.sqrt(len(gains)),
                "won": f"{(gains > 0).sum()} of {len(gains)}",
                "cost": float(np.exp(np.mean(np.log(cost)))),
                "seconds": float(np.mean([row[f"seconds_{method}"] for row in rows])),
            }
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int, default=2, help="of the simulated tables")
    parser.add_argument("--sets", nargs="*", default=list(SIX_SETS), help="of the article, drawn once")
    parser.add_argument("--data-home")
    parser.add_argument("--minutes", type=float, default=np.inf, help="leave out tables that are not finished by then")
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    warnings.simplefilter("ignore")  # labels that are never predicted
    parts = {"simulated": [*TABLES], "article": args.sets}
    if args.quick:
        parts, args.draws = {"simulated": [*TABLES][:3]}, 1
    kept, until = finished(), time.monotonic() + 60 * args.minutes
    rows, tests, gains, values = [], [], [], {}
    with threads(1):
        for part, names in parts.items():
            n_draws = args.draws if part == "simulated" else 1
            for noise, words in NOISES.items():
                mine = []
                for name in names:
                    found = compare(name, noise, n_draws, args.data_home, kept, until)
                    if found is None:
                        continue
                    row = {f"{kind}_{who}": value for kind, each in found.items() for who, value in each.items()}
                    mine.append({"tables": part, "noise": words, "table": name, **row})
                    print(mine[-1], file=sys.stderr, flush=True)
                if len(mine) < 2:
                    continue
                rows += mine
                gains += [{"tables": part, "noise": words, **line} for line in over_the_forest(mine)]
                for kinds in zip(*(against(mine, kind) for kind in KINDS), strict=True):
                    tests.append({"tables": part, "noise": words} | kinds[0] | kinds[1])
                    first = noise if part == "simulated" else f"{part}_{noise}"
                    values |= {f"{first}_{kinds[0]['rival']}_{key}": value for key, value in tests[-1].items()}
    if args.quick:
        print(rows, tests, gains, sep="\n")
        return
    save(args, rows, tests, gains, values)


def save(args, rows, tests, gains, values):
    command = "python studies/rivals.py --data-home DIR"
    means = f"Means of {args.draws} draws of each simulated table and its noise; one draw for the article's sets."
    places = [("tables", "tables", "s"), ("noise", "labels", "s")]
    for name, kind, title in (
        ("rivals", "seven", "all seven measures"),
        ("rivals_rankings", "rankings", "the rankings"),
    ):
        save_table(
            name,
            command=command,
            rows=rows,
            notes=means,
            title=f"Mean of {title}, in percent",
            columns=[*places, ("table", "table", "s"), *((f"{kind}_{who}", who, ".1f") for who in METHODS)],
        )
    save_table(
        "rivals_tests",
        command=command,
        rows=tests,
        values=values,
        title="ResidualPropagation against each rival over the tables",
        columns=[
            *places,
            ("rival", "rival", "s"),
            *(
                (f"{kind}_{key}", f"{words}: {key}", form)
                for kind, words in (("seven", "all seven"), ("rankings", "rankings"))
                for key, form in (("gain", "+.2f"), ("won", "d"), ("lost", "d"), ("p", ".3f"))
            ),
        ],
        notes="gain: points of percent, the mean over the tables. p: exact signed-rank test over the tables.",
    )
    save_table(
        "rivals_gains",
        command=command,
        rows=gains,
        title="What each method gains over a random forest, and its time",
        columns=[
            *places,
            ("method", "method", "s"),
            ("gain", "gain", "+.2f"),
            ("error", "standard error", ".2f"),
            ("won", "better", "s"),
            ("seconds", "CPU seconds", ".1f"),
            ("cost", "times ours", ".1f"),
        ],
        notes="gain: points of percent of the mean of all seven measures, over the tables. times ours: geometric mean.",
    )


if __name__ == "__main__":
    main()
