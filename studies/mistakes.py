"""Does `nmlsdr.inspection.estimate_mistakes` contain the true number of forgotten labels? Simulated mistakes on tables.

    python studies/mistakes.py design --data-home DIR    # the tables that the rule was set on
    python studies/mistakes.py test                      # three tables that it was not set on
    python studies/mistakes.py test --quick              # one draw, prints, writes nothing

Each table gets mistakes of four kinds at four rates, ten draws each, and none: "flips" changes each entry with
probability .02, .05, .1 or .2; "forgotten" turns a share .1, .2, .3 or .4 of the true labels into 0s; "invented" adds
as many wrong 1s as .1, .2, .3 or .4 of the true labels; "mixed" does both, with a third as many invented as forgotten.
"unclear" is a kind that the rule cannot see, and not part of the verdict: the labels that are hardest to predict are
forgotten most often.  The scores are the out-of-sample trend of `ResidualPropagation`, from the labelled rows alone.

What counts was decided before any interval was seen.  An interval is right if it contains the true number; a kind
and rate counts as covered if at least nine of its ten draws are.  An interval is useful if it is not wider than the
true number or a fifth of the given 1s, whichever is larger.  The rule and its constant (2 standard errors) were fixed
on four draws of the tables of "design", with the trend that ResidualPropagation had then (one forest), and committed
before "test" was run for the first time.  After it, what happens without a given 1 was changed, and the lowest number
was set to 0: the one by the area under the ROC curve was above 0 in one of fourteen lines, 17 where 399 were true.

Rivals: the flip rate's interval taken for all mistakes, as `nmlsdr report` did before; the estimate of Elkan and Noto
(KDD 2008), and the joint counts of confident learning (Northcutt, Jiang and Chuang, JAIR 2021), both written from
their formulas, both with two standard deviations of a bootstrap over the rows on either side.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from pathlib import Path

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _harness import add_replace, choose_folder, save_table
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import StandardScaler

import nmlsdr
from nmlsdr._checks.labels import check_labels
from nmlsdr._thresholds import flip_rate_interval
from nmlsdr.datasets import make_toy, paper_split
from nmlsdr.inspection import estimate_mistakes

TOP = Path(__file__).resolve().parent.parent
_SHARES = (0.1, 0.2, 0.3, 0.4)
RATES = {"none": (0.0,), "flips": (0.02, 0.05, 0.1, 0.2), "forgotten": _SHARES, "invented": _SHARES, "mixed": _SHARES}
SHOWN = {
    "none": "none",
    "forgotten": "30 % forgotten",
    "mixed": "30 % forgotten, 10 % given wrongly",
    "own": "as the simulation makes them",
    "unclear": "30 % forgotten, mainly unclear ones",
}
BLIND = {"unclear": _SHARES}
MOST_ROWS = 700


# ---------------------------------------------------------------- tables of the design


def shifted(rng, n=700, D=40, C=6, distance=2.5):
    """Each label moves some of the features by a fixed amount."""
    z = rng.random((n, C)) < rng.uniform(0.05, 0.35, C)
    effects = rng.normal(size=(C, D)) * (rng.random((C, D)) < 0.3)
    effects *= distance / np.linalg.norm(effects, axis=1, keepdims=True)
    return z @ effects + rng.normal(size=(n, D)), z


def counts(rng, n=700):
    """scikit-learn's simulated documents."""
    X, z = make_multilabel_classification(
        n, 60, n_classes=8, n_labels=2, length=30, random_state=int(rng.integers(2**31))
    )
    return np.log1p(X), z


def logistic(rng, n=700, D=30, C=6, scale=2.0):
    """Labels drawn from logistic regressions: nobody could tell them with certainty."""
    X = rng.normal(size=(n, D))
    W = rng.normal(size=(D, C)) * (rng.random((D, C)) < 0.3)
    scores = scale * X @ W / (np.linalg.norm(W, axis=0) + 1e-9) + rng.uniform(-3, -0.5, C)
    return X, rng.random((n, C)) < 1 / (1 + np.exp(-scores))


