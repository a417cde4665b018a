"""The Newton step of ResidualPropagation: what it adds, beside logistic regression.

    python studies/newton.py --tables DIR --data-home DIR --replace     # an hour; writes results/newton.json
    python studies/newton.py --sets linear30 steep100 --noise clean     # a part

Simulations have 3000 labelled rows with 100 features: labels that are linear in them with 5 % wrong ("linear30" has
30), drawn with probabilities that rise steeply with linear scores ("steep30"), or curved ("curved100", "bent100").
A table of --tables is a file of NumPy arrays: rows X and Xt for training and test, and their labels Y and Yt, of which
5000 and 3000 are taken.  The article's sets have their own rows.  "debtags" are 3000 packages of this machine's package
index (see debtags.py).  In a second and third run each entry is flipped with probability .1 or .2, and in a fourth 30 %
of the labels are forgotten; the test labels are right.

What is finished stands in docs/_build/studies/newton.jsonl, where the same command at the same commit goes on, also in
several processes with some --sets each.

Sets of the part "development" were looked at while the strengths, the number of conjugate gradients and the place of
the step beside the linked ridge regression were chosen; those of the part "confirmation" were run once afterwards.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import _bench  # noqa: F401  (before NumPy)
import growth
import numpy as np
from _harness import add_replace, choose_folder, commit, keep, save_table, threads
from _harness import kept as stored
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss
from sklearn.multiclass import OneVsRestClassifier

from nmlsdr import ResidualPropagation
from nmlsdr._estimators import _learners
from nmlsdr._estimators._linked import NewtonStep
from nmlsdr.datasets import list_datasets, paper_split
from nmlsdr.experiments.protocol import measures, standardised

KEPT = Path(__file__).resolve().parent.parent / "docs" / "_build" / "studies" / "newton.jsonl"
ROWS, TEST_ROWS = 3000, 1000
TABLE_ROWS, TABLE_TEST_ROWS = 5000, 3000
DEVELOPMENT = {
    "linear30": ("clean", "flip.2"),
    "steep100": ("clean", "flip.1", "flip.2", "forget.3"),
    "curved100": ("clean", "flip.1"),
    "diamonds": ("flip.1", "forget.3"),
    "frogs": ("flip.2",),
    "mirflickr": ("clean", "forget.3"),
    "coil": ("flip.1",),
    "Tmc2007": ("flip.1",),
    "Corel": ("clean",),
    "debtags": ("clean", "flip.1", "forget.3"),
}
CONFIRMATION = {
    "steep30": ("clean", "flip.1", "flip.2", "forget.3"),
    "linear100": ("clean", "flip.1", "flip.2", "forget.3"),
    "bent100": ("clean", "flip.1"),
    "airquality": ("clean", "flip.1"),
    "churn": ("flip.1", "forget.3"),
    "movies": ("clean", "flip.1"),
    "nass": ("flip.1", "flip.2"),
    "phone": ("clean", "flip.2"),
    "rhc": ("clean", "flip.1"),
    "rodents": ("clean", "forget.3"),
    "storms": ("clean", "flip.2"),
    "Enron": ("clean", "flip.1", "forget.3"),
    "Yeast": ("clean", "flip.1"),
    "Scene": ("clean", "flip.1"),
    "linear1000": ("clean",),
}
SIMULATED = ("linear", "curved", "steep", "bent")
WAYS = {"before": "without", "after": "with it", "logistic": "logistic regression"}
MEASURES = {"seven": "seven measures", "p1": "P@1", "ap": "macro AP", "macro": "macro F1"}
STRENGTHS = (0.1, 1.0, 10.0)
MIN_COUNT = 2  # of a tag
STEEPNESS = 8.0

Data = tuple[Any, np.ndarray, Any, np.ndarray]


def steep(n_labels: int, bent: bool) -> tuple[np.ndarray, np.ndarray]:
    """Labels whose log odds are `STEEPNESS` times a standardised score above a quantile."""
    rng = np.random.default_rng([1, n_labels])
    n = ROWS + TEST_ROWS
    X = rng.standard_normal((n, 10)) @ rng.standard_normal((10, 100)) / 3 + 0.5 * rng.standard_normal((n, 100))
    seen = np.cos(X @ rng.standard_normal((100, 100)) / 10.0) if bent else X
    scores = seen @ rng.standard_normal((100, n_labels))
    scores = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    share = np.clip(0.4 / np.arange(1, n_labels + 1) ** 0.7, 0.004, 0.25)
    cut = np.array([np.quantile(each, 1 - q) for each, q in zip(scores.T, share, strict=True)])
    return X, (rng.random(scores.shape) < 1 / (1 + np.exp(-STEEPNESS * (scores - cut)))).astype(np.int64)


def packages() -> Data:
    """Tagged packages of the package index, and others to test on."""
    import debtags
    import pandas as pd

    from nmlsdr.tables import TableEncoder

    index = debtags.read_index(None)
    tagged = np.flatnonzero([bool(names) for names in index.tags])
    chosen = np.random.default_rng(0).permutation(tagged)[: 2 * ROWS]
    tags = [set(index.tags[i]) for i in chosen]
    counts: dict[str, int] = {}
    for name in (name for names in tags[:ROWS] for name in names):
        counts[name] = counts.get(name, 0) + 1
    wanted = sorted(name for name, count in counts.items() if count >= MIN_COUNT)
    Y = np.array([[name in names for name in wanted] for names in tags], dtype=np.int64)
    table = pd.DataFrame(index.columns).iloc[chosen]
    encoder = TableEncoder()
    X = encoder.fit_transform(table[:ROWS], Y[:ROWS])
    return X, Y[:ROWS], encoder.transform(table[ROWS:]), Y[ROWS:]


def load(name: str, args: argparse.Namespace) -> Data:
    """Rows and right labels for training, and for testing."""
    if name == "debtags":
        return packages()
    kind = name.rstrip("0123456789")
    if kind in SIMULATED and kind != name:
        n_labels = int(name.removeprefix(kind))
        if kind in ("steep", "bent"):
            X, Y = steep(n_labels, kind == "bent")
        else:
            X, Y = growth.draw(ROWS + TEST_ROWS, 100, n_labels, "curved" if kind == "curved" else "dense")
        return X[:ROWS], Y[:ROWS], X[ROWS:], Y[ROWS:]
    if name in list_datasets():
        X, Xt, Y, Yt = standardised(paper_split(name, data_home=args.data_home))[:4]
        return X, Y, Xt, Yt
    with np.load(Path(args.tables) / f"{name}.npz") as file:
        X, Xt = file["X"][:TABLE_ROWS], file["Xt"][:TABLE_TEST_ROWS]
        spread = X.std(axis=0)
        spread[spread == 0] = 1.0
        return (
            (X - X.mean(axis=0)) / spread,
            file["Y"][:TABLE_ROWS],
            (Xt - X.mean(axis=0)) / spread,
            file["Yt"][:TABLE_TEST_ROWS],
        )


def given(Y: np.ndarray, noise: str) -> np.ndarray:
    """Labels with errors."""
    drawn = np.random.default_rng([0, 77]).random(Y.shape)
    if noise == "clean":
        return Y
    kind, rate = noise.split(".", 1)
    wrong = drawn < float(f".{rate}")
    return np.where(wrong & (Y == 1), 0, Y) if kind == "forget" else np.where(wrong, 1 - Y, Y)


@contextmanager
def learners(kinds: list[Any]) -> Iterator[None]:
    """Fits have these learners."""
    before = _learners.LEARNERS
    _learners.LEARNERS = tuple(kinds)
    try:
        yield
    finally:
        _learners.LEARNERS = before


def remembered(kind: Any, seconds: dict[str, float]) -> Any:
    """The same learner; it is fitted once, and the processor's seconds of that are kept."""
    kept: list[Any] = []

    def fit(cls: Any, training: Any) -> Any:
        if not kept:
            start = time.process_time()
            kept.append(kind.fit(training))
            seconds[kind.name] = time.process_time() - start
        fitted, out_of_sample = kept[0]
        return fitted, out_of_sample.copy()  # a fit writes into them

    return type(kind.__name__, (kind,), {"fit": classmethod(fit)})


