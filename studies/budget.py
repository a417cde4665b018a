"""What to spend 100 questions on: a review of observed labels, unknown labels, or whole rows.

    python studies/budget.py --data-home DIR --replace     # some minutes; writes results/budget.json

The training rows and the 100 labelled rows are those of next.py, with 10 % label noise ("flips"), or with 30 % of the
labels missing ("forgotten").  A person answers 100 questions and is right: about the first entries of the review list
("review"), unknown entries by turns ("entries"), 50 of each ("both"), whole random rows if every label of a row is a
question ("rows"), or if a fifth of them is, because the row is read once ("rows at a fifth").
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import next as study  # (before NumPy)
import numpy as np
from _harness import add_replace, choose_folder, save_table, threads

from nmlsdr import ResidualPropagation
from nmlsdr.datasets import flip_labels
from nmlsdr.inspection import rank_suspects, rank_unknown

QUESTIONS = 100
FORGOTTEN = 0.3
NOISE = ("flips", "forgotten")
Answered = tuple[np.ndarray, np.ndarray | None]  # labels and verdicts
SPENDING = {
    "review": "review",
    "entries": "unknown entries by turns",
    "both": "half and half",
    "rows": "whole random rows",
    "cheap_rows": "whole rows, each at a fifth of its labels",
}


def review(state: study.State, n: int = QUESTIONS) -> Answered:
    """Verdicts on the first entries of the list."""
    suspects = rank_suspects(state.model, state.y).first(n)
    verdicts = np.full(state.y.shape, -1)
    verdicts[suspects.row, suspects.label] = state.truth[suspects.row, suspects.label]
    return state.y, verdicts


def entries(state: study.State, n: int = QUESTIONS) -> Answered:
    queries = rank_unknown(state.model, state.X, state.y, n, random_state=state.seed)
    return state.after(queries.row, queries.label).y, None


def both(state: study.State) -> Answered:
    return entries(state, QUESTIONS // 2)[0], review(state, QUESTIONS // 2)[1]


def rows(state: study.State, cost: float = 1.0) -> Answered:
    unlabeled = np.flatnonzero((state.y == -1).all(axis=1))
    n = max(1, round(QUESTIONS / (cost * state.y.shape[1])))
    chosen = np.random.default_rng([state.seed, 7200]).permutation(unlabeled)[:n]
    return state.after(*study.whole(state, chosen)).y, None


def cheap_rows(state: study.State) -> Answered:
    return rows(state, 0.2)


WAYS: dict[str, Callable[[study.State], Answered]] = {
    "review": review,
    "entries": entries,
    "both": both,
    "rows": rows,
    "cheap_rows": cheap_rows,
}


def gains(name: str, noise: str, seed: int, home: str) -> dict[str, float]:
    """Macro AP of the test rows at the start, and what each way adds."""
    X, Xt, truth, test_truth = study.load(name, home)
    rng = np.random.default_rng([seed, 7100])
    y = np.full(truth.shape, -1)
    labeled = rng.permutation(len(y))[: study.START]
    if noise == "flips":
        noisy_labels = flip_labels(truth, study.NOISE, random_state=seed)
    else:
        noisy_labels = np.where(rng.random(truth.shape) < FORGOTTEN, 0, truth)
    y[labeled] = noisy_labels[labeled]
    start = study.State(X, truth, y, seed).fit()
    first = study.measures(start, Xt, test_truth)["ap"]
    gain_of = {"start": first}
    for spending, spend in WAYS.items():
        labels, verdicts = spend(start)
        after = study.State(X, truth, labels, seed)
        after.model = ResidualPropagation(n_jobs=1, random_state=seed).fit(X, labels, verdicts=verdicts)
        gain_of[spending] = study.measures(after, Xt, test_truth)["ap"] - first
    return gain_of


def save(rows: list[dict[str, Any]], n_draws: int) -> None:
    """Write the sets that are done, and their means."""
    values: dict[str, Any] = {"n_sets": len({row["set"] for row in rows}), "questions": QUESTIONS}
    for noise in NOISE:
        of_noise = [row for row in rows if row["noise"] == noise]
        values |= {
            f"{noise}_{spending}": float(np.mean([row[spending] for row in of_noise])) for spending in WAYS if of_noise
        }
    save_table(
        "budget",
        command=f"python studies/budget.py --data-home DIR --draws {n_draws}",
        rows=rows,
        values=values,
        title=f"Gain in macro AP from {QUESTIONS} questions, in points",
        columns=[
            ("set", "set", "s"),
            ("noise", "label errors", "s"),
            ("start", "macro AP at the start", ".1f"),
            *((spending, words, "+.1f") for spending, words in SPENDING.items()),
        ],
        notes=f"{study.START} labelled rows at the start, with 10 % flips or 30 % forgotten labels; answers are right; "
        f"means of {n_draws} draws.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-home")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument(
        "--sets", nargs="+", default=["Emotions", "Birds", "Genbase", "Medical", "Enron", "Yeast", "Scene"]
    )
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    warnings.simplefilter("ignore")
    done: list[dict[str, Any]] = []
    with threads(1):
        for name in args.sets:
            for noise in NOISE:
                draws = [gains(name, noise, seed, args.data_home) for seed in range(args.draws)]
                means = {key: float(np.mean([draw[key] for draw in draws])) for key in draws[0]}
                done.append({"set": name, "noise": noise, **means})
                save(done, args.draws)


if __name__ == "__main__":
    main()
