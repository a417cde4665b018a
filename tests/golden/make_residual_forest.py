"""Make residual_forest.json by the plain twin alone; run it again when the definition of the forests changes.

    NMLSDR_SHARED=... python tests/golden/make_residual_forest.py

It takes some minutes.
"""

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import reference  # noqa: E402

from nmlsdr.experiments.protocol import STUDIES, draw  # noqa: E402
from nmlsdr.metrics import score_table  # noqa: E402

STORED = HERE / "residual_forest.json"


def case(old):
    """The stored numbers of one draw."""
    d = draw(STUDIES["benchmarks"], old["dataset"], old["seed"], "full", os.environ["NMLSDR_SHARED"] + "/data")
    X = np.asarray(d.train)
    Y = np.where(d.given == -1, 0, d.given).astype(float)
    labeled = d.labeled
    mask = np.zeros(len(X), dtype=bool)
    mask[labeled] = True
    fit = reference.residual_propagation(X, Y, mask, np.asarray(d.test), Y.shape[1], 10, 100)
    r = fit["rate"]
    scores = fit["scores"]
    truth = d.test_target
    least = 0.5 / mask.sum()
    p = np.clip((scores - r) / (1 - 2 * r), least, 1 - least)
    table = score_table(truth, scores, predictions=scores >= fit["f1"], coverage_empty=-1)
    values = {
        **dict(zip(("ridge", "extra", "forest"), fit["weights"], strict=True)),
        "missed": ((Y[mask] - fit["O"]) ** 2).mean(),
        "r": r,
        "t": fit["f1"],
        "mean_score": scores.mean(),
        "mean4": np.mean([table[name] for name in ("RL'", "AP", "OE'", "Cov'")]),
        "mean7": np.mean(list(table.values())),
        **{name: table[name] for name in ("AP", "HL'", "MaF1", "MiF1")},
        "brier": ((p - truth) ** 2).mean(),
        "log_loss": -np.log(np.where(truth == 1, p, 1 - p)).mean(),
        "review": average_precision_score((d.given != d.target)[mask].ravel(), fit["flip_scores"][mask].ravel()),
    }
    print(old["dataset"], old["seed"], values, flush=True)
    return {**old, "l": int(mask.sum()), "values": {name: round(float(value), 6) for name, value in values.items()}}


def main():
    stored = json.loads(STORED.read_text())
    names = sys.argv[1:]
    with ProcessPoolExecutor(2) as pool:
        chosen_cases = [case_record for case_record in stored["cases"] if not names or case_record["dataset"] in names]
        made = {
            (case_record["dataset"], case_record["seed"]): case_record for case_record in pool.map(case, chosen_cases)
        }
    stored["cases"] = [
        made.get((case_record["dataset"], case_record["seed"]), case_record) for case_record in stored["cases"]
    ]
    STORED.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
