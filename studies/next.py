"""Which labels to ask for next: learning curves of six ways to spend the same number of answers.

    python studies/next.py --data-home DIR --replace     # some hours; writes results/next.json

Training rows of the article's sets; of 100 random ones the labels are known, with 10 % label noise. In each of eight
rounds a person answers 25 times the number of labels, and is right: for 25 random rows ("random"), for 25 rows that the
labels take in turn ("rows"), for single entries that the labels take in turn ("entries"), or for the entries with the
largest entropy of all labels together ("pooled"). Of scikit-activeml ("skactiveml": largest mean entropy) and modAL
("modal": min_confidence) a random forest of scikit-learn picks the rows. The method is fitted on the labels in the
same way each time; measures are those of the test rows. Without these two packages their columns are empty.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _harness import add_replace, choose_folder, save_table, threads
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, f1_score

from nmlsdr import ResidualPropagation
from nmlsdr.datasets import flip_labels, list_datasets, make_toy, paper_split
from nmlsdr.experiments.protocol import standardised
from nmlsdr.inspection import rank_unknown

START = 100  # labelled rows
STEP = 25  # rows of a round, or as many answers as these have labels
ROUNDS = 8
NOISE = 0.1
TOY_ROWS = 2000
MEASURES = {"ap": "macro AP", "micro_ap": "micro AP", "f1": "micro F1"}
PACKAGES = {"modal": "modAL", "skactiveml": "skactiveml"}
WORDS = {
    "random": "random rows",
    "rows": "rows by turns",
    "entries": "entries by turns",
    "pooled": "pooled entropy",
    "modal": "modAL",
    "skactiveml": "scikit-activeml",
}


class State:
    """The rows, what is known of their labels so far, and the model of these labels."""

    def __init__(self, X: Any, truth: np.ndarray, y: np.ndarray, seed: int) -> None:
        self.X = X
        self.truth = truth
        self.y = y
        self.seed = seed
        self.model: Any = None

    def fit(self) -> State:
        self.model = ResidualPropagation(n_jobs=1, random_state=self.seed).fit(self.X, self.y)
        return self

    def after(self, rows: np.ndarray, labels: np.ndarray) -> State:
        """The state after right answers on these entries."""
        y = self.y.copy()
        y[rows, labels] = self.truth[rows, labels]
        return State(self.X, self.truth, y, self.seed)

    def forest(self) -> tuple[Any, np.ndarray]:
        """A random forest of the labelled rows, and the rows of which no label is known."""
        labeled = (self.y != -1).all(axis=1)
        forest = RandomForestClassifier(100, n_jobs=1, random_state=self.seed)
        return Forest(forest.fit(self.X[labeled], self.y[labeled])), np.flatnonzero(~labeled)


class Forest:
    """A multi-output forest as these packages call it: probabilities (n_samples, n_labels)."""

    def __init__(self, forest: Any) -> None:
        self.forest = forest

    def predict_proba(self, X: Any) -> np.ndarray:
        outputs = zip(self.forest.predict_proba(X), self.forest.classes_, strict=True)
        return np.column_stack([p[:, 1] if len(seen) == 2 else np.full(len(p), float(seen[0])) for p, seen in outputs])

    def predict(self, X: Any) -> np.ndarray:
        return (self.predict_proba(X) > 0.5).astype(int)


Entries = tuple[np.ndarray, np.ndarray]


def whole(state: State, rows: np.ndarray) -> Entries:
    """All entries of some rows."""
    n_labels = state.y.shape[1]
    return np.repeat(rows, n_labels), np.tile(np.arange(n_labels), len(rows))


def random_rows(state: State) -> Entries:
    rows = np.flatnonzero((state.y == -1).any(axis=1))
    return whole(state, np.random.default_rng([state.seed, len(rows)]).permutation(rows)[:STEP])


def rows_by_turns(state: State) -> Entries:
    return whole(state, rank_unknown(state.model, state.X, state.y, STEP, "row", state.seed).row)


def entries_by_turns(state: State) -> Entries:
    queries = rank_unknown(state.model, state.X, state.y, STEP * state.y.shape[1], random_state=state.seed)
    return queries.row, queries.label


def pooled_entropy(state: State) -> Entries:
    p = state.model.predict_proba(state.X)
    size = np.where(state.y == -1, p * (1.0 - p), -1.0)  # the order of the entropy
    return np.divmod(np.argsort(-size, axis=None, kind="stable")[: STEP * p.shape[1]], p.shape[1])


def modal_rows(state: State) -> Entries:
    from modAL.multilabel import min_confidence

    forest, pool = state.forest()
    chosen = min_confidence(forest, state.X[pool], n_instances=STEP)
    return whole(state, pool[np.ravel(chosen[0] if isinstance(chosen, tuple) else chosen)])


def skactiveml_rows(state: State) -> Entries:
    from skactiveml.pool import uncertainty_scores

    forest, pool = state.forest()
    p = forest.predict_proba(state.X[pool])
    scores = [uncertainty_scores(np.column_stack([1.0 - q, q]), method="entropy") for q in p.T]
    return whole(state, pool[np.argsort(-np.mean(scores, axis=0), kind="stable")[:STEP]])


STRATEGIES: dict[str, Callable[[State], Entries]] = {
    "random": random_rows,
    "rows": rows_by_turns,
    "entries": entries_by_turns,
    "pooled": pooled_entropy,
    "modal": modal_rows,
    "skactiveml": skactiveml_rows,
}


def load(name: str, home: str) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """Rows and true labels, for training and testing."""
    if name == "Toy":
        toy = make_toy(n_samples=2 * TOY_ROWS, random_state=0)
        part = [slice(None, TOY_ROWS), slice(TOY_ROWS, None)]
        return toy.data[part[0]], toy.data[part[1]], toy.target[part[0]], toy.target[part[1]]
    X, Xt, truth, test_truth, _ = standardised(paper_split(name, data_home=home))
    return X, Xt, truth, test_truth


def measures(state: State, Xt: Any, truth: np.ndarray) -> dict[str, float]:
    """Measures of the test rows in percent, and the error of the estimated noise rate of the known labels."""
    model = state.model
    p = model.predict_proba(Xt)
    known = state.y != -1
    frequent = truth.any(axis=0)
    return {
        "ap": 100 * average_precision_score(truth[:, frequent], p[:, frequent], average="macro"),
        "micro_ap": 100 * average_precision_score(truth, p, average="micro"),
        "f1": 100 * f1_score(truth, model.predict(Xt), average="micro", zero_division=0),
        "rate": abs(float(model.flip_rate_) - float((state.y != state.truth)[known].mean())),
    }


def curves(name: str, seed: int, home: str, strategies: list[str]) -> dict[str, list[dict[str, float]]]:
    """The measures at the start and after each round, for each way."""
    X, Xt, truth, test_truth = load(name, home)
    rng = np.random.default_rng([seed, 7100])
    y = np.full(truth.shape, -1)
    rows = rng.permutation(len(y))[:START]
    y[rows] = flip_labels(truth, NOISE, random_state=seed)[rows]
    start = State(X, truth, y, seed).fit()
    first = measures(start, Xt, test_truth)
    curves_by_strategy = {}
    for strategy in strategies:
        state = start
        curves_by_strategy[strategy] = [first]
        for _ in range(min(ROUNDS, (len(y) - START) // STEP)):
            state = state.after(*STRATEGIES[strategy](state)).fit()
            curves_by_strategy[strategy].append(measures(state, Xt, test_truth))
    return curves_by_strategy


def area(curve: list[dict[str, float]], measure: str) -> float:
    """Mean height of a learning curve after the start."""
    return float(np.mean([point[measure] for point in curve[1:]]))


def saved(random: list[dict[str, float]], curve: list[dict[str, float]]) -> float:
    """Share of the answers of random rows that a way needs less to be where these end, in macro AP, in percent."""
    goal = random[-1]["ap"]
    heights = np.maximum.accumulate([point["ap"] for point in curve])
    if heights[-1] < goal:
        return 0.0
    k = int(np.argmax(heights >= goal))
    if k == 0:
        return 100.0
    part = (goal - heights[k - 1]) / max(heights[k] - heights[k - 1], 1e-12)
    return float(100.0 * (1.0 - (k - 1 + part) / (len(curve) - 1)))


Curves = dict[str, list[dict[str, float]]]  # of one draw: the measures after each round, by strategy


def mean_of(draws: list[Curves], statistic: Callable[[Curves], float]) -> float:
    return float(np.mean([statistic(draw) for draw in draws]))


def gains_of_strategy(draws: list[Curves], strategy: str) -> dict[str, float]:
    """Errors of the noise rate, answers saved, and by measure the area gained over random rows: means of the draws."""
    gains = {
        f"{measure}_{strategy}": mean_of(
            draws, lambda draw, measure=measure: area(draw[strategy], measure) - area(draw["random"], measure)
        )
        for measure in MEASURES
    }
    return {
        f"rate_{strategy}": mean_of(draws, lambda draw: draw[strategy][-1]["rate"]),
        f"saved_{strategy}": mean_of(draws, lambda draw: saved(draw["random"], draw[strategy])),
        **gains,
    }


def summary(draws: list[Curves], name: str) -> dict[str, Any]:
    """The row of a data set: gains over random rows, answers saved, errors of the noise rate, and the curves."""
    row: dict[str, Any] = {
        "set": name,
        "start": mean_of(draws, lambda draw: draw["random"][0]["ap"]),
        "random": mean_of(draws, lambda draw: area(draw["random"], "ap")),
    }
    for strategy in draws[0]:
        row |= gains_of_strategy(draws, strategy)
    points = {
        strategy: np.mean([[point["ap"] for point in draw[strategy]] for draw in draws], axis=0)
        for strategy in draws[0]
    }
    return row | {"curves": {strategy: values.round(2).tolist() for strategy, values in points.items()}}


def save(rows: list[dict[str, Any]], strategies: list[str], n_draws: int) -> None:
    """Write the sets that are done; the last line is their mean."""
    keys = [key for key, value in rows[0].items() if isinstance(value, float)]
    values = {key: float(np.mean([row[key] for row in rows if key in row])) for key in keys}
    mean = {"set": "mean", **values}
    for strategy in strategies:
        gains = [row[f"ap_{strategy}"] for row in rows if f"ap_{strategy}" in row]
        values |= {f"better_{strategy}": sum(gain > 0 for gain in gains), f"worst_{strategy}": min(gains)}
    save_table(
        "next",
        command=f"python studies/next.py --data-home DIR --draws {n_draws}",
        rows=[*rows, mean],
        values=values | {"n_sets": len(rows), "draws": n_draws},
        title="Area under the learning curve of macro AP minus that of random rows, in points",
        columns=[
            ("set", "set", "s"),
            ("start", "macro AP at the start", ".1f"),
            ("random", "random rows, mean of the rounds", ".1f"),
            *((f"ap_{strategy}", WORDS[strategy], "+.1f") for strategy in strategies[1:]),
            ("saved_entries", "answers saved by entries, %", ".0f"),
        ],
        notes=f"{START} labelled rows at the start, 10 % label noise in them; {ROUNDS} rounds of {STEP} rows or as "
        f"many answers; answers are right; means of {n_draws} draws.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-home")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--sets", nargs="+", default=["Toy", *list_datasets()])
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    warnings.simplefilter("ignore")
    strategies = [
        strategy for strategy in STRATEGIES if importlib.util.find_spec(PACKAGES.get(strategy, "numpy")) is not None
    ]
    rows = []
    with threads(1):
        for name in args.sets:
            draws = [curves(name, seed, args.data_home, strategies) for seed in range(args.draws)]
            rows.append(summary(draws, name))
            save(rows, strategies, args.draws)  # after each set, so that a run can be cut short


if __name__ == "__main__":
    main()