def products(rng, n=700, D=20, C=6):
    """A label depends on a product of two features and on the size of a third."""
    X, z = rng.normal(size=(n, D)), np.zeros((n, C), dtype=bool)
    for c in range(C):
        a, b, d = rng.choice(D, 3, replace=False)
        s = 2 * X[:, a] * X[:, b] + 1.5 * np.abs(X[:, d]) + 0.5 * rng.normal(size=n)
        z[:, c] = s > np.quantile(s, 1 - rng.uniform(0.05, 0.3))
    return X, z


def groups(rng, n=700, D=15, C=8, K=12):
    """Groups of rows; in each some labels have a probability between .5 and 1, the others one below .05."""
    centres, group = rng.normal(size=(K, D)) * 1.5, rng.integers(K, size=n)
    P = np.where(rng.random((K, C)) < 0.2, rng.uniform(0.5, 1, (K, C)), rng.uniform(0, 0.05, (K, C)))
    return centres[group] + rng.normal(size=(n, D)), rng.random((n, C)) < P[group]


def marks(rng, n=700, C=8):
    """Yes/no columns that occur with a label more or less often, and twenty that do not depend on any."""
    z = rng.random((n, C)) < rng.uniform(0.05, 0.3, C)
    each = [(z[:, [c]] & (rng.random((n, 3)) < 0.4)) | (rng.random((n, 3)) < 0.02) for c in range(C)]
    return np.hstack([*each, rng.random((n, 20)) < 0.2]).astype(float), z


def toy(rng):
    """The article's toy data, with fewer blocks of noise."""
    made = make_toy(n_samples=900, n_noise_blocks=2, random_state=int(rng.integers(2**31)))
    return np.vstack([made.data, made.test_data])[:MOST_ROWS], np.vstack([made.target, made.test_target])[:MOST_ROWS]


SIMULATED = {
    "shifted": shifted,
    "shifted further": lambda rng: shifted(rng, distance=4.0),
    "documents": counts,
    "logistic": logistic,
    "logistic, weak": lambda rng: logistic(rng, scale=0.8),
    "products": products,
    "groups": groups,
    "marks": marks,
    "Toy": toy,
}
PAPER = ("Emotions", "Scene", "Yeast", "Birds", "Medical", "Genbase", "Enron")


def dense(X):
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def paper(name, data_home):
    """Rows of one of the article's data sets, drawn at random; labels that none of them has are left out."""
    data = paper_split(name, data_home=data_home)
    X, z = np.vstack([dense(data.data), dense(data.test_data)]), np.vstack([data.target, data.test_target])

    def drawn(rng):
        rows = rng.permutation(len(X))[:MOST_ROWS]
        return X[rows], z[rows][:, z[rows].any(axis=0)]

    return drawn


# ---------------------------------------------------------------- tables of the test


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def hospital(rng, n=1500):
    """The laboratory values and the other columns of the simulated hospital; also what its annotators gave."""
    made = module(TOP / "docs" / "hospital.py")
    effects = rng.normal(size=(8, 92)) * (rng.random((8, 92)) < 0.15)
    effects *= made.DISTANCE / np.linalg.norm(effects, axis=1, keepdims=True)
    _, cells, truth = made.draw(n, 100, rng, effects)
    values = np.array([[cell if cell else "nan" for cell in row[7:]] for row in cells], dtype=float)
    yes = np.array([[cell == "yes" for cell in row[5:7]] for row in cells], dtype=float)
    ward = np.array([[row[3] == ward for ward in made.WARDS] for row in cells], dtype=float)
    values = np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
    texts = made.annotate(np.repeat(truth, 4, axis=0), rng)
    given = np.array([[name in text.split(";") for name in made.DIAGNOSES] for text in texts])
    some = np.array([bool(text) for text in texts]).reshape(n, 4)
    pick = np.arange(n) * 4 + some.argmax(axis=1)  # one of four annotations of the row that are not empty
    rows = some.any(axis=1)
    return np.hstack([values, yes, ward])[rows], truth[rows], given[pick][rows]


