"""From the columns of a table to its plan: what each holds, by its different texts, and the reason in words."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.words import MISSING, fold, names_rows, trim, yes_no
from .._errors import InputError, plural, shorten
from ._columns import Cells, Numbers, Vectors, row_numbers
from ._dates import serial_date
from ._facts import Facts, by_count, counted, tally
from ._kinds import Column
from ._lists import find_items, find_keys
from ._number_parsing import MARK_NAMES, hold_number, is_number, usual_decimal
from ._numeric_columns import FEW_LEVELS, FEW_WORDS, FREQUENT, LEVEL_SHARE, SLIPS, Reading, read_column
from ._plan import Plan
from ._sentinels import missing_codes
from ._text import count_words, find_words, mean_length, shared_by_names

MOST_LEVELS = 100  # of a category that have a feature of their own
ROWS_PER_LEVEL = 5  # rows that a level has on average, where there are more levels than that
SENTENCE = 4  # texts with so many words on average are sentences
LEAST_COUNTED = 20  # rows of a column of 1, 2, 3, ... that names the rows
MOST_SPELLINGS = 1000  # of the words for yes and no, and words among them that mean a missing value
YEARS = (1500, 2200)  # whole numbers in this range may be years
NEARLY = 0.95  # different cells of a column that has the name or the place of an identifier, as a share of the rows
CHANCE = 1e-6  # accepted probability that a column without any link to the labels is filled on labelled rows only
TAG_SEPARATORS = ";|,/"
LEADING_ZEROS = re.compile(r"0\d+")


@dataclass(eq=False, repr=False, kw_only=True)
class ColumnOptions:
    """What a person may say about the columns, as parameters of `TableEncoder` and as options of the command line."""

    missing: Sequence[str] | None = None
    drop: Sequence[str] = ()
    one_hot: Sequence[str] = ()
    decimal: str | None = None
    thousands: str | None = None
    keep_case: bool = False
    yes: str | None = None
    no: str | None = None


@dataclass
class Choices(ColumnOptions):
    """The same, and what only the command line says."""

    id: str | None = None
    only_checks: bool = False  # cells are checked, which is faster and takes less memory, and all features are NaN
    fitted: Plan | None = None  # of another table, with which this one is compared

    @property
    def missing_words(self) -> set[str]:
        """The words that a person says mean a missing value, folded."""
        return {fold(word) for word in self.missing or ()}


class Planner:
    """Makes the plan of a table: what is to be done with every column.

    Parameters
    ----------
    columns : dict of str to (Numbers or Texts)
        All columns that are neither labels nor named by `choices.id` or `choices.drop`.
    n_rows : int
    choices : Choices
        They overrule what would be decided.
    labeled : ndarray of shape (n_rows,), bool, default=None
        Which rows have labels; None: not known.
    labels : iterable of str, default=()
        The words of the labels.
    separator : str, default=None
        What stands between two of them.
    """

    def __init__(
        self,
        columns: Mapping[str, Cells],
        n_rows: int,
        choices: Choices,
        labeled: Any = None,
        labels: Iterable[str] = (),
        separator: str | None = None,
    ) -> None:
        _check_marks(choices)
        self.n_rows = n_rows
        self.choices = choices
        self.labeled = labeled
        self.labels = {fold(name) for name in labels}
        self.separator = re.compile("|".join(map(re.escape, filter(None, [*TAG_SEPARATORS, separator]))))
        self.missing = MISSING | choices.missing_words
        self.row_numbers = row_numbers(columns.values(), n_rows)
        self.places = {name: place for place, name in enumerate(columns)}
        self.vectors = {name: cells for name, cells in columns.items() if isinstance(cells, Vectors)}
        self.n_distinct_rows = int(self.row_numbers.max(initial=-1)) + 1
        facts = [
            Facts(name, self._cells_to_read(cells), self.missing)
            for name, cells in columns.items()
            if name not in self.vectors
        ]
        usual = usual_decimal(map(Facts.marked_numbers, facts))
        readings = [read_column(column, choices, usual) for column in facts]
        self.readings = [reading for reading, _ in readings]
        # Of columns with many numbers: what keeps them from being numbers.
        self.unread = {column.name: why for column, (_, why) in zip(facts, readings, strict=True) if why}
        self.words_for_missing = self._words_for_missing(facts, self.readings)
        self.levels: dict[str, set[str]] = {}  # of columns: words that mean a missing value elsewhere, but not there
        self.columns = [self._with_missing_words(*pair, facts) for pair in zip(facts, self.readings, strict=True)]

    def _cells_to_read(self, cells: Cells) -> Cells:
        """Return numbers as texts if a person writes them otherwise, or if one of them may mean a missing value."""
        are_numbers = isinstance(cells, Numbers) and cells.fit(self.choices.decimal)
        return cells if are_numbers and not hold_number(self.missing) else cells.texts

    def plan(self) -> Plan:
        """Decide column by column; a duplicate and the identifier depend on the columns before.

        The values that fill missing ones are not decided here.
        """
        digests: dict[int, str] = {}
        columns: list[Column] = []
        for facts, reading in zip(self.columns, self.readings, strict=True):
            column = self._column(facts, reading, digests)
            digests.setdefault(facts.digest, facts.name)
            if column.kind in ("category", "list", "words", "text", "identifier") and facts.name in self.unread:
                column = replace(column, reason=f"{column.reason}; {self.unread[facts.name]}")
            columns.append(column)
        columns = self._one_identifier(columns) + [*map(self._vector, self.vectors)]
        columns.sort(key=lambda column: self.places[column.name])
        columns += [Column(self.choices.id, "identifier", "as you said")] if self.choices.id is not None else []
        columns += [Column(name, "dropped", "as you said") for name in self.choices.drop]
        return Plan(tuple(columns), tuple(sorted(self.missing | self.words_for_missing)), self.choices.keep_case)

    def _column(self, facts: Facts, reading: Reading | None, digests: Mapping[int, str]) -> Column:
        """Return what a column is; `digests` has the names of the columns before by the digests of their cells."""
        if facts.name in self.choices.one_hot:
            return self._category(facts)
        column = self._useless(facts, digests) or self._cross(facts)
        if column is not None:
            return column
        if reading is not None:
            return (self._number if reading.column.kind == "number" else self._date)(facts, reading)
        rules = (self._yes_no, self._objects, self._list, self._identifier)
        columns = (column for rule in rules if (column := rule(facts)) is not None)
        return next(columns, None) or (self._category if self._is_category(facts) else self._words)(facts)

    def _useless(self, facts: Facts, digests: Mapping[int, str]) -> Column | None:
        """Return a column that tells nothing, or that was filled in together with the labels; else None."""
        if not facts.n_known:
            return Column(facts.name, "empty", "no row has a value")
        if facts.is_single and facts.n_known == self.n_rows > 1:
            return Column(facts.name, "constant", f"always {shorten(next(iter(facts.known_counts)), 30)!r}")
        if facts.digest in digests and self.n_rows > 1:
            return Column(facts.name, "duplicate", f"the same as {digests[facts.digest]!r}")
        if (reason := self._like_labels(facts)) is not None:
            return Column(facts.name, "like the labels", f"{reason}; left out")
        return None

    def _cross(self, facts: Facts) -> Column | None:
        """Return a column in which some rows have one word, such as x, and the others nothing; else None."""
        n_missing = self.n_rows - facts.n_known
        if not facts.is_single or not n_missing:
            return None
        ((word, count),) = facts.known_counts.items()
        reason = f"1: {shorten(word, 20)!r} ({count}), 0: nothing ({n_missing})"
        return Column(facts.name, "yes/no", reason, levels={"": "0", fold(word): "1"})

    def _vector(self, name: str) -> Column:
        """A column of vectors; a missing one becomes the median of each of its numbers."""
        length = self.vectors[name].rows.shape[1]
        reason = f"vectors of {length} numbers, which count as one block"
        n_missing = self.vectors[name].n_missing
        reason += f"; missing in {plural(n_missing, 'row')}" if n_missing else ""
        return Column(name, "vector", reason, length=length)

    # ------------------------------------------------------------ numbers and dates

    def _with_missing_words(self, facts: Facts, reading: Reading | None, columns: Sequence[Facts]) -> Facts:
        """Return a column in which the words found among numbers are missing values too, unless they are levels.

        They are levels of a column of few texts in which they are frequent. So is NA among short codes, where it is a
        country or an element, in a table that has it nowhere else.
        """
        if reading is not None or isinstance(facts.cells, Numbers):
            return facts
        words = self.words_for_missing & facts.folded_counts.keys()
        levels = self._frequent_levels(facts, words) | self._country_codes(facts, columns)
        self.levels[facts.name] = levels
        return Facts(facts.name, facts.cells, (self.missing | words) - levels) if words or levels else facts

    def _frequent_levels(self, facts: Facts, words: Iterable[str]) -> set[str]:
        """Return which words are levels of a column of few texts, because they are frequent in it."""
        counts = facts.folded_counts
        if len(counts) > FEW_LEVELS:
            return set()
        return {word for word in words if counts[word] >= LEVEL_SHARE * facts.n_known}

    def _country_codes(self, facts: Facts, columns: Sequence[Facts]) -> set[str]:
        """Return words such as NA that are codes: they stand among short codes, and in no other column."""
        if len(facts.folded_counts) < FREQUENT or not all(map(_is_short_code, facts.folded_counts)):
            return set()
        codes = {fold(text) for text in facts.text_counts(~facts.is_known) if len(text) == 2 and text.isalpha()}
        codes -= self.choices.missing_words
        other_columns = [column for column in columns if column is not facts and not isinstance(column.cells, Numbers)]
        for column in other_columns if codes else ():
            codes -= {fold(text) for text in column.text_counts(column.is_word)}
        return codes

    def _words_for_missing(self, columns: Sequence[Facts], readings: Sequence[Reading | None]) -> set[str]:
        """Words that stand among numbers or dates again and again, in whichever column that is not left out."""
        counts: Counter[str] = Counter()
        frequent = set[str]()
        digests = set[int]()
        for facts, reading in zip(columns, readings, strict=True):
            other_texts = {} if reading is None else reading.other_texts
            words = tally((fold(text), count) for text, count in other_texts.items() if not is_number(text))
            if not words or facts.digest in digests or self._like_labels(facts) is not None:
                continue
            digests.add(facts.digest)
            if words.total() > max(10, SLIPS * self.n_rows):
                frequent |= words.keys()
            counts += words
        return frequent | {word for word, count in counts.items() if count >= FREQUENT}

    def _reason(self, notes: list[str], facts: Facts) -> str:
        """What was seen in a column, what was read as a missing value there, and how often."""
        words = facts.word_counts(self.missing | self.words_for_missing)
        return "; ".join([*notes, *([f"missing: {counted(words)}"] if words else [])])

    def doubts(self) -> str:
        """Return what was decided and may be wrong, or nothing; for Python, where nobody sees the plan."""
        words = []
        misread = []
        for facts, reading in zip(self.columns, self.readings, strict=True):
            name = repr(shorten(facts.name, 40))
            if counts := facts.word_counts(self.words_for_missing - self.levels.get(facts.name, set())):
                words.append(f"{counted(counts)} in column {name}")
            if doubt := (reading.doubt or reading.units.doubt) if reading else self.unread.get(facts.name, ""):
                misread.append(f"column {name}: {doubt}")
        codes = missing_codes(self.columns)
        advice = (
            f"If that is right, give missing={sorted(self.words_for_missing)!r}; if not, name the column in one_hot."
        )
        doubt_on_words = f"Words among numbers or dates were taken for missing values: {'; '.join(words)}. {advice}"
        doubt_on_numbers = f"Numbers or dates may have been misread: {'; '.join(misread)}."
        doubt_on_codes = [f"Numbers may stand for missing values: {'; '.join(codes)}."] * bool(codes)
        return " ".join([doubt_on_words] * bool(words) + [doubt_on_numbers] * bool(misread) + doubt_on_codes)

    def _number(self, facts: Facts, reading: Reading) -> Column:
        """Return a column of numbers, or an identifier if these only count or name the rows."""
        column = reading.column
        numbers = Counter[str]() if isinstance(facts.cells, Numbers) else facts.numbers
        notes = [*_notes_on_notation(column, numbers), *filter(None, [reading.units.note, reading.doubt])]
        if any(map(LEADING_ZEROS.fullmatch, numbers)):
            notes.append("leading zeros; if these are codes, give --one-hot")
        is_plain = facts.n_known == self.n_rows and not (column.factors or column.marks)
        if is_plain and self.n_distinct_rows >= LEAST_COUNTED:
            whole = self._whole_numbers(facts, column)
            if (reason := self._identifier_reason(facts.name, whole)) is not None:
                return Column(facts.name, "identifier", reason)
            if len(whole) == self.n_distinct_rows:
                notes.append("a different whole number in every row; if it names the rows, give --id")
        return replace(column, reason=self._reason(notes, facts), unmarked=self._is_unmarked(facts))

    def _is_unmarked(self, facts: Facts) -> bool:
        """Whether no number of a column shows its decimal mark, and nobody gave it."""
        numbers = (number for number, count in facts.marked_numbers().items() if count)
        return self.choices.decimal is None and not any("." in number or "," in number for number in numbers)

    def _whole_numbers(self, facts: Facts, column: Column) -> NDArray[np.float64]:
        """Return the different numbers of a column in ascending order; none if one is not whole."""
        trial = Plan((column,), tuple(self.missing))
        values = trial.encode({facts.name: facts.cells}, self.n_rows, [])[:, 0]  # NaN for what is an error later
        numbers = np.unique(values)
        return numbers if (numbers == np.rint(numbers)).all() else numbers[:0]

    def _identifier_reason(self, name: str, whole: NDArray[np.float64]) -> str | None:
        """Return why a column with these different whole numbers is an identifier; None if it is none."""
        n_whole = len(whole)
        if n_whole == self.n_distinct_rows:
            first = whole[0]
            last = whole[-1]
            are_years = YEARS[0] <= first and last <= YEARS[1]
            if last - first == n_whole - 1 and not are_years:  # in any order: exports are sorted
                return "counts the rows"
        if n_whole >= NEARLY * self.n_distinct_rows and self._is_likely(name) == 2:
            return f"its name, its place, and {n_whole} different whole numbers"
        return None

    def _date(self, facts: Facts, reading: Reading) -> Column:
        texts = (facts.column.different[code] for code in np.flatnonzero(facts.is_known & facts.is_word))
        example = next(text for text in texts if text not in reading.other_texts)
        note = f"such as {example!r}; becomes the year with its fraction, and the month"
        note += "; the month stands before the day" * reading.column.month_first
        note += "; the year stands first" * reading.column.year_first
        n_serial = sum(count for text, count in reading.other_texts.items() if serial_date(text) is not None)
        note += f"; {n_serial} serial numbers of Excel are read as dates" * (n_serial > 0)
        return replace(reading.column, reason=self._reason([note, *filter(None, [reading.doubt])], facts))

    # ------------------------------------------------------------ words

    def _like_labels(self, facts: Facts) -> str | None:
        """Why a column looks as if it was filled in together with the labels, or None."""
        if self._holds_labels(facts):
            return "it holds the words of the labels"
        if self.labeled is None or not self.labeled.any() or self.labeled.all():
            return None
        # So many filled cells are not all in labelled rows by chance.
        enough = math.log(CHANCE) / math.log(self.labeled.mean())
        only = facts.n_known >= enough and not facts.filled[~self.labeled].any()
        return "it is filled only where labels are" if only else None

    def _holds_labels(self, facts: Facts) -> bool:
        """Whether at least half of the words of a column are words of the labels."""
        if not self.labels or isinstance(facts.cells, Numbers):
            return False
        parts: set[str] = set()
        for word in facts.text_counts(facts.is_known & facts.is_word):
            parts |= {fold(part) for part in self.separator.split(word)} - {""}
            if len(parts) > 2 * len(self.labels):
                return False
        return 0 < len(parts) <= 2 * len(parts & self.labels)

    def _yes_no(self, facts: Facts) -> Column | None:
        words = facts.folded_counts if facts.is_known.sum() <= MOST_SPELLINGS else {}
        values = yes_no(words, self.choices.yes, self.choices.no)
        if values is None:
            return None
        ones = counted({word: words[word] for word in words if values[word] == 1})
        zeros = counted({word: words[word] for word in words if values[word] == 0})
        reason = self._reason([f"1: {ones}, 0: {zeros}"], facts)
        return Column(facts.name, "yes/no", reason, levels={word: str(value) for word, value in values.items()})

    def _objects(self, facts: Facts) -> Column | None:
        """Return a column of JSON objects with numbers; else None."""
        keys = find_keys(facts.known_counts)
        if not keys:
            return None
        reason = self._reason([f"JSON objects with numbers for {shorten(', '.join(keys), 60)}"], facts)
        return Column(facts.name, "JSON", reason, levels={key: key for key in keys})

    def _list(self, facts: Facts) -> Column | None:
        """Return a column of lists with several words; else None."""
        items = find_items(facts.known_counts, self._key)
        if items is None:
            return None
        reason = self._reason([f"lists with {items.separator!r} between words: {counted(items.counts)}"], facts)
        return Column(facts.name, "list", reason, levels=items.shown, separator=items.separator)

    def _is_likely(self, name: str) -> int:
        """How much speaks for a column as the identifier: its name, and that it is the first."""
        return names_rows(name) + (self.places[name] == 0)

    def _identifier(self, facts: Facts) -> Column | None:
        """What a column of short texts is that no two rows share, unless the rows are the same; else None.

        Where most rows are copies of others, a category can differ in all that are not.
        """
        n_texts = len(self._levels(facts))
        n_rows = self.n_distinct_rows
        enough = n_rows * (NEARLY if self._is_likely(facts.name) else 1)
        if not 1 < enough <= n_texts or 2 * n_texts <= facts.n_known or mean_length(facts.known_counts) >= SENTENCE / 2:
            return None
        copies = " (equal rows count once)" if n_rows < self.n_rows else ""
        where = "every row" if n_texts >= n_rows else f"{n_texts} of {n_rows} rows"
        return self._with_shared_words(facts, Column(facts.name, "identifier", f"a different text in {where}{copies}"))

    def _with_shared_words(self, facts: Facts, column: Column) -> Column:
        """Return an identifier as a column of words too, if its texts are names that have words in common."""
        if not shared_by_names(facts.known_counts):
            return column
        words = self._words(facts, is_identifier=True)
        return replace(words, reason=f"{column.reason}; {words.reason}") if words.kind == "words" else column

    def _one_identifier(self, columns: list[Column]) -> list[Column]:
        """Leave the likeliest identifier, unless the person named one; the others only differ from row to row."""
        likely = [column for column in columns if column.kind == "identifier" or column.is_identifier]
        best = max(likely, key=lambda column: self._is_likely(column.name), default=None)
        identifier = best if self.choices.id is None else None
        return [
            column if column not in likely else _as_identifier(column) if column == identifier else _as_text(column)
            for column in columns
        ]

    def _key(self, text: str) -> str:
        return trim(text) if self.choices.keep_case else fold(text)

    def _levels(self, facts: Facts) -> Mapping[str, int]:
        """How often each level occurs."""
        return facts.known_counts if self.choices.keep_case else facts.folded_counts

    def _is_category(self, facts: Facts) -> bool:
        n_levels = len(self._levels(facts))
        if n_levels > MOST_LEVELS:
            return facts.n_known >= ROWS_PER_LEVEL * n_levels
        is_repetitive = n_levels <= 10 or 2 * n_levels <= facts.n_known
        return is_repetitive and (
            mean_length(facts.known_counts) < SENTENCE or facts.n_known >= ROWS_PER_LEVEL * n_levels
        )

    def _category(self, facts: Facts) -> Column:
        # in any order of the rows
        name = facts.name
        known = dict(sorted(facts.known_counts.items(), key=by_count))
        keys = [*map(self._key, known)]
        shown: dict[str, str] = {}  # the most frequent spelling of each level
        for key, text in zip(keys, known, strict=True):
            shown.setdefault(key, text)
        counts = tally(zip(keys, known.values(), strict=True))
        n_missing = self.n_rows - sum(known.values())
        frequent = sorted(level for level, _ in sorted(counts.items(), key=by_count)[:MOST_LEVELS])
        reason = plural(len(counts), "level") + (f": {', '.join(shown.values())}" if len(counts) <= FEW_WORDS else "")
        if len(known) > len(counts):
            reason += f" ({len(known)} spellings)"
        if len(frequent) < len(counts):
            reason += f"; the {len(frequent)} most frequent have a feature each, the others share one"
        if n_missing:
            reason += f"; missing in {plural(n_missing, 'row')}"
        for word in sorted(self.levels.get(name, ())):
            where = ", although it means a missing value among numbers" if word in self.words_for_missing else ""
            reason += f"; {word!r} is a level here{where} (--missing {word}: a missing value here too)"
        levels = {level: shown[level] for level in frequent}
        has_other = len(frequent) < len(counts)
        return Column(name, "category", reason, levels=levels, has_missing=n_missing > 0, has_other=has_other)

    def _words(self, facts: Facts, is_identifier: bool = False) -> Column:
        """A column of texts: the words that rows have in common become features, unless there are none."""
        texts = facts.column
        are_names = mean_length(facts.known_counts) < SENTENCE / 2
        known = [text if is_known else "" for text, is_known in zip(texts.different, facts.is_known, strict=True)]
        words, idf = find_words([known[code] for code in texts.codes.tolist()], are_names)
        if not words:
            reason = f"{plural(len(facts.known_counts), 'different text')} without words that recur; left out"
            return Column(facts.name, "text", reason)
        reason = self._reason([f"{'names' if are_names else 'text'}, {count_words(words)}"], facts)
        how: Any = {"are_names": are_names, "is_identifier": is_identifier}
        return Column(facts.name, "words", reason, words=words, idf=idf, **how)


def _check_marks(choices: ColumnOptions) -> None:
    """Raise if one mark has two meanings."""
    if choices.decimal is not None and choices.decimal == choices.thousands:
        raise InputError(f"decimal and thousands are both {choices.decimal!r}; give different marks.")


def _is_short_code(text: str) -> bool:
    return text.isalpha() and len(text) <= 3


def _notes_on_notation(column: Column, numbers: Iterable[str]) -> Iterator[str]:
    """Say which marks the numbers of a column have."""
    if column.decimal == "," and (column.thousands or any("," in number for number in numbers)):
        yield "decimal commas"
    if column.thousands:
        yield f"{MARK_NAMES.get(column.thousands)} between thousands"


def _as_identifier(column: Column) -> Column:
    """Return the column that names the rows."""
    return replace(column, reason=f"the identifier: {column.reason}") if column.is_identifier else column


def _as_text(column: Column) -> Column:
    """Return a column that could name the rows, and does not: its words stay features if it has some."""
    if column.is_identifier:
        return replace(column, is_identifier=False)
    return Column(column.name, "text", f"{column.reason}; left out")
