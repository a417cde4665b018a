"""Write a real table with drawn mistakes, and check a review list against what is true.

    python digits.py write                                # digits.csv, tomorrow.csv, and pictures in digits/
    python digits.py check review.csv --out checked.csv

The images of handwritten digits, and who wrote which digit, are real: scikit-learn installs them (`load_digits`, from
E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998, licence CC BY 4.0). That most rows are not labelled,
and the mistakes among the labels, are drawn: of the labels 30 % are forgotten, and one row in ten gets a wrong one.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from matplotlib.image import imsave
from sklearn.datasets import load_digits

N_FIT = 1400  # rows of digits.csv; the others are tomorrow's
SHARE = 0.4  # of the rows are labelled
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def annotate(target: np.ndarray, rng: np.random.Generator) -> list[str]:
    """What stands in the column of labels: nothing in most rows, ``none`` where somebody looked and gave no label."""
    given = np.eye(len(NAMES), dtype=bool)[target]
    given &= rng.random(given.shape) >= 0.3
    wrong = np.flatnonzero(rng.random(len(target)) < 0.1)
    given[wrong, rng.integers(len(NAMES), size=len(wrong))] = True
    labelled = rng.random(len(target)) < SHARE
    texts = [";".join(name for name, on in zip(NAMES, row, strict=True) if on) or "none" for row in given]
    return [text if known else "" for text, known in zip(texts, labelled, strict=True)]


def write(args: argparse.Namespace) -> None:
    data = load_digits()
    order = np.random.default_rng(args.seed).permutation(len(data.target))
    images, target = data.data[order].astype(int), data.target[order]
    texts = annotate(target[:N_FIT], np.random.default_rng(args.seed))
    Path("digits").mkdir(exist_ok=True)
    rows = []
    for i, image in enumerate(images):
        rows.append([f"digits/{i:04d}.png", *image])
        if i < N_FIT:
            imsave(rows[-1][0], np.kron(image.reshape(8, 8), np.ones((8, 8))), cmap="gray_r")
    names = ["image", *(f"pixel_{i // 8}_{i % 8}" for i in range(64))]
    _write("digits.csv", [*names, "digits"], [[*row, text] for row, text in zip(rows, texts, strict=False)])
    _write("tomorrow.csv", names, rows[N_FIT:])
    truth = np.eye(len(NAMES), dtype=int)[target]
    named = [[row[0], *true] for row, true in zip(rows[:N_FIT], truth, strict=False)]
    _write("digits.truth.csv", ["image", *NAMES], named)
    _write("tomorrow.truth.csv", NAMES, truth[N_FIT:])


def check(args: argparse.Namespace) -> None:
    """Fill in the verdicts of a list as a person would who is always right, and count what is wrong."""
    truth = {row["image"]: row for row in _rows("digits.truth.csv")}
    found = _rows(args.file)
    for row in found:
        row["verdict"] = truth[row["image"]][row["label"]]
    _write(args.out, list(found[0]), [list(row.values()) for row in found], quiet=True)
    for kind in dict.fromkeys(row["kind"] for row in found):
        mine = [(row["verdict"] == "1") == (row["suggest"] == "add") for row in found if row["kind"] == kind]
        print(f"{args.file}: {len(mine)} checked of {kind}, {sum(mine)} of them were wrong")
    labelled = [row for row in _rows("digits.csv") if row["digits"]]
    wrong = sum(
        (name in row["digits"].split(";")) != (truth[row["image"]][name] == "1") for row in labelled for name in NAMES
    )
    print(f"{wrong} of the {len(labelled) * len(NAMES)} annotations in the table were wrong")


def _write(path: str, names, rows, quiet: bool = False) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    if not quiet:
        print(f"{path}: {len(rows)} rows, {len(names)} columns")


def _rows(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(required=True)
    writing = verbs.add_parser("write")
    writing.add_argument("--seed", type=int, default=0)
    writing.set_defaults(run=write)
    checking = verbs.add_parser("check")
    checking.add_argument("file")
    checking.add_argument("--out", required=True)
    checking.set_defaults(run=check)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