def museum(rng, n=1000):
    """The simulated catalogue: measures, materials, workshops and words of the titles; what two of three gave."""
    made = module(TOP / "tests" / "campaigns" / "museum.py")
    workshops = np.array([f"w{i}" for i in range(200)])
    cells, truth = made.draw(n, rng, 0, workshops)
    columns = []
    for j in (3, 4, 5, 6):
        text = [row[j].replace(".", "").replace(",", ".") for row in cells]
        values = np.array([float(t) if t not in made.MISSING else np.nan for t in text])
        columns.append(np.where(np.isnan(values), np.nanmedian(values), values))
    words = sorted({word for row in cells for word in row[1].split() if word.isalpha()})
    columns += [[word in row[1].split() for row in cells] for word in words]
    columns += [[row[7] == material for row in cells] for material in made.MATERIALS]
    columns += [[row[8] == "sí" for row in cells]]
    columns += [[row[2].strip().lower() == f"w{i}" for row in cells] for i in range(200)]
    votes = np.array([truth ^ (rng.random(truth.shape) < np.where(truth, 0.12, 0.02)) for _ in range(3)])
    return np.array(columns, dtype=float).T, truth, votes.sum(axis=0) >= 2


def machines(rng, n=900, D=24, C=7):
    """Sensors of machines; a fault multiplies three of them, mild faults hardly, and load moves all."""
    z = rng.random((n, C)) < np.array([0.25, 0.18, 0.12, 0.1, 0.07, 0.05, 0.03])
    load, severity = rng.normal(size=(n, 1)), rng.gamma(2.0, 0.6, size=(n, C))
    logs = 0.6 * load * rng.uniform(0.2, 1.0, D) + 0.5 * rng.normal(size=(n, D))
    for c in range(C):
        hit = rng.choice(D, 3, replace=False)
        logs[:, hit] += (z[:, c] * severity[:, c])[:, None] * rng.choice([-1.0, 1.0], 3)
    return np.exp(logs), z


# ---------------------------------------------------------------- one draw


class Found(Exception):
    """Carries the trend out of a fit that need not go on."""


class TrendOnly(nmlsdr.ResidualPropagation):
    """ResidualPropagation up to its out-of-sample trend."""

    def _estimate_rates(self, O, labels):
        raise Found(O)


def trend(X, given, seed):
    """Out-of-sample scores of the rows."""
    try:
        TrendOnly(n_jobs=1, n_estimators=TREES, random_state=seed).fit(X, given)
    except Found as found:
        return found.args[0]
    raise AssertionError("the fit did not pass its flip rate")


TREES = 50  # the trend of 100 trees differs little, and takes twice the time


def corrupt(z, kind, rate, rng, clear):
    """Given labels with mistakes; ``clear`` are scores of what is true."""
    u, positive = rng.random(z.shape), z.mean()
    if kind == "flips":
        return z ^ (u < rate)
    if kind == "unclear":
        place = np.zeros(z.shape)
        place[z] = (np.argsort(np.argsort(-clear[z])) + 0.5) / z.sum()  # 0: the clearest
        return z & ~(u < 2 * rate * place)
    forgets, invents = {"none": (0, 0), "forgotten": (rate, 0), "invented": (0, rate), "mixed": (rate, rate / 3)}[kind]
    return np.where(z, u >= forgets, u < invents * positive / (1 - positive))


def flip_rate_as_before(O, given):
    """The flip rate's interval times the number of entries: an interval for all wrong annotations."""
    low, high = flip_rate_interval(O, check_labels(given))
    return low * given.size, high * given.size


def bootstrapped(sums, number, rng, n_draws=50):
    """number(sums over rows) and two standard deviations of a bootstrap over the rows on either side."""
    n = len(sums)
    draws = rng.multinomial(n, np.full(n, 1 / n), n_draws) @ sums.reshape(n, -1)
    values = [number(draw.reshape(sums.shape[1:])) for draw in draws]
    middle = number(sums.sum(axis=0))
    return middle - 2 * np.std(values), middle + 2 * np.std(values)


def elkan_noto(O, given, rng):
    """Forgotten labels: G (1 - c) / c, with c the mean score of the given 1s."""
    p = np.clip(O, 0, 1)
    sums = np.stack([(p * given).sum(axis=1), given.sum(axis=1)], axis=1).astype(float)
    return bootstrapped(sums, lambda s: s[1] * (s[1] / max(s[0], 1e-9) - 1), rng)


