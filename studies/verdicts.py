"""What 100 verdicts on a review's list do to the labels that are predicted for new rows.

    python studies/verdicts.py --data-home DIR --replace     # some minutes; writes results/verdicts.json

Six sets of the article: 10 % of the training entries flipped, or 40 % of the positives forgotten; 30 % of the rows
labelled.  "before": no verdicts.  "by hand": the table is corrected and fitted again.  "verdicts": `fit` gets the
labels as given, and the verdicts.  A tenth of the verdicts is wrong in the third kind of run.  Micro and macro F1 are
those of the test rows.
"""

from __future__ import annotations

import argparse
import warnings

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _harness import add_replace, choose_folder, save_table, threads
from beyond import SIX_SETS
from sklearn.metrics import f1_score

from nmlsdr import ResidualPropagation
from nmlsdr.datasets import flip_labels, mask_labels, paper_split
from nmlsdr.experiments.protocol import standardised
from nmlsdr.inspection import rank_suspects

KINDS = {"flips": "10 % flips", "forgotten": "40 % forgotten", "errors": "10 % flips, a tenth of the verdicts wrong"}
RUNS = {"before": "before", "hand": "by hand", "verdicts": "verdicts"}
VERDICTS = 100


def measure(name, kind, seed, home):
    """Micro and macro F1 in percent by run, and how many of the verdicts changed an entry."""
    X, Xt, truth, test_truth, _ = standardised(paper_split(name, data_home=home))
    rng = np.random.default_rng([seed, 4000])
    given = flip_labels(truth, 0.1, random_state=seed)
    if kind == "forgotten":
        given = np.where(rng.random(truth.shape) < 0.4, 0, truth)
    given = mask_labels(given, 0.3, random_state=seed)
    model = ResidualPropagation(n_jobs=1, random_state=seed).fit(X, given)
    found = rank_suspects(model, given).first(VERDICTS)
    said = truth[found.row, found.label]
    if kind == "errors":
        said = np.where(rng.random(len(said)) < 0.1, 1 - said, said)
    verdicts = np.full(given.shape, -1)
    verdicts[found.row, found.label] = said
    new = {"before": model.predict(Xt)}
    corrected = np.where(verdicts >= 0, verdicts, given)
    for run, labels, extra in (("hand", corrected, {}), ("verdicts", given, {"verdicts": verdicts})):
        new[run] = ResidualPropagation(n_jobs=1, random_state=seed).fit(X, labels, **extra).predict(Xt)
    f1 = {
        f"{mean}_{run}": 100 * f1_score(test_truth, labels, average=mean, zero_division=0)
        for run, labels in new.items()
        for mean in ("micro", "macro")
    }
    return f1 | {"changed": int((said != given[found.row, found.label]).sum())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-home")
    parser.add_argument("--draws", type=int, default=10)
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    warnings.simplefilter("ignore")
    rows, values = [], {}
    with threads(1):
        for kind, words in KINDS.items():
            mine = []
            for name in SIX_SETS:
                runs = [measure(name, kind, seed, args.data_home) for seed in range(args.draws)]
                means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
                mine.append({"labels": words, "set": name, **means})
                better = [run["micro_verdicts"] > run["micro_before"] for run in runs]
                mine[-1]["better"] = f"{sum(better)} of {args.draws}"
                print(mine[-1], flush=True)
            keys = [key for key in mine[0] if key.startswith(("micro", "macro", "changed"))]
            means = {key: float(np.mean([row[key] for row in mine])) for key in keys}
            mine.append({"labels": words, "set": "mean", **means})
            rows += mine
            values |= {f"{kind}_{key}": mine[-1][key] for key in keys}
    save_table(
        "verdicts",
        command="python studies/verdicts.py --data-home DIR",
        rows=rows,
        values=values,
        title=f"F1 of new rows before and after {VERDICTS} verdicts, in percent",
        columns=[
            ("labels", "labels", "s"),
            ("set", "set", "s"),
            ("changed", "entries changed", ".0f"),
            *(
                (f"{mean}_{run}", f"{mean} F1: {words}", ".1f")
                for mean in ("micro", "macro")
                for run, words in RUNS.items()
            ),
            ("better", "verdicts better, draws", "s"),
        ],
        notes=f"Means of {args.draws} draws of the noise and of the labelled rows.",
    )


if __name__ == "__main__":
    main()
