"""Write tables as hospitals have them, and check a review list against what is true: a simulation.

    python hospital.py write                               # 6000 rows, 100 columns
    python hospital.py write --rows 1200 --columns 40
    python hospital.py check review.csv --out checked.csv

``hospital.csv`` has an id, dates, a note, holes, yes/no columns, and the diagnoses in one column. A quarter of its rows
is labelled; of their diagnoses 30 % are forgotten, and to one row in ten a wrong one is given. ``tomorrow.csv`` has new
patients, no diagnoses, the columns in another order, and three more. What is true stands in ``hospital.truth.csv`` and
``tomorrow.truth.csv``, which a hospital does not have. All of it is drawn at random.
"""

from __future__ import annotations

import argparse
import csv
import datetime
from pathlib import Path

import numpy as np

DIAGNOSES = ("diabetes", "hypertension", "heart failure", "asthma", "anaemia", "depression", "gout", "migraine")
SHARES = (0.25, 0.35, 0.12, 0.15, 0.12, 0.18, 0.06, 0.08)
WARDS = ("surgery", "medicine", "geriatrics", "emergency")
DISTANCE = 2.2  # by which a diagnosis moves the lab values, in standard deviations of one of them
OTHERS = ("patient", "admitted", "discharged", "ward", "note", "smoker", "referred", "diagnoses")  # all but lab values


def draw(n_rows: int, n_columns: int, rng: np.random.Generator, effects: np.ndarray, first: int = 0):
    """Draw patients: names of the columns, rows of cells without diagnoses, what is true (n_rows, 8)."""
    truth = rng.random((n_rows, len(DIAGNOSES))) < SHARES
    measured = truth @ effects + rng.normal(size=(n_rows, effects.shape[1]))
    holes = rng.random(measured.shape) < 0.03
    holes[:, ::2] = False  # half of the columns are complete
    days, stays = rng.integers(3000, size=n_rows), rng.integers(1, 30, size=n_rows)
    wards, smokers = rng.integers(len(WARDS), size=n_rows), rng.random(n_rows) < 0.2 + 0.3 * truth[:, 3]
    rows = []
    for i in range(n_rows):
        admitted = datetime.date(2015, 1, 1) + datetime.timedelta(days=int(days[i]))
        discharged = admitted + datetime.timedelta(days=int(stays[i]))
        cells = [f"P{first + i:06d}", admitted.isoformat(), discharged.isoformat(), WARDS[wards[i]]]
        cells += [f"seen on day {stays[i]}, stable", "yes" if smokers[i] else "no", "yes" if days[i] % 3 else "no"]
        cells += ["" if hole else f"{value:.3f}" for value, hole in zip(measured[i], holes[i], strict=True)]
        rows.append(cells)
    return [*OTHERS[:-1], *(f"lab_{j:03d}" for j in range(effects.shape[1]))], rows, truth


def annotate(truth: np.ndarray, rng: np.random.Generator) -> list[str]:
    """Return what stands in the column of diagnoses: nothing for three rows in four, ``none`` where none is known."""
    n_rows = len(truth)
    given = truth & (rng.random(truth.shape) >= 0.3)
    wrong = np.flatnonzero(rng.random(n_rows) < 0.1)
    given[wrong, rng.integers(len(DIAGNOSES), size=len(wrong))] = True
    labelled = rng.random(n_rows) < 0.25
    texts = [";".join(name for name, on in zip(DIAGNOSES, row, strict=True) if on) or "none" for row in given]
    return [text if known else "" for text, known in zip(texts, labelled, strict=True)]


def write_csv(path: str, names, rows) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    print(f"{path}: {len(rows)} rows, {len(names)} columns, {Path(path).stat().st_size / 1e6:.1f} MB")


def write(args: argparse.Namespace) -> None:
    rng = np.random.default_rng(args.seed)
    n_measured = args.columns - len(OTHERS)
    effects = rng.normal(size=(len(DIAGNOSES), n_measured)) * (rng.random((len(DIAGNOSES), n_measured)) < 0.15)
    effects *= DISTANCE / np.linalg.norm(effects, axis=1, keepdims=True)

    names, rows, truth = draw(args.rows, args.columns, rng, effects)
    texts = annotate(truth, rng)
    write_csv("hospital.csv", [*names, "diagnoses"], [[*row, text] for row, text in zip(rows, texts, strict=True)])
    write_csv(
        "hospital.truth.csv",
        ["patient", *DIAGNOSES],
        [[row[0], *map(int, true)] for row, true in zip(rows, truth, strict=True)],
    )

    names, rows, truth = draw(args.rows // 10, args.columns, rng, effects, first=args.rows)
    order = rng.permutation(len(names))
    more = [["B" + str(i % 40), "", 'said "better"'] for i in range(len(rows))]
    write_csv(
        "tomorrow.csv",
        ["bed", "insurer", "remark", *(names[j] for j in order)],
        [[*extra, *(row[j] for j in order)] for extra, row in zip(more, rows, strict=True)],
    )
    write_csv("tomorrow.truth.csv", DIAGNOSES, truth.astype(int).tolist())


def check(args: argparse.Namespace) -> None:
    """Fill in the verdicts of a review list as a person would who is always right, and count what is wrong."""
    truth = {row["patient"]: row for row in _rows("hospital.truth.csv")}
    found = _rows(args.file)
    for row in found:
        row["verdict"] = truth[row["patient"]][row["label"]]
    with open(args.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    for kind in dict.fromkeys(row["kind"] for row in found):
        mine = [row for row in found if row["kind"] == kind]
        print(f"{args.file}: {len(mine)} checked of {kind}, {_wrong(mine)} of them were wrong")
    wrong = sum(
        (name in row["diagnoses"].split(";")) != (truth[row["patient"]][name] == "1")
        for row in _rows("hospital.csv")
        if row["diagnoses"]
        for name in DIAGNOSES
    )
    earlier = _rows(args.after) if args.after else []
    print(f"{wrong} annotations of the table were wrong, {wrong - _wrong(found) - _wrong(earlier)} are left")


def _rows(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _wrong(rows: list[dict[str, str]]) -> int:
    return sum((row["verdict"] == "1") == (row["suggest"] == "add") for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(required=True)
    writing = verbs.add_parser("write")
    writing.add_argument("--rows", type=int, default=6000)
    writing.add_argument("--columns", type=int, default=100)
    writing.add_argument("--seed", type=int, default=0)
    writing.set_defaults(run=write)
    checking = verbs.add_parser("check")
    checking.add_argument("file")
    checking.add_argument("--after", help="verdicts of earlier rounds")
    checking.add_argument("--out", required=True)
    checking.set_defaults(run=check)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