def confident_joint(O, given, rng):
    """Given 0s whose score reaches the mean score of the label's given 1s, the joint counts scaled to the given 0s."""
    p = np.clip(O, 0, 1)
    ones = (p * given).sum(axis=0) / np.maximum(given.sum(axis=0), 1)
    zeros = ((1 - p) * ~given).sum(axis=0) / np.maximum((~given).sum(axis=0), 1)
    is_one, is_zero = p >= ones, 1 - p >= zeros
    both = is_one & is_zero
    is_one, is_zero = np.where(both, p > 0.5, is_one), np.where(both, p <= 0.5, is_zero)
    sums = np.stack([~given & is_one, ~given & is_zero, ~given], axis=1).astype(float)

    def number(s):
        return float((s[2] * s[0] / np.maximum(s[0] + s[1], 1e-9)).sum())

    return bootstrapped(sums, number, rng)


def intervals(O, given, rng):
    """All rules: the interval of each, and which number it is for."""
    found = estimate_mistakes(O, given.astype(int))
    return {
        "forgotten": found.forgotten,
        "wrong": tuple(np.add(found.forgotten, found.wrong)),
        "Elkan and Noto": elkan_noto(O, given, rng),
        "confident learning": confident_joint(O, given, rng),
        "flip rate": flip_rate_as_before(O, given.astype(int)),
    }


def run(name, draw, n_draws, cells):
    """One row for each table, kind, rate and draw."""
    rows = []
    for seed in range(n_draws):
        rng = np.random.default_rng([seed, *name.encode()])
        X, truth, *own = draw(rng)
        X, truth = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0]), np.asarray(truth, dtype=bool)
        clear = trend(X, truth.astype(int), seed)
        plan = [(kind, rate) for kind, rates in cells.items() for rate in rates] + [("own", 0.0)] * bool(own)
        for kind, rate in plan:
            given = np.asarray(own[0], dtype=bool) if kind == "own" else corrupt(truth, kind, rate, rng, clear)
            O = clear if kind == "none" else trend(X, given.astype(int), seed)
            forgotten, invented = int((truth & ~given).sum()), int((given & ~truth).sum())
            found = intervals(O, given, rng)
            rows.append(
                {
                    "table": name,
                    "kind": kind,
                    "rate": rate,
                    "draw": seed,
                    "given": int(given.sum()),
                    "entries": given.size,
                    "forgotten": forgotten,
                    "wrong": forgotten + invented,
                    "found": {rule: [float(v) for v in ends] for rule, ends in found.items()},
                }
            )
    return rows


# ---------------------------------------------------------------- what is reported

# What each rule counts, and its name in the tables.
RULES = {
    "forgotten": ("forgotten", "estimate_mistakes: forgotten"),
    "wrong": ("wrong", "estimate_mistakes: all wrong"),
    "flip rate": ("wrong", "flip rate: all wrong"),
    "Elkan and Noto": ("forgotten", "Elkan and Noto: forgotten"),
    "confident learning": ("forgotten", "confident learning: forgotten"),
}


def judge(rows, rule):
    """For each draw: covered, useful, truth below or above, and the width over what counts as useful."""
    result = []
    for row in rows:
        (low, high), true = row["found"][rule], row[RULES[rule][0]]
        room = max(true, row["given"] / 5, 1)
        result.append((low <= true <= high, high - low <= room, true < low, true > high, (high - low) / room))
    return np.array(result, dtype=float)


def count(answers):
    return sum(map(bool, answers))


def by_cell(rows):
    cells = {}
    for row in rows:
        cells.setdefault((row["table"], row["kind"], row["rate"]), []).append(row)
    return cells


def summary(rows):
    """One line for each table: cells covered and useful, and where the truth lies otherwise."""
    lines = []
    for name in dict.fromkeys(row["table"] for row in rows):
        cells = [judge(c, "forgotten") for key, c in by_cell(rows).items() if key[0] == name and key[1] in RATES]
        wrong = [judge(c, "wrong") for key, c in by_cell(rows).items() if key[0] == name and key[1] in RATES]
        each = np.vstack(cells)
        lines.append(
            {
                "table": name,
                "cells": len(cells),
                "covered": count(c[:, 0].mean() >= 0.9 for c in cells),
                "draws": 100 * float(each[:, 0].mean()),
                "above": 100 * float(each[:, 3].mean()),
                "useful": count(np.median(c[:, 1]) == 1 for c in cells),
                "width": float(np.median(each[:, 4])),
                "wrong": count(c[:, 0].mean() >= 0.9 for c in wrong),
            }
        )
    return lines


