"""From the statistics of a table to its plan: what each column holds, and the reason in words."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._checks.words import fold, trim, words_of, yes_no
from ._files import shorten
from ._numbers import DATE, NOTATIONS, Notation, find_notation, number_reader, read_date, usual_decimal
from ._plan import Column, Plan
from ._statistics import ColumnStatistics, TableStatistics

MOST_LEVELS = 100  # of a category that have a feature of their own
ROWS_PER_LEVEL = 5  # rows that a level has on average, where there are more levels than that
MOST_WORDS = 100  # of a column of texts that have a feature of their own
WORD_SHARE = 0.01  # of the rows that such a word has at least
SENTENCE = 4  # texts with so many words on average are sentences
FREQUENT = 3  # a word that stands so often among numbers is no slip
SLIPS = 0.05  # a column with a larger share of other texts among its numbers has no slips but words
FEW_WORDS = 5  # so many different words may stand in half of the cells of a column of numbers
MOSTLY = 0.8  # the share of numbers in a column with more of them
LEAST_COUNTED = 20  # rows of a column of 1, 2, 3, ... that names the rows
CHANCE = 1e-6  # accepted probability that a column without any link to the labels is filled on labelled rows only
TAG_SEPARATORS = re.compile("[;|,/]")


@dataclass(frozen=True)
class Choices:
    """What a person said about the columns; the fields are the options of the command line by these names."""

    missing: Sequence[str] | None = None
    drop: Sequence[str] = ()
    one_hot: Sequence[str] = ()
    id: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    keep_case: bool = False


class Reading(NamedTuple):
    """How a column is read, and its other texts with their counts."""

    how: Any  # the Notation of its numbers; for dates, whether the month stands first
    others: dict[str, int]
    doubt: str = ""  # why its numbers may have been written in another notation


class Deciding:
    """What is to be done with every column.

    Parameters
    ----------
    table : TableStatistics
        Of all columns that are neither labels nor named by `choices.id` or `choices.drop`.
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
        self, table: TableStatistics, choices: Choices, labeled: Any = None, labels: Iterable[str] = (),
        separator: str | None = None,
    ) -> None:  # fmt: skip
        self.table, self.choices, self.labeled = table, choices, labeled
        self.labels = {fold(name) for name in labels}
        marks = [TAG_SEPARATORS.pattern] + ([re.escape(separator)] if separator else [])
        self.split = re.compile("|".join(marks))
        self.missing = table.missing
        self.usual = usual_decimal(facts.numbers for facts in table.columns if not facts.is_typed)
        self.readings = [self._reading(facts) for facts in table.columns]
        self.found = self._words_for_missing()
        self.n_distinct_rows = len(set(table.row_hashes))

    def plan(self) -> Plan:
        """Decide column by column; a duplicate and the identifier depend on the columns before.

        The values that fill missing ones are not decided here.
        """
        digests: dict[int, str] = {}
        columns: list[Column] = []
        for name, facts, reading in zip(self.table.names, self.table.columns, self.readings, strict=True):
            column = self._column(name, facts, reading, digests)
            digests.setdefault(facts.digest, name)
            columns.append(column)
        columns = self._one_identifier(columns)
        columns += [Column(self.choices.id, "identifier", "as you said")] if self.choices.id is not None else []
        columns += [Column(name, "dropped", "as you said") for name in self.choices.drop]
        return Plan(tuple(columns), tuple(sorted(self.missing | self.found)), self.choices.keep_case)

    def _column(self, name: str, facts: ColumnStatistics, reading: Reading | None, digests: dict[int, str]) -> Column:
        known = self._known(facts)
        n_missing = self.table.n_rows - sum(known.values())
        if name in self.choices.one_hot:
            return self._category(name, known)
        if not known:
            return Column(name, "empty", "no row has a value")
        if len(known) == 1 and len(facts.numbers) + len(facts.words) == 1 and self.table.n_rows > 1:
            return Column(name, "constant", f"always {shorten(next(iter(known)), 30)!r}")
        if facts.digest in digests and self.table.n_rows > 1:
            return Column(name, "duplicate", f"the same as {digests[facts.digest]!r}")
        if (reason := self._like_labels(facts)) is not None:
            return Column(name, "like the labels", reason)
        if len(known) == 1 and n_missing:
            ((word, count),) = known.items()
            levels = {"": "0", fold(word): "1"}
            reason = f"1: {shorten(word, 20)!r} ({count}), 0: nothing ({n_missing})"
            return Column(name, "yes/no", reason, levels=levels)
        if reading is not None:
            if isinstance(reading.how, Notation):
                return self._number(name, facts, reading)
            return self._date(name, facts, known, reading)
        if (column := self._yes_no(name, facts, known)) is not None:
            return column
        if self._is_unique(facts, known):
            return Column(name, "identifier", "a different text in every row")
        return self._category(name, known) if self._is_category(known) else self._words(name, known)

    def _known(self, facts: ColumnStatistics) -> Counter[str]:
        """The different texts that do not mean a missing value."""
        words = {word: count for word, count in facts.words.items() if fold(word) not in self.missing}
        numbers = {text: count for text, count in facts.numbers.items() if text not in self.missing}
        return Counter(numbers | words)

    # ------------------------------------------------------------ numbers and dates

    def _reading(self, facts: ColumnStatistics) -> Reading | None:
        """How a column is read if it holds mostly numbers, or mostly dates."""
        notation, doubt = NOTATIONS[0], ""
        if not facts.is_typed:
            notation, doubt = find_notation(facts.numbers, self.usual, self.choices.decimal, self.choices.thousands)
        first = self._month_first(facts)
        n_missing = sum(count for text, count in facts.words.items() if fold(text) in self.missing)
        readers: dict[Any, Callable[[str], Any]] = {
            notation: number_reader(notation),
            first: lambda text: read_date(text, first),
        }
        for how, read in readers.items():
            is_plain = facts.is_plain and how == NOTATIONS[0]  # all numbers are read
            known = facts.words if is_plain else facts.words | facts.numbers
            texts = {text: count for text, count in known.items() if fold(text) not in self.missing}
            others = {text: count for text, count in texts.items() if read(text) is None}
            some = len(others) < len(texts) or (is_plain and facts.n_numbers)
            share = MOSTLY if len(others) > FEW_WORDS else 0.5
            if some and sum(others.values()) <= (1 - share) * (self.table.n_rows - n_missing):
                return Reading(how, others, doubt)
        return None

    def _words_for_missing(self) -> set[str]:
        """Words that stand among numbers or dates again and again, in whichever column."""
        counts: Counter[str] = Counter()
        found = set()
        for facts, reading in zip(self.table.columns, self.readings, strict=True):
            others = reading.others if reading is not None and facts.words else {}
            if sum(others.values()) > max(10, SLIPS * self.table.n_rows):
                found |= {fold(text) for text in others}
            for text, count in others.items():
                counts[fold(text)] += count
        return found | {word for word, count in counts.items() if count >= FREQUENT}

    def _reason(self, seen: list[str], facts: ColumnStatistics) -> str:
        """What was seen in a column, what was read as a missing value there, and how often."""
        missing = self.missing | self.found
        words = {word: count for word, count in facts.words.items() if fold(word) in missing}
        return "; ".join([*seen, *([f"missing: {_counted(words)}"] if words else [])])

    def doubts(self) -> str:
        """Return what was decided and may be wrong, or nothing; for Python, where nobody sees the plan."""
        words, numbers = [], []
        for name, facts, reading in zip(self.table.names, self.table.columns, self.readings, strict=True):
            found = {word: count for word, count in facts.words.items() if fold(word) in self.found}
            words += [f"{_counted(found)} in column {shorten(name, 40)!r}"] if found else []
            numbers += [f"column {shorten(name, 40)!r}: {reading.doubt}"] if reading and reading.doubt else []
        sentences = []
        if words:
            what = f"Words among numbers or dates were taken for missing values: {'; '.join(words)}"
            advice = f"If that is right, give missing={sorted(self.found)!r}; if not, name the column in one_hot"
            sentences = [f"{what}. {advice}."]
        return " ".join(sentences + ([f"Numbers have two readings: {'; '.join(numbers)}."] if numbers else []))

    def _number(self, name: str, facts: ColumnStatistics, reading: Reading) -> Column:
        notation = reading.how
        has_comma = any("," in text for text in facts.numbers)
        seen = [words for words in notation.words() if notation.thousands or has_comma]
        seen += [reading.doubt] if reading.doubt else []
        whole = facts.whole or set()
        if len(whole) == self.n_distinct_rows >= LEAST_COUNTED:
            if facts.rising and max(whole) - min(whole) == len(whole) - 1:
                return Column(name, "identifier", "counts the rows")
            seen.append("a different whole number in every row; if it names the rows, give --id")
        reason = self._reason(seen, facts)
        return Column(name, "number", reason, decimal=notation.decimal, thousands=notation.thousands)

    def _month_first(self, facts: ColumnStatistics) -> bool:
        """Whether a date of the column makes sense only if its month is written first, and none if its day is."""
        parts = [m.groups() for text in facts.words if (m := DATE.fullmatch(text)) and m[2] != "." and len(m[1]) < 3]
        return any(int(part[2]) > 12 for part in parts) and not any(int(part[0]) > 12 for part in parts)

    def _date(self, name: str, facts: ColumnStatistics, known: Counter[str], reading: Reading) -> Column:
        example = next(text for text in known if text not in reading.others)
        seen = f"such as {example!r}; becomes the year with its fraction, and the month"
        seen += ", which stands first" * reading.how
        return Column(name, "date", self._reason([seen], facts), month_first=reading.how)

    # ------------------------------------------------------------ words

    def _like_labels(self, facts: ColumnStatistics) -> str | None:
        """Why a column looks as if it was filled in together with the labels, or None."""
        words = [word for word in facts.words if fold(word) not in self.missing]
        parts = {fold(part) for word in words for part in self.split.split(word)} - {""}
        if 0 < len(parts) <= 2 * len(parts & self.labels):
            return "it holds the words of the labels"
        if self.labeled is None or not self.labeled.any() or self.labeled.all():
            return None
        # So many filled cells are not all in labelled rows by chance.
        filled = facts.filled()
        enough = math.log(CHANCE) / math.log(self.labeled.mean())
        only = filled.sum() >= enough and not filled[~self.labeled].any()
        return "it is filled only where labels are" if only else None

    def _yes_no(self, name: str, facts: ColumnStatistics, known: Counter[str]) -> Column | None:
        words = Counter[str]()
        for text, count in known.items():
            if fold(text) not in self.found:
                words[fold(text)] += count
        values = yes_no(words)
        if values is None:
            return None
        counted = [_counted({word: words[word] for word in words if values[word] == value}) for value in (1, 0)]
        reason = self._reason([f"1: {counted[0]}, 0: {counted[1]}"], facts)
        return Column(name, "yes/no", reason, levels={word: str(value) for word, value in values.items()})

    def _is_unique(self, facts: ColumnStatistics, known: Counter[str]) -> bool:
        """Whether a column holds short texts that no two rows share, unless the rows are the same.

        Where most rows are copies of others, a category can differ in all that are not.
        """
        texts = len(known) if len(known) >= facts.most else len({self._key(text) for text in known})
        full = texts >= min(self.n_distinct_rows, facts.most) and self.n_distinct_rows > 1
        mostly = 2 * texts > min(sum(known.values()), facts.most)
        return full and mostly and _words_each(known) < SENTENCE / 2

    def _one_identifier(self, columns: list[Column]) -> list[Column]:
        """Leave the first identifier, unless the person named one; the others only differ from row to row."""
        n_found = int(self.choices.id is not None)
        for j, column in enumerate(columns):
            if column.kind == "identifier":
                if n_found:
                    columns[j] = Column(column.name, "text", f"{column.reason}; left out")
                n_found += 1
        return columns

    def _key(self, text: str) -> str:
        return trim(text) if self.choices.keep_case else fold(text)

    def _levels(self, known: Counter[str]) -> tuple[Counter[str], dict[str, str]]:
        """How often each level occurs, and its most frequent spelling."""
        counts = Counter[str]()
        shown: dict[str, str] = {}
        for text, count in known.most_common():
            counts[self._key(text)] += count
            shown.setdefault(self._key(text), text)
        return counts, shown

    def _is_category(self, known: Counter[str]) -> bool:
        counts, _ = self._levels(known)
        n_known = sum(counts.values())
        if len(counts) <= MOST_LEVELS:
            few = len(counts) <= 10 or 2 * len(counts) <= n_known
            return few and (_words_each(known) < SENTENCE or n_known >= ROWS_PER_LEVEL * len(counts))
        return n_known >= ROWS_PER_LEVEL * len(counts)

    def _category(self, name: str, known: Counter[str]) -> Column:
        counts, shown = self._levels(known)
        n_missing = self.table.n_rows - sum(known.values())
        kept = sorted(level for level, _ in counts.most_common(MOST_LEVELS))
        reason = f"{len(counts)} levels" + (f": {', '.join(shown.values())}" if len(counts) <= FEW_WORDS else "")
        if len(known) > len(counts):
            reason += f" ({len(known)} spellings)"
        if len(kept) < len(counts):
            reason += f"; the {len(kept)} most frequent have features, the others one together"
        if n_missing:
            reason += f"; missing in {n_missing} rows"
        levels = {level: shown[level] for level in kept}
        other = len(kept) < len(counts)
        return Column(name, "category", reason, levels=levels, has_missing=n_missing > 0, has_other=other)

    def _words(self, name: str, known: Counter[str]) -> Column:
        """A column of texts: its frequent words become features, unless there are none."""
        n_rows = Counter[str]()
        for text, count in known.items():
            for word in words_of(text):
                n_rows[word] += count
        least = max(FREQUENT, WORD_SHARE * self.table.n_rows)
        kept = [w for w, n in n_rows.most_common() if least <= n <= self.table.n_rows - least][:MOST_WORDS]
        texts = f"{len(known)} different texts"
        if not kept:
            return Column(name, "text", f"{texts} without words that recur; left out")
        reason = f"{texts}; becomes {len(kept)} words, there or not"
        return Column(name, "words", reason, levels={word: word for word in sorted(kept)})


def _words_each(texts: Iterable[str]) -> float:
    """The mean number of words of some texts."""
    counts = [len(text.split()) for text in texts]
    return sum(counts) / max(1, len(counts))


def _counted(words: Mapping[str, int]) -> str:
    """Return words and how often they occur, the four most frequent of them."""
    first = sorted(words, key=lambda word: (-words[word], word))[:4]
    shown = ", ".join(f"{shorten(word, 20)!r} ({words[word]})" if word else f"empty ({words[word]})" for word in first)
    more = len(words) - len(first)
    return shown + (f" and {more} other word{'s' * (more > 1)}" if more else "")