def measured(truth: np.ndarray, scores: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Measures of the test rows in percent."""
    found = measures(truth, scores, predicted)
    varies = truth.any(axis=0)
    rows = truth.any(axis=1)
    first = scores[rows].argmax(axis=1)
    return {
        "seven": 100 * float(np.mean([*found.values()])),
        "p1": 100 * float(truth[rows][np.arange(len(first)), first].mean()),
        "ap": 100 * float(average_precision_score(truth[:, varies], scores[:, varies], average="macro")),
        "macro": 100 * found["MaF1"],
    }


def logistic(X: np.ndarray, Y: np.ndarray, Xt: np.ndarray) -> np.ndarray:
    """Probabilities of one logistic regression a label; a fifth of the rows chooses a common C by the log loss."""

    def fit(strength: float, rows: slice) -> Any:
        return OneVsRestClassifier(LogisticRegression(C=strength, max_iter=1000)).fit(X[rows], Y[rows])

    cut = len(Y) - len(Y) // 5

    def held_out(strength: float) -> float:
        return -log_loss(Y[cut:].ravel(), fit(strength, slice(cut)).predict_proba(X[cut:]).ravel())

    return np.asarray(fit(max(STRENGTHS, key=held_out), slice(None)).predict_proba(Xt))


def compared(name: str, noise: str, data: Data, with_logistic: bool) -> dict[str, Any]:
    """The row of a set and a kind of noise."""
    X, truth, Xt, test_truth = data
    Y = given(truth, noise)
    seconds: dict[str, float] = {}
    kinds = [remembered(kind, seconds) for kind in _learners.LEARNERS]
    row: dict[str, Any] = {"set": name, "noise": noise, "n": len(Y), "features": X.shape[1], "labels": Y.shape[1]}
    start = time.process_time()
    for way, some in (("after", kinds), ("before", [kind for kind in kinds if not issubclass(kind, NewtonStep)])):
        with learners(some):
            model = ResidualPropagation(n_jobs=1).fit(X, Y)
        if way == "after":
            row["share"] = 100 * seconds[NewtonStep.name] / (time.process_time() - start)
            row["link_share"] = 100 * seconds["linked ridge regression"] / (time.process_time() - start)
        found = measured(test_truth, model.decision_function(Xt), model.predict(Xt))
        wrong = truth != Y
        if wrong.any():
            found["list"] = 100 * float(average_precision_score(wrong.ravel(), model.flip_scores_.ravel()))
        row |= {f"{what}_{way}": value for what, value in found.items()}
    if with_logistic:
        p = logistic(X, Y, Xt)
        row |= {f"{what}_logistic": value for what, value in measured(test_truth, p, p >= 0.5).items()}
    return row | {f"{what}_gain": row[f"{what}_after"] - row[f"{what}_before"] for what in MEASURES}


def save(rows: list[dict[str, Any]]) -> None:
    """Write what is done; the last lines are means."""
    values: dict[str, Any] = {}
    for part in ("development", "confirmation"):
        gains = [row["seven_gain"] for row in rows if row["part"] == part]
        if gains:
            values |= {f"{part}_n": len(gains), f"{part}_won": sum(gain > 0 for gain in gains)}
            values |= {f"{part}_mean": float(np.mean(gains)), f"{part}_least": min(gains), f"{part}_most": max(gains)}
    for row in rows:
        values |= {
            f"{row['set']}_{row['noise']}_{key}": row[key]
            for key in row
            if key.endswith(("before", "after", "logistic", "share"))
        }
    save_table(
        "newton",
        command="python studies/newton.py --tables DIR --data-home DIR",
        rows=rows,
        values=values,
        title="ResidualPropagation without and with the Newton step",
        columns=[
            ("part", "part", "s"),
            ("set", "set", "s"),
            ("noise", "label errors", "s"),
            ("labels", "labels", "d"),
            ("seven_before", "seven measures without", ".1f"),
            ("seven_gain", "gain", "+.1f"),
            ("p1_before", "P@1 without", ".1f"),
            ("p1_after", "with", ".1f"),
            ("p1_logistic", "logistic regression", ".1f"),
            ("ap_before", "macro AP without", ".1f"),
            ("ap_after", "with", ".1f"),
            ("ap_logistic", "logistic regression", ".1f"),
            ("share", "share of the fit, %", ".0f"),
        ],
        notes="flip.1: one of ten entries is wrong; forget.3: 30 % of the labels are missing. Logistic regression: one "
        "for each label of the simulations, C among .1, 1 and 10.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", help="the folder of the tables")
    parser.add_argument("--data-home", help="the folder of the article's sets")
    every = {**CONFIRMATION, **DEVELOPMENT}
    parser.add_argument("--sets", nargs="+", choices=list(every), default=list(every), metavar="SET")
    parser.add_argument("--noise", nargs="+", help="only these")
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    warnings.simplefilter("ignore")  # labels that are never predicted
    now = commit()
    done = {(name, noise): row for made, name, noise, row in stored(KEPT) if made == now}
    with threads(1):
        for name in args.sets:
            missing = [
                noise for noise in args.noise or every[name] if noise in every[name] and (name, noise) not in done
            ]
            data = load(name, args) if missing else None
            for noise in missing:
                row = compared(name, noise, data, name.startswith(SIMULATED))
                done[name, noise] = {"part": "confirmation" if name in CONFIRMATION else "development", **row}
                keep(KEPT, [now, name, noise, done[name, noise]])
                print(name, noise, row["seven_gain"], flush=True)
    save([done[name, noise] for name in every for noise in every[name] if (name, noise) in done])


if __name__ == "__main__":
    main()
