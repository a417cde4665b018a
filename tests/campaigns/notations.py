"""One random table in every notation must give one plan and the same values: CSV, Excel, Parquet, and data frames.

    python tests/campaigns/notations.py [--tables 1000] [--first 0] [--record]

Each table is drawn by the random generator of its number: columns of numbers, texts, dates, booleans, codes, words,
numbers with units and signs, lists in cells, and numbers and dates of other scripts, with and without missing values.
It is written as CSV with commas, as CSV with semicolons and decimal commas, as .xlsx and as Parquet, and given to
`TableEncoder` as a frame of pandas and of polars. Plans may differ in the decimal mark and in what a reason says of it.

As many pairs of tables follow: one of a fit, and one of tomorrow that holds other numbers, perhaps in another notation.
Tomorrow's numbers must be those that were written, or something must be said: a warning, or an error.
"""

import argparse
import datetime
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from table_files import dense

from campaigns import record
from nmlsdr.tables import DataFileError, Form, TableEncoder, read_table
from nmlsdr.tables._planner import Choices

WORDS = ["oak", "ash", "Elm", "yes", "no", "x", "müde", "a;b", 'say "hi"', "two words"]
ARABIC = str.maketrans("0123456789.", "٠١٢٣٤٥٦٧٨٩٫")
UNITS = ["kg", "g", "mg/dl", "%"]
SIGNS = ["", "<", "$", "~"]


def draw_column(rng, n):
    """A column of Python's objects; None where a value is missing."""
    kind = rng.integers(14)
    cells = [
        lambda: [round(float(x), int(rng.integers(1, 5))) for x in rng.normal(size=n) * 10.0 ** rng.integers(-2, 4)],
        lambda: [int(x) for x in rng.integers(0, 10 ** rng.integers(1, 6), n)],
        lambda: [bool(x) for x in rng.random(n) < rng.random()],
        lambda: [WORDS[k] for k in rng.integers(0, rng.integers(1, len(WORDS) + 1), n)],
        lambda: [datetime.date(1990, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 9000, n)],
        lambda: [f"P-{int(k):04d}" for k in (rng.permutation(n) if rng.random() < 0.5 else rng.integers(0, n, n))],
        lambda: [" ".join(WORDS[k] for k in rng.integers(0, 7, 5)) for _ in range(n)],
        lambda: [2000 + i for i in range(n)],
        lambda: [f"{x:.1f} {rng.choice(UNITS[: n % 4 + 1])}" for x in rng.gamma(3, 9, n)],
        lambda: [f"{rng.choice(SIGNS)}{x}" for x in rng.integers(1, 99, n)],
        lambda: [", ".join(rng.permutation(WORDS[:4])[: rng.integers(1, 4)]) for _ in range(n)],
        lambda: [["A+", "0", "x;y", "5/9", "-", "1O", "12:30"][k] for k in rng.integers(0, rng.integers(2, 8), n)],
        lambda: [f"{x:.{n % 3}f}".translate(ARABIC) for x in rng.normal(size=n) * 100],
        lambda: [f"{1990 + d % 30}年{d % 12 + 1}月{d % 28 + 1}日" for d in rng.integers(0, 9000, n).tolist()],
    ][kind]()
    if rng.random() < 0.5:
        cells = [None if rng.random() < 0.2 else cell for cell in cells]
    return cells


def draw(number):
    """The columns of a table by name."""
    rng = np.random.default_rng(number)
    n = int(rng.integers(5, 60))
    columns = {f"c{j}": draw_column(rng, n) for j in range(rng.integers(1, 6))}
    columns["size"] = [float(x) for x in np.round(rng.normal(size=n), 2)]
    columns["size"][0] = 1.25  # one number whose mark can only be decimal
    return columns


def text(cell, mark):
    """A cell as it stands in a CSV file."""
    shown = "" if cell is None else str(cell)
    return shown.replace(".", mark) if isinstance(cell, float) else shown


def plans(columns, folder):
    """Yield the name of each notation, the columns of its plan, and the features."""
    import csv

    import openpyxl
    import pandas
    import polars
    import pyarrow
    import pyarrow.parquet

    names = list(columns)
    rows = list(zip(*columns.values(), strict=True))
    for name, delimiter, mark in (("comma.csv", ",", "."), ("semicolon.csv", ";", ",")):
        with open(folder / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerows([names, *([text(cell, mark) for cell in row] for row in rows)])
    book = openpyxl.Workbook()
    for row in [names, *rows]:
        book.active.append(row)
    book.save(folder / "t.xlsx")
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "t.parquet")
    for name in ("comma.csv", "semicolon.csv", "t.xlsx", "t.parquet"):
        form = Form(delimiter=";") if name == "semicolon.csv" else Form()
        try:
            table = read_table(folder / name, form=form, plan=Choices())
        except DataFileError as error:
            yield name, refusal(error), None
            continue
        yield name, table.plan.columns, table.data
    objects = {name: pandas.Series(cells, dtype=object) for name, cells in columns.items()}
    frames = {
        "objects": pandas.DataFrame(objects),
        "nullable": pandas.DataFrame(objects).convert_dtypes(),
        "polars": polars.DataFrame(columns),
    }
    for name, frame in frames.items():
        encoder = TableEncoder()
        try:
            X = encoder.fit_transform(frame)
        except ValueError as error:
            yield name, refusal(error), None
            continue
        yield name, encoder.plan_.columns, X


def refusal(error):
    """What is wrong with a table, without where: files have lines, and frames have rows."""
    match = re.search(r"\d+ cells? (is|are) not what the column holds", str(error))
    return match[0] if match else str(error)