def rules(rows):
    """One line for each rule over all tables."""
    lines = []
    for rule, (_, words) in RULES.items():
        cells = [judge(c, rule) for key, c in by_cell(rows).items() if key[1] in RATES]
        each = np.vstack(cells)
        lines.append(
            {
                "rule": words,
                "cells": len(cells),
                "covered": count(c[:, 0].mean() >= 0.9 for c in cells),
                "draws": 100 * float(each[:, 0].mean()),
                "below": 100 * float(each[:, 2].mean()),
                "above": 100 * float(each[:, 3].mean()),
                "width": float(np.median(each[:, 4])),
            }
        )
    return lines


def details(rows):
    """One line for each table and some kinds and rates."""
    lines = []
    for (name, kind, rate), cell in by_cell(rows).items():
        if kind not in SHOWN or rate not in (0.0, 0.3):
            continue
        found, verdict = np.array([row["found"]["forgotten"] for row in cell]), judge(cell, "forgotten")
        line = {"table": name, "kind": SHOWN[kind], "draws": len(cell), "high": found[:, 1]}
        line |= {"given": [row["given"] for row in cell], "true": [row["forgotten"] for row in cell]}
        line |= {key: float(np.mean(line[key])) for key in ("high", "given", "true")}
        lines.append(line | {"covered": int(verdict[:, 0].sum()), "useful": int(verdict[:, 1].sum())})
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=["design", "test"])
    parser.add_argument("--data-home")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--quick", action="store_true")
    add_replace(parser)
    args = parser.parse_args()
    choose_folder(args.replace)
    warnings.simplefilter("ignore")  # labels without a positive in a fold
    if args.part == "design":
        tables = SIMULATED | ({name: paper(name, args.data_home) for name in PAPER} if args.data_home else {})
    else:
        tables = {"hospital": hospital, "museum": museum, "machines": machines}
    rows = []
    for name, draw in tables.items():
        if args.tables and name not in args.tables:
            continue
        rows += run(name, draw, 1 if args.quick else args.draws, RATES | (BLIND if args.part == "test" else {}))
        print(summary(rows)[-1], flush=True)
    if args.quick:
        for line in [*rules(rows), *details(rows)]:
            print(line)
    else:
        save(args, rows)


def save(args, rows):
    """Write the three result files."""
    notes = (
        f"{args.draws} draws for each table, kind and rate. Covered: the interval contains the true number in at least "
        "nine of ten draws. Useful: in most draws it is not wider than the true number or a fifth of the given 1s, "
        "whichever is larger. Relative width: the median width, divided by the larger of these two."
    )
    lines = summary(rows)
    covered = [("cells", "kinds and rates", "d"), ("covered", "covered", "d")]
    covered += [("draws", "draws that contain the truth, %", ".1f")]
    below = ("below", "truth below the interval, %", ".1f")
    above, wide = ("above", "truth above the interval, %", ".1f"), ("width", "relative width", ".1f")
    keep(
        args,
        "",
        "Does the interval contain the true number of forgotten labels?",
        lines,
        [
            ("table", "table", "s"),
            *covered,
            above,
            ("useful", "useful", "d"),
            wide,
            ("wrong", "covered: all wrong annotations", "d"),
        ],
        notes,
        {key: sum(line[key] for line in lines) for key in ("cells", "covered", "useful", "wrong")},
    )
    keep(
        args,
        "_rules",
        "The same for other rules",
        rules(rows),
        [
            ("rule", "rule and what it counts", "s"),
            *covered,
            below,
            above,
            wide,
        ],
        notes,
    )
    keep(
        args,
        "_each",
        "Forgotten labels: true number and interval, means over the draws",
        details(rows),
        [
            ("table", "table", "s"),
            ("kind", "mistakes", "s"),
            ("given", "given 1s", ".0f"),
            ("true", "forgotten", ".0f"),
            ("high", "highest", ".0f"),
            ("covered", "draws that contain the truth", "d"),
            ("draws", "draws", "d"),
        ],
    )


def keep(args, part, title, rows, columns, notes="", values=None):
    command = f"python studies/mistakes.py {args.part}"
    save_table(
        f"mistakes_{args.part}{part}",
        command=command,
        title=title,
        rows=rows,
        columns=columns,
        notes=notes,
        values=values,
    )


if __name__ == "__main__":
    main()
