"""All svmlight files of a few letters, beside a reader that is nothing but the rules; opt-in above three letters.

python tests/campaigns/tiny_svmlight.py [--letters 6] [--record]
"""

import argparse
import itertools
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from table_files import read_table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from campaigns import record
from nmlsdr.tables import DataFileError

LETTERS = "10 :-\n#"
ENDS = ("", " 1:1\n")


def plain_rows(text, zero_based):
    """The labels and values of each row; None where a line is damaged."""
    rows = []
    blank = False
    for line in text.removesuffix("\n").split("\n") if text else []:
        tokens = line.split("#")[0].split()
        if not tokens:
            blank |= "#" not in line
            continue
        labels = [] if ":" in tokens[0] else [tokens.pop(0)]
        if blank or not all(re.fullmatch("-?[01]+", label) for label in labels):
            return None
        row = {}
        for token in tokens:
            index, _, value = token.partition(":")
            if not (re.fullmatch("[01]+", index) and re.fullmatch("-?[01]+", value)):
                return None
            column = int(index) - (not zero_based)
            if column < 0 or column >= 10**6 or column <= max(row, default=-1):
                return None
            row[column] = float(value)
        rows.append(([int(label) for label in labels], row))
    return rows


def expected(text, zero_based):
    """The shape, the values that are not 0, and the labels; None where the file is refused."""
    rows = plain_rows(text, zero_based)
    n_columns = 1 + max((column for _, row in rows or () for column in row), default=-1)
    if not rows or not n_columns:
        return None
    known = sorted({label for labels, _ in rows for label in labels if label != -1})
    target = [[-1 if labels == [-1] else int(label in labels) for label in known] for labels, _ in rows]
    values = {(i, j): value for i, (_, row) in enumerate(rows) for j, value in row.items() if value}
    return (len(rows), n_columns), values, target if known else None


def run(longest, folder):
    """Read all files of up to `longest` letters; returns how many were read and refused."""
    counts = Counter()
    path = folder / "t.svm"
    for size in range(longest + 1):
        for letters, end in itertools.product(itertools.product(LETTERS, repeat=size), ENDS):
            text = "".join(letters) + end
            zero_based = size % 2 == 0
            path.write_text(text)
            expected_table = expected(text, zero_based)
            try:
                table = read_table(path, zero_based=zero_based, max_bytes=1 << 30)
                entries = table.data.tocoo()
                places = zip(entries.row.tolist(), entries.col.tolist(), strict=True)
                values = dict(zip(places, entries.data.tolist(), strict=True))
                table_read = table.data.shape, values, None if table.target is None else table.target.tolist()
            except DataFileError:
                table_read = None
            assert table_read == expected_table, (text, zero_based, table_read, expected_table)
            counts["refused" if table_read is None else "read"] += 1
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--letters", type=int, default=6)
    parser.add_argument("--record", action="store_true", help="write the counts to last_runs.json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = run(args.letters, Path(folder))
    print(dict(counts))
    if args.record:
        record.save(f"tiny_svmlight.py --letters {args.letters}", counts)


if __name__ == "__main__":
    main()
