"""What to do about a table that is not all numbers: one look at all of it, and one sentence about all its columns."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from ._cells import HOLES, number_problem
from ._columns import Wanted, split_columns
from ._files import BLANKS, DataFileError, Lines, Path_, place, shorten
from ._text import guess_dialect

__all__ = ["as_list", "survey", "text_columns"]

MOST_ROWS = 100_000
MOST_CATEGORIES = 100  # of a column: with more it holds dates, names or sentences


def survey(path: Path_, wanted: Wanted, form: dict[str, Any], limits: dict[str, Any], first: DataFileError) -> None:
    """Raise one error that names every column of text, instead of `first`, which names the first bad cell.

    A column of which less than half is no number has a slip in it, and `first` says where.
    """
    if "is not a number" not in str(first) and "the value is missing" not in str(first):
        return
    names, columns, texts, example, n_rows = _look(path, wanted, form, limits)
    if not columns:
        return
    shown = ", ".join(f"{shorten(names[j], 30)!r} ({shorten(example[j], 20)!r})" for j in columns[:8])
    more = f" and {len(columns) - 8} more" if len(columns) > 8 else ""
    rest = [j for j in columns if not (len(texts[j]) == n_rows > 1)]
    unique = [j for j in columns if j not in rest]
    advice = f"--drop {as_list([names[j] for j in columns])}"
    if unique and wanted.id is None:
        dropped = [names[j] for j in columns if j != unique[0]]
        advice = f"--id {as_list([names[unique[0]]])}" + (f" --drop {as_list(dropped)}" if dropped else "")
    plural = "columns are" if len(columns) > 1 else "column is"
    raise DataFileError(
        f"{place(path)}: {len(columns)} {plural} not numbers: {shown}{more}; leave out with: {advice} ."
    ) from first


def text_columns(path: Path_, wanted: Wanted, form: dict[str, Any], limits: dict[str, Any]) -> list[str]:
    """Return the columns that hold words, few enough to be categories; the error about the others says what to type."""
    try:
        names, columns, texts, _, n_rows = _look(path, wanted, form, limits)
    except (StopIteration, csv.Error):  # the reader will say what is wrong with the file
        return []
    many = [j for j in columns if len(texts[j]) > MOST_CATEGORIES or len(texts[j]) == n_rows]
    if many:
        shown = ", ".join(f"{shorten(names[j], 30)!r} ({len(texts[j])})" for j in many[:8])
        more = f" and {len(many) - 8} more" if len(many) > 8 else ""
        plural = "columns hold" if len(many) > 1 else "column holds"
        raise DataFileError(
            f"{place(path)}: {len(many)} {plural} too many different texts for categories: {shown}{more}; leave out "
            f"with: --drop {as_list([names[j] for j in many])} ."
        )
    return [names[j] for j in columns]


def _look(
    path: Path_, wanted: Wanted, form: dict[str, Any], limits: dict[str, Any]
) -> tuple[list[str], list[int], dict[int, set[str]], dict[int, str], int]:
    """Return all names, the columns of words, the texts of each column, an example of each, and how many rows."""
    with Lines(path, limits["max_bytes"], form["encoding"]) as lines:
        sample = lines.sample().decode("utf-8", "ignore").removeprefix("\ufeff")
        dialect = guess_dialect(sample, form["delimiter"], form["decimal"])
        reader = csv.reader(lines, delimiter=dialect.delimiter)
        names = [cell.strip(BLANKS) for cell in next(reader)]
        split = split_columns(path, names, wanted, max_features=limits["max_features"])
        bad, known = np.zeros(len(names), int), np.zeros(len(names), int)
        example: dict[int, str] = {}
        texts: dict[int, set[str]] = {j: set() for j in split.features}
        n_rows = 0
        for cells in reader:
            if len(cells) != len(names) or n_rows == MOST_ROWS:
                break
            n_rows += 1
            for j in split.features:
                cell = cells[j].replace(",", ".") if dialect.decimal == "," else cells[j]
                if cell.strip(BLANKS).lower() in (HOLES if wanted.gaps else ("", "?")):
                    continue
                known[j] += 1
                try:
                    float(cell)
                except ValueError:
                    if number_problem(cell) is not None:
                        bad[j] += 1
                        example.setdefault(j, cells[j])
                        texts[j].add(cell)
    columns = [j for j in split.features if bad[j] * 2 > known[j] and n_rows > 1]
    return names, columns, texts, example, n_rows


def as_list(names: list[str]) -> str:
    """Return names as the command line takes them: commas between, quotes for a shell where they are needed."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    line = text.getvalue()
    plain = all(character.isalnum() or character in "_-.,:/+@%" for character in line)
    return line if plain else "'" + line.replace("'", "'\\''") + "'"
