"""Advice about a table that is not all numbers: one sentence about all its columns, with the options to add."""

import contextlib
import csv
import io
import re
import shlex
from itertools import islice
from typing import NamedTuple, NoReturn

from ._cells import HOLES, number_problem
from ._columns import Wanted, split_columns
from ._csv import table_rows
from ._files import BLANKS, DataFileError, Lines, Path_, place, shorten

MOST_ROWS = 100_000
MOST_CATEGORIES = 100  # of a column; one with more holds dates, names or sentences
SEPARATORS = (";", "|")  # of lists of labels; commas occur in sentences too
OPTIONS = {"id_column": "--id", "drop": "--drop", "text_columns": "--one-hot", "label_list": "--label-list",
           "separator": "--separator", "missing": "--impute"}  # fmt: skip
SENTENCE = 4  # texts with so many words on average are sentences
DATE = re.compile(r"\s*(\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4})(?!\d)")
BAD_CELL = re.compile(r": (?:the value is missing|'([^']*)' is not a (?:finite )?number);")


class Look(NamedTuple):
    """The contents of a table that is not all numbers.

    names: all columns; words: indices of those that hold texts; texts: the different texts of each; example: one of
    them; holes: indices of columns of numbers with a missing value; n_rows: how many rows were read.
    """

    names: list[str]
    words: list[int]
    texts: dict[int, set[str]]
    example: dict[int, str]
    holes: list[int]
    n_rows: int


class Proposal(DataFileError):
    """An error about a table, with the options that make it readable.

    Parameters
    ----------
    problem : str
        What is wrong.
    options : dict of str to list of str
        By the name of the parameter of `read_table`: columns, or the value of separator and missing.
    advice : str
        The words before the options.
    """

    def __init__(self, problem: str, options: dict[str, list[str]], advice: str = "say what to do with") -> None:
        line = " ".join(f"{OPTIONS[name]} {as_list(value)}" for name, value in options.items() if value)
        super().__init__(f"{problem}; {advice}: {line} .")
        self.problem, self.options = problem, options

    def without(self, like_labels: dict[str, str], holes: bool) -> "Proposal":
        """Return the proposal that drops columns which look like labels; `holes`: if other columns lack values."""
        options = {name: [v for v in value if v not in like_labels] for name, value in self.options.items()}
        options["drop"] = [*options["drop"], *like_labels]
        if not holes:
            options["missing"] = []
        problem = self.problem
        for reason in dict.fromkeys(like_labels.values()):
            names = [repr(shorten(name, 30)) for name, why in like_labels.items() if why == reason]
            problem += f"; not features, because {reason}: {_first(names)}"
        return Proposal(problem, options)


def advise(look: Look, columns: list[int], wanted: Wanted) -> dict[str, list[str]]:
    """Return the options that make these columns, and those with missing values, readable.

    Texts that differ in every row name the rows; lists of few words are labels, if the caller has not named any;
    a few different texts are categories; all other columns, such as dates and sentences, are dropped.
    """
    ids = [j for j in columns if len(look.texts[j]) == look.n_rows > 1]
    listed = [] if wanted.labelled else [j for j in columns if j not in ids and _separator(look.texts[j]) is not None]
    few = [j for j in columns if j not in {*ids, *listed[:1]} and _are_categories(look.texts[j])]
    named = [] if wanted.id_column is not None else ids[:1]
    dropped = [j for j in columns if j not in {*named, *listed[:1], *few}]
    places = {"id_column": named, "drop": dropped, "text_columns": few, "label_list": listed[:1]}
    options = {option: [look.names[j] for j in columns] for option, columns in places.items()}
    options["separator"] = ["|" for j in listed[:1] if _separator(look.texts[j]) == "|"]
    options["missing"] = ["median"] if look.holes and not wanted.missing else []
    return options


def _first(names: list[str]) -> str:
    """Return the first eight of some names, and how many more there are."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _are_categories(texts: set[str]) -> bool:
    """Whether these are few texts, and neither dates nor sentences."""
    dates = sum(DATE.match(text) is not None for text in texts)
    words = sum(len(text.split()) for text in texts)
    return len(texts) <= MOST_CATEGORIES and 2 * dates <= len(texts) and words < SENTENCE * len(texts)


def _separator(texts: set[str]) -> str | None:
    """Return the separator if these texts are lists of few words, else None."""
    for separator in SEPARATORS:
        parts = {part.strip(BLANKS) for text in texts for part in text.split(separator)}
        if any(separator in text for text in texts) and len(parts) <= MOST_CATEGORIES:
            return separator
    return None


def survey(path: Path_, wanted: Wanted, first: DataFileError) -> None:
    """Raise one error about all columns of text, or all with missing values, in place of `first`.

    `first` names the first bad cell, and stays if less than half of its column is not a number: then the cell is a
    typing error.  It stays too where a model has named its columns.
    """
    match = BAD_CELL.search(str(first))
    if match is None:
        return
    hole = (match[1] or "").lower() in HOLES and not wanted.missing
    here = str(first)[: match.start()]
    if wanted.feature_columns is not None:
        if hole:
            what = "the value is missing; fill it in, or fit the model with --impute median ."
            raise DataFileError(f"{here}: {what}") from first
        return
    look = look_csv(path, wanted)
    if look.words:
        refuse_words(path, look, wanted, first)
    if hole and look.holes:
        others = len(look.holes) - 1
        also = f", as in {others} other column{'s' * (others > 1)}" if others else ""
        options = {**{name: [] for name in OPTIONS}, "missing": ["median"]}
        raise Proposal(f"{here}: the value is missing{also}", options, "fill in with") from first


def refuse_words(path: Path_, look: Look, wanted: Wanted, first: Exception | None) -> NoReturn:
    """Raise the error about all columns that hold texts."""
    shown = _first([f"{shorten(look.names[j], 30)!r} ({shorten(look.example[j], 20)!r})" for j in look.words])
    columns = "1 column is" if len(look.words) == 1 else f"{len(look.words)} columns are"
    problem = f"{place(path)}: {columns} not numbers: {shown}"
    raise Proposal(problem, advise(look, look.words, wanted)) from first


def refuse_many(path: Path_, look: Look, wanted: Wanted) -> list[str]:
    """Return the names of the columns of words; raise if some of them hold too many texts to be categories."""
    many = [j for j in look.words if len(look.texts[j]) > MOST_CATEGORIES or len(look.texts[j]) == look.n_rows]
    if many:
        shown = _first([f"{shorten(look.names[j], 30)!r} ({len(look.texts[j])})" for j in many])
        columns = "1 column holds" if len(many) == 1 else f"{len(many)} columns hold"
        problem = f"{place(path)}: {columns} too many different texts for categories: {shown}"
        raise Proposal(problem, advise(look, many, wanted))
    return [look.names[j] for j in look.words]


def look_csv(path: Path_, wanted: Wanted) -> Look:
    """Look at the features of a CSV file, up to the first row that is damaged."""
    with Lines(path, wanted.max_bytes, wanted.encoding) as lines:
        dialect = lines.dialect(wanted.delimiter, wanted.decimal)
        rows = table_rows(lines, dialect.delimiter, wanted)
        names = next(rows)
        split = split_columns(path, names, wanted)
        bad, known = [0] * len(names), [0] * len(names)
        example: dict[int, str] = {}
        texts: dict[int, set[str]] = {j: set() for j in split.features}
        n_rows = 0
        with contextlib.suppress(DataFileError):  # the reader will raise it
            for cells in islice(rows, MOST_ROWS):
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
    """Return names as one argument of the command line: commas between them, and quoted for the shell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return shlex.quote(text.getvalue())
