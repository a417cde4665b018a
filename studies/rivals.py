"""ResidualPropagation and its rivals on simulated tables, none of which the method was designed on.

    python studies/rivals.py            # about half an hour on one core; writes results/rivals*.json
    python studies/rivals.py --quick    # one draw of three tables, prints, writes nothing

The tables are those of mistakes.py: six simple simulations, the hospital, the museum and machines.  Two thirds
of the rows are for training, and 30 % of these are labelled.  The noise of the labels is that of two regimes of
`studies/run.py beyond`: 10 % of the entries are flipped, or 30 % of the positives are dropped.  All methods are those
of that study, and all but the article's pipeline predict with the threshold rule "f1", each from its own out-of-sample
scores.  The Average is the mean of the scores of both forests and of logistic regression.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _harness import add_replace, choose_folder, save_table, threads
from beyond import AVERAGE, LEARNERS, OURS, measure_predictions
from mistakes import counts, groups, hospital, logistic, machines, marks, museum, products, shifted
from scipy.stats import wilcoxon
from sklearn.preprocessing import StandardScaler

from nmlsdr.datasets import flip_labels, mask_labels
from nmlsdr.experiments.protocol import METRICS, Draw

TABLES = {
    "shifted means": shifted, "documents": counts, "logistic": logistic, "products": products, "groups": groups,
    "yes/no marks": marks, "hospital": hospital, "museum": museum, "machines": machines,
}  # fmt: skip
NOISES = {"flips": "10 % flips", "dropped": "30 % of the positives dropped"}
METHODS = (OURS, *LEARNERS, AVERAGE, "NMLSDR")
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
    given = mask_labels(given, 0.3, random_state=rng)
    return Draw(rows[:n], rows[n:], truth[:n], truth[n:], None, given, seed)


def compare(name, noise, seeds):
    """Means over the draws, in percent: of the seven measures and of the four rankings, by method."""
    found = {kind: dict.fromkeys(METHODS, 0.0) for kind in KINDS}
    for seed in range(seeds):
        data = drawn(name, noise, seed)
        for method in METHODS:
            parts, _ = measure_predictions(method, data)
            measured = parts["f1"] or parts["metrics"]
            for kind, names in KINDS.items():
                found[kind][method] += 100 * np.mean([measured[each] for each in names]) / seeds
    return found


def against(rows, kind):
    """Ours minus each rival over the tables: mean gain, tables won and lost, exact signed-rank test."""
    lines = []
    for rival in METHODS[1:]:
        gains = np.array([row[f"{kind}_{OURS}"] - row[f"{kind}_{rival}"] for row in rows])
        lines.append({"rival": rival, f"{kind}_gain": gains.mean(), f"{kind}_won": int((gains > 0).sum()),
                      f"{kind}_lost": int((gains < 0).sum()), f"{kind}_p": wilcoxon(gains, method="exact").pvalue,
                      f"{kind}_worst": rows[int(gains.argmin())]["table"]})  # fmt: skip
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int, default=3)
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    warnings.simplefilter("ignore")  # labels that are never predicted
    names, draws = ([*TABLES][:3], 1) if args.quick else ([*TABLES], args.draws)
    rows, tests, values = [], [], {}
    with threads(1):
        for noise, words in NOISES.items():
            for name in names:
                found = compare(name, noise, draws)
                row = {f"{kind}_{who}": value for kind, each in found.items() for who, value in each.items()}
                rows.append({"noise": words, "table": name, **row})
                print(rows[-1], file=sys.stderr, flush=True)
            mine = [row for row in rows if row["noise"] == words]
            for kinds in zip(*(against(mine, kind) for kind in KINDS), strict=True):
                tests.append({"noise": words} | kinds[0] | kinds[1])
                values |= {f"{noise}_{kinds[0]['rival']}_{key}": value for key, value in tests[-1].items()}
    if args.quick:
        print(rows, tests, sep="\n")
        return
    command = "python studies/rivals.py"
    means = f"Means of {draws} draws of the table and of the noise. All tables are simulated."
    places = [("noise", "noise", "s"), ("table", "table", "s")]
    for kind, title in (("seven", "all seven measures"), ("rankings", "the four ranking measures")):
        save_table(
            "rivals" if kind == "seven" else "rivals_rankings", command=command, rows=rows, notes=means,
            title=f"Mean of {title}, in percent",
            columns=[*places, *((f"{kind}_{who}", who, ".1f") for who in METHODS)],
        )  # fmt: skip
    save_table(
        "rivals_tests", command=command, rows=tests, values=values,
        title="ResidualPropagation against each rival over the simulated tables",
        columns=[("noise", "noise", "s"), ("rival", "rival", "s"), *(
            (f"{kind}_{key}", f"{words}: {key}", form)
            for kind, words in (("seven", "all seven"), ("rankings", "rankings"))
            for key, form in (("gain", "+.2f"), ("won", "d"), ("lost", "d"), ("p", ".3f"))
        )],
        notes="gain: points of percent, the mean over the tables. p: exact signed-rank test over the tables.",
    )  # fmt: skip


if __name__ == "__main__":
    main()
