"""What to do about a table that is not all numbers: one look at all of it, and one sentence about all its columns."""

from __future__ import annotations

import csv
import io
import re
from typing import Any, NamedTuple, NoReturn

from ._cells import HOLES, number_problem
from ._columns import Wanted, split_columns
from ._files import BLANKS, DataFileError, Lines, Path_, place, shorten
from ._text import guess_dialect

__all__ = ["MOST_ROWS", "Look", "as_list", "refuse_many", "refuse_words", "survey", "text_columns"]

MOST_ROWS = 100_000
MOST_CATEGORIES = 100  # of a column: with more it holds dates, names or sentences
SEPARATORS = (";", "|")  # of lists of labels; a comma stands in sentences too
SENTENCE = 4  # words, in the mean
DATE = re.compile(r"\s*(\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4})(?!\d)")
HOLE_SAID = re.compile(r": (?:the value is missing|'([^']*)' is not a (?:finite )?number);")


class Look(NamedTuple):
    """What a table that is not all numbers holds.

    names: all columns; words: places of those that hold texts; texts: what stands in each; example: one of them;
    holes: places of columns of numbers with a value missing; n_rows: how many rows were looked at.
    """

    names: list[str]
    words: list[int]
    texts: dict[int, set[str]]
    example: dict[int, str]
    holes: list[int]
    n_rows: int


def advise(look: Look, columns: list[int], wanted: Wanted) -> str:
    """Return the options that make these columns, and those with holes, fit to be read: one line to paste.

    Texts that differ in every row name the rows; lists of few words are labels, if nobody said where the labels are;
    few texts are categories; all else, such as dates and sentences, is left out.
    """
    ids = [j for j in columns if len(look.texts[j]) == look.n_rows > 1]
    listed = [] if wanted.labelled else [j for j in columns if j not in ids and _separator(look.texts[j]) is not None]
    few = [j for j in columns if j not in {*ids, *listed[:1]} and _are_categories(look.texts[j])]
    named = [] if wanted.id is not None else ids[:1]
    dropped = [j for j in columns if j not in {*named, *listed[:1], *few}]
    holes = [] if wanted.gaps else look.holes[:1]
    parts = [
        (option, as_list([look.names[j] for j in places]))
        for option, places in (("--id", named), ("--drop", dropped), ("--one-hot", few), ("--label-list", listed[:1]))
        if places
    ]
    parts += [("--separator", "'|'") for j in listed[:1] if _separator(look.texts[j]) == "|"]
    return " ".join(f"{option} {value}" for option, value in [*parts, *[("--impute", "median")] * len(holes)])


def _are_categories(texts: set[str]) -> bool:
    """Whether these are few texts, and neither dates nor sentences."""
    dates = sum(DATE.match(text) is not None for text in texts)
    words = sum(len(text.split()) for text in texts)
    return len(texts) <= MOST_CATEGORIES and 2 * dates <= len(texts) and words < SENTENCE * len(texts)


def _separator(texts: set[str]) -> str | None:
    """Return what parts the lists of few words that these texts are, None if they are none."""
    for separator in SEPARATORS:
        parts = {part.strip(BLANKS) for text in texts for part in text.split(separator)}
        if any(separator in text for text in texts) and len(parts) <= MOST_CATEGORIES:
            return separator
    return None


def survey(path: Path_, wanted: Wanted, form: dict[str, Any], limits: dict[str, Any], first: DataFileError) -> None:
    """Raise one error that names every column of text, or all that lack values, instead of `first`.

    `first` names the first bad cell.  A column of which less than half is no number has a slip in it, and `first` says
    where; so it does for a model, which knows its columns.
    """
    said = HOLE_SAID.search(str(first))
    if said is None:
        return
    hole = (said[1] or "").lower() in HOLES and not wanted.gaps
    here = str(first)[: said.start()]
    if wanted.features is not None:
        if hole:
            raise DataFileError(
                f"{here}: the value is missing, and the model has not learned to fill it in; fill it in, or fit the "
                "model with --impute median ."
            ) from first
        return
    look = _look(path, wanted, form, limits)
    if look.words:
        refuse_words(path, look, wanted, first)
    if hole and look.holes:
        others = len(look.holes) - 1
        beside = "" if others == 0 else f", as in {others} other column" + "s" * (others > 1)
        raise DataFileError(
            f"{here}: the value is missing{beside}; fill in with: --impute median ."
        ) from first