def shown(columns):
    """What must be equal: all but the decimal mark, and the values that fill, which `read_table` leaves open."""
    if isinstance(columns, str):
        return columns
    reasons = [c.reason.replace("decimal commas", "").strip("; ") for c in columns]
    return [(c.name, c.kind, reason, c.levels, c.has_missing) for c, reason in zip(columns, reasons, strict=True)]


def differences(number, folder):
    """A line for each notation that gives another plan or other values."""
    encodings = list(plans(draw(number), folder))
    _, first, values = encodings[0]
    lines = []
    values = None if values is None else dense(values)
    for name, columns, features in encodings[1:]:
        X = dense(features)
        if shown(columns) != shown(first):
            pairs = zip(shown(first), shown(columns), strict=False)
            lines.append(f"{number} {name}: {next((pair for pair in pairs if pair[0] != pair[1]), 'other columns')}")
        elif values is not None:
            known = ~np.isnan(values)  # TableEncoder has filled the others
            same = X.shape == values.shape and np.array_equal(X[known], values[known])
            lines += [] if same else [f"{number} {name}: other values"]
    return lines


def run(numbers, folder):
    """All differences of the tables of these numbers."""
    with warnings.catch_warnings(action="ignore"):
        return [line for number in numbers for line in differences(number, folder)]


# ---------------------------------------------------------------- fit and tomorrow

MONTHS = [
    "janeiro",
    "fevereiro",
    "março",
    "abril",
    "maio",
    "junho",
    "julho",
    "agosto",
    "setembro",
    "outubro",
    "novembro",
    "dezembro",
]
#: How a whole number x is written, and what it then is; the first notation of a column is the usual one.
WRITTEN = {
    "plain": (lambda x: f"{x}", lambda x: x),
    "estimate": (lambda x: f"aprox. {x}", lambda x: x),
    "about": (lambda x: f"~{x}", lambda x: x),
    "range": (lambda x: f"{x}-{x + 2}", lambda x: x + 1),
    "words": (lambda x: f"{x} a {x + 4}", lambda x: x + 2),
    "brackets": (lambda x: f"({x})", lambda x: -x),
    "minus behind": (lambda x: f"{x}-", lambda x: -x),
    "kilograms": (lambda x: f"{x} kg", lambda x: x),
    "grams": (lambda x: f"{x} g", lambda x: x / 1000),
    "months": (lambda x: f"{x // 12} anos e {x % 12} meses", lambda x: x),
    "years": (lambda x: f"{x} anos", lambda x: 12 * x),
    "thousands": (lambda x: f"{x // 1000}.{x % 1000:03d}" if x > 999 else f"{x}", lambda x: x),
    "JSON": (lambda x: f'{{"n": {x}, "by": "me"}}', lambda x: x),
    "date": (lambda x: f"{x % 28 + 1} de {MONTHS[x % 12]} de {2000 + x % 30}", lambda x: 2000 + x % 30),
    "day": (lambda x: f"{x % 28 + 1:02d}/{x % 12 + 1:02d}/{2000 + x % 30} 12h03", lambda x: 2000 + x % 30),
}
#: Notations that a column may have at the fit and tomorrow.
KINDS = [
    *(["plain", "estimate", "about", "range", "words"], ["plain", "brackets", "minus behind", "about"]),
    *(["kilograms", "grams", "plain"], ["months", "years", "plain"], ["plain", "thousands"], ["JSON"], ["date", "day"]),
]


def tomorrow(number):
    """What is wrong with a pair of this number; "": nothing; None: something was said, or the column is no number."""
    import pandas

    rng = np.random.default_rng([number, 1])
    n = int(rng.integers(20, 60))
    kind = KINDS[rng.integers(len(KINDS))]
    frames = []
    truth = []
    for _ in ("fit", "tomorrow"):
        names = rng.choice(kind, n, p=rng.dirichlet(np.ones(len(kind)) / 2))
        names = names[:1].repeat(n) if "thousands" in kind else names  # nobody mixes 1234 and 1.234
        values = rng.integers(1, 2500 if "thousands" in kind else 90, n).tolist()
        cells = [WRITTEN[k][0](x) for k, x in zip(names, values, strict=True)]
        frames.append(pandas.DataFrame({"v": cells, "w": np.arange(n) % 7 / 2}))
        truth.append([WRITTEN[k][1](x) for k, x in zip(names, values, strict=True)])
    with warnings.catch_warnings(record=True, action="always") as caught_warnings:
        encoder = TableEncoder()
        try:
            values_read = [encoder.fit_transform(frames[0])[:, 0], encoder.transform(frames[1])[:, 0]]
        except ValueError:
            return None
    if caught_warnings or encoder.plan_.columns[0].kind not in ("number", "date", "JSON"):
        return None
    for when, right, values in zip(("fit", "tomorrow"), truth, values_read, strict=True):
        values = np.floor(values) if encoder.plan_.columns[0].kind == "date" else values
        scales = np.array([[1, 1 / 1000, 1000, 1 / 12, 12]]).T  # kilograms and grams, months and years
        if not np.isclose(values, right * scales, rtol=1e-9).all(axis=1).any():
            return f"{number} {when}: {frames[when == 'tomorrow'].v.tolist()} became {values.tolist()}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="write the counts to last_runs.json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        numbers = range(args.first, args.first + args.tables)
        difference_lines = run(numbers, Path(folder)) + [line for line in map(tomorrow, numbers) if line]
    print(*difference_lines[:50], f"{args.tables} tables and pairs, {len(difference_lines)} differences", sep="\n")
    if args.record:
        record.save(
            f"notations.py --tables {args.tables} --first {args.first}",
            {"tables": args.tables, "failed": len(difference_lines)},
        )
    return int(bool(difference_lines))


if __name__ == "__main__":
    sys.exit(main())
