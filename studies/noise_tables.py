"""How often `nmlsdr report` claims something about labels that do not depend on the features.

    python studies/noise_tables.py --replace       # about six minutes of processor time; writes noise-tables.json
    python studies/noise_tables.py --tables 4      # prints, writes nothing to bench/results

The tables have independent normal features and labels that are 1 with fixed probabilities.  A claim is any of: a method
is better in F1 or in average precision, more labels help or harm, another threshold is recommended, the clearest label
is named, a warning of target leakage or of a column without which predictions fail, or a lowest number of wrong labels
above 0.  Two weaker rules are counted beside it, on the same fits: t-tests without the test for a signal, and the rule
before, that a difference is larger than its standard deviation over the folds.
"""

import argparse
import csv
import tempfile
from pathlib import Path
from unittest import mock

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _harness import add_replace, choose_folder, save_table
from joblib import Parallel, delayed

from nmlsdr.cli import main as nmlsdr

SHAPES = {"150 rows, 8 features": (150, 8), "80 rows, 20 features": (80, 20)}
PROBABILITIES = {"flu": 0.3, "cold": 0.2, "gout": 0.1}
LEVEL = 0.05  # of the t-tests alone
COLUMNS = [
    ("shape", "tables", "s"),
    ("tables", "number", "d"),
    ("claims", "with a claim", "d"),
    ("comparison", "a method is better", "d"),
    ("curve", "more labels", "d"),
    ("threshold", "another threshold", "d"),
    ("clearest", "clearest label", "d"),
    ("warning", "a warning", "d"),
    ("wrong", "wrong labels", "d"),
    ("without_signal_test", "t-tests only", "d"),
    ("by_spread", "the rule before", "d"),
]


def write_noise(path, n_rows, n_features, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = (rng.random((n_rows, len(PROBABILITIES))) < [*PROBABILITIES.values()]).astype(int)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*(f"x{j}" for j in range(n_features)), *PROBABILITIES], *np.c_[X, y].tolist()])


def report_facts(path):
    """The facts of a report, which is not written."""
    facts = {}
    with mock.patch("nmlsdr._cli.report.render", lambda page: facts.update(page) or ""):
        words = ["report", str(path), "--label-columns", ",".join(PROBABILITIES), "--quiet", "--jobs", "1"]
        assert nmlsdr([*words, "--out", str(path.with_suffix(".html"))]) == 0
    return facts


def claims(facts):
    """Whether a report claims each of the things that can be claimed; its page is made of these facts."""
    trial = facts["trial"]
    compared = [one for one in trial["against_best"].values() if one is not None]
    differences = [*compared, *([facts["curve"]] if facts["curve"] else [])]
    claimed = {
        "comparison": any(one["significant"] for one in compared),
        "curve": bool(facts["curve"] and facts["curve"]["significant"]),
        "threshold": bool(trial["rare"] and trial["rare"]["recommended"]),
        "clearest": trial["signal"]["informative"],
        "warning": bool(facts["notes"]),
        "wrong": any(round(low) > 0 for low, _ in (facts["wrong"]["forgotten"], facts["wrong"]["wrong"])),
    }
    return {
        "claims": any(claimed.values()),
        **claimed,
        "without_signal_test": any(one["p"] < LEVEL for one in differences),
        "by_spread": any(abs(one["gap"]) > one["std"] for one in differences),
    }


def claims_on_noise(n_rows, n_features, seed):
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "noise.csv")
        write_noise(path, n_rows, n_features, seed)
        return claims(report_facts(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    rows = []
    for name, (n_rows, n_features) in SHAPES.items():
        seeds = range(args.tables // len(SHAPES))
        counted = Parallel(args.jobs)(delayed(claims_on_noise)(n_rows, n_features, seed) for seed in seeds)
        rows.append(
            {"shape": name, "tables": len(counted)} | {key: sum(one[key] for one in counted) for key in counted[0]}
        )
    total = {key: sum(row[key] for row in rows) for key, _, form in COLUMNS if form == "d"}
    save_table(
        "noise-tables",
        title="Claims of the report about labels that do not depend on the features",
        command="python studies/noise_tables.py --replace",
        columns=COLUMNS,
        rows=[*rows, {"shape": "all", **total}],
        values={**total, "percent": 100 * total["claims"] / total["tables"]},
    )


if __name__ == "__main__":
    main()