def refuse_words(path: Path_, look: Look, wanted: Wanted, first: Exception | None) -> NoReturn:
    """Raise the error about all columns that hold texts."""
    shown = ", ".join(f"{shorten(look.names[j], 30)!r} ({shorten(look.example[j], 20)!r})" for j in look.words[:8])
    more = f" and {len(look.words) - 8} more" if len(look.words) > 8 else ""
    plural = "columns are" if len(look.words) > 1 else "column is"
    raise DataFileError(
        f"{place(path)}: {len(look.words)} {plural} not numbers: {shown}{more}; say what to do with: "
        f"{advise(look, look.words, wanted)} ."
    ) from first


def text_columns(path: Path_, wanted: Wanted, form: dict[str, Any], limits: dict[str, Any]) -> list[str]:
    """Return the columns that hold words, few enough to be categories; the error about the others says what to type."""
    try:
        look = _look(path, wanted, form, limits)
    except (StopIteration, csv.Error):  # the reader will say what is wrong with the file
        return []
    return refuse_many(path, look, wanted)


def refuse_many(path: Path_, look: Look, wanted: Wanted) -> list[str]:
    """Return the names of the columns of words; raise if some of them hold too many texts to be categories."""
    many = [j for j in look.words if len(look.texts[j]) > MOST_CATEGORIES or len(look.texts[j]) == look.n_rows]
    if many:
        shown = ", ".join(f"{shorten(look.names[j], 30)!r} ({len(look.texts[j])})" for j in many[:8])
        more = f" and {len(many) - 8} more" if len(many) > 8 else ""
        plural = "columns hold" if len(many) > 1 else "column holds"
        raise DataFileError(
            f"{place(path)}: {len(many)} {plural} too many different texts for categories: {shown}{more}; say what to "
            f"do with: {advise(look, many, wanted)} ."
        )
    return [look.names[j] for j in look.words]


def _look(path: Path_, wanted: Wanted, form: dict[str, Any], limits: dict[str, Any]) -> Look:
    with Lines(path, limits["max_bytes"], form["encoding"]) as lines:
        sample = lines.sample().decode("utf-8", "ignore").removeprefix("\ufeff")
        dialect = guess_dialect(sample, form["delimiter"], form["decimal"])
        reader = csv.reader(lines, delimiter=dialect.delimiter)
        names = [cell.strip(BLANKS) for cell in next(reader)]
        split = split_columns(path, names, wanted, max_features=limits["max_features"])
        bad, known = [0] * len(names), [0] * len(names)
        example: dict[int, str] = {}
        texts: dict[int, set[str]] = {j: set() for j in split.features}
        n_rows = 0
        for cells in reader:
            if len(cells) != len(names) or n_rows == MOST_ROWS:
                break
            n_rows += 1
            for j in split.features:
                cell = cells[j].replace(",", ".") if dialect.decimal == "," else cells[j]
                try:
                    value = float(cell)
                    known[j] += value == value  # not a nan
                    continue
                except ValueError:
                    if cell.strip(BLANKS).lower() in HOLES:
                        continue
                known[j] += 1
                if number_problem(cell) is not None:
                    bad[j] += 1
                    example.setdefault(j, cells[j])
                    texts[j].add(cells[j])
    words = [j for j in split.features if bad[j] * 2 > known[j] and n_rows > 1]
    holes = [j for j in split.features if known[j] < n_rows and j not in words]
    return Look(names, words, texts, example, holes, n_rows)


def as_list(names: list[str]) -> str:
    """Return names as the command line takes them: commas between, quotes for a shell where they are needed."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    line = text.getvalue()
    plain = all(character.isalnum() or character in "_-.,:/+@%" for character in line)
    return line if plain else "'" + line.replace("'", "'\\''") + "'"
